"""Parameters in a list, read by sums and comprehensions: every entry and every plan gives what the function means."""

import pickle

import numpy as np
import pytest

from anyshape import check_grads, grad, hvp, jacfwd, jit, jvp, trace, value_and_grad, vjp, vmap

X = np.array([0.5, -1.0, 2.0])
NUMBERS = (5, 1, 5)


def parameters(number, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=3) for _ in range(number)]


def by_loop(ps, x):
    total = 0.0
    for p in ps:
        total = total + ((x * p) ** 2).sum()
    return total


def by_generator(ps, x):
    return sum(np.sum((x * p) ** 2) for p in ps)


def by_comprehensions(ps, x):
    hidden = [x * p for p in ps]
    return np.sum(np.stack([np.sum(h * p * x) for h, p in zip(hidden, ps)]))


def by_decisions(ps, x):
    """A sum whose terms are decided by sizes, which no batch of them says."""
    return sum(np.sum((x * p) ** 2) if len(p) == 3 else np.max(p) for p in ps)


SLOW = [pytest.param(f, marks=pytest.mark.slow) for f in (by_loop, by_generator)]
FUNCTIONS = [by_comprehensions, by_decisions, *SLOW]
of_functions = pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)


def slope(ps, x):
    """Return the gradient by the parameters: all functions above have one value."""
    return [2 * x**2 * p for p in ps]


def turned(ps):
    return [p[::-1].copy() for p in ps]


def along(ps, x):
    return sum(np.sum(g * t) for g, t in zip(slope(ps, x), turned(ps), strict=True))


def same(got, expected):
    if isinstance(expected, (list, tuple)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            same(a, b)
    else:
        assert np.shape(got) == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-9)


# Each makes a function of the parameters and x, once, and says what that gives.
ENTRIES = {
    "value": (jit, by_loop),
    "value and gradient": (value_and_grad, lambda ps, x: (by_loop(ps, x), slope(ps, x))),
    "of a jitted one": (lambda f: value_and_grad(jit(f)), lambda ps, x: (by_loop(ps, x), slope(ps, x))),
    "jitted gradient": (lambda f: jit(grad(f)), slope),
    "machine code": (
        lambda f: jit(value_and_grad(f), compile="wait"),
        lambda ps, x: (by_loop(ps, x), slope(ps, x)),
    ),
    "shared by examples": (
        lambda f: lambda ps, x: vmap(grad(f), in_axes=(None, 0))(ps, np.stack([x, 2 * x])),
        lambda ps, x: [np.stack([g, 4 * g]) for g in slope(ps, x)],
    ),
    "forward": (jacfwd, slope),
    "tangent": (lambda f: lambda ps, x: jvp(f, (ps, x), (turned(ps), 0 * x))[1], along),
    "cotangent": (lambda f: lambda ps, x: vjp(f, ps, x)[1](1.0)[0], slope),
    "second": (
        lambda f: lambda ps, x: hvp(lambda qs: f(qs, x), (ps,), (turned(ps),)),
        lambda ps, x: slope(turned(ps), x),
    ),
}


@of_functions
@pytest.mark.parametrize("entry", ENTRIES)
def test_entries(entry, f):
    make, expected = ENTRIES[entry]
    function = make(f)
    for number in NUMBERS:
        ps = parameters(number)
        for _ in range(3):
            same(function(ps, X), expected(ps, X))


@of_functions
def test_plans(f):
    """The plan of a first call, the one of many calls, and an optimised one, for each number of parameters."""
    function = value_and_grad(f)
    for number in NUMBERS:
        ps = parameters(number)
        for _ in range(40):
            result = function(ps, X)
        same(result, (by_loop(ps, X), slope(ps, X)))
        function.optimise_for(ps, X)
        for _ in range(3):
            same(function(ps, X), (by_loop(ps, X), slope(ps, X)))
    assert function.cache_info().traces == 1


@of_functions
@pytest.mark.parametrize("first", ["call", "leaves", "prepare", "optimise_for", "explain_call", "entry_for"])
def test_what_is_asked_of_a_function_is_of_the_program_that_serves_it(first, f):
    function, ps = jit(lambda ps, x: f(ps, x)), parameters(4)
    getattr(function, {"call": "__call__"}.get(first, first))(ps, X)
    same(function(ps, X), by_loop(ps, X))
    (program,) = function.programs()
    same(program.run(*function.leaves(ps, X).arrays), [by_loop(ps, X)])
    arrays, entry = function.entry_for(ps, X)
    same(entry.program.run(*arrays), [by_loop(ps, X)])


@pytest.mark.parametrize("f", [by_loop, by_generator, by_comprehensions], ids=lambda f: f.__name__)
def test_programs_that_are_traced_alone(f):
    for number in NUMBERS:
        ps = parameters(number)
        same(trace(f)(ps, X)(ps, X), by_loop(ps, X))


def numbers_of(ps, x):
    return [np.sum(p * x) for p in ps]


def rows_of(ps, x):
    rows = []
    for p in ps:
        rows.append(p * x)
    return {"rows": rows, "sums": [p + p for p in ps]}


def mapped_inside(ps, xs):
    """A list of gradients of several points, which is read as a list."""
    gradients = vmap(grad(by_loop), in_axes=(None, 0))(ps, xs)
    return sum(np.sum(g[0]) for g in gradients)


def test_lists_of_mapped_results():
    xs = np.stack([X, 2 * X])
    for number in NUMBERS:
        ps = parameters(number)
        for _ in range(2):
            same(vmap(numbers_of, in_axes=(None, 0))(ps, xs), [np.array([np.sum(p * x) for x in xs]) for p in ps])
            result = vmap(rows_of, in_axes=(None, 0))(ps, xs)
            same(result["rows"], [np.stack([p * x for x in xs]) for p in ps])
            same(result["sums"], [np.stack([p + p, p + p]) for p in ps])
            same(jit(mapped_inside)(ps, xs), sum(np.sum(g) for g in slope(ps, X)))
            same(jit(vmap(grad(by_loop), in_axes=(None, 0)))(ps, xs), [np.stack([g, 4 * g]) for g in slope(ps, X)])


@of_functions
def test_derivatives_are_those_of_differences(f):
    check_grads(f, (parameters(2), X))


@of_functions
def test_programs_that_are_sent(f):
    function = value_and_grad(f)
    function(parameters(4), X)
    received = pickle.loads(pickle.dumps(function.with_programs()))
    for number in (4, 2):
        ps = parameters(number)
        same(received(ps, X), (by_loop(ps, X), slope(ps, X)))
