"""Apply conditionals to graphs that rules derive from branches, for one example or for each of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.autodiff.rule_tables import Linear
from anyshape.autodiff.structural_zeros import Part
from anyshape.autodiff.subgraph_transforms import Handle, batch_element, rows_graphs, with_shared_variables
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.subgraph import sizes_at
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops import control_flow as cf
from anyshape.ops.core.apply import meta_of
from anyshape.ops.subgraph_call import further_operands
from anyshape.ops.void_branches import close_branches


def handle_of(*xs: Any) -> Handle:
    """Return the class of handles that traced operands have, or the elements of cotangents that are parts."""
    return type(next(x for x in map(_elements, xs) if isinstance(x, Traced)))


def _elements(x: Any) -> Any:
    while isinstance(x, Part):
        x = x.ct
    return x


def meta_of_operand(x: Any) -> TensorMeta:
    """Return the array type of an operand, which may be `Linear`."""
    meta: TensorMeta = x.meta if isinstance(x, Linear) else meta_of(x)
    return meta


class Branches:
    """Branches of a conditional and its operands, from which rules derive another one.

    With `carries`, the conditional is of each example: flagged operands have one row for each. `totals` are the results
    that are sums over examples. `like` gives traced values where no operand is one.
    """

    ctx: ShapeGuardContext
    index: Any
    operands: Sequence[Any]

    def __init__(
        self,
        ctx: ShapeGuardContext,
        index: Any,
        operands: Sequence[Any],
        branches: Sequence[Graph],
        carries: Sequence[bool] | None = None,
        totals: Sequence[bool] = (),
        like: Sequence[Any] = (),
    ) -> None:
        self.ctx, self.index, self.operands = ctx, index, operands
        self.is_of_examples: bool = carries is not None
        self.handle: Handle = handle_of(index, *operands, *like)
        self.graphs: list[Graph] = with_shared_variables(branches, self.handle)
        self.carries: list[bool] = [False] * len(operands) if carries is None else list(carries)
        self.totals: list[bool] = list(totals) or [False] * len(branches[0].outputs)

    def size_of_variable(self) -> dict[DimVar, Size]:
        """Return the size of each variable of the branches."""
        pairs = zip(map(meta_of_operand, self.operands), self.carries, strict=True)
        metas = [batch_element(m) if carries else m for m, carries in pairs]
        return sizes_at(self.ctx, self.graphs[0], metas)

    def apply(
        self, graphs: Sequence[Graph], arguments: Sequence[Any], carries: Sequence[bool], totals: Sequence[bool] | None
    ) -> tuple[Any, ...]:
        """Return the results of a conditional with the same index, whose branches are derived from these."""
        closed, sizes = close_branches(graphs), self.size_of_variable()
        operands = [*arguments, *further_operands(closed, sizes)]
        if not self.is_of_examples:
            return cf.cond(self.index, closed.graphs, *operands)
        flags = [*carries, *[False] * (len(operands) - len(arguments))]
        sums = list(totals or [False] * len(graphs[0].outputs))
        return apply_each(self.index, operands, closed.graphs, flags, sums, sizes, self.handle)


def apply_each(
    index: Any,
    operands: Sequence[Any],
    branches: Sequence[Graph],
    carries: Sequence[bool],
    totals: Sequence[bool],
    sizes: dict[DimVar, Size],
    handle: Handle,
) -> tuple[Any, ...]:
    """Return the results of each branch for the examples that choose it. `sizes` are the sizes of one example."""
    one = TensorMeta(index.dtype, ())
    batched = close_branches(rows_graphs(branches, one, carries, totals, handle))
    further = further_operands(batched, sizes)
    return cf.cond_each(index, branches, batched.graphs, *operands, *further, carries=carries, totals=totals)
