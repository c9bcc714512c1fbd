"""One jitted function serves random programs that ask about sizes as NumPy runs them, with one trace for each path.

The programs are Python source; the path of a call is what an instrumented run on plain NumPy logs (size_questions).
A seed that fails prints its program: `print(program(seed))`.
"""

import random
import threading

import numpy as np
import optree
import pytest

import anyshape
from anyshape import AUTO, STATIC, Dim, jit
from anyshape.errors import ShapeError, SizeLimitError, SpecializationError
from anyshape.graph.builder import active_builders
from tests.size_programs import anp, program
from tests.sweep import ERRORS, check_equal, leaves, outcome

CALLS = 50
FAMILIES = (AssertionError, *ERRORS)


class Tally:
    """The calls of one jitted function: each is compared with NumPy's outcome, and new traces with new paths.

    A bound of a slice may count from the end, which is no question of Python's but two formulas for a size: such
    calls may be traced apart, and need not.
    """

    def __init__(self, jitted, note):
        self.jitted, self.note = jitted, note
        self.served: set[object] = set()
        self.apart: set[object] = set()
        self.good = self.bad = 0
        self.limited = False

    def call(self, expected, path, shown, *args, tolerance=1e-9, **kwargs):
        """One call, whose outcome on NumPy is known."""
        note = f"{shown} of {self.note}"
        before = self.jitted.cache_info().traces
        got = outcome_of(self.jitted, *args, **kwargs)
        traced = self.jitted.cache_info().traces - before
        if isinstance(got, SizeLimitError):
            self.limited = True
        elif isinstance(expected, Exception):
            self.bad += 1
            family = next(kind for kind in FAMILIES if isinstance(expected, kind))
            assert isinstance(got, family), f"NumPy raises {expected!r}, and not {got!r}, at {note}"
            assert not traced, f"a call that raises {expected!r} left a program behind, at {note}"
        else:
            self.good += 1
            if isinstance(got, Exception):
                raise AssertionError(f"NumPy gives a result, and not {got!r}, at {note}") from got
            check_equal(got, expected, tolerance, note)
            asked = tuple(q for q in path if q[0] != "from the end")
            assert traced or asked in self.served, f"no trace for a new path {asked}, at {note}"
            assert not traced or path not in self.apart, f"a second trace for the path {path}, at {note}"
            self.served.add(asked)
            self.apart.add(path)

    def finish(self):
        """There are as many traces as paths; how many calls gave a result, how many errors, and the traces."""
        traces = self.jitted.cache_info().traces
        if not self.limited:
            assert len(self.served) <= traces <= len(self.apart), f"{traces} traces for {self.served} of {self.note}"
        return np.array([self.good, self.bad, traces])


def outcome_of(function, *args, **kwargs):
    """What a call gives: its leaves, or the error it raises, which is passed on unless NumPy could raise it."""
    try:
        return outcome(lambda: function(*args, **kwargs))
    except AssertionError as error:
        return error


def outcome_log(p, args, kwargs):
    try:
        return p.logged(*args, **kwargs)
    except FAMILIES as error:
        return error


def calls_of(p, count):
    """Arguments of calls, the outcome of each on NumPy, and its path."""
    function = p.function()
    for i, shapes in enumerate(p.shapes(random.Random(p.seed), count)):
        args, kwargs = p.arguments(p.arrays(shapes, i))
        expected = outcome_of(function, *args, **kwargs)
        path = outcome_log(p, args, kwargs)
        assert isinstance(path, Exception) == isinstance(expected, Exception), f"{path!r}, {expected!r}: {shapes} of {p}"
        yield shapes, args, kwargs, expected, path


def check_jit(seed, calls=CALLS):
    p = program(seed)
    tally = Tally(jit(p.function(anp)), p)
    for shapes, args, kwargs, expected, path in calls_of(p, calls):
        tally.call(expected, path, shapes, *args, **kwargs)
    return tally.finish()


@pytest.mark.parametrize("part", range(4))
def test_random_programs_give_what_numpy_gives_with_one_trace_for_each_path(part):
    total = sum(check_jit(seed) for seed in range(part, 60, 4))
    assert total[0] > total[1] and total[2] > 60, "too few calls that give a result, or too few paths"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_random_programs_give_what_numpy_gives_with_one_trace_for_each_path_slow(part):
    for seed in range(1000 + part, 5000, 20):
        check_jit(seed)


# -- transforms --------------------------------------------------------------------------------------------------


def slope(function, args, seed):
    """The value of a real function, its derivative along a random direction, exact to rounding, and the direction."""
    rng = np.random.default_rng(seed)
    flat, tree = optree.tree_flatten(args)
    directions = [rng.uniform(0.5, 1.5, x.shape) for x in flat]
    moved = [x + 1e-30j * t for x, t in zip(flat, directions, strict=True)]
    return function(*args), np.imag(function(*tree.unflatten(moved))) / 1e-30, directions


def check_gradient(seed, calls=30):
    """Along a random direction, the derivative is that of a complex step on NumPy; one trace for each path."""
    p = program(seed, smooth=True)
    function = p.function()
    gradient = anyshape.value_and_grad(p.function(anp), argnums=tuple(range(p.positional)))

    def along(*args, directions, **kwargs):
        value, found = gradient(*args, **kwargs)
        return value, sum(np.sum(g * t) for g, t in zip(optree.tree_leaves(found), directions, strict=True))

    along.cache_info = gradient.cache_info
    tally = Tally(along, p)
    for shapes, args, kwargs, expected, path in calls_of(p, calls):
        directions = [0 * x for x in optree.tree_leaves(args)]
        if not isinstance(expected, Exception):
            value, derivative, directions = slope(lambda *a: function(*a, **kwargs), args, seed)
            expected = [np.asarray(value), np.asarray(derivative)]
            if not np.isfinite(expected).all():
                continue
        tally.call(expected, path, shapes, *args, directions=directions, tolerance=1e-6, **kwargs)
    return tally.finish()


def check_vmap(seed, calls=25):
    """A batch gives what its examples give one by one; its size, 0 too, asks for no trace of its own."""
    p = program(seed)
    rng = random.Random(seed)
    function, mapped = p.function(), anyshape.vmap(p.function(anp))
    tally = Tally(mapped, p)
    for i, shapes in enumerate(p.shapes(rng, calls)):
        batch = rng.choice((0, 1, 2, 5))
        examples = [p.arguments(p.arrays(shapes, i + 100 * j)) for j in range(max(batch, 1))]
        args, kwargs = optree.tree_map(lambda *xs: np.stack(xs)[:batch], *examples)
        found = [outcome_of(function, *a, **k) for a, k in examples]
        path, expected = outcome_log(p, *examples[0]), found[0]
        if not isinstance(expected, Exception):
            expected = [np.stack(parts)[:batch] for parts in zip(*found, strict=True)]
        tally.call(expected, path, (batch, *shapes), *args, **kwargs)
    return tally.finish()


CHECKS = {"gradient": check_gradient, "vmap": check_vmap}


@pytest.mark.parametrize("name", CHECKS)
def test_transforms_of_random_programs_have_one_trace_for_each_path(name):
    total = sum(CHECKS[name](seed) for seed in range(25))
    assert total[0] > total[1] and total[2] > 25, "too few calls that give a result, or too few paths"


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_transforms_of_random_programs_have_one_trace_for_each_path_slow(name):
    for seed in range(1000, 2000):
        CHECKS[name](seed)


# -- what was found ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 3), (0, 1)])
def test_an_axis_of_size_one_that_a_stretch_adds_stays(shape):
    """NumPy's own stretching adds no axis, so the stretch of a scalar to one element is a step."""
    for function in (lambda x: np.sin(np.broadcast_to(x, shape)), lambda x: np.broadcast_to(x, shape) * 2):
        check_equal(leaves(jit(function)(np.array(1.5))), leaves(function(np.array(1.5))), 1e-12, "")
