"""`ShapeGuardContext`: the only window through which shape rules, AD rules and passes see shapes.

Whatever it answers is noted in the scope with who asked: what every rule relied on. And it is the one place where
refusals for want of an exact size are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from anyshape.errors import DTypeError, ShapeError, UnsupportedDynamicShapeError
from anyshape.graph.prover.constraints import Claim, Where, at_least, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, bind
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, InputAxis, Leaf, Size


class HasMeta(Protocol):
    """A value or a handle of one."""

    @property
    def meta(self) -> TensorMeta: ...


class ShapeGuardContext:
    """Answers questions about shapes for one primitive, from one scope.

    `rule` says who asks: a shape rule, "jvp", "transpose", "batching" or "pass". Each answer is noted in the scope.
    """

    __slots__ = ("metas", "minted", "primitive", "rule", "scope", "where")

    def __init__(
        self,
        scope: Scope,
        primitive: str,
        where: Where | None = None,
        metas: Sequence[TensorMeta] = (),
        rule: str = "shape",
    ) -> None:
        self.scope, self.primitive, self.where, self.metas, self.rule = scope, primitive, where, metas, rule
        self.minted: list[DimVar] = []

    # -- questions

    def rank(self, x: HasMeta) -> int:
        """The number of axes, always exact."""
        rank = len(x.meta.extents)
        self.scope.relied.extend((self.primitive, self.rule, "rank", "", None, rank))
        return rank

    def extent(self, x: HasMeta, axis: int, *, field: str = "shape") -> ShapeExtent:
        """Whatever is guaranteed of the axis."""
        extent = x.meta.extents[axis]
        self.scope.relied.extend((self.primitive, self.rule, "extent", field, axis, extent))
        return extent

    def extents(self, x: HasMeta, *, field: str = "shape") -> tuple[ShapeExtent, ...]:
        """Whatever is guaranteed of each axis."""
        extents = x.meta.extents
        self.scope.relied.extend((self.primitive, self.rule, "extent", field, 0, extents))
        return extents

    def exact(self, x: HasMeta, axis: int, *, field: str) -> Size:
        """The exact size of the axis, for a field that needs one."""
        extent = x.meta.extents[axis]
        if not isinstance(extent, Exact):
            raise self.unsupported(field, axis, extent)
        self.scope.relied.extend((self.primitive, self.rule, "exact", field, axis, extent))
        return extent.size

    def shape(self, x: HasMeta, *, field: str = "shape") -> tuple[Size, ...]:
        """The exact sizes of all axes."""
        sizes = x.meta.sizes
        if sizes is None:
            raise next(self.unsupported(field, i, e) for i, e in enumerate(x.meta.extents) if not isinstance(e, Exact))
        self.scope.relied.extend((self.primitive, self.rule, "exact", field, 0, x.meta.extents))
        return sizes

    def sizes(self, x: HasMeta, *, field: str = "shape") -> tuple[Size, ...] | None:
        """The sizes of all axes, if all are exact; None otherwise, for who can do without."""
        sizes = x.meta.sizes
        if sizes is not None:
            self.scope.relied.extend((self.primitive, self.rule, "exact", field, 0, x.meta.extents))
        return sizes

    def fixed(self, size: Size, *, field: str, axis: int | None = None) -> int:
        """The size as a Python int, for what needs one while tracing: a number of pieces, of steps of a loop.

        Under jit a size of arguments is fixed by a guard; one that depends on data has no value.
        """
        known = self.scope.normal(size)
        if not isinstance(known, int):
            if not self.scope.runtime.keys().isdisjoint(expr.variables(known)):
                raise self.unsupported(field, axis, Exact(known), "a fixed size")
            known = self.scope.value(known, self.where)
        self.scope.relied.extend((self.primitive, self.rule, "exact", field, axis, Exact(known)))
        return known

    def same(self, a: Size, b: Size) -> bool:
        """The sizes are proved equal."""
        if a is b:
            return True
        found = self.scope.same(a, b)
        if found:
            self.scope.relied.extend((self.primitive, self.rule, "same", "", None, equal(a, b)))
        return found

    def require(self, claim: Claim, why: str) -> None:
        """Hold now, fail now, or be asserted when the program is called."""
        self.scope.require(claim, self.primitive, why, self.metas, self.where)
        self.scope.relied.extend((self.primitive, self.rule, "require", "", None, claim))

    # -- refusals

    def fail(self, why: str) -> ShapeError:
        """The error for operands that cannot agree, to be raised by the caller."""
        return ShapeError(self.primitive, why, self.metas, self.where)

    def bad_dtype(self, why: str, advice: str) -> DTypeError:
        """The error for a dtype the primitive cannot take, to be raised by the caller."""
        return DTypeError(self.primitive, why, advice, self.where)

    def unsupported(
        self, field: str, axis: int | None, extent: ShapeExtent, needed: str = "an exact size"
    ) -> UnsupportedDynamicShapeError:
        """The error for a size of which a field needs more than is known, to be raised by the caller."""
        observed = "unknown" if isinstance(extent, Unknown) else "upper bound"
        if isinstance(extent, Exact):
            runtime = not self.scope.runtime.keys().isdisjoint(expr.variables(extent.size))
            observed = "run-time" if runtime else "symbolic"
        where = self.where
        return UnsupportedDynamicShapeError(self.primitive, field, axis, observed, str(extent), where, needed)

    # -- sizes of operands, and new ones

    def resolve(self, size: Size) -> ShapeExtent:
        """The extent that an op-local size means for the operands at hand; never stronger than they are."""
        alone = expr.as_atom(size)
        if isinstance(alone, InputAxis):
            found = self.metas[alone.operand].extents[alone.axis]
        else:
            found = bind(size, self._of_operand)
        if isinstance(found, Exact):
            found = Exact(self.scope.simplest(found.size))
        self.scope.relied.extend((self.primitive, self.rule, "resolve", "", None, found))
        return found

    def _of_operand(self, leaf: Leaf) -> ShapeExtent | None:
        return self.metas[leaf.operand].extents[leaf.axis] if isinstance(leaf, InputAxis) else None

    def bind(self, param: Any, *, field: str) -> Any:
        """A param (nested tuples of op-local sizes) as exact value-side sizes of the operands at hand."""
        if isinstance(param, tuple):
            return tuple([self.bind(p, field=field) for p in param])
        if not isinstance(param, DimExpr):
            return param
        extent = self.resolve(param)
        if not isinstance(extent, Exact):
            raise self.unsupported(field, None, extent)
        return extent.size

    def new_size(self, name: str, upper: Size | None = None) -> Size:
        """A size that depends on data: a variable of its own, at least 0 and at most `upper`."""
        variable = self.scope.runtime_size(name, upper, self.primitive, self.where)
        self.minted.append(variable)
        size = expr.from_atom(variable)
        self.scope.relied.extend((self.primitive, self.rule, "new_size", name, None, Exact(size)))
        return size

    def same_extents(self, a: HasMeta, b: HasMeta) -> bool:
        """Proved to have equal shapes. Sizes without a name are equal where metadata were passed on from one value."""
        x, y = a.meta.extents, b.meta.extents
        return x is y or (len(x) == len(y) and all(map(self._same_extent, x, y)))

    def _same_extent(self, a: ShapeExtent, b: ShapeExtent) -> bool:
        return isinstance(a, Exact) and isinstance(b, Exact) and self.same(a.size, b.size)

    def require_same_extents(self, a: HasMeta, b: HasMeta, why: str) -> None:
        """Equal shapes, for operands that a core op takes as they are: NumPy would stretch a size of 1."""
        if self.same_extents(a, b):
            return
        for axis, extent in enumerate((*a.meta.extents, *b.meta.extents)):
            if not isinstance(extent, Exact):
                raise self.unsupported("operands", axis % max(a.meta.rank, 1), extent)
        raise self.fail(why)

    def require_equal(self, a: Size, b: Size, why: str) -> None:
        """The two sizes agree, or the call fails."""
        if a is not b:
            self.require(equal(a, b), why)

    def require_at_least(self, a: Size, b: Size, why: str) -> None:
        """a >= b, or the call fails."""
        low = expr.bounds(a)[0]
        if low is None or not isinstance(b, int) or low < b:
            self.require(at_least(a, b), why)
