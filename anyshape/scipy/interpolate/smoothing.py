"""Define the natural smoothing spline, and functions of splines: inserted knots, roots, derivatives, surfaces."""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.numpy.operands.promotion import is_traced, sizes, static_int
from anyshape.numpy.serve import refuse
from anyshape.ops.core.apply import context_of
from anyshape.scipy.interpolate.bspline import BSpline, is_traced_spline, make_interp_spline, spline_of, tuple_of
from anyshape.scipy.interpolate.piecewise import data
from anyshape.scipy.linalg.banded import solve_banded
from anyshape.scipy.operands.conversion import real_floats
from anyshape.scipy.optimize.minima import minimize_scalar
from anyshape.support.packages import scipy_interpolate
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.trace import as_value
from anyshape.transforms.control import check, stop_gradient
from anyshape.transforms.custom.implicit_solves import custom_root
from anyshape.transforms.vmap import vmap


def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> BSpline:
    """Return the natural cubic spline with the least sum of squares and of `lam` times its squared bend.

    Without `lam` it is the minimum of generalised cross-validation, one for each column of y, with its derivative by
    the data. Traced data take a matrix of n x n for it. SciPy's search ends within 1e-5 of the minimum.
    Source: P. Green, B. Silverman, Nonparametric Regression, 1994, sections 2.3 and 3.2.
    """
    if not is_traced(x, y, w, lam):
        made = object.__new__(BSpline)
        options = {} if axis == 0 else {"axis": axis}
        made.take(scipy_interpolate.make_smoothing_spline(x, y, w, lam, **options))
        return made
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


def insert(x: Any, tck: Any, m: int = 1, per: int = 0) -> Any:
    """Return a spline with a knot at x, inserted m times, in the form that it has; its values stay.

    Source: W. Boehm, Inserting new knots into B-spline curves, Computer-Aided Design 12, 1980.
    """
    if not is_traced(x) and not is_traced_spline(tck):
        of_scipy = tck.of_scipy() if isinstance(tck, BSpline) else tck
        return scipy_interpolate.insert(x, of_scipy, m, per)
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


def spalde(x: Any, tck: Any) -> Any:
    """Return the value and all derivatives of a spline at x, along a last axis; a list of rows for several points."""
    if not is_traced(x) and not is_traced_spline(tck):
        return scipy_interpolate.spalde(x, tck.of_scipy() if isinstance(tck, BSpline) else tck)
    points, spline = real_floats(x), spline_of(tck)
    v = xp.ravel(points)
    low, high = spline.limits()
    check((v >= low) & (v <= high), "spalde: a point is outside of the knots")
    rows = xp.stack([spline.value(v, order, True) for order in range(spline.k + 1)], axis=-1)
    return rows[0] if points.ndim == 0 else rows


def sproot(tck: Any, mest: int = 10) -> Any:
    """Return the roots of a cubic spline, at most `mest`; their number is a run-time size.

    SciPy finds them when the program runs. They have the derivative of the equation.
    """
    if not is_traced_spline(tck):
        return scipy_interpolate.sproot(tck.of_scipy() if isinstance(tck, BSpline) else tck, mest)
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
    c = xp.linalg.lstsq(design * weights[:, None], z * weights)[0]
    return [tx, ty, c, kx, ky]


def _with_ends(t, k: int, x, low, high):
    """Return knots whose first and last k + 1 are the ends of an interval, by default that of the points."""
    ends = [xp.min(x) if low is None else real_floats(low), xp.max(x) if high is None else real_floats(high)]
    first, last = (xp.broadcast_to(end, (k + 1,)) for end in ends)
    return xp.concatenate([first, real_floats(t)[k + 1 : -k - 1], last])


def _design(t, k: int, x):
    """Return the values of all B-splines at points, in rows."""
    return BSpline.made_of(t, xp.eye(t.shape[0] - k - 1), k).value(x, 0, True)


def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """Return a surface of splines, or its derivatives, on the grid of x and y; axes of one point are left out.

    `tck` has the knots along x and y, the coefficients, and both degrees.
    """
    tx, ty, c, kx, ky = tck
    tx, ty, c = (as_value(real_floats(part)) for part in (tx, ty, c))
    counts = tx.shape[0] - kx - 1, ty.shape[0] - ky - 1
    x, y = (xp.atleast_1d(real_floats(v)) for v in (x, y))
    first = BSpline.made_of(tx, xp.reshape(c, counts), kx)
    rows = first.value(xp.clip(x, *first.limits()), dx, True)
    second = BSpline.made_of(ty, rows.T, ky)
    z = second.value(xp.clip(y, *second.limits()), dy, True).T
    if x.shape[0] > 1:
        return z
    return z[0] if y.shape[0] > 1 else z[0, 0]
