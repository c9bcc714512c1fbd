"""Primitives of programs. Operands are traced arrays, or NumPy arrays outside of a trace."""

from anyshape.ops.contraction import dot_general, einsum
from anyshape.ops.control import name_sizes, stop_gradient
from anyshape.ops.creation import full, iota, size_value
from anyshape.ops.distances import difference_products, difference_pulls, pair_distances
from anyshape.ops.dynamic import (
    dynamic_slice, dynamic_truncate, dynamic_update_slice, nonzero, place, repeated, top_k, unique,
)  # fmt: skip
from anyshape.ops.elementwise import (
    absolute, add, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh, bitwise_and, bitwise_count, bitwise_or,
    bitwise_xor, cbrt, ceil, conj, convert, copysign, cos, cosh, direction, div, eq, exp, exp2, expm1, floor,
    floor_divide, fmax, fmin, fmod, frexp, gap, gcd, ge, gt, heaviside, hypot, imag, invert, isfinite, isinf, isnan,
    lcm, ldexp, le, left_shift, length, log, log1p, log2, log10, logaddexp, logaddexp2, logical_and, logical_not,
    logical_or, logical_xor, lt, make_complex, maximum, minimum, mul, ne, neg, nextafter, power, power_by, python_int,
    ratio, real, reciprocal, remainder, right_shift, rint, round, select, share, sign, signbit, sin, sinh, spacing,
    sqrt, square, sub, tan, tanh, tanh_slope, trunc,
)  # fmt: skip
from anyshape.ops.external import lfilter, ranked, weigh
from anyshape.ops.factorisations import (
    balance, banded_solve, cossin, cossin_angles, hessenberg, ldl, lu, matrix_function, matrix_function_derivative,
    ordqz, polar, qr_complete, qr_order, qr_raw, qz, row_order, schur, sylvester,
)  # fmt: skip
from anyshape.ops.fourier import dct, dst, fft, irfft, rfft
from anyshape.ops.gathering import (
    gather, index_add, index_max, index_min, index_mul, index_update, scatter, segment_max, segment_mean, segment_min,
    segment_prod, segment_sum,
)  # fmt: skip
from anyshape.ops.indexing import put_add, put_add_along_axis, put_add_at, take, take_along_axis, take_at
from anyshape.ops.linalg import adjugate, cholesky, det, inv, lu_factor, lu_solve, slogdet, solve, triangular_solve
from anyshape.ops.loops import rerun
from anyshape.ops.movement import broadcast_in_dim, broadcast_to, concatenate, pad, reshape, rev, slice, transpose
from anyshape.ops.random import draw
from anyshape.ops.reduction import (
    argmax, argmin, argsort, cumlogsumexp, cummax, cummin, cumprod, cumsum, permute, recurrence, reduce_and,
    reduce_logsumexp, reduce_max, reduce_min, reduce_or, reduce_prod, reduce_sum, safe_softmax, searchsorted, softmax,
    sort, sum_to,
)  # fmt: skip
from anyshape.ops.special import (
    bessel_i, bessel_j, bessel_k, bessel_y, betainc, betaincc, betainccinv, betaincinv, hyp1f1, hyp2f1, polygamma,
    scaled_bessel_i, scaled_bessel_k, sinc,
)  # fmt: skip
from anyshape.ops.special_ufuncs import carlson_integral, special_ufunc
from anyshape.ops.windows import convolution, sliding, window_argmax, window_argmin, window_max, window_min, window_sum

__all__ = [
    "absolute", "add", "adjugate", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argmax", "argmin", "argsort", "balance", "banded_solve", "bessel_i", "bessel_j", "bessel_k", "bessel_y",
    "betainc", "betaincc", "betainccinv", "betaincinv", "bitwise_and", "bitwise_count", "bitwise_or",
    "bitwise_xor", "broadcast_in_dim", "broadcast_to", "carlson_integral", "cbrt", "ceil", "cholesky",
    "concatenate", "conj", "convert", "convolution", "copysign", "cos", "cosh", "cossin", "cossin_angles",
    "cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "dct", "det", "difference_products",
    "difference_pulls", "direction", "div", "dot_general", "draw", "dst", "dynamic_slice", "dynamic_truncate",
    "dynamic_update_slice", "einsum", "eq", "exp", "exp2", "expm1", "fft", "floor", "floor_divide", "fmax", "fmin",
    "fmod", "frexp", "full", "gap", "gather", "gcd", "ge", "gt", "heaviside", "hessenberg", "hyp1f1", "hyp2f1",
    "hypot", "imag", "index_add", "index_max", "index_min", "index_mul", "index_update", "inv", "invert", "iota",
    "irfft", "isfinite", "isinf", "isnan", "lcm", "ldexp", "ldl", "le", "left_shift", "length", "lfilter", "log",
    "log1p", "log2", "log10", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "lt", "lu", "lu_factor", "lu_solve", "make_complex", "matrix_function", "matrix_function_derivative",
    "maximum", "minimum", "mul", "name_sizes", "ne", "neg", "nextafter", "nonzero", "ordqz", "pad",
    "pair_distances", "permute", "place", "polar", "polygamma", "power", "power_by", "put_add",
    "put_add_along_axis", "put_add_at", "python_int", "qr_complete", "qr_order", "qr_raw", "qz", "ranked", "ratio",
    "real", "reciprocal", "recurrence", "reduce_and", "reduce_logsumexp", "reduce_max", "reduce_min", "reduce_or",
    "reduce_prod", "reduce_sum", "remainder", "repeated", "rerun", "reshape", "rev", "rfft", "right_shift", "rint",
    "round", "row_order", "safe_softmax", "scaled_bessel_i", "scaled_bessel_k", "scatter", "schur", "searchsorted",
    "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum", "select", "share", "sign",
    "signbit", "sin", "sinc", "sinh", "size_value", "slice", "sliding", "slogdet", "softmax", "solve", "sort",
    "spacing", "special_ufunc", "sqrt", "square", "stop_gradient", "sub", "sum_to", "sylvester", "take",
    "take_along_axis", "take_at", "tan", "tanh", "tanh_slope", "top_k", "transpose", "triangular_solve", "trunc",
    "unique", "weigh", "window_argmax", "window_argmin", "window_max", "window_min", "window_sum",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
