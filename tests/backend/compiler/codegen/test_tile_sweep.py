"""Tiled = untiled = naive, for random programs, every sample, every layout, around every boundary of tiles.

Results without sums and matrix products have the same bits. Sums have the same bits in any run, on any threads.
"""

import math
import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import jit
from anyshape.backend.interpreter import evaluate
from anyshape.backend.numpy import special
from anyshape.transforms import sharing
from tests.backend.compiler.codegen.tiling import tiled, untiled
from tests.laws.random_programs import NAMES, TABLE, seeded_program
from tests.laws.sweep import check_equal, in_namespace, is_error, outcome, rows

SUMS = ("reduction", "contraction", "linalg", "control")  # families whose results depend on the order of additions
SIZES = ((6, 6, 6), (7, 7, 7), (13, 13, 13), (1, 1, 1), (0, 0, 0), (5, 7, 3), (12, 1, 13), (1, 13, 6), (13, 2, 1))
LAYOUTS = ("C", "F", "strided", "broadcast")


def laid(x, layout):
    """Return the values of x, or of its first row, with another memory layout."""
    if layout == "C" or not x.ndim or not x.size:
        return x
    if layout == "F":
        return np.asfortranarray(x)
    if layout == "broadcast":
        return np.broadcast_to(x[:1], x.shape)
    sign = -1 if layout == "reversed" else 1
    wide = np.empty([2 * s for s in x.shape], x.dtype)
    view = wide[tuple([slice(None, None, 2 * sign)] * x.ndim)]
    view[...] = x
    return view


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def free_of_sums(plan):
    """Tell of each output whether no sum went into it."""
    maker = {slot: step for step in plan.steps for slot in step.outputs}
    free = {}
    for step in plan.steps:
        fine = step.op.family not in SUMS and all(free.get(s, True) for s in step.inputs if isinstance(s, str))
        free |= dict.fromkeys(step.outputs, fine)
    return [free.get(o, True) if isinstance(o, str) and o in maker else True for o in plan.outputs]


class Compared:
    """Compare a function in tiles, one without tiles and the naive evaluator. Counts groups."""

    def __init__(self, function, note, tile=6, threads=2):
        self.tiled, self.plain = jit(function), jit(function)
        self.note, self.tile, self.threads = note, tile, threads
        self.groups = 0

    def at(self, arrays, note=""):
        before = [x.copy() for x in arrays]
        sharing.forget()  # functions of one code share a plan
        with untiled():
            plain = outcome(self.plain, *arrays)
        sharing.forget()
        with tiled(self.tile, threads=self.threads):
            in_tiles = outcome(self.tiled, *arrays)
            again = outcome(self.tiled, *arrays)
        assert type(plain) is type(in_tiles), f"{self.note} {note}: {plain!r:.300} and in tiles {in_tiles!r:.300}"
        if is_error(plain):
            return
        made = next(p for p in self.tiled.programs() if p.accepts(*arrays))
        self.groups += made.run.__source__.count("def tiled")
        low = any(x.dtype in ("float16", "float32", "complex64") for x in (*arrays, *plain))
        tolerance = 1e-5 if low else 1e-9
        note = f"{self.note} {note}"
        check_equal(in_tiles, plain, tolerance, note)
        check_equal(in_tiles, evaluate(made.graph, arrays), tolerance, note)
        exact = free_of_sums(made.plan)
        for i, (a, b, c) in enumerate(zip(plain, in_tiles, again, strict=True)):
            assert same_bits(b, c), f"{note}, result {i}: another run gives other bits"
            assert not exact[i] or same_bits(a, b), f"{note}, result {i}: not the bits of the plan without tiles"
        assert all(same_bits(x, y) for x, y in zip(arrays, before, strict=True)), f"{note}: an input was written to"


@pytest.fixture(autouse=True)
def _as_for_large_arrays(monkeypatch):
    """Use the formula of large arrays in small ones too, and ignore warnings about values at edges."""
    monkeypatch.setattr(special, "FEW", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def total(function):
    """Return the sum of all results of a function."""

    def summed(*xs):
        results = function(*xs)
        return sum(anp.sum(anp.real(y) * 1.0) for y in (results if isinstance(results, (tuple, list)) else (results,)))

    return summed


# -- random programs


def small(program, sizes):
    """Tell whether no value of the program is large at these sizes: products of products grow fast."""
    values = program.arrays(sizes)
    for step in program.steps:
        try:
            values.append(TABLE[step.name].run(np, *[values[i] for i in step.operands], *step.arguments))
        except (TypeError, ValueError, IndexError):
            return True
        if np.size(values[-1]) > 5000:
            return False
    return True


def sweep(seed, smooth):
    program = seeded_program(seed, length=9, smooth=smooth)
    moving = tuple(i for i, (_, dtype) in enumerate(program.inputs) if dtype not in ("int64", "bool"))
    if smooth and not moving:
        return 0
    function = program.within(anp)
    function = anyshape.grad(total(function), argnums=moving) if smooth else function
    compared = Compared(function, f"seed {seed}\n{program}\n", tile=(6, 1, 4, 17)[seed % 4], threads=1 + seed % 4)
    for i, sizes in enumerate(SIZES):
        named = dict(zip(NAMES, sizes, strict=True))
        layout = LAYOUTS[(i + seed) % len(LAYOUTS)]
        if small(program, named):
            compared.at([laid(x, layout) for x in program.arrays(named, seed)], f"{named} {layout}")
    return compared.groups


CANCELLING = (706,)  # the sum of what was centred: nothing but rounding


@pytest.mark.parametrize("smooth", [False, True], ids=["values", "gradients"])
def test_random_programs(smooth):
    assert sum(sweep(seed, smooth) for seed in range(24)) > 100


@pytest.mark.slow
@pytest.mark.parametrize("smooth", [False, True], ids=["values", "gradients"])
@pytest.mark.parametrize("start", range(24, 1600, 197))
def test_many_random_programs(start, smooth):
    assert sum(sweep(seed, smooth) for seed in range(start, start + 197) if seed not in CANCELLING)


# -- samples


def doubled(function):
    """Return the function of a batch of its arguments, each twice."""
    return lambda *xs: anyshape.vmap(function)(*[anp.stack([x, x]) for x in xs])


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted({family for family, _ in rows()}))
def test_every_sample_in_every_dtype_and_transform(family):
    for row in [row for name, row in rows() if name == family]:
        summed = total(in_namespace(row, anp))
        functions = {
            "value": in_namespace(row, anp),
            "gradient": anyshape.grad(summed),
            "batch": doubled(in_namespace(row, anp)),
            "gradient of a batch": doubled(anyshape.grad(summed)),
        }
        for dtype in row.dtypes:
            for name, function in functions.items():
                compared = Compared(function, f"{row.name}, {name}, {dtype}", threads=3)
                for size in (0, 1, 2, 5, 6, 7, 13):
                    arrays = outcome(row.arrays, dict.fromkeys(row.names(), size), dtype)
                    if not is_error(arrays):
                        compared.at([np.asarray(x) for x in arrays], f"at {size}")


# -- layouts and dtypes


def chain(x, y):
    return np.exp(x * y) + np.tanh(x) * y, (x + y) * x


def normalised(x, y):
    centred = x - np.mean(x, axis=1, keepdims=True)
    return centred / np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + 1) * y


def softmax(x, y):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True) * y, np.sum(e * y), np.sum(e * y, axis=0)


def whole_numbers(x, y):
    return (x * y + x) // 3 + x % 7, np.sum(x * y), np.max(x + y, axis=1), (x > y) & (x != 2)


def logical(x, y):
    return (x & y) | ~x, np.any(x & y, axis=1), np.sum(x | y, axis=0)


def complex_numbers(x, y):
    return np.exp(x) * np.conj(y) + np.abs(x), np.sum(x * y), np.sum((x * y).imag * 2, axis=0)


FUNCTIONS = [
    *[(f, d) for f in (chain, normalised, softmax) for d in ("float64", "float32")],
    *[(whole_numbers, d) for d in ("int64", "int32", "int8", "uint8")],
    *[(complex_numbers, d) for d in ("complex128", "complex64")],
    (logical, "bool"),
    (chain, "float16"),
]


def draw(rng, shape, dtype):
    values = rng.uniform(-2, 2, shape) + 1j * rng.uniform(-2, 2, shape)
    return (values.real > 0 if dtype == "bool" else values * (20 if np.dtype(dtype).kind in "iu" else 1)).astype(dtype)


@pytest.mark.parametrize(("function", "dtype"), FUNCTIONS, ids=lambda p: getattr(p, "__name__", p))
def test_layouts_and_boundaries(function, dtype, rng):
    compared, beside, stretched = (Compared(function, f"{function.__name__} {dtype}", 12, 3) for _ in range(3))
    for n in (0, 1, 3, 4, 5, 9):  # tiles have four rows of three
        for first in LAYOUTS:
            for second in ("C", first):
                xs = laid(draw(rng, (n, 3), dtype), first), laid(draw(rng, (n, 3), dtype), second)
                compared.at(xs, f"{n} {first} {second}")
        beside.at([draw(rng, (n, 3), dtype), draw(rng, (3,), dtype)], f"{n} by 3 and 3")
        stretched.at([draw(rng, (n, 1), dtype), draw(rng, (n, 3), dtype)], f"{n} by 1 and 3")
    assert compared.groups and beside.groups and stretched.groups


def test_reversed_axes_give_numpys_values_to_rounding(rng):
    """NumPy's own bits depend on whether a reversed axis is flipped first."""
    step = jit(chain)
    for n in (1, 6, 7, 13):
        x, y = (laid(rng.normal(size=(n, 4)), "reversed") for _ in range(2))
        with tiled():
            for got, expected in zip(step(x, y), chain(x, y), strict=True):
                np.testing.assert_allclose(got, expected, rtol=1e-14)


# -- sums


@pytest.mark.parametrize("shape", [(1000003,), (250001, 4), (1001, 999), (4, 250001)], ids=str)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_sums_are_as_accurate_as_numpys(shape, axis, rng):
    x = rng.uniform(0, 1, size=shape).astype(np.float32)
    summed = jit(lambda x: np.sum(x * np.float32(1), axis=axis))
    got, by_numpy = np.ravel(summed(x)), np.ravel(np.sum(x, axis=axis))
    columns = x.reshape(-1, 1) if axis is None or x.ndim == 1 else (x if axis == 0 else x.T)
    exact = [math.fsum(column) for column in columns.T[:50].astype(np.float64)]
    error, of_numpy = (np.max(np.abs(s[:50] / exact - 1)) for s in (got, by_numpy))
    assert error <= max(2 * of_numpy, 3e-7)
    np.testing.assert_array_equal(np.ravel(summed(x)), got)


def test_sums_have_the_same_bits_on_any_number_of_threads(rng):
    def sums(x):
        y = np.sin(x) * x
        return np.sum(y), np.sum(y, axis=0), np.sum(y, axis=1), np.sum(y * y, axis=0) / np.sum(y)

    step, derivative = jit(sums), anyshape.grad(lambda x: sums(x)[0])
    for n in (1 << 14, 50001):
        x = rng.normal(size=(n, 5))
        runs = []
        for threads in (1, 2, 3, 4, 2, 1):
            with tiled(1 << 14, 1 << 13, threads):
                runs.append([*step(x), derivative(x)])
        for others in runs[1:]:
            for a, b in zip(runs[0], others, strict=True):
                assert np.array_equal(a, b)


# -- real sizes


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex64", "int32"])
def test_real_sizes_around_tiles(dtype, rng):
    function = whole_numbers_of_lines if dtype == "int32" else lines
    compared = Compared(function, dtype, tile=1 << 14)
    edges = 1 << 12, 1 << 13, 1 << 14, 1 << 16, 5 << 14
    for n in [edge + by for edge in edges for by in (-1, 0, 1)]:
        compared.at([draw(rng, (n,), dtype), draw(rng, (n,), dtype)], f"at {n}")


def lines(x, y):
    return np.exp(x * y) * 2 + x, np.sum(x * y + x), np.tanh(y) * (x - y)


def whole_numbers_of_lines(x, y):
    return (x * y + x) // 3, np.sum(x * y), x % 5 + y
