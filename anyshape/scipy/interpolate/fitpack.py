"""Splines as FITPACK has them: knots, coefficients and degree in a tuple, and the class of univariate splines.

Interpolating splines of traced data have the knots of FITPACK. Smoothing ones, whose knots depend on values, are for
concrete data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.arrays.fallthrough import falls_through, refuse
from anyshape.numpy.operands.promotion import is_traced
from anyshape.scipy.interpolate.bspline import BSpline, make_interp_spline, make_lsq_spline
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.operands.finite import require_finite
from anyshape.scipy.results.fixed_attributes import FixedAttributes
from anyshape.support.packages import scipy_interpolate
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import check

_EXTENSIONS = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}
_fitpack = falls_through(scipy_interpolate)


def is_traced_spline(tck: Any) -> bool:
    """Return whether a spline, or its tuple, has traced arrays."""
    return tck.is_traced() if isinstance(tck, BSpline) else is_traced(*tck)


def spline_of(tck: Any) -> BSpline:
    """Return a spline by its knots, coefficients and degree, with its arrays as values of the trace."""
    t, c, k = tck.tck if isinstance(tck, BSpline) else tck
    return BSpline.made_of(as_value(real_floats(t)), as_value(xp.asarray(c)), int(k))


def tuple_of(spline: BSpline, ending: Any) -> tuple[Any, Any, int]:
    """Return knots, coefficients with as many more elements as there are more knots, and the degree."""
    last = xp.broadcast_to(ending, (spline.k + 1, *spline.c.shape[1:]))
    return spline.t, xp.concatenate([spline.c, last.astype(spline.c.dtype)]), spline.k


def _extension(name: str, ext: Any) -> int:
    number = _EXTENSIONS.get(ext, ext)
    if number not in _EXTENSIONS.values():
        raise ArgumentError(name, f"ext={ext!r}", "is not a mode", f"choose one of {', '.join(_EXTENSIONS)}, or 0 to 3")
    return int(number)


@_fitpack
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
    return tuple_of(make_interp_spline(x, y, k, check_finite=False), 0.0)  # FITPACK takes NaN


def make_splrep(x: Any, y: Any, *, k: int = 3, s: Any = 0, bc_type: Any = None, **options: Any) -> BSpline:
    """Return the spline through points for s=0; traced data are not smoothed, and have no further options then."""
    if not is_traced(x, y, s, *options.values()):
        made = object.__new__(BSpline)
        periodic = {} if bc_type is None else {"bc_type": bc_type}
        made.take(scipy_interpolate.make_splrep(x, y, k=k, s=s, **periodic, **options))
        return made
    _refuse_smoothing("make_splrep", s, options)
    return make_interp_spline(x, y, k, bc_type=bc_type)


def _refuse_smoothing(name: str, s: Any, options: dict[str, Any]) -> None:
    """Raise an error for what depends on the values of data: smoothing, its knots and weights."""
    used = [option for option, value in options.items() if value is not None]
    if used or is_traced(s) or s != 0:
        raise refuse(f"scipy.interpolate.{name} with {used[0] if used else 'smoothing'}")


def _along_curve(x: Any, u: Any) -> tuple[Any, Any]:
    """Return points of a curve in rows, and its parameter: by default the part of the length of the chords."""
    rows = xp.stack([real_floats(row) for row in x], axis=1)
    if u is not None:
        return rows, real_floats(u)
    lengths = xp.cumsum(xp.sqrt(xp.sum((rows[1:] - rows[:-1]) ** 2, axis=1)))
    return rows, xp.concatenate([xp.zeros(1), lengths / lengths[-1]])


def make_splprep(x: Any, *, u: Any = None, k: int = 3, s: Any = 0, **options: Any) -> tuple[BSpline, Any]:
    """Return the curve through points for s=0, of an axis for each coordinate in x, and its parameter at the points."""
    if not is_traced(*x, u, s, *options.values()):
        curve, u = scipy_interpolate.make_splprep(x, u=u, k=k, s=s, **options)
        made = object.__new__(BSpline)
        made.take(curve)
        return made, u
    _refuse_smoothing("make_splprep", s, options)
    rows, parameter = _along_curve(x, u)
    return make_interp_spline(parameter, rows.T, k, axis=1), parameter


@_fitpack
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


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Return a spline or its derivative at points. Outside, `ext` 1 to 3 give 0, an error and the value of the end."""
    if not is_traced(x) and not is_traced_spline(tck):
        return scipy_interpolate.splev(x, tck.of_scipy() if isinstance(tck, BSpline) else tck, der, ext)
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


def splder(tck: Any, n: int = 1) -> Any:
    """Return the derivative of order n of a spline, in the form that it has."""
    if n < 0:
        return splantider(tck, -n)
    if not is_traced_spline(tck):
        return tck.derivative(n) if isinstance(tck, BSpline) else scipy_interpolate.splder(tck, n)
    return tck.derivative(n) if isinstance(tck, BSpline) else tuple_of(spline_of(tck).derivative(n), 0.0)


def splantider(tck: Any, n: int = 1) -> Any:
    """Return the antiderivative of order n of a spline, in the form that it has."""
    if n < 0:
        return splder(tck, -n)
    if not is_traced_spline(tck):
        return tck.antiderivative(n) if isinstance(tck, BSpline) else scipy_interpolate.splantider(tck, n)
    if isinstance(tck, BSpline):
        return tck.antiderivative(n)
    whole = spline_of(tck).antiderivative(n)
    return tuple_of(whole, whole.c[-1:])


def splint(a: Any, b: Any, tck: Any, full_output: int = 0) -> Any:
    """Return the integral of a spline from a to b; it is 0 outside of its knots."""
    if not is_traced(a, b) and not is_traced_spline(tck):
        return scipy_interpolate.splint(a, b, tck.of_scipy() if isinstance(tck, BSpline) else tck, full_output)
    if full_output:
        raise refuse("scipy.interpolate.splint with full_output")
    return spline_of(tck).integrate(a, b, False)


class UnivariateSpline(FixedAttributes):
    """Spline of degree k through points, or near to them for concrete data; `ext` is as in `splev`, or its name.

    Data may be traced with s=0. For concrete ones it is SciPy's object inside, which also has the further methods.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        s: Any = None,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
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

    def __init__(
        self,
        x: Any,
        y: Any,
        w: Any = None,
        bbox: Any = (None, None),
        k: int = 3,
        ext: Any = 0,
        check_finite: bool = False,
    ) -> None:
        super().__init__(x, y, w if not is_traced(x, y, w) else None, bbox, k, 0, ext, check_finite)
