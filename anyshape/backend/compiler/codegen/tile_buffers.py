"""Buffers of a thread that runs tiles: which values of a tile live in one, and what lives outside of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from anyshape.backend.compiler import names as naming
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.plan import Step
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size

KERNEL_ARRAYS = 3  # arrays like its operand or result that a kernel with scratch memory makes in a tile, at most
BufferKey = tuple[np.dtype, tuple[Size, ...]]  # dtype and sizes of a row, which decide its bytes


def row_sizes(meta: TensorMeta) -> tuple[Size, ...]:
    """Return the sizes of one row of a value."""
    return (meta.sizes or ())[1:]


class TileBuffers:
    """Buffers of a thread, and the values of a tile that live outside of them.

    - `keys`: what each buffer holds, by its local.
    - `holds`: for each live value without a buffer, the values that it keeps alive, itself among them.
    - `live`: of each key, how many values live outside of buffers.
    - `most`: of each key, the most that are live when a step ends, with what its kernel makes.
    """

    def __init__(self, metas: Mapping[str, TensorMeta]) -> None:
        self.metas = metas
        self.keys: dict[str, BufferKey] = {}
        self.holds: dict[str, tuple[str, ...]] = {}
        self.live: Counter[BufferKey] = Counter()
        self.most: Counter[BufferKey] = Counter()
        self._holders: Counter[str] = Counter()  # of each value that lives outside of buffers
        self._buffer: dict[str, str] = {}  # of each value that lives in one
        self._users: Counter[str] = Counter()  # of each buffer
        self._free: dict[BufferKey, list[str]] = {}

    def take(self, slot: str) -> str:
        """Return a buffer for a value."""
        key = self._key(slot)
        free = self._free.setdefault(key, [])
        if free:
            buffer = free.pop()
        else:
            buffer = naming.tile_buffer(len(self.keys))
            self.keys[buffer] = key
        self._use(slot, buffer)
        return buffer

    def _key(self, slot: str) -> BufferKey:
        return self.metas[slot].dtype, row_sizes(self.metas[slot])

    def _use(self, slot: str, buffer: str) -> None:
        self._buffer[slot] = buffer
        self._users[buffer] += 1

    def release(self, slots: Iterable[str]) -> None:
        """Free the buffers of dead values, unless a view still reads them."""
        for slot in slots:
            buffer = self._buffer.pop(slot, None)
            if buffer is not None:
                self._users[buffer] -= 1
                if not self._users[buffer]:
                    self._free[self.keys[buffer]].append(buffer)

    def hold(self, slot: str, step: Step) -> None:
        """Note a value without a buffer. A view keeps the memory of its base alive."""
        alias = TRAITS[step.op].alias
        base = str(step.inputs[0]) if alias.may_share else ""
        if base in self._buffer:
            self._use(slot, self._buffer[base])
        own = (slot,) if alias.may_allocate else ()
        self.holds[slot] = (*own, *self.holds.get(base, ()))
        for value in self.holds[slot]:
            self.live[self._key(value)] += not self._holders[value]
            self._holders[value] += 1

    def record_unbuffered(self, step: Step, carried: Collection[str]) -> None:
        """Record what is live without a buffer at the end of a step that makes these partial results."""
        made = Counter([(self.metas[slot].dtype, self.metas[slot].sizes or ()) for slot in carried])
        made.update([(m.dtype, row_sizes(m)) for m in scratch_like(step)] * KERNEL_ARRAYS)
        held = [self._key(value) for slot in step.outputs for value in self.holds.get(slot, ())]
        for key in (*made, *held):
            self.most[key] = max(self.most[key], self.live[key] + made[key])

    def drop(self, slots: Iterable[str]) -> None:
        """Forget dead values without a buffer."""
        for slot in slots:
            for value in self.holds.pop(slot):
                self._holders[value] -= 1
                self.live[self._key(value)] -= not self._holders[value]


def scratch_like(step: Step) -> Sequence[TensorMeta]:
    """Return the arrays whose sizes bound what the kernel makes in a tile, if it makes any."""
    return () if TRAITS[step.op].scratch is None else (step.results[0], step.metas[0])
