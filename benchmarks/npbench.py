"""Time the kernels of NPBench, their plain text, against NumPy, numba and JAX: values, gradients, first calls, memory.

    python -m benchmarks.npbench FOLDER [--kernels ...] [--libraries ...] [--threads 1] [--rows FILE]

FOLDER is a checkout of github.com/spcl/npbench; see `npbench_kernels`. `make bench` has this section if the variable
ANYSHAPE_NPBENCH names one. Each kernel runs in a process of its own with each library: one that crashes, or takes too
long, leaves the others. `--rows` keeps what was measured in a file, which later runs add to.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.npbench_kernels import ARRAYS, SCALARS, names
from benchmarks.timing import Effort, Result, seconds
from benchmarks.worker import COUNTS

FOLDER = "ANYSHAPE_NPBENCH"
OURS, PATIENCE = "compiled", 180.0
LIBRARIES = ("numpy", OURS, "numba", "jax")
GROUPS = {"scalar loops and dots": SCALARS, "iterations over arrays": ARRAYS}
COLUMNS = {"numpy": "NumPy", "numba": "numba", OURS: "anyshape", "jax": "JAX"}
# numerator, library and its number to divide by, and the limits of mean and largest, for each group
RATIOS: tuple[tuple[str, str, str, tuple[tuple[float | None, float | None], ...]], ...] = (
    ("gradient", "jax", "gradient", ((0.05, 0.5), (0.8, 1.5))),
    ("gradient", "numba", "steady", ((None, 3.0), (None, None))),
    ("steady", "numba", "steady", ((1.0, 1.5), (None, None))),
    ("steady", "numpy", "steady", ((None, None), (None, None))),
)
NUMBERS = {"steady": "forward", "gradient": "gradient"}
FIRST_LIMIT = 0.6  # seconds of a first value and gradient of a kernel of polybench, with its build
Rows = dict[str, dict[str, dict[str, Any]]]  # by kernel and library


def run(
    effort: Effort, folder: str | None = None, threads: int | None = None, kernels: Sequence[str] | None = None
) -> list[Result]:
    """The results of this file; none without a checkout."""
    folder = folder or os.environ.get(FOLDER)
    if not folder:
        return []
    chosen = kernels or names(Path(folder))
    return results(measured(Path(folder), chosen, LIBRARIES, threads, 0.5 if effort.rounds > 3 else 0.0))


def in_one_thread(effort: Effort, folder: str | None = None) -> list[Result]:
    """The same with one thread for each library."""
    return run(effort, folder, 1)


# -- measuring ---------------------------------------------------------------------------------------------------


def measured(
    folder: Path,
    kernels: Iterable[str],
    libraries: Sequence[str],
    threads: int | None,
    duration: float,
    said: Callable[[str, Rows], None] = lambda kernel, rows: None,
) -> Rows:
    """Return what each library takes for each kernel."""
    rows: Rows = {}
    for kernel in kernels:
        rows[kernel] = {library: row_of(folder, kernel, library, threads, duration) for library in libraries}
        said(kernel, rows)
    return rows


def row_of(folder: Path, kernel: str, library: str, threads: int | None, duration: float) -> dict[str, Any]:
    """Return the numbers of a library on a kernel, with the reason under `failed` if some are missing."""
    python = peers.interpreter("anyshape" if library in peers.OURS else library)
    command = [python, "-m", "benchmarks.npbench_worker", library, str(folder), kernel, "--seconds", str(duration)]
    counts = {} if threads is None else dict.fromkeys(COUNTS, str(threads))
    command += [] if threads is None else ["--threads", str(threads)]
    unset = {variable: value for variable, value in os.environ.items() if variable not in (*COUNTS, "ANYSHAPE_CHECK")}
    with tempfile.TemporaryDirectory() as cache:  # each builds for itself
        environment = {**unset, **counts, "PYTHONPATH": str(peers.ROOT), "ANYSHAPE_KERNEL_CACHE": cache}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment, cwd=peers.ROOT
            )
            lines, end = done.stdout.splitlines(), done.stderr.strip().splitlines()
            failed = (end or [f"the process ended with {done.returncode}"])[-1] if done.returncode else ""
        except subprocess.TimeoutExpired as error:
            lines, failed = (error.stdout or b"").decode().splitlines(), f"not done in {PATIENCE:g} s"
    row: dict[str, Any] = json.loads(lines[-1]) if lines else {}
    return row | ({"failed": failed[:200]} if failed else {})


# -- results -----------------------------------------------------------------------------------------------------


def results(rows: Rows) -> list[Result]:
    """Return the ratios of groups, the longest first call, and a result for each kernel."""
    return [*ratios(rows), *first_calls(rows), *[of_kernel(kernel, row) for kernel, row in rows.items()]]


def ratio_of(row: Mapping[str, Mapping[str, Any]], number: str, library: str, other: str) -> float:
    """Return a number of ours over another one, NaN where one is missing or the results differ."""
    ours, theirs = row.get(OURS, {}), row.get(library, {})
    if number not in ours or other not in theirs or not agrees(ours, theirs):
        return math.nan
    return float(ours[number] / theirs[other])


def agrees(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """Return whether two libraries have the same value and gradient, up to rounding."""
    both = [(ours[key], theirs[key]) for key in ("value", "slope") if key in ours and key in theirs]
    return bool(both) and all(np.isclose(x, y, rtol=1e-5, atol=1e-8) for x, y in both)


def ratios(rows: Rows) -> list[Result]:
    """Return geometric means and largest ratios of each group."""
    return [
        result
        for *numbers, limits in RATIOS
        for group, limits_of_group in zip(GROUPS, limits, strict=True)
        for result in of_group(rows, group, *numbers, *limits_of_group)
    ]


def of_group(
    rows: Rows, group: str, number: str, library: str, other: str, mean: float | None, most: float | None
) -> list[Result]:
    """Return the geometric mean of a ratio over a group, and the largest one; none without any."""
    ratios = {k: ratio_of(rows[k], number, library, other) for k in GROUPS[group] if k in rows}
    known = {k: r for k, r in ratios.items() if not math.isnan(r)}
    if not known:
        return []
    name = f"NPBench, {len(known)} kernels of {group}: {NUMBERS[number]} / {COLUMNS[library]}"
    name += "'s forward" if number != other else ""
    over = [f"{k} {r:.3g}" for k, r in known.items() if most is not None and r > most]
    detail = f"above: {', '.join(over)}" if over else ""
    average = math.exp(np.mean(np.log([*known.values()])))
    return [
        Result(f"{name}, geometric mean", average, "x", mean),
        Result("  largest", max(known.values()), "x", most, detail),
    ]


def first_calls(rows: Rows) -> list[Result]:
    """Return the longest first value and gradient with its build, among kernels of scalar loops."""
    ours = {kernel: rows[kernel].get(OURS, {}) for kernel in SCALARS if kernel in rows}
    first = {kernel: row["first_gradient"] for kernel, row in ours.items() if "first_gradient" in row}
    if not first:
        return []
    longest = max(first, key=lambda kernel: first[kernel])
    return [Result("  first value and gradient, longest", first[longest], "s", FIRST_LIMIT, longest)]


def of_kernel(kernel: str, row: Mapping[str, Mapping[str, Any]]) -> Result:
    """Return our gradient of a kernel, or its value, with all numbers in the detail."""
    ours = row.get(OURS, {})
    parts = [f"forward {cell(row, 'steady')}", f"gradient {cell(row, 'gradient')}"]
    parts += [f"first {seconds(ours['first_gradient'])}"] if "first_gradient" in ours else []
    parts += [f"peak {ours['megabytes']:.0f} MB"] if "megabytes" in ours else []
    parts += [f"{COLUMNS[name]} failed: {numbers['failed']}" for name, numbers in row.items() if "failed" in numbers]
    value = ours.get("gradient", ours.get("steady", math.nan))
    return Result(f"  {kernel}", 1e3 * value, "ms", None, "; ".join(parts), {"kernel": kernel, "row": dict(row)})


def cell(row: Mapping[str, Mapping[str, Any]], number: str) -> str:
    """Return a number of all libraries as text: `anyshape 1 ms, JAX 20 ms`."""
    known = [f"{COLUMNS[name]} {seconds(row[name][number])}" for name in row if number in row[name]]
    return ", ".join(known) or "-"


# -- the command -------------------------------------------------------------------------------------------------


def report(rows: Rows) -> str:
    """Return a table of all kernels, and the ratios below it."""
    head = ["kernel", *[f"fwd {COLUMNS[n]}" for n in LIBRARIES], "grad", "grad JAX", "/ JAX", "/ numba", "first", "MB"]
    lines = [head, *[line(kernel, row) for kernel, row in rows.items()]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in lines]
    limits = [f"{r.name}: {r.value:.3g} (limit {r.limit}) {r.detail}" for r in [*ratios(rows), *first_calls(rows)]]
    failed = [f"{k}: {n}: {r['failed']}" for k, row in rows.items() for n, r in row.items() if "failed" in r]
    return "\n".join([*table, *limits, *failed])


def line(kernel: str, row: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the cells of a kernel."""
    ours = row.get(OURS, {})
    numbers = [*[row.get(n, {}).get("steady") for n in LIBRARIES], ours.get("gradient")]
    numbers.append(row.get("jax", {}).get("gradient"))
    over = [f"{ratio_of(row, 'gradient', n, k):.3g}" for n, k in (("jax", "gradient"), ("numba", "steady"))]
    times = [seconds(number) if number else "-" for number in (*numbers, ours.get("first_gradient"))]
    return [kernel, *times[:-1], *over, times[-1], f"{ours.get('megabytes', math.nan):.0f}"]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of github.com/spcl/npbench")
    parser.add_argument("--kernels", nargs="*", help="all without it")
    parser.add_argument("--libraries", nargs="*", default=LIBRARIES)
    parser.add_argument("--threads", type=int, help="of each library; its defaults without it")
    parser.add_argument("--seconds", type=float, default=0.5, help="for which a call is repeated (%(default)s)")
    parser.add_argument("--rows", type=Path, help="a file of what was measured, which is added to")
    options = parser.parse_args(argv)
    before: Rows = json.loads(options.rows.read_text()) if options.rows and options.rows.exists() else {}

    def said(kernel: str, rows: Rows) -> None:
        print(of_kernel(kernel, rows[kernel]).detail, file=sys.stderr, flush=True)
        before[kernel] = before.get(kernel, {}) | rows[kernel]
        if options.rows:
            options.rows.write_text(json.dumps(before, indent=1) + "\n")

    chosen = names(options.folder) if options.kernels is None else options.kernels
    measured(options.folder, chosen, options.libraries, options.threads, options.seconds, said)
    print(report(before))
    return 0


if __name__ == "__main__":
    sys.exit(main())
