"""Derivative rules of the user as programs, for files and other processes, which have no functions.

A rule is traced at the types of its call, and so are rules of calls inside of it. A rule that calls its own function
is one object: its programs refer to it.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from anyshape.errors import AnyshapeError, ArgumentError, InconclusiveDimensionError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Builder, activate, home
from anyshape.graph.ir.graph import Graph, Node, is_generator, params_tuple, with_subgraphs
from anyshape.graph.ir.op_local import axes_of_variables, call_type, remove_dead_code
from anyshape.graph.ir.validate import check_graph
from anyshape.graph.prover.constraints import Condition, substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, Unknown
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, Size
from anyshape.numpy.arrays.array import Array
from anyshape.ops import control
from anyshape.ops.creation import full_like
from anyshape.ops.elementwise import add
from anyshape.ops.subgraph_call import paths_of_sizes, size_carrier
from anyshape.support.lazy_dataclass import NamedTuple, replace
from anyshape.support.packages import graph_replay
from anyshape.tracing.trace import Trace, as_value, is_inexact

_MOST_RULES, _DEEPEST = 200, 8  # of a program, within each other: a rule may call its function at ever other types

Operands: TypeAlias = Sequence[Any]
Function: TypeAlias = Callable[[list[Any]], Sequence[Any]]


class RuleProgram(NamedTuple):
    """Part of a rule as a graph of one example: its role, and the positions of the arguments that it is for.

    - `push`: from arguments, tangents of those at the positions, and results to results and tangents of inexact ones.
      The tangents of a rule are the sum of what its programs of this role give.
    - `forward`: from arguments and results to results and residuals.
    - `pull`: from residuals and cotangents to cotangents at the positions. For linear equations: from what they close
      over and cotangents to cotangents of right sides.
    """

    role: str
    positions: tuple[int, ...]
    graph: Graph


class ProgramRule(control.CustomRule):
    """Program rule: a derivative rule of the user that is made of programs. Without any, `problem` says why.

    `width` is the number of right sides of linear equations.
    """

    def __init__(self, name: str, captured: int, is_independent: bool, width: int, problem: str = "") -> None:
        super().__init__(name, captured)
        self.is_independent, self.width, self.problem = is_independent, width, problem
        self.programs: tuple[RuleProgram, ...] = ()

    @functools.cached_property
    def key(self) -> Any:
        """Text of the programs, which holds other rules by their names: they may refer to this one."""
        arrays = [array for p in self.programs for _, array in p.graph.constants]
        texts = [(p.role, p.positions, str(p.graph)) for p in self.programs]
        return self.name, texts, [hashlib.sha256(array.tobytes()).hexdigest() for array in arrays]

    def add(self, role: str, positions: tuple[int, ...], graph: Graph) -> None:
        """Add a program."""
        self.programs += (RuleProgram(role, positions, graph),)

    def fits(self, node: Node) -> bool:
        """Return whether the programs take and give as much as a call with this node."""
        count, dtypes = dict(node.params)["count"], [v.meta.dtype for v in node.inputs]
        results = dtypes[count:]
        made = [len(p.graph.outputs) - len(results) for p in self.programs if p.role == "forward"]
        residuals = made[0] if made else count - self.width
        return len(made) <= 1 and all(self._fits(p, dtypes[:count], results, residuals) for p in self.programs)

    def _fits(self, program: RuleProgram, arguments: list[Any], results: list[Any], residuals: int) -> bool:
        role, positions, graph = program
        if any(i >= len(arguments) for i in positions):
            return False
        moved = [arguments[i] for i in positions]
        takes, gives = {
            "push": (len(arguments) + len(moved) + len(results), [*results, *filter(is_inexact, results)]),
            "forward": (len(arguments) + len(results), results),
            "pull": (residuals + len(results), moved or arguments[: self.width]),
        }[role]
        ends = [v.meta.dtype for v in graph.outputs]
        return len(graph.inputs) == takes and (ends[: len(gives)] if role == "forward" else ends) == gives

    def __reduce__(self) -> Any:
        return copyreg.__newobj__, (type(self),), self.__dict__  # type: ignore[attr-defined]

    def of_role(self, role: str, where: Any = None) -> list[RuleProgram]:
        """Return the programs of a role; raise UnsupportedFunctionError if there are none."""
        programs = [p for p in self.programs if p.role == role]
        if not programs:
            problem = f"has no derivative here, because its rule could not be saved: {self.problem or 'no such part'}"
            raise UnsupportedFunctionError(self.name, problem, "save the program of the derivative instead", where)
        return programs

    def push(self, operands: Operands, tangents: Operands, outputs: Operands) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents, from arguments, their tangents and the results of the function."""
        live = {i for i, t in enumerate(tangents) if t is not None}
        programs = self.of_role("push")
        chosen = [p for p in programs if not live.isdisjoint(p.positions)] or programs[:1]
        directions = [[_filled(tangents[i], operands[i]) for i in p.positions] for p in chosen]
        ends = [self._run(p, [*operands, *ts, *outputs]) for p, ts in zip(chosen, directions, strict=True)]
        total = [functools.reduce(add, parts) for parts in zip(*[e[len(outputs) :] for e in ends], strict=True)]
        return ends[0][: len(outputs)], _by_result(total, outputs)

    def forward(
        self, operands: Operands, active: Sequence[bool], outputs: Operands
    ) -> tuple[list[Any], list[Any], control.CustomRule]:
        """Return the results, the residuals, and the backward rule for the active arguments."""
        (program,) = self.of_role("forward")
        ends = self._run(program, [*operands, *outputs])
        chosen = tuple([i for i, is_active in enumerate(active) if is_active])
        return ends[: len(outputs)], ends[len(outputs) :], _PullbackOfPrograms(self, chosen)

    def pull(self, operands: Operands, cotangents: Operands) -> list[Any]:
        """Return the cotangents that the backward program gives."""
        (program,) = self.of_role("pull")
        return self._run(program, [*operands, *cotangents])

    def _run(self, program: RuleProgram, operands: Operands) -> list[Any]:
        builder = home()  # of values that do not depend on tangents
        if builder is None:
            raise RuntimeError("a derivative rule ran outside of a trace")
        metas = [x.meta for x in operands]
        call_type(ShapeGuardContext(builder.scope, self.name, builder.line(), metas), program.graph, metas)
        return graph_replay.inline(builder, program.graph, operands)


class _PullbackOfPrograms(control.CustomRule):
    """Backward rule of a rule of programs, for the arguments `active`."""

    def __init__(self, rule: ProgramRule, active: tuple[int, ...]) -> None:
        self.rule, self.active = rule, active
        super().__init__(rule.name)

    @property
    def key(self) -> Any:
        return self.rule.key, self.active

    def pull(self, residuals: Operands, cotangents: Operands, metas: Sequence[TensorMeta]) -> list[Any | None]:
        """Return the cotangent of each active argument; None: zero."""
        (program,) = self.rule.of_role("pull")
        pulled = dict(zip(program.positions, self.rule.pull(residuals, cotangents), strict=True))
        return [pulled.get(i) for i in self.active]


def _by_result(slopes: Operands, outputs: Operands) -> list[Any]:
    """Return the next tangent for each result that has one, and None for the others."""
    remaining = iter(slopes)
    return [next(remaining) if is_inexact(y.dtype) else None for y in outputs]


def _filled(tangent, x):
    return full_like(x) if tangent is None else tangent


# -- from functions to programs ----------------------------------------------------------------------------------


def refuse_objects(graph: Graph) -> None:
    """Raise ArgumentError for a function that is called back, and for a generator that the function closes over."""
    if functions := control.functions_called(graph):
        advice = "call it outside the program, and pass what it gives as an argument"
        raise ArgumentError(graph.name, f"the function {functions[0]}", "is called back, and no file holds it", advice)
    drawn = [type(array[()]).__name__ for value, array in graph.constants if is_generator(value)]
    if drawn:
        problem = "is one that the function closes over, and no file holds it"
        raise ArgumentError(graph.name, f"the {drawn[0]}", problem, "give the function the generator as an argument")


def with_saved_rules(graph: Graph) -> Graph:
    """Return the graph, and its subgraphs, with programs in place of the functions of rules."""
    return _Saving().graph(graph)


def travelling(trace: Trace) -> Trace:
    """Return the trace with programs in place of the functions that no pickle holds."""
    return replace(trace, graph=_Saving(pickled=True).graph(trace.graph))


class _Saving:
    """Rules that were saved, by the op, the rule and the types of the call."""

    def __init__(self, pickled: bool = False) -> None:
        self.pickled = pickled
        self.saved: dict[Any, ProgramRule] = {}
        self.depth = 0

    def graph(self, graph: Graph) -> Graph:
        graph = with_subgraphs(graph, self.graph)
        nodes = tuple([self.node(n, graph) for n in graph.nodes])
        return graph if nodes == graph.nodes else replace(graph, nodes=nodes)

    def node(self, node: Node, graph: Graph) -> Node:
        params = dict(node.params)
        rule = params.get("rule")
        if not isinstance(rule, control.CustomRule) or isinstance(rule, ProgramRule) or (self.pickled and rule.travels):
            return node
        if node.op is control.custom_vjp_tangent_op:  # no program runs it
            return replace(node, params=params_tuple({**params, "rule": rule.name}))
        count, levels = params["count"], params["levels"]
        depths = [sum(level[i] for level in levels) for i in range(count)]
        depths += [len(levels)] * (len(node.inputs) - count)
        types = _Types()
        columns = zip(node.inputs, depths, strict=True)
        metas = [types.of(TensorMeta(v.meta.dtype, v.meta.extents[depth:])) for v, depth in columns]
        key = node.op, rule, tuple([(m.dtype, tuple(map(types.number, m.extents))) for m in metas])
        if key not in self.saved:
            width = getattr(rule, "width", 0)
            made = self.saved[key] = ProgramRule(rule.name, rule.captured, rule.is_independent, width)
            self._fill(made, _Call(rule, metas, count, types.conditions(graph.conditions)), node)
        return replace(node, params=params_tuple({**params, "rule": self.saved[key]}))

    def _fill(self, made: ProgramRule, call: _Call, node: Node) -> None:
        """Give a rule its programs, or the reason why it has none."""
        self.depth += 1
        try:
            if len(self.saved) > _MOST_RULES or self.depth > _DEEPEST:
                raise UnsupportedFunctionError(made.name, "has too many rules within its rule", "")
            if node.op is control.custom_vjp_op:
                programs = call.backward()
            else:
                programs = [call.pushed(positions) for positions in call.groups()]
                if node.op is control.custom_linear_solve_op:
                    programs.append(call.solved())
            for program in programs:
                refuse_objects(program.graph)
            made.programs = tuple([p._replace(graph=self.graph(p.graph)) for p in programs])
        except AnyshapeError as error:
            made.problem = str(error).partition("\n")[0]
        finally:
            self.depth -= 1


class _Types:
    """Types of a program of its own: each size is a new variable, and equal sizes are the same one."""

    def __init__(self) -> None:
        self.sizes: dict[Size, DimVar] = {}

    def of(self, meta: TensorMeta) -> TensorMeta:
        return TensorMeta(meta.dtype, tuple(map(self._extent, meta.extents)))

    def _extent(self, extent: ShapeExtent) -> ShapeExtent:
        if not isinstance(extent, Exact):
            return Unknown()
        if isinstance(extent.size, int):
            return extent
        if extent.size not in self.sizes:
            old = expr.as_atom(extent.size)
            new = DimVar(old.name, old.lower, old.upper) if isinstance(old, DimVar) else DimVar("size")
            self.sizes[extent.size] = new
        return Exact(expr.from_atom(self.sizes[extent.size]))

    def number(self, extent: ShapeExtent) -> Any:
        """Return a number for a size, which is the same for calls of the same types."""
        if not isinstance(extent, Exact) or isinstance(extent.size, int):
            return extent
        (variable,) = expr.variables(extent.size)
        return "size", [*self.sizes.values()].index(variable), variable.lower, variable.upper

    def conditions(self, conditions: Sequence[Condition]) -> list[Condition]:
        """Return what is stated of these sizes alone, as constraints."""
        new: dict[Atom, Size] = {
            old: expr.from_atom(v) for size, v in self.sizes.items() if isinstance(old := expr.as_atom(size), DimVar)
        }
        stated = [c for c in conditions if c.claim.variables() and all(v in new for v in c.claim.variables())]
        return [replace(c, kind="constraint", claim=substitute_claim(c.claim, new.get)) for c in stated]


class _Call:
    """Call of a function with a rule: the types of its arguments and results, and what is known of their sizes."""

    def __init__(self, rule: Any, metas: Sequence[TensorMeta], count: int, conditions: Sequence[Condition]) -> None:
        self.rule, self.conditions = rule, conditions
        self.arguments, self.results = metas[:count], metas[count:]
        self.active = [i for i in range(count - rule.captured) if is_inexact(metas[i].dtype)]

    def groups(self) -> list[tuple[int, ...]]:
        """Return the positions of the arguments for each push program."""
        active = {*self.active}
        parts = [tuple([i for i in part if i in active]) for part in self.rule.parts(len(self.arguments))]
        return [part for part in parts if part]

    def pushed(self, positions: tuple[int, ...]) -> RuleProgram:
        count, end = len(self.arguments), len(self.arguments) + len(positions)

        def push(xs: list[Any]) -> list[Any]:
            tangents: list[Any] = [None] * count
            for i, t in zip(positions, xs[count:end], strict=True):
                tangents[i] = t
            results, slopes = self.rule.push(xs[:count], tangents, xs[end:])
            return [*results, *[t for t, meta in zip(slopes, self.results, strict=True) if is_inexact(meta.dtype)]]

        metas = [*self.arguments, *[self.arguments[i] for i in positions], *self.results]
        return RuleProgram("push", positions, self._of_all_sizes(push, metas))

    def backward(self) -> list[RuleProgram]:
        """Return the forward program, and the backward program of its residuals and of the sizes that these lack."""
        count, active = len(self.arguments), [i in self.active for i in range(len(self.arguments))]
        pullbacks, positions = list[Any](), list[int]()

        def forward(xs: list[Any]) -> list[Any]:
            results, residuals, pullback = self.rule.forward(xs[:count], active, xs[count:])
            pullbacks.append(pullback)
            known = _variables([x.meta for x in residuals] + [*self.results])
            carried = [v for v in _variables(self.arguments) if v not in known]
            return [*results, *residuals, *[size_carrier(expr.from_atom(v)) for v in carried]]

        first = self._traced(forward, [*self.arguments, *self.results])
        residuals = [v.meta for v in first.outputs[len(self.results) :]]

        def pull(xs: list[Any]) -> list[Any]:
            metas = [self.arguments[i] for i in self.active]
            pulled = pullbacks[0].pull(xs[: len(residuals)], xs[len(residuals) :], metas)
            positions[:] = [i for i, ct in zip(self.active, pulled, strict=True) if ct is not None]
            return [ct for ct in pulled if ct is not None]

        second = self._of_all_sizes(pull, [*residuals, *self.results])
        return [RuleProgram("forward", (), first), RuleProgram("pull", tuple(positions), second)]

    def solved(self) -> RuleProgram:
        """Return the program that solves transposed equations."""
        closed = self.arguments[self.rule.width :]
        pull = lambda xs: self.rule.pull(xs[: len(closed)], xs[len(closed) :])
        return RuleProgram("pull", (), self._of_all_sizes(pull, [*closed, *self.results]))

    def _of_all_sizes(self, function: Function, metas: Sequence[TensorMeta]) -> Graph:
        """Return the graph of a function; of all its paths where it decides on sizes."""
        try:
            return self._traced(function, metas)
        except InconclusiveDimensionError as error:
            if error.decision is None:
                raise
        return self._traced(paths_of_sizes().following_sizes(function, self.rule.name), metas)

    def _traced(self, function: Function, metas: Sequence[TensorMeta]) -> Graph:
        builder = Builder(Scope(), handle=Array)
        inputs = [builder.input(meta) for meta in metas]
        for variable, axis in axes_of_variables(builder.inputs).items():
            builder.define_dim(variable, axis)
        for condition in self.conditions:
            if all(v in builder.dims for v in condition.claim.variables()):
                builder.scope.assume(condition)
        with activate(builder):
            graph = remove_dead_code(builder.finish([as_value(y) for y in function(inputs)], self.rule.name))
        check_graph(graph)
        return graph


def _variables(metas: Sequence[TensorMeta]) -> dict[DimVar, None]:
    """Return the variables that are the size of an axis."""
    return dict.fromkeys(v for meta in metas for v, _ in meta.variable_axes())
