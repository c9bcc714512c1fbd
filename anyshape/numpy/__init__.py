"""NumPy's functions for traced and concrete arrays.

Concrete arguments go to NumPy itself. Where NumPy takes an int as a size, these functions take symbolic sizes as well.
`linalg` has the functions of `numpy.linalg`. `special` has the functions of `scipy.special`. All other public names of
NumPy are its own, and a function among them refuses traced arrays by name.
"""

from typing import Any

import numpy as np

from anyshape.support.packages import load as _load
from anyshape.support.packages import numpy_names

# functions by the submodule that defines them; `name=other` has another name there
_ROWS = {
    "at_update": "at",
    "contraction": "cross dot einsum inner kron matmul matvec outer tensordot vdot vecdot vecmat",
    "creation": (
        "arange array asanyarray asarray ascontiguousarray asfortranarray copy empty empty_like full full_like "
        "indices linspace meshgrid ones ones_like zeros zeros_like"
    ),
    "dynamic": (
        "argwhere bincount compress extract flatnonzero intersect1d isin nonzero setdiff1d top_k trim_zeros union1d "
        "unique unique_all unique_counts unique_inverse unique_values"
    ),
    "elementwise": (
        "abs absolute acos acosh add allclose angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh around asin "
        "asinh astype atan atan2 atanh bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not "
        "bitwise_or bitwise_right_shift bitwise_xor cbrt ceil conj conjugate copysign cos cosh deg2rad degrees divide "
        "divmod equal exp exp2 expm1 fabs fix float_power floor floor_divide fmax fmin fmod frexp gcd greater "
        "greater_equal heaviside hypot imag invert isclose iscomplex iscomplexobj isfinite isinf isnan isneginf "
        "isposinf isreal isrealobj lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 "
        "logical_and logical_not logical_or logical_xor maximum minimum mod modf multiply negative nextafter "
        "not_equal positive pow power rad2deg radians real reciprocal remainder right_shift rint round sign signbit "
        "sin sinh spacing sqrt square subtract tan tanh true_divide trunc"
    ),
    "indexing": "diag diagonal diff ediff1d ix_ pad take take_along_axis trace",
    "linalg.norms": "matrix_norm norm vector_norm",
    "linalg.solving": "matrix_power multi_dot",
    "matrices": (
        "append array_split block column_stack concat concatenate diagflat dsplit dstack eye hsplit hstack identity "
        "split stack tri tril triu unstack vsplit vstack"
    ),
    "movement": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to expand_dims flip fliplr "
        "flipud matrix_transpose moveaxis permute_dims ravel repeat reshape roll rollaxis rot90 squeeze swapaxes tile "
        "transpose"
    ),
    "operands.array_queries": "ndim result_type shape size",
    "reduction": (
        "all amax amin any argmax argmin count_nonzero cumprod cumsum cumulative_prod cumulative_sum log_softmax "
        "logsumexp max min prod ptp softmax sum"
    ),
    "selection": "clip nan_to_num piecewise select where",
    "sorting": "argsort median percentile quantile searchsorted sort",
    "special": "i0=numpy_i0 sinc",
    "statistics": (
        "average corrcoef cov interp mean nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar std "
        "trapezoid var"
    ),
}
_HOMES = {row.partition("=")[0]: (home, row.rpartition("=")[2]) for home in _ROWS for row in _ROWS[home].split()}
_SUBMODULES = ("linalg", "special")
_OF_NUMPY = (  # types, constants and functions that take no array
    "bool can_cast complex128 complex64 dtype e errstate euler_gamma finfo float16 float32 float64 iinfo inf "
    "int16 int32 int64 int8 isdtype nan newaxis pi promote_types uint16 uint32 uint64 uint8"
)
__all__ = [*_HOMES, *_SUBMODULES, *_OF_NUMPY.split()]


def __getattr__(name: str) -> Any:
    """Return what a name stands for; functions of ours load at their first use."""
    if name == "ndarray":
        return numpy_names.ndarray_class()
    if name in _HOMES:
        home, defined = _HOMES[name]
        value = getattr(_load(f"anyshape.numpy.{home}"), defined)
    elif name in _SUBMODULES or name in _ROWS:
        value = _load(f"anyshape.numpy.{name}")
    elif name in __all__:
        value = getattr(np, name)
    else:
        return numpy_names.named(name)
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    """Return the public names, with all of NumPy."""
    return sorted({*__all__, *numpy_names.public_names()})
