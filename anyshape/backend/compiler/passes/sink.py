"""Sink elementwise steps to their first use, when this extends no live range.

`1 - tanh(x)**2`, which only the derivative reads, is computed with the derivative. Nothing of it is live in between, it
can join the fusion group there, and no step runs twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.passes.metadata_contract import pass_context
from anyshape.backend.compiler.plan import Slot, Step
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext

MAX_MOVED = 16  # steps moved together: the maker of an operand may have to sink with its reader


def sink(steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> list[Step]:
    """Return the same steps in another order."""
    return _Sinking(steps, outputs, pass_context(scope, "sink")).run()


class _Sinking:
    """`position` is, for each step, the step that it runs right before, or itself; ties keep their order."""

    def __init__(self, steps: Sequence[Step], outputs: Sequence[Slot], ctx: ShapeGuardContext) -> None:
        self.steps, self.ctx = steps, ctx
        self.outputs = {o for o in outputs if isinstance(o, str)}
        self.maker = {slot: i for i, step in enumerate(steps) for slot in step.outputs}
        self.readers: dict[str, list[int]] = {}
        for i, step in enumerate(steps):
            for slot in set(step.reads):
                if isinstance(slot, str):
                    self.readers.setdefault(slot, []).append(i)
        self.position: dict[int, int] = {}
        self.latest: dict[str, int] = {}  # the last position of the readers of a slot that have one
        self.placed: dict[str, int] = {}  # how many readers of a slot have a position

    def run(self) -> list[Step]:
        for i in range(len(self.steps) - 1, -1, -1):
            if i not in self.position:
                self._move(i, i)
                self._sink(i)
        return [self.steps[i] for i in sorted(range(len(self.steps)), key=lambda i: (self.position[i], i))]

    def _sink(self, i: int) -> None:
        """Move a step to its first reader, if it is movable and anything lies in between."""
        if not self._is_movable(i):
            return
        readers = self.readers.get(self.steps[i].outputs[0], ())
        first_use = min([self.position[r] for r in readers], default=len(self.steps))
        if first_use > i + 1:
            for k in self._moved_together(i, first_use):
                self._move(k, first_use)

    def _move(self, i: int, position: int) -> None:
        """Note the position of a step."""
        for slot in {slot for slot in self.steps[i].reads if isinstance(slot, str)}:
            self.latest[slot] = max(position, self.latest.get(slot, -1))
            self.placed[slot] = self.placed.get(slot, 0) + (i not in self.position)
        self.position[i] = position

    def _is_movable(self, i: int) -> bool:
        """Return whether a step is elementwise with one result, which is a number or no output of the plan."""
        step = self.steps[i]
        alone = TRAITS[step.op].elementwise and len(step.outputs) == 1 and not step.fallback and not step.sources
        return alone and (not self.ctx.rank(step.results[0]) or step.outputs[0] not in self.outputs)

    def _moved_together(self, i: int, first_use: int) -> set[int]:
        """Return the steps that sink so that step i may, itself among them; none if more would be live than now.

        One array that is read later, though not as late as `first_use`, may stay live instead of the result.
        """
        moved, todo, room = {i}, [i], self.steps[i].results[0].dtype.itemsize
        while todo:
            for maker, slot, itemsize in self._same_size_operands(todo.pop()):
                if slot in self.outputs or self.latest.get(slot, -1) >= first_use:
                    continue  # it is live there without the steps that move
                inside = sum(slot in self.steps[k].reads for k in moved)
                if itemsize <= room and self.placed.get(slot, 0) > (slot in self.steps[i].reads):
                    room = 0
                elif inside < len(self.readers[slot]) or not self._is_movable(maker) or len(moved) == MAX_MOVED:
                    return set()
                else:
                    moved.add(maker)
                    todo.append(maker)
        return moved

    def _same_size_operands(self, i: int) -> Iterator[tuple[int, str, int]]:
        """Yield the maker, the slot and the item size of each computed operand with the shape of the result."""
        step = self.steps[i]
        if not self.ctx.rank(step.results[0]):
            return
        shape = self.ctx.sizes(step.results[0], field="bytes")
        for slot, meta in zip(step.inputs, step.metas, strict=True):
            computed = isinstance(slot, str) and slot in self.maker
            if computed and (shape is None or self.ctx.sizes(meta, field="bytes") == shape):
                yield self.maker[str(slot)], str(slot), meta.dtype.itemsize
