"""Functions of NumPy and SciPy on arrays of any dtype, layout and special values with random options, against NumPy's.

Arrays have one or two axes of up to 17 elements, in C or Fortran order, transposed, reversed, strided, unaligned or
read-only. They hold NaN, infinities, denormals and -0.0, also in one part of a complex number.
"""

import warnings
from types import SimpleNamespace

import numpy
import scipy.integrate
import scipy.spatial.distance

import anyshape.numpy
from anyshape import jit
from anyshape.errors import AnyshapeError, DTypeError, UnsupportedFunctionError
from anyshape.scipy import integrate
from anyshape.scipy.spatial import distance
from tests.attack.kit import Wrong
from tests.laws.sweep import is_error, leaves, outcome

DTYPES = ("float64", "float32", "complex128", "int8", "uint8", "int64", "bool")
SPECIAL = (numpy.nan, numpy.inf, -numpy.inf, -0.0, 5e-324)
EAGER = SimpleNamespace(**vars(numpy), integrate=scipy.integrate, distance=scipy.spatial.distance)
OURS = SimpleNamespace(
    **{name: getattr(anyshape.numpy, name) for name in dir(anyshape.numpy)}, integrate=integrate, distance=distance
)
METHODS = (
    "linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased", "normal_unbiased",
    "inverted_cdf", "averaged_inverted_cdf", "interpolated_inverted_cdf", "closest_observation",
)  # fmt: skip
LEVELS = (0, 0.3, 1.0, True, [0, 1], [0.2, 0.9], numpy.float32(0.3), numpy.int8(1))


def _reductions(names, **options):
    """Return rows of reductions with an axis and keepdims, and further options by name of the one drawn."""
    return {
        name: lambda np, x, o, name=name: getattr(np, name)(
            x, axis=o.axis, keepdims=o.keep, **{key: getattr(o, drawn) for key, drawn in options.items()}
        )
        for name in names.split()
    }


def _along(names, **options):
    return {
        name: lambda np, x, o, name=name: getattr(np, name)(
            x, axis=o.one_axis, **{key: getattr(o, drawn) for key, drawn in options.items()}
        )
        for name in names.split()
    }


def _plain(names):
    return {name: lambda np, x, o, name=name: getattr(np, name)(x) for name in names.split()}


def _written(np, x, o):
    """Write to an array from a part of it that overlaps the target."""
    y = x.copy()
    np.add(y[:-1], y[1:], out=y[1:])
    y[::-1] = y
    y[: len(y) // 2] = y[len(y) - len(y) // 2 :]
    return y


def _set_by_mask(np, x, o):
    y = np.array(x, order="F")
    np.multiply(y, 2, out=y, where=o.mask, casting="unsafe")
    return y


def _quantiles(name):
    """Return a row of quantiles without what depends on values in NumPy: dtype and shape of NaN, overflows."""

    def function(np, x, o):
        if x.dtype.kind == "f" and type(o.level) not in (int, float):
            x = np.nan_to_num(x)  # a NaN would have the dtype of x
        if x.dtype.kind == "i":
            x = x // 2  # differences of int8 would overflow
        if name == "nanquantile" and x.size == 0:
            return x  # the result would have no axis of levels
        return getattr(np, name)(x, o.level, axis=o.axis, keepdims=o.keep, method=o.method)

    return function


CALLS = {
    **_reductions("sum prod max min", where="mask", initial="initial"),
    **_reductions("all any mean", where="mask"),
    **_reductions("std var", ddof="ddof", where="mask"),
    **_reductions("median ptp nanmax nanmin nansum nanprod nanmean"),
    **_reductions("nanstd nanvar", ddof="ddof"),
    **_along("argmax argmin", keepdims="keep"),
    **_along("sort cumsum cumprod nancumsum flip gradient unwrap"),
    **_along("argsort", kind="kind"),
    **_along("diff", n="ddof"),
    **_plain("isfinite signbit sign sqrt abs negative nan_to_num conj angle real ravel tril transpose square ediff1d"),
    "sum of a dtype": lambda np, x, o: np.sum(x, axis=o.axis, dtype=o.dtype),
    **{name: _quantiles(name) for name in ("quantile", "percentile", "nanquantile")},
    "searchsorted": lambda np, x, o: np.searchsorted(np.sort(np.ravel(x)), np.ravel(x), side=o.side),
    "take": lambda np, x, o: np.take(x, [0, -1, 5] if x.size else [], axis=o.one_axis, mode=o.mode),
    "round": lambda np, x, o: np.round(x, o.ddof - 1),
    "clip": lambda np, x, o: np.clip(x, 0, 3),
    "roll": lambda np, x, o: np.roll(x, 2 * o.ddof - 3, axis=o.axis),
    "repeat": lambda np, x, o: np.repeat(x, o.ddof, axis=o.axis),
    "average": lambda np, x, o: np.average(x, axis=o.axis, keepdims=o.keep),
    "trapezoid": lambda np, x, o: np.trapezoid(x, dx=0.5, axis=o.one_axis),
    "linspace": lambda np, x, o: np.linspace(x[0], x[-1], 5, endpoint=o.keep),
    "reshape": lambda np, x, o: x.reshape(-1, order=o.order),
    "flatten": lambda np, x, o: x.flatten(order=o.order),
    "astype": lambda np, x, o: np.where(np.isfinite(x), x, 1).astype(o.dtype),
    "halves": lambda np, x, o: (x / 2.0, 2.0 * x, x * -1, 1 / (1 + np.abs(x)), x**2),
    "overlapping": _written,
    "where of a ufunc": _set_by_mask,
    "choose": lambda np, x, o: np.choose(x.real > 0, [x, 1]),
    "where": lambda np, x, o: np.where(x.real > 0, x, 1),
    "interp": lambda np, x, o: np.interp(x, [-1.0, 0.0, 2.0], [3.0, -1.0, 5.0], left=0.5),
    "cumulative_trapezoid": lambda np, x, o: np.integrate.cumulative_trapezoid(x, axis=o.one_axis),
    "simpson": lambda np, x, o: np.integrate.simpson(np.float64(1) * x, axis=o.one_axis),
    "braycurtis": lambda np, x, o: np.distance.braycurtis(x.ravel(), x.ravel()[::-1]),
    "cityblock": lambda np, x, o: 1.0 * np.distance.cityblock(x.ravel(), x.ravel()[::-1]),
}  # fmt: skip
LOOSE = {"std", "var", "nanstd", "nanvar", "simpson", "unwrap"}  # what they cancel leaves the rounding of large numbers


def laid_out(rng, x):
    """Return an array in another layout, with the same elements."""
    layout = rng.integers(7)
    if layout == 1:
        return x[::-1].copy()[::-1]
    if layout == 2:
        return numpy.repeat(x, 2, axis=0)[::2]
    if layout == 3:
        memory = numpy.empty(x.nbytes + 1, numpy.uint8)[1:].view(x.dtype).reshape(x.shape)
        memory[...] = x
        return memory
    if layout == 4:
        x.flags.writeable = False
    if layout == 5:
        return numpy.asfortranarray(x)
    return x.T.copy()[..., ::-1][..., ::-1].T if layout == 6 else x


def drawn(rng, x):
    """Return options for an array: axes, flags, a mask and names of methods."""
    one = int(rng.integers(-x.ndim, x.ndim))
    return SimpleNamespace(
        one_axis=one, axis=(one, None, tuple(range(x.ndim)))[rng.integers(3)], keep=bool(rng.integers(2)),
        ddof=int(rng.integers(3)), mask=rng.integers(0, 4, x.shape) > 0, initial=int(rng.integers(3)),
        kind="stable", level=LEVELS[rng.integers(len(LEVELS))],
        method=METHODS[rng.integers(len(METHODS))], side=("left", "right")[rng.integers(2)],
        mode=("clip", "wrap", "raise")[rng.integers(3)], order=("C", "F", "A")[rng.integers(3)],
        dtype=("float32", "float64", "int64", "complex64")[rng.integers(4)],
    )  # fmt: skip


def elements(rng):
    """Return an array of one or two axes of some dtype."""
    dtype = numpy.dtype(DTYPES[rng.integers(len(DTYPES))])
    shape = (rng.integers(18),) if rng.integers(2) else tuple(rng.integers(0, 6, 2))
    parts = rng.normal(size=(*shape, 2)) * 60
    if dtype.kind in "fc":
        parts[rng.random(parts.shape) < rng.choice([0, 0.1])] = SPECIAL[rng.integers(len(SPECIAL))]
    x = parts.view(complex)[..., 0] if dtype.kind == "c" else parts[..., 0]
    return laid_out(rng, x.astype(dtype))


def differs(name, actual, expected):
    """Return whether results differ by more than rounding. Both parts of a complex number are compared."""
    actual, expected = numpy.asarray(actual), numpy.asarray(expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return True
    small = expected.dtype.char in "fF" or actual.dtype.char == "e"
    tolerance = 1e-3 if small else 1e-5 if name in LOOSE else 1e-9
    parts = [(x.real, x.imag) if x.dtype.kind == "c" else (x,) for x in (actual, expected)]
    return not all(numpy.allclose(a, b, tolerance, tolerance, equal_nan=b.dtype.kind == "f") for a, b in zip(*parts))


def options(rng):
    """Compare one call with random options on one array with NumPy."""
    name, x = list(CALLS)[rng.integers(len(CALLS))], elements(rng)
    chosen, function = drawn(rng, x), CALLS[name]
    about = f"{name} of {x!r} (strides {x.strides}) with {vars(chosen)}"
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = outcome(lambda x: function(EAGER, x, chosen), x)
        actual = outcome(jit(lambda x: function(OURS, x, chosen)), x)
    if isinstance(actual, (UnsupportedFunctionError, DTypeError)):
        return "refusals"
    if is_error(expected) or is_error(actual):
        if is_error(expected) is is_error(actual) and isinstance(actual, AnyshapeError | type(expected)):
            return "errors of both"
        raise Wrong(f"{about} is {expected!r}, not {actual!r}")
    for ours, right in zip(leaves(actual), leaves(expected), strict=True):
        if differs(name, ours, right):
            raise Wrong(f"{about} is {right!r}, not {ours!r}")
    return "calls"
