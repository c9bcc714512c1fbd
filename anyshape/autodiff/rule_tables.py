"""Tables of derivative and batching rules, and the verbs that fill them.

A verb fills JVP and transpose together, so the two cannot drift. VJPs are derived from them.

- JVP: `rule(ctx, tangents, out, *inputs, **params)` returns the tangent of the output. A tangent is None where it is
  zero. An op with several outputs has tuples for `out` and for the result.
- Transpose: `rule(ctx, ct, *inputs, **params)` returns a tuple: a cotangent for each linear input, and None for the
  others. Linear inputs are `Linear`, which have an array type and no value.
- Both take arrays, and may return a `Part` for each.
- Batching: `rule(ctx, size, batched, *inputs, **params)` returns the output, or a tuple. Batched inputs and all outputs
  have the batch as their first axis, but for outputs that are `Common`.

Operands with the batch as their first axis, for batching rules.

Argmax and argmin sets: the elements that equal an extreme, which share its derivative equally.

NumPy's extremes are NaN where an element is NaN. The derivative is then NaN in each element, in both modes: a number
would hide that the result depends on no number.
"""

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from anyshape.graph.ir.graph import Op, OpTable
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta
from anyshape.graph.sizes.expr import Size, mul
from anyshape.ops import elementwise as ew
from anyshape.ops.core.apply import apply, apply_all
from anyshape.ops.creation import full
from anyshape.ops.elementwise import add
from anyshape.ops.movement import broadcast_in_dim, reshape
from anyshape.support.lazy_dataclass import NamedTuple, dataclass

Rule: TypeAlias = Callable[..., Any]


class Write(NamedTuple):
    """Rules of an op that writes its operand at position `part` to its first operand.

    - `read(ctx, x, *inputs, **params)` gives what another array x has there.
    - `set(ctx, x, new, *inputs, **params)` gives x with new elements there. It does not read the part.
    """

    part: int
    read: Rule
    set: Rule


class ZeroFlow(enum.Enum):
    """Fate of elements that are zero by construction in a rule of an op, for JVP and transpose each.

    - `STAY`: the op acts on each element alone.
    - `MOVE`: each element of the result is one of the operands.
    - `ADD`: it is a sum of elements, zero where all of them are.
    - `FILL`: the same, and further zeros are filled in.
    - `REACH`: it is a sum of elements times numbers, which count as 1: a number 0 makes no zero by construction.
    - `LINES`: it mixes elements along some axes alone, as `lines` says, or is a filter.
    - `MIX`: a zero counts as a number.
    - `PASS`: the rule takes and gives parts, as it is of an op with subgraphs.
    """

    STAY = "stay"
    MOVE = "move"
    ADD = "add"
    FILL = "fill"
    REACH = "reach"
    LINES = "lines"
    MIX = "mix"
    PASS = "pass"


STAY, MOVE, ADD, FILL, REACH, LINES, MIX, PASS = ZeroFlow

JVPS: OpTable[Rule] = OpTable("JVP", "autodiff/rules")
TRANSPOSES: OpTable[Rule] = OpTable("transpose", "autodiff/rules")
WINDOW_TRANSPOSES: dict[Op, Rule] = {}  # of one window, which may stay one; None: of the whole array
ZERO_FLOWS: OpTable[tuple[ZeroFlow, ZeroFlow]] = OpTable("zero flow", "autodiff/rules")
LINES_OF: dict[Op, Rule] = {}
FIRST_ALONE: set[Op] = set()  # whose JVP has zeros by construction if no operand but the first has a tangent
ELEMENTWISE = {"elementwise", "special", "special_ufuncs"}  # families whose ops act on each element
WRITES: dict[Op, Write] = {}
BATCHERS: OpTable[Rule] = OpTable("batching", "autodiff/rules")
ZERO: set[Op] = set()
# How a shift of an operand changes the result, by a rule of `autodiff/shift_invariance.py`. Without a row nothing is
# known of an op: a proof of invariance ends there, and the derivative is computed in full.
SHIFTS: OpTable[Rule] = OpTable("shift", "autodiff/rules")


@dataclass(frozen=True, slots=True)
class Linear:
    """Linear input of an op that is transposed: its array type is known, its value is not."""

    meta: TensorMeta

    @property
    def dtype(self) -> Any:
        return self.meta.dtype


@dataclass(frozen=True, slots=True)
class Common:
    """Output of a batching rule that is the same for all examples, and has no axis for them."""

    value: Any


def add_tangents(a: Any, b: Any) -> Any:
    """Return a + b; None is zero."""
    return b if a is None else a if b is None else add(a, b)


def zeros_like(ctx: ShapeGuardContext, x: Any) -> Any:
    """Return zeros of the shape and dtype of x, which may be `Linear`."""
    return full(ctx.shape(x), 0, x.dtype)


class RuleWithValues:
    """JVP rule that gives the values too, as `Pushed`, in place of a replay."""

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule: Rule = rule

    def __call__(self, *args: Any, **params: Any) -> Any:
        return self.rule(*args, **params)


# -- verbs -------------------------------------------------------------------------------------------------------


def pointwise(op: Op, *derivatives: Callable[..., Any] | None) -> None:
    """Declare an elementwise op. Tangent i times `derivatives[i](*inputs, out)` is its part; None: no part."""

    def jvp(ctx: ShapeGuardContext, tangents: Sequence[Any], out, *xs, **params):
        total = None
        for derivative, t in zip(derivatives, tangents, strict=True):
            if t is not None and derivative is not None:
                total = add_tangents(total, t * derivative(*xs, out, **params))
        return total

    JVPS[op] = jvp


def linear(op: Op, back: Rule) -> None:
    """Declare an op that is linear in its one input. `back(ctx, ct, x, **params)` is its transpose."""
    JVPS[op] = lambda ctx, tangents, out, x, **params: apply(op, tangents[0], **params)
    TRANSPOSES[op] = lambda ctx, ct, x, **params: (back(ctx, ct, x, **params),)


def bilinear(op: Op, back_x: Rule, back_y: Rule) -> None:
    """Declare an op that is linear in each of its two inputs; `back_x(ctx, ct, x, y, **params)` transposes it for x."""

    def jvp(ctx: ShapeGuardContext, tangents: Sequence[Any], out, x, y, **params):
        tx, ty = tangents
        first = apply(op, tx, y, **params) if tx is not None else None
        return add_tangents(first, apply(op, x, ty, **params) if ty is not None else None)

    def transpose(ctx: ShapeGuardContext, ct, x, y, **params):
        if isinstance(x, Linear):
            return back_x(ctx, ct, x, y, **params), None
        return None, back_y(ctx, ct, x, y, **params)

    JVPS[op] = jvp
    TRANSPOSES[op] = transpose


def linear_in_first(op: Op, back: Rule) -> None:
    """Declare an op that is linear in its first input and constant in the others.

    `back(ctx, ct, x, *others, **params)` transposes it for the first.
    """

    def jvp(ctx: ShapeGuardContext, tangents: Sequence[Any], out, x, *others, **params):
        return apply(op, tangents[0], *others, **params) if tangents[0] is not None else None

    def transpose(ctx: ShapeGuardContext, ct, x, *others, **params):
        return back(ctx, ct, x, *others, **params), *[None] * len(others)

    JVPS[op] = jvp
    TRANSPOSES[op] = transpose


def zero(*ops: Op) -> None:
    """Declare ops that are constant wherever they are differentiable, or whose results have no tangents."""
    for op in ops:
        ZERO.add(op)
        if op.family not in ELEMENTWISE:
            zeros(MIX, MIX, op)
        JVPS[op] = lambda ctx, tangents, out, *xs, **params: (None,) * len(out) if isinstance(out, tuple) else None


def with_values(op: Op, rule: Rule) -> None:
    """Declare the JVP of an op that gives its values and their tangents together, as `Pushed`."""
    JVPS[op] = RuleWithValues(rule)


def zero_flow(op: Op) -> tuple[ZeroFlow, ZeroFlow]:
    """Return what becomes of elements that are zero by construction in the JVP and the transpose of an op."""
    return (STAY, STAY) if op.family in ELEMENTWISE else ZERO_FLOWS[op]


def zeros(jvp: ZeroFlow, transpose: ZeroFlow, *ops: Op) -> None:
    """Declare what becomes of elements that are zero by construction in the JVP and the transpose of ops."""
    ZERO_FLOWS.update(dict.fromkeys(ops, (jvp, transpose)))


def lines(rule: Rule, *ops: Op) -> None:
    """Declare along which axes ops mix elements: `rule(ranks, **params)` gives labels for the axes of each array.

    `ranks` has the ranks of operands and results. Axes of one label stay apart, axes of label None are mixed. If the
    rule gives None, all are. For a filter it gives 1 or -1: what coefficients count as, so that no sum is 0.
    """
    zeros(LINES, LINES, *ops)
    LINES_OF.update(dict.fromkeys(ops, rule))


def along(ranks: Sequence[int], *, axis: int, **params: Any) -> Any:
    """Return labels for an op along one axis."""
    return [[None if i == axis else i for i in range(rank)] for rank in ranks]


def stacks(ranks: Sequence[int], **params: Any) -> Any:
    """Return labels for an op on stacks of matrices, the first operand being such."""
    return [[i if i < ranks[0] - 2 else None for i in range(rank)] for rank in ranks]


def solutions(ranks: Sequence[int], **params: Any) -> Any:
    """Return labels as for stacks, and one for the columns of the last operand and the result."""
    *factors, right, out = stacks(ranks)
    return [*factors, [*right[:-1], "column"], [*out[:-1], "column"]]


def shift(op: Op, rule: Rule) -> None:
    """Declare how a shift of an operand changes the result of op."""
    SHIFTS[op] = rule


def stretch(ctx: ShapeGuardContext, size: Size, x: Any) -> Any:
    """Return a value that carries no batch, repeated along a new first axis."""
    return broadcast_in_dim(x, (size, *ctx.shape(x)), range(1, ctx.rank(x) + 1))


def stretch_all(ctx: ShapeGuardContext, size: Size, batched: Sequence[bool], xs: Sequence[Any]) -> tuple[Any, ...]:
    """Return the operands, each with the batch as its first axis."""
    return tuple([x if carries else stretch(ctx, size, x) for x, carries in zip(xs, batched)])


def one_more_axis(*ops: Op) -> None:
    """Declare ops for which a batch is one more axis in front: of elements, or of stacks of matrices."""
    BATCHERS.update({op: functools.partial(_on_stretched, op) for op in ops})


def _on_stretched(op, ctx, size, batched, *inputs, **params):
    outputs = apply_all(op, *stretch_all(ctx, size, batched, inputs), **params)
    return outputs if len(outputs) > 1 else outputs[0]


def merged(ctx: ShapeGuardContext, x: Any, sizes: tuple[Size, Size], flags: tuple[bool, bool]) -> Any:
    """Return an operand with a row for each example of a batch of batches, which has the flagged ones of both axes."""
    one = ctx.shape(x)[sum(flags) :]
    if not all(flags):
        axes = [i for i, flag in enumerate(flags) if flag]
        x = broadcast_in_dim(x, (*sizes, *one), (*axes, *range(2, 2 + len(one))))
    return reshape(x, (mul(*sizes), *one))


Comparison = Callable[[Any, Any], Any]
BELOW_MAX: Comparison = ew.lt
ABOVE_MIN: Comparison = ew.gt


def in_argmax_set(x: Any, extreme: Any, misses: Comparison) -> Any:
    """Return a mask of the elements that equal an extreme of their shape: its argmax or argmin set; all for NaN.

    `misses` is BELOW_MAX or ABOVE_MIN.
    """
    return ew.logical_not(misses(x, extreme))


def sharers(count: Any, extreme: Any) -> Any:
    """Return the number of elements that share the derivative of an extreme: their count, or NaN if it is NaN."""
    return ew.select(ew.isnan(extreme), float("nan"), count)
