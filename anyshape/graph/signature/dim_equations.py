"""From what a call shows of its inputs to the variables of a program: how each variable is found.

Each axis of an input, each value given as an integer, and each declared equality is one equation. Equations with one
unknown are solved as they come; others together, by elimination over their terms. Knows no arrays and writes no code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from anyshape.errors import SizeLimitError, SpecError, UndeterminedSizeError
from anyshape.graph.prover.constraints import Claim, Condition, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.signature.integer_elimination import Elimination, Row, TooMuchWork
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, to_mapping
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, InputAxis, Leaf, RuntimeScalar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.substitute import substitute

Place: TypeAlias = InputAxis | RuntimeScalar  # what a call shows: the size of an axis, the value of an integer
_TRIED = 1024  # values of a bounded variable that are tried one by one
_LONGEST = 64  # steps of a curve that are looked at one by one
_SHORT = 12  # terms of an expression over axes
_SEARCHED = (40, 12, 9, 7, 5)  # sizes of each of so many variables, in the search for sizes that look alike


@dataclass(frozen=True, slots=True)
class Solved:
    """How a call finds a variable: `divisor * variable == target`, or `curve == target`.

    The target is over places and over variables found before. The curve is in the variable, and rises strictly from
    `low` on, up to `high`.
    """

    variable: DimVar
    target: Size
    divisor: Size = 1
    curve: Size | None = None
    low: int = 0
    high: Bound = None

    def sizes(self) -> list[Size]:
        """Everything that is computed for it."""
        return [self.target, self.divisor, *([] if self.curve is None else [self.curve])]

    def __str__(self) -> str:
        left = self.variable if self.curve is None else self.curve
        quotient = expr.floordiv(self.target, self.divisor) if self.divisor != 1 else self.target
        return f"{left} = {quotient}"


@dataclass(slots=True)
class Equation:
    """`size`, over variables, is `target`, over places and variables known before. `text` is for messages."""

    size: Size
    target: Size
    text: str
    unknown: list[DimVar] = field(default_factory=list)


def places(metas: Sequence[TensorMeta], values: Mapping[int, Size]) -> list[tuple[Place, Size]]:
    """Everything a call shows, with the size that it is to be."""
    axes: list[tuple[Place, Size]] = [
        (InputAxis(i, axis), extent.size)
        for i, meta in enumerate(metas)
        for axis, extent in enumerate(meta.extents)
        if isinstance(extent, Exact)
    ]
    return [*axes, *[(RuntimeScalar(i, "exact"), size) for i, size in values.items()]]


def connected(conditions: Iterable[Condition], sizes: Iterable[Size]) -> list[Condition]:
    """The conditions that say something of these sizes, through others too."""
    found: list[Condition] = []
    left = [(c, c.claim.variables()) for c in conditions]
    known = {v for s in sizes for v in expr.variables(s)}
    before = -1
    while before < len(found):
        before, apart = len(found), []
        for condition, variables in left:
            if variables and known.isdisjoint(variables):
                apart.append((condition, variables))
            else:
                known.update(variables)
                found.append(condition)
        left = apart
    return found


def local_sizes(metas: Sequence[TensorMeta], solved: Sequence[Solved]) -> dict[DimVar, Size]:
    """Each variable as an expression over axes, which gives the variable back when axes are put in terms of variables.

    Where there is no short one, it is the axis of an input of its own, after those that `metas` describe.
    """
    found: dict[DimVar, Size] = {}
    extents, hidden = dict(places(metas, {})), 0
    for s in solved:
        size: Size | None = None
        if s.curve is None and not any(isinstance(leaf, RuntimeScalar) for leaf in leaves(s.target)):
            size = _closed(s, found)
        if size is None or substitute(size, extents.get) is not expr.from_atom(s.variable):  # type: ignore[arg-type]
            place, hidden = InputAxis(len(metas) + hidden, 0), hidden + 1
            size, extents[place] = expr.from_atom(place), expr.from_atom(s.variable)
        found[s.variable] = size
    return found


def _closed(solved: Solved, known: Mapping[DimVar, Size]) -> Size | None:
    """What a variable is, over axes alone; None when that is long."""
    try:
        target, divisor = (substitute(s, known.get) for s in (solved.target, solved.divisor))  # type: ignore[arg-type]
    except SizeLimitError:
        return None
    long = isinstance(target, DimExpr) and len(target.terms) > _SHORT
    return None if long else expr.floordiv(target, divisor)


def hidden_axis(size: Size, count: int) -> bool:
    """The size is the axis of an input beyond the first `count`."""
    atom = expr.as_atom(size)
    return isinstance(atom, InputAxis) and atom.operand >= count


def solve_dims(
    metas: Sequence[TensorMeta], values: Mapping[int, Size] | None = None, conditions: Sequence[Condition] = ()
) -> tuple[Solved, ...]:
    """How a call finds each variable of the inputs and of what was declared of them, in an order that works.

    `values` are the sizes that scalar integer inputs give by their value, by position. Whether the call fits (a
    remainder, a second occurrence of a variable, bounds) is checked at the call.
    """
    shown = places(metas, values or {})
    declared = connected([c for c in conditions if c.kind == "constraint"], [s for _, s in shown])
    equations = [Equation(size, expr.from_atom(place), str(size)) for place, size in shown]
    equations += [Equation(c.claim.left - c.claim.right, 0, str(c.claim)) for c in declared if c.claim.relation == "=="]
    system = _System(equations, declared)
    try:
        system.solve()
    except TooMuchWork:
        advice = "give inputs axes of single sizes, so that fewer sizes have to be found from sums of others"
        raise SpecError(f"{len(equations)} sizes", "take too long to solve for one another", advice) from None
    if system.unknown:
        raise system.undetermined()
    return tuple(system.solved)


@dataclass(slots=True)
class _Sum:
    """An equation as a sum of terms that hold unknowns, with all else on the other side."""

    terms: Terms
    target: Size
    text: str

    @classmethod
    def of(cls, terms: Terms, target: Size, text: str, unknown: Collection[DimVar]) -> _Sum:
        inside, outside = _divided(terms, unknown)
        return cls(inside, target - expr.from_terms(outside), text)


class _System:
    """Equations, which variables are known, and what was tried."""

    def __init__(self, equations: Sequence[Equation], conditions: Sequence[Condition]) -> None:
        self.equations = [e for e in equations if isinstance(e.size, DimExpr)]
        self.conditions = conditions
        self.scope = Scope(conditions=conditions)
        self.solved: list[Solved] = []
        self.work = 0
        self.rewritten = False
        self.dependent: list[list[str]] = []
        self.unknown: dict[DimVar, None] = {}
        self.uses: dict[DimVar, list[Equation]] = {}
        self.failed: set[tuple[DimVar, Size]] = set()
        for equation in self.equations:
            equation.unknown = list(expr.variables(equation.size))
            for v in equation.unknown:
                self.unknown[v] = None
                self.uses.setdefault(v, []).append(equation)
        self.unknown |= dict.fromkeys(v for c in conditions for v in c.claim.variables())

    def solve(self) -> None:
        for equation in self.equations:
            atom = expr.as_atom(equation.size)
            if isinstance(atom, DimVar) and atom in self.unknown:
                self._found(Solved(atom, equation.target))
        steps = (self._directly, self._together, self._fixed, self._rewritten)
        while self.unknown and any(step() for step in steps):
            pass

    def _found(self, solved: Solved) -> bool:
        self.solved.append(solved)
        del self.unknown[solved.variable]
        for equation in self.uses.get(solved.variable, ()):
            equation.unknown = [v for v in equation.unknown if v is not solved.variable]
        return True

    # -- one unknown

    def _directly(self) -> bool:
        """Solve equations that have one unknown, until none is left."""
        before, found = len(self.solved), True
        while found:
            found = False
            for equation in self.equations:
                if len(equation.unknown) == 1:
                    found = self._solve(equation) or found
        return len(self.solved) > before

    def _solve(self, equation: Equation) -> bool:
        """Find the one unknown variable of an equation, when its side of the equation determines it."""
        variable = equation.unknown[0]
        curve = _part(equation, variable)
        rest = equation.size - curve
        if (variable, curve) in self.failed:
            return False
        target = equation.target - rest
        factor = _factor(curve, variable)
        if factor is not None:
            for sign in (1, -1):
                if self.scope.proves(at_least(sign * factor, 1)):
                    return self._found(Solved(variable, sign * target, sign * factor))
        else:
            low, high = self._range(variable)
            for sign in (1, -1):
                if self._rises(sign * curve, variable, low, high):
                    return self._found(Solved(variable, sign * target, 1, sign * curve, low, high))
        self.failed.add((variable, curve))
        return False

    def _range(self, variable: DimVar) -> tuple[int, Bound]:
        low, high = self.scope.bounds(expr.from_atom(variable))
        return max(variable.lower, variable.lower if low is None else low), high

    def _rises(self, curve: Size, variable: DimVar, low: int, high: Bound) -> bool:
        """The curve is proved to be larger at each size than at the one before."""
        if high is not None and high - low <= _TRIED and expr.variables(curve) == (variable,):
            values = [evaluate(curve, to_mapping({variable: t})) for t in range(low, high + 1)]
            return all(a < b for a, b in itertools.pairwise(values))
        facts = Scope(conditions=[c for c in self.conditions if variable not in c.claim.variables()])
        for period in dict.fromkeys((1, _period(curve, variable))):
            places = [_every(period, start, low, high) for start in range(period)]
            steps = [_with(curve, variable, at + 1) - _with(curve, variable, at) for at in places]
            if all(facts.proves(at_least(step, 1)) for step in steps):
                return True
        return False

    def _fixed(self) -> bool:
        """Take a variable for known that has one value only."""
        for variable in list(self.unknown):
            low, high = self._range(variable)
            if low == high:
                return self._found(Solved(variable, low))
        return False

    def _rewritten(self) -> bool:
        """Write equations with what was declared equal put in place: it is checked at every call."""
        changed, again = False, self.rewritten
        self.rewritten = True
        for equation in self.equations if not again else ():
            size = self.scope.normal(equation.size)
            if size is not equation.size and equation.text and isinstance(size, DimExpr):
                equation.size, equation.unknown, changed = size, self._unknown_in(size), True
                for v in equation.unknown:
                    self.uses.setdefault(v, []).append(equation)
        return changed

    # -- several unknowns

    def _together(self) -> bool:
        """Solve for variables that several equations determine together."""
        sums = [_Sum.of(expr.terms_of(e.size), e.target, e.text, self.unknown) for e in self.equations if e.unknown]
        sums += [_Sum.of(terms, 0, "", self.unknown) for terms in _identities(sums)]
        reduced = self._eliminate(sums, ())
        self.dependent = [[sums[k].text for k in sorted(r.parts) if sums[k].text] for r in reduced.dependent]
        if self._solve_rows(reduced.rows, sums):
            return True
        own: dict[tuple[DimVar, ...], dict[Monomial, None]] = {}
        for monomial in dict.fromkeys(m for s in sums for m in s.terms):
            own.setdefault(tuple(self._unknown_in(DimExpr(((monomial, 1),)))), {})[monomial] = None
        groups = [ms for variables, ms in own.items() if len(variables) == 1 and len(ms) > 1]
        return any(self._solve_rows(self._eliminate(sums, ms).rows, sums) for ms in groups)

    def _eliminate(self, sums: Sequence[_Sum], last: Iterable[Monomial]) -> Elimination[Monomial]:
        reduced = Elimination([Row(s.terms, {k: 1}) for k, s in enumerate(sums)], frozenset(last), self.work)
        self.work = reduced.work
        return reduced

    def _solve_rows(self, rows: Sequence[Row[Monomial]], sums: Sequence[_Sum]) -> bool:
        before = len(self.solved)
        for row in rows:
            size = expr.from_terms(dict(row.coefficients))
            unknown = self._unknown_in(size)
            if len(unknown) == 1:
                target = expr.total([f * sums[k].target for k, f in row.parts.items()])
                if self._solve(Equation(size, target, "", unknown)):
                    self._directly()
        return len(self.solved) > before

    def _unknown_in(self, size: Size) -> list[DimVar]:
        return [v for v in expr.variables(size) if v in self.unknown]

    # -- what is left

    def undetermined(self) -> UndeterminedSizeError:
        """The error for the first variable that is left, or one that differs between sizes that look alike."""
        pair = _alike(next(iter(self.unknown)), self.equations, self.conditions)
        differ = [v for v in self.unknown if pair is None or pair[0].get(v) != pair[1].get(v)]
        variable = differ[0]
        own = [e for e in self.equations if variable in e.unknown]
        clash = next((d for d in self.dependent if len(set(d)) > 1 and any(e.text in d for e in own)), [])
        claims = [str(c.claim) for c in self.conditions if variable in c.claim.variables()]
        texts = list(dict.fromkeys(clash or [e.text for e in own] or claims))
        choices = [{str(v): s for v, s in p.items() if pair[0][v] != pair[1][v]} for p in pair] if pair else []
        same = (choices[0], choices[1]) if choices else None
        factors = [_factor(_part(e, variable), variable) for e in own if e.unknown == [variable]]
        missing = next((f"{f} >= 1" for f in factors if isinstance(f, DimExpr)), "")
        return UndeterminedSizeError(str(variable), texts, bool(clash), same, missing)


def _alike(
    variable: DimVar, equations: Sequence[Equation], conditions: Sequence[Condition]
) -> tuple[dict[DimVar, int], dict[DimVar, int]] | None:
    """Two choices of sizes that no call can tell apart, if a small search finds any; if it can, in the variable."""
    names, shown, claims = _surroundings(variable, equations, conditions)
    if len(names) > len(_SEARCHED):
        return None
    tops = [v.lower + _SEARCHED[len(names) - 1] for v in names]
    ranges = [range(v.lower, t if v.upper is None else min(t, v.upper + 1)) for v, t in zip(names, tops)]
    seen: dict[tuple[int, ...], dict[DimVar, int]] = {}
    found = None
    for choice in itertools.product(*ranges):
        sizes = dict(zip(names, choice, strict=True))
        key = _shown_for(sizes, shown, claims)
        if key is not None:
            other = seen.setdefault(key, sizes)
            if other[variable] != sizes[variable]:
                return other, sizes
            found = (other, sizes) if other is not sizes and found is None else found
    return found


def _surroundings(
    variable: DimVar, equations: Sequence[Equation], conditions: Sequence[Condition]
) -> tuple[list[DimVar], list[Equation], list[Claim]]:
    """The variables that have to do with one, itself first, with all equations and claims about them."""
    names = {variable: None}
    before = 0
    while before < len(names):
        before = len(names)
        shown = [e for e in equations if any(v in names for v in expr.variables(e.size))]
        claims = [c.claim for c in conditions if any(v in names for v in c.claim.variables())]
        names |= dict.fromkeys(v for e in shown for v in expr.variables(e.size))
        names |= dict.fromkeys(v for c in claims for v in c.variables())
    return list(names), shown, claims


def _shown_for(sizes: dict[DimVar, int], shown: Sequence[Equation], claims: Sequence[Claim]) -> tuple[int, ...] | None:
    """What a call with these sizes shows; None when there is no such call."""
    value = to_mapping(sizes)
    try:
        found = tuple([evaluate(e.size, value) for e in shown])
        return found if min(found, default=0) >= 0 and all(c.holds(value) for c in claims) else None
    except ZeroDivisionError:
        return None


# -- parts of sizes ----------------------------------------------------------------------------------------------


def atoms_of(size: Size) -> list[Atom]:
    """The distinct atoms of an expression, those inside calls too."""
    found: dict[Atom, None] = {}
    left = [size]
    while left:
        for atom in [a for m in _monomials(left.pop()) for a, _ in m]:
            if atom not in found:
                found[atom] = None
                left.extend(atom.args if isinstance(atom, Call) else ())
    return list(found)


def leaves(size: Size) -> list[Leaf]:
    """The distinct leaves of an expression: variables and places."""
    return [a for a in atoms_of(size) if not isinstance(a, Call)]


def _monomials(size: Size) -> list[Monomial]:
    return [m for m, _ in size.terms] if isinstance(size, DimExpr) else []


def _divided(terms: Terms, variables: Collection[DimVar]) -> tuple[Terms, Terms]:
    """The terms in which one of the variables occurs, and the other terms."""
    inside: Terms = {}
    outside: Terms = {}
    for monomial, factor in terms.items():
        found = monomial and any(v in variables for v in expr.variables(DimExpr(((monomial, 1),))))
        (inside if found else outside)[monomial] = factor
    return inside, outside


def _part(equation: Equation, variable: DimVar) -> Size:
    """The terms of an equation in which the variable occurs."""
    return expr.from_terms(_divided(expr.terms_of(equation.size), [variable])[0])


def _factor(curve: Size, variable: DimVar) -> Size | None:
    """What the variable is multiplied with, when the curve is a multiple of it."""
    factor = _with(curve, variable, 1)
    multiple = isinstance(curve, DimExpr) and factor * expr.from_atom(variable) is curve
    return factor if multiple and variable not in expr.variables(factor) else None


def _period(curve: Size, variable: DimVar) -> int:
    """A number of steps after which quotients and remainders by constants repeat; 1 when it is large."""
    calls = [a for a in atoms_of(curve) if isinstance(a, Call) and variable in expr.variables(expr.from_atom(a))]
    divisors = [c.args[1] for c in calls if c.function in ("floordiv", "mod")]
    period = math.lcm(*[abs(d) for d in divisors if isinstance(d, int)])
    return period if 0 < period <= _LONGEST else 1


def _every(period: int, start: int, low: int, high: Bound) -> Size:
    """The sizes that are `start` plus a multiple of the period, from `low` on and below `high`."""
    least, most = -((start - low) // period), None if high is None else (high - 1 - start) // period
    return period * expr.variable("t", least, most) + start


def _with(size: Size, variable: DimVar, value: Size) -> Size:
    return substitute(size, lambda atom: value if atom is variable else None)


def _calls(sums: Iterable[_Sum], function: str) -> list[Call]:
    """The quotients or remainders by positive constants that are terms of their own."""
    atoms = dict.fromkeys(a for s in sums for m in s.terms if len(m) == 1 for a, _ in m)
    calls = [a for a in atoms if isinstance(a, Call) and a.function == function]
    return [c for c in calls if isinstance(c.args[1], int) and c.args[1] > 0]


def _identities(sums: Sequence[_Sum]) -> list[Terms]:
    """Sums that are 0 whatever the variables: what ties quotients and remainders to what was divided.

    a is b*(a // b) + a % b, and the sum of all (a + i) // b for i < b. They are no sizes: as those they would be 0.
    """
    found = []
    for call in _calls(sums, "mod"):
        a, b = call.args
        quotient = expr.terms_of(b * expr.floordiv(a, b))
        found.append(_sum_of(expr.terms_of(a), [(m, -c) for m, c in quotient.items()], [(((call, 1),), -1)]))
    shifted: dict[tuple[Size, Size], dict[int, Call]] = {}
    for call in _calls(sums, "floordiv"):
        a, b = call.args
        shift = expr.terms_of(a).get((), 0)
        shifted.setdefault((a - shift, b), {})[shift] = call
    for (a, b), calls in shifted.items():
        if isinstance(b, int) and sorted(calls) == list(range(b)):
            found.append(_sum_of(expr.terms_of(a), [(((c, 1),), -1) for c in calls.values()]))
    return found


def _sum_of(terms: Terms, *more: Iterable[tuple[Monomial, int]]) -> Terms:
    for monomial, factor in itertools.chain(*more):
        terms[monomial] = terms.get(monomial, 0) + factor
    return {m: c for m, c in terms.items() if c}
