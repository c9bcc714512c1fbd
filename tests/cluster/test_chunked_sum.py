"""Sums over chunks: equal on every executor, without traces on workers, from all kinds of data."""

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import anyshape
from anyshape import grad, hessian, hvp, jvp, value_and_grad
from anyshape.backend.runtime.config import config
from anyshape.cluster import Dask, Joblib, Processes, Serial, Threads, chunked_sum
from anyshape.cluster.chunks import groups_of
from anyshape.cluster.executors import dumped
from anyshape.errors import ArgumentError, ChunkError, ClusterError
from tests.cluster import functions
from tests.cluster.conftest import local_cluster

SIZES = [3, 0, 7, 100, 1, 55, 2, 0, 31]
OVER = ("x", "y")


def data(rng, sizes=SIZES):
    """Chunks of rows, and of their labels."""
    return [rng.normal(size=(n, 4)) for n in sizes], [rng.choice([-1.0, 1.0], n) for n in sizes]


def assert_same_bits(result, expected):
    pairs = zip(anyshape.tree_leaves(result), anyshape.tree_leaves(expected), strict=True)
    assert all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in pairs)


# -- in this process


@pytest.mark.parametrize("transform", [lambda f: f, value_and_grad, grad, hessian], ids=["f", "v&g", "grad", "hessian"])
def test_a_sum_over_chunks_is_the_function_of_all_rows(rng, transform):
    x, y = data(rng)
    w, f = rng.normal(size=4), transform(functions.loss)
    result, expected = chunked_sum(f, over=OVER)(w, x, y), f(w, np.concatenate(x), np.concatenate(y))
    for a, b in zip(anyshape.tree_leaves(result), anyshape.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_products_with_hessians_and_directional_derivatives_are_sums_too(rng):
    (x, y), w, v = data(rng), rng.normal(size=4), rng.normal(size=4)
    whole = np.concatenate(x), np.concatenate(y)
    product = chunked_sum(lambda w, v, x, y: hvp(lambda w: functions.loss(w, x, y), (w,), (v,)), over=OVER)
    np.testing.assert_allclose(product(w, v, x, y), hessian(functions.loss)(w, *whole) @ v)
    slope = chunked_sum(lambda w, v, x, y: jvp(lambda w: functions.loss(w, x, y), (w,), (v,))[1], over=OVER)
    np.testing.assert_allclose(slope(w, v, x, y), grad(functions.loss)(w, *whole) @ v)


def test_means_weigh_chunks_by_their_rows(rng):
    (x, y), w = data(rng), rng.normal(size=4)
    f = value_and_grad(functions.mean_loss)
    value, slope = chunked_sum(f, over=OVER, reduce="mean")(w, x, y)
    expected = f(w, np.concatenate(x), np.concatenate(y))
    np.testing.assert_allclose(value, expected[0])
    np.testing.assert_allclose(slope, expected[1])


def test_one_trace_serves_all_chunks(rng):
    step = chunked_sum(value_and_grad(functions.loss), over=OVER)
    x, y = data(rng, range(1, 40))
    step(np.ones(4), x, y)
    step(np.ones(4), x[::-1], y[::-1])
    assert step.function.cache_info().traces == 1
    assert step.report.rows == tuple(range(39, 0, -1))


def test_chunks_without_rows_do_not_count_but_alone(rng):
    f = chunked_sum(lambda x: np.max(x, axis=0), over="x", tasks=2)
    assert f([np.zeros((0, 2)), np.ones((3, 2)), np.zeros((0, 2))]).tolist() == [1, 1]
    assert float(chunked_sum(np.sum, over=0)([np.zeros((0, 2))])) == 0
    assert np.isnan(chunked_sum(np.mean, over=0, reduce="mean")([np.zeros((0, 2))]))
    with pytest.raises(ChunkError, match="chunk 0"):
        f([np.zeros((0, 2))])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, np.float16, np.float32, np.complex64])
def test_sums_have_the_dtypes_of_sums(dtype):
    x = [np.full((n, 2), 3).astype(dtype) for n in (200, 1, 300)]
    total = chunked_sum(lambda x: (np.sum(x, axis=0), x[0] if len(x) else x.sum(0).astype(x.dtype)), over="x")(x)
    assert total[0].dtype == np.sum(x[0], axis=0).dtype
    np.testing.assert_allclose(total[0], np.sum(np.concatenate(x), axis=0))
    assert total[1].dtype == np.sum(np.stack([x[0][0]] * 3), axis=0).dtype


def test_small_terms_of_narrow_floats_are_not_lost():
    chunks = [np.full(1, 1.0, np.float32)] + [np.full(1, 1e-8, np.float32)] * 1000
    assert float(chunked_sum(np.sum, over=0, tasks=4)(chunks)) == np.float32(1 + 1e-5)


def test_results_by_row_are_refused():
    with pytest.raises(ArgumentError, match=r"shape \(1,\) for one chunk and \(3,\) for another"):
        chunked_sum(lambda x: x * 2, over="x")([np.ones(3), np.ones(1)])


def test_the_sum_does_not_write_to_arguments_that_results_share():
    w = np.ones(3)
    total = chunked_sum(lambda w, x: w, over="x", tasks=1)(w, [np.ones(2), np.ones(1)])
    assert total.tolist() == [2, 2, 2] and w.tolist() == [1, 1, 1]


def read_only(x):
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("executor", ["serial", "threads", "processes"])
@pytest.mark.parametrize("freeze", [np.copy, lambda x: read_only(x.copy())], ids=["own", "read-only"])
def test_functions_that_write_get_copies_of_chunks_and_of_what_all_share(pool, executor, freeze):
    executor = {"serial": Serial(), "threads": Threads(2), "processes": pool}[executor]
    w, chunks = freeze(np.zeros(2)), [freeze(np.full(n, 2.0)) for n in (3, 0, 2, 4)]

    def f(w, x):
        w += 1
        x *= 2
        return np.sum(w) * np.sum(x)

    step = chunked_sum(f, over="x", executor=executor, tasks=2)
    assert [float(step(w, chunks)) for _ in range(2)] == [72, 72]
    assert not w.any() and all(np.all(x == 2) for x in chunks)
    twice = chunked_sum(lambda x, y: np.sum(np.add(x, 1, out=x) * y), over=OVER, executor=executor)
    with pytest.raises(ChunkError, match="shares memory"):  # y would change too
        twice(chunks[:1], chunks[:1])


def test_columns_may_be_a_dict_and_arguments_go_by_name(rng):
    x, y = data(rng)
    f = chunked_sum(lambda w, rows, *, scale: scale * np.sum(rows["x"] @ w * rows["y"]), over="rows")
    expected = 2 * np.sum(np.concatenate(x) @ np.ones(4) * np.concatenate(y))
    np.testing.assert_allclose(f(np.ones(4), {"x": x, "y": y}, scale=2.0), expected)
    rows = [{"x": a, "y": b} for a, b in zip(x, y)]
    np.testing.assert_allclose(f(np.ones(4), scale=2.0, rows=rows), expected)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([np.ones((2, 4))], [np.ones(2), np.ones(3)], "y has 2 chunks, and x has 1"),
        ([np.ones((2, 4)), np.ones((3, 4))], [np.ones(2), np.ones(4)], "y has 4 rows in chunk 1, and x has 3"),
        ([], [np.ones(2)], "x has no chunks"),
        (3.0, [np.ones(2)], "x is of type float"),
    ],
)
def test_chunks_that_differ_are_refused(x, y, message):
    with pytest.raises(ArgumentError, match=message):
        chunked_sum(functions.step, over=OVER)(np.ones(4), x, y)


def test_options_are_checked():
    with pytest.raises(ArgumentError, match="reduce"):
        chunked_sum(np.sum, over=0, reduce="max")
    with pytest.raises(ArgumentError, match="tasks"):
        chunked_sum(np.sum, over=0, tasks=0)
    with pytest.raises(ArgumentError, match="executor"):
        chunked_sum(np.sum, over=0, executor=3)
    with pytest.raises(ArgumentError, match="z is missing"):
        chunked_sum(functions.loss, over="z")(np.ones(4), [np.ones((1, 4))], [np.ones(1)])


def test_groups_have_about_equal_rows_and_keep_the_order():
    rows = [1000, 1, 1, 1, 1000, 500, 500, 0, 3]
    groups = groups_of(rows, [None] * 9, 3, 1)
    assert [i for g in groups for i in g] == list(range(9))
    assert len(groups) == 3 and max(sum(rows[i] for i in g) for g in groups) <= 1010
    owned = groups_of([1] * 6, ["b", "a", "b", "a", "b", "a"], 4, 2)
    assert owned == [[0], [1], [2, 4], [3, 5]] or sorted(i for g in owned for i in g) == list(range(6))
    assert all(len({"ba"[i % 2] for i in g}) == 1 for g in owned)


def test_import_loads_neither_dask_nor_pools():
    for module, unused in (("anyshape", "anyshape.cluster"), ("anyshape.cluster", "concurrent.futures.process")):
        names = ("dask", "distributed", "joblib", "multiprocessing", "scipy.stats", unused)
        code = f"import sys, {module}; print([m for m in {names} if m in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


# -- on other executors


def check_executor(executor, rng, put=True):
    """Results with the bits of the serial ones, without traces, from one load."""
    x, y = data(rng, [*SIZES, *range(40)])
    w = rng.normal(size=4)
    expected = chunked_sum(functions.step, over=OVER, tasks=6)(w, x, y)
    step = chunked_sum(functions.step, over=OVER, executor=executor, tasks=6)
    for _ in range(2):
        assert_same_bits(step(w, x, y), expected)
        assert step.report.rows == (*SIZES, *range(40))
        assert step.report.traces == 0 and all(r.loads <= 1 and r.threads == 1 for r in step.report.workers)
    if put:
        assert_same_bits(step(w, executor.put(x), executor.put(y)), expected)
    return step


def test_threads(rng):
    before = config.num_threads
    check_executor(Threads(2), rng)
    assert config.num_threads == before


def test_processes(rng, pool):
    step = check_executor(pool, rng)
    assert str(os.getpid()) not in {r.worker.partition(":")[2] for r in step.report.workers}


def test_joblib(rng):
    with Joblib(2) as executor:
        check_executor(executor, rng)


@pytest.mark.parametrize("kind", ["processes", "joblib"])
def test_large_arguments_are_sent_once(rng, tmp_path, pool, monkeypatch, kind):
    """A file has them, which each call writes over; the file of a user is mapped itself."""
    sent = []
    monkeypatch.setattr("anyshape.cluster.executors.dumped", lambda x: sent.append(dumped(x)) or sent[-1])
    x, w = [rng.normal(size=(n, 3)) for n in (5, 9, 1)], rng.normal(size=(3, 5000))
    total = np.concatenate(x).sum(axis=0)
    with Joblib(2) if kind == "joblib" else Processes(2, pool=pool._started()) as executor:
        f = chunked_sum(lambda w, x: np.sum(x @ w, axis=0), over="x", executor=executor, tasks=3)
        stored = executor.put([np.asfortranarray(a) for a in x])
        assert not any(a.flags.writeable for a in stored)
        for factor, chunks in ((1.0, x), (2.0, stored), (-1.0, x)):
            np.testing.assert_allclose(f(factor * w, chunks), factor * total @ w)
        longer = np.tile(w, 3)
        np.testing.assert_allclose(f(np.asfortranarray(longer), stored), total @ longer)
        np.save(tmp_path / "w.npy", w)
        np.testing.assert_allclose(f(np.load(tmp_path / "w.npy", mmap_mode="r"), x), total @ w)
    assert len(sent) == 20 and max(map(len, sent)) < w.nbytes / 4


def test_a_pool_of_your_own_and_closures(rng):
    scale = np.float64(3)
    context = multiprocessing.get_context("spawn")
    x, _ = data(rng)
    with concurrent.futures.ProcessPoolExecutor(1, context) as own:
        f = chunked_sum(lambda x: scale * np.sum(x), over="x", executor=own)
        np.testing.assert_allclose(f(x), 3 * np.sum(np.concatenate(x)))
        assert f.report.traces == 0


def test_functions_with_several_programs_are_traced_for_the_sizes_of_all_chunks(pool):
    f = chunked_sum(lambda x: np.sum(x) if x.shape[0] > 5 else 2 * np.sum(x), over="x", executor=pool, tasks=3)
    assert float(f([np.ones(n) for n in (3, 8, 2, 9)])) == 27
    assert f.report.traces == 0 and f.function.cache_info().traces == 2


def test_the_client_names_the_chunk_and_the_line_where_it_traces(pool):
    def wrong(w, x):
        if x.shape[1] == 3:
            raise KeyError("three")
        return np.sum(x * w)

    chunks = [np.ones((2, 2)), np.ones((0, 3)), np.ones((4, 3))]
    line = wrong.__code__.co_firstlineno + 2
    for executor in (pool, Serial()):
        with pytest.raises(ChunkError, match=rf"chunk 2 \(float64\[4, 3\]\) .*test_chunked_sum.py:{line}") as caught:
            chunked_sum(wrong, over="x", executor=executor)(2.0, chunks)
        assert type(caught.value.__cause__) is KeyError


def test_a_chunk_that_raises_is_named(pool):
    chunks = [np.ones(3), np.full(2, 3.0), np.full(4, 101.0)]
    for executor in (Serial(), pool):
        with pytest.raises(ChunkError) as caught:
            chunked_sum(functions.refusing, over="x", executor=executor)(2.0, chunks)
        error = caught.value
        assert error.chunk == 2 and error.shapes == ("float64[4]",)
        assert "a row is too large" in error.trace and "functions.py" in str(error)
        assert isinstance(error.__cause__, Exception)
    assert float(chunked_sum(functions.refusing, over="x", executor=pool)(2.0, chunks[:2])) == 18


@pytest.mark.parametrize("kind", ["processes", "joblib", "dask"])
def test_a_worker_that_ends_in_a_pass_is_replaced(tmp_path, pool, client, kind):
    executor = {"processes": pool, "joblib": Joblib(2), "dask": client}[kind]
    chunks = [np.full(n, 0.5) for n in range(20)]
    flag = tmp_path / "once"
    flag.write_text("")
    name = np.frombuffer(str(flag).encode(), np.uint8)
    f = chunked_sum(functions.killing, over="x", executor=executor, tasks=6)
    assert float(f(name, chunks)) == 95 and not flag.exists()
    assert float(f(name, chunks)) == 95


@pytest.mark.slow
def test_a_large_job_reaches_the_workers_of_dask_where_one_has_just_ended(client):
    w, chunks = np.ones(300_000), [np.full(3, float(i)) for i in range(16)]
    total = chunked_sum(functions.scaled, over="x", executor=Dask(client), tasks=16)
    for _ in range(2):
        client.wait_for_workers(2)
        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        np.testing.assert_array_equal(total(w, chunks), 360 * w)


def test_other_versions_of_a_worker_are_named(monkeypatch, pool):
    f = chunked_sum(functions.loss, over=OVER, executor=pool)
    monkeypatch.setattr("anyshape.cluster.chunked.on_worker.VERSIONS", ("9.9", np.__version__, "cpython-311"))
    with pytest.raises(ClusterError, match=r"client has anyshape 9\.9") as caught:
        f(np.ones(4), [np.ones((2, 4))], [np.ones(2)])
    assert caught.value.kind == "versions"


# -- on Dask


def test_dask(rng, client):
    check_executor(Dask(client), rng, put=False)  # where chunks are on workers, these decide the groups


def test_collections_futures_and_delayed_values(rng, client, tmp_path):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    x, y = data(rng, [3, 7, 100, 1, 55])
    w = rng.normal(size=4)
    expected = chunked_sum(functions.step, over=OVER, tasks=3)(w, x, y)
    for i, chunk in enumerate(x):
        np.save(tmp_path / f"{i}.npy", chunk)
    lazy = [dask.delayed(functions.load)(tmp_path / f"{i}.npy") for i in range(5)]
    arrays = [da.concatenate([da.from_array(a, chunks=a.shape) for a in of]) for of in (x, y)]
    held = client.persist(arrays)
    sources = {"lazy": (lazy, y), "arrays": arrays, "held": held, "futures": (client.scatter(x), client.scatter(y))}
    for name, (xs, ys) in sources.items():
        step = chunked_sum(value_and_grad(functions.loss), over=OVER, executor=client, tasks=3)
        result = step(w, xs, ys)
        np.testing.assert_allclose(result[0], expected[0], rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(result[1], expected[1], rtol=1e-12, err_msg=name)
        assert step.report.traces == 0 and step.report.rows == (3, 7, 100, 1, 55), name
        again = step(w, xs, ys)  # equal bits only where Dask has left the chunks with the same workers
        np.testing.assert_allclose(again[1], result[1], rtol=1e-12)
        serial = chunked_sum(functions.step, over=OVER, executor=Serial())(w, xs, ys)
        np.testing.assert_allclose(serial[0], expected[0], rtol=1e-12)
    step = chunked_sum(functions.step, over=OVER)
    step(w, *held)  # on the client that has them
    assert len(step.report.workers) >= 1 and str(os.getpid()) not in step.report.workers[0].worker


def test_put_on_dask_gives_few_values_that_meet(rng, client):
    (x, y), w = data(rng, [*SIZES, *range(40)]), rng.normal(size=4)
    executor = Dask(client)
    client.wait_for_workers(2)  # another test ends one
    rows = executor.put([{"x": a, "y": b} for a, b in zip(x, y)])
    assert len({part.future.key for row in rows for part in (row["x"], row["y"])}) == 4
    f = chunked_sum(lambda w, rows: functions.loss(w, rows["x"], rows["y"]), over="rows", executor=client)
    expected = functions.loss(w, np.concatenate(x), np.concatenate(y))
    np.testing.assert_allclose(f(w, rows), expected)
    assert f.report.rows == (*SIZES, *range(40)) and f.report.traces == 0
    step = chunked_sum(functions.step, over=OVER, executor=client)
    there = executor.put(x), executor.put(y)
    where = [client.who_has([part.future])[part.future.key] for column in there for part in column]
    assert where[: len(x)] == where[len(x) :] and len({*where}) == 2
    result = step(w, *there)
    np.testing.assert_allclose(result[0], expected)
    np.testing.assert_allclose(step(w, *there)[1], result[1], rtol=1e-12)  # Dask may have moved chunks
    np.testing.assert_allclose(chunked_sum(functions.step, over=OVER, executor=Serial())(w, *there)[0], expected)


def placed(client, chunks, workers):
    """Futures of chunks on workers, in turn."""
    return [client.scatter(chunk, workers=[workers[i % len(workers)]]) for i, chunk in enumerate(chunks)]


def test_idle_workers_take_chunks_of_others(client):
    chunks = placed(client, [np.full(3, 0.1) for _ in range(8)], sorted(client.nthreads())[:1])
    step = chunked_sum(functions.slow, over="x", executor=client, tasks=16)
    taken = []
    for _ in range(6):  # the other process may be late to start
        np.testing.assert_allclose(step(chunks), 2.4)
        taken.append([r.tasks > 1 for r in step.report.workers])
        if taken[-1] == [True, True]:
            break
    assert taken[-1] == [True, True], taken


def test_many_tasks_on_dask_add_up_as_serial_ones(rng, client):
    (x, y), w = data(rng, [3] * 150), np.ones(4)
    expected = chunked_sum(functions.step, over=OVER, tasks=130)(w, x, y)
    step = chunked_sum(functions.step, over=OVER, executor=client, tasks=130)
    assert_same_bits(step(w, x, y), expected)
    assert sum(r.tasks for r in step.report.workers) == 130


def test_dask_workers_keep_freed_memory(client):
    step = chunked_sum(functions.loss, over=OVER, executor=client, tasks=4)
    step(np.ones(4), *[client.scatter(c) for c in data(np.random.default_rng(0), [2] * 8)])
    for was_set, faults in client.run(functions.faults_of_large_arrays).values():
        assert was_set and faults < 4000  # of 40,000 pages


@pytest.mark.parametrize("threads", [1, 2])
def test_tasks_limit_the_threads_of_blas_and_restore_them(client, threads):
    """The workers of the fixture have one thread each: Dask sets OMP_NUM_THREADS=1 for them."""
    before = {w: n.tolist() for w, n in client.run(functions.threads_now).items()}
    for executor in (Dask(client, threads), Threads(1, threads)):
        f = chunked_sum(functions.threads_of_blas, over="x", executor=executor, tasks=2)
        assert f([np.zeros(2), np.zeros(3)]).tolist() == [2 * threads, 2 * threads]
        assert {r.threads for r in f.report.workers} == {threads}
    assert {w: n.tolist() for w, n in client.run(functions.threads_now).items()} == before


def test_blocks_along_other_axes_are_refused():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ArgumentError, match="other axes than the first"):
        chunked_sum(np.sum, over=0)(da.ones((4, 4), chunks=2))


@pytest.mark.slow
def test_chunks_that_are_lost_with_their_worker_are_named():
    cluster, Client = local_cluster(1)
    with cluster, Client(cluster) as own:
        f = chunked_sum(functions.loss, over=OVER, executor=own)
        x, y = own.scatter([np.ones((2, 4))]), own.scatter([np.ones(2)])
        f(np.ones(4), x, y)
        pid = own.run(os.getpid).popitem()[1]
        os.kill(pid, signal.SIGKILL)
        own.wait_for_workers(1)
        with pytest.raises(ClusterError):
            for _ in range(20):
                f(np.ones(4), x, y)
