"""vmap, and derivatives that use it: jacfwd, jacrev, hessian and hvp."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.errors import ArgumentError, MutationError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.graph.ir.graph import Graph, Node, applies, drawing, walk
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, numel
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.memory import into, lent, shares
from anyshape.numpy.operands.promotion import size_of, sizes
from anyshape.ops.control import custom_vjp_tangent_op, decide_op
from anyshape.ops.creation import full, iota
from anyshape.ops.dynamic import EACH
from anyshape.ops.elementwise import convert, eq
from anyshape.ops.loops import Layout, varying_variables, while_op
from anyshape.ops.movement import broadcast_in_dim, reshape, transpose
from anyshape.support.packages import argument_containers, graph_vmap, ragged_mapping
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.trace import InnerTrace, active_builder, as_value, trace_inner
from anyshape.transforms.arguments.options import Declared, refuse_arrays, with_static
from anyshape.transforms.grad import (
    Argnums,
    along_tangents,
    check_settings,
    choose_arguments,
    derivative,
    grad,
    jvp,
    linear_program,
    split_aux,
    vjp,
)
from anyshape.transforms.jit import jit_transform
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.linear_map import memoised, share_programs


@short_traceback
def vmap(
    function: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_size: Any = None,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Jitted:
    """Return `function` mapped over an axis of its arguments.

    - `in_axes` is the mapped axis of each argument: an int, or None for an argument that is not mapped. It may be a
      tree that is a prefix of the arguments. Keyword arguments are mapped over axis 0.
    - `out_axes` is the position of the mapped axis in the results.
    - `axis_size` is its size, needed when no argument has it.
    - A call whose examples have results of several sizes gives `Ragged`, as `ragged_map` does.
    - `static_argnums`, `static_argnames` and `dynamic_shapes` are as in `jit`. Static arguments are not mapped.

    Args:
        function: function of one example.

    Raises:
        ArgumentError: if mapped axes differ in size, or nothing is mapped.

    >>> import numpy as np
    >>> rows = vmap(lambda a, b: a @ b, in_axes=(0, None))
    >>> print(rows(np.eye(2), np.array([1.0, 2.0])))
    [1. 2.]
    """
    name = f"vmap({pytrees.function_name(function)})"
    refuse_arrays(name, in_axes)
    declared = Declared(static_argnums, static_argnames, dynamic_shapes)
    options = declared.options(function, name, "static")

    def transformed(*args, **kwargs):
        args, kwargs, static = options.static.split(args, kwargs)
        if any(type(x).__name__ == "Ragged" for x in args):
            return _call_ragged(with_static(function, static), in_axes, out_axes, *args, **kwargs)
        return _vmap(with_static(function, static), name, in_axes, out_axes, axis_size, args, kwargs)

    recipe = (vmap, function, in_axes, out_axes, axis_size)
    jitted = jit_transform(transformed, name, function, recipe, options, _axes_behind_object, declared.keywords())
    if not declared.keywords():
        share_programs(jitted, function, *recipe[:1], *recipe[2:])
        jitted.on_ragged = functools.partial(_call_ragged, function, in_axes, out_axes)
    return jitted


def _moved(
    outputs: Sequence[tuple[Any, bool]], inner: InnerTrace, out_axes: Any, others: Sequence[Any], size: Size, name: str
):
    """Return results with the mapped axis where `out_axes` has it, and what was written where `others` have it."""
    values = [y for y, _ in outputs[: inner.count]]
    axes = pytrees.flatten_prefix(out_axes, pytrees.unflatten(inner.out_tree, values), name, "out_axes")
    return [_move_axis(*y, axis, size, name) for y, axis in zip(outputs, [*axes, *others], strict=True)]


def _may_differ(graph: Graph) -> bool:
    """Return whether a node of a graph may give each example results of a size of its own."""
    return any(map(_makes_own_size, walk(graph)))


def _makes_own_size(node: Node) -> bool:
    if node.op in EACH or node.op is decide_op or any(v.meta.sizes is None for v in node.outputs):
        return True
    params = dict(node.params)
    return node.op is while_op and bool(varying_variables(params["loop"][1], Layout(params["carries"])))


def _call_ragged(function: Callable[..., Any], in_axes: Any, out_axes: int, *args: Any, **kwargs: Any) -> Any:
    """Return the results of a call whose examples have results of several sizes."""
    return ragged_mapping.ragged_map(function, in_axes, out_axes)(*args, **kwargs)


def _axes_behind_object(in_axes):
    """Return in_axes for a bound method: of several entries, the first one is of the object and must be None."""
    several = isinstance(in_axes, (tuple, list))
    return in_axes if not several else tuple(in_axes[1:]) if len(in_axes) > 1 and in_axes[0] is None else None


def _vmap(function: Callable[..., Any], name: str, in_axes, out_axes, axis_size, args, kwargs):
    builder = active_builder()
    leaves, tree = pytrees.flatten((args, kwargs))
    axes = _axes(in_axes, args, leaves, name)
    names = pytrees.parameter_names(function)
    paths = [pytrees.named(p, names) for p in pytrees.leaf_paths(args, kwargs)]
    mapped = {i: paths[i] for i, axis in enumerate(axes) if axis is not None}
    fronted = [_to_front(leaves[i], axes[i], name, path).unshared() for i, path in mapped.items()]
    size = _batch_size(name, fronted, axis_size)

    def run(handles: list[Any]) -> tuple[Any, Any]:
        per_example = iter(handles)
        mixed = [x if a is None else next(per_example) for x, a in zip(leaves, axes, strict=True)]
        inner_args, inner_kwargs = pytrees.unflatten(tree, mixed)
        return argument_containers.keeping(function)(*inner_args, **inner_kwargs), None

    inner, written = _trace_example(run, name, fronted, mapped, leaves)
    if builder.gives_ragged and not written and _may_differ(inner.graph):
        return _call_ragged(function, in_axes, out_axes, *args, **kwargs)
    flags = [True] * len(fronted) + [False] * len(inner.captured)
    outputs = graph_vmap.batch(builder, inner.graph, [*fronted, *inner.captured], flags, size)
    moved = _moved(outputs, inner, out_axes, [axes[i] for i in written], size, name)
    for i, y in zip(written, moved[inner.count :], strict=True):
        into(leaves[i], y, f"{name}(...)")
    return pytrees.unflatten(inner.out_tree, moved[: inner.count])


def _trace_example(
    run: Callable[[list[Any]], tuple[Any, Any]],
    name: str,
    fronted: Sequence[Any],
    mapped: dict[int, str],
    leaves: Sequence[Any],
) -> tuple[InnerTrace, list[int]]:
    """Trace one example, and return which of all leaves it writes to; `mapped` are the paths of the mapped ones."""
    builder = active_builder()
    metas = [TensorMeta(x.dtype, x.meta.extents[1:]) for x in fronted]
    trace = lambda: trace_inner(builder, run, name, fronted, metas, is_batched=True, at_like=True, writable=True)
    inner = trace()
    written = [[*mapped][position] for position in inner.written]
    if written:
        _check_shared(name, leaves, {i: mapped[i] for i in written})
        with lent([leaves[i] for i in written], f"{name} writes to the examples of the array"):
            inner = trace()
    return inner, written


def _check_shared(name: str, leaves: Sequence[Any], written: dict[int, str]) -> None:
    """Raise where examples are written to an argument outside of the trace, or one that shares memory with another."""
    for i, path in written.items():
        if not isinstance(x := leaves[i], Traced):
            problem = "an array of NumPy cannot hold traced values"
            raise MutationError(f"{name}(...)", problem, f"pass {path} to the function around it", user_line())
        if any(j != i and isinstance(y, Traced) and (x is y or shares(x, y)) for j, y in enumerate(leaves)):
            problem = f"shares memory with another argument, and {name} writes to it"
            raise ArgumentError(name, path, problem, f"pass {path}.copy()")


def _axes(in_axes, args: tuple[Any, ...], leaves: Sequence[Any], name: str) -> list[Any]:
    """Return the mapped axis of each leaf, None for one that is not mapped. Keyword arguments come last."""
    tree = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if type(tree) is tuple and len(tree) != len(args):
        advice = "give one entry for each argument, None for one that is not mapped"
        raise ArgumentError(name, "in_axes", f"has {len(tree)} entries for {len(args)} arguments", advice)
    return [*pytrees.flatten_prefix(tree, args, name, "in_axes"), *[0] * (len(leaves) - len(pytrees.flatten(args)[0]))]


def _axis(axis, rank: int, name: str, path: str, option: str = "in_axes") -> int:
    if has_type(axis, bool) or not has_type(axis, int):
        raise ArgumentError(name, option, f"is {axis!r} for {path}", "give the number of an axis, or None to share it")
    if not -rank <= axis < rank:
        advice = (
            f"give {option} from {-rank} to {rank - 1}" if rank else "give it None in in_axes: all examples share it"
        )
        raise ArgumentError(name, path, f"has no axis {axis} (it has {rank})", advice)
    return axis % rank


def _to_front(x, axis, name: str, path: str):
    """Return an argument as a value with the mapped axis first; raise ArgumentError unless it is an array."""
    if not pytrees.is_array(x) and not has_type(x, drawing()):
        advice = "give it None in in_axes, or close over it"
        raise ArgumentError(name, path, f"is of type {type(x).__name__}, not an array", advice)
    x = as_value(x)
    rank = x.meta.rank
    mapped = _axis(axis, rank, name, path)
    return transpose(x, (mapped, *[i for i in range(rank) if i != mapped]))


def _batch_size(name: str, fronted: Sequence[Any], axis_size) -> Size:
    """Return the size of the mapped axis, which all mapped arguments share."""
    candidates: list[Size] = [] if axis_size is None else [size_of(axis_size)]
    candidates += [e.size for x in fronted for e in x.meta.extents[:1] if isinstance(e, Exact)]
    if not candidates:
        advice = "map at least one argument, or give axis_size"
        raise ArgumentError(name, "in_axes", "maps no argument and axis_size is not given", advice)
    context = ShapeGuardContext(active_builder().scope, name, user_line(), [x.meta for x in fronted])
    for other in candidates[1:]:
        context.require_equal(candidates[0], other, f"mapped axes have sizes {candidates[0]} and {other}")
    return candidates[0]


def _move_axis(y, batched: bool, axis, size: Size, name: str):
    """Return an output with the mapped axis at the position that out_axes gives."""
    if axis is None:
        if batched:
            advice = "give it an axis in out_axes"
            raise ArgumentError(name, "out_axes", "is None for a result that differs along the mapped axis", advice)
        return y
    if not batched:
        y = broadcast_in_dim(y, (size, *sizes(y)), range(1, y.meta.rank + 1))
    rank = y.meta.rank
    rest = list(range(1, rank))
    rest.insert(_axis(axis, rank, name, "the result", "out_axes"), 0)
    return transpose(y, rest)


# -- matrices of derivatives -------------------------------------------------------------------------------------


def _of_basis(linear: Callable[..., Any], xs: Sequence[Any], i: int) -> list[Any]:
    """Return the leaves of a linear map of each unit of leaf i, along a new first axis unless the leaf is a number."""
    shape, units = sizes(xs[i]), full((), 1, xs[i].dtype)
    if shape:
        count = numel(shape)
        rows, columns = (broadcast_in_dim(iota(count), (count, count), (axis,)) for axis in (0, 1))
        units = reshape(convert(eq(rows, columns), xs[i].dtype), (count, *shape))
        linear = vmap(linear, in_axes=tuple(0 if j == i else None for j in range(len(xs))))
    basis = [units if j == i else full(sizes(x), 0, x.dtype) for j, x in enumerate(xs)]
    return pytrees.flatten(linear(*basis))[0]


@short_traceback
def jacfwd(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Jitted:
    """Return a function that computes the Jacobian by forward mode, one column per element of the argument.

    A result of shape s and an argument of shape t give shape s + t; trees of results hold trees of arguments.
    With `has_aux`, the function returns (value, aux), and the result is (Jacobian, aux). The other options are as in
    `grad`.

    Args:
        function: function of arrays, numbers, and trees of these.
        argnums: position of the argument to differentiate, or a sequence of positions.
        has_aux: whether the function returns (value, aux); the result is (jacobian, aux) then.
        static_argnums, static_argnames, dynamic_shapes: as in `jit`; they count all arguments.

    Returns:
        A function of the same arguments. Axes of the result come first, then axes of the argument.

    Raises:
        ArgumentError: if an argument has no derivative, as integers have none.

    >>> import numpy as np
    >>> print(jacfwd(lambda x: x**2)(np.array([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """
    name = f"jacfwd({pytrees.function_name(function)})"
    declared = Declared(static_argnums, static_argnames, dynamic_shapes)

    transformed = _forward(name, function, argnums, has_aux)
    return derivative(transformed, name, (jacfwd, function, argnums, has_aux), declared)


def _forward(
    name: str, function: Callable[..., Any], argnums: Argnums, has_aux: bool, *, may_pull: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian by forward mode; if there is none, `may_pull` takes reverse mode."""

    def transformed(*args, **kwargs):
        wrt = choose_arguments(name, function, argnums, args)
        chosen = lambda *leaves: argument_containers.keeping(function)(*wrt.put(leaves), **kwargs)
        value, linear = linear_program("linearize", chosen, wrt.leaves)
        push: Callable[..., Any] = linear.push
        pull: Callable[..., Any] = linear.pull
        aux: list[Any] = []
        if has_aux:
            value, *aux = split_aux("linearize", value)
            push, pull = lambda *ts: linear.push(*ts)[0], lambda ct: linear.pull_first(ct, *aux)
        if may_pull and not linear.shape.has_push:
            return _with_aux(_by_rows(pull, value, wrt, argnums), aux)
        return _with_aux(_by_columns(push, value, wrt, argnums), aux)

    return transformed


def _by_columns(push: Callable[..., Any], value, wrt, argnums: Argnums):
    """Return the Jacobian of a linear map, from one tangent for each element of the arguments."""
    outputs, out_tree = pytrees.flatten(value)
    columns = []
    for i, x in enumerate(wrt.leaves):
        mapped = _of_basis(push, wrt.leaves, i)
        columns.append([_column(t, y, x) for t, y in zip(mapped, outputs, strict=True)])
    return _assemble(wrt, out_tree, [[column[j] for column in columns] for j in range(len(outputs))], argnums)


def _column(t, y, x):
    """Return tangents of y, along a first axis of units of x if it is an array, as of shape y.shape + x.shape."""
    return reshape(transpose(t, (*range(1, t.meta.rank), 0)), (*sizes(as_value(y)), *sizes(x))) if sizes(x) else t


def _with_aux(result, aux: Sequence[Any]):
    return (result, *aux) if aux else result


@short_traceback
def jacrev(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Jitted:
    """Return a function that computes the Jacobian by reverse mode, one row per element of the result.

    The options are as in `jacfwd`.

    Args:
        function: function of arrays, numbers, and trees of these.
        argnums: position of the argument to differentiate, or a sequence of positions.
        has_aux: whether the function returns (value, aux); the result is (jacobian, aux) then.
        static_argnums, static_argnames, dynamic_shapes: as in `jit`; they count all arguments.

    Returns:
        A function of the same arguments. Axes of the result come first, then axes of the argument.

    Raises:
        ArgumentError: if an argument has no derivative, as integers have none.

    >>> import numpy as np
    >>> print(jacrev(lambda x: x**2)(np.array([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """
    return _reverse(jacrev, function, argnums, has_aux, Declared(static_argnums, static_argnames, dynamic_shapes))


@short_traceback
def jacobian(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Jitted:
    """Return a function that computes the Jacobian by reverse mode, as `jacrev` does.

    Args:
        function: function of arrays, numbers, and trees of these.
        argnums: position of the argument to differentiate, or a sequence of positions.
        has_aux: whether the function returns (value, aux); the result is (jacobian, aux) then.
        static_argnums, static_argnames, dynamic_shapes: as in `jit`; they count all arguments.

    Returns:
        A function of the same arguments. Axes of the result come first, then axes of the argument.

    Raises:
        ArgumentError: if an argument has no derivative, as integers have none.

    >>> import numpy as np
    >>> print(jacobian(lambda x: x**2)(np.array([1.0, 2.0])))
    [[2. 0.]
     [0. 4.]]
    """
    return _reverse(jacobian, function, argnums, has_aux, Declared(static_argnums, static_argnames, dynamic_shapes))


def _reverse(
    transform: Callable[..., Any], function: Callable[..., Any], argnums: Argnums, has_aux: bool, declared: Declared
) -> Jitted:
    name = f"{transform.__name__}({pytrees.function_name(function)})"

    def transformed(*args, **kwargs):
        wrt = choose_arguments(name, function, argnums, args)
        chosen = lambda *leaves: argument_containers.keeping(function)(*wrt.put(leaves), **kwargs)
        value, pullback, *aux = vjp(chosen, *wrt.leaves, has_aux=has_aux)
        return _with_aux(_by_rows(pullback, value, wrt, argnums), aux)

    return derivative(transformed, name, (transform, function, argnums, has_aux), declared)


def _by_rows(pullback: Callable[..., Any], value, wrt, argnums: Argnums):
    """Return the Jacobian of a linear map, from one cotangent for each element of the results."""
    leaves, out_tree = pytrees.flatten(value)
    outputs = [as_value(y) for y in leaves]
    pull, rows = lambda *cts: pullback(pytrees.unflatten(out_tree, cts)), []
    for i, y in enumerate(outputs):
        mapped = _of_basis(pull, outputs, i)
        rows.append([reshape(g, (*sizes(y), *sizes(x))) for g, x in zip(mapped, wrt.leaves, strict=True)])
    return _assemble(wrt, out_tree, rows, argnums)


def _assemble(wrt, out_tree, rows: Sequence[Sequence[Any]], argnums: Argnums):
    """Return the blocks (per result, per argument leaf) as a tree of results of trees of arguments."""
    blocks = []
    for row in rows:
        trees = pytrees.unflatten(wrt.tree, row)
        blocks.append(trees[0] if has_type(argnums, int) else tuple(trees))
    return pytrees.unflatten(out_tree, blocks)


@short_traceback
def hessian(
    function: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Jitted:
    """Return a function that computes the matrix of second derivatives, forward over reverse; options as in `jacfwd`.

    Where a rule of `custom_vjp` leaves out forward mode, it is reverse over reverse.

    Args:
        function: function of arrays, numbers and trees of these that gives one number.
        argnums: position of the argument to differentiate, or a sequence of positions.
        has_aux: whether the function returns (value, aux); the result is (hessian, aux) then.
        static_argnums, static_argnames, dynamic_shapes: as in `jit`; they count all arguments.

    Returns:
        A function of the same arguments. For trees, the result is a tree of trees: `h["a"]["b"]`.

    Raises:
        ArgumentError: as `grad`.

    >>> import numpy as np
    >>> print(hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])))
    [[ 6.  0.]
     [ 0. 12.]]
    """
    declared = Declared(static_argnums, static_argnames, dynamic_shapes)
    name = f"hessian({pytrees.function_name(function)})"
    check_settings(name, argnums, has_aux)
    first = jacrev(function, argnums, has_aux, **declared.keywords())
    transformed = _forward(name, first, argnums, has_aux, may_pull=True)
    return derivative(transformed, name, (hessian, function, argnums, has_aux), declared)


@short_traceback
def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the Hessian of a scalar function times `tangents`, forward over reverse, without the matrix.

    Where a rule of `custom_vjp` leaves out forward mode, it is reverse over reverse.

    For one argument the result has its tree; for several it is a tuple.

    Args:
        function: function that gives one number.
        primals: tuple of its arguments.

    >>> import numpy as np
    >>> print(hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),)))
    [ 6. 12.]
    """
    pytrees.check_callable("hvp", function)
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    gradient = memoised(function, argnums, grad)  # so that its derivatives are traced once
    return along_tangents("hvp", gradient, f"hvp({pytrees.function_name(function)})", _hvp_of, primals, tangents)


def _hvp_of(gradient: Callable[..., Any], name: str) -> Callable[..., Any]:
    def transformed(primals, tangents):
        builder = active_builder()
        start = len(builder.nodes)
        product = jvp(gradient, primals, tangents)[1]
        if not any(applies(node, lambda op: op is custom_vjp_tangent_op) for node in builder.nodes[start:]):
            return product
        builder.forget_effects(start)
        pullback = vjp(gradient, *primals)[1]
        return pullback(tangents) if len(primals) > 1 else pullback(tangents[0])[0]

    return transformed
