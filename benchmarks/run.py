"""Run the benchmarks and print their results beside their limits.

    python -m benchmarks.run [--quick] [--only speed,attention,small,...] [--json FILE] [--picture FILE]

Peers (autograd, jax, torch, pytensor) are measured where they are installed, in processes of their own. `make
bench-peers` installs them, and ANYSHAPE_PEERS names another interpreter that has them.

The exit status is 0 even if a limit is missed, because times depend on the load of the machine. No number of threads is
set, as most users set none: leave the machine alone meanwhile. Libraries are compared so in the section speed, and with
one thread each in the section one_thread. The sections npbench and npbench_one_thread need a checkout, which the
variable ANYSHAPE_NPBENCH names.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import (
    assigning,
    attention,
    calls,
    chain,
    cluster,
    comparison,
    compiling,
    decisions,
    dynamic,
    first_calls,
    importing,
    lending,
    loops,
    machine_loops,
    npbench,
    other_arrays,
    peers,
    plain,
    ragged,
    scientific,
    sizes,
    small,
    solving,
    speed,
    threads,
)
from benchmarks.libraries import LIBRARIES
from benchmarks.timing import QUICK, Effort, Result
from benchmarks.workloads import WORKLOADS

try:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
except ImportError:
    Console = Table = None  # type: ignore[assignment, misc]

MODULES = (
    importing, sizes, solving, compiling, first_calls, calls, small, speed, chain, dynamic, attention, loops, decisions,
    plain, assigning, scientific, threads, lending, cluster, machine_loops, ragged, npbench,
    other_arrays,
)  # fmt: skip
SECTIONS = {module.__name__.rpartition(".")[2]: module.run for module in MODULES}
SECTIONS["one_thread"] = speed.in_one_thread
SECTIONS["npbench_one_thread"] = npbench.in_one_thread
QUICK_SCALE = 0.01  # of the arrays in the section speed
SMALLER: dict[str, dict[str, Any]] = {  # in a quick run
    "calls": {"libraries": ()},
    "cluster": {"rows": 40, "compiled": 4},
    "chain": {"size": 10_000},
    "scientific": {"points": 20, "signal": 64},
    "lending": {"names": ("scipy.cluster.vq",)},
    "assigning": {"steps": 3, "elements": 5},
    "loops": {"steps": 10, "examples": 4, "lengths": 5, "libraries": ()},
    "machine_loops": {"scale": 0.01, "libraries": ()},
    "ragged": {"examples": (3,), "lengths": (4,), "libraries": (), "compile": "off"},
    "threads": {"sizes": (5,)},
    "first_calls": {"ops": (100, 1_000), "leaves": (100,), "libraries": ()},
}
COLUMNS = ("benchmark", "measured", "limit", "met", "detail")


def cells(result: Result) -> tuple[str, ...]:
    """The columns of a result."""
    limit = "" if result.limit is None else f"{result.limit:g} {result.unit}".strip()
    verdict = {None: "", True: "yes", False: "NO"}[result.within_limit]
    return result.name, f"{result.value:.3g} {result.unit}".strip(), limit, verdict, result.detail


def show(results: Iterable[Result]) -> None:
    """Print the table of results with their limits."""
    rows = [cells(r) for r in results]
    print_table(COLUMNS, rows, ["bold red" if row[3] == "NO" else None for row in rows])


def show_comparison(results: Sequence[Result], threads: int | None, *, quick: bool = False) -> None:
    """Print the table of workloads by library, if they were run."""
    columns, rows = comparison.table(results)
    if rows:
        print_table(columns, rows, [None] * len(rows), wide=True)
        print("a time or memory in parentheses is divided by that of the hand-written NumPy; medians of turns")
        if quick:
            print(f"the arrays have {QUICK_SCALE:.0%} of the elements that are named")
        print("nothing is set: default threads" if threads is None else f"{threads} threads for each library")
        for note in comparison.notes(results, peers.missing()):
            print(note)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str | None], *, wide: bool = False
) -> None:
    """Print a table, by rich where it is installed. A wide table is not wrapped where the width is unknown."""
    if Table is None:
        flat = [[cell.replace("\n", ", ") for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(columns, *flat, strict=True)]
        for row in (columns, *flat):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    table = Table(*columns)
    for row, style in zip(rows, styles, strict=True):
        table.add_row(*map(escape, row), style=style)
    console = Console()
    (console if console.is_terminal else Console(width=400 if wide else 160)).print(table)


def machine(threads: int | None) -> dict[str, Any]:
    """Describe the machine, with the number of threads of each library, None for their defaults."""
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    where = {"machine": platform.machine(), "cpus": os.cpu_count(), "load": os.getloadavg()}
    when = {"date": time.strftime("%Y-%m-%d"), "processor": processor()}
    return {**where, **when, "threads": threads, **versions}


def processor() -> str:
    """Return the model of the processor, as Linux tells it; elsewhere its architecture."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text().splitlines() if listed.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works, not for numbers")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections to run (%(default)s)")
    parser.add_argument("--json", type=Path, default=Path(__file__).with_name("results.json"), help="(%(default)s)")
    parser.add_argument("--picture", type=Path, default=Path(__file__).with_name("results.png"), help="(%(default)s)")
    parser.add_argument("--libraries", help="of the section speed, besides numpy and anyshape; all that are installed")
    parser.add_argument("--workloads", default=",".join(WORKLOADS), help="of the section speed (%(default)s)")
    parser.add_argument("--threads", type=int, help="of each library in the section speed; its defaults")
    options = parser.parse_args(argv)
    options.only, options.workloads = options.only.split(","), options.workloads.split(",")
    libraries = [name for name in (options.libraries or "").split(",") if name]
    named = ("section", options.only, SECTIONS), ("workload", options.workloads, WORKLOADS)
    for kind, asked, there in (*named, ("library", libraries, LIBRARIES)):
        unknown = sorted(set(asked) - set(there))
        if unknown:
            parser.error(f"no {kind} is called {', '.join(unknown)}; there are {', '.join(there)}")
    return options


def chosen(options: argparse.Namespace, section: str) -> dict[str, Any]:
    """Return the options of a section. A quick run has small arrays, and only the peers named."""
    named = "" if options.libraries is None and options.quick else options.libraries
    if section not in ("speed", "one_thread"):
        return SMALLER.get(section, {}) if options.quick else {}
    libraries = None if named is None else (*peers.OURS, *[n for n in named.split(",") if n and n not in peers.OURS])
    scale = QUICK_SCALE if options.quick else 1.0
    return {"scale": scale, "libraries": libraries, "keys": options.workloads, "threads": options.threads}


def write(options: argparse.Namespace, entries: Sequence[dict[str, Any]]) -> None:
    """Write the JSON file of what was measured so far."""
    where = {**machine(options.threads), "quick": options.quick}
    options.json.write_text(json.dumps({"where": where, "results": entries}, indent=2, allow_nan=False) + "\n")


def main(argv: list[str] | None = None) -> int:
    """Run, print, and write the JSON file."""
    options = parse(argv)
    effort = QUICK if options.quick else Effort()
    results: list[Result] = []
    entries: list[dict[str, Any]] = []
    for name in options.only:
        print(f"{name} ...", end="", flush=True)
        start = time.perf_counter()
        measured = SECTIONS[name](effort, **chosen(options, name))
        results += measured
        entries += [{"section": name, **result.as_json()} for result in measured]
        write(options, entries)  # after each section: a long run may be ended
        print(f" {time.perf_counter() - start:.0f} s", flush=True)
    show(results)
    show_comparison(results, options.threads, quick=options.quick)
    verdicts = [r.within_limit for r in results if r.within_limit is not None]
    drawn = f", picture: {options.picture}" if comparison.draw(results, options.picture) else ""
    load = f"{os.getloadavg()[0]:.1f}"
    print(f"{sum(verdicts)} of {len(verdicts)} limits met at a load of {load}; all numbers: {options.json}{drawn}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
