"""The functions that stand for NumPy's and SciPy's ufuncs on arrays of a program.

`out` and `where` change an array in place, which a program cannot; `dtype` chooses the loop, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.promotion import is_traced, promoted

_DEFAULTS = {"out": None, "where": True, "casting": "same_kind", "order": "K", "subok": True}


def _is_default(key: str, value: Any) -> bool:
    """The option says what would hold without it. Values may be arrays, which `==` would not compare."""
    if key == "out" and isinstance(value, tuple):
        return all(v is None for v in value)
    return key in _DEFAULTS and (value is _DEFAULTS[key] or (isinstance(value, str) and value == _DEFAULTS[key]))


def check_options(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The dtype option of a call; refuses those that have no meaning in a program."""
    name = ufunc.__name__
    for key, value in options.items():
        if key != "dtype" and not _is_default(key, value):
            advice = "use the result instead of `out`, np.where instead of `where`"
            raise UnsupportedFunctionError(name, f"option {key!r} of a traced array", advice, user_line())
    if len(args) != ufunc.nin:
        problem, advice = f"got {len(args)} positional arguments", f"pass {ufunc.nin}, and use the result"
        raise ArgumentError(name, "the call", problem, advice)
    return options.get("dtype")


def of_ufunc(ufunc: np.ufunc, apply: Callable[..., Any], module: str) -> Callable[..., Any]:
    """The NumPy function of this ufunc on traced arrays; NumPy's own on concrete ones."""
    name = ufunc.__name__
    home = "numpy" if getattr(np, name, None) is ufunc else "scipy.special"

    def function(*args: Any, **options: Any) -> Any:
        if not is_traced(*args, *options.values()):
            return ufunc(*args, **options)
        if all(isinstance(x, (int, np.integer, SymbolicSize)) for x in args):
            return ufunc(*args, **options)  # a size, or an array where it makes no size
        dtype = check_options(ufunc, args, options)
        return apply(*promoted(ufunc, *args, dtype=dtype))

    function.__module__, function.__name__, function.__qualname__ = module, name, name
    function.__doc__ = f"As `{home}.{name}`, for arrays of a program too."
    return function
