"""Derivatives of Hurwitz's zeta function by its exponent, by the sum of Euler and Maclaurin: DLMF 25.11.7."""

import functools
from math import comb, factorial
from typing import Any

import numpy as np

TERMS = 12  # before the integral
BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510),
    *(43867 / 798, -174611 / 330),
)


def zeta_derivative(x: Any, y: Any, *, order: int) -> Any:
    """Return the derivative of the sum of (k + y)**-x by x, for positive y; beside x = 1 and below, down to 0, too."""
    dtype = np.result_type(x, y)
    x, y = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        total = sum([_power(order, x, y + k) for k in range(TERMS)])
        end = y + TERMS
        total = total + 0.5 * _power(order, x, end)
        for m in range(order + 1):
            pole = (-1.0) ** m * factorial(m) / (x - 1) ** (m + 1)
            total = total + comb(order, m) * pole * end * _power(order - m, x, end)
        for j, bernoulli in enumerate(BERNOULLI, 1):
            rising, scale = _rising(2 * j - 1), bernoulli / factorial(2 * j)
            for m in range(min(order, 2 * j - 1) + 1):
                part = rising.deriv(m)(x) * _power(order - m, x, end) * end ** (1 - 2 * j)
                total = total + comb(order, m) * scale * part
        return np.where(y > 0, total, np.nan).astype(dtype)


def _power(order: int, x, base):
    """Return the derivative of base**-x by x."""
    return (-np.log(base)) ** order * base**-x


@functools.cache
def _rising(count: int):
    """Return the polynomial x (x + 1) ... of so many factors."""
    return np.polynomial.Polynomial.fromroots(-np.arange(float(count)))
