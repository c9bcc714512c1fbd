"""Write parts of arrays right before the first use of the result, after the last other use of the array.

The derivative of an assignment reads a part of the cotangent, and writes zeros there. Written after the part was used,
the cotangent needs no copy: n assignments in a row then cost n small writes.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.backend.compiler.plan import Slot, Step
from anyshape.ops.movement import slice_update_op


def write_late(steps: Sequence[Step], outputs: Sequence[Slot]) -> list[Step]:
    """Return the same steps in another order.

    A write moves only where the array is read between the write and the first use of its result.
    """
    if not any(step.op is slice_update_op for step in steps):
        return [*steps]
    readers = _readers(steps)
    position = [*range(len(steps))]  # of the step that each step runs right before, or its own; ties keep their order
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        if step.op is slice_update_op and step.inputs[0] not in outputs:
            others = [position[r] for r in readers[step.inputs[0]] if r != i]
            first_use = min([position[r] for r in readers.get(step.outputs[0], ())], default=i)
            if i < max(others, default=i) < first_use:
                position[i] = first_use
    return [steps[i] for i in sorted(range(len(steps)), key=lambda i: (position[i], i))]


def _readers(steps: Sequence[Step]) -> dict[Slot, list[int]]:
    """Return the steps that read each slot."""
    readers: dict[Slot, list[int]] = {}
    for i, step in enumerate(steps):
        for slot in set(step.reads):
            readers.setdefault(slot, []).append(i)
    return readers
