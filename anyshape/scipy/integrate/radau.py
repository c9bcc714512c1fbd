"""Implicit Runge-Kutta method Radau IIA of order 5, with SciPy's Newton iteration, step control and interpolant.

Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.8.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.ops.linalg import lu_factor, lu_solve
from anyshape.scipy.integrate import runge_kutta
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.control_flow.conditionals import cond
from anyshape.transforms.control_flow.loops import while_loop
from anyshape.transforms.custom.implicit_solves import custom_root
from anyshape.transforms.vmap import jacfwd, vmap

MIN_FACTOR, MAX_FACTOR, ITERATIONS = 0.2, 10.0, 6
_S = 6**0.5
NODES = np.array([(4 - _S) / 10, (4 + _S) / 10, 1])
_POWERS = NODES[:, None] ** np.arange(4)
COUPLING = _POWERS[:, 1:] / np.arange(1, 4) @ np.linalg.inv(_POWERS[:, :3])  # integrals of polynomials of degree 2
INTERPOLANT = np.linalg.inv(_POWERS[:, 1:]).T
ERROR = np.array([-13 - 7 * _S, -13 + 7 * _S, -1]) / 3
# the inverse of the coupling is similar to a real eigenvalue beside a complex pair
REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
COMPLEX = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)) - 0.5j * (3 ** (5 / 6) + 3 ** (7 / 6))


def _eigenvector(value: complex) -> np.ndarray:
    """Return the eigenvector of the inverse of the coupling whose last element is 1."""
    matrix = np.linalg.inv(COUPLING) - value * np.eye(3)
    return np.append(np.linalg.solve(matrix[:2, :2], -matrix[:2, 2]), 1)


_PAIR = _eigenvector(COMPLEX.conjugate())
FROM_EIGEN = np.stack([_eigenvector(REAL), _PAIR.real, _PAIR.imag], axis=1)
TO_EIGEN = np.linalg.inv(FROM_EIGEN)


class Factors(NamedTuple):
    """Matrices of the Newton iteration with their LU factors: a real one and a complex one."""

    real: Any
    complex: Any


class Control(NamedTuple):
    """Step sizes and errors of this step and the last, the Jacobian with its factors, and what they are good for."""

    size: Any
    proposed: Any  # the size at the start of the step
    size_old: Any
    error_old: Any
    has_old: Any
    jacobian: Any
    is_current: Any
    factors: Any
    has_factors: Any
    error_rejected: Any
    rejected: Any


class _Outcome(NamedTuple):
    """Outcome of an attempt of a step."""

    t: Any
    y: Any
    h: Any
    y_new: Any
    size: Any
    accepted: Any
    failed: Any
    converged: Any
    count: Any
    rate: Any
    error: Any
    factors: Any


def _factored(jacobian, h) -> Factors:
    """Return the factors of the Newton iteration for a step size."""
    one = xp.eye(jacobian.shape[0])
    matrices = REAL / h * one - jacobian, COMPLEX / h * one - jacobian
    return Factors(*map(factored, matrices))


def factored(matrix: Any) -> tuple[Any, Any, Any]:
    """Return a matrix with its LU factors."""
    return (matrix, *lu_factor(matrix))


def solved_by(factors: tuple[Any, Any, Any], b: Any) -> Any:
    """Solve for a vector."""
    return lu_solve(*factors, b[:, None])[:, 0]


def begin(p: runge_kutta.Problem, t: Any, y: Any, size: Any, order: int) -> tuple[Any, Any, Any]:
    """Return the slope and the Jacobian at the initial point, and the first step size: a size of None is chosen."""
    f = p.slope(t, y)
    free, fixed = p.detached(), tuple(map(stop_gradient, (t, y, f)))
    size = runge_kutta.first_step(free, fixed[0], fixed[1], fixed[2], order) if size is None else size
    return f, jacobian_of(free, fixed[0], fixed[1]), stop_gradient(xp.asarray(size, np.float64))


class Radau:
    """Implicit method for stiff equations. Its derivative is that of the collocation equations."""

    name = "Radau"
    supports_complex = False

    def start(self, p: runge_kutta.Problem, t: Any, y: Any, size: Any) -> runge_kutta.State:
        """Return the state at the initial point; a size of None is chosen."""
        f, jacobian, size = begin(p, t, y, size, 3)
        one = xp.eye(y.shape[0])
        factors = Factors(*map(factored, (one, one.astype(np.complex128))))  # to be replaced
        flags = (factors, np.False_, np.False_, np.False_)
        control = Control(size, size, size, np.float64(1), np.False_, jacobian, np.True_, *flags)
        return runge_kutta.State(t, y, f, t, y, xp.zeros((3, y.shape[0])), control, 0, 2, 1, 0)

    def attempt(self, p: runge_kutta.Problem, s: runge_kutta.State) -> runge_kutta.State:
        """Attempt a step: return the state after it, or the same point with other factors or a smaller step size."""
        c, free = s.control, p.detached()
        least = runge_kutta.least_step(p, s.t)
        fits = (c.size <= p.max_step) & (c.size >= least)
        clipped = xp.where(c.size > p.max_step, p.max_step, xp.maximum(c.size, least))
        has_old = c.has_old & (c.rejected | fits)
        size = xp.where(c.rejected, c.size, clipped)
        failed = stop_gradient(size < least)
        t_new = runge_kutta.next_time(p, s.t, size)
        h = t_new - s.t
        inputs = (s.t, s.y, s.f, h)
        fixed = tuple([stop_gradient(x) for x in inputs])
        t, y, _, h = fixed
        c = c._replace(size=xp.abs(h), has_old=has_old)
        factors = cond(c.has_factors, lambda: c.factors, lambda: _factored(c.jacobian, xp.where(h == 0, 1.0, h)))
        converged, count, z, rate = _collocated(free, t, y, h, self._guess(s, t + h * NODES), factors)
        converged, z = converged | (h == 0), xp.where(h == 0, 0.0, z)
        y_new = y + z[2]
        error, extra = self._error(free, fixed, y_new, z, factors, c.error_rejected)
        accepted = converged & (error <= 1) & ~failed
        outcome = _Outcome(t, y, h, y_new, size, accepted, failed, converged, count, rate, error, factors)
        control, evaluated = self._next_control(p, c, outcome)
        values = (y_new, free.slope(t + h, y_new), z)
        y_new, f_new, z = runge_kutta.attached(p, self.step, values, accepted, inputs)
        after = runge_kutta.State(t_new, y_new, f_new, s.t, s.y, z, control, 0, 0, 0, 0)
        ended = p.direction * (t + h - p.bound) >= 0
        before = s._replace(control=control, status=xp.where(failed, -1, s.status), nfev=0, njev=0, nlu=0)
        state: runge_kutta.State = runge_kutta.chosen(accepted, after._replace(status=xp.where(ended, 1, 0)), before)
        return state._replace(
            nfev=s.nfev + 3 * count + extra + xp.where(accepted, 1, 0),
            njev=s.njev + xp.where(evaluated, 1, 0),
            nlu=s.nlu + xp.where(c.has_factors, 0, 2),
        )

    def _next_control(self, p: runge_kutta.Problem, c: Control, o: _Outcome) -> tuple[Control, Any]:
        """Return the control after an attempt, and whether the Jacobian was evaluated."""
        refreshes = p.jacobian is None or callable(p.jacobian)
        recomputed = o.accepted & (o.count > 2) & (o.rate > 1e-3) & refreshes
        refreshed = ~o.converged & ~c.is_current & ~o.failed
        change = self._factor(c, o, recomputed)
        at = o.t + xp.where(o.accepted, o.h, 0.0), xp.where(o.accepted, o.y_new, o.y)
        jacobian = cond(recomputed | refreshed, lambda: jacobian_of(p.detached(), *at), lambda: c.jacobian)
        control = Control(
            size=xp.where(o.failed | refreshed, o.size, c.size * change),
            proposed=xp.where(o.accepted, c.size * change, c.proposed),
            size_old=xp.where(o.accepted, c.proposed, c.size_old),
            error_old=xp.where(o.accepted, o.error, c.error_old),
            has_old=o.accepted | c.has_old,
            jacobian=jacobian,
            is_current=xp.where(o.accepted, recomputed | (not refreshes), c.is_current | refreshed),
            factors=o.factors,
            has_factors=o.accepted & ~recomputed & (change == 1),
            error_rejected=~o.accepted & (c.error_rejected | o.converged),
            rejected=~o.accepted,
        )
        return control, recomputed | refreshed

    def step(self, p: runge_kutta.Problem, values: Any, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, Any, Any]:
        """Return the point after a step, the slope there, and the stages, as roots of the collocation equations."""

        def residual(z):
            return z - h * (COUPLING @ _slopes(p, t, y, h, z))

        z = custom_root(residual, values[2], lambda f, guess: guess, solve_densely)
        return y + z[2], p.slope(t + h, y + z[2]), z

    def _guess(self, s: runge_kutta.State, times):
        """Return the stages by the interpolant of the last step; zeros before the first."""
        width = stop_gradient(s.t - s.t_old)
        x = (times - stop_gradient(s.t_old)) / xp.where(width == 0, 1.0, width)
        moved = self.interpolated(stop_gradient(self.interpolant(None, s)), x[:, None])
        return xp.where(width == 0, 0.0, stop_gradient(s.y_old) + moved - stop_gradient(s.y))

    def _error(self, p: runge_kutta.Problem, inputs, y_new, z, factors: Factors, rejected) -> tuple[Any, Any]:
        """Return the estimate of the error, relative to the tolerance, and how often the equations were evaluated."""
        t, y, f, h = inputs
        combined = ERROR @ z / xp.where(h == 0, 1.0, h)
        scale = p.atol + xp.maximum(xp.abs(y), xp.abs(y_new)) * p.rtol
        first = solved_by(factors.real, f + combined)
        size = xp.where(h == 0, 0.0, runge_kutta.norm(first / scale))
        again = rejected & (size > 1)
        second = cond(again, lambda: solved_by(factors.real, p.slope(t, y + first) + combined), lambda: first)
        return xp.where(again, runge_kutta.norm(second / scale), size), xp.where(again, 1, 0)

    def _factor(self, c: Control, o: _Outcome, recomputed):
        """Return by how much the step size changes."""
        safety = 0.9 * (2 * ITERATIONS + 1) / (2 * ITERATIONS + o.count)
        is_zero = o.error == 0
        known = xp.where(is_zero, 1.0, o.error)
        trend = c.size / xp.where(c.has_old, c.size_old, 1.0) * (c.error_old / known) ** 0.25
        trend = xp.where(c.has_old & ~is_zero, trend, 1.0)
        predicted = xp.where(is_zero, np.inf, xp.minimum(1.0, trend) * known**-0.25)
        larger = xp.minimum(MAX_FACTOR, safety * predicted)
        larger = xp.where(~recomputed & (larger < 1.2), 1.0, larger)
        smaller = safety * predicted
        smaller = xp.where(smaller > MIN_FACTOR, smaller, MIN_FACTOR)  # MIN_FACTOR where the error is NaN
        return xp.where(o.accepted, larger, xp.where(o.converged, smaller, 0.5))

    def interpolant(self, p: Any, s: runge_kutta.State) -> Any:
        """Return the coefficients of the interpolant within the last step, in rows."""
        return INTERPOLANT.T @ s.stages

    def interpolated(self, rows: Any, x: Any) -> Any:
        """Return how far the solution moves in a part x of a step."""
        return sum(rows[i] * x ** (i + 1) for i in range(3))


def jacobian_of(p: runge_kutta.Problem, t: Any, y: Any) -> Any:
    """Return the Jacobian by y: the user's, or the exact one."""
    if p.jacobian is None:
        return jacfwd(lambda y: p.slope(t, y))(y)
    matrix = xp.asarray(p.jacobian(t, y) if callable(p.jacobian) else p.jacobian, y.dtype)
    return stop_gradient(xp.broadcast_to(matrix, (y.shape[0], y.shape[0])))


def _slopes(p: runge_kutta.Problem, t, y, h, z):
    """Return the slopes at the three stages, in rows."""
    return xp.stack([p.slope(t + c * h, y + z[i]) for i, c in enumerate(NODES)])


def solve_densely(linear: Any, right: Any) -> Any:
    """Solve linear equations of an array by their matrix."""
    shape, count = right.shape, right.size
    columns = vmap(linear)(xp.reshape(xp.eye(count, dtype=right.dtype), (count, *shape)))
    return xp.reshape(xp.linalg.solve(xp.reshape(columns, (count, count)).T, xp.reshape(right, (count,))), shape)


def newton(
    p: runge_kutta.Problem, iterations: int, start: Any, advance: Callable[[Any], tuple[Any, Any, Any]]
) -> tuple[Any, Any, Any, Any]:
    """Iterate from a start: return whether it converged, the iterations, the last iterate and the rate.

    `advance` returns how an iterate moves, how far relative to the tolerance, and whether the slopes are finite.
    """
    tolerance = xp.maximum(10 * np.finfo(np.float64).eps / p.rtol, xp.minimum(0.03, p.rtol**0.5))

    def iterate(carry):
        k, w, size_old, rate, _, _ = carry
        moved, size, is_finite = advance(w)
        has_rate = k > 0
        rate = xp.where(has_rate, size / xp.where(size_old == 0, 1.0, size_old), rate)
        ahead = rate / (1 - xp.where(rate == 1, 0.5, rate)) * size
        diverges = has_rate & ((rate >= 1) | (rate ** (iterations - k - 1) * ahead > tolerance))
        ends = diverges | ~is_finite
        done = ~ends & ((size == 0) | (has_rate & (ahead < tolerance)))
        return k + 1, xp.where(ends, w, w + moved), size, rate, done, done | ends

    first = (0, start, np.float64(0), np.float64(0), np.False_, np.False_)
    k, w, _, rate, converged, _ = while_loop(lambda c: (c[0] < iterations) & ~c[5], iterate, first)
    return converged, k, w, rate


def _collocated(p: runge_kutta.Problem, t, y, h, guess, factors: Factors) -> tuple[Any, Any, Any, Any]:
    """Solve the collocation equations: return whether it converged, the iterations, the stages and the rate."""
    inverse, scale = 1 / xp.where(h == 0, 1.0, h), p.atol + xp.abs(y) * p.rtol

    def advance(w) -> tuple[Any, Any, Any]:
        slopes = _slopes(p, t, y, h, FROM_EIGEN @ w)
        turned = TO_EIGEN @ slopes
        real = solved_by(factors.real, turned[0] - REAL * inverse * w[0])
        pair = (turned[1] - COMPLEX.real * inverse * w[1] + COMPLEX.imag * inverse * w[2]) + 1j * (
            turned[2] - COMPLEX.real * inverse * w[2] - COMPLEX.imag * inverse * w[1]
        )
        both = solved_by(factors.complex, pair)
        moved = xp.stack([real, xp.real(both), xp.imag(both)])
        size = xp.sqrt(xp.mean(xp.stack([runge_kutta.norm(row / scale) ** 2 for row in moved])))
        return moved, size, xp.all(xp.isfinite(slopes))

    converged, k, w, rate = newton(p, ITERATIONS, TO_EIGEN @ guess, advance)
    return converged, k, FROM_EIGEN @ w, rate
