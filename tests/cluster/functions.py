"""Functions of the tests that workers import by name."""

import os
import resource
import signal
import time
from pathlib import Path

import numpy as np
import threadpoolctl

from anyshape import pure_callback, value_and_grad
from anyshape.cluster import worker


def loss(w, x, y):
    return np.sum(np.log1p(np.exp(-y * (x @ w))))


def mean_loss(w, x, y):
    return np.mean((x @ w - y) ** 2)


step = value_and_grad(loss)


def _refusing(x):
    if x.size and x.max() > 100:
        raise ValueError("a row is too large")
    return x.sum()


def refusing(w, x):
    return w * pure_callback(_refusing, np.float64(0), x)


def _killing(flag, x):
    """End the process that removes the file: the first one, where two try at once."""
    try:
        Path(flag.tobytes().decode()).unlink()
    except FileNotFoundError:
        return x.sum()
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def killing(flag, x):
    return pure_callback(_killing, np.float64(0), flag, x)


def load(path):
    return np.load(path)


def predicted(w, x):
    return np.tanh(x @ w)[::2]


def counters():
    """Process, and the name, loads and traces of each of its functions."""
    return os.getpid(), worker.counters()


def sleeping(x):
    time.sleep(float(x[0]))
    return x.sum()


def faults_of_large_arrays():
    """Flag whether the allocator keeps memory in spite of Dask, and page faults of arrays that are freed in turn."""
    undone = worker.keep_freed_memory()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(1 << 20)
    return undone, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def threads_now():
    """The least and the most threads of a BLAS library in this process."""
    counts = [info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"]
    return np.array([min(counts), max(counts)], float)


def threads_of_blas(x):
    """The same while a chunk is worked on."""
    return pure_callback(lambda x: threads_now(), np.zeros(2), x)


def slow(x):
    """Sum of a chunk, after as many seconds as its first number says."""
    return pure_callback(sleeping, np.float64(0), x)


def ridge(w, x, y):
    return loss(w, x, y) + 0.05 * np.sum(x * x) * np.sum(w * w)


def scaled(w, x):
    return w * np.sum(x)
