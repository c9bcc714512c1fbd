"""From a Python function to a graph: flatten the arguments, run the function once on traced arrays."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from anyshape.errors import ArgumentError
from anyshape.graph import dims
from anyshape.graph.builder import Builder, Traced, activate
from anyshape.graph.dims import DimVar, InputAxis
from anyshape.graph.extents import TensorMeta, tensor
from anyshape.graph.ir import Graph
from anyshape.graph.scope import Scope, SymbolicSize
from anyshape.numpy.array import Array
from anyshape.numpy.convert import NUMERIC, asarray

NAMESPACE = "anyshape"
PYTHON_SCALARS = (bool, int, float, complex)


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function as programs print it."""
    return getattr(function, "__name__", type(function).__name__)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure of a pytree."""
    return optree.tree_flatten(tree, namespace=NAMESPACE)  # type: ignore[return-value]


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """The pytree of this structure with these leaves."""
    return optree.tree_unflatten(structure, leaves)


def leaf_paths(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """How to reach each leaf of the arguments: `args[0]`, `args[0]['w']`, `scale`."""
    paths = []
    for accessor in optree.tree_accessors((args, kwargs), namespace=NAMESPACE):
        head, key, *rest = accessor
        start = f"args[{key.entry}]" if head.entry == 0 else str(key.entry)
        paths.append(start + "".join(entry.codify("") for entry in rest))
    return paths


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """The names of the positional parameters, as far as they can be known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def readable(path: str, names: Sequence[str]) -> str:
    """An identifier for a leaf from its path: `x`, `params_w`."""
    found = re.match(r"args\[(\d+)\]", path)
    if found and int(found[1]) < len(names):
        path = names[int(found[1])] + path[found.end() :]
    text = re.sub(r"\W+", "_", path).strip("_")
    return text if text[:1].isalpha() else f"x{text}"


def as_leaf(x: Any, path: str, function: str) -> np.ndarray:
    """A leaf of the arguments as an array of numbers."""
    if isinstance(x, np.ndarray) or isinstance(x, (np.generic, *PYTHON_SCALARS)):
        array = np.asarray(x)
        if array.dtype.kind in NUMERIC:
            return array
        raise ArgumentError(function, path, f"has dtype {array.dtype}", "pass numbers or booleans")
    raise ArgumentError(
        function, path, f"is of type {type(x).__name__}, not an array", "pass arrays and numbers, and close over the rest"
    )


@dataclass(frozen=True)
class Trace:
    """A function traced once: its graph and the structure of its result."""

    graph: Graph
    out_tree: Any


def run_traced(function: Callable[..., Any], name: str, args: Any, kwargs: Any) -> tuple[list[Any], Any]:
    """The flat traced results of the function and their structure."""
    result = function(*args, **kwargs)
    leaves, tree = flatten(result)
    paths = optree.tree_paths(result, namespace=NAMESPACE)
    return [_as_result(x, name, p) for x, p in zip(leaves, paths, strict=True)], tree


def _as_result(x: Any, name: str, path: tuple[Any, ...]) -> Any:
    if isinstance(x, (Traced, SymbolicSize, np.ndarray, np.generic, *PYTHON_SCALARS)):
        return asarray(x)
    where = "the result" + "".join(f"[{p!r}]" for p in path)
    advice = "return arrays, numbers, or trees of them"
    raise ArgumentError(name, where, f"is of type {type(x).__name__}, not an array", advice)


def trace_call(
    function: Callable[..., Any], name: str, leaves: Sequence[np.ndarray], weak: Sequence[bool], tree: Any,
    paths: Sequence[str],
) -> Trace:  # fmt: skip
    """Trace with every axis of every leaf unknown; decisions are answered from the actual sizes and guarded."""
    names = parameter_names(function)
    hints: dict[DimVar, int] = {}
    builder = Builder(Scope(hints), handle=Array)
    handles = []
    for position, (leaf, path) in enumerate(zip(leaves, paths, strict=True)):
        variables = [DimVar(f"{readable(path, names)}_{axis}") for axis in range(leaf.ndim)]
        for axis, variable in enumerate(variables):
            builder.define_dim(variable, dims.from_atom(InputAxis(position, axis)))
            hints[variable] = leaf.shape[axis]
        handles.append(_input(builder, tensor(leaf.dtype, [dims.from_atom(v) for v in variables]), weak[position]))
    builder.scope.hints = hints
    return trace_in(builder, function, name, handles, tree, [readable(p, names) for p in paths])


def trace_in(
    builder: Builder, function: Callable[..., Any], name: str, handles: Sequence[Any], tree: Any, names: Sequence[str]
) -> Trace:
    """Run the function on inputs of the builder and finish its graph."""
    with activate(builder):
        args, kwargs = unflatten(tree, handles)
        results, out_tree = run_traced(function, name, args, kwargs)
        return Trace(builder.finish(results, name, names), out_tree)


def _input(builder: Builder, meta: TensorMeta, weak: bool) -> Any:
    handle = builder.input(meta)
    handle.weak = weak  # type: ignore[attr-defined]
    return handle


@dataclass(frozen=True)
class InnerTrace:
    """A function traced on values of an enclosing graph; `captured` are the further values that it reads there."""

    graph: Graph
    out_tree: Any
    captured: tuple[Any, ...]
    aux: Any = None


def trace_inner(
    outer: Builder, function: Callable[[list[Any]], tuple[Any, Any]], name: str, metas: Sequence[TensorMeta],
    weak: Sequence[bool],
) -> InnerTrace:  # fmt: skip
    """Trace `function`, from flat inputs to (result, aux), in a graph inside `outer`; aux is passed on as it is."""
    builder = Builder(outer.scope, parent=outer, handle=Array)
    handles = [_input(builder, m, w) for m, w in zip(metas, weak, strict=True)]
    with activate(builder):
        result, aux = function(handles)
        results, out_tree = run_traced(lambda: result, name, (), {})
        graph = builder.finish(results, name)
    return InnerTrace(graph, out_tree, tuple(builder.captures()), aux)
