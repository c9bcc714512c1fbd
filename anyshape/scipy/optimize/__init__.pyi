"""Functions of `scipy.optimize` with exact derivatives, for trees, and inside of traced functions.

Written by tools/make_stubs.py for SciPy 1.17.
"""

from typing import Any

from scipy.optimize import BFGS as BFGS
from scipy.optimize import SR1 as SR1
from scipy.optimize import BroydenFirst as BroydenFirst
from scipy.optimize import HessianUpdateStrategy as HessianUpdateStrategy
from scipy.optimize import InverseJacobian as InverseJacobian
from scipy.optimize import KrylovJacobian as KrylovJacobian
from scipy.optimize import LbfgsInvHessProduct as LbfgsInvHessProduct
from scipy.optimize import NoConvergence as NoConvergence
from scipy.optimize import NonlinearConstraint as NonlinearConstraint
from scipy.optimize import OptimizeResult as OptimizeResult
from scipy.optimize import OptimizeWarning as OptimizeWarning
from scipy.optimize import RootResults as RootResults
from scipy.optimize import anderson as anderson
from scipy.optimize import approx_fprime as approx_fprime
from scipy.optimize import bracket as bracket
from scipy.optimize import broyden1 as broyden1
from scipy.optimize import broyden2 as broyden2
from scipy.optimize import brute as brute
from scipy.optimize import check_grad as check_grad
from scipy.optimize import cobyla as cobyla
from scipy.optimize import diagbroyden as diagbroyden
from scipy.optimize import excitingmixing as excitingmixing
from scipy.optimize import fmin as fmin
from scipy.optimize import fmin_bfgs as fmin_bfgs
from scipy.optimize import fmin_cg as fmin_cg
from scipy.optimize import fmin_cobyla as fmin_cobyla
from scipy.optimize import fmin_l_bfgs_b as fmin_l_bfgs_b
from scipy.optimize import fmin_ncg as fmin_ncg
from scipy.optimize import fmin_powell as fmin_powell
from scipy.optimize import fmin_slsqp as fmin_slsqp
from scipy.optimize import fmin_tnc as fmin_tnc
from scipy.optimize import lbfgsb as lbfgsb
from scipy.optimize import leastsq as leastsq
from scipy.optimize import line_search as line_search
from scipy.optimize import linearmixing as linearmixing
from scipy.optimize import linesearch as linesearch
from scipy.optimize import linprog_verbose_callback as linprog_verbose_callback
from scipy.optimize import milp as milp
from scipy.optimize import minpack as minpack
from scipy.optimize import minpack2 as minpack2
from scipy.optimize import moduleTNC as moduleTNC
from scipy.optimize import newton_krylov as newton_krylov
from scipy.optimize import nonlin as nonlin
from scipy.optimize import optimize as optimize
from scipy.optimize import quadratic_assignment as quadratic_assignment
from scipy.optimize import rosen as rosen
from scipy.optimize import rosen_der as rosen_der
from scipy.optimize import rosen_hess as rosen_hess
from scipy.optimize import rosen_hess_prod as rosen_hess_prod
from scipy.optimize import show_options as show_options
from scipy.optimize import slsqp as slsqp
from scipy.optimize import tnc as tnc
from scipy.optimize import zeros as zeros

from anyshape.scipy.optimize.constraints import Bounds as Bounds
from anyshape.scipy.optimize.constraints import LinearConstraint as LinearConstraint
from anyshape.scipy.optimize.constraints import isotonic_regression as isotonic_regression
from anyshape.scipy.optimize.constraints import linear_sum_assignment as linear_sum_assignment
from anyshape.scipy.optimize.constraints import lsq_linear as lsq_linear
from anyshape.scipy.optimize.constraints import nnls as nnls
from anyshape.scipy.optimize.fits import curve_fit as curve_fit
from anyshape.scipy.optimize.fits import least_squares as least_squares
from anyshape.scipy.optimize.minima import basinhopping as basinhopping
from anyshape.scipy.optimize.roots import brent as brent
from anyshape.scipy.optimize.roots import fixed_point as fixed_point
from anyshape.scipy.optimize.roots import fminbound as fminbound
from anyshape.scipy.optimize.roots import fsolve as fsolve
from anyshape.scipy.optimize.roots import golden as golden
from anyshape.scipy.optimize.roots import newton as newton

def bisect(
    f: Any, a: Any, b: Any, args: Any = (), *, xtol: Any = None, rtol: Any = None, maxiter: Any = None, **options: Any
) -> Any:
    """Return a root of f between a and b by SciPy's bisect, with the derivative of the equation."""

def brenth(
    f: Any, a: Any, b: Any, args: Any = (), *, xtol: Any = None, rtol: Any = None, maxiter: Any = None, **options: Any
) -> Any:
    """Return a root of f between a and b by SciPy's brenth, with the derivative of the equation."""

def brentq(
    f: Any, a: Any, b: Any, args: Any = (), *, xtol: Any = None, rtol: Any = None, maxiter: Any = None, **options: Any
) -> Any:
    """Return a root of f between a and b by SciPy's brentq, with the derivative of the equation."""

def differential_evolution(func: Any, bounds: Any, args: Any = (), **options: Any) -> Any:
    """Return a global minimum of func(x, *args) between bounds by SciPy's differential_evolution, as `result.x`."""

def direct(func: Any, bounds: Any, args: Any = (), **options: Any) -> Any:
    """Return a global minimum of func(x, *args) between bounds by SciPy's direct, as `result.x`."""

def dual_annealing(func: Any, bounds: Any, args: Any = (), **options: Any) -> Any:
    """Return a global minimum of func(x, *args) between bounds by SciPy's dual_annealing, as `result.x`."""

def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: Any = "highs",
    callback: Any = None,
    options: Any = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """Return the minimum of c @ x under linear constraints, as `result.x`."""

def minimize(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: Any = None,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """Return a minimum of fun(x, *args) by a minimiser of SciPy, as `result.x`."""

def minimize_scalar(
    fun: Any,
    bracket: Any = None,
    bounds: Any = None,
    args: Any = (),
    method: Any = None,
    tol: Any = None,
    options: Any = None,
) -> Any:
    """Return a minimum of fun(x, *args) for a number x by a minimiser of SciPy, as `result.x`."""

def ridder(
    f: Any, a: Any, b: Any, args: Any = (), *, xtol: Any = None, rtol: Any = None, maxiter: Any = None, **options: Any
) -> Any:
    """Return a root of f between a and b by SciPy's ridder, with the derivative of the equation."""

def root(
    fun: Any,
    x0: Any,
    args: Any = (),
    method: Any = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """Return a solution of fun(x, *args) = 0 by a solver of SciPy, as `result.x`."""

def root_scalar(
    f: Any,
    args: Any = (),
    method: Any = None,
    bracket: Any = None,
    fprime: Any = None,
    fprime2: Any = None,
    x0: Any = None,
    x1: Any = None,
    xtol: Any = None,
    rtol: Any = None,
    maxiter: Any = None,
    options: Any = None,
) -> Any:
    """Return a solution of f(x, *args) = 0 for a number x by a solver of SciPy, as `result.root`."""

def shgo(func: Any, bounds: Any, args: Any = (), **options: Any) -> Any:
    """Return a global minimum of func(x, *args) between bounds by SciPy's shgo, as `result.x`."""

def toms748(
    f: Any, a: Any, b: Any, args: Any = (), *, xtol: Any = None, rtol: Any = None, maxiter: Any = None, **options: Any
) -> Any:
    """Return a root of f between a and b by SciPy's toms748, with the derivative of the equation."""
