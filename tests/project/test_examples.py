"""The examples run as scripts, trace once, and are what the command line is shown on."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "ANYSHAPE_CHECK": "1", "COLUMNS": "120"}


EVERY = """
import contextlib, io, json, runpy, sys, traceback
done = {}
for path in sys.argv[1:]:
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            runpy.run_path(path, run_name="__main__")
        except BaseException:
            traceback.print_exc()
    done[path] = out.getvalue(), errors.getvalue()
print(json.dumps(done))
"""


@functools.cache
def run(*arguments):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT, timeout=300)


def printed():
    """Return what each example prints, and its errors, by name: one process runs all, as it takes a second to begin."""
    done = run("-c", EVERY, *EXAMPLES)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return {Path(path).stem: texts for path, texts in json.loads(done.stdout).items()}


def lines_of(name):
    return printed()[name][0].splitlines()


def test_there_are_examples():
    assert [p.stem for p in EXAMPLES] == [
        "adaptive_ode", "arnoldi", "attention", "decay_fit", "fixed_point", "hmm", "knn_smoother",
        "logistic_regression", "masked_likelihood", "truncated_gradient",
    ]  # fmt: skip


@pytest.mark.slow
def test_each_example_runs_and_traces_once():
    for name, (out, errors) in printed().items():
        assert not errors, f"{name}: {errors}"
        assert re.search(r"traces = 1$", out, re.MULTILINE), f"{name}: {out}"


def test_an_example_runs_in_a_process_of_its_own():
    done = run(ROOT / "examples/attention.py")
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert re.search(r"traces = 1$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_is_short(path):
    assert len(path.read_text().splitlines()) < 60


@pytest.mark.slow
def test_what_the_fits_find():
    lines = lines_of("decay_fit")
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
    lines = lines_of("masked_likelihood")
    for line in lines[:5]:
        mean, scale = map(float, re.findall(r"mean (\S+), scale (\S+);", line)[0])
        assert abs(mean - 1) < 0.1 and abs(scale - 0.5) < 0.05, line
    assert len({line.split()[0] for line in lines[:5]}) == 5
    for line in lines_of("truncated_gradient")[:5]:
        assert float(re.findall(r"off by (\S+),", line)[0]) < 1e-8 and line.endswith("of the rest 0.0"), line


def test_what_the_loops_find():
    """Compare with the forward algorithm, with differences, and with the exponential of SciPy."""
    for name, largest in (("hmm", [1e-10] * 3), ("adaptive_ode", [1e-4] * 4), ("arnoldi", [1e-14, 1e-4, 1e-8, 1e-13])):
        lines = lines_of(name)
        errors = [float(re.findall(r"off .* by (\S+)", line)[0]) for line in lines[:-1]]
        assert len(errors) == len(largest) and all(e <= limit for e, limit in zip(errors, largest, strict=True)), lines
    steps = [int(n) for n in re.findall(r"(\d+) steps", "\n".join(lines_of("adaptive_ode")))]
    assert len(set(steps)) == 4
