"""Interpolants of `scipy.interpolate`, with derivatives by points and by data, at any size.

Concrete data are SciPy's own objects inside, which also have the further methods. What has no counterpart here is
SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.interpolate.bspline import (
    BSpline,
    InterpolatedUnivariateSpline,
    UnivariateSpline,
    make_interp_spline,
    make_lsq_spline,
    make_splprep,
    make_splrep,
    splantider,
    splder,
    splev,
    splint,
    splprep,
    splrep,
)
from anyshape.scipy.interpolate.piecewise import (
    Akima1DInterpolator,
    BarycentricInterpolator,
    BPoly,
    CubicHermiteSpline,
    CubicSpline,
    KroghInterpolator,
    PchipInterpolator,
    PPoly,
    barycentric_interpolate,
    krogh_interpolate,
    pchip_interpolate,
)
from anyshape.scipy.interpolate.smoothing import bisplev, bisplrep, insert, make_smoothing_spline, spalde, sproot
from anyshape.scipy.interpolate.tables import (
    LinearNDInterpolator,
    NearestNDInterpolator,
    RBFInterpolator,
    RegularGridInterpolator,
    griddata,
    interp1d,
    interpn,
)
from anyshape.support.packages import scipy_interpolate

__all__ = [
    "Akima1DInterpolator", "BPoly", "BSpline", "BarycentricInterpolator", "CubicHermiteSpline", "CubicSpline",
    "InterpolatedUnivariateSpline", "KroghInterpolator", "LinearNDInterpolator", "NearestNDInterpolator", "PPoly",
    "PchipInterpolator", "RBFInterpolator", "RegularGridInterpolator", "UnivariateSpline",
    "barycentric_interpolate", "bisplev", "bisplrep", "griddata", "insert", "interp1d", "interpn", "krogh_interpolate",
    "make_interp_spline", "make_lsq_spline", "make_smoothing_spline", "make_splprep", "make_splrep",
    "pchip_interpolate", "spalde", "splantider", "splder", "splev", "splint", "splprep", "splrep", "sproot",
]  # fmt: skip

_SCIPY = Module(scipy_interpolate, "scipy.interpolate")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
