"""Define the methods of ufuncs on traced arrays: `np.add.reduce(x)`, `np.multiply.accumulate(x)` and the like."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.numpy import elementwise, reduction, special
from anyshape.numpy.operands.promotion import asarray, is_traced, is_weak, operand, sizes
from anyshape.numpy.operands.reduction_args import ABSENT, apply_mask, flat_if_no_axis, refuse_out
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd


def _reduce(function: Callable[..., Any], *options: str) -> Callable[..., Any]:
    """Return a reduction with these options whose axis is 0 by default, as for a ufunc."""

    def method(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None,
        keepdims: bool = False, initial: Any = ABSENT, where: Any = ABSENT,
    ) -> Any:  # fmt: skip
        values = {"dtype": dtype, "initial": initial, "where": where}
        values = {k: v for k, v in values.items() if v is not None and v is not ABSENT and v is not True}
        for option in values:
            if option not in options:
                problem = f"option {option!r} of a traced array"
                raise UnsupportedFunctionError(f"reduce ({function.__name__})", problem, "leave it out", user_line())
        return function(array, axis=axis, out=_single(out), keepdims=keepdims, **values)

    return method


def _single(out: Any) -> Any:
    """Return `out`, which NumPy's protocol passes as a tuple."""
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _accumulate(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an accumulation whose axis is 0 by default, as for a ufunc."""

    def method(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        return function(array, axis=axis, dtype=dtype, out=_single(out))

    return method


def _accumulate_as(name: str, apply: Callable[[Any, int], Any], integers: bool = True) -> Callable[..., Any]:
    """Return an accumulation that has no NumPy function of its own."""

    def function(array: Any, axis: Any, dtype: Any, out: Any) -> Any:
        refuse_out(name, out)
        x = asarray(array, dtype)
        if x.dtype.kind in "biu" and not integers:
            x = asarray(x, np.float64)
        return apply(*flat_if_no_axis(name, x, axis))

    return _accumulate(function)


def _logaddexp_reduce(a: Any, axis: Any, out: Any, keepdims: bool, dtype: Any = None, **options: Any) -> Any:
    """Return the logarithm of the sum of exponentials; `where` and `initial` as in other reductions."""
    refuse_out("logaddexp.reduce", out)
    x = asarray(a, dtype)
    x = x if x.dtype.kind == "f" else asarray(x, np.float64)
    x = apply_mask("logaddexp.reduce", x, options.get("where", ABSENT), float("-inf"))
    result = reduction.logsumexp(x, axis, keepdims=keepdims)
    return ew.logaddexp(result, asarray(options["initial"], x.dtype)) if "initial" in options else result


def _outer(function: Callable[..., Any], a: Any, b: Any, **options: Any) -> Any:
    """Return each element of a combined with each of b by a ufunc, as `ufunc.outer(a, b)` does."""
    x, y = (_strong(operand(z if is_traced(z) else np.asarray(z))) for z in (a, b))  # unlike in a call of the ufunc
    return function(mv.reshape(x, (*sizes(x), *[1] * y.ndim)), y, **options)


def _strong(x: Any) -> Any:
    """Return an operand that no longer counts as a Python scalar."""
    return type(x)(x.builder, x.value) if isinstance(x, Traced) and is_weak(x) else x


METHODS: dict[tuple[np.ufunc, str], Callable[..., Any]] = {
    (np.add, "reduce"): _reduce(reduction.sum, "dtype", "initial", "where"),
    (np.multiply, "reduce"): _reduce(reduction.prod, "dtype", "initial", "where"),
    (np.maximum, "reduce"): _reduce(reduction.max, "initial", "where"),
    (np.minimum, "reduce"): _reduce(reduction.min, "initial", "where"),
    (np.logical_and, "reduce"): _reduce(reduction.all, "where"),
    (np.logical_or, "reduce"): _reduce(reduction.any, "where"),
    (np.logaddexp, "reduce"): _reduce(_logaddexp_reduce, "dtype", "initial", "where"),
    (np.add, "accumulate"): _accumulate(reduction.cumsum),
    (np.multiply, "accumulate"): _accumulate(reduction.cumprod),
    (np.maximum, "accumulate"): _accumulate_as("maximum.accumulate", rd.cummax),
    (np.minimum, "accumulate"): _accumulate_as("minimum.accumulate", rd.cummin),
    (np.logaddexp, "accumulate"): _accumulate_as("logaddexp.accumulate", rd.cumlogsumexp, integers=False),
}
for _module in (elementwise, special):
    for _name, _function in vars(_module).items():
        _ufunc = getattr(np, _name, None) or getattr(scipy.special, _name, None)
        if isinstance(_ufunc, np.ufunc) and _ufunc.nin == 2:
            METHODS[_ufunc, "outer"] = functools.partial(_outer, _function)
