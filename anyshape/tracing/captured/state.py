"""Captured state of one function: one snapshot for all its programs, and what its own traces change.

The snapshot is from the end of the latest trace. So changes that a trace makes never cause another one. Changes from
outside do: they make a new version of the state, and programs of older versions are no longer used.
"""

from __future__ import annotations

import functools
import logging
import threading
import types
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from anyshape.tracing.captured.code_origin import Line, changing_line, naming_line
from anyshape.tracing.captured.containers import Roots, Unwatched, dict_of, of_class
from anyshape.tracing.captured.watch import Change, Watch, watch

_LOG = logging.getLogger("anyshape.trace")
_OFTEN = {"content": 3}  # changes of one thing, each traced again, after which a line says so
_OFTEN_OTHERWISE = 10
_SETTERS = {"setattr", "delattr", "__dict__", "vars", "globals", "exec", "__setattr__"}
_PERSISTENT = 3  # traces that change a container by code that is not seen, until the change counts as their own
_STATES: weakref.WeakSet[CapturedState] = weakref.WeakSet()


class CapturedState:
    """State that one function reads besides its arguments; `version` counts the changes from outside."""

    function: Any
    name: str

    def __init__(self, function: Callable[..., Any] | Roots, name: str) -> None:
        self.function, self.name = function, name
        self.version: int = 0
        self.watch: Watch | None = None
        self._interfered: list[Change] = []  # changes by other threads while the function was traced
        self._said: set[str] = set()
        self._often: Counter[str] = Counter()
        self._unexplained: Counter[str] = Counter()
        _STATES.add(self)

    def holds(self) -> bool:
        """Return True if all of it is as it was when the latest trace ended."""
        return self.watch is None or (not self._interfered and self.watch.is_unchanged())

    def test(self) -> Callable[[], bool] | None:
        """Return the fastest form of `holds`, for as long as no trace begins; None if nothing is watched."""
        if self.watch is None or self._interfered:
            return self.holds
        return self.watch.holds if self.watch.holders else None

    def changes(self) -> list[Change]:
        """Return what is not as it was."""
        return [*self._interfered, *([] if self.watch is None else self.watch.changes())]

    def labels(self) -> list[str]:
        """Return the paths of what is watched."""
        return [] if self.watch is None else self.watch.labels()

    def unwatched(self) -> Sequence[Unwatched]:
        """Return what the function reaches and changes unnoticed."""
        return () if self.watch is None else self.watch.unwatched

    def reaches(self, value: Any) -> bool:
        """Return True if the function can reach the object."""
        return self.watch is not None and id(value) in self.watch.ids

    def renew(self) -> None:
        """Begin a new version after changes from outside."""
        for change in self.changes():
            self._count(change)
        self.version += 1
        self.watch, self._interfered = None, []

    def take(self) -> Watch:
        """Return the snapshot; take one if there was none, or if changes from outside began a new version."""
        if self.watch is None:
            self.watch = watch(self.function)
            self._say_unwatched(self.watch)
        return self.watch

    @contextmanager
    def tracing(self) -> Iterator[Watch]:
        """Take the snapshot at the end of a trace, also of one that fails, and tell its changes from others.

        Yields a snapshot from before the trace.
        """
        before = self.watch if self.watch is not None and self.watch.is_unchanged() else watch(self.function)
        try:
            yield before
        finally:
            if before.is_unchanged():
                self.watch = before
            else:
                changes = before.changes()
                self.watch = watch(self.function)
                self._own(changes)
            self._say_unwatched(self.watch)

    # -- changes that a trace makes itself

    def _own(self, changes: Sequence[Change]) -> None:
        """Tell which changes the trace made itself: other states take them over, and one line names each."""
        lines = [changing_line(self._codes, _last_name(c)) for c in changes]
        alone = threading.active_count() == 1
        own, self._interfered = [], []
        for change, line in zip(changes, lines, strict=True):
            if alone or self._is_explained(change, line):
                own.append(change)
                self._say_own(change, line)
            else:
                self._interfered.append(change)
        for other in [s.watch for s in list(_STATES) if s is not self]:
            if other is not None:
                other.accept(own)

    @property
    def _codes(self) -> list[types.CodeType]:
        return [] if self.watch is None else self.watch.codes

    def _say_own(self, change: Change, line: Line | None) -> None:
        if isinstance(change.now, types.ModuleType):  # imported while the function was traced
            return
        at = _where(line or naming_line(self._codes, _last_name(change)) or _start(self._codes))
        text = "%s: %s changes while the function is traced%s, which happens once per trace, not once per call"
        advice = "return the new value, and pass it to the next call"
        self._say(change.label, f"{text}\n  {advice}", self.name, change.label, at)

    def _is_explained(self, change: Change, line: Line | None) -> bool:
        """Return True if code of the function made the change, and not another thread meanwhile."""
        named = change.holder.kind in ("variables", "attributes", "keys", "fields")
        setters = self.watch is not None and not _SETTERS.isdisjoint(self.watch.names)
        if line is not None or (named and (setters or self._is_cached_property(change))):
            return True
        if isinstance(change.now, types.ModuleType):
            return True
        self._unexplained[change.label] += 1
        return not named and self._unexplained[change.label] >= _PERSISTENT

    def _is_cached_property(self, change: Change) -> bool:
        """Return True for an attribute that a `cached_property` of the class sets at its first use."""
        things = [] if self.watch is None else self.watch.things
        owners = [type(x) for _, x in things if dict_of(x) is change.holder.owner]
        return any(isinstance(of_class(owner, change.name), functools.cached_property) for owner in owners)

    # -- lines in the log

    def _count(self, change: Change) -> None:
        """Say once that something changes between calls again and again."""
        self._often[change.label] += 1
        if self._often[change.label] >= _OFTEN.get(change.holder.kind, _OFTEN_OTHERWISE):
            at = _where(naming_line(self._codes, _last_name(change)) or _start(self._codes))
            text = "%s: %s%s changes between calls, and each change causes a new trace\n  pass it as an argument"
            self._say(f"{change.label} often", text, self.name, change.label, at)

    def _say_unwatched(self, now: Watch) -> None:
        if now.is_full:
            self._say("full", "%s: %s", self.name, next(u for u in now.unwatched if "not watched, as" in u.why))

    def _say(self, key: str, text: str, *values) -> None:
        if key not in self._said:
            self._said.add(key)
            _LOG.warning(text, *values)


def static_state(state: CapturedState, values: Mapping[str, Any]) -> CapturedState:
    """Return what a function and static arguments reach together; it says nothing that `state` of the function said."""
    function = state.function if isinstance(state.function, Roots) else {"": state.function}
    without = function.without if isinstance(function, Roots) else frozenset[tuple[int, str]]()
    static = CapturedState(Roots({**function, **values}, without), state.name)
    static._said = state._said
    return static


def _last_name(change: Change) -> str:
    """Return the name by which code refers to what has changed: `history` of `self.history[0]`."""
    if isinstance(change.name, str) and change.name:
        return change.name
    return change.label.partition("[")[0].rpartition(".")[2]


def _where(line: Line | None) -> str:
    return "" if line is None else f" at {line[0].co_filename}:{line[1]}"


def _start(codes: Sequence[types.CodeType]) -> Line | None:
    return (codes[0], codes[0].co_firstlineno) if codes else None
