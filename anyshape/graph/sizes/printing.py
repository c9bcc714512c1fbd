"""Sizes as text: as users write them, and as Python source. Does not import what expressions are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Name: TypeAlias = Callable[[Any], str]  # how a leaf is written


def _is_call(atom: Any) -> bool:
    return hasattr(atom, "function")


_INFIX = {"floordiv": "//", "mod": "%"}


def _parenthesised(text: str) -> str:
    return text if text.rstrip("'").replace("@", "").isidentifier() or text.isdecimal() else f"({text})"


def show_call(call: Any, name: Name) -> str:
    if call.function in _INFIX:
        left, right = (_show(a, name) for a in call.args)
        if call.function == "mod" and isinstance(call.args[1], int):
            left = _show_terms(_modulo(call.args[0].terms, call.args[1]), name)
        return f"{_parenthesised(left)} {_INFIX[call.function]} {_parenthesised(right)}"
    return f"{call.function}({', '.join(_show(a, name) for a in call.args)})"


def _modulo(terms: Any, by: int) -> list[Any]:
    """The terms with -1 in place of by - 1, which is the same modulo `by`: `(-n) % 8` and not `(7*n) % 8`."""
    return [(m, -1 if m and c == by - 1 and by > 2 else c) for m, c in terms]


def show(size: Any, name: Name = str) -> str:
    """The expression as users write it: `2*n + 1`, `(n + 7) // 8`, `broadcast(a, b)`.

    Two leaves of one name are told apart: `n + n'`.
    """
    leaves: dict[str, Any] = {}

    def named(leaf: Any) -> str:
        text = name(leaf)
        while leaves.setdefault(text, leaf) != leaf:
            text += "'"
        return text

    return _show(size, named)


def _show(size: Any, name: Name) -> str:
    if isinstance(size, int):
        return str(size)
    return _show_terms(size.terms, name)


def _show_terms(terms: Any, name: Name) -> str:
    pieces: list[str] = []
    first = next((t for t in terms if t[1] > 0), terms[0])  # `m - n`, not `-n + m`
    for monomial, coefficient in [first, *[t for t in terms if t is not first]]:
        factors = []
        for atom, power in monomial:
            text = show_call(atom, name) if _is_call(atom) else name(atom)
            infix = _is_call(atom) and atom.function in _INFIX
            alone = len(terms) == 1 and len(monomial) == 1 and coefficient == 1 and power == 1
            text = f"({text})" if infix and not alone else text
            factors.append(text if power == 1 else f"{text}**{power}")
        if not monomial or abs(coefficient) != 1:
            factors.insert(0, str(abs(coefficient)))
        sign = "-" if coefficient < 0 else "+"
        pieces.append(f" {sign} " + "*".join(factors) if pieces else ("-" if sign == "-" else "") + "*".join(factors))
    return "".join(pieces)


def to_source(size: Any, name: Name, write_call: Name | None = None) -> str:
    """Python source that computes the expression from local ints, with the leaves under the given names.

    `write_call` gives the source of a call, where it is not to be written out in place.
    """
    if isinstance(size, int):
        return repr(size)
    source = ""
    for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):  # a minus in front costs a step
        factors = [str(abs(coefficient))] if abs(coefficient) != 1 or not monomial else []
        for atom, power in monomial:
            text = name(atom) if not _is_call(atom) else write_call(atom) if write_call else call_source(atom, name)
            factors.extend([text] * power)
        source += (" - " if coefficient < 0 else " + ") if source else ("-" if coefficient < 0 else "")
        source += "*".join(factors)
    return f"({source})" if len(size.terms) > 1 or "*" in source or source[0] == "-" else source


def call_source(call: Any, name: Name, write_call: Name | None = None) -> str:
    """Python source of floordiv, mod, max, min or broadcast; `write_call` gives that of the calls inside."""
    args = [to_source(a, name, write_call) for a in call.args]
    if call.function in _INFIX:
        return f"({args[0]} {_INFIX[call.function]} {args[1]})"
    if call.function == "broadcast":
        if len(args) == 2:
            return f"({args[1]} if {args[0]} == 1 else {args[0]})"
        *firsts, last = args  # in a row: Python reads no more than 200 brackets in one another
        return f"({' '.join([f'{a} if {a} != 1 else' for a in firsts])} {last})"
    if len(args) == 2 and max(map(len, args)) <= _SHORT:  # a fifth of the time of a call
        (a, b), sign = args, "<" if call.function == "min" else ">"
        return f"({a} if {a} {sign} {b} else {b})"
    return f"{call.function}({', '.join(args)})"


_SHORT = 12  # letters of what is written out twice
