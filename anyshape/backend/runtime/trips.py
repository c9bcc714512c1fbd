"""Pieces of joined arrays that the trips of a loop read, and results of trips, stacked or joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ShapeError


def pieces(joined: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Return the parts of a joined array, of as many rows as the lengths say."""
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    if (ends[-1] if ends else 0) != len(joined) or (len(lengths) and lengths.min() < 0):
        why = f"the lengths of pieces add up to {ends[-1] if ends else 0}, and there are {len(joined)} rows"
        raise ShapeError("scan", why, (), None, "let the lengths be those of the pieces that were joined")
    return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def mask_of(trips: int) -> np.ndarray:
    """Return the mask of so many trips, which is true for each: one element stands for all."""
    return np.broadcast_to(np.True_, trips)


def stacked(parts: Sequence[Any], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Return arrays of one shape as one array, with an axis for the trips in front."""
    result = np.empty((len(parts), *shape), dtype)
    if parts and shape:
        np.stack(parts, out=result)
    elif parts:
        result[...] = parts
    return result


def joined(parts: Sequence[np.ndarray], dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Return pieces one after the other in one array; `shape` is that of a row."""
    return np.concatenate(parts) if parts else np.empty((0, *shape), dtype)


def check_ends(carries: Sequence[Any], ends: Sequence[tuple[int, ...]]) -> None:
    """Raise ShapeError unless the last carries have these shapes."""
    for x, shape in zip(carries, ends, strict=False):
        if np.shape(x) != shape:
            why = f"a carry ends with the shape {np.shape(x)} where one of the shape {shape} is needed"
            raise ShapeError("scan", why, (), None, "let tangents have the sizes of their values")


def owned(carries: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Return carries as arrays of their own: a loop may give an operand, a view, or one array twice.

    Later steps may write into what a loop gives.
    """
    taken = {id(x) for x in operands}
    result = []
    for x in carries:
        is_own = not isinstance(x, np.ndarray) or (x.base is None and id(x) not in taken)
        result.append(x if is_own else x.copy())
        taken.add(id(x))
    return result
