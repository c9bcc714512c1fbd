"""Measure the cost of `import anyshape` beyond the imports of NumPy and of the parts of SciPy that it needs.

Each time is taken in a fresh interpreter. Bytecode is cached, as in any installation, even if the environment forbids
it here: the benchmark compares loading modules, not compiling them. A second line has the cost where those parts are
loaded already. The two differ: from deep inside nested imports, Python runs the same module code of NumPy more slowly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from benchmarks.timing import Effort, Result

TIMED = "{}; import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
LOADED = "import sys, anyshape; print(*sys.modules)"


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
    ]


class Interpreter:
    """Runs fresh interpreters that find what this one finds and keep their bytecode in a folder."""

    def __init__(self, bytecode: str) -> None:
        path = os.pathsep.join(p for p in sys.path if p)
        self.environment = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": bytecode}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def __call__(self, *arguments: str, stream: str = "stdout") -> str:
        """Return one stream of its output; the other stream passes through and shows failures."""
        caught: dict[str, Any] = {stream: subprocess.PIPE}
        done = subprocess.run([sys.executable, *arguments], **caught, text=True, check=True, env=self.environment)
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
