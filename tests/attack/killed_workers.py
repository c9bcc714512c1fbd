"""Attack on workers: processes of each executor are killed at random moments of passes, also while they start.

Each pass gives the right sum or a ClusterError. The script ends in time, and no process stays behind. That of loky may
wait at its exit for ever, where a worker was killed just before. It is ended after its last answer.

    python -m tests.attack.killed_workers spawn 7   # the script of one try
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil

from anyshape.cluster import Dask, Joblib, Processes, chunked_sum
from anyshape.errors import ClusterError
from tests.attack.kit import Wrong
from tests.cluster import functions
from tests.cluster.conftest import local_cluster

ROOT = Path(__file__).resolve().parents[2]
EXECUTORS = {
    "spawn": lambda: Processes(2),
    "forkserver": lambda: Processes(2, start="forkserver"),
    "loky": lambda: Joblib(2),
    "dask": lambda: Dask(local_cluster(2)[0].get_client(), grace=5),
}
PASSES = 5
SECONDS = 120  # for a script
CHUNKS = [np.full(3, float(i)) for i in range(16)]


def kill(rng, seconds):
    """Kill one to three processes below this one, in about so many seconds."""
    for _ in range(rng.integers(1, 4)):
        time.sleep(rng.uniform(0, seconds))
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
            below = [p for p in psutil.Process().children(recursive=True) if p.status() != psutil.STATUS_ZOMBIE]
            running = [p.pid for p in below if "resource_tracker" not in str(p.cmdline())]
            if running:
                os.kill(rng.choice(running), signal.SIGKILL)


def passes(kind, rng):
    """Yield what became of each of some passes, whose results are small or larger than a pipe holds."""
    w = np.ones((10, 300_000)[rng.integers(2)])
    executor = EXECUTORS[kind]()
    total = chunked_sum(functions.scaled, over="x", executor=executor, tasks=len(CHUNKS))
    for _ in range(PASSES):
        killer = threading.Thread(target=kill, args=(rng, rng.choice([0.1, 1.0])))
        killer.start()
        try:
            yield "right" if np.array_equal(total(w, CHUNKS), 360 * w) else "wrong"
        except ClusterError:
            yield "error"
        killer.join()
    executor.close()
    yield "closed"


def killed_workers(rng, kinds=tuple(EXECUTORS)):
    """Run a script whose workers are killed, and at times itself; look at what it says and leaves."""
    kind, seed = kinds[rng.integers(len(kinds))], str(rng.integers(2**31))
    command = [sys.executable, "-m", __name__, kind, seed]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as script:
        killer = threading.Timer(SECONDS, os.killpg, (script.pid, signal.SIGKILL))
        killer.start()
        is_killed = kind in ("spawn", "forkserver") and rng.integers(3) == 0
        said = [script.stdout.readline().strip() for _ in range(1 if is_killed else PASSES + 1)]
        if kind == "loky":
            os.killpg(script.pid, signal.SIGKILL)
        elif is_killed:
            script.kill()
        script.wait()
        killer.cancel()
    is_ended = is_killed or _ended(kind, said.pop(), script.returncode)
    if not is_ended or not set(said) <= {"right", "error"}:
        raise Wrong(f"{' '.join(command)} says {said} and ends with {script.returncode}")
    left = _left(script.pid)
    if left:
        raise Wrong(f"{' '.join(command)} leaves {left}")
    return f"{kind}: {'all right' if set(said) == {'right'} else 'errors'}"


def _ended(kind, last, code):
    return last == "closed" and (kind == "loky" or code == 0)


def _left(session):
    """Return the processes of a session that do not end in time."""
    end = time.monotonic() + 15
    while left := [p for p in psutil.pids() if _session(p) == session]:
        if time.monotonic() > end:
            return left
        time.sleep(0.1)
    return []


def _session(pid):
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    for said in passes(sys.argv[1], np.random.default_rng(int(sys.argv[2]))):
        print(said, flush=True)
