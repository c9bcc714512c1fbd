"""Counterparts of PyTorch's operators in the names of NumPy and SciPy, for `tests.external.opinfo`.

A row is a function of a sample's arguments, where `axis` and `keepdims` stand for `dim` and `keepdim`. `skip` leaves a
sample out, with the reason. A result that is not unique, as eigenvectors are, has a view in INVARIANTS.
"""

import anyshape
import anyshape.numpy as np
import anyshape.scipy.fft
import anyshape.scipy.integrate
import anyshape.scipy.signal
import anyshape.scipy.special as sp
from tests.external.opinfo_algebra import ACTIVATIONS, ALGEBRA, FOURIER, WINDOWS
from tests.external.opinfo_helpers import named, polynomial, renamed, skip
from tests.external.opinfo_shapes import INDEXING, SHAPES

# -- elementwise


def clipped(x, eps):
    """Limit to the range from `eps` to 1 - `eps`; PyTorch prefers the lower limit where these cross."""
    skip(eps is not None and eps > 0.5, "limits that cross")
    return x if eps is None else np.clip(x, eps, 1 - eps)


ELEMENTWISE = {
    **named(np, "abs acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh deg2rad exp exp2 expm1"),
    **named(np, "float_power floor floor_divide fmax fmin fmod heaviside hypot log log10 log1p log2 logaddexp"),
    **named(np, "logaddexp2 maximum minimum positive pow rad2deg reciprocal remainder sign sin sinh sqrt square"),
    **named(np, "tan tanh trunc isclose nextafter signbit isfinite isinf isnan isneginf isposinf isreal i0"),
    **renamed(np, "conj=conjugate conj_physical=conjugate neg=negative true_divide=divide eq=equal ne=not_equal"),
    **renamed(np, "ge=greater_equal gt=greater le=less_equal lt=less mul=multiply real=real angle=angle"),
    **renamed(np, "logical_and=logical_and logical_or=logical_or logical_xor=logical_xor logical_not=logical_not"),
    **renamed(np, "__radd__=add __rmul__=multiply imag=imag sgn=sign gcd=gcd lcm=lcm bitwise_and=bitwise_and"),
    **renamed(np, "bitwise_or=bitwise_or bitwise_xor=bitwise_xor bitwise_not=invert sinc=sinc"),
    **renamed(np, "bitwise_left_shift=left_shift"),
    **named(sp, "erf erfc erfinv digamma xlogy special.entr special.erfcx special.i0e special.i1 special.i1e"),
    **named(sp, "special.log_ndtr special.ndtr special.ndtri special.xlog1py special.zeta"),
    **renamed(sp, "lgamma=gammaln sigmoid=expit igamma=gammainc igammac=gammaincc special.bessel_j0=j0"),
    **renamed(sp, "special.bessel_j1=j1 special.bessel_y0=y0 special.bessel_y1=y1 special.modified_bessel_i0=i0"),
    **renamed(sp, "special.modified_bessel_i1=i1 special.modified_bessel_k0=k0 special.modified_bessel_k1=k1"),
    **renamed(sp, "special.scaled_modified_bessel_k0=k0e special.scaled_modified_bessel_k1=k1e"),
    "special.airy_ai": lambda x: sp.airy(x)[0],
    "special.spherical_bessel_j0": lambda x: sp.spherical_jn(0, x),
    "add": lambda x, y, alpha=1: x + alpha * y,
    "sub": lambda x, y, alpha=1: x - alpha * y,
    "rsub": lambda x, y, alpha=1: y - alpha * x,
    "__rsub__": lambda x, y: y - x,
    "__rdiv__": lambda x, y: y / x,
    "__rpow__": lambda x, y: y**x,
    "__rmod__": lambda x, y: np.mod(y, x),
    "div": lambda x, y, rounding_mode=None: {
        None: lambda q: q,
        "trunc": np.trunc,
        "floor": np.floor,
    }[rounding_mode](x / y),
    "frac": lambda x: x - np.trunc(x),
    "lerp": lambda x, y, weight: x + weight * (y - x),
    "logit": lambda x, eps=None: sp.logit(clipped(x, eps)),
    "round": lambda x, decimals=0: np.round(x, decimals),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "nan_to_num": np.nan_to_num,
    "clamp": lambda x, lo=None, hi=None: np.clip(x, lo, hi),
    "clamp_min": lambda x, lo: np.maximum(x, lo),
    "clamp_max": lambda x, hi: np.minimum(x, hi),
    "ldexp": lambda x, y: x * 2.0**y,
    "addcmul": lambda x, a, b, value=1: x + value * a * b,
    "addcdiv": lambda x, a, b, value=1: x + value * a / b,
    "where": lambda x, condition, y: np.where(condition, x, y),
    "masked_fill": lambda x, mask, value: np.where(mask, value, x),
    "polygamma": lambda x, n: sp.polygamma(n, x),
    "special.polygamma": lambda x, n: sp.polygamma(n, x),
    "mvlgamma": lambda x, p: sp.multigammaln(x, p),
    "complex": lambda x, y: x + 1j * y,
    "polar": lambda x, y: x * np.exp(1j * y),
    "dist": lambda x, y, p=2: np.linalg.norm(np.ravel(x - y), p),
    **{
        f"special.{theirs}": polynomial(getattr(sp, ours))
        for theirs, ours in {
            "chebyshev_polynomial_t": "eval_chebyt",
            "chebyshev_polynomial_u": "eval_chebyu",
            "hermite_polynomial_h": "eval_hermite",
            "hermite_polynomial_he": "eval_hermitenorm",
            "laguerre_polynomial_l": "eval_laguerre",
            "legendre_polynomial_p": "eval_legendre",
        }.items()
    },
}


# -- reductions


def reduction(function):
    """Return a row of a reduction: an axis of an array without axes means nothing there."""

    def row(x, axis=None, keepdims=False, dtype=None, **options):
        skip(not x.ndim and axis is not None, "an axis of an array without axes")
        axis = tuple(axis) or None if isinstance(axis, (list, tuple)) else axis
        return function(x, axis=axis, keepdims=keepdims, **options)

    return row


def deviation(function):
    """Return a row of `std` or `var`, which correct by 1."""

    def row(x, axis=None, unbiased=True, keepdims=False, correction=None, **options):
        if isinstance(axis, bool):
            axis, unbiased = None, axis
        ddof = int(unbiased) if correction is None else correction
        axis = tuple(axis) or None if isinstance(axis, (list, tuple)) else axis
        return function(x, axis=axis, ddof=ddof, keepdims=keepdims)

    return row


def quantile(function):
    """Return a row of `quantile`."""

    def row(x, q, axis=None, keepdims=False, interpolation="linear"):
        skip(not x.ndim and axis is not None, "an axis of an array without axes")
        return function(x, q, axis=axis, keepdims=keepdims, method=interpolation)

    return row


def shares(function):
    """Return a row of `softmax` or its logarithm, which SciPy refuses for no elements."""

    def row(x, axis, dtype=None):
        skip(not x.ndim or not int(x.shape[axis]), "no axis, or no element")
        return function(x, axis)

    return row


def cumulative(function):
    """Return a row of a running reduction."""

    def row(x, axis, dtype=None):
        skip(x.ndim == 0, "no axis")
        return function(x, axis)

    return row


STATISTICS = {
    **{
        name: reduction(getattr(np, name))
        for name in ("sum", "prod", "mean", "nansum", "nanmean", "amax", "amin", "all", "any", "count_nonzero")
    },
    **{name: deviation(getattr(np, name)) for name in ("std", "var")},
    "std_mean": lambda x, *args, **options: (
        deviation(np.std)(x, *args, **options),
        deviation(lambda x, axis, ddof, keepdims: np.mean(x, axis, keepdims=keepdims))(x, *args, **options),
    ),
    "aminmax": lambda x, axis=None, keepdims=False: (
        reduction(np.min)(x, axis, keepdims),
        reduction(np.max)(x, axis, keepdims),
    ),
    "argmax": reduction(np.argmax),
    "argmin": reduction(np.argmin),
    "quantile": quantile(np.quantile),
    "nanquantile": quantile(np.nanquantile),
    "logsumexp": reduction(sp.logsumexp),
    "cumsum": cumulative(np.cumsum),
    "cumprod": cumulative(np.cumprod),
    "cummax": cumulative(lambda x, axis: np.maximum.accumulate(x, axis)),
    "cummin": cumulative(lambda x, axis: np.minimum.accumulate(x, axis)),
    "logcumsumexp": cumulative(lambda x, axis: np.logaddexp.accumulate(x, axis)),
    "softmax": shares(sp.softmax),
    "log_softmax": shares(sp.log_softmax),
    "diff": lambda x, n=1, axis=-1, prepend=None, append=None: np.diff(
        x, n, axis, **{k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None}
    ),
    "cov": lambda x, correction=1, fweights=None, aweights=None: np.cov(
        x, ddof=correction, fweights=fweights, aweights=aweights
    ),
    "corrcoef": np.corrcoef,
    "trapezoid": lambda y, x=None, axis=-1, dx=1.0: np.trapezoid(y, x, dx, axis),
    "cumulative_trapezoid": lambda y, x=None, axis=-1, dx=1.0: anyshape.scipy.integrate.cumulative_trapezoid(
        y, x, dx, axis
    ),
    "gradient": lambda x, axis=None, spacing=None, edge_order=1: gradient(x, axis, spacing, edge_order),
    "histogram": lambda x, bins, range=None, weight=None, density=False: np.histogram(x, bins, range, density, weight),
    "nn.functional.normalize": lambda x, p=2.0, axis=1, eps=1e-12: normalize(x, p, axis, eps),
}


def normalize(x, p, axis, eps):
    """Divide vectors by their norms."""
    skip(x.ndim == 0, "no axis")
    return x / np.maximum(np.linalg.vector_norm(x, axis=axis, keepdims=True, ord=p), eps)


def gradient(x, axis, spacing, edge_order):
    """Return differences along axes."""
    spacings = () if spacing is None else spacing if isinstance(spacing, (list, tuple)) else (spacing,)
    return np.gradient(x, *spacings, axis=axis, edge_order=edge_order)


ROWS = {
    **ELEMENTWISE,
    **SHAPES,
    **INDEXING,
    **STATISTICS,
    **ALGEBRA,
    **FOURIER,
    **WINDOWS,
    **ACTIVATIONS,
}
# results that are unique only up to signs, phases or order: what is compared, of ours and of PyTorch's
INVARIANTS = {
    "linalg.eigh": lambda out, xp: (out[0], xp.abs(out[1])),
    "linalg.eig": lambda out, xp: (xp.sum(out[0]), xp.prod(out[0])),
    "linalg.eigvals": lambda out, xp: (xp.sum(out), xp.sum(out * out)),
    "linalg.svd": lambda out, xp: (out[1], xp.abs(out[0][..., : out[1].shape[-1]])),
    "linalg.qr": lambda out, xp: (xp.abs(out[0]), xp.abs(out[1])),
    "linalg.lstsq": lambda out, xp: out[0] if isinstance(out, tuple) else out,
    "linalg.lu_factor": lambda out, xp: out[0] if isinstance(out, tuple) else out,
    **dict.fromkeys(
        ("sort", "topk", "kthvalue", "cummax", "cummin"),
        lambda out, xp: out[0] if isinstance(out, tuple) else out,
    ),
    "linalg.lu": lambda out, xp: tuple(out),
}
