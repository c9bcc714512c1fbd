"""Time of a kernel against NumPy's kernels, which decides up to which size it serves calls.

NumPy's loop of one function may be faster than what a compiler makes. Both tiers run in turns on one thread. Their
least CPU times count, so that other work of the machine does not decide.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.tiles import GroupSource
from anyshape.backend.compiler.op_traits import nanoseconds
from anyshape.backend.compiler.plan import Group, Literal
from anyshape.backend.native import launch
from anyshape.backend.native.self_test import (
    are_possible,
    arguments_of,
    operand_arrays,
    resolved,
    shape_of,
    symbols_of,
)
from anyshape.graph.sizes.expr import DimVar
from anyshape.ops.core.apply import KERNELS

FEW, MANY = 1 << 10, 1 << 14  # elements of the widest value
SLOWER = 1.1  # kernels that take this multiple of NumPy's time are left out
_ROUNDS, _ROUND_ELEMENTS = 7, 1 << 14


def most_elements(group: Group, writer: GroupSource, launcher: Callable[..., Any]) -> float:
    """Return up to how many elements of its widest value a kernel pays; infinity if it always does, 0 if never."""
    one_part = int(2 * launch.PART_NANOSECONDS / sum([nanoseconds(s.op, s.results[0].dtype) for s in group.steps])) - 1
    many = min(MANY, one_part)
    if many < FEW or not _is_slower(group, writer, launcher, many):
        return math.inf
    return 0 if _is_slower(group, writer, launcher, FEW) else math.isqrt(FEW * many)


def _is_slower(group: Group, writer: GroupSource, launcher: Callable[..., Any], elements: int) -> bool:
    """Return whether a kernel is slower than NumPy at so many elements. It is not if there is nothing to measure."""
    sizes = _sizes(group, writer, elements)
    if sizes is None:
        return False
    arrays = operand_arrays(group, sizes, "positive")
    arguments = arguments_of(writer, arrays, sizes)
    by_numpy = _by_numpy(group, arrays, sizes)
    with np.errstate(all="ignore"):
        try:
            by_numpy()
        except (ValueError, IndexError, OverflowError):
            return False
        if launcher(*arguments) is None:
            return False
        times = [
            (_seconds(lambda: launcher(*arguments), elements), _seconds(by_numpy, elements)) for _ in range(_ROUNDS)
        ]
    kernel, numpy = map(min, zip(*times, strict=True))
    return kernel > SLOWER * numpy


def _seconds(call: Callable[[], Any], elements: int) -> float:
    """Return the CPU time of calls in this thread."""
    start = time.thread_time()
    for _ in range(_ROUND_ELEMENTS // elements):
        call()
    return time.thread_time() - start


def _sizes(group: Group, writer: GroupSource, elements: int) -> Mapping[DimVar, int] | None:
    """Return equal values of all variables at which the widest value has at most so many elements; None if none do."""
    symbols = symbols_of(group, writer)
    size = elements
    while size > 1:
        sizes = dict.fromkeys(symbols, size)
        if are_possible(group, writer, sizes):
            widest = max([math.prod(shape_of(meta, sizes)) for meta in group.parallel_metas])
            if elements // 4 <= widest <= elements:
                return sizes
        size = size * 3 // 4
    return None


def _by_numpy(group: Group, arrays: Mapping[str, Any], sizes: Mapping[DimVar, int]) -> Callable[[], None]:
    """Return a function that runs the steps, one by one."""
    steps = []
    for step in group.steps:
        operands = [(None, s.array()) if isinstance(s, Literal) else (s, None) for s in step.inputs]
        params = {name: resolved(param, sizes) for name, param in step.params}
        steps.append((KERNELS[step.op].run, operands, params, step.outputs[0]))

    def run() -> None:
        values = dict(arrays)
        for kernel, operands, params, target in steps:
            values[target] = kernel(*[number if slot is None else values[slot] for slot, number in operands], **params)

    return run
