"""The variables of one program, what is known about them, and how a question about sizes is answered.

A question is proved (nothing is recorded), a precondition (an assertion, believed from then on), or a
decision (answered from the sizes of the current call and recorded as a guard, or refused with witnesses).
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anyshape.errors import (
    ContradictionError,
    InconclusiveDimensionError,
    LeakedTracerError,
    ShapeError,
    SizeMismatchError,
)
from anyshape.graph import dims
from anyshape.graph.conditions import Claim, Condition, Verdict, Where, equal, substitute_claim
from anyshape.graph.decide import decide
from anyshape.graph.dims import Atom, Call, DimExpr, DimVar, Size
from anyshape.graph.evaluate import evaluate, to_mapping
from anyshape.graph.extents import ShapeExtent
from anyshape.graph.intervals import Bound

_LOG = logging.getLogger("anyshape.guards")
_PROBES = (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 100, 1000)
_PROBE_LIMIT = 20_000
_PROCESS = secrets.token_hex(4)
_COUNTER = itertools.count()


@dataclass(frozen=True, slots=True)
class Reliance:
    """One exact size that a rule was given: the primitive, what it was needed for, the axis and the answer."""

    primitive: str
    field: str
    axis: int
    answer: ShapeExtent


class Scope:
    """What is known about the sizes of one program. `hints` are the sizes of the current call, under jit.

    A `free` scope is that of a size which belongs to no program yet and may enter any. Copies and pickles.
    """

    def __init__(
        self,
        hints: Mapping[DimVar, int] | None = None,
        conditions: Iterable[Condition] = (),
        origin: Where | None = None,
        root: Scope | None = None,
        free: bool = False,
    ) -> None:
        self.origin, self.free = origin, free  # where the user declared it
        self.uid = (_PROCESS, next(_COUNTER))  # a copy is the same scope
        self._root = root.root if root is not None else None
        self.hints = dict(hints) if hints is not None else None
        self.closed = False  # its trace has ended: an answer from the sizes of that call would hold for no other
        self.names: dict[str, Size] = {}  # the sizes that were declared by name
        self.conditions: list[Condition] = []
        self.reliances: list[Reliance] = []
        self._facts: list[Claim] = []
        self._replacements: dict[Atom, Size] = {}
        self._normal: dict[DimExpr, Size] = {}
        self._answers: dict[Claim, Verdict] = {}
        for condition in conditions:
            self.assume(condition)

    # -- what is known

    def normal(self, size: Size) -> Size:
        """The size with every known equality applied."""
        if isinstance(size, int) or not self._replacements:
            return size
        found = self._normal.get(size)
        if found is None:
            found = dims.substitute(size, self._replacements.get)
            self._normal[size] = found
        return found

    def decide(self, claim: Claim) -> Verdict:
        """What follows about the claim."""
        if claim.left is claim.right and claim.relation != "!=":
            return Verdict.YES
        found = self._answers.get(claim)
        if found is None:
            found = decide(substitute_claim(claim, self._replacements.get), self._facts)
            self._answers[claim] = found
        return found

    def same(self, a: Size, b: Size) -> bool:
        """The two sizes are proved equal. False means not proved, never proved different."""
        return a is b or a == b or self.normal(a) == self.normal(b) or self.decide(equal(a, b)) is Verdict.YES

    def proves(self, claim: Claim) -> bool:
        """The claim follows. False means not proved, never proved false."""
        return self.decide(claim) is Verdict.YES

    def bounds(self, size: Size) -> tuple[Bound, Bound]:
        """The least and the greatest value that the size can have (None: unbounded, or not known to be bounded)."""
        return dims.bounds(self.normal(size))

    def lower(self, size: Size) -> Bound:
        """The least value that the size can have, or a bound below it."""
        return self.bounds(size)[0]

    def upper(self, size: Size) -> Bound:
        """The greatest value that the size can have, or a bound above it."""
        return self.bounds(size)[1]

    def related(self, other: Scope) -> bool:
        """Sizes of the two scopes may be mixed."""
        return self.free or other.free or self.root.uid == other.root.uid

    @property
    def root(self) -> Scope:
        """The declared scope that this one was derived from; itself, if it was declared."""
        return self if self._root is None else self._root

    def __reduce__(self) -> Any:
        return _restored, (self.uid, self.closed, self.hints, self.conditions, self.origin, self._root, self.free)

    # -- what is asked

    def require(self, claim: Claim, primitive: str, why: str, operands: Sequence[object], where: Where | None) -> None:
        """Hold now, fail now, or become an assertion of the program that is believed from now on."""
        verdict = self.decide(claim)
        if verdict is Verdict.NO:
            raise ShapeError(primitive, why, operands, where)
        if verdict is Verdict.UNKNOWN:
            self._check_hints(claim, primitive, why, where)
            self.assume(Condition("assertion", claim, primitive, why, where))

    def _check_hints(self, claim: Claim, primitive: str, why: str, where: Where | None) -> None:
        """Under jit, a precondition that the current call breaks is an error here, at the user's line."""
        variables = claim.variables()
        if self.hints is None or not all(v in self.hints for v in variables):
            return
        if not claim.holds(to_mapping(self.hints)):
            sizes = {str(v): self.hints[v] for v in variables}
            raise SizeMismatchError(primitive, str(claim), sizes, why, where)

    def ask(self, claim: Claim, where: Where | None) -> bool:
        """The answer to a question of Python's: proved, or decided by the sizes of this call and guarded."""
        if self.closed:
            raise LeakedTracerError(f"size in `{claim}`", where=where)
        verdict = self.decide(claim)
        if verdict is not Verdict.UNKNOWN:
            return verdict is Verdict.YES
        if self.hints is None or not all(v in self.hints for v in claim.variables()):
            raise InconclusiveDimensionError(str(claim), self.witnesses(claim), where)
        answer = claim.holds(to_mapping(self.hints))
        held = claim if answer else claim.negated()
        self.assume(Condition("guard", held, "python", f"decided {claim} is {answer}", where))
        return answer

    def value(self, size: Size, where: Where | None) -> int:
        """The size as a Python int: fixed, or fixed by a guard to what it is in this call."""
        if self.closed:
            raise LeakedTracerError(f"size {size}", where=where)
        fixed = self.normal(size)
        if isinstance(fixed, int):
            return fixed
        low, high = self.bounds(fixed)
        if low is not None and low == high:
            return low
        if self.hints is None or not all(v in self.hints for v in dims.variables(size)):
            claim = equal(size, 0, f"int({size})")
            raise InconclusiveDimensionError(f"the value of {size}", self.witnesses(claim), where)
        number = evaluate(size, to_mapping(self.hints))
        self.assume(Condition("guard", equal(size, number), "python", f"int({size}) was asked", where))
        _warn_of_a_fixed_size(str(size), str(where))
        return number

    def constrain(self, condition: Condition) -> None:
        """Take up a declared constraint; one that no sizes satisfy together with the others is refused."""
        if self.decide(condition.claim) is Verdict.NO:
            raise ContradictionError(str(condition.claim), [str(condition.claim)], condition.where)
        self.assume(condition)

    def assume(self, condition: Condition) -> None:
        """Record the condition and believe its claim from now on."""
        self.conditions.append(condition)
        claim = substitute_claim(condition.claim, self._replacements.get)
        replaced = _oriented(claim) if claim.relation == "==" else None
        if replaced is not None:
            self._replace(*replaced)
        else:
            self._facts.append(claim)
        self._answers.clear()

    def _replace(self, atom: Atom, size: Size) -> None:
        """Believe atom == size everywhere, in older equalities too."""
        single = {atom: size}
        self._replacements = {a: dims.substitute(s, single.get) for a, s in self._replacements.items()}
        self._replacements[atom] = size
        if isinstance(atom, Call) and atom.function == "broadcast":
            self._facts.extend(Claim("stretches", part, size) for part in atom.args)
        self._facts = [substitute_claim(f, self._replacements.get) for f in self._facts]
        self._normal.clear()

    # -- witnesses

    def witnesses(self, claim: Claim) -> dict[bool, dict[str, int]]:
        """Sizes that satisfy every condition and make the claim true, and others that make it false, if found."""
        claims = [c.claim for c in self.conditions]
        names = list(dict.fromkeys(v for c in [claim, *claims] for v in c.variables()))
        asked = set(claim.variables())
        found: dict[bool, dict[str, int]] = {}
        ranges = [[p for p in _PROBES if _allows(v, p)] or [v.lower] for v in names]
        for sizes in itertools.islice(itertools.product(*ranges), _PROBE_LIMIT):
            valuation = to_mapping(dict(zip(names, sizes, strict=True)))
            with contextlib.suppress(ZeroDivisionError):  # where it means nothing it is neither
                if all(c.holds(valuation) for c in claims):
                    shown = {str(v): s for v, s in zip(names, sizes, strict=True) if v in asked}
                    found.setdefault(claim.holds(valuation), shown)
                if len(found) == 2:
                    break
        return found


def _restored(uid: tuple[str, int], closed: bool, *arguments: Any) -> Scope:
    """A copy of a scope, which counts as the scope itself."""
    scope = Scope(*arguments)
    scope.uid, scope.closed = uid, closed
    return scope


@functools.lru_cache(maxsize=1024)
def _warn_of_a_fixed_size(size: str, where: str) -> None:
    """Say once per line that each value of the size will have a trace of its own."""
    _LOG.warning(
        "%s: Python asked for the value of the size %s, so each value of it is traced anew "
        "(anyshape.numpy takes sizes as they are, as in anyshape.numpy.zeros(x.shape))",
        where,
        size,
    )


def _allows(variable: DimVar, size: int) -> bool:
    return size >= variable.lower and (variable.upper is None or size <= variable.upper)


def _rank(atom: Atom) -> tuple[int, object]:
    """Prefer to replace calls over variables, and newer variables over older ones."""
    return (1, len(dims.show(dims.from_atom(atom)))) if isinstance(atom, Call) else (0, atom.sort_key()[2])


def _oriented(claim: Claim) -> tuple[Atom, Size] | None:
    """An equality as `atom == size` where the atom occurs nowhere in the size; None when it has no such form."""
    gap = claim.left - claim.right
    if isinstance(gap, int):
        return None
    candidates = []
    for monomial, coefficient in gap.terms:
        if len(monomial) == 1 and monomial[0][1] == 1 and abs(coefficient) == 1:
            atom = monomial[0][0]
            rest = (gap - coefficient * dims.from_atom(atom)) * -coefficient
            if not _occurs(atom, rest):
                candidates.append((atom, rest))
    return max(candidates, key=lambda c: _rank(c[0]), default=None)


def _occurs(atom: Atom, size: Size) -> bool:
    if isinstance(size, int):
        return False
    return any(
        a is atom or (isinstance(a, Call) and any(_occurs(atom, arg) for arg in a.args))
        for monomial, _ in size.terms
        for a, _ in monomial
    )


class SymbolicSize:
    """A size together with the scope that answers questions about it. The base of what users see in `x.shape`.

    It stands for a Python int, or for a NumPy integer if it has a `numpy_dtype`.
    """

    __slots__ = ("expr", "numpy_dtype", "scope")

    def __init__(self, expr: DimExpr, scope: Scope, numpy_dtype: Any = None) -> None:
        self.expr, self.scope, self.numpy_dtype = expr, scope, numpy_dtype
