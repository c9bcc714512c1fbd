"""Fold pads into sums: the operand of the pad is added to a part of the other operand, in place where that is free.

Derivatives of slices are pads, and derivatives of differences along an axis are sums of pads. Without this pass, each
pad takes an array of its own, and the sum one more pass over all of them. A sum that elementwise steps read stays
theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.passes.metadata_contract import pass_context
from anyshape.backend.compiler.plan import Slot, Step
from anyshape.backend.compiler.plan_ops import add_part_op
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv


def fold_pads_into_sums(steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> list[Step]:
    """Return the steps with each pad along one axis that only a sum reads folded into that sum."""
    ctx = pass_context(scope, "pad_add")
    pads = _foldable_pads(steps, outputs, ctx)
    read_elementwise: set[Slot] = set()  # operands of later elementwise steps that stay as they are
    result: list[Step] = []
    folded: set[str] = set()
    for step in reversed(steps):
        position = None if step.outputs[0] in read_elementwise else _padded_operand(step, pads, ctx)
        if position is not None:
            folded.add(str(step.inputs[position]))
            step = _add_part(step, position, pads[str(step.inputs[position])])
        elif TRAITS[step.op].elementwise:
            read_elementwise.update(step.inputs)
        result.append(step)
    return [s for s in reversed(result) if s.outputs[0] not in folded]


def _foldable_pads(steps: Sequence[Step], outputs: Sequence[Slot], ctx: ShapeGuardContext) -> dict[str, Step]:
    """Return the pads along one axis that are read once, by their results."""
    reads = Counter([slot for step in steps for slot in step.reads] + [*outputs])
    once = [step for step in steps if step.op is mv.pad_op and reads[step.outputs[0]] == 1]
    return {pad.outputs[0]: pad for pad in once if _is_plain(pad, ctx)}


def _padded_operand(step: Step, pads: Mapping[str, Step], ctx: ShapeGuardContext) -> int | None:
    """Return the position of an operand of a sum that is a foldable pad; None if there is none."""
    if step.op is not ew.add_op or not ctx.same_extents(*step.metas):
        return None
    padded = [i for i, slot in enumerate(step.inputs) if slot in pads and step.inputs[1 - i] != slot]
    return padded[0] if padded else None


def _is_plain(pad: Step, ctx: ShapeGuardContext) -> bool:
    """Return whether a pad puts zeros before and after one axis, and its sizes have names."""
    params = dict(pad.params)
    zero = params["value"] == 0 and not np.signbit(np.real(params["value"]))
    axes = [both for both in zip(params["low"], params["high"], strict=True) if both != (0, 0)]
    alone = len(axes) == 1 and all(n == 0 for n in params["interior"]) and not pad.sources
    return zero and alone and pad.results[0].dtype.kind in "fiuc" and not ctx.same_extents(pad.metas[0], pad.results[0])


def _add_part(step: Step, position: int, pad: Step) -> Step:
    """Return the sum of one operand with the pad that is the other."""
    low, high = (dict(pad.params)[name] for name in ("low", "high"))
    axis, both = next((i, both) for i, both in enumerate(zip(low, high, strict=True)) if both != (0, 0))
    params = (("axis", axis), ("low", both[0]), ("high", both[1]))
    inputs, metas = (step.inputs[1 - position], pad.inputs[0]), (step.metas[1 - position], pad.metas[0])
    return Step(add_part_op, inputs, params, step.outputs, metas, step.results, where=step.where)
