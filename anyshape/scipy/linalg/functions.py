"""Define functions of matrices of `scipy.linalg`."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy.linalg.solving import as_squares
from anyshape.numpy.operands.promotion import is_traced
from anyshape.support.packages import scipy_linalg
from anyshape.transforms.control_flow.loops import fori_loop

# Padé approximation of degree 13: N. J. Higham, "The scaling and squaring method for the matrix exponential
# revisited", 2005; it is exact to rounding for matrices of 1-norm up to this one
DEGREE, LARGEST_NORM = 13, 5.371920351148152
COEFFICIENTS = [
    float(factorial(2 * DEGREE - k) // (factorial(DEGREE - k) * factorial(k))) / factorial(DEGREE)
    for k in range(DEGREE + 1)
]


def expm(A: Any) -> Any:
    """Return the exponentials of the square matrices in the last two axes.

    Computed by the Padé approximation of degree 13 with scaling and squaring. The number of squarings depends on the
    values, and the matrices of a stack are scaled alike. Integers count as float64.
    """
    if not is_traced(A):
        return scipy_linalg.expm(A)
    x = as_squares("expm", A)
    norm = xp.max(xp.sum(xp.abs(xp.real(x)) + xp.abs(xp.imag(x)), axis=-2), initial=0.0)
    excess = xp.log2(xp.maximum(norm, LARGEST_NORM) / LARGEST_NORM)
    squarings = xp.where(xp.isfinite(excess), xp.ceil(excess), 0.0).astype(np.int64)
    scaled = x * xp.exp2(-squarings.astype(x.real.dtype)).astype(x.real.dtype)
    return fori_loop(0, squarings, lambda i, y: y @ y, _pade(scaled))


def _pade(x: Any) -> Any:
    """Return the Padé approximation of the exponential around 0: (v - u)^-1 (v + u), with odd u and even v."""
    b = COEFFICIENTS
    one = xp.eye(x.shape[-1], dtype=x.dtype)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    u = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    v = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    return xp.linalg.solve(v - u, v + u)
