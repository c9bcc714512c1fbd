"""custom_root and custom_linear_solve: derivatives of solutions by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.errors import ArgumentError, CustomRuleError, UnsupportedFunctionError
from anyshape.graph.ir.builder import active, user_line
from anyshape.graph.ir.graph import Graph, without_effects
from anyshape.graph.ir.op_local import close
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.sizes import expr
from anyshape.ops.control import CustomRule, custom_argument, custom_call, custom_jvp_op, custom_linear_solve_op
from anyshape.ops.creation import full_like
from anyshape.ops.elementwise import neg, sub
from anyshape.ops.subgraph_call import further_operands
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.packages import argument_containers, graph_jvp, graph_replay, linearize_transpose
from anyshape.tracing import pytrees
from anyshape.tracing.captured.code_origin import line_of
from anyshape.tracing.trace import InnerTrace, active_builder, as_value, is_inexact, trace_inner
from anyshape.transforms.custom.custom_calls import Captures, Giver, check_arguments, results_of
from anyshape.transforms.grad import primal_of_linear, pull, require_linear

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Equations:
    """Function of a tree whose result has the same type, as a subgraph of the leaves of the tree, then captures."""

    graph: Graph
    tree: Any
    count: int

    def at(self, params: Sequence[Any]) -> Function:
        """Return the function for these values of what it captures."""

        def function(x):
            if (leaves := pytrees.flatten_as(x, self.tree)) is None:
                problem = f"gets the structure {pytrees.flatten(x)[1]}, not {self.tree}"
                raise ArgumentError(self.graph.name, "its argument", problem, "pass the tree that it is for")
            return pytrees.unflatten(
                self.tree, graph_replay.inline(active_builder(), self.graph, [*map(as_value, leaves), *params])
            )

        return function


def _equations(name: str, noun: str, function: Function, xs: Sequence[Any], tree) -> tuple[_Equations, list[Any]]:
    """Trace a function whose result must have the type of its argument; return it, and the values that it captures."""
    run = lambda handles: (argument_containers.keeping(function)(pytrees.unflatten(tree, handles)), None)
    inner: InnerTrace = trace_inner(active_builder(), run, f"{name}({noun})", xs)
    giver = Giver(name, noun, line_of(function))
    if pytrees.flatten_as(pytrees.unflatten(inner.out_tree, range(inner.out_tree.num_leaves)), tree) is None:
        result, argument = map(pytrees.structure_text, (inner.out_tree, tree))
        raise giver.fail(f"gives the structure {result}, and its argument has {argument}", "return the same tree")
    order = pytrees.flatten_as(pytrees.unflatten(inner.out_tree, range(inner.out_tree.num_leaves)), tree) or []
    outputs = [inner.graph.outputs[i] for i in order]
    for y, x in zip(outputs, xs, strict=True):
        giver.type(y.meta, x.meta, "a result", "its argument has")
    return _closed(replace(inner.graph, outputs=tuple(outputs)), inner.captured, tree, len(xs))


def _closed(graph: Graph, captured: Sequence[Any], tree, count: int) -> tuple[_Equations, list[Any]]:
    """Return equations that mean the same in every graph, and the values that they take behind the unknowns."""
    closed = close([graph], [captured])
    further = further_operands(closed, {v: expr.from_atom(v) for v in closed.carried})
    return _Equations(closed.graphs[0], tree, count), [as_value(x) for x in further]


def _solution(giver: Giver, solved, xs: Sequence[Any], tree, has_aux: bool) -> tuple[list[Any], Any, list[Any]]:
    """Return the leaves of a solution, and the structure and values of aux."""
    value, aux = giver.pair(solved, "the solution, aux") if has_aux else (solved, ())
    leaves = giver.leaves(value, tree, "a solution", "the unknown has")
    solution = [giver.value(y, x.meta, "a solution", "the unknown is") for y, x in zip(leaves, xs, strict=True)]
    results, values = results_of(giver.function, aux)
    return solution, results, values


def _traced_leaves(name: str, like, advice: str) -> tuple[list[Any], Any]:
    """Return the leaves and the structure of an unknown like this; no leaves outside of a trace."""
    if active() is None:
        return [], None
    check_arguments(name, [like], advice)
    return pytrees.flatten_registered(like)


def _in_order(name: str, solve: Function, solved, like, has_aux: bool):
    """Return what a solver gives outside of a trace, with keys in the order of the unknown."""
    giver, tree = Giver(name, "solve", line_of(solve)), pytrees.flatten(like)[1]
    value, aux = giver.pair(solved, "the solution, aux") if has_aux else (solved, None)
    solution = pytrees.unflatten(tree, giver.leaves(value, tree, "a solution", "the unknown has"))
    return (solution, aux) if has_aux else solution


def _detached(solve: Function) -> Function:
    """Return a function that closes over the same values without their tangents."""
    captures = Captures.of([solve])
    (detached,) = captures.renewed([custom_argument(x) for x in captures.operands])
    function: Function = detached
    return function


def _filled(xs: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    return [full_like(y) if x is None else x for x, y in zip(xs, like, strict=True)]


def _aux_tangents(outputs: Sequence[Any]) -> list[Any | None]:
    return [full_like(y) if is_inexact(y.dtype) else None for y in outputs]


# -- custom_root -------------------------------------------------------------------------------------------------


@short_traceback
def custom_root(f: Function, initial_guess, solve: Function, tangent_solve: Function, has_aux: bool = False) -> Any:
    """Return the root of `f` that `solve(f, initial_guess)` finds, with the derivative of the equation `f(x) = 0`.

    - `f` maps a tree to one of the same type. Derivatives are taken in the values that it closes over.
    - How `solve` works plays no part, so it may call back, and the guess has no derivative.
    - `tangent_solve(g, y)` solves `g(x) = y` for a linear function g. It must be linear in y.
    - With `has_aux`, `solve` returns (root, aux), and so does this. Derivatives of aux are zero.

    Args:
        initial_guess: tree like the root, where the search starts.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> def newton(f, x):
    ...     for _ in range(6):
    ...         x = x - f(x) / (2 * x)
    ...     return x
    >>> root = lambda a: custom_root(lambda x: x * x - a, 1.5, newton, lambda g, y: y / g(1.0))
    >>> print(round(float(root(2.0)), 6), round(float(grad(root)(2.0)), 6))
    1.414214 0.353553
    """
    for argument in (f, solve, tangent_solve):
        pytrees.check_callable("custom_root", argument)
    name = f"custom_root({pytrees.function_name(f)})"
    leaves, tree = _traced_leaves(name, initial_guess, "start from arrays, numbers, or trees of them")
    if not leaves:
        return _in_order(name, solve, solve(f, initial_guess), initial_guess, has_aux)
    xs = [as_value(x) for x in leaves]
    equations, params = _equations(name, "f", f, xs, tree)
    detached = [custom_argument(p) for p in params]
    giver = Giver(name, "solve", line_of(solve))
    guess = pytrees.unflatten(tree, [x if is_fixed(x) else custom_argument(as_value(x)) for x in leaves])
    solution, aux, values = _solution(giver, _detached(solve)(equations.at(detached), guess), xs, tree, has_aux)
    captures = Captures.of([tangent_solve])
    rule = _RootRule(name, equations, captures)
    outputs = custom_call(custom_jvp_op, rule, [*params, *captures.operands], [*solution, *values])
    root = pytrees.unflatten(tree, outputs[: len(xs)])
    return (root, aux.fill(outputs[len(xs) :])) if has_aux else root


def is_fixed(x: Any) -> bool:
    """Return True for a Python number, which stays as it is."""
    return not hasattr(x, "dtype")


class _RootRule(CustomRule):
    """Derivative of a root in what its equations capture."""

    is_independent = True

    def __init__(self, name: str, equations: _Equations, captures: Captures) -> None:
        self.equations, self.captures = equations, captures
        super().__init__(name, len(captures.operands))

    @property
    def key(self) -> Any:
        return self.equations.graph, self.captures.key

    def push(
        self, operands: Sequence[Any], tangents: Sequence[Any | None], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the root and its tangent: with f(x, p) = 0, it solves df/dx dx = -df/dp dp."""
        graph, tree, count = without_effects(self.equations.graph), self.equations.tree, self.equations.count
        width = len(operands) - self.captured
        params, tangents = operands[:width], tangents[:width]
        (tangent_solve,) = self.captures.renewed(operands[width:])
        xs = outputs[:count]
        _, moved = graph_jvp.push(active_builder(), graph, [*xs, *params], [*[None] * count, *tangents])
        right = [neg(t) for t in _filled(moved, xs)]
        _, derivative = linearize_transpose.linearise(active_builder(), graph, [*xs, *params], range(count))

        def linear(v):
            if (leaves := pytrees.flatten_as(v, tree)) is None:
                structure, wanted = map(pytrees.structure_text, (pytrees.flatten(v)[1], tree))
                problem = f"gets the structure {structure}, not {wanted}"
                raise CustomRuleError(self.name, f"the function that tangent_solve gets {problem}", "pass a tangent")
            typed = [as_value(t, x.dtype if is_fixed(t) else None) for t, x in zip(leaves, xs, strict=True)]
            values = graph_replay.inline(active_builder(), derivative.graph, [*typed, *derivative.residuals])
            dense = [None if i is None else values[i] for i in derivative.live]
            return pytrees.unflatten(tree, _filled(dense, xs))

        giver = Giver(self.name, "tangent_solve", line_of(tangent_solve))
        solved = giver.leaves(tangent_solve(linear, pytrees.unflatten(tree, right)), tree, "a tangent", "the root has")
        out_tangents = [giver.value(t, x.meta, "a tangent", "the root is") for t, x in zip(solved, xs, strict=True)]
        return list(outputs), [*out_tangents, *_aux_tangents(outputs[count:])]


# -- custom_linear_solve -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Solver:
    """Linear equations with a function that solves them, and one that solves the transposed ones, if there is any.

    `origin` are the equations that transposed ones were made of, and the number of values that these capture.
    """

    name: str
    equations: _Equations
    solve: Function
    transpose_solve: Function | None
    symmetric: bool
    has_aux: bool
    origin: tuple[_Equations, int] | None = None

    def apply(self, params: Sequence[Any], right: Sequence[Any]) -> tuple[list[Any], Any, list[Any]]:
        """Solve for the right sides: return the solution, and the structure and values of aux."""
        tree = self.equations.tree
        detached = [custom_argument(p) for p in params]
        giver = Giver(self.name, "solve", line_of(self.solve))
        solve = _detached(self.solve)
        solved = solve(self.equations.at(detached), pytrees.unflatten(tree, [custom_argument(b) for b in right]))
        solution, aux, values = _solution(giver, solved, right, tree, self.has_aux)
        rule = _SolveRule(self)
        operands = [*right, *params, *rule.captures.operands]
        outputs = custom_call(custom_linear_solve_op, rule, operands, [*solution, *values])
        return list(outputs[: len(right)]), aux, list(outputs[len(right) :])

    def transposed(self, params: Sequence[Any], like: Sequence[Any]) -> tuple[_Solver, Sequence[Any]]:
        """Return the solver of the transposed equations, and the values that these capture."""
        if self.symmetric:
            return self, params
        if self.transpose_solve is None:
            problem = "has no transpose_solve, which reverse mode needs"
            raise UnsupportedFunctionError(self.name, problem, "give it one, or say symmetric=True", user_line())
        if self.origin is not None:
            equations, count = self.origin
            back = _Solver(self.name, equations, self.transpose_solve, self.solve, False, self.has_aux)
            return back, params[:count]
        equations = self.equations
        count = equations.count

        def pulled(handles: list[Any]) -> tuple[Any, None]:
            cts, captured = handles[:count], handles[count:]
            derivative = self.derivative([primal_of_linear(active_builder(), ct) for ct in cts], captured)
            return _filled(pull(active_builder(), derivative, cts), cts), None

        inner = trace_inner(active_builder(), pulled, f"transposed {equations.graph.name}", [*like, *params])
        turned, further = _closed(inner.graph, inner.captured, equations.tree, count)
        origin = self.equations, len(params)
        solver = _Solver(self.name, turned, self.transpose_solve, self.solve, False, self.has_aux, origin)
        return solver, [*params, *further]

    def derivative(self, zeros: Sequence[Any], params: Sequence[Any]) -> linearize_transpose.LinearMap:
        """Return the equations as a linear map; raise ArgumentError if they are not linear."""
        builder = active_builder()
        _, derivative = linearize_transpose.linearise(
            builder, without_effects(self.equations.graph), [*zeros, *params], range(self.equations.count)
        )
        require_linear(builder, self.name, zeros, derivative)
        return derivative


class _SolveRule(CustomRule):
    """Derivative of a solution of linear equations in the right sides, and in what the equations capture."""

    is_independent = True

    def __init__(self, solver: _Solver) -> None:
        self.solver, self.width = solver, solver.equations.count
        self.captures = Captures.of([solver.solve, solver.transpose_solve])
        super().__init__(solver.name, len(self.captures.operands))

    @property
    def key(self) -> Any:
        return self.solver.equations.graph, self.captures.key, self.solver.symmetric, self.solver.has_aux

    def _renewed(self, operands: Sequence[Any]) -> tuple[_Solver, Sequence[Any]]:
        """Return the solver for these values of what its functions close over, and the values of what matvec does."""
        count = len(operands) - self.captured
        solve, transpose_solve = self.captures.renewed(operands[count:])
        return replace(self.solver, solve=solve, transpose_solve=transpose_solve), operands[:count]

    def push(
        self, arguments: Sequence[Any], tangents: Sequence[Any | None], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the solution and its tangent: with A x = b, it solves A dx = db - dA x."""
        count, graph = self.width, without_effects(self.solver.equations.graph)
        solver, params = self._renewed(arguments[count:])
        xs, right, directions = outputs[:count], [*tangents[:count]], tangents[count : count + len(params)]
        if any(t is not None for t in directions):
            _, moved = graph_jvp.push(active_builder(), graph, [*xs, *params], [*[None] * count, *directions])
            right = [b if m is None else neg(m) if b is None else sub(b, m) for b, m in zip(right, moved, strict=True)]
        out_tangents, _, _ = solver.apply(params, _filled(right, xs))
        return list(outputs), [*out_tangents, *_aux_tangents(outputs[count:])]

    def pull(self, operands: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the right sides: solutions of the transposed equations."""
        solver, params = self._renewed(operands)
        cts = cotangents[: self.width]
        turned, captured = solver.transposed(params, cts)
        solution, _, _ = turned.apply(captured, cts)
        return solution


@short_traceback
def custom_linear_solve(
    matvec: Function,
    b: Any,
    solve: Function,
    transpose_solve: Function | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Return the solution of `matvec(x) = b` that `solve(matvec, b)` finds, with the derivative of the equation.

    - `matvec` is a linear function of a tree of the type of b. Derivatives are taken in b and in the values that it
      closes over. How `solve` works plays no part, so it may call back.
    - `transpose_solve(vecmat, b)` solves the transposed equation, in reverse mode. With `symmetric`, `solve` does.
    - With `has_aux`, both return (x, aux), and so does this. Derivatives of aux are zero.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> def diagonal(matvec, b):
    ...     return b / matvec(np.ones(2))
    >>> solve = lambda d, b: custom_linear_solve(lambda x: d * x, b, diagonal, symmetric=True)
    >>> print(grad(lambda d: np.sum(solve(d, np.ones(2))))(np.array([1.0, 2.0])))
    [-1.   -0.25]
    """
    for argument in (matvec, solve, *([transpose_solve] if transpose_solve is not None else [])):
        pytrees.check_callable("custom_linear_solve", argument)
    name = f"custom_linear_solve({pytrees.function_name(matvec)})"
    leaves, tree = _traced_leaves(name, b, "pass arrays, numbers, or trees of them")
    if not leaves:
        return _in_order(name, solve, solve(matvec, b), b, has_aux)
    right = [as_value(x) for x in leaves]
    equations, params = _equations(name, "matvec", matvec, right, tree)
    back = solve if symmetric else transpose_solve
    solution, aux, values = _Solver(name, equations, solve, back, symmetric, has_aux).apply(params, right)
    x = pytrees.unflatten(tree, solution)
    return (x, aux.fill(values)) if has_aux else x
