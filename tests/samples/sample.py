"""What a row of the table of samples says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZES = (0, 1, 2, 5)


@dataclass(frozen=True)
class Sample:
    """A function of arrays, written once against a namespace: `function(np, *arrays)`.

    The checks run it eagerly with NumPy as the namespace, and traced with plain NumPy functions (`np`) and with
    `anyshape.numpy` on arrays whose sizes are all unknown. `shapes` are specs such as "n, 3" or "m, n, 1": a name is a
    size, swept over SIZES (same name, same size; different names are swept apart, `smallest` and up); "" is a scalar.

    `dtypes`: one dtype for all arrays, each tried in turn. `domain`: the interval values are drawn from. `make`: builds
    the arrays of a shape instead, `make(rng, shapes, dtype)`, for values such as repeated or integer ones.
    `grad`: differentiable in float arguments (False where the derivative is declared zero or meaningless; the checks
    then demand zero tangents, or skip with `grad=None`). `order`: how many times it is differentiated.
    `ops`: names of the core ops the row is there for. `vmap`: whether a loop is compared with vmap.
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
        """The size names of the specs, in order."""
        words = [w.strip() for s in self.shapes for w in s.split(",")]
        return list(dict.fromkeys(w for w in words if w and not w.lstrip("-").isdigit()))

    def shapes_at(self, sizes: dict[str, int]) -> list[tuple[int, ...]]:
        """The concrete shapes when each name has the given size."""
        return [
            tuple(sizes[w.strip()] if not w.strip().isdigit() else int(w) for w in s.split(",") if w.strip())
            for s in self.shapes
        ]

    def arrays(self, sizes: dict[str, int], dtype: str, seed: int = 0) -> list[Any]:
        """Arrays of these sizes, the same for the same seed."""
        rng = np.random.default_rng(seed)
        shapes, kind = self.shapes_at(sizes), np.dtype(dtype)
        if self.make is not None:
            return self.make(rng, shapes, kind)
        return [draw(rng, shape, kind, self.domain) for shape in shapes]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, domain: tuple[float, float]) -> Any:
    """Random values of the domain; of both parts, for complex dtypes."""
    values = rng.uniform(*domain, size=shape)
    if dtype.kind == "c":
        values = values + 1j * rng.uniform(*domain, size=shape)
    if dtype.kind == "b":
        values = values > (domain[0] + domain[1]) / 2
    if dtype.kind in "iu":
        values = np.floor(values)
    return np.asarray(values).astype(dtype)
