"""Tests of parameters: what each parameter of a node may hold, for the definitions of ops."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph, Node
from anyshape.graph.sizes.expr import DimExpr, InputAxis
from anyshape.graph.sizes.substitute import leaves_of
from anyshape.ops.core.definition import ParamKind
from anyshape.support.freezing import freeze
from anyshape.support.true_types import has_type

MAX_RANK = 64  # of NumPy's arrays
MAX_ORDER = 1000  # of special functions and decimals: kernels take that many steps


def size(node: Node, param: Any) -> bool:
    """Accept an int of 64 bits, or an expression over axes that the operands have."""
    if isinstance(param, DimExpr):
        metas = [v.meta for v in node.operands]
        return all(
            isinstance(leaf, InputAxis) and leaf.operand < len(metas) and leaf.axis < metas[leaf.operand].rank
            for leaf in leaves_of(param)
        )
    return type(param) is int and abs(param) < 2**63


def sizes(node: Node, param: Any) -> bool:
    """Accept a tuple of sizes."""
    return isinstance(param, tuple) and len(param) <= MAX_RANK and all(size(node, s) for s in param)


def axis(node: Node, param: Any) -> bool:
    """Accept an axis of the first operand."""
    return type(param) is int and 0 <= param < node.inputs[0].meta.rank


def axes(node: Node, param: Any) -> bool:
    """Accept different axes of some array; the joint check of the op says which."""
    return are_different_axes(param, MAX_RANK)


def pair_of_axes(node: Node, param: Any) -> bool:
    """Accept equally many axes of either operand."""
    if not isinstance(param, tuple) or len(param) != 2:
        return False
    ranks = [v.meta.rank for v in node.inputs]
    return all(map(are_different_axes, param, ranks)) and len(param[0]) == len(param[1])


def flag(node: Node, param: Any) -> bool:
    """Accept a bool."""
    return type(param) is bool


def count(node: Node, param: Any) -> bool:
    """Accept an int that is not negative."""
    return type(param) is int and param >= 0


def order(node: Node, param: Any) -> bool:
    """Accept the order of a function in a sequence of functions."""
    return type(param) is int and 0 <= param <= MAX_ORDER


def integer(node: Node, param: Any) -> bool:
    """Accept an int of any sign."""
    return type(param) is int


def text(node: Node, param: Any) -> bool:
    """Accept a string."""
    return isinstance(param, str)


def dtype(node: Node, param: Any) -> bool:
    """Accept a NumPy dtype."""
    return isinstance(param, np.dtype)


def number(node: Node, param: Any) -> bool:
    """Accept a literal number."""
    return has_type(param, (bool, int, float, complex, np.longdouble, np.clongdouble))


def graph(node: Node, param: Any) -> bool:
    """Accept a subgraph."""
    return isinstance(param, Graph)


def one_of(*options: str | int) -> ParamKind:
    """Return the test of one of these strings or numbers."""
    return lambda node, param: param in options


# -- parts of joint checks


def are_different_axes(param: Any, rank: int) -> bool:
    """Return whether a param is a tuple of different axes of an array of this rank."""
    return (
        isinstance(param, tuple)
        and all(type(a) is int and 0 <= a < rank for a in param)
        and len(set(param)) == len(param)
    )


def are_increasing_axes(param: Sequence[int], number_of_axes: int, rank: int) -> bool:
    """Return whether a param is so many axes, in increasing order, of an array of this rank."""
    return len(param) == number_of_axes and list(param) == sorted(param) and all(a < rank for a in param)


def has_increasing_axes(node: Node, params: dict[str, Any]) -> bool:
    """Return whether `axes` are axes of the first operand in increasing order."""
    return are_increasing_axes(params["axes"], len(params["axes"]), node.inputs[0].meta.rank)


def is_literal(dtype: np.dtype, param: Any) -> bool:
    """Return whether a param is a number as an array of the dtype gives it back."""
    try:
        return freeze(dtype.type(param).item()) == freeze(param)
    except (TypeError, ValueError, OverflowError):
        return False
