"""Say which functions give arrays with memory of their own, although a program may pass on an operand or a view."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from anyshape.graph.ir.builder import Traced

F = TypeVar("F", bound=Callable[..., Any])


def owned(result: Any, *operands: Any) -> Any:
    """Return a result, or each of several, as an array of its own if it is an operand or shares memory."""
    if isinstance(result, (tuple, list)):
        return type(result)([owned(r, *operands) for r in result])
    if not isinstance(result, Traced):
        return result
    shares = getattr(result, "memory", None) is not None or any(result is x for x in operands)
    return result.as_copy() if shares else result


def makes_copy(function: F) -> F:
    """Return a function whose results share no memory with its operands."""

    @functools.wraps(function)
    def copied(*args: Any, **kwargs: Any) -> Any:
        return owned(function(*args, **kwargs), *args)

    return cast(F, copied)
