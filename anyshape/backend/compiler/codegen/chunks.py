"""Chunks: a long generated function is cut into short ones, as compiling one takes memory in proportion to its lines.

Cutting changes no order and no lifetime. Names that one chunk alone mentions stay its locals. Any other name that the
steps assign becomes a place in a list that all chunks share, in each line that mentions it. Names that are bound before
the steps are passed as arguments.

Lines are as the writers of steps write them: targets stand first, and each block is indented by four spaces.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.bodies import FunctionSource
from anyshape.backend.compiler.plan import Step
from anyshape.support.lazy_dataclass import dataclass

MAX_LINES = 300  # of a chunk; a function is cut from twice as many on
MIN_LINES = 8  # of a block that is worth a function
_SHARED = "_values"  # the list of the values that several chunks mention
# Compiled where long code is cut: few plans have any.
_NAME = r"(?<![\w.'\"])[A-Za-z_]\w*(?!\w|=[^=]|['\"])"  # no attribute, keyword or text
_TARGETS = r"(?:^\s*|: )((?:[A-Za-z_]\w*, )*[A-Za-z_]\w*),? (?:[-+*/|&^]|//)?= |^\s*for (\w+(?:, \w+)*) in "
_LEAVES = r"(?:^\s*|: )(return|break|continue)\b"
Marks = Sequence[tuple[int, Step]]  # steps, each with the number of lines before it


@dataclass(frozen=True)
class Chunked:
    """Lines of a function that calls chunks, and the chunks."""

    lines: list[str]
    marks: list[tuple[int, Step]]
    chunks: tuple[FunctionSource, ...]


def chunked(name: str, lines: Sequence[str], marks: Marks, first: int, outer: Collection[str]) -> Chunked:
    """Cut the steps of a function, which begin at line `first`, if they are long.

    `outer` are its parameters, and the locals of functions that it stands in.
    """
    if len(lines) - first <= 2 * MAX_LINES:
        return Chunked([*lines], [*marks], ())
    return _Cutting(name, lines, marks, first, outer).result()


def assigned(line: str) -> list[str]:
    """Return the names that a line assigns or deletes."""
    code = line.lstrip()
    if code.startswith("del "):
        return code[4:].split(", ")
    targets = [group for match in re.finditer(_TARGETS, line) for group in match.groups() if group]
    return [name for target in targets for name in target.split(", ")]


def _assigned(lines: Sequence[str]) -> dict[str, None]:
    """Return the names that lines assign or delete, in order."""
    return dict.fromkeys([name for line in lines for name in assigned(line)])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class _Cutting:
    """Function that is cut into regions: the lines that stay, and chunks.

    - `remaining`: positions of the lines that stay. A chunk stands as its number, with the indentation of its call.
    - `chunks`: the positions of the lines of each chunk.
    """

    def __init__(self, name: str, lines: Sequence[str], marks: Marks, first: int, outer: Collection[str]) -> None:
        self.name, self.lines, self.first = name, lines, first
        self.counts, self.steps = [count for count, _ in marks], [step for _, step in marks]
        self.names = [re.findall(_NAME, line) for line in lines]  # that each line mentions
        self.leaving = [i for i, line in enumerate(lines) if re.search(_LEAVES, line)]
        self.remaining: list[int | tuple[int, int]] = []
        self.chunks: list[list[int]] = []
        self._cut(0, len(lines), 0)
        self.mentioned = [self._mentioned(chunk) for chunk in self.chunks]
        by_steps = _assigned(lines[first:])
        self.shared = self._shared_names(by_steps, outer)
        self.passed = {*_assigned(lines[:first]), *outer}.difference(by_steps)
        self.initial = [name for name in self.shared if name in outer]

    def _mentioned(self, positions: Sequence[int]) -> set[str]:
        """Return the names that these lines mention."""
        return set().union(*[self.names[i] for i in positions])

    def _shared_names(self, by_steps: Collection[str], outer: Collection[str]) -> dict[str, str]:
        """Return the names that the steps assign and several regions mention, each with its place in the list."""
        stays = self._mentioned([i for i in self.remaining if isinstance(i, int)]).union(outer)
        regions = Counter([name for names in (stays, *self.mentioned) for name in names])
        shared = [name for name in by_steps if regions[name] > 1]
        return {name: f"{_SHARED}[{i}]" for i, name in enumerate(shared)}

    # -- where to cut

    def _cut(self, start: int, stop: int, indent: int) -> None:
        """Cut the block between two positions."""
        pending: list[int] = []
        for low, high in self._statements(start, stop, indent):
            if low >= self.first and high - low <= MAX_LINES and not self._leaves(low, high):
                if len(pending) + high - low > MAX_LINES:
                    self._flush(pending, indent)
                    pending = []
                pending += range(low, high)
                continue
            self._flush(pending, indent)
            pending = []
            if high <= self.first or high - low <= MAX_LINES:
                self.remaining += range(low, high)
            else:
                self._open(low, high, indent)
        self._flush(pending, indent)

    def _open(self, low: int, high: int, indent: int) -> None:
        """Keep the headers of a compound statement, and cut its blocks."""
        headers = [i for i in range(low, high) if not self.lines[i].startswith(" ", indent)]
        for header, end in zip(headers, [*headers[1:], high], strict=True):
            self.remaining.append(header)
            self._cut(header + 1, end, indent + 4)

    def _flush(self, pending: Sequence[int], indent: int) -> None:
        """Make a chunk of these lines, unless they are few."""
        if len(pending) < MIN_LINES:
            self.remaining += pending
        else:
            self.remaining.append((len(self.chunks), indent))
            self.chunks.append([*pending])

    def _statements(self, start: int, stop: int, indent: int) -> Iterator[tuple[int, int]]:
        """Yield where each statement of a block begins and ends."""
        begin = start
        for i in range(start + 1, stop + 1):
            if i == stop or not self.lines[i].startswith((" ", "else", "elif "), indent):
                yield begin, i
                begin = i

    def _leaves(self, low: int, high: int) -> bool:
        """Return whether a line leaves the function, or a loop that begins before these lines."""
        first = bisect_left(self.leaving, low)
        if first == len(self.leaving) or self.leaving[first] >= high:  # the usual case
            return False
        between = self.leaving[first : bisect_left(self.leaving, high)]
        return any("return" in self.names[i] or not self._is_in_loop(i, low) for i in between)

    def _is_in_loop(self, i: int, low: int) -> bool:
        """Return whether a line stands in a loop that begins at `low` or later."""
        indent = _indent(self.lines[i])
        for line in reversed(self.lines[low:i]):
            if _indent(line) < indent:
                indent = _indent(line)
                if line.startswith(("while ", "for "), indent):
                    return True
        return False

    # -- the text

    def result(self) -> Chunked:
        """Return the function that is left, and the chunks."""
        lines = [f"{_SHARED} = [None] * {len(self.shared)}", *[f"{self.shared[n]} = {n}" for n in self.initial]]
        origins: list[int | None] = [None] * len(lines)
        for item in self.remaining:
            if isinstance(item, int):
                lines += (line := self._line(item))
                origins += [item] * len(line)
            else:
                number, indent = item
                lines.append(f"{' ' * indent}{naming.chunk(self.name, number)}({self._arguments(number)})")
                origins.append(None)
        return Chunked(lines, self._marks(origins), tuple([self._chunk(i) for i in range(len(self.chunks))]))

    def _arguments(self, number: int) -> str:
        return ", ".join([_SHARED, *sorted(self.passed.intersection(self.mentioned[number]))])

    def _chunk(self, number: int) -> FunctionSource:
        positions = self.chunks[number]
        first = self.lines[positions[0]]
        indent = len(first) - len(first.lstrip())
        lines: list[str] = []
        origins: list[int | None] = []
        for i in positions:
            written = [f"    {line[indent:]}" for line in self._line(i)]
            lines += written
            origins += [i] * len(written)
        head = f"def {naming.chunk(self.name, number)}({self._arguments(number)}):"
        return FunctionSource("\n".join([head, *lines]), tuple([(2 + i, step) for i, step in self._marks(origins)]))

    def _line(self, i: int) -> list[str]:
        """Return a line with shared values in place of names. A value that is deleted leaves the list."""
        line = self.lines[i]
        if self.shared.keys().isdisjoint(self.names[i]):
            return [line]
        code = line.lstrip()
        if not code.startswith("del "):
            return [re.sub(_NAME, lambda match: self.shared.get(match[0], match[0]), line)]
        names, indent = code[4:].split(", "), line[: len(line) - len(code)]
        own = ", ".join([name for name in names if name not in self.shared])
        cleared = "".join([f"{self.shared[name]} = " for name in names if name in self.shared])
        return [f"{indent}{text}" for text in (own and f"del {own}", cleared and f"{cleared}None") if text]

    def _marks(self, origins: Sequence[int | None]) -> list[tuple[int, Step]]:
        """Return where the lines of each step begin, for lines that come from these positions."""
        marks: list[tuple[int, Step]] = []
        latest = -1
        for count, origin in enumerate(origins):
            mark = -1 if origin is None else bisect_right(self.counts, origin) - 1
            if mark not in (-1, latest):
                marks.append((count, self.steps[mark]))
                latest = mark
        return marks
