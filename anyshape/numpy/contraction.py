"""NumPy's products of matrices, as compositions of dot_general."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import ShapeError
from anyshape.graph.builder import user_line
from anyshape.graph.shapes import broadcast_sizes
from anyshape.numpy.convert import asarray, is_traced, result_type, sizes
from anyshape.ops.contraction import dot_general
from anyshape.ops.core import context_of
from anyshape.ops.movement import broadcast_to, transpose


def matmul(x1: Any, x2: Any, /) -> Any:
    """As `numpy.matmul`."""
    if not is_traced(x1, x2):
        return np.matmul(x1, x2)
    dtype = result_type(x1, x2)
    x, y = asarray(x1, dtype), asarray(x2, dtype)
    if x.meta.rank == 0 or y.meta.rank == 0:
        raise ShapeError("matmul", "an operand is a scalar", (x.meta, y.meta), user_line())
    nx, ny = max(x.meta.rank - 2, 0), max(y.meta.rank - 2, 0)
    if nx and ny:
        outer = broadcast_sizes(context_of("matmul", x, y), [sizes(x)[:nx], sizes(y)[:ny]])
        x, y = broadcast_to(x, (*outer, *sizes(x)[nx:])), broadcast_to(y, (*outer, *sizes(y)[ny:]))
        nx = ny = len(outer)
        batch = (range(nx), range(ny))
        return dot_general(x, y, ((x.meta.rank - 1,), (max(y.meta.rank - 2, 0),)), batch)
    product = dot_general(x, y, ((x.meta.rank - 1,), (max(y.meta.rank - 2, 0),)), ((), ()))
    if ny and x.meta.rank == 2:  # free axes of y carry its batch: rows of x go after it
        return transpose(product, [*range(1, 1 + ny), 0, 1 + ny])
    return product
