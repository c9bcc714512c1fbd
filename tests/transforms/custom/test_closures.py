"""Rules find the traced values that they close over, however functions hold them, and get their stand-ins."""

import functools
import types

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import cond, custom_jvp, custom_vjp, grad, jit, linearize, scan, vjp, vmap, while_loop
from anyshape.transforms.custom.custom_calls import closed_over, rebound


def in_closure(w):
    return lambda t: w * t


def in_default(w):
    return lambda t, w=w: w * t


def in_keyword_default(w):
    def part(t, *, w=w):
        return w * t

    return part


def in_partial(w):
    return functools.partial(lambda w, t: w * t, w)


def in_partial_keyword(w):
    return functools.partial(lambda t, w: w * t, w=w)


def in_list(w):
    held = [0, [w]]
    return lambda t: held[1][0] * t


def in_tuple(w):
    held = (0, (w,))
    return lambda t: held[1][0] * t


def in_dict(w):
    held = {"a": {"w": w}}
    return lambda t: held["a"]["w"] * t


def in_method(w):
    return types.MethodType(lambda w, t: w * t, w)


def in_function(w):
    def inner(t):
        return w * t

    return lambda t: inner(t)


def in_recursive_function(w):
    def part(t, again=True):
        return part(t, again=False) if again else w * t

    return part


def in_jitted_function(w):
    inner = jit(lambda t: w * t)
    return lambda t: inner(t)


def in_function_with_a_rule(w):
    inner = custom_jvp(lambda t: w * t)
    inner.defjvps(lambda t, out, x: w * t)
    return lambda t: inner(t)


def in_size(w):
    n = w.shape[0]
    return lambda t: w * t * n / w.shape[0]


HOLDERS = [
    in_closure, in_default, in_keyword_default, in_partial, in_partial_keyword, in_list, in_tuple, in_dict, in_method,
    in_function, in_recursive_function, in_jitted_function, in_function_with_a_rule, in_size,
]  # fmt: skip


@pytest.mark.parametrize("make", [custom_jvp, custom_vjp])
@pytest.mark.parametrize("holder", HOLDERS, ids=lambda f: f.__name__)
def test_a_rule_has_the_values_that_it_closes_over_in_another_level_and_program(holder, make):
    def apply(w, x):
        part = holder(w)
        f = make(lambda x: x * 1.0)
        if make is custom_jvp:
            f.defjvps(lambda t, out, x: part(t))
        else:
            f.defvjp(lambda x: (x * 1.0, None), lambda res, ct: (part(ct),))
        return f(x)

    w, x = np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 2))
    np.testing.assert_array_equal(grad(lambda x: np.sum(vmap(apply)(w, x)))(x), w)
    np.testing.assert_array_equal(grad(lambda x: np.sum(vmap(apply, (None, 0))(w[0], x)))(x), [w[0], w[0]])
    _, pullback = vjp(lambda w, x: apply(w, x), w[1], x[1])
    np.testing.assert_array_equal(pullback(np.ones(2)), [[0, 0], w[1]])


def test_functions_that_hold_no_traced_value_stay_what_they_are():
    def f(x):
        return x

    assert closed_over([f, np.sin, 3, "text", [f]]) == []
    assert rebound([f], [], []) == [f]


def test_a_variable_without_a_value_yet_stays_empty():
    def outer(x):
        def part(t):
            return later(t) if x is None else t * x

        f = custom_jvp(lambda x: x * 1.0)
        f.defjvps(lambda t, out, x: part(t))
        result = vmap(f)(x)

        def later(t):
            return t

        return result

    assert outer(np.ones(2)).shape == (2,)


# -- residuals that are functions ----------------------------------------------------------------------------------


def cube(x):
    return x**3


RESIDUALS = {  # forward and backward of a function with the derivative of `cube`
    "pullback": (lambda x: vjp(cube, x), lambda back, ct: back(ct)),
    "pullback beside a value": (lambda x: (cube(x), (x, vjp(cube, x)[1])), lambda r, ct: (r[1](ct) [0] + 0 * r[0],)),
    "pullback with aux": (
        lambda x: vjp(lambda v: (cube(v), v), x, has_aux=True)[:2],
        lambda back, ct: back(ct),
    ),
    "linear map": (lambda x: linearize(cube, x), lambda push, ct: (push(ct),)),
    "closure": (lambda x: (cube(x), lambda ct: 3 * x**2 * ct), lambda back, ct: (back(ct),)),
    "partial": (lambda x: (cube(x), functools.partial(np.multiply, 3 * x**2)), lambda back, ct: (back(ct),)),
    "jitted": (lambda x: (cube(x), {"back": jit(lambda ct: 3 * x**2 * ct)}), lambda r, ct: (r["back"](ct),)),
}  # fmt: skip
PLACES = {  # each with its slope at x, where f has that of the cube
    "call": (lambda f: grad(f), lambda x: 3 * x**2),
    "jit": (lambda f: jit(grad(f)), lambda x: 3 * x**2),
    "vmap": (lambda f: lambda x: vmap(grad(f))(anp.stack([x, 2 * x]))[0], lambda x: 3 * x**2),
    "twice": (lambda f: grad(grad(f)), lambda x: 6 * x),
    "scan": (lambda f: grad(lambda x: scan(lambda c, _: (f(c), None), x, None, 2)[0]), lambda x: 9 * x**8),
    "while": (
        lambda f: grad(lambda x: while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, f(c[1])), (0, x))[1]),
        lambda x: 9 * x**8,
    ),
    "cond": (lambda f: grad(lambda x: cond(x > 0, f, np.sin, x)), lambda x: 3 * x**2),
    "grad inside": (
        lambda f: grad(lambda x: scan(lambda c, _: (grad(f)(c), None), x, None, 2)[0]),
        lambda x: 108 * x**3,
    ),
}


@pytest.mark.parametrize("name", RESIDUALS)
def test_a_residual_may_be_a_function_of_traced_values(name):
    f = custom_vjp(cube)
    f.defvjp(*RESIDUALS[name])
    for position, (transform, expected) in PLACES.items():
        np.testing.assert_allclose(transform(f)(1.25), expected(1.25), rtol=1e-12, err_msg=position)


@pytest.mark.parametrize(
    "function", [np.sin, anp.sin, np.mean, anp.mean, np.sum], ids=lambda f: f"{f.__module__}.{f.__name__}"
)
def test_a_function_of_numpy_has_a_rule_for_what_is_passed(function):
    made = custom_jvp(function)
    made.defjvp(lambda primals, tangents: (function(*primals), 5.0 * tangents[0]))
    np.testing.assert_allclose(grad(made)(2.0), 5.0)
