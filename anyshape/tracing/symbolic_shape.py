"""Shapes as values: bound to numbers, partly or in full, substituted, compared by structure and reshaped by proof."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from anyshape.errors import SpecError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.constraints import Condition, Verdict, at_least, substitute_claim
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.shape_rules import infer_reshape
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.limits import LARGEST_SIZE
from anyshape.graph.sizes.substitute import substitute
from anyshape.numpy.operands.shape_tuple import Sizes
from anyshape.numpy.operands.size_operands import common_scope
from anyshape.numpy.operands.symdim import SymDim, symdim
from anyshape.tracing.pytrees import register_as_tuple

_NUMBERS = (int, np.integer)


class SymbolicShape(Sizes):
    """A tuple of ints and symbolic sizes. It never changes: binding and substituting give a new shape.

    Equality is that of structure and asks nothing: shapes that are not equal may have equal sizes in a call.

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

    # -- what it is

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self)

    @property
    def numel(self) -> Any:
        """The number of elements."""
        return math.prod(self)

    @property
    def variables(self) -> tuple[SymDim, ...]:
        """The distinct unknown sizes that occur, in order of appearance."""
        found = {v: s.scope for s in self if isinstance(s, SymDim) for v in expr.variables(s.expr)}
        return tuple([SymDim(expr.from_atom(v), scope) for v, scope in found.items()])

    @property
    def is_static(self) -> bool:
        """No size is unknown."""
        return not any(isinstance(s, SymDim) for s in self)

    def is_fully_bound(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> bool:
        """Every size has a value for these bindings, as `evaluate` gives it; what constraints imply counts."""
        return self.bind(bindings, **names).is_static

    # -- values for its variables

    def bind(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> SymbolicShape:
        """The shape with ints in place of unknown sizes, which are given by name or as sizes; the others stay."""
        values = self._values(bindings, names)
        for variable, value in values.items():
            if isinstance(value, bool) or not isinstance(value, _NUMBERS):
                raise SpecError(str(self), f"{variable} = {value!r} is not an integer", "bind sizes to integers")
        return self._put({v: operator.index(n) for v, n in values.items()})

    def evaluate(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> tuple[int, ...]:
        """The sizes as ints. Every unknown size must be bound."""
        bound = self.bind(bindings, **names)
        if not bound.is_static:
            missing = " and ".join(map(str, bound.variables))
            have = "has" if len(bound.variables) == 1 else "have"
            raise SpecError(str(self), f"{missing} {have} no value", f"bind {missing} too, or use partially_evaluate")
        return tuple(bound)

    def partially_evaluate(self, bindings: Mapping[Any, int] | None = None, /, **names: int) -> tuple[int | None, ...]:
        """The sizes as ints, None where an unknown size has no value."""
        return tuple([None if isinstance(s, SymDim) else s for s in self.bind(bindings, **names)])

    def substitute(self, sizes: Mapping[Any, Any]) -> SymbolicShape:
        """The shape with sizes, ints or symbolic ones, in place of unknown ones."""
        return self._put({v: _checked(s) for v, s in self._values(sizes, {}).items()})

    def _values(self, bindings: Mapping[Any, Any] | None, names: Mapping[str, Any]) -> dict[DimVar, Any]:
        """The variables that are meant, with their values."""
        variables = dict.fromkeys(self._known_variables())
        names_of = [v.name for v in variables]
        known = {v.name: v for v in variables if names_of.count(v.name) == 1} | {str(v): v for v in variables}
        found: dict[DimVar, Any] = {}
        for key, value in [*(bindings or {}).items(), *names.items()]:
            variable = known.get(key) if isinstance(key, str) else _variable(key)
            if variable is None:
                advice = f"it has {', '.join(known) or 'no unknown size'}"
                raise SpecError(str(self), f"{key} is no unknown size of it", advice)
            if variable in found and not _alike(found[variable], value):
                raise SpecError(str(self), f"{variable} is given twice", "give it one value")
            found[variable] = value
        return found

    def _known_variables(self) -> Iterator[DimVar]:
        """Those that occur, and those declared with them."""
        for size in self:
            yield from expr.variables(_expr(size))
            for named in size.scope.root.names.values() if isinstance(size, SymDim) else ():
                yield from expr.variables(named)
        for condition in _conditions(self):
            yield from condition.claim.variables()

    def _put(self, values: Mapping[DimVar, Any]) -> SymbolicShape:
        """The shape with these sizes for variables, in a scope that knows what follows for the others."""
        scope, replace = _derived(self, values), _replacement(values)
        shown = ", ".join(f"{v} = {s}" for v, s in values.items())
        found = []
        for size in self:
            try:
                new = substitute(_expr(size), replace)
            except ZeroDivisionError:
                raise SpecError(str(self), f"{size} divides by zero for {shown}", "bind other sizes") from None
            new = symdim(new, scope)
            if isinstance(new, int) and new < 0:
                raise SpecError(str(self), f"{size} is {new} for {shown}", "bind sizes that give none below 0")
            found.append(new)
        return SymbolicShape(found)

    # -- reshaping

    def resolve_reshape(self, to_shape: Iterable[Any]) -> SymbolicShape:
        """`to_shape` with its -1 worked out, if it is proved that NumPy would reshape so for all sizes.

        >>> from anyshape import symbolic_shape
        >>> symbolic_shape("4*n, 3").resolve_reshape((6, SymbolicShape.infer))
        (6, 2*n)
        """
        to = [s if _is_infer(s) else _checked(s) for s in to_shape]
        base = _joint([*self, *to])
        scope = Scope(conditions=_conditions([*self, *to]), root=base.root)
        known = len(scope.conditions)
        context = ShapeGuardContext(scope, "reshape", user_line())
        found = infer_reshape(context, _key(self), _key(tuple(to)))
        if len(scope.conditions) > known:
            needed = scope.conditions[known]
            advice = "declare it as a constraint, or bind the sizes"
            problem = f"{needed.why}, unless {needed.claim}, which does not follow"
            raise SpecError(f"{self} to {_tuple_text(to)}", problem, advice)
        return SymbolicShape([symdim(s, base) for s in found])

    # -- as a tuple

    def __eq__(self, other: object) -> bool:
        return _key(self) == _key(other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return _key(self) != _key(other) if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(_key(self))


register_as_tuple(SymbolicShape)


def _checked(size: Any) -> Any:
    """A size that a shape can have."""
    if isinstance(size, SymDim):
        return size
    if isinstance(size, (bool, np.bool_)) or not isinstance(size, _NUMBERS) or size < 0:
        advice = "give ints that are at least 0, symbolic sizes, or a text such as 'n, 3'"
        raise SpecError(f"a shape with {size!r}", f"{size!r} is not a size", advice)
    if size > LARGEST_SIZE:
        raise SpecError("a shape", "has a size that is larger than any array", f"give sizes of at most {LARGEST_SIZE}")
    return int(size)


def _alike(a: Any, b: Any) -> bool:
    """Two values given for one variable are one; asks nothing of sizes."""
    kinds = (*_NUMBERS, SymbolicSize)
    return a is b or (isinstance(a, kinds) and isinstance(b, kinds) and bool(_expr(a) == _expr(b)))


def _is_infer(size: Any) -> bool:
    return isinstance(size, _NUMBERS) and size == SymbolicShape.infer


def _expr(size: Any) -> Size:
    return size.expr if isinstance(size, SymbolicSize) else size


def _key(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([_expr(s) for s in shape])


def _tuple_text(sizes: Sequence[Any]) -> str:
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def _variable(size: Any) -> DimVar | None:
    """The variable that a size is."""
    atom = expr.as_atom(size.expr) if isinstance(size, SymbolicSize) else None
    return atom if isinstance(atom, DimVar) else None


def _replacement(values: Mapping[DimVar, Any]) -> Callable[[expr.Atom], Size | None]:
    return lambda atom: _expr(values[atom]) if isinstance(atom, DimVar) and atom in values else None


def _joint(sizes: Sequence[Any]) -> Scope:
    """The scope of all the sizes, which must be one."""
    symbolic = [s for s in sizes if isinstance(s, SymDim)]
    if not symbolic:
        return Scope(free=True)
    found = symbolic[0]
    for size in symbolic[1:]:
        found = SymDim(found.expr, common_scope(found, size))
    return found.scope


def _conditions(sizes: Sequence[Any]) -> list[Condition]:
    """What is declared of the sizes."""
    scopes = dict.fromkeys(s.scope for s in sizes if isinstance(s, SymDim))
    return list(dict.fromkeys(c for scope in scopes for c in scope.conditions))


def _derived(shape: SymbolicShape, values: Mapping[DimVar, Any]) -> Scope:
    """A scope of what is declared of the shape, once its variables have these values; refused if they break it."""
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
    """That the sizes given for variables are in the ranges of these."""
    found = []
    for variable, size in values.items():
        low, high = variable.bounds()
        if isinstance(size, int) and size > LARGEST_SIZE:
            problem = f"{variable} is bound to a number that is larger than any array"
            raise SpecError(str(shape), problem, f"bind sizes of at most {LARGEST_SIZE}")
        if isinstance(size, int) and (size < variable.lower or (high is not None and size > high)):
            advice = f"its range is {low} to {high}" if high is not None else f"it is at least {low}"
            raise SpecError(str(shape), f"{variable} = {size} is out of range", advice)
        claims = [at_least(_expr(size), variable.lower)] + ([at_least(high, _expr(size))] if high is not None else [])
        found += [Condition("constraint", c, "substitute", f"the range of {variable}") for c in claims]
    return found
