"""Tables of verdicts: final ones, and claims that stay open under the assumptions so far.

Classes of equal sizes: what is proved of one size holds for all sizes of its class.
"""

from __future__ import annotations

import contextlib

from anyshape.errors import SizeLimitError
from anyshape.graph.prover.constraints import Claim, Verdict
from anyshape.graph.prover.linear_constraints import occurs
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.sizes.substitute import Replace, substitute
from anyshape.support.lazy_dataclass import NamedTuple


class EqualClasses:
    """Union-find over sizes. The shortest size of a class stands for it.

    Sizes that divide by a size are left out, as they are undefined where the others are not.
    """

    def __init__(self) -> None:
        self.has_joined: bool = False  # else each size stands for itself
        self._shorter: dict[Size, Size] = {}  # an equal size, which is shorter or was first
        self._order: dict[Size, int] = {}  # in which sizes were seen
        self._joined: list[tuple[Size, Size]] = []  # pairs that the tables above do not have yet

    def copy(self) -> EqualClasses:
        """Return a copy that grows on its own."""
        self._enter_joined()
        new = EqualClasses()
        new.has_joined = self.has_joined
        new._shorter, new._order = dict(self._shorter), dict(self._order)
        return new

    def shortest(self, size: Size) -> Size:
        """Return the shortest size of the class."""
        if self._joined:
            self._enter_joined()
        first = size
        while (shorter := self._shorter.get(size)) is not None:
            size = shorter
        if first is not size:
            self._shorter[first] = size
        return size

    def shortest_inside(self, size: Size) -> Size:
        """Return the shortest size of the class; that of a broadcast has the shortest of its sizes in their places."""
        if not self.has_joined:
            return size
        size = self.shortest(size)
        atom = expr.as_atom(size)
        if isinstance(atom, Call) and atom.function == "broadcast":
            args = [self.shortest(a) for a in atom.args]
            if any(a is not b for a, b in zip(args, atom.args, strict=True)):
                size = self.shortest(expr.broadcast(*args))
        return size

    def join(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes. The tables get the pair when a size is looked up next."""
        self.has_joined = True
        self._joined.append((a, b))

    def rewrite(self, replace: Replace, atom: Atom | None = None) -> None:
        """Join each size to its form after replacements; with an atom, only sizes that contain it.

        Queries are about sizes after all replacements. Without this they would miss what was proved of older forms.
        """
        if not self.has_joined:
            return
        self._enter_joined()
        sizes = dict.fromkeys([*self._shorter, *self._shorter.values()])
        for size in [s for s in sizes if atom is None or occurs(atom, s)]:
            with contextlib.suppress(ZeroDivisionError, SizeLimitError):
                new = substitute(size, replace)
                if new is not size and new != size:
                    self.join(size, new)

    def _enter_joined(self) -> None:
        """Put the pairs that were joined into the tables."""
        joined, self._joined = self._joined, []
        for a, b in joined:
            self._enter(a, b)

    def _enter(self, a: Size, b: Size) -> None:
        """Join the classes of two sizes in the tables."""
        if _divides(a) or _divides(b):
            return
        if self._shorter:
            a, b = self.shortest(a), self.shortest(b)
        if a is not b and a != b:
            longer, shorter = (a, b) if self._rank(a) > self._rank(b) else (b, a)
            self._shorter[longer] = shorter

    def _rank(self, size: Size) -> tuple[int, int]:
        """Return what falls from a size to the one that stands for it: the length, then when it was seen first."""
        return (size.nodes, self._order.setdefault(size, len(self._order))) if isinstance(size, DimExpr) else (0, 0)


def _divides(size: Size) -> bool:
    return isinstance(size, DimExpr) and size.divides


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
