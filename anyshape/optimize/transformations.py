"""Optimisers of training loops: pure functions from gradients to updates of parameters, which are trees.

An optimiser is a pair of functions, as in optax. `init(params)` gives its state, a tree of arrays. `update(grads,
state, params)` gives updates, to be added to the parameters, and the next state. Both run on arrays and while tracing,
at any sizes, so a whole training step is one jitted function. Parameters keep their dtypes.

Schedules: functions from the number of a step to a rate, for optimisers of training loops.

The number is a Python int, an integer array or a traced value. The rate is a float or a scalar.

L-BFGS as an optimiser of training loops: directions from the last differences of gradients, and a line search.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.support import elsewhere
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import map_trees, tree_leaves, tree_map
from anyshape.transforms.control import ravel_pytree
from anyshape.transforms.control_flow.loops import while_loop

T = TypeVar("T")
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


GradientTransformation.__getattr__ = elsewhere.no_method  # type: ignore[attr-defined]


@short_traceback
def apply_updates(params: T, updates: Any) -> T:
    """Return parameters with their updates added, each in the dtype of the parameter.

    >>> apply_updates({"w": np.ones(2)}, {"w": np.full(2, -0.5)})
    {'w': array([0.5, 0.5])}
    """
    advice = "pass the updates of these parameters"

    def add(p, u):
        if hasattr(p, "dtype") and p.dtype.kind in "biu" and getattr(u, "dtype", p.dtype).kind == "f":
            problem = f"has the dtype {p.dtype}, in which no small step counts"
            raise ArgumentError("apply_updates", "params", problem, "begin with floats: w.astype(float)")
        return p + (u.astype(p.dtype) if hasattr(p, "dtype") else u)

    try:
        updated: T = map_trees("apply_updates", ("updates",), advice, add, params, updates)
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError("apply_updates", "updates", f"do not fit: {error}", advice) from None
    return updated


def _shown(init: Callable[[Any], Any], update: Callable[..., tuple[Any, Any]]) -> GradientTransformation:
    """Return a transformation whose errors have short tracebacks, and name the functions as users write them."""
    begin = lambda params: init(_checked(params))

    def step(grads, state, params=None, **values) -> tuple[Any, Any]:
        if not tree_leaves(grads) and (callable(grads) or tree_leaves(state)):
            problem, advice = f"is {_shown_type(grads)}, not gradients", "write update(grad(f)(params), state, params)"
            raise ArgumentError("update", "grads", problem, advice)
        result = update(grads, state, params, **values)
        if params is not None:
            _with("params", lambda g, p: g, grads, params)
        return result

    begin.__qualname__, step.__qualname__ = "init", "update"
    return GradientTransformation(short_traceback(begin), short_traceback(step))


def _checked(params: Any) -> Any:
    """Return parameters; raise ArgumentError for a function in their place."""
    if callable(params) and not tree_leaves(params):
        raise ArgumentError("init", "params", "is a function", "pass the parameters that are fitted, as in init(w)")
    return params


def _with(name: str, function: Callable[..., Any], grads, other):
    """Return a tree of gradients combined with another one of its shapes, which errors call by its name."""
    advice = "give gradients of the parameters that `init` took"

    def combined(g, x):
        if np.ndim(g) != np.ndim(x) or np.shape(g) != np.shape(x):
            raise ArgumentError("update", "grads", f"has the shape {np.shape(g)}, and {name} {np.shape(x)}", advice)
        return function(g, x)

    return map_trees("update", (name,), advice, combined, grads, other)


def _check_state(state: Any, kind: type, length: int) -> None:
    """Raise ArgumentError for what `init` did not make, such as gradients in its place."""
    if not issubclass(type(state), kind) or len(state) != length:
        advice = "call update(grads, state, params), with the state that `init` or the last update returned"
        raise ArgumentError("update", "state", f"is of type {type(state).__name__}", advice)


@short_traceback
def chain(*transformations: GradientTransformation) -> GradientTransformation:
    """Return the transformation that applies several, one after the other.

    >>> clipped = chain(clip_by_global_norm(1.0), sgd(0.1))
    >>> params = np.array([3.0, 4.0])
    >>> clipped.update(params, clipped.init(params))[0].round(3)
    array([-0.06, -0.08])
    """
    for i, t in enumerate(transformations):
        if not all(hasattr(t, name) for name in GradientTransformation._fields):
            advice = (
                f"write {getattr(t, '__name__', 'f')}(...)"
                if callable(t)
                else "give transformations, such as adam(1e-3)"
            )
            raise ArgumentError("chain", f"argument {i + 1}", f"is {_shown_type(t)}, not a transformation", advice)

    def init(params):
        return tuple([t.init(params) for t in transformations])

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        _check_state(state, tuple, len(transformations))
        states = []
        for t, own in zip(transformations, state, strict=True):
            grads, own = t.update(grads, own, params, **values)
            states.append(own)
        return grads, tuple(states)

    return _shown(init, update)


# -- parts


@short_traceback
def scale(factor: float) -> GradientTransformation:
    """Return the transformation that multiplies gradients by a number.

    >>> halve = scale(0.5)
    >>> halve.update(np.array([2.0, -4.0]), ())[0]
    array([ 1., -2.])
    """
    _number("scale", "factor", factor, "give one number, such as 0.5", _ANY)
    return _stateless(lambda g: g * factor)


@short_traceback
def scale_by_learning_rate(learning_rate: Rate) -> GradientTransformation:
    """Return the transformation that multiplies gradients by `-learning_rate`, a number or a schedule.

    A schedule is called with the number of updates before this one. The state is that number.

    >>> step = scale_by_learning_rate(0.5)
    >>> step.update(np.array([2.0, -4.0]), step.init(np.zeros(2)))[0]
    array([-1.,  2.])
    """
    schedule = _rate("scale_by_learning_rate", learning_rate)
    if not callable(schedule):
        return scale(-schedule)

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        rate = schedule(state)
        return tree_map(lambda g: g * _cast(-rate, g), grads), state + 1

    return _shown(lambda params: np.int64(0), update)


@short_traceback
def clip(max_delta: float) -> GradientTransformation:
    """Return the transformation that clips each element of gradients to `[-max_delta, max_delta]`.

    >>> clip(1.0).update(np.array([0.5, -3.0]), ())[0]
    array([ 0.5, -1. ])
    """
    _number("clip", "max_delta", max_delta, "give the largest size of an element, as in clip(1.0)")
    return _stateless(lambda g: np.clip(g, -max_delta, max_delta))


@short_traceback
def clip_by_global_norm(max_norm: float) -> GradientTransformation:
    """Return the transformation that scales gradients down so that their `global_norm` is at most `max_norm`.

    Source: Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks" (2013).

    >>> clip_by_global_norm(1.0).update(np.array([3.0, 4.0]), ())[0].round(3)
    array([0.6, 0.8])
    """
    _number("clip_by_global_norm", "max_norm", max_norm, "give the largest norm, as in clip_by_global_norm(1.0)")

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


@short_traceback
def add_decayed_weights(weight_decay: float) -> GradientTransformation:
    """Return the transformation that adds `weight_decay` times the parameters to gradients.

    >>> add_decayed_weights(0.1).update(np.zeros(2), (), np.array([1.0, 2.0]))[0]
    array([0.1, 0.2])
    """
    _number("add_decayed_weights", "weight_decay", weight_decay, "give one number, such as 1e-4")

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        if params is None:
            raise ArgumentError("update", "params", "is missing", "write update(grads, state, params)")
        return _with("params", lambda g, p: g + weight_decay * p, grads, params), state

    return _shown(lambda params: (), update)


@short_traceback
def trace_momentum(decay: float, nesterov: bool = False) -> GradientTransformation:
    """Return the transformation that adds `decay` times its last result to gradients: heavy-ball momentum.

    With `nesterov`, a step looks ahead: Sutskever et al., "On the importance of initialization and momentum" (2013).

    >>> heavy = trace_momentum(0.5)
    >>> first, state = heavy.update(np.ones(2), heavy.init(np.zeros(2)))
    >>> heavy.update(np.ones(2), state)[0]
    array([1.5, 1.5])
    """
    _number("trace_momentum", "decay", decay, "give one number, such as 0.9", _SHARE)

    def update(grads, state, params=None, **values) -> tuple[Any, Any]:
        momentum = _with("the state", lambda g, m: g + decay * m, grads, state)
        return (tree_map(lambda g, m: g + decay * m, grads, momentum) if nesterov else momentum), momentum

    return _shown(_zeros, update)


class AdamState(NamedTuple):
    """State of `scale_by_adam`: the number of updates, and the means of gradients and of their squares."""

    count: Any
    mean: Any
    square: Any


@short_traceback
def scale_by_adam(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> GradientTransformation:
    """Return the transformation that divides means of gradients by roots of means of their squares.

    Source: Kingma and Ba, "Adam: a method for stochastic optimization" (2015), algorithm 1.

    >>> scaled = scale_by_adam()
    >>> updates, state = scaled.update(np.array([0.1, -10.0]), scaled.init(np.zeros(2)))
    >>> updates.round(4).tolist()
    [1.0, -1.0]
    """
    _check_adam("scale_by_adam", b1, b2, eps)

    def init(params) -> AdamState:
        return AdamState(np.int64(0), _zeros(params), _zeros(tree_map(np.real, params)))

    def update(grads, state: AdamState, params=None, **values) -> tuple[Any, AdamState]:
        _check_state(state, AdamState, 3)
        count = state.count + 1
        mean = _with("the state", lambda g, m: b1 * m + (1 - b1) * g, grads, state.mean)
        square = _with("the state", lambda g, v: b2 * v + (1 - b2) * np.absolute(g) ** 2, grads, state.square)
        of_mean, of_square = 1 - b1**count, 1 - b2**count

        def scaled(m, v):
            return m / _cast(of_mean, m) / (np.sqrt(v / _cast(of_square, v)) + eps)

        return tree_map(scaled, mean, square), AdamState(count, mean, square)

    return _shown(init, update)


# -- optimisers


_ABOVE, _SHARE, _ANY = (0, np.inf), (0, 1), (-np.inf, np.inf)  # of options: the least number, and one above them all


def _number(function: str, argument: str, x: Any, advice: str, limits: tuple[float, float] = _ABOVE) -> Any:
    """Return an option of an optimiser; raise ArgumentError for anything but a number within its limits."""
    if not (has_type(x, (int, float)) or (hasattr(x, "dtype") and x.shape == ())):
        raise ArgumentError(function, argument, f"is {_shown_type(x)}, not a number", advice)
    low, high = limits
    if has_type(x, (int, float, np.ndarray, np.generic)) and not (low <= x < high or x == high == np.inf):
        within = f"of at least {low}" + (f" and below {high}" if high < np.inf else "")
        raise ArgumentError(function, argument, f"is {x}", f"give a number {within}")
    return x


def _rate(function: str, rate: Any) -> Any:
    """Return a learning rate, a number or a schedule; raise ArgumentError for anything else, or below 0."""
    if callable(rate):
        try:
            inspect.signature(rate).bind(0)
        except TypeError:
            problem = "is a function of other arguments than the number of a step"
            raise ArgumentError(function, "learning_rate", problem, "write lambda count: ...") from None
        return rate
    advice = f"write o = {function}(1e-3) and state = o.init(params): parameters go there"
    if has_type(rate, (int, float, np.generic)) and rate < 0:
        advice = "give a positive rate, and negate the function to find a maximum"
        raise ArgumentError(function, "learning_rate", f"is {rate}", advice)
    return _number(function, "learning_rate", rate, advice)


def _check_adam(function: str, b1: float, b2: float, eps: float) -> None:
    for name, value, limits in (("b1", b1, _SHARE), ("b2", b2, _SHARE), ("eps", eps, _ABOVE)):
        _number(function, name, value, "give one number, as in adam(1e-3, b1=0.9, b2=0.999)", limits)


def _shown_type(x) -> str:
    return f"an array of {x.ndim} axes" if hasattr(x, "ndim") else f"of type {type(x).__name__}"


@short_traceback
def sgd(learning_rate: Rate, momentum: float | None = None, nesterov: bool = False) -> GradientTransformation:
    """Return stochastic gradient descent, with heavy-ball or Nesterov momentum if `momentum` is a number.

    >>> descent = sgd(0.5)
    >>> updates, _ = descent.update(np.array([1.0, -2.0]), descent.init(np.zeros(2)))
    >>> updates
    array([-0.5,  1. ])
    """
    step = scale_by_learning_rate(_rate("sgd", learning_rate))
    if momentum is not None:
        _number("sgd", "momentum", momentum, "give one number, such as 0.9", _SHARE)
    return step if momentum is None else chain(trace_momentum(momentum, nesterov), step)


@short_traceback
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
    _check_adam("adam", b1, b2, eps)
    return chain(scale_by_adam(b1, b2, eps), scale_by_learning_rate(_rate("adam", learning_rate)))


@short_traceback
def adamw(
    learning_rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, weight_decay: float = 1e-4
) -> GradientTransformation:
    """Return Adam with decoupled weight decay, whose `update` needs the parameters.

    Source: Loshchilov and Hutter, "Decoupled weight decay regularization" (2019).

    >>> optimiser, params = adamw(0.1, weight_decay=0.5), np.array([1.0, -2.0])
    >>> optimiser.update(np.array([3.0, 0.0]), optimiser.init(params), params)[0].round(3)
    array([-0.15,  0.1 ])
    """
    _check_adam("adamw", b1, b2, eps)
    decay = add_decayed_weights(weight_decay)
    return chain(scale_by_adam(b1, b2, eps), decay, scale_by_learning_rate(_rate("adamw", learning_rate)))


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


Schedule = Callable[[Any], Any]


@short_traceback
def constant_schedule(value: float) -> Schedule:
    """Return the schedule that is `value` at each step.

    >>> constant_schedule(0.1)(7)
    0.1
    """
    return lambda count: value


@short_traceback
def linear_schedule(init_value: float, end_value: float, transition_steps: int, transition_begin: int = 0) -> Schedule:
    """Return the schedule that goes straight from one value to another, within so many steps after the first ones.

    >>> linear = linear_schedule(1.0, 0.0, 4)
    >>> [float(linear(count)) for count in (0, 1, 4, 9)]
    [1.0, 0.75, 0.0, 0.0]
    """
    _require_positive("linear_schedule", "transition_steps", transition_steps)
    return lambda count: init_value + (end_value - init_value) * _share(count, transition_begin, transition_steps)


@short_traceback
def exponential_decay(
    init_value: float,
    transition_steps: int,
    decay_rate: float,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: float | None = None,
) -> Schedule:
    """Return the schedule `init_value * decay_rate ** (count / transition_steps)`.

    - `transition_begin`: steps before the decay begins.
    - `staircase`: whole powers alone, so the rate falls once in `transition_steps`.
    - `end_value`: where the rate stays once it is reached.

    >>> decay = exponential_decay(1.0, 10, 0.5)
    >>> [round(float(decay(count)), 3) for count in (0, 10, 15)]
    [1.0, 0.5, 0.354]
    """
    _require_positive("exponential_decay", "transition_steps", transition_steps)
    _number("exponential_decay", "decay_rate", decay_rate, "give one number, such as 0.5")

    def schedule(count):
        power = np.maximum(count - transition_begin, 0) / transition_steps
        rate = init_value * decay_rate ** (np.floor(power) if staircase else power)
        if end_value is None:
            return rate
        return np.maximum(rate, end_value) if decay_rate < 1 else np.minimum(rate, end_value)

    return schedule


@short_traceback
def cosine_decay_schedule(init_value: float, decay_steps: int, alpha: float = 0.0, exponent: float = 1.0) -> Schedule:
    """Return the schedule that falls along half a cosine to `alpha * init_value` (Loshchilov and Hutter, 2017).

    >>> cosine = cosine_decay_schedule(1.0, 10)
    >>> [round(float(cosine(count)), 3) for count in (0, 5, 10, 20)]
    [1.0, 0.5, 0.0, 0.0]
    """
    _require_positive("cosine_decay_schedule", "decay_steps", decay_steps)

    def schedule(count):
        half = 0.5 * (1 + np.cos(np.pi * np.minimum(count, decay_steps) / decay_steps))
        return init_value * ((1 - alpha) * half**exponent + alpha)

    return schedule


@short_traceback
def warmup_cosine_decay_schedule(
    init_value: float, peak_value: float, warmup_steps: int, decay_steps: int, end_value: float = 0.0
) -> Schedule:
    """Return the schedule that rises straight to a peak, then falls along half a cosine.

    `decay_steps` counts all steps, also during the rise.

    >>> warm = warmup_cosine_decay_schedule(0.0, 1.0, 2, 10)
    >>> [round(float(warm(count)), 3) for count in (0, 1, 2, 6, 10)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    _require_positive("warmup_cosine_decay_schedule", "decay_steps - warmup_steps", decay_steps - warmup_steps)
    alpha = end_value / peak_value if peak_value else 0.0
    decay = cosine_decay_schedule(peak_value, decay_steps - warmup_steps, alpha)
    if not warmup_steps:
        return decay
    return join_schedules([linear_schedule(init_value, peak_value, warmup_steps), decay], [warmup_steps])


@short_traceback
def piecewise_constant_schedule(init_value: float, boundaries_and_scales: dict[int, float]) -> Schedule:
    """Return the schedule that is multiplied by a factor from each of these steps on.

    >>> steps = piecewise_constant_schedule(1.0, {2: 0.5, 4: 0.1})
    >>> [round(float(steps(count)), 3) for count in (0, 2, 3, 5)]
    [1.0, 0.5, 0.5, 0.05]
    """
    if not isinstance(boundaries_and_scales, dict):
        problem = f"is {_shown_type(boundaries_and_scales)}, not a dict"
        advice = "give factors by the steps that they begin at, as in {100: 0.1}"
        raise ArgumentError("piecewise_constant_schedule", "boundaries_and_scales", problem, advice)

    def schedule(count):
        rate: Any = init_value
        for boundary, factor in sorted(boundaries_and_scales.items()):
            rate = rate * np.where(count >= boundary, factor, 1.0)
        return rate

    return schedule


@short_traceback
def join_schedules(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """Return the schedule that goes on with the next one from each boundary on. Each begins to count there.

    >>> joined = join_schedules([constant_schedule(1.0), linear_schedule(1.0, 0.0, 2)], [3])
    >>> [float(joined(count)) for count in (0, 3, 4, 5)]
    [1.0, 1.0, 0.5, 0.0]
    """
    if not isinstance(boundaries, (tuple, list)) or not all(map(callable, schedules)):
        advice = "write join_schedules([constant_schedule(0.1), constant_schedule(0.01)], [100])"
        raise ArgumentError("join_schedules", "its arguments", "are not schedules, and steps between them", advice)
    if len(schedules) != len(boundaries) + 1:
        problem = f"has {len(boundaries)} steps for {len(schedules)} schedules"
        raise ArgumentError("join_schedules", "boundaries", problem, "give one fewer than schedules")

    def schedule(count):
        rate = schedules[0](count)
        for boundary, later in zip(boundaries, schedules[1:], strict=True):
            rate = np.where(count < boundary, rate, later(count - boundary))
        return rate

    return schedule


def _share(count, begin: int, steps: int):
    """Return how much of a transition is done, from 0 to 1."""
    return np.minimum(np.maximum(count - begin, 0), steps) / steps


def _require_positive(function: str, name: str, value: Any) -> None:
    if has_type(value, (bool, float, str)) or (has_type(value, int) and value <= 0):
        raise ArgumentError(function, name, f"is {value!r}", "give a positive number of steps, an int")


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


@short_traceback
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
    if learning_rate is not None:
        _rate("lbfgs", learning_rate)
    if not has_type(memory_size, int) or memory_size < 1:
        raise ArgumentError("lbfgs", "memory_size", f"is {memory_size!r}", "give an int of at least 1")

    def init(params) -> LbfgsState:
        x, _ = ravel_pytree(params)
        rows = np.zeros((memory_size, x.shape[0]), x.dtype)
        return LbfgsState(np.int64(0), x, np.zeros_like(x), rows, rows, np.zeros(memory_size, x.dtype))

    def update(grads, state: LbfgsState, params=None, **values) -> tuple[Any, LbfgsState]:
        if params is None:
            raise ArgumentError("update", "params", "is missing", "write update(grads, state, params, ...)")
        (x, tree_of), (g, _) = ravel_pytree(params), ravel_pytree(grads)
        state = _remembered(state, x, g)
        direction = -_times_inverse_hessian(g, state) * _first_scale(g, state.count)
        if learning_rate is not None:
            rate = learning_rate(state.count - 1) if callable(learning_rate) else learning_rate
        else:
            rate = _searched(x, g, direction, tree_of, **values)
        return tree_of(_as(x, rate * direction)), state

    return _shown(init, update)


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
