"""`jit(..., dynamic_shapes=)`: declarations of the axes of each argument, and the start of a trace with them.

A declaration has the structure of the arguments: the name of a parameter, then the tree of its value. An array is
declared by a text such as "batch, n, 3", a sequence, or a mapping from axes. Their entries are names, integers, sizes
made by Dim, AUTO, STATIC and DYNAMIC.
"""

import enum
import inspect
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
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
from anyshape.graph.signature.dim_equations import size_names, solve_dims
from anyshape.graph.signature.prologue import compile_solver
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.substitute import values_from
from anyshape.numpy.arrays.array import Array
from anyshape.program.inline import call_inside
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.named_dims import Dim, SymbolicScope, scope_of_sizes
from anyshape.tracing.trace import Leaves, Prepared


class Axis(enum.Enum):
    """Policy for the size of an axis.

    AUTO leaves it to the function, and STATIC makes a program for each size. DYNAMIC refuses a program in which the
    size could have one value only.
    """

    AUTO, STATIC, DYNAMIC = "AUTO", "STATIC", "DYNAMIC"

    def __repr__(self) -> str:
        return self.name


AUTO, STATIC, DYNAMIC = Axis


@dataclass(frozen=True)
class DynamicShapes:
    """Declarations of one function, by parameter or by position; `strict` forbids decisions on a declared size."""

    function: str
    declared: Any
    strict: bool
    origin: SourceLine | None

    def prepare(self, leaves: Leaves, names: Sequence[str], function: Callable[..., Any]) -> Prepared:
        """Return the builder and the metadata that a trace of the function with these arguments starts from."""
        reading = _Reading(self, leaves, names)
        for leaf, spec, path in self._by_leaf(leaves, _leaves_by_parameter(function, names, leaves)):
            reading.declare(leaf, spec, path)
        return reading.builder()

    def require(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], function: Callable[..., Any]
    ) -> dict[DimVar, DynamicSize]:
        """Make the declarations preconditions of the active trace, and return its sizes that must stay dynamic."""
        names, paths = pytrees.parameter_names(function), pytrees.leaf_paths(args, kwargs)
        raw, tree = pytrees.flatten((args, kwargs))
        leaves = Leaves(raw, [], tree, paths)
        by_leaf = self._by_leaf(leaves, _leaves_by_parameter(function, names, leaves))
        declared = [x for x in by_leaf if x[1] is not None]
        values = [raw[i] for i, _, _ in declared]
        labels = [pytrees.named(paths[i], names) for i, _, _ in declared]
        arrays = [_described(x, label, self.function) for x, label in zip(values, labels, strict=True)]
        reading = _Reading(self, Leaves(arrays, [], tree, [paths[i] for i, _, _ in declared]), names)
        for position, (_, spec, path) in enumerate(declared):
            reading.declare(position, spec, path)
        call_inside(reading.signature(), values, labels)
        return reading.dynamic_sizes_of(values)

    def _by_leaf(self, leaves: Leaves, by_parameter: Mapping[str, Any]) -> list[tuple[int, Any, str]]:
        """Return the number of each leaf with its declaration, or None, and the path of that."""
        declared = self.declared
        if isinstance(declared, (tuple, list)):
            if len(declared) > len(by_parameter):
                problem = f"has {len(declared)} entries for {len(by_parameter)} arguments"
                raise self.wrong("", problem, "give one for each")
            declared = dict(zip(by_parameter, declared, strict=False))
        by_leaf: dict[int, tuple[Any, str]] = {}
        for name, spec in (declared or {}).items():
            if name in by_parameter:
                self._walk(spec, by_parameter[name], f"[{name!r}]", by_leaf)
        return [(i, *by_leaf.get(i, (None, ""))) for i in range(len(leaves.arrays))]

    def _walk(self, spec, node, path: str, by_leaf: dict[int, tuple[Any, str]]) -> None:
        """Follow a declaration along the tree of an argument, whose leaves are their numbers."""
        if type(node) is int:
            by_leaf[node] = spec, path
            return
        if node is None:  # an optional argument that was not passed
            return
        is_kept = isinstance(node, pytrees.Setting)
        node = node.value if is_kept else node
        if is_kept or pytrees.is_setting(node):
            if spec is not None and not isinstance(spec, Axis):
                raise self.wrong(path, f"is {spec!r} for a {type(node).__name__}", "leave it out: it has no sizes")
            return
        children, _, entries, _ = optree.tree_flatten_one_level(pytrees.wrapped(node), namespace=pytrees.NAMESPACE)
        if (parts := _declared_parts(spec, entries)) is None:
            raise self.wrong(path, f"is {spec!r} for a {type(node).__name__}", "give it the tree of the argument")
        for key in parts:
            if key not in entries:
                raise self.wrong(path, f"names {key!r}, which the argument does not have", "use its keys")
        for key, child in zip(entries, children, strict=True):
            self._walk(parts.get(key), child, f"{path}[{key!r}]", by_leaf)

    def wrong(self, path: str, problem: str, advice: str) -> ArgumentError:
        """Return the error for the declaration at a path."""
        return ArgumentError(self.function, f"dynamic_shapes{path}", problem, advice)


def _declared_parts(spec, entries: Sequence[Any]) -> dict[Any, Any] | None:
    """Return the declaration of each part of a container, None if the declaration is of another structure."""
    if spec is None or isinstance(spec, (Axis, type)):  # a class of batches: examples have any sizes
        return dict.fromkeys(entries, None if isinstance(spec, type) else spec)
    if pytrees.is_fields(type(spec)):
        return {name: getattr(spec, name) for name in entries if hasattr(spec, name)}
    if isinstance(spec, Mapping):
        return dict(spec)
    fits = isinstance(spec, (tuple, list)) and len(spec) == len(entries)
    return dict(zip(entries, spec, strict=True)) if fits else None


@dataclass
class _Reading:
    """Declarations as sizes, for the arguments of one call.

    `symbolic` are declared sizes that have a scope already. `static` are the variables of STATIC axes with their
    labels, and `dynamic` the variables that must stay dynamic.
    """

    shapes: DynamicShapes
    leaves: Leaves
    names: Sequence[str]
    metas: list[TensorMeta] = field(default_factory=list)
    values: dict[int, Size] = field(default_factory=dict)
    symbolic: list[SymbolicSize] = field(default_factory=list)
    static: list[tuple[DimVar, str]] = field(default_factory=list)
    dynamic: dict[DimVar, DynamicSize] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = [x for x in optree.tree_leaves(self.shapes.declared, is_leaf=_is_size) if isinstance(x, Dim)]
        self.scope = SymbolicScope(dims=list({d.expr: d for d in sizes}.values()))

    def declare(self, i: int, spec: Any, path: str) -> None:
        """Add the metadata of leaf i, and its value if that is declared to be a size."""
        array, path_to_leaf = self.leaves.arrays[i], self.leaves.paths[i]
        label, shown = pytrees.readable(path_to_leaf, self.names), pytrees.named(path_to_leaf, self.names)
        sizes: list[Size] = []
        if not array.ndim and isinstance(spec, (str, SymbolicSize)) and array.dtype.kind not in "iu":
            problem = f"is of dtype {array.dtype}, and dynamic_shapes declares it to be a size"
            raise ArgumentError(self.shapes.function, shown, problem, "pass an integer")
        if not array.ndim and array.dtype.kind in "iu" and spec not in (None, AUTO, "", (), [], {}):
            self.values[i] = self._size(spec, label, shown, path)
        else:
            for axis, entry in enumerate(self._entries(spec, array.ndim, path)):
                if entry is STATIC and isinstance(array.shape[axis], SymbolicSize):
                    entry = int(array.shape[axis])  # a decision of the enclosing program
                sizes.append(self._size(entry, f"{label}_{axis}", f"{shown}.shape[{axis}]", f"{path}[{axis}]"))
        self.metas.append(tensor(array.dtype, sizes))

    def _entries(self, spec, rank: int, path: str) -> list[Any]:
        """Return one entry for each axis of an array."""
        if spec is None or isinstance(spec, Axis):
            return [spec] * rank
        if isinstance(spec, Mapping):
            return self._entries_by_axis(spec, rank, path)
        if isinstance(spec, str):
            self._check_text(spec, rank, path)
            spec = [part.strip() for part in _split(spec)]
            spec = [] if spec == [""] else spec
        if not isinstance(spec, (tuple, list)):
            advice = 'give a text such as "n, 3", a tuple with an entry for each axis, or a dict of axes'
            raise self.shapes.wrong(path, f"is {spec!r} for an array of {rank} axes", advice)
        if (entries := _expand_ellipsis(spec, rank)) is None:
            raise self.shapes.wrong(path, f"has {len(spec)} entries for {rank} axes", "give one entry for each axis")
        return entries

    def _entries_by_axis(self, spec: Mapping[Any, Any], rank: int, path: str) -> list[Any]:
        for axis in spec:
            if has_type(axis, bool) or not has_type(axis, int) or not -rank <= axis < rank:
                raise self.shapes.wrong(path, f"names the axis {axis!r} of {rank}", "name axes of the array")
        by_axis = {axis % rank: entry for axis, entry in spec.items()}
        return [by_axis.get(axis) for axis in range(rank)]

    def _size(self, entry, label: str, shown: str, path: str) -> Size:
        """Return the size that an entry declares; an axis without a name gets a variable named `label`."""
        if entry is None or isinstance(entry, Axis) or (isinstance(entry, str) and entry.strip() == "_"):
            return self._unnamed_size(entry if isinstance(entry, Axis) else None, label, shown)
        sizes = self._read(entry, path) if isinstance(entry, str) else (self._size_of(entry, path),)
        if len(sizes) != 1:
            raise self.shapes.wrong(path, f"is {entry!r}, which is not one size", "give one size for each axis")
        if self.shapes.strict:
            self.dynamic.update({v: DynamicSize(str(v), True) for v in expr.variables(sizes[0])})
        return sizes[0]

    def _unnamed_size(self, policy: Axis | None, label: str, shown: str) -> Size:
        variable = DimVar(label)
        if policy is STATIC:
            self.static.append((variable, shown))
        elif policy is DYNAMIC or (policy is None and self.shapes.strict):
            self.dynamic[variable] = DynamicSize(shown, self.shapes.strict)
        return expr.from_atom(variable)

    def _size_of(self, entry, path: str) -> Size:
        """Return the size of an entry that is a symbolic size or an int."""
        if isinstance(entry, SymbolicSize):
            self.symbolic.append(entry)
            return entry.expr
        if has_type(entry, (int, np.integer)) and not has_type(entry, bool) and entry >= 0:
            return int(entry)
        advice = "give a name, an int, a Dim, AUTO, STATIC or DYNAMIC"
        raise self.shapes.wrong(path, f"is {entry!r}, which is not a size", advice)

    def _check_text(self, text: str, rank: int, path: str) -> None:
        """Raise SpecError for a text that is not a specification, whatever its number of axes."""
        axes = [expr.variable("_") for _ in range(rank)]
        try:
            parse_shape(text, expr.variable, axes)
        except SpecError as error:
            if error.column is not None:
                raise self._misread(error, path) from None

    def _read(self, text: str, path: str) -> tuple[Size, ...]:
        try:
            return self.scope.read(text)
        except SpecError as error:
            raise self._misread(error, path) from None

    def _misread(self, error: SpecError, path: str) -> SpecError:
        problem = f"{error.problem}, in dynamic_shapes{path} of {self.shapes.function}"
        return SpecError(error.spec, problem, error.advice, error.column)

    def builder(self) -> Prepared:
        """Return a builder whose scope has the sizes of this call, and the metadata of the inputs."""
        declared = scope_of_sizes(self.symbolic, self.scope, self.metas, self.values)
        sizes = self._sizes(declared.conditions)
        origin, root = declared.origin, declared.root
        scope = Scope(sizes, declared.conditions, origin, root, dynamic_sizes=self.dynamic)
        builder = Builder(scope, handle=Array, values=self.values)
        builder.define_bindings(self.metas, solve_dims(self.metas, self.values, declared.conditions))
        for variable, shown in self.static:
            claim = equal(expr.from_atom(variable), sizes[variable], f"{shown} == {sizes[variable]}")
            scope.record(Condition("guard", claim, "jit", f"{shown} was declared STATIC", self.shapes.origin))
        return builder, self.metas

    def dynamic_sizes_of(self, arguments: Sequence[Any]) -> dict[DimVar, DynamicSize]:
        """Return the sizes of the active trace that these arguments have where they were declared to stay dynamic."""
        dynamic: dict[DimVar, DynamicSize] = {}
        for i, (meta, x) in enumerate(zip(self.metas, arguments, strict=True)):
            shapes = ([self.values[i]], [x]) if i in self.values else (meta.sizes or (), getattr(x, "shape", ()))
            for declared, size in zip(*shapes, strict=True):
                if isinstance(size, SymbolicSize):
                    dynamic |= self._dynamic_variables(declared, size.expr)
        return dynamic

    def _dynamic_variables(self, declared: Size, size: Size) -> dict[DimVar, DynamicSize]:
        """Return the variables of a size, if that is declared to stay dynamic; it names one that is alone."""
        sources = [self.dynamic[v] for v in expr.variables(declared) if v in self.dynamic]
        if not sources:
            return {}
        renamed = {v: DynamicSize(str(v), sources[0].strict) for v in expr.variables(size)}
        return {v: sources[0] if size == expr.from_atom(v) else other for v, other in renamed.items()}

    def signature(self) -> Graph:
        """Return a program that takes the declared arguments and returns nothing."""
        declared = scope_of_sizes(self.symbolic, self.scope, self.metas, self.values)
        builder = Builder(declared, handle=Array, values=self.values)
        for meta in self.metas:
            builder.input(meta)
        builder.define_bindings(self.metas, solve_dims(self.metas, self.values, declared.conditions))
        builder.hide()
        return builder.finish([], self.shapes.function, [pytrees.named(p, self.names) for p in self.leaves.paths])

    def _sizes(self, conditions: Sequence[Condition]) -> dict[DimVar, int]:
        """Return the value of each variable in this call; raise SizeMismatchError if a declaration does not hold."""
        labels = [pytrees.named(p, self.names) for p in self.leaves.paths]
        solver = compile_solver(self.metas, labels, self.values, conditions, arrays=True, program=self.shapes.function)
        values = solver(*self.leaves.arrays)
        for condition in conditions:
            try:
                holds = condition.claim.holds(values_from(values))
            except ZeroDivisionError:
                holds = False
            if not holds:
                names = size_names(solve_dims(self.metas, self.values, conditions), labels)
                raise replace(condition, primitive=self.shapes.function).error(values, names)
        return values


def _described(x, path: str, function: str):
    """Return an argument inside a trace as a value with a dtype and a shape."""
    if isinstance(x, Traced):
        return x
    return np.zeros((), np.int64) if isinstance(x, SymbolicSize) else pytrees.as_leaf(x, path, function)


def _is_size(x) -> bool:
    return isinstance(x, SymbolicSize)


def _expand_ellipsis(spec: Sequence[Any], rank: int) -> list[Any] | None:
    """Return one entry for each axis, None for those that `...` stands for; None if that is impossible."""
    entries = list(spec)
    dots = [i for i, e in enumerate(entries) if e is ... or (isinstance(e, str) and e.strip() == "...")]
    if len(dots) == 1:
        entries[dots[0] : dots[0] + 1] = [None] * (rank - len(entries) + 1)
    return entries if len(entries) == rank and len(dots) <= 1 else None


def _split(text: str) -> list[str]:
    """Split a specification at commas outside parentheses; parentheses around all of it are dropped."""
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


def _leaves_by_parameter(function: Callable[..., Any], names: Sequence[str], leaves: Leaves) -> dict[str, Any]:
    """Return the argument of each parameter, with the number of each leaf in place of it."""
    args, kwargs = pytrees.unflatten(leaves.tree, range(len(leaves.paths)))
    try:
        return dict(inspect.signature(function).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):  # no signature, or one that the call itself will report
        positional = {names[i] if i < len(names) else f"args[{i}]": a for i, a in enumerate(args)}
        return {**positional, **kwargs}


def dynamic_shapes_of(
    function: Callable[..., Any], name: str, declared: Any, on_decision: str, static: Collection[str]
) -> DynamicShapes | None:
    """Return the declarations for a function, or None without any."""
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
    """Raise ArgumentError for a declaration of a parameter that the function does not have."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    for parameter in declared:
        if parameter not in parameters:
            known = ", ".join(parameters)
            raise ArgumentError(name, "dynamic_shapes", f"names {parameter!r}", f"name one of the parameters: {known}")
