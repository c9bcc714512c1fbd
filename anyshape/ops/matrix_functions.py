"""Functions of square matrices, Sylvester's equation, and triangular forms; leading axes are a batch.

A function of matrices has one derivative in each direction, Fréchet's. Operands are floats or complex numbers of
32 bits or more. A function of real matrices is real: kernels refuse a matrix whose logarithm or root is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all
from anyshape.ops.core.definition import PROBE_ONES, define, itself, refuse
from anyshape.ops.core.flop_counts import Applied, OpCost, elements
from anyshape.ops.linalg import require_squares

FUNCTIONS = ("exp", "log", "sqrt")


def _function_type(ctx: ShapeGuardContext, a: TensorMeta, *, function: str) -> TensorMeta:
    require_squares(ctx, a)
    return a


def _derivative_type(ctx: ShapeGuardContext, a: TensorMeta, e: TensorMeta, *, function: str) -> TensorMeta:
    require_squares(ctx, a)
    if a.dtype != e.dtype:
        raise ctx.bad_dtype(f"operands are {a.dtype} and {e.dtype}", "convert them to one dtype with astype")
    if a.rank != e.rank:
        raise ctx.fail("the matrices and the directions must have the same number of axes")
    for axis in range(a.rank):
        mine, other = (ctx.exact(x, axis, field="operands") for x in (a, e))
        ctx.require_equal(mine, other, f"axis {axis} of the operands has sizes {mine} and {other}")
    return a


def _sylvester_type(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, q: TensorMeta) -> TensorMeta:
    for x in (a, b):
        require_squares(ctx, x)
    if not a.dtype == b.dtype == q.dtype:
        raise ctx.bad_dtype(f"operands are {a.dtype}, {b.dtype} and {q.dtype}", "convert them to one dtype with astype")
    if not a.rank == b.rank == q.rank:
        raise ctx.fail("the operands must have the same number of axes")
    for axis in range(q.rank):
        mine = ctx.exact(q, axis, field="operands")
        for x in [b] if axis == q.rank - 1 else [a] if axis == q.rank - 2 else [a, b]:
            other = ctx.exact(x, axis, field="operands")
            ctx.require_equal(mine, other, f"axis {axis} of the operands has sizes {mine} and {other}")
    return q


def _schur_type(ctx: ShapeGuardContext, a: TensorMeta, *, output: str) -> tuple[TensorMeta, TensorMeta]:
    require_squares(ctx, a)
    dtype = np.dtype(a.dtype.char.upper()) if output == "complex" else a.dtype
    return TensorMeta(dtype, a.extents), TensorMeta(dtype, a.extents)


def _hessenberg_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    require_squares(ctx, a)
    return a, a


def _cubes(count: int) -> OpCost:
    """Count so many times n**3 operations for each n by n matrix, without terms of lower order."""
    return OpCost(lambda a: expr.mul(count, expr.mul(elements(a.inputs[0]), a.inputs[0][-1])))


def _bartels_stewart(a: Applied) -> Size:
    """Count two Schur decompositions and products with their vectors."""
    sides = [expr.mul(25, expr.mul(elements(x), x[-1])) for x in a.inputs[:2]]
    products = expr.mul(elements(a.inputs[2]), expr.add(a.inputs[0][-1], a.inputs[1][-1]))
    return expr.add(expr.add(*sides), expr.mul(5, products))


_FUNCTION = kinds.one_of(*FUNCTIONS)
_COMMON: dict[str, Any] = {"jointly": None, "claims": None, "probe": PROBE_ONES}

matrix_function_op: Op = define(
    "matrix_function", _function_type, params={"function": _FUNCTION}, cost=_cubes(25), **_COMMON
)
matrix_function_derivative_op: Op = define(
    "matrix_function_derivative", _derivative_type, params={"function": _FUNCTION}, cost=_cubes(200), **_COMMON
)
sylvester_op: Op = define("sylvester", _sylvester_type, params={}, cost=OpCost(_bartels_stewart), **_COMMON)
schur_op: Op = define(
    "schur", _schur_type, params={"output": kinds.one_of("real", "complex")}, cost=_cubes(25), **_COMMON
)
hessenberg_op: Op = define("hessenberg", _hessenberg_type, params={}, cost=_cubes(5), **_COMMON)
refuse(itself, matrix_function_op, matrix_function_derivative_op, sylvester_op, schur_op)


def matrix_function(a: Operand, function: str) -> Any:
    """Return the exponential, the principal logarithm or the principal root ("exp", "log", "sqrt") of matrices."""
    return apply(matrix_function_op, a, function=function)


def matrix_function_derivative(a: Operand, e: Operand, function: str) -> Any:
    """Return Fréchet's derivative of `matrix_function` at a in the direction e."""
    return apply(matrix_function_derivative_op, a, e, function=function)


def sylvester(a: Operand, b: Operand, q: Operand) -> Any:
    """Return x with a x + x b = q for square a and b."""
    return apply(sylvester_op, a, b, q)


def schur(a: Operand, output: str) -> tuple[Any, Any]:
    """Return triangular t and unitary z with z t z^H = a; real ones, for "real", may have blocks of 2 by 2 in t."""
    t, z = apply_all(schur_op, a, output=output)
    return t, z


def hessenberg(a: Operand) -> tuple[Any, Any]:
    """Return h with zeros below its first subdiagonal, and unitary q, with q h q^H = a."""
    h, q = apply_all(hessenberg_op, a)
    return h, q
