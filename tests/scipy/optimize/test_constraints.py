"""Minima under bounds and constraints inside of traces: values of SciPy, and derivatives of closed forms."""

import numpy as np
import pytest
import scipy.optimize

from anyshape import check_grads, grad, jacrev, jit, vmap
from anyshape.errors import ArgumentError
from anyshape.scipy import optimize

POINT = np.array([0.9, 0.2, -0.4])


def distance(x, p):
    return np.sum((x - p) ** 2)


def on_simplex(p, **options):
    whole = {"type": "eq", "fun": lambda x: np.sum(x) - 1}
    bounds = optimize.Bounds(np.zeros_like(p), np.inf)
    return optimize.minimize(distance, p / 3, args=(p,), bounds=bounds, constraints=whole, tol=1e-14, **options).x


def in_ball(p, r, make, **options):
    start = np.zeros_like(p)
    return optimize.minimize(distance, start, args=(p,), constraints=make(r), tol=1e-13, **options).x


BALLS = {
    "dict": lambda r: {"type": "ineq", "fun": lambda x, r: r**2 - np.sum(x**2), "args": (r,)},
    "nonlinear": lambda r: optimize.NonlinearConstraint(lambda x: np.sum(x**2), -np.inf, r**2),
    "scaled": lambda r: [optimize.NonlinearConstraint(lambda x: 1e5 * np.sum(x**2), -np.inf, 1e5 * r**2)],
}


def test_a_simplex_at_any_size_from_one_trace():
    traced = jit(on_simplex)
    for n in (1, 2, 3, 5):
        p = np.append(POINT, [0.3, 0.25])[:n]
        x = traced(p)
        np.testing.assert_allclose(x, on_simplex(p), 1e-7, 1e-7)
        free = x > 1e-6
        expected = np.outer(free, free) * (np.eye(n) - 1 / free.sum())
        np.testing.assert_allclose(jacrev(on_simplex)(p), expected, 1e-7, 1e-7)
    assert traced.cache_info().traces == 1


@pytest.mark.parametrize("make", BALLS.values(), ids=BALLS)
def test_a_ball(make):
    project = lambda p, r: in_ball(p, r, make)
    for p in (POINT, POINT / 3):  # outside and inside
        size = np.linalg.norm(p)
        np.testing.assert_allclose(jit(project)(p, 0.5), p * min(1, 0.5 / size), 1e-6)
        by_p, by_r = jacrev(project, argnums=(0, 1))(p, 0.5)
        held = size > 0.5
        expected = 0.5 / size * (np.eye(3) - np.outer(p, p) / size**2) if held else np.eye(3)
        np.testing.assert_allclose(by_p, expected, 1e-5, 1e-6)
        np.testing.assert_allclose(by_r, p / size if held else np.zeros(3), 1e-5, 1e-6)


@pytest.mark.slow
def test_second_derivatives_and_batches():
    project = lambda p: in_ball(p, 0.5, BALLS["dict"])
    check_grads(project, (POINT,), order=2, rtol=1e-4)
    stacked = vmap(project)(np.stack([POINT, POINT / 3]))
    np.testing.assert_allclose(stacked, [project(POINT), POINT / 3], 1e-6, 1e-7)


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA", "COBYQA"])
def test_linear_constraints_by_all_methods(method):
    def solution(a, high):
        lines = optimize.LinearConstraint(np.stack([np.ones_like(a), a]), [-np.inf, -1.0], high)
        options = {"maxiter": 3000}
        return optimize.minimize(
            distance, np.zeros(2), args=(2.0,), method=method, constraints=lines, options=options
        ).x

    a, high, step = np.array([1.0, -2.0]), np.array([1.0, 5.0]), 1e-3
    theirs = lambda a, high: scipy.optimize.minimize(
        distance, np.zeros(2), (2.0,), "SLSQP", tol=1e-13,
        constraints=scipy.optimize.LinearConstraint(np.stack([np.ones(2), a]), [-np.inf, -1.0], high),
    ).x  # fmt: skip
    np.testing.assert_allclose(jit(solution)(a, high), theirs(a, high), 1e-2, 1e-3)
    by_a, by_high = jacrev(solution, argnums=(0, 1))(a, high)
    moved = np.array([1.0, -0.5])
    difference = (theirs(a + step * moved, high) - theirs(a - step * moved, high)) / (2 * step)
    np.testing.assert_allclose(by_a @ moved, difference, 2e-2, 1e-3)
    np.testing.assert_allclose(by_high @ moved, theirs(a, high + moved) - theirs(a, high), 2e-2, 1e-3)


def test_bounds_may_be_traced_pairs():
    cost = lambda x, a: np.sum((x - a) ** 4 + x**2)
    solution = lambda a, high: (
        optimize.minimize(cost, np.zeros(2), (a,), bounds=[(None, high), (0.1, None)], tol=1e-12).x
    )
    free = optimize.minimize(cost, np.zeros(1), (1.0,), tol=1e-12).x[0]
    bend = 12 * (free - 1) ** 2
    by_a, by_high = jacrev(solution, argnums=(0, 1))(1.0, 0.2)
    np.testing.assert_allclose(by_a, [0, bend / (bend + 2)], 1e-6)
    np.testing.assert_allclose(by_high, [1, 0], 1e-9)
    rows = jacrev(lambda b: optimize.minimize(cost, np.zeros(2), (1.0,), bounds=b).x)(np.array([[-1, 0.2], [0.5, 1]]))
    np.testing.assert_allclose(rows, [[[0, 1], [0, 0]], [[0, 0], [1, 0]]], 1e-9, 1e-9)
    scalar = lambda high: optimize.minimize_scalar(lambda x: (x - 2) ** 2, bounds=(0, high), method="bounded").x
    np.testing.assert_allclose(grad(scalar)(1.0), 1)


def test_least_squares_has_derivatives_by_its_bounds():
    fit = lambda high: optimize.least_squares(lambda x: x - np.array([2.0, 0.3]), [0.1, 0.1], bounds=(0, high)).x
    np.testing.assert_allclose(jacrev(fit)(np.array([1.0, 1.0])), [[1, 0], [0, 0]], 1e-9, 1e-9)


def test_trees_and_user_derivatives():
    tree = lambda t, a: np.sum((t["u"] - a) ** 2) + t["v"] ** 2
    equal = {"type": "eq", "fun": lambda t: t["u"].sum() - t["v"], "jac": lambda t: None}
    start = {"u": np.ones(2), "v": np.float64(0)}
    solution = lambda a: optimize.minimize(tree, start, (a,), jac=lambda t, a: None, constraints=(equal,)).x["v"]
    np.testing.assert_allclose(grad(solution)(1.0), 2 / 3, 1e-7)
    pair = lambda x, a: (np.sum((x - a) ** 2), 2 * (x - a))
    np.testing.assert_allclose(grad(lambda a: optimize.minimize(pair, np.zeros(1), (a,), jac=True).x[0])(1.0), 1)


def test_degenerate_constraints():
    twice = lambda b: optimize.minimize(
        distance, np.zeros(2), (1.0,), tol=1e-12,
        constraints=[{"type": "eq", "fun": lambda x, c=c: c * (x.sum() - b)} for c in (1.0, 2.0)],
    ).x  # fmt: skip
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda b: twice(b)[0])(1.0)
    touched = lambda p: in_ball(p, 1.0, BALLS["dict"])  # met by chance: no effect on the derivative
    np.testing.assert_allclose(jacrev(touched)(np.array([0.6, 0.8])), np.eye(2), 1e-6, 1e-6)
    with pytest.raises(ArgumentError, match="write 'eq' or 'ineq'"):
        jit(lambda p: in_ball(p, 1.0, lambda r: {"type": "le", "fun": np.sum}))(POINT)
