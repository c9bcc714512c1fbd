"""Traits of convolutions and of reductions of windows."""

from anyshape.backend.compiler.op_traits import OPAQUE, bytes_of, declare, total_bytes
from anyshape.backend.compiler.plan import Step
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import windows as wd
from anyshape.ops.core.flop_counts import elements


def _lengths(step: Step) -> list[Size]:
    """Return how many positions windows reach along each axis, from the first to the last."""
    params = dict(step.params)
    window = params.get("window")
    if window is None:
        shape = step.metas[1].sizes or ()
        window = shape[len(shape) - len(params["sizes"]) :]
    moves = zip(params["sizes"], params["strides"], window, params["window_dilation"], strict=True)
    return [expr.add(expr.mul(n, s), expr.mul(k, d)) for n, s, k, d in moves]


def _convolution(step: Step) -> Size | None:
    """Bound the copies of operands, the rows of the product, and the spectra of a product of transforms."""
    x, w = (m.sizes for m in step.metas)
    known = total_bytes([*map(bytes_of, step.metas), bytes_of(step.results[0])])
    if x is None or w is None or known is None or step.results[0].sizes is None:
        return None
    spatial, itemsize = len(dict(step.params)["sizes"]), step.metas[0].dtype.itemsize
    reach = elements(tuple(_lengths(step)))
    window, results = elements(w[len(w) - spatial :]), elements(step.results[0].sizes[-spatial:] if spatial else ())
    operand = elements(x[: len(x) - spatial])
    rows = expr.mul(expr.mul(operand, reach), expr.total([window, results, 1]))
    others = expr.total([elements(w[: len(w) - spatial]), elements(step.results[0].sizes[: len(w) - spatial])])
    spectra = expr.mul(expr.mul(expr.total([operand, others]), reach), 2 ** (spatial + 6))
    return expr.total([expr.mul(4, known), expr.mul(rows, itemsize), spectra])


def _reduction(step: Step) -> Size | None:
    """Bound the operand with what lies beyond its ends, and what is made of it along each axis."""
    x, out = step.metas[0].sizes, step.results[0].sizes
    if x is None or out is None:
        return None
    spatial = len(dict(step.params)["sizes"])
    reach = [expr.maximum(n, r) for n, r in zip(x[len(x) - spatial :], _lengths(step), strict=True)]
    per_element = max(step.metas[0].dtype.itemsize, 8)
    return expr.mul(8 * per_element, expr.mul(elements(x[: len(x) - spatial]), elements(tuple(reach))))


declare(OPAQUE._replace(scratch=_convolution), wd.convolution_op)
declare(
    OPAQUE._replace(scratch=_reduction),
    wd.window_sum_op,
    wd.window_max_op,
    wd.window_min_op,
    wd.window_argmax_op,
    wd.window_argmin_op,
)
