"""Errors of a running program name the expression and the line of the user, and are errors that NumPy raises."""

import pickle

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, errors, grad, jit, pure_callback, trace
from anyshape.errors import RunFloatingPointError, RunMemoryError, ShapeError

X = np.arange(5.0)
ROWS = [
    ("take", "anp.take(x, np.array([7]))", "index 7 is out of bounds", (ShapeError, IndexError),
     lambda x: anp.take(x, np.array([7])), None),
    ("take", "x[x.astype(int) - 6]", "index -6 is out of bounds", (ShapeError, IndexError),
     lambda x: x[x.astype(int) - 6], None),
    ("pow", "x.astype(int) ** (x.astype(int) - 2)", "negative integer powers", (ShapeError, ValueError),
     lambda x: x.astype(int) ** (x.astype(int) - 2), None),
    ("div", "1 / x", "divide by zero", (RunFloatingPointError, FloatingPointError),
     lambda x: 1 / x, "raise"),
    ("exp", "np.exp(1000 * x)", "overflow", (RunFloatingPointError, ArithmeticError),
     lambda x: np.exp(1000 * x), "raise"),
    ("full", "anp.zeros((x.shape[0] * 10 ** 9,) * 2)", "too big", (ShapeError, ValueError),
     lambda x: anp.zeros((x.shape[0] * 10**9,) * 2) + x[0], None),
    ("iota", "anp.arange(x.shape[0] * 10 ** 13)", "Unable", (RunMemoryError, MemoryError),
     lambda x: anp.arange(x.shape[0] * 10**13) * x[0], None),
    ("broadcast_in_dim", "np.repeat(x, 10 ** 18)", "too big", (ShapeError, ValueError),
     lambda x: np.repeat(x, 10**18).sum(), None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("primitive", "expression", "words", "kinds", "function", "raising"), ROWS, ids=lambda x: str(x)[:20]
)
def test_an_error_of_a_kernel_names_expression_and_line(primitive, expression, words, kinds, function, raising):
    made = jit(function)
    for _ in range(2):
        with np.errstate(all=raising), pytest.raises(kinds[0], match=words) as caught:
            made(X)
    error = caught.value
    assert isinstance(error, kinds[1]) and isinstance(error, errors.AnyshapeError)
    assert error.primitive == primitive and str(error).startswith(f"{expression}: ")
    assert error.where.file == __file__ and str(error.where) in str(error).splitlines()[0]
    assert type(error.__cause__).__module__ in ("builtins", "numpy._core._exceptions")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_the_line_belongs_to_the_step_that_failed():
    def function(x, i):
        y = np.sin(x)
        z = anp.take(y, i)  # here
        return z * 2 + np.cos(y[0])

    with open(__file__) as source:
        line = next(n for n, text in enumerate(source, 1) if text.endswith("# here\n"))
    for run in (jit(function), jit(lambda x, i: grad(lambda x: function(x, i).sum())(x))):
        with pytest.raises(IndexError) as caught:
            run(X, np.array([3, 5]))
        assert caught.value.where.line == line
    program = pickle.loads(pickle.dumps(trace(function)(ShapeDtypeStruct("n"), ShapeDtypeStruct("m", np.int64))))
    with pytest.raises(ShapeError, match="index 5 is out of bounds") as caught:
        program(X, np.array([3, 5]))
    assert caught.value.where.line == line


def test_errors_of_checks_keep_their_class_and_get_a_line():
    cut = jit(lambda x, k: x[: k.sum()] if x.ndim > 1 else anp.repeat(x, k))
    with pytest.raises(errors.AnyshapeError) as caught:
        cut(X, np.array([1, -2, 0, 0, 0]))
    assert caught.value.where is not None and str(caught.value.where) in str(caught.value)


def test_other_errors_pass_with_a_note():
    def stop(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine") as caught:
        jit(lambda x: pure_callback(stop, x, x) + 1)(X)
    assert type(caught.value) is LookupError
    assert caught.value.__notes__ == [
        f"raised by callback at test_failures.py:{_line('pure_callback(stop')} in an anyshape program"
    ]


def test_an_interrupt_passes_unchanged():
    def interrupted(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        jit(lambda x: pure_callback(interrupted, x, x))(X)
    assert not hasattr(caught.value, "__notes__")


def _line(text):
    with open(__file__) as source:
        return next(n for n, line in enumerate(source, 1) if text in line)
