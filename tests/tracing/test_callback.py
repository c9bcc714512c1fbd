"""Functions called back: what they promise is what they give, or an error says so; what they give has named sizes."""

import pickle
import warnings

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, errors, grad, jit, pure_callback, scan, stop_gradient, trace, vmap

X = np.array([3.0, 1.0, 3.0])


def unique(x):
    return pure_callback(np.unique, ShapeDtypeStruct(f"<={x.shape[0]}"), x)


def test_one_program_serves_every_size_that_a_callback_gives():
    doubled = jit(lambda x: (unique(x) * np.sin(unique(x))).reshape(-1, 1) @ np.ones((1, 2)))
    for x in (X, X[:0], X[:1], np.arange(7.0)):
        u = np.unique(x)
        np.testing.assert_allclose(doubled(x), (u * np.sin(u))[:, None] * np.ones(2))
    assert doubled.cache_info().traces == 1
    assert str(doubled.programs()[0]).startswith("<lambda>(%x: f64[x_0]) -> (f64[<=x_0, 2])")


@pytest.mark.parametrize(
    ("promise", "signature"),
    [
        ("n, 2", "f64[n, 2]"),
        ("<=2*n + 1, 2", "f64[<=2*n + 1, 2]"),
        ("?, 2", "f64[?, 2]"),
        ("max(n, 3),", "f64[max(n, 3)]"),
    ],
)
def test_what_a_promise_says_is_what_a_signature_shows(promise, signature):
    program = trace(lambda x: pure_callback(lambda x: x, ShapeDtypeStruct(promise), x))(ShapeDtypeStruct("n, 2"))
    assert str(program).splitlines()[0].endswith(f"-> ({signature})")
    assert program(np.ones((4, 2))).shape == (4, 2) if "max" not in promise else True


def test_trees_keywords_and_numbers():
    spec = {"a": ShapeDtypeStruct(()), "b": (ShapeDtypeStruct("?", np.int64), np.zeros(2))}
    function = lambda x, *, k: {"a": k, "b": (np.flatnonzero(x), x[:2])}
    result = jit(lambda x: pure_callback(function, spec, x, k=2.5))(X)
    assert result["a"] == 2.5 and result["b"][0].tolist() == [0, 1, 2] and result["b"][1].tolist() == [3, 1]
    assert pure_callback(function, spec, X, k=2.5)["b"][0].tolist() == [0, 1, 2]
    assert jit(lambda x: (pure_callback(print, (), x), x))(X)[0] == ()


def test_what_a_callback_keeps_or_was_given_is_not_written_to():
    spec = np.arange(3.0)
    result = jit(lambda x: pure_callback(lambda x: spec, ShapeDtypeStruct(x.shape), x) + 1)(X)
    assert spec.tolist() == [0, 1, 2] and result.tolist() == [1, 2, 3]

    def writes(x):
        x[0] = 7
        return x

    with pytest.raises(ValueError, match="read-only"):
        jit(lambda x: pure_callback(writes, ShapeDtypeStruct(x.shape), x))(X)


@pytest.mark.parametrize("n", [1, 5, 1000])
def test_what_a_callback_is_given_stays_as_it_was(n):
    """A log or a plot may keep it: no later step takes its memory, nor that of what it is a view of."""
    calls = []

    def keeps(x):
        calls.append((x, x.copy()))
        return np.float64(x.sum())

    def function(x):
        y = np.sin(x)
        total = pure_callback(keeps, ShapeDtypeStruct((), np.float64), y)
        half = pure_callback(keeps, ShapeDtypeStruct((), np.float64), y[: (n + 1) // 2] * 1)
        return np.exp(y * 2 + 1) * total + half

    f, x = jit(function), np.linspace(0, 1, n)
    for _ in range(2):
        f(x)
    for array, copy in calls:
        np.testing.assert_array_equal(array, copy)


REFUSED = [
    (errors.ShapeError, r"gave the shape \(1,\), not float64\[3\] as was declared", lambda x: x[:1], "{n}"),
    (errors.ShapeError, r"gave the shape \(6,\), not float64\[<=3\]", lambda x: np.append(x, x), "<={n}"),
    (errors.ShapeError, r"gave the shape \(1, 3\), not float64\[\?\]", lambda x: x[None], "?"),
    (errors.DTypeError, r"gave float32, not float64\[3\]", lambda x: x.astype(np.float32), "{n}"),
    (errors.ArgumentError, "as declared", lambda x: (x, x), "{n}"),
    (errors.SpecError, "q is not a size of this program", np.sin, "q"),
    (KeyError, "mine", lambda x: {}["mine"], "{n}"),
]


@pytest.mark.parametrize(("kind", "words", "function", "promise"), REFUSED)
def test_a_promise_that_is_not_kept(kind, words, function, promise):
    make = lambda x: pure_callback(function, ShapeDtypeStruct(promise.format(n=x.shape[0])), x)
    for run in (jit(make), make):
        with pytest.raises(kind, match=words):
            run(X)


def test_bad_arguments():
    with pytest.raises(errors.ArgumentError, match="leaf 0, is 'f8'"):
        pure_callback(np.sin, "f8", X)
    with pytest.raises(errors.ArgumentError, match="an argument is of type object"):
        pure_callback(np.sin, ShapeDtypeStruct(()), object())


def test_settings_among_arguments_reach_the_function():
    powers = {"square": np.square, "root": np.sqrt}
    call = lambda x: pure_callback(lambda x, how: powers[how](x), ShapeDtypeStruct((3,)), x, how="square")
    np.testing.assert_array_equal(jit(call)(X), X**2)
    np.testing.assert_array_equal(call(X), X**2)


def test_derivatives_are_those_of_what_is_around():
    assert grad(lambda x: np.sum(x * unique(stop_gradient(x)).sum()))(X).tolist() == [4, 4, 4]
    places = lambda x: pure_callback(np.argsort, ShapeDtypeStruct(x.shape, np.int64), x)
    weights = np.array([1.0, 2.0, 5.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(x[places(x)] ** 2 * weights))(X), 2 * X * [2, 1, 5])
    np.testing.assert_array_equal(anyshape.hessian(lambda x: np.sum(x[places(x)] ** 2))(X), 2 * np.eye(3))
    with pytest.raises(errors.UnsupportedFunctionError, match=r"pure_callback\(unique\): has no derivative"):
        grad(lambda x: unique(x).sum())(X)


def test_a_program_keeps_its_stop_gradients_for_derivatives_to_come():
    program = trace(lambda x: np.sum(x * stop_gradient(x)))(ShapeDtypeStruct("n"))
    np.testing.assert_array_equal(grad(lambda x: program(x))(X), X)
    assert "stop_gradient" not in str(program.plan)


def test_examples_one_by_one_or_all_at_once():
    calls = []

    def count(x):
        calls.append(x.shape)
        return np.sort(x)

    xs = np.random.default_rng(0).normal(size=(4, 2, 3))
    for vectorized, expected in ((False, [(3,)] * 8), (True, [(4, 2, 3)])):
        calls.clear()
        one = lambda x, v=vectorized: pure_callback(count, ShapeDtypeStruct(x.shape), x, vectorized=v)
        np.testing.assert_array_equal(vmap(vmap(one))(xs), np.sort(xs))
        assert calls == expected
        assert vmap(vmap(one))(xs[:, :0]).shape == (4, 0, 3)
    mixed = vmap(lambda x, y: pure_callback(np.add, ShapeDtypeStruct(x.shape), x, y), in_axes=(0, None))
    np.testing.assert_array_equal(mixed(xs[:, 0], X), xs[:, 0] + X)
    np.testing.assert_array_equal(vmap(unique)(xs[0]), np.sort(xs[0]))
    np.testing.assert_array_equal(vmap(vmap(unique))(xs), np.sort(xs))
    assert vmap(unique)(xs[0, :0]).shape == (0, 0)
    rows = np.array([[1.0, 2, 3], [4, 4, 4]])
    with pytest.raises(errors.RaggedBatchError, match=r"it is 3 in example 0 and 1 in example 1 at test_callback.py:"):
        trace(vmap(unique))(rows)(rows)
    for mapped in (vmap(unique), jit(vmap(unique))):
        assert [y.tolist() for y in mapped(rows)] == [[1, 2, 3], [4]]


def test_a_program_pickles_if_its_function_does_and_is_not_saved(tmp_path):
    program = trace(unique)(ShapeDtypeStruct("n"))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(program))(X), [1, 3])
    with pytest.raises(errors.ArgumentError, match="the function unique is called back, and no file holds it"):
        program.save(tmp_path / "program.anyshape")
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(trace(lambda x: pure_callback(lambda x: x, ShapeDtypeStruct("n"), x))(ShapeDtypeStruct("n")))


def test_a_call_that_is_left_out_is_told_of_once_at_its_line():
    spec = ShapeDtypeStruct((), np.float64)

    def unused(x):
        pure_callback(np.sum, spec, stop_gradient(x))
        return scan(lambda c, row: (pure_callback(np.sum, spec, stop_gradient(row)), (c, None))[1], 0.0, x)[0] * x

    for transform in (jit, grad_of_sum, vmap_of):
        messages = unused_calls(transform(unused))
        assert len(messages) == 2 and all("nothing reads a result of pure_callback(sum)" in m for m in messages)
    assert len(unused_calls(jit(lambda x: (pure_callback(print, (), x), x)[1]))) == 1


def test_a_call_that_a_derivative_leaves_out_is_none_of_the_user():
    used = lambda x: (pure_callback(np.sum, ShapeDtypeStruct((), np.float64), stop_gradient(x)) * 2 + x).sum()
    written = lambda x: x.__setitem__(0, pure_callback(np.sum, ShapeDtypeStruct((), np.float64), x))
    counted = lambda x: np.cumsum(x) * unique(stop_gradient(x)).shape[0]
    for function in (jit(used), grad(used), jit(written), grad_of_sum(counted)):
        assert unused_calls(function) == []


def grad_of_sum(function):
    return grad(lambda x: np.sum(function(x)))


def vmap_of(function):
    return lambda x: vmap(function)(x[None])


def unused_calls(function):
    """The warnings of unused calls that a call gives, once for each line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(X.copy())
    ours = [w for w in caught if w.category is errors.UnusedCallWarning]
    assert all(w.filename == __file__ for w in ours)
    return [*{(w.lineno, str(w.message)): str(w.message) for w in ours}.values()]


def test_a_traced_array_in_place_of_the_result_is_named():
    with pytest.raises(errors.ArgumentError, match=r"args is empty.*_callback.py:\d+\n.*comes before the arg"):
        jit(lambda x: pure_callback(np.sin, x))(np.ones(2))
