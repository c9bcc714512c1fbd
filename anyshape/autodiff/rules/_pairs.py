"""Inverses of differences and sums of eigenvalues or singular values, for the derivatives of their vectors."""

from typing import Any

import numpy as np

from anyshape.autodiff.equal_values import bound_of
from anyshape.autodiff.rules._matrices import positions
from anyshape.graph.sizes import expr
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops.control import stop_gradient
from anyshape.ops.creation import iota, size_value
from anyshape.ops.reduction import reduce_or, reduce_sum


class Pairs:
    """Inverses of differences and sums of ordered values, for the derivatives of vectors.

    Where values are equal they are 0, and their derivatives are infinite or NaN. Poles are inverses for
    values that differ by their rates, which are distinct. Rates of singular values of 0 are positive.
    Condition numbers of the values multiply what rounding may do to them.
    """

    def __init__(self, ctx: Any, values: Any, conditions: Any = None, *, ends_at_zero: bool = False) -> None:
        self._ctx, self._values, self._conditions = ctx, values, conditions
        self._shape = (*ctx.shape(values), ctx.shape(values)[-1])
        rows, columns = self._paired(values)
        rounding = float(np.finfo(values.dtype).eps)
        sizes = errors = ew.absolute(values)
        if conditions is not None:
            errors = ew.mul(sizes, conditions)
        rank = ctx.rank(values)
        total = mv.broadcast_in_dim(reduce_sum(errors, (rank - 1,)), ctx.shape(values), tuple(range(rank - 1)))
        noise = ew.mul(total, ew.lift(16 * rounding, total))
        self._rounding = noise
        self._is_zero = ew.logical_and(ew.le(sizes, noise), ew.eq(noise, noise)) if ends_at_zero else None
        smaller = ew.minimum(ew.absolute(rows), ew.absolute(columns))
        least = ew.mul(smaller, ew.lift(rounding**0.5, smaller))
        near = ew.le(ew.absolute(ew.sub(columns, rows)), ew.maximum(self._paired(noise)[0], least))
        self._noise = ew.maximum(noise, ew.mul(sizes, ew.lift(rounding**0.5, sizes)))
        above, left = positions(self._shape)
        self._is_diagonal = ew.eq(above, left)
        self._equal = ew.logical_and(near, ew.logical_not(self._is_diagonal))
        self._sides = [self._count(ew.logical_and(near, order(left, above))) for order in (ew.lt, ew.gt)]
        self.rates = self._rates(*self._sides)

    def any_equal(self) -> Any:
        """Return whether any of the values need limits."""
        if self._is_zero is None:
            flags = self._equal if self._conditions is None else ew.logical_or(self._equal, self._is_lost(self._gaps()))
        else:
            flags = ew.logical_or(self._equal, self._paired(self._is_zero)[0])
        return reduce_or(flags, tuple(range(len(self._shape))))

    def _rates(self, before: Any, after: Any) -> Any:
        middle = ew.mul(ew.sub(before, after), ew.lift(0.5, before))
        if self._is_zero is None:
            return middle
        return ew.select(self._is_zero, ew.add(before, ew.lift(1, before)), middle)

    def swap(self, dtype: Any, apart: bool = False) -> Any:
        """Return a permutation: each vector of equal values takes the place of the one before; -1 for 0 if `apart`."""
        (row, column), (_, after) = map(self._paired, self._sides)
        zero_ = ew.lift(0, row)
        wraps = ew.logical_and(ew.eq(after, zero_), ew.eq(row, zero_))
        follows = ew.logical_or(wraps, ew.eq(row, ew.add(column, ew.lift(1, column))))
        chosen = ew.convert(ew.logical_and(follows, ew.logical_or(self._equal, self._is_diagonal)), dtype)
        return ew.select(self._both_zero(), ew.neg(chosen), chosen) if apart else chosen

    def moved(self) -> tuple[Any, ...]:
        """Return the rates, sizes that allow for differences of equal values, and swapped rates; no value differs."""
        size = ew.mul(self._noise, ew.lift(1 / bound_of(self._noise.dtype), self._noise))
        size = size if size.dtype == self._values.dtype else ew.convert(size, self._values.dtype)
        swap = self.swap(self._values.dtype, apart=self._is_zero is not None)
        swapped = reduce_sum(ew.mul(swap, self._paired(self.rates)[0]), (self._ctx.rank(self._values) - 1,))
        return self.rates, None, size, None, swapped

    def turn(self, dtype: Any, apart: bool = False) -> Any:
        """Return rotations that mix the vectors of equal values; vectors of 0 turn otherwise if `apart`."""
        row, column = (ew.convert(k, self._noise.dtype) for k in positions(self._shape))
        first, second = ew.minimum(row, column), ew.maximum(row, column)
        angle = ew.sin(ew.add(ew.mul(first, ew.lift(1.7, row)), ew.mul(second, ew.lift(0.9, row))))
        half = ew.select(ew.lt(row, column), angle, ew.neg(angle))
        unit = ew.select(self._is_diagonal, ew.lift(1, row), ew.lift(0, row))
        if apart:
            half = ew.select(self._both_zero(), ew.mul(half, ew.lift(0.3, half)), half)
        half = ew.select(self._equal, half, ew.lift(0, half))
        rotation = la.solve(ew.add(unit, half), ew.sub(unit, half))
        if apart:
            rotation = ew.select(self._both_zero(), ew.neg(rotation), rotation)
        return rotation if rotation.dtype == dtype else ew.convert(rotation, dtype)

    def leaves(self) -> Any:
        """Return 1 for the last singular value if it is 0, and 0 for others: its vectors may leave the span."""
        rank = self._ctx.rank(self._values)
        count = self._ctx.shape(self._values)[-1]
        last = mv.broadcast_in_dim(size_value(expr.sub(count, 1)), self._ctx.shape(self._values), ())
        position = mv.broadcast_in_dim(iota(count), self._ctx.shape(self._values), (rank - 1,))
        return ew.convert(ew.logical_and(self._is_zero, ew.eq(position, last)), self._values.dtype)

    def _count(self, mask: Any) -> Any:
        return reduce_sum(ew.convert(mask, self._values.dtype), (self._ctx.rank(self._values),))

    def _paired(self, x: Any) -> list[Any]:
        rank = self._ctx.rank(x)
        return [mv.broadcast_in_dim(x, self._shape, (*range(rank - 1), axis)) for axis in (rank - 1, rank)]

    def _differences(self, x: Any) -> Any:
        rows, columns = self._paired(x)
        return ew.sub(columns, rows)

    def _both_zero(self) -> Any:
        return ew.logical_and(*self._paired(self._is_zero))

    def _gaps(self) -> Any:
        return self._differences(self._values)

    def differences(self) -> Any:
        """Return 1 / (x_j - x_i) for each pair of distinct values."""
        gaps = self._gaps()
        inverses = _inverse(ew.select(self._is_diagonal, ew.lift(1, gaps), gaps), self._equal)
        if self._conditions is not None:
            inverses = ew.select(self._is_lost(gaps), ew.lift(np.nan, inverses), inverses)
        return ew.select(self._is_diagonal, ew.lift(0, gaps), inverses)

    def _is_lost(self, gaps: Any) -> Any:
        """Return where vectors are so nearly dependent that rounding leaves less than half of the digits."""
        conditions = ew.maximum(*self._paired(self._conditions))
        most = ew.lift(float(np.finfo(conditions.dtype).eps) ** -0.25, conditions)
        least = ew.mul(self._paired(self._rounding)[0], ew.mul(conditions, ew.mul(most, most)))
        is_off = ew.logical_not(self._is_diagonal)
        return ew.logical_and(is_off, ew.logical_and(ew.gt(conditions, most), ew.le(ew.absolute(gaps), least)))

    def difference_poles(self) -> Any:
        """Return 1 / (r_j - r_i) by the rates of equal values, 0 for others."""
        return _pole(self._differences(self._values), self._differences(self.rates), self._equal)

    def sums(self) -> Any:
        """Return 1 / (s_i + s_j) off the diagonal, unless both are 0."""
        sums = ew.add(*self._paired(self._values))
        return ew.select(self._is_diagonal, ew.lift(0, sums), _inverse(sums, self._both_zero()))

    def sum_poles(self) -> Any:
        """Return 1 / (r_i + r_j) off the diagonal by the rates of values of 0, 0 for others."""
        pole = _pole(ew.add(*self._paired(self._values)), ew.add(*self._paired(self.rates)), self._both_zero())
        return ew.select(self._is_diagonal, ew.lift(0, pole), pole)

    def inverses(self) -> Any:
        """Return 1 / s for values other than 0."""
        return _inverse(self._values, self._is_zero)

    def inverse_poles(self) -> Any:
        """Return 1 / r by the rates of values of 0, 0 for others."""
        return _pole(self._values, self.rates, self._is_zero)


class Distinct(Pairs):
    """Inverses where all values differ, and none is 0."""

    def __init__(self, ctx: Any, values: Any, *unread: Any, ends_at_zero: bool = False) -> None:
        self._ctx, self._values = ctx, values
        self._shape = (*ctx.shape(values), ctx.shape(values)[-1])
        self._is_diagonal = ew.eq(*positions(self._shape))
        self._equal = self._is_zero = self._conditions = None

    def _both_zero(self) -> Any:
        return None


def _inverse(x, masked):
    """Return 1 / x where it is not masked; it is 0 elsewhere, and has no finite derivative there."""
    one = ew.lift(1, x)
    if masked is None:
        return ew.div(one, x)
    return ew.select(masked, _steep(x, masked), ew.div(one, ew.select(masked, one, x)))


def _steep(x, masked):
    """Return 0 with an infinite derivative where x is masked: no later derivative of these formulas is right there."""
    return ew.sqrt(ew.select(masked, ew.sub(x, stop_gradient(x)), ew.lift(1, x)))


def _pole(x, rates, masked):
    one, zero_ = ew.lift(1, x), ew.lift(0, x)
    inverse = ew.div(one, ew.select(masked, rates, one))
    return ew.select(masked, ew.add(inverse, _steep(x, masked)), zero_)
