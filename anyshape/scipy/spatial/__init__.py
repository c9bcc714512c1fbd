"""Functions of `scipy.spatial`: distances and rotations of traced arrays. SciPy's own names refuse these."""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_spatial

_SERVED = Module(scipy_spatial, "scipy.spatial", own={"": "distance transform"})
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
