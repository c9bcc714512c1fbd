"""Define the matrices of `scipy.linalg` whose elements follow from their size, which may be symbolic.

Elements are computed by closed forms in their row and column. Integers are exact up to the size where SciPy's own
leave 64 bits. Larger symbolic sizes are refused when the program runs, and need `exact=False`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.arrays.fallthrough import falls_through
from anyshape.numpy.operands.promotion import choice_of, new_size
from anyshape.ops.core.apply import context_of
from anyshape.scipy.special.counting import comb
from anyshape.support.packages import scipy_linalg
from anyshape.transforms.control import check

_linalg = falls_through(scipy_linalg)
KINDS = ("symmetric", "lower", "upper")


def _positions(n: Any) -> tuple[Any, Any]:
    """Return the rows, as a column, and the columns of a square matrix."""
    index = xp.arange(n)
    return index[:, None], index[None, :]


def _limited(name: str, n: Any, largest: int) -> None:
    """Demand that exact elements have 64 bits."""
    why = f"exact elements of more than {largest} rows need more than 64 bits"
    context_of(name).require(at_least(largest, new_size(n, name)), why)


@_linalg
def hadamard(n: Any, dtype: Any = int) -> Any:
    """Return Hadamard's matrix of n rows, with elements 1 and -1; n is a power of 2, or CheckError is raised.

    By Sylvester's construction, the sign at row i and column j is the parity of the common bits of i and j.
    """
    check(xp.bitwise_count(xp.asarray(n, np.int64)) == 1, "hadamard: n must be a power of 2")
    row, column = _positions(n)
    odd = xp.bitwise_count(row & column) % 2
    return (1 - 2 * odd.astype(np.int64)).astype(dtype)


@_linalg
def helmert(n: Any, full: bool = False) -> Any:
    """Return Helmert's orthonormal contrasts of n levels, of shape (n - 1, n); `full` adds the row of the mean."""
    context_of("helmert").require(at_least(new_size(n, "helmert"), 1), "n is at least 1")
    row, column = _positions(n)
    below = xp.where(column < row, 1.0, xp.where(column == row, -1.0 * row, 0.0))
    matrix = xp.where(row == 0, 1.0, below) / xp.sqrt(xp.where(row == 0, n, row * (row + 1)))
    return matrix if full else matrix[1:]


def _lower_pascal(n: Any, exact: bool, dtype: Any) -> Any:
    """Return the binomial coefficients of the row over the column."""
    row, column = _positions(n)
    values = comb(row, column)
    return xp.rint(values).astype(dtype) if exact else values


@_linalg
def pascal(n: Any, kind: str = "symmetric", exact: bool = True) -> Any:
    """Return the n by n matrix of binomial coefficients: triangular, or the product of both triangles.

    Exact elements are uint64, and then a symbolic n is at most 34; otherwise they are float64.
    """
    choice_of("pascal", "kind", kind, KINDS)
    if exact:
        _limited("pascal", n, 34)
    lower = _lower_pascal(n, exact, np.uint64)
    if kind == "symmetric":
        return lower @ lower.T
    return lower if kind == "lower" else lower.T


@_linalg
def invpascal(n: Any, kind: str = "symmetric", exact: bool = True) -> Any:
    """Return the inverse of `pascal`: exact int64 for a symbolic n up to 34, or float64."""
    choice_of("invpascal", "kind", kind, KINDS)
    if exact:
        _limited("invpascal", n, 34)
    row, column = _positions(n)
    lower = _lower_pascal(n, exact, np.int64)
    inverse = xp.where((row - column) % 2 == 0, lower, -lower)
    if kind == "symmetric":
        return inverse.T @ inverse
    return inverse if kind == "lower" else inverse.T


@_linalg
def invhilbert(n: Any, exact: bool = False) -> Any:
    """Return the inverse of `hilbert`: float64, or exact int64 for a symbolic n up to 14."""
    if exact:
        _limited("invhilbert", n, 14)
    row, column = _positions(n)
    total = row + column
    factors = comb(n + row, n - column - 1), comb(n + column, n - row - 1), comb(total, row)
    first, second, third = (xp.rint(x).astype(np.int64) if exact else x for x in factors)
    return xp.where(total % 2 == 0, 1, -1) * (total + 1) * first * second * third**2
