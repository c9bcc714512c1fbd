"""The examples run as scripts, trace once, and are what the command line is shown on."""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "ANYSHAPE_CHECK": "1", "COLUMNS": "120"}


@functools.cache  # several tests read what one run of an example prints
def run(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT, timeout=300)


def test_there_are_examples():
    assert [p.stem for p in EXAMPLES] == [
        "adaptive_ode", "arnoldi", "attention", "decay_fit", "fixed_point", "hmm", "knn_smoother",
        "logistic_regression", "masked_likelihood", "truncated_gradient",
    ]  # fmt: skip


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs_and_traces_once(path):
    done = run(path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert re.search(r"traces = 1$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short(path):
    assert len(path.read_text().splitlines()) < 60


def test_what_the_fits_find():
    lines = run(ROOT / "examples/decay_fit.py").stdout.splitlines()
    for line in lines[:3]:
        true, fitted = map(float, re.findall(r"-?\d+\.\d+", line))
        assert abs(true - fitted) < 0.05, line


def test_show_prints_the_attention_of_the_example():
    shapes = "n, d; d, 3*d; n, d"
    done = run("-m", "anyshape", "show", "examples/attention.py:loss", "--shapes", shapes)
    assert done.returncode == 0, done.stderr
    first, *rest = done.stdout.splitlines()
    assert first == "loss(%x: f64[n, d], %w: f64[d, 3*d], %target: f64[n, d]) -> (f64[])"
    assert any("f64[n, n] = dot_general" in line and "# attention.py:" in line for line in rest)
    assert any(line.strip().startswith("assertion n >= 1") for line in rest)


@pytest.mark.parametrize(
    ("target", "shapes"),
    [
        ("examples/attention.py:loss", "n, 4; 4, 12; n, 4"),
        ("examples/logistic_regression.py:loss", "d; n, d; n"),
    ],
)
def test_check_passes_on_examples(target, shapes):
    done = run("-m", "anyshape", "check", target, "--shapes", shapes, "--sizes", "1,3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "traces = 1" in done.stdout


def test_what_is_found_where_sizes_depend_on_data():
    lines = run(ROOT / "examples/masked_likelihood.py").stdout.splitlines()
    for line in lines[:5]:
        mean, scale = map(float, re.findall(r"mean (\S+), scale (\S+);", line)[0])
        assert abs(mean - 1) < 0.1 and abs(scale - 0.5) < 0.05, line
    assert len({line.split()[0] for line in lines[:5]}) == 5
    for line in run(ROOT / "examples/truncated_gradient.py").stdout.splitlines()[:5]:
        assert float(re.findall(r"off by (\S+),", line)[0]) < 1e-8 and line.endswith("of the rest 0.0"), line


def test_what_the_loops_find():
    """Compare with the forward algorithm, with differences, and with the exponential of SciPy."""
    for name, largest in (("hmm", [1e-10] * 3), ("adaptive_ode", [1e-4] * 4), ("arnoldi", [1e-14, 1e-4, 1e-8, 1e-13])):
        lines = run(ROOT / f"examples/{name}.py").stdout.splitlines()
        errors = [float(re.findall(r"off .* by (\S+)", line)[0]) for line in lines[:-1]]
        assert len(errors) == len(largest) and all(e <= limit for e, limit in zip(errors, largest, strict=True)), lines
    steps = [int(n) for n in re.findall(r"(\d+) steps", run(ROOT / "examples/adaptive_ode.py").stdout)]
    assert len(set(steps)) == 4
