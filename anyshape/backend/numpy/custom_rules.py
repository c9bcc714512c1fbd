"""Kernels of the marks around functions with derivative rules of the user. Plans have none: see `prepare_to_run`."""

import numpy as np

from anyshape.ops import custom_rules as cr
from anyshape.ops.core.apply import kernel


def _results(*arrays, rule, count, levels):
    results = tuple([np.array(x) for x in arrays[count:]])
    return results if len(results) > 1 else results[0]


def _tangent(*arrays, rule, count, depth, results):
    raise rule.refusal(None)


kernel(cr.custom_argument_op, lambda x: x)
for _op in (cr.custom_jvp_op, cr.custom_vjp_op, cr.custom_linear_solve_op):
    kernel(_op, _results)
kernel(cr.custom_vjp_tangent_op, _tangent)
