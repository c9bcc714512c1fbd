"""Define the cosine and sine transforms of `scipy.fft`, of types 1 to 4.

Options that let SciPy overwrite its operand or choose a number of threads have no effect on traced arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.numpy.fft import fitted, norm_of, points_of, steps_of
from anyshape.numpy.operands.promotion import as_traced, axis_of, choice_of, is_traced
from anyshape.ops import elementwise as ew
from anyshape.ops import fourier as fo
from anyshape.support.packages import scipy_fft

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}
_INVERSE_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _along_one(name: str, transform: Callable[..., Any], x: Any, type: Any, n: Any, axis: Any, options: Any) -> Any:
    """Apply the transform of a type along an axis; names of inverses start with i. `options` are norm and scale."""
    norm, orthogonalize = options
    scale = norm_of(name, norm)
    kind = choice_of(name, "type", type, tuple(_INVERSE_TYPE))
    orthogonal = scale == "ortho" if orthogonalize is None else bool(orthogonalize)
    if name.startswith("i"):
        kind, scale = _INVERSE_TYPE[kind], _INVERSE_NORM[scale]
    array = as_traced(x)
    along = axis_of(axis, array.ndim, name)
    smallest = np.float32 if array.dtype == np.float16 else 1.0
    floating = array if array.dtype.kind == "c" else ew.convert(array, np.result_type(array.dtype, smallest))
    return transform(fitted(floating, along, points_of(name, n)), int(kind), along, scale, orthogonal=orthogonal)


def _of_one_axis(name: str, transform: Callable[..., Any], summary: str) -> Callable[..., Any]:
    """Build a transform along one axis."""

    def function(
        x: Any,
        type: Any = 2,
        n: Any = None,
        axis: Any = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Any:
        if not is_traced(x, n):
            return getattr(scipy_fft, name)(x, type, n, axis, norm, overwrite_x, workers, orthogonalize)
        return _along_one(name, transform, x, type, n, axis, (norm, orthogonalize))

    return _named(function, name, summary)


def _of_axes(name: str, transform: Callable[..., Any], summary: str) -> Callable[..., Any]:
    """Build a transform along several axes."""

    def function(
        x: Any,
        type: Any = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: Any = None,
    ) -> Any:
        if not is_traced(x, s):
            options = {"orthogonalize": orthogonalize}
            return getattr(scipy_fft, name)(x, type, s, axes, norm, overwrite_x, workers, **options)
        result = as_traced(x)
        for n, axis in steps_of(name, result, _several(s), _several(axes)):
            result = _along_one(name, transform, result, type, n, axis, (norm, orthogonalize))
        return result

    return _named(function, name, summary)


def _several(value: Any) -> Any:
    """Return sizes or axes as a sequence; SciPy takes one number for a sequence of one."""
    return value if value is None or isinstance(value, (tuple, list)) else (value,)


def _named(function: Callable[..., Any], name: str, summary: str) -> Callable[..., Any]:
    """Return a function with its public name and a docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f'{summary}\n\n`type` is 1 to 4, `norm` "backward", "ortho" or "forward"; see `scipy.fft.{name}`.'
    )
    return function


dct: Callable[..., Any] = _of_one_axis("dct", fo.dct, "Return the discrete cosine transform along an axis.")
idct: Callable[..., Any] = _of_one_axis(
    "idct", fo.dct, "Return the inverse of the discrete cosine transform of this type."
)
dst: Callable[..., Any] = _of_one_axis("dst", fo.dst, "Return the discrete sine transform along an axis.")
idst: Callable[..., Any] = _of_one_axis(
    "idst", fo.dst, "Return the inverse of the discrete sine transform of this type."
)
dctn: Callable[..., Any] = _of_axes(
    "dctn", fo.dct, "Return the discrete cosine transform along several axes, all by default."
)
idctn: Callable[..., Any] = _of_axes("idctn", fo.dct, "Return the inverse of `dctn` of this type.")
dstn: Callable[..., Any] = _of_axes(
    "dstn", fo.dst, "Return the discrete sine transform along several axes, all by default."
)
idstn: Callable[..., Any] = _of_axes("idstn", fo.dst, "Return the inverse of `dstn` of this type.")
