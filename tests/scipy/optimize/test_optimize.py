"""Compare anyshape.scipy.optimize with SciPy's, outside and inside of traces, and derivatives with closed forms."""

import math
import warnings

import numpy as np
import pytest
import scipy.optimize

import anyshape.optimize
from anyshape import check_grads, grad, jacrev, jit, vmap
from anyshape.errors import ApproximateDerivativeWarning, ArgumentError, UnsupportedFunctionError
from anyshape.scipy import optimize

X, NOISE = np.linspace(0, 3, 20), 0.01 * np.sin(40 * np.linspace(0, 3, 20))
Y = 2 * np.exp(-1.3 * X) + NOISE


def cubic(x, a):
    return x**3 + a * x - 3


def cost(x, a):
    return np.sum((x - a) ** 4 + x**2)


def curve(x, a, b):
    return a * np.exp(-b * x)


def residuals(p, x, y):
    return curve(x, p[0], p[1]) - y


# -- equations


def test_root_outside_of_traces_takes_vectors_and_trees():
    for method in ("hybr", "lm", "krylov"):
        np.testing.assert_allclose(optimize.root(cubic, [0.5, 2], args=2.0, method=method).x, [1, 1], 1e-5)
    tree = lambda t: {"u": t["u"] ** 2 - 2, "v": t["v"] - t["u"].sum()}
    x = optimize.root(tree, {"u": np.ones(2), "v": 1.0}).x
    np.testing.assert_allclose(x["u"], np.sqrt([2, 2]))
    np.testing.assert_allclose(x["v"], np.sqrt(8))
    exact = optimize.root(cubic, np.ones(9), args=(2.0,))
    assert exact.nfev < scipy.optimize.root(cubic, np.ones(9), args=(2.0,)).nfev  # no differences


def test_root_has_the_derivative_of_its_equation():
    solution = lambda a, x0: optimize.root(cubic, x0, args=(a,)).x
    traced = jit(solution)
    for n in (0, 1, 3):
        np.testing.assert_allclose(traced(2.0, np.ones(n)), np.ones(n))
    assert traced.cache_info().traces == 1
    check_grads(lambda a: solution(a, np.ones(2)), (2.0,), order=2)
    rates = np.array([1.0, 2.0, 3.0])
    slopes = vmap(grad(lambda a: solution(a, np.ones(1))[0]))(rates)
    x = vmap(lambda a: solution(a, np.ones(1))[0])(rates)
    np.testing.assert_allclose(slopes, -x / (3 * x**2 + rates), 1e-9)
    tree = lambda a: optimize.root(lambda t: [t[0] ** 2 - a, t[1] - t[0].sum()], [np.ones(2), np.ones(())]).x
    np.testing.assert_allclose(grad(lambda a: tree(a)[1])(2.0), 2 / np.sqrt(8))


@pytest.mark.parametrize(
    "start", [{"bracket": (0, 3.0)}, {"x0": 1.0}, {"x0": 1.0, "x1": 2.0}, {"x0": 1.0, "method": "halley"}], ids=str
)
def test_root_scalar(start):
    solution = lambda a: optimize.root_scalar(lambda x, a: x**3 - a, args=(a,), **start).root
    np.testing.assert_allclose(solution(2.0), 2 ** (1 / 3), 1e-9)
    np.testing.assert_allclose(jit(solution)(2.0), 2 ** (1 / 3), 1e-9)
    np.testing.assert_allclose(grad(solution)(2.0), 2 ** (-2 / 3) / 3, 1e-9)
    np.testing.assert_allclose(grad(grad(solution))(2.0), -2 / 9 * 2 ** (-5 / 3), 1e-9)


def test_older_functions_for_roots():
    for name in ("bisect", "brentq", "brenth", "ridder", "toms748"):
        solution = lambda a, name=name: getattr(optimize, name)(lambda x, a: x**3 - a, 0, 3, args=(a,))
        np.testing.assert_allclose(solution(2.0), 2 ** (1 / 3), 1e-9)
        np.testing.assert_allclose(grad(solution)(2.0), 2 ** (-2 / 3) / 3, 1e-9)
    np.testing.assert_allclose(grad(lambda a: optimize.newton(lambda x: x**3 - a, 1.0))(2.0), 2 ** (-2 / 3) / 3, 1e-7)
    np.testing.assert_allclose(grad(lambda a: optimize.fsolve(cubic, np.ones(2), args=(a,))[0])(2.0), -0.2, 1e-9)


def test_newtons_method_is_for_numbers():
    with pytest.raises(TypeError, match="use vmap"):
        jit(lambda x: optimize.newton(lambda y: y**2 - 2, x))(np.ones(2))
    roots = vmap(lambda x: optimize.newton(lambda y: y**2 - 2, x))(np.array([1.0, -2.0]))
    np.testing.assert_allclose(roots, [2**0.5, -(2**0.5)], 1e-9)


def test_rosenbrocks_function():
    traced = jit(lambda x: (optimize.rosen(x), optimize.rosen_der(x)))
    for n in (2, 5):
        x = np.arange(n) / 3
        value, slope = traced(x)
        np.testing.assert_allclose(value, scipy.optimize.rosen(x), 1e-12)
        np.testing.assert_allclose(slope, scipy.optimize.rosen_der(x), 1e-12)
        np.testing.assert_allclose(slope, grad(optimize.rosen)(x), 1e-12, 1e-12)


def test_a_function_that_cannot_be_traced_is_left_to_scipy():
    read = lambda x: float(np.array_str(x, precision=17).strip("[]"))
    with pytest.warns(ApproximateDerivativeWarning, match="SciPy approximates derivatives") as caught:
        np.testing.assert_allclose(optimize.root(lambda x: math.sin(read(x)) - 0.5, [1.0]).x, [math.asin(0.5)])
        assert optimize.minimize(lambda x: math.cosh(read(x)), [1.0]).success
    assert [w.filename for w in caught] == [__file__] * 2
    np.testing.assert_allclose(optimize.root_scalar(lambda x: math.sin(x) - 0.5, x0=0.3).root, math.asin(0.5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # functions of math are read
        np.testing.assert_allclose(optimize.root(lambda x: math.sin(x[0]) - 0.5, [1.0]).x, [math.asin(0.5)])


def test_python_may_decide_on_a_solution():
    @jit
    def doubled(a):
        x = optimize.root(cubic, np.ones(1), args=(a,)).x[0]
        return 2 * x if x > 0.5 else x

    np.testing.assert_allclose(doubled(2.0), 2)


# -- minima


@pytest.mark.parametrize("method", [None, "Nelder-Mead", "trust-exact", "Newton-CG", "trust-constr", "SLSQP"])
def test_minimize_outside_of_traces(method):
    expected = scipy.optimize.minimize(cost, np.zeros(2), args=(1.0,), tol=1e-9).x
    np.testing.assert_allclose(optimize.minimize(cost, np.zeros(2), 1.0, method, tol=1e-9).x, expected, 1e-4)


def test_minimize_of_trees_with_constraints_and_callbacks():
    tree = lambda t: np.sum((t["u"] - 1) ** 2) + (t["v"] - t["u"].sum()) ** 2
    start, seen = {"u": np.zeros(2), "v": 0.0}, []
    x = optimize.minimize(tree, start, callback=seen.append).x
    np.testing.assert_allclose([*x["u"], x["v"]], [1, 1, 2], 1e-6)
    assert set(seen[0]) == {"u", "v"}
    bound = {"type": "ineq", "fun": lambda t: 1.5 - t["v"]}
    np.testing.assert_allclose(optimize.minimize(tree, start, constraints=bound).x["v"], 1.5, 1e-6)
    with pytest.raises(ArgumentError, match="leave it out"):
        optimize.minimize(tree, start, jac=lambda t: t)


def test_minimize_has_the_derivative_of_its_conditions():
    minimum = lambda a, **options: optimize.minimize(cost, np.zeros(2), args=(a,), method="trust-exact", **options).x
    check_grads(minimum, (1.0,), order=2, rtol=1e-5)
    batch = vmap(grad(lambda a: minimum(a)[0]))(np.array([1.0, 2.0]))
    x = vmap(lambda a: minimum(a)[0])(np.array([1.0, 2.0]))
    bend = 12 * (x - np.array([1.0, 2.0])) ** 2
    np.testing.assert_allclose(batch, bend / (bend + 2), 1e-6)
    bounded = lambda a: optimize.minimize(cost, np.zeros(2), args=(a,), bounds=[(None, 0.3), (None, None)], tol=1e-10)
    slopes = [grad(lambda a, i=i: bounded(a).x[i])(1.0) for i in range(2)]
    np.testing.assert_allclose(slopes, [0, batch[0]], 1e-5)
    np.testing.assert_allclose(grad(lambda a: bounded(a).fun)(1.0), grad(lambda a: cost(bounded(1.0).x, a))(1.0), 1e-5)


def test_minimize_scalar():
    minimum = lambda a: optimize.minimize_scalar(lambda x: np.cosh(x - a) + x, bounds=(-3, 3), method="bounded").x
    np.testing.assert_allclose(minimum(0.5), 0.5 - np.arcsinh(1), 1e-4)
    np.testing.assert_allclose(grad(minimum)(0.5), 1, 1e-6)


# -- least squares


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "soft_l1", "f_scale": 0.1},
        {"bounds": ([0, 0], [1.9, 5])},
        *[pytest.param({"loss": n, "f_scale": 0.01}, marks=pytest.mark.slow) for n in ("huber", "cauchy", "arctan")],
        pytest.param({"method": "lm"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_least_squares_and_its_derivative_by_the_data(options):
    tight = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14, **options}
    fit = lambda module, y: module.least_squares(residuals, [1.0, 1.0], args=(X, y), **tight)
    np.testing.assert_allclose(fit(optimize, Y).x, fit(scipy.optimize, Y).x, 1e-6)
    step = 1e-4 * np.cos(X)
    difference = (fit(scipy.optimize, Y + step).x - fit(scipy.optimize, Y - step).x) / 2e-4
    np.testing.assert_allclose(jacrev(lambda y: fit(optimize, y).x)(Y) @ np.cos(X), difference, 1e-4, 1e-5)
    np.testing.assert_allclose(jit(lambda y: fit(optimize, y).cost)(Y), fit(scipy.optimize, Y).cost, 1e-9)


@pytest.mark.parametrize("options", [{}, {"sigma": 1 + X}, {"sigma": np.diag(1 + X), "absolute_sigma": True}])
def test_curve_fit(options):
    expected = scipy.optimize.curve_fit(curve, X, Y, **options)
    traced = jit(lambda y: optimize.curve_fit(curve, X, y, **options))
    for actual in (optimize.curve_fit(curve, X, Y, **options), traced(Y)):
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-5)


def test_curve_fit_at_any_number_of_points():
    traced = jit(lambda x, y: optimize.curve_fit(curve, x, y, p0=(1, 1))[0])
    for n in (5, 20):
        np.testing.assert_allclose(traced(X[:n], Y[:n]), scipy.optimize.curve_fit(curve, X[:n], Y[:n])[0], 1e-5)
    assert traced.cache_info().traces == 1


# -- programs


def test_linear_sum_assignment():
    costs = np.random.default_rng(0).random((3, 5))
    traced = jit(lambda c: optimize.linear_sum_assignment(c))
    for c in (costs, costs.T, costs[:0], costs[:1]):
        for a, b in zip(traced(c), scipy.optimize.linear_sum_assignment(c), strict=True):
            np.testing.assert_array_equal(a, b)
    chosen = grad(lambda c: c[optimize.linear_sum_assignment(c)].sum())(costs)
    rows, columns = scipy.optimize.linear_sum_assignment(costs)
    assert np.all(chosen[rows, columns] == 1) and chosen.sum() == 3


def test_linprog_has_no_derivative():
    solve = lambda c: optimize.linprog(c, A_ub=np.ones((1, 2)), b_ub=np.ones(1))
    result = jit(solve)(np.array([-1.0, -2.0]))
    np.testing.assert_allclose(result.x, [0, 1])
    assert result.success and result.fun == -2
    with pytest.raises(UnsupportedFunctionError, match=r"linprog.*has no derivative"):
        grad(lambda c: solve(c).fun)(np.ones(2))


def test_the_module_has_a_shorter_name():
    assert anyshape.optimize.root is optimize.root
    assert set(dir(anyshape.optimize)) >= set(optimize.__all__)
