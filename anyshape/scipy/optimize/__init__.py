"""Functions of `scipy.optimize` with exact derivatives, for trees, and inside of traced functions.

The solvers are SciPy's. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.optimize.active_sets import isotonic_regression, linear_sum_assignment, linprog, lsq_linear, nnls
from anyshape.scipy.optimize.constraints import Bounds, LinearConstraint
from anyshape.scipy.optimize.fits import curve_fit, least_squares
from anyshape.scipy.optimize.minima import (
    basinhopping,
    differential_evolution,
    direct,
    dual_annealing,
    minimize,
    minimize_scalar,
    shgo,
)
from anyshape.scipy.optimize.roots import (
    bisect,
    brent,
    brenth,
    brentq,
    fixed_point,
    fminbound,
    fsolve,
    golden,
    newton,
    ridder,
    root,
    root_scalar,
    rosen,
    rosen_der,
    rosen_hess,
    rosen_hess_prod,
    toms748,
)
from anyshape.support.packages import scipy_optimize

__all__ = [
    "Bounds", "LinearConstraint", "basinhopping", "bisect", "brent", "brenth", "brentq", "curve_fit",
    "differential_evolution", "direct", "dual_annealing", "fixed_point", "fminbound", "fsolve", "golden",
    "isotonic_regression", "least_squares", "linear_sum_assignment", "linprog", "lsq_linear", "minimize",
    "minimize_scalar", "newton", "nnls", "ridder", "root", "root_scalar", "rosen", "rosen_der", "rosen_hess",
    "rosen_hess_prod", "shgo", "toms748",
]  # fmt: skip

_SCIPY = Module(scipy_optimize, "scipy.optimize")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
