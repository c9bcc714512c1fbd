"""Functions of `scipy.special` for traced and concrete arrays, at any size.

`anyshape.numpy.special` has the primitives, which SciPy's own ufuncs call for traced arrays too. Here they stand beside
compositions of them. What has no counterpart is SciPy's own, and refuses traced arrays by name.
"""

from __future__ import annotations

from typing import Any

from anyshape.numpy import special as core
from anyshape.numpy.arrays.fallthrough import Module
from anyshape.scipy.special import counting, orders
from anyshape.support.packages import further, scipy_special

OF_JAX = frozenset(["bessel_jn"])  # names that SciPy does not have
OWN = {
    name: member
    for module in (orders, counting, orders, orders)
    for name, member in vars(module).items()
    if name[0] != "_" and getattr(member, "__module__", "") == module.__name__
    if hasattr(scipy_special, name) or name in OF_JAX
}
SHARED: dict[str, Any] = {ufunc.__name__: function for ufunc, function in core.UFUNCS.items()}  # by NumPy's names
_SCIPY = Module(scipy_special, "scipy.special")


def __getattr__(name: str) -> Any:
    """Return a function of `anyshape.numpy.special`, a further one, or what a name of SciPy stands for."""
    if name in core.__all__:
        return getattr(core, name)
    own = OWN.get(name) or SHARED.get(name) or further.SPECIAL.get(name)
    return own if own is not None else _SCIPY.named(name)


def __dir__() -> list[str]:
    """Return the public names of SciPy."""
    return sorted(_SCIPY.public_names())
