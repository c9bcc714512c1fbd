"""Define `solve_ivp` and `odeint`: solutions of initial value problems in loops whose steps the error chooses.

Continuous adjoint: derivatives of a solution by an equation that is integrated backwards, without saved steps.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.numpy.serve import refuse
from anyshape.scipy.integrate.bdf import BDF
from anyshape.scipy.integrate.events import TERMINATED, Events, events_of
from anyshape.scipy.integrate.radau import Radau
from anyshape.scipy.integrate.runge_kutta import Problem, RungeKutta, State
from anyshape.scipy.operands.conversion import FixedAttributes, Result, real_floats
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import scipy_integrate
from anyshape.tracing.pytrees import check_callable, register_class
from anyshape.tracing.trace import as_value, is_inexact
from anyshape.transforms.control import check, stop_gradient
from anyshape.transforms.control_flow.loops import scan, while_loop
from anyshape.transforms.custom.custom_calls import closed_function
from anyshape.transforms.custom.custom_rules import custom_vjp
from anyshape.transforms.grad import vjp

Function = Callable[..., Any]
METHODS: dict[str, Any] = {"RK23": RungeKutta("RK23"), "RK45": RungeKutta("RK45"), "DOP853": RungeKutta("DOP853")}
METHODS |= {"Radau": Radau(), "BDF": BDF()}
_LSODA = 1.49012e-8  # tolerance of odeint
_EPS = float(np.finfo(np.float64).eps)


def solve_ivp(
    fun: Function,
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Return the solution of dy/dt = fun(t, y, *args) from y(t0) = y0, with SciPy's steps and interpolants.

    - `t_span` is (t0, end). `t_eval` are the times of the solution, by default the ends of all steps.
    - `method` is "RK45", "RK23", "DOP853", or "Radau" and "BDF" for stiff equations.
    - `events` are functions of (t, y, *args), with SciPy's attributes `terminal` and `direction`. `t_events` and
      `y_events` have run-time sizes, and so has the solution where an event may end it.
    - `options` are `rtol`, `atol`, `first_step`, `max_step` and, for "Radau" and "BDF", `jac`: exact by default.
    - `checkpoint` is that of `while_loop`: how much reverse mode saves of the steps.
    - `adjoint="continuous"` integrates the adjoint equation backwards instead. It needs `t_eval`.

    The steps that were taken are differentiated, by `t_span`, `t_eval`, `y0`, `args`, and by what `fun` closes over.
    The choice of their sizes has no derivative. Outside of a trace SciPy itself solves.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import integrate
    >>> def end(rate):
    ...     options = {"t_eval": np.array([2.0]), "rtol": 1e-9, "atol": 1e-9}
    ...     return integrate.solve_ivp(lambda t, y: -rate * y, (0, 2), np.ones(1), **options).y[0, 0]
    >>> print(round(float(grad(end)(0.5)), 7), round(-2 * np.exp(-1), 7))
    -0.7357589 -0.7357589
    """
    if active() is None:
        own = {k: v for k, v in options.items() if k not in ("checkpoint", "adjoint")}
        return scipy_integrate.solve_ivp(fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **own)
    check_callable("solve_ivp", fun)
    further = () if args is None else args if isinstance(args, tuple) else (args,)
    if method == "LSODA":
        why = "is the Fortran code of SciPy, which has no derivative"
        advice = "use 'BDF' or 'Radau', or 'DOP853' where it is not stiff"
        raise ArgumentError("solve_ivp", "method='LSODA'", why, advice)
    solver = METHODS[choice_of("solve_ivp", "method", method, tuple(METHODS))]
    settings = _settings("solve_ivp", options)
    start, y, problem = _problem("solve_ivp", fun, t_span, y0, further, solver, settings)
    run = _Run(solver, problem, settings["first_step"], settings["checkpoint"], events_of(events, further))
    continuous = settings["adjoint"] == "continuous"
    if continuous and events is not None:
        raise ArgumentError("solve_ivp", "adjoint='continuous'", "has no events", "use the discrete adjoint")
    if t_eval is None:
        if continuous:
            raise ArgumentError("solve_ivp", "adjoint='continuous'", "needs the times of the solution", "give t_eval")
        return run.all_steps(start, y, dense_output)
    if dense_output:
        raise refuse("scipy.integrate.solve_ivp with both t_eval and dense_output")
    times = real_floats(t_eval)
    _check_times("solve_ivp", times, start, problem, strict=True)
    return run.result_at(start, y, times, continuous)


_OPTIONS = {
    "rtol": 1e-3, "atol": 1e-6, "first_step": None, "max_step": np.inf, "jac": None, "checkpoint": None,
    "adjoint": "discrete",
}  # fmt: skip


def _settings(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a call with their defaults."""
    if unknown := set(options) - set(_OPTIONS):
        raise ArgumentError(name, f"option {min(unknown)!r}", "is not available for traced functions", "leave it out")
    settings = {**_OPTIONS, **options}
    for option, holds in (("first_step", np.greater), ("max_step", np.greater), ("atol", np.greater_equal)):
        if (value := settings[option]) is not None and not is_traced(value) and not np.all(holds(value, 0)):
            raise ArgumentError(name, f"{option}={value!r}", "is too small", "pass a positive number")
    choice_of(name, "adjoint", settings["adjoint"], ("discrete", "continuous"))
    return settings


def _problem(
    name: str, fun: Function, t_span, y0, further, solver, settings: dict[str, Any]
) -> tuple[Any, Any, Problem]:
    """Return the initial time and state, and the problem with its equations as a graph."""
    is_pair = len(t_span) == 2 if isinstance(t_span, (list, tuple)) else np.ndim(t_span) == 1
    if not is_pair:
        advice = "give the first and the last time, as in (0.0, 10.0)"
        raise ArgumentError(name, "t_span", f"is {t_span!r:.40}, not a pair", advice)
    start, bound = (real_floats(x) for x in t_span)
    y = xp.asarray(y0)
    if y.ndim != 1:
        raise ArgumentError(name, "y0", f"has {y.ndim} axes", "pass a vector")
    is_complex = y.dtype.kind == "c"
    if is_complex and not solver.supports_complex:
        raise ArgumentError(
            name, "y0", "is complex, which the method does not support", "use 'BDF' or an explicit method"
        )
    y = y.astype(np.complex128 if is_complex else np.float64)

    def slope(t, y):
        return xp.broadcast_to(xp.asarray(fun(t, y, *further), y.dtype), y.shape)

    equations, params = closed_function(name, slope, start, y)
    direction = stop_gradient(xp.where(bound == start, 1.0, xp.sign(bound - start)))
    rtol = xp.maximum(settings["rtol"], 100 * _EPS)
    atol = stop_gradient(real_floats(settings["atol"]))
    max_step = stop_gradient(settings["max_step"])
    jacobian = settings["jac"]
    if callable(jacobian):
        jacobian = lambda t, y: settings["jac"](t, y, *further)
    return start, y, Problem(equations, params, bound, direction, stop_gradient(rtol), atol, max_step, jacobian)


def _check_times(name: str, times, start, p: Problem, *, strict: bool) -> None:
    """Check that times increase in the direction of the steps, within the span."""
    ahead = p.direction * (times - start)
    inside = (ahead >= 0) & (p.direction * (p.bound - times) >= 0)
    check(inside, f"{name}: a time of the solution is outside of the span")
    sorted_ = ahead[1:] > ahead[:-1] if strict else ahead[1:] >= ahead[:-1]
    check(sorted_, f"{name}: the times of the solution are not sorted")


@dataclass(frozen=True, slots=True)
class _Run:
    """Method on a problem, with the first step size and what reverse mode saves of the steps."""

    solver: Any
    problem: Problem
    size: Any
    checkpoint: Any
    events: Events | None = None

    def start(self, t: Any, y: Any) -> tuple[State, Any]:
        """Return the state at the initial point, and the log of events, () without any."""
        state: State = self.solver.start(self.problem, t, y, self.size)
        return state, () if self.events is None else self.events.start(self.problem, t, y)

    def attempt(self, point: tuple[State, Any]) -> tuple[State, Any]:
        """Attempt a step, and search it for events."""
        state, log = point
        after = self.solver.attempt(self.problem, state)
        return (after, log) if self.events is None else self.events.after(self.solver, self.problem, after, log)

    def advanced(self, point: Any, is_short: Function) -> Any:
        """Attempt steps while the state is short of what is wanted."""
        unfinished = lambda point: (point[0].status == 0) & is_short(stop_gradient(point[0].t))
        return while_loop(unfinished, self.attempt, point, checkpoint=self.checkpoint)

    def at_times(self, t: Any, y: Any, times: Any) -> tuple[Any, State, Any]:
        """Return the solution at given times, in rows, the last state, and the log. Times do not change steps."""
        p = self.problem

        def output(point, time) -> tuple[Any, Any]:
            point = self.advanced(point, lambda t: p.direction * (t - stop_gradient(time)) < 0)
            state, log = point
            reached = p.direction * (state.t - time) >= 0
            if self.events is not None:
                reached = reached & (p.direction * (log.end - time) >= 0)
            h = state.t - state.t_old
            part = (time - state.t_old) / xp.where(h == 0, 1.0, h)
            y = state.y_old + self.solver.interpolated(self.solver.interpolant(p, state), part)
            return point, xp.where(reached, y, np.nan)

        point, ys = scan(output, self.start(t, y), times, checkpoint=self.checkpoint)
        return ys, *self.advanced(point, lambda t: np.True_)

    def result_at(self, t: Any, y: Any, times: Any, continuous: bool) -> Result:
        """Return the solution at given times, those up to an event that ends it."""
        if not continuous:
            ys, state, log = self.at_times(t, y, times)
            if self.events is not None and self.events.can_end:
                before = xp.flatnonzero(self.problem.direction * (log.end - times) >= 0)
                times, ys = xp.take(times, before), ys[before]
            return _result(state, times, ys.T, None, log)

        solver, checkpoint = self.solver, self.checkpoint

        def run(problem: Problem, size, t, y, times):
            ys, state, _ = _Run(solver, problem, size, checkpoint).at_times(t, y, times)
            return ys, (state.nfev, state.njev, state.nlu, state.status)

        if y.dtype.kind == "c":
            raise ArgumentError("solve_ivp", "adjoint='continuous'", "needs real states", "use the discrete adjoint")
        ys, counts = with_continuous_adjoint(solver, self.problem, self.size, run, t, y, times)
        return _result(State(t, y, None, t, y, None, None, counts[3], *counts[:3]), times, ys.T, None)

    def all_steps(self, t: Any, y: Any, dense_output: bool) -> Result:
        """Return the solution at the end of each step, and its interpolant if it is wanted."""
        first = self.start(t, y)
        state = first[0]
        rows = self.solver.interpolant(self.problem, state)[None]
        none = (
            state.t[None][:0],
            state.y[None][:0],
            *((rows[:0], state.t[None][:0]) if dense_output else (None, None)),
        )

        def attempt(carry):
            point, steps = carry
            point = self.attempt(point)
            after, log = point
            accepted = xp.flatnonzero(~after.control[-1][None])  # the step, or nothing
            end, y_end = after.t, after.y
            if self.events is not None:
                ended = after.status == TERMINATED
                end, y_end = xp.where(ended, log.end, end), xp.where(ended, log.end_state, y_end)
            dense = (
                (self.solver.interpolant(self.problem, after), after.t - after.t_old) if dense_output else (None, None)
            )
            step = (end, y_end, *dense)
            return point, tuple([_longer(xs, x, accepted) for xs, x in zip(steps, step, strict=True)])

        unfinished = lambda carry: carry[0][0].status == 0
        carry = while_loop(unfinished, attempt, (first, none), checkpoint=self.checkpoint)
        (after, log), (times, ys, rows, widths) = carry
        times, ys = xp.concatenate([state.t[None], times]), xp.concatenate([state.y[None], ys])
        solution = None
        if dense_output:
            solution = OdeSolution(self.solver.name, times, ys, rows, widths, self.problem.direction)
        return _result(after, times, ys.T, solution, log)


def _longer(rows, row, accepted):
    """Return rows with a further one, if it was accepted."""
    return None if rows is None else xp.concatenate([rows, row[None][accepted]])


class OdeSolution(FixedAttributes):
    """Interpolant of all steps: a function of times, and a tree of arrays."""

    def __init__(self, method: str, ts: Any, ys: Any, rows: Any, widths: Any, direction: Any) -> None:
        self.method, self.ts, self.ys, self.rows, self.widths, self.direction = method, ts, ys, rows, widths, direction

    def __call__(self, t: Any) -> Any:
        """Return the solution at times t, of shape (n,) or (n, number of times)."""
        t = real_floats(t)
        parts = self.ts, self.ys, self.rows, self.widths
        ts, ys, rows, widths = (x if active() is None else as_value(x) for x in parts)
        side = "right" if self.method == "BDF" else "left"  # of the times between two steps, as SciPy chooses it
        after = xp.searchsorted(self.direction * ts, self.direction * t, side)
        step = xp.clip(after - 1, 0, rows.shape[0] - 1)
        h = widths[step]
        part = ((t - ts[step]) / xp.where(h == 0, 1.0, h))[..., None]
        moved = METHODS[self.method].interpolated(xp.moveaxis(rows[step], -2, 0), part)
        return (ys[step] + moved).T


register_class(
    OdeSolution,
    lambda x: ((x.ts, x.ys, x.rows, x.widths, x.direction), x.method),
    lambda method, parts: OdeSolution(method, *parts),
)


def _result(state: State, times, ys, interpolant, log=()) -> Result:
    """Return the result of a run that is over."""
    failed = state.status < 0
    events: dict[str, Any] = {"t_events": None, "y_events": None}
    if log:
        events = {"t_events": list(log.times), "y_events": list(log.states)}
    return Result(
        t=times, y=ys, sol=interpolant, **events, nfev=state.nfev, njev=state.njev, nlu=state.nlu,
        status=xp.where(failed, -1, xp.where(state.status == TERMINATED, 1, 0)), success=~failed,
    )  # fmt: skip


def odeint(
    func: Function,
    y0: Any,
    t: Any,
    args: Any = (),
    *positional: Any,
    rtol: Any = None,
    atol: Any = None,
    h0: Any = 0.0,
    hmax: Any = 0.0,
    tfirst: bool = False,
    checkpoint: Any = None,
    adjoint: str = "discrete",
    **options: Any,
) -> Any:
    """Return the solution of dy/dt = func(y, t, *args) at the times t, in rows; it starts from y0 at the first of them.

    Inside of a trace the method is "DOP853" of `solve_ivp`, and options of LSODA raise UnsupportedFunctionError. Use
    `solve_ivp` with "Radau" for stiff equations. `checkpoint` and `adjoint` are as in `solve_ivp`.
    """
    if active() is None:
        named = {"rtol": rtol, "atol": atol, "h0": h0, "hmax": hmax, "tfirst": tfirst} if not positional else {}
        return scipy_integrate.odeint(func, y0, t, args, *positional, **named, **options)
    if used := [name for name, value in options.items() if value] + ["options of LSODA"] * bool(positional):
        raise refuse(f"scipy.integrate.odeint with {used[0]}")
    further = args if isinstance(args, tuple) else (args,)
    slope = (lambda t, y: func(t, y, *further)) if tfirst else (lambda t, y: func(y, t, *further))
    defaults = {"rtol": _LSODA, "atol": _LSODA, "first_step": None, "max_step": np.inf}
    values = {"rtol": rtol, "atol": atol, "first_step": h0 or None, "max_step": hmax or None}
    settings = defaults | {k: v for k, v in values.items() if v is not None}
    settings = _settings("odeint", settings | {"checkpoint": checkpoint, "adjoint": adjoint})
    times = real_floats(t)
    solver = METHODS["DOP853"]
    start, y, problem = _problem("odeint", slope, (times[0], times[-1]), xp.ravel(y0), (), solver, settings)
    _check_times("odeint", times, start, problem, strict=False)
    run = _Run(solver, problem, settings["first_step"], checkpoint)
    return run.result_at(start, y, times, adjoint == "continuous").y.T


def with_continuous_adjoint(solver: Any, p: Problem, size: Any, run: Function, start: Any, y: Any, times: Any) -> Any:
    """Return what `run(problem, size, start, y, times)` gives, states in rows first, with the equations' derivative.

    Rules see values in variables and arguments alone, so the traced parts of the problem are arguments.
    """
    equations, max_step = p.equations, p.max_step
    fixed = tuple([stop_gradient(x) for x in (p.bound, p.direction, p.rtol, p.atol)])

    def problem(params, fixed) -> Problem:
        bound, direction, rtol, atol = fixed
        return Problem(equations, params, bound, direction, rtol, atol, max_step, None)

    @custom_vjp
    def solution(start, y, times, params, fixed, size):
        return run(problem(params, fixed), size, start, y, times)

    def forward(start, y, times, params, fixed, size):
        results = run(problem(params, fixed), size, start, y, times)
        return results, (start, y, times, params, fixed, results[0])

    def backward(residuals, cotangents):
        start, y, times, params, fixed, ys = residuals
        return *_pulled(solver, problem(params, fixed), start, y, times, ys, cotangents[0]), None, None

    solution.defvjp(forward, backward)
    return solution(start, y, times, list(p.params), fixed, size)


def _pulled(solver, p: Problem, start, y, times, ys, cts):
    """Return the cotangents of the initial time and state, of the times, and of the parameters.

    Source: R. Chen et al., Neural Ordinary Differential Equations, 2018, appendix B.
    """
    count = y.shape[0]
    moving = [i for i, x in enumerate(p.params) if is_inexact(x.dtype)]
    own = [p.params[i] for i in moving]

    def slope(t, v):
        """Return the slopes of the state, of its adjoint, and of the cotangents of the parameters."""
        dy, pull = vjp(lambda y, *own: _replaced(p, moving, own).slope(t, y), v[:count], *own)
        pulled = pull(v[count : 2 * count])
        return xp.concatenate([dy, *[-xp.ravel(x) for x in pulled]])

    def back(carry: tuple[Any, Any], point):
        a, q = carry
        time, before, y, ct = point
        a = a + ct
        equations, values = closed_function("adjoint", slope, time, xp.concatenate([y, a, q]))
        direction = xp.where(before == time, -p.direction, xp.sign(before - time))
        backwards = Problem(equations, values, before, direction, p.rtol, xp.min(p.atol), p.max_step, None)
        state = solver.start(backwards, time, xp.concatenate([y, a, q]), None)
        state = while_loop(lambda s: s.status == 0, lambda s: solver.attempt(backwards, s), state)
        v = xp.where(state.status == 1, state.y, np.nan)
        return (v[count : 2 * count], v[2 * count :]), xp.sum(p.slope(time, y) * ct)

    zeros = xp.zeros(sum([x.size for x in own], 0))
    earlier = xp.concatenate([start[None], times[:-1]])
    (a, q), moved = scan(back, (xp.zeros_like(y), zeros), (times, earlier, ys, cts), reverse=True)
    pieces: list[Any] = [None] * len(p.params)
    position = 0
    for i, x in zip(moving, own, strict=True):
        pieces[i] = xp.reshape(q[position : position + x.size], x.shape).astype(x.dtype)
        position = position + x.size
    return -xp.sum(p.slope(start, y) * a), a, moved, pieces


def _replaced(p: Problem, moving: Sequence[int], own: Sequence[Any]) -> Problem:
    """Return the problem with other values of its real parameters."""
    values = dict(zip(moving, own, strict=True))
    return p.at([values.get(i, x) for i, x in enumerate(p.params)])
