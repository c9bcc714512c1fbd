"""Functions of `scipy.integrate` for traced and concrete arrays, at any size.

Outside of a trace SciPy itself computes. Inside of one, integrands and right-hand sides are traced. What has no
counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from typing import Any

from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.integrate.initial_value import odeint, solve_ivp
from anyshape.scipy.integrate.quadrature import dblquad, fixed_quad, nquad, quad, quad_vec, tplquad
from anyshape.scipy.integrate.sampled import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)
from anyshape.support.packages import scipy_integrate

__all__ = [
    "cumulative_simpson", "cumulative_trapezoid", "dblquad", "fixed_quad", "nquad", "odeint", "quad", "quad_vec",
    "romb", "simpson", "solve_ivp", "tplquad", "trapezoid",
]  # fmt: skip

_SCIPY = Module(scipy_integrate, "scipy.integrate")


def __getattr__(name: str) -> Any:
    """Return what a further name of SciPy stands for."""
    return _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
