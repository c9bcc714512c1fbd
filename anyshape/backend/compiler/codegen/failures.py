"""Errors of a running plan, translated: they name the user's expression and line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.user_lines import UserLines
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
    messages,
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


_IN_LOOP = re.compile(r"# trips? (\S+?)(?: to (\S+?))?( of a block)?$")  # ends the line that begins a loop


def trip_mark(number: str, end: str = "", *, of_block: bool = False) -> str:
    """Return the comment of a line that begins a loop: the local of the trip, or two, between which a block is."""
    return f"  # trips {number} to {end}" if end else f"  # trip {number}{' of a block' if of_block else ''}"


def error_translator(lines: UserLines, source: str, names: dict[str, Any]) -> Callable[[Exception], Exception]:
    """Return a function from an error in a generated function to the error to raise.

    `names` is the scope of the function. Errors of anyshape and of functions of the user stay as they are, and so does
    any error outside of NumPy's and Python's arithmetic.
    """

    def translate(error: Exception) -> Exception:
        running = _running_lines(error, lines, names)
        trips = _trips(running, source)
        position = bisect_right(lines.starts, running[-1][1] if running else 0) - 1
        result = error if position < 0 else _translated(error, lines.steps[position], trips)
        if isinstance(result, AnyshapeError):
            result.locate_in_loops(trips)
        return result

    return translate


def _running_lines(error: Exception, lines: UserLines, names: dict[str, Any]) -> list[tuple[FrameType, int]]:
    """Return the frames of a generated function and of its chunks that were running, each with its line.

    A function of the user that it has called may have called it again.
    """
    traceback, running = error.__traceback__, list[tuple[FrameType, int]]()
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_globals is names:
            if running and frame.f_code is running[0][0].f_code:
                break
            running.append((frame, lines.source_line(frame.f_code, traceback.tb_lasti)))
        traceback = traceback.tb_next
    return running


def _trips(running: Sequence[tuple[FrameType, int]], source: str) -> tuple[int | range, ...]:
    """Return the trips of loops that were running, the innermost first. A trip stands for its block."""
    trips: list[int | range] = []
    in_trip = False
    for frame, line in _begun_loops(running, source.split("\n")):
        mark = _IN_LOOP.search(line)
        if mark is None:
            continue
        first, *end = [_local(frame, name) for name in mark.groups()[:2] if name is not None]
        if not (end and in_trip):
            trips.append(range(first, *end) if end else first)
        in_trip = mark[3] is not None
    return tuple(trips)


def _begun_loops(running: Sequence[tuple[FrameType, int]], lines: Sequence[str]) -> Iterator[tuple[FrameType, str]]:
    """Yield the lines that begin the blocks in which these lines stand, each with its frame, the innermost first."""
    for frame, number in reversed(running):
        indent = _indent(lines[number - 1])
        for line in reversed(lines[: number - 1]):
            if _indent(line) < indent:
                indent = _indent(line)
                yield frame, line
            if not indent:
                break


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _local(frame: FrameType, name: str) -> int:
    """Return a local of a generated function. Chunks share theirs in a list: `_values[3]`."""
    local, _, position = name.rstrip("]").partition("[")
    value = frame.f_locals[local]
    return int(value[int(position)] if position else value)


def _translated(error: Exception, step: Step, trips: tuple[int | range, ...]) -> Exception:
    if isinstance(error, AnyshapeError):
        error.locate(step.where)
        return error
    name = (step.fallback[-1] if step.fallback else step).op.name  # a view stands for movement that the user wrote
    translation = None if runs_user_code(step) else _translation(error, name, step.where)
    if translation is None:
        at = f" at {step.where}" if step.where is not None else ""
        error.add_note(f"raised by {name}{at}{messages.in_trips(trips)} in an anyshape program")
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
