"""Register pressure: the large arrays that groups keep alive until they run.

An open group keeps its operands alive. When a step makes another large array, open groups together may keep at most
`MAX_PRESSURE` of them. Each of their results that is still needed allows one more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.passes.fusion.open_groups import OpenGroup
from anyshape.backend.compiler.plan import Slot, Step
from anyshape.graph.shapes.array_type import TensorMeta

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

    held: int
    promised: int

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
            maker = self.maker.get(slot)
            if maker is not None:
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
