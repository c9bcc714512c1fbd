"""Generators of users that a loop runs over: run to their end before the loop, where nobody sees the difference.

A generator sees what the iterations of the loop change, and these see what it changes. It is run before the loop if it
changes nothing, and if the iterations leave all that it may read as it is.
"""

from __future__ import annotations

import dis
import functools
import random
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.numpy.operands.memory import memory_of
from anyshape.ops.subgraph_call import code_that_is_read
from anyshape.support.true_types import has_type
from anyshape.tracing.source.read import NotKept, Session
from anyshape.transforms.control_flow.iterables import Items, Sifted, Yielded, items_of
from anyshape.transforms.control_flow.kept_lists import KeptList
from anyshape.transforms.control_flow.kept_objects import LIBRARIES, Copies, is_of_library, reached

_STATED = {"random", "print", "input", "open", "write", "next", "send", "setattr", "delattr", "warn", "exec", "eval"}
_RAISING = {code for name, code in dis.opmap.items() if name in ("RAISE_VARARGS", "STORE_GLOBAL", "DELETE_GLOBAL")}
_DRAWING = (random.Random, np.random.RandomState, np.random.Generator, np.random.BitGenerator)


def yielded(
    session: Session, function: Any, made: Callable[..., Any], most: int | None, *args: Any, **kwargs: Any
) -> Any:
    """Return the items that a generator function yields, or the generator where these are not known to be the same.

    So it is where Python alone runs a loop of more than `most` iterations in it.
    """
    own = getattr(function, "__func__", function)
    parts = _parts(function, *args, *kwargs.values())
    is_refused = own.__code__ in session.refused or not _ends(own.__code__)
    if is_refused or not _is_pure(own.__code__, own.__code__.co_freevars) or not all(map(_is_still, parts)):
        return code_that_is_read().call(function)(*args, **kwargs)
    before = _Seen(own.__code__, parts)
    was, session.ending = session.ending, session.ending if most is None else (own.__code__, most)
    try:
        result = made(*args, **kwargs)
    finally:
        session.ending = was
    before.check()
    items = items_of(result)
    return Yielded(items if items is not None else _items_of_list(result), before.check)


def of_sifted(
    sifted: Sifted,
    body: Callable[[Any], None],
    cells: Mapping[str, Any],
    facts: Any,
    branch: Callable[[Any, Sequence[Any], Mapping[str, Any], Sequence[str]], None],
) -> tuple[Callable[[Any], None], Mapping[str, Any], Any]:
    """Return a body for all items, which runs the one of a loop for those that pass; its variables, and facts."""
    left = types.CellType(False)

    def leave() -> None:
        left.cell_contents = True

    if sifted.ends:
        names = [(*name, _LEFT) for name in (facts.bound, facts.later, facts.stops)]
        facts, cells = facts._replace(bound=names[0], later=names[1], stops=names[2]), {**cells, _LEFT: left}

    def run(item: Any) -> None:
        branch(
            sifted.passes(item), (leave if sifted.ends else None, lambda: body(sifted.value(item))), cells, facts.later
        )

    return run, cells, facts


_LEFT = "__kept_left__"  # flag that ends a loop over `itertools.takewhile`


def _parts(*roots: Any) -> list[Any]:
    """Return the objects that can be reached from some, with the methods of instances of users' classes."""
    methods: list[Any] = []
    while True:
        parts = reached(*roots, *methods)
        kinds = {type(x) for x in parts if not is_of_library(type(x))}
        known = {*map(id, methods)}
        new = [f for kind in kinds for c in kind.__mro__ for f in vars(c).values() if type(f) is types.FunctionType]
        if known.issuperset(map(id, new)):
            return parts
        methods = new


def _items_of_list(x: list[Any]) -> Items:
    return Items(len(x), x.__getitem__, lambda: iter(x))


def _is_still(x: Any) -> bool:
    """Return whether a generator that may read an object leaves it as it is, and gets the same of it at any time."""
    if type(x) is types.FunctionType:
        return _is_pure(x.__code__, x.__code__.co_freevars)
    if type(x) is types.ModuleType:
        return x.__name__.partition(".")[0] in LIBRARIES
    is_drawn = has_type(x, _DRAWING) or has_type(getattr(x, "__self__", None), _DRAWING)
    return not is_drawn and not hasattr(type(x), "__next__")


def _is_pure(code: types.CodeType, free: tuple[str, ...]) -> bool:
    """Return whether code raises nothing by itself, and binds and calls nothing that others see."""
    steps = [*dis.get_instructions(code)]
    binds = any(s.opname in ("STORE_DEREF", "DELETE_DEREF") and s.argval in free for s in steps)
    if binds or any(s.opcode in _RAISING for s in steps) or not _STATED.isdisjoint(code.co_names):
        return False
    return all(_is_pure(c, free) for c in code.co_consts if type(c) is types.CodeType)


def _ends(code: types.CodeType) -> bool:
    """Return whether a generator can end by itself: `while True` without an end leaves no return in code."""
    return any(s.opname in ("RETURN_VALUE", "RETURN_CONST") for s in dis.get_instructions(code))


def has_while(function: Any) -> bool:
    """Return whether a generator function has a loop on a condition, which a run may end late."""
    steps = {s.offset: s for s in dis.get_instructions(getattr(function, "__func__", function).__code__)}
    back = [steps[s.argval] for s in steps.values() if s.opcode in dis.hasjrel and s.argval < s.offset]
    return any(s.opname not in ("FOR_ITER", "SEND") for s in back)


class _Seen:
    """State that a generator may read, as it is when the generator begins."""

    def __init__(self, code: types.CodeType, parts: list[Any]) -> None:
        self.code, self.copies = code, Copies(*parts)
        self.lists = [(x, x.levels[-1].rows, len(x.levels[-1].new)) for x in parts if type(x) is KeptList]
        self.variables = [(read, read()) for read in _variables(parts)]
        for x in parts:
            if isinstance(x, Traced) and getattr(x, "is_array", False):
                memory_of(x).frozen = self._changed()

    def check(self) -> None:
        """Raise where an iteration changed something."""
        is_same = all(x.levels[-1].rows is rows and len(x.levels[-1].new) == n for x, rows, n in self.lists)
        if not is_same or self.copies.changed() or any(read() is not x for read, x in self.variables):
            raise self._changed()

    def _changed(self) -> NotKept:
        return NotKept(self.code, "it is a generator, and what it reads is changed while a loop runs over it")


def _variables(parts: list[Any]) -> Iterator[Callable[[], Any]]:
    """Return what reads the variables around functions: cells, and globals."""
    for x in [x for x in parts if type(x) is types.FunctionType]:
        for cell in x.__closure__ or ():
            yield functools.partial(_content, cell)
        for name in x.__code__.co_names:
            yield functools.partial(x.__globals__.get, name)


def _content(cell: types.CellType) -> Any:
    return None if cell == types.CellType() else cell.cell_contents
