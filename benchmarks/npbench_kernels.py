"""Kernels of a checkout of github.com/spcl/npbench, with the arguments of its small preset.

    git clone --depth 1 https://github.com/spcl/npbench /tmp/npbench

Their text is unchanged but for single precision, which becomes double. The file imports NumPy alone, so that
interpreters with other libraries can use it.
"""

from __future__ import annotations

import json
import linecache
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

DOUBLE = (("np.float32", "np.float64"), ("np.complex64", "np.complex128"))
SIZES = {"npt": 5, "nnz": 60, "H": 28, "W": 28}  # bounds of parameters that others need larger or smaller

# kernels whose innermost loops are of numbers and dots
SCALARS = (
    "cholesky", "durbin", "go_fast", "gramschmidt", "lu", "ludcmp", "nussinov", "seidel_2d", "spmv", "symm", "syr2k",
    "syrk", "trisolv", "trmm",
)  # fmt: skip
# kernels whose loops are of arrays
ARRAYS = (
    "adi", "azimint_naive", "cavity_flow", "channel_flow", "contour_integral", "correlation", "covariance", "deriche",
    "doitgen", "fdtd_2d", "floyd_warshall", "heat_3d", "jacobi_1d", "jacobi_2d", "nbody", "scattering_self_energies",
    "stockham_fft", "vadv",
)  # fmt: skip


def names(folder: Path) -> list[str]:
    """Return the names of all kernels of a checkout."""
    return sorted(path.stem for path in (folder / "bench_info").glob("*.json"))


def module_of(path: Path, *replacements: tuple[str, str]) -> types.ModuleType:
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
    """One kernel: its function, and fresh arguments."""

    def __init__(self, folder: Path, name: str, at_most: int) -> None:
        facts = json.loads((folder / "bench_info" / f"{name}.json").read_text())["benchmark"]
        self.facts: dict[str, Any] = facts
        self.path = folder / "npbench" / "benchmarks" / facts["relative_path"]
        parameters = facts["parameters"]["S"]
        self.sizes: dict[str, Any] = {key: self._bounded(key, value, at_most) for key, value in parameters.items()}
        self.plain: Callable[..., Any] = self.variant("numpy")

    def variant(self, postfix: str) -> Callable[..., Any]:
        """Return the function of one of its files, such as that for "jax"."""
        function: Callable[..., Any] = getattr(self._module(f"_{postfix}"), self.facts["func_name"])
        return function

    def has_variant(self, postfix: str) -> bool:
        """Return whether there is a file of this kind."""
        return (self.path / f"{self.facts['module_name']}_{postfix}.py").exists()

    def _module(self, ending: str) -> types.ModuleType:
        return module_of(self.path / f"{self.facts['module_name']}{ending}.py")

    @staticmethod
    def _bounded(key: str, value: Any, at_most: int) -> Any:
        """Return a parameter of the small preset, or a bound of it."""
        bounded = isinstance(value, int) and at_most
        return min(value, SIZES.get(key, at_most)) if bounded else value

    def arguments(self) -> list[Any]:
        """Return the arguments of one call."""
        values = dict(self.sizes)
        init = self.facts.get("init")
        if init:
            made = getattr(self._module(""), init["func_name"])(*(values[key] for key in init["input_args"]))
            outputs = init["output_args"]
            values.update(zip(outputs, made if len(outputs) > 1 else [made], strict=True))
        return [values[key] for key in self.facts["input_args"]]

    def differentiable(self) -> tuple[list[Any], list[int]]:
        """Return arguments for derivatives, and the positions of those that are differentiated.

        Arrays of integers that the kernel computes with become floats without ties, where a derivative is one-sided.
        """
        names, arguments = self.facts["input_args"], self.arguments()
        noise = np.random.default_rng(3)
        for k, (name, value) in enumerate(zip(names, arguments, strict=True)):
            if name in self.facts["output_args"] and value.dtype.kind == "i":
                arguments[k] = value + 0.1 * noise.random(value.shape)
        return arguments, [k for k, v in enumerate(arguments) if isinstance(v, np.ndarray) and v.dtype.kind in "fc"]

    def outputs(self, function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
        """Call a function, and return its results; for one without any, the arrays that it writes to.

        Some rewrites for JAX return further arguments behind them.
        """
        result, written = function(*arguments), self.facts["output_args"]
        if result is not None:
            results = [*result] if isinstance(result, (tuple, list)) else [result]
            return results[: len(written) or None]
        named = zip(self.facts["input_args"], arguments, strict=True)
        return [x for name, x in named if name in (written or self.facts["array_args"][:1])]


def results_of(function: Callable[..., Any], arguments: Sequence[Any]) -> list[Any]:
    """Call a function, and return its results and the arrays that it may have written to."""
    result = function(*arguments)
    parts = result if isinstance(result, (tuple, list)) else [] if result is None else [result]
    return [*parts, *(a for a in arguments if hasattr(a, "shape"))]


def total(namespace: Any, results: Sequence[Any]) -> Any:
    """Return a real number of results: weighted sums of all that are floats."""
    value = 0.0
    for k, part in enumerate(results):
        if namespace.result_type(part).kind in "fc":
            weights = namespace.cos(namespace.arange(part.size) + 1.0 + k).reshape(part.shape)
            value = value + (weights * part.real).sum() + 0.5 * (weights * part.imag).sum()
    return value
