"""Continuous adjoint: derivatives of a solution by an equation that is integrated backwards, without saved steps."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.scipy.integrate.problem import Problem
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.control_flow.loops import scan, while_loop
from anyshape.transforms.custom.custom_calls import closed_function
from anyshape.transforms.custom.custom_rules import custom_vjp
from anyshape.transforms.grad import vjp

Function = Callable[..., Any]


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
        pulled = _pulled(solver, problem(params, fixed), start, y, times, ys, cotangents[0])
        return *pulled, None, None

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
