"""Size bindings: how a call determines each dimension variable of a program.

Each axis of an input, each integer value and each declared equality is one equation. Equations with one unknown are
solved one by one, the others together, by elimination over their terms. No arrays and no generated code.

Search for two choices of sizes that no call can tell apart: the counterexample of an undetermined size.

Parts of equations between sizes: terms in a variable, linear factors, periods, and identities of quotients.

Fraction-free Gauss-Jordan elimination of linear equations with integer coefficients.

Unknowns are any hashable keys. Right-hand sides are combinations of numbered equations.

Messages name sizes by their bindings.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Generic, TypeAlias, TypeVar

from anyshape.errors import SizeLimitError, SpecError, UndeterminedSizeError
from anyshape.graph.prover.constraints import Claim, Condition, SizeNames, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, InputAxis, RuntimeScalar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.substitute import BUILDERS, evaluate, substitute, values_from
from anyshape.support.lazy_dataclass import dataclass

InputSize: TypeAlias = InputAxis | RuntimeScalar  # what a call gives: the length of an axis, the value of an integer
_MAX_ENUMERATED = 1024  # values of a bounded variable
_MAX_TERMS = 12  # of an expression over axes
_MAX_POWER = 8  # of a variable and of targets, where products are solved


@dataclass(frozen=True, slots=True)
class SizeBinding:
    """Equation that gives a variable at a call: `divisor * variable == target`, or `curve == target`.

    The target is over input sizes and variables that are bound before. The curve is over the variable too: a strictly
    increasing polynomial, or quotient of one, from `low` up to `high`.
    """

    variable: DimVar
    target: Size
    divisor: Size = 1
    curve: Size | None = None
    low: int = 0
    high: Bound = None

    def sizes(self) -> list[Size]:
        """Return all expressions of the binding."""
        return [self.target, self.divisor, *([] if self.curve is None else [self.curve])]

    def __str__(self) -> str:
        left = self.variable if self.curve is None else self.curve
        quotient = expr.floordiv(self.target, self.divisor) if self.divisor != 1 else self.target
        return f"{left} = {quotient}"


@dataclass(slots=True)
class Equation:
    """`size`, over variables, equals `target`, over input sizes and bound variables. `text` is for messages."""

    size: Size
    target: Size
    text: str
    unknown: list[DimVar] = field(default_factory=list)


def input_axes(metas: Sequence[TensorMeta], values: Mapping[int, Size]) -> list[tuple[InputSize, Size]]:
    """Return each axis of exact size and each integer value of the inputs, with its declared size."""
    axes: list[tuple[InputSize, Size]] = [
        (InputAxis(i, axis), extent.size)
        for i, meta in enumerate(metas)
        for axis, extent in enumerate(meta.extents)
        if isinstance(extent, Exact)
    ]
    return [*axes, *[(RuntimeScalar(i, "exact"), size) for i, size in values.items()]]


def input_variables(metas: Sequence[TensorMeta], values: Mapping[int, Size]) -> list[DimVar]:
    """Return the variables of the sizes that inputs give."""
    return [v for _, size in input_axes(metas, values) for v in expr.variables(size)]


def connected_conditions(conditions: Iterable[Condition], of: Iterable[DimVar]) -> list[Condition]:
    """Return the conditions that share one of these variables, directly or through other conditions."""
    connected: list[Condition] = []
    pending = [(c, c.claim.variables()) for c in conditions]
    reached, before = set(of), -1
    while before < len(connected):
        before, apart = len(connected), []
        for condition, variables in pending:
            if variables and reached.isdisjoint(variables):
                apart.append((condition, variables))
            else:
                reached.update(variables)
                connected.append(condition)
        pending = apart
    return connected


def local_sizes(metas: Sequence[TensorMeta], bindings: Sequence[SizeBinding]) -> dict[DimVar, Size]:
    """Return each variable as an expression over axes that gives the variable back.

    A variable without such a short expression becomes the axis of a hidden input, which follows the inputs of `metas`.
    """
    local: dict[DimVar, Size] = {}
    declared, hidden = dict(input_axes(metas, {})), 0
    for binding in bindings:
        size = _quotient_over_axes(binding, local)
        if size is None or substitute(size, declared.get) is not expr.from_atom(binding.variable):  # type: ignore[arg-type]
            axis, hidden = InputAxis(len(metas) + hidden, 0), hidden + 1
            size, declared[axis] = expr.from_atom(axis), expr.from_atom(binding.variable)
        local[binding.variable] = size
    return local


def _quotient_over_axes(binding: SizeBinding, local: Mapping[DimVar, Size]) -> Size | None:
    """Return the quotient of a binding over axes alone; None where there is none, or a long one."""
    if binding.curve is not None or any(isinstance(leaf, RuntimeScalar) for leaf in expr.leaves_of(binding.target)):
        return None
    try:
        target, divisor = (substitute(s, local.get) for s in (binding.target, binding.divisor))  # type: ignore[arg-type]
    except SizeLimitError:
        return None
    long = isinstance(target, DimExpr) and len(target.terms) > _MAX_TERMS
    return None if long else expr.floordiv(target, divisor)


def is_hidden_axis(size: Size, count: int) -> bool:
    """Return True for the axis of an input beyond the first `count`."""
    atom = expr.as_atom(size)
    return isinstance(atom, InputAxis) and atom.operand >= count


def solve_dims(
    metas: Sequence[TensorMeta], values: Mapping[int, Size] | None = None, conditions: Sequence[Condition] = ()
) -> tuple[SizeBinding, ...]:
    """Return bindings of all variables of the inputs and of their constraints, in an order of computation.

    `values` are the sizes that scalar integer inputs give by their value, by position. The prologue checks whether a
    call fits: remainders, further occurrences of a variable, bounds. Raises UndeterminedSizeError where the equations
    leave a variable open.
    """
    inputs = input_axes(metas, values or {})
    constraints = [c for c in conditions if c.kind == "constraint"]
    declared = connected_conditions(constraints, input_variables(metas, values or {}))
    equations = [Equation(size, expr.from_atom(source), str(size)) for source, size in inputs]
    equations += [Equation(c.claim.left - c.claim.right, 0, str(c.claim)) for c in declared if c.claim.relation == "=="]
    system = _System(equations, declared)
    try:
        system.solve()
    except TooMuchWork:
        advice = "give inputs axes of single sizes, so that fewer sizes have to be found from sums of others"
        raise SpecError(f"{len(equations)} sizes", "take too long to solve for one another", advice) from None
    if system.unknown:
        raise system.undetermined()
    return tuple(system.bindings)


@dataclass(slots=True)
class _Sum:
    """Equation as a sum of terms with unknowns on the left, and everything else in the target."""

    terms: Terms
    target: Size
    text: str

    @classmethod
    def of(cls, terms: Terms, target: Size, text: str, unknown: Collection[DimVar]) -> _Sum:
        inside, outside = split_terms(terms, unknown)
        return cls(inside, target - expr.from_terms(outside), text)


@dataclass(slots=True)
class _Product:
    """Equation as a product: the factors with unknowns, by their powers, times a known size are the target."""

    factors: dict[Atom, int]
    known: Size
    target: Size


class _System:
    """Equations, the variables that are still unknown, and the bindings so far."""

    def __init__(self, equations: Sequence[Equation], conditions: Sequence[Condition]) -> None:
        self.equations = [e for e in equations if isinstance(e.size, DimExpr)]
        self.conditions = conditions
        self.scope = Scope(conditions=conditions)
        self.bindings: list[SizeBinding] = []
        self.work, self.normalised = 0, False
        self.dependent: list[list[str]] = []  # texts of equations that elimination proved redundant together
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
        """Bind variables until none is unknown or no method makes progress."""
        for equation in self.equations:
            if isinstance(atom := expr.as_atom(equation.size), DimVar) and atom in self.unknown:
                self._bind(SizeBinding(atom, equation.target))
        methods = (
            self._solve_singles,
            self._eliminate_terms,
            self._eliminate_factors,
            self._bind_constants,
            self._normalise_equations,
        )
        while self.unknown and any(method() for method in methods):
            pass

    def _bind(self, binding: SizeBinding) -> bool:
        self.bindings.append(binding)
        del self.unknown[binding.variable]
        for equation in self.uses.get(binding.variable, ()):
            equation.unknown = [v for v in equation.unknown if v is not binding.variable]
        return True

    # -- one unknown

    def _solve_singles(self) -> bool:
        """Solve equations with one unknown until none is left."""
        before, progress = len(self.bindings), True
        while progress:
            progress = False
            for equation in self.equations:
                if len(equation.unknown) == 1:
                    progress = self._solve_single(equation) or progress
        return len(self.bindings) > before

    def _solve_single(self, equation: Equation) -> bool:
        """Bind the one unknown of an equation where the equation determines it."""
        variable = equation.unknown[0]
        curve = terms_in(equation.size, variable)
        if (variable, curve) in self.failed:
            return False
        target = equation.target - (equation.size - curve)
        if (factor := linear_factor(curve, variable)) is not None:
            for sign in (1, -1):
                if self.scope.proves(at_least(sign * factor, 1)):
                    return self._bind(SizeBinding(variable, sign * target, sign * factor))
        else:
            low, high = self._range(variable)
            for sign in (1, -1):
                if self._rises(sign * curve, variable, low, high):
                    return self._bind(SizeBinding(variable, sign * target, 1, sign * curve, low, high))
        self.failed.add((variable, curve))
        return False

    def _range(self, variable: DimVar) -> tuple[int, Bound]:
        low, high = self.scope.bounds(expr.from_atom(variable))
        return max(variable.lower, variable.lower if low is None else low), high

    def _rises(self, curve: Size, variable: DimVar, low: int, high: Bound) -> bool:
        """Return True where the curve is proved to be strictly increasing from `low` to `high`."""
        if high is not None and high - low <= _MAX_ENUMERATED and expr.variables(curve) == (variable,):
            values = [evaluate(curve, values_from({variable: t})) for t in range(low, high + 1)]
            return all(a < b for a, b in itertools.pairwise(values))
        facts = Scope(conditions=[c for c in self.conditions if variable not in c.claim.variables()])

        def rises_by_residue(period: int) -> bool:
            classes = [residue_class(period, start, low, high) for start in range(period)]
            steps = [replace_variable(curve, variable, t + 1) - replace_variable(curve, variable, t) for t in classes]
            return all(facts.proves(at_least(step, 1)) for step in steps)

        return any(map(rises_by_residue, dict.fromkeys((1, period_of(curve, variable)))))

    def _bind_constants(self) -> bool:
        """Bind a variable whose range is one value."""
        for variable in list(self.unknown):
            low, high = self._range(variable)
            if low == high:
                return self._bind(SizeBinding(variable, low))
        return False

    def _normalise_equations(self) -> bool:
        """Rewrite equations once by the declared equalities, which every call checks."""
        if self.normalised:
            return False
        self.normalised, changed = True, False
        for equation in self.equations:
            size = greatest_arguments(self.scope.normal(equation.size), self.scope)
            if size is not equation.size and equation.text and isinstance(size, DimExpr):
                equation.size, equation.unknown, changed = size, self._unknown_in(size), True
                for v in equation.unknown:
                    self.uses.setdefault(v, []).append(equation)
        return changed

    # -- several unknowns

    def _eliminate_terms(self) -> bool:
        """Bind variables that several equations determine together."""
        sums = [_Sum.of(expr.terms_of(e.size), e.target, e.text, self.unknown) for e in self.equations if e.unknown]
        identities = call_identities([s.terms for s in sums])
        sums += [_Sum.of(terms, 0, "", self.unknown) for terms in identities]
        reduced = self._reduce(sums, ())
        self.dependent = [[sums[k].text for k in sorted(r.parts) if sums[k].text] for r in reduced.dependent]
        if self._solve_rows(reduced.rows, sums):
            return True
        groups = self._terms_by_variable(sums)
        return any(self._solve_rows(self._reduce(sums, monomials).rows, sums) for monomials in groups)

    def _eliminate_factors(self) -> bool:
        """Bind variables that products determine together: a*b, a*c and b*c give a*a as their quotient."""
        products = [p for p in map(self._product, self.equations) if p is not None]
        if len(products) < 2:
            return False
        rows = [Row(dict(p.factors), {k: 1}) for k, p in enumerate(products)]
        reduced = Elimination(rows, (), self.work)
        self.work = reduced.work
        before = len(self.bindings)
        for row in [r for r in reduced.rows if len(r.coefficients) == 1]:
            equation = self._equation_of_power(row, products)
            if equation is not None and self._solve_single(equation):
                self._solve_singles()
        return len(self.bindings) > before

    def _product(self, equation: Equation) -> _Product | None:
        """Return the equation as a product if all factors are proved to be at least 1."""
        inside, outside = split_terms(expr.terms_of(equation.size), equation.unknown)
        if len(inside) != 1:
            return None
        ((monomial, coefficient),) = inside.items()
        factors = {atom: power for atom, power in monomial if self._unknown_in(expr.from_atom(atom))}
        known = expr.from_terms({tuple([pair for pair in monomial if pair[0] not in factors]): coefficient})
        if not all(self.scope.proves(at_least(size, 1)) for size in [*map(expr.from_atom, factors), known]):
            return None
        return _Product(factors, known, equation.target - expr.from_terms(outside))

    def _equation_of_power(self, row: Row[Atom], products: Sequence[_Product]) -> Equation | None:
        """Return the equation of a reduced row: the power of one factor is a quotient of targets."""
        ((atom, power),) = row.coefficients.items()
        unknown = self._unknown_in(expr.from_atom(atom))
        if len(unknown) != 1 or max(map(abs, (power, *row.parts.values()))) > _MAX_POWER:
            return None
        above, below = [], []
        for k, exponent in row.parts.items():
            sides = [products[k].target, products[k].known]
            up, down = sides if exponent * power > 0 else sides[::-1]
            above.append(expr.power(up, abs(exponent)))
            below.append(expr.power(down, abs(exponent)))
        target = expr.floordiv(*[functools.reduce(expr.mul, sizes) for sizes in (above, below)])
        return Equation(expr.power(expr.from_atom(atom), abs(power)), target, "", unknown)

    def _terms_by_variable(self, sums: Sequence[_Sum]) -> list[dict[Monomial, None]]:
        """Return for each variable the monomials with no other unknown, where there are several."""
        groups: dict[tuple[DimVar, ...], dict[Monomial, None]] = {}
        for monomial in dict.fromkeys(m for s in sums for m in s.terms):
            unknown = tuple([v for v in variables_of(monomial) if v in self.unknown])
            groups.setdefault(unknown, {})[monomial] = None
        return [monomials for unknown, monomials in groups.items() if len(unknown) == 1 and len(monomials) > 1]

    def _reduce(self, sums: Sequence[_Sum], last: Iterable[Monomial]) -> Elimination[Monomial]:
        reduced = Elimination([Row(s.terms, {k: 1}) for k, s in enumerate(sums)], frozenset(last), self.work)
        self.work = reduced.work
        return reduced

    def _solve_rows(self, rows: Sequence[Row[Monomial]], sums: Sequence[_Sum]) -> bool:
        """Solve the rows of a reduced system that have one unknown."""
        before = len(self.bindings)
        for row in rows:
            size = expr.from_terms(dict(row.coefficients))
            unknown = self._unknown_in(size)
            if len(unknown) == 1:
                target = expr.total([f * sums[k].target for k, f in row.parts.items()])
                if self._solve_single(Equation(size, target, "", unknown)):
                    self._solve_singles()
        return len(self.bindings) > before

    def _unknown_in(self, size: Size) -> list[DimVar]:
        return [v for v in expr.variables(size) if v in self.unknown]

    # -- errors

    def undetermined(self) -> UndeterminedSizeError:
        """Return the error for the first unknown, or for one that differs between indistinguishable sizes."""
        sizes, claims = [e.size for e in self.equations], [c.claim for c in self.conditions]
        pair = find_indistinguishable(next(iter(self.unknown)), sizes, claims)
        variable = self._first_different(pair)
        mentions = [e for e in self.equations if variable in e.unknown]
        repeated = self._redundant_texts(mentions)
        texts = repeated or [e.text for e in mentions] or [str(c) for c in claims if variable in c.variables()]
        missing = self._missing_bound(mentions, variable)
        choices = None if pair is None else _differences(*pair)
        return UndeterminedSizeError(str(variable), list(dict.fromkeys(texts)), bool(repeated), choices, missing)

    def _first_different(self, pair: tuple[Choice, Choice] | None) -> DimVar:
        """Return the first unknown that differs between the choices; the first of all without choices."""
        return next(v for v in self.unknown if pair is None or pair[0].get(v) != pair[1].get(v))

    def _redundant_texts(self, equations: Sequence[Equation]) -> list[str]:
        """Return the texts of different equations, one of these among them, that elimination proved redundant."""
        for texts in self.dependent:
            if len(set(texts)) > 1 and any(e.text in texts for e in equations):
                return texts
        return []

    def _missing_bound(self, equations: Sequence[Equation], variable: DimVar) -> str:
        """Return the constraint that would make a multiple of the variable solvable, if there is one."""
        curves = [terms_in(e.size, variable) for e in equations if e.unknown == [variable]]
        factors = [linear_factor(curve, variable) for curve in curves]
        return next((f"{factor} >= 1" for factor in factors if isinstance(factor, DimExpr)), "")


def _differences(a: Mapping[DimVar, int], b: Mapping[DimVar, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the sizes in which two choices differ, by name."""
    different = [v for v in a if a[v] != b[v]]
    return {str(v): a[v] for v in different}, {str(v): b[v] for v in different}


Choice: TypeAlias = dict[DimVar, int]
_WIDTHS = (40, 12, 9, 7, 5)  # values tried for each variable, by the number of variables


def find_indistinguishable(
    variable: DimVar, sizes: Sequence[Size], claims: Sequence[Claim]
) -> tuple[Choice, Choice] | None:
    """Return two choices of small sizes that satisfy the claims and give equal input sizes, or None.

    Choices that differ in the variable come first.
    """
    variables, sizes, claims = _connected(variable, sizes, claims)
    if len(variables) > len(_WIDTHS):
        return None
    tops = [v.lower + _WIDTHS[len(variables) - 1] for v in variables]
    ranges = [range(v.lower, t if v.upper is None else min(t, v.upper + 1)) for v, t in zip(variables, tops)]
    seen: dict[tuple[int, ...], Choice] = {}
    pair = None
    for values in itertools.product(*ranges):
        choice = dict(zip(variables, values, strict=True))
        if (observed := _observe(choice, sizes, claims)) is not None:
            earlier = seen.setdefault(observed, choice)
            if earlier[variable] != choice[variable]:
                return earlier, choice
            pair = (earlier, choice) if earlier is not choice and pair is None else pair
    return pair


def _connected(
    variable: DimVar, sizes: Sequence[Size], claims: Sequence[Claim]
) -> tuple[list[DimVar], list[Size], list[Claim]]:
    """Return the variables connected with one, itself first, and all sizes and claims about them."""
    variables = {variable: None}
    before = 0
    while before < len(variables):
        before = len(variables)
        near_sizes = [s for s in sizes if not variables.keys().isdisjoint(expr.variables(s))]
        near_claims = [c for c in claims if not variables.keys().isdisjoint(c.variables())]
        variables |= dict.fromkeys(v for s in near_sizes for v in expr.variables(s))
        variables |= dict.fromkeys(v for c in near_claims for v in c.variables())
    return list(variables), near_sizes, near_claims


def _observe(choice: Choice, sizes: Sequence[Size], claims: Sequence[Claim]) -> tuple[int, ...] | None:
    """Return the input sizes of a call with these sizes; None where there is no such call."""
    value = values_from(choice)
    try:
        observed = tuple([evaluate(size, value) for size in sizes])
        return observed if min(observed, default=0) >= 0 and all(c.holds(value) for c in claims) else None
    except ZeroDivisionError:
        return None


_MAX_PERIOD = 64


def split_terms(terms: Terms, variables: Collection[DimVar]) -> tuple[Terms, Terms]:
    """Return the terms that contain one of the variables, and all other terms."""
    inside: Terms = {}
    outside: Terms = {}
    for monomial, factor in terms.items():
        contains = monomial and any(v in variables for v in variables_of(monomial))
        (inside if contains else outside)[monomial] = factor
    return inside, outside


def variables_of(monomial: Monomial) -> tuple[DimVar, ...]:
    """Return the distinct variables of a monomial."""
    return expr.variables(DimExpr(((monomial, 1),)))


def terms_in(size: Size, variable: DimVar) -> Size:
    """Return the sum of the terms that contain the variable."""
    return expr.from_terms(split_terms(expr.terms_of(size), [variable])[0])


def linear_factor(curve: Size, variable: DimVar) -> Size | None:
    """Return the factor of the variable where the curve is a multiple of it; None otherwise."""
    factor = replace_variable(curve, variable, 1)
    multiple = isinstance(curve, DimExpr) and factor * expr.from_atom(variable) is curve
    return factor if multiple and variable not in expr.variables(factor) else None


def period_of(curve: Size, variable: DimVar) -> int:
    """Return a period of the quotients and remainders by constants in the variable; 1 where it is large."""
    calls = [a for a in expr.atoms_of(curve) if isinstance(a, Call) and variable in expr.variables(expr.from_atom(a))]
    divisors = [c.args[1] for c in calls if c.function in ("floordiv", "mod")]
    period = math.lcm(*[abs(d) for d in divisors if isinstance(d, int)])
    return period if 0 < period <= _MAX_PERIOD else 1


def residue_class(period: int, start: int, low: int, high: Bound) -> Size:
    """Return the sizes `start` plus any multiple of the period, at least `low` and below `high`, as an expression."""
    least, most = -((start - low) // period), None if high is None else (high - 1 - start) // period
    return period * expr.variable("t", least, most) + start


def replace_variable(size: Size, variable: DimVar, value: Size) -> Size:
    """Return the size with the variable replaced."""
    return substitute(size, lambda atom: value if atom is variable else None)


def greatest_arguments(size: Size, scope: Scope) -> Size:
    """Return the size with extrema reduced to the arguments that the scope does not prove to be exceeded."""

    def replace(atom: Atom) -> Size | None:
        if not isinstance(atom, Call) or atom.function not in ("max", "min"):
            return None
        sign, left = (1 if atom.function == "max" else -1), list(atom.args)
        for arg in atom.args:
            if any(scope.proves(at_least(sign * other, sign * arg)) for other in left if other is not arg):
                left.remove(arg)
        return BUILDERS[atom.function](*left) if len(left) < len(atom.args) else None

    return substitute(size, replace)


def call_identities(sums: Sequence[Terms]) -> list[Terms]:
    """Return sums that are 0 for all variables and tie quotients, remainders and extrema to their operands.

    a is b*(a // b) + a % b, and it is the sum of (a + i) // b for all i < b. Likewise max(a, b) + min(a, b) is a + b.
    The identities are terms and not sizes, since their canonical form is 0.
    """
    identities = _extrema_identities(sums)
    for call in _calls(sums, "mod"):
        a, b = call.args
        quotient = expr.terms_of(b * expr.floordiv(a, b))
        identities.append(_add_terms(expr.terms_of(a), [(m, -c) for m, c in quotient.items()], [(((call, 1),), -1)]))
    shifted: dict[tuple[Size, Size], dict[int, Call]] = {}
    for call in _calls(sums, "floordiv"):
        a, b = call.args
        shift = expr.terms_of(a).get((), 0)
        shifted.setdefault((a - shift, b), {})[shift] = call
    for (a, b), calls in shifted.items():
        if isinstance(b, int) and sorted(calls) == list(range(b)):
            identities.append(_add_terms(expr.terms_of(a), [(((c, 1),), -1) for c in calls.values()]))
    return identities


def _extrema_identities(sums: Sequence[Terms]) -> list[Terms]:
    """Return max(a, b) + min(a, b) - a - b for each pair that occurs."""
    lows = {c.args: c for c in _terms_calling(sums, "min")}
    pairs = [(c, lows[c.args]) for c in _terms_calling(sums, "max") if len(c.args) == 2 and c.args in lows]
    both = [expr.combination_terms(*[(a, -1) for a in high.args]) for high, _ in pairs]
    return [_add_terms(terms, [(((c, 1),), 1) for c in pair]) for terms, pair in zip(both, pairs, strict=True)]


def _calls(sums: Iterable[Terms], function: str) -> list[Call]:
    """Return the calls by positive constants that are terms of their own."""
    return [c for c in _terms_calling(sums, function) if isinstance(c.args[1], int) and c.args[1] > 0]


def _terms_calling(sums: Iterable[Terms], function: str) -> list[Call]:
    """Return the calls of the function that are terms of their own."""
    atoms = dict.fromkeys(a for terms in sums for m in terms if len(m) == 1 for a, _ in m)
    return [a for a in atoms if isinstance(a, Call) and a.function == function]


def _add_terms(terms: Terms, *more: Iterable[tuple[Monomial, int]]) -> Terms:
    total = dict(terms)
    for monomial, factor in itertools.chain(*more):
        total[monomial] = total.get(monomial, 0) + factor
    return {m: c for m, c in total.items() if c}


Key = TypeVar("Key", bound=Hashable)

MAX_WORK = 4_000_000  # operations on coefficients of one machine word: about a second


class TooMuchWork(Exception):
    """Elimination exceeds `MAX_WORK`. The caller words the error for the user."""


@dataclass(slots=True)
class Row(Generic[Key]):
    """Equation: the sum of coefficient * unknown equals the sum of factor * right-hand side.

    `parts` maps the number of an equation to the factor of its right-hand side.
    """

    coefficients: dict[Key, int]
    parts: dict[int, int]


class Elimination(Generic[Key]):
    """System in reduced form: the pivot of a row occurs in no other row, and `dependent` rows have no unknown.

    Unknowns in `last` become pivots only in rows without other unknowns. The rows therefore contain every equation
    among these unknowns alone. `work` counts operations and continues the count of an earlier elimination.
    """

    def __init__(self, rows: Iterable[Row[Key]], last: Collection[Key] = (), work: int = 0) -> None:
        self.work: int = work
        self._system = [Row(dict(r.coefficients), dict(r.parts)) for r in rows]
        self._rows_with: dict[Key, set[int]] = {}  # numbers of the rows, by unknown
        for i, row in enumerate(self._system):
            for key in row.coefficients:
                self._rows_with.setdefault(key, set()).add(i)
        self._reduce(frozenset(last))
        self.rows = [r for r in self._system if r.coefficients]
        self.dependent = [r for r in self._system if not r.coefficients]

    def _reduce(self, last: frozenset[Key]) -> None:
        """Choose a pivot for each row, the shortest row first, and clear it from all other rows."""
        pending = set(range(len(self._system)))
        for avoided in (last, frozenset()) if last else (last,):
            postponed = set()
            while pending:
                i = min(pending, key=lambda k: (len(self._system[k].coefficients), k))
                pending.discard(i)
                row = self._system[i]
                keys = [k for k in row.coefficients if k not in avoided]
                if not keys:
                    postponed.add(i)
                    continue
                pivot = min(keys, key=lambda k: (abs(row.coefficients[k]), len(self._rows_with[k])))
                for other in sorted(self._rows_with[pivot] - {i}):
                    self._clear(other, row, pivot)
            pending = postponed

    def _clear(self, index: int, pivot_row: Row[Key], pivot: Key) -> None:
        """Subtract a multiple of the pivot row from a row so that the pivot vanishes."""
        row = self._system[index]
        a, b = pivot_row.coefficients[pivot], row.coefficients[pivot]
        common = math.gcd(a, b)
        scale, factor = a // common, b // common
        for key in pivot_row.coefficients:
            self._rows_with[key].add(index)
        candidates = list(row.coefficients) + list(pivot_row.coefficients)
        row.coefficients = _combine(row.coefficients, scale, pivot_row.coefficients, -factor)
        row.parts = _combine(row.parts, scale, pivot_row.parts, -factor)
        for key in candidates:
            if key not in row.coefficients:
                self._rows_with[key].discard(index)
        self._divide_by_content(row)

    def _divide_by_content(self, row: Row[Key]) -> None:
        """Divide a row by the greatest common divisor of its numbers, and count the work."""
        numbers = [*row.coefficients.values(), *row.parts.values()]
        if (common := math.gcd(*numbers)) > 1:
            row.coefficients = {key: c // common for key, c in row.coefficients.items()}
            row.parts = {part: c // common for part, c in row.parts.items()}
        self.work += len(numbers) * (1 + max((n.bit_length() for n in numbers), default=0) // 32)
        if self.work > MAX_WORK:
            raise TooMuchWork


def _combine(a: dict[Key, int], m: int, b: dict[Key, int], n: int) -> dict[Key, int]:
    """Return m * a + n * b, without zeros."""
    total = {key: m * c for key, c in a.items()}
    for key, c in b.items():
        total[key] = total.get(key, 0) + n * c
    return {key: c for key, c in total.items() if c}


def identifier(label: str) -> str:
    """Return an identifier for the path of an argument: `params_w` for `params['w']`."""
    text = label if label.isascii() and label.isidentifier() else re.sub(r"\W+", "_", label)
    text = text.strip("_")
    return text if text[:1].isalpha() else f"x{text}"


def input_name(source: InputSize, labels: Sequence[str]) -> str:
    """Return an input size as the caller writes it: `x.shape[0]`, or `k` for an integer value."""
    label = labels[source.operand] if source.operand < len(labels) else f"hidden{source.operand}"
    return f"{label}.shape[{source.axis}]" if isinstance(source, InputAxis) else label


def undeclared_axis(binding: SizeBinding, labels: Sequence[str]) -> InputAxis | None:
    """Return the axis that a variable is named after, where the user gave it no name."""
    axis = expr.as_atom(binding.target) if binding.divisor == 1 and binding.curve is None else None
    if not isinstance(axis, InputAxis) or axis.operand >= len(labels):
        return None
    return axis if binding.variable.name == f"{identifier(labels[axis.operand])}_{axis.axis}" else None


def size_names(bindings: Iterable[SizeBinding], labels: Sequence[str]) -> SizeNames:
    """Return the names of variables that are bound from inputs with these labels."""
    sources: dict[DimVar, str] = {}
    undeclared = set()
    for binding in bindings:
        if undeclared_axis(binding, labels) is not None:
            undeclared.add(binding.variable)
        sources[binding.variable] = _source(binding, SizeNames(sources, undeclared), labels)
    return SizeNames(sources, undeclared)


def _source(binding: SizeBinding, names: SizeNames, labels: Sequence[str]) -> str:
    """Return how a call gives the variable: `x.shape[0]`, `(x.shape[0] - 1) // 2`, `k`; "" for a constant."""

    def leaf(atom) -> str:
        return names.leaf(atom) if isinstance(atom, DimVar) else input_name(atom, labels)

    leaves = [leaf for size in binding.sizes() for leaf in expr.leaves_of(size) if leaf is not binding.variable]
    if not leaves or any(isinstance(a, InputAxis) and a.operand >= len(labels) for a in leaves):
        return ""
    if binding.curve is not None:
        return f"where {expr.show(binding.curve, leaf)} = {expr.show(binding.target, leaf)}"
    return expr.show(expr.floordiv(binding.target, binding.divisor), leaf)
