"""Known facts: assumptions with every known equality applied, which single steps of a proof use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from anyshape.graph.prover.claim_index import Claims
from anyshape.graph.prover.constraints import Claim
from anyshape.graph.prover.decide import Links
from anyshape.graph.prover.solvers.equalities import rewritten
from anyshape.graph.sizes.expr import Atom
from anyshape.graph.sizes.substitute import Replace

LINKS = ("broadcasts", "stretches")  # chains of such claims lead from one size to another


class KnownFacts:
    """Claims by variable, and the links between sizes apart from them."""

    def __init__(self) -> None:
        self._claims = Claims()
        self._link_facts: list[Claim] = []
        self._links: Links | None = None  # made when they are needed

    def add(self, fact: Claim) -> None:
        """Add a fact."""
        if fact.relation not in LINKS:
            self._claims.add(fact)
            return
        self._link_facts.append(fact)
        if self._links is not None:
            self._links.add(fact)

    def rewrite(self, atom: Atom, replace: Replace, links: Iterable[Claim]) -> None:
        """Replace an atom in all facts, and in these links that it makes."""
        self._claims = Claims(rewritten(self._claims, atom, replace))
        self._link_facts = rewritten([*self._link_facts, *links], atom, replace)
        self._links = None

    def about(self, claim: Claim) -> Sequence[Claim]:
        """Return the facts about sizes of a claim, without links."""
        return self._claims.about(claim.variables())

    def links(self) -> Links:
        """Return the links between sizes."""
        if self._links is None:
            self._links = Links(self._link_facts)
        return self._links
