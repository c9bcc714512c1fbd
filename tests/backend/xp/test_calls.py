"""Calls with arrays of other libraries run there: jit, derivatives and batches, and what such calls refuse."""

import subprocess
import sys

import numpy as np
import pytest

import anyshape
from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.ops.special import erfcx

strict = pytest.importorskip("array_api_strict")


def array(x, dtype=np.float64):
    return strict.asarray(np.asarray(x, dtype))


def numbers(y):
    assert type(y) is type(array(0.0)), type(y)
    return np.asarray(y._array)


def loss(w, x):
    return np.mean(np.logaddexp(0, -np.tanh(x @ w)))


X, W = np.random.default_rng(0).normal(size=(5, 3)), np.random.default_rng(1).normal(size=3)


def test_one_program_serves_all_sizes_and_another_one_numpy():
    f = anyshape.jit(loss)
    for n in (5, 1, 0, 3):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(numbers(f(array(W), array(X[:n]))), f(W, X[:n]), rtol=1e-12)
    assert f.cache_info().traces == 2
    assert type(f(W, X)) is np.float64


def test_derivatives_and_batches_stay_in_the_library():
    w, x = array(W), array(X)
    value, gradients = anyshape.value_and_grad(loss, argnums=(0, 1))(w, x)
    expected, wanted = anyshape.value_and_grad(loss, argnums=(0, 1))(W, X)
    np.testing.assert_allclose(numbers(value), expected, rtol=1e-12)
    for got, want in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(numbers(got), want, rtol=1e-12)
    np.testing.assert_allclose(numbers(anyshape.hessian(loss)(w, x)), anyshape.hessian(loss)(W, X), rtol=1e-10)
    _, tangent = anyshape.jvp(loss, (w, x), (w, x))
    np.testing.assert_allclose(numbers(tangent), anyshape.jvp(loss, (W, X), (W, X))[1], rtol=1e-12)
    each = anyshape.vmap(loss, in_axes=(None, 0))(w, strict.reshape(x, (5, 1, 3)))
    np.testing.assert_allclose(numbers(each), anyshape.vmap(loss, in_axes=(None, 0))(W, X[:, None]), rtol=1e-12)
    _, back = anyshape.vjp(loss, w, x)
    np.testing.assert_allclose(numbers(back(array(2.0))[0]), 2 * wanted[0], rtol=1e-12)


def test_numbers_beside_arrays_are_moved():
    f = anyshape.jit(lambda x, a, n: {"y": x * a, "n": n + 1})
    result = f(array(X), 2.0, 3)
    np.testing.assert_array_equal(numbers(result["y"]), 2 * X)
    assert numbers(result["n"]) == 4
    np.testing.assert_array_equal(numbers(f(array(X), 3.0, np.int64(3))["y"]), 3 * X)


def test_constants_are_as_they_are_at_each_call():
    scale = np.ones(3)
    f = anyshape.jit(lambda x: x * scale)
    for _ in range(3):
        np.testing.assert_array_equal(numbers(f(array(X))), X * scale)
        scale += 1


def test_decisions_and_loops_on_values():
    def f(x):
        if np.sum(x) > 0:
            return x * 2
        return x - 1

    jitted = anyshape.jit(f)
    for x in (X, -abs(X), abs(X), -abs(X)):
        np.testing.assert_array_equal(numbers(jitted(array(x))), f(x))

    def halves(x):
        return anyshape.while_loop(lambda x: np.max(x) > 1, lambda x: x / 2, x)

    np.testing.assert_array_equal(numbers(anyshape.jit(halves)(array([5.0, 2.0]))), [0.625, 0.25])
    total = anyshape.jit(lambda x: anyshape.scan(lambda c, row: (c + row, c), np.zeros(3), x))
    for got, want in zip(total(array(X)), (X.sum(0), np.cumsum(X, 0) - X), strict=True):
        np.testing.assert_allclose(numbers(got), want, rtol=1e-12, atol=1e-12)


def test_a_program_runs_on_them_too():
    program = anyshape.trace(loss)(W, X)
    np.testing.assert_allclose(numbers(program(array(W), array(X[:2]))), loss(W, X[:2]), rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (loss, (array(W), X), r"x is an array of NumPy, and w is an array of array_api_strict"),
        (lambda x: x.__setitem__(0, 1.0), (array(W),), r"writes to it"),
        (lambda x, rng: x + rng.normal(), (array(W), np.random.default_rng(0)), "is a random generator"),
    ],
)
def test_what_is_refused(function, args, message):
    with pytest.raises(ArgumentError, match=message):
        anyshape.jit(function)(*args)


def test_an_op_without_a_kernel_is_named_or_runs_on_the_host():
    f = anyshape.jit(lambda x: erfcx(x) * 2)
    with pytest.raises(UnsupportedFunctionError, match="its op erfcx has no kernel for arrays of array_api_strict"):
        f(array(X))
    anyshape.config.host_kernels = "always"
    try:
        np.testing.assert_allclose(numbers(f(array(X))), f(X), rtol=1e-12)
    finally:
        anyshape.config.host_kernels = "never"


def test_indices_out_of_range_are_an_error_and_stay_in_the_users_words():
    f = anyshape.jit(lambda x, i: x[i])
    np.testing.assert_array_equal(numbers(f(array(X), array([-1, 0], np.int64))), X[[-1, 0]])
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 5"):
        f(array(X), array([9], np.int64))


def test_conditions_on_sizes_are_checked():
    f = anyshape.jit(loss)
    f(array(W), array(X))
    with pytest.raises(anyshape.AnyshapeError, match=r"x\.shape"):
        f(array(W[:2]), array(X))


def test_no_library_is_imported():
    code = "import anyshape, sys, numpy as np; anyshape.jit(np.sin)(np.ones(3)); "
    code += "print([m for m in ('torch', 'jax', 'array_api_compat', 'anyshape.backend.xp') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plain_code_of_a_program_and_what_explain_says():
    program = anyshape.trace(loss)(W, X)
    plain = program.as_function("array_api_strict")
    np.testing.assert_allclose(numbers(plain(array(W), array(X[:2]))), loss(W, X[:2]), rtol=1e-12)
    plain = anyshape.trace(lambda x: anyshape.cond(np.sum(x) > 0, np.sin, np.cos, x))(W).as_function("array_api_strict")
    for w in (abs(W), -abs(W)):
        np.testing.assert_allclose(numbers(plain(array(w))), np.sin(w) if np.sum(w) > 0 else np.cos(w), rtol=1e-12)
    f = anyshape.jit(lambda x, i: (x[i], x[x > 0]))
    f(array(W), array([0], np.int64))
    text = str(f.explain())
    assert "the host reads whether indices are in range: take at" in text
    assert "the host reads the number of elements of a result: nonzero at" in text
