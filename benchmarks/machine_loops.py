"""Measure value and gradient of loops against a loop of C by hand, and against the `scan` of JAX.

The C is in loops_by_hand.c, and is compiled with the flags of the library. JAX runs in a process of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import anyshape
from anyshape.backend.native import toolchain
from benchmarks import peers
from benchmarks.loop_programs import Program, programs
from benchmarks.timing import Effort, Result, clock, interleaved, seconds

BY_HAND = Path(__file__).with_name("loops_by_hand.c")
CACHE = "ANYSHAPE_KERNEL_CACHE"
WORK = 1 << 20  # doubles of memory that a function of C may use
OVER_HAND, OVER_SCAN = 4.0, 0.5  # limits


def run(
    effort: Effort, scale: float = 1.0, libraries: Sequence[str] = ("jax",), names: Sequence[str] = ()
) -> list[Result]:
    """The results of this file; none without a C compiler."""
    if not toolchain.compiler():
        return []
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(Path(folder))
        chosen = [p for name, p in programs(scale).items() if not names or name in names]
        with_scan = "jax" in libraries and "jax" in peers.installed()
        return [result for p in chosen for result in measured(p, library, folder, effort, scale if with_scan else None)]


def compiled(folder: Path) -> ctypes.CDLL:
    """Return the functions that are written by hand."""
    target = folder / "by_hand.so"
    command = [*toolchain.compiler(), *toolchain.FLAGS, str(BY_HAND), "-o", str(target), "-lm"]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(target))


def by_hand(library: ctypes.CDLL, program: Program) -> Callable[[], tuple[float, list[np.ndarray]]]:
    """Return the value and gradient of a program by its function of C."""
    name, sizes = program.by_hand
    function = getattr(library, name)
    function.restype = ctypes.c_double
    arrays = [np.ascontiguousarray(x, float) for x in program.arguments if np.ndim(x) or isinstance(x, np.ndarray)]
    slopes, work = [np.empty_like(arrays[k]) for k in program.wrt], np.empty(WORK)

    def call() -> tuple[float, list[np.ndarray]]:
        pointers = [(ctypes.c_void_p * len(xs))(*[x.ctypes.data for x in xs]) for xs in (arrays, slopes)]
        value = function(*pointers, (ctypes.c_int64 * len(sizes))(*sizes), ctypes.c_void_p(work.ctypes.data))
        return value, slopes

    return call


def measured(program: Program, library: ctypes.CDLL, folder: str, effort: Effort, scale: float | None) -> list[Result]:
    """Return the gradient of a program beside what it is compared with. JAX has no scale where it is left out."""
    step = anyshape.jit(anyshape.value_and_grad(program.loss, program.wrt), optimize="now", compile="wait")
    hand = by_hand(library, program)
    with built_in(folder):
        first = clock(lambda: step(*program.arguments))
    value, slopes = step(*program.arguments)
    expected, expected_slopes = hand()
    for got, want in zip((value, *slopes), (expected, *expected_slopes), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-10)
    table = interleaved([lambda: step(*program.arguments), hand], effort)
    ours, theirs = table.min(axis=0)
    states = {s for p in step.programs() for s in p.kernels if "compiled" not in s}
    detail = f"{seconds(ours)}, by hand {seconds(theirs)}, first {seconds(first)} {'; '.join(states)}".strip()
    limit = program.limit
    results = [
        Result(f"{program.name}, value and gradient", 1e3 * ours, "ms", limit, detail),
        Result("  / C by hand", ours / theirs, "x", OVER_HAND if limit is None else None),
    ]
    if program.by_scan is not None and scale is not None:
        other = by_scan(program.name, scale)
        np.testing.assert_allclose(other["value"], float(value), rtol=1e-8)
        detail = f"{seconds(other['steady'])}, first {seconds(other['first'])}"
        results.append(Result("  / scan of JAX", ours / other["steady"], "x", OVER_SCAN, detail))
    return results


@contextmanager
def built_in(folder: str) -> Iterator[None]:
    """Let builds go into a folder of their own."""
    before = os.environ.get(CACHE)
    os.environ[CACHE] = folder
    try:
        yield
    finally:
        del os.environ[CACHE]
        if before is not None:
            os.environ[CACHE] = before


def by_scan(name: str, scale: float) -> dict[str, Any]:
    """Return what JAX takes for a program, in a process of its own."""
    command = [peers.interpreter("jax"), "-m", "benchmarks.loop_programs", name, str(scale)]
    environment = {**os.environ, "PYTHONPATH": str(peers.ROOT)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=peers.ROOT)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    numbers: dict[str, Any] = json.loads(done.stdout)
    return numbers
