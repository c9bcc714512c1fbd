"""Discrete Fourier transforms along one axis, which has an element or more.

`fft` takes complex numbers or real ones. `rfft` gives the first half of the transform of real ones, which determines
the rest; `irfft` takes that half and the number of results. Cosine and sine transforms take both kinds of numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors.size_errors import NO_TRANSFORM
from anyshape.graph.ir.graph import Op, ShapeRule
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, localise
from anyshape.ops.core.definition import NO_CHECKS, PROBED_AT_ZEROS, define
from anyshape.ops.core.flop_counts import Applied, OpCost, Shape, ceil_log2, elements

NORMS = ("backward", "ortho", "forward")  # the direction that divides by the number of points; both by its root
REAL, COMPLEX = "fdg", "FDG"  # dtypes of operands, as characters


def _points(ctx: ShapeGuardContext, x: TensorMeta, axis: int, dtypes: str) -> Size:
    """Require an operand of one of the dtypes, and return its size along the axis."""
    if x.dtype.char not in dtypes:
        raise ctx.bad_dtype(f"the operand is {x.dtype}", "convert it with astype")
    return ctx.exact(x, axis, field="operands")


def _require_points(ctx: ShapeGuardContext, count: Size) -> None:
    """Require a point or more to transform."""
    ctx.require(at_least(count, 1), f"the number of points is {count}, and must be 1 or more")


def _along(x: TensorMeta, axis: int, size: Size) -> tuple[Any, ...]:
    """Return the extents of x with another size along the axis."""
    return (*x.extents[:axis], Exact(size), *x.extents[axis + 1 :])


def _fft_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, norm: str, inverse: bool) -> TensorMeta:
    _require_points(ctx, _points(ctx, x, axis, COMPLEX + REAL))
    return TensorMeta(_complex(x), x.extents)


def _rfft_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, norm: str) -> TensorMeta:
    count = _points(ctx, x, axis, REAL)
    _require_points(ctx, count)
    return TensorMeta(_complex(x), _along(x, axis, half_of(count)))


def _irfft_type(ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, norm: str, length: Size) -> TensorMeta:
    mine, count = _points(ctx, x, axis, COMPLEX), ctx.bind(length, field="length")
    _require_points(ctx, count)
    needed = half_of(count)
    ctx.require_equal(mine, needed, f"{count} results need {needed} elements of their transform, not {mine}")
    return TensorMeta(np.dtype(x.dtype.char.lower()), _along(x, axis, count))


def _complex(x: TensorMeta) -> np.dtype:
    """Return the dtype of complex numbers of the precision of x."""
    return np.dtype(x.dtype.char.upper())


def _trigonometric_type(least: Callable[[int], int]) -> ShapeRule:
    """Return the shape rule of cosine or sine transforms; `least` gives the smallest number of points of a type."""

    def infer(
        ctx: ShapeGuardContext, x: TensorMeta, *, type: int, axis: int, norm: str, orthogonal: bool
    ) -> TensorMeta:
        count = _points(ctx, x, axis, COMPLEX + REAL)
        _require_points(ctx, count)
        if least(type) > 1:
            ctx.require(at_least(count, least(type)), NO_TRANSFORM)
        return x

    return infer


def half_of(count: Size) -> Size:
    """Return the number of elements that determine the transform of so many real ones."""
    return expr.add(expr.floordiv(count, 2), 1)


def _butterflies(points: Callable[[Applied], Shape]) -> OpCost:
    """Count 5 n log2(n) operations for each line of n points, as is usual, in the array with the points."""

    def flops(a: Applied) -> Size:
        shape = points(a)
        return expr.mul(5, expr.mul(elements(shape), ceil_log2(shape[a.params["axis"]])))

    return OpCost(flops)


_TRIGONOMETRIC: dict[str, Any] = {
    "params": {
        "type": kinds.one_of(1, 2, 3, 4),
        "axis": kinds.axis,
        "norm": kinds.one_of(*NORMS),
        "orthogonal": kinds.flag,
    },
    "jointly": None,
    "claims": None,
    "probe": None,
    "cost": _butterflies(lambda a: a.inputs[0]),
}
dct_op: Op = define("dct", _trigonometric_type(lambda kind: 2 if kind == 1 else 1), **_TRIGONOMETRIC)
dst_op: Op = define("dst", _trigonometric_type(lambda kind: 1), **_TRIGONOMETRIC)
fft_op: Op = define(
    "fft",
    _fft_type,
    params={"axis": kinds.axis, "norm": kinds.one_of(*NORMS), "inverse": kinds.flag},
    cost=_butterflies(lambda a: a.inputs[0]),
    **PROBED_AT_ZEROS,
)
rfft_op: Op = define(
    "rfft",
    _rfft_type,
    params={"axis": kinds.axis, "norm": kinds.one_of(*NORMS)},
    cost=_butterflies(lambda a: a.inputs[0]),
    **PROBED_AT_ZEROS,
)
irfft_op: Op = define(
    "irfft",
    _irfft_type,
    params={"axis": kinds.axis, "norm": kinds.one_of(*NORMS), "length": kinds.size},
    cost=_butterflies(lambda a: a.outputs[0]),
    **NO_CHECKS,
)


def fft(x: Operand, axis: int, norm: str = "backward", *, inverse: bool = False) -> Any:
    """Return the discrete Fourier transform of complex or real x along the axis, or the inverse transform."""
    return apply(fft_op, x, axis=axis, norm=norm, inverse=inverse)


def rfft(x: Operand, axis: int, norm: str = "backward") -> Any:
    """Return the first n // 2 + 1 elements of the discrete Fourier transform of n real numbers along the axis."""
    return apply(rfft_op, x, axis=axis, norm=norm)


def irfft(x: Operand, axis: int, length: Size, norm: str = "backward") -> Any:
    """Return the `length` real numbers along the axis whose transform has the first elements x."""
    local, sources = localise(length, (x,))
    return apply(irfft_op, x, sources=sources, axis=axis, norm=norm, length=local)


def dct(x: Operand, type: int, axis: int, norm: str = "backward", *, orthogonal: bool = False) -> Any:
    """Return the discrete cosine transform of type 1 to 4 along the axis; SciPy's scale of the ends if `orthogonal`."""
    return apply(dct_op, x, type=type, axis=axis, norm=norm, orthogonal=orthogonal)


def dst(x: Operand, type: int, axis: int, norm: str = "backward", *, orthogonal: bool = False) -> Any:
    """Return the discrete sine transform of type 1 to 4 along the axis; SciPy's scale of the ends if `orthogonal`."""
    return apply(dst_op, x, type=type, axis=axis, norm=norm, orthogonal=orthogonal)
