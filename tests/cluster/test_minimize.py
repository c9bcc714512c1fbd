"""Minimisation over chunks: the minima of SciPy, files that resume to the same bits, and stops."""

import io

import numpy as np
import pytest
import scipy.optimize

from anyshape import optimize, value_and_grad
from anyshape.cluster import Serial, chunked_sum, minimize
from anyshape.errors import ArgumentError, ClusterError
from tests.cluster import functions
from tests.program.damaged_files import damaged

OVER = ("x", "y")


@pytest.fixture
def data(rng):
    sizes = [5, 0, 40, 1, 17]
    x = [rng.normal(size=(n, 3)) for n in sizes]
    y = [np.where(a @ [1.0, -2.0, 0.5] + rng.normal(size=len(a)) > 0, 1.0, -1.0) for a in x]
    return x, y


def ridge(w, x, y):
    return functions.loss(w, x, y) + 0.05 * np.sum(x * x) * np.sum(w * w)


@pytest.mark.parametrize("method", ["L-BFGS-B", "newton-cg"])
@pytest.mark.parametrize("function", [ridge, value_and_grad(ridge)], ids=["loss", "value_and_grad"])
def test_methods_of_scipy_give_its_minimum(data, method, function):
    x, y = np.concatenate(data[0]), np.concatenate(data[1])
    expected = scipy.optimize.minimize(ridge, np.zeros(3), (x, y), tol=1e-12).x
    result = minimize(chunked_sum(function, over=OVER), np.zeros(3), data, method=method)
    assert result.success
    np.testing.assert_allclose(result.x, expected, atol=2e-4)


def test_trees_keep_their_structure(data):
    f = chunked_sum(lambda p, x, y: ridge(p["w"], x, y) + len(x) * p["b"] ** 2, over=OVER)
    result = minimize(f, {"w": np.zeros(3), "b": 1.0}, data)
    assert set(result.x) == {"w", "b"} == set(result.jac) and abs(result.x["b"]) < 1e-3


@pytest.mark.parametrize("method", ["sgd", "adam", optimize.adam(0.05)], ids=["sgd", "adam", "optimiser"])
def test_steps_by_gradients_come_down(data, method):
    f = chunked_sum(functions.loss, over=OVER)
    rate = 0.01 if method == "sgd" else 0.05
    result = minimize(f, np.zeros(3), data, method=method, rate=rate, steps=100)
    assert result.nit == 100 and result.fun < 0.8 * float(f(np.zeros(3), *data))


class Stopped(Exception):
    pass


@pytest.mark.parametrize(
    "options",
    [{"method": "L-BFGS-B"}, {"method": "newton-cg"}, {"method": "adam", "chunks_per_step": 2}, {"method": "sgd"}],
    ids=lambda o: o["method"],
)
def test_a_run_that_stops_goes_on_to_the_same_bits(data, tmp_path, options):
    options = {**options, "rate": 0.003, "steps": 12}
    f = chunked_sum(ridge, over=OVER)
    whole, path = [], tmp_path / "run.npz"
    expected = minimize(f, np.zeros(3), data, callback=lambda r: whole.append(r.x), **options)

    def stop(result):
        if result.nit == 2:
            raise Stopped

    with pytest.raises(Stopped):
        minimize(f, np.zeros(3), data, callback=stop, file=path, **options)
    calls = []
    counting = chunked_sum(ridge, over=OVER, executor=Counting(calls))
    result = minimize(counting, np.zeros(3), data, file=path, **options)
    assert np.array_equal(result.x, expected.x) and result.nit == expected.nit
    fresh = []
    minimize(chunked_sum(ridge, over=OVER, executor=Counting(fresh)), np.zeros(3), data, **options)
    assert 0 < len(calls) < len(fresh)
    with pytest.raises(ArgumentError, match="another run"):
        minimize(f, np.ones(3), data, file=path, **options)


def scaled(factor):
    """A loss that reads a number of its closure."""
    return lambda w, x, y: factor * ridge(w, x, y)


def nearly(data, chunk):
    """Data with another element in one chunk."""
    changed = [x.copy() for x in data[0]]
    changed[chunk][-1, -1] += 1e-9
    return changed, data[1]


@pytest.mark.parametrize("method", ["L-BFGS-B", "adam", optimize.adam(0.01)], ids=["L-BFGS-B", "adam", "own"])
def test_a_file_serves_no_other_problem(data, tmp_path, method):
    path, options = tmp_path / "run.npz", {"method": method, "steps": 3}
    run = lambda f, data, **others: minimize(
        chunked_sum(f, over=OVER), np.zeros(3), data, file=path, **{**options, **others}
    )
    expected = run(scaled(2.0), data)
    assert np.array_equal(run(scaled(2.0), [list(map(np.copy, x)) for x in data]).x, expected.x)
    others = [(scaled(3.0), data, "function"), (ridge, data, "function")]
    others += [(scaled(2.0), nearly(data, i), "data") for i in (0, 2, 4)]
    others += [(scaled(2.0), (data[0][:-1], data[1][:-1]), "data"), (scaled(2.0), [x[::-1] for x in data], "data")]
    content = path.read_bytes()
    for f, other, part in others:
        with pytest.raises(ArgumentError, match=f"another run, with other {part}\n"):
            run(f, other)
    if not isinstance(method, str):
        with pytest.raises(ArgumentError, match="with other method and options\n"):
            run(scaled(2.0), data, method=optimize.adam(0.02))
    assert path.read_bytes() == content


def test_a_run_whose_file_cannot_be_written_does_not_begin(data, tmp_path):
    calls = []
    (tmp_path / "file").touch()
    f = chunked_sum(ridge, over=OVER, executor=Counting(calls))
    for path in (tmp_path, tmp_path / "missing" / "run", tmp_path / "file" / "run"):
        with pytest.raises(ArgumentError, match="cannot be read and written: "):
            minimize(f, np.zeros(3), data, file=path)
    assert not calls


@pytest.mark.parametrize("method", ["L-BFGS-B", "adam"])
def test_a_damaged_file_is_one_error_or_does_no_harm(data, tmp_path, method, rng):
    path, f = tmp_path / "run.npz", chunked_sum(ridge, over=OVER)
    run = lambda: minimize(f, np.zeros(3), data, method=method, steps=3, file=path)
    expected, whole, refused = run(), path.read_bytes(), 0
    for _ in range(20):
        path.write_bytes(damaged(rng, whole))
        try:
            result = run()
        except ArgumentError as error:
            assert "is damaged" in str(error)
            refused += 1
        else:
            assert np.array_equal(result.x, expected.x)
    with np.load(io.BytesIO(whole)) as stored:
        arrays = {name: x * 2 if x.dtype.kind == "f" else x for name, x in stored.items()}
    np.savez(path, **arrays)
    with pytest.raises(ArgumentError, match="is damaged"):
        run()
    assert refused > 10


class Counting(Serial):
    """Executor that counts passes, and may lose its workers."""

    def __init__(self, calls, last=10**9):
        self.calls, self.last = calls, last

    def run(self, job, tasks):
        self.calls.append(job.name)
        if len(self.calls) > self.last:
            raise ClusterError("scheduler", "the scheduler is gone", "start it again")
        return super().run(job, tasks)


@pytest.mark.parametrize("method", ["L-BFGS-B", "adam"])
def test_a_lost_cluster_keeps_the_last_iterate(data, tmp_path, method):
    path = tmp_path / "run.npz"
    f = chunked_sum(ridge, over=OVER)
    with pytest.raises(ClusterError) as caught:
        minimize(chunked_sum(ridge, over=OVER, executor=Counting([], 5)), np.zeros(3), data, method=method, file=path)
    assert caught.value.last.shape == (3,) and np.any(caught.value.last != 0)
    again = minimize(f, np.zeros(3), data, method=method, file=path)
    assert np.array_equal(again.x, minimize(f, np.zeros(3), data, method=method).x)


@pytest.mark.parametrize("method", ["L-BFGS-B", pytest.param("adam", marks=pytest.mark.slow)])
def test_a_callback_stops_and_a_bar_shows(method, data, capsys):
    f = chunked_sum(ridge, over=OVER)
    result = minimize(f, np.zeros(3), data, method=method, progress=True, callback=lambda r: r.nit == 2)
    assert result.nit == 2 and not result.success
    assert method in capsys.readouterr().err


@pytest.mark.slow
def test_mistakes_are_refused(data):
    f = chunked_sum(ridge, over=OVER)
    with pytest.raises(ArgumentError, match="method is 'foo'"):
        minimize(f, np.zeros(3), data, method="foo")
    with pytest.raises(ArgumentError, match="chunked is of type function"):
        minimize(ridge, np.zeros(3), data)
    with pytest.raises(ArgumentError, match="chunks_per_step"):
        minimize(f, np.zeros(3), data, method="sgd", chunks_per_step=0)
