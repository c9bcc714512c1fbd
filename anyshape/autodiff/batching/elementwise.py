"""Batching of elementwise ops: operands without the batch are stretched along it, and the op is applied as it is."""

from anyshape.autodiff.rule_tables import BATCHERS
from anyshape.graph.ir.graph import Op
from anyshape.ops import elementwise
from anyshape.ops.apply import apply_all
from anyshape.ops.movement import broadcast_in_dim


def each_element(op):
    """op acts on each element, so one more axis changes nothing."""

    def rule(ctx, size, batched, *inputs, **params):
        stretched = [
            x if carries else broadcast_in_dim(x, (size, *ctx.shape(x)), range(1, 1 + ctx.rank(x)))
            for x, carries in zip(inputs, batched, strict=True)
        ]
        outputs = apply_all(op, *stretched, **params)
        return outputs if len(outputs) > 1 else outputs[0]

    BATCHERS[op] = rule


for _op in vars(elementwise).values():
    if isinstance(_op, Op):
        each_element(_op)
