"""Symbols, the leaves of size expressions: unknown sizes, and sizes of operands, by axis or by value.

Write sizes as text: for users, and as Python source. Does not import the classes of expressions.
"""

from __future__ import annotations

import functools
import itertools
import os
import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Self, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from anyshape.graph.sizes.intervals import Bound, Interval
from anyshape.support.lazy_dataclass import dataclass

_PROCESS = os.urandom(4).hex()  # variables of other processes keep an identity of their own
_COUNTER = itertools.count()


_Function = TypeVar("_Function", bound=Callable[..., Any])


def memoised(function: _Function) -> _Function:
    """Memoise a function of interned sizes."""
    return functools.lru_cache(maxsize=1 << 14)(function)  # type: ignore[return-value]


class Interned:
    """Base of interned classes: equal instances are one object, and copying returns that object."""

    __slots__ = ("__weakref__",)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class DimVar(Interned):
    """Dimension variable: an unknown size, with identity, name and bounds. Two variables of one name differ.

    A pickled variable keeps its identity. It prints as its `label`: its name, or a text that distinguishes it from
    another variable of that name.
    """

    __slots__ = ("interval", "label", "lower", "name", "uid", "upper")
    _instances: WeakValueDictionary[tuple[str, int], DimVar] = WeakValueDictionary()

    name: str
    lower: int
    upper: Bound
    interval: Interval
    uid: tuple[str, int]
    label: str

    def __new__(
        cls, name: str, lower: int = 0, upper: Bound = None, uid: tuple[str, int] | None = None, label: str = ""
    ) -> DimVar:
        interned = cls._instances.get(uid) if uid is not None else None
        if interned is not None:
            return interned
        self = super().__new__(cls)
        self.name, self.lower, self.upper, self.interval = name, lower, upper, (lower, upper)
        self.label = label or name
        self.uid = uid if uid is not None else (_PROCESS, next(_COUNTER))
        cls._instances[self.uid] = self
        return self

    def __reduce__(self) -> Any:
        return DimVar, (self.name, self.lower, self.upper, self.uid, self.label)

    def __repr__(self) -> str:
        return self.label

    def sort_key(self) -> tuple[Any, ...]:
        return 0, self.name, self.uid


@dataclass(frozen=True, slots=True)
class InputAxis:
    """Op-local leaf: the size of an axis of an operand of the node that holds it."""

    operand: int
    axis: int
    interval: ClassVar[Interval] = (0, None)

    def __repr__(self) -> str:
        return f"in{self.operand}.shape[{self.axis}]"

    def sort_key(self) -> tuple[Any, ...]:
        return 0, "", (str(self.operand), self.axis)


@dataclass(frozen=True, slots=True)
class RuntimeScalar:
    """Op-local leaf: the value of a scalar operand, read as a size. `semantics` names the rounding of floats."""

    operand: int
    semantics: str = "round"
    interval: ClassVar[Interval] = (None, None)

    def __repr__(self) -> str:
        return f"size(in{self.operand})"

    def sort_key(self) -> tuple[Any, ...]:
        return 0, "", (self.semantics, self.operand)


Leaf: TypeAlias = DimVar | InputAxis | RuntimeScalar


Name: TypeAlias = Callable[[Any], str]  # the text of a leaf, or of a call

_INFIX = {"floordiv": "//", "mod": "%"}
_SIGNS = {
    (False, False): "",
    (False, True): "-",
    (True, False): " + ",
    (True, True): " - ",
}  # by (follows, is negative)
_SHORT = 12  # characters; only shorter operands are written twice


def _is_call(atom) -> bool:
    return hasattr(atom, "function")


def _join_terms(terms: Iterable[tuple[int, list[str]]]) -> str:
    """Join coefficients and factors to a sum: `2*n - m + 1`."""
    text = ""
    for coefficient, factors in terms:
        if abs(coefficient) != 1 or not factors:
            factors = [str(abs(coefficient)), *factors]
        text += _SIGNS[bool(text), coefficient < 0] + "*".join(factors)
    return text


# -- for users ---------------------------------------------------------------------------------------------------


def unique_namer(name: Name = str) -> Name:
    """Return a naming function that marks each further leaf of the same name with a prime: `n`, `n'`, `n''`."""
    leaves: dict[str, Any] = {}

    def name_uniquely(leaf) -> str:
        text = name(leaf)
        while leaves.setdefault(text, leaf) != leaf:
            text += "'"
        return text

    return name_uniquely


def show(size: Any, name: Name = str) -> str:
    """Return the expression as users write it: `2*n + 1`, `(n + 7) // 8`, `broadcast(a, b)`.

    `unique_namer` distinguishes two leaves of one name: `n + n'`.
    """
    return _show(size, unique_namer(name))


def show_call(call: Any, name: Name) -> str:
    """Return a call as users write it."""
    if call.function in _INFIX:
        left, right = (_show(a, name) for a in call.args)
        if call.function == "mod" and isinstance(call.args[1], int):
            left = _show_terms(_signed_residues(call.args[0].terms, call.args[1]), name)
        return f"{_parenthesised(left)} {_INFIX[call.function]} {_parenthesised(right)}"
    return f"{call.function}({', '.join(_show(a, name) for a in call.args)})"


def _show(size, name: Name) -> str:
    return str(size) if isinstance(size, int) else _show_terms(size.terms, name)


def _show_terms(terms, name: Name) -> str:
    first = next((t for t in terms if t[1] > 0), terms[0])  # `m - n`, not `-n + m`
    whole = len(terms) == 1 and first[1] == 1 and [p for _, p in first[0]] == [1]
    texts = []
    for monomial, coefficient in [first, *[t for t in terms if t is not first]]:
        factors = []
        for atom, power in monomial:
            text = show_call(atom, name) if _is_call(atom) else name(atom)
            factors.append(_show_factor(text, atom, power, whole=whole))
        texts.append((coefficient, factors))
    return _join_terms(texts)


def _show_factor(text: str, atom, power: int, *, whole: bool) -> str:
    """Add brackets and the exponent to the text of an atom. `whole`: the atom is the whole expression."""
    if not whole and _is_call(atom) and atom.function in _INFIX:
        text = f"({text})"
    return text if power == 1 else f"{text}**{power}"


_ATOM = r"[\w.@]+(\[[^\[\]]*\][\w.]*)*'*"


def _parenthesised(text: str) -> str:
    """Return the text in brackets unless it is one name, number or attribute: `x.shape[0]`, `p['w'].shape[0]`."""
    return text if re.fullmatch(_ATOM, text) else f"({text})"


def _signed_residues(terms, by: int) -> list[Any]:
    """Write -1 for the coefficient by - 1, which is the same modulo `by`: `(-n) % 8` and not `(7*n) % 8`."""
    return [(m, -1 if m and c == by - 1 and by > 2 else c) for m, c in terms]


# -- Python source -----------------------------------------------------------------------------------------------


def to_source(size: Any, name: Name, write_call: Name | None = None) -> str:
    """Return Python source that computes the expression from local ints; `name` gives the local of a leaf.

    `write_call` gives the source of a call. By default `call_source` writes it in place.
    """
    if isinstance(size, int):
        return repr(size)
    terms = []
    for monomial, coefficient in sorted(size.terms, key=lambda term: term[1] < 0):  # a leading minus costs a step
        factors: list[str] = []
        for atom, power in monomial:
            text = name(atom) if not _is_call(atom) else write_call(atom) if write_call else call_source(atom, name)
            factors += [text] * power
        terms.append((coefficient, factors))
    source = _join_terms(terms)
    return f"({source})" if len(terms) > 1 or "*" in source or source[0] == "-" else source


def call_source(call: Any, name: Name, write_call: Name | None = None) -> str:
    """Return Python source of a call; `write_call` gives the source of calls inside it."""
    args = [to_source(a, name, write_call) for a in call.args]
    if call.function in _INFIX:
        return f"({args[0]} {_INFIX[call.function]} {args[1]})"
    if call.function == "broadcast":
        if len(args) == 2:
            return f"({args[1]} if {args[0]} == 1 else {args[0]})"
        *firsts, last = args  # one flat chain: Python refuses more than 200 nested brackets
        return f"({' '.join([f'{a} if {a} != 1 else' for a in firsts])} {last})"
    if len(args) == 2 and max(map(len, args)) <= _SHORT:  # a fifth of the time of calling min or max
        (a, b), sign = args, "<" if call.function == "min" else ">"
        return f"({a} if {a} {sign} {b} else {b})"
    return f"{call.function}({', '.join(args)})"
