"""Inverses of differences and sums of eigenvalues or singular values, for the derivatives of their vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.autodiff.equal_values import pole
from anyshape.autodiff.rules._matrices import positions
from anyshape.graph.sizes import expr
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops.creation import iota, size_value
from anyshape.ops.reduction import reduce_or, reduce_sum


class Inverses:
    """Inverses of differences and sums of values that differ, for the derivatives of vectors."""

    def __init__(self, ctx: Any, values: Any) -> None:
        self._values, self._rank = values, ctx.rank(values)
        self._shape = (*ctx.shape(values), ctx.shape(values)[-1])
        self._is_diagonal = ew.eq(*positions(self._shape))

    def differences(self) -> Any:
        """Return 1 / (x_j - x_i) for each pair of values, and 0 on the diagonal."""
        return self._off_diagonal(ew.sub)

    def sums(self) -> Any:
        """Return 1 / (x_j + x_i) for each pair of values, and 0 on the diagonal."""
        return self._off_diagonal(ew.add)

    def inverses(self) -> Any:
        """Return 1 / x."""
        return self._inverse(lambda x: x)

    def _off_diagonal(self, of: Callable[..., Any]) -> Any:
        def form(x: Any) -> Any:
            rows, columns = paired(x, self._shape)
            result = of(columns, rows)
            return ew.select(self._is_diagonal, ew.lift(1, result), result)

        inverse = self._inverse(form)
        return ew.select(self._is_diagonal, ew.lift(0, inverse), inverse)

    def _inverse(self, form: Callable[[Any], Any]) -> Any:
        return ew.reciprocal(form(self._values))


class Scaled(Inverses):
    """Inverses times epsilon, for values that move with it by their rates; NaN for pairs that are `lost`."""

    def __init__(self, ctx: Any, values: Any, rates: Any, epsilon: Any, lost: Any) -> None:
        super().__init__(ctx, values)
        self._rates, self._epsilon, self._lost = rates, epsilon, lost

    def differences(self) -> Any:
        result = super().differences()
        return result if self._lost is None else ew.select(self._lost, ew.lift(np.nan, result), result)

    def _inverse(self, form: Callable[[Any], Any]) -> Any:
        return pole(form(self._values), form(self._rates), self._epsilon)


class Near:
    """Values that are equal up to rounding, as derivatives of an order see them.

    Condition numbers of the values multiply what rounding may do to them.
    """

    def __init__(
        self, ctx: Any, values: Any, order: int, conditions: Any = None, *, ends_at_zero: bool = False
    ) -> None:
        self._ctx, self._values, self._conditions = ctx, values, conditions
        self._shape = (*ctx.shape(values), ctx.shape(values)[-1])
        rounding = float(np.finfo(values.dtype).eps)
        sizes = errors = ew.absolute(values)
        if conditions is not None:
            errors = ew.mul(sizes, conditions)
        rank = ctx.rank(values)
        total = mv.broadcast_in_dim(reduce_sum(errors, (rank - 1,)), ctx.shape(values), tuple(range(rank - 1)))
        self._noise = noise = ew.mul(total, ew.lift(16 * rounding, total))
        self._is_zero = ew.logical_and(ew.le(sizes, noise), ew.eq(noise, noise)) if ends_at_zero else None
        rows, columns = self._paired(values)
        smaller = ew.minimum(ew.absolute(rows), ew.absolute(columns))
        least = ew.mul(smaller, ew.lift(rounding ** (1 / (order + 1)), smaller))
        self._near = ew.le(ew.absolute(ew.sub(columns, rows)), ew.maximum(self._paired(noise)[0], least))
        self._above, self._left = positions(self._shape)
        self._is_diagonal = ew.eq(self._above, self._left)
        self._equal = ew.logical_and(self._near, ew.logical_not(self._is_diagonal))

    def any(self) -> Any:
        """Return whether any of the values need limits."""
        flags, lost = self._equal, self.lost()
        if lost is not None:
            flags = ew.logical_or(flags, lost)
        if self._is_zero is not None:
            flags = ew.logical_or(flags, self._paired(self._is_zero)[0])
        return reduce_or(flags, tuple(range(len(self._shape))))

    def rates(self) -> Any:
        """Return how fast values move apart: equal ones differ, and zeros of singular values have positive ones."""
        before, after = (self._count(order(self._left, self._above)) for order in (ew.lt, ew.gt))
        middle = ew.mul(ew.sub(before, after), ew.lift(0.5, before))
        return middle if self._is_zero is None else ew.select(self._is_zero, ew.add(before, ew.lift(1, before)), middle)

    def means(self) -> Any:
        """Return the mean of equal values in place of each, and 0 where they have both signs."""
        values = self._paired(self._values)[1]
        chosen = ew.select(self._near, values, ew.lift(0, values))
        total, axis = reduce_sum(chosen, (self._ctx.rank(self._values),)), self._ctx.rank(self._values)
        means = ew.div(total, self._count(ew.eq(self._left, self._left)))
        if self._is_zero is not None:
            return ew.select(self._is_zero, ew.lift(0, means), means)
        if means.dtype.kind == "c":
            return means
        sizes = reduce_sum(ew.absolute(chosen), (axis,))
        return ew.select(ew.lt(ew.absolute(total), sizes), ew.lift(0, means), means)

    def turn(self, dtype: Any, apart: bool = False) -> Any:
        """Return rotations that mix the vectors of equal values; vectors of 0 turn otherwise if `apart`."""
        row, column = (ew.convert(k, self._noise.dtype) for k in positions(self._shape))
        first, second = ew.minimum(row, column), ew.maximum(row, column)
        angle = ew.sin(ew.add(ew.mul(first, ew.lift(1.7, row)), ew.mul(second, ew.lift(0.9, row))))
        half = ew.select(ew.lt(row, column), angle, ew.neg(angle))
        unit = ew.select(self._is_diagonal, ew.lift(1, row), ew.lift(0, row))
        if apart:
            both_zero = ew.logical_and(*self._paired(self._is_zero))
            half = ew.select(both_zero, ew.mul(half, ew.lift(0.3, half)), half)
        half = ew.select(self._equal, half, ew.lift(0, half))
        rotation = la.solve(ew.add(unit, half), ew.sub(unit, half))
        if apart:
            rotation = ew.select(both_zero, ew.neg(rotation), rotation)
        return rotation if rotation.dtype == dtype else ew.convert(rotation, dtype)

    def leaves(self) -> Any:
        """Return 1 for the last singular value if it is 0, and 0 for others: its vectors may leave the span."""
        rank = self._ctx.rank(self._values)
        count = self._ctx.shape(self._values)[-1]
        last = mv.broadcast_in_dim(size_value(expr.sub(count, 1)), self._ctx.shape(self._values), ())
        position = mv.broadcast_in_dim(iota(count), self._ctx.shape(self._values), (rank - 1,))
        return ew.convert(ew.logical_and(self._is_zero, ew.eq(position, last)), self._values.dtype)

    def lost(self) -> Any:
        """Return where vectors are so nearly dependent that rounding leaves less than half of the digits, or None."""
        if self._conditions is None:
            return None
        conditions = ew.maximum(*self._paired(self._conditions))
        most = ew.lift(float(np.finfo(conditions.dtype).eps) ** -0.25, conditions)
        least = ew.mul(self._paired(self._noise)[0], ew.mul(conditions, ew.mul(most, most)))
        gaps = ew.absolute(ew.sub(*self._paired(self._values)))
        is_off = ew.logical_not(self._is_diagonal)
        return ew.logical_and(is_off, ew.logical_and(ew.gt(conditions, most), ew.le(gaps, least)))

    def _count(self, mask: Any) -> Any:
        counted = ew.convert(ew.logical_and(self._near, mask), self._values.dtype)
        return reduce_sum(counted, (self._ctx.rank(self._values),))

    def _paired(self, x: Any) -> list[Any]:
        return paired(x, self._shape)


def paired(x: Any, shape: Any) -> list[Any]:
    """Return values along the rows and along the columns of matrices of a shape."""
    rank = len(shape)
    return [mv.broadcast_in_dim(x, shape, (*range(rank - 2), axis)) for axis in (rank - 2, rank - 1)]
