"""Peak memory: the bound holds when it is measured, and a call beyond max_bytes allocates nothing."""

import tracemalloc
import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import jit
from anyshape.backend.compiler.codegen import tiles
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.runtime import block_cache
from anyshape.backend.runtime.block_cache import CACHE
from anyshape.backend.runtime.config import config
from anyshape.errors import ArgumentError, MemoryLimitError
from anyshape.graph.shapes.array_type import Unknown, UpperBound
from anyshape.graph.signature.prologue import compile_prologue
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate, values_from
from tests.laws.sweep import in_gate, in_namespace, rows

SLACK = 400_000  # bytes that the loops of NumPy and first uses take for themselves, whatever the size of operands


@pytest.fixture(autouse=True)
def no_kernels(monkeypatch):
    """Leave out machine code: a kernel that comes into place in a measured run is compared with NumPy in it."""
    monkeypatch.setattr(config, "compile", "off")


LEAST_LOADED = 1_000_000


def measured(run, arrays):
    """Return the most bytes that are live in a run, and its results.

    The first run that is worth a build of kernels loads what builds them, once in a process.
    """
    peak, results = _measured(run, arrays)
    return peak if peak < LEAST_LOADED else min(peak, _measured(run, arrays)[0]), results


def _measured(run, arrays):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(*arrays)
        block_cache.clear()
        CACHE.clear()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            results = run(*arrays)
            return tracemalloc.get_traced_memory()[1] - before, results
        finally:
            tracemalloc.stop()


def arrays_of(row, longest=5000):
    """Return arrays of a sample that are large beside the slack."""
    ranks = [len([w for w in spec.split(",") if w.strip()]) for spec in row.shapes]
    size = {0: longest, 1: longest, 2: 300}.get(max(ranks, default=0), 40)
    if len(row.names()) > 1 and size == longest:
        size = 200  # axes are combined with each other
    return [np.asarray(x) for x in row.arrays(dict.fromkeys(row.names(), size), row.dtypes[0])]


def total(row):
    """Return the sum of all results of a sample."""
    of_arrays = in_namespace(row, anp)

    def function(*xs):
        results = of_arrays(*xs)
        return sum(anp.sum(anp.real(y)) for y in (results if isinstance(results, (tuple, list)) else (results,)))

    return function


FAMILIES = sorted({family for family, _ in rows()} - {"callback"})
# two slots of checkpoints run a loop again and again, and a matrix of all powers is square
LONGEST = {"reruns": 100, "polynomials": 1000}
IN_TILES = ("elementwise", "movement", "reduction", "special")


def program_of(function, row, longest):
    """Return the program of a function and its arrays, or None: not of these sizes, or without a derivative."""
    jitted = jit(function)
    try:
        arrays = arrays_of(row, longest)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            jitted(*arrays)
    except (ValueError, TypeError, IndexError, ArithmeticError, NotImplementedError, MemoryError):
        return None
    return jitted.programs()[0], arrays


VALUE_SIZES = {"repeated", "size_token", "repeated_each", "size_token_each", "cond", "scan", "while", "while_each"}


def bound_holds(function, row, longest):
    """Check the bound of a function of a sample, if there is one."""
    called = program_of(function, row, longest)
    if called is None:
        return False
    program, arrays = called
    peak = program.cost().peak_bytes
    by_value = isinstance(peak, Unknown) or not program.graph.runtime.keys().isdisjoint(expr.variables(peak.size))
    if by_value and {n.op.name for n in program.graph.nodes} & VALUE_SIZES:
        return False  # sizes given by values have no bound
    assert isinstance(peak, UpperBound), f"{row.name}: no bound is known"
    bound = evaluate(peak.size, values_from(compile_prologue(program.prologue, arrays=True)(*arrays)))
    used, _ = measured(program.run, arrays)
    assert used <= 1.02 * bound + SLACK, f"{row.name}: {used} bytes, and at most {bound} were promised"
    return True


@pytest.mark.parametrize("one_in", [18, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("in_tiles, family", [(False, f) for f in FAMILIES] + [(True, f) for f in IN_TILES])
def test_the_bound_holds_for_values_and_gradients(family, in_tiles, one_in, monkeypatch):
    monkeypatch.setattr(tiles, "forced", (1 << 16, 1 << 14) if in_tiles else (1 << 60, 1))
    checked = 0
    for row in [c[1] for c in rows() if c[0] == family and in_gate("peak memory", c, one_in)]:
        derivative = anyshape.grad(total(row))
        for function in (derivative,) if in_tiles else (in_namespace(row, anp), derivative):
            checked += bound_holds(function, row, 70_000 if in_tiles else LONGEST.get(family, 5000))
    assert checked or one_in > 1


def bent(x):
    return np.sin(np.cos(x) * x) + np.exp(x) * x * np.tanh(x)


def folded(x):
    ys = [np.sin(x * (i + 1)) for i in range(6)]
    product = ys[0]
    for y in reversed(ys):
        product = product * y + y
    return np.sum(product, axis=0), np.sum(product * bent(-x))


@pytest.mark.parametrize("shape", [(40, 20_000), (34, 30_000), (50, 16_500), (9, 100_000), (200, 11_000)])
@pytest.mark.parametrize("function", [bent, folded, anyshape.grad(lambda x: folded(x)[1])])
def test_the_bound_holds_where_few_rows_fill_a_tile(function, shape, monkeypatch):
    monkeypatch.setattr(config, "num_threads", 4)
    program = anyshape.trace(function)(anyshape.ShapeDtypeStruct("n, d", "float64"))
    used, _ = measured(program.run, [np.random.default_rng(0).normal(size=shape)])
    assert used <= program.cost().at(dict(zip(("n", "d"), shape, strict=True))).peak_bytes.size + SLACK


@pytest.mark.parametrize("steps, threads", [(20, 4), (100, 2)])
@pytest.mark.usefixtures("as_written")
def test_tiles_take_little_beside_results(steps, threads, monkeypatch):

    def chain(x):
        y = x
        for _ in range(steps):
            y = np.sin(y) * x + 0.5
        return np.sum(y)

    monkeypatch.setattr(config, "num_threads", threads)
    step = anyshape.value_and_grad(chain)
    step(np.ones(3))
    (program,) = step.programs()
    least = tiles.min_tiled_elements(program.plan.groups[0])
    for n in (least - 1, least, 300_000)[-1 if steps > 20 else 0 :]:
        x = np.linspace(-1, 1, n)
        used, _ = measured(program.run, [x])
        bound = program.cost().at({"x_0": n}).peak_bytes.size
        assert used <= bound + SLACK
        buffers = threads * max(
            tiles.MAX_BUFFER_BYTES, 2.5 * steps * 16 * tiles.MIN_ELEMENTS
        )  # values of forward and backward
        if n > least:
            assert used <= 1.1 * x.nbytes + buffers + SLACK  # the gradient, and buffers of the threads


def layers(w, b, x):
    for _ in range(3):
        x = anp.tanh(x @ w + b) * b - b
    return anp.sum(x * x)


RELATED = {
    "layers": (layers, [(40, 40), (40,), (3000, 40)]),
    "a row and a column": (lambda x, y, z: anp.sum(anp.exp(x * y - z) * y), [(900, 300), (300,), (900, 1)]),
    "vectors": (lambda x, y, z: anp.sum(anp.sin(x) * y / (z * z + 1)), [(200_000,)] * 3),
    "a mask": (lambda x: anp.sum(anp.where(anp.arange(x.shape[1]) > 3, x, 0) ** 2), [(500, 700)]),
    "casts": (lambda x, y: anp.sum((x.astype("float32") * y).astype("float64") * x), [(100_000,)] * 2),
}


@pytest.mark.parametrize("name", RELATED)
def test_the_cost_bounds_specializations(name):
    """A specialization may have other groups, and so other buffers."""
    function, shapes = RELATED[name]
    jitted = jit(anyshape.value_and_grad(function))
    xs = [np.cos(np.arange(float(np.prod(shape)))).reshape(shape) for shape in shapes]
    for _ in range(20):
        jitted(*xs)
    (program,) = jitted.programs()
    read = dict(zip(program.labels, xs, strict=True))
    sizes = {str(d.variable): read[str(d.variable).rpartition("_")[0]].shape[int(str(d.variable)[-1])]
             for d in program.graph.dims}  # fmt: skip
    bound = program.cost().at(sizes).peak_bytes.size
    plan = peak_bytes(program.plan_for(*xs)).size
    assert evaluate(plan, values_from({v: sizes[str(v)] for v in expr.variables(plan)})) <= bound
    peak, _ = measured(jitted, xs)
    assert peak <= bound + 20_000


@pytest.mark.usefixtures("as_written")
def test_more_threads_later_do_not_break_a_limit(monkeypatch):
    def chain(x):
        for _ in range(20):
            x = np.sin(x) * x + 0.5
        return np.sum(x)

    monkeypatch.setattr(config, "num_threads", 1)
    n = 300_000
    (program,) = programs_of(anyshape.grad(chain), n)
    limit = program.cost().at({"x_0": n}).peak_bytes.size
    step = anyshape.jit(anyshape.grad(chain), max_bytes=limit)
    step(np.ones(n))
    monkeypatch.setattr(config, "num_threads", 16)
    used, _ = measured(step, [np.linspace(0, 1, n)])
    assert used <= limit + SLACK


def programs_of(step, n):
    step(np.ones(n))
    return step.programs()


def test_a_call_beyond_the_limit_allocates_nothing():
    table = jit(lambda x: np.sum(np.outer(x, x)), max_bytes=1_000_000)
    assert table(np.ones(100)) == 10_000
    with pytest.raises(MemoryLimitError):
        table(np.ones(4000))  # the first one loads modules
    x = np.ones(5000)
    tracemalloc.start()
    with pytest.raises(MemoryLimitError, match="max_bytes is 1000000") as caught:
        table(x)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    error = caught.value
    assert isinstance(error, MemoryError) and error.limit == 1_000_000
    assert error.needed >= 8 * 5000**2 and error.sizes == {"x.shape[0]": 5000}
    assert "test_peak_memory.py" in str(error.where)
    assert table(np.ones(10)) == 100  # the next call works


def test_sizes_that_depend_on_data_count_with_their_bounds():
    chosen = jit(lambda x: np.sum(np.outer(x[x > 0], x[x > 0])), max_bytes=1_000_000)
    assert chosen(-np.ones(100)) == 0
    with pytest.raises(MemoryLimitError):
        chosen(-np.ones(2000))  # none is chosen, but all might be
    peak = chosen.programs()[0].cost().peak_bytes
    assert isinstance(peak, UpperBound) and "count" not in str(peak)


def test_the_limit_belongs_to_transforms_too_and_survives_copies():
    f = jit(lambda x: np.sum(np.outer(x, x) ** 2), max_bytes=100_000)
    derivative = anyshape.grad(f)
    assert derivative(np.ones(10)).tolist() == [40.0] * 10
    with pytest.raises(MemoryLimitError):
        derivative(np.ones(1000))


@pytest.mark.parametrize("limit", [-1, 1.5, True, "1 GB"])
def test_a_limit_must_be_a_number_of_bytes(limit):
    with pytest.raises(ArgumentError, match="max_bytes"):
        jit(lambda x: x, max_bytes=limit)


@pytest.mark.slow
def test_a_loop_of_any_number_of_trips_has_a_bound():
    def last(w, h, n):
        return anyshape.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, np.tanh(w * c[1])), (0, h))[1]

    def slope(w, h, n):
        return anyshape.jvp(lambda h: last(w, h, n), (h,), (h,))[1]

    w, h = np.full(300_000, 0.5), np.ones(300_000)
    for function in (last, slope):
        limited = jit(function, max_bytes=10 * h.nbytes)
        np.testing.assert_allclose(limited(w, h, 9), function(w, h, 9))
        taken, _ = measured(limited, (w, h, 50))
        with pytest.raises(MemoryLimitError, match="may need"):
            jit(function, max_bytes=taken - SLACK)(w, h, 50)
    gradient = anyshape.grad(lambda h: last(w, h, 9).sum())
    limited = jit(gradient, max_bytes=20 * h.nbytes)
    np.testing.assert_allclose(limited(h), gradient(h))
    assert measured(limited, (h,))[0] <= 20 * h.nbytes
    second = anyshape.grad(lambda h: gradient(h).sum())
    np.testing.assert_allclose(jit(second, max_bytes=10**9)(h), second(h))  # it counts its bytes


@pytest.mark.parametrize("policy", [None, "carry", 4])
def test_the_bound_of_a_derivative_is_a_formula_of_the_trips(policy):
    def last(x, n):
        body = lambda c: (c[0] + 1, np.sin(c[1]) * 1.01)
        return np.sum(anyshape.while_loop(lambda c: c[0] < n, body, (0, x), checkpoint=policy)[1])

    program = anyshape.trace(anyshape.grad(last))(anyshape.ShapeDtypeStruct("n"), anyshape.ShapeDtypeStruct((), int))
    spent, x = program.cost(), np.ones(50_000)
    assert ("n*trips" in str(spent.peak_bytes)) is ("trips" in str(spent.peak_bytes)) is (policy != 4)
    assert isinstance(spent.at({"n": 3}).peak_bytes, Unknown) is (policy != 4)  # nothing says how many trips
    for trips in (1, 10, 50):
        bound = spent.at({"n": len(x), "trips": trips}).peak_bytes.size
        used, _ = measured(program, (x, np.array(trips)))
        assert used <= 1.02 * bound + SLACK
        assert bound <= 3 * used + SLACK
