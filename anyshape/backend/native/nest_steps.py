"""Steps of a nest of loops, and how a step adds to the elements of another array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.native.nest_values import Array, At, Lines, Texts, along, sparse
from anyshape.graph.ir.graph import Node
from anyshape.graph.sizes.expr import Size
from anyshape.support.lazy_dataclass import NamedTuple


class Site(NamedTuple):
    """Step of a nest: its node, the writer of lines, and texts of sizes over the axes of its operands.

    `target` gives memory that the step may write its result to: the first operand itself where nothing reads it later.
    `by_numpy` writes the lines that let NumPy run it, and gives the results.
    """

    node: Node
    lines: Lines
    size: Callable[[Size], str]
    target: Callable[[], Array]
    params: dict[str, Any]
    by_numpy: Callable[[], list[Array]]

    @property
    def dtype(self) -> np.dtype:
        return self.node.outputs[0].meta.dtype

    def sizes(self, name: str) -> Texts:
        """Return texts of the sizes in a param."""
        return tuple([self.lines.size(self.size(n)) for n in self.params[name]])


Rule: TypeAlias = Callable[..., Array]


def added(lines: Lines, x: Array, at: At) -> None:
    """Write the lines that add the elements of an array to others."""
    if x.adds is not None:
        x.adds(at)
    else:
        lines.over(x.dims, lambda i: [f"{at(i)} += {x.at(i)};"])


def sum_with(site: Site, x: Array, parts: Sequence[Array], add: Callable[[At], None]) -> Array:
    """Return x with parts added in some places: in its memory, or as a sum of parts itself."""
    if x.adds is not None:
        everywhere = parts[-1].dims == x.dims  # no zero keeps its sign then
        fills = None if x.fills is None or everywhere else _both(x.fills, add)
        return sparse(site.dtype, x.dims, (x, *parts), _both(x.adds, add), fills)
    target = site.target()
    add(target.at)
    return target


def _both(first: Callable[[At], None], second: Callable[[At], None]) -> Callable[[At], None]:
    def write(at: At) -> None:
        first(at)
        second(at)

    return write


def with_window(site: Site, x: Array, update: Array, starts: Texts, steps: Texts) -> Array:
    """Return x with another array in a window of it: in its memory, or as a part of zeros."""
    positions = lambda i: along(i, starts, steps)
    fill = lambda at: site.lines.over(update.dims, lambda i: [f"{at(positions(i))} = {update.at(i)};"])
    if x.is_zero:
        return sparse(
            site.dtype, x.dims, (update,), lambda at: added(site.lines, update, lambda i: at(positions(i))), fill
        )
    target = site.target()
    fill(target.at)
    return target
