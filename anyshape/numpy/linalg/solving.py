"""Define the functions of numpy.linalg that factor and solve.

Define products of several matrices, and powers of one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg._linalg import SlogdetResult

from anyshape.errors import ArgumentError, MatrixSizeError, ShapeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.shapes.array_type import broadcast_sizes, numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.contraction import dot, matmul
from anyshape.numpy.operands.memory import writes_out
from anyshape.numpy.operands.promotion import as_traced, asarray, sizes, static_int
from anyshape.numpy.operands.reduction_args import identity_like, in_common_dtype
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops.contraction import einsum, equation_of
from anyshape.ops.core.apply import context_of, meta_of
from anyshape.ops.core.contraction_order import choose_path
from anyshape.ops.movement import broadcast_to


def in_one_dtype(name: str, *xs: Any) -> list[Any]:
    """Return operands in the one dtype that numpy.linalg computes in: integers and booleans count as float64."""
    traced = [as_traced(asarray(x)) for x in xs]
    dtypes = [x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64) for x in traced]
    for x, dtype in zip(traced, dtypes, strict=True):
        if dtype.char not in la.LAPACK:
            problem = f"array type {x.dtype} is unsupported in linalg"
            raise context_of(name, x).bad_dtype(problem, "convert it with astype(float)")
    dtype = np.result_type(*dtypes)
    return [x if x.dtype == dtype else ew.convert(x, dtype) for x in traced]


def as_matrices(name: str, a: Any) -> Any:
    """Return matrices in the dtype of numpy.linalg. As in NumPy, axes are checked before the dtype."""
    x = as_traced(asarray(a))
    require_two_axes(name, x.meta.rank)
    return in_one_dtype(name, x)[0]


def require_two_axes(name: str, rank: int) -> None:
    """Require an operand of two axes or more, as NumPy does with LinAlgError."""
    if rank < 2:
        problem = f"{rank}-dimensional array given. Array must be at least two-dimensional"
        advice = "pass an array of two axes or more"
        raise MatrixSizeError(name, "", {}, problem, user_line(), demand=problem, advice=advice)


def as_squares(name: str, a: Any) -> Any:
    """Return square matrices in the dtype of numpy.linalg. As in NumPy, axes are checked before the dtype."""
    x = as_traced(asarray(a))
    require_two_axes(name, x.meta.rank)
    rows, columns = sizes(x)[-2:]
    context_of(name, x).require_equal(rows, columns, f"matrices must be square, and these are {rows} by {columns}")
    return in_one_dtype(name, x)[0]


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """Return the Cholesky factor L of Hermitian positive definite matrices L L^H, or its conjugate transpose `upper`.

    The matrices are in the last two axes, and only their lower triangles are read (their upper ones for `upper`).
    The result has their shape and dtype; integers count as float64. Tangents count as their Hermitian part, as in JAX.
    A matrix that is not positive definite is NumPy's LinAlgError when the program runs.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> print(grad(lambda a: np.linalg.cholesky(a)[1, 1])(np.array([[4.0, 2.0], [2.0, 5.0]])))
    [[ 0.0625 -0.125 ]
     [-0.125   0.25  ]]
    """
    x = as_squares("cholesky", a)
    return la.cholesky(x) if not upper else _adjoint(la.cholesky(_adjoint(x)))


def from_triangle(a: Any, lower: bool, *, conjugate: bool = True) -> Any:
    """Return the Hermitian, or else symmetric, matrices that one triangle stands for.

    Tangents count as their Hermitian or symmetric part.
    """
    return la.mirror(a, lower=bool(lower), conjugate=conjugate and a.dtype.kind == "c")


def _swapped(x):
    rank = x.meta.rank
    return mv.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def _adjoint(x):
    """Return the conjugate transposes of matrices."""
    return ew.conj(_swapped(x))


def inv(a: Any) -> Any:
    """Return the inverses of the square matrices in the last two axes.

    Integers count as float64. A singular matrix is NumPy's LinAlgError when the program runs.
    """
    return la.inv(as_squares("inv", a))


def det(a: Any) -> Any:
    """Return the determinants of the square matrices in the last two axes; integers count as float64.

    The first derivative is exact for singular matrices too. A second one inverts the matrix.
    """
    return la.det(as_squares("det", a))


def slogdet(a: Any) -> Any:
    """Return the pair (sign, logabsdet) of the determinants of the square matrices in the last two axes.

    Integers count as float64. The derivative solves with the matrix, so it needs a regular one.
    """
    return SlogdetResult(*la.slogdet(as_squares("slogdet", a)))


def solve(a: Any, b: Any) -> Any:
    """Return x with a x = b for the square matrices in the last two axes of `a`.

    `b` is a vector if it has one axis, else it holds matrices in its last two; leading axes broadcast.
    Integers count as float64. A singular matrix is NumPy's LinAlgError when the program runs.
    """
    matrix, right = in_one_dtype("solve", as_squares("solve", a), b)
    if not right.meta.rank:
        raise context_of("solve", matrix, right).fail("the right-hand side is a scalar", "pass a vector or a matrix")
    if right.meta.rank == 1:
        column = _solution(matrix, mv.expand(right, (1,)))
        return mv.drop(column, (column.meta.rank - 1,))
    return _solution(matrix, right)


def _solution(a, b):
    """Return the solutions of one system by factors that its derivatives use again, or of a stack of systems."""
    ctx = context_of("solve", a, b)
    rows = sizes(a)[-1]
    ctx.require_equal(rows, sizes(b)[-2], f"{rows} equations have {sizes(b)[-2]} right-hand sides")
    batch = broadcast_sizes(ctx, [sizes(a)[:-2], sizes(b)[:-2]])
    right = _stretched(b, batch)
    if a.meta.rank == 2 and not batch:
        return la.lu_solve(a, *la.lu_factor(a), right)
    return la.solve(_stretched(a, batch), right)


def _stretched(x, batch: Sequence[Size]):
    """Return a stack of matrices with these leading axes."""
    return mv.broadcast_to(x, (*batch, *sizes(x)[-2:]))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """Return the tensor x with tensordot(a, x, x.ndim) = b, after moving `axes` of `a` to its end.

    `a` has as many elements as the square of the number of elements of x.
    """
    x, right = as_traced(a), as_traced(b)
    rank = x.meta.rank
    if axes is not None:
        x = mv.transpose(x, [*[i for i in range(rank) if i not in axes], *axes])
    shape = sizes(x)[-(rank - right.meta.rank) :]  # all of it for operands of one rank, as in NumPy
    count = numel(shape)
    ctx = context_of("tensorsolve", x, right)
    size, square = numel(sizes(x)), expr.mul(count, count)
    ctx.require_equal(size, square, f"{size} elements are not a square matrix for the {count} elements of the solution")
    flat = solve(mv.reshape(x, (count, count)), mv.reshape(right, (numel(sizes(right)),)))
    return mv.reshape(flat, shape)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Return the inverse of `a` under tensordot over its first `ind` axes.

    The sizes of these axes and of the others have equal products.
    """
    x, count = as_traced(a), static_int(ind, "tensorinv", "ind")
    if count <= 0:
        raise ArgumentError("tensorinv", f"ind={ind}", "is not a number of axes", "pass an int of at least 1")
    if not x.meta.rank:
        raise ArgumentError("tensorinv", "a", "is a scalar", "pass an array with axes")
    first, last = sizes(x)[:count], sizes(x)[count:]
    return mv.reshape(inv(mv.reshape(x, (numel(last), -1))), (*last, *first))


@writes_out
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Return the matrix product of several arrays; the first and the last may be vectors.

    The sizes of a call choose the contraction path, as for einsum. With traced operands `out` must be
    traced too.
    """
    xs = _matrix_chain(arrays)
    labels = [(i, i + 1) if x.ndim == 2 else (max(i, 1),) for i, x in enumerate(xs)]
    size_by_label = {
        a: size for x, names in zip(xs, labels, strict=True) for a, size in zip(names, sizes(x), strict=True)
    }
    ends = [a for a in (0, len(xs)) if a in size_by_label]
    choice = choose_path(context_of("multi_dot", *xs), labels, ends, size_by_label, adjacent_only=True)
    equation = "" if choice.settled or xs[0].dtype.kind == "b" else equation_of(labels, ends)
    if equation:
        return einsum(xs, equation)
    for i, j in choice.path:
        y, x = xs.pop(j), xs.pop(i)
        xs.insert(i, dot(x, y))
    return xs[0]


def _matrix_chain(arrays: Sequence[Any]) -> list[Any]:
    """Return the operands of `multi_dot` in one dtype: matrices, or vectors at its ends."""
    if len(arrays) < 2:
        raise ArgumentError("multi_dot", "arrays", "has fewer than two arrays", "pass two or more")
    xs = in_common_dtype("multi_dot", *arrays)
    if any(x.ndim != 2 for x in xs[1:-1]) or any(x.ndim not in (1, 2) for x in (xs[0], xs[-1])):
        metas = [meta_of(x) for x in xs]
        raise ShapeError("multi_dot", "only the first and the last may be vectors", metas, user_line())
    return xs


def matrix_power(a: Any, n: Any) -> Any:
    """Return square matrices to the power n, an int that is known while tracing; a negative one inverts them."""
    x, power = asarray(a), static_int(n, "matrix_power", "the power")
    require_two_axes("matrix_power", x.ndim)
    if power < 0:
        x, power = inv(x), -power
    shape = sizes(x)
    ctx = context_of("matrix_power", x)
    ctx.require_equal(shape[-2], shape[-1], f"matrices must be square, and these are {shape[-2]} by {shape[-1]}")
    if power == 0:
        return broadcast_to(identity_like(x), shape)
    result = None
    while power:
        if power % 2:
            result = x if result is None else matmul(result, x)
        power //= 2
        x = matmul(x, x) if power else x
    return result


serve(__name__)
