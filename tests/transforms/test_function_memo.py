"""Test that what is made of a function lives as long as the function, and no longer."""

import copy
import functools
import gc
import pickle
import weakref

import numpy as np

import anyshape
from anyshape.transforms.function_memo import memoised

X = np.arange(3.0)
USES = {
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


def test_the_table_is_no_change_of_what_a_program_reads():
    def inner(x):
        return np.sum(x)

    outer = anyshape.jit(lambda x: inner(x) + 1)
    outer(X)
    anyshape.jvp(inner, (X,), (X,))
    outer(X)
    assert outer.cache_info().traces == 1 and anyshape.explain(outer)(X).revalidations == 0
