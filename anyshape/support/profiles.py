"""Profile of a trace that sees what the user's code calls. It stands aside where only this package runs.

A profile is called at each call and return: seen all through, a trace and its derivatives take twice their time.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from anyshape.support.fork_lock import is_thread_state


class _OfThread(threading.local):
    profile: Any = None


_CURRENT = _OfThread()
_ALONE = contextlib.nullcontext()


def _go_back(profile: Any) -> None:
    if _CURRENT.profile is not None and sys.getprofile() is _CURRENT.profile:
        sys.setprofile(profile)
    _CURRENT.profile = profile


is_thread_state(lambda: _CURRENT.profile, _go_back)


@contextlib.contextmanager
def seeing(profile: Any) -> Iterator[None]:
    """Call a profile within the block. Profilers of users come first."""
    if sys.getprofile() is not None:
        yield
        return
    around, _CURRENT.profile = _CURRENT.profile, profile
    try:
        with _profiled(profile):
            yield
    finally:
        _CURRENT.profile = around


def aside() -> contextlib.AbstractContextManager[None]:
    """Let the profile of `seeing` stand aside within the block, but for `resumed` code of the user."""
    return _ALONE if _CURRENT.profile is None else _profiled(None)


def resumed() -> contextlib.AbstractContextManager[None]:
    """Call the profile of `seeing` within the block, where it stands aside around it."""
    return _ALONE if _CURRENT.profile is None else _profiled(_CURRENT.profile)


@contextlib.contextmanager
def _profiled(profile: Any) -> Iterator[None]:
    before = sys.getprofile()
    if before is profile or before not in (None, _CURRENT.profile):
        yield
        return
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
