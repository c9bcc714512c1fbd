"""Build graphs: one builder per graph, a stack of active builders, and capture of values of enclosing graphs."""

from __future__ import annotations

import contextlib
import functools
import logging
import operator
import sys
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from anyshape.errors import InconclusiveDimensionError, LeakedTracerError, MutationError
from anyshape.graph.ir import graph as ir
from anyshape.graph.ir.operand_sites import SMALL, note_operand
from anyshape.graph.prover.assumptions import FinalVerdicts
from anyshape.graph.prover.constraints import Claim, Condition, SourceLine
from anyshape.graph.prover.scope import Scope
from anyshape.graph.prover.user_stack import RepeatedLines, is_user_frame, traced_frames, user_line
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.signature.dim_equations import SizeBinding, is_hidden_axis, local_sizes
from anyshape.graph.signature.guards import drop_implied
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.support.fork_lock import is_thread_state
from anyshape.support.freezing import freeze
from anyshape.support.progress import count_op

E = TypeVar("E", bound=Exception)
Reader: TypeAlias = Callable[[Any], Any]
Writer: TypeAlias = Callable[[Any, Any], Any]
_LOG = logging.getLogger("anyshape.shapes")
_META = operator.attrgetter("meta")


class Traced(ir.Handle):
    """Handle of a value of a graph under construction. Subclasses add the operations of users."""

    __slots__ = ()

    def __init__(self, builder: Builder, value: ir.Value) -> None:
        self.builder, self.value = builder, value

    @property
    def meta(self) -> TensorMeta:
        return self.value.meta

    @property
    def dtype(self) -> np.dtype:
        return self.value.meta.dtype

    @property
    def is_array(self) -> bool:
        """True for what stands for an array, and False for a scalar."""
        return bool(self.meta.rank)

    def as_scalar(self) -> Traced:
        """Return a handle of a value without axes that stands for a scalar of NumPy, as most results do."""
        return self

    def as_ndarray(self) -> Traced:
        """Return a handle of the value that stands for an array, also without axes."""
        return self

    def unshared(self) -> Traced:
        """Return a handle of the present value, which later writes to an array do not change."""
        return self

    def as_copy(self) -> Traced:
        """Return a handle of the value that stands for an array of its own, where NumPy makes a copy."""
        return self

    def view_of(self, base: Traced, read: Reader, write: Writer | None, key=None, certain: bool = True) -> Traced:
        """Return this handle, which stands for a view of `base`.

        `read(base)` gives the view, and `write(base, part)` gives the base with another part in place of the view.
        A view without `write` is read-only. Only handles that users write to remember all this.
        """
        return self

    def made_at(self) -> SourceLine | None:
        """Return the line of the node that gives the value, None for an input."""
        return next((n.where for n in self.builder.nodes if self.value in n.outputs), None)

    def leaked(self) -> LeakedTracerError:
        """Return the error for a use of this value outside of its trace."""
        origin, scope = self.made_at(), self.builder.scope
        elsewhere = active() is None and not scope.closed
        return LeakedTracerError(f"array {scope.size_names.text(str(self.value.meta))}", origin, user_line(), elsewhere)

    def __repr__(self) -> str:
        return f"Traced<{self.value.meta}>"


class HiddenError(NamedTuple):
    """Error with the instructions that led to it, the innermost first: code, offset, and globals of the user's code."""

    error: Exception
    path: tuple[tuple[CodeType, int, dict[str, Any] | None], ...]


CHANGING: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()  # by the id of what owns the elements


class Builder:
    """Collects the nodes of one graph. Values of enclosing graphs that it reads are captured as further inputs."""

    def __init__(
        self,
        scope: Scope,
        parent: Builder | None = None,
        handle: type[Traced] = Traced,
        whole: bool = False,
        values: Mapping[int, Size] | None = None,
        is_batched: bool = False,
    ) -> None:
        """Begin a graph. With `whole`, it takes every op applied while it is active, on values of its parents too.

        `is_batched` tells that the graph, or one around it, is traced for a batch of it: rules keep what this needs.
        """
        self.scope, self.parent, self.handle, self.whole = scope, parent, handle, whole
        self.verdicts: FinalVerdicts = scope.verdicts()  # at its beginning
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_batched: bool = is_batched or (parent is not None and parent.is_batched)
        # whether vmap gives a batch where examples may have results of several sizes
        self.gives_ragged: bool = parent is not None and parent.gives_ragged
        # answers decisions on values; None where these have no values
        self.answer: Callable[[Traced, str], bool | int] | None = None if parent is None else parent.answer
        # gives the text of a value in the call that is traced; None where there is no call
        self.shown: Callable[[Traced], str] | None = None if parent is None else parent.shown
        # says how the array of an input lies in memory, and makes the program rely on it; None where nothing can
        self.layout: Callable[[ir.Value, str], Any] | None = None
        # the values of enclosing graphs that its inputs stand for, or rows of them; None: its inputs stand for many
        self.arguments: Sequence[tuple[Builder, ir.Value]] | None = None
        self.takes_rows = False
        self.closed: bool = False
        # called with the finished graph of a function of the user; None: a graph around this one is that
        self.at_end: list[Callable[[ir.Graph], None]] | None = None
        # handles of its inputs that its function may write to: whoever traces it writes the final values to what they
        # stand for
        self.writable: Sequence[Traced] = ()
        # memory of enclosing graphs that its function wrote to, with the value before; None: it may not write there
        self.writes: dict[Any, Any] | None = None
        self.counters: dict[ir.Value, tuple[Size, Size]] = {}  # of loops: where they begin, and the number of trips
        self.inputs: list[ir.Value] = []
        self.roots: dict[ir.Value, str] = {}  # values that no node makes: "input" or "constant"
        self.nodes: list[ir.Node] = []
        self.constants: Constants = Constants()
        self.captured: dict[ir.Value, tuple[Traced, ir.Value]] = {}
        self.dims: dict[DimVar, tuple[Size, ir.DimSource]] = {}
        self.values: dict[int, Size] = dict(values or {})  # sizes that scalar integer inputs give by value, by position
        self.hidden: list[DimVar] = []
        self.runtime: dict[DimVar, tuple[ir.Value, int]] = {}  # run-time sizes: an axis of a value
        # last carries of loops, each with the first one, and with what a loop in the other direction gives for that
        self.undone: dict[ir.Value, tuple[ir.Value, ir.Value]] = {}
        self.emitted: dict[Any, tuple[ir.Value, ...]] = {}  # outputs by computation: a repeated op reuses them
        self.localised: dict[Any, tuple[Any, tuple[Traced, ...]]] = {}  # op-local sizes with their sources, by size
        self.where: SourceLine | None = None
        self.lines: RepeatedLines = RepeatedLines()
        self.refused: tuple[str, Exception] | None = None  # the last non-int, and its error
        self.hidden_errors: dict[Any, HiddenError] = {}  # by where they were raised; replaced, never changed
        self.concretized: Exception | None = None  # the last refusal of a value, which foreign code may hide
        has_generators = parent is not None and parent.draw_order is not None
        self.draw_order: ir.DrawOrder | None = ir.DrawOrder() if has_generators else None
        self.resumed = 0  # how often `resume` made it the innermost one
        self.logs: bool = _LOG.isEnabledFor(logging.DEBUG)

    @property
    def has_drawn(self) -> bool:
        """True once the graph draws random numbers."""
        return self.draw_order is not None and self.draw_order.last is not None

    # -- inputs, constants and sizes

    def input(self, meta: TensorMeta) -> Traced:
        """Add an input and return its handle."""
        value = ir.Value(meta)
        self.inputs.append(value)
        self.roots[value] = "input"
        if self.draw_order is None and ir.is_generator(value):
            self.draw_order = ir.DrawOrder()
        return self.handle(self, value)

    def constant(self, array: np.ndarray, *, is_settled: bool = False) -> Traced:
        """Return the handle of an array that the program closes over by reference. The same array is one constant.

        An array that belongs to the trace is copied: the function may write to it later. `is_settled` says that it is
        a constant of a finished graph.
        """
        if array.dtype.kind == "O":  # generators: the outermost graph has them, and orders all draws from them
            self.draw_order = self.draw_order or ir.DrawOrder()
            if self.parent is not None:
                return self.handle(self, self.adopt(self.parent.constant(array, is_settled=is_settled)))
        changing = CHANGING.get(id(array if array.base is None else array.base)) if CHANGING else None
        if changing is not None:
            array = changing.snapshot(array)
        elif not is_settled and (array.nbytes > SMALL or array.base is not None):
            note_operand(array)
        value, is_new = self.constants.value_of(array, is_settled=is_settled)
        if is_new:
            self.roots[value] = "constant"
        return self.handle(self, value)

    def adopt(self, x: Traced) -> ir.Value:
        """Return the value of a handle in this graph. A value of an enclosing graph becomes a captured input."""
        if x.builder is self:
            return x.value
        if (captured := self.captured.get(x.value)) is not None:
            return captured[1]
        if self.parent is None or x.builder.closed or x.builder.depth >= self.depth:
            raise x.leaked()
        self.parent.adopt(x)
        inner = ir.Value(x.value.meta)
        if self.draw_order is None and ir.is_generator(inner):
            self.draw_order = ir.DrawOrder()
        self.captured[x.value] = (x.unshared(), inner)
        return inner

    def define_dim(self, variable: DimVar, size: Size, read: SizeBinding | None = None) -> None:
        """Define the value of a variable as an op-local expression over the inputs of this graph."""
        self.dims[variable] = (size, ir.DimSource(variable, size, read))

    def define_bindings(self, metas: Sequence[TensorMeta], solved: Sequence[SizeBinding]) -> None:
        """Define the variables that a call solves for, for first inputs of these array types."""
        sizes = local_sizes(metas, solved)
        for s in solved:
            self.define_dim(s.variable, sizes[s.variable], s)
        self.hidden = [v for v, size in sizes.items() if is_hidden_axis(size, len(metas))]

    def hide(self) -> None:
        """Add the hidden inputs, after all others."""
        variables, self.hidden = self.hidden, []
        for variable in variables:
            self.hidden_input(variable)

    def hidden_input(self, variable: DimVar) -> Traced:
        """Add an input that no call passes, whose one axis has the size `variable`."""
        self.hidden.append(variable)
        return self.input(tensor(np.dtype(bool), [expr.from_atom(variable)]))

    def dim_owner(self, variable: DimVar) -> Builder | None:
        """Return the builder, this or an enclosing one, whose graph gives the variable its value."""
        return next((b for b in self.chain() if variable in b.dims or variable in b.runtime), None)

    def chain(self) -> Iterator[Builder]:
        """Yield this builder and the enclosing ones, the innermost first."""
        builder: Builder | None = self
        while builder is not None:
            yield builder
            builder = builder.parent

    # -- nodes

    def emit(
        self, op: ir.Op, inputs: Sequence[Traced], sources: Sequence[Traced], params: Mapping[str, Any]
    ) -> tuple[Traced, ...]:
        """Append one application of `op`, and return its outputs. The shape rule derives their array types."""
        values = tuple([x.value if x.builder is self else self.adopt(x) for x in inputs])
        shape_values = self._adopted(sources) if sources else ()
        order = self.draw_order and self.draw_order.of_node(op, params)
        if order is not None:
            values = order.behind_last(values, self._emit_order)
        key = self._key(op, values, shape_values, params)
        outputs = self.emitted.get(key)
        if outputs is None:
            context = self._context(op, values, shape_values)
            result = op.infer(context, *map(_META, values), **params)
            outputs = tuple([ir.Value(m) for m in (result if isinstance(result, tuple) else (result,))])
            self.emitted[key] = outputs
            if context.new_sizes:
                self._record_runtime_sizes(context.new_sizes, outputs)
            local = ir.params_tuple(params) if params else ()
            self.append(ir.Node(op, values, shape_values, local, outputs, context.where))
        if order is not None:
            order.note(op, outputs)
        return tuple(map(functools.partial(self.handle, self), outputs))

    def known(self, node: ir.Node, operands: Sequence[Traced]) -> list[Traced]:
        """Return the outputs that this graph has for a node with these operands, none where it does not compute it."""
        if node.op.makes_sizes or node.op.draws or node.op.acts:
            return []
        values, count = self._adopted(operands), len(node.inputs)
        outputs = self.emitted.get(self._key(node.op, values[:count], values[count:], dict(node.params)))
        return [self.handle(self, value) for value in outputs or ()]

    def _adopted(self, xs: Sequence[Traced]) -> tuple[ir.Value, ...]:
        """Return the values of handles in this graph."""
        return tuple([self.adopt(x) for x in xs])

    def _emit_order(self, generator: ir.Value, last: ir.Value) -> ir.Value:
        """Return a generator behind the mark of the last draw."""
        (ordered,) = self.emit(ir.find_op(ir.ORDER), [self.handle(self, generator), self.handle(self, last)], [], {})
        return ordered.value

    def _context(self, op: ir.Op, inputs: Sequence[ir.Value], sources: Sequence[ir.Value]) -> ShapeGuardContext:
        """Return the context in which the shape rule of an op runs."""
        where = self.where if self.where is not None else self.line()
        return ShapeGuardContext(self.scope, op.name, where, [*map(_META, inputs), *map(_META, sources)])

    def line(self) -> SourceLine | None:
        """Return the line that an enclosing graph replays, as tangents have a graph of their own; else the user's.

        Evaluations of the user's lines are counted.
        """
        builder = self.parent
        while builder is not None:
            if builder.where is not None:
                return builder.where
            builder = builder.parent
        return self.lines.line()

    def _key(
        self, op: ir.Op, inputs: tuple[ir.Value, ...], sources: tuple[ir.Value, ...], params: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Return the key of a computation. Minting ops of equal operands and sizes give one run-time size.

        What acts does so each time that Python says it, so its key is its own.
        """
        if op.acts or (op.has_subgraphs and any(ir.has_effects(g) for p in params.values() for g in ir.graphs_in(p))):
            return (object(),)
        if op.makes_sizes:
            context = self._context(op, inputs, sources)
            return op, inputs, tuple([(name, context.bind(p, field=name)) for name, p in params.items()])
        return op, inputs, sources, tuple([(name, freeze(p)) for name, p in params.items()]) if params else ()

    def _record_runtime_sizes(self, variables: Sequence[DimVar], outputs: Sequence[ir.Value]) -> None:
        """Record the axis that each new run-time size is read off."""
        for value in outputs:
            for variable, axis in value.meta.variable_axes():
                if variable in variables:
                    self.runtime.setdefault(variable, (value, axis))

    def append(self, node: ir.Node) -> None:
        """Append a finished node, whose array types are known to hold here."""
        self.nodes.append(node)
        count_op()
        if self.logs:
            _LOG.debug("%s%s", "  " * self.depth, node)

    def forget_effects(self, start: int) -> None:
        """Take effects out of the nodes from a position on: Python begins anew, and has them then."""
        self.nodes[start:] = [ir.quiet(node) for node in self.nodes[start:] if not node.op.acts]

    def finish(self, outputs: Sequence[Traced], name: str = "", input_names: Sequence[str] = ()) -> ir.Graph:
        """Return the finished graph. Captured values are its last inputs, in the order of `captures()`."""
        ends = tuple([self.adopt(x) for x in outputs])
        self.closed = True
        self.emitted.clear()
        self.localised.clear()
        graph = ir.Graph(
            name=name,
            inputs=(*self.inputs, *[inner for _, inner in self.captured.values()]),
            constants=self.constants.settle(),
            nodes=tuple(self.nodes),
            outputs=ends,
            dims=tuple(source for _, source in self.dims.values()),
            conditions=self._conditions(),
            input_names=tuple(input_names),
            values=tuple(self.values.items()),
            hidden=len(self.hidden),
        )
        self.forget_runtime()
        return graph

    def has_ended(self, graph: ir.Graph) -> None:
        """Call what waits for the graph of a function of the user."""
        for call in self.at_end or ():
            call(graph)

    def forget_runtime(self) -> None:
        """Drop what is assumed of run-time sizes that this graph makes, if it is an inner one."""
        if self.parent is not None and self.runtime:
            self.scope.forget(self.runtime, self.verdicts)

    def _conditions(self) -> tuple[Condition, ...]:
        """Return the conditions of the graph; of an inner one, all that hold so far."""
        return tuple(self.scope.conditions) if self.parent is not None else drop_implied(self.scope.conditions)

    def captures(self) -> list[Traced]:
        """Return the values of enclosing graphs that the graph reads."""
        return [outer for outer, _ in self.captured.values()]


# -- the active builders -----------------------------------------------------------------------------------------


class _Stack(threading.local):
    def __init__(self) -> None:
        self.builders: list[Builder] = []


_STACK = _Stack()
tracing_threads: set[int] = set()  # threads that have builders: a call asks whether any has before it asks for its own


def active() -> Builder | None:
    """Return the innermost builder of this thread, or None outside of any trace."""
    return _STACK.builders[-1] if _STACK.builders else None


def active_builders() -> list[Builder]:
    """Return the builders of this thread, outermost first."""
    return _STACK.builders


def last_draw() -> ir.Value | None:
    """Return the mark of the last draw in the graph that operations without operands belong to."""
    builder = home()
    return None if builder is None or builder.draw_order is None else builder.draw_order.last


def record_refusal(x: object, error: Exception) -> None:
    """Record in all traces why x is not an int, as NumPy may replace this error with its own."""
    for builder in active_builders():
        builder.refused = repr(x), error


def record_concretized(error: E) -> E:
    """Record in all traces that a value was refused, and return the error: foreign code may raise another one."""
    for builder in active_builders():
        builder.concretized = error
    return error


def unhidden(error: E) -> E:
    """Return an error that NumPy would not raise. All traces raise it when they end, where code around it hides it.

    Looks at values are left out: see `tracing.looks`.
    """
    frames = traced_frames(sys._getframe(1))
    key = tuple([(id(f.f_code), f.f_lasti) for f in frames])
    path = tuple([(f.f_code, f.f_lasti, f.f_globals if is_user_frame(f) else None) for f in frames])
    for builder in active_builders():
        if key not in builder.hidden_errors:
            builder.hidden_errors = {**builder.hidden_errors, key: HiddenError(error, path)}
    return error


def errors_so_far() -> Callable[[], None]:
    """Return what has all traces forget the errors that they record from here on, as an attempt that fails leaves."""
    before = [(b, b.hidden_errors, b.concretized, b.refused) for b in active_builders()]

    def forget() -> None:
        for builder, hidden, concretized, refused in before:
            builder.hidden_errors, builder.concretized, builder.refused = hidden, concretized, refused

    return forget


def decide_by_sizes(scope: Scope, claim: Claim) -> bool:
    """Return the answer to a decision of Python; an open one ends the trace, also where the user's code hides it."""
    try:
        return scope.branch_on(claim, user_line())
    except InconclusiveDimensionError as error:
        unhidden(error)
        raise


def _leave(builder: Builder, depth: int) -> None:
    """Take a builder and all above it off the stack, unless that is done: after Ctrl-C a block may end late."""
    if _STACK.builders[depth : depth + 1] == [builder]:
        _cut(depth)


def _enter(builder: Builder) -> None:
    """Put a builder on the stack. A signal handler that traces in between leaves the thread among those that trace."""
    _STACK.builders.append(builder)
    tracing_threads.add(threading.get_ident())


def _cut(depth: int) -> None:
    """Take all builders above a depth off the stack."""
    del _STACK.builders[depth:]
    if not _STACK.builders:
        tracing_threads.discard(threading.get_ident())


is_thread_state(lambda: len(_STACK.builders), _cut)


@contextlib.contextmanager
def activate(builder: Builder) -> Iterator[Builder]:
    """Make `builder` the innermost one. It is closed on exit, also after an error."""
    depth = len(_STACK.builders)
    try:
        _enter(builder)
        yield builder
    except BaseException:
        builder.forget_runtime()  # no node of a finished graph makes these sizes
        raise
    finally:
        builder.closed = True
        builder.lines.forget_frame()
        builder.scope.closed = builder.parent is None
        _leave(builder, depth)


class at_line:
    """Line of the user's program for the nodes that a builder emits meanwhile: a context manager."""

    __slots__ = ("before", "builder", "where")

    def __init__(self, builder: Builder, where: SourceLine | None) -> None:
        self.builder, self.where = builder, where

    def __enter__(self) -> None:
        self.before: SourceLine | None = self.builder.where
        self.builder.where = self.where

    def __exit__(self, *error: object) -> None:
        self.builder.where = self.before


@contextlib.contextmanager
def resume(builder: Builder) -> Iterator[None]:
    """Make `builder`, which is not finished, the innermost one for a while, and leave it open.

    Constants and operations without operands belong to the graph around it: see `home`.
    """
    depth, marks = len(_STACK.builders), builder is not active()
    try:
        _enter(builder)
        builder.resumed += marks
        yield
    finally:
        builder.resumed -= marks
        _leave(builder, depth)


def home() -> Builder | None:
    """Return the graph that operations without operands belong to: the innermost one that is not resumed.

    A rule that runs in the graph of tangents gives values too, which may not depend on anything in that graph.
    """
    builder = active()
    while builder is not None and builder.resumed:
        builder = builder.parent
    return builder


@contextlib.contextmanager
def at_own_lines(builder: Builder) -> Iterator[None]:
    """Give nodes that are emitted meanwhile the lines that emit them, not a line that is replayed."""
    with contextlib.ExitStack() as stack:
        for current in builder.chain():
            stack.enter_context(at_line(current, None))
        yield


_KEPT = 1 << 16  # bytes of an array whose elements are kept; of a larger one a checksum is


class _Entry(NamedTuple):
    """Constant: its value, its array, and its elements when it was read, if these can change."""

    value: ir.Value
    array: np.ndarray
    elements: bytes | int | None
    where: SourceLine | None = None


def _elements(array: np.ndarray) -> bytes | int | None:
    """Return the bytes of an array, a checksum of many, or None for what nobody can change."""
    if not array.flags.writeable and array.base is None:
        return None
    if array.nbytes <= _KEPT:
        return array.tobytes()
    return zlib.crc32(np.ascontiguousarray(array).data.cast("B"))


class Constants:
    """Constants of one graph, by the identity of their arrays."""

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._earlier: list[_Entry] = []  # of arrays that changed since

    def value_of(self, array: np.ndarray, *, is_settled: bool) -> tuple[ir.Value, bool]:
        """Return the value of an array with its present elements, and whether it is new.

        An array of a graph that is finished is settled: its elements are not looked at if they are many.
        """
        entry = self._entries.get(id(array))
        if entry is not None and (type(entry.elements) is not bytes or entry.elements == array.tobytes()):
            return entry.value, False
        if entry is not None:
            self._earlier.append(_as_read(entry))
        many = array.nbytes > _KEPT
        elements = None if many and is_settled else _elements(array)
        value = ir.Value(tensor(array.dtype, array.shape))
        self._entries[id(array)] = _Entry(
            value, array, elements, user_line() if many and elements is not None else None
        )
        return value, True

    def pairs(self) -> Iterator[tuple[ir.Value, np.ndarray]]:
        """Return the values with their arrays."""
        return ((entry.value, entry.array) for entry in (*self._entries.values(), *self._earlier))

    def settle(self) -> tuple[tuple[ir.Value, np.ndarray], ...]:
        """Return the values with their arrays as they were read; raise MutationError if one is lost."""
        for key, entry in self._entries.items():
            if entry.elements is not None and entry.elements != _elements(entry.array):
                self._entries[key] = _as_read(entry)
        return tuple(self.pairs())


def _as_read(entry: _Entry) -> _Entry:
    """Return a constant with a read-only copy of the elements that it had when it was read."""
    array = entry.array
    if type(entry.elements) is not bytes:
        problem = f"an array of NumPy of shape {array.shape} is changed after it was read, while the function is traced"
        raise MutationError("", problem, "write to a copy of it, or make it with anyshape.numpy", entry.where)
    return entry._replace(array=np.frombuffer(entry.elements, array.dtype).reshape(array.shape), elements=None)
