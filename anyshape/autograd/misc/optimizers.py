"""Optimisers of containers of arrays, as `sgd(grad, x0, callback)`, where `grad(x, i)` is the gradient in step i."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.autograd.misc.flatten import flatten

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]

Function = Callable[..., Any]


def unflatten_optimizer(optimize: Function) -> Function:
    """Return an optimiser of containers, from one of vectors."""

    @functools.wraps(optimize)
    def of_containers(grad: Function, x0: Any, callback: Function | None = None, *args: Any, **kwargs: Any) -> Any:
        start, unflatten = flatten(x0)
        slope = lambda x, i: flatten(grad(unflatten(x), i))[0]
        tell = None if callback is None else lambda x, i, g: callback(unflatten(x), i, unflatten(g))
        return unflatten(optimize(slope, start, tell, *args, **kwargs))

    return of_containers


def _steps(grad: Function, x: Any, callback: Function | None, num_iters: int, step: Function) -> Any:
    """Return x after steps of `step(gradient, i)`, which gives what to take away."""
    for i in range(num_iters):
        g = grad(x, i)
        if callback is not None:
            callback(x, i, g)
        x = x - step(g, i)
    return x


@unflatten_optimizer
def sgd(
    grad: Function, x: Any, callback: Function | None = None, num_iters: int = 200, step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:  # fmt: skip
    """Return the result of gradient descent with momentum."""
    velocity = np.zeros(len(x))

    def step(g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1 - mass) * g
        return -step_size * velocity

    return _steps(grad, x, callback, num_iters, step)


@unflatten_optimizer
def rmsprop(
    grad: Function, x: Any, callback: Function | None = None, num_iters: int = 100, step_size: float = 0.1,
    gamma: float = 0.9, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Return the result of descent along the gradient over the root of its mean square."""
    square = np.ones(len(x))

    def step(g: Any, i: int) -> Any:
        nonlocal square
        square = gamma * square + (1 - gamma) * g**2
        return step_size * g / (np.sqrt(square) + eps)

    return _steps(grad, x, callback, num_iters, step)


@unflatten_optimizer
def adam(
    grad: Function, x: Any, callback: Function | None = None, num_iters: int = 100, step_size: float = 0.001,
    b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8,
) -> Any:  # fmt: skip
    """Return the result of Adam: moments of the gradient, with their bias removed."""
    first, second = np.zeros(len(x)), np.zeros(len(x))

    def step(g: Any, i: int) -> Any:
        nonlocal first, second
        first = b1 * first + (1 - b1) * g
        second = b2 * second + (1 - b2) * g**2
        mean, square = first / (1 - b1 ** (i + 1)), second / (1 - b2 ** (i + 1))
        return step_size * mean / (np.sqrt(square) + eps)

    return _steps(grad, x, callback, num_iters, step)
