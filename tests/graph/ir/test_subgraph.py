"""Graphs as parameters of an op: closed, compared, printed, pickled and validated."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from anyshape.errors import IllegalGraphError, ShapeError
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.graph import DimSource, Graph, Value, params_tuple, raises, subgraphs, walk
from anyshape.graph.ir.op_local import axes_of_variables, close
from anyshape.graph.ir.validate import check_graph, check_subgraph
from anyshape.graph.prover.constraints import Condition, at_least
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.sizes import expr
from anyshape.numpy.arrays.array import Array
from anyshape.ops.control import check
from anyshape.ops.creation import full
from anyshape.ops.dynamic import slice_at
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.arguments.specs import trace
from tests.graph.ir.subgraph_programs import PROGRAMS, captured_values, nested, size_without_an_axis

SPECS = ShapeDtypeStruct("", bool), ShapeDtypeStruct("n"), ShapeDtypeStruct("n, k")
FLOAT = np.dtype(float)


def traced(function, select):
    return trace(lambda p, x, w: function(select, p, x, w))(*SPECS).trace.graph


def call_of(graph):
    """The node that applies the op with subgraphs."""
    return next(n for n in graph.nodes if subgraphs(n))


def with_branches(graph, change):
    """The graph with its subgraphs changed."""
    node = call_of(graph)
    changed = replace(node, params=params_tuple({"branches": tuple(map(change, subgraphs(node)))}))
    return replace(graph, nodes=tuple([changed if n is node else n for n in graph.nodes]))


# -- closed


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_subgraphs_are_closed_and_share_their_inputs(select_graph, function):
    graph = traced(function, select_graph)
    check_graph(graph)
    for node in [n for n in walk(graph) if subgraphs(n)]:
        for inner in subgraphs(node):
            check_subgraph(inner)
            assert not inner.constants
            assert [str(v.meta) for v in inner.inputs] == [str(v.meta) for v in node.inputs[1:]]


def test_captured_values_and_constants_are_operands(select_graph):
    node = call_of(traced(captured_values, select_graph))
    assert [str(v.meta) for v in node.inputs] == ["bool[]", "f64[n]", "f64[n, k]", "f64[n]"]
    assert not any(inner.constants for inner in subgraphs(node))


def test_a_size_without_an_axis_has_a_carrier(select_graph):
    """k is a factor of n * k alone; n is read off a captured array."""
    node = call_of(traced(size_without_an_axis, select_graph))
    assert [str(v.meta) for v in node.inputs] == ["bool[]", "f64[n + 1]", "f64[k*n]", "f64[n]", "bool[k]"]


def test_a_proof_through_another_size_brings_that_size_along():
    """n <= m and m <= k make n <= k, which a slice relies on; no value of the subgraph has the size m."""
    n, m, k = (expr.variable(name) for name in "nmk")
    scope = Scope(conditions=[Condition("constraint", at_least(a, b), "test", "") for a, b in ((m, n), (k, m))])
    outer = Builder(scope, handle=Array)
    with activate(outer):
        inner = Builder(scope, parent=outer, handle=Array, whole=True)
        with activate(inner):
            long, _ = inner.input(tensor(FLOAT, [k])), inner.input(tensor(FLOAT, [n]))
            for variable, axis in axes_of_variables(inner.inputs).items():
                inner.define_dim(variable, axis)
            graph = inner.finish([slice_at(long, [full((), 0, "int64")], (n,))])
    closed = close([graph])
    assert [str(v) for v in closed.carried] == ["m"]
    assert [str(c.claim) for c in closed.graphs[0].conditions] == ["m >= n", "k >= m"]


def test_dead_code_and_its_captures_are_left_out(select_graph):
    def function(select, p, x, w):
        return select(p, lambda x: (w.sum(), x)[1], lambda x: x + 1, x)

    node = call_of(traced(function, select_graph))
    assert len(node.inputs) == 2
    assert [[n.op.name for n in g.nodes] for g in subgraphs(node)] == [[], ["full", "broadcast_in_dim", "add"]]


# -- equality, hashes, pickles


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_two_traces_are_equal(select_graph, function):
    first, second = traced(function, select_graph), traced(function, select_graph)
    assert str(first) == str(second)
    assert first == second
    assert hash(first) == hash(second)
    for a, b in zip(subgraphs(call_of(first)), subgraphs(call_of(second)), strict=True):
        assert a is not b
        assert a == b
        assert hash(a) == hash(b)


def test_other_programs_differ(select_graph):
    graphs = [traced(function, select_graph) for function in PROGRAMS]
    assert len({*graphs}) == len(graphs)


@pytest.mark.parametrize(
    ("shapes", "function"),
    [
        (("m", "n, k"), lambda x, w: x @ w if False else x),
        (("n", "n, n"), lambda x, w: x),
        (("n", "n, k"), lambda x, w: x + 1),
        (("n", "n, k"), lambda x, w: x * True),
        (("n", "n, k"), lambda x, w: x * np.nan),
        (("n", "n, k"), lambda x, w: x + np.arange(3.0).sum()),
        (("n", "k, n"), lambda x, w: x),
    ],
)
def test_equality_sees_types_sizes_and_literals(shapes, function):
    def graph(shapes, function):
        return trace(function)(*map(ShapeDtypeStruct, shapes)).trace.graph

    assert graph(shapes, function) == graph(shapes, function)
    plain = replace(graph(("n", "n, k"), lambda x, w: x), name="<lambda>")
    assert graph(shapes, function) != plain


def test_variables_of_an_enclosing_graph_keep_their_identity():
    """A graph with free variables is equal to another only where these are the same variables."""

    def linear(variable):
        x = Value(tensor(FLOAT, [variable]))
        return Graph("", (x,), (), (), (x,))

    n = expr.variable("n")
    assert linear(n) == linear(n)
    assert linear(n) != linear(expr.variable("n"))


def test_lines_play_no_part():
    first = trace(lambda x: x + 1)(ShapeDtypeStruct("n")).trace.graph
    second = trace(lambda x: x + 1)(ShapeDtypeStruct("n")).trace.graph
    assert first.nodes[0].where != second.nodes[0].where
    assert first == second


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_pickles_are_equal(select_graph, function):
    graph = traced(function, select_graph)
    copy = pickle.loads(pickle.dumps(graph))
    assert copy == graph
    assert str(copy) == str(graph)
    check_graph(copy)


# -- text


def test_a_subgraph_is_printed_under_its_node(select_graph):
    lines = str(traced(nested, select_graph)).splitlines()
    starts = [len(line) - len(line.lstrip()) for line in lines]
    headers = [i for i, line in enumerate(lines) if ") -> (" in line]
    assert [starts[i] for i in headers] == [0, 4, 8, 8, 4]
    assert "branches=(<outer: 5 nodes>, <<lambda>: " in lines[1]
    assert lines[headers[1]].strip().startswith("outer(%0: f64[n], %1: f64[n, k]) -> (f64[])")


# -- validation


def test_a_subgraph_that_reads_an_outer_value_is_illegal(select_graph):
    graph = traced(captured_values, select_graph)
    outside = graph.inputs[1]
    with pytest.raises(IllegalGraphError, match=r"before it is made|which nothing makes"):
        check_graph(with_branches(graph, lambda g: replace(g, outputs=(outside,))))


def test_a_subgraph_with_a_constant_is_illegal(select_graph):
    graph = traced(captured_values, select_graph)
    array = np.zeros(3)
    constant = Value(tensor(FLOAT, (3,))), array
    with pytest.raises(IllegalGraphError, match="subgraph with constants"):
        check_graph(with_branches(graph, lambda g: replace(g, constants=(constant,))))


def test_a_size_that_no_input_has_is_illegal(select_graph):
    graph = traced(captured_values, select_graph)
    with pytest.raises(IllegalGraphError, match="is a subgraph with the size"):
        check_graph(with_branches(graph, lambda g: replace(g, dims=g.dims[:1])))


def test_a_size_read_off_another_axis_is_illegal(select_graph):
    def moved(g):
        first, *others = g.dims
        return replace(g, dims=(DimSource(first.variable, expr.input_axis(99, 0)), *others))

    with pytest.raises(IllegalGraphError, match="which is not an axis of it"):
        check_graph(with_branches(traced(captured_values, select_graph), moved))


def test_an_illegal_node_inside_is_found(select_graph):
    def broken(g):
        return replace(g, nodes=g.nodes[::-1])

    with pytest.raises(IllegalGraphError, match="before it is made"):
        check_graph(with_branches(traced(captured_values, select_graph), broken))


def test_operands_that_do_not_fit_are_illegal(select_graph):
    graph = traced(captured_values, select_graph)
    node = call_of(graph)
    swapped = replace(node, inputs=(node.inputs[0], node.inputs[2], node.inputs[1], *node.inputs[3:]))
    with pytest.raises(IllegalGraphError, match="its shape rule refuses"):
        check_graph(replace(graph, nodes=tuple([swapped if n is node else n for n in graph.nodes])))


def test_a_node_states_what_its_subgraphs_assert(select_graph):
    def function(select, p, x, w):
        return select(p, lambda x: x[2] * 1, lambda x: x[0] * 2, x)

    graph = traced(function, select_graph)
    assert [str(c.claim) for c in graph.conditions] == ["n >= 3"]
    check_graph(graph)
    with pytest.raises(IllegalGraphError, match="does not state"):
        check_graph(replace(graph, conditions=()))


def test_a_subgraph_refuses_operands_that_break_its_conditions(select_graph):
    graph = traced(lambda s, p, x, w: s(p, lambda x: x[2] * 1, lambda x: x[0] * 2, x), select_graph)
    node = call_of(graph)
    builder = Builder(Scope())
    with activate(builder):
        predicate, short = builder.input(node.inputs[0].meta), builder.input(tensor(FLOAT, (2,)))
        with pytest.raises(ShapeError, match="out of bounds"):
            builder.emit(node.op, [predicate, short], [], dict(node.params))


# -- walks


def test_a_check_inside_makes_a_node_raise(select_graph):
    def checked(select, p, x, w):
        return select(p, lambda x: x * check(np.all(x > 0), "positive"), lambda x: x, x)

    assert raises(call_of(traced(checked, select_graph)))
    assert not raises(call_of(traced(nested, select_graph)))


def test_walk_meets_every_node_once(select_graph):
    graph = traced(nested, select_graph)
    nodes = list(walk(graph))
    assert len(nodes) == len({*nodes})
    assert sum(bool(subgraphs(n)) for n in nodes) == 2


def test_closing_graphs_of_different_captures_gives_equal_inputs():
    outer = Builder(Scope())
    with activate(outer):
        a, b = outer.input(tensor(FLOAT, (2,))), outer.input(tensor(FLOAT, (3,)))
        graphs, captures = [], []
        for captured in (a, b):
            inner = Builder(outer.scope, parent=outer, handle=outer.handle, whole=True)
            with activate(inner):
                inner.input(tensor(FLOAT, ()))
                graphs.append(inner.finish([captured]))
            captures.append(inner.captures())
    closed = close(graphs, captures)
    assert [[str(v.meta) for v in g.inputs] for g in closed.graphs] == [["f64[]", "f64[2]", "f64[3]"]] * 2
    assert [x.value for x in closed.captures] == [a.value, b.value]
