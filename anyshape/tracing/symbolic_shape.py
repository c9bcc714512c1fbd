"""Bind, substitute, compare and reshape shapes of symbolic sizes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from anyshape.errors import SpecError, UnprovedClaimError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import Condition, Verdict, at_least, substitute_claim
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import infer_reshape
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.limits import LARGEST_SIZE
from anyshape.graph.sizes.substitute import substitute
from anyshape.numpy.sizes.shape_tuple import Sizes
from anyshape.numpy.sizes.size_operands import common_scope
from anyshape.numpy.sizes.symdim import SymDim, symdim
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import register_as_tuple

_NUMBERS = (int, np.integer)


class SymbolicShape(Sizes):
    """Immutable tuple of ints and symbolic sizes.

    Equality compares structure and decides nothing: unequal shapes may have equal sizes in a call.

    >>> from anyshape import symbolic_shape
    >>> shape = symbolic_shape("n, 2*n + m, 3")
    >>> shape.bind(n=4), shape.evaluate(n=4, m=0), shape.partially_evaluate(n=4)
    ((4, m + 8, 3), (4, 8, 3), (4, None, 3))
    >>> n, m = shape.variables
    >>> (shape[:2] + (m,)).substitute({m: n + 1})
    (n, 3*n + 1, n + 1)
    """

    __slots__ = ()
    infer: ClassVar[int] = -1  # in a shape to reshape to: the size that is left

    def __new__(cls, sizes: Iterable[Any] = ()) -> SymbolicShape:
        if not isinstance(sizes, Iterable) or isinstance(sizes, str):
            raise SpecError(str(sizes), "is not a shape", "give a tuple of ints and symbolic sizes")
        self = super().__new__(cls, [_checked(s) for s in sizes])
        _joint(self)
        return self

    def __repr__(self) -> str:
        """Return the sizes as a tuple; of two unknown sizes with one name the later one gets a prime."""
        names: dict[str, DimVar] = {}
        new: dict[Any, Any] = {}
        for variable in self._known_variables():
            name = variable.name
            while names.setdefault(name, variable) is not variable:
                name += "'"
            if name != variable.name:
                new[variable] = expr.from_atom(DimVar(name))
        shown = [symdim(substitute(s.expr, new.get), s.scope) if new and isinstance(s, SymDim) else s for s in self]
        return tuple.__repr__(tuple(shown))

    # -- what it is

    @property
    def rank(self) -> int:
        """Number of axes."""
        return len(self)

    @property
    def numel(self) -> Any:
        """Number of elements."""
        return math.prod(self)

    @property
    def variables(self) -> tuple[SymDim, ...]:
        """Distinct unknown sizes, in order of appearance."""
        scopes = {v: s.scope for s in self if isinstance(s, SymDim) for v in expr.variables(s.expr)}
        return tuple([SymDim(expr.from_atom(v), scope) for v, scope in scopes.items()])

    @property
    def is_static(self) -> bool:
        """True if no size is unknown."""
        return not any(isinstance(s, SymDim) for s in self)

    def is_fully_bound(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> bool:
        """Return True if `evaluate` gives every size a value; values implied by constraints count."""
        return self.bind(bindings, **names).is_static

    # -- values for its variables

    def bind(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> SymbolicShape:
        """Return the shape with ints in place of some unknown sizes, which are named by text or as sizes."""
        values = self._values(bindings, names)
        for variable, value in values.items():
            if has_type(value, bool) or not has_type(value, _NUMBERS):
                raise SpecError(str(self), f"{variable} = {value!r} is not an integer", "bind sizes to integers")
        return self._substituted({v: operator.index(n) for v, n in values.items()})

    def evaluate(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> tuple[int, ...]:
        """Return the sizes as ints; every unknown size must be bound."""
        bound = self.bind(bindings, **names)
        if not bound.is_static:
            missing = " and ".join(map(str, bound.variables))
            have = "has" if len(bound.variables) == 1 else "have"
            raise SpecError(str(self), f"{missing} {have} no value", f"bind {missing} too, or use partially_evaluate")
        return tuple(bound)

    def partially_evaluate(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> tuple[int | None, ...]:
        """Return the sizes as ints, None where an unknown size has no value."""
        return tuple([None if isinstance(s, SymDim) else s for s in self.bind(bindings, **names)])

    def substitute(self, sizes: Mapping[Any, Any]) -> SymbolicShape:
        """Return the shape with ints or symbolic sizes in place of some unknown sizes."""
        return self._substituted({v: _checked(s) for v, s in self._values(sizes, {}).items()})

    def _values(self, bindings: Mapping[Any, Any] | None, names: Mapping[str, Any]) -> dict[DimVar, Any]:
        """Return the bindings by variable."""
        variables = dict.fromkeys(self._known_variables())
        names_of = [v.name for v in variables]
        known = {v.name: v for v in variables if names_of.count(v.name) == 1} | {str(v): v for v in variables}
        values: dict[DimVar, Any] = {}
        for key, value in [*(bindings or {}).items(), *names.items()]:
            variable = known.get(key) if isinstance(key, str) else _variable(key)
            if variable is None:
                advice = f"it has {', '.join(known) or 'no unknown size'}"
                raise SpecError(str(self), f"{key} is not an unknown size of it", advice)
            if variable in values and not _same_value(values[variable], value):
                raise SpecError(str(self), f"{variable} is given twice", "give it one value")
            values[variable] = value
        return values

    def _known_variables(self) -> Iterator[DimVar]:
        """Yield the variables of the sizes, of their scopes, and of all constraints."""
        for size in self:
            yield from expr.variables(_expr(size))
            for named in size.scope.root.names.values() if isinstance(size, SymDim) else ():
                yield from expr.variables(named)
        for condition in _conditions(self):
            yield from condition.claim.variables()

    def _substituted(self, values: Mapping[DimVar, Any]) -> SymbolicShape:
        """Return the shape with these sizes for variables, in a scope with the constraints on the others."""
        scope, replace = _derived(self, values), _replacement(values)
        shown = ", ".join(f"{v} = {s}" for v, s in values.items())
        sizes = []
        for size in self:
            try:
                new = substitute(_expr(size), replace)
            except ZeroDivisionError:
                raise SpecError(str(self), f"{size} divides by zero for {shown}", "bind other sizes") from None
            new = symdim(new, scope)
            if has_type(new, int) and new < 0:
                raise SpecError(str(self), f"{size} is {new} for {shown}", "bind sizes that give none below 0")
            sizes.append(new)
        return SymbolicShape(sizes)

    # -- reshaping

    def resolve_reshape(self, to_shape: Iterable[Any]) -> SymbolicShape:
        """Return `to_shape` with its -1 resolved, if NumPy provably accepts the reshape for all sizes.

        >>> from anyshape import symbolic_shape
        >>> symbolic_shape("4*n, 3").resolve_reshape((6, SymbolicShape.infer))
        (6, 2*n)
        """
        to = [s if _is_infer(s) else _checked(s) for s in to_shape]
        base = _joint([*self, *to])
        scope = Scope(conditions=_conditions([*self, *to]), root=base.root)
        known = len(scope.conditions)
        context = ShapeGuardContext(scope, "reshape", user_line())
        sizes = infer_reshape(context, _key(self), _key(tuple(to)))
        if len(scope.conditions) > known:
            raise unproved(f"{self} to {_tuple_text(to)}", scope.conditions[known], base)
        return SymbolicShape([symdim(s, base) for s in sizes])

    # -- as a tuple

    def __eq__(self, other: object) -> bool:
        return _key(self) == _key(other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return _key(self) != _key(other) if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(_key(self))


register_as_tuple(SymbolicShape)


def _checked(size: Any) -> Any:
    """Return a size of a shape; raise SpecError for anything else."""
    if isinstance(size, SymDim):
        return size
    if has_type(size, (bool, np.bool_)) or not has_type(size, _NUMBERS) or size < 0:
        advice = "give ints that are at least 0, symbolic sizes, or a text such as 'n, 3'"
        raise SpecError(f"a shape with {size!r}", f"{size!r} is not a size", advice)
    if size > LARGEST_SIZE:
        raise SpecError("a shape", "has a size that is larger than any array", f"give sizes of at most {LARGEST_SIZE}")
    return int(size)


def _same_value(a: Any, b: Any) -> bool:
    """Return True if two values of one variable agree, by structure."""
    kinds = (*_NUMBERS, SymbolicSize)
    return a is b or (isinstance(a, kinds) and isinstance(b, kinds) and bool(_expr(a) == _expr(b)))


def unproved(spec: str, needed: Condition, scope: Scope) -> UnprovedClaimError:
    """Return the error for a condition that an operation on declared sizes assumed."""
    return UnprovedClaimError(spec, needed.why, str(needed.claim), scope.witnesses(needed.claim))


def _is_infer(size: Any) -> bool:
    return has_type(size, _NUMBERS) and size == SymbolicShape.infer


def _expr(size: Any) -> Size:
    return size.expr if isinstance(size, SymbolicSize) else size


def _key(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([_expr(s) for s in shape])


def _tuple_text(sizes: Sequence[Any]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _variable(size: Any) -> DimVar | None:
    """Return the variable of a size that is one, else None."""
    atom = expr.as_atom(size.expr) if isinstance(size, SymbolicSize) else None
    return atom if isinstance(atom, DimVar) else None


def _replacement(values: Mapping[DimVar, Any]) -> Callable[[expr.Atom], Size | None]:
    return lambda atom: _expr(values[atom]) if isinstance(atom, DimVar) and atom in values else None


def _joint(sizes: Sequence[Any]) -> Scope:
    """Return the common scope of sizes; raise ScopeMismatchError if there is none."""
    symbolic = [s for s in sizes if isinstance(s, SymDim)]
    if not symbolic:
        return Scope(free=True)
    joint = symbolic[0]
    for size in symbolic[1:]:
        joint = SymDim(joint.expr, common_scope(joint, size))
    return joint.scope


def _conditions(sizes: Sequence[Any]) -> list[Condition]:
    """Return the constraints of the scopes of sizes."""
    scopes = dict.fromkeys(s.scope for s in sizes if isinstance(s, SymDim))
    return list(dict.fromkeys(c for scope in scopes for c in scope.conditions))


def _derived(shape: SymbolicShape, values: Mapping[DimVar, Any]) -> Scope:
    """Return a scope with the constraints of a shape after substitution; raise SpecError for a contradiction."""
    base = _joint([*shape, *values.values()])
    scope = Scope(origin=base.origin, root=base.root, free=base.free)
    for condition in [*_conditions(shape), *_conditions(list(values.values())), *_in_range(shape, values)]:
        try:
            claim = substitute_claim(condition.claim, _replacement(values))
            verdict = scope.decide(claim)
        except ZeroDivisionError:
            verdict, claim = Verdict.NO, condition.claim
        if verdict is Verdict.NO:
            shown = ", ".join(f"{v} = {s}" for v, s in values.items())
            advice = "bind sizes that the scope of the shape allows"
            raise SpecError(str(shape), f"{shown} contradicts {condition.claim}", advice)
        if verdict is Verdict.UNKNOWN:
            scope.constrain(Condition(condition.kind, claim, condition.primitive, condition.why, condition.where))
    return scope


def _in_range(shape: SymbolicShape, values: Mapping[DimVar, Any]) -> list[Condition]:
    """Return the conditions that sizes lie in the ranges of the variables that they replace."""
    conditions = []
    for variable, size in values.items():
        low, high = variable.interval
        if has_type(size, int) and size > LARGEST_SIZE:
            problem = f"{variable} is bound to a number that is larger than any array"
            raise SpecError(str(shape), problem, f"bind sizes of at most {LARGEST_SIZE}")
        if has_type(size, int) and (size < variable.lower or (high is not None and size > high)):
            advice = f"its range is {low} to {high}" if high is not None else f"it is at least {low}"
            raise SpecError(str(shape), f"{variable} = {size} is out of range", advice)
        claims = [at_least(_expr(size), variable.lower)] + ([at_least(high, _expr(size))] if high is not None else [])
        conditions += [Condition("constraint", c, "substitute", f"the range of {variable}") for c in claims]
    return conditions
