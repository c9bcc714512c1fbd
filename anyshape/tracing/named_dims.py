"""Declare unknown sizes: by name in specifications, with ranges as `Dim`, related by constraints."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from anyshape.errors import ArgumentError, ScopeMismatchError, SpecError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import Claim, Condition, SourceLine, at_least
from anyshape.graph.prover.scope import Scope, SymbolicSize
from anyshape.graph.prover.spec_parser import Like, ParsedSpec, is_name, parse_relation, parse_shape
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.signature.dim_equations import connected_conditions, input_axes
from anyshape.graph.sizes import expr as dims
from anyshape.graph.sizes.expr import DimVar, Size, from_atom
from anyshape.graph.sizes.intervals import Bound
from anyshape.numpy.sizes.size_operands import common_scope
from anyshape.numpy.sizes.symdim import SymDim, symdim
from anyshape.support.true_types import has_type
from anyshape.tracing.symbolic_shape import SymbolicShape


class Dim(SymDim):
    """Named size with a range of values (max=None: no limit), usable in any program.

    It works like an entry of `x.shape`: in the shapes of a ShapeDtypeStruct, in arithmetic, and in specifications of a
    SymbolicScope(dims=...). Two Dims of one name are two sizes, and print differently.

    >>> time = Dim("time", max=512)
    >>> (2*time + 1, time.upper, Dim("time"))
    (2*time + 1, 512, time@2)
    """

    __slots__ = ()

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


def _range(name: Any, low: Any, high: Any) -> tuple[int, Bound]:
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

    names: dict[str, Size]

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
        for text in _texts(constraints):
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
                raise SpecError(text, f"{error.problem}, in {path}", error.advice, error.column) from error
            shapes.append(parsed.sizes)
        declared = [c for t in _texts(constraints) for c in parse_relation(t, names.get).claims]
        self._adopt(declared, names, implied)
        self.used.update(dict.fromkeys(v for sizes in shapes for size in sizes for v in dims.variables(size)))
        return shapes

    def check_used(self) -> None:
        """Raise SpecError for a constraint that concerns no size, as when a name is misspelt."""
        related = connected_conditions(self.conditions, map(from_atom, self.used))
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


def _dim_variable(dim: Any) -> DimVar:
    """Return the variable of a Dim."""
    atom = dims.as_atom(dim.expr) if isinstance(dim, SymbolicSize) and dim.scope.free else None
    if not isinstance(atom, DimVar):
        raise ArgumentError("SymbolicScope", "dims", f"holds {dim!r}", 'give sizes made by Dim, as in Dim("n")')
    return atom


def _restored_scope(
    uid: Any,
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


def _texts(constraints: Any) -> Sequence[str]:
    """Return the constraints; raise ArgumentError unless they are texts."""
    if isinstance(constraints, str) or not all(isinstance(c, str) for c in constraints):
        advice = 'give a list of texts, as in constraints=["a >= b"]'
        raise ArgumentError("symbolic_shape", "constraints", f"is {constraints!r}", advice)
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
    spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: Scope | None = None,
    like: Any = None,
) -> SymbolicShape:
    """Return the shape of a specification such as "batch, 2*n + 1, 3"; names are unknown sizes >= 0.

    `like` is a shape or an array: `_` takes the size of its axis there, and `...` the sizes of all further axes. An
    axis of `like` that is None has any size.

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
    conditions = dict.fromkeys(c for scope in [*[s.scope for s in declared], texts] for c in scope.conditions)
    root = declared[0].scope.root if declared else texts
    if isinstance(root, SymbolicScope):
        root.check_used()
    inputs = [size for _, size in input_axes(metas, values)]
    scope = Scope(conditions=connected_conditions(conditions, inputs), origin=root.origin, root=root)
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
