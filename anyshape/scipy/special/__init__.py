"""Functions of `scipy.special` for traced and concrete arrays, at any size.

`anyshape.numpy.special` has the primitives, which SciPy's own ufuncs call for traced arrays too. Here they stand beside
compositions of them. What has no counterpart is SciPy's own, and refuses traced arrays by name.
"""

from __future__ import annotations

from typing import Any

from anyshape.numpy import special as core
from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.special.counting import comb, factorial, multigammaln, perm
from anyshape.scipy.special.pairs import fresnel, lambertw, shichi, sici, sph_harm_y
from anyshape.support.packages import scipy_special

__all__ = ["comb", "factorial", "fresnel", "lambertw", "multigammaln", "perm", "shichi", "sici", "sph_harm_y"]

_SCIPY = Module(scipy_special, "scipy.special")


def __getattr__(name: str) -> Any:
    """Return a function of `anyshape.numpy.special`, or what a further name of SciPy stands for."""
    return getattr(core, name) if name in core.__all__ else _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
