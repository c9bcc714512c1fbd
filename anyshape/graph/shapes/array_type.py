"""Array types: the guarantee for each axis of a value (its extent), and `TensorMeta`, dtype and extents together.

Window through which shape rules, derivative rules and passes see shapes: `ShapeGuardContext`.

The scope records each answer with the rule that relies on it. Errors for a missing exact size are made here alone.

Shape arithmetic shared by the ops: broadcasting, reshaping, slicing and dilation. No ops and no arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import NoneType
from typing import Any, Protocol, TypeAlias

import numpy as np

from anyshape.errors import DTypeError, ShapeError, UnsupportedDynamicShapeError
from anyshape.graph.prover.constraints import Claim, OperandAxes, SourceLine, Verdict, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, InputAxis, Leaf, Size, leaves_of
from anyshape.graph.sizes.polynomials import Monomial
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Exact:
    """Axis has exactly this size in every run."""

    size: Size

    def __repr__(self) -> str:
        return str(self.size)


@dataclass(frozen=True, slots=True)
class UpperBound:
    """Axis has at most this size in every run."""

    size: Size

    def __repr__(self) -> str:
        return f"<={self.size}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Axis may have any size."""

    def __repr__(self) -> str:
        return "?"


ShapeExtent: TypeAlias = Exact | UpperBound | Unknown


def as_extent(size: Size | ShapeExtent) -> ShapeExtent:
    """Return the extent of a size: `Exact`. Extents stay."""
    return size if isinstance(size, (Exact, UpperBound, Unknown)) else Exact(size)


def exact_size(extent: ShapeExtent) -> Size | None:
    """Return the size that the extent guarantees, or None."""
    return extent.size if isinstance(extent, Exact) else None


def bind(size: Size, extent_of: Callable[[Leaf], ShapeExtent | None]) -> ShapeExtent:
    """Return the extent of a size whose leaves have extents of their own (None: a leaf stands for itself).

    The result is never stronger than the extents of the leaves. Upper bounds of leaves give an upper bound where the
    size grows with them, and `Unknown` elsewhere.
    """
    extents = {leaf: extent_of(leaf) for leaf in leaves_of(size)}
    if all(isinstance(e, (Exact, NoneType)) for e in extents.values()):
        return Exact(substitute_leaves(size, lambda leaf: exact_size(extents[leaf] or Unknown())))
    high = _LeafBounds(extents).of(size)[1]
    return Unknown() if high is None else UpperBound(high)


def project(extent: ShapeExtent, extent_of: Callable[[Leaf], ShapeExtent | None]) -> ShapeExtent:
    """Return the strongest extent without the leaves for which `extent_of` gives an extent."""
    if isinstance(extent, Unknown):
        return extent
    bound = bind(extent.size, extent_of)
    return UpperBound(bound.size) if isinstance(extent, UpperBound) and isinstance(bound, Exact) else bound


Bounds: TypeAlias = tuple[Size | None, Size | None]  # lower and upper; None where there is none


class _LeafBounds:
    """Symbolic lower and upper bounds of expressions, from the extents of their leaves."""

    def __init__(self, extents: Mapping[Leaf, ShapeExtent | None]) -> None:
        self.extents = extents

    def of(self, size: Size) -> Bounds:
        """Return bounds of a polynomial, added up over its terms."""
        low: Size | None = 0
        high: Size | None = 0
        for monomial, coefficient in expr.terms_of(size).items():
            below, above = self._monomial(monomial)
            if coefficient < 0:
                below, above = above, below
            low = None if low is None or below is None else expr.add(low, expr.mul(coefficient, below))
            high = None if high is None or above is None else expr.add(high, expr.mul(coefficient, above))
        return low, high

    def _monomial(self, monomial: Monomial) -> Bounds:
        if len(monomial) == 1 and monomial[0][1] == 1:
            return self._atom(monomial[0][0])
        low: Size = 1
        high: Size | None = 1
        for atom, power in monomial:
            if (least := atom.interval[0]) is None or least < 0:
                return None, None
            below, above = self._atom(atom)
            if below is None or not expr.is_nonnegative(below):
                below = least
            low = expr.mul(low, expr.power(below, power))
            high = None if high is None or above is None else expr.mul(high, expr.power(above, power))
        return low, high

    def _atom(self, atom: Atom) -> Bounds:
        if isinstance(atom, Call):
            return self._call(atom)
        if (extent := self.extents[atom]) is None:
            return expr.from_atom(atom), expr.from_atom(atom)
        if isinstance(extent, Exact):
            return extent.size, extent.size
        return atom.interval[0], extent.size if isinstance(extent, UpperBound) else atom.interval[1]

    def _call(self, call: Call) -> Bounds:
        lows, highs = zip(*[self.of(argument) for argument in call.args])
        if call.function == "max":
            return _of_known(expr.maximum, lows), _of_all(expr.maximum, highs)
        if call.function == "min":
            return _of_all(expr.minimum, lows), _of_known(expr.minimum, highs)
        if call.function == "broadcast":
            return call.interval[0], _of_all(expr.maximum, highs)
        return _quotient_bounds(call, lows[0], highs[0])


def _quotient_bounds(call: Call, low: Size | None, high: Size | None) -> Bounds:
    """Return bounds of a quotient or remainder whose dividend has these bounds."""
    if not isinstance(divisor := call.args[1], int) or divisor < 1:
        return call.interval
    if call.function == "mod":
        return 0, divisor - 1
    return None if low is None else expr.floordiv(low, divisor), None if high is None else expr.floordiv(high, divisor)


def _of_known(extremum: Callable[..., Size], sizes: Sequence[Size | None]) -> Size | None:
    """Return the extremum of the bounds that exist."""
    known = [size for size in sizes if size is not None]
    return extremum(*known) if known else None


def _of_all(extremum: Callable[..., Size], sizes: Sequence[Size | None]) -> Size | None:
    """Return the extremum of the bounds, or None where one is missing."""
    known = [size for size in sizes if size is not None]
    return extremum(*known) if len(known) == len(sizes) else None


_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}


def short_dtype(dtype: np.dtype) -> str:
    """Return the name of a dtype as programs print it: f64, i32, c128, bool."""
    name = dtype.name
    stem = name.rstrip("0123456789")
    return _SHORT[stem] + name[len(stem) :] if stem in _SHORT else name


@dataclass(frozen=True)
class TensorMeta:
    """Array type of a value: dtype and extents, derived by the shape rule of its op."""

    dtype: np.dtype
    extents: tuple[ShapeExtent, ...]

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self.extents)

    @property
    def meta(self) -> TensorMeta:
        """Array type itself, so that a context takes array types like values."""
        return self

    @cached_property
    def sizes(self) -> tuple[Size, ...] | None:
        """Sizes of all axes, or None unless every extent is exact."""
        exact = tuple([e.size for e in self.extents if isinstance(e, Exact)])
        return exact if len(exact) == len(self.extents) else None

    def variable_axes(self) -> list[tuple[DimVar, int]]:
        """Return (variable, axis) for each axis whose size is a single dimension variable."""
        atoms = [expr.as_atom(e.size) if isinstance(e, Exact) else None for e in self.extents]
        return [(atom, axis) for axis, atom in enumerate(atoms) if isinstance(atom, DimVar)]

    def __str__(self) -> str:
        return f"{short_dtype(self.dtype)}[{', '.join(map(str, self.extents))}]"


def tensor(dtype: np.dtype, sizes: Sequence[Size | ShapeExtent]) -> TensorMeta:
    """Return the array type of a dtype and sizes or extents."""
    return TensorMeta(dtype, tuple([as_extent(s) for s in sizes]))


class HasMeta(Protocol):
    """Value, a handle of one, or an array type."""

    @property
    def meta(self) -> TensorMeta: ...


@dataclass(eq=False, slots=True)
class ShapeGuardContext:
    """Answers queries about shapes for one primitive, from one scope, and records each answer there.

    `rule` is the querying rule: a shape rule ("shape"), "jvp", "transpose", "batching" or "pass".
    """

    scope: Scope
    primitive: str
    where: SourceLine | None = None
    metas: Sequence[TensorMeta] = ()
    rule: str = "shape"
    new_sizes: list[DimVar] = field(default_factory=list)

    # -- queries

    def rank(self, x: HasMeta) -> int:
        """Return the number of axes, which is always exact."""
        rank = len(x.meta.extents)
        self.scope.reliance_log.extend((self.primitive, self.rule, "rank", "", None, rank, self.where))
        return rank

    def extent(self, x: HasMeta, axis: int, *, field: str = "shape") -> ShapeExtent:
        """Return the extent of an axis."""
        extent = x.meta.extents[axis]
        self.scope.reliance_log.extend((self.primitive, self.rule, "extent", field, axis, extent, self.where))
        return extent

    def extents(self, x: HasMeta, *, field: str = "shape") -> tuple[ShapeExtent, ...]:
        """Return the extents of all axes."""
        extents = x.meta.extents
        self.scope.reliance_log.extend((self.primitive, self.rule, "extent", field, 0, extents, self.where))
        return extents

    def exact(self, x: HasMeta, axis: int, *, field: str) -> Size:
        """Return the exact size of an axis; raise UnsupportedDynamicShapeError where it has none."""
        if not isinstance(extent := x.meta.extents[axis], Exact):
            raise self.unsupported(field, axis, extent)
        self.scope.reliance_log.extend((self.primitive, self.rule, "exact", field, axis, extent, self.where))
        return extent.size

    def shape(self, x: HasMeta, *, field: str = "shape") -> tuple[Size, ...]:
        """Return the exact sizes of all axes; raise UnsupportedDynamicShapeError where one has none."""
        meta = x.meta
        if (sizes := meta.sizes) is None:
            raise next(self.unsupported(field, i, e) for i, e in enumerate(meta.extents) if not isinstance(e, Exact))
        self.scope.reliance_log.extend((self.primitive, self.rule, "exact", field, 0, meta.extents, self.where))
        return sizes

    def sizes(self, x: HasMeta, *, field: str = "shape") -> tuple[Size, ...] | None:
        """Return the exact sizes of all axes, or None where one has none."""
        meta = x.meta
        if (sizes := meta.sizes) is not None:
            self.scope.reliance_log.extend((self.primitive, self.rule, "exact", field, 0, meta.extents, self.where))
        return sizes

    def fixed(self, size: Size, *, field: str, axis: int | None = None) -> int:
        """Return the size as a Python int, where tracing needs a number: of pieces, of iterations.

        Under jit a guard fixes a size of the arguments. A run-time size raises UnsupportedDynamicShapeError.
        """
        value = self.scope.normal(size)
        if not isinstance(value, int):
            if not self.scope.runtime.keys().isdisjoint(expr.variables(value)):
                raise self.unsupported(field, axis, Exact(value), "a fixed size")
            value = self.scope.value(value, self.where)
        self.scope.reliance_log.extend((self.primitive, self.rule, "exact", field, axis, Exact(value), self.where))
        return value

    def same(self, a: Size, b: Size) -> bool:
        """Return True where the sizes are proved equal."""
        if a is b:
            return True
        if proved := self.scope.same(a, b):
            self.scope.reliance_log.extend((self.primitive, self.rule, "same", "", None, equal(a, b), self.where))
        return proved

    def stretches(self, a: Size, b: Size) -> bool:
        """Return True where the sizes are proved to be equal, or the first one to be 1."""
        if a is b:
            return True
        claim = Claim("stretches", a, b)
        proved = self.scope.proves_at_once(claim) or self.scope.same(a, b)
        if proved:
            self.scope.reliance_log.extend((self.primitive, self.rule, "require", "", None, claim, self.where))
        return proved

    def require(self, claim: Claim, why: str, axes: OperandAxes | None = None) -> None:
        """Prove the claim, raise where it is disproved, or make it an assertion of the program."""
        self.scope.require(claim, self.primitive, why, self.metas, self.where, axes)
        self.scope.reliance_log.extend((self.primitive, self.rule, "require", "", None, claim, self.where))

    # -- errors, for the caller to raise

    def fail(self, why: str, advice: str = "") -> ShapeError:
        """Return the error for operands that do not fit each other."""
        return ShapeError(self.primitive, why, self.metas, self.where, advice)

    def bad_dtype(self, why: str, advice: str) -> DTypeError:
        """Return the error for a dtype that the primitive does not accept."""
        return DTypeError(self.primitive, why, advice, self.where)

    def unsupported(
        self, field: str, axis: int | None, extent: ShapeExtent, needed: str = "an exact size"
    ) -> UnsupportedDynamicShapeError:
        """Return the error for a field that needs a stronger guarantee than the extent."""
        observed = "unknown" if isinstance(extent, Unknown) else "upper bound"
        if isinstance(extent, Exact):
            runtime = not self.scope.runtime.keys().isdisjoint(expr.variables(extent.size))
            observed = "run-time" if runtime else "symbolic"
        where = self.where
        return UnsupportedDynamicShapeError(self.primitive, field, axis, observed, str(extent), where, needed)

    # -- op-local sizes, and new sizes

    def resolve(self, size: Size, simplest: bool = True) -> ShapeExtent:
        """Return the extent of an op-local size for the current operands; never stronger than their extents.

        It is the `simplest` of equal sizes, or as the operands have it.
        """
        if isinstance(atom := expr.as_atom(size), InputAxis):
            extent = self.metas[atom.operand].extents[atom.axis]
        else:
            extent = bind(size, self._extent_of_leaf)
        if simplest and isinstance(extent, Exact):
            extent = Exact(self.scope.simplest(extent.size))
        self.scope.reliance_log.extend((self.primitive, self.rule, "resolve", "", None, extent, self.where))
        return extent

    def _extent_of_leaf(self, leaf: Leaf) -> ShapeExtent | None:
        return self.metas[leaf.operand].extents[leaf.axis] if isinstance(leaf, InputAxis) else None

    def bind(self, param: Any, *, field: str) -> Any:
        """Return a parameter (nested tuples of op-local sizes) as exact value-side sizes of the current operands."""
        if isinstance(param, tuple):
            return tuple([self.bind(p, field=field) for p in param])
        if not isinstance(param, DimExpr):
            return param
        if not isinstance(extent := self.resolve(param), Exact):
            raise self.unsupported(field, None, extent)
        return extent.size

    def new_size(self, name: str, upper: Size | None = None) -> Size:
        """Return a new run-time size: a variable of its own, at least 0 and at most `upper`."""
        variable = self.scope.runtime_size(name, upper, self.primitive, self.where)
        self.new_sizes.append(variable)
        size = expr.from_atom(variable)
        self.scope.reliance_log.extend((self.primitive, self.rule, "new_size", name, None, Exact(size), self.where))
        return size

    def same_extents(self, a: HasMeta, b: HasMeta) -> bool:
        """Return True where the shapes are proved equal.

        Extents without an exact size are equal only where both array types share one extents tuple.
        """
        x, y = a.meta.extents, b.meta.extents
        return x is y or (len(x) == len(y) and all(map(self._equal_exact, x, y)))

    def _equal_exact(self, a: ShapeExtent, b: ShapeExtent) -> bool:
        return isinstance(a, Exact) and isinstance(b, Exact) and self.same(a.size, b.size)

    def require_same_extents(self, a: HasMeta, b: HasMeta, why: str) -> None:
        """Prove equal shapes for operands of a core op, or raise: NumPy would stretch a size of 1."""
        if self.same_extents(a, b):
            return
        for axis, extent in enumerate((*a.meta.extents, *b.meta.extents)):
            if not isinstance(extent, Exact):
                raise self.unsupported("operands", axis % max(a.meta.rank, 1), extent)
        x, y = a.meta.sizes, b.meta.sizes
        if x is None or y is None or len(x) != len(y) or not all(map(self.scope.must_be_same, x, y)):
            raise self.fail(why)
        self.same_extents(a, b)  # which records that the program relies on it

    def require_equal(self, a: Size, b: Size, why: str, axes: OperandAxes | None = None) -> None:
        """Require `a == b`."""
        if a is not b:
            self.require(equal(a, b), why, axes)

    def require_at_least(self, a: Size, b: Size, why: str) -> None:
        """Require `a >= b`."""
        if (low := expr.bounds(a)[0]) is None or not isinstance(b, int) or low < b:
            self.require(at_least(a, b), why)


Sizes = tuple[Size, ...]
Extremum = Callable[..., Size]  # `expr.minimum` or `expr.maximum`


def broadcast_size(ctx: ShapeGuardContext, a: Size, b: Size, axes: OperandAxes | None = None) -> Size:
    """Return the size that two axes broadcast to; assert that they broadcast unless it is proved.

    `axes` are the axes of the operands that have the sizes, for the message of that assertion.
    """
    if a is b or ctx.same(a, b) or b == 1:
        return a
    if a == 1:
        return b
    claim = Claim("broadcasts", a, b)
    if not ctx.scope.proves(claim):
        ctx.require(claim, f"sizes {a} and {b} differ and neither is 1", axes)
    return ctx.scope.normal(expr.broadcast(a, b))


def broadcast_sizes(ctx: ShapeGuardContext, shapes: Sequence[Sizes]) -> Sizes:
    """Return the shape that shapes broadcast to, aligned at the last axis as in NumPy."""
    rank = max((len(s) for s in shapes), default=0)
    result: list[Size] = [1] * rank
    owners = [(0, 0)] * rank  # operand and axis of each size of the result
    for operand, shape in enumerate(shapes):
        offset = rank - len(shape)
        for axis, size in enumerate(shape):
            if (before := result[offset + axis]) is not size:
                axes = OperandAxes(len(shapes), owners[offset + axis], (operand, axis))
                result[offset + axis] = broadcast_size(ctx, before, size, axes)
            if isinstance(before, int) and before == 1:
                owners[offset + axis] = operand, axis
    return tuple(result)


def numel(sizes: Sequence[Size]) -> Size:
    """Return the number of elements."""
    return math.prod(sizes, start=1)


def infer_reshape(ctx: ShapeGuardContext, old: Sizes, new: Sizes) -> Sizes:
    """Return the sizes of a reshape, with one -1 resolved; require equal numbers of elements."""
    unknown = [i for i, s in enumerate(new) if isinstance(s, int) and s == -1]
    if len(unknown) > 1:
        raise ctx.fail("only one size of a reshape can be -1")
    if unknown:
        (axis,) = unknown
        return _resolve_minus_one(ctx, numel(old), new[:axis], new[axis + 1 :])
    for size in new:
        ctx.require_at_least(size, 0, "a size cannot be negative")
    total = numel(old)
    if not ctx.same(total, wanted := numel(new)):
        problem = f"cannot reshape {shape_text(old)} to {shape_text(new)}"
        if isinstance(total, int) and isinstance(wanted, int):
            elements = "1 element" if total == 1 else f"{total} elements"
            raise ctx.fail(problem, f"pass a shape of {elements}: {shape_text(new)} has {wanted}")
        ctx.require(equal(total, wanted), problem)
    return new


def _resolve_minus_one(ctx: ShapeGuardContext, total: Size, before: Sizes, after: Sizes) -> Sizes:
    """Return the sizes `before`, `total` divided by all other sizes, and the sizes `after`."""
    others = numel([*before, *after])
    ctx.require(at_least(others, 1), "a reshape with -1 needs the other sizes to be at least 1")
    quotient = expr.divide_exactly(total, others)
    if quotient is None:
        remainder = ctx.scope.normal(expr.mod(total, others))
        detail = f": remainder {remainder}" if isinstance(remainder, int) and remainder else ""
        why = f"{total} elements do not divide into rows of {others}{detail}"
        ctx.require(equal(expr.mod(total, others), 0), why)
        quotient = expr.floordiv(total, others)
    return (*before, ctx.scope.normal(quotient), *after)


def shape_text(sizes: Sequence[object]) -> str:
    """Return sizes as Python prints a tuple: `(n, 3)`, `(n,)`."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def free_axes(rank: int, *groups: Sequence[int]) -> tuple[int, ...]:
    """Return the axes that are in none of the groups."""
    used = {a for group in groups for a in group}
    return tuple([a for a in range(rank) if a not in used])


def strided_size(size: Size, step: Size) -> Size:
    """Return the number of elements that a positive step visits along an axis."""
    return size if step == 1 else expr.ceildiv(size, step)


def dilated_size(size: Size, interior: Size) -> Size:
    """Return the length of an axis with `interior` elements put between neighbours."""
    return size if interior == 0 else size + expr.maximum(size - 1, 0) * interior


def slice_bounds(ctx: ShapeGuardContext, part: slice, size: Size) -> tuple[Size, Size, Size]:
    """Return (start, length, step) of a Python slice of an axis; require a step other than 0."""
    step: Size = 1 if part.step is None else part.step
    ctx.require(Claim("!=", step, 0), "a slice step cannot be zero")
    forward = _branches_to_nonnegative(ctx, step, "step")
    low, high = (0, size) if forward else (-1, size - 1)
    first, last = (part.start, part.stop) if forward else (part.stop, part.start)
    lowest = [low] if first is None else _bound(ctx, first, size, low, forward, upper=False)
    highest = [high] if last is None else _bound(ctx, last, size, high, forward, upper=True)
    span = expr.minimum(*[b - a for a in lowest for b in highest])
    count = strided_size(expr.maximum(span, 0), step if forward else -step)
    if forward:
        return _clamp(expr.maximum, lowest, expr.minimum, high), count, step
    return _clamp(expr.minimum, highest, expr.maximum, low), count, step


def _clamp(extremum: Extremum, candidates: Sequence[Size], clamp: Extremum, limit: Size) -> Size:
    """Return the extremum of the candidates, clamped to a limit unless all of them are proved within it."""
    within = all(clamp(candidate, limit) is candidate for candidate in candidates)
    return extremum(*candidates) if within else clamp(extremum(*candidates), limit)


def _bound(ctx: ShapeGuardContext, bound: Size, size: Size, limit: Size, forward: bool, *, upper: bool) -> list[Size]:
    """Return sizes whose minimum (`upper`) or maximum bounds the slice.

    A limit that matters only for empty slices is left out: lengths stay simple.
    """
    gap = bound - size
    near = isinstance(gap, int) and (-2 if forward else -1) <= gap < 0  # clamping a negative bound changes nothing
    counted = None if near else counted_from_start(ctx, bound, size)
    if counted is not None:
        return [counted, limit]
    if near or _branches_to_nonnegative(ctx, bound, "bound"):
        return [bound, limit] if upper or near else [bound]
    return [bound + size] if upper else [bound + size, limit]


def counted_from_start(ctx: ShapeGuardContext, position: Size, size: Size) -> Size | None:
    """Return a position that counts from the end of an axis where it is negative, which only the run knows.

    None: it is known before, or Python decides on it in this call.
    """
    claim = at_least(position, 0)
    if not ctx.scope.is_of_run(claim) or ctx.scope.decide(claim) is not Verdict.UNKNOWN:
        return None
    return position + size * claim.negated().indicator()


def _branches_to_nonnegative(ctx: ShapeGuardContext, size: Size, role: str) -> bool:
    """Return True if the size is at least 0; branch on it where bounds do not settle it."""
    low, high = expr.bounds(size)
    if low is not None and low >= 0:
        return True
    if high is not None and high < 0:
        return False
    return ctx.scope.branch_on(at_least(size, 0, f"slice {role} {size} >= 0"), ctx.where)
