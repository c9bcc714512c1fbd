"""Batching of functions with derivative rules of the user: a rule sees one example, and is batched when applied."""

from anyshape.autodiff.rule_tables import BATCHERS, stretch_all
from anyshape.ops import custom_rules as cr


def _batch_call(op):
    def batch(ctx, size, batched, *xs, rule, count, levels):
        results = stretch_all(ctx, size, batched[count:], xs[count:])
        outputs = cr.custom_call(op, rule, xs[:count], results, (tuple(batched[:count]), *levels))
        return outputs if len(outputs) > 1 else outputs[0]

    return batch


def _batch_tangent(ctx, size, batched, *xs, rule, count, depth, results):
    xs = stretch_all(ctx, size, batched, xs)
    stacked = [(dtype, (size, *sizes)) for dtype, sizes in results]
    outputs = cr.custom_vjp_tangent(rule, xs[:count], xs[count:], stacked, depth + 1)
    return outputs if len(outputs) > 1 else outputs[0]


BATCHERS[cr.custom_argument_op] = lambda ctx, size, batched, x: cr.custom_argument(x)
for _op in (cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op):
    BATCHERS[_op] = _batch_call(_op)
BATCHERS[cr.custom_vjp_tangent_op] = _batch_tangent
