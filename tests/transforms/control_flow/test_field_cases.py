"""Loops and conditionals as programs of the field write them, beside the same programs in plain Python.

Each has its value, both modes of derivatives, a batch, and gradients of the batch.
"""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import cond, custom_jvp, custom_vjp, fori_loop, grad, jit, jvp, scan, switch, vmap, while_loop
from tests.transforms.control_flow import plain_loops

same = np.testing.assert_allclose
A = np.array([[0.5, -0.3, 0.2], [0.1, 0.4, -0.6], [-0.2, 0.3, 0.7]])
X = np.array([0.3, -1.2, 0.8])
ROWS = np.stack([X, 1.5 * X, X - 0.6, -X])


class Loops:
    """The functions of anyshape."""

    scan, while_loop, fori_loop, cond, switch, map = scan, while_loop, fori_loop, cond, switch, anyshape.map

    @staticmethod
    def put(x, i, value):
        return anp.asarray(x).at[i].set(value)

    @staticmethod
    def take(x, i):
        return anp.take(x, i, axis=0)


class Plain:
    """The same in Python."""

    scan, while_loop, fori_loop = plain_loops.scan, plain_loops.while_loop, plain_loops.fori_loop
    cond, map = plain_loops.cond, plain_loops.map

    @staticmethod
    def switch(index, branches, *operands):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)

    @staticmethod
    def put(x, i, value):
        y = np.array(x)
        y[i] = value
        return y

    @staticmethod
    def take(x, i):
        return x[i]


def lower_triangle(m, x):
    """Copy entries one by one, by a loop whose bound is the counter of another."""

    def row(i, out):
        return m.while_loop(
            lambda c: c[0] <= i, lambda c: (c[0] + 1, m.put(c[1], (i, c[0]), m.take(x, i) * x[0] + c[0])), (0, out)
        )[1]

    return m.fori_loop(0, 3, row, np.zeros((3, 3)))


def two_ends(m, x):
    """End at the end of the array or at a bound, whichever comes first."""
    test = lambda c: (c[0] < 5) & (c[0] < x.shape[0])
    return m.while_loop(test, lambda c: (c[0] + 1, c[1] + m.take(x, c[0]) ** 2), (0, 0.0))[1]


def recurrent(m, x):
    """Run a network with a carry in two parts; no result reads the second."""

    def step(c, v):
        h = np.tanh(A @ c[0] + v)
        return (h, c[1] + np.sum(h)), h * v

    (h, _), ys = m.scan(step, (x, 0.0), np.linspace(-1.0, 1.0, 5))
    return h + np.sum(ys, 0)


def both_directions(m, x):
    forwards, _ = m.scan(lambda c, v: (c * 0.9 + v, None), 0.0, x)
    backwards, ys = m.scan(lambda c, v: (np.sin(c) + v, c), 0.0, x, reverse=True)
    return forwards * backwards + np.sum(ys * x)


def without_xs(m, x):
    """Make the elements of a sequence from a state alone, and carry an integer beside it."""
    (i, _), ys = m.scan(lambda c, _: ((c[0] + 2, c[1] * np.cos(c[1])), c[1] * c[0]), (1, x), None, length=4)
    return np.sum(ys, 0) * i


def late_slopes(m, x):
    """Give a slope to one carry after the other: as many passes find them."""
    return m.fori_loop(0, 4, lambda i, c: (c[0] + 1.0, c[0] * c[1], c[1] + c[2], c[3] * 2.0), (x[0], x[1], 0.5, 1.0))[2]


def slope_by_closure_alone(m, x):
    """Read x in the body alone; the first carries are constants."""
    a, b = m.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * x + np.sin(x), c[1] + 1), (np.ones(3), 0))
    return a + b


def untouched(m, x):
    """Return one carry as it was."""
    return m.while_loop(lambda c: c[1] < 3, lambda c: (c[0], c[1] + 1, c[2]), (x, 0, 2 * x))[2]


def swapped(m, x):
    return m.fori_loop(0, 5, lambda i, c: (c[1] * 1.1, c[2], c[0] + i), (x, 2 * x, np.exp(x)))[1]


def constant_body(m, x):
    """End in a constant, whatever the loop began with."""
    return m.while_loop(lambda c: c[1] < 2, lambda c: (np.ones(3), c[1] + 1), (x * x, 0))[0] + x


def loop_of_branches(m, x):
    """Choose in each trip by what the last trips have made."""

    def step(c, v):
        return m.cond(np.sum(c) > 0, lambda: np.sin(c) - v, lambda: c * v + 0.5), np.sum(c)

    c, ys = m.scan(step, x, np.array([0.4, -0.7, 0.9, 0.2]))
    return c + np.sum(ys)


def branch_of_loops(m, x):
    """Run one of three loops, which make different numbers of trips."""
    branches = [lambda v, n=n: m.fori_loop(0, n, lambda i, c: np.sin(c) * (i + 1), v) for n in range(3)]
    return m.switch(np.sum(x > 0), branches, x)


def depth_three(m, x):
    """Nest loops, the innermost with a bound that the outermost changes."""

    def outer(c, v):
        def middle(i, d):
            return d * 0.5 + m.fori_loop(0, i + 1, lambda j, e: np.tanh(e) + v * j, d)

        return m.fori_loop(0, 3, middle, c), None

    return m.scan(outer, x, x)[0]


def newton(m, x):
    """Iterate until a tolerance is met: each example needs another number of trips."""
    target = np.sum(x * x) + 1.0

    def better(c):
        return c - (c**3 - target) / (3 * c * c)

    return m.while_loop(lambda c: abs(c**3 - target) > 1e-13 * target, better, 1.0 + 0 * target)


def integer_beside(m, x):
    """Count what a condition on values lets through."""
    count, total = m.scan(lambda c, v: ((c[0] + (v > 0), c[1] + np.where(v > 0, v, 0.0) ** 2), None), (0, 0.0), x)[0]
    return total * (1 + count)


def buffered(m, x):
    """Fill a buffer that each trip reads as well."""

    def step(i, c):
        return m.put(c, i, np.sin(m.take(c, i - 1)) + m.take(x, i % 3))

    return m.fori_loop(1, 6, step, np.where(np.arange(6) == 0, np.sum(x), 0.0))


def mapped(m, x):
    return np.sum(m.map(lambda v: m.while_loop(lambda c: c[1] < 3, lambda c: (c[0] * v, c[1] + 1), (v, 0))[0], x)) * x


@custom_jvp
def softplus(x):
    return np.logaddexp(x, 0.0)


softplus.defjvps(lambda t, y, x: t / (1 + np.exp(-x)))


@custom_vjp
def doubled(x):
    return 2.0 * x


doubled.defvjp(lambda x: (2.0 * x, None), lambda _, ct: (2.0 * ct,))


def rules_inside(m, x):
    """Call functions with rules in a body; one of them saves nothing of a batch."""
    return m.scan(lambda c, v: (doubled(softplus(c) * 0.5) - v, None), x, np.array([0.1, 0.2, 0.3]))[0]


REVERSE_ALONE = {"rules_inside"}  # custom_vjp has no forward mode
CASES = [
    lower_triangle, two_ends, recurrent, both_directions, without_xs, late_slopes, slope_by_closure_alone, untouched,
    swapped, constant_body, loop_of_branches, branch_of_loops, depth_three, newton, integer_beside, buffered, mapped,
    rules_inside,
]  # fmt: skip


def slopes_by_differences(f, x):
    """Return the Jacobian of a function in plain Python, with the axis of x last."""
    h = 1e-6
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)], -1)


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_values_derivatives_and_batches(case):
    def plain(x):
        return np.asarray(case(Plain, x))

    def loops(x):
        return case(Loops, x)

    expected = plain(X)
    weights = np.cos(np.arange(1.0, 1.0 + expected.size)).reshape(expected.shape)
    same(loops(X), expected)
    same(jit(loops)(X), expected)
    same(jit(vmap(loops))(ROWS), np.stack([plain(x) for x in ROWS]))
    slopes = np.stack([slopes_by_differences(plain, x) for x in ROWS])
    if case.__name__ not in REVERSE_ALONE:
        tangent = jit(lambda x: jvp(loops, (x,), (X[::-1],))[1])(X)
        np.testing.assert_allclose(tangent, slopes[0] @ X[::-1], rtol=1e-6, atol=1e-7)
    gradient = grad(lambda x: np.sum(weights * loops(x)))
    pulled = np.tensordot(slopes, weights, [range(1, slopes.ndim - 1), range(weights.ndim)])
    np.testing.assert_allclose(jit(gradient)(X), pulled[0], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(jit(vmap(gradient))(ROWS), pulled, rtol=1e-6, atol=1e-7)


def counted(x, bound, step):
    return while_loop(lambda c: c < bound, lambda c: c + step, x)


BATCHED = {  # which of the first value, the bound and the step differ between examples
    "value": ([0, 1, 2, 3], 3, 2, [4, 3, 4, 3]),
    "bound": (0, [0, 2, 3, 7], 2, [0, 2, 4, 8]),
    "step": (0, 3, [1, 2, 3, 4], [3, 4, 3, 4]),
    "value and step": ([0, 1, 2, 3], 3, [1, 2, 3, 4], [3, 3, 5, 3]),
    "value and bound": ([0, 1, 2, 3], [4, 0, 3, 9], 2, [4, 1, 4, 9]),
    "all": ([0, 1, 2, 3], [4, 0, 3, 9], [3, 1, 1, 4], [6, 1, 3, 11]),
}


@pytest.mark.parametrize("name", BATCHED)
def test_any_part_of_a_loop_may_differ_between_examples(name):
    *arguments, expected = BATCHED[name]
    axes = tuple(0 if isinstance(x, list) else None for x in arguments)
    arrays = [np.array(x) for x in arguments]
    for run in (vmap(counted, axes), jit(vmap(counted, axes))):
        np.testing.assert_array_equal(run(*arrays), expected)
    nested = vmap(vmap(counted, axes), tuple(0 if a == 0 else None for a in axes))
    stacked = [np.stack([x, x]) if a == 0 else x for x, a in zip(arrays, axes, strict=True)]
    np.testing.assert_array_equal(nested(*stacked), [expected, expected])


@pytest.mark.parametrize("axes", [(0, 0), (1, 0), (0, None), (None, 1), (2, 1)], ids=str)
def test_carries_and_elements_may_have_their_examples_on_any_axis(axes):
    def run(c, xs):
        return scan(lambda c, v: (np.sin(c) * v + 0.1, c + v), c, xs)

    shapes = [(2, 3), (5, 3)]
    rng = np.random.default_rng(0)
    arguments = [rng.normal(size=s if a is None else (*s[:a], 4, *s[a:])) for s, a in zip(shapes, axes, strict=True)]
    made = jit(vmap(lambda c, xs: run(c, xs), axes))(*arguments)
    for i in range(4):
        row = [x if a is None else np.take(x, i, a) for x, a in zip(arguments, axes, strict=True)]
        carry, ys = Plain.scan(lambda c, v: (np.sin(c) * v + 0.1, c + v), *row)
        same(made[0][i], carry)
        same(made[1][i], ys)


@pytest.mark.parametrize("upper", [0, -1, -7])
def test_a_loop_of_no_trips_gives_what_it_began_with(upper):
    for run in (
        lambda n: fori_loop(0, n, lambda i, c: c / 0, X),
        jit(lambda n: fori_loop(n + 3, 3 + n, lambda i, c: c / 0, X)),
    ):
        np.testing.assert_array_equal(run(upper), X)
    slope = jit(grad(lambda x, n: np.sum(fori_loop(0, n, lambda i, c: np.log(c), x) * x)))(X, upper)
    np.testing.assert_array_equal(slope, 2 * X)
