"""Size bindings: how a call determines each dimension variable of a program.

Each axis of an input, each integer value and each declared equality is one equation. Equations with one unknown are
solved one by one, the others together, by elimination over their terms. No arrays and no generated code.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from anyshape.errors import SizeLimitError, SpecError, UndeterminedSizeError
from anyshape.graph.prover.constraints import Condition, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.signature.ambiguous_sizes import Choice, find_indistinguishable
from anyshape.graph.signature.equation_terms import (
    call_identities,
    greatest_arguments,
    linear_factor,
    period_of,
    replace_variable,
    residue_class,
    split_terms,
    terms_in,
    variables_of,
)
from anyshape.graph.signature.integer_elimination import Elimination, Row, TooMuchWork
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import Atom, DimExpr, DimVar, InputAxis, RuntimeScalar, Size
from anyshape.graph.sizes.intervals import Bound
from anyshape.graph.sizes.polynomials import Monomial, Terms
from anyshape.graph.sizes.substitute import substitute
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


def connected_conditions(conditions: Iterable[Condition], sizes: Iterable[Size]) -> list[Condition]:
    """Return the conditions that share variables with the sizes, directly or through other conditions."""
    connected: list[Condition] = []
    pending = [(c, c.claim.variables()) for c in conditions]
    reached = {v for s in sizes for v in expr.variables(s)}
    before = -1
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
    declared = connected_conditions([c for c in conditions if c.kind == "constraint"], [s for _, s in inputs])
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
        self.work = 0
        self.normalised = False
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
            atom = expr.as_atom(equation.size)
            if isinstance(atom, DimVar) and atom in self.unknown:
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
        factor = linear_factor(curve, variable)
        if factor is not None:
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
