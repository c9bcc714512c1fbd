"""Large contractions, divided among threads where BLAS itself uses one.

Which axis is cut, and in how many parts, depends on sizes alone, so the result is the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.runtime.blas_threads import blas_threads
from anyshape.backend.runtime.thread_pool import run_tiles

PARTS = 4
LARGE = 1 << 25  # multiplications from which on it pays: about a millisecond of BLAS; to wake a thread takes 0.1
Product = Callable[[Any, Any], Any]


def shared(
    left: Sequence[Any],
    right: Sequence[Any],
    out: Sequence[Any],
    product: Product,
    into: Callable[..., Any] | None = None,
) -> Product:
    """The product of two arrays whose axes, and those of the result, have these labels, in parts along one of them.

    `into(x, y, out)`, where there is one, writes a product to where it belongs.
    """
    if not out:
        return product

    def run(x: Any, y: Any) -> Any:
        if blas_threads() != 1:
            return product(x, y)
        sizes = dict(zip((*left, *right), x.shape + y.shape, strict=True))
        label = max(out, key=sizes.__getitem__)
        size, result = sizes[label], np.empty([sizes[a] for a in out], x.dtype)
        parts = min(PARTS, size)

        def work(tiles: Any) -> None:
            for k in tiles:
                part = slice(size * k // parts, size * (k + 1) // parts)
                x_part, y_part = x[_key(left, label, part)], y[_key(right, label, part)]
                if into is not None:
                    into(x_part, y_part, result[_key(out, label, part)])
                else:
                    result[_key(out, label, part)] = product(x_part, y_part)

        run_tiles(work, parts)
        return result

    return run


def _key(labels: Sequence[Any], label: Any, part: slice) -> tuple[slice, ...]:
    return tuple([part if a == label else slice(None) for a in labels])
