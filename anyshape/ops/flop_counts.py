"""What one application of an op costs, counted in elements: the operations it makes, what it reads, what it writes.

The convention. One operation on one element counts as one, whatever the operation (an addition, a comparison, a sine)
and whatever the dtype, complex too. A sum, product or extremum starts from its neutral element, so it makes one
operation for each element; an element of a matrix product of k terms makes k products and k sums. A sort is counted in
comparisons of a merge sort, at most ceil(log2(n)) for each element of n. What moves elements, or changes only how they
are stored, makes no operation. Each operand is read and each result written once, in full unless the table says
otherwise: a count of the program as it prints, of which a plan that sees movement as views saves a part.

Every formula grows with each size, so that upper bounds of sizes give an upper bound of the cost.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast
from weakref import WeakValueDictionary

from anyshape.errors import MissingRuleError
from anyshape.graph.ir.graph import Op
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size
from anyshape.ops import (
    contraction,
    contraction_order,
    control,
    dynamic,
    elementwise,
    gathering,
    indexing,
    movement,
    reduction,
    sorting,
)

Shape: TypeAlias = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """One application of an op: the shapes of its operands and results, as sizes, and its parameters."""

    inputs: tuple[Shape, ...]
    outputs: tuple[Shape, ...]
    params: Mapping[str, Any]


Formula: TypeAlias = Callable[[Applied], Size]


@dataclass(frozen=True, slots=True)
class OpCost:
    """How an op is counted. `reads_first` gives the elements that are read of the first operand, where not all are."""

    flops: Formula
    reads_first: Formula | None = None


class CeilLog2(DimVar):
    """The leaf of a cost that stands for the smallest k >= 0 with 2**k >= `of`, which is no polynomial of sizes."""

    __slots__ = ("of",)
    _made: WeakValueDictionary[DimExpr, CeilLog2] = WeakValueDictionary()

    of: DimExpr

    def __new__(cls, of: DimExpr) -> CeilLog2:
        known = cls._made.get(of)
        if known is not None:
            return known
        self = cast(CeilLog2, super().__new__(cls, f"ceil_log2({of})"))
        self.of = of
        cls._made[of] = self
        return self

    def __reduce__(self) -> Any:
        return CeilLog2, (self.of,)


def ceil_log2(size: Size) -> Size:
    """The smallest k >= 0 with 2**k >= size."""
    if isinstance(size, int):
        return (size - 1).bit_length() if size > 1 else 0
    return expr.from_atom(CeilLog2(size))


def elements(shape: Shape) -> Size:
    """How many elements an array of this shape has."""
    count: Size = 1
    for size in shape:
        count = expr.mul(count, size)
    return count


def _per_result(times: int) -> OpCost:
    return OpCost(lambda a: expr.mul(times, elements(a.outputs[0])))


def _per_operand(times: int) -> OpCost:
    return OpCost(lambda a: expr.mul(times, elements(a.inputs[0])))


def _per_update(times: int) -> OpCost:
    """The operands are what is updated, where, and with what."""
    return OpCost(lambda a: expr.mul(times, elements(a.inputs[2])))


def _products(a: Applied) -> Size:
    summed = elements(tuple([a.inputs[0][axis] for axis in a.params["contract"][0]]))
    return expr.mul(2, expr.mul(elements(a.outputs[0]), summed))


def _pairs(a: Applied) -> Size:
    """Those of the pairs in the order that a plan takes which knows nothing more of the sizes."""
    terms, out = contraction.terms_of(a.params["equation"])
    sizes = {label: s for labels, shape in zip(terms, a.inputs, strict=True) for label, s in zip(labels, shape)}
    path = contraction_order.chosen(ShapeGuardContext(Scope(), "einsum"), terms, out, sizes).path
    works = [elements(tuple([sizes[label] for label in work])) for work in contraction_order.pairs_of(terms, out, path)]
    return functools.reduce(expr.add, [expr.mul(2, work) for work in works])


def _comparisons(a: Applied) -> Size:
    """Of a merge sort of each line."""
    return expr.mul(elements(a.inputs[0]), ceil_log2(a.inputs[0][a.params["axis"]]))


def _bisections(a: Applied) -> Size:
    """A row of n elements has n + 1 places for a value."""
    row, values = a.inputs
    return expr.mul(elements(values), ceil_log2(expr.add(row[-1], 1)))


def _logsumexps(a: Applied) -> Size:
    """max, -, exp and + for each element; log and + for each sum."""
    return expr.add(expr.mul(4, elements(a.inputs[0])), expr.mul(2, elements(a.outputs[0])))


def _of_result(a: Applied) -> Size:
    return elements(a.outputs[0])


_MOVES = OpCost(lambda a: 0)
_PICKS = OpCost(lambda a: 0, reads_first=_of_result)

FAMILIES: dict[str, OpCost] = {
    "elementwise": _per_result(1),
    "special": _per_result(1),
    "movement": _MOVES,
    "creation": _MOVES,
    "control": _MOVES,
    "callback": _MOVES,  # what functions do besides is not known
    "gathering": _per_update(1),
    "dynamic": _per_operand(1),
    "reduction": _per_operand(1),
    "segments": _per_operand(1),
}

# Ops that are counted in another way than their family.
OVERRIDES: dict[Op, OpCost] = {
    elementwise.real_op: _MOVES,
    elementwise.imag_op: _MOVES,
    elementwise.complex_op: _MOVES,
    elementwise.convert_op: _MOVES,
    elementwise.narrow_op: _MOVES,
    movement.slice_op: _PICKS,
    contraction.dot_general_op: OpCost(_products),
    contraction.einsum_op: OpCost(_pairs),
    control.check_op: _per_operand(1),
    dynamic.size_token_op: _MOVES,
    dynamic.repeated_op: _per_result(1),
    dynamic.unique_op: OpCost(_comparisons),
    dynamic.dynamic_slice_op: _PICKS,
    dynamic.dynamic_update_slice_op: _MOVES,
    reduction.reduce_logsumexp_op: OpCost(_logsumexps),
    reduction.softmax_op: _per_operand(5),  # max, -, exp, + and / for each element
    reduction.recurrence_op: _per_operand(2),
    gathering.gather_op: _PICKS,
    gathering.gather_dynamic_op: _PICKS,
    gathering.scatter_set_op: _MOVES,
    indexing.take_op: _PICKS,
    indexing.put_add_op: _per_operand(1),
    sorting.sort_op: OpCost(_comparisons),
    sorting.argsort_op: OpCost(_comparisons),
    sorting.permute_op: _MOVES,
    sorting.searchsorted_op: OpCost(_bisections),
}


def find_cost(op: Op) -> OpCost:
    """How an op is counted, or an error that names the missing line."""
    found = OVERRIDES.get(op) or FAMILIES.get(op.family)
    if found is None:
        raise MissingRuleError(op.name, "cost", "ops/flop_counts.py")
    return found
