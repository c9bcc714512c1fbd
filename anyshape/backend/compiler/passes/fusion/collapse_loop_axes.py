"""Loop collapse: axes behind the first become part of the parallel axis, so that arrays of few long rows are cut too.

A batch of one sequence has one row, of all its tokens; with collapsed axes, tokens are rows. Axes 1..count collapse
into the first where each step works along them just as along rows. `(b, n, d)` becomes `(b * n, 1, d)`, so steps and
their parameters stay as they are. Rows of `backend/numpy/` name the rule of each op.

Fold pads into sums: the operand of the pad is added to a part of the other operand, in place where that is free.

Derivatives of slices are pads, and derivatives of differences along an axis are sums of pads. Without this pass, each
pad takes an array of its own, and the sum one more pass over all of them. A sum that elementwise steps read stays
theirs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.passes.fusion.row_parallel import ParallelAxis, RowAnalysis
from anyshape.backend.compiler.plan import Slot, Step, add_part_op
from anyshape.graph.ir.op_local import pass_context
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv

Entries = Sequence[tuple[Step, ParallelAxis]]  # the steps of a group


def collapsed_axes(analysis: RowAnalysis, entries: Entries) -> int:
    """Return how many axes behind the first may be part of the parallel axis."""
    shapes = [analysis.sizes_of(m) for step, parallel in entries for m in _parallel_metas(step, parallel)]
    ranks = [len(sizes) for sizes in shapes]
    return next((count for count in range(min(ranks) - 1, 0, -1) if _may_collapse(analysis, entries, shapes, count)), 0)


def _parallel_metas(step: Step, parallel: ParallelAxis) -> list[TensorMeta]:
    """Return the metadata of the operands and the result that have the parallel axis."""
    operands = [m for m, flag in zip(step.metas, parallel.operands, strict=True) if flag]
    return operands if parallel.carried or parallel.padded else [*operands, step.results[0]]


def _other_metas(step: Step, parallel: ParallelAxis) -> list[TensorMeta]:
    """Return the metadata of the operands and the result that do not have the parallel axis."""
    operands = [m for m, flag in zip(step.metas, parallel.operands, strict=True) if not flag]
    return [*operands, step.results[0]] if parallel.carried else operands


def _may_collapse(analysis: RowAnalysis, entries: Entries, shapes: Sequence[tuple[Size, ...]], count: int) -> bool:
    """Return whether axes 1..count may collapse.

    All values with the parallel axis must share them, under names that no other axis has. Every step must work along
    them as along rows.
    """
    front = {sizes[: count + 1] for sizes in shapes}
    names = set(next(iter(front))[1:])
    if len(front) != 1 or any(isinstance(size, int) for size in names):
        return False
    others = [analysis.sizes_of(m) for step, parallel in entries for m in _other_metas(step, parallel)]
    behind = {size for sizes in (*[s[count + 1 :] for s in shapes], *others) for size in sizes}
    return behind.isdisjoint(names) and all(_works_along(analysis, step, axis, count) for step, axis in entries)


def _works_along(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Return whether a step works along each of these axes as along rows."""
    tiling = TRAITS[step.op].tiling
    return tiling is not None and tiling.collapse is not None and tiling.collapse(analysis, step, parallel, count)


# -- rules of ops


def elementwise(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Operands without the parallel axis are the same for all rows: they have no such axis, or size 1 there."""
    rank = len(analysis.sizes_of(step.results[0]))
    others = [analysis.sizes_of(m) for m, flag in zip(step.metas, parallel.operands, strict=True) if not flag]
    return all(size == 1 for sizes in others for size in sizes[: max(0, count + 1 - rank + len(sizes))])


def axes(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Return whether a carried reduction is along all of the axes, and any other along none."""
    axes, front = set(dict(step.params)["axes"]), range(count + 1)
    return axes.issuperset(front) if parallel.carried else axes.isdisjoint(front)


def axis(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Return whether the op works along an axis behind the axes in front."""
    behind: bool = dict(step.params)["axis"] > count
    return behind


def sum_to(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Return whether the axes are summed like the rows, or stay like them."""
    axes, sizes = dict(step.params)["axes"], analysis.sizes_of(step.results[0])
    return _ones(axes, sizes, count) if parallel.carried else _leading(axes, count)


def broadcast_in_dim(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Return whether the axes are axes of the operand like the rows, or are stretched like them."""
    axes, sizes = dict(step.params)["axes"], analysis.sizes_of(step.metas[0])
    return _leading(axes, count) if parallel.operands[0] else _ones(axes, sizes, count)


def transpose(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Return whether the axes stay in front."""
    return _leading(dict(step.params)["axes"], count)


def unmixed(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Return True: a reshape keeps the axes in front, so the rest is one row, and a pad writes rows as they are."""
    return True


def take(analysis: RowAnalysis, step: Step, parallel: ParallelAxis, count: int) -> bool:
    """Index arrays with rows come first in the result; an indexed array with rows is indexed along an axis behind."""
    return not parallel.operands[0] or dict(step.params)["axes"][0] > count


def _leading(axes: Sequence[int], count: int) -> bool:
    return tuple(axes[: count + 1]) == tuple(range(count + 1))


def _ones(axes: Sequence[int], sizes: Sequence[Size], count: int) -> bool:
    """Return whether an array whose axes go to these has size 1 in front."""
    return all(axis > count or size == 1 for axis, size in zip(axes, sizes, strict=True))


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
