"""Random branches: a conditional has the values, derivatives and batches of the branch that is chosen."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anyshape
from anyshape import cond, switch
from anyshape.backend.interpreter import evaluate
from anyshape.graph.ir.validate import check_graph

UNARY = [np.sin, np.tanh, lambda x: x * x, lambda x: x + 1, lambda x: -x, lambda x: np.cumsum(x), lambda x: x[::-1],
         lambda x: x * np.sum(x), lambda x: np.exp(-x * x), lambda x: np.where(x > 0, x, 2 * x),
         lambda x: x - np.mean(x),
         lambda x: np.outer(x, x) @ x, lambda x: np.zeros_like(x), lambda x: x / (1 + x * x), np.sort]  # fmt: skip
RESIZING = [lambda x: x[1:], lambda x: np.concatenate([x, x]), lambda x: x[x > 0]]
steps = st.lists(st.sampled_from(range(len(UNARY))), max_size=4)
bodies = st.recursive(
    st.tuples(st.just("chain"), steps, st.booleans()),
    lambda inner: st.tuples(st.just("cond"), steps, inner, inner),
    max_leaves=4,
)


def apply_body(body, select, x, captured):
    """Run a random body: a chain of functions, of a captured value perhaps, or a conditional behind a chain."""
    kind, chain, *rest = body
    for i in chain:
        x = UNARY[i](x)
    if kind == "chain":
        return x * captured if rest[0] else x
    first, second = rest
    branch = lambda part: lambda x: apply_body(part, select, x, captured)
    return select(np.sum(x) > 0.3, branch(first), branch(second), x)


def choose(pred, first, second, x):
    return first(x) if pred else second(x)


def loss(body, select):
    return lambda x, y: np.sum(np.sin(apply_body(body, select, x, np.cos(y)) * y))


def arrays(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(size=n)


def directional(f, x, y, t, step=1e-6):
    return (f(x + step * t, y) - f(x - step * t, y)) / (2 * step)


common = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))


@given(body=bodies, seed=st.integers(0, 2**16))
@common
def test_values_and_derivatives(body, seed):
    f = anyshape.jit(loss(body, cond))
    g = anyshape.jit(anyshape.grad(loss(body, cond), argnums=(0, 1)))
    t = anyshape.jit(lambda x, y, v: anyshape.jvp(loss(body, cond), (x, y), (v, 0 * y))[1])
    for n in (0, 1, 2, 5):
        x, y = arrays(n, seed)
        expected = loss(body, choose)(x, y)
        np.testing.assert_allclose(f(x, y), expected, rtol=1e-9, atol=1e-12)
        gx, gy = g(x, y)
        v = np.cos(np.arange(n))
        derivative = t(x, y, v)
        np.testing.assert_allclose(gx @ v, derivative, rtol=1e-8, atol=1e-10)
        assert gy.shape == (n,)
        if _is_smooth(loss(body, choose), x, y, v):
            difference = directional(loss(body, choose), x, y, v)
            np.testing.assert_allclose(derivative, difference, rtol=1e-4, atol=1e-5)
    (program,) = f.programs()
    check_graph(program.graph)
    np.testing.assert_allclose(evaluate(program.graph, (x, y))[0], expected, rtol=1e-9, atol=1e-12)


def _is_smooth(f, x, y, v, step=1e-6):
    """Tell whether no predicate and no kink lies near: differences on both sides agree."""
    right, left = (f(x + step * v, y) - f(x, y)) / step, (f(x, y) - f(x - step * v, y)) / step
    return abs(right - left) < 1e-3 * (1 + abs(right))


@pytest.mark.slow
@given(body=bodies, seed=st.integers(0, 2**16), rows=st.sampled_from([0, 1, 2, 5]))
@common
def test_batches_and_their_derivatives(body, seed, rows):
    plain = loss(body, choose)
    xs, ys = np.random.default_rng(seed).normal(size=(2, rows, 3))
    values = anyshape.jit(anyshape.vmap(loss(body, cond)))(xs, ys)
    np.testing.assert_allclose(values, [plain(x, y) for x, y in zip(xs, ys, strict=True)], rtol=1e-9, atol=1e-12)
    single = anyshape.jit(anyshape.grad(loss(body, cond)))
    expected = np.reshape([single(x, y) for x, y in zip(xs, ys, strict=True)], xs.shape)
    total = lambda xs, ys: np.sum(anyshape.vmap(loss(body, cond))(xs, ys))
    for derived in (anyshape.vmap(anyshape.grad(loss(body, cond))), anyshape.grad(total)):
        np.testing.assert_allclose(anyshape.jit(derived)(xs, ys), expected, rtol=1e-8, atol=1e-10)
    if rows:
        both = anyshape.jit(anyshape.vmap(anyshape.vmap(loss(body, cond), in_axes=(0, None)), in_axes=(None, 0)))
        grid = [[plain(x, y) for x in xs] for y in ys]
        np.testing.assert_allclose(both(xs, ys), grid, rtol=1e-9, atol=1e-12)


@given(chains=st.lists(steps, min_size=1, max_size=4), ends=st.lists(st.sampled_from(range(3)), min_size=4, max_size=4),
       index=st.integers(-2, 5), seed=st.integers(0, 2**16))  # fmt: skip
@common
def test_switches_with_results_of_any_size(chains, ends, index, seed):
    def branch(chain, end):
        def run(x):
            for i in chain:
                x = UNARY[i](x)
            return RESIZING[end](x)

        return run

    branches = [branch(c, e) for c, e in zip(chains, ends, strict=False)]
    f = lambda i, x: np.sum(np.sin(switch(i, branches, x)))
    g = anyshape.jit(anyshape.grad(f, argnums=1))
    for n in (0, 1, 4):
        x, _ = arrays(n, seed)
        chosen = branches[min(max(index, 0), len(branches) - 1)]
        np.testing.assert_allclose(anyshape.jit(f)(index, x), np.sum(np.sin(chosen(x))), rtol=1e-9, atol=1e-12)
        reference = anyshape.jit(anyshape.grad(lambda x, chosen=chosen: np.sum(np.sin(chosen(x)))))(x)
        np.testing.assert_allclose(g(index, x), reference, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
@given(body=bodies, seed=st.integers(0, 2**16))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_second_derivatives(body, seed):
    f = loss(body, cond)
    hessian = anyshape.jit(
        lambda x, y: (anyshape.jacfwd(anyshape.grad(f))(x, y), anyshape.jacrev(anyshape.grad(f))(x, y))
    )
    for n in (0, 1, 3):
        first, second = hessian(*arrays(n, seed))
        np.testing.assert_allclose(first, second, rtol=1e-7, atol=1e-8)
