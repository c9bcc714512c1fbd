"""Graphs that tracing, transforms and passes make are legal, and each kind of illegal graph raises."""

from dataclasses import replace

import numpy as np
import optree
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import cond
from anyshape.backend.compiler.passes.identities import simplify
from anyshape.errors import IllegalGraphError
from anyshape.graph.ir import validate
from anyshape.graph.ir.graph import Value, walk
from anyshape.graph.ir.op_local import remove_dead_code
from anyshape.graph.ir.validate import check_graph, check_sizes_defined
from anyshape.graph.shapes.array_type import tensor
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.arguments.specs import trace
from tests.laws.sweep import few_combinations, gate_part, in_namespace, is_error, outcome, programs_at, rows

ROWS = rows()


@pytest.fixture(autouse=True)
def first_plans_only(monkeypatch):
    """Graphs are read, and no plan: the sweeps of tests/laws run optimised plans of every row."""
    monkeypatch.setattr(anyshape.config, "optimize", "off")


def check_programs(programs):
    for program in programs:
        check_graph(program.trace.graph)
        check_graph(remove_dead_code(program.trace.graph))
        check_graph(simplify(program.trace.graph))
        check_graph(program.graph)


LEGAL = "graphs are legal"


@pytest.mark.parametrize("case", gate_part(LEGAL, ROWS, one_in=14))
def test_graphs_are_legal_after_every_transform_and_pass(case):
    _, row = case
    function = in_namespace(row, anp)
    served = list(programs_at(row, row.dtypes[0], few_combinations(row)))
    if not served:
        pytest.skip("NumPy refuses the row at every size tried")
    check_programs({id(program): program for _, program in served}.values())
    check_derivatives(row, function, served[0][0])
    if row.vmap:
        mapped = anyshape.vmap(function)
        if not is_error(outcome(mapped, *[np.stack([x, x, x]) for x in served[0][0]])):
            check_programs(mapped.programs())


def check_derivatives(row, function, xs):
    """Check the graphs of first and second derivatives, where the row has them."""
    wrt = tuple([i for i, x in enumerate(xs) if np.asarray(x).dtype.kind == "f"])
    if not row.grad or not wrt:
        return

    def total(*args):
        return sum([np.sum(np.real(y) ** 2) for y in floats_of(function(*args))])

    gradient = anyshape.grad(total, argnums=wrt)
    second = anyshape.grad(lambda *args: sum([np.sum(g) for g in gradient(*args)]), argnums=wrt)
    for derived in (gradient, second) if row.order > 1 else (gradient,):
        derived(*xs)
        check_programs(derived.programs())


def floats_of(tree):
    return [y for y in optree.tree_leaves(tree) if hasattr(y, "dtype") and y.dtype.kind in "fc"]


@pytest.fixture
def graph():
    return trace(lambda x, w: np.tanh(x @ w) + 1.0)(ShapeDtypeStruct("n, k"), ShapeDtypeStruct("k, 3")).trace.graph


def test_a_value_read_before_it_is_made_raises(graph):
    with pytest.raises(IllegalGraphError, match="before it is made"):
        check_graph(replace(graph, nodes=graph.nodes[::-1]))


def test_a_value_made_twice_raises(graph):
    with pytest.raises(IllegalGraphError, match="a second time"):
        check_graph(replace(graph, nodes=(*graph.nodes, graph.nodes[0])))


def test_an_output_that_nothing_makes_raises(graph):
    with pytest.raises(IllegalGraphError, match="nothing makes"):
        check_graph(replace(graph, outputs=(Value(tensor(np.dtype(float), ())),)))


def test_an_array_type_that_does_not_follow_raises(graph):
    first = graph.nodes[0]
    stronger = Value(tensor(np.dtype(float), (2, 3)))
    with pytest.raises(IllegalGraphError, match="promises"):
        check_graph(replace(graph, nodes=(replace(first, outputs=(stronger,)),), outputs=(stronger,)))


def test_an_assertion_that_is_not_stated_raises():
    unstated = trace(lambda x, w: x @ w)(ShapeDtypeStruct("n, k"), ShapeDtypeStruct("m, 3")).trace.graph
    check_graph(unstated)
    with pytest.raises(IllegalGraphError, match="does not state"):
        check_graph(replace(unstated, conditions=()))


def test_a_size_that_nothing_defines_raises():
    graph = trace(lambda x: (x, np.nonzero(x)[0])[0])(ShapeDtypeStruct("n")).trace.graph
    check_graph(graph)
    with pytest.raises(IllegalGraphError, match=r"has the size count\w*, which nothing defines"):
        check_sizes_defined(replace(graph, nodes=()))
    with pytest.raises(IllegalGraphError, match="has the size n, which nothing defines"):
        check_sizes_defined(replace(graph, dims=()))


def test_dead_code_takes_facts_about_its_sizes_along():
    graph = trace(lambda x: (np.nonzero(x > 1)[0], np.nonzero(x)[0])[1])(ShapeDtypeStruct("n")).trace.graph
    assert len(graph.runtime) == 2
    alive = remove_dead_code(graph)
    check_graph(alive)
    assert len(alive.runtime) == 1
    assert [v for c in alive.conditions for v in c.claim.variables() if v in alive.runtime]


def test_reliances_of_rules_are_recorded():
    reliance_log = []

    def function(x):
        y = np.sum(x, axis=0)
        reliance_log.append(y.builder.scope)
        return np.sum(y * 2)

    anyshape.grad(function)(np.ones((2, 3)))
    assert any(r.primitive == "reduce_sum" and r.field == "shape" for r in reliance_log[0].reliances)


def test_a_subgraph_is_checked_once_though_many_stand_around_it(monkeypatch):
    def nest(x, depth):
        return cond(x.sum() > depth, lambda: nest(x * 2, depth - 1), lambda: x * 3) if depth else x

    checked, check_types = [], validate._check_types
    monkeypatch.setattr(validate, "_check_types", lambda scope, node: (checked.append(node), check_types(scope, node)))
    graph = trace(lambda x: nest(x, 8))(ShapeDtypeStruct("n")).trace.graph
    check_graph(graph)
    assert len(checked) == len({*checked}) >= len([*walk(graph)])
