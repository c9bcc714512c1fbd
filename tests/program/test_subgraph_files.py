"""Programs with subgraphs in files: saved and loaded, and refused where a file is damaged or hostile."""

import copy
import gc
import io
import json

import numpy as np
import pytest

import anyshape
from anyshape.errors import ArgumentError, ProgramFileError, SizeMismatchError
from anyshape.graph.ir.encode import MOST
from anyshape.graph.ir.graph import subgraphs, walk
from anyshape.graph.ir.validate import check_graph
from anyshape.graph.prover import search_budget
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.arguments.specs import trace
from tests.graph.ir.conftest import select_graph
from tests.graph.ir.subgraph_programs import PROGRAMS, SIZES, arrays, captured_values, nested
from tests.program.damaged_files import contents, mutated, rewritten

__all__ = ["select_graph"]
every_program = pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)


def traced(function, select):
    specs = ShapeDtypeStruct("", bool), ShapeDtypeStruct("n"), ShapeDtypeStruct("n, k")
    return trace(lambda p, x, w: function(select, p, x, w))(*specs)


def saved(program):
    file = io.BytesIO()
    program.save(file)
    return file.getvalue()


def loaded(data):
    return anyshape.load(io.BytesIO(data))


@every_program
def test_a_loaded_program_is_equal_and_gives_the_same_bits(select_graph, function):
    program = traced(function, select_graph)
    again = loaded(saved(program))
    check_graph(again.graph)
    assert again.graph == program.graph
    for n, k in SIZES:
        for p in (True, False):
            xs = p, *arrays(n, k)
            np.testing.assert_array_equal(again(*xs), program(*xs))


def test_a_derivative_is_saved_and_loaded(select_graph):
    derivative = anyshape.jit(anyshape.grad(lambda p, x, w: captured_values(select_graph, p, x, w), argnums=(1, 2)))
    x, w = arrays(3, 2)
    expected = derivative(True, x, w)
    again = loaded(saved(derivative.programs()[0]))
    for a, b in zip(again(True, x, w), expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_same_program_gives_the_same_bytes(select_graph):
    program = traced(nested, select_graph)
    assert saved(program) == saved(loaded(saved(program)))


def test_only_files_with_subgraphs_need_a_newer_reader(select_graph):
    def version(program):
        return json.loads(contents(saved(program))["program.json"])["version"]

    assert version(traced(nested, select_graph)) == 2
    assert version(trace(lambda x: x + 1)(ShapeDtypeStruct("n"))) == 1


def test_a_callback_inside_has_no_file(select_graph):
    def function(select, p, x, w):
        unknown = lambda x: anyshape.pure_callback(np.sqrt, ShapeDtypeStruct(x.shape), x)
        return select(p, unknown, lambda x: x, x)

    with pytest.raises(ArgumentError, match="no file holds it"):
        saved(traced(function, select_graph))


def test_a_slice_that_leaves_its_operand_is_asserted_of_the_arguments(select_graph):
    """A claim of a kernel inside of a subgraph becomes an assertion of the subgraph, and so of the program."""
    program = traced(lambda s, p, x, w: s(p, lambda x: x[:2] * 1, lambda x: x[:2] * 2, x), select_graph)

    def move(document):
        slices = [n for graph in graphs_of(document) for n in graph["nodes"] if n["op"] == "slice"]
        for node in slices:
            node["params"]["starts"] = [2]

    again = loaded(rewritten(saved(program), move))
    check_graph(again.graph)
    x, w = arrays(5, 1)
    np.testing.assert_array_equal(again(True, x, w), x[2:4])
    np.testing.assert_array_equal(again(False, x, w), x[2:4] * 2)
    with pytest.raises(SizeMismatchError, match="must be at least"):
        again(True, x[:3], w[:3])
    np.testing.assert_array_equal(loaded(saved(again))(True, x, w), x[2:4])


# -- hostile files


def refuse(data, match):
    with pytest.raises(ProgramFileError, match=match):
        loaded(data)


def graphs_of(program):
    return program["graph"]["graphs"]


def outer_params(program):
    return next(n["params"] for n in program["graph"]["nodes"] if n["op"] == "select_graph")


@pytest.fixture
def file(select_graph):
    return saved(traced(nested, select_graph))


@pytest.mark.parametrize("reference", [-1, 99, None, "0", True, [0], 10**30])
def test_a_reference_to_no_graph(file, reference):
    refuse(rewritten(file, lambda p: outer_params(p)["branches"][0].update(graph=reference)), "not an integer from 0")


def test_a_graph_refers_to_no_later_one_and_not_to_itself(file):
    def circle(program):
        for position, graph in enumerate(graphs_of(program)):
            for node in graph["nodes"]:
                if node["op"] == "select_graph":
                    node["params"]["branches"][0]["graph"] = position

    refuse(rewritten(file, circle), "not an integer from 0")


def chain(program, length, twice):
    """Make each graph of the table have the one before it in both branches, or in the first."""
    graphs = graphs_of(program)
    caller = next(g for g in graphs if any(n["op"] == "select_graph" for n in g["nodes"]))
    plain = graphs[1]
    table = graphs[: graphs.index(caller)]
    for _ in range(length):
        wrapped = copy.deepcopy(caller)
        node = next(n for n in wrapped["nodes"] if n["op"] == "select_graph")
        last = len(table) - 1
        node["params"]["branches"] = [{"graph": last}, {"graph": last if twice else 0}]
        table.append(wrapped)
    program["graph"]["graphs"] = table
    outer_params(program)["branches"] = [{"graph": len(table) - 1}, {"graph": len(table) - 1}]
    assert plain in graphs


def test_graphs_that_nest_too_deep(file):
    refuse(rewritten(file, lambda p: chain(p, MOST["graphs within graphs"] + 1, twice=False)), "too many")


def test_few_graphs_that_stand_for_many_nodes(file, monkeypatch):
    """Each graph has the one before it twice: the number of nodes doubles with every line of the file."""
    monkeypatch.setitem(MOST, "graphs within graphs", 1000)
    refuse(rewritten(file, lambda p: chain(p, 60, twice=True)), "too many")


def test_a_subgraph_that_is_not_closed(file):
    def with_constant(program):
        graph = graphs_of(program)[0]
        graph["constants"] = [{"dtype": "float64", "shape": [3]}]

    refuse(rewritten(file, with_constant), "constants")

    def with_hidden(program):
        graphs_of(program)[0]["hidden"] = 1

    refuse(rewritten(file, with_hidden), "hidden")


def test_a_size_of_a_subgraph_that_nothing_gives(file):
    def further(program):
        graphs_of(program)[0]["variables"].append({"name": "q", "label": "q", "lower": 0, "upper": None})

    refuse(rewritten(file, further), "nothing gives the size q")


def test_a_table_that_is_empty_or_no_list(file):
    for table in ([], {}, None, 3):
        refuse(rewritten(file, lambda p, table=table: p["graph"].update(graphs=table)), "graphs|integer")


def test_mutations_inside_subgraphs_are_refused_or_legal(file):
    """Whatever is changed in a file, it is refused, or it holds a legal program."""
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(150):
        data = rewritten(file, lambda p: mutated(rng, p))
        try:
            program = loaded(data)
        except ProgramFileError:
            refused += 1
            continue
        check_graph(program.graph)
        assert all(subgraphs(n) or n.op.name != "select_graph" for n in walk(program.graph))
    assert 100 < refused < 150


def test_the_collection_of_garbage_takes_no_time_from_the_proofs_of_a_check():
    def rows(x, y):
        n, m = x.shape[0], y.shape[0]
        return x.reshape(m, -1).sum() if m > 0 and n % m == 0 else y.sum()

    data = saved(anyshape.export(rows)(ShapeDtypeStruct("n"), ShapeDtypeStruct("m")))
    in_proofs, before = [], gc.get_threshold()
    note = lambda phase, info: in_proofs.append(search_budget._THREAD.query is not None)
    try:
        gc.callbacks.append(note)
        gc.set_threshold(1, 1 << 30, 1 << 30)
        loaded(data)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*before)
    assert in_proofs and not any(in_proofs)
