"""Counterparts of PyTorch's operators of linear algebra, transforms and windows, for `tests.external.opinfo`."""

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
from tests.external.opinfo_helpers import named, renamed, skip

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
    """Add multiples; a multiple of 0 is left out, also of NaN."""
    return beta * x + alpha * product if beta else alpha * product


def vector_norm(x, ord=2, axis=None, keepdims=False, dtype=None):
    """Return the norm over axes."""
    skip(x.ndim == 0, "no axis")
    axis = tuple(axis) or None if isinstance(axis, (list, tuple)) else axis
    return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def logdet(x):
    """Return the logarithm of the determinant."""
    sign, value = np.linalg.slogdet(x)
    return value + np.log(sign) if sign.dtype.kind == "c" else value


def tensordot(x, y, dims=2):
    """Sum products over pairs of axes."""
    if not isinstance(dims, int):
        pairs = zip(*dims, strict=True)
        skip(any(int(x.shape[j]) != int(y.shape[k]) for j, k in pairs), "PyTorch broadcasts summed axes of size 1")
    return np.tensordot(x, y, dims)


def cosine_similarity(x, y, axis, eps):
    """Return the cosines of the angles between vectors of one shape."""
    skip(x.ndim == 0, "no axis")
    x, y = np.broadcast_arrays(x, y)
    lengths = [np.maximum(np.linalg.vector_norm(v, axis=axis), eps) for v in (x, y)]
    return np.sum(x * y, axis) / (lengths[0] * lengths[1])


def einsum(xs, formula):
    """Add up products; NumPy has no sums over the axes of an ellipsis."""
    operands, _, result = formula.partition("->")
    skip("..." in operands and result and "..." not in result, "an ellipsis in operands alone")
    return np.einsum(formula, *xs)


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
    "logdet": logdet,
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
    "tensordot": tensordot,
    "einsum": einsum,
    "addmm": lambda x, a, b, beta=1, alpha=1: add_product(x, a @ b, beta, alpha),
    "addmv": lambda x, a, b, beta=1, alpha=1: add_product(x, a @ b, beta, alpha),
    "addr": lambda x, a, b, beta=1, alpha=1: add_product(x, np.outer(a, b), beta, alpha),
    "baddbmm": lambda x, a, b, beta=1, alpha=1: add_product(x, a @ b, beta, alpha),
    "addbmm": lambda x, a, b, beta=1, alpha=1: add_product(x, np.sum(a @ b, 0), beta, alpha),
    "cholesky_solve": lambda b, c, upper=False: sla.cho_solve((c, not upper), b),
    "cdist": lambda x, y, p=2.0, mode=None: cdist(x, y, p),
    "nn.functional.pdist": lambda x, p=2.0: distance.pdist(x, "minkowski", p=p) if p else skip(True, "p = 0"),
    "nn.functional.cosine_similarity": lambda x, y, axis=1, eps=1e-8: cosine_similarity(x, y, axis, eps),
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
    if x.ndim == y.ndim == 2:
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
    "nn.functional.softmin": lambda x, axis=None, dtype=None: (
        sp.softmax(-x, axis) if x.ndim and int(x.shape[axis]) else skip(True, "no axis, or no element")
    ),
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
