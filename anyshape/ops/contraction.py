"""Products summed over axes. dot_general is what runs: matmul, tensordot and einsum are compositions of it.

einsum_op is a product of several operands of which no order to contract them in is best at all sizes: plans choose one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.graph import Node
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import free_axes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import contraction_order
from anyshape.ops import param_kinds as kinds
from anyshape.ops.apply import Operand, apply
from anyshape.ops.definition import define
from anyshape.ops.flop_counts import Applied, OpCost, elements

Axes = tuple[int, ...]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MOST_OPERANDS = 26  # of an einsum_op: choosing an order takes their number to the third


def _agree(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, pairs: tuple[Axes, Axes], what: str) -> None:
    """Sizes agree. One pair of summed axes may be left to NumPy, which compares their sizes, merged with the others.

    Of two, (2, 3) would pass for (3, 2); and of batch axes NumPy would stretch one of size 1.
    """
    left = 1 if what == "contracted" else 0
    for i, j in zip(*pairs, strict=True):
        a, b = x.extents[i], y.extents[j]
        if isinstance(a, Exact) and isinstance(b, Exact):
            ctx.require_equal(a.size, b.size, f"{what} axes have sizes {a} and {b}")
        elif left:
            left -= 1
        else:
            raise ctx.unsupported(f"the {what} axes", i, b if isinstance(a, Exact) else a)


def _dot_general_type(
    ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, *, contract: tuple[Axes, Axes], batch: tuple[Axes, Axes]
) -> TensorMeta:
    if x.dtype != y.dtype:
        raise ctx.bad_dtype(f"operands are {x.dtype} and {y.dtype}", "convert them to one dtype with astype")
    _agree(ctx, x, y, contract, "contracted")
    _agree(ctx, x, y, batch, "batch")
    left = [x.extents[i] for i in free_axes(x.rank, contract[0], batch[0])]
    right = [y.extents[i] for i in free_axes(y.rank, contract[1], batch[1])]
    return TensorMeta(x.dtype, (*[x.extents[i] for i in batch[0]], *left, *right))


def _pair_flops(a: Applied) -> Size:
    summed = elements(tuple([a.inputs[0][axis] for axis in a.params["contract"][0]]))
    return expr.mul(2, expr.mul(elements(a.outputs[0]), summed))


def _disjoint(node: Node, params: dict[str, Any]) -> bool:
    return all(not set(c) & set(b) for c, b in zip(params["contract"], params["batch"], strict=True))


dot_general_op = define(
    "dot_general",
    _dot_general_type,
    params={"contract": kinds.pair_of_axes, "batch": kinds.pair_of_axes},
    jointly=_disjoint,
    claims=None,
    probe=None,
    cost=OpCost(_pair_flops),
)


def dot_general(
    x: Operand, y: Operand, contract: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]]
) -> Any:
    """Products summed over the `contract` axes, side by side over the `batch` axes.

    The axes of the result are the batch axes, the free axes of x, the free axes of y, as StableHLO defines it.
    """
    return apply(
        dot_general_op,
        x,
        y,
        contract=(tuple(contract[0]), tuple(contract[1])),
        batch=(tuple(batch[0]), tuple(batch[1])),
    )


def terms_of(equation: str) -> tuple[list[str], str]:
    """The labels of the axes of each operand, and of the result: ab,bc->ac."""
    left, _, out = equation.partition("->")
    return left.split(","), out


def equation_of(terms: Sequence[Sequence[Any]], out: Sequence[Any]) -> str:
    """Labels of any kind as an equation; "" where that is no product, or of more labels than half of the letters, or of
    more operands than an einsum_op has.
    """
    if len(terms) > MOST_OPERANDS:
        return ""
    letter = dict(zip(dict.fromkeys(a for t in terms for a in t), LETTERS[: len(LETTERS) // 2], strict=False))
    if not all(a in letter for t in terms for a in t):
        return ""
    left, (right,) = (["".join(letter[a] for a in t) for t in labels] for labels in (terms, [out]))
    equation = f"{','.join(left)}->{right}"
    return equation if is_product(equation) else ""


def is_product(equation: str) -> bool:
    """No label is twice in an operand, and each is in two places at least: then the cotangent of an operand, too, is a
    product of the others and that of the result.
    """
    terms, out = terms_of(equation)
    places = [*terms, out]
    count = {a: sum(a in place for place in places) for place in places for a in place}
    distinct = all(len({*place}) == len(place) for place in places)
    return distinct and all(n > 1 for n in count.values()) and {*out} <= {*"".join(terms)} <= {*LETTERS}


def _einsum_type(ctx: ShapeGuardContext, *operands: TensorMeta, equation: str) -> TensorMeta:
    terms, out = terms_of(equation)
    if len({x.dtype for x in operands}) > 1:
        found = ", ".join(str(x.dtype) for x in operands)
        raise ctx.bad_dtype(f"operands are {found}", "convert them to one dtype with astype")
    sizes: dict[str, Exact] = {}
    for labels, x in zip(terms, operands, strict=True):
        for axis, (label, extent) in enumerate(zip(labels, x.extents, strict=True)):
            if not isinstance(extent, Exact):
                raise ctx.unsupported("an axis of a product", axis, extent)
            known = sizes.setdefault(label, extent)
            ctx.require_equal(known.size, extent.size, f"axes of the label {label!r} have sizes {known} and {extent}")
    return TensorMeta(operands[0].dtype, tuple([sizes[a] for a in out]))


def _path_flops(a: Applied) -> Size:
    """FLOPs of the pairwise contractions along the default path."""
    terms, out = terms_of(a.params["equation"])
    sizes = {label: s for labels, shape in zip(terms, a.inputs, strict=True) for label, s in zip(labels, shape)}
    path = contraction_order.chosen(ShapeGuardContext(Scope(), "einsum"), terms, out, sizes).path
    works = [elements(tuple([sizes[label] for label in work])) for work in contraction_order.pairs_of(terms, out, path)]
    return functools.reduce(expr.add, [expr.mul(2, work) for work in works])


def _is_equation(node: Node, param: Any) -> bool:
    """A product with one label for each axis of each operand."""
    if not isinstance(param, str) or not is_product(param):
        return False
    return [len(labels) for labels in terms_of(param)[0]] == [v.meta.rank for v in node.inputs]


einsum_op = define(
    "einsum",
    _einsum_type,
    operands=(3, MOST_OPERANDS),
    params={"equation": _is_equation},
    jointly=None,
    claims=None,
    probe=None,
    cost=OpCost(_path_flops),
)


def einsum(operands: Sequence[Operand], equation: str) -> Any:
    """The product of several operands, summed over the labels that the result has not; `is_product` holds for it."""
    return apply(einsum_op, *operands, equation=equation)
