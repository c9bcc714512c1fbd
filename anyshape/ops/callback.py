"""Callbacks, Python functions that run inside a program, and names for run-time sizes.

Nothing is known of a callback but the dtypes and extents that it promises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound, as_extent
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all, localise, meta_of
from anyshape.ops.core.definition import define
from anyshape.ops.core.flop_counts import MOVES
from anyshape.support.lazy_dataclass import dataclass

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


def _is_callback(node: Node, param: Any) -> bool:
    """Accept a function. Files cannot hold one."""
    return isinstance(param, Callback)


def _are_results(node: Node, param: Any) -> bool:
    """Accept a dtype and extents for each result."""
    return all(isinstance(dtype, np.dtype) and all(_is_entry(node, e) for e in entries) for dtype, entries in param)


def _is_entry(node: Node, entry: Any) -> bool:
    return entry == UNKNOWN or kinds.size(node, entry[1] if isinstance(entry, tuple) else entry)


def _are_loops(node: Node, param: Any) -> bool:
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
