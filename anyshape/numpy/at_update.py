"""Define `x.at[key].set(v)` and its siblings: arrays with a part replaced or changed.

They are `x[key] = v` without a change of x. Each key that can be read can be written. Where updates name one element
several times, `set` leaves the last one in C order, and the others accumulate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from anyshape.errors import ArgumentError, MutationError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.numpy import elementwise
from anyshape.numpy.creation import asarray
from anyshape.numpy.movement import ravel, reshape
from anyshape.numpy.operands.index_parser import Key, Target, fit_mask, mask_alone
from anyshape.numpy.operands.promotion import as_traced, axis_of, cast_operand, is_weak, sizes
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of, meta_of
from anyshape.ops.creation import full, iota

_READ = {None: "error", "error": "error", "promise_in_bounds": "error", "clip": "clip", "fill": "fill", "drop": "fill"}
_WRITE = _READ | {"fill": "drop", "drop": "drop"}


def at(x: Any) -> _At:
    """Return x ready to be read or updated at a key.

    `at(x)[key].set(v)` is x with the elements that x[key] names set to v. The methods are `set`, `add`, `subtract`,
    `multiply`, `divide`, `power`, `min`, `max`, `apply` and `get`. NumPy has no such function.
    """
    return _At(as_traced(x))


class _At:
    """Array that waits for a key."""

    __slots__ = ("x",)

    def __init__(self, x: Any) -> None:
        self.x: Any = x

    def __getitem__(self, key: Any) -> Indexed:
        return Indexed(self.x, key)

    def __call__(self, key: Any) -> NoReturn:
        raise ArgumentError("x.at(...)", "the call", "names no elements", "write x.at[i].set(v), with brackets")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise MutationError("x.at[...] = v", "an update is a new array", "write x = x.at[...].set(v)", user_line())


class Indexed:
    """Part of an array that a key names. Each method returns a new array.

    `mode` decides about an index out of range:

    - None, "error" or JAX's "promise_in_bounds": an IndexError, as in NumPy;
    - "clip": the nearest element;
    - "drop" or "fill": no update.

    A negative index counts from the end before that. `unique_indices` promises that no element is named twice;
    `indices_are_sorted` has no effect.
    """

    __slots__ = ("key", "x")

    def __init__(self, x: Any, key: Any) -> None:
        self.x, self.key = x, key

    def set(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with this part replaced; of updates to one element the last in C order stays."""
        if (mask := mask_alone(self.key)) is not None and _stretches(self.x, mask, values):
            new = mv.broadcast_to(in_dtype_of(self.x, values, "set"), sizes(self.x))
            return ew.select(_like(self.x, mask), new, self.x)
        return self._scatter("set", values, mode, unique_indices)

    def add(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with values added to this part; all updates to one element are added."""
        return self._accumulate("add", 0, elementwise.add, values, mode, unique_indices)

    def subtract(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with values subtracted from this part."""
        if self.x.dtype.kind == "b":
            raise context_of("at").bad_dtype("bools cannot be subtracted", "convert them with astype(int)")
        negative = ew.neg(in_dtype_of(self.x, values, "subtract"))
        return self.add(negative, mode=mode, unique_indices=unique_indices)

    def multiply(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with this part multiplied by values."""
        return self._accumulate("mul", 1, elementwise.multiply, values, mode, unique_indices)

    mul = multiply

    def divide(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with this part divided by values; integers become floats, in all of x."""
        return elementwise.divide(self.x, self._factors(values, mode, unique_indices))

    def power(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with this part raised to the power of values."""
        return elementwise.power(self.x, self._factors(values, mode, unique_indices))

    def min(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with the smaller of element and value in this part, or NaN if either is NaN."""
        return self._accumulate("min", None, elementwise.minimum, values, mode, unique_indices)

    def max(self, values, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False) -> Any:
        """Return x with the larger of element and value in this part, or NaN if either is NaN."""
        return self._accumulate("max", None, elementwise.maximum, values, mode, unique_indices)

    def apply(
        self,
        function: Callable[[Any], Any],
        *,
        mode: Any = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
    ) -> Any:
        """Return x with this part replaced by a function of it, applied once to the part as a whole."""
        if (mask := mask_alone(self.key)) is not None:
            return ew.select(_like(self.x, mask), in_dtype_of(self.x, function(self.x), "apply"), self.x)
        clipped = "clip" if _mode(mode, _WRITE) == "drop" else mode  # what is read there is not written
        return self.set(function(self.get(mode=clipped)), mode=mode, unique_indices=unique_indices)

    def get(self, *, mode=None, indices_are_sorted: bool = False, unique_indices: bool = False, fill_value=None) -> Any:
        """Return this part.

        With mode "fill" an index out of range reads the fill value, by default NaN or an extreme of integers.
        """
        if (mode := _mode(mode, _READ)) == "error":
            return _key(self, mode).read()
        key = _key(self, mode)
        target = key.target()
        values = ga.gather_windows(key.x, target.indices, target.windows, target.sizes, mode, fill_value)
        return mv.expand(mv.rev(values, target.reversed), target.new)

    # -- how

    def _accumulate(self, kind: str, neutral, function: Callable[..., Any], values, mode, unique: bool):
        """Return x with values combined into this part.

        At a mask, the function is applied to all of x and its result selected. Factors outside the mask become 1, so
        that products there have no part in derivatives.
        """
        if (mask := mask_alone(self.key)) is None or not _stretches(self.x, mask, values):
            return self._scatter(kind, values, mode, unique)
        mask, values = _like(self.x, mask), mv.broadcast_to(in_dtype_of(self.x, values, kind), sizes(self.x))
        if neutral == 1:
            return function(self.x, ew.select(mask, values, ew.lift(1, self.x)))
        return ew.select(mask, function(self.x, values), self.x)

    def _factors(self, values, mode, unique: bool):
        """Return an array of ones with this part multiplied by the values."""
        ones = ew.lift(1, self.x)
        return Indexed(ones, self.key).multiply(values, mode=mode, unique_indices=unique)

    def _scatter(self, kind: str, values, mode, unique: bool):
        """Return x with the values written to this part by one scatter."""
        mode = _mode(mode, _WRITE)
        key = _key(self, mode)
        target = key.target()
        updates = _updates(self.x, values, target, kind)
        unique = unique or target.unique
        written = ga.scatter_windows(kind, key.x, target.indices, updates, target.windows, mode, unique)
        return written if key.x is self.x else mv.reshape(written, sizes(self.x))


def _key(part: Indexed, mode: str) -> Key:
    """Return the parsed key of a part."""
    return Key(part.x, part.key if isinstance(part.key, tuple) else (part.key,), mode == "error")


def _mode(mode, known: dict[Any, str]) -> str:
    """Return the mode of a gather or scatter for an argument `mode`."""
    if not isinstance(mode, (str, type(None))) or mode not in known:
        names = ", ".join(repr(m) for m in known if m is not None)
        raise context_of("at").fail(f"mode {mode!r} is not one of {names}")
    return known[mode]


def in_dtype_of(x: Any, values: Any, kind: str) -> Any:
    """Return values in the dtype of x.

    As in NumPy, `set` may drop fractions, and nothing drops an imaginary part.
    """
    array = values if isinstance(values, Traced) else asarray(values)
    fits = array.dtype.kind != "c" or x.dtype.kind == "c" if kind == "set" else _fits(values, array.dtype, x.dtype)
    if not fits:
        advice = f"convert the values, or the array: x.astype({array.dtype})"
        raise context_of("at").bad_dtype(f"values of {array.dtype} for an array of {x.dtype}", advice)
    if isinstance(array, Traced) or array.ndim:
        return cast_operand(array, x.dtype, "at") if x.dtype.kind in "iu" else ew.convert(array, x.dtype)
    number = np.asarray(values, x.dtype) if is_weak(values) else array.astype(x.dtype)  # of a Python int all counts
    return full((), number[()], x.dtype)


def _fits(values, source: np.dtype, target: np.dtype) -> bool:
    """Return whether NumPy computes in place with values of this dtype.

    A Python int may become any integer dtype that holds it.
    """
    whole = source.kind in "iu" and target.kind in "iu"
    return np.can_cast(source, target, "same_kind") or (is_weak(values) and whole)


def _updates(x, values, target: Target, kind: str):
    """Return values in the shape that the key reads, in the order of the elements, for a scatter."""
    updates = in_dtype_of(x, values, kind)
    while meta_of(updates).rank > len(target.shape) and sizes(updates)[0] == 1:
        updates = mv.drop(updates, (0,))  # as in NumPy, leading axes of one element are not axes
    return mv.rev(mv.drop(mv.broadcast_to(updates, target.shape), target.new), target.reversed)


def _stretches(x, mask, values) -> bool:
    """Return whether values are the same for each element of a mask, so that its count does not matter."""
    rank, rest = meta_of(asarray(values)).rank, meta_of(x).rank - meta_of(mask).rank
    return rest >= 0 and rank <= rest


def _like(x, mask):
    """Return a mask of the first axes of x in the shape of x."""
    fit_mask(context_of("at", x), sizes(x), mask)
    return mv.broadcast_in_dim(mask, sizes(x), range(meta_of(mask).rank))


# -- along an axis -----------------------------------------------------------------------------------------------


def set_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> Any:
    """Return `arr` with values at positions along an axis that each vector along it has of its own.

    It is a new array, for `numpy.put_along_axis` to write. None flattens `arr`.
    """
    x, index = as_traced(arr), as_traced(asarray(indices))
    if axis is None:
        return reshape(set_along_axis(ravel(x), index, values, 0), sizes(x))
    rank = meta_of(x).rank
    put_axis = axis_of(axis, rank, "put_along_axis")
    ctx = context_of("put_along_axis", x, index)
    if meta_of(index).rank != rank or index.dtype.kind not in "iu":
        raise ctx.fail(f"indices are not integers with {rank} axes, as the array has")
    others = tuple([i for i in range(rank) if i != put_axis])
    shape, index_shape = sizes(x), sizes(index)
    if not all(index_shape[i] == 1 or ctx.same(shape[i], index_shape[i]) for i in others):
        return _put_on_grid(x, index, values, put_axis)
    updated = [*shape[:put_axis], index_shape[put_axis], *shape[put_axis + 1 :]]
    positions = ga.from_start(mv.broadcast_to(index, updated), shape[put_axis])
    updates = mv.broadcast_to(in_dtype_of(x, values, "set"), updated)
    windows = ga.Windows((), (put_axis,), (put_axis,), rank, others, others)
    return ga.scatter_windows("set", x, positions, updates, windows)


def _put_on_grid(x, index, values, axis: int):
    """Return `set_along_axis` for indices that broadcast against x on the other axes."""
    grid = [mv.expand(iota(n), [j for j in range(meta_of(x).rank) if j != i]) for i, n in enumerate(sizes(x))]
    grid[axis] = index
    return Indexed(x, tuple(grid)).set(values)
