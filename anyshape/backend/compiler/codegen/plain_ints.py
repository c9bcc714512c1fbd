"""Counters of loops: scalars that a generated function holds as Python ints, as no array ever reads them.

NumPy's scalars take ten times as long. A counter is a carry or a captured scalar that bodies read only to count on, and
to compare it with a scalar.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from anyshape.backend.compiler.plan import Plan, Slot, Step
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.sizes.expr import as_atom
from anyshape.graph.sizes.symbols import DimVar
from anyshape.ops import elementwise as ew
from anyshape.ops.creation import size_value_op
from anyshape.ops.loops import Layout

INT = tensor(np.dtype(np.int64), ())
COMPARISONS = {ew.lt_op: "<", ew.le_op: "<=", ew.gt_op: ">", ew.ge_op: ">=", ew.eq_op: "==", ew.ne_op: "!="}


def counters(
    conditions: Sequence[Plan], others: Sequence[Plan], trip: Plan, layout: Layout, count: int
) -> dict[int, set[Slot]]:
    """Return by id of a plan its slots that hold Python ints, of the condition of a loop and of a trip.

    An input holds one in both or in neither, and so does a carry before and after a trip. `count` are the inputs that
    are operands of the loop. Other bodies read no counter.
    """
    ints = _made(trip, layout.carries)
    positions = [*range(layout.carries), *range(layout.own, count)]
    ints |= {trip.inputs[i] for i in positions if _is_counter(i, conditions, others, trip, layout.carries)}
    ends = trip.outputs[: layout.carries]
    while changed := [pair for pair in zip(trip.inputs, ends, strict=False) if (pair[0] in ints) != (pair[1] in ints)]:
        ints.difference_update([slot for pair in changed for slot in pair])
    at = [i for i, slot in enumerate(trip.inputs) if slot in ints]
    by_plan: dict[int, set[Slot]] = {id(plan): _of_condition(plan, {plan.inputs[i] for i in at}) for plan in conditions}
    return by_plan | {id(trip): ints}


def _is_counter(i: int, conditions: Sequence[Plan], others: Sequence[Plan], trip: Plan, carries: int) -> bool:
    """Return whether the condition and a trip only count on from input i or compare it, and other bodies ignore it."""
    if trip.input_metas[i] != INT or not _is_counted(trip, trip.inputs[i], carries):
        return False
    is_read = any(plan.inputs[i] in step.reads for plan in others for step in plan.steps)
    return not is_read and all(_is_counted(plan, plan.inputs[i], 0) for plan in conditions)


def compares(step: Step, ints: Collection[Slot]) -> bool:
    """Return whether a step compares scalars, and a Python int is among them."""
    return step.op in COMPARISONS and any(slot in ints for slot in step.inputs)


def _made(plan: Plan, carries: int) -> set[Slot]:
    """Return the slots of counters that the steps of a plan make."""
    return {s.outputs[0] for s in plan.steps if _is_made(s) and _is_counted(plan, s.outputs[0], carries)}


def _is_made(step: Step) -> bool:
    """Return whether a step makes a scalar that is a Python int before it is converted."""
    if step.op is size_value_op:
        return isinstance(as_atom(dict(step.params)["size"]), DimVar)
    return step.op is ew.python_int_op and _are_ints(step.metas)


def _are_ints(metas: Sequence[TensorMeta]) -> bool:
    return all(meta == INT for meta in metas)


def _is_counted(plan: Plan, slot: Slot, carries: int) -> bool:
    """Return whether a plan reads a slot only to count on, to compare it, and as one of its first results."""
    steps = [step for step in plan.steps if slot in step.reads]
    counts = all(_are_ints(s.metas) and (s.op is ew.python_int_op or s.op in COMPARISONS) for s in steps)
    return counts and slot not in plan.outputs[carries:]


def _of_condition(plan: Plan, inputs: set[Slot]) -> set[Slot]:
    """Return the slots of a condition that hold Python ints, or a Python bool that is its result."""
    ints = inputs | _made(plan, 0)
    compared = {s.outputs[0] for s in plan.steps if compares(s, ints)}
    return ints | {s for s in plan.outputs if s in compared and not any(s in step.reads for step in plan.steps)}
