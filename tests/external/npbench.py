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
import linecache
import subprocess
import sys
import time
import types
from collections import Counter
from pathlib import Path

import numpy as np

import anyshape
import anyshape.numpy

ROOT = Path(__file__).parents[2]
DOUBLE = (("np.float32", "np.float64"), ("np.complex64", "np.complex128"))
MORE = (0, 1, -2, 3)  # sizes of calls beyond the bound
SIZES = {"npt": 5, "nnz": 60, "H": 28, "W": 28}  # bounds of parameters that others need larger or smaller
AGREEMENT = {"rtol": 1e-9, "atol": 1e-11}


def module_of(path, *replacements):
    """Return the module that the text of a file defines, after replacements."""
    text = path.read_text()
    for old, new in (*DOUBLE, *replacements):
        text = text.replace(old, new)
    module = types.ModuleType(path.stem)
    sys.modules[path.stem] = module
    file = f"<double precision of {path.name}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # where functions are read
    exec(compile(text, file, "exec"), module.__dict__)
    return module


class Kernel:
    """One kernel: its function with each namespace, and fresh arguments."""

    def __init__(self, folder, name, at_most):
        facts = json.loads((folder / "bench_info" / f"{name}.json").read_text())["benchmark"]
        self.facts = facts
        self.path = folder / "npbench" / "benchmarks" / facts["relative_path"]
        self.sizes = {key: self._bounded(key, value, at_most) for key, value in facts["parameters"]["S"].items()}
        source = self.path / f"{facts['module_name']}_numpy.py"
        self.plain = getattr(module_of(source), facts["func_name"])
        self.traced = self.plain

    @staticmethod
    def _bounded(key, value, at_most):
        """Return a parameter of the small preset, or a bound of it."""
        bounded = isinstance(value, int) and at_most
        return min(value, SIZES.get(key, at_most)) if bounded else value

    def arguments(self):
        """Return the arguments of one call."""
        values = dict(self.sizes)
        init = self.facts.get("init")
        if init:
            module = module_of(self.path / f"{self.facts['module_name']}.py")
            made = getattr(module, init["func_name"])(*(values[key] for key in init["input_args"]))
            outputs = init["output_args"]
            values.update(zip(outputs, made if len(outputs) > 1 else [made], strict=True))
        return [values[key] for key in self.facts["input_args"]]

    def differentiable(self):
        """Return arguments for derivatives, and the positions of those that are differentiated.

        Arrays of integers that the kernel computes with become floats without ties, where a derivative is one-sided.
        """
        names, arguments = self.facts["input_args"], self.arguments()
        noise = np.random.default_rng(3)
        for k, (name, value) in enumerate(zip(names, arguments, strict=True)):
            if name in self.facts["output_args"] and value.dtype.kind == "i":
                arguments[k] = value + 0.1 * noise.random(value.shape)
        return arguments, [k for k, v in enumerate(arguments) if isinstance(v, np.ndarray) and v.dtype.kind in "fc"]


def results_of(function, arguments):
    """Call a function, and return its results and the arrays that it may have written to."""
    result = function(*arguments)
    parts = result if isinstance(result, (tuple, list)) else [] if result is None else [result]
    return [*parts, *(a for a in arguments if hasattr(a, "shape"))]


def loss_of(function, namespace, arguments, places):
    """Return a real function of some of the arguments: weighted sums of all results of floats."""

    def loss(*parts):
        full = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        for k, part in zip(places, parts, strict=True):
            full[k] = part.copy()
        total = 0.0
        for k, part in enumerate(results_of(function, full)):
            if namespace.result_type(part).kind in "fc":
                weights = namespace.cos(namespace.arange(part.size) + 1.0 + k).reshape(part.shape)
                total = total + (weights * part.real).sum() + 0.5 * (weights * part.imag).sum()
        return total

    return loss


def check_values(kernel, others):
    """Raise unless calls of several sizes give NumPy's values; say in how many traces."""
    traced = anyshape.jit(kernel.traced)
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
    slopes = anyshape.grad(
        loss_of(kernel.traced, anyshape.numpy, arguments, places), argnums=tuple(range(len(places)))
    )(*point)
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
    names = options.kernels or sorted(path.stem for path in (options.folder / "bench_info").glob("*.json"))
    for name in names:
        row = outcome_of(options, name)
        print(f"{name:26}" + "".join(f"{row[column][:110]:20} " for column in ("values", "gradient")), flush=True)
        counts.update(column for column, outcome in row.items() if outcome.startswith(("right", "no floats")))
    print(f"of {len(names)}: values {counts['values']}, gradients {counts['gradient']}")
    return int(min(counts["values"], counts["gradient"]) < len(names))


if __name__ == "__main__":
    sys.exit(main())
