"""Tangents and cotangents that are zero by construction where a select, a mask, an index or an update leaves out.

Such a zero is not a number. It stays 0 where it meets an infinite slope, as the element does not take part.

Carry elements that are zero by construction through the rules of an op, in both modes.

An op that acts on each element leaves them where they are. One that moves or adds up elements is applied to another
array too: of 0 where an element is zero, and of 1 elsewhere. Where its result is 0, it is zero by construction.

Tangents and cotangents as ends of subgraphs: an array of each that is not zero, and a mark of some.

A mark is an array that is 0 where a tangent or cotangent is zero by construction. One that a subgraph lacks is zero
everywhere, if another subgraph of its node has it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.autodiff import rule_tables as rules
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.core.apply import apply
from anyshape.ops.core.flop_counts import Shape
from anyshape.ops.creation import full
from anyshape.support.lazy_dataclass import NamedTuple, dataclass, replace

DEEP = 40  # masks that wait for one another, before one is computed: each calls the one below


class Mask:
    """Mask that is computed when it is first called for. `below` are the tangents or cotangents that it depends on.

    `condition` is the operand of a choice that it is, or with `chosen` False the inverse of.
    """

    __slots__ = ("_make", "_mask", "chosen", "condition", "depth")

    def __init__(self, make: Callable[[], Any], *below: Any, condition: Any = None, chosen: bool = True) -> None:
        self._make, self._mask, self.condition, self.chosen = make, None, condition, chosen
        self.depth: int = 1 + max(map(_depth, below), default=0)
        if self.depth > DEEP:
            self()
            self.depth = 0

    def __call__(self) -> Any:
        if self._mask is None:
            self._mask = self._make()
        return self._mask

    @property
    def is_computed(self) -> bool:
        """True if the mask is there already."""
        return self._mask is not None

    def has_condition_of(self, other: Mask) -> bool:
        """Return whether both are of choices by one condition."""
        mine, others = self.condition, other.condition
        return mine is not None and others is not None and (mine is others or _value(mine) is _value(others))


def _value(x):
    return x.value if isinstance(x, Traced) else x


def _depth(x) -> int:
    while isinstance(x, Part) and not isinstance(x, Masked):
        x = x.ct
    return x.mask.depth if isinstance(x, Masked) else 0


class Part:
    """Tangent or cotangent of an array that is zero by construction where `indicator` is 0.

    `ct` holds its elements, which may be a part themselves.
    """

    ct: Any

    __slots__ = ()

    def image(self, read: Callable[[Any], Any]) -> Any:
        """Return what the part makes of `read(ct)`, an array in place of its elements."""
        raise NotImplementedError

    def whole(self) -> Any:
        """Return the part as an array."""
        return self.image(whole)

    def indicator(self) -> Any:
        """Return an array of the same type that is 0 at the zeros, and not 0 elsewhere."""
        return self.image(indicator)

    def support(self) -> Any:
        """Return a mask of the elements that are not zero by construction."""
        return nonzero(self.indicator())

    def ones(self) -> Part:
        """Return the part with 1 in place of its elements, and 0 where these are zero by construction."""
        return replace(self, ct=indicator(self.ct))  # type: ignore[type-var]

    def of(self, ct: Part) -> Any:
        """Return the part that has this one's place in a part `ct` of its elements."""
        return replace(self, ct=ct)  # type: ignore[type-var]

    def added_to(self, total: Any) -> Any:
        """Return the sum with another tangent or cotangent of the array."""
        return ew.add(total, self.whole())

    def as_window(self, shape: Shape) -> Any:
        """Return the part as a window in an array of this shape, None if it is none."""
        return None

    def at(self, x: Any) -> Any:
        """Return the elements of an array that the elements of the part belong to."""
        raise NotImplementedError

    def with_ct(self, ct: Any, keeps_zeros: bool, zeros: Callable[[], Any]) -> Part:
        """Return the part with other elements.

        - `keeps_zeros`: whether a number 0 among the old elements is one among the new.
        - `zeros`: makes an array of zeros for the whole.
        """
        return self.of(ct)


@dataclass(frozen=True, slots=True)
class Masked(Part):
    """Tangent or cotangent that is zero by construction where a mask is False.

    - `mask`: gives the mask, which is computed only if it is needed.
    - `is_clean`: whether `ct` is 0 there; else it may be anything.
    - `cleaner`: the mask where it may be anything, if that is not `mask`.
    """

    ct: Any
    mask: Mask
    is_clean: bool
    cleaner: Mask | None = None

    def whole(self) -> Any:
        if self.is_clean:
            return self.ct
        mask, zeros = self.cleaner or self.mask, _of_its_type(0, self.ct)
        if mask.condition is not None and not mask.chosen:
            return apply(ew.select_op, mask.condition, zeros, self.ct)
        return apply(ew.select_op, mask(), self.ct, zeros)

    def indicator(self) -> Any:
        return ew.convert(self.mask(), self.ct.dtype)

    def support(self) -> Any:
        return self.mask()

    def ones(self) -> Part:
        return Masked(self.indicator(), self.mask, is_clean=True)

    def at(self, x: Any) -> Any:
        return x

    def with_ct(self, ct: Any, keeps_zeros: bool, zeros: Callable[[], Any]) -> Masked:
        if isinstance(ct, Masked):
            cleaner = (ct.cleaner or ct.mask) if self.is_clean else None
            both = Mask(lambda: ew.logical_and(self.mask(), ct.mask()), self, ct)
            return Masked(ct.ct, both, is_clean=False, cleaner=cleaner)
        cleaner = self.cleaner if keeps_zeros else None
        return replace(self, ct=ct, is_clean=self.is_clean and keeps_zeros, cleaner=cleaner)


@dataclass(frozen=True, slots=True)
class Marked(Masked):
    """Tangent or cotangent with an indicator that is an array already, whose elements need not be 1."""

    mark: Any = None

    def indicator(self) -> Any:
        return ew.convert(self.mark, self.ct.dtype)


def masked(ct: Any, mask: Callable[[], Any], is_clean: bool, *below: Any) -> Masked:
    """Return a tangent or cotangent with a mask that is computed once, when it is needed."""
    return Masked(ct, Mask(mask, *below), is_clean)


def chosen(condition: Any, ct: Any) -> Masked:
    """Return a tangent or cotangent of what a condition chooses."""
    return Masked(ct, Mask(lambda: condition, condition=condition), is_clean=False)


def not_chosen(condition: Any, ct: Any) -> Masked:
    """Return a tangent or cotangent of what is chosen where a condition is False."""
    return Masked(ct, Mask(lambda: ew.logical_not(condition), condition=condition, chosen=False), is_clean=False)


def merged(a: Masked, b: Masked) -> Any:
    """Return the sum of two that have one mask, or complementary ones; None if they have others."""
    if a.mask is b.mask or (a.mask.has_condition_of(b.mask) and a.mask.chosen is b.mask.chosen):
        cleaner = a.cleaner if a.cleaner is b.cleaner else None
        return replace(a, ct=ew.add(a.ct, b.ct), is_clean=a.is_clean and b.is_clean, cleaner=cleaner)
    if not a.mask.has_condition_of(b.mask):
        return None
    first, second = (a, b) if a.mask.chosen else (b, a)
    return ew.select(a.mask.condition, first.ct, second.ct)


def whole(x: Any) -> Any:
    """Return a tangent or cotangent as an array; None, which is zero, stays."""
    return x.whole() if isinstance(x, Part) else x


def indicator(x: Any) -> Any:
    """Return an array that is 0 where a tangent or cotangent is zero by construction; None stays."""
    return x.indicator() if isinstance(x, Part) else None if x is None else _of_its_type(1, x)


# -- at the ends of subgraphs, where an array stands for a mask


def with_indicators(xs: Sequence[Any], flags: Sequence[bool], marks: Iterable[Any]) -> list[Any]:
    """Return arrays as tangents or cotangents: flagged ones are zero by construction where the next mark is 0."""
    remaining = iter(marks)
    return [_with_indicator(x, next(remaining)) if flag else x for x, flag in zip(xs, flags, strict=True)]


def _with_indicator(x, mark) -> Marked:
    return Marked(x, Mask(lambda: nonzero(mark)), is_clean=True, mark=mark)


def resized(x: Any, of_size: Callable[[Any], Any]) -> Any:
    """Return a tangent or cotangent in sizes that a function gives an array, and its mask in the same."""
    if not isinstance(x, Masked):
        return of_size(x)
    ct = x.whole()
    result = of_size(ct)
    return x if result is ct else masked(result, lambda: of_size(x.mask()), True, x)


def nonzero(x: Any) -> Any:
    """Return a mask of the elements that are not 0."""
    return ew.convert(x, np.dtype(bool)) if x.meta.sizes is None else ew.ne(x, ew.lift(0, x))


def _of_its_type(number: int, x):
    """Return an array of 0 or 1 of the type of x, of whose sizes only bounds may be known."""
    if x.meta.sizes is not None:
        return ew.lift(number, x)
    mask = nonzero(x)
    op = ew.logical_or_op if number else ew.logical_and_op
    return ew.convert(apply(op, mask, ew.logical_not(mask)), x.dtype)


# Ops without a factor: they leave a number 0 as it is.
_KEEP_ZEROS = {ew.add_op, ew.sub_op, ew.neg_op, ew.convert_op, ew.real_op, ew.imag_op, ew.conj_op, ew.complex_op}

Rule: TypeAlias = Callable[..., Any]
Results: TypeAlias = Sequence[Any]
Params: TypeAlias = Mapping[str, Any]
Labels: TypeAlias = Sequence[Sequence[Any]]


# -- forward mode ------------------------------------------------------------------------------------------------


def pushed(node: Node, ctx: ShapeGuardContext, rule: Rule, tangents: Sequence[Any], params: Params) -> Results:
    """Return what the JVP rule of a node makes of tangents, which may be parts. The rule gives one for each output.

    It takes a function too, of the operands and outputs that it then reads the results of.
    """
    op, (flow, _) = node.op, rules.zero_flow(node.op)
    has_parts = any(isinstance(t, Part) for t in tangents)
    if flow is rules.STAY:
        return _pushed_on_each(op, rule, tangents) if has_parts else rule(tangents)
    results = rule(list(map(whole, tangents)))
    if not (has_parts or flow is rules.FILL or (flow is not rules.LINES and _lacks_one(tangents, node.inputs))):
        return results
    labels, count = _lines(op, [v.meta.rank for v in (*node.inputs, *node.outputs)], params, tangents[1:])
    if labels is not None:
        return pushed_along_lines(ctx, tangents, results, labels)
    return _pushed_with_counts(rule, tangents, results, flow, count) if count else list(map(whole, results))


def _pushed_with_counts(
    rule: Rule, tangents: Sequence[Any], results: Results, flow: rules.ZeroFlow, count: int
) -> Results:
    """Return tangents that are zero by construction where counts have none."""
    factors = [lambda x: _factor(x, count)] if flow in (rules.REACH, rules.LINES) else []
    ones = functools.cache(lambda: rule(list(map(indicator, tangents)), *factors))
    at = lambda i: lambda: nonzero(whole(ones()[i]))
    return [None if r is None else masked(whole(r), at(i), True, *tangents) for i, r in enumerate(results)]


def _lines(op: Op, ranks: Sequence[int], params: Params, others: Results = ()) -> tuple[Labels | None, int]:
    """Return labels for the axes of operands and results, or None and what numbers count as: 0 for all mixed.

    `others` are the tangents of all operands but the first.
    """
    if op in rules.FIRST_ALONE and any(t is not None for t in others):
        return None, 0
    lines = rules.LINES_OF[op](ranks, **params) if op in rules.LINES_OF else 1
    return (None, lines) if isinstance(lines, int) else (lines, 0)


def _factor(x, count: int):
    """Return what stands for an operand or output, or several, where numbers count as 1 or -1."""
    if isinstance(x, tuple):
        return tuple([_factor(v, count) for v in x])
    return x if x is None or isinstance(x, rules.Linear) or x.dtype.kind not in "fc" else ew.lift(count, x)


def _lacks_one(tangents: Sequence[Any], inputs: Sequence[Value]) -> bool:
    """Return whether an operand that may have a tangent is a constant."""
    return any(t is None and v.meta.dtype.kind in "fc" for t, v in zip(tangents, inputs, strict=True))


def pushed_along_lines(ctx: ShapeGuardContext, tangents: Sequence[Any], results: Results, labels: Labels) -> Results:
    """Return tangents that are zero by construction on lines that no operand has a tangent on."""
    moving = [(t, own) for t, own in zip(tangents, labels, strict=False) if t is not None]
    if not all(isinstance(t, Part) for t, _ in moving):
        return list(map(whole, results))

    def masked_on(r, own: Sequence[Any]):
        on_lines = lambda: [_on_lines(t.support(), theirs, own, ctx.shape(r)) for t, theirs in moving]
        return masked(r, lambda: functools.reduce(ew.logical_or, on_lines()), True, *tangents)

    pairs = zip(map(whole, results), labels[len(tangents) :], strict=True)
    return [None if r is None else masked_on(r, own) for r, own in pairs]


def _on_lines(mask, labels: Sequence[Any], wanted: Sequence[Any], shape: Shape):
    """Return a mask of the lines that have an element in another mask, for an array whose axes have other labels."""
    own = [label for label in labels if label is not None and label in wanted]
    mixed = [a for a, label in enumerate(labels) if label not in own]
    order = sorted(own, key=wanted.index)
    some = mv.transpose(rd.reduce_or(mask, mixed), [own.index(label) for label in order])
    return mv.broadcast_in_dim(some, shape, [wanted.index(label) for label in order])


def _pushed_on_each(op: Op, rule: Rule, tangents: Sequence[Any]) -> Results:
    """Push the tangents of each mask by themselves, and add up the results."""
    groups: dict[Any, list[Any]] = {}
    for i, t in enumerate(tangents):
        if t is not None:
            groups.setdefault(t.mask if isinstance(t, Masked) else None, [None] * len(tangents))[i] = t
    totals, *others = [_pushed_group(op, rule, mask, own) for mask, own in groups.items()]
    for results in others:
        totals = list(map(_sum, totals, results))
    return totals


def _pushed_group(op: Op, rule: Rule, mask: Mask | None, tangents: Sequence[Any]) -> Results:
    """Push tangents of one mask, or arrays."""
    if mask is None:
        return rule(tangents)
    results = rule([None if t is None else t.ct for t in tangents])
    form = Masked(None, mask, all(t is None or t.is_clean for t in tangents))
    return [None if r is None else form.with_ct(r, op in _KEEP_ZEROS, _no_zeros) for r in results]


def _no_zeros():
    raise NotImplementedError  # a mask alone needs none


def _sum(a, b):
    """Return the sum of two tangents, zero by construction where both are."""
    if a is None or b is None:
        return b if a is None else a
    if not (isinstance(a, Masked) and isinstance(b, Masked)):
        return ew.add(whole(a), whole(b))
    if (total := merged(a, b)) is not None:
        return total
    return masked(ew.add(whole(a), whole(b)), lambda: ew.logical_or(a.mask(), b.mask()), True, a, b)


# -- reverse mode ------------------------------------------------------------------------------------------------


def pulled(
    op: Op, ctx: ShapeGuardContext, rule: Rule, part: Part, inputs: Sequence[Any], params: Params, scales: bool
) -> Sequence[Any] | None:
    """Return what the transpose rule of an op makes of a cotangent that is a part; None: of the whole array.

    `scales` tells that its factor is a finite number in all programs.
    """
    _, flow = rules.zero_flow(op)
    if flow in (rules.MIX, rules.PASS):
        return None
    if flow is rules.STAY:
        return _pulled_on_each(scales or op in _KEEP_ZEROS, ctx, rule, part, inputs)
    if flow is rules.MOVE:
        return _moved(rule, part, inputs)
    ct = part.whole()
    labels, count = _lines(op, [ctx.rank(x) for x in (*inputs, ct)], params)
    if labels is not None:
        on_lines = lambda i: _on_lines(part.support(), labels[-1], labels[i], ctx.shape(inputs[i]))
        return [_part_of(part, ct, r, functools.partial(on_lines, i)) for i, r in enumerate(rule(ct, *inputs))]
    return _pulled_with_counts(ctx, rule, part, ct, inputs, flow, count) if count else None


def _pulled_with_counts(
    ctx: ShapeGuardContext, rule: Rule, part: Part, ct, inputs: Sequence[Any], flow: rules.ZeroFlow, count: int
) -> Sequence[Any]:
    """Return cotangents that are zero by construction where counts have none."""
    factors = [_factor(x, count) for x in inputs] if flow in (rules.REACH, rules.LINES) else inputs
    ones = functools.cache(lambda: rule(part.indicator(), *factors))
    at = functools.cache(lambda i: functools.cache(lambda: nonzero(whole(ones()[i]))))
    if flow is rules.REACH:  # what a factor multiplies has its position
        (linear,) = [i for i, x in enumerate(inputs) if isinstance(x, rules.Linear)]
        inputs = [x if x is f else _where(at(linear)(), x) for x, f in zip(inputs, factors, strict=True)]
    elif flow is rules.LINES and not isinstance(
        inputs[0], rules.Linear
    ):  # coefficients, for a signal that may be read in part
        others = [full(ctx.shape(x), count, x.dtype) for x in inputs[1:]]
        reached = rule(part.indicator(), rules.Linear(inputs[0].meta), *others)[0]
        inputs = [_where(nonzero(reached), inputs[0]), *inputs[1:]]
    return [_part_of(part, ct, r, at(i)) for i, r in enumerate(rule(ct, *inputs))]


def _where(mask, x):
    """Return an array with 0 where a mask is False."""
    return ew.select(mask, x, ew.lift(0, x))


def _moved(rule: Rule, part: Part, inputs: Sequence[Any]) -> Sequence[Any]:
    """Move a cotangent and its mask alike."""
    is_clean = not isinstance(part, Masked) or part.is_clean
    results = rule(part.ct if isinstance(part, Masked) else part.whole(), *inputs)
    masks = functools.cache(lambda: rule(part.support(), *inputs))
    at = lambda i: lambda: masks()[i]
    return [None if r is None else masked(r, at(i), is_clean, part) for i, r in enumerate(results)]


def _part_of(part: Part, ct, result, mask: Callable[[], Any]):
    """Return a result of a transpose rule as a part: a part of `ct` is one of the part that `ct` is."""
    if result is None:
        return None
    if isinstance(result, Part) and result.ct is ct:
        return result.of(part)
    return masked(whole(result), mask, True, part)


def _pulled_on_each(
    keeps_zeros: bool, ctx: ShapeGuardContext, rule: Rule, part: Part, inputs: Sequence[Any], zeros=None
) -> Sequence[Any]:
    """Apply the rule to the elements of the part alone. `zeros` makes an array of zeros for the whole of it."""
    if isinstance(part, Masked) and sum(isinstance(x, rules.Linear) for x in inputs) > 1:
        part = replace(part, ct=part.whole(), is_clean=True)  # once, rather than for each input
    own = [x if isinstance(x, rules.Linear) else part.at(x) for x in inputs]
    linear = next(x for x in inputs if isinstance(x, rules.Linear))
    array = zeros or functools.cache(lambda: rules.zeros_like(ctx, linear))
    if isinstance(part.ct, Part):
        results = _pulled_on_each(keeps_zeros, ctx, rule, part.ct, own, functools.cache(lambda: part.at(array())))
    else:
        results = rule(part.ct, *own)
    return [None if r is None else part.with_ct(r, keeps_zeros, array) for r in results]


def by_flags(flags: Iterable[bool], xs: Iterable[Any]) -> list[Any]:
    """Return for each flag the next of xs, or None where it is not set."""
    remaining = iter(xs)
    return [next(remaining) if flag else None for flag in flags]


def flagged(xs: Iterable[Any], flags: Iterable[bool]) -> list[Any]:
    """Return the members whose flag is set."""
    return [x for x, flag in zip(xs, flags, strict=True) if flag]


def filled(xs: Iterable[Any], zeros: Iterable[Any]) -> list[Any]:
    """Return the members, zeros in place of None."""
    return [zero if x is None else x for x, zero in zip(xs, zeros, strict=True)]


class Ends(NamedTuple):
    """Flags of the tangents or cotangents that subgraphs give: of `live` ones, and of those with a mark (`parted`)."""

    live: list[bool]
    parted: list[bool]

    @classmethod
    def of(cls, cts: Sequence[Any]) -> Ends:
        """Return which of these are not None, and which have elements that are zero by construction."""
        return cls([ct is not None for ct in cts], [isinstance(ct, Part) for ct in cts])

    @property
    def number(self) -> int:
        """Number of results."""
        return sum(self.live) + sum(self.parted)

    def arrays(self, cts: Sequence[Any]) -> list[Any]:
        """Return the arrays and the marks that stand for tangents or cotangents."""
        return [*map(whole, flagged(cts, self.live)), *map(indicator, flagged(cts, self.parted))]

    def marks(self, cts: Sequence[Any]) -> list[Any]:
        """Return the marks that stand for zeros of tangents or cotangents, None where there are none."""
        return [indicator(ct) if flag else None for ct, flag in zip(cts, self.parted, strict=True)]

    def read(self, results: Iterable[Any]) -> list[Any]:
        """Return the tangents or cotangents that results stand for, None where they have none."""
        remaining = iter(results)
        return with_indicators(by_flags(self.live, remaining), self.parted, remaining)

    def each(self, xs: Sequence[Any], of_marks: Sequence[Any] | None = None) -> list[Any]:
        """Return for each result what belongs to it: a member of xs, or of those for marks, the same by default."""
        return [*flagged(xs, self.live), *flagged(xs if of_marks is None else of_marks, self.parted)]


def read_kinds(ends: Sequence[Ends], results: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the tangents or cotangents that results of several kinds stand for, in their order."""
    return [ct for kind, ys in zip(ends, results, strict=True) for ct in kind.read(ys)]


def with_ends(made: Sequence[tuple[Graph, Sequence[Any]]], first: int = 0) -> tuple[list[Graph], Ends]:
    """Return the graphs with the ends that one of them has behind the first outputs, and which these are.

    Each graph has an array and a mark of all, and stands beside what these stand for.
    """
    columns = [*zip(*[cts for _, cts in made], strict=True)]
    live = [any(ct is not None for ct in column) for column in columns]
    has_zeros = [any(ct is None or isinstance(ct, Part) for ct in column) for column in columns]
    ends = Ends(live, [a and b for a, b in zip(live, has_zeros, strict=True)])
    flags = [*[True] * first, *ends.live, *ends.parted]
    return [replace(g, outputs=tuple(flagged(g.outputs, flags))) for g, _ in made], ends
