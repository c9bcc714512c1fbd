"""Passes, plans, costs and drawings of graphs whose nodes have subgraphs."""

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.compiler.codegen.execute import compile_plan
from anyshape.backend.compiler.lower import lower, reliances_of_passes
from anyshape.backend.compiler.passes.identities import simplify
from anyshape.backend.compiler.passes.pipeline import optimize, prepare_to_run
from anyshape.backend.interpreter import evaluate
from anyshape.graph.ir.graph import subgraphs
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.ir.validate import check_graph
from anyshape.graph.shapes.array_type import Exact, Unknown, UpperBound
from anyshape.inspect.cost import cost
from anyshape.inspect.draw.html import to_html
from anyshape.inspect.draw.picture import to_dot
from anyshape.ops.control import check
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.arguments.specs import trace
from tests.graph.ir.subgraph_programs import PROGRAMS, SIZES, arrays, captured_values, choose

every_program = pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)


def traced(function, select):
    specs = ShapeDtypeStruct("", bool), ShapeDtypeStruct("n"), ShapeDtypeStruct("n, k")
    return trace(lambda p, x, w: function(select, p, x, w))(*specs)


def calls(graph):
    return [n for n in graph.nodes if subgraphs(n)]


@every_program
@pytest.mark.parametrize("apply", [simplify, remove_dead_code, optimize, prepare_to_run, lambda g: g])
def test_passes_change_no_result(select_graph, function, apply):
    graph = apply(traced(function, select_graph).trace.graph)
    check_graph(graph)
    run = compile_plan(lower(graph))
    for n, k in SIZES:
        for p in (True, False):
            xs = np.asarray(p), *arrays(n, k)
            expected = function(choose, *xs)
            np.testing.assert_allclose(evaluate(graph, xs)[0], expected, rtol=1e-12)
            np.testing.assert_allclose(run(*xs)[0], expected, rtol=1e-12)


@every_program
def test_passes_state_what_they_rely_on(select_graph, function):
    assert isinstance(reliances_of_passes(traced(function, select_graph).trace.graph), list)


def test_equal_subgraphs_on_equal_operands_run_once(select_graph):
    def twice(select, p, x, w):
        first, second = (select(p, lambda x: np.sum(x @ w), lambda x: np.sum(x), x) for _ in range(2))
        return first + second

    program = traced(twice, select_graph)
    assert len(calls(program.trace.graph)) == 1
    jitted = anyshape.jit(lambda p, x, w: twice(select_graph, p, x, w))
    x, w = arrays(3, 2)
    assert jitted(True, x, w) == 2 * np.sum(x @ w)


def test_equal_subgraphs_merge_in_the_pass_too(select_graph):
    """Two traces inside of two checkpoints differ until the marks go."""

    def twice(select, p, x, w):
        part = anyshape.checkpoint(lambda x: select(p, lambda x: np.sum(x @ w), lambda x: np.sum(x), x))
        return part(x) + part(x * 1)

    graph = traced(twice, select_graph).trace.graph
    assert len(calls(prepare_to_run(optimize(graph)))) == 1


def test_other_subgraphs_do_not_merge(select_graph):
    def two(select, p, x, w):
        return select(p, lambda x: np.sum(x), lambda x: np.sum(x * 2), x) + select(
            p, lambda x: np.sum(x), lambda x: np.sum(x * 3), x
        )

    assert len(calls(optimize(traced(two, select_graph).trace.graph))) == 2


def test_a_dead_call_goes_and_one_that_checks_stays(select_graph):
    def dead(select, p, x, w):
        select(p, lambda x: np.sum(x), lambda x: np.sum(x * 2), x)
        return np.sum(w)

    def checking(select, p, x, w):
        select(p, lambda x: x * check(np.all(x > 0), "x is positive"), lambda x: x, x)
        return np.sum(w)

    assert not calls(traced(dead, select_graph).graph)
    program = traced(checking, select_graph)
    assert len(calls(program.graph)) == 1
    x, w = -np.ones(2), np.ones((2, 1))
    assert program(False, x, w) == 2
    with pytest.raises(anyshape.errors.CheckError, match="x is positive"):
        program(True, x, w)


def test_a_call_of_sizes_alone_is_hoisted(select_graph):
    def mask(select, p, x, w):
        places = anp.arange(x.shape[0], dtype=float)
        return np.sum(select(np.sum(places) > 3, lambda a: a * 2, lambda a: a, places) * x)

    program = traced(mask, select_graph)
    assert "select_graph" in [step.op.name for step in lower(program.graph, hoist=True).hoisted]
    for n in (0, 1, 2, 5, 5):
        x, w = arrays(n, 1)
        np.testing.assert_allclose(program(True, x, w), np.sum(np.arange(n) * (2 if n > 3 else 1) * x))


@pytest.mark.parametrize("kind", ["callback", "check"])
def test_a_call_with_an_effect_inside_is_not_hoisted(select_graph, kind):
    def effect(a):
        if kind == "check":
            return a * check(np.all(a >= 0), "not negative")
        return anyshape.pure_callback(np.sqrt, anyshape.ShapeDtypeStruct(a.shape), a)

    def function(select, p, x, w):
        places = anp.arange(x.shape[0], dtype=float)
        return np.sum(select(np.sum(places) > 3, effect, lambda a: a, places) * x)

    program = traced(function, select_graph)
    plan = lower(program.graph, hoist=True)
    assert "select_graph" not in [step.op.name for step in plan.hoisted]
    x, w = arrays(4, 1)
    expected = np.sum((np.sqrt if kind == "callback" else np.asarray)(np.arange(4.0)) * x)
    np.testing.assert_allclose(program(True, x, w), expected)


def test_no_fusion_group_holds_a_call(select_graph):
    def long_chain(select, p, x, w):
        y = np.exp(np.tanh(w) * 2) + np.sqrt(1 + w * w)
        y = select(p, lambda y: y * 2, lambda y: y + 1, y)
        return np.sum(np.tanh(y) * np.exp(-y * y) + np.cos(y))

    program = traced(long_chain, select_graph)
    grouped = [step.op.name for group in program.plan.groups for step in group.steps]
    assert grouped
    assert "select_graph" not in grouped
    x, w = arrays(3000, 20)
    np.testing.assert_allclose(program(True, x, w), long_chain(choose, True, x, w), rtol=1e-10)


def test_memory_limited_plans_keep_the_bits(select_graph):
    def loss(p, x, w):
        for _ in range(4):
            w = np.tanh(w) * np.exp(-w * w) + 0.5 * w
            w = select_graph(p, lambda w: w * 1.5, lambda w: np.sin(w), w)
        return np.sum(w * x[:, None])

    x, w = arrays(2000, 8)
    plain = anyshape.grad(anyshape.jit(loss), argnums=2)
    expected = plain(True, x, w)
    limit = anyshape.jit(loss, max_bytes=60 * w.nbytes)
    np.testing.assert_array_equal(anyshape.grad(limit, argnums=2)(True, x, w), expected)


# -- replays at other sizes


def test_a_broadcast_inside_is_specialised_by_its_pattern(select_graph):
    """The graph is replayed for calls where a size is 1. Its subgraphs move unchanged."""
    jitted = anyshape.jit(
        lambda p, x, y: select_graph(p, lambda x, y: np.sum(np.sin(x) * y), lambda x, y: x.sum(), x, y)
    )
    rng = np.random.default_rng(0)
    for n, m in [(3, 3), (1, 3), (3, 1), (4, 4)] * 20:
        x, y = rng.normal(size=n), rng.normal(size=m)
        np.testing.assert_allclose(jitted(True, x, y), np.sum(np.sin(x) * y))
        np.testing.assert_allclose(jitted(False, x, y), np.sum(x))
    assert len(jitted.programs()) == 1
    with pytest.raises(anyshape.errors.SizeMismatchError, match="or one of them must be 1"):
        jitted(True, np.ones(2), np.ones(3))


def test_a_program_with_subgraphs_becomes_part_of_another(select_graph):
    inner = traced(captured_values, select_graph)
    outer = anyshape.jit(lambda p, x, w: inner(p, x[1:] * 2, w[1:]) + np.sum(x))
    for n in (1, 2, 6):
        x, w = arrays(n, 2)
        for p in (True, False):
            expected = captured_values(choose, p, x[1:] * 2, w[1:]) + np.sum(x)
            np.testing.assert_allclose(outer(p, x, w), expected)
    assert len(outer.programs()) == 1


# -- costs and drawings


def test_the_cost_is_that_of_the_dearer_branch(select_graph):
    def function(select, p, x, w):
        return select(p, lambda x, w: np.sum(x @ w), lambda x, w: np.sum(np.sin(x)), x, w)

    counted = cost(traced(function, select_graph).graph)
    assert isinstance(counted.flops, UpperBound)
    assert counted.at({"n": 10, "k": 3}).flops == UpperBound(2 * 10 * 3 + 3)
    assert counted.at({"n": 10, "k": 0}).flops == UpperBound(2 * 10)


def test_an_axis_of_unknown_size_inside_makes_the_cost_unknown(select_graph):
    def function(select, p, x, w):
        spec = ShapeDtypeStruct("?")
        unknown = lambda x: np.sum(anyshape.pure_callback(np.unique, spec, x) * 2)
        return select(p, unknown, lambda x: np.sum(x), x)

    counted = cost(traced(function, select_graph).graph)
    assert counted.flops == Unknown()
    assert isinstance(counted.bytes_read, Exact)


def test_the_bound_of_memory_counts_what_a_subgraph_allocates(select_graph):
    program = traced(captured_values, select_graph)
    plain = trace(lambda x, w: np.sum(np.tanh(x @ w)))(ShapeDtypeStruct("n"), ShapeDtypeStruct("n, k"))
    sizes = {"n": 100, "k": 200}
    assert program.cost().at(sizes).peak_bytes.size > plain.cost().at(sizes).peak_bytes.size


@every_program
def test_drawings_show_subgraphs(select_graph, function):
    program = traced(function, select_graph)
    for node in calls(program.graph):
        header = str(subgraphs(node)[0]).splitlines()[1].split("#")[0].strip()
        assert header.split(" = ")[-1].split("{")[0].strip() in to_dot(program)
    assert "subgraph" in to_html(program)


def test_a_plan_shows_subgraphs_on_one_line(select_graph):
    text = str(traced(captured_values, select_graph).plan)
    (line,) = [line for line in text.splitlines() if "select_graph" in line]
    assert "branches=(<<lambda>: " in line
