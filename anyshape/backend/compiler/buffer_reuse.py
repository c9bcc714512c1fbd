"""Buffer reuse: results go to the memory of dead values, and slots are freed after their last use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from anyshape.backend.compiler import plan
from anyshape.backend.compiler.op_traits import TRAITS, Alias, runs_user_code
from anyshape.backend.compiler.plan import Group, Slot, Step
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.loops import LOOPS, mask_position

BufferKey = tuple[np.dtype, tuple[Size, ...]]  # dtype and sizes


class BufferReuse:
    """Assigns buffers to the steps of a plan, and finds the outputs to copy.

    `carries` are the inputs of a trip of a loop that may own the memory of its carries: see `owned_carries`.
    """

    steps: Sequence[Step]
    outputs: Sequence[Slot]
    ctx: ShapeGuardContext

    def __init__(
        self,
        steps: Sequence[Step],
        outputs: Sequence[Slot],
        ctx: ShapeGuardContext,
        groups: Sequence[Group],
        carries: Sequence[str] = (),
    ) -> None:
        self.steps, self.outputs, self.ctx = steps, outputs, ctx
        self.internal: dict[str, set[str]] = {
            group.steps[-1].outputs[0]: group.internal for group in groups
        }  # by the last result
        self.metas: dict[str, TensorMeta] = {o: m for s in steps for o, m in zip(s.outputs, s.results, strict=True)}
        self.last_use: dict[Slot, int] = _last_uses(steps, outputs)
        self.fresh: set[Slot] = set()  # slots whose memory no other slot had before
        self.base: dict[Slot, Slot] = {}  # by view: the slot whose memory it may share
        self.stretched: set[Slot] = set()  # views in which one element may stand for several
        for step in steps:
            self._note_aliases(step)
        # functions of the user may keep their operands
        retaining = [step for step in steps if runs_user_code(step)]
        self.retained: set[Slot] = {self.base.get(slot, slot) for step in retaining for slot in step.inputs}
        self.shared: set[Slot] = self._shared_by(retaining)
        # what a kernel consumes, it hands to nobody
        self.unconsumable: set[Slot] = self._shared_by([step for step in retaining if not KERNELS[step.op].consumes])
        self.memory_use: dict[Slot, int] = self._last_uses_of_memory()
        self.owned_carries: set[str] = self._owned_carries(carries)

    def _shared_by(self, steps: Sequence[Step]) -> set[Slot]:
        """Return the slots whose memory others share, or functions that these steps call."""
        return {*self.base.values(), *[self.base.get(slot, slot) for step in steps for slot in step.inputs]}

    def _owned_carries(self, carries: Sequence[str]) -> set[str]:
        """Return the carries whose memory nothing else holds in any trip, if it is so before the first one.

        A trip leaves such a carry as an array that it has made, or as another one of them. No function of the user has
        seen this array, and no other result shares its memory.
        """
        ends = self.outputs[: len(carries)]
        sharing = Counter([self.base.get(slot, slot) for slot in self.outputs])
        by_user = {slot for step in self.steps if runs_user_code(step) for slot in step.outputs}
        made = self.fresh - by_user - self.retained
        owned = {c: end for c, end in zip(carries, ends, strict=True) if sharing[end] == 1}
        while left := [c for c, end in owned.items() if end not in made and end not in owned]:
            for carry in left:
                del owned[carry]
        return {*owned}

    def _note_aliases(self, step: Step) -> None:
        alias = TRAITS[step.op].alias
        if not alias.may_share:
            self.fresh.update(step.outputs)
            mask = mask_position(step)
            if mask is not None:
                self.fresh.remove(step.outputs[mask])
                self.stretched.add(step.outputs[mask])
            return
        source = step.inputs[0]
        self.base[step.outputs[0]] = self.base.get(source, source)
        if alias is Alias.STRETCHED_VIEW or source in self.stretched:
            self.stretched.add(step.outputs[0])

    def _last_uses_of_memory(self) -> dict[Slot, int]:
        """Return for each slot that is not a view the last use of its memory, by the slot or by a view of it."""
        last = dict(self.last_use)
        for view, base in self.base.items():
            last[base] = max(last.get(base, len(self.steps)), self.last_use[view])
        return last

    def copied(self) -> tuple[bool, ...]:
        """Tell of each output whether it may share memory with an input, a constant or an earlier output.

        Such outputs are copied before they are returned, and so are stretched views, which cannot be written to.
        """
        owned: set[Slot] = set()
        copied = []
        for slot in self.outputs:
            base = self.base.get(slot, slot)
            copied.append(base not in self.fresh or base in owned or slot in self.stretched)
            owned.add(base)
        return tuple(copied)

    def assign(self) -> list[Step]:
        """Return the steps with `reuse` and `drops` filled in.

        A dead buffer waits for a value of its size until another array is made that may be as large. Then it is freed,
        so no more memory is live at once than values are.
        """
        free = _FreeBuffers()
        reuse: dict[int, str] = {}
        owned: dict[int, tuple[int, ...]] = {}
        for position, step in enumerate(self.steps):
            dying, is_loop = self._dying(position, step), step.op in LOOPS
            if KERNELS[step.op].consumes or is_loop:
                owned[position] = self._owned_operands(step, dying)
            if not is_loop or not owned[position]:  # results of a loop may be in the memory of its operands
                self._free_operands(free, step, dying)
            buffer = self._updated(position, step)
            if buffer is not None:
                free.remove([buffer])
            elif KERNELS[step.op].out:
                buffer = free.take(self._key(step.results[0]), dying)
            if buffer is not None:
                reuse[position] = buffer
            elif not TRAITS[step.op].alias.may_share:
                free.drop_up_to(max([self.ctx.rank(m) for m in step.results]), dying)
            free.remove(self.internal.get(step.outputs[0], ()))
        return _with_owned(self._with_drops(reuse), owned)

    def _free_operands(self, free: _FreeBuffers, step: Step, dying: Sequence[str]) -> None:
        """Enter the operands that no later step reads in the list of free buffers."""
        for slot in [s for s in dying if s in step.inputs and self._is_reusable(s)]:
            free.add(slot, self._key(self.metas[slot]))

    def _updated(self, position: int, step: Step) -> str | None:
        """Return the first operand if the step writes a part of it, and nobody reads its memory later.

        Views of it may have been read before. None of them may be what is written: it is read meanwhile.
        """
        slot = step.inputs[0] if step.inputs else None
        if not TRAITS[step.op].updates or not isinstance(slot, str) or slot in self.retained:
            return None
        if slot not in self.fresh and (slot not in self.owned_carries or not self.ctx.rank(step.metas[0])):
            return None
        others = [self.base.get(other, other) for other in step.inputs[1:]]
        return slot if self.memory_use[slot] == position and slot not in others else None

    def _dying(self, position: int, step: Step) -> list[str]:
        """Return the slots with their last use here."""
        slots = dict.fromkeys([*step.inputs, *step.outputs])
        return [s for s in slots if isinstance(s, str) and self.last_use[s] == position]

    def _owned_operands(self, step: Step, dying: Sequence[str]) -> tuple[int, ...]:
        """Return the positions of the operands that nothing reads after a step, and whose memory nobody shares."""
        ends = (self.fresh | self.owned_carries).intersection(dying) - self.unconsumable
        return tuple([i for i, s in enumerate(step.inputs) if s in ends])

    def _is_reusable(self, slot: str) -> bool:
        return slot in self.fresh and slot not in self.shared and slot in self.metas

    def _key(self, meta: TensorMeta) -> BufferKey | None:
        """Return a key that buffers of one size and dtype share.

        It is None where a size has no name, and for a number, which may be no array.
        """
        sizes = self.ctx.sizes(meta, field="buffer")
        return (meta.dtype, sizes) if sizes else None

    def _with_drops(self, reuse: dict[int, str]) -> list[Step]:
        """Free each slot after its last use, or after the step that takes over its buffer."""
        taken_at = {slot: position for position, slot in reuse.items()}
        drops: dict[int, list[str]] = {}
        for slot, position in self.last_use.items():
            if isinstance(slot, str) and position < len(self.steps) and not plan.is_constant(slot):
                drops.setdefault(taken_at.get(slot, position), []).append(slot)
        return [s.with_buffers(reuse.get(i), tuple(drops.get(i, ()))) for i, s in enumerate(self.steps)]


def _with_owned(steps: list[Step], owned: dict[int, tuple[int, ...]]) -> list[Step]:
    """Return the steps, where kernels that consume operands, and loops that may write to them, know which."""
    params = {i: (*steps[i].params, ("owned_operands", positions)) for i, positions in owned.items()}
    return [replace(s, params=params[i]) if i in params else s for i, s in enumerate(steps)]


def _last_uses(steps: Sequence[Step], outputs: Iterable[Slot]) -> dict[Slot, int]:
    """Return the position of the last step that reads or makes each slot; outputs are used after all steps."""
    last_use: dict[Slot, int] = {}
    for position, step in enumerate(steps):
        last_use |= dict.fromkeys([*step.reads, *step.outputs], position)
    return last_use | dict.fromkeys(outputs, len(steps))


class _FreeBuffers:
    """Dead slots whose buffers wait for a value, by what the buffers can hold, the last one last.

    Each operation takes time in proportion to the slots that it names or drops, however many wait.
    """

    def __init__(self) -> None:
        self.key_of: dict[str, BufferKey] = {}
        self.by_rank: dict[int, dict[BufferKey, dict[str, None]]] = {}

    def add(self, slot: str, key: BufferKey | None) -> None:
        """Let the buffer of a slot wait."""
        if key is not None:
            self.key_of[slot] = key
            self.by_rank.setdefault(len(key[1]), {}).setdefault(key, {})[slot] = None

    def take(self, key: BufferKey | None, operands: Sequence[str]) -> str | None:
        """Take the last buffer of a key, one of these operands if there is one."""
        waiting = None if key is None else self.by_rank.get(len(key[1]), {}).get(key)
        if not waiting:
            return None
        slot = next((s for s in reversed(operands) if s in waiting), None)
        if slot is None:
            slot, _ = waiting.popitem()
        else:
            del waiting[slot]
        del self.key_of[slot]
        return slot

    def remove(self, slots: Iterable[str]) -> None:
        """Forget the slots that wait among these."""
        for slot in slots:
            key = self.key_of.pop(slot, None)
            if key is not None:
                del self.by_rank[len(key[1])][key][slot]

    def drop_up_to(self, rank: int, spared: Iterable[str]) -> None:
        """Drop the buffers with at most so many axes, but for some: an array is made that may be as large."""
        left = [(slot, self.key_of[slot]) for slot in spared if slot in self.key_of]
        for low in [r for r in self.by_rank if r <= rank]:
            for slots in self.by_rank.pop(low).values():
                for slot in slots:
                    del self.key_of[slot]
        for slot, key in left:
            self.add(slot, key)
