"""Group merging and register pressure: which groups become one, and how long groups may stay open.

A group is closed before the first other step that reads its results, and later steps open a group of their own. The two
may merge unless a dependence path between them passes through a third part of the plan. Parts in between are scheduled
before or after the merged group. With the parts of a plan as the nodes of a graph, merging keeps it acyclic.

A merged group makes the results of the later group earlier, which must not raise the peak. So the later group gives at
most as many arrays as it reads of the earlier one, which would stay live. Carried reductions are small and not counted.
An open group keeps its operands alive. When a step makes another large array, open groups together may keep at most
`MAX_PRESSURE` of them.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field

from anyshape.backend.compiler.op_traits import TRAITS, is_observable
from anyshape.backend.compiler.passes.row_parallel import ParallelAxis
from anyshape.backend.compiler.plan import Slot, Step
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.symbols import DimVar
from anyshape.support.lazy_dataclass import dataclass

MAX_CANDIDATES = 16  # earlier groups that a group is tried with, the last ones
MAX_PRESSURE = 2  # large arrays that all open groups together may keep alive
_EFFECTS = "effects"  # stands for what the user can observe, beside the names of slots


@dataclass
class OpenGroup:
    """A group that further steps may join.

    - `whole`: operands that each tile reads whole.
    - `unfinished`: results that are complete when all tiles are done.
    - `closed_by`: the reason why no further step joins.
    """

    rows: Size
    steps: list[tuple[int, Step, ParallelAxis]] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)
    closed_by: str = "the end of the plan"

    def add(self, position: int, step: Step, parallel: ParallelAxis) -> None:
        """Let a step join."""
        self.steps.append((position, step, parallel))
        self.made.update(step.outputs)
        self.read.update(slot for slot in step.inputs if isinstance(slot, str))
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
        """Take over the steps of another group, in the order of the plan."""
        self.steps = sorted([*self.steps, *other.steps], key=lambda entry: entry[0])
        self.made |= other.made
        self.read |= other.read
        self.whole |= other.whole
        self.unfinished |= other.unfinished
        self.closed_by = other.closed_by

    def is_compatible(self, other: OpenGroup) -> bool:
        """Tell whether both have the same rows and a common value, and neither needs all tiles of the other."""
        if self.rows != other.rows:
            return False
        pairs = (self.read, other.read), (self.made, other.read), (self.read, other.made)
        common = any(not a.isdisjoint(b) for a, b in pairs)
        return common and not (self._blocks(other) or other._blocks(self))

    def _blocks(self, other: OpenGroup) -> bool:
        return not (self.unfinished.isdisjoint(other.read) and self.made.isdisjoint(other.whole))


Part = Step | OpenGroup


class Liveness:
    """Live ranges of slots, by the positions of steps. A view keeps its base alive.

    An array is large with two long axes. If no array of the plan has two, it is large with as many as the longest has.
    """

    def __init__(self, steps: Sequence[Step], outputs: Collection[str], long_axes: Callable[[TensorMeta], int]) -> None:
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.base: dict[str, str] = {}
        self.long_axes: dict[str, int] = {}
        for i, step in enumerate(steps):
            self._use(step.reads, i)
            for slot, meta in zip(step.outputs, step.results, strict=True):
                self.first[slot], self.long_axes[slot] = i, long_axes(meta)
                if TRAITS[step.op].alias.may_share:
                    source = str(step.inputs[0])
                    self.base[slot] = self.base.get(source, source)
        self._use(outputs, len(steps))
        self.large_axes = min(2, max(self.long_axes.values(), default=0))

    def _use(self, slots: Iterable[Slot], position: int) -> None:
        for slot in map(str, slots):
            self.last[slot] = self.last[self.base.get(slot, slot)] = position

    def is_large(self, slot: str) -> bool:
        """Tell whether a result is a large array."""
        return self.long_axes.get(slot, -1) >= self.large_axes

    def exceeds_pressure(self, groups: Sequence[OpenGroup], position: int, begun: int = -1) -> bool:
        """Tell whether groups that have not run keep too many large arrays alive at a position.

        Only arrays made after position `begun` count.
        """
        live = self._operands_alive(groups, position, begun)
        return live > MAX_PRESSURE and live - self._results_alive(groups, position) > MAX_PRESSURE

    def pressure(self, group: OpenGroup, position: int) -> int:
        """Return how many large arrays only this group keeps alive, minus its large results that are still needed."""
        return self._operands_alive([group], position, -1) - self._results_alive([group], position)

    def _operands_alive(self, groups: Sequence[OpenGroup], position: int, begun: int) -> int:
        """Count the large arrays, made after `begun`, that nothing but the groups still reads."""
        read = {self.base.get(slot, slot) for g in groups for slot in g.read}.difference(*[g.made for g in groups])
        return sum(self.is_large(slot) and self.first[slot] > begun and self.last[slot] <= position for slot in read)

    def _results_alive(self, groups: Sequence[OpenGroup], position: int) -> int:
        """Count the large arrays that the groups make and that are read after the position."""
        return sum(self.is_large(slot) and self.last.get(slot, position) > position for g in groups for slot in g.made)


def merge_groups(
    parts: Sequence[Part], outputs: Collection[str], runtime: Collection[DimVar], liveness: Liveness
) -> list[Part]:
    """Return the parts with groups merged, in an order in which each comes after the parts that it depends on."""
    return _PartGraph(parts, outputs, runtime, liveness).merged()


class _PartGraph:
    """The dependence graph of the parts of a plan, by their numbers.

    - `parts`: the parts that are left.
    - `readers`, `needs`: the parts that depend on each, and the parts that it depends on.
    - `descendants`: all parts that depend on each, directly or not, as the bits of an int.
    """

    def __init__(
        self, parts: Sequence[Part], outputs: Collection[str], runtime: Collection[DimVar], liveness: Liveness
    ) -> None:
        self.parts, self.liveness = dict(enumerate(parts)), liveness
        self.reads = Counter([*outputs, *[slot for part in parts for slot in _operands(part)]])
        self.readers = _readers(self.parts, runtime)
        self.needs: dict[int, set[int]] = {i: set() for i in self.parts}
        for i, readers in self.readers.items():
            for k in readers:
                self.needs[k].add(i)
        self.descendants: dict[int, int] = {}
        for i in reversed(self.parts):
            self.descendants[i] = 0
            for k in self.readers[i]:
                self.descendants[i] |= 1 << k | self.descendants[k]

    def merged(self) -> list[Part]:
        groups = {i: part for i, part in self.parts.items() if isinstance(part, OpenGroup)}
        touching: dict[str, dict[int, None]] = {}  # the groups that make or read a slot, the last ones last
        for j, group in list(groups.items()):
            slots = group.made | group.read
            for i in _last_groups(slots, touching, groups):
                if self._should_merge(groups, i, j):
                    groups[i].absorb(groups.pop(j))
                    self._contract(i, j)
                    j = i
            for slot in slots:
                touching.setdefault(slot, {})[j] = None
        return [self.parts[i] for i in self._order()]

    def _should_merge(self, groups: Mapping[int, OpenGroup], i: int, j: int) -> bool:
        """Tell whether group j may become part of group i, and no more memory is live at once."""
        return self._pays(groups[i], groups[j]) and not self._is_separated(i, j) and not self._is_separated(j, i)

    def _pays(self, first: OpenGroup, later: OpenGroup) -> bool:
        """Tell whether two groups are compatible, and no more arrays are live at once if they are one."""
        if not first.is_compatible(later):
            return False
        inside = Counter([slot for _, step, _ in later.steps for slot in {*step.inputs}])
        arrays = [step.outputs[0] for _, step, parallel in later.steps if not parallel.carried]
        escaping = [slot for slot in arrays if self.reads[slot] > inside[slot]]
        if len(escaping) > len(first.made & later.read):
            return False
        return not self.liveness.exceeds_pressure([first, later], later.steps[-1][0], first.steps[0][0])

    def _is_separated(self, start: int, end: int) -> bool:
        """Tell whether a path leads from one part to another through a third."""
        return any(self.descendants[k] >> end & 1 for k in self.readers[start] if k != end)

    def _contract(self, i: int, j: int) -> None:
        """Make part j one with part i."""
        del self.parts[j]
        gone, left = 1 << j, 1 << i
        for edges, back in ((self.readers, self.needs), (self.needs, self.readers)):
            for k in edges[j]:
                back[k] = (back[k] | {i}) - {j, k}
            edges[i] = (edges[i] | edges.pop(j)) - {i, j}
        self.descendants[i] = (self.descendants[i] | self.descendants.pop(j)) & ~(gone | left)
        seen, todo = {i}, [*self.needs[i]]
        while todo:
            k = todo.pop()
            if k not in seen:
                seen.add(k)
                self.descendants[k] = (self.descendants[k] | left | self.descendants[i]) & ~gone
                todo.extend(self.needs[k])

    def _order(self) -> list[int]:
        """Return the lexicographically smallest topological order, by the original positions."""
        waits = dict.fromkeys(self.parts, 0)
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


def _last_groups(slots: Collection[str], touching: dict[str, dict[int, None]], groups: Collection[int]) -> list[int]:
    """Return the last groups that make or read one of the slots, the very last first."""
    last = [itertools.islice(reversed(touching[slot]), MAX_CANDIDATES) for slot in slots if slot in touching]
    return heapq.nlargest(MAX_CANDIDATES, {i for some in last for i in some if i in groups})


def _steps(part: Part) -> list[Step]:
    return [part] if isinstance(part, Step) else [step for _, step, _ in part.steps]


def _operands(part: Part) -> list[Slot]:
    """Return the operands of the steps of a part, each as often as steps read it."""
    return [slot for step in _steps(part) for slot in {*step.inputs}]


def _readers(parts: Mapping[int, Part], runtime: Collection[DimVar]) -> dict[int, set[int]]:
    """Return the parts that depend on each: on its results, on sizes that it defines, or on its observable effects."""
    maker: dict[str | DimVar, int] = {}
    readers: dict[int, set[int]] = {i: set() for i in parts}
    for i, part in parts.items():
        needed, made = _dependences(_steps(part), runtime)
        for k in {maker[item] for item in needed if item in maker}:
            readers[k].add(i)
        for item in made:
            maker[item] = i if item is _EFFECTS else maker.get(item, i)
    return readers


def _dependences(steps: Iterable[Step], runtime: Collection[DimVar]) -> tuple[set[Slot | DimVar], set[str | DimVar]]:
    """Return what steps need and what they make: slots, run-time sizes and observable effects."""
    needed, made = set[Slot | DimVar](), set[str | DimVar]()
    for step in steps:
        sizes = step.variables().intersection(runtime) if runtime else set[DimVar]()
        needed.update(step.reads, sizes)
        made.update(step.outputs, sizes)
        if is_observable(step):  # in an order that stays
            needed.add(_EFFECTS)
            made.add(_EFFECTS)
    return needed, made
