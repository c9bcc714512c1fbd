"""Define functions of matrices of `scipy.linalg`, and the equations that go with them.

Functions of real matrices are real. Where the logarithm or the square root is not, LinAlgError is raised when the
program runs. SciPy would give complex numbers there: convert the matrix with `astype(complex)`.

Define the algebraic Riccati equations of `scipy.linalg`: SciPy's solutions, with the derivative of the equation.

The derivative of a solution solves a Lyapunov equation of the closed loop, so there are derivatives of any order.
"""

from collections.abc import Callable
from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.linalg.solving import as_squares, in_one_dtype
from anyshape.numpy.operands.promotion import sizes
from anyshape.ops import factorisations as mf
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.factoring import refuse_option
from anyshape.scipy.linalg.solving import in_double
from anyshape.support.packages import scipy_linalg
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
