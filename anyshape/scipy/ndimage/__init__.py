"""Functions of `scipy.ndimage` for traced and concrete arrays, at any size.

Concrete arguments go to SciPy itself. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.ndimage.filtering import (
    convolve,
    convolve1d,
    correlate,
    correlate1d,
    gaussian_filter,
    gaussian_filter1d,
    gaussian_gradient_magnitude,
    gaussian_laplace,
    laplace,
    maximum_filter,
    minimum_filter,
    prewitt,
    sobel,
    uniform_filter,
    uniform_filter1d,
)
from anyshape.scipy.ndimage.interpolation import (
    affine_transform,
    map_coordinates,
    rotate,
    shift,
    spline_filter,
    spline_filter1d,
    zoom,
)
from anyshape.support.packages import scipy_ndimage

__all__ = [
    "affine_transform", "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "map_coordinates", "maximum_filter", "minimum_filter",
    "prewitt", "rotate", "shift", "sobel", "spline_filter", "spline_filter1d", "uniform_filter", "uniform_filter1d",
    "zoom",
]  # fmt: skip

_SCIPY = Module(scipy_ndimage, "scipy.ndimage")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
