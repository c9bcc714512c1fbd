"""Run workloads with one library in a process of its own: `python -m benchmarks.worker NAME`.

A request is a method of `Server` with arguments. It arrives on standard input, as `multiprocessing` sends objects. Its
answer, a flag for success and the result, leaves on standard output. Output of libraries goes to standard error. The
other end is `Worker`.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.libraries import LIBRARIES
from benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).resolve().parents[1]
REPORTING = ("numpy", "anyshape", "compiled", "autograd")  # allocate through NumPy, which reports to tracemalloc
GRACE = 5.0  # seconds in which a process has to end
COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ANYSHAPE_NUM_THREADS")  # variables with numbers of threads


class Failed(Exception):
    """A worker failed; the text says why, in one line."""


class Server:
    """Answer requests for one library. Times are in seconds of `time.perf_counter`."""

    def __init__(self, name: str) -> None:
        self.name, self.library = name, LIBRARIES[name]()

    def hello(self) -> str:
        """The version of the library."""
        return str(self.library.version)

    def first(self, key: str, scale: float) -> tuple[float, list[Any]]:
        """Make the function of a workload and sweep: how long that took, with the results of each call as arrays."""
        self.key, self.scale, self.workload = key, scale, WORKLOADS[key]
        sweep = self._held(self.workload.make(scale, 0))
        gc.collect()
        start = time.perf_counter()
        self.call = self.library.function(key, self.workload)
        results = [self.library.wait(self.call(*args)) for args in sweep]
        taken = time.perf_counter() - start
        self.sweep, self.last = sweep, self._turn(sweep, 1)
        return taken, [self.library.arrays(r) for r in results]

    def turn(self, least: float, warm: float = 0.0) -> float:
        """Seconds of a sweep, of as many as fill the time, after sweeps for some time that do not count."""
        start = time.perf_counter()
        while time.perf_counter() - start < warm:
            self._turn(self.sweep, 1)
        self.last = self._turn(self.sweep, max(1, round(least / max(self.last, 1e-7))), keep=True)
        return self.last

    def results(self) -> list[Any]:
        """Return the results of the last sweep of the last turn as arrays, and release them."""
        results, self.last_results = self.last_results, []
        return [self.library.arrays(r) for r in results]

    def more(self, step: int) -> tuple[float, list[Any]]:
        """How long the first call at other sizes takes, with its results as arrays."""
        (args,) = self._held(self.workload.make(self.scale, step))
        start = time.perf_counter()
        result = self.library.wait(self.call(*args))
        return time.perf_counter() - start, [self.library.arrays(result)]

    def peak(self, scale: float) -> int | None:
        """Return the peak bytes of a sweep at a scale, beyond those held before; None where nothing reports them."""
        if self.name not in REPORTING:
            return None
        sweep = self.sweep if scale == self.scale else self._held(self.workload.make(scale, 0))
        if sweep is not self.sweep:
            self._turn(sweep, 1)
        self.library.forget()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            self._turn(sweep, 1)
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()

    def _held(self, sweep: list[Any]) -> list[Any]:
        return [self.library.arguments(self.workload, args) for args in sweep]

    def _turn(self, sweep: list[Any], number: int, *, keep: bool = False) -> float:
        """Return the seconds of one of several sweeps. Only the last results are held, so others find free memory."""
        call, wait = self.call, self.library.wait
        self.last_results: list[Any] = []
        gc.disable()
        try:
            start = time.perf_counter()
            for _ in range(number - keep):
                for args in sweep:
                    wait(call(*args))
            if keep:
                self.last_results = [wait(call(*args)) for args in sweep]
            return (time.perf_counter() - start) / number
        finally:
            gc.enable()


class Worker:
    """Client of a server process on a number of cores. A process that does not answer in time is ended.

    Without a number, nothing is set, whatever the environment here says: a process has its defaults. Compilation caches
    on disk go into `folder`, so that no process finds the work of another.
    """

    module = "benchmarks.worker"

    def __init__(self, python: str, name: str, threads: int | None, folder: str, patience: float = 180.0) -> None:
        self.name, self.patience = name, patience
        counts = {} if threads is None else dict.fromkeys(COUNTS, str(threads))
        unset = {variable: value for variable, value in os.environ.items() if variable not in COUNTS}
        environment = {**unset, **counts, "PYTHONPATH": str(ROOT)}
        environment |= {"TORCHINDUCTOR_CACHE_DIR": folder, "PYTENSOR_FLAGS": f"base_compiledir={folder}"}
        environment["ANYSHAPE_KERNEL_CACHE"] = str(Path(folder, name))  # each builds for itself
        self.said = Path(folder, f"{name}.txt")
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [python, "-m", self.module, name, str(threads or 0)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environment,
                cwd=ROOT,
            )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.requests = Connection(os.dup(self.process.stdin.fileno()), readable=False)
        self.answers = Connection(os.dup(self.process.stdout.fileno()), writable=False)
        self.process.stdin.close()
        self.process.stdout.close()

    def ask(self, method: str, *args: Any) -> Any:
        """Return the result of the method, or raise Failed with the reason."""
        try:
            self.requests.send((method, args))
            answered = self.answers.poll(self.patience)
            worked, answer = self.answers.recv() if answered else (False, f"no answer within {self.patience:g} s")
        except (EOFError, OSError) as error:
            raise Failed(self._last_words()) from error
        except Exception as error:  # arrays of dtypes that only the other end knows cannot be read here
            raise Failed(f"the answer cannot be read: {type(error).__name__}: {error}"[:200]) from error
        if not answered:
            self.close()
        if not worked:
            raise Failed(answer)
        return answer

    def _last_words(self) -> str:
        self.close()
        lines = self.said.read_text(errors="replace").strip().splitlines()
        return lines[-1][:200] if lines else f"the process ended with {self.process.returncode}"

    def close(self) -> None:
        """End the process."""
        self.requests.close()
        self.answers.close()
        try:
            self.process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(name: str, threads: int, make: Callable[[str], Any] = Server) -> None:
    """Answer by the methods of what is made until nobody asks any more; 0 threads stand for the defaults."""
    available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if 0 < threads < len(available):  # not all libraries look at variables of the environment
        os.sched_setaffinity(0, available[:threads])
    requests, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)
    server = None
    while True:
        try:
            method, args = requests.recv()
        except EOFError:
            return
        try:
            server = server or make(name)
            answers.send((True, getattr(server, method)(*args)))
        except Exception as error:
            answers.send((False, f"{type(error).__name__}: {error}".partition("\n")[0][:200]))


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
