"""Objects that code which is read changes: members of them become variables of loops and choices.

Code that is not read changes some, too: operators of classes, or functions of C. So what objects hold is compared
before and after. How loops and choices are traced, this module must not know.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import random
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.support.true_types import has_type
from anyshape.tracing.source.read import NotKept, Session

_VALUES = (int, float, complex, bool, str, bytes, tuple, frozenset, type(None))
MEMBERED = (list, dict, deque, defaultdict, OrderedDict)  # whose members may be variables of a loop
_CONTAINERS = (list, dict, set, deque, bytearray)
_DRAWING = (random.Random, np.random.RandomState)
LIBRARIES = {*sys.stdlib_module_names, "anyshape", "numpy", "scipy"}
_MOST_WALKED = 1000  # parts of one container, and objects in all


class MembersFoundError(Exception):
    """Raised to trace the body of a loop again, with the members of an object that it changes as variables."""


def refuse(session: Session, code: types.CodeType | None, why: str) -> NotKept:
    """Return the signal to run a loop as it is written: the one of this code, else the innermost one that is kept."""
    code = code if code is not None else session.frames[-1].code
    return NotKept(code, why)


def holder_of(x: Any) -> Any:
    """Return what holds the members of an object that code may change, None for objects of another kind."""
    if type(x) in MEMBERED:
        return x
    if isinstance(x, (type, types.ModuleType, types.FunctionType)) or type(x).__module__.startswith("anyshape."):
        return None
    space = getattr(x, "__dict__", None)
    return space if type(space) is dict else None


def keys_of(holder: Any) -> list[Any]:
    """Return the keys of the members of an object."""
    return list(holder) if has_type(holder, dict) else list(range(len(holder)))


def regroup(holder: Any, members: dict[Any, Any]) -> None:
    """Let an object have the members of some keys alone."""
    if not has_type(holder, dict):
        holder.clear()
        holder.extend(members.values())
    for key in [key for key in keys_of(holder) if key not in members]:
        del holder[key]


def held_by(session: Session, x: Any) -> int:
    """Return how many references loops and choices have to an object, beside the variables that it is of."""
    holders = [value for holder in session.holders for value in holder.values()]
    copies = [pair for copies in session.copies for pair in copies.objects]
    return sum(x is y for y in holders) + sum(
        (x is y) + sum(x is part for part in parts_of(held)) for y, held in copies
    )


def is_value(x: Any) -> bool:
    """Return whether an object is one that nobody can change."""
    return type(x) in _VALUES or has_type(x, (np.generic, SymbolicSize))


def frames_around(session: Session, x: Any) -> list[Any]:
    """Return the bodies and branches, the innermost first, that an object is made outside of."""
    return list(itertools.takewhile(lambda frame: id(x) not in frame.made, reversed(session.frames)))


def note_change(session: Session, x: Any) -> None:
    """Note that a body or a branch changes an object; raise where a loop that is kept may not."""
    if id(x) in session.frames[-1].made:
        return
    holder, is_new = holder_of(x), False
    inside = frames_around(session, x)
    if holder is not None and inside[-1].loop is None:
        _learn_members(session, x)
    if holder is None or inside[-1].loop is None:
        raise refuse(session, None, f"it changes an object of type {type(x).__name__}, which is made outside of it")
    for frame in inside:
        is_new = (frame.loop is not None and frame.loop.learn_holder(holder)) or is_new
    if is_new:
        raise MembersFoundError


def _learn_members(session: Session, x: Any) -> None:
    """Let the members of a container that an iteration has as a whole be variables, as a branch changes some."""
    for loop in [frame.loop for frame in session.frames if frame.loop is not None and id(x) in frame.made]:
        if names := [name for name in loop.trees if loop.cells[name].cell_contents is x]:
            loop.learned.by_members.update(names)
            loop.is_complete = False
            raise MembersFoundError


def refuse_draws(session: Session, owner: Any) -> None:
    """Raise where a method draws random numbers that no program draws again."""
    if has_type(owner, _DRAWING):
        raise refuse(session, None, "it draws random numbers that are not those of numpy.random.Generator")


# -- what objects hold


def containers(*roots: Any) -> list[Any]:
    """Return the containers, instances and generators of random numbers that can be reached from some objects."""
    return [x for x in reached(*roots) if _held(x) is not None]


def reached(*roots: Any) -> list[Any]:
    """Return the objects that can be reached from some, in containers, instances, and code of users."""
    seen, parts, waiting = set[int](), list[Any](), list(roots)
    while waiting and len(parts) < _MOST_WALKED:
        x = waiting.pop()
        if id(x) in seen or (is_value(x) and not has_type(x, tuple)):
            continue
        seen.add(id(x))
        parts.append(x)
        if not (isinstance(x, Traced) or has_type(x, np.ndarray)):
            waiting += itertools.islice(_inside(x, _held(x)), _MOST_WALKED)
    return parts


def _held(x: Any) -> Any:
    """Return a copy of what an object holds, None for objects that are not compared."""
    if type(x) in _CONTAINERS or (has_type(x, _CONTAINERS) and not type(x).__module__.startswith("anyshape.")):
        return dict(x) if has_type(x, dict) else set(x) if has_type(x, set) else list(x)
    if has_type(x, _DRAWING):
        return repr(x.getstate() if has_type(x, random.Random) else x.get_state(legacy=False))
    is_instance = not is_of_library(type(x)) and not has_type(x, type)
    return dict(vars(x)) if is_instance and hasattr(x, "__dict__") else None


def is_of_library(kind: type) -> bool:
    """Return whether a class is one of Python's, NumPy's, SciPy's or ours."""
    return kind.__module__.partition(".")[0] in LIBRARIES


def parts_of(held: Any) -> Iterable[Any]:
    """Return the parts in a copy of what an object holds."""
    return held.values() if type(held) is dict else () if type(held) is str else held


def _inside(x: Any, held: Any) -> Iterable[Any]:
    """Return the objects that can be reached from one."""
    if held is not None or has_type(x, tuple):
        return x if held is None else parts_of(held)
    if type(x) is functools.partial:
        return x.func, *x.args, *x.keywords.values()
    return _of_function(x) if type(x) in _FUNCTIONS else ()


def _of_function(x: Any) -> Iterable[Any]:
    """Return the objects that code of a user has at hand."""
    if type(x) is types.MethodType:
        return x.__self__, x.__func__
    if str(x.__module__).partition(".")[0] in LIBRARIES:
        return ()
    cells = [c.cell_contents for c in x.__closure__ or () if c != types.CellType()]
    return [*cells, *[x.__globals__[name] for name in x.__code__.co_names if name in x.__globals__]]


_FUNCTIONS = (types.FunctionType, types.MethodType)


def _is_same(a: Any, b: Any) -> bool:
    """Return whether an object holds the same as before."""
    if type(a) in (str, set):
        return bool(a == b)
    parts = [[*x.items()] if type(x) is dict else [x] for x in (a, b)]
    if type(a) is dict:
        return len(a) == len(b) and all(k is m and v is w for (k, v), (m, w) in zip(*parts, strict=True))
    return len(a) == len(b) and all(map(operator.is_, a, b))


def _restore(x: Any, held: Any) -> None:
    """Let an object hold what it held."""
    if has_type(x, dict):
        x.clear()
        x.update(held)
    elif has_type(x, set):
        x.clear()
        x |= held
    elif has_type(x, (list, bytearray)):
        x[:] = held
    elif has_type(x, deque):
        x.clear()
        x.extend(held)
    elif type(held) is dict:
        vars(x).clear()
        vars(x).update(held)


class Copies:
    """Objects with what they held when they were noted."""

    def __init__(self, *roots: Any) -> None:
        self.objects = [(x, _held(x)) for x in containers(*roots)]

    def changed(self) -> list[tuple[Any, Any]]:
        """Return the objects that hold something else, each with what it held."""
        return [(x, held) for x, held in self.objects if not _is_same(held, _held(x))]


@contextlib.contextmanager
def watched(session: Session, roots: Callable[[], Iterable[Any]]) -> Iterator[None]:
    """Note changes of objects by code that is not read, in the body or branch that is traced now."""
    before = Copies(*roots())
    session.copies.append(before)
    try:
        yield
    finally:
        session.copies.remove(before)
    known = [h for frame in session.frames if frame.loop is not None for h in frame.loop.learned.holders]
    made = session.frames[-1].made
    pairs = [p for p in before.changed() if id(p[0]) not in made and not any(holder_of(p[0]) is h for h in known)]
    for x, held in pairs:
        refuse_draws(session, x)
        _restore(x, held)
    for x, _ in pairs:
        note_change(session, x)


def note_copies(session: Session, tree: Any, code: types.CodeType) -> None:
    """Note containers that stand for others, which may have further names: nobody may change them in this trace."""
    copies = Copies(tree)

    def check() -> None:
        for x, _ in copies.changed():
            raise NotKept(code, f"an object of type {type(x).__name__} is changed, which may have other names")

    if copies.objects:
        session.copies.append(copies)
        session.checks.append(check)
