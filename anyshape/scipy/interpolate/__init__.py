"""Interpolants of `scipy.interpolate`, with derivatives by points and by data, at any size.

Concrete data are SciPy's own objects inside, which also have the further methods. What has no counterpart here is
SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.interpolate.bspline import BSpline, make_interp_spline
from anyshape.scipy.interpolate.cubic import Akima1DInterpolator, CubicSpline, PchipInterpolator, pchip_interpolate
from anyshape.scipy.interpolate.piecewise import CubicHermiteSpline, PPoly
from anyshape.scipy.interpolate.tables import RegularGridInterpolator, interp1d, interpn
from anyshape.support.packages import scipy_interpolate

__all__ = [
    "Akima1DInterpolator", "BSpline", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator",
    "RegularGridInterpolator", "interp1d", "interpn", "make_interp_spline", "pchip_interpolate",
]  # fmt: skip

_SCIPY = Module(scipy_interpolate, "scipy.interpolate")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
