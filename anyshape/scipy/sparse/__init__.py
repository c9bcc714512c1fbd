"""Sparse arrays of `scipy.sparse` whose values may be traced, and products with them.

What has no counterpart here is SciPy's own, and refuses traced arrays by name.
"""

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import scipy_sparse

ARRAYS = "coo_array csc_array csr_array issparse isspmatrix"
_SERVED = Module(scipy_sparse, "scipy.sparse", own={"": "linalg", "arrays": ARRAYS})
__all__ = [*_SERVED.own]
__getattr__, __dir__ = _SERVED.named, _SERVED.public_names
