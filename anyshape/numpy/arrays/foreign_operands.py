"""Compare traced arrays with what is not a number: None, text, other objects. NumPy finds them unequal, elementwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.shape_rules import broadcast_sizes
from anyshape.numpy.operands.promotion import NUMERIC, is_traced, sizes
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import full
from anyshape.support.true_types import has_type

_NUMBERS = (int, float, complex, np.generic, np.ndarray, Traced, SymbolicSize)
_UNLIKE_NUMBERS: tuple[Any, ...] = tuple(
    [t.__eq__ for t in (object, str, bytes, type, type(None), dict, set, frozenset, list, tuple)]
)


def is_foreign(other: Any) -> bool:
    """Return whether an operand holds objects or text alone, which no element of a traced array equals."""
    if has_type(other, (int, float, complex, Traced, SymbolicSize)):
        return False
    if has_type(other, (list, tuple)) and is_traced(other):
        return False
    array = _as_array(other)
    if array.dtype.kind != "O":
        return array.dtype.kind not in NUMERIC
    return all(_is_unlike_numbers(element) for element in array.flat)


def _as_array(other: Any) -> np.ndarray:
    """Return an operand as an array; what NumPy cannot take apart is one object."""
    if has_type(other, (np.ndarray, np.generic, list, tuple)):
        return np.asarray(other)
    cell = np.empty((), object)
    cell[()] = other
    return cell


def _is_unlike_numbers(x: Any) -> bool:
    """Return whether the class of an object says that it equals no number."""
    return not has_type(x, _NUMBERS) and type(x).__eq__ in _UNLIKE_NUMBERS


def compared(name: str, x: Any, other: Any) -> Any:
    """Return `x == other` or `x != other` for a foreign operand; the shapes broadcast. Other operators give up."""
    if name not in ("equal", "not_equal"):
        return NotImplemented
    shape = broadcast_sizes(context_of(name, x), [sizes(x), _as_array(other).shape])
    return full(shape, name == "not_equal", bool) if shape else np.bool(name == "not_equal")
