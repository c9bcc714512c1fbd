"""Known models of assumptions: sizes at which all of them hold. One that breaks a claim refutes it at little cost."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence

from anyshape.errors import ShapeError
from anyshape.graph.prover.claim_index import Claims
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.solvers.models import (
    Assignment,
    Model,
    initial_models,
    nearest,
    separating_models,
    truth,
    value_in,
)
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.support.packages import sampled_points

_MODELS = 32
_NUMBERS = 4  # of claims, which sizes of a first model are
_FEW = 3  # models, below which a false claim often holds in all of them
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
        self._samples: sampled_points.PointSamples | None = None
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

    @property
    def are_few(self) -> bool:
        """True if there are so few models that one more may refute what they do not."""
        return len(self.all()) < _FEW

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

    def separate(self, claim: Claim, facts: Sequence[Claim], *, has_links: bool = True) -> bool | None:
        """Return False if a model is found that makes the claim false, else None.

        The facts are those connected with the claim, the claim over free variables first. With links among them, models
        are tried in which sizes that broadcast differ.
        """
        for known in self.all()[:1]:
            sampled = self._sampled(facts, known) if has_links else None
            if sampled is not None:
                return False if sampled and self._refutes_at(self._free(known) | sampled, claim, known) else None
            if any(self._refutes_at(sizes, claim, known) for sizes in self._variants(known, facts[0])):
                return False
        for sizes in separating_models(claim, facts) if has_links else ():
            model = Model(self.complete(sizes), sizes.make)
            if truth(claim, model) is False and self.add(model):
                return False
        return None

    def _sampled(self, facts: Sequence[Claim], known: Model) -> Assignment | None:
        """Return sizes at which the first claim may be false and the others hold, {} without any; None if unknown."""
        if self._samples is None:
            self._samples = sampled_points.PointSamples()
        return self._samples.counterexample(facts[0], facts[1:], known)

    def _refutes_at(self, sizes: Assignment, claim: Claim, known: Model) -> bool:
        """Return whether a variant of a known model is a model that makes the claim false; then add it."""
        model = Model(self.complete(sizes), _distinct)
        return truth(claim, model) is False and self.add(model, known)

    def _variants(self, known: Model, claim: Claim) -> Iterator[Model]:
        """Yield variants of a known model at which the claim may be false."""
        free = self._free(known)
        for changed in _changes(known, claim):
            variant = Model({**free, **changed}, _distinct)
            if truth(claim, variant) is not True:
                yield variant

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


def _changes(known: Model, claim: Claim) -> Iterator[Assignment]:
    """Yield changes of a known model: other sizes, or what makes a size 1, by variable and side of the claim.

    Variables that no claim mentions are left out: other sizes of these refute claims about them.
    """
    singles = [(v,) for v in claim.variables()]
    sides = [s for s in (expr.variables(claim.left), expr.variables(claim.right)) if len(s) > 1]
    for others in dict.fromkeys([*singles, *sides]):
        yield {v: nearest(v, known[v] + 1) for v in others}
    ones = dict.fromkeys(claim.variables(), 1) | _sizes_for_one(claim, known)
    for side in dict.fromkeys([*sides, *singles]):
        yield {v: nearest(v, ones[v]) for v in side}


def _sizes_for_one(claim: Claim, known: Model) -> dict[DimVar, int]:
    """Return what variables must be for the sizes that broadcast in a claim to be 1: 3 for n in max(n - 2, 0)."""
    sizes = {}
    for side in (claim.left, claim.right):
        atom = expr.as_atom(side)
        for part in atom.args if isinstance(atom, Call) and atom.function == "broadcast" else (side,):
            about, value = expr.variables(part), value_in(known, part)
            if len(about) == 1 and value is not None:
                sizes[about[0]] = known[about[0]] + 1 - value
    return sizes


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
