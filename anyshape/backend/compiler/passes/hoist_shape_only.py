"""Steps whose results depend on the sizes of a call alone: masks of places, weights by place, a mean's number.

A function of the plan makes them, and what it gives is kept: calls of the same sizes read it. A choice between an array
and a number by such a mask takes the mask as bits, which are kept too: then it is one or two operations on bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import find_traits
from anyshape.backend.compiler.plan import Literal, Step
from anyshape.backend.compiler.plan_ops import bits_op, masked_else_op, masked_op, rest_op
from anyshape.graph.ir.graph import Op, params_tuple
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar
from anyshape.ops.elementwise import select_op

BITS: dict[str, np.dtype[Any]] = {"f": np.dtype(np.int32), "d": np.dtype(np.int64)}


def by_size(
    steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope, given: Collection[DimVar]
) -> tuple[list[Step], list[Step]]:
    """The steps that depend on the sizes that are `given` alone, and the others.

    What is returned is not among the first, as it would have to be copied.
    """
    return _BySize(outputs, ShapeGuardContext(scope, "by_size", rule="pass"), given).run(steps)


class _BySize:
    def __init__(self, outputs: Sequence[str | Literal], ctx: ShapeGuardContext, given: Collection[DimVar]) -> None:
        self.outputs, self.ctx, self.given = set(outputs), ctx, given
        self.known: dict[str, TensorMeta] = {}
        self.first: list[Step] = []
        self.made: dict[tuple[Any, ...], str] = {}  # masks as bits, by what they are made of

    def run(self, steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
        others: list[Step] = []
        for step in steps:
            if self._alone(step):
                self._keep(step)
            else:
                others.append(self._by_bits(step) if step.op is select_op else step)
        return self.first, others

    def _keep(self, step: Step) -> None:
        self.first.append(step)
        self.known |= dict(zip(step.outputs, step.results, strict=True))

    def _alone(self, step: Step) -> bool:
        """It reads numbers and what is known, and sizes that are given; its results have names for all sizes."""
        data = step.op.mints or find_traits(step.op).runs_user_code or step.sources
        if data or step.op.raises or not self.outputs.isdisjoint(step.outputs):
            return False
        read = all(isinstance(slot, Literal) or slot in self.known for slot in step.inputs)
        sizes = [self.ctx.sizes(m, field="results") for m in step.results]
        params = [p for s in (step, *step.fallback) for _, p in s.params]
        return read and None not in sizes and self._given((*sizes, *params))

    def _given(self, param: object) -> bool:
        if isinstance(param, tuple):
            return all(map(self._given, param))
        return not isinstance(param, DimExpr) or all(v in self.given for v in expr.variables(param))

    def _by_bits(self, step: Step) -> Step:
        """A choice between an array and a number by a mask that is known, with the mask as bits."""
        mask, *sides = step.inputs
        bits = BITS.get(step.results[0].dtype.char)
        numbers = [i for i, side in enumerate(sides) if isinstance(side, Literal)]
        if bits is None or mask not in self.known or len(numbers) != 1 or not self.ctx.rank(step.metas[0]):
            return step
        array, number = sides[1 - numbers[0]], sides[numbers[0]]
        chosen = self._made(step, bits_op, (mask,), bits, chosen=numbers == [1])
        masks, op = [chosen], masked_op
        if isinstance(number, Literal) and number.array().view(bits).any():
            masks, op = [chosen, self._made(step, rest_op, (chosen, number), bits)], masked_else_op
        metas = (step.metas[2 - numbers[0]], *[self.known[m] for m in masks])
        return replace(step, op=op, inputs=(array, *masks), params=(), metas=metas)

    def _made(self, step: Step, op: Op, inputs: tuple[str | Literal, ...], dtype: np.dtype, **params: bool) -> str:
        """The slot of a further step of those that are kept; equal ones are one."""
        key = op, inputs, dtype, *params.values()
        if key not in self.made:
            self.made[key] = slot = f"m{len(self.made)}"
            metas = tuple([self.known[i] if isinstance(i, str) else TensorMeta(i.dtype, ()) for i in inputs])
            meta = replace(metas[0], dtype=dtype)
            given = params_tuple({"dtype": dtype, **params} if op is bits_op else {})
            self._keep(Step(op, inputs, given, (slot,), metas, (meta,), where=step.where))
        return self.made[key]
