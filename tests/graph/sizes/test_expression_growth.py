"""Test that expressions stay short: programs that repeatedly cut and concatenate end with the size they began with."""

import sys

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, grad, jit, trace
from anyshape.errors import SizeLimitError
from anyshape.graph.prover.constraints import Claim, Condition, Verdict, equal
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar
from anyshape.graph.sizes.symbols import to_source

STEPS = 30


def rolled(x):
    for _ in range(STEPS):
        x = np.concatenate([x[1:], x[:1]]) * 1.01
    return x


def interleaved(x):
    for _ in range(STEPS):
        x = np.concatenate([x[::2], x[1::2]]) + 1
    return x


def halved(x):
    for _ in range(STEPS):
        half = x.shape[0] // 2
        x = np.concatenate([x[half:], x[:half]])
    return x


def thirds(x):
    for _ in range(8):
        x = np.concatenate([x[::3], x[1::3], x[2::3]])
    return x


def padded(x):
    for _ in range(STEPS):
        x = np.pad(x, (1, 1))[1:-1] + np.pad(x[:0], (0, x.shape[0]))
    return x


def mixed(x):
    for _ in range(STEPS):
        x = 0.5 * x + 0.3 * x[:1]
        x = x.reshape(-1, 1).T.reshape(-1) - 0.1 * x.mean()
    return x


CASES = [rolled, interleaved, halved, thirds, padded, mixed]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_one_trace_with_short_sizes_serves_every_size(function):
    run = jit(function)
    for n in (5, 2, 1, 7, 16):
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(run(x), function(x), strict=True)
    assert run.cache_info().traces == 1
    (program,) = run.programs()
    assert str(program.graph.outputs[0].meta) == "f64[x_0]"
    assert max(getattr(e.size, "nodes", 1) for n in program.graph.nodes for v in n.outputs for e in v.meta.extents) < 40


@pytest.mark.parametrize("function", [rolled, interleaved, halved, thirds, padded], ids=lambda f: f.__name__)
def test_empty_arrays_pass_through(function):
    assert jit(function)(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("function", [rolled, interleaved, mixed], ids=lambda f: f.__name__)
def test_derivatives_are_traced_once_too(function):
    derivative = grad(lambda x: np.sum(np.sin(function(x))))
    for n in (4, 1, 9):
        x = np.linspace(0.1, 1.0, n)
        e = 1e-6 * np.arange(1, n + 1)
        central = np.sum(np.sin(function(x + e))) - np.sum(np.sin(function(x - e)))
        np.testing.assert_allclose(2 * derivative(x) @ e, central, rtol=1e-4, atol=1e-9)
    assert derivative.cache_info().traces == 1


def test_sizes_are_short_without_hints_too():
    program = trace(rolled)(ShapeDtypeStruct("n"))
    assert str(program.graph.outputs[0].meta) == "f64[n]"
    np.testing.assert_allclose(program(np.ones(3)), rolled(np.ones(3)))


def test_sizes_that_differ_for_empty_arrays_stay_different():
    """`x[1:]` with one more element has size n unless x is empty."""
    run = jit(lambda x: anp.concatenate([x[1:], np.zeros(1)]))
    for n in (3, 1, 0):
        assert run(np.ones(n)).shape == (max(n, 1),)
    assert run.cache_info().traces == 1


def test_a_shorter_size_is_one_seen_before_and_proved_equal():
    n, m = (expr.from_atom(DimVar(name)) for name in "nm")
    scope = Scope()
    assert scope.simplest(expr.maximum(n - 1, 0) + expr.minimum(n, 1)) is n
    assert scope.simplest((n + 1) // 2 + n // 2) is n
    assert scope.simplest(expr.maximum(n, m)) is expr.maximum(n, m)
    scope.assume(Condition("constraint", equal(n, 2 * (m // 2)), "test", "given"))
    assert scope.same(scope.simplest(expr.maximum(n, 2 * (m // 2) - 1)), n)


def summed(x, *others):
    return sum(others, x)


def biased(x, *others):
    return anp.sum(sum([anp.tanh(x + b) for b in others]))


def calls_of(function, *args):
    """Return the number of Python functions that are called while it runs."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return count


FIRST_CALLS = [lambda: jit(summed, optimize="auto"), lambda: jit(grad(biased), optimize="auto")]


@pytest.mark.parametrize("transform", FIRST_CALLS, ids=["value", "gradient"])
def test_broadcasting_many_sizes_takes_at_most_quadratic_work(transform):
    x = np.arange(4.0)
    transform()(x, x)  # fills caches that are made once per process
    few, many = (calls_of(transform(), *[x] * count) for count in (15, 30))
    assert many < 5 * few
    assert many < 1_000_000


@pytest.mark.slow
def test_more_than_a_hundred_sizes_broadcast():
    run = jit(summed)
    np.testing.assert_array_equal(run(*[np.arange(4.0)] * 102), 102 * np.arange(4.0))
    mixed = [np.full(5 if i % 7 == 3 else 1, float(i)) for i in range(102)]
    np.testing.assert_array_equal(run(*mixed), summed(*mixed), strict=True)
    assert run.cache_info().traces == 1
    with pytest.raises(ValueError, match=r"must equal args\[101\]\.shape\[0\] \(3\), or one of them must be 1"):
        run(*mixed[:-1], np.ones(3))


def test_the_source_of_a_long_broadcast_is_not_nested():
    sizes = [expr.from_atom(DimVar(f"s{i:03}")) for i in range(300)]
    source = to_source(expr.broadcast(*sizes), str)
    for stretched in (0, 150, 299):
        for size in (0, 7):
            assert eval(source, {f"s{i:03}": size if i == stretched else 1 for i in range(300)}) == size
    with pytest.raises(SizeLimitError, match="301 sizes in a broadcast; the limit is 300"):
        expr.broadcast(*sizes, expr.from_atom(DimVar("one_more")))


def test_sizes_that_share_a_part_need_not_broadcast():
    a, b, c = (expr.from_atom(DimVar(name)) for name in "abc")
    scope = Scope()
    for other in (b, c):
        scope.assume(Condition("assertion", Claim("broadcasts", a, other), "test", "given"))
    claim = Claim("broadcasts", expr.broadcast(a, b), expr.broadcast(a, c))
    assert scope.decide(claim) is Verdict.UNKNOWN
    scope.assume(Condition("assertion", claim, "test", "given"))
    assert scope.proves(Claim("broadcasts", b, c))
