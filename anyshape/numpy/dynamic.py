"""NumPy's functions whose results have sizes that depend on data: positions, choices, kinds and counts."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

from anyshape.errors import MutationError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.sizes import expr
from anyshape.numpy.array_parts import lifted
from anyshape.numpy.creation import asarray
from anyshape.numpy.elementwise import equal, logical_not, not_equal
from anyshape.numpy.indexing import getitem
from anyshape.numpy.movement import concatenate, ravel, stack
from anyshape.numpy.operands.promotion import axis_of, is_traced, new_shape, sizes
from anyshape.numpy.reduction_args import refuse_out
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops import sorting as so
from anyshape.ops.apply import context_of
from anyshape.ops.control import check

_POSITION = np.dtype(np.int64)

# -- positions and choices ---------------------------------------------------------------------------------------


def nonzero(a: Any) -> Any:
    """As `numpy.nonzero`; the positions have a size of their own."""
    return dy.nonzero(lifted(a)) if is_traced(a) else np.nonzero(a)


def flatnonzero(a: Any) -> Any:
    """As `numpy.flatnonzero`."""
    return dy.nonzero(ravel(a))[0] if is_traced(a) else np.flatnonzero(a)


def argwhere(a: Any) -> Any:
    """As `numpy.argwhere`, of an array with axes."""
    return stack(dy.nonzero(lifted(a)), 1) if is_traced(a) else np.argwhere(a)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """As `numpy.compress`."""
    if not is_traced(condition, a):
        return np.compress(condition, a, axis, out)
    refuse_out("compress", out)
    chosen = lifted(asarray(condition))
    if chosen.meta.rank != 1:
        raise context_of("compress", chosen).fail("the condition must have one axis")
    x = ravel(a) if axis is None else lifted(a)
    return ix.take(x, dy.nonzero(chosen)[0], axis_of(axis or 0, x.meta.rank, "compress"))


def extract(condition: Any, arr: Any) -> Any:
    """As `numpy.extract`."""
    if not is_traced(condition, arr):
        return np.extract(condition, arr)
    return ix.take(ravel(arr), dy.nonzero(ravel(lifted(asarray(condition))))[0])


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """As `numpy.trim_zeros`, of an array of one axis."""
    if not is_traced(filt):
        return np.trim_zeros(filt, trim) if axis is None else np.trim_zeros(filt, trim, axis)
    x = lifted(filt)
    if x.meta.rank != 1:
        raise UnsupportedFunctionError("trim_zeros", f"an array {x.meta}", "ravel it first", user_line())
    (n,) = sizes(x)
    place, filled = cr.iota(n), not_equal(x, 0)
    whole = cr.size_value(n)
    first = rd.reduce_min(ew.select(filled, place, mv.broadcast_to(whole, (n,))), (0,), empty=True)
    last = rd.reduce_max(ew.select(filled, place, ew.lift(-1, place)), (0,), empty=True)
    none = cr.full((), 0, _POSITION)
    start = ew.minimum(first, whole) if "f" in trim.lower() else none
    stop = ew.maximum(ew.add(last, cr.full((), 1, _POSITION)), none) if "b" in trim.lower() else whole
    return getitem(x, slice(start, stop))


# -- writes that a program cannot make ---------------------------------------------------------------------------


def _refuse(name: str, target: Any) -> NoReturn:
    if not isinstance(target, Traced):
        advice = "build the array with np.where instead of writing to one"
        raise UnsupportedFunctionError(f"numpy.{name}", "of a traced array into a concrete one", advice, user_line())
    instead = "x = np.where(mask, v, x), x = x.at[mask].set(v), or x = anyshape.ops.place(x, mask, values)"
    raise MutationError(f"np.{name}(x, ...)", instead, user_line())


def place(arr: Any, mask: Any, vals: Any) -> None:
    """As `numpy.place` of arrays outside a program; a traced array is not written to."""
    if is_traced(arr, mask, vals):
        _refuse("place", arr)
    np.place(arr, mask, vals)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """As `numpy.putmask` of arrays outside a program; a traced array is not written to."""
    if is_traced(a, mask, values):
        _refuse("putmask", a)
    np.putmask(a, mask, values)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """As `numpy.copyto` of arrays outside a program; a traced array is not written to."""
    if is_traced(dst, src, where):
        _refuse("copyto", dst)
    np.copyto(dst, src, casting, where)


# -- kinds -------------------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """As `numpy.unique`; always sorted. The values have the derivative of the first element of each kind."""
    if not is_traced(ar):
        options = {"axis": axis, "equal_nan": equal_nan}
        return np.unique(ar, return_index, return_inverse, return_counts, **options)
    x = ravel(ar) if axis is None else lifted(ar)
    along = axis_of(axis or 0, x.meta.rank, "unique")
    first, kind, counts = dy.unique(x, along, equal_nan=bool(equal_nan))
    if axis is None:
        kind = mv.reshape(kind, sizes(lifted(ar)))
    chosen = [(return_index, first), (return_inverse, kind), (return_counts, counts)]
    found = (ix.take(x, first, along), *[value for wanted, value in chosen if wanted])
    return found if len(found) > 1 else found[0]


def unique_values(x: Any, /) -> Any:
    """As `numpy.unique_values`, in sorted order."""
    return unique(x, equal_nan=False)


def unique_counts(x: Any, /) -> Any:
    """As `numpy.unique_counts`."""
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any, /) -> Any:
    """As `numpy.unique_inverse`."""
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_all(x: Any, /) -> Any:
    """As `numpy.unique_all`."""
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """As `numpy.isin`, by sorting the elements to be found."""
    if not is_traced(element, test_elements):
        return np.isin(element, test_elements, assume_unique, invert, kind=kind)
    dtype = np.result_type(asarray(element).dtype, asarray(test_elements).dtype)
    x, known = lifted(element, dtype), so.sort(ravel(lifted(test_elements, dtype)), 0)
    count = mv.broadcast_to(cr.size_value(sizes(known)[0]), sizes(x))
    position = so.searchsorted(known, x, "left")
    padded = mv.concatenate([known, cr.full((1,), 0, dtype)], 0)
    found = ew.logical_and(ew.lt(position, count), equal(ix.take(padded, position), x))
    return logical_not(found) if invert else found


def union1d(ar1: Any, ar2: Any) -> Any:
    """As `numpy.union1d`."""
    return unique(concatenate([ravel(ar1), ravel(ar2)])) if is_traced(ar1, ar2) else np.union1d(ar1, ar2)


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """As `numpy.intersect1d`, without indices."""
    if not is_traced(ar1, ar2):
        return np.intersect1d(ar1, ar2, assume_unique, return_indices)
    if return_indices:
        raise UnsupportedFunctionError("intersect1d", "option 'return_indices'", "use unique and isin", user_line())
    dtype = np.result_type(asarray(ar1).dtype, asarray(ar2).dtype)
    mine = unique(lifted(ar1, dtype))
    return getitem(mine, isin(mine, ar2))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """As `numpy.setdiff1d`."""
    if not is_traced(ar1, ar2):
        return np.setdiff1d(ar1, ar2, assume_unique)
    mine = ravel(ar1) if assume_unique else unique(ar1)
    return getitem(mine, isin(mine, ar2, invert=True))


# -- counts ------------------------------------------------------------------------------------------------------


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """As `numpy.bincount`; the number of bins depends on the largest element. With weights it is always float64."""
    if not is_traced(x, weights, minlength):
        return np.bincount(x, weights, minlength)
    index = lifted(asarray(x))
    ctx = context_of("bincount", index)
    if index.meta.rank != 1:
        raise ctx.fail("an array with one axis is needed")
    if not np.can_cast(index.dtype, _POSITION, "safe"):
        raise ctx.bad_dtype(f"the elements are {index.dtype}", "convert them to integers with astype(int)")
    index = ew.convert(index, _POSITION)
    if index.dtype.kind == "i":
        check(ew.ge(index, ew.lift(0, index)), "bincount: an element cannot be negative")
    (least,) = new_shape(minlength, "bincount")
    largest = rd.reduce_max(index, (0,), empty=True)
    size = expr.maximum(dy.count_beyond(largest), least)
    each = ew.lift(1, index) if weights is None else lifted(weights, np.float64)
    if weights is not None:
        ctx.require_equal(sizes(each)[0], sizes(index)[0], "the weights and the list have different lengths")
    return ix.put_add(each, index, size)


# -- the largest -------------------------------------------------------------------------------------------------


def top_k(x: Any, k: Any) -> tuple[Any, Any]:
    """The k largest elements along the last axis, in descending order, and their positions; of equal ones the first.

    NaN counts as the largest. k may be an int, a size, or an integer scalar of the program.
    """
    found = x if isinstance(x, Traced) else lifted(asarray(x))
    return dy.top_k(found, k)
