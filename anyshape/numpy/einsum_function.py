"""Define `einsum`: parse the equation and contract operands in pairs.

The contraction path is chosen by the known sizes, which may be symbolic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, SpecError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.claim_text import OperandAxes
from anyshape.graph.shapes.shape_rules import broadcast_size
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.at_update import Indexed
from anyshape.numpy.operands.memory import writes_out
from anyshape.numpy.operands.promotion import (
    CASTINGS,
    NUMERIC,
    ORDERS,
    asarray,
    choice_of,
    is_traced,
    number_dtype,
    sizes,
)
from anyshape.numpy.operands.reduction_args import as_operands, plus_zero, refuse_out
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.contraction import LETTERS, dot_general, equation_of
from anyshape.ops.contraction import einsum as product
from anyshape.ops.core.apply import context_of
from anyshape.ops.core.contraction_order import PathChoice, choose_path
from anyshape.ops.creation import iota
from anyshape.ops.indexing import take_at
from anyshape.support.true_types import has_type

Labels = tuple[Any, ...]


@writes_out
def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, casting: Any = "safe", order: Any = "K"
) -> Any:
    """Return the sum of products over labelled axes, with the equation as a string or as lists of integers.

    The sizes of a call choose the contraction path, so `optimize` is ignored for traced operands. So is `order`, since
    values of a program have no memory layout. With traced operands `out` must be traced too.
    """
    if not is_traced(*operands):
        return np.einsum(*operands, out=out, optimize=optimize, dtype=dtype, casting=casting, order=order)
    refuse_out("einsum", out)
    choice_of("einsum", "casting", casting, CASTINGS)
    choice_of("einsum", "order", order, ORDERS)
    equation, arrays = _string_form(operands)
    xs = _cast(as_operands("einsum", *arrays), dtype, casting)
    inputs, output = _parse(equation, [x.ndim for x in xs])
    return _Contraction(xs, inputs, output).run()


def _cast(xs: list[Any], dtype: Any, casting: str) -> list[Any]:
    """Return the operands in `dtype`, or in the dtype that they promote to."""
    target = number_dtype(dtype, "einsum") if dtype is not None else np.result_type(*[x.dtype for x in xs])
    if target.kind not in NUMERIC:
        raise DTypeError("einsum", f"there are no traced arrays of {target}", "use a dtype of numbers", user_line())
    for i, x in enumerate(xs):
        if not np.can_cast(x.dtype, target, casting):
            why = f"operand {i} is {x.dtype}, which the rule {casting!r} does not cast to {target}"
            raise DTypeError("einsum", why, "convert it with astype, or pass another `casting`", user_line())
    return [asarray(x, target) for x in xs]


# -- the equation ------------------------------------------------------------------------------------------------


def _fail(equation: str, problem: str, advice: str = "write it as numpy.einsum takes it") -> SpecError:
    """Return the error for an equation that cannot be read."""
    error = SpecError(equation, f"the einsum equation {problem}", advice)
    error.locate(user_line())
    return error


def _string_form(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the equation as a string and the arrays, from either form of the call."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    pairs, rest = divmod(len(operands), 2)
    arrays, lists = list(operands[0 : 2 * pairs : 2]), list(operands[1 : 2 * pairs : 2])
    equation = ",".join(map(_sublist, lists))
    return (f"{equation}->{_sublist(operands[-1])}" if rest else equation), arrays


def _sublist(labels: Sequence[Any]) -> str:
    """Return [0, 1, Ellipsis] as "AB..."."""
    for n in labels:
        if n is not Ellipsis and (has_type(n, bool) or not has_type(n, (int, np.integer))):
            raise ArgumentError("einsum", f"the label {n!r}", "is not an integer", "label axes by integers, or ...")
        if n is not Ellipsis and not 0 <= n < len(LETTERS):
            raise SpecError(str(labels), f"the label {n} is not in 0..{len(LETTERS) - 1}", "use others for the axes")
    return "".join("..." if n is Ellipsis else LETTERS[n] for n in labels)


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """Return the labels of the axes of each operand and of the result.

    Axes of an ellipsis are labelled by numbers: ..., -2, -1.
    """
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _fail(equation, f"names {len(terms)} operands of {len(ranks)}", "write one term for each operand")
    inputs = [_term(equation, t, rank) for t, rank in zip(terms, ranks, strict=True)]
    counts = Counter(chain.from_iterable(inputs))
    ellipsis_axes = sorted(a for a in counts if has_type(a, int))
    if not arrow:
        return inputs, (*ellipsis_axes, *sorted(a for a, n in counts.items() if n == 1 and isinstance(a, str)))
    return inputs, _result_labels(equation, right, ellipsis_axes, counts)


def _result_labels(equation: str, term: str, ellipsis_axes: Sequence[int], known: Collection[Any]) -> Labels:
    """Return the labels of the result; an operand must have each of them."""
    head, dots, tail = term.partition("...")
    if ellipsis_axes and not dots:
        raise _fail(equation, "has an ellipsis in an operand and none in the result")
    output = (*head, *ellipsis_axes, *tail)
    if len(set(output)) != len(output):
        raise _fail(equation, "repeats a label in the result")
    missing = [a for a in output if a not in known]
    if missing:
        raise _fail(equation, f"has the label {missing[0]!r} in the result alone", "name it in an operand too")
    return output


def _term(equation: str, term: str, rank: int) -> Labels:
    """Return the labels of the axes of one operand."""
    head, dots, tail = term.partition("...")
    if not all(c in LETTERS for c in head + tail):
        raise _fail(equation, f"has characters that are not labels in {term!r}")
    spare = rank - len(head) - len(tail)
    if spare < 0 or (spare > 0 and not dots):
        raise _fail(equation, f"names {len(head + tail)} axes of an operand of rank {rank}")
    return (*head, *range(-spare, 0), *tail)


# -- the contraction ---------------------------------------------------------------------------------------------


class _Contraction:
    """Operands with labelled axes, contracted in pairs until one is left."""

    def __init__(self, xs: list[Any], inputs: list[Labels], output: Labels) -> None:
        self.output = output
        self.terms = [_diagonals(x, labels) for x, labels in zip(xs, inputs, strict=True)]
        self._stretch()

    def _stretch(self) -> None:
        """Give each label one size: as in NumPy, an axis of size 1 is repeated.

        An axis known to have size 1 is dropped where the result has its label, since other operands have it in full.
        """
        ctx = context_of("einsum", *[x for x, _ in self.terms])
        size_of_label: dict[Any, Size] = {}
        owners: dict[Any, tuple[int, int]] = {}
        for i, (x, labels) in enumerate(self.terms):
            for axis, (label, size) in enumerate(zip(labels, sizes(x), strict=True)):
                axes = OperandAxes(len(self.terms), owners.setdefault(label, (i, axis)), (i, axis))
                known = size_of_label.get(label)
                size_of_label[label] = size if known is None else broadcast_size(ctx, known, size, axes)
        for i, (x, labels) in enumerate(self.terms):
            pairs = list(zip(labels, sizes(x), strict=True))
            ones = [axis for axis, (a, size) in enumerate(pairs) if size == 1 != size_of_label[a] and a in self.output]
            left = tuple([a for axis, a in enumerate(labels) if axis not in ones])
            self.terms[i] = mv.broadcast_to(mv.drop(x, ones), [size_of_label[a] for a in left]), left

    def run(self) -> Any:
        """Contract along the best path; where the path is not settled, emit one op whose plan chooses it."""
        choice = self._order()
        if not choice.settled:
            self.terms = [_summed(*term, self._needed(i)) for i, term in enumerate(self.terms)]
            equation = equation_of([labels for _, labels in self.terms], self.output)
            if equation and self.terms[0][0].dtype.kind != "b":
                return product([x for x, _ in self.terms], equation)
        for i, j in choice.path:
            y, x = self.terms.pop(j), self.terms.pop(i)
            self.terms.insert(i, self._pair(x, y))
        x, labels = _summed(*self.terms[0], set(self.output))
        return mv.transpose(x, [labels.index(a) for a in self.output])

    def _order(self) -> PathChoice:
        """Return the contraction path."""
        if len(self.terms) < 3:
            return PathChoice(((0, 1),) if len(self.terms) == 2 else (), True)
        ctx = context_of("einsum", *[x for x, _ in self.terms])
        size_of_label = {a: size for x, labels in self.terms for a, size in zip(labels, sizes(x), strict=True)}
        return choose_path(ctx, [labels for _, labels in self.terms], self.output, size_of_label)

    def _needed(self, i: int) -> set[Any]:
        """Return the labels that the result or another operand has."""
        return set(self.output).union(*[labels for j, (_, labels) in enumerate(self.terms) if j != i])

    def _pair(self, first: tuple[Any, Labels], second: tuple[Any, Labels]) -> tuple[Any, Labels]:
        """Return the product of two operands, summed over the labels that nothing else needs."""
        needed = set(self.output).union(*[labels for _, labels in self.terms])
        x, left = _summed(*first, needed | set(second[1]))
        y, right = _summed(*second, needed | set(left))
        shared = [a for a in left if a in right]
        batch, contracted = [a for a in shared if a in needed], [a for a in shared if a not in needed]
        result = dot_general(
            x, y, (_positions(contracted, left), _positions(contracted, right)),
            (_positions(batch, left), _positions(batch, right)),
        )  # fmt: skip
        if not contracted:
            result = plus_zero(result)
        return result, (*batch, *[a for a in (*left, *right) if a not in shared])


def _positions(labels: Sequence[Any], axes: Labels) -> list[int]:
    """Return the position of each label among the axes of an operand."""
    return [axes.index(a) for a in labels]


def _summed(x: Any, labels: Labels, needed: set[Any]) -> tuple[Any, Labels]:
    """Return an operand summed over the labels that are not needed; booleans are combined by `or`."""
    axes = [i for i, a in enumerate(labels) if a not in needed]
    reduce = rd.reduce_or if x.dtype.kind == "b" else rd.reduce_sum
    return reduce(x, axes), tuple([a for a in labels if a in needed])


def _diagonal(x: Any, size: Size, first: int, second: int) -> Any:
    """Return the diagonal of two axes of one size, as a view that NumPy writes through."""
    index = iota(size)
    key: list[Any] = [slice(None)] * x.ndim
    key[first] = key[second] = index
    take = lambda base: take_at(base, (index, index), (first, second))
    write = lambda base, part: Indexed(base.unshared(), tuple(key)).set(part)
    return mv.viewed(take(x).unshared(), x, take, write, ("einsum", first, second))


def _diagonals(x: Any, labels: Labels) -> tuple[Any, Labels]:
    """Return the operand with each label once: axes that share a label give their diagonal."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            shape, ctx = sizes(x), context_of("einsum", x)
            m, n = shape[first], shape[second]
            ctx.require_equal(m, n, f"axes of the label {label!r} have sizes {m} and {n}")
            x = _diagonal(x, m, first, second)
            rest = [a for i, a in enumerate(labels) if i not in (first, second)]
            at = first if second == first + 1 else 0
            labels = (*rest[:at], label, *rest[at:])
    return x, labels
