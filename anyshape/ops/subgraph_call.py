"""Trace functions into subgraphs, and give a node the operands that its subgraphs read.

Replace void branches, which no sizes are known to take, where a graph cannot be derived from them.

Conditions that contradict themselves prove and refute all claims, though no proof may find the contradiction. So a rule
may refuse such a branch, and what it derives may not be legal. A graph that refuses to run replaces it: with inputs and
results of the same types, and the error of the rule.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import AnyshapeError, CheckError, IllegalGraphError, InconclusiveDimensionError, ShapeError
from anyshape.graph.ir.builder import Builder, Traced, activate, active, errors_so_far
from anyshape.graph.ir.graph import DimSource, Graph, Node, Op, Value, params_tuple
from anyshape.graph.ir.op_local import Closed, NodeSizes, axes_of_variables, close
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.ops.control import check_op
from anyshape.ops.control_flow import sized_op
from anyshape.ops.core.apply import Operand
from anyshape.ops.creation import full, full_op
from anyshape.ops.movement import broadcast_in_dim
from anyshape.support import profiles
from anyshape.support.lazy_dataclass import replace

Body = Callable[..., Sequence[Traced]]


class Provided:
    """Functions that a folder above provides at its import, by a function that loads their module."""

    def __init__(self) -> None:
        self._load: Callable[[], Any] | None = None

    def provide_by(self, load: Callable[[], Any]) -> None:
        """Let a function return the module of the functions, at their first use."""
        self._load = load

    def __call__(self) -> Any:
        """Return the module of the functions."""
        if self._load is None:
            raise AnyshapeError("no folder provides what this needs\n  import anyshape")
        return self._load()


maps_over_rows: Provided = Provided()  # `map_rows` and `row_dtypes`
RUNTIME = "__anyshape__"  # stands for `code_that_is_read()` in code that is read
code_that_is_read: Provided = Provided()  # what it calls
paths_of_sizes: Provided = Provided()  # `following_sizes`
calls_with_lists: Provided = Provided()  # `recognised` and `ragged_map`
Results = Sequence[Sequence[Traced]]


def trace_subgraphs(
    bodies: Sequence[Body],
    arguments: Sequence[TensorMeta],
    names: Sequence[str],
    held: Sequence[Condition | None] = (),
    unify: Callable[[Results], Results] = lambda results: results,
) -> tuple[tuple[Graph, ...], list[Operand]]:
    """Trace functions of the same arguments in the active trace, each into a subgraph.

    Returns the subgraphs, all with the same inputs, and the operands that stand behind the arguments. A body belongs to
    its subgraph as a whole: operations on captured values alone run there, not before. What it requires of sizes is an
    assertion of the subgraph alone.

    - `held`: for each body a condition that holds wherever it runs.
    - `unify`: changes the results of all bodies, once these are known, and is called with no builder active.
    """
    if (outer := active()) is None:
        raise AnyshapeError("a subgraph is traced outside of any trace\n  call the function under jit")
    traced = [_Traced(outer, body, arguments, c) for body, c in zip(bodies, held or [None] * len(bodies), strict=True)]
    results = unify([t.results for t in traced])
    graphs = [t.finish(ends, name) for t, ends, name in zip(traced, results, names, strict=True)]
    with profiles.aside():
        closed = close(graphs, [t.builder.captures() for t in traced])
    return closed.graphs, further_operands(closed, {v: expr.from_atom(v) for v in closed.carried})


class _Traced:
    """Body that was traced: its builder, its results, and the conditions of its subgraph."""

    def __init__(self, outer: Builder, body: Body, arguments: Sequence[TensorMeta], held: Condition | None) -> None:
        self.builder = Builder(outer.scope, parent=outer, handle=outer.handle, whole=True)
        before = {id(c) for c in outer.scope.conditions}
        with outer.scope.apart(held), activate(self.builder):
            inputs = [self.builder.input(meta) for meta in arguments]
            for variable, axis in axes_of_variables(self.builder.inputs).items():
                self.builder.define_dim(variable, axis)  # sizes are read off the arguments, not off captured values
            self.results = body(*inputs)
            self.conditions = tuple([_of_body(c, id(c) in before) for c in outer.scope.conditions])
        self.builder.closed = False  # its results may still be converted

    def finish(self, ends: Sequence[Traced], name: str) -> Graph:
        """Return the graph with these results."""
        return replace(self.builder.finish(ends, name), conditions=self.conditions)


def _of_body(condition: Condition, is_outer: bool) -> Condition:
    """Return a condition as a subgraph states it: only what its body requires is an assertion there."""
    is_own = condition.kind == "fact" or (condition.kind == "assertion" and not is_outer)
    return condition if is_own else replace(condition, kind="constraint")


def further_operands(closed: Closed, sizes: Mapping[DimVar, Size]) -> list[Operand]:
    """Return the operands behind the arguments: captures, constants, and size carriers of these sizes."""
    return [*closed.captures, *closed.constants, *[size_carrier(sizes[v]) for v in closed.carried]]


def size_carrier(size: Size) -> Any:
    """Return an array of this size, whose elements take no memory and are never read."""
    return broadcast_in_dim(full((), False, bool), (size,), ())


def with_inputs_in_order(body: Graph, inputs: Sequence[Value]) -> Graph:
    """Return a body that takes its inputs in another order."""
    return replace(
        body, inputs=tuple(inputs), dims=tuple([DimSource(v, n) for v, n in axes_of_variables(inputs).items()])
    )


def with_element(body: Graph, at: int, stack: TensorMeta) -> Graph:
    """Return a body that takes an element of a stack at a position of its inputs, and does not read it."""
    element = tensor(stack.dtype, [expr.from_atom(DimVar("size")) for _ in stack.extents[1:]])
    inputs = (*body.inputs[:at], Value(element), *body.inputs[at:])
    return replace(body, inputs=inputs, dims=tuple([DimSource(v, n) for v, n in axes_of_variables(inputs).items()]))


T = TypeVar("T")
ERRORS: tuple[type[AnyshapeError], ...] = (ShapeError, CheckError, IllegalGraphError, InconclusiveDimensionError)
_ADVICE = "\n  "  # begins the second line of an error of anyshape
_BOOL = np.dtype(bool)


def message(error: Exception) -> str:
    """Return the text of a check that stands for an error."""
    text = error.problem if isinstance(error, IllegalGraphError) else str(error)  # without numbers of values
    return f"{type(error).__name__}: {text.partition(_ADVICE)[0] if isinstance(error, AnyshapeError) else text}"


def of_branch(derive: Callable[[Graph], T], graph: Graph) -> T:
    """Return what is derived from a branch, from a graph that refuses to run if that fails and the branch is void."""
    forget_errors = errors_so_far()
    try:
        return derive(graph)
    except ERRORS as error:
        about_inputs = [c for c in graph.conditions if graph.runtime.keys().isdisjoint(c.claim.variables())]
        scope = Scope(conditions=[c for c in about_inputs if c.kind != "fact"])
        has_numbers = all(v.meta.dtype.kind in "biufc" for v in graph.outputs)
        if not (has_numbers and scope.may_be_void()):
            raise
        refusing = _refusing(graph, scope, f"no sizes were known to take this branch, and {message(error)}")
    forget_errors()
    return derive(refusing)


def close_branches(graphs: Sequence[Graph]) -> Closed:
    """Return graphs that are derived from branches as subgraphs; void ones that are not legal refuse to run."""
    try:
        return close(graphs)
    except IllegalGraphError:
        return close([of_branch(_legal, graph) for graph in graphs])


def _legal(graph: Graph) -> Graph:
    """Return a graph; raise IllegalGraphError unless it is legal as a subgraph."""
    close([graph])
    return graph


def _refusing(graph: Graph, scope: Scope, text: str) -> Graph:
    """Return a graph of the inputs and results of a branch, which raises CheckError where it runs."""
    refused = _node(full_op, [], {"dtype": _BOOL, "shape": (), "value": False}, tensor(_BOOL, ()))
    where = graph.nodes[0].where if graph.nodes else None
    check = replace(_node(check_op, refused.outputs, {"message": text}, tensor(_BOOL, ())), where=where)
    sizes = NodeSizes(graph, ShapeGuardContext(scope, "void_branch"))
    pairs = [_result(sizes, v.meta) for v in graph.outputs]
    nodes = (refused, check, *[node for pair in pairs for node in pair])
    ends = tuple([last.outputs[0] for _, last in pairs])
    return replace(graph, nodes=nodes, outputs=ends, constants=(), conditions=tuple(scope.conditions))


def _result(sizes: NodeSizes, meta: TensorMeta) -> tuple[Node, Node]:
    """Return nodes that make an array without elements, and promise that it has the exact sizes of a type."""
    none, zero = (0,) * meta.rank, meta.dtype.type(0).item()
    empty = _node(full_op, [], {"dtype": meta.dtype, "shape": none, "value": zero}, tensor(meta.dtype, none))
    shape = tuple([_size(sizes, extent) for extent in meta.extents])
    operands = [*empty.outputs]
    local = sizes.localise(shape, operands)  # adds the inputs that sizes are read off
    return empty, _node(sized_op, operands, {"shape": local}, tensor(meta.dtype, shape))


def _node(op: Op, operands: Sequence[Value], params: dict[str, Any], meta: TensorMeta) -> Node:
    """Return a node that computes with the first operand, and reads the sizes of the others."""
    return Node(op, tuple(operands[:1]), tuple(operands[1:]), params_tuple(params), (Value(meta),))


def _size(sizes: NodeSizes, extent: ShapeExtent) -> Size:
    """Return the size of an axis of a result, 0 where the inputs do not give it."""
    return extent.size if isinstance(extent, Exact) and sizes.dims.keys() >= {*expr.variables(extent.size)} else 0
