"""Splines in the basis of B-splines, and interpolation by them.

Splines as FITPACK has them: knots, coefficients and degree in a tuple, and the class of univariate splines.

Interpolating splines of traced data have the knots of FITPACK. Smoothing ones, whose knots depend on values, are for
concrete data.

Define the natural smoothing spline, and functions of splines: inserted knots, roots, derivatives, surfaces.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import choice_of, is_traced, sizes, static_int
from anyshape.numpy.serve import refuse
from anyshape.numpy.sizes.symdim import max_dim
from anyshape.ops.core.apply import context_of
from anyshape.scipy.interpolate.piecewise import Interpolant, data
from anyshape.scipy.linalg.factoring import solve_triangular
from anyshape.scipy.linalg.functions import solve_banded
from anyshape.scipy.operands.conversion import FixedAttributes, checks_finite, real_floats, require_finite
from anyshape.scipy.optimize.minima import minimize_scalar
from anyshape.support.packages import scipy_interpolate
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import check, stop_gradient
from anyshape.transforms.custom.implicit_solves import custom_root
from anyshape.transforms.vmap import vmap

F = TypeVar("F", bound=Callable[..., Any])


class BSpline(Interpolant):
    """Spline of degree k with knots t and coefficients c, which are along an axis."""

    parts: tuple[str, ...] = ("t", "c")
    settings: tuple[str, ...] = ("k", "extrapolate", "axis")

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.k, self.extrapolate, self.axis = int(k), extrapolate, axis
        self.t, c = real_floats(t), xp.asarray(c)
        self.c: Any = xp.moveaxis(c.astype(np.complex128 if c.dtype.kind == "c" else np.float64), axis, 0)
        check(self.t[1:] >= self.t[:-1], "BSpline: the knots must not fall")

    @classmethod
    def of_tck(cls, t: Any, c: Any, k: int) -> BSpline:
        """Return a spline that extrapolates, whose coefficients are along the first axis of c."""
        return cls.made_of(t, c, k, True, 0)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def _count(self):
        """Return the number of coefficients that the knots have a use for."""
        return self.t.shape[0] - self.k - 1

    def limits(self) -> tuple[Any, Any]:
        """Return the ends of the base interval."""
        return self.t[self.k], self.t[self._count()]

    def value(self, v: Any, nu: int, extrapolate: Any) -> Any:
        """Return values at a vector of points as combinations of B-splines."""
        if nu > self.k:
            return 0.0 * BSpline.of_tck(self.t, self.c, self.k).value(v, 0, extrapolate)
        if nu:
            return self.derivative(nu).value(v, 0, extrapolate)
        span = _span(self.t, v, self.k)
        ones = [1] * (self.c.ndim - 1)
        terms = [
            xp.reshape(b, (-1, *ones)) * self.c[span - self.k + j]
            for j, b in enumerate(_basis(self.t, v, self.k, span))
        ]
        return sum(terms[1:], terms[0]) + xp.reshape(0.0 * v, (-1, *ones))

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the derivative of order nu, a spline of lower degree."""
        if nu > self.k:
            raise ArgumentError("BSpline.derivative", f"nu={nu}", f"exceeds the degree {self.k}", "lower it")
        t, c, k = self.t, self.c[: self._count()], self.k
        for _ in range(nu):
            count = t.shape[0] - k - 1
            width = _nonzero(t[k + 1 : k + count] - t[1:count])
            c = (c[1:] - c[:-1]) * k / xp.reshape(width, (-1, *[1] * (c.ndim - 1)))
            t, k = t[1:-1], k - 1
        return BSpline.made_of(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the antiderivative of order nu that starts with zeros, a spline of higher degree."""
        t, c, k = self.t, self.c[: self._count()], self.k
        for _ in range(nu):
            count = t.shape[0] - k - 1
            width = xp.reshape(t[k + 1 : k + 1 + count] - t[:count], (-1, *[1] * (c.ndim - 1)))
            c = xp.concatenate([xp.zeros_like(c[:1]), xp.cumsum(c * width, axis=0) / (k + 1)])
            t, k = xp.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline.made_of(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b; without extrapolation the spline is 0 outside of its base interval."""
        kind = self.extrapolate if extrapolate is None else extrapolate
        if kind or not (self.is_traced() or is_traced(a, b)):
            return super().integrate(a, b, extrapolate)
        low, high = self.limits()
        return super().integrate(xp.clip(a, low, high), xp.clip(b, low, high), True)


def leaves_concrete(function: F) -> F:
    """Leave calls without traced arguments to SciPy, with its splines in place of ours."""
    inside = lambda x: x.tck if isinstance(x, BSpline) else x
    theirs = lambda x: x.of_scipy() if isinstance(x, BSpline) else x
    ours = lambda x: BSpline.made_by(x) if isinstance(x, scipy_interpolate.BSpline) else x

    @functools.wraps(function)
    def served(*args, **options):
        if is_traced(*map(inside, (*args, *options.values()))):
            return function(*args, **options)
        named = {name: theirs(x) for name, x in options.items()}
        result = getattr(scipy_interpolate, function.__name__)(*map(theirs, args), **named)
        return tuple(map(ours, result)) if isinstance(result, tuple) else ours(result)

    return cast("F", served)


def _nonzero(width):
    """Return widths between knots, 1 for a knot that repeats."""
    return xp.where(width == 0, 1.0, width)


def _span(t, v, k: int):
    """Return the position of the knot below each point, within the base interval."""
    return xp.clip(xp.searchsorted(t, v, "right") - 1, k, max_dim(t.shape[0] - k - 2, k))


def _basis(t, v, k: int, span) -> list[Any]:
    """Return the values of the k + 1 B-splines that are not zero at each point, by the recurrence of de Boor."""
    values = [xp.ones_like(v)]
    for degree in range(1, k + 1):
        new = [xp.zeros_like(v)] * (degree + 1)
        for j in range(degree):
            low, high = t[span + j + 1 - degree], t[span + j + 1]
            share = xp.where(high == low, 0.0, values[j] / _nonzero(high - low))
            new[j] = new[j] + (high - v) * share
            new[j + 1] = (v - low) * share
        values = new
    return values


@leaves_concrete
def make_interp_spline(x, y, k: int = 3, t=None, bc_type=None, axis: int = 0, check_finite: bool = True) -> BSpline:
    """Return the spline of degree k through points, with SciPy's knots and conditions at both ends.

    `bc_type` is "not-a-knot", "clamped", "natural", "periodic", or a pair of these and of lists of (order, value).
    """
    k = int(k)
    if isinstance(bc_type, str) and bc_type == "periodic":
        if t is not None:
            raise refuse("scipy.interpolate.make_interp_spline with t and bc_type='periodic'")
        return _periodic(x, y, k, axis)
    left, right = _conditions(bc_type)
    x, y, along = data("make_interp_spline", x, y, axis, max(k + 1 - len(left) - len(right), 1))
    check(x[1:] > x[:-1], "make_interp_spline: x must increase")
    if k == 0:
        return BSpline.made_of(xp.concatenate([x, x[-1:]]), y, 0, True, along)
    if t is None:
        t = _augmented(x, k) if left or right else _not_a_knot(x, k)
    t = real_floats(t)
    span = _span(t, x, k)
    count = t.shape[0] - k - 1
    row = xp.arange(x.shape[0]) + len(left)
    bands = xp.zeros((2 * k + 1, count))
    for j, values in enumerate(_basis(t, x, k, span)):
        column = span - k + j
        bands = bands.at[k + row - column, column].add(values)
    bands = _with_conditions(bands, t[: 2 * k + 2], k, x[0], left, 0, 0)
    bands = _with_conditions(bands, t[-2 * k - 2 :], k, x[-1], right, count - len(right), count - k - 1)
    sides = [xp.broadcast_to(xp.asarray(value, y.dtype), y.shape[1:])[None] for _, value in left]
    sides += [y, *[xp.broadcast_to(xp.asarray(value, y.dtype), y.shape[1:])[None] for _, value in right]]
    whole = xp.concatenate(sides)
    flat = xp.reshape(whole, (count, _size(whole.shape[1:])))
    return BSpline.made_of(t, xp.reshape(solve_banded((k, k), bands, flat), whole.shape), k, True, along)


def _periodic(x, y, k: int, axis: int) -> BSpline:
    """Return the spline of degree k whose values and derivatives meet at the ends."""
    x, y, along = data("make_interp_spline", x, y, axis, 2)
    check(xp.abs(y[0] - y[-1]) <= 1e-15 + 1e-5 * xp.abs(y[-1]), "make_interp_spline: the first and last y differ")
    if k < 2:
        return make_interp_spline(x, xp.moveaxis(y, 0, along), k, axis=along)
    check(x[1:] > x[:-1], "make_interp_spline: x must increase")
    n = x.shape[0]
    turn = xp.arange(k) % (n - 1)
    at = x if k % 2 else xp.concatenate([x[:1], x[1:-1] - (x[1:-1] - x[:-2]) / 2, x[-1:]])
    widths = at[1:] - at[:-1]
    before, after = x[0] - xp.cumsum(widths[n - 2 - turn])[::-1], x[-1] + xp.cumsum(widths[turn])
    t = xp.concatenate([before, at, after])
    basis = _basis(t, x[:-1], k, _span(t, x[:-1], k))
    c = _cyclic(basis, k, xp.reshape(y[:-1], (n - 1, _size(y.shape[1:]))))
    whole = c[(xp.arange(n + k - 1) - k // 2) % (n - 1)]
    return BSpline.made_of(t, xp.reshape(whole, (n + k - 1, *y.shape[1:])), k, "periodic", along)


def _cyclic(basis: list[Any], k: int, y):
    """Return the solution of a cyclic system of k + 1 diagonals, where `basis[j]` is of column row + j - k // 2.

    The entries beyond the ends are a change of rank k: the formula of Woodbury.
    """
    count, before = y.shape[0], k // 2
    row, none = xp.arange(count), xp.zeros((k, count))
    bands, corner, units = xp.zeros((k + 1, count)), none, none.T
    for j, values in enumerate(basis):
        column = row + (j - before)
        inside = (column >= 0) & (column < count)
        bands = bands.at[k - j, xp.clip(column, 0, count - 1)].add(xp.where(inside, values, 0.0))
        for term in range(k):  # of the first rows, then of the last ones
            at = term if term < before else count - 1 - (term - before)
            reaches = j < before - term if term < before else j > term
            if reaches:
                corner = corner.at[term, (at + j - before) % count].add(_element(values, at, count))
    for term in range(k):
        at = term if term < before else count - 1 - (term - before)
        units = units.at[:, term].add(xp.where(row == at, 1.0, 0.0))
    solved = solve_banded((before, k - before), bands, xp.concatenate([y, units.astype(y.dtype)], axis=1))
    y, units = solved[:, : y.shape[1]], solved[:, y.shape[1] :]
    return y - units @ xp.linalg.solve(np.eye(k) + corner @ units, corner @ y)


def _element(values, position, count):
    """Return an element of a vector, 0 for a position that it does not have."""
    return xp.sum((xp.arange(count) == position).astype(float) * values)


@leaves_concrete
def make_lsq_spline(x, y, t, k: int = 3, w=None, axis: int = 0, check_finite: bool = True, **options) -> BSpline:
    """Return the spline of degree k with knots t that is nearest to points, by weighted least squares.

    `t` has k + 1 knots at each end too. The knots must let each B-spline reach a point, as for SciPy.
    """
    k, t = int(k), real_floats(t)
    x, y, along = data("make_lsq_spline", x, y, axis, 1)
    span, row, count = _span(t, x, k), xp.arange(x.shape[0]), t.shape[0] - k - 1
    design = xp.zeros((x.shape[0], count))
    for j, values in enumerate(_basis(t, x, k, span)):
        design = design.at[row, span - k + j].add(values)
    flat = xp.reshape(y, (x.shape[0], _size(y.shape[1:])))
    weights = xp.ones_like(x) if w is None else real_floats(w)
    q, r = xp.linalg.qr(design * weights[:, None])
    c = solve_triangular(r, q.T @ (flat * weights[:, None]))
    return BSpline.made_of(t, xp.reshape(c, (count, *y.shape[1:])), k, True, along)


def _size(shape):
    """Return the number of elements of a shape."""
    size = 1
    for part in shape:
        size = size * part
    return size


def _conditions(bc_type) -> tuple[list[Any], list[Any]]:
    """Return the (order, value) of derivatives at both ends."""
    ends = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else tuple(bc_type)
    named = {"clamped": [(1, 0.0)], "natural": [(2, 0.0)], "not-a-knot": [], None: []}
    known = []
    for end in ends:
        if end is None or isinstance(end, str):
            known.append(named[choice_of("make_interp_spline", "bc_type", end, tuple(named))])
        else:
            known.append([tuple(condition) for condition in end])
    return known[0], known[1]


def _with_conditions(bands, t, k: int, x, conditions: list[Any], row, column):
    """Return diagonals with the rows of conditions at one end, whose B-splines have these knots."""
    for i, (order, _) in enumerate(conditions):
        values = BSpline.of_tck(t, np.eye(k + 1), k).value(x[None], order, True)[0]
        for j in range(k + 1):
            diagonal = k + (row + i) - (column + j)
            inside = (diagonal >= 0) & (diagonal <= 2 * k)
            bands = bands.at[xp.clip(diagonal, 0, 2 * k), column + j].add(xp.where(inside, values[j], 0.0))
    return bands


def _repeated(x, count: int):
    return xp.broadcast_to(x, (count,))


def _not_a_knot(x, k: int):
    """Return knots at the points, or in the middle between them for even degrees, without those next to the ends."""
    half = (k + 1) // 2 if k % 2 else k // 2
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    inner = inner[half : inner.shape[0] - half]
    return xp.concatenate([_repeated(x[0], k + 1), inner, _repeated(x[-1], k + 1)])


def _augmented(x, k: int):
    """Return knots at all points, the ends k more times."""
    return xp.concatenate([_repeated(x[0], k), x, _repeated(x[-1], k)])


make_interp_spline = checks_finite(make_interp_spline, "x y t")
make_lsq_spline = checks_finite(make_lsq_spline, "x y t w")


_EXTENSIONS = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def spline_of(tck: Any) -> BSpline:
    """Return a spline by its knots, coefficients and degree, with its arrays as values of the trace."""
    t, c, k = tck.tck if isinstance(tck, BSpline) else tck
    return BSpline.of_tck(as_value(real_floats(t)), as_value(xp.asarray(c)), int(k))


def tuple_of(spline: BSpline, ending: Any) -> tuple[Any, Any, int]:
    """Return knots, coefficients with as many more elements as there are more knots, and the degree."""
    last = xp.broadcast_to(ending, (spline.k + 1, *spline.c.shape[1:]))
    return spline.t, xp.concatenate([spline.c, last.astype(spline.c.dtype)]), spline.k


def _extension(name: str, ext) -> int:
    if (number := _EXTENSIONS.get(ext, ext)) not in _EXTENSIONS.values():
        raise ArgumentError(name, f"ext={ext!r}", "is not a mode", f"choose one of {', '.join(_EXTENSIONS)}, or 0 to 3")
    return int(number)


def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0, s: Any = None,
    t: Any = None, full_output: int = 0, per: int = 0, quiet: int = 1,
) -> tuple[Any, Any, int]:  # fmt: skip
    """Return knots, coefficients and degree of the spline through points; or of the nearest spline, with task -1.

    Traced data are not smoothed: `s` is 0, or left out together with `w`.
    """
    odd = {"xb": xb is not None, "xe": xe is not None, "full_output": full_output, "per": per, "task=1": task == 1}
    for option in (name for name, holds in odd.items() if holds):
        raise refuse(f"scipy.interpolate.splrep with {option}")
    if not 1 <= k <= 5:
        raise ArgumentError("splrep", f"k={k}", "is not between 1 and 5", "choose such a degree")
    y = xp.asarray(y).astype(np.float64)  # as FITPACK does, which warns of imaginary parts
    if task == -1:
        x = real_floats(x)
        ends = [xp.broadcast_to(x[i], (k + 1,)) for i in (0, -1)]
        return tuple_of(
            make_lsq_spline(x, y, xp.concatenate([ends[0], real_floats(t), ends[1]]), k, w, check_finite=False), 0.0
        )
    if is_traced(s) or (s != 0 if s is not None else w is not None):
        raise refuse("scipy.interpolate.splrep with smoothing")
    x = xp.asarray(x)
    ctx = context_of("splrep", x, y)
    ctx.require_equal(sizes(x)[0], sizes(y)[0], "x and y must have one length")
    ctx.require(at_least(sizes(x)[0], k + 1), "the points are k or fewer")
    return tuple_of(make_interp_spline(x, y, k, check_finite=False), 0.0)  # FITPACK takes NaN


@leaves_concrete
def make_splrep(x: Any, y: Any, *, k: int = 3, s: Any = 0, bc_type: Any = None, **options: Any) -> BSpline:
    """Return the spline through points for s=0; traced data are not smoothed, and have no further options then."""
    _refuse_smoothing("make_splrep", s, options)
    return make_interp_spline(x, y, k, bc_type=bc_type)


def _refuse_smoothing(name: str, s, options: dict[str, Any]) -> None:
    """Raise an error for what depends on the values of data: smoothing, its knots and weights."""
    used = [option for option, value in options.items() if value is not None]
    if used or is_traced(s) or s != 0:
        raise refuse(f"scipy.interpolate.{name} with {used[0] if used else 'smoothing'}")


def _along_curve(x, u) -> tuple[Any, Any]:
    """Return points of a curve in rows, and its parameter: by default the part of the length of the chords."""
    rows = xp.stack([real_floats(row) for row in x], axis=1)
    if u is not None:
        return rows, real_floats(u)
    lengths = xp.cumsum(xp.sqrt(xp.sum((rows[1:] - rows[:-1]) ** 2, axis=1)))
    return rows, xp.concatenate([xp.zeros(1), lengths / lengths[-1]])


@leaves_concrete
def make_splprep(x: Any, *, u: Any = None, k: int = 3, s: Any = 0, **options: Any) -> tuple[BSpline, Any]:
    """Return the curve through points for s=0, of an axis for each coordinate in x, and its parameter at the points."""
    _refuse_smoothing("make_splprep", s, options)
    rows, parameter = _along_curve(x, u)
    return make_interp_spline(parameter, rows.T, k, axis=1), parameter


def splprep(
    x: Any, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3, task: int = 0, s: Any = None,
    t: Any = None, full_output: int = 0, nest: Any = None, per: int = 0, quiet: int = 1,
) -> tuple[Any, Any]:  # fmt: skip
    """Return knots, a list of coefficients and degree of the curve through points, and its parameter; s is 0 or w None.

    The points have a row for each coordinate. Traced ones are not smoothed.
    """
    s = 0 if s is None and w is None else 1 if s is None else s
    options = {"w": w, "ub": ub, "ue": ue, "task": task or None, "t": t, "per": per or None, "nest": nest}
    _refuse_smoothing("splprep", s, {**options, "full_output": full_output or None})
    rows, parameter = _along_curve(x, u)
    curve = make_interp_spline(parameter, rows, k)
    return (curve.t, [curve.c[:, j] for j in range(len(x))], k), parameter


@leaves_concrete
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Return a spline or its derivative at points. Outside, `ext` 1 to 3 give 0, an error and the value of the end."""
    mode = _extension("splev", ext)
    if not isinstance(tck, BSpline) and isinstance(tck[1], (list, tuple)):  # a curve, with a list for each coordinate
        return [splev(x, (tck[0], c, tck[2]), der, ext) for c in tck[1]]
    spline, points = spline_of(tck), real_floats(x)
    if not 0 <= der <= spline.k:
        raise ArgumentError("splev", f"der={der}", f"is not between 0 and the degree {spline.k}", "lower it")
    low, high = spline.limits()
    flat = xp.ravel(points)
    outside = (flat < low) | (flat > high)
    if mode == 2:
        check(~outside, "splev: a point is outside of the knots")
    y = spline.value(xp.clip(flat, low, high) if mode == 3 else flat, der, True)
    y = xp.where(outside, 0.0, y) if mode == 1 else y
    return xp.reshape(y, points.shape)


@leaves_concrete
def splder(tck: Any, n: int = 1) -> Any:
    """Return the derivative of order n of a spline, in the form that it has."""
    if n < 0:
        return splantider(tck, -n)
    return tck.derivative(n) if isinstance(tck, BSpline) else tuple_of(spline_of(tck).derivative(n), 0.0)


@leaves_concrete
def splantider(tck: Any, n: int = 1) -> Any:
    """Return the antiderivative of order n of a spline, in the form that it has."""
    if n < 0:
        return splder(tck, -n)
    if isinstance(tck, BSpline):
        return tck.antiderivative(n)
    whole = spline_of(tck).antiderivative(n)
    return tuple_of(whole, whole.c[-1:])


@leaves_concrete
def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """Return the integral of a spline from a to b; it is 0 outside of its knots."""
    if full_output:
        raise refuse("scipy.interpolate.splint with full_output")
    return spline_of(tck).integrate(a, b, False)


class UnivariateSpline(FixedAttributes):
    """Spline of degree k through points, or near to them for concrete data; `ext` is as in `splev`, or its name.

    Data may be traced with s=0. For concrete ones it is SciPy's object inside, which also has the further methods.
    """

    def __init__(self, x, y, w=None, bbox=(None, None), k: int = 3, s=None, ext=0, check_finite: bool = False) -> None:
        name = type(self).__name__
        self.ext: int = _extension(name, ext)
        if check_finite:
            require_finite(name, x, y, w)
        traced = is_traced(x, y, w, s)
        if traced and (s is None or is_traced(s) or s != 0 or any(end is not None for end in bbox)):
            raise refuse(f"scipy.interpolate.{name} with smoothing or bbox")
        fixed = {} if name == "InterpolatedUnivariateSpline" else {"s": s}
        options = {"w": w, "bbox": list(bbox), "k": k, "ext": ext, "check_finite": check_finite} | fixed
        self._of_scipy = None if traced else getattr(scipy_interpolate, name)(x, y, **options)
        self._eval_args = splrep(x, y, k=k, s=0) if self._of_scipy is None else self._of_scipy._eval_args

    @classmethod
    def made_of(cls, tck: Any, ext: int) -> UnivariateSpline:
        """Return a spline by its knots, coefficients and degree."""
        made = object.__new__(UnivariateSpline)
        made._of_scipy = None if is_traced(*tck) else scipy_interpolate.UnivariateSpline._from_tck(tck, ext)
        made._eval_args, made.ext = tck, ext
        return made

    @classmethod
    def made_by(cls, theirs: Any) -> UnivariateSpline:
        """Return the spline of an object of SciPy's."""
        return cls.made_of(theirs._eval_args, theirs.ext)

    def __getattr__(self, name: str) -> Any:
        """Return a further member of SciPy's object for concrete data."""
        if name.startswith("_") or name == "ext":
            raise AttributeError(name)
        if self._of_scipy is None:
            raise refuse(f"scipy.interpolate.UnivariateSpline.{name}")
        return getattr(self._of_scipy, name)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """Return the values at points x of any shape, or derivatives of order `nu`."""
        if self._of_scipy is not None and not is_traced(x):
            return self._of_scipy(x, nu, ext)
        return splev(x, self._eval_args, nu, self.ext if ext is None else _extension("UnivariateSpline", ext))

    def derivative(self, n: int = 1) -> UnivariateSpline:
        """Return the derivative of order n."""
        return UnivariateSpline.made_of(splder(self._eval_args, n), 1 if self.ext == 3 else self.ext)

    def antiderivative(self, n: int = 1) -> UnivariateSpline:
        """Return the antiderivative of order n that starts with zeros."""
        return UnivariateSpline.made_of(splantider(self._eval_args, n), self.ext)

    def integral(self, a: Any, b: Any) -> Any:
        """Return the integral from a to b; the spline is 0 outside of its knots."""
        return splint(a, b, self._eval_args)

    def get_knots(self) -> Any:
        """Return the knots, those at the ends once."""
        t, _, k = self._eval_args
        return t[k : t.shape[0] - k]

    def get_coeffs(self) -> Any:
        """Return the coefficients."""
        t, c, k = self._eval_args
        return c[: t.shape[0] - k - 1]


class InterpolatedUnivariateSpline(UnivariateSpline):
    """Spline of degree k through points, whose values and derivatives are as in `UnivariateSpline`."""

    def __init__(self, x, y, w=None, bbox=(None, None), k: int = 3, ext=0, check_finite: bool = False) -> None:
        super().__init__(x, y, w if not is_traced(x, y, w) else None, bbox, k, 0, ext, check_finite)


@leaves_concrete
def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> BSpline:
    """Return the natural cubic spline with the least sum of squares and of `lam` times its squared bend.

    Without `lam` it is the minimum of generalised cross-validation, one for each column of y, with its derivative by
    the data. Traced data take a matrix of n x n for it. SciPy's search ends within 1e-5 of the minimum.
    Source: P. Green, B. Silverman, Nonparametric Regression, 1994, sections 2.3 and 3.2.
    """
    x, y, along = data("make_smoothing_spline", x, y, axis, 5)
    check(x[1:] > x[:-1], "make_smoothing_spline: x must increase")
    weights = xp.ones_like(x) if w is None else real_floats(w)
    check(weights > 0, "make_smoothing_spline: weights must be above 0")
    flat = xp.reshape(y, (x.shape[0], -1)) if y.ndim > 1 else y[:, None]
    if lam is None:
        smooth = vmap(lambda column: _cross_validated(x, column, 1 / weights), in_axes=1, out_axes=1)(flat)
    else:
        lam = real_floats(lam).reshape(())
        check(lam >= 0, "make_smoothing_spline: lam must not be below 0")
        smooth = _smoothed(x, flat, 1 / weights, lam)
    smooth = xp.reshape(smooth, y.shape)
    made = make_interp_spline(x, smooth, 3, bc_type="natural")
    return BSpline.made_of(made.t, made.c, 3, True, along)


def _cross_validated(x, y, spreads):
    """Return the values at the points of the smoothing spline whose penalty has the least error of validation."""
    n = x.shape[0]
    columns = xp.concatenate([y[:, None], xp.eye(n)], axis=1)

    def error(lam):
        smooth = _smoothed(x, columns, spreads, lam)
        return xp.mean((y - smooth[:, 0]) ** 2) / (1 - xp.trace(smooth[:, 1:]) / n) ** 2

    lam = minimize_scalar(error, bounds=(0.0, n), method="bounded").x
    return _smoothed(x, y[:, None], spreads, lam)[:, 0]


def _smoothed(x, y, spreads, lam):
    """Return the values of the smoothing spline at the points: Reinsch's equations for its second derivatives."""
    h = x[1:] - x[:-1]
    first, last = 1 / h[:-1], 1 / h[1:]
    middle = -first - last
    v = spreads * lam
    near = middle[:-1] * first[1:] * v[1:-2] + last[:-1] * middle[1:] * v[2:-1] + h[1:-1] / 6
    far = last[:-2] * first[2:] * v[2:-2]
    main = first**2 * v[:-2] + middle**2 * v[1:-1] + last**2 * v[2:] + (h[:-1] + h[1:]) / 3
    none = np.zeros(1)
    bands = [
        xp.concatenate([none, none, far]), xp.concatenate([none, near]), main,
        xp.concatenate([near, none]), xp.concatenate([far, none, none]),
    ]  # fmt: skip
    column = lambda row: row[:, None]
    bend = column(first) * y[:-2] + column(middle) * y[1:-1] + column(last) * y[2:]
    second = solve_banded((2, 2), xp.stack(bands), bend)
    edge = xp.zeros_like(second[:1])
    pull = [
        xp.concatenate([column(first) * second, edge, edge]),
        xp.concatenate([edge, column(middle) * second, edge]),
        xp.concatenate([edge, edge, column(last) * second]),
    ]
    return y - column(v) * (pull[0] + pull[1] + pull[2])


@leaves_concrete
def insert(x: Any, tck: Any, m: int = 1, per: int = 0) -> Any:
    """Return a spline with a knot at x, inserted m times, in the form that it has; its values stay.

    Source: W. Boehm, Inserting new knots into B-spline curves, Computer-Aided Design 12, 1980.
    """
    if per:
        raise refuse("scipy.interpolate.insert with per")
    spline, point = spline_of(tck), real_floats(x).reshape(())
    low, high = spline.limits()
    check((point >= low) & (point <= high), "insert: x is outside of the knots")
    t, c, k = spline.t, spline.c[: spline.t.shape[0] - spline.k - 1], spline.k
    for _ in range(static_int(m, "insert", "m")):
        count = c.shape[0]
        at = xp.clip(xp.searchsorted(t, point, "right") - 1, k, count - 1)
        i = xp.arange(count + 1)
        width = t[xp.minimum(i + k, count + k)] - t[i]
        share = xp.where(width == 0, 0.0, (point - t[i]) / xp.where(width == 0, 1.0, width))
        share = xp.where(i <= at - k, 1.0, xp.where(i > at, 0.0, share))
        share = xp.reshape(share, (-1, *[1] * (c.ndim - 1)))
        c = share * c[xp.minimum(i, count - 1)] + (1 - share) * c[xp.maximum(i - 1, 0)]
        position = xp.arange(t.shape[0] + 1)
        moved = t[xp.maximum(position - 1, 0)]
        t = xp.where(
            position <= at, t[xp.minimum(position, t.shape[0] - 1)], xp.where(position == at + 1, point, moved)
        )
    made = BSpline.made_of(t, c, k, spline.extrapolate, spline.axis)
    return made if isinstance(tck, BSpline) else tuple_of(made, 0.0)


@leaves_concrete
def spalde(x: Any, tck: Any) -> Any:
    """Return the value and all derivatives of a spline at x, along a last axis; a list of rows for several points."""
    points, spline = real_floats(x), spline_of(tck)
    v = xp.ravel(points)
    low, high = spline.limits()
    check((v >= low) & (v <= high), "spalde: a point is outside of the knots")
    rows = xp.stack([spline.value(v, order, True) for order in range(spline.k + 1)], axis=-1)
    return rows[0] if points.ndim == 0 else rows


@leaves_concrete
def sproot(tck: Any, mest: int = 10) -> Any:
    """Return the roots of a cubic spline, at most `mest`; their number is a run-time size.

    SciPy finds them when the program runs. They have the derivative of the equation.
    """
    spline = spline_of(tck)
    if spline.k != 3:
        raise ArgumentError("sproot", "tck", f"has the degree {spline.k}", "pass a cubic spline")
    run = lambda t, c: np.asarray(scipy_interpolate.sproot((t, c, 3), mest), np.float64)
    spec = ShapeDtypeStruct(f"<={static_int(mest, 'sproot', 'mest')}", np.float64)
    ends = stop_gradient((spline.t, xp.concatenate([spline.c, xp.zeros((4,))])[: spline.t.shape[0]]))
    roots = pure_callback(run, spec, *ends)
    equation = lambda r: spline.value(r, 0, True)
    return custom_root(equation, roots, lambda f, guess: roots, lambda linear, y: y / linear(xp.ones_like(y)))


def bisplrep(
    x: Any, y: Any, z: Any, w: Any = None, xb: Any = None, xe: Any = None, yb: Any = None, ye: Any = None, kx: int = 3,
    ky: int = 3, task: int = 0, s: Any = None, eps: Any = 1e-16, tx: Any = None, ty: Any = None, full_output: int = 0,
    nxest: Any = None, nyest: Any = None, quiet: int = 1,
) -> list[Any]:  # fmt: skip
    """Return the surface of splines that is nearest to scattered points, as `bisplev` takes it, for `task` -1.

    `tx` and `ty` are the knots. The kx + 1 and ky + 1 at both ends are set to the rectangle of the points. It has the
    derivative of weighted least squares. FITPACK chooses knots for concrete data alone.
    """
    if task != -1 or full_output:
        raise refuse("scipy.interpolate.bisplrep with full_output" if full_output else "bisplrep without task=-1")
    if tx is None or ty is None:
        raise ArgumentError("bisplrep", "tx or ty", "is missing", "pass the knots along x and y for task=-1")
    x, y, z = (xp.ravel(real_floats(v)) for v in (x, y, z))
    context = context_of("bisplrep", x, y, z)
    for other in (y, z):
        context.require_equal(sizes(x)[0], sizes(other)[0], "x, y and z must have one length")
    context.require(at_least(sizes(x)[0], (kx + 1) * (ky + 1)), "the points are fewer than (kx + 1) * (ky + 1)")
    weights = xp.ones_like(x) if w is None else real_floats(w)
    tx, ty = _with_ends(tx, kx, x, xb, xe), _with_ends(ty, ky, y, yb, ye)
    first, second = _design(tx, kx, x), _design(ty, ky, y)
    design = xp.reshape(first[:, :, None] * second[:, None, :], (x.shape[0], first.shape[1] * second.shape[1]))
    return [tx, ty, xp.linalg.lstsq(design * weights[:, None], z * weights)[0], kx, ky]


def _with_ends(t, k: int, x, low, high):
    """Return knots whose first and last k + 1 are the ends of an interval, by default that of the points."""
    ends = [xp.min(x) if low is None else real_floats(low), xp.max(x) if high is None else real_floats(high)]
    first, last = (xp.broadcast_to(end, (k + 1,)) for end in ends)
    return xp.concatenate([first, real_floats(t)[k + 1 : -k - 1], last])


def _design(t, k: int, x):
    """Return the values of all B-splines at points, in rows."""
    return BSpline.of_tck(t, xp.eye(t.shape[0] - k - 1), k).value(x, 0, True)


def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """Return a surface of splines, or its derivatives, on the grid of x and y; axes of one point are left out.

    `tck` has the knots along x and y, the coefficients, and both degrees.
    """
    tx, ty, c, kx, ky = tck
    tx, ty, c = (as_value(real_floats(part)) for part in (tx, ty, c))
    counts = tx.shape[0] - kx - 1, ty.shape[0] - ky - 1
    x, y = (xp.atleast_1d(real_floats(v)) for v in (x, y))
    first = BSpline.of_tck(tx, xp.reshape(c, counts), kx)
    rows = first.value(xp.clip(x, *first.limits()), dx, True)
    second = BSpline.of_tck(ty, rows.T, ky)
    z = second.value(xp.clip(y, *second.limits()), dy, True).T
    if x.shape[0] > 1:
        return z
    return z[0] if y.shape[0] > 1 else z[0, 0]
