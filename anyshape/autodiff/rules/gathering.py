"""Derivatives of gather and scatter: each is the other's transpose. Indices and shape sources have none.

Where several updates meet in one element: sums go to each of them, a `set` to the one that stayed, which is that of the
last window in C order of the index vectors, a product to each with the product of the others, an extreme in equal parts
to all that attain it, the element itself among them.
"""

from anyshape.autodiff.rule_tables import JVPS, TRANSPOSES, Linear, add_tangents, no_shift
from anyshape.graph.shapes.shape_rules import numel
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops import sorting as so
from anyshape.ops.apply import apply
from anyshape.ops.creation import full, iota

_DROPPED, _FILLED = {"fill": "drop"}, {"drop": "fill"}


def _zeros(ctx, x):
    return full(ctx.shape(x), 0, x.dtype)


# -- gather ------------------------------------------------------------------------------------------------------


def _gather(op):
    def jvp(ctx, tangents, out, operand, indices, *, fill_value, **params):
        """What is filled has no tangent."""
        return apply(op, tangents[0], indices, fill_value=operand.dtype.type(0).item(), **params)

    def transpose(ctx, ct, operand, indices, *, slice_sizes, mode, fill_value, sources=(), **numbers):
        windows = ga.windows_of(numbers, ga.GATHER)
        zeros = _zeros(ctx, operand)
        return ga.scatter_windows("add", zeros, indices, ct, windows, _DROPPED.get(mode, mode)), None

    JVPS[op], TRANSPOSES[op] = jvp, transpose


_gather(ga.gather_op)
_gather(ga.gather_dynamic_op)

# -- scatter: add and set ----------------------------------------------------------------------------------------


def _read(ctx, x, operand, indices, updates, params, fill=0):
    """The elements of x, of the shape of the operand, where the updates go: windows have the sizes of the updates."""
    numbers = dict(params)
    mode: str = numbers.pop("mode")
    numbers.pop("unique_indices")
    windows = ga.windows_of(numbers, ga.SCATTER)
    sizes = [1] * ctx.rank(operand)
    for axis, position in zip(windows.window_axes(len(sizes)), windows.offset, strict=True):
        sizes[axis] = ctx.exact(updates, position, field="slice_sizes")
    return ga.gather_windows(x, indices, windows, sizes, _FILLED.get(mode, mode), fill, primal=True)


def _add_jvp(ctx, tangents, out, operand, indices, updates, **params):
    t, _, u = tangents
    if u is None:
        return t
    return apply(ga.scatter_add_op, _zeros(ctx, operand) if t is None else t, indices, u, **params)


def _add_transpose(ctx, ct, operand, indices, updates, **params):
    return (
        ct if isinstance(operand, Linear) else None,
        None,
        _read(ctx, ct, operand, indices, updates, params) if isinstance(updates, Linear) else None,
    )


def _set_jvp(ctx, tangents, out, operand, indices, updates, **params):
    t, u = (_zeros(ctx, x) if t is None else t for t, x in zip(tangents[::2], (operand, updates), strict=True))
    return apply(ga.scatter_set_op, t, indices, u, **params)


def _set_transpose(ctx, ct, operand, indices, updates, **params):
    to_operand = to_updates = None
    if isinstance(operand, Linear):
        to_operand = apply(ga.scatter_set_op, ct, indices, _zeros(ctx, updates), **params)
    if isinstance(updates, Linear):
        to_updates = _read(ctx, ct, operand, indices, updates, params)
        if not params["unique_indices"]:
            stayed = _stayed(ctx, operand, indices, updates, params)
            to_updates = ew.select(stayed, to_updates, _zeros(ctx, updates))
    return to_operand, None, to_updates


def _stayed(ctx, operand, indices, updates, params):
    """Which updates are in the result: those whose number is, where numbers are written as they are."""
    shape = ctx.shape(updates)
    numbers = mv.reshape(iota(numel(shape)), shape)
    written = apply(ga.scatter_set_op, full(ctx.shape(operand), -1, numbers.dtype), indices, numbers, **params)
    return ew.eq(_read(ctx, written, operand, indices, updates, params, -1), numbers)


JVPS[ga.scatter_add_op], TRANSPOSES[ga.scatter_add_op] = _add_jvp, _add_transpose
JVPS[ga.scatter_set_op], TRANSPOSES[ga.scatter_set_op] = _set_jvp, _set_transpose

# -- scatter: mul, min and max -----------------------------------------------------------------------------------


def _mul_jvp(ctx, tangents, out, operand, indices, updates, **params):
    t, _, u = tangents
    total = None
    if t is not None:
        ones = full(ctx.shape(operand), 1, operand.dtype)
        total = t * apply(ga.scatter_mul_op, ones, indices, updates, **params)
    if u is not None:
        slope = u * _read(ctx, operand, operand, indices, updates, params)
        if not params["unique_indices"]:
            slope = slope * _others(ctx, operand, indices, updates, params)
        total = add_tangents(total, apply(ga.scatter_add_op, _zeros(ctx, operand), indices, slope, **params))
    return total


def _others(ctx, operand, indices, updates, params):
    """For each update the product of the others that meet it, without a division: zeros are exact at every order.

    Updates in the order of the elements that they go to: the product of those before in a group, times that of those
    after.
    """
    shape = ctx.shape(updates)
    count = numel(shape)
    whole = ctx.shape(operand)
    places = mv.reshape(iota(numel(whole)), whole)
    place = mv.reshape(_read(ctx, places, operand, indices, updates, params, -1), (count,))
    order = so.argsort(place, 0, stable=True)
    factors, place = (so.permute(mv.reshape(x, (count,)), order, 0) for x in (updates, place))
    after = ew.eq(place, mv.strided(mv.pad(place, (0,), (1,), value=-2), (1,), (count,)))
    before = ew.eq(place, mv.strided(mv.pad(place, (1,), (0,), value=-2), (0,), (count,)))
    product = _product(factors, before, after, reverse=False) * _product(factors, after, before, reverse=True)
    return mv.reshape(so.permute(product, order, 0, inverse=True), shape)


def _product(factors, before, after, *, reverse):
    """The product of the factors before each one in its group.

    `before` and `after` tell whether the neighbour on that side is of the same group. The recurrence starts from 0, so
    that the 1 which each group starts from is put in beside it.
    """
    first = ew.convert(ew.logical_not(before), factors.dtype)
    kept = ew.select(after, factors, ew.lift(0, factors))
    return rd.recurrence(kept, kept * first, 0, reverse=reverse) + first


def _extreme_jvp(ctx, tangents, out, operand, indices, updates, **params):
    t, u = (_zeros(ctx, x) if t is None else t for t, x in zip(tangents[::2], (operand, updates), strict=True))
    kept = ew.eq(operand, out)
    won = ew.eq(updates, _read(ctx, out, operand, indices, updates, params))
    add = lambda x, y: apply(ga.scatter_add_op, x, indices, y, **params)
    count = add(ew.convert(kept, operand.dtype), ew.convert(won, operand.dtype))
    return add(ew.select(kept, t, _zeros(ctx, operand)), ew.select(won, u, _zeros(ctx, updates))) / count


JVPS[ga.scatter_mul_op] = _mul_jvp
JVPS[ga.scatter_min_op] = JVPS[ga.scatter_max_op] = _extreme_jvp

# -- shifts of operands

no_shift(ga.gather_op, ga.gather_dynamic_op, ga.scatter_add_op, ga.scatter_set_op, ga.scatter_mul_op)
no_shift(ga.scatter_min_op, ga.scatter_max_op)
