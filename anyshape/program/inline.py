"""Inline a program that is called while another function is traced.

Its variables are solved for like at a call, but from symbolic sizes. The conditions that a call checks become
preconditions of the enclosing program.
"""

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.errors import ArgumentError, UndeterminedSizeError
from anyshape.graph.ir.builder import Builder, Traced, home
from anyshape.graph.ir.graph import Graph, decisions_of
from anyshape.graph.prover.constraints import Claim, Condition, Verdict, at_least, equal
from anyshape.graph.prover.linear_constraints import divides_by_size
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.signature.dim_equations import SizeBinding, input_axes
from anyshape.graph.signature.prologue import solve_binding
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, InputAxis, RuntimeScalar, Size
from anyshape.graph.sizes.substitute import evaluate, substitute, values_from
from anyshape.numpy.sizes.size_operands import common_scope
from anyshape.ops.creation import full
from anyshape.ops.dynamic import nonnegative_size
from anyshape.ops.elementwise import convert
from anyshape.support.packages import graph_replay
from anyshape.tracing.pytrees import as_leaf
from anyshape.tracing.trace import Trace, as_value

_MAX_COMPARED, _MAX_PROVED = 1000, 20  # sizes of the trace that are compared with a root, and given to the prover


def is_symbolic(x: Any) -> bool:
    """Return True for an argument that belongs to a trace."""
    return isinstance(x, (Traced, SymbolicSize)) or hasattr(x, "traced")


def check_meta(name: str, path: str, x: Any, meta: TensorMeta) -> None:
    """Raise ArgumentError unless an argument has the dtype and the rank that a program was traced for."""
    rank = x.meta.rank if isinstance(x, Traced) else x.ndim
    if rank != meta.rank or x.dtype != meta.dtype:
        problem = f"is {x.dtype} with {rank} axes, not {meta}"
        raise ArgumentError(name, path, problem, "convert it, or trace again for this dtype and rank")


def require_one_path(trace: Trace) -> None:
    """Raise ArgumentError for a program with one path of several: a trace around it could not take the others."""
    name, problem = trace.graph.name, ""
    if decisions_of(trace.graph):
        problem = f"decides on values, and the program {name} has one path of it"
    elif trace.layouts:
        problem = f"depends on how arguments lie in memory, and {name} is for some of them"
    elif trace.raised is not None:
        problem = f"ends in an exception for some calls, and {name} is for these"
    if problem:
        raise ArgumentError(name, "the function", problem, "call the function itself inside of a trace")


def call_inside(graph: Graph, leaves: Sequence[Any], paths: Sequence[str]) -> list[Any]:
    """Return the outputs of a program in the active trace, for arguments some of them traced."""
    if (builder := home()) is None:
        raise RuntimeError("a program becomes part of a trace outside of one")
    by_value = dict(graph.values)
    visible, hidden = graph.inputs[: len(leaves)], graph.inputs[len(leaves) :]
    sizes: dict[int, Size] = {}
    arrays: list[Any] = []  # None for an argument that is a size
    values: list[Any] = []  # None for an argument that is a size and is not read as an array
    for i, (x, value, path) in enumerate(zip(leaves, visible, paths, strict=True)):
        if i in by_value:
            sizes[i] = _size(builder, x, path, graph.name)
            arrays.append(None)
            values.append(convert(as_value(x), value.meta.dtype) if _is_read(graph, i) else None)
        else:
            arrays.append(_array(x, path, graph.name))
            values.append(arrays[i])
            check_meta(graph.name, path, arrays[i], value.meta)
    operands = [x.meta for x in values if x is not None]
    context = ShapeGuardContext(builder.scope, graph.name, builder.line(), operands)
    solved = _SizesInTrace(builder, context, graph, arrays, sizes, paths)
    for value in hidden:
        shape = tuple([solved.in_trace(s) for s in value.meta.sizes or ()])
        values.append(full(shape, False, bool))
    return graph_replay.inline(builder, graph, values, solved.known)


def _is_read(graph: Graph, i: int) -> bool:
    """Return True if the array of an input is read, not only its value as a size."""
    value = graph.inputs[i]
    return value in graph.outputs or any(value in node.operands for node in graph.nodes)


def _array(x, path: str, name: str):
    """Return an argument as a value of the active trace."""
    if isinstance(x, Traced) and x.builder.closed:
        raise x.leaked()
    return as_value(x if is_symbolic(x) else as_leaf(x, path, name))


def _size(builder: Builder, x, path: str, name: str) -> Size:
    """Return the size that an argument gives by its value: one of a traced integer is known when the program runs."""
    if isinstance(x, SymbolicSize):
        common_scope(x, SymbolicSize(x.expr, builder.scope))
        return x.expr
    array = _array(x, path, name) if isinstance(x, Traced) else as_leaf(x, path, name)
    rank = array.meta.rank if isinstance(array, Traced) else array.ndim
    if rank or array.dtype.kind not in "iu":
        raise ArgumentError(name, path, f"is {array.dtype} with {rank} axes, not a size", "pass an integer")
    return nonnegative_size(array, name) if isinstance(array, Traced) else int(array)


class _SizesInTrace:
    """Variables of a program in terms of the sizes of a trace; the conditions of a call are required there."""

    def __init__(
        self,
        builder: Builder,
        context: ShapeGuardContext,
        graph: Graph,
        values: Sequence[Any],
        sizes: dict[int, Size],
        paths: Sequence[str],
    ) -> None:
        self.builder, self.context, self.graph, self.paths = builder, context, graph, paths
        self.known: dict[Atom, Size] = {RuntimeScalar(i, "exact"): size for i, size in sizes.items()}
        for i, x in enumerate(values):
            for axis in range(x.meta.rank if x is not None else 0):
                self.known[InputAxis(i, axis)] = context.exact(x, axis, field=f"input {i}")
        for source in graph.dims:
            solved = source.read or SizeBinding(source.variable, source.size)
            self.known[solved.variable] = context.scope.simplest(self._solve(solved))
        self._require(len(values))

    def in_trace(self, size: Size) -> Size:
        """Return a size of the program as one of the trace."""
        return self._checking_divisors(lambda: substitute(size, self.known.get))

    def _checking_divisors(self, make: Callable[[], Any]):
        try:
            return make()
        except ZeroDivisionError:
            raise self.context.fail("a size divides by 0") from None

    # -- solving

    def _solve(self, solved: SizeBinding) -> Size:
        target, divisor = self.in_trace(solved.target), self.in_trace(solved.divisor)
        if solved.curve is not None:
            return self._root(solved, target)
        if divisor == 1:
            return target
        self.context.require_at_least(divisor, 1, f"{solved.divisor} is not positive")
        whole = expr.divide_exactly(target, divisor)
        return whole if whole is not None else expr.floordiv(target, divisor)

    def _root(self, solved: SizeBinding, target: Size) -> Size:
        """Return the size at which a curve has the target value: a number, or one of the sizes of the trace."""
        others = {**self.known}
        others.pop(solved.variable, None)
        curve = self._checking_divisors(lambda: substitute(solved.curve, others.get))  # type: ignore[arg-type]
        if isinstance(target, int) and expr.variables(curve) == (solved.variable,):
            fixed = SizeBinding(solved.variable, target, 1, curve, solved.low, solved.high)
            return self._checking_divisors(lambda: solve_binding(fixed, lambda leaf: evaluate(others[leaf], _no_leaf)))
        scope, tried = self.context.scope, []
        for size in self._candidates():
            value = self._curve_at(curve, solved.variable, size)
            if expr.sub(scope.normal(value), scope.normal(target)) == 0 and self._is_in_range(size, solved):
                return size
            tried.append((size, value))
        for size, value in tried[:_MAX_PROVED]:
            if scope.same(value, target) and self._is_in_range(size, solved):
                return size
        return self._new_root(solved, curve, target)

    def _new_root(self, solved: SizeBinding, curve: Size, target: Size) -> Size:
        """Return a new size, for which calls of the enclosing program solve like calls of this one."""
        *_, root = self.builder.chain()
        scope, old = self.context.scope, solved.variable
        if not all(v in root.dims for v in (*expr.variables(target), *expr.variables(curve)) if v is not old):
            raise UndeterminedSizeError(str(old), [f"{solved.curve} == {target} in {self.graph.name}"])
        variable = DimVar(old.name, old.lower, old.upper)
        new = expr.from_atom(variable)
        curve = self._curve_at(curve, old, new)
        read = SizeBinding(variable, target, 1, curve, solved.low, solved.high)
        if scope.hints is not None:
            scope.hints[variable] = solve_binding(read, values_from(scope.hints))
        root.define_dim(variable, expr.input_axis(len(root.inputs), 0), read)
        root.hidden_input(variable)
        claim = equal(curve, target)
        if scope.decide(claim) is Verdict.NO or not (scope.hints is None or claim.holds(values_from(scope.hints))):
            self.context.require(claim, f"no {old} satisfies {solved.curve} == {target}")  # always raises
        scope.assume(Condition("constraint", claim, self.graph.name, f"gives {old}", self.context.where))
        return new

    def _curve_at(self, curve: Size, variable: DimVar, size: Size) -> Size:
        return self._checking_divisors(lambda: substitute(curve, lambda a: size if a is variable else None))

    def _is_in_range(self, size: Size, solved: SizeBinding) -> bool:
        """Return True unless the size is below the range in which the curve is strictly increasing."""
        return self.context.scope.decide(at_least(size, solved.low)) is not Verdict.NO

    def _candidates(self) -> list[Size]:
        """Return sizes of the trace: its variables, and the axes of its values."""
        sizes: dict[Size, None] = {}
        for builder in self.builder.chain():
            sizes |= dict.fromkeys(expr.from_atom(v) for v in builder.dims)
            values = [*builder.inputs, *[v for node in builder.nodes for v in node.outputs]]
            sizes |= dict.fromkeys(e.size for v in values for e in v.meta.extents if isinstance(e, Exact))
        return [*dict.fromkeys([*self.known.values(), *sizes])][:_MAX_COMPARED]

    # -- preconditions

    def _require(self, count: int) -> None:
        """Require the checks of a call: ranges, the sizes of inputs, and the conditions, the ones that divide last."""
        context, graph = self.context, self.graph
        for source in graph.dims:
            v = source.variable
            context.require_at_least(self.known[v], v.lower, f"{v} is at least {v.lower}")
            if v.upper is not None:
                context.require_at_least(v.upper, self.known[v], f"{v} is at most {v.upper}")
        for axis, size in input_axes([v.meta for v in graph.inputs[:count]], dict(graph.values)):
            context.require_equal(self.known[axis], self.in_trace(size), f"{self._text(axis)} does not fit {size}")
        stated = [c for c in graph.conditions if all(v in self.known for v in c.claim.variables())]
        for condition in sorted(stated, key=lambda c: divides_by_size(c.claim)):
            claim = condition.claim
            now = Claim(claim.relation, self.in_trace(claim.left), self.in_trace(claim.right))
            context.require(now, f"{claim}: {condition.why}")

    def _text(self, axis) -> str:
        name = self.paths[axis.operand]
        return f"{name}.shape[{axis.axis}]" if isinstance(axis, InputAxis) else name


def _no_leaf(leaf) -> int:
    raise TypeError(f"{leaf} is not a number")
