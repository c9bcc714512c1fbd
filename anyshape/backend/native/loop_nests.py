"""Order statements of a group into loop nests: which loop each runs in, and which values go through a buffer of a row.

A nest runs over some loop axes of a row. A statement stands in the first nest over its axes in which its operands are
known. A value that another nest reads is kept in a buffer with its axes, or in a local if it has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from anyshape.backend.compiler.c_expressions import c_type
from anyshape.backend.native.statements import (
    Axis,
    Gather,
    Map,
    NotExpressible,
    Operand,
    Reduce,
    Statement,
    Statements,
    Store,
    Total,
    Value,
)


@dataclass(eq=False, slots=True)
class Loop:
    """Loop over axes that every value has together or not at all. They are one loop, where arrays lie in C order."""

    number: int | str
    axes: tuple[Axis, ...]


ROWS = Loop("r", ())  # the loop over some rows, which is innermost where rows are short


@dataclass(eq=False, slots=True)
class Nest:
    """Statements that run in one loop nest."""

    loops: tuple[Loop, ...]
    statements: list[Statement] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class LoopNests:
    """Nests of a group, in their order.

    - `loops` are all loops, outermost first.
    - `buffered` are the values that nests read which do not compute them.
    - `bool_type` is the type in C of computed bools, which are as wide as the floats of the group.
    - `across_rows`: whether the loop over rows is innermost, so that values which differ between rows have it too.
    """

    loops: tuple[Loop, ...]
    nests: list[Nest]
    buffered: set[str]
    bool_type: str
    across_rows: bool

    def local_type(self, dtype: np.dtype) -> str:
        """Return the type in C of a computed element. One of one byte beside floats would cost a loop its vectors."""
        return self.bool_type if dtype.kind == "b" else c_type(dtype) or ""

    def is_buffered(self, value: Value) -> bool:
        """Return whether a row of a value goes through a buffer."""
        return value.name in self.buffered and bool(self.loops_of(value))

    def buffers(self) -> list[tuple[Value, str]]:
        """Return the values that go through a buffer, each with the type of its elements in C."""
        made = [s for nest in self.nests for s in nest.statements if isinstance(s, (Map, Gather, Reduce))]
        kinds = [s.reduction.accumulator if isinstance(s, Reduce) else self.local_type(s.target.dtype) for s in made]
        return [(s.target, kind) for s, kind in zip(made, kinds, strict=True) if self.is_buffered(s.target)]

    def loops_of(self, value: Value) -> tuple[Loop, ...]:
        """Return the loops over which a value varies."""
        own = set(value.loop_axes())
        rows = self.across_rows and (value.varies or not value.slot)
        return (*[loop for loop in self.loops if loop.axes and loop.axes[0] in own], *([ROWS] if rows else []))


def loop_nests(group: Statements, *, across_rows: bool = False) -> LoopNests:
    """Return the loop nests of the statements of a group. Raises NotExpressible where axes have no common order."""
    values = list(_values(group))
    loops = _merged(_in_order(values), values)
    loops = (*loops, ROWS) if across_rows else loops
    result = LoopNests(loops, [], set(), _bool_type(values), across_rows)
    _Schedule(result).run(group.statements)
    return result


def _bool_type(values: Iterable[Value]) -> str:
    """Return the type of computed bools: an integer as wide as the widest float, or part of a complex number."""
    widths = [value.dtype.itemsize // (1 + (value.dtype.kind == "c")) for value in values if value.dtype.kind in "fc"]
    width = max(widths, default=1)
    return {1: "uint8_t", 4: "int32_t", 8: "int64_t"}[width]


def _values(group: Statements) -> Iterable[Value]:
    """Yield the arrays that a group reads and writes, and the values that it computes."""
    yield from group.reads
    for statement in group.statements:
        yield statement.target
        operands = statement.operands if isinstance(statement, Map) else (statement.operand,)
        yield from [o for o in operands if isinstance(o, Value)]


def _in_order(values: Sequence[Value]) -> list[Axis]:
    """Return the loop axes in an order that is the order of axes of each value."""
    before: dict[Axis, set[Axis]] = {}
    for value in values:
        axes = value.loop_axes()
        if len(set(axes)) < len(axes):
            raise NotExpressible("two axes of a value are one loop")
        for i, axis in enumerate(axes):
            before.setdefault(axis, set()).update(axes[:i])
    order: list[Axis] = []
    while len(order) < len(before):
        ready = [axis for axis in before if axis not in order and before[axis].issubset(order)]
        if not ready:
            raise NotExpressible("values have their axes in different orders")
        order.append(ready[0])
    return order


def _merged(axes: Sequence[Axis], values: Sequence[Value]) -> tuple[Loop, ...]:
    """Return loops over the axes: neighbours that no value has apart are one loop."""
    uses = [[axis in value.loop_axes() for value in values] for axis in axes]
    groups: list[list[Axis]] = []
    for i, axis in enumerate(axes):
        if i and uses[i] == uses[i - 1]:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return tuple([Loop(number, tuple(group)) for number, group in enumerate(groups)])


class _Schedule:
    """Assigns statements to nests."""

    def __init__(self, result: LoopNests) -> None:
        self.result = result
        self.made: dict[str, tuple[int, bool]] = {}  # the nest of a value, and whether it is known only after the nest

    def run(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            operands = statement.operands if isinstance(statement, Map) else (statement.operand,)
            loops = self._loops(statement, operands)
            position = self._position(loops, operands)
            self.result.nests[position].statements.append(statement)
            for operand in operands:
                if isinstance(operand, Value) and not operand.slot and self.made[operand.name][0] != position:
                    self.result.buffered.add(operand.name)
            if isinstance(statement, (Map, Gather, Reduce)):
                self.made[statement.target.name] = position, isinstance(statement, Reduce)

    def _loops(self, statement: Statement, operands: Sequence[Operand]) -> tuple[Loop, ...]:
        """Return the loops of a statement: of its operands, and of the array that it reads at an index or writes."""
        values = [o for o in operands if isinstance(o, Value)]
        values += [statement.target] if isinstance(statement, (Gather, Store, Total)) else []
        own = {loop.number for value in values for loop in self.result.loops_of(value)}
        return tuple([loop for loop in self.result.loops if loop.number in own or loop is ROWS])

    def _position(self, loops: tuple[Loop, ...], operands: Sequence[Operand]) -> int:
        """Return the first nest over these loops in which the operands are known, a new one if there is none."""
        first = max([0, *[self._known_from(o, loops) for o in operands if isinstance(o, Value) and not o.slot]])
        nests = self.result.nests
        for position in range(first, len(nests)):
            if nests[position].loops == loops:
                return position
        nests.append(Nest(loops))
        return len(nests) - 1

    def _known_from(self, value: Value, loops: tuple[Loop, ...]) -> int:
        """Return the first nest over these loops that may read a value."""
        position, afterwards = self.made[value.name]
        return position + (afterwards or self.result.nests[position].loops != loops)
