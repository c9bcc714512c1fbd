"""Define conversions of filters: numerator and denominator, zeros and poles, and sections.

Coefficients may be traced. Roots of traced ones are complex, and so are coefficients of polynomials with complex roots.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import result_type, sizes, static_int
from anyshape.ops.core.apply import context_of
from anyshape.scipy.signal.filtering import fitted
from anyshape.support.packages import scipy_signal
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import check, stop_gradient

# -- sections of second order ------------------------------------------------------------------------------------


def _roots_of_sections(sos: np.ndarray, roots: np.ndarray, first: int) -> np.ndarray:
    """Return for each section the positions of its two roots among these, -1 for one that it has not."""
    free, rows = list(range(len(roots))), np.full((len(sos), 2), -1)
    for section, row in zip(sos, rows, strict=True):
        for column, root in enumerate(np.roots(section[first : first + 3])):
            nearest = min(free, key=lambda i: abs(roots[i] - root))
            free.remove(nearest)
            row[column] = nearest
    return rows


def _quadratic(roots, at):
    """Return the coefficients of the polynomials with the roots at pairs of positions, lower degrees behind zeros."""
    chosen = xp.where(at < 0, 0.0, roots[xp.maximum(at, 0)])
    count = xp.sum(at >= 0, axis=-1)[:, None]
    total, product = xp.real(chosen[:, 0] + chosen[:, 1]), xp.real(chosen[:, 0] * chosen[:, 1])
    one, none = xp.ones_like(total), xp.zeros_like(total)
    forms = [xp.stack(row, axis=-1) for row in ((none, none, one), (none, one, -total), (one, -total, product))]
    return xp.where(count == 2, forms[2], xp.where(count == 1, forms[1], forms[0]))


def zpk2sos(z: Any, p: Any, k: Any, pairing: Any = None, *, analog: bool = False) -> Any:
    """Return sections of second order of a filter of zeros z, poles p and gain k, paired as by SciPy.

    SciPy pairs the roots when the program runs. The derivatives keep the pairs.
    """
    zeros, poles = (xp.atleast_1d(xp.asarray(v)).astype(np.complex128) for v in (z, p))
    check(xp.imag(xp.asarray(k)) == 0, "zpk2sos: k must be real")
    gain = xp.real(xp.asarray(k)).astype(np.float64)
    counts = [static_int(v.shape[0], "zpk2sos", "the number of roots") for v in (zeros, poles)]
    most = max(counts) if pairing != "minimal" and not analog else counts[1]
    sections = max((most + 1) // 2, 1)

    def run(z, p, k):
        sos = np.asarray(scipy_signal.zpk2sos(z, p, k, pairing, analog=analog), np.float64)

        padded = (np.concatenate([v, np.zeros(2 * sections)]) for v in (z, p))
        above, below = (_roots_of_sections(sos, v, first) for v, first in zip(padded, (0, 3), strict=True))
        return sos, above, below

    pairs = ShapeDtypeStruct((sections, 2), np.int64)
    spec = ShapeDtypeStruct((sections, 6), np.float64), pairs, pairs
    of_scipy, above, below = pure_callback(run, spec, *stop_gradient((zeros, poles, gain)))
    more = xp.zeros(2 * sections, np.complex128)
    top, bottom = (_quadratic(xp.concatenate([v, more]), at) for v, at in ((zeros, above), (poles, below)))
    scale = xp.where(xp.arange(sections)[:, None] == 0, gain, 1.0)
    sos = xp.concatenate([top * scale, bottom], axis=1)
    return of_scipy + (sos - stop_gradient(sos))


# -- digital forms of analog systems -----------------------------------------------------------------------------


def bilinear(b: Any, a: Any, fs: Any = 1.0) -> tuple[Any, Any]:
    """Return the digital filter of an analog one by Tustin's transform, with 1 as the first coefficient below.

    First coefficients that are 0 count for the order of traced filters; SciPy leaves them out.
    """
    above, below = (xp.atleast_1d(xp.asarray(v)) for v in (b, a))
    counts = [static_int(v.shape[0], "bilinear", "the number of coefficients") for v in (above, below)]
    order = max(counts) - 1
    rows = [np.polymul(np.poly([-1.0] * (order - q)), np.poly([1.0] * q)) for q in range(order + 1)]
    powers = (2.0 * xp.asarray(fs)) ** np.arange(order + 1)
    turned = [
        (row[::-1] * powers[:count]) @ np.stack(rows)[:count] for row, count in zip((above, below), counts, strict=True)
    ]
    return turned[0] / turned[1][0], turned[1] / turned[1][0]


def _row(name: str, x, option: str):
    """Return numbers as a vector of floats."""
    row = xp.atleast_1d(xp.asarray(x))
    if row.ndim != 1:
        raise ArgumentError(name, option, f"has {row.ndim} axes", "pass a vector")
    return row if row.dtype.kind in "fc" else row.astype(np.float64)


def zpk2tf(z: Any, p: Any, k: Any) -> tuple[Any, Any]:
    """Return numerator and denominator of a filter of zeros z, poles p and gain k."""
    zeros = xp.atleast_1d(xp.asarray(z))
    gain = xp.asarray(k)
    if zeros.ndim == 2:
        count = static_int(zeros.shape[0], "zpk2tf", "the number of outputs")
        gains = xp.broadcast_to(gain, (count,))
        return xp.stack([gains[i] * xp.poly(zeros[i]) for i in range(count)]), xp.poly(_row("zpk2tf", p, "p"))
    return gain * xp.poly(zeros), xp.poly(_row("zpk2tf", p, "p"))


def tf2zpk(b: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return zeros, poles and gain of a filter of numerator b and denominator a.

    A first coefficient that is 0 is a CheckError of the run; SciPy leaves it out.
    """
    above, below = _row("tf2zpk", b, "b"), _row("tf2zpk", a, "a")
    dtype = result_type(above, below)
    above, below = (above / below[0]).astype(dtype), (below / below[0]).astype(dtype)
    return xp.roots(above), xp.roots(below), above[0]


def lfiltic(b: Any, a: Any, y: Any, x: Any = None) -> Any:
    """Return the conditions of a filter whose last outputs were y, the newest first, and whose last inputs were x."""
    above, below = _row("lfiltic", b, "b"), _row("lfiltic", a, "a")
    context_of("lfiltic", below).require(at_least(sizes(below)[0], 1), "a has a coefficient")
    before = xp.asarray(y) if x is None else xp.asarray(x)
    dtype = result_type(above, below, xp.asarray(y), before)
    check(below[0] != 0, "lfiltic: the first coefficient of a must not be 0")
    count = expr.maximum(sizes(above)[0], sizes(below)[0])
    past = _weighed(below, xp.ravel(y), count)
    inputs = 0.0 if x is None else _weighed(above, xp.ravel(x), count)
    return ((inputs - past) / below[0]).astype(dtype)


def _weighed(row, values, count):
    """Return the sums of values from the first on, by the coefficients from each position but the first on."""
    order = expr.sub(count, 1)
    row, values = fitted(row, 1, expr.mul(2, order)), fitted(values, 0, order)
    at = xp.arange(values.shape[0])
    return row[at[:, None] + at] @ values.astype(np.result_type(row.dtype, values.dtype))
