"""Kernels of functions of matrices: SciPy's, for one matrix after the other."""

from typing import Any

import numpy as np

from anyshape.ops import matrix_functions as mf
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_linalg

_NAN = complex(np.nan, np.nan)


def each(function: Any, results: Any, *operands: Any) -> Any:
    """Fill arrays with the results of a function of single matrices, or with NaN where one is not finite."""
    if not all(x.size for x in results):
        return results
    for index in np.ndindex(operands[0].shape[:-2]):
        matrices = [x[index] for x in operands]
        is_finite = all(np.isfinite(x).all() for x in matrices)
        values = function(*matrices) if is_finite else [_NAN if x.dtype.kind == "c" else np.nan for x in results]
        for result, value in zip(results, values, strict=True):
            result[index] = value
    return results


def _real_where_asked(value, dtype, function):
    """Return a value in a dtype; a real one must not lose an imaginary part."""
    if dtype.kind == "c" or value.dtype.kind != "c":
        return value
    if np.abs(value.imag).max() > 1e3 * np.finfo(dtype).eps * np.abs(value).max():
        name = {"log": "logarithm", "sqrt": "square root"}[function]
        raise np.linalg.LinAlgError(f"The {name} of a real matrix is not real: convert the matrix to complex numbers")
    return value.real


def _of_one(a, function):
    if function == "exp":
        return scipy_linalg.expm(a)
    value = scipy_linalg.sqrtm(a) if function == "sqrt" else scipy_linalg.logm(a)
    return _real_where_asked(value, a.dtype, function)


def _matrix_function(a, *, function):
    return each(lambda x: [_of_one(x, function)], [np.empty(a.shape, a.dtype)], a)[0]


def _derivative_of_one(a, e, function):
    """Return a derivative: of a root by Sylvester's equation, else as a block of the function of a larger matrix."""
    if function == "sqrt":
        root = _of_one(a, function)
        return scipy_linalg.solve_sylvester(root, root, e)
    size, length = len(a), np.abs(e).max()
    if length == 0:
        return np.zeros_like(a)
    scale = max(np.abs(a).max(), 1e-3) / length  # the direction must not decide how the function is computed
    block = np.block([[a, scale * e], [np.zeros_like(a), a]])
    return _of_one(block, function)[:size, size:] / scale


def _derivative(a, e, *, function):
    return each(lambda x, y: [_derivative_of_one(x, y, function)], [np.empty(a.shape, a.dtype)], a, e)[0]


def _schur(a, *, output):
    t, z = (np.empty(a.shape, a.dtype.char.upper() if output == "complex" else a.dtype) for _ in range(2))
    return tuple(each(lambda x: scipy_linalg.schur(x, output), [t, z], a))


def _hessenberg(a):
    return tuple(each(lambda x: scipy_linalg.hessenberg(x, calc_q=True), [np.empty_like(a), np.empty_like(a)], a))


def _sylvester(a, b, q):
    return each(lambda *xs: [scipy_linalg.solve_sylvester(*xs)], [np.empty_like(q)], a, b, q)[0]


kernel(mf.matrix_function_op, _matrix_function)
kernel(mf.matrix_function_derivative_op, _derivative)
kernel(mf.sylvester_op, _sylvester)
kernel(mf.schur_op, _schur)
kernel(mf.hessenberg_op, _hessenberg)
