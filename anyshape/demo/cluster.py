"""`anyshape demo cluster`: a logistic regression over a data set of unequal chunks on disk, with worker processes."""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import anyshape
from anyshape.cluster import Dask, Processes, Serial, chunked_sum, minimize
from anyshape.support.packages import dask_delayed
from anyshape.support.terminal import print_table

COLUMNS = 64
MOST_ROWS = 8000  # of a chunk


def loss(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the negative log likelihood of rows, whose first column is the label, 1 or -1."""
    return np.sum(np.logaddexp(0.0, -rows[:, 0] * (rows[:, 1:] @ w)))


def write(folder: Path, chunks: int, seed: int) -> list[Path]:
    """Write the chunks of a data set, each of another length, and return their files; some have no rows."""
    rng = np.random.default_rng(seed)
    truth, paths = rng.normal(size=COLUMNS), []
    for i, rows in enumerate(rng.integers(1, MOST_ROWS, chunks)):
        rows = 0 if i % 20 == 7 else rows
        x = rng.normal(size=(rows, COLUMNS))
        y = np.where(x @ truth + rng.logistic(size=rows) > 0, 1.0, -1.0)
        paths.append(folder / f"part{i:04}.npy")
        np.save(paths[-1], np.column_stack([y, x]))
    return paths


def run(executor: Any, paths: list[Path], steps: int, progress: bool) -> tuple[Any, Any, Any]:
    """Fit the regression on an executor and in this process; return the result, the sum and the serial result."""
    mapped = [np.load(path, mmap_mode="r") for path in paths]
    data = mapped if isinstance(executor, Processes) else [dask_delayed.delayed(np.load)(path) for path in paths]
    step = anyshape.value_and_grad(loss)
    chunked = chunked_sum(step, over="rows", executor=executor, tasks=4 * executor.workers)
    start = np.zeros(COLUMNS)
    result = minimize(chunked, start, (data,), steps=steps, progress=progress)
    serial = chunked_sum(step, over="rows", executor=Serial(), tasks=4 * executor.workers)
    return result, chunked, minimize(serial, start, (mapped,), steps=steps)


def report(result: Any, chunked: Any, serial: Any, seconds: float) -> list[tuple[str, str]]:
    """Return what was seen as the rows of a table."""
    last = chunked.report
    sizes = f"{len(set(last.rows))} sizes, {min(last.rows)} to {max(last.rows)} rows"
    workers = [
        (f"worker {w.worker}", f"{w.traces} traces, {w.loads} load, {w.chunks} chunks, {w.rows} rows in the last pass")
        for w in last.workers
    ]
    same = np.array_equal(result.x, serial.x)
    return [
        ("chunks", f"{len(last.rows)}, of {sizes}"),
        ("rows", f"{sum(last.rows)}"),
        ("iterations, passes", f"{result.nit}, {result.nfev} in {seconds:.1f} s"),
        *workers,
        ("program sent", f"{last.payload / 1e3:.1f} kB"),
        ("loss", f"{result.fun:.6f}"),
        ("equal to one process", "bit for bit" if same else f"to {np.max(np.abs(result.x - serial.x)):.1e}"),
    ]


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Return the options of `anyshape demo cluster`."""
    parser = argparse.ArgumentParser(prog="anyshape demo cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="processes of this machine (%(default)s)")
    parser.add_argument("--address", help="scheduler of Dask whose workers see --folder: tcp://10.0.0.5:8786")
    parser.add_argument("--chunks", type=int, default=100, help="files of the data set (%(default)s)")
    parser.add_argument("--steps", type=int, default=30, help="iterations at the most (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where the data set is written (a temporary folder)")
    parser.add_argument("--seed", type=int, default=0, help="of the data (%(default)s)")
    parser.add_argument("--no-progress", action="store_true", help="print the report only")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the demo; return 1 if a worker traced anything, or if the result is not that of one process."""
    options = parse(argv)
    with tempfile.TemporaryDirectory(prefix="anyshape_demo_", ignore_cleanup_errors=True) as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths = write(folder, options.chunks, options.seed)
        with Dask(options.address) if options.address else Processes(options.workers) as executor:
            start = time.perf_counter()
            result, chunked, serial = run(executor, paths, options.steps, not options.no_progress)
            seconds = time.perf_counter() - start
    print_table(report(result, chunked, serial, seconds))
    is_equal = np.allclose(result.x, serial.x, rtol=1e-9)
    return 0 if is_equal and not chunked.report.traces else 1
