"""Optimisers of training loops: pure functions from gradients to updates of parameters, which are trees.

An optimiser is a pair of functions, as in optax. `init(params)` gives its state, a tree of arrays. `update(grads,
state, params)` gives updates, to be added to the parameters, and the next state. Both run on arrays and while tracing,
at any sizes, so a whole training step is one jitted function. Parameters keep their dtypes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.tracing.pytrees import map_trees, tree_leaves, tree_map

Rate = float | Callable[[Any], Any]  # a number, or a schedule


class GradientTransformation(NamedTuple):
    """Optimiser, or a part of one.

    - `init(params)` returns the first state.
    - `update(grads, state, params=None, **values)` returns the updates and the next state. `values` are for a part that
      asks for them, as `lbfgs` does.

    >>> halve = GradientTransformation(lambda params: (), lambda grads, state, params=None: (grads / 2, state))
    >>> halve.update(np.ones(2), halve.init(np.zeros(2)))[0].tolist()
    [0.5, 0.5]
    """

    init: Callable[[Any], Any]
    update: Callable[..., tuple[Any, Any]]


@short_traceback
def apply_updates(params: Any, updates: Any) -> Any:
    """Return parameters with their updates added, each in the dtype of the parameter.

    >>> apply_updates({"w": np.ones(2)}, {"w": np.full(2, -0.5)})
    {'w': array([0.5, 0.5])}
    """
    add = lambda p, u: p + (u.astype(p.dtype) if hasattr(p, "dtype") else u)
    return map_trees("apply_updates", ("updates",), "pass the updates of these parameters", add, params, updates)


def _shown(init: Callable[[Any], Any], update: Callable[..., tuple[Any, Any]]) -> GradientTransformation:
    """Return a transformation whose errors have short tracebacks."""
    return GradientTransformation(short_traceback(init), short_traceback(update))


def _with(name: str, function: Callable[..., Any], grads, other):
    """Return a tree of gradients combined with another one, which errors call by its name."""
    return map_trees("update", (name,), "give gradients of the parameters that `init` took", function, grads, other)


def chain(*transformations: GradientTransformation) -> GradientTransformation:
    """Return the transformation that applies several, one after the other.

    >>> clipped = chain(clip_by_global_norm(1.0), sgd(0.1))
    >>> params = np.array([3.0, 4.0])
    >>> clipped.update(params, clipped.init(params))[0].round(3)
    array([-0.06, -0.08])
    """

    def init(params):
        return tuple([t.init(params) for t in transformations])

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        states = []
        for t, own in zip(transformations, state, strict=True):
            grads, own = t.update(grads, own, params, **values)
            states.append(own)
        return grads, tuple(states)

    return _shown(init, update)


# -- parts


def scale(factor: float) -> GradientTransformation:
    """Return the transformation that multiplies gradients by a number.

    >>> halve = scale(0.5)
    >>> halve.update(np.array([2.0, -4.0]), ())[0]
    array([ 1., -2.])
    """
    return _stateless(lambda g: g * factor)


def scale_by_learning_rate(learning_rate: Rate) -> GradientTransformation:
    """Return the transformation that multiplies gradients by `-learning_rate`, a number or a schedule.

    A schedule is called with the number of updates before this one. The state is that number.

    >>> step = scale_by_learning_rate(0.5)
    >>> step.update(np.array([2.0, -4.0]), step.init(np.zeros(2)))[0]
    array([-1.,  2.])
    """
    if not callable(learning_rate):
        return scale(-learning_rate)

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        rate = learning_rate(state)
        return tree_map(lambda g: g * _cast(-rate, g), grads), state + 1

    return _shown(lambda params: np.int64(0), update)


def clip(max_delta: float) -> GradientTransformation:
    """Return the transformation that clips each element of gradients to `[-max_delta, max_delta]`.

    >>> clip(1.0).update(np.array([0.5, -3.0]), ())[0]
    array([ 0.5, -1. ])
    """
    return _stateless(lambda g: np.clip(g, -max_delta, max_delta))


def clip_by_global_norm(max_norm: float) -> GradientTransformation:
    """Return the transformation that scales gradients down so that their `global_norm` is at most `max_norm`.

    Source: Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks" (2013).

    >>> clip_by_global_norm(1.0).update(np.array([3.0, 4.0]), ())[0].round(3)
    array([0.6, 0.8])
    """

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        norm = global_norm(grads)
        factor = np.where(norm < max_norm, 1.0, max_norm / np.maximum(norm, np.finfo(np.float64).tiny))
        return tree_map(lambda g: g * _cast(factor, g), grads), state

    return _shown(lambda params: (), update)


def global_norm(tree: Any) -> Any:
    """Return the Euclidean norm of all elements of a tree of arrays.

    >>> float(global_norm({"w": np.array([3.0]), "b": 4.0}))
    5.0
    """
    total: Any = 0.0
    for leaf in tree_leaves(tree):
        total = total + np.sum(np.absolute(leaf) ** 2)
    return np.sqrt(total)


def add_decayed_weights(weight_decay: float) -> GradientTransformation:
    """Return the transformation that adds `weight_decay` times the parameters to gradients.

    >>> add_decayed_weights(0.1).update(np.zeros(2), (), np.array([1.0, 2.0]))[0]
    array([0.1, 0.2])
    """

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        if params is None:
            raise ArgumentError("add_decayed_weights", "params", "is None", "pass the parameters to update")
        return _with("params", lambda g, p: g + weight_decay * p, grads, params), state

    return _shown(lambda params: (), update)


def trace_momentum(decay: float, nesterov: bool = False) -> GradientTransformation:
    """Return the transformation that adds `decay` times its last result to gradients: heavy-ball momentum.

    With `nesterov`, a step looks ahead: Sutskever et al., "On the importance of initialization and momentum" (2013).

    >>> heavy = trace_momentum(0.5)
    >>> first, state = heavy.update(np.ones(2), heavy.init(np.zeros(2)))
    >>> heavy.update(np.ones(2), state)[0]
    array([1.5, 1.5])
    """

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        momentum = _with("the state", lambda g, m: g + decay * m, grads, state)
        return (tree_map(lambda g, m: g + decay * m, grads, momentum) if nesterov else momentum), momentum

    return _shown(_zeros, update)


class AdamState(NamedTuple):
    """State of `scale_by_adam`: the number of updates, and the means of gradients and of their squares."""

    count: Any
    mean: Any
    square: Any


def scale_by_adam(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> GradientTransformation:
    """Return the transformation that divides means of gradients by roots of means of their squares.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.

    >>> scaled = scale_by_adam()
    >>> updates, state = scaled.update(np.array([0.1, -10.0]), scaled.init(np.zeros(2)))
    >>> updates.round(4).tolist()
    [1.0, -1.0]
    """

    def init(params) -> AdamState:
        return AdamState(np.int64(0), _zeros(params), _zeros(tree_map(np.real, params)))

    def update(grads, state: AdamState, params=None, **values) -> tuple[Any, AdamState]:
        count = state.count + 1
        mean = _with("the state", lambda g, m: b1 * m + (1 - b1) * g, grads, state.mean)
        square = _with("the state", lambda g, v: b2 * v + (1 - b2) * np.absolute(g) ** 2, grads, state.square)
        of_mean, of_square = 1 - b1**count, 1 - b2**count

        def scaled(m, v):
            return m / _cast(of_mean, m) / (np.sqrt(v / _cast(of_square, v)) + eps)

        return tree_map(scaled, mean, square), AdamState(count, mean, square)

    return _shown(init, update)


# -- optimisers


def sgd(learning_rate: Rate, momentum: float | None = None, nesterov: bool = False) -> GradientTransformation:
    """Return stochastic gradient descent, with heavy-ball or Nesterov momentum if `momentum` is a number.

    >>> descent = sgd(0.5)
    >>> updates, _ = descent.update(np.array([1.0, -2.0]), descent.init(np.zeros(2)))
    >>> updates
    array([-0.5,  1. ])
    """
    if momentum is None:
        return scale_by_learning_rate(learning_rate)
    return chain(trace_momentum(momentum, nesterov), scale_by_learning_rate(learning_rate))


def adam(learning_rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> GradientTransformation:
    """Return Adam: see `scale_by_adam`.

    >>> from anyshape import grad, jit
    >>> optimiser, params = adam(0.1), {"w": np.zeros(3)}
    >>> @jit
    ... def step(params, state, target):
    ...     slope = grad(lambda p: np.sum((p["w"] - target) ** 2))(params)
    ...     updates, state = optimiser.update(slope, state, params)
    ...     return apply_updates(params, updates), state
    >>> state = optimiser.init(params)
    >>> for _ in range(200):
    ...     params, state = step(params, state, np.array([1.0, -2.0, 0.5]))
    >>> params["w"].round(3)
    array([ 1. , -2. ,  0.5])
    """
    return chain(scale_by_adam(b1, b2, eps), scale_by_learning_rate(learning_rate))


def adamw(
    learning_rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-4
) -> GradientTransformation:
    """Return Adam with decoupled weight decay, whose `update` needs the parameters.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization" (2019).

    >>> optimiser, params = adamw(0.1, weight_decay=0.5), np.array([1.0, -2.0])
    >>> optimiser.update(np.array([3.0, 0.0]), optimiser.init(params), params)[0].round(3)
    array([-0.15,  0.1 ])
    """
    decay = add_decayed_weights(weight_decay)
    return chain(scale_by_adam(b1, b2, eps), decay, scale_by_learning_rate(learning_rate))


# -- helpers


def _stateless(function: Callable[[Any], Any]) -> GradientTransformation:
    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        return tree_map(function, grads), state

    return _shown(lambda params: (), update)


def _zeros(params):
    return tree_map(lambda p: np.zeros_like(p)[()], params)  # a scalar as steps give it: one trace serves all


def _cast(number, like):
    """Return a scalar in the precision of an array, so that float32 parameters stay such."""
    return number.astype(like.real.dtype) if hasattr(number, "astype") and hasattr(like, "dtype") else number
