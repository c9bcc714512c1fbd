"""Fork-safe locks: reinitialised in the child process, where the owning thread does not exist.

Restore the state of a thread when Ctrl-C or an error ends a trace, a plan or the generation of code.

Python may raise KeyboardInterrupt at any call. That includes the lines of a context manager written in Python, after it
has changed something and before its block begins. So the state that such context managers change is restored once more,
by a `try` around them all.

Control the garbage collector of Python.

Setting by which the library verifies its own work, as tests ask for.
"""

import functools
import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:

    class _RLock:
        def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
        def release(self) -> None: ...
        def __enter__(self) -> bool: ...
        def __exit__(self, *error: Any) -> None: ...
        def _at_fork_reinit(self) -> None: ...

else:
    _RLock = type(threading.RLock())


class Lock(_RLock):
    """Reentrant lock that is free in a forked process.

    Its `__enter__` and `__exit__` are C's, so Ctrl-C cannot come between them and the block, and leave it held.
    """

    def __init__(self) -> None:
        _LOCKS.add(self)

    def renew(self) -> None:
        """Release the lock unless the current thread, the one that forked, holds it."""
        if self.acquire(blocking=False):
            self.release()
        else:
            self._at_fork_reinit()  # as the locks of the standard library do


IMPORTED_BY = os.getpid()  # a fork has another number
_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


F = TypeVar("F", bound=Callable[..., Any])

# Functions that read a state of the thread, and that set it. Modules of context managers add theirs.
_STATES: list[tuple[Callable[[], Any], Callable[[Any], object]]] = [
    (np.geterr, lambda modes: np.seterr(**modes)),
    (np.geterrcall, np.seterrcall),
    (gc.isenabled, lambda was_enabled: gc.enable() if was_enabled else None),  # another thread may pause it
]


def is_thread_state(read: Callable[[], Any], write: Callable[[Any], object]) -> None:
    """Register a state of the thread, by the functions that read and set it."""
    _STATES.append((read, write))


def restores_thread(function: F) -> F:
    """Decorate a function: where an error or Ctrl-C ends it, the states of the thread are as before the call."""

    @functools.wraps(function)
    def restoring(*args, **kwargs):
        before = [read() for read, _ in _STATES]
        try:
            return function(*args, **kwargs)
        except BaseException:
            for (_, write), state in zip(_STATES, before, strict=False):  # modules loaded meanwhile may add some
                write(state)
            raise

    return restoring  # type: ignore[return-value]


_FROZEN_BY_USER: list[bool] = []  # not empty once it was seen


@contextmanager
def collection_deferred() -> Iterator[None]:
    """Put off the collector while a graph or a plan is built.

    Almost all that is built lives on. To look for garbage in it, again and again, took a third of long traces.
    """
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the collector while modules are loaded, and put what they made into its oldest generation.

    Loaded modules stay: to look for garbage in them, again and again, took a fifth of the import time.
    A user who froze objects governs the collector: once such are seen, nothing is moved, as to count them takes long.
    """
    with collection_deferred():
        try:
            yield
        finally:
            if not _FROZEN_BY_USER and gc.get_freeze_count() > 0:
                _FROZEN_BY_USER.append(True)
            if not _FROZEN_BY_USER:  # else they have to stay frozen
                gc.freeze()
                gc.unfreeze()  # both only link lists: the second moves all to the oldest generation


def checks_enabled() -> bool:
    """Return whether ANYSHAPE_CHECK=1 asks for graphs to be verified after each pass, and metadata after each step.

    Errors of searches, which else leave their questions open, are raised then.
    """
    return os.environ.get("ANYSHAPE_CHECK", "") not in ("", "0")
