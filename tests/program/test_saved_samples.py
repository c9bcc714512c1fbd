"""Save every row of tests/samples and each example, and run them in a process without their source."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from examples import attention, decay_fit, logistic_regression
from tests.laws.sweep import (
    arrays_of,
    cases,
    check_equal,
    few_combinations,
    in_gate,
    in_namespace,
    is_error,
    label,
    leaves,
    outcome,
    rows,
    tolerance_of,
    uneven,
)
from tests.program.run_saved import split_jvp

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tests" / "program" / "run_saved.py"
SAVED = [c for c in cases() if "unsaved" not in c[1].tags]
FIRST = [(family, row, row.dtypes[0]) for family, row in rows() if "unsaved" not in row.tags]


def tolerance(row, dtype):
    return tolerance_of(dtype, row.tolerance) or row.tolerance


def save_row(folder, family, row, dtype, derivatives):
    """Save each program of a row, and return the expected calls by the name of the file."""
    jitted = anyshape.jit(in_namespace(row, anp), optimize="off")  # the other process has optimised plans
    derivatives &= "decide" not in row.ops  # a program of one path is not traced inside of another
    names = row.names()
    first = dict(zip(names, (4, 3, 6, 7, 2), strict=False))
    outcome(jitted, *arrays_of(row, first, dtype))
    expected = {}
    for sizes in few_combinations(row):
        xs = arrays_of(row, sizes, dtype)
        with np.errstate(all="ignore"):
            results = outcome(jitted, *[x.copy() for x in xs])
        if is_error(results):
            continue
        for number, program in enumerate(jitted.programs()):
            if program.accepts(*xs):
                file = f"{label((family, row, dtype))}-{number}.anyshape".replace("/", "_")
                if file not in expected:
                    program.save(folder / file)
                calls = expected.setdefault(file, (tolerance(row, dtype), []))[1]
                calls.append(call(jitted, row, xs, results, derivatives))
                break
    return expected


def call(function, row, xs, results, derivatives):
    """Return arguments and results, and directions and derivatives if the row is differentiated."""
    moving = [x for x in xs if x.dtype.kind in "fc"]
    if not derivatives or row.grad is not True or not moving or not any(r.dtype.kind in "fc" for r in results):
        return xs, results, None, None
    ts = [uneven(np.random.default_rng(3), x) for x in moving]
    derivatives = outcome(split_jvp(function, xs), ts, xs)
    return (xs, results, None, None) if is_error(derivatives) else (xs, results, ts, derivatives)


def run_apart(folder, expected):
    (folder / "expected.pickle").write_bytes(pickle.dumps(expected))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ANYSHAPE_CHECK": "1"}
    command = [sys.executable, str(SCRIPT), str(folder)]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=folder, env=environment, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sweep(folder, chosen, derivatives):
    expected = {}
    for family, row, dtype in chosen:
        expected |= save_row(folder, family, row, dtype, derivatives)
    assert run_apart(folder, expected).startswith(f"{len(expected)} of {len(expected)} ")
    return expected


@pytest.mark.slow
def test_rows_run_in_a_process_without_their_source(tmp_path):
    """Run a part of the rows with their first dtype, and the derivatives of a quarter of these."""
    chosen = [c for c in FIRST if in_gate("saved", c, 16)]
    expected = sweep(tmp_path, [c for i, c in enumerate(chosen) if i % 4], derivatives=False)
    expected |= sweep(tmp_path, chosen[::4], derivatives=True)
    assert len(expected) > 0.9 * len(chosen) > 30
    assert sum(derivatives is not None for _, calls in expected.values() for *_, derivatives in calls) > 7


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_every_row_and_dtype_with_derivatives(tmp_path, part):
    chosen = [c for i, c in enumerate(SAVED) if i % 4 == part]
    assert len(sweep(tmp_path, chosen, derivatives=True)) > 0.9 * len(chosen)


EXAMPLES = {
    "attention": (anyshape.value_and_grad(attention.loss, argnums=1), lambda n: [(n, 6), (6, 18), (n, 6)]),
    "decay": (lambda a, b, c, t, seen: decay_fit.jacobian({"log_first": a, "log_second": b, "start": c}, t, seen),
              lambda n: [(), (), (), (n,), (n,)]),
    "logistic": (anyshape.grad(logistic_regression.loss), lambda n: [(3,), (n, 3), (n,)]),
}  # fmt: skip


@pytest.mark.slow
def test_examples_run_in_a_process_without_their_source(tmp_path):
    expected = {}
    for name, (function, shapes) in EXAMPLES.items():
        specs = [anyshape.ShapeDtypeStruct(", ".join(map(str, s)).replace("99", "n")) for s in shapes(99)]
        program = anyshape.export(function)(*specs)
        program.save(tmp_path / name)
        calls = []
        for n in (1, 2, 5, 8, 13):
            xs = [np.asarray(np.random.default_rng(n + i).uniform(0.2, 1, s)) for i, s in enumerate(shapes(n))]
            results = leaves(function(*xs))
            check_equal(leaves(program(*xs)), results, 1e-12, name)
            ts = [uneven(np.random.default_rng(4), x) for x in xs]
            calls.append((xs, results, ts, leaves(split_jvp(function, xs)(ts, xs)) if name != "decay" else None))
        expected[name] = 1e-9, calls
    run_apart(tmp_path, expected)
