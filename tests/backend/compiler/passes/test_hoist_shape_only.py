"""Shape-only values are made once for the sizes of a call, bounded in bytes, and read-only."""

import gc
import itertools
import threading
import warnings

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.runtime.block_cache import CACHE, ENTRY_BYTES, MAX_CALL_BYTES
from anyshape.errors import ArgumentError, ZeroDivisorError
from anyshape.transforms import sharing
from tests.laws.sweep import check_same_outcome, is_error, outcome


@pytest.fixture(autouse=True)
def empty_cache():
    CACHE.clear()
    before = anyshape.config.shape_cache_bytes
    yield
    anyshape.config.shape_cache_bytes = before


def causal(x, fill=-1e9):
    n = x.shape[0]
    position = anp.arange(n)
    return anp.where(position[:, None] >= position[None, :], x @ x.T, fill)


CHOICES = {
    "a number elsewhere": lambda np, x, mask: np.where(mask, x, -1.5),
    "zero elsewhere": lambda np, x, mask: np.where(mask, x, 0),
    "minus zero elsewhere": lambda np, x, mask: np.where(mask, x, -0.0),
    "a number where it holds": lambda np, x, mask: np.where(mask, 2.5, x),
    "zero where it holds": lambda np, x, mask: np.where(mask, 0.0, x),
    "nan elsewhere": lambda np, x, mask: np.where(mask, x, np.nan),
    "two numbers": lambda np, x, mask: np.where(mask, 1.0, -1.0) * x,
    "two arrays": lambda np, x, mask: np.where(mask, x, x + 1),
    "both ways": lambda np, x, mask: np.where(mask, x, 3) - np.where(mask, 3, x) + np.where(mask, x, 3),
    "a row": lambda np, x, mask: np.where(mask[0], x, 7.0),
    "of a column": lambda np, x, mask: np.where(mask, x[:, :1], 7.0),
    "in place of it": lambda np, x, mask: np.where(mask, np.sin(x), 0) + np.where(mask, np.cos(x), 1),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128", "int64", "bool"])
@pytest.mark.parametrize("name", CHOICES)
def test_choices_by_a_mask_of_positions_equal_numpy_bit_by_bit(name, dtype):
    def f(np, x):
        n, m = x.shape
        return CHOICES[name](np, x, np.arange(n)[:, None] * 2 >= np.arange(m)[None, :])

    jitted = anyshape.jit(lambda x: f(anp, x))
    rng = np.random.default_rng(0)
    for shape in [(3, 4), (0, 3), (3, 0), (1, 1), (5, 5), (90, 80), (3, 4), (3, 4)]:
        x = (rng.normal(size=shape) * 4).astype(dtype)
        x[:1] = -x[:1] * 0 if dtype != "bool" else x[:1]
        for laid_out in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
            got, expected = outcome(jitted, laid_out), outcome(lambda x: f(np, x), laid_out)
            check_same_outcome(got, expected, 0, f"{name} of {shape}")
            assert is_error(got) or [x.tobytes() for x in got] == [x.tobytes() for x in expected]


def test_choices_of_several_dtypes_by_one_mask():
    def function(*xs):
        position = anp.arange(xs[0].shape[0])
        return [anp.where(position[:, None] >= position[None, :], x, fill) for x in xs for fill in (0.0, -1.5)]

    jitted = anyshape.jit(function)
    for n in (1, 4, 0):
        xs = [np.random.default_rng(n).normal(size=(n, n)).astype(kind) for kind in ("f4", "f8", "c16")]
        expected = [np.where(np.tri(n, dtype=bool), x, fill) for x in xs for fill in (0.0, -1.5)]
        for got, result in zip(jitted(*xs), expected, strict=True):
            np.testing.assert_array_equal(got, result, strict=True)


def test_derivatives_through_cached_masks():
    loss = lambda x: anp.sum(anp.tanh(causal(x, 0.5)) * anp.arange(x.shape[0]))
    step = anyshape.jit(anyshape.value_and_grad(loss))
    for n in (0, 1, 2, 5, 2, 40, 5):
        x = np.random.default_rng(n).normal(size=(n, 3))
        value, derivative = step(x)
        mask, w = np.tri(n, dtype=bool), np.arange(n)
        y = np.where(mask, x @ x.T, 0.5)
        assert np.allclose(value, np.sum(np.tanh(y) * w))
        ct = np.where(mask, (1 - np.tanh(y) ** 2) * w, 0)
        np.testing.assert_allclose(derivative, (ct + ct.T) @ x, atol=1e-10)
    assert step.cache_info().traces == 1


def test_values_are_made_once_for_the_sizes_of_a_call():
    jitted = anyshape.jit(causal)
    for n in (4, 5, 4, 5, 6, 4):
        jitted(np.ones((n, 2)))
    assert sorted(sizes for (_, sizes), _ in CACHE.entries.items()) == [(4,), (5,), (6,)]
    (owner,) = {owner() for owner, _ in CACHE.entries}
    owner.make = None  # is not called again
    np.testing.assert_array_equal(jitted(np.ones((5, 2))), causal(np.ones((5, 2))))


def write_with_a_step(p):
    if p.shape[0] == 1:
        p[::2] = p
    return p


def add_with_a_step(p):
    if p.shape[0] == 1:
        p[::2] += p
    return p


OF_A_FIXED_SIZE = {  # params hold the number then; metadata holds the variable
    "a slice with a step": write_with_a_step,
    "a slice with a step, added to": add_with_a_step,
    "branches for each": lambda p: anyshape.vmap(lambda v: anyshape.cond(v > 0, anp.sin, lambda v: v * 2, v))(p),
    "branches with rows": lambda p: anyshape.vmap(lambda v: anyshape.cond(v > 0, lambda v: p, lambda v: p + v, v))(p),
    "rows of a scan": lambda p: anyshape.scan(lambda c, v: (c + v, c * v), p * 0, anp.outer(p, p))[1],
}


@pytest.mark.parametrize("name", OF_A_FIXED_SIZE)
def test_values_of_a_size_that_python_asked_for(name, monkeypatch):
    monkeypatch.setenv("ANYSHAPE_CHECK", "0")  # a check of metadata would read the size
    values = OF_A_FIXED_SIZE[name]

    @anyshape.jit
    def f(x):
        y = anp.sum(values(anp.arange(x.shape[0]) + 0.5)) * x
        return y if x.shape[0] == 1 else -y

    for n in (1, 3, 1):
        total = np.sum(np.asarray(values(anp.arange(n) + 0.5)))
        np.testing.assert_allclose(f(np.ones(n)), np.full(n, total if n == 1 else -total))
    assert any(program.plan_for(np.ones(1)).hoisted for program in f.programs())


def test_values_are_freed_with_their_program():
    jitted = anyshape.jit(causal)
    jitted(np.ones((100, 2)))
    ((owner, _),) = CACHE.entries
    assert owner() is not None and CACHE.held_bytes > 100 * 100 * 16
    del jitted
    sharing.forget()  # functions of the same code would use it
    gc.collect()
    assert owner() is None


def test_the_cache_is_bounded():
    jitted = anyshape.jit(causal)
    anyshape.config.shape_cache_bytes = 5 * (ENTRY_BYTES + 20 * 20 * 16)
    for n in (*range(1, 21), *[20] * 3, *range(20, 0, -1)):
        np.testing.assert_array_equal(jitted(np.ones((n, 2))), np.where(np.tri(n), 2, -1e9))
        assert CACHE.held_bytes <= anyshape.config.shape_cache_bytes and CACHE.held_bytes == sum(CACHE.entries.values())
    assert CACHE.entries
    anyshape.config.shape_cache_bytes = 0
    np.testing.assert_array_equal(jitted(np.ones((50, 2))), np.where(np.tri(50), 2, -1e9))
    assert not CACHE.entries and CACHE.held_bytes == 0


def test_large_values_are_not_hoisted():
    jitted = anyshape.jit(lambda x: x * anp.arange(x.shape[0]) + 1)
    for n in (10, MAX_CALL_BYTES // 4, 10, MAX_CALL_BYTES // 4):
        np.testing.assert_array_equal(jitted(np.ones(n)), np.arange(n) + 1.0)
    (program,) = jitted.programs()
    assert CACHE.held_bytes < MAX_CALL_BYTES and not program.plan.hoisted
    assert program.plan_for(np.ones(10)).hoisted and not program.plan_for(np.ones(MAX_CALL_BYTES // 4)).hoisted


def test_results_do_not_share_memory_with_the_cache():
    positions = lambda x: anp.arange(x.shape[0])
    jitted = anyshape.jit(lambda x: (positions(x), anp.broadcast_to(positions(x)[None] * 2, (2, x.shape[0]))))
    for _ in range(3):
        a, b = jitted(np.ones(4))
        np.testing.assert_array_equal(a, np.arange(4))
        np.testing.assert_array_equal(b, [np.arange(4) * 2] * 2)
        a[:], b[:] = -1, -1


def test_functions_of_the_user_cannot_change_cached_values():
    held = []

    def keep(positions):
        held.append(positions)
        with pytest.raises(ValueError, match="read-only"):
            positions += 1
        return positions * 1.0

    like = anyshape.ShapeDtypeStruct((3,), np.float64)
    jitted = anyshape.jit(lambda x: anyshape.pure_callback(keep, like, anp.arange(x.shape[0])) + x)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(np.zeros(3)), [0, 1, 2])
    assert all(np.array_equal(positions, [0, 1, 2]) for positions in held)


def test_functions_of_the_user_are_called_at_every_call():
    calls = itertools.count()  # a list that grows would be captured state that changes

    def total(positions):
        next(calls)
        return positions.sum() * 1.0

    number = anyshape.ShapeDtypeStruct((), np.float64)
    jitted = anyshape.jit(lambda x: anyshape.pure_callback(total, number, anp.arange(x.shape[0])) + x)
    for n in (3, 3, 4, 3):
        np.testing.assert_array_equal(jitted(np.zeros(n)), np.full(n, sum(range(n))))
    assert next(calls) == 4 and jitted.cache_info().traces == 1


def test_every_call_warns():
    jitted = anyshape.jit(lambda x: x + 1 / anp.arange(x.shape[0]))
    for _ in range(3):
        with np.errstate(all="warn"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            np.testing.assert_array_equal(jitted(np.zeros(3)), [np.inf, 1, 0.5])
        assert [t.category for t in caught] == [RuntimeWarning]
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="div"):
            jitted(np.zeros(3))
        with np.errstate(all="ignore"):
            jitted(np.zeros(3))


def test_an_error_of_a_hoisted_step_names_the_line():
    jitted = anyshape.jit(lambda x: x + 1 / anp.arange(x.shape[0]))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match=r"test_hoist_shape_only\.py"):
        jitted(np.zeros(3))


def test_a_limit_of_memory_counts_hoisted_values():
    n = 100
    jitted = anyshape.jit(causal, max_bytes=10 * n * n * 8)
    np.testing.assert_array_equal(jitted(np.ones((n, 2))), np.where(np.tri(n), 2, -1e9))
    assert not CACHE.entries
    free = anyshape.jit(causal)
    free(np.ones((n, 2)))
    (program,) = free.programs()
    more = program.cost().peak_bytes.size
    assert str(more) != str(jitted.programs()[0].cost().peak_bytes.size)


def test_threads_share_the_cache():
    jitted, wrong = anyshape.jit(causal), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(200):
            n = int(rng.integers(1, 30))
            if not np.array_equal(jitted(np.ones((n, 2))), np.where(np.tri(n), 2, -1e9)):
                wrong.append(n)

    anyshape.config.shape_cache_bytes = 20_000
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and CACHE.held_bytes == sum(CACHE.entries.values())


def test_values_of_sizes_that_depend_on_data_are_not_cached():
    jitted = anyshape.jit(lambda x: anp.cumsum(x[x > 0] * anp.arange(x[x > 0].shape[0])) / x.shape[0])
    for x in (np.array([1.0, -1, 2]), np.array([1.0, 1, 2]), np.array([-1.0, -1, -2])):
        np.testing.assert_allclose(jitted(x), np.cumsum(x[x > 0] * np.arange(sum(x > 0))) / 3)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "all", None])
def test_the_bound_is_a_number_of_bytes(wrong):
    with pytest.raises(ArgumentError, match="shape_cache_bytes"):
        anyshape.config.shape_cache_bytes = wrong


def test_the_plan_shows_what_is_cached(capsys):
    program = anyshape.trace(causal)(anyshape.ShapeDtypeStruct("n, d"))
    program.plan_for(np.ones((3, 2))).show()
    said = capsys.readouterr().out
    assert "cached for calls of these sizes" in said and "masked_else" in said


def test_values_that_warn_are_made_once_a_call():
    """Weights that underflow are not cached; each call used to make them twice."""
    jitted = anyshape.jit(lambda x: x * anp.exp(-50.0 * anp.arange(x.shape[0])))
    with np.errstate(under="ignore"):
        jitted(np.ones(100))
        ((owner, sizes),) = CACHE.entries
        make, made = owner().make, []
        owner().make = lambda *sizes: made.append(sizes) or make(*sizes)
        for _ in range(3):
            np.testing.assert_array_equal(jitted(np.ones(100)), np.exp(-50.0 * np.arange(100)))
    assert made == [sizes] * 3 and CACHE.held_bytes == ENTRY_BYTES


def test_a_bound_holds_after_an_interrupt_between_an_entry_and_its_bytes():
    jitted = anyshape.jit(causal)
    CACHE.held_bytes += 10**6  # of an entry that is gone
    anyshape.config.shape_cache_bytes = 0
    for n in (3, 4):
        np.testing.assert_array_equal(jitted(np.ones((n, 2))), np.where(np.tri(n), 2, -1e9))
    assert CACHE.held_bytes == 0


def test_a_divisor_of_0_is_an_error_before_hoisted_values_are_measured():
    program = anyshape.trace(lambda x: x + anp.sum(anp.arange(x.shape[0] // x.shape[1]) * x[0, 0]))(
        anyshape.ShapeDtypeStruct("n, m")
    )
    np.testing.assert_array_equal(program(np.ones((6, 2))), np.full((6, 2), 4.0))
    assert program.plan_for(np.ones((6, 2))).hoisted and not program.plan_for(np.ones((6, 0))).hoisted
    with pytest.raises(ZeroDivisorError, match=r"m \(0, from x\.shape\[1\]\) must not be 0"):
        program(np.ones((6, 0)))
