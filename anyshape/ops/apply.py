"""Applying an op: lifting operands, turning sizes into op-local parameters, and choosing the graph it goes to.

Also declares the table of kernels, so that an op applied outside any trace runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import AnyshapeError, LeakedTracerError, MissingRuleError
from anyshape.graph.ir.builder import Builder, Traced, active, active_builders, user_line
from anyshape.graph.ir.graph import Op, Value, bind_local
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta, tensor
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size
from anyshape.graph.sizes.substitute import substitute_leaves

Operand: TypeAlias = Traced | np.ndarray


@dataclass(frozen=True, slots=True)
class Site:
    """A call of a kernel in a generated function: the names of its operands and of the result, and what is known.

    `out` is an array to write the result into, of a kernel that does; `text` gives the source of a size or of a tuple
    of sizes, `bind` the name of an object.
    """

    target: str
    operands: tuple[str, ...]
    params: Mapping[str, Any]
    metas: Sequence[TensorMeta]
    result: TensorMeta
    out: str | None
    text: Callable[[Any], str]
    bind: Callable[[Any], str]

    def call(self, function: Any, *arguments: str) -> list[str]:
        """The line that calls a function on the operands and on further arguments."""
        return [f"{self.target} = {self.bind(function)}({', '.join([*self.operands, *arguments])})"]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How an op runs: `run(*arrays, **params)` on arrays and ints that the op's shape rule has accepted.

    `out`: `run` is a ufunc-like function that takes an `out` array as its next positional argument ("keyword": named).
    `specialise(params, metas)`, given params without symbolic sizes
    and the metadata of operands, returns a cheaper function of the arrays alone, or None; `tiled` is `run` for parts
    of a large array, where the bits of `run` depend on how many elements there are. `write(site)` gives lines of Python
    that do the same, on arrays and on NumPy's scalars, or None where calling a function is best. `shared`, given what
    `specialise` is given, returns a function that threads share, and the axes of the second operand by whose sizes each
    element of the first is multiplied.
    """

    run: Callable[..., Any]
    out: bool | str = False
    specialise: Callable[..., Callable[..., Any] | None] | None = None
    tiled: Callable[..., Any] | None = None
    write: Callable[[Site], Sequence[str] | None] | None = None
    shared: Callable[..., tuple[Callable[..., Any], tuple[int, ...]]] | None = None


KERNELS: dict[Op, Kernel] = {}


def kernel(op: Op, run: Callable[..., Any], **options: Any) -> None:
    """Declare how `op` runs."""
    KERNELS[op] = Kernel(run, **options)


def find_kernel(op: Op) -> Kernel:
    """The kernel of an op, or an error that names the missing line."""
    found = KERNELS.get(op)
    if found is None:
        raise MissingRuleError(op.name, "kernel", f"backend/numpy/{op.family}.py")
    return found


def choose_builder(inputs: Sequence[Any], sources: Sequence[Traced] = ()) -> Builder | None:
    """The innermost graph among those of the operands (of the sources, without operands), or the active one.

    An operation on values of an outer graph alone belongs to the outer graph, wherever it is written, unless it takes
    its sizes from an inner one.
    """
    operands = [x for x in inputs if isinstance(x, Traced)]
    if not operands and not sources:
        return active()
    found = max([x.builder for x in (*operands, *sources)], key=lambda b: b.depth)
    if found.closed:
        raise next(x for x in (*operands, *sources) if x.builder is found).leaked()
    return next((b for b in reversed(active_builders()) if b.whole and b.depth > found.depth), found)


def apply_all(op: Op, *inputs: Operand, sources: Sequence[Traced] = (), **params: Any) -> tuple[Any, ...]:
    """Apply `op` to operands; `sources` are read for their sizes by the op-local `params`."""
    builder = choose_builder(inputs, sources)
    if builder is None:
        return _run_now(op, inputs, params)
    traced = [x if isinstance(x, Traced) else builder.constant(np.asarray(x)) for x in inputs]
    return builder.emit(op, traced, sources, params)


def apply(op: Op, *inputs: Operand, sources: Sequence[Traced] = (), **params: Any) -> Any:
    """`apply_all` for an op with one output."""
    return apply_all(op, *inputs, sources=sources, **params)[0]


def _run_now(op: Op, arrays: Sequence[Any], params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Check and run one op on arrays, outside any trace."""
    arrays = [np.asarray(a) for a in arrays]
    metas = [tensor(a.dtype, a.shape) for a in arrays]
    context = ShapeGuardContext(Scope(), op.name, user_line(), metas)
    many = isinstance(op.infer(context, *metas, **params), tuple)
    try:
        result = find_kernel(op).run(*arrays, **resolve(params, arrays))
    except AnyshapeError as error:
        error.locate(user_line())
        raise
    return tuple([np.asarray(r) for r in (result if many else (result,))])


def resolve(params: Mapping[str, Any], operands: Sequence[Any]) -> dict[str, Any]:
    """Params with each op-local expression evaluated on actual operands."""
    return {name: bind_local(p, lambda leaf: operands[leaf.operand].shape[leaf.axis]) for name, p in params.items()}


# -- sizes -------------------------------------------------------------------------------------------------------


def localise(sizes: Any, operands: Sequence[Operand], apart: bool = False) -> tuple[Any, list[Traced]]:
    """Value-side sizes (nested in tuples) as op-local expressions over `operands` and the sources also returned.

    If `apart`, over sources alone.
    """
    if not _symbolic(sizes):
        return sizes, []
    local = _Local(operands, apart)
    return local.convert(sizes), local.sources


class _Local:
    """Finds for each size an axis of the operands, or of a source that it adds."""

    def __init__(self, operands: Sequence[Operand], apart: bool) -> None:
        self.count = len(operands)
        traced = [(i, x) for i, x in enumerate(operands) if isinstance(x, Traced)]
        self.builder = active() or choose_builder([x for _, x in traced])
        self.whole = {} if apart else _named_axes(traced)
        self.sources: list[Traced] = []

    def convert(self, size: Any) -> Any:
        if isinstance(size, tuple):
            return tuple([self.convert(s) for s in size])
        if not isinstance(size, DimExpr):
            return size
        found = self.whole.get(size)
        if found is not None:
            return found
        return substitute_leaves(size, lambda atom: self._variable(atom) if isinstance(atom, DimVar) else None)

    def _variable(self, variable: DimVar) -> Size:
        found = self.whole.get(expr.from_atom(variable))
        if found is not None:
            return found
        owner = self.builder.dim_owner(variable) if self.builder is not None else None
        if owner is None:
            raise LeakedTracerError(f"size {variable}", where=user_line())
        if variable in owner.runtime:
            return self._axis(owner, *owner.runtime[variable])
        return bind_local(
            owner.dims[variable][0], lambda leaf: self._axis(owner, owner.inputs[leaf.operand], leaf.axis)
        )

    def _axis(self, owner: Builder, value: Value, axis: int) -> Size:
        """An axis of a source."""
        known = [k for k, s in enumerate(self.sources) if s.value is value]
        if not known:
            self.sources.append(owner.handle(owner, value))
        position = known[0] if known else len(self.sources) - 1
        return expr.input_axis(self.count + position, axis)


def _symbolic(sizes: Any) -> bool:
    return any(_symbolic(s) for s in sizes) if isinstance(sizes, tuple) else isinstance(sizes, DimExpr)


def _named_axes(traced: Sequence[tuple[int, Traced]]) -> dict[DimExpr, DimExpr]:
    """For each symbolic size that an axis of an operand has: that axis."""
    found: dict[DimExpr, DimExpr] = {}
    for i, x in traced:
        for axis, extent in enumerate(x.meta.extents):
            if isinstance(extent, Exact) and isinstance(extent.size, DimExpr):
                found.setdefault(extent.size, expr.input_axis(i, axis))
    return found


def meta_of(x: Operand) -> Any:
    """The metadata of an operand, traced or not."""
    return x.meta if isinstance(x, Traced) else tensor(x.dtype, x.shape)


def describe(x: Traced) -> str:
    """Return dtype and sizes of a traced array in the words of the caller: `f64[x.shape[0]]`."""
    return x.builder.scope.size_names.text(str(x.meta))


def context_of(primitive: str, *operands: Any) -> ShapeGuardContext:
    """A context for the checks that a public function makes before it applies ops."""
    builder = choose_builder(operands)
    scope = builder.scope if builder is not None else Scope()
    metas = [meta_of(x) for x in operands if isinstance(x, (Traced, np.ndarray))]
    return ShapeGuardContext(scope, primitive, user_line(), metas)


class Sized:
    """Anything with `meta`, for a context: wraps an operand that may be a plain array."""

    __slots__ = ("meta",)

    def __init__(self, x: Operand) -> None:
        self.meta = meta_of(x)


def sizes_of(ctx: ShapeGuardContext, x: Operand) -> tuple[Size, ...]:
    """The exact sizes of an operand, traced or not."""
    return ctx.shape(Sized(x))
