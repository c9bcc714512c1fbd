"""Programs without a known bound of their memory count their bytes under `max_bytes`, and stop where these exceed it.

Loops are then traced again with checkpoint slots, which may fit.
"""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import anyshape
from anyshape import grad, jit, vmap
from anyshape.errors import MemoryLimitError

N = 2_000
BYTES = 8 * N  # of one carry
X = np.linspace(0.1, 1.0, N)


def last(x, trips, checkpoint=None):
    body = lambda c: (c[0] + 1, np.sin(c[1]) * x)
    return np.sum(anyshape.while_loop(lambda c: c[0] < trips, body, (0, x), checkpoint=checkpoint)[1])


def nested(x, trips):
    def outer(c, _):
        return anyshape.while_loop(lambda s: s[0] < trips, lambda s: (s[0] + 1, np.sin(s[1]) * x), (0, c))[1], None

    return np.sum(anyshape.scan(outer, x, None, length=3)[0])


def twice(x, trips):
    return grad(lambda x: np.sum(grad(last)(x, trips) ** 2))(x)


def measured(function, *args):
    """Return the result of a second call, and the most bytes that it held."""
    function(*args)
    tracemalloc.start()
    try:
        result = function(*args)
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


UNBOUNDED = {
    "reverse over reverse": (twice, (X, 60)),
    "a batch that ends at different trips": (vmap(grad(last)), (np.stack([X, X / 2]), np.array([3, 150]))),
    "a gradient of such a batch": (
        grad(lambda xs, trips: np.sum(vmap(last)(xs, trips))),
        (np.stack([X, X / 2, X]), np.array([70, 0, 1])),
    ),
    "a loop in a loop": (grad(nested), (X, 60)),
}


@pytest.mark.parametrize("name", UNBOUNDED)
def test_a_program_without_a_bound_runs_within_the_limit(name):
    """Values are the same, at other sizes too, and the memory is that of the limit."""
    function, args = UNBOUNDED[name]
    limited, limit = jit(function, max_bytes=1500 * BYTES), 1500 * BYTES
    expected = jit(function)(*args)
    result, used = measured(limited, *args)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    assert used <= limit + 16 * BYTES  # what a step has beside its results
    for n in (0, 1, 2, 5):
        few = args[0][..., :n], args[1]
        np.testing.assert_allclose(limited(*few), jit(function)(*few), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in UNBOUNDED if name != "reverse over reverse"])
def test_loops_get_slots_where_all_that_they_save_does_not_fit(name):
    """The trips of the caller's loops run again, and the memory is that of the slots."""
    function, args = UNBOUNDED[name]
    limit = 64 * BYTES
    limited, free = jit(function, max_bytes=limit), jit(function, compile="off")  # whose arrays tracemalloc counts
    expected, without_limit = measured(free, *args)
    assert without_limit > 2 * limit
    result, used = measured(limited, *args)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    assert used <= limit + 16 * BYTES  # what a step has beside its results


@pytest.mark.slow
def test_the_error_names_the_trip_and_the_bytes():
    """It is raised where the limit is exceeded, the next call works, and nothing of the failed one is kept."""
    limited = jit(twice, max_bytes=40 * BYTES)
    with pytest.raises(MemoryLimitError, match=r"needs \d+ bytes by now, and max_bytes is 640000") as caught:
        limited(X, 60)
    error = caught.value
    assert error.counted > error.limit == 40 * BYTES and error.needed is None
    assert "test_live_bytes.py" in str(error) and "allow more" in str(error)
    np.testing.assert_allclose(limited(X[:3], 60), twice(X[:3], 60))


def test_a_loop_that_draws_stops_in_its_trip():
    """It gets no slots, as its trips may not run again: what each trip saves is counted."""

    def noisy(x, trips, generator):
        body = lambda c: (c[0] + 1, np.sin(c[1]) * x + generator.normal())
        return np.sum(anyshape.while_loop(lambda c: c[0] < trips, body, (0, x))[1])

    def second(x, trips, generator):
        return grad(lambda x: grad(noisy)(x, trips, generator).sum())(x)

    with pytest.raises(MemoryLimitError, match="in trip") as caught:
        jit(second, max_bytes=100 * BYTES)(X, 10**9, np.random.default_rng(0))
    assert caught.value.trips[0] < 100


def test_calls_in_threads_count_apart():
    """Each call has a count of its own."""
    limited = jit(grad(nested), max_bytes=1000 * BYTES)
    expected = [limited(X, k) for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda k: limited(X, k), range(8)))
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, value)


def test_a_program_that_draws_is_not_run_again():
    """Other numbers would be drawn: the error stands, and the state of the generator goes on from the first run."""

    def noisy(x, trips, generator):
        def outer(c, _):
            body = lambda s: (s[0] + 1, np.sin(s[1]) * x)
            return anyshape.while_loop(
                lambda s: s[0] < trips, body, (0, c + (0 if generator is None else generator.normal()))
            )[1], None

        return np.sum(anyshape.scan(outer, x, None, length=3)[0])

    limited = jit(grad(noisy), max_bytes=60 * BYTES)
    limited(X, 0, None)  # a program of the same function that draws nothing
    with pytest.raises(MemoryLimitError, match="by now"):
        limited(X, 60, np.random.default_rng(0))
    assert not limited.with_slots


def test_a_known_bound_refuses_before_anything_is_allocated():
    """Run-time sizes that have a bound are not counted."""
    chosen = jit(lambda x: np.sum(np.outer(x[x > 0], x[x > 0])), max_bytes=100_000)
    with pytest.raises(MemoryLimitError, match="may need") as caught:
        chosen(-np.ones(1000))
    assert caught.value.counted is None
