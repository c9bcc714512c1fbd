"""Control the garbage collector of Python."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

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
    enabled = gc.isenabled()
    try:
        gc.disable()
        yield
    finally:
        if not _FROZEN_BY_USER and gc.get_freeze_count() > 0:
            _FROZEN_BY_USER.append(True)
        if not _FROZEN_BY_USER:  # else they have to stay frozen
            gc.freeze()
            gc.unfreeze()  # both only link lists: the second moves all to the oldest generation
        if enabled:
            gc.enable()
