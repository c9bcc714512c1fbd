"""Windows of `scipy.signal.windows` whose number of samples may be symbolic, and whose shape parameters may be traced.

Windows without a formula in the position (`chebwin`, `dpss`, `kaiser_bessel_derived`) take concrete arguments alone.
"""

from collections.abc import Callable, Mapping
from math import pi
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import choice_of, is_traced
from anyshape.numpy.serve import Module, through
from anyshape.scipy.operands.conversion import require_elements
from anyshape.scipy.operands.source import lent, source_of_scipy
from anyshape.support.packages import scipy_windows

Formula = Callable[..., Any]

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


# -- formulas where SciPy's code asks how many samples there are. They take positions 0, 1, ..., and the number m of
# samples of the symmetric window; both are floats


def _width(m):
    """Return the distance of the last sample from the first, 1 for one sample, whose window is 1 by itself."""
    return xp.maximum(m - 1, 1.0)


def _triang(k, m):
    nearest = xp.minimum(k, m - 1 - k) + 1
    even = m % 2 == 0
    return xp.where(even, (2 * nearest - 1) / m, 2 * nearest / (m + 1))


def _bohman(k, m):
    part = xp.abs(2 * k / _width(m) - 1)
    inner = (1 - part) * xp.cos(pi * part) + xp.sin(pi * part) / pi
    return xp.where((k == 0) | (k == m - 1), 0.0, inner)


def _tukey(k, m, alpha=0.5):
    if is_traced(alpha):
        raise ArgumentError("tukey", "alpha", "is traced", "pass a number")
    if alpha <= 0:
        return xp.ones_like(k)
    if alpha >= 1:
        return 0.5 - 0.5 * xp.cos(2 * pi * k / _width(m))
    width, last = xp.floor(alpha * (m - 1) / 2), _width(m)
    low = 0.5 * (1 + xp.cos(pi * (-1 + 2 * k / alpha / last)))
    high = 0.5 * (1 + xp.cos(pi * (-2 / alpha + 1 + 2 * k / alpha / last)))
    return xp.where(k <= width, low, xp.where(k >= m - width - 1, high, 1.0))


FORMULAS: Mapping[str, Formula] = {
    "triang": _triang,
    "bohman": _bohman,
    "tukey": _tukey,
    "cosine": lambda k, m: xp.sin(pi / m * (k + 0.5)),
    "lanczos": lambda k, m: xp.sinc(2.0 * k / _width(m) - 1.0),
}
LENT = (
    "barthann bartlett blackman blackmanharris boxcar exponential flattop gaussian general_cosine general_gaussian "
    "general_hamming hamming hann kaiser nuttall parzen taylor"
)


def _samples(name: str, count, parameters: tuple[Any, ...], options: dict[str, Any], symmetric: bool):
    """Return the samples of a window; a periodic one is a symmetric one without its last sample."""
    k = xp.arange(count).astype(np.float64) if is_traced(count) else np.arange(float(count))
    size = xp.asarray(count).astype(np.float64)
    m = xp.maximum(size if symmetric else size + 1.0, 1.0)
    return xp.where(size <= 1, 1.0, FORMULAS[name](k, m, *parameters, **options))


def _function(name: str) -> Callable[..., Any]:
    """Return the function of a window, as SciPy has it: the number of samples, parameters, and `sym`."""

    def window(M, *parameters, sym: bool = True, **options):
        for argument in ("xp", "device"):
            options.pop(argument, None)
        return _samples(name, M, parameters, options, sym)

    theirs = getattr(scipy_windows, name)
    return through(window if name in FORMULAS else lent(theirs, _SOURCE), theirs, theirs)


def _shortened(window, is_longer: bool):
    """Return a window without a last sample that makes it periodic; one sample is 1."""
    window = window[:-1] if is_longer else window
    return xp.where(window.shape[0] <= 1, 1.0, window)


_HELPERS = {"_len_guards": lambda M: False, "_namespace": lambda _: xp, "_truncate": _shortened}
_SOURCE = source_of_scipy(("special",), helpers=_HELPERS)
_FUNCTIONS = {name: _function(name) for name in (*FORMULAS, *LENT.split())}


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
    known = choice_of("get_window", "window", _ALIASES.get(name, name), tuple(_FUNCTIONS))
    row = _FUNCTIONS[known](Nx, *parameters, sym=symmetric)
    require_elements("get_window", row)
    return row


def has_formula(window: str | tuple[Any, ...]) -> bool:
    """Return whether the number of samples of a window may be symbolic."""
    name = window if isinstance(window, str) else window[0]
    return _ALIASES.get(name, name) in _FUNCTIONS


_SCIPY = Module(scipy_windows, "scipy.signal.windows")


def __getattr__(name: str) -> Any:
    """Return a window, or what a further name of SciPy stands for."""
    return _FUNCTIONS[name] if name in _FUNCTIONS else _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
