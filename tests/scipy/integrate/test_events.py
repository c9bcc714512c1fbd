"""Events of solve_ivp and the method BDF, step by step as SciPy's, and integrals of functions that give arrays."""

import numpy as np
import pytest
import scipy.integrate

from anyshape import check_grads, grad, jacfwd, jacrev, jit
from anyshape.errors import ArgumentError
from anyshape.scipy import integrate

START = np.array([0.1, 20.0])
JACOBIAN = np.array([[0, 1], [0, -0.1]])
TIMES = np.linspace(0, 10, 21)
CASES = [("RK45", "times"), ("BDF", "steps"), ("RK45", "dense")]
CASES += [pytest.param(m, k, marks=pytest.mark.slow) for m in ("DOP853", "Radau", "BDF") for k in ("times", "dense")]
OPTIONS = {"times": {"t_eval": TIMES}, "steps": {}, "dense": {"dense_output": True}}


def fall(t, y, g):
    return [y[1], -g - 0.1 * y[1]]


def ground(t, y, g):
    return y[0]


def top(t, y, g):
    return y[1]


def middle(t, y, g):
    return y[0] - 5


ground.terminal, ground.direction = True, -1
EVENTS = [ground, top, middle]


@pytest.mark.parametrize(("method", "kind"), CASES)
def test_events_are_those_of_scipy(method, kind):
    options = {"method": method, "events": EVENTS, **OPTIONS[kind]}
    exact = {"jac": JACOBIAN} if method in ("Radau", "BDF") else {}
    traced = jit(lambda g, y, end: integrate.solve_ivp(fall, (0, end), y, args=(g,), **options))
    for g, start, end in ((9.81, START, 10.0), (9.81, START, 1.0), (30.0, START, 10.0), (9.81, -START, 3.0)):
        if kind == "times" and end < 10:
            continue
        ours = traced(g, start, end)
        theirs = scipy.integrate.solve_ivp(fall, (0, end), start, args=(g,), **options, **exact)
        assert (ours["status"], ours.success) == (theirs.status, theirs.success)
        np.testing.assert_allclose(ours.t, theirs.t, 1e-9, 1e-12)
        np.testing.assert_allclose(ours.y, theirs.y, 1e-9, 1e-9)
        for mine, others in ((ours.t_events, theirs.t_events), (ours.y_events, theirs.y_events)):
            for a, b in zip(mine, others, strict=True):
                np.testing.assert_allclose(a, np.reshape(b, a.shape), 1e-9, 1e-9)
        if kind == "dense":
            points = np.linspace(0, theirs.t[-1], 9)
            np.testing.assert_allclose(ours.sol(points), theirs.sol(points), 1e-8, 1e-8)
    assert traced.cache_info().traces == 1


def landing(module, g, **more):
    options = {"rtol": 1e-9, "atol": 1e-10, "events": ground, "method": "RK45", **more}
    return module.solve_ivp(fall, (0, 10), START, args=(g,), **options)


@pytest.mark.slow
def test_times_of_events_have_derivatives():
    time, state = (lambda g, k=k: getattr(landing(integrate, g), k)[0][0] for k in ("t_events", "y_events"))
    ahead, behind = (landing(scipy.integrate, g) for g in (9.811, 9.809))
    slope = jit(lambda g: (grad(time)(g), grad(lambda g: state(g)[1])(g)))(9.81)
    np.testing.assert_allclose(slope[0], (ahead.t[-1] - behind.t[-1]) / 2e-3, 1e-5)
    np.testing.assert_allclose(slope[1], (ahead.y[1, -1] - behind.y[1, -1]) / 2e-3, 1e-5)


@pytest.mark.slow
def test_times_of_events_have_second_derivatives():
    time = lambda g: landing(integrate, g, rtol=1e-11).t_events[0][0]
    theirs = lambda g: landing(scipy.integrate, g, rtol=1e-11).t[-1]
    np.testing.assert_allclose(grad(grad(time))(9.81), (theirs(9.86) + theirs(9.76) - 2 * theirs(9.81)) / 2.5e-3, 1e-3)
    np.testing.assert_allclose(jacfwd(time)(9.81), grad(time)(9.81), 1e-9)


def test_events_that_are_refused():
    def solve(event, **options):
        return jit(lambda y: integrate.solve_ivp(fall, (0, 1), y, args=(1.0,), events=event, **options).t)(START)

    bad = lambda t, y, g: y[0]
    bad.terminal = 1.5
    with pytest.raises(ArgumentError, match="positive integer"):
        solve(bad)
    with pytest.raises(ArgumentError, match="discrete adjoint"):
        solve(ground, t_eval=TIMES[:2], adjoint="continuous")


@pytest.mark.slow
def test_bdf_takes_the_steps_of_scipy_and_has_derivatives():
    stiff = lambda t, y, mu: [y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]
    jacobian = lambda t, y, mu: np.array([[0, 1], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]])
    start, times, options = np.array([2.0, 0.0]), np.linspace(0, 30, 7), {"rtol": 1e-5, "atol": 1e-8}
    solve = lambda mu, end: integrate.solve_ivp(stiff, (0, end), start, "BDF", times, args=(mu,), **options)
    ours = jit(solve)(20.0, 30.0)
    theirs = scipy.integrate.solve_ivp(stiff, (0, 30), start, "BDF", times, args=(20.0,), jac=jacobian, **options)
    np.testing.assert_allclose(ours.y, theirs.y, 1e-9, 1e-9)
    assert (ours.nfev, ours.njev, ours.nlu) == (theirs.nfev, theirs.njev, theirs.nlu)


@pytest.mark.slow
def test_integrals_of_arrays():
    function = lambda x, s: np.stack([np.exp(-s * x), np.sin(s * x) * np.exp(-x), x * np.exp(-x)])
    for a, b in ((0.0, 2.0), (0.0, np.inf), (-np.inf, np.inf), (1.0, 1.0)):
        f = function if a > -np.inf else lambda x, s: np.stack([np.exp(-s * x * x), 1 / (1 + x**2), x * 0])
        norm = "2" if b < np.inf else "max"
        ours, error = jit(lambda s, f=f, a=a, b=b, n=norm: integrate.quad_vec(f, a, b, norm=n, args=(s,)))(0.7)
        np.testing.assert_allclose(ours, scipy.integrate.quad_vec(f, a, b, args=(0.7,))[0], 1e-8, 1e-10)
        assert error < 1e-7
    integral = lambda s, b: integrate.quad_vec(lambda x: function(x, s), 0.0, b)[0]
    check_grads(integral, (0.7, 1.5), order=2)
    np.testing.assert_allclose(jacrev(integral, 1)(0.7, 1.5), function(1.5, 0.7), 1e-12)
    powers = lambda n: integrate.quad_vec(lambda x: x ** np.arange(n.shape[0], like=n) * 1j, 0.0, 1.0)[0]
    traced = jit(powers)
    for n in (0, 1, 5):
        np.testing.assert_allclose(traced(np.zeros(n)), 1j / np.arange(1, n + 1), 1e-12)
