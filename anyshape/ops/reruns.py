"""Scans that recompute a loop: their trips read its carries, which no array holds.

`rerun` has two bodies. The first is a trip of the loop. It gives the next carries, then the elements and pieces that a
trip of the scan reads. The second is a trip of the scan. A rerun means a scan of the first body, which stacks and joins
its results, followed by a scan of the second body over these.

A run does not stack them. In the direction of the loop, both run together. In the other direction, carries are
recomputed from the nearest checkpoint slot, and free slots are filled with further carries on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.graph import Graph, Node, Op
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply_all, localise
from anyshape.ops.core.definition import define
from anyshape.ops.core.flop_counts import Applied, OpCost, Shape, UnknownSizeError
from anyshape.ops.loops import (
    SAME_LENGTH,
    Layout,
    are_ends,
    are_two_graphs,
    changing_carries,
    is_layout,
    loop_types,
    one_or_all,
    with_ends,
)
from anyshape.support.lazy_dataclass import NamedTuple


class Operands(NamedTuple):
    """Operands of a rerun, or their types: of the loop, its checkpoint slots, and of the scan."""

    loop: Sequence[Any]
    slots: Sequence[Any]
    own: Sequence[Any]

    def of_scan(self, layout: Layout, elements: Sequence[Any], pieces: Sequence[Any]) -> list[Any]:
        """Return the inputs of the second body: these elements and pieces stand for what the loop gives again."""
        at = layout.carries + layout.elements - len(elements)
        return [*self.own[:at], *elements, *pieces, *self.own[at:]]


def split_operands(xs: Sequence[Any], loop: Graph, start: Layout) -> Operands:
    """Return the operands of a rerun of a loop in their parts."""
    changes = changing_carries(loop, start)
    first, second = len(loop.inputs), len(loop.inputs) + 1 + len(changes) + sum(changes)
    return Operands(xs[:first], xs[first:second], xs[second:])


def _rerun_type(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    bodies: tuple[Graph, ...],
    start: tuple[int, int, int],
    layout: tuple[int, int, int],
    reverse: bool,
    against: bool,
    ends: tuple[tuple[Size, ...], ...],
    slots: int,
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Return the types of the last carries of the scan, and of its stacked results."""
    (loop, body), begin, plan = bodies, Layout(*start), Layout(*layout)
    parts = split_operands(operands, loop, begin)
    length = ctx.exact(parts.loop[begin.stacks.start], 0, field="operands")
    made = [*loop_types(ctx, loop, parts.loop, begin, plan.pieces, length)][begin.carries :]
    count = len(made) - plan.pieces
    stacks = [*parts.loop[begin.stacks], *parts.own[plan.carries : plan.carries + plan.elements - count]]
    for i, x in enumerate(stacks):
        if not x.rank:
            raise ctx.fail(f"operand {i} has no axis to scan along")
        ctx.require_equal(ctx.exact(x, 0, field="operands"), length, SAME_LENGTH)
    metas = parts.of_scan(plan, made[:count], made[count:])
    inner = ShapeGuardContext(ctx.scope, ctx.primitive, ctx.where, metas, ctx.rule)
    return one_or_all(with_ends(ctx, loop_types(inner, body, metas, plan, 0, length), ends))


def _rerun_fits(node: Node, params: dict[str, Any]) -> bool:
    """Return whether a node has an operand for each input of its bodies that no trip makes again."""
    (loop, body), begin, plan = params["bodies"], Layout(*params["start"]), Layout(*params["layout"])
    made = len(loop.outputs) - begin.carries
    if begin.pieces or not begin.elements or len(loop.inputs) < begin.own or not plan.pieces <= made:
        return False
    parts = split_operands(node.inputs, loop, begin)
    fits = len(node.inputs) >= len(loop.inputs) and plan.elements >= made - plan.pieces
    fits &= len(parts.own) == len(body.inputs) - made >= plan.own - made
    return fits and len(body.outputs) >= plan.carries and params["slots"] > 0


def _rerun_flops(applied: Applied) -> Size:
    """Raise: how often a trip is made again depends on the number of trips and of slots, by no polynomial."""
    raise UnknownSizeError


rerun_op: Op = define(
    "rerun",
    _rerun_type,
    params={
        "bodies": are_two_graphs,
        "start": is_layout,
        "layout": is_layout,
        "reverse": kinds.flag,
        "against": kinds.flag,
        "ends": are_ends,
        "slots": kinds.count,
    },
    operands=(2, 10_000),
    jointly=_rerun_fits,
    claims=None,
    probe=None,
    cost=OpCost(_rerun_flops, bound=True),
    has_subgraphs=True,
)


def rerun(
    loop: Graph,
    start: Layout,
    body: Graph,
    layout: Layout,
    operands: Operands,
    *,
    reverse: bool,
    against: bool,
    slots: int,
    ends: Sequence[Shape] = (),
) -> tuple[Any, ...]:
    """Return the carries and the stacked results of a scan whose trips read what a loop gives again.

    - `operands`: of the loop, its checkpoint slots, and of the scan, without what the loop gives.
    - `reverse`: the scan goes from the last element to the first; `against`: the loop goes the other way.
    - `slots`: how many carries may be held.

    Reverse mode of a loop with `checkpoint` makes one:

    >>> from anyshape import fori_loop, grad
    >>> g = grad(lambda x: fori_loop(0, 5, lambda i, y: y * x, x, checkpoint=2))
    >>> print(g(2.0), "= rerun(" in str(g.programs()[0].graph))
    192.0 True
    """
    inputs: list[Operand] = [*operands.loop, *operands.slots, *operands.own]
    shapes, sources = localise(tuple(ends), inputs)
    params: dict[str, Any] = {"reverse": reverse, "against": against, "ends": shapes, "slots": slots}
    params |= {"bodies": (loop, body), "start": tuple(start), "layout": tuple(layout)}
    return apply_all(rerun_op, *inputs, sources=sources, **params)
