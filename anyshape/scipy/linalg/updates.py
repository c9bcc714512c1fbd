"""Define updates of QR factors under SciPy's names: rows or columns inserted and deleted, and changes of low rank.

The changed matrix is factored anew, with the derivatives of `qr`. A callback gives the signs of SciPy's rotations,
which have no derivative. This takes O(m n^2) operations, and SciPy O(m n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.arrays.fallthrough import falls_through
from anyshape.numpy.operands.promotion import as_traced, choice_of, sizes, static_int
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.factoring import qr
from anyshape.support.packages import scipy_linalg
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.control import stop_gradient

_linalg = falls_through(scipy_linalg)


def _adjoint(x: Any) -> Any:
    return xp.conj(xp.matrix_transpose(x))


def _factors(Q: Any, R: Any, *further: Any) -> tuple[Any, ...]:
    """Return operands in a common dtype of floats."""
    dtype = xp.result_type(Q, R, *further, np.float32)
    return tuple([as_traced(x).astype(dtype) for x in (Q, R, *further)])


def _factored(matrix: Any, update: Callable[..., Any], check: bool, *operands: Any) -> tuple[Any, Any]:
    """Return the factors of a changed matrix, turned to those that SciPy's update of the operands gives."""
    is_full = bool(operands[0].shape[-1] == operands[0].shape[-2])
    q, r = qr(matrix, mode="full" if is_full else "economic", check_finite=check)
    run = lambda *arrays: np.asarray(update(*arrays, check_finite=check)[0], q.dtype)
    turned = pure_callback(run, ShapeDtypeStruct(q.shape, q.dtype), *stop_gradient(operands))
    turn = stop_gradient(_adjoint(q) @ turned)  # unitary: signs, and a basis of the columns that r does not need
    return q @ turn, xp.triu(_adjoint(turn) @ r)


def _split(function: str, matrix: Any, k: Any, which: str, count: int) -> tuple[Any, Any, int]:
    """Return the rows or columns before position k, those behind it and `count` further ones, and their axis."""
    axis = -2 if choice_of(function, "which", which, ("row", "col")) == "row" else -1
    position, size = static_int(k, function, "k"), matrix.shape[axis]
    beyond = -position if position < 0 else position + count
    context_of(function, matrix).require(at_least(sizes(matrix)[axis], beyond), f"k={position} is out of bounds")
    position = position % size if position < 0 else position
    rows = (Ellipsis, slice(None, position), slice(None)), (Ellipsis, slice(position + count, None), slice(None))
    columns = (Ellipsis, slice(None, position)), (Ellipsis, slice(position + count, None))
    before, after = rows if axis == -2 else columns
    return matrix[before], matrix[after], axis


@_linalg
def qr_insert(
    Q: Any, R: Any, u: Any, k: Any, which: str = "row", rcond: Any = None, overwrite_qru: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the factors of Q R with rows or columns u inserted before position k, an int."""
    Q, R, u = _factors(Q, R, u)
    matrix = Q @ R
    before, after, axis = _split("qr_insert", matrix, k, which, 0)
    new = xp.expand_dims(u, axis) if u.ndim == matrix.ndim - 1 else u
    changed = xp.concatenate([before, new, after], axis)
    update = lambda *arrays, **check: scipy_linalg.qr_insert(*arrays, int(k), which, rcond, **check)
    return _factored(changed, update, check_finite, Q, R, u)


@_linalg
def qr_delete(
    Q: Any, R: Any, k: Any, p: int = 1, which: str = "row", overwrite_qr: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Return the factors of Q R without p rows or columns from position k on; both are ints."""
    Q, R = _factors(Q, R)
    count = static_int(p, "qr_delete", "p")
    before, after, axis = _split("qr_delete", Q @ R, k, which, count)
    changed = xp.concatenate([before, after], axis)
    update = lambda *arrays, **check: scipy_linalg.qr_delete(*arrays, int(k), count, which, **check)
    return _factored(changed, update, check_finite, Q, R)


@_linalg
def qr_update(
    Q: Any, R: Any, u: Any, v: Any, overwrite_qruv: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    """Return the factors of Q R + u v^H, for vectors u and v, or matrices of as many columns."""
    Q, R, u, v = _factors(Q, R, u, v)
    left, right = (x[..., None] if x.ndim == Q.ndim - 1 else x for x in (u, v))
    return _factored(Q @ R + left @ _adjoint(right), scipy_linalg.qr_update, check_finite, Q, R, u, v)
