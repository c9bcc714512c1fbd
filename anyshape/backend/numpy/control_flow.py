"""Kernels of conditionals. Generated code writes branches inline; these run where there is no plan."""

import functools

from anyshape.backend.compiler.codegen.execute import compile_plan
from anyshape.backend.compiler.lower import lower
from anyshape.errors import ShapeError
from anyshape.ops import control_flow as cf
from anyshape.ops.core.apply import kernel

_compiled = functools.lru_cache(maxsize=64)(lambda graph: compile_plan(lower(graph)))


def _cond(index, *operands, branches):
    results = _compiled(branches[cf.chosen_branch(index, len(branches))])(*operands)
    return results if len(results) > 1 else results[0]


def _sized(x, *, shape):
    if x.shape != shape:
        why = f"an array of the shape {x.shape} stands where one of the shape {shape} is needed"
        raise ShapeError("cond", why, (), None, "let the branches of one batch give results of equal sizes")
    return x


kernel(cf.cond_op, _cond)
kernel(cf.sized_op, _sized)
