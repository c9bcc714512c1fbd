"""Tables of verdicts: final ones, and claims that stay open under the assumptions so far."""

from __future__ import annotations

from anyshape.graph.prover.constraints import Claim, Verdict
from anyshape.graph.prover.equal_classes import EqualClasses
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.support.lazy_namedtuple import NamedTuple

Key = tuple[str, Size, Size]  # of a claim without its text
_SYMMETRIC = frozenset({"==", "!=", "broadcasts"})


def key_of(claim: Claim) -> Key:
    """Return the key of a claim."""
    return claim.relation, claim.left, claim.right


def keys_of(claim: Claim) -> tuple[Key, ...]:
    """Return the keys that a verdict is stored under: of the claim, and of its mirror image if that is equivalent."""
    relation, a, b = key_of(claim)
    return ((relation, a, b), (relation, b, a)) if relation in _SYMMETRIC else ((relation, a, b),)


class FinalVerdicts(NamedTuple):
    """Final verdicts, and the classes of sizes that are proved equal."""

    settled: dict[Key, Verdict]
    equal: EqualClasses


class VerdictTables:
    """Tables of verdicts, and the classes of sizes that are proved equal."""

    def __init__(self) -> None:
        self.settled: dict[Key, Verdict] = {}  # final, as further assumptions keep what is implied
        self.open: dict[Key, bool] = {}  # not proved, until a further assumption; True: not refuted either
        self.equal: EqualClasses = EqualClasses()
        self._given_up: dict[Key, frozenset[DimVar]] = {}  # with the variables of the claim

    def final(self) -> FinalVerdicts:
        """Return a copy of the final verdicts."""
        return FinalVerdicts(dict(self.settled), self.equal.copy())

    def keep(self, final: FinalVerdicts) -> None:
        """Start with final verdicts."""
        self.settled, self.equal = dict(final.settled), final.equal.copy()

    def settle(self, claim: Claim, verdict: Verdict) -> None:
        """Note a final verdict."""
        relation, a, b = claim.relation, claim.left, claim.right
        self.settled[relation, a, b] = verdict
        if relation in _SYMMETRIC:
            self.settled[relation, b, a] = verdict

    def leave_open(self, claim: Claim, *, is_undecided: bool) -> None:
        """Note that a claim is not proved, and whether it is not refuted either."""
        self.open.update(dict.fromkeys(keys_of(claim), is_undecided))

    def give_up(self, claim: Claim) -> None:
        """Note that a search ended without a verdict, by its budget."""
        self._given_up.update(dict.fromkeys(keys_of(claim), frozenset(claim.variables())))

    def is_given_up(self, claim: Claim) -> bool:
        """Return whether a search ended by its budget, and no assumption about sizes of the claim alone came since.

        Other assumptions make the search longer.
        """
        return key_of(claim) in self._given_up

    def retry(self, *claims: Claim) -> None:
        """Let claims that are not proved be searched again, although a search ended by its budget."""
        for key in [key for claim in claims for key in keys_of(claim)]:
            self._given_up.pop(key, None)
            self.open.pop(key, None)

    def note_equal(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes, and reopen the claims that this may settle."""
        if self.equal.shortest(a) is not self.equal.shortest(b):
            self.equal.join(a, b)
            self.open.clear()

    def assume(self, assumed: Claim) -> None:
        """Settle a claim that is taken as true, and reopen those that it may settle.

        Facts are in other sizes, from which a proof of the claim as it is stated may not be found.
        """
        self.settle(assumed, Verdict.YES)
        self.open.clear()
        about = set(assumed.variables())
        if self._given_up:
            self._given_up = {key: v for key, v in self._given_up.items() if not about <= v}
