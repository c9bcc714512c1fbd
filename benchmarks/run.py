"""Run the benchmarks and print what they found beside the limits they are held to.

    python -m benchmarks.run [--quick] [--only attention,small,chain,calls,dynamic,...] [--json FILE]

Peers (autograd; jax and torch, also by the interpreter that ANYSHAPE_PEERS names) are measured where they are
installed. The exit status is 0 even if a limit is missed: on a machine that others use too, a miss is a reason to
look, not a failure. Set OMP_NUM_THREADS=1, as `make bench` does: with more threads of linear algebra, times depend on
who else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import attention, calls, chain, compiling, dynamic, importing, peers, sizes, small, solving, speed
from benchmarks.timing import QUICK, Effort, Result

try:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
except ImportError:
    Console = Table = None  # type: ignore[assignment, misc]

MODULES = (importing, sizes, solving, compiling, calls, small, speed, chain, dynamic, attention)
SECTIONS = {module.__name__.rpartition(".")[2]: module for module in MODULES}
COLUMNS = ("benchmark", "measured", "limit", "met", "detail")


def cells(result: Result) -> tuple[str, ...]:
    """The columns of a result."""
    limit = "" if result.limit is None else f"{result.limit:g} {result.unit}".strip()
    met = {None: "", True: "yes", False: "NO"}[result.met]
    return result.name, f"{result.value:.3g} {result.unit}".strip(), limit, met, result.detail


def show(results: Iterable[Result]) -> None:
    """Print the table, with rich where it is installed."""
    rows = [cells(r) for r in results]
    if Table is None:
        widths = [max(map(len, column)) for column in zip(COLUMNS, *rows, strict=True)]
        for row in (COLUMNS, *rows):
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        return
    table = Table(*COLUMNS)
    for row in rows:
        table.add_row(*map(escape, row), style={"NO": "bold red"}.get(row[3]))
    console = Console()
    (console if console.is_terminal else Console(width=150)).print(table)


def machine() -> dict[str, Any]:
    """Where the times were taken."""
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    if peers.autograd is not None:
        versions["autograd"] = getattr(peers.autograd, "__version__", "installed")
    threads = os.environ.get("OMP_NUM_THREADS", "not set")
    where = {"machine": platform.machine(), "cpus": os.cpu_count(), "load": os.getloadavg(), "threads": threads}
    return {**where, **versions}


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works, not for numbers")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections to run (%(default)s)")
    parser.add_argument("--json", type=Path, default=Path(__file__).with_name("results.json"), help="(%(default)s)")
    options = parser.parse_args(argv)
    options.only = options.only.split(",")
    unknown = sorted(set(options.only) - set(SECTIONS))
    if unknown:
        parser.error(f"no section is called {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    return options


def main(argv: list[str] | None = None) -> int:
    """Run, print, and write the JSON file."""
    options = parse(argv)
    effort = QUICK if options.quick else Effort()
    results = []
    for name in options.only:
        print(f"{name} ...", flush=True)
        results += SECTIONS[name].run(effort)
    show(results)
    report = {"where": machine(), "results": [r.as_json() for r in results]}
    options.json.write_text(json.dumps(report, indent=2, default=float) + "\n")
    kept = [r.met for r in results if r.met is not None]
    print(f"{sum(kept)} of {len(kept)} limits met at a load of {os.getloadavg()[0]:.1f}; all numbers: {options.json}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
