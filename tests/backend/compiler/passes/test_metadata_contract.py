"""Passes under weakened metadata: each axis of each input in turn is an upper bound or unknown.

A pass then raises, leaves the size to the run, or changes nothing. Graphs that run agree with the interpreter.
"""

import ast
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.autodiff.replay import inline
from anyshape.backend.compiler.codegen.execute import compile_plan
from anyshape.backend.compiler.lower import lower, reliances_of_passes
from anyshape.backend.compiler.passes.pipeline import optimize
from anyshape.backend.interpreter import evaluate
from anyshape.errors import ShapeError, UnsupportedDynamicShapeError
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.validate import check_graph
from anyshape.graph.prover.scope import Scope, reliances
from anyshape.graph.shapes.array_type import Exact, Unknown, UpperBound, tensor
from anyshape.graph.sizes import expr
from anyshape.numpy.arrays.array import Array
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd
from anyshape.ops.contraction import dot_general
from anyshape.ops.control import Callback, callback
from anyshape.ops.core.apply import apply
from anyshape.ops.creation import full_op
from tests.backend.compiler.passes.metadata_contract import CONTRACT, contract_table
from tests.laws.sweep import arrays_of, few_combinations, first_program, in_namespace, is_error, outcome, rows

ROOT = Path(anyshape.__file__).resolve().parent
SAME = Callback(lambda x: [x], "same")
PROMISES = {"bound": lambda size: UpperBound(size), "twice": lambda size: UpperBound(2 * size + 1), "unknown": Unknown}


@cache
def traced(row):
    """Return the graph of a sample and its arrays at a few sizes; (None, []) where it needs more than arrays."""
    jitted = anyshape.jit(in_namespace(row, anp), optimize="off")  # graphs are read, and lowered by the tests
    arrays = [arrays_of(row, sizes, row.dtypes[0]) for sizes in few_combinations(row)]
    good = [xs for xs in arrays if not is_error(outcome(jitted, *[np.array(x) for x in xs]))]
    programs = jitted.programs()
    if not programs or programs[0].graph.hidden or programs[0].graph.values:
        return None, []
    program = programs[0]
    return program.trace.graph, [xs for xs in good if program.accepts(*map(np.asarray, xs))]


def weakened(graph, position, promise):
    """Return the graph with one axis of its inputs (None: every axis) weakened to a promise."""
    builder = Builder(Scope(conditions=[c for c in graph.conditions if c.kind != "fact"]), handle=Array)
    for source in graph.dims:
        builder.define_dim(source.variable, source.size)
    with activate(builder):
        inputs = [builder.input(v.meta) for v in graph.inputs]
        weak = []
        for i, x in enumerate(inputs):
            extents = [promise(e.size) if position in (None, (i, axis)) else e for axis, e in enumerate(x.meta.extents)]
            promised = any(not isinstance(e, Exact) for e in extents)
            weak.append(callback(SAME, [(x.dtype, extents)], x)[0] if promised else x)
        outputs = inline(builder, graph, weak)
        return builder.finish(outputs, graph.name)


def positions(graph):
    return [None, *[(i, axis) for i, v in enumerate(graph.inputs) for axis in range(v.meta.rank)]]


def check(graph, position, promise, arrays):
    """Return True if the weakened graph is refused; otherwise compare its results with the interpreter's."""
    unknown = (lambda size: Unknown()) if promise is Unknown else promise
    try:
        weak = weakened(graph, position, unknown)
    except UnsupportedDynamicShapeError as error:
        assert error.observed in ("upper bound", "unknown") and error.to_dict()["primitive"]
        return True
    simple = optimize(weak)
    check_graph(simple)
    for run in [compile_plan(lower(simple, keep)) for keep in (False, True)]:
        for xs in arrays:
            with np.errstate(all="ignore"):
                weak_results, actual, exact_results = evaluate(weak, xs), run(*map(np.asarray, xs)), evaluate(graph, xs)
            for expected, got, exact in zip(weak_results, actual, exact_results, strict=True):
                assert expected.shape == got.shape == exact.shape and expected.dtype == got.dtype
                np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
                np.testing.assert_allclose(got, exact, rtol=1e-9, atol=1e-12)
    return False


FAMILIES = sorted({family for family, _ in rows()})


@pytest.mark.parametrize("family", FAMILIES)
def test_passes_on_promised_sizes(family):
    """Sweep the first samples of each family at every position; the slow test has all."""
    sweep([row for f, row in rows() if f == family][:3])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_passes_on_promised_sizes_of_every_sample(family):
    sweep([row for f, row in rows() if f == family])


def sweep(chosen):
    """Check each sample under each promise at each position."""
    refused = ran = 0
    for row in chosen:
        graph, arrays = traced(row)
        for position in positions(graph) if graph is not None else ():
            for name, promise in PROMISES.items():
                try:
                    was_refused = check(graph, position, promise, arrays[:4])
                except AssertionError as error:
                    raise AssertionError(f"{row}, axis {position}, {name}: {error}") from error
                refused, ran = refused + was_refused, ran + (not was_refused)
    assert refused + ran > 0 or not chosen


# -- single passes


def built(make, *promises):
    """Return the graph of `make(*xs)`, where x_i has size n_i, exact (None) or weakened by its promise."""
    builder = Builder(Scope(), handle=Array)
    with activate(builder):
        inputs = []
        for i, _ in enumerate(promises):
            size = expr.variable(f"n{i}")
            inputs.append(builder.input(tensor(np.dtype(float), [size])))
            builder.define_dim(expr.as_atom(size), expr.input_axis(i, 0))
        weak = [
            callback(SAME, [(x.dtype, [promise(x.meta.sizes[0])])], x)[0] if promise is not None else x
            for x, promise in zip(inputs, promises, strict=True)
        ]
        return builder.finish([make(*weak)], "built")


WEAK = {"bound": UpperBound, "unknown": lambda size: Unknown()}
weak = pytest.mark.parametrize("promise", WEAK.values(), ids=WEAK)


def runs(graph, *arrays):
    """Return the first result of the optimized graph, compared with the interpreter's."""
    (result, *_) = compile_plan(lower(optimize(graph)))(*arrays)
    np.testing.assert_array_equal(result, evaluate(graph, arrays)[0])
    return result


@weak
def test_metadata_shared_by_one_value_proves_equal_shapes(promise):
    graph = built(lambda x: apply(ew.mul_op, ew.sin(x), x), promise)
    for n in (0, 1, 5):
        x = np.arange(float(n))
        np.testing.assert_allclose(runs(graph, x), np.sin(x) * x)
    for other in (promise, None):
        with pytest.raises(UnsupportedDynamicShapeError, match="operands needs an exact size"):
            built(lambda x, y: apply(ew.mul_op, x, y), promise, other)


@weak
def test_a_fill_of_unknown_size_is_not_folded_away(promise):
    """Keep x * ones(y.shape): NumPy would stretch a 1."""
    ones = lambda like: apply(full_op, sources=[like], value=1.0, dtype=np.dtype(float), shape=(expr.input_axis(0, 0),))
    with pytest.raises(UnsupportedDynamicShapeError):
        built(lambda x, y: apply(ew.mul_op, x, ones(y)), promise, promise)
    assert runs(built(lambda x: rd.reduce_sum(ones(x), (0,)), promise), np.zeros(4)) == 4


@weak
def test_a_broadcast_to_an_unknown_size_is_made(promise):
    """Keep the broadcast of (1,) to y.shape, although result and y have equal metadata."""
    stretch = lambda x, y: apply(mv.broadcast_in_dim_op, x, sources=[y], shape=(expr.input_axis(1, 0),), axes=(0,))
    graph = built(lambda x, y: ew.exp(stretch(x, y)), promise, promise)
    np.testing.assert_array_equal(runs(graph, np.ones(1), np.ones(4)), np.exp(np.ones(4)))
    np.testing.assert_array_equal(runs(graph, np.ones(4), np.ones(4)), np.exp(np.ones(4)))
    with pytest.raises(ShapeError, match=r"broadcast_in_dim|broadcast"):
        compile_plan(lower(optimize(graph)))(np.ones(3), np.ones(4))


@weak
def test_equal_computations_on_sizes_of_different_arrays_are_not_merged(promise):
    ones = lambda *like, at: apply(
        full_op, sources=like, value=1.0, dtype=np.dtype(float), shape=(expr.input_axis(at, 0),)
    )
    both = lambda x, y: ew.sub(rd.reduce_sum(ones(x, x, y, at=2), (0,)), rd.reduce_sum(ones(x, y, at=0), (0,)))
    assert runs(built(both, promise, promise), np.zeros(2), np.zeros(5)) == 3


@weak
def test_buffers_of_unknown_size_are_not_taken_over(promise):
    graph = built(lambda x, y: mv.concatenate([ew.exp(x), ew.exp(y)], 0), promise, promise)
    assert runs(graph, np.zeros(2), np.zeros(3)).tolist() == [1] * 5
    plan = lower(optimize(graph))
    assert not any(s.reuse for s in plan.steps)


@weak
def test_contractions_read_sizes_from_arrays(promise):
    graph = built(lambda x, y: dot_general(x, y, ((0,), (0,)), ((), ())), promise, None)
    assert runs(graph, np.arange(3.0), np.ones(3)) == 3
    with pytest.raises(ShapeError, match="dot_general"):
        compile_plan(lower(graph))(np.arange(3.0), np.ones(4))
    with pytest.raises(UnsupportedDynamicShapeError, match="batch axes"):
        built(lambda x, y: dot_general(x, y, ((), ()), ((0,), (0,))), promise, None)
    wide = lambda x, size: apply(mv.broadcast_in_dim_op, x, shape=(size, expr.input_axis(0, 0)), axes=(1,))
    outer = built(lambda x, y: dot_general(wide(x, 2), wide(y, 3), ((1,), (1,)), ((), ())), promise, promise)
    np.testing.assert_array_equal(runs(outer, np.ones(4), np.ones(4)), np.full((2, 3), 4.0))
    with pytest.raises(UnsupportedDynamicShapeError, match="contracted axes"):
        built(
            lambda x, y: dot_general(
                apply(mv.broadcast_in_dim_op, x, shape=(expr.input_axis(0, 0),) * 2, axes=(1,)),
                apply(mv.broadcast_in_dim_op, y, shape=(expr.input_axis(0, 0),) * 2, axes=(1,)),
                ((0, 1), (0, 1)), ((), ()),
            ), promise, promise,
        )  # fmt: skip


@weak
def test_movements_of_unknown_size_are_not_collapsed(promise):
    size = expr.input_axis(0, 0)
    part = lambda x: apply(mv.slice_op, x, starts=(0,), sizes=(expr.floordiv(size, 2),), steps=(1,))
    stretched = lambda x: apply(mv.broadcast_in_dim_op, x, shape=(3, size), axes=(1,))
    graph = built(lambda x: mv.rev(mv.transpose(stretched(part(x))), (0,)), promise)
    plan = lower(optimize(graph))
    assert not any(s.fallback for s in plan.steps)
    assert runs(graph, np.arange(7.0)).shape == (3, 3)


# -- the table


def test_the_design_shows_the_table():
    assert contract_table() in (ROOT.parent / "docs" / "compilation.md").read_text()


def queried():
    """Return the (pass, field) pairs that passes query on the graphs of all samples."""
    pairs = set()
    for _, row in rows():
        program = first_program(row)
        if program is not None and not (program.graph.hidden or program.graph.values):
            asked = reliances(reliances_of_passes(program.trace.graph))
            pairs |= {(r.primitive, r.field) for r in asked if r.rule == "pass"}
    return pairs


@pytest.mark.slow
def test_passes_query_what_the_table_declares():
    declared, asked = {pair for need in CONTRACT for pair in need.queries}, queried()
    assert asked <= declared, f"in no row of metadata_contract.py: {sorted(asked - declared)}"
    assert declared <= asked, f"no sample makes a pass query this: {sorted(declared - asked)}"


# -- shapes are read through the context

SHAPE_ATTRIBUTES = {"extents", "sizes", "variable_axes", "rank", "shape"}
READERS = sorted(
    [*ROOT.glob("autodiff/rules/*.py"),
     *ROOT.glob("backend/compiler/passes/*.py"),
     ROOT / "backend/compiler/lower.py"]
)  # fmt: skip
OF_BODIES = {"merge_loops.py"}  # reads types of inputs and results of bodies, which no context of a node has
VIEW = re.compile(r"(.*\.)?view")  # a View is a layout: it has a shape and no metadata


@pytest.mark.parametrize("file", READERS, ids=lambda f: f"{f.parent.name}/{f.name}")
def test_rules_and_passes_read_shapes_through_the_context(file):
    """Refuse `x.meta.extents`, `x.shape` and their shortcuts where `ctx.shape(x)` is the way."""
    wrong = []
    if file.name in OF_BODIES:
        pytest.skip("it reads types of bodies")
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Attribute) or node.attr not in SHAPE_ATTRIBUTES:
            continue
        owner = ast.unparse(node.value)
        if not owner.endswith("ctx") and VIEW.fullmatch(owner) is None:
            wrong.append(f"{file.name}:{node.lineno} {ast.unparse(node)}")
    assert not wrong, "ask the context: " + ", ".join(wrong)


def test_the_context_records_who_asks():
    jitted = anyshape.jit(anyshape.grad(lambda x: np.sum(np.tanh(x[:, :1]) * x)))
    jitted(np.ones((3, 2)))
    recorded = jitted.explain().reliances
    assert {r.rule for r in recorded} >= {"shape", "transpose", "pass"}
    assert any((r.op, r.rule, r.question, r.size) == ("slice", "transpose", "exact", "x.shape[0]") for r in recorded)
    lines = jitted.explain().reliance_text().splitlines()
    assert any(line.startswith("slice, transpose: ") and "exact shape x.shape[0]" in line for line in lines)
    mapped = anyshape.jit(anyshape.vmap(lambda x, y: anp.take(x, y)))
    mapped(np.ones((3, 2)), np.zeros((3, 2), int))
    assert any(r.rule == "batching" and r.op == "take" for r in mapped.explain().reliances)
