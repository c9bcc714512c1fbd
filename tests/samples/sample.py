"""Samples: functions of arrays that every check sweeps over sizes and dtypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import anyshape

SIZES = (0, 1, 2, 5)


@anyshape.as_written
def is_plain(x: Any) -> bool:
    """Return whether x is an array of NumPy's, and not traced: to code that is read, both are of one type."""
    return type(x) is np.ndarray


@dataclass(frozen=True)
class Sample:
    """Function of arrays, written once against a namespace: `function(np, *arrays)`.

    The checks run it eagerly with NumPy as the namespace. They trace it with plain NumPy functions and with
    `anyshape.numpy`, on arrays whose sizes are all unknown.

    - `shapes`: specs such as "n, 3" or "m, n, 1"; "" is a scalar. A name is a size, swept over SIZES from `smallest`
      on. Equal names have equal sizes, different names are swept independently.
    - `ops`: names of the core ops that the sample is there for.
    - `dtypes`: each in turn is the dtype of all arrays.
    - `domain`: the interval of the values.
    - `make(rng, shapes, dtype)`: builds the arrays instead, for values such as repeated or integer ones.
    - `grad`: whether it is differentiable in float arguments. False: its tangents must be zero; None: no check.
    - `order`: how many times it is differentiated.
    - `vmap`: whether a loop is compared with vmap.
    """

    name: str
    function: Callable[..., Any]
    shapes: tuple[str, ...]
    ops: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float64",)
    domain: tuple[float, float] = (-2.0, 2.0)
    make: Callable[[np.random.Generator, list[tuple[int, ...]], np.dtype], list[Any]] | None = None
    grad: bool | None = True
    order: int = 2
    vmap: bool = True
    smallest: int = 0
    tolerance: float = 1e-9
    tags: frozenset[str] = field(default=frozenset())

    def __str__(self) -> str:
        return self.name

    def names(self) -> list[str]:
        """Return the size names of the specs, in order."""
        words = [w.strip() for s in self.shapes for w in s.split(",")]
        return list(dict.fromkeys(w for w in words if w and not w.lstrip("-").isdigit()))

    def shapes_at(self, sizes: dict[str, int]) -> list[tuple[int, ...]]:
        """Return the shapes at these sizes."""
        return [
            tuple(sizes[w.strip()] if not w.strip().isdigit() else int(w) for w in s.split(",") if w.strip())
            for s in self.shapes
        ]

    def arrays(self, sizes: dict[str, int], dtype: str, seed: int = 0) -> list[Any]:
        """Return arrays of these sizes, the same for the same seed."""
        rng = np.random.default_rng(seed)
        shapes, kind = self.shapes_at(sizes), np.dtype(dtype)
        if self.make is not None:
            return self.make(rng, shapes, kind)
        return [draw(rng, shape, kind, self.domain) for shape in shapes]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, domain: tuple[float, float]) -> Any:
    """Return random values of the domain, for both parts of complex dtypes."""
    values = rng.uniform(*domain, size=shape)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(*domain, size=shape)
    if dtype.kind == "b":
        values = values > (domain[0] + domain[1]) / 2
    if dtype.kind in "iu":
        values = np.floor(values)
    return np.asarray(values).astype(dtype)
