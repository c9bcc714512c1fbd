"""Control ops: each passes its operand on.

- stop_gradient makes it a constant of every derivative.
- check raises unless all of it is true.
- decide leaves the program where its operand is not the answer that Python was given while it was traced.
- warn warns if any of it is true; warn_below, which has no operand, if a size is too small.
- enter_checkpoint and leave_checkpoint mark a region whose values reverse mode recomputes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, localise
from anyshape.ops.core.definition import PROBE_ONES, PROBE_ZEROS, define
from anyshape.ops.core.flop_counts import MOVES, per_operand
from anyshape.support.true_types import has_type

_MOST_LIVE = 2**16  # values of a program that a decision hands over where its path is left
POLICIES: dict[str, tuple[str, ...]] = {"": (), "contractions": ("contraction",)}  # families that checkpoints keep


def _same_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    return x


def _check_type(ctx: ShapeGuardContext, x: TensorMeta, *, message: str) -> TensorMeta:
    if x.dtype.kind != "b":
        raise ctx.bad_dtype(f"a check is of {x.dtype}", "compare it to make it bool")
    return x


def _warn_type(ctx: ShapeGuardContext, x: TensorMeta, *, message: str) -> TensorMeta:
    if x.dtype.kind != "b":
        raise ctx.bad_dtype(f"the condition of a warning is {x.dtype}", "compare it to make it bool")
    return x


def _warn_below_type(ctx: ShapeGuardContext, *, size: Size, least: Size, message: str) -> TensorMeta:
    ctx.resolve(size)
    ctx.resolve(least)
    return tensor(np.dtype(bool), ())


def _decide_type(ctx: ShapeGuardContext, x: TensorMeta, *live: TensorMeta, answer: bool | int, turn: int) -> TensorMeta:
    if x.dtype.kind not in "biu":
        raise ctx.bad_dtype(f"a decision is on {x.dtype}", "compare it, or convert it to integers")
    return x


def _is_answer(node: Node, param: Any) -> bool:
    """Accept a bool for a decision on a bool, and an int for one on an integer."""
    kind = node.inputs[0].meta.dtype.kind
    return has_type(param, bool) if kind == "b" else has_type(param, int) and not has_type(param, bool)


def _enter_type(ctx: ShapeGuardContext, x: TensorMeta, *, keep: str, turn: int) -> TensorMeta:
    return x


def _leave_type(ctx: ShapeGuardContext, x: TensorMeta, *, keep: str) -> TensorMeta:
    return x


stop_gradient_op: Op = define(
    "stop_gradient", _same_type, params={}, jointly=None, claims=None, probe=PROBE_ONES, cost=MOVES
)
check_op: Op = define(
    "check",
    _check_type,
    params={"message": kinds.text},
    jointly=None,
    claims=None,
    probe=PROBE_ONES,
    cost=per_operand(1),
    raises=True,
)
warn_op: Op = define(
    "warn",
    _warn_type,
    params={"message": kinds.text},
    jointly=None,
    claims=None,
    probe=PROBE_ZEROS,
    cost=per_operand(1),
    raises=True,
)
warn_below_op: Op = define(
    "warn_below",
    _warn_below_type,
    params={"size": kinds.size, "least": kinds.size, "message": kinds.text},
    jointly=None,
    claims=None,
    probe=None,
    cost=MOVES,
    raises=True,
)
decide_op: Op = define(
    "decide",
    _decide_type,
    operands=(1, _MOST_LIVE),
    params={"answer": _is_answer, "turn": kinds.count},
    jointly=None,
    claims=None,
    probe=None,
    cost=per_operand(1),
    raises=True,
)
enter_checkpoint_op: Op = define(
    "enter_checkpoint",
    _enter_type,
    params={"keep": kinds.one_of(*POLICIES), "turn": kinds.count},
    jointly=None,
    claims=None,
    probe=PROBE_ONES,
    cost=MOVES,
)
leave_checkpoint_op: Op = define(
    "leave_checkpoint",
    _leave_type,
    params={"keep": kinds.one_of(*POLICIES)},
    jointly=None,
    claims=None,
    probe=PROBE_ONES,
    cost=MOVES,
)


def stop_gradient(x: Operand) -> Any:
    """Return x as a constant of every derivative."""
    return apply(stop_gradient_op, x)


def check(x: Operand, message: str) -> Any:
    """Return x; the program raises unless all of it is true. Dead code elimination keeps checks."""
    return apply(check_op, x, message=message)


def decide(x: Operand, answer: bool | int, turn: int) -> Any:
    """Return x; the run leaves the program unless all of it is the answer of this turn that Python was given."""
    return apply(decide_op, x, answer=answer, turn=turn)


def warn(x: Operand, message: str) -> Any:
    """Return x; the program gives this RuntimeWarning if any of it is true. Dead code elimination keeps warnings."""
    return apply(warn_op, x, message=message)


def warn_below(size: Size, least: Size, message: str) -> None:
    """Make the program give this RuntimeWarning if a size is smaller than `least`."""
    excess = expr.bounds(expr.sub(size, least))[0]
    if excess is not None and excess >= 0:
        return
    local, sources = localise((size, least), ())
    apply(warn_below_op, sources=sources, size=local[0], least=local[1], message=message)


def enter_checkpoint(x: Operand, keep: str = "", turn: int = 0) -> Any:
    """Return x inside of a checkpoint: reverse mode recomputes what depends on it, up to `leave_checkpoint`.

    `keep` names the policy of what it keeps nevertheless. Recomputed values have another `turn`, so that they are never
    merged with the values computed before.
    """
    return apply(enter_checkpoint_op, x, keep=keep, turn=turn)


def leave_checkpoint(x: Operand, keep: str = "") -> Any:
    """Return x outside of the checkpoint that it was computed in."""
    return apply(leave_checkpoint_op, x, keep=keep)
