"""Tests of checkpoint: the same values and derivatives under every transform, in less memory."""

import pickle

import numpy as np
import optree
import pytest

import anyshape
from anyshape import checkpoint, grad, hessian, hvp, jit, jvp, linearize, trace, value_and_grad, vjp, vmap
from anyshape.backend.interpreter import evaluate
from anyshape.errors import ArgumentError
from anyshape.graph.ir.validate import check_graph
from tests.backend.compiler.test_peak_memory import measured

RNG = np.random.default_rng(0)


def layer(x, w, scale=1.0):
    z = x @ w
    return np.tanh(z * scale) / np.sqrt(np.mean(z * z, axis=-1, keepdims=True) + 1.0)


def network(one):
    def loss(x, ws):
        for w in ws:
            x = one(x, w)
        return np.sum(x * x)

    return loss


def nested(x, w):
    return checkpoint(lambda h: np.sin(h) * h)(checkpoint(layer)(x, w))


ONES = {
    "plain": checkpoint(layer),
    "contractions": checkpoint(layer, policy="contractions"),
    "nested": checkpoint(lambda x, w: np.sin(checkpoint(layer)(x, w))),
    "in a row": nested,
    "jitted": jit(checkpoint(jit(layer))),
}
SAME = {"nested": lambda x, w: np.sin(layer(x, w)), "in a row": lambda x, w: np.sin(layer(x, w)) * layer(x, w)}
TRANSFORMS = {
    "value": lambda f: f,
    "grad": lambda f: grad(f, argnums=(0, 1)),
    "jit grad jit": lambda f: jit(grad(jit(f), argnums=1)),
    "jvp": lambda f: lambda x, ws: jvp(lambda x: f(x, ws), (x,), (x,)),
    "vjp": lambda f: lambda x, ws: vjp(f, x, ws)[1](np.array(0.7)),
    "linearize": lambda f: lambda x, ws: linearize(lambda x: f(x, ws), x)[1](x),
    "vmap of grad": lambda f: vmap(grad(f, argnums=1), in_axes=(0, None)),
    "grad of vmap": lambda f: grad(lambda x, ws: np.sum(vmap(f, in_axes=(0, None))(x, ws) ** 2), argnums=(0, 1)),
    "hvp": lambda f: lambda x, ws: hvp(lambda x: f(x, ws), (x,), (x,)),
    "grad of grad": lambda f: grad(lambda x, ws: np.sum(grad(f, argnums=1)(x, ws)[0] ** 2)),
    "grad of jvp": lambda f: grad(lambda x, ws: jvp(lambda y: f(y, ws), (x,), (x,))[1]),
    "hessian": lambda f: lambda x, ws: hessian(lambda x: f(x, ws))(x),
}


def arguments(n=4, layers=2):
    return RNG.normal(size=(n, 3)), [RNG.normal(size=(3, 3)) for _ in range(layers)]


# Half of the pairs are in the gate: each checkpoint meets half of the transforms, and each transform half of them.
PAIRS = [
    pytest.param(one, transform, marks=[pytest.mark.slow] * ((i + j) % 2), id=f"{one}-{transform}")
    for i, one in enumerate(ONES)
    for j, transform in enumerate(TRANSFORMS)
]


@pytest.mark.parametrize(("one", "transform"), PAIRS)
def test_every_transform_gives_the_same_with_and_without_checkpoints(one, transform):
    checkpointed, plain = (
        TRANSFORMS[transform](network(ONES[one])),
        TRANSFORMS[transform](network(SAME.get(one, layer))),
    )
    for n in (0, 1, 2, 5):
        x, ws = arguments(n)
        for a, b in zip(optree.tree_leaves(checkpointed(x, ws)), optree.tree_leaves(plain(x, ws)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11, strict=True)


def test_the_gradient_is_the_same_bit_for_bit():
    x, ws = arguments(50, 4)
    gradients = [optree.tree_leaves(grad(network(f), (0, 1))(x, ws)) for f in (layer, ONES["plain"])]
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)


def counts(program, name):
    return sum(step.op.name == name for step in program.plan.steps)


def made(function, *args):
    function(*args)
    return function.programs()[0]


@pytest.mark.parametrize("one", ONES)
def test_graphs_are_legal_and_plans_equal_the_reference(one):
    x, ws = arguments()
    program = made(grad(network(ONES[one]), argnums=(0, 1)), x, ws)
    check_graph(program.graph)
    for a, b in zip(program.run(x, *ws), evaluate(program.graph, [x, *ws]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert pickle.loads(pickle.dumps(program)).graph == program.graph


def test_the_inside_is_recomputed_and_markers_leave_the_plan():
    x, ws = arguments(4, 3)
    functions = layer, ONES["plain"], ONES["contractions"]
    programs = plain, checkpointed, contractions = [made(grad(network(f), argnums=(0, 1)), x, ws) for f in functions]
    assert [counts(p, "dot_general") for p in programs] == [3 * 3, 4 * 3, 3 * 3]
    assert counts(plain, "tanh") == 3 and counts(checkpointed, "tanh") == counts(contractions, "tanh") == 6
    assert not any("checkpoint" in step.op.name for p in programs for step in p.plan.steps)
    value = made(jit(network(ONES["plain"])), x, ws)  # without a derivative there is nothing to recompute
    assert counts(value, "tanh") == 3


def test_an_outer_checkpoint_recomputes_inner_ones_a_second_time():
    inner = checkpoint(lambda x: np.sin(np.tanh(x)))
    outer = checkpoint(lambda x: np.exp(inner(x)))
    program = made(value_and_grad(lambda x: np.sum(outer(x))), np.ones(3))
    assert [counts(program, name) for name in ("tanh", "sin", "exp")] == [3, 2, 2]


@pytest.mark.parametrize("outer", [None, "contractions"])
@pytest.mark.parametrize("inner", [None, "contractions"])
def test_nested_checkpoints_keep_what_both_policies_keep(inner, outer):
    inside = checkpoint(layer, policy=inner)
    program = made(grad(network(checkpoint(lambda x, w: np.sin(inside(x, w)), policy=outer)), (0, 1)), *arguments(4, 3))
    recomputed = 0 if inner and outer else 2  # once for the outer checkpoint, once more for the inner one
    assert counts(program, "dot_general") == 3 * (3 + recomputed)


def test_checkpoints_lower_the_bound_and_the_measured_memory():
    def deep(h, w):
        for _ in range(3):
            h = np.tanh(h @ w)
        return h

    x = RNG.normal(size=(2000, 40))
    ws = [RNG.normal(size=(40, 40)) / 6 for _ in range(6)]
    peaks = []
    for one in (deep, checkpoint(deep)):
        program = made(grad(anyshape.jit(network(one), optimize="now"), argnums=(0, 1)), x, ws)
        sizes = {str(s.variable): n for s, n in zip(program.graph.dims, [2000, *[40] * 13], strict=True)}
        bound = program.cost().at(sizes).peak_bytes.size
        program.run(x, *ws)  # which loads what writes kernels
        used, _ = measured(program.run, [x, *ws])
        assert used <= 1.02 * bound + 250_000
        peaks.append((bound, used))
    (plain, used_plain), (less, used_less) = peaks
    assert less < 0.8 * plain and used_less < 0.8 * used_plain


def test_vjp_keeps_only_the_inputs_of_the_checkpoint():
    def chain(x):
        for _ in range(10):
            x = np.sin(x) * x
        return x

    x = np.ones(1000)
    residuals = [vjp(f, x)[1].__self__.residuals for f in (chain, checkpoint(chain))]
    assert len(residuals[0]) >= 10 and len(residuals[1]) == 1


def test_captured_values_count_as_arguments():
    def loss(w, *, wrap):
        layer = wrap(lambda x: x * np.exp(w))  # exp(w) reads nothing but the outer value
        return np.sum(layer(w) ** 2)

    w = RNG.normal(size=5)
    plain = made(grad(lambda w: loss(w, wrap=lambda f: f)), w)
    again = made(grad(lambda w: loss(w, wrap=checkpoint)), w)
    assert counts(plain, "exp") == 1 and counts(again, "exp") == 2
    np.testing.assert_allclose(again.run(w)[0], plain.run(w)[0], rtol=1e-14)


class Model:
    def __init__(self, w):
        self.w = w

    @checkpoint
    def __call__(self, x, params):
        return {"y": np.tanh(x["in"] @ params["w"]) * self.w, "n": params["n"]}

    @checkpoint(policy="contractions")
    def other(self, x):
        return np.tanh(x) * self.w


def test_methods_trees_and_static_values():
    model = Model(2.0)
    x, w = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 2))
    assert model({"in": x}, {"w": w, "n": 3})["n"] == 3
    derivative = grad(lambda w: np.sum(model({"in": x}, {"w": w, "n": 1})["y"]))(w)
    np.testing.assert_allclose(derivative, grad(lambda w: np.sum(np.tanh(x @ w) * 2.0))(w), rtol=1e-13)
    np.testing.assert_allclose(grad(lambda x: np.sum(model.other(x)))(x), 2 / np.cosh(x) ** 2, rtol=1e-13)
    power = checkpoint(lambda x, how, k: x**k if how == "power" else x)
    assert grad(lambda x: np.sum(power(x, "power", 3)))(np.ones(2)).tolist() == [3, 3]


def test_sizes_integers_and_sizes_that_depend_on_data():
    @checkpoint
    def chosen(x, i):
        return np.sum(np.sin(x[x > 0]) ** 2) + np.sum(x[i] * x.shape[0]) + np.sum(np.sin(x)[: np.sum(x > 0)])

    def plain(x, i):
        return np.sum(np.sin(x[x > 0]) ** 2) + np.sum(x[i] * x.shape[0]) + np.sum(np.sin(x)[: np.sum(x > 0)])

    derivative, wanted = grad(chosen), grad(plain)
    for n in (1, 2, 5, 300):
        x, i = RNG.normal(size=n), RNG.integers(0, n, size=n)
        np.testing.assert_allclose(derivative(x, i), wanted(x, i), rtol=1e-12, strict=True)
    assert derivative.cache_info().traces == 1


def test_programs_with_checkpoints_are_differentiated_saved_and_drawn(tmp_path):
    f = trace(lambda x: np.sum(ONES["plain"](x, np.eye(3))))(anyshape.ShapeDtypeStruct("n, 3"))
    f.save(tmp_path / "f")
    x = RNG.normal(size=(4, 3))
    loaded = anyshape.load(tmp_path / "f")
    np.testing.assert_array_equal(grad(loaded)(x), grad(f)(x))
    again = made(grad(loaded), x)
    assert counts(again, "tanh") == 1 and any(n.op.name == "enter_checkpoint" for n in again.graph.nodes)
    assert "enter_checkpoint" in f.html()


@pytest.mark.parametrize("policy", ["all", 3, ["contractions"]])
def test_an_unknown_policy_is_refused(policy):
    with pytest.raises(ArgumentError, match="policy"):
        checkpoint(np.sin, policy=policy)


def test_a_non_function_is_refused():
    with pytest.raises(ArgumentError, match="not a function"):
        checkpoint(np.ones(3))
