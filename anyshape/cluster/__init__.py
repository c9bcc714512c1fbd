"""Programs over chunks of unequal lengths, on Dask, joblib, processes, threads or in this process.

No worker traces anything: the client sends the function with its programs, which serve chunks of every size.
"""

from anyshape.cluster.blocks import map_chunks, vjp_chunks
from anyshape.cluster.chunked import Capacity, ChunkedSum, PassPlan, PassReport, WorkerReport, chunked_sum
from anyshape.cluster.executors import Dask, Executor, Joblib, Processes, Serial, Threads
from anyshape.cluster.minimisation import minimize

__all__ = [
    "Capacity", "ChunkedSum", "Dask", "Executor", "Joblib", "PassPlan", "PassReport", "Processes", "Serial",
    "Threads", "WorkerReport", "chunked_sum", "map_chunks", "minimize", "vjp_chunks",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
