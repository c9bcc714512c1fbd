"""Rotations of `scipy.spatial.transform`, traced or concrete.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_transform

_SERVED = Module(scipy_transform, "scipy.spatial.transform", own={"rotations": "Rotation Slerp"})
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
