"""Define NumPy's covariances and correlation coefficients, with weights."""

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError
from anyshape.graph.prover.constraints import equal
from anyshape.graph.sizes import expr
from anyshape.numpy.operands import reduction_args as ra
from anyshape.numpy.operands.promotion import as_traced, asarray, flag_of, result_type, sizes
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.contraction import dot_general
from anyshape.ops.control import check, warn, warn_below
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import size_value

_FLOAT = np.dtype(np.float64)


@ra.makes_array
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the covariance matrix of variables, which are the rows of m (the columns without `rowvar`).

    y adds variables. `fweights` are vectors of numbers of repetitions, and `aweights` of weights, both at least 0 and
    one for each observation. Sums of products are divided by the number of observations less `ddof`, by default 1, or 0
    with `bias`. One variable gives a scalar, so a symbolic number of variables is compared to 1 by a guard.
    Weights that sum to zero are a DivisionCheckError of the run, which is a ZeroDivisionError as NumPy's.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> print(jit(np.cov)(np.array([1.0, 2.0, 4.0]), fweights=np.array([1, 1, 2])))
    2.25
    """
    operands = [m] if y is None else [m, y]
    target = np.dtype(dtype) if dtype is not None else result_type(*operands, _FLOAT)
    x = _variables(m, y, target, flag_of("cov", "rowvar", rowvar))
    freedom = _freedom(bias, ddof)
    repeats, importance = (
        None if w is None else _weights(name, x, w) for name, w in (("fweights", fweights), ("aweights", aweights))
    )
    if repeats is None and importance is None:
        centered, other, number = _unweighted(x, freedom)
    else:
        centered, other, number = _weighted(x, repeats, importance, freedom)
    result = dot_general(centered, ew.conj(other), ((1,), (1,)), ((), ()))
    result = ew.div(result, ew.convert(number, result.dtype))
    # NumPy drops both axes when there is a single variable, so the rank of the result depends on a size
    ctx, count = context_of("cov", result), sizes(result)[0]
    single = ctx.scope.branch_on(equal(count, 1, f"number of variables {count} == 1"), ctx.where)
    return mv.reshape(result, ()) if single else result


def _unweighted(x, freedom: int) -> tuple[Any, Any, Any]:
    """Return the deviations of variables from their means twice, and the number that divides their products."""
    for most, message in ((0, ra.EMPTY_MEAN), (freedom, ra.NO_FREEDOM)):
        no_variables = expr.mul(most + 1, expr.sub(1, expr.minimum(sizes(x)[0], 1)))  # then NumPy does not warn
        warn_below(expr.maximum(sizes(x)[1], no_variables), most + 1, message)
    count = size_value(sizes(x)[1])
    means = ew.div(ra.sum_over(x, (1,)), ew.convert(count, x.dtype))
    centered = ew.sub(x, ra.broadcast_back(means, x, (1,)))
    number = ew.convert(count, _FLOAT)
    number = ew.sub(number, ew.lift(freedom, number))
    return centered, centered, ew.maximum(number, ew.lift(0, number))


def _weighted(x, repeats, importance, freedom: int) -> tuple[Any, Any, Any]:
    """Return the deviations from weighted means, these with weights, and the number that divides their products."""
    factors = [w for w in (repeats, importance) if w is not None]
    w = factors[0] if len(factors) == 1 else ew.mul(*factors)
    total = ra.sum_over(w, (0,))
    has_variables = ew.gt(size_value(sizes(x)[0]), ew.lift(0, size_value(sizes(x)[0])))
    check(ew.logical_or(ew.ne(total, ew.lift(0, total)), ew.logical_not(has_variables)), "cov: the weights sum to zero")
    number = total
    if freedom:
        squares = total if importance is None else ra.sum_over(ew.mul(w, importance), (0,))
        share = ew.lift(1, total) if importance is None else ew.div(squares, total)
        number = ew.sub(total, ew.mul(share, ew.lift(freedom, total)))
    warn(ew.logical_and(has_variables, ew.le(number, ew.lift(0, number))), ra.NO_FREEDOM)
    wide = np.result_type(x.dtype, w.dtype)
    columns = mv.broadcast_in_dim(ew.convert(w, wide), sizes(x), (1,))
    values = ew.convert(x, wide)
    means = ew.div(ra.sum_over(ew.mul(values, columns), (1,)), mv.broadcast_to(ew.convert(total, wide), sizes(x)[:1]))
    rounded = ew.convert(ew.sub(values, ra.broadcast_back(means, values, (1,))), x.dtype)  # as in NumPy
    centered = ew.convert(rounded, wide)
    return centered, ew.mul(centered, columns), ew.maximum(number, ew.lift(0, number))


def _weights(name: str, x, weights):
    """Return weights of the observations as float64; what NumPy refuses in values is refused by the run."""
    own = as_traced(asarray(weights))
    if own.dtype.kind == "c":
        raise ArgumentError("cov", name, "is complex", "pass real weights")
    if own.ndim != 1:
        raise ArgumentError("cov", name, f"has {own.ndim} axes", "pass a vector")
    w = asarray(own, _FLOAT)
    ctx = context_of("cov", x, w)
    observations, count = sizes(x)[1], sizes(w)[0]
    ctx.require(equal(observations, count), f"{name} has {count} weights for {observations} observations")
    check(ew.ge(w, ew.lift(0, w)), f"cov: {name} cannot be negative")
    if name == "fweights" and own.dtype.kind == "f":
        check(ew.eq(w, ew.rint(w)), "cov: fweights must be integer")
    return w


def _freedom(bias: bool, ddof) -> int:
    """Return the number that is subtracted from the number of observations."""
    if ddof is None:
        return 0 if bias else 1
    if ddof != int(ddof):
        raise ArgumentError("cov", "ddof", f"is {ddof}", "pass an integer")
    return ddof


def _variables(m, y, dtype: np.dtype, rowvar: bool):
    """Return all variables as rows. As in NumPy, a further one without `rowvar` may be a single row too."""
    first = _as_rows("m", asarray(m, dtype), rowvar)
    if y is None:
        return first
    more = asarray(y, dtype)
    if more.ndim == 2 and not rowvar:
        ctx, rows = context_of("cov", more), sizes(more)[0]
        rowvar = ctx.scope.branch_on(equal(rows, 1, f"number of rows {rows} of y == 1"), ctx.where)
    return mv.concatenate([first, _as_rows("y", more, rowvar)], 0)


def _as_rows(name: str, x, rowvar: bool):
    """Return variables as rows; a vector is one variable."""
    if x.ndim > 2:
        raise ArgumentError("cov", name, "has more than 2 dimensions", "pass a vector or a matrix")
    if x.ndim < 2:
        return mv.reshape(x, (1, ra.count_along(x)))
    return x if rowvar else mv.transpose(x)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Return the correlation coefficients of variables, which are the rows of x (the columns without `rowvar`).

    y adds variables. Real and imaginary parts are limited to [-1, 1]. One variable gives a scalar.
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return ew.div(c, c)
    diagonal = rd.reduce_sum(ew.select(ra.identity_mask(sizes(c)), c, ew.lift(0, c)), (1,))
    scale = ew.sqrt(ew.real(diagonal) if c.dtype.kind == "c" else diagonal)
    scale = ew.convert(scale, c.dtype)
    result = ew.div(ew.div(c, ra.broadcast_back(scale, c, (1,))), ra.broadcast_back(scale, c, (0,)))
    if c.dtype.kind == "c":
        return ew.make_complex(_limited(ew.real(result)), _limited(ew.imag(result)))
    return _limited(result)


def _limited(x):
    return ew.maximum(ew.minimum(x, ew.lift(1, x)), ew.lift(-1, x))


serve(__name__)
