"""Movement in a row becomes one view: transposes, reshapes, stretches, slices and reversals are arithmetic on strides.

Works on the steps of a plan, once elementwise steps have left out the stretches that NumPy makes itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anyshape.backend.plan import Literal, Step
from anyshape.backend.plan_ops import padded_view_op, stretched_view_op, view_op
from anyshape.graph import dims
from anyshape.graph.dims import DimExpr, InputAxis, Size
from anyshape.graph.ir import bind_local, freeze, params_tuple
from anyshape.graph.scope import Scope
from anyshape.graph.view import View
from anyshape.graph.view_chain import ViewChain
from anyshape.ops import movement as mv

# Measured, at 200 and at 200,000 elements alike: a view costs what two transposes or reshapes do, half of a slice with
# symbolic bounds, and a fifth of np.broadcast_to. It also costs a little where it is in vain, as the operand is not in
# C order. So it pays from three steps on, where a slice counts as two and a stretch as three.
WORTH = {mv.slice_op: 2, mv.broadcast_in_dim_op: 3}
LEAST = 3
MOST_TERMS = 40  # in the sizes of a view: more arithmetic costs more than the steps


def collapse(steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope) -> list[Step]:
    """The steps with movement that nothing else reads made one step where that is cheaper."""
    uses = Counter([i for step in steps for i in step.inputs] + list(outputs))
    chains: dict[str | Literal, list[Step]] = {}  # by the slot in which they end
    for step in steps:
        if _moves(step):
            (source,) = step.inputs
            before = chains.pop(source, []) if uses[source] == 1 else []
            chains[step.outputs[0]] = [*before, step]
    inside = {s.outputs[0] for chain in chains.values() for s in chain[:-1]}
    found: list[Step] = []
    for step in steps:
        if step.outputs[0] in chains:
            found.extend(_pieces(chains[step.outputs[0]], scope))
        elif step.outputs[0] not in inside:
            found.append(step)
    return found


def _moves(step: Step) -> bool:
    """The step moves elements from one place known by name to another."""
    if step.op not in _MOVES or not isinstance(step.inputs[0], str):
        return False
    params = dict(step.params)
    unnamed: list[InputAxis] = []  # sizes that only the arrays themselves will tell
    bind_local(tuple(params.values()), unnamed.append)
    if step.op is mv.pad_op and any(not isinstance(k, int) or k for k in params["interior"]):
        return False
    if step.op is mv.broadcast_in_dim_op and list(params["axes"]) != sorted(params["axes"]):
        return False
    return not unnamed and step.metas[0].sizes is not None and step.results[0].sizes is not None


def _pieces(chain: list[Step], scope: Scope) -> Iterator[Step]:
    """The chain in as few steps as can be, in order."""
    while _worth(chain) >= LEAST:
        piece = _longest(chain, scope)
        whole = piece.step() if piece is not None else None
        if piece is None or whole is None:
            length = 1 if piece is None else piece.length
            yield from chain[:length]
        else:
            length = piece.length
            yield whole
        chain = chain[length:]
        if chain and piece is not None and chain[0].op is mv.reshape_op and not piece.pads:
            yield chain[0]  # it could not be part of the view, so it copies, and what follows is in C order
            chain = chain[1:]
    yield from chain


def _worth(steps: Sequence[Step]) -> int:
    return sum(WORTH.get(step.op, 1) for step in steps)


def _longest(chain: list[Step], scope: Scope) -> _Piece | None:
    """The longest beginning of the chain that is one view."""
    sizes = chain[0].metas[0].sizes
    found, chains, padding = None, ViewChain.create(sizes or ()), None
    for position, step in enumerate(chain):
        if step.op is mv.pad_op:
            fill = freeze(dict(step.params)["value"])
            if padding not in (None, fill):
                break
            padding = fill
        elif padding is not None and step.op not in (mv.slice_op, mv.rev_op):
            break  # it would stretch or scatter what is copied
        chains = _MOVES[step.op](chains, step, scope)
        if len(chains.views) > 1:
            chains = chains.simplify(scope)
        if len(chains.views) == 1:
            found = _Piece(chain[: position + 1], chains.last)
    return found


# -- what each op does to a view


def _transpose(chain: ViewChain, step: Step, scope: Scope) -> ViewChain:
    return chain.permute(dict(step.params)["axes"])


def _reshape(chain: ViewChain, step: Step, scope: Scope) -> ViewChain:
    return chain.reshaped(step.results[0].sizes or (), scope)


def _stretch(chain: ViewChain, step: Step, scope: Scope) -> ViewChain:
    shape, axes = step.results[0].sizes or (), dict(step.params)["axes"]
    place = dict(zip(axes, chain.shape, strict=True))
    wide = chain.reshaped(tuple([place.get(axis, 1) for axis in range(len(shape))]), scope)
    return wide.ending(wide.last.expanded(shape, scope))


def _slice(chain: ViewChain, step: Step, scope: Scope) -> ViewChain:
    return chain.ending(chain.last.sliced(**dict(step.params)))


def _rev(chain: ViewChain, step: Step, scope: Scope) -> ViewChain:
    return chain.flip(dict(step.params)["axes"])


def _pad(chain: ViewChain, step: Step, scope: Scope) -> ViewChain:
    params = dict(step.params)
    return chain.ending(chain.last.padded(list(zip(params["low"], params["high"], strict=True))))


_MOVES = {
    mv.transpose_op: _transpose,
    mv.reshape_op: _reshape,
    mv.broadcast_in_dim_op: _stretch,
    mv.slice_op: _slice,
    mv.rev_op: _rev,
    mv.pad_op: _pad,
}


# -- the step


@dataclass(frozen=True, slots=True)
class _Piece:
    """Steps that are one view of the operand of the first."""

    steps: list[Step]
    view: View

    @property
    def length(self) -> int:
        return len(self.steps)

    @property
    def pads(self) -> list[Any]:
        """What is put around the elements, by each pad."""
        return [dict(s.params)["value"] for s in self.steps if s.op is mv.pad_op]

    def step(self) -> Step | None:
        """The one step, if it is cheaper."""
        first, last = self.steps[0], self.steps[-1]
        stretches = any(s.op is mv.broadcast_in_dim_op for s in self.steps)
        if first.metas[0].rank == 0 or _worth(self.steps) < LEAST:
            return None  # a number takes NumPy one call, and may be no array
        around = self.pads and self.view.mask is not None
        op, params = self._padded(self.pads[0]) if around else self._plain(stretches)
        if sum(_terms(p) for p in params.values()) > MOST_TERMS:
            return None
        return replace(last, op=op, inputs=first.inputs, metas=first.metas, params=params_tuple(params),
                       instead=tuple(self.steps))  # fmt: skip

    def _bytes(self, sizes: Sequence[Size]) -> tuple[Size, ...]:
        width = self.steps[0].metas[0].dtype.itemsize
        return tuple([dims.mul(width, size) for size in sizes])

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


def _terms(param: Any) -> int:
    if isinstance(param, tuple):
        return sum(_terms(p) for p in param)
    return len(param.terms) if isinstance(param, DimExpr) else 0
