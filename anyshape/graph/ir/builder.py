"""Building graphs: one builder per graph, a stack of active ones, and values of an outer graph met in an inner one."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from anyshape.errors import LeakedTracerError
from anyshape.graph.ir.canonical import freeze
from anyshape.graph.ir.graph import DimSource, Graph, Node, Op, Value, params_tuple
from anyshape.graph.prover.constraints import Condition, SourceLine
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.signature.dim_equations import SizeBinding, is_hidden_axis, local_sizes
from anyshape.graph.signature.guards import drop_implied
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size

_PACKAGE = str(Path(__file__).resolve().parents[2])
_LOG = logging.getLogger("anyshape.shapes")
_FOREIGN = (_PACKAGE, *np.__path__, *scipy.__path__, "<__array_function__", "<anyshape")


def user_line() -> SourceLine | None:
    """The innermost line that is neither anyshape's nor NumPy's nor SciPy's."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        generated = file == "<string>" and str(frame.f_globals.get("__name__")).startswith("anyshape.")
        if not (generated or file.startswith(_FOREIGN)) or file.startswith(_DEMO):
            return SourceLine(file, frame.f_lineno, frame.f_code.co_name, frame.f_code, frame.f_lasti)
        frame = frame.f_back  # type: ignore[assignment]
    return None


_DEMO = f"{_PACKAGE}/demo"


class Traced:
    """A handle of a value of a graph under construction. Subclasses add what users may do with it."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Builder, value: Value) -> None:
        self.builder, self.value = builder, value

    @property
    def meta(self) -> TensorMeta:
        return self.value.meta

    @property
    def dtype(self) -> np.dtype:
        return self.value.meta.dtype

    def leaked(self) -> LeakedTracerError:
        """The error for a use outside the trace that made this value, to be raised by the caller."""
        made = next((n.where for n in self.builder.nodes if self.value in n.outputs), None)
        return LeakedTracerError(f"array {self.builder.scope.size_names.text(str(self.value.meta))}", made, user_line())

    def __repr__(self) -> str:
        return f"Traced<{self.value.meta}>"


class Builder:
    """Collects the nodes of one graph. Values of its parents are captured as further inputs when they are met."""

    def __init__(
        self,
        scope: Scope,
        parent: Builder | None = None,
        handle: type[Traced] = Traced,
        whole: bool = False,
        values: Mapping[int, Size] | None = None,
    ) -> None:
        """`whole`: what is applied while it is active belongs to it, though it be to values of its parents alone."""
        self.scope, self.parent, self.handle, self.whole = scope, parent, handle, whole
        self.settled = scope.settled  # when it was begun
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.closed = False
        self.inputs: list[Value] = []
        self.nodes: list[Node] = []
        self.constants: dict[int, tuple[Value, np.ndarray]] = {}
        self.captured: dict[Value, tuple[Traced, Value]] = {}
        self.dims: dict[DimVar, tuple[Size, DimSource]] = {}
        self.values: dict[int, Size] = dict(
            values or {}
        )  # by position, the sizes that scalar integer inputs give by their value
        self.hidden: list[DimVar] = []
        self.runtime: dict[DimVar, tuple[Value, int]] = {}  # a size that depends on data: an axis of this value
        self.made: dict[Any, tuple[Value, ...]] = {}  # what nodes compute: an op applied again gives the same values
        self.where: SourceLine | None = None
        self.refused: tuple[str, Exception] | None = None  # what last was no int for NumPy, as text, and why
        self.logs = _LOG.isEnabledFor(logging.DEBUG)

    # -- what enters

    def input(self, meta: TensorMeta) -> Traced:
        """A new input."""
        value = Value(meta)
        self.inputs.append(value)
        return self.handle(self, value)

    def constant(self, array: np.ndarray) -> Traced:
        """An array that the program closes over, by reference: the same array is one constant."""
        found = self.constants.get(id(array))
        if found is None:
            found = Value(tensor(array.dtype, array.shape)), array
            self.constants[id(array)] = found
        return self.handle(self, found[0])

    def adopt(self, x: Traced) -> Value:
        """The value of a handle in this graph; a value of an enclosing graph becomes a captured input."""
        if x.builder is self:
            return x.value
        found = self.captured.get(x.value)
        if found is not None:
            return found[1]
        if self.parent is None or x.builder.closed or x.builder.depth >= self.depth:
            raise x.leaked()
        self.parent.adopt(x)
        inner = Value(x.value.meta)
        self.captured[x.value] = (x, inner)  # as it was met: what is made of outer values alone belongs outside
        return inner

    def define_dim(self, variable: DimVar, size: Size, read: SizeBinding | None = None) -> None:
        """The variable's value, as an op-local expression over the inputs of this graph."""
        self.dims[variable] = (size, DimSource(variable, size, read))

    def define_bindings(self, metas: Sequence[TensorMeta], solved: Sequence[SizeBinding]) -> None:
        """The values of variables that a call solves for, where inputs with these metadata are to come first."""
        sizes = local_sizes(metas, solved)
        for s in solved:
            self.define_dim(s.variable, sizes[s.variable], s)
        self.hidden = [v for v, size in sizes.items() if is_hidden_axis(size, len(metas))]

    def hide(self) -> None:
        """Add the inputs that a call does not give, after all others."""
        variables, self.hidden = self.hidden, []
        for variable in variables:
            self.hidden_input(variable)

    def hidden_input(self, variable: DimVar) -> Traced:
        """Add an input that a call does not give and whose one axis has the size `variable`."""
        self.hidden.append(variable)
        return self.input(tensor(np.dtype(bool), [expr.from_atom(variable)]))

    def dim_owner(self, variable: DimVar) -> Builder | None:
        """The enclosing graph that gives the variable its value."""
        builder: Builder | None = self
        while builder is not None and variable not in builder.dims and variable not in builder.runtime:
            builder = builder.parent
        return builder

    # -- what is emitted

    def emit(
        self, op: Op, inputs: Sequence[Traced], sources: Sequence[Traced], params: Mapping[str, Any]
    ) -> tuple[Traced, ...]:
        """Append one application of `op`; its shape rule derives the metadata of its outputs."""
        where = self.where if self.where is not None else self._line()
        values = tuple([self.adopt(x) for x in inputs])
        shape_values = tuple([self.adopt(x) for x in sources])
        metas = [v.meta for v in values]
        context = ShapeGuardContext(self.scope, op.name, where, [*metas, *[v.meta for v in shape_values]])
        key = self._key(context, op, values, shape_values, params)
        known = self.made.get(key)
        if known is not None:
            return tuple([self.handle(self, v) for v in known])
        result = op.infer(context, *metas, **params)
        outputs = tuple([Value(m) for m in (result if isinstance(result, tuple) else (result,))])
        self.made[key] = outputs
        if context.minted:
            self._find_sizes(context.minted, outputs)
        self.append(Node(op, values, shape_values, params_tuple(params), outputs, where))
        return tuple([self.handle(self, v) for v in outputs])

    def _line(self) -> SourceLine | None:
        """The line that an enclosing graph replays, as tangents live in a graph of their own; else the user's."""
        builder = self.parent
        while builder is not None:
            if builder.where is not None:
                return builder.where
            builder = builder.parent
        return user_line()

    def _key(
        self, context: ShapeGuardContext, op: Op, inputs: Any, sources: tuple[Value, ...], params: Mapping[str, Any]
    ) -> Any:
        """What a node computes. Sizes that depend on data are the same where they are made of the same sizes."""
        if op.mints:
            return op, inputs, tuple([(name, context.bind(p, field=name)) for name, p in params.items()])
        return op, inputs, sources, tuple([(name, freeze(p)) for name, p in params.items()])

    def _find_sizes(self, variables: Sequence[DimVar], outputs: Sequence[Value]) -> None:
        """Note where each new size that depends on data is read from."""
        for value in outputs:
            for variable, axis in value.meta.variable_axes():
                if variable in variables:
                    self.runtime.setdefault(variable, (value, axis))

    def append(self, node: Node) -> None:
        """Append a finished node, whose metadata are known to hold here."""
        self.nodes.append(node)
        if self.logs:
            _LOG.debug("%s%s", "  " * self.depth, node)

    def finish(self, outputs: Sequence[Traced], name: str = "", input_names: Sequence[str] = ()) -> Graph:
        """The finished graph. Captured values are its last inputs, in the order of `captures()`."""
        ends = tuple([self.adopt(x) for x in outputs])
        self.closed = True
        graph = Graph(
            name=name,
            inputs=(*self.inputs, *[inner for _, inner in self.captured.values()]),
            constants=tuple(self.constants.values()),
            nodes=tuple(self.nodes),
            outputs=ends,
            dims=tuple(source for _, source in self.dims.values()),
            conditions=self._conditions(),
            input_names=tuple(input_names),
            values=tuple(self.values.items()),
            hidden=len(self.hidden),
        )
        if self.parent is not None and self.runtime:
            self.scope.forget(self.runtime, self.settled)
        return graph

    def _conditions(self) -> tuple[Condition, ...]:
        """What the graph relies on."""
        return tuple(self.scope.conditions) if self.parent is not None else drop_implied(self.scope.conditions)

    def captures(self) -> list[Traced]:
        """The values of enclosing graphs that the graph reads."""
        return [outer for outer, _ in self.captured.values()]


# -- the active builders -----------------------------------------------------------------------------------------


class _Stack(threading.local):
    def __init__(self) -> None:
        self.builders: list[Builder] = []


_STACK = _Stack()


def active() -> Builder | None:
    """The innermost builder of this thread, or None outside any trace."""
    return _STACK.builders[-1] if _STACK.builders else None


def active_builders() -> list[Builder]:
    """The builders of this thread, outermost first."""
    return _STACK.builders


def keep_refusal(x: object, error: Exception) -> None:
    """Keep for the traces why x is no int: NumPy may put an error of its own in place of this one."""
    for builder in active_builders():
        builder.refused = repr(x), error


@contextlib.contextmanager
def activate(builder: Builder) -> Iterator[Builder]:
    """Make `builder` the innermost one; it is closed on the way out, also after an error."""
    _STACK.builders.append(builder)
    try:
        yield builder
    finally:
        builder.closed = True
        builder.scope.closed = builder.parent is None
        _STACK.builders.pop()


@contextlib.contextmanager
def at_line(builder: Builder, where: SourceLine | None) -> Iterator[None]:
    """Give nodes emitted meanwhile this line of the user's program."""
    before, builder.where = builder.where, where
    try:
        yield
    finally:
        builder.where = before
