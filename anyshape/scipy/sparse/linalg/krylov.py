"""Krylov methods of `scipy.sparse.linalg` as loops of programs: `cg`, `bicgstab` and `gmres` on vectors.

Each method is a function of an equation that returns a solution and SciPy's code. That is 0 for convergence, the number
of iterations without it, and negative after a breakdown.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy.sizes.symdim import min_dim
from anyshape.transforms.control_flow.loops import fori_loop, while_loop

Function = Callable[[Any], Any]


class Equation(NamedTuple):
    """Linear equation matvec(x) = b, how to precondition it, where to start, and when to stop."""

    matvec: Function
    precondition: Function
    b: Any
    start: Any
    tolerance: Any
    limit: Any


def _nonzero(x):
    """Return a divisor, 1 instead of 0."""
    return xp.where(x == 0, xp.ones((), x.dtype), x)


def _code(converged, limit):
    return xp.where(converged, 0, limit).astype(np.int64)


def cg(equation: Equation) -> tuple[Any, Any]:
    """Solve an equation of a Hermitian positive definite operator by conjugate gradients."""
    matvec, precondition, b, start, tolerance, limit = equation

    def unfinished(state):
        k, _, r, *_ = state
        return (k < limit) & (xp.linalg.norm(r) > tolerance)

    def step(state):
        k, x, r, p, before = state
        z = precondition(r)
        rho = xp.vdot(r, z)
        p = z + rho / before * p
        q = matvec(p)
        alpha = rho / xp.vdot(p, q)
        return k + 1, x + alpha * p, r - alpha * q, p, rho

    one = xp.ones((), b.dtype)
    begin = xp.asarray(0), start, b - matvec(start), xp.zeros_like(b), one
    k, x, r, *_ = while_loop(unfinished, step, begin)
    return x, _code((xp.linalg.norm(r) <= tolerance) & (k < limit), limit)


def bicgstab(equation: Equation) -> tuple[Any, Any]:
    """Solve an equation by stabilised biconjugate gradients."""
    matvec, precondition, b, start, tolerance, limit = equation
    shadow = b - matvec(start)
    tiny = np.finfo(b.dtype).eps ** 2

    def unfinished(state):
        k, code, _, r, *_ = state
        return (k < limit) & (code == 1) & (xp.linalg.norm(r) > tolerance)

    def step(state):
        k, _, x, r, p, v, before, alpha, omega = state
        rho = xp.vdot(shadow, r)
        p = r + rho / before * (alpha / omega) * (p - omega * v)
        forward = precondition(p)
        v = matvec(forward)
        along = xp.vdot(shadow, v)
        new_alpha = rho / _nonzero(along)
        s = r - new_alpha * v
        is_half = xp.linalg.norm(s) <= tolerance
        second = precondition(s)
        t = matvec(second)
        new_omega = xp.where(is_half, 0.0, xp.vdot(t, s) / _nonzero(xp.vdot(t, t))).astype(b.dtype)
        code = xp.where(is_half, 0, 1)
        broken = xp.where((k > 0) & (xp.abs(omega) < tiny), -11, xp.where(along == 0, -11, code))
        broken = xp.where(xp.abs(rho) < tiny, -10, broken)
        moved = x + new_alpha * forward + new_omega * second
        x = xp.where(broken < 0, x, moved)
        return k + 1, broken, x, s - new_omega * t, p, v, _nonzero(rho), new_alpha, _nonzero(new_omega)

    one, zero = xp.ones((), b.dtype), xp.zeros_like(b)
    begin = xp.asarray(0), xp.asarray(1), start, shadow, zero, zero, one, one, one
    k, code, x, r, *_ = while_loop(unfinished, step, begin)
    done = _code((xp.linalg.norm(r) <= tolerance) & (k < limit), limit)
    return x, xp.where(code == 1, done, code)


def gmres(equation: Equation, restart: Any) -> tuple[Any, Any]:
    """Solve an equation by generalised minimal residuals, preconditioned on the right, with restarts."""
    matvec, precondition, b, start, tolerance, limit = equation
    width = min_dim(restart, b.shape[0])

    def unfinished(state):
        k, _, r = state
        return (k < limit) & (xp.linalg.norm(r) > tolerance)

    def cycle(state):
        k, x, r = state
        size = xp.linalg.norm(r).astype(b.dtype)
        basis, hessenberg = _arnoldi(lambda v: matvec(precondition(v)), r / _nonzero(size), width)
        right = xp.where(xp.arange(width + 1) == 0, size, xp.zeros((), b.dtype))
        y = xp.linalg.lstsq(hessenberg.T, right)[0].astype(b.dtype)
        x = x + precondition(y @ basis[:width])
        return k + 1, x, b - matvec(x)

    _, x, r = while_loop(unfinished, cycle, (xp.asarray(0), start, b - matvec(start)))
    return x, _code(xp.linalg.norm(r) <= tolerance, limit)


def _arnoldi(operator: Function, first, width) -> tuple[Any, Any]:
    """Return an orthonormal basis of a Krylov space as rows, and the transposed Hessenberg matrix on it.

    Rows after a breakdown are zero. Each vector is made orthogonal twice, so rounding does not add up.
    """
    basis = xp.zeros((width + 1, first.shape[0]), first.dtype).at[0].set(first)
    floor = np.finfo(first.dtype).eps

    def extend(k, state):
        basis, hessenberg = state
        w = operator(basis[k])
        whole = xp.linalg.norm(w)
        once = xp.conj(basis) @ w
        w = w - once @ basis
        twice = xp.conj(basis) @ w
        w = w - twice @ basis
        rest = xp.linalg.norm(w)
        is_new = rest > floor * whole
        column = once + twice + xp.where((xp.arange(width + 1) == k + 1) & is_new, rest, 0.0).astype(w.dtype)
        row = xp.where(is_new, w / xp.where(is_new, rest, 1.0).astype(w.dtype), 0.0).astype(w.dtype)
        return basis.at[k + 1].set(row), hessenberg.at[k].set(column)

    start = basis, xp.zeros((width, width + 1), first.dtype)
    return fori_loop(0, width, extend, start)
