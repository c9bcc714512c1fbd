"""First calls that take long say so: in the log, and in one line of a terminal that is cleared at the end."""

import io
import logging
import os
import pty
import sys
import threading
import time

import numpy as np
import pytest

import anyshape
from anyshape.support import progress
from anyshape.support.progress import count_op, phase


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def attach(monkeypatch):
    """Make standard error a terminal, from the test itself: pytest sets its own as a test begins."""

    def attached():
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(progress, "FIRST", 0.0)
        monkeypatch.setattr(progress, "_REDRAW", 0.0)
        return stream

    return attached


def slow(x):
    for _ in range(3):
        x = np.sin(x)
        time.sleep(0.03)
    return x.sum()


def test_a_short_call_says_nothing(capfd, caplog):
    with caplog.at_level(logging.INFO, "anyshape.progress"):
        anyshape.grad(lambda x: (x * x).sum())(np.arange(3.0))
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_a_long_trace_is_in_the_log(caplog, monkeypatch, capfd):
    monkeypatch.setattr(progress, "FIRST", 0.02)
    with caplog.at_level(logging.INFO, "anyshape.progress"):
        anyshape.jit(slow)(np.arange(3.0))
    first = caplog.records[0]
    assert first.levelno == logging.INFO and first.name == "anyshape.progress"
    assert first.getMessage().startswith("tracing slow: 2 ops, 0.0 s")
    assert capfd.readouterr().err == ""  # no terminal


def test_planning_and_code_generation_are_shown(caplog, monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0.0)
    with caplog.at_level(logging.INFO, "anyshape.progress"):
        anyshape.jit(lambda x: np.sin(x).sum(), name="f", optimize="now")(np.arange(3.0))
    texts = "\n".join(r.getMessage() for r in caplog.records)
    assert all(f"{stage} f: " in texts for stage in ("tracing", "planning", "generating code of"))


def test_lines_of_the_log_become_rare(caplog, monkeypatch):
    monkeypatch.setattr(progress, "FIRST", 0.01)
    with caplog.at_level(logging.INFO, "anyshape.progress"), phase("tracing f"):
        end = time.perf_counter() + 0.2
        while time.perf_counter() < end:
            count_op()
    assert 2 <= len(caplog.records) <= 5


def test_one_line_of_a_terminal_is_updated_and_cleared(attach):
    terminal = attach()
    anyshape.jit(slow)(np.arange(3.0))
    assert "tracing slow: 1 ops" in terminal.getvalue() and "tracing slow: 3 ops" in terminal.getvalue()
    assert "\n" not in terminal.getvalue() and terminal.getvalue().endswith(progress._CLEAR)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_line_is_cleared_after_an_error(attach, error):
    terminal = attach()

    def fail(x):
        np.sin(x)
        raise error

    with pytest.raises(error):
        anyshape.jit(fail)(np.arange(3.0))
    assert "tracing fail" in terminal.getvalue() and terminal.getvalue().endswith(progress._CLEAR)
    assert progress._THREAD.phase is None


def test_other_threads_and_dumb_terminals_draw_nothing(attach, monkeypatch):
    terminal = attach()
    thread = threading.Thread(target=lambda: anyshape.jit(slow)(np.arange(3.0)))
    thread.start()
    thread.join()
    monkeypatch.setenv("TERM", "dumb")
    anyshape.jit(slow)(np.arange(3.0))
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [None, open(os.devnull, "w")])  # noqa: SIM115
def test_without_standard_error_nothing_fails(monkeypatch, stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "FIRST", 0.0)
    with phase("tracing f"):
        count_op()


def test_the_line_fits_the_terminal(attach, monkeypatch):
    terminal = attach()
    monkeypatch.setenv("COLUMNS", "30")
    with phase("tracing " + "f" * 99):
        count_op()
    assert max(len(line) for line in terminal.getvalue().split(progress._CLEAR)) == 29


def test_inner_phases_run_on_the_clock_of_the_outer_one():
    with phase("outer"):
        outer = progress._THREAD.phase
        with phase("inner"):
            assert progress._THREAD.phase.clock is outer.clock
        assert progress._THREAD.phase is outer
    assert progress._THREAD.phase is None
    count_op()


def test_a_real_terminal_is_one(monkeypatch):
    master, slave = pty.openpty()
    with open(slave, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(progress, "FIRST", 0.0)
        with phase("tracing f"):
            count_op()
        text = os.read(master, 1000).decode()
    os.close(master)
    assert "anyshape: tracing f: 1 ops" in text and text.endswith(progress._CLEAR)
