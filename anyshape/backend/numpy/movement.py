"""Kernels of movement ops: views where NumPy has one.

Traits of movement: ops that are arithmetic on strides, pads, concatenation, and the views of plans.
"""

import numpy as np

from anyshape.backend.compiler import plan as po
from anyshape.backend.compiler.op_traits import OPAQUE, Algebra, Alias, Movement, Tiling, declare
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.passes.fusion import collapse_loop_axes as collapse
from anyshape.backend.compiler.passes.fusion import row_parallel as rows
from anyshape.backend.numpy.creation import filled, filling
from anyshape.graph.shapes.array_type import Sizes
from anyshape.graph.shapes.strided_view import View
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import kernel


def _key(parts):
    return f"[{', '.join(parts)}]" if parts else "[()]"


def _broadcast_in_dim(x, *, shape, axes):
    if not axes:  # a number, as in the derivative of every mean; np.broadcast_to takes 3 us
        return np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    rank, offset = len(shape), len(shape) - len(axes)
    if axes != tuple(range(offset, rank)):
        sizes = dict(zip(axes, np.shape(x), strict=True))
        x = np.reshape(x, [sizes.get(axis, 1) for axis in range(rank)])
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _parts(starts, sizes, steps):
    """Return the key that reads `size` elements, `step` apart, from start on."""
    return tuple([slice(a, a + n * k, k) for a, n, k in zip(starts, sizes, steps)])


def _inline_broadcast(site):
    """Inline the broadcast of a number, and the question whether an array has the shape already."""
    shape, axes = site.params["shape"], site.params["axes"]
    if axes:
        if axes != tuple(range(len(shape) - len(axes), len(shape))):
            return None
        x, text = site.operands[0], site.text(shape)
        stretched = f"{site.bind(np.broadcast_to)}({x}, {text})"
        return [f"{site.target} = {x} if {x}.shape == {text} else {stretched}"]
    arguments = f"{site.text(shape)}, {site.bind(site.result.dtype)}, {site.operands[0]}, 0, {(0,) * len(shape)}"
    return [f"{site.target} = {site.bind(np.ndarray)}({arguments})"]


def _part(site, start, size, step, whole):
    """Return the text of the key that reads a part of an axis, whose size may be a text already."""
    first, count = site.text(start), size if isinstance(size, str) else site.text(size)
    if step != 1:
        each = site.text(step)
        return f"{first}:{first} + {count} * {each}:{each}"
    if start == 0:
        return ":" if size == whole else f":{count}"
    return f"{first}:{first} + {count}"


def _inline_slice(site):
    sizes = site.metas[0].sizes or [None] * site.metas[0].rank
    parts = zip(*[site.params[name] for name in ("starts", "sizes", "steps")], sizes, strict=True)
    return [f"{site.target} = {site.operands[0]}{_key([_part(site, *part) for part in parts])}"]


def _own(x, out):
    """Return an array with the elements of x, which may change: the given one if there is one."""
    if out is None:
        return x.copy()
    if out is not x:
        np.copyto(out, x)
    return out


def _slice_update(x, part, out=None, *, starts, steps):
    if out is part:  # a whole axis backwards reads what it overwrites
        part = part.copy()
    out = _own(x, out)
    out[_parts(starts, part.shape, steps)] = part
    return out


def _written(site, change):
    """Return the lines that change the array itself where its memory is free, else a copy, by `change` of its name."""
    x, out = site.operands[0], site.out or site.target
    fill = [f"{out} = {x}.copy()"] if site.out is None else [] if out == x else [f"{site.bind(np.copyto)}({out}, {x})"]
    return [*fill, *change(out), *([] if out == site.target else [f"{site.target} = {out}"])]


def _changed_part(site, out):
    """Return the part of an array that an update changes."""
    counts, whole = [[*(site.metas[i].sizes or [None] * site.metas[0].rank)] for i in (1, 0)]
    starts, steps = site.params["starts"], site.params["steps"]
    for axis, (start, count, step, size) in enumerate(zip(starts, counts, steps, whole, strict=True)):
        is_all = count is not None and (start, count, step) == (0, size, 1)
        if not (is_all or isinstance(count, int)):  # only sizes of params surely have a local
            counts[axis] = f"{site.operands[1]}.shape[{axis}]"
    parts = zip(starts, counts, steps, whole, strict=True)
    return f"{out}{_key([_part(site, *part) for part in parts])}"


def _inline_slice_update(site):
    part = site.operands[1]
    return None if site.out == part else _written(site, lambda out: [f"{_changed_part(site, out)} = {part}"])


def _slice_add(x, part, out=None, *, starts, steps):
    if out is part:
        part = part.copy()
    out = _own(x, out)
    here = out[_parts(starts, part.shape, steps)]
    np.add(here, part, here)
    return out


def _inline_slice_add(site):
    part, here = site.operands[1], f"{site.target}_part"
    if site.out == part:
        return None
    added = lambda out: [f"{here} = {_changed_part(site, out)}", f"{site.bind(np.add)}({here}, {part}, {here})"]
    return _written(site, lambda out: [*added(out), f"del {here}"])


# -- single elements; assignments to them write the numbers that NumPy reads there


def _changed_element(change):
    """Return the kernel that writes `change(element, number)` to one element."""

    def run(x, number, out=None, *, starts):
        out = _own(x, out)
        out[starts] = change(out[starts], number)
        return out

    return run


def _inline_element(symbol):
    """Return what writes a statement with one element on the left."""
    return lambda site: _written(site, lambda out: [f"{out}{_element(site)} {symbol} {site.operands[1]}"])


def _element(site):
    return _key([site.text(start) for start in site.params["starts"]])


def _inline_rev(site):
    parts = ["::-1" if axis in site.params["axes"] else ":" for axis in range(site.metas[0].rank)]
    return [f"{site.target} = {site.operands[0]}{_key(parts)}"]


def _inline_reshape(site):
    return [f"{site.target} = {site.operands[0]}.reshape({site.text(site.params['shape'])})"]


def _inline_transpose(site):
    axes = site.params["axes"]
    view = "T" if axes == tuple(range(len(axes)))[::-1] else f"transpose({axes})"
    return [f"{site.target} = {site.operands[0]}.{view}"]


def _inline_pad(site):
    """Write the operand into an array of fills."""
    if any(between != 0 for between in site.params["interior"]):
        return None
    (x,), shape, parts = site.operands, [], []
    for axis, (low, high) in enumerate(zip(site.params["low"], site.params["high"], strict=True)):
        before, after = ("" if fills == 0 else site.text(fills) for fills in (low, high))
        end = " + ".join(filter(None, [before, f"{x}.shape[{axis}]"]))
        shape.append(f"{end} + {after}, " if after else f"{end}, ")
        parts.append(f"{before}:{end if after else ''}")
    return [*filling(site, f"({''.join(shape)})", site.params["value"]), f"{site.target}{_key(parts)} = {x}"]


def _slice_case(params, metas):
    key = _parts(**params)
    return lambda x: x[key]


def _rev_key(rank, axes):
    return tuple([slice(None, None, -1 if axis in axes else 1) for axis in range(rank)])


def _rev_case(params, metas):
    key = _rev_key(metas[0].rank, params["axes"])
    return lambda x: x[key]


def _pad(x, *, low, high, interior, value):
    steps = [between + 1 for between in interior]
    spans = [(n - 1) * k + 1 if n else 0 for n, k in zip(x.shape, steps, strict=True)]
    shape = [a + n + b for a, n, b in zip(low, spans, high, strict=True)]
    out = filled(shape, value, x.dtype)
    out[_parts(low, x.shape, steps)] = x
    return out


# -- a sum with a padded array: 0.0 is added outside of it too, as it turns -0.0 into 0.0


def _edges(axis, low, size):
    before = (slice(None),) * axis
    return (*before, slice(low)), (*before, slice(low, low + size)), (*before, slice(low + size, None))


def _add_part(x, y, out=None, *, axis, low, high):
    out = _own(x, out)
    before, here, after = _edges(axis, low, y.shape[axis])
    out[here] += y
    out[before] += 0
    out[after] += 0
    return out


def _inline_add_part(site):
    return _written(site, lambda out: _added_part(site, out))


def _added_part(site, out):
    """Return the lines that add a part to an array."""
    y, part = site.operands[1], f"{site.target}_part"
    axis, low, high = (site.params[name] for name in ("axis", "low", "high"))
    before = ":, " * axis
    start = "" if low == 0 else site.text(low)
    end = " + ".join(filter(None, [start, f"{y}.shape[{axis}]"]))
    add, zero = site.bind(np.add), site.bind(np.zeros((), site.result.dtype))
    lines = [f"{part} = {out}[{before}{start}:{'' if high == 0 else end}]", f"{add}({part}, {y}, {part})"]
    for size, edge in ((low, f":{start}"), (high, f"{end}:")):
        if size != 0 and site.result.dtype.kind in "fc":
            lines += [f"if {site.text(size)}:", f"    {part} = {out}[{before}{edge}]"]
            lines.append(f"    {add}({part}, {zero}, {part})")
    return [*lines, f"del {part}"]  # a view keeps the whole array alive


# -- movement collapsed to one view of an operand in C order; np.ndarray reads a Fortran-ordered one in C order


def _view(x, *, shape, strides, offset):
    """Return the view; None where NumPy refuses a window that leaves the memory of x, or starts outside of it.

    np.ndarray makes that check, except in a buffer of no bytes. as_strided does not, and takes ten times as long.
    """
    if not x.size:
        return None
    try:
        return np.ndarray(shape, x.dtype, x, offset, strides)
    except (TypeError, ValueError):
        return None


def _padded_view(x, *, shape, strides, offset, value, starts, stops):
    if (part := _view(x, shape=[b - a for a, b in zip(starts, stops)], strides=strides, offset=offset)) is None:
        return None
    out = filled(shape, value, x.dtype)
    out[tuple(map(slice, starts, stops))] = part
    return out


kernel(mv.broadcast_in_dim_op, _broadcast_in_dim, inline=_inline_broadcast)
kernel(mv.reshape_op, lambda x, *, shape: x.reshape(shape), inline=_inline_reshape)
kernel(mv.transpose_op, lambda x, *, axes: x.transpose(axes), inline=_inline_transpose)
kernel(mv.slice_op, lambda x, **key: x[_parts(**key)], specialise=_slice_case, inline=_inline_slice)
kernel(mv.slice_update_op, _slice_update, out=True, inline=_inline_slice_update)
kernel(mv.slice_add_op, _slice_add, out=True, inline=_inline_slice_add)
kernel(mv.rev_op, lambda x, *, axes: x[_rev_key(x.ndim, axes)], specialise=_rev_case, inline=_inline_rev)
kernel(mv.pad_op, _pad, inline=_inline_pad)
kernel(po.add_part_op, _add_part, out=True, inline=_inline_add_part)
kernel(po.view_op, _view)
kernel(
    po.read_element_op,
    lambda x, *, starts: x[starts],
    inline=lambda site: [f"{site.target} = {site.operands[0]}{_element(site)}"],
)
kernel(po.write_element_op, _changed_element(lambda old, new: new), out=True, inline=_inline_element("="))
kernel(po.add_to_element_op, _changed_element(np.add), out=True, inline=_inline_element("+="))
kernel(po.stretched_view_op, _view)
kernel(po.padded_view_op, _padded_view)
kernel(mv.concatenate_op, lambda *xs, axis: np.concatenate(xs, axis))


MOVEMENT = OPAQUE._replace(recomputable=True)
_STRETCHES = (identities.of_literal, identities.same_shape, identities.of_number, identities.aligned_stretch)
_RESHAPES = (identities.of_literal, identities.same_shape, identities.of_number, identities.reshape_twice)
_TRANSPOSES = (identities.of_literal, identities.of_number, identities.transpose_twice)


def _stretch(view: View, new: Sizes, *, shape: Sizes, axes: tuple[int, ...]) -> View:
    """Stretch a view. It would copy what is padded once for each repetition."""
    sizes = dict(zip(axes, view.shape, strict=True))
    return view.reshaped(tuple([sizes.get(axis, 1) for axis in range(len(new))])).expanded(new)


declare(
    MOVEMENT._replace(
        alias=Alias.STRETCHED_VIEW,
        tiling=Tiling(rows.broadcast_in_dim, collapse.broadcast_in_dim),
        movement=Movement(_stretch, 3, admits=lambda params: list(params["axes"]) == sorted(params["axes"])),
        algebra=Algebra(_STRETCHES),
    ),
    mv.broadcast_in_dim_op,
)
declare(
    MOVEMENT._replace(
        alias=Alias.VIEW_OR_COPY,
        tiling=Tiling(rows.reshape, collapse.unmixed),
        movement=Movement(lambda view, new, *, shape: view.reshaped(new)),
        algebra=Algebra((*_RESHAPES, identities.negation_outwards("iufc"))),
    ),
    mv.reshape_op,
)
declare(
    MOVEMENT._replace(
        alias=Alias.VIEW,
        tiling=Tiling(rows.transpose, collapse.transpose),
        movement=Movement(lambda view, new, *, axes: view.permute(axes)),
        algebra=Algebra(_TRANSPOSES),
    ),
    mv.transpose_op,
)
_SLICING = Movement(
    lambda view, new, *, starts, sizes, steps: view.sliced(starts, sizes, steps), weight=2, follows_pad=True
)
declare(MOVEMENT._replace(alias=Alias.VIEW, movement=_SLICING), mv.slice_op)
_REVERSAL = Movement(lambda view, new, *, axes: view.flip(axes), follows_pad=True)
declare(MOVEMENT._replace(alias=Alias.VIEW, movement=_REVERSAL), mv.rev_op)
_PADDING = Movement(
    lambda view, new, *, low, high, interior, value: view.padded(list(zip(low, high, strict=True))),
    follows_pad=True,
    admits=lambda params: all(isinstance(size, int) and size == 0 for size in params["interior"]),
)
declare(MOVEMENT._replace(tiling=Tiling(rows.pad, collapse.unmixed), movement=_PADDING), mv.pad_op)
declare(MOVEMENT._replace(tiling=Tiling(rows.behind("axis"), collapse.axis)), mv.concatenate_op)

declare(MOVEMENT._replace(alias=Alias.VIEW), po.view_op)
declare(MOVEMENT._replace(alias=Alias.STRETCHED_VIEW), po.stretched_view_op)
declare(MOVEMENT, po.padded_view_op, po.add_part_op, po.read_element_op)
declare(MOVEMENT._replace(updates=True, algebra=Algebra((identities.increased_part,))), mv.slice_update_op)
declare(MOVEMENT._replace(updates=True), mv.slice_add_op, po.write_element_op, po.add_to_element_op)
