"""Associative scans: every length from one trace, against combining one element after the other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape
from anyshape import (
    associative_scan,
    check_grads,
    export,
    grad,
    jacfwd,
    jacrev,
    jit,
    jvp,
    load,
    symbolic_args_specs,
    trace,
    vmap,
    while_loop,
)
from anyshape.errors import ArgumentError, AxisError, CarryMismatchError, SizeMismatchError
from anyshape.tracing.pytrees import flatten, unflatten


def combined_in_order(fn, elems, *, reverse=False, axis=0):
    """Combine one element after the other, in plain NumPy."""
    leaves, tree = flatten(elems)
    count = leaves[0].shape[axis]
    if not count:
        return elems
    singles = [unflatten(tree, [np.take(x, [i], axis) for x in leaves]) for i in range(count)]
    singles = singles[::-1] if reverse else singles
    results = [singles[0]]
    for x in singles[1:]:
        results.append(fn(results[-1], x))
    columns = zip(*[flatten(y)[0] for y in (results[::-1] if reverse else results)], strict=True)
    return unflatten(tree, [np.concatenate(column, axis) for column in columns])


def kalman(first, second):
    """Combine two affine maps with noise: s -> a s + b, with covariances."""
    return {
        "a": second["a"] @ first["a"],
        "b": (second["a"] @ first["b"][..., None])[..., 0] + second["b"],
        "c": second["a"] @ first["c"] @ np.swapaxes(second["a"], -1, -2) + second["c"],
    }


def linear(first, second):
    return first[0] * second[0], second[0] * first[1] + second[1]


def linear_rows(first, second):
    return first[0] * second[0], second[1] + first[1] * second[0][:, None]


def scaled_product(first, second):
    """Multiply matrices that are kept at a largest entry of one, with the logarithm of what they lost."""
    product = first[0] @ second[0]
    top = np.max(product, axis=(-1, -2))
    return product / top[:, None, None], first[1] + second[1] + np.log(top)


def floats(*shape):
    return lambda rng, n: rng.uniform(0.5, 1.5, (n, *shape))


def kalman_elements(rng, n):
    roots = rng.normal(size=(n, 2, 2)) / 2
    return {"a": rng.normal(size=(n, 2, 2)) / 2, "b": rng.normal(size=(n, 2)), "c": roots @ np.swapaxes(roots, 1, 2)}


PROGRAMS = {
    "sum": (np.add, floats(3)),
    "int8 sum": (lambda a, b: b + a, lambda rng, n: rng.integers(-9, 9, n).astype(np.int8)),
    "or": (np.add, lambda rng, n: rng.random(n) > 0.6),
    "product": (np.multiply, floats()),
    "max": (np.maximum, floats(2, 2)),
    "min": (lambda a, b: np.minimum(b, a), floats()),
    "logaddexp": (np.logaddexp, floats(2)),
    "last": (lambda a, b: b, floats()),
    "hypot": (np.hypot, floats(2)),
    "matrices": (lambda a, b: a @ b, floats(2, 2)),
    "linear": (linear, lambda rng, n: (rng.normal(size=n), rng.normal(size=n))),
    "linear rows": (linear_rows, lambda rng, n: (rng.normal(size=n), rng.normal(size=(n, 3)))),
    "kalman": (kalman, kalman_elements),
    "scaled": (scaled_product, lambda rng, n: (rng.random((n, 2, 2)), rng.random(n))),
}
SMOOTH = [name for name in PROGRAMS if name not in ("int8 sum", "or", "last", "max", "min")]


def assert_close(results, expected):
    ys, tree = flatten(results)
    zs, other = flatten(expected)
    assert tree == other
    for y, z in zip(ys, zs, strict=True):
        assert y.dtype == z.dtype and y.shape == z.shape
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_length_comes_from_one_trace(name, reverse):
    fn, elements = PROGRAMS[name]
    scan, rng = jit(lambda elems: associative_scan(fn, elems, reverse=reverse)), np.random.default_rng(0)
    for n in (3, *range(18), 40):
        elems = elements(rng, n)
        assert_close(scan(elems), combined_in_order(fn, elems, reverse=reverse))
    assert scan.cache_info().traces == 1


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("fn", [np.add, np.hypot, lambda a, b: a * 1 + b], ids=["sum", "hypot", "written sum"])
def test_every_axis(fn, axis):
    scan, x = jit(lambda x: associative_scan(fn, x, axis=axis)), np.random.default_rng(0).random((3, 5, 4))
    assert_close(scan(x), combined_in_order(fn, x, axis=axis))


def test_pairs_stand_along_the_axis_of_the_caller():
    def products(a, b):  # of matrices in the first and last axes
        return np.einsum("iaj,jak->iak", a, b)

    x = np.random.default_rng(0).random((2, 7, 2))
    expected = combined_in_order(products, x, axis=1)
    assert_close(jit(lambda x: associative_scan(products, x, axis=1))(x), expected)
    assert_close(associative_scan(products, x, axis=1), expected)
    elems = x[..., 0], x
    scan = jit(lambda e: associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0][:, :, None] + q[1]), e, axis=1))
    expected = combined_in_order(lambda p, q: (p[0] * q[0], p[1] * q[0][:, :, None] + q[1]), elems, axis=1)
    assert_close(scan(elems), expected)


OPS = {
    "sum": "cumsum",
    "product": "cumprod",
    "max": "cummax",
    "min": "cummin",
    "int8 sum": "cumsum",
    "logaddexp": "cumlogsumexp",
    "linear": "recurrence",
    "linear rows": "recurrence",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_that_cumulative_ops_compute_go_to_them(name):
    fn, elements = PROGRAMS[name]
    text = str(trace(lambda elems: associative_scan(fn, elems))(elements(np.random.default_rng(0), 3)))
    assert ("while" in text) == (name not in OPS)
    assert OPS.get(name, "while") in text


@pytest.mark.parametrize(
    "fn",
    [
        lambda p, q: (p[0] * q[0], p[0] * p[1] + q[1]),  # the factor of the first, which is not a step
        lambda p, q: (p[0] + q[0], q[0] * p[1] + q[1]),
        lambda p, q: (p[0] * q[0], q[0] * p[1] + p[1]),
        lambda p, q: (p[0] * q[0], q[1] * p[1] + q[0]),
    ],
)
def test_functions_that_only_look_like_steps_are_called(fn):
    elems = tuple(np.random.default_rng(0).random((2, 2)))
    text = str(trace(lambda elems: associative_scan(fn, elems))(elems))
    assert "while" in text and "recurrence" not in text
    assert_close(jit(lambda elems: associative_scan(fn, elems))(elems), combined_in_order(fn, elems))


def test_the_first_factor_counts_for_nothing():
    a, b = np.array([np.inf, 2.0, 3.0]), np.array([1.0, 1.0, 1.0])
    states = jit(lambda a, b: associative_scan(linear, (a, b))[1])
    np.testing.assert_array_equal(states(a, b), [1.0, 3.0, 10.0])
    np.testing.assert_array_equal(grad(lambda a, b: states(a, b).sum())(a, b), [0.0, 4.0, 3.0])
    backwards = jit(lambda a, b: associative_scan(linear, (a, b), reverse=True)[1])
    np.testing.assert_array_equal(backwards(a[::-1], b), [10.0, 3.0, 1.0])


# -- transforms --------------------------------------------------------------------------------------------------


def total(name, *, reverse=False):
    fn, _ = PROGRAMS[name]

    def weighted(elems):
        ys = flatten(associative_scan(fn, elems, reverse=reverse))[0]
        return sum(np.sum(np.sin(y) * np.cos(np.arange(y.size, like=y).reshape(y.shape))) for y in ys)

    return weighted


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_at_every_length(name):
    weighted, rng = total(name), np.random.default_rng(1)
    for n in (1, 5):
        check_grads(
            weighted, (PROGRAMS[name][1](rng, n),), order=2 if n == 5 and name not in ("kalman", "scaled") else 1
        )


@pytest.mark.parametrize("reverse", [False, True])
def test_a_gradient_is_traced_once(reverse):
    weighted, rng = total("kalman", reverse=reverse), np.random.default_rng(1)
    derivative = jit(grad(weighted))
    for n in (4, *range(10)):
        elems, direction = kalman_elements(rng, n), kalman_elements(rng, n)
        moved = sum(np.vdot(u, v) for u, v in zip(flatten(derivative(elems))[0], flatten(direction)[0], strict=True))
        np.testing.assert_allclose(jvp(weighted, (elems,), (direction,))[1], moved, rtol=1e-9, atol=1e-12)
    assert derivative.cache_info().traces == 1


@pytest.mark.slow
def test_orders_and_mixtures_of_derivatives():
    weighted, x = total("hypot"), np.random.default_rng(1).uniform(0.5, 1.5, (5, 2))
    full = jacfwd(jacrev(weighted))(x)
    np.testing.assert_allclose(full, jacrev(jacrev(weighted))(x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(full, np.einsum("ijkl->klij", full), rtol=1e-9, atol=1e-12)
    derivative = jvp(grad(weighted), (x,), (np.ones_like(x),))[1]
    np.testing.assert_allclose(derivative, full.sum((2, 3)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["matrices", "kalman", "linear rows", "hypot", "sum"])
def test_batches(name):
    fn, elements = PROGRAMS[name]
    rng = np.random.default_rng(3)
    derivative = jit(grad(total(name)))
    values, derivatives = jit(vmap(lambda e: associative_scan(fn, e))), jit(vmap(derivative))
    for n in (0, 1, 2, 7):
        examples = [elements(rng, n) for _ in range(3)]
        leaves, tree = zip(*map(flatten, examples), strict=True)
        batch = unflatten(tree[0], [np.stack(column) for column in zip(*leaves, strict=True)])
        for i, example in enumerate(examples):
            assert_close(unflatten(tree[0], [y[i] for y in flatten(values(batch))[0]]), combined_in_order(fn, example))
            one = unflatten(tree[0], [y[i] for y in flatten(derivatives(batch))[0]])
            assert_close(one, derivative(example))
    assert values.cache_info().traces == derivatives.cache_info().traces == 1


def test_gradients_of_batches_with_shared_captures():
    w = np.random.default_rng(0).random((2, 2))

    def loss(w, xs):
        return np.sum(vmap(lambda x: associative_scan(lambda a, b: a @ w @ b, x), in_axes=1)(xs) ** 2)

    check_grads(loss, (w, np.random.default_rng(1).random((5, 3, 2, 2))), order=1)


@pytest.mark.slow
def test_lengths_that_depend_on_data():
    @jit
    def last(x):
        return associative_scan(lambda a, b: np.hypot(a, b), x[x > 0])

    for n in range(6):
        x = np.random.default_rng(n).normal(size=2 * n)
        assert_close(last(x), combined_in_order(np.hypot, x[x > 0]))
    assert last.cache_info().traces == 1
    check_grads(lambda x: last(x).sum(), (np.array([1.0, -2.0, 3.0, 0.5, 2.0]),), order=2)


def test_results_keep_the_size_of_the_elements():
    added = jit(lambda x: x + associative_scan(np.hypot, x))
    x = np.ones(4)
    np.testing.assert_allclose(added(x), 1 + np.sqrt(np.arange(1, 5)))
    assert str(trace(lambda x: associative_scan(np.hypot, x))(x).graph.outputs[0].meta).endswith("[x_0]")


def test_export(tmp_path):
    function = jit(lambda x: associative_scan(lambda a, b: a @ b, x))
    exported = export(function)(*symbolic_args_specs((np.ones((3, 2, 2)),), "n, 2, 2"))
    exported.save(tmp_path / "scan")
    again = load(tmp_path / "scan")
    for n in (0, 1, 6):
        x = np.random.default_rng(n).random((n, 2, 2))
        assert_close(again(x), combined_in_order(np.matmul, x))


def test_functions_in_plain_python_run_outside_of_a_trace():
    def larger(a, b):
        return np.array([p if float(p) > float(q) else q for p, q in zip(a, b, strict=True)])

    np.testing.assert_array_equal(associative_scan(larger, np.array([1.0, 3.0, 2.0])), [1.0, 3.0, 3.0])
    np.testing.assert_array_equal(associative_scan(larger, np.array([1.0, 3.0, 2.0]), reverse=True), [3.0, 3.0, 2.0])


@pytest.mark.slow
def test_third_derivatives_of_loops_whose_carry_changes_size():
    def grown(x):
        start = associative_scan(np.hypot, x)
        return while_loop(lambda v: v.shape[0] < 6, lambda v: np.concatenate([np.sin(v), v[:1] ** 2]), start).sum()

    def twice(x):
        return np.sum(np.cos(grad(lambda x: np.sum(np.cos(grad(grown)(x))))(x)))

    x, value = np.array([0.3, 0.5]), jit(twice)
    differences = [(value(x + d) - value(x - d)) / 2e-5 for d in 1e-5 * np.eye(2)]
    np.testing.assert_allclose(grad(twice)(x), differences, rtol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_random_associative_functions(data):
    """Conjugate an associative function by an invertible one, and pair it with another."""
    plain = st.sampled_from([np.add, np.multiply, np.maximum, np.minimum, np.hypot, lambda a, b: b, lambda a, b: a])
    maps = [(lambda x: x, lambda y: y), (lambda x: 2 * x, lambda y: y / 2), (lambda x: x + 1, lambda y: y - 1)]
    first, second = data.draw(plain), data.draw(plain)
    into, back = data.draw(st.sampled_from(maps))
    reverse, n = data.draw(st.booleans()), data.draw(st.integers(0, 20))
    rank = data.draw(st.integers(1, 3))
    axis = data.draw(st.integers(-rank, rank - 1))

    def fn(a, b):
        return back(first(into(a[0]), into(b[0]))), second(a[1], b[1])

    shape = [data.draw(st.integers(0, 3)) for _ in range(rank)]
    shape[axis] = n
    rng = np.random.default_rng(n)
    elems = tuple([rng.uniform(0.5, 1.2, shape) for _ in range(2)])
    expected = combined_in_order(fn, elems, reverse=reverse, axis=axis)
    assert_close(jit(lambda e: associative_scan(fn, e, reverse=reverse, axis=axis))(elems), expected)


# -- bad input ---------------------------------------------------------------------------------------------------


def raised(error, function, *args):
    with pytest.raises(error) as info:
        jit(function)(*args)
    return str(info.value)


def test_functions_that_change_what_they_take():
    x = np.ones((3, 2))
    text = raised(CarryMismatchError, lambda x: associative_scan(lambda a, b: (a, b), x), x)
    assert "associative_scan" in text and "fn takes elems as *, and gives (*, *)" in text
    text = raised(CarryMismatchError, lambda x: associative_scan(lambda a, b: a > b, x), x)
    assert "fn takes elems as f64[" in text and "gives bool[" in text and "astype" in text
    text = raised(CarryMismatchError, lambda x: associative_scan(lambda a, b: a.sum(1), x), x)
    assert "test_associative_scan.py" in text
    text = raised(CarryMismatchError, lambda x: associative_scan(lambda a, b: np.concatenate([a, b]), x), x)
    assert "2*pairs" in text
    raised(CarryMismatchError, lambda x: associative_scan(lambda a, b: np.concatenate([a, b], 1), x), x)
    with pytest.raises(CarryMismatchError):
        associative_scan(lambda a, b: a[:1], x)


def test_elements_that_do_not_fit():
    add = lambda a, b: (a[0] + b[0], a[1] + b[1])
    text = raised(SizeMismatchError, lambda x, y: associative_scan(add, (x, y)), np.ones(3), np.ones(4))
    assert "y.shape[0] (4) must equal x.shape[0] (3)" in text
    raised(AxisError, lambda x: associative_scan(np.add, x, axis=1), np.ones(3))
    raised(AxisError, lambda x: associative_scan(np.add, x), np.float64(3))
    text = raised(ArgumentError, lambda x, y: associative_scan(add, (x, y), axis=-1), np.ones((3, 3)), np.ones(3))
    assert "axis is -1" in text and "count it from 0" in text
    for elems in ("text", None, (), [object()]):
        with pytest.raises(ArgumentError, match="elems"):
            jit(lambda elems=elems: associative_scan(np.add, elems))()
    for fn in (None, 3, "add"):
        with pytest.raises((ArgumentError, TypeError), match="fn"):
            associative_scan(fn, np.ones(3))
    with pytest.raises(ArgumentError, match="reverse"):
        jit(lambda x: associative_scan(np.add, x, reverse=x))(np.ones(3))
    with pytest.raises(ArgumentError, match="axis"):
        jit(lambda x: associative_scan(np.add, x, axis=0.5))(np.ones(3))


def test_it_is_public():
    assert anyshape.associative_scan is associative_scan
