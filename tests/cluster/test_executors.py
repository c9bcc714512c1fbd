"""Executors of processes: what travels in pipes and what in files, and pools that break."""

import select
from pathlib import Path

import numpy as np
import pytest

from anyshape.cluster import Joblib, Processes, chunked_sum, executors
from anyshape.cluster.executors import received
from anyshape.errors import ArgumentError, ClusterError
from tests.cluster import functions


@pytest.mark.parametrize("kind", ["processes", "joblib"])
def test_results_that_a_pipe_takes_in_parts_are_written_to_files(pool, monkeypatch, kind):
    """A worker that is killed amid such a result would leave the client waiting for the rest."""
    sent, folders = [], []
    monkeypatch.setattr(executors, "received", lambda x: sent.append(x) or received(x))
    executor = {"processes": pool, "joblib": Joblib(2)}[kind]
    f = chunked_sum(functions.scaled, over="x", executor=executor, tasks=3)
    for size in (100_000, 3):
        np.testing.assert_array_equal(f(np.ones(size), [np.ones(2)] * 6), np.full(size, 12.0))
        folders.append(executor._files.new_path().parent)
    files, results = sent[:3], sent[3:]
    assert len(results) == 3 and all(len(x) <= select.PIPE_BUF // 2 for x in results)
    assert all(isinstance(x, str) and Path(x).parent in folders and not Path(x).exists() for x in files)


@pytest.mark.parametrize("failures", [1, 9])
def test_a_server_of_forks_that_ends_is_started_again(pool, failures, monkeypatch):
    started, errors = pool._started, [EOFError("unexpected EOF")] * failures
    executor = Processes(2)
    monkeypatch.setattr(executor, "_started", lambda: refuse(errors.pop()) if errors else started())
    f = chunked_sum(np.sum, over=0, executor=executor)
    if failures == 1:
        assert float(f([np.ones(3)] * 3)) == 9
    else:
        with pytest.raises(ClusterError, match="workers ended 3 times"):
            f([np.ones(3)] * 3)


def refuse(error):
    raise error


def test_a_pool_that_waits_for_ever_is_not_what_joblib_gets():
    with pytest.raises(ArgumentError, match="waits for ever where a process ends"):
        Joblib(2, backend="multiprocessing")
