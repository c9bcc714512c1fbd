"""The laws, on random programs: each is traced once and tried at sizes 0, 1, 2, 5 and mixtures of them."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyshape
import anyshape.numpy as anp
from anyshape.backend.interpreter import evaluate
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.op_local import has_local
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta, Unknown, UpperBound
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.substitute import evaluate as evaluate_size
from anyshape.ops.core.apply import KERNELS, resolve
from anyshape.support.packages import sharing
from tests.laws.random_programs import programs, seeded_program, size_combinations
from tests.laws.sweep import (
    check_equal,
    check_same_outcome,
    finite_difference,
    is_error,
    leaves,
    outcome,
    pairing,
    uneven,
)

FLOATS = ("float64",)
SMOOTH = {"smooth": True, "dtypes": FLOATS, "length": 5}


def apart(program, namespace=anp):
    """The program as a function of its arrays that shares no trace with functions of earlier programs."""
    sharing.forget()
    return program.within(namespace)


def traced(program):
    return anyshape.jit(apart(program))


# -- Law 1: total ------------------------------------------------------------------------------------------


def check_total(program, namespace=anp):
    jitted, served = anyshape.jit(apart(program, namespace)), 0
    for sizes in size_combinations():
        xs = program.arrays(sizes)
        expected = outcome(lambda *a: program(np, *a), *[x.copy() for x in xs])
        got = outcome(jitted, *xs)
        check_same_outcome(got, expected, 1e-11, f"{program}\nat {sizes}")
        served += not is_error(got)
    if served:
        assert jitted.cache_info().traces == 1, f"{program}\n{jitted.cache_info()}"


@settings(max_examples=50)
@given(programs())
def test_one_trace_gives_what_numpy_gives_at_every_size(program):
    check_total(program)


@pytest.mark.slow
@settings(max_examples=3000)
@given(programs(length=12))
def test_one_trace_gives_what_numpy_gives_at_every_size_slow(program):
    check_total(program)


@pytest.mark.parametrize("seed", [*range(75), *[pytest.param(s, marks=pytest.mark.slow) for s in range(75, 150)]])
def test_seeded_programs_give_what_numpy_gives(seed):
    """Programs that shrinking never touches: long ones, the same in every run."""
    check_total(seeded_program(seed, length=12))


# -- Laws 2 and 3: honest metadata, no upgrade -------------------------------------------------------------


def sizes_of_inputs(graph, xs):
    """The value of each variable of a graph at actual inputs."""
    known = {}
    for source in graph.dims:
        known[source.variable] = evaluate_size(source.size, lambda leaf: xs[leaf.operand].shape[leaf.axis])
    return known


def every_value(graph, xs):
    """Each value of a graph with the array that it is in a run."""
    env = dict(zip(graph.inputs, xs, strict=True))
    env.update(graph.constants)
    for node in graph.nodes:
        params = resolve(dict(node.params), [env[v] for v in node.operands])
        results = KERNELS[node.op].run(*[env[v] for v in node.inputs], **params)
        results = results if len(node.outputs) > 1 else (results,)
        env.update({v: np.asarray(y) for v, y in zip(node.outputs, results, strict=True)})
    return env


def check_honest(meta, array, known, text):
    assert array.ndim == meta.rank, f"{text}: {meta} has value of rank {array.ndim}"
    assert array.dtype == meta.dtype, f"{text}: {meta} has value of dtype {array.dtype}"
    for extent, size in zip(meta.extents, array.shape, strict=True):
        if isinstance(extent, Exact):
            assert evaluate_size(extent.size, known.get) == size, f"{text}: {meta} has value of shape {array.shape}"
        elif isinstance(extent, UpperBound):
            assert evaluate_size(extent.size, known.get) >= size, f"{text}: {meta} has value of shape {array.shape}"


@settings(max_examples=40)
@given(programs(**SMOOTH))
def test_every_value_of_a_gradient_has_the_metadata_it_was_promised(program):
    """Every intermediate value, also those that the plan leaves to NumPy or writes over."""
    gradient = weighted_gradient(program)
    for sizes in size_combinations():
        xs = program.arrays(sizes)
        if is_error(outcome(lambda *a: program(np, *a), *xs)):
            continue
        gradient(xs, weights_of(program, xs))
        graph = gradient.programs()[-1].graph
        inputs = [*xs, *weights_of(program, xs)]
        known = sizes_of_inputs(graph, inputs)
        for value, array in every_value(graph, inputs).items():
            check_honest(value.meta, array, known, f"{program}\nat {sizes}")


def weaker(graph, axis_number, kind):
    """The inputs' metadata with one symbolic axis made unknown or an upper bound, and the variable that it lost."""
    places = [
        (i, a, e.size)
        for i, v in enumerate(graph.inputs)
        for a, e in enumerate(v.meta.extents)
        if isinstance(e, Exact) and not isinstance(e.size, int)
    ]
    if not places:
        return None
    i, axis, size = places[axis_number % len(places)]
    metas = [v.meta for v in graph.inputs]
    extents = list(metas[i].extents)
    extents[axis] = Unknown() if kind == "unknown" else UpperBound(size)
    metas[i] = TensorMeta(metas[i].dtype, tuple(extents))
    return metas, expr.variables(size)[0]


def infer_again(graph, metas):
    """The metadata that shape rules derive from these inputs, value by value, as far as no rule refuses."""
    env = dict(zip(graph.inputs, metas, strict=True))
    env.update({v: v.meta for v, _ in graph.constants})
    for node in graph.nodes:
        context = ShapeGuardContext(Scope(), node.op.name, None, [env[v] for v in node.operands])
        try:
            inferred = node.op.infer(context, *[env[v] for v in node.inputs], **dict(node.params))
        except AnyshapeError:
            break  # said out loud: fine
        env.update(zip(node.outputs, inferred if isinstance(inferred, tuple) else (inferred,), strict=True))
    return env


@settings(max_examples=60)
@given(programs(), st.integers(0, 8), st.sampled_from(["unknown", "bound"]))
def test_no_rule_makes_a_weak_extent_strong(program, axis, kind):
    """An axis of an input is made weaker. No later extent may then be exact in the size that nobody knows."""
    jitted, xs = traced(program), program.arrays({"n": 2, "m": 3, "k": 5})
    if is_error(outcome(jitted, *xs)):
        return
    graph = jitted.programs()[0].graph
    weak = weaker(graph, axis, kind)
    if weak is None:
        return
    metas, lost = weak
    for value, meta in infer_again(graph, metas).items():
        assert meta.rank == value.meta.rank, f"{program}\n{meta} and {value.meta}"
        for extent in meta.extents:
            exact = isinstance(extent, Exact) and not isinstance(extent.size, int)
            assert not exact or lost not in expr.variables(extent.size), f"{program}\n{meta} knows {lost}"


# -- derivatives -------------------------------------------------------------------------------------------


def pulled(function, xs, weights):
    _, back = anyshape.vjp(function, *xs)
    return list(back(list(weights)))


def weighted_gradient(program):
    """(inputs, weights) -> gradients of the sum of weighted results; `vjp` with the weights."""
    function = apart(program)
    return anyshape.jit(lambda xs, ws: pulled(function, xs, ws))


def weights_of(program, xs):
    rng = np.random.default_rng(5)
    return [uneven(rng, y) for y in program(np, *xs)]


def check_gradient(program):
    gradient, function = weighted_gradient(program), apart(program)
    loss = anyshape.grad(lambda xs, ws: sum((y * w).sum() for y, w in zip(function(*xs), ws, strict=True)))
    served = 0
    for sizes in size_combinations():
        xs = program.arrays(sizes)
        if is_error(outcome(lambda *a: program(np, *a), *xs)):
            continue
        weights, text = weights_of(program, xs), f"{program}\nat {sizes}"
        derivatives = leaves(gradient(xs, weights))
        check_equal(leaves(loss(xs, weights)), derivatives, 1e-9, text)
        ts = [uneven(np.random.default_rng(6), x) for x in xs]
        estimate = finite_difference(lambda a: program(np, *a), xs, ts, 3e-6)
        (left, scale), (right, _) = pairing(weights, estimate), pairing(derivatives, ts)
        if np.isfinite(left):  # the mean of nothing is NaN
            assert abs(left - right) <= 2e-6 * (1 + scale), f"{text}: {left} and {right}"
        served += 1
    if served:
        assert gradient.cache_info().traces == 1
        assert loss.cache_info().traces == 1


@settings(max_examples=35)
@given(programs(**SMOOTH))
def test_gradients_agree_with_differences_at_every_size(program):
    check_gradient(program)


@pytest.mark.slow
@settings(max_examples=2000)
@given(programs(smooth=True, dtypes=FLOATS, length=10))
def test_gradients_agree_with_differences_at_every_size_slow(program):
    check_gradient(program)


# -- vmap --------------------------------------------------------------------------------------------------


def batches(program, sizes, count, axes):
    """Stacked inputs and the list of examples; inputs whose axis is None are shared."""
    shared = program.arrays(sizes, 0)
    examples = [program.arrays(sizes, 1 + i) for i in range(count)]
    mixed = [[x if a is None else y for x, y, a in zip(shared, e, axes, strict=True)] for e in examples]
    stacked = []
    for i, (x, axis) in enumerate(zip(shared, axes, strict=True)):
        parts = [e[i] for e in mixed]
        stacked.append(x if axis is None else np.stack(parts, axis) if parts else np.empty((0, *x.shape), x.dtype))
    return stacked, mixed


def looped(program, sizes, examples):
    """Stack the results of plain NumPy on each example; None where NumPy raises."""
    one = outcome(lambda *a: program(np, *a), *program.arrays(sizes))
    loop = [outcome(lambda *a: program(np, *a), *e) for e in examples]
    if is_error(one) or any(map(is_error, loop)):
        return None
    if not loop:
        return [np.empty((0, *y.shape), y.dtype) for y in one]
    return [np.stack(parts) for parts in zip(*loop, strict=True)]


def check_vmap(program, share):
    count = len(program.inputs)
    axes = tuple(None if i == share and count > 1 else 0 for i in range(count))
    mapped, served = anyshape.jit(anyshape.vmap(apart(program), in_axes=axes)), 0
    for sizes, number in zip(size_combinations(), (3, 2, 3, 0, 1, 2, 3, 2, 1), strict=False):
        stacked, examples = batches(program, sizes, number, axes)
        expected = looped(program, sizes, examples)
        if expected is not None:
            check_equal(leaves(mapped(*stacked)), expected, 1e-10, f"{program}\nat {sizes}, {number} along {axes}")
            served += 1
    if served:
        assert mapped.cache_info().traces == 1


@settings(max_examples=50)
@given(programs(length=5), st.integers(0, 2))
def test_vmap_equals_a_loop_at_every_size(program, share):
    check_vmap(program, share)


@pytest.mark.slow
@settings(max_examples=2000)
@given(programs(length=10), st.integers(0, 2))
def test_vmap_equals_a_loop_at_every_size_slow(program, share):
    check_vmap(program, share)


# -- Law 4: closed -----------------------------------------------------------------------------------------
# Each layer turns a function of arrays into another one, and is checked against the function just below it.


def jvp_layer(function):
    def derivatives(*xs):
        directions = tuple(0.3 + 0.1 * x for x in xs)
        return anyshape.jvp(function, xs, directions)[1]

    return derivatives


def vjp_layer(function):
    def gradients(*xs):
        results, back = anyshape.vjp(function, *xs)
        return list(back([0.5 - 0.2 * y for y in results]))

    return gradients


def vmap_layer(function):
    return anyshape.vmap(lambda *xs: list(function(*xs)))


LAYERS = {"jvp": jvp_layer, "vjp": vjp_layer, "vmap": vmap_layer}


def check_layer(name, below, above, xs, text):
    """Compare a traced layer of transforms with its definition: differences, pairings or a loop."""
    got = leaves(above(*xs))
    if name == "jvp":
        ts = [0.3 + 0.1 * x for x in xs]
        expected = finite_difference(lambda a: below(*a), xs, ts, 3e-6)
        check_close(got, expected, 3e-6, text)
    elif name == "vjp":
        rng = np.random.default_rng(7)
        ts = [uneven(rng, x) for x in xs]
        weights = [0.5 - 0.2 * y for y in leaves(below(*xs))]
        derivatives = finite_difference(lambda a: below(*a), xs, ts, 3e-6)
        (left, scale), (right, _) = pairing(weights, derivatives), pairing(got, ts)
        if np.isfinite(left):
            assert abs(left - right) <= 3e-6 * (1 + scale), f"{text}: {left} and {right}"
    elif len(xs[0]):
        loop = [leaves(below(*parts)) for parts in zip(*xs, strict=True)]
        check_equal(got, [np.stack(parts) for parts in zip(*loop, strict=True)], 1e-9, text)


def check_close(got, expected, tolerance, text):
    for g, e in zip(got, expected, strict=True):
        assert g.shape == e.shape, f"{text}: {g.shape} and {e.shape}"
        scale = max(1.0, float(np.abs(e).max(initial=0)))
        np.testing.assert_allclose(g, e, rtol=tolerance, atol=tolerance * scale, err_msg=text)


def layered_inputs(program, sizes, names):
    """Inputs of the program with one more axis in front for each vmap around it, outermost first."""
    sizes_of_batches = [b for b, n in zip((2, 3, 1), [n for n in names if n == "vmap"], strict=False)]
    rng = np.random.default_rng(8)
    return [rng.uniform(-2, 2, (*sizes_of_batches, *x.shape)) for x in program.arrays(sizes)]


def check_closed(program, names):
    functions = [apart(program)]
    for name in reversed(names):
        functions.append(LAYERS[name](functions[-1]))
    below, above = map(anyshape.jit, functions[-2:])
    for sizes in (
        {"n": 2, "m": 3, "k": 1},
        {"n": 0, "m": 1, "k": 2},
        {"n": 1, "m": 1, "k": 1},
        {"n": 3, "m": 1, "k": 5},
    ):
        if is_error(outcome(lambda *a: program(np, *a), *program.arrays(sizes))):
            continue
        xs = layered_inputs(program, sizes, names)
        check_layer(names[0], below, above, xs, f"{' of '.join(names)} of\n{program}\nat {sizes}")
    assert above.cache_info().traces <= 1


NESTS = st.lists(st.sampled_from(sorted(LAYERS)), min_size=2, max_size=3).map(tuple)


@settings(max_examples=50)
@given(programs(smooth=True, dtypes=FLOATS, length=4), NESTS)
def test_transforms_nest_in_any_order(program, names):
    check_closed(program, names)


@pytest.mark.slow
@settings(max_examples=1500)
@given(programs(smooth=True, dtypes=FLOATS, length=6), NESTS)
def test_transforms_nest_in_any_order_slow(program, names):
    check_closed(program, names)


# -- Laws 5 and 7: concrete at the boundary, portable ------------------------------------------------------


@settings(max_examples=40)
@given(programs())
def test_plans_equal_the_naive_evaluator_and_graphs_pickle(program):
    jitted = traced(program)
    for sizes in size_combinations():
        xs = program.arrays(sizes)
        if not is_error(outcome(jitted, *xs)):
            newest = jitted.programs()[-1]
            got = newest.run(*xs)
            check_equal(got, evaluate(newest.trace.graph, xs), 1e-12, f"{program}\nat {sizes}")
    for traced_program in jitted.programs():
        graph = traced_program.graph
        copy = pickle.loads(pickle.dumps(graph))
        assert copy == graph
        assert str(copy) == str(graph)


def concrete(param):
    if isinstance(param, tuple):
        return all(map(concrete, param))
    return not callable(param) or isinstance(param, (type, np.dtype))


@settings(max_examples=40)
@given(programs())
def test_params_hold_no_arrays_and_no_functions(program):
    jitted = traced(program)
    outcome(jitted, *program.arrays({"n": 2, "m": 3, "k": 5}))
    for traced_program in jitted.programs():
        for node in traced_program.graph.nodes:
            for name, param in node.params:
                assert not isinstance(param, np.ndarray), f"{node.op}: {name}"
                assert concrete(param) or has_local(param), f"{node.op}: {name} = {param!r}"


def test_graphs_of_two_traces_compare_and_programs_take_no_attributes():
    """Programs compare by identity: those with equal graphs may come to differ, as arrays that they read change."""
    pairs = []
    for seed in range(10):
        program = seeded_program(seed)
        arrays = program.arrays({"n": 2, "m": 2, "k": 2})
        one, other = [traced(program) for _ in range(2)]
        outcome(one, *arrays), outcome(other, *arrays)
        pairs += zip(one.programs(), other.programs(), strict=True)
    assert len(pairs) > 5
    for a, b in pairs:
        copied = pickle.loads(pickle.dumps(a))
        assert a.graph == b.graph == copied.graph and hash(a.graph) == hash(copied.graph)
        assert str(a) == str(copied) and str(a.plan) == str(copied.plan)
        with pytest.raises(AttributeError, match="'note'"):
            a.note = 1


_REPLAY = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    cases = pickle.load(file)
for text, data, runs in cases:
    program = pickle.loads(data)
    assert pickle.loads(data).graph == program.graph, text
    for xs, expected in runs:
        for g, e in zip(program.run(*xs), expected, strict=True):
            assert np.shape(g) == e.shape and np.asarray(g).dtype == e.dtype, text
            np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12, err_msg=text)
print(len(cases))
"""


def test_programs_and_gradients_run_in_a_fresh_process(tmp_path):
    cases = []
    for seed in range(25):
        program = seeded_program(seed, **SMOOTH)
        gradient = weighted_gradient(program)
        for function, pack in ((traced(program), list), (gradient, lambda xs, p=program: [*xs, *weights_of(p, xs)])):
            runs = []
            for sizes in size_combinations()[:4]:
                xs = program.arrays(sizes)
                if is_error(outcome(lambda *a, p=program: p(np, *a), *xs)):
                    continue
                function(*xs) if pack is list else function(xs, weights_of(program, xs))
                first = function.programs()[0]
                runs.append((pack(xs), [np.array(y) for y in first.run(*pack(xs))]))
            if runs:
                cases.append((str(program), pickle.dumps(function.programs()[0]), runs))
    file = tmp_path / "cases"
    file.write_bytes(pickle.dumps(cases))
    command = [sys.executable, "-c", _REPLAY, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) == len(cases) > 20


# -- Law 6: said out loud ----------------------------------------------------------------------------------


@settings(max_examples=60)
@given(programs())
def test_a_failed_call_leaves_nothing_behind(program):
    """After any error, in tracing or at a call, the next call works and the next trace starts clean."""
    jitted = traced(program)
    for sizes in ({"n": 2, "m": 5, "k": 0}, {"n": 5, "m": 2, "k": 1}):
        got = outcome(jitted, *program.arrays(sizes))
        if is_error(got):
            assert isinstance(got, AnyshapeError), f"{program}\n{got!r}"
    sizes = {"n": 2, "m": 2, "k": 2}
    expected = outcome(lambda *a: program(np, *a), *program.arrays(sizes))
    check_same_outcome(outcome(jitted, *program.arrays(sizes)), expected, 1e-11, str(program))
    x = np.ones(3)
    assert float(anyshape.jit(lambda x: x.sum())(x)) == 3.0
