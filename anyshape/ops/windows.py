"""Windows that move along axes: convolutions, and sums and extremes of windows.

Element i of a result reads the elements `i * stride + k * window_dilation - low` along an axis, for each k of the
window. They are elements of the operand with `dilation - 1` gaps between neighbours. Gaps and positions beyond the ends
hold 0 in sums, and nothing in extremes. The spatial axes, along which windows move, come last.

`sliding` gives the windows along one axis themselves. Its transpose, itself `back`, adds them where they overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.prover.constraints import Claim, at_least
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply_sized, named, result_sizes
from anyshape.ops.core.definition import define
from anyshape.ops.core.flop_counts import Applied, OpCost, elements
from anyshape.support.lazy_dataclass import NamedTuple

METHODS = ("auto", "direct", "fft")
POSITION = np.dtype(np.int64)
_MOVES = ("low", "sizes", "strides", "dilation", "window_dilation")


class Moves(NamedTuple):
    """Positions of windows along each spatial axis; `sizes` is the number of them."""

    low: tuple[Size, ...]
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    dilation: tuple[Size, ...]
    window_dilation: tuple[Size, ...]

    @property
    def spatial(self) -> int:
        """Number of spatial axes."""
        return len(self.sizes)

    def back(self, window: Sequence[Size], sizes: Sequence[Size]) -> Moves:
        """Return the moves that bring results back to operands of these sizes, with the window reversed."""
        low = [
            expr.sub(expr.mul(expr.sub(k, 1), d), a)
            for k, d, a in zip(window, self.window_dilation, self.low, strict=True)
        ]
        return Moves(tuple(low), tuple(sizes), self.dilation, self.strides, self.window_dilation)

    def to_window(self, window: Sequence[Size]) -> Moves:
        """Return the moves of results along the operand, which give one element for each of the window."""
        return Moves(self.low, tuple(window), self.window_dilation, self.dilation, self.strides)


# -- convolutions ------------------------------------------------------------------------------------------------


def free_counts(x: TensorMeta, w: TensorMeta, batch: int, contract: int, spatial: int) -> tuple[int, int]:
    """Return how many axes of either operand are neither batch axes nor contracted nor spatial."""
    others = batch + contract + spatial
    return x.rank - others, w.rank - others


def _convolution_type(
    ctx: ShapeGuardContext,
    x: TensorMeta,
    w: TensorMeta,
    *,
    batch: int,
    contract: int,
    sizes: tuple[Size, ...],
    **others,
) -> TensorMeta:
    if x.dtype != w.dtype:
        raise ctx.bad_dtype(f"operands are {x.dtype} and {w.dtype}", "convert them to one dtype with astype")
    free_x, free_w = free_counts(x, w, batch, contract, len(sizes))
    if min(free_x, free_w) < 0:
        raise ctx.fail(f"operands have {x.rank} and {w.rank} axes, fewer than the convolution reads")
    for role, first, count in (("batch", (0, 0), batch), ("contracted", (batch + free_x, batch + free_w), contract)):
        for i in range(count):
            a, b = x.extents[first[0] + i], w.extents[first[1] + i]
            if not (isinstance(a, Exact) and isinstance(b, Exact)):
                raise ctx.unsupported(f"the {role} axes", i, b if isinstance(a, Exact) else a)
            ctx.require_equal(a.size, b.size, f"{role} axes have sizes {a} and {b}")
    free = (*x.extents[batch : batch + free_x], *w.extents[batch : batch + free_w])
    return TensorMeta(x.dtype, (*x.extents[:batch], *free, *[ctx.resolve(s) for s in sizes]))


def _convolution_flops(a: Applied) -> Size:
    """Count a product and a sum for each element of the window and of the contracted axes, for each result."""
    spatial = len(a.params["sizes"])
    summed = a.inputs[1][len(a.inputs[1]) - spatial - a.params["contract"] :]
    return expr.mul(2, expr.mul(elements(a.outputs[0]), elements(summed)))


def _is_convolution(node: Node, params: dict[str, Any]) -> bool:
    x, w = [v.meta for v in node.inputs]
    free = free_counts(x, w, params["batch"], params["contract"], len(params["sizes"]))
    return _is_for_each_axis(params, _MOVES) and min(free) >= 0


def _is_for_each_axis(params: dict[str, Any], names: Sequence[str]) -> bool:
    return len({len(params[name]) for name in names}) == 1


def _move_claims(ctx: ShapeGuardContext, node: Node, params: dict[str, Any]) -> list[Claim]:
    """Claim that windows move on, and that no size is negative."""
    steps = [s for name in ("strides", "dilation", "window_dilation") for s in params[name]]
    sizes = [*params["sizes"], *params.get("window", ())]
    return [*[at_least(s, 1) for s in steps], *[at_least(s, 0) for s in sizes]]


_MOVE_KINDS = dict.fromkeys(_MOVES, kinds.sizes)

convolution_op: Op = define(
    "convolution",
    _convolution_type,
    params={"batch": kinds.count, "contract": kinds.count, "method": kinds.one_of(*METHODS), **_MOVE_KINDS},
    jointly=_is_convolution,
    claims=_move_claims,
    probe=None,
    cost=OpCost(_convolution_flops),
)


def convolution(
    x: Operand, w: Operand, moves: Moves, *, batch: int = 0, contract: int = 0, method: str = "auto"
) -> Any:
    """Return sums of products of x and a window w that moves along the last axes of x; w is not reversed.

    x has batch axes, free axes, contracted axes and spatial axes, and so has w. The result has the batch axes, the free
    axes of x, the free axes of w and the spatial axes. The caller ensures strides and dilations of 1 or more.
    """
    moves = Moves(*moves)._replace(sizes=result_sizes("convolution", tuple(moves[1])))
    params = {"batch": batch, "contract": contract, "method": method}
    return apply_sized(convolution_op, x, w, sizes=moves._asdict(), **params)


# -- reductions of windows ---------------------------------------------------------------------------------------


def _window_type(ctx: ShapeGuardContext, x: TensorMeta, *, sizes: tuple[Size, ...], **others) -> TensorMeta:
    if x.rank < len(sizes):
        raise ctx.fail(f"a window of {len(sizes)} axes cannot move along an array of {x.rank}")
    return TensorMeta(x.dtype, (*x.extents[: x.rank - len(sizes)], *[ctx.resolve(s) for s in sizes]))


def _ordered_type(ctx: ShapeGuardContext, x: TensorMeta, **params) -> TensorMeta:
    if x.dtype.kind == "c":
        raise ctx.bad_dtype(f"the operand is {x.dtype}, whose order is not one of sizes", "pass its absolute value")
    return _window_type(ctx, x, **params)


def _position_type(ctx: ShapeGuardContext, x: TensorMeta, **params) -> TensorMeta:
    return TensorMeta(POSITION, _ordered_type(ctx, x, **params).extents)


def _is_window(node: Node, params: dict[str, Any]) -> bool:
    return _is_for_each_axis(params, ("window", *_MOVES)) and len(params["sizes"]) <= node.inputs[0].meta.rank


def _define_windows(name: str, rule) -> tuple[Op, Callable[..., Any]]:
    """Define a reduction of windows, and the function that applies it to x, the sizes of the window, and its moves."""
    cost = OpCost(lambda a: expr.mul(elements(a.outputs[0]), elements(a.params["window"])))
    params = {"window": kinds.sizes, **_MOVE_KINDS}
    op = define(name, rule, params=params, jointly=_is_window, claims=_move_claims, probe=None, cost=cost)

    def function(x: Operand, window: Sequence[Size], moves: Moves):
        moves = Moves(*moves)._replace(sizes=result_sizes(name, tuple(moves[1])))
        return apply_sized(op, x, sizes={"window": result_sizes(name, tuple(window)), **moves._asdict()})

    return op, named(function, op, f"Apply the op {name} to windows that move along the last axes of x.")


window_sum_op, window_sum = _define_windows("window_sum", _window_type)
# the greatest or the least element of each window, NaN if there is one; the last value of the dtype for none
window_max_op, window_max = _define_windows("window_max", _ordered_type)
window_min_op, window_min = _define_windows("window_min", _ordered_type)
# the position of the first such element of each window in the flattened last axes; -1 for none
window_argmax_op, window_argmax = _define_windows("window_argmax", _position_type)
window_argmin_op, window_argmin = _define_windows("window_argmin", _position_type)


def one_by_one(low: Sequence[Size], sizes: Sequence[Size]) -> Moves:
    """Return the moves of windows without gaps that start at each element in turn, the first one `low` before x."""
    ones = (1,) * len(tuple(sizes))
    return Moves(tuple(low), tuple(sizes), ones, ones, ones)


# -- windows themselves ------------------------------------------------------------------------------------------


def _windows_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, length: Size, back: bool) -> TensorMeta:
    change = expr.sub(length, 1)
    count = ctx.resolve((expr.add if back else expr.sub)(expr.input_axis(0, axis), change))
    after = x.extents[axis + 1 : -1] if back else (*x.extents[axis + 1 :], ctx.resolve(length))
    return TensorMeta(x.dtype, (*x.extents[:axis], count, *after))


def _windows_claims(ctx: ShapeGuardContext, node: Node, params: dict[str, Any]) -> list[Claim]:
    """Claim that the last window ends within the axis, or that it has this length."""
    x, length = node.inputs[0], params["length"]
    size = expr.add(ctx.exact(x, params["axis"], field="length"), 1)
    if not params["back"]:
        return [at_least(length, 0), at_least(size, length)]
    last = ctx.exact(x, x.meta.rank - 1, field="length")
    return [at_least(expr.add(size, length), 2), at_least(last, length), at_least(length, last)]


sliding_op: Op = define(
    "sliding",
    _windows_type,
    params={"axis": kinds.axis, "length": kinds.size, "back": kinds.flag},
    jointly=lambda node, params: params["axis"] < node.inputs[0].meta.rank - params["back"],
    claims=_windows_claims,
    probe=None,
    cost=OpCost(lambda a: expr.mul(elements(a.inputs[0]), int(a.params["back"]))),
)


def sliding(x: Operand, axis: int, length: Size, *, back: bool = False) -> Any:
    """Return the windows of a length along an axis, which counts them; their elements are in the last axis.

    If `back`, return the sums of the elements that such windows have in common.
    """
    return apply_sized(sliding_op, x, sizes={"length": length}, axis=axis, back=back)
