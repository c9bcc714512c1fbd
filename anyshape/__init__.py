"""anyshape: plain NumPy traced once, differentiated, and run at any shape."""

from anyshape.frontend.derivatives import grad, value_and_grad
from anyshape.frontend.jit import jit

__all__ = ["grad", "jit", "value_and_grad"]
