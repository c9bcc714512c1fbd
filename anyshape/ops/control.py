"""Ops that steer a program: stop_gradient, and check, which passes on what must hold and raises where it does not."""

from __future__ import annotations

from typing import Any

from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.extents import TensorMeta
from anyshape.graph.ir import define
from anyshape.ops.core import Operand, apply


def _same_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    return x


def _check_type(ctx: ShapeGuardContext, x: TensorMeta, *, message: str) -> TensorMeta:
    if x.dtype.kind != "b":
        raise ctx.bad_dtype(f"a check is of {x.dtype}", "compare it to make it bool")
    return x


stop_gradient_op = define("stop_gradient", _same_type)
check_op = define("check", _check_type, raises=True)


def stop_gradient(x: Operand) -> Any:
    """x, taken as a constant by every derivative."""
    return apply(stop_gradient_op, x)


def check(x: Operand, message: str) -> Any:
    """x, all of which must be true when the program runs. No part of a program is removed that checks something."""
    return apply(check_op, x, message=message)
