"""Derivatives of linear algebra.

Sources: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation",
2008, for inverses, determinants and solutions; I. Murray, "Differentiation of the Cholesky decomposition", 2016.

A solution keeps the factors of its matrix, which solve for its tangent and cotangent too. The matrix itself stays an
operand, so that the derivative in it is known; its factors have none.

Inverses of differences and sums of eigenvalues or singular values, for the derivatives of their vectors.

Products, parts and transposes of stacks of matrices, for the derivatives of linear algebra.

Batching of linear algebra: one more leading axis; factors of one matrix serve a batch of right-hand sides.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.autodiff import rule_tables as tables
from anyshape.autodiff.equal_values import RULES, WITH_VECTORS, Decomposition, pole
from anyshape.autodiff.jvp import Pushed
from anyshape.graph.sizes import expr
from anyshape.ops import elementwise as ew
from anyshape.ops import linalg as la
from anyshape.ops import movement as mv
from anyshape.ops.contraction import LETTERS, dot_general, einsum
from anyshape.ops.control import stop_gradient
from anyshape.ops.creation import full, iota, size_value
from anyshape.ops.reduction import argmax, reduce_or, reduce_sum


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

    def _off_diagonal(self, of: Callable[..., Any]):
        def form(x):
            rows, columns = paired(x, self._shape)
            result = of(columns, rows)
            return ew.select(self._is_diagonal, ew.lift(1, result), result)

        inverse = self._inverse(form)
        return ew.select(self._is_diagonal, ew.lift(0, inverse), inverse)

    def _inverse(self, form: Callable[[Any], Any]):
        return ew.reciprocal(form(self._values))


class Scaled(Inverses):
    """Inverses times epsilon, for values that move with it by their rates; NaN for pairs that are `lost`."""

    def __init__(self, ctx: Any, values: Any, rates: Any, epsilon: Any, lost: Any) -> None:
        super().__init__(ctx, values)
        self._rates, self._epsilon, self._lost = rates, epsilon, lost

    def differences(self) -> Any:
        result = super().differences()
        return result if self._lost is None else ew.select(self._lost, ew.lift(np.nan, result), result)

    def _inverse(self, form: Callable[[Any], Any]):
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

    def _count(self, mask):
        counted = ew.convert(ew.logical_and(self._near, mask), self._values.dtype)
        return reduce_sum(counted, (self._ctx.rank(self._values),))

    def _paired(self, x) -> list[Any]:
        return paired(x, self._shape)


def paired(x: Any, shape: Any) -> list[Any]:
    """Return values along the rows and along the columns of matrices of a shape."""
    rank = len(shape)
    return [mv.broadcast_in_dim(x, shape, (*range(rank - 2), axis)) for axis in (rank - 2, rank - 1)]


def _formed(ctx, a, form):
    return a if form == "N" else swapped(ctx, a) if form == "T" else adjoint(ctx, a)


def _trace(ctx, a):
    """Return the sums of the diagonals of matrices."""
    rank = ctx.rank(a)
    on_diagonal = ew.eq(*positions(ctx.shape(a)))
    return reduce_sum(ew.select(on_diagonal, a, ew.lift(0, a)), (rank - 2, rank - 1))


# -- factorisations and determinants


def _mirror_jvp(ctx, tangents, out, a, *, lower, conjugate):
    (t,) = tangents
    return hermitian_part(ctx, t) if conjugate else ew.mul(ew.add(t, swapped(ctx, t)), ew.lift(0.5, t))


def cholesky_jvp(ctx, tangents, out, a):
    """Murray (2016), eq. 8: dL = L phi(L^-1 dA L^-H), where phi takes the lower triangle and half of the diagonal.

    Only Hermitian tangents keep a Cholesky factor: others count as their Hermitian part, as in JAX and PyTorch.
    """
    (t,) = tangents
    if a.dtype.kind != "c":
        return la.cholesky_tangent(out, t)
    left = la.triangular_solve(out, hermitian_part(ctx, t), lower=True)
    both = adjoint(ctx, la.triangular_solve(out, adjoint(ctx, left), lower=True))
    return product(ctx, out, triangle(ctx, both, lower=True, diagonal=0.5))


def _cholesky_tangent_jvp(ctx, tangents, out, factor, t):
    """Differentiate dL = L phi(L^-1 T L^-T) for symmetric T; phi takes the lower triangle and half of the diagonal."""
    of_factor, of_tangent = tangents
    total = None if of_tangent is None else la.cholesky_tangent(factor, of_tangent)
    if of_factor is None:
        return total

    def solved(x):
        return la.triangular_solve(factor, x, lower=True)

    inner = swapped(ctx, solved(swapped(ctx, solved(hermitian_part(ctx, t)))))
    moved = product(ctx, solved(of_factor), inner)
    change = triangle(ctx, ew.neg(ew.add(moved, swapped(ctx, moved))), lower=True, diagonal=0.5)
    half = triangle(ctx, inner, lower=True, diagonal=0.5)
    return tables.add_tangents(total, ew.add(product(ctx, of_factor, half), product(ctx, factor, change)))


def _cholesky_cotangent_jvp(ctx, tangents, out, factor, ct):
    """Differentiate sym(L^-T phi(L^T C) L^-1) for lower triangular C."""
    of_factor, of_cotangent = tangents
    total = None if of_cotangent is None else la.cholesky_cotangent(factor, of_cotangent)
    if of_factor is None:
        return total

    def solved(x):
        return la.triangular_solve(factor, x, lower=True, form="T")

    lower = triangle(ctx, ct, lower=True, diagonal=1)
    inner = triangle(ctx, product(ctx, swapped(ctx, factor), lower), lower=True, diagonal=0.5)
    whole = swapped(ctx, solved(swapped(ctx, solved(inner))))
    turned = triangle(ctx, product(ctx, swapped(ctx, of_factor), lower), lower=True, diagonal=0.5)
    first = swapped(ctx, solved(swapped(ctx, solved(turned))))
    left = solved(product(ctx, swapped(ctx, of_factor), whole))
    right = swapped(ctx, solved(swapped(ctx, product(ctx, whole, of_factor))))
    return tables.add_tangents(total, hermitian_part(ctx, ew.sub(first, ew.add(left, right))))


def _det_jvp(ctx, tangents, out, a):
    """Return the trace of adj(A) dA, also where A is singular (Jacobi's formula)."""
    (t,) = tangents
    rank = ctx.rank(a)
    return reduce_sum(ew.mul(swapped(ctx, la.adjugate(a)), t), (rank - 2, rank - 1))


def _adjugate_jvp(ctx, tangents, out, a):
    """Differentiate det(A) inv(A): (tr(adj(A) dA) - adj(A) dA) inv(A), for regular A."""
    (t,) = tangents
    inverse = la.inv(a)
    moved = product(ctx, out, t)
    rank = ctx.rank(a)
    derivative = mv.broadcast_in_dim(_trace(ctx, moved), ctx.shape(a), tuple(range(rank - 2)))
    return ew.sub(ew.mul(derivative, inverse), product(ctx, moved, inverse))


def _slogdet_jvp(ctx, tangents, out, a):
    """Return tr(A^-1 dA), the derivative of the logarithm; its imaginary part turns the sign."""
    sign, _ = out
    derivative = _trace(ctx, la.solve(a, tangents[0]))
    if a.dtype.kind != "c":
        return None, derivative
    turn = ew.make_complex(ew.lift(0.0, ew.imag(derivative)), ew.imag(derivative))
    return ew.mul(sign, turn), ew.real(derivative)


# -- eigenvalues and singular values


def _real_diagonal(ctx, a):
    """Return the real parts of the diagonals of square matrices."""
    return ew.real(diagonal_of(ctx, a))


def _conditions(ctx, vectors):
    """Return the condition numbers of eigenvalues, the lengths of the rows of V^-1 (Golub and Van Loan, 7.2.2)."""
    return ew.sqrt(reduce_sum(ew.square(ew.absolute(la.inv(stop_gradient(vectors)))), (ctx.rank(vectors) - 1,)))


def _simple(ctx, vectors, slopes):
    """Return slopes of eigenvalues; they are infinite where vectors are dependent up to rounding: NaN."""
    conditions = _conditions(ctx, vectors)
    is_simple = ew.le(conditions, ew.lift(float(np.finfo(vectors.dtype).eps) ** -0.75, conditions))
    return ew.mul(slopes, ew.select(is_simple, ew.lift(1, slopes), ew.lift(np.nan, slopes)))


def _eig_push(ctx, t, out, inverses, **params):
    """Return tangents by Giles (2008), section 3.1."""
    _, vectors = out
    inner = la.solve(vectors, product(ctx, in_dtype_of(vectors, t), vectors))
    turn = ew.mul(inverses.differences(), inner)
    return _simple(ctx, vectors, diagonal_of(ctx, inner)), _eig_turns(ctx, vectors, turn)


def _eig_turns(ctx, vectors, turn):
    """Return the tangents of vectors that are turned.

    LAPACK scales each vector to norm 1 and turns its largest element to the real axis. Both hold for the derivatives:
    what scales and turns is taken off.
    """
    derivatives = product(ctx, vectors, turn)
    growth = ew.real(reduce_sum(ew.mul(ew.conj(vectors), derivatives), (ctx.rank(derivatives) - 2,)))
    turned = ew.imag(ew.div(_of_largest(ctx, derivatives, vectors), _of_largest(ctx, vectors, vectors)))
    return ew.sub(derivatives, ew.mul(vectors, by_columns(ctx, vectors, ew.make_complex(growth, turned))))


def _of_largest(ctx, x, vectors):
    """Return the element of each column of x at which the column of `vectors` is largest, the first of equal ones."""
    *batch, _, columns = ctx.shape(vectors)
    axis = len(batch)
    squares = ew.add(ew.square(ew.real(vectors)), ew.square(ew.imag(vectors)))
    none = full((*batch, 1, columns), 0, squares.dtype)  # a largest one is there for empty matrices too
    largest = argmax(mv.concatenate([squares, none], axis), axis)
    shape = ctx.shape(vectors)
    row, _ = positions(shape)
    chosen = ew.eq(row, mv.broadcast_in_dim(largest, shape, (*range(axis), axis + 1)))
    return reduce_sum(ew.select(chosen, x, ew.lift(0, x)), (axis,))


def _eigh_push(ctx, t, out, inverses, **params):
    """Return tangents by Giles (2008), section 3.1."""
    _, vectors = out
    inner = hermitian_part(ctx, product(ctx, adjoint(ctx, vectors), product(ctx, t, vectors)))
    turn = ew.mul(in_dtype_of(inner, inverses.differences()), inner)
    return _real_diagonal(ctx, inner), product(ctx, vectors, turn)


def _svd_push(ctx, t, out, inverses, **params):
    """Differentiate by Townsend (2016), "Differentiating the singular value decomposition".

    Vectors beyond the shorter side of a full decomposition have derivative NaN, as they may turn freely.
    """
    u, s, vh = out
    count = ctx.shape(s)[-1]
    if ctx.shape(u)[-1] == count == ctx.shape(vh)[-2]:
        return _thin_svd_push(ctx, t, u, vh, inverses)
    rows = swapped(ctx, first_columns(ctx, swapped(ctx, vh), count))
    du, ds, dvh = _thin_svd_push(ctx, t, first_columns(ctx, u, count), rows, inverses)
    return _with_free_columns(ctx, t, du, u), ds, swapped(ctx, _with_free_columns(ctx, t, swapped(ctx, dvh), vh))


def _with_free_columns(ctx, t, derivatives, like):
    """Return the derivatives of square matrices: of the first columns, then NaN for the others, linear in t."""
    *batch, size = ctx.shape(like)[:-1]
    count = ctx.shape(derivatives)[-1]
    if size == count:
        return derivatives
    rank = ctx.rank(t)
    total = reduce_sum(t, (rank - 2, rank - 1))
    free = mv.broadcast_in_dim(total, (*batch, size, size - count), tuple(range(rank - 2)))
    return mv.concatenate([derivatives, ew.mul(free, ew.lift(np.nan, free))], rank - 1)


def _thin_svd_push(ctx, t, u, vh, inverses):
    """Return tangents. Vectors of both sides turn together by the Hermitian part of U^H T V, and apart by the rest."""
    v = adjoint(ctx, vh)
    right = product(ctx, t, v)
    inner = product(ctx, adjoint(ctx, u), right)
    even = hermitian_part(ctx, inner)
    odd = ew.sub(inner, even)
    together = ew.mul(in_dtype_of(t, inverses.differences()), even)
    apart = ew.mul(in_dtype_of(t, inverses.sums()), odd)
    turn_u, turn_v = ew.add(together, apart), ew.sub(together, apart)
    steep = inverses.inverses()
    if t.dtype.kind == "c":  # left vectors turn in the complex plane, so that singular values stay real
        on_diagonal = ew.eq(*positions(ctx.shape(odd)))
        phase = ew.mul(odd, by_columns(ctx, odd, steep))
        turn_u = ew.add(turn_u, ew.select(on_diagonal, phase, ew.lift(0, phase)))
    du = ew.add(product(ctx, u, turn_u), _outside(ctx, u, right, steep))
    dv = ew.add(product(ctx, v, turn_v), _outside(ctx, v, product(ctx, adjoint(ctx, t), u), steep))
    return du, _real_diagonal(ctx, inner), adjoint(ctx, dv)


def turned_vectors(ctx, out, near):
    values, vectors = out
    return values, product(ctx, vectors, near.turn(vectors.dtype))


def _turned_sides(ctx, out, near):
    u, s, vh = out
    count, v = ctx.shape(s)[-1], adjoint(ctx, vh)
    sides = [_turned(ctx, x, near.turn(x.dtype, apart), near.leaves(), count) for x, apart in ((u, False), (v, True))]
    return sides[0], s, adjoint(ctx, sides[1])


def _turned(ctx, x, rotation, leaves, count):
    """Return vectors turned by a rotation; some of them leave their span."""
    vectors = product(ctx, first_columns(ctx, x, count), rotation)
    shape = ctx.shape(vectors)
    row, column = (ew.convert(k, leaves.dtype) for k in positions(shape))
    other = in_dtype_of(x, ew.sin(ew.add(ew.mul(row, ew.lift(1.3, row)), column)))
    away = ew.mul(_outside(ctx, vectors, other, leaves), ew.lift(0.5, other))
    squares = reduce_sum(ew.square(ew.absolute(away)), (len(shape) - 2,))
    scale = ew.sqrt(ew.add(squares, ew.lift(1, squares)))
    return _with_others(ctx, ew.div(ew.add(vectors, away), by_columns(ctx, vectors, scale)), x)


def _with_others(ctx, vectors, x):
    """Return vectors in place of the first columns of x."""
    *batch, rows, columns = ctx.shape(x)
    count = ctx.shape(vectors)[-1]
    if columns == count:
        return vectors
    others = mv.slice(x, (*[0] * (len(batch) + 1), count), (*batch, rows, expr.sub(columns, count)))
    return mv.concatenate([vectors, others], len(batch) + 1)


def _outside(ctx, vectors, moved, inverses):
    """Return what leaves the span of the vectors, which only vectors of the longer side can."""
    rows, count = ctx.shape(vectors)[-2:]
    rest = ew.sub(moved, product(ctx, vectors, product(ctx, adjoint(ctx, vectors), moved)))
    derivative = ew.mul(rest, by_columns(ctx, rest, inverses))
    is_longer = ew.gt(size_value(rows), size_value(count))
    return ew.select(mv.broadcast_in_dim(is_longer, ctx.shape(derivative), ()), derivative, ew.lift(0, derivative))


def thin_qr_tangents(ctx, t, q, r):
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018, for full rank.

    The first columns, as many as q has, determine q; they have an inverse r.
    """
    first_t, first_r = (first_columns(ctx, x, ctx.shape(q)[-1]) for x in (t, r))
    moved = swapped(ctx, la.triangular_solve(first_r, swapped(ctx, first_t), lower=False, form="T"))
    inner = product(ctx, adjoint(ctx, q), moved)
    below = triangle(ctx, inner, lower=True, diagonal=0)
    turn = ew.sub(below, adjoint(ctx, below))
    if q.dtype.kind == "c":
        on_diagonal = ew.eq(*positions(ctx.shape(inner)))
        imaginary = ew.mul(ew.sub(inner, ew.conj(inner)), ew.lift(0.5, inner))
        turn = ew.add(turn, ew.select(on_diagonal, imaginary, ew.lift(0, inner)))
    dq = ew.add(moved, product(ctx, q, ew.sub(turn, inner)))
    return dq, ew.sub(product(ctx, adjoint(ctx, q), t), product(ctx, turn, r))


def _product_of_three(ctx, *matrices):
    """Return a product of stacks of matrices in the order that takes least for high and for wide ones."""
    batch = LETTERS[4 : 2 + ctx.rank(matrices[0])]
    return einsum(matrices, f"{batch}AB,{batch}BC,{batch}CD->{batch}AD")


def _pinv_jvp(ctx, tangents, out, a, cutoff):
    """Differentiate by Golub and Pereyra (1973), where the rank stays as it is."""
    if (t := tangents[0]) is None:
        return None
    p, back, p_adjoint = out, adjoint(ctx, t), adjoint(ctx, out)
    left = ew.sub(back, _product_of_three(ctx, back, a, p))
    right = ew.sub(back, _product_of_three(ctx, p, a, back))
    outside = ew.add(_product_of_three(ctx, p, p_adjoint, left), _product_of_three(ctx, right, p_adjoint, p))
    return ew.sub(outside, _product_of_three(ctx, p, t, p))


def decomposition(op: Any, only_values: Any, rules: Decomposition) -> None:
    """Declare the derivatives of a decomposition, and of the one that gives its values alone."""

    def jvp(ctx, tangents, out, a, **params):
        return rules.push(ctx, tangents[0], out, Inverses(ctx, out[rules.at]), **params)

    def of_values(ctx, tangents, out, a, **params):
        out = WITH_VECTORS[only_values](a, **params)
        return Pushed([out[rules.at]], [jvp(ctx, tangents, out, a, **params)[rules.at]])

    tables.JVPS[op] = jvp
    tables.with_values(only_values, of_values)
    RULES[op] = RULES[only_values] = rules


def near_of_eigh(ctx, out, order):
    return Near(ctx, out[0], order)


def _near_of_eig(ctx, out, order):
    return Near(ctx, out[0], order, _conditions(ctx, out[1]))


def _near_of_svd(ctx, out, order):
    return Near(ctx, out[1], order, ends_at_zero=True)


decomposition(la.eigh_op, la.eigvalsh_op, Decomposition(near_of_eigh, turned_vectors, _eigh_push, Scaled, 0))
decomposition(la.eig_op, la.eigvals_op, Decomposition(_near_of_eig, turned_vectors, _eig_push, Scaled, 0))
decomposition(la.svd_op, la.svdvals_op, Decomposition(_near_of_svd, _turned_sides, _svd_push, Scaled, 1))
tables.JVPS[la.qr_op] = lambda ctx, tangents, out, a: thin_qr_tangents(ctx, tangents[0], *out)
tables.JVPS[la.pinv_op] = _pinv_jvp
tables.JVPS[la.mirror_op] = _mirror_jvp
tables.JVPS[la.cholesky_op] = cholesky_jvp
tables.JVPS[la.cholesky_tangent_op] = _cholesky_tangent_jvp
tables.TRANSPOSES[la.cholesky_tangent_op] = lambda ctx, ct, factor, t: (None, la.cholesky_cotangent(factor, ct))
tables.JVPS[la.cholesky_cotangent_op] = _cholesky_cotangent_jvp
tables.TRANSPOSES[la.cholesky_cotangent_op] = lambda ctx, ct, factor, t: (None, la.cholesky_tangent(factor, ct))
tables.JVPS[la.inv_op] = lambda ctx, tangents, out, a: ew.neg(product(ctx, out, product(ctx, tangents[0], out)))
tables.JVPS[la.det_op] = _det_jvp
tables.JVPS[la.adjugate_op] = _adjugate_jvp
tables.JVPS[la.slogdet_op] = _slogdet_jvp
tables.zero(la.lu_factor_op)  # its results only help to solve: `lu_solve` has the derivative in the matrix

# -- solutions, which are linear in the right-hand sides


def _solution(op, factors, matrix_tangent):
    """Declare an op that solves with its first operand, by `factors` further ones, for its last operand."""

    def solve(a, *others, form, **params):
        return op(a, *others, form=form, **params)

    def jvp(ctx, tangents, out, a, *others, form, **params):
        *_, right = tangents
        change = right
        if tangents[0] is not None:
            moved = product(ctx, _formed(ctx, matrix_tangent(ctx, tangents[0], **params), form), out)
            change = ew.neg(moved) if change is None else ew.sub(change, moved)
        return None if change is None else solve(a, *others[:factors], change, form=form, **params)

    def transpose(ctx, ct, a, *others, form, **params):
        if form == "C":  # the transpose of a conjugate transpose is the conjugate
            back = conjugate(solve(a, *others[:factors], conjugate(ct), form="N", **params))
        else:
            back = solve(a, *others[:factors], ct, form="N" if form == "T" else "T", **params)
        return (*[None] * (factors + 1), back)

    return jvp, transpose


def _part_that_is_read(ctx, t, *, lower, unit):
    return triangle(ctx, t, lower=lower, diagonal=0 if unit else 1)


for _op, _function, _factors, _matrix in (
    (la.solve_op, la.solve, 0, lambda ctx, t: t),
    (la.lu_solve_op, la.lu_solve, 2, lambda ctx, t: t),
    (la.triangular_solve_op, la.triangular_solve, 0, _part_that_is_read),
):
    tables.JVPS[_op], tables.TRANSPOSES[_op] = _solution(_function, _factors, _matrix)

# -- zeros by construction, and shifts of operands

_OPS = (
    la.mirror_op, la.cholesky_op, la.cholesky_tangent_op, la.cholesky_cotangent_op, la.inv_op, la.det_op,
    la.adjugate_op, la.slogdet_op, la.lu_factor_op, la.eig_op, la.eigh_op, la.svd_op, la.qr_op, la.pinv_op,
)  # fmt: skip
_VALUES = (la.eigvals_op, la.eigvalsh_op, la.svdvals_op)
_SOLUTIONS = (la.solve_op, la.lu_solve_op, la.triangular_solve_op)
tables.lines(tables.stacks, *_OPS)
tables.lines(tables.solutions, *_SOLUTIONS)
tables.zeros(tables.MIX, tables.MIX, *_VALUES)


def positions(shape):
    """Return the row and the column of each element of matrices."""
    rank = len(shape)
    return [mv.broadcast_in_dim(iota(shape[axis]), shape, (axis,)) for axis in (rank - 2, rank - 1)]


def triangle(ctx: Any, a: Any, *, lower: Any, diagonal: Any) -> Any:
    """Return one triangle of matrices: the diagonal times `diagonal`, and zeros in the other triangle."""
    shape = ctx.shape(a)
    rows, columns = positions(shape)
    inside = ew.gt(rows, columns) if lower else ew.lt(rows, columns)
    zeros = ew.lift(0, a)
    on_diagonal = ew.select(ew.eq(rows, columns), ew.mul(a, ew.lift(diagonal, a)), zeros)
    return ew.select(inside, a, on_diagonal)


def product(ctx: Any, a: Any, b: Any) -> Any:
    """Return the product of two stacks of matrices."""
    rank = ctx.rank(a)
    batch = tuple(range(rank - 2))
    return dot_general(a, b, ((rank - 1,), (rank - 2,)), (batch, batch))


def swapped(ctx: Any, a: Any) -> Any:
    """Return the transposes of matrices."""
    rank = ctx.rank(a)
    return mv.transpose(a, (*range(rank - 2), rank - 1, rank - 2))


def adjoint(ctx, a):
    """Return the conjugate transposes of matrices."""
    return conjugate(swapped(ctx, a))


def conjugate(a):
    return ew.conj(a) if a.dtype.kind == "c" else a


def hermitian_part(ctx, t):
    return ew.mul(ew.add(t, adjoint(ctx, t)), ew.lift(0.5, t))


def diagonal_of(ctx, a):
    """Return the diagonals of square matrices."""
    on_diagonal = ew.eq(*positions(ctx.shape(a)))
    return reduce_sum(ew.select(on_diagonal, a, ew.lift(0, a)), (ctx.rank(a) - 2,))


def first_columns(ctx, x, count):
    """Return the first columns of matrices."""
    shape = ctx.shape(x)
    return x if shape[-1] == count else mv.slice(x, [0] * len(shape), (*shape[:-1], count))


def by_columns(ctx, x, values):
    """Return values, one for each column, as matrices like x in its dtype."""
    rank = ctx.rank(x)
    return in_dtype_of(x, mv.broadcast_in_dim(values, ctx.shape(x), (*range(rank - 2), rank - 1)))


def in_dtype_of(x, y):
    """Return y in the dtype of x."""
    return y if x.dtype == y.dtype else ew.convert(y, x.dtype)


tables.one_more_axis(*_OPS, *_VALUES, *_SOLUTIONS)
