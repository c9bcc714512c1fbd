"""The benchmarks run, and what they compare computes the same. No test looks at a time."""

import json
import math

import numpy as np
import pytest

from benchmarks import attention, calls, chain, compiling, dynamic, importing, run, sizes, small, solving, speed, timing

QUICK = timing.QUICK


def names(results):
    return [r.name.strip() for r in results]


def test_attention_traces_once_for_all_lengths():
    results = attention.run(QUICK, lengths=(5, 9, 6))  # agrees with the hand-written gradient, or raises
    assert results[0].name == "attention: traces for all lengths"
    assert results[0].value == 1 and results[0].met


@pytest.mark.parametrize("n", [0, 1, 10])
def test_logistic_regression_agrees_with_the_hand_written_gradient(n):
    assert small.logistic(n, 3.0, QUICK)[0].limit == 3.0


def test_the_hand_written_logistic_gradient_is_a_slope():
    rng = np.random.default_rng(0)
    w, x, y = rng.standard_normal(3), rng.standard_normal((7, 3)), (rng.random(7) < 0.5).astype(float)
    for i, unit in enumerate(np.eye(3) * 1e-6):
        rise = small.logistic_loss(w + unit, x, y) - small.logistic_loss(w - unit, x, y)
        assert small.logistic_by_hand(w, x, y)[1][i] == pytest.approx(rise / 2e-6, rel=1e-6)


def test_small_programs_agree_with_numpy():
    assert len(small.ten_elements(QUICK)) >= 1
    assert all(math.isfinite(r.value) for r in small.replay(QUICK, blocks=2))


def test_the_chain_has_the_gradient_written_by_hand():
    results = chain.run(QUICK, size=50, ops=8)
    assert results[0].limit == 3.0 and "peak memory" in names(results)


def test_calls_are_timed_and_traced_once():
    hit, guards, _, shapes, batch = [*calls.overhead(QUICK), *calls.traces(20)]
    assert hit.limit == 4 and guards.limit == 1, "the guards of the benchmark are not those it names"
    assert shapes.met and batch.met


def test_a_cold_start_is_measured_in_a_process_of_its_own():
    first, *_ = calls.cold_start(3, peers=("numpy", "no_such_library"))  # the values agree, or it raises
    assert first.value > 0


def test_sizes_that_depend_on_data_agree_with_what_is_written_by_hand():
    results = dynamic.run(QUICK, n=500, table=50)
    assert next(r for r in results if "traces" in r.name).met and all(r.value > 0 for r in results)


def test_workloads_agree_with_what_is_written_by_hand():
    results = speed.run(QUICK, scale=0.001)  # or it raises
    assert len(results) == 6 and all(r.limit is not None for r in results)


def test_signatures_are_solved_for():
    results = solving.run(QUICK)  # each finds the sizes it was made from, or raises
    assert len(results) == len(solving.SIGNATURES) + 1 and all(r.value > 0 for r in results)


def test_claims_are_settled_by_the_means_they_are_timed_for():
    results = sizes.run(QUICK)  # each claim is checked to be settled where it is said to be
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
    assert run.main(["--quick", "--only", "small", "--json", str(file)]) == 0
    written = json.loads(file.read_text())
    assert "logistic regression, N = 10" in capsys.readouterr().out
    assert {"name", "value", "limit", "met"} <= set(written["results"][0])


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


def test_an_unknown_section_is_refused(capsys):
    with pytest.raises(SystemExit):
        run.main(["--only", "haste"])
    assert "no section is called haste" in capsys.readouterr().err


def test_the_parts_that_the_import_needs_are_found(tmp_path):
    python = importing.Interpreter(str(tmp_path))
    needed = importing.needed_parts(python)
    assert needed.startswith("numpy, scipy.special")
    assert any(name.startswith("anyshape.") for name in importing.own_times(python, needed))
