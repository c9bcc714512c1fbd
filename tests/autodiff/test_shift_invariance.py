"""Extremes that results do not depend on are not differentiated; with and without this, gradients are the same."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anyshape
import anyshape.numpy as anp
from anyshape.autodiff import jvp


def softmax(x):
    raised = np.exp(x - x.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def logsumexp(x):
    top = x.max(axis=-1, keepdims=True)
    return (np.log(np.exp(x - top).sum(axis=-1, keepdims=True)) + top).squeeze(axis=-1)


def late(x, y):
    """Divide after the product, as attention over long sequences does."""
    raised = np.exp(0.5 * x - (0.5 * x).max(axis=1, keepdims=True))
    return (raised @ y.T) / raised.sum(axis=1)[:, None]


def masked(x):
    scores = np.where(np.tri(*x.shape, dtype=bool) if type(x) is np.ndarray else anp.tri(*x.shape) > 0, x, -np.inf)
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def columns(x):
    raised = np.exp(-(x - x.min(axis=0)))
    return (raised / raised.sum(axis=0)).T


def halves(x):
    gap = x - x.max(axis=1)[:, None]
    return np.exp(gap) / np.square(np.exp(gap / 2)).sum(axis=1)[:, None]


def other_axis(x):
    return np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x - x.max(axis=0)).sum(axis=1, keepdims=True)


INVARIANT = {
    "softmax": softmax,
    "logsumexp": logsumexp,
    "divided late": lambda x: late(x, x),
    "masked": masked,
    "columns": columns,
    "all": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
    "squares": lambda x: softmax(x) ** 2 + softmax(2 * x) * x,
    "log of softmax": lambda x: np.log(softmax(x)),
    "halves": halves,
}
DEPENDENT = {
    "squares of gaps": lambda x: (x - x.max(axis=1, keepdims=True)) ** 2,
    "labels": lambda x: logsumexp(x) - x.max(axis=1),
    "sum of gaps": lambda x: np.sum(x - x.max(axis=1, keepdims=True), axis=1),
    "another axis": other_axis,
    "summed along it": lambda x: (e := np.exp(x - x.max(axis=1, keepdims=True))) / e.sum(axis=0),
    "compared with a number": lambda x: np.where(x - x.max(axis=1, keepdims=True) > -1, softmax(x), x),
    "clipped": lambda x: np.exp(np.maximum(x - x.max(axis=1, keepdims=True), -1.0)),
    "a part of it": lambda x: np.exp(x - x.max(axis=1, keepdims=True))[:, :1] / 2,
    "scaled apart": lambda x: np.exp(2 * (x - x.max(axis=1, keepdims=True))) / np.exp(x - x.max(axis=1, keepdims=True)),
    "plus one": lambda x: (e := np.exp(x - x.max(axis=1, keepdims=True))) / (e.sum(axis=1, keepdims=True) + 1),
}  # fmt: skip


def loss_of(function):
    """Return a sum with uneven weights, as even ones may hide a slope."""

    def loss(x):
        y = function(x)
        position = anp.arange(y.size, dtype=y.dtype).reshape(y.shape)
        return np.sum(np.where(np.isfinite(y), y, 0) * np.sin(position + 1))

    return loss


def comparisons(function):
    """Count the comparisons of elements with an extreme in the gradient."""
    program = anyshape.trace(anyshape.grad(loss_of(function)))(anyshape.ShapeDtypeStruct("n, n"))
    nodes = program.graph.nodes
    numbers = {node.outputs[0] for node in nodes if node.op.name == "full"}
    apart = {n.outputs[0] for n in nodes if n.op.name in ("lt", "gt") and numbers.isdisjoint(n.inputs)}
    return sum(node.op.name == "logical_not" and node.inputs[0] in apart for node in nodes)


@pytest.fixture
def without(monkeypatch):
    """Return a function that turns the proof off: every extreme is differentiated."""
    return lambda: monkeypatch.setattr(jvp, "shift_invariant_extremes", lambda graph, scope: set())


@pytest.mark.parametrize("name", [*INVARIANT, *DEPENDENT])
def test_gradients_equal_the_plain_rule(name, without):
    function = (INVARIANT | DEPENDENT)[name]
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(n, n)) for n in (1, 2, 5)]
    points += [np.round(x * 2) / 2 for x in points]  # with ties
    first, second = anyshape.grad(loss_of(function)), anyshape.hessian(loss_of(function))
    derivatives = [(first(x), second(x)) for x in points]
    counted = comparisons(function)
    without()
    assert comparisons(function) > 0
    assert (counted == 0) == (name in INVARIANT)
    plain_first, plain_second = anyshape.grad(loss_of(function)), anyshape.hessian(loss_of(function))
    for x, (gradient, curvature) in zip(points, derivatives, strict=True):
        np.testing.assert_allclose(gradient, plain_first(x), atol=1e-12)
        np.testing.assert_allclose(curvature, plain_second(x), atol=1e-10)


def test_the_gradient_of_a_sum_of_softmax_is_zero():
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    assert np.abs(anyshape.grad(lambda x: np.sum(softmax(x)))(x)).max() < 1e-6


def test_stop_gradient_keeps_the_slope_of_the_other_operand():
    """z - stop_gradient(z) is always 0, and has the slope of z."""
    weights = np.arange(1.0, 4.0)

    def loss(x):
        z = x - x.max()
        return np.sum((z - anyshape.stop_gradient(z)) * weights)

    np.testing.assert_allclose(anyshape.grad(loss)(np.array([0.0, 2.0, 1.0])), [1, 2 - 6, 3])


def test_an_extreme_that_is_a_result_keeps_its_slope():
    def both(x):
        return softmax(x), x.max(axis=-1)

    _, slopes = anyshape.jvp(both, (np.array([0.0, 2.0, 1.0]),), (np.array([0.0, 3.0, 0.0]),))
    np.testing.assert_allclose(slopes[1], 3)


STEPS = {
    "exp": np.exp,
    "half": lambda z: z / 2,
    "negative": lambda z: -z,
    "square": np.square,
    "log": lambda z: np.log(np.abs(z) + 1),
    "sum": lambda z: np.broadcast_to(z.sum(axis=1, keepdims=True), z.shape) / 3,
    "share": lambda z: z / z.sum(axis=1, keepdims=True),
    "gap": lambda z: z - z.max(axis=1, keepdims=True),
    "twice": lambda z: z + z,
    "turn": lambda z: z.T,
    "logs": lambda z: np.log(z * z),
}


@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5), st.integers(0, 100))
def test_random_programs_with_and_without_the_proof(names, seed):
    def function(x):
        z = x - x.max(axis=1, keepdims=True)
        for name in names:
            z = STEPS[name](z)
        return z + np.log(np.exp(z).sum(axis=1, keepdims=True))

    x = np.random.default_rng(seed).normal(size=(3, 3))
    with np.errstate(all="ignore"):
        first = anyshape.grad(loss_of(function))(x)
        proof, jvp.shift_invariant_extremes = jvp.shift_invariant_extremes, lambda graph, scope: set()
        try:
            second = anyshape.grad(loss_of(function))(x)
        finally:
            jvp.shift_invariant_extremes = proof
    good = np.isfinite(first) & np.isfinite(second)
    scale = 1 + np.abs(second[good]).max(initial=0)
    np.testing.assert_allclose(first[good], second[good], atol=1e-7 * scale)
