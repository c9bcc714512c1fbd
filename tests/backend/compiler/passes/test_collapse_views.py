"""Chains of movement become one view: the same numbers from every layout, and never a byte outside of the operand."""

import itertools
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from numpy.lib.array_utils import byte_bounds

import anyshape
import anyshape.numpy as anp
from anyshape import ShapeDtypeStruct
from anyshape.backend import interpreter
from anyshape.backend.compiler.codegen.execute import compile_plan
from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.passes.pipeline import optimize
from anyshape.backend.compiler.plan import PLAN_OPS, padded_view_op, stretched_view_op, view_op
from anyshape.errors import IllegalGraphError, ShapeError
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.graph import OPS, Graph, Node, Value, params_tuple
from anyshape.graph.ir.validate import check_graph
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import tensor
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis
from anyshape.ops import movement as mv
from anyshape.ops.core.apply import KERNELS
from tests.graph.shapes.movements import BASES, RANDOM_VALUES, VARIABLES, at, holds, random_step


def traced(function, *specs):
    return anyshape.trace(function)(*[ShapeDtypeStruct(s) for s in specs])


def steps_of(program):
    return [str(step) for step in program.plan.steps]


def uncopied(plan):
    """Return a function that runs a plan without copying outputs: they may be views of inputs."""
    return compile_plan(replace(plan, copied=(False,) * len(plan.outputs)))


# -- plans ----------------------------------------------------------------------------------------------


def ten(x):
    """Apply ten movements."""
    n, m, k = x.shape
    y = x.reshape(n * m, k).transpose()[::-1].reshape(k, n, m)  # three, then a reshape
    y = y[:, :, 1:].transpose(2, 0, 1)  # two
    y = anp.broadcast_to(y, (2, *y.shape))[..., ::-1]  # two
    return y.reshape(*y.shape[:3], 1, n).transpose(0, 2, 1, 4, 3)  # two


GOLDEN_TEN = """\
plan ten(x0: f64[n, m, k])
  n = x0.shape[0]
  m = x0.shape[1]
  k = x0.shape[2]
  v10 = stretched_view(x0) {offset=8*k*m*n - 8*k*m + 8*k*min(m, 1) + 8*k - 8, shape=(2, k, max(m - 1, 0), n, 1), \
strides=(0, -8, 8*k, -8*k*m, 0)} for reshape, transpose, rev, reshape, slice, transpose, broadcast_in_dim, rev, \
reshape, transpose  drop x0
  return copy(v10)"""


def test_a_chain_of_ten_is_one_step():
    assert str(traced(ten, "n, m, k").plan) == GOLDEN_TEN


def padding(x):
    y = np.pad(x.T[::-1], ((1, 0), (2, 2)))
    return np.pad(y, ((0, 3), (0, 0)))[::-1]


GOLDEN_PADDED = """\
plan padding(x0: f64[n, m])
  n = x0.shape[0]
  m = x0.shape[1]
  v5 = padded_view(x0) {offset=0, shape=(m + 4, n + 4), starts=(3, 2), stops=(m + 3, n + 2), strides=(8, 8*m), \
value=0.0} for transpose, rev, pad, pad, rev  drop x0
  return v5"""


def test_a_padded_view_is_made_once():
    assert str(traced(padding, "n, m").plan) == GOLDEN_PADDED


def test_movement_that_stretches_or_scatters_padding_is_a_view_of_its_own():
    program = traced(lambda x: np.pad(x[::-1].T, ((1, 1), (0, 0)))[..., None].transpose(2, 0, 1)[::-1], "n, m")
    assert [s.op for s in program.plan.steps] == [padded_view_op, view_op]


def test_short_chains_stay_as_they_are():
    for function in (lambda x: x.T, lambda x: x.T[::-1], lambda x: x.reshape(x.shape[0], 1, -1).transpose(1, 2, 0)):
        assert not any(s.op in PLAN_OPS.values() for s in traced(function, "n, m").plan.steps)


def test_a_reshape_that_must_copy_stands_between_two_views():
    def function(x):
        y = x.T[::-1, 1:]
        return y.reshape(-1)[::-1][1:].reshape(1, -1, 1)

    ops = [s.op.name for s in traced(function, "n, m").plan.steps]
    assert ops == ["view", "reshape", "view"]  # from where the reshape copied to, in C order


def test_values_that_others_read_are_made():
    def function(x):
        y = x.T[::-1][1:]
        z = y.T[1:][::-1]
        return y, z

    (first, second) = traced(function, "n, m").plan.steps
    assert second.inputs == first.outputs


def test_stretches_that_numpy_makes_are_not_collapsed():
    program = traced(lambda x, y: x[::-1].T[1:] * y[:, None], "n, m", "k")
    assert [s.op.name for s in program.plan.steps] == ["view", "reshape", "mul"]


# -- results ---------------------------------------------------------------------------------------------------


def layouts(x):
    """Yield arrays equal to x with different memory layouts, each with a name."""
    yield "C", x.copy()
    fixed = x.copy()
    fixed.flags.writeable = False
    yield "readonly", fixed
    fields = np.zeros(x.shape, [("tag", "i1"), ("value", x.dtype)])
    fields["value"] = x
    yield "unaligned field", fields["value"]
    if x.ndim == 0:
        return
    yield "Fortran", np.asfortranarray(x)
    yield "transposed", x.T.copy().T
    wide = np.full([2 * n + 3 for n in x.shape], -99).astype(x.dtype)
    inside = wide[tuple([slice(1, 1 + 2 * n, 2) for n in x.shape])]
    inside[...] = x
    yield "strided", inside
    backwards = np.flip(x).copy()
    yield "reversed", np.flip(backwards)
    rows = np.full((x.shape[0] + 2, *x.shape[1:]), -99).astype(x.dtype)
    rows[1:-1] = x
    yield "rows of more", rows[1:-1]


def test_every_layout_gives_the_same():
    program, padded = traced(ten, "n, m, k"), traced(padding, "n, m")
    for n, m, k in [(1, 1, 1), (2, 3, 4), (4, 1, 2), (3, 2, 0), (2, 0, 3), (1, 2, 2)]:
        for name, x in layouts(np.arange(float(n * m * k)).reshape(n, m, k)):
            np.testing.assert_array_equal(program(x), ten(x), err_msg=f"{name} {x.shape}")
        for name, x in layouts(np.arange(float(n * m)).reshape(n, m)):
            np.testing.assert_array_equal(padded(x), padding(x), err_msg=f"{name} {x.shape}")
    stretched = np.broadcast_to(np.arange(3.0), (4, 2, 3))
    np.testing.assert_array_equal(program(stretched), ten(stretched))


def test_a_view_moves_nothing():
    run = uncopied(traced(ten, "n, m, k").plan)
    x = np.arange(24.0).reshape(2, 3, 4)
    (result,) = run(x)
    assert result.base is x.base and np.shares_memory(result, x)
    assert anyshape.jit(ten)(x).flags.owndata  # what users get is theirs


def test_pads_with_two_numbers_are_two_views():
    def function(x):
        return np.pad(np.pad(x[::-1].T, 1), 1, constant_values=5)

    program, x = traced(function, "n, m"), np.ones((2, 3))
    np.testing.assert_array_equal(program(x), function(x))
    assert len(program.plan.steps) == 2


def test_a_stretched_result_is_a_copy():
    x = np.arange(24.0).reshape(2, 3, 4)
    made = anyshape.jit(lambda x: ten(x * 2))(x)
    assert made.flags.writeable
    made[0] = -1
    np.testing.assert_array_equal(made[1], ten(x * 2)[1])


def test_results_are_not_views_of_arguments():
    x = np.arange(24.0).reshape(2, 3, 4)
    for function in (ten, lambda x: x.T[::-1].T[1:]):
        made = anyshape.jit(function)(x)
        made[...] = -1
        assert x.sum() == 276
    twice = anyshape.jit(lambda x: ((x * 2).T[::-1].T[1:], x))(x)[0]
    assert twice.flags.writeable


def test_buffers_are_not_reused_under_a_view():
    def function(x):
        a = np.sin(x)
        v = a.T[::-1].T[1:]
        b = np.cos(x) + 1
        return (b * b)[1:] + v

    x = np.random.default_rng(0).random((3, 3))
    np.testing.assert_allclose(anyshape.jit(function)(x), function(x))


def test_derivatives_of_chains():
    x = np.random.default_rng(0).random((2, 3, 4))
    anyshape.check_grads(lambda x: anp.sin(ten(x)), (x,), order=2)
    anyshape.check_grads(lambda x: padding(x) ** 2, (x[0],), order=2)


def test_padding_with_negative_zero():
    made = anyshape.jit(lambda x: np.pad(x[1:].T, 1, constant_values=-0.0)[::-1])(np.ones((2, 2)))
    assert np.signbit(made[0]).all()


def test_plans_with_views_pickle():
    program = traced(ten, "n, m, k")
    again = pickle.loads(pickle.dumps(program.plan))
    assert str(again) == str(program.plan) and again.steps[0].op is stretched_view_op
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(compile_plan(again)(x)[0], ten(x))


# -- ops of plans ----------------------------------------------------------------------------------------------------


def test_ops_of_plans_have_kernels_and_are_illegal_in_graphs():
    assert not set(PLAN_OPS) & set(OPS)  # so no test of derivatives and rows asks for theirs
    for op in PLAN_OPS.values():
        assert KERNELS[op].run is not None and pickle.loads(pickle.dumps(op)) is op
        x, y = Value(tensor(np.dtype(float), (3,))), Value(tensor(np.dtype(float), (3,)))
        node = Node(op, (x,), (), params_tuple({"shape": (3,), "strides": (8,), "offset": 0}), (y,))
        with pytest.raises(IllegalGraphError, match="cannot stand in a graph"):
            check_graph(Graph("f", (x,), (), (node,), (y,)))


WINDOWS = [
    ((2, 3), (24, 8), 8),
    ((2, 3), (24, 8), -8),
    ((7,), (8,), 0),
    ((2,), (-8,), 0),
    ((2,), (48,), 0),
    ((1,), (8,), 48),
    ((3,), (2**62,), 0),
    ((2,), (8,), 2**62),
    ((-1,), (8,), 0),
]


@pytest.mark.parametrize(("shape", "strides", "offset"), WINDOWS)
def test_a_window_that_leaves_the_memory_is_refused(shape, strides, offset):
    kernel = KERNELS[view_op].run
    assert kernel(np.arange(6.0).reshape(2, 3), shape=shape, strides=strides, offset=offset) is None


def test_no_window_leaves_the_memory():
    """Random shapes, strides and offsets, most of them wrong: every view lies within the operand."""
    choose, views = random.Random(0), 0
    kernel = KERNELS[view_op].run
    for _ in range(20_000):
        x = np.zeros([choose.randrange(4) for _ in range(choose.randrange(1, 4))])
        rank = choose.randrange(4)
        shape = tuple(choose.randrange(4) for _ in range(rank))
        strides = tuple(8 * choose.randrange(-4, 9) for _ in range(rank))
        view = kernel(x, shape=shape, strides=strides, offset=8 * choose.randrange(-3, 12))
        if view is not None and view.size:
            views += 1
            (low, high), (first, last) = byte_bounds(view), byte_bounds(x)
            assert first <= low and high <= last
    assert views > 1000


# -- random chains ---------------------------------------------------------------------------------------------------


def on_graph(x, operation, arguments):
    """One movement of tests/graph/shapes/movements.py on a value of a graph."""
    if operation == "shrink":
        (bounds,) = arguments
        return mv.slice(x, [a for a, _ in bounds], [b - a for a, b in bounds])
    if operation == "pad":
        (amounts,) = arguments
        return mv.pad(x, [a for a, _ in amounts], [b for _, b in amounts], value=-1)
    return {"reshape": mv.reshape, "expand": mv.broadcast_to, "permute": mv.transpose, "slice": mv.slice,
            "flip": mv.rev}[operation](x, *arguments)  # fmt: skip


def random_graph(choose, length=10, dtype=np.int64):
    """Return a graph of movements of its first input; the second gives n, m and k their values."""
    builder = Builder(Scope())
    shape = choose.choice(BASES)
    x = value = builder.input(tensor(np.dtype(dtype), shape))
    sizes = builder.input(tensor(np.dtype(bool), [expr.from_atom(v) for v in VARIABLES]))
    for axis, variable in enumerate(VARIABLES):
        builder.define_dim(variable, expr.from_atom(InputAxis(1, axis)))
    seen, tries = [x], itertools.count()
    with activate(builder):
        while len(seen) <= length and next(tries) < 20 * length:
            before = list(builder.scope.conditions), list(builder.nodes)
            operation, *arguments = random_step(choose, value.meta.sizes)
            try:
                after = on_graph(value, operation, arguments)
                fits = [v for v in RANDOM_VALUES if holds(builder.scope, v)]
                wrong = len(fits) < 2 or any(np.prod(at(after.meta.sizes, v)) > 600 for v in fits)
            except ShapeError:
                wrong = True
            if wrong:
                builder.scope, builder.nodes[:] = Scope(), before[1]
                for condition in before[0]:
                    builder.scope.assume(condition)
                continue
            value = after
            seen.append(value)
        results = [value, *choose.sample(seen, choose.choice((0, 0, 1)))]
        return builder.finish([*results, sizes], "random"), shape


def check_graphs(seed):
    """Check a random chain at every size and layout; return the number of steps of its plan and of movements."""
    choose = random.Random(seed)
    graph, shape = random_graph(choose, dtype=choose.choice([np.int64, np.float32, np.complex128, bool]))
    graphs = [graph, optimize(graph)]
    runs = [(g, compile_plan(lower(g)), uncopied(lower(g))) for g in graphs]
    for values in RANDOM_VALUES:
        if not holds(Scope(conditions=graph.conditions), values):
            continue
        x = np.arange(int(np.prod(at(shape, values)))).reshape(at(shape, values)).astype(graph.inputs[0].meta.dtype)
        expected = interpreter.evaluate(graph, [x, np.zeros(values, bool)])
        for name, base in layouts(x):
            for _, run, _ in runs:
                for result, wanted in zip(run(base, np.zeros(values, bool)), expected, strict=True):
                    np.testing.assert_array_equal(result, wanted, err_msg=f"{seed} {name} {values}\n{graph}")
        for _, _, run in runs:
            result = run(x, np.zeros(values, bool))[0]
            if np.shares_memory(result, x):
                assert byte_bounds(x)[0] <= byte_bounds(result)[0] and byte_bounds(result)[1] <= byte_bounds(x)[1]
    return len(lower(graph).steps), len(graph.nodes)


@pytest.mark.slow
def test_random_chains_give_what_the_reference_gives():
    counts = [check_graphs(seed) for seed in range(60)]
    steps, nodes = (sum(column) for column in zip(*counts, strict=True))
    assert 2 * steps < nodes


@pytest.mark.slow
def test_many_random_chains_give_what_the_reference_gives():
    for seed in range(1000, 3000):
        check_graphs(seed)
