"""Define conversions of filters: numerator and denominator, zeros and poles, sections, and bands of prototypes.

Coefficients may be traced. Roots of traced ones are complex, and so are coefficients of polynomials with complex roots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import result_type, sizes, static_int
from anyshape.ops.core.apply import context_of
from anyshape.scipy.signal.filtering import fitted
from anyshape.transforms.control import check


def _row(name: str, x: Any, option: str) -> Any:
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


def sos2tf(sos: Any) -> tuple[Any, Any]:
    """Return numerator and denominator of sections of second order."""
    sections = _sections("sos2tf", sos)
    above, below = (xp.ones(1, sections.dtype) for _ in range(2))
    for i in range(static_int(sections.shape[0], "sos2tf", "the number of sections")):
        above, below = xp.convolve(above, sections[i, :3]), xp.convolve(below, sections[i, 3:])
    return above, below


def sos2zpk(sos: Any) -> tuple[Any, Any, Any]:
    """Return zeros, poles and gain of sections of second order, two of each for a section; see `tf2zpk`."""
    sections = _sections("sos2zpk", sos)
    count = static_int(sections.shape[0], "sos2zpk", "the number of sections")
    if not count:
        return np.zeros(0, complex), np.zeros(0, complex), 1.0
    rows = [tf2zpk(sections[i, :3], sections[i, 3:]) for i in range(count)]
    zeros, poles = (xp.concatenate([row[j] for row in rows]).astype(np.complex128) for j in range(2))
    gain = 1.0
    for row in rows:
        gain = gain * row[2]
    return zeros, poles, gain


def _sections(name: str, sos: Any) -> Any:
    """Return sections as a matrix of six columns."""
    sections = xp.asarray(sos)
    if sections.ndim != 2:
        raise ArgumentError(name, "sos", f"has {sections.ndim} axes", "give one row of six numbers per section")
    context_of(name, sections).require_equal(sizes(sections)[1], 6, "sections have 6 numbers")
    return sections if sections.dtype.kind in "fc" else sections.astype(np.float64)


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


def _weighed(row: Any, values: Any, count: Any) -> Any:
    """Return the sums of values from the first on, by the coefficients from each position but the first on."""
    order = expr.sub(count, 1)
    row = fitted(row, 1, expr.mul(2, order))
    values = fitted(values, 0, order)
    at = xp.arange(values.shape[0])
    return row[at[:, None] + at] @ values.astype(np.result_type(row.dtype, values.dtype))


# -- bands of prototypes: zeros, poles and gain


def _prototype(name: str, z: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return zeros, poles, and how many more of these there are."""
    zeros, poles = _row(name, z, "z"), _row(name, p, "p")
    why = "the filter has as many poles as zeros or more"
    context_of(name, zeros, poles).require(at_least(sizes(poles)[0], sizes(zeros)[0]), why)
    return zeros, poles, poles.shape[0] - zeros.shape[0]


def _with_zeros(zeros: Any, value: complex, count: Any) -> Any:
    """Return zeros with so many more."""
    dtype = np.result_type(zeros.dtype, np.complex128 if isinstance(value, complex) else np.float64)
    return xp.concatenate([zeros.astype(dtype), xp.full((count,), value, dtype)])


def _gain(zeros: Any, poles: Any) -> Any:
    return xp.real(xp.prod(zeros) / xp.prod(poles))


def bilinear_zpk(z: Any, p: Any, k: Any, fs: Any) -> tuple[Any, Any, Any]:
    """Return the digital filter of an analog one by Tustin's transform at a sampling rate."""
    zeros, poles, degree = _prototype("bilinear_zpk", z, p)
    rate = 2.0 * fs
    turned = _with_zeros((rate + zeros) / (rate - zeros), -1.0, degree)
    return turned, (rate + poles) / (rate - poles), k * _gain(rate - zeros, rate - poles)


def lp2lp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the low-pass filter of another frequency of a prototype of frequency 1."""
    zeros, poles, degree = _prototype("lp2lp_zpk", z, p)
    return wo * zeros, wo * poles, k * (wo * 1.0) ** xp.asarray(degree)


def lp2hp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the high-pass filter of a low-pass prototype."""
    zeros, poles, degree = _prototype("lp2hp_zpk", z, p)
    return _with_zeros(wo / zeros, 0.0, degree), wo / poles, k * _gain(-zeros, -poles)


def _both_sides(roots: Any, wo: Any) -> Any:
    """Return roots around a frequency and its negative."""
    shift = xp.sqrt(roots.astype(np.complex128) ** 2 - wo**2)
    return xp.concatenate([roots + shift, roots - shift])


def lp2bp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the band-pass filter of a low-pass prototype, of this middle and width."""
    zeros, poles, degree = _prototype("lp2bp_zpk", z, p)
    turned = _with_zeros(_both_sides(zeros * bw / 2, wo), 0.0, degree)
    return turned, _both_sides(poles * bw / 2, wo), k * (bw * 1.0) ** xp.asarray(degree)


def lp2bs_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the band-stop filter of a low-pass prototype, of this middle and width."""
    zeros, poles, degree = _prototype("lp2bs_zpk", z, p)
    turned = _both_sides(bw / 2 / zeros, wo)
    stopped = xp.concatenate([turned, xp.ones((degree,)) * (1j * wo), xp.ones((degree,)) * (-1j * wo)])
    return stopped, _both_sides(bw / 2 / poles, wo), k * _gain(-zeros, -poles)
