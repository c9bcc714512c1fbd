"""Profiles of compiled loops: the time of each line of the user, by a build of its own that is sampled."""

import io
import threading

import numpy as np
import pytest

import anyshape
from anyshape import grad, profile
from anyshape.backend.native import nest_profile
from tests.backend.native.compiled import compiled, needs_compiler

pytestmark = needs_compiler


def of(function, *args, **options):
    """The profile, printed nowhere."""
    return profile(function, file=io.StringIO(), **options)(*args)


def uneven(x):
    """One line that takes nearly all of the time, between others."""
    total = 0.0
    for i in range(x.shape[0]):
        total = total * 0.5
        total = total + np.sum(np.sin(np.sin(np.sin(x + total)))) / 1000
        total = total - x[i]
    return total


def counting(x):
    """A loop that data ends."""
    total = x[0]
    while total < 1e5:
        total = total + 1.5
    return total


def line(function, number):
    return function.__code__.co_firstlineno + number


def loops(result, name):
    return [row for row in result.rows if row.name == name]


def test_lines_of_a_compiled_loop_have_their_time():
    function, x = compiled(uneven), np.linspace(0.0, 1.0, 500)
    result = of(function, x)
    (loop,) = loops(result, "scan")
    assert loop.compiled and loop.trips == 500
    by_line = {row.where.line: row.seconds for row in loop.steps}
    assert by_line[line(uneven, 5)] > 0.7 * loop.seconds
    assert sum(by_line.values()) == pytest.approx(loop.seconds)
    assert sum(row.share for row in loop.steps) == pytest.approx(loop.share)
    text = str(result)
    assert "scan, compiled (500 trips)" in text and "  total = total + np.sum(np.sin(np.sin(" in text
    assert "scan, compiled (500 trips)" in result.html() and result.to_dict()["rows"][0]["compiled"] in (True, False)
    assert result.value == pytest.approx(uneven(x), rel=1e-12)


@pytest.mark.slow
def test_gradients_have_lines_too():
    result = of(compiled(grad(uneven)), np.linspace(0.0, 1.0, 500))
    forward, backward = loops(result, "scan")
    for loop in (forward, backward):
        seconds = {row.where.line: row.seconds for row in loop.steps}
        assert loop.compiled and max(seconds, key=seconds.get) == line(uneven, 5)


def test_a_loop_that_data_ends_says_that_it_is_compiled():
    (loop,) = loops(of(compiled(counting), np.ones(1)), "while")
    assert (
        loop.compiled
        and not loop.trips
        and {row.where.line for row in loop.steps} <= {line(counting, n) for n in (3, 4)}
    )


def test_loops_that_numpy_runs_have_their_steps():
    (loop,) = loops(of(anyshape.jit(uneven, compile="off"), np.ones(5)), "scan")
    assert not loop.compiled and {"sin", "reduce_sum"} <= {row.name for row in loop.steps}
    (loop,) = loops(of(uneven, np.ones(5)), "scan")  # too short for a build
    assert not loop.compiled and loop.trips == 5


def test_a_loop_that_calls_would_build_is_built_before_they_are_timed():
    function = anyshape.jit(uneven)
    (loop,) = loops(of(function, np.linspace(0.0, 1.0, 2000), repeat=2), "scan")
    assert loop.compiled
    assert [s for p in function.programs() for s in p.planner.nests.states()] == ["compiled"]


def test_the_build_that_serves_calls_stays_as_it_was():
    function, x = compiled(uneven), np.linspace(0.0, 1.0, 50)
    value, (program,) = function(x), function.programs()
    nest, before = program.planner.nests.sites[0].nest(), threading.enumerate()
    serves = nest.function
    of(function, x, repeat=2)
    assert nest.function is serves and "AS_LINE" not in nest.text.text and len(program.planner.nests.states()) == 1
    assert function(x) == value and threading.enumerate() == before


def test_what_numpy_refuses_raises_its_error_at_the_line_and_ends_the_sampling():
    def reads(x):
        total = 0.0
        for i in range(x.shape[0]):
            total = total + x[i + 3]
        return total

    before = threading.enumerate()
    with pytest.raises(IndexError, match="out of bounds"):
        of(compiled(reads), np.ones(9))
    assert threading.enumerate() == before


def test_a_build_that_fails_leaves_the_loop_to_numpy(monkeypatch):
    monkeypatch.setattr(nest_profile, "_HEADER", "#define AS_LINE(n) this is no C;\n")
    result = of(compiled(uneven), np.linspace(0.0, 1.0, 20), repeat=2)
    (loop,) = loops(result, "scan")
    assert not loop.compiled and loop.trips == 20
