"""custom_jvp and custom_vjp: functions whose derivatives the user writes."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

import optree

from anyshape.errors import ArgumentError, CustomRuleError
from anyshape.graph.ir.builder import active_builders, user_line
from anyshape.graph.ir.graph import Op
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.ops.control import CustomRule, custom_argument, custom_call, custom_jvp_op, custom_vjp_op
from anyshape.ops.creation import full_like
from anyshape.ops.elementwise import add
from anyshape.support import profiles
from anyshape.support.packages import argument_containers
from anyshape.support.true_types import has_type
from anyshape.tracing import pytrees
from anyshape.tracing.captured.code_origin import line_of
from anyshape.tracing.source.read import as_read
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.custom import custom_calls as calls
from anyshape.transforms.function_pickle import name_in_module, reduce_function

_APPLIED: ContextVar[tuple[Any, ...]] = ContextVar("_APPLIED", default=())  # code of functions whose rules run


def _code_of(function: Any) -> Any:
    return getattr(function, "__code__", function)


@contextlib.contextmanager
def _applied(rule: _CallRule) -> Iterator[None]:
    """Apply a rule within the block. Where it calls its function, this has no effects: they are in the graph."""
    token = _APPLIED.set((*_APPLIED.get(), _code_of(rule.function.__wrapped__)))
    try:
        with profiles.resumed():
            yield
    finally:
        _APPLIED.reset(token)


class CustomFunction(calls.HasRule):
    """Function with a derivative rule of its own; subclasses hold the rule."""

    kind = ""
    op: Op

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] | int = ()) -> None:
        pytrees.check_callable(self.kind, function)
        functools.update_wrapper(self, function, updated=())
        self.__wrapped__ = function
        self.name: str = pytrees.function_name(function)
        self.__name__: str = self.name
        self.nondiff_argnums: tuple[int, ...] = self._positions(nondiff_argnums)

    def _positions(self, nondiff_argnums) -> tuple[int, ...]:
        positions = (nondiff_argnums,) if has_type(nondiff_argnums, int) else nondiff_argnums
        is_sequence = isinstance(positions, (tuple, list)) and all(has_type(a, int) and a >= 0 for a in positions)
        if not is_sequence or len(set(positions)) < len(positions):
            advice = "give the positions of arguments, counted from 0, each once"
            raise ArgumentError(self.shown, "nondiff_argnums", f"is {nondiff_argnums!r}", advice)
        return tuple(sorted(positions))

    def check_parameters(self, rule: Callable[..., Any], last: str) -> None:
        """Raise CustomRuleError unless a rule takes the arguments of nondiff_argnums, and these two."""
        names = [*(f"x{i}" for i in self.nondiff_argnums), *last.split(", ")]
        try:
            if signature := calls.signature_of(rule):
                signature.bind(*names)
        except TypeError:
            problem = f"its rule {pytrees.function_name(rule)} does not take {len(names)} arguments"
            raise CustomRuleError(self.shown, problem, f"let it take ({', '.join(names)})", user_line()) from None

    @property
    def shown(self) -> str:
        """Function as messages name it."""
        return f"{self.kind}({self.name})"

    def rule(self, captures: calls.Captures, arguments: calls.Bundle, results: calls.Results) -> CustomRule:
        """Return the rule for a call; captures hold this object, its rules and arguments of `nondiff_argnums`."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise CustomRuleError if there is no rule."""
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.check()
        if not active_builders():
            return self.__wrapped__(*args, **kwargs)
        values = calls.by_position(self.__wrapped__, args, kwargs, self.shown)
        if self.nondiff_argnums and self.nondiff_argnums[-1] >= len(values):
            problem = f"has {self.nondiff_argnums[-1]}, and the call has {len(values)} arguments"
            raise ArgumentError(self.shown, "nondiff_argnums", problem, "change nondiff_argnums, or pass the argument")
        chosen = [i for i in range(len(values)) if i not in self.nondiff_argnums]
        self._check_arguments(values, chosen)
        arguments, operands = calls.bundle(tuple([values[i] for i in chosen]))
        inside = self._inside(arguments, operands, values, chosen)
        starts = [(builder, len(builder.nodes)) for builder in active_builders()]
        results, outputs = calls.results_of(self.shown, argument_containers.keeping(self.__wrapped__)(*inside))
        for builder, start in starts if _code_of(self.__wrapped__) in _APPLIED.get() else ():
            builder.forget_effects(start)
        if not outputs:
            return results.fill([])
        captures = calls.Captures.of([self, *calls.rules_of(self), *[values[i] for i in self.nondiff_argnums]])
        rule = self.rule(captures, arguments, results)
        return results.fill(custom_call(self.op, rule, [*operands, *captures.operands], outputs))

    def _check_arguments(self, values: Sequence[Any], chosen: Sequence[int]) -> None:
        names = pytrees.parameter_names(self.__wrapped__)
        advice = "list its position in nondiff_argnums, or close over it"
        try:
            calls.check_arguments(self.shown, [values[i] for i in chosen], advice)
        except ArgumentError as error:
            position, rest = error.path.removeprefix("args[").split("]", 1)
            path = pytrees.named(f"args[{chosen[int(position)]}]{rest}", names)
            raise ArgumentError(self.shown, path, error.problem, advice) from None

    def _inside(
        self, arguments: calls.Bundle, operands: Sequence[Any], values: Sequence[Any], chosen: Sequence[int]
    ) -> list[Any]:
        """Return the arguments that the function itself gets: without tangents."""
        detached = arguments.fill([custom_argument(x) for x in operands])
        inside = list(values)
        for i, x in zip(chosen, detached, strict=True):
            inside[i] = x
        return inside

    def all_arguments(self, fixed: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        """Return all arguments by position."""
        remaining, held = iter(arguments), iter(fixed)
        count = len(fixed) + len(arguments)
        return [next(held) if i in self.nondiff_argnums else next(remaining) for i in range(count)]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the method of an object, which is argument 0."""
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self.shown}>"

    def __copy__(self) -> CustomFunction:
        """Return the object itself, as for any function."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> CustomFunction:
        """Return the object itself, as for any function."""
        return self

    def __reduce__(self) -> Any:
        """Pickle by name where a module has it, else by the functions that make it again."""
        if (name := name_in_module(self)) and self.__module__ not in ("__main__", "__mp_main__"):
            return name
        parts = tuple([getattr(self, attribute) for attribute in self.reads])
        return reduce_function(self, (_remake, (type(self), *parts), {}), name)

    def duplicate(self) -> CustomFunction:
        """Return another function with the same rule."""
        return _remake(type(self), *[getattr(self, attribute) for attribute in self.reads])


def _remake(kind: type[CustomFunction], function, nondiff_argnums, *rules) -> CustomFunction:
    """Make a function with its rule again."""
    made = kind(function, nondiff_argnums)
    made.set_parts(function, made.nondiff_argnums, *rules)
    return made


class _CallRule(CustomRule):
    """Rule of a function at one call: what it captures, and the structures of arguments and results."""

    def __init__(
        self, owner: CustomFunction, captures: calls.Captures, arguments: calls.Bundle, results: calls.Results
    ) -> None:
        self.function, self.captures, self.arguments, self.results = owner, captures, arguments, results
        super().__init__(owner.name, len(captures.operands))

    @property
    def key(self) -> Any:
        return self.function.shown, self.captures.key, self.arguments.key, self.results.key


# -- custom_jvp --------------------------------------------------------------------------------------------------


class CustomJVP(CustomFunction):
    """Function whose rule gives tangents, which serves every transform."""

    __wrapped__: Any
    nondiff_argnums: Any

    kind = "custom_jvp"
    op = custom_jvp_op
    reads: tuple[str, ...] = ("__wrapped__", "nondiff_argnums", "jvp", "partial")

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] | int = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self.jvp: Callable[..., Any] | None = None
        self.partial: tuple[Callable[..., Any] | None, ...] = ()

    def set_parts(self, *parts: Any) -> None:
        self.__wrapped__, self.nondiff_argnums, self.jvp, self.partial = parts

    @short_traceback
    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Make `jvp` the rule and return it, as a decorator does.

        `jvp(primals, tangents)` gets tuples with one entry per argument, and returns the result and its tangent. The
        arguments of `nondiff_argnums` come first.
        """
        pytrees.check_callable("defjvp", jvp)
        self.check_parameters(jvp, "primals, tangents")
        self.jvp, self.partial = jvp, ()
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Make the sum of parts the rule: one function `jvp(tangent, result, *primals)` per argument, None for zero."""
        if self.nondiff_argnums:
            advice = "write one rule with defjvp"
            raise ArgumentError(self.shown, "nondiff_argnums", "is not for defjvps", advice)
        for part in jvps:
            if part is not None:
                pytrees.check_callable("defjvps", part)
        self.jvp, self.partial = None, jvps

    def check(self) -> None:
        if self.jvp is None and not any(self.partial):
            advice = f"decorate its rule with @{self.name}.defjvp"
            raise CustomRuleError(self.shown, "has no rule", advice, user_line())

    def rule(self, captures: calls.Captures, arguments: calls.Bundle, results: calls.Results) -> CustomRule:
        return _JVPRule(self, captures, arguments, results)


class _JVPRule(_CallRule):
    """Rule of custom_jvp at one call."""

    def parts(self, count: int) -> list[Sequence[int]]:
        _, jvp, *_ = self.captures.objects
        return super().parts(count) if jvp is not None else self.arguments.positions()

    def push(
        self, operands: Sequence[Any], tangents: Sequence[Any | None], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the results and their tangents, from arguments, their tangents and the results of the function."""
        count = len(operands) - self.captured
        function, jvp, parts, *fixed = self.captures.renewed(operands[count:])
        operands, tangents = operands[:count], tangents[:count]
        if jvp is None:
            with _applied(self):
                return self._sum_of_parts(function, parts, operands, tangents, outputs)
        primals = self.arguments.fill(operands)
        directions = self.arguments.zeros_like(operands, tangents)
        giver = calls.Giver(self.function.shown, "its rule", line_of(jvp))
        with _applied(self):
            value, slope = giver.pair(as_read(jvp)(*fixed, primals, directions), "the result, its tangent")
        ys = giver.leaves(value, self.results.tree, "a result", "the function gives")
        ts = giver.leaves(slope, self.results.tree, "a tangent", "the result has")
        return self._checked(giver, ys, ts, outputs)

    def _checked(
        self, giver: calls.Giver, ys: Sequence[Any], ts: Sequence[Any], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        primals, slopes = [], []
        for i, (y, t, out) in enumerate(zip(ys, ts, outputs, strict=True)):
            path = self.results.path(i)
            primals.append(giver.value(y, out.meta, f"{path}", "the function gives"))
            has_tangent = is_inexact(out.dtype)
            slopes.append(giver.value(t, out.meta, f"a tangent of {path}", "that is") if has_tangent else None)
        return primals, slopes

    def _sum_of_parts(
        self,
        function,
        parts: Sequence[Any],
        operands: Sequence[Any],
        tangents: Sequence[Any | None],
        outputs: Sequence[Any],
    ) -> tuple[list[Any], list[Any]]:
        primals = self.arguments.fill(operands)
        if len(parts) != len(primals):
            problem = f"has {len(parts)} parts, and the function has {len(primals)} arguments"
            raise CustomRuleError(self.function.shown, problem, "give one to defjvps for each argument, None for zero")
        directions = self.arguments.zeros_like(operands, tangents)
        moved = self.arguments.any_of(tangents)
        result = as_read(function)(*primals)
        ys = pytrees.flatten(result)[0]
        total: list[Any] = [None] * len(ys)
        giver = calls.Giver(self.function.shown, "its rule", None)
        for part, t, is_moved in zip(parts, directions, moved, strict=True):
            if part is None or not is_moved:
                continue
            giver = calls.Giver(self.function.shown, "a part of its rule", line_of(part))
            leaves = giver.leaves(as_read(part)(t, result, *primals), self.results.tree, "a tangent", "the result has")
            _, slopes = self._checked(giver, ys, leaves, outputs)
            total = [b if a is None else a if b is None else add(a, b) for a, b in zip(total, slopes, strict=True)]
        slopes = [full_like(y) if t is None and is_inexact(y.dtype) else t for t, y in zip(total, outputs, strict=True)]
        return self._checked(giver, ys, ys, outputs)[0], slopes


@short_traceback
def custom_jvp(function: Callable[..., Any] | None = None, nondiff_argnums: Sequence[int] | int = ()) -> Any:
    """Return `function` with a derivative rule of its own, which `defjvp` or `defjvps` adds. It serves every transform.

    - Arguments and results are trees. Arguments in `nondiff_argnums` are any objects; the rule gets them first.
    - The rule may call the function itself, and is differentiated for higher orders.
    - A value that the function closes over has no derivative: differentiating in it is an error.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), (1 - 1 / (1 + np.exp(x))) * t
    >>> print(grad(log1pexp)(0.0))
    0.5
    """
    if function is None:
        return functools.partial(custom_jvp, nondiff_argnums=nondiff_argnums)
    return CustomJVP(function, nondiff_argnums)


# -- custom_vjp --------------------------------------------------------------------------------------------------


class CustomVJP(CustomFunction):
    """Function whose rule gives cotangents, for reverse mode."""

    __wrapped__: Any
    nondiff_argnums: Any

    kind = "custom_vjp"
    op = custom_vjp_op
    reads: tuple[str, ...] = ("__wrapped__", "nondiff_argnums", "fwd", "bwd")

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] | int = ()) -> None:
        super().__init__(function, nondiff_argnums)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def set_parts(self, *parts: Any) -> None:
        self.__wrapped__, self.nondiff_argnums, self.fwd, self.bwd = parts

    @short_traceback
    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Make two functions the rule.

        - `fwd` has the arguments of the function. It returns the result and residuals, a tree of any objects.
        - `bwd(residuals, cotangent)` returns a tuple with a cotangent per argument, and None for zero. The arguments of
          `nondiff_argnums` come first, and have no cotangent.
        """
        pytrees.check_callable("defvjp", fwd)
        pytrees.check_callable("defvjp", bwd)
        self.check_parameters(bwd, "residuals, cotangent")
        self.fwd, self.bwd = fwd, bwd

    def check(self) -> None:
        if self.fwd is None or self.bwd is None:
            advice = f"give it one with {self.name}.defvjp(fwd, bwd)"
            raise CustomRuleError(self.shown, "has no rule", advice, user_line())

    def rule(self, captures: calls.Captures, arguments: calls.Bundle, results: calls.Results) -> CustomRule:
        return _VJPRule(self, captures, arguments, results)


class _VJPRule(_CallRule):
    """Rule of custom_vjp at one call."""

    def forward(
        self, operands: Sequence[Any], active: Sequence[bool], outputs: Sequence[Any]
    ) -> tuple[list[Any], list[Any], CustomRule]:
        """Return the results, the values among the residuals, and the backward rule for the active arguments."""
        count = len(operands) - self.captured
        _, fwd, _, *fixed = self.captures.renewed(operands[count:])
        giver = calls.Giver(self.function.shown, "fwd", line_of(fwd))
        arguments = self.function.all_arguments(fixed, self.arguments.fill(operands[:count]))
        with _applied(self):
            value, residuals = giver.pair(argument_containers.keeping(fwd)(*arguments), "the result, the residuals")
        leaves = giver.leaves(value, self.results.tree, "a result", "the function gives")
        ys = [
            giver.value(y, out.meta, self.results.path(i), "the function gives")
            for i, (y, out) in enumerate(zip(leaves, outputs, strict=True))
        ]
        held, values = calls.bundle(residuals)
        inside = calls.Captures.of(held.objects())
        return ys, [*values, *inside.operands, *operands[count:]], _Pullback(self, held, inside, tuple(active[:count]))


class _Pullback(CustomRule):
    """Backward rule of custom_vjp at one call, with what it holds besides arrays.

    `inside` are residuals that are functions, with the values that they close over.
    """

    def __init__(
        self, rule: _VJPRule, residuals: calls.Bundle, inside: calls.Captures, active: tuple[bool, ...]
    ) -> None:
        self.rule, self.residuals, self.active = rule, residuals, active
        self.inside = inside if inside.operands else None
        super().__init__(rule.name)

    @property
    def key(self) -> Any:
        return self.rule.key, self.residuals.key, self.active

    def _filled(self, residuals: Sequence[Any]):
        """Return the tree of residuals with these values, also in functions among them."""
        if self.inside is None:
            return self.residuals.fill(residuals)
        count = len(residuals) - len(self.inside.operands)
        return self.residuals.with_objects(self.inside.renewed(residuals[count:])).fill(residuals[:count])

    def pull(self, residuals: Sequence[Any], cotangents: Sequence[Any], metas: Sequence[Any]) -> list[Any | None]:
        """Return the cotangent of each active argument, whose types are `metas`; None: zero."""
        rule = self.rule
        count = len(residuals) - rule.captured
        _, _, bwd, *fixed = rule.captures.renewed(residuals[count:])
        giver = calls.Giver(rule.function.shown, "bwd", line_of(bwd))
        with _applied(rule):
            cotangents = as_read(bwd)(*fixed, self._filled(residuals[:count]), rule.results.fill(cotangents))
        leaves = self._leaves(giver, cotangents)
        names = pytrees.parameter_names(rule.function.__wrapped__)
        types_of, pulled = iter(metas), []
        values = [
            (path, ct) for path, ct, (role, _) in zip(self._paths(names), leaves, rule.arguments.leaves, strict=True)
            if role != "fixed"
        ]  # fmt: skip
        for (path, ct), is_active in zip(values, self.active, strict=True):
            if is_active:
                meta = next(types_of)
                pulled.append(None if ct is None else giver.value(ct, meta, f"a cotangent for {path}", f"{path} is"))
        return pulled

    def _paths(self, names: Sequence[str]) -> list[str]:
        tree = self.rule.arguments.tree
        nondiff = self.rule.function.nondiff_argnums
        chosen = [n for i, n in enumerate(names) if i not in nondiff]
        return [pytrees.named(accessor.codify("args"), chosen) for accessor in tree.accessors()]

    def _leaves(self, giver: calls.Giver, cotangents) -> list[Any]:
        """Return a cotangent or None for each leaf of the arguments. None may stand for a whole tree."""
        tree = self.rule.arguments.tree
        cotangents = tuple(cotangents) if type(cotangents) is list else cotangents
        leaves = _with_none(cotangents, tree) if type(cotangents) is tuple else None
        if leaves is None:
            returned, wanted = pytrees.structure_text(pytrees.flatten(cotangents)[1]), pytrees.structure_text(tree)
            problem = f"gives cotangents of the structure {returned}, and the arguments have {wanted}"
            raise giver.fail(problem, "return a tuple with one cotangent, or None, for each argument")
        return leaves


def _with_none(tree, like) -> list[Any] | None:
    """Return a leaf for each leaf of a structure, None below a None; return None if the tree does not fit."""
    if tree is None:
        return [None] * like.num_leaves
    if like.is_leaf():
        return [tree]
    tree = pytrees.wrapped(tree)
    parts, structure = optree.tree_flatten(tree, is_leaf=lambda x: x is not tree, namespace=pytrees.NAMESPACE)
    if structure != like.one_level():
        if not isinstance(tree, dict) or {*tree} != {*like.entries()}:
            return None
        parts = [tree[key] for key in like.entries()]
    leaves: list[Any] = []
    for part, other in zip(parts, like.children(), strict=True):
        if (inner := _with_none(part, other)) is None:
            return None
        leaves += inner
    return leaves


@short_traceback
def custom_vjp(function: Callable[..., Any] | None = None, nondiff_argnums: Sequence[int] | int = ()) -> Any:
    """Return `function` with a rule for reverse mode, which `defvjp` adds: a forward and a backward function.

    - It serves grad, vjp and jacrev of any order, forward mode over these, and vmap. Forward mode through it is an
      error; custom_jvp serves both modes.
    - Arguments and results are trees. Arguments in `nondiff_argnums` are any objects; `bwd` gets them first.
    - A value that the function closes over has no derivative: differentiating in it is an error.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> @custom_vjp
    ... def clipped(x, limit):
    ...     return x
    >>> def forward(x, limit):
    ...     return x, limit
    >>> def backward(limit, ct):
    ...     return np.clip(ct, -limit, limit), None
    >>> clipped.defvjp(forward, backward)
    >>> print(grad(lambda x: np.sum(clipped(x, 1.0) * 5))(np.ones(2)))
    [1. 1.]
    """
    if function is None:
        return functools.partial(custom_vjp, nondiff_argnums=nondiff_argnums)
    return CustomVJP(function, nondiff_argnums)
