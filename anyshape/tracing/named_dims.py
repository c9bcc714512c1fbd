"""Declare unknown sizes: by name in specifications, with ranges as `Dim`, related by constraints.

Bind, substitute, compare and reshape shapes of symbolic sizes.

Describe arrays by shape and dtype.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from anyshape.errors import ArgumentError, DTypeError, ScopeMismatchError, SpecError, UnprovedClaimError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import Claim, Condition, SourceLine, Verdict, at_least, substitute_claim
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.prover.spec_parser import Like, ParsedSpec, is_name, parse_relation, parse_shape
from anyshape.graph.shapes.array_type import ShapeGuardContext, TensorMeta, infer_reshape, shape_text
from anyshape.graph.signature.dim_equations import connected_conditions, input_variables
from anyshape.graph.sizes import expr
from anyshape.graph.sizes import expr as dims
from anyshape.graph.sizes.expr import DimVar, Size, from_atom
from anyshape.graph.sizes.intervals import LARGEST_SIZE, Bound
from anyshape.graph.sizes.substitute import substitute
from anyshape.numpy.operands.promotion import NUMERIC
from anyshape.numpy.sizes.shape_tuple import Sizes
from anyshape.numpy.sizes.size_operands import common_scope
from anyshape.numpy.sizes.symdim import SymDim, symdim
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import register_as_tuple


class Dim(SymDim):
    """Named size with a range of values (max=None: no limit), usable in any program.

    It works like an entry of `x.shape`: in the shapes of a ShapeDtypeStruct, in arithmetic, and in specifications of a
    SymbolicScope(dims=...). Two Dims of one name are two sizes, and print differently.

    Args:
        name: name in specifications and messages.
        min: smallest size.

    >>> time = Dim("time", max=512)
    >>> (2*time + 1, time.upper, Dim("time"))
    (2*time + 1, 512, time@2)
    """

    __slots__ = ()

    @short_traceback
    def __init__(self, name: str, min: int = 0, max: int | None = None) -> None:
        low, high = _range(name, min, max)
        labels = itertools.chain([name], (f"{name}@{i}" for i in itertools.count(2)))
        label = next(text for text in labels if text not in _LABELS)
        scope = _LABELS[label] = Scope(origin=user_line(), free=True)
        super().__init__(dims.from_atom(DimVar(name, low, high, None, label)), scope)

    @property
    def name(self) -> str:
        """Name of the size."""
        return _variable(self).name

    @property
    def min(self) -> int:
        """Least size."""
        return _variable(self).lower

    @property
    def max(self) -> int | None:
        """Greatest size, None if there is no limit."""
        return _variable(self).upper

    def __reduce__(self) -> Any:
        return _restored_dim, (self.expr, self.scope)


# scopes by label; a label is free again when no size of its scope is left
_LABELS: WeakValueDictionary[str, Scope] = WeakValueDictionary()


def _restored_dim(expr: dims.DimExpr, scope: Scope) -> Dim:
    dim = Dim.__new__(Dim)
    SymDim.__init__(dim, expr, scope)
    return dim


def _variable(size: SymbolicSize) -> DimVar:
    atom = dims.as_atom(size.expr)
    assert isinstance(atom, DimVar)
    return atom


def _range(name, low, high) -> tuple[int, Bound]:
    """Return the bounds of a Dim; raise SpecError for a wrong name or range."""
    if not isinstance(name, str) or not is_name(name):
        advice = 'name it as a variable, as in Dim("n"); max, min and other functions of sizes are taken'
        raise SpecError(str(name), "is not a name for a size", advice)
    declaration = f"Dim({name!r}, min={low!r}, max={high!r})"
    for bound in (low, high) if high is not None else (low,):
        if has_type(bound, (bool, np.bool_)) or not has_type(bound, (int, np.integer)) or bound < 0:
            raise SpecError(declaration, f"{bound!r} is not a size", "give integers that are at least 0, or max=None")
    if high is not None and low > high:
        raise SpecError(declaration, "has a range without any size", "give a min that is not above max")
    return operator.index(low), None if high is None else operator.index(high)


class SymbolicScope(Scope):
    """Names of unknown sizes with constraints, shared by specifications: in one scope, one name is one size.

    `dims` are sizes made by Dim that the texts may name. Constraints may come before the shapes that use their names.
    A trace refuses a constraint that concerns no size of a shape or of `dims`. `min` and `max` are the range of every
    name that the texts bring in; with `min=1` no size is 0. Raise SpecError for a range without any size.

    >>> scope = SymbolicScope(["a >= 2*b"], dims=[Dim("batch", max=64)])
    >>> symbolic_shape("batch, a + 1, b", scope=scope)
    (batch, a + 1, b)
    >>> scope
    SymbolicScope(0 <= batch <= 64, a, b; a >= 2*b)
    >>> n, m = symbolic_shape("n, m", scope=SymbolicScope(min=1))
    >>> n >= 1, n // n, n * m >= m
    (True, 1, True)
    """

    @short_traceback
    def __init__(
        self, constraints: Sequence[str] = (), dims: Iterable[Dim] = (), *, min: int = 0, max: int | None = None
    ) -> None:
        super().__init__(origin=user_line())
        self.default_range: tuple[int, Bound] = _range("size", min, max)
        variables = [_dim_variable(d) for d in dims]
        self.names = {str(v): from_atom(v) for v in variables}
        for v in variables:
            self.names.setdefault(v.name, from_atom(v))  # `n` is the Dim that prints as n@2 if there is no other `n`
        self.used: dict[DimVar, None] = dict.fromkeys(variables)  # variables of `dims` and of sizes that were read
        for text in _texts("SymbolicScope", constraints):
            self.declare(text)

    def declare(self, text: str) -> None:
        """Declare a relation such as "a >= b" or "b % 8 == 0", which each call of a program checks."""
        names, lookup = self._draft()
        self._adopt(parse_relation(text, lookup).claims, names)

    def read(self, text: str, constraints: Sequence[str] = (), like: Like | None = None) -> tuple[Size, ...]:
        """Return the sizes of a specification, under constraints on its names and on names of the scope.

        Claims that the text implies become constraints too. An error leaves the scope unchanged.
        """
        return self.read_all([(text, like, "")], constraints)[0]

    def read_all(
        self, texts: Iterable[tuple[str, Like | None, str]], constraints: Sequence[str] = ()
    ) -> list[tuple[Size, ...]]:
        """Return the sizes of specifications, each given as text, sizes for its placeholders, and path for errors."""
        names, lookup = self._draft()
        shapes, implied = [], []
        for text, like, path in texts:
            try:
                parsed = parse_shape(text, lookup, like)
                implied += [*parsed.claims, *_not_negative(text, parsed)]
            except SpecError as error:
                if not path:
                    raise
                raise SpecError(text, f"{error.problem}, in {path}", error.advice, error.column) from None
            shapes.append(parsed.sizes)
        declared = [c for t in _texts("symbolic_shape", constraints) for c in parse_relation(t, names.get).claims]
        self._adopt(declared, names, implied)
        self.used.update(dict.fromkeys(v for sizes in shapes for size in sizes for v in dims.variables(size)))
        return shapes

    def check_used(self) -> None:
        """Raise SpecError for a constraint that concerns no size, as when a name is misspelt."""
        related = connected_conditions(self.conditions, self.used)
        for condition in self.conditions:
            if condition not in related:
                missing = " or ".join(map(str, condition.claim.variables()))
                used = ", ".join(map(str, self.used))
                advice = f"name sizes of the scope, which has {used}" if used else "declare a shape in the scope first"
                raise SpecError(str(condition.claim), f"no size of its scope mentions {missing}", advice)

    def _draft(self) -> tuple[dict[str, Size], Callable[[str], Size]]:
        """Return a copy of the names, and a lookup that adds new names to the copy."""
        names, (low, high) = dict(self.names), self.default_range

        def lookup(name: str) -> Size:
            return names[name] if name in names else names.setdefault(name, from_atom(DimVar(name, low, high)))

        return names, lookup

    def _adopt(self, claims: Sequence[Claim], names: dict[str, Size], implied: Sequence[Claim] = ()) -> None:
        """Adopt names, claims, and those implied claims that are not proved: all of them, or none after an error."""
        where = user_line()
        trial = Scope(conditions=self.conditions)
        for claim in claims:
            trial.constrain(_constraint(claim, where))
        for claim in implied:
            if not trial.proves(claim):
                trial.constrain(_constraint(claim, where))
        for condition in trial.conditions[len(self.conditions) :]:
            self.assume(condition)
        self.names = names

    def __repr__(self) -> str:
        variables = dict.fromkeys(v for s in self.names.values() for v in dims.variables(s))
        ranges = [_range_text(str(v), *v.interval) for v in variables]
        constraints = [str(c.claim) for c in self.conditions]
        return f"SymbolicScope({'; '.join(', '.join(part) for part in (ranges, constraints) if part)})"

    def __reduce__(self) -> Any:
        return _restored_scope, (
            self.uid, self.origin, self.names, self.conditions, self.used, self.default_range
        )  # fmt: skip


def _dim_variable(dim) -> DimVar:
    """Return the variable of a Dim."""
    atom = dims.as_atom(dim.expr) if isinstance(dim, SymbolicSize) and dim.scope.free else None
    if not isinstance(atom, DimVar):
        raise ArgumentError("SymbolicScope", "dims", f"holds {dim!r}", 'give sizes made by Dim, as in Dim("n")')
    return atom


def _restored_scope(
    uid,
    origin: SourceLine,
    names: dict[str, Size],
    conditions: Sequence[Condition],
    used: dict[DimVar, None],
    default_range: tuple[int, Bound] = (0, None),
) -> SymbolicScope:
    scope = SymbolicScope(min=default_range[0], max=default_range[1])
    scope.uid, scope.origin, scope.names, scope.used = uid, origin, names, used
    for condition in conditions:
        scope.assume(condition)
    return scope


def _constraint(claim: Claim, where: SourceLine | None) -> Condition:
    return Condition("constraint", claim, "constraint", "was declared", where)


def _texts(function: str, constraints) -> Sequence[str]:
    """Return the constraints; raise ArgumentError unless they are texts."""
    if isinstance(constraints, str) or not all(isinstance(c, str) for c in constraints):
        advice = 'give a list of texts, as in constraints=["a >= b"]'
        raise ArgumentError(function, "constraints", f"is {constraints!r}", advice)
    return constraints


def _not_negative(text: str, parsed: ParsedSpec) -> list[Claim]:
    """Return claims that no axis is negative; raise SpecError for a negative number."""
    claims = []
    for size, column in zip(parsed.sizes, parsed.columns, strict=True):
        if has_type(size, int) and size < 0:
            raise SpecError(text, "has a negative size", "give sizes that are at least 0", column)
        claims.append(at_least(size, 0))
    return claims


def _range_text(name: str, low: Bound, high: Bound) -> str:
    """Return a range as `n`, `n >= 2` or `0 <= n <= 512`."""
    if high is None:
        return f"{name} >= {low}" if low else name
    return f"{low} <= {name} <= {high}"


@short_traceback
def symbolic_shape(
    spec: str | None, *, constraints: Sequence[str] = (), scope: Scope | None = None, like: Any = None
) -> SymbolicShape:
    """Return the shape of a specification such as "batch, 2*n + 1, 3"; names are unknown sizes >= 0.

    `like` is a shape or an array: `_` takes the size of its axis there, and `...` the sizes of all further axes. An
    axis of `like` that is None has any size.

    Args:
        spec: text such as "n, 3", with a size for each axis.
        scope: scope of the names, None for a new one.

    >>> symbolic_shape("b, 2*n, 3", constraints=["b >= n"])
    (b, 2*n, 3)
    >>> symbolic_shape("b, ..., _", like=(5, 6, 7, 8))
    (b, 6, 7, 8)
    """
    names = scope_of(scope)
    sizes = names.read(spec_text("symbolic_shape", spec), constraints, like_sizes(like, names))
    return SymbolicShape([symdim(s, names) for s in sizes])


def scope_of(scope: Scope | None) -> SymbolicScope:
    """Return the declared scope of a scope, such as `n.scope`, or a new one for None."""
    if scope is None:
        return SymbolicScope()
    if isinstance(scope, Scope) and isinstance(scope.root, SymbolicScope):
        return scope.root
    raise ArgumentError("symbolic_shape", "scope", f"is {scope!r}", "give a SymbolicScope")


def scope_of_sizes(
    sizes: Sequence[SymbolicSize], texts: SymbolicScope, metas: Sequence[TensorMeta], values: Mapping[int, Size]
) -> Scope:
    """Return the scope of a program with inputs of these sizes: the constraints of their scopes and of `texts`."""
    declared = [s for s in sizes if not s.scope.free]
    for size in declared[1:]:
        common_scope(declared[0], size)
    known = dict.fromkeys(c for scope in [*[s.scope for s in declared], texts] for c in scope.conditions)
    root = declared[0].scope.root if declared else texts
    if isinstance(root, SymbolicScope):
        root.check_used()
    conditions = connected_conditions(known, input_variables(metas, values))
    scope = Scope(conditions=conditions, origin=root.origin, root=root)
    for size in sizes:
        claim = at_least(size.expr, 0)
        if not scope.proves(claim):
            scope.constrain(Condition("constraint", claim, "constraint", "is a size of the specifications"))
    return scope


def spec_text(function: str, spec: Any) -> str:
    """Return a specification as text; None stands for the shape of `like`."""
    if spec is not None and not isinstance(spec, str):
        raise ArgumentError(function, "the specification", f"is {spec!r}", 'give a text such as "n, 3"')
    return "..." if spec is None else spec


def like_sizes(like: Any, scope: Scope) -> Like | None:
    """Return the sizes of a shape or an array, None for any size.

    Raises ScopeMismatchError for a size of another scope.
    """
    if like is None:
        return None
    shape = getattr(like, "shape", like)
    sizes: list[Size | None] = []
    for size in shape:
        if size is None:
            sizes.append(None)
        elif isinstance(size, SymbolicSize):
            if not scope.may_mix_with(size.scope):
                origins = size.scope.origin, scope.origin
                raise ScopeMismatchError([str(size), "the specification"], origins, user_line())
            sizes.append(size.expr)
        else:
            sizes.append(operator.index(size))
    return sizes


_NUMBERS = (int, np.integer)


class SymbolicShape(Sizes):
    """Immutable tuple of ints and symbolic sizes.

    Equality compares structure and decides nothing: unequal shapes may have equal sizes in a call.

    Args:
        sizes: size of each axis.

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
        if has_type(sizes, np.ndarray) and sizes.dtype.kind not in "iu":
            raise SpecError(f"an array of {sizes.dtype}", "is not a shape", "pass x.shape, or x for what it describes")
        sizes = tuple(sizes)
        self = super().__new__(cls, [_checked(s, sizes) for s in sizes])
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
            variable = known.get(key) if isinstance(key, str) else _as_variable(key)
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
            if has_type(new := symdim(new, scope), int) and new < 0:
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
        to = [s if has_type(s, _NUMBERS) and s == SymbolicShape.infer else _checked(s) for s in to_shape]
        base = _joint([*self, *to])
        scope = Scope(conditions=_conditions([*self, *to]), root=base.root)
        known = len(scope.conditions)
        context = ShapeGuardContext(scope, "reshape", user_line())
        sizes = infer_reshape(context, _key(self), _key(tuple(to)))
        if len(scope.conditions) > known:
            raise unproved(f"{self} to {shape_text(to)}", scope.conditions[known], base)
        return SymbolicShape([symdim(s, base) for s in sizes])

    # -- as a tuple

    def __eq__(self, other: object) -> bool:
        return _key(self) == _key(other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return _key(self) != _key(other) if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(_key(self))


register_as_tuple(SymbolicShape)


def _checked(size, shape: Any = None):
    """Return a size of a shape; raise SpecError for anything else."""
    if isinstance(size, SymDim):
        return size
    if has_type(size, (bool, np.bool_)) or not has_type(size, _NUMBERS) or size < 0:
        advice = "give ints that are at least 0, symbolic sizes, or a text such as 'n, 3'"
        raise SpecError(str(shape or size), f"{size!r} is not a size", advice)
    if size > LARGEST_SIZE:
        raise SpecError("a shape", "has a size that is larger than any array", f"give sizes of at most {LARGEST_SIZE}")
    return int(size)


def _same_value(a, b) -> bool:
    """Return True if two values of one variable agree, by structure."""
    kinds = (*_NUMBERS, SymbolicSize)
    return a is b or (isinstance(a, kinds) and isinstance(b, kinds) and bool(_expr(a) == _expr(b)))


def unproved(spec: str, needed: Condition, scope: Scope) -> UnprovedClaimError:
    """Return the error for a condition that an operation on declared sizes assumed."""
    return UnprovedClaimError(spec, needed.why, str(needed.claim), scope.witnesses(needed.claim))


def _expr(size) -> Size:
    return size.expr if isinstance(size, SymbolicSize) else size


def _key(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([_expr(s) for s in shape])


def _as_variable(size) -> DimVar | None:
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


@dataclasses.dataclass(frozen=True)
class ShapeDtypeStruct:
    """Description of an array: its dtype, and its shape as ints and symbolic sizes or as a text such as "n, 3".

    An integer whose value is a size has the shape () and a `value`: a size, or a text such as "k" or "n - 1". The
    traced function gets it as that size.

    Args:
        shape: ints and sizes, or a text such as "n, 3".
        dtype: type of elements.
        value: size that an integer stands for.

    >>> import numpy as np
    >>> from anyshape import trace
    >>> head = trace(lambda x, k: x[:k].sum() / k)(ShapeDtypeStruct("n + k"), ShapeDtypeStruct((), int, value="k"))
    >>> float(head(np.arange(5.0), 4))
    1.5
    """

    shape: Any
    dtype: Any = np.float64
    value: Any = None

    def __post_init__(self) -> None:
        advice = "give a dtype of NumPy, such as np.float64 or 'float64'; one text or tuple has all axes: \"n, 3\""
        try:
            object.__setattr__(self, "dtype", np.dtype(self.dtype))
        except TypeError:
            raise DTypeError("ShapeDtypeStruct", f"{self.dtype!r} is not a dtype", advice) from None
        if self.dtype.kind not in NUMERIC + "O":  # random generators are objects
            raise DTypeError("ShapeDtypeStruct", f"{self.dtype} is not a dtype of numbers", advice)
        if isinstance(self.shape, str):
            SymbolicScope().read(self.shape.replace("<=", "").replace("?", "1"))  # of results that have bounds
        else:
            object.__setattr__(self, "shape", SymbolicShape(self.shape))
        if self.value is not None:
            self._check_value()

    def _check_value(self) -> None:
        if not isinstance(self.value, (str, SymbolicSize)) and not _is_size(self.value):
            raise SpecError(str(self.value), "is not a size", "give a symbolic size, or a text such as 'k'")
        if self.dtype.kind not in "iu":
            advice = "give an integer dtype, as in ShapeDtypeStruct((), int, value='k')"
            raise DTypeError("ShapeDtypeStruct", f"a value of dtype {self.dtype} is not a size", advice)
        if self.ndim:
            raise SpecError(str(self.shape), "has axes, and only a scalar is a size", "give the shape ()")

    def __repr__(self) -> str:
        value = f", value={self.value!r}" if self.value is not None else ""
        return f"ShapeDtypeStruct(shape={self.shape!r}, dtype={self.dtype!r}{value})"

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(SymbolicScope().read(self.shape) if isinstance(self.shape, str) else self.shape)


ShapeDtypeStruct.__init__ = short_traceback(ShapeDtypeStruct.__init__)  # type: ignore[method-assign]


def _is_size(x) -> bool:
    return has_type(x, (int, np.integer)) and not has_type(x, bool) and int(x) >= 0


def described(meta: TensorMeta, scope: Scope, value: Size | None = None) -> ShapeDtypeStruct:
    """Return the description of an array type; its shape is a text where sizes depend on data and have only bounds."""
    size = None if value is None else symdim(value, scope)
    if meta.sizes is None:
        return ShapeDtypeStruct(", ".join(map(str, meta.extents)), meta.dtype, size)
    return ShapeDtypeStruct([symdim(s, scope) for s in meta.sizes], meta.dtype, size)
