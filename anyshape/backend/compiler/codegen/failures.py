"""What went wrong while a plan ran, told with the op and the line of the user that it belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import runs_user_code
from anyshape.backend.compiler.plan import Step
from anyshape.errors import (
    AnyshapeError,
    IndexRangeError,
    MetadataError,
    RunError,
    RunFloatingPointError,
    RunMemoryError,
    RunOverflowError,
    RunZeroDivisionError,
    ShapeError,
)
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.array_type import Exact, TensorMeta, UpperBound

_TOLD: tuple[tuple[type[Exception], type[RunError], str], ...] = (
    (FloatingPointError, RunFloatingPointError, "mask such elements with np.where, or let np.errstate ignore them"),
    (ZeroDivisionError, RunZeroDivisionError, "mask zeros with np.where"),
    (OverflowError, RunOverflowError, "use smaller numbers, or floats"),
    (MemoryError, RunMemoryError, "call it with smaller arrays, or in parts; jit(max_bytes=...) refuses such calls"),
)


def error_translator(file: str, lines: Sequence[tuple[int, Step]]) -> Callable[[Exception], Exception]:
    """A function that gives the error to raise instead of one that a generated function met.

    `lines` are the line of the file where each step begins, in order. What anyshape raised itself stays what it is;
    so does what a function that is called back raised, and what is no error of NumPy's or Python's arithmetic.
    """
    starts = [line for line, _ in lines]

    def tell(error: Exception) -> Exception:
        line = _line_in(error, file)
        position = bisect_right(starts, line) - 1
        return error if position < 0 else _told(error, lines[position][1])

    return tell


def _line_in(error: Exception, file: str) -> int:
    """The line of the generated function that was running."""
    traceback, line = error.__traceback__, 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _told(error: Exception, step: Step) -> Exception:
    name = (step.fallback[-1] if step.fallback else step).op.name  # a view stands for movement that the user wrote
    if isinstance(error, AnyshapeError):
        error.locate(step.where)
        return error
    found = None if runs_user_code(step) else _structured(error, name, step.where)
    if found is None:
        at = f" at {step.where}" if step.where is not None else ""
        error.add_note(f"raised by {name}{at} in an anyshape program")
        return error
    found.__cause__ = error
    return found


def _structured(error: Exception, name: str, where: SourceLine | None) -> AnyshapeError | None:
    why = str(error).rstrip(".") or type(error).__name__
    if type(error) is IndexError:
        return ShapeError(name, why, (), where, IndexRangeError.advice)
    if type(error) is ValueError:
        return ShapeError(name, why, (), where)
    for kind, told, advice in _TOLD:
        if isinstance(error, kind):
            return told(name, why, advice, where)
    return None


def verify(value: Any, slot: str, meta: TensorMeta, bounds: tuple[int | None, ...], where: Any) -> None:
    """Law 2, under ANYSHAPE_CHECK=1: rank, dtype and extents of an actual value are what its metadata promise."""
    shape, dtype = np.shape(value), np.asarray(value).dtype
    fits = len(shape) == meta.rank and dtype == meta.dtype
    for extent, size, bound in zip(meta.extents, shape, bounds, strict=False):
        if isinstance(extent, Exact):
            fits &= size == bound
        elif isinstance(extent, UpperBound):
            fits &= bound is not None and size <= bound
    if not fits:
        raise MetadataError(slot, f"{meta} with sizes {bounds}", f"{dtype}{list(shape)}", where)
