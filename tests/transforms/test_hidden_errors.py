"""Code that catches an error which NumPy would not raise does not go another way: the trace ends with the error."""

import contextlib
import copy
import itertools
import math
import operator
import pickle
import warnings

import numpy as np
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, cond, export, grad, jit, jvp, scan, vmap
from anyshape.errors import AnyshapeError

pytestmark = pytest.mark.usefixtures("as_written")

QUESTIONS = {
    "size": lambda x: x.shape[0] > 3,
    "number of rows": lambda x: len(x) > 3,
    "index of a size": lambda x: sum(range(x.shape[0])) > 3,
    "rows": lambda x: sum(1 for _ in x) > 3,
    "size that depends on data": lambda x: x[x > 2].shape[0] > 3,
    "value": lambda x: x[0] > 3,
    "int": lambda x: int(x[0]) > 3,
    "index": lambda x: operator.index(np.sum(x).astype(int)) > 3,
    "float": lambda x: float(x[0]) > 3,
    "float of an axis": lambda x: float(x[:1]) > 3,
    "complex": lambda x: abs(complex(x[0])) > 3,
    "item": lambda x: np.sum(x).item() > 3,
    "list": lambda x: x.tolist()[0] > 3,
    "bytes": lambda x: len(x.tobytes()) > 24,
    "array": lambda x: np.asarray(x)[0] > 3,
    "math": lambda x: math.sqrt(abs(x[0])) > 3,
    "pickle": lambda x: pickle.loads(pickle.dumps(x))[0] > 3,
}


def caught(question):
    def function(x):
        try:
            return x * 2 if question(x) else x * 3
        except Exception:
            return x * 100

    return function


def caught_as_base(question):
    def function(x):
        try:
            return x * 2 if question(x) else x * 3
        except BaseException:
            return x * 100

    return function


def suppressed(question):
    def function(x):
        result = x * 100
        with contextlib.suppress(Exception):
            result = x * 2 if question(x) else x * 3
        return result

    return function


def left_by_stack(question):
    def function(x):
        result = x * 100
        with contextlib.ExitStack() as stack:
            stack.push(lambda *error: True)
            result = x * 2 if question(x) else x * 3
        return result

    return function


HIDING = [caught_as_base, suppressed, left_by_stack]
WAYS = {
    "jit": lambda f: jit(f),
    "export": lambda f: export(f)(ShapeDtypeStruct("n")),
    "grad": lambda f: lambda x: grad(lambda x: np.sum(f(x)))(x) * x,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[1],
    "vmap": lambda f: lambda x: vmap(f)(np.stack([x, x]))[0],
    "loop": lambda f: jit(lambda x: scan(lambda c, e: (f(c), e), x, np.ones(1))[0]),
    "branch": lambda f: jit(lambda x: cond(x[0] > 0, lambda: f(x), lambda: x)),
    "checkpoint": lambda f: jit(anyshape.checkpoint(f)),
}


CASES = [*itertools.product(QUESTIONS, [caught]), *itertools.product(["size", "value", "float"], HIDING)]


@pytest.mark.parametrize(("name", "hide"), CASES)
def test_a_hidden_error_is_no_other_result(name, hide):
    function = hide(QUESTIONS[name])
    for way, x in itertools.product(WAYS.values(), (np.ones(2), np.full(5, 4.0))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            expected = function(x)
        with contextlib.suppress(AnyshapeError):
            np.testing.assert_allclose(way(function)(x), expected)


def test_what_numpy_refuses_too_may_be_caught():
    def as_scalar(x):
        try:
            return float(x)
        except TypeError:
            return x.sum()

    function = jit(as_scalar)
    assert function(np.ones(3)) == 3
    assert function(np.ones(2)) == 2
    with pytest.raises(AnyshapeError, match=r"float\(\)"):
        function(np.ones(1))


def test_the_hidden_error_names_the_line_and_the_next_call_works():
    flag = [True]

    def function(x):
        try:
            return x * float(x[0]) if flag[0] else x
        except TypeError:
            return x * 0

    jitted = jit(function)
    with pytest.raises(AnyshapeError, match=r"float\(\).*test_hidden_errors.py"):
        jitted(np.ones(2))
    flag[0] = False
    np.testing.assert_array_equal(jitted(np.ones(2)), np.ones(2))


def test_a_copy_of_a_traced_array_hides_nothing():
    assert jit(lambda x: copy.deepcopy(x).sum() + copy.copy(x).sum())(np.ones(2)) == 4
