"""Polygamma functions of complex numbers, which SciPy has for real ones alone.

Numbers on the left are reflected (DLMF 5.15.6) and small ones raised (5.15.5) to where the asymptotic series
(5.15.8) is exact to double precision.
"""

import math
from typing import Any

import numpy as np
import scipy.special as sc

TERMS, LEAST = 14, 15
_BERNOULLI = sc.bernoulli(2 * TERMS)[2::2]


def complex_polygamma(z: Any, order: int) -> Any:
    """Return the derivative of digamma of an order from 1 on."""
    with np.errstate(all="ignore"):
        is_left = z.real < 0.5
        right = _on_the_right(np.where(is_left, 1 - z, z).astype(np.complex128), order)
        reflected = (-1) ** order * right - _derivative_of_cotangent(z, order)
        return np.where(is_left, reflected, right).astype(z.dtype)


def _on_the_right(z, order: int):
    """Return the values for real parts from 1/2 on."""
    total, steps = np.zeros_like(z), LEAST + order
    for k in range(steps):
        total += (z + k) ** (-order - 1)
    w = z + steps
    series = math.factorial(order - 1) * w**-order + 0.5 * math.factorial(order) * w ** (-order - 1)
    for k in range(1, TERMS + 1):
        factor = _BERNOULLI[k - 1] * (math.factorial(2 * k + order - 1) / math.factorial(2 * k))
        series += factor * w ** (-2 * k - order)
    return (-1) ** (order - 1) * (series + math.factorial(order) * total)


def _derivative_of_cotangent(z, order: int):
    """Return the derivative of pi cot(pi z), a polynomial in the cotangent."""
    is_below = z.imag < 0
    power = np.exp(2j * np.pi * np.where(is_below, np.conj(z), z))
    cotangent = 1j * (power + 1) / (power - 1)
    cotangent = np.where(is_below, np.conj(cotangent), cotangent)
    polynomial = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        polynomial = -np.pi * np.polynomial.Polynomial([1.0, 0.0, 1.0]) * polynomial.deriv()
    return np.pi * polynomial(cotangent)
