"""Argmax and argmin sets: the elements that equal an extreme, which share its derivative equally.

NumPy's extremes are NaN where an element is NaN. The derivative is then NaN in each element, in both modes: a number
would hide that the result depends on no number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyshape.ops import elementwise as ew

Comparison = Callable[[Any, Any], Any]
BELOW_MAX: Comparison = ew.lt
ABOVE_MIN: Comparison = ew.gt


def in_argmax_set(x: Any, extreme: Any, misses: Comparison) -> Any:
    """Return a mask of the elements that equal an extreme of their shape: its argmax or argmin set; all for NaN.

    `misses` is BELOW_MAX or ABOVE_MIN.
    """
    return ew.logical_not(misses(x, extreme))


def sharers(count: Any, extreme: Any) -> Any:
    """Return the number of elements that share the derivative of an extreme: their count, or NaN if it is NaN."""
    return ew.select(ew.isnan(extreme), float("nan"), count)
