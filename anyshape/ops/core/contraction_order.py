"""Contraction paths: the order in which the operands of a product are contracted in pairs.

The work of contracting two operands is the product of the sizes of their labels. Of all paths, the one with the least
work is chosen; with more than five operands, greedily pair by pair. A size that is not known counts as 64, or as the
nearest size in its range.

Among equals, a path that is proved to be cheapest at all sizes is preferred, then the first one from the left. A path
without such a proof is not settled: a call, which has the sizes, may take its own `cheapest_path`.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import at_least
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, Leaf, Size
from anyshape.graph.sizes.substitute import evaluate
from anyshape.support.lazy_dataclass import NamedTuple

Term: TypeAlias = frozenset[Any]
Path: TypeAlias = tuple[tuple[int, int], ...]  # positions of pairs; a result takes the position of the first of a pair
Pairs: TypeAlias = tuple[Term, ...]  # the labels of each contracted pair
Candidate: TypeAlias = tuple[Path, Pairs]
_DEFAULT_SIZE = 64
_MAX_EXHAUSTIVE = 5  # operands up to which all paths are compared


class PathChoice(NamedTuple):
    """Path, and whether it is proved to be cheapest at all sizes."""

    path: Path
    settled: bool


def choose_path(
    ctx: ShapeGuardContext,
    terms: Sequence[Sequence[Any]],
    output: Sequence[Any],
    sizes: Mapping[Any, Size],
    *,
    adjacent_only: bool = False,
) -> PathChoice:
    """Choose the path for operands with these labels; `adjacent_only` is for chains of matrices."""
    operands, out = [frozenset(t) for t in terms], frozenset(output)
    numbers = {label: _default_number(size) for label, size in sizes.items()}
    are_known = not any(isinstance(size, DimExpr) for size in sizes.values())
    if len(operands) > _MAX_EXHAUSTIVE:
        return PathChoice(tuple(_greedy_path(operands, out, numbers, adjacent_only)), are_known)
    candidates = _distinct_paths(operands, out, adjacent_only)
    cheapest = _minima(candidates, key=lambda candidate: _total_work(candidate[1], numbers))
    if are_known or len(candidates) == 1:
        return PathChoice(cheapest[0][0], True)
    prover = _WorkProver(ctx, sizes)
    for path, pairs in cheapest:
        if all(prover.costs_at_most(pairs, others) for _, others in candidates):
            return PathChoice(path, True)
    return PathChoice(cheapest[0][0], False)


def cheapest_path(
    terms: Sequence[Sequence[Any]], output: Sequence[Any], numbers: Mapping[Any, int], default: Path
) -> Path:
    """Return the path with the least work at these sizes; the default one wins a tie."""
    operands, out = [frozenset(t) for t in terms], frozenset(output)
    if len(operands) > _MAX_EXHAUSTIVE:
        others = [tuple(_greedy_path(operands, out, numbers, False))]
    else:
        others = [path for path, _ in _all_paths(operands, out, False)]
    return min([default, *others], key=lambda path: _total_work(contracted_pairs(operands, out, path), numbers))


def contracted_pairs(terms: Sequence[Iterable[Any]], output: Iterable[Any], path: Path) -> list[Term]:
    """Return the labels of each pair that is contracted along a path."""
    operands, out, pairs = [frozenset(t) for t in terms], frozenset(output), []
    for i, j in path:
        pair, operands = _contract(operands, out, i, j)
        pairs.append(pair)
    return pairs


def _minima(candidates: Sequence[Candidate], key: Callable[[Candidate], int]) -> list[Candidate]:
    """Return all candidates with the least key."""
    keys = [key(candidate) for candidate in candidates]
    return [candidate for candidate, own in zip(candidates, keys, strict=True) if own == min(keys)]


# -- work at numbers


def _default_number(size: Size) -> int:
    try:
        return max(evaluate(size, _default_of_leaf), 1)
    except (ZeroDivisionError, ShapeError):  # default sizes contradict each other
        return _DEFAULT_SIZE


def _default_of_leaf(leaf: Leaf) -> int:
    low, high = leaf.interval if isinstance(leaf, DimVar) else (0, None)
    size = max(_DEFAULT_SIZE, low or 0)
    return size if high is None else min(size, high)


def _work(labels: Term, numbers: Mapping[Any, int]) -> int:
    return math.prod([numbers[label] for label in labels])


def _total_work(pairs: Iterable[Term], numbers: Mapping[Any, int]) -> int:
    return sum([_work(pair, numbers) for pair in pairs])


# -- paths


def _positions(count: int, adjacent_only: bool) -> list[tuple[int, int]]:
    """Return the positions of all pairs of so many operands."""
    return [(i, j) for i, j in itertools.combinations(range(count), 2) if j == i + 1 or not adjacent_only]


def _contract(operands: Sequence[Term], output: Term, i: int, j: int) -> tuple[Term, list[Term]]:
    """Return the labels of a contracted pair, and the operands that are left.

    A label that only one operand of the pair has is summed before, and does not count.
    """
    rest = [t for k, t in enumerate(operands) if k not in (i, j)]
    needed = output.union(*rest)
    pair = (operands[i] & (needed | operands[j])) | (operands[j] & (needed | operands[i]))
    return pair, [*rest[:i], pair & needed, *rest[i:]]


def _all_paths(operands: Sequence[Term], output: Term, adjacent_only: bool) -> list[Candidate]:
    if len(operands) < 2:
        return [((), ())]
    paths = []
    for i, j in _positions(len(operands), adjacent_only):
        pair, left = _contract(operands, output, i, j)
        paths += [(((i, j), *path), (pair, *pairs)) for path, pairs in _all_paths(left, output, adjacent_only)]
    return paths


def _distinct_paths(operands: Sequence[Term], output: Term, adjacent_only: bool) -> list[Candidate]:
    """Return the first of all paths with the same pairs."""
    paths = _all_paths(operands, output, adjacent_only)
    first = {frozenset(Counter(pairs).items()): (path, pairs) for path, pairs in reversed(paths)}
    return list(first.values())[::-1]


def _greedy_path(
    operands: Sequence[Term], output: Term, numbers: Mapping[Any, int], adjacent_only: bool
) -> Iterator[tuple[int, int]]:
    """Take the pair that leaves the fewest elements each time; among equals, the one with the least work."""

    def elements_left(position: tuple[int, int]) -> tuple[int, int]:
        pair, left = _contract(operands, output, *position)
        return _total_work(left, numbers), _work(pair, numbers)

    while len(operands) > 1:
        position = min(_positions(len(operands), adjacent_only), key=elements_left)
        yield position
        operands = _contract(operands, output, *position)[1]


# -- proofs about work


class _WorkProver:
    """Proves inequalities between the work of paths, for sizes of at least 1."""

    def __init__(self, ctx: ShapeGuardContext, sizes: Mapping[Any, Size]) -> None:
        self.scope, self.sizes = ctx.scope, sizes
        self.proved: dict[tuple[Any, Any], bool] = {}

    def costs_at_most(self, pairs: Pairs, others: Pairs) -> bool:
        """Return whether each pair is proved to cost at most one of the others, a different one each."""
        orders = itertools.permutations(others)
        return any(all(self._pair_at_most(p, o) for p, o in zip(pairs, order, strict=True)) for order in orders)

    def _pair_at_most(self, pair: Term, other: Term) -> bool:
        mine, theirs = sorted(pair - other, key=str), sorted(other - pair, key=str)
        orders = itertools.permutations(theirs, len(mine))
        return any(all(self._size_at_most(a, b) for a, b in zip(mine, order, strict=True)) for order in orders)

    def _size_at_most(self, a, b) -> bool:
        if (a, b) not in self.proved:
            gap = expr.sub(self.scope.normal(self.sizes[b]), self.scope.normal(self.sizes[a]))
            low = expr.bounds(gap)[0]
            self.proved[a, b] = (low is not None and low >= 0) or self.scope.proves(at_least(gap, 0))
        return self.proved[a, b]
