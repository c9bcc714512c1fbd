"""Derivatives of draws by reparametrisation: what the drawn numbers would be for slightly other parameters.

The random bits stay as they are. NumPy draws gammas, and what is made of them, by rejection, so that numbers jump where
a parameter moves. There the quantile stays: the derivative is the implicit one of the distribution function. Methods
that scale and move a base draw are composed of it in `numpy/random/draws.py`, and have no row here. `y` are the drawn
numbers.

Batching of draws: one draw of the size of the batch, or a draw for each example that has its own generator.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.autodiff.jvp import has_tangent
from anyshape.autodiff.rule_tables import BATCHERS, JVPS, MIX, Common, add_tangents, zero, zeros
from anyshape.autodiff.rules.special import betainc_partials, gammainc_partials, stdtr_partials
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import random as rd
from anyshape.ops import reduction as rn
from anyshape.ops import special as sp
from anyshape.ops.core.apply import sizes_of


def _by_left(y, left, mode, right):
    below = 1 - 0.5 * (y - left) * (1 / (mode - left) + 1 / (right - left))
    above = 0.5 * (right - y) / (right - left)
    return ew.select(ew.le(y, mode), below, above)


def _by_mode(y, left, mode, right):
    return ew.select(ew.le(y, mode), 0.5 * (y - left) / (mode - left), 0.5 * (right - y) / (right - mode))


def _by_right(y, left, mode, right):
    below = 0.5 * (y - left) / (right - left)
    above = 1 - 0.5 * (right - y) * (1 / (right - mode) + 1 / (right - left))
    return ew.select(ew.le(y, mode), below, above)


def _at_quantile(partials, position):
    """Return the derivative of a number in a parameter while its distribution function stays at its value."""

    def derivative(y, *parameters):
        by = partials(*parameters, y)
        return -by[position]() / by[-1]()

    return derivative


def _f_by(position):
    """Return the derivative of y = d s / (n (1 - s)) by n or d, where s is a beta number of parameters n / 2, d / 2."""

    def derivative(y, n, d):
        ratio = n * y
        share = ratio / (ratio + d)
        own = 0.5 * _at_quantile(betainc_partials, position)(share, 0.5 * n, 0.5 * d)
        return own * ew.square(ratio + d) / (n * d) + (y / d if position else -y / n)

    return derivative


# The derivative of the numbers in each parameter; None: there is none.
_PARTIALS: dict[str, tuple[Callable[..., Any], ...]] = {
    "beta": (_at_quantile(betainc_partials, 0), _at_quantile(betainc_partials, 1)),
    "f": (_f_by(0), _f_by(1)),
    "lognormal": (lambda y, mean, sigma: y, lambda y, mean, sigma: y * (ew.log(y) - mean) / sigma),
    "pareto": (lambda y, a: -(1 + y) * ew.log1p(y) / a,),
    "power": (lambda y, a: -sp.xlogy(y, y) / a,),
    "standard_gamma": (_at_quantile(gammainc_partials, 0),),
    "standard_t": (_at_quantile(stdtr_partials, 0),),
    "triangular": (_by_left, _by_mode, _by_right),
    "weibull": (lambda y, a: -sp.xlogy(y, y) / a,),
}


def _draw_jvp(ctx, tangents, out, generator, *xs, method, shape, count, dtype, options, loops, sources=()):
    """Return the tangent of the numbers; the mark has none. Raise for parameters without a derivative."""
    y, _ = out
    if not has_tangent(dtype):
        raise _refusal(ctx, method, "gives integers, which have no derivative in its parameters")
    if method == "dirichlet":
        return _dirichlet_tangent(ctx, y, xs[0], tangents[1], [level[1] for level in loops]), None
    partials, wide = _PARTIALS.get(method, ()), ew.convert(y, np.float64)  # as parameters are
    full = [_stretched(ctx, x, y, [level[i] for level in loops]) for i, x in enumerate(xs, 1)]
    total = None
    for i, t in enumerate(tangents[1:]):
        if t is None:
            continue
        if i >= len(partials):
            raise _refusal(ctx, method, "has no derivative in this parameter by reparametrisation")
        stretched = _stretched(ctx, t, y, [level[i + 1] for level in loops])
        total = add_tangents(total, stretched * ew.convert(partials[i](wide, *full), y.dtype))
    return total, None


def _dirichlet_tangent(ctx, y, alpha, tangent, looped):
    """Return the tangent of vectors of a Dirichlet distribution.

    Each element is a beta number; where it moves, the others keep their ratios, as their sum to 1 demands.
    """
    alpha, tangent = (_stretched(ctx, x, y, looped) for x in (alpha, tangent))
    others = _row_sums(ctx, alpha) - alpha
    moved = tangent * _at_quantile(betainc_partials, 0)(y, alpha, others) / (1 - y)
    return moved - y * _row_sums(ctx, moved)


def _row_sums(ctx, x):
    """Return the sums along the last axis, with an element for each of x."""
    shape = ctx.shape(x)
    return mv.broadcast_to(mv.reshape(rn.reduce_sum(x, (len(shape) - 1,)), (*shape[:-1], 1)), shape)


def _refusal(ctx, method, problem):
    advice = "pass it stop_gradient(x), so that it is a constant, or give the function a rule with custom_jvp"
    return UnsupportedFunctionError(f"Generator.{method}", problem, advice, ctx.where)


def _stretched(ctx, x, y, looped):
    """Return a parameter, or its tangent, with an element for each number; loops that it takes part in come first."""
    sizes, shape = ctx.shape(x), ctx.shape(y)
    inner = len(shape) - len(looped)
    own = iter(sizes)
    outer = [next(own) if flag else 1 for flag in looped]
    rest = [*own]
    return mv.broadcast_to(mv.reshape(x, (*outer, *[1] * (inner - len(rest)), *rest)), shape)


JVPS[rd.draw_op] = _draw_jvp
zero(rd.order_draw_op)

# -- zeros by construction

zeros(MIX, MIX, rd.draw_op, rd.order_draw_op)


def _draw_batch(ctx, size, batched, generator, *xs, method, shape, count, dtype, options, loops):
    """Draw anew for each example, also where no operand differs between examples."""
    if batched[0] or loops or method not in rd.PER_ELEMENT:
        loops = (tuple(batched), *loops)
    else:
        xs = tuple([_aligned(ctx, x, len(shape)) if flag else x for x, flag in zip(xs, batched[1:], strict=True)])
    params = {"dtype": dtype, "count": count, "options": options, "loops": loops}
    numbers, mark = rd.draw(generator, method, (size, *shape), *xs, **params)
    return numbers, Common(mark)


def _aligned(ctx, x, rank):
    """Return a batch of parameters with the rank of the numbers, so that the batch is the first axis of both."""
    first, *rest = sizes_of(ctx, x)
    return mv.reshape(x, (first, *[1] * (rank - len(rest)), *rest))


def _order_batch(ctx, size, batched, generator, after):
    ordered = rd.order_draw(generator, after)
    return ordered if batched[0] else Common(ordered)


BATCHERS[rd.draw_op] = _draw_batch
BATCHERS[rd.order_draw_op] = _order_batch
