"""Windows of `scipy.signal.windows` whose number of samples may be symbolic, and whose shape parameters may be traced.

Windows without a formula in the position (`chebwin`, `dpss`, `kaiser_bessel_derived`) take concrete arguments alone.
"""

from collections.abc import Callable, Mapping
from math import acosh, pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.numpy.serve import Module
from anyshape.scipy.operands.conversion import real_floats, require_elements
from anyshape.support.packages import scipy_windows

Formula = Callable[..., Any]

_COSINES = {
    "blackman": (0.42, 0.50, 0.08),
    "nuttall": (0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": (0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "hamming": (0.54, 0.46),
    "hann": (0.5, 0.5),
}
_ALIASES = {
    "brthan": "barthann", "bth": "barthann", "bart": "bartlett", "brt": "bartlett", "black": "blackman",
    "blk": "blackman", "blackharr": "blackmanharris", "bkh": "blackmanharris", "bman": "bohman", "bmn": "bohman",
    "box": "boxcar", "ones": "boxcar", "rect": "boxcar", "rectangular": "boxcar", "halfcosine": "cosine",
    "poisson": "exponential", "flat": "flattop", "flt": "flattop", "gauss": "gaussian", "gss": "gaussian",
    "general cosine": "general_cosine", "general gaussian": "general_gaussian", "general gauss": "general_gaussian",
    "general_gauss": "general_gaussian", "ggs": "general_gaussian", "general hamming": "general_hamming",
    "hamm": "hamming", "ham": "hamming", "han": "hann", "ksr": "kaiser", "sinc": "lanczos", "nutl": "nuttall",
    "nut": "nuttall", "parz": "parzen", "par": "parzen", "taylorwin": "taylor", "triangle": "triang",
    "tri": "triang", "tuk": "tukey",
}  # fmt: skip


# -- formulas: of positions 0, 1, ..., and of the number m of samples of the symmetric window; both are floats


def _width(m):
    """Return the distance of the last sample from the first, 1 for one sample, whose window is 1 by itself."""
    return xp.maximum(m - 1, 1.0)


def _general_cosine(k, m, a):
    angle = 2 * pi * k / _width(m) - pi
    return sum(a[i] * xp.cos(i * angle) for i in range(len(a)))


def _triang(k, m):
    nearest = xp.minimum(k, m - 1 - k) + 1
    even = m % 2 == 0
    return xp.where(even, (2 * nearest - 1) / m, 2 * nearest / (m + 1))


def _parzen(k, m):
    n = xp.abs(k - (m - 1) / 2)
    part = n / (m / 2)
    return xp.where(n <= (m - 1) / 4, 1 - 6 * part**2 + 6 * part**3, 2 * (1 - part) ** 3)


def _bohman(k, m):
    part = xp.abs(2 * k / _width(m) - 1)
    inner = (1 - part) * xp.cos(pi * part) + xp.sin(pi * part) / pi
    return xp.where((k == 0) | (k == m - 1), 0.0, inner)


def _bartlett(k, m):
    rising = 2 * k / _width(m)
    return xp.where(k <= (m - 1) / 2, rising, 2 - rising)


def _tukey(k, m, alpha=0.5):
    if is_traced(alpha):
        raise ArgumentError("tukey", "alpha", "is traced", "pass a number")
    if alpha <= 0:
        return xp.ones_like(k)
    if alpha >= 1:
        return _general_cosine(k, m, _COSINES["hann"])
    width, last = xp.floor(alpha * (m - 1) / 2), _width(m)
    low = 0.5 * (1 + xp.cos(pi * (-1 + 2 * k / alpha / last)))
    high = 0.5 * (1 + xp.cos(pi * (-2 / alpha + 1 + 2 * k / alpha / last)))
    return xp.where(k <= width, low, xp.where(k >= m - width - 1, high, 1.0))


def _barthann(k, m):
    part = xp.abs(k / _width(m) - 0.5)
    return 0.62 - 0.48 * part + 0.38 * xp.cos(2 * pi * part)


def _kaiser(k, m, beta):
    half = _width(m) / 2
    inside = xp.maximum(1 - ((k - half) / half) ** 2, 0.0)
    positive = inside > 0  # the root has no slope at the ends, and the Bessel function is even
    bent = xp.where(positive, xp.i0(beta * xp.sqrt(xp.where(positive, inside, 1.0))), 1.0)
    return bent / xp.i0(real_floats(beta))


def _general_gaussian(k, m, p, sig):
    away = xp.abs((k - (m - 1) / 2) / sig)
    return xp.exp(-0.5 * xp.where(away == 0, 0.0, xp.where(away == 0, 1.0, away) ** (2 * p)))


def _exponential(k, m, center=None, tau=1.0):
    return xp.exp(-xp.abs(k - ((m - 1) / 2 if center is None else center)) / tau)


def _taylor_terms(nbar: int, sll: float) -> np.ndarray:
    """Return the coefficients of the cosines of a window of Taylor, whose first nbar - 1 side lobes are nearly level.

    Source: W. Carrara, R. Majewski and R. Goodman, "Spotlight Synthetic Aperture Radar", 1995, appendix D.
    """
    a = acosh(10 ** (sll / 20)) / pi
    stretch = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    order = np.arange(1, nbar)
    terms = np.empty(nbar - 1)
    for i, m in enumerate(order):
        top = np.prod(1 - m**2 / stretch / (a**2 + (order - 0.5) ** 2))
        terms[i] = -((-1) ** m) * top / (2 * np.prod([1 - (m / j) ** 2 for j in order if j != m]))
    return terms


def _taylor(k, m, nbar=4, sll=30, norm: bool = True):
    terms = _taylor_terms(nbar, sll)
    at = lambda n: 1 + 2 * sum(c * xp.cos(2 * pi * (i + 1) * (n - m / 2 + 0.5) / m) for i, c in enumerate(terms))
    return at(k) / at((m - 1) / 2) if norm else at(k)


def _of_cosines(name: str) -> Formula:
    return lambda k, m: _general_cosine(k, m, _COSINES[name])


FORMULAS: Mapping[str, Formula] = {
    **{name: _of_cosines(name) for name in _COSINES},
    "boxcar": lambda k, m: xp.ones_like(k),
    "triang": _triang,
    "parzen": _parzen,
    "bohman": _bohman,
    "bartlett": _bartlett,
    "tukey": _tukey,
    "barthann": _barthann,
    "general_cosine": _general_cosine,
    "general_hamming": lambda k, m, alpha: _general_cosine(k, m, (alpha, 1.0 - alpha)),
    "kaiser": _kaiser,
    "gaussian": lambda k, m, std: _general_gaussian(k, m, 1.0, std),
    "general_gaussian": _general_gaussian,
    "exponential": _exponential,
    "cosine": lambda k, m: xp.sin(pi / m * (k + 0.5)),
    "lanczos": lambda k, m: xp.sinc(2.0 * k / _width(m) - 1.0),
    "taylor": _taylor,
}


def _samples(name: str, count, parameters: tuple[Any, ...], options: dict[str, Any], symmetric: bool):
    """Return the samples of a window; a periodic one is a symmetric one without its last sample."""
    k = xp.arange(count).astype(np.float64) if is_traced(count) else np.arange(float(count))
    size = xp.asarray(count).astype(np.float64)
    m = xp.maximum(size if symmetric else size + 1.0, 1.0)
    return xp.where(size <= 1, 1.0, FORMULAS[name](k, m, *parameters, **options))


def _function(name: str) -> Callable[..., Any]:
    """Return the function of a window, as SciPy has it: the number of samples, parameters, and `sym`."""

    def window(M, *parameters, sym: bool = True, **options):
        if not is_traced(M, *parameters, *options.values()):
            return getattr(scipy_windows, name)(M, *parameters, sym=sym, **options)
        for argument in ("xp", "device"):
            options.pop(argument, None)
        return _samples(name, M, parameters, options, sym)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"Return M samples of the window `{name}`, which is periodic unless `sym`; M may be symbolic."
    return window


_FUNCTIONS = {name: _function(name) for name in FORMULAS}


def get_window(window: Any, Nx: Any, fftbins: bool = True, **options: Any) -> Any:
    """Return Nx samples of a window by its name, a tuple of a name and parameters, or the shape of a Kaiser window.

    It is periodic if `fftbins`, and symmetric otherwise. Nx and the parameters may be traced.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> from anyshape.scipy import signal
    >>> print(jit(lambda x: x * signal.get_window("hann", x.shape[0]))(np.ones(4)))
    [0.  0.5 1.  0.5]
    """
    if not is_traced(Nx, window):
        return scipy_windows.get_window(window, Nx, fftbins, **options)
    name, *parameters = (
        window if isinstance(window, tuple) else (window,) if isinstance(window, str) else ("kaiser", window)
    )
    name, _, ending = name.rpartition("_") if name.endswith(("_periodic", "_symmetric")) else (name, "", "")
    symmetric = not fftbins if not ending else ending == "symmetric"
    known = choice_of("get_window", "window", _ALIASES.get(name, name), tuple(FORMULAS))
    row = _samples(known, Nx, tuple(parameters), {}, symmetric)
    require_elements("get_window", row)
    return row


def has_formula(window: str | tuple[Any, ...]) -> bool:
    """Return whether the number of samples of a window may be symbolic."""
    name = window if isinstance(window, str) else window[0]
    return _ALIASES.get(name, name) in FORMULAS


_SCIPY = Module(scipy_windows, "scipy.signal.windows")


def __getattr__(name: str) -> Any:
    """Return a window, or what a further name of SciPy stands for."""
    return _FUNCTIONS[name] if name in _FUNCTIONS else _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
