"""Events of initial value problems: points of a solution where a function of it is zero.

A step with a change of sign is searched within its interpolant. The times have the derivative of the equation.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.scipy.integrate.runge_kutta import Problem, State
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.lazy_dataclass import dataclass
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.control_flow.conditionals import cond
from anyshape.transforms.control_flow.loops import while_loop
from anyshape.transforms.custom.implicit_solves import custom_root

Function = Callable[..., Any]
TERMINATED = 2  # status of a state whose solution an event has ended
_EPS = float(np.finfo(np.float64).eps)


class Log(NamedTuple):
    """Values of the functions of events, how often each has occurred, and where; and the end of the solution."""

    values: Any
    counts: Any
    times: Any
    states: Any
    end: Any
    end_state: Any


@dataclass(frozen=True, slots=True)
class Events:
    """Functions of (t, y) with the directions in which they pass zero, and how often before the solution ends."""

    functions: Sequence[Function]
    directions: np.ndarray
    limits: np.ndarray

    @property
    def can_end(self) -> bool:
        """True if an event may end the solution."""
        return bool(np.any(np.isfinite(self.limits)))

    def at(self, t: Any, y: Any) -> Any:
        """Return the values of all functions."""
        return xp.stack([real_floats(f(t, y)).reshape(()) for f in self.functions])

    def start(self, p: Problem, t: Any, y: Any) -> Log:
        """Return the log at the initial point."""
        count = len(self.functions)
        values = stop_gradient(self.at(stop_gradient(t), stop_gradient(y)))
        times, states = (tuple([x[None][:0]] * count) for x in (t, y))
        return Log(values, xp.zeros(count, np.int64), times, states, p.direction * np.inf, y)

    def after(self, solver: Any, p: Problem, s: State, log: Log) -> tuple[State, Log]:
        """Return the state and the log after an attempt of a step, with the events of the step if it was accepted."""
        accepted = ~s.control[-1]
        t, y = stop_gradient((s.t, s.y))
        values = xp.where(accepted, stop_gradient(self.at(t, y)), log.values)
        up = (log.values <= 0) & (values >= 0) & (self.directions >= 0)
        down = (log.values >= 0) & (values <= 0) & (self.directions <= 0)
        active = (up | down) & accepted
        counts = log.counts + active
        rows = cond(xp.any(active), lambda: solver.interpolant(p, s), lambda: xp.zeros_like(solver.interpolant(p, s)))
        points = [self._point(f, solver, s, rows, active[i]) for i, f in enumerate(self.functions)]
        order = p.direction * stop_gradient(xp.stack([time for time, _ in points]))
        ends = active & (counts >= self.limits)
        last = xp.argmin(xp.where(ends, order, np.inf))
        position = np.arange(len(points))
        is_before = (order < order[last]) | ((order == order[last]) & (position <= last))
        seen = active & (is_before | ~xp.any(ends))
        times, states = (
            tuple([_longer(xs, point[k], seen[i]) for i, (xs, point) in enumerate(zip(old, points, strict=True))])
            for k, old in enumerate((log.times, log.states))
        )
        ended = xp.any(ends)
        end, end_state = (xp.stack([point[k] for point in points])[last] for k in range(2))
        end, end_state = xp.where(ended, end, log.end), xp.where(ended, end_state, log.end_state)
        status = xp.where(ended, TERMINATED, s.status)
        return s._replace(status=status), Log(values, counts, times, states, end, end_state)

    def _point(self, function: Function, solver, s: State, rows, active) -> tuple[Any, Any]:
        """Return the time and state of an event in the last step; those at its end where there is none."""
        h = s.t - s.t_old

        def state_at(time):
            part = (time - s.t_old) / xp.where(h == 0, 1.0, h)
            return s.y_old + solver.interpolated(rows, part)

        def value(time):
            return real_floats(function(time, state_at(time))).reshape(())

        def searched() -> tuple[Any, Any]:
            search = lambda f, guess: _root(f, stop_gradient(s.t_old), stop_gradient(s.t))
            slope = lambda linear: xp.where(active, linear(1.0), 1.0)
            time = custom_root(value, s.t, search, lambda linear, y: y / slope(linear))
            return time, state_at(time)

        return cond(active, searched, lambda: (s.t, s.y))


def _longer(rows, row, is_there):
    """Return rows with a further one, if it is there."""
    return xp.concatenate([rows, row[None][xp.flatnonzero(is_there[None])]])


def events_of(events: Any, args: Any) -> Events | None:
    """Return the events of a call, whose functions take further arguments."""
    if events is None:
        return None
    functions = [events] if callable(events) else list(events)
    limits = [_limit(getattr(f, "terminal", None)) for f in functions]
    directions = np.array([getattr(f, "direction", 0) for f in functions], np.float64)
    bound = [lambda t, y, f=f: f(t, y, *args) for f in functions]
    return Events(bound, directions, np.array(limits)) if functions else None


def _limit(terminal) -> float:
    """Return how many times an event occurs before the solution ends."""
    if terminal is None or terminal is False or terminal == 0:
        return np.inf
    if int(terminal) != terminal or terminal < 0:
        raise ArgumentError("solve_ivp", f"terminal={terminal!r}", "is no count", "set a boolean or a positive integer")
    return float(terminal)


def _root(f: Function, low, high):
    """Return where a function of different signs at two points is zero.

    Source: T. Chandrupatla, Advances in Engineering Software 28, 1997: parabolas by inverse interpolation, and halves.
    """

    def narrowed(carry):
        a, b, c, fa, fb, fc, part, _, k = carry
        x = a + part * (b - a)
        fx = f(x)
        same = (fx > 0) == (fa > 0)
        c, fc = xp.where(same, a, b), xp.where(same, fa, fb)
        b, fb = xp.where(same, b, a), xp.where(same, fb, fa)
        a, fa = x, fx
        nearest = xp.where(xp.abs(fa) < xp.abs(fb), a, b)
        least = (2 * _EPS * xp.abs(nearest) + 2 * _EPS) / _nonzero(xp.abs(b - a))
        xi, phi = (a - b) / _nonzero(c - b), (fa - fb) / _nonzero(fc - fb)
        is_smooth = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        curved = fa / _nonzero(fb - fa) * fc / _nonzero(fb - fc)
        curved = curved + (c - a) / _nonzero(b - a) * fa / _nonzero(fc - fa) * fb / _nonzero(fc - fb)
        part = xp.clip(xp.where(is_smooth, curved, 0.5), least, 1 - least)
        done = (least > 0.5) | (fa == 0) | (fb == 0)
        return a, b, c, fa, fb, fc, part, done, k + 1

    at_low, at_high = f(low), f(high)
    start = (high, low, low, at_high, at_low, at_low, np.float64(0.5), (at_low == 0) | (at_high == 0), 0)
    a, b, _, fa, fb, *_ = while_loop(lambda c: ~c[7] & (c[8] < 100), narrowed, start)
    near = xp.where(xp.abs(fa) < xp.abs(fb), a, b)
    return xp.where(at_low == 0, low, near)


def _nonzero(x):
    return xp.where(x == 0, 1.0, x)
