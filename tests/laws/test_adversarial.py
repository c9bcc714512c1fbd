"""Programs written to break things: sizes used as ints, captured values, Python scalars, threads, shared memory."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import anyshape as a
import anyshape.numpy as anp


def assert_same(got, want):
    """Equal trees of arrays, with equal dtypes and shapes."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
        return
    want = np.asarray(want)
    assert np.asarray(got).dtype == want.dtype
    assert np.shape(got) == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def agree_at(function, shapes):
    """The jitted function gives what NumPy gives at every shape, twice; where NumPy raises, it has its own error."""
    jitted = a.jit(function)
    for _ in range(2):
        for sizes in shapes:
            args = [np.linspace(0.5, 2.0, int(np.prod(s))).reshape(s) for s in sizes]
            try:
                want = function(*args)
            except Exception:
                with pytest.raises(a.AnyshapeError):
                    jitted(*args)
            else:
                assert_same(jitted(*args), want)
    return jitted.cache_info().traces


ONE = [((n,),) for n in range(8)]
TWO = [((n,), (m,)) for n in range(4) for m in range(4)]


# -- sizes in sets and dictionaries, and beside numbers that are not ints -------------------------------------------

AS_INTS = {
    "in a set": (lambda x: x * 2 if x.shape[0] in {2, 5} else x, ONE),
    "in a frozenset": (lambda x, y: x * len(frozenset((*x.shape, *y.shape, 2))), TWO),
    "a set of sizes": (lambda x, y: x.sum() * len({x.shape[0], y.shape[0]}), TWO),
    "a key that is looked up": (lambda x: {1: x * 2, 3: x * 3}.get(x.shape[0], x), ONE),
    "a shape that is looked up": (lambda x: {(1,): x * 2, (3,): x * 5}.get(x.shape, x - 1), ONE),
    "two sizes as keys": (lambda x, y: x * {x.shape[0]: 1.0, y.shape[0]: 2.0}[x.shape[0]], TWO),
    "equal to a float": (lambda x: x * 2 if x.shape[0] == 3.0 else x, ONE),
    "equal to a complex": (lambda x: x * 2 if x.shape[0] == 3 + 0j else x, ONE),
    "unequal to a float": (lambda x: x * 2 if x.shape[0] != 2.5 and x.shape[0] != 2.0 else x, ONE),
    "in a tuple of floats": (lambda x: x * 2 if x.shape[0] in (3.0, 2) else x, ONE),
    "over a float": (lambda x: x * 2 if x.shape[0] > 2.5 else x, ONE),
    "between floats": (lambda x: x * 2 if 1.5 <= x.shape[0] < np.float32(4.0) else x, ONE),
    "up to a float": (lambda x: x * 2 if x.shape[0] <= 2.0 or x.shape[0] > 4.5 else x, ONE),
    "under infinity": (lambda x: x * 2 if x.shape[0] < np.inf and not x.shape[0] > -np.log(0.0) else x, ONE),
    "bits": (lambda x, y: x * (y.shape[0] & 1) + (y.shape[0] | 2) + (1 ^ y.shape[0]) + (1 << y.shape[0]), TWO),
    "shifted": (lambda x: x[: x.shape[0] >> 1] * (x.shape[0] << 2), ONE),
    "a list repeated": (lambda x, y: sum([x] * y.shape[0], np.zeros(1)), TWO),
    "a tuple repeated": (lambda x, y: sum(y.shape[0] * (x,), np.zeros(1)), TWO),
    "a text repeated": (lambda x: x * len("ab" * x.shape[0]), ONE),
}


@pytest.mark.parametrize("name", AS_INTS)
def test_sizes_behave_as_ints(name):
    agree_at(*AS_INTS[name])


def test_sizes_of_a_specification_are_hashed_by_name():
    n, m = a.symbolic_shape("n, 2*n")
    assert len({n, m, n}) == 2


def test_a_set_of_unknown_sizes_is_a_question():
    with pytest.raises(a.errors.InconclusiveDimensionError):
        a.trace(lambda x: x * len({x.shape[0], 2}))(a.ShapeDtypeStruct("n"))


def test_what_is_remembered_by_size_outside_serves_later_traces():
    seen = {}

    def scale(n):
        if n not in seen:
            seen[n] = np.full(3, float(n))
        return seen[n]

    f = a.jit(lambda x: x.sum() * scale(x.shape[0]))
    for dtype in (np.float64, np.float32):
        assert_same(np.asarray(f(np.ones(2, dtype)), np.float64), np.full(3, 4.0))
    assert len(seen) == 1


# -- sizes that may be negative ------------------------------------------------------------------------------------

NEGATIVE = {
    "split before the start": lambda x, y: np.split(x, [x.shape[0] - y.shape[0]]),
    "split twice": lambda x, y: np.split(x, [y.shape[0] - 2, y.shape[0]]),
    "split into n parts": lambda x, y: np.split(x, y.shape[0])[0],
    "array_split into n parts": lambda x, y: np.array_split(x, y.shape[0])[-1],
    "repeat n times": lambda x, y: np.repeat(x, y.shape[0]),
    "tile n times": lambda x, y: np.tile(x, y.shape[0]),
    "slice from a difference": lambda x, y: x[x.shape[0] - y.shape[0] :] * 2,
    "slice up to a difference": lambda x, y: x[: x.shape[0] - 2 * y.shape[0]] * 2,
    "slice backwards": lambda x, y: x[x.shape[0] - 2 : y.shape[0] - 1 : -1] * 2,
    "an element from the end": lambda x, y: x[x.shape[0] - y.shape[0] - 1] * 2,
    "stretched to less than nothing": lambda x, y: np.broadcast_to(x.sum(), (y.shape[0] - 1,)) * 2,
    "the size of what cannot be": lambda x, y: x * np.broadcast_to(x.sum(), (y.shape[0] - 2,)).shape[0],
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_differences_of_sizes(name):
    agree_at(NEGATIVE[name], TWO)


@pytest.mark.parametrize(
    "make", [anp.tile, anp.repeat, lambda x, n: anp.ones(n) * x[0], lambda x, n: anp.indices((n,))]
)
def test_a_negative_size_is_refused(make):
    f = a.jit(lambda x, y: make(x, y.shape[0] - 2))
    assert np.shape(f(np.ones(3), np.ones(4)))
    with pytest.raises(a.errors.SizeMismatchError, match="must be at least 0"):
        f(np.ones(3), np.ones(1))


# -- Python scalars ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(
    "function",
    [
        lambda p: p + p, lambda p: p * True + p, lambda p: p - p, lambda p: -p, lambda p: abs(p), lambda p: +p,
        lambda p: ~p if type(p) is not bool else -1 - p, lambda p: 2 ** (p + p), lambda p: p == 1, lambda p: p & p,
        lambda p: p + np.True_, lambda p: p + np.ones(2, bool), lambda p: p / (p + 1),
    ],
)  # fmt: skip
def test_python_bools_count_as_ints(function, flag):
    assert_same(a.jit(function)(flag), function(flag))


def test_clip_takes_its_array_as_an_array():
    for x in (2, 2.5):
        high = np.ones(2, np.float32)
        assert_same(a.jit(lambda x, high: np.clip(x, 0, high))(x, high), np.clip(x, 0, high))


def test_angle_of_bools():
    assert_same(a.jit(np.angle)(np.array([True, False])), np.angle(np.array([True, False])))


# -- derivatives inside other transforms ---------------------------------------------------------------------------


def test_inner_and_outer_derivatives_are_not_confused():
    assert a.grad(lambda x: x * a.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert a.grad(lambda x: x * a.grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert a.jvp(lambda x: x * a.jvp(lambda y: x * y, (1.0,), (1.0,))[1], (3.0,), (1.0,)) == (9.0, 6.0)
    nested = a.grad(lambda x: a.grad(lambda y: a.grad(lambda z: x * y * z * z)(y * x))(x) * x)
    np.testing.assert_allclose(nested(1.5), 16 * 1.5**3)


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0)])
@pytest.mark.parametrize("shape", [(3, 2), (1, 2), (3, 1), (0, 2), (2, 0), (1, 1)])
def test_gradients_of_what_is_shared_along_a_mapped_axis(argnums, shape):
    x, y = np.linspace(0.1, 1.0, shape[0] * shape[1]).reshape(shape), np.linspace(1.0, 2.0, shape[1])
    derivatives = (y**2 * np.cos(x * y), np.sin(x * y) + x * y * np.cos(x * y))
    got = a.vmap(a.grad(lambda x, y: np.sum(np.sin(x * y) * y), argnums), in_axes=(0, None))(x, y)
    assert_same(got, derivatives[argnums] if isinstance(argnums, int) else tuple(derivatives[i] for i in argnums))


def test_gradients_of_captured_values_deep_inside():
    x, y = np.linspace(0.1, 1.0, 6).reshape(2, 3), np.linspace(1.0, 2.0, 3)

    def loss(y):
        inner = a.vmap(lambda r: a.vmap(lambda s: np.sum(a.grad(lambda z: np.sum(r * z * y))(y)) * s)(r))
        return np.sum(inner(x))

    # the inner derivative is r * y, so the loss is the sum over rows r of sum(r * y) * sum(r)
    np.testing.assert_allclose(a.grad(loss)(y), x.sum(1) @ x)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("m", [0, 1, 3])
def test_a_pullback_is_used_again_elsewhere(n, m):
    if n != m and 1 not in (n, m):
        return
    x, y = np.linspace(0.1, 1.0, n), np.linspace(1.0, 2.0, m)
    out, back = a.vjp(lambda u, v: np.sin(u * v) * u, x, y)
    derivative_x, derivative_y = np.sin(x * y) + x * y * np.cos(x * y), x**2 * np.cos(x * y)
    total = [np.sum((out * s).reshape(-1), keepdims=k == 1) if k == 1 != out.size else out * s
             for s, k in ((derivative_x, n), (derivative_y, m))]  # fmt: skip
    for _ in range(2):
        assert_same(back(out), tuple(total))
    assert_same(a.jit(lambda c: back(c * 2))(out), tuple(t * 2 for t in total))
    assert_same(a.vmap(back)(np.stack([out, out])), tuple(np.stack([t, t]) for t in total))


# -- memory --------------------------------------------------------------------------------------------------------

CONSTANT = np.arange(3.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (
            x,
            x,
            x[:],
            x.T,
            x.reshape(x.shape),
            x * 1,
            np.negative(-x),
            np.where(True, x, x),
            x.astype(float),
            x.copy(),
        ),
        lambda x: (CONSTANT, CONSTANT, CONSTANT[::-1], CONSTANT.reshape(3, 1), x),
        lambda x: (np.broadcast_to(x[:1], x.shape), np.broadcast_to(x[0], (2, 3)), np.diagonal(np.outer(x, x))),
        lambda x: (np.exp(np.sin(x)), np.exp(np.sin(x))[::-1], np.real(x), np.stack([x])[0]),
    ],
)
@pytest.mark.parametrize("layout", [lambda x: x, lambda x: np.repeat(x, 2)[::2], lambda x: x[::-1].copy()[::-1]])
def test_results_share_memory_with_nothing_and_may_be_written(function, layout):
    x = layout(np.array([1.0, 2.0, 4.0]))
    jitted, want = a.jit(function), [np.array(t) for t in function(x)]
    for _ in range(3):
        got = jitted(x)
        assert_same(list(got), want)
        for i, t in enumerate(got):
            assert not any(np.shares_memory(t, other) for other in (x, CONSTANT, *got[i + 1 :]))
        for t in got:
            t[...] = 9
    assert list(x) == [1.0, 2.0, 4.0]
    assert list(CONSTANT) == [0.0, 1.0, 2.0]


# -- threads and errors --------------------------------------------------------------------------------------------


FIRST_QUESTIONS = """
import os
import subprocess
import sys
import threading
from pathlib import Path
import numpy as np
from anyshape import jit

def make(k):
    def f(x, y):
        if x.shape[0] // 2 + y.shape[0] % 3 > k % 4:
            x = x + 1
        return np.concatenate([x[1:], x[:1]])[: y.shape[0] // 2]
    return f

wrong = []
def work(seed):
    try:
        for k in range(seed, seed + 6):
            run, eager = jit(make(k)), make(k)
            for n, m in ((5, 4), (1, 9), (0, 2), (8, 3)):
                x, y = np.arange(n), np.arange(m)
                np.testing.assert_array_equal(run(x, y), eager(x, y))
    except BaseException as error:
        wrong.append(error)

threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(wrong)
"""


def test_threads_may_ask_the_first_hard_questions_of_a_process_together():
    """Integer sets are loaded by the first question that needs them, and each thread has its own."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", FIRST_QUESTIONS]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_share_a_jitted_function_from_its_first_call_on():
    def function(x, w):
        h = np.tanh(x @ w)
        return h * 2 if x.shape[0] > 3 else h

    jitted, derivative = a.jit(function), a.grad(lambda x, w: np.sum(function(x, w)))
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(15):
            n, k, m = rng.integers(1, 7, size=3)
            x, w = rng.normal(size=(n, k)), rng.normal(size=(k, m))
            try:
                assert_same(jitted(x, w), function(x, w))
                factor = 2 if n > 3 else 1
                assert_same(derivative(x, w), (factor * (1 - np.tanh(x @ w) ** 2)) @ w.T)
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


# -- sizes made of sizes, many times over ----------------------------------------------------------------------------


def again(step, times):
    def function(x, y):
        for _ in range(times):
            x = step(x, y)
        return x * 2

    return function


STEPS = {
    "every second": (lambda x, y: x[::2], 14),
    "sums of halves": (lambda x, y: x[: x.shape[0] // 2] + x[x.shape[0] // 2 : x.shape[0] // 2 * 2], 6),
    "differences": (lambda x, y: np.diff(x), 150),
    "neighbours": (lambda x, y: x[2:] + x[1:-1] + x[:-2], 12),
    "cut and cut again": (lambda x, y: x[1:][: y.shape[0]], 20),
    "joined and thinned": (lambda x, y: np.concatenate([x, y])[::2], 20),
    "padded and reversed": (lambda x, y: np.pad(x, (1, 0))[:-1][::-1], 30),
    "means of pairs": (lambda x, y: x[: x.shape[0] // 2 * 2].reshape(-1, 2).mean(1), 6),
}


@pytest.mark.parametrize("name", STEPS)
def test_sizes_of_long_programs_stay_short(name):
    step, times = STEPS[name]
    function = again(step, times)
    jitted = a.jit(function)
    for n, m in ((200, 60), (64, 3), (5, 0), (1, 1), (0, 2)):
        x, y = np.linspace(0.0, 1.0, n), np.linspace(1.0, 2.0, m)
        assert_same(jitted(x, y), function(x, y))
    assert all(len(program.run.__source__) < 200_000 for program in jitted.programs())


def test_halves_of_halves_have_names():
    function = again(STEPS["sums of halves"][0], 5)
    program = a.trace(function)(a.ShapeDtypeStruct("n"), a.ShapeDtypeStruct("m"))
    assert str(program.graph.outputs[0].meta) == "f64[n // 32]"
    assert not program.graph.conditions
