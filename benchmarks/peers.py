"""Other libraries that take gradients of NumPy code, as far as they are installed. None of them is needed.

They are run in processes of their own: by the interpreter that ANYSHAPE_PEERS names, as in
ANYSHAPE_PEERS=/somewhere/venv/bin/python, else by the one that `make bench-peers` installs them for, else by this one.
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
OURS = ("numpy", "anyshape")
MODULES = {"autograd": "autograd", "jax": "jax", "torch": "torch", "torch.compile": "torch", "pytensor": "pytensor"}
PROBE = "import importlib.util, sys; print(*[n for n in sys.argv[1:] if importlib.util.find_spec(n) is not None])"


def interpreter(library: str = "") -> str:
    """The Python that a library is run by."""
    own = ROOT / ".venv-peers" / "bin" / "python"
    named = os.environ.get("ANYSHAPE_PEERS") or (str(own) if own.exists() else sys.executable)
    if shutil.which(named) is None:
        raise SystemExit(f"ANYSHAPE_PEERS is {named!r}, which is no program; name a Python, or unset it")
    return sys.executable if library in OURS else named


@cache
def installed() -> tuple[str, ...]:
    """What there is to compare: NumPy written by hand, anyshape, and the peers that are found."""
    done = subprocess.run([interpreter(), "-c", PROBE, *MODULES.values()], check=True, capture_output=True, text=True)
    found = done.stdout.split()
    return (*OURS, *[library for library, module in MODULES.items() if module in found])


def missing() -> tuple[str, ...]:
    """The peers that are not installed."""
    return tuple([library for library in MODULES if library not in installed()])


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
