"""Tests of options of transforms that no law covers: has_aux, and the arguments of linear_transpose."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import (
    ShapeDtypeStruct,
    errors,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)

W = np.array([0.5, -1.0, 2.0])
M = np.arange(6.0).reshape(2, 3)


def scored(w):
    """A scalar, and two things found on the way."""
    return np.sum(w**3), {"double": 2 * w, "most": np.max(w)}


def curved(w):
    """A vector, and something found on the way."""
    return M @ w**2, w.sum()


def same(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-14, strict=True)


@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["outside jit", "in jit"])
def test_aux_is_returned_and_not_differentiated(around):
    derivative, aux = around(lambda w: grad(scored, has_aux=True)(w))(W)
    same(derivative, 3 * W**2)
    same(aux["double"], 2 * W)
    assert float(aux["most"]) == 2.0
    (value, aux), derivative = around(lambda w: value_and_grad(scored, has_aux=True)(w))(W)
    same([value, aux["most"]], [np.sum(W**3), 2.0])
    same(derivative, 3 * W**2)
    for transform in (jacfwd, jacrev):
        derivatives, total = around(lambda w, transform=transform: transform(curved, has_aux=True)(w))(W)
        same(derivatives, 2 * M * W)
        assert float(total) == 1.5
    curvature, aux = around(lambda w: hessian(scored, has_aux=True)(w))(W)
    same(curvature, np.diag(6 * W))
    same(aux["double"], 2 * W)


@pytest.mark.parametrize("around", [lambda f: f, jit], ids=["outside jit", "in jit"])
def test_aux_of_derivatives_at_a_point(around):
    value, derivative, total = around(lambda w: jvp(curved, (w,), (np.ones(3),), has_aux=True))(W)
    same(value, M @ W**2)
    same(derivative, M @ (2 * W))
    assert float(total) == 1.5

    def pushed(w):
        value, push, total = linearize(curved, w, has_aux=True)
        return value, push(np.ones(3)), total

    def pulled(w):
        value, pull, total = vjp(curved, w, has_aux=True)
        return value, pull(np.ones(2))[0], total

    for made, expected in ((pushed, M @ (2 * W)), (pulled, M.sum(0) * 2 * W)):
        value, derivative, total = around(made)(W)
        same(value, M @ W**2)
        same(derivative, expected)
        assert float(total) == 1.5


@pytest.mark.parametrize(
    "call",
    [
        lambda f: jvp(f, (W,), (W,), has_aux=True),
        lambda f: linearize(f, W, has_aux=True),
        lambda f: jacfwd(f, has_aux=True)(W),
        lambda f: jacrev(f, has_aux=True)(W),
    ],
)
def test_aux_needs_a_pair(call):
    with pytest.raises(errors.ArgumentError, match="not a pair"):
        call(np.sin)


@pytest.mark.parametrize("like", [W, ShapeDtypeStruct((3,)), ShapeDtypeStruct("3")], ids=["array", "sizes", "text"])
def test_a_linear_function_is_transposed_at_any_point(like):
    (back,) = linear_transpose(lambda v: np.diff(M @ v) + np.where(W > 0, v, -v).sum() / 2, like)(np.array([2.0]))
    same(back, 2 * (M[1] - M[0]) + np.array([1.0, -1.0, 1.0]))


def test_a_coefficient_may_be_the_value_it_is_transposed_at():
    derivative = jit(grad(lambda w: np.sum(linear_transpose(lambda v: v * w, w)(w)[0])))
    same(derivative(W), 2 * W)
    same(vmap(lambda row: linear_transpose(lambda v: v * row, row)(row)[0])(M), M * M)


@pytest.mark.parametrize(
    "function", [np.sin, np.abs, np.max, np.std, lambda v: v * v, lambda v: np.where(v > 0, v, 2 * v)]
)
def test_a_nonlinear_function_has_no_transpose(function):
    with pytest.raises(errors.ArgumentError, match="is not linear"):
        linear_transpose(function, W)
    with pytest.raises(errors.ArgumentError, match="is not linear"):
        jit(lambda w: linear_transpose(function, w)(function(w))[0])(W)


def test_zeros_that_a_linear_function_makes_do_not_come_from_its_argument():
    add = lambda v: anp.zeros(v.shape).at[np.array([0, 1, 1])].add(2 * v)
    np.testing.assert_array_equal(linear_transpose(add, W[:3])(np.arange(3.0))[0], [0, 2, 2])


def test_linear_transpose_refuses_symbolic_sizes():
    with pytest.raises(errors.SpecError, match="not fixed"):
        linear_transpose(np.cumsum, ShapeDtypeStruct("n"))
