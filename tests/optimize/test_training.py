"""Optimisers of training loops, compared with numbers of optax and PyTorch, which stand beside this file."""

import json
from pathlib import Path

import numpy as np
import pytest

import anyshape
from anyshape import jit, optimize, value_and_grad
from anyshape.errors import ArgumentError

STORED = json.loads((Path(__file__).parent / "reference_values.json").read_text())
OPTIMISERS = {
    "sgd": optimize.sgd(0.1),
    "momentum": optimize.sgd(0.1, momentum=0.9),
    "nesterov": optimize.sgd(0.1, momentum=0.9, nesterov=True),
    "adam": optimize.adam(0.05),
    "adam_options": optimize.adam(0.05, b1=0.8, b2=0.9, eps=1e-3),
    "adamw": optimize.adamw(0.05, weight_decay=0.1),
    "clipped": optimize.chain(optimize.clip(0.5), optimize.sgd(0.2)),
    "clipped_by_norm": optimize.chain(optimize.clip_by_global_norm(1.0), optimize.adam(0.1)),
    "cosine": optimize.sgd(optimize.cosine_decay_schedule(0.3, 4, alpha=0.1)),
    "warmup": optimize.adam(optimize.warmup_cosine_decay_schedule(0.0, 0.3, 2, 6, 0.01)),
}
SCHEDULES = {
    "linear": optimize.linear_schedule(1.0, 0.2, 5, 2),
    "exponential": optimize.exponential_decay(1.0, 5, 0.7),
    "staircase": optimize.exponential_decay(1.0, 3, 0.7, transition_begin=2, staircase=True, end_value=0.4),
    "cosine": optimize.cosine_decay_schedule(0.5, 7, 0.1, 1.5),
    "warmup": optimize.warmup_cosine_decay_schedule(0.1, 1.0, 3, 9, 0.05),
    "piecewise": optimize.piecewise_constant_schedule(1.0, {2: 0.5, 6: 0.1}),
    "joined": optimize.join_schedules([optimize.constant_schedule(0.3), optimize.linear_schedule(1.0, 0.0, 4)], [3]),
}


def start(dtype=np.float64):
    return {"w": np.array([0.5, 0.1, -3.0], dtype), "b": dtype(0.3)}


def slopes(k, p):
    target = np.array([1.0, -2.0, 0.5]).astype(p["w"].dtype)
    return {"w": 2 * (p["w"] - target) * (1 + 0.1 * k), "b": np.cos(p["b"] + k)}


def flat(p):
    return [float(p["b"]), *p["w"].tolist()]


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_are_those_of_optax_and_pytorch(name, jitted):
    optimiser = OPTIMISERS[name]

    def step(k, p, state):
        updates, state = optimiser.update(slopes(k, p), state, p)
        return optimize.apply_updates(p, updates), state

    run = jit(step) if jitted else step
    p, path = start(), []
    state = optimiser.init(p)
    for k in range(6):
        p, state = run(float(k), p, state)
        path.append(flat(p))
    for peer in ("optax", "torch"):
        expected = STORED[peer]["paths"].get(name)
        if expected is not None:
            rounded = 1e-6 if name == "warmup" else 1e-12  # optax joins schedules in float32
            np.testing.assert_allclose(path, expected, rtol=rounded, atol=1e-14)
    if jitted:
        assert run.cache_info().traces == 1


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_those_of_optax(name):
    """They take ints, arrays and traced values."""
    schedule, expected = SCHEDULES[name], STORED["optax"]["schedules"][name]
    np.testing.assert_allclose([float(schedule(k)) for k in range(12)], expected, rtol=1e-6, atol=1e-7)
    traced = jit(lambda k: schedule(k) * 1.0)
    np.testing.assert_allclose([traced(np.int64(k)) for k in range(12)], [float(schedule(k)) for k in range(12)])


def quadratic(p):
    wide = np.sum((p["w"] - np.array([1.0, -2.0, 0.5])) ** 2 * np.array([1.0, 5.0, 0.3]))
    return wide + np.cosh(p["b"] - 1) + 0.1 * np.sum(p["w"]) * p["b"]


def test_directions_of_lbfgs_are_those_of_optax():
    optimiser, p, path = optimize.lbfgs(learning_rate=0.5, memory_size=3), start(), []
    state = optimiser.init(p)
    step = jit(value_and_grad(quadratic))
    for _ in range(8):
        updates, state = optimiser.update(step(p)[1], state, p)
        p = optimize.apply_updates(p, updates)
        path.append(flat(p))
    np.testing.assert_allclose(path, STORED["optax"]["lbfgs"], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_lbfgs_with_a_line_search_finds_minima(n):
    """A whole step is one program for all sizes, and a scan of steps is one too."""
    optimiser = optimize.lbfgs()

    def loss(x):
        return np.sum(np.cosh(x - np.arange(x.shape[0]))) + np.sum(x[1:] * x[:-1]) / 4

    def step(x, state):
        value, slope = value_and_grad(loss)(x)
        updates, state = optimiser.update(slope, state, x, value=value, value_fn=loss)
        return optimize.apply_updates(x, updates), state

    fit = jit(lambda x, state: anyshape.fori_loop(0, 150, lambda i, s: step(*s), (x, state)))
    x, _ = fit(np.zeros(n), optimiser.init(np.zeros(n)))
    assert np.abs(jit(anyshape.grad(loss))(x)).max() < 1e-6
    single = jit(step)
    y, state = np.zeros(n), optimiser.init(np.zeros(n))
    for _ in range(150):
        y, state = single(y, state)
    np.testing.assert_allclose(y, x, atol=1e-6)


@pytest.mark.parametrize("name", [*OPTIMISERS, "lbfgs"])
def test_parameters_keep_float32(name):
    optimiser = OPTIMISERS.get(name) or optimize.lbfgs(0.1)
    p = start(np.float32)
    state = optimiser.init(p)
    for run in (lambda f: f, jit):
        q, own = p, state
        step = run(lambda p, s: optimiser.update(slopes(np.float32(1), p), s, p))
        for _ in range(3):
            updates, own = step(q, own)
            q = optimize.apply_updates(q, updates)
        assert q["w"].dtype == q["b"].dtype == np.float32
        assert updates["w"].dtype == np.float32


def test_steps_can_be_differentiated():
    """The rate has a gradient through a loop of steps, equal to a finite difference."""

    def after(rate):
        optimiser = optimize.adam(rate)
        p = np.array([1.0, -2.0])

        def step(i, s):
            updates, state = optimiser.update(2 * s[0] * np.array([1.0, 3.0]), s[1], s[0])
            return optimize.apply_updates(s[0], updates), state

        return np.sum(anyshape.fori_loop(0, 5, step, (p, optimiser.init(p)))[0] ** 2)

    f = jit(after)
    slope = anyshape.grad(f)(0.1)
    assert slope == pytest.approx((f(0.1 + 1e-6) - f(0.1 - 1e-6)) / 2e-6, rel=1e-6)


def test_what_is_missing_is_named():
    grads = {"w": np.ones(2)}
    with pytest.raises(ArgumentError, match="params is a function"):
        optimize.adam(0.1).init(np.sin)
    with pytest.raises(ArgumentError, match="params"):
        optimize.adamw(0.1).update(grads, optimize.adamw(0.1).init(grads))
    search = optimize.lbfgs()
    with pytest.raises(ArgumentError, match="value_fn"):
        search.update(grads, search.init(grads), grads)
    with pytest.raises(ArgumentError, match="memory_size"):
        optimize.lbfgs(memory_size=0)
    with pytest.raises(ArgumentError, match="boundaries"):
        optimize.join_schedules([optimize.constant_schedule(1.0)], [3])
    with pytest.raises(ArgumentError, match="transition_steps"):
        optimize.linear_schedule(1.0, 0.0, 0)
