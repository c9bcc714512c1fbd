"""L-BFGS as an optimiser of training loops: directions from the last differences of gradients, and a line search."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.optimize.transformations import GradientTransformation, Rate
from anyshape.transforms.control import ravel_pytree
from anyshape.transforms.control_flow.loops import while_loop

_DECREASE = 1e-4  # of the value that a step must reach, as a share of what the slope promises (Armijo)
_MAX_HALVINGS = 200


class LbfgsState(NamedTuple):
    """State of `lbfgs`: the number of updates, the last parameters and gradients, and differences of both.

    `steps` and `changes` have a row for each of the last updates, the latest last. `weights` are the inverses of their
    products, 0 for a row that is not used.
    """

    count: Any
    params: Any
    grads: Any
    steps: Any
    changes: Any
    weights: Any


def lbfgs(learning_rate: Rate | None = None, memory_size: int = 10) -> GradientTransformation:
    """Return L-BFGS: `update(grads, state, params, value=value, value_fn=function)`.

    `value` is that of the function at the parameters. Steps are halved until the value falls enough (Armijo). With a
    `learning_rate`, steps have that length, and neither is needed. Source: Nocedal and Wright, "Numerical optimization"
    (2006), algorithms 7.4 and 3.1.

    ArgumentError refuses an update without parameters, or without a function where steps are searched.

    >>> from anyshape import value_and_grad
    >>> from anyshape.optimize import apply_updates
    >>> rosenbrock = lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> optimiser, x = lbfgs(), np.array([-1.2, 1.0])
    >>> state = optimiser.init(x)
    >>> for _ in range(50):
    ...     value, slope = value_and_grad(rosenbrock)(x)
    ...     updates, state = optimiser.update(slope, state, x, value=value, value_fn=rosenbrock)
    ...     x = apply_updates(x, updates)
    >>> x.round(6)
    array([1., 1.])
    """
    if memory_size < 1:
        raise ArgumentError("lbfgs", "memory_size", f"is {memory_size}", "give 1 or more")

    def init(params) -> LbfgsState:
        x, _ = ravel_pytree(params)
        rows = np.zeros((memory_size, x.shape[0]), x.dtype)
        return LbfgsState(np.int64(0), x, np.zeros_like(x), rows, rows, np.zeros(memory_size, x.dtype))

    def update(grads, state: LbfgsState, params=None, **values) -> tuple[Any, LbfgsState]:
        if params is None:
            raise ArgumentError("lbfgs", "params", "is None", "pass the parameters to update")
        (x, tree_of), (g, _) = ravel_pytree(params), ravel_pytree(grads)
        state = _remembered(state, x, g)
        direction = -_times_inverse_hessian(g, state) * _first_scale(g, state.count)
        if learning_rate is not None:
            rate = learning_rate(state.count - 1) if callable(learning_rate) else learning_rate
        else:
            rate = _searched(x, g, direction, tree_of, **values)
        return tree_of(_as(x, rate * direction)), state

    return GradientTransformation(init, update)


def _as(x, y):
    return y.astype(x.dtype)


def _remembered(state: LbfgsState, x, g) -> LbfgsState:
    """Return the state with the differences of this update in the last rows, if they have positive curvature."""
    step, change = x - state.params, g - state.grads
    product = np.sum(step * change)
    is_used = (state.count > 0) & (product > np.finfo(x.dtype).eps * np.sum(change * change))
    weight = np.where(is_used, 1 / np.where(is_used, product, 1), 0)

    def with_last(rows, row):
        return np.where(is_used, np.concatenate([rows[1:], _as(rows, np.reshape(row, (1, *rows.shape[1:])))]), rows)

    memory = with_last(state.steps, step), with_last(state.changes, change), with_last(state.weights, weight)
    return LbfgsState(state.count + 1, x, g, *memory)


def _times_inverse_hessian(g, state: LbfgsState):
    """Return the product of the approximate inverse Hessian and a gradient, by the two loops of algorithm 7.4."""
    rows = range(state.steps.shape[0])
    shares = {}
    for i in reversed(rows):
        shares[i] = state.weights[i] * np.sum(state.steps[i] * g)
        g = g - shares[i] * state.changes[i]
    last = state.changes[-1]
    weight = state.weights[-1] * np.sum(last * last)
    g = g * np.where(weight > 0, 1 / np.where(weight > 0, weight, 1), 1)
    for i in rows:
        back = state.weights[i] * np.sum(state.changes[i] * g)
        g = g + (shares[i] - back) * state.steps[i]
    return g


def _first_scale(g, count):
    """Return the factor that makes the first direction, a gradient, one of length 1 at most."""
    norm = np.sqrt(np.sum(g * g))
    return np.where((count == 1) & (norm > 1), 1 / np.maximum(norm, 1), 1)


def _searched(x, g, direction, tree_of: Callable[[Any], Any], value=None, value_fn: Callable[[Any], Any] | None = None):
    """Return the step length: 1, or its first halving at which the value falls enough; 0 if there is none."""
    if value is None or value_fn is None:
        problem = "is missing, and steps are searched for"
        raise ArgumentError("lbfgs", "value or value_fn", problem, "pass both to update, or give a learning_rate")
    slope = np.sum(g * direction)

    def is_too_long(state: tuple[Any, Any]):
        rate, halvings = state
        reached = value_fn(tree_of(_as(x, x + rate * direction)))
        return ~(reached <= value + _DECREASE * rate * slope) & (halvings < _MAX_HALVINGS)

    rate, halvings = while_loop(is_too_long, lambda state: (state[0] / 2, state[1] + 1), (1.0, 0))
    return np.where(halvings < _MAX_HALVINGS, rate, 0.0)
