"""Functions of blocks: exact chunks, values as of the whole, cotangents, rows of neighbours, and what is refused."""

import math
import os

import numpy as np
import pytest

import anyshape
from anyshape import jit, vjp
from anyshape.cluster import map_chunks, vjp_chunks
from anyshape.errors import ArgumentError, ChunkError, ClusterError
from tests.cluster import functions

da = pytest.importorskip("dask.array")
ROWS = (3, 0, 1, 7)
X = np.arange(44.0).reshape(11, 4) / 7


@pytest.fixture(autouse=True, scope="module")
def in_this_thread():
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        yield


def rows(x=X, sizes=ROWS):
    return da.from_array(x, chunks=(sizes, *x.shape[1:]))


def check(result, expected):
    """Values of the whole, and the declared chunks and dtype in every block."""
    assert result.shape == expected.shape and result.dtype == expected.dtype
    np.testing.assert_allclose(result.compute(), expected)
    for index in np.ndindex(*result.numblocks):
        block = result.blocks[index].compute()
        assert block.shape == tuple(c[i] for c, i in zip(result.chunks, index)) and block.dtype == result.dtype


def by_block(f, sizes=ROWS, x=X):
    """The function of each block, by hand."""
    return np.concatenate([f(b) for b in np.split(x, np.cumsum(sizes)[:-1])])


@pytest.mark.parametrize(
    ("f", "sizes"),
    [
        (lambda x: x[::2], (2, 0, 1, 4)),
        (lambda x: x[1:], (2, 0, 0, 6)),
        (lambda x: np.repeat(x, 3, axis=0), (9, 0, 3, 21)),
        (lambda x: np.concatenate([x, x[:2]]), (5, 0, 2, 9)),
        (lambda x: np.tanh(x).sum(axis=1), ROWS),
        (lambda x: x[:, None, :2] * 2, ROWS),
        (lambda x: np.pad(x, ((1, 2), (0, 0))), (6, 3, 4, 10)),
        (lambda x: x.astype(np.float32).sum(axis=0, keepdims=True), (1, 1, 1, 1)),
        (lambda x: np.arange(x.shape[0] // 2), (1, 0, 0, 3)),
    ],
)
def test_chunks_are_exact(f, sizes):
    result = map_chunks(f, rows())
    assert result.chunks[0] == sizes
    check(result, by_block(f))


def test_sizes_are_unknown_only_where_data_decide():
    positive = map_chunks(lambda x: x[x[:, 0] > 2], rows())
    assert all(map(math.isnan, positive.chunks[0])) and positive.chunks[1] == (4,)
    np.testing.assert_array_equal(positive.compute(), X[X[:, 0] > 2])
    twice = map_chunks(lambda x: {"rows": 2 * x, "sums": x.sum(axis=0, keepdims=True)}, positive)
    assert math.isnan(twice["rows"].shape[0]) and twice["sums"].chunks == ((1, 1, 1, 1), (4,))
    np.testing.assert_array_equal(twice["rows"].compute(), 2 * X[X[:, 0] > 2])
    assert twice["sums"].compute().shape == (4, 4)
    counts = da.from_array(np.array([1, 2, 0]), chunks=1)
    ones = map_chunks(lambda n: np.ones(n[0]), counts)
    assert all(map(math.isnan, ones.chunks[0])) and ones.compute().tolist() == [1, 1, 1]
    check(map_chunks(lambda n, x: np.repeat(x, n, axis=0), 2, rows()), np.repeat(X, 2, axis=0))


def test_decisions_on_sizes_and_on_values():
    by_size = map_chunks(lambda x: x[:2] if x.shape[0] > 2 else np.concatenate([x, x]), rows())
    assert by_size.chunks[0] == (2, 0, 2, 2)
    check(by_size, np.concatenate([X[:2], X[3:4], X[3:4], X[4:6]]))
    by_value = map_chunks(lambda x: x[:1] if np.sum(x) > 100 else x, rows())
    assert all(map(math.isnan, by_value.chunks[0]))
    np.testing.assert_array_equal(by_value.compute(), X[:5])
    other_rank = map_chunks(lambda x: x[0] if np.sum(x) > 100 else x, rows())
    with pytest.raises(ChunkError, match=r"float64\[4\] for the block \(3,\), and float64\[nan, nan\] is declared"):
        other_rank.compute()


def test_trees_keywords_and_arguments_for_all_blocks():
    def f(params, x, *, scale, kind="sum"):
        y = np.tanh(x["a"] @ params["w"]) * scale
        return y, (y.sum(axis=1) if kind == "sum" else y.max(axis=1))

    w = np.linspace(-1, 1, 8).reshape(4, 2)
    whole = map_chunks(jit(f, static_argnames="kind"), {"w": w}, {"a": rows()}, scale=2.0, kind="sum")
    for result, expected in zip(whole, f({"w": w}, {"a": X}, scale=2.0), strict=True):
        check(result, expected)


def test_xarray_goes_by_its_dask_array():
    xarray = pytest.importorskip("xarray")
    check(map_chunks(lambda x: x[:, 0], xarray.DataArray(rows())), X[:, 0])


def test_functions_that_write_get_copies():
    def f(x):
        x[:1] = 0
        return x * 1

    x = X.copy()
    assert np.all(map_chunks(f, da.from_array(x, chunks=(11, 4))).compute()[0] == 0)
    assert np.array_equal(x, X)

    def of_all_blocks(w, x):
        w += 1
        return w * x

    w = np.zeros(1)
    assert map_chunks(of_all_blocks, w, da.ones(6, chunks=2)).compute().tolist() == [1] * 6 and w == 0


# -- what dask's tests ask of map_blocks


def test_cases_of_map_blocks():
    x = np.arange(400).reshape(20, 20)
    for size in (7, 10, 8):
        d = da.from_array(x, chunks=size)
        check(map_chunks(lambda x: x + 1, d), x + 1)
        if size % 2 == 0:  # nothing says so: its own tests have to give chunks=((4, 4, 2), (4, 4, 2))
            check(map_chunks(lambda x: x[::2, ::2], d), x[::2, ::2])
    d = da.arange(10, chunks=3)
    check(map_chunks(np.add, d, 100), np.arange(10) + 100)
    check(map_chunks(np.subtract, 10, d), 10 - np.arange(10))
    check(map_chunks(np.max, da.arange(10, chunks=5), axis=0, keepdims=True), np.array([4, 9]))
    check(map_chunks(np.add, da.ones((5, 3), chunks=2), da.ones((5, 3), chunks=2)), np.full((5, 3), 2.0))
    a, b = da.from_array(np.array([1, 2, 3]), 3), da.from_array(np.array([0, 1, 2, 0, 1, 2]), chunks=3)
    check(map_chunks(np.add, a, b), np.array([1, 3, 5, 1, 3, 5]))
    dx = da.from_array(np.array([[1, 2, 3, 4]]), chunks=((1,), (2, 2)))
    dy = da.from_array(np.array([[10, 20], [30, 40]]), chunks=((1, 1), (2,)))
    check(map_chunks(np.add, dx, dy), np.array([[11, 22, 13, 24], [31, 42, 33, 44]]))
    of_two = map_chunks(lambda a, b: np.stack([a.max(), b.max()]), da.arange(40, chunks=20), da.arange(8, chunks=4))
    check(of_two, np.array([19, 3, 39, 7]))


def test_cases_of_map_blocks_with_other_axes():
    x = np.arange(56).reshape(7, 8)
    columns = da.from_array(x, chunks=(7, 4))
    dropped = map_chunks(lambda b: b.sum(axis=0), columns, along=(None, 0))
    assert dropped.chunks == ((4, 4),)
    check(dropped, x.sum(axis=0))
    check(map_chunks(lambda b: b.sum(axis=1), da.from_array(x, chunks=(4, 8))), x.sum(axis=1))
    new = map_chunks(lambda b: b[None, :, :, None], da.from_array(x, chunks=4), along=(1, 2))
    assert new.chunks == ((1,), (4, 3), (4, 4), (1,))
    check(new, x[None, :, :, None])
    check(map_chunks(np.transpose, da.from_array(x, chunks=(3, 5)), along=(1, 0)), x.T)
    y, pull = vjp_chunks(lambda b: np.transpose(b) ** 2, da.from_array(x * 1.0, chunks=(3, 5)), along=(1, 0))
    check(pull(y)[0], 2.0 * x**3)


# -- rows of neighbours

SMOOTH = np.array([0.2, 0.5, 0.2, 0.06, 0.04])


def smooth(x):
    return np.convolve(x, SMOOTH, "same")


@pytest.mark.parametrize("sizes", [(11,), (5, 6), (4, 1, 1, 5), (3, 0, 7, 1)])
def test_rows_of_neighbours(sizes):
    x, c = X[:, 1], np.linspace(-1, 2, 11)
    y, pull = vjp_chunks(lambda x: smooth(np.tanh(np.pad(x, 4)))[4:-4], rows(x, sizes), halo=2)
    assert y.chunks == (sizes,)
    whole = lambda x: smooth(np.tanh(np.pad(x, 4)))[4:-4]
    check(y, whole(x))
    check(pull(c)[0], vjp(whole, x)[1](c)[0])
    steps, pull = vjp_chunks(np.diff, rows(x, sizes), halo=(0, 1), trim=False)
    check(steps, np.diff(x))
    check(pull(c[1:])[0], vjp(np.diff, x)[1](c[1:])[0])


def test_rows_of_neighbours_in_two_arrays_and_beside_one():
    f = lambda w, x, y: w * np.diff(x, axis=0, prepend=0)[:, :2] + np.cumsum(y)[:, None] * 0
    result = map_chunks(f, 2.0, rows(), rows(X[:, 0]), halo=(1, 0))
    check(result[1:], 2.0 * np.diff(X, axis=0)[:, :2])
    with pytest.raises(ArgumentError, match="y has blocks of other rows than x"):
        map_chunks(lambda x, y: x, rows(), rows(X, (4, 1, 1, 5)), halo=1)
    with pytest.raises(ArgumentError, match="unknown sizes, so that a halo"):
        map_chunks(lambda x: x, rows()[rows()[:, 0] > 1], halo=1)
    with pytest.raises(ArgumentError, match="of which its halo is 2"):
        map_chunks(lambda x: x[:1], rows(X, (5, 6)), halo=2)


# -- cotangents


def test_cotangents():
    def f(p, x, i, r):
        return {"y": np.tanh(x @ p["w"])[:, None] * r * p["s"], "z": x[::2] * i[::2, None]}

    p, r = {"w": np.linspace(-1, 1, 4), "s": np.float32(1.5)}, np.linspace(0, 1, 3)
    i = np.arange(11)
    result, pull = vjp_chunks(f, p, rows(), rows(i), da.from_array(r, chunks=3))
    expected = [f(p, x, n, r) for x, n in zip(np.split(X, [3, 3, 4]), np.split(i, [3, 3, 4]))]
    whole = {key: np.concatenate([e[key] for e in expected]) for key in "yz"}
    for key in "yz":
        check(result[key], whole[key])
    c = {key: np.linspace(-1, 2, x.size).reshape(x.shape) for key, x in whole.items()}
    p_bar, x_bar, i_bar, r_bar = pull({"y": da.from_array(c["y"], chunks=(5, 3)), "z": c["z"]})

    def of_whole(p, x, r):
        parts = [f(p, x[a:b], i[a:b], r) for a, b in ((0, 3), (3, 3), (3, 4), (4, 11))]
        return {key: np.concatenate([part[key] for part in parts]) for key in "yz"}

    expected = vjp(of_whole, p, X, r)[1](c)
    assert i_bar is None and p_bar["s"].dtype == np.float32
    assert x_bar.chunks == rows().chunks
    for bar, value in zip(anyshape.tree_leaves((p_bar, x_bar, r_bar)), anyshape.tree_leaves(expected), strict=True):
        np.testing.assert_allclose(bar.compute(), value, rtol=1e-6)


def test_cotangents_of_unknown_sizes_and_of_two_axes_of_blocks():
    some = map_chunks(lambda x: x[x[:, 0] > 2], rows())
    y, pull = vjp_chunks(lambda w, x: np.tanh(x @ w), np.ones(4), some)
    w_bar, x_bar = pull(da.ones_like(y))
    expected = vjp(lambda w, x: np.tanh(x @ w), np.ones(4), some.compute())[1](np.ones(some.compute().shape[0]))
    np.testing.assert_allclose(w_bar.compute(), expected[0])
    np.testing.assert_allclose(x_bar.compute(), expected[1])
    z, q = da.from_array(X, chunks=((4, 7), (3, 1))), da.from_array(X[:, :1], chunks=((4, 7), 1))
    y, pull = vjp_chunks(lambda z, q: z * q, z, q)
    z_bar, q_bar = pull(da.ones_like(y))
    check(z_bar, np.broadcast_to(X[:, :1], X.shape))
    check(q_bar, X.sum(axis=1, keepdims=True))
    with pytest.raises(ArgumentError, match=r"the cotangent has shape \(3,\), and its result \(11, 4\)"):
        pull(np.ones(3))


# -- what is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: map_chunks(np.sum, rows()), "has 0 axes, none of them for the 4 blocks along axis 0"),
        (lambda: map_chunks(np.transpose, rows()), "has 3 elements along axis 1 for one block and 0 for another"),
        (lambda: map_chunks(np.add, rows(), rows(X, (5, 6))), "has 2 blocks along axis 0, and another argument has 4"),
        (lambda: map_chunks(np.tanh, X), "hold no dask array"),
        (lambda: map_chunks(np.tanh, rows(), halo=-1), "halo is -1"),
        (lambda: map_chunks(np.tanh, rows(), along=(0, 0)), r"along is \(0, 0\)"),
        (lambda: map_chunks(lambda x: (x, x) if x.shape[0] > 2 else x, rows()), "has the structure"),
        (lambda: map_chunks(lambda x: x if x.shape[0] > 2 else x > 0, rows()), "is bool with 2 axes for one block"),
        (lambda: vjp_chunks(lambda x: (x, x), rows())[1](rows()), "has the structure"),
    ],
)
def test_mistakes_are_refused(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_a_block_that_raises_is_named(monkeypatch):
    keeping = map_chunks(lambda x: functions.refusing(2.0, x)[None], da.from_array(np.array([1.0, 2, 300]), chunks=2))
    with pytest.raises(ChunkError, match=r"chunk 1 \(float64\[1\]\) raised") as caught:
        keeping.compute()
    assert "a row is too large" in caught.value.trace and "functions.py" in str(caught.value)
    monkeypatch.setattr("anyshape.cluster.worker.VERSIONS", ("9.9", "1", "cpython-311"))
    with pytest.raises(ClusterError, match=r"has anyshape 9\.9"):
        keeping.compute()


# -- on workers


def test_workers_trace_nothing_and_load_once(client, rng):
    sizes = (*rng.integers(0, 60, 39).tolist(), 5)
    x, w = rng.normal(size=(sum(sizes), 3)), np.ones(3)
    f = jit(functions.predicted)
    result, pull = vjp_chunks(f, w, da.from_array(x, chunks=(sizes, 3)))
    y, w_bar, x_bar = client.compute([result, *pull(da.ones_like(result))], sync=True)
    parts = [x[a:b] for a, b in zip(np.cumsum((0, *sizes)), np.cumsum(sizes))]
    expected = [vjp(functions.predicted, w, part)[1](np.ones(len(part[::2]))) for part in parts]
    np.testing.assert_allclose(y, np.concatenate([functions.predicted(w, part) for part in parts]))
    np.testing.assert_allclose(w_bar, sum(e[0] for e in expected))
    np.testing.assert_allclose(x_bar, np.concatenate([e[1] for e in expected]))
    counts = client.run(functions.counters).values()
    assert len({os.getpid(), *[pid for pid, _ in counts]}) == 3
    for _, of_functions in counts:
        own = [(loads, traces) for name, loads, traces in of_functions if name in ("predicted", "reverse")]
        assert set(own) == {(1, 0)}
    assert f.cache_info().traces == 1
