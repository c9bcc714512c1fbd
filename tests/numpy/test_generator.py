"""Generators as arguments: the numbers and the state that NumPy gives, derivatives, batches and order of draws."""

import functools
import io
import itertools
import pickle
import sys
import threading

import numpy as np
import pytest
from scipy import stats

import anyshape
from anyshape import checkpoint, cond, errors, grad, jit, jvp, scan, vjp, vmap, while_loop
from tests.samples.random import DRAWS

every_draw = pytest.mark.parametrize("draw", DRAWS, ids=str)
smooth = pytest.mark.parametrize("draw", [d for d in DRAWS if d.grad], ids=str)


def generator(seed=7):
    return np.random.default_rng(seed)


def state(rng):
    return rng.bit_generator.state


def sample(draw, size, seed=0):
    return generator(seed).uniform(*draw.domain, size)


def assert_same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=1e-13)


# -- numbers and state


@every_draw
def test_one_trace_draws_as_numpy_at_every_size(draw):
    traced, eager, program = generator(), generator(), jit(draw.function)
    for size in (0, 1, 2, 5):
        x = sample(draw, size)
        for _ in range(2):
            assert_same(program(traced, x), draw.function(eager, x))
            assert state(traced) == state(eager)
    assert program.cache_info().traces == 1


@pytest.mark.parametrize("size", [None, (), 3, (2, 2)])
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_choice_draws_as_numpy(size, replace, weighted):
    p, x = np.array([0.1, 0.2, 0.3, 0.4]) if weighted else None, np.arange(8.0).reshape(4, 2)
    for function in (
        lambda rng, x: rng.choice(x, size, replace, p),
        lambda rng, x: rng.choice(x.shape[0], size, replace, p, shuffle=False),
    ):
        traced, eager = generator(), generator()
        assert_same(jit(function)(traced, x), function(eager, x))
        assert state(traced) == state(eager)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64])
def test_all_bit_generators(bits):
    traced, eager = np.random.Generator(bits(3)), np.random.Generator(bits(3))
    assert_same(jit(lambda rng: rng.normal(size=5))(traced), eager.normal(size=5))
    assert str(state(traced)) == str(state(eager))


def test_numbers_are_of_the_kinds_that_numpy_gives():
    kinds = jit(lambda rng: [np.float32(1) * rng.normal(), np.int8(1) * rng.poisson(), np.int8(1) * rng.integers(3)])
    rng = generator()
    eager = [np.float32(1) * rng.normal(), np.int8(1) * rng.poisson(), np.int8(1) * rng.integers(3)]
    assert [x.dtype for x in kinds(generator())] == [x.dtype for x in eager]


def test_code_that_asks_for_a_generator_gets_one():
    def function(seed):
        rng = np.random.default_rng(seed)
        assert isinstance(seed, np.random.Generator)
        return rng.normal(size=3)

    assert_same(jit(function)(generator()), generator().normal(size=3))


# -- derivatives


@smooth
def test_derivatives_are_those_of_the_numbers_with_the_same_bits(draw):
    x, weights = sample(draw, 3), None
    step = 1e-6 * generator(1).normal(size=3)
    ahead, behind = (draw.function(generator(), x + s) for s in (step, -step))
    (y, t), rng = jvp(draw.function, (generator(), x), (0.0, 1e6 * step)), generator()
    np.testing.assert_allclose(t, (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-6)
    value, pull = vjp(draw.function, rng, x)
    eager = generator()
    assert_same(value, draw.function(eager, x))
    assert state(rng) == state(eager)
    weights = generator(2).normal(size=np.shape(y))
    np.testing.assert_allclose(np.sum(weights * t), np.sum(pull(weights)[1] * 1e6 * step))
    assert state(rng) == state(eager)


IMPLICIT = {
    "standard_gamma": (stats.gamma, [(0.3,), (2.5,), (30.0,)]),
    "chisquare": (stats.chi2, [(0.7,), (3.0,)]),
    "beta": (stats.beta, [(0.5, 0.8), (2.0, 3.0)]),
    "f": (stats.f, [(2.0, 3.0), (1.0, 30.0)]),
    "standard_t": (stats.t, [(1.0,), (2.5,)]),
}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", IMPLICIT)
def test_derivatives_keep_the_quantile_where_bits_jump(name, legacy):
    distribution, cases = IMPLICIT[name]
    make = (lambda: np.random.RandomState(3)) if legacy else generator
    draw = lambda rng, *parameters: getattr(rng, name)(*parameters, size=20)
    for parameters in cases:
        for i in range(len(parameters)):
            unit = [float(j == i) for j in range(len(parameters))]
            y, t = jvp(draw, (make(), *parameters), (0.0, *unit))
            np.testing.assert_array_equal(y, draw(make(), *parameters))
            quantile = distribution.cdf(y, *parameters)
            ahead, behind = (distribution.ppf(quantile, *np.add(parameters, s * np.array(unit))) for s in (1e-5, -1e-5))
            np.testing.assert_allclose(t, (ahead - behind) / 2e-5, rtol=1e-4, atol=1e-7)


def test_second_derivatives_keep_the_quantile():
    slope = grad(lambda rng, a: np.sum(np.sin(rng.gamma(a, 2.0, size=3)) * rng.beta(a, 1.5, size=3)), 1)
    step = 1e-5
    quantiles = stats.gamma.cdf(generator().gamma(1.5, 1.0, size=3), 1.5)
    rng = generator()
    rng.gamma(1.5, 1.0, size=3)
    shares = stats.beta.cdf(rng.beta(1.5, 1.5, size=3), 1.5, 1.5)
    value = lambda a: np.sum(np.sin(2 * stats.gamma.ppf(quantiles, a)) * stats.beta.ppf(shares, a, 1.5))
    np.testing.assert_allclose(slope(generator(), 1.5), (value(1.5 + step) - value(1.5 - step)) / 2 / step, rtol=1e-6)
    second = (value(1.5 + 1e-3) - 2 * value(1.5) + value(1.5 - 1e-3)) / 1e-6
    np.testing.assert_allclose(grad(slope, 1)(generator(), 1.5), second, rtol=1e-4)


@pytest.mark.slow
def test_gradients_of_dirichlet_vectors_are_those_of_their_mean():
    alpha, weights = np.array([1.5, 2.0, 0.5]), np.array([1.0, -2.0, 3.0])
    loss = lambda rng, alpha: np.mean(np.sum(weights * rng.dirichlet(alpha, size=100_000) ** 2, -1))
    mean = lambda alpha: np.sum(weights * alpha * (alpha + 1)) / (alpha.sum() * (alpha.sum() + 1))
    expected = [(mean(alpha + step) - mean(alpha - step)) / 2e-5 for step in 1e-5 * np.eye(3)]
    np.testing.assert_allclose(grad(loss, 1)(generator(), alpha), expected, atol=5e-3)
    tangents = vmap(lambda rng, a: jvp(rng.dirichlet, (a,), (a,))[1], in_axes=(None, 0))(
        generator(), alpha * np.ones((4, 1))
    )
    np.testing.assert_allclose(tangents.sum(-1), 0, atol=1e-12)
    assert tangents.shape == (4, 3)


def test_derivatives_of_float32_draws():
    slope = grad(lambda rng, a: rng.standard_gamma(a, dtype=np.float32), 1)(generator(), 2.0)
    assert slope.dtype == np.float64
    assert 0 < slope < 5


@smooth
def test_second_derivatives(draw):
    def loss(rng, x):
        return np.sum(np.sin(draw.function(rng, x)))

    x, direction = sample(draw, 2), generator(1).normal(size=2)
    gradient = grad(loss, 1)
    ahead, behind = (gradient(generator(), x + s * direction) for s in (1e-6, -1e-6))
    _, t = jvp(gradient, (generator(), x), (0.0, direction))
    np.testing.assert_allclose(t, (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("function", [lambda r, x: r.poisson(x), lambda r, x: r.binomial(3, x), lambda r, x: r.zipf(x)])
def test_integers_have_no_derivative(function):
    with pytest.raises(errors.UnsupportedFunctionError, match="stop_gradient"):
        grad(lambda rng, x: x * function(rng, x), 1)(generator(), 0.5)


def test_a_parameter_that_is_constant_needs_no_derivative():
    x, rng = 0.5, generator()
    slope = grad(lambda rng, x: x * rng.poisson(anyshape.stop_gradient(x)), 1)(generator(), x)
    assert slope == rng.poisson(x)


# -- batches


def test_vmap_makes_one_draw_of_the_size_of_the_batch():
    x, traced, eager = np.arange(4.0), generator(), generator()
    mapped = vmap(lambda rng, x: (rng.normal(x, 1.0, size=3), rng.random(), rng.choice(5, 2)), in_axes=(None, 0))
    normal, uniform, chosen = mapped(traced, x)
    assert_same(normal, eager.normal(x[:, None], 1.0, size=(4, 3)))
    assert_same(uniform, eager.random(4))
    assert_same(chosen, [eager.choice(5, 2) for _ in x])
    assert state(traced) == state(eager)


@every_draw
@pytest.mark.parametrize("size", [0, 3])
def test_a_batch_of_generators_draws_for_each_example(draw, size):
    x = np.stack([sample(draw, 2, seed) for seed in range(3)])[:size]
    traced, eager = (np.array([generator(seed) for seed in range(3)], object)[:size] for _ in range(2))
    y = vmap(draw.function)(traced, x)
    assert len(y) == size
    for mine, rng, row, result in zip(traced, eager, x, y, strict=True):
        assert_same(result, draw.function(rng, row))
        assert state(mine) == state(rng)


def test_loops_in_a_batch_draw_for_each_example():
    def walk(rng, x):
        return x + scan(lambda at, _: (at + rng.normal(), at), 0.0, np.arange(3.0))[0]

    traced, eager = generator(), generator()
    np.testing.assert_allclose(vmap(walk, in_axes=(None, 0))(traced, np.zeros(4)), eager.normal(size=(3, 4)).sum(0))
    assert state(traced) == state(eager)


# -- order, and that nothing draws twice


def test_draws_keep_their_order_around_derivatives_and_programs():
    inner = jit(lambda rng, x: x * rng.random(x.shape))

    def function(rng, x):
        first = rng.normal(size=2)
        slope = grad(lambda y: np.sum(y * rng.normal(y) + rng.normal(size=2) * y * y))(x)
        return first, slope, inner(rng, x), rng.integers(9)

    def eager(rng, x):
        first, z, m = rng.normal(size=2), rng.normal(x) - x, rng.normal(size=2)
        return first, z + 2 * x + 2 * m * x, x * rng.random(2), rng.integers(9)

    x, a, b = np.array([1.0, 2.0]), generator(), generator()
    for result, wanted in zip(jit(function)(a, x), eager(b, x), strict=True):
        np.testing.assert_allclose(result, wanted)
    assert state(a) == state(b)


def test_one_generator_passed_twice_is_one():
    function = lambda a, b: np.concatenate([a.normal(size=2), b.random(2), a.normal(size=1)])
    traced, eager = generator(), generator()
    assert_same(jit(function)(traced, traced), function(eager, eager))
    shared = np.random.PCG64(5)
    y = jit(function)(np.random.Generator(shared), np.random.Generator(shared))
    assert_same(y, function(*[np.random.Generator(np.random.PCG64(5))] * 2))


def test_a_checkpoint_never_draws_again():
    def loss(rng, x):
        layer = checkpoint(lambda x: np.sin(x * rng.normal(size=x.shape)))
        return np.sum(layer(layer(x)))

    x, traced, eager = np.array([0.5, 1.0]), generator(), generator()
    slope = grad(loss, 1)(traced, x)
    z, w = eager.normal(size=2), eager.normal(size=2)
    np.testing.assert_allclose(slope, np.cos(w * np.sin(x * z)) * w * np.cos(x * z) * z)
    assert state(traced) == state(eager)


def test_a_memory_limit_never_draws_again():
    def loss(rng, x):
        return np.sum(scan(lambda c, v: (np.tanh(c * v + rng.normal(size=50)), c), np.ones(50), x)[0])

    x, traced, eager = np.linspace(0.1, 0.9, 40), generator(), generator()
    plain = jit(grad(loss, 1))(eager, x)
    limited = jit(grad(loss, 1), max_bytes=200_000)
    np.testing.assert_allclose(limited(traced, x), plain)
    assert state(traced) == state(eager)


def test_loops_and_branches_draw_when_they_run():
    def function(rng, x):
        total, rows = scan(lambda c, v: (c * v + rng.normal(v), rng.random(2)), 1.0, x)
        high = while_loop(lambda c: c < 2.0, lambda c: c + rng.random(), 0.0)
        return (
            total,
            rows,
            high,
            cond(total > 0, lambda: rng.normal(), lambda: rng.random() + rng.random()),
            rng.random(),
        )

    def eager(rng, x):
        total, rows, high = 1.0, [], 0.0
        for v in x:
            total = total * v + rng.normal(v)
            rows.append(rng.random(2))
        while high < 2.0:
            high += rng.random()
        drawn = rng.normal() if total > 0 else rng.random() + rng.random()
        return total, rows, high, drawn, rng.random()

    program, a, b = jit(function), generator(), generator()
    for size in (1, 2, 5):
        x = generator(1).normal(size=size)
        for result, wanted in zip(program(a, x), eager(b, x), strict=True):
            np.testing.assert_allclose(result, wanted)
        assert state(a) == state(b)


IN_TRIPS = {
    "a captured generator": lambda rng, s: scan(lambda c, e: (c * rng.random(), None), s, np.ones(3))[0],
    "a parameter": lambda rng, s: scan(lambda c, e: (c + rng.normal(e, s), None), 0.0, np.ones(3))[0],
    "a factor of each x": lambda rng, s: np.sum(anyshape.map(lambda e: e * rng.normal() * s, np.ones(3))),
    "fori_loop": lambda rng, s: anyshape.fori_loop(0, 3, lambda i, c: c * rng.lognormal(s), 1.0),
    "while_loop": lambda rng, s: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * rng.random()), (0, s))[1],
    "in a branch": lambda rng, s: scan(
        lambda c, e: (cond(e > 0, lambda c: c * rng.random(), lambda c: c, c), None), s, np.ones(3))[0],
}  # fmt: skip


@pytest.mark.parametrize("name", IN_TRIPS)
def test_the_linear_map_of_a_loop_reads_what_trips_drew(name):
    """Numbers that depend on no carry are saved all the same: to make them again would draw others."""
    f, x = IN_TRIPS[name], 0.7
    value = lambda x: jit(f)(generator(), x)
    first, bend = (value(x + 1e-5) - value(x - 1e-5)) / 2e-5, (value(x + 1e-3) - 2 * value(x) + value(x - 1e-3)) / 1e-6
    traced, eager = generator(), generator()
    jit(f)(eager, x)
    np.testing.assert_allclose(grad(f, 1)(traced, x), first, rtol=1e-6, atol=1e-8)
    assert state(traced) == state(eager)
    pushed = jit(lambda rng, x: jvp(lambda x: f(rng, x), (x,), (1.0,))[1])
    np.testing.assert_allclose(pushed(generator(), x), first, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(grad(grad(f, 1), 1)(generator(), x), bend, rtol=1e-3, atol=1e-5)
    one = lambda rng, x: grad(f, 1)(rng, x)
    slopes = vmap(one)(np.array([generator(), generator()]), np.array([x, x]))
    np.testing.assert_allclose(slopes, [first, first], rtol=1e-6, atol=1e-8)


def test_the_gradient_of_a_loop_draws_once():
    def last(rng, x):
        return scan(lambda c, v: (c * v + rng.normal(v), c), 1.0, x)[0] ** 2

    x, rng = np.array([1.0, 2.0, 3.0]), generator()
    slopes = grad(last, 1)(rng, x)
    steps = 1e-6 * np.eye(3)
    numeric = [(jit(last)(generator(), x + s) - jit(last)(generator(), x - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(slopes, numeric, rtol=1e-6)
    eager = generator()
    eager.normal(size=3)
    assert state(rng) == state(eager)


# -- outside of a trace

LOOPS = {
    "fori_loop": (
        lambda rng, x: anyshape.fori_loop(0, 3, lambda i, y: y * 0.5 + rng.normal() * i, x),
        lambda rng, x: functools.reduce(lambda y, i: y * 0.5 + rng.normal() * i, range(3), x),
    ),
    "while_loop": (
        lambda rng, x: while_loop(lambda y: np.sum(y) < 9, lambda y: y + rng.random(), x),
        lambda rng, x: next(y for y in itertools.accumulate(itertools.chain([x], iter(rng.random, None)), np.add)
                            if np.sum(y) >= 9),
    ),
    "scan": (
        lambda rng, x: scan(lambda c, v: (c + rng.random(), v * c), 1.0, x)[1],
        lambda rng, x: x * np.cumsum([1.0, *[rng.random() for _ in x]])[:-1],
    ),
    "map": (
        lambda rng, x: anyshape.map(lambda v: v + rng.normal(), x),
        lambda rng, x: np.array([v + rng.normal() for v in x]),
    ),
    "cond": (
        lambda rng, x: anyshape.cond(x[0] > 0, lambda x: x + rng.normal(), lambda x: x * rng.random(), x),
        lambda rng, x: x + rng.normal(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_branches_outside_of_a_trace_draw_as_python_does(name):
    """A generator that a body closes over moves in each trip: the trace of a loop draws nothing."""
    eager, plain, (function, python) = generator(), generator(), LOOPS[name]
    x = np.array([0.5, 1.5, 2.5])
    np.testing.assert_allclose(function(eager, x), python(plain, x), rtol=1e-13)
    assert state(eager) == state(plain)


# -- decisions on values


def decided(rng, x, y):
    """Decide on values of a long prefix and draw on each path, another number of times."""
    for _ in range(30):
        y = np.tanh(y)
    if np.sum(y) > 0:
        return x * rng.normal(size=x.shape) + rng.uniform()
    return x - rng.exponential() if np.sum(x) > 2 else x


@pytest.mark.parametrize("transform", [jit, lambda f: jit(grad(lambda rng, x, y: np.sum(f(rng, x, y)), argnums=1))])
def test_paths_draw_what_they_draw_in_numpy(transform):
    traced, eager, program, value = generator(), generator(), transform(decided), jit(decided)
    own = generator()
    for turn in range(40):
        x, y = np.full(turn % 4, 0.5 + turn % 3), np.full(3, (-1.0) ** (turn // 3))
        program(traced, x, y)
        assert_same(value(own, x, y), decided(eager, x, y))
        assert state(traced) == state(eager) == state(own)


def proposes(rng, x):
    """Walk by Metropolis steps, whose acceptance is a decision on numbers drawn."""
    for _ in range(3):
        y = x + 0.5 * rng.normal(size=x.shape)
        if np.log(rng.random()) < np.sum(x * x) - np.sum(y * y):
            x = y
    return x


def rejects(rng, x):
    for _ in range(4):
        z = rng.normal()
        if z > 0.3:
            break
    return x * z + rng.random()


AFTER_DRAWS = [
    lambda rng, x: x if rng.normal() > 0 else -x,
    lambda rng, x: x + rng.normal() if np.sum(rng.normal() * x) > 0 else -x,
    lambda rng, x: (rng.normal(), x if np.sum(x) > 0 else -x)[1],
    lambda rng, x: x[: int(rng.integers(0, 3))],
    lambda rng, x: x * (rng.random() if rng.random() > 0.5 else rng.integers(5)) * rng.normal(),
    proposes,
    rejects,
]


@pytest.mark.parametrize("number", range(len(AFTER_DRAWS)))
def test_decisions_after_a_draw_take_the_path_of_numpy(number):
    function = AFTER_DRAWS[number]
    traced, eager, own, copied = (generator() for _ in range(4))
    program, slope = jit(function), jit(grad(lambda rng, x: np.sum(function(rng, x)), 1))
    for turn in range(16):
        x = np.full(turn % 3 + 1, 0.7 - turn % 2)
        assert_same(program(traced, x), function(eager, x))
        slope(own, x)
        assert state(traced) == state(eager) == state(own)
        before = copied.bit_generator.state
        value = np.sum(function(copied, x))
        after = copied.bit_generator.state
        copied.bit_generator.state = before
        moved = np.sum(function(copied, x + 1e-7))
        copied.bit_generator.state = before
        gradient = slope(copied, x)
        assert copied.bit_generator.state == after
        if abs(moved - value) < 1e-3:  # else the path changes in between
            np.testing.assert_allclose(np.sum(gradient), (moved - value) / 1e-7, rtol=1e-4, atol=1e-5)


def test_a_decision_in_a_gradient_reads_the_draws_before_it():
    def function(rng, x):
        first = rng.normal()
        slope = grad(lambda x: x * (rng.normal() if rng.random() > 0.5 else 3.0))(x)
        return slope * first if rng.random() > 0.5 else slope - first

    def by_hand(rng, x):
        first = rng.normal()
        slope = rng.normal() if rng.random() > 0.5 else 3.0
        return slope * first if rng.random() > 0.5 else slope - first

    traced, eager, program = generator(), generator(), jit(function)
    for _ in range(20):
        np.testing.assert_allclose(program(traced, 0.5), by_hand(eager, 0.5))
        assert state(traced) == state(eager)


def test_a_decision_in_a_checkpoint_draws_once():
    def function(rng, x):
        first = rng.normal()
        y = anyshape.checkpoint(lambda y: y * y * rng.normal() if rng.random() > 0.5 else y * first)(x)
        return y + rng.normal() * x if rng.random() > 0.3 else y

    def by_hand(rng, x):
        first = rng.normal()
        factor = x * rng.normal() if rng.random() > 0.5 else first
        return x * factor + rng.normal() * x if rng.random() > 0.3 else x * factor

    traced, eager, program = generator(), generator(), jit(anyshape.value_and_grad(function, argnums=1))
    for _ in range(12):
        np.testing.assert_allclose(program(traced, 0.7)[0], by_hand(eager, 0.7))
        assert state(traced) == state(eager)


def test_paths_beyond_the_limit_draw_as_numpy(monkeypatch):
    monkeypatch.setattr(anyshape.config, "max_paths", 3)
    function = lambda rng, x: x * int(rng.integers(0, 20)) + rng.normal()
    traced, eager, program = generator(), generator(), jit(function)
    for _ in range(10):
        np.testing.assert_allclose(program(traced, 0.5), function(eager, 0.5))
        assert state(traced) == state(eager)


def test_one_generator_passed_twice_is_one_where_python_decides():
    def function(rng, other, x):
        return x + rng.normal() if other.random() > rng.random() else x - other.normal()

    traced, eager, program = generator(), generator(), jit(function)
    for _ in range(12):
        np.testing.assert_allclose(program(traced, traced, 0.5), function(eager, eager, 0.5))
        assert state(traced) == state(eager)


def test_a_failure_after_a_decision_on_a_draw_restores_the_state():
    @jit
    def function(rng, x):
        if rng.random() > 0.5:
            raise ValueError("no luck")
        return x * rng.normal()

    rng = generator()
    for _ in range(20):
        before, copied = state(rng), generator()
        copied.bit_generator.state = rng.bit_generator.state
        fails = copied.random() > 0.5
        try:
            assert function(rng, 2.0) == 2.0 * copied.normal() and not fails
        except ValueError:
            assert fails and state(rng) == before
            rng.random()


def test_decisions_after_a_draw_in_a_batch_are_refused():
    """A batch draws all numbers of a call site at once: the first example has other numbers than alone."""
    traced = generator()
    with pytest.raises(errors.ConcretizationError, match="decide before the first draw in the function of vmap"):
        jit(lambda rng, x: vmap(lambda y: y if rng.normal() > 0 else -y)(x))(traced, np.ones(3))
    assert state(traced) == state(generator())


# -- failures


def test_a_call_that_fails_leaves_the_state_as_it_was():
    def function(rng, x):
        y = rng.normal(size=3)
        anyshape.check(y.sum() + x.sum() > 100, "too small")
        return y + rng.random(3)

    rng = generator()
    for _ in range(3):  # the trace, and calls of the program
        with pytest.raises(errors.CheckError):
            jit(function)(rng, np.ones(3))
        assert state(rng) == state(generator())


@pytest.mark.parametrize("optimize", ["now", "off", "auto"])
@pytest.mark.parametrize("size", [1, 3])
def test_a_later_call_that_fails_restores_the_state_too(optimize, size):
    """Plans by the pattern of sizes, and optimised ones, serve later calls."""

    @functools.partial(jit, optimize=optimize)
    def function(rng, x, y):
        z = (x + y) * rng.normal(size=3)
        anyshape.check(np.sum(x) > 0, "too small")
        return z + rng.random()

    rng, x, y = generator(), np.ones(3), np.ones(size)
    for _ in range(3):
        function(rng, x, y)
    function.optimise_for(rng, x, y)
    function(rng, x, y)
    before = state(rng)
    with pytest.raises(errors.CheckError):
        function(rng, -x, y)
    assert state(rng) == before


def test_a_failed_call_beyond_the_bound_on_paths_restores_the_state(monkeypatch):
    monkeypatch.setattr(anyshape.config, "max_paths", 1)
    function = jit(lambda rng, k, x: rng.normal(size=int(k)).sum() * np.linalg.inv(x))
    function(generator(), 1, np.eye(2))
    rng = generator()
    with pytest.raises(np.linalg.LinAlgError):
        function(rng, 2, np.zeros((2, 2)))
    assert state(rng) == state(generator())


def test_runs_that_leave_their_path_undo_no_draws_of_other_threads():
    function = jit(lambda rng, x: rng.random() if x > 0 else -rng.random())
    rng, numbers = generator(), []
    function(rng, 1.0), function(rng, -1.0)

    def draw(sign):
        numbers.extend([abs(float(function(rng, sign))) for _ in range(1000)])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=draw, args=(sign,)) for sign in (1.0, -1.0, 1.0, -1.0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(set(numbers)) == 4000


def test_parameters_that_numpy_refuses_are_refused():
    for function in (
        lambda rng, s: rng.normal(0.0, s),
        lambda rng, s: rng.exponential(s),
        lambda rng, s: rng.uniform(0.0, s),
        lambda rng, s: rng.chisquare(s),
        lambda rng, s: rng.weibull(s),
        lambda rng, s: rng.binomial(3, s),
    ):
        rng = generator()
        with pytest.raises(ValueError, match=r"test_generator\.py"):
            jit(function)(rng, -1.0)
        assert state(rng) == state(generator())
        with pytest.raises(ValueError):
            jit(lambda rng, f=function: f(rng, -1.0))(rng)


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(errors.ShapeError):
        jit(lambda rng, x: rng.normal(x, size=(2, 3)))(generator(), np.ones(4))


def test_an_argument_is_shuffled_in_place():
    shuffle = jit(lambda rng, x: rng.shuffle(x))
    for n in (0, 1, 5):
        ours, theirs, x, y = generator(), generator(), np.arange(float(n)), np.arange(float(n))
        shuffle(ours, x)
        theirs.shuffle(y)
        np.testing.assert_array_equal(x, y)
        assert ours.random() == theirs.random()


REFUSED = [
    (lambda: jit(lambda x: x + np.random.normal(), read_source="off")(1.0), "import anyshape.numpy as np"),
    (lambda: jit(lambda rng: rng.seed(0))(np.random.RandomState(0)), "outside"),
    (lambda: jit(lambda bits: 1.0)(np.random.PCG64(0)), "default_rng"),
    (lambda: jit(lambda rng: (rng, 1.0))(generator()), "leave it out"),
    (lambda: jit(lambda rng: rng.normal())(np.array(generator().spawn(2))), "vmap"),
    (lambda: jit(lambda rng: rng.spawn(2))(generator()), "outside"),
    (lambda: jit(lambda rng: rng.bit_generator)(generator()), "outside"),
    (lambda: jit(lambda rng: rng.bytes(3))(generator()), "outside"),
    (lambda: grad(lambda rng: rng.normal())(generator()), "argnums"),
    (lambda: jit(lambda rng, x: rng.shuffle([x, x]))(generator(), 1.0), "permutation"),
    (lambda: jit(lambda rng, x: scan(lambda c, v: (c, v), rng, x))(generator(), np.ones(3)), "trips draw"),
    (lambda: jit(lambda rng, x: scan(lambda c, v: (c + rng.normal(), v), 0.0, x, checkpoint="carry"))(
        generator(), np.ones(3)), "before the loop"),
    (lambda: jit(lambda rng, x: anyshape.associative_scan(lambda a, b: a + b * rng.normal(), x))(
        generator(), np.ones(3)), "before it"),
    (lambda: vmap(lambda rng, x: while_loop(lambda c: c < 2, lambda c: c + rng.random(), x), in_axes=(None, 0))(
        generator(), np.ones(3)), "before the loop"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refusals_say_what_to_do(number):
    call, advice = REFUSED[number]
    with pytest.raises(errors.AnyshapeError, match=advice):
        call()


# -- other forms of a program


def test_files_and_pickles_keep_draws():
    function = lambda rng, x: (rng.random(), x + rng.normal(size=x.shape))[1]
    program, file = anyshape.trace(function)(generator(), anyshape.ShapeDtypeStruct("n")), io.BytesIO()
    program.save(file)
    file.seek(0)
    for copy in (anyshape.load(file), pickle.loads(pickle.dumps(program))):
        for size in (0, 3):
            traced, eager = generator(), generator()
            assert_same(copy(traced, np.ones(size)), function(eager, np.ones(size)))
            assert state(traced) == state(eager)


def test_a_hit_reads_the_generator_by_the_fast_path():
    program = jit(lambda rng, x: x * rng.random())
    for _ in range(3):
        program(generator(), 1.0)
    assert program.cache_info().traces == 1 and len(program._cache.fast_paths) == 1


PARAMETERS = {
    "beta": (2.0, 3.0), "binomial": (5, 0.3), "chisquare": (3.0,), "exponential": (2.0,), "f": (3.0, 4.0),
    "gamma": (2.0, 3.0), "geometric": (0.3,), "gumbel": (1.0, 2.0), "laplace": (1.0, 2.0), "logistic": (1.0, 2.0),
    "lognormal": (1.0, 0.5), "logseries": (0.4,), "negative_binomial": (3.0, 0.4), "noncentral_chisquare": (3.0, 2.0),
    "noncentral_f": (3.0, 4.0, 2.0), "normal": (1.0, 2.0), "pareto": (2.0,), "poisson": (3.0,), "power": (2.0,),
    "rayleigh": (2.0,), "standard_gamma": (2.0,), "standard_t": (3.0,), "triangular": (0.0, 1.0, 3.0),
    "uniform": (1.0, 3.0), "vonmises": (1.0, 2.0), "wald": (2.0, 3.0), "weibull": (2.0,), "zipf": (2.5,),
}  # fmt: skip
WITHOUT = {  # methods without parameters that are floats, and those that other tests differentiate
    "bit_generator", "bytes", "choice", "dirichlet", "hypergeometric", "integers", "multinomial", "permutation",
    "multivariate_hypergeometric", "multivariate_normal", "permuted", "random", "shuffle", "spawn", "standard_cauchy",
    "standard_exponential", "standard_normal",
}  # fmt: skip


@pytest.mark.parametrize("method", PARAMETERS)
def test_no_derivative_by_a_parameter_is_silently_zero(method):
    """A derivative is a number other than 0, or an error that names the method."""
    for i, x in enumerate(PARAMETERS[method]):
        if type(x) is not float:
            continue

        def draws(p, rng, i=i):
            parameters = [p if k == i else v for k, v in enumerate(PARAMETERS[method])]
            return (getattr(rng, method)(*parameters, size=4) * np.array([1.0, 0.7, 0.3, -0.2])).sum()

        try:
            slope = grad(draws)(x, generator())
        except errors.UnsupportedFunctionError as error:
            assert f"Generator.{method}" in str(error) and "derivative" in str(error)
        else:
            assert slope != 0 and np.isfinite(slope)


def test_every_method_of_a_generator_is_in_a_table_of_derivatives():
    assert {name for name in dir(np.random.Generator) if name[0] != "_"} == PARAMETERS.keys() | WITHOUT


UNDRAWABLE = {
    "a bit generator": (lambda bits, x: np.random.Generator(bits).normal() * x, np.random.PCG64(0), ()),
    "a static generator": (lambda rng, x: rng.normal() * x, np.random.default_rng(0), (0,)),
    "a static tuple": (lambda rngs, x: rngs[0].normal() * x, (np.random.default_rng(0),), (0,)),
    "a frozenset": (lambda rngs, x: next(iter(rngs)).normal() * x, frozenset([np.random.default_rng(0)]), (0,)),
}


@pytest.mark.parametrize("name", UNDRAWABLE)
def test_generators_that_no_call_could_draw_from_are_refused(name):
    function, thing, static = UNDRAWABLE[name]
    with pytest.raises((errors.ArgumentError, errors.FrozenDrawError), match=r"numpy\.random\.Generator|PCG64"):
        jit(function, static_argnums=static)(thing, 1.0)
