"""Hoist shape-only steps: masks by position, weights by position, the number that a mean divides by.

A function of the plan runs them, and the shape-constant cache holds their results for calls of the same sizes. A choice
between an array and a number by a hoisted mask reads the mask as bits, which are hoisted too. It then takes one or two
operations on bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.backend.compiler import names
from anyshape.backend.compiler.op_traits import is_observable
from anyshape.backend.compiler.passes.metadata_contract import pass_context
from anyshape.backend.compiler.plan import Literal, Slot, Step
from anyshape.backend.compiler.plan_ops import bits_op, masked_else_op, masked_op, rest_op
from anyshape.graph.ir.graph import Op, params_tuple
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr
from anyshape.graph.sizes.symbols import DimVar
from anyshape.ops.elementwise import select_op

BITS: dict[str, np.dtype[Any]] = {"f": np.dtype(np.int32), "d": np.dtype(np.int64)}


def hoist_shape_only(
    steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope, variables: Collection[DimVar]
) -> tuple[list[Step], list[Step]]:
    """Return the steps that depend on sizes over `variables` alone, and the others.

    Steps that make outputs are not hoisted, as cached arrays would have to be copied.
    """
    return _Hoisting(outputs, pass_context(scope, "hoist_shape_only"), variables).run(steps)


class _Hoisting:
    def __init__(self, outputs: Sequence[Slot], ctx: ShapeGuardContext, variables: Collection[DimVar]) -> None:
        self.outputs, self.ctx, self.variables = set(outputs), ctx, variables
        self.hoisted: list[Step] = []
        self.metas: dict[str, TensorMeta] = {}  # of the results of hoisted steps
        self.masks: dict[tuple[Any, ...], str] = {}  # slots of masks as bits, by what defines them

    def run(self, steps: Sequence[Step]) -> tuple[list[Step], list[Step]]:
        others: list[Step] = []
        for step in steps:
            if self._is_shape_only(step):
                self._hoist(step)
            else:
                others.append(self._on_bits(step) if step.op is select_op else step)
        return self.hoisted, others

    def _hoist(self, step: Step) -> None:
        self.hoisted.append(step)
        self.metas |= dict(zip(step.outputs, step.results, strict=True))

    def _is_shape_only(self, step: Step) -> bool:
        """Return whether a step reads only literals, hoisted results and bound sizes, and its results have named sizes.

        Steps that the user can observe are not hoisted.
        """
        if not all(isinstance(slot, Literal) or slot in self.metas for slot in step.inputs):
            return False
        if step.op.makes_sizes or step.sources or not self.outputs.isdisjoint(step.outputs) or is_observable(step):
            return False
        sizes = [self.ctx.sizes(m, field="results") for m in step.results]
        return None not in sizes and self._is_bound((*sizes, *step.all_params()))

    def _is_bound(self, param: object) -> bool:
        if isinstance(param, tuple):
            return all(map(self._is_bound, param))
        return not isinstance(param, DimExpr) or all(v in self.variables for v in expr.variables(param))

    def _on_bits(self, step: Step) -> Step:
        """Return a choice between an array and a number by a hoisted mask, with the mask as bits."""
        mask, *sides = step.inputs
        bits = BITS.get(step.results[0].dtype.char)
        numbers = [i for i, side in enumerate(sides) if isinstance(side, Literal)]
        if bits is None or mask not in self.metas or len(numbers) != 1 or not self.ctx.rank(step.metas[0]):
            return step
        array, number = sides[1 - numbers[0]], sides[numbers[0]]
        chosen = self._mask(step, bits_op, (mask,), bits, chosen=numbers == [1])
        masks, op = [chosen], masked_op
        if isinstance(number, Literal) and number.array().view(bits).any():
            masks, op = [chosen, self._mask(step, rest_op, (chosen, number), bits)], masked_else_op
        metas = (step.metas[2 - numbers[0]], *[self.metas[m] for m in masks])
        return replace(step, op=op, inputs=(array, *masks), params=(), metas=metas)

    def _mask(self, step: Step, op: Op, inputs: tuple[Slot, ...], dtype: np.dtype, **params: bool) -> str:
        """Return the slot of a further hoisted step; equal ones are shared."""
        key = op, inputs, dtype, *params.values()
        if key not in self.masks:
            self.masks[key] = slot = names.mask_slot(len(self.masks))
            metas = tuple([self.metas[i] if isinstance(i, str) else TensorMeta(i.dtype, ()) for i in inputs])
            meta = replace(metas[0], dtype=dtype)
            step_params = params_tuple({"dtype": dtype, **params} if op is bits_op else {})
            self._hoist(Step(op, inputs, step_params, (slot,), metas, (meta,), where=step.where))
        return self.masks[key]
