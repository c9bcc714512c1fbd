"""Check slopes at equal eigenvalues and singular values: limits where no turn of vectors changes a value, else NaN."""

import numpy as np
import pytest
import scipy.linalg

import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct, cond, export, fori_loop, grad, hessian, jacfwd, jit, jvp, scan, vmap, while_loop

RNG = np.random.default_rng(0)
C, B, Q = RNG.normal(size=(3, 3)), RNG.normal(size=3), np.linalg.qr(RNG.normal(size=(3, 3)))[0]
POINTS = {
    "unit": np.eye(3),
    "turned": (Q * [1, 1, 3.0]) @ Q.T,
    "nearly": (Q * [1, 1 + 1e-10, 3.0]) @ Q.T,
    "orthogonal": 2 * Q,
    "zero": np.zeros((3, 3)),
    "rank 1": np.outer(Q[0], Q[1]),
    "distinct": C,
}


def even(a):
    return (a + a.T) / 2


def spectral(f):
    return lambda a: f(*np.linalg.eigh(even(a)))


def singular(f, full=True):
    return lambda a: f(*np.linalg.svd(a, full_matrices=full))


def general(f):
    return lambda a: f(*np.linalg.eig(a))


def exponential(w, v):
    return (v * np.exp(w)) @ np.conj(v.T)


def expm(a):
    return scipy.linalg.expm(even(a))


# a function with decompositions, and the same function without any
FUNCTIONS = {
    "values": (lambda a: np.sum(np.exp(np.linalg.eigvalsh(even(a)))), lambda a: np.trace(expm(a))),
    "columns": (spectral(lambda w, v: np.sum(C * ((v * np.exp(w)) @ v.T))), lambda a: np.sum(C * expm(a))),
    "diagonal": (spectral(lambda w, v: np.sum(C * (v @ anp.diag(np.exp(w)) @ v.T))), lambda a: np.sum(C * expm(a))),
    "einsum": (
        spectral(lambda w, v: np.sum(C * np.einsum("ij,j,kj->ik", v, np.exp(w), v))),
        lambda a: np.sum(C * expm(a)),
    ),
    "quadratic": (spectral(lambda w, v: np.sum(np.exp(w) * (v.T @ B) ** 2)), lambda a: B @ expm(a) @ B),
    "solution": (
        spectral(lambda w, v: np.sum((v.T @ B) ** 2 / (w + 9)) + np.sum(np.log(w + 9))),
        lambda a: B @ np.linalg.solve(even(a) + 9 * np.eye(3), B) + np.linalg.slogdet(even(a) + 9 * np.eye(3))[1],
    ),
    "softmax": (
        spectral(lambda w, v: np.sum(C * ((v * (np.exp(w) / np.sum(np.exp(w)))) @ v.T))),
        lambda a: np.sum(C * expm(a)) / np.trace(expm(a)),
    ),
    "loss": (spectral(lambda w, v: np.sum(((v * np.exp(w)) @ v.T - C) ** 2)), lambda a: np.sum((expm(a) - C) ** 2)),
    "nested": (
        lambda a: np.sum(C * spectral(lambda w, v: (v * np.sin(w)) @ v.T)(spectral(exponential)(a))),
        lambda a: np.sum(C * scipy.linalg.sinm(expm(a))),
    ),
    "product": (singular(lambda u, s, vh: np.sum(C * ((u * s) @ vh))), lambda a: np.sum(C * a)),
    "square": (singular(lambda u, s, vh: np.sum(C * ((u * s**2) @ u.T))), lambda a: np.sum(C * (a @ a.T))),
}


def differences(function, a):
    result = np.zeros_like(a)
    for index in np.ndindex(*a.shape):
        step = np.zeros_like(a)
        step[index] = 1e-5
        result[index] = (function(a + step) - function(a - step)) / 2e-5
    return result


MODES = {
    "reverse": lambda function, points: map(grad(function), points),
    "forward": lambda function, points: map(jacfwd(function), points),
    "batch": lambda function, points: vmap(grad(function))(np.stack(points)),
}
# each function has two of three modes; the third one is slow
TURNS = [
    pytest.param(name, mode, id=f"{name}, {mode}", marks=[pytest.mark.slow] * (number % len(MODES) == turn))
    for number, name in enumerate(FUNCTIONS)
    for turn, mode in enumerate(MODES)
]


@pytest.mark.parametrize(("name", "mode"), TURNS)
def test_limits_in_both_modes_and_batches(name, mode):
    function, plain = FUNCTIONS[name]
    slopes = MODES[mode](function, [*POINTS.values()])
    for (point, a), slope in zip(POINTS.items(), slopes, strict=True):
        np.testing.assert_allclose(slope, differences(plain, a), 1e-6, 1e-6, err_msg=point)


GENERAL = {
    "unit": np.eye(3),
    "zero": np.zeros((3, 3)),
    "normal": (Q * [1, 1, 3.0]) @ Q.T,
    "skewed": (C * [1, 1, 3.0]) @ np.linalg.inv(C),
    "rank 1": np.outer(C[0], C[1]),
    "turn": Q @ [[0, 1, 0], [-1, 0, 0], [0, 0, 2]] @ Q.T,
    "distinct": C,
}


@pytest.mark.slow
def test_general_matrices_with_equal_eigenvalues():
    forms = (
        lambda w, v: ((v * np.exp(w)) @ np.linalg.inv(v)).real,
        lambda w, v: (v @ np.diag(np.exp(w)) @ np.linalg.inv(v)).real,
        lambda w, v: np.linalg.solve(v.T, (v * np.exp(w)).T).T.real,
    )
    functions = [general(form) for form in forms]
    slope = grad(lambda a: np.sum(np.exp(np.linalg.eigvals(a)) * (1 - 2j)).real)
    forward = jit(lambda a, t: [jvp(f, (a,), (t,))[1] for f in functions] + [jvp(slope, (a,), (t,))[1].T])
    backward = jit(lambda a: [grad(lambda a, f=f: np.sum(B * Q * f(a)))(a) for f in functions])
    change = Q + B
    for point, a in GENERAL.items():
        expected, back = scipy.linalg.expm_frechet(a, change)[1], scipy.linalg.expm_frechet(a.T, B * Q)[1]
        for actual in forward(a, change):
            np.testing.assert_allclose(actual, expected, 1e-9, 1e-9, err_msg=point)
        for actual in backward(a):
            np.testing.assert_allclose(actual, back, 1e-9, 1e-9, err_msg=point)
        np.testing.assert_allclose(slope(a), scipy.linalg.expm(a).T, 1e-9, 1e-12)


def test_general_matrices_without_a_slope():
    """Vectors of equal eigenvalues, and matrices that have no basis of vectors up to rounding."""
    vectors = general(lambda w, v: np.sum(C * v.real))
    weighted = general(lambda w, v: np.sum(((v * np.arange(3.0)) @ np.linalg.inv(v)).real * C))
    for point in ("unit", "normal", "skewed"):
        assert np.isnan(grad(vectors)(GENERAL[point])).any() and np.isnan(grad(weighted)(GENERAL[point])).any()
    inverse = general(lambda w, v: ((v * np.exp(w)) @ np.linalg.inv(v)).real)
    jordan = np.array([[1.0, 1, 0], [0, 1, 0], [0, 0, 2]])
    assert np.isnan(grad(lambda a: np.sum(np.exp(np.linalg.eigvals(a))).real)(jordan)).all()
    for a in (jordan, C @ jordan @ np.linalg.inv(C), C @ (jordan + 1e-11 * jordan.T) @ np.linalg.inv(C)):
        assert np.isnan(jvp(inverse, (a,), (C,))[1]).any()


@pytest.mark.slow
def test_polar_factors_and_complex_matrices():
    turn = np.linalg.qr(C + 1j * Q)[0]
    change = C + 1j * C.T
    hermitian = change + change.conj().T
    for a in ((turn * [1, 1, 3]) @ turn.conj().T, np.eye(3) + 0j):
        function = lambda a: exponential(*np.linalg.eigh(a))
        expected = scipy.linalg.expm_frechet(a, hermitian)[1]
        np.testing.assert_allclose(jvp(function, (a,), (hermitian,))[1], expected, 1e-9, 1e-9)
    for a in (2 * turn, 0 * turn, turn[:, :1] @ turn[:1]):
        actual = jvp(singular(lambda u, s, vh: (u * s) @ vh), (a,), (change,))[1]
        np.testing.assert_allclose(actual, change, 1e-12, 1e-12)
    actual = jvp(singular(lambda u, s, vh: u @ vh), (2 * Q,), (C,))[1]
    ahead, behind = (scipy.linalg.polar(2 * Q + h * C)[0] for h in (1e-6, -1e-6))
    np.testing.assert_allclose(actual, (ahead - behind) / 2e-6, 1e-7, 1e-7)


@pytest.mark.parametrize("shape", [(4, 3), (3, 5)])
def test_thin_decompositions(shape):
    weights = np.random.default_rng(1).normal(size=shape)
    product = singular(lambda u, s, vh: np.sum(weights * ((u * s) @ vh)), full=False)
    basis = np.linalg.qr(np.ones((5, 5)) + np.diag(np.arange(5.0)))[0][: shape[0], : shape[1]]
    for a in (basis if shape[0] < shape[1] else np.eye(*shape), np.zeros(shape), np.ones(shape)):
        np.testing.assert_allclose(grad(product)(a), weights, 1e-12, 1e-12)


@pytest.mark.slow
def test_what_depends_on_the_turn_has_no_slope():
    """Also where the vectors that LAPACK gives happen to be stationary."""
    for function in (
        spectral(lambda w, v: np.sum(v**3)),
        spectral(lambda w, v: v[0, 0]),
        spectral(lambda w, v: np.sum(C * ((v * np.arange(3.0)) @ v.T))),
        spectral(lambda w, v: np.sum(np.where(v > 0, v, 0.0) @ v.T)),
        singular(lambda u, s, vh: np.sum(u**3)),
        singular(lambda u, s, vh: np.sum(u * s)),
    ):
        for a in (np.eye(3), POINTS["turned"]):
            assert np.isnan(grad(function)(a)).any() and np.isnan(jacfwd(function)(a)).any()
    for a in (np.zeros((3, 3)), np.diag([1.0, 2.0, 0.0])):
        assert np.isnan(grad(singular(lambda u, s, vh: np.sum(C * (u @ vh))))(a)).all()


SPLIT = {
    "columns": spectral(lambda w, v: (v[:, 1:] * w[1:]) @ v[:, 1:].T),
    "one": spectral(lambda w, v: w[1] * np.outer(v[:, 1], v[:, 1])),
    "weights": spectral(lambda w, v: (v * (w * np.arange(3.0))) @ v.T),
    "gaps": spectral(lambda w, v: (v[:, 1:] * (w[1:] - w[0])) @ v[:, 1:].T),
    "quadratic": spectral(lambda w, v: np.sum((w * (v.T @ B) ** 2)[1:])),
    "cubes": spectral(lambda w, v: w * v**3),
    "singular": singular(lambda u, s, vh: (u[:, :2] * s[:2]) @ vh[:2]),
    "thin": singular(lambda u, s, vh: (u * (s * np.arange(3.0))) @ vh, full=False),
    "root": singular(lambda u, s, vh: (u * s) @ u.T),
    "general": general(lambda w, v: ((v[:, 1:] * w[1:]) @ np.linalg.inv(v)[1:]).real),
    "general weights": general(lambda w, v: ((v * (w * np.arange(3.0))) @ np.linalg.inv(v)).real),
}


@pytest.mark.parametrize("name", SPLIT)
def test_values_that_no_turn_changes_with_slopes_that_one_does(name):
    """Weights and cuts of equal values that are all 0 have the same value for all vectors."""
    function = lambda a: np.sum(C * SPLIT[name](a))
    for a in (np.zeros((3, 3)), np.diag([0.0, 0.0, 1.0])):
        assert np.isnan(grad(function)(a)).any() and np.isnan(jacfwd(function)(a)).any()
    a = (C * [-1.0, 0.5, 2.0]) @ np.linalg.inv(C)
    np.testing.assert_allclose(grad(function)(a), differences(function, a), 1e-6, 1e-6)


def test_parts_of_distinct_values_have_slopes_beside_equal_ones():
    """Cuts between distinct values, and squares, whose slope is 0 in all of what is cut."""
    upper = spectral(lambda w, v: np.sum(C * ((v[:, 1:] * w[1:]) @ v[:, 1:].T)))
    a = np.diag([-1.0, 0.0, 0.0])
    np.testing.assert_allclose(grad(upper)(a), differences(upper, a), 1e-6, 1e-6)
    squares = spectral(lambda w, v: np.sum(C * ((v[:, 1:] * w[1:] ** 2) @ v[:, 1:].T)))
    for a in (np.zeros((3, 3)), POINTS["rank 1"] @ POINTS["rank 1"].T):
        np.testing.assert_allclose(grad(squares)(a), differences(squares, a), 1e-4, 1e-4)


def test_kinks_at_equal_values_are_as_in_tables():
    """The projection to positive matrices shares its slope at 0, as `np.maximum` does; rounding may not choose."""
    project = spectral(lambda w, v: np.sum(C * ((v * np.maximum(w, 0.0)) @ v.T)))
    np.testing.assert_allclose(grad(project)(np.zeros((3, 3))), even(C) / 2, 1e-12)
    shares = np.array([[0.5, 0.5, 1], [0.5, 0.5, 1], [1, 1, 1]])
    expected = Q @ (shares * (Q.T @ even(C) @ Q)) @ Q.T
    np.testing.assert_allclose(grad(project)((Q * [1e-17, -1e-17, 1]) @ Q.T), expected, 1e-9)


def block_exponential(a, s, t):
    """Return the second derivative of the matrix exponential at a, in the directions s and t."""
    zero = np.zeros_like(a)
    blocks = np.block([[a, s, t, zero], [zero, a, zero, t], [zero, zero, a, s], [zero, zero, zero, a]])
    return scipy.linalg.expm(blocks)[: len(a), 3 * len(a) :]


@pytest.mark.slow
def test_second_derivatives_of_values_are_limits():
    a, change = np.diag([1.0, 1.0, 3.0]), even(C)
    second = lambda function: np.einsum("ijkl,ij,kl", hessian(function)(a), change, change)
    expected = np.sum(change * scipy.linalg.expm_frechet(a, change)[1])
    np.testing.assert_allclose(second(FUNCTIONS["values"][0]), expected, 1e-12)
    np.testing.assert_allclose(second(spectral(lambda w, v: np.sum(np.exp(w)))), expected, 1e-12)
    squares = lambda a: np.sum(np.linalg.svdvals(a) ** 2)
    for point in POINTS.values():
        np.testing.assert_allclose(hessian(squares)(point).reshape(9, 9), 2 * np.eye(9), 1e-9, 1e-9)


@pytest.mark.slow
def test_second_derivatives_are_limits_of_second_divided_differences():
    s, t = even(Q), even(C)
    slopes = jit(lambda a: jvp(grad(FUNCTIONS["columns"][0]), (a,), (s,))[1])
    for gap in (0.0, *10.0 ** -np.arange(3, 16, 2)):
        for values in ([1, 1 + gap, 3], [1, 1 + gap, 1 + 2 * gap], [0, 0, 1 + gap]):
            a = even((Q * np.array(values)) @ Q.T)
            expected = np.sum(C * block_exponential(a, s, t))
            np.testing.assert_allclose(np.sum(slopes(a) * t), expected, 1e-5, err_msg=str(values))


@pytest.mark.slow
def test_second_derivatives_at_all_sizes_and_in_batches_and_complex():
    second = lambda a, s: jvp(lambda a: jvp(spectral(exponential), (a,), (s,))[1], (a,), (s,))[1]
    run, batched = jit(second), jit(vmap(second))
    for size in (0, 1, 2, 5):
        s = even(RNG.normal(size=(size, size)))
        np.testing.assert_allclose(run(np.eye(size), s), np.e * s @ s, 1e-12, 1e-12)
    s = even(C)
    points = np.stack([np.eye(3), POINTS["turned"], even(C)])
    actual = batched(points, np.stack([s] * 3))
    np.testing.assert_allclose(actual, [block_exponential(a, s, s) for a in points], 1e-9, 1e-9)
    s = (C + 1j * Q) + (C + 1j * Q).conj().T
    turn = np.linalg.eigh(s)[1]
    a = (turn * [1, 1, 2]) @ turn.conj().T
    inner = lambda a: jvp(lambda a: exponential(*np.linalg.eigh(a)), (a,), (s,))[1]
    np.testing.assert_allclose(jvp(inner, (a,), (s,))[1], block_exponential(a, s, s), 1e-9, 1e-9)


@pytest.mark.slow
def test_second_derivatives_of_other_decompositions_and_third_ones():
    a, s = np.eye(3), even(C)
    inverse = general(lambda w, v: ((v * np.exp(w)) @ np.linalg.inv(v)).real)
    second = lambda f, s: lambda a: jvp(lambda a: jvp(f, (a,), (s,))[1], (a,), (s,))[1]
    np.testing.assert_allclose(second(inverse, C)(a), np.e * C @ C, 1e-9, 1e-9)
    third = jvp(second(spectral(exponential), s), (a,), (s,))[1]
    np.testing.assert_allclose(third, np.e * s @ s @ s, 1e-9, 1e-9)


@pytest.mark.slow
def test_derivatives_of_exported_and_of_batched_gradients():
    squares = grad(spectral(lambda w, v: np.sum(((v * np.exp(w)) @ v.T) ** 2)))
    exported, s = export(squares)(ShapeDtypeStruct("n, n")), even(C)
    expected = 4 * np.e**2 * s
    np.testing.assert_allclose(jvp(lambda a: exported(a), (np.eye(3),), (s,))[1], expected, 1e-9, 1e-9)
    (actual,) = jvp(vmap(squares), (np.eye(3)[None],), (s[None],))[1]
    np.testing.assert_allclose(actual, expected, 1e-9, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_second_derivatives_in_all_modes(name):
    """Forward over reverse mode and reverse mode twice have no limit for a decomposition behind another one."""
    function, plain = FUNCTIONS[name]
    s = even(Q)
    slope = lambda a: (differences(plain, a + 1e-4 * s) - differences(plain, a - 1e-4 * s)) / 2e-4
    modes = [jit(lambda a: jacfwd(lambda a: jvp(function, (a,), (s,))[1])(a))]
    if name != "nested":
        modes.append(jit(lambda a: jvp(grad(function), (a,), (s,))[1]))
        modes.append(jit(grad(lambda a: np.sum(s * grad(function)(a)))))
    for point, a in POINTS.items():
        for mode in modes:
            np.testing.assert_allclose(mode(a), slope(a), 1e-3, 1e-3, err_msg=point)


@pytest.mark.slow
def test_second_derivatives_that_depend_on_the_turn_are_not_numbers():
    """The squares have slope 0 at zeros whatever is cut, and their second derivative depends on the cut."""
    squares = spectral(lambda w, v: np.sum(C * ((v[:, 1:] * w[1:] ** 2) @ v[:, 1:].T)))
    assert np.isnan(jvp(grad(squares), (np.zeros((3, 3)),), (even(C),))[1]).any()


LOOPS = {
    "cond": lambda f: cond(f() > 1e9, lambda: 2 * f(), f),
    "fori_loop": lambda f: fori_loop(0, 2, lambda i, total: total + f() / 2, 0.0),
    "scan": lambda f: scan(lambda total, x: (total + x * f(), x), 0.0, np.array([0.25, 0.75]))[0],
    "while_loop": lambda f: while_loop(lambda c: c[0] < 1, lambda c: (c[0] + 1, c[1] + f()), (0, 0.0))[1],
}


@pytest.mark.parametrize("name", LOOPS)
def test_vectors_that_a_branch_or_a_body_reads(name):
    form = lambda w, v: LOOPS[name](lambda: np.sum(C * ((v * np.exp(w)) @ v.T)))
    modes = [jit(jacfwd(spectral(form)))]
    if name != "while_loop":
        modes.append(grad(spectral(form)))
    for a in (np.eye(3), POINTS["turned"]):
        expected = scipy.linalg.expm_frechet(a, even(C))[1]
        for mode in modes:
            np.testing.assert_allclose(mode(a), expected, 1e-9, 1e-9)


def test_sums_over_all_vectors_and_values():
    """At zeros the sum vanishes whatever the vectors are, and so does its slope."""
    for a in (np.zeros((3, 3)), np.eye(3), POINTS["turned"]):
        np.testing.assert_allclose(grad(spectral(lambda w, v: np.sum((v * w) ** 2)))(a), 2 * a, 1e-9, 1e-9)


@pytest.mark.slow
def test_zeros_by_construction_leave_the_part_with_limits():
    """The root of a row that is left out has no slope, in both modes."""
    rows = np.array([True, False, True])
    form = lambda w, v: np.sum(np.sqrt(np.sum(np.where(rows[:, None], v**2 * np.exp(w), 0.0), 1)))
    for a in (np.eye(3), even(C)):
        expected = differences(lambda a: np.sum(np.sqrt(np.diag(expm(a))[rows])), a)
        for mode in (grad, jacfwd):
            np.testing.assert_allclose(mode(spectral(form))(a), expected, 1e-6, 1e-6)


@pytest.mark.slow
def test_second_derivatives_of_square_full_decompositions():
    """Sizes of both sides are equal here by what the function does, and take several forms in its derivatives."""
    slope = grad(singular(lambda u, s, vh: np.sum(((u * s) @ vh) ** 3)))
    for a in (C, np.eye(3)):
        np.testing.assert_allclose(jvp(slope, (a,), (Q,))[1], 6 * a * Q, 1e-9, 1e-9)
