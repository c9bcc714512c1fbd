"""Kernels of conditionals: the host reads the index, and runs the branch."""

import numpy as np

from anyshape.backend.numpy.control_flow import one_or_all, run_branch
from anyshape.backend.xp.gathering import put
from anyshape.backend.xp.libraries import INT, kernel
from anyshape.backend.xp.write import compiled
from anyshape.errors import RaggedBatchError
from anyshape.ops import control_flow as cf
from anyshape.ops.core.apply import KERNELS

_READS = "the branch that values choose"


def _runner(xp):
    return lambda graph, arrays: compiled(graph, xp)(*arrays)


def _cond(xp, index, *operands, branches):
    return one_or_all(run_branch(_runner(xp), xp.host(index), operands, branches))


def _mask(xp, index, branch, count):
    """Return which rows choose a branch."""
    if xp.kind(index) == "b":
        return index if branch else ~index
    if count == 1:
        return index == index
    return index <= 0 if not branch else index >= count - 1 if branch == count - 1 else index == branch


def _cond_each(xp, index, *operands, branches, batched, carries, totals):
    """Run each branch on the rows that choose it, and put its results at their positions."""
    whole, flags = (index, *operands), (True, *carries, *[False] * (len(operands) - len(carries)))
    results: list = [None] * len(totals)
    count = index.shape[0]
    for i, graph in enumerate(batched):
        (positions,) = [xp.convert(p, INT) for p in xp.nonzero(_mask(xp, index, i, len(batched)))]
        if count and not positions.shape[0]:
            continue
        arrays = [xp.take(x, positions, axis=0) if flag else x for x, flag in zip(whole, flags, strict=True)]
        for j, (y, is_total) in enumerate(zip(compiled(graph, xp)(*arrays), totals, strict=True)):
            before = results[j]
            if is_total:
                results[j] = y if before is None else before + y
                continue
            if before is None:
                before = xp.zeros((count, *y.shape[1:]), dtype=y.dtype, device=xp.device)
            if before.shape[1:] != y.shape[1:]:
                sizes: dict[tuple[int, ...], tuple[int, ...]] = {
                    (0,): tuple(before.shape[1:]),
                    (int(positions[0]),): tuple(y.shape[1:]),
                }
                raise RaggedBatchError("cond", sizes, advice="let all branches give results of equal sizes")
            results[j] = put(xp, "set", before, positions, y)
    return one_or_all(results)


def _sized(xp, x, *, shape):
    if tuple(x.shape) != tuple(shape):
        KERNELS[cf.sized_op].run(np.broadcast_to(np.False_, tuple(x.shape)), shape=shape)
    return x


kernel(cf.cond_op, _cond, reads=_READS)
kernel(cf.cond_each_op, _cond_each, reads=_READS)
kernel(cf.sized_op, _sized)
