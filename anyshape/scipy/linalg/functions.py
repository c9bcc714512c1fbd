"""Define functions of matrices of `scipy.linalg`, the equations that go with them, and solvers for bands.

Functions of real matrices are real. Where the logarithm or the square root is not, LinAlgError is raised when the
program runs. SciPy would give complex numbers there: convert the matrix with `astype(complex)`.

Solutions of algebraic Riccati equations are SciPy's. The derivative of one solves a Lyapunov equation of the closed
loop, so there are derivatives of any order.
"""

from collections.abc import Callable
from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError, DTypeError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.linalg.solving import as_matrices, as_squares, in_one_dtype
from anyshape.numpy.operands.promotion import as_traced, choice_of, sizes, static_int
from anyshape.ops import factorisations as ls
from anyshape.ops import factorisations as mf
from anyshape.ops import linalg as la
from anyshape.ops import windows as wd
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.factoring import in_double, pair_of, refuse_option
from anyshape.scipy.linalg.structured import from_bands
from anyshape.scipy.operands.served import signed_as_in
from anyshape.support.packages import scipy_linalg
from anyshape.support.true_types import has_type
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.custom.custom_rules import custom_jvp

Function = Callable[..., Any]


def expm(A: Any) -> Any:
    """Return the exponentials of the square matrices in the last two axes; integers count as float64."""
    return mf.matrix_function(as_squares("expm", A), "exp")


def sqrtm(A: Any, **options: Any) -> Any:
    """Return the principal square roots of the square matrices in the last two axes.

    The derivative needs matrices without the eigenvalue 0.
    """
    return mf.matrix_function(as_squares("sqrtm", A), "sqrt")


def _some(name: str, A):
    """Return square matrices with an element, as SciPy demands."""
    a = as_squares(name, A)
    context_of(name, a).require(at_least(sizes(a)[-1], 1), "a matrix has an element")
    return a


def logm(A: Any, **options: Any) -> Any:
    """Return the principal logarithms of the square matrices in the last two axes, in double precision."""
    return mf.matrix_function(in_double(_some("logm", A)), "log")


def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: bool = True, check_finite: bool = True) -> Any:
    """Return the exponential of A and its derivative in the direction E, or the derivative alone.

    Both arguments may be differentiated. Another `method` has no effect on traced arrays.
    """
    a, e = in_one_dtype("expm_frechet", *(in_double(as_squares("expm_frechet", x)) for x in (A, E)))
    derivative = mf.matrix_function_derivative(a, e, function="exp")
    return (mf.matrix_function(a, "exp"), derivative) if compute_expm else derivative


def fractional_matrix_power(A: Any, t: Any) -> Any:
    """Return the power t of regular square matrices: the exponential of t times the principal logarithm."""
    logarithm = mf.matrix_function(in_double(_some("fractional_matrix_power", A)), "log")
    return expm(t * xp.asarray(logarithm))


def signm(A: Any, **options: Any) -> Any:
    """Return the matrix sign function, A times the inverse root of A A, for matrices without imaginary eigenvalues."""
    a = _some("signm", A)
    return xp.linalg.solve(mf.matrix_function(a @ a, "sqrt"), a)


def funm(A: Any, func: Any, disp: bool = True) -> Any:
    """Return a function of square matrices, given as one of their eigenvalues, which must be distinct.

    Results of traced arrays are complex, also where SciPy finds all of them real. `func` gets the eigenvalues as one
    array.
    """
    values, vectors = xp.linalg.eig(as_squares("funm", A))
    scaled = xp.matrix_transpose(vectors * func(values)[..., None, :])
    return xp.matrix_transpose(xp.linalg.solve(xp.matrix_transpose(vectors), scaled))


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """Return x with a x + x b = q; no eigenvalue of a may be minus one of b. Leading axes are a batch."""
    left, right = as_squares("solve_sylvester", a), as_squares("solve_sylvester", b)
    left, right, q = in_one_dtype("solve_sylvester", left, right, q)
    batch = xp.broadcast_shapes(*(x.shape[:-2] for x in (left, right, q)))
    return mf.sylvester(*(xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (left, right, q)))


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """Return x with a x + x a^H = q."""
    return solve_sylvester(a, xp.conj(xp.matrix_transpose(a)), q)


solve_lyapunov = solve_continuous_lyapunov


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """Return x with a x a^H - x + q = 0, by the bilinear transformation; -1 may not be an eigenvalue of a."""
    matrix = in_double(as_squares("solve_discrete_lyapunov", a))
    matrix, right = in_one_dtype("solve_discrete_lyapunov", matrix, q)
    one = xp.eye(matrix.shape[-1], dtype=matrix.dtype)
    adjoint = xp.conj(xp.matrix_transpose(matrix))
    inverse = xp.linalg.inv(adjoint + one)
    turned = (adjoint - one) @ inverse
    scaled = 2 * (xp.linalg.solve(matrix + one, right) @ inverse)
    return solve_continuous_lyapunov(xp.conj(xp.matrix_transpose(turned)), -scaled)


def _adjoint(x):
    return xp.conj(xp.matrix_transpose(x))


def _continuous_slopes(x, primals, tangents) -> tuple[Any, Any]:
    """Return the closed loop, and the tangent of the equation at a fixed solution: a^H x + x a - x b r^-1 b^H x + q."""
    (a, b, _, r), (da, db, dq, dr) = primals, tangents
    gain = xp.linalg.solve(r, _adjoint(b) @ x)
    half = _adjoint(da) @ x - _adjoint(gain) @ (_adjoint(db) @ x)
    return a - b @ gain, half + _adjoint(half) + _adjoint(gain) @ dr @ gain + dq


def _discrete_slopes(x, primals, tangents) -> tuple[Any, Any]:
    """Return the same of a^H x a - x - (a^H x b) (r + b^H x b)^-1 (b^H x a) + q."""
    (a, b, _, r), (da, db, dq, dr) = primals, tangents
    gain = xp.linalg.solve(r + _adjoint(b) @ x @ b, _adjoint(b) @ x @ a)
    loop = a - b @ gain
    half = _adjoint(da - db @ gain) @ x @ loop
    return loop, half + _adjoint(half) + _adjoint(gain) @ dr @ gain + dq


def _riccati(name: str, slopes: Function, solve_for_tangent: Function) -> Function:
    """Return SciPy's solver of an equation, called when the program runs, with the derivative of the equation."""

    @custom_jvp
    def solve(a, b, q, r):
        spec = ShapeDtypeStruct(a.shape, a.dtype)
        solver = lambda *xs: getattr(scipy_linalg, name)(*xs).astype(xs[0].dtype, copy=False)
        return pure_callback(solver, spec, a, b, q, r)

    @solve.defjvp
    def rule(primals, tangents) -> tuple[Any, Any]:
        x = solve(*primals)
        loop, right = slopes(x, primals, tangents)
        return x, solve_for_tangent(_adjoint(loop), right)

    return solve


_SOLVERS = {
    "solve_continuous_are": _riccati(
        "solve_continuous_are", _continuous_slopes, lambda a, q: solve_continuous_lyapunov(a, -q)
    ),
    "solve_discrete_are": _riccati("solve_discrete_are", _discrete_slopes, solve_discrete_lyapunov),
}


def _solved(name: str, operands, further):
    """Solve an equation; SciPy's e and s are not taken for traced matrices."""
    for option, value in zip("es", further, strict=True):
        if value is not None:
            raise refuse_option(name, option, "a matrix")
    matrices = [as_squares(name, x) for x in operands[::2]] + [xp.asarray(operands[1])]
    a, q, b = in_one_dtype(name, *map(in_double, matrices))
    r = as_squares(name, operands[3])
    a, b, q, r = in_one_dtype(name, a, b, q, r)
    if any(x.ndim != 2 for x in (a, b, q, r)):
        raise ArgumentError(name, "a stack of matrices", "is not taken", "map the function with vmap")
    return _SOLVERS[name](a, b, q, r)


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """Return the stabilising x with a^H x + x a - x b r^-1 b^H x + q = 0.

    The shapes are a and q (n, n), b (n, m) and r (m, m). q and r are Hermitian, and r is regular. A traced equation has
    no e and s. SciPy solves it when the program runs, and raises LinAlgError where there is no solution.
    """
    return _solved("solve_continuous_are", (a, b, q, r), (e, s))


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """Return the stabilising x with a^H x a - x - (a^H x b) (r + b^H x b)^-1 (b^H x a) + q = 0.

    See `solve_continuous_are` for the matrices.
    """
    return _solved("solve_discrete_are", (a, b, q, r), (e, s))


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: bool = False, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """Return x with a x = b for a banded matrix with (l, u) diagonals below and above the main one.

    Element (i, j) of a is at ab[u + i - j, j], so ab has the shape (..., l + u + 1, n); b has (n,) or (..., n, k).
    Elements of ab outside of a have derivative 0. A singular matrix is NumPy's LinAlgError when the program runs.
    """
    lower, upper = (static_int(count, "solve_banded", "l_and_u") for count in l_and_u)
    if min(lower, upper) < 0:
        raise ArgumentError("solve_banded", f"l_and_u={l_and_u}", "is negative", "give numbers of diagonals")
    return _solution("solve_banded", lower, upper, ab, b)


def _solution(name: str, lower: int, upper: int, ab, b, **form: bool):
    """Return x with a x = b for a banded matrix, or if `positive` for one side of a Hermitian one."""
    band, right = in_one_dtype(name, as_matrices(name, ab), b)
    is_vector = right.ndim == 1
    right = right[:, None] if is_vector else right
    batch = xp.broadcast_shapes(band.shape[:-2], right.shape[:-2])
    band, right = (xp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (band, right))
    x = ls.banded_solve(band, right, lower=lower, upper=upper, **form)
    return x[..., 0] if is_vector else x


@signed_as_in(scipy_linalg)
def solveh_banded(ab, b, overwrite_ab, overwrite_b, lower, check_finite) -> Any:
    """Return x with a x = b for the Hermitian positive definite banded matrix that has the side ab.

    The u + 1 rows of ab are the diagonals from the outermost to the main one, or the other way round if `lower`. Their
    number must be known when the function is traced. A matrix that is not positive definite is NumPy's LinAlgError when
    the program runs.
    """
    band = as_matrices("solveh_banded", ab)
    width = static_int(band.shape[-2], "solveh_banded", "the number of rows of ab") - 1
    return _solution("solveh_banded", width * lower, width * (not lower), band, b, positive=True)


def _column_and_row(c_or_cr) -> tuple[Any, Any]:
    """Return the first column and the first row of a Toeplitz matrix."""
    if isinstance(c_or_cr, tuple):
        c, r = (xp.ravel(xp.asarray(x)) for x in c_or_cr)
        return c, r
    c = xp.ravel(xp.asarray(c_or_cr))
    return c, xp.conj(c)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: bool = True) -> Any:
    """Return x with t x = b for the Toeplitz matrix of a first column c, or of a pair of column and row.

    A singular matrix, or a singular leading part of it, is NumPy's LinAlgError when the program runs.
    """
    sides, right = in_one_dtype("solve_toeplitz", in_double(xp.stack(_column_and_row(c_or_cr))), b)
    x = ls.toeplitz_solve(sides, right[:, None] if right.ndim == 1 else right)
    return x[:, 0] if right.ndim == 1 else x


def matmul_toeplitz(c_or_cr: Any, x: Any, check_finite: bool = False, workers: Any = None) -> Any:
    """Return the product of a Toeplitz matrix and x of shape (n,) or (n, k), by a convolution."""
    c, r = _column_and_row(c_or_cr)
    c, r, right = in_one_dtype("matmul_toeplitz", in_double(c), r, x)
    columns = right[:, None] if right.ndim == 1 else right
    diagonals, moving = as_traced(xp.concatenate([r[:0:-1], c])), as_traced(xp.flip(columns, 0).T)
    product = wd.convolution(diagonals, moving, wd.one_by_one((0,), (sizes(c)[0],))).T
    return product[:, 0] if right.ndim == 1 else product


def solve_circulant(c, b, singular: str = "raise", tol=None, caxis: int = -1, baxis: int = 0, outaxis: int = 0) -> Any:
    """Return x with a x = b for the circulant matrix of first column c (n,), and b of shape (n,) or (n, k).

    A singular matrix gives infinities or NaN. For traced arrays the other options keep their defaults.
    """
    for option, value, default in (
        ("singular", singular, "raise"),
        ("caxis", caxis, -1),
        ("baxis", baxis, 0),
        ("outaxis", outaxis, 0),
    ):
        if value != default:
            raise refuse_option("solve_circulant", option, value)
    column, right = in_one_dtype("solve_circulant", c, b)
    size = column.shape[0]
    points = xp.maximum(size, 1)  # of transforms
    scale = xp.fft.fft(column, points)
    x = xp.fft.fft(right, points, axis=0) / (scale if right.ndim == 1 else scale[:, None])
    x = xp.fft.ifft(x, axis=0)[:size]
    return x if right.dtype.kind == "c" else xp.real(x).astype(right.dtype)


def eigh_tridiagonal(d, e, eigvals_only: bool = False, select: str = "a", select_range=None, **options) -> Any:
    """Return the eigenvalues in ascending order, and eigenvectors, of a real symmetric tridiagonal matrix.

    d (n,) is its diagonal, e (n - 1,) the one beside it. `select` "i" takes the positions of `select_range`; "v" raises
    ArgumentError.
    """
    diagonal, beside = in_one_dtype("eigh_tridiagonal", d, e)
    if diagonal.dtype.kind == "c":
        raise DTypeError("eigh_tridiagonal", "d or e is complex", "pass real numbers, or use eig_banded", user_line())
    counts = sizes(diagonal)[0], expr.add(sizes(beside)[0], 1)
    context_of("eigh_tridiagonal", diagonal, beside).require_equal(*counts, "d has one more element than e")
    band = xp.stack([diagonal, xp.append(beside, xp.zeros(1, beside.dtype))])
    chosen = _chosen("eigh_tridiagonal", select, select_range)
    return _eigenpairs(band, True, eigvals_only, chosen, tridiagonal=True)


def _whole(band, lower: bool):
    """Return the matrices whose one side is banded, with zeros on the other side."""
    before = 0 if lower else band.shape[-2] - 1
    return xp.matrix_transpose(from_bands(xp.matrix_transpose(band), before))


def _mirrored(half):
    """Return Hermitian matrices of one side and the diagonal, whose imaginary part is not read."""
    i = xp.arange(half.shape[-1])
    return xp.where(i[:, None] == i, xp.real(half).astype(half.dtype), half + xp.conj(xp.matrix_transpose(half)))


def cholesky_banded(ab: Any, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True) -> Any:
    """Return the upper Cholesky factor of a Hermitian positive definite banded matrix, or the `lower` one, as a band.

    The band has the shape (..., u + 1, n) of ab. A matrix that is not positive definite is NumPy's LinAlgError when the
    program runs. Derivatives take whole matrices, except for a real band of up to 9 rows, if their number is known
    when the function is traced.
    """
    return ls.banded_cholesky(as_traced(as_matrices("cholesky_banded", ab)), lower=bool(lower))


def cho_solve_banded(cb_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Return x with a x = b by the band that `cholesky_banded` gave; b has the shape (n,) or (..., n, k).

    The number of rows of the band must be known when the function is traced.
    """
    band, lower = pair_of("cho_solve_banded", cb_and_lower)
    band = as_matrices("cho_solve_banded", band)
    width = static_int(band.shape[-2], "cho_solve_banded", "the number of rows of the band") - 1
    for is_adjoint in (not lower, lower):
        factor = xp.conj(band) if is_adjoint else band
        b = _solution("cho_solve_banded", width * lower, width * (not lower), factor, b, transposed=is_adjoint)
    return b


@signed_as_in(scipy_linalg)
def eig_banded(a_band, lower, eigvals_only, overwrite_a_band, select, select_range, max_ev, check_finite) -> Any:
    """Return the eigenvalues in ascending order, and eigenvectors, of Hermitian banded matrices.

    `select` "i" takes the positions of the pair `select_range`; "v" raises ArgumentError.
    """
    chosen = _chosen("eig_banded", select, select_range)
    return _eigenpairs(as_matrices("eig_banded", a_band), bool(lower), eigvals_only, chosen)


def _chosen(name: str, select, select_range) -> slice:
    if choice_of(name, "select", select, ("a", "i", "v")) == "v":
        raise refuse_option(name, "select", select)
    return slice(None) if select == "a" else slice(select_range[0], select_range[1] + 1)


def _eigenpairs(band, lower: bool, only_values: bool, chosen: slice, *, tridiagonal: bool = False):
    """Return eigenvalues, and eigenvectors; bands of an unknown number of rows are solved as whole matrices."""
    if has_type(band.shape[-2], int):
        solve = ls.banded_eigvalsh if only_values else ls.banded_eigh
        results = solve(as_traced(band), lower=lower, tridiagonal=tridiagonal)
    else:
        results = (la.eigvalsh if only_values else la.eigh)(as_traced(_mirrored(_whole(band, lower))))
    return results[..., chosen] if only_values else tuple(x[..., chosen] for x in results)


def bandwidth(a: Any) -> tuple[Any, Any]:
    """Return how many diagonals below and above the main one have a number that is not 0, as traced integers."""
    matrix = as_matrices("bandwidth", a)
    distance = xp.arange(matrix.shape[-2])[:, None] - xp.arange(matrix.shape[-1])[None, :]
    used = xp.where(matrix != 0, distance, 0)
    return xp.max(used, axis=(-2, -1), initial=0), -xp.min(used, axis=(-2, -1), initial=0)


def _equals(name: str, a, mirrored, atol, rtol):
    """Return whether square matrices equal others, exactly unless a tolerance is given."""
    matrix = as_squares(name, a)
    other = mirrored(xp.matrix_transpose(matrix))
    if atol is None and rtol is None:
        return xp.all(matrix == other, axis=(-2, -1))
    absolute, relative = (0.0 if value is None else value for value in (atol, rtol))
    if min(absolute, relative) < 0:
        problem = "has a negative number"
        raise ArgumentError(name, f"atol={atol}, rtol={rtol}", problem, "pass tolerances of at least 0")
    return xp.all(xp.isclose(matrix, other, atol=absolute, rtol=relative), axis=(-2, -1))


def issymmetric(a: Any, atol: Any = None, rtol: Any = None) -> Any:
    """Return whether square matrices equal their transpose, as a traced boolean; exactly without a tolerance."""
    return _equals("issymmetric", a, lambda x: x, atol, rtol)


def ishermitian(a: Any, atol: Any = None, rtol: Any = None) -> Any:
    """Return whether square matrices equal their conjugate transpose; see `issymmetric`."""
    return _equals("ishermitian", a, xp.conj, atol, rtol)
