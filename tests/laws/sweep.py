"""Share rows, sizes, expected results and comparisons among the sweeping checks."""

import importlib
import itertools
import pkgutil
import zlib
from functools import cache, lru_cache
from types import SimpleNamespace

import numpy as np
import optree
import pytest

import anyshape
import anyshape.numpy as anp
import tests.samples
from anyshape.support.packages import sharing
from tests.samples.sample import SIZES

ERRORS = (IndexError, ZeroDivisionError, OverflowError, ValueError, TypeError, NotImplementedError)
LIMIT = 20  # combinations of sizes tried for values; derivatives take fewer


@cache
def rows():
    """Every (family, row) of tests/samples, in order."""
    family_rows = []
    for info in pkgutil.iter_modules(tests.samples.__path__):
        module = importlib.import_module(f"tests.samples.{info.name}")
        family_rows.extend((info.name, row) for row in getattr(module, "SAMPLES", ()))
    return tuple(family_rows)


def in_namespace(row, namespace):
    """Return a row as a function of its arrays that reaches nothing else of the row: each trace walks over that.

    It shares no programs with the functions of earlier rows, which may have the same code.
    """
    sharing.forget()
    function = row.function
    return lambda *xs: function(namespace, *xs)


@cache
def cases(dtypes=None):
    """Every row with each of its dtypes (or only those named), as (family, row, dtype)."""
    return [(f, r, d) for f, r in rows() for d in r.dtypes if dtypes is None or d in dtypes]


def label(case):
    family, row, *dtype = case
    return "-".join([family, row.name.replace(" ", "_"), *dtype])


# Cases that alone catch a planted bug: the gate always tries them.
ALWAYS = {
    ("batched derivatives", "reduction-subtract.outer-float64"),
    ("batched derivatives", "reduction-sum_stretches_back-float64"),
    ("other files", "reduction-multiply.reduce"),
    ("peak memory", "movement-roll,_axes"),
    ("special values", "reduction-max-float64"),
    ("the namespace", "elementwise-differences_both_ways-float64"),
    ("test_second_derivatives_have_transposes_in_the_earlier_tangent", "matrix_functions-expm-float64"),
    ("test_vjp_is_the_transpose_of_jvp", "elementwise-nan_to_num-complex128"),
    ("tiled", "reduction-corrcoef"),
    ("tiled", "sorting-median"),
}


def in_gate(check, case, one_in):
    """Return True for one in so many cases, the same in every run: each check has another part. The rest is slow."""
    return (check, label(case)) in ALWAYS or zlib.crc32(f"{check} {label(case)}".encode()) % one_in == 0


def gate_part(check, select, one_in):
    """Return the cases as parameters of a check; one in so many is not slow."""
    marks = {True: (), False: pytest.mark.slow}
    return [pytest.param(c, id=label(c), marks=marks[in_gate(check, c, one_in)]) for c in select]


def programs_at(row, dtype, choices):
    """Yield (arrays, the program that serves them) for each choice of sizes that NumPy accepts.

    The programs have first plans alone, for checks that read graphs.
    """
    jitted = anyshape.jit(in_namespace(row, anp), optimize="off")
    for sizes in choices:
        xs = arrays_of(row, sizes, dtype)
        if not is_error(outcome(jitted, *xs)):
            yield xs, next(p for p in jitted.programs() if p.accepts(*xs))


@cache  # a hundred megabytes for all rows
def first_program(row):
    """Return the program of a row at the first sizes that NumPy accepts, None if there are none."""
    return next((program for _, program in programs_at(row, row.dtypes[0], few_combinations(row))), None)


def combinations(row, limit=LIMIT):
    """Sizes for the names of a row: all of SIZES together, then mixed, not more than `limit` in all."""
    names = row.names()
    values = [s for s in SIZES if s >= row.smallest]
    if not names:
        return [{}]
    every = list(itertools.product(values, repeat=len(names)))
    equal = [p for p in every if len(set(p)) == 1]
    mixed = [p for p in every if len(set(p)) > 1]
    np.random.default_rng(len(names)).shuffle(mixed)
    chosen = equal + [tuple(map(int, p)) for p in mixed]
    return [dict(zip(names, p, strict=True)) for p in chosen[: max(limit, len(equal))]]


def few_combinations(row):
    """Five combinations that hold an empty axis, an axis of one, different sizes, and equal ones."""
    names = row.names()
    wanted = [(5, 2, 3, 4), (1, 5, 1, 5), (5, 1, 2, 1), (2, 2, 2, 2), (0, 2, 3, 1)]
    if not names:
        return [{}]
    candidates = [dict(zip(names, itertools.cycle(w))) for w in wanted]
    allowed = [f for f in candidates if min(f.values()) >= row.smallest]
    return allowed or [dict.fromkeys(names, row.smallest)]


def seed_of(row, sizes):
    return sum(ord(c) for c in row.name) + 17 * sum((i + 1) * s for i, s in enumerate(sizes.values()))


def arrays_of(row, sizes, dtype):
    """The arrays of a row; the same in every test."""
    return [np.asarray(x) for x in row.arrays(sizes, dtype, seed_of(row, sizes))]


def leaves(result):
    """The results as a flat list of arrays."""
    return [np.asarray(x) for x in optree.tree_leaves(result)]


def outcome(function, *args):
    """Return the leaves of a call's result, or the error it raises."""
    try:
        return leaves(function(*args))
    except ERRORS as error:
        return error


def is_error(result):
    return isinstance(result, Exception)


def error_kind(error):
    """The built-in class of an error: what a caller would catch."""
    return next(kind for kind in ERRORS if isinstance(error, kind))


def tolerance_of(dtype, base):
    """Relative tolerance for a result of this dtype."""
    half = np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1)
    return max(base, {2: 5e-3, 4: 2e-5}.get(half, base)) if np.dtype(dtype).kind in "fc" else 0


def check_equal(got, expected, tolerance, note):
    """Same number of results; same dtype, shape and values to rounding."""
    assert len(got) == len(expected), f"{note}: {len(got)} results, NumPy gives {len(expected)}"
    for i, (g, e) in enumerate(zip(got, expected, strict=True)):
        where = f"{note}, result {i}"
        assert g.dtype == e.dtype, f"{where}: dtype {g.dtype}, expected {e.dtype}"
        assert g.shape == e.shape, f"{where}: shape {g.shape}, expected {e.shape}"
        rtol = tolerance_of(e.dtype, tolerance)
        finite = np.abs(e[np.isfinite(e)]) if e.dtype.kind in "fc" else np.zeros(0)
        scale = max(1.0, float(finite.max(initial=0)))
        np.testing.assert_allclose(g, e, rtol=rtol, atol=rtol * scale, err_msg=where, equal_nan=True)


def check_same_outcome(got, expected, tolerance, note):
    """Equal results, or errors of the same built-in class."""
    if is_error(expected):
        assert is_error(got), f"{note}: NumPy raises {expected!r}, the program gives {got}"
        assert isinstance(got, error_kind(expected)), f"{note}: NumPy raises {expected!r}, the program {got!r}"
        return
    if is_error(got):
        raise AssertionError(f"{note}: NumPy gives a result, the program raises {got!r}") from got
    check_equal(got, expected, tolerance, note)


def inexact(x):
    return np.asarray(x).dtype.kind in "fc"


def split(row, example, namespace):
    """A row as `function(differentiable, rest) -> inexact results`, and `parts`, which splits arrays so."""
    flags, in_space = tuple(inexact(x) for x in example), in_namespace(row, namespace)

    def function(moving, rest):
        moving_left, rest_left = iter(moving), iter(rest)
        xs = [next(moving_left) if flag else next(rest_left) for flag in flags]
        results = optree.tree_leaves(in_space(*xs))
        return [y for y in results if getattr(y, "dtype", None) is not None and y.dtype.kind in "fc"]

    def parts(arrays):
        moving = [x for x, flag in zip(arrays, flags, strict=True) if flag]
        return moving, [x for x, flag in zip(arrays, flags, strict=True) if not flag]

    return SimpleNamespace(function=function, parts=parts, any=any(flags))


@lru_cache(maxsize=8)  # the tests of a case stand together: tests/laws/conftest.py
def programs_of(case):
    """The jitted function of a case, its JVP, its VJP and `both`, traced once for all tests that compare with them.

    The programs take `(*arrays)`, `(moving, rest, directions)`, `(moving, rest, weights)`, and both of these; `rest` is
    closed over, as a user would.
    """
    _, row, dtype = case
    f = split(row, arrays_of(row, few_combinations(row)[0], dtype), anp).function
    forward = lambda m, r, t: anyshape.jvp(lambda *xs: f(xs, r), tuple(m), tuple(t))
    back = lambda m, r, w: pull_back(f, m, r, w)
    both = lambda m, r, t, w: (*forward(m, r, t), back(m, r, w))
    programs = {"value": in_namespace(row, anp), "forward": forward, "back": back, "both": both}
    return SimpleNamespace(**{name: anyshape.jit(function) for name, function in programs.items()})


def pull_back(f, moving, rest, weights):
    """The gradients of the function of a split row along weights of its results."""
    _, back = anyshape.vjp(lambda *xs: f(xs, rest), *moving)
    return list(back(list(weights)))


def uneven(rng, x):
    """A direction of the shape and dtype of x whose entries differ: ones would hide wrong transpositions."""
    x = np.asarray(x)
    weights = rng.uniform(0.5, 1.5, x.shape) * rng.choice([-1, 1], x.shape)
    if x.dtype.kind == "c":
        weights = weights + 1j * rng.uniform(-1, 1, x.shape)
    return np.asarray(weights).astype(x.dtype)


def pairing(xs, ys):
    """The inner product (real part, no conjugation) that defines transposes, and the size of its terms."""
    products = [np.asarray(x, np.complex128) * np.asarray(y, np.complex128) for x, y in zip(xs, ys, strict=True)]
    total = sum(float(np.sum(p).real) for p in products)
    return total, sum(float(np.sum(np.abs(p))) for p in products)


def moved(xs, ts, step):
    return [x + step * t for x, t in zip(xs, ts, strict=True)]


def finite_difference(function, xs, ts, step):
    """Central differences of the results along a direction."""
    up, down = leaves(function(moved(xs, ts, step))), leaves(function(moved(xs, ts, -step)))
    return [(u - d) / (2 * step) for u, d in zip(up, down, strict=True)]


def complex_step(function, xs, ts, estimate):
    """The derivative exact to rounding where the function takes complex input and is analytic; else None.

    A result that disagrees with the estimate from differences tells that the function is not analytic.
    """
    if any(np.asarray(x).dtype != np.float64 for x in xs):
        return None
    try:
        values = leaves(function([x + 1e-30j * t for x, t in zip(xs, ts, strict=True)]))
    except Exception:  # whatever NumPy says to complex numbers, it means: no complex step
        return None
    if len(values) != len(estimate) or any(v.dtype != np.complex128 for v in values):
        return None
    derivatives = [v.imag / 1e-30 for v in values]
    agree = all(
        s.shape == e.shape and np.allclose(s, e, 1e-4, 1e-4) for s, e in zip(derivatives, estimate, strict=True)
    )
    return derivatives if agree else None
