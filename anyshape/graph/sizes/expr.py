"""Integer expressions over unknown sizes, in canonical form. Pure data: knows no scope, no prover and no array.

A size is a Python int or a `DimExpr`: a polynomial with integer coefficients over atoms. An atom is a leaf
(`DimVar`, `InputAxis`, `RuntimeScalar`) or a `Call` (floordiv, mod, max, min, broadcast) of sizes. Expressions are
interned, so equal expressions are one object and `is` compares them. Operations on interned sizes are remembered.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from anyshape.graph.sizes import polynomial_bounds, polynomials
from anyshape.graph.sizes.intervals import CALL_BOUNDS, Bound
from anyshape.graph.sizes.limits import check_limit
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.printing import show, show_call
from anyshape.graph.sizes.symbols import DimVar, InputAxis, Interned, RuntimeScalar, remembered


class Call(Interned):
    """An interned application of floordiv, mod, max, min or broadcast to sizes, opaque to the polynomial around it."""

    __slots__ = ("_key", "args", "depth", "function", "limits", "nodes")
    _known: WeakValueDictionary[tuple[Any, ...], Call] = WeakValueDictionary()

    function: str
    args: tuple[Size, ...]
    limits: tuple[Bound, Bound]
    depth: int  # of calls within calls
    nodes: int  # of the expression written out
    _key: tuple[Any, ...] | None

    def __new__(cls, function: str, args: tuple[Size, ...]) -> Call:
        found = cls._known.get((function, *args))
        if found is not None:
            return found
        self = super().__new__(cls)
        self.function, self.args, self._key = function, args, None
        parts = [a for a in args if isinstance(a, DimExpr)]
        self.depth = 1 + max([a.depth for a in parts], default=0)
        self.nodes = 1 + len(args) + sum([a.nodes for a in parts])
        check_limit("calls within calls", self.depth)
        check_limit("nodes", self.nodes)
        self.limits = CALL_BOUNDS[function](*[bounds(a) for a in args])
        return cls._known.setdefault((function, *args), self)

    def __reduce__(self) -> Any:
        return Call, (self.function, self.args)

    def __repr__(self) -> str:
        return show_call(self, str)

    def bounds(self) -> tuple[Bound, Bound]:
        return self.limits

    def sort_key(self) -> tuple[Any, ...]:
        if self._key is None:  # kept, as parts are shared: without it the work doubles with each level of nesting
            args = tuple([(0, a) if isinstance(a, int) else (1, a.sort_key()) for a in self.args])
            self._key = (1, self.function, args)
        return self._key


Leaf: TypeAlias = DimVar | InputAxis | RuntimeScalar
Atom: TypeAlias = DimVar | InputAxis | RuntimeScalar | Call


class DimExpr(Interned):
    """A size that is not a constant. Equality and hash are identity of the canonical form."""

    __slots__ = ("_bounds", "_key", "atom", "depth", "nodes", "remainders", "terms")
    _known: WeakValueDictionary[tuple[Any, ...], DimExpr] = WeakValueDictionary()

    terms: tuple[tuple[Monomial, int], ...]
    atom: Atom | None  # the one that it is
    depth: int
    nodes: int
    remainders: bool  # are among the factors of its terms
    _bounds: tuple[Bound, Bound] | None
    _key: tuple[Any, ...] | None

    def __new__(cls, terms: tuple[tuple[Monomial, int], ...]) -> DimExpr:
        found = cls._known.get(terms)
        if found is not None:
            return found
        self = super().__new__(cls)
        self.terms = terms
        self._bounds = self._key = None
        self.remainders = False
        depth = nodes = factors = ones = 0
        for monomial, coefficient in terms:
            nodes += 1 + len(monomial)
            ones |= abs(coefficient)
            powers = 0
            for atom, power in monomial:
                powers += power
                if type(atom) is Call:
                    nodes += atom.nodes
                    depth = max(depth, atom.depth)
                    self.remainders = self.remainders or atom.function == "mod"
            factors = max(factors, powers)
        self.depth, self.nodes = depth, nodes
        self.atom = terms[0][0][0][0] if factors == 1 and len(terms) == 1 and terms[0][1] == 1 else None
        check_limit("terms", len(terms))
        check_limit("nodes", nodes)
        check_limit("factors in a term", factors)
        check_limit("bits in a coefficient", ones.bit_length())
        return cls._known.setdefault(terms, self)

    def __reduce__(self) -> Any:
        return DimExpr, (self.terms,)

    def __repr__(self) -> str:
        return _text(self)

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} has no truth value; ask its scope")

    def __add__(self, other: Size) -> Size:
        return add(self, other) if isinstance(other, _SIZES) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return sub(self, other) if isinstance(other, _SIZES) else NotImplemented

    def __rsub__(self, other: Size) -> Size:
        return sub(other, self) if isinstance(other, _SIZES) else NotImplemented

    def __neg__(self) -> Size:
        return mul(-1, self)

    def __mul__(self, other: Size) -> Size:
        return mul(self, other) if isinstance(other, _SIZES) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return floordiv(self, other) if isinstance(other, _SIZES) else NotImplemented

    def __rfloordiv__(self, other: Size) -> Size:
        return floordiv(other, self) if isinstance(other, _SIZES) else NotImplemented

    def __mod__(self, other: Size) -> Size:
        return mod(self, other) if isinstance(other, _SIZES) else NotImplemented

    def __rmod__(self, other: Size) -> Size:
        return mod(other, self) if isinstance(other, _SIZES) else NotImplemented

    def __pow__(self, other: int) -> Size:
        return power(self, other) if isinstance(other, int) else NotImplemented

    def sort_key(self) -> tuple[Any, ...]:
        if self._key is None:
            self._key = tuple([(tuple([(a.sort_key(), p) for a, p in m]), c) for m, c in self.terms])
        return self._key


Size: TypeAlias = int | DimExpr
_SIZES = (int, DimExpr)
_text = remembered(show)


# -- construction ------------------------------------------------------------------------------------------------


@remembered
def from_atom(atom: Atom) -> DimExpr:
    """The expression that is this atom alone."""
    return DimExpr(((((atom, 1),), 1),))


def variable(name: str, lower: int = 0, upper: Bound = None) -> DimExpr:
    """A new unknown size."""
    return from_atom(DimVar(name, lower, upper))


@remembered
def input_axis(operand: int, axis: int) -> DimExpr:
    """The size of an axis of an operand."""
    return from_atom(InputAxis(operand, axis))


def as_atom(size: Size) -> Atom | None:
    """The atom that `size` is, or None when it is anything else."""
    return size.atom if isinstance(size, DimExpr) else None


def terms_of(size: Size) -> Terms:
    """The polynomial that the size is, as a new dictionary."""
    return dict(size.terms) if isinstance(size, DimExpr) else {(): int(size)} if size else {}


def from_terms(terms: Terms) -> Size:
    """The canonical size of a sum of terms."""
    kept = [item for item in terms.items() if item[1]]
    if len(kept) <= 1:
        return 0 if not kept else DimExpr((kept[0],)) if kept[0][0] else kept[0][1]
    for monomial, call in [(m, a) for m, _ in kept for a, _ in m if type(a) is Call and a.function == "mod"]:
        for quotient, a, b in _quotients(call):  # b * (a // b) + a % b is written as a
            whole = polynomials.undivided(dict(kept), monomial, call, quotient, a, b) if quotient is not None else None
            if whole is not None:
                return from_terms(whole)
    check_limit("terms", len(kept))
    kept.sort(key=polynomials.order_of_term)
    return DimExpr(tuple(kept))


def _quotients(remainder: Call) -> Iterable[tuple[Call | None, Terms, Terms]]:
    """Quotients q, where they exist, with remainder + b * q == a."""
    a, b = map(terms_of, remainder.args)
    yield Call._known.get(("floordiv", *remainder.args)), a, b
    up = polynomials.rounded_up(a, b[()]) if len(b) == 1 and () in b else None
    if up is not None:
        dividend = DimExpr._known.get(tuple(sorted([t for t in up[0].items() if t[1]], key=polynomials.order_of_term)))
        yield Call._known.get(("floordiv", dividend, b[()])), up[1], {(): -b[()]}


@remembered
def add(a: Size, b: Size) -> Size:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    terms = terms_of(a)
    polynomials.add_into(terms, b.terms if isinstance(b, DimExpr) else (((), b),))
    return from_terms(terms)


@remembered
def sub(a: Size, b: Size) -> Size:
    """a - b."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    terms = terms_of(a)
    polynomials.add_into(terms, b.terms if isinstance(b, DimExpr) else (((), b),), -1)
    return from_terms(terms)


@remembered
def mul(a: Size, b: Size) -> Size:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    x, y = terms_of(a), terms_of(b)
    check_limit("terms", max(1, len(x) * len(y)), 8)
    return from_terms(polynomials.product(x, y))


def total(sizes: Iterable[Size]) -> Size:
    """The sum of the sizes, put together in one go."""
    return from_terms(sum_terms(*[(size, 1) for size in sizes]))


@remembered
def power(a: Size, k: int) -> Size:
    """a ** k, k >= 0."""
    if k < 0:
        raise ValueError(f"({a}) ** {k} is no integer")
    if isinstance(a, DimExpr):
        check_limit("factors in a term", k)
    else:
        check_limit("bits in a coefficient", k * max(a.bit_length() - 1, 0), 8)
        return a**k
    return from_terms(functools.reduce(polynomials.product, [terms_of(a)] * k, {(): 1}))


# -- division ----------------------------------------------------------------------------------------------------


@remembered
def floordiv(a: Size, b: Size) -> Size:
    """The floor of a / b, as Python's `//`."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a // b
        if b == 0:
            raise ZeroDivisionError(f"{a} // 0")
        return floordiv(mul(-1, a), -b) if b < 0 else _floordiv_constant(a, b)
    a, b, _ = _reduced(a, b)
    if isinstance(b, int):
        return floordiv(a, b)
    quotient, rest = map(from_terms, polynomials.divide(terms_of(a), terms_of(b)))
    rest = a if quotient == 0 else rest
    if rest == 0 and nonzero(b):
        return quotient
    if quotient == 0 or rest == 0 or len(b.terms) > 1:
        return 0 if _within(a, b) else from_atom(Call("floordiv", (a, b)))
    return add(quotient, 0 if _within(rest, b) else from_atom(Call("floordiv", (rest, b))))


def _reduced(a: Size, b: Size) -> tuple[Size, Size, Size]:
    """(p, q, g) with a = g * p and b = g * q, for a positive g of one term."""
    found = polynomials.reduce(terms_of(a), terms_of(b))
    p, q, factor = map(from_terms, found) if found is not None else (a, b, 1)
    return p, q, factor


def _within(a: Size, b: Size) -> bool:
    """0 <= a < b follows from the bounds of the variables alone."""
    low = bounds(a)[0]
    gap = None if low is None or low < 0 else polynomial_bounds.of_terms(gap_terms(b, a))[0]
    return gap is not None and gap >= 1


def _floordiv_constant(a: DimExpr, b: int) -> Size:
    """a // b = q + r // b for a = q * b + r, term by term; nested quotients merge."""
    parts = [(c, c % b) for m, c in a.terms if m and c % b]
    if parts and all(c < 0 and 2 * r >= b for c, r in parts):  # -n // 3 is written as -((n + 2) // 3)
        return mul(-1, floordiv(add(mul(-1, a), b - 1), b))
    rest = from_terms({m: c % b for m, c in a.terms})
    quotient = from_terms({m: c // b for m, c in a.terms})
    low, high = bounds(rest)
    if low is not None and high is not None and low // b == high // b:
        return add(quotient, low // b)
    calls = polynomial_bounds.quotients(terms_of(rest))
    times = terms_of(rest).get(((calls[0], 1),), 0) if len(calls) == 1 else 0
    if times in (1, b - 1):  # (p + q // k) // b = (k*p + q) // (k*b), and p - q // k = (k*p - q + k - 1) // k
        (inner, k), call = calls[0].args, from_atom(calls[0])
        alone = mul(k, sub(rest, mul(times, call)))
        if times == 1:
            return add(quotient, floordiv(add(alone, inner), k * b))
        return add(add(quotient, call), floordiv(add(sub(alone, inner), k - 1), k * b))
    common = math.gcd(b, *terms_of(rest).values())
    if common > 1:
        return add(quotient, floordiv(from_terms({m: c // common for m, c in terms_of(rest).items()}), b // common))
    return add(quotient, from_atom(Call("floordiv", (rest, b))))


def divide_exactly(a: Size, b: Size) -> Size | None:
    """a / b for b != 0, when b divides a as a polynomial; None otherwise."""
    if isinstance(b, int):
        if b == 0:
            return None
        parts = {m: divmod(c, b) for m, c in terms_of(a).items()}
        return from_terms({m: q for m, (q, _) in parts.items()}) if not any(r for _, r in parts.values()) else None
    quotient, rest = polynomials.divide(terms_of(a), terms_of(b))
    return from_terms(quotient) if not any(rest.values()) else None


@remembered
def mod(a: Size, b: Size) -> Size:
    """a - b * (a // b), as Python's `%`."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a % b
        if b == 0:
            raise ZeroDivisionError(f"{a} % 0")
        return mul(-1, mod(mul(-1, a), -b)) if b < 0 else _mod_constant(a, b)
    a, b, factor = _reduced(a, b)
    if isinstance(b, int):
        return mul(factor, mod(a, b))
    if len(b.terms) == 1 or nonzero(b):
        rest = from_terms(polynomials.divide(terms_of(a), terms_of(b))[1])
        if rest == 0:
            return 0 if nonzero(b) else mul(factor, from_atom(Call("mod", (a, b))))
        a = rest if len(b.terms) == 1 else a
    return mul(factor, a if _within(a, b) else from_atom(Call("mod", (a, b))))


def _mod_constant(a: DimExpr, b: int) -> Size:
    rest = from_terms({m: c % b for m, c in a.terms})
    low, high = bounds(rest)
    if low is not None and high is not None and low // b == high // b:
        return sub(rest, b * (low // b))
    common = math.gcd(b, *terms_of(rest).values())
    if common > 1:
        return mul(common, mod(from_terms({m: c // common for m, c in terms_of(rest).items()}), b // common))
    return from_atom(Call("mod", (rest, b)))


def ceildiv(a: Size, b: Size) -> Size:
    """The smallest integer not below a / b."""
    if isinstance(b, int) and b > 0:
        return floordiv(add(a, b - 1), b)
    return mul(-1, floordiv(mul(-1, a), b))


# -- bounds ------------------------------------------------------------------------------------------------------


def bounds(size: Size) -> tuple[Bound, Bound]:
    """Sound lower and upper bounds from the bounds of the leaves (None: unbounded)."""
    if isinstance(size, int):
        return size, size
    if size._bounds is None:
        size._bounds = polynomial_bounds.of_terms(dict(size.terms))
    return size._bounds


def sum_terms(*parts: tuple[Size, int]) -> Terms:
    """The sum of sizes, each times its factor: the terms of its canonical form, of which no expression is made."""
    terms: Terms = {}
    for size, factor in parts:
        polynomials.add_into(terms, size.terms if isinstance(size, DimExpr) else (((), size),), factor)
    return _canonical(terms, any(isinstance(size, DimExpr) and size.remainders for size, _ in parts))


def gap_terms(a: Size, b: Size) -> Terms:
    """As `sum_terms`, of a - b."""
    terms = terms_of(a)
    remainders = isinstance(a, DimExpr) and a.remainders
    if isinstance(b, int):
        if b:
            terms[()] = terms.get((), 0) - b
    else:
        remainders = remainders or b.remainders
        for monomial, coefficient in b.terms:
            terms[monomial] = terms.get(monomial, 0) - coefficient
    return _canonical(terms, remainders)


def _canonical(terms: Terms, remainders: bool) -> Terms:
    if remainders and any(a.function == "floordiv" for m in terms for a, _ in m if type(a) is Call):
        return terms_of(from_terms(terms))
    return {m: c for m, c in terms.items() if c} if 0 in terms.values() else terms


def nonzero(a: Size) -> bool:
    """a != 0 follows from the bounds of its variables alone."""
    low, high = bounds(a)
    return (low is not None and low >= 1) or (high is not None and high <= -1)


# -- extrema and broadcasts --------------------------------------------------------------------------------------


def _flatten(function: str, args: Iterable[Size]) -> list[Size]:
    """The arguments, those of an inner call in place of it: max(max(a, b) - 1, c) is max(a - 1, b - 1, c)."""
    flat: list[Size] = []
    limit = "sizes in a broadcast" if function == "broadcast" else "arguments of a call"
    for arg in args:
        shift = arg.terms[-1][1] if isinstance(arg, DimExpr) and function != "broadcast" and not arg.terms[-1][0] else 0
        atom = as_atom(add(arg, -shift) if shift else arg)
        inner = [add(a, shift) for a in atom.args] if isinstance(atom, Call) and atom.function == function else [arg]
        flat.extend(a for a in inner if a not in flat)
        check_limit(limit, len(flat))
    return flat


def _extremum(function: str, args: tuple[Size, ...], sign: int) -> Size:
    """Keep the arguments that no other one beats everywhere."""
    kept: list[Size] = []
    for arg in _flatten(function, args):
        gaps = [polynomial_bounds.of_terms(gap_terms(o, arg))[::sign] for o in kept]
        if not [low for low, _ in gaps if low is not None and low * sign >= 0]:
            others = [o for o, (_, high) in zip(kept, gaps, strict=True) if high is None or high * sign > 0]
            kept = [*others, arg]
    return kept[0] if len(kept) == 1 else from_atom(Call(function, tuple(sorted(kept, key=_arg_order))))


def _arg_order(arg: Size) -> tuple[Any, ...]:
    return (1, arg) if isinstance(arg, int) else (0, *arg.sort_key())


@remembered
def maximum(*args: Size) -> Size:
    """The largest of the arguments."""
    return _extremum("max", args, 1)


@remembered
def minimum(*args: Size) -> Size:
    """The smallest of the arguments."""
    return _extremum("min", args, -1)


def _yields(arg: Size, others: list[Size]) -> bool:
    """The argument is min(s, 1) where s broadcasts with the rest: it is 1, or it is 0 and so are they."""
    atom = as_atom(arg)
    if not isinstance(atom, Call) or atom.function != "min" or atom.args[1:] != (1,) or bounds(arg)[0] != 0:
        return False
    return all(part in others for part in _flatten("broadcast", atom.args[:1]))


@remembered
def broadcast(*args: Size) -> Size:
    """The size that axes of these sizes broadcast to: the one that is not 1. A constant other than 1 decides."""
    flat = [a for a in _flatten("broadcast", args) if a != 1]
    flat = [a for a in flat if not _yields(a, flat)]
    constants = [a for a in flat if isinstance(a, int)]
    if constants:
        return constants[0]
    if len(flat) <= 1:
        return flat[0] if flat else 1
    return from_atom(Call("broadcast", tuple(sorted(flat, key=_arg_order))))


@remembered
def variables(size: Size) -> tuple[DimVar, ...]:
    """The distinct variables of the expression, in order."""
    found: dict[DimVar, None] = {}
    for atom in [a for m, _ in size.terms for a, _ in m] if isinstance(size, DimExpr) else ():
        if isinstance(atom, Call):
            found.update(dict.fromkeys([v for arg in atom.args for v in variables(arg)]))
        elif isinstance(atom, DimVar):
            found[atom] = None
    return tuple(found)
