"""Integer expressions over unknown sizes, in canonical form. Pure data: knows no scope, no prover and no array.

A size is a Python int or a `DimExpr`: a polynomial with integer coefficients over atoms. An atom is a leaf
(`DimVar`, `InputAxis`, `RuntimeScalar`) or a `Call` (floordiv, mod, max, min, broadcast) of sizes. Expressions are
interned, so equal expressions are one object and `is` compares them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from anyshape.graph import intervals
from anyshape.graph.dim_text import show, show_call
from anyshape.graph.intervals import CALL_BOUNDS, Bound
from anyshape.graph.leaves import DimVar, InputAxis, RuntimeScalar


class Call:
    """An interned application of floordiv, mod, max, min or broadcast to sizes, opaque to the polynomial around it."""

    __slots__ = ("__weakref__", "_key", "args", "function", "limits")
    _known: WeakValueDictionary[tuple[Any, ...], Call] = WeakValueDictionary()

    function: str
    args: tuple[Size, ...]
    limits: tuple[Bound, Bound]
    _key: tuple[Any, ...] | None

    def __new__(cls, function: str, args: tuple[Size, ...]) -> Call:
        found = cls._known.get((function, *args))
        if found is not None:
            return found
        self = super().__new__(cls)
        self.function, self.args, self._key = function, args, None
        self.limits = CALL_BOUNDS[function](*[bounds(a) for a in args])
        return cls._known.setdefault((function, *args), self)

    def __reduce__(self) -> Any:
        return Call, (self.function, self.args)

    def __deepcopy__(self, memo: dict[int, Any]) -> Call:
        return self

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
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]  # (atom, power) pairs in order; () is the constant term
Terms: TypeAlias = dict[Monomial, int]


class DimExpr:
    """A size that is not a constant. Equality and hash are identity of the canonical form."""

    __slots__ = ("__weakref__", "_bounds", "_key", "terms")
    _known: WeakValueDictionary[tuple[Any, ...], DimExpr] = WeakValueDictionary()

    terms: tuple[tuple[Monomial, int], ...]
    _bounds: tuple[Bound, Bound] | None
    _key: tuple[Any, ...] | None

    def __new__(cls, terms: tuple[tuple[Monomial, int], ...]) -> DimExpr:
        found = cls._known.get(terms)
        if found is not None:
            return found
        self = super().__new__(cls)
        self.terms = terms
        self._bounds = self._key = None
        return cls._known.setdefault(terms, self)

    def __reduce__(self) -> Any:
        return DimExpr, (self.terms,)

    def __deepcopy__(self, memo: dict[int, Any]) -> DimExpr:
        return self

    def __repr__(self) -> str:
        return show(self)

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} has no truth value; ask its scope")

    def __add__(self, other: Size) -> Size:
        return add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Size) -> Size:
        return add(self, mul(-1, other))

    def __rsub__(self, other: Size) -> Size:
        return add(other, mul(-1, self))

    def __neg__(self) -> Size:
        return mul(-1, self)

    def __mul__(self, other: Size) -> Size:
        return mul(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Size) -> Size:
        return floordiv(other, self)

    def __mod__(self, other: Size) -> Size:
        return mod(self, other)

    def __rmod__(self, other: Size) -> Size:
        return mod(other, self)

    def sort_key(self) -> tuple[Any, ...]:
        if self._key is None:
            self._key = tuple([(tuple([(a.sort_key(), p) for a, p in m]), c) for m, c in self.terms])
        return self._key


Size: TypeAlias = int | DimExpr


# -- construction ------------------------------------------------------------------------------------------------


def from_atom(atom: Atom) -> DimExpr:
    """The expression that is this atom alone."""
    return DimExpr(((((atom, 1),), 1),))


def variable(name: str, lower: int = 0, upper: Bound = None) -> DimExpr:
    """A new unknown size."""
    return from_atom(DimVar(name, lower, upper))


def as_atom(size: Size) -> Atom | None:
    """The atom that `size` is, or None when it is anything else."""
    if isinstance(size, DimExpr) and len(size.terms) == 1:
        monomial, coefficient = size.terms[0]
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            return monomial[0][0]
    return None


def _terms(size: Size) -> Terms:
    if isinstance(size, DimExpr):
        return dict(size.terms)
    return {(): int(size)} if size else {}


def _order(term: tuple[Monomial, int]) -> tuple[Any, ...]:
    monomial, _ = term
    return -sum(p for _, p in monomial), tuple((a.sort_key(), -p) for a, p in monomial)


def _build(terms: Terms) -> Size:
    """The canonical size of a sum of terms."""
    kept = [(m, c) for m, c in terms.items() if c != 0]
    if not kept:
        return 0
    if len(kept) == 1:
        monomial, coefficient = kept[0]
        return coefficient if not monomial else DimExpr((kept[0],))
    return DimExpr(tuple(sorted(kept, key=_order)))


def add(a: Size, b: Size) -> Size:
    """a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    terms = _terms(a)
    for monomial, coefficient in _terms(b).items():
        terms[monomial] = terms.get(monomial, 0) + coefficient
    return _build(terms)


def _join_monomials(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers: dict[Atom, int] = dict(a)
    for atom, power in b:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: item[0].sort_key()))


def mul(a: Size, b: Size) -> Size:
    """a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    terms: Terms = {}
    for (m, c), (n, d) in itertools.product(_terms(a).items(), _terms(b).items()):
        key = _join_monomials(m, n)
        terms[key] = terms.get(key, 0) + c * d
    return _build(terms)


def floordiv(a: Size, b: Size) -> Size:
    """The floor of a / b, as Python's `//`."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a // b
        if b == 0:
            raise ZeroDivisionError(f"{a} // 0")
        if b < 0:
            return floordiv(mul(-1, a), -b)
        return _floordiv_constant(a, b)
    if a == 0 and positive(b):
        return 0
    quotient = divide_exactly(a, b) if positive(b) else None
    return quotient if quotient is not None else from_atom(Call("floordiv", (a, b)))


def _floordiv_constant(a: DimExpr, b: int) -> Size:
    """a // b = q + r // b for a = q * b + r, term by term; nested quotients merge."""
    whole: Terms = {m: c // b for m, c in a.terms}
    rest = _build({m: c % b for m, c in a.terms})
    quotient = _build(whole)
    low, high = bounds(rest)
    if low is not None and high is not None and low // b == high // b:
        return add(quotient, low // b)
    calls = _linear_calls(rest) if isinstance(rest, DimExpr) else []
    times = _terms(rest).get(((calls[0], 1),), 0) if len(calls) == 1 else 0
    if times in (1, b - 1):  # (p + q // k) // b = (k*p + q) // (k*b), and p - q // k = (k*p - q + k - 1) // k
        (inner, k), call = calls[0].args, from_atom(calls[0])
        alone = mul(k, add(rest, mul(-times, call)))
        if times == 1:
            return add(quotient, floordiv(add(alone, inner), k * b))
        return add(add(quotient, call), floordiv(add(add(alone, mul(-1, inner)), k - 1), k * b))
    common = math.gcd(b, *_terms(rest).values())
    if common > 1:
        return add(quotient, floordiv(_build({m: c // common for m, c in _terms(rest).items()}), b // common))
    return add(quotient, from_atom(Call("floordiv", (rest, b))))


def divide_exactly(a: Size, b: Size) -> Size | None:
    """a / b for b != 0, when b is a constant or one term that divides every term of a; None otherwise."""
    if isinstance(b, int):
        b = DimExpr((((), b),)) if b > 1 else b
    if isinstance(b, int):
        return a if b == 1 else None
    if len(b.terms) != 1:
        return 1 if a is b else None
    (divisor, factor) = b.terms[0]
    powers = dict(divisor)
    terms: Terms = {}
    for monomial, coefficient in _terms(a).items():
        left = dict(monomial)
        for atom, power in powers.items():
            left[atom] = left.get(atom, 0) - power
        if coefficient % factor or any(p < 0 for p in left.values()):
            return None
        terms[tuple((atom, p) for atom, p in left.items() if p)] = coefficient // factor
    return _build(terms)


def mod(a: Size, b: Size) -> Size:
    """a - b * (a // b), as Python's `%`."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    if isinstance(b, int):
        if b == 0:
            raise ZeroDivisionError(f"{a} % 0")
        if b > 0:
            a = _build({m: c % b for m, c in _terms(a).items()})
        low, high = bounds(a)
        if b > 0 and low is not None and high is not None and low // b == high // b:
            return add(a, -b * (low // b))
    elif a == 0 or (positive(b) and divide_exactly(a, b) is not None):
        return 0
    return from_atom(Call("mod", (a, b)))


def ceildiv(a: Size, b: Size) -> Size:
    """The smallest integer not below a / b."""
    return mul(-1, floordiv(mul(-1, a), b))


def positive(a: Size) -> bool:
    """a >= 1 follows from the bounds of its variables alone."""
    low = bounds(a)[0]
    return low is not None and low >= 1


def _flatten(function: str, args: Iterable[Size]) -> list[Size]:
    """The arguments, those of an inner call in place of it: max(max(a, b) - 1, c) is max(a - 1, b - 1, c)."""
    flat: list[Size] = []
    for arg in args:
        shift = dict(arg.terms).get((), 0) if isinstance(arg, DimExpr) and function != "broadcast" else 0
        atom = as_atom(add(arg, -shift))
        inner = [add(a, shift) for a in atom.args] if isinstance(atom, Call) and atom.function == function else [arg]
        flat.extend(a for a in inner if a not in flat)
    return flat


def _above(a: Size, b: Size) -> bool:
    low = bounds(a - b)[0]
    return low is not None and low >= 0


def _extremum(function: str, args: tuple[Size, ...], beats: Callable[[Size, Size], bool]) -> Size:
    """Keep the arguments that no other one beats everywhere."""
    kept: list[Size] = []
    for arg in _flatten(function, args):
        if not any(beats(other, arg) for other in kept):
            kept = [other for other in kept if not beats(arg, other)] + [arg]
    return kept[0] if len(kept) == 1 else from_atom(Call(function, tuple(sorted(kept, key=_arg_order))))


def _arg_order(arg: Size) -> tuple[Any, ...]:
    return (1, arg) if isinstance(arg, int) else (0, *arg.sort_key())


def maximum(*args: Size) -> Size:
    """The largest of the arguments."""
    return _extremum("max", args, _above)


def minimum(*args: Size) -> Size:
    """The smallest of the arguments."""
    return _extremum("min", args, lambda a, b: _above(b, a))


def broadcast(*args: Size) -> Size:
    """The size that axes of these sizes broadcast to: the one that is not 1. A constant other than 1 decides."""
    flat = [a for a in _flatten("broadcast", args) if a != 1]
    constants = [a for a in flat if isinstance(a, int)]
    if constants:
        return constants[0]
    if len(flat) <= 1:
        return flat[0] if flat else 1
    return from_atom(Call("broadcast", tuple(sorted(flat, key=_arg_order))))


def broadcast_parts(size: Size) -> tuple[Size, ...]:
    """The sizes that broadcast to `size`, when it is such an expression; else `size` alone."""
    atom = as_atom(size)
    return atom.args if isinstance(atom, Call) and atom.function == "broadcast" else (size,)


_BUILDERS: dict[str, Callable[..., Size]] = {
    "floordiv": floordiv,
    "mod": mod,
    "max": maximum,
    "min": minimum,
    "broadcast": broadcast,
}


# -- intervals ---------------------------------------------------------------------------------------------------


def _monomial_bounds(monomial: Monomial) -> tuple[Bound, Bound]:
    result: tuple[Bound, Bound] = (1, 1)
    for atom, power in monomial:
        for _ in range(power):
            result = intervals.product(result, atom.bounds())
        if power % 2 == 0 and result[0] is None:
            result = (0, None) if len(monomial) == 1 else result
    return result


def bounds(size: Size) -> tuple[Bound, Bound]:
    """Sound lower and upper bounds from the bounds of the leaves (None: unbounded)."""
    if isinstance(size, int):
        return size, size
    if size._bounds is None:
        low: Bound = 0
        high: Bound = 0
        for monomial, coefficient in size.terms:
            term = intervals.scale(_monomial_bounds(monomial), coefficient)
            low, high = intervals.plus(low, term[0]), intervals.plus(high, term[1])
        divisors = [b for atom in _linear_calls(size) if isinstance(b := atom.args[-1], int)]
        if len(size.terms) > 1 and divisors:
            whole = math.lcm(*divisors)
            under, over = bounds(_floors(size, whole, 1))[0], bounds(_floors(size, whole, -1))[1]
            low = intervals.tighter(low, None if under is None else -(-under // whole), max)
            high = intervals.tighter(high, None if over is None else over // whole, min)
        size._bounds = (low, high)
    return size._bounds


def _linear_calls(size: DimExpr) -> list[Call]:
    """The quotients by positive constants that are terms of the size."""
    atoms = [m[0][0] for m, _ in size.terms if len(m) == 1 and m[0][1] == 1]
    calls = [a for a in atoms if isinstance(a, Call) and a.function == "floordiv"]
    return [c for c in calls if isinstance(c.args[1], int) and c.args[1] > 0]


def _floors(size: DimExpr, whole: int, side: int) -> Size:
    """Not above (side 1) or not below (-1) `whole * size`: a // b is between (a - b + 1) / b and a / b."""
    calls = _linear_calls(size)
    total: Size = 0
    for monomial, coefficient in size.terms:
        atom = monomial[0][0] if monomial else None
        if len(monomial) == 1 and monomial[0][1] == 1 and atom in calls:
            a, b = atom.args
            part = a if coefficient * side < 0 else add(a, 1 - b)
            total = add(total, mul(coefficient * (whole // b), part))
        else:
            total = add(total, mul(whole, _build({monomial: coefficient})))
    return total


# -- use ---------------------------------------------------------------------------------------------------------


def substitute(size: Size, replace: Callable[[Atom], Size | None]) -> Size:
    """`size` with each atom for which `replace` gives a size put in its place, in canonical form."""
    done: dict[Atom, Size] = {}  # parts are shared, so each is visited once

    def of_atom(atom: Atom) -> Size:
        new = replace(atom)
        if new is None and isinstance(atom, Call):
            new = _BUILDERS[atom.function](*[of_size(a) for a in atom.args])
            again = as_atom(new)
            if again is not None and again is not atom:
                found = replace(again)
                new = new if found is None else found
        return from_atom(atom) if new is None else new

    def of_size(size: Size) -> Size:
        if isinstance(size, int):
            return size
        total: Size = 0
        for monomial, coefficient in size.terms:
            product: Size = coefficient
            for atom, power in monomial:
                if atom not in done:
                    done[atom] = of_atom(atom)
                for _ in range(power):
                    product = mul(product, done[atom])
            total = add(total, product)
        return total

    return of_size(size)


def variables(size: Size) -> list[DimVar]:
    """The distinct variables of the expression, in order."""
    seen: dict[Atom, None] = {}

    def visit(size: Size) -> None:
        for atom in [a for m, _ in size.terms for a, _ in m] if isinstance(size, DimExpr) else ():
            if atom not in seen:
                seen[atom] = None
                for arg in atom.args if isinstance(atom, Call) else ():
                    visit(arg)

    visit(size)
    return [a for a in seen if isinstance(a, DimVar)]
