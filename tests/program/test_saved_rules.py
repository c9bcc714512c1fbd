"""Tests of derivative rules of the user in files and pickles: a loaded program has the derivatives of its function."""

import io
import pickle

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import (
    ShapeDtypeStruct,
    cond,
    custom_jvp,
    custom_linear_solve,
    custom_root,
    custom_vjp,
    export,
    fori_loop,
    grad,
    hessian,
    jacfwd,
    jit,
    load,
    pure_callback,
    vmap,
)
from anyshape.errors import UnsupportedFunctionError
from anyshape.graph.ir.graph import walk
from anyshape.program.saved_rules import ProgramRule
from tests.laws.sweep import check_equal, leaves

TABLE = np.array([1.0, 2.0, 4.0])


@custom_jvp
def squared(x):
    return x * x


squared.defjvp(lambda p, t: (squared(p[0]), 3 * p[0] * t[0]))  # wrong, so that no other derivative passes for it


@custom_jvp
def product(x, y, count):
    return x * y * count


product.defjvps(lambda t, out, x, y, count: 2 * t * y, lambda t, out, x, y, count: 5 * t * x * count, None)


@custom_vjp
def by_parts(tree, power):
    return {"a": tree["x"] ** power, "b": np.sum(tree["y"])}


def parts_forward(tree, power):
    return by_parts(tree, power), (tree["x"], tree["y"].shape, power, np.cos)


def parts_backward(residuals, ct):
    x, shape, power, function = residuals
    return {"x": function(ct["a"] * power * x), "y": anp.full(shape, 7.0) * ct["b"]}, None


by_parts.defvjp(parts_forward, parts_backward)


def expanded(x):
    """Have a table, and a rule of its own at each call, which closes over a size."""
    n = x.shape[0]

    @custom_jvp
    def rows(x):
        return x[:, None] * TABLE

    rows.defjvp(lambda p, t: (rows(p[0]), t[0][:, None] * (TABLE + n)))
    return rows(x)


@custom_jvp(nondiff_argnums=(0,))
def applied(f, x):
    return f(x)


applied.defjvp(lambda f, p, t: (applied(f, *p), 10 * f(t[0])))


@custom_vjp
def without_residuals(x):
    return np.sum(x)


without_residuals.defvjp(lambda x: (np.sum(x), None), lambda _, ct: (np.broadcast_to(ct, ()) * 2.0,))


@custom_jvp
def by_size(x):
    return x * 2.0


@by_size.defjvp
def _by_size_jvp(primals, tangents):
    return by_size(*primals), tangents[0] * (3.0 if primals[0].shape[0] > 2 else 4.0)


@custom_jvp
def by_choice(x):
    return x * 2.0


@by_choice.defjvp
def _by_choice_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return cond(np.sum(x) > 1, lambda: (by_choice(x), 3 * t), lambda: (by_choice(x), 4 * t))


def newton(f, x):
    return fori_loop(0, 30, lambda i, x: x - f(x) / (2 * x), x)


def root(a):
    return custom_root(lambda x: x**2 - a, np.ones_like(a), newton, lambda g, y: y / g(np.ones_like(y)))


def solved(a, b):
    return custom_linear_solve(lambda x: (1 + a * a) * x, b, lambda mv, b: b / mv(np.ones_like(b)), symmetric=True)


def parts_of(x):
    parts = by_parts({"x": x[1:], "y": x}, 3)
    return np.sum(parts["a"]) + parts["b"]


FUNCTIONS = {
    "custom_jvp": lambda x: np.sum(squared(np.sin(x))),
    "parts": lambda x: np.sum(product(x, np.cos(x), x.shape[0])),
    "one part": lambda x: np.sum(product(np.array([1.0, 2.0, 3.0]), x, 2)),
    "custom_vjp": parts_of,
    "a table and a size": lambda x: np.sum(expanded(x) ** 2),
    "a function as argument": lambda x: np.sum(applied(np.negative, x) * x),
    "slices": lambda x: np.sum(squared(x[1:]) * squared(x[:-1])),
    "loop": lambda x: np.sum(fori_loop(0, 2, lambda i, c: squared(c) + np.sum(expanded(c), 1) / 9, x)),
    "branch": lambda x: cond(x[0] > 0.4, lambda x: np.sum(squared(x)), lambda x: np.sum(expanded(x)), x),
    "batch": lambda x: np.sum(vmap(lambda y: squared(y) * product(y, np.sum(x), 3))(x)),
    "batch of vectors": lambda x: np.sum(vmap(vmap(lambda y, z: squared(y * z), (None, 0)), (0, None))(x, x)),
    "mask": lambda x: np.sum(squared(x[x > 0.45])),
    "by size": lambda x: np.sum(by_size(x) ** 2),
    "values and tangents by one node": lambda x: np.sum(vmap(by_choice)(x * np.ones((2, 1))) + by_choice(x) ** 2),
    "root": lambda x: np.sum(root(x) * x),
    "linear equations": lambda x: np.sum(solved(x, np.cos(x))),
}
VALUES = np.array([0.5, 0.7, 0.4])


def reloaded(program):
    file = io.BytesIO()
    program.save(file)
    return load(io.BytesIO(file.getvalue()))


TRANSFORMS = {
    "grad": grad,
    "forward": jacfwd,
    "jit": lambda f: jit(grad(f)),
    "second order": lambda f: grad(lambda x: np.sum(np.sin(grad(f)(x)))),
    "forward over reverse": lambda f: jacfwd(grad(f)),
    "batch": lambda f: lambda x: vmap(grad(f))(np.stack([x, x * 1.1])),
    "saved again": lambda f: grad(reloaded(f) if isinstance(f, anyshape.program.program.Program) else f),
}
PATHS = {
    "loaded": lambda p: reloaded(p),
    "pickled": lambda p: pickle.loads(pickle.dumps(p)),
    "pickled after loading": lambda p: pickle.loads(pickle.dumps(reloaded(p))),
}


def outcome(function, x):
    try:
        return leaves(function(x))
    except UnsupportedFunctionError as error:
        return [str(error).split(":", 1)[1].split(" at ")[0]]


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_has_its_derivatives_behind_a_file_and_a_pickle(name, half):
    """Functions take turns with transforms."""
    function, chosen = FUNCTIONS[name], list(TRANSFORMS.items())[([*FUNCTIONS].index(name) + half) % 2 :: 2]
    program = export(function)(ShapeDtypeStruct("3" if name == "one part" else "n"))
    for path, (kind, transform) in zip([*PATHS, *PATHS], chosen, strict=False):
        expected, result = outcome(transform(function), VALUES), outcome(transform(PATHS[path](program)), VALUES)
        if isinstance(expected[0], str):
            assert result == expected, f"{path}, {kind}"
        else:
            check_equal(result, expected, 1e-12, f"{path}, {kind}")


def test_a_rule_that_calls_its_function_is_one_of_a_file():
    program = reloaded(export(FUNCTIONS["custom_jvp"])(ShapeDtypeStruct("n")))
    (rule,) = [dict(n.params)["rule"] for n in walk(program.graph) if n.op.name == "custom_jvp"]
    inner = [dict(n.params)["rule"] for p in rule.programs for n in walk(p.graph) if n.op.name == "custom_jvp"]
    assert isinstance(rule, ProgramRule)
    assert inner == [rule] and inner[0] is rule
    third = grad(grad(grad(lambda x: program(np.stack([x])))))
    np.testing.assert_allclose(third(0.3), grad(grad(grad(lambda x: squared(np.sin(x)))))(0.3), rtol=1e-12)


def test_a_rule_that_no_file_holds_is_refused_where_it_is_needed():
    @custom_jvp
    def f(x):
        return x * 1.0

    f.defjvp(lambda p, t: (f(p[0]), t[0] * pure_callback(np.sinh, ShapeDtypeStruct((), float), p[0][0])))
    g = custom_jvp(lambda x: x * 1.0)
    g.defjvp(lambda p, t: g(p[0]))
    for function, problem in ((f, "is called back, and no file holds it"), (g, "its rule gives an array, not a pair")):
        program = reloaded(export(lambda x, function=function: np.sum(function(x)))(ShapeDtypeStruct("n")))
        assert program(np.ones(3)) == 3.0
        with pytest.raises(UnsupportedFunctionError, match=f"its rule could not be saved: .*{problem}"):
            grad(program)(np.ones(3))


def test_a_value_that_a_function_closes_over_has_no_derivative_in_a_file_either():
    def loss(w):
        f = custom_jvp(lambda x: w * x)
        f.defjvps(lambda t, y, x: w * t)
        return f(3.0)

    program = reloaded(export(loss)(ShapeDtypeStruct("")))
    for function in (loss, program):
        with pytest.raises(UnsupportedFunctionError, match=r"is differentiated in a value that .* closes over"):
            grad(function)(2.0)


def test_rules_that_grow_at_every_order_end():
    def f(x):
        g = custom_jvp(lambda x: np.sum(x))
        g.defjvp(lambda p, t: (f(np.concatenate([p[0], p[0]])) / 2, np.sum(t[0]) * np.sum(p[0])))
        return g(x)

    program = reloaded(export(f)(ShapeDtypeStruct("n")))
    np.testing.assert_allclose(grad(program)(VALUES), grad(f)(VALUES), rtol=1e-14)
    np.testing.assert_allclose(hessian(program)(VALUES), hessian(f)(VALUES), rtol=1e-14)
