"""Further factorisations: QR with all columns or pivots, LDL, polar, QZ; leading axes are a batch.

Operands are floats or complex numbers of 32 bits or more. Kernels refuse what LAPACK does not solve.

Functions of square matrices, Sylvester's equation, and triangular forms; leading axes are a batch.

A function of matrices has one derivative in each direction, Fréchet's. Operands are floats or complex numbers of
32 bits or more. A function of real matrices is real: kernels refuse a matrix whose logarithm or root is not.

Triangular factors with a derivative, and solutions with banded matrices; leading axes are a batch.

A banded matrix stands as one row for each diagonal: element (i, j) is at [upper + i - j, j], as in LAPACK.
"""

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import linalg as la
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all
from anyshape.ops.core.definition import PROBE_ONES, PROBED_AT_ONES, define, itself, refuse
from anyshape.ops.core.flop_counts import Applied, OpCost, elements
from anyshape.ops.linalg import PIVOT, cubes, require_alike, require_matrices, require_sides, require_squares

INDEX = np.dtype(np.int64)
COLUMN = np.dtype(np.int32)  # of the pivots of LAPACK's geqp3
REGIONS = ("lhp", "rhp", "iuc", "ouc")  # half planes, and the inside and outside of the unit circle


def _complete_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    rows, _ = require_matrices(ctx, a)
    return TensorMeta(a.dtype, (*a.extents[:-1], Exact(rows))), a


def _raw_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    count = expr.minimum(*require_matrices(ctx, a))
    return a, TensorMeta(a.dtype, (*a.extents[:-2], Exact(count)))


def _order_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    _, columns = require_matrices(ctx, a)
    return TensorMeta(COLUMN, (*a.extents[:-2], Exact(columns)))


def _matrix_type(ctx: ShapeGuardContext, a: TensorMeta) -> TensorMeta:
    require_matrices(ctx, a)
    return a


def _ldl_type(ctx: ShapeGuardContext, a: TensorMeta, *, lower: bool, hermitian: bool) -> tuple[TensorMeta, ...]:
    require_squares(ctx, a)
    return a, a, TensorMeta(INDEX, a.extents[:-1])


def _balance_type(ctx: ShapeGuardContext, a: TensorMeta, *, permute: bool, scale: bool) -> tuple[TensorMeta, ...]:
    require_squares(ctx, a)
    return TensorMeta(np.dtype(np.float64), a.extents[:-1]), TensorMeta(INDEX, a.extents[:-1])


def _qz_type(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, *, output: str) -> tuple[TensorMeta, ...]:
    require_squares(ctx, a)
    require_squares(ctx, b)
    require_sides(ctx, a, b)
    return (TensorMeta(np.dtype(a.dtype.char.upper()) if output == "complex" else a.dtype, a.extents),) * 4


def _ordqz_type(
    ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, *, output: str, region: str
) -> tuple[TensorMeta, ...]:
    aa, bb, q, z = _qz_type(ctx, a, b, output=output)
    values = a.extents[:-1]
    return aa, bb, TensorMeta(np.dtype(a.dtype.char.upper()), values), TensorMeta(aa.dtype, values), q, z


def _require_blocks(ctx: ShapeGuardContext, *blocks: TensorMeta) -> tuple[Size, Size, Size, Size]:
    """Require blocks of a square matrix, and return their two numbers of rows, then of columns."""
    pairs = [require_matrices(ctx, x) for x in blocks]
    (p, q), (p_right, q_right), (p_below, q_below), (p_last, q_last) = pairs
    for x in blocks[1:]:
        require_alike(ctx, blocks[0], x, range(x.rank - 2))
    for left, right in ((p, p_right), (q, q_below), (p_below, p_last), (q_right, q_last)):
        ctx.require_equal(left, right, f"blocks beside each other have sizes {left} and {right}")
    rows, columns = expr.add(p, p_below), expr.add(q, q_right)
    ctx.require_equal(rows, columns, f"the matrix of the blocks must be square, and is {rows} by {columns}")
    for size in (p, q, p_below, q_right):
        ctx.require_at_least(size, 1, "blocks must not be empty")
    return p, p_below, q, q_right


def _cossin_type(
    ctx: ShapeGuardContext, x11: TensorMeta, x12: TensorMeta, x21: TensorMeta, x22: TensorMeta, *, swap_sign: bool
) -> tuple[TensorMeta, ...]:
    blocks = x11, x12, x21, x22
    p, below, _, _ = _require_blocks(ctx, *blocks)
    side = Exact(expr.add(p, below))
    matrix = TensorMeta(x11.dtype, (*x11.extents[:-2], side, side))
    return matrix, TensorMeta(np.dtype(x11.dtype.char.lower()), matrix.extents), matrix


def _angles_type(
    ctx: ShapeGuardContext, x11: TensorMeta, x12: TensorMeta, x21: TensorMeta, x22: TensorMeta
) -> TensorMeta:
    blocks = x11, x12, x21, x22
    p, below, q, right = _require_blocks(ctx, *blocks)
    count = expr.minimum(expr.minimum(p, below), expr.minimum(q, right))
    return TensorMeta(np.dtype(blocks[0].dtype.char.lower()), (*blocks[0].extents[:-2], Exact(count)))


def _whole(a: Applied) -> Size:
    """Count reflections of each column in all rows, and their products."""
    *_, rows, columns = a.inputs[0]
    return expr.mul(4, expr.mul(elements(a.inputs[0]), expr.maximum(rows, columns)))


def _reflections(a: Applied) -> Size:
    *_, rows, columns = a.inputs[0]
    return expr.mul(2, expr.mul(elements(a.inputs[0]), expr.minimum(rows, columns)))


_FORM = kinds.one_of("real", "complex")

qr_complete_op: Op = define("qr_complete", _complete_type, params={}, cost=OpCost(_whole), **PROBED_AT_ONES)
qr_raw_op: Op = define("qr_raw", _raw_type, params={}, cost=OpCost(_reflections), **PROBED_AT_ONES)
qr_order_op: Op = define("qr_order", _order_type, params={}, cost=OpCost(_reflections), **PROBED_AT_ONES)
polar_op: Op = define("polar", _matrix_type, params={}, cost=OpCost(_whole), **PROBED_AT_ONES)
ldl_op: Op = define(
    "ldl", _ldl_type, params={"lower": kinds.flag, "hermitian": kinds.flag}, cost=cubes(1), **PROBED_AT_ONES
)
balance_op: Op = define(
    "balance", _balance_type, params={"permute": kinds.flag, "scale": kinds.flag}, cost=cubes(1), **PROBED_AT_ONES
)
qz_op: Op = define("qz", _qz_type, params={"output": _FORM}, cost=cubes(66), **PROBED_AT_ONES)
ordqz_op: Op = define(
    "ordqz", _ordqz_type, params={"output": _FORM, "region": kinds.one_of(*REGIONS)}, cost=cubes(66), **PROBED_AT_ONES
)
cossin_op: Op = define(
    "cossin",
    _cossin_type,
    params={"swap_sign": kinds.flag},
    cost=OpCost(lambda a: expr.mul(20, expr.mul(elements(a.outputs[0]), a.inputs[0][-2]))),
    **PROBED_AT_ONES | {"probe": None},
)
cossin_angles_op: Op = define(
    "cossin_angles", _angles_type, params={}, cost=OpCost(_reflections), **PROBED_AT_ONES | {"probe": None}
)
refuse(itself, polar_op, qz_op, ordqz_op, cossin_op, cossin_angles_op)


def qr_complete(a: Operand) -> tuple[Any, ...]:
    """Return square unitary q, and r of the shape of a, with q r = a."""
    return apply_all(qr_complete_op, a)


def qr_raw(a: Operand) -> tuple[Any, ...]:
    """Return r with the reflections of its columns below the diagonal, and the factor of each, as LAPACK's geqrf."""
    return apply_all(qr_raw_op, a)


def qr_order(a: Operand) -> Any:
    """Return the order of columns that pivoting chooses: the diagonal of r then decreases in absolute value."""
    return apply(qr_order_op, a)


def polar(a: Operand) -> Any:
    """Return the nearest matrices with orthonormal columns, or rows where these are fewer."""
    return apply(polar_op, a)


def ldl(a: Operand, *, lower: bool, hermitian: bool) -> tuple[Any, ...]:
    """Return l, block diagonal d and an order of rows of l that makes it triangular, with l d l^H = a."""
    return apply_all(ldl_op, a, lower=lower, hermitian=hermitian)


def balance(a: Operand, *, permute: bool, scale: bool) -> tuple[Any, ...]:
    """Return the scales and the order that bring rows and columns of equal index to close norms."""
    return apply_all(balance_op, a, permute=permute, scale=scale)


def qz(a: Operand, b: Operand, output: str) -> tuple[Any, ...]:
    """Return triangular aa and bb and unitary q and z with q aa z^H = a and q bb z^H = b."""
    return apply_all(qz_op, a, b, output=output)


def ordqz(a: Operand, b: Operand, output: str, region: str) -> tuple[Any, ...]:
    """Return what `qz` does with eigenvalues of a region first, and numerators and denominators of all of them."""
    return apply_all(ordqz_op, a, b, output=output, region=region)


def cossin(x11: Operand, x12: Operand, x21: Operand, x22: Operand, *, swap_sign: bool) -> tuple[Any, ...]:
    """Return block diagonal u and vh and the cosines and sines between them, for a unitary matrix in four blocks."""
    return apply_all(cossin_op, x11, x12, x21, x22, swap_sign=swap_sign)


def cossin_angles(x11: Operand, x12: Operand, x21: Operand, x22: Operand) -> Any:
    """Return the angles of a unitary matrix in four blocks."""
    return apply(cossin_angles_op, x11, x12, x21, x22)


FUNCTIONS = ("exp", "log", "sqrt")


def _function_type(ctx: ShapeGuardContext, a: TensorMeta, *, function: str) -> TensorMeta:
    require_squares(ctx, a)
    return a


def _derivative_type(ctx: ShapeGuardContext, a: TensorMeta, *directions: TensorMeta, function: str) -> TensorMeta:
    require_squares(ctx, a)
    for e in directions:
        require_alike(ctx, a, e, range(a.rank))
    return a


def _sylvester_type(ctx: ShapeGuardContext, a: TensorMeta, b: TensorMeta, q: TensorMeta) -> TensorMeta:
    for x in (a, b):
        require_squares(ctx, x)
        require_alike(ctx, q, x, [*range(q.rank - 2), q.rank - (2 if x is a else 1)])
    return q


def _schur_type(ctx: ShapeGuardContext, a: TensorMeta, *, output: str) -> tuple[TensorMeta, TensorMeta]:
    require_squares(ctx, a)
    dtype = np.dtype(a.dtype.char.upper()) if output == "complex" else a.dtype
    return TensorMeta(dtype, a.extents), TensorMeta(dtype, a.extents)


def _hessenberg_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    require_squares(ctx, a)
    return a, a


def _of_directions(a: Applied) -> Size:
    """Count the function of matrices that have blocks: each direction doubles their sides."""
    return expr.mul(25 * 8 ** (len(a.inputs) - 1), expr.mul(elements(a.inputs[0]), a.inputs[0][-1]))


def _bartels_stewart(a: Applied) -> Size:
    """Count two Schur decompositions and products with their vectors."""
    sides = [expr.mul(25, expr.mul(elements(x), x[-1])) for x in a.inputs[:2]]
    products = expr.mul(elements(a.inputs[2]), expr.add(a.inputs[0][-1], a.inputs[1][-1]))
    return expr.add(expr.add(*sides), expr.mul(5, products))


_FUNCTION = kinds.one_of(*FUNCTIONS)
MOST_DIRECTIONS = 16

matrix_function_op: Op = define(
    "matrix_function", _function_type, params={"function": _FUNCTION}, cost=cubes(25), **PROBED_AT_ONES
)
matrix_function_derivative_op: Op = define(
    "matrix_function_derivative",
    _derivative_type,
    operands=(2, MOST_DIRECTIONS),
    params={"function": _FUNCTION},
    cost=OpCost(_of_directions),
    **PROBED_AT_ONES,
)
sylvester_op: Op = define("sylvester", _sylvester_type, params={}, cost=OpCost(_bartels_stewart), **PROBED_AT_ONES)
schur_op: Op = define(
    "schur",
    _schur_type,
    params={"output": kinds.one_of("real", "complex")},
    cost=cubes(25),
    **PROBED_AT_ONES,
)
hessenberg_op: Op = define("hessenberg", _hessenberg_type, params={}, cost=cubes(5), **PROBED_AT_ONES)
refuse(itself, matrix_function_op, matrix_function_derivative_op, sylvester_op, schur_op)


def matrix_function(a: Operand, function: str) -> Any:
    """Return the exponential, the principal logarithm or the principal root ("exp", "log", "sqrt") of matrices."""
    return apply(matrix_function_op, a, function=function)


def matrix_function_derivative(a: Operand, *directions: Operand, function: str) -> Any:
    """Return Fréchet's derivative of `matrix_function` at a: linear in each direction, in any order of them."""
    return apply(matrix_function_derivative_op, a, *directions, function=function)


def sylvester(a: Operand, b: Operand, q: Operand) -> Any:
    """Return x with a x + x b = q for square a and b."""
    return apply(sylvester_op, a, b, q)


def schur(a: Operand, output: str) -> tuple[Any, ...]:
    """Return triangular t and unitary z with z t z^H = a; real ones, for "real", may have blocks of 2 by 2 in t."""
    return apply_all(schur_op, a, output=output)


def hessenberg(a: Operand) -> tuple[Any, ...]:
    """Return h with zeros below its first subdiagonal, and unitary q, with q h q^H = a."""
    return apply_all(hessenberg_op, a)


def _lu_type(ctx: ShapeGuardContext, a: TensorMeta) -> tuple[TensorMeta, TensorMeta]:
    rows, _ = require_matrices(ctx, a)
    return a, TensorMeta(PIVOT, (*a.extents[:-2], Exact(rows)))


def _row_order_type(ctx: ShapeGuardContext, pivots: TensorMeta) -> TensorMeta:
    if pivots.dtype != PIVOT or not pivots.rank:
        raise ctx.fail("the pivots must be those that lu gives")
    return TensorMeta(INDEX, pivots.extents)


def _banded_type(
    ctx: ShapeGuardContext, ab: TensorMeta, b: TensorMeta, *, lower: int, upper: int, transposed: bool, positive: bool
) -> TensorMeta:
    diagonals, size = require_matrices(ctx, ab)
    require_alike(ctx, ab, b, range(ab.rank - 2))
    count, rows = lower + upper + 1, ctx.shape(b)[-2]
    ctx.require_equal(diagonals, count, f"the band has {diagonals} rows, and {count} diagonals")
    ctx.require_equal(size, rows, f"the right-hand sides have {rows} rows, not {size}")
    return b


def _banded_values_type(ctx: ShapeGuardContext, ab: TensorMeta, *, lower: bool, tridiagonal: bool) -> TensorMeta:
    require_matrices(ctx, ab)
    return TensorMeta(np.dtype(ab.dtype.char.lower()), (*ab.extents[:-2], ab.extents[-1]))


def _banded_eigh_type(ctx: ShapeGuardContext, ab: TensorMeta, **form: bool) -> tuple[TensorMeta, TensorMeta]:
    values, (*_, size) = _banded_values_type(ctx, ab, **form), ab.extents
    return values, TensorMeta(ab.dtype, (*values.extents, size))


def _banded_factor_type(ctx: ShapeGuardContext, ab: TensorMeta, *, lower: bool) -> TensorMeta:
    rows, _ = require_matrices(ctx, ab)
    ctx.require_at_least(rows, 1, "the band has no diagonal")
    return ab


def _elimination(a: Applied) -> Size:
    *_, rows, columns = a.inputs[0]
    return expr.mul(elements(a.inputs[0]), expr.minimum(rows, columns))


def _banded_elimination(a: Applied) -> Size:
    """Count for each column the products below its pivot, then the substitutions."""
    lower, width = a.params["lower"], 2 * a.params["lower"] + a.params["upper"] + 1
    factors = expr.mul(2 * lower, elements(a.inputs[0]))
    return expr.add(factors, expr.mul(2 * width, elements(a.outputs[0])))


_ANY_VALUES: dict[str, Any] = {"jointly": None, "claims": None}

lu_op: Op = define("lu", _lu_type, params={}, cost=OpCost(_elimination), probe=PROBE_ONES, **_ANY_VALUES)
row_order_op: Op = define(
    "row_order", _row_order_type, params={}, cost=OpCost(lambda a: elements(a.outputs[0])), probe=None, **_ANY_VALUES
)
banded_solve_op: Op = define(
    "banded_solve",
    _banded_type,
    params={"lower": kinds.count, "upper": kinds.count, "transposed": kinds.flag, "positive": kinds.flag},
    cost=OpCost(_banded_elimination),
    probe=None,
    **_ANY_VALUES,
)
banded_cholesky_op: Op = define(
    "banded_cholesky",
    _banded_factor_type,
    params={"lower": kinds.flag},
    cost=OpCost(lambda a: expr.mul(elements(a.inputs[0]), a.inputs[0][-2])),
    probe=None,
    **_ANY_VALUES,
)
toeplitz_solve_op: Op = define(
    "toeplitz_solve",
    lambda ctx, sides, b, **form: _banded_type(ctx, sides, b, lower=1, upper=0, positive=False, **form),
    params={"transposed": kinds.flag},
    cost=OpCost(lambda a: expr.mul(8, expr.mul(elements(a.inputs[1]), a.inputs[0][-1]))),
    probe=None,
    **_ANY_VALUES,
)
_SIDE: dict[str, Any] = {"params": {"lower": kinds.flag, "tridiagonal": kinds.flag}, "probe": None, **_ANY_VALUES}
banded_eigvalsh_op: Op = define(
    "banded_eigvalsh",
    _banded_values_type,
    cost=OpCost(lambda a: expr.mul(6, expr.mul(elements(a.inputs[0]), a.inputs[0][-1]))),
    **_SIDE,
)
banded_eigh_op: Op = define(
    "banded_eigh",
    _banded_eigh_type,
    cost=OpCost(lambda a: expr.mul(9, expr.mul(elements(a.outputs[1]), a.inputs[0][-1]))),
    **_SIDE,
)
DECOMPOSITIONS = (  # into values and vectors, which equal values leave open
    la.eig_op, la.eigvals_op, la.eigh_op, la.eigvalsh_op, la.svd_op, la.svdvals_op, banded_eigh_op, banded_eigvalsh_op,
)  # fmt: skip
refuse(itself, banded_eigvalsh_op, banded_eigh_op, row_order_op, banded_solve_op, banded_cholesky_op, toeplitz_solve_op)


def lu(a: Operand) -> tuple[Any, ...]:
    """Return the LU factors of matrices in one array, and for each row the one it was exchanged with, in turn."""
    return apply_all(lu_op, a)


def row_order(pivots: Operand) -> Any:
    """Return the order of rows that exchanges with these pivots lead to."""
    return apply(row_order_op, pivots)


def banded_solve(
    ab: Operand, b: Operand, *, lower: int, upper: int, transposed: bool = False, positive: bool = False
) -> Any:
    """Return x with a x = b for matrices a with so many diagonals below and above the main one, or with a^T.

    If `positive`, a is Hermitian, with diagonals on one side that stand for both. One that is not positive definite is
    NumPy's LinAlgError when the program runs.
    """
    return apply(banded_solve_op, ab, b, lower=lower, upper=upper, transposed=transposed, positive=positive)


def banded_cholesky(ab: Operand, *, lower: bool) -> Any:
    """Return the lower or upper Cholesky factors of Hermitian matrices by the diagonals of that side, as a band.

    A matrix that is not positive definite is NumPy's LinAlgError when the program runs.
    """
    return apply(banded_cholesky_op, ab, lower=lower)


def toeplitz_solve(sides: Operand, b: Operand, *, transposed: bool = False) -> Any:
    """Return x with a x = b for Toeplitz matrices a, or with a^T. `sides` has their first columns and first rows.

    All leading minors are regular, or NumPy's LinAlgError is raised when the program runs.
    """
    return apply(toeplitz_solve_op, sides, b, transposed=transposed)


def banded_eigvalsh(ab: Operand, *, lower: bool, tridiagonal: bool) -> Any:
    """Return what `banded_eigh` does without the eigenvectors."""
    return apply(banded_eigvalsh_op, ab, lower=lower, tridiagonal=tridiagonal)


def banded_eigh(ab: Operand, *, lower: bool, tridiagonal: bool) -> tuple[Any, ...]:
    """Return the eigenvalues in ascending order, and eigenvectors, of Hermitian matrices by the diagonals of one side.

    `tridiagonal` chooses the solver for real matrices of two diagonals, which are the ones of the lower side.
    """
    return apply_all(banded_eigh_op, ab, lower=lower, tridiagonal=tridiagonal)
