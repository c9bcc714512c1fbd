"""Advice of messages is tried: the code that follows it runs, and gives the value of NumPy."""

import numpy as np
import pytest

import anyshape.numpy as anp
from anyshape import (
    cond,
    custom_jvp,
    custom_vjp,
    fori_loop,
    grad,
    jit,
    max_dim,
    optimize,
    scan,
    switch,
    tree_map,
    vjp,
    vmap,
    while_loop,
)
from anyshape.scipy import integrate, linalg, ndimage, signal, special, stats
from anyshape.scipy import optimize as scipy_optimize
from tests.errors.mistakes import MISTAKES, ones
from tests.errors.rubric import TABLES

MESSAGES = {row.name: row.message for row in MISTAKES if TABLES}
X = np.array([0.5, 1.5, -2.5])


def updated(x):
    y = x.copy()
    y[0] = 0.0
    return y.sum()


def filled(x):
    y = anp.zeros(3)
    y[0] = x[0]
    return y


def halved(x):
    y = x.copy()
    y = y.astype(np.float64)
    y /= 2
    return y


def squares():
    f = custom_vjp(lambda x: (x**2).sum())
    f.defvjp(lambda x: ((x**2).sum(), x), lambda x, ct: (2 * x * ct,))
    return f


def square_with_tangent():
    f = custom_jvp(lambda x: x**2)
    f.defjvp(lambda primals, tangents: (primals[0] ** 2, 2 * primals[0] * tangents[0]))
    return f


def trained(w):
    optimizer = optimize.adam(0.1)
    updates, _ = optimizer.update({"w": w}, optimizer.init({"w": w}), {"w": w})
    return updates["w"]


def minimum(**options):
    return scipy_optimize.minimize(lambda x: ((x - 0.5) ** 2).sum(), ones(2), **options).x


HALVES = np.full(2, 0.5)
# the mistake, words of its advice, what follows it, and the value
TRIED = [
    ("matmul", "make w.shape[0] 3", lambda: jit(lambda x, w: x @ w)(ones(4, 3), ones(3, 5)), np.full((4, 5), 3.0)),
    ("addition", "3 or 1", lambda: jit(lambda x, y: x + y)(ones(3), ones(1)), np.full(3, 2.0)),
    ("matmul_of_a_scalar", "write *", lambda: jit(lambda x: x * x.sum())(ones(3)), np.full(3, 3.0)),
    ("concatenate_of_ranks", "x[None]", lambda: jit(lambda x, y: np.concatenate([x, y[None]]))(ones(2, 3), ones(3)),
     ones(3, 3)),
    ("axis", "from -2 to 1", lambda: jit(lambda x: x.sum(-2))(ones(2, 3)), np.full(3, 2.0)),
    ("index_of_floats", "astype(int)", lambda: jit(lambda x, i: x[i.astype(int)])(X, ones(2)), X[[1, 1]]),
    ("sine_of_the_standard_library", "np.sin", lambda: jit(lambda x: np.sin(x))(1.0), np.sin(1.0)),
    ("closeness_of_the_standard_library", "np.isclose", lambda: jit(lambda x: np.isclose(x[0], 0.5))(X), True),
    ("list_of_elements_as_an_array", "anyshape.numpy", lambda: jit(lambda x: anp.array([x[0], x[1]]))(X), X[:2]),
    ("write_to_an_array_of_numpy", "anyshape.numpy", lambda: jit(filled)(X), np.array([0.5, 0, 0])),
    ("quadrature_of_scipy", "integrate", lambda: jit(lambda a: integrate.quad(lambda t: t * a, 0, 1)[0])(1.0), 0.5),
    ("solve_of_scipy", "linalg", lambda: jit(lambda a: linalg.solve(a, ones(3)))(np.eye(3)), ones(3)),
    ("density_of_scipy", "stats", lambda: jit(lambda x: stats.norm.pdf(x))(np.zeros(1)), [0.3989422804014327]),
    ("filter_of_scipy", "ndimage", lambda: jit(lambda x: ndimage.gaussian_filter(x, 1.0))(ones(3, 3)), ones(3, 3)),
    ("convolution_of_scipy", "signal", lambda: jit(lambda x: signal.convolve(x, ones(1)))(X), X),
    ("minimiser_of_scipy", "optimize",
     lambda: jit(lambda a: scipy_optimize.minimize(lambda x: ((x - a) ** 2).sum(), ones(3)).x)(X), X),
    ("assignment", "x = x.copy()", lambda: grad(updated)(ones(3)), [0.0, 1.0, 1.0]),
    ("integers_divided_in_place", "y = y.astype(np.float64)", lambda: jit(halved)(np.arange(3)), [0.0, 0.5, 1.0]),
    ("choice_by_an_array", "np.where", lambda: jit(lambda x: np.where(x > 0, 1, 0))(X), [1, 1, 0]),
    ("chained_comparison", "&", lambda: jit(lambda x: (x > 0) & (x < 1))(X), [True, False, False]),
    ("largest_by_the_builtin", "np.max(x)", lambda: jit(lambda x: np.max(x))(X), 1.5),
    ("sorted_by_the_builtin", "np.sort(x)", lambda: jit(lambda x: np.sort(x))(X), np.sort(X)),
    ("membership_in_a_list", "np.isin(x, values)", lambda: jit(lambda x: np.isin(x, [0.5]))(X), [True, False, False]),
    ("bool_of_an_array", "anyshape.cond", lambda: jit(lambda x: cond(x.sum() > 0, lambda: x, lambda: -x))(X), -X),
    ("loop_until_it_is_small", "anyshape.while_loop",
     lambda: jit(lambda x: while_loop(lambda x: abs(x).max() > 1, lambda x: x / 2, x))(X), X / 4),
    ("iteration", "anyshape.scan", lambda: jit(lambda x: scan(lambda c, r: (c + r, None), 0.0, x[x > 0])[0])(X), 2.0),
    ("division_by_a_size_of_zero", "max_dim(n, 1)", lambda: jit(lambda x: x * (6 // max_dim(x.shape[0], 1)))(X[:2]),
     X[:2] * 3),
    ("floating_point", "np.where", lambda: jit(lambda x: 1.0 / np.where(x == 0, 1.0, x))(np.zeros(2)), ones(2)),
    ("method_of_pytorch", "np.expand_dims", lambda: jit(lambda x: np.expand_dims(x, 0))(X), X[None]),
    ("option_of_pytorch", "axis", lambda: jit(lambda x: x.sum(axis=0))(X), X.sum()),
    ("function_of_jax", "special.expit", lambda: jit(lambda x: special.expit(x))(np.zeros(2)), HALVES),
    ("function_of_frompyfunc", "vectorize", lambda: jit(lambda x: anp.vectorize(lambda v: v + 1)(x))(X), X + 1),
    ("arrays_to_join_without_a_list", "one list", lambda: jit(lambda x, y: anp.concatenate([x, y]))(X, X),
     np.concatenate([X, X])),
    ("choice_without_the_other_value", "pass both", lambda: jit(lambda x: np.where(x > 0, x, 0))(X), [0.5, 1.5, 0]),
    ("label_of_the_result_alone", "operand", lambda: jit(lambda x: np.einsum("ik->k", x))(ones(3, 3)), ones(3) * 3),
    ("axis_by_a_name", "axis=0", lambda: jit(lambda x: np.mean(x, axis=0))(ones(2, 3)), ones(3)),
    ("matrix_that_is_singular", "identity",
     lambda: jit(lambda a: np.linalg.solve(a + 0.5 * np.eye(3), ones(3)))(np.zeros((3, 3))), np.full(3, 2.0)),
    ("generator_as_an_argument", "a list", lambda: jit(lambda xs: sum(xs))([1.0, 2.0]), 3.0),
    ("array_as_a_static_argument", "leave it out", lambda: jit(lambda x, k: x * k)(X, X), X * X),
    ("update_that_is_not_ended", ".set(v)", lambda: jit(lambda x: x.at[0].set(0.0))(X), [0.0, 1.5, -2.5]),
    ("trees_of_other_keys", "the structure", lambda: tree_map(lambda p, g: p - g, {"w": X}, {"w": X})["w"], X * 0),
    ("gradients_of_other_parameters", "init", lambda: trained(ones(1)).round(3), [-0.1]),
    ("grad_of_an_array", "sum it", lambda: grad(lambda x: (x * 2).sum())(X), np.full(3, 2.0)),
    ("gradient_in_a_keyword", "by position", lambda: grad(lambda x: (x**2).sum())(X), 2 * X),
    ("gradient_in_an_integer", "float dtype", lambda: grad(lambda x: x**2)(3.0), 6.0),
    ("gradient_of_a_pair", "has_aux=True", lambda: grad(lambda x: (x.sum(), x), has_aux=True)(X)[0], ones(3)),
    ("gradient_of_a_complex_value", "abs(z)**2", lambda: grad(lambda z: (abs(z) ** 2).sum())(X * 1j), X * -2j),
    ("in_axes_for_fewer_arguments", "None", lambda: vmap(lambda x, y: x + y, in_axes=(0, None))(X, 1.0), X + 1),
    ("axes_of_a_tree_with_other_keys", "prefix", lambda: vmap(lambda p: p["w"] * 2, in_axes=({"w": 0},))({"w": X}),
     X * 2),
    ("rule_that_gives_no_tuple", "a tuple", lambda: grad(squares())(X), 2 * X),
    ("rule_that_is_missing", "defvjp(fwd, bwd)", lambda: grad(squares())(X), 2 * X),
    ("rule_without_a_tangent", "its tangent", lambda: grad(lambda x: square_with_tangent()(x).sum())(X), 2 * X),
    ("cotangent_of_another_length", "make it 3", lambda: vjp(lambda x: x * 2, ones(3))[1](X)[0], 2 * X),
    ("carry_of_another_dtype", "astype",
     lambda: scan(lambda c, x: (c + x.astype(np.float32), c), np.float32(0), ones(4))[0], 4.0),
    ("number_of_trips_for_rows", "length=n", lambda: scan(lambda c, x: (c + 1, c), 0.0, length=5)[0], 5.0),
    ("body_that_returns_nothing", "return the carry", lambda: fori_loop(0, 5, lambda i, c: c + 1, 0.0), 5.0),
    ("values_for_branches", "lambda: x", lambda: jit(lambda x: cond(x.sum() > 0, lambda: x, lambda: -x))(X), -X),
    ("condition_of_an_array", "np.where", lambda: jit(lambda x: np.where(x > 0, x, -x))(X), abs(X)),
    ("branch_by_a_float", "an integer scalar",
     lambda: jit(lambda x: switch((x.sum() > 0).astype(int), [lambda: x, lambda: -x]))(X), X),
    ("objective_of_an_array", "np.sum", minimum, HALVES),
    ("bounds_in_a_dict", "a pair for each element", lambda: minimum(bounds=[(1, 2), (1, 2)]), ones(2)),
    ("type_of_a_constraint", "'eq'", lambda: minimum(constraints={"type": "eq", "fun": lambda x: x.sum()}), [0, 0]),
    ("data_of_other_lengths", "one length",
     lambda: scipy_optimize.curve_fit(lambda x, a, b: a * x + b, np.arange(4.0), 2 * np.arange(4.0) + 1)[0], [2, 1]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_the_code_that_follows_an_advice_runs():
    wrong = []
    for name, words, mended, value in TRIED:
        assert words in MESSAGES[name].splitlines()[-1], f"{name} advises {MESSAGES[name].splitlines()[-1]!r}"
        result = mended()
        if np.shape(result) != np.shape(value) or not np.allclose(result, value, atol=1e-6):
            wrong.append(f"{name}: {result} is not {value}")
    assert not wrong, "\n".join(wrong)
