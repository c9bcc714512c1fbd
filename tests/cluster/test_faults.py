"""Faults of a cluster: interrupts, and a scheduler that goes away in a minimisation."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from anyshape.cluster import Dask, Serial, chunked_sum, minimize
from anyshape.errors import ClusterError
from tests.cluster import functions
from tests.cluster.conftest import local_cluster

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_an_interrupt_cancels_and_the_next_call_works():
    """Ctrl-C goes to the script and to its workers, as in a terminal."""
    command = [sys.executable, "-m", "tests.cluster.interrupted"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as script:
        assert script.stdout.readline() == "first 0.0\n"
        time.sleep(0.5)
        os.killpg(script.pid, signal.SIGINT)
        out, _ = script.communicate(timeout=120)
    assert out.splitlines() == ["interrupted", "next 0.048", "at once"] and script.returncode == 0


@pytest.fixture
def heeded():
    """Ctrl-C, which a shell may have programs in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded")
def test_an_interrupt_stops_tasks_on_dask_that_have_begun(client):
    f = chunked_sum(functions.slow, over="x", executor=client, tasks=2)
    assert float(f([np.zeros(3)] * 16)) == 0
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f([np.full(3, 0.1)] * 600)
    started = time.perf_counter()
    assert float(f([np.zeros(3)] * 16)) == 0
    assert time.perf_counter() - started < 10  # a task of the pass before has 30 s


@pytest.mark.slow
def test_a_scheduler_that_goes_away_leaves_the_last_iterate(tmp_path, rng):
    x, y = [rng.normal(size=(n, 4)) for n in (5, 30, 8)], [rng.choice([-1.0, 1.0], n) for n in (5, 30, 8)]
    cluster, Client = local_cluster(1, processes=False)
    address = cluster.scheduler_address
    passes = []

    def lose(result):
        passes.append(result.x)
        if result.nit == 2:
            cluster.sync(cluster.scheduler.close)

    with cluster, Client(cluster, timeout=2, connection_limit=4) as own:
        f = chunked_sum(functions.ridge, over=("x", "y"), executor=own, tasks=3)
        with pytest.raises(ClusterError) as caught:
            minimize(f, np.zeros(4), (x, y), file=tmp_path / "run.npz", callback=lose)
    assert caught.value.kind == "scheduler" and f"the scheduler at {address} is gone" in str(caught.value)
    np.testing.assert_array_equal(caught.value.last, passes[-1])
    serial = chunked_sum(functions.ridge, over=("x", "y"), executor=Serial(), tasks=3)
    again = minimize(serial, np.zeros(4), (x, y), file=tmp_path / "run.npz")
    np.testing.assert_array_equal(again.x, minimize(serial, np.zeros(4), (x, y)).x)
    assert again.success and again.nit > 2


def test_a_pass_right_after_all_workers_have_left_is_an_error():
    """The number of threads is known from the pass before: without asking again, tasks would wait forever."""
    cluster, Client = local_cluster(1, processes=False)
    with cluster, Client(cluster) as client:
        executor = Dask(client)
        total = chunked_sum(np.sum, over=0, executor=executor)
        assert total([np.ones(3), np.ones(4)]) == 7
        cluster.scale(0)
        end = time.monotonic() + 20
        while client.nthreads() and time.monotonic() < end:
            time.sleep(0.01)
        with pytest.raises(ClusterError, match="has no workers"):
            total([np.ones(3)])


def test_a_pass_whose_workers_all_end_is_an_error_in_time():
    cluster, Client = local_cluster(1, processes=False)
    with cluster, Client(cluster) as client:
        total = chunked_sum(functions.slow, over="x", executor=Dask(client, grace=0.5), tasks=2)
        assert float(total([np.zeros(3)] * 4)) == 0
        timer = threading.Timer(0.5, cluster.scale, (0,))
        timer.start()
        started = time.monotonic()
        with pytest.raises(ClusterError, match="has lost all workers") as caught:
            total([np.full(3, 0.05)] * 200)
        assert caught.value.kind == "workers" and time.monotonic() - started < 30
