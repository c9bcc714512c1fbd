"""What steers derivatives from inside a function: stop_gradient on trees."""

from __future__ import annotations

from typing import Any

from anyshape.frontend.tracing import is_inexact
from anyshape.frontend.trees import flatten, unflatten
from anyshape.graph.builder import Traced
from anyshape.ops import control


def stop_gradient(tree: Any) -> Any:
    """The same tree of values, taken as constants by every derivative.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> print(grad(lambda x: np.sum(x * stop_gradient(x)))(np.array([1.0, 2.0])))
    [1. 2.]
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [_stopped(x) for x in leaves])


def _stopped(x: Any) -> Any:
    return control.stop_gradient(x) if isinstance(x, Traced) and is_inexact(x.dtype) else x
