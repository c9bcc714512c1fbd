"""Ops that steer a program: stop_gradient, check, which passes on what must hold and raises where it does not, and the
marks of a checkpoint, between which reverse mode keeps nothing.
"""

from __future__ import annotations

from typing import Any

from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import param_kinds as kinds
from anyshape.ops.apply import Operand, apply
from anyshape.ops.definition import PROBE_ONES, define
from anyshape.ops.flop_counts import MOVES, per_operand

POLICIES: dict[str, tuple[str, ...]] = {"": (), "contractions": ("contraction",)}  # families that checkpoints keep


def _same_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    return x


def _check_type(ctx: ShapeGuardContext, x: TensorMeta, *, message: str) -> TensorMeta:
    if x.dtype.kind != "b":
        raise ctx.bad_dtype(f"a check is of {x.dtype}", "compare it to make it bool")
    return x


def _enter_type(ctx: ShapeGuardContext, x: TensorMeta, *, keep: str, turn: int) -> TensorMeta:
    return x


def _leave_type(ctx: ShapeGuardContext, x: TensorMeta, *, keep: str) -> TensorMeta:
    return x


stop_gradient_op = define(
    "stop_gradient", _same_type, params={}, jointly=None, claims=None, probe=PROBE_ONES, cost=MOVES
)
check_op = define(
    "check",
    _check_type,
    params={"message": kinds.text},
    jointly=None,
    claims=None,
    probe=PROBE_ONES,
    cost=per_operand(1),
    raises=True,
)
enter_checkpoint_op = define(
    "enter_checkpoint",
    _enter_type,
    params={"keep": kinds.one_of(*POLICIES), "turn": kinds.count},
    jointly=None,
    claims=None,
    probe=PROBE_ONES,
    cost=MOVES,
)
leave_checkpoint_op = define(
    "leave_checkpoint",
    _leave_type,
    params={"keep": kinds.one_of(*POLICIES)},
    jointly=None,
    claims=None,
    probe=PROBE_ONES,
    cost=MOVES,
)


def stop_gradient(x: Operand) -> Any:
    """x, taken as a constant by every derivative."""
    return apply(stop_gradient_op, x)


def check(x: Operand, message: str) -> Any:
    """x, all of which must be true when the program runs. No part of a program is removed that checks something."""
    return apply(check_op, x, message=message)


def enter_checkpoint(x: Operand, keep: str = "", turn: int = 0) -> Any:
    """x, where a checkpoint begins: what is made of it, up to `leave_checkpoint`, reverse mode computes again.

    `keep` names what it keeps nevertheless. What is computed again has another `turn`, so that it is never taken for
    what was computed before.
    """
    return apply(enter_checkpoint_op, x, keep=keep, turn=turn)


def leave_checkpoint(x: Operand, keep: str = "") -> Any:
    """x, where the checkpoint ends that it was made in."""
    return apply(leave_checkpoint_op, x, keep=keep)
