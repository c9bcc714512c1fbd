"""Read the targets of the command line: a function, the shapes and dtypes of its arguments, and files to write."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from anyshape.errors import AnyshapeError
from anyshape.graph.prover.spec_parser import parse_shape
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.program.program import Program
from anyshape.support.lazy_dataclass import dataclass
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.export import load

_SHORT = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


class UsageError(Exception):
    """Raised for a mistake on the command line; the message is one line."""


def one_line(error: BaseException) -> str:
    """Return the first and the last line of an error message on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ends = lines if len(lines) < 2 else [lines[0], lines[-1]]
    return "; ".join(ends) or type(error).__name__


def is_saved(target: str) -> bool:
    """Return True if the target is a file that may hold a program, not a function."""
    return not target.endswith(".py") and Path(target).is_file()


def load_function(target: str) -> Callable[..., Any]:
    """Return the function of "module:function" or "file.py:function", which may have dots, or a saved program."""
    if is_saved(target):
        return load(target)
    source, colon, path = target.rpartition(":")
    if not colon or not source or not path:
        problem = "names no function" if target.endswith(".py") or not os.path.splitext(target)[1] else "is not a file"
        raise UsageError(f"{target!r} {problem}; write module:function or path/to/file.py:function")
    target_object: Any = _load_file(Path(source)) if source.endswith(".py") else _load_module(source)
    for name in path.split("."):
        if not hasattr(target_object, name):
            raise UsageError(f"{source} has no {path}; {name!r} is not there")
        target_object = getattr(target_object, name)
    if not callable(target_object):
        raise UsageError(f"{target} is of type {type(target_object).__name__}, not a function")
    return target_object


def _load_module(name: str) -> ModuleType:
    """Import a module as `python -m` would: the current directory comes first."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise UsageError(f"cannot import {name}: {type(error).__name__}: {one_line(error)}") from error


def _load_file(path: Path) -> ModuleType:
    """Run a file as a module; as for a script, it may import files next to it."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if before is not None:
            sys.modules[path.stem] = before
        else:
            del sys.modules[path.stem]
        raise UsageError(f"cannot run {path}: {type(error).__name__}: {one_line(error)}") from error
    return module


@dataclass(frozen=True)
class Arguments:
    """Arguments that --shapes and --dtypes describe: one specification and one dtype each.

    With `by_value`, an argument is an integer whose value is a size, and its specification is that size.
    """

    specs: tuple[str, ...]
    dtypes: tuple[np.dtype, ...]
    by_value: tuple[bool, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Unknown sizes, in order of appearance."""
        sizes: dict[str, Size] = {}
        for spec in self.specs:
            parse_shape(spec, lambda name: sizes.setdefault(name, expr.variable(name)))
        return tuple(sizes)

    @property
    def structs(self) -> list[ShapeDtypeStruct]:
        """Specification of each argument, for `trace`."""
        every = zip(self.specs, self.dtypes, self.by_value, strict=True)
        return [ShapeDtypeStruct((), d, value=s) if value else ShapeDtypeStruct(s, d) for s, d, value in every]

    def sizes(self, sizes: dict[str, int]) -> list[tuple[int, ...]]:
        """Return the shape, or the value, of each argument for sizes by name. They may be negative, as n - 1."""
        return [tuple(int(s) for s in parse_shape(spec, sizes.get).sizes) for spec in self.specs]  # type: ignore[arg-type]


def read_arguments(function: Callable[..., Any], shapes: str, dtypes: str) -> Arguments:
    """Return the described arguments; raise UsageError if the function takes another number of them."""
    parts = [part.strip() for part in shapes.split(";")]
    by_value = tuple(part.startswith("=") for part in parts)
    specs = tuple(part.removeprefix("=").strip() for part in parts)
    kinds = [_dtype(part.strip()) for part in dtypes.split(";")]
    if len(kinds) not in (1, len(specs)):
        raise UsageError(f"--dtypes names {len(kinds)} dtypes for {len(specs)} shapes; give one, or one for each shape")
    if len(kinds) == 1:  # one dtype for all is the dtype of arrays
        kinds = [np.dtype(int) if value and kinds[0].kind not in "iu" else kinds[0] for value in by_value]
    arguments = Arguments(specs, tuple(kinds), by_value)
    _check_specs(arguments, parts)
    _check_count(function, specs)
    return arguments


def arguments_of(program: Program) -> Arguments:
    """Return the arguments that a saved program was made for; raise UsageError where shapes do not describe them."""
    metas, paths = [v.meta for v in program.trace.graph.inputs], program.trace.paths
    if list(paths) != [f"args[{i}]" for i in range(len(metas))]:
        raise UsageError(f"{program.name} takes trees, or sizes by their values; call it in Python")
    specs = tuple([", ".join(map(str, meta.sizes or ())) for meta in metas])
    return Arguments(specs, tuple([meta.dtype for meta in metas]), (False,) * len(metas))


def _check_specs(arguments: Arguments, parts: Sequence[str]) -> None:
    try:
        _ = arguments.names
        _ = arguments.structs
        counts = [len(s) for s in arguments.sizes(dict.fromkeys(arguments.names, 1))]
    except AnyshapeError as error:
        raise UsageError(f"--shapes: {one_line(error)}") from error
    for part, value, count in zip(parts, arguments.by_value, counts, strict=True):
        if value and count != 1:
            raise UsageError(f"--shapes: {part!r} gives {count} sizes; an integer is one size: =k")


def _check_count(function: Callable[..., Any], specs: Sequence[str]) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a function written in C may have no signature
    try:
        signature.bind(*specs)
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        raise UsageError(f"--shapes describes {len(specs)} arguments, but {name}{signature}: {error}") from error


def write_text(path: str, text: str) -> None:
    """Write a file, whole or not at all; "-" is the standard output."""
    if path == "-":
        print(text, end="")
        return
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8", errors="backslashreplace")  # a device or a pipe; a folder refuses
            return
        target = target.resolve()  # a link stays one
        part = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8", errors="backslashreplace")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"cannot write {path!r}: {reason}") from error


def _dtype(text: str) -> np.dtype:
    """Return the dtype of `f64`, `i32`, `bool`, or any name of NumPy."""
    stem = text.rstrip("0123456789")
    try:
        dtype = np.dtype(_SHORT.get(stem, stem) + text[len(stem) :])
    except TypeError:
        raise UsageError(f"--dtypes: {text!r} is not a dtype; write f64, f32, i64, c128 or bool") from None
    if dtype.kind not in "biufc":
        raise UsageError(f"--dtypes: {text!r} is not a dtype of numbers; write f64, f32, i64, c128 or bool")
    return dtype
