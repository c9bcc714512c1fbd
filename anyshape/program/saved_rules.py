"""Derivative rules of the user as programs, for files and other processes, which have no functions.

A rule is traced at the types of its call, and so are rules of calls inside of it. A rule that calls its own function
is one object: its programs refer to it.

Encode structures of arguments and results as JSON data, and decode them. Built-in containers only.
"""

from __future__ import annotations

import copyreg
import functools
import hashlib
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from anyshape.errors import AnyshapeError, ArgumentError, InconclusiveDimensionError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Builder, activate, home
from anyshape.graph.ir.encode import Malformed, choice, encode_number, fields, items, number
from anyshape.graph.ir.graph import Graph, Node, is_generator, params_tuple, with_subgraphs
from anyshape.graph.ir.op_local import axes_of_variables, call_type, remove_dead_code
from anyshape.graph.ir.validate import check_graph
from anyshape.graph.prover.constraints import Condition, substitute_claim
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, ShapeGuardContext, TensorMeta, Unknown
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, DimVar, Size
from anyshape.numpy.arrays.array import Array
from anyshape.numpy.sizes.shape_tuple import Sizes
from anyshape.ops import control
from anyshape.ops.creation import full_like
from anyshape.ops.elementwise import add
from anyshape.ops.subgraph_call import paths_of_sizes, size_carrier
from anyshape.support.lazy_dataclass import NamedTuple, replace
from anyshape.support.packages import graph_replay
from anyshape.tracing.named_dims import SymbolicShape
from anyshape.tracing.pytrees import Setting, Static, class_of, flatten, unflatten
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


_FACTORIES: dict[str, Callable[[], Any]] = {
    k.__name__: k for k in (int, float, complex, bool, str, list, tuple, dict, set)
}
_PLAIN = (tuple, list, dict, OrderedDict, deque, defaultdict, type(None), Sizes, SymbolicShape, Static)
_KEYS = (str, bool, int, float, type(None))
_MAX_NODES, _MAX_DEPTH = 100_000, 100
_LEAF = object()


def check_tree(tree: Any, function: str, argument: str) -> None:
    """Raise ArgumentError for a structure that a file cannot hold."""
    if tree.type is Setting and isinstance(unflatten(tree, ()), str):
        return
    if not tree.is_leaf():
        if tree.type not in _PLAIN:
            cls = class_of(tree)
            kind = f"{cls.__module__}.{cls.__qualname__}"
            problem = f"holds a {kind}, a class that a saved program does not know"
            advice = "take and return tuples, lists and dicts of arrays, such as x._asdict() or dataclasses.asdict(x)"
            raise ArgumentError(function, argument, problem, advice)
        if tree.type in (dict, OrderedDict, defaultdict):
            _check_keys(tree.entries(), function, argument)
        for child in tree.children():
            check_tree(child, function, argument)


def _check_keys(keys: list[Any], function: str, argument: str) -> None:
    for key in keys:
        if type(key) not in _KEYS:
            problem = f"holds a dict with the key {key!r:.50}, of the type {type(key).__name__}"
            raise ArgumentError(function, argument, problem, "use texts and integers for keys")


def encode_tree(tree: Any, function: str, argument: str) -> Any:
    """Return the structure as data; `function` and `argument` name it in errors."""
    check_tree(tree, function, argument)
    return _Encoder(function, argument).encode(unflatten(tree, [_LEAF] * tree.num_leaves))


class _Encoder:
    """Encodes one structure; errors name the function and the argument."""

    def __init__(self, function: str, argument: str) -> None:
        self.function, self.argument = function, argument

    def encode(self, x: Any) -> Any:
        """Return a part of the structure as data."""
        if x is _LEAF:
            return "leaf"
        if x is None:
            return None
        if isinstance(x, str):
            return {"setting": self._static(x)}
        if isinstance(x, Static):
            return {"static": self._static(x.value)}
        if isinstance(x, deque):
            return {"deque": self._parts(x), "longest": x.maxlen}
        if isinstance(x, (tuple, list)):
            return {"list" if isinstance(x, list) else "tuple": self._parts(x)}
        return self._mapping(x)

    def _parts(self, xs: Iterable[Any]) -> list[Any]:
        return [self.encode(x) for x in xs]

    def _mapping(self, x):
        pairs = [[k if isinstance(k, str) else {"number": encode_number(k)}, self.encode(v)] for k, v in x.items()]
        if not isinstance(x, defaultdict):
            return {"ordered" if isinstance(x, OrderedDict) else "dict": pairs}
        factory = None if x.default_factory is None else getattr(x.default_factory, "__name__", "")
        if factory is not None and _FACTORIES.get(factory) is not x.default_factory:
            problem = f"holds a defaultdict of {x.default_factory!r:.50}, which a saved program does not know"
            raise ArgumentError(self.function, self.argument, problem, "return a dict")
        return {"defaultdict": pairs, "factory": factory}

    def _static(self, x):
        if isinstance(x, str):
            return {"text": x}
        if isinstance(x, tuple):
            return {"tuple": [self._static(part) for part in x]}
        if x is None or isinstance(x, (bool, int, float, complex)):
            return {"number": encode_number(x)}
        problem = f"holds a {type(x).__name__} that is not an array, which a saved program does not know"
        raise ArgumentError(self.function, self.argument, problem, "close over it instead of passing it")


def decode_tree(data: Any, subject: str, *, sort_keys: bool = False) -> Any:
    """Return the structure that the data describe, with the keys of dicts sorted if asked.

    `subject` names it in errors.
    """
    return flatten(_Decoder(subject, sort_keys).build(data, 0))[1]


def has_order(tree: Any) -> bool:
    """Return True if a structure has a dict of several keys, whose order a function can see."""
    if tree.is_leaf():
        return False
    several = tree.type in (dict, OrderedDict, defaultdict) and tree.num_children > 1
    return several or any(map(has_order, tree.children()))


def has_sorted_keys(tree: Any) -> bool:
    """Return True if all dicts of a structure have sorted keys."""
    if tree.is_leaf():
        return True
    keys = tree.entries() if tree.type in (dict, defaultdict) else []
    return keys == _sorted(keys) and all(map(has_sorted_keys, tree.children()))


def _sorted(keys: Iterable[Any]) -> list[Any]:
    """Return keys in the order of leaves in files of versions 1 and 2: by value, else by class and value."""
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda key: (f"{type(key).__module__}.{type(key).__qualname__}", key))


class _Decoder:
    """Decodes one structure, and raises Malformed for anything that `_Encoder` does not write."""

    def __init__(self, subject: str, sort_keys: bool) -> None:
        self.subject, self.sort_keys, self.count = subject, sort_keys, 0

    def build(self, x: Any, depth: int) -> Any:
        """Return a part of the structure, with a marker for each leaf."""
        self.count += 1
        if depth > _MAX_DEPTH or self.count > _MAX_NODES:
            raise Malformed(f"{self.subject} is nested too deep, or too large")
        if x == "leaf":
            return _LEAF
        if x is None:
            return None
        if not isinstance(x, dict) or not x:
            raise Malformed(f"{self.subject} is not a structure")
        if (kind := next(k for k in ("factory", "longest", *x) if k in x)) == "factory":
            return self._defaultdict(x, depth)
        return self._deque(x, depth) if kind == "longest" else self._container(kind, x, depth)

    def _container(self, kind: str, x: dict[str, Any], depth: int):
        builders: dict[str, Callable[[Any, int], Any]] = {
            "list": self._parts,
            "tuple": lambda parts, depth: tuple(self._parts(parts, depth)),
            "dict": self._sorted_pairs,
            "ordered": lambda pairs, depth: OrderedDict(self._pairs(pairs, depth)),
            "setting": self._static,
            "static": lambda value, depth: Static(self._static(value, depth)),
        }
        (inside,) = fields(x, self.subject, choice(kind, self.subject, tuple(builders)))
        return builders[kind](inside, depth)

    def _defaultdict(self, x: dict[str, Any], depth: int):
        pairs, factory = fields(x, self.subject, "defaultdict", "factory")
        made = None if factory is None else _FACTORIES[choice(factory, self.subject, _FACTORIES)]
        return defaultdict(made, self._sorted_pairs(pairs, depth))

    def _deque(self, x: dict[str, Any], depth: int):
        parts, longest = fields(x, self.subject, "deque", "longest")
        return deque(self._parts(parts, depth), longest if longest is None else self._length(longest, parts))

    def _length(self, longest, parts: list[Any]) -> int:
        if type(longest) is not int or not len(parts) <= longest <= 2**62:
            raise Malformed(f"{self.subject} has a deque of the length {longest!r:.50}")
        return longest

    def _parts(self, x, depth: int) -> list[Any]:
        return [self.build(part, depth + 1) for part in items(x, self.subject, _MAX_NODES)]

    def _pairs(self, x, depth: int) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for pair in items(x, self.subject, _MAX_NODES):
            key, value = items(pair, self.subject, 2, 2)
            key = key if isinstance(key, str) else number(fields(key, self.subject, "number")[0], self.subject)
            if key in mapping or not isinstance(key, _KEYS):
                raise Malformed(f"{self.subject} has the key {key!r:.50} twice, or no key")
            mapping[key] = self.build(value, depth + 1)
        return mapping

    def _sorted_pairs(self, x, depth: int) -> dict[Any, Any]:
        mapping = self._pairs(x, depth)
        return {key: mapping[key] for key in _sorted(mapping)} if self.sort_keys else mapping

    def _static(self, x, depth: int):
        if isinstance(x, dict) and "text" in x:
            (value,) = fields(x, self.subject, "text")
            if not isinstance(value, str):
                raise Malformed(f"{self.subject} holds no text")
            return value
        if isinstance(x, dict) and "tuple" in x and depth < _MAX_DEPTH:
            (parts,) = fields(x, self.subject, "tuple")
            return tuple([self._static(part, depth + 1) for part in items(parts, self.subject, _MAX_NODES)])
        return number(fields(x, self.subject, "number")[0], self.subject)
