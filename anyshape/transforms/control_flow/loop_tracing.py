"""Trace the body of a loop until the types of its carries stay: dtypes by promotion, sizes by a fixed point.

Axes of carries start with the sizes that the initial values have. Those that a trip leaves with another size get a
varying size: a variable of the body, shared by axes that stay equal. Each further trace only splits them, so it ends.

Hoist the nodes that compute a size which no trip of a loop changes: results of trips may then have this size.

Results of functions that are traced into subgraphs: the numbers that they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, CarryMismatchError, ShapeError
from anyshape.graph.ir.builder import Traced, active, at_line, user_line
from anyshape.graph.ir.graph import Graph, Node, Value, raises
from anyshape.graph.ir.op_local import refusals
from anyshape.graph.prover.constraints import Claim, Verdict, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.substitute import values_from
from anyshape.numpy.operands.memory import Memory, may_write, reached_by, write_outside, writes_outside
from anyshape.numpy.operands.promotion import cast_operand, dtype_of, is_weak, result_type
from anyshape.ops.control import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import describe
from anyshape.ops.creation import full
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import graph_replay
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.code_origin import line_of
from anyshape.tracing.pytrees import flatten, function_name, order_of_leaves, result_paths, structure_text, unflatten
from anyshape.tracing.trace import active_builder, as_value, kind_of, run_traced, standing_for

Function = Callable[..., Any]
# Gives, for the carries as a tree and the other inputs, the carries after a trip, and all else that the trip gives.
Step = Callable[[Any, Sequence[Any]], tuple[Any, Any]]


class CarryLoop:
    """Carries of a loop in the active trace, and the types that its body takes them in.

    `extra_tree` is the structure of what trips give besides the carries. The last `joined` arrays of it are joined.
    """

    def __init__(self, name: str, label: str, function: Function, init: Any) -> None:
        self.name, self.label, self.function = name, label, function
        leaves, self.tree = flatten(init)
        self.init = leaves
        values = [like_returned(as_value(x), x) for x in leaves]
        self.carries: list[Any] = [standing_for(name_sizes(x), kind_of(x)) for x in values]
        self.paths: list[str] = [path.replace("result", "carry", 1) for path in result_paths(self.tree)]
        self.variables: dict[tuple[int, int], DimVar] = {}  # of axes whose size differs between trips
        self.promotions: dict[int, ResultType] = {}
        self.extra_tree: Any = None
        self.joined = 0
        self.assumes = False  # whether carries keep sizes of the code around the loop that a run alone knows
        self.memories: list[Memory] = []  # of enclosing traces that trips write to: their values are the last carries

    def trace(
        self, step: Step, own: Sequence[TensorMeta], tests: Sequence[Function] = ()
    ) -> tuple[tuple[Graph, ...], list[Any]]:
        """Return the subgraphs of the tests and of the body, and the operands behind the carries and `own` inputs."""
        names = [*map(function_name, tests), function_name(self.function)]
        while True:
            before, known = dict(self.variables), len(self.memories)
            bodies = [*[self._test(test) for test in tests], self._body(step)]
            graphs, further = trace_subgraphs(bodies, [*self._metas(), *own], names)
            if self.variables == before and not self.promotions and len(self.memories) == known:
                graphs, further = sizes_ahead(graphs, [*self._metas(), *own], further, names, len(self.carries))
                if (error := self._changing_extra(graphs[-1])) is None:
                    self.require_unwritten(self.init, "the carry")
                    return graphs, further
                if self.assumes or not self.variables:
                    raise error
                self.assumes, self.variables = True, {}
            for i, result in self.promotions.items():
                self.carries[i] = standing_for(cast_operand(self.carries[i], result.dtype), result.kind)
            self.promotions = {}
            self.carries += [name_sizes(m.current) for m in self.memories[known:]]

    def results(self, outputs: Sequence[Any]) -> Any:
        """Return the tree of the carries among the outputs of the loop, and let memory have what trips wrote to it."""
        pairs = [*zip(outputs, self.carries, strict=False)][: self.tree.num_leaves]
        write_outside(self.memories, [name_sizes(y) for y in outputs[self.tree.num_leaves : len(self.carries)]])
        return unflatten(self.tree, [standing_for(name_sizes(y), kind_of(x)) for y, x in pairs])

    def stacked(self, outputs: Sequence[Any]) -> Any:
        """Return the tree of what the trips gave besides the carries."""
        first = len(self.carries)
        extra = outputs[first : first + self.extra_tree.num_leaves]
        return unflatten(self.extra_tree, [standing_for(y, None) for y in extra])

    def _metas(self) -> list[TensorMeta]:
        """Return the types in which the body takes the carries."""
        return [self._meta(i, x.meta) for i, x in enumerate(self.carries)]

    def _meta(self, i: int, meta: TensorMeta) -> TensorMeta:
        extents = [
            Exact(expr.from_atom(self.variables[i, axis])) if (i, axis) in self.variables else extent
            for axis, extent in enumerate(meta.extents)
        ]
        return TensorMeta(meta.dtype, tuple(extents))

    def _handles(self, inputs: Sequence[Traced]):
        """Return the tree of carries inside of a subgraph."""
        pairs = [*zip(inputs, self.carries, strict=False)][: self.tree.num_leaves]
        return unflatten(self.tree, [standing_for(x, kind_of(carry)) for x, carry in pairs])

    def _outside(self, inputs: Sequence[Traced], *, allowed: bool) -> AbstractContextManager[dict[Memory, Any]]:
        """Let trips read memory of enclosing traces from the carries, and write to it if that is allowed."""
        return writes_outside(self.memories, inputs[self.tree.num_leaves : len(self.carries)], allowed=allowed)

    def _test(self, test: Function) -> Callable[..., list[Any]]:
        def tested(*inputs: Traced) -> list[Any]:
            with self._outside(inputs, allowed=False):
                return [test(self._handles(inputs)).unshared()]

        return tested

    def require_unwritten(self, arrays: Sequence[Any], label: str) -> None:
        """Raise ArgumentError if trips write to an array that the loop takes, as one around it."""
        if reached_by(self.memories, arrays):
            problem = f"shares memory with an array around the loop that {self.label} writes to"
            raise ArgumentError(self.name, label, problem, "pass a copy: x.copy()")

    def _body(self, step: Step) -> Callable[..., list[Any]]:
        """Return a function of all inputs as values, which gives all results as values."""

        def body(*inputs: Traced) -> list[Any]:
            returned: list[Any] = []

            def function(*xs):
                returned.append(step(*xs))
                return returned[-1]

            with self._outside(inputs, allowed=True) as writes:
                carries = self._handles(inputs)
                may_write(active_builder(), flatten(carries)[0])
                args = carries, inputs[len(self.carries) :]
                results, _ = run_traced(function, function_name(self.function), args, {})
                results = [y.unshared() for y in results]
            after, tree = flatten(returned[0][0])
            extra, self.extra_tree = flatten(returned[0][1])
            if (order := order_of_leaves(tree, self.tree)) is None:
                texts = [structure_text(t) for t in (self.tree, tree)]
                raise self._mismatch("carry", texts, line_of(self.function), "return the carry in the tree that it has")
            values = [like_returned(y, x) for y, x in zip(results, [*after, *extra], strict=True)]
            ends = [self._checked(i, inputs[i], values[j]) for i, j in enumerate(order)]
            ends += [writes[m] for m in self.memories]
            self.memories += [m for m in writes if m not in self.memories]
            results = [*self._with_sizes(inputs, ends), *values[len(after) :]]
            return results or [full((), True, bool)]  # a node has results, also where its trips only check

        return body

    def _changing_extra(self, body: Graph) -> ShapeError | None:
        """Return the error of what trips give besides the carries, None if it has one size in all trips."""
        changing = {*self.variables.values(), *body.runtime}
        paths = result_paths(self.extra_tree)
        for k, (path, y) in enumerate(zip(paths, body.outputs[len(self.carries) :], strict=False)):
            is_joined = k >= len(paths) - self.joined
            for axis, extent in enumerate(y.meta.extents):
                if is_joined and axis == 0:
                    continue
                if not isinstance(extent, Exact) or not changing.isdisjoint(expr.variables(extent.size)):
                    y_path = path.replace("result", "y", 1)
                    why = f"results of trips are stacked, and axis {axis} of {y_path} changes size"
                    advice = (
                        "return arrays of one size, make what no trip changes before the loop, or join them in a carry"
                    )
                    return ShapeError(self.name, why, (), user_line(), advice)
        return None

    # -- types

    def _checked(self, i: int, before, after):
        """Return a carry after a trip in the dtype that it had before; raise where a trip changes its type."""
        before = standing_for(before, kind_of(self.carries[i]))
        texts, line = (describe(before), describe(after)), after.made_at() or line_of(self.function)
        if before.meta.rank != after.meta.rank:
            raise self._mismatch(self.paths[i], texts, line, "return a carry with the same number of axes")
        result = promoted_type([before, after])
        if is_weak(before) and result != (before.dtype, kind_of(before)):
            self.promotions[i] = result
        elif result.dtype != before.dtype or (not is_weak(after) and after.dtype != before.dtype):
            raise self._mismatch(self.paths[i], texts, line, "convert one of them with astype")
        return cast_operand(after, result.dtype)

    def _mismatch(self, path: str, texts: Sequence[str], line, advice: str) -> CarryMismatchError:
        return CarryMismatchError(self.name, self.label, path, texts[0], texts[1], advice, line, user_line())

    # -- sizes

    def _with_sizes(self, inputs: Sequence[Traced], ends: Sequence[Any]) -> list[Any]:
        """Return the carries after a trip with the sizes that they keep; split the classes of those that change."""
        after = [name_sizes(y) for y in ends]
        axes = [(i, axis) for i, y in enumerate(after) for axis in range(y.meta.rank)]
        before = {(i, axis): _size(inputs[i], axis) for i, axis in axes}
        new = {(i, axis): _size(after[i], axis) for i, axis in axes}
        for size in dict.fromkeys(before.values()):
            new |= self._split(size, [axis for axis in axes if before[axis] == size], new)
        shapes = [tuple([new[i, axis] for axis in range(y.meta.rank)]) for i, y in enumerate(after)]
        return [standing_for(sized(y, shape), kind_of(x)) for x, y, shape in zip(ends, after, shapes, strict=True)]

    def _split(self, size: Size, axes: Sequence[Axis], new: Mapping[Axis, Size]) -> dict[Axis, Size]:
        """Return the sizes that axes of one size have after a trip; give varying sizes to those that change."""
        scope, stated = _scope(), dict[Axis, Size]()
        varying = set(self.variables.values())
        parts = _equal_parts(axes, new, scope.same)
        varies = axes[0] in self.variables
        for part in parts:
            keeps = _keeps(scope, size, new[part[0]], varying, assumes=self.assumes)
            stated |= dict.fromkeys(part, size if keeps else new[part[0]])
            if (varies and len(parts) > 1) or not (varies or keeps):
                self.variables |= dict.fromkeys(part, DimVar("size"))
        return stated


Axis = tuple[int, int]  # a carry, and an axis of it
ORDINARY_SIZE = 9973  # equations that fail where all sizes are this one hold of special sizes alone


def _size(x: Traced, axis: int) -> Size:
    """Return the exact size of an axis."""
    extent = x.meta.extents[axis]
    assert isinstance(extent, Exact)  # `name_sizes` gave it one
    return extent.size


def _keeps(scope: Scope, before: Size, after: Size, varying: Set[DimVar], *, assumes: bool) -> bool:
    """Return whether a carry keeps a size: by proof, by the sizes of this call, or else because loops usually do.

    Sizes of the call that are kept make a guard; a varying size needs none. Without a call, an assertion of the body
    checks what is not proved. Sizes that a trip makes, or that differ between trips, are kept only by proof. With
    `assumes`, an assertion checks further sizes of the code around the loop, which a run alone knows.
    """
    claim = equal(after, before)
    if (verdict := scope.decide(claim)) is not Verdict.UNKNOWN:
        return verdict is Verdict.YES
    variables, hints = claim.variables(), scope.hints
    if _is_special(claim, before, after):
        return False
    is_known = hints is not None and all(v in hints for v in variables)
    if is_known and (answer := _holds_in_call(scope, claim)) is not None:
        return answer
    are_outer = all(map(is_outer, (Exact(before), Exact(after))))
    if is_known or (assumes and are_outer) or (hints is None and not {*scope.runtime, *varying} & {*variables}):
        scope.require(claim, "loop", "a carry keeps its size", (), user_line())
        return True
    return False


def _holds_in_call(scope: Scope, claim: Claim) -> bool | None:
    """Return whether a claim holds of the sizes of this call, as a guard then says; None where they do not broadcast.

    A condition of the body fails there, and names its line.
    """
    try:
        return claim.holds(values_from(scope.hints or {})) and scope.branch_on(claim, user_line())
    except ShapeError:
        return None


def _is_special(claim: Claim, before: Size, after: Size) -> bool:
    """Return whether a claim holds of special sizes alone, as 2 * n == n of 0."""
    own, others = {*expr.variables(before)}, {*expr.variables(after)}
    return bool(others) and others <= own and not claim.holds(values_from(dict.fromkeys(own, ORDINARY_SIZE)))


def is_outer(extent: ShapeExtent) -> bool:
    """Return whether an extent is a size that is known outside of the body that is traced."""
    outer = active_builder().parent
    return isinstance(extent, Exact) and all(outer and outer.dim_owner(v) for v in expr.variables(extent.size))


def _scope() -> Scope:
    """Return the scope of the active trace."""
    return active_builder().scope


def _equal_parts(
    axes: Sequence[Axis], sizes: Mapping[Axis, Size], same: Callable[[Size, Size], bool]
) -> list[list[Axis]]:
    """Return the axes in lists of those with sizes that are proved equal."""
    parts: list[list[Axis]] = []
    for axis in axes:
        if (part := next((p for p in parts if same(sizes[p[0]], sizes[axis])), None)) is None:
            parts.append([axis])
        else:
            part.append(axis)
    return parts


Subgraphs = tuple[Graph, ...]


def sizes_ahead(
    graphs: Subgraphs, own: Sequence[TensorMeta], further: list[Any], names: Sequence[str], carries: int
) -> tuple[Subgraphs, list[Any]]:
    """Return the subgraphs of a loop, the body last, and the operands behind inputs of these types.

    Nodes of the body that give a run-time size of a result of trips are emitted before the loop. They read captured
    values alone and refuse none.
    """
    builder, body = active(), graphs[-1]
    steps = _steps_ahead(body, len(own), carries) if body.runtime else ()
    if not steps or builder is None:
        return graphs, further
    operands = [*map(as_value, further)]
    ahead = graph_replay.begin_replay(builder, body, [*[None] * len(own), *operands])
    for node in steps:
        with at_line(builder, node.where):
            graph_replay.replay_node(builder, node, ahead)
    made = {node: [ahead[v] for v in node.outputs] for node in steps if node.op.makes_sizes}

    def again(graph: Graph):
        return lambda *inputs: _replayed(graph, [*inputs, *operands], made)

    return trace_subgraphs([again(graph) for graph in graphs], own, names)


def _replayed(graph: Graph, inputs: Sequence[Any], made: dict[Node, list[Any]]) -> list[Any]:
    """Replay a subgraph in the active trace, with values that were made before it."""
    builder = active()
    assert builder is not None  # a subgraph is traced in a trace
    env = graph_replay.begin_replay(builder, graph, inputs)
    for node in graph.nodes:
        with at_line(builder, node.where):
            if node in made:
                env.update(zip(node.outputs, made[node], strict=True))
                env.record_outputs(builder, node)
            else:
                graph_replay.replay_node(builder, node, env)
    return [env[v] for v in graph.outputs]


def _steps_ahead(body: Graph, own: int, carries: int) -> list[Node]:
    """Return the nodes that give the run-time sizes of results of trips and do not depend on the inputs of a trip."""
    wanted, needed = _with_sizes_of_results(body, carries), list[Node]()
    for node in reversed(_constant_steps(body, own)):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.operands)
            needed.append(node)
    return needed[::-1]


def _with_sizes_of_results(body: Graph, carries: int) -> set[Value]:
    """Return the values that have the run-time sizes of results of trips."""
    extents = [e for y in body.outputs[carries:] for e in y.meta.extents if isinstance(e, Exact)]
    named = {v for extent in extents for v in expr.variables(extent.size)}
    return {body.runtime[v][0] for v in named if v in body.runtime}


def _constant_steps(body: Graph, own: int) -> list[Node]:
    """Return the nodes that read captured values alone and refuse none."""
    constant, steps = {*body.inputs[own:]}, list[Node]()
    for node in body.nodes:
        if constant.issuperset(node.operands) and not raises(node) and not refusals(node):
            constant.update(node.outputs)
            steps.append(node)
    return steps


class ResultType(NamedTuple):
    """Type of a result: its dtype, and the kind of number that it stands for, None for an array."""

    dtype: np.dtype
    kind: type | None


def promoted(x: Any, result: ResultType) -> Any:
    """Return a result of a function that ran outside of a trace in the dtype that it has inside."""
    if not is_weak(x):
        return x if x.dtype == result.dtype else x.astype(result.dtype)
    return result.dtype.type(x) if result.kind in (None, np.generic) else result.kind(x)


def promoted_type(xs: Sequence[Any]) -> ResultType:
    """Return the type that a result of several functions has by NumPy's promotion."""
    dtype = result_type(*xs) if len({str(dtype_of(x)) for x in xs}) > 1 else xs[0].dtype
    kinds = [kind_of(x) for x in xs]
    if all(map(is_weak, xs)):
        return ResultType(dtype, max([k for k in kinds if k is not None], key=_ORDER.index))
    return ResultType(dtype, None if None in kinds else np.generic)


def noted(result: Any, leaves: list[Any]) -> Any:
    """Return a result, and note its leaves as they are."""
    leaves += flatten(result)[0]
    return result


def like_returned(y: Any, x: Any) -> Any:
    """Return a traced result that stands for what the function returned: a Python number is weak."""
    if isinstance(x, Traced):
        return y
    weak = dtype_of(x) if is_weak(x) else None
    return standing_for(y, weak or (None if has_type(x, np.ndarray) else np.generic))


_ORDER: list[type] = [bool, int, float, complex]
