"""Sums of rows by position as machine code, against NumPy's."""

import os
import signal
import threading
import time
import warnings

import hypothesis.strategies as st
import numpy
import pytest
from hypothesis import given, settings

import anyshape
import anyshape.numpy as np
from anyshape import ops
from anyshape.backend.native import launch
from anyshape.backend.native.toolchain import BuildError
from tests.backend.native.compiled import assert_bits, compiled, needs_compiler, states

pytestmark = needs_compiler
DTYPES = ("float64", "float32", "int64", "int32", "complex128", "complex64")


@pytest.fixture(scope="module", autouse=True)
def library():
    """Build the kernels; they serve short rows too, and share small work."""
    launch.SUMS.load()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "LEAST_WIDTH", 1)
        patch.setattr(launch, "SHARED_ROW", 1)
        patch.setattr(launch, "PART_BYTES", 64)
        yield


def added(rows, position, count):
    out = numpy.zeros((count, rows.shape[1]), rows.dtype)
    numpy.add.at(out, position, rows)
    return out


def rows_of(dtype, length, width, seed=0):
    rng = numpy.random.default_rng(seed)
    rows = rng.normal(size=(length, width), scale=100)
    return (rows + 1j * rng.normal(size=rows.shape) if dtype.startswith("complex") else rows).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_sums_have_the_bits_of_numpy_for_any_number_of_threads(dtype, threads, monkeypatch):
    monkeypatch.setattr(anyshape.config, "num_threads", threads)
    for length, width, count in ((1, 1, 1), (2, 3, 5), (40, 1, 7), (64, 17, 3), (500, 8, 400)):
        rows = rows_of(dtype, length, width)
        position = numpy.random.default_rng(length).integers(-count, count, length)
        result = launch.SUMS(rows, position, count)
        assert result is not None
        assert_bits(result, added(rows, position, count))


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 9), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from(DTYPES))
def test_rows_of_any_strides(length, width, count, seed, dtype):
    rng = numpy.random.default_rng(seed)
    whole = rows_of(dtype, 2 * length, 3 * width, seed)
    every = [whole[:length, :width], whole[::2, :width], whole[:length, ::3], whole[length - 1 :: -1, :width]]
    every += [numpy.broadcast_to(whole[:1, :width], (length, width)), whole.T[:length, :width]]
    position = rng.integers(-count, count, 2 * length)[::2]
    for rows in every:
        at = position[: len(rows)]
        assert_bits(launch.SUMS(rows, at, count), added(rows, at, count))


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_results_take_pages_that_are_clear(dtype, monkeypatch):
    monkeypatch.setattr(launch.block_cache, "HEAP_BYTES", 1000)
    rows, position = rows_of(dtype, 300, 8), numpy.random.default_rng(3).integers(-50, 50, 300)
    assert_bits(launch.SUMS(rows, position, 50), added(rows, position, 50))


def test_short_rows_are_left_to_numpy(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(launch, "LEAST_WIDTH", 4)
    assert launch.SUMS(numpy.ones((9, 3)), numpy.zeros(9, int), 2) is None
    assert launch.SUMS(numpy.ones((9, 4)), numpy.zeros(9, int), 2) is not None


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("length", [3, 20_000])
def test_infinite_complex_numbers_keep_their_parts(dtype, length):
    rows = numpy.zeros((length, 3), dtype)
    rows[0], rows[1] = numpy.inf, complex(0, -numpy.inf)
    function = lambda rows, ids: ops.put_add(rows, ids, 2)
    for made in (compiled(function), anyshape.jit(function, optimize="now")):
        result = made(rows, numpy.zeros(length, int))
        assert numpy.isinf(result[0].real).all() and numpy.isinf(result[0].imag).all() and not result[1].any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_process_forked_during_a_build_builds_by_itself(monkeypatch):
    started, sums = threading.Event(), launch.RowSums()

    def slow(text):
        started.set()
        time.sleep(2 if os.getpid() == parent else 0)
        return build(text)

    parent, build = os.getpid(), launch.Build
    monkeypatch.setattr(launch, "Build", slow)
    thread = threading.Thread(target=sums.load)
    thread.start()
    started.wait(30)
    child = os.fork()
    if not child:
        signal.alarm(30)
        sums.load()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()


def test_no_position_is_written_to_that_is_out_of_range():
    rows, guarded = numpy.ones((3, 2)), numpy.zeros((8, 2))
    for bad in (4, -5, 2**62, -(2**62)):
        assert launch.SUMS(rows, numpy.array([0, bad, 1]), 4) is None
    assert not guarded.any()


@pytest.mark.parametrize("dtype", [*DTYPES, "float16", "bool"])
def test_a_compiled_program_sums_segments_as_numpy_does_at_every_size(dtype):
    function = lambda rows, ids, like: ops.put_add(rows, ids, like.shape[0])
    ours, theirs = compiled(function), anyshape.jit(function, optimize="now")
    for length, width, count in ((0, 2, 3), (1, 2, 1), (2, 1, 5), (5, 4, 2), (3000, 9, 50)):
        rows, ids = rows_of(dtype, length, width), numpy.random.default_rng(1).integers(-count, count, length)
        assert_bits(ours(rows, ids, numpy.zeros(count)), theirs(rows, ids, numpy.zeros(count)))
    assert states(ours) == ["compiled"] * (dtype in DTYPES) and ours.cache_info().traces == 1


def test_the_gradient_of_rows_at_indices():
    loss = lambda table, i, y: np.sum(np.sin(table[i]) * y)
    ours, theirs = compiled(anyshape.value_and_grad(loss)), anyshape.jit(anyshape.value_and_grad(loss), optimize="now")
    rng = numpy.random.default_rng(0)
    for rows, count in ((1, 0), (1, 1), (7, 30), (5000, 3000)):
        args = rng.normal(size=(rows, 11)), rng.integers(-rows, rows, count), rng.normal(size=(count, 11))
        numpy.testing.assert_allclose(ours(*args)[1], theirs(*args)[1], rtol=1e-12, atol=1e-14)
    assert "compiled" in states(ours)


def test_an_index_out_of_range_is_the_error_of_numpy():
    function = lambda rows, ids: ops.put_add(rows, ids, 4)
    errors = []
    for made in (compiled(function), anyshape.jit(function, optimize="now")):
        with pytest.raises(IndexError) as caught:
            made(numpy.ones((3, 2)), numpy.array([0, 4, 1]))
        errors.append(str(caught.value).splitlines()[0])
    assert errors[0] == errors[1] and "4" in errors[0]


def test_an_overflow_warns_as_without_a_kernel():
    function = lambda rows, ids: ops.put_add(rows, ids, 4)
    rows, ids, counts = numpy.full((2, 3), 1e308), numpy.zeros(2, int), []
    for made in (compiled(function), anyshape.jit(function, optimize="now")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert numpy.isinf(made(rows, ids)[0]).all()
        counts.append([str(w.message) for w in caught])
    assert counts[0] == counts[1]


def test_without_a_library_numpy_serves_and_explain_says_why(monkeypatch):
    def fails(text):
        raise BuildError("no compiler today")

    sums = launch.RowSums()
    monkeypatch.setattr(launch, "Build", fails)
    monkeypatch.setattr(launch, "SUMS", sums)
    ours = compiled(lambda rows, ids: ops.put_add(rows, ids, 4))
    rows, ids = numpy.ones((3, 2)), numpy.array([0, 3, 0])
    assert_bits(ours(rows, ids), added(rows, ids, 4))
    assert "1 of 1 groups: NumPy: no compiler today" in str(ours.explain())


def test_a_kernel_that_disagrees_with_numpy_is_not_used(monkeypatch):
    wrong = lambda kernel, rows, position, count, threads: added(rows, position, count) + 1
    monkeypatch.setattr(launch, "_run", wrong)
    sums = launch.RowSums()
    monkeypatch.setattr(launch, "SUMS", sums)
    ours = compiled(lambda rows, ids: ops.put_add(rows, ids, 4))
    assert_bits(ours(numpy.ones((3, 2)), numpy.array([0, 1, 0])), added(numpy.ones((3, 2)), numpy.array([0, 1, 0]), 4))
    assert "differ from NumPy's" in str(ours.explain())
