"""Compare solve_ivp and odeint with SciPy's step by step, and their derivatives with differences and each other."""

import numpy as np
import pytest
import scipy.integrate

from anyshape import grad, hessian, jit, jvp, vmap
from anyshape.errors import ArgumentError, CheckError
from anyshape.scipy import integrate

START, TIMES = np.array([1.0, 0.2]), np.linspace(0.5, 2.0, 4)
SLOW = [pytest.param(m, marks=pytest.mark.slow) for m in ("RK45", "RK23", "DOP853", "Radau", "BDF")]
STIFF = ("Radau", "BDF")
METHODS = ("RK45", *SLOW[1:])


def oscillator(t, y, a):
    """The equations of van der Pol."""
    return [y[1] + 0.1 * t, a * (1 - y[0] ** 2) * y[1] - y[0]]


def jacobian(t, y, a):
    return np.array([[0, 1], [-2 * a * y[0] * y[1] - 1, a * (1 - y[0] ** 2)]])


def solved(module, method, start, a, times, **options):
    if method in STIFF and module is scipy.integrate:
        options["jac"] = jacobian  # SciPy's own is a difference
    return module.solve_ivp(oscillator, (0.1, 2.0), start, method, times, args=(a,), **options)


def end_of(module, start, a, end, first=0.1):
    """Twice as exact as the solutions that it is compared with."""
    options = {"rtol": 1e-11, "atol": 1e-11, "method": "DOP853"}
    return module.solve_ivp(oscillator, (first, end), start, args=(a,), t_eval=np.array([end]), **options).y.sum()


@pytest.mark.parametrize("method", METHODS)
def test_steps_are_those_of_scipy(method):
    traced = jit(lambda y, a, times: solved(integrate, method, y, a, times))
    for a, times in ((1.5, TIMES), (3.0, TIMES[:2]), (0.5, TIMES[:0])):
        ours, theirs = traced(START, a, times), solved(scipy.integrate, method, START, a, times)
        np.testing.assert_allclose(ours.y, np.reshape(theirs.y, ours.y.shape), 1e-9, 1e-9)
        assert ours.success and ours["status"] == 0
        if method != "DOP853" and times.size:  # its interpolant evaluates further
            assert (ours.nfev, ours.njev, ours.nlu) == (theirs.nfev, theirs.njev, theirs.nlu)
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("method", METHODS)
def test_all_steps_and_the_interpolant(method):
    traced = jit(lambda y, end: integrate.solve_ivp(oscillator, (0, end), y, method, None, True, args=(2.0,)))
    for end in (2.0, -1.0, 0.0):
        options = {"jac": jacobian} if method in STIFF else {}
        theirs = scipy.integrate.solve_ivp(oscillator, (0, end), START, method, None, True, args=(2.0,), **options)
        ours = traced(START, end)
        np.testing.assert_allclose(ours.t, theirs.t, 1e-8, 1e-12)
        np.testing.assert_allclose(ours.y, theirs.y, 1e-8, 1e-8)
        for t in (end / 3, np.linspace(0, end, 5)):
            np.testing.assert_allclose(ours.sol(t), theirs.sol(t), 1e-8, 1e-8)
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_by_everything(method):
    def loss(start, a, end, first):
        options = {"rtol": 1e-8, "atol": 1e-9, "args": (a,), "t_eval": end[None]}
        return integrate.solve_ivp(oscillator, (first, end), start, method, **options).y.sum()

    point = START, 1.5, 1.7, 0.1
    slopes = grad(loss, argnums=(0, 1, 2, 3))(*point)
    for i in range(4):
        step = 1e-5 * (np.arange(1, 3) if i == 0 else 1)
        moved = [[x + sign * step if j == i else x for j, x in enumerate(point)] for sign in (1, -1)]
        difference = (end_of(scipy.integrate, *moved[0]) - end_of(scipy.integrate, *moved[1])) / 2e-5
        np.testing.assert_allclose(np.sum(slopes[i] * step) / 1e-5, difference, 1e-5)


@pytest.mark.parametrize("method", SLOW)
def test_batches_and_checkpoints_change_no_number(method):
    starts, rates = np.stack([START, 2 * START, 0 * START]), np.array([0.5, 3.0, 1.0])
    slope = lambda y, a, c=None: grad(lambda a: solved(integrate, method, y, a, TIMES, checkpoint=c).y.sum())(a)
    batch = vmap(slope)(starts, rates)
    np.testing.assert_allclose(batch, [slope(y, a) for y, a in zip(starts, rates, strict=True)], 1e-12)
    for checkpoint in ("carry", 3):
        np.testing.assert_allclose(slope(START, 0.5, checkpoint), batch[0], 1e-12)


@pytest.mark.parametrize("method", SLOW)
def test_second_order_and_forward_mode(method):
    value = lambda v: solved(integrate, method, v[:2], v[2], TIMES, rtol=1e-8, atol=1e-8).y.sum()
    point = np.array([1.0, 0.2, 1.5])
    curvature = hessian(value)(point)
    np.testing.assert_allclose(curvature, curvature.T, 1e-9, 1e-12)
    np.testing.assert_allclose(jvp(value, (point,), (np.eye(3)[1],))[1], grad(value)(point)[1], 1e-12)
    ahead, behind = (grad(value)(point + sign * 1e-5 * np.eye(3)[2]) for sign in (1, -1))
    np.testing.assert_allclose(curvature[2], (ahead - behind) / 2e-5, 1e-3, 1e-4)


@pytest.mark.parametrize("method", SLOW)
def test_the_continuous_adjoint_agrees_with_the_discrete_one(method):
    def loss(kind):
        return lambda y, a, first, times: np.sum(
            integrate.solve_ivp(
                oscillator, (first, 2.0), y, method, times, args=(a,), rtol=1e-9, atol=1e-9, adjoint=kind
            ).y
            ** 2
        )

    arguments = START, 1.5, 0.1, TIMES
    discrete, continuous = (grad(loss(k), argnums=(0, 1, 2, 3))(*arguments) for k in ("discrete", "continuous"))
    for a, b in zip(discrete, continuous, strict=True):
        np.testing.assert_allclose(a, b, 1e-5)


@pytest.mark.slow
def test_continuous_adjoint_of_a_network_in_a_batch():
    def loss(kind):
        def value(w, b):
            field = lambda y, t: np.tanh(w @ y + b)
            return np.sum(integrate.odeint(field, np.ones(2), TIMES, adjoint=kind) ** 2)

        return value

    w, b = np.stack([np.eye(2), -np.ones((2, 2))]) / 3, np.ones((2, 2))
    batch = vmap(grad(loss("continuous"), argnums=(0, 1)))(w, b)
    single = grad(loss("discrete"), argnums=(0, 1))(w[1], b[1])
    for a, b in zip(batch, single, strict=True):
        np.testing.assert_allclose(a[1], b, 1e-6)


@pytest.mark.slow
def test_rejected_steps_that_leave_the_domain_add_nothing_to_the_gradient():
    field = lambda t, y: -50 * np.sqrt(y) + np.exp(-1e3 * y)  # infinite slopes below 0
    options = {"t_eval": np.array([0.02]), "first_step": 0.02}
    end = lambda module, y: module.solve_ivp(field, (0, 0.02), y, **options).y.sum()
    with np.errstate(all="ignore"):
        gradient = grad(lambda y: end(integrate, y))(np.ones(1))
        tight = {"t_eval": np.array([0.02]), "rtol": 1e-10, "atol": 1e-10}
        exact = [scipy.integrate.solve_ivp(field, (0, 0.02), np.array([y]), **tight).y.sum() for y in (1.0001, 0.9999)]
    np.testing.assert_allclose(gradient, (exact[0] - exact[1]) / 2e-4, 1e-2)


@pytest.mark.slow
def test_a_batch_of_solutions():
    starts, ends = np.stack([START, 2 * START]), np.array([0.7, 1.9])
    end = lambda y, end: integrate.solve_ivp(oscillator, (0, end), y, "RK23", end[None], args=(2.0,)).y[:, 0]
    expected = [
        scipy.integrate.solve_ivp(oscillator, (0, e), y, "RK23", [e], args=(2.0,)).y[:, 0]
        for y, e in zip(starts, ends, strict=True)
    ]
    np.testing.assert_allclose(vmap(end)(starts, ends), expected, 1e-9)


def test_odeint():
    field = lambda y, t, a: oscillator(t, y, a)
    traced = jit(lambda y, t: integrate.odeint(field, y, t, (1.5,)))
    for times in (np.linspace(0, 3, 5), np.linspace(1, -1, 3), np.zeros(1), np.array([0.0, 1, 1, 2])):
        expected = scipy.integrate.odeint(field, START, times, (1.5,))
        np.testing.assert_allclose(traced(START, times), expected, 1e-5, 1e-6)
    assert traced.cache_info().traces == 1


@pytest.mark.slow
def test_sizes_and_dtypes_of_states():
    decay = jit(lambda y: integrate.solve_ivp(lambda t, y: -y, (0, 1), y, t_eval=TIMES / 2).y)
    for n in (0, 1, 3):
        np.testing.assert_allclose(decay(np.ones(n)), np.tile(np.exp(-TIMES / 2), (n, 1)), 1e-3)
    assert decay.cache_info().traces == 1
    assert decay(np.ones(2, np.float32)).dtype == np.float64  # as in SciPy
    turn = jit(lambda y: integrate.solve_ivp(lambda t, y: 1j * y, (0, 1), y, rtol=1e-8).y[:, -1])
    np.testing.assert_allclose(turn(np.ones(1) + 0j), [np.exp(1j)], 1e-6)


@pytest.mark.slow
def test_complex_states_of_a_stiff_equation():
    rates, times = np.array([-1 + 5j, -30]), np.array([0.0, 0.5, 1.0])
    options = {"method": "BDF", "t_eval": times, "rtol": 1e-6, "atol": 1e-8}
    y = np.array([1 + 0.5j, 0.2])
    solve = jit(lambda y, scale: integrate.solve_ivp(lambda t, y: scale * rates * y, (0, 1), y, **options))
    expected, result = scipy.integrate.solve_ivp(lambda t, y: rates * y, (0, 1), y, **options), solve(y, 1.0)
    np.testing.assert_allclose(result.y, expected.y, 1e-12, 1e-14)
    assert (result.nfev, result.njev, result.nlu) == (expected.nfev, expected.njev, expected.nlu)
    size = lambda scale: (np.abs(solve(y, scale).y[:, -1]) ** 2).sum()
    np.testing.assert_allclose(grad(size)(1.0), -2 * 1.25 * np.exp(-2), 1e-4)


def test_bad_arguments_and_failures():
    field = lambda t, y: y**2
    with pytest.raises(ValueError, match="axes"):
        jit(lambda y: integrate.solve_ivp(field, (0, 1), y))(np.ones((2, 2)))
    for method, message in (("LSODA", "has no derivative"), ("Euler", "method"), ("Radau", "is complex")):
        with pytest.raises(ValueError, match=message):
            jit(lambda y, m=method: integrate.solve_ivp(field, (0, 1), y, m))(np.ones(2) + 0j)
    with pytest.raises(ArgumentError, match="give t_eval"):
        jit(lambda y: integrate.solve_ivp(field, (0, 1), y, adjoint="continuous"))(np.ones(2))
    with pytest.raises(CheckError, match="outside of the span"):
        jit(lambda y, t: integrate.solve_ivp(field, (0, 1), y, t_eval=t).y)(np.ones(2), TIMES)
    with pytest.raises(CheckError, match="not sorted"):
        jit(lambda y, t: integrate.solve_ivp(field, (0, 2), y, t_eval=t).y)(np.ones(2), TIMES[::-1])
    pole = jit(lambda y: integrate.solve_ivp(field, (0, 2), y, t_eval=TIMES))(np.ones(1))
    assert not pole.success and pole.status == -1
    assert np.isfinite(pole.y[0, 0]) and np.isnan(pole.y[0, -1])
    outside = integrate.solve_ivp(field, (0, 0.5), np.ones(1), checkpoint=3)
    assert type(outside) is type(scipy.integrate.solve_ivp(field, (0, 0.5), np.ones(1)))
