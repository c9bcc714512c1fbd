"""Conditions keep the lines that led to them, from the traced function on, and print them folded."""

import collections
import contextlib
import functools
import json
import pickle
import statistics

import numpy as np
import pytest

import anyshape
from anyshape import errors, grad, jit, trace
from anyshape.errors import AnyshapeError
from anyshape.graph.prover.constraints import SourceLine


def pairs(x):
    return x.reshape(-1, 2)


def checked(x):
    return pairs(x) if x.shape[0] > 3 else x


def again(x, times):
    return again(x, times - 1) if times else checked(x)


def outer(x):
    return checked(x).sum()


def lines(function):
    return function.__code__.co_firstlineno + 1


HERE = __file__.rpartition("/")[2]


def conditions(function, size=4):
    jitted = jit(function)
    jitted(np.ones(size))
    return {c.kind: c.where for p in jitted.programs() for c in p.graph.conditions}


@pytest.mark.parametrize("transform", [lambda f: f, grad])
def test_guards_and_assertions_keep_their_callers(transform):
    where = conditions(transform(outer))
    assert [line.line for line in where["guard"].callers] == [lines(outer)]
    assert [line.line for line in where["assertion"].callers] == [lines(checked), lines(outer)]
    assert (
        where["assertion"].trail == f"{HERE}:{lines(pairs)}, called at {HERE}:{lines(checked)}, {HERE}:{lines(outer)}"
    )


def test_callers_of_the_traced_function_are_left_out():
    where = conditions(lambda x: x.reshape(-1, 2))
    assert where["assertion"].callers == () and where["assertion"].trail == str(where["assertion"])


def test_errors_and_explanations_print_them():
    jitted = jit(outer)
    trail = f"at {HERE}:{lines(pairs)}, called at {HERE}:{lines(checked)}, {HERE}:{lines(outer)}"
    with pytest.raises(errors.SizeMismatchError) as first:
        jitted(np.ones(5))
    jitted(np.ones(6))
    with pytest.raises(errors.SizeMismatchError) as later:
        jitted(np.ones(7))
    for caught in (first, later):
        assert trail in str(caught.value).split("\n")[0]
    with pytest.raises(errors.InconclusiveDimensionError, match=f"called at {HERE}:{lines(outer)}"):
        trace(outer)(anyshape.ShapeDtypeStruct("n"))
    with pytest.raises(errors.SizeMismatchError, match=f"called at {HERE}:{lines(checked)}"):
        jit(lambda x: checked(x).sum())(np.ones(5))
    assert f"called at {HERE}:{lines(checked)}" in str(jitted.explain())


def test_recursion_and_long_trails_are_folded():
    trail = conditions(lambda x: again(x, 30))["guard"].trail
    assert f"{HERE}:{lines(again)} (31 times)" in trail
    line = SourceLine("a.py", 1, callers=[SourceLine("b.py", i) for i in range(9)])
    assert line.trail == "a.py:1, called at b.py:0, b.py:1, b.py:2, ... 5 more, b.py:8"


def test_callers_are_pickled_and_not_compared():
    where = conditions(outer)["guard"]
    copy = pickle.loads(pickle.dumps(where))
    assert copy.trail == where.trail and copy == where == SourceLine(where.file, where.line, where.function)
    assert hash(copy) == hash(SourceLine(where.file, where.line, where.function))


class Lazy:
    """Reads an element through `functools` and `contextlib`."""

    def __init__(self, x):
        self.x = x

    @functools.cached_property
    def far(self):
        return self.x[90]

    @contextlib.contextmanager
    def opened(self):
        yield self.x[90]

    def from_context(self):
        with self.opened() as value:
            return value


@pytest.mark.parametrize("function", [
    lambda x: Lazy(x).far,
    lambda x: Lazy(x).from_context(),
    lambda x: functools.reduce(lambda a, i: a + x[i], [80, 90], 0),
    lambda x: collections.Counter([np.sum(x)]),
    lambda x: statistics.fmean([1.0], weights=[np.sum(x)]),
    lambda x: json.dumps({"a": np.sum(x)}, default=float),
])  # fmt: skip
def test_lines_of_the_standard_library_are_not_those_of_the_user(function):
    with pytest.raises(AnyshapeError) as error:
        jit(function)(np.arange(3.0))
    assert "test_user_stack.py" in str(error.value)
    for file in ("functools", "contextlib", "statistics", "encoder", "__init__"):
        assert f"{file}.py" not in str(error.value)


def sines(x):
    while True:
        x = np.sin(x)
        yield x


def taken_twice(x):
    steps = sines(x)
    first = next(steps)
    return first, next(steps)


def test_each_line_that_resumes_a_generator_calls_what_it_runs():
    jitted = jit(taken_twice)
    jitted(np.ones(12))
    callers = [[line.line for line in node.where.path] for node in jitted.programs()[0].trace.graph.nodes]
    assert callers == [[lines(taken_twice) + 1], [lines(taken_twice) + 2]]
