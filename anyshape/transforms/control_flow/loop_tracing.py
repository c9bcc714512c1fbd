"""Trace the body of a loop until the types of its carries stay: dtypes by promotion, sizes by a fixed point.

Axes of carries start with the sizes that the initial values have. Those that a trip leaves with another size get a
varying size: a variable of the body, shared by axes that stay equal. Each further trace only splits them, so it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from anyshape.errors import ArgumentError, CarryMismatchError, ShapeError
from anyshape.graph.ir.builder import Builder, Traced, active, user_line
from anyshape.graph.ir.graph import Graph
from anyshape.graph.prover.constraints import Verdict, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import values_from
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.numpy.operands.memory import Memory, may_write, reached_by, write_outside, writes_outside
from anyshape.numpy.operands.promotion import cast_operand, is_weak
from anyshape.ops.callback import name_sizes
from anyshape.ops.control_flow import sized
from anyshape.ops.core.apply import describe
from anyshape.ops.creation import full
from anyshape.ops.subgraph_call import trace_subgraphs
from anyshape.tracing.captured.code_origin import line_of, made_at
from anyshape.tracing.pytrees import flatten, function_name, order_of_leaves, result_paths, structure_text, unflatten
from anyshape.tracing.trace import as_value, kind_of, run_traced, standing_for
from anyshape.transforms.control_flow.sizes_ahead import sizes_ahead
from anyshape.transforms.control_flow.subgraph_results import ResultType, like_returned, promoted_type

Function = Callable[..., Any]
# Gives, for the carries as a tree and the other inputs, the carries after a trip, and all else that the trip gives.
Step = Callable[[Any, Sequence[Any]], tuple[Any, Any]]


class CarryLoop:
    """Carries of a loop in the active trace, and the types that its body takes them in.

    `extra_tree` is the structure of what trips give besides the carries.
    """

    name: str
    label: str
    function: Function
    tree: Any

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
                inputs = [*self._metas(), *own]
                graphs, further = sizes_ahead(graphs, inputs, further, names, len(self.carries))
                self._check_extra(graphs[-1])
                self.require_unwritten(self.init, "the carry")
                return graphs, further
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

    def _handles(self, inputs: Sequence[Traced]) -> Any:
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

            def function(*xs: Any) -> Any:
                returned.append(step(*xs))
                return returned[-1]

            with self._outside(inputs, allowed=True) as writes:
                carries = self._handles(inputs)
                may_write(_builder(), flatten(carries)[0])
                args = carries, inputs[len(self.carries) :]
                results, _ = run_traced(function, function_name(self.function), args, {})
                results = [y.unshared() for y in results]
            after, tree = flatten(returned[0][0])
            extra, self.extra_tree = flatten(returned[0][1])
            order = order_of_leaves(tree, self.tree)
            if order is None:
                texts = [structure_text(t) for t in (self.tree, tree)]
                raise self._mismatch("carry", texts, line_of(self.function), "return the carry in the tree that it has")
            values = [like_returned(y, x) for y, x in zip(results, [*after, *extra], strict=True)]
            ends = [self._checked(i, inputs[i], values[j]) for i, j in enumerate(order)]
            ends += [writes[m] for m in self.memories]
            self.memories += [m for m in writes if m not in self.memories]
            results = [*self._with_sizes(inputs, ends), *values[len(after) :]]
            return results or [full((), True, bool)]  # a node has results, also where its trips only check

        return body

    def _check_extra(self, body: Graph) -> None:
        """Raise ShapeError unless what trips give besides the carries has one size in all trips."""
        changing = {*self.variables.values(), *body.runtime}
        paths = result_paths(self.extra_tree)
        for path, y in zip(paths, body.outputs[len(self.carries) :], strict=False):
            for axis, extent in enumerate(y.meta.extents):
                if not isinstance(extent, Exact) or not changing.isdisjoint(expr.variables(extent.size)):
                    y_path = path.replace("result", "y", 1)
                    why = f"results of trips are stacked, and axis {axis} of {y_path} changes size"
                    advice = (
                        "return arrays of one size, make what no trip changes before the loop, or join them in a carry"
                    )
                    raise ShapeError(self.name, why, (), user_line(), advice)

    # -- types

    def _checked(self, i: int, before: Any, after: Any) -> Any:
        """Return a carry after a trip in the dtype that it had before; raise where a trip changes its type."""
        before = standing_for(before, kind_of(self.carries[i]))
        texts, line = (describe(before), describe(after)), made_at(after) or line_of(self.function)
        if before.meta.rank != after.meta.rank:
            raise self._mismatch(self.paths[i], texts, line, "return a carry with the same number of axes")
        result = promoted_type([before, after])
        if is_weak(before) and result != (before.dtype, kind_of(before)):
            self.promotions[i] = result
        elif result.dtype != before.dtype or (not is_weak(after) and after.dtype != before.dtype):
            raise self._mismatch(self.paths[i], texts, line, "convert one of them with astype")
        return cast_operand(after, result.dtype)

    def _mismatch(self, path: str, texts: Sequence[str], line: Any, advice: str) -> CarryMismatchError:
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
            keeps = _keeps(scope, size, new[part[0]], varying)
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


def _keeps(scope: Scope, before: Size, after: Size, varying: Container[DimVar]) -> bool:
    """Return whether a carry keeps a size: by proof, by the sizes of this call, or else because loops usually do.

    Sizes of the call that are kept make a guard; a varying size needs none. Without a call, an assertion of the body
    checks what is not proved. Sizes that a trip makes, or that differ between trips, are kept only by proof.
    """
    claim = equal(after, before)
    verdict = scope.decide(claim)
    if verdict is not Verdict.UNKNOWN:
        return verdict is Verdict.YES
    variables, hints = claim.variables(), scope.hints
    own, others = {*expr.variables(before)}, {*expr.variables(after)}
    if others and others <= own and not claim.holds(values_from(dict.fromkeys(variables, ORDINARY_SIZE))):
        return False  # as 2 * n == n, which holds of 0 alone
    if hints is not None:
        return (
            all(v in hints for v in variables)
            and claim.holds(values_from(hints))
            and scope.branch_on(claim, user_line())
        )
    if any(v in scope.runtime or v in varying for v in variables):
        return False
    scope.require(claim, "loop", "a carry keeps its size", (), user_line())
    return True


def _scope() -> Scope:
    """Return the scope of the active trace."""
    return _builder().scope


def _builder() -> Builder:
    """Return the builder of the active trace."""
    builder = active()
    assert builder is not None  # a body is traced in a trace
    return builder


def _equal_parts(
    axes: Sequence[Axis], sizes: Mapping[Axis, Size], same: Callable[[Size, Size], bool]
) -> list[list[Axis]]:
    """Return the axes in lists of those with sizes that are proved equal."""
    parts: list[list[Axis]] = []
    for axis in axes:
        part = next((p for p in parts if same(sizes[p[0]], sizes[axis])), None)
        if part is None:
            parts.append([axis])
        else:
            part.append(axis)
    return parts
