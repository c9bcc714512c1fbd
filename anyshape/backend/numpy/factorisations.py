"""Kernels of further factorisations: NumPy's for stacks, and SciPy's for one matrix after the other.

Kernels of functions of matrices: SciPy's, for one matrix after the other.

Kernels of linear systems: LAPACK's routines through SciPy, for one matrix after the other.

Traits of further factorisations: whole matrices at a time.

Traits of functions of matrices: whole matrices at a time, slower than factors of them.

Traits of linear systems: whole matrices at a time.
"""

from functools import partial
from typing import Any

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.backend.numpy.linalg import finite, in_one_thread, lu_of_one, routine
from anyshape.backend.runtime.blas import scipy_threads
from anyshape.ops import factorisations as fa
from anyshape.ops.core.apply import kernel
from anyshape.support.packages import scipy_linalg


def _raw(a):
    packed, tau = np.linalg.qr(a, "raw")
    return np.swapaxes(packed, -1, -2), tau


def _order(a):
    out = np.broadcast_to(np.arange(a.shape[-1], dtype=np.int32), (*a.shape[:-2], a.shape[-1])).copy()
    if a.size:
        geqp3 = routine("geqp3", a)
        with scipy_threads(max(a.shape[-2:])):
            for index in np.ndindex(a.shape[:-2]):
                out[index] = geqp3(a[index])[1] - 1
    return out


def _polar(a):
    w, _, vh = np.linalg.svd(finite(a), full_matrices=False)
    return w @ vh


def _ldl(a, *, lower, hermitian):
    results = np.empty(a.shape, a.dtype), np.empty(a.shape, a.dtype), _own_order(a)
    return each(lambda x: scipy_linalg.ldl(x, lower, hermitian), results, a)


def _own_order(a):
    return np.broadcast_to(np.arange(a.shape[-1]), (*a.shape[:-2], a.shape[-1])).copy()


def _balance(a, *, permute, scale):
    balanced = lambda x: scipy_linalg.matrix_balance(x, permute, scale, separate=True)[1]
    return each(balanced, (np.ones(a.shape[:-1]), _own_order(a)), a)


def _qz(a, b, *, output):
    out = [np.empty(a.shape, a.dtype.char.upper() if output == "complex" else a.dtype) for _ in range(4)]
    return tuple(each(lambda x, y: scipy_linalg.qz(x, y, output), out, a, b))


def _ordqz(a, b, *, output, region):
    dtype = a.dtype.char.upper() if output == "complex" else a.dtype
    aa, bb, q, z = (np.empty(a.shape, dtype) for _ in range(4))
    values = [np.empty(a.shape[:-1], a.dtype.char.upper()), np.empty(a.shape[:-1], dtype)]
    return tuple(each(lambda x, y: scipy_linalg.ordqz(x, y, region, output), [aa, bb, *values, q, z], a, b))


def _cossin(*blocks, swap_sign):
    side = blocks[0].shape[-2] + blocks[2].shape[-2]
    dtype, shape = blocks[0].dtype, (*blocks[0].shape[:-2], side, side)
    out = [np.empty(shape, d) for d in (dtype, dtype.char.lower(), dtype)]
    return tuple(each(lambda *xs: scipy_linalg.cossin(xs, swap_sign=swap_sign), out, *blocks))


def _angles(*blocks):
    count = min(*blocks[0].shape[-2:], *blocks[3].shape[-2:])
    out = [np.empty((*blocks[0].shape[:-2], count), blocks[0].dtype.char.lower())]
    return each(lambda *xs: [scipy_linalg.cossin(xs, separate=True)[1]], out, *blocks)[0]


kernel(fa.qr_complete_op, in_one_thread(lambda a: tuple(np.linalg.qr(a, "complete"))))
kernel(fa.qr_raw_op, in_one_thread(_raw))
kernel(fa.qr_order_op, _order)
kernel(fa.polar_op, in_one_thread(_polar))
kernel(fa.ldl_op, _ldl)
kernel(fa.balance_op, _balance)
kernel(fa.qz_op, _qz)
kernel(fa.ordqz_op, _ordqz)
kernel(fa.cossin_op, _cossin)
kernel(fa.cossin_angles_op, _angles)


_NAN = complex(np.nan, np.nan)


def each(function: Any, results: Any, *operands: Any) -> Any:
    """Fill arrays with the results of a function of single matrices, or with NaN where one is not finite.

    Integers stay as they are there.
    """
    if not all(x.size for x in results):
        return results
    rows = max(size for x in operands for size in x.shape[-2:])
    for index in np.ndindex(operands[0].shape[:-2]):
        matrices = [x[index] for x in operands]
        if all(np.isfinite(x).all() for x in matrices):
            with scipy_threads(rows):
                values = function(*matrices)
            for result, value in zip(results, values, strict=True):
                result[index] = value
        else:
            _lose(results, index)
    return results


def _lose(results, index):
    for result in results:
        if result.dtype.kind in "fc":
            result[index] = _NAN if result.dtype.kind == "c" else np.nan


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


def _derivative_of_one(function, a, *directions):
    """Return a derivative: a block of the function of a larger matrix, for a root the last one by Sylvester's equation.

    An exponential has the last one by SciPy's own function. Each direction makes blocks of the matrix before. Source:
    N. J. Higham and S. D. Relton, "Higher order Fréchet derivatives of matrix functions and the level-2 condition
    number", 2014.
    """
    size, block = len(a), a
    lengths = [np.abs(e).max() for e in directions]
    if 0 in lengths:
        return np.zeros_like(a)
    scales = max(np.abs(a).max(), 1e-3) / np.array(lengths)  # directions must not decide how the function is computed
    for i, scale in enumerate(scales):
        before, beside = block, scale * directions[i]
        if i:
            beside = np.kron(np.eye(len(block) // size, dtype=a.dtype), beside)
        if i + 1 < len(scales) or function == "log":
            block = np.block([[before, beside], [np.zeros_like(before), before]])
    if function == "sqrt":
        root = _of_one(before, function)
        result = scipy_linalg.solve_sylvester(root, root, beside)
    elif function == "exp":
        result = scipy_linalg.expm_frechet(before, beside, compute_expm=False, check_finite=False)
    else:
        result = _of_one(block, function)
    return result[:size, -size:] / np.prod(scales)


def _schur(a, *, output):
    t, z = (np.empty(a.shape, a.dtype.char.upper() if output == "complex" else a.dtype) for _ in range(2))
    return tuple(each(lambda x: scipy_linalg.schur(x, output), [t, z], a))


def _hessenberg(a):
    return tuple(each(lambda x: scipy_linalg.hessenberg(x, calc_q=True), [np.empty_like(a), np.empty_like(a)], a))


def _one(function, like, *operands):
    """Return the results of a function that gives one for each matrix."""
    return each(lambda *xs: [function(*xs)], [np.empty_like(like)], *operands)[0]


kernel(fa.matrix_function_op, lambda a, *, function: _one(lambda x: _of_one(x, function), a, a))
kernel(fa.matrix_function_derivative_op, lambda *xs, function: _one(partial(_derivative_of_one, function), xs[0], *xs))
kernel(fa.sylvester_op, lambda a, b, q: _one(scipy_linalg.solve_sylvester, q, a, b, q))
kernel(fa.schur_op, _schur)
kernel(fa.hessenberg_op, _hessenberg)


def _lu(a):
    rows = a.shape[-2]
    factors = np.empty(a.shape, a.dtype)
    pivots = np.broadcast_to(np.arange(rows, dtype=np.int32), a.shape[:-1]).copy()
    if a.size:
        for index in np.ndindex(a.shape[:-2]):
            factors[index], exchanged, _ = lu_of_one(a[index])
            pivots[index][: exchanged.size] = exchanged
    return factors, pivots


def _row_order(pivots):
    order = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for index in np.ndindex(pivots.shape[:-1]):
        rows = order[index]
        for i, j in enumerate(pivots[index].tolist()):
            rows[i], rows[j] = rows[j], rows[i]
    return order


def _banded_solve(ab, b, *, lower, upper, transposed, positive=False):
    out = np.empty(b.shape, b.dtype)
    if not b.size:
        return out
    solve = _positive_solve if positive else _general_solve
    for index in np.ndindex(b.shape[:-2]):
        with scipy_threads(max(b.shape[-1], ab.shape[-2])):
            out[index], info = solve(ab[index], b[index], lower, upper, transposed)
        if info > 0:
            minor = f"{info}th leading minor not positive definite"
            raise np.linalg.LinAlgError(minor if positive else "Singular matrix")
    return out


def _positive_solve(band, b, lower, upper, transposed):
    """Solve by the diagonals of one side of a Hermitian matrix, whose transpose is its conjugate."""
    band = band.conj() if transposed else band
    if lower + upper == 1 < band.shape[-1]:
        beside = band[1, :-1] if lower else band[0, 1:].conj()
        return routine("ptsv", band)(band[upper].real, beside, b)[-2:]
    return routine("pbsv", band)(band, b, lower > 0)[-2:]


def _general_solve(band, b, lower, upper, transposed):
    if not (lower and upper):
        return routine("tbtrs", band)(band, b, uplo="L" if lower else "U", trans="T" if transposed else "N")
    if lower == upper == 1 < band.shape[-1]:
        sides = (band[0, 1:], band[2, :-1]) if transposed else (band[2, :-1], band[0, 1:])
        return routine("gtsv", band)(sides[0], band[1], sides[1], b)[-2:]
    room = np.zeros((2 * lower + upper + 1, band.shape[-1]), band.dtype)  # elimination fills in diagonals above
    room[lower:] = band
    factors, pivots, info = routine("gbtrf", band)(room, lower, upper)
    if info > 0:
        return b, info
    return routine("gbtrs", band)(factors, lower, upper, b, pivots, trans=int(transposed))[0], 0


def _banded_cholesky(ab, *, lower):
    out = ab.copy()
    for index in np.ndindex(ab.shape[:-2] if ab.size else (0,)):
        with scipy_threads(ab.shape[-2]):
            out[index], info = routine("pbtrf", ab)(ab[index], lower)
        if info > 0:
            raise np.linalg.LinAlgError(f"{info}th leading minor not positive definite")
    return out


def _toeplitz_solve(sides, b, *, transposed):
    out = np.empty(b.shape, b.dtype)
    for index in np.ndindex(b.shape[:-2] if b.size else (0,)):
        column, row = sides[index]
        if transposed:
            column, row = np.append(column[:1], row[1:]), column
        out[index] = scipy_linalg.solve_toeplitz((column, row), b[index], check_finite=False)
    return out


def _banded_eigh(ab, *, lower, tridiagonal, only_values=False):
    batch, size, count = ab.shape[:-2], ab.shape[-1], 2 - only_values
    results = np.empty((*batch, size), ab.dtype.char.lower()), np.empty((*batch, size, size), ab.dtype)

    def solved(band):
        if size < 2:  # LAPACK errs for matrices of one number
            pair = band[0 if lower else -1].real, 1
        elif tridiagonal:
            pair = scipy_linalg.eigh_tridiagonal(band[0], band[1, :-1], only_values, check_finite=False)
        else:
            pair = scipy_linalg.eig_banded(band, lower, only_values, check_finite=False)
        return pair[:count] if isinstance(pair, tuple) else (pair,)

    solutions = each(solved, results[:count], finite(ab))
    return solutions[0] if only_values else solutions


kernel(fa.banded_eigh_op, _banded_eigh)
kernel(fa.banded_eigvalsh_op, partial(_banded_eigh, only_values=True))
kernel(fa.toeplitz_solve_op, _toeplitz_solve)
kernel(fa.banded_cholesky_op, _banded_cholesky)
kernel(fa.lu_op, _lu)
kernel(fa.row_order_op, _row_order)
kernel(fa.banded_solve_op, _banded_solve)


_SLOW = OPAQUE._replace(time=ElementTime(10.0, 5.0), scratch=op_traits.operands_and_results(8))

declare(
    _SLOW,
    fa.qr_complete_op, fa.qr_raw_op, fa.qr_order_op, fa.polar_op, fa.ldl_op, fa.balance_op,
)  # fmt: skip
declare(
    _SLOW._replace(time=ElementTime(100.0, 50.0)),
    fa.qz_op, fa.ordqz_op, fa.cossin_op, fa.cossin_angles_op,
)  # fmt: skip


_ITERATIVE = OPAQUE._replace(time=ElementTime(100.0, 50.0), scratch=op_traits.like_first_operand(12))

declare(
    _ITERATIVE,
    fa.banded_eigh_op,
    fa.banded_eigvalsh_op,
    fa.matrix_function_op,
    fa.sylvester_op,
    fa.schur_op,
    fa.hessenberg_op,
)
_BLOCKS = _ITERATIVE._replace(scratch=lambda step: op_traits.like_first_operand(3 * 4 ** len(step.metas))(step))
declare(_BLOCKS, fa.matrix_function_derivative_op)


_ELIMINATION = OPAQUE._replace(time=ElementTime(10.0, 5.0), scratch=op_traits.like_first_operand(3))

declare(_ELIMINATION, fa.lu_op, fa.banded_solve_op, fa.banded_cholesky_op, fa.row_order_op, fa.toeplitz_solve_op)
