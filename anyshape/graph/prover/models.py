"""Models of assumptions: sizes that satisfy them, and candidates that make a claim true or false.

Known models of assumptions: sizes at which all of them hold. One that breaks a claim refutes it at little cost.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from anyshape.errors import ShapeError
from anyshape.graph.prover.constraints import HOLDS, LINKS, Claim, Claims, substitute_claim
from anyshape.graph.prover.integer_sets import IntegerSet
from anyshape.graph.prover.linear_constraints import Alternatives, negation_of, rows_of
from anyshape.graph.prover.search_budget import OutOfBudgetError, out_of_time
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.intervals import Bound, Interval
from anyshape.graph.sizes.substitute import evaluate, values_from
from anyshape.support.packages import size_points

_PROBES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, 1000)
_PROBE_WORK = 300_000  # nodes of claims that are evaluated
_FIXED = 12  # values of a factor that are tried from its least one on
_FACTORS = 6
_OPERATIONS_FOR_FIXED = 500  # of isl, for each combination
_FIXED_LIMIT = 60  # combinations for each factor that is left free
_POINTS = 6  # of one integer set
_CORNERS, _FAR = 16, 1000
_MOST_POINTS = 300  # of a box that is tried out
_ATTEMPTS, _ATTEMPTS_UNBOUNDED = 8, 3  # to prove a bound, where one is known and where none is

Assignment = dict[DimVar, int]


class Model(Assignment):
    """Sizes of variables, which stay. `make` gives each further variable one, from the number of variables before it.

    `calls` has the values of calls that were evaluated in it.
    """

    __slots__ = ("calls", "make")

    def __init__(self, sizes: Mapping[DimVar, int] = {}, make: Callable[[int], int] = lambda i: 6) -> None:
        super().__init__(sizes)
        self.make: Callable[[int], int] = make
        self.calls: dict[Call, int] = {}

    def __missing__(self, variable: DimVar) -> int:
        size = self[variable] = nearest(variable, self.make(len(self)))
        return size


_RULES: tuple[Callable[[int], int], ...] = (
    lambda i: 6,
    lambda i: 7 + 2 * i,
    lambda i: max(1000 - 7 * i, 0),
    lambda i: 1,
    lambda i: 0,
)


def initial_models(numbers: Sequence[int] = ()) -> list[Model]:
    """Return models to begin with: all sizes alike, rising, falling, ones, as small as possible, and these numbers."""
    return [Model(make=rule) for rule in (*_RULES, *map(_always, numbers))]


def separating_models(claim: Claim, facts: Sequence[Claim]) -> Iterator[Model]:
    """Yield models in which the sides of the claim broadcast and differ, then ones that single out each variable."""
    first = _first_of_equals(claim, facts)  # variables that are stated to be equal get one size
    left, right = ({first[v] for v in expr.variables(s)} for s in (claim.left, claim.right))
    for rest in (1, 7):  # `broadcast(a, b)` and `broadcast(a, c)` differ where a and all other sizes are 1
        sizes = {**dict.fromkeys(left, 6), **dict.fromkeys(right - left, 7)}
        sizes |= dict.fromkeys(left & right, 1) if rest == 1 else {}
        yield Model({v: nearest(v, sizes.get(f, rest)) for v, f in first.items()}, _always(rest))
    for single, rest in ((6, 1), (1, 6)):
        for variable in dict.fromkeys(first.values()):
            yield Model({v: nearest(v, single if f is variable else rest) for v, f in first.items()}, _always(rest))


def _first_of_equals(claim: Claim, facts: Sequence[Claim]) -> dict[DimVar, DimVar]:
    """Map each variable to the first of those that are stated to be equal to it."""
    first = {v: v for c in [claim, *facts] for v in c.variables()}
    for fact in facts:
        a, b = expr.as_atom(fact.left), expr.as_atom(fact.right)
        if fact.relation == "==" and isinstance(a, DimVar) and isinstance(b, DimVar):
            old, new = first[b], first[a]
            first = {v: new if f is old else f for v, f in first.items()}
    return first


def _always(size: int) -> Callable[[int], int]:
    return lambda _: size


def has_counterexample(claim: Claim, facts: Sequence[Claim]) -> bool:
    """Return whether a separating model satisfies the facts and makes the claim false."""
    models = separating_models(claim, facts)
    return any(truth(claim, m) is False and all(truth(f, m) for f in facts) for m in models)


def nearest(variable: DimVar, size: int) -> int:
    """Return the size within the bounds of the variable that is nearest to this one."""
    low, high = variable.lower, variable.upper
    return low if size < low else size if high is None or size < high else high


def truth(claim: Claim, sizes: Mapping[DimVar, int]) -> bool | None:
    """Return whether the claim holds for these sizes.

    None if a size is missing, a division is by zero, or a broadcast fails.
    """
    read, calls = values_from(sizes), sizes.calls if isinstance(sizes, Model) else None
    try:
        return HOLDS[claim.relation](evaluate(claim.left, read, calls), evaluate(claim.right, read, calls))
    except (KeyError, ZeroDivisionError, ShapeError):
        return None


def corners(ranges: Mapping[DimVar, Interval]) -> Iterator[Model]:
    """Yield models with each combination of the least and the greatest sizes, for a few variables."""
    ends = [(low or 0, _FAR if high is None else high) for low, high in ranges.values()]
    for sizes in itertools.islice(itertools.product(*ends), _CORNERS):
        yield Model(dict(zip(ranges, sizes, strict=True)))


def points_of_box(ranges: Mapping[DimVar, Interval], facts: Sequence[Claim]) -> list[Assignment] | None:
    """Return all sizes within the ranges that satisfy the facts about them; None where that would be much work."""
    sizes = [range(low, high + 1) for low, high in ranges.values() if low is not None and high is not None]
    if len(sizes) < len(ranges) or math.prod([s.stop - s.start for s in sizes]) > _MOST_POINTS:
        return None
    own = [f for f in facts if ranges.keys() >= set(f.variables())]
    points = (dict(zip(ranges, at, strict=True)) for at in itertools.product(*sizes))
    return [p for p in points if _all_hold(own, p)]


def _all_hold(claims: Sequence[Claim], sizes: Mapping[DimVar, int]) -> bool:
    return all(truth(c, sizes) for c in claims)


def value_in(model: Mapping[DimVar, int], size: Size) -> int | None:
    """Return the size in a model; None where a division is by zero, or a broadcast fails."""
    try:
        return evaluate(size, values_from(model), model.calls if isinstance(model, Model) else None)
    except (ZeroDivisionError, ShapeError):
        return None


def proved_least(low: Bound, values: Callable[[], Sequence[int]], proves: Callable[[int], bool]) -> Bound:
    """Return the best lower bound that a few attempts prove, at least `low`, which is known.

    `values` are attained, and a failed attempt may add smaller ones. The least of them is tried first.
    """
    high: Bound = None  # the bound is not known to be more
    step = 1
    for attempt in range(_ATTEMPTS):
        least = min(values(), default=None)
        is_new = least is not None and (high is None or least < high)
        high = least if is_new else high
        tried = high if is_new else _between(low, high, step)
        gives_up = attempt == _ATTEMPTS_UNBOUNDED if low is None else tried is not None and tried <= low
        if tried is None or gives_up or out_of_time():
            break
        if proves(tried):
            low = tried
        else:
            high = tried - 1
        step *= 4
    return low


def _between(low: Bound, high: Bound, step: int) -> Bound:
    """Return the next bound to try; at a distance that grows if only one side is known."""
    if low is None:
        return None if high is None else high - step
    return low + step if high is None else (low + high + 1) // 2


def witnesses(claim: Claim, facts: Sequence[Claim]) -> Iterator[tuple[bool, Assignment]]:
    """Yield each outcome of the claim that is found while there is time, with sizes at which the facts hold too."""
    names = list(dict.fromkeys(v for c in [claim, *facts] for v in c.variables()))
    left: set[bool | None] = {True, False}
    for candidate in candidates(claim, facts, names):
        outcome = truth(claim, candidate) if _all_hold(facts, candidate) else None
        if outcome is not None and outcome in left:
            yield outcome, candidate
            left.discard(outcome)
        if not left or out_of_time():
            break


# -- candidates --------------------------------------------------------------------------------------------------


def candidates(claim: Claim, facts: Sequence[Claim], names: Sequence[DimVar]) -> Iterator[Assignment]:
    """Yield assignments to try: points of integer sets, small sizes, and points where factors of products are fixed."""
    for conjunction in ([rows_of(claim)], negation_of(claim)):
        yield from _points(facts, conjunction, names)
    yield from _probes([claim, *facts], names)
    factors = [v for v in names if _is_factor(v, [claim, *facts])]
    for free in [*factors, None] if len(factors) <= _FACTORS else []:
        fixed = [v for v in factors if v is not free]
        values = [_first_values(v, facts) for v in fixed]
        for sizes in itertools.islice(itertools.product(*values), _FIXED_LIMIT):
            if out_of_time():
                return
            yield from _points_with_fixed(claim, facts, names, dict(zip(fixed, sizes, strict=True)))


def _probes(claims: Sequence[Claim], names: Sequence[DimVar]) -> Iterator[Assignment]:
    """Yield combinations of small sizes, fewer for long claims."""
    ranges = [[p for p in _PROBES if p == nearest(v, p)] or [v.lower] for v in names]
    nodes = sum([s.nodes for c in claims for s in (c.left, c.right) if isinstance(s, DimExpr)])
    for sizes in itertools.islice(itertools.product(*ranges), _PROBE_WORK // (nodes + 1)):
        yield dict(zip(names, sizes, strict=True))


def _first_values(variable: DimVar, facts: Sequence[Claim]) -> range:
    """Return the least sizes that the facts without products allow."""
    size = expr.from_atom(variable)
    try:
        low = (IntegerSet([f for f in facts if not _is_factor(variable, [f])]).range(size) or (0, 0))[0]
    except OutOfBudgetError:
        low = None
    start = variable.lower if low is None else max(low, variable.lower)
    return range(start, start + _FIXED if variable.upper is None else min(start + _FIXED, variable.upper + 1))


def _points_with_fixed(
    claim: Claim, facts: Sequence[Claim], names: Sequence[DimVar], fixed: Mapping[DimVar, int]
) -> Iterator[Assignment]:
    """Yield points where these variables have these sizes, which makes products of them linear."""
    try:
        fixed_facts = [substitute_claim(f, fixed.get) for f in facts]  # type: ignore[arg-type]
        fixed_claim = substitute_claim(claim, fixed.get)  # type: ignore[arg-type]
    except ZeroDivisionError:
        return
    for conjunction in ([rows_of(fixed_claim)], negation_of(fixed_claim)):
        for point in _points(fixed_facts, conjunction, names, operations=_OPERATIONS_FOR_FIXED):
            yield {**point, **fixed}


def _points(
    facts: Sequence[Claim], conjunction: Sequence[Alternatives], names: Sequence[DimVar], **budget: int
) -> Iterator[Assignment]:
    try:
        for point in itertools.islice(IntegerSet(facts).points(conjunction, small=True, **budget), _POINTS):
            yield {v: point.get(v, v.lower) for v in names}
    except OutOfBudgetError:
        return


def _is_factor(variable: DimVar, claims: Sequence[Claim]) -> bool:
    """Return whether the variable is multiplied with another size, or divides one, in some claim."""
    return any(_in_product(variable, s) for c in claims for s in (c.left, c.right))


def _in_product(variable: DimVar, size: Size) -> bool:
    for monomial in expr.terms_of(size):
        is_product = len(monomial) > 1 or any(p > 1 for _, p in monomial)
        if any(_in_factor(variable, atom, is_product=is_product) for atom, _ in monomial):
            return True
    return False


def _in_factor(variable: DimVar, atom: Atom, *, is_product: bool) -> bool:
    """Return whether the variable is in the atom of a product, in a divisor, or in a product inside the atom."""
    if not isinstance(atom, Call):
        return is_product and atom is variable
    is_division = atom.function in ("floordiv", "mod") and variable in expr.variables(atom.args[-1])
    if is_division or (is_product and any(variable in expr.variables(a) for a in atom.args)):
        return True
    return any(_in_product(variable, a) for a in atom.args)


_MODELS = 32
_NUMBERS = 4  # of claims, which sizes of a first model are
_FEW_MODELS = 2  # that cost less than integer sets
_FIRST_MODELS = 5  # stay first: the sizes of the call, or the initial models


class KnownModels:
    """Models of claims and equalities of an owner, who adds to them.

    `sizes`, if given, are sizes at which every claim will hold.
    """

    def __init__(
        self, claims: Claims, equalities: Mapping[Atom, Size], sizes: Mapping[DimVar, int] | None = None
    ) -> None:
        self._claims, self._equalities = claims, equalities
        self._mentioned: set[DimVar] = set()  # by claims
        self._samples: size_points.PointSamples | None = None
        self._models: list[Model] = [Model(sizes)] if sizes is not None else []
        self._has_tried = False  # the initial models, for the claims so far

    def all(self) -> list[Model]:
        """Return the models; try the initial ones if there are none, and sizes that claims state as numbers."""
        if not (self._models or self._has_tried):
            self._has_tried = True
            claims = list(self._claims)
            numbers = dict.fromkeys([n for c in claims for n in (c.left, c.right) if isinstance(n, int) and n > 1])
            for model in initial_models(list(numbers)[:_NUMBERS]):
                if all(truth(c, model) for c in claims):
                    self._insert(model)
        return self._models

    def newest_first(self) -> Iterator[Model]:
        """Return the models, those that stay first last."""
        models = self.all()
        return itertools.chain(models[_FIRST_MODELS:], models[:_FIRST_MODELS])

    def take_over(self, others: KnownModels) -> None:
        """Add the models of others, whose claims include the own ones."""
        self._models = [*others._models]

    def note(self, claim: Claim) -> None:
        """Drop the models in which a new claim does not hold, unless other sizes of new variables make it hold."""
        fresh = [v for v in claim.variables() if v not in self._mentioned]
        self._mentioned.update(fresh)
        self._has_tried = False
        models = (m if truth(claim, m) else _repaired(m, claim, fresh, i % 2) for i, m in enumerate(self._models))
        self._models = [m for m in models if m is not None]

    def add(self, model: Model, known: Model | None = None) -> bool:
        """Add the model if every claim holds in it; return whether it does. `known` is a model that it varies.

        The first `_FIRST_MODELS` stay, and the newest others, `_MODELS` in all: new models refute new queries best.
        """
        if not all(truth(c, model) for c in (self._claims if known is None else self._changed(model, known))):
            return False
        if any(nearest(v, size) != size for v, size in model.items()):  # equalities may have put it out of range
            return False
        self._insert(model)
        return True

    def _insert(self, model: Model) -> None:
        self._models.insert(_FIRST_MODELS, model)
        del self._models[_MODELS:]

    def _changed(self, model: Model, known: Model) -> Iterator[Claim]:
        """Yield the claims about the sizes that a variant of a known model changes. The others hold as before."""
        for variable in [v for v in {**known, **model} if v not in model or known.get(v) != model[v]]:
            yield from self._claims.near(variable).values()

    def complete(self, sizes: Assignment) -> Assignment:
        """Return the sizes with the variables that equalities determine."""
        known = {**sizes}
        for atom, size in self._equalities.items():
            if isinstance(atom, DimVar) and atom not in known and all(v in known for v in expr.variables(size)):
                with contextlib.suppress(ZeroDivisionError, ShapeError):
                    known[atom] = evaluate(size, values_from(sizes))
        return known

    def separate(self, claim: Claim, facts: Sequence[Claim]) -> bool | None:
        """Return False if a model is found that makes the claim false, else None.

        The facts are those connected with the claim, the claim over free variables first. Without links among them,
        integer sets answer soon, and few models are tried before.
        """
        few = None if any(f.relation in LINKS for f in facts[1:]) else _FEW_MODELS
        models = self._separating(claim, facts) if few is None else self._near_known(facts, few)
        return False if any(truth(claim, m) is False and self.add(m, known) for m, known in models) else None

    def _separating(self, claim: Claim, facts: Sequence[Claim]) -> Iterator[tuple[Model, Model | None]]:
        """Yield sizes at which the claim may be false, with the known model that they vary: of samples if there are."""
        if self._samples is None:
            self._samples = size_points.PointSamples()
        for known in self.all()[:1]:
            if sampled := self._samples.counterexample(facts[0], facts[1:], known):
                yield Model(self.complete(self._free(known) | sampled), _distinct), known
            if sampled is not None:
                return
        for sizes in separating_models(claim, facts):
            yield Model(self.complete(sizes), sizes.make), None

    def _near_known(self, facts: Sequence[Claim], count: int) -> Iterator[tuple[Model, Model]]:
        """Yield variants of a known model in which the sides of the first claim differ."""
        for known in self.all()[:1]:
            for sizes in itertools.islice(separating_models(facts[0], facts[1:]), count):
                yield Model(self.complete(self._free(known) | sizes), _distinct), known

    def _free(self, known: Model) -> Assignment:
        """Return the sizes of a model that claims mention and no equality determines."""
        return {v: n for v, n in known.items() if v in self._mentioned and v not in self._equalities}

    def refutes(self, claim: Claim) -> bool:
        """Return whether a model makes the claim false: cheap, as a proof is not."""
        return any(truth(claim, m) is False for m in self.newest_first())

    def values(self, size: Size) -> list[int]:
        """Return the values of the size in the models."""
        return [v for v in (value_in(m, size) for m in self.all()) if v is not None]


class SeenSizes:
    """Sizes that were seen before, by their value in one model, and by their first variable, as there may be many.

    Longer sizes may equal one of them.
    """

    def __init__(self) -> None:
        self._by_value: dict[tuple[int, DimVar], dict[DimExpr, None]] = {}
        self._model: Model | None = None

    def shorter(self, size: DimExpr, value: int, model: Model) -> list[DimExpr]:
        """Return the shorter sizes over variables of the size that have its value in a model."""
        if model is not self._model:
            self._model, self._by_value = model, {}
        variables = expr.variables(size)
        for variable in variables:
            self.add(expr.from_atom(variable), model[variable])
        seen = [s for v in variables for s in self._by_value.get((value, v), ()) if s.nodes < size.nodes]
        return [s for s in seen if set(variables).issuperset(expr.variables(s))]

    def add(self, size: DimExpr, value: int) -> None:
        """Note a size with its value in the model."""
        for variable in expr.variables(size)[:1]:
            self._by_value.setdefault((value, variable), {})[size] = None


def _distinct(position: int) -> int:
    """Return a size for a variable that no claim mentions, which few others have."""
    return 7 + 2 * position


def _repaired(model: Model, claim: Claim, fresh: Sequence[DimVar], ones_first: int) -> Model | None:
    """Return the model with a size of the claim, or 1, for variables that no other claim mentions, if that helps."""
    if not fresh:
        return None
    sizes = [1, *[model[v] for v in claim.variables() if v not in fresh]]
    others = dict.fromkeys(sizes if ones_first else reversed(sizes))
    variants = (Model({**model, **{v: nearest(v, size) for v in fresh}}, model.make) for size in others)
    return next((m for m in variants if truth(claim, m)), None)
