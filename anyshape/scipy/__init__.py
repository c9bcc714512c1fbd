"""SciPy's functions for traced and concrete arrays, under the names of SciPy's modules.

`from anyshape.scipy import stats` stands for `from scipy import stats`. Each module has all public names of SciPy's
module, and loads at its first use. Concrete arrays go to SciPy itself. A function without a counterpart refuses traced
arrays by its name.
"""

import sys
from typing import Any

from anyshape.support import elsewhere
from anyshape.support.packages import load

__all__ = [
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial",
    "special", "stats",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a module, loaded."""
    if name not in __all__:
        raise elsewhere.missing(sys.modules[__name__], name)
    return load(f"anyshape.scipy.{name}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
