"""Find other libraries that take gradients of NumPy code. All of them are optional.

They run in processes of their own. ANYSHAPE_PEERS=/somewhere/venv/bin/python names the interpreter. Without it, the
environment of `make bench-peers` is used if it exists, and this interpreter otherwise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

try:
    import autograd  # type: ignore[import-not-found]
    import autograd.numpy as autograd_numpy  # type: ignore[import-not-found]
except ImportError:
    autograd = autograd_numpy = None

ROOT = Path(__file__).resolve().parents[1]
OURS = ("numpy", "anyshape", "compiled")
MODULES = {"autograd": "autograd", "jax": "jax", "torch": "torch", "torch.compile": "torch", "pytensor": "pytensor"}
PROBE = "import importlib.util, sys; print(*[n for n in sys.argv[1:] if importlib.util.find_spec(n) is not None])"


def interpreter(library: str = "") -> str:
    """Return the path of the Python that runs a library."""
    own = ROOT / ".venv-peers" / "bin" / "python"
    named = os.environ.get("ANYSHAPE_PEERS") or (str(own) if own.exists() else sys.executable)
    if shutil.which(named) is None:
        raise SystemExit(f"ANYSHAPE_PEERS is {named!r}, which is not a program; name a Python, or unset it")
    return sys.executable if library in OURS else named


@cache
def installed() -> tuple[str, ...]:
    """Return the libraries to compare: NumPy written by hand, both tiers of anyshape, and the installed peers."""
    done = subprocess.run([interpreter(), "-c", PROBE, *MODULES.values()], check=True, capture_output=True, text=True)
    modules = done.stdout.split()
    return (*OURS, *[library for library, module in MODULES.items() if module in modules])


def missing() -> tuple[str, ...]:
    """The peers that are not installed."""
    return tuple([library for library in MODULES if library not in installed()])


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
