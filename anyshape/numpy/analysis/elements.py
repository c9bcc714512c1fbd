"""Define functions that call a function of Python for each element, or take elements from Python: `np.vectorize`.

The function of `vectorize` is traced once for all elements, and each element decides on its own values. Where Python
goes on by values, as in a `while`, it runs for each element, and a program is made for each shape.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import broadcast_sizes, numel
from anyshape.graph.sizes.expr import Size
from anyshape.numpy import creation, matrices, movement
from anyshape.numpy.operands.promotion import as_traced, asarray, dtype_of, is_traced, sizes
from anyshape.numpy.serve import serve
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import context_of
from anyshape.ops.elementwise import convert
from anyshape.ops.subgraph_call import maps_over_rows
from anyshape.support.true_types import has_type

_PYTHON_DTYPES = {"b": np.dtype(bool), "i": np.dtype(int), "u": np.dtype(int), "f": np.dtype(float)}
_NO_ELEMENTS = "cannot call `vectorize` on size 0 inputs unless `otypes` is set"


class vectorize(np.vectorize):
    """Function of arrays that calls a function of Python scalars for each element, as `numpy.vectorize`.

    With a `signature`, it calls the function for subarrays of the core dimensions.
    """

    @classmethod
    def made_by(cls, theirs: np.vectorize) -> Self:
        """Return the function of an object of NumPy's."""
        made = object.__new__(cls)
        vars(made).update(vars(theirs))
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results for the elements of arrays that broadcast."""
        if not callable(getattr(self, "pyfunc", None)) or active() is None:
            return super().__call__(*args, **kwargs)
        call, arrays = self._without_excluded(args, kwargs)
        dtypes = [np.dtype(t) for t in self.otypes] if self.otypes else None
        if self.signature is not None:
            return _Signature(self.signature, call, self.pyfunc, dtypes).results(arrays)
        if not is_traced(*arrays):
            return _for_each(call, arrays, dtypes)
        return _mapped(call, self.pyfunc, arrays, dtypes)

    def _without_excluded(self, args, kwargs) -> tuple[Callable[..., Any], list[Any]]:
        """Return a function of the elements of arrays, and the arrays: excluded arguments are passed as they are."""
        names = [name for name in kwargs if name not in self.excluded]
        positions = [i for i in range(len(args)) if i not in self.excluded]
        arrays = [asarray(args[i]) for i in positions] + [asarray(kwargs[name]) for name in names]

        def call(*elements):
            values, own = [*args], dict(zip(names, elements[len(positions) :], strict=True))
            for i, element in zip(positions, elements, strict=False):
                values[i] = element
            return self.pyfunc(*values, **{**kwargs, **own})

        return call, arrays


def _mapped(call: Callable[..., Any], called, arrays: Sequence[Any], dtypes: Sequence[np.dtype] | None):
    """Return the results of a call for each element of arrays, one of them traced."""
    broadcast = [as_traced(a) for a in movement.broadcast_arrays(*arrays)]
    shape = sizes(broadcast[0])
    count = numel(shape)
    rows = [mv.reshape(a, (count,)) for a in broadcast]
    if dtypes is None:
        context_of("vectorize", *broadcast).require(at_least(count, 1), _NO_ELEMENTS)
        # scalars of NumPy, for the dtypes alone
        dtypes = maps_over_rows().row_dtypes(lambda *elements: _results(call(*elements)), called, "vectorize", rows)
    scalars = lambda *elements: _results(call(*map(_scalar, elements)))
    mapped = None if dtypes is None else maps_over_rows().map_rows(scalars, called, "vectorize", rows, count, dtypes)
    if mapped is None:
        return _for_each(call, broadcast, dtypes)
    return _one_or_all([mv.reshape(y, (*shape, *sizes(y)[1:])).as_ndarray() for y in mapped])


def _results(result) -> list[Any]:
    """Return the results of one call: a tuple holds several."""
    return [*result] if isinstance(result, tuple) else [result]


def _one_or_all(results: Sequence[Any]):
    return results[0] if len(results) == 1 else tuple(results)


def _for_each(call: Callable[..., Any], arrays: Sequence[Any], dtypes: Sequence[np.dtype] | None):
    """Return the results of a call for each element of arrays, joined to one array for each result."""
    broadcast = movement.broadcast_arrays(*arrays)
    counts = [int(n) for n in broadcast[0].shape] if broadcast else []
    points = [*zip(*[_elements(a, counts) for a in broadcast], strict=True)]
    dtypes = _dtypes(call, points) if dtypes is None else dtypes
    rows = [_results(call(*map(_scalar, point))) for point in points]
    return _one_or_all([_joined([row[i] for row in rows], d, counts) for i, d in enumerate(dtypes)])


def _dtypes(call: Callable[..., Any], points: Sequence[Any]) -> list[np.dtype]:
    """Return the dtypes of the results for the first elements, which are scalars of NumPy here alone, as in NumPy."""
    if not points:
        raise ValueError(_NO_ELEMENTS)
    return [dtype_of(asarray(result)) for result in _results(call(*points[0]))]


def _elements(array, counts: Sequence[int]) -> list[Any]:
    return [array[index] for index in np.ndindex(*counts)]


def _scalar(element):
    """Return an element as the scalar of Python that NumPy would pass."""
    if not isinstance(element, Traced):
        return element.item() if has_type(element, (np.generic, np.ndarray)) else element
    return convert(element, _PYTHON_DTYPES.get(element.dtype.kind, np.dtype(complex))).as_weak()


def _joined(column: Sequence[Any], dtype: np.dtype, counts: Sequence[int]):
    """Return results of the elements as an array of a dtype."""
    if not is_traced(*column):
        return np.array(column, dtype).reshape(counts)
    values = matrices.stack([convert(as_traced(v), dtype) for v in column])
    return movement.reshape(values, tuple(counts)).as_ndarray()


# -- signatures --------------------------------------------------------------------------------------------------

_Dims = list[tuple[str, ...]]


class _Signature:
    """Function of subarrays: its core dimensions, such as `(m,n),(n)->(m)`, and the dtypes of its results."""

    def __init__(self, signature: str, call: Callable[..., Any], called, dtypes: Sequence[np.dtype] | None) -> None:
        inputs, outputs = [_core_dims(side) for side in signature.split("->")]
        self.inputs, self.outputs, self.dtypes = inputs, outputs, dtypes
        self.call, self.called = call, called

    def results(self, arrays: Sequence[Any]) -> Any:
        """Return the results for all subarrays, stacked along the loop dimensions."""
        if len(arrays) != len(self.inputs):
            raise TypeError(f"wrong number of positional arguments: expected {len(self.inputs)}, got {len(arrays)}")
        xs = [as_traced(a) for a in arrays]
        core, loop = self._dimensions(xs)
        count = numel(loop)
        stretched = [
            mv.broadcast_to(x, (*loop, *[core[d] for d in dims])) for x, dims in zip(xs, self.inputs, strict=True)
        ]
        rows = [mv.reshape(x, (count, *sizes(x)[len(loop) :])) for x in stretched]
        if self.dtypes is None or any(d not in core for dims in self.outputs for d in dims):
            context_of("vectorize", *xs).require(at_least(count, 1), _NO_ELEMENTS)
        run = lambda *parts: self._checked(_results(self.call(*parts)), core)
        mapped = maps_over_rows().map_rows(run, self.called, "vectorize", rows, count, self.dtypes)
        if mapped is None:
            mapped = self._each(run, rows)
        return _one_or_all([mv.reshape(y, (*loop, *sizes(y)[1:])).as_ndarray() for y in mapped])

    def _dimensions(self, xs: Sequence[Any]) -> tuple[dict[str, Size], Sequence[Size]]:
        """Return the sizes of the core dimensions, and the shape of the loop over subarrays."""
        core: dict[str, Size] = {}
        context = context_of("vectorize", *xs)
        loops = []
        for x, dims in zip(xs, self.inputs, strict=True):
            if x.ndim < len(dims):
                raise context.fail(f"{x.ndim}-dimensional argument does not have enough dimensions for all core {dims}")
            shape = sizes(x)
            split = len(shape) - len(dims)
            loops.append(shape[:split])
            self._bind(context, core, dims, shape[split:])
        return core, broadcast_sizes(context, loops)

    def _bind(self, context, core: dict[str, Size], dims: Sequence[str], shape: Sequence[Size]) -> None:
        """Note the sizes of core dimensions, and require those that are known."""
        for dim, size in zip(dims, shape, strict=True):
            known = core.setdefault(dim, size)
            context.require_equal(known, size, f"core dimension {dim} has the sizes {known} and {size}")

    def _checked(self, results: Sequence[Any], core: dict[str, Size]) -> list[Any]:
        """Return the results of one call, once their shapes fit the signature."""
        if len(results) != len(self.outputs):
            raise ValueError(f"wrong number of outputs from pyfunc: expected {len(self.outputs)}, got {len(results)}")
        values = [as_traced(y) for y in results]
        own = dict(core)
        for y, dims in zip(values, self.outputs, strict=True):
            context = context_of("vectorize", y)
            if y.ndim != len(dims):
                raise context.fail(f"a result has {y.ndim} axes, and the signature {len(dims)}")
            self._bind(context, own, dims, sizes(y))
        return values

    def _each(self, run: Callable[..., list[Any]], rows: Sequence[Any]) -> list[Any]:
        """Return the stacked results of a call for each subarray, whose values Python goes on by."""
        columns = [*zip(*[run(*parts) for parts in zip(*map(matrices.unstack, rows), strict=True)], strict=True)]
        dtypes = self.dtypes or [column[0].dtype for column in columns]
        return [matrices.stack([convert(y, d) for y in ys]) for ys, d in zip(columns, dtypes, strict=True)]


def _core_dims(side: str) -> _Dims:
    """Return the names of the core dimensions of each array on one side of a signature."""
    return [tuple(re.findall(r"\w+", group)) for group in re.findall(r"\(([^)]*)\)", side)]


def fromiter(iter: Iterable[Any], dtype: Any, count: Any = -1, *, like: Any = None) -> Any:
    """Return a vector of the items of an iterable, as `numpy.fromiter`."""
    if active() is None or like is not None:
        return np.fromiter(iter, dtype, count, like=like)
    if isinstance(iter, Traced) and iter.meta.rank == 1 and has_type(count, int) and count == -1:
        return creation.array(iter, np.dtype(dtype))
    count = int(count)
    items = [*itertools.islice(iter, count if count >= 0 else None)]
    if not is_traced(*items):
        return np.fromiter(items, dtype, count)
    if len(items) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(items)} items.")
    return creation.array(items, np.dtype(dtype))


def common_type(*arrays: Any) -> type:
    """Return the inexact type of scalars that holds the elements of all arrays, as `numpy.common_type`."""
    return np.common_type(*[np.empty(0, a.dtype) for a in arrays])


serve(__name__)
