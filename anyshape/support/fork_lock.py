"""Fork-safe locks: reinitialised in the child process, where the owning thread does not exist."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any

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


_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
