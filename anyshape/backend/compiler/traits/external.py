"""Traits of functions of other libraries."""

from anyshape.backend.compiler.op_traits import OPAQUE, declare, operands_and_results
from anyshape.backend.compiler.plan import Step
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import external as ex
from anyshape.ops.core.flop_counts import elements


def _continued(step: Step) -> Size | None:
    """Bound copies of the operands that go on by a window beyond both ends of each axis, and blocks of windows."""
    params, x = dict(step.params), step.metas[0]
    window = params["window"] if step.op is ex.weigh_op else step.metas[-1].sizes
    if x.sizes is None or window is None:
        return None
    sides = list(x.sizes)
    for axis, k in zip(params["axes"], window[len(window) - len(params["axes"]) :], strict=True):
        sides[axis] = expr.add(sides[axis], k)
    arrays = expr.mul(elements(tuple(sides)), 4 * max(meta.dtype.itemsize for meta in step.metas))
    if step.op is not ex.ranked_op:
        return arrays
    windows = expr.mul(expr.mul(elements(tuple(sides)), elements(window)), 3 * x.dtype.itemsize)
    row = expr.mul(expr.mul(elements(tuple(sides[1:])), elements(window)), 3 * x.dtype.itemsize)
    return expr.add(arrays, expr.minimum(windows, expr.add(3 * ex.BLOCK, row)))


def _interpolated(step: Step) -> Size | None:
    """Bound coordinates of values, weights along each axis, and images that are deposited along some axes."""
    params, x, out = dict(step.params), step.metas[0].sizes, step.results[0].sizes
    copies, weights = operands_and_results(6)(step), len(params["slopes"]) * (params["order"] + 1)
    if x is None or out is None or copies is None:
        return None
    if params["form"] in ("points", "matrix"):
        return expr.add(copies, 64 * weights * ex.BLOCK // 256)
    sides = [expr.maximum(*pair) for pair in zip(x, out, strict=True)]
    matrices = expr.mul(128 * (params["order"] + 1), expr.total(sides))
    return expr.total([copies, matrices, expr.mul(48, elements(tuple(sides)))])


_LINES = (ex.correlate_op, ex.lfilter_op, ex.upfirdn_op, ex.spline_filter_op)
declare(OPAQUE._replace(scratch=operands_and_results(3)), *_LINES, ex.binary_steps_op)
declare(OPAQUE._replace(scratch=_interpolated), ex.interpolate_op)
declare(OPAQUE._replace(scratch=_continued), ex.spread_op, ex.weigh_op, ex.ranked_op, ex.tied_op)
