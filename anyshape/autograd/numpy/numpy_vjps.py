"""Helpers of rules under the names of `autograd.numpy.numpy_vjps`."""

from collections.abc import Callable
from typing import Any

from anyshape.autograd.extend import unbroadcast

__all__ = ["unbroadcast", "unbroadcast_f"]


def unbroadcast_f(target: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results are summed over the axes along which `target` was broadcast."""
    return lambda g: unbroadcast(f(g), target)
