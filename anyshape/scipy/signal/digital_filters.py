"""Define designs of recursive filters by critical frequencies, their sections, and digital forms of analog systems.

Orders and forms are known while tracing. Frequencies, ripples and system matrices may be traced.

Define conversions of filters: numerator and denominator, zeros and poles, sections, and bands of prototypes.

Coefficients may be traced. Roots of traced ones are complex, and so are coefficients of polynomials with complex roots.
"""

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.sizes import expr
from anyshape.numpy.operands.promotion import choice_of, is_traced, result_type, sizes, static_int
from anyshape.numpy.serve import refuse
from anyshape.ops.core.apply import context_of
from anyshape.scipy.linalg.functions import expm
from anyshape.scipy.signal.filtering import fitted
from anyshape.support.packages import scipy_signal
from anyshape.support.true_types import has_type
from anyshape.tracing.callback import pure_callback
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.control import check, stop_gradient

_BANDS = {
    "band": "bandpass", "bandpass": "bandpass", "pass": "bandpass", "bp": "bandpass",
    "bs": "bandstop", "bandstop": "bandstop", "bands": "bandstop", "stop": "bandstop",
    "l": "lowpass", "low": "lowpass", "lowpass": "lowpass", "lp": "lowpass",
    "high": "highpass", "highpass": "highpass", "h": "highpass", "hp": "highpass",
}  # fmt: skip
_FAMILIES = {
    "butter": "butter", "butterworth": "butter", "cheby1": "cheby1", "chebyshev1": "cheby1", "chebyshevi": "cheby1",
    "cheby2": "cheby2", "chebyshev2": "cheby2", "chebyshevii": "cheby2", "ellip": "ellip", "elliptic": "ellip",
    "cauer": "ellip", "bessel": "phase", "bessel_phase": "phase", "bessel_delay": "delay", "bessel_mag": "mag",
}  # fmt: skip
_NEEDS = {"cheby1": (True, False), "cheby2": (False, True), "ellip": (True, True)}  # which of rp and rs


def _prototype(family: str, order: int, rp, rs) -> tuple[Any, Any, Any]:
    """Return zeros, poles and gain of the analog low-pass filter of frequency 1."""
    needed = [x for x, used in zip((rp, rs), _NEEDS.get(family, (False, False)), strict=True) if used]
    if any(x is None for x in needed):
        raise ArgumentError("iirfilter", "rp or rs", f"is needed by the family {family}", "give the ripple in decibels")
    if not is_traced(*needed):
        options = {"norm": family} if family in ("phase", "delay", "mag") else {}
        designs = {"butter": "buttap", "cheby1": "cheb1ap", "cheby2": "cheb2ap", "ellip": "ellipap"}
        return getattr(scipy_signal, designs.get(family, "besselap"))(order, *needed, **options)
    if family == "ellip":
        raise refuse("scipy.signal.ellip with a traced rp or rs")
    return _chebyshev(family, order, xp.asarray(needed[0]).astype(np.float64))


def _chebyshev(family: str, order: int, decibels) -> tuple[Any, Any, Any]:
    """Return the prototype of Chebyshev: poles on an ellipse, or for the second kind their inverses, and zeros."""
    check(decibels >= 0, "iirfilter: the ripple must not be below 0")
    squared = xp.expm1(decibels * (np.log(10.0) / 10.0))
    if not order:
        gain = xp.exp(decibels * (-np.log(10.0) / 20.0)) if family == "cheby1" else 1.0
        return np.zeros(0, float if family == "cheby1" else complex), np.zeros(0, complex), gain
    steps = np.arange(1 - order, order, 2)
    angles = 1j * np.pi / (2 * order) * steps
    if family == "cheby1":
        poles = -xp.sinh(xp.arcsinh(1 / xp.sqrt(squared)) / order + angles)
        gain = xp.real(xp.prod(-poles))
        return np.zeros(0), poles, gain if order % 2 else gain / xp.sqrt(1 + squared)
    zeros = 1j / np.sin(np.pi / (2 * order) * steps[steps != 0])
    poles = -1 / xp.sinh(xp.arcsinh(xp.sqrt(squared)) / order + angles)
    return zeros, poles, xp.real(xp.prod(-poles)) / np.real(np.prod(-zeros))


def _frequencies(Wn, band: str, analog: bool, fs):
    """Return the critical frequencies of the analog filter, a vector of one or two."""
    if fs is not None and analog:
        raise ArgumentError("iirfilter", "fs", "is given for an analog filter", "leave it out")
    values = xp.asarray(Wn).astype(np.float64)
    values = values if fs is None else values / (xp.asarray(fs) / 2)
    values = xp.ravel(values)
    wanted = 2 if band.startswith("band") else 1
    if static_int(values.shape[0], "iirfilter", "the number of frequencies") != wanted:
        advice = f"give {('one', 'two')[wanted - 1]} for the band {band!r}"
        raise ArgumentError("iirfilter", "Wn", f"has {values.shape[0]} frequencies", advice)
    check(values > 0, "iirfilter: critical frequencies must be above 0")
    if wanted == 2:
        check(values[0] < values[1], "iirfilter: Wn[0] must be less than Wn[1]")
    if analog:
        return values
    check(values < 1, "iirfilter: critical frequencies must be below half the sampling rate")
    return 4.0 * xp.tan(np.pi / 2 * values)


def _in_band(prototype, band: str, at) -> tuple[Any, Any, Any]:
    """Return the filter of a band by the prototype of a low-pass filter."""
    z, p, k = prototype
    if band == "lowpass":
        return lp2lp_zpk(z, p, k, at[0])
    if band == "highpass":
        return lp2hp_zpk(z, p, k, at[0])
    turn = lp2bp_zpk if band == "bandpass" else lp2bs_zpk
    return turn(z, p, k, xp.sqrt(at[0] * at[1]), at[1] - at[0])


def iirfilter(
    N: int, Wn: Any, rp: Any = None, rs: Any = None, btype: str = "band", analog: bool = False, ftype: str = "butter",
    output: str = "ba", fs: Any = None,
) -> Any:  # fmt: skip
    """Return the filter of order N and critical frequencies `Wn`, which may be traced, in SciPy's forms.

    `output` is "ba", "zpk" or "sos". Ripples may be traced for the families of Chebyshev. Sections are
    paired as by SciPy, and their derivatives keep the pairs.
    """
    band = _BANDS[choice_of("iirfilter", "btype", btype.lower(), tuple(_BANDS))]
    family = _FAMILIES[choice_of("iirfilter", "ftype", ftype.lower(), tuple(_FAMILIES))]
    form = choice_of("iirfilter", "output", output.lower(), ("ba", "zpk", "sos"))
    at = _frequencies(Wn, band, analog, fs)
    z, p, k = _in_band(_prototype(family, static_int(N, "iirfilter", "N"), rp, rs), band, at)
    if not analog:
        z, p, k = bilinear_zpk(z, p, k, 2.0)
    if form == "zpk":
        return z, p, k
    if form == "sos":
        return zpk2sos(z, p, k, analog=analog)
    return k * xp.real(xp.poly(z)), xp.real(xp.poly(p))


def butter(N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None) -> Any:
    """Return a filter of Butterworth; see `iirfilter`.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> from anyshape.scipy import signal
    >>> print(grad(lambda w: np.sum(signal.butter(1, w)[0]))(0.5).round(6))
    1.570796
    """
    return iirfilter(N, Wn, None, None, btype, analog, "butter", output, fs)


def cheby1(
    N: int, rp: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """Return a filter of Chebyshev of the first kind with `rp` decibels of ripple in the pass band; see `iirfilter`."""
    return iirfilter(N, Wn, rp, None, btype, analog, "cheby1", output, fs)


def cheby2(
    N: int, rs: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """Return a filter of Chebyshev of the second kind with `rs` decibels less in the stop band; see `iirfilter`."""
    return iirfilter(N, Wn, None, rs, btype, analog, "cheby2", output, fs)


def ellip(
    N: int, rp: Any, rs: Any, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", fs: Any = None
) -> Any:
    """Return an elliptic filter of concrete ripples `rp` and `rs`; see `iirfilter`."""
    return iirfilter(N, Wn, rp, rs, btype, analog, "ellip", output, fs)


def bessel(
    N: int, Wn: Any, btype: str = "low", analog: bool = False, output: str = "ba", norm: str = "phase", fs: Any = None
) -> Any:
    """Return a filter of Bessel and Thomson; see `iirfilter`."""
    return iirfilter(N, Wn, None, None, btype, analog, f"bessel_{norm}", output, fs)


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


# -- single frequencies ------------------------------------------------------------------------------------------


def _resonance(name: str, w0, Q, fs) -> tuple[Any, Any]:
    """Return the cosine of the frequency, and the gain of the band around it that ends 3 decibels lower."""
    at = 2.0 * xp.asarray(w0).astype(np.float64) / fs
    check((at > 0) & (at < 1), f"{name}: w0 must be between 0 and half the sampling rate")
    return xp.cos(np.pi * at), 1.0 / (1.0 + xp.tan(np.pi * at / Q / 2.0))


def _denominator(cosine, gain):
    return xp.stack([xp.ones_like(gain), -2.0 * gain * cosine, 2.0 * gain - 1.0])


def iirnotch(w0: Any, Q: Any, fs: Any = 2.0, *, xp: Any = None, device: Any = None) -> tuple[Any, Any]:
    """Return the filter of second order that removes the frequency w0, with the quality Q."""
    cosine, gain = _resonance("iirnotch", w0, Q, fs)
    return gain * _numerator(1.0 + 0.0 * gain, -2.0 * cosine + 0.0 * gain, 1.0 + 0.0 * gain), _denominator(cosine, gain)


def iirpeak(w0: Any, Q: Any, fs: Any = 2.0, *, xp: Any = None, device: Any = None) -> tuple[Any, Any]:
    """Return the filter of second order that keeps the frequency w0, with the quality Q."""
    cosine, gain = _resonance("iirpeak", w0, Q, fs)
    return _numerator(1.0 - gain, 0.0 * gain, gain - 1.0), _denominator(cosine, gain)


def _numerator(*coefficients):
    """Return coefficients along the first axis."""
    return xp.stack(coefficients)


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


def _blend(system, dt, alpha) -> tuple[Any, ...]:
    """Return the system by the generalised bilinear transform."""
    a, b, c, d = system
    one = xp.eye(a.shape[0])
    implicit = one - alpha * dt * a
    input_matrix = xp.linalg.solve(implicit, dt * b)
    state = xp.linalg.solve(implicit, one + (1.0 - alpha) * dt * a)
    return state, input_matrix, xp.linalg.solve(implicit.T, c.T).T, d + alpha * (c @ input_matrix)


def _held(system, dt) -> tuple[Any, ...]:
    """Return the system whose input stays between samples."""
    a, b, c, d = system
    states, inputs = b.shape
    above = xp.concatenate([a, b], axis=1) * dt
    whole = expm(xp.concatenate([above, xp.zeros((inputs, states + inputs))], axis=0))
    return whole[:states, :states], whole[:states, states:], c, d


def _interpolated(system, dt) -> tuple[Any, ...]:
    """Return the system whose input is linear between samples."""
    a, b, c, d = system
    states, inputs = b.shape
    rows = [
        xp.concatenate([a * dt, b * dt, xp.zeros((states, inputs))], axis=1),
        xp.concatenate([xp.zeros((inputs, states + inputs)), xp.eye(inputs)], axis=1),
        xp.zeros((inputs, states + 2 * inputs)),
    ]
    whole = expm(xp.concatenate(rows, axis=0))[:states]
    state, first, second = whole[:, :states], whole[:, states : states + inputs], whole[:, states + inputs :]
    return state, first - second + state @ second, c, d + c @ second


def _by_impulse(system, dt) -> tuple[Any, ...]:
    """Return the system with the same response to an impulse."""
    a, b, c, d = system
    check(xp.abs(d) <= 1e-8, "cont2discrete: method='impulse' needs a system without feedthrough")
    state = expm(a * dt)
    return state, state @ b * dt, c, c @ b * dt


_BLENDS = {
    "bilinear": 0.5, "tustin": 0.5, "euler": 0.0, "forward_diff": 0.0, "backward_diff": 1.0,
}  # fmt: skip
_DIGITAL = {"zoh": _held, "foh": _interpolated, "impulse": _by_impulse}


def cont2discrete(system: Any, dt: Any, method: str = "zoh", alpha: Any = None) -> Any:
    """Return the digital form of a system in continuous time, sampled every dt, and dt.

    A traced one is (a, b, c, d), the matrices of its states. `method` is "gbt", "bilinear", "euler", "backward_diff",
    "zoh", "foh" or "impulse".
    """
    parts = system if isinstance(system, (tuple, list)) else ()
    if not is_traced(*parts, dt, alpha):
        return scipy_signal.cont2discrete(system, dt, method, alpha)
    if len(parts) != 4:
        raise ArgumentError("cont2discrete", "system", f"has {len(parts)} parts", "pass (a, b, c, d)")
    choice_of("cont2discrete", "method", method, ("gbt", *_BLENDS, *_DIGITAL))
    matrices = tuple([xp.asarray(part) for part in parts])
    if method in _DIGITAL:
        return (*_DIGITAL[method](matrices, dt), dt)
    if method == "gbt" and alpha is None:
        raise ArgumentError("cont2discrete", "alpha", "is needed by method='gbt'", "give a number from 0 to 1")
    share = alpha if method == "gbt" else _BLENDS[method]
    if method == "gbt":
        check((xp.asarray(share) >= 0) & (xp.asarray(share) <= 1), "cont2discrete: alpha must be from 0 to 1")
    return (*_blend(matrices, dt, share), dt)


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


def _sections(name: str, sos):
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


def _weighed(row, values, count):
    """Return the sums of values from the first on, by the coefficients from each position but the first on."""
    order = expr.sub(count, 1)
    row = fitted(row, 1, expr.mul(2, order))
    values = fitted(values, 0, order)
    at = xp.arange(values.shape[0])
    return row[at[:, None] + at] @ values.astype(np.result_type(row.dtype, values.dtype))


# -- bands of prototypes: zeros, poles and gain


def _zeros_and_poles(name: str, z, p) -> tuple[Any, Any, Any]:
    """Return zeros, poles, and how many more of these there are."""
    zeros, poles = _row(name, z, "z"), _row(name, p, "p")
    why = "the filter has as many poles as zeros or more"
    context_of(name, zeros, poles).require(at_least(sizes(poles)[0], sizes(zeros)[0]), why)
    return zeros, poles, poles.shape[0] - zeros.shape[0]


def _with_zeros(zeros, value: complex, count):
    """Return zeros with so many more."""
    dtype = np.result_type(zeros.dtype, np.complex128 if has_type(value, complex) else np.float64)
    return xp.concatenate([zeros.astype(dtype), xp.full((count,), value, dtype)])


def _gain(zeros, poles):
    return xp.real(xp.prod(zeros) / xp.prod(poles))


def bilinear_zpk(z: Any, p: Any, k: Any, fs: Any) -> tuple[Any, Any, Any]:
    """Return the digital filter of an analog one by Tustin's transform at a sampling rate."""
    zeros, poles, degree = _zeros_and_poles("bilinear_zpk", z, p)
    rate = 2.0 * fs
    turned = _with_zeros((rate + zeros) / (rate - zeros), -1.0, degree)
    return turned, (rate + poles) / (rate - poles), k * _gain(rate - zeros, rate - poles)


def lp2lp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the low-pass filter of another frequency of a prototype of frequency 1."""
    zeros, poles, degree = _zeros_and_poles("lp2lp_zpk", z, p)
    return wo * zeros, wo * poles, k * (wo * 1.0) ** xp.asarray(degree)


def lp2hp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the high-pass filter of a low-pass prototype."""
    zeros, poles, degree = _zeros_and_poles("lp2hp_zpk", z, p)
    return _with_zeros(wo / zeros, 0.0, degree), wo / poles, k * _gain(-zeros, -poles)


def _both_sides(roots, wo):
    """Return roots around a frequency and its negative."""
    shift = xp.sqrt(roots.astype(np.complex128) ** 2 - wo**2)
    return xp.concatenate([roots + shift, roots - shift])


def lp2bp_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the band-pass filter of a low-pass prototype, of this middle and width."""
    zeros, poles, degree = _zeros_and_poles("lp2bp_zpk", z, p)
    turned = _with_zeros(_both_sides(zeros * bw / 2, wo), 0.0, degree)
    return turned, _both_sides(poles * bw / 2, wo), k * (bw * 1.0) ** xp.asarray(degree)


def lp2bs_zpk(z: Any, p: Any, k: Any, wo: Any = 1.0, bw: Any = 1.0) -> tuple[Any, Any, Any]:
    """Return the band-stop filter of a low-pass prototype, of this middle and width."""
    zeros, poles, degree = _zeros_and_poles("lp2bs_zpk", z, p)
    turned = _both_sides(bw / 2 / zeros, wo)
    stopped = xp.concatenate([turned, xp.ones((degree,)) * (1j * wo), xp.ones((degree,)) * (-1j * wo)])
    return stopped, _both_sides(bw / 2 / poles, wo), k * _gain(-zeros, -poles)
