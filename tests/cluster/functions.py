"""Functions of the tests that workers import by name."""

import os
import signal
from pathlib import Path

import numpy as np

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
    """End the process the first time."""
    path = Path(str(flag.tobytes().decode()))
    if path.exists():
        path.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return x.sum()


def killing(flag, x):
    return pure_callback(_killing, np.float64(0), flag, x)


def load(path):
    return np.load(path)


def predicted(w, x):
    return np.tanh(x @ w)[::2]


def counters():
    """Process, and the most loads and the traces of its functions."""
    loads, traces = zip(*worker.counters(), strict=True)
    return os.getpid(), max(loads), sum(traces)
