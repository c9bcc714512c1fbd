"""NumPy's functions of `numpy.linalg` for traced and concrete arrays, at any size.

Matrices are in the last two axes, and leading axes are a batch. Concrete arguments go to NumPy itself.
"""

from numpy.linalg import LinAlgError

from anyshape.numpy.linalg.decompositions import (
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lstsq,
    matrix_rank,
    pinv,
    qr,
    svd,
    svdvals,
)
from anyshape.numpy.linalg.norms import (
    cond,
    cross,
    diagonal,
    matmul,
    matrix_norm,
    norm,
    outer,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from anyshape.numpy.linalg.solving import (
    cholesky,
    det,
    inv,
    matrix_power,
    multi_dot,
    slogdet,
    solve,
    tensorinv,
    tensorsolve,
)
from anyshape.numpy.movement import matrix_transpose

__all__ = [
    "LinAlgError", "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq",
    "matmul", "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv",
    "qr", "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve", "trace", "vecdot",
    "vector_norm",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
