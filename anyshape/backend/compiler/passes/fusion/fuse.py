"""Fusion pass: steps along the same rows become one fusion group, which runs a tile of rows at a time.

An operand of a step in a group has its rows (`row_parallel.py`), or is read whole by each tile. One walk over the steps
in order makes the partition. A step joins the open groups that make or read its operands. A group is closed, and so
runs, before the first other step that reads its results: no group waits for itself. Groups that would be one if that
step had come later are merged afterwards (`merge_groups.py`, which also bounds register pressure).

The cost model is bytes moved. A group saves a write and a read of each value that only it reads. It also saves reads
of a value that several of its steps read. (`networkx` would take as long to load as all first calls of a sweep over 60
lengths of attention.)

Group merging: which groups become one.

A group is closed before the first other step that reads its results, and later steps open a group of their own. The two
may merge unless a dependence path between them passes through a third part of the plan. Parts in between are scheduled
before or after the merged group. With the parts of a plan as the nodes of a graph, merging keeps it acyclic.

A merged group makes the results of the later group earlier, which must not raise the peak. So the later group gives at
most as many arrays as it reads of the earlier one, which would stay live. Carried reductions are small and not counted.
An open group keeps its operands alive. When a step makes another large array, open groups together may keep at most
`MAX_PRESSURE` of them.

Paths between the parts of a plan: whether one part leads to another through a third, while parts become one.

A spanning forest settles most queries: a part reaches all that stands below it. Parts that become one reach
all that each of them did, so this stays true. A search from both ends settles the others. It ends where the nearer side
ends, as groups that may become one have little between them.

Open groups: fusion groups that further steps may join, found by the slots that they make or read.

Two open groups of the same rows never touch one slot: they would be one. So a slot and a number of rows name a group.
A step finds the groups of its operands in a few look-ups, however many are open. Of two groups that become one, the
smaller is taken into the larger: no slot is moved more often than the logarithm of the steps.

Register pressure: the large arrays that groups keep alive until they run.

An open group keeps its operands alive. When a step makes another large array, open groups together may keep at most
`MAX_PRESSURE` of them. Each of their results that is still needed allows one more.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field

from anyshape.backend.compiler.op_traits import TRAITS, is_compute_bound, is_observable
from anyshape.backend.compiler.passes.fusion.collapse_loop_axes import Entries, collapsed_axes
from anyshape.backend.compiler.passes.fusion.row_parallel import ParallelAxis, RowAnalysis
from anyshape.backend.compiler.plan import Group, Slot, Step
from anyshape.graph.ir.op_local import pass_context
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.symbols import DimVar
from anyshape.support.lazy_dataclass import dataclass


def fuse(
    steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope, runtime: Collection[DimVar] = ()
) -> list[Step | Group]:
    """Return the steps with groups where they save something, in an order that keeps the steps of a group together.

    A step that defines a `runtime` size comes before others that need it.
    """
    return _Fusion(steps, outputs, scope).run(runtime)


class _Fusion:
    def __init__(self, steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> None:
        self.steps = steps
        self.analysis = RowAnalysis(pass_context(scope, "fuse"))
        self.outputs = {o for o in outputs if isinstance(o, str)}
        self.reads = _count_reads(steps)
        self.liveness = Liveness(steps, self.outputs, self.analysis.long_axes)
        self.held = HeldArrays(self.liveness)
        self.open = OpenGroups()
        self.parts: list[Step | OpenGroup] = []

    def run(self, runtime: Collection[DimVar]) -> list[Step | Group]:
        for position, step in enumerate(self.steps):
            self._assign(position, step)
        self._close(self.open.in_order())
        parts = merge_groups(self.parts, self.outputs, runtime, self.liveness)
        return [part for item in parts for part in self._finish(item)]

    # -- the walk

    def _assign(self, position: int, step: Step) -> None:
        """Let a step join a group, or stand alone."""
        self.held.advance(position)
        parallel = self.analysis.parallel_axis(step)
        if parallel is not None and parallel.padded and not self._may_write_in_place(step):
            parallel = None
        group = None if parallel is None else self._group_for(step, parallel)
        self._close([g for g in self.open.makers(step.inputs) if g is not group], step)
        if group is None or parallel is None:
            self._relieve_pressure(step)
            self.parts.append(step)
        else:
            self.open.add(group, position, step, parallel)
            self.held.join(group, step)

    def _may_write_in_place(self, pad: Step) -> bool:
        """Return whether tiles make the operand of a pad, and only the pad reads it: then they write it in place."""
        (slot,) = pad.inputs
        made = any(slot not in group.unfinished for group in self.open.makers(pad.inputs))
        return made and self.reads[str(slot)] == 1 and slot not in self.outputs

    def _relieve_pressure(self, step: Step) -> None:
        """Close groups that keep large arrays alive, if these are too many, before a step makes another one."""
        if TRAITS[step.op].alias.may_share or not any(map(self.liveness.is_large, step.outputs)):
            return
        while self.held.exceeds_pressure:
            self._close([self.held.heaviest()], "register pressure")

    def _group_for(self, step: Step, parallel: ParallelAxis) -> OpenGroup:
        """Return the group that a step joins, after closing the groups whose results it needs complete."""
        self._close(self.open.makers(parallel.read_whole(step)), step)
        self._close([g for g in self.open.makers(step.inputs) if not g.unfinished.isdisjoint(step.inputs)], step)
        if not (related := self.open.related(step.inputs, parallel.rows)):
            return self.open.open(parallel.rows)
        group, *others = related
        for other in others:  # no step outside reads their results yet, so none depends on another
            small, group = sorted((group, other), key=lambda g: len(g.entries))
            self.held.merge(group, small)
            self.open.merge(group, small)
        return group

    def _close(self, groups: Iterable[OpenGroup], reason: Step | str | None = None) -> None:
        for group in groups:
            self.open.close(group)
            self.held.close(group)
            self.parts.append(group)
            if reason is not None:
                group.close(reason)

    # -- groups that are worth it

    def _finish(self, part: Step | OpenGroup) -> list[Step | Group]:
        """Return a group in its final form, followed by its trailing views; or its steps, if it saves nothing.

        Steps without results that anyone reads, which run for their errors, stay alone.
        """
        if isinstance(part, Step):
            return [part]
        entries, trailing_views = _split_trailing_views([(step, axis) for _, step, axis in part.in_order()])
        steps = [step for step, _ in entries]
        if not (escaping := self._escaping(steps)) or not self._is_worth_it(entries, escaping):
            return [*steps, *trailing_views]
        group = Group(
            tuple(steps),
            part.rows,
            parallel_operands=tuple([axis.operands for _, axis in entries]),
            escaping=escaping,
            carried=tuple([step.outputs[0] for step, axis in entries if axis.carried]),
            padded=tuple([step.outputs[0] for step, axis in entries if axis.padded]),
            closed_by=part.closed_by,
            collapsed=collapsed_axes(self.analysis, entries),
        )
        return [group, *trailing_views]

    def _escaping(self, steps: Sequence[Step]) -> tuple[str, ...]:
        """Return the results that the caller or other steps read."""
        inside = _count_reads(steps)
        made = [slot for step in steps for slot in step.outputs]
        return tuple([slot for slot in made if slot in self.outputs or self.reads[slot] > inside[slot]])

    def _is_worth_it(self, entries: Entries, escaping: Collection[str]) -> bool:
        """Return whether a group saves reads or writes of arrays, or threads share expensive arithmetic."""
        steps = [step for step, _ in entries]
        if not any(any(axis.operands) for _, axis in entries):
            return False
        reads, made = _count_reads(steps), {slot for step in steps for slot in step.outputs}
        saved = len(made) - len(escaping) + sum(count - 1 for slot, count in reads.items() if slot not in made)
        return saved >= 1 or any(is_compute_bound(step.op) for step in steps)


def _count_reads(steps: Sequence[Step]) -> Counter[str]:
    """Count how often each slot is an operand."""
    return Counter([slot for step in steps for slot in step.inputs if isinstance(slot, str)])


def _split_trailing_views(entries: Entries) -> tuple[Entries, list[Step]]:
    """Split off views that no step of the group reads: tiles would have to copy them."""
    inside: list[tuple[Step, ParallelAxis]] = []
    views: list[Step] = []
    read: set[Slot] = set()
    for step, axis in reversed(entries):
        if TRAITS[step.op].alias.is_free and read.isdisjoint(step.outputs):
            views.append(step)
        else:
            inside.append((step, axis))
            read.update(step.inputs)
    return inside[::-1], views[::-1]


Edges = dict[int, set[int]]
LEAST_WORK, WORK_PER_PART = 200_000, 64  # edges that all searches may follow: time stays in proportion to the plan


class PartPaths:
    """Dependence graph of the parts of a plan, by their numbers; each part has a larger number than what it needs.

    - `readers`, `needs`: the parts that depend on each, and the parts that it depends on.
    - `below`: for each part, the range of the places in the forest of what stands below it, itself first.
    """

    def __init__(self, readers: Edges) -> None:
        self.readers = readers
        self.needs: Edges = {i: set() for i in readers}
        for i, some in readers.items():
            for k in some:
                self.needs[k].add(i)
        self.below: dict[int, tuple[int, int]] = _spanning_forest(readers)
        self.work: int = LEAST_WORK + WORK_PER_PART * len(readers)

    def is_separated(self, start: int, end: int, last: int) -> bool:
        """Return whether a path leads from one part to another through a third.

        Parts with larger numbers than `last` are as they were, so no path leads back from them. Where searches have
        taken too long in all, the answer is yes.
        """
        after = {k for k in self.readers[start] if k <= last and k != end}
        before = {k for k in self.needs[end] if k != start}
        self.work -= len(self.readers[start]) + len(before)
        below, target = self.below, self.below[end][0]
        low, high = below[start]
        if any(first <= target < behind for first, behind in map(below.__getitem__, after)):
            return True
        return any(low <= below[k][0] < high for k in before) or self._meet(after, before, last)

    def _meet(self, after: set[int], before: set[int], last: int) -> bool:
        """Return whether a path leads from a part to one that is before another, by a bidirectional search."""
        if not after.isdisjoint(before):
            return True
        sides = (after, [*after], self.readers), (before, [*before], self.needs)
        while all(todo for _, todo, _ in sides):
            forward = len(after) <= len(before)
            (seen, todo, edges), (others, _, _) = sides if forward else sides[::-1]
            reached = edges[todo.pop()]
            self.work -= 1 + len(reached)
            fresh = [k for k in reached if k <= last and k not in seen]
            if self.work < 0 or not others.isdisjoint(fresh):
                return True
            seen.update(fresh)
            todo.extend(fresh)
        return False

    def contract(self, i: int, j: int) -> None:
        """Make part j one with part i."""
        for edges, back in ((self.readers, self.needs), (self.needs, self.readers)):
            absorbed = edges.pop(j)
            for k in absorbed:
                back[k].discard(j)
                if k != i:
                    back[k].add(i)
            large, small = (absorbed, edges[i]) if len(edges[i]) < len(absorbed) else (edges[i], absorbed)
            large |= small
            large -= {i, j}
            edges[i] = large


def _spanning_forest(readers: Edges) -> dict[int, tuple[int, int]]:
    """Return the range of the places below each part, in a forest where each part stands below its first reader."""
    number: dict[int, int] = {}
    below: dict[int, tuple[int, int]] = {}
    for root in readers:
        path = [] if root in number else [(root, iter(sorted(readers[root])))]
        number.setdefault(root, len(number))
        while path:
            i, rest = path[-1]
            if (k := next((k for k in rest if k not in number), None)) is None:
                below[i] = number[i], len(number)
                path.pop()
            else:
                number[k] = len(number)
                path.append((k, iter(sorted(readers[k]))))
    return below


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


MAX_CANDIDATES = 16  # earlier groups that a group is tried with, the last ones
MAX_MERGED = 4096  # steps of two groups that become one: a trial takes time in proportion to them
_EFFECTS = "effects"  # stands for what the user can observe, beside the names of slots

Part = Step | OpenGroup


def merge_groups(
    parts: Sequence[Part], outputs: Collection[str], runtime: Collection[DimVar], liveness: Liveness
) -> list[Part]:
    """Return the parts with groups merged, in an order in which each comes after the parts that it depends on."""
    return _PartGraph(parts, outputs, runtime, liveness).merged()


class _PartGraph:
    """Parts that are left, by their numbers, and the paths between them."""

    def __init__(
        self, parts: Sequence[Part], outputs: Collection[str], runtime: Collection[DimVar], liveness: Liveness
    ) -> None:
        self.parts, self.liveness = dict(enumerate(parts)), liveness
        self.reads = Counter([*outputs, *[slot for part in parts for slot in _operands(part)]])
        self.paths = PartPaths(_readers(self.parts, runtime))

    def merged(self) -> list[Part]:
        groups = {i: part for i, part in self.parts.items() if isinstance(part, OpenGroup)}
        touching: dict[str, dict[int, None]] = {}  # the groups that make or read a slot, the last ones last
        for number, group in list(groups.items()):
            slots, j = group.made | group.read, number
            for i in _last_groups(slots, touching, groups):
                if self._pays(groups[i], groups[j]) and not self._is_separated(i, j, number):
                    groups[i].absorb(groups.pop(j))
                    self.paths.contract(i, j)
                    del self.parts[j]
                    j = i
            for slot in slots:
                touching.setdefault(slot, {})[j] = None
        return [self.parts[i] for i in self._order()]

    def _pays(self, first: OpenGroup, later: OpenGroup) -> bool:
        """Return whether two groups are compatible, and no more arrays are live at once if they are one."""
        if len(first.entries) + len(later.entries) > MAX_MERGED or not first.is_compatible(later):
            return False
        inside = Counter([slot for _, step, _ in later.entries for slot in {*step.inputs}])
        arrays = [step.outputs[0] for _, step, parallel in later.entries if not parallel.carried]
        escaping = [slot for slot in arrays if self.reads[slot] > inside[slot]]
        if len(escaping) > len(first.made & later.read):
            return False
        return not self.liveness.exceeds_pressure([first, later], later.end, first.start)

    def _is_separated(self, i: int, j: int, last: int) -> bool:
        """Return whether a path leads from one part to the other through a third."""
        return self.paths.is_separated(i, j, last) or self.paths.is_separated(j, i, last)

    def _order(self) -> list[int]:
        """Return the lexicographically smallest topological order, by the original positions."""
        waits = dict.fromkeys(self.parts, 0)
        readers = self.paths.readers
        for k in itertools.chain(*readers.values()):
            waits[k] += 1
        ready, order = [i for i, count in waits.items() if not count], list[int]()
        while ready:
            order.append(heapq.heappop(ready))
            for k in readers[order[-1]]:
                waits[k] -= 1
                if not waits[k]:
                    heapq.heappush(ready, k)
        return order


def _last_groups(slots: Collection[str], touching: dict[str, dict[int, None]], groups: Collection[int]) -> list[int]:
    """Return the last groups that make or read one of the slots, the very last first."""
    last = [itertools.islice(reversed(touching[slot]), MAX_CANDIDATES) for slot in slots if slot in touching]
    return heapq.nlargest(MAX_CANDIDATES, {i for some in last for i in some if i in groups})


def _steps(part: Part) -> list[Step]:
    return [part] if isinstance(part, Step) else [step for _, step, _ in part.in_order()]


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


MAX_PRESSURE = 2  # large arrays that all open groups together may keep alive


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
        self.large_axes: int = min(2, max(self.long_axes.values(), default=0))

    def _use(self, slots: Iterable[Slot], position: int) -> None:
        for slot in map(str, slots):
            self.last[slot] = self.last[self.base.get(slot, slot)] = position

    def is_large(self, slot: str) -> bool:
        """Return whether a result is a large array."""
        return self.long_axes.get(slot, -1) >= self.large_axes

    def large_operands(self, group: OpenGroup) -> set[str]:
        """Return the large arrays that a group reads, by the slots whose memory they are."""
        return {base for slot in group.read if self.is_large(base := self.base.get(slot, slot))}

    def exceeds_pressure(self, groups: Sequence[OpenGroup], position: int, begun: int) -> bool:
        """Return whether groups that have not run keep too many large arrays alive at a position.

        Only arrays made after position `begun` count, and of these the ones that nothing but the groups still reads.
        """
        read = set().union(*map(self.large_operands, groups)).difference(*[g.made for g in groups])
        live = sum(self.first[slot] > begun and self.last[slot] <= position for slot in read)
        if live <= MAX_PRESSURE:
            return False
        results = [slot for g in groups for slot in g.made if self.is_large(slot)]
        return live - sum(self.last.get(slot, position) > position for slot in results) > MAX_PRESSURE


class HeldArrays:
    """Counts the large arrays that open groups keep alive, while a walk over the steps opens and closes groups.

    - `readers`: the open groups that read an array and do not make it.
    - `maker`: the open group that makes an array.
    - `over`: arrays that no step reads any more, except in open groups.
    - `operands`, `awaited`: for each group, its operands that are over, and its results that are not.
    - `held`, `promised`: how many arrays nothing but open groups keeps alive, and how many results are awaited.
    """

    def __init__(self, liveness: Liveness) -> None:
        self.liveness = liveness
        self.ending: dict[int, list[str]] = {}
        for slot, position in liveness.last.items():
            if liveness.is_large(slot):
                self.ending.setdefault(position, []).append(slot)
        self.readers: dict[str, set[OpenGroup]] = {}
        self.maker: dict[str, OpenGroup] = {}
        self.over: set[str] = set()
        self.operands: Counter[OpenGroup] = Counter()
        self.awaited: Counter[OpenGroup] = Counter()
        self.held = self.promised = 0

    def advance(self, position: int) -> None:
        """Go on to the step at a position."""
        for slot in self.ending.get(position - 1, ()):
            self.over.add(slot)
            readers = self.readers.get(slot, ())
            self.operands.update(readers)
            if (maker := self.maker.get(slot)) is not None:
                self.awaited[maker] -= 1
                self.promised -= 1
            elif readers:
                self.held += 1

    def join(self, group: OpenGroup, step: Step) -> None:
        """Note that a step joins a group."""
        liveness = self.liveness
        for slot in step.inputs:
            base = liveness.base.get(slot, slot) if isinstance(slot, str) else ""
            if liveness.is_large(base) and base not in group.made:
                self.readers.setdefault(base, set()).add(group)
        for slot in filter(liveness.is_large, step.outputs):
            self.maker[slot] = group
            if slot in liveness.last:
                self.awaited[group] += 1
                self.promised += 1

    def merge(self, large: OpenGroup, small: OpenGroup) -> None:
        """Note that the larger group takes over the smaller one."""
        for slot in self.liveness.large_operands(small):
            readers = self.readers.get(slot, set())
            if small in readers:
                readers.discard(small)
                if large not in readers and slot not in large.made:
                    readers.add(large)
                    self.operands[large] += slot in self.over
        for slot in filter(self.liveness.is_large, small.made):
            self.maker[slot] = large
            if large in self.readers.get(slot, ()):
                self.readers[slot].discard(large)
                self.operands[large] -= slot in self.over
        self.awaited[large] += self.awaited.pop(small, 0)
        self.operands.pop(small, None)

    def close(self, group: OpenGroup) -> None:
        """Note that a group runs."""
        for slot in self.liveness.large_operands(group):
            readers = self.readers.get(slot, set())
            if group in readers:
                readers.discard(group)
                self.held -= slot in self.over and not readers and slot not in self.maker
        for slot in filter(self.liveness.is_large, group.made):
            del self.maker[slot]
            self.held += slot in self.over and bool(self.readers.get(slot))
        self.promised -= self.awaited.pop(group, 0)
        self.operands.pop(group, None)

    @property
    def exceeds_pressure(self) -> bool:
        """True if the open groups keep too many large arrays alive."""
        return self.held > MAX_PRESSURE and self.held - self.promised > MAX_PRESSURE

    def heaviest(self) -> OpenGroup:
        """Return the first group with the most operands that it keeps alive, minus its results that are needed."""
        return max(self.operands, key=lambda group: (self.operands[group] - self.awaited[group], -group.number))
