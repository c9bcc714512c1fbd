"""Batching of elementwise ops: operands without the batch are stretched along it, and the op is applied unchanged."""

from typing import Any

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.graph.ir.graph import Op
from anyshape.ops import elementwise
from anyshape.ops.core.apply import apply_all


def each_element(op: Any) -> Any:
    """Declare an op that acts on each element, so that one more axis changes nothing."""

    def rule(ctx, size, batched, *inputs, **params):
        outputs = apply_all(op, *stretch_all(ctx, size, batched, inputs), **params)
        return outputs if len(outputs) > 1 else outputs[0]

    BATCHERS[op] = rule


for _op in vars(elementwise).values():
    if isinstance(_op, Op):
        each_element(_op)
