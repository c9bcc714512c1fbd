"""Derivatives of draws by reparametrisation: what the drawn numbers would be for slightly other parameters.

The random bits stay as they are. Methods that scale and move a base draw are composed of it in `numpy/random/draws.py`,
and have no row here. `y` are the drawn numbers.
"""

from collections.abc import Callable
from typing import Any

from anyshape.autodiff.jvp import has_tangent
from anyshape.autodiff.rule_tables import JVPS, add_tangents, no_shift, zero
from anyshape.errors import UnsupportedFunctionError
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import random as rd
from anyshape.ops import special as sp


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


# The derivative of the numbers in each parameter; None: there is none.
_PARTIALS: dict[str, tuple[Callable[..., Any], ...]] = {
    "lognormal": (lambda y, mean, sigma: y, lambda y, mean, sigma: y * (ew.log(y) - mean) / sigma),
    "pareto": (lambda y, a: -(1 + y) * ew.log1p(y) / a,),
    "power": (lambda y, a: -sp.xlogy(y, y) / a,),
    "triangular": (_by_left, _by_mode, _by_right),
    "weibull": (lambda y, a: -sp.xlogy(y, y) / a,),
}


def _draw_jvp(ctx, tangents, out, generator, *xs, method, shape, count, dtype, options, loops, sources=()):
    """Return the tangent of the numbers; the mark has none. Raise for parameters without a derivative."""
    y, _ = out
    if not has_tangent(dtype):
        raise _refusal(ctx, method, "gives integers, which have no derivative in its parameters")
    partials = _PARTIALS.get(method, ())
    full = [_stretched(ctx, x, y, [level[i] for level in loops]) for i, x in enumerate(xs, 1)]
    total = None
    for i, t in enumerate(tangents[1:]):
        if t is None:
            continue
        if i >= len(partials):
            raise _refusal(ctx, method, "has no derivative in this parameter by reparametrisation")
        stretched = _stretched(ctx, t, y, [level[i + 1] for level in loops])
        total = add_tangents(total, stretched * ew.convert(partials[i](y, *full), y.dtype))
    return total, None


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

# -- shifts of operands

no_shift(rd.draw_op, rd.order_draw_op)
