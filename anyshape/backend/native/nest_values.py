"""Values of a nest of loops in C: memory, and elements that are computed where they are read.

A value knows the text of its element at given indices. Views and elementwise steps make no memory: their text reads
their operands. What is read more than once is settled: a loop writes its elements to memory of the trip.

Memory that a step writes to in place is a `Buffer`. A value that reads it, and is read later than that, is settled
before the write.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.compiler.c_expressions import c_type
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.sizes.expr import Call, Size

Texts: TypeAlias = tuple[str, ...]
At: TypeAlias = Callable[[Sequence[str]], str]
Before: TypeAlias = tuple[list[str], dict[str, str], int]  # the lines, sizes and note of the block around another one
DEEPEST = 24  # steps in one expression of C


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory of a local pointer. `owned`: a step may write to it in place."""

    name: str
    owned: bool


@dataclass(eq=False, slots=True)
class Array:
    """Value of a nest.

    - `dims`: texts of its sizes: numbers and locals.
    - `at`: gives the text of the element at some indices.
    - `buffer`: the memory that holds all of it in C order, if it is that.
    - `parts`: the arrays that its elements are read from, which may be settled later.
    - `depth`: how many steps compute an element; 0 for memory and views of it.
    - `adds`: writes the lines that add the elements to others, whose texts its argument gives: for sums of a few parts,
      whose other elements are 0. Such sums have memory of their own only where something else reads them.
    - `fills`: writes the parts to zeros instead, where to add them would lose the sign of a zero.
    - `pieces`: an axis, and the arrays that follow one another along it.
    """

    dtype: np.dtype
    dims: Texts
    at: At
    buffer: Buffer | None = None
    parts: tuple[Array, ...] = ()
    depth: int = 0
    adds: Callable[[At], None] | None = None
    fills: Callable[[At], None] | None = None
    pieces: tuple[int, Sequence[Array]] | None = None

    @property
    def kind(self) -> str:
        return kind_of(self.dtype)

    @property
    def is_sum(self) -> bool:
        """True for a sum of a few parts, whose elements have no text of their own."""
        return self.at is _unsettled

    @property
    def has_parts(self) -> bool:
        """True if the elements of a few parts are all that adding it changes."""
        return self.adds is not None and not self.is_zero

    @property
    def is_zero(self) -> bool:
        """True for zeros that need no memory."""
        return self.adds is nothing

    def reads(self) -> set[Buffer]:
        """Return the buffers that its elements are read from."""
        buffers: set[Buffer] = set()
        seen, left = {id(self)}, [self]
        while left:
            x = left.pop()
            if x.buffer is not None:
                buffers.add(x.buffer)
                continue
            left += [y for y in x.parts if id(y) not in seen]
            seen.update(map(id, x.parts))
        return buffers


def nothing(at: At) -> None:
    """Add zeros."""


def kind_of(dtype: np.dtype) -> str:
    """Return the type in C of a dtype. Raises NotExpressible."""
    kind = c_type(dtype)
    if kind is None:
        raise NotExpressible(f"values of {dtype}")
    return kind


NEW = "#pragma GCC ivdep"  # before a loop that writes memory which it reads nowhere else


class Lines:
    """Lines of a function of C, with names that are used once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.top: list[str] = []  # declarations at the beginning of the function
        # locals of rows whose number a run decides, which have memory of their own, or none where all are zeros
        self.rows: dict[Buffer | Array, str] = {}
        self.freed: list[str] = []  # locals of all memory that is freed at the end of the function
        self.numbers = itertools.count()
        self.known: dict[str, str] = {}  # locals of sizes in this block, by their texts
        self.allocates = False  # since the loop that is written began
        self.sources: dict[SourceLine, int] | None = None  # numbers of lines of the user, where these are noted
        self.noted = 0  # the number of the last one in this block
        self.called: list[Any] = []  # steps that NumPy runs
        self.links: list[Any] = []  # functions that are called by their addresses

    def name(self, letter: str) -> str:
        """Return a local that is new."""
        return f"{letter}{next(self.numbers)}"

    def add(self, *lines: str) -> None:
        self.lines += lines

    def note(self, where: SourceLine | None) -> None:
        """Write the number of the user's line that the next lines compute, if that is asked for; see `NestText`."""
        if self.sources is None or where is None:
            return
        number = self.sources.setdefault(where, len(self.sources) + 1)
        if number != self.noted:
            self.noted = number
            self.add(f"AS_LINE({number})")

    def collect(self) -> Before:
        """Begin to collect the lines of a block, and return what was before; see `end`."""
        before = self.lines, self.known, self.noted
        self.lines, self.known, self.noted = [], dict(self.known), 0
        return before

    def end(self, before: Before) -> list[str]:
        """Return the lines that were collected, and go on after the ones before."""
        collected, (self.lines, self.known, self.noted) = self.lines, before
        return collected

    def grown(self) -> str:
        """Return a local of memory that grows, which lasts until the end of the function."""
        local = self.name("g")
        self.top.append(f"as_rows {local} = {{0}};")
        self.freed.append(local)
        return local

    def size(self, text: str) -> str:
        """Return a local that holds a size, or the number that it is."""
        if text.isidentifier() or text.isdigit():
            return text
        if text not in self.known:
            local = self.known[text] = self.name("n")
            self.add(f"const int64_t {local} = {text};")
        return self.known[text]

    def once(self, key: str, write: Callable[[], str]) -> str:
        """Return the local that lines of this block hold a value in, which are written unless they are by now.

        The key tells the value from any other, by locals that do not change.
        """
        if key not in self.known:
            self.known[key] = write()
        return self.known[key]

    def scalar(self, dtype: np.dtype, text: str) -> Array:
        """Return a number that is computed here."""
        local = self.name("v")
        self.add(f"const {kind_of(dtype)} {local} = {text};")
        return scalar(dtype, local)

    def allocated(self, dtype: np.dtype, dims: Texts) -> Array:
        """Return memory of the trip, with no elements yet."""
        buffer, kind = Buffer(self.name("p"), True), kind_of(dtype)
        self.allocates = True
        self.add(f"{kind} *{buffer.name} = as_alloc(&arena, {bytes_of(dims, kind)});")
        self.add(f"if (!{buffer.name}) AS_FAIL")
        return whole(dtype, dims, buffer)

    def moved(self, buffer: Buffer, memory: str) -> bool:
        """Let memory that this block allocates be other memory of its size; return whether it could."""
        for k, line in enumerate(self.lines):
            if f" *{buffer.name} = as_alloc(" in line:
                self.lines[k] = f"{line.split(' = ')[0]} = {memory};"
                return True
        return False

    def filled(self, target: Array, source: Array, pragma: str = "") -> None:
        """Write the elements of an array to memory of the same sizes; `pragma` as in `over`."""
        if source.is_sum and source.adds is not None:
            self.over(target.dims, lambda i: [f"{target.at(i)} = 0;"])
            (source.fills or source.adds)(target.at)
            return
        if source.buffer is not None and target.buffer is not None and source.dims:
            count = product(target.dims)
            self.add(f"memcpy({target.buffer.name}, {source.buffer.name}, {count} * sizeof({target.kind}));")
            return
        self.over(target.dims, lambda i: [f"{target.at(i)} = {source.at(i)};"], pragma)

    def over(self, dims: Sequence[str], body: Callable[[list[str]], list[str]], pragma: str = "") -> None:
        """Write loops over indices below these sizes; `pragma` stands before the innermost."""
        indices = [self.name("i") if n != "1" else "0" for n in dims]
        open_loops = [(i, n) for i, n in zip(indices, dims, strict=True) if n != "1"]
        for k, (i, n) in enumerate(open_loops):
            if pragma and k == len(open_loops) - 1:
                self.add(pragma)
            self.add(f"for (int64_t {i} = 0; {i} < {n}; {i}++) {{")
        before = self.collect()
        self.add(*body(indices))
        inner = self.end(before)
        self.add(*inner, "}" * len(open_loops))

    def settle(self, x: Array) -> Array:
        """Let an array be memory from here on, and return it."""
        if x.dims and x.buffer is None:
            become(x, self.copied(x))
        return x

    def settle_computed(self, *xs: Array) -> None:
        """Let arrays be memory that steps compute; views of memory are read as they are."""
        for x in xs:
            if x.depth:
                self.settle(x)

    def copied(self, x: Array) -> Array:
        """Return a copy of an array in memory of the trip."""
        result = self.allocated(x.dtype, x.dims)
        if x.pieces is None:
            self.filled(result, x, NEW)
            return result
        (axis, pieces), starts = x.pieces, ["0"] * len(x.dims)
        for piece in pieces:
            at = lambda i: result.at(along(i, tuple(starts), ("1",) * len(i)))
            self.over(piece.dims, lambda i: [f"{at(i)} = {piece.at(i)};"], NEW)  # noqa: B023
            starts[axis] = f"{starts[axis]} + {piece.dims[axis]}"
        return result


def become(x: Array, other: Array) -> None:
    """Let an array be another one, of the same elements, for all that reads it."""
    x.at, x.buffer, x.parts, x.depth = other.at, other.buffer, other.parts, other.depth
    x.adds = x.fills = x.pieces = None


def scalar(dtype: np.dtype, text: str) -> Array:
    """Return a number that a local or a constant holds."""
    return Array(dtype, (), lambda _: text)


def whole(dtype: np.dtype, dims: Texts, buffer: Buffer) -> Array:
    """Return the array that a buffer holds in C order."""
    return Array(dtype, dims, lambda i: f"{buffer.name}[{flat(i, dims)}]", buffer)


def flat(indices: Sequence[str], dims: Sequence[str]) -> str:
    """Return the text of the position of an element in C order."""
    text = "0"
    for i, n in zip(indices, dims, strict=True):
        text = i if text == "0" else f"({text}) * {n} + ({i})"
    return text


def along(indices: Sequence[str], starts: Texts, steps: Texts) -> list[str]:
    """Return indices into an array from indices into a slice of it."""
    scaled = [i if s == "1" else f"({i}) * {s}" for i, s in zip(indices, steps, strict=True)]
    return [i if s == "0" else s if i == "0" else f"{i} + {s}" for i, s in zip(scaled, starts, strict=True)]


def stretched(index: str, mine: str, whole: str) -> str:
    """Return the index along an axis that may be stretched."""
    if mine == whole:
        return index
    return "0" if mine == "1" else f"({mine} == 1 ? 0 : {index})"


def product(dims: Iterable[str]) -> str:
    """Return the text of a number of elements."""
    factors = [n for n in dims if n != "1"]
    return " * ".join(factors) or "1"


def bytes_of(dims: Sequence[str], kind: str) -> str:
    """Return the text of the bytes of elements, which is less than 0 if they are too many for an int64."""
    size = f"(int64_t)sizeof({kind})"
    if all(n.isdigit() for n in dims):
        return f"{product(dims)} * {size}"
    return f"as_bytes({' * '.join([f'(double){n}' for n in dims])}, {product(dims)} * {size})"


def sparse(
    dtype: np.dtype,
    dims: Texts,
    parts: Sequence[Array],
    adds: Callable[[At], None],
    fills: Callable[[At], None] | None = None,
) -> Array:
    """Return a sum of a few parts, whose other elements are 0."""
    count = 1 + sum([x.depth for x in parts if x.adds is not None])
    return Array(dtype, dims, _unsettled, None, tuple(parts), count, adds, fills)


def _unsettled(indices: Sequence[str]) -> str:
    raise AssertionError("elements of a sum of parts that has no memory")


def derived(x: Array, dims: Texts, at: At, *others: Array, dtype: np.dtype | None = None, steps: int = 0) -> Array:
    """Return an array whose elements are read from x and others; they are computed where they are read."""
    parts = (x, *others)
    return Array(dtype or x.dtype, dims, at, None, parts, max([y.depth for y in parts]) + steps)


def again(x: Array) -> Array:
    """Return an array as a value that is not memory itself, so that it is copied."""
    return x if x.buffer is None else Array(x.dtype, x.dims, x.at, None, (x,))


def unowned(x: Array) -> Array:
    """Return an operand that a subgraph reads alone; what it settles, it settles for itself."""
    buffer = None if x.buffer is None else Buffer(x.buffer.name, False)
    return Array(x.dtype, x.dims, x.at, buffer, (x,), x.depth, x.adds, x.fills, x.pieces)


@dataclass(eq=False, slots=True)
class Sizes:
    """Texts of sizes; `leaf` gives the text of a variable or of an axis."""

    leaf: Callable[[Any], str]
    known: dict[Any, str] = field(default_factory=dict)

    def text(self, size: Size) -> str:
        """Return the text of a size."""
        if isinstance(size, int):
            return str(size) if size >= 0 else f"({size})"
        terms = []
        for monomial, coefficient in size.terms:
            factors = [self._atom(atom) for atom, power in monomial for _ in range(power)]
            terms.append(" * ".join(factors if coefficient == 1 and factors else [f"({coefficient})", *factors]))
        return terms[0] if len(terms) == 1 and "*" not in terms[0] else f"({' + '.join(terms)})"

    def _atom(self, atom: Any) -> str:
        if not isinstance(atom, Call):
            return self.leaf(atom)
        first, *others = map(self.text, atom.args)
        for other in others:
            first = f"as_{atom.function}({first}, {other})"
        return first
