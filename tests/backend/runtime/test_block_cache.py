"""Memory of results is used again when nobody holds it, and never before."""

import gc
import os
import threading
import weakref

import numpy as np
import pytest

import anyshape
from anyshape import jit, pure_callback
from anyshape.backend.runtime import block_cache

N = 100_000  # elements: enough to run in tiles, and to be kept


@pytest.fixture(autouse=True)
def nothing_kept():
    block_cache.forget()
    yield
    block_cache.forget()


@jit
def double(x):
    return np.sin(x) * 0 + x * 2


def numbers(k, n=N):
    return np.arange(n, dtype=float) + k


def address(x):
    return x.__array_interface__["data"][0]


def test_memory_that_nobody_holds_is_given_out_again():
    first = address(double(numbers(0)))
    assert all(address(double(numbers(k))) == first for k in range(3))


def test_what_users_hold_keeps_its_values():
    held = []
    for k in range(20):
        y = double(numbers(k))
        np.testing.assert_array_equal(y, 2 * numbers(k))
        views = [y, y[10:], y[::-3].reshape(-1, 1)[5:], memoryview(y), y.view(np.int64), np.broadcast_to(y, (2, N))]
        kept = views[k % 6]
        held.append((k, kept, np.array(kept)))
        del y, kept, views
    for _, kept, before in held:
        np.testing.assert_array_equal(np.asarray(kept), before)


def test_results_may_be_written_to():
    x = numbers(1)
    y, z = double(x), double(x)
    y[:] = -1
    np.testing.assert_array_equal(z, 2 * x)
    np.testing.assert_array_equal(double(x), 2 * x)
    assert (y == -1).all() and y.flags.writeable and y.flags.aligned and y.flags.c_contiguous
    assert not np.shares_memory(y, z)


def test_several_results_of_a_call_and_its_inputs_are_apart():
    both = jit(lambda x: (np.sin(x) + x, np.cos(x) * x, x * 3))
    x = double(numbers(0))  # which lives in memory that is kept
    for _ in range(3):
        found = both(x)
        arrays = [x, *found]
        assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
        np.testing.assert_array_equal(found[2], 3 * x)


def test_a_gradient_is_fed_back():
    step = anyshape.grad(lambda w: np.sum(np.sin(w) * w))
    w = wanted = numbers(0) / N
    for _ in range(5):
        w = w - 0.1 * step(w)
        wanted = wanted - 0.1 * (np.cos(wanted) * wanted + np.sin(wanted))
    np.testing.assert_allclose(w, wanted, rtol=1e-12)


def test_a_size_takes_memory_of_about_that_size_alone():
    first = address(double(numbers(0)))
    assert address(double(numbers(0, N - N // 8))) == first
    small = double(numbers(0, N // 2))
    assert address(small) != first
    np.testing.assert_array_equal(small, 2 * numbers(0, N // 2))


def test_what_is_kept_is_bounded_and_can_be_given_back(monkeypatch):
    monkeypatch.setattr(block_cache, "MOST", 4 * 8 * N)
    blocks = block_cache._KEPT.blocks
    held = [double(numbers(k)) for k in range(8)]
    assert sum(b.nbytes for b in blocks) == block_cache._KEPT.held <= 4 * 8 * N
    gone = weakref.ref(blocks[-1])
    del held
    block_cache.forget()
    gc.collect()
    assert gone() is None and not blocks and not block_cache._KEPT.held
    monkeypatch.setattr(block_cache, "MOST", 1000)  # less than a result
    np.testing.assert_array_equal(double(numbers(3)), 2 * numbers(3))
    assert not blocks


def test_threads_keep_their_own():
    errors = []

    def work(k):
        try:
            kept = [(i, double(numbers(k * 100 + i))) for i in range(12)][::3]
            for i in range(12):
                np.testing.assert_array_equal(double(numbers(i, N + 1000 * k)), 2 * numbers(i, N + 1000 * k))
            for i, y in kept:
                np.testing.assert_array_equal(y, 2 * numbers(k * 100 + i))
        except BaseException as error:  # a thread has nobody to tell
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_program_that_calls_itself_back():
    def again(x):
        return double(x) if len(x) == N else x

    @jit
    def outer(x):
        y = np.sin(x) * 0 + x
        z = pure_callback(again, x, y)
        return y + 0 * np.cos(x), z * 1.0 + 0 * np.cos(z)

    for k in range(3):
        y, z = outer(numbers(k))
        np.testing.assert_array_equal(y, numbers(k))
        np.testing.assert_array_equal(z, 2 * numbers(k))


def test_a_call_in_the_midst_of_another_takes_plain_memory(monkeypatch):
    """As from a signal, or from a finalizer that the interpreter runs while a block is looked for."""
    inner, looked = [], block_cache._holders

    def interrupted(blocks, i):
        if not inner:
            inner.append(double(numbers(7)))
        return looked(blocks, i)

    double(numbers(0))
    monkeypatch.setattr(block_cache, "_holders", interrupted)
    y = double(numbers(1))
    np.testing.assert_array_equal(y, 2 * numbers(1))
    np.testing.assert_array_equal(inner[0], 2 * numbers(7))
    assert not np.shares_memory(y, inner[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_writes_to_memory_of_its_own():
    y = double(numbers(1))
    double(numbers(2))
    child = os.fork()
    if not child:
        good = all(np.array_equal(double(numbers(k)), 2 * numbers(k)) for k in range(5))
        os._exit(0 if good and np.array_equal(y, 2 * numbers(1)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(y, 2 * numbers(1))


def test_what_is_too_large_is_named_by_its_own_shape():
    with pytest.raises(anyshape.errors.RunMemoryError, match=r"shape \(9000000, 9000000\) and data type float64"):
        jit(lambda x: np.add.outer(x, x) * 2)(np.ones(9_000_000))
