"""Claims about sizes, their verdicts, and the conditions that a program records.

Sizes and claims in the words of the caller: `x.shape[1] (3) must equal w.shape[0] (2)`.

Claims by their variables: the strongest bounds alone, and those that are connected with a claim.
"""

from __future__ import annotations

import enum
import itertools
import operator
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from types import CodeType, MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

from anyshape.errors import AnyshapeError, CheckError, ShapeError, SizeMismatchError, ZeroDivisorError
from anyshape.errors.messages import expression_at, file_label, numpy_name, operand_texts, shortened, show_expression
from anyshape.errors.size_errors import kind_of_reason
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimVar, Leaf, Size
from anyshape.graph.sizes.substitute import Replace, evaluate, substitute, values_from
from anyshape.graph.sizes.symbols import memoised, to_source, unique_namer
from anyshape.support.lazy_dataclass import NamedTuple, dataclass

Values = Mapping[DimVar, int]
_LONGEST, _NOTES = 80, 4  # characters of a size, remarks on it


class OperandAxes(NamedTuple):
    """Axes that the two sides of a claim are read off: operand and axis of each, among so many `operands`."""

    operands: int
    left: tuple[int, int]
    right: tuple[int, int]

    def texts(self, texts: Sequence[str]) -> tuple[str, str]:
        """Return the sides as `w.shape[0]`, empty where the operand has no text."""
        if len(texts) != self.operands:
            return "", ""
        left, right = (f"{texts[i]}.shape[{axis}]" if texts[i] else "" for i, axis in (self.left, self.right))
        return left, right


class SizeNames:
    """Names of the variables of one program in messages.

    `sources` says where each is read, such as `x.shape[0]`. Variables in `undeclared` are called by their source; those
    that the user declared keep their name.
    """

    def __init__(self, sources: Mapping[DimVar, str] | None = None, undeclared: Collection[DimVar] = ()) -> None:
        self.sources: dict[DimVar, str] = dict(sources or {})
        self.undeclared: set[DimVar] = set(undeclared)
        labels = [str(v) for v in self.sources]
        texts = {str(v): self.sources[v] for v in self.sources if v in self.undeclared}
        self._texts = {label: text for label, text in texts.items() if labels.count(label) == 1}
        alternatives = "|".join(map(re.escape, sorted(self._texts, key=len, reverse=True)))
        self._pattern = re.compile(rf"(?<![\w.])({alternatives})(?![\w'(@])") if alternatives else None

    def leaf(self, atom: Any) -> str:
        """Return the name of one variable."""
        return self.sources[atom] if atom in self.undeclared else str(atom)

    def origin(self, variable: DimVar) -> str:
        """Return where a declared variable is read, "" where its name says so."""
        source = self.sources.get(variable, "")
        plain = variable not in self.undeclared and source != str(variable) and not source.startswith("where ")
        return source if plain else ""

    def size(self, size: Size) -> str:
        """Return the size by where its variables are read."""
        return expr.show(size, self.leaf)

    def text(self, text: str) -> str:
        """Return a text about sizes with the labels of variables replaced."""
        return text if self._pattern is None else self._pattern.sub(lambda match: self._texts[match[0]], text)

    def by_name(self, values: Values) -> dict[str, int]:
        """Return the sizes by unique names, with a prime for each further variable of one name."""
        name = unique_namer(self.leaf)
        return {name(variable): size for variable, size in values.items()}

    def origins(self, values: Values) -> dict[str, str]:
        """Return where each size that has a declared name is read."""
        return {self.leaf(v): self.origin(v) for v in values if self.origin(v)}

    def quantity(self, size: Size, values: Values, axis: str = "") -> str:
        """Return the size with its number and, for declared names, where they are read: `n (3, from x.shape[0])`.

        `axis` is the text of the axis that a fixed size is read off.
        """
        if isinstance(size, int):
            return f"{axis} ({size})" if axis else str(size)
        number = _number(size, values)
        alone = expr.as_atom(size)
        notes = [str(number)] if number is not None else []
        for variable in expr.variables(size):
            if variable not in self.sources and str(variable) in _OF_DATA:
                notes.append(_OF_DATA[str(variable)])
            if self.origin(variable):
                notes.append(f"{'' if alone is variable else f'{variable} '}from {self.origin(variable)}")
        text = shortened(self.size(size), _LONGEST)
        return f"{text} ({', '.join(notes[:_NOTES])})" if notes else text

    def solve(self, size: Size, number: int, axis: str = "", *, at_least: bool = False) -> tuple[str, int] | None:
        """Return the axis that gives `size` its value, and the length of it for which `size` is `number`.

        None means that no such axis is known. With `at_least`, a larger value serves too. `axis` is the text of the
        axis that a fixed size is read off.
        """
        if isinstance(size, int):
            return (axis, number) if axis else None
        variable, *others = expr.variables(size)
        source, terms = self.sources.get(variable, ""), expr.terms_of(size)
        factor, constant = terms.pop(((variable, 1),), 0), terms.pop((), 0)
        if others or terms or factor < 1 or not source:
            return None
        quotient, remainder = divmod(number - constant, factor)
        exact = at_least or not remainder
        return (source, max(quotient + bool(remainder), 0)) if exact else None


def _number(size: Size, values: Values) -> int | None:
    """Return the size as a number, None where it has none."""
    if not all(v in values for v in expr.variables(size)):
        return None
    try:
        return evaluate(size, values_from(values))
    except (ZeroDivisionError, ShapeError):
        return None


_OF_DATA = {"count": "the number of true elements"}  # sizes that operations give, by their names
RELATIONS = {"broadcasts": "broadcasts with", "stretches": "is 1 or equals"}  # that Python has no operator for
_DEMAND = {
    "==": "{0} must equal {1}",
    "!=": "{0} must not be {1}",
    ">=": "{0} must be at least {1}",
    "broadcasts": "{0} must equal {1}, or one of them must be 1",
    "stretches": "{0} must be 1 or equal {1}",
}


class ClaimText:
    """Claim that does not hold, as the two lines of a message."""

    def __init__(self, relation: str, left: Size, right: Size, names: SizeNames, values: Values) -> None:
        self.relation, self.sides, self.names, self.values = relation, (left, right), names, values
        self.axes: tuple[str, str] = "", ""

    def located(self, axes: OperandAxes | None, operands: Callable[[], Sequence[str]]) -> ClaimText:
        """Return this text with fixed sizes called by the axes of the operands as written."""
        if axes is not None and any(isinstance(side, int) for side in self.sides):
            self.axes = axes.texts(operands())
        return self

    @property
    def is_spoken(self) -> bool:
        """True if some side is more than a bare number."""
        return any(not isinstance(side, int) for side in self.sides) or all(self.axes)

    def demand(self) -> str:
        """Return what must hold, with numbers."""
        if (divided := self._divided()) is not None:
            dividend, divisor = (self.names.quantity(size, self.values) for size in divided)
            return f"{dividend} must be divisible by {divisor}"
        sides = [self.names.quantity(s, self.values, axis) for s, axis in zip(self.sides, self.axes, strict=True)]
        return _DEMAND[self.relation].format(*sides)

    def claim(self) -> str:
        """Return the relation alone: `x.shape[1] == w.shape[0]`."""
        left, right = (self.names.size(s) for s in self.sides)
        return f"{left} {RELATIONS.get(self.relation, self.relation)} {right}"

    def _divided(self) -> tuple[Size, Size] | None:
        """Return dividend and divisor of a claim that a remainder is 0."""
        left, right = self.sides
        remainder = None if isinstance(left, int) else expr.as_atom(left)
        is_remainder = isinstance(remainder, Call) and remainder.function == "mod"
        if self.relation != "==" or isinstance(right, int) is False or right != 0 or not is_remainder:
            return None
        return remainder.args[0], remainder.args[1]  # type: ignore[union-attr]

    def advice(self) -> str:
        """Return the change to the sizes that makes the claim hold, "" where no single one does."""
        if (divided := self._divided()) is not None:
            return self._make_divisible(*divided)
        left, right = (_number(side, self.values) for side in self.sides)
        if left is None or right is None:
            return ""
        if self.relation == "!=":
            return self._change()
        if self.relation == ">=":
            least = self.names.solve(self.sides[0], right, self.axes[0], at_least=True)
            return self._change() if least is None else f"make {least[0]} at least {least[1]}"
        return self._make_equal(left, right)

    def _make_equal(self, left: int, right: int) -> str:
        """Return the advice to change one of two axes that must agree; they are `left` and `right` now."""
        solved = [
            self.names.solve(size, number, axis) for size, number, axis in zip(self.sides, (right, left), self.axes)
        ]
        choices = [choice for choice in reversed(solved) if choice is not None]
        if not choices:
            return self._make_alike() or self._make_stretchable(left, right)
        if len(choices) > len({axis for axis, _ in choices}):
            return self._make_alike() or self._change()
        if self.relation == "==":
            return "make " + ", or ".join([f"{axis} {n}" for axis, n in choices])
        axis, n = choices[0]
        return f"make {axis} {n}{' or 1' if n != 1 else ''}"

    def _make_alike(self) -> str:
        """Return the advice for two sizes that follow one axis and differ, as of slices that are off by one."""
        left, right = (set(expr.variables(side)) for side in self.sides)
        source = self.names.sources.get(next(iter(left)), "") if len(left) == 1 and left == right else ""
        return f"make both the same function of {source}" if source else ""

    def _make_stretchable(self, left: int, right: int) -> str:
        """Return the advice to change an axis of the values of an assignment, where they have a fixed size."""
        if self.relation != "stretches" or not isinstance(self.sides[0], int):
            return self._change()
        return f"make the axis of {left} elements {right}{' or 1' if right != 1 else ''} long"

    def _change(self) -> str:
        """Return the advice to change the axes that the claim depends on."""
        variables = dict.fromkeys(v for side in self.sides for v in expr.variables(side))
        sources = [self.names.sources.get(v, "") for v in variables]
        return f"change {' or '.join(sources)}" if 0 < len(sources) <= 3 and all(sources) else ""

    def _make_divisible(self, dividend: Size, divisor: Size) -> str:
        number, by = (_number(size, self.values) for size in (dividend, divisor))
        if number is None or not by or by < 0:
            return ""
        below = number - number % by
        return f"make {self.names.size(dividend)} a multiple of {by}, such as {below or 2 * by} or {below + by}"


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


@dataclass(eq=False, slots=True)
class SourceLine:
    """Line of the user's program, with the position in its code if that is known.

    The position gives the expression and its operands as written. Comparisons and pickles leave it out. `callers` are
    the lines of the traced function and its callees that led here, innermost first, where a message names them. `path`
    has the same lines, outermost first, for each line of a trace: drawings fold by calls. Comparisons leave both out.
    """

    file: str
    line: int
    function: str = ""
    code: CodeType | None = None
    offset: int = -1
    callers: Sequence[SourceLine] = ()
    path: tuple[SourceLine, ...] = ()

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
        left = expr.variables(self.left)
        if isinstance(self.right, int):
            return left
        right = expr.variables(self.right)
        return left if left == right else tuple(dict.fromkeys(left + right)) if left else right

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


LINKS = ("broadcasts", "stretches")  # chains of such claims lead from one size to another
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


_MOST_CONNECTED = 100  # the nearest ones are used
_FEW = 8  # claims, up to which all are looked at sooner than an index is made
_NONE: Mapping[int, Claim] = MappingProxyType({})


class Claims:
    """Claims that all hold, in their order. Of `n >= 3` and `n >= 5` the strongest alone stays.

    A loop over the rows of an array demands one more row in each step. Without this, each step would cost more than
    the one before it.
    """

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._claims: dict[Hashable, Claim] = {}
        self._by_variable: dict[DimVar, dict[int, Claim]] | None = None  # by identity; made when it is needed
        for claim in claims:
            self.add(claim)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def add(self, claim: Claim) -> None:
        """Add a claim, in place of one that it implies by its constant alone."""
        key, excess = bound_of(claim)
        if (known := self._claims.get(key)) is not None:
            if excess >= bound_of(known)[1]:
                return
            del self._claims[key]  # the new one comes last
            if self._by_variable is not None:
                for variable in known.variables():
                    del self._by_variable[variable][id(known)]
        self._claims[key] = claim
        if self._by_variable is not None:
            _enter(claim, self._by_variable)

    def _indexed(self) -> dict[DimVar, dict[int, Claim]]:
        """Return the claims by variable."""
        if self._by_variable is None:
            self._by_variable = {}
            for claim in self._claims.values():
                _enter(claim, self._by_variable)
        return self._by_variable

    def near(self, variable: DimVar) -> Mapping[int, Claim]:
        """Return the claims about a variable, by identity."""
        return self._indexed().get(variable, _NONE)

    def about(self, variables: Iterable[DimVar]) -> Sequence[Claim]:
        """Return the claims about some of the variables."""
        if not self._claims:
            return ()
        if self._by_variable is None and len(self._claims) <= _FEW:
            wanted = frozenset(variables)
            return [c for c in self._claims.values() if not wanted.isdisjoint(c.variables())]
        index, about = self._indexed(), dict[int, Claim]()
        for variable in variables:
            if variable in index:
                about.update(index[variable])
        return list(about.values())


def _enter(claim: Claim, by_variable: dict[DimVar, dict[int, Claim]]) -> None:
    """Put a claim last among those about each of its variables."""
    for variable in claim.variables():
        by_variable.setdefault(variable, {})[id(claim)] = claim


def bound_of(claim: Claim) -> tuple[Hashable, int]:
    """Return a key that claims share which differ by constants, and the excess: a claim of less excess is stronger.

    Of two claims with one key and other relations than `>=`, neither excess is less: they are the same claim.
    """
    if claim.relation != ">=":
        return (claim.relation, claim.left, claim.right), 0
    (left, plus), (right, minus) = _without_constant(claim.left), _without_constant(claim.right)
    return (">=", left, right), plus - minus


def _without_constant(size: Size) -> tuple[tuple[Any, ...], int]:
    """Return the terms of a size but its constant, and the constant."""
    if isinstance(size, int):
        return (), size
    *terms, (monomial, coefficient) = size.terms
    return (size.terms, 0) if monomial else (tuple(terms), coefficient)


class Index(Protocol):
    """Claims by variable."""

    def near(self, variable: DimVar) -> Mapping[int, Claim]:
        """Return the claims about a variable, by identity."""


def connected_claims(claim: Claim, index: Index) -> list[Claim]:
    """Return the claims that share variables with this one, directly or through others, nearest first."""
    connected: dict[int, Claim] = {}
    frontier: Iterable[DimVar] = claim.variables()
    visited = set(frontier)
    while frontier:
        before = len(connected)
        for variable in frontier:
            connected.update(index.near(variable))
            if len(connected) >= _MOST_CONNECTED:
                return list(connected.values())[:_MOST_CONNECTED]
        new = itertools.islice(connected.values(), before, None)
        frontier = dict.fromkeys([v for c in new for v in c.variables() if v not in visited])
        visited.update(frontier)
    return list(connected.values())
