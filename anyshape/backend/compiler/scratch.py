"""Bytes of arrays, and upper bounds of the bytes that kernels allocate besides their results.

Rows of `backend/compiler/traits/` name the bound of each op.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from anyshape.backend.compiler.plan import Step
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_rules import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size

Scratch: TypeAlias = Callable[[Step], Size | None]


def bytes_of(meta: TensorMeta, itemsize: int | None = None) -> Size | None:
    """The bytes of an array; None where an extent is not exact."""
    if meta.sizes is None:
        return None
    return expr.mul(numel(meta.sizes), meta.dtype.itemsize if itemsize is None else itemsize)


def _operand_bytes(step: Step, times: int = 1) -> Size | None:
    found = [bytes_of(m) for m in step.metas]
    known = [b for b in found if b is not None]
    return expr.mul(times, expr.total(known)) if len(known) == len(found) else None


def blas_copies(step: Step) -> Size | None:
    """Operands that are copied for BLAS, and parts of the result that threads bring."""
    copies, result = _operand_bytes(step), bytes_of(step.results[0])
    return None if copies is None or result is None else expr.add(copies, result)


def like_first_operand(times: int) -> Scratch:
    """So many arrays like the first operand."""

    def scratch(step: Step) -> Size | None:
        found = bytes_of(step.metas[0])
        return None if found is None else expr.mul(times, found)

    return scratch


def positions(times: int) -> Scratch:
    """So many arrays of positions for each element of the operands, beside copies of these."""

    def scratch(step: Step) -> Size | None:
        found = [bytes_of(m, 8) for m in step.metas]
        known = [b for b in found if b is not None]
        copies = _operand_bytes(step)
        return None if copies is None else expr.add(copies, expr.mul(times, expr.total(known)))

    return scratch


def windows(times: int) -> Scratch:
    """So many arrays of positions for each element of the operands and of the result, beside copies of these."""
    operand_positions = positions(times)

    def scratch(step: Step) -> Size | None:
        copies, result, placed = operand_positions(step), bytes_of(step.results[0]), bytes_of(step.results[0], 8)
        if copies is None or result is None or placed is None:
            return None
        return expr.add(copies, expr.add(result, expr.mul(times, placed)))

    return scratch


def bit_masks(step: Step) -> Size | None:
    """Masks of bits, and what they leave."""
    result = bytes_of(step.results[0])
    return None if result is None else expr.mul(2, result)
