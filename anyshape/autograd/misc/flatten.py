"""Vectors of all numbers in containers, and back."""

from collections.abc import Callable
from typing import Any

import anyshape.numpy as np
from anyshape.tracing import pytrees

__all__ = ["flatten", "flatten_func"]


def flatten(value: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return one vector of the numbers in nested tuples, lists and dicts, and the function that puts them back.

    Dicts go by their keys, sorted. The parts of a vector have its dtype.
    """
    leaves, tree = pytrees.flatten(_in_order(value))
    arrays = [np.asarray(x) for x in leaves]
    shapes = [x.shape for x in arrays]
    vector = np.concatenate([np.ravel(x) for x in arrays]) if arrays else np.zeros(0)

    def unflatten(vector: Any) -> Any:
        parts, start = [], 0
        for array, shape in zip(arrays, shapes, strict=True):
            parts.append(np.reshape(vector[start : start + array.size], shape))
            start += array.size
        return pytrees.unflatten(tree, parts)

    return vector, unflatten


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    is_plain = type(value) in (list, tuple)
    return type(value)(map(_in_order, value)) if is_plain else value


def flatten_func(func: Callable[..., Any], example: Any) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """Return a function between vectors, the function that makes a container of one, and the vector of the example."""
    vector, unflatten = flatten(example)
    return lambda x, *args: flatten(func(unflatten(x), *args))[0], unflatten, vector
