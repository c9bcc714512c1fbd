"""Explicit Runge-Kutta methods of `solve_ivp`, with SciPy's coefficients, step control and interpolants.

Initial value problems: the equations, what steps need of them, and the state between two attempts of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import scipy_integrate
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.custom.custom_calls import ClosedFunction
from anyshape.transforms.custom.custom_rules import custom_jvp
from anyshape.transforms.grad import jvp

SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0


def _combined(weights: Sequence[float], stages: Sequence[Any]):
    """Return a sum of stages; weights of zero leave theirs out."""
    terms = [float(w) * k for w, k in zip(weights, stages, strict=False) if w]
    return sum(terms[1:], terms[0]) if terms else xp.zeros_like(stages[0])


class RungeKutta:
    """Explicit pair of formulas, whose difference estimates the error.

    The control is (size of the next step, whether the last attempt was rejected).
    """

    supports_complex = True

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def table(self) -> Any:
        """Class of SciPy that holds the coefficients."""
        return getattr(scipy_integrate, self.name)

    @property
    def error_order(self) -> int:
        """Order of the error estimate."""
        return int(self.table.error_estimator_order)

    def start(self, p: Problem, t: Any, y: Any, size: Any) -> State:
        """Return the state at the initial point; a size of None is chosen."""
        f = p.slope(t, y)
        free = p.detached()
        if size is None:
            size = first_step(free, stop_gradient(t), stop_gradient(y), stop_gradient(f), self.error_order)
        stages = xp.broadcast_to(xp.zeros_like(y), (len(self.table.E5 if self._is_high else self.table.E), y.shape[0]))
        control = (stop_gradient(xp.asarray(size, np.float64)), np.False_)
        return State(t, y, f, t, y, stages, control, 0, 2, 0, 0)

    @property
    def _is_high(self) -> bool:
        return self.name == "DOP853"

    def step(self, p: Problem, values: Any, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, Any]:
        """Return the point after a step and its stages, one in each row."""
        stages = [f]
        for weights, c in zip(self.table.A[1:], self.table.C[1:], strict=True):
            stages.append(p.slope(t + c * h, y + h * _combined(weights, stages)))
        y_new = y + h * _combined(self.table.B, stages)
        return y_new, xp.stack([*stages, p.slope(t + h, y_new)])

    def attempt(self, p: Problem, s: State) -> State:
        """Attempt a step: return the state after it, or the same point with a smaller step size."""
        size, rejected = s.control
        least = least_step(p, s.t)
        size = xp.where(rejected, size, xp.where(size > p.max_step, p.max_step, xp.maximum(size, least)))
        failed = stop_gradient(size < least)
        t_new = next_time(p, s.t, size)
        inputs = (s.t, s.y, s.f, t_new - s.t)
        fixed = tuple([stop_gradient(x) for x in inputs])
        values = self.step(p.detached(), None, *fixed)
        error = self._error(p, values[1], fixed[1], values[0], fixed[3])
        accepted = (error < 1) & ~failed
        size = xp.abs(fixed[3]) * self._factor(error, rejected)
        y_new, stages = attached(p, self.step, values, accepted, inputs)
        after = State(t_new, y_new, stages[-1], s.t, s.y, stages, (size, np.False_), 0, 0, 0, 0)
        before = s._replace(control=(size, np.True_), status=xp.where(failed, -1, s.status), nfev=0, njev=0, nlu=0)
        ended = p.direction * (fixed[0] + fixed[3] - p.bound) >= 0
        chosen_state: State = chosen(accepted, after._replace(status=xp.where(ended, 1, 0)), before)
        return chosen_state._replace(nfev=s.nfev + len(self.table.B), njev=s.njev, nlu=s.nlu)

    def _factor(self, error, rejected):
        """Return by how much the step size changes."""
        power = SAFETY * xp.where(error == 0, 1.0, error) ** (-1 / (self.error_order + 1))
        larger = xp.where(error == 0, MAX_FACTOR, xp.minimum(MAX_FACTOR, power))
        larger = xp.where(rejected, xp.minimum(1.0, larger), larger)
        smaller = xp.where(power > MIN_FACTOR, power, MIN_FACTOR)  # MIN_FACTOR where the error is NaN
        return xp.where(error < 1, larger, smaller)

    def _error(self, p: Problem, stages, y, y_new, h):
        """Return the estimate of the error, relative to the tolerance."""
        scale = p.atol + xp.maximum(xp.abs(y), xp.abs(y_new)) * p.rtol
        rows = [stages[i] for i in range(stages.shape[0])]
        if not self._is_high:
            return norm(_combined(self.table.E, rows) * h / scale)
        fifth, third = (xp.sum(xp.abs(_combined(e, rows) / scale) ** 2) for e in (self.table.E5, self.table.E3))
        total = fifth + 0.01 * third
        divisor = xp.sqrt(xp.where(total == 0, 1.0, total) * max_dim(y.shape[0], 1))
        return xp.where(total == 0, 0.0, xp.abs(h) * fifth / divisor)

    def interpolant(self, p: Problem, s: State) -> Any:
        """Return the coefficients of the interpolant within the last step, in rows."""
        h = s.t - s.t_old
        rows = [s.stages[i] for i in range(s.stages.shape[0])]
        if not self._is_high:
            return xp.stack([h * _combined(column, rows) for column in self.table.P.T])
        for weights, c in zip(self.table.A_EXTRA, self.table.C_EXTRA, strict=True):
            rows.append(p.slope(s.t_old + c * h, s.y_old + h * _combined(weights, rows)))
        moved = s.y - s.y_old
        terms = [moved, h * rows[0] - moved, 2 * moved - h * (s.f + rows[0])]
        return xp.stack([*terms, *[h * _combined(row, rows) for row in self.table.D]])

    def interpolated(self, rows: Any, x: Any) -> Any:
        """Return how far the solution moves in a part x of a step; x has a last axis of size 1, or none."""
        count = rows.shape[0]
        if not self._is_high:
            return sum(rows[i] * x ** (i + 1) for i in range(count))
        y = 0.0 * rows[0]
        for i in range(count):
            y = (y + rows[count - 1 - i]) * (x if i % 2 == 0 else 1 - x)
        return y


Function = Callable[..., Any]


class State(NamedTuple):
    """Point that is reached, the last accepted step to it, and what the next attempt starts from.

    `stages` are the values inside of the step that its interpolant reads. `status` is SciPy's: 1 at the end, and -1
    where the step has become too small. `control` belongs to the method.
    """

    t: Any
    y: Any
    f: Any
    t_old: Any
    y_old: Any
    stages: Any
    control: Any
    status: Any
    nfev: Any
    njev: Any
    nlu: Any


@dataclass(frozen=True, slots=True)
class Problem:
    """Equations dy/dt = f(t, y) from a point to a bound, with tolerances.

    `params` are the values that f closes over.
    """

    equations: ClosedFunction
    params: Sequence[Any]
    bound: Any
    direction: Any
    rtol: Any
    atol: Any
    max_step: Any
    jacobian: Any

    def slope(self, t: Any, y: Any) -> Any:
        """Return f(t, y)."""
        return self.equations(self.params, t, y)

    def detached(self) -> Problem:
        """Return the problem without derivatives in its parameters."""
        return self.at([stop_gradient(p) for p in self.params])

    def at(self, params: Sequence[Any]) -> Problem:
        """Return the problem with other parameters."""
        tolerances = self.rtol, self.atol, self.max_step, self.jacobian
        return Problem(self.equations, params, self.bound, self.direction, *tolerances)


def norm(x: Any) -> Any:
    """Return the root mean square; 0 of no elements."""
    return xp.sqrt(xp.sum(xp.abs(x) ** 2) / max_dim(x.shape[0], 1))


def first_step(p: Problem, t: Any, y: Any, f: Any, order: int) -> Any:
    """Return an initial step size, as SciPy chooses it.

    Source: E. Hairer, S. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section II.4.
    """
    length = xp.abs(p.bound - t)
    scale = p.atol + xp.abs(y) * p.rtol
    d0, d1 = norm(y / scale), norm(f / scale)
    small = (d0 < 1e-5) | (d1 < 1e-5)
    guess = xp.minimum(xp.where(small, 1e-6, 0.01 * d0 / xp.where(small, 1.0, d1)), length)
    ahead = p.slope(t + guess * p.direction, y + guess * p.direction * f)
    d2 = norm((ahead - f) / scale) / xp.where(guess == 0, 1.0, guess)
    flat = (d1 <= 1e-15) & (d2 <= 1e-15)
    largest = xp.where(flat, 1.0, xp.maximum(d1, d2))
    further = xp.where(flat, xp.maximum(1e-6, guess * 1e-3), (0.01 / largest) ** (1 / (order + 1)))
    return xp.minimum(xp.minimum(100 * guess, further), xp.minimum(length, p.max_step))


def least_step(p: Problem, t: Any) -> Any:
    """Return the step size below which a method gives up."""
    return 10 * xp.abs(xp.nextafter(t, p.direction * np.inf) - t)


def next_time(p: Problem, t: Any, size: Any) -> Any:
    """Return the end of a step of this size, at most the bound; the size itself has no derivative."""
    t_new = t + stop_gradient(size) * p.direction
    return xp.where(p.direction * (stop_gradient(t_new) - p.bound) > 0, p.bound, t_new)


def chosen(condition: Any, tree: Any, otherwise: Any) -> Any:
    """Choose one of two trees of tuples."""
    if not isinstance(tree, tuple):
        return xp.where(condition, tree, otherwise)
    parts = [chosen(condition, a, b) for a, b in zip(tree, otherwise, strict=True)]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


def attached(p: Problem, step: Function, values: Any, accepted: Any, inputs: Any) -> Any:
    """Return the values of a step with its derivative, which is taken where the step was accepted alone.

    `step(p, values, t, y, f, h)` gives the values. A rejected step may have left the domain of the equations. Its
    derivative may be infinite there, and must not meet the zeros of what was not chosen.
    """
    moving = [i for i, x in enumerate(p.params) if is_inexact(x.dtype)]

    @custom_jvp
    def value_of(values, accepted, inputs, params):
        return values

    @value_of.defjvp
    def derivative(primals, tangents):
        values, accepted, (t, y, f, h), params = primals
        _, _, moved, params_moved = tangents
        inside = chosen(accepted, values, _zeros(values))

        def again(t, y, f, h, *own):
            replaced = dict(zip(moving, own, strict=True))
            current = p.at([replaced.get(i, x) for i, x in enumerate(params)])
            return step(current, stop_gradient(inside), t, y, f, xp.where(accepted, h, 0.0))

        primal = (t, y, f, h, *[params[i] for i in moving])
        _, tangent = jvp(again, primal, (*moved, *[params_moved[i] for i in moving]))
        return value_of(*primals), tangent

    return value_of(values, accepted, inputs, list(p.params))


def _zeros(tree):
    """Return zeros like each array of a tuple."""
    return tuple([xp.zeros_like(x) for x in tree])
