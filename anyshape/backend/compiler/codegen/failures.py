"""Errors of a running plan, translated: they name the user's expression and line."""

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
    RunLinAlgError,
    RunMemoryError,
    RunOverflowError,
    RunZeroDivisionError,
    ShapeError,
)
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.array_type import Exact, TensorMeta, UpperBound

_TRANSLATIONS: tuple[tuple[type[Exception], type[RunError], str], ...] = (
    (FloatingPointError, RunFloatingPointError, "mask such elements with np.where, or let np.errstate ignore them"),
    (ZeroDivisionError, RunZeroDivisionError, "mask zeros with np.where"),
    (np.linalg.LinAlgError, RunLinAlgError, "check the matrix before, or add a small multiple of the identity to it"),
    (OverflowError, RunOverflowError, "use smaller numbers, or floats"),
    (MemoryError, RunMemoryError, "call it with smaller arrays, or in parts; jit(max_bytes=...) refuses such calls"),
)


def error_translator(file: str, lines: Sequence[tuple[int, Step]]) -> Callable[[Exception], Exception]:
    """Return a function from an error in a generated function to the error to raise.

    `lines` are the line of the file at which each step begins, in order. Errors of anyshape and of functions of the
    user stay as they are, and so does any error outside of NumPy's and Python's arithmetic.
    """
    starts = [line for line, _ in lines]

    def translate(error: Exception) -> Exception:
        line = _line_in(error, file)
        position = bisect_right(starts, line) - 1
        return error if position < 0 else _translated(error, lines[position][1])

    return translate


def _line_in(error: Exception, file: str) -> int:
    """Return the line of the generated function that was running."""
    traceback, line = error.__traceback__, 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == file:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _translated(error: Exception, step: Step) -> Exception:
    if isinstance(error, AnyshapeError):
        error.locate(step.where)
        return error
    name = (step.fallback[-1] if step.fallback else step).op.name  # a view stands for movement that the user wrote
    translation = None if runs_user_code(step) else _translation(error, name, step.where)
    if translation is None:
        at = f" at {step.where}" if step.where is not None else ""
        error.add_note(f"raised by {name}{at} in an anyshape program")
        return error
    translation.__cause__ = error
    return translation


def _translation(error: Exception, name: str, where: SourceLine | None) -> AnyshapeError | None:
    why = str(error).rstrip(".") or type(error).__name__
    if type(error) is IndexError:
        return ShapeError(name, why, (), where, IndexRangeError.advice)
    if type(error) is ValueError:
        return ShapeError(name, why, (), where)
    for kind, run_error, advice in _TRANSLATIONS:
        if isinstance(error, kind):
            return run_error(name, why, advice, where)
    return None


def verify(value: Any, slot: str, meta: TensorMeta, bounds: tuple[int | None, ...], where: Any) -> None:
    """Check law 2, under ANYSHAPE_CHECK=1: rank, dtype and extents of a value are as its metadata promise."""
    shape, dtype = np.shape(value), np.asarray(value).dtype
    fits = len(shape) == meta.rank and dtype == meta.dtype
    for extent, size, bound in zip(meta.extents, shape, bounds, strict=False):
        if isinstance(extent, Exact):
            fits &= size == bound
        elif isinstance(extent, UpperBound):
            fits &= bound is not None and size <= bound
    if not fits:
        raise MetadataError(slot, f"{meta} with sizes {bounds}", f"{dtype}{list(shape)}", where)
