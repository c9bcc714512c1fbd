"""Kernels of contractions: one call of NumPy on views where there is one, chosen when the plan is made.

The order of axes is known then: operands and result have labelled axes, as in `np.einsum`. Only sizes are read from the
operands of a call.

Measured, in microseconds, for small operands: `x.dot(y)` 0.35, `np.dot` 0.55, `np.vecdot` and `np.matvec` 0.8,
`np.matmul` 0.9, `np.einsum` 1.6 to 2. For large operands, einsum takes five times as long as BLAS.

Traits of contractions.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, declare
from anyshape.backend.compiler.plan import contract_op
from anyshape.backend.runtime.thread_pool import split_product
from anyshape.graph.shapes.array_type import free_axes
from anyshape.ops.contraction import dot_general_op, einsum_op
from anyshape.ops.core.apply import kernel
from anyshape.support.lazy_dataclass import dataclass

Labels = tuple[Any, ...]
Product = Callable[[Any, Any], Any]
_dot = np.ndarray.dot  # np.dot asks its operands first whether they override it


@dataclass(frozen=True)
class _Form:
    """Labels of the axes of two operands and of the result, by their role.

    - `batch`: labels of both operands and of the result, in the order of the result.
    - `summed`: labels of both operands alone.
    - `rows`, `columns`: labels of the result and of the left or the right operand, in the order of the operand.
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
        """Return the contracted labels, in the order for which merging them copies fewer operands in C order."""
        by_right = tuple([a for a in self.right if a in self.left and a not in self.out])
        by_left = tuple([a for a in self.left if a in by_right])
        copies = [
            sum(group not in _runs(labels, len(group)) for labels in (self.left, self.right))
            for group in (by_right, by_left)
        ]
        return by_left if copies[1] < copies[0] else by_right

    @cached_property
    def swapped(self) -> "_Form":
        """Return the form with the operands swapped."""
        return _Form(self.right, self.left, self.out)


def _runs(labels: Labels, length: int) -> list[Labels]:
    return [labels[i : i + length] for i in range(len(labels) - length + 1)]


def _choose(form: _Form, conjugates: bool) -> Product:
    """Choose the cheapest function of two arrays; `conjugates` says that np.vecdot would conjugate complex ones."""
    if not form.summed:
        return _products(form)
    if form.out == (*form.batch, *form.columns, *form.rows) != (*form.batch, *form.rows, *form.columns):
        swapped = _choose(form.swapped, conjugates)
        return lambda x, y: swapped(y, x)
    natural = form.batch + form.rows + form.columns
    single = len(form.rows) <= 1 and len(form.columns) <= 1
    if natural != form.out and not single and len(form.summed) == 1:
        if form.out[-2] in form.rows and form.out[-1] in form.columns:
            return _separated(form)
        if form.out[-1] in form.rows and form.out[-2] in form.columns:
            swapped = _separated(form.swapped)
            return lambda x, y: swapped(y, x)
    return _stacks(form, conjugates) if form.batch else _ordered(_matrices(form), natural, form.out)


def _order(labels: Labels, wanted: Labels) -> tuple[int, ...] | None:
    """Return the permutation that brings labels into the wanted order; None if they are in it."""
    return None if labels == wanted else tuple([labels.index(a) for a in wanted])


def _ordered(product: Product, natural: Labels, wanted: Labels) -> Product:
    """Return the product with its axes in another order, as a view."""
    order = _order(natural, wanted)
    return product if order is None else lambda x, y: product(x, y).transpose(order)


# -- nothing is summed


def _products(form: _Form) -> Product:
    """Multiply broadcast views, in the axis order of the result."""
    (left, left_key), (right, right_key) = (_aligned(labels, form.out) for labels in (form.left, form.right))
    if left is None and right is None:
        if not left_key and not right_key:
            return np.multiply
        if not right_key:
            return lambda x, y: np.multiply(x[left_key], y)
    return lambda x, y: np.multiply(_view_of(x, left, left_key), _view_of(y, right, right_key))


def _aligned(labels: Labels, out: Labels) -> tuple[tuple[int, ...] | None, tuple[Any, ...]]:
    """Return the permutation of an operand, and the key that inserts the result axes it lacks."""
    return _order(labels, tuple([a for a in out if a in labels])), _key(labels, out)


def _key(labels: Labels, wanted: Labels) -> tuple[Any, ...]:
    """Return the key that inserts axes of size 1 for missing labels; (), if all are missing in front."""
    first = next((i for i, a in enumerate(wanted) if a in labels), len(wanted))
    key = tuple([slice(None) if a in labels else None for a in wanted[first:]])
    return key if None in key else ()


def _view_of(x, order: tuple[int, ...] | None, key: tuple[Any, ...]):
    x = x if order is None else x.transpose(order)
    return x[key] if key else x


# -- vectors and matrices


def _matrices(form: _Form) -> Product:
    """Multiply matrices, with several rows, columns or summed axes merged into one; BLAS reads either memory order."""
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


def _merged(form: _Form, left, right, multiply: Product) -> Product:
    """Multiply arrays after merging all rows, all columns and all summed axes into one axis each."""
    nb, nr, ns, nc = map(len, (form.batch, form.rows, form.summed, form.columns))
    whole_x, whole_y = nr <= 1 and ns == 1, nc <= 1 and ns == 1

    def run(x, y):
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


def _has_columns_first(form: _Form) -> bool:
    """Return whether the result has its columns in front of its rows, or no rows."""
    if not form.columns or not form.rows:
        return bool(form.columns)
    return form.out.index(form.rows[0]) > form.out.index(form.columns[0])


def _stack_function(form: _Form, conjugates: bool):
    if form.columns:
        return np.matmul
    if form.rows:
        return np.matvec
    return _vectors if conjugates else np.vecdot


def _stacks(form: _Form, conjugates: bool) -> Product:
    """Multiply stacks of matrices or vectors, the batch in front: BLAS reads each of them without a copy."""
    if _has_columns_first(form):
        swapped = _stacks(form.swapped, conjugates)
        return lambda x, y: swapped(y, x)
    multiply = _stack_function(form, conjugates)
    natural = form.batch + form.rows + form.columns
    left = _order(form.left, form.batch + form.rows + form.summed)
    right = _order(form.right, form.batch + (form.summed + form.columns))
    single = len(form.summed) == 1 and len(form.rows) <= 1 and len(form.columns) <= 1
    if not single:
        return _ordered(_merged(form, left, right, multiply), natural, form.out)
    if natural != form.out and form.out[-1] not in form.batch:
        return _into_result(form, natural, left, right, multiply)
    if left is None and right is None:
        return _ordered(multiply, natural, form.out)
    return _ordered(lambda x, y: multiply(_view_of(x, left, ()), _view_of(y, right, ())), natural, form.out)


def _separated(form: _Form) -> Product:
    """Multiply stacks whose axes are rows or columns that are not adjacent in the result; one operand lacks each."""
    row, column = form.out[-2:]
    stack = form.out[:-2]
    x_labels, y_labels = ((*[a for a in stack if a in labels], *ends) for labels, ends in (
        (form.left, (row, *form.summed)), (form.right, (*form.summed, column))
    ))  # fmt: skip
    left, right = _order(form.left, x_labels), _order(form.right, y_labels)
    left_key, right_key = _key(x_labels, (*stack, row, *form.summed)), _key(y_labels, (*stack, *form.summed, column))
    return lambda x, y: np.matmul(_view_of(x, left, left_key), _view_of(y, right, right_key))


def _into_result(form: _Form, natural: Labels, left, right, multiply) -> Product:
    """Write the product to its memory in a result with another axis order."""
    to_natural = _order(form.out, natural)
    sizes = [(0, form.left.index(a)) if a in form.left else (1, form.right.index(a)) for a in form.out]

    def run(x, y):
        shapes = x.shape, y.shape
        out = np.empty([shapes[operand][axis] for operand, axis in sizes], x.dtype)
        multiply(_view_of(x, left, ()), _view_of(y, right, ()), out=out.transpose(to_natural))
        return out

    return run


def _vectors(x, y):
    """Multiply stacks of vectors without conjugating any."""
    return np.matmul(x[..., None, :], y[..., None])[..., 0, 0]


# -- the kernels


def _labels_of(rank_x: int, rank_y: int, contract: Sequence[Any], batch: Sequence[Any]) -> _Form:
    """Return the labels of a dot_general."""
    (cx, cy), (bx, by) = contract, batch
    left = tuple(range(rank_x))
    partner = dict(zip((*cy, *by), (*cx, *bx), strict=True))
    right = tuple([partner.get(axis, rank_x + axis) for axis in range(rank_y)])
    free = [rank_x + axis for axis in free_axes(rank_y, cy, by)]
    return _Form(left, right, (*bx, *free_axes(rank_x, cx, bx), *free))


def _form_of(equation: str) -> _Form:
    operands, _, out = equation.partition("->")
    left, _, right = operands.partition(",")
    return _Form(tuple(left), tuple(right), tuple(out))


def _dot_general(x, y, *, contract, batch):
    return _choose(_labels_of(np.ndim(x), np.ndim(y), contract, batch), x.dtype.kind == "c")(x, y)


def _dot_general_case(params, metas) -> Product:
    form = _labels_of(metas[0].rank, metas[1].rank, params["contract"], params["batch"])
    return _choose(form, metas[0].dtype.kind == "c")


def _contract(x, y, *, equation: str):
    return _choose(_form_of(equation), x.dtype.kind == "c")(x, y)


def _contract_case(params, metas) -> Product:
    return _choose(_form_of(params["equation"]), metas[0].dtype.kind == "c")


def _split(form: _Form, metas) -> tuple[Product, tuple[int, ...]]:
    """Return a product for several threads, and the axes that only y has: their sizes multiply the work of each row."""
    product = split_product(form.left, form.right, form.out, _choose(form, metas[0].dtype.kind == "c"), _into(form))
    return product, tuple([axis for axis, a in enumerate(form.right) if a not in form.left])


def _into(form: _Form) -> Callable[[Any, Any, Any], Any] | None:
    """Return the product of two matrices that writes to an array; None for other forms."""
    if (len(form.left), len(form.right), len(form.out), len(form.summed)) != (2, 2, 2, 1):
        return None
    if form.out == form.columns + form.rows:
        swapped = _into(form.swapped)
        return swapped and (lambda x, y, out: swapped(y, x, out))
    left, right = _order(form.left, form.rows + form.summed), _order(form.right, form.summed + form.columns)
    return lambda x, y, out: np.matmul(_view_of(x, left, ()), _view_of(y, right, ()), out=out)


def _dot_general_split(params, metas) -> tuple[Product, tuple[int, ...]]:
    return _split(_labels_of(metas[0].rank, metas[1].rank, params["contract"], params["batch"]), metas)


def _contract_split(params, metas) -> tuple[Product, tuple[int, ...]]:
    return _split(_form_of(params["equation"]), metas)


kernel(dot_general_op, _dot_general, specialise=_dot_general_case, split=_dot_general_split)
kernel(contract_op, _contract, specialise=_contract_case, split=_contract_split)
kernel(einsum_op, lambda *xs, equation: np.einsum(equation, *xs, optimize="greedy"))  # which plans never run


declare(OPAQUE._replace(scratch=op_traits.blas_copies), dot_general_op, contract_op)
declare(OPAQUE, einsum_op)  # plans hold pairs instead: see `passes/binary_einsum.py`
