"""What a user names on the command line: a function, the shapes and dtypes of its arguments, and files to write."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from anyshape.errors import AnyshapeError
from anyshape.graph.prover.spec_parser import parse_shape
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.transforms.export import load
from anyshape.transforms.specs import ShapeDtypeStruct

_SHORT = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


class UsageError(Exception):
    """What was asked on the command line cannot be done; the message is one line."""


def one_line(error: BaseException) -> str:
    """What an error says and advises, on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ends = lines if len(lines) < 2 else [lines[0], lines[-1]]
    return "; ".join(ends) or type(error).__name__


def is_saved(target: str) -> bool:
    """Whether the target is a file that may hold a program, not a function."""
    return not target.endswith(".py") and Path(target).is_file()


def load_function(target: str) -> Callable[..., Any]:
    """What "module:function" or "path/to/file.py:function" names (the function may have dots), or a saved program."""
    if is_saved(target):
        return load(target)
    source, colon, path = target.rpartition(":")
    if not colon or not source or not path:
        raise UsageError(f"{target!r} names no function; write module:function or path/to/file.py:function")
    found: Any = _load_file(Path(source)) if source.endswith(".py") else _load_module(source)
    for name in path.split("."):
        if not hasattr(found, name):
            raise UsageError(f"{source} has no {path}; {name!r} is not there")
        found = getattr(found, name)
    if not callable(found):
        raise UsageError(f"{target} is of type {type(found).__name__}, not a function")
    return found


def _load_module(name: str) -> ModuleType:
    """Import a module as `python -m` would: the current directory comes first."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise UsageError(f"cannot import {name}: {type(error).__name__}: {one_line(error)}") from error


def _load_file(path: Path) -> ModuleType:
    """Run a file as a module of its own; it may import its neighbours, as when it is run as a script."""
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
    """The arguments that --shapes and --dtypes describe: one specification and one dtype each.

    The specification of an integer that is a size by its value is that size; `by_value` tells which these are.
    """

    specs: tuple[str, ...]
    dtypes: tuple[np.dtype, ...]
    by_value: tuple[bool, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The unknown sizes, in order of appearance."""
        found: dict[str, Size] = {}
        for spec in self.specs:
            parse_shape(spec, lambda name: found.setdefault(name, expr.variable(name)))
        return tuple(found)

    @property
    def structs(self) -> list[ShapeDtypeStruct]:
        """What each argument is, for `trace`."""
        every = zip(self.specs, self.dtypes, self.by_value, strict=True)
        return [ShapeDtypeStruct((), d, value=s) if value else ShapeDtypeStruct(s, d) for s, d, value in every]

    def sizes(self, sizes: dict[str, int]) -> list[tuple[int, ...]]:
        """The sizes of each when each name has this size: its shape, or its value. They may be negative, as n - 1."""
        return [tuple(int(s) for s in parse_shape(spec, sizes.get).sizes) for spec in self.specs]  # type: ignore[arg-type]


def read_arguments(function: Callable[..., Any], shapes: str, dtypes: str) -> Arguments:
    """The arguments that were described; their number must suit the function."""
    parts = [part.strip() for part in shapes.split(";")]
    by_value = tuple(part.startswith("=") for part in parts)
    specs = tuple(part.removeprefix("=").strip() for part in parts)
    kinds = [_dtype(part.strip()) for part in dtypes.split(";")]
    if len(kinds) not in (1, len(specs)):
        raise UsageError(f"--dtypes names {len(kinds)} dtypes for {len(specs)} shapes; give one, or one for each shape")
    if len(kinds) == 1:  # the one for all is that of arrays
        kinds = [np.dtype(int) if value and kinds[0].kind not in "iu" else kinds[0] for value in by_value]
    arguments = Arguments(specs, tuple(kinds), by_value)
    _check_specs(arguments, parts)
    _check_count(function, specs)
    return arguments


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
    """Write a file, whole or not at all; "-" is what the command prints."""
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
    """f64, i32, bool, or any name of NumPy's."""
    stem = text.rstrip("0123456789")
    try:
        found = np.dtype(_SHORT.get(stem, stem) + text[len(stem) :])
    except TypeError:
        raise UsageError(f"--dtypes: {text!r} is no dtype; write f64, f32, i64, c128 or bool") from None
    if found.kind not in "biufc":
        raise UsageError(f"--dtypes: {text!r} is no dtype of numbers; write f64, f32, i64, c128 or bool")
    return found
