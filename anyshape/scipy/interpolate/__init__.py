"""Interpolants of `scipy.interpolate`, with derivatives by points and by data, at any size.

Concrete data are SciPy's own objects inside, which also have the further methods. What has no counterpart here is
SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_interpolate

_SERVED = Module(
    scipy_interpolate,
    "scipy.interpolate",
    own={
        "bspline": (
            "BSpline InterpolatedUnivariateSpline UnivariateSpline make_interp_spline make_lsq_spline "
            "make_splprep make_splrep splantider splder splev splint"
        ),
        "piecewise": (
            "Akima1DInterpolator BarycentricInterpolator BPoly CubicHermiteSpline CubicSpline KroghInterpolator "
            "PchipInterpolator PPoly"
        ),
        "smoothing": "insert make_smoothing_spline spalde sproot",
        "tables": (
            "LinearNDInterpolator NearestNDInterpolator RBFInterpolator RegularGridInterpolator griddata interp1d"
        ),
    },
    through={
        "bspline": "splprep splrep",
        "piecewise": "barycentric_interpolate krogh_interpolate pchip_interpolate",
        "smoothing": "bisplev bisplrep",
        "tables": "interpn",
    },
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
