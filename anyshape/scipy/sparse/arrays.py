"""Sparse matrices in programs: values, which may be traced, at positions.

Products gather the factors of each value and add up rows, so they cost as much as there are values. Derivatives by the
values have their positions; other elements stay zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import is_traced, size_of, sizes
from anyshape.numpy.serve import refuse
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import FixedAttributes
from anyshape.support.packages import scipy_sparse
from anyshape.tracing.pytrees import register_class


class SparseMatrix(FixedAttributes):
    """Matrix of values `data` at rows and columns; values at equal positions add up. It is a tree of these arrays.

    `A @ x`, `x @ A`, products and sums of matrices with numbers, `A.T` and `A.toarray()` are traced. Concrete matrices
    have all that SciPy's have.
    """

    __array_ufunc__ = None  # so x @ A comes here

    def __init__(self, kind: str, data: Any, row: Any, col: Any, shape: tuple[Any, Any]) -> None:
        self.format, self.data, self.row, self.col, self.shape = kind, data, row, col, tuple(shape)

    def __getattr__(self, name: str) -> Any:
        """Return a further member of SciPy's matrix for concrete values."""
        if name.startswith("_") or not hasattr(scipy_sparse.csr_array, name):
            raise AttributeError(f"a sparse matrix has no attribute {name!r}", name=name, obj=self)
        if self.is_traced():
            raise refuse(f"scipy.sparse.{self.format}_array.{name}")
        return getattr(self.of_scipy(), name)

    def __repr__(self) -> str:
        return f"<sparse matrix of shape {self.shape} with {self.data.shape[0]} values>"

    @property
    def dtype(self) -> Any:
        """Dtype of the values."""
        return self.data.dtype

    @property
    def nnz(self) -> Any:
        """Number of values."""
        return self.data.shape[0]

    @property
    def T(self) -> SparseMatrix:
        """Transpose, with the same values."""
        turned = {"csr": "csc", "csc": "csr"}.get(self.format, self.format)
        return SparseMatrix(turned, self.data, self.col, self.row, self.shape[::-1])

    def transpose(self) -> SparseMatrix:
        """Return the transpose, with the same values."""
        return self.T

    def is_traced(self) -> bool:
        """Return whether values or positions are traced."""
        return is_traced(self.data, self.row, self.col)

    def of_scipy(self) -> Any:
        """Return SciPy's matrix of concrete values."""
        return scipy_sparse.coo_array((self.data, (self.row, self.col)), shape=self.shape).asformat(self.format)

    def with_values(self, data: Any) -> SparseMatrix:
        """Return the matrix with other values at the same positions."""
        return SparseMatrix(self.format, data, self.row, self.col, self.shape)

    def toarray(self) -> Any:
        """Return the matrix with its zeros."""
        if not self.is_traced():
            return self.of_scipy().toarray()
        return xp.zeros(self.shape, self.data.dtype).at[self.row, self.col].add(self.data)

    todense = toarray

    def __matmul__(self, other: Any) -> Any:
        """Return the product with a vector or a matrix."""
        if isinstance(other, SparseMatrix):
            other = other.toarray()
        if not self.is_traced() and not is_traced(other):
            return self.of_scipy().tocsr() @ other  # a COO matrix of one row gives a number
        x = xp.asarray(other)
        if x.ndim not in (1, 2):
            raise ArgumentError("A @ x", "x", f"has {x.ndim} axes", "pass a vector or a matrix")
        why = "a matrix and what it is multiplied with differ in columns and rows"
        context_of("matmul", x).require_equal(sizes(x)[0], size_of(self.shape[1]), why)
        values = xp.asarray(self.data)
        terms = (values if x.ndim == 1 else values[:, None]) * xp.take(x, self.col, axis=0)
        return xp.zeros((self.shape[0], *x.shape[1:]), terms.dtype).at[self.row].add(terms)

    def __rmatmul__(self, other: Any) -> Any:
        """Return the product of a vector or a matrix and this one."""
        if not self.is_traced() and not is_traced(other):
            return other @ self.of_scipy().tocsr()
        return (self.T @ xp.asarray(other).T).T

    dot = __matmul__

    def __mul__(self, other: Any) -> SparseMatrix:
        """Return the matrix times a number."""
        if xp.asarray(other).ndim:
            raise ArgumentError("A * x", "x", "is not a number", "write A @ x for the product of matrices")
        return self.with_values(self.data * other)

    __rmul__ = __mul__

    def multiply(self, other: Any) -> Any:
        """Return the product of each value with the element at its position, of what the shape broadcasts."""
        if not self.is_traced() and not is_traced(other):
            return self.of_scipy().multiply(other.of_scipy() if isinstance(other, SparseMatrix) else other)
        x = other.toarray() if isinstance(other, SparseMatrix) else xp.asarray(other)
        if x.ndim > 2 or any(n not in (1, m) for n, m in zip(x.shape[::-1], self.shape[::-1], strict=False)):
            problem = f"has the shape {tuple(x.shape)}, and the matrix {self.shape}"
            raise ArgumentError("A.multiply(x)", "x", problem, "pass an array that broadcasts to the matrix")
        positions = zip(x.shape[::-1], (self.col, self.row), strict=False)
        at = tuple([0 if n == 1 else position for n, position in positions])[::-1]
        return self.with_values(self.data * x[at])

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum of all values; concrete matrices sum along an axis, too."""
        if not self.is_traced():
            return self.of_scipy().sum(axis)
        if axis is not None:
            raise ArgumentError("A.sum()", "axis", "is for concrete matrices", "write A @ np.ones(n) or np.ones(m) @ A")
        return xp.sum(self.data)

    def __truediv__(self, other: Any) -> SparseMatrix:
        return self * (1 / xp.asarray(other))

    def __neg__(self) -> SparseMatrix:
        return self.with_values(-self.data)

    def __add__(self, other: Any) -> Any:
        """Return the sum with a matrix; a sparse one adds its values."""
        if not isinstance(other, SparseMatrix):
            return self.toarray() + other
        data, row, col = (xp.concatenate([a, b]) for a, b in zip(self.parts(), other.parts(), strict=True))
        return SparseMatrix("coo", data, row, col, self.shape)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def parts(self) -> tuple[Any, Any, Any]:
        """Return values, rows and columns."""
        return self.data, self.row, self.col


register_class(
    SparseMatrix,
    lambda a: (a.parts(), (a.format, a.shape)),
    lambda settings, parts: SparseMatrix(settings[0], parts[0], parts[1], parts[2], settings[1]),
)


def _compressed(kind: str, arg, shape) -> SparseMatrix:
    """Return a matrix of (values, positions along rows or columns, bounds of these), or of what SciPy takes."""
    if isinstance(arg, SparseMatrix):
        return SparseMatrix(kind, *arg.parts(), arg.shape)
    if isinstance(arg, tuple) and len(arg) == 2 and isinstance(arg[1], (tuple, list)) and is_traced(*arg):
        data, (row, col) = arg
        return _of_triplets(kind, data, row, col, shape)
    if not (isinstance(arg, tuple) and len(arg) == 3 and is_traced(*arg)):
        return _concrete(kind, getattr(scipy_sparse, f"{kind}_array")(arg, shape=shape))
    data, minor, bounds = (xp.asarray(x) for x in arg)
    if shape is None:
        raise ArgumentError(f"{kind}_array", "shape", "is needed for traced arrays", "pass shape=(rows, columns)")
    major = xp.searchsorted(bounds[1:], xp.arange(data.shape[0]), "right")
    row, col = (major, minor) if kind == "csr" else (minor, major)
    return SparseMatrix(kind, data, row, col, shape)


def _of_triplets(kind: str, data, row, col, shape) -> SparseMatrix:
    """Return a matrix of values at rows and columns. At known positions they are in SciPy's order, and one at each."""
    if shape is None:
        raise ArgumentError(f"{kind}_array", "shape", "is needed for traced arrays", "pass shape=(rows, columns)")
    data = xp.asarray(data)
    if is_traced(row, col):
        return SparseMatrix(kind, data, xp.asarray(row), xp.asarray(col), shape)
    pair = np.stack([row, col] if kind == "csr" else [col, row])
    (major, minor), places = np.unique(pair, axis=1, return_inverse=True)
    data = xp.zeros(major.size, data.dtype).at[places.ravel()].add(data)
    row, col = (major, minor) if kind == "csr" else (minor, major)
    return SparseMatrix(kind, data, row, col, shape)


def _concrete(kind: str, matrix) -> SparseMatrix:
    if matrix.ndim != 2:
        raise ArgumentError(f"{kind}_array", "the argument", f"has {matrix.ndim} axes", "pass a matrix")
    triplets = matrix.tocoo()
    return SparseMatrix(kind, triplets.data, triplets.row, triplets.col, matrix.shape)


def csr_array(arg1: Any, shape: Any = None) -> SparseMatrix:
    """Return a sparse matrix of (data, indices, indptr), of (data, (rows, columns)), or of what SciPy takes for one.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import sparse
    >>> product = lambda data, x: np.sum(sparse.csr_array((data, [0, 2, 1], [0, 2, 3]), shape=(2, 3)) @ x)
    >>> print(grad(product)(np.ones(3), np.array([1.0, 2.0, 3.0])))
    [1. 3. 2.]
    """
    return _compressed("csr", arg1, shape)


def csc_array(arg1: Any, shape: Any = None) -> SparseMatrix:
    """Return a sparse matrix of (data, indices, indptr) by columns; see `csr_array`.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> from anyshape.scipy import sparse
    >>> product = jit(lambda data, x: sparse.csc_array((data, [0, 0, 1], [0, 1, 3]), shape=(2, 2)) @ x)
    >>> print(product(np.array([1.0, 2.0, 3.0]), np.ones(2)))
    [3. 3.]
    """
    return _compressed("csc", arg1, shape)


def coo_array(arg1: Any, shape: Any = None) -> SparseMatrix:
    """Return a sparse matrix of (data, (rows, columns)); see `csr_array`.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import sparse
    >>> product = lambda data, x: np.sum(sparse.coo_array((data, ([0, 1, 1], [1, 0, 1])), shape=(2, 2)) @ x)
    >>> print(grad(product)(np.ones(3), np.array([1.0, 2.0])))
    [2. 1. 2.]
    """
    if isinstance(arg1, SparseMatrix):
        return SparseMatrix("coo", *arg1.parts(), arg1.shape)
    if not (isinstance(arg1, tuple) and len(arg1) == 2 and is_traced(arg1[0], *np.atleast_1d(arg1[1]))):
        return _concrete("coo", scipy_sparse.coo_array(arg1, shape=shape))
    data, (row, col) = arg1
    if shape is None:
        raise ArgumentError("coo_array", "shape", "is needed for traced arrays", "pass shape=(rows, columns)")
    return SparseMatrix("coo", xp.asarray(data), xp.asarray(row), xp.asarray(col), shape)


def issparse(x: Any) -> bool:
    """Return whether x is a sparse array: a traced array is none.

    >>> import numpy as np
    >>> from anyshape.scipy import sparse
    >>> sparse.issparse(sparse.csr_array(np.eye(2))), sparse.issparse(np.eye(2))
    (True, False)
    """
    return isinstance(x, SparseMatrix) or bool(scipy_sparse.issparse(x))


def isspmatrix(x: Any) -> bool:
    """Return whether x is a sparse matrix of SciPy's old interface.

    >>> import numpy as np
    >>> from anyshape.scipy import sparse
    >>> sparse.isspmatrix(np.eye(2))
    False
    """
    return bool(scipy_sparse.isspmatrix(x))
