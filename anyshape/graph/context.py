"""`ShapeGuardContext`: the only window through which shape rules, AD rules and passes see shapes.

What a rule asked for as exact, and got, is recorded in the scope: what every rule relied on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from anyshape.errors import DTypeError, ShapeError, UnsupportedDynamicShapeError
from anyshape.graph import dims
from anyshape.graph.conditions import Claim, Where, at_least, equal
from anyshape.graph.dims import DimExpr, DimVar, InputAxis, Leaf, Size
from anyshape.graph.extents import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound
from anyshape.graph.scope import Scope
from anyshape.graph.substitution import substitute_leaves


class HasMeta(Protocol):
    """A value or a handle of one."""

    @property
    def meta(self) -> TensorMeta: ...


class ShapeGuardContext:
    """Answers questions about shapes for one primitive, from one scope."""

    __slots__ = ("metas", "minted", "primitive", "scope", "where")

    def __init__(self, scope: Scope, primitive: str, where: Where | None, metas: Sequence[TensorMeta] = ()) -> None:
        self.scope, self.primitive, self.where, self.metas = scope, primitive, where, metas
        self.minted: list[DimVar] = []

    def rank(self, x: HasMeta) -> int:
        """The number of axes, always exact."""
        return x.meta.rank

    def extent(self, x: HasMeta, axis: int) -> ShapeExtent:
        """Whatever is guaranteed of the axis."""
        return x.meta.extents[axis]

    def exact(self, x: HasMeta, axis: int, *, field: str) -> Size:
        """The exact size of the axis, for a field that needs one."""
        extent = x.meta.extents[axis]
        if not isinstance(extent, Exact):
            raise UnsupportedDynamicShapeError(self.primitive, field, axis, str(extent), self.where)
        self.scope.rely(self.primitive, field, axis, (extent,))
        return extent.size

    def shape(self, x: HasMeta, *, field: str = "shape") -> tuple[Size, ...]:
        """The exact sizes of all axes."""
        extents = x.meta.extents
        sizes = [e.size for e in extents if isinstance(e, Exact)]
        if len(sizes) < len(extents):
            return tuple([self.exact(x, axis, field=field) for axis in range(len(extents))])
        self.scope.rely(self.primitive, field, 0, extents)
        return tuple(sizes)

    def require(self, claim: Claim, why: str) -> None:
        """Hold now, fail now, or be asserted when the program is called."""
        self.scope.require(claim, self.primitive, why, self.metas, self.where)

    def fail(self, why: str) -> ShapeError:
        """The error for operands that cannot agree, to be raised by the caller."""
        return ShapeError(self.primitive, why, self.metas, self.where)

    def bad_dtype(self, why: str, advice: str) -> DTypeError:
        """The error for a dtype the primitive cannot take, to be raised by the caller."""
        return DTypeError(self.primitive, why, advice, self.where)

    def same(self, a: Size, b: Size) -> bool:
        """The sizes are proved equal."""
        return self.scope.same(a, b)

    def resolve(self, size: Size) -> ShapeExtent:
        """The extent that an op-local size means for the operands at hand; never stronger than they are."""
        alone = dims.as_atom(size)
        if isinstance(alone, InputAxis):
            extent = self.metas[alone.operand].extents[alone.axis]
            return Exact(self.scope.simplest(extent.size)) if isinstance(extent, Exact) else extent
        weakest: list[ShapeExtent] = []

        def read(leaf: Leaf) -> Size | None:
            if isinstance(leaf, InputAxis):
                extent = self.metas[leaf.operand].extents[leaf.axis]
                if isinstance(extent, Exact):
                    return extent.size
                weakest.append(extent)
            return None

        bound = substitute_leaves(size, read)
        if weakest:
            return Unknown()
        return Exact(self.scope.simplest(bound))

    def bind(self, param: Any, *, field: str) -> Any:
        """A param (nested tuples of op-local sizes) as exact value-side sizes of the operands at hand."""
        if isinstance(param, tuple):
            return tuple([self.bind(p, field=field) for p in param])
        if not isinstance(param, DimExpr):
            return param
        extent = self.resolve(param)
        if not isinstance(extent, Exact):
            raise UnsupportedDynamicShapeError(self.primitive, field, 0, str(extent), self.where)
        return extent.size

    def new_size(self, name: str, upper: Size | None = None) -> Size:
        """A size that depends on data: a variable of its own, at least 0 and at most `upper`."""
        variable = self.scope.runtime_size(name, upper, self.primitive, self.where)
        self.minted.append(variable)
        return dims.from_atom(variable)

    def same_extents(self, a: TensorMeta, b: TensorMeta) -> bool:
        """Equal rank, and axis by axis proved equal or both of the same unnamed kind."""
        return a.extents is b.extents or (
            a.rank == b.rank and all(self._same_extent(e, f) for e, f in zip(a.extents, b.extents, strict=True))
        )

    def _same_extent(self, a: ShapeExtent, b: ShapeExtent) -> bool:
        if isinstance(a, Exact) and isinstance(b, Exact):
            return self.scope.same(a.size, b.size)
        return not isinstance(a, (Exact, UpperBound)) or not isinstance(b, (Exact, UpperBound)) or a == b

    def require_equal(self, a: Size, b: Size, why: str) -> None:
        """The two sizes agree, or the call fails."""
        if a is not b:
            self.require(equal(a, b), why)

    def require_at_least(self, a: Size, b: Size, why: str) -> None:
        """a >= b, or the call fails."""
        low = dims.bounds(a)[0]
        if low is None or not isinstance(b, int) or low < b:
            self.require(at_least(a, b), why)
