"""Tests of check_grads: it accepts correct derivatives and names wrong ones."""

import numpy as np
import optree
import pytest

import anyshape
from anyshape import ShapeDtypeStruct, check_grads, check_sizes, stop_gradient
from anyshape.errors import ArgumentError, GradientCheckError, ShapeError
from anyshape.transforms.check_grads import Checker


def tree_function(params, scale):
    hidden = np.tanh(params["w"] * scale)
    return {"rows": hidden.sum(axis=0), "pair": (np.sum(params["w"] ** 2), hidden)}


RIGHT = {
    "scalar": (lambda x: np.sin(x) * x, (0.3,)),
    "vector": (lambda x: np.sin(x) * x, (np.linspace(-1, 2, 4),)),
    "empty": (lambda x: np.sum(x * x), (np.ones((0, 3)),)),
    "one element": (lambda x: x / (1 + x * x), (np.ones((1, 1)),)),
    "trees": (tree_function, ({"w": np.arange(6.0).reshape(3, 2) / 5}, 0.7)),
    "integers stay": (lambda x, i: x * i + i.sum(), (np.ones(3), np.arange(3))),
    "integer result": (lambda x: (x * 2, np.sign(x).astype(int)), (np.ones(3),)),
    "float32": (lambda x, w: np.tanh(x @ w), (np.ones((2, 3), np.float32), np.eye(3, dtype=np.float32))),
    "mixed dtypes": (lambda x, y: x * y, (np.ones(3, np.float32), np.linspace(0, 1, 3))),
    "float16": (lambda x: x * x + x, (np.ones(3, np.float16),)),
    "complex": (lambda z: z * z + np.exp(z), (np.array([0.3 + 1j, -0.2 + 0.1j]),)),
    "not analytic": (lambda z: np.abs(z) ** 2 + np.real(z), (np.array([0.3 + 1j, -0.2 + 0.1j]),)),
    "large values": (lambda x: 1e8 + np.sin(x), (np.ones(3),)),
    "jitted": (anyshape.jit(lambda x: np.exp(-x * x)), (np.ones(3),)),
    "a gradient": (anyshape.grad(lambda x: np.sum(x**3)), (np.linspace(0.5, 1, 3),)),
    "nan in places": (lambda x: np.sqrt(x) * 2, (np.array([-1.0, 1.0]),)),
}


@pytest.mark.parametrize("modes", [("fwd", "rev"), ("fwd",), ("rev",), "rev"], ids=str)
@pytest.mark.parametrize("name", RIGHT)
def test_correct_derivatives_pass(name, modes):
    f, args = RIGHT[name]
    assert check_grads(f, args, order=2, modes=modes) is None


def test_order_three():
    check_grads(lambda x: np.exp(np.sin(x)), (np.linspace(-1, 1, 3),), order=3)


def half_stopped(x):
    """Its derivative is half of what it should be."""
    return x * stop_gradient(x)


def stopped_in_second_order(x):
    """The first derivative is right, the derivative of that is not."""
    return stop_gradient(np.cos(x)) * (x - stop_gradient(x)) + stop_gradient(np.sin(x))


def test_a_wrong_jvp_is_detected():
    with pytest.raises(GradientCheckError, match="jvp of half_stopped") as caught:
        check_grads(half_stopped, (np.ones(3),))
    error = caught.value
    assert (error.mode, error.order, error.path) == ("fwd", 1, "the result")
    assert abs(error.expected) == pytest.approx(2 * abs(error.observed), rel=1e-6)
    assert error.error > error.tolerance


def test_a_wrong_vjp_is_detected():
    with pytest.raises(GradientCheckError, match="vjp of half_stopped") as caught:
        check_grads(half_stopped, (np.ones(3),), modes=("rev",))
    assert (caught.value.mode, caught.value.order) == ("rev", 1)


def test_a_wrong_second_derivative_is_detected():
    check_grads(stopped_in_second_order, (np.ones(3),), order=1)
    with pytest.raises(GradientCheckError) as caught:
        check_grads(stopped_in_second_order, (np.ones(3),), order=2)
    assert caught.value.order == 2
    assert caught.value.check == "jvp of jvp of stopped_in_second_order"


def test_the_error_names_the_leaf_of_the_result():
    with pytest.raises(GradientCheckError) as caught:
        check_grads(lambda x: {"good": x * x, "bad": [half_stopped(x)]}, (np.ones(3),))
    assert caught.value.path == "the result['bad'][0]"


def test_the_error_names_the_argument():
    with pytest.raises(GradientCheckError) as caught:
        check_grads(lambda p: p["good"] * half_stopped(p["bad"]), ({"good": 2.0, "bad": 3.0},), modes=("rev",))
    assert caught.value.path == "<cotangent, tangent> of args[0]['bad']"


def test_a_kink_is_detected():
    with pytest.raises(GradientCheckError):
        check_grads(np.abs, (np.array([1.0, 1e-6]),), order=1)


def test_tolerances_and_step_are_options():
    f, args = lambda x: x**3, (np.ones(2),)
    with pytest.raises(GradientCheckError):
        check_grads(f, args, order=1, eps=0.1)
    check_grads(f, args, order=1, eps=0.1, atol=0.1, rtol=0.1)
    with pytest.raises(GradientCheckError):
        check_grads(f, args, order=1, atol=0.0, rtol=0.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: check_grads(3, (1.0,)), "f is of type int"),
        (lambda: check_grads(np.sin, 1.0), "args is of type float"),
        (lambda: check_grads(np.sin, (np.arange(3),)), "no inexact leaf .dtypes: int64."),
        (lambda: check_grads(np.sin, (object(),)), r"args\[0\] is of type object"),
        (lambda: check_grads(np.sin, ("text",)), "no inexact leaf"),
        (lambda: check_grads(np.sin, (1.0,), order=0), "order is 0"),
        (lambda: check_grads(np.sin, (1.0,), modes=("forward",)), "modes is .'forward'"),
        (lambda: check_grads(lambda x: x > 0, (1.0,)), "no inexact leaf"),
        (lambda: check_grads(lambda x: None, (1.0,)), "no inexact leaf"),
        (lambda: check_grads(np.sqrt, (-np.ones(2),)), "NaN everywhere"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


def test_errors_of_the_function_pass_through():
    with pytest.raises(ValueError):
        check_grads(lambda x, y: x @ y, (np.ones(3), np.ones(2)))
    with pytest.raises(ShapeError):
        check_grads(anyshape.jit(lambda x, y: x @ y), (np.ones(3), np.ones(2)))


def test_one_checker_traces_once_for_all_sizes():
    checker = Checker(lambda x, w: np.tanh(x @ w), order=2)
    for n, d in [(2, 3), (0, 3), (1, 1), (5, 0)]:
        measurements = list(checker.measure((np.ones((n, d)), np.ones((d, 2)))))
        assert all(m.ok for m in measurements)
        assert {m.order for m in measurements} == {1, 2}
    assert [p.cache_info().traces for p in checker.programs()] == [1] * 5


def test_the_same_call_gives_the_same_answer():
    messages = set()
    for _ in range(2):
        with pytest.raises(GradientCheckError) as caught:
            check_grads(half_stopped, (np.ones(3),))
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_stop_gradient_keeps_trees_and_concrete_leaves():
    tree = {"a": np.ones(2), "b": [1, 2.0]}
    stopped = stop_gradient(tree)
    assert stopped["a"] is tree["a"] and stopped["b"] == [1, 2.0]

    def f(p, n):
        fixed, count = stop_gradient((p, n))
        return np.sum(fixed["w"] * p["w"]) * count

    derivative = anyshape.grad(f)({"w": np.array([1.0, 3.0])}, 2)
    np.testing.assert_array_equal(derivative["w"], [2.0, 6.0])
    second = anyshape.hessian(lambda x: np.sum(stop_gradient(x * x) * x))(np.ones(2))
    np.testing.assert_array_equal(second, np.zeros((2, 2)))


INSIDE = {
    "grad": lambda x: anyshape.grad(lambda y: np.sum(y * y * x))(ONES),
    "value_and_grad": lambda x: anyshape.value_and_grad(lambda p: np.sum(p["a"] * x))({"a": ONES}),
    "jvp": lambda x: anyshape.jvp(lambda y: y * x, (ONES,), (ONES,)),
    "tangent": lambda x: anyshape.jvp(lambda y: y * y, (x,), (ONES,)),
    "vjp": lambda x: anyshape.vjp(lambda y: y * x, ONES)[1](ONES),
    "vjp with aux": lambda x: anyshape.vjp(lambda y: (y * x, ONES), ONES, has_aux=True)[1](ONES),
    "linearize": lambda x: anyshape.linearize(lambda y: y * x, ONES)[1](ONES),
    "vmap": lambda x: anyshape.vmap(lambda row: row * x)(np.ones((2, 3))),
    "jacfwd": lambda x: anyshape.jacfwd(lambda y: y * x)(ONES),
    "jacrev": lambda x: anyshape.jacrev(lambda y: y * x)(ONES),
    "hvp": lambda x: anyshape.hvp(lambda y: np.sum(y * y * x), (ONES,), (ONES,)),
}
ONES = np.ones(3)


@pytest.mark.parametrize("name", INSIDE)
def test_transforms_of_concrete_arrays_inside_a_trace(name):
    """An array that is known while tracing is a constant of the program, and as good an argument as any."""
    x = np.array([1.0, 2.0, 3.0])
    inside, outside = anyshape.jit(INSIDE[name])(x), INSIDE[name](x)
    for a, b in zip(optree.tree_leaves(inside), optree.tree_leaves(outside), strict=True):
        np.testing.assert_allclose(a, b)


def test_functions_that_write_by_at_see_traced_arrays():
    check_grads(lambda x: (x.at[0].set(2.0) ** 2).sum(), (np.ones(3),), order=2)
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        check_grads(lambda x: x.other, (np.ones(3),))


def test_check_sizes_runs_one_trace_at_all_sizes():
    assert check_sizes(lambda x, w: np.tanh(x @ w).sum(axis=1), ["n, d", "d, 2"]) == 1
    assert check_sizes(lambda x, k: x[k], ["n + 4", ShapeDtypeStruct("m", int)]) == 1
    assert check_sizes(np.max, ["n, m"]) == 1  # NumPy refuses no rows, and so does the program
    assert check_sizes(lambda x: x if x.shape[0] > 1 else 2 * x, ["n"]) == 2


def test_check_sizes_names_the_sizes_where_something_differs():
    wrong = anyshape.custom_jvp(np.square)
    wrong.defjvps(lambda t, y, x: t * x)
    with pytest.raises(GradientCheckError) as caught:
        check_sizes(wrong, ["n"])
    assert "at the sizes n=1" in caught.value.__notes__
    with pytest.raises(ArgumentError, match="refused by NumPy: cannot reshape"):
        check_sizes(lambda x: x.reshape(3, 3), ["n"])
    with pytest.raises(TypeError):
        check_sizes(lambda x, y: x, ["n"])
