"""`jit(..., dynamic_shapes=)`: what is declared of the axes of each argument, and a trace that starts from it.

A declaration follows the arguments: under the name of a parameter, the tree of its value, and for an array a text
("batch, n, 3"), a sequence or a mapping from axes of names, integers, sizes made by Dim, AUTO, STATIC and DYNAMIC.
"""

from __future__ import annotations

import enum
import inspect
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import optree

from anyshape.errors import ArgumentError, SpecError
from anyshape.graph.ir.builder import Builder, Traced, user_line
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.constraints import Condition, SourceLine, equal
from anyshape.graph.prover.scope import DynamicSize, Scope, SymbolicSize
from anyshape.graph.prover.spec_parser import parse_shape
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.signature.dim_equations import solve_dims
from anyshape.graph.signature.prologue import compile_solver
from anyshape.graph.signature.size_names import size_names
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import values_from
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.numpy.arrays.array import Array
from anyshape.program.inline import call_inside
from anyshape.tracing.named_dims import Dim, SymbolicScope, scope_of_sizes
from anyshape.tracing.pytrees import (
    NAMESPACE,
    as_leaf,
    flatten,
    leaf_paths,
    named,
    parameter_names,
    readable,
    unflatten,
)
from anyshape.tracing.trace import Leaves, Prepared


class Axis(enum.Enum):
    """What may become of the size of an axis: AUTO leaves it to the function, STATIC makes a program for each size,
    DYNAMIC refuses a program in which it could have one value only.
    """

    AUTO, STATIC, DYNAMIC = "AUTO", "STATIC", "DYNAMIC"

    def __repr__(self) -> str:
        return self.name


AUTO, STATIC, DYNAMIC = Axis


@dataclass(frozen=True)
class DynamicShapes:
    """The declarations of one function, by parameter or by position; `strict`: no decision on a declared size."""

    function: str
    declared: Any
    strict: bool
    origin: SourceLine | None

    def prepare(self, leaves: Leaves, names: Sequence[str], function: Callable[..., Any]) -> Prepared:
        """What a trace of the function with these arguments starts from."""
        reading = _Reading(self, leaves, names)
        for leaf, spec, path in self._by_leaf(leaves, _bound(function, names, leaves)):
            reading.declare(leaf, spec, path)
        return reading.builder()

    def require(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], function: Callable[..., Any]
    ) -> dict[DimVar, DynamicSize]:
        """In a trace, what is declared of the arguments becomes preconditions of the enclosing program.

        Gives those sizes of the trace that the function may not bind.
        """
        names, paths = parameter_names(function), leaf_paths(args, kwargs)
        raw, tree = flatten((args, kwargs))
        every = Leaves(raw, [], tree, paths)
        chosen = [x for x in self._by_leaf(every, _bound(function, names, every)) if x[1] is not None]
        given = [raw[i] for i, _, _ in chosen]
        shown = [named(paths[i], names) for i, _, _ in chosen]
        arrays = [_described(x, path, self.function) for x, path in zip(given, shown, strict=True)]
        reading = _Reading(self, Leaves(arrays, [], tree, [paths[i] for i, _, _ in chosen]), names)
        for position, (_, spec, path) in enumerate(chosen):
            reading.declare(position, spec, path)
        call_inside(reading.signature(), given, shown)
        return reading.kept_of(given)

    def _by_leaf(self, leaves: Leaves, bound: Mapping[str, Any]) -> list[tuple[int, Any, str]]:
        """What is declared of each leaf."""
        found: dict[int, tuple[Any, str]] = {}
        declared = self.declared
        if isinstance(declared, (tuple, list)):
            if len(declared) > len(bound):
                raise self._wrong("", f"has {len(declared)} entries for {len(bound)} arguments", "give one for each")
            declared = dict(zip(bound, declared, strict=False))
        for name, spec in (declared or {}).items():
            if name in bound:
                self._walk(spec, bound[name], f"[{name!r}]", found)
        return [(i, *found.get(i, (None, ""))) for i in range(len(leaves.arrays))]

    def _walk(self, spec: Any, node: Any, path: str, found: dict[int, tuple[Any, str]]) -> None:
        """Follow a declaration along the tree of an argument."""
        if type(node) is int:
            found[node] = spec, path
            return
        if node is None:  # nothing was given for an argument that may be left out
            return
        children, _, entries, _ = optree.tree_flatten_one_level(node, namespace=NAMESPACE)
        if spec is None or isinstance(spec, Axis):
            parts = dict.fromkeys(entries, spec)
        elif isinstance(spec, Mapping):
            parts = dict(spec)
        elif isinstance(spec, (tuple, list)) and len(spec) == len(children):
            parts = dict(zip(entries, spec, strict=True))
        else:
            raise self._wrong(path, f"is {spec!r} for a {type(node).__name__}", "give it the tree of the argument")
        for key in parts:
            if key not in entries:
                raise self._wrong(path, f"names {key!r}, which the argument does not have", "use its keys")
        for key, child in zip(entries, children, strict=True):
            self._walk(parts.get(key), child, f"{path}[{key!r}]", found)

    def _wrong(self, path: str, problem: str, advice: str) -> ArgumentError:
        return ArgumentError(self.function, f"dynamic_shapes{path}", problem, advice)


@dataclass
class _Reading:
    """Declarations turned into sizes, for the arguments of one call."""

    shapes: DynamicShapes
    leaves: Leaves
    names: Sequence[str]
    metas: list[TensorMeta] = field(default_factory=list)
    values: dict[int, Size] = field(default_factory=dict)
    given: list[SymbolicSize] = field(default_factory=list)
    fixed: list[tuple[DimVar, str]] = field(default_factory=list)
    kept: dict[DimVar, DynamicSize] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = [x for x in optree.tree_leaves(self.shapes.declared, is_leaf=_is_size) if isinstance(x, Dim)]
        self.scope = SymbolicScope(dims=list({d.expr: d for d in found}.values()))

    def declare(self, i: int, spec: Any, path: str) -> None:
        """The metadata of leaf i."""
        array, path_to_leaf = self.leaves.arrays[i], self.leaves.paths[i]
        label, shown = readable(path_to_leaf, self.names), named(path_to_leaf, self.names)
        sizes: list[Size] = []
        if not array.ndim and isinstance(spec, (str, SymbolicSize)) and array.dtype.kind not in "iu":
            problem = f"is of dtype {array.dtype}, and dynamic_shapes declares it to be a size"
            raise ArgumentError(self.shapes.function, shown, problem, "pass an integer")
        if not array.ndim and array.dtype.kind in "iu" and spec not in (None, AUTO, "", (), [], {}):
            self.values[i] = self._size(spec, label, shown, path)
        else:
            for axis, entry in enumerate(self._entries(spec, array, path)):
                if entry is STATIC and isinstance(array.shape[axis], SymbolicSize):
                    entry = int(array.shape[axis])  # a decision of the enclosing program
                sizes.append(self._size(entry, f"{label}_{axis}", f"{shown}.shape[{axis}]", f"{path}[{axis}]"))
        self.metas.append(tensor(array.dtype, sizes))

    def _entries(self, spec: Any, array: np.ndarray, path: str) -> list[Any]:
        """One entry for each axis."""
        rank = array.ndim
        if spec is None or isinstance(spec, Axis):
            return [spec] * rank
        if isinstance(spec, str):
            self._check_text(spec, rank, path)
            spec = [part.strip() for part in _split(spec)]
            spec = [] if spec == [""] else spec
        if isinstance(spec, Mapping):
            for axis in spec:
                if isinstance(axis, bool) or not isinstance(axis, int) or not -rank <= axis < rank:
                    raise self.shapes._wrong(path, f"names the axis {axis!r} of {rank}", "name axes of the array")
            by_axis = {axis % rank: entry for axis, entry in spec.items()}
            return [by_axis.get(axis) for axis in range(rank)]
        if not isinstance(spec, (tuple, list)):
            advice = 'give a text such as "n, 3", a tuple with an entry for each axis, or a dict of axes'
            raise self.shapes._wrong(path, f"is {spec!r} for an array of {rank} axes", advice)
        entries = list(spec)
        dots = [i for i, e in enumerate(entries) if e is ... or (isinstance(e, str) and e.strip() == "...")]
        if len(dots) == 1:
            entries[dots[0] : dots[0] + 1] = [None] * (rank - len(entries) + 1)
        if len(entries) != rank or len(dots) > 1:
            raise self.shapes._wrong(path, f"has {len(spec)} entries for {rank} axes", "give one entry for each axis")
        return entries

    def _size(self, entry: Any, label: str, shown: str, path: str) -> Size:
        """The size that an entry stands for."""
        entry = None if isinstance(entry, str) and entry.strip() == "_" else entry
        if entry is None or isinstance(entry, Axis):
            variable = DimVar(label)
            if entry is STATIC:
                self.fixed.append((variable, shown))
            elif entry is DYNAMIC or (entry is None and self.shapes.strict):
                self.kept[variable] = DynamicSize(shown, self.shapes.strict)
            return expr.from_atom(variable)
        if isinstance(entry, str):
            sizes = self._read(entry, path)
        elif isinstance(entry, SymbolicSize):
            self.given.append(entry)
            sizes = (entry.expr,)
        elif isinstance(entry, (int, np.integer)) and not isinstance(entry, bool) and entry >= 0:
            sizes = (int(entry),)
        else:
            advice = "give a name, an int, a Dim, AUTO, STATIC or DYNAMIC"
            raise self.shapes._wrong(path, f"is {entry!r}, which is no size", advice)
        if len(sizes) != 1:
            raise self.shapes._wrong(path, f"is {entry!r}, which is not one size", "give one size for each axis")
        if self.shapes.strict:
            self.kept.update({v: DynamicSize(str(v), True) for v in expr.variables(sizes[0])})
        return sizes[0]

    def _check_text(self, text: str, rank: int, path: str) -> None:
        """Refuse a text that is no specification, as a whole; how many axes it has is another question."""
        axes = [expr.variable("_") for _ in range(rank)]
        try:
            parse_shape(text, expr.variable, axes)
        except SpecError as error:
            if error.column is not None:
                raise self._misread(error, path) from error

    def _read(self, text: str, path: str) -> tuple[Size, ...]:
        try:
            return self.scope.read(text)
        except SpecError as error:
            raise self._misread(error, path) from error

    def _misread(self, error: SpecError, path: str) -> SpecError:
        place = f"{error.problem}, in dynamic_shapes{path} of {self.shapes.function}"
        return SpecError(error.spec, place, error.advice, error.column)

    def builder(self) -> Prepared:
        """A builder whose scope knows the sizes of this call, which fit what is declared."""
        declared = scope_of_sizes(self.given, self.scope, self.metas, self.values)
        sizes = self._sizes(declared.conditions)
        scope = Scope(sizes, declared.conditions, declared.origin, declared.root)
        builder = Builder(scope, handle=Array)
        builder.values = self.values
        builder.define_bindings(self.metas, solve_dims(self.metas, self.values, declared.conditions))
        for variable, shown in self.fixed:
            claim = equal(expr.from_atom(variable), sizes[variable], f"{shown} == {sizes[variable]}")
            scope.record(Condition("guard", claim, "jit", f"{shown} was declared STATIC", self.shapes.origin))
        scope.dynamic_sizes = self.kept
        return builder, self.metas

    def kept_of(self, given: Sequence[Any]) -> dict[DimVar, DynamicSize]:
        """The sizes of a trace that these arguments in it have where they were declared to stay dynamic."""
        found: dict[DimVar, DynamicSize] = {}
        for i, (meta, x) in enumerate(zip(self.metas, given, strict=True)):
            shapes = ([self.values[i]], [x]) if i in self.values else (meta.sizes or (), getattr(x, "shape", ()))
            for declared, size in zip(*shapes, strict=True):
                kept = [self.kept[v] for v in expr.variables(declared) if v in self.kept]
                for variable in expr.variables(size.expr) if kept and isinstance(size, SymbolicSize) else ():
                    alone = size.expr == expr.from_atom(variable)
                    found[variable] = kept[0] if alone else DynamicSize(str(variable), kept[0].strict)
        return found

    def signature(self) -> Graph:
        """A program that takes what is declared and gives nothing."""
        declared = scope_of_sizes(self.given, self.scope, self.metas, self.values)
        builder = Builder(declared, handle=Array)
        builder.values = self.values
        for meta in self.metas:
            builder.input(meta)
        builder.define_bindings(self.metas, solve_dims(self.metas, self.values, declared.conditions))
        builder.hide()
        return builder.finish([], self.shapes.function, [named(p, self.names) for p in self.leaves.paths])

    def _sizes(self, conditions: Sequence[Condition]) -> dict[DimVar, int]:
        """The value of each variable in this call, or what does not fit."""
        labels = [named(p, self.names) for p in self.leaves.paths]
        solver = compile_solver(self.metas, labels, self.values, conditions, arrays=True, program=self.shapes.function)
        found = solver(*self.leaves.arrays)
        for condition in conditions:
            try:
                holds = condition.claim.holds(values_from(found))
            except ZeroDivisionError:
                holds = False
            if not holds:
                names = size_names(solve_dims(self.metas, self.values, conditions), labels)
                raise replace(condition, primitive=self.shapes.function).error(found, names)
        return found


def _described(x: Any, path: str, function: str) -> Any:
    """An argument inside a trace, as something with a dtype and a shape."""
    if isinstance(x, Traced):
        return x
    return np.zeros((), np.int64) if isinstance(x, SymbolicSize) else as_leaf(x, path, function)


def _is_size(x: Any) -> bool:
    return isinstance(x, SymbolicSize)


def _split(text: str) -> list[str]:
    """The parts of a specification between commas outside parentheses, but for those around all of it."""
    inside = text.strip()
    depths = list(itertools.accumulate((c == "(") - (c == ")") for c in inside))
    if inside.startswith("(") and depths.index(0) == len(inside) - 1:
        return _split(inside[1:-1])
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts if parts[-1].strip() or len(parts) == 1 else parts[:-1]


def _bound(function: Callable[..., Any], names: Sequence[str], leaves: Leaves) -> dict[str, Any]:
    """The argument of each parameter, with the positions of leaves for leaves."""
    args, kwargs = unflatten(leaves.tree, range(len(leaves.paths)))
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # no signature, or one that the call itself will complain of
        positional = {names[i] if i < len(names) else f"args[{i}]": a for i, a in enumerate(args)}
        return {**positional, **kwargs}


def dynamic_shapes_of(
    function: Callable[..., Any], name: str, declared: Any, on_decision: str, static: Collection[str]
) -> DynamicShapes | None:
    """The declarations for a function, if anything is declared."""
    if on_decision not in ("guard", "error"):
        raise ArgumentError(name, "on_decision", f"is {on_decision!r}", 'give "guard" or "error"')
    if declared is None and on_decision == "guard":
        return None
    if declared is not None and not isinstance(declared, (Mapping, tuple, list)):
        advice = 'give a dict by parameter, as in {"x": "batch, n"}, or a tuple with an entry for each argument'
        raise ArgumentError(name, "dynamic_shapes", f"is {declared!r}", advice)
    if isinstance(declared, Mapping):
        _check_names(function, name, declared)
        for parameter in sorted(static):
            if declared.get(parameter, AUTO) not in (None, AUTO, STATIC):
                problem = "is declared, and static: it has no sizes"
                raise ArgumentError(name, f"dynamic_shapes[{parameter!r}]", problem, "leave it out of one of the two")
    return DynamicShapes(name, declared, on_decision == "error", user_line())


def _check_names(function: Callable[..., Any], name: str, declared: Mapping[Any, Any]) -> None:
    """Refuse a declaration for a parameter that the function does not have."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    for given in declared:
        if given not in parameters:
            known = ", ".join(parameters)
            raise ArgumentError(name, "dynamic_shapes", f"names {given!r}", f"name one of the parameters: {known}")
