"""Differences of polygamma functions at close points: each term of a series has a difference without cancellation."""

from math import factorial
from typing import Any

import numpy as np

LARGE = 12  # from here on, and from the order on, the asymptotic series has all digits
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def polygamma_difference(x: Any, y: Any, order: int) -> Any:
    """Return polygamma(order, x + y) - polygamma(order, x) between poles: DLMF 5.15.5, 5.15.8.

    The size of y is below half of x, or of the distance of a negative x to the next pole.
    """
    x, y = x.astype(np.float64), y.astype(np.float64)
    sign, total = (-1.0) ** (order + 1), np.zeros_like(x)
    with np.errstate(all="ignore"):
        for _ in range(LARGE + order + max(0, -int(x.min()))):
            is_small = x < LARGE + order
            total += np.where(is_small, sign * factorial(order) * _step(x, y, order + 1), 0)
            x = x + is_small
        if not order:
            total += np.log1p(y / x)
        for power, coefficient in _terms(order):
            total += sign * coefficient * _step(x, y, power)
    return total


def _step(x, y, power: int):
    """Return (x + y)**-power - x**-power."""
    return np.expm1(-power * np.log1p(y / x)) / x * x ** (1 - power)


def _terms(order: int) -> list[tuple[int, float]]:
    """Return negative powers with their coefficients, without the logarithm of order 0."""
    first = [(order, float(factorial(order - 1)))] if order else []
    further = [(2 * k + order, b * factorial(2 * k + order - 1) / factorial(2 * k)) for k, b in enumerate(BERNOULLI, 1)]
    return [*first, (order + 1, factorial(order) / 2), *further]
