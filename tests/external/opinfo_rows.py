"""Counterparts of PyTorch's operators in the names of NumPy and SciPy, for `tests.external.opinfo`.

A row is a function of a sample's arguments, where `axis` and `keepdims` stand for `dim` and `keepdim`. `skip` leaves a
sample out, with the reason. A result that is not unique, as eigenvectors are, has a view in INVARIANTS.
"""

import math

import numpy

import anyshape
import anyshape.numpy as np
import anyshape.scipy.fft
import anyshape.scipy.integrate
import anyshape.scipy.linalg as sla
import anyshape.scipy.signal
import anyshape.scipy.spatial.distance as distance
import anyshape.scipy.special as sp


class SkippedError(Exception):
    """Raised for a sample without counterpart."""


def skip(condition, reason):
    """Leave a sample out if the condition holds."""
    if condition:
        raise SkippedError(reason)


def named(namespace, names):
    """Return rows of operators that have the name and the arguments of a function here."""
    return {name: getattr(namespace, name.rpartition(".")[2]) for name in names.split()}


def renamed(namespace, pairs):
    """Return rows of operators that have the arguments of a function with another name."""
    return {theirs: getattr(namespace, ours) for theirs, ours in (pair.split("=") for pair in pairs.split())}


def swapped(function):
    """Return a row of a function whose order comes first here."""
    return lambda x, n: function(n, x)


def of_list(function):
    """Return a row of a function of a list alone."""
    return lambda xs: function(xs)


# -- elementwise

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
    "logit": lambda x, eps=None: sp.logit(x if eps is None else np.clip(x, eps, 1 - eps)),
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
        f"special.{theirs}": swapped(getattr(sp, ours))
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


# -- shapes


def split(x, size, axis=0):
    """Split into parts of a size, or of sizes."""
    sizes = [size] * math.ceil(x.shape[axis] / size) if isinstance(size, int) else list(size)
    return np.split(x, list(numpy.cumsum(sizes))[:-1], axis)


def flatten(x, start_dim=0, end_dim=-1):
    """Merge the axes from one to another."""
    start, end = start_dim % max(x.ndim, 1), end_dim % max(x.ndim, 1)
    return np.reshape(x, (*x.shape[:start], -1, *x.shape[end + 1 :]))


def repeat_interleave(x, repeats, axis=None, output_size=None):
    """Repeat the elements."""
    return np.repeat(x, repeats, axis)


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """Put the last axis on the diagonals of matrices."""
    size = x.shape[-1] + abs(offset)
    rows = numpy.arange(x.shape[-1]) + max(-offset, 0)
    matrix = np.zeros((*x.shape[:-1], size, size), x.dtype).at[..., rows, rows + offset].set(x)
    return np.moveaxis(matrix, (-2, -1), (dim1, dim2))


def roll(x, shifts, axis=None):
    """Roll along axes."""
    return np.roll(x, shifts, axis)


def rot90(x, k=1, dims=(0, 1)):
    """Rotate in a plane."""
    return np.rot90(x, k, tuple(dims))


def expand(x, *shape):
    """Broadcast to a shape, where -1 keeps a size."""
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    own = (None,) * (len(shape) - x.ndim) + tuple(x.shape)
    return np.broadcast_to(x, tuple(o if n == -1 else n for n, o in zip(shape, own, strict=True)))


def as_strided(x, size, stride, storage_offset=0):
    """View the elements with strides."""
    flat = np.ravel(x)[storage_offset:]
    return np.lib.stride_tricks.as_strided(flat, size, [s * flat.dtype.itemsize for s in stride])


def squeeze(x, axis=None):
    """Drop axes of size 1."""
    axes = (axis,) if isinstance(axis, int) else axis or ()
    skip(not x.ndim or any(int(x.shape[k]) != 1 for k in axes), "an axis of another size stays")
    return np.squeeze(x, axis)


SHAPES = {
    **named(np, "atleast_1d atleast_2d atleast_3d broadcast_to fliplr flipud ravel tril triu trace"),
    **named(np, "hsplit vsplit dsplit kron"),
    "diagflat": lambda x, offset=0: np.diagflat(x, offset),
    "argwhere": np.argwhere,
    **{name: of_list(getattr(np, name)) for name in ("hstack", "vstack", "dstack", "column_stack")},
    "meshgrid": lambda *xs, indexing: np.meshgrid(*(xs[0] if isinstance(xs[0], list) else xs), indexing=indexing),
    "T": lambda x: np.transpose(x),
    "t": lambda x: np.transpose(x),
    "mT": np.matrix_transpose,
    "permute": lambda x, *axes: np.transpose(x, axes[0] if isinstance(axes[0], (tuple, list)) else axes),
    "reshape": np.reshape,
    "view": np.reshape,
    "flatten": flatten,
    "flip": lambda x, dims: np.flip(x, dims),
    "roll": roll,
    "rot90": rot90,
    "movedim": np.moveaxis,
    "transpose": lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else skip(True, "no axis"),
    "squeeze": squeeze,
    "unsqueeze": np.expand_dims,
    "expand": expand,
    "broadcast_tensors": lambda *xs: np.broadcast_arrays(*xs),
    "cat": lambda xs, axis=0: np.concatenate(xs, axis),
    "stack": lambda xs, axis=0: np.stack(xs, axis),
    "tile": np.tile,
    "repeat": lambda x, *reps: np.tile(x, reps[0] if reps and isinstance(reps[0], (tuple, list)) else reps),
    "repeat_interleave": repeat_interleave,
    "split": split,
    "tensor_split": lambda x, parts, axis=0: np.array_split(
        x, [int(p) for p in parts] if numpy.ndim(parts) else int(parts), axis
    ),
    "unbind": lambda x, axis=0: np.unstack(x, axis=axis),
    "diag": np.diag,
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: np.diagonal(x, offset, dim1, dim2),
    "linalg.diagonal": lambda x, offset=0, dim1=-2, dim2=-1: np.diagonal(x, offset, dim1, dim2),
    "diag_embed": diag_embed,
    "as_strided": as_strided,
    "block_diag": lambda *xs: sla.block_diag(*xs),
    "nn.functional.pad": lambda x, pad, mode="constant", value=None: pads(x, pad, mode, value),
    "constant_pad_nd": lambda x, pad, value=0: pads(x, pad, "constant", value),
    "clone": np.copy,
    "slice": lambda x, axis=0, start=None, end=None, step=1: x[(slice(None),) * axis + (slice(start, end, step),)],
    "select": lambda x, axis, index: np.take(x, index, axis),
    "narrow": lambda x, axis, start, length: np.take(x, range_of(start, length), axis),
    "full_like": lambda x, value, **options: np.full_like(x, value),
    "zeros_like": lambda x, **options: np.zeros_like(x),
    "ones_like": lambda x, **options: np.ones_like(x),
}
SHAPES["unfold"] = lambda x, axis, size, step: unfold(x, axis, size, step)


def unfold(x, axis, size, step):
    """Return windows along an axis."""
    skip(x.ndim == 0, "no axis")
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return windows[(slice(None),) * (axis % x.ndim) + (slice(None, None, step),)]


def range_of(start, length):
    """Return positions."""
    return numpy.arange(int(start), int(start) + length)


def pads(x, pad, mode, value):
    """Pad the last axes."""
    skip(min(pad, default=0) < 0, "negative padding")
    pairs = [tuple(pad[k : k + 2]) for k in range(0, len(pad), 2)][::-1]
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    kind = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    return np.pad(x, widths, kind, **({"constant_values": value or 0} if kind == "constant" else {}))


# -- indexing and sorting


def sort(x, axis=-1, descending=False, stable=False):
    """Return sorted values; positions differ among ties."""
    if x.ndim == 0:
        return x
    return np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis)


def gather(x, axis, index):
    """Take along an axis, where the index may be shorter along the others."""
    skip(x.ndim == 0 or index.ndim == 0, "no axis")
    part = tuple(slice(None) if k == axis % x.ndim else slice(n) for k, n in enumerate(index.shape))
    return np.take_along_axis(x[part], index, axis)


def scatter_add(x, axis, index, source):
    """Add along an axis at positions."""
    skip(x.ndim == 0 or index.ndim == 0, "no axis")
    grids = list(numpy.indices(index.shape))
    grids[axis] = index
    return np.asarray(x).at[tuple(grids)].add(source[tuple(slice(n) for n in index.shape)])


def index_add(x, axis, index, source, alpha=1):
    """Add slices at positions."""
    skip(x.ndim == 0, "no axis")
    return np.asarray(x).at[(slice(None),) * (axis % x.ndim) + (index,)].add(alpha * source)


def topk(x, k, axis=-1, largest=True, ordered=True):
    """Return the greatest values."""
    skip(x.ndim == 0 or not ordered, "no axis, or no order")
    ascending = np.sort(x, axis)
    ordered = np.flip(ascending, axis) if largest else ascending
    return np.take(ordered, numpy.arange(k), axis)


def kthvalue(x, k, axis=-1, keepdims=False):
    """Return the k-th smallest value."""
    skip(x.ndim == 0, "no axis")
    value = np.take(np.sort(x, axis), k - 1, axis)
    return np.expand_dims(value, axis) if keepdims else value


INDEXING = {
    "nonzero": lambda x, as_tuple=True: np.nonzero(x) if as_tuple else np.argwhere(x),
    "__getitem__": lambda x, index: x[index],
    "take": lambda x, index: np.take(x, index),
    "take_along_dim": lambda x, index, axis=None: np.take_along_axis(
        np.ravel(x) if axis is None else x, np.ravel(index) if axis is None else index, axis or 0
    ),
    "gather": gather,
    "index_select": lambda x, axis, index: np.take(x, index, axis) if x.ndim else skip(True, "no axis"),
    "index_add": index_add,
    "scatter_add": scatter_add,
    "index_put": lambda x, index, value, accumulate=False: getattr(
        np.asarray(x).at[index], "add" if accumulate else "set"
    )(value),
    "sort": sort,
    "msort": lambda x: np.sort(x, 0) if x.ndim else skip(True, "no axis"),
    "topk": topk,
    "kthvalue": kthvalue,
    "bucketize": lambda x, bounds, out_int32=False, right=False: np.searchsorted(
        bounds, x, "right" if right else "left"
    ),
    "isin": lambda x, y, assume_unique=False, invert=False: np.isin(x, y, invert=invert),
    "bincount": lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength),
}
INDEXING["searchsorted"] = lambda t, x, out_int32=False, right=False, side=None, sorter=None: searchsorted(
    t, x, right, side, sorter
)


def searchsorted(t, x, right, side, sorter):
    """Return positions in sorted values."""
    skip(t.ndim > 1, "batches of tables")
    return np.searchsorted(t, x, side or ("right" if right else "left"), sorter)


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
    "softmax": lambda x, axis, dtype=None: sp.softmax(x, axis) if x.ndim else skip(True, "no axis"),
    "log_softmax": lambda x, axis, dtype=None: sp.log_softmax(x, axis) if x.ndim else skip(True, "no axis"),
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
    "nn.functional.normalize": lambda x, p=2.0, axis=1, eps=1e-12: (
        x / np.maximum(np.linalg.vector_norm(x, axis=axis, keepdims=True, ord=p), eps)
    ),
}


def gradient(x, axis, spacing, edge_order):
    """Return differences along axes."""
    spacings = () if spacing is None else spacing if isinstance(spacing, (list, tuple)) else (spacing,)
    return np.gradient(x, *spacings, axis=axis, edge_order=edge_order)


# -- linear algebra


def norm(x, ord=None, axis=None, keepdims=False, dtype=None):
    """Return the norm of a vector or matrix."""
    skip(x.ndim == 0, "no axis")
    axis = tuple(axis) if isinstance(axis, list) else axis
    if ord is None and axis is None:
        value = np.linalg.norm(np.ravel(x))
        return np.reshape(value, (1,) * x.ndim) if keepdims else value
    return np.linalg.norm(x, ord, axis, keepdims)


def solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    """Solve from the left or the right."""
    if left:
        return sla.solve_triangular(a, b, lower=not upper, unit_diagonal=unitriangular)
    turned = [np.matrix_transpose(v) for v in (a, b)]
    return np.matrix_transpose(sla.solve_triangular(*turned, lower=upper, unit_diagonal=unitriangular))


def add_product(x, product, beta, alpha):
    """Add multiples."""
    return beta * x + alpha * product


def vector_norm(x, ord=2, axis=None, keepdims=False, dtype=None):
    """Return the norm over axes."""
    skip(x.ndim == 0, "no axis")
    axis = tuple(axis) or None if isinstance(axis, (list, tuple)) else axis
    return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def matrix_rank(x, hermitian=False, **options):
    """Count the singular values."""
    skip(any(value is not None for value in options.values()), "tolerances of PyTorch")
    return np.linalg.matrix_rank(x, hermitian=hermitian)


ALGEBRA = {
    **named(np, "dot inner outer matmul vdot"),
    **renamed(np, "mm=matmul mv=matmul bmm=matmul"),
    **named(np.linalg, "linalg.cond linalg.det linalg.eigvals linalg.inv linalg.matrix_power linalg.slogdet"),
    **named(np.linalg, "linalg.multi_dot linalg.tensorinv linalg.qr"),
    "linalg.eig": np.linalg.eig,
    "linalg.svdvals": np.linalg.svdvals,
    "logdet": lambda x: np.linalg.slogdet(x)[1],
    "linalg.eigh": lambda x, UPLO="L": np.linalg.eigh(x, UPLO),
    "linalg.eigvalsh": lambda x, UPLO="L": np.linalg.eigvalsh(x, UPLO),
    "linalg.cholesky": lambda x, upper=False: np.linalg.cholesky(x, upper=upper),
    "linalg.svd": lambda x, full_matrices=True: np.linalg.svd(x, full_matrices),
    "linalg.pinv": lambda x, rtol=None, atol=None, hermitian=False: np.linalg.pinv(x, hermitian=hermitian),
    "linalg.solve": lambda a, b, left=True: solve(a, b, left),
    "linalg.solve_triangular": solve_triangular,
    "linalg.lstsq": lambda a, b, driver=None: np.linalg.lstsq(a, b)[0] if a.ndim == 2 else skip(True, "batch"),
    "linalg.lu": lambda x, pivot=True: sla.lu(x) if pivot else skip(True, "no pivots"),
    "linalg.lu_factor": lambda x, pivot=True: sla.lu_factor(x)[0] if pivot else skip(True, "no pivots"),
    "linalg.norm": norm,
    "linalg.vector_norm": vector_norm,
    "linalg.matrix_norm": lambda x, ord="fro", axis=(-2, -1), keepdims=False, dtype=None: np.linalg.norm(
        x, ord, tuple(axis), keepdims
    ),
    "linalg.matrix_rank": matrix_rank,
    "linalg.tensorsolve": lambda a, b, dims=None: np.linalg.tensorsolve(a, b, dims),
    "linalg.vander": lambda x, N=None: np.vander(x, N, increasing=True) if x.ndim == 1 else skip(True, "batch"),
    "linalg.vecdot": lambda x, y, axis=-1: np.vecdot(x, y, axis=axis),
    "linalg.cross": lambda x, y, axis=-1: np.cross(x, y, axis=axis),
    "cross": lambda x, y, axis=-1: np.cross(x, y, axis=axis),
    "matrix_exp": sla.expm,
    "tensordot": lambda x, y, dims=2: np.tensordot(x, y, dims),
    "einsum": lambda xs, formula: np.einsum(formula, *xs),
    "addmm": lambda x, a, b, beta=1, alpha=1: add_product(x, a @ b, beta, alpha),
    "addmv": lambda x, a, b, beta=1, alpha=1: add_product(x, a @ b, beta, alpha),
    "addr": lambda x, a, b, beta=1, alpha=1: add_product(x, np.outer(a, b), beta, alpha),
    "baddbmm": lambda x, a, b, beta=1, alpha=1: add_product(x, a @ b, beta, alpha),
    "addbmm": lambda x, a, b, beta=1, alpha=1: add_product(x, np.sum(a @ b, 0), beta, alpha),
    "cholesky_solve": lambda b, c, upper=False: sla.cho_solve((c, not upper), b),
    "cdist": lambda x, y, p=2.0, mode=None: cdist(x, y, p),
    "nn.functional.pdist": lambda x, p=2.0: distance.pdist(x, "minkowski", p=p) if p else skip(True, "p = 0"),
    "nn.functional.cosine_similarity": lambda x, y, axis=1, eps=1e-8: (
        np.sum(x * y, axis)
        / (np.maximum(np.linalg.vector_norm(x, axis=axis), eps) * np.maximum(np.linalg.vector_norm(y, axis=axis), eps))
    ),
}


def solve(a, b, left=True):
    """Solve from the left or the right."""
    skip(not left, "from the right")
    return np.linalg.solve(a, b[..., None])[..., 0] if b.ndim == a.ndim - 1 else np.linalg.solve(a, b)


def cdist(x, y, p):
    """Return distances of pairs, also in batches."""
    skip(p == 0, "p = 0")
    metric = {1.0: "cityblock", 2.0: "euclidean", math.inf: "chebyshev"}.get(p, "minkowski")
    options = {"p": p} if metric == "minkowski" else {}
    call = lambda x, y: distance.cdist(x, y, metric, **options)
    if x.ndim == 2:
        return call(x, y)
    lead = numpy.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    flat = [np.reshape(np.broadcast_to(v, (*lead, *v.shape[-2:])), (-1, *v.shape[-2:])) for v in (x, y)]
    skip(not math.prod(lead), "no batch")
    result = anyshape.vmap(call)(*flat)
    return np.reshape(result, (*lead, *result.shape[1:]))


# -- Fourier transforms


def transform(function):
    """Return a row of a transform, whose lengths are `n` or `s`."""

    def row(x, n=None, axis=-1, norm=None):
        return function(x, n, axis, norm)

    return row


def transforms(function):
    """Return a row of a transform over axes: the last ones where only lengths are given."""

    def row(x, s=None, axis=None, norm=None):
        skip(s is not None and -1 in s, "a length of -1")
        if s is not None and axis is None:
            axis = tuple(range(-len(s), 0))
        axis = (axis,) if isinstance(axis, int) else None if axis is None else tuple(axis)
        return function(x, None if s is None else tuple(s), axis, norm)

    return row


def in_plane(function):
    """Return a row of a transform over two axes."""
    row = transforms(function)
    return lambda x, s=None, axis=(-2, -1), norm=None: row(x, s, axis, norm)


FOURIER = {
    **{f"fft.{name}": transform(getattr(np.fft, name)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": transforms(getattr(np.fft, name)) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": transforms(getattr(anyshape.scipy.fft, name)) for name in ("hfftn", "ihfftn")},
    **{f"fft.{name}": in_plane(getattr(np.fft, name)) for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    "fft.fftshift": lambda x, axis=None: np.fft.fftshift(x, axis),
    "fft.ifftshift": lambda x, axis=None: np.fft.ifftshift(x, axis),
}


# -- windows and losses


def pairs_of(value, rank):
    """Return a value for each spatial axis."""
    return (value,) * rank if isinstance(value, int) else tuple(value) * (rank if len(value) == 1 else 1)


def convolution(rank):
    """Return a row of a convolution."""

    def row(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        skip(x.ndim == rank + 1, "no batch")
        steps, holes = pairs_of(stride, rank), pairs_of(dilation, rank)
        if padding == "same":
            total = [d * (n - 1) for d, n in zip(holes, weight.shape[2:], strict=True)]
            pads = [(t // 2, t - t // 2) for t in total]
        else:
            pads = "VALID" if padding == "valid" else [(p, p) for p in pairs_of(padding, rank)]
        out = anyshape.conv_general_dilated(x, weight, steps, pads, None, holes, feature_group_count=groups)
        return out if bias is None else out + np.reshape(bias, (-1,) + (1,) * rank)

    return row


def transposed_convolution(rank):
    """Return a row of a transposed convolution."""

    def row(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        skip(x.ndim == rank + 1, "no batch")
        steps, holes, margins, more = (pairs_of(v, rank) for v in (stride, dilation, padding, output_padding))
        reach = [d * (n - 1) for d, n in zip(holes, weight.shape[2:], strict=True)]
        pads = [(r - m, r - m + o) for r, m, o in zip(reach, margins, more, strict=True)]
        fan, out = weight.shape[0] // groups, weight.shape[1]
        kernel = np.flip(weight, tuple(range(2, rank + 2)))
        grouped = np.swapaxes(np.reshape(kernel, (groups, fan, out, *weight.shape[2:])), 1, 2)
        kernel = np.reshape(grouped, (groups * out, fan, *weight.shape[2:]))
        ones = (1,) * rank
        result = anyshape.conv_general_dilated(x, kernel, ones, pads, steps, holes, feature_group_count=groups)
        return result if bias is None else result + np.reshape(bias, (-1,) + ones)

    return row


def pooling(rank, function, start):
    """Return a row of a pool without padding."""

    def row(
        x,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
        dilation=1,
        return_indices=False,
    ):
        skip(x.ndim == rank + 1, "no batch")
        skip(ceil_mode or return_indices or divisor_override, "ceil_mode, indices or another divisor")
        size = pairs_of(kernel_size, rank)
        steps = pairs_of(stride, rank) if stride not in (None, (), []) else size
        margins, holes = pairs_of(padding, rank), pairs_of(dilation, rank)
        whole = lambda values, one: (one, one, *values)
        pads = whole([(m, m) for m in margins], (0, 0))
        windows = whole(size, 1), whole(steps, 1), pads
        result = anyshape.reduce_window(x, start, function, *windows, None, whole(holes, 1))
        if function is not np.add:
            return result
        if count_include_pad:
            return result / math.prod(size)
        return result / anyshape.reduce_window(np.ones_like(x), 0.0, np.add, *windows)

    return row


WINDOWS = {
    **{f"nn.functional.conv{rank}d": convolution(rank) for rank in (1, 2, 3)},
    **{f"nn.functional.conv_transpose{rank}d": transposed_convolution(rank) for rank in (1, 2, 3)},
    **{f"nn.functional.max_pool{rank}d": pooling(rank, np.maximum, -math.inf) for rank in (1, 2, 3)},
    **{f"nn.functional.avg_pool{rank}d": pooling(rank, np.add, 0.0) for rank in (1, 2, 3)},
}
ACTIVATIONS = {
    "nn.functional.softplus": lambda x, beta=1.0, threshold=20.0: np.where(
        x * beta > threshold, x, np.logaddexp(beta * x, 0.0) / beta
    ),
    "nn.functional.logsigmoid": lambda x: sp.log_expit(x),
    "nn.functional.silu": lambda x: x * sp.expit(x),
    "nn.functional.gelu": lambda x, approximate="none": (
        x * sp.ndtr(x)
        if approximate == "none"
        else 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "nn.functional.elu": lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "nn.functional.softsign": lambda x: x / (1 + np.abs(x)),
    "nn.functional.tanhshrink": lambda x: x - np.tanh(x),
    "nn.functional.mish": lambda x: x * np.tanh(np.logaddexp(x, 0.0)),
    "nn.functional.softmin": lambda x, axis=None, dtype=None: sp.softmax(-x, axis) if x.ndim else skip(True, "no axis"),
    "nn.functional.linear": lambda x, w, bias=None: x @ w.T if bias is None else x @ w.T + bias,
    "nn.functional.bilinear": lambda x, y, w, bias=None: (
        np.einsum("...i,kij,...j->...k", x, w, y) + (0 if bias is None else bias)
    ),
    "nn.functional.layer_norm": lambda x, shape, weight=None, bias=None, eps=1e-5: layer_norm(
        x, shape, weight, bias, eps
    ),
}


def layer_norm(x, shape, weight, bias, eps):
    """Normalise the last axes."""
    axes = tuple(range(-len(shape), 0))
    out = (x - np.mean(x, axes, keepdims=True)) / np.sqrt(np.var(x, axes, keepdims=True) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


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
