"""Open groups: fusion groups that further steps may join, found by the slots that they make or read.

Two open groups of the same rows never touch one slot: they would be one. So a slot and a number of rows name a group.
A step finds the groups of its operands in a few look-ups, however many are open. Of two groups that become one, the
smaller is taken into the larger: no slot is moved more often than the logarithm of the steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from anyshape.backend.compiler.passes.fusion.row_parallel import ParallelAxis
from anyshape.backend.compiler.plan import Slot, Step
from anyshape.graph.sizes.expr import Size
from anyshape.support.lazy_dataclass import dataclass


@dataclass(eq=False)
class OpenGroup:
    """Group that further steps may join.

    - `number`: groups are closed in the order of their numbers.
    - `entries`: its steps with their positions and parallel axes, in any order.
    - `whole`: operands that each tile reads whole.
    - `unfinished`: results that are complete when all tiles are done.
    - `start`, `end`: positions of the first and the last step.
    - `closed_by`: the reason why no further step joins.
    """

    rows: Size
    number: int
    entries: list[tuple[int, Step, ParallelAxis]] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)
    start: int = -1
    end: int = -1
    closed_by: str = "the end of the plan"

    def add(self, position: int, step: Step, parallel: ParallelAxis) -> None:
        """Let a step join that comes after all others."""
        self.start, self.end = position if not self.entries else self.start, position
        self.entries.append((position, step, parallel))
        self.made.update(step.outputs)
        self.read.update([slot for slot in step.inputs if isinstance(slot, str)])
        self.whole |= parallel.read_whole(step)
        if parallel.carried or parallel.padded:
            self.unfinished.update(step.outputs)

    def close(self, reason: Step | str) -> None:
        """Record the reason why no further step joins, or the step that reads results."""
        if isinstance(reason, Step):
            slots = ", ".join(sorted(self.made.intersection(reason.inputs)))
            reason = f"{reason.op}, which reads {slots} whole"
        self.closed_by = reason

    def absorb(self, other: OpenGroup) -> None:
        """Take over the steps of another group."""
        if len(self.entries) < len(other.entries):
            self.entries, other.entries = other.entries, self.entries
        self.entries += other.entries
        self.made, self.read = _union(self.made, other.made), _union(self.read, other.read)
        self.whole, self.unfinished = _union(self.whole, other.whole), _union(self.unfinished, other.unfinished)
        self.start, self.end = min(self.start, other.start), max(self.end, other.end)
        self.closed_by = other.closed_by

    def in_order(self) -> list[tuple[int, Step, ParallelAxis]]:
        """Return the steps with their positions and parallel axes, in the order of the plan."""
        self.entries.sort(key=lambda entry: entry[0])
        return self.entries

    def is_compatible(self, other: OpenGroup) -> bool:
        """Return whether both have the same rows and a common value, and neither needs all tiles of the other."""
        if self.rows != other.rows:
            return False
        pairs = (self.read, other.read), (self.made, other.read), (self.read, other.made)
        common = any(not a.isdisjoint(b) for a, b in pairs)
        return common and not (self._blocks(other) or other._blocks(self))

    def _blocks(self, other: OpenGroup) -> bool:
        return not (self.unfinished.isdisjoint(other.read) and self.made.isdisjoint(other.whole))


def _union(a: set[str], b: set[str]) -> set[str]:
    """Return the union in the larger of the two sets."""
    large, small = (b, a) if len(a) < len(b) else (a, b)
    large |= small
    return large


class OpenGroups:
    """Groups that are open, by their numbers and by the slots that they make or read."""

    def __init__(self) -> None:
        self.opened: int = 0
        self.by_number: dict[int, OpenGroup] = {}
        self.maker: dict[str, OpenGroup] = {}
        self.touching: dict[tuple[str, Size], OpenGroup] = {}

    def in_order(self) -> list[OpenGroup]:
        """Return the open groups in the order in which they are closed."""
        return [self.by_number[number] for number in sorted(self.by_number)]

    def makers(self, slots: Iterable[Slot]) -> list[OpenGroup]:
        """Return the groups that make one of these slots."""
        return _ordered([self.maker[slot] for slot in slots if slot in self.maker])

    def related(self, slots: Iterable[Slot], rows: Size) -> list[OpenGroup]:
        """Return the groups of these rows that make or read one of these slots."""
        touching = [self.touching.get((slot, rows)) for slot in slots if isinstance(slot, str)]
        return _ordered([group for group in touching if group is not None])

    def open(self, rows: Size) -> OpenGroup:
        """Open a group."""
        self.opened += 1
        group = self.by_number[self.opened] = OpenGroup(rows, self.opened)
        return group

    def add(self, group: OpenGroup, position: int, step: Step, parallel: ParallelAxis) -> None:
        """Let a step join a group."""
        group.add(position, step, parallel)
        self.maker.update(dict.fromkeys(step.outputs, group))
        slots = (*step.outputs, *[slot for slot in step.inputs if isinstance(slot, str)])
        self.touching.update([((slot, group.rows), group) for slot in slots])

    def merge(self, large: OpenGroup, small: OpenGroup) -> None:
        """Let the larger group take over the smaller one; it is closed where the first of them would be."""
        self.maker.update(dict.fromkeys(small.made, large))
        self.touching.update([((slot, large.rows), large) for slot in small.made | small.read])
        del self.by_number[large.number], self.by_number[small.number]
        large.absorb(small)
        large.number = min(large.number, small.number)
        self.by_number[large.number] = large

    def close(self, group: OpenGroup) -> None:
        """Take a group out."""
        del self.by_number[group.number]
        for slot in group.made:
            del self.maker[slot]
        for slot in group.made | group.read:
            del self.touching[slot, group.rows]


def _ordered(groups: Sequence[OpenGroup]) -> list[OpenGroup]:
    """Return each group once, in the order in which groups are closed."""
    return sorted(dict.fromkeys(groups), key=lambda group: group.number) if len(groups) > 1 else list(groups)
