"""Samples whose lines stand in another file than most steps of their programs, straight and through two more files.

Kernels of such lines are bound in another way: they are called through functions that stand at the line.
"""

from dataclasses import replace

import numpy as np

import anyshape
import anyshape.numpy as anp
from anyshape.backend.native.toolchain import compiler
from tests.laws.sweep import (
    arrays_of,
    check_equal,
    check_same_outcome,
    few_combinations,
    in_namespace,
    is_error,
    leaves,
    outcome,
    pull_back,
    rows,
    split,
    uneven,
)

MANY = 40  # steps, more than samples have
WAYS = {"straight": (MANY,), "through two files": (MANY, 0), "most steps in the middle": (0, MANY)}
MODES = ({}, {"optimize": "now"}, {"compile": "wait"})
LONG = (700, 250, 60, 30)  # sizes of one axis; short rows of 512 elements and more have kernels of their own
MOST = 2500  # elements of an argument
_TEXT = """
def step_into(function, z, *arguments):
{steps}    return z, function(*arguments)
"""


def _caller(file, steps):
    """Return a function that takes some steps and calls another function, in a file of its own."""
    scope = {"np": np}
    text = _TEXT.format(steps="    z = np.tanh(z)\n" * steps)
    exec(compile(text, f"/of_user/{file}.py", "exec"), scope)
    return scope["step_into"]


def in_files(row, way):
    """Return a sample whose function is called from functions in other files, which take most steps."""
    callers = [_caller(f"caller{i}", steps) for i, steps in enumerate(WAYS[way])]

    function_of_row = row.function

    def function(namespace, *xs):
        call = lambda *a: function_of_row(namespace, *a)
        for caller in reversed(callers):
            call = lambda *a, caller=caller, call=call: caller(call, np.sum(a[0]), *a)
        return call(*xs)

    return replace(row, function=function)


UNORDERED = ("unique_inverse",)  # NumPy's order of NaN in long arrays is that of its sort of the day


def long_sizes(row):
    """Yield sizes with one long axis beside axes of 3, and beside axes of 9."""
    for name in () if row.name in UNORDERED else row.names():
        for others in (3, 9):
            sizes = [dict.fromkeys(row.names(), others) | {name: long} for long in LONG]
            small = [s for s in sizes if all(np.prod(shape) <= MOST for shape in row.shapes_at(s))]
            yield from small[:1]


def calls(row, dtype):
    """Yield sizes with arguments in C order and, where that is another one, in Fortran's order."""
    for sizes in (*few_combinations(row)[:2], *long_sizes(row)):
        xs = arrays_of(row, sizes, dtype)
        yield sizes, xs
        if any(x.ndim > 1 for x in xs):
            yield sizes, [np.asarray(x, order="F") for x in xs]


def check_values(row, dtype, way, options):
    """Compare a sample in other files with NumPy."""
    moved = in_files(row, way)
    jitted = anyshape.jit(in_namespace(moved, anp), **options)
    for sizes, xs in calls(row, dtype):
        expected = outcome(lambda *a: moved.function(np, *a), *[x.copy("K") for x in xs])
        check_same_outcome(outcome(jitted, *xs), expected, row.tolerance, f"{row.name} {way} at {sizes}, {options}")


def check_slopes(row, dtype, way, options):
    """Compare the reverse mode of a sample in other files with that of the sample in one file."""
    moved, example = in_files(row, way), arrays_of(row, few_combinations(row)[0], dtype)
    both = [
        (f, anyshape.jit(lambda m, r, w, f=f.function: pull_back(f, m, r, w), **options))
        for f in (split(row, example, anp), split(moved, example, anp))
    ]
    (f, one), (g, other) = both
    for sizes, xs in calls(row, dtype):
        moving, rest = f.parts(xs)
        results = outcome(lambda *m, rest=rest: f.function(m, rest), *moving)
        if is_error(results) or not results or not moving:
            continue
        rng, extra = np.random.default_rng(3), [np.zeros_like(y) for y in leaves(g.function(moving, rest))]
        weights = [uneven(rng, y) for y in results]
        expected = leaves(one(moving, rest, weights))
        if not all(np.isfinite(x).all() for x in expected if x.dtype.kind in "fc"):
            continue  # parts of infinite sums
        got = other(moving, rest, [*extra[: len(extra) - len(weights)], *weights])
        check_equal(leaves(got), expected, row.tolerance, f"{row.name} {way} at {sizes}, {options}")


def user_files(rng):
    """Compare a sample whose lines stand in another file than most of its steps."""
    every = [row for _, row in rows() if row.shapes]
    row, way = every[rng.integers(len(every))], list(WAYS)[rng.integers(len(WAYS))]
    options = MODES[rng.integers(len(MODES) if compiler() else 2)]
    dtype = row.dtypes[rng.integers(len(row.dtypes))]
    if row.grad and dtype in ("float64", "complex128") and rng.integers(2):
        check_slopes(row, dtype, way, options)
        return "slopes"
    check_values(row, dtype, way, options)
    return "values"
