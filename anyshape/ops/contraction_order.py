"""In which order more than two operands are contracted.

The work of contracting two operands is the product of the sizes of their labels. Of all orders (of up to five operands;
with more, of pairs step by step) the one with the least work is taken, where a size of which only a range is known
counts as 64, or as what is nearest to that in its range. Of equals one is taken that is proved to be no dearer than any
other, whatever the sizes; else the first, from the left. An order that is not proved to be best at all sizes is not
settled: a call that has the sizes may take another, `cheapest` for them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate
from anyshape.graph.sizes.expr import DimVar, Leaf, Size

Term: TypeAlias = frozenset[Any]
Path: TypeAlias = tuple[tuple[int, int], ...]  # positions of pairs; the product takes the place of the first of a pair
Works: TypeAlias = tuple[Term, ...]  # the labels of each pair
_USUAL = 64
_MOST = 5  # operands of which all orders are looked at


class Choice(NamedTuple):
    """An order, and whether it is known to be best at all sizes."""

    path: Path
    settled: bool


def chosen(
    ctx: ShapeGuardContext,
    terms: Sequence[Sequence[Any]],
    output: Sequence[Any],
    sizes: Mapping[Any, Size],
    *,
    neighbours: bool = False,
) -> Choice:
    """The order for operands with these labels; of `neighbours` alone, for products of matrices."""
    sets, kept = [frozenset(t) for t in terms], frozenset(output)
    count = {label: _count(size) for label, size in sizes.items()}
    known = all(isinstance(size, int) for size in sizes.values())
    if len(sets) > _MOST:
        return Choice(tuple(_step_by_step(sets, kept, count, neighbours)), known)
    orders = {frozenset(Counter(works).items()): (path, works) for path, works in _orders(sets, kept, neighbours)[::-1]}
    found = list(orders.values())[::-1]
    work = [sum(_product(w, count) for w in works) for _, works in found]
    best = [order for order, amount in zip(found, work, strict=True) if amount == min(work)]
    if known or len(found) == 1:
        return Choice(best[0][0], True)
    prover = _Prover(ctx, sizes)
    proved = [path for path, mine in best if all(prover.no_dearer(mine, works) for _, works in found)]
    return Choice(proved[0], True) if proved else Choice(best[0][0], False)


def cheapest(terms: Sequence[Sequence[Any]], output: Sequence[Any], count: Mapping[Any, int], otherwise: Path) -> Path:
    """The order with the least work at these sizes; `otherwise` where no other has less."""
    sets, kept = [frozenset(t) for t in terms], frozenset(output)
    work = lambda path: sum(_product(w, count) for w in pairs_of(sets, kept, path))
    if len(sets) > _MOST:
        return min(otherwise, tuple(_step_by_step(sets, kept, count, False)), key=work)
    return min([otherwise, *[path for path, _ in _orders(sets, kept, False)]], key=work)


def pairs_of(terms: Sequence[Iterable[Any]], output: Iterable[Any], path: Path) -> list[Term]:
    """The labels of each pair along an order."""
    left, kept, works = [frozenset(t) for t in terms], frozenset(output), []
    for i, j in path:
        work, left = _contracted(left, kept, i, j)
        works.append(work)
    return works


def _count(size: Size) -> int:
    try:
        return max(evaluate(size, _usual), 1)
    except (ZeroDivisionError, ShapeError):  # usual sizes do not fit each other
        return _USUAL


def _usual(leaf: Leaf) -> int:
    low, high = leaf.bounds() if isinstance(leaf, DimVar) else (0, None)
    size = max(_USUAL, low or 0)
    return size if high is None else min(size, high)


def _product(labels: Term, count: Mapping[Any, int]) -> int:
    return math.prod(count[a] for a in labels)


def _pairs(terms: Sequence[Term], neighbours: bool) -> list[tuple[int, int]]:
    pairs = itertools.combinations(range(len(terms)), 2)
    return [(i, j) for i, j in pairs if j == i + 1 or not neighbours]


def _contracted(terms: Sequence[Term], output: Term, i: int, j: int) -> tuple[Term, list[Term]]:
    """The labels of a pair, without those that are summed before, and the operands that are left."""
    rest = [t for k, t in enumerate(terms) if k not in (i, j)]
    needed = output.union(*rest)
    work = (terms[i] & (needed | terms[j])) | (terms[j] & (needed | terms[i]))
    return work, [*rest[:i], work & needed, *rest[i:]]


def _orders(terms: Sequence[Term], output: Term, neighbours: bool) -> list[tuple[Path, Works]]:
    if len(terms) < 2:
        return [((), ())]
    found = []
    for i, j in _pairs(terms, neighbours):
        work, left = _contracted(terms, output, i, j)
        found += [(((i, j), *path), (work, *works)) for path, works in _orders(left, output, neighbours)]
    return found


def _step_by_step(
    terms: Sequence[Term], output: Term, count: Mapping[Any, int], neighbours: bool
) -> Iterator[tuple[int, int]]:
    """The pair that leaves the fewest elements, of equals the one with the least work, again and again."""

    def left_over(pair: tuple[int, int]) -> tuple[int, int]:
        work, left = _contracted(terms, output, *pair)
        return sum(_product(t, count) for t in left), _product(work, count)

    while len(terms) > 1:
        pair = min(_pairs(terms, neighbours), key=left_over)
        yield pair
        terms = _contracted(terms, output, *pair)[1]


class _Prover:
    """What is proved about the work of orders, for sizes of at least 1."""

    def __init__(self, ctx: ShapeGuardContext, sizes: Mapping[Any, Size]) -> None:
        self.scope, self.sizes = ctx.scope, sizes
        self.known: dict[tuple[Any, Any], bool] = {}

    def no_dearer(self, works: Works, others: Works) -> bool:
        """Each of the works is at most one of the others."""
        orders = itertools.permutations(others)
        return any(all(self._within(w, o) for w, o in zip(works, order, strict=True)) for order in orders)

    def _within(self, work: Term, other: Term) -> bool:
        mine, theirs = sorted(work - other, key=str), sorted(other - work, key=str)
        orders = itertools.permutations(theirs, len(mine))
        return any(all(self._at_most(a, b) for a, b in zip(mine, order, strict=True)) for order in orders)

    def _at_most(self, a: Any, b: Any) -> bool:
        if (a, b) not in self.known:
            gap = expr.sub(self.scope.normal(self.sizes[b]), self.scope.normal(self.sizes[a]))
            low = expr.bounds(gap)[0]
            self.known[a, b] = (low is not None and low >= 0) or self.scope.proves(at_least(gap, 0))
        return self.known[a, b]
