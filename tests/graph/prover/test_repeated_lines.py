"""Repeated lines: a trace says once where a Python loop is unrolled, and never where a program only calls much."""

import functools
import gc
import warnings
import weakref

import numpy as np
import pytest

import anyshape
from anyshape import grad, jit, scan
from anyshape.errors import UnrolledLoopWarning

pytestmark = pytest.mark.usefixtures("as_written")
X = np.ones(3)


def warnings_of(function, *args):
    """Return what tracing a function says of loops, with the lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        anyshape.trace(function)(*args)
    return [(str(w.message), w.filename, w.lineno) for w in caught if w.category is UnrolledLoopWarning]


def unrolled(x, trips):
    for i in range(trips):
        x = np.sin(x) * 0.9 + i
        x = x - np.cos(x)
    return x


def test_a_loop_beyond_64_trips_is_named():
    assert not warnings_of(lambda x: unrolled(x, 64), X)
    ((text, file, line),) = warnings_of(lambda x: unrolled(x, 65), X)
    assert (file, line) == (__file__, unrolled.__code__.co_firstlineno + 2)
    assert "repeats `np.sin(x)` more than 64 times" in text and "anyshape.scan or fori_loop" in text


def test_a_line_is_named_once_where_the_filters_say_so():
    def folded(x):
        for i in range(70):
            x = np.cos(x) + i
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for n in (1, 2, 3):
            anyshape.trace(folded)(np.ones(n))
            with warnings.catch_warnings():  # as code of other packages does, which clears Python's memory
                warnings.simplefilter("ignore")
    assert [w.category for w in caught] == [UnrolledLoopWarning]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnrolledLoopWarning)
        with pytest.raises(UnrolledLoopWarning, match="a Python loop repeats"):
            anyshape.trace(folded)(X)


step = jit(lambda x: np.sin(x) * x)


def gradient_steps(x):
    for _ in range(70):
        x = x - 0.1 * grad(lambda y: np.sum(y * y))(x)
    return x


@pytest.mark.parametrize(
    ("function", "expression"),
    [
        (lambda x: sum(np.cos(x + i) for i in range(70)), "x + i"),
        (lambda x: [np.tan(x * i) for i in range(70)][-1], "x * i"),
        (lambda x: functools.reduce(lambda c, i: c * x + i, range(70), x), "c * x"),
        (lambda x: functools.reduce(lambda c, _: step(c), range(70), x), "np.sin(x)"),
        (gradient_steps, "0.1 * grad("),
        (lambda x: grad(lambda y: np.sum(unrolled(y, 70)))(x), "np.sin(x)"),
    ],
    ids=["generator", "list", "reduce", "jitted", "steps by gradients", "inside of a gradient"],
)
def test_repeats_of_any_kind_are_named(function, expression):
    ((text, _, _),) = warnings_of(function, X)
    assert f"repeats `{expression}" in text


def dense(x):
    return np.tanh(x + 1)


def block(x):
    return dense(dense(dense(dense(dense(dense(x))))))


def layers(x):
    for _ in range(12):
        x = block(x)
    return x


@pytest.mark.parametrize(
    "function",
    [
        layers,  # 72 calls of a line from six places
        lambda x: np.stack([x[i] for i in range(3)] * 40),  # 120 operations of one call
        lambda x: grad(lambda y: np.sum(unrolled(y, 40)))(x),  # derivatives repeat the line
        lambda x: scan(lambda c, _: (unrolled(c, 40), ()), x, length=1000)[0],
    ],
    ids=["layers", "one call", "derivatives", "a loop of the program"],
)
def test_what_is_no_long_loop_is_not_named(function):
    assert not warnings_of(function, X)


@pytest.mark.slow
def test_counting_holds_no_array_of_the_user():
    class Held:
        pass

    held = Held()
    alive = weakref.ref(held)

    def failing(x, held):
        np.sin(x)
        raise KeyError(held)

    with pytest.raises(KeyError):
        anyshape.trace(lambda x, held=held: failing(x, held))(X)
    del held
    gc.collect()
    assert alive() is None
