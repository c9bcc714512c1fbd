"""Ctrl-C at any point of a first call leaves nothing behind: the next call works and gives the right numbers.

A signal is made pending at a chosen line event inside the library. Python raises KeyboardInterrupt where it would for a
real one: at the next call, loop or function entry. So it is raised between the lines of context managers too.
"""

import contextlib
import ctypes
import gc
import os
import random
import signal
import sys
import threading

import numpy as np
import pytest

import anyshape
from anyshape import Dim, grad, jit, vmap
from anyshape.graph.ir.builder import active_builders
from anyshape.support.fork_lock import _STATES
from anyshape.transforms import sharing

# Python drops an exception in a callback of its own
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
HOME = os.path.dirname(anyshape.__file__)


class Trigger(int):
    """Makes SIGINT pending at a read of `now`, without a call of Python after which it would be raised at once."""

    now = property(ctypes.pythonapi.PyErr_SetInterrupt)


class Interrupt:
    """Traces the lines of the library in a block, and interrupts at one: the n-th, or the n-th visit of a line."""

    def __init__(self, at=None):
        self.at, self.count, self.visits, self.trigger = at, 0, {}, Trigger()

    def __enter__(self):
        sys.settrace(self._enter)

    def __exit__(self, *error):
        sys.settrace(None)

    def _enter(self, frame, event, arg):
        return self._step if frame.f_code.co_filename.startswith(HOME) else None

    def _step(self, frame, event, arg):
        if event == "line":
            self.count += 1
            line = frame.f_code.co_filename, frame.f_lineno
            visit = self.visits[line] = self.visits.get(line, 0) + 1
            if self.at in (self.count, (line, visit)):
                sys.settrace(None)  # else the signal would be raised here, at the next event
                self.trigger.now
        return self._step


STREAM = np.random.default_rng(0)
BOX = frozenset([STREAM])  # where nothing can stand for it while a function is traced


def loss(x, w):
    BOX  # reached, so watched: a trace may not move its generator
    with np.errstate(all="ignore"):
        y = np.tanh(x @ w) if x.shape[0] > 1 else x @ w
    return (y * np.exp(-y)).sum() / x.shape[0]


def draws(x):
    (stream,) = BOX
    return x * stream.normal()


def windows(x, k):
    y = np.concatenate([x[:k], x[k:] * 2.0]).reshape(-1, 2)
    return (y[1:] - y[:-1]).sum(0)


def second_of_its_code():
    """Return the gradient of a closure whose program takes what it closes over: another one was called before."""
    of = lambda target: grad(lambda x: np.sum((x - target) ** 2))
    of(np.zeros(2))(np.ones(2))
    return of(np.ones(3))


X, W = np.linspace(0.0, 1.0, 12).reshape(4, 3), np.linspace(1.0, 2.0, 6).reshape(3, 2)
PROGRAMS = {
    "gradient": (lambda: grad(lambda x, w: loss(x, w), argnums=1), (X, W)),
    "declared": (lambda: jit(loss, dynamic_shapes={"x": ("2*n", "d"), "w": ("d", Dim("m", max=9))}), (X, W)),
    "sizes": (lambda: jit(windows, dynamic_shapes={"x": "2*n", "k": Dim("k", max=8)}), (np.arange(8.0), 3)),
    "optimised": (lambda: jit(vmap(grad(loss), (0, None)), optimize="now"), (np.stack([X, X]), W)),
    "captured": (second_of_its_code, (np.arange(3.0),)),
    "refused": (lambda: jit(draws), (X,)),
}
STATEFUL = {  # modules that change state which outlives a trace
    f"{name}.py"
    for name in (
        *("builder", "cache", "draws", "interruption", "jit", "lazy_dataclass", "planner", "program"),
        *("progress", "scope", "search_budget", "specialize", "state", "tiers", "trace"),
    )
}


@pytest.fixture(autouse=True)
def signals():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def state():
    """All that a first call might leave behind, in this thread and in global state."""
    np_random, py_random = np.random.get_state()[1].tobytes(), random.getstate()
    states = [read() for read, _ in _STATES]
    return *states, np_random, py_random, repr(STREAM.bit_generator.state), threading.active_count()


def outcome(function, args):
    try:
        return np.asarray(function(*args)).tolist()
    except anyshape.AnyshapeError as error:
        return type(error)


def is_free(function):
    """Tell whether another thread gets the lock of a function."""
    taken = []

    def take():
        taken.append(function._lock.acquire(timeout=5))
        function._lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return taken == [True]


def interrupted_call(make, args, at):
    """Make the function and call it with an interrupt; return the function, and whether it was raised."""
    sharing.forget()  # a function of the same code would serve it
    function, raised = make(), False
    try:
        with contextlib.suppress(anyshape.AnyshapeError), Interrupt(at):
            function(*args)
        for _ in range(9):  # a signal that is pending still
            str(function)
    except KeyboardInterrupt:
        raised = True
    return function, raised


def survey(name):
    """Return the expected outcome, and how often a first call runs each line of the library."""
    make, args = PROGRAMS[name]
    expected = outcome(make(), args)
    interrupt = Interrupt()
    sharing.forget()
    with contextlib.suppress(anyshape.AnyshapeError), interrupt:
        make()(*args)
    return expected, interrupt


def check(name, expected, at):
    make, args = PROGRAMS[name]
    before = state()
    function, raised = interrupted_call(make, args, at)
    assert state() == before, at
    info = function.cache_info()
    assert info.entries == len(function.programs()) <= 1, at
    assert outcome(function, args) == expected == outcome(function, args), at
    assert state() == before, at
    if name != "refused":
        assert len({p.name for p in function.programs()}) == 1 and function.cache_info().entries == 1, at
    return function, raised


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_anywhere_leaves_nothing_behind(name):
    expected, interrupt = survey(name)
    points = random.Random(name).sample(range(1, interrupt.count), 15)
    raised = [check(name, expected, at)[1] for at in points]
    assert sum(raised) > 4  # one that comes in a callback of the interpreter is not raised


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_interrupt_at_each_line_that_changes_state_leaves_nothing_behind(name):
    expected, interrupt = survey(name)
    lines = [line for line in interrupt.visits if os.path.basename(line[0]) in STATEFUL]
    for line in lines:
        for visit in {1, interrupt.visits[line]}:
            function, _ = check(name, expected, (line, visit))
            assert is_free(function), line


def test_no_lock_is_held_after_an_interrupt_in_its_first_lines():
    """`with lock` takes the lock in C: the signal comes before it, or inside of the block."""
    expected, _ = survey("gradient")
    start = jit(loss)._entry_for.__func__.__code__
    for line in range(start.co_firstlineno + 1, start.co_firstlineno + 12):
        function, _ = check("gradient", expected, ((start.co_filename, line), 1))
        assert is_free(function), line


def test_a_block_that_ends_late_takes_nothing_from_another_trace():
    """A traceback may keep a context manager alive beyond Ctrl-C; it then ends while another function is traced."""
    expected, interrupt = survey("gradient")
    (line,) = [line for line in interrupt.visits if _source(line).strip() == "_STACK.builders.append(builder)"][:1]
    make, args = PROGRAMS["gradient"]
    sharing.forget()
    errors = []
    try:
        with Interrupt((line, 1)):
            make()(*args)
    except KeyboardInterrupt as error:
        errors.append(error)
    assert errors and not active_builders()

    def f(x, w):
        errors.clear()
        gc.collect()
        return loss(x, w)

    assert outcome(grad(f, argnums=1), args) == expected


def _source(line):
    with open(line[0]) as file:
        return file.read().split("\n")[line[1] - 1]
