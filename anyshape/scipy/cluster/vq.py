"""Functions of `scipy.cluster.vq` for traced and concrete arrays: the nearest vectors of a code book.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy.operands.promotion import as_traced, result_type, sizes
from anyshape.numpy.serve import Module, falls_through
from anyshape.ops import distances as ds
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import require_finite
from anyshape.scipy.spatial.distance.metrics import euclidean
from anyshape.support.packages import scipy_vq

__all__ = ["vq", "whiten"]

_SCIPY = Module(scipy_vq, "scipy.cluster.vq")
_vq = falls_through(scipy_vq)
__getattr__, __dir__ = _SCIPY.named, _SCIPY.public_names


@_vq
def whiten(obs: Any, check_finite: Any = None) -> Any:
    """Return observations over the standard deviation of their column; constant columns stay as they are."""
    x = xp.asarray(obs)
    if check_finite in (True, None):
        require_finite("whiten", x)
    deviation = xp.std(x, axis=0)
    return x / xp.where(deviation == 0, xp.ones((), deviation.dtype), deviation)


@_vq
def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Return for each observation the position of the nearest vector of a code book, and its distance.

    Rows are observations and vectors. One-dimensional ones are numbers. Of equally near vectors the first one counts.
    Positions have no derivative, and distances the one of the chosen vector.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy.cluster import vq
    >>> print(grad(lambda x: vq.vq(x, np.array([0.0, 5.0]))[1].sum())(np.array([1.0, 4.0])))
    [ 1. -1.]
    """
    dtype = result_type(obs, code_book)
    points, codes = (xp.asarray(x).astype(dtype if dtype.kind == "f" else np.float64) for x in (obs, code_book))
    ctx = context_of("vq", points, codes)
    if check_finite:
        require_finite("vq", points, codes)
    if points.ndim not in (1, 2) or points.ndim != codes.ndim:
        raise ctx.fail(f"obs has {points.ndim} axes and code_book {codes.ndim}", "give both one axis, or two")
    if points.ndim == 1:
        points, codes = points[:, None], codes[:, None]
    ctx.require_equal(sizes(points)[1], sizes(codes)[1], "observations and vectors have equal lengths")
    code = ds.nearest(as_traced(points), as_traced(codes))
    distance = euclidean(points, xp.take(codes, code, axis=0)).astype(points.dtype)
    return code.astype(np.int32 if dtype.kind == "f" else np.intp), distance
