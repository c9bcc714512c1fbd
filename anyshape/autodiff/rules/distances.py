"""Derivatives of distances of all pairs of rows; `ops/distances.py` has the sums and the meaning of phi.

With D**p = sum of |t|**p, dD = D**(1 - p) times the sum of sign(t) |t|**(p - 1) dt. Where D = 0 the derivative is 0.

Batching of distances of pairs of rows: one more leading axis.
"""

from anyshape.autodiff.rule_tables import (
    JVPS,
    TRANSPOSES,
    Linear,
    add_tangents,
    linear,
    lines,
    one_more_axis,
    stacks,
    zero,
)
from anyshape.autodiff.rules.linalg import product, swapped
from anyshape.ops import distances as ds
from anyshape.ops import elementwise as ew
from anyshape.ops.creation import full


def _ones(ctx, x):
    return full(ctx.shape(x), 1.0, x.dtype)


def _products(ctx, x, y, u, v, power, odd):
    """Return `difference_products`, where phi = 1 as a product of matrices."""
    if not power and not odd:
        return product(ctx, u, swapped(ctx, v))
    return ds.difference_products(x, y, u, v, power=power, odd=odd)


def _pulls(ctx, x, y, v, g, power, odd):
    """Return `difference_pulls`, where phi = 1 as a product of matrices."""
    if not power and not odd:
        return product(ctx, g, v)
    return ds.difference_pulls(x, y, v, g, power=power, odd=odd)


def _distances_jvp(ctx, tangents, out, x, *others, power, root):
    if not others:  # each distance moves by its first row and by its second one, at mirrored elements
        total = ds.above(_products(ctx, x, x, tangents[0], _ones(ctx, x), power - 1, True), both=True)
        return _in_lengths(total, out, power, root)
    (of_x, of_y), (y,) = tangents, others
    total = None
    if of_x is not None:
        total = _products(ctx, x, y, of_x, _ones(ctx, y), power - 1, True)
    if of_y is not None:
        total = add_tangents(total, _products(ctx, x, y, _ones(ctx, x), ew.neg(of_y), power - 1, True))
    return _in_lengths(total, out, power, root)


def _in_lengths(total, out, power, root):
    """Return tangents of distances by tangents of sums of powers, divided by the power."""
    if not root:
        return total * power
    zero = ew.eq(out, 0.0)
    length = ew.select(zero, 1.0, out)
    slope = ew.div(total, length) if power == 2 else ew.mul(total, ew.power_by(length, 1 - power))
    return ew.select(zero, 0.0, slope)


def _products_jvp(ctx, tangents, out, x, y, u, v, *, power, odd):
    of_x, of_y, of_u, of_v = tangents
    total = None if of_u is None else _products(ctx, x, y, of_u, v, power, odd)
    if of_v is not None:
        total = add_tangents(total, _products(ctx, x, y, u, of_v, power, odd))
    if power and of_x is not None:
        total = add_tangents(total, power * _products(ctx, x, y, ew.mul(of_x, u), v, power - 1, not odd))
    if power and of_y is not None:
        total = add_tangents(total, -power * _products(ctx, x, y, u, ew.mul(of_y, v), power - 1, not odd))
    return total


def _products_back(ctx, ct, x, y, u, v, *, power, odd):
    if isinstance(u, Linear):
        return None, None, _pulls(ctx, x, y, v, ct, power, odd), None
    pulled = _pulls(ctx, y, x, u, swapped(ctx, ct), power, odd)
    return None, None, None, ew.neg(pulled) if odd else pulled


def _pulls_jvp(ctx, tangents, out, x, y, v, g, *, power, odd):
    of_x, of_y, of_v, of_g = tangents
    total = None if of_v is None else _pulls(ctx, x, y, of_v, g, power, odd)
    if of_g is not None:
        total = add_tangents(total, _pulls(ctx, x, y, v, of_g, power, odd))
    if power and of_x is not None:
        total = add_tangents(total, ew.mul(of_x, power * _pulls(ctx, x, y, v, g, power - 1, not odd)))
    if power and of_y is not None:
        total = add_tangents(total, -power * _pulls(ctx, x, y, ew.mul(of_y, v), g, power - 1, not odd))
    return total


def _pulls_back(ctx, ct, x, y, v, g, *, power, odd):
    if isinstance(g, Linear):
        return None, None, None, _products(ctx, x, y, ct, v, power, odd)
    pulled = _pulls(ctx, y, x, ct, swapped(ctx, g), power, odd)
    return None, None, ew.neg(pulled) if odd else pulled, None


JVPS[ds.pair_distances_op] = _distances_jvp
zero(ds.nearest_op)
linear(ds.above_op, lambda ctx, ct, a, *, both: ds.put_above(ct, ctx.shape(a)[-1], both=both))
linear(ds.put_above_op, lambda ctx, ct, v, *, both, **size: ds.above(ct, both=both))
JVPS[ds.difference_products_op] = _products_jvp
TRANSPOSES[ds.difference_products_op] = _products_back
JVPS[ds.difference_pulls_op] = _pulls_jvp
TRANSPOSES[ds.difference_pulls_op] = _pulls_back

# -- zeros by construction


_X, _Y, _PAIRS = ("x", None), ("y", None), ("x", "y")  # rows of x, rows of y, and pairs of them


def _lines_of(*arrays):
    """Return the rule for operands and results whose last two axes are such."""
    return lambda ranks, **params: [[*range(ranks[0] - 2), *ends] for ends in arrays]


_PAIRED = _lines_of(_X, _Y, _PAIRS)
lines(lambda ranks, **params: (_PAIRED if len(ranks) > 2 else stacks)(ranks), ds.pair_distances_op)
lines(stacks, ds.above_op)
lines(lambda ranks, **params: [[*range(ranks[0] - 1), *[None] * k] for k in (1, 2)], ds.put_above_op)
lines(_lines_of(_X, _Y, _X, _Y, _PAIRS), ds.difference_products_op)
lines(_lines_of(_X, _Y, _Y, _PAIRS, _X), ds.difference_pulls_op)

one_more_axis(ds.pair_distances_op, ds.above_op, ds.put_above_op, ds.nearest_op)
one_more_axis(ds.difference_products_op, ds.difference_pulls_op)
