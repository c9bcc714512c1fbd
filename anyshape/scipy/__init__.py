"""SciPy's functions for traced and concrete arrays, under the names of SciPy's modules.

`from anyshape.scipy import stats` stands for `from scipy import stats`. Each module has all public names of SciPy's
module. Concrete arrays go to SciPy itself. A function without a counterpart refuses traced arrays by its name.
"""

from anyshape.scipy import (
    cluster,
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
