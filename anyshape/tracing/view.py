"""Describe arrays as strided views of a buffer, over sizes that are known, symbolic or bound later."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import SpecError
from anyshape.graph.ir.builder import active, user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import Verdict, equal
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.shapes import strided_view
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.sizes.size_operands import scope_of
from anyshape.numpy.sizes.symdim import SymDim, max_dim, min_dim, symdim
from anyshape.support.true_types import has_type
from anyshape.tracing.named_dims import SymbolicShape, unproved

Pair = tuple[Any, Any]
_ANSWERS = {Verdict.YES: True, Verdict.NO: False, Verdict.UNKNOWN: None}


class View:
    """Immutable strided view: element (i, j, ...) is at `offset + i*strides[0] + j*strides[1] + ...` of a buffer.

    - `shape`, `strides` and `offset` are ints and symbolic sizes, counted in elements. Without `strides` the view is in
      C order.
    - `mask` has a pair (first, end) of valid indices for each axis, or is None. Indices outside of it are padding,
      which is not in the buffer.

    Movements return new views, as NumPy's movements of the same names do. They raise SpecError where what they need
    does not follow from the constraints of the sizes. They raise ShapeError where it is false for all sizes, and
    ViewError where no strides express the result.

    >>> from anyshape import View, symbolic_shape
    >>> n, m = symbolic_shape("n, m")
    >>> view = View((n, m)).permute((1, 0)).pad(((1, 0), (0, 0)))
    >>> view
    View(shape=(m + 1, n), strides=(1, m), offset=-1, mask=((1, m + 1), (0, n)))
    >>> view.linear_index((1, 2)), view.is_valid((0, 2)), view.bind(n=4, m=3).shape
    (2*m, False, (4, 4))
    >>> View((2*n, m)).reshape((n, 2, m)).strides
    (2*m, m, 1)
    """

    __slots__ = ("_scope", "_view")

    @short_traceback
    def __init__(self, shape: Iterable[Any], strides: Iterable[Any] | None = None, offset=0, mask=None) -> None:
        sizes = SymbolicShape(shape)
        steps = None if strides is None else tuple(strides)
        windows = None if mask is None else [tuple(pair) for pair in mask]
        self._scope = _scope([*sizes, *(steps or ()), offset, *itertools.chain(*windows or ())])
        self._view = strided_view.View.create(
            _sizes(sizes),
            None if steps is None else _sizes(steps),
            _size(offset),
            None if windows is None else _pairs(windows),
        )

    @classmethod
    def _of(cls, view: strided_view.View, scope: Scope) -> View:
        new = cls.__new__(cls)
        new._view, new._scope = view, scope
        return new

    # -- its parts

    @property
    def shape(self) -> SymbolicShape:
        """Sizes of the axes."""
        return SymbolicShape([self._shown(s) for s in self._view.shape])

    @property
    def strides(self) -> tuple[Any, ...]:
        """Steps of the axes, in elements."""
        return tuple([self._shown(s) for s in self._view.strides])

    @property
    def offset(self) -> Any:
        """Position of element (0, 0, ...) in the buffer."""
        return self._shown(self._view.offset)

    @property
    def mask(self) -> tuple[Pair, ...] | None:
        """Valid indices (first, end) of each axis, None where all are valid."""
        mask = self._view.mask
        return None if mask is None else tuple([(self._shown(a), self._shown(b)) for a, b in mask])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._view.ndim

    @property
    def size(self) -> Any:
        """Number of elements, padding included."""
        return self._shown(self._view.numel())

    @property
    def variables(self) -> tuple[SymDim, ...]:
        """Distinct unknown sizes, in order of appearance."""
        distinct = dict.fromkeys(v for size in self._sizes() for v in expr.variables(size))
        return tuple([SymDim(expr.from_atom(v), self._scope) for v in distinct])

    # -- queries

    def linear_index(self, indices: Sequence[Any]) -> Any:
        """Return the position of an element in the buffer; neither its range nor the mask is checked."""
        return self._with(indices)._linear_index(indices)

    def _linear_index(self, indices: Sequence[Any]):
        return self._shown(self._view.linear_index([_size(i) for i in indices]))

    def is_valid(self, indices: Sequence[Any]) -> bool | None:
        """Return whether an element is in the mask, and so in the buffer; None where that depends on sizes."""
        scope = self._with(indices)._scope
        return _ANSWERS[self._view.is_valid([_size(i) for i in indices], scope)]

    def is_c_contiguous(self) -> bool:
        """Return True where the elements provably fill the buffer from its start on, in C order without gaps."""
        starts = self._scope.decide(equal(self._view.offset, 0)) is Verdict.YES or self._view.is_empty(self._scope)
        return starts and self._view.is_c_contiguous(self._scope)

    def strides_opt(self) -> tuple[Any, ...] | None:
        """Return the strides if provably no element is padding, so that NumPy has such an array; None otherwise."""
        strides = self._view.strides_opt(self._scope)
        return None if strides is None else tuple([self._shown(s) for s in strides])

    @short_traceback
    def of(self, buffer: Any, fill: Any = 0) -> Any:
        """Return the elements of the view in a buffer, which is an array in C order; padding is `fill`.

        Its sizes are ints, or sizes of the traced function. `bind` gives values to sizes of a specification.

        >>> import numpy as np
        >>> from anyshape import View, symbolic_shape
        >>> view = View(symbolic_shape("n, 2")).permute((1, 0)).pad(((0, 0), (1, 0)))
        >>> view.bind(n=3).of(np.arange(6), fill=-1)
        array([[-1,  0,  2,  4],
               [-1,  1,  3,  5]])
        """
        flat = xp.ravel(buffer)
        shape, windows = self.shape, self.mask or [(0, size) for size in self.shape]
        self._check_range(flat.shape[0], windows)
        index, valid = self.offset, True
        for axis, (size, stride, (first, end)) in enumerate(zip(shape, self.strides, windows, strict=True)):
            position = xp.reshape(xp.arange(size), (size, *[1] * (self.ndim - axis - 1)))
            index, valid = index + position * stride, valid & (position >= first) & (position < end)
        padded = xp.concatenate([flat, xp.full(1, fill, flat.dtype)])
        return padded[xp.broadcast_to(xp.where(valid, index, flat.shape[0]), shape)]

    def _check_range(self, length, windows: Iterable[Pair]) -> None:
        """Raise SpecError where elements of these windows are not in a buffer of some length."""
        if active() is None and self.variables:
            raise SpecError(f"{self}.of(...)", "its sizes have no values", "write view.bind(n=4).of(buffer)")
        pairs = zip(self.strides, windows, strict=True)
        ends = [(first * step, (end - 1) * step) for step, (first, end) in pairs if first < end]
        low, high = (self.offset + sum(extreme(*pair) for pair in ends) for extreme in (min_dim, max_dim))
        if len(ends) == self.ndim and (low < 0 or high >= length):
            problem = f"it reads elements {low} to {high}, and the buffer has {length}"
            raise SpecError(f"{self}.of(...)", problem, "pass the buffer that it describes")

    # -- movements

    def reshape(self, shape: Sequence[Any]) -> View:
        """Return the same elements, in C order, in another shape; one size may be -1."""
        return self._move("reshape", shape, lambda view, scope: view.reshape(_sizes(shape), scope))

    def expand(self, shape: Sequence[Any]) -> View:
        """Return the view broadcast to a shape, as `numpy.broadcast_to` does."""
        return self._move("expand", shape, lambda view, scope: view.expand(_sizes(shape), scope))

    def permute(self, axes: Sequence[int]) -> View:
        """Return the view with its axes in another order."""
        return self._move("permute", (), lambda view, scope: view.permute([operator.index(a) for a in axes]))

    def shrink(self, bounds: Sequence[Pair]) -> View:
        """Return the elements from first up to, not including, end along each axis."""
        sizes = [x for pair in bounds for x in pair]
        return self._move("shrink", sizes, lambda view, scope: view.shrink(_pairs(bounds), scope))

    def pad(self, amounts: Sequence[Pair]) -> View:
        """Return the view with (before, after) elements of padding along each axis."""
        sizes = [x for pair in amounts for x in pair]
        return self._move("pad", sizes, lambda view, scope: view.pad(_pairs(amounts), scope))

    def flip(self, axes: Sequence[int]) -> View:
        """Return the view with these axes reversed, given by position or as a bool for each axis."""
        if axes and all(has_type(a, (bool, np.bool_)) for a in axes):
            if len(axes) != len(self.shape):
                raise SpecError(f"{self}.flip({axes})", f"there are {len(axes)} bools", "give one for each axis")
            axes = [i for i, is_reversed in enumerate(axes) if is_reversed]
        return self._move("flip", (), lambda view, scope: view.flip(axes))

    def _move(
        self, name: str, sizes: Iterable[Any], act: Callable[[strided_view.View, Scope], strided_view.View]
    ) -> View:
        """Return the result of a movement; raise SpecError where it assumed what does not follow."""
        base = self._with(sizes)._scope
        scope = Scope(conditions=base.conditions, root=base.root)
        known = len(scope.conditions)
        moved = act(self._view, scope)
        if len(scope.conditions) > known:
            raise unproved(f"{self}.{name}", scope.conditions[known], base)
        return View._of(moved.simplify(base), base)

    # -- values for its sizes

    def bind(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> View:
        """Return the view with ints in place of some unknown sizes, which are named by text or as sizes."""
        variables = self.variables
        bound = SymbolicShape(variables).bind(bindings, **names)
        values = {expr.variables(v.expr)[0]: _size(size) for v, size in zip(variables, bound, strict=True)}
        return View._of(self._view.at(values), _scope(bound) if any(map(_is_symbolic, bound)) else self._scope)

    def _sizes(self) -> list[Size]:
        """Return every size of the view."""
        view = self._view
        return [*view.shape, *view.strides, view.offset, *(x for pair in view.mask or () for x in pair)]

    # -- sizes and their scope

    def _with(self, sizes: Iterable[Any]) -> View:
        """Return the view in the common scope with these sizes."""
        symbolic = [x for x in sizes if isinstance(x, SymbolicSize)]
        mine = [SymbolicSize(s, self._scope) for s in self._sizes() if not has_type(s, int)]
        return View._of(self._view, scope_of(*mine, *symbolic)) if symbolic else self

    def _shown(self, size: Size):
        """Return a size as users see it."""
        return symdim(size, self._scope)

    def __eq__(self, other: object) -> bool:
        return self._view == other._view if isinstance(other, View) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._view)

    def __repr__(self) -> str:
        mask = "" if self.mask is None else f", mask={self.mask}"
        return f"View(shape={self.shape}, strides={self.strides}, offset={self.offset}{mask})"

    def __reduce__(self) -> Any:
        return View._of, (self._view, self._scope)


def _is_symbolic(size) -> bool:
    return isinstance(size, SymbolicSize)


def _size(x) -> Size:
    """Return an int or a symbolic size as a size; raise SpecError for anything else."""
    if isinstance(x, SymbolicSize):
        return x.expr
    if has_type(x, (bool, np.bool_)) or not has_type(x, (int, np.integer)):
        raise SpecError(f"a view with {x!r}", f"{x!r} is not a size", "give ints and symbolic sizes")
    return int(x)


def _sizes(values: Iterable[Any]) -> list[Size]:
    return [_size(x) for x in values]


def _pairs(values: Iterable[Pair]) -> list[tuple[Size, Size]]:
    return [(_size(a), _size(b)) for a, b in values]


def _scope(sizes: Iterable[Any]) -> Scope:
    """Return the common scope of sizes; an open one where all are ints."""
    symbolic = [x for x in sizes if isinstance(x, SymbolicSize)]
    return scope_of(*symbolic) if symbolic else Scope(origin=user_line(), free=True)
