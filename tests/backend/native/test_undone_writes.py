"""Reverse mode undoes writes to carries: derivatives equal complex steps, and little is saved."""

import numpy as np
import pytest

import anyshape
from anyshape import grad, jit, jvp, vmap
from anyshape.autodiff.control_flow import undone_writes
from anyshape.backend.compiler.passes import pipeline
from anyshape.backend.native import nests
from anyshape.support.lazy_dataclass import replace
from tests.backend.native.compiled import compiled, needs_compiler

pytestmark = needs_compiler
PROGRAMS = {}
SIZES = (7, 0, 1, 2)


def program(function):
    """Add a function of one vector to the table."""
    PROGRAMS[function.__name__] = function
    return function


@program
def recurrent(x):
    """An element that all before it determine, which is read before and after the write."""
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = y[i] * np.dot(y[:i], x[:i]) + y[i - 1] ** 2
        y[0] = y[0] + y[i] * 0.1
    return y


@program
def written_twice(x):
    """Two writes to one element in an iteration, and a read of each value."""
    y = x * 1.5
    for i in range(len(x)):
        y[i] = np.sin(y[i]) + np.dot(y[:i], y[:i])
        y[i] = y[i] * y[i] + np.dot(y[i:], y[i:])
        y[-1 - i] *= 0.5 + np.sum(y[: i + 1] ** 2)
    return y


@program
def rows(x):
    """Rows of a matrix in an inner loop, as factors of matrices have them."""
    m = np.outer(x, x) + 2 * np.eye(len(x))
    for i in range(len(x)):
        for j in range(i):
            m[i, j] -= np.dot(m[i, :j], m[j, :j])
            m[i, j] /= m[j, j]
        m[i, i] = np.exp(-m[i, i]) + 1 + np.dot(m[i, :i], m[i, :i])
    return m


@program
def columns(x):
    """Writes of an inner loop that others surround, and rows that the inner loop reads of another carry."""
    m, y = np.outer(x, x) + 2.0, x * 1
    for i in range(len(x)):
        m[i] = m[i] * y[i]
        for j in range(i + 1, len(x)):
            m[j, i:] -= m[i, i:] * m[j, i] * 0.1
            y[j] += np.dot(m[j, :i], m[i, :i])
        m[i, i] += y[i] * np.dot(y[:i], y[:i])
    return m, y


@program
def swapped(x):
    """Two carries of one array at first, that change places, and one that only reads."""
    y = x * 1
    z = y
    for i in range(1, len(x)):
        w = z.copy()
        w[i] = np.dot(y[:i], z[:i])
        y, z = w, y
    return y * z


@program
def chosen(x):
    """Writes under a condition, next to others."""
    y = x * 1
    for i in range(1, len(x)):
        y[i] = y[i] * np.dot(y[:i], y[:i]) * 0.1 - 0.01
        if y[i].real > 0:
            y[i - 1] = y[i] * y[i - 1]
        y[i] += np.sum(y[:i] ** 3) * 0.1
    return y


@program
def stopped(x):
    """A loop that ends before its last iteration."""
    y = x * 1
    for i in range(1, len(x)):
        y[i] = y[i] * np.dot(y[:i], y[:i]) + 0.1
        if np.sum(y).real > 1.5:
            break
    return y


@program
def scattered(x):
    """Writes at positions of an array that repeat, and sums into them."""
    y, p = x * 1, np.arange(len(x)) // 2
    for i in range(len(x)):
        y[p[i]] = y[i] * np.dot(y[: i + 1], x[: i + 1])
        y[p[-i:]] += 0.1
    return y


@program
def overwritten_positions(x):
    """Rows at positions that are overwritten before the rows are read, and positions of positions."""
    m, q = np.outer(x, x), np.arange(len(x))[::-1] * 1
    for i in range(len(x)):
        k = q[i]
        j = q[k]
        q[i] = np.sum(q[: i + 1]) % len(x)
        q[j] = (np.sum(q[i:]) + k) % len(x)
        m[i] = m[k] * 0.5 + np.sum(m[q[: i + 1]] ** 2, axis=0) * m[j, 0] * 0.2
        m[j] = m[q[j]] * np.sum(m[q[: i + 1]] ** 2, axis=0) * 0.1
    return m


@program
def overwritten_slices(x):
    """A slice that is read where it is overwritten, next to others that are read."""
    y = x * 1
    for i in range(len(x)):
        y[i // 2 : i] = np.sin(y[i // 2 : i] * np.dot(y[i:], y[i:]) * np.dot(y[1:], x[1:]))
    return y


@program
def swept(x):
    """An inner loop that writes to all that the outer one reads before and behind it."""
    y = x * 1
    for i in range(len(x)):
        y[i] = y[i] * np.dot(y, y) * 0.3
        for j in range(len(x)):
            y[j] = np.sin(y[j] * np.dot(y[j:], y[: len(x) - j]))
        y[-1 - i] = np.dot(y, x)
    return y


def total(function, x):
    """Return a number that each result has a part in."""
    parts = [
        np.sum(y * y * (np.arange(np.size(y)).reshape(np.shape(y)) + 1)) for y in anyshape.tree_leaves(function(x))
    ]
    return sum(parts)


def complex_step(function, x):
    """Return the gradient of a function of plain Python."""
    steps = 1e-30j * np.eye(len(x))
    return np.array([total(function, x + step).imag / 1e-30 for step in steps])


def vector(n, seed=3):
    return np.random.default_rng([n, seed]).uniform(0.2, 1.1, n)


def check(function, sizes=SIZES, ways=(compiled,)):
    """Assert that gradients and products with second derivatives are right."""
    slope = lambda x: grad(lambda u: total(function, u))(x)
    product = lambda x: jvp(slope, (x,), (np.cos(x),))[1]
    for way in ways:
        first, second, many = way(slope), way(product), way(vmap(slope))
        for n in sizes:
            x = vector(n)
            expected = complex_step(function, x)
            np.testing.assert_allclose(first(x), expected, rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(many(np.stack([x, x * 0.9]))[0], expected, rtol=1e-10, atol=1e-12)
            step = 1e-5 * np.cos(x)
            change = complex_step(function, x + step) - complex_step(function, x - step)
            scale = np.max(np.abs(change), initial=1e-9) / 2e-5
            np.testing.assert_allclose(second(x) / scale, change / 2e-5 / scale, atol=1e-5)


IN_GATE = ("rows", "chosen", "scattered")  # the others take seconds


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n not in IN_GATE)) for n in PROGRAMS])
def test_derivatives_are_those_of_complex_steps(name):
    check(PROGRAMS[name], ways=(compiled, lambda f: jit(f, compile="off", optimize="now")))


@pytest.mark.parametrize("function", [overwritten_positions, overwritten_slices, swept])
def test_what_a_trip_reads_and_overwrites_is_saved(function):
    slope = jit(grad(lambda u: total(function, u)), compile="off")
    for n in (7, 0, 1):
        expected = complex_step(function, vector(n))
        np.testing.assert_allclose(slope(vector(n)), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["recurrent", "written_twice", "rows", "columns", "scattered"])
def test_what_is_saved_grows_as_the_writes(name, monkeypatch):
    """Nothing is saved of the slices that iterations read: bytes grow as the number of writes."""
    saved, call = [], nests.Nest.__call__

    def recorded(nest, *args):
        results = call(nest, *args)
        saved.append(
            sum(np.size(y) * np.result_type(y).itemsize for y in results or [] if np.result_type(y).kind != "b")
        )
        return results

    monkeypatch.setattr(nests.Nest, "__call__", recorded)
    slope = compiled(grad(lambda u: total(PROGRAMS[name], u)))
    for n in (50, 100):
        x = vector(n) / n
        slope(x)
        slope(x)
    first, second = saved[-4], saved[-2]
    assert len(saved) >= 4 and second < (5 if name in ("rows", "columns") else 2.5) * first


@pytest.mark.slow
def test_much_that_is_made_again_is_what_numpy_makes():
    """Rows that C makes from the last iteration on need more memory than they begin with."""
    product = lambda x: jvp(grad(lambda u: total(recurrent, u)), (x,), (np.cos(x),))[1]
    mine, theirs = compiled(product), jit(product, compile="off")
    for n in (40, 3, 60):
        np.testing.assert_allclose(mine(vector(n) / n), theirs(vector(n) / n), rtol=1e-9, atol=1e-12)


def not_restored(builder, node, x, old, make):
    return x


def of_the_value_behind(planner, node):
    """Return what the node has written, in place of what it overwrote."""
    old = real_old(planner, node)
    at = planner.builder.nodes.index(node)
    moved = [n for n in planner.builder.nodes[:at] if old in n.outputs]
    planner.builder.nodes = [n for n in planner.builder.nodes if n not in moved]
    behind = [replace(n, inputs=(node.outputs[0], *n.inputs[1:])) for n in moved]
    at = planner.builder.nodes.index(node) + 1
    planner.builder.nodes[at:at] = behind
    return old


def without_last(planner, value, first):
    steps = real_steps(planner, value, first)
    return steps and [s._replace(node=None) if k == len(steps) - 1 else s for k, s in enumerate(steps)]


real_old, real_steps = undone_writes.Planner._old, undone_writes.Planner._steps
PLANTED = {
    "nothing is restored": (undone_writes, "_undone", not_restored),
    "a write is missed": (undone_writes.Planner, "_steps", without_last),
    "what is saved is read behind the write": (undone_writes.Planner, "_old", of_the_value_behind),
    "writes are undone from the first on": (undone_writes, "sorted", lambda xs, key: sorted(xs, key=lambda x: -key(x))),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_planted_bugs_are_found(bug, monkeypatch):
    target, name, wrong = PLANTED[bug]
    monkeypatch.setattr(target, name, wrong, raising=False)
    failures = []
    for function in (recurrent, written_twice, rows):
        try:
            check(function, sizes=(7,), ways=(lambda f: jit(f, compile="off"),))
        except Exception as error:
            failures.append(error)
    assert failures


@pytest.mark.slow
def test_a_gradient_in_one_argument_may_follow_one_in_another():
    def run(x, y):
        y, total = y.copy(), 0.0
        for i in range(len(x) - 1, -1, -1):
            y[i] = y[i] * y[i]
            total += x[:i].dot(y[:i])
        return total + y.sum()

    for at in (1, 0):
        for n in (5, 1, 0, 3):
            x, y = np.linspace(0.1, 0.9, n), np.linspace(0.7, 0.2, n)
            both = np.array([x, y], complex)
            expected = np.zeros(n)
            for k in range(n):
                moved = both.copy()
                moved[at, k] += 1e-30j
                expected[k] = run(*moved).imag / 1e-30
            np.testing.assert_allclose(jit(grad(run, at))(x, y), expected, rtol=1e-12)


def test_merged_loops_give_what_both_give(monkeypatch):
    """Without the pass, what is made again is stacked."""
    monkeypatch.setattr(pipeline, "merge_loops", lambda graph: graph)
    for function in (recurrent, rows):
        check(function, sizes=(7, 0), ways=(lambda f: jit(f, compile="off"),))


def test_extremes_save_bytes_for_each_element():
    """A byte for each of three comparisons tells which of two arrays is chosen, in place of floats for both."""

    def paths(m):
        for k in range(m.shape[0]):
            m = np.minimum(m, np.add.outer(m[:, k], m[k, :]))
        return np.sum(m * m)

    plan = anyshape.trace(grad(paths))(anyshape.ShapeDtypeStruct("n, n")).plan
    values, _ = [step for step in plan.steps if step.op.name == "scan"]
    assert [meta.dtype.itemsize for meta in values.results[1:]] == [1, 1, 1]
    m = np.random.default_rng(1).integers(1, 30, size=(7, 7)) * 1.0  # ties are likely
    for _ in range(2):
        expected = jit(grad(paths), read_source="off")(m)  # of trips one by one, which save nothing
        np.testing.assert_allclose(jit(grad(paths), compile="off")(m), expected, rtol=1e-12)
        m[2, 3] = np.nan
