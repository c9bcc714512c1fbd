"""Collapse chains of movement into views: transposes, reshapes, stretches, slices, reversals and pads.

Movement is arithmetic on strides. The pass works on the steps of a plan, after elementwise steps have left out the
stretches that NumPy makes itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from anyshape.backend.compiler.op_traits import TRAITS, Movement
from anyshape.backend.compiler.passes.metadata_contract import pass_context
from anyshape.backend.compiler.plan import Slot, Step, padded_view_op, stretched_view_op, view_op
from anyshape.errors import SizeLimitError, ViewError
from anyshape.graph.ir.graph import params_tuple
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.strided_view import View, row_major
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, Size
from anyshape.graph.sizes.polynomials import Call
from anyshape.ops import movement as mv
from anyshape.support.freezing import freeze
from anyshape.support.lazy_dataclass import dataclass

# Measured, at 200 and at 200,000 elements alike: a view costs as much as two transposes or reshapes. It costs half of a
# slice with symbolic bounds and a fifth of np.broadcast_to. Where the operand is not in C order, the attempt costs a
# little and is in vain. So views pay from a weight of three on, where a slice weighs two and a stretch three.
MIN_WEIGHT = 3
MAX_TERMS = 40  # in the sizes of a view: more arithmetic costs more than the steps


def collapse_views(steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> list[Step]:
    """Return the steps with each chain of movement as one view, where that is cheaper.

    Nothing but the chain reads its intermediate values.
    """
    ctx = pass_context(scope, "collapse_views")
    uses = Counter([i for step in steps for i in step.inputs] + list(outputs))
    chains: dict[Slot, list[Step]] = {}  # by the slot in which they end
    for step in steps:
        if _is_movement(step, ctx):
            (source,) = step.inputs
            chain = chains.pop(source, []) if uses[source] == 1 else []
            chain.append(step)
            chains[step.outputs[0]] = chain
    inside = {s.outputs[0] for chain in chains.values() for s in chain[:-1]}
    collapsed: list[Step] = []
    for step in steps:
        if step.outputs[0] in chains:
            collapsed.extend(_segments(chains[step.outputs[0]], ctx))
        elif step.outputs[0] not in inside:
            collapsed.append(step)
    return collapsed


def _is_movement(step: Step, ctx: ShapeGuardContext) -> bool:
    """Return whether the step is movement that views can stand for, and all of its sizes have names."""
    movement = TRAITS[step.op].movement
    if movement is None or not isinstance(step.inputs[0], str) or step.sources:
        return False
    if not movement.admits(dict(step.params)):
        return False
    return all(ctx.sizes(m, field="view") is not None for m in (step.metas[0], step.results[0]))


def _movement(step: Step) -> Movement:
    movement = TRAITS[step.op].movement
    assert movement is not None, f"{step.op} is not a movement"
    return movement


def _segments(chain: list[Step], ctx: ShapeGuardContext) -> Iterator[Step]:
    """Yield the chain in as few steps as possible, in order."""
    start, weight = 0, _weight(chain)  # of what is left of the chain
    while weight >= MIN_WEIGHT:
        segment = _longest_prefix(chain, start, ctx)
        view, end = segment.step(), start + max(len(segment.steps), 1)
        yield from chain[start:end] if view is None else [view]
        if end < len(chain) and chain[end].op is mv.reshape_op and not segment.fills:
            yield chain[end]  # it could not be part of the view, so it copies, and its result is in C order
            end += 1
        start, weight = end, weight - _weight(chain[start:end])
    yield from chain[start:]


def _weight(steps: Sequence[Step]) -> int:
    return sum(_movement(step).weight for step in steps)


def _longest_prefix(chain: list[Step], start: int, ctx: ShapeGuardContext) -> _Segment:
    """Return the most steps of the chain, from a position on, that are one view.

    Sizes are compared in canonical form alone, as proofs would take too long.
    """
    whole = _sizes(chain[start].metas[0], ctx)
    view, end, padding = View(whole, row_major(whole)), start, None
    while end < len(chain):
        step = chain[end]
        params = dict(step.params)
        if step.op is mv.pad_op:
            fill = freeze(params["value"])
            if padding not in (None, fill):
                break
            padding = fill
        elif padding is not None and not _movement(step).follows_pad:
            break  # it would stretch or scatter a copy
        try:
            view = _movement(step).apply(view, _sizes(step.results[0], ctx), **params)
        except (ViewError, SizeLimitError):
            break
        end += 1
    return _Segment(chain[start:end], view, len(whole))


def _sizes(meta: TensorMeta, ctx: ShapeGuardContext) -> tuple[Size, ...]:
    return tuple([ctx.scope.normal(size) for size in ctx.shape(meta, field="view")])


@dataclass(frozen=True, slots=True)
class _Segment:
    """Steps that are one view of the operand of the first step."""

    steps: list[Step]
    view: View
    operand_rank: int

    @property
    def fills(self) -> list[Any]:
        """Numbers that the pads put around the elements."""
        return [dict(s.params)["value"] for s in self.steps if s.op is mv.pad_op]

    def step(self) -> Step | None:
        """Return the view as a step; None where it is not cheaper."""
        if _weight(self.steps) < MIN_WEIGHT or self.operand_rank == 0:
            return None  # a number takes NumPy one call, and may be no array
        first, last = self.steps[0], self.steps[-1]
        stretches = any(s.op is mv.broadcast_in_dim_op for s in self.steps)
        padded = self.fills and self.view.mask is not None
        op, params = self._padded(self.fills[0]) if padded else self._plain(stretches)
        if sum(_count_terms(p) for p in params.values()) > MAX_TERMS:
            return None
        return replace(
            last,
            op=op,
            inputs=first.inputs,
            metas=first.metas,
            params=params_tuple(params),
            fallback=tuple(self.steps),
        )

    def _bytes(self, sizes: Sequence[Size]) -> tuple[Size, ...]:
        width = self.steps[0].metas[0].dtype.itemsize
        return tuple([expr.mul(width, size) for size in sizes])

    def _plain(self, stretches: bool) -> tuple[Any, dict[str, Any]]:
        strides, (offset,) = self._bytes(self.view.strides), self._bytes([self.view.offset])
        op = stretched_view_op if stretches else view_op
        return op, {"shape": self.view.shape, "strides": strides, "offset": offset}

    def _padded(self, value: Any) -> tuple[Any, dict[str, Any]]:
        view = self.view
        starts, stops = (tuple([w[i] for w in view.windows]) for i in (0, 1))
        (offset,) = self._bytes([view.linear_index(starts)])
        params = {"shape": view.shape, "strides": self._bytes(view.strides), "offset": offset, "value": value}
        return padded_view_op, {**params, "starts": starts, "stops": stops}


def _count_terms(param: Any, depth: int = 4) -> int:
    """Count the terms of sizes, inside of calls too; deeply nested calls count as too many."""
    if isinstance(param, tuple):
        return sum(_count_terms(p, depth) for p in param)
    if not isinstance(param, DimExpr):
        return 0
    calls = {atom for monomial, _ in param.terms for atom, _ in monomial if isinstance(atom, Call)}
    if calls and not depth:
        return MAX_TERMS + 1
    return len(param.terms) + sum(_count_terms(call.args, depth - 1) for call in calls)
