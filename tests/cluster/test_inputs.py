"""Sums over columns of frames, over variables of xarray, of Gauss-Newton products, and of pairs of sums and counts."""

import pickle

import numpy as np
import pytest

from anyshape import Ragged, grad, hessian, jvp, ragged_map, value_and_grad, vjp
from anyshape.cluster import Serial, chunked_sum
from anyshape.cluster.chunks import chunks_of
from anyshape.errors import ArgumentError
from tests.cluster import functions

OVER = ("x", "y")
SIZES = (3, 0, 7, 20, 1)


def arrays(rng, sizes=SIZES):
    return [rng.normal(size=(n, 4)) for n in sizes], [rng.choice([-1.0, 1.0], n) for n in sizes]


def test_gauss_newton_products(rng):
    (x, y), w, v = arrays(rng), rng.normal(size=4), rng.normal(size=4)

    def residuals(w, x, y):
        return np.tanh(x @ w) - y

    def product(w, v, x, y):
        """The transposed Jacobian times the Jacobian times a vector, for the rows of a chunk."""
        of = lambda w: residuals(w, x, y)
        return vjp(of, w)[1](jvp(of, (w,), (v,))[1])[0]

    jacobian = np.concatenate([(1 - np.tanh(a @ w) ** 2)[:, None] * a for a in x])
    np.testing.assert_allclose(chunked_sum(product, over=OVER)(w, v, x, y), jacobian.T @ (jacobian @ v))


def test_pairs_of_sums_and_counts(rng):
    (x, y), w = arrays(rng), rng.normal(size=4)

    def pair(w, x, y):
        chosen = y > 0
        errors = np.where(chosen, (x @ w - y) ** 2, 0.0)
        return np.sum(errors), np.sum(chosen)

    total, count = chunked_sum(pair, over=OVER)(w, x, y)
    whole_x, whole_y = np.concatenate(x), np.concatenate(y)
    assert count == np.sum(whole_y > 0) and count.dtype == np.sum(whole_y > 0).dtype
    np.testing.assert_allclose(total / count, np.mean((whole_x @ w - whole_y)[whole_y > 0] ** 2))


def test_chunks_are_batches_of_examples_that_differ_in_size(rng, pool):
    """A chunk counts by its examples, and functions of batches travel to other processes."""
    pytest.importorskip("cloudpickle")
    w, examples = rng.normal(size=3), [rng.normal(size=(n, 3)) for n in (2, 4, 1, 0, 3, 2, 7)]
    each = ragged_map(lambda w, x, y: (np.sum(np.tanh(x @ w)) - y) ** 2, in_axes=(None, 0, 0))
    batch, y = Ragged.from_list(examples), rng.normal(size=7)
    for mean in (False, True):
        of_all = lambda w, b, mean=mean: (np.mean if mean else np.sum)(each(w, b["x"], b["y"]))
        expected = value_and_grad(of_all)(w, {"x": batch, "y": y})
        chunks = {"x": [batch[:3], batch[3:5], batch[5:]], "y": [y[:3], y[3:5], y[5:]]}
        for executor in (Serial(), pool):
            step = chunked_sum(value_and_grad(of_all), over="b", reduce="mean" if mean else "sum", executor=executor)
            for got, want in zip(step(w, chunks), expected, strict=True):
                np.testing.assert_allclose(got, want)
            assert step.report.rows == (3, 2, 2)
        np.testing.assert_allclose(step(w, {"x": batch, "y": y})[1], expected[1])
    with pytest.raises(ArgumentError, match="has 1 rows in chunk 0, and b has 3"):
        step(w, {"x": [batch[:3]], "y": [y[:1]]})


def test_second_derivatives_in_one_pass(rng):
    (x, y), w = arrays(rng), rng.normal(size=4)
    both = chunked_sum(
        lambda w, x, y: {"g": grad(functions.loss)(w, x, y), "h": hessian(functions.loss)(w, x, y)}, over=OVER
    )
    result, whole = both(w, x, y), (np.concatenate(x), np.concatenate(y))
    np.testing.assert_allclose(result["g"], grad(functions.loss)(w, *whole))
    np.testing.assert_allclose(result["h"], hessian(functions.loss)(w, *whole))
    assert both.function.cache_info().traces == 1


def test_variables_of_xarray(rng):
    xarray, da = pytest.importorskip("xarray"), pytest.importorskip("dask.array")
    (x, y), w = arrays(rng), rng.normal(size=4)
    expected = value_and_grad(functions.loss)(w, np.concatenate(x), np.concatenate(y))
    rows, labels = [da.concatenate([da.from_array(a, chunks=a.shape) for a in of if len(a)]) for of in (x, y)]
    data = xarray.Dataset({"x": (("row", "column"), rows), "y": ("row", labels)})
    step = chunked_sum(value_and_grad(functions.loss), over=OVER)
    for result in (
        step(w, data["x"], data["y"]),
        step(w, data.variables["x"], data["y"].chunk({"row": data.chunks["row"]})),
    ):
        np.testing.assert_allclose(result[0], expected[0])
        np.testing.assert_allclose(result[1], expected[1])
    assert step.report.rows == tuple(n for n in SIZES if n)
    with pytest.raises(ArgumentError, match="is an xarray Dataset"):
        step(w, data, data["y"])


def test_columns_of_dask_frames(rng, tmp_path):
    """Partitions that a filter leaves have any number of rows, which only workers know."""
    pytest.importorskip("pyarrow")
    pandas, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] > 0, 1.0, -1.0)
    frame["kind"] = np.arange(90) // 30
    frame["text"] = "long, so that columns of numbers are a small part of each file"
    dd.from_pandas(frame, npartitions=3).to_parquet(tmp_path)
    chosen = dd.read_parquet(tmp_path)
    chosen = chosen[(chosen["b"] > 0) & (chosen["kind"] % 3 != 1)]  # one partition has no rows
    here = frame[(frame["b"] > 0) & (frame["kind"] != 1)]

    def loss(w, x, y):
        return np.sum(np.log1p(np.exp(-y * (w["a"] * x["a"] + w["b"] * x["b"]))))

    w = {"a": 0.5, "b": -1.0}
    expected = value_and_grad(loss)(w, {"a": here["a"].to_numpy(), "b": here["b"].to_numpy()}, here["y"].to_numpy())
    step = chunked_sum(value_and_grad(loss), over=OVER, executor=Serial())
    value, slope = step(w, {"a": chosen["a"], "b": chosen["b"]}, chosen["y"])
    np.testing.assert_allclose(value, expected[0])
    np.testing.assert_allclose(slope["a"], expected[1]["a"])
    assert sum(step.report.rows) == len(here) and step.report.rows[1] == 0
    matrix, both = chunked_sum(functions.loss, over=OVER, executor=Serial()), chosen[["a", "b"]]
    for x, y in ((both, chosen["y"]), (both.to_dask_array(), chosen["y"].to_dask_array())):
        np.testing.assert_allclose(matrix(np.array([0.5, -1.0]), x, y), expected[0])
    read = dd.read_parquet(tmp_path)  # Dask's optimisation reads as many files at once as the columns of each ask for
    total = chunked_sum(lambda x, y: np.sum(x[:, 0] * y), over=OVER, executor=Serial())
    np.testing.assert_allclose(total(read[["a", "b"]], read["y"]), np.sum(frame["a"] * frame["y"]))


def test_chunks_of_one_array_travel_without_the_others():
    da = pytest.importorskip("dask.array")
    x = da.from_array(np.ones((40, 1000)), chunks=(1, 1000)) * 2
    parts = [pickle.dumps(chunk) for chunk in chunks_of(x, "x", "f")]
    assert max(map(len, parts)) < 2 * 8000 + 4000
    assert float(chunked_sum(np.sum, over=0)(x)) == 80_000
    np.testing.assert_array_equal(pickle.loads(parts[3]).value(), np.full((1, 1000), 2.0))
