"""dot_general, the one op of products summed over axes: matmul, tensordot and einsum are compositions of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.extents import Exact, TensorMeta
from anyshape.graph.ir import define
from anyshape.graph.shapes import free_axes
from anyshape.ops.core import Operand, apply

Axes = tuple[int, ...]


def _agree(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, pairs: tuple[Axes, Axes], what: str) -> None:
    """Sizes agree. One pair of summed axes may be left to NumPy, which compares their sizes, merged with the others.

    Of two, (2, 3) would pass for (3, 2); and of batch axes NumPy would stretch one of size 1.
    """
    left = 1 if what == "contracted" else 0
    for i, j in zip(*pairs, strict=True):
        a, b = x.extents[i], y.extents[j]
        if isinstance(a, Exact) and isinstance(b, Exact):
            ctx.require_equal(a.size, b.size, f"{what} axes have sizes {a} and {b}")
        elif left:
            left -= 1
        else:
            raise ctx.unsupported(f"the {what} axes", i, b if isinstance(a, Exact) else a)


def _dot_general_type(
    ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, *, contract: tuple[Axes, Axes], batch: tuple[Axes, Axes]
) -> TensorMeta:
    if x.dtype != y.dtype:
        raise ctx.bad_dtype(f"operands are {x.dtype} and {y.dtype}", "convert them to one dtype with astype")
    _agree(ctx, x, y, contract, "contracted")
    _agree(ctx, x, y, batch, "batch")
    left = [x.extents[i] for i in free_axes(x.rank, contract[0], batch[0])]
    right = [y.extents[i] for i in free_axes(y.rank, contract[1], batch[1])]
    return TensorMeta(x.dtype, (*[x.extents[i] for i in batch[0]], *left, *right))


dot_general_op = define("dot_general", _dot_general_type)


def dot_general(
    x: Operand, y: Operand, contract: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]]
) -> Any:
    """Products summed over the `contract` axes, side by side over the `batch` axes.

    The axes of the result are the batch axes, the free axes of x, the free axes of y, as StableHLO defines it.
    """
    return apply(
        dot_general_op,
        x,
        y,
        contract=(tuple(contract[0]), tuple(contract[1])),
        batch=(tuple(batch[0]), tuple(batch[1])),
    )
