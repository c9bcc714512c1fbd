"""Call what stands for a function of NumPy on traced arrays, or refuse the function by its name."""

from __future__ import annotations

from typing import Any

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.numpy.arrays import writes
from anyshape.numpy.arrays.dispatch import FUNCTIONS

COMPOSE_ADVICE = "write it with other NumPy functions, or call it outside the traced function"


def call_counterpart(function: Any, args: Any, kwargs: Any) -> Any:
    """Call the function that stands for one of NumPy's on traced arrays, and write its result into a traced `out`."""
    counterpart = writes.FUNCTIONS.get(function) or FUNCTIONS.get(function)
    if counterpart is None:
        name = f"{function.__module__}.{function.__name__}"
        raise UnsupportedFunctionError(name, "has no counterpart on traced arrays", COMPOSE_ADVICE, user_line())
    if not isinstance(out := kwargs.get("out"), Traced):
        return counterpart(*args, **kwargs)
    return writes.into(out, counterpart(*args, **{k: v for k, v in kwargs.items() if k != "out"}), function.__name__)
