"""Softmaxes in the forms that programs write: their derivative reads the quotient alone."""

import numpy as np
import pytest
from mpmath import mp

import anyshape
import anyshape.numpy as anp
from anyshape.numpy import special


def stable(x, axis, keep=True):
    e = anp.exp(x - anp.max(x, axis=axis, keepdims=True))
    return e / anp.sum(e, axis=axis, keepdims=keep)


def uneven(e):
    return e / anp.sum(e, axis=1)  # of square matrices: each column is divided by the sum of a row


SHARES = {
    "of rows": lambda x: stable(x, 1),
    "of columns": lambda x: stable(x, 0),
    "of columns without axes of size 1": lambda x: stable(x, 0, keep=False),
    "of all": lambda x: stable(x, None),
    "of all without axes of size 1": lambda x: stable(x, None, keep=False),
    "of both axes": lambda x: stable(x, (0, 1)),
    "with a new axis": lambda x: anp.exp(x) / anp.sum(anp.exp(x), axis=1)[:, None],
    "twice": lambda x: stable(stable(x, 1), 0),
    "of what is masked": lambda x: stable(anp.where(x > 0, x, -1e9), 1),
    "of a stack": lambda x: stable(anp.stack([x, -x]) * 0.5, (0, 2)),
    "with the power read elsewhere": lambda x: (anp.exp(x) / anp.exp(x).sum(axis=1, keepdims=True)) + anp.exp(x),
}
OTHERS = {
    "of a row by another": lambda x: uneven(anp.exp(x @ x.T)),
    "of other powers": lambda x: anp.exp(x) / anp.sum(anp.exp(2 * x), axis=1, keepdims=True),
    "of no powers": lambda x: anp.cosh(x) / anp.sum(anp.cosh(x), axis=1, keepdims=True),
    "by a maximum": lambda x: anp.exp(x) / anp.max(anp.exp(x), axis=1, keepdims=True),
    "upside down": lambda x: anp.sum(anp.exp(x), axis=1, keepdims=True) / anp.exp(x),
    "of part of them": lambda x: anp.exp(x) / anp.sum(anp.exp(x)[:, :1], axis=1, keepdims=True),
}


def weights(shape):
    return np.cos(np.arange(float(np.prod(shape)))).reshape(shape)


def loss(function):
    return lambda x, w: anp.sum(function(x) * w)


@pytest.mark.parametrize("name", [*SHARES, *OTHERS])
def test_derivatives_agree_with_complex_steps_and_differences(name):
    function = {**SHARES, **OTHERS}[name]
    step = anyshape.jit(anyshape.value_and_grad(loss(function)))
    bent = anyshape.jit(lambda x, w, v: anyshape.hvp(lambda x: loss(function)(x, w), (x,), (v,)))
    rng = np.random.default_rng(0)
    for shape in [(1, 1), (2, 2), (5, 5), (3, 4), (1, 4), (4, 1)]:
        if name == "of a row by another" and shape[0] == 1:
            continue
        x, v = rng.normal(size=shape), rng.normal(size=shape)
        w = weights(np.shape(anyshape.jit(function)(x)))
        _, derivative = step(x, w)
        small = 1e-6
        up, down = (step(x + s * v, w) for s in (small, -small))
        assert abs((up[0] - down[0]) / (2 * small) - np.sum(derivative * v)) < 1e-7
        np.testing.assert_allclose(bent(x, w, v), (up[1] - down[1]) / (2 * small), atol=1e-6)
    assert step.cache_info().traces == 1


@pytest.mark.parametrize("name", SHARES)
def test_forward_mode_is_reverse_mode_transposed(name):
    function = SHARES[name]
    rng = np.random.default_rng(1)
    for shape in [(0, 3), (3, 5), (1, 1)]:
        if shape[0] == 0 and name not in {"of rows", "with a new axis"}:
            continue
        x, v = rng.normal(size=shape), rng.normal(size=shape)
        y, t = anyshape.jit(lambda x, v: anyshape.jvp(function, (x,), (v,)))(x, v)
        w = weights(np.shape(y))
        derivative = anyshape.jit(anyshape.grad(loss(function)))(x, w)
        np.testing.assert_allclose(np.sum(t * w), np.sum(derivative * v), atol=1e-12)


def test_the_derivative_of_a_softmax_has_no_division():
    step = anyshape.trace(anyshape.grad(loss(SHARES["of rows"])))(*[anyshape.ShapeDtypeStruct("n, m")] * 2)
    ops = [s.op.name for s in step.plan.steps]
    assert ops.count("div") == 1 and ops.count("exp") == 1 and ops.count("sum_to") + ops.count("reduce_sum") <= 3
    scaled = lambda x, t, w: np.sum(stable(x / t, 1) * w)
    specs = [anyshape.ShapeDtypeStruct(text) for text in ("n, m", "", "n, m")]
    ops = {s.op.name for s in anyshape.trace(anyshape.grad(scaled))(*specs).plan.steps}
    assert ops.isdisjoint(("select", "logical_and", "logical_or", "logical_not", "convert"))  # no masks of the largest


def test_large_exponents_leave_finite_derivatives():
    """The exponential is at most 1, and a quotient of 0 has no derivative."""
    x = np.array([[1000.0, -1000, 3], [0, -np.inf, 2]])
    derivative = anyshape.jit(anyshape.grad(loss(SHARES["of rows"])))(x, np.array([[1.0, 2, 3]] * 2))
    p = np.exp(x - x.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    w = np.array([1.0, 2, 3])
    np.testing.assert_allclose(derivative, p * (w - (p * w).sum(1, keepdims=True)), atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_other_dtypes(dtype):
    rng = np.random.default_rng(2)
    x, v = (rng.normal(size=(3, 4)).astype(dtype) for _ in range(2))
    function = SHARES["with a new axis"]
    y, t = anyshape.jit(lambda x, v: anyshape.jvp(function, (x,), (v,)))(x, v)
    assert t.dtype == dtype and y.dtype == dtype
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    np.testing.assert_allclose(t, p * (v - (p * v).sum(1, keepdims=True)), rtol=1e-5, atol=1e-6)


def test_under_vmap():
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(4, 3, 5)), rng.normal(size=(3, 5))
    derivative = anyshape.grad(loss(SHARES["of columns"]))
    mapped = anyshape.jit(anyshape.vmap(derivative, in_axes=(0, None)))(x, w)
    np.testing.assert_allclose(mapped, np.stack([derivative(row, w) for row in x]), atol=1e-14)


def exact_jacobian(x, logarithm):
    with mp.workdps(400):
        powers = [mp.exp(mp.mpf(float(v))) for v in x]
        shares = [p / sum(powers) for p in powers]
        n = range(len(x))
        entry = lambda i, j: ((i == j) - shares[j]) * (1 if logarithm else shares[i])
        return np.array([[float(entry(i, j)) for j in n] for i in n])


LOGARITHMS = {
    "log_softmax": special.log_softmax,
    "a difference": lambda x: x - special.logsumexp(x, axis=0, keepdims=True),
}
QUOTIENTS = {"softmax": special.softmax, "a quotient": lambda x: stable(x, 0)}


@pytest.mark.parametrize("name", [*QUOTIENTS, *LOGARITHMS])
@pytest.mark.parametrize("x", [[0.0, 40.0, -3.0], [300.0, 1.0, 0.0], [5.0, 5.0, -60.0], [0.1, 0.2, 0.3]])
def test_slopes_of_a_large_share_keep_their_digits(name, x):
    function, x = (QUOTIENTS | LOGARITHMS)[name], np.array(x)
    expected = exact_jacobian(x, name in LOGARITHMS)
    np.testing.assert_allclose(anyshape.jacrev(function)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(anyshape.jacfwd(function)(x), expected, rtol=1e-12)
