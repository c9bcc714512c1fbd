"""Define the algebraic Riccati equations of `scipy.linalg`: SciPy's solutions, with the derivative of the equation.

The derivative of a solution solves a Lyapunov equation of the closed loop, so there are derivatives of any order.
"""

from __future__ import annotations

from typing import Any

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.linalg.solving import as_squares, in_one_dtype
from anyshape.numpy.operands.promotion import is_traced
from anyshape.scipy.linalg.factoring import refuse_option
from anyshape.scipy.linalg.functions import solve_continuous_lyapunov, solve_discrete_lyapunov
from anyshape.scipy.linalg.solving import in_double
from anyshape.support.packages import scipy_linalg
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.custom.custom_rules import custom_jvp


def _adjoint(x: Any) -> Any:
    return xp.conj(xp.matrix_transpose(x))


def _continuous_slopes(x: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return the closed loop, and the tangent of the equation at a fixed solution: a^H x + x a - x b r^-1 b^H x + q."""
    (a, b, _, r), (da, db, dq, dr) = primals, tangents
    gain = xp.linalg.solve(r, _adjoint(b) @ x)
    half = _adjoint(da) @ x - _adjoint(gain) @ (_adjoint(db) @ x)
    return a - b @ gain, half + _adjoint(half) + _adjoint(gain) @ dr @ gain + dq


def _discrete_slopes(x: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return the same of a^H x a - x - (a^H x b) (r + b^H x b)^-1 (b^H x a) + q."""
    (a, b, _, r), (da, db, dq, dr) = primals, tangents
    gain = xp.linalg.solve(r + _adjoint(b) @ x @ b, _adjoint(b) @ x @ a)
    loop = a - b @ gain
    half = _adjoint(da - db @ gain) @ x @ loop
    return loop, half + _adjoint(half) + _adjoint(gain) @ dr @ gain + dq


def _run(name: str, operands: Any) -> Any:
    """Call SciPy when the program runs."""
    spec = ShapeDtypeStruct(operands[0].shape, operands[0].dtype)
    solver = lambda *xs: getattr(scipy_linalg, name)(*xs).astype(xs[0].dtype, copy=False)
    return pure_callback(solver, spec, *operands)


@custom_jvp
def _continuous(a: Any, b: Any, q: Any, r: Any) -> Any:
    return _run("solve_continuous_are", (a, b, q, r))


@_continuous.defjvp
def _continuous_rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x = _continuous(*primals)
    loop, right = _continuous_slopes(x, primals, tangents)
    return x, solve_continuous_lyapunov(_adjoint(loop), -right)


@custom_jvp
def _discrete(a: Any, b: Any, q: Any, r: Any) -> Any:
    return _run("solve_discrete_are", (a, b, q, r))


@_discrete.defjvp
def _discrete_rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
    x = _discrete(*primals)
    loop, right = _discrete_slopes(x, primals, tangents)
    return x, solve_discrete_lyapunov(_adjoint(loop), right)


def _solved(name: str, solver: Any, operands: Any, further: Any) -> Any:
    """Solve an equation of traced matrices; SciPy's e and s are not taken."""
    for option, value in zip("es", further, strict=True):
        if value is not None:
            raise refuse_option(name, option, "a matrix")
    matrices = [as_squares(name, x) for x in operands[::2]] + [xp.asarray(operands[1])]
    a, q, b = in_one_dtype(name, *map(in_double, matrices))
    r = as_squares(name, operands[3])
    a, b, q, r = in_one_dtype(name, a, b, q, r)
    if any(x.ndim != 2 for x in (a, b, q, r)):
        raise ArgumentError(name, "a stack of matrices", "is not taken", "map the function with vmap")
    return solver(a, b, q, r)


def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """Return the stabilising x with a^H x + x a - x b r^-1 b^H x + q = 0.

    The shapes are a and q (n, n), b (n, m) and r (m, m). q and r are Hermitian, and r is regular. A traced equation has
    no e and s. SciPy solves it when the program runs, and raises LinAlgError where there is no solution.
    """
    if active() is None or not is_traced(a, b, q, r, e, s):
        return scipy_linalg.solve_continuous_are(a, b, q, r, e, s, balanced)
    return _solved("solve_continuous_are", _continuous, (a, b, q, r), (e, s))


def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True) -> Any:
    """Return the stabilising x with a^H x a - x - (a^H x b) (r + b^H x b)^-1 (b^H x a) + q = 0.

    See `solve_continuous_are` for the matrices.
    """
    if active() is None or not is_traced(a, b, q, r, e, s):
        return scipy_linalg.solve_discrete_are(a, b, q, r, e, s, balanced)
    return _solved("solve_discrete_are", _discrete, (a, b, q, r), (e, s))
