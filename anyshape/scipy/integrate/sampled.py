"""Define the rules of `scipy.integrate` for samples: parabolas through three samples."""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import axis_of, sizes
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.operands.conversion import floats
from anyshape.transforms.control import check


def _samples(name: str, y, x, axis: int, of_points=xp.asarray) -> tuple[Any, Any, int]:
    """Return samples along the last axis, the distances of their points if there are points, and the axis.

    A function of points says in what they are subtracted: small integers wrap where SciPy's do.
    """
    y = floats(y)
    along = axis_of(axis, y.ndim, name)
    ctx = context_of(name, y)
    y = xp.moveaxis(y, along, -1)
    if x is None:
        return y, None, along
    x = of_points(x)
    if x.ndim != 1:
        if x.ndim != y.ndim:
            raise ArgumentError(name, "x", f"has {x.ndim} axes", "pass a vector, or an array of the shape of y")
        x = xp.moveaxis(x, along, -1)
    points, count = sizes(x)[-1], sizes(y)[-1]
    ctx.require_equal(points, count, f"{points} points have {count} samples")
    return y, xp.diff(x, axis=-1), along


def _divided(numerator, denominator):
    """Return a quotient that is 0 where the denominator is."""
    is_zero = denominator == 0
    return xp.where(is_zero, 0.0, numerator / xp.where(is_zero, 1.0, denominator))


def _accumulated(areas, initial, along: int):
    """Return running sums of areas along the last axis, moved to its place, with a first value if there is one."""
    total = xp.cumsum(areas, axis=-1)
    if initial is not None:
        first = xp.asarray(initial)
        dtype = xp.result_type(total, first)
        total, first = total.astype(dtype), xp.broadcast_to(first.astype(dtype), (*total.shape[:-1], 1))
        total = xp.concatenate([first, total + first], axis=-1)
    return xp.moveaxis(total, -1, along)


def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return the integral of samples y along an axis by Simpson's rule, of at least one sample.

    The samples are at the points x, or `dx` apart. x is a vector or has the shape of y. For an even number of samples
    the last interval is that of the parabola through the last three, and two samples make a trapezoid. Results without
    x keep float32, which SciPy does for odd numbers alone.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import integrate
    >>> print(grad(lambda y: integrate.simpson(y, dx=0.5))(np.ones(5)))
    [0.16666667 0.66666667 0.33333333 0.66666667 0.16666667]
    """
    y, steps, _ = _samples("simpson", y, x, axis)
    count = y.shape[-1]
    last = y[..., -1]  # requires a sample
    if steps is None:
        steps = xp.broadcast_to(xp.asarray(dx, y.dtype), (count - 1,))
    else:
        steps = steps.astype(np.float64)
    pairs = max_dim((count - 1) // 2, 0)
    left, middle, right = (y[..., i : 2 * pairs + max(i - 1, 0) : 2] for i in range(3))
    h0, h1 = steps[..., 0 : 2 * pairs : 2], steps[..., 1 : 2 * pairs : 2]
    both, ratio = h0 + h1, _divided(h0, h1)
    areas = left * (2.0 - _divided(1.0, ratio)) + middle * both * _divided(both, h0 * h1) + right * (2.0 - ratio)
    whole = xp.sum(both / 6.0 * areas, axis=-1)
    return xp.where(count % 2 == 0, whole + _last_interval(y, steps, last), whole)


def _last_interval(y, steps, last):
    """Return the integral over the last interval, by the parabola through the last three samples (Cartwright, 2017)."""
    count = y.shape[-1]
    three = count > 2
    one, two = max_dim(count - 2, 0), max_dim(count - 3, 0)
    padded = xp.concatenate([steps, xp.zeros((*steps.shape[:-1], 1), steps.dtype)], axis=-1)
    h0, h1 = padded[..., two], padded[..., one]
    alpha, beta = _divided(2 * h1**2 + 3 * h0 * h1, 6 * (h0 + h1)), _divided(h1**2 + 3 * h0 * h1, 6 * h0)
    parabola = alpha * last + beta * y[..., one] - _divided(h1**3, 6 * h0 * (h0 + h1)) * y[..., two]
    return xp.where(three, parabola, h1 / 2 * (last + y[..., one]))


def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    """Return the integrals of samples y up to each point but the first, by parabolas through three points.

    The samples are at the points x, or `dx` apart. x is a vector or has the shape of y, and increases. `initial` is the
    integral up to the first point, and is put first. Two samples make a trapezoid, which keeps float32.
    """
    y, steps, along = _samples("cumulative_simpson", y, x, axis, of_points=floats)
    count = y.shape[-1]
    y[..., -1]  # requires a sample
    if steps is not None:
        check(steps > 0, "cumulative_simpson: x must increase")
    if y.dtype.char in "efF" and count < 3:
        areas = (dx if steps is None else steps) * (y[..., 1:] + y[..., :-1]) / 2.0
        return _accumulated(areas, _first(y, initial, along), along)
    steps = xp.broadcast_to(xp.asarray(dx, np.float64), (count - 1,)) if steps is None else steps
    position = xp.arange(count - 1)
    back = (position % 2 == 1) | (position == count - 2)  # intervals that end a parabola; others begin one
    start = xp.clip(xp.where(back, position - 1, position), 0, max_dim(count - 3, 0))
    samples = [y[..., xp.minimum(start + i, count - 1)] for i in range(3)]
    widths = [steps[..., xp.minimum(start + i, max_dim(count - 2, 0))] for i in range(2)]
    f1, f2, f3 = (xp.where(back, b, a) for a, b in zip(samples, samples[::-1], strict=True))
    d1, d2 = (xp.where(back, b, a) for a, b in zip(widths, widths[::-1], strict=True))
    near, ratio = d1 / (d1 + d2), d1 / d2
    product = near * ratio
    parabola = d1 / 6 * ((3 - near) * f1 + (3 + product + near) * f2 - product * f3)
    areas = xp.where(count > 2, parabola, steps * (y[..., 1:] + y[..., :-1]) / 2)
    return _accumulated(areas, _first(y, initial, along), along)


def _first(y, initial, along: int):
    """Return the first integrals along the last axis, if there are some."""
    first = None if initial is None else xp.asarray(initial)
    return xp.moveaxis(first, along, -1) if first is not None and first.ndim == y.ndim else first
