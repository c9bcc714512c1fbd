"""Size expressions: integer expressions over unknown sizes, in canonical form.

A size is a Python int or a `DimExpr`: a polynomial with integer coefficients over atoms. An atom is a leaf
(`DimVar`, `InputAxis`, `RuntimeScalar`) or a `Call` (floordiv, mod, max, min, broadcast) of sizes. Expressions are
interned, so equal expressions are one object and `is` compares them. Operations on interned sizes are memoised.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from anyshape.graph.sizes import polynomials
from anyshape.graph.sizes.intervals import FAR_FROM_LIMITS, Bound, check_limit, check_polynomial
from anyshape.graph.sizes.polynomials import Call, Monomial, Terms
from anyshape.graph.sizes.symbols import DimVar, InputAxis, Interned, Leaf, memoised, show
from anyshape.graph.sizes.symbols import RuntimeScalar as RuntimeScalar

Atom: TypeAlias = Leaf | Call


class DimExpr(Interned):
    """Size that is not a constant. Equality and hash are identity of the canonical form."""

    __slots__ = (
        "_bounds", "_key", "_vars", "atom", "broadcasts", "depth", "divides", "has_powers", "merges", "nodes", "terms"
    )  # fmt: skip
    _instances: WeakValueDictionary[tuple[Any, ...], DimExpr] = WeakValueDictionary()

    terms: tuple[tuple[Monomial, int], ...]
    atom: Atom | None  # set if the expression is a single atom
    depth: int
    nodes: int
    divides: bool  # contains a quotient or remainder by a size that is not a constant
    has_powers: bool  # an atom has a power above 1
    merges: bool  # a call that sums may simplify is a factor of some term
    broadcasts: bool  # contains a broadcast
    _bounds: tuple[Bound, Bound] | None
    _key: tuple[Any, ...] | None
    _vars: tuple[DimVar, ...] | None

    def __new__(cls, terms: tuple[tuple[Monomial, int], ...]) -> DimExpr:
        if (interned := cls._instances.get(terms)) is not None:
            return interned
        self = super().__new__(cls)
        self.terms = terms
        self._bounds = self._key = self._vars = None
        divides = has_powers = merges = broadcasts = False
        depth = nodes = highest_degree = magnitudes = 0
        for monomial, coefficient in terms:
            nodes += 1 + len(monomial)
            magnitudes |= abs(coefficient)
            degree = 0
            for atom, power in monomial:
                degree += power
                if type(atom) is Call:
                    nodes += atom.nodes
                    depth = max(depth, atom.depth)
                    divides |= atom.divides
                    merges |= atom.merges
                    broadcasts |= atom.broadcasts
            has_powers |= degree > len(monomial)
            highest_degree = max(highest_degree, degree)
        self.divides, self.has_powers, self.merges, self.broadcasts = divides, has_powers, merges, broadcasts
        self.depth, self.nodes = depth, nodes
        self.atom = terms[0][0][0][0] if highest_degree == 1 and len(terms) == 1 and terms[0][1] == 1 else None
        if max(nodes, highest_degree, magnitudes) > FAR_FROM_LIMITS:
            check_polynomial(len(terms), nodes, highest_degree, magnitudes)
        return cls._instances.setdefault(terms, self)

    def __reduce__(self) -> Any:
        return DimExpr, (self.terms,)

    def __repr__(self) -> str:
        return _text(self)

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} has no truth value; query its scope")

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

    def bounds(self) -> tuple[Bound, Bound]:
        if self._bounds is None:
            self._bounds = polynomials.of_terms(dict(self.terms))
        return self._bounds

    def sort_key(self) -> tuple[Any, ...]:
        if self._key is None:
            self._key = tuple([(tuple([(a.sort_key(), p) for a, p in m]), c) for m, c in self.terms])
        return self._key


Size: TypeAlias = int | DimExpr
_SIZES = (int, DimExpr)
_text = memoised(show)


# -- construction ------------------------------------------------------------------------------------------------


@memoised
def from_atom(atom: Atom) -> DimExpr:
    """Return the expression that is this atom alone."""
    return DimExpr(((((atom, 1),), 1),))


def variable(name: str, lower: int = 0, upper: Bound = None) -> DimExpr:
    """Return a new unknown size."""
    return from_atom(DimVar(name, lower, upper))


@memoised
def input_axis(operand: int, axis: int) -> DimExpr:
    """Return the size of an axis of an operand."""
    return from_atom(InputAxis(operand, axis))


def as_atom(size: Size) -> Atom | None:
    """Return the atom if `size` is a single atom, else None."""
    return size.atom if isinstance(size, DimExpr) else None


def terms_of(size: Size) -> Terms:
    """Return the polynomial of the size as a new dictionary."""
    return dict(size.terms) if isinstance(size, DimExpr) else {(): int(size)} if size else {}


def from_terms(terms: Terms) -> Size:
    """Return the canonical size of a sum of terms."""
    items = [item for item in terms.items() if item[1]]
    if len(items) == 1 and not items[0][0]:
        return items[0][1]
    divisions = [(m, a) for m, _ in items for a, _ in m if type(a) is Call and a.merges]
    simpler = simplify(items, divisions, DimExpr._instances.get, mod) if divisions else None
    if simpler is not None:
        return from_terms(simpler)
    if not items:
        return 0
    check_limit("terms", len(items))
    items.sort(key=polynomials.term_key)
    return DimExpr(tuple(items))


@memoised
def add(a: Size, b: Size) -> Size:
    """Return a + b."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    terms = terms_of(a)
    polynomials.add_into(terms, b.terms if isinstance(b, DimExpr) else (((), b),))
    return from_terms(terms)


@memoised
def sub(a: Size, b: Size) -> Size:
    """Return a - b."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    terms = terms_of(a)
    polynomials.add_into(terms, b.terms if isinstance(b, DimExpr) else (((), b),), -1)
    return from_terms(terms)


@memoised
def mul(a: Size, b: Size) -> Size:
    """Return a * b."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    x, y = terms_of(a), terms_of(b)
    check_limit("terms", max(1, len(x) * len(y)), 8)
    return from_terms(polynomials.product(x, y))


def total(sizes: Iterable[Size]) -> Size:
    """Return the sum of the sizes. Linear in the number of terms, unlike repeated `add`."""
    return from_terms(combination_terms(*[(size, 1) for size in sizes]))


@memoised
def power(a: Size, k: int) -> Size:
    """Return a ** k; raise ValueError for k < 0."""
    if k < 0:
        raise ValueError(f"({a}) ** {k} is not an integer")
    if isinstance(a, int):
        check_limit("bits in a coefficient", k * max(a.bit_length() - 1, 0), 8)
        return a**k
    check_limit("factors in a term", k)
    return from_terms(functools.reduce(polynomials.product, [terms_of(a)] * k, {(): 1}))


# -- division ----------------------------------------------------------------------------------------------------


@memoised
def floordiv(a: Size, b: Size) -> Size:
    """Return the floor of a / b, as Python's `//`."""
    if isinstance(b, int):
        return _floordiv_by_int(a, b)
    a, b, _ = _cancel_common_factor(a, b)
    if isinstance(b, int):
        return floordiv(a, b)
    quotient, rest = map(from_terms, polynomials.divide(terms_of(a), terms_of(b)))
    if rest == 0 and quotient != 0 and is_nonzero(b):
        return quotient
    if quotient == 0 or rest == 0 or len(b.terms) > 1:
        quotient, rest = 0, a
    return quotient if _is_residue(rest, b) else add(quotient, _quotient(rest, b))


def _floordiv_by_int(a: Size, b: int) -> Size:
    if isinstance(a, int):
        return a // b
    if b == 0:
        raise ZeroDivisionError(f"{a} // 0")
    return floordiv(mul(-1, a), -b) if b < 0 else _floordiv_by_positive(a, b)


def _cancel_common_factor(a: Size, b: Size) -> tuple[Size, Size, Size]:
    """Return (p, q, g) with a = g * p and b = g * q, where g is a positive monomial."""
    reduced = polynomials.reduce(terms_of(a), terms_of(b))
    p, q, factor = map(from_terms, reduced) if reduced is not None else (a, b, 1)
    return p, q, factor


def divide_coefficients(size: Size, by: int) -> Size:
    """Return the size with each coefficient divided by `by`, rounded down."""
    return from_terms({m: c // by for m, c in terms_of(size).items()})


def _is_residue(a: Size, b: Size) -> bool:
    """Return whether the bounds of the variables alone imply 0 <= a < b."""
    low = bounds(a)[0]
    gap = None if low is None or low < 0 else polynomials.of_terms(difference_terms(b, a))[0]
    return gap is not None and gap >= 1


def _floordiv_by_positive(a: DimExpr, b: int) -> Size:
    """Return a // b = q + r // b for a = q * b + r, split term by term; merge nested quotients."""
    residues = [(c, c % b) for m, c in a.terms if m and c % b]
    if residues and not any(c > 0 or 2 * r < b for c, r in residues):  # -n // 3 is written as -((n + 2) // 3)
        return mul(-1, floordiv(add(mul(-1, a), b - 1), b))
    rest = from_terms({m: c % b for m, c in a.terms})
    quotient = divide_coefficients(a, b)
    if (constant := _constant_quotient(rest, b)) is not None:
        return add(quotient, constant)
    if (merged := _merge_nested_quotient(quotient, rest, b)) is not None:
        return merged
    if (common := math.gcd(b, *terms_of(rest).values())) > 1:
        return add(quotient, floordiv(divide_coefficients(rest, common), b // common))
    return add(quotient, _quotient(rest, b))


def _constant_quotient(a: Size, b: int) -> int | None:
    """Return a // b if the bounds of a leave one value."""
    low, high = bounds(a)
    return low // b if low is not None and high is not None and low // b == high // b else None


def _merge_nested_quotient(quotient: Size, rest: Size, b: int) -> Size | None:
    """Return quotient + rest // b as one division, if rest is p + q // k or p - q // k modulo b; else None."""
    terms = terms_of(rest)
    calls = polynomials.constant_quotients(terms)
    times = terms.get(((calls[0], 1),), 0) if len(calls) == 1 else 0
    if times not in (1, b - 1):
        return None
    (inner, k), call = calls[0].args, from_atom(calls[0])
    others = mul(k, sub(rest, mul(times, call)))
    if times == 1:  # (p + q // k) // b is (k*p + q) // (k*b)
        return add(quotient, floordiv(add(others, inner), k * b))
    # p - q // k is (k*p - q + k - 1) // k
    return add(add(quotient, call), floordiv(add(sub(others, inner), k - 1), k * b))


def _quotient(a: Size, b: Size) -> Size:
    """Return the quotient. As (c + q // k) // b it is (c*k + q) // (k*b), for a constant c, where b > 0."""
    low = bounds(b)[0]
    constant = a.terms[-1][1] if isinstance(a, DimExpr) and a.depth and not a.terms[-1][0] else 0
    call = as_atom(sub(a, constant) if constant else a) if low is not None and low >= 0 else None
    if isinstance(call, Call) and call.function == "floordiv":
        inner, k = call.args
        if min(len(terms_of(k)), len(terms_of(b))) == 1:  # else the product would be long
            return floordiv(add(inner, mul(constant, k)), mul(k, b))
    return from_atom(Call("floordiv", (a, b)))


def divide_exactly(a: Size, b: Size) -> Size | None:
    """Return a / b for b != 0 if b divides a as a polynomial, else None."""
    if isinstance(b, int):
        return None if b == 0 or any(c % b for c in terms_of(a).values()) else divide_coefficients(a, b)
    quotient, rest = polynomials.divide(terms_of(a), terms_of(b))
    return from_terms(quotient) if not any(rest.values()) else None


@memoised
def mod(a: Size, b: Size) -> Size:
    """Return a - b * (a // b), as Python's `%`."""
    if isinstance(b, int):
        if isinstance(a, int):
            return a % b
        if b == 0:
            raise ZeroDivisionError(f"{a} % 0")
        return mul(-1, mod(mul(-1, a), -b)) if b < 0 else _mod_by_positive(a, b)
    a, b, factor = _cancel_common_factor(a, b)
    if isinstance(b, int):
        return mul(factor, mod(a, b))
    if len(b.terms) == 1 or is_nonzero(b):
        if (rest := from_terms(polynomials.divide(terms_of(a), terms_of(b))[1])) == 0:
            return 0 if is_nonzero(b) else mul(factor, from_atom(Call("mod", (a, b))))
        a = rest if len(b.terms) == 1 else a
    return mul(factor, a if _is_residue(a, b) else from_atom(Call("mod", (a, b))))


def _mod_by_positive(a: DimExpr, b: int) -> Size:
    residues = {m: c % b for m, c in a.terms}
    rest = from_terms(polynomials.canonical(residues, b) if a.has_powers else residues)
    if (constant := _constant_quotient(rest, b)) is not None:
        return sub(rest, b * constant)
    if (common := math.gcd(b, *terms_of(rest).values())) > 1:
        return mul(common, mod(divide_coefficients(rest, common), b // common))
    return from_atom(Call("mod", (rest, b)))


def ceildiv(a: Size, b: Size) -> Size:
    """Return the smallest integer not below a / b."""
    return floordiv(add(a, b - 1), b) if isinstance(b, int) and b > 0 else mul(-1, floordiv(mul(-1, a), b))


# -- bounds ------------------------------------------------------------------------------------------------------


def is_nonnegative(size: Size) -> bool:
    """Return whether the bounds of the leaves alone imply size >= 0."""
    low = bounds(size)[0]
    return low is not None and low >= 0


def bounds(size: Size) -> tuple[Bound, Bound]:
    """Return sound lower and upper bounds from the bounds of the leaves (None: unbounded)."""
    return (size, size) if isinstance(size, int) else size._bounds or size.bounds()


def combination_terms(*parts: tuple[Size, int]) -> Terms:
    """Return the canonical terms of a sum of (size, factor) products, without making an expression of it."""
    terms: Terms = {}
    merges = False
    for size, factor in parts:
        merges = merges or (not isinstance(size, int) and size.merges)
        polynomials.add_into(terms, (((), size),) if isinstance(size, int) else size.terms, factor)
    return _canonical(terms, merges)


def difference_terms(a: Size, b: Size) -> Terms:
    """Return the canonical terms of a - b, without making an expression of it."""
    terms, merges = terms_of(a), not isinstance(a, int) and a.merges
    if isinstance(b, int):
        terms[()] = terms.get((), 0) - b
    else:
        merges = merges or b.merges
        for monomial, coefficient in b.terms:
            terms[monomial] = terms.get(monomial, 0) - coefficient
    return _canonical(terms, merges)


def _canonical(terms: Terms, merges: bool) -> Terms:
    if merges and "floordiv" in [a.function for m in terms for a, _ in m if type(a) is Call]:
        return terms_of(from_terms(terms))
    return {m: c for m, c in terms.items() if c} if 0 in terms.values() else terms


def is_nonzero(a: Size) -> bool:
    """Return whether the bounds of the variables alone imply a != 0."""
    low, high = bounds(a)
    return (low is not None and low >= 1) or (high is not None and high <= -1)


# -- extrema and broadcasts --------------------------------------------------------------------------------------


def _flatten(function: str, args: Iterable[Size]) -> list[Size]:
    """Inline the arguments of inner calls of the function: max(max(a, b) - 1, c) is max(a - 1, b - 1, c)."""
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
    """Build the call without arguments that another argument dominates for all values of the leaves."""
    maximal: list[Size] = []
    for arg in _flatten(function, args):
        gaps = [polynomials.of_terms(difference_terms(o, arg))[::sign] for o in maximal]
        if not [low for low, _ in gaps if low is not None and low * sign >= 0]:
            others = [o for o, (_, high) in zip(maximal, gaps, strict=True) if high is None or high * sign > 0]
            maximal = [*others, arg]
    return maximal[0] if len(maximal) == 1 else from_atom(Call(function, tuple(sorted(maximal, key=_arg_key))))


def _arg_key(arg: Size) -> tuple[Any, ...]:
    return (1, arg) if isinstance(arg, int) else (0, *arg.sort_key())


@memoised
def maximum(*args: Size) -> Size:
    """Return the largest of the arguments."""
    return _extremum("max", args, 1)


@memoised
def minimum(*args: Size) -> Size:
    """Return the smallest of the arguments."""
    return _extremum("min", args, -1)


def _is_absorbed(arg: Size, others: list[Size]) -> bool:
    """Return whether `arg` is min(s, 1) where s broadcasts with the others: it is 1, or it is 0 and so are they."""
    atom = as_atom(arg)
    if not isinstance(atom, Call) or atom.function != "min" or atom.args[1:] != (1,) or bounds(arg)[0] != 0:
        return False
    return all(part in others for part in _flatten("broadcast", atom.args[:1]))


@memoised
def broadcast(*args: Size) -> Size:
    """Return the size that axes of these sizes broadcast to. A constant other than 1 decides."""
    flat = [a for a in _flatten("broadcast", args) if a != 1]
    flat = [a for a in flat if not _is_absorbed(a, flat)]
    constants = [a for a in flat if isinstance(a, int)]
    if constants:
        return constants[0]
    if len(flat) <= 1:
        return flat[0] if flat else 1
    return from_atom(Call("broadcast", tuple(sorted(flat, key=_arg_key))))


# -- leaves ------------------------------------------------------------------------------------------------------


def atoms_of(size: Size) -> list[Atom]:
    """Return the distinct atoms of an expression, including the arguments of calls."""
    atoms: dict[Atom, None] = {}
    pending = [size]
    while pending:
        for atom in [atom for monomial in terms_of(pending.pop()) for atom, _ in monomial]:
            if atom not in atoms:
                atoms[atom] = None
                pending.extend(atom.args if isinstance(atom, Call) else ())
    return list(atoms)


@memoised
def leaves_of(size: Size) -> tuple[Leaf, ...]:
    """Return the distinct leaves of the expression, in order."""
    atoms = [a for m, _ in size.terms for a, _ in m] if isinstance(size, DimExpr) else []
    nested = [[v for x in a.args for v in leaves_of(x)] if type(a) is Call else (a,) for a in atoms]
    return tuple(dict.fromkeys([leaf for leaves in nested for leaf in leaves]))


def variables(size: Size) -> tuple[DimVar, ...]:
    """Return the distinct variables of the expression, in order."""
    if isinstance(size, int):
        return ()
    if size._vars is None:
        if size.depth:
            size._vars = tuple([leaf for leaf in leaves_of(size) if isinstance(leaf, DimVar)])
        else:
            size._vars = tuple(dict.fromkeys([a for m, _ in size.terms for a, _ in m if isinstance(a, DimVar)]))
    return size._vars


Lookup = Callable[[tuple[tuple[Monomial, int], ...]], Any]  # the interned expression of sorted terms, or None
Remainder = Callable[[Any, int], Any]  # the size a % b


def simplify(
    items: Sequence[tuple[Monomial, int]],
    divisions: Sequence[tuple[Monomial, Call]],
    interned: Lookup,
    remainder: Remainder,
) -> Terms | None:
    """Return the terms after the first simplification; None if there is none.

    `divisions` are the calls that sums may simplify, with the monomials that contain them.
    """
    terms = dict(items)
    for monomial, call in divisions:
        if call.function == "floordiv":
            if (simpler := _without_quotient(terms, monomial, call, remainder)) is not None:
                return simpler
            continue
        for quotient, a, b in _interned_quotients(call, interned):
            merged = polynomials.merge_division(terms, monomial, call, quotient, a, b) if quotient is not None else None
            if merged is not None:
                return merged
    return None


def _without_quotient(terms: Terms, monomial: Monomial, call: Call, remainder: Remainder) -> Terms | None:
    """Write b * (a // b) as a - a % b, as often as the coefficient allows; None if that is 0 times."""
    (a, b), coefficient = call.args, terms[monomial]
    assert isinstance(b, int)
    times = abs(coefficient) // b * (1 if coefficient > 0 else -1)
    rest = polynomials.divide_monomials(monomial, ((call, 1),))
    if not times or rest is None:
        return None
    whole = _terms(a)
    polynomials.add_into(whole, _terms(remainder(a, b)).items(), -1)
    new = dict(terms)
    new[monomial] = coefficient - times * b
    polynomials.add_into(new, polynomials.product({rest: times}, whole).items())
    return new


def _terms(size) -> Terms:
    return {(): size} if isinstance(size, int) else dict(size.terms)


def _interned_quotients(remainder: Call, interned: Lookup) -> Iterable[tuple[Call | None, Terms, Terms]]:
    """Yield (q, a, b) with remainder + b * q == a. q is None if no such quotient exists as an expression."""
    a, b = map(_terms, remainder.args)
    yield Call._instances.get(("floordiv", *remainder.args)), a, b
    ceiling = polynomials.as_ceiling(a, b[()]) if len(b) == 1 and () in b else None
    if ceiling is not None:
        items = sorted([item for item in ceiling[0].items() if item[1]], key=polynomials.term_key)
        yield Call._instances.get(("floordiv", interned(tuple(items)), b[()])), ceiling[1], {(): -b[()]}
