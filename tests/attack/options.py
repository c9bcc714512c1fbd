"""Functions of NumPy and SciPy on arrays of any dtype, layout and special values, jitted against the originals."""

import warnings

import numpy as np
import scipy.integrate
import scipy.spatial.distance

from anyshape import jit
from anyshape.scipy import integrate
from anyshape.scipy.spatial import distance
from tests.attack.kit import Wrong

DTYPES = ("float64", "float32", "int8", "uint8", "int64", "bool")
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 5e-324)
CALLS = {
    "quantile": (lambda x: np.quantile(x, 0), lambda x: np.quantile(x, 0)),
    "choose": (lambda x: np.choose(x > 0, [x, 1]), lambda x: np.choose(x > 0, [x, 1])),
    "sort": (np.sort, np.sort),
    "cumsum": (np.cumsum, np.cumsum),
    "max": (np.max, np.max),
    "where": (lambda x: np.where(x > 0, x, 1), lambda x: np.where(x > 0, x, 1)),
    "trapezoid": (integrate.cumulative_trapezoid, scipy.integrate.cumulative_trapezoid),
    "braycurtis": (lambda x: distance.braycurtis(x, x[::-1]), lambda x: scipy.spatial.distance.braycurtis(x, x[::-1])),
    "cityblock": (lambda x: distance.cityblock(x, x[::-1]), lambda x: scipy.spatial.distance.cityblock(x, x[::-1])),
}


def laid_out(rng, x):
    """Return a vector in another layout: reversed, strided, unaligned or read-only."""
    layout = rng.integers(5)
    if layout == 1:
        return x[::-1]
    if layout == 2:
        return np.repeat(x, 2)[::2]
    if layout == 3:
        memory = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype)
        memory[...] = x
        return memory
    if layout == 4:
        x.flags.writeable = False
    return x


def options(rng):
    """Compare one call on one vector of up to 17 elements."""
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    x = rng.normal(size=rng.integers(18)) * 60
    if dtype.kind == "f":
        x[rng.random(x.size) < 0.2] = SPECIAL[rng.integers(len(SPECIAL))]
    name = list(CALLS)[rng.integers(len(CALLS))]
    actual_function, function = CALLS[name]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x = laid_out(rng, x.astype(dtype))
        try:
            expected = function(x)
        except (TypeError, ValueError, IndexError):
            return "refusals of the original"
        actual = jit(lambda x: actual_function(x))(x)
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    if not np.allclose(actual, expected, tolerance, tolerance, equal_nan=True):
        raise Wrong(f"{name} of {x!r} (strides {x.strides}) is {expected!r}, not {actual!r}")
    return "calls"
