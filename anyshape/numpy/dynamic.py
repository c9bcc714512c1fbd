"""Define NumPy's functions whose results have run-time sizes: positions, selections and distinct elements.

Each such result gets a fresh symbolic dimension.
"""

from typing import Any, NamedTuple

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.sizes import expr
from anyshape.numpy.creation import asarray
from anyshape.numpy.elementwise import equal, logical_not, not_equal
from anyshape.numpy.indexing import getitem
from anyshape.numpy.matrices import concatenate, stack
from anyshape.numpy.movement import along_axis, ravel
from anyshape.numpy.operands import promotion
from anyshape.numpy.operands.memory import writes_out
from anyshape.numpy.operands.reduction_args import makes_array
from anyshape.numpy.serve import serve
from anyshape.ops import creation as cr
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.control import check
from anyshape.ops.core.apply import context_of

_POSITION = np.dtype(np.int64)

# -- positions and choices ---------------------------------------------------------------------------------------


def nonzero(a: Any) -> Any:
    """Return the positions of nonzero elements, one int64 array per axis.

    For a traced array their length is a new symbolic size.
    """
    return dy.nonzero(promotion.as_traced(a))


def flatnonzero(a: Any) -> Any:
    """Return the positions of nonzero elements in the flattened array, as int64.

    For a traced array their number is a new symbolic size.
    """
    return dy.nonzero(ravel(a))[0]


def argwhere(a: Any) -> Any:
    """Return the positions of nonzero elements as the rows of an int64 matrix.

    For a traced array the number of rows is a new symbolic size. A scalar has one row without elements, or none.
    """
    x = promotion.as_traced(a)
    return stack(dy.nonzero(x), 1) if x.meta.rank else argwhere(x[None])[:, :0]


@writes_out
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """Return the slices along an axis at which a condition of one axis holds; None flattens the array first.

    For traced arguments the axis gets a new symbolic size, and `out` must be traced too.
    """
    chosen = promotion.as_traced(asarray(condition))
    if chosen.meta.rank != 1:
        raise context_of("compress", chosen).fail("the condition must have one axis")
    x, chosen_axis = along_axis("compress", a, axis)
    return ix.take(x, dy.nonzero(chosen)[0], chosen_axis)


def extract(condition: Any, arr: Any) -> Any:
    """Return the elements of `arr` at which the condition is nonzero; both are flattened.

    For traced arguments their number is a new symbolic size.
    """
    return ix.take(ravel(arr), dy.nonzero(ravel(promotion.as_traced(asarray(condition))))[0])


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Return a vector without the zeros at its front ("f"), its back ("b") or both.

    For a traced vector the length is a new symbolic size. Traced arrays of another rank raise UnsupportedFunctionError.
    """
    if not isinstance(trim, str) or set(trim.lower()) - {*"fb"}:
        raise ArgumentError("trim_zeros", f"trim={trim!r}", "has other letters than f and b", "write 'f', 'b' or 'fb'")
    x = promotion.as_traced(filt)
    if not promotion.axes_of(axis, x.meta.rank, "trim_zeros"):
        return x
    if x.meta.rank != 1:
        raise UnsupportedFunctionError("trim_zeros", f"an array {x.meta}", "ravel it first", user_line())
    (n,) = promotion.sizes(x)
    position, filled = cr.iota(n), not_equal(x, 0)
    whole = cr.size_value(n)
    first = rd.reduce_min(ew.select(filled, position, mv.broadcast_to(whole, (n,))), (0,), empty=True)
    last = rd.reduce_max(ew.select(filled, position, ew.lift(-1, position)), (0,), empty=True)
    none = cr.full((), 0, _POSITION)
    start = ew.minimum(first, whole) if "f" in trim.lower() else none
    stop = ew.maximum(ew.add(last, cr.full((), 1, _POSITION)), none) if "b" in trim.lower() else whole
    size = dy.runtime_size(ew.sub(stop, start), n)
    part = dy.slice_at(x, (start,), (size,))
    return mv.viewed(part, x, lambda base: dy.slice_at(base, (start,), (size,)), None, ("trim_zeros", trim))


# -- distinct elements ---------------------------------------------------------------------------------------------


class UniqueAll(NamedTuple):
    """Results of `unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Results of `unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Results of `unique_inverse`."""

    values: Any
    inverse_indices: Any


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """Return the distinct elements, or with an axis the distinct slices, in sorted order.

    The options add the index of the first occurrence, the inverse and the counts, as int64.
    For a traced array the number of distinct elements is a new symbolic size, and derivatives flow to the first
    occurrence of each. The result is sorted even with sorted=False.
    """
    promotion.flag_of("unique", "sorted", sorted)
    x = ravel(ar) if axis is None else promotion.as_traced(ar)
    along = promotion.axis_of(0 if axis is None else axis, x.meta.rank, "unique")
    first_index, inverse, counts = dy.unique(x, along, equal_nan=bool(equal_nan))
    if axis is None:
        inverse = mv.reshape(inverse, promotion.sizes(promotion.as_traced(ar)))
    chosen = [(return_index, first_index), (return_inverse, inverse), (return_counts, counts)]
    results = (ix.take(x, first_index, along), *[value for wanted, value in chosen if wanted])
    return results if len(results) > 1 else results[0]


def unique_values(x: Any) -> Any:
    """Return the distinct elements in sorted order; NaNs are all distinct.

    For a traced array their number is a new symbolic size.
    """
    return unique(x, equal_nan=False)


def unique_counts(x: Any) -> Any:
    """Return the distinct elements in sorted order and their counts; NaNs are all distinct.

    For a traced array their number is a new symbolic size.
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> Any:
    """Return the distinct elements in sorted order and the indices that rebuild x; NaNs are all distinct.

    For a traced array their number is a new symbolic size.
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_all(x: Any) -> Any:
    """Return the distinct elements in sorted order with their first indices, inverse and counts; NaNs are distinct.

    For a traced array their number is a new symbolic size.
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


@makes_array
def isin(element, test_elements, assume_unique: bool = False, invert: bool = False, *, kind=None) -> Any:
    """Return whether each element occurs in `test_elements`, as booleans in the shape of `element`.

    `invert` negates the result. For traced arguments `assume_unique` and `kind` have no effect.
    """
    promotion.choice_of("isin", "kind", kind, (None, "sort", "table"))
    dtype = np.result_type(asarray(element).dtype, asarray(test_elements).dtype)
    x, ordered = promotion.as_traced(element, dtype), rd.sort(ravel(promotion.as_traced(test_elements, dtype)), 0)
    count = mv.broadcast_to(cr.size_value(promotion.sizes(ordered)[0]), promotion.sizes(x))
    position = rd.searchsorted(ordered, x, "left")
    padded = mv.concatenate([ordered, cr.full((1,), 0, dtype)], 0)
    is_member = ew.logical_and(ew.lt(position, count), equal(ix.take(padded, position), x))
    return logical_not(is_member) if invert else is_member


def union1d(ar1: Any, ar2: Any) -> Any:
    """Return the distinct elements of both arrays in sorted order.

    For traced arrays their number is a new symbolic size.
    """
    return unique(concatenate([ravel(ar1), ravel(ar2)]))


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the distinct elements that both arrays have, in sorted order.

    `return_indices` adds the position of the first occurrence in each array. For traced arrays their number is a new
    symbolic size.
    """
    x, y = (asarray(z) for z in (ar1, ar2))
    if assume_unique:
        (x, first), (y, second) = ((ravel(z), None) for z in (x, y))
    else:
        (x, first), (y, second) = (unique(z, return_index=True) for z in (x, y))
    joined = concatenate((x, y))
    order = rd.argsort(joined, 0, stable=True)
    joined = rd.permute(joined, order, 0) if return_indices else rd.sort(joined, 0)
    repeated = equal(getitem(joined, slice(1, None)), getitem(joined, slice(None, -1)))
    common = compress(repeated, getitem(joined, slice(None, -1)))
    if not return_indices:
        return common
    mine = compress(repeated, getitem(order, slice(None, -1)))
    theirs = ew.sub(compress(repeated, getitem(order, slice(1, None))), cr.size_value(promotion.sizes(x)[0]))
    return (common, *[p if f is None else ix.take(f, p) for p, f in ((mine, first), (theirs, second))])


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    """Return the distinct elements of `ar1` that `ar2` does not have, in sorted order.

    For traced arrays their number is a new symbolic size. With `assume_unique` the order of `ar1` stays.
    """
    mine = ravel(ar1) if assume_unique else unique(ar1)
    return getitem(mine, isin(mine, ar2, invert=True))


# -- counts ------------------------------------------------------------------------------------------------------


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Return how often each integer from 0 on occurs in a vector, or the sums of its weights.

    For traced arguments the number of bins is a new symbolic size of at least `minlength`, and sums of weights are
    float64. A negative element is a CheckError of the run.
    """
    index = promotion.as_traced(asarray(x))
    ctx = context_of("bincount", index)
    if index.meta.rank != 1:
        raise ctx.fail("an array with one axis is needed")
    if not np.can_cast(index.dtype, _POSITION, "safe"):
        raise ctx.bad_dtype(f"the elements are {index.dtype}", "convert them to integers with astype(int)")
    index = ew.convert(index, _POSITION)
    if index.dtype.kind == "i":
        check(ew.ge(index, ew.lift(0, index)), "bincount: an element cannot be negative")
    (least,) = promotion.new_shape(minlength, "bincount")
    size = expr.maximum(dy.count_beyond(rd.reduce_max(index, (0,), empty=True)), least)
    if weights is not None:
        promotion.refuse_kinds("bincount", promotion.as_traced(asarray(weights)), "c")
    each = ew.lift(1, index) if weights is None else promotion.as_traced(weights, np.float64)
    if weights is not None:
        if each.meta.rank != 1:
            raise ctx.fail("weights with one axis are needed")
        ctx.require_equal(
            promotion.sizes(each)[0], promotion.sizes(index)[0], "the weights and the list have different lengths"
        )
    return ix.put_add(each, index, size)


# -- the largest -------------------------------------------------------------------------------------------------


def top_k(x: Any, k: Any) -> tuple[Any, Any]:
    """Return the k largest elements along the last axis in descending order, and their positions.

    Equal elements keep their order; NaN counts as the largest. k may be an int, a size, or an integer scalar of the
    program. NumPy has no such function.
    """
    array = x if isinstance(x, Traced) else promotion.as_traced(asarray(x))
    return dy.top_k(array, k)


serve(__name__)
