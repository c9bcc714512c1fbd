"""Parts of calls of functions with derivative rules of the user: trees of values, and checks of what rules give.

Values of a trace that functions close over: find them, and make the functions again with others in their place.

A derivative rule runs when a transform reaches the call, which may be in another graph, or inside of a vmap. Its traced
values then have stand-ins there. The walk sees variables of closures, defaults, bound methods, partial functions,
transformed functions, linear maps, lists, tuples and dicts. It does not see attributes of objects and globals: using a
traced value from there is a LeakedTracerError.

Closure conversion: a function of trees as a subgraph, with the traced values that it closes over as parameters.

A derivative rule then gets these values as arguments, so derivatives in them are known.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import pickle
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, CustomRuleError
from anyshape.graph.ir.builder import Traced, active
from anyshape.graph.ir.graph import Graph
from anyshape.graph.ir.op_local import close
from anyshape.graph.prover.constraints import SourceLine, Verdict, equal
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import values_from
from anyshape.numpy.operands.memory import refuse_writes
from anyshape.ops.control import name_sizes
from anyshape.ops.creation import full_like
from anyshape.ops.elementwise import convert
from anyshape.ops.movement import broadcast_in_dim
from anyshape.ops.subgraph_call import further_operands, size_carrier
from anyshape.program.inline import call_inside
from anyshape.support.freezing import freeze
from anyshape.support.lazy_dataclass import dataclass, replace
from anyshape.support.packages import argument_containers, graph_replay
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.captured.containers import UNBOUND, read_cell
from anyshape.tracing.trace import active_builder, as_value, kind_of, standing_for, trace_inner
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.linear_map import LinearizedFunction

Leaf = tuple[str, Any]  # ("value", its kind), ("size", None), or ("fixed", the object)


# -- trees -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tree of values: its structure, and for each leaf what it is, as operands of a node hold the values alone.

    Sizes travel as axes of size carriers, so that they mean the same in another trace.
    """

    tree: Any
    leaves: tuple[Leaf, ...]

    @property
    def key(self) -> Any:
        """Key that is equal for equal bundles."""
        return self.tree, freeze(tuple([part for _, part in self.leaves])), tuple([role for role, _ in self.leaves])

    def fill(self, operands: Sequence[Any]) -> Any:
        """Return the tree with these operands as its values."""
        remaining = iter(operands)
        return pytrees.unflatten(self.tree, [_restored(role, part, remaining) for role, part in self.leaves])

    def objects(self) -> list[Any]:
        """Return the leaves that are not values."""
        return [part for role, part in self.leaves if role == "fixed"]

    def with_objects(self, objects: Sequence[Any]) -> Bundle:
        """Return the bundle with other objects in place of its leaves that are not values."""
        remaining = iter(objects)
        return replace(self, leaves=tuple([(r, next(remaining) if r == "fixed" else part) for r, part in self.leaves]))

    def zeros_like(self, operands: Sequence[Any], tangents: Sequence[Any | None]) -> Any:
        """Return the tree of tangents, with zeros where there is none."""
        pairs = iter(zip(operands, tangents, strict=True))
        return pytrees.unflatten(self.tree, [_tangent(role, part, pairs) for role, part in self.leaves])

    def positions(self) -> list[Sequence[int]]:
        """Return for each part of the tree the positions of its values among all."""
        leaves, places = iter(self.leaves), itertools.count()
        counts = [part.num_leaves for part in self.tree.children()]
        return [[next(places) for role, _ in itertools.islice(leaves, n) if role != "fixed"] for n in counts]

    def any_of(self, values: Sequence[Any | None]) -> list[bool]:
        """Return for each part of the tree whether one of its values is not None."""
        return [any(values[i] is not None for i in part) for part in self.positions()]


def bundle(tree: Any) -> tuple[Bundle, list[Any]]:
    """Return the bundle of a tree, and its operands. Python objects and scalars stay as they are."""
    values, structure = pytrees.flatten_registered(tree)
    leaves: list[Leaf] = []
    operands: list[Any] = []
    for x in values:
        if isinstance(x, Traced) or has_type(x, np.ndarray):
            operands.append(as_value(x))
            leaves.append(("value", kind_of(operands[-1]) if isinstance(x, Traced) else None))
        elif type(x) is SymbolicSize or (isinstance(x, SymbolicSize) and hasattr(x, "expr")):
            operands.append(size_carrier(x.expr))
            leaves.append(("size", None))
        else:
            leaves.append(("fixed", x))
    return Bundle(structure, tuple(leaves)), operands


@dataclass(frozen=True, slots=True)
class Captures:
    """Functions and other objects of a rule, with the traced values that they close over as operands of its node."""

    objects: tuple[Any, ...]
    values: tuple[Any, ...]
    held: Bundle
    operands: tuple[Any, ...]

    @staticmethod
    def of(objects: Sequence[Any]) -> Captures:
        """Find what objects close over."""
        values = closed_over(objects)
        held, operands = bundle(values)
        return Captures(tuple(objects), tuple(values), held, tuple(operands))

    @property
    def key(self) -> Any:
        """Key that is equal for the same objects."""
        return freeze(self.objects), self.held.key

    def __reduce__(self) -> Any:
        """Pickle without values, which stay in the process of their trace."""
        if self.values:
            raise pickle.PicklingError("a derivative rule closes over values of a trace")
        owner, rest = self.objects[0], self.objects[1:]
        if not (rules := rules_of(owner)) or any(a is not b for a, b in zip(rules, rest, strict=False)):
            return Captures, (self.objects, (), self.held, ())
        return _captures_again, (owner, rest[len(rules) :], self.held)  # the owner may pickle where its rules do not

    def renewed(self, operands: Sequence[Any]) -> list[Any]:
        """Return the objects for these values of what they close over."""
        return rebound(self.objects, self.values, self.held.fill(operands))


def rules_of(owner: Any) -> list[Any]:
    """Return the rules that a function has now, none for other objects."""
    return [getattr(owner, attribute) for attribute in getattr(type(owner), "reads", ())[2:]]


def _captures_again(owner, rest: tuple[Any, ...], held: Bundle) -> Captures:
    """Return captures from their pickle."""
    return Captures((owner, *rules_of(owner), *rest), (), held, ())


_RULED = "an argument of a function with a derivative rule"


def _restored(role: str, part, operands):
    if role == "fixed":
        return part
    x = next(operands)
    return refuse_writes(standing_for(x, part), _RULED) if role == "value" else standing_for(x, None).shape[0]


def _tangent(role: str, part, pairs):
    if role == "fixed":
        return part.dtype.type(0) if has_type(part, np.generic) else type(part)(0) if pytrees.is_array(part) else part
    x, t = next(pairs)
    return 0 if role == "size" else standing_for(full_like(x) if t is None else t, part)


def check_arguments(name: str, args: Sequence[Any], advice: str) -> None:
    """Raise ArgumentError unless all leaves are arrays or numbers."""
    for x, path in zip(pytrees.flatten(args)[0], pytrees.leaf_paths(tuple(args), {}), strict=True):
        if not pytrees.is_array(x):
            raise ArgumentError(name, path, f"is of type {type(x).__name__}, not an array", advice)


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a function: their structure, and the kind of each."""

    tree: Any
    kinds: tuple[type | None, ...]

    def fill(self, values: Sequence[Any]) -> Any:
        """Return the tree of these values."""
        return pytrees.unflatten(self.tree, [standing_for(y, kind) for y, kind in zip(values, self.kinds, strict=True)])

    @property
    def key(self) -> Any:
        """Key that is equal for equal results."""
        return self.tree, self.kinds

    def path(self, i: int) -> str:
        """Return the path of a result, such as `result[0]`."""
        return pytrees.result_paths(self.tree)[i]


def results_of(name: str, result: Any) -> tuple[Results, list[Any]]:
    """Return the structure of what a function gives and its values; raise ArgumentError unless they are arrays."""
    leaves, tree = pytrees.flatten(result)
    for i, y in enumerate(leaves):
        if not pytrees.is_array(y):
            problem = f"is of type {type(y).__name__}, not an array"
            raise ArgumentError(
                name, pytrees.result_paths(tree)[i], problem, "return arrays, numbers, or trees of them"
            )
    values = [name_sizes(as_value(y)) for y in leaves]
    return Results(tree, tuple([kind_of(y) for y in values])), values


# -- checks of what rules give -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Giver:
    """Function of the user that gives values for a function: how messages name both, and its line."""

    function: str
    rule: str
    where: SourceLine | None

    def fail(self, problem: str, advice: str) -> CustomRuleError:
        """Return the error for what the rule gives."""
        return CustomRuleError(self.function, f"{self.rule} {problem}", advice, self.where)

    def pair(self, result: Any, parts: str) -> tuple[Any, Any]:
        """Return the two parts of a result; raise CustomRuleError unless it is a pair."""
        if not (isinstance(result, (tuple, list)) and len(result) == 2):
            raise self.fail(f"gives {_described(result)}, not a pair", f"return ({parts})")
        return result[0], result[1]

    def leaves(self, tree: Any, like: Any, noun: str, whole: str) -> list[Any]:
        """Return the leaves of a tree; raise CustomRuleError unless it has the structure of another one."""
        if (leaves := pytrees.flatten_as(tree, like)) is None:
            returned, wanted = pytrees.structure_text(pytrees.flatten(tree)[1]), pytrees.structure_text(like)
            problem = f"gives {noun} of the structure {returned}, and {whole} {wanted}"
            raise self.fail(problem, "give one leaf for each leaf, in the same containers")
        return leaves

    def value(self, x: Any, like: TensorMeta, noun: str, whole: str) -> Any:
        """Return a leaf as a value of an array type; raise CustomRuleError unless it has its dtype and shape."""
        if not pytrees.is_array(x):
            raise self.fail(f"gives {noun} of type {type(x).__name__}, and {whole} {like}", "give an array")
        weak = pytrees.is_python_scalar(x) or bool(getattr(x, "weak", False))
        value = as_value(x, like.dtype) if pytrees.is_python_scalar(x) and _fits(x, like.dtype) else as_value(x)
        if weak and value.dtype != like.dtype and _order(value.dtype) <= _order(like.dtype):
            value = convert(value, like.dtype)
        self.type(value.meta, like, noun, whole)
        if value.meta.extents == like.extents:
            return value
        shape = ShapeGuardContext(value.builder.scope, self.function, self.where, [like]).shape(like)
        return broadcast_in_dim(value, shape, range(like.rank))  # the same sizes, by the names that the function gives

    def type(self, meta: TensorMeta, like: TensorMeta, noun: str, whole: str) -> None:
        """Raise CustomRuleError unless an array type has the dtype and the shape of another one."""
        if (builder := active()) is None:
            raise RuntimeError("a derivative rule ran outside of a trace")
        scope = builder.scope

        def mismatch(part: str) -> CustomRuleError:
            shown = scope.size_names.text(f"{noun} of type {meta}, and {whole} {like}")
            return self.fail(f"gives {shown}", f"give it that {part}")

        if meta.dtype != like.dtype:
            raise mismatch("dtype")
        if meta.rank != like.rank:
            raise mismatch("shape")
        context = ShapeGuardContext(scope, self.function, self.where, [meta, like])
        for a, b in zip(context.shape(meta), context.shape(like), strict=True):
            claim = equal(a, b)
            verdict = scope.decide(claim)
            known = scope.hints is not None and all(v in scope.hints for v in claim.variables())
            if verdict is Verdict.NO or (known and not claim.holds(values_from(scope.hints or {}))):
                raise mismatch("shape")
            if verdict is Verdict.UNKNOWN:
                context.require_equal(a, b, f"{noun} must have the shape of what it is for")


def _described(x) -> str:
    if isinstance(x, (tuple, list)):
        return f"a {type(x).__name__} of {len(x)}"
    return "an array" if pytrees.is_array(x) else f"an object of type {type(x).__name__}"


def _fits(x, dtype: np.dtype) -> bool:
    return _order(np.asarray(x).dtype) <= _order(dtype)


def _order(dtype: np.dtype) -> int:
    """Return the place of a kind of numbers: a bool is an int, which is a float, which is complex."""
    return {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}.get(dtype.kind, 4)


# -- arguments ---------------------------------------------------------------------------------------------------


def by_position(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], name: str) -> list[Any]:
    """Return the arguments of a call by position, with defaults; raise ArgumentError if one has no position.

    Functions of NumPy get what is passed alone.
    """
    signature = None if isinstance(function, np.ufunc) else signature_of(function)
    if signature is None:
        if kwargs:
            problem = "is passed by name to a function without named parameters"
            raise ArgumentError(name, next(iter(kwargs)), problem, "pass it by position")
        return list(args)
    bound = signature.bind(*args, **kwargs)
    if bound.kwargs:
        problem = "has no position, and rules get arguments by position"
        raise ArgumentError(name, next(iter(bound.kwargs)), problem, "declare it before `*`, or close over it")
    if (getattr(function, "__module__", None) or "").partition(".")[0] not in ("numpy", "anyshape"):
        bound.apply_defaults()  # defaults of NumPy's functions are not arrays
    return list(bound.args)


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """Return the signature of a function, None of one of C that has none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def closed_over(functions: Sequence[Any]) -> list[Any]:
    """Return the traced values and sizes that functions close over, each once, without those whose trace has ended."""
    values: dict[int, Any] = {}

    def record(x):
        has_ended = x.builder.closed if isinstance(x, Traced) else x.scope.closed
        if not has_ended:
            values.setdefault(id(x), x)
        return x

    walk = _Walk(record)
    for function in functions:
        walk.renew(function)
    return list(values.values())


def rebound(functions: Sequence[Any], values: Sequence[Any], stand_ins: Sequence[Any]) -> list[Any]:
    """Return the functions with stand-ins for the values that they close over."""
    if not values:
        return list(functions)
    new = {id(x): y for x, y in zip(values, stand_ins, strict=True)}
    walk = _Walk(lambda x: new.get(id(x), x))
    return [walk.renew(function) for function in functions]


class HasRule:
    """Function with a derivative rule, which holds functions as attributes."""

    reads: tuple[str, ...] = ()  # the attributes that a program depends on

    def duplicate(self) -> HasRule:
        """Return another function with the same attributes."""
        raise NotImplementedError

    def set_parts(self, *parts: Any) -> None:
        """Set the attributes that `reads` names."""
        raise NotImplementedError


class _Walk:
    """Makes objects again with other leaves. What holds none that changes stays as it is."""

    def __init__(self, leaf: Callable[[Any], Any]) -> None:
        self.leaf = leaf
        self.made: dict[int, Any] = {}
        self.alive: list[Any] = []  # keeps the ids valid

    def renew(self, x: Any) -> Any:
        """Return the object with other leaves."""
        if isinstance(x, (Traced, SymbolicSize)):
            return self.leaf(x)
        if (rule := next((rule for kind, rule in _RULES.items() if isinstance(x, kind)), None)) is None:
            return x
        if id(x) not in self.made:
            self.alive.append(x)
            self.made[id(x)] = x
            self.made[id(x)] = rule(self, x)
        return self.made[id(x)]

    def function(self, function: types.FunctionType) -> Any:
        """Make a function again if a variable of its closure or a default changes."""
        cells = function.__closure__ or ()
        new = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, _empty(len(cells)))
        new.__dict__.update(function.__dict__)
        new.__qualname__, new.__module__ = function.__qualname__, function.__module__
        self.made[id(function)] = new  # a function may close over itself
        renewed = [self.renew(read_cell(cell)) for cell in cells]
        defaults, keywords = self.renew(function.__defaults__), self.renew(function.__kwdefaults__)
        for cell, value in zip(new.__closure__ or (), renewed, strict=True):
            if value is not UNBOUND:  # its variable has a value
                cell.cell_contents = value
        new.__defaults__, new.__kwdefaults__ = defaults, keywords
        return new

    def method(self, method: types.MethodType) -> Any:
        """Make a bound method again."""
        return types.MethodType(self.renew(method.__func__), self.renew(method.__self__))

    def partial(self, partial: functools.partial[Any]) -> Any:
        """Make a partial function again."""
        args, keywords = self.renew(partial.args), self.renew(partial.keywords)
        return functools.partial(self.renew(partial.func), *args, **keywords)

    def linear(self, linear: LinearizedFunction) -> Any:
        """Make a linear map again, which `vjp` and `linearize` return methods of."""
        return LinearizedFunction(linear.shape, [self.renew(x) for x in linear.values])

    def jitted(self, jitted: Jitted) -> Any:
        """Return what a transformed function does inside of a trace."""
        return self.renew(jitted.function)

    def custom(self, function: HasRule) -> Any:
        """Make a function with a derivative rule again."""
        new = self.made[id(function)] = function.duplicate()  # a rule may call its function
        new.set_parts(*[self.renew(getattr(function, name)) for name in function.reads])
        return new

    def sequence(self, xs: Any) -> Any:
        """Make a plain list or tuple again."""
        return type(xs)([self.renew(x) for x in xs]) if type(xs) in (list, tuple) else xs

    def mapping(self, xs: dict[Any, Any]) -> Any:
        """Make a plain dict again."""
        return {key: self.renew(x) for key, x in xs.items()} if type(xs) is dict else xs


def _empty(count: int) -> tuple[Any, ...] | None:
    return tuple([types.CellType() for _ in range(count)]) if count else None


_RULES: dict[type, Callable[[_Walk, Any], Any]] = {
    types.FunctionType: _Walk.function,
    types.MethodType: _Walk.method,
    functools.partial: _Walk.partial,
    HasRule: _Walk.custom,
    Jitted: _Walk.jitted,
    LinearizedFunction: _Walk.linear,
    list: _Walk.sequence,
    tuple: _Walk.sequence,
    dict: _Walk.mapping,
}


Function = Callable[..., Any]


class ClosedFunction:
    """Function of trees as a closed graph: of the leaves of its arguments, then of the values that it closed over.

    Traces of its own call `applied`, of the arguments and then the parameters. It is one function, so what transforms
    make of it is made once.
    """

    def __init__(self, graph: Graph, arguments: Any, result: Any) -> None:
        self.graph, self.arguments, self.result = graph, arguments, result
        self.applied: Function = self._applied()

    def __call__(self, params: Sequence[Any], *args: Any) -> Any:
        """Return the result for these parameters and arguments, in the trace that the function was traced in."""
        if (leaves := pytrees.flatten_as(args, self.arguments)) is None:
            structure, wanted = map(pytrees.structure_text, (pytrees.flatten(args)[1], self.arguments))
            problem = f"have the structure {structure}, not {wanted}"
            raise ArgumentError(self.graph.name, "arguments", problem, "pass the trees that it was traced with")
        outputs = graph_replay.inline(active_builder(), self.graph, [*map(as_value, leaves), *params])
        return pytrees.unflatten(self.result, outputs)

    def _applied(self) -> Function:
        graph, count, result = self.graph, len(self.graph.inputs), self.result

        def applied(*values):
            leaves = pytrees.flatten(values)[0]
            return pytrees.unflatten(result, call_inside(graph, leaves, [f"input {i}" for i in range(count)]))

        return applied


def closed_function(name: str, function: Function, *args: Any) -> tuple[ClosedFunction, list[Any]]:
    """Trace a function at arguments like these; return it, and the values that it closes over as its parameters.

    It needs an active trace.
    """
    leaves, tree = pytrees.flatten(args)
    values = [as_value(x) for x in leaves]
    run = lambda handles: (argument_containers.keeping(function)(*pytrees.unflatten(tree, handles)), None)
    inner = trace_inner(active_builder(), run, name, values)
    closed = close([inner.graph], [inner.captured])
    further = further_operands(closed, {v: expr.from_atom(v) for v in closed.carried})
    return ClosedFunction(closed.graphs[0], tree, inner.out_tree), [as_value(x) for x in further]
