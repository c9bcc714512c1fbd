"""Kernels of contractions: one call of NumPy on views wherever there is one, chosen when the plan is made.

How the axes lie is known then: each operand and the result have labelled axes, as in `np.einsum`. Only sizes are read
from the operands. Measured, in microseconds, of small operands: `x.dot(y)` 0.35, `np.dot` 0.55, `np.vecdot` and
`np.matvec` 0.8, `np.matmul` 0.9, `np.einsum` 1.6 to 2; of large ones einsum takes five times as long as BLAS.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anyshape.backend.compiler.plan_ops import contract_op
from anyshape.backend.runtime.split_gemm import split_product
from anyshape.graph.shapes.shape_rules import free_axes
from anyshape.ops.apply import kernel
from anyshape.ops.contraction import dot_general_op, einsum_op

Labels = tuple[Any, ...]
Product = Callable[[Any, Any], Any]
_dot = np.ndarray.dot  # np.dot asks its operands first whether they override it


@dataclass(frozen=True)
class _Form:
    """Labels of the axes of two operands and of the result, by what becomes of them.

    `batch` are of both operands and of the result, `summed` of both operands alone, `rows` and `columns` of the result
    and of one operand; each in the order of the operand, but for those of the batch, which come as the result has them.
    """

    left: Labels
    right: Labels
    out: Labels

    @cached_property
    def batch(self) -> Labels:
        return tuple([a for a in self.out if a in self.left and a in self.right])

    @cached_property
    def rows(self) -> Labels:
        return tuple([a for a in self.left if a not in self.right])

    @cached_property
    def columns(self) -> Labels:
        return tuple([a for a in self.right if a not in self.left])

    @cached_property
    def summed(self) -> Labels:
        """In the order in which fewer operands in C order have to be copied, so as to merge them."""
        by_right = tuple([a for a in self.right if a in self.left and a not in self.out])
        by_left = tuple([a for a in self.left if a in by_right])
        copies = [
            sum(group not in _runs(labels, len(group)) for labels in (self.left, self.right))
            for group in (by_right, by_left)
        ]
        return by_left if copies[1] < copies[0] else by_right

    @cached_property
    def turned(self) -> "_Form":
        """The same of the operands the other way round."""
        return _Form(self.right, self.left, self.out)


def _runs(labels: Labels, length: int) -> list[Labels]:
    return [labels[i : i + length] for i in range(len(labels) - length + 1)]


def _chosen(form: _Form, conjugates: bool) -> Product:
    """Choose the cheapest function of two arrays. `conjugates`: they are complex, which np.vecdot conjugates."""
    if not form.summed:
        return _products(form)
    if form.out == (*form.batch, *form.columns, *form.rows) != (*form.batch, *form.rows, *form.columns):
        turned = _chosen(form.turned, conjugates)
        return lambda x, y: turned(y, x)
    natural = form.batch + form.rows + form.columns
    single = len(form.rows) <= 1 and len(form.columns) <= 1
    if natural != form.out and not single and len(form.summed) == 1:
        if form.out[-2] in form.rows and form.out[-1] in form.columns:
            return _spread(form)
        if form.out[-1] in form.rows and form.out[-2] in form.columns:
            turned = _spread(form.turned)
            return lambda x, y: turned(y, x)
    return _stacks(form, conjugates) if form.batch else _ordered(_matrices(form), natural, form.out)


def _order(labels: Labels, wanted: Labels) -> tuple[int, ...] | None:
    """How to transpose axes with these labels; None where they are as wanted."""
    return None if labels == wanted else tuple([labels.index(a) for a in wanted])


def _ordered(product: Product, natural: Labels, wanted: Labels) -> Product:
    """The product with its axes in another order: a view of it."""
    order = _order(natural, wanted)
    return product if order is None else lambda x, y: product(x, y).transpose(order)


# -- nothing is summed


def _products(form: _Form) -> Product:
    """A product of stretched views, in the order of the result."""
    (left, left_key), (right, right_key) = (_aligned(labels, form.out) for labels in (form.left, form.right))
    if left is None and right is None:
        if not left_key and not right_key:
            return np.multiply
        if not right_key:
            return lambda x, y: np.multiply(x[left_key], y)
    return lambda x, y: np.multiply(_placed(x, left, left_key), _placed(y, right, right_key))


def _aligned(labels: Labels, out: Labels) -> tuple[tuple[int, ...] | None, tuple[Any, ...]]:
    """Transposition of an operand, and the key that inserts the result axes it lacks."""
    return _order(labels, tuple([a for a in out if a in labels])), _key(labels, out)


def _key(labels: Labels, wanted: Labels) -> tuple[Any, ...]:
    """The key that puts axes of size 1 in among these, where others are wanted; empty where none are, but in front."""
    first = next((i for i, a in enumerate(wanted) if a in labels), len(wanted))
    key = tuple([slice(None) if a in labels else None for a in wanted[first:]])
    return key if None in key else ()


def _placed(x: Any, order: tuple[int, ...] | None, key: tuple[Any, ...]) -> Any:
    x = x if order is None else x.transpose(order)
    return x[key] if key else x


# -- vectors and matrices


def _matrices(form: _Form) -> Product:
    """Rows and columns, each merged to one axis where they are more; BLAS reads a matrix in either order."""
    left, right = _order(form.left, form.rows + form.summed), _order(form.right, form.summed + form.columns)
    if len(form.left) > 2 or len(form.right) > 2 or len(form.summed) > 1:
        return _merged(form, left, right, _dot)
    if left is not None and right is not None:
        return lambda x, y: x.T.dot(y.T)
    if left is not None:
        return lambda x, y: x.T.dot(y)
    if right is not None:
        return lambda x, y: x.dot(y.T)
    return _dot


def _merged(form: _Form, left: Any, right: Any, multiply: Product) -> Product:
    """A product of arrays, of which all rows, all columns and all summed axes become one axis each."""
    nb, nr, ns, nc = map(len, (form.batch, form.rows, form.summed, form.columns))
    whole_x, whole_y = nr <= 1 and ns == 1, nc <= 1 and ns == 1

    def run(x: Any, y: Any) -> Any:
        x = x if left is None else x.transpose(left)
        y = y if right is None else y.transpose(right)
        outer, rows, columns = x.shape[:nb], x.shape[nb : nb + nr], y.shape[nb + ns :]
        if not whole_x:
            inner = math.prod(x.shape[nb + nr :])
            x = x.reshape((*outer, math.prod(rows), inner) if nr else (*outer, inner))
        if not whole_y:
            inner = math.prod(y.shape[nb : nb + ns])
            y = y.reshape((*outer, inner, math.prod(columns)) if nc else (*outer, inner))
        product = multiply(x, y)
        return product if nr <= 1 and nc <= 1 else product.reshape(outer + rows + columns)

    return run


# -- stacks of vectors and matrices


def _stacks(form: _Form, conjugates: bool) -> Product:
    """Matrices side by side, the batch in front: BLAS reads each where it lies."""
    rows_later = form.rows and form.columns and form.out.index(form.rows[0]) > form.out.index(form.columns[0])
    if rows_later or (form.columns and not form.rows):
        turned = _stacks(form.turned, conjugates)
        return lambda x, y: turned(y, x)
    multiply: Any = np.matmul if form.columns else np.matvec if form.rows else _vectors if conjugates else np.vecdot
    natural = form.batch + form.rows + form.columns
    left = _order(form.left, form.batch + form.rows + form.summed)
    inner = form.summed + form.columns
    right = _order(form.right, form.batch + inner)
    single = len(form.summed) == 1 and len(form.rows) <= 1 and len(form.columns) <= 1
    if not single:
        return _ordered(_merged(form, left, right, multiply), natural, form.out)
    if natural != form.out and form.out[-1] not in form.batch:
        return _written(form, natural, left, right, multiply)
    if left is None and right is None:
        return _ordered(multiply, natural, form.out)
    return _ordered(lambda x, y: multiply(_placed(x, left, ()), _placed(y, right, ())), natural, form.out)


def _spread(form: _Form) -> Product:
    """Rows or columns that are not side by side in the result are axes of a stack that the other operand lacks."""
    row, column = form.out[-2:]
    stack = form.out[:-2]
    x_labels, y_labels = ((*[a for a in stack if a in labels], *ends) for labels, ends in (
        (form.left, (row, *form.summed)), (form.right, (*form.summed, column))
    ))  # fmt: skip
    left, right = _order(form.left, x_labels), _order(form.right, y_labels)
    left_key, right_key = _key(x_labels, (*stack, row, *form.summed)), _key(y_labels, (*stack, *form.summed, column))
    return lambda x, y: np.matmul(_placed(x, left, left_key), _placed(y, right, right_key))


def _written(form: _Form, natural: Labels, left: Any, right: Any, multiply: Any) -> Product:
    """The product written to where it belongs in a result whose axes have another order."""
    place = _order(form.out, natural)
    sizes = [(0, form.left.index(a)) if a in form.left else (1, form.right.index(a)) for a in form.out]

    def run(x: Any, y: Any) -> Any:
        shapes = x.shape, y.shape
        out = np.empty([shapes[operand][axis] for operand, axis in sizes], x.dtype)
        multiply(_placed(x, left, ()), _placed(y, right, ()), out=out.transpose(place))
        return out

    return run


def _vectors(x: Any, y: Any) -> Any:
    """Products of vectors side by side, none of them conjugated."""
    return np.matmul(x[..., None, :], y[..., None])[..., 0, 0]


# -- the kernels


def _labels_of(rank_x: int, rank_y: int, contract: Sequence[Any], batch: Sequence[Any]) -> _Form:
    """Labels for a dot_general."""
    (cx, cy), (bx, by) = contract, batch
    left = tuple(range(rank_x))
    partner = dict(zip((*cy, *by), (*cx, *bx), strict=True))
    right = tuple([partner.get(axis, rank_x + axis) for axis in range(rank_y)])
    free = [rank_x + axis for axis in free_axes(rank_y, cy, by)]
    return _Form(left, right, (*bx, *free_axes(rank_x, cx, bx), *free))


def _written_as(equation: str) -> _Form:
    operands, _, out = equation.partition("->")
    left, _, right = operands.partition(",")
    return _Form(tuple(left), tuple(right), tuple(out))


def _dot_general(x: Any, y: Any, *, contract: Any, batch: Any) -> Any:
    return _chosen(_labels_of(np.ndim(x), np.ndim(y), contract, batch), x.dtype.kind == "c")(x, y)


def _dot_general_case(params: Any, metas: Any) -> Product:
    form = _labels_of(metas[0].rank, metas[1].rank, params["contract"], params["batch"])
    return _chosen(form, metas[0].dtype.kind == "c")


def _contract(x: Any, y: Any, *, equation: str) -> Any:
    return _chosen(_written_as(equation), x.dtype.kind == "c")(x, y)


def _contract_case(params: Any, metas: Any) -> Product:
    return _chosen(_written_as(params["equation"]), metas[0].dtype.kind == "c")


def _shared(form: _Form, metas: Any) -> tuple[Product, tuple[int, ...]]:
    """A function that threads share, and the axes of y that x lacks: by their sizes x is multiplied."""
    product = split_product(form.left, form.right, form.out, _chosen(form, metas[0].dtype.kind == "c"), _into(form))
    return product, tuple([axis for axis, a in enumerate(form.right) if a not in form.left])


def _into(form: _Form) -> Callable[[Any, Any, Any], Any] | None:
    """A product of two matrices written to an array; None of anything else."""
    if (len(form.left), len(form.right), len(form.out), len(form.summed)) != (2, 2, 2, 1):
        return None
    if form.out == form.columns + form.rows:
        turned = _into(form.turned)
        return turned and (lambda x, y, out: turned(y, x, out))
    left, right = _order(form.left, form.rows + form.summed), _order(form.right, form.summed + form.columns)
    return lambda x, y, out: np.matmul(_placed(x, left, ()), _placed(y, right, ()), out=out)


def _dot_general_shared(params: Any, metas: Any) -> tuple[Product, tuple[int, ...]]:
    return _shared(_labels_of(metas[0].rank, metas[1].rank, params["contract"], params["batch"]), metas)


def _contract_shared(params: Any, metas: Any) -> tuple[Product, tuple[int, ...]]:
    return _shared(_written_as(params["equation"]), metas)


kernel(dot_general_op, _dot_general, specialise=_dot_general_case, split=_dot_general_shared)
kernel(contract_op, _contract, specialise=_contract_case, split=_contract_shared)
kernel(einsum_op, lambda *xs, equation: np.einsum(equation, *xs, optimize="greedy"))  # which plans never run
