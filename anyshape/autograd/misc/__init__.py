"""Helpers under the names of `autograd.misc`."""

import functools
from collections.abc import Callable
from typing import Any

from anyshape.autograd.misc.flatten import flatten

__all__ = ["const_graph", "flatten"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return the function with its first arguments fixed; programs are constant graphs anyway."""
    return functools.partial(fun, *args, **kwargs)
