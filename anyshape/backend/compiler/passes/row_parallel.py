"""How a step works along rows: what it makes of a tile of rows is that tile of what it makes of all of them.

The rows of a value are along its first axis. A rule tells of a step how many rows there are, which operands have them
(any other operand is read whole by each tile), and whether the rows are summed up; None for a step that does not work
row by row, or is not proved to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.plan import Step
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size


class ParallelAxis(NamedTuple):
    """A step along `rows`; `flags` tell which operands have them, `total` whether the result has none.

    What is `placed` is an array of more rows, into which those of the operand go as they are.
    """

    rows: Size
    operands: tuple[bool, ...]
    carried: bool = False
    padded: bool = False

    def read_whole(self, step: Step) -> set[str]:
        """What the step reads that has no rows."""
        return {
            slot for slot, flag in zip(step.inputs, self.operands, strict=True) if isinstance(slot, str) and not flag
        }


class RowAnalysis:
    """Rules under what is known of sizes."""

    def __init__(self, ctx: ShapeGuardContext) -> None:
        self.ctx = ctx

    def work(self, step: Step) -> ParallelAxis | None:
        """How a step works along rows, if it does; of a single row there is nothing to divide."""
        if step.fallback or step.sources or len(step.outputs) != 1 or not step.metas:
            return None
        if any(self.ctx.sizes(m, field="rows") is None for m in (*step.metas, *step.results)):
            return None
        tiling = find_traits(step.op).tiling
        found = None if tiling is None else tiling.rows(self, step)
        return None if found is None or (isinstance(found.rows, int) and found.rows < 2) else found

    def rows_of(self, meta: TensorMeta) -> Size | None:
        """The size of the first axis; None of a number."""
        sizes = self.ctx.sizes(meta, field="rows")
        return self.ctx.scope.normal(sizes[0]) if sizes else None

    def sizes_of(self, meta: TensorMeta) -> tuple[Size, ...]:
        """The sizes by name, of what a step that works along rows reads or gives."""
        return self.ctx.sizes(meta, field="rows") or ()

    def long_axes(self, meta: TensorMeta) -> int:
        """The number of axes that may have more than one element."""
        sizes = self.ctx.sizes(meta, field="rows")
        if sizes is None:
            return self.rank_of(meta)
        most = [size if isinstance(size, int) else self.ctx.scope.bounds(size)[1] for size in sizes]
        return sum(high is None or high > 1 for high in most)

    def rank_of(self, meta: TensorMeta) -> int:
        """The number of axes."""
        return self.ctx.rank(meta)


Rule = Callable[[RowAnalysis, Step], ParallelAxis | None]


def elementwise(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Operands of the rank of the result have its rows, or one row; those of a lower rank have none."""
    rows, rank = r.rows_of(step.results[0]), r.rank_of(step.results[0])
    aligned = [r.rank_of(m) == rank for m in step.metas]
    flags = tuple([a and r.rows_of(m) == rows for a, m in zip(aligned, step.metas, strict=True)])
    one_row = [not a or f or r.rows_of(m) == 1 for a, f, m in zip(aligned, flags, step.metas, strict=True)]
    return ParallelAxis(rows, flags) if rows is not None and any(flags) and all(one_row) else None


def reduction(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    rows = r.rows_of(step.metas[0])
    if rows is None:
        return None
    if 0 not in dict(step.params)["axes"]:
        return ParallelAxis(rows, (True,))
    return ParallelAxis(rows, (True,), carried=True) if _adds_up(step) else None


def _adds_up(step: Step) -> bool:
    """Results of tiles give that of all: NumPy adds halves as singles, and sums of tiles would be halves."""
    tiling = find_traits(step.op).tiling
    combine = None if tiling is None else tiling.combine
    return combine is not None and (combine is not np.add or step.results[0].dtype != np.float16)


def sum_to(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Rows are kept where their axis is among `axes` with its size, and summed where it is not, or has size 1 there."""
    rows, params = r.rows_of(step.metas[0]), dict(step.params)
    if rows is None:
        return None
    size = r.ctx.scope.normal(params["shape"][0]) if 0 in params["axes"][:1] else 1
    return ParallelAxis(rows, (True,), carried=size == 1) if size == rows or (size == 1 and _adds_up(step)) else None


def reshape(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    rows = r.rows_of(step.results[0])
    return ParallelAxis(rows, (True,)) if rows is not None and rows == r.rows_of(step.metas[0]) else None


def broadcast_in_dim(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    rows, (meta,) = r.rows_of(step.results[0]), step.metas
    if rows is None or 0 not in dict(step.params)["axes"][:1]:
        return None if rows is None else ParallelAxis(rows, (False,))
    return ParallelAxis(rows, (r.rows_of(meta) == rows,)) if r.rows_of(meta) in (rows, 1) else None


def take(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    """Index arrays for the first axes have rows; with one for another axis, the array that is indexed has them."""
    axes, (x, *indices) = dict(step.params)["axes"], step.metas
    if len(axes) == 1 and axes[0] > 0:
        rows = r.rows_of(x)
        return None if rows is None else ParallelAxis(rows, (True, False))
    rows = r.rows_of(indices[0])
    alike = all(r.rows_of(i) == rows and r.rank_of(i) == r.rank_of(indices[0]) for i in indices)
    return ParallelAxis(rows, (False, *[True] * len(axes))) if rows is not None and alike and axes[0] == 0 else None


def behind(param: str) -> Rule:
    """For ops that leave the first axis alone unless `param` is 0 or starts with it."""

    def rule(r: RowAnalysis, step: Step) -> ParallelAxis | None:
        rows, axis = r.rows_of(step.metas[0]), dict(step.params)[param]
        alike = all(r.rows_of(m) == rows for m in step.metas)
        return ParallelAxis(rows, (True,) * len(step.metas)) if rows is not None and axis > 0 and alike else None

    return rule


def transpose(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    rows = r.rows_of(step.metas[0])
    return ParallelAxis(rows, (True,)) if rows is not None and dict(step.params)["axes"][0] == 0 else None


def pad(r: RowAnalysis, step: Step) -> ParallelAxis | None:
    """With rows before and after those that there are, and nothing else."""
    rows, params = r.rows_of(step.metas[0]), dict(step.params)
    plain = all(size == 0 for size in (*params["interior"], *params["low"][1:], *params["high"][1:]))
    return ParallelAxis(rows, (True,), padded=True) if rows is not None and plain else None
