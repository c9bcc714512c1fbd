"""Carry elements that are zero by construction through the rules of an op, in both modes.

An op that acts on each element leaves them where they are. One that moves or adds up elements is applied to another
array too: of 0 where an element is zero, and of 1 elsewhere. Where its result is 0, it is zero by construction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from anyshape.autodiff.rule_tables import FILL, MIX, MOVE, PASS, REACH, STAY, Linear, zero_flow, zeros_like
from anyshape.autodiff.structural_zeros import Mask, Masked, Part, indicator, masked, merged, nonzero, whole
from anyshape.graph.ir.graph import Op
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import elementwise as ew

# Ops without a factor: they leave a number 0 as it is.
_KEEP_ZEROS = {ew.add_op, ew.sub_op, ew.neg_op, ew.convert_op, ew.real_op, ew.imag_op, ew.conj_op, ew.complex_op}

Rule: TypeAlias = Callable[..., Any]
Results: TypeAlias = Sequence[Any]


# -- forward mode ------------------------------------------------------------------------------------------------


def pushed(op: Op, rule: Rule, tangents: Sequence[Any], dtypes: Sequence[np.dtype]) -> Results:
    """Return what the JVP rule of an op makes of tangents, which may be parts. The rule gives one for each output.

    It takes a function too, of the operands and outputs that it then reads the results of.
    """
    flow, _ = zero_flow(op)
    has_parts = any(isinstance(t, Part) for t in tangents)
    if flow is STAY:
        return _pushed_on_each(op, rule, tangents) if has_parts else rule(tangents)
    results = rule(list(map(whole, tangents)))
    if not (has_parts or flow is FILL or _lacks_one(tangents, dtypes)):
        return results
    factors = [_factor] if flow is REACH else []
    ones = functools.cache(lambda: rule(list(map(indicator, tangents)), *factors))
    at = lambda i: lambda: nonzero(whole(ones()[i]))
    return [None if r is None else masked(whole(r), at(i), True, *tangents) for i, r in enumerate(results)]


def _factor(x: Any) -> Any:
    """Return what stands for an operand or output where its numbers count as 1."""
    return x if x is None or isinstance(x, Linear) or x.dtype.kind not in "fc" else ew.lift(1, x)


def _lacks_one(tangents: Sequence[Any], dtypes: Sequence[np.dtype]) -> bool:
    """Return whether an operand that may have a tangent is a constant."""
    return any(t is None and dtype.kind in "fc" for t, dtype in zip(tangents, dtypes, strict=True))


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


def _no_zeros() -> Any:
    raise NotImplementedError  # a mask alone needs none


def _sum(a: Any, b: Any) -> Any:
    """Return the sum of two tangents, zero by construction where both are."""
    if a is None or b is None:
        return b if a is None else a
    if not (isinstance(a, Masked) and isinstance(b, Masked)):
        return ew.add(whole(a), whole(b))
    total = merged(a, b)
    if total is not None:
        return total
    return masked(ew.add(whole(a), whole(b)), lambda: ew.logical_or(a.mask(), b.mask()), True, a, b)


# -- reverse mode ------------------------------------------------------------------------------------------------


def pulled(op: Op, ctx: ShapeGuardContext, rule: Rule, part: Part, inputs: Sequence[Any]) -> Sequence[Any] | None:
    """Return what the transpose rule of an op makes of a cotangent that is a part; None: of the whole array."""
    _, flow = zero_flow(op)
    if flow in (MIX, PASS):
        return None
    if flow is STAY:
        return _pulled_on_each(op, ctx, rule, part, inputs)
    if flow is MOVE:
        return _moved(rule, part, inputs)
    ct = part.whole()
    factors = [*map(_factor, inputs)] if flow is REACH else inputs
    ones = functools.cache(lambda: rule(part.indicator(), *factors))
    at = functools.cache(lambda i: functools.cache(lambda: nonzero(whole(ones()[i]))))
    if flow is REACH:  # what a factor multiplies has its position
        (linear,) = [i for i, x in enumerate(inputs) if isinstance(x, Linear)]
        counts = lambda x, f: x if x is f else ew.select(at(linear)(), x, ew.lift(0, x))
        inputs = list(map(counts, inputs, factors))
    return [_part_of(part, ct, r, at(i)) for i, r in enumerate(rule(ct, *inputs))]


def _moved(rule: Rule, part: Part, inputs: Sequence[Any]) -> Sequence[Any]:
    """Move a cotangent and its mask alike."""
    is_clean = not isinstance(part, Masked) or part.is_clean
    results = rule(part.ct if isinstance(part, Masked) else part.whole(), *inputs)
    masks = functools.cache(lambda: rule(part.support(), *inputs))
    at = lambda i: lambda: masks()[i]
    return [None if r is None else masked(r, at(i), is_clean, part) for i, r in enumerate(results)]


def _part_of(part: Part, ct: Any, result: Any, mask: Callable[[], Any]) -> Any:
    """Return a result of a transpose rule as a part: a part of `ct` is one of the part that `ct` is."""
    if result is None:
        return None
    if isinstance(result, Part) and result.ct is ct:
        return result.of(part)
    return masked(whole(result), mask, True, part)


def _pulled_on_each(op: Op, ctx: ShapeGuardContext, rule: Rule, part: Part, inputs: Sequence[Any]) -> Sequence[Any]:
    """Apply the rule to the elements of the part alone."""
    if isinstance(part, Masked) and sum(isinstance(x, Linear) for x in inputs) > 1:
        part = replace(part, ct=part.whole(), is_clean=True)  # once, rather than for each input
    own = [x if isinstance(x, Linear) else part.at(x) for x in inputs]
    results = _pulled_on_each(op, ctx, rule, part.ct, own) if isinstance(part.ct, Part) else rule(part.ct, *own)
    linear = next(x for x in inputs if isinstance(x, Linear))
    zeros = functools.cache(lambda: zeros_like(ctx, linear))
    return [None if r is None else part.with_ct(r, op in _KEEP_ZEROS, zeros) for r in results]
