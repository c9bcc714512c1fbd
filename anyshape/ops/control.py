"""Ops that steer a program: stop_gradient."""

from __future__ import annotations

from typing import Any

from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.extents import TensorMeta
from anyshape.graph.ir import define
from anyshape.ops.core import Operand, apply


def _same_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    return x


stop_gradient_op = define("stop_gradient", _same_type)


def stop_gradient(x: Operand) -> Any:
    """x, taken as a constant by every derivative."""
    return apply(stop_gradient_op, x)
