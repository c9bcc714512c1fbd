"""Identities of simplification: each gives a cheaper way to compute the output of a node.

They are exact for every value, NaN, infinities and negative zero included. Rows of `backend/compiler/traits/` name the
identities of each op.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from anyshape.graph.ir.graph import Node, Op, Value, params_tuple
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.creation import full_op

if TYPE_CHECKING:
    from anyshape.backend.compiler.passes.simplify import Rewriter

Rewritten: TypeAlias = Node | Value | None  # another way to compute the output, a value that equals it, or no change
Identity: TypeAlias = "Callable[[Rewriter, Node], Rewritten]"


def times_one(r: Rewriter, node: Node) -> Rewritten:
    """x * 1 = 1 * x = x; not of complex numbers, where infinity times 1 is not a number."""
    x, y = node.inputs
    if node.outputs[0].meta.dtype.kind == "c":
        return None
    if r.literal(y) == 1 and x.meta.dtype == node.outputs[0].meta.dtype:
        return x
    return y if r.literal(x) == 1 else None


def times_minus_one(r: Rewriter, node: Node) -> Rewritten:
    """x * -1 = -x."""
    x, y = node.inputs
    for factor, other in ((x, y), (y, x)):
        if r.literal(factor) == -1 and other.meta.dtype.kind in "if":
            return Node(ew.neg_op, (other,), (), (), node.outputs, node.where)
    return None


def scaled_twice(r: Rewriter, node: Node) -> Rewritten:
    """a * (2**k * x) = (a * 2**k) * x: for k >= 0 and |a| >= 1 the product inside is exact, or both overflow."""
    for factor, value in (node.inputs, node.inputs[::-1]):
        inner, outside = r.made_by(value, ew.mul_op), r.literal(factor)
        if inner is None or r.uses[value] != 1 or not isinstance(outside, float) or not abs(outside) >= 1:
            continue
        for number, x in (inner.inputs, inner.inputs[::-1]):
            power, fill = r.literal(number), r.made_by(number, full_op)
            if fill is None or not isinstance(power, float) or power < 1 or math.frexp(power)[0] != 0.5:
                continue
            with np.errstate(over="ignore"):
                scale = number.meta.dtype.type(outside) * number.meta.dtype.type(power)
            if np.isfinite(scale):
                params = params_tuple(dict(fill.params) | {"value": scale.item()})
                literal = r.visit(replace(fill, params=params, outputs=(Value(number.meta),)))
                return Node(ew.mul_op, (literal, x), (), (), node.outputs, node.where)
    return None


def over_one(r: Rewriter, node: Node) -> Rewritten:
    """x / 1 = x; not of complex numbers, as for products."""
    real = node.outputs[0].meta.dtype.kind != "c"
    return node.inputs[0] if real and r.literal(node.inputs[1]) == 1 else None


def minus_zero(r: Rewriter, node: Node) -> Rewritten:
    """x - 0 = x; x - (-0.0) is not x when x is -0.0."""
    literal = r.literal(node.inputs[1])
    if literal is None or literal != 0 or np.signbit([np.real(literal), np.imag(literal)]).any():
        return None
    return node.inputs[0]


def finite_gap(r: Rewriter, node: Node) -> Rewritten:
    """The gap to a finite number is the difference."""
    literal = r.literal(node.inputs[1])
    if literal is None or not np.isfinite(literal):
        return None
    return Node(ew.sub_op, node.inputs, (), (), node.outputs, node.where)


def twice(op: Op) -> Identity:
    """op(op(x)) = x."""

    def identity(r: Rewriter, node: Node) -> Rewritten:
        inner = r.made_by(node.inputs[0], op)
        return inner.inputs[0] if inner is not None else None

    return identity


def _negated(r: Rewriter, value: Value) -> Value | None:
    """y where the value is -y."""
    inner = r.made_by(value, ew.neg_op)
    return None if inner is None else inner.inputs[0]


def negation_outwards(kinds: str) -> Identity:
    """op(-x, ...) = -op(x, ...), for results of these kinds: further out there may be fewer elements to negate.

    Rounding is symmetric. Complex products and quotients are sums. A sum that cancels is 0, not -0, so among sums only
    those of integers qualify.
    """

    def identity(r: Rewriter, node: Node) -> Rewritten:
        if node.outputs[0].meta.dtype.kind not in kinds:
            return None
        for i, value in enumerate(node.inputs):
            positive = _negated(r, value) if r.uses[value] == 1 else None
            if positive is not None:
                inputs = (*node.inputs[:i], positive, *node.inputs[i + 1 :])
                inner = Node(node.op, inputs, node.sources, node.params, (Value(node.outputs[0].meta),), node.where)
                r.uses[positive] += 1
                r.uses[inner.outputs[0]] = 1
                return Node(ew.neg_op, (r.visit(inner),), (), (), node.outputs, node.where)
        return None

    return identity


def add_negated(r: Rewriter, node: Node) -> Rewritten:
    """x + -y = x - y and -x + y = y - x."""
    x, y = node.inputs
    for kept, other in ((x, y), (y, x)):
        positive = _negated(r, other)
        if positive is not None:
            return Node(ew.sub_op, (kept, positive), (), (), node.outputs, node.where)
    return None


def sub_negated(r: Rewriter, node: Node) -> Rewritten:
    """x - -y = x + y."""
    positive = _negated(r, node.inputs[1])
    return None if positive is None else Node(ew.add_op, (node.inputs[0], positive), (), (), node.outputs, node.where)


def same_shape(r: Rewriter, node: Node) -> Rewritten:
    """An op that only changes the shape, to the shape there was."""
    x = node.inputs[0]
    old, new = r.ctx.sizes(x, field="shape"), r.ctx.sizes(node.outputs[0], field="shape")
    if old is None or new is None:
        return x if r.ctx.same_extents(x.meta, node.outputs[0].meta) else None
    # sizes go by their shortest name since the trace: to prove more of each would take longer than the rest of a trace
    return x if [r.scope.normal(s) for s in old] == [r.scope.normal(s) for s in new] else None


def of_literal(r: Rewriter, node: Node) -> Rewritten:
    """Moving a literal about gives that literal in another shape."""
    value = r.literal(node.inputs[0])
    return r.full(node, value) if value is not None else None


def of_number(r: Rewriter, node: Node) -> Rewritten:
    """Moving one stretched number about gives that number in another shape."""
    inner = r.made_by(node.inputs[0], mv.broadcast_in_dim_op)
    if inner is None or dict(inner.params)["axes"]:
        return None
    sizes = r.ctx.sizes(node.outputs[0], field="stretch")
    if sizes is None:
        return None
    sources: list[Value] = list(inner.inputs)
    shape = tuple([r.local(s, sources) for s in sizes])
    params = params_tuple({"shape": shape, "axes": ()})
    return Node(mv.broadcast_in_dim_op, inner.inputs, tuple(sources[1:]), params, node.outputs, node.where)


def transpose_twice(r: Rewriter, node: Node) -> Rewritten:
    """Transposing twice is transposing once, by the composed permutation."""
    axes = dict(node.params)["axes"]
    inner = r.made_by(node.inputs[0], mv.transpose_op)
    if inner is not None:
        first = dict(inner.params)["axes"]
        axes = tuple(first[a] for a in axes)
        node = Node(mv.transpose_op, inner.inputs, (), params_tuple({"axes": axes}), node.outputs, node.where)
    if axes == tuple(range(len(axes))):
        return node.inputs[0]
    return node if inner is not None else None


def reshape_twice(r: Rewriter, node: Node) -> Rewritten:
    """Reshaping twice is reshaping once, when the last shape does not read the first one's result."""
    inner = r.made_by(node.inputs[0], mv.reshape_op)
    sizes = r.ctx.sizes(node.outputs[0], field="reshape") if inner is not None else None
    if inner is None or sizes is None:
        return None
    sources: list[Value] = list(inner.inputs)
    shape = tuple([r.local(s, sources) for s in sizes])
    return Node(
        mv.reshape_op, inner.inputs, tuple(sources[1:]), params_tuple({"shape": shape}), node.outputs, node.where
    )


def aligned_stretch(r: Rewriter, node: Node) -> Rewritten:
    """A stretch as NumPy writes it: axes of size 1 put in first, so that NumPy can broadcast by itself."""
    axes, rank = dict(node.params)["axes"], r.ctx.rank(node.outputs[0])
    (x,) = node.inputs
    if axes == tuple(range(rank - len(axes), rank)):
        return None
    old, new = r.ctx.sizes(x, field="stretch"), r.ctx.sizes(node.outputs[0], field="stretch")
    if old is None or new is None:
        return None
    position = {axis: i for i, axis in enumerate(axes)}
    local = [expr.from_atom(InputAxis(0, position[a])) if a in position else 1 for a in range(rank)]
    sizes = [old[position[a]] if a in position else 1 for a in range(rank)]
    shape = tuple([size if isinstance(size, int) else here for size, here in zip(sizes, local)])
    wide = r.emit(mv.reshape_op, node.inputs, {"shape": shape}, tensor(x.meta.dtype, sizes), node.where)
    sources: list[Value] = [wide]
    target = tuple([r.local(s, sources) for s in new])
    params = params_tuple({"shape": target, "axes": tuple(range(rank))})
    return Node(mv.broadcast_in_dim_op, (wide,), tuple(sources[1:]), params, node.outputs, node.where)


def plain_sum(r: Rewriter, node: Node) -> Rewritten:
    """Adding up what was stretched is a plain sum where it is known which axes were: those that are new or were 1."""
    (x,) = node.inputs
    old, new = r.ctx.sizes(x, field="shape"), r.ctx.sizes(node.outputs[0], field="shape")
    axes = dict(node.params)["axes"]
    if old is None or new is None:
        return None
    kept = {axis for axis, size in zip(axes, new, strict=True) if r.scope.normal(old[axis]) == r.scope.normal(size)}
    if any(axis not in kept and r.scope.normal(size) != 1 for axis, size in zip(axes, new, strict=True)):
        return None
    summed = tuple([axis for axis in range(len(old)) if axis not in kept])
    found = x
    if summed:
        left = [size for axis, size in enumerate(old) if axis in kept]
        found = r.emit(rd.reduce_sum_op, (x,), {"axes": summed}, tensor(x.meta.dtype, left), node.where)
    places = iter(range(len(kept)))
    shape = tuple([expr.from_atom(InputAxis(0, next(places))) if axis in kept else 1 for axis in axes])
    if len(shape) == len(kept):
        return found
    return Node(mv.reshape_op, (found,), (), params_tuple({"shape": shape}), node.outputs, node.where)


def same_dtype(r: Rewriter, node: Node) -> Rewritten:
    """Converting to the dtype there is."""
    x = node.inputs[0]
    return x if x.meta.dtype == node.outputs[0].meta.dtype else None


def equal_choices(r: Rewriter, node: Node) -> Rewritten:
    """Choosing between equal values."""
    _, x, y = node.inputs
    return x if x is y else None
