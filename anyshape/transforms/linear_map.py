"""Linear maps that linearize, vjp and linear_transpose return: push tangents forward, pull cotangents back.

Inside a trace both directions are emitted into it. Outside, each is a program, made once per trace of the function.

Memoise what transforms make of a function, for as long as the function lives.

A closure that is made anew for each batch may hold the batch. What is made of it refers to it, so a table of the module
would hold both. The function itself holds the table instead: both are garbage together.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import ArgumentError, messages
from anyshape.graph.ir.builder import Builder, activate, active, user_line
from anyshape.graph.ir.graph import Graph, walk
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.numpy.arrays.array import Array
from anyshape.numpy.operands.promotion import sizes
from anyshape.numpy.operands.ufuncs import Ufunc
from anyshape.ops.control import custom_vjp_tangent_op
from anyshape.ops.core.apply import meta_of
from anyshape.ops.creation import full
from anyshape.ops.elementwise import lift
from anyshape.support.fork_lock import Lock
from anyshape.support.freezing import Frozen
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import graph_jvp, graph_replay, libraries, linearize_transpose, traced_program
from anyshape.support.true_types import has_type, of_library
from anyshape.tracing.captured.closures import MEMO
from anyshape.tracing.pytrees import as_leaf, flatten, flatten_as, structure_text, unflatten
from anyshape.tracing.trace import Trace, as_value, is_inexact
from anyshape.transforms.caching.cache import Cache
from anyshape.transforms.jitted import Jitted


@dataclass(frozen=True, eq=False)
class LinearMapSpec:
    """Value-free part of a linear map: its graph, pytrees and array types. One per trace of the function.

    `xs` and `ys` are the metadata of all inputs and outputs of the function; `wrt` are the inputs that have tangents.
    `live` maps each output of the function to an output of `graph`, or to None if its tangent is zero.
    """

    name: str
    graph: Graph
    live: tuple[int | None, ...]
    wrt: tuple[int, ...]
    in_tree: Any
    out_tree: Any
    xs: tuple[TensorMeta, ...]
    ys: tuple[TensorMeta, ...]

    @property
    def tangents(self) -> tuple[TensorMeta, ...]:
        return tuple(self.xs[i] for i in self.wrt)

    @property
    def residuals(self) -> tuple[TensorMeta, ...]:
        return tuple(v.meta for v in self.graph.inputs[len(self.wrt) :])

    @cached_property
    def tokens(self) -> tuple[DimVar, ...]:
        """Dimension variables that are neither axes of residuals nor results of the graph; each gets a size carrier."""
        metas = [*self.xs, *self.ys, *[v.meta for v in self.graph.numbering]]
        wanted = dict.fromkeys(
            v for m in metas for e in m.extents if isinstance(e, Exact) for v in expr.variables(e.size)
        )
        carried = _axis_variables(self.residuals)
        return tuple(v for v in wanted if v not in carried and v not in self.graph.runtime)

    @property
    def has_push(self) -> bool:
        """False if a rule of the user has cotangents alone."""
        return not any(node.op is custom_vjp_tangent_op for node in walk(remove_dead_code(self.graph)))

    @cached_property
    def pushing(self) -> traced_program.Program:
        """Program (tangents, residuals, tokens) -> tangents of the outputs."""

        def emit(builder: Builder, tangents: list[Any], residuals: list[Any]) -> list[Any]:
            outputs = self.pushed(builder, tangents, residuals)
            context = ShapeGuardContext(builder.scope, self.name, None)
            return [
                outputs[position] if position is not None else full(context.shape(y), 0, y.dtype)
                for position, y in zip(self.live, self.ys, strict=True)
            ]

        return self._program("tangent", self.tangents, emit)

    def pushed(self, builder: Builder, tangents: Sequence[Any], residuals: Sequence[Any]) -> Sequence[Any]:
        """Return the results of the graph, emitted into `builder`.

        The derivative of what is linear is the same anywhere. As a derivative it leaves out zeros by construction.
        """
        xs = [*tangents, *residuals]
        values, pushed = graph_jvp.push(builder, self.graph, xs, [*tangents, *[None] * len(residuals)])
        return [lift(0, y) if t is None else t for y, t in zip(values, pushed, strict=True)]

    @cached_property
    def pulling(self) -> traced_program.Program:
        """Program (cotangents, residuals, tokens) -> cotangents of the inputs that have tangents."""

        def emit(builder: Builder, cotangents: list[Any], residuals: list[Any]) -> list[Any]:
            return self.transposed(builder, self.graph, cotangents, residuals)

        return self._program("cotangent", self.ys, emit)

    def transposed(
        self, builder: Builder, graph: Graph, cotangents: Sequence[Any], residuals: Sequence[Any]
    ) -> list[Any]:
        """Return the cotangents of the inputs that have tangents, emitted into `builder`."""
        live = [ct for ct, position in zip(cotangents, self.live, strict=True) if position is not None]
        pulled = linearize_transpose.transpose(builder, graph, len(self.wrt), residuals, live)
        context = ShapeGuardContext(builder.scope, self.name, None)
        pairs = zip(pulled, graph.inputs, strict=False)
        return [full(context.shape(v), 0, v.meta.dtype) if g is None else g for g, v in pairs]

    def _program(self, label: str, first: Sequence[TensorMeta], emit) -> traced_program.Program:
        """Return the program of `first`, residuals and tokens; its first inputs are named after the label."""
        metas = [*first, *self.residuals, *[tensor(np.dtype(bool), [expr.from_atom(v)]) for v in self.tokens]]
        axes = _axis_variables(metas, len(first))
        conditions = [c for c in self.graph.conditions if all(v in axes for v in c.claim.variables())]
        builder = Builder(Scope(conditions=conditions), handle=Array)
        for variable, leaf in axes.items():
            builder.define_dim(variable, expr.from_atom(leaf))
        handles = [builder.input(m) for m in metas]
        with activate(builder):
            outputs = emit(builder, handles[: len(first)], handles[len(first) : len(first) + len(self.residuals)])
            own = [label] if len(first) == 1 else [f"{label}_{i}" for i in range(len(first))]
            names = [*own, *[""] * (len(metas) - len(first))]  # callers pass no residuals
            graph = builder.finish(outputs, self.name, names)
        _, in_tree = flatten(list(metas))
        _, out_tree = flatten([0] * len(outputs))
        return traced_program.Program(Trace(graph, in_tree, out_tree, tuple(names)))


def _axis_variables(metas: Sequence[TensorMeta], start: int = 0) -> dict[DimVar, InputAxis]:
    """Map each variable that is the size of an axis to the first such axis; inputs before `start` come last."""
    axes: dict[DimVar, InputAxis] = {}
    for i, meta in [*enumerate(metas)][start:] + [*enumerate(metas)][:start]:
        for axis, extent in enumerate(meta.extents):
            atom = expr.as_atom(extent.size) if isinstance(extent, Exact) else None
            if isinstance(atom, DimVar):
                axes.setdefault(atom, InputAxis(i, axis))
    return axes


def make_shape(
    name: str,
    derivative: linearize_transpose.LinearMap,
    wrt: Sequence[int],
    trees: tuple[Any, Any],
    xs: Sequence[Any],
    ys: Sequence[Any],
) -> tuple[LinearMapSpec, list[Any]]:
    """Return a derivative as plain data, and the values that it needs: residuals, then tokens."""
    metas = [tuple(x.meta for x in arrays) for arrays in (xs, ys)]
    shape = LinearMapSpec(name, derivative.graph, derivative.live, tuple(wrt), *trees, *metas)
    tokens = [full((expr.from_atom(v),), False, bool) for v in shape.tokens] if active_depth() == 0 else []
    return shape, [*derivative.residuals, *tokens]


def active_depth() -> int:
    """Return the depth of the active trace; 0 in the outermost one and outside of traces."""
    builder = active()
    return 0 if builder is None else builder.depth


class LinearizedFunction:
    """Linear map at a point: `push` maps tangents of the primals, `pull` cotangents of the value."""

    def __init__(self, shape: LinearMapSpec, values: Sequence[Any]) -> None:
        self.shape, self.values = shape, list(values)

    @property
    def residuals(self) -> list[Any]:
        return self.values[: len(self.shape.residuals)]

    @short_traceback
    def push(self, *tangents: Any) -> Any:
        """Return the tangent of the value along one tangent per primal."""
        shape = self.shape
        leaves = self._matched(tangents, shape.in_tree, shape.xs, "tangents")
        chosen = [leaves[i] for i in shape.wrt]
        if (builder := active()) is None:
            outputs = _called(shape.pushing, [*chosen, *self.values])
        else:
            live = shape.pushed(builder, list(map(as_value, chosen)), list(map(as_value, self.residuals)))
            outputs = [live[p] if p is not None else self._zeros(y) for p, y in zip(shape.live, shape.ys, strict=True)]
        return unflatten(shape.out_tree, outputs)

    @short_traceback
    def pull(self, cotangent: Any) -> tuple[Any, ...]:
        """Return a tuple of cotangents, one per primal; None for leaves that have no derivative."""
        shape = self.shape
        leaves = self._matched(cotangent, shape.out_tree, shape.ys, "the cotangent")
        if (builder := active()) is None:
            pulled = _called(shape.pulling, [*leaves, *self.values])
        else:
            graph = self._graph_here(builder)
            pulled = shape.transposed(builder, graph, list(map(as_value, leaves)), list(map(as_value, self.residuals)))
        by_input = dict(zip(shape.wrt, pulled, strict=True))
        return unflatten(shape.in_tree, [by_input.get(i) for i in range(len(shape.xs))])

    @short_traceback
    def pull_first(self, cotangent: Any, aux: Any) -> tuple[Any, ...]:
        """Pull back a cotangent of `value` in a result (value, aux); aux gets a zero cotangent."""
        leaves, tree = flatten(aux)
        count = len(self.shape.ys) - len(leaves)
        metas = self.shape.ys[count:]
        if active() is not None:
            return self.pull((cotangent, unflatten(tree, [self._zeros(m) for m in metas])))
        zeros = [np.zeros(np.shape(x), m.dtype) for x, m in zip(leaves, metas, strict=True)]
        return self.pull((cotangent, unflatten(tree, zeros)))

    pull.__wrapped__.__qualname__ = "pullback"  # type: ignore[attr-defined]  # as errors of Python name it

    def _zeros(self, meta: TensorMeta):
        return full(tuple([_evaluated(e, self._sizes()) for e in meta.extents]), 0, meta.dtype)

    def _concrete(self) -> bool:
        """Return True if the residuals are arrays: the function was differentiated outside any trace."""
        complete = len(self.values) == len(self.shape.residuals) + len(self.shape.tokens)
        return complete and all(has_type(v, (np.ndarray, np.generic)) for v in self.values)

    def _sizes(self) -> dict[DimVar, int]:
        """Return the value of every variable; {} if the residuals are traced and sizes stay symbolic."""
        if not self._concrete():
            return {}
        metas = [*self.shape.residuals, *[tensor(np.dtype(bool), [expr.from_atom(v)]) for v in self.shape.tokens]]
        return {v: self.values[leaf.operand].shape[leaf.axis] for v, leaf in _axis_variables(metas).items()}

    def _graph_here(self, builder: Builder) -> Graph:
        """Return the linear graph with metadata that hold in this trace."""
        known = self._sizes()
        if not self._concrete() or not known:
            return self.shape.graph
        inner = Builder(builder.scope, parent=builder, handle=Array)
        metas = [tensor(v.meta.dtype, [_evaluated(e, known) for e in v.meta.extents]) for v in self.shape.graph.inputs]
        with activate(inner):
            outputs = graph_replay.inline(inner, self.shape.graph, [inner.input(m) for m in metas])
            return inner.finish(outputs, self.shape.name)

    def _matched(self, argument, tree, metas: Sequence[TensorMeta], path: str) -> list[Any]:
        """Return the leaves of a tangent or cotangent after checks of structure, dtype and rank.

        Sizes are checked by the program, or by `_agree` in a trace.
        """
        if (leaves := flatten_as(argument, tree)) is None:
            others, structure = flatten(argument)
            problem = f"has the structure {structure_text(structure)}, not {structure_text(tree)}"
            raise ArgumentError(self.shape.name, path, problem, messages.leaves_advice(len(others), len(metas)))
        return [self._leaf(x, m, f"{path}[{i}]") for i, (x, m) in enumerate(zip(leaves, metas, strict=True))]

    def _leaf(self, x, meta: TensorMeta, path: str):
        if not hasattr(x, "dtype"):
            x = as_leaf(x, path, self.shape.name).astype(meta.dtype)
        dtype = libraries.numpy_dtype(x) if of_library(x) else x.dtype
        if is_inexact(meta.dtype) and dtype != meta.dtype:
            raise ArgumentError(self.shape.name, path, f"has dtype {dtype}, not {meta.dtype}", "convert it with astype")
        if x.ndim != meta.rank:
            raise ArgumentError(
                self.shape.name, path, f"has {x.ndim} axes, not {meta.rank} as {meta}", "change its shape"
            )
        if (builder := active()) is not None:
            context = ShapeGuardContext(builder.scope, self.shape.name, user_line(), [meta_of(x), meta])
            self._agree(context, x, meta, path)
        return x

    def _agree(self, context: ShapeGuardContext, x, meta: TensorMeta, path: str) -> None:
        """Require, in a trace, that the sizes agree: rules rely on cotangents of the shape of their value."""
        known = self._sizes()
        for size, extent in zip(sizes(x), meta.extents, strict=True):
            context.require_equal(size, _evaluated(extent, known), f"{path} must have the shape of its value")


def _called(program: traced_program.Program, leaves: list[Any]) -> Any:
    """Return the result of a program, where the values that a derivative needs are."""
    if (first := next(filter(of_library, leaves), None)) is None:
        return program.call_flat(leaves)
    move = libraries.library_of(first).array
    leaves = [x if of_library(x) else move(x) for x in leaves]
    return program.on(leaves).call_flat(leaves)


def _evaluated(size, known: dict[DimVar, int]):
    """Return a size, or the size of an exact extent, with the known variables replaced."""
    size = size.size if isinstance(size, Exact) else size
    return substitute_leaves(size, lambda atom: known.get(atom) if isinstance(atom, DimVar) else None)


K = TypeVar("K", bound=Hashable)


class _Memo:
    """Table of one function, which is neither copied nor pickled with it."""

    __slots__ = ("entries", "function")

    def __init__(self, function: Any = None) -> None:
        self.function = None if function is None else weakref.ref(function)
        self.entries: dict[Hashable, Any] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> _Memo:
        return _Memo()

    def __reduce__(self) -> Any:
        return _Memo, ()


def memoised(function: Callable[..., Any], key: K, make: Callable[[Callable[..., Any], K], Any]) -> Any:
    """Return what `make(function, key)` gave for the same hashable function and key, or call it."""
    if (entries := _entries_of(function)) is None:
        return _shared(Frozen(function), key, make)
    entry = entries.get((make, key))
    return entries.setdefault((make, key), make(function, key)) if entry is None else entry


def _entries_of(function: Callable[..., Any]) -> dict[Hashable, Any] | None:
    """Return the table of a function; None for other callables, and for wrappers, whose dict is compared."""
    if has_type(function, types.FunctionType):
        if hasattr(function, "__wrapped__"):
            return None
    elif not has_type(function, Jitted):
        return None
    attributes = vars(function)
    memo = attributes.get(MEMO)
    if memo is None or not (memo.function is not None and memo.function() is function):
        memo = attributes[MEMO] = _Memo(function)
    entries: dict[Hashable, Any] = memo.entries
    return entries


def share_programs(jitted: Jitted, function: Callable[..., Any], transform: Callable[..., Any], *settings: Any) -> None:
    """Have what a transform made of a function use the programs of what it made before of the same function.

    So `vmap(grad(f))(x)` in a loop traces once. A function that can hold the programs does, for as long as it lives.
    Only settings of plain numbers tell that two results are the same. The first call looks for them, and for functions
    of the same code, by `sharing`.
    """
    if not all(map(_is_plain, settings)):
        return
    key: Hashable = transform, *[_with_types(x) for x in settings]
    if has_type(function, Jitted) and function.origin is not None:
        function, before = function.origin
        key = key, before
    jitted.origin = function, key
    jitted.use_programs = use_programs_of_function


def use_programs_of_function(jitted: Jitted) -> None:
    """Have a transformed function use the programs of one that was made before of the same function in the same way."""
    function, key = jitted.origin
    entries = _entries_of(function)
    if entries is not None:
        jitted.use_cache(*entries.setdefault((share_programs, key), jitted.own_programs))
    elif has_type(function, _ONE_OF_A_KIND):
        jitted.use_cache(*_programs_of(Frozen(function), key))


_ONE_OF_A_KIND = (Ufunc, np.ufunc, type(np.sum))  # classes of functions that a module holds


def _is_plain(setting) -> bool:
    """Return whether a setting is a number or None, or a tuple of them: these have a hash."""
    if type(setting) is tuple:
        return all(map(_is_plain, setting))
    return setting is None or has_type(setting, int)


def _with_types(setting):
    """Return a plain setting with the types of its numbers: True is not 1."""
    return tuple(map(_with_types, setting)) if type(setting) is tuple else (type(setting), setting)


@functools.lru_cache(maxsize=256)
def _programs_of(function: Frozen, key: Hashable) -> tuple[Cache, Lock]:
    """Return programs of what is made in one way of a function that can hold none."""
    return Cache(), Lock()


@functools.lru_cache(maxsize=64)
def _shared(function: Frozen, key: K, make: Callable[[Callable[..., Any], K], Any]):
    return make(function.value, key)
