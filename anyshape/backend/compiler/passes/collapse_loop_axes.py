"""Which axes behind the rows a group may count as rows too: then arrays of few long rows are cut into many tiles.

A batch of one sequence has one row, of all its tokens; counted together, tokens are rows. Axes 1..count are merged with
the first where each step works along them just as it does along rows: `(b, n, d)` becomes `(b * n, 1, d)`, so steps
and their parameters stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.passes.row_parallel import ParallelAxis, RowAnalysis
from anyshape.backend.compiler.plan import Step
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import Size

Entries = Sequence[tuple[Step, ParallelAxis]]


def collapsed_axes(rules: RowAnalysis, entries: Entries) -> int:
    """How many axes behind the first are rows as well."""
    rowed = [rules.sizes_of(m) for step, work in entries for m in _rowed(step, work)]
    least = min(map(len, rowed))
    return next((count for count in range(least - 1, 0, -1) if _merges(rules, entries, rowed, count)), 0)


def _rowed(step: Step, work: ParallelAxis) -> list[TensorMeta]:
    """What is known of the values of a step that have the rows."""
    read = [m for m, flag in zip(step.metas, work.operands, strict=True) if flag]
    return read if work.carried or work.padded else [*read, step.results[0]]


def _merges(rules: RowAnalysis, entries: Entries, rowed: Sequence[tuple[Size, ...]], count: int) -> bool:
    """The axes are the same of all that has rows, go by names that no other axis has, and no step mixes them up."""
    front = {sizes[: count + 1] for sizes in rowed}
    behind = {size for sizes in rowed for size in sizes[count + 1 :]}
    for step, work in entries:
        alone = [m for m, flag in zip(step.metas, work.operands, strict=True) if not flag]
        alone += [step.results[0]] if work.carried else []
        behind.update(size for m in alone for size in rules.sizes_of(m))
    names = [*next(iter(front))[1:]]
    alike = len(front) == 1 and not any(isinstance(s, int) for s in names) and behind.isdisjoint(names)
    return alike and all(_apart(rules, step, work, count) for step, work in entries)


def _apart(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    """A step does along each of these axes what it does along rows."""
    tiling = find_traits(step.op).tiling
    return tiling is not None and tiling.collapse is not None and tiling.collapse(rules, step, work, count)


def elementwise(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    """What has no rows is the same for all of them: it has no such axis, or size 1 there."""
    rank = len(rules.sizes_of(step.results[0]))
    without = [rules.sizes_of(m) for m, flag in zip(step.metas, work.operands, strict=True) if not flag]
    return all(size == 1 for sizes in without for size in sizes[: max(0, count + 1 - rank + len(sizes))])


def axes(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    axes, front = set(dict(step.params)["axes"]), range(count + 1)
    return axes.issuperset(front) if work.carried else axes.isdisjoint(front)


def axis(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    return dict(step.params)["axis"] > count


def sum_to(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    axes, sizes = dict(step.params)["axes"], rules.sizes_of(step.results[0])
    return _ones(axes, sizes, count) if work.carried else _leading(axes, count)


def broadcast_in_dim(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    axes, sizes = dict(step.params)["axes"], rules.sizes_of(step.metas[0])
    return _leading(axes, count) if work.operands[0] else _ones(axes, sizes, count)


def transpose(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    return _leading(dict(step.params)["axes"], count)


def unmixed(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    """A reshape leaves the axes in front as they are, so what is behind them is one row; a pad writes rows as such."""
    return True


def take(rules: RowAnalysis, step: Step, work: ParallelAxis, count: int) -> bool:
    """Index arrays with rows come first in the result; along one axis of what has rows, behind them."""
    return not work.operands[0] or dict(step.params)["axes"][0] > count


def _leading(axes: Sequence[int], count: int) -> bool:
    return tuple(axes[: count + 1]) == tuple(range(count + 1))


def _ones(axes: Sequence[int], sizes: Sequence[Size], count: int) -> bool:
    """An array that goes to these axes has size 1 in front."""
    return all(axis > count or size == 1 for axis, size in zip(axes, sizes, strict=True))
