"""Choose between elements: `where`, `select`, `piecewise`, and the limits of `clip` and `nan_to_num`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.numpy.elementwise import exceeds_dtype, greater_equal, less_equal
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.index_parser import fit_mask
from anyshape.numpy.operands.memory import into, makes_copy, owned, stretches_to_out
from anyshape.numpy.operands.reduction_args import ABSENT, extreme_value, makes_array
from anyshape.numpy.serve import serve
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.ops.creation import full
from anyshape.ops.dynamic import nonzero

# -- conditions


@makes_array
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """Return x where the condition holds and y elsewhere.

    The three broadcast; the dtype is that of x and y promoted. With the condition alone, return its nonzero positions:
    one int64 array per axis, whose length is a new symbolic size if the condition is traced.
    """
    if x is None and y is None:
        return nonzero(promotion.asarray(condition))
    if x is None or y is None:
        raise ArgumentError("where", "y" if y is None else "x", "is missing", "pass both, or the condition alone")
    dtype = promotion.result_type(x, y)
    mask = promotion.cast_operand(condition, np.dtype(bool))
    return ew.select(mask, promotion.cast_operand(x, dtype, "where"), promotion.cast_operand(y, dtype, "where"))


@makes_array
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Return the first choice whose condition holds at an element, or `default`.

    Conditions, choices and `default` broadcast; the dtype is that of the choices and `default` promoted. With traced
    arguments a condition that is not boolean raises DTypeError and lists of unequal length raise ArgumentError.
    """
    if len(condlist) != len(choicelist) or not len(condlist):
        problem = f"has {len(choicelist)} choices for {len(condlist)} conditions"
        raise ArgumentError("select", "choicelist", problem, "pass one choice for each condition")
    dtype = promotion.result_type(*choicelist, default)
    result = promotion.cast_operand(default, dtype, "select")
    for condition, choice in zip(reversed(condlist), reversed(choicelist)):
        if promotion.result_type(condition).kind != "b":
            raise DTypeError("select", "a condition is not boolean", "compare it to make it bool", user_line())
        result = ew.select(
            promotion.cast_operand(condition, np.dtype(bool)), promotion.cast_operand(choice, dtype, "select"), result
        )
    return result


@makes_array
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Return `funclist[i](x)` where `condlist[i]` holds, and the last function or value elsewhere.

    The result has the shape and dtype of x. Where several conditions hold, the last one counts.
    With traced arguments each function gets all of x, where NumPy passes the elements at which its condition holds.
    So functions must act elementwise and be defined everywhere.
    """
    x = promotion.asarray(x, function="piecewise")
    conditions = [_condition(x, c) for c in _conditions(condlist, x.ndim)]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        problem = f"has {len(funclist)} functions for {len(conditions)} conditions"
        raise ArgumentError("piecewise", "funclist", problem, "pass one for each condition and perhaps a default")
    functions = list(funclist)
    default = functions.pop() if len(functions) > len(conditions) else 0
    result = _piece(default, x, args, kw)
    for condition, function in zip(conditions, functions, strict=True):
        result = ew.select(condition, _piece(function, x, args, kw), result)
    return result


def _conditions(condlist, rank: int) -> Sequence[Any]:
    """Return a list of conditions; a list of numbers is one condition, except for a scalar."""
    if not isinstance(condlist, (list, tuple)):
        return [condlist]
    is_one = rank and condlist and not isinstance(condlist[0], (list, tuple)) and not np.ndim(condlist[0])
    return [condlist] if is_one else condlist


def _condition(x, condition):
    """Return a condition in the shape of x: it chooses along the first axes, as a mask."""
    mask = promotion.cast_operand(condition, np.dtype(bool), "piecewise")
    fit_mask(context_of("piecewise", x), promotion.sizes(x), mask)
    return mv.broadcast_in_dim(mask, promotion.sizes(x), range(mask.ndim))


def _piece(function, x, args, kw):
    """Return one function of `piecewise` applied to all of x, in the shape and dtype of x."""
    value = function(x, *args, **kw) if callable(function) else function
    return ew.broadcast_operands("piecewise", x, promotion.cast_operand(value, x.dtype, "piecewise"))[1]


# -- limits


def _refuse_options(options: dict[str, Any]) -> None:
    """Raise TypeError for options that `clip` does not have, and UnsupportedFunctionError for options of ufuncs."""
    for name in options:
        if name not in ("where", "casting", "order", "dtype", "subok", "signature"):
            raise TypeError(f"clip() got an unexpected keyword argument {name!r}")
        raise UnsupportedFunctionError("clip", "ufunc options of a traced array", "leave them out", user_line())


@stretches_to_out
@makes_copy
def clip(
    a: Any, a_min: Any = ABSENT, a_max: Any = ABSENT, out: Any = None, *, min: Any = ABSENT, max: Any = ABSENT,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Return `a` limited to the range from `a_min` to `a_max`.

    `min` and `max` are other names of the limits; None sets no limit. All broadcast, and dtypes promote as in NumPy.
    At a limit the derivative is shared by the array and the limit, half each. With traced arguments `out` must
    be traced too, and ufunc options raise UnsupportedFunctionError.
    """
    low, high = _stated(min, a_min), _stated(max, a_max)
    _refuse_options(kwargs)
    _check_names([min, max], [a_min, a_max])
    dtype = promotion.result_type(a)  # NumPy takes even a scalar `a` as an array
    if low is None and high is None:
        promotion.refuse_kinds("clip", np.empty(0, dtype), "b")
    limits = {sign: x for sign, x in ((-1, low), (1, high)) if x is not None and _cuts(x, dtype, sign)}
    target = promotion.result_type(dtype, *limits.values())
    clipped = promotion.cast_operand(a, target, "clip")
    for sign, limit in limits.items():
        bound = _limit_operand(limit, dtype, target, sign)
        nearer = ew.minimum if sign > 0 else ew.maximum
        clipped = nearer(clipped, _signed_as(clipped, limit, bound) if len(limits) == 2 else bound)
    return clipped


def _signed_as(x, limit, bound):
    """Return a limit whose zero has the sign of the element: between two scalars NumPy keeps an element of 0."""
    if x.dtype.kind != "f" or bound.ndim or (not promotion.is_traced(limit) and limit != 0):
        return bound
    tie, zero = ew.eq(x, bound), ew.lift(0, bound)
    if not promotion.is_traced(limit):
        return ew.copysign(bound, ew.select(tie, x, bound))
    signed = ew.select(ew.signbit(x), ew.neg(ew.add(ew.neg(bound), zero)), ew.add(bound, zero))
    return ew.select(tie, signed, bound)


def _check_names(keywords: list[Any], limits: list[Any]) -> None:
    """Refuse limits under two names, and an upper limit in the place of the lower one."""
    stated = [x is not ABSENT for x in limits]
    if any(x is not ABSENT for x in keywords):
        if any(stated):
            raise ArgumentError("clip", "a limit", "is given under two names", "write min and max, or a_min and a_max")
    elif stated == [False, True]:
        raise ArgumentError("clip", "a_min", "is missing", "write clip(x, max=limit)")


def _stated(limit, other):
    """Return a limit under the name that the call uses; None if it uses neither."""
    if limit is ABSENT or limit is None:
        limit = other
    return None if limit is ABSENT else limit


def _cuts(limit, dtype: np.dtype, sign: int) -> bool:
    """Return whether a limit can change an element; a Python int at the end of an integer range cannot."""
    if dtype.kind not in "iu" or type(limit) is not int:
        return True
    info = np.iinfo(dtype)
    return limit < info.max if sign > 0 else limit > info.min


def _limit_operand(bound, dtype: np.dtype, target: np.dtype, sign: int):
    """Return a limit of `clip` in the dtype of the result.

    As in NumPy, a Python int that no element reaches sets no limit; for a traced one this is decided when the program
    runs.
    """
    if dtype.kind not in "iu" or not promotion.is_weak(bound) or not promotion.is_traced(bound):
        return promotion.cast_operand(bound, target, "clip")
    limit = promotion.operand(bound, "clip")
    if limit.dtype.kind not in "iu" or limit.dtype == dtype == target:
        return promotion.cast_operand(bound, target, "clip")
    compare, nearer = (greater_equal, ew.minimum) if sign > 0 else (less_equal, ew.maximum)
    is_idle, extreme = compare(limit, extreme_value(dtype, sign)), extreme_value(target, sign)
    if target.kind not in "iu":
        return ew.select(is_idle, full((), extreme, target), ew.convert(limit, target))
    if not exceeds_dtype(extreme, limit):
        limit = nearer(limit, ew.lift(extreme, limit))
    return ew.select(is_idle, full((), extreme, target), ew.narrow(limit, target))


def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Return x with NaN, infinity and negative infinity replaced by `nan`, `posinf` and `neginf`.

    By default infinities become the extreme finite numbers of the dtype. The result has the shape and dtype of x.
    A replaced element has derivative 0. Without `copy` the elements of x itself are replaced.
    """
    finite = _finite(promotion.asarray(x, function="nan_to_num"), nan, posinf, neginf)
    is_written = not copy and isinstance(x, Traced) and x.is_array and finite is not x
    return into(x, finite, "nan_to_num") if is_written else owned(finite, x) if copy else finite


def _finite(x, nan, posinf, neginf):
    """Return x with NaN and infinities replaced, in both parts of complex numbers."""
    if x.dtype.kind == "c":
        return ew.make_complex(*[_finite(part, nan, posinf, neginf) for part in (ew.real(x), ew.imag(x))])
    if x.dtype.kind != "f":
        return x
    largest = float(np.finfo(x.dtype).max)
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    for condition, value in (
        (ew.isnan(x), nan),
        (ew.eq(x, ew.lift(np.inf, x)), high),
        (ew.eq(x, ew.lift(-np.inf, x)), low),
    ):
        x = ew.select(condition, mv.broadcast_to(promotion.cast_operand(value, x.dtype), promotion.sizes(x)), x)
    return x


serve(__name__)
