"""custom_jvp and custom_vjp: rules in every transform, at every size, and errors in words of the rule."""

import copy
import functools
import pickle
import re
from typing import NamedTuple

import numpy as np
import pytest

import anyshape
from anyshape import (
    ShapeDtypeStruct,
    check_grads,
    checkpoint,
    cond,
    custom_jvp,
    custom_root,
    custom_vjp,
    fori_loop,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    pure_callback,
    scan,
    stop_gradient,
    vjp,
    vmap,
)
from anyshape.errors import AnyshapeError, ArgumentError, CustomRuleError, LeakedTracerError, UnsupportedFunctionError

SIZES = (0, 1, 2, 5)


def doubled():
    """A sine whose rule gives twice the derivative, so that it shows where the rule is used."""

    @custom_jvp
    def f(x):
        return np.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), 2 * np.cos(x) * t

    return f


def doubled_back():
    @custom_vjp
    def f(x):
        return np.sin(x)

    f.defvjp(lambda x: (np.sin(x), np.cos(x)), lambda cos, ct: (2 * cos * ct,))
    return f


@custom_jvp
def module_level(x):
    return np.exp(x)


@module_level.defjvp
def module_level_rule(primals, tangents):
    y = module_level(*primals)
    return y, 3 * y * tangents[0]


def total(f):
    return lambda x: np.sum(f(x))


# -- every transform


@pytest.mark.parametrize("make", [doubled, doubled_back])
@pytest.mark.parametrize("n", SIZES)
def test_the_rule_serves_reverse_mode_and_vmap_of_each_other(make, n):
    f, x = make(), np.linspace(0.1, 1, n)
    expected = 2 * np.cos(x)
    for derivative in (
        grad(total(f)),
        jit(grad(total(f))),
        vmap(grad(f)),
        grad(total(vmap(f))),
        grad(lambda x: np.sum(vmap(vmap(f))(x[:, None] * np.ones(2))) / 2),
        lambda x: vjp(f, x)[1](np.ones(n))[0],
        lambda x: np.sum(jacrev(f)(x), axis=0),
        grad(total(checkpoint(f))),
        checkpoint(grad(total(f))),
        grad(lambda x: np.sum(checkpoint(lambda x: f(x) * 1.0)(x))),
    ):
        np.testing.assert_allclose(derivative(x), expected, rtol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_a_rule_for_tangents_serves_forward_mode(n):
    f, x = doubled(), np.linspace(0.1, 1, n)
    expected = 2 * np.cos(x)
    np.testing.assert_allclose(jvp(f, (x,), (np.ones(n),))[1], expected)
    np.testing.assert_allclose(linearize(f, x)[1](np.ones(n)), expected)
    np.testing.assert_allclose(np.sum(jacfwd(f)(x), axis=0), expected)
    np.testing.assert_allclose(vmap(lambda x: jvp(f, (x,), (1.0,))[1])(x), expected)
    np.testing.assert_allclose(jvp(vmap(f), (x,), (np.ones(n),))[1], expected)


def test_one_trace_serves_every_size():
    derivative = jit(grad(lambda x: np.sum(doubled()(x) * doubled_back()(x))))
    for n in SIZES:
        x = np.linspace(0.1, 1, n)
        np.testing.assert_allclose(derivative(x), 4 * np.sin(x) * np.cos(x))
    assert derivative.cache_info().traces == 1


@pytest.mark.parametrize("outer", [jacfwd, jacrev])
@pytest.mark.parametrize("inner", [jacfwd, jacrev])
def test_higher_orders_differentiate_the_rule(outer, inner):
    """The rule gives 2 cos(x) t, so the second derivative is -2 sin(x) and the third -2 cos(x)."""
    f = doubled()
    np.testing.assert_allclose(outer(inner(f))(0.3), -2 * np.sin(0.3))
    np.testing.assert_allclose(jacrev(outer(inner(f)))(0.3), -2 * np.cos(0.3))


def test_the_result_of_a_rule_that_calls_its_function_keeps_the_rule():
    """d/dx of f f' is f'^2 + f f'', where each f' is that of the rule."""
    f = doubled()
    derivative = grad(lambda x: f(x) ** 2)
    np.testing.assert_allclose(grad(derivative)(0.3), 2 * (4 * np.cos(0.3) ** 2 - 2 * np.sin(0.3) ** 2))


def test_reverse_mode_to_any_order_and_forward_over_reverse():
    f = doubled_back()
    np.testing.assert_allclose(grad(grad(f))(0.3), -2 * np.sin(0.3))
    np.testing.assert_allclose(grad(grad(grad(f)))(0.3), -2 * np.cos(0.3))
    np.testing.assert_allclose(jvp(grad(f), (0.3,), (1.0,))[1], -2 * np.sin(0.3))
    np.testing.assert_allclose(jacfwd(jacrev(f))(0.3), -2 * np.sin(0.3))
    x = np.array([0.1, 0.2])
    np.testing.assert_allclose(np.diag(hessian(total(f))(x)), -2 * np.sin(x))
    np.testing.assert_allclose(vmap(grad(grad(f)))(x), -2 * np.sin(x))


FORWARD = {
    "jvp": lambda f: jvp(f, (0.3,), (1.0,)),
    "jacfwd": lambda f: jacfwd(f)(0.3),
    "linearize": lambda f: linearize(f, 0.3)[1](1.0),
    "grad of jacfwd": lambda f: grad(jacfwd(f))(0.3),
}


@pytest.mark.parametrize("transform", FORWARD.values(), ids=FORWARD)
def test_forward_mode_through_custom_vjp_names_custom_jvp(transform):
    with pytest.raises(UnsupportedFunctionError, match=r"custom_vjp\(f\).*no forward mode.*\n.*custom_jvp"):
        transform(doubled_back())


@custom_vjp
def reverse_sine(x):
    return np.sin(x)


reverse_sine.defvjp(lambda x: (reverse_sine(x), (x, reverse_sine(x))), lambda r, ct: (ct * np.cos(r[0]) * (1 + r[1]),))


def reverse_sine_by_jvp(x):
    f = custom_jvp(np.sin)
    f.defjvps(lambda t, y, x: t * np.cos(x) * (1 + y))
    return f(x)


AROUND = {
    "alone": lambda f: f,
    "loop": lambda f: lambda x: fori_loop(0, 2, lambda i, c: f(c), x),
    "scan": lambda f: lambda x: scan(lambda c, _: (f(c), c * f(c)), x, None, length=2)[1],
    "branch": lambda f: lambda x: cond(x[0] > 0, f, np.cosh, x),
    "batch": vmap,
    "checkpoint": checkpoint,
    "jit": jit,
}


@pytest.mark.parametrize("around", AROUND)
def test_second_derivatives_of_custom_vjp_are_reverse_over_reverse(around):
    inside = AROUND[around]
    loss, known = [lambda x, f=f: np.sum(inside(f)(x) ** 2 * x) for f in (reverse_sine, reverse_sine_by_jvp)]
    x, t = np.array([0.3, 0.5]), np.array([1.0, -2.0])
    expected = hessian(known)(x)
    np.testing.assert_allclose(hessian(loss)(x), expected, rtol=1e-13)
    np.testing.assert_allclose(vmap(hessian(loss))(np.stack([x, t]))[0], expected, rtol=1e-13)
    np.testing.assert_allclose(hvp(loss, (x,), (t,)), expected @ t, rtol=1e-13)
    np.testing.assert_allclose(jit(lambda x: hvp(loss, (x,), (t,)))(x), expected @ t, rtol=1e-13)


@pytest.mark.parametrize("around", [pytest.param(k, marks=[pytest.mark.slow] * (k == "scan")) for k in AROUND])
def test_fourth_derivatives_of_custom_vjp(around):
    inside = AROUND[around]
    loss, known = [lambda x, f=f: np.sum(inside(f)(x) ** 2 * x) for f in (reverse_sine, reverse_sine_by_jvp)]
    actual, expected = [hessian(lambda x, f=f: np.sum(hessian(f)(x) ** 2))(np.array([0.3, 0.5])) for f in (loss, known)]
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-12)


def test_second_derivatives_of_custom_vjp_take_trees_and_aux():
    def loss(tree, power):
        return np.sum(reverse_sine(tree["a"]) ** power * tree["b"]), tree["a"]

    def known(tree, power):
        return np.sum(reverse_sine_by_jvp(tree["a"]) ** power * tree["b"]), tree["a"]

    tree = {"a": np.array([0.3, 0.5]), "b": np.array([1.0, 2.0])}
    matrix, aux = hessian(loss, has_aux=True, static_argnums=1)(tree, 3)
    expected, _ = hessian(known, has_aux=True, static_argnums=1)(tree, 3)
    np.testing.assert_array_equal(aux, tree["a"])
    for i, j in ("aa", "ab", "ba", "bb"):
        np.testing.assert_allclose(matrix[i][j], expected[i][j], rtol=1e-13, atol=1e-15)
    with pytest.raises(UnsupportedFunctionError, match=r"custom_vjp\(reverse_sine\).*no forward mode"):
        jacfwd(grad(lambda x: np.sum(reverse_sine(x))))(np.ones(2))


def test_calls_outside_of_a_trace_run_the_function():
    f = doubled()
    assert f(0.3) == np.sin(0.3)
    np.testing.assert_array_equal(f(np.ones(3)), np.sin(np.ones(3)))

    @custom_jvp
    def decides(x):
        return x if x > 0 else -x

    decides.defjvps(lambda t, y, x: t)
    assert decides(-2.0) == 2.0


def test_values_are_those_of_the_plain_function_and_take_the_same_steps():
    f = doubled()
    plain, ruled = jit(lambda x: np.sin(x) * x + np.sin(x)), jit(lambda x: f(x) * x + f(x))
    x = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(plain(x), ruled(x))
    steps = [[str(s.op) for s in g.programs()[0].plan.steps] for g in (plain, ruled)]
    assert steps[0] == steps[1]


# -- arguments


def test_trees_keywords_and_defaults():
    @custom_jvp
    def f(tree, scale=2.0):
        return {"y": tree["x"] * scale, "n": tree["k"] + 1}

    @f.defjvp
    def rule(primals, tangents):
        (tree, scale), (t, t_scale) = primals, tangents
        return f(tree, scale), {"n": 0 * tree["k"], "y": 10 * t["x"] * scale + tree["x"] * t_scale}

    x, k = np.array([1.0, 2.0]), np.array([1, 2])
    got = grad(lambda x: np.sum(f({"k": k, "x": x}, scale=3.0)["y"]))(x)
    np.testing.assert_array_equal(got, [30.0, 30.0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(f({"x": x, "k": k})["y"]))(x), [20.0, 20.0])
    assert grad(lambda s: np.sum(f({"x": x, "k": k}, s)["y"]))(3.0) == 3.0
    np.testing.assert_array_equal(jit(lambda x: f({"x": x, "k": k})["n"])(x), [2, 3])


class Pair(NamedTuple):
    first: object
    second: object


def test_none_stands_for_a_zero_cotangent_also_of_a_tree():
    @custom_vjp
    def f(pair, x, n):
        return pair.first * x * n

    f.defvjp(lambda pair, x, n: (f(pair, x, n), (pair.first, n)), lambda res, ct: (None, ct * res[0] * res[1], None))
    x = np.array([1.0, 2.0])
    pair = Pair(x, {"unused": None, "w": x})
    got, derivative = grad(lambda p, x: np.sum(f(p, x, 2)), argnums=(0, 1))(pair, x)
    np.testing.assert_array_equal(got.first, [0, 0])
    np.testing.assert_array_equal(got.second["w"], [0, 0])
    np.testing.assert_array_equal(derivative, 2 * x)


def test_nondiff_arguments_are_any_objects_and_come_first():
    @functools.partial(custom_jvp, nondiff_argnums=(0, 2))
    def apply(f, x, mode):
        return f(x) if mode == "f" else x

    @apply.defjvp
    def rule(f, mode, primals, tangents):
        assert mode == "f"
        return apply(f, *primals, mode), 7 * tangents[0]

    assert grad(lambda x: apply(np.sin, x, "f"))(0.3) == 7.0

    @custom_vjp(nondiff_argnums=0)
    def back(f, x):
        return f(x)

    back.defvjp(lambda f, x: (back(f, x), f(x)), lambda f, res, ct: (f(res) * ct,))
    np.testing.assert_allclose(grad(lambda x: back(np.sin, x))(0.3), np.sin(np.sin(0.3)))
    np.testing.assert_allclose(vmap(grad(lambda x: back(np.sin, x)))(np.array([0.3])), [np.sin(np.sin(0.3))])


def test_a_nondiff_function_may_close_over_values_of_an_outer_trace():
    @functools.partial(custom_vjp, nondiff_argnums=(0,))
    def apply(f, x):
        return f(x)

    apply.defvjp(lambda f, x: (f(x), x), lambda f, x, ct: (f(ct) * x,))

    def outer(w, x):
        return grad(lambda x: np.sum(apply(lambda v: stop_gradient(w) * v, x)))(x)

    w, x = np.array([2.0, 3.0]), np.array([4.0, 5.0])
    np.testing.assert_array_equal(jit(outer)(w, x), w * x)
    np.testing.assert_array_equal(vmap(outer)(w[:, None], x[:, None])[:, 0], w * x)
    _, pullback = vjp(lambda x: apply(lambda v: stop_gradient(x * 0 + 2.0) * v, x), x)
    np.testing.assert_array_equal(pullback(np.ones(2))[0], 2 * x)


def test_python_numbers_and_sizes_stay_what_they_are():
    @custom_jvp
    def powers(x, k, n):
        return np.sum(x.reshape(n, -1) ** k, axis=1)

    @powers.defjvp
    def rule(primals, tangents):
        (x, k, n), (t, t_k, t_n) = primals, tangents
        assert isinstance(k, int)
        assert t_k == t_n == 0
        return powers(x, k, n), np.sum((k * x ** (k - 1) * t).reshape(n, -1), axis=1)

    check_grads(lambda x: powers(x, 3, x.shape[0]), (np.array([1.0, 2.0, 3.0]),))
    check_grads(vmap(lambda x: powers(x, 3, x.shape[0])), (np.arange(6.0).reshape(2, 3),))


def test_residuals_are_any_objects():
    @custom_vjp
    def f(x):
        return x * 2

    def fwd(x):
        return f(x), {"label": "sum", "shape": x.shape, "nothing": None, "x": x, "f": np.sin}

    def bwd(residuals, ct):
        assert residuals["label"] == "sum"
        return (np.broadcast_to(residuals["f"](residuals["x"]), residuals["shape"]) * ct,)

    f.defvjp(fwd, bwd)
    x = np.array([0.1, 0.2])
    np.testing.assert_allclose(vjp(f, x)[1](np.ones(2))[0], np.sin(x))
    np.testing.assert_allclose(vmap(grad(total(f)))(x[:, None])[:, 0], np.sin(x))


def test_parts_of_a_rule_by_argument():
    calls = []

    @custom_jvp
    def f(x, y, z):
        return x * y

    f.defjvps(lambda t, out, x, y, z: t * y, lambda t, out, x, y, z: calls.append("y") or x * t, None)
    assert grad(f, argnums=(0, 1, 2))(2.0, 3.0, 4.0) == (3.0, 2.0, 0.0)
    calls.clear()
    assert grad(f)(2.0, 3.0, 4.0) == 3.0
    assert not calls  # the part of an argument without a tangent does not run


def test_integer_arguments_and_results():
    @custom_vjp
    def f(x, i):
        return x[i] * 2, i + 1

    f.defvjp(lambda x, i: (f(x, i), (x.shape, i)), lambda res, ct: (np.zeros(res[0], like=ct[0]) + ct[0], None))
    x, i = np.arange(3.0), np.array(1)
    np.testing.assert_array_equal(grad(lambda x: f(x, i)[0])(x), [1, 1, 1])
    assert jit(f)(x, i)[1] == 2


def test_methods():
    class Layer:
        def __init__(self, w):
            self.w = w

        @functools.partial(custom_jvp, nondiff_argnums=(0,))
        def apply(self, x):
            return self.w * x

        @apply.defjvp
        def rule(self, primals, tangents):
            return self.apply(*primals), 5 * tangents[0]

    assert grad(Layer(2.0).apply)(1.0) == 5.0


# -- closures


def test_closing_over_a_value_that_is_differentiated_is_an_error():
    for make in (custom_jvp, custom_vjp):

        def loss(x, make=make):
            f = make(lambda y: x * y)
            if make is custom_jvp:
                f.defjvps(lambda t, out, y: t)
            else:
                f.defvjp(lambda y: (x * y, None), lambda res, ct: (ct,))
            return f(3.0) + f(x)

        with pytest.raises(UnsupportedFunctionError, match=r"closes over.*\n.*as an argument"):
            grad(loss)(2.0)


@pytest.mark.parametrize("make", [custom_jvp, custom_vjp])
def test_closing_over_values_of_an_outer_level_is_right(make):
    def outer(x):
        f = make(lambda y: x * y)
        if make is custom_jvp:
            f.defjvp(lambda primals, tangents: (f(*primals), 2 * np.cos(x) * tangents[0]))
        else:
            f.defvjp(lambda y: (f(y), (x, y)), lambda res, ct: (2 * np.cos(x) * ct,))
        return f

    x = np.arange(3.0)
    np.testing.assert_allclose(vmap(lambda x: outer(x)(3.0))(x), 3 * x)
    np.testing.assert_allclose(vmap(lambda x: grad(outer(x))(3.0))(x), 2 * np.cos(x))
    np.testing.assert_allclose(jit(lambda x: grad(outer(x))(3.0))(x[1]), 2 * np.cos(x[1]))
    # the batched value ends before the derivative outside of it is taken
    np.testing.assert_allclose(grad(lambda y: np.sum(vmap(lambda x: outer(x)(y))(x)))(3.0), np.sum(2 * np.cos(x)))
    # the derivative of the derivative in what the rule closes over
    np.testing.assert_allclose(grad(lambda x: grad(outer(x))(3.0))(0.5), -2 * np.sin(0.5))


def test_a_pullback_used_in_another_program_has_what_its_rule_closes_over():
    def g(x):
        w = np.sin(x)
        f = custom_vjp(lambda y: y * 1.0)
        f.defvjp(lambda y: (y, None), lambda res, ct: (ct * stop_gradient(w),))
        return f(x)

    x = np.array([0.1, 0.2])
    _, pullback = vjp(g, x)
    np.testing.assert_allclose(pullback(np.ones(2))[0], np.sin(x))
    np.testing.assert_allclose(jacrev(g)(x), np.diag(np.sin(x)))


def test_a_value_that_a_rule_finds_in_an_object_is_never_lost():
    class Holder:
        value = None

    def g(x):
        holder = Holder()
        holder.value = np.sin(x)
        f = custom_jvp(lambda y: y * 1.0)
        f.defjvps(lambda t, out, y: t * holder.value)
        return f(x)

    with pytest.raises(LeakedTracerError, match="after its trace had ended"):
        grad(g)(2.0)


def test_a_changed_rule_or_global_of_it_is_traced_again():
    f, factor = custom_jvp(lambda x: x * 1.0), [2.0]
    f.defjvp(lambda primals, tangents: (f(*primals), factor[0] * tangents[0]))
    derivative = jit(lambda x: grad(f)(x))
    assert derivative(1.0) == 2.0
    factor[0] = 3.0
    assert derivative(1.0) == 3.0
    f.defjvp(lambda primals, tangents: (f(*primals), 4 * tangents[0]))
    assert derivative(1.0) == 4.0
    back, scale = custom_vjp(lambda x: x * 1.0), {"s": 1.0}
    back.defvjp(lambda x: (x, None), lambda res, ct: (ct * scale["s"],))
    derivative = grad(back)
    assert derivative(1.0) == 1.0
    scale["s"] = 5.0
    assert derivative(1.0) == 5.0


@pytest.mark.slow
def test_rules_that_call_each_other():
    sine, cosine = custom_jvp(np.sin), custom_jvp(np.cos)
    sine.defjvps(lambda t, out, x: t * cosine(x))
    cosine.defjvps(lambda t, out, x: -t * sine(x))
    check_grads(lambda x: sine(x) * cosine(x), (np.array([0.3, 0.4]),), order=4)


def test_a_function_with_a_rule_applied_to_tangents_is_transposed():
    linear = custom_jvp(lambda t: 3 * t)
    linear.defjvps(lambda t, out, x: linear(t))
    outer = custom_jvp(lambda x: x * 3.0)
    outer.defjvps(lambda t, out, x: linear(t))
    check_grads(outer, (np.array([1.0, 2.0]),), order=3)


def test_transforms_inside_of_rules():
    f = custom_jvp(lambda x: np.sum(x**3))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        derivative = grad(lambda x: np.sum(x**3))(x)
        return f(x), np.sum(vmap(lambda s, t: s * t)(derivative, t)) + 0 * np.sum(checkpoint(np.negative)(t))

    check_grads(f, (np.array([1.0, 2.0]),), order=3)
    check_grads(vmap(f), (np.array([[1.0, 2.0]]),), order=2)


@pytest.mark.parametrize("make", [doubled, doubled_back])
def test_rules_inside_of_branches(make):
    f, x = make(), np.array([0.3, 0.5])

    def chosen(x):
        return cond(np.sum(x) > 0, lambda x: f(x) * 1.0, lambda x: x * 3, x)

    def each(x):
        return vmap(lambda x: cond(x > 0.4, f, lambda x: x * 3, x))(x)

    np.testing.assert_allclose(grad(total(chosen))(x), 2 * np.cos(x))
    np.testing.assert_allclose(grad(total(chosen))(-x), [3, 3])
    np.testing.assert_allclose(np.diag(jacrev(jacrev(total(chosen)))(x)), -2 * np.sin(x))
    np.testing.assert_allclose(grad(total(each))(x), [3, 2 * np.cos(0.5)])


def test_a_call_has_the_rule_of_its_time():
    def twice(x):
        f = custom_jvp(lambda x: x * 1.0)
        f.defjvps(lambda t, y, x: 2 * t)
        first = f(x)
        f.defjvps(lambda t, y, x: 3 * t)
        return first + f(x)

    assert grad(twice)(1.0) == 5.0


# -- what rules are for


def test_log1pexp_is_finite_in_every_mode():
    @custom_jvp
    def log1pexp(x):
        return np.log(1 + np.exp(x))

    log1pexp.defjvps(lambda t, y, x: t * (1 - 1 / (1 + np.exp(x))))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(vmap(grad(log1pexp))(np.array([0.0, 100.0])), [0.5, 1.0])


@pytest.mark.slow
def test_pure_callback_with_a_rule():
    @custom_jvp
    def tan(x):
        return pure_callback(np.tan, ShapeDtypeStruct(x.shape, x.dtype), x)

    tan.defjvps(lambda t, y, x: t * (1 + y * y))
    for n in SIZES[1:]:
        check_grads(tan, (np.linspace(0.1, 0.5, n),), order=3)
    check_grads(vmap(tan), (np.linspace(0.1, 0.5, 6).reshape(2, 3),))
    back = custom_vjp(lambda x: pure_callback(np.tan, ShapeDtypeStruct(x.shape, x.dtype), x))
    back.defvjp(lambda x: (back(x), np.cos(x)), lambda cos, ct: (ct / cos**2,))
    check_grads(back, (np.linspace(0.1, 0.5, 3),), order=2, modes="rev")


def test_sizes_that_depend_on_data():
    f = custom_jvp(lambda x: x[x > 0] ** 2)
    f.defjvp(lambda primals, tangents: (f(*primals), 2 * (primals[0] * tangents[0])[primals[0] > 0]))
    check_grads(lambda x: np.sum(f(x) * f(x)), (np.array([1.0, -2.0, 3.0]),))


@pytest.mark.parametrize("modes", ["fwd", "rev"])
def test_check_grads_tells_when_a_rule_is_wrong(modes):
    with pytest.raises(anyshape.errors.GradientCheckError):
        check_grads(doubled(), (np.array([0.3]),), modes=modes)
    if modes == "rev":
        with pytest.raises(anyshape.errors.GradientCheckError):
            check_grads(doubled_back(), (np.array([0.3]),), modes=modes)


def test_check_grads_tells_when_only_the_second_derivative_is_wrong():
    f = custom_jvp(np.sin)
    f.defjvps(lambda t, y, x: t * stop_gradient(np.cos(x)))
    check_grads(f, (np.array([0.3]),), order=1)
    with pytest.raises(anyshape.errors.GradientCheckError, match="order 2"):
        check_grads(f, (np.array([0.3]),), order=2)


# -- errors


def with_jvp(rule):
    f = custom_jvp(lambda x: {"y": x * 2})
    f.defjvp(rule)
    return lambda: grad(lambda x: np.sum(f(x)["y"]))(np.ones(3))


def with_vjp(fwd, bwd):
    f = custom_vjp(lambda x, w: x * w)
    f.defvjp(fwd, bwd)
    return lambda: grad(lambda x: np.sum(f(x, x)))(np.ones(3))


def plain(x, w):
    return x * w, (x, w)


WRONG = {
    "no pair": (with_jvp(lambda p, t: p[0]), "its rule gives an array, not a pair", "return"),
    "tree of the result": (with_jvp(lambda p, t: (p[0], t[0])), "a result of the structure", "same containers"),
    "tree of the tangent": (with_jvp(lambda p, t: ({"y": p[0]}, t[0])), "a tangent of the structure", "containers"),
    "shape": (with_jvp(lambda p, t: ({"y": p[0]}, {"y": t[0][1:]})), r" - 1, 0\)\], and that is", "that shape"),
    "rank": (with_jvp(lambda p, t: ({"y": p[0]}, {"y": np.sum(t[0])})), r"f64\[\], and that is", "that shape"),
    "dtype": (with_jvp(lambda p, t: ({"y": p[0]}, {"y": t[0].astype("f4")})), "f32", "that dtype"),
    "result": (with_jvp(lambda p, t: ({"y": p[0][:, None]}, {"y": t[0]})), "the function gives", "that shape"),
    "text": (with_jvp(lambda p, t: ({"y": p[0]}, {"y": object()})), "type object", "give an array"),
    "fwd, no pair": (with_vjp(lambda x, w: x * w, lambda r, ct: (ct, ct)), "fwd gives an array", "residuals"),
    "fwd, shape": (with_vjp(lambda x, w: (x[1:], x), lambda r, ct: (ct, ct)), "fwd gives",
                   "that shape"),
    "bwd, no tuple": (with_vjp(plain, lambda r, ct: ct), "bwd gives cotangents of the structure", "one cotangent"),
    "bwd, too few": (with_vjp(plain, lambda r, ct: (ct,)), "bwd gives cotangents of the structure", "one cotangent"),
    "bwd, shape": (with_vjp(plain, lambda r, ct: (ct[1:], ct)), r"for x of type f64\[max\(x.shape\[0\] - 1, 0\)\]",
                   "that shape"),
    "bwd, dtype": (with_vjp(plain, lambda r, ct: (ct, ct > 0)), "cotangent for w of type bool", "that dtype"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_rule_that_does_not_fit_is_named_with_its_line(case):
    call, problem, advice = WRONG[case]
    with pytest.raises(CustomRuleError, match=r"^custom_(jvp|vjp)\(") as caught:
        call()
    first, second = str(caught.value).split("\n")
    assert re.search(problem, first), first
    assert advice in second
    assert "test_custom_rules.py" in first


def test_a_rule_that_takes_other_arguments_is_refused_where_it_is_given():
    with pytest.raises(CustomRuleError, match=r"rule <lambda> does not take 2 arguments.*\n.*\(primals, tangents\)"):
        custom_jvp(np.sin).defjvp(lambda x: x)
    with pytest.raises(CustomRuleError, match=r"does not take 3 arguments.*\n.*\(x1, residuals, cotangent\)"):
        custom_vjp(lambda x, n: x, 1).defvjp(lambda x, n: (x, x), lambda residuals, ct: (ct,))


def test_a_missing_rule_and_bad_arguments():
    with pytest.raises(CustomRuleError, match=r"custom_jvp\(sin\): has no rule.*\n.*sin.defjvp"):
        custom_jvp(np.sin)(1.0)
    with pytest.raises(CustomRuleError, match=r"has no rule.*\n.*sin.defvjp"):
        jit(custom_vjp(np.sin))(1.0)
    for wrong in (lambda: custom_jvp(3), lambda: doubled().defjvp(3), lambda: doubled_back().defvjp(np.sin, 3),
                  lambda: custom_jvp(np.sin, nondiff_argnums="x"), lambda: custom_vjp(np.sin, (0, 0)),
                  lambda: custom_jvp(lambda x: x, nondiff_argnums=(0,)).defjvps(None)):  # fmt: skip
        with pytest.raises(ArgumentError):
            wrong()
    with pytest.raises(ArgumentError, match=r"custom_jvp\(f\): x is of type object.*\n.*nondiff_argnums"):
        jit(lambda: doubled()(object()))()
    late = custom_jvp(lambda x: x, nondiff_argnums=(3,))
    late.defjvp(lambda *xs: xs)
    with pytest.raises(ArgumentError, match="nondiff_argnums has 3"):
        jit(lambda x: late(x))(1.0)
    keyword = custom_jvp(lambda x, *, y: x * y)
    keyword.defjvps(lambda t, out, x: t)
    with pytest.raises(ArgumentError, match="y has no position"):
        jit(lambda x: keyword(x, y=2.0))(1.0)
    with pytest.raises(TypeError, match="missing a required argument"):
        jit(lambda: doubled()())()


def test_nothing_is_left_behind_after_an_error():
    f = custom_jvp(lambda x: x * 2.0)
    f.defjvp(lambda p, t: p[0])
    derivative = grad(f)
    with pytest.raises(CustomRuleError):
        derivative(1.0)
    f.defjvp(lambda p, t: (f(*p), 2.0 * t[0]))
    assert derivative(1.0) == 2.0


# -- programs


def test_programs_print_cost_explain_and_name_the_lines_of_the_rule():
    derivative = jit(grad(total(module_level)))
    derivative(np.ones(3))
    (program,) = derivative.programs()
    assert "custom_rules.py" in str(program.trace.graph)
    assert "custom_jvp" in str(traced(module_level))
    assert program.cost().flops is not None
    assert derivative.explain() is not None


def traced(f):
    jitted = jit(f)
    jitted(np.ones(3))
    return jitted.programs()[0].graph


def test_a_rule_may_give_values_and_tangents_by_one_conditional():
    f = custom_jvp(lambda x: x * 2.0)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return cond(np.sum(x) > 1, lambda: (f(x), x * t), lambda: (f(x), 4 * t))

    loss = lambda x: np.sum(f(x) ** 2)
    for x, slope, second in (([3.0, 2.0], [36.0, 16.0], [30.0, 16.0]), ([0.5, 0.25], [8.0, 4.0], [32.0, 32.0])):
        x = np.array(x)
        for derivative in (grad(loss)(x), jacfwd(loss)(x), vmap(grad(loss))(x[None])[0]):
            np.testing.assert_array_equal(derivative, slope)
        assert jvp(loss, (x,), (np.ones(2),))[1] == np.sum(slope)
        np.testing.assert_array_equal(hessian(loss)(x), np.diag(second))


def test_functions_with_rules_pickle_copy_and_print():
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    f = doubled()
    assert copy.copy(f) is f
    assert copy.deepcopy(f) is f
    assert repr(f) == "<custom_jvp(f)>"
    graph = traced(module_level)
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph


def test_a_pickle_carries_the_rule():
    f, x = doubled(), np.array([0.3])
    jitted = jit(f)
    jitted(x)
    program = pickle.loads(pickle.dumps(jitted.programs()[0]))
    np.testing.assert_array_equal(program(x), np.sin(x))
    np.testing.assert_allclose(grad(lambda x: np.sum(program(x)))(x), 2 * np.cos(x))

    root = jit(lambda a: custom_root(lambda x: x - a, a, lambda f, x: x - f(x), lambda g, y: y))
    root(x)
    program = pickle.loads(pickle.dumps(root.programs()[0]))
    np.testing.assert_array_equal(program(x), x)
    np.testing.assert_array_equal(grad(lambda x: np.sum(program(x)))(x), np.ones(1))


def test_a_jitted_function_with_a_rule_inside_travels():
    cloudpickle = pytest.importorskip("cloudpickle")
    f = doubled()
    derivative = jit(grad(total(f)))
    again = pickle.loads(cloudpickle.dumps(derivative))
    np.testing.assert_allclose(again(np.array([0.3])), 2 * np.cos([0.3]))


def test_errors_of_rules_are_anyshape_errors():
    assert issubclass(CustomRuleError, AnyshapeError)
    error = CustomRuleError("custom_jvp(f)", "has no rule", "add one")
    assert pickle.loads(pickle.dumps(error)).function == "custom_jvp(f)"


def test_values_of_a_rule_do_not_depend_on_the_graph_of_tangents():
    """Constants and new arrays in a rule belong to its values, not to the linear graph that its tangents go to."""
    f = custom_jvp(lambda x: x * 1.0 + np.arange(3.0, like=x) + np.ones(3))

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x) + np.zeros(3) * np.zeros_like(x), t * np.ones(3)

    x = np.array([1.0, 2.0, 3.0])
    value, pullback = vjp(f, x)
    np.testing.assert_array_equal(value, f(x))
    np.testing.assert_array_equal(pullback(x)[0], x)
    np.testing.assert_array_equal(anyshape.value_and_grad(total(f))(x)[1], np.ones(3))
    np.testing.assert_array_equal(vmap(lambda x: linearize(f, x)[0])(x[None])[0], f(x))
