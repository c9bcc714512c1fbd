"""Name, sign and document the functions that factories build."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from anyshape.numpy.operands.memory import writes_out

F = TypeVar("F", bound=Callable[..., Any])

_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_FURTHER = inspect.Parameter.VAR_KEYWORD
_ABSENT: Any = getattr(np, "_NoValue")  # noqa: B009 - NumPy's default of `axes` and `axis`
_CALL_OPTIONS = {"casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}


def ufunc_signature(ufunc: np.ufunc, operands: str = "") -> inspect.Signature:
    """Return the signature of a ufunc as NumPy documents it; before NumPy 2.4 a ufunc has none of its own.

    `operands` names the operands as in "a, x"; NumPy's names are x, or x1 and x2.
    """
    names = operands.split(", ") if operands else ["x"] if ufunc.nin == 1 else [f"x{i + 1}" for i in range(ufunc.nin)]
    return _signature(tuple(names), ufunc.nout, ufunc.signature is None)


@functools.cache  # a Parameter costs 2 us, and 300 ufuncs have a dozen signatures among them
def _signature(names: tuple[str, ...], nout: int, elementwise: bool) -> inspect.Signature:
    out = None if nout == 1 else (None,) * nout
    own = {"where": True} if elementwise else {"axes": _ABSENT, "axis": _ABSENT, "keepdims": False}
    return inspect.Signature(
        [
            *[inspect.Parameter(name, _POSITIONAL) for name in names],
            inspect.Parameter("out", _EITHER, default=out),
            *[inspect.Parameter(name, _KEYWORD, default=value) for name, value in {**own, **_CALL_OPTIONS}.items()],
        ]
    )


def signed_as(signature: inspect.Signature) -> Callable[[F], F]:
    """Return a decorator that gives a function this signature for `help` and `inspect.signature`."""

    def decorate(function: F) -> F:
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return decorate


def publish(function: F, name: str, module: str, doc: str, signature: inspect.Signature | None = None) -> F:
    """Return a function that a factory built, with the name, module and documentation of a public one."""
    code = inspect.unwrap(function).__code__
    if "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        function = writes_out(function)
    layer: Any = function
    while layer is not None:  # a call with wrong arguments fails in the innermost one
        layer.__name__ = layer.__qualname__ = name
        layer = getattr(layer, "__wrapped__", None)
    function.__module__, function.__doc__ = module, doc.strip()
    return function if signature is None else signed_as(signature)(function)


def method_signature(name: str) -> inspect.Signature:
    """Return the signature of a method of ufuncs, with `self`; before NumPy 2.4 NumPy's methods have none."""
    options = {"axis": 0, "dtype": None, "out": None}
    own: dict[str, Any] = {
        "reduce": {"array": _POSITIONAL, **options, "keepdims": False, "initial": _ABSENT, "where": True},
        "accumulate": {"array": _POSITIONAL, **options},
        "reduceat": {"array": _POSITIONAL, "indices": _POSITIONAL, **options},
        "outer": {"A": _POSITIONAL, "B": _POSITIONAL, "kwargs": _FURTHER},
        "at": {"a": _POSITIONAL, "indices": _POSITIONAL, "b": _POSITIONAL},
    }[name]
    parameters = [inspect.Parameter("self", _POSITIONAL)]
    for parameter, value in own.items():
        if isinstance(value, type(_POSITIONAL)):
            default = None if parameter == "b" else inspect.Parameter.empty
            parameters.append(inspect.Parameter(parameter, value, default=default))
        else:
            parameters.append(inspect.Parameter(parameter, _EITHER, default=value))
    return inspect.Signature(parameters)
