"""Parallel axes: a step whose result for a tile of rows is that tile of its whole result.

The rows of a value are along its first axis. The rule of an op finds, for a step, the number of rows and the operands
that have them. Any other operand is read whole by each tile. A rule returns None for a step that does not work row by
row, or is not proved to. Rows of `backend/numpy/` name the rule of each op.
"""

from collections.abc import Callable

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.plan import Step
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.graph.sizes.expr import Size
from anyshape.support.lazy_dataclass import NamedTuple


class ParallelAxis(NamedTuple):
    """Parallel axis of a step.

    - `rows`: its size.
    - `operands`: which operands have it.
    - `carried`: the step reduces along it, so the result has no such axis.
    - `padded`: the result has more rows, and the rows of the operand are a part of them.
    """

    rows: Size
    operands: tuple[bool, ...]
    carried: bool = False
    padded: bool = False

    def read_whole(self, step: Step) -> set[str]:
        """Return the operands that each tile reads whole."""
        pairs = zip(step.inputs, self.operands, strict=True)
        return {slot for slot, parallel in pairs if isinstance(slot, str) and not parallel}


class RowAnalysis:
    """Finds parallel axes under the assumptions of a scope."""

    def __init__(self, ctx: ShapeGuardContext) -> None:
        self.ctx = ctx

    def parallel_axis(self, step: Step) -> ParallelAxis | None:
        """Return the parallel axis of a step. A single row gives none, as there is nothing to divide."""
        if (tiling := TRAITS[step.op].tiling) is None or not self._is_plain(step):
            return None
        axis: ParallelAxis | None = tiling.rows(self, step)
        single = axis is not None and isinstance(axis.rows, int) and axis.rows < 2
        return None if single else axis

    def _is_plain(self, step: Step) -> bool:
        """Return whether a step has operands and one result, and all sizes have names."""
        if step.fallback or step.sources or len(step.outputs) != 1 or not step.metas:
            return False
        return all(self.ctx.sizes(m, field="rows") is not None for m in (*step.metas, *step.results))

    def rows_of(self, meta: TensorMeta) -> Size | None:
        """Return the size of the first axis; None for a number."""
        sizes = self.ctx.sizes(meta, field="rows")
        return self.ctx.scope.normal(sizes[0]) if sizes else None

    def sizes_of(self, meta: TensorMeta) -> tuple[Size, ...]:
        """Return the sizes of an operand or result of a step with a parallel axis."""
        return self.ctx.sizes(meta, field="rows") or ()

    def long_axes(self, meta: TensorMeta) -> int:
        """Return the number of axes that may have more than one element."""
        if (sizes := self.ctx.sizes(meta, field="rows")) is None:
            return self.rank_of(meta)
        return sum(not self.ctx.scope.proves_at_once(at_least(1, size)) for size in sizes)

    def rank_of(self, meta: TensorMeta) -> int:
        """Return the number of axes."""
        return self.ctx.rank(meta)


Rule = Callable[[RowAnalysis, Step], ParallelAxis | None]


def elementwise(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Operands of the rank of the result have its rows, or one row; operands of a lower rank have none."""
    rows, rank = analysis.rows_of(step.results[0]), analysis.rank_of(step.results[0])
    aligned = [(analysis.rank_of(m) == rank, analysis.rows_of(m)) for m in step.metas]
    parallel = tuple([same_rank and own == rows for same_rank, own in aligned])
    if rows is None or not any(parallel) or any(same_rank and own not in (rows, 1) for same_rank, own in aligned):
        return None
    return ParallelAxis(rows, parallel)


def reduction(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Take the rows from the operand; a reduction along them is a carried reduction."""
    if (rows := analysis.rows_of(step.metas[0])) is None:
        return None
    if 0 not in dict(step.params)["axes"]:
        return ParallelAxis(rows, (True,))
    return ParallelAxis(rows, (True,), carried=True) if _can_be_carried(step) else None


def _can_be_carried(step: Step) -> bool:
    """Return whether partial results combine exactly: NumPy adds float16 as float32, but partial sums are float16."""
    tiling = TRAITS[step.op].tiling
    combine = None if tiling is None else tiling.combine
    return combine is not None and (combine is not np.add or step.results[0].dtype != np.float16)


def sum_to(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Rows stay where their axis is among `axes` with its size, and are summed where it is not, or has size 1 there."""
    rows, params = analysis.rows_of(step.metas[0]), dict(step.params)
    if rows is None:
        return None
    size = analysis.ctx.scope.normal(params["shape"][0]) if 0 in params["axes"][:1] else 1
    if size == rows or (size == 1 and _can_be_carried(step)):
        return ParallelAxis(rows, (True,), carried=size == 1)
    return None


def reshape(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Rows stay where the first axis keeps its size."""
    rows = analysis.rows_of(step.results[0])
    return ParallelAxis(rows, (True,)) if rows is not None and rows == analysis.rows_of(step.metas[0]) else None


def broadcast_in_dim(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Take the rows from the operand where its first axis is the first of the result and is not stretched."""
    rows, own = analysis.rows_of(step.results[0]), analysis.rows_of(step.metas[0])
    if rows is None:
        return None
    if 0 not in dict(step.params)["axes"][:1]:
        return ParallelAxis(rows, (False,))
    return ParallelAxis(rows, (own == rows,)) if own in (rows, 1) else None


def take(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Index arrays for the first axes have rows; with one index for another axis, the indexed array has them."""
    axes, (x, *indices) = dict(step.params)["axes"], step.metas
    if len(axes) == 1 and axes[0] > 0:
        rows = analysis.rows_of(x)
        return None if rows is None else ParallelAxis(rows, (True, False))
    rows, rank = analysis.rows_of(indices[0]), analysis.rank_of(indices[0])
    alike = all(analysis.rows_of(i) == rows and analysis.rank_of(i) == rank for i in indices)
    if rows is None or not alike or axes[0] != 0:
        return None
    return ParallelAxis(rows, (False, *[True] * len(axes)))


def behind(param: str) -> Rule:
    """Return the rule of ops that leave the first axis alone unless `param` is 0."""

    def rule(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
        rows, axis = analysis.rows_of(step.metas[0]), dict(step.params)[param]
        alike = all(analysis.rows_of(m) == rows for m in step.metas)
        return ParallelAxis(rows, (True,) * len(step.metas)) if rows is not None and axis > 0 and alike else None

    return rule


def transpose(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Rows stay where the first axis stays first."""
    rows = analysis.rows_of(step.metas[0])
    return ParallelAxis(rows, (True,)) if rows is not None and dict(step.params)["axes"][0] == 0 else None


def pad(analysis: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Take the rows from the operand, where a pad adds rows before and after them and nothing else."""
    rows, params = analysis.rows_of(step.metas[0]), dict(step.params)
    plain = all(size == 0 for size in (*params["interior"], *params["low"][1:], *params["high"][1:]))
    return ParallelAxis(rows, (True,), padded=True) if rows is not None and plain else None
