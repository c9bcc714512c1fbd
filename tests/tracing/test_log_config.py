"""Loggers: what each says, that they are off by default, and that ANYSHAPE_LOGS turns them on."""

import importlib
import logging
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import anyshape
from anyshape import STATIC, ShapeDtypeStruct, grad, jit
from anyshape.tracing import log_config

PROGRAM = """
import numpy as np, anyshape

def f(x):
    return x * 2 if x.shape[0] > 4 else x

run = anyshape.jit(f)
for n in (7, 3, 2):
    run(np.ones(n))
"""


def run(names, program=PROGRAM, **more):
    """Return the standard error of a process with this value of the variable; None: not set."""
    environment = {k: v for k, v in os.environ.items() if k != "ANYSHAPE_LOGS"} | more
    if names is not None:
        environment["ANYSHAPE_LOGS"] = names
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=60)
    return done.stderr.splitlines()


def loggers(lines):
    return {line.partition(":")[0] for line in lines if line.startswith("anyshape.")}


def test_the_variable_turns_loggers_on():
    everything = run("all")
    assert loggers(everything) == {f"anyshape.{name}" for name in log_config.NAMES} - {"anyshape.progress"}
    some = run("guards, run")
    assert loggers(some) == {"anyshape.guards", "anyshape.run"}
    assert [line for line in some if "guards" in line] == [
        "anyshape.guards: guard x_0 > 4: python: decided x_0 > 4 is True  # <string>:5",
        "anyshape.guards: guard not (x_0 > 4): python: decided x_0 > 4 is False  # <string>:5",
    ]
    calls = [re.sub(r"[\d.]+ us", "T", line) for line in some if "run" in line]
    assert calls == [f"anyshape.run: f: x ({n},) in T" for n in (7, 3, 2)]


def test_nothing_is_said_and_nothing_installed_without_it():
    program = PROGRAM + "import logging; print(logging.getLogger('anyshape').handlers, logging.getLogger().handlers)"
    command = [sys.executable, "-c", program]
    environment = {k: v for k, v in os.environ.items() if k != "ANYSHAPE_LOGS"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=60)
    assert (done.stdout, done.stderr) == ("[] []\n", "")


def test_unknown_names_are_told_with_the_known_ones():
    lines = run("gaurds,run")
    (warning,) = [line for line in lines if "gaurds" in line and "SettingWarning" in line]
    assert "trace, guards, shapes, passes, plan, run, progress, all" in warning
    assert loggers(lines) == {"anyshape.run"}


def test_nothing_is_said_twice():
    """Neither after a second import, nor to the user's own handler and to standard error."""
    again = PROGRAM.replace(
        "def f", "import importlib, anyshape.tracing.log_config\nimportlib.reload(anyshape.tracing.log_config)\ndef f"
    )
    assert len([line for line in run("guards", again) if "decided" in line]) == 2
    configured = "import logging\nlogging.basicConfig(level=logging.DEBUG)\n" + PROGRAM
    lines = [line for line in run("guards", configured) if "decided" in line]
    assert len(lines) == 2 and all(line.startswith("DEBUG:anyshape.guards:") for line in lines)
    whole = run("guards", configured)
    assert {line.split(":")[1] for line in whole if line.startswith("DEBUG:anyshape")} == {
        "anyshape.guards", "anyshape.trace"
    }  # fmt: skip
    strict = "import logging\nlogging.basicConfig()\nlogging.getLogger().handlers[0].setLevel('ERROR')\n" + PROGRAM
    assert len([line for line in run("guards", strict) if "decided" in line]) == 2


def test_the_logger_of_the_package_has_one_handler_after_a_reload(monkeypatch):
    package, root = logging.getLogger("anyshape"), logging.getLogger("anyshape.plan")
    before, level = list(package.handlers), root.level
    monkeypatch.setenv("ANYSHAPE_LOGS", "plan")
    try:
        for _ in range(2):
            importlib.reload(log_config)
        assert len(package.handlers) == max(len(before), 1)
    finally:
        package.handlers[:] = before
        root.setLevel(level)


# -- what each says ----------------------------------------------------------------------------------------------


@pytest.fixture
def said(caplog):
    """Turn one logger on by the means of `logging`; gives what it said."""

    def listen(name):
        caplog.set_level(logging.DEBUG, f"anyshape.{name}")
        return lambda: [r.getMessage() for r in caplog.records if r.name == f"anyshape.{name}"]

    return listen


def halves(x):
    return x * 2 if x.shape[0] > 4 else x


def test_trace_says_what_for_and_how_long(said):
    lines = said("trace")
    made = jit(halves)
    made(np.ones(7))
    made(np.ones(3))
    made(np.ones(2))
    texts = [re.sub(r"[\d.]+ ms", "T", line) for line in lines()]
    assert texts[:4] == [
        "halves: program 1 is needed; there was no program yet",
        "halves(x: f64[x_0]): tracing",
        "halves: traced 3 nodes in T",
        "halves: program 1 took T",
    ]
    assert texts[4].startswith("halves: program 2 is needed; program 1: x.shape[0] > 4 (test_log_config.py:")
    assert texts[4].endswith("x.shape[0] = 7 when traced, 3 now") and len(texts) == 8


def test_trace_says_where_it_stopped(said):
    lines = said("trace")
    with pytest.raises(ValueError, match="mine"):
        jit(lambda x: fail(x + 1))(np.ones(3))
    assert "<lambda>: stopped by ValueError after 3 nodes" in lines()


def fail(x):
    raise ValueError("mine")


def test_guards_are_said_with_their_lines(said):
    lines = said("guards")
    jit(lambda x, w: x @ w, dynamic_shapes={"x": (STATIC, None)})(np.ones((2, 3)), np.ones(3))
    static, contracted = lines()
    assert static.startswith("guard x.shape[0] == 2: jit: x.shape[0] was declared STATIC  # test_log_config.py:")
    assert contracted.startswith("assertion x_1 == w_0: matmul: contracted axes")
    assert "# test_log_config.py:" in contracted


def test_shapes_are_said_of_every_op(said):
    lines = said("shapes")
    anyshape.trace(lambda x: np.tanh(x).sum(axis=0))(ShapeDtypeStruct("n, 3"))
    assert [re.sub(r"%\d+", "%", line).split("  #")[0] for line in lines()] == [
        "%: f64[n, 3] = tanh(%)",
        "%: f64[3] = reduce_sum(%) {axes=(0,)}",
    ]


def test_passes_say_what_they_changed(said):
    lines = said("passes")
    anyshape.trace(lambda x: x * 1 + (x * 1) * 0)(ShapeDtypeStruct("n"))
    assert [line.split(":")[1].strip() for line in lines()] == [
        "remove_dead_code", "prune_branches", "simplify", "remove_dead_code"
    ]  # fmt: skip
    before, after = re.search(r"(\d+) nodes, (\d+) after", lines()[2]).groups()
    assert int(after) < int(before) and "-" in lines()[2].split("after")[1]


def test_plan_is_said(said, monkeypatch):
    monkeypatch.setattr(anyshape.config, "optimize", "now")
    lines = said("plan")
    program = anyshape.trace(np.tanh)(ShapeDtypeStruct("n"))
    assert lines() == [str(program.plan)]


def test_run_says_sizes_of_programs_that_were_made_while_it_was_on(said):
    silent = jit(halves)
    silent(np.ones(3))
    plain = silent.programs()[0].run
    lines = said("run")
    silent(np.ones(3))
    assert not lines() and not hasattr(plain, "__wrapped__")
    made = grad(lambda p: np.sum(p["w"] ** 2))
    np.testing.assert_array_equal(made({"w": np.ones(3)})["w"], [2, 2, 2])
    assert [re.sub(r"[\d.]+ us", "T", line) for line in lines()] == ["grad(<lambda>): p['w'] (3,) in T"]
    assert made.programs()[0].run.__source__.startswith("def run(")


def test_no_text_is_made_when_off():
    """No logger is given a record, which is where arguments would become text."""
    assert not any(logging.getLogger(f"anyshape.{name}").isEnabledFor(logging.DEBUG) for name in log_config.NAMES)

    class Loud(logging.Filter):
        def filter(self, record):
            raise AssertionError(record)

    loud = Loud()
    for name in log_config.NAMES:
        logging.getLogger(f"anyshape.{name}").addFilter(loud)
    try:
        assert jit(halves)(np.ones(5)).tolist() == [2.0] * 5
    finally:
        for name in log_config.NAMES:
            logging.getLogger(f"anyshape.{name}").removeFilter(loud)
