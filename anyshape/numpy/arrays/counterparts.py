"""Call what stands for a function of NumPy on traced arrays, or refuse the function by its name."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.numpy.arrays import writes
from anyshape.numpy.arrays.dispatch import FUNCTIONS, METHODS, UFUNCS
from anyshape.numpy.operands.concrete import ConcreteArray
from anyshape.support.packages import concrete_views, further

COMPOSE_ADVICE = "write it with other NumPy functions, or call it outside the traced function"

_VECTORIZE_ADVICE = "call the function itself, or write anyshape.numpy.vectorize(f)(x)"


def ufunc_counterpart(ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """Return the function that stands for a ufunc on traced arrays, or for one of its methods."""
    key = ufunc, method
    if method == "__call__":
        function = UFUNCS.get(ufunc) or further.UFUNCS.get(ufunc)
    else:
        function = METHODS.get(key) or further.METHODS.get(key)
    if function is None:
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        is_made = ufunc.__name__.endswith(" (vectorized)")  # by np.frompyfunc, of a function of Python
        advice, where = _VECTORIZE_ADVICE if is_made else COMPOSE_ADVICE, user_line()
        name = getattr(where, "expression", "") or name if is_made else name
        raise UnsupportedFunctionError(name, "has no counterpart on traced arrays", advice, where)
    return function


def call_counterpart(function: Any, args: Any, kwargs: Any, *, of_sizes: bool = False) -> Any:
    """Call the function that stands for one of NumPy's on traced arrays.

    Without one, NumPy's own may ask sizes for their values.
    """
    counterpart = writes.FUNCTIONS.get(function) or FUNCTIONS.get(function) or further.FUNCTIONS.get(function)
    if counterpart is None and of_sizes:
        return function._implementation(*args, **kwargs)
    if counterpart is None:
        name = f"{function.__module__}.{function.__name__}"
        raise UnsupportedFunctionError(name, "has no counterpart on traced arrays", COMPOSE_ADVICE, user_line())
    return counterpart(*args, **kwargs)


def _become_traced(x, asked: str) -> None:
    concrete_views.become_traced(x, asked)


ConcreteArray.become, ConcreteArray.counterpart = _become_traced, staticmethod(call_counterpart)
