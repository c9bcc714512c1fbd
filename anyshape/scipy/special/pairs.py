"""Define functions of `scipy.special` with two results, with complex ones, or of integer degrees."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.numpy.operands.promotion import as_traced, is_traced, static_int
from anyshape.ops import special as sp
from anyshape.scipy.operands.conversion import real_floats
from anyshape.support.packages import scipy_special


def _real(x: Any) -> Any:
    """Return a real operand in the dtype of SciPy's loops."""
    array = as_traced(xp.asarray(x))
    return array.astype(np.float32) if array.dtype in (np.float16, np.float32) else real_floats(array)


def sici(x: Any) -> tuple[Any, Any]:
    """Return the sine and the cosine integral of real x."""
    return (sp.sinint(_real(x)), sp.cosint(_real(x))) if is_traced(x) else scipy_special.sici(x)


def shichi(x: Any) -> tuple[Any, Any]:
    """Return the hyperbolic sine and cosine integral of real x."""
    return (sp.sinhint(_real(x)), sp.coshint(_real(x))) if is_traced(x) else scipy_special.shichi(x)


def fresnel(z: Any) -> tuple[Any, Any]:
    """Return the integrals of sin(pi t**2 / 2) and of cos(pi t**2 / 2) from 0 to real z."""
    return (sp.fresnels(_real(z)), sp.fresnelc(_real(z))) if is_traced(z) else scipy_special.fresnel(z)


def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """Return the branch k of Lambert's W function, complex: the w with w exp(w) = z; k is an integer."""
    if not is_traced(z, k):
        return scipy_special.lambertw(z, k, tol)
    return sp.lambertw(as_traced(xp.asarray(z).astype(np.complex128)), static_int(k, "lambertw", "k"))


def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical harmonic of degree n and order m at polar angles theta and azimuthal angles phi.

    For traced angles n and m are integers, and derivatives come from transforms, not from `diff_n`.
    """
    if not is_traced(n, m, theta, phi):
        return scipy_special.sph_harm_y(n, m, theta, phi, diff_n=diff_n)
    if diff_n:
        raise ArgumentError("sph_harm_y", f"diff_n={diff_n}", "is not available for traced arrays", "use grad or jvp")
    degree, order = static_int(n, "sph_harm_y", "n"), static_int(m, "sph_harm_y", "m")
    if degree < 0:
        raise ArgumentError("sph_harm_y", f"n={degree}", "is negative", "pass a degree of at least 0")
    return sp.sph_harm_y(degree, order, as_traced(real_floats(theta)), as_traced(real_floats(phi)))
