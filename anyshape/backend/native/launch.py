"""Source in Python of the function that calls a compiled kernel: it makes the results and passes the arrays.

The function has the arguments of the function of tiles, and returns the results. Where the kernel declines strides, it
gets copies in C order: a pass over an array costs less than NumPy's passes for each step.

It returns None where NumPy serves the call: the kernel declined the arrays, or set a flag that NumPy would warn of or
raise for.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from anyshape.backend.compiler import names as naming
from anyshape.backend.compiler.codegen.tiles import GroupSource
from anyshape.backend.compiler.op_traits import nanoseconds
from anyshape.backend.native.c_source import KernelText
from anyshape.backend.runtime.thread_pool import run_tiles

PART_NANOSECONDS = 200_000.0  # of a part, by NumPy's times: starting threads costs some 20,000
MAX_PARTS = 16
LEAST_GATHERED = 8  # elements of rows that are read by an index; NumPy copies shorter ones in less time
_MODES = {2: "invalid", 4: "divide", 8: "over", 16: "under"}

Kernel = Callable[..., int]


def launcher_source(name: str, writer: GroupSource, kernel: KernelText) -> str:
    """Return the source of the function that calls a kernel, which its scope has as `{name}_kernel`.

    `@limit@` stands where `limited` adds a condition.
    """
    sizes = "".join([f"{writer.local_size(size)}, " for size in kernel.sizes])
    results = [naming.whole_result(slot) for slot in kernel.writes]
    partials = [naming.partial_results(slot) for slot in kernel.totals]
    threads = "" if writer.threads is None else f", {writer.threads}"
    call = [
        f"if parts == 1: status = {name}_kernel(0, n, 0, arrays, {sizes})",
        f"else: status = _run_parts({name}_kernel, n, parts, arrays, ({sizes}){threads})",
    ]
    least = "" if kernel.least is None else f" or {writer.local_size(kernel.least)} < {LEAST_GATHERED}"
    lines = [
        f"if not n@limit@{least}: return None",
        *[line for slot in writer.written for line in writer.result_lines(slot)],
        _parts_line(writer),
        *[_partial_line(writer, slot) for slot in kernel.totals],
        *_number_lines(writer, kernel),
        f"arrays = {', '.join(['_ndarray', *kernel.reads, *results, *partials])},",
        *call,
        "if status & 1 and (copies := _contiguous(arrays)):",
        "    arrays = copies",
        *["    " + line for line in call],
        "if status and _declines(status): return None",
        *[_combined_line(writer, slot) for slot in kernel.totals],
        f"return {', '.join(map(naming.whole_result, writer.group.escaping))},",
    ]
    arguments = ", ".join(["n", *writer.read, *writer.sizes])
    return "\n".join([f"def {name}({arguments}):", *[f"    {line}" for line in lines], ""])


def limited(source: str, writer: GroupSource, most: float) -> str:
    """Return the source of a function that leaves calls to NumPy with more than `most` elements of the widest value."""
    return source.replace("@limit@", "" if most == math.inf else f" or n * {writer.row} > {most}")


def _number_lines(writer: GroupSource, kernel: KernelText) -> list[str]:
    """Return the lines that make arrays of operands that may be numbers."""
    numbers = [slot for slot in kernel.reads if _rank(writer, slot) == 0]
    return [f"if type({slot}) is not _ndarray: {slot} = _asarray({slot})" for slot in numbers]


def _parts_line(writer: GroupSource) -> str:
    """Return the line that divides the rows into parts, by sizes alone."""
    times = [nanoseconds(step.op, step.results[0].dtype) for step in writer.group.steps]
    elements, row = max(int(PART_NANOSECONDS / sum(times)), 1), writer.row
    return f"parts = 1 if n * {row} < {2 * elements} else min(n, {MAX_PARTS}, n * {row} // {elements})"


def _partial_line(writer: GroupSource, slot: str) -> str:
    """Return the line that makes the array of partial results of a reduction along the rows."""
    meta = writer.metas[slot]
    shape = "".join([f"{writer.local_size(size)}, " for size in meta.sizes or ()])
    return f"{naming.partial_results(slot)} = _empty((parts, {shape}), {writer.bind('dtype', meta.dtype)})"


def _combined_line(writer: GroupSource, slot: str) -> str:
    """Return the line that combines partial results."""
    partials = naming.partial_results(slot)
    whole = f"{writer.combine(slot)}({partials}, axis=0, dtype={partials}.dtype)"
    return f"{naming.whole_result(slot)} = {partials}[0] if parts == 1 else {whole}"


def _rank(writer: GroupSource, slot: str) -> int:
    """Return the rank of an operand of a group."""
    pairs = [pair for step in writer.group.steps for pair in zip(step.inputs, step.metas, strict=True)]
    return next(meta.rank for operand, meta in pairs if operand == slot)


def run_parts(
    kernel: Kernel, n: int, parts: int, arrays: tuple[Any, ...], sizes: tuple[int, ...], most: int | None = None
) -> int:
    """Run the parts of the rows on threads, and return what they report together."""
    statuses: list[int] = []

    def work(tiles: Iterable[int]) -> None:
        for k in tiles:
            statuses.append(kernel(n * k // parts, n * (k + 1) // parts, k, arrays, *sizes))

    run_tiles(work, parts, most=most)
    return functools.reduce(operator.or_, statuses, 0)


def contiguous(arrays: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the arrays in C order, copies where they are not; None if all are."""
    apart = [isinstance(array, np.ndarray) and not array.flags.c_contiguous for array in arrays]
    if not any(apart):
        return None
    return tuple([np.ascontiguousarray(a) if copied else a for a, copied in zip(arrays, apart, strict=True)])


def declines(status: int) -> bool:
    """Return whether NumPy is to serve the call: the kernel declined it, or a flag is not to be ignored."""
    if status & 1:
        return True
    modes = np.geterr()
    return any(status & bit and modes[kind] != "ignore" for bit, kind in _MODES.items())  # type: ignore[literal-required]


LAUNCH_NAMES: dict[str, Any] = {
    "_ndarray": np.ndarray,
    "_asarray": np.asarray,
    "_run_parts": run_parts,
    "_contiguous": contiguous,
    "_declines": declines,
}
