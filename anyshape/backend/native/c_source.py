"""Text in C of a fusion group: one function that computes a range of rows, at any sizes.

    int64_t name(int64_t lo, int64_t hi, int64_t part, const char *arrays, int64_t s0, ...)

It reads the arrays from a tuple, checks their axes against the sizes, and computes the rows from `lo` to `hi`. Partial
results of reductions along the rows go to position `part`. The result is `DECLINED`, or the flags of floating-point
arithmetic as `as_flags` gives them.

A group whose values have all axes or none is written twice. One loop runs over all elements of arrays in C order.
Loops in rows serve other strides.

Other groups are written twice too. Where rows are short, the innermost loop runs over some rows at a fixed position in
each, so that it has enough elements for vectors.

Share the exponential of an error function with its derivative.

An error function is computed from exp(-x**2), which is its derivative but for a factor. Where a group has both, the
exponential is an operand of the error function. Its bits are the same as if it were not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from anyshape.backend.compiler.c_expressions import CText, suffix
from anyshape.backend.native.c_loops import DECLINED, CArray, Loop, NestSource, accumulated, loop_nests, starts_of
from anyshape.backend.native.statements import Axis, Gather, Map, Operand, Reduce, Statement, Statements, Total, Value
from anyshape.backend.native.toolchain import UNDERFLOWS
from anyshape.graph.sizes.expr import Size

BLOCK = 1024  # elements whose sum has one accumulator of vectors; sums of blocks are added up
MAX_SHORT = 24  # elements along the last axis of a short row; where it is longer, loops in rows take less time
MIN_ROWS = 8  # that are computed at once, where rows are short
MAX_ROWS = 64
MAX_ROW = 1 << 16  # elements of a short row
ROWS_ELEMENTS = 1 << 15  # of these rows: buffers of them have to fit a cache


@dataclass(frozen=True, slots=True)
class KernelText:
    """Text of a kernel, in which `@name@` stands for its name, and what a caller passes.

    - `reads`, `writes`, `totals`: the slots of the arrays in the tuple, in this order.
    - `sizes`: the sizes after the arrays.
    - `least`: the size of the last axis, if calls with a short one are left to NumPy.
    """

    text: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    totals: tuple[str, ...]
    sizes: tuple[Size, ...]
    least: Size | None


def kernel_text(group: Statements) -> KernelText:
    """Return the text of a group. Raises NotExpressible."""
    return _KernelSource(replace(group, statements=with_shared_exponentials(group.statements))).write()


class _KernelSource:
    """Writes the function of a group."""

    def __init__(self, group: Statements, *, across_rows: bool = False) -> None:
        self.group = group
        self.nests = loop_nests(group, across_rows=across_rows)
        self.axes = [axis for loop in self.nests.loops for axis in loop.axes]
        loops = self.nests.loops_of
        self.reads = [CArray(f"a{i}", v, loops(v), v.varies, False) for i, v in enumerate(group.reads)]
        self.writes = [CArray(f"o{i}", v, loops(v), True, True) for i, v in enumerate(group.writes)]
        targets = [total.target for total in group.totals]
        self.totals = [CArray(f"t{i}", v, loops(v), True, True) for i, v in enumerate(targets)]
        self.rowed = [array for array in (*self.reads, *self.writes) if array.has_rows]

    def write(self) -> KernelText:
        """Return the text, and what a caller passes."""
        lines = [*self._checks(), *[self._length(loop) for loop in self.nests.loops if loop.axes]]
        lines += self._variants()
        sizes = "".join([f", int64_t s{i}" for i in range(len(self.axes))])
        head = f"int64_t @name@(int64_t lo, int64_t hi, int64_t part, const char *arrays{sizes})"
        text = "\n".join([head, "{", *indented(lines), "}", ""])
        return KernelText(
            text,
            tuple([array.value.slot for array in self.reads]),
            tuple([array.value.slot for array in self.writes]),
            tuple([array.value.slot for array in self.totals]),
            tuple([axis.size for axis in self.axes]),
            self.axes[-1].size if self._gathers() else None,
        )

    def _gathers(self) -> list[Gather]:
        """Return the reads of rows by an index."""
        return [s for s in self.group.statements if isinstance(s, Gather)]

    def _checks(self) -> list[str]:
        """Return the lines that read the arrays, and decline other axes than these, or a choice among no rows."""
        lines: list[str] = []
        for position, array in enumerate((*self.reads, *self.writes, *self.totals), 1):
            lines += array.reads(position, ["1" if axis is None else self._size(axis) for axis in array.value.axes])
        gathered = {s.array.slot for s in self._gathers()}
        tables = [array for array in self.reads if array.value.slot in gathered]
        lines += [f"if ({array.local}_->dims[0] < hi) return {DECLINED};" for array in self.rowed]
        return lines + [f"if (!{array.local}_->dims[0]) return {DECLINED};" for array in tables]

    def _length(self, loop: Loop) -> str:
        """Return the line that computes how many elements a loop has."""
        return f"const int64_t m{loop.number} = {' * '.join(map(self._size, loop.axes))};"

    def _size(self, axis: Axis) -> str:
        """Return the parameter that has the size of a loop axis."""
        return f"s{self.axes.index(axis.root())}"

    def _variants(self) -> list[str]:
        """Return the body: one loop over all elements where arrays lie in C order, and else loops in rows."""
        begin = ["int64_t declined = 0;", "feclearexcept(FE_ALL_EXCEPT);"]
        end = [f"return declined ? {DECLINED} : as_flags(){self._silent_flags()};"]
        in_order = " & ".join([array.is_in_order() for array in self.rowed]) or "1"
        if not self.nests.loops:
            return ["int64_t stride;", f"if (!({in_order})) return {DECLINED};", *begin, *self._flat("lo", "hi"), *end]
        strides = [line for array in (*self.reads, *self.writes, *self.totals) for line in array.strides()]
        if not self._is_flat():
            return [*strides, *begin, *self._by_length(), *end]
        rows = [*strides, *begin, *self._in_rows(), *end]
        flat = indented([*begin, *self._flat("lo * m0", "hi * m0"), *end])
        return ["int64_t stride;", f"if ({in_order}) {{", *flat, "}", *rows]

    def _silent_flags(self) -> str:
        """Return what adds the flag of underflow, if a function returns 0 without raising it."""
        texts = [s.text.value for s in self.group.statements if isinstance(s, Map)]
        return " | AS_UNDERFLOW" if any(name in text for name in UNDERFLOWS for text in texts) else ""

    def _is_flat(self) -> bool:
        """Return whether one loop over rows and all axes computes the group."""
        statements = self.group.statements
        if len(self.nests.loops) > 1 or any(isinstance(s, Reduce) for s in statements):
            return False
        computed = [s.target for s in statements if isinstance(s, Map)]
        values = [*self.group.reads, *self.group.writes, *computed]
        return all(bool(v.loop_axes()) == v.varies for v in values) and not any(t.loops for t in self.totals)

    # -- one loop

    def _flat(self, lo: str, hi: str) -> list[str]:
        """Return the loop over all elements, in blocks whose sums have accumulators of their own."""
        inner = NestSource(self.nests, self._arrays(), (), is_flat=True)
        for nest in self.nests.nests:
            inner.add(nest)
        block = [
            *self._starts("q", self.group.totals),
            *inner.innermost("i", "begin", "end"),
            *self._sums(self.group.totals),
        ]
        return [
            *_allocated([], inner.slot_bytes),
            *[array.number() for array in self.reads if not array.has_rows],
            *[array.pointer(array.local) for array in self.rowed],
            *self._starts("", self.group.totals),
            f"for (int64_t begin = {lo}; begin < {hi}; begin += {BLOCK}) {{",
            f"    const int64_t end = begin + {BLOCK} < {hi} ? begin + {BLOCK} : {hi};",
            *indented(block),
            "}",
            *self._results(self.group.totals),
            *(["free(buffers);"] if inner.slot_bytes else []),
        ]

    def _arrays(self) -> dict[tuple[str, str], CArray]:
        """Return the arrays by the letter of their locals and their slots."""
        return {(array.local[0], array.value.slot): array for array in (*self.reads, *self.writes, *self.totals)}

    def _starts(self, prefix: str, totals: Sequence[Total]) -> list[str]:
        """Return the lines that begin the accumulators of totals without axes, or of their sums in a block."""
        kinds = [(accumulated(t, self._arrays()), t.reduction) for t in totals]
        return [f"{r.accumulator} {prefix}{local} = {r.start};" for local, r in kinds]

    def _sums(self, totals: Sequence[Total]) -> list[str]:
        """Return the lines that add the sums of a block to the sums of the kernel."""
        kinds = [(accumulated(t, self._arrays()), t.reduction) for t in totals]
        return [f"{local} = {r.combine.format(local, f'q{local}')};" for local, r in kinds]

    def _results(self, totals: Sequence[Total]) -> list[str]:
        """Return the lines that write partial results without axes."""
        arrays = [self._arrays()["t", total.target.slot] for total in totals]
        return [f"*({t.kind} *)({t.local}_d + part * {t.local}_r) = ({t.kind}){t.local}_sum;" for t in arrays]

    # -- loops in rows

    def _by_length(self) -> list[str]:
        """Return the loops in rows, and loops across rows for short ones."""
        if self._gathers():
            return self._in_rows()
        across = _KernelSource(self.group, across_rows=True)._in_rows()
        last, row = f"m{self.nests.loops[-1].number}", " * ".join([f"m{loop.number}" for loop in self.nests.loops])
        is_short = f"{last} <= {MAX_SHORT} && {row} <= {MAX_ROW}"
        head = f"if (hi - lo >= {MIN_ROWS} && {is_short}) {{"
        return [head, *indented(across), "} else {", *indented(self._in_rows()), "}"]

    def _in_rows(self) -> list[str]:
        """Return the loops in rows, or across rows."""
        totals = [t for t in self.group.totals if not t.target.loop_axes()]
        numbers = [array for array in self.reads if not array.loops]
        body = [array.number(f"i * {array.local}_r") for array in numbers if array.has_rows]
        body += self._starts("q", totals)
        slot_bytes = 0
        for number, nest in enumerate(self.nests.nests):
            source = NestSource(self.nests, self._arrays(), nest.loops, number=number)
            source.add(nest)
            body += source.nested()
            slot_bytes = max(slot_bytes, source.slot_bytes)
        body += self._sums(totals)
        allocated = self._buffers(slot_bytes)
        return [
            *self._rows_at_once(),
            *allocated,
            *[array.number() for array in numbers if not array.has_rows],
            *self._starts("", totals),
            *starts_of(self.totals, self.group.totals),
            *self._over_rows(),
            *indented(body),
            "}",
            *self._results(totals),
            *(["free(buffers);"] if allocated else []),
        ]

    def _rows_at_once(self) -> list[str]:
        """Return the line that computes how many rows run at once."""
        if not self.nests.across_rows:
            return []
        row = " * ".join([f"m{loop.number}" for loop in self.nests.loops if loop.axes])
        some = f"{row} > {ROWS_ELEMENTS // MIN_ROWS} ? {MIN_ROWS} : {ROWS_ELEMENTS} / ({row}) / {MIN_ROWS} * {MIN_ROWS}"
        return [f"const int64_t mr = {row} <= {ROWS_ELEMENTS // MAX_ROWS} ? {MAX_ROWS} : {some};"]

    def _over_rows(self) -> list[str]:
        """Return the head of the loop over the rows, or over some rows at once."""
        if not self.nests.across_rows:
            return ["for (int64_t i = lo; i < hi; i++) {"]
        return [
            "const int64_t most = mr;",
            "for (int64_t i = lo; i < hi; i += most) {",
            "    const int64_t mr = hi - i < most ? hi - i : most;",
        ]

    def _buffers(self, slot_bytes: int) -> list[str]:
        """Return the lines that allocate a row of each value that other nests read, and slots of strips."""
        rows = [
            (
                v.name,
                kind,
                " * ".join([f"(int64_t)sizeof({kind})", *[f"m{loop.number}" for loop in self.nests.loops_of(v)]]),
            )
            for v, kind in self.nests.buffers()
        ]
        return _allocated(rows, slot_bytes)


def _allocated(rows: Sequence[tuple[str, str, str]], slot_bytes: int) -> list[str]:
    """Return the lines that allocate buffers of rows, each by a name, a type and bytes, and the slots of strips."""
    if not rows and not slot_bytes:
        return []
    whole = [f"({size} + 63) / 64 * 64" for *_, size in rows]
    lines = [f"char *buffers = malloc({' + '.join([*whole, str(slot_bytes + 64)])});"]
    lines.append(f"if (!buffers) return {DECLINED};")
    lines.append("char *strips = (char *)(((uintptr_t)buffers + 63) / 64 * 64);")
    lines += [f"char *buffer = strips + {slot_bytes};"] if rows else []
    for (name, kind, _), size in zip(rows, whole, strict=True):
        lines += [f"{kind} *restrict b_{name} = ({kind} *)buffer;", f"buffer += {size};"]
    return lines


def indented(lines: Iterable[str]) -> list[str]:
    """Return lines of an inner block."""
    return ["    " + line for line in lines]


_SQUARES = ("({0} * {0})", "({0} * {1})")
_Identity: TypeAlias = tuple[str, tuple[Axis, ...]]


def with_shared_exponentials(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return statements in which error functions read exponentials that the group computes too."""
    makers = {s.target.name: s for s in statements if isinstance(s, Map)}
    candidates = [_chain(maker, makers) for maker in makers.values()]
    chains = {_identity(chain[0].operands[0]): chain for chain in candidates if chain}
    result: dict[Statement, None] = {}  # each once, in order
    for statement in statements:
        if _is_call(statement, "erf") and (chain := chains.get(_identity(statement.operands[0]))):
            result.update(dict.fromkeys(chain))
            result[_with_exponential(statement, chain[-1].target)] = None
        else:
            result[statement] = None
    return tuple(result)


def _is_call(statement: Statement, name: str) -> TypeGuard[Map]:
    """Return whether a statement calls an elementary function of one operand."""
    return isinstance(statement, Map) and statement.text.value == f"as_{name}{suffix(statement.target.dtype)}({{0}})"


def _chain(statement: Map, makers: Mapping[str, Map]) -> tuple[Map, ...]:
    """Return the statements that compute exp(-x**2), in order, if a statement is the last of them; else none."""
    if not _is_call(statement, "exp"):
        return ()
    negative = _maker(statement, makers)
    square = _maker(negative, makers) if negative is not None and negative.text.value == "(-{0})" else None
    if negative is None or square is None or square.text.value not in _SQUARES:
        return ()
    return (square, negative, statement) if len({_identity(x) for x in square.operands}) == 1 else ()


def _maker(statement: Map, makers: Mapping[str, Map]) -> Map | None:
    """Return the statement that computes the first operand, if that has the axes of the result."""
    operand = statement.operands[0]
    maker = makers.get(operand.name) if isinstance(operand, Value) else None
    return maker if maker is not None and _identity(operand)[1] == maker.target.loop_axes() else None


def _identity(operand: Operand) -> _Identity:
    """Return what tells operands apart."""
    return (operand.name, operand.loop_axes()) if isinstance(operand, Value) else (operand, ())


def _with_exponential(statement: Map, exponential: Value) -> Map:
    """Return the statement of an error function that reads an exponential."""
    text = CText(f"as_erf_given{suffix(statement.target.dtype)}({{0}}, {{1}})")
    return Map(statement.target, text, (statement.operands[0], exponential))
