"""Sums with a padded array: the array is added to a part of the other operand, in place where that is free.

Derivatives of slices are pads, and those of differences along an axis are sums of pads: written out, each takes an
array of its own, and the sum one more pass over all of them. A sum that elementwise steps go on with stays theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.plan import Literal, Step
from anyshape.backend.compiler.plan_ops import add_part_op
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv


def fold_pads_into_sums(steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope) -> list[Step]:
    """The same steps, where pads along one axis that only a sum reads are part of that sum."""
    ctx = ShapeGuardContext(scope, "fold_pads_into_sums", rule="pass")
    reads = Counter([slot for s in steps for slot in (*s.inputs, *s.sources)] + [*outputs])
    pads = {s.outputs[0]: s for s in steps if s.op is mv.pad_op and reads[s.outputs[0]] == 1 and _is_plain(s, ctx)}
    read_on: set[str | Literal] = set()  # by elementwise steps
    left: list[Step] = []
    gone: set[str] = set()
    for step in reversed(steps):
        found = None
        if step.op is ew.add_op and step.outputs[0] not in read_on and ctx.same_extents(*step.metas):
            found = next((i for i, slot in enumerate(step.inputs) if slot in pads and step.inputs[1 - i] != slot), None)
        if found is not None:
            gone.add(str(step.inputs[found]))
            step = _sum(step, found, pads[str(step.inputs[found])])
        elif find_traits(step.op).elementwise:
            read_on.update(step.inputs)
        left.append(step)
    return [s for s in reversed(left) if s.outputs[0] not in gone]


def _is_plain(pad: Step, ctx: ShapeGuardContext) -> bool:
    """With zeros, before and after one axis, of sizes that have names."""
    params = dict(pad.params)
    zero = params["value"] == 0 and not np.signbit(np.real(params["value"]))
    axes = [both for both in zip(params["low"], params["high"], strict=True) if both != (0, 0)]
    alone = len(axes) == 1 and all(n == 0 for n in params["interior"]) and not pad.sources
    return zero and alone and pad.results[0].dtype.kind in "fiuc" and not ctx.same_extents(pad.metas[0], pad.results[0])


def _sum(step: Step, position: int, pad: Step) -> Step:
    """The sum of one operand with the pad that is the other."""
    low, high = (dict(pad.params)[name] for name in ("low", "high"))
    axis, both = next((i, both) for i, both in enumerate(zip(low, high, strict=True)) if both != (0, 0))
    params = (("axis", axis), ("low", both[0]), ("high", both[1]))
    inputs, metas = (step.inputs[1 - position], pad.inputs[0]), (step.metas[1 - position], pad.metas[0])
    return Step(add_part_op, inputs, params, step.outputs, metas, step.results, where=step.where)
