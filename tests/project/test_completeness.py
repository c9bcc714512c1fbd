"""Every op has all its rows: a missing one is named, with the file to put it in, and never read as a default."""

import builtins
import runpy
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.special

import anyshape
from anyshape.autodiff.linearize_transpose import linearise
from anyshape.autodiff.rule_tables import BATCHERS, ELEMENTWISE, JVPS, SHIFTS, TRANSPOSES, ZERO, ZERO_FLOWS
from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, TRAITS
from anyshape.backend.compiler.plan import PLAN_OPS
from anyshape.errors import AnyshapeError, MissingRuleError
from anyshape.errors.messages import numpy_name
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.graph import OPS, Graph, Node, Op, OpTable, Value
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import tensor
from anyshape.numpy.arrays.array import Array
from anyshape.ops.core.apply import KERNELS
from anyshape.ops.core.definition import DEFINITIONS, define
from anyshape.ops.core.flop_counts import COSTS, MOVES
from anyshape.support.packages import derivative_rules, kernels
from tests.laws.sweep import first_program, inexact, rows
from tests.samples.random import DRAWS

FOLDERS = (kernels, derivative_rules)
ROOT = Path(anyshape.__file__).resolve().parent
ALL = sorted(OPS.values(), key=lambda op: (op.family, op.name))
WITH_PLAN_OPS = [*ALL, *PLAN_OPS.values()]
WITH_OPERANDS = [op for op in ALL if op in DEFINITIONS and DEFINITIONS[op].operands != (0, 0)]
FAMILIES = sorted({op.family for op in ALL})
every_family = pytest.mark.parametrize("family", FAMILIES)


for _folder in FOLDERS:  # modules that the library imports at the first lookup of one of their rows
    for _family in FAMILIES:
        _folder.load(_family)


class Table(NamedTuple):
    """A table keyed by op: its rows, who must have one, and the folder of the rows."""

    rows: dict[Any, Any]
    ops: list[Any]
    folder: str

    def file(self, op):
        return f"{self.folder}/{op.family}.py"


TABLES = {
    "definition": Table(DEFINITIONS, ALL, "ops"),
    "cost": Table(COSTS, WITH_PLAN_OPS, "ops"),
    "kernel": Table(KERNELS, WITH_PLAN_OPS, "backend/numpy"),
    "traits": Table(TRAITS, WITH_PLAN_OPS, "backend/numpy"),
    "JVP": Table(JVPS, ALL, "autodiff/rules"),
    "zero flow": Table(ZERO_FLOWS, [op for op in ALL if op.family not in ELEMENTWISE], "autodiff/rules"),
    "batching": Table(BATCHERS, WITH_OPERANDS, "autodiff/rules"),
}
every_table = pytest.mark.parametrize("name", TABLES)


def missing_rows(name):
    """A line for each op without a row in a table, which names the file of the row."""
    table = TABLES[name]
    return [f"{op}: add its {name} row in anyshape/{table.file(op)}" for op in table.ops if op not in table.rows]


@every_table
def test_every_op_has_a_row_in_every_table(name):
    assert not missing_rows(name), "\n".join(missing_rows(name))


@every_table
@pytest.mark.parametrize("family", ["special", "reduction"])
def test_a_missing_row_is_named_with_its_file_and_raises(name, family, monkeypatch):
    table = TABLES[name]
    op = next((op for op in table.ops if op.family == family), None)
    if op is None:
        pytest.skip("the family has one row")
    monkeypatch.delitem(table.rows, op)
    assert missing_rows(name) == [f"{op}: add its {name} row in anyshape/{table.folder}/{family}.py"]
    with pytest.raises(MissingRuleError, match=f"^{op}: .*\n.*{table.folder}/{family}.py"):
        table.rows[op]


def test_every_table_outside_of_the_ops_loads_the_rows_of_a_family():
    """Without it a row is missing in a process that has not differentiated an op of the family yet."""
    tables = {name: table.rows for name, table in TABLES.items() if table.folder != "ops"}
    tables |= {"transpose": TRANSPOSES, "shift": SHIFTS}
    assert [name for name, rows in tables.items() if rows._fill is None] == []


def test_a_missing_transpose_raises_with_its_file(monkeypatch):
    op = OPS["mul"]
    monkeypatch.delitem(TRANSPOSES, op)
    with pytest.raises(MissingRuleError, match=r"^mul: .*\n.*autodiff/rules/elementwise.py"):
        TRANSPOSES[op]


def test_a_program_with_an_op_without_traits_is_refused(monkeypatch):
    """No pass falls back to a default."""
    monkeypatch.delitem(TRAITS, OPS["tan"])
    with pytest.raises(MissingRuleError, match=r"backend/numpy/elementwise.py"):
        anyshape.jit(lambda x: np.tan(x) + 1)(np.ones(3))


@pytest.mark.parametrize("family", ["elementwise", "special"])
def test_elementwise_families_are_elementwise(family):
    """Their batching rules apply to every op of the family."""
    assert all(TRAITS[op].elementwise for op in ALL if op.family == family)


def test_no_op_is_given_traits_twice(monkeypatch):
    declared = []
    monkeypatch.setattr(op_traits, "declare", lambda traits, *ops: declared.extend(ops))
    for family in FAMILIES:
        rows_entered(ROOT / f"backend/numpy/{family}.py", [KERNELS])
    counts = Counter(declared)
    assert set(counts) == set(TRAITS) and [op for op, times in counts.items() if times > 1] == []


def test_a_module_enters_the_rows_of_its_own_family():
    """So that the lookup of a row finds it, whatever was imported before: each module runs against empty tables."""
    for folder, tables in (
        ("backend/numpy", [KERNELS, TRAITS]),
        ("autodiff/rules", [JVPS, TRANSPOSES, SHIFTS, ZERO_FLOWS, BATCHERS]),
    ):
        for family in FAMILIES:
            entered = rows_entered(ROOT / folder / f"{family}.py", tables)
            foreign = sorted(f"{op} of {op.family}" for op in entered if op.family != family)
            assert not foreign, f"{folder}/{family}.py enters rows of {foreign}"


def rows_entered(file, tables):
    """The ops that get a row while a file runs once more; the tables are as before when it has run."""
    before = [dict(table) for table in tables]
    try:
        for table in tables:
            table.clear()
        runpy.run_path(str(file))
        return {op for table in tables for op in table}
    finally:
        for table, rows in zip(tables, before, strict=True):
            table.clear()
            table.update(rows)


def test_a_family_without_a_module_is_a_missing_row():
    table = OpTable("kernel", "backend/numpy")
    table.fill_by(kernels.load)
    with pytest.raises(MissingRuleError, match=r"^stray: .*\n.*backend/numpy/nowhere.py"):
        table[Op("stray", lambda ctx: None, "nowhere")]


def test_no_row_is_for_an_op_that_does_not_exist():
    known = {*WITH_PLAN_OPS}
    assert not {name: wrong for name, table in TABLES.items() if (wrong := {*table.rows} - known)}


def test_opaque_traits_promise_nothing():
    stated = OPAQUE._asdict()
    assert not any(stated[name] for name in ("elementwise", "recomputable", "runs_user_code"))
    assert all(stated[name] is None for name in ("tiling", "scratch", "movement"))


def test_a_definition_states_what_its_shape_rule_leaves_open():
    def any_operands(ctx, *xs):
        return xs[0]

    def with_param(ctx, x, *, axis):
        return x

    row = {"jointly": None, "claims": None, "probe": None, "cost": MOVES}
    for rule in (partial(define, "open_op", any_operands), partial(define, "open_op", with_param)):
        with pytest.raises(AnyshapeError, match="open_op: its shape rule"):
            rule(params={}, **row)
    assert "open_op" not in OPS


def ops_of(family):
    return [op for op in ALL if op.family == family]


def takes_graphs(op):
    """Return True if a graph is a legal param of the op."""
    graph, operand = Graph("", (), (), (), ()), Value(tensor(np.dtype(float), ()))
    node = Node(op, (operand, operand), (), (), ())
    kinds = DEFINITIONS[op].params.values() if op in DEFINITIONS else ()

    def accepts(kind, param):
        try:
            return kind(node, param)
        except (TypeError, IndexError):  # a test of other params
            return False

    return any(accepts(kind, p) for kind in kinds for p in (graph, (graph,), (graph, graph)))


@every_family
def test_an_op_says_whether_its_params_hold_graphs(family):
    """Passes look for subgraphs in the params of these ops alone."""
    assert [op for op in ops_of(family) if op.has_subgraphs != takes_graphs(op)] == []


def test_a_flat_op_is_not_transposed():
    wrong = [op for op in ALL if op in ZERO and op in TRANSPOSES]
    assert not wrong, f"{wrong}: declared zero() and have a transpose; one of them is wrong"


@every_family
def test_the_family_of_an_op_is_the_file_that_defines_it(family):
    source = (ROOT / "ops" / f"{family}.py").read_text()
    wrong = [op.name for op in ops_of(family) if f'"{op.name}"' not in source]
    assert not wrong, f"{wrong}: their family is {family!r}, and ops/{family}.py does not define them"


@every_family
def test_a_family_has_its_file_in_every_folder(family):
    folders = dict.fromkeys(table.folder for table in TABLES.values())
    missing = [f"anyshape/{folder}/{family}.py" for folder in folders if not (ROOT / folder / f"{family}.py").exists()]
    if not (ROOT.parent / "tests/samples" / f"{family}.py").exists():
        missing.append(f"tests/samples/{family}.py")
    assert not missing, f"the family {family} lacks {missing}"


# -- rows ----------------------------------------------------------------------------------------------------


def graphs():
    """The graph of every row that traces, with the row."""
    for family, row in rows():
        program = first_program(row)
        if program is not None:
            yield family, row, program.graph


def linear_ops(graph):
    """The ops that the derivative of a graph applies to tangents."""
    wrt = [i for i, v in enumerate(graph.inputs) if inexact(np.empty(0, v.meta.dtype))]
    builder = Builder(Scope(conditions=graph.conditions), handle=Array)
    for source in graph.dims:
        builder.define_dim(source.variable, source.size)
    with activate(builder):
        _, derivative = linearise(builder, graph, [builder.input(v.meta) for v in graph.inputs], wrt)
    linear, ops = set(derivative.graph.inputs[: derivative.tangent_count]), set()
    for node in derivative.graph.nodes:
        if not linear.isdisjoint(node.inputs):
            linear.update(node.outputs)
            ops.add(node.op)
    return ops


def seen():
    """(ops that some row names or produces, ops that some derivative applies to tangents with the row's name)."""
    used, applied = {name for _, row in rows() for name in row.ops}, {}
    used |= {name for draw in DRAWS for name in draw.ops}  # swept in tests/numpy/test_generator.py
    for _, row, graph in graphs():
        used |= {node.op.name for node in graph.nodes}
        if row.grad is True:
            transposed = linear_ops(graph)
            used |= {op.name for op in transposed}
            for op in transposed:
                applied.setdefault(op, row.name)
    return used, applied


def test_every_op_has_a_row_and_a_transpose_if_it_acts_on_tangents():
    """A JVP is linear in the tangents, so every op that it applies to them must be transposable.

    One test reads all rows: to trace them in each worker would take much longer than the comparisons.
    """
    used, applied = seen()
    advice = "{0}: add a row in tests/samples/{0.family}.py that uses it or names it in `ops`"
    problems = [advice.format(op) for op in ALL if op.name not in used]
    for op, row in applied.items():
        if op not in TRANSPOSES:
            file = f"anyshape/autodiff/rules/{op.family}.py"
            problems.append(f"{op}: the derivative of {row!r} needs its transpose; add it in {file}")
    assert not problems, "\n".join(problems)


def test_rows_name_ops_that_exist():
    wrong = {f"{f}: {row.name}": sorted(set(row.ops) - set(OPS)) for f, row in rows() if set(row.ops) - set(OPS)}
    assert not wrong


def test_row_names_are_unique_within_a_family():
    names = [(family, row.name) for family, row in rows()]
    assert len(names) == len(set(names)), sorted({n for n in names if names.count(n) > 1})


def is_known_to_users(name):
    homes = (np, np.ndarray, np.linalg, scipy.special, anyshape, anyshape.ops, builtins)
    return name.startswith("x.") or "[" in name or any(hasattr(home, name.partition(".")[0]) for home in homes)


@every_family
def test_messages_call_an_op_by_a_name_that_users_know(family):
    """Code without its source is spoken of by NumPy's names, which a table of messages has where they differ."""
    wrong = [op.name for op in ops_of(family) if not is_known_to_users(numpy_name(op.name))]
    assert not wrong, f"{wrong}: add their NumPy names in anyshape/errors/messages.py"
