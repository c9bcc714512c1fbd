"""Bytes of arrays, and upper bounds of the bytes that kernels allocate besides their results.

Rows of `backend/compiler/traits/` name the bound of each op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from anyshape.backend.compiler.plan import Step
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_rules import numel
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size

Scratch: TypeAlias = Callable[[Step], Size | None]


def bytes_of(meta: TensorMeta, itemsize: int | None = None) -> Size | None:
    """Return the bytes of an array; None where an extent is not exact."""
    if meta.sizes is None:
        return None
    return expr.mul(numel(meta.sizes), meta.dtype.itemsize if itemsize is None else itemsize)


def total_bytes(sizes: Iterable[Size | None]) -> Size | None:
    """Return the sum; None if a size is not known."""
    known = list(sizes)
    exact = [size for size in known if size is not None]
    return expr.total(exact) if len(exact) == len(known) else None


def blas_copies(step: Step) -> Size | None:
    """Copies of operands for BLAS, and partial results of threads."""
    return total_bytes([*map(bytes_of, step.metas), bytes_of(step.results[0])])


def like_first_operand(times: int) -> Scratch:
    """Return the bound of a kernel that makes so many arrays like its first operand."""

    def scratch(step: Step) -> Size | None:
        size = bytes_of(step.metas[0])
        return None if size is None else expr.mul(times, size)

    return scratch


def operands_and_results(times: int) -> Scratch:
    """Return the bound of a kernel that makes so many copies of its operands and of its results."""

    def scratch(step: Step) -> Size | None:
        size = total_bytes(map(bytes_of, (*step.metas, *step.results)))
        return None if size is None else expr.mul(times, size)

    return scratch


def by_blocks(block: int) -> Scratch:
    """Return the bound of a kernel that computes blocks of so many bytes from copies of its operands as float64."""

    def scratch(step: Step) -> Size | None:
        copies = total_bytes(bytes_of(m, 8) for m in (*step.metas, *step.results))
        return None if copies is None else expr.add(block, expr.mul(2, copies))

    return scratch


def positions(times: int) -> Scratch:
    """Return the bound of a kernel that copies its operands and makes so many positions per element of them."""

    def scratch(step: Step) -> Size | None:
        per_element = total_bytes([bytes_of(m, 8) for m in step.metas])
        copies = total_bytes(map(bytes_of, step.metas))
        if copies is None or per_element is None:
            return None
        return expr.add(copies, expr.mul(times, per_element))

    return scratch


def windows(times: int) -> Scratch:
    """Return the bound of a kernel that copies its result too, and makes so many positions per element of it."""
    operand_positions = positions(times)

    def scratch(step: Step) -> Size | None:
        per_element = bytes_of(step.results[0], 8)
        if per_element is None:
            return None
        return total_bytes([operand_positions(step), bytes_of(step.results[0]), expr.mul(times, per_element)])

    return scratch


def bit_masks(step: Step) -> Size | None:
    """Masks as bits, and the masked operands."""
    result = bytes_of(step.results[0])
    return None if result is None else expr.mul(2, result)
