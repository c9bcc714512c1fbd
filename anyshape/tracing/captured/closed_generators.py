"""Put stand-ins in the places of generators that a function closes over, while it is traced.

Places are variables, attributes, defaults and items of containers, as the walk over captured state has them. Traces in
several threads share the stand-ins. A generator that cannot be replaced, such as one in a frozen set, stays: the trace
then refuses to draw from it.
"""

import collections
import contextlib
import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from anyshape.support.fork_lock import Lock
from anyshape.support.packages import traced_generators
from anyshape.tracing.captured.containers import Holder, read_holder

_LOCK = Lock()


class _Spot:
    """Place that holds a stand-in, for a number of traces, and how to write to it."""

    def __init__(self, write: Callable[[Any], None], look: Callable[[], Any], original: Any, now: Any) -> None:
        self.write, self.look, self.original, self.now, self.traces = write, look, original, now, 0


_TAKEN: dict[tuple[Any, ...], _Spot] = {}  # by the kind and the owner of the holder, and the number of the member


@contextlib.contextmanager
def standing_in(walks: Iterable[Any]) -> Iterator[None]:
    held = [(holder, w.things[holder.of][1]) for w in walks for holder in w.holders]
    taken: list[tuple[Any, ...]] = []
    try:
        with _LOCK:
            for holder, thing in held:
                _take(holder, thing, taken)
        yield
    finally:
        with _LOCK:
            for key in taken:
                _give_back(key)


def _take(holder: Holder, thing, taken: list[tuple[Any, ...]]) -> None:
    """Put stand-ins in the places of one holder."""
    for i, now in enumerate(_members(holder)):
        key = holder.kind, id(holder.owner), holder.names[i : i + 1] if holder.kind in _NAMED else i
        spot = _TAKEN.get(key)
        if spot is None:
            standing = traced_generators.stand_in(now)
            write = None if standing is now else _writer(holder, i, thing)
            if write is None or not _written(write, standing):
                continue
            spot = _TAKEN[key] = _Spot(write, functools.partial(_member, holder, i), now, standing)
        spot.traces += 1
        taken.append(key)


def _give_back(key: tuple[Any, ...]) -> None:
    """Restore what a place held, unless code of the user has written to it meanwhile, or other traces go on."""
    spot = _TAKEN[key]
    spot.traces -= 1
    if not spot.traces:
        del _TAKEN[key]
        if spot.look() is spot.now:
            spot.write(spot.original)


def _members(holder: Holder) -> list[Any]:
    """Return what a holder holds now, nothing while another thread changes it."""
    try:
        return read_holder(holder)
    except (RuntimeError, ReferenceError):
        return []


def _member(holder: Holder, i: int):
    members = _members(holder)
    return members[i] if i < len(members) else None


def _written(write: Callable[[Any], None], value) -> bool:
    """Write to a place, and return whether it takes the value."""
    try:
        write(value)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


# -- how places are written to

_WRITABLE: tuple[Any, ...] = (dict, list, collections.deque, np.ndarray)
_NAMED = ("variables", "attributes", "fields")


def _writer(holder: Holder, i: int, thing) -> Callable[[Any], None] | None:
    """Return what writes to a member of a holder, None where nothing does."""
    owner = holder.owner
    if holder.kind in ("variables", "attributes"):
        name = holder.names[i]
        if isinstance(owner, dict):
            return functools.partial(owner.__setitem__, name)
        return functools.partial(type.__setattr__, thing, name) if isinstance(thing, type) else None
    if holder.kind == "fields":
        return _writer_of_field(owner, holder.names[i])
    base = next((k for k in _WRITABLE if isinstance(owner, k)), None) if holder.kind in ("items", "iterated") else None
    if base is None:
        return None
    keys = list(dict.keys(owner)) if base is dict else []
    return functools.partial(base.__setitem__, owner, keys[i - len(keys)] if keys else i) if i >= len(keys) else None


def _writer_of_field(owner, name: str) -> Callable[[Any], None]:
    if isinstance(owner, functools.partial):
        return functools.partial(_set_partial, owner, name)
    if isinstance(owner, (types.FunctionType, types.CellType)):
        return functools.partial(setattr, owner, name)
    return functools.partial(object.__setattr__, owner, name)


def _set_partial(owner, name: str, value) -> None:
    fields = {"func": owner.func, "args": owner.args, "keywords": owner.keywords, name: value}
    owner.__setstate__((*fields.values(), owner.__dict__ or None))
