"""Read the targets of the command line: a function, the shapes and dtypes of its arguments, and files to write.

Choose numbers for unknown sizes, and draw random arguments.
"""

import contextlib
import importlib
import importlib.util
import inspect
import itertools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
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
from anyshape.tracing.named_dims import ShapeDtypeStruct
from anyshape.transforms.jit import load

_SHORT = {"f": "float", "i": "int", "u": "uint", "c": "complex"}


class UsageError(Exception):
    """Raised for a mistake on the command line; the message is one line."""


def one_line(error: BaseException) -> str:
    """Return the first and the last line of an error message on one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ends = lines if len(lines) < 2 else [lines[0], lines[-1]]
    return "; ".join(ends) or type(error).__name__


@contextlib.contextmanager
def blamed(target: str) -> Iterator[None]:
    """Raise UsageError with the name of a target for what its code raises; errors of the library stay."""
    try:
        yield
    except (AnyshapeError, UsageError):
        raise
    except Exception as error:
        raise UsageError(f"{target} raised {type(error).__name__}: {one_line(error)}") from error


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
    if (folder := str(path.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    if (spec := importlib.util.spec_from_file_location(path.stem, path)) is None or spec.loader is None:
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


_MOST = 64  # assignments of sizes to names; of more, a random sample


def read_numbers(option: str, text: str, kind: type) -> list[Any]:
    """Return numbers that commas separate."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} is {text!r}; give numbers separated by commas") from None


def read_sizes(text: str) -> list[int]:
    """Return the numbers of --sizes."""
    sizes = read_numbers("--sizes", text, int)
    if min(sizes) < 0:
        raise UsageError(f"--sizes is {text!r}; a size is at least 0")
    return sizes


def assignments(arguments: Arguments, sizes: Sequence[int], seed: int = 0) -> Iterator[dict[str, int]]:
    """Yield sizes by name, in every combination or a sample, leaving out negative shapes."""
    names = arguments.names
    combinations = [dict(zip(names, c, strict=True)) for c in _choices(list(dict.fromkeys(sizes)), len(names), seed)]
    possible = [c for c in combinations if all(s >= 0 for shape in arguments.sizes(c) for s in shape)]
    if not possible:
        raise UsageError("no size in --sizes makes all of --shapes at least 0")
    yield from possible


def _choices(sizes: Sequence[int], count: int, seed: int) -> Iterator[tuple[int, ...]]:
    if len(sizes) ** count <= _MOST:
        yield from itertools.product(sizes, repeat=count)
        return
    yield from ((s,) * count for s in sizes)
    rng = np.random.default_rng(seed)
    yield from dict.fromkeys(tuple(rng.choice(sizes, count).tolist()) for _ in range(_MOST - len(sizes)))


def named_sizes(arguments: Arguments, text: str) -> dict[str, int]:
    """Return the sizes of "n=200, d=64", or of one number for all."""
    numbers, names = _numbers_by_name(text), arguments.names
    if (unknown := next(iter(numbers.keys() - {"", *names}), None)) is not None:
        raise UsageError(f"--sizes gives {unknown!r}; the unknown sizes are {', '.join(names) or 'none'}")
    sizes = {name: numbers.get(name, numbers.get("", -1)) for name in names}
    if (missing := next((name for name, size in sizes.items() if size < 0), None)) is not None:
        raise UsageError(f"--sizes does not give {missing}; give it as {missing}=100, or one number for all")
    if any(size < 0 for shape in arguments.sizes(sizes) for size in shape):
        raise UsageError(f"--sizes is {text!r}, which makes a size of --shapes negative")
    return sizes


def _numbers_by_name(text: str) -> dict[str, int]:
    """Return the numbers by name; a number for all has an empty name."""
    numbers: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        if (name := name.strip()) in numbers:
            twice = f"gives {name} twice" if name else "gives more than one number for all"
            raise UsageError(f"--sizes is {text!r}, which {twice}; give each size once, as n=200, d=64")
        try:
            numbers[name] = int(number)
        except ValueError:  # only int knows what it takes: "3²" is of digits, and 5,000 digits are too many
            numbers[name] = -1
        if numbers[name] < 0:
            raise UsageError(f"--sizes is {text!r}; give n=200, d=64 with numbers of at least 0, or one number for all")
    return numbers


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, domain: Sequence[float]) -> np.ndarray:
    """Return random values: floats of the interval, small integers, or booleans."""
    if dtype.kind in "iu":
        return rng.integers(0, 4, shape).astype(dtype)
    low, high = domain
    values = rng.uniform(low, high, shape)
    if dtype.kind == "b":
        return np.asarray(values > (low + high) / 2)
    return np.asarray(values + 1j * rng.uniform(low, high, shape) if dtype.kind == "c" else values).astype(dtype)


def shown(sizes: dict[str, int]) -> str:
    """Return sizes as `n=2, m=5`."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items()) or "fixed"
