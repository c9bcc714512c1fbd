"""Text in C of loop nests: the statements of a nest in its innermost loop, and the loops around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anyshape.backend.native.c_arrays import CArray
from anyshape.backend.native.loop_nests import ROWS, Loop, LoopNests, Nest
from anyshape.backend.native.reductions import Reduction
from anyshape.backend.native.statements import Gather, Map, Operand, Reduce, Statement, Store, Total, Value
from anyshape.backend.native.strips import InnerLoop, Line, function_of, inner_loop

_NAMED_REDUCTIONS: dict[np.ufunc, str] = {np.maximum: "as_larger", np.minimum: "as_smaller"}  # in kernel_header.c

AHEAD, FETCHED = 8, 512  # how many rows ahead one at an index is fetched, and the most bytes of it
LINE = 64  # bytes that are fetched at once

Arrays = Mapping[tuple[str, str], CArray]


def accumulated(total: Total, arrays: Arrays) -> str:
    """Return the accumulator of a total without axes."""
    return f"{arrays['t', total.target.slot].local}_sum"


def starts_of(arrays: Sequence[CArray], totals: Sequence[Total]) -> list[str]:
    """Return the lines that fill partial results with axes; others have accumulators."""
    lines: list[str] = []
    for array, total in zip(arrays, totals, strict=True):
        if array.loops:
            count = " * ".join(f"m{loop.number}" for loop in array.loops)
            lines.append(array.pointer(array.local, [f"part * {array.local}_r"]))
            lines.append(f"for (int64_t j = 0; j < {count}; j++) {array.local}[j] = {total.reduction.start};")
    return lines


class NestSource:
    """Writes the statements of a nest, and the loops around them.

    - `arrays`: the arrays of the kernel, by the letter of their locals and their slots.
    - `is_flat`: the innermost loop is that of the rows, and has all statements of the group.
    """

    nests: LoopNests
    arrays: Arrays
    loops: tuple[Loop, ...]
    is_flat: bool
    number: int

    def __init__(
        self, nests: LoopNests, arrays: Arrays, loops: tuple[Loop, ...], *, is_flat: bool = False, number: int = 0
    ) -> None:
        self.nests, self.arrays, self.loops = nests, arrays, loops
        self.is_flat, self.number = is_flat, number
        self.lines: list[Line] = []  # of the innermost loop
        self.slot_bytes = 0  # of its strips
        self.first: list[str] = []  # lines before the nest
        self.before: dict[int, list[str]] = {}  # lines before the loop at a depth
        self.after: dict[int, list[str]] = {}
        self.computed: set[str] = set()

    def add(self, nest: Nest) -> None:
        """Write the statements of a nest."""
        for statement in nest.statements:
            self._write(statement)

    def _write(self, statement: Statement) -> None:
        if isinstance(statement, Map):
            self._map(statement)
        elif isinstance(statement, Gather):
            self._gather(statement)
        elif isinstance(statement, Reduce):
            self._reduce(statement)
        elif isinstance(statement, Total):
            self._total(statement)
        else:
            self._store(statement)

    # -- elements

    def _element(self, operand: Operand) -> str:
        """Return the text of an operand in the innermost loop."""
        if isinstance(operand, str):
            return operand
        if operand.slot:
            return self._array_element(self.arrays["a", operand.slot])
        if operand.name in self.computed or not self.nests.loops_of(operand):
            return operand.name
        return f"({self.nests.local_type(operand.dtype)})b_{operand.name}[{self._index(operand)}]"

    def _array_element(self, array: CArray) -> str:
        """Return the text of an element of an array that is read, or written."""
        if self.is_flat:
            return f"{array.local}[i]" if array.has_rows else array.local
        if not array.loops and not array.is_written:
            return array.local
        row = [f"i * {array.local}_r"] if array.has_rows else []
        if not array.loops:
            return f"*({array.kind} *)({array.local}_d + {row[0]})"
        inner = self.loops[-1] if array.loops[-1] is self.loops[-1] else None
        offsets = [f"j{loop.number} * {array.local}_{loop.number}" for loop in array.loops if loop is not inner]
        name = f"p{self.number}_{array.local}"
        pointers = self.before.setdefault(len(self.loops) - 1, [])
        pointer = array.pointer(name, [*row, *offsets])
        if pointer not in pointers:
            pointers.append(pointer)
        return self._at(array, name, inner)

    def _at(self, array: CArray, pointer: str, inner: Loop | None) -> str:
        """Return the text of the element behind a pointer that a loop is at; rows may lie apart."""
        if inner is ROWS:
            element = f"{array.const}{array.kind}"
            return f"*({element} *)(({array.const}char *){pointer} + jr * {array.local}_r)"
        return f"{pointer}[0]" if inner is None else f"{pointer}[j{inner.number}]"

    def _index(self, value: Value) -> str:
        """Return the position of an element in a buffer with the axes of a value."""
        text = ""
        for loop in self.nests.loops_of(value):
            text = f"({text}) * m{loop.number} + j{loop.number}" if text else f"j{loop.number}"
        return text

    # -- statements

    def _map(self, statement: Map) -> None:
        target, operands = statement.target, [self._element(o) for o in statement.operands]
        kind, text = self.nests.local_type(target.dtype), statement.text
        are_locals = self.computed.issuperset(operands)
        function = function_of(text.value, operands) if are_locals else ""
        value = f"const {kind} {target.name} = ({kind})({text.value.format(*operands)});"
        self.lines.append(Line(value, self._locals(operands), target.name, kind, function=function))
        if text.declines:
            declined = f"declined |= {text.declines.format(*operands)};"
            self.lines.append(Line(declined, self._locals(operands), clause="reduction(|:declined)"))
        self._computed(target)

    def _locals(self, operands: Sequence[str]) -> tuple[str, ...]:
        """Return the texts of operands that are locals of the innermost loop, each once."""
        return tuple(dict.fromkeys([text for text in operands if text in self.computed]))

    def _computed(self, target: Value) -> None:
        """Record that an element is in a local, and write it to its buffer."""
        self.computed.add(target.name)
        if not self.is_flat and self.nests.is_buffered(target):
            self._line(f"b_{target.name}[{self._index(target)}] = {target.name};", target.name)

    def _line(self, text: str, operand: str, clause: str = "") -> None:
        """Add a line that defines no local and reads one."""
        self.lines.append(Line(text, self._locals([operand]), clause=clause))

    def _gather(self, statement: Gather) -> None:
        """Write the read of an element at an index, which is known before the innermost loop.

        Indices from the end are negative; others out of range decline.
        """
        target, array = statement.target, self.arrays["a", statement.array.slot]
        row, index, size = f"w_{target.name}", self._element(statement.operand), f"{array.local}_->dims[0]"
        outer = [f"j{loop.number} * {array.local}_{loop.number}" for loop in array.loops[1:-1]]
        self.before.setdefault(len(self.loops) - 1, []).extend(
            [
                *self._prefetch(statement, array),
                f"int64_t {row} = (int64_t)({index});",
                f"{row} += {row} < 0 ? {size} : 0;",
                f"declined |= ({row} < 0) | ({row} >= {size});",
                f"{row} = ({row} < 0) | ({row} >= {size}) ? 0 : {row};",
                array.pointer(f"p_{target.name}", [f"{row} * {array.local}_{array.loops[0].number}", *outer]),
            ]
        )
        element = f"p_{target.name}[j{self.loops[-1].number}]"
        self.lines.append(Line(f"const {array.kind} {target.name} = {element};", (), target.name, array.kind))
        self._computed(target)

    def _prefetch(self, statement: Gather, array: CArray) -> list[str]:
        """Write a hint to fetch the row of a later index: processors cannot guess where rows at an index begin.

        It reads nothing, so an index out of range does no harm.
        """
        operand = statement.operand
        if not isinstance(operand, Value) or not operand.slot or len(array.loops) != 2 or len(self.loops) != 1:
            return []
        index = self.arrays["a", operand.slot]
        if index.loops or not index.has_rows:
            return []
        row, position = f"f_{statement.target.name}", f"(i + {AHEAD} < hi ? i + {AHEAD} : i) * {index.local}_r"
        later = f"(uintptr_t)*({index.const}{index.kind} *)({index.local}_d + {position})"
        size = f"m{array.loops[1].number} * {array.value.dtype.itemsize}"
        return [
            f"const uintptr_t {row} = (uintptr_t){array.local}_d + {later} * {array.local}_{array.loops[0].number};",
            f"const int64_t {row}_end = {size} < {FETCHED} ? {size} : {FETCHED};",
            f"for (int64_t k = 0; k < {row}_end; k += {LINE}) __builtin_prefetch((const void *)({row} + k));",
        ]

    def _reduce(self, statement: Reduce) -> None:
        """Write a reduction in a row: into a local where the innermost loops are reduced, else into a buffer."""
        target, reduction = statement.target, statement.reduction
        loops, x = self.nests.loops_of(target), self._element(statement.operand)
        depth, buffer = len(loops), f"b_{target.name}[{self._index(target)}]"
        if self.loops[:depth] != loops:
            count = " * ".join(f"m{loop.number}" for loop in loops)
            self.first.append(f"for (int64_t j = 0; j < {count}; j++) b_{target.name}[j] = {reduction.start};")
            self._line(f"{buffer} = {reduction.combine.format(buffer, x)};", x)
            return
        local, kind = f"q_{target.name}", self.nests.local_type(target.dtype)
        self.before.setdefault(depth, []).append(f"{reduction.accumulator} {local} = {reduction.start};")
        self._combine(reduction, local, x)
        result = f"{buffer} = {local};" if depth else f"const {kind} {target.name} = ({kind}){local};"
        if not depth or self.nests.is_buffered(target):
            self.after.setdefault(depth, []).append(result)

    def _combine(self, reduction: Reduction, local: str, x: str) -> None:
        """Write the line that adds an element to an accumulator, which compilers may split for vectors."""
        named = _NAMED_REDUCTIONS.get(reduction.ufunc, "") if reduction.accumulator in ("double", "float") else ""
        joined = reduction.pragma or named
        self._line(f"{local} = {reduction.combine.format(local, x)};", x, joined and f"reduction({joined}:{local})")

    def _total(self, statement: Total) -> None:
        array, x = self.arrays["t", statement.target.slot], self._element(statement.operand)
        cell = f"{array.local}[{self._index(statement.target)}]"
        if array.loops and self.nests.across_rows:
            reduction, local, innermost = statement.reduction, f"q{self.number}_{array.local}", len(self.loops) - 1
            self.before.setdefault(innermost, []).append(f"{reduction.accumulator} {local} = {reduction.start};")
            self._combine(reduction, local, x)
            self.after.setdefault(innermost, []).append(f"{cell} = {reduction.combine.format(cell, local)};")
        elif array.loops:
            self._line(f"{cell} = {statement.reduction.combine.format(cell, x)};", x)
        else:
            self._combine(statement.reduction, f"q{accumulated(statement, self.arrays)}", x)

    def _store(self, statement: Store) -> None:
        array = self.arrays["o", statement.target.slot]
        element = self._element(statement.operand)
        self._line(f"{self._array_element(array)} = {element};", element)

    # -- loops

    def innermost(self, index: str, first: str, end: str) -> list[str]:
        """Return the innermost loop."""
        in_row = not self.is_flat and self.loops[-1] is not ROWS
        loop: InnerLoop = inner_loop(self.lines, index, first, end, in_row=in_row)
        self.slot_bytes = loop.slot_bytes
        return loop.text

    def nested(self) -> list[str]:
        """Return the loops of the nest with its statements."""
        innermost = len(self.loops) - 1
        lines = [] if self.loops else [line.text for line in self.lines]
        for depth in range(innermost, -1, -1):
            j, m = (f"{letter}{self.loops[depth].number}" for letter in "jm")
            outer = [f"for (int64_t {j} = 0; {j} < {m}; {j}++) {{", *["    " + line for line in lines], "}"]
            loop = self.innermost(j, "0", m) if depth == innermost else outer
            lines = [*self.before.get(depth, []), *loop, *self.after.get(depth, [])]
        return [*self.first, *lines]
