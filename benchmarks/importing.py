"""Measure the cost of `import anyshape` beyond the imports of NumPy and of the parts of SciPy that it needs.

Each time is taken in a fresh interpreter. Bytecode is cached, as in any installation, even if the environment forbids
it here: the benchmark compares loading modules, not compiling them. A second line has the cost where those parts are
loaded already. The two differ: from deep inside nested imports, Python runs the same module code of NumPy more slowly.

The first gradient of a process is that of five lines, by its CPU time from the start of Python on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.timing import Effort, Result

TIMED = "{}; import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
LOADED = "import sys, anyshape; print(*sys.modules)"
FIRST = """
import time, numpy
{}
loss = lambda w: np.sum(np.tanh(w) ** 2)
assert abs(grad(loss)(numpy.ones(3))[0] - 0.6397) < 1e-3
print(time.process_time())
"""
LINES = {
    "anyshape": "import numpy as np; from anyshape import grad",
    "autograd": "import autograd.numpy as np; from autograd import grad",
    "jax": "import jax.numpy as np; from jax import grad",
}
SPECIAL = ("scipy.special", "anyshape.scipy.special", "scipy.optimize", "anyshape.scipy.optimize")


def run(effort: Effort) -> list[Result]:
    """The results of this file."""
    with tempfile.TemporaryDirectory() as bytecode:
        python = Interpreter(bytecode)
        needed = needed_parts(python)
        pairs = [(f"import {needed}", "anyshape"), ("pass", "anyshape"), ("pass", needed), ("pass", "numpy")]
        statements = [TIMED.format(before, module) for before, module in pairs]
        rounds = range(1 + effort.fewer(2).rounds)  # the first fills the folder of bytecode
        table = np.array([[float(python("-c", statement)) for statement in statements] for _ in rounds])[1:]
        own = sorted(own_times(python, needed).items(), key=lambda item: -item[1])
    inside, *whole = np.median(table, axis=0) * 1e3
    extra = float(np.median(table[:, 1] - table[:, 2])) * 1e3
    detail = "; ".join(f"{module} {t:.0f} ms" for module, t in zip(("anyshape", needed, "numpy"), whole, strict=True))
    slowest = ", ".join(f"{name} {t * 1e3:.1f}" for name, t in own[:8])
    return [
        Result("import anyshape beyond NumPy and SciPy", extra, "ms", 60, detail),
        Result("  after those parts", float(inside), "ms", None, f"its slowest modules: {slowest}", dict(own)),
        *modules_of_scipy(python, rounds),
        *first_gradients(python, rounds),
    ]


def modules_of_scipy(python: Interpreter, rounds: range) -> list[Result]:
    """The cost of modules like SciPy's beyond SciPy's own."""
    timed = "import time; import {}; print(time.process_time())"
    table = np.array([[float(python("-c", timed.format(module))) for module in SPECIAL] for _ in rounds])[1:] * 1e3
    pairs = zip(SPECIAL[1::2], (table[:, 1::2] - table[:, ::2]).T, strict=True)
    return [Result(f"import {name} beyond SciPy's, CPU", float(np.median(t)), "ms", 50) for name, t in pairs]


def first_gradients(python: Interpreter, rounds: range) -> list[Result]:
    """Five lines to the first gradient, in the libraries that are installed."""
    there = [name for name in LINES if name == "anyshape" or name in peers.installed()]
    runs = {name: python if name == "anyshape" else python.of(peers.interpreter(name)) for name in there}
    table = np.array([[float(runs[n]("-c", FIRST.format(LINES[n]))) for n in there] for _ in rounds])[1:] * 1e3
    times = dict(zip(there, np.median(table, axis=0), strict=True))
    detail = ", ".join(f"{name} {t:.0f} ms" for name, t in times.items())
    return [Result("first gradient of a process, CPU", float(times["anyshape"]), "ms", 250, detail)]


class Interpreter:
    """Runs fresh interpreters that find what this one finds and keep their bytecode in a folder."""

    def __init__(self, bytecode: str, program: str = sys.executable) -> None:
        self.bytecode, self.program = bytecode, program
        self.environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        if program == sys.executable:
            self.environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)

    def of(self, program: str) -> Interpreter:
        """Return another interpreter, which finds what is its own."""
        return self if program == self.program else Interpreter(self.bytecode, program)

    def __call__(self, *arguments: str, stream: str = "stdout") -> str:
        """Return one stream of its output; the other stream passes through and shows failures."""
        caught: dict[str, Any] = {stream: subprocess.PIPE}
        done = subprocess.run([self.program, *arguments], **caught, text=True, check=True, env=self.environment)
        return getattr(done, stream)


def needed_parts(python: Interpreter) -> str:
    """NumPy, and the public packages of SciPy that `import anyshape` loads."""
    loaded = python("-c", LOADED).split()
    parts = sorted(m for m in loaded if m.startswith("scipy.") and m.count(".") == 1 and not m.startswith("scipy._"))
    return ", ".join(["numpy", *[m for m in parts if m != "scipy.version"]])


def own_times(python: Interpreter, needed: str) -> dict[str, float]:
    """Seconds that each module spends in itself, of those loaded neither by NumPy nor by SciPy."""
    theirs = set(python("-c", f"import sys, {needed}; print(*sys.modules)").split())
    seconds_by_module = {}
    for line in python("-X", "importtime", "-c", "import anyshape", stream="stderr").splitlines():
        own, _, name = line.removeprefix("import time:").split("|")
        if own.strip().isdigit() and name.strip() not in theirs:
            seconds_by_module[name.strip()] = int(own) * 1e-6
    return seconds_by_module
