"""Small helpers under the names of `autograd.util`."""

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["subval", "subvals"]


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a tuple with values in place of some."""
    values = list(x)
    for i, v in ivs:
        values[i] = v
    return tuple(values)


def subval(x: Sequence[Any], i: int, v: Any) -> tuple[Any, ...]:
    """Return a tuple with a value in place of one."""
    return subvals(x, [(i, v)])
