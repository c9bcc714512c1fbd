"""Ops whose results have sizes that depend on data. Each such size is a variable of its own, bound by what is known.

A size that is computed as a number becomes the size of a token: an array that is there for its size alone, so that
sizes are read from arrays everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.dims import Size
from anyshape.graph.extents import TensorMeta, exact_size, tensor
from anyshape.graph.ir import define
from anyshape.graph.shapes import numel
from anyshape.ops.core import Operand, apply, apply_all, localise, meta_of

_POSITION = np.dtype(np.int64)


def _nonzero_type(ctx: ShapeGuardContext, x: TensorMeta) -> TensorMeta | tuple[TensorMeta, ...]:
    if not x.rank:
        raise ctx.fail("a scalar has no positions")
    count = ctx.new_size("count", numel(x.sizes) if x.sizes is not None else None)
    found = tensor(_POSITION, [count])
    return (found,) * x.rank if x.rank > 1 else found


def _size_token_type(ctx: ShapeGuardContext, x: TensorMeta, *, limit: Size | None, rounds: bool) -> TensorMeta:
    if x.rank:
        raise ctx.fail("a size is a scalar")
    if x.dtype.kind not in ("iuf" if rounds else "iu"):
        raise ctx.bad_dtype(f"a size is {x.dtype}", "convert it to integers with astype(int)")
    upper = None if limit is None else exact_size(ctx.resolve(limit))
    return tensor(np.dtype(bool), [ctx.new_size("size", upper)])


nonzero_op = define("nonzero", _nonzero_type, mints=True)
size_token_op = define("size_token", _size_token_type, mints=True)


def nonzero(x: Operand) -> tuple[Any, ...]:
    """The positions of the elements that are not 0, in C order: an index array for each axis, all of one size."""
    return apply_all(nonzero_op, x)


def size_token(x: Operand, limit: Size | None = None, *, rounds: bool = False) -> Any:
    """A token of the size that a scalar gives by its value, brought into 0..limit; without a limit it must be >= 0.

    With `rounds`, a float is rounded half to even; NaN is an error.
    """
    local, sources = localise(limit, (x,))
    return apply(size_token_op, x, sources=sources, limit=local, rounds=rounds)


def runtime_size(x: Operand, limit: Size | None = None, *, rounds: bool = False) -> Size:
    """The size that a scalar gives by its value, as sizes are written."""
    return meta_of(size_token(x, limit, rounds=rounds)).sizes[0]
