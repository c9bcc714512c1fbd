"""np.einsum: operands are contracted in pairs, in an order chosen by what is known of sizes; these may be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, SpecError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.shapes.shape_rules import broadcast_size
from anyshape.graph.sizes.expr import Size
from anyshape.numpy.operands.promotion import NUMERIC, asarray, is_traced, sizes
from anyshape.numpy.reduction_args import as_arrays
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.apply import context_of
from anyshape.ops.contraction import LETTERS, dot_general, equation_of
from anyshape.ops.contraction import einsum as product
from anyshape.ops.contraction_order import Choice, chosen
from anyshape.ops.creation import iota
from anyshape.ops.indexing import take_at

Labels = tuple[Any, ...]
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")
_ORDERS = ("C", "F", "A", "K")


def einsum(
    *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, casting: Any = "safe", order: Any = "K"
) -> Any:
    """As `numpy.einsum`, in either form; `optimize` is accepted and ignored, as the sizes of a call choose the order in
    which operands are contracted. So is `order`, which is about memory.
    """
    if not is_traced(*operands):
        return np.einsum(*operands, out=out, optimize=optimize, dtype=dtype, casting=casting, order=order)
    if out is not None:
        advice = "use the result instead"
        raise UnsupportedFunctionError("einsum", "option 'out' of a traced array", advice, user_line())
    for option, value, known in (("casting", casting, _CASTINGS), ("order", order, _ORDERS)):
        if not isinstance(value, str) or value not in known:
            raise SpecError(str(value), f"einsum knows no such {option}", f"write one of {', '.join(known)}")
    equation, arrays = _string_form(operands)
    xs = _cast(as_arrays("einsum", *arrays), dtype, casting)
    inputs, output = _parse(equation, [x.ndim for x in xs])
    return _Contraction(xs, inputs, output).run()


def _cast(xs: list[Any], dtype: Any, casting: str) -> list[Any]:
    """The operands in the dtype to compute in: that which is asked for, or their common one."""
    target = np.dtype(dtype) if dtype is not None else np.result_type(*[x.dtype for x in xs])
    if target.kind not in NUMERIC:
        raise DTypeError("einsum", f"there are no traced arrays of {target}", "use a dtype of numbers", user_line())
    for i, x in enumerate(xs):
        if not np.can_cast(x.dtype, target, casting):
            why = f"operand {i} is {x.dtype}, which the rule {casting!r} does not cast to {target}"
            raise DTypeError("einsum", why, "convert it with astype, or pass another `casting`", user_line())
    return [asarray(x, target) for x in xs]


# -- the equation ------------------------------------------------------------------------------------------------


def _fail(equation: str, problem: str) -> SpecError:
    return SpecError(equation, f"the einsum equation {problem}", "write it as numpy.einsum takes it")


def _string_form(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """The equation as a string and the arrays, from either way to write them."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    pairs, rest = divmod(len(operands), 2)
    arrays, lists = list(operands[0 : 2 * pairs : 2]), list(operands[1 : 2 * pairs : 2])
    equation = ",".join(map(_sublist, lists))
    return (f"{equation}->{_sublist(operands[-1])}" if rest else equation), arrays


def _sublist(labels: Sequence[Any]) -> str:
    """[0, 1, Ellipsis] as 'AB...'."""
    for n in labels:
        if n is not Ellipsis and (isinstance(n, bool) or not isinstance(n, (int, np.integer))):
            raise ArgumentError("einsum", f"the label {n!r}", "is no integer", "label axes by integers, or ...")
        if n is not Ellipsis and not 0 <= n < len(LETTERS):
            raise SpecError(str(labels), f"the label {n} is not in 0..{len(LETTERS) - 1}", "use others for the axes")
    return "".join("..." if n is Ellipsis else LETTERS[n] for n in labels)


def _parse(equation: str, ranks: Sequence[int]) -> tuple[list[Labels], Labels]:
    """The labels of the axes of each operand and of the result. Those of an ellipsis are numbers: ..., -2, -1."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _fail(equation, f"names {len(terms)} operands of {len(ranks)}")
    inputs = [_term(equation, t, rank) for t, rank in zip(terms, ranks, strict=True)]
    broad = sorted({a for labels in inputs for a in labels if isinstance(a, int)})
    letters = [a for labels in inputs for a in labels if isinstance(a, str)]
    if not arrow:
        return inputs, (*broad, *sorted(a for a in set(letters) if letters.count(a) == 1))
    head, dots, tail = right.partition("...")
    if broad and not dots:
        raise _fail(equation, "has an ellipsis in an operand and none in the result")
    output = (*head, *(broad if dots else ()), *tail)
    if len(set(output)) != len(output):
        raise _fail(equation, "repeats a label in the result")
    missing = [a for a in output if isinstance(a, str) and a not in letters]
    if missing:
        raise _fail(equation, f"has the label {missing[0]!r} in the result alone")
    return inputs, output


def _term(equation: str, term: str, rank: int) -> Labels:
    head, dots, tail = term.partition("...")
    if not all(c in LETTERS for c in head + tail):
        raise _fail(equation, f"has characters that are no labels in {term!r}")
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
        """One size for each label: as in NumPy, an axis of size 1 is repeated. One that the result has is left out
        where it is known to be 1: the others have it.
        """
        ctx = context_of("einsum", *[x for x, _ in self.terms])
        found: dict[Any, Size] = {}
        for x, labels in self.terms:
            for label, size in zip(labels, sizes(x), strict=True):
                found[label] = broadcast_size(ctx, found[label], size) if label in found else size
        for i, (x, labels) in enumerate(self.terms):
            pairs = list(zip(labels, sizes(x), strict=True))
            ones = [axis for axis, (a, size) in enumerate(pairs) if size == 1 != found[a] and a in self.output]
            left = tuple([a for axis, a in enumerate(labels) if axis not in ones])
            self.terms[i] = mv.broadcast_to(mv.drop(x, ones), [found[a] for a in left]), left

    def run(self) -> Any:
        """In pairs, in the order that is best; where that is not settled, plans have to choose it."""
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

    def _order(self) -> Choice:
        """The pairs to contract."""
        if len(self.terms) < 3:
            return Choice(((0, 1),) if len(self.terms) == 2 else (), True)
        ctx = context_of("einsum", *[x for x, _ in self.terms])
        found = {a: size for x, labels in self.terms for a, size in zip(labels, sizes(x), strict=True)}
        return chosen(ctx, [labels for _, labels in self.terms], self.output, found)

    def _needed(self, i: int) -> set[Any]:
        """The labels that other operands have, or the result."""
        return set(self.output).union(*[labels for j, (_, labels) in enumerate(self.terms) if j != i])

    def _pair(self, first: tuple[Any, Labels], second: tuple[Any, Labels]) -> tuple[Any, Labels]:
        """The product of two operands, summed over the labels that are not needed any more."""
        needed = set(self.output).union(*[labels for _, labels in self.terms])
        x, left = _summed(*first, needed | set(second[1]))
        y, right = _summed(*second, needed | set(left))
        shared = [a for a in left if a in right]
        batch, contract = [a for a in shared if a in needed], [a for a in shared if a not in needed]
        product = dot_general(
            x, y, tuple([side.index(a) for a in contract] for side in (left, right)),
            tuple([side.index(a) for a in batch] for side in (left, right)),
        )  # fmt: skip
        return product, (*batch, *[a for a in left if a not in shared], *[a for a in right if a not in shared])


def _summed(x: Any, labels: Labels, needed: set[Any]) -> tuple[Any, Labels]:
    """Sum over the labels that are not needed; of booleans, whether any is true."""
    axes = [i for i, a in enumerate(labels) if a not in needed]
    reduce = rd.reduce_or if x.dtype.kind == "b" else rd.reduce_sum
    return reduce(x, axes), tuple([a for a in labels if a in needed])


def _diagonals(x: Any, labels: Labels) -> tuple[Any, Labels]:
    """The operand with each label once: of axes of one label, their diagonal."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            shape, ctx = sizes(x), context_of("einsum", x)
            m, n = shape[first], shape[second]
            ctx.require_equal(m, n, f"axes of the label {label!r} have sizes {m} and {n}")
            index = iota(m)
            x = take_at(x, (index, index), (first, second))
            rest = [a for i, a in enumerate(labels) if i not in (first, second)]
            at = first if second == first + 1 else 0
            labels = (*rest[:at], label, *rest[at:])
    return x, labels
