"""NumPy's functions for traced and concrete arrays.

Concrete arguments go to NumPy itself. Where NumPy takes an int as a size, these functions take symbolic sizes as well.
`linalg` has the functions of `numpy.linalg`. `special` has the functions of `scipy.special`. All other public names of
NumPy are its own, and a function among them refuses traced arrays by name.
"""

from typing import Any

import numpy as np

from anyshape.numpy import serve as _serve
from anyshape.support.packages import load as _load

__all__ = [*_serve.LISTED, "linalg", "special"]


def __getattr__(name: str) -> Any:
    """Return what a name stands for; functions of ours load at their first use."""
    if name == "ndarray":
        return _load("anyshape.numpy.creation").ndarray_class()
    return globals().setdefault(name, _serve.named(name))


def __dir__() -> list[str]:
    """Return the public names, with all of NumPy."""
    return sorted({*__all__, *(name for name in dir(np) if not name.startswith("_"))})
