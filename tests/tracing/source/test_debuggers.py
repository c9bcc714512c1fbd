"""Debuggers of Python step through the lines of a function that is traced, as if it ran."""

import bdb
import io
import linecache
import pdb
import sys

import numpy as np
import pytest

import anyshape
from anyshape.errors import FixedSizeWarning

MODEL = """\
import numpy as np


def half(x):
    y = np.zeros(x.shape)
    for i in range(len(x)):
        y[i] = x[i] / 2
    return y


def average(rate, xs):
    state, states = 0.0, []
    for x in xs:
        state = state + rate * (x - state)
        if state > 2.0:
            state = state * 0.5
        states.append(state)
    z = half(xs)
    return np.array(states) + z


def outer(rate, xs):
    total = 0.0
    for k in range(len(xs)):
        total = total + average(rate, xs)[k]
    return total


result = run(average)(0.5, np.array([1.0, 6.0, 4.0]))
other = run(outer)(0.5, np.array([1.0, 6.0, 4.0]))
"""


class _Lines(pdb.Pdb):
    """Debugger that notes where it stops."""

    def __init__(self, commands):
        self.stops, self.printed = [], io.StringIO()
        super().__init__(
            stdin=io.StringIO("\n".join([*commands, ""])), stdout=self.printed, nosigint=True, readrc=False
        )

    def do_EOF(self, arg):
        """Let the program run to its end."""
        self.clear_all_breaks()
        return self.do_continue("")

    def interaction(self, frame, *rest):
        if frame is not None:
            self.stops.append((frame.f_code.co_filename, frame.f_lineno))
        super().interaction(frame, *rest)


def _debugged(tmp_path, commands, run, text=MODEL):
    """Return the lines at which a debugger stops, what it prints, and what the module computes."""
    file = tmp_path / "stepped_model.py"
    file.write_text(text)
    linecache.checkcache(str(file))
    space = {"__name__": "stepped_model", "__file__": str(file), "run": run}
    bdb.Breakpoint.clearBreakpoints()
    debugger, before = _Lines([c.replace("MODEL", str(file)) for c in commands]), sys.gettrace()
    try:
        debugger.run(compile(text, str(file), "exec"), space)
    finally:
        sys.settrace(before)
    assert {name for name, _ in debugger.stops} == {str(file)}  # never in the library
    return [line for _, line in debugger.stops], debugger.printed.getvalue(), space


COMMANDS = {
    "next in a loop": ["b MODEL:12", "c", *["n"] * 14],
    "next to the end": ["b MODEL:18", "c", "n", "n", "n", "n"],
    "step into a function": ["b MODEL:18", "c", *["s"] * 8, "return", "n", "n", "n"],
    "until": ["b MODEL:13", "c", "cl 1", *["until"] * 4, "until 19", "n"],
    "return": ["b MODEL:14", "c", "cl 1", "return", "n"],
    "breakpoint in a loop": ["b MODEL:17", "c", "c", "c", "cl 1", "n", "n"],
    "step at the end": ["b MODEL:19", "c", "s", "s"],
}


@pytest.mark.filterwarnings("ignore::anyshape.errors.FixedSizeWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_debuggers_stop_where_they_would_without_a_trace(tmp_path, name):
    plain, _, expected = _debugged(tmp_path, COMMANDS[name], lambda f: f)
    traced, _, space = _debugged(tmp_path, COMMANDS[name], anyshape.jit)
    assert traced == plain
    np.testing.assert_array_equal(space["result"], expected["result"])


@pytest.mark.filterwarnings("ignore::anyshape.errors.FixedSizeWarning")
def test_debuggers_stop_in_functions_that_loops_call(tmp_path):
    text = MODEL.replace("result =", "# result =")
    commands = ["b MODEL:14", *["c"] * 20]
    plain, _, expected = _debugged(tmp_path, commands, lambda f: f, text)
    traced, _, space = _debugged(tmp_path, commands, anyshape.jit, text)
    assert traced[:9] == plain[:9]
    np.testing.assert_allclose(space["other"], expected["other"])


@pytest.mark.filterwarnings("ignore::anyshape.errors.FixedSizeWarning")
def test_names_at_the_prompt_are_those_of_the_function(tmp_path):
    _, printed, _ = _debugged(tmp_path, ["b MODEL:17", "c", "p state", "p len(states), z", "p x"], anyshape.jit)
    assert "made by state + rate * (x - state) at stepped_model.py:14" in printed
    assert "NameError: name 'z' is not defined" in printed or "UnboundLocalError" in printed


@pytest.mark.filterwarnings("ignore::anyshape.errors.FixedSizeWarning")
def test_breakpoint_stops_in_each_iteration(tmp_path):
    text = MODEL.replace("        states.append(state)\n", "        states.append(state); breakpoint()\n")
    hook, stops = sys.breakpointhook, []
    sys.breakpointhook = lambda: stops.append(sys._getframe(1).f_lineno)
    try:
        _, _, space = _debugged(tmp_path, ["c"], anyshape.jit, text)
    finally:
        sys.breakpointhook = hook
    assert stops[:3] == [17, 17, 17]
    np.testing.assert_allclose(space["result"], [1.0, 1.625 + 3.0, 2.8125 / 2 + 2.0])


def test_explain_says_that_a_debugger_may_stop(tmp_path):
    functions = []

    def run(function):
        functions.append(anyshape.jit(function))
        return functions[-1]

    with pytest.warns(FixedSizeWarning):
        _debugged(tmp_path, ["b MODEL:14", "c", "cl 1"], run)
    assert "a debugger may stop in it" in str(functions[0].explain())


@pytest.mark.filterwarnings("ignore::anyshape.errors.FixedSizeWarning")
def test_a_debugger_that_the_function_calls_comes_back_to_the_caller(tmp_path):
    file = tmp_path / "own_breakpoint.py"
    file.write_text(
        "def g(x):\n    x = x + 1\n    breakpoint()\n    y = x * 2\n    return y\n\n\nz = jit(g)(1.0)\nend = z + 1\n"
    )
    hook, before = sys.breakpointhook, sys.gettrace()
    debugger = _Lines([*["n"] * (3 + (sys.version_info >= (3, 13))), "p z"])  # 3.13 stops at the call itself
    sys.breakpointhook = lambda: debugger.set_trace(sys._getframe(1))
    try:
        exec(compile(file.read_text(), str(file), "exec"), {"jit": anyshape.jit, "__name__": "own_breakpoint"})
    finally:
        sys.breakpointhook = hook
        sys.settrace(before)
    assert [line for _, line in debugger.stops][-3:] == [5, 5, 9]
    assert "4.0" in debugger.printed.getvalue()
