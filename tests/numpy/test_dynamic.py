"""Test run-time sizes: traced slice bounds, sizes by value, checks, bad input and random programs."""

import copy
import itertools
import pickle

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, check, errors, grad, jacfwd, jacrev, jit, ops, trace, vmap
from anyshape.backend.interpreter import evaluate
from tests.laws.sweep import leaves

X = np.array([0.5, -1.0, 2.0, -0.25, 3.0])


def fails(kind, words, function, *args):
    """Return the error that a call raises: of this kind, two lines, the first with this line of this file."""
    with pytest.raises(kind, match=words) as caught:
        function(*args)
    error = caught.value
    first, second = str(error).split("\n")
    assert "test_dynamic.py:" in first and second.startswith("  "), str(error)
    return error


# -- slices that end at values -----------------------------------------------------------------------------------

SLICES = {
    "x[:k]": lambda x, i, j: x[:i],
    "x[k:]": lambda x, i, j: x[i:],
    "x[-k:]": lambda x, i, j: x[-i:],
    "x[:-k]": lambda x, i, j: x[:-i],
    "x[i:j]": lambda x, i, j: x[i:j],
    "x[i:j:2]": lambda x, i, j: x[i:j:2],
    "x[i::3]": lambda x, i, j: x[i::3],
    "x[1:j]": lambda x, i, j: x[1:j],
    "x[i:-1]": lambda x, i, j: x[i:-1],
    "x[:i] of x[:j]": lambda x, i, j: x[:j][:i],
    "x[j:i:-1]": lambda x, i, j: x[j:i:-1],
    "x[j::-2]": lambda x, i, j: x[j::-2],
    "x[:i:-1]": lambda x, i, j: x[:i:-1],
    "x[3:i:-1]": lambda x, i, j: x[3:i:-1],
    "x[j:-3:-3]": lambda x, i, j: x[j:-3:-3],
    "x[::-1][:i]": lambda x, i, j: x[::-1][:i],
}


@pytest.mark.parametrize("name", SLICES)
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.uint8, np.uint64])
def test_a_slice_ends_where_numpy_ends_it(name, kind):
    made = jit(SLICES[name])
    for n in (0, 1, 2, 5):
        x = np.arange(float(n))
        for i in range(-n - 2, n + 3):
            for j in (-n - 2, -2, -1, 0, 1, n, n + 2):
                bounds = [kind(abs(b)) if kind(0).dtype.kind == "u" else kind(b) for b in (i, j)]
                if "-k" in name and kind(0).dtype.kind == "u":
                    continue  # NumPy's -k of an unsigned k is a large number
                assert np.array_equal(made(x, *bounds), SLICES[name](x, *bounds)), (name, n, bounds)
    if made.cache_info().entries:
        assert made.cache_info().traces == 1


@pytest.mark.parametrize("k", [3, np.int32(3), np.array(3), np.array(3, np.uint16)])
def test_a_bound_may_be_any_integer_without_axes(k):
    assert jit(lambda x, k: x[:k])(X, k).tolist() == X[:3].tolist()


def test_a_bound_may_be_an_element_of_an_array():
    made = jit(lambda x, ends: [x[ends[i] : ends[i + 1]].sum() for i in range(3)])
    for ends in ([0, 2, 2, 5], [1, 4, 0, 9], [0, -1, 3, -3]):
        expected = [X[a:b].sum() for a, b in itertools.pairwise(ends)]
        assert np.allclose(made(X, np.array(ends)), expected)
    assert made.cache_info().traces == 1


def test_parts_that_end_at_one_value_have_one_size():
    answers = []

    def function(x, y, k):
        first, second = x[:k], y[:k]
        answers.append((first.shape[0] == second.shape[0], first.shape[0] + x[k:].shape[0] == x.shape[0]))
        return first[: x.shape[0]] * x[:k] + anp.arange(k) * anp.zeros(k).sum()

    made = jit(lambda x, k: function(x, x * 2, k))
    assert made(X, np.int64(5)).shape == (5,)
    assert answers == [(True, True)]
    (program,) = made.programs()
    assert not [c for c in program.graph.conditions if c.kind == "guard"]
    broadcasts = [str(c.claim) for c in program.graph.conditions if c.claim.relation == "broadcasts"]
    assert len(broadcasts) == 1  # of x[:k], which is at most as long as x, and arange(k), which may be longer


def test_sizes_by_one_value_are_one_size():
    made = jit(lambda x, k: anp.arange(k) * anp.ones(k) + anp.linspace(0, 1, k) + anp.full(k, x.sum()))
    for k in (0, 1, 4):
        assert np.allclose(made(X, np.int64(k)), np.arange(k) + np.linspace(0, 1, k) + X.sum())
    assert not [c for c in made.programs()[0].graph.conditions if c.kind == "assertion"]


def test_plain_numpy_functions_take_a_traced_size_with_like():
    made = jit(lambda x, k: np.arange(k, like=x) + np.ones((2, k), like=x) + np.full(k, 1.0, like=x))
    assert made(X, np.int64(3)).tolist() == [[2, 3, 4], [2, 3, 4]]


# -- dynamic_truncate --------------------------------------------------------------------------------------------

TRUNCATIONS = [(2, 2), (-3, 0), (9, 5), (2.5, 2), (3.5, 4), (-0.5, 0), (np.inf, 5), (-np.inf, 0), (1e300, 5)]


@pytest.mark.parametrize(("size", "expected"), TRUNCATIONS)
def test_a_size_is_rounded_to_even_and_clamped(size, expected):
    assert np.array_equal(ops.dynamic_truncate(X, size), X[:expected])
    assert np.array_equal(jit(lambda x: ops.dynamic_truncate(x, size))(X), X[:expected])
    made = jit(ops.dynamic_truncate)
    assert np.array_equal(made(X, np.array(size)), X[:expected])
    derivative = grad(lambda x, size: ops.dynamic_truncate(x * x, size).sum())(X, np.array(size))
    assert np.array_equal(derivative, np.where(np.arange(5) < expected, 2 * X, 0))


@pytest.mark.parametrize("size", [True, np.bool_(True), 1j, "2", None])
def test_arguments_that_are_no_sizes_are_refused(size):
    with pytest.raises(TypeError):
        ops.dynamic_truncate(X, size)


@pytest.mark.parametrize("size", [np.array(True), np.array(1j), np.array([1, 2])])
def test_traced_values_that_are_no_sizes_are_refused(size):
    fails(errors.DTypeError, "a size is", jit(ops.dynamic_truncate), X, size)


def test_a_size_has_no_gradient():
    derivatives = grad(lambda x, k: (ops.dynamic_truncate(x, k) * k).sum(), argnums=(0, 1))(X, 2.4)
    assert np.allclose(derivatives[0], [2.4, 2.4, 0, 0, 0]) and np.allclose(derivatives[1], X[:2].sum())


def test_truncation_takes_symbolic_sizes_too():
    made = jit(lambda x: ops.dynamic_truncate(x, x.shape[1] // 2, axis=-1))
    assert [made(np.ones((2, n))).shape for n in (0, 1, 4, 7)] == [(2, 0), (2, 0), (2, 2), (2, 3)]


# -- bad input ---------------------------------------------------------------------------------------------------

IDS = np.array([0, 1, -2, 1, 0])
BAD = {
    "zeros": (lambda x, k: anp.zeros(k - 9) + x.sum(), ValueError, "a size cannot be negative, and this one is -7 "),
    "eye": (lambda x, k: anp.eye(k - 9), ValueError, r"eye\(.*\): a size cannot be negative"),
    "linspace": (lambda x, k: anp.linspace(0, 1, k - 9), ValueError, r"linspace\(.*\): a size cannot be negative"),
    "tile": (lambda x, k: np.tile(x, k - 9), ValueError, r"tile\(.*\): a size cannot be negative"),
    "repeat": (lambda x, k: np.repeat(x, k - 9), ValueError, r"repeat\(.*\): a size cannot be negative"),
    "repeat by counts": (lambda x, k: np.repeat(x, IDS * k), ValueError, "a count cannot be negative"),
    "counts of another size": (
        lambda x, k: np.repeat(x, anp.stack([k, k])),
        ValueError,
        r"2 must be 1 or equal x.shape\[0\] \(5\)",
    ),
    "reshape": (lambda x, k: x.reshape(k, k), ValueError, r"x.shape\[0\] \(5\) must equal size\*\*2 \(4\)"),
    "step of arange": (lambda x, k: anp.arange(0, 3, k - k), ValueError, "step of a range cannot be zero"),
    "bincount": (lambda x, k: np.bincount(IDS * k), ValueError, "an element cannot be negative"),
    "weights": (lambda x, k: np.bincount(abs(IDS) * k, np.ones(2)), ValueError, "different lengths"),
    "NaN": (lambda x, k: ops.dynamic_truncate(x, k * np.nan), ValueError, "a size cannot be NaN"),
    "mask": (lambda x, k: x[:3][x > k], IndexError, r"\(3\) must equal x.shape\[0\] \(5\)"),
    "mask of place": (lambda x, k: ops.place(x, x[:2] > 0, x), ValueError, r"x.shape\[0\] \(5\) must equal .* \(2\)"),
    "nothing to place": (lambda x, k: ops.place(x, x > 0, x[:0]), ValueError, "there are no values"),
    "top_k": (lambda x, k: anp.top_k(x, k * 9), ValueError, r"x.shape\[0\] \(5\) must be at least size \(18\)"),
    "negative top_k": (lambda x, k: anp.top_k(x, -k), ValueError, r"top_k\(.*\): a size cannot be negative"),
    "part": (
        lambda x, k: ops.dynamic_slice(x, (0,), (k * 9,)),
        ValueError,
        r"x.shape\[0\] \(5\) must be at least size \(18\)",
    ),
    "starts": (lambda x, k: ops.dynamic_slice(x, (k, k), (1,)), ValueError, "2 starts for 1 axes"),
    "ids": (lambda x, k: ops.segment_sum(x, IDS[:2], k), ValueError, r"x.shape\[0\] \(5\) must equal 2"),
    "segments": (lambda x, k: ops.segment_sum(x, IDS, -k), ValueError, r"segment_sum\(.*\): a size cannot be negative"),
    "scalar": (lambda x, k: np.nonzero(x.sum()), ValueError, "a scalar has no positions"),
    "beyond": (lambda x, k: np.compress(anp.stack([k] * 9), x), IndexError, "out of bounds"),
    "too large": (lambda x, k: anp.ones((k * 2**40, k * 2**40)) * x.sum(), Exception, "."),
    "too many": (lambda x, k: np.repeat(x, anp.stack([k * 2**61] * 5)), ValueError, "too large"),
    "float ids": (lambda x, k: ops.segment_sum(x, x, 3), TypeError, "the ids are float64"),
    "float bins": (lambda x, k: np.bincount(x), TypeError, "the elements are float64"),
    "float counts": (lambda x, k: np.repeat(x, x), TypeError, "counts are float64"),
    "float condition": (lambda x, k: ops.place(x, x, x), TypeError, "the mask is float64"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_the_users_line(name):
    function, kind, words = BAD[name]
    made = jit(function)
    fails(errors.AnyshapeError, words, made, X, np.int64(2))
    with pytest.raises(kind):
        made(X, np.int64(2))


DECISIONS = {
    "if": lambda x: x if len(x[x > 0]) > 2 else -x,
    "int": lambda x: int(x[x > 0].shape[0]),
    "range": lambda x: [x for _ in range(np.flatnonzero(x).shape[0])],
    "bool": lambda x: -x if np.unique(x).shape[0] else x,
}


@pytest.mark.parametrize("name", DECISIONS)
@pytest.mark.usefixtures("as_written")
def test_one_program_for_all_calls_cannot_decide_by_a_size_that_depends_on_data(name):
    error = fails(errors.DataDependentSizeError, "depends on data", trace(DECISIONS[name]), ShapeDtypeStruct("n"))
    ((size, maker),) = error.sizes.items()
    assert size in ("count", "kinds") and "made by" in maker and "test_dynamic.py:" in maker


RAGGED = {
    "mask": lambda x: x[x > 0].sum(),
    "slice": lambda x: x[: (x > 0).sum()].sum(),
    "unique": lambda x: np.unique(x).sum(),
    "repeat": lambda x: np.repeat(x, (x > 0).astype(int)).sum(),
    "bincount": lambda x: np.bincount((x > 0).astype(int)).sum(),
}


@pytest.mark.parametrize("name", RAGGED)
def test_examples_of_different_sizes_are_refused_by_programs_and_mapped_by_functions(name):
    function, rows = RAGGED[name], np.stack([X, -X, 2 * X])
    mapped, program = jit(vmap(function)), trace(vmap(function))(ShapeDtypeStruct("b, n"))
    np.testing.assert_allclose(vmap(function)(rows), [function(row) for row in rows])
    twice = np.stack([X, 2 * X])
    for _ in range(2):
        np.testing.assert_array_equal(mapped(twice), [function(row) for row in twice])
        if len({function(np.ones_like(row) * (row > 0)) for row in rows}) > 1:
            error = fails(errors.RaggedBatchError, "one size for all examples", program, rows)
            (first, a), (other, b) = error.shapes.items()
            assert first == (0,) and other == (1,) and a != b
            assert f"{a[0]} in example 0 and {b[0]} in example 1 at test_dynamic.py:" in str(error)
        np.testing.assert_allclose(mapped(rows), [function(row) for row in rows])
    assert mapped.cache_info().traces == 1 and mapped(rows[:0]).shape == (0,)


AGREEING = {
    "mask": lambda x: x[np.argsort(x) > 1] ** 2,
    "mask of a matrix": lambda x: np.outer(x, x)[np.outer(x, x) > -99] * 2,
    "positions": lambda x: np.flatnonzero(np.argsort(x) > 0),
    "positions in a matrix": lambda x: np.argwhere(np.outer(np.argsort(x), np.argsort(x)) > 2),
    "distinct": lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
    "distinct rows": lambda x: np.unique(np.stack([x, -x, x]), axis=0),
    "repeat": lambda x: np.repeat(x, np.argsort(x)),
    "slice": lambda x: x[: (x > -99).sum() - 2] * 3,
    "two slices": lambda x: np.concatenate([x[(x > 99).sum() :], x[: np.minimum((x > -99).sum(), 2)]]),
    "trim": lambda x: np.trim_zeros(np.where((x == x.max()) | (x == x.min()), 0 * x, x)[np.argsort(x)]),
    "size": lambda x: x * x[np.argsort(x) > 1].shape[0],
    "equal sizes": lambda x: x[np.argsort(x) > 1] * np.unique(x)[2:],
    "gradient": lambda x: grad(lambda y: np.sum(y[np.argsort(y) > 1] ** 3))(x),
    "jacobian": lambda x: anyshape.jacrev(lambda y: y[np.argsort(y) > 1] ** 3)(x),
}


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("name", AGREEING)
def test_examples_of_one_size_are_batched_at_any_depth(name, depth):
    function, shape = AGREEING[name], (2, 3, 2)[:depth]
    mapped, looped = function, jit(function)
    for _ in range(depth):
        mapped = vmap(mapped)
    for n in (5, 3):
        x = np.random.default_rng(n).normal(size=(*shape, n))
        got = leaves(mapped(x))
        for index in np.ndindex(shape):
            for a, b in zip(got, leaves(looped(x[index])), strict=True):
                np.testing.assert_allclose(a[index], b, rtol=1e-12)
    assert mapped.cache_info().traces == 1


def written(x, first, last, step=None):
    """Write to a window in three ways: at a key, through a view, and at the same key as `at` does."""
    y = x * 1.5
    y[first:last:step] = y[first:last:step] * 3 + 1
    view = y[first:last:step]
    view *= 2
    view[:1] += 5
    if isinstance(y, np.ndarray) and type(y) is np.ndarray:
        z = y.copy()
        z[first:last:step] += 0.5
        return z
    return anp.at(y)[first:last:step].add(0.5)


WINDOWS = {
    "read": lambda x, i, j: x[i : i + 2] ** 2,
    "of half a size": lambda x, i, j: x[i : i + x.shape[0] // 2] ** 2,
    "between two values": lambda x, i, j: x[i + j - 1 : i + 2 * j - 1] ** 2,
    "with a step": lambda x, i, j: x[i : i + 3 : 2] ** 2,
    "backwards": lambda x, i, j: x[i + 2 : i + 1 - j : -1] ** 2,
    "backwards with a step": lambda x, i, j: x[i + 3 : i : -2] ** 2,
    "next to a list": lambda x, i, j: np.stack([x, x * x, -x], axis=1)[i : i + 2, [0, 2]],
    "in two axes": lambda x, i, j: np.outer(x, x)[i : i + 2, i - 1 : i + 1],
    "write": lambda x, i, j: written(x, i, i + 2) ** 2,
    "write with a step": lambda x, i, j: written(x, i, i + 3, 2) ** 2,
    "write backwards": lambda x, i, j: written(x, i + 2, i, -1) ** 2,
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_one_size_may_start_apart_in_each_example(name):
    function = WINDOWS[name]
    mapped = vmap(function)
    gradients = vmap(grad(lambda x, i, j: np.sum(function(x, i, j) ** 2)))
    second = vmap(grad(lambda x, i, j: np.sum(grad(lambda y: np.sum(function(y, i, j) ** 2))(x) ** 2)))
    for n in (8, 9):
        x, i, j = np.random.default_rng(n).normal(size=(3, n)), np.array([2, 4, 1]), np.array([2, 2, 2])
        np.testing.assert_allclose(mapped(x, i, j), [function(*row) for row in zip(x, i, j, strict=True)], rtol=1e-12)
        for batched in (gradients, second) if name in ("read", "write", "backwards") else (gradients,):
            example = jit(batched.__wrapped__)
            expected = [example(*row) for row in zip(x, i, j, strict=True)]
            np.testing.assert_allclose(batched(x, i, j), expected, rtol=1e-12)
        (example,) = np.diag(np.ones(n))[:1] * 1e-5
        change = function(x[0] + example, 2, 2) ** 2 - function(x[0] - example, 2, 2) ** 2
        np.testing.assert_allclose(gradients(x, i, j)[0, 0], np.sum(change) / 2e-5, 1e-5, 1e-5)
    assert mapped.cache_info().traces == 1


def test_windows_that_differ_are_refused_with_their_sizes():
    """The end of the axis cuts the last one off."""
    args = np.ones((2, 4)), np.array([1, 3])
    program = trace(vmap(lambda x, k: x[k : k + 2]))(*args)
    error = fails(errors.RaggedBatchError, "one size for all", program, *args)
    assert error.shapes == {(0,): (2,), (1,): (1,)}


@pytest.mark.parametrize("step", [None, 2, -1, -2])
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64])
def test_windows_between_any_bounds_are_those_of_numpy(kind, step):
    part, change = jit(lambda x, i, j: x[i:j:step]), jit(lambda x, i, j: written(x, i, j, step))
    for n in (0, 1, 5):
        for i, j in itertools.product((0, 1, 4, 9) if kind is np.uint8 else (-7, -2, -1, 0, 4, 6), repeat=2):
            x, i, j = np.arange(1.0, n + 1), kind(i), kind(j)
            np.testing.assert_array_equal(part(x, i, j), x[i:j:step])
            np.testing.assert_array_equal(change(x, i, j), written(x, i, j, step))
    assert part.cache_info().traces == change.cache_info().traces == 1


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint16, np.uint64])
def test_a_bound_of_few_bits_reaches_along_a_longer_axis(kind):
    x, k = np.arange(300.0), kind(100)
    for part in (lambda x, k: x[k::-1], lambda x, k: x[:k:-1], lambda x, k: x[k:], lambda x, k: x[k : k + 20]):
        np.testing.assert_array_equal(jit(part)(x, k), part(x, k))


def test_sizes_that_carry_no_batch_are_batched():
    rows = np.stack([X, -X])
    made = vmap(lambda x, k, i: (x[:k], ops.dynamic_slice(x, (i,), (k,)), anp.top_k(x, k)[0]), in_axes=(0, None, 0))
    for k in (0, 1, 3):
        parts, windows, top = made(rows, np.int64(k), np.array([1, -1]))
        assert np.array_equal(parts, rows[:, :k])
        assert np.array_equal(windows, [rows[0, min(1, 5 - k) :][:k], rows[1, min(4, 5 - k) :][:k]])
        assert np.array_equal(top, -np.sort(-rows)[:, :k])
    assert made.cache_info().traces == 1


# -- check -------------------------------------------------------------------------------------------------------


def paired(x):
    check(lambda: x.shape[0] % 2 == 0, "pairs are needed")
    check(np.sum(x) > 0, "a positive sum is needed")
    return np.sum(x.reshape(-1, 2)[:, 0] ** 2)


ROWS = np.ones((3, 4))
CHECKED = {
    "plain": (paired, lambda x: x),
    "jit": (jit(paired), lambda x: x),
    "grad": (grad(paired), lambda x: x),
    "hessian": (anyshape.hessian(paired), lambda x: x),
    "vmap": (vmap(paired), lambda x: np.stack([np.ones_like(x), x])),
    "vmap of grad": (vmap(grad(paired)), lambda x: np.stack([x, np.ones_like(x)])),
    "nested": (jit(lambda x: jit(paired)(x) + grad(paired)(x)), lambda x: x),
    "unused": (jit(lambda x: (paired(x), x)[1]), lambda x: x),
    "inner, unused": (jit(lambda x: (vmap(jit(paired))(x), x)[1]), lambda x: np.stack([x, x])),
}


@pytest.mark.parametrize("name", CHECKED)
def test_a_check_stays_in_the_program(name):
    function, arrange = CHECKED[name]
    for n in (2, 4, 8):
        function(arrange(np.ones(n)))
    words = r"pairs are needed: x.shape\[[01]\] \(3\) must be divisible by 2"
    words = "pairs are needed" if name == "plain" else words
    error = fails(errors.CheckError, words, function, arrange(np.ones(3)))
    assert name == "plain" or list(error.sizes.values()) == [3]
    fails(errors.CheckError, "a positive sum is needed", function, arrange(-np.ones(4)))
    if name != "plain":
        assert function.cache_info().traces == 1


def test_a_check_is_saved_and_loaded(tmp_path):
    anyshape.export(paired)(anyshape.ShapeDtypeStruct("n")).save(tmp_path / "paired")
    for program in (anyshape.load(tmp_path / "paired"), anyshape.trace(paired)(anyshape.ShapeDtypeStruct("n"))):
        assert program(np.ones(4)) == 2
        fails(errors.CheckError, "pairs are needed", program, np.ones(3))
        fails(errors.CheckError, "a positive sum", program, -np.ones(4))
        again = pickle.loads(pickle.dumps(program))
        fails(errors.CheckError, "a positive sum", again, -np.ones(4))


def test_a_check_of_sizes_is_assumed_from_there_on():
    def function(x, y):
        check(lambda: x.shape[0] == 2 * y.shape[0] and y.shape[0] >= 3, "sizes go together")
        answers.append((x.shape[0] > 5, x.shape[0] % 2 == 0))
        return x.reshape(2, -1) + y

    answers, made = [], jit(function)
    assert made(np.ones(6), np.ones(3)).shape == (2, 3) and made(np.ones(8), np.ones(4)).shape == (2, 4)
    assert set(answers) == {(True, True)}
    assert {c.kind for c in made.programs()[0].graph.conditions} == {"assertion"}
    fails(errors.CheckError, "sizes go together", made, np.ones(6), np.ones(4))
    fails(errors.CheckError, "sizes go together", made, np.ones(4), np.ones(2))


def test_a_check_of_sizes_that_depend_on_data():
    def function(x):
        seen = x[x > 0]
        check(lambda: seen.shape[0] >= 2, "two are needed")
        return seen[1] * seen[:2].sum()

    for made in (jit(function), grad(function), jacfwd(jacrev(function))):
        made(X)
        error = fails(errors.CheckError, "two are needed", made, np.array([1.0, -1.0]))
        assert list(error.sizes.values()) == [1]


@pytest.mark.parametrize(
    "condition",
    [
        lambda n: n > 2 or n == 0,
        lambda n: not n > 2,
        lambda n: n > 2 if n != 3 else n == 4,
        lambda n: n > 2 and (n < 9 or n > 11),
        lambda n: (n > 2) == (n > 1),
    ],
)
def test_only_comparisons_joined_by_and_are_demanded(condition):
    with pytest.raises(errors.ArgumentError, match="joined by `and`"):
        jit(lambda x: check(lambda: condition(x.shape[0])))(X)


def test_a_failed_check_reports_the_values():
    error = fails(errors.CheckError, "all are positive", jit(lambda x: check(x > 0, "all are positive")), X)
    assert error.observed == "2 of 5 elements that are False, the first at [1]"
    assert copy.copy(error).observed == error.observed
    fails(errors.CheckError, "never", lambda: check(False, "never"))
    fails(errors.CheckError, "never", jit(lambda x: check(False, "never")), X)
    with pytest.raises(errors.DTypeError, match="a check is of float64"):
        jit(lambda x: check(x))(X)
    assert check(True) is None and check(np.ones(3) > 0) is None


# -- segments and unique ------------------------------------------------------------------------------------------


def test_a_product_of_segments_has_all_derivatives_at_zeros():
    """With two zeros in a segment only the second derivative is nonzero; through logarithms it would be lost."""
    x, ids = np.array([0.0, 3.0, 0.0, 2.0, 5.0]), np.array([1, 1, 1, 0, 0])
    function = lambda x: ops.segment_prod(x, ids, 2)[1]
    assert grad(function)(x).tolist() == [0, 0, 0, 0, 0]
    second = anyshape.hessian(function)(x)
    expected = np.zeros((5, 5))
    expected[0, 2] = expected[2, 0] = 3
    assert np.array_equal(second, expected)
    third = jacfwd(jacfwd(jacrev(function)))(x)
    assert third[0, 1, 2] == third[2, 1, 0] == 1 and np.abs(third).sum() == 6


def test_a_maximum_of_segments_shares_its_derivative_among_equals():
    ids, weights = np.array([0, 0, 1, 1, 7]), np.array([1.0, 2.0])
    derivative = grad(lambda x: ops.segment_max(x, ids, 2) @ weights)(np.array([1.0, 1.0, 2.0, 3.0, 9.0]))
    assert derivative.tolist() == [0.5, 0.5, 0, 2, 0]


def test_the_first_occurrence_carries_the_derivative_of_unique():
    x = np.array([3.0, 1.0, 3.0, 2.0, 1.0])
    derivative = grad(lambda x: (np.unique(x) * np.array([1.0, 10.0, 100.0])).sum())(x)
    assert derivative.tolist() == [100, 1, 0, 10, 0]


# -- random programs ---------------------------------------------------------------------------------------------

STEPS = [
    lambda np, x, k: x[x > 0.1],
    lambda np, x, k: x[:k],
    lambda np, x, k: x[k // 2 :],
    lambda np, x, k: x[: (x > 0).sum()] * 1.5,
    lambda np, x, k: np.sin(x) + 0.1 * x**2,
    lambda np, x, k: np.repeat(x, (x > 0) + 1),
    lambda np, x, k: np.concatenate([x, np.cos(x[x > 0])]),
    lambda np, x, k: np.unique(x) * 0.9,
    lambda np, x, k: np.cumsum(x) * 0.3,
    lambda np, x, k: x * np.arange(x.shape[0]) * 0.2 + 0.1,
    lambda np, x, k: (x.reshape(-1, 1) @ np.array([[0.5, -1.5]])).ravel(),
    lambda np, x, k: x[np.nonzero(x < 0.7)[0]] ** 2,
    lambda np, x, k: np.compress(np.abs(x) > 0.2, x) - 0.3,
    lambda np, x, k: np.sort(x)[::2],
    lambda np, x, k: np.where(x > 0, x, x * x)[::-1],
    lambda np, x, k: np.extract(x > 0.05, x),
    lambda np, x, k: np.bincount((x > 0).astype(int), x * x, 3) * 0.5,
    lambda np, x, k: np.outer(x[:2], x[x > 0]).sum(0) * 0.5,
    lambda np, x, k: x + np.zeros(k).sum() + np.linspace(0, 1, k).sum(),
]
SHAPES = [(n, fill) for n in (0, 1, 2, 3, 5, 8, 13, 21) for fill in (-1, 0, 1)]


def program_of(seed):
    """Return a chain of random steps, some of them static, as a function of a namespace."""
    rng = np.random.default_rng(seed)
    chosen = [STEPS[i] for i in rng.integers(0, len(STEPS), rng.integers(3, 7))]

    def function(np, x, k):
        for step in chosen:
            x = step(np, x, k)
        return x

    return function


def values_of(n, fill, seed):
    """Return values of both signs or of one, and a bound.

    Masks of them choose some, none or all elements. The bound lies between below the start and beyond the end.
    """
    rng = np.random.default_rng((seed, n, fill + 1))
    x = rng.normal(size=n)
    return x if fill == 0 else fill * np.abs(x) - 0.0, np.int64(rng.integers(0, n + 3))


SEEDS = [*range(10), *[pytest.param(s, marks=pytest.mark.slow) for s in range(10, 80)]]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_random_program_gives_what_numpy_gives_at_every_size(seed, tmp_path):
    function = program_of(seed)
    made = jit(lambda x, k: function(anp, x, k))
    exported = anyshape.export(lambda x, k: function(anp, x, k))
    specs = anyshape.ShapeDtypeStruct("n"), anyshape.ShapeDtypeStruct((), np.int64)
    exported(*specs).save(tmp_path / "program")
    loaded = anyshape.load(tmp_path / "program")
    for n, fill in SHAPES:
        x, k = values_of(n, fill, seed)
        expected = function(np, x, k)
        result = made(x, k)
        assert result.shape == expected.shape and np.allclose(result, expected, 1e-9, 1e-9), (n, fill)
        assert np.allclose(loaded(x, k), expected, 1e-9, 1e-9)
        (graph,) = [p.graph for p in made.programs()]
        assert np.array_equal(evaluate(graph, [x, k])[0], result)
    assert made.cache_info().traces == 1


@pytest.mark.parametrize("seed", [*range(6), *[pytest.param(s, marks=pytest.mark.slow) for s in range(6, 60)]])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_random_program_has_right_derivatives(seed):
    function = program_of(seed)
    loss = lambda x, k: np.sum(np.tanh(function(anp, x, k)) * (1 + 0.1 * anp.arange(function(anp, x, k).shape[0])))
    plain = lambda x, k: np.sum((y := np.tanh(function(np, x, k))) * (1 + 0.1 * np.arange(y.size)))
    derivative, forward = grad(loss), jit(lambda x, k, t: anyshape.jvp(lambda x: loss(x, k), (x,), (t,))[1])
    twice, back = jacfwd(jacrev(loss)), jacrev(jacrev(loss))
    for n, fill in SHAPES[::2]:
        x, k = values_of(n, fill, seed)
        t = np.random.default_rng(seed).normal(size=n)
        g, h = derivative(x, k), 1e-6
        estimate = (plain(x + h * t, k) - plain(x - h * t, k)) / (2 * h)
        assert np.allclose(forward(x, k, t), estimate, 1e-5, 1e-6), (n, fill)
        assert np.allclose(g @ t, estimate, 1e-5, 1e-6), (n, fill)
        if n <= 5:
            second = twice(x, k)
            bent = (derivative(x + h * t, k) - derivative(x - h * t, k)) / (2 * h)
            assert np.allclose(second @ t, bent, 1e-4, 1e-5), (n, fill)
            assert np.allclose(back(x, k), second, 1e-9, 1e-9)
    assert derivative.cache_info().traces == forward.cache_info().traces == twice.cache_info().traces == 1


def test_a_run_time_size_that_equals_another_is_not_read_before_it_is_made():
    def function(x):
        half = x[: x.shape[0] // 2]
        trimmed = np.trim_zeros(np.sign(half).ravel())
        return np.matmul(trimmed, np.sin(half)) + half  # asserts that the trimmed size is the half

    program = anyshape.export(function)(anyshape.ShapeDtypeStruct("m, k"))
    for shape in ((1, 1), (2, 1), (5, 1)):
        x = np.linspace(1, 2, shape[0] * shape[1]).reshape(shape)
        np.testing.assert_allclose(program(x), function(x))


# -- ranges of floats --------------------------------------------------------------------------------------------


def test_a_range_of_floats_is_numpys_from_one_trace():
    made = jit(lambda a, b, step: anp.arange(a, b, step))
    rows = [(0.0, 1.0, 0.1), (1.0, 0.0, -0.1), (0.0, 1.0, -0.1), (0.1, 0.4, 0.1), (0.0, 0.3, 0.1)]
    for a, b, step in [*rows, *np.random.default_rng(0).normal(size=(50, 3)).tolist()]:
        np.testing.assert_allclose(made(a, b, step), np.arange(a, b, step), 1e-13, 1e-15, strict=True)
    assert made.cache_info().traces == 1
    for b, step in ((1.0, 0.0), (np.inf, 1.0), (np.nan, 1.0)):
        with np.errstate(all="ignore"), pytest.raises(errors.CheckError, match="must be finite"):
            made(0.0, b, step)


def test_a_range_may_depend_on_a_float_of_a_size():
    made = jit(lambda x: (anp.arange(1.0, x.shape[0] + 1.0) * x, anp.arange(x.shape[0] * 0.37), anp.arange(0, 1, 0.7)))
    plain = lambda x: (np.arange(1.0, x.shape[0] + 1.0) * x, np.arange(x.shape[0] * 0.37), np.arange(0, 1, 0.7))
    for n in (3, 5, 0, 1):
        for got, wanted in zip(made(np.ones(n)), plain(np.ones(n)), strict=True):
            np.testing.assert_allclose(got, wanted, 1e-13, strict=True)
    assert made.cache_info().traces == 1


def test_the_derivative_of_a_range_by_its_step():
    squares = lambda np, step: np.sum(np.arange(0.0, 1.0, step) ** 2)
    difference = (squares(np, 0.13 + 1e-6) - squares(np, 0.13 - 1e-6)) / 2e-6
    np.testing.assert_allclose(grad(lambda step: squares(anp, step))(0.13), difference, 1e-6)


@pytest.mark.parametrize("stop", [3, 2.5, True, *[np.dtype(c).type(3) for c in "bBhHiIqQefd?"]], ids=repr)
def test_the_dtype_of_a_range_of_scalars(stop):
    ranges = lambda np, x: (np.arange(x), np.arange(x * 0, x, np.int8(1)), np.arange(np.float32(0), x))
    for got, wanted in zip(jit(lambda x: ranges(anp, x))(stop), ranges(np, stop), strict=True):
        np.testing.assert_array_equal(got, wanted, strict=True)
