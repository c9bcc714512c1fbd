"""Apply ops: convert operands, make sizes op-local, and choose the graph that the node goes to.

The table of kernels stands here too, so that an op applied outside of any trace runs at once.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.errors import AnyshapeError, LeakedTracerError
from anyshape.graph.ir.builder import Builder, Traced, active, active_builders, home, user_line
from anyshape.graph.ir.graph import Op, OpTable, Value, is_generator
from anyshape.graph.ir.op_local import bind_local, over_axes
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, Size
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.support import profiles
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.true_types import has_type

Operand: TypeAlias = Traced | np.ndarray
_CONVERTED = (SymbolicSize, np.integer)  # sizes of a user's code, beside ints


@dataclass(frozen=True, slots=True)
class CallSite:
    """Call of a kernel in generated code: names of the operands and of the result, and facts about them.

    - `out`: the name of an array to write the result into, for kernels that take one.
    - `text`: gives the source of a size or of a tuple of sizes.
    - `bind`: gives a name for an object. The name of a function is for calls alone: it stands for the function at a
      line of the user. What a call passes on stands in a `partial`.
    - `once`: gives a line that computes names the first time that it is asked for, and nothing later.
    - `ints`: the sources of operands that are int64 scalars as Python ints.
    - `is_int`: whether the result is to be a Python int.
    """

    target: str
    operands: tuple[str, ...]
    params: Mapping[str, Any]
    metas: Sequence[TensorMeta]
    result: TensorMeta
    out: str | None
    text: Callable[[Any], str]
    bind: Callable[[Any], str]
    once: Callable[[str], list[str]] = lambda line: [line]
    ints: Sequence[str] = ()
    is_int: bool = False

    def call(self, function: Any, *arguments: str) -> list[str]:
        """Return the line that calls a function on the operands and on further arguments."""
        return [f"{self.target} = {self.bind(function)}({', '.join([*self.operands, *arguments])})"]


class Kernel(NamedTuple):
    """Implementation of an op: `run(*arrays, **params)` on arrays and ints that its shape rule has accepted.

    The other fields make it faster:

    - `out`: `run` takes an array for the result, as its next positional argument; "keyword": as `out`.
    - `specialise(params, metas)`: gives a cheaper function of the arrays alone, or None; params are ints.
    - `run_tiled`: replaces `run` on tiles, where the bits of `run` depend on the number of elements.
    - `inline(call_site)`: gives lines of Python in place of the call, for arrays and NumPy scalars alike, or None.
    - `split(params, metas)`: gives a function that runs on several threads, and axes of the second operand. The
      product of their sizes is the work per element of the first operand.
    - `consumes`: `run` takes `owned_operands`, the positions of those that it may write to: nothing reads them later.
    """

    run: Callable[..., Any]
    out: bool | str = False
    specialise: Callable[..., Callable[..., Any] | None] | None = None
    run_tiled: Callable[..., Any] | None = None
    inline: Callable[[CallSite], Sequence[str] | None] | None = None
    split: Callable[..., tuple[Callable[..., Any], tuple[int, ...]]] | None = None
    consumes: bool = False


KERNELS: OpTable[Kernel] = OpTable("kernel", "backend/numpy")


def kernel(op: Op, run: Callable[..., Any], **options: Any) -> None:
    """Make a kernel the row of `op`."""
    KERNELS[op] = Kernel(run, **options)


def choose_builder(inputs: Sequence[Any], sources: Sequence[Traced] = ()) -> Builder | None:
    """Return the graph that an operation belongs to: the innermost one of its operands and sources.

    Operations on values of an outer graph alone thus belong to the outer graph, wherever they are written. Those
    without operands belong to `home()`. A graph that is built as a whole keeps all operations in it.
    """
    innermost: Traced | None = None
    for x in (*inputs, *sources) if sources else inputs:
        if isinstance(x, Traced) and (innermost is None or x.builder.depth > innermost.builder.depth):
            innermost = x
    if innermost is None:
        return home()
    chosen = innermost.builder
    if chosen.closed:
        raise innermost.leaked()
    stack = active_builders()
    return chosen if stack and stack[-1] is chosen else _whole_within(chosen, stack) or chosen


def _whole_within(chosen: Builder, stack: Sequence[Builder]) -> Builder | None:
    """Return the innermost active graph within another that is built as a whole, None if there is none.

    Graphs around a derived one, which has no parent, may be deeper than those within it.
    """
    for builder in reversed(stack):
        if builder is chosen:
            return None
        if builder.whole and builder.depth > chosen.depth and chosen in builder.chain():
            return builder
    return None


def apply_all(op: Op, *inputs: Operand, sources: Sequence[Traced] = (), **params: Any) -> tuple[Any, ...]:
    """Apply `op` to operands and return its outputs. Op-local `params` read sizes of `sources`."""
    return _apply(op, inputs, sources, params)


def apply(op: Op, *inputs: Operand, sources: Sequence[Traced] = (), **params: Any) -> Any:
    """Apply `op` with one output; see `apply_all`."""
    return _apply(op, inputs, sources, params)[0]


def apply_sized(op: Op, *inputs: Operand, sizes: Mapping[str, Any], **params: Any) -> Any:
    """Apply `op` with one output; the params `sizes` are value-side sizes, or tuples of them."""
    names = tuple(sizes)
    if len(names) == 1:
        params[names[0]], sources = localise(sizes[names[0]], inputs)
    else:
        local, sources = localise(tuple(sizes.values()), inputs)
        params.update(zip(names, local, strict=True))
    return _apply(op, inputs, sources, params)[0]


def _apply(op: Op, inputs: Sequence[Any], sources: Sequence[Traced], params: Mapping[str, Any]) -> tuple[Any, ...]:
    builder = choose_builder(inputs, sources)
    if op.acts:
        builder = _where_python_is(builder)
    if builder is None:
        return _run_now(op, inputs, params)
    if builder.draw_order is not None and any(isinstance(x, Traced) and is_generator(x.value) for x in inputs):
        builder = home() or builder  # in the order of the program, whichever graph the generator belongs to
    traced = [x if isinstance(x, Traced) else builder.constant(np.asarray(x)) for x in inputs]
    with profiles.aside():
        return builder.emit(op, traced, sources, params)


def _where_python_is(builder: Builder | None) -> Builder | None:
    """Return the graph for what acts: of the branch or the loop that Python is in, or of an operand inside of it."""
    inner = home()
    return inner if inner is not None and (builder is None or inner.depth > builder.depth) else builder


def _run_now(op: Op, arrays: Sequence[Any], params: Mapping[str, Any]) -> tuple[Any, ...]:
    """Check and run one op on arrays, outside of any trace."""
    arrays = [np.asarray(a) for a in arrays]
    metas = [tensor(a.dtype, a.shape) for a in arrays]
    context = ShapeGuardContext(Scope(), op.name, user_line(), metas)
    has_many = isinstance(op.infer(context, *metas, **params), tuple)
    try:
        result = KERNELS[op].run(*arrays, **resolve(params, arrays))
    except AnyshapeError as error:
        error.locate(user_line())
        raise
    return tuple([np.asarray(r) for r in (result if has_many else (result,))])


def resolve(params: Mapping[str, Any], operands: Sequence[Any]) -> dict[str, Any]:
    """Return params with each op-local expression evaluated on actual operands."""
    return {name: bind_local(p, lambda leaf: operands[leaf.operand].shape[leaf.axis]) for name, p in params.items()}


# -- sizes -------------------------------------------------------------------------------------------------------


def localise(sizes: Any, operands: Sequence[Operand], apart: bool = False) -> tuple[Any, list[Traced]]:
    """Return value-side sizes, nested in tuples, as op-local expressions, and the sources that these read.

    They read axes of `operands` first, and of sources where no operand has the size. If `apart`, they read sources
    alone.
    """
    if not _is_symbolic(sizes):
        return sizes, []
    sizes = expressions(sizes)
    localiser = _Localiser(operands, apart)
    return localiser.local(sizes), localiser.sources


class _Localiser:
    """Rewrites sizes over axes of the operands, and over axes of sources, which it collects."""

    def __init__(self, operands: Sequence[Operand], apart: bool) -> None:
        self.count = len(operands)
        traced = [(i, x) for i, x in enumerate(operands) if isinstance(x, Traced)]
        self.builder = active() or choose_builder([x for _, x in traced])
        self.axis_of_size = {} if apart else _named_axes(traced)
        self.sources: list[Traced] = []

    def local(self, sizes: Any) -> Any:
        """Return sizes as op-local expressions. Each graph remembers those that read no operand: literals ask often."""
        if self.builder is None or self.axis_of_size:
            return self.convert(sizes)
        known = self.builder.localised.get((sizes, self.count))
        if known is None:
            known = self.builder.localised[sizes, self.count] = self.convert(sizes), tuple(self.sources)
        self.sources = [*known[1]]
        return known[0]

    def convert(self, size: Any) -> Any:
        if isinstance(size, tuple):
            return tuple([self.convert(s) for s in size])
        if not isinstance(size, DimExpr):
            return size
        if (axis := self.axis_of_size.get(size)) is not None:
            return axis
        return substitute_leaves(size, lambda atom: self._variable(atom) if isinstance(atom, DimVar) else None)

    def _variable(self, variable: DimVar) -> Size:
        if (axis := self.axis_of_size.get(expr.from_atom(variable))) is not None:
            return axis
        owner = self.builder.dim_owner(variable) if self.builder is not None else None
        if owner is None:
            raise LeakedTracerError(f"size {variable}", where=user_line())
        definition = owner.runtime.get(variable) or owner.dims[variable][0]
        return over_axes(definition, owner.inputs, lambda value, axis: self._axis(owner, value, axis))

    def _axis(self, owner: Builder, value: Value, axis: int) -> Size:
        """Return the axis of a value as one of a source, which is added if it is new."""
        position = next((k for k, s in enumerate(self.sources) if s.value is value), len(self.sources))
        if position == len(self.sources):
            self.sources.append(owner.handle(owner, value))
        return expr.input_axis(self.count + position, axis)


def _is_symbolic(sizes) -> bool:
    if isinstance(sizes, tuple):
        return any(map(_is_symbolic, sizes))
    return type(sizes) is DimExpr or (type(sizes) is not int and has_type(sizes, _CONVERTED))


def expressions(sizes: Any) -> Any:
    """Return sizes with the expressions of those that a user's code read off a shape, and ints for NumPy's integers."""
    if type(sizes) is tuple:
        for size in sizes:
            if type(size) is not DimExpr and type(size) is not int:
                return tuple([expressions(s) for s in sizes])
        return sizes
    if isinstance(sizes, SymbolicSize):
        return sizes.expr
    return int(sizes) if has_type(sizes, np.integer) else sizes


def result_sizes(function: str, sizes: Any) -> Any:
    """Return sizes of a result as `expressions` does. One that a user's code computed must not be negative."""
    if type(sizes) is tuple:
        for size in sizes:
            if type(size) is not DimExpr and (type(size) is not int or size < 0):
                return tuple([result_sizes(function, s) for s in sizes])
        return sizes
    size = expressions(sizes)
    if isinstance(sizes, SymbolicSize) or (has_type(size, int) and size < 0):
        context_of(function).require(at_least(size, 0), "a size cannot be negative")
    return size


def _named_axes(traced: Sequence[tuple[int, Traced]]) -> dict[DimExpr, DimExpr]:
    """Return for each symbolic size of an operand the first axis that has it."""
    axes: dict[DimExpr, DimExpr] = {}
    for i, x in traced:
        for axis, extent in enumerate(x.meta.extents):
            if isinstance(extent, Exact) and isinstance(extent.size, DimExpr):
                axes.setdefault(extent.size, expr.input_axis(i, axis))
    return axes


def meta_of(x: Operand) -> Any:
    """Return the array type of an operand, traced or not."""
    return x.meta if isinstance(x, Traced) else tensor(x.dtype, x.shape)


def describe(x: Traced) -> str:
    """Return dtype and sizes of a traced array in the words of the caller: `f64[x.shape[0]]`."""
    return x.builder.scope.size_names.text(str(x.meta))


def context_of(primitive: str, *operands: Any) -> ShapeGuardContext:
    """Return a context for the checks that a public function makes before it applies ops."""
    builder = choose_builder(operands)
    metas = [meta_of(x) for x in operands if isinstance(x, Traced) or has_type(x, np.ndarray)]
    if builder is None:
        return ShapeGuardContext(Scope(), primitive, user_line(), metas)
    return ShapeGuardContext(builder.scope, primitive, builder.where or builder.lines.uncounted(), metas)


class Sized:
    """Operand with `meta`, as contexts read it; the operand may be a plain array."""

    __slots__ = ("meta",)

    def __init__(self, x: Operand) -> None:
        self.meta: Any = meta_of(x)


def sizes_of(ctx: ShapeGuardContext, x: Operand) -> tuple[Size, ...]:
    """Return the exact sizes of an operand, traced or not."""
    return ctx.shape(Sized(x))


def named(function: Callable[..., Any], op: Op, doc: str) -> Callable[..., Any]:
    """Give a function that applies an op the name of the op and a docstring; return it."""
    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = doc
    return function
