"""NumPy's functions for arrays of a program, and for concrete arrays too: what people write.

Concrete arguments go to NumPy itself; where NumPy takes an int as a size, these take symbolic sizes as well.
`special` holds the functions of scipy.special.
"""

from numpy import (
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128,
    e, inf, nan, newaxis, pi, euler_gamma, finfo, iinfo, dtype, can_cast, isdtype, errstate, promote_types,
)

from anyshape.numpy import special
from anyshape.numpy.contraction import (
    cross, dot, inner, kron, matmul, matrix_power, matvec, multi_dot, outer, tensordot, vdot, vecdot, vecmat,
)
from anyshape.numpy.creation import (
    arange, array, asanyarray, asarray, ascontiguousarray, copy, diagflat, empty, empty_like, eye, full, full_like,
    identity, indices, ix_, linspace, meshgrid, ones, ones_like, tri, tril, triu, zeros, zeros_like,
)
from anyshape.numpy.dynamic import (
    argwhere, bincount, compress, extract, flatnonzero, intersect1d, isin, nonzero, setdiff1d, top_k, trim_zeros,
    union1d, unique, unique_all, unique_counts, unique_inverse, unique_values,
)
from anyshape.numpy.einstein import einsum
from anyshape.numpy.elementwise import (
    abs, absolute, acos, acosh, add, allclose, angle, arccos, arccosh, arcsin, arcsinh, arctan, arctan2, arctanh,
    around, asin, asinh, astype, atan, atan2, atanh, bitwise_and, bitwise_count, bitwise_invert, bitwise_left_shift,
    bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor, cbrt, ceil, clip, conj, conjugate, copysign, cos, cosh,
    deg2rad, degrees, divide, divmod, equal, exp, exp2, expm1, fabs, fix, float_power, floor, floor_divide, fmax,
    fmin, fmod, frexp, gcd, greater, greater_equal, heaviside, hypot, imag, invert, isclose, iscomplex, iscomplexobj,
    isfinite, isinf, isnan, isneginf, isposinf, isreal, isrealobj, lcm, ldexp, left_shift, less, less_equal, log,
    log10, log1p, log2, logaddexp, logaddexp2, logical_and, logical_not, logical_or, logical_xor, maximum, minimum,
    mod, modf, multiply, nan_to_num, negative, nextafter, not_equal, piecewise, positive, pow, power, rad2deg,
    radians, real, reciprocal, remainder, right_shift, rint, round, select, sign, signbit, sin, sinh, spacing, sqrt,
    square, subtract, tan, tanh, true_divide, trunc, where,
)
from anyshape.numpy.indexed_update import at, put_along_axis
from anyshape.numpy.indexing import diag, diagonal, diff, ediff1d, pad, take, take_along_axis, trace
from anyshape.numpy.metadata import ndim, result_type, shape, size
from anyshape.numpy.movement import (
    append, array_split, atleast_1d, atleast_2d, atleast_3d, block, broadcast_arrays, broadcast_shapes, broadcast_to,
    column_stack, concat, concatenate, dsplit, dstack, expand_dims, flip, fliplr, flipud, hsplit, hstack,
    matrix_transpose, moveaxis, permute_dims, ravel, repeat, reshape, roll, rollaxis, rot90, split, squeeze, stack,
    swapaxes, tile, transpose, unstack, vsplit, vstack,
)
from anyshape.numpy.norms import matrix_norm, norm, vector_norm
from anyshape.numpy.reduction import (
    all, amax, amin, any, argmax, argmin, count_nonzero, cumprod, cumsum, cumulative_prod, cumulative_sum,
    log_softmax, logsumexp, max, min, prod, ptp, softmax, sum,
)
from anyshape.numpy.sorting import argsort, median, percentile, quantile, searchsorted, sort
from anyshape.numpy.special import numpy_i0 as i0
from anyshape.numpy.special import sinc
from anyshape.numpy.statistics import (
    average, corrcoef, cov, mean, nancumprod, nancumsum, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar,
    std, trapezoid, var,
)

# fmt: off
__all__ = [
    "abs", "absolute", "acos", "acosh", "add", "all", "allclose", "amax", "amin", "angle", "any", "append", "arange",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort",
    "argwhere", "around", "array", "array_split", "asanyarray", "asarray", "ascontiguousarray", "asin", "asinh",
    "astype", "at", "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "atleast_3d", "average", "bincount",
    "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "block", "bool", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "can_cast", "cbrt", "ceil", "clip", "column_stack", "complex128", "complex64", "compress", "concat",
    "concatenate", "conj", "conjugate", "copy", "copysign", "corrcoef", "cos", "cosh", "count_nonzero", "cov",
    "cross", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "deg2rad", "degrees", "diag", "diagflat",
    "diagonal", "diff", "divide", "divmod", "dot", "dsplit", "dstack", "dtype", "e", "ediff1d", "einsum", "empty",
    "empty_like", "equal", "errstate", "euler_gamma", "exp", "exp2", "expand_dims", "expm1", "extract", "eye", "fabs",
    "finfo", "fix", "flatnonzero", "flip", "fliplr", "flipud", "float16", "float32", "float64", "float_power",
    "floor", "floor_divide", "fmax", "fmin", "fmod", "frexp", "full", "full_like", "gcd", "greater", "greater_equal",
    "heaviside", "hsplit", "hstack", "hypot", "i0", "identity", "iinfo", "imag", "indices", "inf", "inner", "int16",
    "int32", "int64", "int8", "intersect1d", "invert", "isclose", "iscomplex", "iscomplexobj", "isdtype", "isfinite",
    "isin", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "ix_", "kron", "lcm", "ldexp",
    "left_shift", "less", "less_equal", "linspace", "log", "log10", "log1p", "log2", "log_softmax", "logaddexp",
    "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "matmul", "matrix_norm",
    "matrix_power", "matrix_transpose", "matvec", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum",
    "mod", "modf", "moveaxis", "multi_dot", "multiply", "nan", "nan_to_num", "nancumprod", "nancumsum", "nanmax",
    "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "ndim", "negative", "newaxis", "nextafter",
    "nonzero", "norm", "not_equal", "ones", "ones_like", "outer", "pad", "percentile", "permute_dims", "pi",
    "piecewise", "positive", "pow", "power", "prod", "promote_types", "ptp", "put_along_axis", "quantile", "rad2deg",
    "radians", "ravel", "real", "reciprocal", "remainder", "repeat", "reshape", "result_type", "right_shift", "rint",
    "roll", "rollaxis", "rot90", "round", "searchsorted", "select", "setdiff1d", "shape", "sign", "signbit", "sin",
    "sinc", "sinh", "size", "softmax", "sort", "spacing", "special", "split", "sqrt", "square", "squeeze", "stack",
    "std", "subtract", "sum", "swapaxes", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "top_k",
    "trace", "transpose", "trapezoid", "tri", "tril", "trim_zeros", "triu", "true_divide", "trunc", "uint16",
    "uint32", "uint64", "uint8", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
    "unique_values", "unstack", "var", "vdot", "vecdot", "vecmat", "vector_norm", "vsplit", "vstack", "where",
    "zeros", "zeros_like",
]
# fmt: on
