"""Functions of `scipy.optimize` with exact derivatives, for trees, and inside of traced functions.

The solvers are SciPy's. What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_optimize

_SERVED = Module(
    scipy_optimize,
    "scipy.optimize",
    own={
        "constraints": "Bounds LinearConstraint linprog lsq_linear",
        "fits": "curve_fit least_squares",
        "minima": "minimize",
        "roots": "root root_scalar",
    },
    outside={
        "minima": "basinhopping differential_evolution direct dual_annealing minimize_scalar shgo",
        "roots": "bisect brent brenth brentq fixed_point fminbound fsolve golden newton ridder toms748",
    },
    through={"constraints": "isotonic_regression linear_sum_assignment nnls"},
    lent="rosen rosen_der rosen_hess rosen_hess_prod",
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
