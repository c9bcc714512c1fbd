"""Contractions: products summed over axes.

Plans run dot_general, and matmul, tensordot and einsum are compositions of it. `einsum_op` is a product of several
operands without a contraction path that is cheapest at all sizes. Plans choose one.
"""

import functools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, free_axes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import contraction_order
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply
from anyshape.ops.core.definition import NO_CHECKS, NO_PROBE, define
from anyshape.ops.core.flop_counts import Applied, OpCost, elements

Axes = tuple[int, ...]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
MAX_OPERANDS = 26  # of an einsum_op: choosing a path takes time cubic in their number


def _agree(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, pairs: tuple[Axes, Axes], role: str) -> None:
    """Require equal sizes of axes that are contracted, or that are batch axes.

    One contracted pair may lack a proof: NumPy compares its sizes, merged with the sizes of other pairs. With two such
    pairs, (2, 3) would pass for (3, 2). An unproved pair of batch axes could be broadcast, so there is none.
    """
    unproved = 1 if role == "contracted" else 0
    for i, j in zip(*pairs, strict=True):
        a, b = x.extents[i], y.extents[j]
        if isinstance(a, Exact) and isinstance(b, Exact):
            ctx.require_equal(a.size, b.size, f"{role} axes have sizes {a} and {b}")
        elif unproved:
            unproved -= 1
        else:
            raise ctx.unsupported(f"the {role} axes", i, b if isinstance(a, Exact) else a)


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


dot_general_op: Op = define(
    "dot_general",
    _dot_general_type,
    params={"contract": kinds.pair_of_axes, "batch": kinds.pair_of_axes},
    jointly=_disjoint,
    cost=OpCost(_pair_flops),
    **NO_PROBE,
)


def dot_general(
    x: Operand, y: Operand, contract: tuple[Sequence[int], Sequence[int]], batch: tuple[Sequence[int], Sequence[int]]
) -> Any:
    """Return products summed over the `contract` axes, for each position of the `batch` axes.

    The result has the batch axes, then the free axes of x, then the free axes of y, as in StableHLO.
    """
    axes: dict[str, Any] = {"contract": tuple(map(tuple, contract)), "batch": tuple(map(tuple, batch))}
    return apply(dot_general_op, x, y, **axes)


def terms_of(equation: str) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result of an equation such as `ab,bc->ac`."""
    left, _, out = equation.partition("->")
    return left.split(","), out


def equation_of(terms: Sequence[Sequence[Any]], out: Sequence[Any]) -> str:
    """Return labels of any kind as the equation of an einsum_op; "" if there is none.

    There is none if it is not a product, or has too many labels or operands. Labels take half of the letters, so that
    batching can add some.
    """
    if len(terms) > MAX_OPERANDS:
        return ""
    letter = dict(zip(dict.fromkeys(a for t in terms for a in t), LETTERS[: len(LETTERS) // 2], strict=False))
    if not all(a in letter for t in terms for a in t):
        return ""
    left, (right,) = (["".join(letter[a] for a in t) for t in labels] for labels in (terms, [out]))
    equation = f"{','.join(left)}->{right}"
    return equation if is_product(equation) else ""


def is_product(equation: str) -> bool:
    """Return whether no operand repeats a label, and each label occurs in two operands, or in one and in the result.

    Then the cotangent of an operand is such a product too, of the other operands and the cotangent of the result.
    """
    terms, out = terms_of(equation)
    occurrences = Counter([label for labels in (*terms, out) for label in {*labels}])
    distinct = all(len({*labels}) == len(labels) for labels in (*terms, out))
    return distinct and min(occurrences.values(), default=2) > 1 and {*out} <= {*"".join(terms)} <= {*LETTERS}


def _einsum_type(ctx: ShapeGuardContext, *operands: TensorMeta, equation: str) -> TensorMeta:
    terms, out = terms_of(equation)
    if len({x.dtype for x in operands}) > 1:
        dtypes = ", ".join(str(x.dtype) for x in operands)
        raise ctx.bad_dtype(f"operands are {dtypes}", "convert them to one dtype with astype")
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
    path = contraction_order.choose_path(ShapeGuardContext(Scope(), "einsum"), terms, out, sizes).path
    pairs = contraction_order.contracted_pairs(terms, out, path)
    products = [elements(tuple([sizes[label] for label in pair])) for pair in pairs]
    return functools.reduce(expr.add, [expr.mul(2, number) for number in products])


def _is_equation(node: Node, param) -> bool:
    """Accept a product with one label for each axis of each operand."""
    if not isinstance(param, str) or not is_product(param):
        return False
    return [len(labels) for labels in terms_of(param)[0]] == [v.meta.rank for v in node.inputs]


einsum_op: Op = define(
    "einsum",
    _einsum_type,
    operands=(3, MAX_OPERANDS),
    params={"equation": _is_equation},
    cost=OpCost(_path_flops),
    **NO_CHECKS,
)


def einsum(operands: Sequence[Operand], equation: str) -> Any:
    """Return the product of several operands, summed over labels that the result lacks; `is_product` must hold."""
    return apply(einsum_op, *operands, equation=equation)
