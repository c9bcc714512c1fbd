"""Define NumPy's functions of polynomials, whose coefficients stand in a vector, that of the highest power first."""

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import OperandAxes, at_least, equal
from anyshape.graph.sizes import expr
from anyshape.numpy import creation, dynamic, matrices, movement, reduction
from anyshape.numpy.analysis import signals
from anyshape.numpy.contraction import matmul, outer
from anyshape.numpy.elementwise import isclose, logical_not, not_equal
from anyshape.numpy.linalg import decompositions, solving
from anyshape.numpy.operands.promotion import as_traced, new_size, sizes, static_int
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.control import check, warn
from anyshape.ops.core.apply import context_of


def _coefficients(name: str, p):
    """Return a vector of coefficients."""
    row = as_traced(p)
    if row.ndim != 1:
        raise context_of(name, row).fail(f"the coefficients must be a vector, and have {row.ndim} axes")
    return row


def _order(name: str, m) -> int:
    """Return how often to differentiate or to integrate."""
    if (order := static_int(m, name, "the order")) < 0:
        raise ArgumentError(name, f"m={order}", "is negative", "write a number from 0 on")
    return order


def polyval(p: Any, x: Any) -> Any:
    """Return the values of the polynomial with coefficients `p` at x.

    The number of coefficients decides the number of steps, so a program is made for each.
    """
    points = as_traced(x)
    value = creation.zeros_like(points)
    for coefficient in as_traced(p):
        value = value * points + coefficient
    return value


def polyder(p: Any, m: Any = 1) -> Any:
    """Return the coefficients of the m-th derivative of a polynomial."""
    row = _coefficients("polyder", p)
    for _ in range(_order("polyder", m)):
        row = row[:-1] * creation.arange(row.shape[0] - 1, 0, -1)
    return row


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """Return the coefficients of the m-th integral of a polynomial; `k` has the constants, 0 by default."""
    row, order = _coefficients("polyint", p), _order("polyint", m)
    constants = _constants(k, order)
    for position in range(order):
        row = matrices.concatenate([row / creation.arange(row.shape[0], 0, -1), constants[position : position + 1]])
    return row


def _constants(k, order: int):
    """Return the constants of integrals; one serves for all."""
    if k is None:
        return creation.zeros(order)
    row = as_traced(k)
    row = row if row.ndim else mv.reshape(row, (1,))
    ctx, (count,) = context_of("polyint", row), sizes(row)
    if order > 1 and ctx.scope.branch_on(equal(count, 1, f"number of constants {count} == 1"), ctx.where):
        return row * creation.ones(order)
    ctx.require(at_least(count, order), f"{count} constants for {order} integrals")
    return row


def _sum(name: str, a1, a2, sign: int):
    """Return the sum or the difference of polynomials, with zeros before the coefficients of the shorter one."""
    rows = [_coefficients(name, movement.atleast_1d(as_traced(a))) for a in (a1, a2)]
    longest = expr.maximum(*[sizes(row)[0] for row in rows])
    first, second = (mv.pad_unchecked(row, (expr.sub(longest, sizes(row)[0]),), (0,), (0,)) for row in rows)
    return first + second if sign > 0 else first - second


def polyadd(a1: Any, a2: Any) -> Any:
    """Return the coefficients of the sum of two polynomials."""
    return _sum("polyadd", a1, a2, 1)


def polysub(a1: Any, a2: Any) -> Any:
    """Return the coefficients of the difference of two polynomials."""
    return _sum("polysub", a1, a2, -1)


def _leading(name: str, p):
    """Return a vector of coefficients that does not begin with 0, which NumPy would leave out, unless it is 0 alone."""
    row = _coefficients(name, movement.atleast_1d(as_traced(p)))
    ctx, (count,) = context_of(name, row), sizes(row)
    ctx.require(at_least(count, 1), "there are no coefficients")
    is_single = ew.eq(cr.size_value(count), cr.full((), 1, np.int64))
    starts = not_equal(row[0], 0)
    check(ew.logical_or(is_single, starts), f"{name}: the coefficient of the highest power is 0")
    return row


def polymul(a1: Any, a2: Any) -> Any:
    """Return the coefficients of the product of two polynomials.

    A coefficient of the highest power that is 0 is a CheckError of the run; NumPy leaves it out.
    """
    return signals.convolve(_leading("polymul", a1), _leading("polymul", a2))


def polydiv(u: Any, v: Any) -> Any:
    """Return the coefficients of the quotient and of the remainder of two polynomials.

    The numbers of coefficients decide the number of steps, so a program is made for each. The remainder has no zeros in
    front, so the number of its coefficients is a run-time size.
    """
    rest, divisor = (_coefficients("polydiv", movement.atleast_1d(as_traced(p))) + 0.0 for p in (u, v))
    steps, order = len(rest) - len(divisor) + 1, len(divisor) - 1
    dtype = np.result_type(rest.dtype, divisor.dtype)
    rest, divisor = ew.convert(rest, dtype), ew.convert(divisor, dtype)
    scale, quotient = 1.0 / divisor[0], []
    for _ in range(steps):
        factor = scale * rest[0]
        quotient.append(factor)
        part = rest[: order + 1] - factor * divisor
        rest = matrices.concatenate([part[1:], rest[order + 1 :]]) if order or len(rest) > 1 else part
    if not order and steps > 0:
        rest = creation.zeros(1, dtype)
    near = logical_not(isclose(rest, 0, rtol=1e-14))
    after = ew.gt(reduction.cumsum(near), cr.full(sizes(rest), 0, np.int64))
    is_last = ew.eq(cr.iota(len(rest)), cr.full(sizes(rest), len(rest) - 1, np.int64))
    values = matrices.stack(quotient) if quotient else creation.zeros(1, dtype)
    return values, dynamic.compress(ew.logical_or(after, is_last), rest)


def poly(seq_of_zeros: Any) -> Any:
    """Return the coefficients of the polynomial with these roots, or with the eigenvalues of a square matrix.

    The number of roots decides the number of steps, so a program is made for each. Complex roots give complex
    coefficients, also where NumPy finds conjugate pairs and takes the real part.
    """
    zeros = movement.atleast_1d(as_traced(seq_of_zeros))
    is_real = zeros.dtype.kind != "c"
    if zeros.ndim == 2:
        zeros = decompositions.eigvals(zeros)
    row = _coefficients("poly", zeros if zeros.dtype.kind in "fc" else ew.convert(zeros, np.float64))
    result = creation.ones(1, row.dtype)
    for zero in row:
        moved = result * zero
        result = matrices.concatenate([result, creation.zeros(1, row.dtype)])
        result = result - matrices.concatenate([creation.zeros(1, row.dtype), moved])
    return result.real if is_real else result


def roots(p: Any) -> Any:
    """Return the roots of a polynomial, as complex numbers: the eigenvalues of its companion matrix.

    A coefficient of the highest power that is 0 is a CheckError of the run; NumPy leaves it out.
    """
    row = _leading("roots", p)
    row = row if row.dtype.kind in "fc" else ew.convert(row, np.float64)
    count = row.shape[0] - 1
    below = matrices.eye(count, dtype=row.dtype)
    companion = matrices.concatenate([mv.expand(-row[1:] / row[0], (0,)), below])
    return decompositions.eigvals(companion[:count])


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Return the matrix of powers of the elements of a vector, N columns from power N - 1 down to 0.

    N is the number of elements by default, and may be symbolic. With `increasing` the powers go up.
    """
    row = _coefficients("vander", x)
    (count,) = sizes(row)
    columns = count if N is None else new_size(N, "vander")
    row = ew.convert(row, np.promote_types(row.dtype, int))
    some = expr.minimum(columns, 1)
    ones = cr.full((count, some), 1, row.dtype)
    others = mv.broadcast_in_dim(row, (count, expr.sub(columns, some)), (0,))
    powers = mv.concatenate([ones, reduction.cumprod(others, 1)], 1)
    return powers if increasing else mv.rev(powers, (1,))


# -- fits --------------------------------------------------------------------------------------------------------


def _fit_operand(name: str, x, ranks: tuple[int, ...]):
    """Return a floating operand of a fit."""
    array = as_traced(x) + 0.0
    if array.ndim not in ranks:
        raise context_of("polyfit", array).fail(f"{name} has {array.ndim} axes")
    return array


def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """Return the coefficients of the polynomial of degree `deg` through points (x, y) with the least squares.

    x is a vector, and y a vector or a matrix with a column for each polynomial. `w` weights the points. With `full`,
    the residuals, rank, singular values and `rcond` follow. With `cov` the covariance matrix follows, "unscaled" where
    weights are 1 over the errors. The degree is an int.
    """
    if (order := static_int(deg, "polyfit", "the degree") + 1) < 1:
        raise ArgumentError("polyfit", f"deg={deg}", "is negative", "write a number from 0 on")
    points, values = _fit_operand("x", x, (1,)), _fit_operand("y", y, (1, 2))
    ctx, (count,) = context_of("polyfit", points, values), sizes(points)
    ctx.require(at_least(count, 1), "there are no points")
    ctx.require_equal(
        count, sizes(values)[0], f"{count} points have {sizes(values)[0]} values", OperandAxes(3, (0, 0), (1, 0))
    )
    left, right = vander(points, order), values
    if w is not None:
        weights = _fit_operand("w", w, (1,))
        ctx.require_equal(count, sizes(weights)[0], f"{count} points have {sizes(weights)[0]} weights")
        left = left * weights[:, None]
        right = right * (weights[:, None] if right.ndim == 2 else weights)
    if rcond is None:
        rcond = ew.convert(cr.size_value(count), np.float64) * float(np.finfo(points.dtype).eps)
    scale = ew.sqrt((left * left).sum(axis=0))
    solution, residuals, rank, singular = decompositions.lstsq(left / scale, right, rcond)
    coefficients = (solution.T / scale).T
    if full:
        return coefficients, residuals, rank, singular, rcond
    warn(ew.ne(rank, ew.lift(order, rank)), "Polyfit may be poorly conditioned")
    if cov is False or (not isinstance(cov, str) and not cov):
        return coefficients
    return coefficients, _covariance(left, scale, residuals, values, order, cov)


def _covariance(left, scale, residuals, values, order: int, cov):
    """Return the covariance matrix of the coefficients, one for each column of values."""
    scaled = left / scale
    base = solving.inv(matmul(scaled.T, scaled)) / outer(scale, scale)
    if isinstance(cov, str) and cov == "unscaled":
        return base if values.ndim == 1 else base[:, :, None]
    (count, _) = sizes(left)
    too_few = f"{count} points do not exceed the number of coefficients {order}"
    context_of("polyfit", values).require(at_least(count, order + 1), too_few)
    factor = residuals / ew.convert(cr.size_value(expr.sub(count, order)), residuals.dtype)
    return base * factor if values.ndim == 1 else base[:, :, None] * factor


serve(__name__)
