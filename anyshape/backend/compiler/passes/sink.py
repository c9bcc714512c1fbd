"""Elementwise steps wait until something reads them, where what they read is kept until then anyway.

`1 - tanh(x)**2`, which only the derivative reads, is computed with the derivative: nothing of it is kept in between, it
joins the steps along the same rows there, and no step runs twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.plan import Literal, Step
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext

MOST = 16  # steps that are looked at to move one: what makes an operand may have to wait with it


def delay(steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope) -> list[Step]:
    """The same steps in another order."""
    return _Delay(steps, outputs, ShapeGuardContext(scope, "delay", rule="pass")).run()


class _Delay:
    """`place` is, for each step, the step that it runs right before, or itself; with equal ones the order stays."""

    def __init__(self, steps: Sequence[Step], outputs: Sequence[str | Literal], ctx: ShapeGuardContext) -> None:
        self.steps, self.ctx = steps, ctx
        self.kept = {o for o in outputs if isinstance(o, str)}
        self.maker = {slot: i for i, step in enumerate(steps) for slot in step.outputs}
        self.readers: dict[str, list[int]] = {}
        for i, step in enumerate(steps):
            for slot in {*step.inputs, *step.sources}:
                if isinstance(slot, str):
                    self.readers.setdefault(slot, []).append(i)
        self.place: dict[int, int] = {}

    def run(self) -> list[Step]:
        for i in range(len(self.steps) - 1, -1, -1):
            if i not in self.place:
                self.place[i] = i
                if self._movable(i):
                    readers = self.readers.get(self.steps[i].outputs[0], ())
                    later = min([self.place[r] for r in readers], default=len(self.steps))
                    if later > i + 1:
                        self.place |= dict.fromkeys(self._together(i, later), later)
        return [self.steps[i] for i in sorted(range(len(self.steps)), key=lambda i: (self.place[i], i))]

    def _movable(self, i: int) -> bool:
        """It works on elements, gives one value, and that is a number or no result of the plan."""
        step = self.steps[i]
        alone = find_traits(step.op).elementwise and len(step.outputs) == 1 and not step.fallback and not step.sources
        return alone and (not self.ctx.rank(step.results[0]) or step.outputs[0] not in self.kept)

    def _together(self, i: int, later: int) -> set[int]:
        """The steps that move so that step i may, itself among them; none if more would be kept for them than now.

        One array that is read again, though not for as long, may be kept instead of the result.
        """
        moved, todo, room = {i}, [i], self.steps[i].results[0].dtype.itemsize
        while todo:
            for maker, slot, itemsize in self._large(todo.pop()):
                others = [r for r in self.readers[slot] if r not in moved]
                if slot in self.kept or any(self.place.get(r, -1) >= later for r in others):
                    continue
                if any(r in self.place for r in others) and itemsize <= room:
                    room = 0
                elif others or not self._movable(maker) or len(moved) == MOST:
                    return set()
                else:
                    moved.add(maker)
                    todo.append(maker)
        return moved

    def _large(self, i: int) -> list[tuple[int, str, int]]:
        """The arrays that a step reads, of the shape of its result: the steps that make them, and the item sizes."""
        step = self.steps[i]
        if not self.ctx.rank(step.results[0]):
            return []
        shape = self.ctx.sizes(step.results[0], field="bytes")
        made = [(s, m) for s, m in zip(step.inputs, step.metas, strict=True) if isinstance(s, str) and s in self.maker]
        large = [(s, m) for s, m in made if shape is None or self.ctx.sizes(m, field="bytes") == shape]
        return [(self.maker[slot], slot, meta.dtype.itemsize) for slot, meta in large]
