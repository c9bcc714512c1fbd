"""The benchmark of clusters on the workers of these tests: it runs to its end, and its counters are right."""

import json
import time

import pytest

from benchmarks import cluster, cluster_data, cluster_peers, peers
from benchmarks.timing import Effort, Result

QUICK = Effort(rounds=1, turn=0.0)


@pytest.fixture(autouse=True)
def few_chunks(monkeypatch):
    monkeypatch.setattr(cluster, "MANY", 4)


def by_name(results):
    return {r.name.partition(":")[0]: r for r in results}


def test_counters_of_processes_are_right(pool):
    results = by_name(cluster.on_processes(pool, QUICK, rows=40))
    assert results["traces on workers"].value == 0 and results["loads of the function by a worker"].value == 1
    assert results["a pass on 2 processes / on this one"].value > 0


@pytest.mark.slow
def test_passes_on_dask_equal_the_ones_by_hand(client):
    results = by_name(cluster.on_client(client, QUICK, rows=40))  # equal, or it raises
    assert results["traces on workers"].value == 0 and results["loads of the function by a worker"].value == 1
    assert results["value and gradient / Dask with NumPy by hand"].value > 0
    assert results["map_chunks / map_blocks of NumPy"].value > 0


def test_peers_report_what_they_measured(monkeypatch):
    w, pairs = cluster_data.parameters(), zip(*cluster_data.chunks(3, 20, 60), strict=True)
    value, _ = cluster_data.added([cluster_data.by_hand(w, *pair) for pair in pairs])
    row = {"first": 1.5, "later": 0.5, "value": float(value), "compiled": 3}
    monkeypatch.setattr(cluster, "of_peers", lambda rows, count: {"jax.jit": row})
    ours, theirs = cluster.against_peers(40, 3)
    assert theirs.value == 1.5 and "compiled 3 times" in theirs.detail and "1 trace" in ours.detail
    monkeypatch.setattr(cluster, "of_peers", lambda rows, count: {"jax.jit": {**row, "value": 0.0}})
    with pytest.raises(AssertionError):
        list(cluster.against_peers(40, 3))


def test_peers_run_in_a_process_of_their_own(monkeypatch):
    monkeypatch.setattr(cluster_peers, "has", lambda name: False)
    assert json.loads(json.dumps(cluster_peers.main(40, 3))) == {}
    assert set(cluster.of_peers(40, 2)) <= {"jax.jit", "autograd", "jax.jit on Dask", "autograd on Dask"}
    monkeypatch.setattr(peers, "interpreter", lambda: "false")
    with pytest.raises(TimeoutError, match="the peers ended"):
        cluster.of_peers(40, 2)


def test_a_part_that_never_ends_leaves_what_it_has_measured(monkeypatch):
    def endless(effort, rows):
        yield Result("first", 1.0, "")
        time.sleep(60)

    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    monkeypatch.setattr(cluster, "of_processes", endless)
    monkeypatch.setattr(cluster, "of_dask", lambda effort, rows: iter(()))
    monkeypatch.setattr(cluster, "against_peers", lambda rows, count: iter([Result("last", 2.0, "")]))
    results = cluster.run(QUICK, rows=40)
    assert [r.name for r in results] == ["first", "processes: not measured to the end", "last"]
