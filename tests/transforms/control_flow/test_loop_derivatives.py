"""Derivatives and batches of loops, of any order, against loops in plain Python and differences of these."""

import tracemalloc

import numpy as np
import pytest

import anyshape
from anyshape import grad, hessian, jacfwd, jacrev, jit, jvp, scan, vjp, vmap
from tests.transforms.control_flow import plain_loops

W = np.array([[0.3, -0.5, 0.2], [0.1, 0.4, -0.6], [0.7, 0.2, 0.1]])
X = np.random.default_rng(0).normal(size=(3, 3)) * 0.8
X[0] = np.abs(X[0])

# -- programs: functions of the loops and of an array of three numbers


def rnn(L, x):
    h, ys = L.scan(lambda h, v: (np.tanh(W @ h + v * x), np.sin(h)), x, np.arange(4.0))
    return np.sum(h * h) + np.sum(ys[1:])


def rev(L, x):
    h, ys = L.scan(lambda h, v: (np.tanh(W @ h + v), h * v), x, np.stack([x, x * 2, x * x]), reverse=True)
    return np.sum(h * ys[0]) + np.sum(ys)


def whl(L, x):
    r = L.while_loop(
        lambda c: (np.sum(c[1] ** 2) < 20) & (c[0] < 9), lambda c: (c[0] + 1, c[1] * 1.3 + np.sin(x) * c[0]), (0, x)
    )
    return np.sum(r[1] ** 3) * r[0]


def zero(L, x):
    return np.sum(L.fori_loop(0, 0, lambda i, c: np.sin(c) * x, x) ** 2)


def idx(L, x):
    return np.sum(L.fori_loop(0, x.shape[0], lambda i, c: c + np.sin(x[i]) * x, np.zeros(3)) ** 2)


def nested(L, x):
    def body(i, c):
        z = np.sin(c)
        return L.fori_loop(0, i, lambda j, d: np.tanh(d * z + x * j), c) + L.while_loop(
            lambda d: np.sum(d * d) > 0.5, lambda d: d * 0.7 * np.cos(z), c
        )

    return np.sum(L.fori_loop(0, 3, body, x) ** 2)


def unperturbed(L, x):
    def body(c):
        k, a, b = c
        return k - 1, a * 2, b * a * np.sin(b) + x

    _, a, b = L.while_loop(lambda c: c[0] > 0, body, (3, np.ones(3), x))
    return np.sum(a * b)


def latecarry(L, x):
    def body(c, v):
        a, b, d = c
        return (a + 1, a * v, b + d), d

    (_, _, d), ys = L.scan(body, (np.ones(3), np.zeros(3), np.zeros(3)), np.stack([x, x**2, np.sin(x), x]))
    return np.sum(d**2) + np.sum(ys**2)


def grow(L, x):
    v, _ = L.fori_loop(0, 3, lambda i, c: (np.concatenate([c[0], np.sin(c[0][:1] * c[1])]), c[1] * 1.1), (x, np.sum(x)))
    return np.sum(v**2 * np.cumsum(v))


def shrink(L, x):
    v = L.while_loop(lambda v: v.shape[0] > 1, lambda v: v[1:] * np.cos(v[:-1]) * x[0], x)
    return np.sum(v)


def datashrink(L, x):
    v = L.while_loop(
        lambda v: (v.shape[0] > 0) & (np.sum(v * v) > 0.1),
        lambda v: np.sin(v)[np.abs(v) > 0.35] * 0.9,
        np.concatenate([x, x * 0.3]),
    )
    return np.sum(v) + np.sum(x**2)


def pairgrow(L, x):
    a, b = L.fori_loop(
        0,
        3,
        lambda i, c: (
            np.concatenate([c[0], x[:1] * c[0][:1]]),
            np.concatenate([c[1], c[1][-1:] * x[:1]]) + np.concatenate([c[0], c[0][:1]]),
        ),
        (x, x),
    )
    return np.sum(a * b)


def dup(L, x):
    a, b = L.fori_loop(0, 3, lambda i, c: (c[1] * c[0], c[1] * c[0]), (x, np.cos(x)))
    return np.sum(a * b)


def swap(L, x):
    a, b = L.fori_loop(0, 3, lambda i, c: (c[1], c[0]), (x, np.cos(x)))
    return np.sum(a * b**2)


def ident(L, x):
    a, b = L.fori_loop(0, 3, lambda i, c: (c[0], c[1] * c[0]), (x, np.cos(x)))
    return np.sum(a * b**2)


def condin(L, x):
    return np.sum(
        L.fori_loop(
            0, 4, lambda i, c: L.cond(np.sum(c) > 0.5, lambda c: c * np.sin(x) - i, lambda c: np.cos(c) + x * i, c), x
        )
        ** 2
    )


def incond(L, x):
    return L.cond(
        np.sum(x) > 0.2,
        lambda: np.sum(L.fori_loop(0, 3, lambda i, c: np.sin(c) * x, x)),
        lambda: np.sum(L.while_loop(lambda c: np.sum(c * c) < 5, lambda c: c * 1.3 - x, x)),
    )


def chk(L, x):
    return np.sum(L.fori_loop(0, 3, lambda i, c: L.checkpoint(lambda c: np.sin(np.exp(c)) * x)(c), x) ** 2)


def ckloop(L, x):
    return np.sum(L.checkpoint(lambda x: L.fori_loop(0, 3, lambda i, c: np.sin(np.exp(c * 0.3)) * x, x))(x) ** 2)


def matmul(L, x):
    M = L.fori_loop(0, 3, lambda i, M: M @ W * np.outer(x, x) + M.T, np.outer(x, W[0]))
    return np.sum(M * M)


def sortr(L, x):
    return np.sum(L.scan(lambda c, v: (np.sort(c * v), np.cumsum(c)), x, np.stack([x, -x]))[1] ** 2)


def scalars(L, x):
    return L.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1.0, c[1] * x[0] + c[0]), (0.0, 1.0))[1]


def lin(L, x):  # linear body
    return np.sum(L.scan(lambda c, v: (W @ c + v, c), x, np.stack([x, -x, x]))[1] * x)


def mapp(L, x):
    return np.sum(L.map(lambda v: v * x, x) ** 2)


PROGRAMS = [
    rnn,
    rev,
    whl,
    zero,
    idx,
    nested,
    unperturbed,
    latecarry,
    grow,
    shrink,
    datashrink,
    pairgrow,
    dup,
    swap,
    ident,
    condin,
    incond,
    chk,
    ckloop,
    matmul,
    sortr,
    scalars,
    lin,
    mapp,
]
RAGGED = {datashrink}  # examples of different sizes
ALL = pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
BATCHED = pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in RAGGED], ids=lambda f: f.__name__)


def differences(f, x, step=1e-6):
    return np.stack([(np.asarray(f(x + step * d)) - f(x - step * d)) / (2 * step) for d in np.eye(len(x))], -1)


@ALL
def test_values_and_derivatives(program):
    f, plain = lambda x: program(anyshape, x), lambda x: program(plain_loops, x)
    value, gradient, forward = jit(f), jit(grad(f)), jit(jacfwd(f))
    for x in X:
        expected, derivative = plain(x), differences(plain, x)
        np.testing.assert_allclose(value(x), expected, rtol=1e-10)
        np.testing.assert_allclose(gradient(x), derivative, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(forward(x), derivative, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(f(X[0]), plain(X[0]), rtol=1e-10)
    np.testing.assert_allclose(jit(lambda x: vjp(f, x)[1](2.0)[0])(x), 2 * gradient(x), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(jit(grad(f), optimize="now")(x), gradient(x), rtol=1e-10, atol=1e-13)


SECOND = {
    "fwd rev": lambda f: jacfwd(jacrev(f)),
    "rev rev": lambda f: jacrev(jacrev(f)),
    "rev fwd": lambda f: jacrev(jacfwd(f)),
    "fwd fwd": lambda f: jacfwd(jacfwd(f)),
}


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])
@ALL
def test_second_derivatives(program, half):
    """Programs take turns, so that each order of modes is met by half of them in the gate."""
    f, x = lambda x: program(anyshape, x), X[0]
    expected = differences(jit(grad(f)), x)
    for derive in list(SECOND.values())[(PROGRAMS.index(program) + half) % 2 :: 2]:
        np.testing.assert_allclose(jit(derive(f))(x), expected, rtol=1e-5, atol=1e-5)


@BATCHED
def test_batches(program):
    f, gradient = lambda x: program(anyshape, x), jit(grad(lambda x: program(anyshape, x)))
    total = lambda xs: np.sum(vmap(f)(xs))
    derivatives = [gradient(x) for x in X]
    np.testing.assert_allclose(jit(vmap(f))(X), [program(plain_loops, x) for x in X], rtol=1e-10)
    np.testing.assert_allclose(jit(vmap(grad(f)))(X), derivatives, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(jit(grad(total))(X), derivatives, rtol=1e-9, atol=1e-12)
    tangents = jit(vmap(lambda x: jvp(f, (x,), (np.ones(3),))[1]))(X)
    np.testing.assert_allclose(tangents, np.sum(derivatives, axis=1), rtol=1e-9, atol=1e-12)


@BATCHED
@pytest.mark.slow
def test_second_derivatives_of_batches(program):
    f, second = lambda x: program(anyshape, x), jit(hessian(lambda x: program(anyshape, x)))
    total = lambda xs: np.sum(vmap(f)(xs))
    expected = [second(x) for x in X]
    np.testing.assert_allclose(jit(vmap(hessian(f)))(X), expected, rtol=1e-8, atol=1e-10)
    blocks = jit(lambda xs: np.sum(jacfwd(grad(total))(xs), axis=2))(X)
    np.testing.assert_allclose(blocks, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("trips", [0, 1, 2, 3, 7, 30])
def test_any_number_of_trips(trips):
    f = lambda loops, n, x: np.sum(loops.fori_loop(0, n, lambda i, c: np.tanh(W @ c + x * i) + c / 2, np.sin(x)) ** 2)
    plain = lambda x: f(plain_loops, trips, x)
    for x in X:
        np.testing.assert_allclose(COUNTED(x, trips), plain(x), rtol=1e-12)
        np.testing.assert_allclose(COUNTED_SLOPE(x, trips), differences(plain, x), rtol=1e-6, atol=1e-6)


def counted(x, n):
    return np.sum(anyshape.fori_loop(0, n, lambda i, c: np.tanh(W @ c + x * i) + c / 2, np.sin(x)) ** 2)


COUNTED, COUNTED_SLOPE = jit(counted), jit(grad(counted))


def test_arnoldi_with_a_growing_basis():
    def arnoldi(a, b):
        def body(_, carry):
            basis, total = carry
            v = a @ basis[:, -1]
            h = basis.T @ v
            v = v - basis @ h
            return np.concatenate([basis, (v / np.linalg.norm(v))[:, None]], 1), np.sum(h**2) + total

        return anyshape.fori_loop(0, 3, body, ((b / np.linalg.norm(b))[:, None], 0.0))

    rng = np.random.default_rng(0)
    a, b, d, step = rng.normal(size=(5, 5)), rng.normal(size=5), rng.normal(size=(5, 5)), 1e-6
    basis, _ = jit(arnoldi)(a, b)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-12)
    g = jit(grad(lambda a, b: arnoldi(a, b)[1]))(a, b)
    difference = (arnoldi(a + step * d, b)[1] - arnoldi(a - step * d, b)[1]) / (2 * step)
    np.testing.assert_allclose(np.sum(g * d), difference, rtol=1e-7)


def test_a_carry_that_inner_loops_shrink_and_outer_ones_let_grow():
    def popped(x):
        def trip(carry, v):
            drop = lambda c: (c[0][: c[0].shape[0] - 1], c[1] + c[0][0] * v)
            stack, total = anyshape.while_loop(lambda c: np.sum(c[0]) > v, drop, carry)
            return (np.concatenate([stack, v[None]]), total), ()

        return scan(trip, (x[:2] * 1.0, 0.0 * x[0]), x)[0][1]

    x = np.array([1.5, 0.3, 3.6, 2.2])
    slopes = [(popped(x + e) - popped(x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(jit(grad(popped))(x), slopes, rtol=1e-7, atol=1e-8)


def test_custom_rules_inside_and_around():
    @anyshape.custom_jvp
    def forward(x):
        return np.sin(x)

    forward.defjvp(lambda p, t: (forward(*p), 3 * np.cos(p[0]) * t[0]))

    @anyshape.custom_vjp
    def reverse(x):
        return np.sin(x)

    reverse.defvjp(lambda x: (reverse(x), x), lambda r, ct: (3 * np.cos(r) * ct,))
    for rule in (forward, reverse):
        f = lambda x, rule=rule: anyshape.fori_loop(0, 2, lambda i, c: rule(c), x)
        derivative = lambda x: 9 * np.cos(np.sin(x)) * np.cos(x)
        np.testing.assert_allclose(jit(grad(f))(0.3), derivative(0.3))
        np.testing.assert_allclose(jit(vmap(grad(f)))(X[0]), derivative(X[0]))

    @anyshape.custom_vjp
    def doubled(x):
        return anyshape.while_loop(lambda c: c < 10, lambda c: c * 2, x)

    doubled.defvjp(lambda x: (doubled(x), x), lambda r, ct: (anyshape.fori_loop(0, 2, lambda i, c: c * r, ct),))
    assert grad(doubled)(0.5) == jit(grad(doubled))(0.5) == 0.25


# -- bodies whose sizes nothing relates, by the unrolled loop ----------------------------------------------------

BODIES = {
    "product": lambda w, h, x: (np.tanh(w @ h + x), h * x),
    "row times matrix": lambda w, h, x: (np.tanh(h @ w * x), h),
    "twice": lambda w, h, x: (np.sin(w @ (w @ h)) + x, w @ h),
    "transposed": lambda w, h, x: (np.sin(w.T @ h) * x, h @ w @ h * x),
    "dot": lambda w, h, x: (h * np.dot(w[0], h) + x, x),
    "einsum": lambda w, h, x: (np.einsum("ij,j->i", w, h) * x, h),
    "elementwise": lambda w, h, x: (np.sum(w * h, axis=1) * 0.5 + x, h),
    "two products": lambda w, h, x: (w @ h + w @ x, (w @ x) * h),
    "solve": lambda w, h, x: (np.linalg.solve(w @ w.T + np.diag(np.ones_like(w[0]) * 3), h) + x, h),
}


def unrolled(trips):
    def loop(f, carry, xs):
        ys = []
        for i in range(trips):
            carry, y = f(carry, xs[i])
            ys.append(y)
        return carry, np.stack(ys)

    return loop


def total_of(name, loop, trips):
    def total(w, xs, h):
        last, ys = loop(lambda c, x: BODIES[name](w, c, x), h, xs)
        weights = np.arange(1.0, trips + 1).reshape((trips,) + (1,) * (ys.ndim - 1))
        return np.real(np.sum(last * last) + np.sum(np.sin(ys) * weights))

    return total


# Bodies take turns in the gate: each has float64, and one of the other dtypes.
WEIGHTS = [
    pytest.param(name, dtype, marks=[pytest.mark.slow] * (j == i % 2), id=f"{name}-{dtype}")
    for i, name in enumerate(BODIES)
    for j, dtype in enumerate(["float32", "complex128", "float64"])
]


@pytest.mark.parametrize(("name", "dtype"), WEIGHTS)
def test_weights_have_the_gradient_of_the_unrolled_loop(name, dtype):
    """Products over trips are summed after the loop; sizes are undeclared and unrelated."""
    rng = np.random.default_rng(3)
    tolerance = 3e-3 if dtype == "float32" else 1e-6
    for size, trips in ((1, 1), (3, 4)) if dtype == "float64" else ((3, 2),):
        arrays = [rng.normal(size=shape) / 2 for shape in ((size, size), (trips, size), (size,))]
        w, xs, h = [(a + 0.3j * a[::-1] if dtype == "complex128" else a).astype(dtype) for a in arrays]
        looped, by_hand = (total_of(name, loop, trips) for loop in (scan, unrolled(trips)))
        expected = grad(by_hand, (0, 1, 2))(w, xs, h)
        for got, wanted in zip(grad(looped, (0, 1, 2))(w, xs, h), expected, strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)
        batch = vmap(grad(looped), (0, None, None))(np.stack([w, w / 2]), xs, h)
        np.testing.assert_allclose(
            batch, np.stack([expected[0], grad(by_hand)(w / 2, xs, h)]), rtol=tolerance, atol=tolerance
        )


def test_slices_of_captured_arrays_are_made_again_whatever_their_size():
    def covariance(x):
        c = np.zeros((x.shape[1], x.shape[1]))
        for i in range(x.shape[1]):
            c[i:, i] = c[i, i:] = x[:, i] @ x[:, i:]
        return np.sum(c * np.cos(np.arange(c.size)).reshape(c.shape))

    gradient = jit(grad(covariance), compile="off")
    rng = np.random.default_rng(0)
    for shape in ((3, 2), (3, 1), (0, 2), (4, 5), (100, 200)):
        x, way = rng.normal(size=shape), rng.normal(size=shape)
        difference = (covariance(x + 1e-6 * way) - covariance(x - 1e-6 * way)) / 2e-6
        np.testing.assert_allclose(np.sum(gradient(x) * way), difference, rtol=1e-6, atol=1e-6)
    assert gradient.cache_info().traces == 1
    tracemalloc.start()
    gradient(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * x.nbytes  # the slices have 100 times as many elements as x
