"""Kernels by themselves: count what runs of a plan are worth, and build where that pays.

Work is counted, never timed: the elements of each run, times what traits say of its steps, over the threads that share
it. So the same calls lead to the same build, whatever else the machine does.

Kernels are written when runs are worth a look into the cache, and taken from there. A small program never gets so far:
it loads no modules of the compiler, writes no text, and reads no file.
"""

import functools
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.tiles import MIN_WORK, GroupSource
from anyshape.backend.compiler.op_traits import nanoseconds
from anyshape.backend.compiler.plan import Step
from anyshape.backend.runtime.config import config
from anyshape.errors import SettingWarning
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.indexing import put_add_op
from anyshape.support.fork_lock import IMPORTED_BY, Lock
from anyshape.support.packages import native_kernels, native_launch

_LOG = logging.getLogger("anyshape.kernels")
DEFAULT_SECONDS = 1.0  # of counted work from which on a build pays: it takes about as long
WORKERS_SECONDS = 10.0  # times as much in forked processes and workers, which may all run the same program
ROW_SUM_SECONDS = 2e-9  # of NumPy for an element that a step adds at a position
COUNTED_SECONDS = 1e-4  # of a run that counts; to count it takes less than a hundredth
LOOKED_SECONDS = 0.01  # from which on a look into the cache pays: the modules that write kernels take as long to load
ASKED_SECONDS = 0.005  # of counted work between two looks at the compiler


def _seconds_of_environment() -> float:
    """Return the value of ANYSHAPE_COMPILE_AFTER, else the default."""
    text = os.environ.get("ANYSHAPE_COMPILE_AFTER", "").strip()
    try:
        seconds = float(text or DEFAULT_SECONDS)
    except ValueError:
        seconds = -1.0
    if seconds >= 0:
        return seconds
    problem = f"ANYSHAPE_COMPILE_AFTER is {text!r}, not a number of seconds; it is {DEFAULT_SECONDS:g}"
    warnings.warn(problem, SettingWarning, stacklevel=2)
    return DEFAULT_SECONDS


after = _seconds_of_environment()  # 0: each group is built at its first run, which waits


def _needed() -> float:
    """Return the seconds of counted work from which on a build pays in this process."""
    process = sys.modules.get("multiprocessing.process")
    is_worker = process is not None and (process.parent_process() is not None or process.current_process().daemon)
    return after * WORKERS_SECONDS if is_worker or os.getpid() != IMPORTED_BY else after


class Work:
    """Counted work of a plan, in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._asked = 0.0

    def add(self, seconds: float) -> None:
        """Count a run that takes so long on one thread. A step that is shared keeps each thread busy for a while."""
        self.seconds += seconds / min(config.num_threads, 1 + seconds * 1e9 // MIN_WORK)

    def is_due(self) -> bool:
        """Return whether a build pays by now, and the compiler has not been asked just before."""
        if self.seconds < max(after, self._asked) or self.seconds < _needed():
            return False
        self._asked = self.seconds + ASKED_SECONDS
        return True

    def reason(self) -> str:
        """Return why nothing is built, or that it is being built."""
        if self.seconds >= _needed():
            return "waiting"
        return f"NumPy: runs so far are worth {self.seconds:.2g} s, a build pays from {_needed():g} s on"


class _RowSums:
    """Sums of rows by position for all programs: one library serves them."""

    def __init__(self) -> None:
        self.work = Work()
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, threads: int | None, rows: np.ndarray, position: np.ndarray, count: int) -> np.ndarray | None:
        """Return zeros of `count` rows, with rows[k] added at position[k]; None where NumPy is to serve the call."""
        if self._compiled is None:
            seconds = ROW_SUM_SECONDS * rows.size
            if seconds < COUNTED_SECONDS and after:
                return None
            self.work.add(seconds)
            sums, is_due = native_launch.SUMS, self.work.is_due()
            if not after:
                sums.load()
            if not sums.poll(starts=is_due):
                return None
            self._compiled = sums
        result: np.ndarray | None = self._compiled(rows, position, count, threads=threads)
        return result

    def state(self, dtype: np.dtype) -> str:
        """Return "compiled", or why NumPy sums rows of this dtype."""
        state: str = native_launch.SUMS.state(dtype)
        return self.work.reason() if state == "waiting" else state


ROW_SUMS = _RowSums()


class AutomaticKernels:
    """Kernels of the groups of one plan, which are built once its runs are worth that."""

    mode = "auto"

    def __init__(self) -> None:
        self.work = Work()
        self._writers: dict[str, GroupSource] = {}
        self._texts: dict[str, dict[Size, str]] = {}  # of the sizes that calls pass
        self._sums: dict[str, np.dtype] = {}  # dtypes of steps that sum rows
        self._namespace: dict[str, Any] = {}
        self._kernels: Any = None  # `PlanKernels`, from the first look into the cache on
        self._until = min(LOOKED_SECONDS, after)  # counted work up to which nothing is to be done
        self._lock = Lock()

    @property
    def states(self) -> dict[str, str]:
        """Outcome for each group; nothing before a run has counted."""
        states: dict[str, str] = {} if self._kernels is None else self._kernels.states
        states = {name: self.work.reason() if s == "waiting" else s for name, s in states.items()}
        return states | {name: ROW_SUMS.state(dtype) for name, dtype in self._sums.items() if ROW_SUMS.work.seconds}

    def outcomes(self) -> dict[str, str]:
        """Return what became of each group by now."""
        return self.states

    def in_loop(self, site: Any) -> "AutomaticKernels":
        """Return what takes the groups in a loop: runs of them in NumPy are counted."""
        return self

    def add(self, name: str, writer: GroupSource) -> bool:
        """Take a group. Its kernel is written when a run counts, so calls pass all sizes."""
        metas = [meta for step in writer.group.steps for meta in (*step.metas, *step.results)]
        sizes = dict.fromkeys([size for meta in metas for size in meta.sizes or () if not isinstance(size, int)])
        for size in sizes:
            writer.local_size(size)
        for slot in writer.written:
            writer.result_lines(slot)
        self._writers[name], self._texts[name] = writer, {size: writer.size(size) for size in sizes}
        return True

    def counter(self, name: str, writer: GroupSource) -> tuple[Callable[..., Any], int]:
        """Return what runs of a group call that has no kernel yet, and from how many elements on."""
        times = [nanoseconds(step.op, step.results[0].dtype) for step in writer.group.steps]
        each = sum(times) * 1e-9
        return functools.partial(self._count, name, each), int(COUNTED_SECONDS / each) if after else 0

    def step_function(self, step: Step, threads: int | None) -> Callable[..., Any] | None:
        """Return the kernel of a step that sums rows with machine code once it is built; None for other steps."""
        if step.op is not put_add_op:
            return None
        self._sums[f"{step.op.name} {len(self._sums)}"] = step.results[0].dtype
        return functools.partial(KERNELS[step.op].run, compiled=functools.partial(ROW_SUMS, threads))

    def build(self, namespace: dict[str, Any]) -> None:
        """Take the scope of the plan's function. Nothing is built before runs have counted."""
        self._namespace = namespace
        for name, writer in self._writers.items():  # which would keep the writer of the plan
            writer.bind, writer.size = self._bind, functools.partial(_text, self._texts[name])

    def _count(self, name: str, each: float, elements: int, *arguments: Any) -> Any:
        """Count a run. Return its results if there is a kernel by now, else None: NumPy serves it."""
        self.work.add(each * elements)
        if self.work.seconds < self._until or not self._lock.acquire(blocking=False):
            return None
        try:
            self._advance()
        except Exception:  # NumPy serves the call
            _LOG.exception("kernels could not be written")
            self._end()
        finally:
            self._lock.release()
        launcher = self._namespace[name]
        return None if launcher is None else launcher(*arguments)

    def _advance(self) -> None:
        """Take kernels that are in the cache. Build the others once that pays, and put them in place once they are."""
        is_new = self._kernels is None
        if is_new:
            self._kernels = native_kernels.PlanKernels(self.mode)
            for name, writer in self._writers.items():
                passed = len(writer.sizes)
                if self._kernels.add(name, writer) and len(writer.sizes) > passed:
                    self._kernels.leave_out(name, "calls do not pass all its sizes")
            self._kernels.take(self._namespace)
        is_due = self.work.is_due()
        if is_due and not after:
            self._kernels.finish()
        if (is_new or is_due) and self._kernels.poll(starts=is_due):
            self._end()
        self._until = max(_needed(), self.work.seconds + ASKED_SECONDS if is_due else 0.0)

    def _bind(self, prefix: str, thing: Any) -> str:
        """Bind an object to a new name, in the scope of the plan's function."""
        name = naming.unused_name(prefix, self._namespace)
        self._namespace[name] = thing
        return name

    def _end(self) -> None:
        """Count no more runs: nothing is left to build."""
        for name in self._writers:
            self._namespace[naming.kernel_counter(name)] = _nothing


def _text(texts: dict[Size, str], size: Size) -> str:
    """Return the text of a size, where the run of a group is called."""
    return texts.get(size) or str(size)


def _nothing(*_: Any) -> None:
    """Leave a run to NumPy."""
