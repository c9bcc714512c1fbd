"""Examples of different sizes as operands of a scan: each trip reads the rows of one, and its results may be ragged."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.numpy.serve import FUNCTIONS
from anyshape.ops.control import name_sizes
from anyshape.tracing.trace import as_value, standing_for
from anyshape.transforms.control_flow.loop_tracing import is_outer


class Pieces:
    """Rows of batches that each trip reads a part of. Batches of one group have the same sizes."""

    def __init__(self) -> None:
        self.flats: list[tuple[Any, int]] = []  # rows of all examples, and the group
        self.sizes: list[list[Any]] = []  # by group and axis
        self._known: list[list[int]] = []  # identities of the sizes of each group
        self._names: list[str] = []  # of the number of rows of each group

    def add_sizes(self, sizes: Sequence[Any]) -> int:
        """Add a group, and return its number."""
        self.sizes.append([name_sizes(as_value(n)) for n in sizes])
        self._names.append("rows")
        return len(self.sizes) - 1

    def add(self, flat: Any, group: int, path: str = "") -> None:
        """Add a batch of a group; errors name the argument at its path."""
        if path and self._names[group] == "rows" and len(self.sizes[group]) == 1:
            self._names[group] = f"{path}.shape[0]"
        self.flats.append((name_sizes(as_value(flat)), group))

    def add_batch(self, flat: Any, sizes: Sequence[Any]) -> None:
        """Add a batch to the group of its sizes, a new one unless another batch has these."""
        own = [id(n) for n in sizes]
        if own not in self._known:
            self._known.append(own)
            self.add_sizes(sizes)
        self.add(flat, self._known.index(own))

    @property
    def tables(self) -> list[Any]:
        """Sizes of examples of groups with several ragged axes."""
        return [n for sizes in self.sizes if len(sizes) > 1 for n in sizes]

    def types(self) -> list[TensorMeta]:
        """Return the types of what a trip reads: sizes, and rows of each batch."""
        variables = [Exact(expr.from_atom(DimVar(name))) for name in self._names]
        sizes = [TensorMeta(x.dtype, x.meta.extents[1:]) for x in self.tables]
        return [*sizes, *[TensorMeta(x.dtype, (variables[group], *x.meta.extents[1:])) for x, group in self.flats]]

    def operands(self) -> tuple[list[Any], list[Any]]:
        """Return what each trip reads a part of, sizes and rows; and the lengths of all batches."""
        handles = [[standing_for(n, None) for n in sizes] for sizes in self.sizes]
        lengths = [as_value(functools.reduce(operator.mul, sizes)) for sizes in handles]
        return [*self.tables, *[x for x, _ in self.flats]], [lengths[group] for _, group in self.flats]

    def examples(self, own: Sequence[Any]) -> list[Any]:
        """Return the example of each batch in a trip, which reads `own`."""
        tables, rows = iter(own), own[len(self.tables) :]
        shapes = [[next(tables) for _ in sizes] if len(sizes) > 1 else [] for sizes in self.sizes]
        return [_example(x, shapes[group]) for x, (_, group) in zip(rows, self.flats, strict=True)]


def _example(rows: Any, sizes: Sequence[Any]) -> Any:
    x: Any = standing_for(rows, None)
    return x.reshape((*[standing_for(n, np.generic) for n in sizes], *x.shape[1:])) if sizes else x


class RaggedResults:
    """Results of a trip in the order in which a scan takes them: of one shape first, ragged ones last."""

    def __init__(self, leaves: Sequence[Any]) -> None:
        arrays = [standing_for(name_sizes(as_value(y)), None) for y in leaves]
        self.ragged_axes = [ragged_axes(y) for y in arrays]
        self.stacked: list[Any] = []
        self.joined: list[Any] = []
        for y, count in zip(arrays, self.ragged_axes, strict=True):
            if not count:
                self.stacked.append(y)
                continue
            self.stacked += [FUNCTIONS["asarray"](n) for n in y.shape[:count]]
            self.joined.append(y if count == 1 else y.reshape((math.prod(y.shape[:count]), *y.shape[count:])))

    def of_all(self, stacked: Sequence[Any], joined: Sequence[Any]) -> list[tuple[Any, list[Any]]]:
        """Return each result of all trips as an array, with the sizes of ragged axes."""
        joins, arrays = iter(joined), iter(stacked)
        results = []
        for count in self.ragged_axes:
            sizes = [next(arrays) for _ in range(count)]
            results.append((standing_for(name_sizes(next(joins)), None) if count else next(arrays), sizes))
        return results


def ragged_axes(y: Any) -> int:
    """Return how many of the first axes have sizes that may differ between trips."""
    return max([0, *[axis + 1 for axis, extent in enumerate(y.meta.extents) if not is_outer(extent)]])
