"""Convolution of autograd, along pairs of axes, and the other names of `scipy.signal`."""

import math
from collections.abc import Sequence
from typing import Any

import anyshape.numpy as np
from anyshape.numpy.convolutions import conv_general_dilated
from anyshape.scipy import signal as _signal

Axes = tuple[Sequence[int], Sequence[int]]


def __getattr__(name: str) -> Any:
    """Return what a name stands for in `anyshape.scipy.signal`."""
    return getattr(_signal, name)


class _Operand:
    """Array with its axes ordered as (alone, summed, convolved), and these merged into (alone, summed, ...)."""

    def __init__(self, x: Any, convolved: Sequence[int], summed: Sequence[int]) -> None:
        used = [k % x.ndim for k in (*convolved, *summed)]
        alone = [k for k in range(x.ndim) if k not in used]
        ordered = np.transpose(x, (*alone, *summed, *convolved))
        middle = len(alone) + len(summed)
        self.lead, self.spatial = ordered.shape[: len(alone)], ordered.shape[middle:]
        merged = math.prod(self.lead), math.prod(ordered.shape[len(alone) : middle]), *self.spatial
        self.array = np.reshape(ordered, merged)

    def fits(self, other: Any) -> bool:
        """Return whether the other one is no longer along any axis."""
        return all(k <= n for n, k in zip(self.spatial, other.spatial, strict=True))


def convolve(A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes = ((), ()), mode: str = "full") -> Any:
    """Return the convolution along pairs of axes, summed over further pairs.

    The axes of the result are those that A has alone, those that B has alone, and the convolved ones.
    """
    A, B = np.asarray(A), np.asarray(B)
    axes = axes or (range(A.ndim), range(A.ndim))
    first, second = _Operand(A, axes[0], dot_axes[0]), _Operand(B, axes[1], dot_axes[1])
    rank = len(axes[0])
    if mode != "valid" or first.fits(second):
        out = _slide(first.array, second.array, rank, mode)
    elif second.fits(first):
        out = np.swapaxes(_slide(second.array, first.array, rank, mode), 0, 1)
    else:
        raise ValueError("one array must be larger than the other along all convolved axes")
    return np.reshape(out, (*first.lead, *second.lead, *out.shape[2:]))


def _slide(images: Any, kernels: Any, rank: int, mode: str) -> Any:
    if rank == 0:
        return images @ kernels.T
    margins = {"valid": lambda k: (0, 0), "full": lambda k: (k - 1, k - 1), "same": lambda k: (k // 2, (k - 1) // 2)}
    pads = [margins[mode](k) for k in kernels.shape[2:]]
    return conv_general_dilated(images, np.flip(kernels, tuple(range(2, rank + 2))), (1,) * rank, pads)
