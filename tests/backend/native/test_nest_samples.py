"""Samples in the body of a loop: as machine code it gives what NumPy's steps give, for values and derivatives.

The operands of a sample are carries, rows, or captured arrays. All nests of a chunk of samples are built together.
"""

import ctypes
import re
import warnings
import zlib

import numpy as np
import optree
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.native import nests, toolchain
from anyshape.errors.categories import FixedSizeWarning
from anyshape.support.packages import native_nests
from tests.backend.native.compiled import needs_compiler
from tests.laws.sweep import (
    arrays_of,
    cases,
    check_same_outcome,
    few_combinations,
    in_gate,
    in_namespace,
    inexact,
    label,
)

pytestmark = needs_compiler
CHUNK = 40
GATE = 160
ROUNDING = {"float32": 1e-5, "complex64": 1e-5, "float16": 1e-2}  # of results in double precision, too
WAYS = ("carries", "rows", "captured")
FACTORS = np.array([1.0, 0.9, 0.95])
MEASURED = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")  # numbers in warnings of SciPy: errors that rounding makes


def moved(x, factor):
    """Return an operand at another iteration: numbers with a derivative move."""
    return (x * factor).astype(x.dtype) if inexact(x) else x


def weighted(y):
    """Return a number that a result gives, so that results of any size join a carry."""
    y = anp.real(y) if y.dtype.kind == "c" else y
    return anp.sum(y * 0.5, dtype=float) if y.dtype.kind in "fbiu" else 0.0


def looped(case, way):
    """Return a function of arrays that runs a sample in each iteration of a loop."""
    function = in_namespace(case[1], anp)

    def step(total, xs):
        ys = [anp.asarray(y) for y in optree.tree_leaves(function(*xs))]
        return sum([weighted(y) for y in ys], total), {}

    def run(*xs):
        xs = [anp.asarray(x) for x in xs]
        if way == "rows":
            return anyshape.scan(step, 0.5, [anp.stack([moved(x, k) for k in FACTORS]) for x in xs])[0]
        if way == "captured":
            moving = lambda total, k: step(total, [moved(x, k + 0 * total) for x in xs])
            return anyshape.scan(moving, 0.5, FACTORS)[0]
        body = lambda c, k: ((step(c[0], c[1])[0], [moved(x, k) for x in c[1]]), None)
        return anyshape.scan(body, (0.5, xs), FACTORS)[0]

    return run


def functions_of(case, xs):
    """Yield names and functions of arrays: the value of the loop, and its derivatives."""
    way = WAYS[zlib.crc32(label(case).encode()) % len(WAYS)]
    run = looped(case, way)
    yield f"{way}, value", run
    moving = [k for k, x in enumerate(xs) if x.dtype.kind == "f"]
    if case[1].grad is not True or not moving:
        return

    def number(*xs):
        return sum([weighted(anp.asarray(y)) for y in optree.tree_leaves(run(*xs)) if inexact(y)], 0.0)

    yield f"{way}, vjp", anyshape.grad(number, argnums=tuple(moving))

    def forward(*xs):
        ts = [np.cos(np.arange(x.size)).reshape(x.shape).astype(x.dtype) for x in xs]
        inner = lambda *ms: number(*[ms[moving.index(k)] if k in moving else x for k, x in enumerate(xs)])
        return anyshape.jvp(inner, tuple([xs[k] for k in moving]), tuple([ts[k] for k in moving]))

    yield f"{way}, jvp", forward


def outcome(function, xs):
    """Return the leaves of a result, or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = [np.asarray(y) for y in optree.tree_leaves(function(*xs))]
        except Exception as error:
            result = error
    texts = {str(w.message) for w in caught if not issubclass(w.category, FixedSizeWarning)}
    return result, sorted({MEASURED.sub("...", text) for text in texts})


class Waiting:
    """Build that is not over until `build_together`."""

    outcome = None

    def __init__(self, text):
        self.text = text

    def poll(self, **options):
        return False


def build_together(waiting):
    """Build all nests as one library, and put them in place."""
    texts = [nest.text.text.replace("@name@", f"nest{k}") for k, nest in enumerate(waiting)]
    if texts:
        library = ctypes.CDLL(str(toolchain.build("\n".join([nests._header(), nests.with_shared_loops(texts)]))))
        for k, nest in enumerate(waiting):
            nest.install(library, f"nest{k}")


@pytest.fixture
def made(monkeypatch):
    """List the nests that are made, which wait for a build of all."""
    nests_made = []

    def nest_of(op, params, *types):
        nests_made.append(nests.Nest(op, dict(params), *types))
        return nests_made[-1]

    monkeypatch.setattr(toolchain, "FLAGS", ("-O1", *toolchain.FLAGS[1:]))
    monkeypatch.setattr(nests, "Build", Waiting)
    monkeypatch.setattr(native_nests, "nest_of", nest_of)
    return nests_made


def differences(tolerance, program, inputs, by_numpy):
    """Yield how results of a program differ from the ones before its nests were in place."""
    for xs, (expected, warned) in zip(inputs, by_numpy, strict=True):
        result, also = outcome(program, xs)
        try:
            check_same_outcome(result, expected, tolerance, f"at {[x.shape for x in xs]}")
            assert also == warned, f"warnings {also} in place of {warned}"
        except AssertionError as error:
            yield str(error)


def compare(select, made):
    """Yield how programs of these cases differ from their results before nests were in place."""
    programs = []
    for case in select:
        inputs = [arrays_of(case[1], sizes, case[2]) for sizes in few_combinations(case[1])]
        for kind, function in functions_of(case, inputs[0]):
            program = anyshape.jit(function, compile="background")
            before = [outcome(program, xs) for xs in inputs]
            programs.append((f"{label(case)}, {kind}", ROUNDING.get(case[2], 1e-9), program, inputs, before))
    build_together([nest for nest in made if nest.is_waiting])
    for name, *rest in programs:
        yield from (f"{name}, {difference}" for difference in differences(*rest))
    yield from (nest.state for nest in made if "could not be written" in nest.state)


def chunks():
    """Lists of cases: the ones in the gate, then the others, which are slow."""
    gate = [case for case in cases() if in_gate("nests", case, GATE)]
    rest = [case for case in cases() if not in_gate("nests", case, GATE)]
    for select, marks in ((gate, ()), (rest, pytest.mark.slow)):
        for first in range(0, len(select), CHUNK):
            yield pytest.param(select[first : first + CHUNK], marks=marks, id=label(select[first]))


@pytest.mark.slow
@pytest.mark.parametrize("select", [*chunks()])
def test_samples_in_loops_give_what_numpy_gives(select, made):
    assert not list(compare(select, made))
    by_numpy = [nest.state for nest in made if nest.function is None]
    assert len(by_numpy) <= len(made) // 10, by_numpy
