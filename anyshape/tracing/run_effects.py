"""Effects of a run of a function on what it reaches: generators that it draws from, counters, containers, arrays.

A function that is traced once for many rows may have none: Python would have run it for each row. Such effects are
undone, so that the function can run for each row after all.
"""

from __future__ import annotations

import collections
import types
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from anyshape.errors import FrozenDrawError, MutationError
from anyshape.graph.prover.user_stack import user_line
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.holders import UNBOUND, Holder, Roots
from anyshape.tracing.captured.watch import Watch, watch
from anyshape.tracing.draws import Stream, streams

_LARGE = 1 << 20  # bytes of an array that is compared without a copy


@contextmanager
def effects_undone(called: Any, name: str) -> Iterator[list[str]]:
    """Undo the effects of runs within the block, on what a function reaches or members of a tuple of it.

    Yields the paths of what these changed, after the block.
    """
    state = watch(Roots({"": called}) if has_type(called, tuple) else called)
    sources = streams((path, x) for path, x in state.things if not hasattr(x, "traced"))  # those draw when a run does
    before = [s.read() for s in sources]
    arrays = [_Content(path, x) for path, x in state.things if type(x) is np.ndarray and _may_change(x)]
    effects: list[str] = []
    try:
        yield effects
    finally:
        effects += _rewound(sources, before, name)
        effects += [content.path for content in arrays if content.undone(name)]
    if not state.is_unchanged():
        effects += _restored(state)


def _may_change(x: np.ndarray) -> bool:
    return x.flags.writeable and not x.dtype.hasobject


class _Content:
    """Elements of an array: a copy, or the checksum of a large array."""

    def __init__(self, path: str, array: np.ndarray) -> None:
        self.path, self.array = path, array
        self.copy = array.copy() if array.nbytes <= _LARGE else None
        self.before = self._now()

    def _now(self) -> Any:
        if self.copy is not None:
            return self.array.tobytes()
        whole = self.array if self.array.flags.c_contiguous else np.ascontiguousarray(self.array)
        return zlib.crc32(whole.view(np.uint8).data)

    def undone(self, name: str) -> bool:
        """Return whether the elements changed, and restore them; raise MutationError for a large array."""
        if self._now() == self.before:
            return False
        if self.copy is None:
            problem = f"{self.path} is a large array of NumPy, which the function changes"
            raise MutationError(name, problem, "return the new values", user_line())
        self.array[...] = self.copy
        return True


def _rewound(sources: Sequence[Stream], before: Sequence[Any], name: str) -> Iterator[str]:
    """Yield the labels of sources that moved, and rewind them; raise FrozenDrawError for one that cannot be."""
    for source, position in zip(sources, before, strict=True):
        if source.read() != position:
            source.restore(position)
            if source.read() != position:  # items that are taken are lost
                raise FrozenDrawError(name, source.label, is_random=source.is_random, where=user_line())
            yield source.label


def _restored(state: Watch) -> list[str]:
    """Return the paths of what has changed, and let it hold what it held."""
    changes = state.changes()
    holders = {id(change.holder) for change in changes}
    for holder, members in state.readings():
        if id(holder) in holders:
            _restore(holder, members)
    return [change.label for change in changes]


def _restore(holder: Holder, members: Sequence[Any]) -> None:
    """Let a holder have its members of before, where it is one of Python's own."""
    owner = holder.owner
    if has_type(owner, types.CellType):
        owner.cell_contents = members[0]
    elif holder.kind == "items":
        _refill(owner, members)
    elif has_type(owner, dict):
        _rename(owner, holder, members)


def _rename(owner: dict[Any, Any], holder: Holder, members: Sequence[Any]) -> None:
    """Let names of a namespace have their values of before, or the namespace its names."""
    if holder.kind == "keys":
        for name in owner.keys() - {*members}:
            del owner[name]
        return
    for name, value in zip(holder.names, members, strict=True):
        if value is UNBOUND:
            owner.pop(name, None)
        else:
            owner[name] = value


def _refill(owner: Any, members: Sequence[Any]) -> None:
    """Let a container have these members; of a dict, the keys come first."""
    if has_type(owner, (list, collections.deque)):
        owner.clear()
        owner.extend(members)
    elif has_type(owner, set):
        owner.clear()
        owner.update(members)
    elif has_type(owner, dict):
        half = len(members) // 2
        owner.clear()
        owner.update(zip(members[:half], members[half:], strict=True))
