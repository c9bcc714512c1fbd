"""Tests of tiers: which plan runs, when the optimised one takes its place, and that both give the same."""

import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape import grad, jit, scan, vmap
from anyshape.backend.compiler.codegen import execute, tiles
from anyshape.backend.compiler.passes import pipeline
from anyshape.backend.compiler.passes.pipeline import PLAN_PASSES, Tier
from anyshape.backend.runtime.config import MODES, config, default_mode
from anyshape.errors import ArgumentError
from anyshape.graph.ir.graph import subgraphs
from anyshape.graph.prover.user_stack import is_generated, is_library_frame
from anyshape.program import specialize
from tests.laws.sweep import arrays_of, few_combinations, in_namespace, is_error, leaves, outcome, rows
from tests.laws.sweep import cases as swept_cases

DEFAULTS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
LARGE = np.linspace(0.0, 1.0, execute.LARGE)


def bumps(x):
    return np.sum(np.tanh(np.exp(-x * x) + 1.0) * x - np.sin(x) / (1.0 + x * x))


class Clock:
    """Clock that goes on by so many seconds at each second reading: calls take that long, and planning takes none."""

    def __init__(self, seconds):
        self.seconds, self.now, self.readings = seconds, 0.0, 0

    def __call__(self):
        self.readings += 1
        self.now += self.seconds if self.readings % 2 == 0 else 0.0
        return self.now


@pytest.fixture(autouse=True)
def ambient_error_handling():
    """Tests run under np.errstate, within which no plan takes the place of another."""
    with np.errstate(**DEFAULTS):
        yield


@pytest.fixture
def clock(monkeypatch):
    """Return a clock by which everything takes a second."""
    for mode in MODES:  # the first plan of a process takes longer, and another estimate of its time
        jit(lambda x, w: bumps(x * w), optimize=mode)(np.ones(3), np.ones(3))
    made = Clock(1.0)
    monkeypatch.setattr(specialize, "clock", made)
    monkeypatch.setattr(specialize, "SECONDS_PER_ELEMENT", 0.0)
    return made


def only(function):
    (program,) = function.programs()
    return program


# -- when the optimised plan is made --------------------------------------------------------------------------------


def test_the_optimised_plan_is_made_once_half_the_time_of_calls_reaches_its_cost(clock):
    derivative = jit(bumps, optimize="auto")
    seen = []
    for _ in range(6):
        derivative(LARGE)
        seen.append((only(derivative).tier.tier, only(derivative).tier.calls))
    # the first plan took a second to make, so the optimised one is taken to take two: four calls of a second pay for it
    assert seen == [("first", 1), ("first", 2), ("first", 3), ("first", 4), ("optimised", 4), ("optimised", 4)]
    info = only(derivative).tier
    assert (info.seconds, info.saving, info.cost) == (4.0, 2.0, 2.0)
    assert str(info) == "the optimised plan: made in 1 s, after 4 calls had taken 4 s"


def test_small_arrays_read_no_clock_and_keep_the_first_plan(clock):
    function = jit(bumps, optimize="auto")
    function(np.ones(3))
    readings = clock.readings
    for n in (0, 1, 7, execute.LARGE - 1):
        for _ in range(50):
            function(np.ones(n))
    assert clock.readings == readings
    assert str(only(function).tier) == "the first plan: calls so far are too short for an optimised one to pay"


def calls_in(function, *args):
    """Return the names of the functions of the package that a call runs."""
    called = []
    sys.setprofile(lambda frame, event, _: called.append(frame) if event == "call" else None)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    names = ["run" if is_generated(f) else f.f_code.co_name for f in called if is_library_frame(f)]
    return [name for name in names if name not in CHECKS]


CHECKS = {"verify", "rank"}  # of metadata
HIT = {"__call__", "match", "run"}


def test_hits_call_no_more_before_the_optimised_plan_than_after(clock):
    """Most calls of small functions are such calls: what they call besides their plan is what a hit costs."""
    f = jit(lambda d: d["x"] * d["y"] + d["z"], optimize="auto")
    args = {key: np.ones(3) for key in "xyz"}
    for _ in range(3):
        f(args)
    before = calls_in(f, args)
    assert f.programs()[0].tier.tier == "first"
    f.optimise_for(args)
    assert f.programs()[0].tier.tier == "optimised"
    assert {*before} == HIT and len(before) == len(HIT)
    assert calls_in(f, args) == before


@pytest.mark.parametrize("logged", [False, True])
def test_calls_of_other_patterns_go_on_after_one_has_a_plan(logged, caplog):
    caplog.set_level(logging.DEBUG if logged else logging.INFO, "anyshape.run")
    f = jit(lambda x, w: (x * w, np.sum(x + w)), optimize="auto")
    cases = [(np.arange(3.0), np.arange(k) + 0.5) for k in (3, 1)] + [(np.ones(1), np.arange(4.0))]
    for turn in range(3 * execute.COUNTED):
        x, w = cases[turn % 3]
        if turn == 40:
            f.optimise_for(x, w)
        product, total = f(x, w)
        np.testing.assert_array_equal(product, x * w)
        np.testing.assert_allclose(total, np.sum(x + w), rtol=1e-15)
    assert f.cache_info().traces == 1 and f.cache_info().hits == 3 * execute.COUNTED - 1
    assert len([r for r in caplog.records if r.name == "anyshape.run"]) == (3 * execute.COUNTED if logged else 0)


def test_small_calls_that_broadcast_pay_by_one_in_a_number_of_them(clock):
    """A fifth of the time of the calls that a measured one stands for: 32 calls of a second save 6.4 of the 2 taken."""
    f = jit(lambda x, w: np.sum(np.tanh(x * w)), optimize="auto")
    seen = []
    for _ in range(2 * execute.COUNTED + 2):
        f(np.ones(3), np.ones(3))
        seen.append(only(f).tier.tier)
    assert seen == ["first"] * (2 * execute.COUNTED - 2) + ["optimised"] * 4  # the measured call counts twice


_FIRST_COST = """
import numpy as np
import anyshape
f = anyshape.jit(lambda x, w: np.sum(np.tanh(x * w)), optimize="auto")
f(np.ones(3), np.ones(3))
info = f.programs()[0].tier
print(info.cost < 2 * 1.5e-4 * 10)
"""


def test_modules_that_the_first_plan_loads_are_no_cost_of_the_second():
    command = [sys.executable, "-c", _FIRST_COST]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "True\n"


def test_errors_of_measured_calls_are_those_of_others(clock):
    f = jit(lambda x, w: np.sum(np.tanh(x * w)), optimize="auto")
    f(np.ones(3), np.ones(3))
    texts = set()
    for _ in range(2 * execute.COUNTED):
        with pytest.raises(ValueError, match="must equal") as caught:
            f(np.ones(3), np.ones(4))
        texts.add(str(caught.value))
    assert len(texts) == 1


@pytest.mark.parametrize("steps", [1, 2])
def test_loops_over_small_arrays_pay_by_the_clock(steps, clock):
    """A trip may take any time, also where the loop is the only step."""
    function = jit(lambda xs: scan(lambda c, x: (c + np.sin(x), ()), 0.0, xs)[0] + (0 if steps == 1 else xs[0]))
    function = jit(function, optimize="auto")
    seen = []
    for _ in range(6):
        function(np.ones(5))
        seen.append(only(function).tier.tier)
    assert seen == ["first"] * 4 + ["optimised"] * 2


def test_one_call_that_is_long_enough_gets_the_optimised_plan_at_once(clock, monkeypatch):
    monkeypatch.setattr(specialize, "SECONDS_PER_ELEMENT", 1.0)
    function = jit(bumps, optimize="auto")
    function(LARGE)
    assert only(function).tier.tier == "optimised" and only(function).tier.calls == 0


def test_arrays_that_would_fill_the_memory_never_run_without_tiles(clock, monkeypatch):
    function = jit(bumps, optimize="auto")
    function(np.ones(3))
    monkeypatch.setattr(specialize, "MAX_ELEMENTS", execute.LARGE)
    function(LARGE)
    assert only(function).tier.tier == "optimised"


def test_intermediate_arrays_count_as_large(clock):
    function = jit(lambda x: np.sum(np.sin(x[:, None] * x)), optimize="auto")
    x = np.linspace(0, 1, 200)  # 40,000 products
    for _ in range(6):
        function(x)
    assert only(function).tier.tier == "optimised"


def test_calls_of_one_pattern_pay_for_its_plan(clock):
    function = jit(grad(lambda x, w: np.sum(np.tanh(x * w))), optimize="auto")
    few, ones = (np.ones(3), np.ones(3)), (np.ones(3), np.ones(1))
    while only_if_any(function) != "optimised":
        function(*few)
    program = only(function)
    assert len(program.specializer.runs) == 1
    for _ in range(3):
        function(*ones)
    assert len(program.specializer.runs) == 1, "another pattern has not paid for a plan yet"
    while len(program.specializer.runs) == 1:
        function(*ones)
    assert function.cache_info().traces == 1


def only_if_any(function):
    return only(function).tier.tier if function.programs() else None


@pytest.mark.parametrize("optimize", ["now", "off"])
def test_now_and_off_never_change_their_plan(optimize, clock):
    function = jit(bumps, optimize=optimize)
    results = {function(LARGE).tobytes() for _ in range(12)}
    assert len(results) == 1
    assert only(function).tier.tier == {"now": "optimised", "off": "first"}[optimize]
    assert only(function).tier.calls == 0


@pytest.mark.parametrize("optimize", ["now", "off"])
def test_bits_do_not_depend_on_the_calls_before(optimize):
    rng = np.random.default_rng(0)
    x, w, outer = rng.normal(size=(300, 1)), rng.normal(size=400), rng.normal(size=(300, 400))
    loss = lambda x, w, y: np.sum((np.tanh(x * w) - y) ** 2)
    fresh = [leaves(jit(grad(loss, (0, 1)), optimize=optimize)(x, w, outer))[1].tobytes() for _ in range(2)]
    used = jit(grad(loss, (0, 1)), optimize=optimize)
    for shape in ((3, 1), (1, 4), (3, 4), (1, 1)):
        for _ in range(20):
            used(np.ones((shape[0], 1)), np.ones(shape[1]), np.ones(shape))
    later = [leaves(used(x, w, outer))[1].tobytes() for _ in range(20)]
    assert len({*fresh, *later}) == 1


def test_sizes_that_stretch_to_other_constants_are_compared():
    def windows(x, y):
        return np.sum(np.tanh(x[4:] * y[:1] + x[:-4]) - y.mean(), axis=0)

    for optimize in MODES:
        made = jit(windows, optimize=optimize)
        for n in (4, 9, 64, execute.LARGE + 7):
            np.testing.assert_allclose(made(np.ones(n), np.ones(3)), windows(np.ones(n), np.ones(3)), rtol=1e-12)


_DIGESTS = """
import hashlib, sys
import numpy as np
import anyshape
loss = lambda x, w, y: np.sum((np.tanh(x @ w) - y) ** 2) + np.sum(np.einsum("ij,jk,lk->il", x, w, y))
x = np.linspace(-1, 1, 400 * 30).reshape(400, 30)
w, y = np.linspace(0, 1, 30 * 90).reshape(30, 90), np.linspace(0, 2, 400 * 90).reshape(400, 90)
f = anyshape.value_and_grad(anyshape.jit(loss, optimize=sys.argv[1]), (0, 1))
for _ in range(int(sys.argv[2])):
    f(x[:3, :2], w[:2, :5], y[:3, :5])
    f(x[:1], w, y)
value, derivatives = f(x, w, y)
print(hashlib.sha256(b"".join(v.tobytes() for v in (value, *derivatives))).hexdigest())
"""


@pytest.mark.parametrize("optimize", ["now", "off"])
def test_each_process_has_the_same_bits(optimize):
    printed = set()
    for seed, calls in (("1", "0"), ("2", "20")):
        environment = os.environ | {"PYTHONHASHSEED": seed, "ANYSHAPE_CHECK": "0"}
        command = [sys.executable, "-c", _DIGESTS, optimize, calls]
        printed.add(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert len(printed) == 1


# -- how it takes the place of the first ---------------------------------------------------------------------------


def test_no_plan_takes_the_place_of_another_within_errstate(clock):
    function = jit(bumps, optimize="auto")
    with np.errstate(all="ignore"):
        for _ in range(9):
            function(LARGE)
        assert only(function).tier.tier == "first"
        assert "waits for a call outside of np.errstate" in str(only(function).tier)
    function(LARGE)
    assert only(function).tier.tier == "optimised"


def test_a_profile_measures_the_optimised_plan_alone(capsys):
    function = jit(bumps, optimize="auto")
    anyshape.profile(function, repeat=2)(np.ones(5))
    assert only(function).tier.tier == "optimised"
    run = only(function).run
    anyshape.profile(function, repeat=2)(np.tile(LARGE, 16))
    assert only(function).run is run and "steps in tiles" in capsys.readouterr().out


def test_a_failure_to_optimise_is_logged_and_the_first_plan_goes_on(clock, monkeypatch, caplog):
    function = jit(bumps, optimize="auto")
    expected = function(LARGE)

    def fails(self):
        raise RuntimeError("no groups today")

    broken = tuple(p._replace(run=fails) if p.name == "fuse" else p for p in PLAN_PASSES)
    monkeypatch.setattr(pipeline, "PLAN_PASSES", broken)
    for _ in range(9):
        np.testing.assert_array_equal(function(LARGE), expected)
    assert [r.name for r in caplog.records if "could not be made" in r.message] == ["anyshape.plan"]
    assert str(only(function).tier) == (
        "the first plan: the optimised one could not be made: RuntimeError: no groups today"
    )


def test_ctrl_c_while_optimising_leaves_the_first_plan(clock, monkeypatch):
    function = jit(bumps, optimize="auto")
    expected = function(LARGE)
    program = only(function)
    make = program.tiers.make

    def interrupted(pattern):
        raise KeyboardInterrupt

    monkeypatch.setattr(program.tiers, "make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(9):
            function(LARGE)
    monkeypatch.setattr(program.tiers, "make", make)
    np.testing.assert_allclose(function(LARGE), expected, rtol=1e-13)
    assert program.tier.tier == "optimised"


def test_threads_use_one_plan_or_the_other():
    function = jit(lambda x, w: (np.tanh(x * w), np.sum(np.sin(x) * w)), optimize="auto")
    x = np.linspace(0, 1, 2 * execute.LARGE)
    ways = [[y.tobytes() for y in leaves(jit(function.function, optimize=o)(x, x))] for o in ("now", "off")]
    wrong, barrier = [], threading.Barrier(4)

    def work():
        barrier.wait()
        for _ in range(30):
            got = [y.tobytes() for y in leaves(function(x, x))]
            if got not in ways:
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and function.cache_info().traces == 1
    assert only(function).tier.tier == "optimised"


def test_a_plan_that_a_forked_process_left_half_made_is_made_again():
    function = jit(bumps, optimize="auto")
    function(np.ones(3))
    program = only(function)
    program.tiers.making[None] = os.getpid()
    assert not program.tiers.optimise(None), "another thread makes it"
    program.tiers.making[None] = os.getpid() + 1
    assert program.tiers.optimise(None) and program.tier.tier == "optimised"


def test_program_objects_swap_like_functions(clock):
    program = only_traced = anyshape.trace(jit(bumps, optimize="auto"))(anyshape.ShapeDtypeStruct("n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "optimize", "auto")
        program = pickle.loads(pickle.dumps(only_traced))
        for _ in range(6):
            program(LARGE)
    assert program.tier.tier == "optimised"


# -- options --------------------------------------------------------------------------------------------------------


def test_transforms_keep_the_choice_and_config_gives_the_default(monkeypatch):
    monkeypatch.setattr(config, "optimize", "off")
    x = np.ones(3)
    for make in (grad, anyshape.value_and_grad, lambda f: vmap(f, in_axes=None, axis_size=2)):
        for choice in (None, *MODES):
            made = make(jit(bumps, optimize=choice))
            made(x)
            assert only(made).tier.mode == (choice or "off")
    plain = jit(bumps)
    plain(x)
    assert only(plain).tier.mode == "off" and "no other is made" in str(only(plain).tier)


def test_a_memory_limit_optimises_at_once():
    function = jit(bumps, optimize="auto", max_bytes=10**9)
    function(np.ones(3))
    assert str(only(function).tier) == "the optimised plan: made at once, as max_bytes bounds its arrays"
    first = jit(bumps, optimize="off", max_bytes=10**9)
    np.testing.assert_allclose(first(LARGE), function(LARGE), rtol=1e-12)


@pytest.mark.parametrize("mode", ["later", True, 3, None])
def test_other_modes_are_refused(mode):
    if mode is not None:
        with pytest.raises(ArgumentError, match=r'give "now", "auto" or "off"'):
            jit(bumps, optimize=mode)
    with pytest.raises(ArgumentError, match="optimize"):
        config.optimize = mode


def test_the_environment_gives_the_default(monkeypatch):
    for mode in MODES:
        monkeypatch.setenv("ANYSHAPE_OPTIMIZE", mode)
        assert default_mode() == mode
    monkeypatch.setenv("ANYSHAPE_OPTIMIZE", "sometimes")
    with pytest.warns(RuntimeWarning, match="ANYSHAPE_OPTIMIZE is 'sometimes', not one of now, auto, off"):
        assert default_mode() == "auto"


def test_explanations_tell_the_plan_and_why(clock):
    function = jit(bumps, optimize="auto")
    function(LARGE)
    info = function.explain().programs[0].plan
    assert (info.tier, info.mode, info.calls, info.seconds) == ("first", "auto", 1, 1.0)
    text = "the first plan: 1 call took 1 s; an optimised one would have saved 500 ms and takes 2 s to make"
    assert str(info) == text and text in str(function.explain())
    assert function.explain().to_dict()["programs"][0]["plan"]["saving"] == 0.5


def test_every_pass_has_a_tier():
    first = [p.name for p in PLAN_PASSES if p.tier is Tier.FIRST]
    assert first == ["fold_into_contractions", "read_and_write_elements", "hoist_shape_only"]
    plan = anyshape.trace(bumps)(anyshape.ShapeDtypeStruct("n")).planner
    assert plan._lower(plan.graph, tier=Tier.OPTIMISED).groups and not plan._lower(plan.graph, tier=Tier.FIRST).groups


# -- every sample in both tiers -------------------------------------------------------------------------------------

SUMS = {"reduce_sum", "sum_to", "dot_general", "einsum", "scatter_add", "segment_sum", "reduce_logsumexp"}
EVERY = swept_cases(("float64", "complex128", "int64"))


def bits(result):
    return [(y.dtype, y.shape, np.asarray(y, order="C").tobytes()) for y in leaves(result)]


def gradient(row):
    """The gradient of the sum of all results of a sample, in every argument."""
    of_arrays = in_namespace(row, anp)

    def total(*xs):
        results = of_arrays(*xs)
        return sum(anp.sum(anp.real(y) * 1.0) for y in (results if isinstance(results, (tuple, list)) else (results,)))

    return total


def names_of_ops(graph):
    """The names of all ops of a graph, of its bodies and of its branches."""
    names = {node.op.name for node in graph.nodes}
    return names.union(*[names_of_ops(inner) for node in graph.nodes for inner in subgraphs(node)])


def may_round_otherwise(ops, forced_complex):
    """Return whether a program adds in another order in tiles, or multiplies complex numbers."""
    return bool(SUMS & ops) or ("mul" in ops and (forced_complex or "complex" in ops))


def check_tiers(function, row, dtype, forced):
    """Compare the tiers at several sizes: elementwise results bit by bit, all within rounding, errors word for word.

    NumPy rounds complex products of one element, such as a tile may be, otherwise than of many. Its loops also differ
    with the memory of the result.
    """
    forced_complex = forced and np.dtype(dtype).kind == "c"
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        if forced:
            patch.setattr(tiles, "forced", (1, 6))
        first, optimised = (jit(function, optimize=mode) for mode in ("off", "now"))
        for sizes in few_combinations(row):
            xs = arrays_of(row, sizes, dtype)
            got, expected = outcome(first, *xs), outcome(optimised, *xs)
            note = f"{row.name} at {sizes}"
            if is_error(expected):
                assert is_error(got) and str(got) == str(expected), note
                continue
            assert not is_error(got), f"{note}: {got}"
            if bits(got) != bits(expected):
                ops = {name for program in optimised.programs() for name in names_of_ops(program.graph)}
                assert may_round_otherwise(ops, forced_complex), f"{note}: the tiers differ, without sums"
                for a, b in zip(leaves(got), leaves(expected), strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=note)


@pytest.mark.parametrize("family", sorted({family for family, _, _ in EVERY}))
def test_a_sample_of_each_family_gives_the_same_in_both_tiers(family):
    for row, dtype in [(row, dtype) for name, row, dtype in EVERY if name == family][::8]:
        check_tiers(in_namespace(row, anp), row, dtype, True)


@pytest.mark.slow
@pytest.mark.parametrize("forced", [False, True], ids=["whole", "tiled"])
@pytest.mark.parametrize("family", sorted({family for family, _, _ in EVERY}))
def test_samples_give_the_same_in_both_tiers(family, forced):
    for row, dtype in [(row, dtype) for name, row, dtype in EVERY if name == family]:
        check_tiers(in_namespace(row, anp), row, dtype, forced)


@pytest.mark.slow
@pytest.mark.parametrize("family", sorted({family for family, row in rows() if row.grad is True}))
def test_gradients_of_samples_give_the_same_in_both_tiers(family):
    for row in [row for name, row in rows() if name == family and row.grad is True]:
        example = arrays_of(row, few_combinations(row)[0], "float64")
        moving = tuple(i for i, x in enumerate(example) if np.asarray(x).dtype.kind == "f")
        with contextlib.suppress(StopIteration):
            check_tiers(grad(gradient(row), moving), row, "float64", True)
