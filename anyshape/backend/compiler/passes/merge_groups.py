"""How long groups may wait, and which become one that only the order of steps kept apart.

A group is closed before the first other step that reads of it, and steps that come after that one open a group of their
own. Where no path leads from the one group to the other through a third part, they can be one: what stands between
comes before it, or after it. With the parts of a plan as the nodes of a graph, that keeps it acyclic.

What the later group gives is then made earlier. So that no more is alive at once, it gives no more arrays than it reads
of those that the first one makes, which would wait for it; sums over rows are not counted, as they are small. Nor do
groups keep more than a few arrays alive by not having run yet, when a step makes another one.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from anyshape.backend.compiler.op_traits import find_traits, runs_user_code
from anyshape.backend.compiler.passes.row_parallel import ParallelAxis
from anyshape.backend.compiler.plan import Literal, Step
from anyshape.graph.ir.graph import raises
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import DimVar, Size

MOST = 16  # groups before it that one may become one with: those that come last
WAITING = 2  # arrays that groups, all together, may keep alive by not having run yet
_EFFECTS = "effects"  # stands for what the user can observe, beside the names of slots


@dataclass
class OpenGroup:
    """A group that further steps may join; `ended` says what closed it.

    It reads some of what it reads `whole`, and what is `unfinished` is there when all of its tiles are done.
    """

    rows: Size
    steps: list[tuple[int, Step, ParallelAxis]] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)
    closed_by: str = "the end of the plan"

    def add(self, position: int, step: Step, work: ParallelAxis) -> None:
        """Let a step join."""
        self.steps.append((position, step, work))
        self.made.update(step.outputs)
        self.read.update(slot for slot in step.inputs if isinstance(slot, str))
        self.whole |= work.read_whole(step)
        if work.carried or work.padded:
            self.unfinished.update(step.outputs)

    def take(self, other: OpenGroup) -> None:
        """Become one with another, in the order of the steps."""
        self.steps = sorted([*self.steps, *other.steps], key=lambda entry: entry[0])
        self.made |= other.made
        self.read |= other.read
        self.whole |= other.whole
        self.unfinished |= other.unfinished
        self.closed_by = other.closed_by

    def near(self, other: OpenGroup) -> bool:
        """They work along the same rows and have a value in common, and neither waits for the other as a whole."""
        if self.rows != other.rows:
            return False
        pairs = (self.read, other.read), (self.made, other.read), (self.read, other.made)
        common = any(not a.isdisjoint(b) for a, b in pairs)
        return common and not (self._holds_up(other) or other._holds_up(self))

    def _holds_up(self, other: OpenGroup) -> bool:
        return not (self.unfinished.isdisjoint(other.read) and self.made.isdisjoint(other.whole))


class Liveness:
    """When each slot is made and when it is read last, by the positions of steps. A view keeps what it is a view of."""

    def __init__(self, steps: Sequence[Step], outputs: Collection[str], axes: Callable[[TensorMeta], int]) -> None:
        self.made: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.base: dict[str, str] = {}
        self.axes: dict[str, int] = {}
        for i, step in enumerate(steps):
            self._read([*step.inputs, *step.sources], i)
            for slot, meta in zip(step.outputs, step.results, strict=True):
                self.made[slot], self.axes[slot] = i, axes(meta)
                if find_traits(step.op).alias.may_share:
                    source = str(step.inputs[0])
                    self.base[slot] = self.base.get(source, source)
        self._read(outputs, len(steps))
        self.wide = min(2, max(self.axes.values(), default=0))

    def _read(self, slots: Iterable[str | Literal], position: int) -> None:
        for slot in map(str, slots):
            self.last[slot] = self.last[self.base.get(slot, slot)] = position

    def large(self, slot: str) -> bool:
        """Of those that steps make: beside matrices, vectors do not count."""
        return self.axes.get(slot, -1) >= self.wide

    def exceeds_pressure(self, groups: Sequence[OpenGroup], end: int, begun: int = -1) -> bool:
        """More than a few arrays are `kept` by groups that have not run yet."""
        held = self._held(groups, end, begun)
        return held > WAITING and held - self._given(groups, end) > WAITING

    def kept(self, group: OpenGroup, end: int) -> int:
        """How many arrays are alive at `end` for this group alone, less those that would be alive if it had run."""
        return self._held([group], end, -1) - self._given([group], end)

    def _held(self, groups: Sequence[OpenGroup], end: int, begun: int) -> int:
        """How many arrays, made after `begun`, nothing but the groups still reads."""
        read = {self.base.get(slot, slot) for g in groups for slot in g.read}.difference(*[g.made for g in groups])
        return sum(self.large(slot) and self.made[slot] > begun and self.last[slot] <= end for slot in read)

    def _given(self, groups: Sequence[OpenGroup], end: int) -> int:
        """How many arrays of those that the groups make are read later."""
        return sum(self.large(slot) and self.last.get(slot, end) > end for g in groups for slot in g.made)


Part = Step | OpenGroup


def join(parts: Sequence[Part], outputs: Collection[str], runtime: Collection[DimVar], lives: Liveness) -> list[Part]:
    """The parts, with groups made one, in an order in which each comes after those that it needs something of."""
    return _Parts(parts, outputs, runtime, lives).joined()


class _Parts:
    """Parts by number. `readers` are those that need something of each, and `needs` the other way around.

    `below` are those that wait for it, directly or not, as the bits of an int.
    """

    def __init__(
        self, parts: Sequence[Part], outputs: Collection[str], runtime: Collection[DimVar], lives: Liveness
    ) -> None:
        self.left, self.lives = dict(enumerate(parts)), lives
        self.reads = Counter([*outputs, *[slot for part in parts for slot in _read(part)]])
        self.readers = _readers(self.left, runtime)
        self.needs: dict[int, set[int]] = {i: set() for i in self.left}
        for i, readers in self.readers.items():
            for k in readers:
                self.needs[k].add(i)
        self.below: dict[int, int] = {}
        for i in reversed(self.left):
            self.below[i] = 0
            for k in self.readers[i]:
                self.below[i] |= 1 << k | self.below[k]

    def joined(self) -> list[Part]:
        groups = {i: part for i, part in self.left.items() if isinstance(part, OpenGroup)}
        touching: dict[str, dict[int, None]] = {}  # the groups that make or read a slot, the last ones last
        for j, group in list(groups.items()):
            slots = group.made | group.read
            last = [itertools.islice(reversed(touching.get(slot, {})), MOST) for slot in slots]
            for i in heapq.nlargest(MOST, {i for some in last for i in some if i in groups}):
                if self._pays(groups[i], groups[j]) and not self._apart(i, j) and not self._apart(j, i):
                    groups[i].take(groups.pop(j))
                    self._merge(i, j)
                    j = i
            for slot in slots:
                touching.setdefault(slot, {})[j] = None
        return [self.left[i] for i in self._order()]

    def _pays(self, first: OpenGroup, later: OpenGroup) -> bool:
        """They are near, and what is alive at once is no more if they are one."""
        if not first.near(later):
            return False
        inside = Counter([slot for _, step, _ in later.steps for slot in {*step.inputs}])
        rowed = [step.outputs[0] for _, step, work in later.steps if not work.carried]
        given = [slot for slot in rowed if self.reads[slot] > inside[slot]]
        if len(given) > len(first.made & later.read):
            return False
        return not self.lives.exceeds_pressure([first, later], later.steps[-1][0], first.steps[0][0])

    def _apart(self, start: int, end: int) -> bool:
        """A path leads from one to the other through a third part."""
        return any(self.below[k] >> end & 1 for k in self.readers[start] if k != end)

    def _merge(self, i: int, j: int) -> None:
        """Part j has become one with part i."""
        del self.left[j]
        gone, kept = 1 << j, 1 << i
        for edges, back in ((self.readers, self.needs), (self.needs, self.readers)):
            for k in edges[j]:
                back[k] = (back[k] | {i}) - {j, k}
            edges[i] = (edges[i] | edges.pop(j)) - {i, j}
        self.below[i] = (self.below[i] | self.below.pop(j)) & ~(gone | kept)
        seen, todo = {i}, [*self.needs[i]]
        while todo:
            k = todo.pop()
            if k not in seen:
                seen.add(k)
                self.below[k] = (self.below[k] | kept | self.below[i]) & ~gone
                todo.extend(self.needs[k])

    def _order(self) -> list[int]:
        """As they were, but each after those that it waits for."""
        waits = dict.fromkeys(self.left, 0)
        for k in itertools.chain(*self.readers.values()):
            waits[k] += 1
        ready, order = [i for i, count in waits.items() if not count], list[int]()
        while ready:
            order.append(heapq.heappop(ready))
            for k in self.readers[order[-1]]:
                waits[k] -= 1
                if not waits[k]:
                    heapq.heappush(ready, k)
        return order


def _read(part: Part) -> list[str | Literal]:
    """What the steps of a part read, each as often as steps do."""
    steps = [part] if isinstance(part, Step) else [step for _, step, _ in part.steps]
    return [slot for step in steps for slot in {*step.inputs}]


def _readers(parts: Mapping[int, Part], runtime: Collection[DimVar]) -> dict[int, set[int]]:
    """The parts that need something of each: what it makes, a size that it is the first to have, or its turn."""
    maker: dict[str | DimVar, int] = {}
    readers: dict[int, set[int]] = {i: set() for i in parts}
    for i, part in parts.items():
        steps = [part] if isinstance(part, Step) else [step for _, step, _ in part.steps]
        needed, made = set[str | DimVar | Literal](), set[str | DimVar]()
        for step in steps:
            sizes = step.variables().intersection(runtime) if runtime else set[DimVar]()
            needed.update(step.inputs, step.sources, sizes)
            made.update(step.outputs, sizes)
            # the user can observe the order of these
            if runs_user_code(step) or raises(step):
                needed.add(_EFFECTS)
                made.add(_EFFECTS)
        for k in {maker[thing] for thing in needed if thing in maker}:
            readers[k].add(i)
        for thing in made:
            maker[thing] = i if thing is _EFFECTS else maker.get(thing, i)
    return readers
