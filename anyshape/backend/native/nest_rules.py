"""Rules of ops in a nest of loops: what each step is in C. An op without a rule leaves its nest to NumPy.

A rule takes the step and its operands, and returns the value of the result. An index out of range ends the run of the
nest, as does all else that NumPy would refuse. Then NumPy serves the call: its errors name the line and the iteration.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.backend.compiler.c_expressions import CSite, c_literal
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.native.nest_along import ALONG_RULES
from anyshape.backend.native.nest_loops import LOOP_RULES, elementwise_loop
from anyshape.backend.native.nest_positions import POSITION_RULES
from anyshape.backend.native.nest_steps import Rule, Site, added, sum_with, with_window
from anyshape.backend.native.nest_sums import SUM_RULES
from anyshape.backend.native.nest_values import (
    DEEPEST,
    Array,
    At,
    Lines,
    Texts,
    along,
    derived,
    flat,
    kind_of,
    nothing,
    scalar,
    stretched,
)
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.array_type import ShapeExtent
from anyshape.ops import control as cn
from anyshape.ops import control_flow as cf
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import movement as mv

Extents: TypeAlias = tuple[ShapeExtent, ...]
MOST_ELEMENTS = 1 << 36  # along an axis that a value decides: elements need no memory here that NumPy has not either

# -- elementwise -------------------------------------------------------------------------------------------------

_OVERFLOWING = {"add": "add", "subtract": "sub", "multiply": "mul"}
_DIVIDING = {"floor_divide": "as_floordiv", "remainder": "as_mod"}


def elementwise(site: Site, *xs: Array) -> Array:
    """Return the result of an elementwise step; a number is computed at once."""
    op, result = site.node.op, site.dtype
    if op is ew.python_int_op:
        return mapped(site, _python_int(site.params["operator"]), xs)
    rule = TRAITS[op].c_expression
    text = None if rule is None else rule(CSite(tuple([x.dtype for x in xs]), result, site.params))
    if text is None:
        return elementwise_loop(site, xs)
    value = text.value
    if text.declines:
        value = f"(({text.declines}) ? declined = 1 : 0, {value})"
    return mapped(site, value, xs)


def _python_int(operator: str) -> str:
    """Return the text of an operator on Python ints, which declines beyond 64 bits."""
    if operator in _OVERFLOWING:
        name = _OVERFLOWING[operator]
        return f"({{{{ int64_t z; if (__builtin_{name}_overflow({{0}}, {{1}}, &z)) declined = 1; z; }}}})"
    if operator in _DIVIDING:
        bad = "{1} == 0 || ({1} == -1 && {0} == INT64_MIN)"
        return f"(({bad}) ? (declined = 1, 0) : {_DIVIDING[operator]}({{0}}, {{1}}))"
    if operator == "right_shift":
        return "({1} < 0 ? (declined = 1, 0) : {0} >> ({1} > 63 ? 63 : {1}))"
    if operator in ("negative", "absolute"):
        text = "-{0}" if operator == "negative" else "({0} < 0 ? -{0} : {0})"
        return f"({{0}} == INT64_MIN ? (declined = 1, 0) : {text})"
    raise NotExpressible(f"{operator} of Python ints")


def mapped(site: Site, text: str, xs: Sequence[Array]) -> Array:
    """Return the elements of a text with a field for each operand; axes align as NumPy's do."""
    dtype, kind, extents = site.dtype, kind_of(site.dtype), site.node.outputs[0].meta.extents
    operands = [(x, v.meta.extents) for x, v in zip(xs, site.node.inputs, strict=True)]
    dims = _broadcast_dims(site.lines, operands, extents)
    xs = [_aligned(site.lines, x, mine, dims, extents) for x, mine in operands]

    def at(indices: Sequence[str]) -> str:
        names = [site.lines.name("e") for _ in xs]
        bound = " ".join([f"const {x.kind} {name} = {x.at(indices)};" for name, x in zip(names, xs, strict=True)])
        return f"({{ {bound} ({kind})({text.format(*names)}); }})"

    result = derived(xs[0], dims, at, *xs[1:], dtype=dtype, steps=1)
    if not dims:
        return _number(site, text, xs, result)
    return site.lines.settle(result) if result.depth > DEEPEST else result


def _number(site: Site, text: str, xs: Sequence[Array], result: Array) -> Array:
    """Return a number, computed once for equal operands, which are locals or constants."""
    operands = [x.at(()) for x in xs]
    compute = lambda: site.lines.scalar(site.dtype, result.at(())).at(())
    if any("[" in operand or "*" in operand for operand in operands):  # memory may change
        return scalar(site.dtype, compute())
    return scalar(site.dtype, site.lines.once(f"{result.kind} {text} {operands}", compute))


def _broadcast_dims(lines: Lines, operands: Sequence[tuple[Array, Extents]], extents: Extents) -> Texts:
    """Return the sizes of operands that are aligned at the last axis."""
    dims: list[str] = []
    for axis, extent in enumerate(extents, -len(extents)):
        pairs = [(x.dims[axis], mine[axis]) for x, mine in operands if -axis <= len(mine)]
        dims.append(lines.size(_broadcast_size(pairs, extent)))
    return tuple(dims)


def _broadcast_size(pairs: Sequence[tuple[str, ShapeExtent]], extent: ShapeExtent) -> str:
    """Return the text of a size of the result, from texts and sizes of operands; most have that size."""
    for text, size in pairs:
        if size == extent:
            return text
    texts = list(dict.fromkeys([text for text, _ in pairs if text != "1"])) or ["1"]
    return functools.reduce(lambda a, b: f"as_broadcast({a}, {b})", texts)


def _aligned(lines: Lines, x: Array, mine: Extents, dims: Texts, extents: Extents) -> Array:
    """Return an operand with the axes of a result, along which it may be stretched."""
    ahead = len(dims) - len(x.dims)
    pairs = list(zip(x.dims, dims[ahead:], strict=True))
    own = [n if size == extent else m for (m, n), size, extent in zip(pairs, mine, extents[ahead:], strict=True)]
    if not ahead and own == list(dims):
        return x
    if x.depth and [n for n in dims if n != "1"] != [n for n in own if n != "1"]:
        lines.settle(x)
    indices = lambda i: [stretched(j, m, n) for j, m, n in zip(i[ahead:], own, dims[ahead:], strict=True)]
    return derived(x, dims, lambda i: x.at(indices(i)))


def _narrow(site: Site, x: Array) -> Array:
    """Return integers in a dtype that holds them; NumPy refuses others."""
    kind = kind_of(site.dtype)
    return mapped(
        site,
        f"((({kind})({{0}}) != {{0}} || (({{0}} < 0) != (({kind})({{0}}) < 0))) ? (declined = 1, 0) : {{0}})",
        (x,),
    )


# -- sizes and constants -----------------------------------------------------------------------------------------


def _size_value(site: Site) -> Array:
    return site.lines.scalar(site.dtype, site.size(site.params["size"]))


def _float_of_size(site: Site) -> Array:
    """Return a size as a float; a product of more than two sizes may be beyond an int64."""
    size = site.params["size"]
    if not isinstance(size, int) and any(sum([p for _, p in monomial]) > 2 for monomial, _ in size.terms):
        raise NotExpressible("a product of several sizes as a float")
    return site.lines.scalar(site.dtype, site.size(size))


def _size_token(site: Site, x: Array) -> Array:
    """Return a token whose size is a number, within a limit. Without one, NumPy refuses negative and huge numbers."""
    if site.params["rounds"] or x.dtype.kind not in "iub":
        raise NotExpressible("a size from a float")
    limit, text = site.params["limit"], f"(int64_t){x.at(())}"
    if limit is None:
        site.lines.add(f"if ({text} < 0 || {text} > {MOST_ELEMENTS}) AS_FAIL")
    else:
        text = f"as_min(as_max({text}, 0), {site.size(limit)})"
    return Array(site.dtype, (site.lines.size(text),), lambda _: "1")


def _nonzero(site: Site, x: Array) -> Any:
    """Return the positions of elements that are not 0, a vector for each axis."""
    lines, count, at = site.lines, site.lines.name("n"), site.lines.name("k")
    if not x.dims:
        raise NotExpressible("nonzero of a number")
    lines.settle(x)
    lines.add(f"int64_t {count} = 0, {at} = 0;")
    lines.over(x.dims, lambda i: [f"{count} += {x.at(i)} != 0;"])
    targets = [lines.allocated(v.meta.dtype, (count,)) for v in site.node.outputs]

    def body(i: list[str]) -> list[str]:
        writes = " ".join([f"{target.at([at])} = {j};" for target, j in zip(targets, i, strict=True)])
        return [f"if ({x.at(i)} != 0) {{ {writes} {at}++; }}"]

    lines.over(x.dims, body)
    return targets if len(targets) > 1 else targets[0]


def _iota(site: Site) -> Array:
    dims, kind = (site.lines.size(site.size(site.params["size"])),), kind_of(site.dtype)
    return Array(site.dtype, dims, lambda i: f"(({kind})({i[0]}))")


def _full(site: Site) -> Array:
    literal, dims = c_literal(site.params["value"], site.dtype), site.sizes("shape")
    return Array(site.dtype, dims, lambda _: literal, adds=nothing if dims and _is_zero(site) else None)


def _is_zero(site: Site) -> bool:
    """Return whether adding the value of a step changes nothing: -0.0 differs from the 0 that sums begin with."""
    value = site.params["value"]
    return site.dtype.kind in "fiub" and value == 0 and not np.signbit(value)


# -- movement ----------------------------------------------------------------------------------------------------


def _slice(site: Site, x: Array) -> Array:
    starts, steps = site.sizes("starts"), site.sizes("steps")
    site.lines.settle_computed(x)  # elements that are not read may warn
    return derived(x, site.sizes("sizes"), lambda i: x.at(along(i, starts, steps)))


def _slice_update(site: Site, x: Array, update: Array) -> Array:
    return with_window(site, x, update, site.sizes("starts"), site.sizes("steps"))


def _slice_add(site: Site, x: Array, update: Array) -> Array:
    starts, steps = site.sizes("starts"), site.sizes("steps")
    add = lambda at: added(site.lines, update, lambda i: at(along(i, starts, steps)))
    return sum_with(site, x, (update,), add)


def _rev(site: Site, x: Array) -> Array:
    axes = site.params["axes"]
    turned = lambda i: [f"{n} - 1 - ({j})" if k in axes else j for k, (j, n) in enumerate(zip(i, x.dims, strict=True))]
    return derived(x, x.dims, lambda i: x.at(turned(i)))


def _transpose(site: Site, x: Array) -> Array:
    axes = site.params["axes"]
    position = {a: k for k, a in enumerate(axes)}
    return derived(x, tuple([x.dims[a] for a in axes]), lambda i: x.at([i[position[a]] for a in range(len(axes))]))


def _reshape(site: Site, x: Array) -> Array:
    """Return the elements in another shape: axes of size 1 come and go, and memory has any shape."""
    dims = site.sizes("shape")
    mine, others = ({k: n for k, n in enumerate(sizes) if n != "1"} for sizes in (x.dims, dims))
    if [*mine.values()] == [*others.values()] or len(mine) == len(others) == 1:
        axis_of = dict(zip(mine, others, strict=True))
        return derived(x, dims, lambda i: x.at([i[axis_of[k]] if k in axis_of else "0" for k in range(len(x.dims))]))
    site.lines.settle(x)
    return derived(x, dims, lambda i: x.at(()) if x.buffer is None else f"{x.buffer.name}[{flat(i, dims)}]")


def _broadcast_in_dim(site: Site, x: Array) -> Array:
    dims, axes = site.sizes("shape"), site.params["axes"]
    if x.depth and len(axes) < len(dims):
        site.lines.settle(x)
    (before,), (after,) = ([v.meta.extents for v in values] for values in (site.node.inputs, site.node.outputs))
    own = [dims[a] if after[a] == size else n for a, n, size in zip(axes, x.dims, before, strict=True)]
    return derived(x, dims, lambda i: x.at([stretched(i[a], n, dims[a]) for a, n in zip(axes, own, strict=True)]))


def _pad(site: Site, x: Array) -> Array:
    if any(n != 0 for n in site.params["interior"]):
        raise NotExpressible("pad between elements")
    low, high = site.sizes("low"), site.sizes("high")
    dims = tuple([site.lines.size(f"({a} + {n} + {b})") for a, n, b in zip(low, x.dims, high, strict=True)])
    literal = c_literal(site.params["value"], site.dtype)

    def at(indices: Sequence[str]) -> str:
        inner = [i if a == "0" else f"({i} - {a})" for i, a in zip(indices, low, strict=True)]
        inside = [f"{i} >= 0 && {i} < {n}" for i, n in zip(inner, x.dims, strict=True)]
        return f"({' && '.join(inside) or '1'} ? {x.at(inner)} : {literal})"

    def adds(to: At) -> None:
        added(site.lines, x, lambda i: to(along(i, low, ones)))
        if site.dtype.kind in "fc" and {*low, *high} != {"0"}:  # -0.0 + 0.0 is 0.0
            site.lines.add(_around(to, dims, low, x))

    ones, result = ("1",) * len(dims), derived(x, dims, at, steps=1)
    result.adds = adds if dims and _is_zero(site) else None
    return result


def _around(to: At, dims: Texts, low: Texts, x: Array) -> str:
    """Return the call that adds 0 to all elements of an array outside of a window."""
    pairs = 2 if x.dtype.kind == "c" else 1
    first, part = f"&{to(['0'] * len(dims))}", "float" if x.dtype.itemsize // pairs == 4 else "double"
    units = [f"&{to(['1' if k == axis else '0' for k in range(len(dims))])}" for axis in range(len(dims))]
    strides = [f"({unit} - {first}) * {pairs}" for unit in units]
    axes = [*zip(dims, strides, low, x.dims, strict=True), *[("2", "1", "0", "2")] * (pairs - 1)]
    table = ", ".join([f"{{{', '.join(axis)}}}" for axis in axes])
    return f"as_around_{part}(({part} *){first}, {len(axes)}, (const int64_t[][4]){{{table}}}, 1);"


def _concatenate(site: Site, *xs: Array) -> Array:
    axis = site.params["axis"]
    sizes = [x.dims[axis] for x in xs]
    total = sum(map(int, sizes)) if all(n.isdigit() for n in sizes) else f"({' + '.join(sizes)})"
    dims = (*xs[0].dims[:axis], site.lines.size(str(total)), *xs[0].dims[axis + 1 :])

    def at(indices: Sequence[str]) -> str:
        return _piece(xs, axis, indices)

    result = derived(xs[0], dims, at, *xs[1:], steps=int(any(n != "1" for n in sizes)))
    result.pieces = axis, xs
    return result


def _piece(xs: Sequence[Array], axis: int, indices: Sequence[str]) -> str:
    """Return the text of an element of pieces along an axis; a constant index chooses one now."""
    index, (x, *others) = indices[axis], xs
    if not others:
        return x.at(indices)
    n = x.dims[axis]
    if index.isdigit() and n.isdigit():
        if int(index) < int(n):
            return x.at(indices)
        return _piece(others, axis, [*indices[:axis], str(int(index) - int(n)), *indices[axis + 1 :]])
    rest = _piece(others, axis, [*indices[:axis], f"({index} - {n})", *indices[axis + 1 :]])
    return f"({index} < {n} ? {x.at(indices)} : {rest})"


# -- checks ------------------------------------------------------------------------------------------------------


def _sized(site: Site, x: Array) -> Array:
    differ = [f"{a} != {b}" for a, b in zip(x.dims, site.sizes("shape"), strict=True) if a != b]
    if differ:
        site.lines.add(f"if ({' || '.join(differ)}) AS_FAIL")
    return x


def _same(site: Site, x: Array) -> Array:
    return x


def _warn_below(site: Site) -> Array:
    site.lines.add(f"if ({site.size(site.params['size'])} < {site.params['least']}) AS_FAIL")
    return scalar(site.dtype, "0")


def _check(site: Site, x: Array) -> Array:
    site.lines.over(x.dims, lambda i: [f"if (!({x.at(i)})) AS_FAIL"])
    return x


def _warn(site: Site, x: Array) -> Array:
    site.lines.over(x.dims, lambda i: [f"if ({x.at(i)}) AS_FAIL"])
    return x


def _raise(site: Site, holds: Array, *values: Array) -> Array:
    site.lines.over(holds.dims, lambda i: [f"if (!({holds.at(i)})) AS_FAIL"])
    return Array(site.dtype, tuple("1" for _ in site.node.outputs[0].meta.extents), lambda _: "0")


UPDATES: frozenset[Op] = frozenset({
    mv.slice_update_op, mv.slice_add_op, dy.dynamic_update_slice_op, ga.scatter_set_op, ga.scatter_add_op,
})  # fmt: skip  # which write to their first operand
SUMMED: dict[Op, tuple[int, ...]] = {
    mv.slice_add_op: (0, 1), ga.scatter_add_op: (0,), cf.sized_op: (0,), cn.name_sizes_op: (0,),
}  # fmt: skip  # operands that may be sums of parts without memory
RULES: dict[Op, Rule] = (
    POSITION_RULES
    | SUM_RULES
    | ALONG_RULES
    | LOOP_RULES
    | {
        cr.size_value_op: _size_value,
        cr.float_of_size_op: _float_of_size,
        cr.iota_op: _iota,
        cr.full_op: _full,
        dy.nonzero_op: _nonzero,
        dy.size_token_op: _size_token,
        mv.slice_op: _slice,
        mv.slice_update_op: _slice_update,
        mv.slice_add_op: _slice_add,
        mv.rev_op: _rev,
        mv.transpose_op: _transpose,
        mv.reshape_op: _reshape,
        mv.broadcast_in_dim_op: _broadcast_in_dim,
        mv.pad_op: _pad,
        mv.concatenate_op: _concatenate,
        cf.sized_op: _sized,
        cn.name_sizes_op: _same,
        cn.warn_below_op: _warn_below,
        cn.warn_op: _warn,
        cn.check_op: _check,
        cn.raise_op: _raise,
        cn.stop_gradient_op: _same,
        ew.narrow_op: _narrow,
    }
)


def rule_of(op: Op) -> Rule:
    """Return the rule of an op. Raises NotExpressible."""
    if op in RULES:
        return RULES[op]
    if TRAITS[op].elementwise:
        return elementwise
    raise NotExpressible(f"{op} has no statement in C")
