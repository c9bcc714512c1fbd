"""NumPy's elementwise functions: promote as the ufunc would, then apply the core op, which broadcasts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.builder import user_line
from anyshape.numpy.convert import is_traced, promoted
from anyshape.ops import elementwise as ew


def _check_options(name: str, options: dict[str, Any]) -> Any:
    """The dtype option; `out` and `where` change an array in place, which a program cannot."""
    dtype = options.pop("dtype", None)
    extra = [k for k, v in options.items() if not (k == "out" and v is None) and not (k == "where" and v is True)]
    if extra:
        advice = "use the result instead of `out`, np.where instead of `where`"
        raise UnsupportedFunctionError(name, f"option {extra[0]!r} of a traced array", advice, user_line())
    return dtype


def _function(ufunc: np.ufunc, apply: Callable[..., Any]) -> Callable[..., Any]:
    """The NumPy function of this ufunc on traced arrays; NumPy's own on concrete ones."""
    name = ufunc.__name__

    def function(*args: Any, **options: Any) -> Any:
        if not is_traced(*args):
            return ufunc(*args, **options)
        dtype = _check_options(name, options)
        return apply(*promoted(ufunc, *args, dtype=dtype))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `numpy.{name}`, for arrays of a program too."
    return function


negative = _function(np.negative, ew.neg)
exp = _function(np.exp, ew.exp)
log = _function(np.log, ew.log)
sin = _function(np.sin, ew.sin)
cos = _function(np.cos, ew.cos)
tanh = _function(np.tanh, ew.tanh)
sqrt = _function(np.sqrt, ew.sqrt)
add = _function(np.add, ew.add)
subtract = _function(np.subtract, ew.sub)
multiply = _function(np.multiply, ew.mul)
divide = true_divide = _function(np.true_divide, ew.div)
maximum = _function(np.maximum, ew.maximum)
minimum = _function(np.minimum, ew.minimum)
equal = _function(np.equal, ew.eq)
greater = _function(np.greater, ew.gt)
greater_equal = _function(np.greater_equal, ew.ge)
