"""Functions of `scipy.integrate` for traced and concrete arrays, at any size.

Outside of a trace SciPy itself computes. Inside of one, integrands and right-hand sides are traced. What has no
counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_integrate

_SERVED = Module(
    scipy_integrate,
    "scipy.integrate",
    own={"initial_value": "odeint solve_ivp"},
    outside={"quadrature": "dblquad fixed_quad nquad quad quad_vec tplquad"},
    through={"quadrature": "cumulative_simpson simpson"},
    lent="cumulative_trapezoid romb trapezoid",
)
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
