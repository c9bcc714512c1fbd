"""Innermost loops in C: one loop over the lines, or several over strips where that takes less time.

A compiler runs out of registers in a loop with many elementary functions, and takes long to compile it. So such a loop
is cut into strips of elements that fit the nearest cache. On a strip, each elementary function runs in a loop of its
own, and loops between them compute the rest. Values that several of these loops mention go through slots, which are
used again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from anyshape.backend.native.elementary import ELEMENTARY, LANES

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
