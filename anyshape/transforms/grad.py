"""grad, jvp, vjp and linearize: trace the function, then transform its graph into the active one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.errors import ArgumentError, DTypeError, messages
from anyshape.graph.ir.builder import Builder, active, user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.numpy.operands.promotion import is_traced, sizes
from anyshape.ops.core.apply import describe
from anyshape.ops.creation import full, full_like
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import argument_containers, graph_jvp, linearize_transpose
from anyshape.support.true_types import has_type
from anyshape.tracing import object_arguments, pytrees, values_of_trees
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.tracing.trace import active_builder, as_value, is_inexact, trace_inner
from anyshape.transforms.arguments.options import GIVEN_AT_ONCE, Declared
from anyshape.transforms.arguments.specs import zeros_like_spec
from anyshape.transforms.jit import jit_transform
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.linear_map import LinearizedFunction, make_shape, memoised, share_programs

Argnums = int | Sequence[int]

UNCOMMON = 0.7390851332151607


def primal_of_linear(builder: Builder, x: Any) -> Any:
    """Return an array that stands for a primal of a linear function, which needs no values.

    Its number is uncommon: zeros would be one value with the zeros that functions make.
    """
    return full_like(x, UNCOMMON, builder.scope)


# -- grad --------------------------------------------------------------------------------------------------------


@short_traceback
def value_and_grad(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Jitted:
    """Return a function that computes the value of a scalar function and its gradient in the arguments `argnums`.

    The gradient has the tree, shapes and dtypes of the argument; a sequence of argnums gives a tuple of gradients.
    With `has_aux`, the function returns (value, aux), and the result is ((value, aux), gradient).

    `static_argnums`, `static_argnames` and `dynamic_shapes` are as in `jit`; they count all arguments.

    The function may write to an argument that is differentiated, as to a copy. The derivative is with respect to its
    value at entry, and the caller's array stays as it was.

    For a method, the object is argument 0. If it is not a tree of arrays, `argnums=0` means the argument after it.

    Args:
        function: function of arrays, numbers and trees of these that gives one number.
        argnums: position of the argument to differentiate, or a sequence of positions.
        has_aux: whether the function returns (value, aux).
        static_argnums, static_argnames, dynamic_shapes: as in `jit`; they count all arguments.

    Returns:
        A function of the same arguments, which returns a pair.

    Raises:
        ArgumentError: if an argument has no derivative, as integers have none, or the result is not one number.

    >>> import numpy as np
    >>> value, gradient = value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> print(value, gradient)
    5.0 [2. 4.]
    """
    name = f"value_and_grad({pytrees.function_name(function)})"
    declared = Declared(static_argnums, static_argnames, dynamic_shapes)

    def transformed(*args, **kwargs):
        return _value_and_grad(function, name, argnums, has_aux, args, kwargs)

    return derivative(transformed, name, (value_and_grad, function, argnums, has_aux), declared)


@short_traceback
def grad(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Jitted:
    """Return a function that computes the gradient of a scalar function in `argnums`; see `value_and_grad`.

    Args:
        function: function of arrays, numbers and trees of these that gives one number.
        argnums: position of the argument to differentiate, or a sequence of positions.
        has_aux: whether the function returns (value, aux); the result is (gradient, aux) then.
        static_argnums, static_argnames, dynamic_shapes: as in `jit`; they count all arguments.

    Returns:
        A function of the same arguments. The gradient is a tree like the argument; a sequence of argnums gives a
        tuple.

    Raises:
        ArgumentError: if an argument has no derivative, as integers have none, or the result is not one number.

    >>> import numpy as np
    >>> print(grad(lambda x: np.sum(np.sin(x)))(np.zeros(3)))
    [1. 1. 1.]
    """
    name = f"grad({pytrees.function_name(function)})"
    declared = Declared(static_argnums, static_argnames, dynamic_shapes)

    def transformed(*args, **kwargs):
        value, gradient = _value_and_grad(function, name, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return derivative(transformed, name, (grad, function, argnums, has_aux), declared)


def derivative(
    transformed: Callable[..., Any],
    name: str,
    recipe: tuple[Any, ...],
    declared: Declared,
    kind: type[Jitted] = Jitted,
) -> Jitted:
    """Return a derivative jitted; its recipe is the transform, the function, argnums and others."""
    _, function, argnums, *others = recipe
    chosen = check_settings(name, argnums, others[0] if others else False)
    options = declared.options(function, name, "all")
    if options.static:
        options.static.require_other(argnums)
    jitted = jit_transform(transformed, name, function, recipe, options, behind_object, declared.keywords(), kind)
    inner = function.positional_from if isinstance(function, Jitted) else 0
    jitted.positional_from = None if inner is None or min(chosen) < 0 else max(inner, max(chosen) + 1)
    if declared.is_empty:
        transform, _, *settings = recipe
        share_programs(jitted, function, transform, *settings)
    return jitted


def check_settings(name: str, argnums: Argnums, has_aux: Any) -> tuple[int, ...]:
    """Return argnums as a tuple of ints; raise ArgumentError where they, or has_aux, are arguments of the function."""
    if has_type(has_aux, (float, dict, list, str)) or getattr(has_aux, "ndim", False):
        advice = GIVEN_AT_ONCE.format(transform=name.partition("(")[0])
        advice = "give True or False" if has_type(has_aux, str) else advice
        raise ArgumentError(name, "has_aux", f"is {has_aux!r:.50}", advice)
    return check_argnums(name, argnums)


def behind_object(argnums: Argnums) -> Argnums | None:
    """Shift argnums for a bound method; 0 alone then means the first argument after the object."""
    if has_type(argnums, int):
        return argnums - 1 if argnums > 0 else argnums
    return None if 0 in argnums else tuple([a - 1 if a > 0 else a for a in argnums])


@dataclass(frozen=True, slots=True)
class _Wrt:
    """Leaves that a derivative is taken in, and their positions among the arguments."""

    argnums: tuple[int, ...]
    leaves: list[Any]
    tree: Any
    args: tuple[Any, ...]

    def put(self, leaves: Sequence[Any]) -> list[Any]:
        """Return all arguments with these leaves in place of the chosen ones."""
        replaced = list(self.args)
        for a, x in zip(self.argnums, pytrees.unflatten(self.tree, leaves), strict=True):
            replaced[a] = x
        return replaced


def choose_arguments(name: str, function: Callable[..., Any], argnums: Argnums, args: tuple[Any, ...]) -> _Wrt:
    """Return the leaves of the arguments `argnums`; raise ArgumentError unless all have an inexact dtype."""
    chosen = _normalise_argnums(name, argnums, len(args))
    _refuse_settings(name, function, {a: args[a] for a in chosen})
    leaves, tree = pytrees.flatten(values_of_trees.with_values_alone([args[a] for a in chosen]))

    def path_of(leaf, among: Sequence[Any]) -> str:
        paths = [p for a in chosen for p in _argument_paths(a, args[a], pytrees.parameter_names(function))]
        return next(p for p, x in zip(paths, among, strict=True) if x is leaf)

    for x in leaves:
        if not pytrees.is_array(x):
            object_arguments.require_numbers(x, path_of(x, leaves), name)
            problem = f"is of type {type(x).__name__}, not an array"
            raise ArgumentError(name, path_of(x, leaves), problem, _advice_for(x))
    operands = [as_value(x) for x in leaves]
    for x in operands:
        if not is_inexact(x.dtype):
            advice = "convert it to a float dtype, or leave it out of argnums"
            raise ArgumentError(name, path_of(x, operands), f"has dtype {x.dtype}, which has no derivative", advice)
    return _Wrt(chosen, operands, tree, args)


def _advice_for(x: Any) -> str:
    own = pytrees.advice_for(x)
    is_batch = own == pytrees.FROM_LIST
    return own if is_batch else "leave it out of argnums, or register its class by anyshape.register_pytree_node"


def _refuse_settings(name: str, function: Callable[..., Any], chosen: dict[int, Any]) -> None:
    """Raise ArgumentError for an argument that is a text or a function."""
    for a, x in chosen.items():
        if pytrees.is_setting(x):
            path, advice = pytrees.named(f"args[{a}]", pytrees.parameter_names(function)), "leave it out of argnums"
            raise ArgumentError(name, path, f"is of type {type(x).__name__}, not an array", advice)


def _normalise_argnums(name: str, argnums: Argnums, count: int) -> tuple[int, ...]:
    """Return argnums as a tuple counted from 0; raise ArgumentError if one is out of range."""
    entries = check_argnums(name, argnums)
    for a in entries:
        if not -count <= a < count:
            problem = f"is out of range for {count} arguments by position"
            raise ArgumentError(name, f"argnums {a}", problem, "pass that argument by position, or change argnums")
    return tuple(a % count for a in entries)


def check_argnums(name: str, argnums) -> tuple[int, ...]:
    """Return argnums as a tuple of ints; raise ArgumentError if it is of another type."""
    entries = (argnums,) if has_type(argnums, int) else tuple(argnums) if isinstance(argnums, (tuple, list)) else ()
    if not entries or not all(has_type(a, int) for a in entries):
        transform = name.partition("(")[0]
        at_once = has_type(argnums, (float, dict)) or hasattr(argnums, "dtype")
        call = GIVEN_AT_ONCE.format(transform=transform)
        raise ArgumentError(name, "argnums", f"is {argnums!r}", call if at_once else "give an int, or a tuple of ints")
    return entries


def _argument_paths(position: int, argument, names: Sequence[str]) -> list[str]:
    return [
        pytrees.named(f"args[{position}]" + p.removeprefix("args[0]"), names)
        for p in pytrees.leaf_paths((argument,), {})
    ]


def _value_and_grad(function: Callable[..., Any], name: str, argnums: Argnums, has_aux: bool, args, kwargs):
    builder = active_builder()
    wrt = choose_arguments(name, function, argnums, args)

    def run(handles: list[Any]) -> tuple[Any, Any]:
        result = argument_containers.keeping(function, may_be_rows=True)(*wrt.put(handles), **kwargs)
        check_scalar(name, split_aux(name, result)[0] if has_aux else result)
        return result, None

    inner = trace_inner(builder, run, name, wrt.leaves, at_like=True, writes=True, writable=True)
    inner.require_unwritten(wrt.leaves, name)
    outputs, derivative = linearize_transpose.linearise(
        builder, inner.graph, [*wrt.leaves, *inner.captured], range(len(wrt.leaves)), inner.count
    )
    outputs = inner.results(outputs)
    seeds = [full((), 1, outputs[0].dtype) if derivative.live[0] is not None else None, *[None] * (len(outputs) - 1)]
    grads = pull(builder, derivative, seeds)
    dense = [g if g is not None else full_like(x, scope=builder.scope) for g, x in zip(grads, wrt.leaves, strict=True)]
    trees = pytrees.unflatten(wrt.tree, dense)
    return pytrees.unflatten(inner.out_tree, outputs), trees[0] if has_type(argnums, int) else tuple(trees)


def split_aux(name: str, result: Any) -> tuple[Any, Any]:
    """Return the result of a function with `has_aux`; raise ArgumentError unless it is a pair (value, aux)."""
    if not (isinstance(result, tuple) and len(result) == 2):
        raise ArgumentError(name, "the result", "is not a pair (value, aux)", "return a pair, or drop has_aux")
    return result


def check_scalar(name: str, value: Any) -> None:
    """Raise ArgumentError or DTypeError unless the value to differentiate is a real scalar array."""
    leaves, tree = pytrees.flatten(value)
    if not tree.is_leaf() or not _is_number(leaves[0]):
        is_pair = isinstance(value, tuple) and len(value) == 2
        advice = "return one scalar array" + (", or (value, aux) with has_aux=True" if is_pair else "")
        raise ArgumentError(name, "the value", f"is of type {type(value).__name__}, not an array", advice)
    x = leaves[0] if is_traced(leaves[0]) and hasattr(leaves[0], "meta") else as_value(leaves[0])
    if x.meta.rank:
        raise ArgumentError(name, "the value", f"is {describe(x)}, not a scalar", "sum it, or use vjp or jacrev")
    if not is_inexact(x.dtype):
        raise DTypeError(name, f"the value has dtype {x.dtype}, which has no derivative", "return a float", user_line())
    if x.dtype.kind == "c":
        raise DTypeError(name, f"the value has dtype {x.dtype}", "return a real value, such as abs(z)**2", user_line())


def _is_number(x) -> bool:
    return hasattr(x, "dtype") or has_type(x, (bool, int, float, complex))


def pull(builder: Builder, derivative: linearize_transpose.LinearMap, cotangents: Sequence[Any | None]) -> list[Any]:
    """Return the cotangents of the inputs, from the cotangents of all outputs."""
    live = [ct for ct, position in zip(cotangents, derivative.live, strict=True) if position is not None]
    return linearize_transpose.transpose(
        builder, derivative.graph, derivative.tangent_count, derivative.residuals, live
    )


# -- jvp ---------------------------------------------------------------------------------------------------------


@short_traceback
def jvp(
    function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Return the value of a function and its directional derivative along `tangents`, which match `primals`.

    With `has_aux`, the function returns (value, aux), and the result is (value, derivative, aux).

    Args:
        function: function of arrays and trees.
        primals: tuple of its arguments.
        tangents: tuple of directions, each like its argument.

    Raises:
        ArgumentError: if tangents do not match primals.

    >>> import numpy as np
    >>> value, tangent = jvp(np.sin, (np.zeros(2),), (np.array([1.0, 3.0]),))
    >>> print(value, tangent)
    [0. 0.] [1. 3.]
    """
    name = f"jvp({pytrees.function_name(function)})"
    value, out_tangent = along_tangents("jvp", function, name, _jvp_of, primals, tangents)
    if not has_aux:
        return value, out_tangent
    value, aux = split_aux(name, value)
    return value, out_tangent[0], aux


def along_tangents(
    kind: str, function: Callable[..., Any], name: str, make: Callable[..., Any], primals: Any, tangents: Any
) -> Any:
    """Return what the memoised `make(function, name)` gives for primals and tangents."""
    pytrees.check_callable(kind, function)
    _check_sequence(name, "primals", primals)
    _check_sequence(name, "tangents", tangents)
    transformed = memoised_transform(kind, function, name, make)
    transformed.__signature__ = _JVP_SIGNATURE  # type: ignore[attr-defined]
    return transformed(tuple(primals), tuple(tangents))


_JVP_SIGNATURE = inspect.signature(lambda primals, tangents: None)  # of what is jitted: errors name its arguments


def _jvp_of(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def transformed(primals, tangents):
        builder = active_builder()
        xs, tree = _operands(name, "primals", primals)
        checked = argument_containers.keeping(function, may_be_rows=True)
        run = lambda handles: (checked(*pytrees.unflatten(tree, handles)), None)
        inner = trace_inner(builder, run, name, xs, at_like=True, writes=True, writable=True)
        inner.require_unwritten(xs, name)
        ts = match_tangents(name, primals, xs, tangents)
        captured = list(inner.captured)
        outputs, out_tangents = graph_jvp.push(builder, inner.graph, [*xs, *captured], [*ts, *[None] * len(captured)])
        results = inner.results(outputs)
        dense = [
            full_like(y, scope=builder.scope) if t is None else t for t, y in zip(out_tangents, results, strict=False)
        ]
        value, moved = [pytrees.unflatten(inner.out_tree, leaves) for leaves in (results, dense)]
        return value, values_of_trees.with_other_leaves(moved, value)

    return transformed


def _operands(name: str, argument: str, primals, names: Sequence[str] = ()) -> tuple[list[Any], Any]:
    """Return the leaves of primals as values, and their tree; raise ArgumentError for an object."""
    leaves, tree = pytrees.flatten(primals)
    for i, x in enumerate(leaves):
        if object_arguments.is_object(x):
            path = pytrees.leaf_paths(primals, {})[i]
            path = pytrees.named(path, names) if names else path.replace("args", argument, 1)
            raise ArgumentError(name, path, f"is of type {type(x).__name__}, not an array", pytrees.advice_for(x))
    return [as_value(x) for x in leaves], tree


def _check_sequence(name: str, argument: str, xs) -> None:
    if not isinstance(xs, (tuple, list)):
        raise ArgumentError(
            name, argument, f"is of type {type(xs).__name__}", "pass a tuple with one entry per argument"
        )


def match_tangents(name: str, like: Any, xs: Sequence[Any], tangents: Any) -> list[Any | None]:
    """Return the leaves of `tangents`, None where x is not inexact.

    Raise ArgumentError unless they match the primals in structure, dtypes and shapes.
    """
    tree = pytrees.flatten(like)[1]
    if (leaves := pytrees.flatten_as(tangents, tree)) is None:
        others, structure = pytrees.flatten(tangents)
        problem = f"has the structure {pytrees.structure_text(structure)}, not {pytrees.structure_text(tree)}"
        raise ArgumentError(name, "tangents", problem, messages.leaves_advice(len(others), len(xs)))
    matched = []
    for i, (x, t) in enumerate(zip(xs, leaves, strict=True)):
        t = as_value(t, x.dtype if not is_traced(t) and not hasattr(t, "dtype") else None)
        if is_inexact(x.dtype) and t.dtype != x.dtype:
            raise ArgumentError(name, f"tangents[{i}]", f"has dtype {t.dtype}, not {x.dtype}", "convert it with astype")
        if t.meta.rank != x.meta.rank:
            raise ArgumentError(name, f"tangents[{i}]", f"is {t.meta}, not {x.meta}", "give it the shape of the primal")
        context = ShapeGuardContext(x.builder.scope, name, user_line(), [x.meta, t.meta])
        for a, b in zip(sizes(x), sizes(t), strict=True):
            context.require_equal(a, b, f"tangents[{i}] must have the shape of its primal")
        matched.append(t if is_inexact(x.dtype) else None)
    return matched


# -- vjp and linearize -------------------------------------------------------------------------------------------


@short_traceback
def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the value of a function, and its derivative there as a linear function of tangents.

    With `has_aux`, the function returns (value, aux), and the result is (value, derivative, aux).

    Args:
        primals: arguments of the function, each a positional argument.

    >>> import numpy as np
    >>> value, derivative = linearize(np.sin, np.zeros(2))
    >>> print(derivative(np.array([1.0, 3.0])))
    [1. 3.]
    """
    value, linear = linear_program("linearize", function, primals)
    if not has_aux:
        return value, linear.push
    value, aux = split_aux("linearize", value)
    return value, lambda *tangents: linear.push(*tangents)[0], aux


@short_traceback
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the value of a function, and a function from its cotangents to a tuple of cotangents of the primals.

    With `has_aux`, the function returns (value, aux), and the result is (value, pullback, aux).

    Args:
        primals: arguments of the function, each a positional argument.

    Raises:
        ArgumentError: if an argument has no derivative, as integers have none.

    >>> import numpy as np
    >>> value, pullback = vjp(lambda x, y: x * y, np.array([2.0]), np.array([3.0]))
    >>> print(*pullback(np.array([1.0])))
    [3.] [2.]
    """
    value, linear = linear_program("vjp", function, primals)
    if not has_aux:
        pull = linear.pull
        if values_of_trees.has_other_leaves(primals):
            return value, lambda ct: values_of_trees.with_other_leaves(pull(ct), primals)
        return value, pull
    value, aux = split_aux("vjp", value)
    return value, lambda ct: linear.pull_first(ct, aux), aux


def linear_program(
    transform: str, function: Callable[..., Any], primals: Sequence[Any]
) -> tuple[Any, LinearizedFunction]:
    """Return the value of a function at these primals, and its derivative there; or for `linear_transpose` itself."""
    name = f"{transform}({pytrees.function_name(function)})"
    make = _transpose_of if transform == "linear_transpose" else _linearize_of
    value, values, static = memoised_transform(transform, function, name, make)(*primals)
    return value, LinearizedFunction(static.value, values)


def _linearize_of(function: Callable[..., Any], name: str, *, linear: bool = False) -> Callable[..., Any]:
    """Return a function of the primals: the value, the residuals and, as structure, the derivative.

    With `linear`, the function itself is linear, and must not depend on the values of the primals.
    """

    def transformed(*primals):
        builder = active_builder()
        xs, tree = _operands(name, "args", primals, pytrees.parameter_names(function))
        wrt = [i for i, x in enumerate(xs) if is_inexact(x.dtype)]
        if linear:
            xs = [primal_of_linear(builder, x) if is_inexact(x.dtype) else x for x in xs]
        run = lambda handles: (argument_containers.keeping(function)(*pytrees.unflatten(tree, handles)), None)
        inner = trace_inner(builder, run, name, xs, at_like=not linear, writes=not linear, writable=True)
        inner.require_unwritten(xs, name)
        operands = [*xs, *inner.captured]
        outputs, derivative = linearize_transpose.linearise(builder, inner.graph, operands, wrt, inner.count)
        outputs = inner.results(outputs)
        if linear:
            require_linear(builder, name, [xs[i] for i in wrt], derivative)
        shape, values = make_shape(name, derivative, wrt, (tree, inner.out_tree), xs, outputs)
        return pytrees.unflatten(inner.out_tree, outputs), values, pytrees.Static(shape)

    return transformed


_transpose_of = functools.partial(_linearize_of, linear=True)


def require_linear(builder: Builder, name: str, xs: Sequence[Any], derivative: linearize_transpose.LinearMap) -> None:
    """Raise ArgumentError if the derivative reads more than sizes of values computed from the primals."""
    made = linearize_transpose.dependent_values(builder.nodes, [builder.adopt(x) for x in xs])
    graph = derivative.graph
    residuals = zip(graph.inputs[derivative.tangent_count :], derivative.residuals, strict=True)
    factors = [inner for inner, x in residuals if builder.adopt(x) in made]
    if not linearize_transpose.dependent_values(graph.nodes, factors).isdisjoint(graph.outputs):
        raise ArgumentError(name, "the function", "is not linear", "use vjp for the transpose of its derivative")


@short_traceback
def linear_transpose(function: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a function that is linear in its arguments; `primals` only give shapes and dtypes.

    They are arrays, or ShapeDtypeStructs of fixed sizes.

    Args:
        function: linear function.

    >>> import numpy as np
    >>> back = linear_transpose(lambda x: np.array([[1.0, 2.0]]) @ x, np.zeros(2))
    >>> print(*back(np.array([3.0])))
    [3. 6.]
    """
    leaves, tree = pytrees.flatten(primals)
    arrays = [zeros_like_spec(x) if isinstance(x, ShapeDtypeStruct) else x for x in leaves]
    return linear_program("linear_transpose", function, pytrees.unflatten(tree, arrays))[1].pull


# -- one program per function ------------------------------------------------------------------------------------


def memoised_transform(
    kind: str, function: Callable[..., Any], name: str, make: Callable[..., Callable[..., Any]]
) -> Jitted:
    """Return `make(function, name)` jitted, or the one made earlier for the same function: it is traced once."""
    pytrees.check_callable(name.partition("(")[0], function)
    try:
        hash(function)
    except TypeError:
        rememberable = False
    else:
        rememberable = active() is None  # a function made inside a trace may hold its values
    if not rememberable:
        return jit_transform(make(function, name), name, function)
    jitted: Jitted = memoised(function, (kind, name, make), _make_jitted)
    return jitted


def _make_jitted(function: Callable[..., Any], key: tuple[str, str, Callable[..., Callable[..., Any]]]) -> Jitted:
    _, name, make = key
    return jit_transform(make(function, name), name, function)
