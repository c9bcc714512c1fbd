"""Complete Bell polynomials: derivatives of the exponential of a function, divided by the exponential.

Numbers, NumPy arrays and traced arrays serve alike. Source: L. Comtet, "Advanced Combinatorics", 1974, section 3.3.
"""

from collections.abc import Callable
from math import comb
from typing import Any


def bell_polynomial(order: int, derivative: Callable[[int], Any]) -> Any:
    """Return exp(-h) times the derivative of exp(h) of this order; `derivative(k)` is that of h of order k."""
    return bell_polynomial_of_two((order, 0), lambda i, j: derivative(i))


def bell_polynomial_of_two(orders: tuple[int, int], derivative: Callable[[int, int], Any]) -> Any:
    """Return exp(-h) times a partial derivative of exp(h), for h of two variables.

    `orders` are the orders in both, and `derivative(i, j)` gives the partial derivatives of h.
    """
    memo: dict[tuple[int, int], Any] = {(0, 0): 1.0}

    def at(i: int, j: int):
        if (i, j) not in memo:
            first, second = (1, 0) if i else (0, 1)
            terms = [
                comb(i - first, p)
                * comb(j - second, q)
                * derivative(p + first, q + second)
                * at(i - first - p, j - second - q)
                for p in range(i - first + 1)
                for q in range(j - second + 1)
            ]
            memo[i, j] = sum(terms[1:], terms[0])
        return memo[i, j]

    return at(*orders)
