"""Batches of loops whose trips differ between examples, against loops in Python."""

import io

import numpy as np
import pytest

from anyshape import (
    ShapeDtypeStruct,
    associative_scan,
    export,
    fori_loop,
    grad,
    hessian,
    jit,
    jvp,
    load,
    scan,
    trace,
    vmap,
    while_loop,
)
from anyshape.errors import CarryMismatchError, RaggedBatchError

RNG = np.random.default_rng(3)
X = RNG.uniform(0.1, 1.0, (3, 4))
TRIPS = np.array([[0.0, 3, 1, 5], [2, 2, 0, 1], [4, 0, 6, 1]])
W = 1.3


def loop(x, trips, w=W):
    return while_loop(lambda s: s[1] < trips, lambda s: (np.sin(s[0]) * w + 0.1, s[1] + 1.0), (x, 0.0))[0]


def by_hand(x, trips, w=W):
    """Return the value of one example, and its derivatives in x, of first and second order."""
    first, second = 1.0, 0.0
    for _ in range(int(trips)):
        first, second = w * np.cos(x) * first, w * (np.cos(x) * second - np.sin(x) * first**2)
        x = np.sin(x) * w + 0.1
    return x, first, second


VALUE, FIRST, SECOND = map(np.asarray, np.vectorize(by_hand)(X, TRIPS))
twice = vmap(vmap(loop))


def summed(function):
    return lambda *args: np.sum(function(*args))


def grad_twice(function):
    return grad(summed(grad(summed(function))))


ORDERS = {
    "vmap of vmap": (twice, VALUE),
    "grad of vmap of vmap": (grad(summed(twice)), FIRST),
    "vmap of grad of vmap": (vmap(grad(summed(vmap(loop)))), FIRST),
    "vmap of vmap of grad": (vmap(vmap(grad(loop))), FIRST),
    "jvp outside": (lambda x, n: jvp(lambda x: twice(x, n), (x,), (np.ones((3, 4)),))[1], FIRST),
    "jvp between": (vmap(lambda x, n: jvp(lambda x: vmap(loop)(x, n), (x,), (np.ones(4),))[1]), FIRST),
    "jvp inside": (vmap(vmap(lambda x, n: jvp(lambda x: loop(x, n), (x,), (1.0,))[1])), FIRST),
    "order 2 outside": (grad_twice(twice), SECOND),
    "order 2 between": (vmap(grad_twice(vmap(loop))), SECOND),
    "order 2 inside": (vmap(vmap(grad(grad(loop)))), SECOND),
    "grad outside and inside": (grad(summed(vmap(vmap(grad(loop))))), SECOND),
    "grad outside and between": (grad(summed(vmap(grad(summed(vmap(loop)))))), SECOND),
    "hessian between": (
        lambda x, n: np.einsum("bii->bi", vmap(hessian(summed(vmap(loop))))(x, n)),
        SECOND,
    ),
}


@pytest.mark.parametrize("order", ORDERS)
def test_batches_of_batches_equal_loops_in_python(order):
    function, expected = ORDERS[order]
    np.testing.assert_allclose(jit(function)(X, TRIPS), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", ["vmap of vmap", "vmap of grad of vmap", "grad of vmap of vmap"])
def test_one_program_serves_all_numbers_of_examples_and_trips(order):
    function, position = jit(ORDERS[order][0]), 0 if order == "vmap of vmap" else 1
    for shape, longest in (((3, 4), 6), ((1, 1), 3), ((2, 0), 1), ((0, 2), 1), ((2, 5), 1)):
        x = RNG.uniform(0.1, 1.0, shape)
        trips = RNG.integers(0, longest, shape).astype(float)
        expected = [by_hand(*pair)[position] for pair in zip(x.ravel(), trips.ravel(), strict=True)]
        np.testing.assert_allclose(function(x, trips), np.reshape(expected, shape), rtol=1e-10)


AXES = [
    ((0, 0), (0, 0)), ((0, None), (None, 0)), ((None, 0), (0, None)), ((0, 0), (None, 0)), ((0, 0), (0, None)),
    ((0, None), (0, 0)), ((None, 0), (0, 0)), ((1, 1), (0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("outer", "inner"), AXES)
def test_operands_may_lack_either_axis(outer, inner):
    rank_x, rank_n = (sum(a[i] is not None for a in (outer, inner)) for i in (0, 1))
    x, trips = X[: len(X), : len(X)], TRIPS[:3, :3]
    x, trips = (a if rank == 2 else a[0] for a, rank in ((x, rank_x), (trips, rank_n)))
    mapped = vmap(vmap(loop, in_axes=inner), in_axes=outer)

    def example(a, axes, i, j):
        for axis, at in zip(axes, (i, j), strict=True):
            a = a if axis is None else np.take(a, at, axis)
        return a

    pairs = list(zip(outer, inner, strict=True))
    examples = [[(example(x, pairs[0], i, j), example(trips, pairs[1], i, j)) for j in range(3)] for i in range(3)]
    expected = np.array([[by_hand(*e)[:2] for e in row] for row in examples])
    np.testing.assert_allclose(mapped(x, trips), expected[..., 0], rtol=1e-12)
    derivative = grad(lambda x: np.sum(mapped(x, trips)))(x)
    np.testing.assert_allclose(np.sum(derivative), np.sum(expected[..., 1]), rtol=1e-10)


def test_three_batches_are_one():
    x, trips = np.stack([X, X + 1]), np.stack([TRIPS, TRIPS[::-1]])
    value, first, _ = np.vectorize(by_hand)(x, trips)
    np.testing.assert_allclose(vmap(twice)(x, trips), value)
    np.testing.assert_allclose(vmap(vmap(grad(summed(vmap(loop)))))(x, trips), first, rtol=1e-10)


def test_captured_values_have_the_sum_of_all_derivatives():
    derivative = grad(lambda w: np.sum(vmap(vmap(lambda x, n: loop(x, n, w)))(X, TRIPS)))(W)
    step = 1e-6
    sums = [np.sum(np.vectorize(by_hand)(X, TRIPS, w)[0]) for w in (W - step, W + step)]
    np.testing.assert_allclose(derivative, (sums[1] - sums[0]) / (2 * step), rtol=1e-6)
    each = vmap(lambda x, n, w: grad(lambda w: np.sum(vmap(lambda x, n: loop(x, n, w))(x, n)))(w), in_axes=(0, 0, None))
    np.testing.assert_allclose(np.sum(each(X, TRIPS, W)), derivative, rtol=1e-10)


def test_an_ended_example_neither_warns_nor_sees_another():
    halved = vmap(vmap(lambda x, n: while_loop(lambda s: s[1] < n, lambda s: (1 / s[0], s[1] + 1), (x, 0))[0]))
    x = np.array([[0.0, 2.0], [4.0, 0.0]])
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(halved(x, np.array([[0, 1], [2, 0]])), [[0.0, 0.5], [4.0, 0.0]])


def counted(x, lower, upper, checkpoint=None):
    """Return a loop whose trips use the counter, and a nested one that it bounds."""
    body = lambda i, y: np.sin(y) * x + fori_loop(0, i % 3, lambda j, z: z * y + j, 0.1 * x)
    return fori_loop(lower, upper, body, x, checkpoint=checkpoint)


def counted_in_python(x, lower, upper):
    y = x
    for i in range(lower, upper):
        z = 0.1 * x
        for j in range(i % 3):
            z = z * y + j
        y = np.sin(y) * x + z
    return y


LOWER, UPPER = (
    np.array([[0, 2, 0, -1], [3, 0, 5, 1], [1, 1, 2, 2]]),
    np.array([[0, 5, 3, 2], [1, 4, 6, 1], [9, 2, 2, 3]]),
)


@pytest.mark.parametrize("checkpoint", [None, 2])
def test_each_example_counts_between_its_own_bounds(checkpoint):
    f = lambda x, low, high: counted(x, low, high, checkpoint)
    pushed = lambda x, low, high: jvp(grad(lambda x: f(x, low, high)), (x,), (1.0,))[1]
    values = [vmap(vmap(f)), jit(vmap(jit(vmap(f))))]
    firsts = [
        vmap(vmap(grad(f))),
        grad(lambda x, *bounds: np.sum(vmap(vmap(f))(x, *bounds))),
        jit(lambda x, *bounds: jvp(lambda x: vmap(vmap(f))(x, *bounds), (x,), (np.ones_like(x),))[1]),
    ]
    second = vmap(vmap(pushed))
    for examples in (3, 0, 1):
        args = X[:examples], LOWER[:examples], UPPER[:examples]
        alone = lambda shift, args=args: np.reshape(
            [counted_in_python(x + shift, *ends) for x, *ends in zip(*map(np.ravel, args), strict=True)], args[0].shape
        )
        for mapped in values:
            np.testing.assert_allclose(mapped(*args), alone(0), rtol=1e-12)
        for mapped in firsts:
            slopes = (alone(1e-6) - alone(-1e-6)) / 2e-6
            np.testing.assert_allclose(mapped(*args), slopes, rtol=1e-6, atol=1e-8)
        bends = (alone(1e-4) - 2 * alone(0) + alone(-1e-4)) / 1e-8
        np.testing.assert_allclose(second(*args), bends, rtol=1e-4, atol=1e-5)


def test_bounds_that_no_example_changes_keep_a_scan():
    """All examples share a bound that comes from outside of the batch."""
    mapped = lambda xs, n: vmap(lambda x: fori_loop(0, n, lambda i, y: y * x + i, x))(xs)
    ops = {node.op.name for node in trace(mapped)(X[0], 3).graph.nodes}
    assert "scan" in ops and not any(name.startswith("while") for name in ops)
    np.testing.assert_allclose(mapped(X[0], 3), [((x * x) * x + 1) * x + 2 for x in X[0]])


def test_each_example_stacks_rows_with_a_bound_of_its_own():
    """A bound may come from a carry of an outer loop, and the dtype of a carry stays."""
    halves = lambda x, n: scan(lambda k, v: (k + 1, fori_loop(0, n + k, lambda i, y: y * 2, v)), 0, x)[1]
    out = vmap(halves)(X.astype(np.float32), np.array([0, 3, 1]))
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, X.astype(np.float32) * 2.0 ** (np.array([[0], [3], [1]]) + np.arange(4)))


def test_bounds_may_be_captured_by_the_function_that_is_differentiated():
    raised = lambda x, n: np.sum(fori_loop(0, np.minimum(n, 3), lambda i, y: y * x, x))
    slopes = jit(vmap(grad(raised)))(X, np.array([0, 2, 7]))
    np.testing.assert_allclose(slopes, [(n + 1) * x**n for x, n in zip(X, (0, 2, 3), strict=True)])


def test_errors_of_counted_loops_are_in_the_words_of_the_caller():
    f = lambda n, x: fori_loop(0, n, lambda i, y: {"a": np.stack([y["a"]] * 2)}, {"a": x})
    with pytest.raises(CarryMismatchError) as alone:
        jit(f)(3, 1.5)
    with pytest.raises(CarryMismatchError) as batch:
        vmap(f)(np.arange(3), np.ones(3))
    texts = [str(e.value).replace("f(3, 1.5)", "").split(" at ")[0] for e in (alone, batch)]
    assert texts == ["fori_loop(...): body_fun takes carry['a'] as f64[], and gives f64[2]"] * 2


@pytest.mark.parametrize("levels", [1, 2])
def test_carries_that_grow_differently_are_an_error_of_the_batch(levels):
    def growing(x, n):
        return np.sum(while_loop(lambda v: v.shape[0] < n, lambda v: np.concatenate([v, v]), x))

    mapped = growing
    for _ in range(levels):
        mapped = vmap(mapped)
    shape = (2,) * levels
    args = np.ones((*shape, 1)), np.full(shape, 3)
    np.testing.assert_array_equal(jit(mapped)(*args), np.full(shape, 4.0))
    with pytest.raises(RaggedBatchError) as caught:
        trace(mapped)(*args)
    first, second, *_ = str(caught.value).splitlines()
    assert first.startswith("while_loop(...): vmap needs one size for all examples, and here each has its own at ")
    assert "test_loop_batches.py" in first
    assert "give the carries of all examples the same sizes in each trip" in second


def test_a_scan_of_carries_whose_sizes_depend_on_data_is_an_error_of_the_batch():
    def shrinking(x):
        return np.sum(scan(lambda v, _: (v[v > 0], None), x, None, length=2)[0])

    batch = np.array([[1.0, -1.0], [1.0, 1.0]])
    with pytest.raises(RaggedBatchError):
        trace(vmap(shrinking))(batch)(batch)
    for mapped in (vmap(shrinking), jit(vmap(shrinking))):
        np.testing.assert_array_equal(mapped(batch), [1.0, 2.0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_repeated_trips_add_nothing_where_a_derivative_is_infinite():
    """Each example gives what it gives alone, also where the trip that it repeats has an infinite derivative."""

    def root(w, x, n):
        return while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.sqrt(c[1] * w)), (0, x))[1]

    x, n = np.array([0.0, 2.0, 0.0, 3.0]), np.array([1, 3, 0, 2])
    with np.errstate(all="ignore"):
        for argnum in (0, 1):
            derivative = grad(root, argnum)
            alone = [derivative(1.0, a, int(b)) for a, b in zip(x, n, strict=True)]
            np.testing.assert_allclose(vmap(derivative, (None, 0, 0))(1.0, x, n), alone)
        tangents = vmap(lambda x, n: jvp(lambda x: root(1.0, x, n), (x,), (1.0,))[1])(x, n)
        np.testing.assert_allclose(tangents, alone)


def last_rows(unused, x):
    """Combine rows in loops whose results have the size of the batch, which `unused` gives first."""
    return associative_scan(lambda a, b: b, x)


@pytest.mark.parametrize("count, rows", [(2, 4), (5, 3), (1, 0), (0, 2), (1, 1)])
def test_the_first_argument_gives_the_size_of_the_batch_alone(count, rows):
    unused, x = np.zeros((count, 2)), RNG.normal(size=(count, rows, 3))
    batched = vmap(last_rows)
    np.testing.assert_array_equal(batched(unused, x), x)
    slope = grad(lambda x: np.sum(batched(unused, x) ** 2))(x)
    np.testing.assert_allclose(slope, 2 * x)
    file = io.BytesIO()
    export(batched)(ShapeDtypeStruct("b, k"), ShapeDtypeStruct("b, n, 3")).save(file)
    file.seek(0)
    np.testing.assert_array_equal(load(file)(unused, x), x)


@pytest.mark.parametrize("size", [0, 3])
def test_examples_without_trips_may_have_what_a_trip_refuses(size):
    def stopped(x, n):
        test = lambda s: (s[0] < n) & (s[0] < x.shape[0])
        return while_loop(test, lambda s: (s[0] + 1, s[1] * x[-1]), (0, 1.0))[1] + np.sum(x)

    x, n = np.full((2, 2, size), 2.0), np.array([[2, 0], [1, 3]])
    powers = 2.0 ** np.minimum(n, size)
    np.testing.assert_allclose(jit(vmap(vmap(stopped)))(x, n), powers + 2 * size)
    np.testing.assert_allclose(jit(vmap(stopped))(x[0], n[0]), powers[0] + 2 * size)
    slopes = jit(vmap(grad(stopped)))(x[0], n[0])
    np.testing.assert_allclose(slopes[:, -1:], 1 + (n[0] * powers[0] / 2)[:, None][:, :size])
