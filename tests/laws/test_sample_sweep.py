"""Every check on every row of tests/samples: one trace serves every size, derivatives and batches are right.

A row is tried at the sizes 0, 1, 2 and 5. What NumPy gives is what the program must give; where NumPy raises,
the program must raise an error of the same built-in class.
"""

import pickle
import subprocess
import sys
from functools import lru_cache

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.backend.first_run import first_run
from anyshape.backend.interpreter import evaluate
from tests.laws.sweep import (
    arrays_of,
    cases,
    check_equal,
    check_same_outcome,
    combinations,
    complex_step,
    few_combinations,
    finite_difference,
    in_gate,
    in_namespace,
    is_error,
    label,
    leaves,
    outcome,
    pairing,
    programs_of,
    pull_back,
    rows,
    split,
    uneven,
)

WIDE = ("float64", "complex128")
OTHER_DTYPES = 24  # one in so many, of the dtypes of a row behind its first one, is in the gate
EVERY = cases()
WIDE_CASES = [c for c in cases(WIDE) if c[1].grad is True]


def every(select, one_in=1, turn=None):
    """Run a check on cases: one in so many rows with its first dtype, and a part of the other dtypes. The rest is slow.

    The part differs from check to check, so that each row and most dtypes are tried by some of them. Checks of one
    `turn` have the same part, and so share programs.
    """
    first = {}
    for case in select:
        first.setdefault(id(case[1]), case)

    def parametrized(check):
        def is_slow(case):
            part = one_in if first[id(case[1])] is case else OTHER_DTYPES
            return not in_gate(turn or check.__name__, case, part)

        marked = [pytest.param(c, id=label(c), marks=[pytest.mark.slow] * is_slow(c)) for c in select]
        return pytest.mark.parametrize("case", marked)(check)

    return parametrized


def traced(row, namespace):
    """The row as one jitted function."""
    return anyshape.jit(in_namespace(row, namespace))


# -- values ------------------------------------------------------------------------------------------------


def sweep_values(jitted, row, dtype, order):
    """One trace against eager NumPy at every combination of sizes; the first one tried is the one traced."""
    served = 0
    for sizes in combinations(row)[::order]:
        xs = arrays_of(row, sizes, dtype)
        expected = outcome(lambda *a: row.function(np, *a), *[x.copy() for x in xs])
        got = outcome(jitted, *xs)
        check_same_outcome(got, expected, row.tolerance, f"{row.name} at {sizes}")
        served += not is_error(got)
    if served and "retraces" not in row.tags:
        assert jitted.cache_info().traces == 1, f"{row.name}: {jitted.cache_info()}"


@every(EVERY)
def test_plain_numpy_functions_give_what_numpy_gives(case):
    _, row, dtype = case
    if "namespace" in row.tags:
        pytest.skip("the row makes arrays from sizes alone, which plain NumPy functions cannot")
    sweep_values(traced(row, np), row, dtype, 1)  # traced at the smallest sizes


@every(EVERY, one_in=6, turn="the namespace")
def test_the_namespace_gives_what_numpy_gives(case):
    _, row, dtype = case
    sweep_values(programs_of(case).value, row, dtype, -1)  # traced at other sizes than above


@every(EVERY, one_in=8)
def test_concrete_arrays_in_the_namespace_are_numpys_own(case):
    _, row, dtype = case
    for sizes in few_combinations(row)[:2]:
        xs = arrays_of(row, sizes, dtype)
        expected = outcome(lambda *a: row.function(np, *a), *xs)
        got = outcome(lambda *a: row.function(anp, *a), *xs)
        check_same_outcome(got, expected, row.tolerance, f"{row.name} outside a trace at {sizes}")


@every(EVERY, one_in=6, turn="the namespace")
def test_the_plan_equals_the_naive_evaluator_and_survives_pickling(case):
    """Law 5 and Law 7: graph, plan and program say the same, here and after a round trip."""
    _, row, dtype = case
    jitted, pickled = programs_of(case).value, {}
    for sizes in few_combinations(row):
        xs = arrays_of(row, sizes, dtype)
        got = outcome(jitted, *xs)
        if is_error(got):
            continue
        program = next(p for p in jitted.programs() if p.accepts(*xs))
        before = [x.copy() for x in xs]
        # as traced: a wrong simplification would change both sides of a comparison with the simplified graph
        check_equal(program.run(*xs), evaluate(program.trace.graph, xs), 1e-12, f"{row.name} at {sizes}")
        check_first_run(program, xs, f"{row.name} at {sizes}")
        check_equal(xs, before, 0, f"{row.name} changed its arguments at {sizes}")
        again = pickled.setdefault(program, pickle.loads(pickle.dumps(program)))
        assert again.graph == program.graph
        check_equal(leaves(again(*xs)), got, 1e-12, f"{row.name} pickled, at {sizes}")


def check_first_run(program, xs, note):
    """The run without a plan gives what the plan gives, in arrays of its own, or nothing."""
    run = first_run(program.graph, program.prologue)
    with np.errstate(all="ignore"):
        outputs = None if run is None else run(*xs)
        if outputs is not None:
            planned = program.run(*xs)
            check_equal(outputs, planned, 1e-12, f"{note}, in its first run")
            assert [*map(type, outputs)] == [*map(type, planned)], f"{note}, in its first run"
            assert not any(np.shares_memory(x, y) for x in xs for y in outputs), f"{note}, in its first run"


# -- first derivatives -------------------------------------------------------------------------------------


@lru_cache(maxsize=4)  # the tests of a case stand together
def prepared(case):
    """Return the eager function and arrays for a check of derivatives, at each combination that NumPy accepts."""
    _, row, dtype = case
    accepted = []
    for sizes in few_combinations(row):
        xs = arrays_of(row, sizes, dtype)
        eager = split(row, xs, np)
        moving, rest = eager.parts(xs)
        results = outcome(eager.function, moving, rest)
        if is_error(results) or not results or not moving:
            continue
        accepted.append((eager, sizes, moving, rest, results))
    return accepted


@lru_cache(maxsize=4)
def derived(case):
    """Return uneven directions and weights, with values, tangents and gradients, at each combination of `prepared`.

    One program gives both: to trace and compile two took a quarter more.
    """
    rng, points = np.random.default_rng(1), []
    for _, _, moving, rest, results in prepared(case):
        ts, weights = [uneven(rng, x) for x in moving], [uneven(rng, y) for y in results]
        points.append((ts, weights, *map(leaves, programs_of(case).both(moving, rest, ts, weights))))
    if points and "retraces" not in case[1].tags:
        assert programs_of(case).both.cache_info().traces == 1
    return points


def narrow(results):
    """A result was rounded to single precision on the way."""
    return any(np.finfo(r.dtype).bits < 64 for r in results)


def check_derivatives(derivatives, expected, results, tolerance, note):
    """Derivatives of the form of their results, and equal to the expected ones wherever the result is a number."""
    for i, (s, e, r) in enumerate(zip(derivatives, expected, results, strict=True)):
        assert s.dtype == r.dtype, f"{note}, derivative {i}: dtype {s.dtype}, its result has {r.dtype}"
        assert s.shape == r.shape, f"{note}, derivative {i}: shape {s.shape}, its result has {r.shape}"
        finite = np.isfinite(r)
        s, e, r = s[finite], e[finite], r[finite]
        scale = max(1.0, float(np.abs(e).max(initial=0)), float(np.abs(r).max(initial=0)))
        np.testing.assert_allclose(s, e, rtol=tolerance, atol=tolerance * scale, err_msg=f"{note}, derivative {i}")


@every(WIDE_CASES, one_in=3)
def test_jvp_agrees_with_differences_and_the_complex_step(case):
    row = case[1]
    tried = zip(prepared(case), derived(case), strict=True)
    for (eager, sizes, moving, rest, results), (ts, _, values, derivatives, _) in tried:
        note = f"{row.name} at {sizes}"
        check_equal(values, results, row.tolerance, note)
        step = 1e-2 if narrow(results) else 5e-6
        estimate = finite_difference(lambda xs, r=rest, e=eager: e.function(xs, r), moving, ts, step)
        check_derivatives(derivatives, estimate, results, 2e-2 if narrow(results) else 1e-6, f"{note}, differences")
        exact = complex_step(lambda xs, r=rest, e=eager: e.function(xs, r), moving, ts, estimate)
        if exact is not None:
            check_derivatives(derivatives, exact, results, max(1e-10, row.tolerance), f"{note}, complex step")


@every(WIDE_CASES, one_in=3)
def test_vjp_is_the_transpose_of_jvp(case):
    """<weights, jvp(t)> = <vjp(weights), t> with uneven weights; a gradient has the form of its argument."""
    row, tried = case[1], zip(prepared(case), derived(case), strict=True)
    for (_, sizes, moving, _, results), (ts, weights, _, derivatives, grads) in tried:
        for x, g in zip(moving, grads, strict=True):
            assert (g.dtype, g.shape) == (x.dtype, x.shape), f"{row.name} at {sizes}: gradient {g.dtype}{g.shape}"
        (left, scale), (right, _) = pairing(weights, derivatives), pairing(grads, ts)
        limit = 1e-4 if narrow(results) else 1e-9
        if not np.isfinite(left):
            continue  # a division by zero, which has no derivative
        assert abs(left - right) <= limit * (1 + scale), f"{row.name} at {sizes}: {left} and {right}"


@every([c for c in EVERY if c[1].grad is False and c[2] in WIDE])
def test_what_is_declared_flat_has_no_derivative(case):
    both = programs_of(case).both
    for _, sizes, moving, rest, results in prepared(case):
        _, *flat = both(moving, rest, [np.ones_like(x) for x in moving], [np.ones_like(y) for y in results])
        derivatives = leaves(flat)
        assert all(not np.any(s) for s in derivatives), f"{case[1].name} at {sizes}: {derivatives}"


@every([c for c in cases(("float32", "complex64")) if c[1].grad is True], one_in=8)
def test_derivatives_in_single_precision_keep_the_dtype(case):
    """The same derivatives as in double precision, to single precision."""
    row = case[1]
    program = programs_of(case).forward
    for _, sizes, moving, rest, results in prepared(case)[:2]:
        rng = np.random.default_rng(3)
        ts = [uneven(rng, x) for x in moving]
        derivatives = leaves(program(moving, rest, ts)[1])
        wide_results, wide = map(leaves, program([widen(x) for x in moving], rest, [widen(t) for t in ts]))
        if not all(np.allclose(w, r, 1e-2, 1e-2) for w, r in zip(wide_results, results, strict=True)):
            continue  # the value itself is lost in single precision: a cancellation, or a choice that flips
        check_derivatives(derivatives, wide, results, 5e-3, f"{row.name} at {sizes}")


def widen(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) if x.dtype.kind in "fc" else x


# -- second derivatives ------------------------------------------------------------------------------------


def second_order(f):
    """Forward and reverse over reverse: the derivative of the gradient along t, and its transpose."""

    def both(m, r, w, t):
        gradient = lambda *xs: pull_back(f, xs, r, w)
        _, forward = anyshape.jvp(gradient, tuple(m), tuple(t))
        _, back = anyshape.vjp(gradient, *m)
        return pull_back(f, m, r, w), list(forward), list(back(list(t)))

    return anyshape.jit(both)


def steady_difference(function, xs, ts, otherwise):
    """Differences where two steps agree. Where a gradient jumps, as at a tie, they do not: there `otherwise`."""
    fine, coarse = (finite_difference(function, xs, ts, step) for step in (4e-6, 8e-6))
    steady = [np.abs(f - c) <= 1e-2 * (1 + np.abs(f)) for f, c in zip(fine, coarse, strict=True)]
    return [np.where(s, f, o) for s, f, o in zip(steady, fine, otherwise, strict=True)]


@every([c for c in WIDE_CASES if c[1].order >= 2], one_in=12)
def test_second_derivatives_agree_with_differences_of_the_gradient(case):
    _, row, dtype = case
    program, rng = None, np.random.default_rng(4)
    for _, sizes, moving, rest, results in prepared(case)[:3]:
        if narrow(results):
            continue  # differences of differences say nothing there
        program = program or second_order(split(row, arrays_of(row, sizes, dtype), anp).function)
        ts, weights = [uneven(rng, x) for x in moving], [uneven(rng, y) for y in results]
        gradient, forward, back = map(leaves, program(moving, rest, weights, ts))
        note = f"{row.name} at {sizes}"
        gradient_at = lambda xs, p=program, r=rest, w=weights, t=ts: p(xs, r, w, t)[0]
        estimate = steady_difference(gradient_at, moving, ts, forward)
        check_derivatives(forward, estimate, gradient, 2e-6, f"{note}, jvp of vjp")
        check_derivatives(back, forward, gradient, 1e-8, f"{note}, vjp of vjp against jvp of vjp")


# refused: tests for equal values read the earlier tangent, as does the mask of an example loop
REFUSED = ("eigvals", "eig", "eigvalsh", "eigh", "svd", "svdvals", "roots", "rerun of a while_loop")


@every([c for c in WIDE_CASES if c[1].order >= 2 and not {*c[1].ops, c[1].name}.intersection(REFUSED)], one_in=200)
def test_second_derivatives_have_transposes_in_the_earlier_tangent(case):
    """Rules of ops that are linear in an operand keep it linear when they move another one."""
    _, row, dtype = case
    rng = np.random.default_rng(5)
    for _, sizes, moving, rest, results in prepared(case)[:1]:
        if narrow(results):
            continue
        f = split(row, arrays_of(row, sizes, dtype), anp).function
        first = lambda xs, ts, f=f, r=rest: anyshape.jvp(lambda *xs: f(xs, r), tuple(xs), tuple(ts))[1]
        further = tuple([uneven(rng, x) for x in moving])
        second = lambda ts, m=tuple(moving), c=further, d=first: anyshape.jvp(lambda *xs: d(xs, ts), m, c)[1]
        ts = [uneven(rng, x) for x in moving]
        forward = leaves(second(ts))
        weights = [uneven(rng, y) for y in forward]
        (back,) = anyshape.linear_transpose(second, ts)(weights)
        (right, size), (ours, _) = pairing(forward, weights), pairing(leaves(back), ts)
        assert abs(ours - right) <= 1e-8 * max(1, size), f"{row.name}: {ours}, not {right}"


# -- batches -----------------------------------------------------------------------------------------------


def batch_axes(xs):
    """Ways to batch the arrays: all first; last axes; and one argument shared by all examples."""
    yield (0,) * len(xs)
    yield tuple(x.ndim - (i % 2 and x.ndim > 0) for i, x in enumerate(xs))
    if len(xs) > 1:
        for shared in range(min(len(xs), 3)):
            yield tuple(None if i == shared else 0 for i in range(len(xs)))


def stacked(row, sizes, dtype, axes, size):
    """`size` examples of the arrays, stacked along `axes`, and the examples."""
    one = arrays_of(row, sizes, dtype)
    shift = [row.arrays(sizes, dtype, 1000 + i) for i in range(size)]
    examples = [[x if a is None else np.asarray(y) for x, y, a in zip(one, ys, axes, strict=True)] for ys in shift]
    arrays = []
    for i, (x, axis) in enumerate(zip(one, axes, strict=True)):
        parts = [example[i] for example in examples]
        empty = np.empty((*x.shape[:axis], 0, *x.shape[axis:]), x.dtype) if axis is not None else x
        arrays.append(x if axis is None else np.stack(parts, axis) if parts else empty)
    return arrays, examples, one


def check_batch(row, mapped, sizes, dtype, axes, size):
    arrays, examples, one = stacked(row, sizes, dtype, axes, size)
    single = outcome(lambda *a: row.function(np, *a), *one)
    loops = [outcome(lambda *a: row.function(np, *a), *example) for example in examples]
    if is_error(single) or any(map(is_error, loops)):
        return False
    if any([y.shape for y in loop] != [y.shape for y in single] for loop in loops):
        return False
    expected = [np.empty((0, *y.shape), y.dtype) for y in single]
    if examples:
        expected = [np.stack(parts) for parts in zip(*loops, strict=True)]
    got = leaves(mapped(*arrays))
    check_equal(got, expected, row.tolerance, f"{row.name} at {sizes}, {size} examples along {axes}")
    return True


def check_vmap(case, chosen):
    """Compare with a loop along the chosen ones of all ways to batch."""
    _, row, dtype = case
    for axes in chosen(list(batch_axes(arrays_of(row, few_combinations(row)[0], dtype)))):
        mapped = anyshape.jit(anyshape.vmap(in_namespace(row, anp), in_axes=axes))
        done = False
        for sizes, size in zip(few_combinations(row), (3, 1, 3, 0, 2), strict=False):
            done |= check_batch(row, mapped, sizes, dtype, axes, size)
        if done and "retraces" not in row.tags:
            assert mapped.cache_info().traces == 1, f"{row.name} along {axes}"


BATCHED = [c for c in EVERY if c[1].vmap and c[1].shapes and c[2] in c[1].dtypes[:2]]


@every(BATCHED, one_in=3)
def test_vmap_equals_a_loop(case):
    """Half of the rows are batched along their first axes, and each other case in one of the other ways."""
    _, row, dtype = case
    if dtype == row.dtypes[0] and in_gate("first axes", case, one_in=2):
        check_vmap(case, lambda ways: ways[:1])
    else:
        check_vmap(case, lambda ways: [ways[-1 - len(row.name) % max(1, len(ways) - 1)]])


@pytest.mark.slow
@every(BATCHED, one_in=2)
def test_vmap_equals_a_loop_in_every_way(case):
    check_vmap(case, list)


# -- a fresh process ---------------------------------------------------------------------------------------

_REPLAY = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    rows = pickle.load(file)
for name, data, runs in rows:
    program = pickle.loads(data)
    for xs, expected in runs:
        got = program.run(*xs)
        for g, e in zip(got, expected, strict=True):
            assert np.asarray(g).dtype == e.dtype, name
            np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-12, err_msg=name, strict=False)
print(len(rows))
"""


@pytest.mark.parametrize("one_in", [10, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", range(4))
def test_programs_run_in_a_fresh_process(part, one_in, tmp_path):
    """Law 7: a pickled program needs nothing of the process, nor of the function, it was traced from."""
    saved = []
    for _, row in [c for c in rows()[part::4] if in_gate("fresh process", c, one_in)]:
        jitted, runs = traced(row, anp), []
        for sizes in few_combinations(row)[:3]:
            xs = arrays_of(row, sizes, row.dtypes[0])
            if not is_error(outcome(jitted, *xs)):
                runs.append((xs, [np.array(y) for y in jitted.programs()[0].run(*xs)]))
        if runs:
            saved.append((row.name, pickle.dumps(jitted.programs()[0]), runs))
    file = tmp_path / "programs"
    file.write_bytes(pickle.dumps(saved))
    command = [sys.executable, "-c", _REPLAY, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout.split()[-1]) == len(saved) > 20
