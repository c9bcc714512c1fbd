"""Every op has all its parts: kernel, JVP, transpose if needed, batching rule, row. Failures name the file."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.autodiff.linearize_transpose import linearise
from anyshape.autodiff.rule_tables import BATCHERS, JVPS, TRANSPOSES, ZERO
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.graph import OPS
from anyshape.graph.prover.scope import Scope
from anyshape.numpy.arrays.array import Array
from anyshape.ops.apply import KERNELS
from tests.laws.sweep import arrays_of, few_combinations, inexact, is_error, outcome, rows

ROOT = Path(anyshape.__file__).resolve().parent
ALL = sorted(OPS.values(), key=lambda op: (op.family, op.name))
every_op = pytest.mark.parametrize("op", ALL, ids=lambda op: op.name)


@every_op
def test_every_op_has_a_kernel(op):
    assert op in KERNELS, f"{op}: add a kernel in anyshape/backend/numpy/{op.family}.py"


@every_op
def test_every_op_has_a_jvp(op):
    assert op in JVPS, f"{op}: add a rule in anyshape/autodiff/rules/{op.family}.py, zero() if it has no slope"


@every_op
def test_every_op_with_operands_has_a_batching_rule(op):
    file = f"anyshape/autodiff/batching/{op.family}.py"
    assert op in BATCHERS or op.family == "creation", f"{op}: add a rule in {file}"


@every_op
def test_a_flat_op_is_not_transposed(op):
    assert not (op in ZERO and op in TRANSPOSES), f"{op}: declared zero() and has a transpose; one of them is wrong"


@every_op
def test_the_family_of_an_op_is_the_file_that_defines_it(op):
    source = (ROOT / "ops" / f"{op.family}.py").read_text()
    assert f'"{op.name}"' in source, f"{op}: its family is {op.family!r}, and ops/{op.family}.py does not define it"


@pytest.mark.parametrize("family", sorted({op.family for op in ALL}))
def test_a_family_has_its_file_in_every_folder(family):
    wanted = ["ops", "autodiff/rules", "autodiff/batching", "backend/numpy"]
    missing = [f"anyshape/{w}/{family}.py" for w in wanted if not (ROOT / w / f"{family}.py").exists()]
    if not (ROOT.parent / "tests/samples" / f"{family}.py").exists():
        missing.append(f"tests/samples/{family}.py")
    assert not missing, f"the family {family} lacks {missing}"


# -- rows ----------------------------------------------------------------------------------------------------


def graphs():
    """The graph of every row that traces, with the row."""
    for family, row in rows():
        for sizes in few_combinations(row):
            xs = arrays_of(row, sizes, row.dtypes[0])
            jitted = anyshape.jit(lambda *a, row=row: row.function(anp, *a))
            if not is_error(outcome(jitted, *xs)):
                yield family, row, jitted.programs()[0].graph
                break


def linear_ops(graph):
    """The ops that the derivative of a graph applies to tangents."""
    wrt = [i for i, v in enumerate(graph.inputs) if inexact(np.empty(0, v.meta.dtype))]
    builder = Builder(Scope(conditions=graph.conditions), handle=Array)
    for source in graph.dims:
        builder.define_dim(source.variable, source.size)
    with activate(builder):
        _, derivative = linearise(builder, graph, [builder.input(v.meta) for v in graph.inputs], wrt)
    linear, found = set(derivative.graph.inputs[: derivative.tangent_count]), set()
    for node in derivative.graph.nodes:
        if not linear.isdisjoint(node.inputs):
            linear.update(node.outputs)
            found.add(node.op)
    return found


@cache
def seen():
    """(ops that some row names or produces, ops that some derivative applies to tangents with the row's name)."""
    used, applied = {name for _, row in rows() for name in row.ops}, {}
    for _, row, graph in graphs():
        used |= {node.op.name for node in graph.nodes}
        if row.grad is True:
            found = linear_ops(graph)
            used |= {op.name for op in found}
            for op in found:
                applied.setdefault(op, row.name)
    return used, applied


@every_op
def test_every_op_has_a_row(op):
    assert op.name in seen()[0], f"{op}: add a row in tests/samples/{op.family}.py that uses it or names it in `ops`"


@every_op
def test_what_acts_on_tangents_has_a_transpose(op):
    """A JVP is linear in the tangents, so every op that it applies to them must be transposable."""
    row = seen()[1].get(op)
    file = f"anyshape/autodiff/rules/{op.family}.py"
    assert row is None or op in TRANSPOSES, f"{op}: the derivative of {row!r} needs its transpose; add it in {file}"


def test_rows_name_ops_that_exist():
    wrong = {f"{f}: {row.name}": sorted(set(row.ops) - set(OPS)) for f, row in rows() if set(row.ops) - set(OPS)}
    assert not wrong


def test_row_names_are_unique_within_a_family():
    names = [(family, row.name) for family, row in rows()]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})
