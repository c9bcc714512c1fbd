"""The benchmarks run, and what they compare computes the same. No test looks at a time."""

import functools
import gc
import json
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import erf

import anyshape
from benchmarks import (
    assigning,
    attention,
    calls,
    chain,
    comparison,
    compiling,
    decisions,
    dynamic,
    first_call,
    first_calls,
    importing,
    lending,
    libraries,
    loop_programs,
    loops,
    machine_loops,
    npbench,
    npbench_worker,
    other_arrays,
    ragged,
    ragged_models,
    reference,
    run,
    scientific,
    sizes,
    small,
    solving,
    speed,
    tables,
    threads,
    timing,
    worker,
    workloads,
)
from benchmarks.by_hand import BY_HAND
from tests.backend.native.compiled import needs_compiler

QUICK = timing.QUICK


@pytest.fixture(autouse=True, scope="module")
def _no_collections():
    """Let benchmarks collect little or nothing before they measure: half of their time, and no test looks at it."""
    gc.collect()
    gc.freeze()  # for good: unfreezing would put all collected tests back into later searches
    collector = SimpleNamespace(isenabled=gc.isenabled, collect=lambda: 0, disable=gc.disable, enable=gc.enable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "gc", collector)
        yield


def names(results):
    return [r.name.strip() for r in results]


@pytest.mark.slow
def test_attention_traces_once_for_all_lengths():
    results = attention.run(QUICK, lengths=(5, 9, 6))  # agrees with the hand-written gradient, or raises
    assert results[0].name == "attention: traces for all lengths"
    assert results[0].value == 1 and results[0].within_limit


@pytest.mark.parametrize("n", [0, 1, 10])
def test_logistic_regression_agrees_with_the_hand_written_gradient(n):
    assert small.logistic(n, 3.0, QUICK)[0].limit == 3.0


def test_the_hand_written_logistic_gradient_is_a_derivative():
    rng = np.random.default_rng(0)
    w, x, y = rng.standard_normal(3), rng.standard_normal((7, 3)), (rng.random(7) < 0.5).astype(float)
    for i, unit in enumerate(np.eye(3) * 1e-6):
        rise = small.logistic_loss(w + unit, x, y) - small.logistic_loss(w - unit, x, y)
        assert small.logistic_by_hand(w, x, y)[1][i] == pytest.approx(rise / 2e-6, rel=1e-6)


def test_small_programs_agree_with_numpy():
    assert len(small.ten_elements(QUICK)) >= 1
    assert all(math.isfinite(r.value) for r in small.replay(QUICK, blocks=2))


def test_functions_of_scipy_agree_with_gradients_by_hand():
    results = scientific.run(QUICK, points=20, signal=64)  # raises where they do not
    assert [(r.limit, r.value > 0) for r in results] == [(1.0, True), (1.0, True), (2.2, True)]
    assert results[0].within_limit


@pytest.mark.slow
def test_functions_of_scipy_are_compared_with_scipy_at_two_sizes():
    results = lending.run(QUICK, names=("scipy.cluster.vq",))
    assert {r.limit for r in results} == {lending.FORWARD, lending.GRADIENT}
    assert all(r.value > 0 for r in results)
    assert not [*lending.compare("scipy.signal", "bessel", QUICK)]  # of numbers alone, which do not grow
    assert lending.grown("S", 9).shape == (9, 9) and lending.grown("X", 9).shape == (9, 3)


def test_programs_on_tensors_have_the_gradients_of_pytorch():
    torch = pytest.importorskip("torch")
    results = other_arrays.gradients(torch, QUICK) + other_arrays.overhead(torch, QUICK)  # raise where they do not
    assert [r.limit for r in results] == [1.05, 1.05, 1.05, None, 1.05, 3]
    (sweep,) = other_arrays.lengths(torch, QUICK)
    assert sweep.limit == 1.2 and sweep.detail.endswith("1 trace")


def test_decisions_take_the_path_of_python():
    assert [r.limit for r in decisions.run(QUICK)] == [1.25, 1.2, 1.2, 1.2, 1.2, 1.03, 1.03]


def test_assignments_have_the_gradients_written_by_hand():
    assert [r.limit for r in assigning.run(QUICK, steps=2, elements=4)] == [1.1, 2.5, 3, 2.5]


def test_the_chain_has_the_gradient_written_by_hand():
    results = chain.run(QUICK, size=50, ops=8)
    assert results[0].limit == 3.0 and "peak memory" in names(results)


def test_calls_are_timed_and_traced_once():
    assert all(r.value > 0 for r in calls.captured_state(QUICK))
    hit, guards, *_, shapes, batch = [*calls.overhead(QUICK), *calls.traces(20)]
    assert hit.limit == 2 and guards.limit == 1, "the guards of the benchmark are not those it names"
    assert shapes.within_limit and batch.within_limit


@pytest.mark.parametrize("name", first_call.PROGRAMS)
def test_first_calls_give_the_value_of_numpy(name):
    program, size = first_call.PROGRAMS[name], 10
    expected = program.function(np, size)(*program.arguments(np.random.default_rng(0), size))
    for gradient, declared in ((False, False), (True, False), (True, True)):
        measured = first_call.measure("anyshape", name, size, gradient, declared)
        assert measured["value"] == pytest.approx(expected)
        assert measured["first"] > 0 and measured["megabytes"] >= 0


def test_first_calls_run_in_processes_of_their_own():
    call = first_calls.first_call("anyshape", "ten", 10, "--gradient")
    assert call.first > 0 and call.later > 0 and call.overhead is not None


def test_first_calls_have_a_line_for_each_limit(monkeypatch):
    call = first_calls.FirstCall(0.1, 20.0, 1e-3, 5.0, 1e-4)
    monkeypatch.setattr(first_calls, "first_call", lambda *args, times=1: call)
    monkeypatch.setattr(first_calls, "import_to_gradient", lambda times: timing.Result("import", 90.0, "ms", 150))
    results = first_calls.run(QUICK, libraries=())
    limits = [r.limit for r in results if r.limit is not None]
    assert limits[:6] == [0.5, 5.0, 1.2, 200, 2.5, 150] and {0.25, 1.3, 6.0, 2, 0.015, 0.1, 150} <= {*limits}
    assert [r.value for r in results if r.name.startswith("first call,")] == [pytest.approx(0.01)] * 8


def test_a_first_call_that_takes_too_long_is_named_and_no_longer_one_is_tried(monkeypatch):
    asked = []

    def stuck(library, program, size, *options, times=1):
        asked.append(size)
        return None if size > 10 else first_calls.FirstCall(0.1, 20.0, 1e-3, 5.0, None)

    monkeypatch.setattr(first_calls, "first_call", stuck)
    lines = list(first_calls.growth((10, 100, 1000), ()))
    assert 100 in asked and 1000 not in asked and all("1000: too long" in r.detail for r in lines)
    assert all(r.within_limit is False for r in first_calls.chains((10, 1_000), 1) if r.limit == 0.5)


@pytest.mark.slow
def test_a_cold_start_is_measured_in_a_process_of_its_own():
    first, *_ = calls.cold_start(3, libraries=("numpy", "no_such_library"))  # the values agree, or it raises
    assert first.value > 0


def test_sizes_that_depend_on_data_agree_with_what_is_written_by_hand():
    results = dynamic.run(QUICK, n=500, table=50)
    assert next(r for r in results if "traces" in r.name).within_limit and all(r.value > 0 for r in results)


@pytest.mark.slow
def test_workloads_agree_with_what_is_written_by_hand(tmp_path):
    results = speed.run(QUICK, scale=0.001, libraries=("numpy", "anyshape"))  # in two processes
    compared = comparison.compared(results)
    assert [r.data["key"] for r in compared] == list(workloads.WORKLOADS)
    assert not comparison.notes(results, ()), "what differs from the reference is noted"
    assert all(m["steady"] > 0 and m["peak"] > 0 for r in compared for m in r.data["libraries"].values())
    there = [x for w in workloads.WORKLOADS.values() for x in w.limits if {x.by, x.to} <= {"anyshape", "numpy", None}]
    assert sum(r.limit is not None for r in results) == len(there)
    columns, rows = comparison.table(results)
    assert len(rows) == len(compared) and all(len(row) == len(columns) for row in rows)
    assert comparison.draw(results, tmp_path / "results.png") and (tmp_path / "results.png").stat().st_size > 10_000


def wide(x):
    return x.astype(float) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x


def directions(workload, args, rng):
    """Small random steps for the arguments that the workload differentiates, and None for the others."""
    steps = workloads.mapped(lambda x: rng.standard_normal(x.shape) * 1e-5, [args[i] for i in workload.wrt])
    by_argument = dict(zip(workload.wrt, steps, strict=True))
    return steps, [by_argument.get(i) for i in range(len(args))]


@pytest.mark.parametrize("key", [k for k in workloads.WORKLOADS if workloads.WORKLOADS[k].computes != "hvp"])
def test_what_is_written_by_hand_is_the_derivative_of_the_loss(key):
    workload, rng = workloads.WORKLOADS[key], np.random.default_rng(0)
    loss = functools.partial(workload.loss, SimpleNamespace(np=np, erf=erf, conv=workloads.by_shifts(np)))
    (args,) = workloads.mapped(wide, workload.make(0.001, 1))
    result = BY_HAND[key](*args)
    value, derivatives = (loss(*args), result) if workload.computes == "grad" else result
    steps, by_argument = directions(workload, args, rng)
    ahead, back = ([moved(x, step, sign) for x, step in zip(args, by_argument)] for sign in (1, -1))
    along = sum(np.sum(s * d) for s, d in zip(workloads.leaves(derivatives), workloads.leaves(steps), strict=True))
    assert (loss(*ahead) - loss(*back)) / 2 == pytest.approx(along, rel=1e-5, abs=1e-12)
    assert value == pytest.approx(loss(*args), rel=1e-12)


def moved(tree, step, sign):
    if step is None:
        return tree
    if isinstance(tree, (tuple, list)):
        return [moved(x, d, sign) for x, d in zip(tree, step, strict=True)]
    return tree + sign * step


def test_the_hessian_product_written_by_hand_is_a_second_derivative():
    names, ((x, v),) = SimpleNamespace(np=np), workloads.WORKLOADS["rosenbrock"].make(1.0, 1)
    v, units = v / 100, np.eye(len(x))[[0, 1, 5, -1]] * 1e-3
    rise = lambda x, unit: (workloads.valley(names, x + unit) - workloads.valley(names, x - unit)) / 2e-3
    expected = [(rise(x + v / 100, u) - rise(x - v / 100, u)) * 50 for u in units]
    np.testing.assert_allclose(BY_HAND["rosenbrock"](x, v)[[0, 1, 5, -1]], expected, rtol=1e-3, atol=1e-2)


def test_a_library_that_is_wrong_or_fails_is_noted_and_the_others_go_on(monkeypatch):
    class Worse:
        def ask(self, method, *args):
            if method == "first":
                return 0.1, [[np.zeros(10)]]
            raise AssertionError("it is not asked for times")

    with speed.workers(("numpy", "no_such_library"), 1) as asked:
        measured = speed.measure("ten", {**asked, "worse": Worse()}, QUICK, 1.0)
    assert measured["numpy"].turns and not measured["numpy"].failed
    assert "no_such_library" in measured["no_such_library"].failed
    assert "off by" in measured["worse"].failed and not measured["worse"].turns
    results = speed.judged("ten", workloads.WORKLOADS["ten"], measured, dict.fromkeys(measured, ""))
    assert any("worse: is off" in note for note in comparison.notes(results, ("jax",)))


@pytest.mark.slow
def test_default_threads_come_first_and_one_thread_stands_beside(monkeypatch, tmp_path, capsys):
    counts = []

    class Counted(worker.Worker):
        def __init__(self, python, name, count, folder):
            counts.append(count)
            super().__init__(python, name, count, folder)

    monkeypatch.setattr(speed, "Worker", Counted)
    file = tmp_path / "results.json"
    sections = ["--only", "one_thread,speed", "--workloads", "ten"]
    run.main(["--quick", *sections, "--json", str(file), "--picture", str(tmp_path / "no.png")])
    assert counts == [1, 1, 1, None, None, None]
    printed = capsys.readouterr().out
    assert "ten, 1 thread / by hand" not in printed and "n = 10, 1 thread / by hand" in printed
    assert printed.count("one thread ") == 3 and "nothing is set: default threads" in printed


def test_the_worst_ratio_of_default_threads_names_its_function(monkeypatch):
    times = iter([{"product": 2.0, "qr": 3.0}, {"product": 4.0, "qr": 2.0}])
    answer = lambda *_, **__: SimpleNamespace(stdout=json.dumps(next(times)))
    monkeypatch.setattr(threads.subprocess, "run", answer)
    (result,) = threads.at_size(8, 1)
    assert result.value == 1.5 and result.detail.startswith("qr 1.50 of 2 ms") and not result.within_limit


def test_functions_of_matrices_run_with_their_gradients(monkeypatch):
    monkeypatch.setattr(threads, "SPENT", 0.0)
    monkeypatch.setattr(threads, "LEAST", 1)
    assert len(threads.measured(3)) == 2 * len(threads.functions()) - len(threads.SLOW)


def test_a_worker_without_a_number_of_threads_inherits_none(monkeypatch, tmp_path):
    for name in worker.COUNTS:
        monkeypatch.setenv(name, "7")
    seen = {}
    monkeypatch.setattr(worker.subprocess, "Popen", lambda *_, env, **__: seen.update(env) or 1 / 0)
    for count in (None, 3):
        seen.clear()
        with pytest.raises(ZeroDivisionError):
            worker.Worker("python", "numpy", count, str(tmp_path))
        assert {seen.get(name) for name in worker.COUNTS} == {None if count is None else "3"}


class InProcess:
    """A worker without a process."""

    def __init__(self, python, name, threads, folder):
        self.name, self.server = name, None

    def ask(self, method, *args):
        try:
            self.server = self.server or worker.Server(self.name)
            return getattr(self.server, method)(*args)
        except Exception as error:
            raise worker.Failed(f"{type(error).__name__}: {error}") from error

    def close(self):
        """Nothing to end."""


def compare(tmp_path, *options):
    """Return the JSON that `make bench` writes for numpy, anyshape and the library bad."""
    file, picture = tmp_path / "results.json", tmp_path / "results.png"
    asked = ["--quick", "--only", "speed", "--libraries", "bad", "--json", str(file), "--picture", str(picture)]
    assert run.main([*asked, *options]) == 0
    refuse = lambda word: pytest.fail(f"{word} is no JSON")
    assert picture.stat().st_size > 10_000
    result = json.loads(file.read_text(), parse_constant=refuse)["results"][0]
    return result, result["data"]["libraries"]


SPOILED = {
    "narrow": (lambda calls, x: x.astype(np.float32), "gives float32 for arguments of float64"),
    "half": (lambda calls, x: x.astype(np.float16), "gives float16 for arguments of float64"),
    "integers": (lambda calls, x: x.astype(int), "gives int64 for arguments of float64"),
    "two": (lambda calls, x: (x, x), "gives 2 arrays, not 1"),
    "steady": (lambda calls, x: x if calls == 1 else x * np.nan, "is off by nan of the largest element"),
    "one element, later": (lambda calls, x: x if calls == 1 else x + 1e-6 * (x == x[3]), "of the largest element"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILED.values(), ids=SPOILED)
def test_a_library_with_wrong_results_fails_alone(spoil, message, monkeypatch, tmp_path, capsys):
    class Bad(libraries.ByHand):
        calls = 0

        def function(self, key, workload):
            right = super().function(key, workload)

            def spoiled(*args):
                self.calls += 1
                return spoil(self.calls, right(*args))

            return spoiled

    monkeypatch.setitem(libraries.LIBRARIES, "bad", Bad)
    monkeypatch.setattr(speed, "Worker", InProcess)
    result, by_library = compare(tmp_path, "--workloads", "ten")
    bad = by_library["bad"]
    assert message in bad["failed"] and not bad["turns"] and "steady" not in bad
    assert by_library["anyshape"]["steady"] > 0 and by_library["numpy"]["steady"] > 0 and result["value"] > 0
    printed = capsys.readouterr().out
    assert f"bad: {by_library['bad']['failed']}" in printed and "n = 10: bad:" in printed


def test_no_result_of_the_hand_written_numpy_is_compared_with_itself_alone(monkeypatch, tmp_path, capsys):
    right = BY_HAND["ten"]
    monkeypatch.setitem(BY_HAND, "ten", lambda x: right(x) + 1e-7 * (x == x[3]))
    monkeypatch.setitem(libraries.LIBRARIES, "bad", libraries.ByHand)
    monkeypatch.setattr(speed, "Worker", InProcess)
    result, by_library = compare(tmp_path, "--workloads", "ten")
    assert "by hand the derivative is off by" in by_library["numpy"]["failed"]
    assert result["value"] is None
    assert "nothing to compare with" in by_library["anyshape"]["failed"]
    assert "failed" in capsys.readouterr().out


@pytest.mark.parametrize("key", workloads.WORKLOADS)
def test_a_single_wrong_element_by_hand_is_found(key, monkeypatch):
    reference.reference(key, 0.01, 0)
    right = BY_HAND[key]

    def wrong(*args):
        result = right(*args)
        last = list(workloads.leaves(result))[-1]
        last.flat[last.size // 3] += 1e-6 * np.max(np.abs(last))
        return result

    monkeypatch.setitem(BY_HAND, key, wrong)
    with pytest.raises(worker.Failed, match="by hand the derivative is off by"):
        reference.reference(key, 0.01, 0)


def test_wider_results_are_as_good():
    expected = reference.reference("softmax", 0.01, 0)
    assert expected.dtype == np.float32
    reference.check(expected.results, expected)
    with pytest.raises(worker.Failed, match="gives 0 results, not 1"):
        reference.check([], expected)


@pytest.mark.parametrize(
    ("end", "bad"),
    [
        ("dies", "bad"),
        ("sleeps", "numpy"),
        *[pytest.param(*c, marks=pytest.mark.slow) for c in (("dies", "numpy"), ("sleeps", "bad"))],
    ],
)
def test_a_process_that_ends_in_a_turn_ends_nothing_else(end, bad, monkeypatch, tmp_path, capsys):
    class Ending(worker.Worker):
        def __init__(self, python, name, threads, folder):
            super().__init__(python, "numpy" if name == "bad" else name, threads, folder)
            self.bad, self.turns = name == bad, 0

        def ask(self, method, *args):
            self.turns += method == "turn"
            if self.bad and self.turns == 2 and end == "dies":
                self.process.kill()
            if self.bad and self.turns == 2 and end == "sleeps":
                self.patience, args = 0.2, (60.0, 60.0)
            return super().ask(method, *args)

    monkeypatch.setattr(speed, "Worker", Ending)
    monkeypatch.setattr(worker, "GRACE", 0.1)
    monkeypatch.setitem(libraries.LIBRARIES, "bad", libraries.LIBRARIES["numpy"])
    result, by_library = compare(tmp_path, "--workloads", "ten")
    message = {"dies": "the process ended with -9", "sleeps": "no answer within 0.2 s"}[end]
    assert message in by_library[bad]["failed"] and not by_library[bad]["turns"]
    others = {"numpy", "anyshape", "bad"} - {bad}
    assert all(by_library[name]["steady"] > 0 for name in others)
    assert (result["value"] is None) == (bad == "numpy")
    printed = capsys.readouterr().out
    assert f"{bad}: {message}" in printed and "anyshape steady" in printed


def test_results_that_cannot_be_read_are_a_failure_of_the_library():
    with speed.workers(("numpy",), 1) as asked:
        numpy = asked["numpy"]
        numpy.ask("hello")
        numpy.answers = SimpleNamespace(poll=lambda s: True, recv=lambda: pickle.loads(b"cml_no_dtypes\nbfloat16\n."),
                                        close=numpy.answers.close)  # fmt: skip
        with pytest.raises(worker.Failed, match="cannot be read: ModuleNotFoundError: No module named 'ml_no_dtypes'"):
            numpy.ask("hello")


def test_the_limits_that_need_a_peer_are_held_against_it():
    ours = speed.Measured(first=0.2, turns=[2.0, 3.0])
    jax = speed.Measured(first=20.0, turns=[4.0, 4.0])
    measured = {"numpy": jax, "anyshape": ours, "jax": jax}
    assert speed.value_of(workloads.Limit(1.0, to="jax"), measured) == pytest.approx(0.625)
    assert speed.value_of(workloads.Limit(0.02, "first", "jax"), measured) == pytest.approx(0.01)
    assert speed.value_of(workloads.Limit(0.25, "first", None), measured) == 0.2
    assert math.isnan(speed.value_of(workloads.Limit(1.0, to="torch"), measured))
    assert math.isnan(speed.value_of(workloads.Limit(1.0, to="jax", by="compiled"), measured))
    measured["compiled"] = speed.Measured(first=0.2, turns=[1.0, 1.0])
    assert speed.value_of(workloads.Limit(1.0, to="jax", by="compiled"), measured) == pytest.approx(0.25)


def test_signatures_are_solved_for():
    results = solving.run(QUICK)  # each finds the sizes it was made from, or raises
    assert len(results) == len(solving.SIGNATURES) + 1 and all(r.value > 0 for r in results)


@pytest.mark.slow
def test_claims_are_settled_by_the_means_they_are_timed_for(monkeypatch):
    monkeypatch.setattr(sizes, "BATCH", 2)
    monkeypatch.setattr(sizes, "REPEATS", 10)
    results = sizes.run(QUICK, ops=40)  # each claim is checked to be settled where it is said to be
    assert {"a claim settled by intervals", "a claim settled by integer sets"} <= set(names(results))
    assert all(r.value > 0 for r in results)


def test_the_large_program_is_timed_stage_by_stage():
    results = compiling.run(QUICK, ops=40)
    assert set(results[0].data["stages"]) == {*compiling.STAGES, "the rest of the call"}


def test_stopwatches_leave_nothing_behind():
    before = [getattr(module, name) for module, name in compiling.STAGES.values()]
    compiling.run(QUICK, ops=10)
    assert [getattr(module, name) for module, name in compiling.STAGES.values()] == before


def test_the_report_is_printed_and_written(tmp_path, capsys):
    file = tmp_path / "results.json"
    assert run.main(["--quick", "--only", "small", "--json", str(file), "--picture", str(tmp_path / "no.png")]) == 0
    written = json.loads(file.read_text())
    assert "logistic regression, N = 10" in capsys.readouterr().out
    assert {"name", "value", "limit", "met"} <= set(written["results"][0])
    assert written["where"]["threads"] is None


@pytest.mark.parametrize("rich", [True, False])
def test_a_missed_limit_is_said(rich, monkeypatch, capsys):
    if not rich:
        monkeypatch.setattr(run, "Table", None)
    run.show([timing.Result("slow", 4.0, "x", 3.0), timing.Result("fast", 2.0, "x", 3.0), timing.Result("free", 1, "")])
    slow, fast, free = [line for line in capsys.readouterr().out.splitlines() if line.strip(" │|")[:4] in names_shown]
    assert "NO" in slow and "yes" in fast and "yes" not in free and "NO" not in free


names_shown = {"slow", "fast", "free"}


def test_interleaved_runs_take_turns():
    turns = []
    table = timing.interleaved([lambda: turns.append("a"), lambda: turns.append("b")], timing.Effort(4, 0.0))
    assert table.shape == (4, 2)
    assert "".join(turns[-8:]) == "abba" * 2


@pytest.mark.parametrize("kind, option", [("section", "only"), ("workload", "workloads"), ("library", "libraries")])
def test_what_is_unknown_is_refused(kind, option, capsys):
    with pytest.raises(SystemExit):
        run.main(["--only", "speed", f"--{option}", "haste"])
    assert f"no {kind} is called haste" in capsys.readouterr().err


@pytest.mark.slow
def test_the_parts_that_the_import_needs_are_found(tmp_path):
    python = importing.Interpreter(str(tmp_path))
    needed = importing.needed_parts(python)
    assert needed == "numpy"
    assert any(name.startswith("anyshape.") for name in importing.own_times(python, needed))


def test_the_peak_counts_memory_that_is_kept_for_later_calls():
    x = np.linspace(0, 1, 200_000)
    step = anyshape.grad(lambda x: np.sum(np.sin(x) * x))
    step(x)
    assert chain.peak(lambda: step(x)) >= x.nbytes  # the gradient, at least
    server = worker.Server("anyshape")
    server.first("black_scholes", 0.1)
    assert server.peak(0.1) >= 4 * 100_000 * 8


@pytest.mark.slow
def test_loops_agree_with_loops_by_hand():
    results = loops.run(QUICK, steps=10, examples=4, lengths=3, libraries=())  # each agrees, or raises
    assert all(r.value > 0 for r in results) and sum(r.limit is not None for r in results) == 15
    assert [r.value for r in results if r.name.strip() == "traces for 3 lengths"] == [1]
    assert [r.value for r in results if "rows computed" in r.name] == [1]
    assert results[-2].name == "checkpoint=32 at 10 steps: forward runs" and results[-2].value == 2


# -- numbers in pages --------------------------------------------------------------------------------------------


def a_report(quick=False, **more):
    numbers = {
        "numpy": {"version": "2", "first": 0.5, "steady": 2.0, "more": 1.0, "turns": [2.0, 4.0, 1.0]},
        "anyshape": {"version": "1", "first": 0.75, "steady": 1.0, "more": 1.5e-3, "turns": [1.0, 1.0, 2.0]},
        "compiled": {"version": "1", "turns": [], "failed": "no compiler"},
        **more,
    }
    data = {"title": "a | b, n = 10", "libraries": numbers}
    results = [
        ("speed", timing.Result("a / by hand", 0.5, "x", 1.0, "", data)),
        ("small", timing.Result("calls", 0.0124, "s", 0.01)),
        ("small", timing.Result("  retraces", 1, "")),
    ]
    where = {"date": "2026-01-01", "processor": "P", "cpus": 2, "load": [0.5], "python": "3", "numpy": "2"}
    listed = [{"section": name, **result.as_json()} for name, result in results]
    return {"where": {**where, "quick": quick}, "results": json.loads(json.dumps(listed))}


def test_pages_show_the_stored_numbers():
    stored = tables.load()
    for page in tables.DOCS.rglob("*.md"):
        text = page.read_text()
        assert tables.renewed(text, stored) == text, f"{page.name}: run python -m benchmarks.tables"


def test_a_report_is_written_into_pages():
    peer = {"version": "3", "first": 9.0, "steady": 4.0, "more": 8.0, "turns": [4.0, 4.0, 4.0]}
    stored = tables.merged({"loops": {"results": []}}, a_report(jax=peer))
    assert sorted(stored) == ["loops", "small", "speed"] and "turns" not in json.dumps(stored)
    page = "".join(
        f"<!-- measured: {name} -->\nold\n<!-- end -->\n" for name in ("steady", "new", "limits small", "machine speed")
    )
    assert tables.renewed(page, stored) == (
        "<!-- measured: steady -->\n\n|  | by hand | anyshape, nothing set | anyshape, kernels | jax |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| a &#124; b, n = 10 | 2 s (1.00) | 1 s (0.50) | failed | 4 s (2.00) |\n\n<!-- end -->\n"
        "<!-- measured: new -->\n\n|  | by hand | anyshape, nothing set | anyshape, kernels | jax |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| a &#124; b, n = 10 | 1 s | 1.5 ms | failed | 8 s |\n\n<!-- end -->\n"
        "<!-- measured: limits small -->\n\n|  | measured | limit |\n| --- | ---: | ---: |\n"
        "| calls | 12.4 ms | 10 ms, missed |\n| … retraces | 1 |  |\n\n<!-- end -->\n"
        "<!-- measured: machine speed -->\n\n"
        "Measured on 2026-01-01: P, 2 cores, load 0.5, Python 3, NumPy 2, jax 3.\n\n<!-- end -->\n"
    )


def test_a_quick_report_is_not_stored():
    with pytest.raises(SystemExit, match="without --quick"):
        tables.merged({}, a_report(quick=True))


@pytest.mark.slow
@needs_compiler
def test_loops_have_the_gradients_of_loops_of_c_by_hand(tmp_path):
    programs = loop_programs.programs(0.03)
    result, over_hand = machine_loops.run(QUICK, 0.03, (), [name for name in programs if name.startswith("GARCH")])
    assert result.limit == 0.03 and "by hand" in result.detail and over_hand.value > 0
    library = machine_loops.compiled(tmp_path)
    assert len({p.by_hand[0] for p in programs.values()}) == len(programs) - 1 == 7  # two sizes of one
    for program in programs.values():
        value, slopes = anyshape.value_and_grad(program.loss, program.wrt)(*program.arguments)
        expected, by_hand = machine_loops.by_hand(library, program)()
        for got, want in zip((value, *slopes), (expected, *by_hand), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


class HandAsPeer:
    """Answer for a peer by what is written by hand, whose gradient is off by a factor."""

    def __init__(self, call, factor):
        self.call, self.factor = call, factor

    def ask(self, method, *args):
        return (
            {key: self.factor * y for key, y in self.call().items()} if method == "first" else timing.clock(self.call)
        )


def test_models_of_ragged_batches_have_one_gradient():
    data = ragged_models.batch(3, 4)
    assert len({*data.lengths}) > 1, "the examples are of one length"
    written = []
    for name in ragged_models.SHAPES:
        p, made = ragged_models.parameters(name), ragged.programs(name, "off")
        expected = made.mapped(p, ragged.as_ragged(data))
        hand = ragged.by_hand(name, made, p, data)
        for version, call in hand.items():
            ragged.compare(call(), expected, version)
        written.append(len(hand))
    assert written == [3, 2, 3, 3, 2]
    assert expected.keys() == p.keys() and all(np.abs(y).max() > 1e-4 for y in expected.values())
    right, wrong = (HandAsPeer(hand["padded"], factor) for factor in (1.0, 1.001))
    cell = ragged.measured(name, made, 3, 4, QUICK, {"jax": right, "torch": wrong})
    assert cell.ratios.keys() == {"hand", "jax"} and min(cell.ratios.values()) > 0
    assert "jax" in cell.detail and "torch: Not equal to tolerance" in cell.detail


def test_ragged_batches_have_a_line_for_each_limit():
    results = ragged.run(timing.Effort(1, 0.0), (2,), (3,), (), ("point cloud",), compile="off")
    assert [r.limit for r in results] == [1.5, 1.1, 1.3, 1, 2.0] and all(r.value > 0 for r in results)
    assert results[3].name == "  traces for all examples and lengths" and results[3].within_limit
    cells = [ragged.Cell("GRU", 1, n, {"hand": 1.0, "jax": n}, "") for n in (1, 4)]
    assert [(r.value, r.within_limit) for r in ragged.summary(cells)] == [(1, True), (2, False), (4, False)]


def test_padded_attention_over_long_examples_is_left_out():
    lengths = ragged_models.batch(128, 300).lengths
    assert not ragged.fits("n x n attention", lengths) and ragged.fits("GRU", lengths)
    assert ragged.fits("n x n attention", ragged_models.batch(16, 300).lengths)


@pytest.fixture
def checkout(tmp_path):
    """Folder in the form of NPBench, with a kernel that writes to its argument, and one that ends its process."""
    texts = {
        "lu": "import numpy as np\n\ndef kernel(N, A):\n    for i in range(1, N):\n        A[i] += A[i - 1] * A[i]\n",
        "ends": "import os\n\ndef kernel(N, A):\n    os._exit(7)\n",
    }
    for name, text in texts.items():
        folder = tmp_path / "npbench" / "benchmarks" / name
        folder.mkdir(parents=True)
        init = {"func_name": "initialize", "input_args": ["N"], "output_args": ["A"]}
        facts = {"relative_path": name, "module_name": name, "func_name": "kernel", "parameters": {"S": {"N": 40}}}
        facts |= {"init": init, "input_args": ["N", "A"], "output_args": ["A"]}
        (tmp_path / "bench_info").mkdir(exist_ok=True)
        (tmp_path / "bench_info" / f"{name}.json").write_text(json.dumps({"benchmark": facts}))
        (folder / f"{name}.py").write_text(
            "import numpy as np\n\ndef initialize(N):\n    return np.linspace(0, 1, N)\n"
        )
        (folder / f"{name}_numpy.py").write_text(text)
    return tmp_path


@pytest.mark.slow
def test_kernels_of_npbench_are_compared_and_a_crash_is_a_row(checkout):
    rows = npbench.measured(checkout, ["ends", "lu"], ("numpy", "compiled"), 1, 0.0)
    assert all("7" in numbers["failed"] and "steady" not in numbers for numbers in rows["ends"].values())
    ours, theirs = rows["lu"]["compiled"], rows["lu"]["numpy"]
    assert "failed" not in ours and ours["value"] == pytest.approx(theirs["value"], rel=1e-12)
    assert min(ours[number] for number in ("first", "steady", "first_gradient", "gradient", "more")) > 0
    a, slope = np.linspace(0, 1, 40), []
    for step in np.eye(40) * 1e-6:
        ends = [a + step, a - step]
        for end in ends:
            for i in range(1, 40):
                end[i] += end[i - 1] * end[i]
        slope.append(sum(sign * npbench_worker.total(np, [end]) for sign, end in zip((5e5, -5e5), ends, strict=True)))
    assert ours["slope"] == pytest.approx(npbench_worker.total(np, [np.array(slope)]), rel=1e-6)
    by_name = {r.name.strip(): r for r in npbench.results(rows)}
    assert by_name["lu"].value == 1e3 * ours["gradient"] and "failed" in by_name["ends"].detail
    assert not npbench.run(QUICK, folder="", kernels=["lu"])


def test_ratios_of_npbench_leave_out_what_differs():
    ours, other = {"value": 1.0, "steady": 2.0, "gradient": 4.0}, {"value": 1.0, "steady": 1.0, "gradient": 8.0}
    rows = {"lu": {"compiled": ours, "jax": other}, "trmm": {"compiled": ours, "jax": other | {"value": 1.1}}}
    ((mean, most), *_) = [pair for pair in zip(*[iter(npbench.ratios(rows))] * 2, strict=True) if "JAX" in pair[0].name]
    assert mean.name.startswith("NPBench, 1 kernels") and mean.value == 0.5 == most.value
    assert mean.within_limit is False and most.within_limit
