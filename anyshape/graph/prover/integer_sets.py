"""Integer sets behind the prover: emptiness, bounds and points of sets of assignments, by isl (islpy).

Complete for linear arithmetic with quotients and remainders by constants, extrema and broadcasts, within limits.
Facts that would make a set too heavy for isl are left out. A query that exceeds its operations or its time raises
`OutOfBudgetError`. The time of one call of isl is bounded by the weight of its input, as isl cannot be interrupted.
"""

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from anyshape.graph.prover import linear_constraints as linear
from anyshape.graph.prover import search_budget
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.symbols import RuntimeScalar
from anyshape.support.packages import islpy as isl

_OPERATIONS = 10_000  # of isl, for one query: a good part of a second at the worst
_FEW_ENTRIES = 500  # up to which the verdict never depends on a clock
_WORK = 20_000_000  # entries of a matrix times operations on all of it, for small numbers
_SECONDS = 0.3  # of the thread's time, for one query, checked between calls of isl
# Weights are sixteenths of a bit by which constraints exceed `a >= b`. When isl solves equalities, the digits of its
# numbers double with each of them, without counting any operation. Systems of 26 bits can take more than 0.1 s.
_FACTS_WEIGHT = 16 * 20
_WEIGHT = 16 * 32
_PRODUCTS_WEIGHT = 16 * 128  # of the constraints on products, which are few
_HEAVY = 16 * 10  # beyond it, numbers become large in each operation
_LIGHT = 16 * 6  # up to it, every call of isl ends soon, also the search for the lexicographically first point
_LEAVES = 400  # polyhedra of one search
_CASES = 24  # that are split in one search
_COLUMNS = 14  # with products; beyond it, points are sought among the rationals
_PRODUCTS = 6  # of the facts, and of one query
_ROWS = 8  # of a matrix that is filled: isl copies all of it for each entry
# isl's search for an optimum counts no operations. Beyond these coefficients any point will do for a first one, and
# bounds are found by bisection.
_MODERATE = 1 << 8
_LARGE = 1 << 20
_DOUBLINGS = 64  # of the step of a bisection, after which the side counts as unbounded
_SMALL = 1 << 12  # numbers below it are made once per thread
_VALUE = expr.from_atom(RuntimeScalar(-1))  # stands for the size whose range is sought


class _Numbers(dict[int, Any]):
    """Numbers as isl's. The small ones stay."""

    def __init__(self, context: Any) -> None:
        super().__init__()
        self.context = context

    def __missing__(self, value: int) -> Any:
        if not -_SMALL < value < _SMALL:
            return isl.Val.read_from_str(self.context, str(value))
        number = self[value] = isl.Val.int_from_si(self.context, value)
        return number


class _Thread(threading.local):
    """isl's context of a thread, made at its first query, with small numbers as isl's."""

    context: Any = None
    numbers: _Numbers
    kinds: tuple[Any, ...]  # of the columns of a matrix, in their order

    def start(self) -> Any:
        if self.context is None:
            context, kinds = isl.Context(), isl.dim_type
            self.context, self.numbers = context, _Numbers(context)
            self.kinds = kinds.set, kinds.div, kinds.param, kinds.cst
        return self.context


_THREAD = _Thread()


class _LimitedBlock:
    """Block with a limit on the operations of isl: beyond it, OutOfBudgetError."""

    __slots__ = ("operations",)

    def __init__(self, operations: int) -> None:
        self.operations = operations

    def __enter__(self) -> None:
        context = _THREAD.start()
        context.reset_operations()
        context.set_max_operations(self.operations)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        _THREAD.context.set_max_operations(0)
        if isinstance(error, isl.Error):
            raise search_budget.OutOfBudgetError from error


class _Case:
    """Alternatives, each made a polyhedron at its first use."""

    def __init__(
        self, alternatives: Sequence[list[linear.Constraint]], make: Callable[[Sequence[linear.Constraint]], Any]
    ) -> None:
        self.alternatives, self.make = alternatives, make
        self.made: list[Any] = []

    def polyhedra(self) -> Iterator[Any]:
        for i, constraints in enumerate(self.alternatives):
            if i == len(self.made):
                self.made.append(self.make(constraints))
            yield self.made[i]

    def holds(self, point: Sequence[int]) -> bool:
        """Return whether a point satisfies one of the alternatives."""
        return any(all(_holds(c, point) for c in constraints) for constraints in self.alternatives)


def _holds(constraint: linear.Constraint, point: Sequence[int]) -> bool:
    value = constraint.constant
    for column, coefficient in constraint.coefficients.items():
        value += coefficient * point[column]
    return value == 0 if constraint.relation == "==" else value >= 0


def _unconditional(alternatives: Sequence[Sequence[Sequence[linear.Constraint]]]) -> list[linear.Constraint]:
    """Return the constraints that hold without a choice."""
    return [c for a in alternatives if len(a) == 1 for c in a[0]]


class IntegerSet:
    """Set of the assignments that satisfy claims: a union of integer polyhedra, made when they are needed."""

    def __init__(self, facts: Sequence[Claim]) -> None:
        self.forms: linear.LinearForms = linear.LinearForms()
        self.facts: list[linear.Alternatives] = []
        self._constraints: list[list[list[linear.Constraint]]] = []  # of each fact
        self._largest = self._weight = self._heaviest = 0
        self._until = math.inf
        products = 0
        for fact in facts:  # leaving out a fact is sound: it enlarges the set
            count = linear.count_products(fact.left) + linear.count_products(fact.right)
            if count == 0 or products + count <= _PRODUCTS:
                products += count * self._add_fact(linear.rows_of(fact))
        self._base: Any = None  # the polyhedron of everything unconditional
        self._base_columns = 0  # how many columns it has
        self._cases: list[_Case] = []

    def _add_fact(self, fact: linear.Alternatives) -> bool:
        """Add the fact unless it is too heavy; return whether it was added."""
        snapshot = self.forms.snapshot()
        constraints = self._to_constraints(fact)
        if weights := self._weights(constraints) + self._weights_since(snapshot):
            weight, heaviest = self._weight + sum(weights), max(self._heaviest, *weights)
            if weight - heaviest > _FACTS_WEIGHT:
                self.forms.roll_back(snapshot)
                return False
            self._weight, self._heaviest = weight, heaviest
        self.facts.append(fact)
        self._constraints.append(constraints)
        return True

    def _weights(self, alternatives: Sequence[Sequence[linear.Constraint]]) -> list[int]:
        """Return the weights of the heaviest alternative."""
        if len(alternatives) == 1:
            return [w for c in alternatives[0] if len(c.coefficients) > 1 and (w := _weight_of(c))]
        return max([self._weights([constraints]) for constraints in alternatives], key=sum, default=[])

    def _weights_since(self, snapshot: linear.Snapshot) -> list[int]:
        """Return the weights of the definitions and cases that were added since the snapshot."""
        if len(self.forms.columns) == snapshot.columns:
            return []
        weights = self._weights([self.forms.definitions[snapshot.definitions :]])
        for case in self.forms.cases[snapshot.cases :]:
            weights += self._weights(case)
        return weights

    def range(self, size: Size) -> tuple[Bound, Bound] | None:
        """Return the least and the greatest value of the size; None if the set is empty."""
        ranges = []
        with self._query():
            for leaf in self._leaves([[[linear.Row(_VALUE, "==", size)]]]):
                if self._is_hard():
                    raise search_budget.OutOfBudgetError
                (position,) = self.forms.form(_VALUE)[0]
                if self._largest > _LARGE or self._weight - self._heaviest > _HEAVY:
                    ranges.append(self._bisected_range(leaf, position, size))
                else:
                    part = leaf.to_set()
                    ranges.append((_integer(part.dim_min_val(position)), _integer(part.dim_max_val(position))))
        return _hull(ranges) if ranges else None

    def _bisected_range(self, leaf, position: int, size: Size) -> tuple[Bound, Bound]:
        """Return the range of one column by bisection: each step queries whether any point lies on one side.

        Each side has a budget of operations of its own. A side that exceeds it, or the time, gets its bound from
        intervals.
        """
        until = self._until
        self._check_time()
        value = _number(leaf.sample_point().get_coordinate_val(isl.dim_type.set, position))
        low, high = expr.bounds(size)
        with contextlib.suppress(search_budget.OutOfBudgetError), self._query():
            self._until = until
            low = self._least(leaf, position, value, low, 1)
        with contextlib.suppress(search_budget.OutOfBudgetError), self._query():
            self._until = until
            negated = self._least(leaf, position, -value, None if high is None else -high, -1)
            high = None if negated is None else -negated
        _THREAD.context.set_max_operations(_OPERATIONS)
        return low, high

    def _least(self, leaf, position: int, reached: int, low: Bound, sign: int) -> Bound:
        """Return the least value of sign * column, given a value that is `reached` and a lower bound, if known."""

        def reaches(value: int) -> bool:
            self._check_time()
            below = self._polyhedron([linear.Constraint({position: -sign}, value, ">=")])
            return not leaf.intersect(below).is_empty()

        step = 1
        while low is None:
            if step.bit_length() > _DOUBLINGS:
                return None
            value = reached - step
            reached, low = (value, None) if reaches(value) else (reached, value + 1)
            step *= 2
        while low < reached:
            middle = (low + reached) // 2
            reached, low = (middle, low) if reaches(middle) else (reached, middle + 1)
        return low

    def points(
        self, more: Sequence[linear.Alternatives] = (), *, small: bool = False, operations: int = _OPERATIONS
    ) -> Iterator[dict[DimVar, int]]:
        """Yield points of the set that satisfy `more` too.

        With products the points are only candidates, and {} stands for points that are too hard to find. With `small`,
        the lexicographically first point comes first if finding it is cheap.
        """
        with self._query(operations):
            for leaf in self._leaves(more):
                if self._is_hard():
                    yield {}
                    continue
                simple = self._largest <= _MODERATE and self._weight <= _LIGHT
                for point in _points(leaf, small and simple):
                    if not point.is_void():  # isl has sets with points but without a first one
                        yield self._sizes_at(self._coordinates(point))

    def _coordinates(self, point) -> list[int]:
        """Return the values of all columns, read from one text: that takes half as long as reading each."""
        text = point.to_str() if self.forms.columns else "[]"
        if text is None:  # printing counts as operations too
            raise search_budget.OutOfBudgetError
        return [int(value) for value in text[text.index("[") + 1 : text.index("]")].split(",") if value]

    def _sizes_at(self, point: Sequence[int]) -> dict[DimVar, int]:
        """Return the sizes of the variables at a point."""
        single = ((m[0][0], c) for m, c in self.forms.columns.items() if len(m) == 1 and m[0][1] == 1)
        return {a: point[c] for a, c in single if isinstance(a, DimVar)}

    def find(self, more: Sequence[linear.Alternatives]) -> dict[DimVar, int] | None:
        """Return a point of the set that satisfies `more` too, {} if there may be one, None if there is none.

        With products the point is only a candidate.
        """
        with self._query():
            part, cases = self._start(more)
            with search_budget.search(_LEAVES, self._until) as leaves:
                if not self._is_hard():
                    point = self._search(part, cases, leaves)
                    return None if point is None else self._sizes_at(point)
                return next(({} for _ in self._split(part, self._shortest(cases), leaves)), None)

    # -- the search

    def _query(self, operations: int = _OPERATIONS) -> _LimitedBlock:
        """Limit the operations of isl in a block; raise OutOfBudgetError when they are used up."""
        self._until, self._operations = math.inf, operations
        return _LimitedBlock(operations)

    def _check_time(self) -> None:
        if time.thread_time() > self._until:
            raise search_budget.OutOfBudgetError

    def _start(self, more: Sequence[linear.Alternatives]) -> tuple[Any, list[_Case]]:
        """Return the polyhedron of everything unconditional, and the cases, first the ones of the query."""
        if sum([linear.count_row_products(r) for a in more for r in a[0]]) > _PRODUCTS:
            raise search_budget.OutOfBudgetError
        if self.forms.products and search_budget.out_of_time():
            raise search_budget.OutOfBudgetError
        added = self._add_query(more)
        products = self._product_constraints(more) if self.forms.products else []
        self._make_base()
        part = self._base.intersect(self._polyhedron([*_unconditional(added), *products]))
        self._start_search(len(products))
        return part, [*[_Case(a, self._polyhedron) for a in added if len(a) > 1], *reversed(self._cases)]

    def _leaves(self, more: Sequence[linear.Alternatives]) -> Iterator[Any]:
        """Yield polyhedra that are not empty and cover the set; split cases only as far as needed."""
        part, cases = self._start(more)
        yield from self._split(part, self._shortest(cases), search_budget.Budget(_LEAVES, until=self._until))

    def _shortest(self, cases: Sequence[_Case]) -> list[_Case]:
        """Return the cases that are split, those with few alternatives first. Leaving out one enlarges the set."""
        return sorted(cases, key=lambda case: len(case.alternatives))[:_CASES]

    def _make_base(self) -> None:
        """Make the polyhedron of everything unconditional, and the cases, unless they have all columns already."""
        if self._base is None or self._base_columns < len(self.forms.columns):
            self._base_columns = len(self.forms.columns)
            self._base = self._polyhedron([*self.forms.definitions, *_unconditional(self._constraints)])
            alternatives = [*self._constraints, *self.forms.cases]
            self._cases = [_Case(a, self._polyhedron) for a in alternatives if len(a) > 1]

    def _start_search(self, products: int) -> None:
        """Set the operations of isl by the size and weight of the matrices, and a deadline unless they are light."""
        entries = 1 + len(self.forms.columns) * (len(self.forms.definitions) + len(self._constraints) + products)
        bits = 1 + max(self._weight - self._heaviest - _HEAVY, 0) // 16
        if entries > _FEW_ENTRIES or self._weight - self._heaviest > _LIGHT:
            self._until = search_budget.deadline(_SECONDS)
            self._check_time()
        _THREAD.context.set_max_operations(min(self._operations, _WORK // (entries * bits) + 1))

    def _add_query(self, more: Sequence[linear.Alternatives]) -> list[list[list[linear.Constraint]]]:
        """Return the alternatives as constraints; raise OutOfBudgetError if they are too heavy."""
        snapshot = self.forms.snapshot()
        constraints = [self._to_constraints(a) for a in more]
        if defined := self._weights_since(snapshot):
            self._weight, self._heaviest = self._weight + sum(defined), max(self._heaviest, *defined)
        weights = [w for a in constraints for w in self._weights(a)]
        if self._weight + sum(weights) - max(self._heaviest, *weights, 0) > _WEIGHT:
            raise search_budget.OutOfBudgetError
        return constraints

    def _product_constraints(self, more: Sequence[linear.Alternatives]) -> list[linear.Constraint]:
        """Return constraints on the products, as many as are not too heavy."""
        rows = [r for a in [*self.facts, *more] if len(a) == 1 for r in a[0]]
        constraints = [self.forms.constraint(r) for r in self.forms.multiply(rows)]
        weights = itertools.accumulate([_weight_of(c) if len(c.coefficients) > 1 else 0 for c in constraints])
        return [c for c, weight in zip(constraints, weights, strict=True) if weight <= _PRODUCTS_WEIGHT]

    def _to_constraints(self, alternatives: linear.Alternatives) -> list[list[linear.Constraint]]:
        return [[self.forms.constraint(r) for r in rows] for rows in alternatives]

    def _split(self, part, cases: Sequence[_Case], leaves: search_budget.Budget) -> Iterator[Any]:
        """Yield the leaves below `part`, depth first, while the budget of leaves lasts."""
        leaves.take()
        if self._is_empty(part):
            return
        if not cases:
            yield part
            return
        for alternative in cases[0].polyhedra():
            yield from self._split(part.intersect(alternative), cases[1:], leaves)

    def _search(self, part, cases: Sequence[_Case], leaves: search_budget.Budget) -> list[int] | None:
        """Return a point in `part` that satisfies the cases, None if there is none.

        Only a case that a point breaks is split: most facts have nothing to do with the query.
        """
        leaves.take()
        if part.plain_is_empty():  # what constraints contradict each other: most alternatives
            return None
        sample = part.sample_point()
        if sample.is_void():
            return None
        point = self._coordinates(sample)
        if (broken := next((case for case in cases if not case.holds(point)), None)) is None:
            return point
        rest = [case for case in cases if case is not broken]
        tries = (self._search(part.intersect(alternative), rest, leaves) for alternative in broken.polyhedra())
        return next((p for p in tries if p is not None), None)

    def _is_hard(self) -> bool:
        """Return whether products make integer points too hard to find."""
        return bool(self.forms.products) and len(self.forms.columns) > _COLUMNS

    def _is_empty(self, part) -> bool:
        """Return whether the polyhedron has no integer point; no rational one, if integer points are too hard."""
        return part.remove_redundancies().plain_is_empty() if self._is_hard() else part.is_empty()

    def _polyhedron(self, constraints: Sequence[linear.Constraint]):
        width, context = len(self.forms.columns), _THREAD.context
        none, numbers = isl.Mat.alloc(context, 0, width + 1), _THREAD.numbers
        equal = self._matrix(none, [c for c in constraints if c.relation == "=="], numbers)
        more = self._matrix(none, [c for c in constraints if c.relation == ">="], numbers)
        space = isl.Space.set_alloc(context, 0, width)
        return isl.BasicSet.from_constraint_matrices(space, equal, more, *_THREAD.kinds)

    def _matrix(self, none, constraints: Sequence[linear.Constraint], numbers: Mapping[int, Any]):
        """Return a matrix with a row for each constraint, its constant last; `none` is a matrix without rows."""
        if len(constraints) > _ROWS:
            half = len(constraints) // 2
            first, second = (self._matrix(none, part, numbers) for part in (constraints[:half], constraints[half:]))
            return first.concat(second)
        result = none.add_zero_rows(len(constraints)) if constraints else none
        constant_column = len(self.forms.columns)
        for i, (coefficients, constant, _) in enumerate(constraints):
            self._largest = max([self._largest, *map(abs, coefficients.values())])
            for column, coefficient in coefficients.items():
                result = result.set_element_val(i, column, numbers[coefficient])
            if constant:
                result = result.set_element_val(i, constant_column, numbers[constant])
        return result


def range_of(size: Size, facts: Sequence[Claim]) -> tuple[Bound, Bound]:
    """Return the least and the greatest value of the size by the facts, or by the bounds of its variables."""
    with search_budget.open_where_it_fails():
        return IntegerSet(facts).range(size) or expr.bounds(size)
    return expr.bounds(size)


def _weight_of(constraint: linear.Constraint) -> int:
    """Return how much the constraint lengthens the numbers that isl makes: little if it has only two columns."""
    coefficients = constraint.coefficients
    bits = sum(map(abs, coefficients.values())).bit_length() - 2
    if len(coefficients) == 2:
        return max(bits, 0) * (2 if constraint.relation == "==" else 1)
    return max(2 * bits, 1) * (8 if constraint.relation == "==" else 4)


def _hull(ranges: Sequence[tuple[Bound, Bound]]) -> tuple[Bound, Bound]:
    """Return the least range that contains all of them."""
    lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
    low = None if None in lows else min([x for x in lows if x is not None])
    return low, None if None in highs else max([x for x in highs if x is not None])


def _integer(value) -> Bound:
    """Return a value of isl as an int, None if it is infinite."""
    return _number(value) if value.is_int() else None


def _number(value) -> int:
    text = value.to_str()
    if text is None:  # printing counts as operations too
        raise search_budget.OutOfBudgetError
    return int(text)


def _points(leaf, small: bool) -> Iterator[Any]:
    """Yield the lexicographically first point, if wanted and there is one, then any point."""
    if small:
        with contextlib.suppress(isl.Error):  # unbounded below
            yield leaf.lexmin().sample_point()
    yield leaf.sample_point()
