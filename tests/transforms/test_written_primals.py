"""Derivatives of functions that write to their arguments, with respect to values at entry, which the caller keeps."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import (
    check_grads,
    checkpoint,
    cond,
    export,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from anyshape.errors import MutationError
from anyshape.tracing.named_dims import ShapeDtypeStruct


def element(x):
    x[:1] = x[:1] ** 2 * 3
    return np.sum(np.sin(x) * x)


def whole(x):
    x *= x
    x += 2 * x
    return np.sum(np.cos(x))


def masked(x):
    y = x * 2
    x[x > 0.2] = 0.5
    return np.sum(x**3) + np.sum(y * x)


def by_view(x):
    head = x[1:]
    head -= x[:-1]
    return np.sum(x**2 * anp.arange(x.size))


def by_function(x):
    np.multiply(x, x, out=x)
    np.putmask(x, x > 1, np.exp(-x))
    return np.sum(x * x[::-1])


def in_a_loop(x):
    fori_loop(0, x.shape[0], lambda i, c: x.__setitem__(i, x[i] * x[i] + c) or c + 1.0, 0.0)
    return np.sum(x**2)


def in_a_branch(x):
    cond(np.sum(x) > 0, lambda x: x.__imul__(x), lambda x: x.__imul__(3.0), x)
    return np.sum(x**3)


def again(x):
    def inner(y):
        y *= y
        return np.sum(y**2)

    return checkpoint(inner)(x) * np.sum(x)


FUNCTIONS = [element, whole, masked, by_view, by_function, in_a_loop, in_a_branch, again]


def of_copy(function):
    """Return the function of a copy, which writes to no argument."""
    return lambda x: function(x.copy())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_are_those_of_the_function_of_a_copy(function):
    of = of_copy(function)
    pairs = {
        "grad": (grad(function), grad(of)),
        "value": (lambda x: value_and_grad(function)(x)[0], of),
        "jit": (jit(grad(jit(function))), grad(of)),
        "hessian": (hessian(function), hessian(of)),
        "rev": (jacrev(jacrev(function)), hessian(of)),
        "fwd": (jacfwd(function), grad(of)),
        "hvp": (lambda x: hvp(function, (x,), (x + 1,)), lambda x: hvp(of, (x,), (x + 1,))),
        "jvp": (lambda x: jvp(function, (x,), (x - 2,))[1], lambda x: jvp(of, (x,), (x - 2,))[1]),
        "vjp": (lambda x: vjp(function, x)[1](0.7)[0], lambda x: vjp(of, x)[1](0.7)[0]),
        "linearize": (lambda x: linearize(function, x)[1](x), lambda x: linearize(of, x)[1](x)),
        "rows": (lambda x: vmap(grad(function))(np.stack([x, x / 2])), lambda x: vmap(grad(of))(np.stack([x, x / 2]))),
    }
    for name, (ours, expected) in pairs.items():
        for size in (0, 1, 2, 5):
            x = np.random.default_rng(size).normal(size=size) / 2
            before = x.copy()
            np.testing.assert_allclose(ours(x), expected(x), rtol=1e-9, atol=1e-9, err_msg=f"{name}, {size}")
            assert x.tolist() == before.tolist(), f"{name} writes to the array of the caller"
    assert pairs["grad"][0].cache_info().traces == 1


def test_other_arguments_are_written_to():
    def function(x, out):
        out[...] = x**2
        x[...] = 0.0
        return np.sum(out * x) + np.sum(out)

    x, out = np.arange(3.0), np.zeros(3)
    assert grad(function)(x, out).tolist() == [0, 2, 4]
    assert x.tolist() == [0, 1, 2] and out.tolist() == [0, 1, 4]
    pair = grad(function, argnums=(0, 1))(x, np.ones(3))
    assert [g.tolist() for g in pair] == [[0, 2, 4], [0, 0, 0]]


def test_inside_of_a_trace_the_array_of_the_function_around_stays():
    def function(x):
        slope = grad(element)(x)
        return np.sum(x * slope) + x[0]

    x = np.array([0.3, 0.4])
    expected = np.sum(x * grad(of_copy(element))(x)) + x[0]
    assert float(jit(function)(x)) == pytest.approx(float(expected))
    np.testing.assert_allclose(grad(function)(x), grad(lambda x: np.sum(x * grad(of_copy(element))(x)) + x[0])(x))


def test_a_result_that_is_the_argument_has_its_values_at_the_end():
    value, pull = vjp(lambda x: x.__imul__(x), x := np.array([2.0, 3.0]))
    assert value.tolist() == [4, 9] and pull(np.ones(2))[0].tolist() == [4, 6] and x.tolist() == [2, 3]


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every other": lambda x: np.repeat(x, 2, 1)[:, ::2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["ravel", "ascontiguousarray", "T"])
def test_writes_reach_what_numpy_shares(name, layout):
    views = {"ravel": lambda x: x.ravel(), "ascontiguousarray": anp.ascontiguousarray, "T": lambda x: x.T}

    def function(x):
        view = views[name](x)
        view[1:] = view[:1] ** 2
        return np.sum(x**2 * np.arange(1.0, 7.0).reshape(2, 3)) + np.sum(view**3)

    make = LAYOUTS[layout]
    x = make(np.random.default_rng(0).normal(size=(2, 3)))
    expected = np.zeros((2, 3))
    for index in np.ndindex(2, 3):
        more, less = x.copy(), x.copy()
        more[index] += 1e-6
        less[index] -= 1e-6
        expected[index] = (function(make(more)) - function(make(less))) / 2e-6
    np.testing.assert_allclose(grad(function)(x), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jit(grad(function))(x), expected, rtol=1e-5, atol=1e-6)


def test_parts_of_containers_are_written_to_and_not_replaced():
    def function(params):
        params["w"] *= params["w"]
        return np.sum(params["w"] * params["b"])

    params = {"w": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    slope = grad(function)(params)
    assert slope["w"].tolist() == [6, 16] and slope["b"].tolist() == [1, 4] and params["w"].tolist() == [1, 2]
    with pytest.raises(MutationError, match=r"params\['w'\]"):
        grad(lambda params: np.sum(params.update(w=params["w"] * 2) or params["w"]))(params)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_are_checked_against_differences(function):
    x = np.array([0.31, -0.12, 0.43, 0.7])
    check_grads(function, (x,), order=2)
    assert x.tolist() == [0.31, -0.12, 0.43, 0.7]


def test_exported_derivatives_keep_their_argument():
    program = export(grad(element))(ShapeDtypeStruct("n"))
    x = np.array([0.3, 0.4, 0.5])
    np.testing.assert_allclose(program(x), grad(of_copy(element))(x))
    assert x.tolist() == [0.3, 0.4, 0.5] and not program.written
