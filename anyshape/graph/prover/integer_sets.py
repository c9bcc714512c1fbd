"""Integer sets behind the prover: is there any assignment, where are its bounds, which point is in it? (islpy)

Complete for linear arithmetic with quotients and remainders by constants, extrema and broadcasts, within limits: facts
that would make a set too heavy for isl are left out, and a query that is not done by the end of its operations or its
time is answered with "not known". isl cannot be stopped, so what bounds one call of it is the weight of what it gets.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.linear_constraints import (
    Alternatives,
    Constraint,
    LinearForms,
    Mark,
    Row,
    products_in,
    products_of,
    rows_of,
)
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.symbols import RuntimeScalar
from anyshape.support.packages import islpy as isl

_OPERATIONS = 10_000  # of isl, for one question: a good part of a second at the worst
_FEW_ENTRIES = 500  # up to which the answer never depends on a clock
_WORK = 20_000_000  # entries of a matrix times operations on all of it, for small numbers
_SECONDS = 0.3  # of the thread's time, for one question, looked at between calls of isl
# Sixteenths of a bit by which constraints are beyond `a >= b`. Solving equalities, isl makes numbers whose digits
# double with each of them, without counting any operation: random systems of 26 bits can take more than 0.1 s.
_FACTS_WEIGHT = 16 * 20
_WEIGHT = 16 * 32
_PRODUCTS_WEIGHT = 16 * 128  # of what follows for products, which are few
_HEAVY = 16 * 10  # beyond which numbers become large in each operation
_LIGHT = 16 * 6  # up to which every call of isl ends soon, also one for the first point in lexicographic order
_LEAVES = 400
_CASES = 24
_COLUMNS = 14  # with products, beyond which points are sought among the rationals
_PRODUCTS = 6
_ROWS = 8  # of a matrix that is filled: isl copies all of it for each entry
# isl's search for an optimum counts no operations. Beyond these coefficients any point will do for a first one, and
# bounds are found by asking for points.
_MODERATE = 1 << 8
_LARGE = 1 << 20
_DOUBLINGS = 64  # without meeting an end, after which there is taken to be no bound


class _Thread(threading.local):
    """The context of a thread, made when it asks a first question, and small numbers as isl's."""

    context: Any = None
    numbers: dict[int, Any]
    deadline = math.inf  # of its clock, for the questions that are asked now

    def start(self) -> Any:
        if self.context is None:
            self.context, self.numbers = isl.Context(), {}
        return self.context

    def number(self, value: int) -> Any:
        found = self.numbers.get(value)
        if found is None:
            if -_SMALL < value < _SMALL:
                found = self.numbers[value] = isl.Val.int_from_si(self.context, value)
            else:
                found = isl.Val.read_from_str(self.context, str(value))
        return found


_SMALL = 1 << 12
_THREAD = _Thread()


class OutOfBudgetError(Exception):
    """The question took more operations than it was given."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Questions asked in the block take so much of the thread's time together; later ones are not answered.

    A block inside another has what is left of the outer one.
    """
    before = _THREAD.deadline
    _THREAD.deadline = min(before, time.thread_time() + seconds)
    try:
        yield
    finally:
        _THREAD.deadline = before


def out_of_time() -> bool:
    """The time of the block is over."""
    return time.thread_time() > _THREAD.deadline


class Allowance:
    """The time that all questions of one owner may take; when it is used up each has a little still."""

    def __init__(self, seconds: float, each: float, least: float) -> None:
        self.left, self.each, self.least = seconds, each, least

    @contextlib.contextmanager
    def question(self) -> Iterator[None]:
        """The time for one question, and for those that are asked to answer it."""
        if _THREAD.deadline < math.inf:
            yield
            return
        start = time.thread_time()
        _THREAD.deadline = start + max(self.least, min(self.each, self.left))
        try:
            yield
        finally:
            _THREAD.deadline = math.inf
            self.left -= time.thread_time() - start


class _Case:
    """Alternatives, each of which is made a polyhedron when it is first met."""

    def __init__(self, alternatives: Sequence[list[Constraint]], make: Callable[[Sequence[Constraint]], Any]) -> None:
        self.alternatives, self.make = alternatives, make
        self.made: list[Any] = []

    def polyhedra(self) -> Iterator[Any]:
        for i, constraints in enumerate(self.alternatives):
            if i == len(self.made):
                self.made.append(self.make(constraints))
            yield self.made[i]


def _sure(alternatives: Sequence[Sequence[Sequence[Constraint]]]) -> list[Constraint]:
    """What holds without a choice."""
    return [c for a in alternatives if len(a) == 1 for c in a[0]]


class IntegerSet:
    """The assignments that satisfy claims: a union of integer polyhedra, of which only the needed ones are made."""

    def __init__(self, facts: Sequence[Claim]) -> None:
        self.forms = LinearForms()
        self.facts: list[Alternatives] = []
        self._known: list[list[list[Constraint]]] = []
        self._largest = self._weight = self._heaviest = 0
        self._until = math.inf
        products = 0
        for fact in facts:  # one that would cost too much is left out: less is known then, and nothing false
            count = products_in(fact.left) + products_in(fact.right)
            if count == 0 or products + count <= _PRODUCTS:
                products += count * self._take(rows_of(fact))
        self._whole: Any = None  # the polyhedron of what is known of all assignments, and for how many columns
        self._whole_columns = 0
        self._cases: list[_Case] = []

    def _take(self, fact: Alternatives) -> bool:
        """Add the fact where it is not too heavy."""
        mark = self.forms.mark()
        made = self._constrained(fact)
        weights = self._weights(made) + self._new_weights(mark)
        if weights:
            weight, heaviest = self._weight + sum(weights), max(self._heaviest, *weights)
            if weight - heaviest > _FACTS_WEIGHT:
                self.forms.forget(mark)
                return False
            self._weight, self._heaviest = weight, heaviest
        self.facts.append(fact)
        self._known.append(made)
        return True

    def _weights(self, alternatives: Sequence[Sequence[Constraint]]) -> list[int]:
        """The weights of the heaviest alternative."""
        if len(alternatives) == 1:
            return [w for c in alternatives[0] if len(c.coefficients) > 1 and (w := _weight_of(c))]
        return max([self._weights([constraints]) for constraints in alternatives], key=sum, default=[])

    def _new_weights(self, mark: Mark) -> list[int]:
        """Of what was defined since then."""
        if len(self.forms.columns) == mark.columns:
            return []
        found = self._weights([self.forms.definitions[mark.definitions :]])
        for case in self.forms.cases[mark.cases :]:
            found += self._weights(case)
        return found

    def refutes(self, more: Sequence[Alternatives]) -> bool:
        """No assignment satisfies these as well. False means that one does, or that a product is in the way."""
        with self._question():
            return next(self._leaves(more), None) is None

    def range(self, size: Size) -> tuple[Bound, Bound] | None:
        """The least and the greatest value of the size; None when there is no assignment."""
        ranges = []
        with self._question():
            for leaf in self._leaves([[[Row(_VALUE, "==", size)]]]):
                if self._is_hard():
                    raise OutOfBudgetError
                (position,) = self.forms.form(_VALUE)[0]
                if self._largest > _LARGE or self._weight - self._heaviest > _HEAVY:
                    ranges.append(self._searched(leaf, position, size))
                else:
                    part = leaf.to_set()
                    ranges.append((_integer(part.dim_min_val(position)), _integer(part.dim_max_val(position))))
        if not ranges:
            return None
        lows, highs = [low for low, _ in ranges], [high for _, high in ranges]
        low = None if None in lows else min([x for x in lows if x is not None])
        return low, None if None in highs else max([x for x in highs if x is not None])

    def _searched(self, leaf: Any, position: int, size: Size) -> tuple[Bound, Bound]:
        """The range of one column, by halving: each step asks whether there is any point on one side.

        Each side has operations of its own, and is that of intervals where it takes more, or when time is over.
        """
        until = self._until
        self._check_time()
        met = _number(leaf.sample_point().get_coordinate_val(isl.dim_type.set, position))
        low, high = expr.bounds(size)
        with contextlib.suppress(OutOfBudgetError), self._question():
            self._until = until
            low = self._extreme(leaf, position, met, low, 1)
        with contextlib.suppress(OutOfBudgetError), self._question():
            self._until = until
            most = self._extreme(leaf, position, -met, None if high is None else -high, -1)
            high = None if most is None else -most
        _THREAD.context.set_max_operations(_OPERATIONS)
        return low, high

    def _extreme(self, leaf: Any, position: int, met: int, low: Bound, sign: int) -> Bound:
        """The least value of sign * column, of which `met` is one and `low`, where given, is a lower bound."""

        def reaches(value: int) -> bool:
            self._check_time()
            below = self._polyhedron([Constraint({position: -sign}, value, ">=")])
            return not leaf.intersect(below).is_empty()

        step = 1
        while low is None:
            if step.bit_length() > _DOUBLINGS:
                return None
            value = met - step
            met, low = (value, None) if reaches(value) else (met, value + 1)
            step *= 2
        while low < met:
            middle = (low + met) // 2
            met, low = (middle, low) if reaches(middle) else (met, middle + 1)
        return low

    def points(
        self, more: Sequence[Alternatives] = (), *, small: bool = False, operations: int = _OPERATIONS
    ) -> Iterator[dict[DimVar, int]]:
        """Candidates for assignments: to be tried out where there are products, assignments otherwise.

        `small`: where that is feasible, the first in lexicographic order comes first.
        """
        with self._question(operations):
            for leaf in self._leaves(more):
                if self._is_hard():
                    yield {}
                    continue
                simple = self._largest <= _MODERATE and self._weight <= _LIGHT
                places = {m[0][0]: c for m, c in self.forms.columns.items() if len(m) == 1 and m[0][1] == 1}
                for point in _points(leaf, small and simple):
                    values = {a: point.get_coordinate_val(isl.dim_type.set, c) for a, c in places.items()}
                    yield {a: _number(v) for a, v in values.items() if isinstance(a, DimVar)}

    # -- the search

    @contextlib.contextmanager
    def _question(self, operations: int = _OPERATIONS) -> Iterator[None]:
        """Stop isl, and say so, when a question takes too many operations or too much time."""
        context = _THREAD.start()
        self._until, self._operations = math.inf, operations
        context.reset_operations()
        context.set_max_operations(operations)
        try:
            yield
        except isl.Error as error:
            raise OutOfBudgetError from error
        finally:
            context.set_max_operations(0)

    def _check_time(self) -> None:
        if time.thread_time() > self._until:
            raise OutOfBudgetError

    def _leaves(self, more: Sequence[Alternatives]) -> Iterator[Any]:
        """Polyhedra that are not empty and together hold every assignment; cases are split only where they must be."""
        if sum([products_of(r) for a in more for r in a[0]]) > _PRODUCTS:
            raise OutOfBudgetError
        if self.forms.products and out_of_time():
            raise OutOfBudgetError
        asked = self._asked(more)
        products = self._products(more) if self.forms.products else []
        if self._whole is None or self._whole_columns < len(self.forms.columns):
            self._whole_columns = len(self.forms.columns)
            self._whole = self._polyhedron([*self.forms.definitions, *_sure(self._known)])
            self._cases = [_Case(a, self._polyhedron) for a in [*self._known, *self.forms.cases] if len(a) > 1]
        part = self._whole.intersect(self._polyhedron([*_sure(asked), *products]))
        cases = [*[_Case(a, self._polyhedron) for a in asked if len(a) > 1], *self._cases]
        cases.sort(key=lambda case: len(case.alternatives))
        entries = 1 + len(self.forms.columns) * (len(self.forms.definitions) + len(self._known) + len(products))
        bits = 1 + max(self._weight - self._heaviest - _HEAVY, 0) // 16
        if entries > _FEW_ENTRIES or self._weight - self._heaviest > _LIGHT:
            self._until = min(_THREAD.deadline, time.thread_time() + _SECONDS)
            self._check_time()
        _THREAD.context.set_max_operations(min(self._operations, _WORK // (entries * bits) + 1))
        yield from self._split(part, cases[:_CASES], [_LEAVES])

    def _asked(self, more: Sequence[Alternatives]) -> list[list[list[Constraint]]]:
        mark = self.forms.mark()
        asked = [self._constrained(a) for a in more]
        defined = self._new_weights(mark)
        if defined:
            self._weight, self._heaviest = self._weight + sum(defined), max(self._heaviest, *defined)
        weights = [w for a in asked for w in self._weights(a)]
        if self._weight + sum(weights) - max(self._heaviest, *weights, 0) > _WEIGHT:
            raise OutOfBudgetError
        return asked

    def _products(self, more: Sequence[Alternatives]) -> list[Constraint]:
        """What follows for products; of that as much as is not too heavy."""
        rows = [r for a in [*self.facts, *more] if len(a) == 1 for r in a[0]]
        made = [self.forms.constraint(r) for r in self.forms.multiply(rows)]
        weights = itertools.accumulate([_weight_of(c) if len(c.coefficients) > 1 else 0 for c in made])
        return [c for c, weight in zip(made, weights, strict=True) if weight <= _PRODUCTS_WEIGHT]

    def _constrained(self, alternatives: Alternatives) -> list[list[Constraint]]:
        return [[self.forms.constraint(r) for r in rows] for rows in alternatives]

    def _split(self, part: Any, cases: Sequence[_Case], budget: list[int]) -> Iterator[Any]:
        budget[0] -= 1
        if budget[0] < 0:
            raise OutOfBudgetError
        if self._until < math.inf and budget[0] < _LEAVES - 1:
            self._check_time()
        if self._is_empty(part):
            return
        if not cases:
            yield part
            return
        for alternative in cases[0].polyhedra():
            yield from self._split(part.intersect(alternative), cases[1:], budget)

    def _is_hard(self) -> bool:
        return bool(self.forms.products) and len(self.forms.columns) > _COLUMNS

    def _is_empty(self, part: Any) -> bool:
        """There is no point in the polyhedron; or no rational one, where many products make integers too hard."""
        if self._is_hard():
            return part.remove_redundancies().plain_is_empty()
        return part.is_empty()

    def _polyhedron(self, constraints: Sequence[Constraint]) -> Any:
        width = len(self.forms.columns)
        none = isl.Mat.alloc(_THREAD.context, 0, width + 1)
        equal = self._matrix(none, [c for c in constraints if c.relation == "=="])
        more = self._matrix(none, [c for c in constraints if c.relation == ">="])
        kinds = isl.dim_type
        space = isl.Space.set_alloc(_THREAD.context, 0, width)
        return isl.BasicSet.from_constraint_matrices(space, equal, more, kinds.set, kinds.div, kinds.param, kinds.cst)

    def _matrix(self, none: Any, constraints: Sequence[Constraint]) -> Any:
        """A row for each constraint, its constant last; `none` has no row yet."""
        if len(constraints) > _ROWS:
            half = len(constraints) // 2
            return self._matrix(none, constraints[:half]).concat(self._matrix(none, constraints[half:]))
        result = none.add_zero_rows(len(constraints)) if constraints else none
        constant_column, number = len(self.forms.columns), _THREAD.number
        for i, (coefficients, constant, _) in enumerate(constraints):
            for column, coefficient in coefficients.items():
                self._largest = max(self._largest, abs(coefficient))
                result = result.set_element_val(i, column, number(coefficient))
            if constant:
                result = result.set_element_val(i, constant_column, number(constant))
        return result


def _weight_of(constraint: Constraint) -> int:
    """How much the constraint adds to the numbers that isl makes: little where it has only two columns."""
    coefficients = constraint.coefficients
    bits = sum(map(abs, coefficients.values())).bit_length() - 2
    if len(coefficients) == 2:
        return max(bits, 0) * (2 if constraint.relation == "==" else 1)
    return max(2 * bits, 1) * (8 if constraint.relation == "==" else 4)


_VALUE = expr.from_atom(RuntimeScalar(-1))


def _integer(value: Any) -> Bound:
    return _number(value) if value.is_int() else None


def _number(value: Any) -> int:
    text = value.to_str()
    if text is None:  # printing counts as operations too
        raise OutOfBudgetError
    return int(text)


def _points(leaf: Any, small: bool) -> Iterator[Any]:
    """The first point in lexicographic order, where it is asked for and there is one, and any point."""
    if small:
        with contextlib.suppress(isl.Error):  # unbounded below
            yield leaf.lexmin().sample_point()
    yield leaf.sample_point()
