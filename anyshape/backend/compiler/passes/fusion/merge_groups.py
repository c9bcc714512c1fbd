"""Group merging: which groups become one.

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
from collections.abc import Collection, Iterable, Mapping, Sequence

from anyshape.backend.compiler.op_traits import is_observable
from anyshape.backend.compiler.passes.fusion.open_groups import OpenGroup
from anyshape.backend.compiler.passes.fusion.part_paths import PartPaths
from anyshape.backend.compiler.passes.fusion.register_pressure import Liveness
from anyshape.backend.compiler.plan import Slot, Step
from anyshape.graph.sizes.symbols import DimVar

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
