"""Text in C of loop nests: the statements of a nest in its innermost loop, and the loops around them.

Arrays of a kernel in C: how it reads them off its tuple, checks their axes, and points into them.

Innermost loops in C: one loop over the lines, or several over strips where that takes less time.

A compiler runs out of registers in a loop with many elementary functions, and takes long to compile it. So such a loop
is cut into strips of elements that fit the nearest cache. On a strip, each elementary function runs in a loop of its
own, and loops between them compute the rest. Values that several of these loops mention go through slots, which are
used again.

Order statements of a group into loop nests: which loop each runs in, and which values go through a buffer of a row.

A nest runs over some loop axes of a row. A statement stands in the first nest over its axes in which its operands are
known. A value that another nest reads is kept in a buffer with its axes, or in a local if it has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from anyshape.backend.compiler.c_expressions import c_type
from anyshape.backend.native import statements as st
from anyshape.backend.native.toolchain import ELEMENTARY, LANES


@dataclass(eq=False, slots=True)
class Loop:
    """Loop over axes that every value has together or not at all. They are one loop, where arrays lie in C order."""

    number: int | str
    axes: tuple[st.Axis, ...]


ROWS = Loop("r", ())  # the loop over some rows, which is innermost where rows are short


@dataclass(eq=False, slots=True)
class Nest:
    """Statements that run in one loop nest."""

    loops: tuple[Loop, ...]
    statements: list[st.Statement] = field(default_factory=list)


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

    def is_buffered(self, value: st.Value) -> bool:
        """Return whether a row of a value goes through a buffer."""
        return value.name in self.buffered and bool(self.loops_of(value))

    def buffers(self) -> list[tuple[st.Value, str]]:
        """Return the values that go through a buffer, each with the type of its elements in C."""
        made = [s for nest in self.nests for s in nest.statements if isinstance(s, (st.Map, st.Gather, st.Reduce))]
        kinds = [s.reduction.accumulator if isinstance(s, st.Reduce) else self.local_type(s.target.dtype) for s in made]
        return [(s.target, kind) for s, kind in zip(made, kinds, strict=True) if self.is_buffered(s.target)]

    def loops_of(self, value: st.Value) -> tuple[Loop, ...]:
        """Return the loops over which a value varies."""
        own = set(value.loop_axes())
        rows = self.across_rows and (value.varies or not value.slot)
        return (*[loop for loop in self.loops if loop.axes and loop.axes[0] in own], *([ROWS] if rows else []))


def loop_nests(group: st.Statements, *, across_rows: bool = False) -> LoopNests:
    """Return the loop nests of the statements of a group. Raises NotExpressible where axes have no common order."""
    values = list(_values(group))
    loops = _merged(_in_order(values), values)
    loops = (*loops, ROWS) if across_rows else loops
    result = LoopNests(loops, [], set(), _bool_type(values), across_rows)
    _Schedule(result).run(group.statements)
    return result


def _bool_type(values: Iterable[st.Value]) -> str:
    """Return the type of computed bools: an integer as wide as the widest float, or part of a complex number."""
    widths = [value.dtype.itemsize // (1 + (value.dtype.kind == "c")) for value in values if value.dtype.kind in "fc"]
    return {1: "uint8_t", 4: "int32_t", 8: "int64_t"}[max(widths, default=1)]


def _values(group: st.Statements) -> Iterable[st.Value]:
    """Yield the arrays that a group reads and writes, and the values that it computes."""
    yield from group.reads
    for statement in group.statements:
        yield statement.target
        operands = statement.operands if isinstance(statement, st.Map) else (statement.operand,)
        yield from [o for o in operands if isinstance(o, st.Value)]


def _in_order(values: Sequence[st.Value]) -> list[st.Axis]:
    """Return the loop axes in an order that is the order of axes of each value."""
    before: dict[st.Axis, set[st.Axis]] = {}
    for value in values:
        axes = value.loop_axes()
        if len(set(axes)) < len(axes):
            raise st.NotExpressible("two axes of a value are one loop")
        for i, axis in enumerate(axes):
            before.setdefault(axis, set()).update(axes[:i])
    order: list[st.Axis] = []
    while len(order) < len(before):
        ready = [axis for axis in before if axis not in order and before[axis].issubset(order)]
        if not ready:
            raise st.NotExpressible("values have their axes in different orders")
        order.append(ready[0])
    return order


def _merged(axes: Sequence[st.Axis], values: Sequence[st.Value]) -> tuple[Loop, ...]:
    """Return loops over the axes: neighbours that no value has apart are one loop."""
    uses = [[axis in value.loop_axes() for value in values] for axis in axes]
    groups: list[list[st.Axis]] = []
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

    def run(self, statements: Sequence[st.Statement]) -> None:
        for statement in statements:
            operands = statement.operands if isinstance(statement, st.Map) else (statement.operand,)
            position = self._position(self._loops(statement, operands), operands)
            self.result.nests[position].statements.append(statement)
            for operand in operands:
                if isinstance(operand, st.Value) and not operand.slot and self.made[operand.name][0] != position:
                    self.result.buffered.add(operand.name)
            if isinstance(statement, (st.Map, st.Gather, st.Reduce)):
                self.made[statement.target.name] = position, isinstance(statement, st.Reduce)

    def _loops(self, statement: st.Statement, operands: Sequence[st.Operand]) -> tuple[Loop, ...]:
        """Return the loops of a statement: of its operands, and of the array that it reads at an index or writes."""
        values = [o for o in operands if isinstance(o, st.Value)]
        values += [statement.target] if isinstance(statement, (st.Gather, st.Store, st.Total)) else []
        own = {loop.number for value in values for loop in self.result.loops_of(value)}
        return tuple([loop for loop in self.result.loops if loop.number in own or loop is ROWS])

    def _position(self, loops: tuple[Loop, ...], operands: Sequence[st.Operand]) -> int:
        """Return the first nest over these loops in which the operands are known, a new one if there is none."""
        first = max([0, *[self._known_from(o, loops) for o in operands if isinstance(o, st.Value) and not o.slot]])
        nests = self.result.nests
        for position in range(first, len(nests)):
            if nests[position].loops == loops:
                return position
        nests.append(Nest(loops))
        return len(nests) - 1

    def _known_from(self, value: st.Value, loops: tuple[Loop, ...]) -> int:
        """Return the first nest over these loops that may read a value."""
        position, afterwards = self.made[value.name]
        return position + (afterwards or self.result.nests[position].loops != loops)


DECLINED = 1  # what a kernel returns where the strides or the elements are not what its text can serve


@dataclass(frozen=True, slots=True)
class CArray:
    """Array of a kernel.

    - `local`: its name in C; a suffix makes the names of its fields.
    - `loops`: the loops over its axes, outermost first.
    - `has_rows`: its first axis is that of the rows, or of the parts of a partial result.
    """

    local: str
    value: st.Value
    loops: tuple[Loop, ...]
    has_rows: bool
    is_written: bool

    @property
    def kind(self) -> str:
        """Return the type of its elements."""
        return c_type(self.value.dtype) or ""

    @property
    def const(self) -> str:
        """Return the qualifier of what the kernel only reads."""
        return "" if self.is_written else "const "

    @property
    def first(self) -> int:
        """Return the position of the first axis behind the rows."""
        return int(self.has_rows or self.value.one_row)

    def reads(self, position: int, sizes: Sequence[str]) -> list[str]:
        """Return the lines that read it off the tuple and check its axes; `sizes` are of axes behind the rows."""
        ndim = self.first + len(self.value.axes)
        checks = [f"{self.local}_->dims[{i}] != {size}" for i, size in enumerate(sizes, self.first)]
        return [
            f"const as_array *{self.local}_ = as_item(arrays, {position}, {ndim});",
            f"if ({' || '.join([f'!{self.local}_', *checks])}) return {DECLINED};",
            f"{self.const}char *{self.local}_d = {self.local}_->data;",
            *([f"const int64_t {self.local}_r = {self.local}_->strides[0];"] if self.has_rows else []),
        ]

    def strides(self) -> list[str]:
        """Return the lines that read the stride of each of its loops. That of the innermost must be one element."""
        lines: list[str] = []
        for loop in self.loops:
            axes = enumerate(self.value.axes, self.first)
            positions = [i for i, axis in axes if axis is not None and axis.root() in loop.axes]
            stride, unit = f"{self.local}_{loop.number}", int(loop is self.loops[-1])
            range_ = f"{positions[0]}, {positions[-1]}, {self.value.dtype.itemsize}, {unit}, &{stride}"
            lines += [f"int64_t {stride};", f"if (!as_axes({self.local}_, {range_})) return {DECLINED};"]
        return lines

    def is_in_order(self) -> str:
        """Return the test of whether all its axes lie in C order."""
        last = len(self.value.axes)
        return f"as_axes({self.local}_, 0, {last}, {self.value.dtype.itemsize}, 1, &stride)"

    def pointer(self, name: str, offsets: Sequence[str] = ()) -> str:
        """Return the line that points to an element."""
        address = " + ".join([f"{self.local}_d", *offsets])
        return f"{self.const}{self.kind} *restrict {name} = ({self.const}{self.kind} *)({address});"

    def number(self, *offsets: str) -> str:
        """Return the line that reads an element into the local of the array."""
        address = " + ".join([f"{self.local}_d", *offsets])
        return f"const {self.kind} {self.local} = *(const {self.kind} *)({address});"


AHEAD, FETCHED = 8, 512  # how many rows ahead one at an index is fetched, and the most bytes of it
LINE = 64  # bytes that are fetched at once

Arrays = Mapping[tuple[str, str], CArray]


def accumulated(total: st.Total, arrays: Arrays) -> str:
    """Return the accumulator of a total without axes."""
    return f"{arrays['t', total.target.slot].local}_sum"


def starts_of(arrays: Sequence[CArray], totals: Sequence[st.Total]) -> list[str]:
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

    def _write(self, statement: st.Statement) -> None:
        if isinstance(statement, st.Map):
            self._map(statement)
        elif isinstance(statement, st.Gather):
            self._gather(statement)
        elif isinstance(statement, st.Reduce):
            self._reduce(statement)
        elif isinstance(statement, st.Total):
            self._total(statement)
        else:
            self._store(statement)

    # -- elements

    def _element(self, operand: st.Operand) -> str:
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
        if (pointer := array.pointer(name, [*row, *offsets])) not in pointers:
            pointers.append(pointer)
        return self._at(array, name, inner)

    def _at(self, array: CArray, pointer: str, inner: Loop | None) -> str:
        """Return the text of the element behind a pointer that a loop is at; rows may lie apart."""
        if inner is ROWS:
            element = f"{array.const}{array.kind}"
            return f"*({element} *)(({array.const}char *){pointer} + jr * {array.local}_r)"
        return f"{pointer}[0]" if inner is None else f"{pointer}[j{inner.number}]"

    def _index(self, value: st.Value) -> str:
        """Return the position of an element in a buffer with the axes of a value."""
        text = ""
        for loop in self.nests.loops_of(value):
            text = f"({text}) * m{loop.number} + j{loop.number}" if text else f"j{loop.number}"
        return text

    # -- statements

    def _map(self, statement: st.Map) -> None:
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

    def _computed(self, target: st.Value) -> None:
        """Record that an element is in a local, and write it to its buffer."""
        self.computed.add(target.name)
        if not self.is_flat and self.nests.is_buffered(target):
            self._line(f"b_{target.name}[{self._index(target)}] = {target.name};", target.name)

    def _line(self, text: str, operand: str, clause: str = "") -> None:
        """Add a line that defines no local and reads one."""
        self.lines.append(Line(text, self._locals([operand]), clause=clause))

    def _gather(self, statement: st.Gather) -> None:
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

    def _prefetch(self, statement: st.Gather, array: CArray) -> list[str]:
        """Write a hint to fetch the row of a later index: processors cannot guess where rows at an index begin.

        It reads nothing, so an index out of range does no harm.
        """
        operand = statement.operand
        if not isinstance(operand, st.Value) or not operand.slot or len(array.loops) != 2 or len(self.loops) != 1:
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

    def _reduce(self, statement: st.Reduce) -> None:
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

    def _combine(self, reduction: st.Reduction, local: str, x: str) -> None:
        """Write the line that adds an element to an accumulator, which compilers may split for vectors."""
        joined = reduction.pragma and f"reduction({reduction.pragma}:{local})"
        self._line(f"{local} = {reduction.combine.format(local, x)};", x, joined)

    def _total(self, statement: st.Total) -> None:
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

    def _store(self, statement: st.Store) -> None:
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


STRIP = 256  # elements
SHORT_STRIP = 32  # elements, where the values of a loop take many slots
SLOTS_BYTES = 6 << 10  # of all slots together, between these lengths
_EIGHT_BYTES = ("double", "int64_t", "uint64_t")  # elements of other types with slots have four bytes at most
WIDE = ("as_complex", "as_complexf")  # types without slots
MAX_INLINE = 5  # calls of elementary functions in a loop that is not cut; one with more takes longer than strips
_CALL = re.compile(r"\bas_(" + "|".join(sorted(ELEMENTARY, key=len, reverse=True)) + r")\(")


@dataclass(eq=False, slots=True)
class Line:
    """Line of an innermost loop.

    - `reads`: the locals of the loop that it reads.
    - `target`, `kind`: the local that it defines, and its type in C; "" for none.
    - `clause`: what the pragma of the loop says of it.
    - `function`: the elementary function that it is a call of, on `reads`, and nothing else.
    """

    text: str
    reads: tuple[str, ...]
    target: str = ""
    kind: str = ""
    clause: str = ""
    function: str = ""

    @property
    def calls(self) -> int:
        """Return how many elementary functions it calls."""
        return len(_CALL.findall(self.text))


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """Text of an innermost loop, and the bytes of the slots of its strips."""

    text: list[str]
    slot_bytes: int = 0


def inner_loop(lines: Sequence[Line], index: str, first: str, end: str, *, in_row: bool = False) -> InnerLoop:
    """Return the loop over an index, in strips where its lines call many elementary functions.

    In a row, strips pay with one call beside a sum. A compiler takes the elements after the last whole vector of such a
    loop one by one. A strip is padded to whole vectors.
    """
    calls = 0 if any(line.kind in WIDE for line in lines) else sum([line.calls for line in lines])
    if calls > MAX_INLINE or (in_row and calls and any(line.clause for line in lines)):
        length = STRIP if in_row else _Strips(lines, index, STRIP).best_length()
        return _Strips(lines, index, length).loop(first, end, even=in_row)
    return InnerLoop(_simd(lines, [f"for (int64_t {index} = {first}; {index} < {end}; {index}++) {{"]))


def _simd(lines: Iterable[Line], head: list[str], tail: Sequence[str] = ()) -> list[str]:
    """Return a loop with vectors."""
    clauses = dict.fromkeys([line.clause for line in lines if line.clause])
    body = [*[line.text for line in lines], *tail]
    return [" ".join(["#pragma omp simd", *clauses]), *head, *["    " + text for text in body], "}"]


def _levels(lines: Iterable[Line]) -> list[list[Line]]:
    """Return the lines of each loop on a strip, in order: lines without a call, then each with calls by itself."""
    level: dict[str, int] = {}
    simple: dict[int, list[Line]] = {}
    calling: dict[int, list[list[Line]]] = {}
    for line in lines:
        own = max([0, *[level[name] for name in line.reads]])
        level[line.target] = own + bool(line.calls)
        if line.calls:
            calling.setdefault(own, []).append([line])
        else:
            simple.setdefault(own, []).append(line)
    ordered = sorted({*simple, *calling})
    return [loop for own in ordered for loop in (simple.get(own, []), *calling.get(own, [])) if loop]


class _Strips:
    """Writes the loops on a strip, and assigns slots to values."""

    def __init__(self, lines: Sequence[Line], index: str, elements: int) -> None:
        self.index, self.elements = index, elements
        self.item_bytes = 8 if any(line.kind in _EIGHT_BYTES for line in lines) else 4
        self.slot_bytes = self.item_bytes * LANES * -(-elements // LANES)  # functions compute whole vectors
        self.loops = _levels(lines)
        self.kinds = {line.target: line.kind for line in lines}
        self.maker = {line.target: i for i, loop in enumerate(self.loops) for line in loop}
        self.last_use = {name: i for i, loop in enumerate(self.loops) for line in loop for name in line.reads}
        self.slot: dict[str, int] = {}
        self.free: list[int] = []
        self.count = 0

    def best_length(self) -> int:
        """Return the elements of a strip outside of rows, by the slots that the loops need.

        The more values there are, the more arrays are read, and short strips spread these reads. Of a million elements,
        the gradient of Black-Scholes with 19 slots takes 0.86 of the time with strips of 32 instead of 256.
        """
        for i, loop in enumerate(self.loops):
            self._on_strip(i, loop)
        fitting = SLOTS_BYTES // (self.item_bytes * max(self.count, 1)) // LANES * LANES
        return min(max(fitting, SHORT_STRIP), STRIP)

    def loop(self, first: str, end: str, *, even: bool) -> InnerLoop:
        """Return the loop over the strips; if they are to be `even`, none has a few elements that others could take."""
        body = [text for i, loop in enumerate(self.loops) for text in self._on_strip(i, loop)]
        step = "step" if even else str(self.elements)
        text = [
            *(self._even_step(f"({end} - {first})") if even else []),
            f"for (int64_t strip = {first}; strip < {end}; strip += {step}) {{",
            f"    const int64_t length = {end} - strip < {step} ? {end} - strip : {step};",
            *["    " + line for line in body],
            "}",
        ]
        return InnerLoop(["{", *text, "}"] if even else text, self.slot_bytes * self.count)

    def _on_strip(self, i: int, loop: list[Line]) -> list[str]:
        """Return the lines of a loop; values that only earlier loops read leave their slots."""
        reads = dict.fromkeys([name for line in loop for name in line.reads if self.maker[name] != i])
        writes = [line.target for line in loop if self.last_use.get(line.target, i) != i]
        for name in writes:
            self._assign(name)
        text = self._called(loop[0]) if loop[0].function else self._written(loop, reads, writes)
        self.free += [self.slot[name] for name in reads if self.last_use[name] == i]
        return text

    def _assign(self, name: str) -> None:
        self.count += not self.free
        self.slot[name] = self.free.pop() if self.free else self.count - 1

    def _address(self, name: str) -> str:
        return f"strips + {self.slot_bytes * self.slot[name]}"

    def _pointer(self, letter: str, name: str, kind: str) -> str:
        return f"{kind} *restrict {letter}_{name} = ({kind} *)({self._address(name)});"

    def _called(self, line: Line) -> list[str]:
        """Return the call of an elementary function on a strip."""
        slots = ", ".join(map(self._address, (line.target, *line.reads)))
        return [f"as_strip_{line.function}(length, {slots});"]

    def _even_step(self, elements: str) -> list[str]:
        """Return the lines that compute the elements of strips of about one length, in whole vectors."""
        most = self.elements
        return [
            f"const int64_t cuts = ({elements} + {most - 1}) / {most};",
            f"const int64_t step = cuts ? (({elements} + cuts - 1) / cuts + {LANES - 1}) / {LANES} * {LANES} : {most};",
        ]

    def _written(self, loop: Sequence[Line], reads: Iterable[str], writes: Iterable[str]) -> list[str]:
        declared = [self._pointer("r", name, f"const {self.kinds[name]}") for name in reads]
        declared += [self._pointer("w", name, self.kinds[name]) for name in writes]
        head = [
            "for (int64_t k = 0; k < length; k++) {",
            f"    const int64_t {self.index} = strip + k;",
            *[f"    const {self.kinds[name]} {name} = r_{name}[k];" for name in reads],
        ]
        body = _simd(loop, head, [f"w_{name}[k] = {name};" for name in writes])
        return ["{", *["    " + line for line in [*declared, *body]], "}"]


def function_of(text: str, operands: Sequence[str]) -> str:
    """Return the elementary function that a text is a call of, on different locals; "" if it is not."""
    match = _CALL.match(text)
    called = f"as_{match[1]}({', '.join(f'{{{i}}}' for i in range(len(operands)))})" if match else ""
    return match[1] if match and text == called and len(set(operands)) == len(operands) else ""
