"""Script that is interrupted in a pass, and calls again. `tests/cluster/test_faults.py` runs it."""

import time

import numpy as np

from anyshape.cluster import Processes, chunked_sum
from tests.cluster import functions

if __name__ == "__main__":
    with Processes(2) as pool:
        f = chunked_sum(functions.slow, over="x", executor=pool, tasks=2)
        quick = [np.zeros(3)] * 16
        print("first", float(f(quick)), flush=True)
        try:
            f([np.full(3, 0.5)] * 64)
            print("not interrupted", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        started = time.perf_counter()
        print("next", round(float(f([np.full(3, 1e-3)] * 16)), 6), flush=True)
        print("at once" if time.perf_counter() - started < 10 else "after the tasks of 16 s", flush=True)
