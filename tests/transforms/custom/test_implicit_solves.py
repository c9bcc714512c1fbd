"""custom_root and custom_linear_solve: derivatives of the equation, whatever the solver does."""

import numpy as np
import pytest

import anyshape
from anyshape import (
    ShapeDtypeStruct,
    check_grads,
    custom_linear_solve,
    custom_root,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jit,
    jvp,
    pure_callback,
    vmap,
)
from anyshape.errors import ArgumentError, CustomRuleError, UnsupportedFunctionError

SIZES = (0, 1, 2, 5)


def bisect(f, x):
    """Find roots in [0, 4] with steps whose derivative is zero almost everywhere."""
    low, high = 0 * x, 0 * x + 4
    for _ in range(42):
        middle = (low + high) / 2
        low, high = np.where(f(middle) < 0, middle, low), np.where(f(middle) < 0, high, middle)
    return (low + high) / 2


def by_derivative(g, y):
    return y / g(np.ones_like(y))


def root(a):
    return custom_root(lambda x: x**3 - a, a, bisect, by_derivative)


@pytest.mark.parametrize("n", SIZES)
def test_the_derivative_of_a_root_is_that_of_its_equation(n):
    a = np.linspace(1, 5, n)
    np.testing.assert_allclose(jit(root)(a), np.cbrt(a), rtol=1e-9)
    np.testing.assert_allclose(root(a), np.cbrt(a), rtol=1e-9)
    np.testing.assert_allclose(grad(lambda a: np.sum(root(a)))(a), a ** (-2 / 3) / 3, rtol=1e-9)
    check_grads(root, (a,), order=2)


@pytest.mark.slow
def test_roots_of_a_batch():
    a = np.linspace(1, 5, 3)
    check_grads(vmap(root), (a,), order=2)
    check_grads(vmap(vmap(root)), (a[:, None] + np.arange(2.0),), order=1)
    check_grads(root, (a,), order=3, modes="fwd")


@pytest.mark.parametrize("second", [hessian, lambda f: jacrev(jacrev(f)), lambda f: jacrev(jacfwd(f)),
                                    lambda f: jacfwd(jacrev(f)), lambda f: jacfwd(jacfwd(f))])  # fmt: skip
def test_second_derivatives_of_a_root(second):
    np.testing.assert_allclose(second(root)(2.0), -2 / 9 * 2 ** (-5 / 3), rtol=1e-6)


def test_roots_of_systems_and_trees():
    """Solve the pair u + v = p, u - v = q**2 by one step of Newton's method with its Jacobian."""

    def equations(p, q):
        return lambda x: {"u": x["u"] + x["v"] - p, "v": x["u"] - x["v"] - q * q}

    def solve(f, x):
        r = f(x)
        return {"u": x["u"] - (r["u"] + r["v"]) / 2, "v": x["v"] - (r["u"] - r["v"]) / 2}

    def tangent_solve(g, y):
        return {"v": (y["u"] - y["v"]) / 2, "u": (y["u"] + y["v"]) / 2}

    def solution(p, q):
        return custom_root(equations(p, q), {"u": p, "v": p}, solve, tangent_solve)

    p, q = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 1.5])
    got = jit(solution)(p, q)
    np.testing.assert_allclose(got["u"], (p + q * q) / 2)
    check_grads(solution, (p, q), order=2)
    check_grads(vmap(solution, (None, 0)), (p, np.stack([q, 2 * q])), order=1)


def test_a_dense_tangent_solve_with_the_jacobian_of_the_equations():
    def solution(a):
        def f(x):
            return a @ x + x**3 - 1

        def newton(f, x):
            for _ in range(8):
                x = x - np.linalg.solve(jacobian(f)(x), f(x))
            return x

        return custom_root(f, np.ones(2), newton, lambda g, y: np.linalg.solve(jacobian(g)(y), y))

    check_grads(solution, (np.array([[3.0, 1.0], [0.5, 2.0]]),), order=1)


def test_a_root_that_a_callback_finds():
    def solution(a):
        def solve(f, x):
            return pure_callback(np.cbrt, ShapeDtypeStruct(a.shape, a.dtype), a)

        return custom_root(lambda x: x**3 - a, a, solve, by_derivative)

    check_grads(solution, (np.array([1.0, 2.0]),), order=2)
    check_grads(vmap(solution), (np.array([[1.0, 2.0], [3.0, 4.0]]),), order=1)


def test_aux_and_guesses_have_no_derivative():
    def solution(a, guess):
        x, steps = custom_root(
            lambda x: x - a, guess, lambda f, x: (x - f(x), {"residual": np.sum(f(x))}), by_derivative, has_aux=True
        )
        return x, steps["residual"]

    a, guess = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    x, residual = jit(solution)(a, guess)
    np.testing.assert_array_equal(x, a)
    assert residual == 5.0
    derivatives = grad(lambda a, g: np.sum(solution(a, g)[0]) + solution(a, g)[1], argnums=(0, 1))(a, guess)
    np.testing.assert_array_equal(derivatives, [[1.0, 1.0], [0.0, 0.0]])
    assert solution(a, guess)[1] == 5.0


# -- linear equations


def dense(a, b, **options):
    def solve(matvec, b):
        return np.linalg.solve(a, b)

    def transpose_solve(vecmat, b):
        return np.linalg.solve(a.T, b)

    return custom_linear_solve(lambda x: a @ x, b, solve, transpose_solve, **options)


def matrix(n):
    return np.random.default_rng(0).normal(size=(n, n)) + 3 * np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_linear_equations_at_every_size(n):
    a, b = matrix(n), np.linspace(1, 2, n)
    np.testing.assert_allclose(jit(dense)(a, b), np.linalg.solve(a, b))
    check_grads(dense, (a, b), order=2)


def test_batches_of_linear_equations():
    a, b = matrix(2), np.linspace(1, 2, 2)
    check_grads(vmap(dense), (np.stack([a, a.T]), np.stack([b, 2 * b])), order=2)
    check_grads(vmap(dense, (0, None)), (np.stack([a, a.T]), b), order=1)
    check_grads(vmap(dense, (None, 0)), (a, np.stack([b, 2 * b])), order=1)


def test_one_trace_serves_every_size():
    derivative = jit(grad(lambda a, b: np.sum(dense(a, b) ** 2)))
    for n in SIZES:
        a, b = matrix(n), np.linspace(1, 2, n)
        x = np.linalg.solve(a, b)
        np.testing.assert_allclose(derivative(a, b), -2 * np.outer(np.linalg.solve(a.T, x), x), atol=1e-12)
    assert derivative.cache_info().traces == 1


def test_symmetric_equations_need_one_solver():
    def conjugate_gradients(matvec, b):
        x, r = 0 * b, b
        p = r
        for _ in range(3):
            step = (r @ r) / (p @ matvec(p))
            x, new = x + step * p, r - step * matvec(p)
            p, r = new + (new @ new) / (r @ r) * p, new
        return x

    def solution(d, b):
        return custom_linear_solve(lambda x: d * x + np.sum(x), b, conjugate_gradients, symmetric=True)

    check_grads(solution, (np.array([2.0, 3.0, 4.0]), np.array([1.0, 0.5, 0.2])), order=2)


def test_a_solver_that_calls_back_and_trees():
    def solution(w, tree):
        def solve(matvec, b):
            def call(w, p, q):
                return p / w, q / w

            spec = ShapeDtypeStruct(b["p"].shape, b["p"].dtype)
            p, q = pure_callback(call, (spec, spec), w, b["p"], b["q"])
            return {"q": q, "p": p}

        return custom_linear_solve(lambda x: {"p": x["p"] * w, "q": x["q"] * w}, tree, solve, symmetric=True)

    w, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    check_grads(solution, (w, {"p": b, "q": 2 * b}), order=2)
    check_grads(vmap(solution), (w[:, None], {"p": b[:, None], "q": b[:, None]}), order=1)


def test_aux_of_a_linear_solver():
    def solution(a, b):
        return custom_linear_solve(lambda x: a * x, b, lambda mv, b: (b / a, np.sum(b)), symmetric=True, has_aux=True)

    x, total = jit(solution)(2.0, 4.0)
    assert (x, total) == (2.0, 4.0)
    assert grad(lambda a: sum(solution(a, 4.0)))(2.0) == -1.0


def test_without_a_transpose_solver_forward_mode_works_and_reverse_mode_says_what_is_missing():
    def solution(a, b):
        return custom_linear_solve(lambda x: a * x, b, lambda mv, b: b / a)

    assert jvp(solution, (2.0, 4.0), (1.0, 0.0))[1] == -1.0
    with pytest.raises(UnsupportedFunctionError, match=r"has no transpose_solve.*\n.*symmetric=True"):
        grad(solution)(2.0, 4.0)


def test_a_function_that_is_not_linear_is_refused_in_reverse_mode():
    with pytest.raises(ArgumentError, match="is not linear"):
        grad(lambda b: custom_linear_solve(lambda x: x * x, b, lambda mv, b: b, lambda mv, b: b))(2.0)


# -- errors, in words of the caller


WRONG = {
    "tree of f": (lambda a: custom_root(lambda x: (x, x), a, bisect, by_derivative), "f gives the structure"),
    "shape of f": (lambda a: custom_root(lambda x: np.sum(x), a, bisect, by_derivative), r"f gives a result of .*\[\]"),
    "dtype of f": (lambda a: custom_root(lambda x: x > 0, a, bisect, by_derivative), "f gives a result of type bool"),
    "solution": (lambda a: custom_root(lambda x: x - a, a, lambda f, x: (x,), by_derivative), "solve gives a solution"),
    "shape of the solution": (
        lambda a: custom_root(lambda x: x - a, a, lambda f, x: x[1:], by_derivative), "solve gives"),
    "tangent": (lambda a: custom_root(lambda x: x - a, a, lambda f, x: a, lambda g, y: y[1:]), "tangent_solve gives"),
    "no aux": (lambda a: custom_root(lambda x: x - a, a, lambda f, x: x, by_derivative, True), "not a pair"),
    "matvec": (lambda a: custom_linear_solve(lambda x: x[1:], a, lambda mv, b: b, symmetric=True), "matvec gives"),
    "x": (lambda a: custom_linear_solve(lambda x: x, a, lambda mv, b: b[1:], symmetric=True), "solve gives"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_named_with_its_line(case):
    call, problem = WRONG[case]
    with pytest.raises(CustomRuleError, match=problem) as caught:
        grad(lambda a: np.sum(call(a)))(np.ones(3))
    assert "test_implicit_solves.py" in str(caught.value)


def test_non_functions_and_non_arrays_are_refused():
    for wrong in (
        lambda: custom_root(1, 1.0, bisect, by_derivative),
        lambda: custom_linear_solve(lambda x: x, 1.0, None),
        lambda: jit(lambda: custom_root(lambda x: x, "text", bisect, by_derivative))(),
        lambda: jit(lambda: custom_linear_solve(lambda x: x, "text", bisect))(),
    ):
        with pytest.raises(ArgumentError):
            wrong()


@pytest.mark.slow
def test_programs_print_save_and_load(tmp_path):
    anyshape.export(grad(lambda a, b: np.sum(dense(a, b))))(np.eye(3), np.ones(3)).save(tmp_path / "g.zip")
    a, b = matrix(4), np.ones(4)
    expected = grad(lambda a, b: np.sum(dense(a, b)))(a, b)
    np.testing.assert_allclose(anyshape.load(tmp_path / "g.zip")(a, b), expected)
