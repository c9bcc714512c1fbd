"""Batches of arrays whose sizes differ: all elements in one array, and the sizes of each example."""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree
from numpy.lib.mixins import NDArrayOperatorsMixin

import anyshape.numpy as anp
from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.numpy.operands.promotion import plain_array
from anyshape.ops.subgraph_call import calls_with_lists
from anyshape.program.pytree_codegen import PARTS
from anyshape.support import elsewhere
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import register_class
from anyshape.tracing.values_of_trees import register_values
from anyshape.transforms.control import check
from anyshape.transforms.control_flow.iterables import Examples, Items


class Held:
    """Value in the structure of a tree, which is compared by its identity."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Ragged(NDArrayOperatorsMixin):
    """Batch of arrays of one dtype and number of axes, whose first axes differ in size.

    Args:
        flat: the rows of all examples, one after the other. Further axes are the same for all.
        lengths: number of rows of each example, as integers of shape (B,). Of shape (B, k), it has the sizes of the
            first k axes. The number of rows is their product.

    Raises:
        ArgumentError: unless the lengths are integers of at least 0 that add up to the rows.

    It indexes and iterates as a list of arrays does. Operators and functions of NumPy work on each element.
    Operands are numbers, batches with the same lengths, and arrays that broadcast with the further axes.

    >>> import numpy as np
    >>> batch = Ragged.from_list([np.ones(2), np.zeros(0), np.ones(1)])
    >>> batch.lengths.tolist(), (batch + 1).to_list()[2].tolist()
    ([2, 0, 1], [2.0])
    >>> batch.to_padded(0.0).shape
    (3, 2)
    """

    __slots__ = ("flat", "sizes")
    flat: Any
    sizes: tuple[Any, ...]  # of each ragged axis, by example

    @short_traceback
    def __init__(self, flat: Any, lengths: Any) -> None:
        if type(flat) is list and len({np.shape(x) for x in flat}) > 1:
            raise ArgumentError("Ragged", "flat", "is a list of arrays", "write Ragged.from_list(arrays)")
        self.flat = flat if isinstance(flat, Traced) else np.asarray(flat)
        lengths = lengths if isinstance(lengths, Traced) else _checked_lengths(np.asarray(lengths))
        self.sizes = (lengths,) if lengths.ndim == 1 else tuple([lengths[:, k] for k in range(lengths.shape[1])])
        if not isinstance(flat, Traced) and not isinstance(lengths, Traced):
            rows, all_rows = int(np.sum(self.rows)), self.flat.shape[0] if self.flat.ndim else 0
            if rows != all_rows:
                problem = f"add up to {rows}, and flat has {all_rows} rows"
                raise ArgumentError("Ragged", "lengths", problem, "give the number of rows of each example")
        else:
            check(anp.sum(self.rows) == self.flat.shape[0], "the lengths of a Ragged add up to its rows")

    @classmethod
    def from_list(cls, arrays: Sequence[Any], ragged_axes: int | None = None) -> Ragged:
        """Return the batch of these arrays.

        Args:
            arrays: arrays of one dtype and number of axes. Batches of torch and awkward are such, groups of pandas and
                polars, and columns of lists.
            ragged_axes: number of the first axes that may differ. None: as few as the arrays need.
        """
        batch = of_other_library(arrays)
        is_batch = isinstance(batch, Ragged)
        return batch if is_batch else joined_batch("Ragged.from_list", "arrays", batch, ragged_axes or 1)

    @classmethod
    def of_parts(cls, parts: Sequence[Any]) -> Ragged:
        """Return the batch of rows and sizes that a transform gives."""
        return made(parts[0], parts[1:], cls)

    @property
    def lengths(self) -> Any:
        """Sizes of the ragged axis by example, of shape (B,), or of k ragged axes, of shape (B, k)."""
        return self.sizes[0] if len(self.sizes) == 1 else anp.stack(self.sizes, axis=1)

    @property
    def rows(self) -> Any:
        """Number of rows of each example."""
        return functools.reduce(operator.mul, self.sizes)

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the elements."""
        return np.dtype(self.flat.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes of the batch, with the one of the examples."""
        return int(self.flat.ndim + len(self.sizes))

    def like(self, flat: Any, sizes: Sequence[Any]) -> Ragged:
        """Return a batch of this class, of parts that fit."""
        return made(flat, sizes, type(self))

    @property
    def items(self) -> Items:
        """Examples that a loop of code that is read runs over."""
        return Examples(self, self.sizes[0].shape[0])

    def at(self, k: Any) -> Any:
        """Return the example at a position that a run may know alone."""
        rows = self.rows
        ends = anp.cumsum(rows)
        k = anp.where(k < 0, k + rows.shape[0], k)
        sizes, flat = [n[k] for n in self.sizes], self.flat
        part = flat[ends[k] - rows[k] : ends[k]]
        return part if len(sizes) == 1 else part.reshape((*sizes, *flat.shape[1:]))

    def __len__(self) -> int:
        return len(self.sizes[0])

    @short_traceback
    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, Traced) and not i.meta.rank and i.dtype.kind in "iu":
            return self.at(i)
        if has_type(i, (slice, list, np.ndarray)):
            return self._chosen(anp.arange(self.sizes[0].shape[0])[i])
        if not has_type(i, (int, np.integer)):
            advice = "give the number of an example, or a slice, a list or a mask for several"
            raise ArgumentError("Ragged", "index", f"is {i!r:.50}", advice)
        count, rows = self.sizes[0].shape[0], self.rows
        if has_type(count, int) and not -count <= i < count:
            raise IndexError(f"example {i} of {count}")
        start = anp.sum(rows[:i])
        part = self.flat[start : start + rows[i]]
        return part if len(self.sizes) == 1 else part.reshape((*[n[i] for n in self.sizes], *self.flat.shape[1:]))

    def _chosen(self, numbers: Any) -> Ragged:
        """Return the batch of the examples of these numbers."""
        rows = self.rows
        starts, chosen = anp.cumsum(rows) - rows, rows[numbers]
        first = anp.cumsum(chosen) - chosen
        positions = anp.repeat(starts[numbers] - first, chosen)
        return self.like(self.flat[positions + anp.arange(positions.shape[0])], [n[numbers] for n in self.sizes])

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.flat, Traced) or isinstance(self.sizes[0], Traced):
            return iter([self[i] for i in range(len(self))])
        ends = np.cumsum(self.rows).tolist()
        parts = [self.flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        if len(self.sizes) > 1:
            parts = [x.reshape((*n, *x.shape[1:])) for x, *n in zip(parts, *self.sizes, strict=True)]
        return iter(parts)

    def __repr__(self) -> str:
        if any(isinstance(x, Traced) for x in (self.flat, *self.sizes)):
            return f"Ragged({self.flat!r}, lengths of {len(self.sizes)} axes)"
        shown = [str(tuple(np.atleast_1d(n).tolist() + [*self.flat.shape[1:]])) for n in self.lengths[:4]]
        more = f", ... {len(self)} in all" if len(self) > 4 else ""
        return f"<Ragged {self.dtype}: {', '.join(shown)}{more}>"

    def to_list(self) -> list[Any]:
        """Return the examples."""
        return list(self)

    def to_padded(self, fill: Any = 0) -> Any:
        """Return one array of all examples, each filled up to the largest sizes.

        Args:
            fill: value of the elements behind the end of an example.
        """
        rows, count = self.rows, self.sizes[0].shape[0]
        position = anp.arange(self.flat.shape[0]) - anp.repeat(anp.cumsum(rows) - rows, rows)  # in its example
        places = [owner := anp.repeat(anp.arange(count), rows)]
        for sizes in self.sizes[:0:-1]:
            places.insert(1, position % sizes[owner])
            position = position // sizes[owner]
        places.insert(1, position)
        most = [anp.max(n, initial=0) for n in self.sizes]
        padded = anp.full((count, *most, *self.flat.shape[1:]), fill, dtype=self.dtype)
        padded[tuple(places)] = self.flat
        return padded

    @short_traceback
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        advice = "call to_padded(fill), or to_list()"
        raise ArgumentError("Ragged", "the batch", "is no array: its examples differ in size", advice)

    @short_traceback
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options.get("out") is not None:
            return NotImplemented
        flat = ufunc(*[self._operand(x) for x in inputs], **options)
        return tuple([made(y, self.sizes) for y in flat]) if isinstance(flat, tuple) else made(flat, self.sizes)

    @short_traceback
    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        return self.served(function, args, options)

    def served(self, function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        """Return what a function of NumPy gives: of all elements, or along an axis of each example."""
        axis = args[1] if len(args) > 1 else options.get("axis", 0 if function is np.concatenate else None)
        others = {k: x for k, x in options.items() if k != "axis"}
        if args[0] is not self or len(args) > 2 or function not in _SERVED:
            advice = "map it over the examples: ragged_map(function)(batch)"
            raise ArgumentError(function.__name__, "an operand", "is a Ragged, whose examples differ in size", advice)
        own = getattr(anp, function.__name__)
        if (elements := self._elements(function, axis, others)) is not None:
            return own(elements, **others)
        if function is not np.concatenate and has_type(axis, int) and axis % self.ndim:
            return _along(own, axis % self.ndim - 1, **others)(self)
        advice = f"give an axis of the examples, 1 to {self.ndim - 1}"
        raise ArgumentError(function.__name__, "axis", f"is {axis}, and examples differ in size", advice)

    def _elements(self, function: Any, axis: Any, others: dict[str, Any]) -> Any:
        """Return what a function of all elements takes, None if it is one of each example."""
        if function is np.concatenate:
            parts = [self.flat] if self.sizes[0].shape[0] > 0 else []  # of no examples NumPy has no result
            return parts if axis == 0 and len(self.sizes) == 1 else None
        return self.flat if axis is None and function in _OF_ALL and not others else None

    def sum(self, axis: int | None = None) -> Any:
        """Return the sum of all elements, or of each example along an axis."""
        return self.served(np.sum, (self, axis), {})

    def mean(self, axis: int | None = None) -> Any:
        """Return the mean of all elements, or of each example along an axis."""
        return self.served(np.mean, (self, axis), {})

    def max(self, axis: int | None = None) -> Any:
        """Return the largest element, or the largest ones of each example along an axis."""
        return self.served(np.max, (self, axis), {})

    def min(self, axis: int | None = None) -> Any:
        """Return the smallest element, or the smallest ones of each example along an axis."""
        return self.served(np.min, (self, axis), {})

    def _operand(self, x: Any) -> Any:
        """Return an operand of a function of the elements."""
        if isinstance(x, Ragged):
            self._require_alike(x)
            return x.flat
        shape, rest = np.shape(x), self.flat.shape[1:]
        pairs = [(n, m) for n, m in zip(shape[::-1], rest[::-1], strict=False) if has_type(n, int) and has_type(m, int)]
        if len(shape) > len(rest) or any(n not in (1, m) for n, m in pairs):
            problem = f"has shape {shape}, and a row of an example has {rest}"
            raise ArgumentError("Ragged", "an operand", problem, "give a Ragged for what differs between examples")
        return x

    def _require_alike(self, x: Ragged) -> None:
        """Raise ArgumentError for a batch that has other lengths, or let the program check it."""
        if are_alike(x.sizes, self.sizes):
            return
        is_known = not any(isinstance(n, Traced) for n in (*x.sizes, *self.sizes))
        if is_known or len(x.sizes) != len(self.sizes):
            raise ArgumentError("Ragged", "an operand", "has other lengths", "give batches with the same lengths")
        for one, other in zip(x.sizes, self.sizes, strict=True):
            check(anp.all(one == other), "operands that are Ragged have the same lengths")


Ragged.__getattr__ = elsewhere.no_method  # type: ignore[attr-defined]


# -- batches of other libraries, which are imported where such a batch exists ------------------------------------------


def of_other_library(x: Any) -> Any:
    """Return a batch of another library as a Ragged or a list of arrays, and anything else as it is."""
    convert = _OTHERS.get(type(x).__module__.partition(".")[0])
    return x if convert is None else convert(x)


def _of_torch(x: Any) -> Any:
    if not x.is_nested:
        return x
    if str(x.layout) != "torch.jagged" or x.dim() > x.values().dim() + 1 or x.lengths() is not None:
        return [one.detach().cpu().numpy() for one in x.unbind()]
    offsets = x.offsets().cpu().numpy()
    return Ragged(x.values().detach().cpu().numpy()[offsets[0] : offsets[-1]], np.diff(offsets))


def _of_awkward(x: Any) -> Any:
    awkward = sys.modules["awkward"]
    array = lambda y: awkward.to_numpy(y, allow_missing=False)
    try:
        if x.ndim < 2:
            return array(x)
        if "var" in str(x.type).partition("var")[2]:  # of several ragged axes
            return [array(one) for one in x]
        return Ragged(array(awkward.flatten(x)), array(awkward.num(x)))
    except (TypeError, ValueError) as error:
        problem = f"is not of arrays of numbers: {str(error).strip().partition(chr(10))[0]}"
        advice = "choose a field, fill missing values, or give a list of arrays"
        raise ArgumentError("ragged_map", f"an awkward array of type {x.type}", problem, advice) from None


def _of_frames(x: Any) -> Any:
    if type(x).__name__.endswith(("GroupBy", "Resampler")):
        return [frame.to_numpy() for _, frame in x]
    is_column = type(x).__name__ == "Series" and (str(x.dtype).startswith("List") or x.dtype == object)
    return [np.asarray(one) for one in x] if is_column else x


_OTHERS: dict[str, Callable[[Any], Any]] = {
    "awkward": _of_awkward,
    "torch": _of_torch,
    "pandas": _of_frames,
    "polars": _of_frames,
}


_OF_ALL = (np.sum, np.mean, np.prod, np.max, np.min, np.any, np.all, np.std, np.var)
_ALONG = (np.cumsum, np.cumprod, np.sort, np.argsort, np.argmax, np.argmin, np.median, np.flip)
_SERVED = (np.concatenate, *_OF_ALL, *_ALONG)


@functools.lru_cache(maxsize=64)
def _along(function: Any, axis: int, **options: Any) -> Any:
    """Return a function of NumPy along an axis of each example."""
    return calls_with_lists().ragged_map(lambda x: function(x, axis=axis, **options))


def made(flat: Any, sizes: Sequence[Any], kind: type[Ragged] = Ragged) -> Ragged:
    """Return a batch whose parts fit, or stand for arrays that do."""
    batch = object.__new__(kind)
    batch.flat, batch.sizes = flat, tuple(sizes)
    return batch


def are_alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether sizes of examples are known to be equal."""
    pairs = zip(one, other, strict=False)
    is_traced = [isinstance(x, Traced) for x in (*one, *other)]
    return len(one) == len(other) and all(a is b or (not any(is_traced) and np.array_equal(a, b)) for a, b in pairs)


def names_of_parts(axes: int) -> tuple[str, ...]:
    """Return the names that errors give the rows and the sizes of so many ragged axes."""
    return "flat", *(["lengths"] if axes == 1 else [f"lengths[:, {k}]" for k in range(axes)])


def register_batch(kind: type[Ragged]) -> None:
    """Make a class of batches one of trees, in whose elements derivatives are taken."""

    class _Values:
        """Node of the elements of a batch alone."""

        def __init__(self, batch: Ragged) -> None:
            self.batch = batch

    register_class(
        kind,
        lambda x: ((x.flat, *x.sizes), None, names_of_parts(len(x.sizes))),
        lambda _, parts: kind.of_parts(parts),
        optree.GetAttrEntry,
    )
    register_class(
        _Values, lambda x: ((x.batch.flat,), Held(x.batch.sizes)), lambda held, parts: made(parts[0], held.value, kind)
    )
    register_values(kind, _Values)
    PARTS[kind] = "{0}.flat, *{0}.sizes", "None"


register_batch(Ragged)


def _checked_lengths(lengths: np.ndarray) -> np.ndarray:
    if not lengths.size and lengths.ndim == 1:
        return lengths.astype(np.int64)
    if lengths.dtype.kind not in "iu" or lengths.ndim not in (1, 2):
        problem = f"have dtype {lengths.dtype} and {lengths.ndim} axes"
        raise ArgumentError("Ragged", "lengths", problem, "give integers of shape (B,), or (B, k) for k axes")
    if lengths.size and lengths.min() < 0:
        raise ArgumentError("Ragged", "lengths", f"hold {lengths.min()}", "give sizes of at least 0")
    return lengths.astype(np.int64)


def joined_batch(function: str, path: str, arrays: Sequence[Any], ragged_axes: int) -> Ragged:
    """Return the batch of some arrays, with so many ragged axes or more, as their sizes ask for."""
    arrays = [x if isinstance(x, Traced) else plain_array(x, function, path) for x in arrays]
    if not arrays:
        advice = "give Ragged(np.zeros((0, 3)), []), which says what an example is"
        raise ArgumentError(function, path, "is empty, so its dtype and number of axes are not known", advice)
    _check_alike(function, path, arrays)
    return _joined(arrays, ragged_axes)


def _joined(arrays: Sequence[Any], ragged_axes: int) -> Ragged:
    shapes = [x.shape for x in arrays]
    differing = [axis for axis in range(arrays[0].ndim) if any(s[axis] != shapes[0][axis] for s in shapes)]
    count = max(ragged_axes, 1, *[axis + 1 for axis in differing])
    rows = arrays if count == 1 else [x.reshape((math.prod(x.shape[:count]), *x.shape[count:])) for x in arrays]
    library: Any = anp if any(isinstance(x, Traced) for x in arrays) else np
    return made(library.concatenate(rows), [library.array([s[axis] for s in shapes]) for axis in range(count)])


def _check_alike(function: str, path: str, arrays: Sequence[Any]) -> None:
    """Raise ArgumentError unless all arrays have the dtype and the number of axes of the first one."""
    first = arrays[0]
    is_alike = not first.dtype.hasobject and all(x.dtype == first.dtype and x.ndim == first.ndim for x in arrays)
    for i, x in enumerate([] if is_alike else arrays):
        if x.dtype.hasobject:
            advice = "convert it to numbers, as with astype(float)"
            raise ArgumentError(function, f"example {i} of {path}", f"has dtype {x.dtype}", advice)
        pairs = {"rank": (x.ndim, first.ndim), "dtype": (x.dtype, first.dtype)}
        for name, (one, other) in pairs.items():
            if one != other:
                problem = f"has {name} {one}, and example 0 has {other}"
                raise ArgumentError(function, f"example {i} of {path}", problem, "give arrays of one kind")
    if not first.ndim:
        raise ArgumentError(function, path, "holds numbers", "give one array of them")
