"""Define the functions of `scipy.linalg` that build structured matrices, of symbolic sizes too.

Vectors along the last axis of an array make a matrix each.

Define the matrices of `scipy.linalg` whose elements follow from their size, which may be symbolic.

Elements are computed by closed forms in their row and column. Integers are exact up to the size where SciPy's own
leave 64 bits. Larger symbolic sizes are refused when the program runs, and need `exact=False`.
"""

import math
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import dilated_size
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import as_traced, choice_of, new_size, sizes
from anyshape.ops import movement as mv
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.scipy.special.orders import comb
from anyshape.transforms.control import check
from anyshape.transforms.vmap import vmap


def _require(name: str, x, least: int, why: str) -> None:
    """Demand a least number of elements."""
    context_of(name, x).require(at_least(sizes(x)[0], least), why)


def block_diag(*arrs: Any) -> Any:
    """Return the matrix with these matrices on its diagonal and zeros elsewhere; a vector counts as one row."""
    blocks = [xp.atleast_2d(x) for x in arrs]
    dtype = xp.result_type(*blocks)
    rows = []
    for i, block in enumerate(blocks):
        row = [
            block.astype(dtype) if i == j else xp.zeros((block.shape[0], other.shape[1]), dtype)
            for j, other in enumerate(blocks)
        ]
        rows.append(xp.concatenate(row, axis=1))
    return xp.concatenate(rows)


def _by_rows(function, *operands):
    """Return the matrices of vectors along the last axes, whose other axes broadcast."""
    rows = [xp.atleast_1d(x) for x in operands]
    if all(row.ndim == 1 for row in rows):
        return function(*rows)
    outer = xp.broadcast_shapes(*[row.shape[:-1] for row in rows])
    count = math.prod(outer, start=1)
    flat = [xp.reshape(xp.broadcast_to(row, (*outer, row.shape[-1])), (count, row.shape[-1])) for row in rows]
    matrices = vmap(function)(*flat)
    return xp.reshape(matrices, (*outer, *matrices.shape[1:]))


def toeplitz(c: Any, r: Any = None) -> Any:
    """Return the matrix of constant diagonals with first column c and first row r, whose first element is not read.

    Without r the row is the conjugate of c, so that the matrix is Hermitian where c[0] is real.
    """
    return _by_rows(_toeplitz, *((c, xp.conj(xp.asarray(c))) if r is None else (c, r)))


def _toeplitz(column, row):
    return _hankel(xp.flip(column), row)[::-1]


def _hankel(column, row):
    values = xp.concatenate([column, row[1:]])
    return wd.sliding(as_traced(values), 0, sizes(row)[0])[: column.shape[0]]


def hankel(c: Any, r: Any = None) -> Any:
    """Return the matrix of constant antidiagonals with first column c and last row r, whose first element is not read.

    Without r the rest of the last row is 0.
    """
    column = xp.ravel(c)
    row = xp.zeros_like(column) if r is None else xp.ravel(r)
    return _hankel(column, row)


def circulant(c: Any) -> Any:
    """Return the matrix whose first column is c, and whose further columns are c rotated, one step each."""
    return _by_rows(lambda column: _toeplitz(column, xp.roll(column[::-1], 1)), c)


def from_bands(bands: Any, before: Any) -> Any:
    """Return square matrices with bands[..., i, k] in row i and column i + k - before, as far as these are there.

    The diagonal is among the bands.
    """
    *batch, size, width = bands.shape
    bands = xp.pad(bands, [(0, 0)] * (len(batch) + 1) + [(0, size)])
    flat = xp.reshape(bands, (*batch, size * (size + width)))[..., : size * (size + width - 1)]  # each row starts later
    return xp.reshape(flat, (*batch, size, size + width - 1))[..., before : before + size]


def diagsvd(s: Any, M: Any, N: Any) -> Any:
    """Return the M by N matrix with the singular values s on its diagonal; s has min(M, N) elements."""
    row, column = xp.arange(M)[:, None], xp.arange(N)
    return xp.where(row == column, xp.pad(s, (0, 1))[xp.minimum(row, s.shape[0])], xp.zeros((), s.dtype))


def fiedler(a: Any) -> Any:
    """Return the matrix of the distances of the elements of a vector, or of those along the last axis."""
    return xp.abs(a[..., :, None] - a[..., None, :])


def leslie(f: Any, s: Any) -> Any:
    """Return the matrix with first row f and the subdiagonal s, of a population by age."""
    return _by_rows(_leslie, f, s)


def _leslie(first, rates):
    _require("leslie", rates, 1, "s has an element")
    context_of("leslie", first, rates).require_equal(
        sizes(first)[0], expr.add(sizes(rates)[0], 1), "f has one more element than s"
    )
    first, rates = (x.astype(xp.result_type(first, rates)) for x in (first, rates))
    size, count = sizes(first)[0], sizes(rates)[0]
    after = expr.sub(expr.mul(size, expr.sub(size, 1)), dilated_size(count, size))
    flat = mv.pad_unchecked(as_traced(rates), (size,), (after,), (size,))
    return xp.reshape(mv.slice_update(flat, first, (0,)), (size, size))


def fiedler_companion(a: Any) -> Any:
    """Return the pentadiagonal matrix whose characteristic polynomial has these coefficients, highest power first."""
    return _by_rows(_fiedler_companion, a)


def _fiedler_companion(a):
    scaled = -a / (1.0 * a[0])
    row = xp.arange(scaled.shape[0] - 1)
    is_even = row % 2 == 0
    above = xp.where(is_even, xp.pad(scaled[2:], (0, 1)), 0)
    below, middle = xp.where(is_even, scaled[1:], row == 1), xp.where(row == 0, scaled[1:], 0)
    return from_bands(xp.stack([~is_even & (row > 2), below, middle, above, is_even], axis=-1), 2)


KINDS = ("symmetric", "lower", "upper")


def _positions(n) -> tuple[Any, Any]:
    """Return the rows, as a column, and the columns of a square matrix."""
    index = xp.arange(n)
    return index[:, None], index[None, :]


def _limited(name: str, n, largest: int) -> None:
    """Demand that exact elements have 64 bits."""
    why = f"exact elements of more than {largest} rows need more than 64 bits"
    context_of(name).require(at_least(largest, new_size(n, name)), why)


def hadamard(n: Any, dtype: Any = int) -> Any:
    """Return Hadamard's matrix of n rows, with elements 1 and -1; n is a power of 2, or CheckError is raised.

    By Sylvester's construction, the sign at row i and column j is the parity of the common bits of i and j.
    """
    check(xp.bitwise_count(xp.asarray(n, np.int64)) == 1, "hadamard: n must be a power of 2")
    row, column = _positions(n)
    return (1 - 2 * (xp.bitwise_count(row & column) % 2).astype(np.int64)).astype(dtype)


def _lower_pascal(n, exact: bool, dtype):
    """Return the binomial coefficients of the row over the column."""
    row, column = _positions(n)
    values = comb(row, column)
    return xp.rint(values).astype(dtype) if exact else values


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


def invhilbert(n: Any, exact: bool = False) -> Any:
    """Return the inverse of `hilbert`: float64, or exact int64 for a symbolic n up to 14."""
    if exact:
        _limited("invhilbert", n, 14)
    row, column = _positions(n)
    total = row + column
    factors = comb(n + row, n - column - 1), comb(n + column, n - row - 1), comb(total, row)
    first, second, third = (xp.rint(x).astype(np.int64) if exact else x for x in factors)
    return xp.where(total % 2 == 0, 1, -1) * (total + 1) * first * second * third**2
