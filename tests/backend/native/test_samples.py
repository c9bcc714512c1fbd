"""Samples with compiled kernels against the same plans before that: values, both derivatives, and the second one.

Kernels run over several parts of the rows even of small arrays, so that partial results meet. All kernels of a chunk of
samples are built together: a compiler takes longer to start than to compile one.
"""

import zlib

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.native import launch
from tests.backend.native.compiled import built_together, needs_compiler
from tests.laws.sweep import (
    arrays_of,
    cases,
    check_same_outcome,
    few_combinations,
    in_gate,
    in_namespace,
    is_error,
    label,
    outcome,
    pull_back,
    split,
    uneven,
)

CHUNK = 40  # samples whose kernels are built together
GATE = 90  # one sample in so many is in the gate
EVERY = cases()
ROUNDING = 1e-9  # polynomials and sums in another order, through derivatives of ill-conditioned samples
SIZES = {"n": 37, "m": 11, "k": 3}


def functions_of(case):
    """Yield the functions of a case, as name and function of (arrays, directions, weights)."""
    _, row, dtype = case
    f, function = split(row, arrays_of(row, few_combinations(row)[0], dtype), anp), in_namespace(row, anp)
    yield "value", lambda xs, ts, ws: function(*xs)
    if row.grad is True and f.any:
        yield "jvp", lambda xs, ts, ws: forward(f, xs, ts)
        yield "vjp", lambda xs, ts, ws: pull_back(f.function, *f.parts(xs), ws)
        if row.order > 1:
            yield "jvp of vjp", lambda xs, ts, ws: second(f, xs, ts, ws)


def turns(case):
    """Yield the functions of a case in the gate: the value, and one derivative."""
    value, *derivatives = functions_of(case)
    yield value
    yield from derivatives[zlib.crc32(label(case).encode()) % max(len(derivatives), 1) :][:1]


def forward(f, xs, ts):
    moving, rest = f.parts(xs)
    return anyshape.jvp(lambda *m: f.function(m, rest), tuple(moving), tuple(ts))


def second(f, xs, ts, ws):
    moving, rest = f.parts(xs)
    return anyshape.jvp(lambda *m: pull_back(f.function, m, rest, ws), tuple(moving), tuple(ts))


def choices(row):
    """Sizes of a case: empty, one, small ones, and rows for several parts."""
    larger = {name: max(SIZES.get(name, 5), row.smallest) for name in row.names()}
    return [*few_combinations(row), *([larger] if larger else [])]


def operands(case):
    """Yield sizes, arrays, directions and weights of a case."""
    _, row, dtype = case
    for sizes in choices(row):
        xs = arrays_of(row, sizes, dtype)
        f = split(row, xs, np)
        moving, rest = f.parts(xs)
        results = outcome(f.function, moving, rest)
        if not is_error(results):
            rng = np.random.default_rng(1)
            yield sizes, xs, [uneven(rng, x) for x in moving], [uneven(rng, y) for y in results]


def compare(select, functions):
    """Yield how programs of these cases differ from their results before kernels were in place."""
    programs = []
    with built_together() as build:
        for case in select:
            inputs = list(operands(case))
            for kind, function in functions(case):
                ours = anyshape.jit(function, optimize="now", compile="background")
                # each pattern of broadcasts has a plan of its own
                by_numpy = [outcome(ours, *arrays) for _, *arrays in inputs]
                programs.append((case, kind, inputs, ours, by_numpy))
    states = build()
    yield from (f"{name}: {state}" for name, state in states if "differs" in state or "failed" in state)
    for case, kind, inputs, ours, by_numpy in programs:
        for (sizes, *arrays), expected in zip(inputs, by_numpy, strict=True):
            try:
                check_same_outcome(outcome(ours, *arrays), expected, ROUNDING, f"{kind} at {sizes}")
            except AssertionError as error:
                yield f"{label(case)}, {error}"


@pytest.fixture
def parts(monkeypatch):
    monkeypatch.setattr(launch, "PART_NANOSECONDS", 4.0)


def chunks():
    """Lists of cases: first the ones in the gate, then the others, which are slow."""
    gate = [case for case in EVERY if in_gate("kernels", case, GATE)]
    rest = [case for case in EVERY if not in_gate("kernels", case, GATE)]
    for select, functions, marks in ((gate, turns, ()), (rest, functions_of, pytest.mark.slow)):
        for first in range(0, len(select), CHUNK):
            yield pytest.param(select[first : first + CHUNK], functions, marks=marks, id=label(select[first]))


@needs_compiler
@pytest.mark.parametrize("select, functions", list(chunks()))
def test_compiled_samples_give_what_numpy_gives(select, functions, parts):
    assert not list(compare(select, functions))
