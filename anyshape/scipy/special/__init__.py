"""Functions of `scipy.special` for traced and concrete arrays, at any size.

`anyshape.numpy.special` has the primitives, which SciPy's own ufuncs call for traced arrays too. Here they stand beside
compositions of them. What has no counterpart is SciPy's own, and refuses traced arrays by name.
"""

import functools
from typing import Any

from anyshape.scipy.operands.served import Module
from anyshape.support.packages import load, scipy_special

_SERVED = Module(
    scipy_special,
    "scipy.special",
    own={"orders": "bessel_jn comb factorial perm"},
    through={
        "orders": (
            "assoc_legendre_p assoc_legendre_p_all bernoulli diric euler factorial2 lambertw legendre_p legendre_p_all "
            "multigammaln softplus sph_harm_y sph_harm_y_all sph_legendre_p sph_legendre_p_all spherical_in "
            "spherical_jn spherical_kn spherical_yn"
        ),
    },
    lent="assoc_laguerre h1vp h2vp ivp jvp kvp yvp",
)
__dir__ = _SERVED.public_names


@functools.cache
def _shared() -> dict[str, Any]:
    """Return the functions that serve SciPy's ufuncs, by NumPy's names."""
    ufuncs: dict[Any, Any] = load("anyshape.numpy.special").UFUNCS
    return {ufunc.__name__: function for ufunc, function in ufuncs.items()}


def __getattr__(name: str) -> Any:
    """Return a function of `anyshape.numpy.special`, a further one, or what a name of SciPy stands for."""
    if name in _SERVED.own or name[:2] == "__":
        return _SERVED.named(name)
    core = load("anyshape.numpy.special")
    if name in core.__all__:
        return getattr(core, name)
    shared = _shared().get(name) or load("anyshape.numpy.special_ufuncs").FUNCTIONS.get(name)
    return _SERVED.named(name) if shared is None else shared
