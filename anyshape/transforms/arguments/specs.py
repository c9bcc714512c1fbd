"""Arguments described by shape and dtype, and traces for all sizes that they describe."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.runtime.config import config
from anyshape.errors import ArgumentError, SpecError
from anyshape.graph.ir.builder import Builder
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.signature.dim_equations import solve_dims
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.arrays.array import Array
from anyshape.numpy.sizes.symdim import symdim
from anyshape.support.packages import argument_containers, rebound, traced_program
from anyshape.support.true_types import has_type
from anyshape.tracing import named_dims, pytrees
from anyshape.tracing.draws import drawing_later, noting_reads, refuse_draws
from anyshape.tracing.reachable import Walk
from anyshape.tracing.source.read import Loops, retried
from anyshape.tracing.trace import Leaves, Trace, trace_in
from anyshape.transforms.jitted import Jitted


def _spec_meta(x, names: named_dims.SymbolicScope, path: str, label: str, function: str) -> TensorMeta:
    """Return the metadata that an argument of `trace` describes; with a label, the sizes of an array are unknown."""
    if not isinstance(x, named_dims.ShapeDtypeStruct):
        array = pytrees.as_leaf(x, path, function)
        return tensor(array.dtype, [expr.variable(f"{label}_{i}") if label else s for i, s in enumerate(array.shape)])
    if isinstance(x.shape, str):
        return tensor(x.dtype, names.read(x.shape))
    return tensor(x.dtype, [s.expr if isinstance(s, SymbolicSize) else int(s) for s in x.shape])


def _spec_values(leaves: Sequence[Any], names: named_dims.SymbolicScope) -> dict[int, Size]:
    """Return the sizes that integers among the arguments give by their value, by position."""
    by_position: dict[int, Size] = {}
    for i, x in enumerate(leaves):
        value = x.value if isinstance(x, named_dims.ShapeDtypeStruct) else None
        if isinstance(value, str):
            sizes = names.read(value)
            if len(sizes) != 1:
                raise SpecError(value, "is not one size", "give one size, such as 'k'")
            by_position[i] = sizes[0]
        elif value is not None:
            by_position[i] = value.expr if isinstance(value, SymbolicSize) else int(value)
    return by_position


@short_traceback
def symbolic_args_specs(args, shapes_specs, constraints: Sequence[str] = (), scope: Scope | None = None) -> Any:
    """Return the tree of `args` (arrays, numbers, or ShapeDtypeStructs) with a ShapeDtypeStruct for each leaf.

    `shapes_specs` is a prefix of that tree with specifications in one scope. "b, _" and "b, ..." take the other sizes
    from the argument, and None takes its whole shape. The result is for `trace`.

    Args:
        constraints: comparisons that the sizes satisfy, as texts.
        scope: scope of the names, None for a new one.

    >>> import numpy as np
    >>> args = np.ones((8, 4)), {"w": np.ones((4, 2)), "b": np.ones(2)}
    >>> x, params = symbolic_args_specs(args, ("batch, _", {"w": None, "b": None}))
    >>> x.shape, params["w"].shape
    ((batch, 4), (4, 2))
    """
    described = []
    names = named_dims.scope_of(scope)
    function = "symbolic_args_specs"
    leaves, tree, paths = pytrees.flatten_with_none(args)
    if isinstance(shapes_specs, list) and isinstance(args, tuple):
        shapes_specs = tuple(shapes_specs)
    specs = pytrees.flatten_prefix(shapes_specs, args, function, "shapes_specs", none_is_leaf=True)
    structs = [None if x is None else _described(x, path, function) for x, path in zip(leaves, paths, strict=True)]
    texts = [
        (named_dims.spec_text(f"{function}: {path}", spec), named_dims.like_sizes(struct, names), path)
        for struct, spec, path in zip(structs, specs, paths, strict=True)
        if struct is not None
    ]
    shapes = iter(names.read_all(texts, constraints))
    for struct in structs:
        shape = None if struct is None else named_dims.SymbolicShape([symdim(s, names) for s in next(shapes)])
        described.append(None if struct is None else dataclasses.replace(struct, shape=shape))
    return pytrees.unflatten(tree, described)


def _described(x, path: str, function: str) -> named_dims.ShapeDtypeStruct:
    """Return the description of an argument."""
    if isinstance(x, named_dims.ShapeDtypeStruct):
        if isinstance(x.shape, str):
            advice = "give its shape as numbers, and the text among the specifications"
            raise ArgumentError(function, path, f"has a specification, {x.shape!r}, for a shape", advice)
        return x
    if isinstance(x, SymbolicSize):
        return named_dims.ShapeDtypeStruct((), int, value=x)
    array = pytrees.as_leaf(x, path, function)
    return named_dims.ShapeDtypeStruct(array.shape, array.dtype)


def zeros_like_spec(x: named_dims.ShapeDtypeStruct) -> np.ndarray:
    """Return zeros of the described shape and dtype, as a broadcast scalar that takes no memory."""
    sizes = [e.size for e in _spec_meta(x, named_dims.SymbolicScope(), "", "", "").extents if isinstance(e, Exact)]
    fixed = [size for size in sizes if has_type(size, int)]
    if len(fixed) < len(sizes):
        raise SpecError(str(x.shape), "names a size that is not fixed", "give ints, or pass an array")
    return np.broadcast_to(np.zeros((), x.dtype), fixed)


def trace_specs(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, fixed: bool,
    following: Callable[[Callable[..., Any], str], Callable[..., Any]] | None = None,
) -> tuple[Trace, Scope]:  # fmt: skip
    """Trace for all sizes that the specifications describe, and return the trace and the scope of the sizes.

    Arrays stand for any size, or for their own size if `fixed`. A symbolic size stands for an integer of that value.
    `following` changes the function and its name into the function that is traced.
    """
    name, order = pytrees.function_name(function), pytrees.visible_order(function)
    parameters = pytrees.parameter_names(function)
    walk = Walk(function)
    if isinstance(function, Jitted) and function.options.static:
        function, args, kwargs, parameters = function.options.static.closed_over(function, args, kwargs, parameters)
    elif args and all(isinstance(x, str) for x in (*args, *kwargs.values())):  # settings alone would need no trace
        args = tuple(map(named_dims.ShapeDtypeStruct, args))
        kwargs = {name: named_dims.ShapeDtypeStruct(x) for name, x in kwargs.items()}
    kwargs = pytrees.in_order(kwargs, order)

    def read() -> tuple[Trace, Scope]:
        body = function if following is None else following(argument_containers.keeping(function, parameters), name)
        trace = lambda: _trace_specs(body, name, args, kwargs, (parameters, order), fixed)
        with drawing_later([walk]), noting_reads(name, [walk]):
            traced: tuple[Trace, Scope] = rebound.traced_once(
                [walk], lambda: refuse_draws(name, trace, walk.things), is_jit=False
            )
        return traced

    return read() if config.read_source == "off" else retried(read, Loops())


def _trace_specs(
    function: Callable[..., Any], name: str, args, kwargs, signature: tuple[Sequence[str], Any], fixed: bool
) -> tuple[Trace, Scope]:
    """Trace for specifications; `signature` is the names of the positional parameters, and the order of keys."""
    parameters, order = signature
    leaves, tree = pytrees.flatten((args, kwargs))
    leaves = [named_dims.ShapeDtypeStruct((), int, value=x) if isinstance(x, SymbolicSize) else x for x in leaves]
    paths = pytrees.leaf_paths(args, kwargs)
    names = named_dims.SymbolicScope()
    metas = [
        _spec_meta(x, names, pytrees.named(p, parameters), "" if fixed else pytrees.readable(p, parameters), name)
        for x, p in zip(leaves, paths, strict=True)
    ]
    values = _spec_values(leaves, names)
    sizes = [s for x in leaves if isinstance(x, named_dims.ShapeDtypeStruct) for s in _symbolic_sizes(x)]
    builder = Builder(named_dims.scope_of_sizes(sizes, names, metas, values), handle=Array, values=values)
    builder.define_bindings(metas, solve_dims(metas, values, builder.scope.conditions))
    kinds = [pytrees.scalar_kind(x) for x in leaves]
    traced = trace_in(builder, function, name, metas, Leaves(leaves, kinds, tree, paths, order), parameters)
    return traced, builder.scope.root


def _symbolic_sizes(struct: named_dims.ShapeDtypeStruct) -> list[SymbolicSize]:
    """Return the symbolic sizes in a shape and a value, which belong to a scope already."""
    sizes = (*(() if isinstance(struct.shape, str) else struct.shape), struct.value)
    return [s for s in sizes if isinstance(s, SymbolicSize)]


@short_traceback
def trace(function: Callable[..., Any]) -> Callable[..., traced_program.Program]:
    """Return a function of specifications, or of example arrays of unknown size, that returns the traced program.

    The program holds for every size. A decision that depends on sizes raises InconclusiveDimensionError.

    - A size for an argument, such as Dim("k"), stands for an integer of that value.
    - Where all arguments are texts, each is the specification of an array of float64: `trace(f)("n, d", "d, 3")`.
    - Static arguments of a jitted function are passed as they are and built in; the program does not take them.

    Args:
        function: function to trace.

    Returns:
        A function of specifications, which returns the program; the program is called as the function is.

    Raises:
        ConcretizationError: where Python decides on a value.

    >>> import numpy as np
    >>> from anyshape import ShapeDtypeStruct
    >>> program = trace(lambda x, w: np.tanh(x @ w))(ShapeDtypeStruct("n, d"), ShapeDtypeStruct("d, 3"))
    >>> program(np.ones((2, 4)), np.zeros((4, 3))).shape
    (2, 3)
    """
    pytrees.check_callable("trace", function)

    @short_traceback
    def traced(*args, **kwargs) -> traced_program.Program:
        return traced_program.Program(trace_specs(function, args, kwargs, fixed=False)[0])

    return traced


@short_traceback
def eval_shape(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the tree of ShapeDtypeStruct of the result without computing it, for arrays or ShapeDtypeStructs.

    A shape with run-time sizes is a text with their bounds, "<=n, 3".

    Args:
        function: function to look at; it is not run.
        args, kwargs: its arguments, or specifications of them.

    >>> import numpy as np
    >>> from anyshape import ShapeDtypeStruct
    >>> eval_shape(np.matmul, ShapeDtypeStruct("n, k"), ShapeDtypeStruct("k, 3", np.float32))
    ShapeDtypeStruct(shape=(n, 3), dtype=dtype('float64'))
    """
    pytrees.check_callable("eval_shape", function)
    traced, root = trace_specs(function, args, kwargs, fixed=True)
    free = isinstance(root, named_dims.SymbolicScope) and not root.names  # every size is a Dim's
    scope = Scope(conditions=traced.graph.conditions, origin=root.origin, root=root, free=free)
    structs = [named_dims.described(m, scope) for m in traced.graph.results[: traced.count]]
    return pytrees.unflatten(traced.out_tree, structs)
