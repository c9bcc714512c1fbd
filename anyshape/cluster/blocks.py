"""`map_chunks` and `vjp_chunks`: a function of each block of dask arrays, with the exact sizes of its results.

Dask gives results the chunks of the arguments. Here the formulas of output sizes are evaluated at the
sizes of each block, so shapes are known before anything is computed.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.cluster.block_graph import BlockGraph, BlockGrid, GridOptions, is_dask
from anyshape.cluster.chunks import root_of
from anyshape.errors import ArgumentError
from anyshape.support.packages import dask_array
from anyshape.tracing import pytrees
from anyshape.transforms.arguments.options import with_static
from anyshape.transforms.grad import vjp
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted


def map_chunks(
    f: Callable[..., Any],
    *args: Any,
    halo: int | tuple[int, int] = 0,
    trim: bool = True,
    along: int | Sequence[int | None] | None = None,
    **kwargs: Any,
) -> Any:
    """Return the results of `f` for each block of its dask arrays, as dask arrays with exact chunks.

    - Arguments are trees. Blocks of the dask arrays in them meet from the first axis on; an axis of one block goes
      whole to all blocks. All other arguments go to all blocks as they are.
    - Blocks of a result lie as blocks of the arguments do. Their sizes are what `f` gives at the sizes of each block,
      NaN only where data decide.
    - `halo` is the number of rows that each block also has of its neighbours, or a pair: before it, behind it. The
      ends have fewer. With `trim`, results leave these rows out; without, they are taken as they are.
    - `along` is for results whose axes change places. For each axis of the arguments it has the axis of results along
      which blocks lie, None for an axis of one block. A number is for the first axis.

    Nothing is computed before the results are, and workers trace nothing. Raise ArgumentError for blocks that do not
    meet, and for results without an axis for blocks to lie along: `chunked_sum` is for sums. Where `f` raises for a
    block, computing raises ChunkError with its number.

    >>> import dask.array as da
    >>> x = da.from_array(np.arange(11.0), chunks=((3, 1, 7),))
    >>> half = map_chunks(lambda x: x[::2], x)
    >>> half.chunks, half.compute().tolist()
    (((2, 1, 4),), [0.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0])
    >>> map_chunks(lambda x: np.diff(x), x, halo=(0, 1), trim=False).chunks
    ((3, 1, 6),)
    """
    pytrees.check_callable("map_chunks", f)
    return _results(_graph_of(f, args, kwargs, _options(halo, trim, along)))


def vjp_chunks(
    f: Callable[..., Any],
    *args: Any,
    halo: int | tuple[int, int] = 0,
    trim: bool = True,
    along: int | Sequence[int | None] | None = None,
    **kwargs: Any,
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return the results of `map_chunks`, and the function that pulls cotangents of them back to the arguments.

    - It takes a tree like the results, of dask arrays or arrays, and returns a tree for each positional argument.
    - Cotangents of dask arrays have their chunks. For other arguments they are sums over the blocks, as dask arrays.
      None stands for integers.

    Raise ArgumentError for cotangents of other shapes or chunks than the results.

    >>> import dask.array as da
    >>> x = da.from_array(np.arange(5.0), chunks=((2, 3),))
    >>> y, pull = vjp_chunks(lambda w, x: w * x**2, 3.0, x)
    >>> w_bar, x_bar = pull(da.ones_like(y))
    >>> float(w_bar), x_bar.chunks, x_bar.compute().tolist()
    (30.0, ((2, 3),), [0.0, 6.0, 12.0, 18.0, 24.0])
    """
    pytrees.check_callable("vjp_chunks", f)
    graph = _graph_of(f, args, kwargs, _options(halo, trim, along))
    result = _results(graph)
    return result, _Pullback(graph, result, args, kwargs).pull


def _graph_of(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: GridOptions) -> BlockGraph:
    function = f if isinstance(f, Jitted) else jit(f)
    leaves, structure = pytrees.flatten((args, kwargs))
    names = pytrees.parameter_names(function)
    paths = [pytrees.named(path, names) for path in pytrees.leaf_paths(args, kwargs)]
    grid = BlockGrid(pytrees.function_name(f), [_bare(x) for x in leaves], paths, options)
    return BlockGraph(function, grid, structure)


def _bare(x):
    """Return the dask array of a variable of xarray, other leaves as they are."""
    return x.data if root_of(x) == "xarray" else x


def _options(halo, trim: bool, along) -> GridOptions:
    """Return checked options."""
    return GridOptions(_sides(halo), bool(trim), None if along is None else _axes(along))


def _sides(halo) -> tuple[int, int]:
    sides = (halo, halo) if isinstance(halo, int) else tuple(halo)
    if len(sides) != 2 or not all(isinstance(n, int) and n >= 0 for n in sides):
        raise ArgumentError("map_chunks", "halo", f"is {halo!r:.50}", "give a number of rows of at least 0, or two")
    return sides


def _axes(along) -> tuple[int | None, ...]:
    axes = (along,) if isinstance(along, int) else tuple(along)
    numbers = [axis for axis in axes if axis is not None]
    if len(set(numbers)) < len(numbers) or not all(isinstance(axis, int) and axis >= 0 for axis in numbers):
        advice = "give for each axis of the arguments the axis of the results where its blocks lie, None for one block"
        raise ArgumentError("map_chunks", "along", f"is {along!r:.50}", advice)
    return axes


def _results(graph: BlockGraph):
    """Return the tree of results as dask arrays."""
    return pytrees.unflatten(graph.structure_of_results, [graph.result(i) for i in range(len(graph.paths))])


class _Pullback:
    """Function that pulls cotangents of results back to arguments, by a function that runs for each block."""

    def __init__(self, graph: BlockGraph, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.graph = graph
        self.results, self.structure = pytrees.flatten(result)
        args, kwargs, static = graph.function.options.static.split(args, kwargs)
        self.arguments = args, kwargs
        function = with_static(graph.function.function, static)

        def reverse(cotangent, args, kwargs):
            return vjp(lambda *args: function(*args, **kwargs), *args)[1](cotangent)

        self.reverse = jit(reverse)

    def pull(self, cotangent: Any) -> tuple[Any, ...]:
        """Return the cotangents of the arguments."""
        if (parts := pytrees.flatten_as(cotangent, self.structure)) is None:
            problem = f"has the structure {pytrees.flatten(cotangent)[1]}, and the result {self.structure}"
            raise ArgumentError(self.graph.name, "the cotangent", problem, "give a tree like the result")
        paths = [path.replace("result", "the cotangent", 1) for path in pytrees.result_paths(self.structure)]
        cotangents = [self._like(x, y, path) for x, y, path in zip(parts, self.results, paths)]
        leaves, _ = pytrees.flatten(self.arguments)
        _, structure = pytrees.flatten(((pytrees.unflatten(self.structure, cotangents), *self.arguments), {}))
        graph = self.graph.reversed(self.reverse, structure, cotangents, [_bare(x) for x in leaves])
        wanted = [i for i, x in enumerate(pytrees.flatten(self.arguments[0])[0]) if _dtype(x).kind in "fc"]
        bars = [graph.cotangent(at, len(cotangents) + i) for at, i in enumerate(wanted)]
        back: tuple[Any, ...] = pytrees.unflatten(graph.structure_of_results, bars)
        return back

    def _like(self, x, result, path: str):
        """Return a cotangent as a dask array with the chunks and the dtype of its result."""
        is_known = not any(math.isnan(n) for n in result.shape)
        if is_known and np.shape(x) == result.shape:
            x = x if is_dask(x) else dask_array.from_array(np.asarray(x), chunks=result.chunks)
            x = x.rechunk(result.chunks)
        elif is_known or not is_dask(x) or x.numblocks != result.numblocks:
            problem = f"has shape {np.shape(x)}, and its result {result.shape}"
            raise ArgumentError(self.graph.name, path, problem, "give a dask array with the chunks of the result")
        return x if x.dtype == result.dtype else x.astype(result.dtype)


def _dtype(x) -> np.dtype:
    return x.dtype if hasattr(x, "dtype") else np.result_type(x)
