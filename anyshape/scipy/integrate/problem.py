"""Initial value problems: the equations, what steps need of them, and the state between two attempts of a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from anyshape import numpy as xp
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.support.lazy_dataclass import dataclass
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.control import stop_gradient
from anyshape.transforms.custom.custom_calls import ClosedFunction
from anyshape.transforms.custom.custom_rules import custom_jvp
from anyshape.transforms.grad import jvp

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
