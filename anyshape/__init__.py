"""anyshape: plain NumPy traced once, differentiated, and run at any shape."""

from anyshape import frontend as _frontend
from anyshape.frontend.batching import hessian, hvp, jacfwd, jacrev, vmap
from anyshape.frontend.derivatives import grad, jvp, linear_transpose, linearize, value_and_grad, vjp
from anyshape.frontend.jit import jit

__all__ = [
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]
