"""The attack kit in small: it finds nothing, it finds planted faults, and its findings can be repeated."""

import numpy as np
import pytest

import anyshape
from anyshape.errors import AnyshapeError
from anyshape.graph.ir.graph import OPS
from anyshape.ops.core.apply import KERNELS
from tests.attack import bit_patterns
from tests.attack.__main__ import main
from tests.attack.attacks import ATTACKS, exported
from tests.attack.functions import FUNCTIONS
from tests.attack.kit import Attack, Wrong, repeat, run

TRIES = {"values": 8, "derivatives": 5, "batches": 10, "structured": 6, "decisions": 2, "captured": 15, "files": 5,
         "paths": 3, "threads": 3, "processes": 1, "pickles": 10, "user_files": 8,
         "size_decisions": 4, "claims": 30, "slopes": 4, "options": 25,
         "bit_patterns": 12, "resume_files": 10, "left_out": 5}  # fmt: skip


COSTLY = {"killed_workers": 4}  # tries of attacks that start processes again and again
EVERY = [name for name in ATTACKS if name not in COSTLY]


@pytest.mark.parametrize("name", [*EVERY, *[pytest.param(name, marks=pytest.mark.slow) for name in COSTLY]])
def test_an_attack_finds_nothing(name, monkeypatch):
    monkeypatch.setenv("ANYSHAPE_CHECK", "0")  # as users run programs: checks of metadata read sizes that others lack
    report = run([ATTACKS[name]], seed=1, seconds=0, tries={**TRIES, **COSTLY}[name])
    assert not report.findings, "\n".join(report.lines())
    assert report.counts[name].total() == {**TRIES, **COSTLY}[name]


def test_the_table_has_many_functions():
    assert len(FUNCTIONS) >= 370


SLOW = [pytest.param(op, marks=pytest.mark.slow) for op in ("tanh", "concatenate", "reduce_sum")]


@pytest.mark.parametrize("op", ["slice", *SLOW])
def test_a_wrong_kernel_is_found_and_its_finding_repeats(op, monkeypatch):
    row = KERNELS[OPS[op]]

    def wrong(*arrays, **params):
        result = np.asarray(row.run(*arrays, **params))
        return (result * 1.001).astype(result.dtype)

    monkeypatch.setitem(KERNELS, OPS[op], row._replace(run=wrong, specialise=None, inline=None, out=False))
    report = run([ATTACKS["values"]], seed=1, seconds=0, tries=20)
    assert report.findings
    with pytest.raises((Wrong, AnyshapeError)):
        repeat(ATTACKS["values"], report.findings[0].seed)


@pytest.mark.parametrize("name", ["power -2", "divide"])
def test_kernels_have_the_bits_of_numpy_for_each_exponent(name):
    operands = bit_patterns.operands(np.random.default_rng(0), "d" * bit_patterns.FUNCTIONS[name][2])
    for mode in bit_patterns.MODES:
        with np.errstate(all="ignore"):
            assert bit_patterns.check(name, operands, mode)


def test_a_finding_is_counted_and_printed_with_the_command_that_repeats_it():
    def attempt(rng):
        if rng.integers(2):
            raise Wrong("two is not three")
        return "tries"

    report = run([Attack("coin", attempt)], seed=0, seconds=0, tries=20)
    text = "\n".join(report.lines())
    assert report.counts["coin"]["wrong"] == len(report.findings) > 0
    assert f"--repeat coin:{report.findings[0].seed}" in text and "two is not three" in text
    assert [f.seed for f in run([Attack("coin", attempt)], 0, 0, 20).findings] == [f.seed for f in report.findings]


def test_the_command_line(capsys):
    assert main(["--only", "pickles", "--minutes", "0.005"]) == 0
    assert "pickles: " in capsys.readouterr().out
    assert main(["--repeat", "pickles:3"]) == 0
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])


def test_random_state_changes_as_the_attack_says():
    from tests.attack import state

    rng = np.random.default_rng(0)
    differences = 0
    for _ in range(200):
        value = state.tree(rng, 2)
        before = state.number(value)
        state.change(rng, (value,))
        differences += state.number(value) != before
    assert differences > 100


def test_a_program_whose_broadcast_equals_a_shorter_size_can_be_saved(tmp_path):
    _, compiled = exported(np.random.default_rng(413489879))
    compiled.save(tmp_path / "program.anyshape")
    assert str(anyshape.load(tmp_path / "program.anyshape")) == str(compiled)
