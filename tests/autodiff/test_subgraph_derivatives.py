"""Derivatives and batches of an op with subgraphs equal derivatives and batches of the branch that it runs."""

import numpy as np
import pytest

import anyshape
from anyshape.autodiff.rule_tables import BATCHERS, JVPS, TRANSPOSES
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.graph.ir.graph import OPS
from anyshape.graph.ir.validate import check_graph
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.core.definition import DEFINITIONS
from anyshape.ops.core.flop_counts import COSTS
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.arguments.specs import trace
from tests.graph.ir.subgraph_programs import PROGRAMS, SIZES, arrays, choose

BATCHED = [f for f in PROGRAMS if f.__name__ != "data_dependent_sizes"]  # examples would differ in their sizes
every_program = pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
every_batched = pytest.mark.parametrize("function", BATCHED, ids=lambda f: f.__name__)


def gradient(function, select):
    """The gradient of a program in x and w, as a function of the predicate, x and w."""
    return lambda p, x, w: anyshape.grad(lambda x, w: function(select, p, x, w), argnums=(0, 1))(x, w)


def second_gradient(function, select):
    """The gradient of the squared norm of the gradient."""

    def norm(p, x, w):
        return sum([np.sum(g**2) for g in gradient(function, select)(p, x, w)])

    return lambda p, x, w: anyshape.grad(lambda x, w: norm(p, x, w), argnums=(0, 1))(x, w)


def tangent(function, select):
    """The tangent of a program for tangents of x and w."""
    return lambda p, x, w: anyshape.jvp(lambda x, w: function(select, p, x, w), (x, w), (np.cos(x), np.sin(w)))[1]


def traced(function):
    """One trace, for all sizes."""
    return trace(function)(ShapeDtypeStruct("", bool), ShapeDtypeStruct("n"), ShapeDtypeStruct("n, k"))


def check(program, reference):
    """Compare at sizes 0, 1, 2 and 5, for both branches."""
    check_graph(program.graph)
    for n, k in SIZES:
        for p in (True, False):
            x, w = arrays(n, k)
            got, expected = program(p, x, w), reference(p, x, w)
            for a, b in zip(*map(as_tuple, (got, expected)), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=f"n={n}, k={k}, {p}")


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


@every_program
def test_values_equal_numpy(select_graph, function):
    program = traced(lambda p, x, w: function(select_graph, p, x, w))
    check(program, lambda p, x, w: function(choose, p, x, w))


@every_program
@pytest.mark.parametrize("derive", [tangent, gradient, second_gradient])
def test_derivatives_equal_the_derivatives_of_the_branch(select_graph, function, derive):
    check(traced(derive(function, select_graph)), derive(function, choose))


def value(f, select):
    return lambda p, x, w: f(select, p, x, w)


# Half of the cases are in the gate: each two of a function, a derivative and a way to batch meet in it.
MAPPED = [
    pytest.param(
        f, derive, axes, marks=[pytest.mark.slow] * ((i + j + k) % 2), id=f"{f.__name__}-{derive.__name__}-{axes}"
    )
    for i, f in enumerate(BATCHED)
    for j, derive in enumerate([value, tangent, gradient, second_gradient])
    for k, axes in enumerate([(None, 0, None), (None, 0, 0), (0, 0, 0), (0, None, None)])
]


@pytest.mark.parametrize(("function", "derive", "axes"), MAPPED)
def test_batches_equal_a_loop_over_examples(select_graph, function, derive, axes):
    plain, batched = ("", "n", "n, k"), ("b", "b, n", "b, n, k")
    shapes = [batched[i] if axis == 0 else plain[i] for i, axis in enumerate(axes)]
    stacked = [ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, (bool, float, float), strict=True)]
    mapped = trace(anyshape.vmap(derive(function, select_graph), in_axes=axes))(*stacked)
    check_graph(mapped.graph)
    reference = derive(function, choose)
    for n, k in SIZES[1:]:
        examples = [(bool(i % 2), *arrays(n, k, seed=i)) for i in range(3)]
        columns = [
            np.stack(column) if axis == 0 else column[0] for column, axis in zip(zip(*examples), axes, strict=True)
        ]
        got = as_tuple(mapped(*columns))
        for i in range(3):
            expected = as_tuple(reference(*[c[i] if axis == 0 else c for c, axis in zip(columns, axes, strict=True)]))
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_allclose(a[i], b, rtol=1e-9, atol=1e-11)


@every_batched
def test_the_gradient_of_a_batch(select_graph, function):
    """`grad(vmap(f))`: the rules of derived ops apply to batched subgraphs."""

    def total(select):
        mapped = lambda p, xs, ws: anyshape.vmap(lambda x, w: function(select, p, x, w))(xs, ws)
        return lambda p, xs, ws: anyshape.grad(lambda xs: np.sum(mapped(p, xs, ws) ** 2))(xs)

    shapes = ShapeDtypeStruct("", bool), ShapeDtypeStruct("b, n"), ShapeDtypeStruct("b, n, k")
    program = trace(total(select_graph))(*shapes)
    for p in (True, False):
        xs, ws = (np.stack(part) for part in zip(*[arrays(3, 2, seed=i) for i in range(4)], strict=True))
        np.testing.assert_allclose(program(p, xs, ws), total(choose)(p, xs, ws), rtol=1e-10)


def test_a_checkpoint_computes_a_subgraph_again(select_graph):
    function = PROGRAMS[0]

    def total(x, w, p, wrap):
        inner = wrap(lambda x, w: np.sin(function(select_graph, p, x, w)))
        return inner(x, w) ** 2

    x, w = arrays(4, 3)
    plain = anyshape.jit(anyshape.grad(lambda x, w, p: total(x, w, p, lambda f: f)))(x, w, True)
    again = anyshape.jit(anyshape.grad(lambda x, w, p: total(x, w, p, anyshape.checkpoint)))(x, w, True)
    np.testing.assert_allclose(again, plain, rtol=1e-12)


def test_the_op_leaves_every_table_after_a_test(select_graph):
    op = OPS["select_graph"]
    tables = (KERNELS, JVPS, TRANSPOSES, BATCHERS, TRAITS, DEFINITIONS, COSTS)
    assert all(op in table for table in tables)


def test_no_table_holds_the_op_outside_of_its_tests():
    tables = (KERNELS, JVPS, TRANSPOSES, BATCHERS, TRAITS, DEFINITIONS, COSTS)
    assert "select_graph" not in OPS
    assert not [op for table in tables for op in table if op.name == "select_graph"]
