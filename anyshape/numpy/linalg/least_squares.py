"""Define numpy.linalg.lstsq by the pseudo-inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.numpy.contraction import matmul
from anyshape.numpy.dynamic import compress
from anyshape.numpy.elementwise import equal, greater, logical_and
from anyshape.numpy.linalg.decompositions import count_above, default_tolerance, largest
from anyshape.numpy.linalg.solving import as_matrices, in_one_dtype
from anyshape.numpy.operands.promotion import as_traced, asarray, is_traced, sizes
from anyshape.numpy.operands.reduction_args import squared_magnitude
from anyshape.numpy.selection import where
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import context_of


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Return (solution, residuals, rank, singular values) of the least squares problem a x = b.

    `a` is an m by n matrix; `b` has m elements, or m rows. Of all solutions the one of least norm is given. Singular
    values up to `rcond` times the largest one count as 0. By default it is the longer side times an ulp of 1, and for a
    negative number an ulp of 1. Residuals are the squared norms of b - a x, one per column. Where m <= n or the rank is
    below n there are none, so their number is a run-time size. The derivative holds where the rank stays the same.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> a = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> print(grad(lambda b: np.linalg.lstsq(a, b)[0][1])(np.array([0.0, 1.0, 2.0])).round(12))
    [-0.5 -0.   0.5]
    """
    if not is_traced(a, b, rcond):
        return np.linalg.lstsq(a, b, rcond)
    matrix, right = in_one_dtype("lstsq", as_matrices("lstsq", a), b)
    ctx = context_of("lstsq", matrix, right)
    if matrix.meta.rank != 2 or right.meta.rank not in (1, 2):
        raise ctx.fail("stacks of problems have no solution here", "pass one matrix, and a vector or a matrix")
    equations, unknowns = sizes(matrix)
    count = sizes(right)[0]
    ctx.require_equal(equations, count, f"{equations} equations have {count} right-hand sides")
    columns = right if right.meta.rank == 2 else mv.expand(right, (1,))
    values, cutoff = la.svdvals(matrix), _tolerance(matrix, rcond)
    rank = count_above(ew.convert(values, np.float64), ew.mul(cutoff, largest(ew.convert(values, np.float64))))
    solution = matmul(la.pinv(matrix, cutoff), columns)
    squares = rd.reduce_sum(squared_magnitude(ew.sub(columns, matmul(matrix, solution))), (0,))
    equations, unknowns = cr.size_value(equations), cr.size_value(unknowns)
    is_overdetermined = logical_and(equal(rank, unknowns), greater(equations, unknowns))
    residuals = compress(mv.broadcast_to(is_overdetermined, sizes(squares)), squares)
    return mv.drop(solution, (1,)) if right.meta.rank == 1 else solution, residuals, ew.convert(rank, np.int32), values


def _tolerance(matrix: Any, rcond: Any) -> Any:
    """Return the part of the largest singular value up to which values count as 0, as float64."""
    if rcond is None:
        return default_tolerance(matrix)
    relative = as_traced(asarray(rcond, np.float64))
    return where(relative < 0, float(np.finfo(matrix.dtype).eps), relative)
