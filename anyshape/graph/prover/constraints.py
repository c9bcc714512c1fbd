"""Claims about sizes, their verdicts, and the conditions that a program records."""

from __future__ import annotations

import enum
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import CodeType
from typing import Any, Literal, TypeAlias

from anyshape.errors import AnyshapeError, CheckError, SizeMismatchError, ZeroDivisorError
from anyshape.errors.messages import numpy_name
from anyshape.errors.size_errors import kind_of_reason
from anyshape.errors.source_text import expression_at, file_label, operand_texts, show_expression
from anyshape.graph.prover.claim_text import RELATIONS, ClaimText, OperandAxes, SizeNames
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate
from anyshape.graph.sizes.expr import Call, DimVar, Leaf, Size
from anyshape.graph.sizes.printing import to_source
from anyshape.graph.sizes.substitute import Replace, substitute
from anyshape.graph.sizes.symbols import memoised
from anyshape.support.lazy_dataclass import dataclass

CHECK = "check"  # the primitive of the claims that users demand
PREDICATE = "predicate"  # the primitive of what holds wherever a subgraph runs, as its node chose it by that
_MAX_CALLERS = 4  # shown of a line
_PAIRED = 8  # sizes of one broadcast that are compared in pairs

Relation: TypeAlias = Literal["==", "!=", ">=", "broadcasts", "stretches"]


class Verdict(enum.Enum):
    """Result of a proof attempt. It has no truth value: compare it with one of its members."""

    YES, NO, UNKNOWN = "yes", "no", "unknown"

    def __bool__(self) -> bool:
        raise TypeError("a Verdict has no truth value; compare with `is Verdict.YES`")


YES, NO, UNKNOWN = Verdict  # proofs read them often, and members of an enum are slow to read


class SourceLine:
    """Line of the user's program, with the position in its code if that is known.

    The position gives the expression and its operands as written. Comparisons and pickles leave it out. `callers` are
    the lines of the traced function and its callees that led here, innermost first, where a message names them. `path`
    has the same lines, outermost first, for each line of a trace: drawings fold by calls. Comparisons leave both out.
    """

    __slots__ = ("callers", "code", "file", "function", "line", "offset", "path")
    file: str
    line: int
    function: str
    code: CodeType | None
    offset: int
    callers: tuple[SourceLine, ...]
    path: tuple[SourceLine, ...]

    def __init__(
        self,
        file: str,
        line: int,
        function: str = "",
        code: CodeType | None = None,
        offset: int = -1,
        callers: Sequence[SourceLine] = (),
        path: tuple[SourceLine, ...] = (),
    ) -> None:
        self.file, self.line, self.function = file, line, function
        self.code, self.offset, self.callers, self.path = code, offset, tuple(callers), path

    def called_from(self, callers: Sequence[SourceLine]) -> SourceLine:
        """Return the line with these callers."""
        return SourceLine(self.file, self.line, self.function, self.code, self.offset, callers, self.path)

    @property
    def trail(self) -> str:
        """Line and its callers, folded: "helpers.py:3, called at model.py:20"."""
        groups = [(str(line), sum(1 for _ in same)) for line, same in itertools.groupby(self.callers, key=str)]
        shown = [f"{text} ({times} times)" if times > 1 else text for text, times in groups]
        if len(shown) > _MAX_CALLERS:
            left_out = f"... {len(shown) - _MAX_CALLERS} more"
            shown = [*shown[: _MAX_CALLERS - 1], left_out, shown[-1]]
        return f"{self}, called at {', '.join(shown)}" if shown else str(self)

    @property
    def expression(self) -> str:
        """Expression as written, such as `x @ w`; empty without its source."""
        node = None if self.code is None else expression_at(self.code, self.offset)
        return "" if node is None else show_expression(node)

    def operands_of(self, function: str) -> list[str]:
        """Return the operands as written, such as `x` and `w`; none where the expression calls another function."""
        node = None if self.code is None else expression_at(self.code, self.offset)
        return [] if node is None else operand_texts(node, (function, numpy_name(function)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SourceLine):
            return NotImplemented
        return (self.file, self.line, self.function) == (other.file, other.line, other.function)

    def __hash__(self) -> int:
        return hash((self.file, self.line, self.function))

    def __reduce__(self) -> Any:
        return SourceLine, (self.file, self.line, self.function, None, -1, self.callers, self.path)

    def __repr__(self) -> str:
        return f"SourceLine({self.file!r}, {self.line}, {self.function!r})"

    def __str__(self) -> str:
        return f"{file_label(self.file)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Claim:
    """Relation between two sizes, with the text in which it was stated.

    `broadcasts` means equal, or one of them is 1. `stretches` means equal, or left is 1.
    """

    relation: Relation
    left: Size
    right: Size
    text: str = ""

    def __str__(self) -> str:
        return self.text or f"{self.left} {RELATIONS.get(self.relation, self.relation)} {self.right}"

    def variables(self) -> tuple[DimVar, ...]:
        left, right = expr.variables(self.left), expr.variables(self.right)
        if not right or left == right:
            return left
        return tuple(dict.fromkeys(left + right)) if left else right

    def holds(self, leaf_value: Callable[[Leaf], int], known: dict[Call, int] | None = None) -> bool:
        """Return whether the claim is true where `leaf_value` gives the value of each leaf; see `evaluate`."""
        return HOLDS[self.relation](evaluate(self.left, leaf_value, known), evaluate(self.right, leaf_value, known))

    def negated(self) -> Claim:
        """Return the claim that holds exactly when this one does not; raise ValueError if there is none."""
        text = f"not ({self})"
        if self.relation == ">=":
            return Claim(">=", self.right - 1, self.left, text)
        if self.relation in RELATIONS:
            raise ValueError(f"`{self}` is a precondition and has no negation")
        return Claim("!=" if self.relation == "==" else "==", self.left, self.right, text)

    def indicator(self) -> Size:
        """Return the size that is 1 where the claim holds and else 0; raise ValueError for a precondition."""
        difference = expr.sub(self.left, self.right)
        if self.relation == ">=":
            return expr.minimum(expr.maximum(expr.add(difference, 1), 0), 1)
        if self.relation in RELATIONS:
            raise ValueError(f"`{self}` is a precondition and has no indicator")
        differ = expr.minimum(expr.maximum(difference, expr.mul(-1, difference)), 1)
        return differ if self.relation == "!=" else expr.sub(1, differ)

    def source(self, name: Callable[[Leaf], str], write_call: Callable[[Call], str] | None = None) -> str:
        """Return Python source that is true when the claim holds; see `to_source`."""
        left, right = (to_source(s, name, write_call) for s in (self.left, self.right))
        if self.relation == "broadcasts":
            return f"({left} == {right} or {left} == 1 or {right} == 1)"
        if self.relation == "stretches":
            return f"({left} == {right} or {left} == 1)"
        return f"{left} {self.relation} {right}"


HOLDS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "broadcasts": lambda a, b: a in (b, 1) or b == 1,
    "stretches": lambda a, b: a in (b, 1),
}


def equal(a: Size, b: Size, text: str = "") -> Claim:
    """Return the claim a == b."""
    return Claim("==", a, b, text)


def at_least(a: Size, b: Size, text: str = "") -> Claim:
    """Return the claim a >= b."""
    return Claim(">=", a, b, text)


@dataclass(frozen=True, slots=True)
class Condition:
    """Claim that a program relies on, with its kind and origin.

    - An assertion: NumPy would raise if it did not hold.
    - A guard: Python took a branch by it.
    - A constraint: the user declared it.
    - A fact about a run-time size: its op ensures it.
    """

    kind: Literal["assertion", "guard", "constraint", "fact"]
    claim: Claim
    primitive: str
    why: str
    where: SourceLine | None = None
    axes: OperandAxes | None = field(default=None, compare=False)

    def __str__(self) -> str:
        where = f"  # {self.where}" if self.where else ""
        return f"{self.kind} {self.claim}: {self.primitive}: {self.why}{where}"

    @property
    def may_refuse(self) -> bool:
        """True where a run of a subgraph that states the condition may find that it does not hold."""
        return self.kind == "assertion" and self.primitive != PREDICATE

    def spoken(self, values: Mapping[DimVar, int], names: SizeNames) -> ClaimText:
        """Return the claim in the words of the caller, with these sizes."""
        where, claim = self.where, self.claim
        text = ClaimText(claim.relation, claim.left, claim.right, names, values)
        return text.located(self.axes, lambda: [] if where is None else where.operands_of(self.primitive))

    def error(self, values: Mapping[DimVar, int], names: SizeNames) -> AnyshapeError:
        """Return the error for a call with these sizes, for which the condition does not hold."""
        claim, text = self.claim, self.spoken(values, names)
        about = {v: values[v] for v in claim.variables() if v in values}
        sizes, sources = names.by_name(about), names.origins(about)
        if self.primitive == CHECK:
            return CheckError(f"{self.why}: {text.demand()}", sizes, self.where, sources)
        kind, advice = SizeMismatchError, text.advice()
        if claim.relation == "!=" and self.primitive in ("divide", "floordiv"):
            kind, divisor = ZeroDivisorError, names.size(claim.left)
            advice = f"call it with another size, or divide by max_dim({divisor}, 1)"
        kind = kind_of_reason(self.why) or kind
        demand = text.demand() if text.is_spoken else ""
        return kind(self.primitive, text.claim(), sizes, self.why, self.where, sources, demand, advice)


def implied_broadcasts(claim: Claim) -> tuple[Claim, ...]:
    """Return claims that the sizes inside the broadcasts of a claim do broadcast; it is undefined otherwise."""
    left, right = claim.left, claim.right
    broadcasts = () if isinstance(left, int) or not left.broadcasts else _broadcasts_in(left)
    return broadcasts if isinstance(right, int) or not right.broadcasts else broadcasts + _broadcasts_in(right)


@memoised
def _broadcasts_in(size: Size) -> tuple[Claim, ...]:
    if isinstance(size, int) or not size.broadcasts:
        return ()
    claims: dict[Claim, None] = {}
    for call in [a for m, _ in size.terms for a, _ in m if type(a) is Call]:
        if call.depth > 1:
            claims.update(dict.fromkeys([c for arg in call.args for c in _broadcasts_in(arg)]))
        if call.function == "broadcast":
            pairs = itertools.combinations(call.args[:_PAIRED], 2)
            claims.update(dict.fromkeys([Claim("broadcasts", a, b) for a, b in pairs]))
    return tuple(claims)


def substitute_claim(claim: Claim, replace: Replace) -> Claim:
    """Return the claim with atoms replaced, and the same text."""
    left, right = substitute(claim.left, replace), substitute(claim.right, replace)
    return Claim(claim.relation, left, right, claim.text)
