"""Random tests of jit: programs that ask about sizes compute like NumPy, with one trace for each path.

The programs are Python source. The path of a call is the log of an instrumented run on plain NumPy
(`logged_questions`). `print(program(seed))` shows the program of a failing seed.
"""

import random
import threading
from dataclasses import replace
from functools import partial
from operator import itemgetter

import numpy as np
import optree
import pytest

import anyshape
from anyshape import AUTO, STATIC, Dim, jit
from anyshape.errors import SizeLimitError, SpecializationError
from anyshape.graph.ir.builder import active_builders
from tests.laws.sweep import ERRORS, check_equal, leaves, outcome
from tests.transforms.control_flow.branching_programs import anp, program
from tests.transforms.logged_questions import Size, compile_logged

pytestmark = [pytest.mark.filterwarnings("ignore:Mean of empty slice"), pytest.mark.usefixtures("as_written")]
CALLS = 50
FAMILIES = (AssertionError, *ERRORS)


class Tally:
    """Compares the calls of one jitted function with NumPy, and its new traces with new paths.

    A slice bound that counts from the end is not a decision of Python, but another formula for a size. Such calls may
    be traced apart, and need not.
    """

    def __init__(self, jitted, note):
        self.jitted, self.note = jitted, note
        self.served: set[object] = set()
        self.apart: set[object] = set()
        self.good = self.bad = self.raised = 0  # `raised` counts paths that end in an exception
        self.limited = False

    def call(self, expected, path, shown, *args, tolerance=1e-9, **kwargs):
        """Make one call, with its expected outcome and path."""
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
            stated = isinstance(expected, AssertionError) or str(expected) == "sizes"
            assert traced <= stated, f"a call that raises {expected!r} left a program behind, at {note}"
            self.raised += traced
        else:
            self.good += 1
            if isinstance(got, Exception):
                raise AssertionError(f"NumPy gives a result, and not {got!r}, at {note}") from got
            check_equal(got, expected, tolerance, note)
            assert traced or python_questions(path) in self.served, f"no trace for a new path {path}, at {note}"
            assert not traced or path not in self.apart, f"a second trace for the path {path}, at {note}"
            self.served.add(python_questions(path))
            self.apart.add(path)

    def finish(self):
        """Check that there is one trace per path; return the numbers of results, errors and traces."""
        traces = self.jitted.cache_info().traces - self.raised
        if not self.limited:
            assert len(self.served) <= traces <= len(self.apart), f"{traces} traces for {self.served} of {self.note}"
        return np.array([self.good, self.bad, traces])


def python_questions(path):
    """Return the path without questions that Python does not ask."""
    return tuple(q for q in path if q[0] != "from the end")


def outcome_of(function, *args, **kwargs):
    """Return the leaves of a call, or its error if NumPy could raise it; raise any other error."""
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
    """Yield the arguments of calls with their outcomes on NumPy and their paths."""
    function = p.function()
    for i, shapes in enumerate(p.shapes(random.Random(p.seed), count)):
        args, kwargs = p.arguments(p.arrays(shapes, i))
        expected = outcome_of(function, *args, **kwargs)
        path = outcome_log(p, args, kwargs)
        both = isinstance(path, Exception) == isinstance(expected, Exception)
        assert both, f"{path!r}, {expected!r}: {shapes} of {p}"
        yield shapes, args, kwargs, expected, path


def check_jit(seed, calls=CALLS, wrap=jit):
    p = program(seed)
    tally = Tally(wrap(p.function(anp)), p)
    for shapes, args, kwargs, expected, path in calls_of(p, calls):
        tally.call(expected, path, shapes, *args, **kwargs)
    return tally.finish()


@pytest.mark.parametrize("part", range(4))
def test_random_programs_equal_numpy_with_one_trace_per_path(part):
    total = sum(check_jit(seed) for seed in range(part, 40, 4))
    assert total[0] > total[1] and total[2] > 30, "too few calls that give a result, or too few paths"


def test_shifts_and_masks_by_numbers_are_no_questions():
    run = compile_logged("def f(x):\n    n = x.shape[0]\n    return n >> 1, n << 2, n & 3, 7 & n, n & 6, n | 1")
    assert run(np.ones(5)) == (("value", 5), ("value", 5))  # of the mask with a gap, and of the last one
    check_jit(172492423, 12)  # a size of 0 that one argument had before, under `>>` in another one


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_random_programs_equal_numpy_with_one_trace_per_path_slow(part):
    for seed in range(1000 + part, 5000, 20):
        check_jit(seed)


# -- transforms --------------------------------------------------------------------------------------------------


def slope(function, args, seed):
    """Return the value of a real function, its derivative along a random direction, and the direction.

    The derivative is a complex step, exact up to rounding.
    """
    rng = np.random.default_rng(seed)
    flat, tree = optree.tree_flatten(args)
    directions = [rng.uniform(0.5, 1.5, x.shape) for x in flat]
    moved = [x + 1e-30j * t for x, t in zip(flat, directions, strict=True)]
    return function(*args), np.imag(function(*tree.unflatten(moved))) / 1e-30, directions


def check_gradient(seed, calls=30):
    """Compare the derivative along a random direction with a complex step on NumPy; check one trace per path."""
    p = program(seed, smooth=True)
    function = p.function()
    gradient = anyshape.value_and_grad(p.function(anp), argnums=tuple(range(p.positional)))

    def along(*args, directions, **kwargs):
        value, gradients = gradient(*args, **kwargs)
        return value, sum(np.sum(g * t) for g, t in zip(optree.tree_leaves(gradients), directions, strict=True))

    along.cache_info = gradient.cache_info
    tally = Tally(along, p)
    for shapes, args, kwargs, expected, path in calls_of(p, calls):
        directions = [0 * x for x in optree.tree_leaves(args)]
        if not isinstance(expected, Exception):
            value, derivative, directions = slope(partial(function, **kwargs), args, seed)
            expected = [np.asarray(value), np.asarray(derivative)]
            if not np.isfinite(expected).all():
                continue
        tally.call(expected, path, shapes, *args, directions=directions, tolerance=1e-6, **kwargs)
    return tally.finish()


def check_vmap(seed, calls=25):
    """Compare a batch with its examples one by one; its size, even 0, needs no trace of its own."""
    p = program(seed)
    rng = random.Random(seed)
    function, mapped = p.function(), anyshape.vmap(p.function(anp))
    tally = Tally(mapped, p)
    for i, shapes in enumerate(p.shapes(rng, calls)):
        batch = rng.choice((0, 1, 2, 5))
        examples = [p.arguments(p.arrays(shapes, i + 100 * j)) for j in range(max(batch, 1))]
        args, kwargs = optree.tree_map(lambda *xs: np.stack(xs), *examples)
        args, kwargs = optree.tree_map(itemgetter(slice(batch)), (args, kwargs))
        outcomes = [outcome_of(function, *a, **k) for a, k in examples]
        path, expected = outcome_log(p, *examples[0]), outcomes[0]
        if not isinstance(expected, Exception):
            expected = [np.stack(parts)[:batch] for parts in zip(*outcomes, strict=True)]
        tally.call(expected, path, (batch, *shapes), *args, **kwargs)
    return tally.finish()


# -- declarations ----------------------------------------------------------------------------------------------


def declared(p, rng):
    """Return random declarations by parameter, the STATIC axes, and a predicate of shapes that satisfy them."""
    shared = rng.random() < 0.5
    dims = {name: rng.choice([name, name, Dim(name, min=1, max=5), Dim(name, max=4)]) for name in "nm"}
    dims["k"] = "kk"  # `k` is the integer argument
    spec, fixed = {}, []
    for i, (shape, _) in enumerate(p.inputs):
        own = [rng.choice([AUTO, STATIC, None, f"own{i}{axis}"]) for axis in range(len(shape))]
        entries = [dims.get(s, s) for s in shape] if shared else own
        fixed += [(i, axis) for axis, entry in enumerate(entries) if entry is STATIC]
        spec[f"x{i}"] = rng.choice([tuple, lambda e: dict(enumerate(e))])(entries)

    return spec, fixed, partial(satisfies, p, dims if shared else None)


def satisfies(p, dims, shapes):
    """Return True if shapes satisfy declarations with these dims; without dims nothing is shared."""
    if dims is None:
        return True
    sizes = {}
    for (tags, _), shape in zip(p.inputs, shapes, strict=True):
        for tag, size in zip(tags, shape, strict=True):
            if sizes.setdefault(tag, size) != size or (isinstance(tag, int) and tag != size):
                return False
    ranges = [(d, sizes.get(n, d.lower)) for n, d in dims.items() if not isinstance(d, str)]
    return all(d.lower <= size <= d.upper for d, size in ranges)


def check_declared(seed, calls=30):
    """Check that calls check shared names and ranges, and that STATIC sizes and static values have their own traces."""
    p, rng = program(seed, value=True), random.Random(seed)
    spec, fixed, fits = declared(p, rng)
    kind = rng.choice(["size", "size", "static", "static name"])
    options = {"size": {}, "static": {"static_argnums": len(p.inputs)}, "static name": {"static_argnames": "k"}}[kind]
    spec |= {"k": "k"} if kind == "size" else {}
    function = p.function()
    tally = Tally(jit(p.function(anp), dynamic_shapes=spec, **options), f"{spec}, {options} of {p}")
    for i, shapes in enumerate(p.shapes(rng, calls)):
        k, arrays = rng.randrange(6), p.arrays(shapes, i)
        args, kwargs = ((*arrays, k), {}) if kind != "static name" else (tuple(arrays), {"k": k})
        path = outcome_log(p, (*arrays, Size(k)), {})
        expected = outcome_of(function, *arrays, k) if fits(shapes) else ValueError("the declaration")
        if not isinstance(path, Exception):
            path += (("static", k if kind != "size" else None, *[shapes[x][axis] for x, axis in fixed]),)
        tally.call(expected, path, (shapes, k), *args, **kwargs)
    return tally.finish()


def check_strict(seed, calls=20):
    """Check that with on_decision="error" calls are correct or refused, and that one trace serves all correct ones."""
    p, rng = program(seed, value=True, length=(1, 4)), random.Random(seed)
    spec = {f"x{i}": {axis: f"own{i}{axis}" for axis in range(len(s))} for i, (s, _) in enumerate(p.inputs)}
    run, function = jit(p.function(anp), dynamic_shapes=spec | {"k": "k"}, on_decision="error"), p.function()
    paths, good, refused = set(), 0, 0
    for i, shapes in enumerate(p.shapes(rng, calls)):
        k, arrays = rng.randrange(6), p.arrays(shapes, i)
        expected, path = outcome_of(function, *arrays, k), outcome_log(p, (*arrays, Size(k)), {})
        got = outcome_of(run, *arrays, k)
        if isinstance(expected, Exception):
            assert isinstance(got, Exception), f"NumPy raises {expected!r}, and not {got}, at {shapes}, {k} of {p}"
        elif isinstance(got, SpecializationError | SizeLimitError):
            refused += 1
            assert str(got.where).startswith("<program"), f"no line of the program in {got!r} of {p}"
        else:
            assert not isinstance(got, Exception), f"NumPy gives a result, and not {got!r}, at {shapes}, {k} of {p}"
            good += 1
            paths.add(python_questions(path))
            check_equal(got, expected, 1e-9, f"{shapes}, {k} of {p}")
    assert run.cache_info().traces <= 1 and len(paths) <= 1, f"{run.cache_info()} for {paths} of {p}"
    return np.array([good, refused, run.cache_info().traces])


def check_threads(seed, calls=40):
    """Call from eight threads in different orders: each result is correct, with one trace per path."""
    p = program(seed)
    run, wrong = jit(p.function(anp)), []
    known = [c for c in calls_of(p, calls) if not isinstance(c[3], Exception)]
    start = threading.Barrier(8)

    def work(order):
        with np.errstate(all="ignore"):
            start.wait()
            for shapes, args, kwargs, expected, _ in order:
                try:
                    check_equal(leaves(run(*args, **kwargs)), expected, 1e-9, f"{shapes} of {p}")
                except Exception as error:
                    wrong.append(error)

    threads = [threading.Thread(target=work, args=(random.Random(i).sample(known, len(known)),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong, wrong[0]
    traces = run.cache_info().traces
    paths = {c[4] for c in known}
    assert len(set(map(python_questions, paths))) <= traces <= len(paths), f"{traces} traces for {paths} of {p}"
    return np.array([len(known), calls - len(known), traces])


def check_nested(seed):
    """Check a jitted function inside a jitted function, which is part of its trace."""

    def wrap(function):
        inner = jit(function)
        return jit(lambda *args, **kwargs: inner(*args, **kwargs))

    return check_jit(seed, 30, wrap)


def check_evicted(seed, calls=40):
    """Check that a cache of three programs evicts others, which are traced again."""
    p = program(seed)
    run = jit(p.function(anp))
    run._cache.limit = 3
    good = 0
    for shapes, args, kwargs, expected, _ in calls_of(p, calls):
        if not isinstance(expected, Exception):
            good += 1
            check_equal(leaves(run(*args, **kwargs)), expected, 1e-9, f"{shapes} of {p}")
        traces, hits, entries, evictions, limit = run.cache_info()
        assert entries <= limit == 3 and evictions == traces - entries and hits == good - traces, run.cache_info()
    return np.array([good, run.cache_info().evictions, run.cache_info().traces])


def ticking_function(p, tick):
    """Return the function of a program that calls `tick` before its statements."""
    lines = p.source.splitlines()
    body = [i for i, line in enumerate(lines) if line.startswith("    ") and line.strip()[0] in "aso"]
    for i in body[::-1]:
        lines.insert(i, lines[i][: len(lines[i]) - len(lines[i].lstrip())] + "tick()")
    function = replace(p, source="\n".join(lines) + "\n").function(anp)
    function.__globals__["tick"] = tick
    return function


def check_interrupted(seed, calls=15):
    """Check that a trace interrupted anywhere adds no entry, and that later calls are correct."""
    p, rng = program(seed), random.Random(seed)
    ticks: list[None] = []
    first = rng.randrange(4)
    due = {first + i * (i + 1) // 2 for i in range(99)}  # further and further apart

    def tick():
        ticks.append(None)
        if len(ticks) - 1 in due:
            raise KeyboardInterrupt

    run = jit(ticking_function(p, tick))
    interrupted = good = 0
    for shapes, args, kwargs, expected, _ in calls_of(p, calls):
        for _ in range(20):
            before = run.cache_info().entries
            try:
                got = outcome_of(run, *args, **kwargs)
                break
            except KeyboardInterrupt:
                interrupted += 1
                assert run.cache_info().entries == before and not active_builders(), f"{shapes} of {p}"
        else:
            continue
        assert isinstance(got, Exception) == isinstance(expected, Exception), f"{got!r} at {shapes} of {p}"
        if not isinstance(got, Exception):
            good += 1
            check_equal(got, expected, 1e-9, f"{shapes} of {p}")
    return np.array([good, interrupted, run.cache_info().traces])


CHECKS = {
    "gradient": (check_gradient, 5), "vmap": (check_vmap, 5), "declared": (check_declared, 5),
    "strict": (check_strict, 10), "threads": (check_threads, 4), "interrupted": (check_interrupted, 4),
    "nested": (check_nested, 3), "evicted": (check_evicted, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_random_programs_transformed_declared_and_shared(name):
    check, count = CHECKS[name]
    total = sum(check(seed) for seed in range(count))
    assert total[0] > count and total[1] > 0 and total[2] > count / 8, f"too little happens: {total}"


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_random_programs_transformed_declared_and_shared_slow(name):
    for seed in range(1000, 2000):
        CHECKS[name][0](seed)


# -- regressions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1,), (1, 1), (1, 3), (0, 1)])
def test_an_axis_of_size_one_that_a_broadcast_adds_stays(shape):
    """NumPy's own broadcast adds no axis, so the broadcast of a scalar to one element is a step."""
    for function in (lambda x: np.sin(np.broadcast_to(x, shape)), lambda x: np.broadcast_to(x, shape) * 2):
        check_equal(leaves(jit(function)(np.array(1.5))), leaves(function(np.array(1.5))), 1e-12, "")


@pytest.mark.parametrize("spec", [(), [], {}, "", None, AUTO])
def test_an_integer_without_axes_may_be_declared_to_have_none(spec):
    run = jit(lambda x, k: x * k, dynamic_shapes={"x": "n", "k": spec})
    for k in (2, 3):
        np.testing.assert_array_equal(run(np.ones(3), np.array(k)), np.full(3, 1.0 * k))
    assert run.cache_info().traces == 1
