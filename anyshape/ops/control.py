"""Control ops: each passes its operand on.

- stop_gradient makes it a constant of every derivative.
- check raises unless all of it is true.
- decide leaves the program where its operand is not the answer that Python was given while it was traced.
- warn warns if any of it is true; warn_below, which has no operand, if a size is too small.
- enter_checkpoint and leave_checkpoint mark a region whose values reverse mode recomputes.

Callbacks, Python functions that run inside a program, and names for run-time sizes.

Nothing is known of a callback but the dtypes and extents that it promises.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound, as_extent, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all, localise, meta_of
from anyshape.ops.core.definition import PROBE_ONES, PROBE_ZEROS, define
from anyshape.ops.core.flop_counts import MOVES, per_operand
from anyshape.support.lazy_dataclass import dataclass
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


def _is_answer(node: Node, param) -> bool:
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


Entry: TypeAlias = Size | tuple[str, Size] | str  # n, ("<=", n) or "?": an extent in a param
UNKNOWN: Entry = "?"
AT_MOST = "<="


@dataclass(frozen=True, slots=True)
class Callback:
    """Function as a param: it takes arrays and returns a sequence of arrays. Nothing else in a graph is not data."""

    function: Callable[..., Any]
    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


def _callback_type(
    ctx: ShapeGuardContext,
    *operands: TensorMeta,
    function: Callback,
    results: tuple[tuple[np.dtype, tuple[Entry, ...]], ...],
    loops: tuple[tuple[bool, ...], ...],
    vectorized: bool,
) -> TensorMeta | tuple[TensorMeta, ...]:
    """Loops, outermost first, run over the first axis of flagged operands; results have the axes of loops in front."""
    metas = tuple([TensorMeta(dtype, tuple([_extent(ctx, e) for e in entries])) for dtype, entries in results])
    return metas if len(metas) > 1 else metas[0]


def _extent(ctx: ShapeGuardContext, entry: Entry) -> ShapeExtent:
    """Return the extent that a param promises, weakened to what the operands guarantee."""
    if isinstance(entry, str):
        return Unknown()
    if not isinstance(entry, tuple):
        return ctx.resolve(entry)
    bound = ctx.resolve(entry[1])
    return UpperBound(bound.size) if isinstance(bound, Exact) else bound


def _name_sizes_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta:
    """Give each axis without an exact size a new dimension variable, bounded as the axis is."""
    named: list[ShapeExtent] = []
    for axis, extent in enumerate(ctx.extents(x)):
        if not isinstance(extent, Exact):
            upper = extent.size if isinstance(extent, UpperBound) else None
            extent = Exact(ctx.new_size(f"size{axis}", upper))
        named.append(extent)
    return TensorMeta(x.dtype, tuple(named))


def _is_callback(node: Node, param) -> bool:
    """Accept a function. Files cannot hold one."""
    return isinstance(param, Callback)


def _are_results(node: Node, param) -> bool:
    """Accept a dtype and extents for each result."""
    return all(isinstance(dtype, np.dtype) and all(_is_entry(node, e) for e in entries) for dtype, entries in param)


def _is_entry(node: Node, entry) -> bool:
    return entry == UNKNOWN or kinds.size(node, entry[1] if isinstance(entry, tuple) else entry)


def _are_loops(node: Node, param) -> bool:
    """For each loop, one flag per operand."""
    return all(len(level) == len(node.inputs) for level in param)


callback_op: Op = define(
    "callback",
    _callback_type,
    operands=(0, 10_000),
    params={"function": _is_callback, "results": _are_results, "loops": _are_loops, "vectorized": kinds.flag},
    jointly=None,
    claims=None,
    probe=None,
    cost=MOVES,  # the cost of the function itself is unknown
)
name_sizes_op: Op = define(
    "name_sizes", _name_sizes_type, params={}, jointly=None, claims=None, probe=None, cost=MOVES, makes_sizes=True
)


def callback(
    function: Callback,
    results: Sequence[tuple[Any, Sequence[Size | ShapeExtent]]],
    *operands: Operand,
    loops: tuple[tuple[bool, ...], ...] = (),
    vectorized: bool = False,
) -> tuple[Any, ...]:
    """Return what the function gives: arrays of these dtypes and extents, which are checked when it runs.

    The function must be pure: it does not run if nothing needs its results, and may run again in a derivative.
    """
    promised = tuple([(np.dtype(dtype), tuple([_entry(e) for e in extents])) for dtype, extents in results])
    local, sources = localise(promised, operands)
    params = {"function": function, "results": local, "loops": loops, "vectorized": vectorized}
    return apply_all(callback_op, *operands, sources=sources, **params)


def is_open(entry: Entry) -> bool:
    """Return True for an entry that leaves the size of an axis open, or only bounds it."""
    return isinstance(entry, (tuple, str))


def _entry(size: Size | ShapeExtent) -> Entry:
    extent = as_extent(size)
    if isinstance(extent, Exact):
        return extent.size
    return (AT_MOST, extent.size) if isinstance(extent, UpperBound) else UNKNOWN


def name_sizes(x: Operand) -> Any:
    """Return x with exact sizes: each axis without one gets a new dimension variable."""
    return x if meta_of(x).sizes is not None else apply(name_sizes_op, x)
