"""Cost of one application of an op, counted in elements: operations, elements read, elements written.

One operation on one element counts as one, whatever the operation and the dtype:

- A sum, product or extremum starts from its neutral element, so it makes one operation per element.
- An element of a matrix product of k terms makes k products and k sums.
- A sort is counted in comparisons of a merge sort, at most ceil(log2(n)) for each of n elements.
- Ops that move elements, or change only how they are stored, make no operation.

Each operand is read and each result written once, in full unless the row says otherwise. This counts the program as it
prints; a plan that sees movement as views does less. Every formula grows with each size, so upper bounds of sizes give
an upper bound of the cost.

The rows stand with the definitions of the ops in `ops/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast
from weakref import WeakValueDictionary

from anyshape.graph.ir.graph import Graph, OpTable, Value
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, Unknown, project
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, InputAxis, Leaf, Size
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.true_types import has_type

Shape: TypeAlias = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """Application of an op: the shapes of its operands and results, and its params."""

    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    params: Mapping[str, Any]


Formula: TypeAlias = Callable[[Applied], Size]


class OpCost(NamedTuple):
    """Count of an op. `reads_first` gives the elements that are read of the first operand, where not all are.

    `bound`: `flops` is an upper bound, as for an op that runs one of several subgraphs.
    """

    flops: Formula
    reads_first: Formula | None = None
    bound: bool = False


class CeilLog2(DimVar):
    """Leaf of a cost that stands for the smallest k >= 0 with 2**k >= `of`, which is not a polynomial of sizes."""

    __slots__ = ("of",)
    _made: WeakValueDictionary[DimExpr, CeilLog2] = WeakValueDictionary()

    of: DimExpr

    def __new__(cls, of: DimExpr) -> CeilLog2:
        if (known := cls._made.get(of)) is not None:
            return known
        self = cast(CeilLog2, super().__new__(cls, f"ceil_log2({of})"))
        self.of = of
        cls._made[of] = self
        return self

    def __reduce__(self) -> Any:
        return CeilLog2, (self.of,)


def ceil_log2(size: Size) -> Size:
    """Return the smallest k >= 0 with 2**k >= size."""
    if has_type(size, int):
        return (size - 1).bit_length() if size > 1 else 0
    return expr.from_atom(CeilLog2(size))


def elements(shape: Shape) -> Size:
    """Return the number of elements of an array of this shape."""
    count: Size = 1
    for size in shape:
        count = expr.mul(count, size)
    return count


def per_result(times: int) -> OpCost:
    """Count so many operations per element of the result."""
    return OpCost(lambda a: expr.mul(times, elements(a.outputs[0])))


def per_operand(times: int) -> OpCost:
    """Count so many operations per element of the first operand."""
    return OpCost(lambda a: expr.mul(times, elements(a.inputs[0])))


def per_update(times: int) -> OpCost:
    """Count so many operations per element of the third operand, the updates of a scatter."""
    return OpCost(lambda a: expr.mul(times, elements(a.inputs[2])))


def _merge_sort(a: Applied) -> Size:
    """Comparisons of a merge sort of each line along the axis."""
    axis = a.params["axis"] + a.params.get("batch", 0)  # an op on examples counts axes from the first of an example
    return expr.mul(elements(a.inputs[0]), ceil_log2(a.inputs[0][axis]))


MOVES = OpCost(lambda a: 0)
PER_LAST_OPERAND = OpCost(lambda a: elements(a.inputs[-1]))
PICKS = OpCost(lambda a: 0, reads_first=lambda a: elements(a.outputs[0]))
MERGE_SORT = OpCost(_merge_sort)

COSTS: OpTable[OpCost] = OpTable("cost", "ops")


# -- subgraphs


class UnknownSizeError(Exception):
    """Raised by a formula for a subgraph that has an axis of unknown size."""


def graph_flops(graph: Graph, shapes: Sequence[Shape]) -> Size:
    """Return an upper bound of the operations of one run of a subgraph on operands of these shapes."""
    shape_of = _shapes_in(graph, shapes)
    counts = [
        COSTS[n.op].flops(Applied(tuple(map(shape_of, n.inputs)), tuple(map(shape_of, n.outputs)), dict(n.params)))
        for n in graph.nodes
    ]
    return expr.total(counts) if counts else 0


def graph_bytes(graph: Graph, shapes: Sequence[Shape]) -> Size:
    """Return an upper bound of the bytes of all values that one run of a subgraph computes, and of its results."""
    shape_of = _shapes_in(graph, shapes)
    values = [*[v for n in graph.nodes for v in n.outputs], *graph.outputs]
    counts = [expr.mul(elements(shape_of(v)), v.meta.dtype.itemsize) for v in values]
    return expr.total(counts) if counts else 0


def _shapes_in(graph: Graph, shapes: Sequence[Shape]) -> Callable[[Value], Shape]:
    """Return the function that bounds the shape of a value of a subgraph, for operands of these shapes."""
    sizes: dict[Leaf, ShapeExtent] = {}
    for source in graph.dims:
        if isinstance(axis := expr.as_atom(source.size), InputAxis):
            sizes[source.variable] = Exact(shapes[axis.operand][axis.axis])

    def bound(extent: ShapeExtent) -> Size:
        if isinstance(known := project(project(extent, graph.runtime_bounds.get), sizes.get), Unknown):
            raise UnknownSizeError
        return known.size

    stated = {n.inputs[0]: n.outputs[0] for n in graph.nodes if n.op.name == "sized"}  # values whose sizes are known
    return lambda value: tuple([bound(e) for e in stated.get(value, value).meta.extents])
