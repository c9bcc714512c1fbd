"""Serve the public names of NumPy that have no counterpart here: types, constants, modules and functions.

What takes no traced array is NumPy's own. A function that NumPy would hand a traced array, also in a list, is served by
its counterpart, or refused by name.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.numpy.arrays.counterparts import call_counterpart

_READ_MEMORY = ("frombuffer", "from_dlpack")  # without NumPy's protocol


def public_names() -> set[str]:
    """Return the names that NumPy shows."""
    return {name for name in dir(np) if not name.startswith("_")}


@functools.cache
def named(name: str) -> Any:
    """Return what a name of NumPy stands for; raise AttributeError for names that it does not have."""
    if (name.startswith("_") and name != "__version__") or not hasattr(np, name):
        raise AttributeError(f"module 'anyshape.numpy' has no attribute {name!r}", name=name)
    member = getattr(np, name)
    return _served(member) if hasattr(member, "_implementation") or name in _READ_MEMORY else member


def _served(function: Any) -> Any:
    """Return a function of NumPy that looks for traced arrays in lists too, where NumPy's protocol does not look."""

    @functools.wraps(function)
    def served(*args: Any, **kwargs: Any) -> Any:
        if _holds_array([*args, *kwargs.values()]):
            return call_counterpart(function, args, kwargs)
        return function(*args, **kwargs)

    served.__module__ = "anyshape.numpy"
    return served


def _holds_array(xs: Any) -> bool:
    """Return whether a traced array is among arguments or in lists of them."""
    return any(isinstance(x, Traced) or (isinstance(x, (list, tuple)) and _holds_array(x)) for x in xs)
