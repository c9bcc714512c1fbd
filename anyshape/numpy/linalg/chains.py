"""Define products of several matrices, and powers of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, ShapeError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.contraction import dot, matmul
from anyshape.numpy.linalg.solving import inv, require_two_axes
from anyshape.numpy.operands.memory import writes_out
from anyshape.numpy.operands.promotion import asarray, is_traced, sizes, static_int
from anyshape.numpy.operands.reduction_args import identity_like, in_common_dtype, refuse_out
from anyshape.ops.contraction import einsum, equation_of
from anyshape.ops.core.apply import context_of, meta_of
from anyshape.ops.core.contraction_order import choose_path
from anyshape.ops.movement import broadcast_to


@writes_out
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Return the matrix product of several arrays; the first and the last may be vectors.

    The sizes of a call choose the contraction path, as for einsum. With traced operands `out` must be
    traced too.
    """
    if not is_traced(*arrays):
        return np.linalg.multi_dot(arrays, out=out)
    refuse_out("multi_dot", out)
    xs = _matrix_chain(arrays)
    labels = [(i, i + 1) if x.ndim == 2 else (max(i, 1),) for i, x in enumerate(xs)]
    size_by_label = {
        a: size for x, names in zip(xs, labels, strict=True) for a, size in zip(names, sizes(x), strict=True)
    }
    ends = [a for a in (0, len(xs)) if a in size_by_label]
    choice = choose_path(context_of("multi_dot", *xs), labels, ends, size_by_label, adjacent_only=True)
    equation = "" if choice.settled or xs[0].dtype.kind == "b" else equation_of(labels, ends)
    if equation:
        return einsum(xs, equation)
    for i, j in choice.path:
        y, x = xs.pop(j), xs.pop(i)
        xs.insert(i, dot(x, y))
    return xs[0]


def _matrix_chain(arrays: Sequence[Any]) -> list[Any]:
    """Return the operands of `multi_dot` in one dtype: matrices, or vectors at its ends."""
    if len(arrays) < 2:
        raise ArgumentError("multi_dot", "arrays", "has fewer than two arrays", "pass two or more")
    xs = in_common_dtype("multi_dot", *arrays)
    if any(x.ndim != 2 for x in xs[1:-1]) or any(x.ndim not in (1, 2) for x in (xs[0], xs[-1])):
        metas = [meta_of(x) for x in xs]
        raise ShapeError("multi_dot", "only the first and the last may be vectors", metas, user_line())
    return xs


def matrix_power(a: Any, n: Any) -> Any:
    """Return square matrices to the power n, an int that is known while tracing; a negative one inverts them."""
    if not is_traced(a):
        return np.linalg.matrix_power(a, n)
    x, power = asarray(a), static_int(n, "matrix_power", "the power")
    require_two_axes("matrix_power", x.ndim)
    if power < 0:
        x, power = inv(x), -power
    shape = sizes(x)
    ctx = context_of("matrix_power", x)
    ctx.require_equal(shape[-2], shape[-1], f"matrices must be square, and these are {shape[-2]} by {shape[-1]}")
    if power == 0:
        return broadcast_to(identity_like(x), shape)
    result = None
    while power:
        if power % 2:
            result = x if result is None else matmul(result, x)
        power //= 2
        x = matmul(x, x) if power else x
    return result
