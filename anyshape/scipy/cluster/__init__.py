"""Functions of `scipy.cluster`: vector quantisation of traced arrays, and SciPy's own names."""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_cluster

_SERVED = Module(scipy_cluster, "scipy.cluster", own={"": "vq"})
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
