"""Generated code that stands at lines of the user: NumPy's warnings name the file and line of the code that runs.

So a warning costs a call nothing, and NumPy's error modes, filters and "once per line" are NumPy's and Python's own.
Errors still need the line of the generated source. The code as it was compiled has it for each instruction.

Functions of a generated file that are compiled at their first call, each by itself.

A call runs the tiles of a group or its steps one by one, so half of the functions are never called. Lines keep the
numbers that they have in the whole file.

Errors of a running plan, translated: they name the user's expression and line.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CodeType, FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.plan import Plan, Step
from anyshape.backend.runtime.outcome import registry_of
from anyshape.errors import (
    AnyshapeError,
    IndexRangeError,
    MetadataError,
    RunError,
    RunFloatingPointError,
    RunLinAlgError,
    RunMemoryError,
    RunOverflowError,
    RunZeroDivisionError,
    ShapeError,
    messages,
)
from anyshape.graph.ir.graph import applies
from anyshape.graph.ir.tracebacks import raised_at
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import USER_LINE, module_of
from anyshape.graph.shapes.array_type import Exact, TensorMeta, UpperBound
from anyshape.ops.control import EXAMPLE, raise_op
from anyshape.support.lazy_dataclass import dataclass

_NO_COLUMNS, _NO_LINE = 13, 15  # kinds of entries of a table of lines, in CPython from 3.11 on
_MAX_UNITS = 8  # code units that an entry covers
_KERNELS = "anyshape.backend.numpy."
_HELPERS = ("anyshape.backend.runtime.short_rows", "anyshape.backend.runtime.thread_pool")  # of kernels
_SILENT = frozenset(  # modules of kernels that warn of nothing, or run functions of users
    f"{_KERNELS}{name}"
    for name in (
        "callback", "control", "control_flow", "creation", "custom_rules", "dynamic", "gathering", "indexing",
        "loops", "movement", "random", "reruns", "sorting",
    )
)  # fmt: skip
# functions of NumPy in Python, where warnings have lines of NumPy
_OF_NUMPY: dict[int, Any] = {id(f): f for f in (np.linalg.det, np.linalg.slogdet, np.sinc)}
_WRITTEN = frozenset(f._implementation for f in _OF_NUMPY.values())


def file_of_steps(plan: Plan) -> str | None:
    """Return the file of the user where most steps of a plan stand, None if no step has a line."""
    steps = [*plan.hoisted, *(step for _, steps in plan.parts() for step in steps)]
    files = Counter([step.where.file for step in steps if step.where is not None])
    return max(files, key=files.__getitem__) if files else None


class UserLines:
    """Lines of generated source, each with the line of the user that it computes.

    - `first_lines`: the line of the source at which each step begins, in order.
    - `file`: the file of the user whose lines the code gets. Steps of other files get the line that led to them.
    """

    def __init__(self, first_lines: Sequence[tuple[int, Step]], file: str | None) -> None:
        self.starts: list[int] = [line for line, _ in first_lines]
        self.steps: list[Step] = [step for _, step in first_lines]
        self.file = file
        self.compiled: dict[CodeType, CodeType] = {}  # the code as it was compiled, by the code that runs
        lines = [_line_in(file, step.where) for step in self.steps]
        first = next((line for line in lines if line is not None), 1)
        self.lines: list[int] = [first if line is None else line for line in (first, *lines)]
        self.first: int = self._first_line_of_function(first)

    def _first_line_of_function(self, line: int) -> int:
        """Return the first line of the user's function that a line stands in, or the line itself."""
        of_steps = [step.where for step in self.steps if step.where is not None]
        codes = [w.code for where in of_steps for w in (*where.path, where) if (w.file, w.line) == (self.file, line)]
        return next((code.co_firstlineno for code in codes if code is not None), line)

    def names(self) -> dict[str, Any]:
        """Return what generated code has in its scope for Python's warnings."""
        names: dict[str, Any] = {USER_LINE: self.user_line}
        if self.file is not None:
            names |= {"__name__": module_of(self.file), "__warningregistry__": registry_of(self.file)}
        return names

    def placed(self, code: CodeType, generated: Generated, shift: int) -> CodeType:
        """Return code that stands at lines of the user; its text begins `shift` lines below the first of the source."""
        code = _moved(code, generated.file, shift)
        if self.file is None:
            return code
        placed = self._with_lines(code, self.file, generated.title)
        self._remember(placed, code)
        return placed

    def _with_lines(self, code: CodeType, file: str, title: str) -> CodeType:
        """Return code that stands in a file of the user, each of its lines at the user's."""
        constants = [self._with_lines(c, file, title) if isinstance(c, CodeType) else c for c in code.co_consts]
        table, name = _line_table(self._ranges(code), self.first), title or "plan"
        code = code.replace(co_filename=file, co_firstlineno=self.first, co_linetable=table)
        return code.replace(co_consts=tuple(constants), co_name=name, co_qualname=name)

    def _ranges(self, code: CodeType) -> Iterator[tuple[int, int | None]]:
        """Yield numbers of code units, each with their new line; neighbours of the same line are one range."""
        units, latest, lines, starts = 0, None, self.lines, self.starts
        for start, end, line in code.co_lines():
            new = None if line is None else lines[bisect_right(starts, line)]
            if new != latest and units:
                yield units, latest
                units = 0
            units, latest = units + (end - start >> 1), new
        if units:
            yield units, latest

    def _remember(self, placed: CodeType, code: CodeType) -> None:
        self.compiled[placed] = code
        for inner, original in zip(_inner(placed), _inner(code), strict=True):
            self._remember(inner, original)

    def source_line(self, code: CodeType, offset: int) -> int:
        """Return the line of the generated source at an offset of code that runs."""
        ranges = self.compiled.get(code, code).co_lines()
        return next((line for start, end, line in ranges if start <= offset < end and line is not None), 0)

    def user_line(self, code: CodeType, offset: int) -> SourceLine | None:
        """Return the line of the user that code computes at an offset, None if it has none."""
        position = bisect_right(self.starts, self.source_line(code, offset)) - 1
        return self.steps[position].where if position >= 0 else None


def _line_in(file: str | None, where: SourceLine | None) -> int | None:
    """Return the innermost line in a file that led to a line, None if there is none."""
    lines = () if where is None else (*where.path, where)
    return next((line.line for line in reversed(lines) if line.file == file), None)


class PlacedKernels:
    """Kernels of a plan whose warnings name lines of the user; steps of the same line share them.

    `file` is the file that the code of the plan stands in.
    """

    def __init__(self, file: str | None) -> None:
        self.file = file
        self.copies: dict[tuple[str, int, str], _Copies] = {}

    def at(self, function: Any, where: SourceLine | None) -> Any:
        """Return a kernel whose warnings name a line."""
        if where is None:
            return function
        if isinstance(function, functools.partial):
            placed = self.at(function.func, where)
            same = placed is function.func
            return function if same else functools.partial(placed, *function.args, **function.keywords)
        if isinstance(function := _written(function), FunctionType):
            return self._copies(where).of(function) if _may_warn(function) else function
        return function if where.file == self.file else self._copies(where).forwarding(function)

    def _copies(self, where: SourceLine) -> _Copies:
        key = where.file, where.line, where.function
        copies = self.copies.get(key)
        if copies is None:
            copies = self.copies[key] = _Copies(where)
        return copies


def _written(function):
    """Return the function in Python that a function of NumPy calls, where that one warns; others as they are."""
    return getattr(function, "_implementation", function) if id(function) in _OF_NUMPY else function


def _may_warn(function: FunctionType) -> bool:
    """Return whether a function is of a kernel that may warn."""
    if function in _WRITTEN:
        return True
    module = function.__module__
    return module in _HELPERS or (module.startswith(_KERNELS) and module not in _SILENT)


def _forwarding(function: Callable[..., Any]) -> Callable[..., Any]:
    def forward(*operands, **params):
        return function(*operands, **params)

    return forward


class _Copies:
    """Copies of kernels, and of the functions of their modules that they call, with one line of the user for all."""

    def __init__(self, where: SourceLine) -> None:
        self.where = where
        self.copies: dict[FunctionType, FunctionType] = {}

    def of(self, function: FunctionType) -> FunctionType:
        """Return the copy of a function."""
        copy = self.copies.get(function)
        if copy is None:
            names = _names_read(function)
            copied = {name: value for name, value in names.items() if _is_copied(value)}
            copy = self.copies[function] = self._copy(function, names)
            names.update({name: self._value(value) for name, value in copied.items()})
        return copy

    def forwarding(self, function: Any) -> FunctionType:
        """Return a function that calls another one."""
        forward: Any = _forwarding(function)
        return self._copy(forward, _names_read(forward))

    def _copy(self, function: FunctionType, names: dict[str, Any]) -> FunctionType:
        """Return the function with other globals, and the line of the user as its line."""
        where = self.where
        code = _at_line(_flat(function.__code__), where)
        names[USER_LINE] = lambda code, offset: where
        names["__name__"] = module_of(where.file)
        names["__warningregistry__"] = registry_of(where.file)
        copy = FunctionType(code, names, function.__name__, function.__defaults__, function.__closure__)
        copy.__kwdefaults__ = function.__kwdefaults__
        return copy

    def _value(self, value):
        """Return the copy of a function, or of the functions of a module of helpers; others as they are."""
        if not _is_copied(value):
            return value
        if isinstance(value := _written(value), FunctionType):
            return self.of(value)
        return SimpleNamespace(**{name: self._value(v) for name, v in vars(value).items()})


def _is_copied(value) -> bool:
    """Return whether a global of a kernel is copied with it."""
    if isinstance(value, FunctionType):
        return _may_warn(value)
    return id(value) in _OF_NUMPY or (isinstance(value, ModuleType) and value.__name__ in _HELPERS)


@functools.cache
def _names_read_by(code: CodeType) -> frozenset[str]:
    """Return the names that code may read from its globals, also in functions within it."""
    return frozenset(code.co_names).union(*map(_names_read_by, _inner(code)))


def _names_read(function: FunctionType) -> dict[str, Any]:
    """Return the globals that a function reads."""
    names = function.__globals__
    read = {name: names[name] for name in _names_read_by(function.__code__) if name in names}
    read["__builtins__"] = names["__builtins__"]
    return read


# -- code objects ------------------------------------------------------------------------------------------------


def _inner(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if isinstance(c, CodeType)]


def _moved(code: CodeType, file: str, lines: int) -> CodeType:
    """Return code that stands in a file, so many lines further down."""
    constants = tuple([_moved(c, file, lines) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_filename=file, co_firstlineno=code.co_firstlineno + lines, co_consts=constants)


@functools.cache
def _flat(code: CodeType) -> CodeType:
    """Return code that stands in its first line alone."""
    return code.replace(co_linetable=_line_table([(len(code.co_code) >> 1, 0)], 0))


def _at_line(code: CodeType, where: SourceLine) -> CodeType:
    """Return flat code at a line of the user."""
    if inner := _inner(code):
        constants = [_at_line(_flat(c), where) if c in inner else c for c in code.co_consts]
        code = code.replace(co_consts=tuple(constants))
    return code.replace(co_filename=where.file, co_firstlineno=where.line, co_name=where.function or code.co_name)


def _line_table(ranges: Iterable[tuple[int, int | None]], first: int) -> bytes:
    """Return the table of lines of code: a range is a number of code units and their line."""
    table, latest = bytearray(), first
    for units, line in ranges:
        kind, change, same = _NO_LINE, b"", b""
        if line is not None:
            kind, change, same = _NO_COLUMNS, _signed(line - latest), b"\0"
            latest = line
        whole, rest = divmod(units - 1, _MAX_UNITS)
        table += bytes((0x80 | kind << 3 | rest,)) + change
        table += (bytes((0x80 | kind << 3 | _MAX_UNITS - 1,)) + same) * whole
    return bytes(table)


@functools.lru_cache(1 << 10)
def _signed(number: int) -> bytes:
    """Return a signed number in groups of six bits, the lowest first."""
    rest = -number << 1 | 1 if number < 0 else number << 1
    groups = [rest & 0x3F]
    while rest := rest >> 6:
        groups[-1] |= 0x40
        groups.append(rest & 0x3F)
    return bytes(groups)


@dataclass(frozen=True)
class Generated:
    """Name of a generated file, with the lines of the user that its code stands at, and the title of the code there."""

    file: str
    lines: UserLines
    title: str


def define(text: str, generated: Generated, line: int, namespace: dict[str, Any]) -> None:
    """Define a function, whose text begins at a line of the file, to be compiled at its first call.

    Who holds what stands for it until then calls the compiled function through it.
    """
    name = text[len("def ") : text.index("(")]

    def run(*arguments):
        if namespace[name] is run:
            namespace[name] = compiled(text, generated, line, namespace)
        return namespace[name](*arguments)

    namespace[name] = run


def compiled(text: str, generated: Generated, line: int, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Return the function with this text, which begins at a line of the file."""
    scope: dict[str, Any] = {}
    exec(code_of(text), namespace, scope)
    (function,) = scope.values()
    function.__code__ = generated.lines.placed(function.__code__, generated, line - 1)
    return function


@functools.lru_cache(256)
def code_of(text: str) -> CodeType:
    """Return compiled text; small programs and the readers of arguments of many functions have the same texts."""
    return compile(text, "<anyshape>", "exec")


_TRANSLATIONS: tuple[tuple[type[Exception], type[RunError], str], ...] = (
    (FloatingPointError, RunFloatingPointError, "mask such elements with np.where, or let np.errstate ignore them"),
    (ZeroDivisionError, RunZeroDivisionError, "mask zeros with np.where"),
    (np.linalg.LinAlgError, RunLinAlgError, "check the matrix before, or add a small multiple of the identity to it"),
    (OverflowError, RunOverflowError, "use smaller numbers, or floats"),
    (MemoryError, RunMemoryError, "call it with smaller arrays, or in parts; jit(max_bytes=...) refuses such calls"),
)


_IN_LOOP = r"# trips? (\S+?)(?: to (\S+?))?( of a block)?$"  # ends the line that begins a loop


def trip_mark(number: str, end: str = "", *, of_block: bool = False) -> str:
    """Return the comment of a line that begins a loop: the local of the trip, or two, between which a block is."""
    return f"  # trips {number} to {end}" if end else f"  # trip {number}{' of a block' if of_block else ''}"


def error_translator(lines: UserLines, source: str, names: dict[str, Any]) -> Callable[[Exception], Exception]:
    """Return a function from an error in a generated function to the error to raise.

    `names` is the scope of the function. Errors of anyshape and of functions of the user stay as they are, and so does
    any error outside of NumPy's and Python's arithmetic.
    """

    def translate(error: Exception) -> Exception:
        running = _running_lines(error, lines, names)
        trips = _trips(running, source)
        position = bisect_right(lines.starts, running[-1][1] if running else 0) - 1
        result = error if position < 0 else _translated(error, lines.steps[position], trips)
        if isinstance(result, AnyshapeError):
            result.locate_in_loops(trips)
        return result

    return translate


def _running_lines(error: Exception, lines: UserLines, names: dict[str, Any]) -> list[tuple[FrameType, int]]:
    """Return the frames of a generated function and of its chunks that were running, each with its line.

    A function of the user that it has called may have called it again.
    """
    traceback, running = error.__traceback__, list[tuple[FrameType, int]]()
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_globals is names:
            if running and frame.f_code is running[0][0].f_code:
                break
            running.append((frame, lines.source_line(frame.f_code, traceback.tb_lasti)))
        traceback = traceback.tb_next
    return running


def _trips(running: Sequence[tuple[FrameType, int]], source: str) -> tuple[int | range, ...]:
    """Return the trips of loops that were running, the innermost first. A trip stands for its block."""
    trips: list[int | range] = []
    in_trip = False
    for frame, line in _begun_loops(running, source.split("\n")):
        if (mark := re.search(_IN_LOOP, line)) is None:
            continue
        first, *end = [_local(frame, name) for name in mark.groups()[:2] if name is not None]
        if not (end and in_trip):
            trips.append(range(first, *end) if end else first)
        in_trip = mark[3] is not None
    return tuple(trips)


def _begun_loops(running: Sequence[tuple[FrameType, int]], lines: Sequence[str]) -> Iterator[tuple[FrameType, str]]:
    """Yield the lines that begin the blocks in which these lines stand, each with its frame, the innermost first."""
    for frame, number in reversed(running):
        indent = _indent(lines[number - 1])
        for line in reversed(lines[: number - 1]):
            if _indent(line) < indent:
                indent = _indent(line)
                yield frame, line
            if not indent:
                break


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _local(frame: FrameType, name: str) -> int:
    """Return a local of a generated function. Chunks share theirs in a list: `_values[3]`."""
    local, _, position = name.rstrip("]").partition("[")
    value = frame.f_locals[local]
    return int(value[int(position)] if position else value)


def _translated(error: Exception, step: Step, trips: tuple[int | range, ...]) -> Exception:
    if isinstance(error, AnyshapeError):
        error.locate(step.where)
        return error
    if step.op is raise_op:
        return _of_user(error, step, trips)
    name = (step.fallback[-1] if step.fallback else step).op.name  # a view stands for movement that the user wrote
    is_users = applies(step, lambda op: TRAITS[op].runs_user_code or op is raise_op)
    translation = None if is_users else _translation(error, name, step.where)
    if translation is None:
        at = f" at {step.where}" if step.where is not None else ""
        error.add_note(f"raised by {name}{at}{messages.in_trips(trips)} in an anyshape program")
        return error
    translation.__cause__ = error
    return translation


def _of_user(error: Exception, step: Step, trips: tuple[int | range, ...]) -> Exception:
    """Return an exception that the user's function raises, at its line, with a note of the trips."""
    example = vars(error).pop(EXAMPLE, None)
    if trips and isinstance(trips[0], range) and example is not None:  # of a block
        trips = trips[0][example], *trips[1:]
    if trips:
        error.add_note(f"raised at {step.where}{messages.in_trips(trips)} in an anyshape program")
    return raised_at(error, step.where)


def _translation(error: Exception, name: str, where: SourceLine | None) -> AnyshapeError | None:
    why = str(error).rstrip(".") or type(error).__name__
    if type(error) is IndexError:
        return ShapeError(name, why, (), where, IndexRangeError.advice)
    if type(error) is ValueError:
        return ShapeError(name, why, (), where)
    for kind, run_error, advice in _TRANSLATIONS:
        if isinstance(error, kind):
            return run_error(name, why, advice, where)
    return None


def verify(value: Any, slot: str, meta: TensorMeta, bounds: tuple[int | None, ...], where: Any) -> None:
    """Check law 2, under ANYSHAPE_CHECK=1: rank, dtype and extents of a value are as its metadata promise."""
    shape, dtype = np.shape(value), np.asarray(value).dtype
    fits = len(shape) == meta.rank and dtype == meta.dtype
    for extent, size, bound in zip(meta.extents, shape, bounds, strict=False):
        if isinstance(extent, Exact):
            fits &= size == bound
        elif isinstance(extent, UpperBound):
            fits &= bound is not None and size <= bound
    if not fits:
        raise MetadataError(slot, f"{meta} with sizes {bounds}", f"{dtype}{list(shape)}", where)
