"""Functions of other libraries as ops: their kernels are SciPy's.

`correlate` weighs the elements around each element, `spread` is its transpose for the operand and `weigh` that for the
weights. So the three are transposes of one another. Windows reach `before` elements before each element along `axes`,
and `mode` continues the operand beyond its ends. If `each`, operands have an axis of examples in front.

`lfilter` runs sections of a recursive filter along the last axis, each with a numerator and the weights of the values
before.

`upfirdn` filters lines between samples of another rate.

`spline_filter` gives the coefficients of splines through elements, and `interpolate` their values, or slopes for
coordinates. Its transpose, itself `back`, adds each element to the coefficients that a value is a sum of.

`ranked` gives the element of a rank of each window, at the positions of a footprint. `tied` adds up the elements of t
where x equals y, the element of the window, and `back` is its transpose.

`binary_steps` erodes or dilates an image of truth values so many times, or for 0 until nothing changes.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Node, Op
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core import param_kinds as kinds
from anyshape.ops.core.apply import Operand, apply, apply_all, localise, meta_of
from anyshape.ops.core.definition import NO_PROBE, define
from anyshape.ops.core.flop_counts import Applied, OpCost, elements
from anyshape.ops.creation import full

MODES = ("reflect", "mirror", "nearest", "wrap", "constant")
SPLINES = (*MODES, "grid-constant", "grid-wrap")  # what goes on beyond the ends for interpolation
FORMS = ("points", "matrix", "diagonal", "shift", "zoom", "grid")
DTYPES = "fdFD"
BLOCK = 1 << 22  # bytes of windows that a kernel copies at once


def _filter_type(
    ctx: ShapeGuardContext, x: TensorMeta, w: TensorMeta, *, axes: tuple[int, ...], each: bool, **params
) -> TensorMeta:
    _require_one_dtype(ctx, x, w)
    if w.rank != len(axes) + each:
        raise ctx.fail(f"the weights have {w.rank - each} axes for {len(axes)} of the operand")
    return x


def _require_one_dtype(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta) -> None:
    if x.dtype != y.dtype or x.dtype.char not in DTYPES:
        raise ctx.bad_dtype(f"operands are {x.dtype} and {y.dtype}", "convert them to one float dtype with astype")


def _require_one_shape(ctx: ShapeGuardContext, x: TensorMeta, *others: TensorMeta) -> None:
    for other in others:
        for axis in range(max(x.rank, other.rank)):
            _require_equal_axis(ctx, x, other, axis)


def _require_equal_axis(ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, axis: int) -> None:
    mine, theirs = (ctx.exact(v, axis, field="operands") for v in (x, y))
    ctx.require_equal(mine, theirs, f"operands have sizes {mine} and {theirs} along axis {axis}")


def _weigh_type(
    ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, *, window: tuple[Size, ...], each: bool, **params
) -> TensorMeta:
    _require_one_dtype(ctx, x, y)
    _require_one_shape(ctx, x, y)
    return TensorMeta(x.dtype, (*x.extents[:each], *[ctx.resolve(k) for k in window]))


def _lfilter_type(
    ctx: ShapeGuardContext,
    x: TensorMeta,
    b: TensorMeta,
    c: TensorMeta,
    z: TensorMeta,
    *,
    ends: bool,
    each: bool,
    sections: int,
) -> TensorMeta | tuple[TensorMeta, TensorMeta]:
    dtypes = dict.fromkeys([v.dtype for v in (x, b, c, z)])
    if len(dtypes) > 1 or x.dtype.char not in "fdgFDG":
        problem = f"operands are {', '.join(map(str, dtypes))}"
        raise ctx.bad_dtype(problem, "convert them to one float dtype with astype")
    if not (x.rank == z.rank > each and b.rank == c.rank == 2 + each):
        raise ctx.fail(f"x, b, c and z have {x.rank}, {b.rank}, {c.rank} and {z.rank} axes")
    for v, other, axis in [(b, c, i) for i in range(each)] + [(x, z, i) for i in range(x.rank - 1)]:
        _require_equal_axis(ctx, v, other, axis)
    if each:
        _require_equal_axis(ctx, x, b, 0)
    for v in (b, c):
        ctx.require_equal(ctx.shape(v)[each], sections, f"coefficients are for {ctx.shape(v)[each]} sections")
    mine, states = ctx.shape(z)[-1], _states(ctx.shape(b), ctx.shape(c), sections)
    ctx.require_equal(mine, states, f"z has {mine} states, and the sections have {states}")
    return (x, z) if ends else x


def _states(b: Sequence[Size], c: Sequence[Size], sections: int) -> Size:
    """Return how many numbers sections keep of the past."""
    return expr.mul(sections, expr.maximum(expr.sub(b[-1], 1), c[-1]))


def _upfirdn_type(
    ctx: ShapeGuardContext, x: TensorMeta, h: TensorMeta, *, up: int, down: int, each: bool
) -> TensorMeta:
    _require_one_dtype(ctx, x, h)
    if h.rank != 1 + each or x.rank <= each:
        raise ctx.fail(f"lines of {x.rank} axes cannot have a filter of {h.rank}")
    if each:
        _require_equal_axis(ctx, x, h, 0)
    n, size = ctx.shape(x)[-1], ctx.shape(h)[-1]
    reached = expr.maximum(expr.add(expr.mul(expr.sub(n, 1), up), size), 0)
    return TensorMeta(x.dtype, (*x.extents[:-1], ctx.resolve(expr.ceildiv(reached, down))))


def _spline_filter_type(
    ctx: ShapeGuardContext, x: TensorMeta, *, axis: int, order: int, mode: str, transposed: bool
) -> TensorMeta:
    _require_doubles(ctx, x)
    return x


def _interpolate_type(
    ctx: ShapeGuardContext,
    x: TensorMeta,
    p: TensorMeta,
    *,
    shape: tuple[Size, ...],
    form: str,
    slopes: tuple[int, ...],
    back: bool,
    each: bool,
    **params,
) -> TensorMeta:
    """Require a coordinate for each axis and value, a matrix and offsets, or scales and offsets of all axes."""
    _require_doubles(ctx, x)
    if p.dtype.char != "d":
        raise ctx.bad_dtype(f"coordinates are {p.dtype}", "convert them to float64 with astype")
    if each:
        _require_equal_axis(ctx, x, p, 0)
    result = TensorMeta(x.dtype, (*x.extents[:each], *[ctx.resolve(k) for k in shape]))
    axes, values = len(slopes), ctx.shape(x if back else result)[each:]
    wanted = {"points": (axes, *values), "matrix": (axes, len(values) + 1)}.get(form, (2, axes))
    sizes = ctx.shape(p)[each:]
    if len(sizes) != len(wanted):
        raise ctx.fail(f"coordinates have {len(sizes)} axes and need {len(wanted)}")
    for mine, theirs in zip(sizes, wanted, strict=True):
        ctx.require_equal(mine, theirs, f"coordinates have sizes {sizes}, and {mine} must be {theirs}")
    return result


def _require_doubles(ctx: ShapeGuardContext, x: TensorMeta) -> None:
    if x.dtype.char not in "dD":
        raise ctx.bad_dtype(f"the image is {x.dtype}", "convert it to float64 or complex128 with astype")


def _ranked_type(
    ctx: ShapeGuardContext, x: TensorMeta, footprint: TensorMeta, *, axes: tuple[int, ...], **params
) -> TensorMeta:
    _require_footprint(ctx, x, footprint, axes)
    return x


def _tied_type(
    ctx: ShapeGuardContext, x: TensorMeta, y: TensorMeta, t: TensorMeta, footprint: TensorMeta, *, axes, **params
) -> TensorMeta:
    _require_footprint(ctx, x, footprint, axes)
    _require_one_shape(ctx, x, y, t)
    return t


def _require_footprint(ctx: ShapeGuardContext, x: TensorMeta, footprint: TensorMeta, axes: tuple[int, ...]) -> None:
    if x.dtype.kind == "c" or footprint.dtype.kind != "b":
        raise ctx.bad_dtype(f"operands are {x.dtype} and {footprint.dtype}", "pass real numbers, and a mask")
    if footprint.rank != len(axes):
        raise ctx.fail(f"the footprint has {footprint.rank} axes for {len(axes)} of the operand")


def _binary_steps_type(ctx: ShapeGuardContext, x: TensorMeta, *mask: TensorMeta, **params) -> TensorMeta:
    """Require truth values. Outside of a mask nothing changes."""
    if {v.dtype.kind for v in (x, *mask)} != {"b"}:
        raise ctx.bad_dtype(f"the image is {x.dtype}", "compare it with a number")
    _require_one_shape(ctx, x, *mask)
    return x


def _has_structure(node: Node, params: dict[str, Any]) -> bool:
    sides, origin, structure = (params[name] for name in ("sides", "origin", "structure"))
    if not (len(sides) == len(origin) == node.inputs[0].meta.rank and {*map(type, (*sides, *origin))} <= {int}):
        return False
    is_inside = all(k > 0 and -(k // 2) <= o <= (k - 1) // 2 for k, o in zip(sides, origin, strict=True))
    return is_inside and math.prod(sides) == len(structure) and {*structure} <= {0, 1}


def _filter_flops(a: Applied) -> Size:
    """Count a product and a sum for each element of the window, for each element of the result."""
    return expr.mul(2, expr.mul(elements(a.inputs[0]), elements(a.inputs[1][a.params["each"] :])))


def _coefficients(a: Applied) -> Size:
    return expr.add(*[elements(shape[a.params["each"] :]) for shape in a.inputs[1:3]])


def _footprint_flops(a: Applied) -> Size:
    """Count a comparison, or one and a sum, for each position of the footprint, for each element of the result."""
    return expr.mul(len(a.inputs) // 2, expr.mul(elements(a.inputs[0]), elements(a.inputs[-1])))


def _has_axes(node: Node, params: dict[str, Any]) -> bool:
    axes, first = params["axes"], params.get("each", False)
    is_for_each = len(axes) == len(params["before"]) == len(params.get("window", axes))
    return is_for_each and kinds.are_different_axes(axes, node.inputs[0].meta.rank) and all(a >= first for a in axes)


_KINDS = {"axes": kinds.axes, "before": kinds.sizes, "mode": kinds.one_of(*MODES), "each": kinds.flag}


def _define_filter(name: str) -> Op:
    return define(
        name,
        _filter_type,
        params={**_KINDS, "running": kinds.flag},
        jointly=_has_axes,
        cost=OpCost(_filter_flops),
        **NO_PROBE,
    )


correlate_op: Op = _define_filter("correlate")
spread_op: Op = _define_filter("spread")
weigh_op: Op = define(
    "weigh",
    _weigh_type,
    params={**_KINDS, "window": kinds.sizes},
    jointly=_has_axes,
    cost=OpCost(lambda a: expr.mul(2, expr.mul(elements(a.inputs[0]), elements(a.params["window"])))),
    **NO_PROBE,
)
lfilter_op: Op = define(
    "lfilter",
    _lfilter_type,
    params={"ends": kinds.flag, "each": kinds.flag, "sections": kinds.integer},
    jointly=lambda node, params: params["sections"] >= 1,
    cost=OpCost(lambda a: expr.mul(2, expr.mul(elements(a.inputs[0]), _coefficients(a)))),
    **NO_PROBE,
)
upfirdn_op: Op = define(
    "upfirdn",
    _upfirdn_type,
    params={"up": kinds.integer, "down": kinds.integer, "each": kinds.flag},
    jointly=lambda node, params: min(params["up"], params["down"]) >= 1,
    cost=OpCost(lambda a: expr.mul(expr.mul(2, elements(a.outputs[0])), expr.ceildiv(a.inputs[1][-1], a.params["up"]))),
    **NO_PROBE,
)
spline_filter_op: Op = define(
    "spline_filter",
    _spline_filter_type,
    params={
        "axis": kinds.axis,
        "order": kinds.one_of(2, 3, 4, 5),
        "mode": kinds.one_of("mirror", "reflect", "grid-wrap"),
        "transposed": kinds.flag,
    },
    jointly=None,
    cost=OpCost(lambda a: expr.mul(4 * (a.params["order"] // 2), elements(a.inputs[0]))),
    **NO_PROBE,
)


binary_steps_op: Op = define(
    "binary_steps",
    _binary_steps_type,
    params={
        "structure": kinds.sizes,
        "sides": kinds.sizes,
        "origin": kinds.sizes,
        "steps": kinds.count,
        "border": kinds.flag,
        "dilate": kinds.flag,
    },
    jointly=_has_structure,
    operands=(1, 2),
    cost=OpCost(lambda a: expr.mul(max(a.params["steps"], 1) * len(a.params["structure"]), elements(a.inputs[0]))),
    **NO_PROBE,
)


def _interpolate_flops(a: Applied) -> Size:
    """Count a product and a sum for each coefficient of a value, for each value."""
    values = elements(a.inputs[0] if a.params["back"] else a.outputs[0])
    return expr.mul(2 * (a.params["order"] + 1) ** len(a.params["slopes"]), values)


def _has_slopes(node: Node, params: dict[str, Any]) -> bool:
    axes = len(params["shape"]) if params["back"] else node.inputs[0].meta.rank - params["each"]
    return len(params["slopes"]) == axes and all(type(s) is int and s >= 0 for s in params["slopes"])


interpolate_op: Op = define(
    "interpolate",
    _interpolate_type,
    params={
        "shape": kinds.sizes,
        "form": kinds.one_of(*FORMS),
        "order": kinds.one_of(*range(6)),
        "mode": kinds.one_of(*SPLINES),
        "fill": kinds.number,
        "slopes": kinds.sizes,
        "back": kinds.flag,
        "each": kinds.flag,
    },
    jointly=_has_slopes,
    cost=OpCost(_interpolate_flops),
    **NO_PROBE,
)
_FOOTPRINT = {"axes": kinds.axes, "before": kinds.sizes, "mode": kinds.one_of(*MODES), "fill": kinds.number}
ranked_op: Op = define(
    "ranked",
    _ranked_type,
    params={**_FOOTPRINT, "rank": kinds.integer, "box": kinds.flag},
    jointly=_has_axes,
    cost=OpCost(_footprint_flops),
    **NO_PROBE,
)
tied_op: Op = define(
    "tied",
    _tied_type,
    params={**_FOOTPRINT, "beyond": kinds.size, "back": kinds.flag},
    jointly=_has_axes,
    cost=OpCost(_footprint_flops),
    **NO_PROBE,
)


def filtered(
    op: Op,
    x: Operand,
    w: Operand,
    axes: Sequence[int],
    before: Sequence[Size],
    mode: str,
    *,
    running: bool = False,
    each: bool = False,
) -> Any:
    """Apply `correlate` or `spread`; `running` says that the constant weights take means, in O(1) for each element.

    The caller ensures weights of 1 or more elements along each axis, and that windows hold their own element.
    """
    local, sources = localise(tuple(before), (x, w))
    options = {"axes": tuple(axes), "before": local, "mode": mode, "running": running, "each": each}
    return apply(op, x, w, sources=sources, **options)


def weigh(
    x: Operand,
    y: Operand,
    axes: Sequence[int],
    before: Sequence[Size],
    window: Sequence[Size],
    mode: str,
    *,
    each: bool = False,
) -> Any:
    """Return sums of products of y and of x moved by each position of a window."""
    (start, sizes), sources = localise((tuple(before), tuple(window)), (x, y))
    return apply(weigh_op, x, y, sources=sources, axes=tuple(axes), before=start, window=sizes, mode=mode, each=each)


def lfilter(
    x: Operand, b: Operand, c: Operand, z: Any = None, *, sections: int = 1, ends: bool = False, each: bool = False
) -> Any:
    """Return x after sections y[n] = sum of b[k] x[n - k] + sum of c[k - 1] y[n - k], along the last axis.

    Numerators b and weights c have a row for each section. `z` are the states of all sections at the start, as SciPy
    has them, and None zeros. With `ends` those at the end are a second result.
    """
    if z is None:
        meta = meta_of(x)
        z = full((*meta.sizes[:-1], _states(meta_of(b).sizes, meta_of(c).sizes, sections)), 0, meta.dtype)
    results = apply_all(lfilter_op, x, b, c, z, ends=ends, each=each, sections=sections)
    return results if ends else results[0]


def upfirdn(x: Operand, h: Operand, up: int, down: int, *, each: bool = False) -> Any:
    """Return lines with `up - 1` zeros between elements, filtered by h, and every `down`-th element of these."""
    return apply(upfirdn_op, x, h, up=up, down=down, each=each)


def spline_filter(x: Operand, axis: int, order: int, mode: str, *, transposed: bool = False) -> Any:
    """Return the coefficients of splines of an order, 2 to 5, through the elements along an axis."""
    return apply(spline_filter_op, x, axis=axis, order=order, mode=mode, transposed=transposed)


def interpolate(
    x: Operand, p: Operand, shape: Sequence[Size], *, fill: complex = 0.0, back: bool = False, **options: Any
) -> Any:
    """Return values of splines in a shape, or if `back` the coefficients in it that values are added to.

    In the form "points" p are the coordinates of all values, in "matrix" rows of a matrix with offsets. In others they
    are scales and offsets of the axes. `slopes` says how often values are differentiated along each axis.
    """
    local, sources = localise(tuple(shape), (x, p))
    return apply(interpolate_op, x, p, sources=sources, shape=local, fill=fill, back=back, **options)


def ranked(
    x: Operand,
    footprint: Operand,
    axes: Sequence[int],
    before: Sequence[Size],
    mode: str,
    *,
    rank: int,
    box: bool,
    fill: complex = 0.0,
) -> Any:
    """Return the element of a rank of each window, which counts from the greatest if it is negative.

    `box` says that the footprint has all positions and that the rank is 0 or -1. In mode "constant" `fill` continues x.
    """
    local, sources = localise(tuple(before), (x, footprint))
    options = {"axes": tuple(axes), "before": local, "mode": mode, "fill": fill, "rank": rank, "box": box}
    return apply(ranked_op, x, footprint, sources=sources, **options)


def tied(
    x: Operand,
    y: Operand,
    t: Operand,
    footprint: Operand,
    axes: Sequence[int],
    before: Sequence[Size],
    mode: str,
    *,
    fill: complex,
    beyond: Size = 0,
    back: bool = False,
) -> Any:
    """Add up the elements of t where x equals y, or its transpose; `beyond` continues t in mode "constant"."""
    (start, end), sources = localise((tuple(before), beyond), (x, y, t, footprint))
    options = {"axes": tuple(axes), "before": start, "mode": mode, "fill": fill, "beyond": end, "back": back}
    return apply(tied_op, x, y, t, footprint, sources=sources, **options)


def binary_steps(
    x: Operand, *mask: Operand, structure: np.ndarray, origin: tuple[int, ...], steps: int, border: bool, dilate: bool
) -> Any:
    """Return an image of truth values after erosions or dilations by a structure, as many as possible for 0 steps."""
    options = {"structure": tuple(structure.astype(int).ravel().tolist()), "sides": structure.shape, "origin": origin}
    return apply(binary_steps_op, x, *mask, **options, steps=steps, border=border, dilate=dilate)
