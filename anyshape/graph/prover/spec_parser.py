"""Parse shape specifications such as "a, 2*b, (a + 1)//2, ..."; names are unknown sizes.

Operators bind as in Python. The parser keeps its own stacks (shunting yard), so no nesting is too deep to be read.
The terms of a sum are collected before they are added, so a long sum takes linear time.
"""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias

from anyshape.errors import SpecError
from anyshape.graph.prover.constraints import Claim, at_least, equal
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.intervals import LARGEST_SIZE
from anyshape.graph.sizes.substitute import BUILDERS
from anyshape.support.lazy_dataclass import dataclass

Lookup: TypeAlias = Callable[[str], Size | None]  # the size of a name; None if the name is unknown
Like: TypeAlias = Sequence[Size | None]  # None: any size

_ADVICE = 'write sizes as in "n, 2*m, (n + 1)//2, 3", with + - * // % ** max() min() ceildiv() broadcast()'
_RELATION_ADVICE = 'write one relation, such as "a >= b" or "b % 8 == 0"'
_TOKEN = r"\s*(?:(?P<number>[0-9][\w.]*)|(?P<name>[^\W\d]\w*(?:@[0-9]+)?)|(?P<sign>\.\.\.|\*\*|//|[<>=!]=|\S))"
_RELATIONS: dict[str, Callable[[Size, Size, str], Claim]] = {
    "==": equal,
    "!=": lambda a, b, text: Claim("!=", a, b, text),
    ">=": at_least,
    "<=": lambda a, b, text: at_least(b, a, text),
    ">": lambda a, b, text: at_least(a, expr.add(b, 1), text),
    "<": lambda a, b, text: at_least(b, expr.add(a, 1), text),
}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2, "**": 4}
_SPELLINGS = {"^": "**"}  # of operators, as JAX writes them
_UNARY, _BRACKET = 3, 0
_HINTS = {
    "/": "'/' does not give an integer; write //",
    "=": "'=' is not a comparison; write ==",
    "_": "'_' stands for a whole axis",
    "...": "'...' stands for whole axes",
}
_DIVISIONS = ("floordiv", "mod", "ceildiv")  # functions of two sizes; the others take any number
_FUNCTIONS: dict[str, Callable[..., Size]] = {**BUILDERS, "ceildiv": expr.ceildiv}


@dataclass(frozen=True, slots=True)
class ParsedSpec:
    """Sizes, with the claims without which the text is undefined: divisors are not 0, sizes broadcast."""

    sizes: tuple[Size, ...]
    claims: tuple[Claim, ...] = ()
    columns: tuple[int, ...] = ()  # where each size begins


def is_name(text: str) -> bool:
    """Return whether the text can name a size."""
    return text.isidentifier() and text not in _FUNCTIONS and text != "_"


def parse_shape(text: str, lookup: Lookup, like: Like | None = None) -> ParsedSpec:
    """Parse the sizes of a specification. The empty text is the shape of a scalar.

    `_` is the size that `like` has at this axis. `...` stands for the axes of `like` that no other item covers. An
    axis of `like` that is None has no size to take.
    """
    parser = _Parser(text, lookup, _ADVICE)
    items = parser.items(like)
    parser.check_names()
    return ParsedSpec(tuple([s for s, _ in items]), tuple(parser.claims), tuple([c for _, c in items]))


def parse_size(text: str, lookup: Lookup) -> Size:
    """Parse a text with one size, such as "(n + 7) // 8"."""
    parser = _Parser(text, lookup, _ADVICE)
    size = parser.expression()
    parser.expect(("",))
    parser.check_names()
    return size


def parse_relation(text: str, lookup: Lookup) -> ParsedSpec:
    """Parse a constraint such as "a >= 2*b": its claim is the first of the claims."""
    parser = _Parser(text, lookup, _RELATION_ADVICE)
    left = parser.expression()
    token = parser.peek()
    if token.text not in _RELATIONS:
        parser.expect(("", "="))
        if token.text:
            parser.fail(_HINTS["="], token.column)
        raise SpecError(text, "is not a relation between sizes", _RELATION_ADVICE)
    parser.position += 1
    right = parser.expression()
    if parser.peek().text in _RELATIONS:
        parser.fail("chains two relations; declare each on its own", parser.peek().column)
    parser.expect(("",))
    parser.check_names()
    return ParsedSpec((), (_RELATIONS[token.text](left, right, text.strip()), *parser.claims))


# -- tokens ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # number, name, sign or end
    text: str
    column: int


def _tokens(text: str) -> list[_Token]:
    groups = [(str(m.lastgroup), m) for m in re.finditer(_TOKEN, text)]
    tokens = [_Token(kind, _SPELLINGS.get(m[kind], m[kind]), m.start(kind)) for kind, m in groups]
    return [*tokens, _Token("end", "", len(text.rstrip()))]


# -- expressions -------------------------------------------------------------------------------------------------


_Item: TypeAlias = tuple[Size | None, int]  # a size of a shape, or the placeholder `_`, and its column
_Operand: TypeAlias = "int | expr.DimExpr | list[Size]"  # a list: the terms of a sum


@dataclass(slots=True)
class _Operator:
    """Entry of the operator stack: an operator, a sign, or an opening bracket (of a function)."""

    symbol: str
    precedence: int
    column: int
    base: int = 0  # height of the operand stack below a bracket


class _Parser:
    """Parser of one text, from left to right. `claims` are the conditions under which the text is defined."""

    def __init__(self, text: str, lookup: Lookup, advice: str) -> None:
        self.text, self.lookup, self.advice = text, lookup, advice
        self.tokens, self.position = _tokens(text), 0
        self.claims: list[Claim] = []
        self.unknown: dict[str, int] = {}
        self.operands: list[_Operand] = []
        self.operators: list[_Operator] = []
        self.open_brackets: list[_Operator] = []  # the brackets among `operators`

    def fail(self, problem: str, column: int) -> NoReturn:
        raise SpecError(self.text, problem, self.advice, column)

    def peek(self) -> _Token:
        return self.tokens[self.position]

    def expect(self, texts: tuple[str, ...]) -> None:
        """Raise SpecError unless the next token is one of these."""
        token = self.peek()
        if token.text not in texts:
            self.fail(_HINTS.get(token.text, f"{token.text!r} is not expected here"), token.column)

    def check_names(self) -> None:
        """Raise SpecError if the lookup did not know a name."""
        if self.unknown:
            names = " and ".join(map(repr, self.unknown))
            be = "is not a name" if len(self.unknown) == 1 else "are not names"
            self.fail(f"{names} {be} of the shape or its scope", next(iter(self.unknown.values())))

    # -- shapes

    def items(self, like: Like | None) -> list[tuple[Size, int]]:
        """Parse a shape: return every size with its column. Brackets around the shape are optional."""
        closing = self._outer_bracket()
        items: list[_Item] = []
        ellipsis: tuple[int, int] | None = None  # position of `...` among the items, and its column
        while (token := self.peek()).text not in ("", closing):
            if token.text == "...":
                if ellipsis is not None:
                    self.fail("only one '...' can stand for the axes that are left", token.column)
                ellipsis = len(items), token.column
                self.position += 1
            else:
                items.append((self._item(), token.column))
            if self.peek().text == ",":
                self.position += 1
            else:
                self.expect(("", closing))
        if closing:
            self.position += 1
        return self._without_like(items, ellipsis) if like is None else self._fill_from_like(items, ellipsis, like)

    def _outer_bracket(self) -> str:
        """Enter a bracket around the whole shape and return its closing bracket; return "" if there is none."""
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

    def _without_like(self, items: list[_Item], ellipsis: tuple[int, int] | None) -> list[tuple[Size, int]]:
        """Return the items, which must not have placeholders."""
        columns = [c for s, c in items if s is None] + ([ellipsis[1]] if ellipsis else [])
        if columns:
            self.fail("a placeholder takes its size from `like`, which was not given", min(columns))
        return [(s, c) for s, c in items if s is not None]

    def _fill_from_like(
        self, items: list[_Item], ellipsis: tuple[int, int] | None, like: Like
    ) -> list[tuple[Size, int]]:
        """Return the items with placeholders replaced by the sizes of `like`."""
        shape = f"({', '.join(map(str, like))}{',' if len(like) == 1 else ''})"
        if (left := len(like) - len(items)) < 0 or (left and ellipsis is None):
            raise SpecError(self.text, f"has {len(items)} axes, like = {shape} has {len(like)}", self.advice)
        if ellipsis is not None:
            at, column = ellipsis
            items = [*items[:at], *[(None, column)] * left, *items[at:]]
        filled: list[tuple[Size, int]] = []
        for (size, column), actual in zip(items, like, strict=True):
            if isinstance(size, int) and isinstance(actual, int) and size != actual:
                self.fail(f"{size} is not the size {actual} that like = {shape} has here", column)
            either = actual if size is None else size
            if either is None:
                problem = f"a placeholder takes its size from `like`, and like = {shape} has None here"
                raise SpecError(self.text, problem, "name the size, or give `like` one", column)
            filled.append((either, column))
        return filled

    # -- one size

    def expression(self) -> Size:
        """Parse the size that begins here, up to a token that cannot be part of it."""
        self._operand()
        while self._operator():
            self._operand()
        self._apply(1)
        return self._total(self.operands.pop())

    def _operand(self) -> None:
        """Read signs and opening brackets, then a number or a name."""
        while True:
            token = self.peek()
            self.position += 1
            if token.kind == "number":
                self.operands.append(self._number(token))
                return
            if token.kind == "name" and self.peek().text == "(":
                if token.text not in _FUNCTIONS:
                    self.fail(f"{token.text!r} is not a function of sizes", token.column)
                self.position += 1
                self._open(token)
            elif token.kind == "name":
                self.operands.append(self._named(token))
                return
            elif token.text in ("-", "+"):
                self.operators.append(_Operator(f"0{token.text}", _UNARY, token.column))
            elif token.text == "(":
                self._open(token)
            else:
                self._refuse_operand(token)

    def _open(self, token: _Token) -> None:
        bracket = _Operator(token.text, _BRACKET, token.column, len(self.operands))
        self.operators.append(bracket)
        self.open_brackets.append(bracket)

    def _refuse_operand(self, token: _Token) -> NoReturn:
        if token.text == "<=" and not self.operands:
            self.fail("a bound is not a size of an argument: name its size m, with the constraint m <= n", token.column)
        if token.text in ("", ",", ")") or token.text in _PRECEDENCE or token.text in _RELATIONS:
            unpacked = token.text in ("*", "**") and not self.operands
            self.fail("a name stands for one axis, without *" if unpacked else "a size is missing", token.column)
        self.fail(_HINTS.get(token.text, f"{token.text!r} is not a size"), token.column)

    def _number(self, token: _Token) -> int:
        if not token.text.isdigit():
            product = re.fullmatch(r"(\d+)([A-Za-z_]\w*)", token.text)
            instead = f"; write {product[1]}*{product[2]}" if product else ""
            self.fail(f"{token.text!r} is not an integer{instead}", token.column)
        digits = token.text.lstrip("0")
        if len(digits) > 19 or int(digits or 0) > LARGEST_SIZE:
            self.fail("this number is larger than any array", token.column)
        return int(digits or 0)

    def _named(self, token: _Token) -> Size:
        if not is_name(token.text.partition("@")[0]):
            self.fail(_HINTS.get(token.text, f"{token.text!r} is a function, not a size"), token.column)
        if (size := self.lookup(token.text)) is None:
            self.unknown.setdefault(token.text, token.column)
        return 1 if size is None else size

    def _operator(self) -> bool:
        """Read closing brackets, then an operator or a comma; return False if no operand follows."""
        while True:
            token = self.peek()
            if token.text in _PRECEDENCE:
                precedence = _PRECEDENCE[token.text]
                self._apply(precedence + (token.text == "**"))  # ** is right-associative
                self.operators.append(_Operator(token.text, precedence, token.column))
                self.position += 1
                return True
            if not self.open_brackets:
                return False
            if token.text == "":
                self.fail("this bracket is never closed", self.text.index("(", self.open_brackets[-1].column))
            self.expect((")",) if self.open_brackets[-1].symbol == "(" else (")", ","))
            self._apply(1)
            self.position += 1
            if token.text == ",":
                self.operands.append(self._total(self.operands.pop()))
                return True
            self._close()

    def _close(self) -> None:
        """Replace a bracket by its value; its operands are on the stack."""
        self.operators.pop()
        bracket = self.open_brackets.pop()
        if bracket.symbol != "(":
            args = [self._total(a) for a in self.operands[bracket.base :]]
            del self.operands[bracket.base :]
            self.operands.append(self._call(bracket.symbol, args, bracket.column))

    def _apply(self, precedence: int) -> None:
        """Apply the operators of at least this precedence, down to the innermost bracket."""
        while self.operators and self.operators[-1].precedence >= max(precedence, 1):
            operator = self.operators.pop()
            right = self._total(self.operands.pop())
            if operator.precedence == _UNARY:
                self.operands.append(right if operator.symbol == "0+" else expr.mul(-1, right))
            else:
                self.operands.append(self._binary(operator, self.operands.pop(), right))

    def _binary(self, operator: _Operator, left: _Operand, right: Size) -> _Operand:
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
        if function in _DIVISIONS:
            if len(args) != 2:
                self.fail(f"{function} takes 2 arguments, not {len(args)}", column)
            self._require_nonzero(args[1], column)
        if function == "broadcast":
            self.claims.extend(Claim("broadcasts", a, b) for a, b in itertools.combinations(args, 2) if a is not b)
        return self._checked(_FUNCTIONS[function](*args), column)

    def _require_nonzero(self, divisor: Size, column: int) -> None:
        """Claim that the divisor is not 0 unless its bounds imply it."""
        if divisor == 0:
            self.fail("this divides by zero", column)
        low = expr.bounds(divisor)[0]
        if not isinstance(divisor, int) and (low is None or low < 1):
            self.claims.append(at_least(divisor, 1) if low == 0 else Claim("!=", divisor, 0))

    def _total(self, operand: _Operand) -> Size:
        return self._checked(expr.total(operand), 0) if isinstance(operand, list) else operand

    def _checked(self, size: Size, column: int) -> Size:
        if isinstance(size, int) and abs(size) > LARGEST_SIZE:
            self.fail("a number in it is larger than any array", column)
        return size
