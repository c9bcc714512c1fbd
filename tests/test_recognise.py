"""A softmax that is written out has the value that was written, and the derivative of a softmax."""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp

FORMS = {
    "keepdims": lambda x: _shared(x, lambda y, f: f(y, axis=-1, keepdims=True)),
    "new axis": lambda x: _shared(x, lambda y, f: f(y, axis=-1)[..., None]),
    "first axis": lambda x: _shared(x, lambda y, f: f(y, axis=0)),
    "all axes": lambda x: _shared(x, lambda y, f: f(y)),
    "stopped": lambda x: _shared(x, lambda y, f: anyshape.stop_gradient(f(y, axis=-1, keepdims=True)), True),
}


def _shared(x, over, stopped=False):
    powers = np.exp(x - over(x, np.max))
    plain = np.sum(powers, axis=-1, keepdims=True) if stopped else over(powers, np.sum)
    return powers / plain


def loss(form):
    return lambda x, y: np.sum(FORMS[form](x * 2) * y)


def ops_of(function, *arrays):
    step = anyshape.jit(function)
    step(*arrays)
    return [n.op.name for n in step.programs()[0].graph.nodes]


@pytest.mark.parametrize("form", FORMS)
def test_values_and_derivatives(form):
    step = anyshape.value_and_grad(loss(form))
    for shape in ((1, 1), (3, 1), (1, 4), (5, 4)):
        rng = np.random.default_rng(sum(shape))
        x, y = rng.normal(size=shape), rng.normal(size=shape)
        x[0] = 1.0  # ties
        value, slope = step(x, y)
        if form != "stopped":
            assert value == loss(form)(x, y)
        d = rng.normal(size=shape)
        plain = loss("keepdims" if form == "stopped" else form)
        rate = (plain(x + 1e-6 * d, y) - plain(x - 1e-6 * d, y)) / 2e-6
        assert np.sum(slope * d) == pytest.approx(rate, abs=1e-8, rel=1e-6)
    assert "eq" not in ops_of(anyshape.grad(loss(form)), x, y)  # nobody looks for the maximum again


@pytest.mark.parametrize("form", FORMS)
def test_second_derivatives(form):
    rng = np.random.default_rng(1)
    x, y, v = rng.normal(size=(3, 3, 4))
    slope = lambda x: anyshape.grad(loss(form))(x, y)
    rate = (slope(x + 1e-5 * v) - slope(x - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(anyshape.hvp(lambda x: loss(form)(x, y), (x,), (v,)), rate, atol=1e-8)


NOT_SOFTMAX = {
    "other axes": lambda x: np.exp(x - np.max(x, axis=0)) / np.sum(np.exp(x - np.max(x, axis=0)), axis=1)[:, None],
    "a sum of others": lambda x: np.exp(x - np.max(x, axis=1)[:, None]) / np.sum(np.exp(x), axis=1)[:, None],
    "across": lambda x: np.exp(x - np.max(x, axis=1)) / np.sum(np.exp(x - np.max(x, axis=1)), axis=1),
    "a minimum": lambda x: np.exp(x - np.min(x, axis=1)) / np.sum(np.exp(x - np.min(x, axis=1)), axis=1),
    "a stopped sum": lambda x: _stopped_sum(x),
}


def _stopped_sum(x):
    powers = np.exp(x - np.max(x, axis=1, keepdims=True))
    return powers / anyshape.stop_gradient(np.sum(powers, axis=1, keepdims=True))


@pytest.mark.parametrize("form", NOT_SOFTMAX)
def test_what_only_looks_like_one_stays(form):
    x = np.random.default_rng(2).normal(size=(4, 4))
    function = lambda x: anp.sum(NOT_SOFTMAX[form](x) * np.arange(4.0))
    assert "softmax" not in ops_of(anyshape.grad(function), x)
    if form != "a stopped sum":
        anyshape.check_grads(function, (x,), order=1)


def test_rows_of_infinities_and_empty_ones_are_as_written():
    step = anyshape.jit(anyshape.value_and_grad(loss("keepdims")))
    with np.errstate(invalid="ignore"):
        value, slope = step(np.full((2, 3), -np.inf), np.ones((2, 3)))
    assert np.isnan(value) and np.isnan(slope).all()
    value, slope = step(np.zeros((0, 3)), np.zeros((0, 3)))
    assert value == 0 and slope.shape == (0, 3)
    with pytest.raises(ValueError):
        step(np.zeros((2, 0)), np.zeros((2, 0)))
