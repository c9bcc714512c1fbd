"""Run the kernels of NPBench as they are written, with NumPy's own name, beside NumPy itself.

`python -m tests.external.npbench FOLDER` prints a row for each kernel of a checkout of github.com/spcl/npbench. It says
whether the values under `jit` are NumPy's at four sizes, and in how many traces. It names loops that are unrolled, and
says whether a gradient has the slope that differences of these values show.

Each kernel runs in a process of its own. Its text is unchanged but for single precision, which becomes double:
differences need it. Results of integers and bools are compared exactly.
"""

import argparse
import copy
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

import anyshape
import anyshape.numpy
from benchmarks.npbench_kernels import Kernel, names, results_of, total

ROOT = Path(__file__).parents[2]
MORE = (0, 1, -2, 3)  # sizes of calls beyond the bound
AGREEMENT = {"rtol": 1e-9, "atol": 1e-11}


def loss_of(function, namespace, arguments, places):
    """Return a real function of some of the arguments: weighted sums of all results of floats."""

    def loss(*parts):
        full = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        for k, part in zip(places, parts, strict=True):
            full[k] = part.copy()
        return total(namespace, results_of(function, full))

    return loss


def check_values(kernel, others):
    """Raise unless calls of several sizes give NumPy's values; say in how many traces."""
    traced = anyshape.jit(kernel.plain)
    for sized in (kernel, *others):
        arguments = sized.arguments()
        ours, theirs = (results_of(f, copy.deepcopy(arguments)) for f in (traced, kernel.plain))
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(one, other, **AGREEMENT)
            assert np.result_type(one) == np.result_type(other)
    unrolled = "".join(f"; {line}" for line in traced.explain().as_written)
    return f"right, {traced.cache_info().traces} traces{unrolled}"


def direction(array, rng):
    """Return a random direction for an array; a Hermitian matrix stays one, as derivatives of `cholesky` need."""
    way = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        way = way + 1j * rng.standard_normal(array.shape)
    is_hermitian = array.ndim == 2 and array.shape[0] == array.shape[1] and np.array_equal(array, array.conj().T)
    return way + way.conj().T if is_hermitian else way


def check_gradient(kernel):
    """Raise unless the gradient has the slopes of NumPy's values in two directions."""
    arguments, places = kernel.differentiable()
    if not places:
        return "no floats"
    point = [arguments[k] for k in places]
    slopes = anyshape.grad(loss_of(kernel.plain, anyshape.numpy, arguments, places), argnums=tuple(range(len(places))))(
        *point
    )
    loss = loss_of(kernel.plain, np, arguments, places)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        ways = [direction(p, rng) for p in point]
        slope = sum((g * w).real.sum() for g, w in zip(slopes, ways, strict=True))
        step = 1e-6

        def change(h, ways=ways):
            ends = [loss(*(p + s * w for p, w in zip(point, ways, strict=True))) for s in (h, -h)]
            return (ends[0] - ends[1]) / (2 * h)

        difference = (4 * change(step / 2) - change(step)) / 3
        scale = sum(np.abs(g * w).sum() for g, w in zip(slopes, ways, strict=True))
        assert np.isfinite(slope), f"slope {slope}, differences {difference}"
        assert abs(slope - difference) <= 1e-5 * scale + 1e-12, f"slope {slope}, differences {difference}"
    return "right"


def run_kernel(folder, name, at_most):
    """Print the outcome of one kernel."""
    kernel = Kernel(folder, name, at_most)
    others = [Kernel(folder, name, at_most and at_most + more) for more in MORE]
    row = {}
    checks = (("values", lambda k: check_values(k, others)), ("gradient", check_gradient))
    for column, check in checks:
        start = time.perf_counter()
        try:
            outcome = check(kernel)
        except Exception as error:
            first, _, rest = str(error).strip().partition("\n")
            outcome = f"{type(error).__name__}: {first} {rest.strip().partition(chr(10))[0]}"
        row[column] = f"{outcome} ({time.perf_counter() - start:.1f} s)"
        print(json.dumps(row), flush=True)


def outcome_of(options, name):
    """Run one kernel in a process of its own, and return its outcomes."""
    command = [sys.executable, "-m", "tests.external.npbench", str(options.folder), "--inside", name]
    command += ["--at-most", str(options.at_most)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds, check=False, cwd=ROOT)
        lines, end = done.stdout.splitlines(), (done.stderr.strip().splitlines() or ["no result"])[-1]
    except subprocess.TimeoutExpired as error:
        lines, end = (error.stdout or b"").decode().splitlines(), f"not done in {options.seconds} s"
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return {"values": end, "gradient": end} | (rows[-1] if rows else {})


def main(arguments=None):
    """Run kernels, and return 1 unless each one has NumPy's values and slopes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of github.com/spcl/npbench")
    parser.add_argument("--kernels", nargs="*", help="names of files in bench_info; all without it")
    parser.add_argument("--at-most", type=int, default=12, help="bound of the sizes of the small preset; 0 for none")
    parser.add_argument("--seconds", type=float, default=120.0, help="time for each kernel")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.inside:
        run_kernel(options.folder, options.inside, options.at_most)
        return 0
    counts = Counter()
    chosen = options.kernels or names(options.folder)
    for name in chosen:
        row = outcome_of(options, name)
        print(f"{name:26}" + "".join(f"{row[column][:110]:20} " for column in ("values", "gradient")), flush=True)
        counts.update(column for column, outcome in row.items() if outcome.startswith(("right", "no floats")))
    print(f"of {len(chosen)}: values {counts['values']}, gradients {counts['gradient']}")
    return int(min(counts["values"], counts["gradient"]) < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
