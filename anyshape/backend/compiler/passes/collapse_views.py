"""Movement in a row becomes one view: transposes, reshapes, stretches, slices and reversals are arithmetic on strides.

Works on the steps of a plan, once elementwise steps have left out the stretches that NumPy makes itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anyshape.backend.compiler.op_traits import Movement, find_traits
from anyshape.backend.compiler.plan import Literal, Step
from anyshape.backend.compiler.plan_ops import padded_view_op, stretched_view_op, view_op
from anyshape.errors import SizeLimitError, ViewError
from anyshape.graph.ir.canonical import freeze
from anyshape.graph.ir.graph import bind_local, params_tuple
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.shapes.strided_view import View
from anyshape.graph.shapes.view_reshape import row_major
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimExpr, InputAxis, Size
from anyshape.ops import movement as mv

# Measured, at 200 and at 200,000 elements alike: a view costs what two transposes or reshapes do, half of a slice with
# symbolic bounds, and a fifth of np.broadcast_to. It also costs a little where it is in vain, as the operand is not in
# C order. So it pays from three steps on, where a slice weighs two and a stretch three.
LEAST = 3
MOST_TERMS = 40  # in the sizes of a view: more arithmetic costs more than the steps


def collapse(steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope) -> list[Step]:
    """The steps with movement that nothing else reads made one step where that is cheaper."""
    ctx = ShapeGuardContext(scope, "views", rule="pass")
    uses = Counter([i for step in steps for i in step.inputs] + list(outputs))
    chains: dict[str | Literal, list[Step]] = {}  # by the slot in which they end
    for step in steps:
        if _moves(step, ctx):
            (source,) = step.inputs
            before = chains.pop(source, []) if uses[source] == 1 else []
            chains[step.outputs[0]] = [*before, step]
    inside = {s.outputs[0] for chain in chains.values() for s in chain[:-1]}
    found: list[Step] = []
    for step in steps:
        if step.outputs[0] in chains:
            found.extend(_pieces(chains[step.outputs[0]], ctx))
        elif step.outputs[0] not in inside:
            found.append(step)
    return found


def _moves(step: Step, ctx: ShapeGuardContext) -> bool:
    """The step moves elements from one place known by name to another."""
    movement = find_traits(step.op).movement
    if movement is None or not isinstance(step.inputs[0], str):
        return False
    params = dict(step.params)
    unnamed: list[InputAxis] = []  # sizes that only the arrays themselves will tell
    bind_local(tuple(params.values()), unnamed.append)
    if not movement.admits(params):
        return False
    return not unnamed and all(ctx.sizes(m, field="view") is not None for m in (step.metas[0], step.results[0]))


def _movement(step: Step) -> Movement:
    movement = find_traits(step.op).movement
    assert movement is not None, f"{step.op} is no movement"
    return movement


def _pieces(chain: list[Step], ctx: ShapeGuardContext) -> Iterator[Step]:
    """The chain in as few steps as can be, in order."""
    while _worth(chain) >= LEAST:
        piece = _longest(chain, ctx)
        whole, length = piece.step(), max(len(piece.steps), 1)
        yield from chain[:length] if whole is None else [whole]
        chain = chain[length:]
        if chain and chain[0].op is mv.reshape_op and not piece.pads:
            yield chain[0]  # it could not be part of the view, so it copies, and what follows is in C order
            chain = chain[1:]
    yield from chain


def _worth(steps: Sequence[Step]) -> int:
    return sum(_movement(step).weight for step in steps)


def _longest(chain: list[Step], ctx: ShapeGuardContext) -> _Piece:
    """The longest beginning of the chain that is one view. Sizes are compared by form: to prove more takes too long."""
    whole = _sizes(chain[0].metas[0], ctx)
    found, padding = _Piece([], View(whole, row_major(whole)), len(whole)), None
    for position, step in enumerate(chain):
        params = dict(step.params)
        if step.op is mv.pad_op:
            fill = freeze(params["value"])
            if padding not in (None, fill):
                break
            padding = fill
        elif padding is not None and not _movement(step).follows_pad:
            break  # it would stretch or scatter what is copied
        try:
            view = _movement(step).apply(found.view, _sizes(step.results[0], ctx), **params)
        except (ViewError, SizeLimitError):
            break
        found = _Piece(chain[: position + 1], view, len(whole))
    return found


def _sizes(meta: TensorMeta, ctx: ShapeGuardContext) -> tuple[Size, ...]:
    return tuple([ctx.scope.normal(size) for size in ctx.shape(meta, field="view")])


# -- the step


@dataclass(frozen=True, slots=True)
class _Piece:
    """Steps that are one view of the operand of the first."""

    steps: list[Step]
    view: View
    first_rank: int

    @property
    def pads(self) -> list[Any]:
        """What is put around the elements, by each pad."""
        return [dict(s.params)["value"] for s in self.steps if s.op is mv.pad_op]

    def step(self) -> Step | None:
        """The one step, if it is cheaper."""
        if _worth(self.steps) < LEAST or self.first_rank == 0:
            return None  # a number takes NumPy one call, and may be no array
        first, last = self.steps[0], self.steps[-1]
        stretches = any(s.op is mv.broadcast_in_dim_op for s in self.steps)
        around = self.pads and self.view.mask is not None
        op, params = self._padded(self.pads[0]) if around else self._plain(stretches)
        if sum(_terms(p) for p in params.values()) > MOST_TERMS:
            return None
        return replace(last, op=op, inputs=first.inputs, metas=first.metas, params=params_tuple(params),
                       fallback=tuple(self.steps))  # fmt: skip

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


def _terms(param: Any, depth: int = 4) -> int:
    """The terms of the sizes, with those inside of calls; too many to pay when calls are nested deeply."""
    if isinstance(param, tuple):
        return sum(_terms(p, depth) for p in param)
    if not isinstance(param, DimExpr):
        return 0
    calls = {atom for monomial, _ in param.terms for atom, _ in monomial if isinstance(atom, Call)}
    if calls and not depth:
        return MOST_TERMS + 1
    return len(param.terms) + sum(_terms(call.args, depth - 1) for call in calls)
