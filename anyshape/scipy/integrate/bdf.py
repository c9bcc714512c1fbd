"""Backward differentiation formulas of orders 1 to 5 with SciPy's Newton iteration, control of steps and interpolant.

The solution is kept as its backward differences. Source: L. Shampine, M. Reichelt, The MATLAB ODE Suite, SIAM J. Sci.
Comput. 18, 1997.
"""

from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy.integrate.radau import begin, factored, jacobian_of, newton, solve_densely, solved_by
from anyshape.scipy.integrate.runge_kutta import Problem, State, attached, chosen, least_step, next_time, norm
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.control_flow.conditionals import cond
from anyshape.transforms.custom.implicit_solves import custom_root

MIN_FACTOR, MAX_FACTOR, ITERATIONS, MAX_ORDER = 0.2, 10.0, 4, 5
ROWS = MAX_ORDER + 3  # of differences: the ones of an order, and two that estimate errors of others
_KAPPA = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
_GAMMA = np.append(0, np.cumsum(1 / np.arange(1, MAX_ORDER + 1)))
ALPHA = (1 - _KAPPA) * _GAMMA
ERROR = _KAPPA * _GAMMA + 1 / np.arange(1, MAX_ORDER + 2)


def _by_order(row) -> np.ndarray:
    """Return a table with a row or matrix for each order; that of order 0 is not used."""
    return np.stack([row(max(order, 1)) for order in range(MAX_ORDER + 1)])


def _updated(order: int) -> np.ndarray:
    """Return the matrix that maps differences, and the newest one below them, to those after a step."""
    k = np.arange(ROWS)
    matrix = np.zeros((ROWS, ROWS + 1))
    matrix[:, :-1] = (k[:, None] <= k) & (k <= order) | (k[:, None] == k) & (k > order + 2)
    matrix[: order + 3, -1] = 1
    matrix[order + 2, order + 1] = -1
    return matrix


_K = np.arange(ROWS)
_USED = _by_order(lambda order: (order >= _K) * 1.0)
_SLOPES = _by_order(lambda order: np.append(_GAMMA, [0.0, 0.0]) * ((order >= _K) & (_K > 0)) / ALPHA[order])
_UPDATES = _by_order(_updated)


class Control(NamedTuple):
    """Size and order of the next step, how many had this size, and the Jacobian with the factors of the iteration."""

    size: Any
    order: Any
    equal: Any
    jacobian: Any
    is_current: Any
    factors: Any
    has_factors: Any
    rejected: Any


class _Outcome(NamedTuple):
    """Outcome of an attempt of a step of width `width`."""

    width: Any
    differences: Any
    values: Any
    scale: Any
    error: Any
    safety: Any
    equal: Any
    factors: Any


def _row(table: np.ndarray, order):
    """Return the entry of a table for an order."""
    return xp.take(table, order, axis=0)


def _weights(order) -> tuple[Any, Any, Any]:
    """Return the weights of differences in the prediction and in the formula, and the factor of the step size."""
    return _row(_USED, order), _row(_SLOPES, order), 1 / xp.take(ALPHA, order)


def _rescaling(factor):
    """Return the matrix whose product with the one for 1 rescales differences to longer steps."""
    i, j = np.arange(1, ROWS)[:, None], np.arange(1, ROWS)
    rows = [xp.ones((1, ROWS)), xp.concatenate([np.zeros((ROWS - 1, 1)), (i - 1 - factor * j) / i], axis=1)]
    whole = xp.concatenate(rows)
    products = [whole[0]]
    for row in range(1, ROWS):
        products.append(products[-1] * whole[row])
    return xp.stack(products)


def rescaled(differences: Any, order: Any, factor: Any) -> Any:
    """Return the differences of the same polynomial for steps that are longer by a factor."""
    used = _row(_USED, order)
    inside = used[:, None] * used
    change = (_rescaling(factor) * inside) @ (np.asarray(_rescaling(1.0)) * inside) + xp.diag(1 - used)
    return change.T @ differences


def _ratio(size, of):
    """Return the ratio of two step sizes; a span without length has steps of size 0."""
    return size / xp.where(of == 0, 1.0, of)


class BDF:
    """Implicit method of variable order for stiff equations. Its derivative is that of the formulas of its steps."""

    name = "BDF"
    supports_complex = True

    def start(self, p: Problem, t: Any, y: Any, size: Any) -> State:
        """Return the state at the initial point; a size of None is chosen."""
        f, jacobian, size = begin(p, t, y, size, 1)
        differences = xp.concatenate([xp.stack([y, f * size * p.direction]), xp.zeros((ROWS - 2, y.shape[0]))])
        factors = factored(xp.eye(y.shape[0], dtype=y.dtype))  # to be replaced
        refreshes = p.jacobian is None or callable(p.jacobian)
        one = np.int64(1)
        control = Control(size, one, np.int64(0), jacobian, np.bool_(not refreshes), factors, np.False_, np.False_)
        return State(t, y, f, t, y, differences, control, 0, 2, 1, 0)

    def attempt(self, p: Problem, s: State) -> State:
        """Attempt a step: return the state after it, or the same point with another Jacobian or a smaller step size."""
        c, free, least = s.control, p.detached(), least_step(p, s.t)
        clipped = xp.where(c.size > p.max_step, p.max_step, xp.maximum(c.size, least))
        size = stop_gradient(xp.where(c.rejected, c.size, clipped))
        failed = stop_gradient(size < least)
        t_new = next_time(p, s.t, size)
        is_cut = stop_gradient(p.direction * (s.t + size * p.direction - p.bound) > 0)
        h = t_new - s.t
        width = stop_gradient(xp.abs(h))
        equal = xp.where(is_cut | (size != c.size), 0, c.equal)
        differences = rescaled(s.stages, c.order, _ratio(xp.abs(h), c.size))
        weights = _weights(c.order)
        fixed, at = stop_gradient(differences), stop_gradient(t_new)
        predicted, psi, step = weights[0] @ fixed, weights[1] @ fixed, stop_gradient(h) * weights[2]
        one = xp.eye(s.y.shape[0])
        has_factors = c.has_factors & ~is_cut
        factors = cond(has_factors, lambda: c.factors, lambda: factored(one - step * c.jacobian))
        converged, count, d = _newest(free, at, predicted, psi, step, factors)
        converged, d = converged | (h == 0), xp.where(h == 0, 0.0, d)
        safety = 0.9 * (2 * ITERATIONS + 1) / (2 * ITERATIONS + count)
        scale = p.atol + xp.abs(predicted + d) * p.rtol
        error = norm(xp.take(ERROR, c.order) * d / scale)
        accepted = converged & ~(error > 1) & ~failed
        values = attached(p, self.step, (predicted + d, d), accepted, (s.t, differences, weights, h))
        outcome = _Outcome(width, differences, values, scale, error, safety, equal, factors)
        after = self._accepted(p, s, t_new, outcome)
        before, evaluated = self._rejected(p, s, outcome, converged, failed, (at, predicted))
        state: State = chosen(accepted, after, before)
        return state._replace(
            nfev=s.nfev + count, njev=s.njev + xp.where(evaluated, 1, 0), nlu=s.nlu + xp.where(has_factors, 0, 1)
        )

    def step(self, p: Problem, values: Any, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, Any]:
        """Return the point after a step, and its newest difference; y are differences and f the weights of them."""
        predicted, psi, step = f[0] @ y, f[1] @ y, h * f[2]
        residual = lambda d: d + psi - step * p.slope(t + h, predicted + d)
        d = custom_root(residual, values[1], lambda f, guess: guess, solve_densely)
        return predicted + d, d

    def _accepted(self, p: Problem, s: State, t_new, o: _Outcome) -> State:
        """Return the state after a step that was accepted: with the order that allows the longest next one."""
        c = s.control
        y_new, d = o.values
        differences = _row(_UPDATES, c.order) @ xp.concatenate([o.differences, d[None]])
        equal = o.equal + 1
        changes = equal >= c.order + 1
        change, factor = _next_order(stop_gradient(differences), c.order, o)
        order = xp.where(changes, c.order + change, c.order)
        factor = xp.where(changes, factor, 1.0)
        is_fixed = np.bool_(p.jacobian is not None and not callable(p.jacobian))
        control = Control(
            o.width * factor, order, xp.where(changes, 0, equal), c.jacobian, is_fixed, o.factors, ~changes, np.False_
        )
        ended = p.direction * (stop_gradient(t_new) - p.bound) >= 0
        differences = rescaled(differences, order, factor)
        return State(t_new, y_new, s.f, s.t, s.y, differences, control, xp.where(ended, 1, 0), 0, 0, 0)

    def _rejected(self, p: Problem, s: State, o: _Outcome, converged, failed, point) -> tuple[State, Any]:
        """Return the state after a step that was rejected, and whether the Jacobian was evaluated."""
        c = s.control
        refreshed = ~converged & ~c.is_current & ~failed
        smaller = o.safety * xp.where(o.error > 0, o.error, 1.0) ** (-1.0 / (c.order + 1))
        factor = xp.where(converged, xp.maximum(MIN_FACTOR, smaller), xp.where(refreshed, 1.0, 0.5))
        jacobian = cond(refreshed, lambda: jacobian_of(p.detached(), *point), lambda: c.jacobian)
        size = o.width * factor
        control = Control(
            size, c.order, xp.where(refreshed, o.equal, 0), jacobian, c.is_current | refreshed, o.factors, converged,
            np.True_,
        )  # fmt: skip
        differences = rescaled(s.stages, c.order, _ratio(size, c.size))
        status = xp.where(failed, -1, s.status)
        before = s._replace(stages=differences, control=control, status=status, nfev=0, njev=0, nlu=0)
        return before, refreshed

    def interpolant(self, p: Any, s: State) -> Any:
        """Return the coefficients of the interpolant within the last step, in rows."""
        used = _row(_USED, s.control.order)[1 : MAX_ORDER + 1]
        ratio = _ratio(stop_gradient(xp.abs(s.t - s.t_old)), s.control.size)
        first = xp.stack([s.y - s.y_old, xp.broadcast_to(ratio, s.y.shape)])
        return xp.concatenate([first, s.stages[1 : MAX_ORDER + 1] * used[:, None]])

    def interpolated(self, rows: Any, x: Any) -> Any:
        """Return how far the solution moves in a part x of a step."""
        total, product = rows[0], 1.0
        for j in range(MAX_ORDER):
            product = product * ((x - 1) * rows[1] + j) / (1 + j)
            total = total + rows[2 + j] * product
        return total


def _next_order(differences, order, o: _Outcome) -> tuple[Any, Any]:
    """Return the change of the order that allows the longest step, and by how much that one is longer."""

    def reach(k, error):
        return xp.where(error == 0, np.inf, xp.where(error == 0, 1.0, error) ** (-1.0 / (k + 1)))

    below, above = (
        norm(xp.take(ERROR, xp.minimum(k, MAX_ORDER)) * differences[k + 1] / o.scale) for k in (order - 1, order + 1)
    )
    lower = xp.where(order > 1, reach(order - 1, below), 0.0)
    higher = xp.where(order < MAX_ORDER, reach(order + 1, above), 0.0)
    factors = stop_gradient(xp.stack([lower, reach(order, o.error), higher]))
    return xp.argmax(factors) - 1, xp.minimum(MAX_FACTOR, o.safety * xp.max(factors))


def _newest(p: Problem, t, predicted, psi, step, factors) -> tuple[Any, Any, Any]:
    """Solve the formula: return whether it converged, the iterations, and the newest difference."""
    scale = p.atol + xp.abs(predicted) * p.rtol

    def advance(d) -> tuple[Any, Any, Any]:
        slope = p.slope(t, predicted + d)
        moved = solved_by(factors, step * slope - psi - d)
        return moved, norm(moved / scale), xp.all(xp.isfinite(slope))

    return newton(p, ITERATIONS, xp.zeros_like(predicted), advance)[:3]
