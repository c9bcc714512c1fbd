"""Interpolants of `scipy.interpolate`, with derivatives with respect to points and data, at any size.

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
            "BSpline insert InterpolatedUnivariateSpline make_interp_spline make_lsq_spline make_smoothing_spline "
            "make_splprep make_splrep spalde splantider splder splev splint sproot UnivariateSpline"
        ),
        "piecewise": (
            "Akima1DInterpolator BarycentricInterpolator BPoly CubicHermiteSpline CubicSpline KroghInterpolator "
            "PchipInterpolator PPoly"
        ),
        "tables": ("interp1d LinearNDInterpolator NearestNDInterpolator RBFInterpolator RegularGridInterpolator"),
    },
    through={
        "bspline": "bisplev bisplrep splprep splrep",
        "piecewise": "barycentric_interpolate krogh_interpolate pchip_interpolate",
        "tables": "griddata interpn",
    },
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
