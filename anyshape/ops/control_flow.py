"""Conditionals, which run one of several subgraphs, and arrays whose sizes are known from elsewhere."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph, Node, Op
from anyshape.graph.ir.op_local import assertions_at, call_type
from anyshape.graph.prover.constraints import Verdict
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, Unknown, UpperBound
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply_all, apply_sized, meta_of
from anyshape.ops.core.definition import NO_CHECKS, define
from anyshape.ops.core.flop_counts import MOVES, Applied, OpCost, graph_flops

BOOL = np.dtype(bool)

# -- shape rules -------------------------------------------------------------------------------------------------


def _cond_type(
    ctx: ShapeGuardContext, index: TensorMeta, *operands: TensorMeta, branches: tuple[Graph, ...]
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the weakest types of what the branches give; a branch checks its assertions where it runs."""
    if index.rank or index.dtype.kind not in "iub":
        raise ctx.bad_dtype(f"the index of a branch is {index}", "make it an integer or boolean scalar")
    if index.dtype == BOOL and len(branches) != 2:
        raise ctx.fail(f"a boolean chooses between 2 branches, not {len(branches)}")
    return _joined_types(ctx, branches, operands, first=1)


def _joined_types(
    ctx: ShapeGuardContext, branches: Sequence[Graph], operands: Sequence[TensorMeta], first: int
) -> TensorMeta | tuple[TensorMeta, ...]:
    results = [call_type(ctx, graph, operands, first, always=False) for graph in branches]
    if not results[0] or len({tuple([(m.dtype, m.rank) for m in metas]) for metas in results}) > 1:
        raise ctx.fail("the branches give different numbers of arrays, or arrays of different dtypes or ranks")
    join = _Join(ctx, branches, operands, first)
    joined = tuple([join.type(metas) for metas in zip(*results, strict=True)])
    return joined if len(joined) > 1 else joined[0]


class _Join:
    """Finds the strongest types of the results of branches: any of these may run."""

    def __init__(
        self, ctx: ShapeGuardContext, branches: Sequence[Graph], operands: Sequence[TensorMeta], first: int
    ) -> None:
        self.ctx, self.branches, self.operands, self.first = ctx, branches, operands, first

    def type(self, metas: Sequence[TensorMeta]) -> TensorMeta:
        """Return the strongest type that arrays of all these types have."""
        columns = zip(*[m.extents for m in metas], strict=True)
        return TensorMeta(metas[0].dtype, tuple([self.extent(column) for column in columns]))

    def extent(self, extents: Sequence[ShapeExtent]) -> ShapeExtent:
        """Return the extent of an axis: a size of one branch that is the size of the others too, or a bound."""
        exact = dict.fromkeys([e for e in extents if isinstance(e, Exact)])
        if len(exact) == len(dict.fromkeys(extents)):
            for size in exact:
                if all(self._same(size, e, g) for e, g in zip(extents, self.branches, strict=True)):
                    return size
        sizes = dict.fromkeys([e.size for e in extents if not isinstance(e, Unknown)])
        return Unknown() if any(isinstance(e, Unknown) for e in extents) else UpperBound(expr.maximum(*sizes))

    def _same(self, a: Exact, b: ShapeExtent, branch: Graph) -> bool:
        """Return whether a branch gives this size where it runs: by what it asserts, or as it runs nowhere."""
        if not isinstance(b, Exact):
            return False
        if self.ctx.same(a.size, b.size):
            return True
        if not (asserted := assertions_at(self.ctx, branch, self.operands, self.first)):
            return False
        with self.ctx.scope.apart():
            for condition in asserted:
                if self.ctx.scope.decide(condition.claim) is Verdict.NO:
                    return True
                self.ctx.scope.assume(condition)
            return self.ctx.same(a.size, b.size)


def _cond_each_type(
    ctx: ShapeGuardContext,
    index: TensorMeta,
    *operands: TensorMeta,
    branches: tuple[Graph, ...],
    batched: tuple[Graph, ...],
    carries: tuple[bool, ...],
    totals: tuple[bool, ...],
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the weakest types of what the branches give for rows, as if all examples chose one."""
    if index.rank != 1 or index.dtype.kind not in "iub":
        raise ctx.bad_dtype(f"the index of a branch is {index}", "make it a vector of integers or booleans")
    if {len(g.inputs) for g in branches} != {len(carries)} or len(branches) != len(batched):
        raise ctx.fail("the branches of examples and of batches differ")
    if len(batched[0].outputs) != len(totals):
        raise ctx.fail("the branches give another number of arrays than is stated")
    return _joined_types(ctx, batched, (index, *operands), first=0)


def _sized_type(ctx: ShapeGuardContext, x: TensorMeta, *, shape: tuple[Size, ...]) -> TensorMeta:
    """Return the type of x with these sizes, which it has: the kernel checks that.

    It has them as they are written: around a subgraph, these may be another size than the ones that equal them inside.
    """
    if len(shape) != x.rank:
        raise ctx.fail(f"an array of {x.rank} axes has no shape of {len(shape)}")
    return TensorMeta(x.dtype, tuple([ctx.resolve(s, simplest=False) for s in shape]))


# -- definitions -------------------------------------------------------------------------------------------------


def _are_branches(node: Node, param) -> bool:
    """Accept one or more subgraphs."""
    return isinstance(param, tuple) and bool(param) and all(kinds.graph(node, g) for g in param)


def _most_flops(applied: Applied) -> Size:
    """Return the operations of the branch that makes the most."""
    return expr.maximum(*[graph_flops(g, applied.inputs[1:]) for g in applied.params["branches"]])


def _are_flags(node: Node, param) -> bool:
    """Bools."""
    return isinstance(param, tuple) and all(type(flag) is bool for flag in param)


def _all_flops(applied: Applied) -> Size:
    """Return the operations of all branches, each for all examples."""
    return expr.total([graph_flops(g, applied.inputs) for g in applied.params["batched"]])


cond_op: Op = define(
    "cond",
    _cond_type,
    params={"branches": _are_branches},
    operands=(1, 10_000),
    cost=OpCost(_most_flops, bound=True),
    has_subgraphs=True,
    **NO_CHECKS,
)
cond_each_op: Op = define(
    "cond_each",
    _cond_each_type,
    params={"branches": _are_branches, "batched": _are_branches, "carries": _are_flags, "totals": _are_flags},
    operands=(1, 10_000),
    cost=OpCost(_all_flops, bound=True),
    has_subgraphs=True,
    **NO_CHECKS,
)
sized_op: Op = define("sized", _sized_type, params={"shape": kinds.sizes}, cost=MOVES, **NO_CHECKS)


def cond(index: Operand, branches: Sequence[Graph], *operands: Operand) -> tuple[Any, ...]:
    """Return what one of the branches gives for the operands: the second where a boolean is true, else the first.

    An integer index is clamped to the branches that there are.
    """
    return apply_all(cond_op, index, *operands, branches=tuple(branches))


def cond_each(
    index: Operand,
    branches: Sequence[Graph],
    batched: Sequence[Graph],
    *operands: Operand,
    carries: Sequence[bool],
    totals: Sequence[bool],
) -> tuple[Any, ...]:
    """Return the results of the branch that each example chooses. Each branch runs once, on the rows that choose it.

    - `branches`: of one example. Transforms read them.
    - `batched`: the same of rows, which run. They take the index, the operands, and operands of their own.
    - `carries`: which operands of a branch have one row per example.
    - `totals`: which results are sums over all examples.
    """
    params: dict[str, Any] = {"branches": tuple(branches), "batched": tuple(batched)}
    return apply_all(cond_each_op, index, *operands, carries=tuple(carries), totals=tuple(totals), **params)


def sized(x: Operand, shape: Sequence[Size]) -> Any:
    """Return x with exact sizes. A run raises where it has others."""
    if meta_of(x).sizes == tuple(shape):
        return x
    return apply_sized(sized_op, x, sizes={"shape": tuple(shape)})


def chosen_branch(index: Any, count: int) -> int:
    """Return the position of the branch that an index chooses."""
    return min(max(int(index), 0), count - 1)
