"""The language of shape specifications: "a, 2*b, (a+1)//2, ..."; names are unknown sizes.

Operators bind as in Python. They are read with stacks of our own, so nothing is nested too deeply to be read, and the
terms of a sum are collected before they are added, so a long one takes no more than its share of time.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from anyshape.errors import SpecError
from anyshape.graph.prover.constraints import Claim, at_least, equal
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size

Lookup: TypeAlias = Callable[[str], Size | None]  # the size that a name stands for; None if it stands for nothing

LARGEST = 2**63 - 1  # no array has a size beyond it
_ADVICE = 'write sizes as in "n, 2*m, (n + 1)//2, 3", with + - * // % ** max() min() ceildiv() broadcast()'
_RELATION_ADVICE = 'write one relation, such as "a >= b" or "b % 8 == 0"'
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9][\w.]*)|(?P<name>[^\W\d]\w*(?:@[0-9]+)?)|(?P<sign>\.\.\.|\*\*|//|[<>=!]=|\S))"
)
_RELATIONS: dict[str, Callable[[Size, Size, str], Claim]] = {
    "==": equal,
    "!=": lambda a, b, text: Claim("!=", a, b, text),
    ">=": at_least,
    "<=": lambda a, b, text: at_least(b, a, text),
    ">": lambda a, b, text: at_least(a, expr.add(b, 1), text),
    "<": lambda a, b, text: at_least(b, expr.add(a, 1), text),
}
_BINDS = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2, "**": 4}
_UNARY = 3
_HINTS = {
    "/": "'/' does not give an integer; write //",
    "^": "'^' is no power; write **",
    "=": "'=' asks nothing; write ==",
    "_": "'_' stands for a whole axis",
    "...": "'...' stands for whole axes",
}
FUNCTIONS: dict[str, tuple[Callable[..., Size], int | None]] = {  # with the number of arguments, if it is fixed
    "max": (expr.maximum, None),
    "min": (expr.minimum, None),
    "broadcast": (expr.broadcast, None),
    "floordiv": (expr.floordiv, 2),
    "mod": (expr.mod, 2),
    "ceildiv": (expr.ceildiv, 2),
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """Sizes with the claims without which the text means nothing: divisors are not 0, sizes broadcast."""

    sizes: tuple[Size, ...]
    claims: tuple[Claim, ...] = ()
    columns: tuple[int, ...] = ()  # where each size begins


def is_name(text: str) -> bool:
    """Whether a size can be called so."""
    return text.isidentifier() and text not in FUNCTIONS and text != "_"


def parse_shape(text: str, lookup: Lookup, like: Sequence[Size] | None = None) -> Parsed:
    """The sizes of a specification. The empty text is a scalar's.

    `_` is the size that `like` has at this axis, `...` stands for all axes of `like` that nothing else stands for.
    """
    reader = _Reader(text, lookup, _ADVICE)
    items = reader.items(like)
    reader.check_names()
    return Parsed(tuple([s for s, _ in items]), tuple(reader.claims), tuple([c for _, c in items]))


def parse_size(text: str, lookup: Lookup) -> Size:
    """The one size that a text such as "(n + 7) // 8" describes."""
    reader = _Reader(text, lookup, _ADVICE)
    size = reader.expression()
    reader.expect(("",))
    reader.check_names()
    return size


def parse_relation(text: str, lookup: Lookup) -> Parsed:
    """The claim of a constraint such as "a >= 2*b", first of the claims."""
    reader = _Reader(text, lookup, _RELATION_ADVICE)
    left = reader.expression()
    token = reader.peek()
    if token.text not in _RELATIONS:
        reader.expect(("", "="))
        if token.text:
            reader.fail(_HINTS["="], token.column)
        raise SpecError(text, "is no relation between sizes", _RELATION_ADVICE)
    reader.position += 1
    right = reader.expression()
    if reader.peek().text in _RELATIONS:
        reader.fail("chains two relations; declare each on its own", reader.peek().column)
    reader.expect(("",))
    reader.check_names()
    return Parsed((), (_RELATIONS[token.text](left, right, text.strip()), *reader.claims))


# -- tokens ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # number, name, sign or end
    text: str
    column: int


def _tokens(text: str) -> list[_Token]:
    found = [_Token(str(m.lastgroup), m[str(m.lastgroup)], m.start(str(m.lastgroup))) for m in _TOKEN.finditer(text)]
    return [*found, _Token("end", "", len(text.rstrip()))]


# -- expressions -------------------------------------------------------------------------------------------------


_Item: TypeAlias = tuple[Size | None, int]  # a size of a shape, or the placeholder `_`, and its column


_Operand: TypeAlias = "int | expr.DimExpr | list[Size]"  # a list: the terms of a sum


@dataclass(slots=True)
class _Waiting:
    """An operator, a sign, or an opening bracket (of a function) whose operands are not complete."""

    symbol: str
    binds: int  # 0: a bracket
    column: int
    base: int = 0  # how many operands stood before the bracket


class _Reader:
    """Reads one text from left to right. `claims` are what it takes for granted."""

    def __init__(self, text: str, lookup: Lookup, advice: str) -> None:
        self.text, self.lookup, self.advice = text, lookup, advice
        self.tokens, self.position = _tokens(text), 0
        self.claims: list[Claim] = []
        self.unknown: dict[str, int] = {}
        self.operands: list[_Operand] = []
        self.waiting: list[_Waiting] = []
        self.brackets: list[_Waiting] = []  # those of `waiting` that are brackets

    def fail(self, problem: str, column: int) -> NoReturn:
        raise SpecError(self.text, problem, self.advice, column)

    def peek(self) -> _Token:
        return self.tokens[self.position]

    def expect(self, texts: tuple[str, ...]) -> None:
        """Refuse what follows unless it is one of these."""
        token = self.peek()
        if token.text not in texts:
            self.fail(_HINTS.get(token.text, f"{token.text!r} is not expected here"), token.column)

    def check_names(self) -> None:
        if self.unknown:
            names = " and ".join(map(repr, self.unknown))
            be = "is no name" if len(self.unknown) == 1 else "are no names"
            self.fail(f"{names} {be} of the shape or its scope", next(iter(self.unknown.values())))

    # -- shapes

    def items(self, like: Sequence[Size] | None) -> list[tuple[Size, int]]:
        """Every size with its column; brackets around all of them may be left out."""
        closing = self._outer_bracket()
        found: list[_Item] = []
        rest: tuple[int, int] | None = None  # where `...` stands: among the sizes, and in the text
        while (token := self.peek()).text not in ("", closing):
            if token.text == "...":
                if rest is not None:
                    self.fail("only one '...' can stand for the axes that are left", token.column)
                rest = len(found), token.column
                self.position += 1
            else:
                found.append((self._item(), token.column))
            if self.peek().text == ",":
                self.position += 1
            else:
                self.expect(("", closing))
        if closing:
            self.position += 1
        return self._like(found, rest, like)

    def _outer_bracket(self) -> str:
        """Step into a bracket that holds the whole shape; its closing bracket, or no text."""
        depth = 0
        for i, token in enumerate(self.tokens):
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                if i > 0 and i == len(self.tokens) - 2:
                    self.position = 1
                    return ")"
                break
        return ""

    def _item(self) -> Size | None:
        if self.peek().text == "_" and self.tokens[self.position + 1].text in ("", ",", ")"):
            self.position += 1
            return None
        return self.expression()

    def _like(
        self, items: list[_Item], rest: tuple[int, int] | None, like: Sequence[Size] | None
    ) -> list[tuple[Size, int]]:
        """The sizes with placeholders replaced by those of `like`."""
        if like is None:
            holes = [c for s, c in items if s is None] + ([rest[1]] if rest else [])
            if holes:
                self.fail("a placeholder takes its size from `like`, which was not given", min(holes))
            return [(s, c) for s, c in items if s is not None]
        shape = f"({', '.join(map(str, like))}{',' if len(like) == 1 else ''})"
        left = len(like) - len(items)
        if left < 0 or (left and rest is None):
            raise SpecError(self.text, f"has {len(items)} axes, like = {shape} has {len(like)}", self.advice)
        if rest is not None:
            at, column = rest
            items = [*items[:at], *[(None, column)] * left, *items[at:]]
        for (size, column), actual in zip(items, like, strict=True):
            if isinstance(size, int) and isinstance(actual, int) and size != actual:
                self.fail(f"{size} is not the size {actual} that like = {shape} has here", column)
        return [(actual if s is None else s, c) for (s, c), actual in zip(items, like, strict=True)]

    # -- one size

    def expression(self) -> Size:
        """The size that begins here, up to a token that cannot be part of it."""
        self._operand()
        while self._operator():
            self._operand()
        self._apply(1)
        return self._total(self.operands.pop())

    def _operand(self) -> None:
        """Signs and opening brackets, then a number or a name."""
        while True:
            token = self.peek()
            self.position += 1
            if token.kind == "number":
                self.operands.append(self._number(token))
                return
            if token.kind == "name" and self.peek().text == "(":
                if token.text not in FUNCTIONS:
                    self.fail(f"{token.text!r} is no function of sizes", token.column)
                self.position += 1
                self._open(token)
            elif token.kind == "name":
                self.operands.append(self._named(token))
                return
            elif token.text in ("-", "+"):
                self.waiting.append(_Waiting(f"0{token.text}", _UNARY, token.column))
            elif token.text == "(":
                self._open(token)
            else:
                self._refuse_operand(token)

    def _open(self, token: _Token) -> None:
        bracket = _Waiting(token.text, 0, token.column, len(self.operands))
        self.waiting.append(bracket)
        self.brackets.append(bracket)

    def _refuse_operand(self, token: _Token) -> NoReturn:
        if token.text in ("", ",", ")") or token.text in _BINDS or token.text in _RELATIONS:
            self.fail("a size is missing", token.column)
        self.fail(_HINTS.get(token.text, f"{token.text!r} is not a size"), token.column)

    def _number(self, token: _Token) -> int:
        if not token.text.isdigit():
            self.fail(f"{token.text!r} is not an integer", token.column)
        digits = token.text.lstrip("0")
        if len(digits) > 19 or int(digits or 0) > LARGEST:
            self.fail("this number is larger than any array", token.column)
        return int(digits or 0)

    def _named(self, token: _Token) -> Size:
        if not is_name(token.text.partition("@")[0]):
            self.fail(_HINTS.get(token.text, f"{token.text!r} is a function, not a size"), token.column)
        found = self.lookup(token.text)
        if found is None:
            self.unknown.setdefault(token.text, token.column)
        return 1 if found is None else found

    def _operator(self) -> bool:
        """Closing brackets, then an operator or a comma after which an operand comes; False at the end."""
        while True:
            token = self.peek()
            if token.text in _BINDS:
                binds = _BINDS[token.text]
                self._apply(binds + (token.text == "**"))
                self.waiting.append(_Waiting(token.text, binds, token.column))
                self.position += 1
                return True
            if not self.brackets:
                return False
            if token.text == "":
                self.fail("this bracket is never closed", self.text.index("(", self.brackets[-1].column))
            self.expect((")",) if self.brackets[-1].symbol == "(" else (")", ","))
            self._apply(1)
            self.position += 1
            if token.text == ",":
                self.operands.append(self._total(self.operands.pop()))
                return True
            self._close()

    def _close(self) -> None:
        self.waiting.pop()
        bracket = self.brackets.pop()
        if bracket.symbol != "(":
            args = [self._total(a) for a in self.operands[bracket.base :]]
            del self.operands[bracket.base :]
            self.operands.append(self._call(bracket.symbol, args, bracket.column))

    def _apply(self, binds: int) -> None:
        """Apply the waiting operators that bind at least so tightly, down to the innermost bracket."""
        while self.waiting and self.waiting[-1].binds >= max(binds, 1):
            operator = self.waiting.pop()
            right = self._total(self.operands.pop())
            if operator.binds == _UNARY:
                self.operands.append(right if operator.symbol == "0+" else expr.mul(-1, right))
            else:
                self.operands.append(self._binary(operator, self.operands.pop(), right))

    def _binary(self, operator: _Waiting, left: _Operand, right: Size) -> _Operand:
        if operator.symbol in ("+", "-"):
            terms = left if isinstance(left, list) else [left]
            terms.append(right if operator.symbol == "+" else expr.mul(-1, right))
            return terms
        a = self._total(left)
        if operator.symbol == "*":
            return self._checked(expr.mul(a, right), operator.column)
        if operator.symbol == "**":
            return self._power(a, right, operator.column)
        return self._call("floordiv" if operator.symbol == "//" else "mod", [a, right], operator.column)

    def _power(self, base: Size, exponent: Size, column: int) -> Size:
        if not isinstance(exponent, int) or exponent < 0:
            self.fail(f"the exponent {exponent} is not a fixed number that is at least 0", column)
        if isinstance(base, int) and abs(base) > 1 and exponent > 63:
            self.fail("this number is larger than any array", column)
        return self._checked(expr.power(base, exponent), column)

    def _call(self, function: str, args: list[Size], column: int) -> Size:
        build, count = FUNCTIONS[function]
        if count is not None and len(args) != count:
            self.fail(f"{function} takes {count} arguments, not {len(args)}", column)
        if count == 2:
            divisor = args[1]
            if divisor == 0:
                self.fail("this divides by zero", column)
            low = expr.bounds(divisor)[0]
            if not isinstance(divisor, int) and (low is None or low < 1):
                self.claims.append(at_least(divisor, 1) if low == 0 else Claim("!=", divisor, 0))
        if function == "broadcast":
            self.claims.extend(Claim("broadcasts", a, b) for a, b in itertools.combinations(args, 2) if a is not b)
        return self._checked(build(*args), column)

    def _total(self, operand: _Operand) -> Size:
        return self._checked(expr.total(operand), 0) if isinstance(operand, list) else operand

    def _checked(self, size: Size, column: int) -> Size:
        if isinstance(size, int) and abs(size) > LARGEST:
            self.fail("a number in it is larger than any array", column)
        return size
