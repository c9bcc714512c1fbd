"""Tracing and differentiating cost the same for each op, however long or wide the program is: calls are counted."""

import cProfile
import gc

import numpy as np
import pytest

import anyshape


def chain(x, n):
    for i in range(n):
        x = np.sin(x) * 0.9 if i % 2 else x * 1.01 + 0.1
    return x.sum()


def rows(x, n):
    h = x[0]
    for t in range(n):
        h = np.tanh(x[t % 3] + h)
    return h.sum()


def softmaxes(x, n):
    for _ in range(n):
        x = np.exp(x - x.max())
        x = x / x.sum()
    return (x * x).sum()


def checkpoints(x, n):
    for _ in range(n):
        x = anyshape.checkpoint(lambda y: np.sin(y) * 2)(x)
    return x.sum()


def matrices(x, n):
    y = x.reshape(3, 1) * np.ones(3)
    for _ in range(n):
        y = y @ y
    return y.sum()


def parts(x, n):
    for _ in range(n):
        a, b = x[:1], x[1:]
        x = np.concatenate([b, a])
    return (x * x).sum()


def calls_of(action):
    """Return how many functions of Python and C are called. No garbage is collected meanwhile."""
    profile = cProfile.Profile()
    gc.disable()
    profile.enable()
    try:
        action()
    finally:
        profile.disable()
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())


def calls_by_length(function, lengths, differentiate=False):
    """Return the calls of tracing a function at some lengths, after one trace that fills caches."""

    def trace(n):
        traced = lambda x: function(x, n)
        anyshape.eval_shape(anyshape.grad(traced) if differentiate else traced, np.ones(3))

    trace(lengths[0])
    return [calls_of(lambda n=n: trace(n)) for n in lengths]


@pytest.mark.parametrize("program", [chain, rows, softmaxes, checkpoints, matrices, parts])
@pytest.mark.parametrize(
    "differentiate", [pytest.param(False, marks=pytest.mark.slow, id="value"), pytest.param(True, id="gradient")]
)
def test_the_cost_of_an_op_does_not_grow_with_the_program(program, differentiate):
    """To differentiate a program is to trace it first, so the gradient also shows a trace that grows."""
    few, many = calls_by_length(program, (25, 50), differentiate)
    assert many < 2.1 * few


@pytest.mark.parametrize(("differentiate", "most"), [(False, 580), (True, 1250)], ids=["value", "gradient"])
def test_three_elementwise_ops_are_traced_in_few_calls(differentiate, most):
    few, many = calls_by_length(chain, (20, 40), differentiate)
    assert many - few < 20 * most


def test_the_cost_of_a_trace_does_not_grow_with_other_functions():
    """A trace that changes what it captures once read and copied the snapshots of all functions of the process."""
    notes = {}

    def noting(x):
        notes["traces"] = notes.get("traces", 0) + 1
        return x + 1

    jitted = anyshape.jit(noting)

    def trace():
        jitted.clear_cache()
        jitted(np.ones(3))

    trace()
    alone = calls_of(trace)
    others = [anyshape.jit(eval(f"lambda x, scales=[{i}, 0]: x * scales[0] + {i}")) for i in range(100)]
    for other in others:
        other(np.ones(3))
    trace()
    more = calls_of(trace) - alone
    assert notes["traces"] == 4 and more < 8 * len(others)
