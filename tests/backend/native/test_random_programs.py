"""Random programs with compiled kernels: equal to their plans before that, and to the naive evaluator.

Blocks, strips and parts are so short that small sizes stand around their bounds. Layouts and threads take turns.
"""

import warnings

import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.interpreter import evaluate
from anyshape.backend.native import c_loops, c_source, launch
from tests.backend.compiler.codegen.test_tile_sweep import CANCELLING, LAYOUTS, SIZES, laid, small, total
from tests.backend.native.compiled import built_together, needs_compiler
from tests.laws.random_programs import NAMES, seeded_program
from tests.laws.sweep import check_equal, is_error, outcome

REFUSED = ("differs", "failed", "waiting", "error")  # in states of kernels that are wrong


@pytest.fixture(autouse=True)
def short_loops(monkeypatch):
    """Have blocks of six elements, strips of four for loops with two functions, and parts of few rows."""
    monkeypatch.setattr(c_source, "BLOCK", 6)
    monkeypatch.setattr(c_loops, "STRIP", 4)
    monkeypatch.setattr(c_loops, "MAX_INLINE", 1)
    monkeypatch.setattr(launch, "PART_NANOSECONDS", 4.0)
    monkeypatch.setattr(anyshape.config, "num_threads", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def function_of(program, smooth):
    """The program, or its gradient; None if it has none."""
    moving = tuple(i for i, (_, dtype) in enumerate(program.inputs) if dtype not in ("int64", "bool"))
    if not smooth:
        return program.within(anp)
    return anyshape.grad(total(program.within(anp)), argnums=moving) if moving else None


def inputs_of(program, seed):
    """Yield arrays at each size, in layouts that take turns."""
    for i, sizes in enumerate(SIZES):
        named = dict(zip(NAMES, sizes, strict=True))
        if small(program, named):
            layout = LAYOUTS[(i + seed) % len(LAYOUTS)]
            yield f"{named} {layout}", [laid(x, layout) for x in program.arrays(named, seed)]


def differences(seeds, smooth):
    """Return how many groups of programs were compiled, and how results differ."""
    runs, wrong = [], []
    with built_together() as build:
        for seed in seeds:
            program = seeded_program(seed, length=9, smooth=smooth)
            function = function_of(program, smooth)
            if function is not None:
                ours = anyshape.jit(function, optimize="now", compile="background")
                inputs = list(inputs_of(program, seed))
                runs.append((seed, program, ours, inputs, [outcome(ours, *arrays) for _, arrays in inputs]))
    states = [state for _, state in build()]
    wrong += [state for state in states if any(word in state for word in REFUSED)]
    for seed, program, ours, inputs, by_numpy in runs:
        anyshape.config.num_threads = 1 + seed % 4
        for (note, arrays), expected in zip(inputs, by_numpy, strict=True):
            try:
                check(ours, arrays, expected, f"seed {seed} at {note}\n{program}\n")
            except AssertionError as error:
                wrong.append(str(error))
    return states.count("compiled"), wrong


def check(ours, arrays, expected, note):
    """Assert that a compiled program gives what its plan gave before, and what the naive evaluator gives."""
    results = outcome(ours, *arrays)
    assert type(results) is type(expected), f"{note}: {expected!r:.300} and compiled {results!r:.300}"
    if not is_error(expected):
        low = any(x.dtype in ("float16", "float32", "complex64") for x in (*arrays, *expected))
        graph = next(p for p in ours.programs() if p.accepts(*arrays)).graph
        for other in (expected, evaluate(graph, arrays)):
            check_equal(results, other, 1e-5 if low else 1e-9, note)


@needs_compiler
@pytest.mark.parametrize("smooth", [False, True], ids=["values", "gradients"])
def test_random_programs(smooth):
    count, wrong = differences(range(2000, 2012), smooth)
    assert count > 5 and not wrong


@needs_compiler
def test_a_kernel_is_kept_where_results_are_nothing_but_rounding():
    """In both programs a value is centred, and then summed."""
    count, wrong = differences([1030, 1035], smooth=True)
    assert count and not wrong


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("smooth", [False, True], ids=["values", "gradients"])
@pytest.mark.parametrize("start", range(0, 1600, 40))
def test_many_random_programs(start, smooth):
    _, wrong = differences([seed for seed in range(start, start + 40) if seed not in CANCELLING], smooth)
    assert not wrong
