"""Kernels of further special functions: SciPy's ufuncs by name, and Carlson's integrals by quadrature.

Traits of further special functions: elementwise and expensive.
"""

import functools
import inspect
import math
from typing import Any

import numpy as np
import scipy.special as sc

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import ElementTime, declare
from anyshape.backend.numpy.elementwise import ELEMENTWISE
from anyshape.ops import special_ufuncs as su
from anyshape.ops.core.apply import kernel

_SPHERICAL = ("spherical_in", "spherical_jn", "spherical_kn", "spherical_yn")  # functions that call ufuncs


@functools.cache
def _integer_operands(function: str) -> tuple[int, ...]:
    """Return the operands for which a loop of a ufunc takes integers: degrees of polynomials, and counts."""
    ufunc = inspect.unwrap(getattr(sc, function))  # with `SCIPY_ARRAY_API=1` a function stands around it
    loops = [loop.partition("->")[0] for loop in ufunc.types]
    return tuple(j for j in range(ufunc.nin) if any(loop[j] == "l" for loop in loops))


def _with_integers(function: str, xs: tuple[Any, ...]) -> list[Any]:
    """Return operands in the dtypes of a loop: whole degrees as integers, which have recurrences of their own."""
    operands = list(xs)
    for j in _integer_operands(function):
        x = operands[j]
        if np.all((np.rint(x) == x) & (np.abs(x) < 2**31)):
            operands[j] = x.astype(np.int64)
    if function in su.COMPLEX and len(operands) > 1:
        operands[0] = operands[0].real
    return operands


def _run(*xs, function: str):
    """Call the function of SciPy."""
    if function in _SPHERICAL:
        values = getattr(sc, function)(xs[0].astype(np.int64), xs[1])
    else:
        values = getattr(sc, function)(*_with_integers(function, xs))
    if su.FUNCTIONS[function][1] == 1:
        return np.asarray(values).astype(xs[0].dtype, copy=False)
    return values


def _plain_ufunc(params: dict[str, Any], metas: Any) -> Any:
    """Return the ufunc itself, where nothing is done to operands and results."""
    function = params["function"]
    is_plain = function not in _SPHERICAL and su.FUNCTIONS[function][1] == 1 and len(metas) == 1
    return getattr(sc, function) if is_plain and not _integer_operands(function) else None


kernel(su.special_ufunc_op, _run, specialise=_plain_ufunc)

POINTS, BLOCK, TAIL, STEP = 512, 64, 80.0, 0.4


def _carlson(*xs, orders: tuple[int, int, int, int]):
    """Integrate over u = log t by the trapezoidal rule, whose error falls exponentially with its points.

    The integrand falls at least as exp(-|u| / 2) beyond the logarithms of the operands. A zero with a raised exponent
    makes the integral infinite.
    """
    arrays = np.broadcast_arrays(*xs)
    flat = [x.astype(np.float64).ravel() for x in arrays]
    result = np.empty(flat[0].size, arrays[0].dtype)
    with np.errstate(all="ignore"):
        for start in range(0, result.size, BLOCK):
            block = slice(start, start + BLOCK)
            result[block] = carlson(np, orders, [x[block] for x in flat])
    return result.reshape(arrays[0].shape)


def carlson(xp: Any, orders: tuple[int, int, int, int], xs: list[Any]) -> Any:
    """Return the integral for vectors of a namespace."""
    used = xs if orders[3] else xs[:3]
    exponents = [-0.5 - k for k in orders[:3]] + [-orders[3]]
    stacked = xp.stack(used)
    inside = xp.all((stacked >= 0) & xp.isfinite(stacked), axis=0)
    low = xp.log(xp.min(xp.where(stacked > 0, stacked, math.inf), axis=0))
    span = xp.log(xp.max(xp.where(stacked > 0, stacked, 0), axis=0)) - low + 2 * TAIL
    points = max(POINTS, int(xp.max(xp.where(xp.isfinite(span), span, 0), axis=0) / STEP))
    step = span / (points - 1)
    u = (low - TAIL)[:, None] + step[:, None] * xp.array(np.arange(float(points)))
    t, logarithm = xp.exp(u), u
    for x, exponent in zip(used, exponents, strict=False):
        logarithm = logarithm + exponent * xp.log(t + x[:, None])
    value = step * xp.sum(xp.exp(logarithm), axis=-1)
    total = xp.zeros_like(low)
    for x, k in zip(used, orders, strict=False):  # two zeros, or one whose exponent is raised, make it infinite
        total = xp.where(x == 0, total + (2 if k else 1), total)
    return xp.where(inside, xp.where(total > 1, math.inf, value), math.nan)


kernel(su.carlson_integral_op, _carlson)


declare(ELEMENTWISE._replace(time=ElementTime(40.0, 40.0)), su.special_ufunc_op)
# of 64 elements at once: about 8 arrays of 512 points for each
declare(
    ELEMENTWISE._replace(time=ElementTime(20000.0, 20000.0), scratch=op_traits.by_blocks(8 * 512 * 64 * 8)),
    su.carlson_integral_op,
)
