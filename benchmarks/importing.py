"""What `import anyshape` costs beyond the imports of NumPy and of those parts of SciPy that it needs.

Each time is taken in a fresh interpreter. Bytecode is kept, as in any installation, even if the environment forbids it
here: what is compared is loading modules, not compiling them. A second line has what anyshape costs where the parts are
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
        statements = [TIMED.format(before, what) for before, what in pairs]
        rounds = range(1 + effort.fewer(2).rounds)  # the first fills the folder of bytecode
        table = np.array([[float(python("-c", statement)) for statement in statements] for _ in rounds])[1:]
        own = sorted(own_times(python, needed).items(), key=lambda item: -item[1])
    inside, *whole = np.median(table, axis=0) * 1e3
    extra = float(np.median(table[:, 1] - table[:, 2])) * 1e3
    detail = "; ".join(f"{what} {t:.0f} ms" for what, t in zip(("anyshape", needed, "numpy"), whole, strict=True))
    dearest = ", ".join(f"{name} {t * 1e3:.1f}" for name, t in own[:8])
    return [
        Result("import anyshape beyond NumPy and SciPy", extra, "ms", 60, detail),
        Result("  after those parts", float(inside), "ms", None, f"its own dearest: {dearest}", dict(own)),
    ]


class Interpreter:
    """Runs fresh interpreters that find what this one finds and keep their bytecode in a folder."""

    def __init__(self, bytecode: str) -> None:
        path = os.pathsep.join(p for p in sys.path if p)
        self.environment = {**os.environ, "PYTHONPATH": path, "PYTHONPYCACHEPREFIX": bytecode}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def __call__(self, *arguments: str, stream: str = "stdout") -> str:
        """What it prints; the other stream is shown, for it tells what failed."""
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
    found = {}
    for line in python("-X", "importtime", "-c", "import anyshape", stream="stderr").splitlines():
        own, _, name = line.removeprefix("import time:").split("|")
        if own.strip().isdigit() and name.strip() not in theirs:
            found[name.strip()] = int(own) * 1e-6
    return found
