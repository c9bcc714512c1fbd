"""Test that what is made of a function lives as long as the function, and no longer."""

import copy
import functools
import gc
import pickle
import weakref

import numpy as np
import pytest

import anyshape
from anyshape.transforms.linear_map import memoised

X = np.arange(3.0)
USES = {
    "grad": lambda f: anyshape.grad(f)(X),
    "jacfwd": lambda f: anyshape.jacfwd(f)(X),
    "vmap": lambda f: anyshape.vmap(f)(X),
    "vmap of grad": lambda f: anyshape.vmap(anyshape.grad(anyshape.jit(f)))(X[None]),
    "hessian": lambda f: anyshape.hessian(f)(X),
    "jvp": lambda f: anyshape.jvp(f, (X,), (X,)),
    "vjp": lambda f: anyshape.vjp(f, X)[1](1.0),
    "linearize": lambda f: anyshape.linearize(f, X)[1](X),
    "hvp": lambda f: anyshape.hvp(f, (X,), (X,)),
    "linear_transpose": lambda f: anyshape.linear_transpose(f, X)(1.0),
    "of a jitted function": lambda f: anyshape.jvp(anyshape.jit(f), (X,), (X,)),
}


class Batch:
    """Data that a closure holds; unlike an array in a tuple it can be watched."""

    def __init__(self, values):
        self.values = values


def loss_of(batch):
    return lambda w: np.sum(w * batch.values)


def test_a_closure_and_its_batch_are_garbage_after_their_use():
    references = {}
    for name, use in USES.items():
        batch = Batch(np.arange(3.0))
        references[name] = weakref.ref(batch)
        use(loss_of(batch))
        del batch
    gc.collect()
    assert not [name for name, reference in references.items() if reference() is not None]


def double(_, key):
    return [key]


def test_a_function_is_asked_for_once():
    def function(x):
        return x

    assert memoised(function, 1, double) is memoised(function, 1, double)
    assert memoised(function, 1, double) is not memoised(function, 2, double)
    assert memoised(np.sin, 1, double) is memoised(np.sin, 1, double)


def test_a_wrapper_has_programs_of_its_own():
    def once(x):
        return np.sum(x)

    assert anyshape.jvp(once, (X,), (X,))[0] == 3

    @functools.wraps(once)
    def twice(x):
        return 2 * once(x)

    assert anyshape.jvp(twice, (X,), (X,))[0] == 6
    unwrapped = functools.update_wrapper(lambda x: 3 * once(x), once)
    del unwrapped.__wrapped__
    assert anyshape.jvp(unwrapped, (X,), (X,))[0] == 9


def test_copies_and_pickles_of_attributes_carry_no_programs():
    def function(x):
        return np.sum(x)

    anyshape.jvp(function, (X,), (X,))
    (memo,) = vars(function).values()
    assert memo.entries
    assert not copy.deepcopy(memo).entries and not pickle.loads(pickle.dumps(memo)).entries
    assert copy.deepcopy(function) is function


def test_derivatives_that_are_made_anew_share_their_programs():
    traced = []

    def function(x, y):
        traced.append(1)
        return np.sum(x * y)

    for size in range(4):
        x, y = np.arange(float(size)), np.ones(size)
        np.testing.assert_array_equal(anyshape.grad(function)(x, y), y)
        np.testing.assert_array_equal(anyshape.grad(function, 1)(x, y), x)
        np.testing.assert_array_equal(anyshape.grad(function, (1,))(x, y)[0], x)
        value, (by_x, _) = anyshape.value_and_grad(function, argnums=(0, 1))(x, y)
        assert value == x.sum()
        np.testing.assert_array_equal(by_x, y)
        np.testing.assert_array_equal(anyshape.jacrev(function)(x, y), y)
    assert len(traced) == 5
    assert anyshape.grad(function).cache_info().hits == 3


MADE_ANEW = {
    "vmap": lambda f, x: anyshape.vmap(f)(x),
    "vmap over axis 1": lambda f, x: anyshape.vmap(f, in_axes=1)(x),
    "vmap with a tree of axes": lambda f, x: anyshape.vmap(f, (1,), 0)(x),
    "vmap of grad": lambda f, x: anyshape.vmap(anyshape.grad(f))(x),
    "grad of vmap": lambda f, x: anyshape.grad(lambda_of_batch(f))(x),
    "hessian": lambda f, x: anyshape.hessian(f)(x),
    "grad of jit": lambda f, x: anyshape.grad(anyshape.jit(f))(x),
    "vmap of jacrev of jit": lambda f, x: anyshape.vmap(anyshape.jacrev(anyshape.jit(f)))(x),
}


def lambda_of_batch(f):
    """Return one function for each f, as a module would define it."""
    if not hasattr(f, "batch"):
        f.batch = lambda x: np.sum(anyshape.vmap(f)(x))
    return f.batch


@pytest.mark.parametrize("name", MADE_ANEW)
def test_transforms_that_are_made_anew_in_a_loop_trace_once(name):
    traced = []

    def function(x):
        traced.append(1)
        return np.sum(x * x)

    once = None
    for size in (3, 2, 5, 0):
        x = np.cos(np.arange(2.0 * size)).reshape(2, size)
        result = MADE_ANEW[name](function, x)
        once = len(traced) if once is None else once
        batch = MADE_ANEW[name](lambda x: np.sum(x * x), x)
        np.testing.assert_array_equal(result, batch)
    assert len(traced) == once


def test_settings_tell_transforms_apart():
    def function(x, y):
        return x * y

    x = np.arange(4.0).reshape(2, 2)
    for _ in range(2):
        np.testing.assert_array_equal(anyshape.vmap(function)(x, x), x * x)
        np.testing.assert_array_equal(anyshape.vmap(function, (0, None))(x, x[0]), x * x[0])
        np.testing.assert_array_equal(anyshape.vmap(function, (1, None))(x, x[0]), x.T * x[0])
        np.testing.assert_array_equal(anyshape.vmap(function, 0, 1)(x, x), (x * x).T)
        np.testing.assert_array_equal(anyshape.vmap(function, [0, None])(x, x[0]), x * x[0])
        np.testing.assert_array_equal(anyshape.vmap(function, 1, 1)(x, x), x * x)


def test_options_of_a_jitted_function_keep_programs_apart():
    def function(x):
        return np.sum(x * x)

    for _ in range(2):
        small = anyshape.grad(anyshape.jit(function, max_bytes=10**6))
        assert small(X).tolist() == [0, 2, 4] and small.cache_info().traces == 1
        anyshape.grad(anyshape.jit(function))(X)
    assert anyshape.grad(anyshape.jit(function)).cache_info().traces == 1


def test_a_change_of_captured_state_is_seen_by_all():
    factor = 2.0

    def function(x):
        return factor * np.sum(x)

    assert anyshape.grad(function)(1.0) == 2.0
    assert anyshape.vmap(anyshape.grad(function))(X).tolist() == [2, 2, 2]
    factor = 3.0
    assert anyshape.grad(function)(1.0) == 3.0
    assert anyshape.vmap(anyshape.grad(function))(X).tolist() == [3, 3, 3]


def test_the_table_is_no_change_of_what_a_program_reads():
    def inner(x):
        return np.sum(x)

    outer = anyshape.jit(lambda x: inner(x) + 1)
    outer(X)
    anyshape.jvp(inner, (X,), (X,))
    outer(X)
    assert outer.cache_info().traces == 1 and anyshape.explain(outer)(X).revalidations == 0
