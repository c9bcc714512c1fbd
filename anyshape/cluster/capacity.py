"""Capacity planning: the time of a pass over chunks on many workers, on paper and by simulation."""

import math

import numpy as np

from anyshape.cluster.sums import PAIRS
from anyshape.errors import ArgumentError
from anyshape.support.lazy_dataclass import NamedTuple, dataclass

_TASKS, _FEW = 2, 2 * PAIRS  # tasks of a worker, and outcomes that the client adds up, as `Dask` has them


class PassPlan(NamedTuple):
    """Parts of the time of a pass in seconds, the bytes that it moves, and the part that binds.

    `broadcast`, `schedule`, `compute` and `sums` add up to `seconds`.

    >>> plan = Capacity(rows=10**8, seconds_per_row=1e-6, parameter_bytes=8e6, result_bytes=8e6).on_paper(100)
    >>> plan.workers, round(plan.compute, 3), plan.seconds > plan.compute
    (100, 1.0, True)
    """

    workers: int
    seconds: float
    broadcast: float
    schedule: float
    compute: float
    sums: float
    bytes_moved: float
    rows_per_second: float
    binds: str


@dataclass(frozen=True)
class Capacity:
    """Numbers of a pass: its rows and their cost, what travels, and the network.

    - `seconds_per_row` is of one worker: seconds / rows of a `WorkerReport`.
    - `parameter_bytes` go to every worker, and `result_bytes` come from each task.
    - `bandwidth` is in bytes per second, `latency` in seconds for each message.
    - `task_seconds` is what the scheduler takes for each task, one after another.

    >>> plan = Capacity(rows=10**8, seconds_per_row=1e-6, parameter_bytes=8e6, result_bytes=8e6)
    >>> plan.on_paper(100).binds, plan.on_paper(1000).binds
    ('compute', 'schedule')
    """

    rows: int
    seconds_per_row: float
    parameter_bytes: float
    result_bytes: float
    bandwidth: float = 1.25e9
    latency: float = 5e-4
    task_seconds: float = 5e-4

    def on_paper(self, workers: int) -> PassPlan:
        """Return the estimate of a pass with equal tasks, part after part: no part hides behind another.

        Parameters spread to as many workers again in each turn. Each level of the sum brings seven partial sums to
        the worker of an eighth, and the client takes the last ones.
        """
        if workers < 1:
            raise ArgumentError("on_paper", "workers", f"is {workers}", "give a number of at least 1")
        message = lambda size: self.latency + size / self.bandwidth
        tasks = _TASKS * workers
        levels, ends, sums = _levels(tasks)
        parts = {
            "broadcast": math.ceil(math.log2(workers + 1)) * message(self.parameter_bytes),
            "schedule": (tasks + sums) * self.task_seconds,
            "compute": self.rows * self.seconds_per_row / workers,
            "sums": (levels * (PAIRS - 1) + ends) * message(self.result_bytes),
        }
        seconds = sum(parts.values())
        moved = workers * self.parameter_bytes + (tasks + sums) * self.result_bytes
        binds = max(parts, key=lambda name: parts[name])
        return PassPlan(workers, seconds, **parts, bytes_moved=moved, rows_per_second=self.rows / seconds, binds=binds)

    def simulated(self, workers: int, *, unequal: float = 0.3, seed: int = 0) -> float:
        """Return the seconds of a pass by simulation: tasks wait for the scheduler, a worker and a network card.

        `unequal` is the standard deviation of the time of a task, relative to the mean. Parts overlap here.
        """
        rng = np.random.default_rng(seed)
        tasks = _TASKS * workers
        shares = np.maximum(rng.normal(1.0, unequal, tasks), 0.05)
        work = shares / shares.sum() * self.rows * self.seconds_per_row
        message = self.latency + self.result_bytes / self.bandwidth
        begin = math.ceil(math.log2(workers + 1)) * (self.latency + self.parameter_bytes / self.bandwidth)
        free = np.full(workers, begin)  # when each worker is idle again
        scheduler = begin
        ends = np.empty(tasks)
        for i in range(tasks):  # the scheduler gives out tasks in turns of all workers
            scheduler += self.task_seconds
            worker = i % workers
            free[worker] = max(free[worker], scheduler) + work[i]
            ends[i] = free[worker]
        ends = ends.reshape(_TASKS, workers).T.ravel()  # neighbouring tasks are on one worker
        while len(ends) > _FEW:
            groups = [ends[i : i + PAIRS] for i in range(0, len(ends), PAIRS)]
            ends = np.array([_received(np.sort(group)[:-1], message, group.max()) for group in groups])
            ends = np.maximum(ends, scheduler + self.task_seconds * np.arange(1, len(ends) + 1))
            scheduler += self.task_seconds * len(ends)
        return float(_received(np.sort(ends), message, 0.0))


def _levels(tasks: int) -> tuple[int, int, int]:
    """Return the levels of sums on workers, the outcomes that are left for the client, and the number of sums."""
    levels, sums = 0, 0
    while tasks > _FEW:
        tasks = -(-tasks // PAIRS)
        levels, sums = levels + 1, sums + tasks
    return levels, tasks, sums


def _received(ready: np.ndarray, message: float, own: float) -> float:
    """Return when one network card has taken messages that are ready at these times, and its worker is ready too."""
    taken = 0.0
    for moment in ready:
        taken = max(taken, float(moment)) + message
    return max(taken, own)
