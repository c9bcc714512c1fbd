"""Arguments described instead of given: shapes with unknown sizes, and tracing for all of them at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import DTypeError, SpecError
from anyshape.frontend.program import Program
from anyshape.frontend.tracing import Leaves, Trace, trace_in
from anyshape.frontend.trees import (
    as_leaf,
    check_callable,
    flatten,
    function_name,
    is_python_scalar,
    leaf_paths,
    parameter_names,
    readable,
    unflatten,
)
from anyshape.graph import dims
from anyshape.graph.builder import Builder
from anyshape.graph.conditions import Claim, Condition, at_least, equal
from anyshape.graph.dims import Size
from anyshape.graph.extents import Exact, TensorMeta, tensor
from anyshape.graph.parse import parse_shape
from anyshape.graph.scope import Scope, SymbolicSize
from anyshape.graph.solve import solve_dims
from anyshape.numpy.convert import NUMERIC
from anyshape.numpy.symdim import symdim
from anyshape.numpy.traced import Array

_RELATIONS = (">=", "<=", "==", "!=", ">", "<")


class SymbolicScope:
    """Names of unknown sizes, shared by specifications: in one scope, one name is one size."""

    def __init__(self, constraints: Sequence[str] = ()) -> None:
        self.names: dict[str, Size] = {}
        self.scope = Scope()
        for text in constraints:
            self.constrain(text)

    def size(self, name: str) -> Size:
        """The unknown size of this name."""
        return self.names.setdefault(name, dims.variable(name))

    def constrain(self, text: str) -> None:
        """Believe a relation such as "a >= b" or "b % 8 == 0", and check it when a program is called."""
        relation = next((r for r in _RELATIONS if r in text), None)
        sides = text.split(relation) if relation is not None else []
        if relation is None or len(sides) != 2:
            raise SpecError(text, "is no relation between sizes", 'write one such as "a >= b" or "b % 8 == 0"')
        left, right = (_one_size(s, self.size) for s in sides)
        self.scope.assume(
            Condition("constraint", _claim(relation, left, right, text.strip()), "constraint", "was declared")
        )


def _one_size(text: str, lookup: Callable[[str], Size]) -> Size:
    sizes = parse_shape(text, lookup)
    if len(sizes) != 1:
        raise SpecError(text, "is not one size", 'write one size, such as "2*n + 1"')
    return sizes[0]


def _claim(relation: str, left: Size, right: Size, text: str) -> Claim:
    table = {
        "==": lambda: equal(left, right, text),
        "!=": lambda: Claim("!=", left, right, text),
        ">=": lambda: at_least(left, right, text),
        "<=": lambda: at_least(right, left, text),
        ">": lambda: at_least(left, dims.add(right, 1), text),
        "<": lambda: at_least(right, dims.add(left, 1), text),
    }
    return table[relation]()


def symbolic_shape(
    spec: str, *, constraints: Sequence[str] = (), scope: SymbolicScope | None = None
) -> tuple[Any, ...]:
    """The shape that a specification such as "batch, 2*n + 1, 3" describes; names are unknown sizes >= 0.

    >>> symbolic_shape("b, 2*n, 3")
    (b, 2*n, 3)
    """
    scope = scope if scope is not None else SymbolicScope()
    for text in constraints:
        scope.constrain(text)
    return tuple([symdim(s, scope.scope) for s in parse_shape(spec, scope.size)])


@dataclasses.dataclass(frozen=True)
class ShapeDtypeStruct:
    """An array described by its shape, a tuple of ints and symbolic sizes or a text such as "n, 3", and its dtype."""

    shape: Any
    dtype: Any = np.float64

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.dtype.kind not in NUMERIC:
            raise DTypeError("ShapeDtypeStruct", f"{self.dtype} is no dtype of numbers", "give a numeric dtype")
        if not isinstance(self.shape, str):
            object.__setattr__(self, "shape", tuple(self.shape))
            wrong = [s for s in self.shape if not isinstance(s, SymbolicSize) and not _is_size(s)]
            if wrong:
                advice = "give ints and symbolic sizes, or a text such as 'n, 3'"
                raise SpecError(str(self.shape), f"{wrong[0]!r} is not a size", advice)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(parse_shape(self.shape, lambda name: 0) if isinstance(self.shape, str) else self.shape)


def _is_size(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool) and int(x) >= 0


def _spec_meta(x: Any, names: SymbolicScope, path: str, function: str, fixed: bool) -> TensorMeta:
    """The metadata that an argument of `trace` describes."""
    if not isinstance(x, ShapeDtypeStruct):
        array = as_leaf(x, path, function)
        label = path if not fixed else ""
        return tensor(array.dtype, [s if fixed else dims.variable(f"{label}_{i}") for i, s in enumerate(array.shape)])
    if isinstance(x.shape, str):
        found = parse_shape(x.shape, names.size)
        if any(isinstance(s, int) and s < 0 for s in found):
            raise SpecError(x.shape, "has a negative size", "give sizes that are at least 0")
        return tensor(x.dtype, found)
    return tensor(x.dtype, [s.expr if isinstance(s, SymbolicSize) else int(s) for s in x.shape])


def zeros_like_spec(x: ShapeDtypeStruct) -> np.ndarray:
    """Zeros of the shape and dtype described, which take no memory."""
    sizes = [e.size for e in _spec_meta(x, SymbolicScope(), "", "", True).extents if isinstance(e, Exact)]
    fixed = [size for size in sizes if isinstance(size, int)]
    if len(fixed) < len(sizes):
        raise SpecError(str(x.shape), "names a size that is not fixed", "give ints, or pass an array")
    return np.broadcast_to(np.zeros((), x.dtype), fixed)


def trace_specs(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, fixed: bool) -> Trace:
    """Trace for all sizes that the specifications describe; arrays stand for any size, or for their own if fixed."""
    leaves, tree = flatten((args, kwargs))
    paths = leaf_paths(args, kwargs)
    name, parameters = function_name(function), parameter_names(function)
    names = SymbolicScope()
    metas = [_spec_meta(x, names, readable(p, parameters), name, fixed) for x, p in zip(leaves, paths, strict=True)]
    declared = [
        s.scope
        for x in leaves
        if isinstance(x, ShapeDtypeStruct) and not isinstance(x.shape, str)
        for s in x.shape
        if isinstance(s, SymbolicSize)
    ]
    distinct = list(dict.fromkeys(declared))
    if len(distinct) > 1:
        advice = "make them with one SymbolicScope, or in one symbolic_shape"
        raise SpecError(", ".join(map(str, metas)), "mixes sizes of different scopes", advice)
    builder = Builder(Scope(conditions=distinct[0].conditions if distinct else ()), handle=Array)
    for variable, size in solve_dims(metas).items():
        builder.define_dim(variable, size)
    weak = [is_python_scalar(x) for x in leaves]
    return trace_in(builder, function, name, metas, Leaves(leaves, weak, tree, paths), parameters)


def trace(function: Callable[..., Any]) -> Callable[..., Program]:
    """A function of specifications (or example arrays, whose sizes are taken as unknown) that gives the traced program.

    The program holds for every size; a decision on a size that differs raises InconclusiveDimensionError.

    >>> import numpy as np
    >>> program = trace(lambda x, w: np.tanh(x @ w))(ShapeDtypeStruct("n, d"), ShapeDtypeStruct("d, 3"))
    >>> program(np.ones((2, 4)), np.zeros((4, 3))).shape
    (2, 3)
    """
    check_callable("trace", function)

    def traced(*args: Any, **kwargs: Any) -> Program:
        return Program(trace_specs(function, args, kwargs, fixed=False))

    return traced


def eval_shape(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The tree of ShapeDtypeStruct of the result, without computing it. Arguments are arrays or ShapeDtypeStruct.

    >>> import numpy as np
    >>> eval_shape(np.matmul, ShapeDtypeStruct("n, k"), ShapeDtypeStruct("k, 3", np.float32))
    ShapeDtypeStruct(shape=(n, 3), dtype=dtype('float64'))
    """
    check_callable("eval_shape", function)
    found = trace_specs(function, args, kwargs, fixed=True)
    scope = Scope(conditions=found.graph.conditions)
    structs = [
        ShapeDtypeStruct([symdim(e.size, scope) for e in v.meta.extents if isinstance(e, Exact)], v.meta.dtype)
        for v in found.graph.outputs
    ]
    return unflatten(found.out_tree, structs)
