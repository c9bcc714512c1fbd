"""Find the lines of the user's program on the stack: the innermost one, and its callers within a trace."""

import dis
import functools
import inspect
import itertools
import os
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import AnyshapeWarning, FixedSizeWarning, UnrolledLoopWarning
from anyshape.errors.messages import is_cell, line_text
from anyshape.graph.prover.constraints import SourceLine
from anyshape.support.packages import folders

REPEATS = 64  # of an expression, up to which nothing is said
_FEW = 16  # evaluations of an expression before its callers are looked at
_MANY = 1024  # evaluations of an expression from which on its callers are no longer looked at
_HANDLER, _WITH = dis.opmap["PUSH_EXC_INFO"], dis.opmap["WITH_EXCEPT_START"]
_DEEPEST = 200  # numbers of a path, two for each caller: a deep recursion is not walked to its end for each operation
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR  # flags of code
_ADVICE = "anyshape.scan or fori_loop makes trips that are alike one program, for any number of them"
_PACKAGE = os.path.abspath(os.path.join(os.path.realpath(__file__), *[os.pardir] * 3))
_DEMO = f"{_PACKAGE}/demo"  # counts as code of a user
_OPTREE, _SCIPY = folders("optree"), folders("scipy")  # neither is loaded yet
_FOLDERS = (_PACKAGE, *np.__path__, *_SCIPY, *_OPTREE)
_STANDARD = os.path.dirname(os.__file__)  # packages may be installed below it
_INSTALLED = ("site-packages", "dist-packages")  # folders of packages, the second one in Debian
_OTHERS = frozenset((  # packages that compute or draw by machine code: their lines say nothing of a mistake
    "cv2", "dask", "h5py", "jax", "jaxlib", "matplotlib", "mpl_toolkits", "numba", "pandas", "PIL", "plotly", "polars",
    "pyarrow", "seaborn", "skimage", "sklearn", "statsmodels", "sympy", "tensorflow", "torch", "tqdm", "xarray",
))  # fmt: skip
_FOREIGN = (*_FOLDERS, _STANDARD, "<frozen ", "<__array_function__", "<anyshape")
_LIBRARY = (_PACKAGE, *_OPTREE, "<anyshape", "<string>")  # the last one of generated methods, and of users
USER_LINE = "_user_line"  # global of generated code: a function from code and an offset to a line of the user
_MODULES: dict[str, str] = {}  # names of the modules of users that were met, by file
_FOREIGN_FILES: set[str] = set()  # files in these folders that were met: each op of a trace looks for its line
_USER_FILES: set[str] = set()  # other files that were met
_TRACERS: set[CodeType] = set()  # functions that call the function of the user that is traced
_CALLERS: set[CodeType] = set()  # functions that call functions of the user

F = TypeVar("F", bound=Callable[..., Any])


def calls_traced_function(tracer: F) -> F:
    """Mark a function that calls the user's function in order to trace it: callers of it are not part of the trace."""
    _TRACERS.add(tracer.__code__)
    return calls_user_function(tracer)


def is_tracer(frame: FrameType) -> bool:
    """Return whether a frame calls the function of the user that is traced."""
    return frame.f_code in _TRACERS


def calls_user_function(caller: F) -> F:
    """Mark a function that calls one of the user: a call with wrong arguments is an error that it raises."""
    _CALLERS.add(caller.__code__)
    return caller


def user_frame() -> FrameType | None:
    """Return the innermost frame on the stack outside of anyshape, NumPy, SciPy and the standard library."""
    return calling_frames(sys._getframe(1))[0]


def name_of(x: object) -> str:
    """Return the name that the user's function has for an object, "" if it has none of its own."""
    frame = user_frame()
    if frame is None:
        return ""
    code = frame.f_code
    known = {**{name: frame.f_globals.get(name) for name in code.co_names}, **frame.f_locals}
    return next((name for name, value in known.items() if value is x), "")


def calling_frames(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """Return the innermost frame of the user from a frame on, and the frame that it called, None if it is first."""
    callee, foreign = None, _FOREIGN_FILES
    while frame is not None:
        file = frame.f_code.co_filename
        if file not in foreign and USER_LINE not in frame.f_globals and (file in _USER_FILES or is_user_frame(frame)):
            return frame, callee
        callee = frame
        frame = frame.f_back
    return None, callee


def traced_frames(frame: FrameType | None) -> list[FrameType]:
    """Return the frames from one on to the function that is traced."""
    frames: list[FrameType] = []
    while frame is not None and frame.f_code not in _TRACERS:
        frames.append(frame)
        frame = frame.f_back
    return frames


def line_of(frame: FrameType, path: tuple[SourceLine, ...] = ()) -> SourceLine:
    """Return the line that a frame of the user is at."""
    code = frame.f_code
    return SourceLine(code.co_filename, frame.f_lineno, code.co_name, code, frame.f_lasti, (), path)


def is_generated(frame: FrameType) -> bool:
    """Return whether a frame runs generated code, which stands at lines of the user."""
    return USER_LINE in frame.f_globals


def module_of(file: str) -> str:
    """Return the name of the module of a file, which filters of warnings match."""
    return _MODULES.get(file) or os.path.splitext(os.path.basename(file))[0] or "<unknown>"


def is_user_frame(frame: FrameType) -> bool:
    """Return whether a frame runs code outside of anyshape, NumPy, SciPy and the standard library."""
    if (file := frame.f_code.co_filename) in _FOREIGN_FILES or USER_LINE in frame.f_globals:
        return False
    if file in _USER_FILES:
        return True
    generated = file == "<string>" and str(frame.f_globals.get("__name__")).startswith("anyshape.")
    is_foreign = generated or _is_foreign_file(file)
    if not is_foreign:
        _MODULES[file] = str(frame.f_globals.get("__name__"))
    if not file.startswith("<"):
        (_FOREIGN_FILES if is_foreign else _USER_FILES).add(file)
    return not is_foreign


def is_user_file(file: str, module_globals: Mapping[str, Any]) -> bool:
    """Return whether a file is of the user's own code, not of an installed package."""
    generated = file == "<string>" and str(module_globals.get("__name__")).startswith("anyshape.")
    return not (generated or _is_foreign_file(file) or package_of(file))


def is_read_file(file: str, module_globals: Mapping[str, Any]) -> bool:
    """Return whether a trace reads functions of a file: of users, or of packages for any namespace."""
    return is_user_file(file, module_globals) or _takes_namespaces(package_of(file))


@functools.lru_cache(maxsize=256)
def _takes_namespaces(package: str) -> bool:
    """Return whether a package, other than NumPy and SciPy, asks arrays for their namespace of the Array API."""
    modules = [] if package in ("", "numpy", "scipy") else list(sys.modules.items())
    return any(name.partition(".")[0] == package and "array_namespace" in vars(module) for name, module in modules)


@functools.lru_cache(maxsize=1024)
def _is_foreign_file(file: str) -> bool:
    """Return whether a file is of anyshape, NumPy, SciPy, Python or another package that has no code of users."""
    is_foreign = file.startswith(_FOREIGN) and not file.startswith(_DEMO)
    if is_foreign and file.startswith(_STANDARD) and not file.startswith(_FOLDERS):
        is_foreign = not any(p in file for p in _INSTALLED)
    return is_foreign or package_of(file) in _OTHERS


def package_of(file: str) -> str:
    """Return the name of the installed package that a file belongs to, "" for files that are not installed."""
    for folder in _INSTALLED:
        _, is_installed, path = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if is_installed:
            return path.partition(os.sep)[0]
    return ""


def is_library_frame(frame: FrameType) -> bool:
    """Return whether a frame runs code of anyshape, code that it generated, or optree."""
    file = frame.f_code.co_filename
    return is_generated(frame) or (file.startswith(_LIBRARY) and not is_user_frame(frame))


def is_of_other_package(frame: FrameType) -> bool:
    """Return whether a frame runs code of an installed package that knows nothing of traced values."""
    return package_of(frame.f_code.co_filename) in _OTHERS


def is_caller_of_user(frame: FrameType) -> bool:
    """Return whether a frame runs a function that calls functions of the user."""
    return frame.f_code in _CALLERS


def is_in_try(frame: FrameType | None) -> bool:
    """Return whether code that is traced now, from a frame on, handles exceptions."""
    is_found = False
    while frame is not None:
        if is_tracer(frame) and is_found:
            return True
        is_found = is_found or (is_user_frame(frame) and handles(frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return False


def handles(code: CodeType, offset: int) -> bool:
    """Return whether an instruction stands in a `try` statement, or in a `with` that may end an exception."""
    if not code.co_exceptiontable:
        return False
    targets = [e.target for e in dis._parse_exception_table(code) if e.start <= offset < e.end]  # type: ignore[attr-defined]
    handlers = [t for t in targets if code.co_code[t] == _HANDLER]  # others clean up
    return any(code.co_code[t + 2] != _WITH or not _is_errstate(code, t) for t in handlers)


def _is_errstate(code: CodeType, handler: int) -> bool:
    """Return whether the `with` statement of a handler enters nothing but `np.errstate`, which ends no exception."""
    steps = [*dis.get_instructions(code)]
    span = next(s.positions for s in steps if s.offset == handler)
    entries = [k for k, s in enumerate(steps) if s.opname == "BEFORE_WITH" and s.positions == span]
    return bool(entries) and all(_names_errstate(steps[k - 1 :: -1], _begin(span)) for k in entries)


def _names_errstate(steps: list[dis.Instruction], begin: tuple[int, int]) -> bool:
    """Return whether the head of a `with` that begins there names `errstate`; the last instructions come first."""
    head = itertools.takewhile(lambda s: s.opname != "BEFORE_WITH" and _begin(s.positions) >= begin, steps)
    return any(s.argval == "errstate" for s in head)


def _begin(positions: Any) -> tuple[int, int]:
    return positions.lineno or 0, positions.col_offset or 0


def user_line() -> SourceLine | None:
    """Return the line of `user_frame`."""
    frame = user_frame()
    return None if frame is None else line_of(frame)


def with_callers(where: SourceLine | None) -> SourceLine | None:
    """Return the line with the lines that called it, up to the traced function; as it is if it is not on the stack."""
    lines: list[SourceLine] = []
    inside: CodeType | None = None
    traced = 0
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _TRACERS:
            traced = len(lines)
        elif frame.f_code.co_filename not in _FOREIGN_FILES and is_user_frame(frame):
            if not _is_part(inside, frame.f_code):
                lines.append(SourceLine(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
            inside = frame.f_code
        frame = frame.f_back
    is_innermost = where is not None and traced > 1 and lines[0] == where
    return where.called_from(lines[1:traced]) if is_innermost and where is not None else where


def _is_part(inside: CodeType | None, code: CodeType) -> bool:
    """Return whether code is the body of a loop or a branch of a function that is read."""
    return inside is not None and inside.co_name == code.co_name and any(x is inside for x in code.co_consts)


# -- warnings ------------------------------------------------------------------------------------------------------

_TOLD: set[tuple[type[Warning], str, int]] = set()  # kinds of warnings, with the files and lines that had them
CAPTURED = "captured "  # before the path of an array that is an argument although no call passes it


def tell(text: str, category: type[AnyshapeWarning], where: SourceLine | None) -> None:
    """Warn at a line of the user, once for each category, unless Python's filters ask for all warnings or for errors.

    Python's own memory of what it has shown ends wherever code calls `warnings.catch_warnings`, as SciPy's does.
    """
    if where is None:
        warnings.warn(text, category, stacklevel=3)
        return
    text = f"{where}: {text}" if is_cell(where.file) else text  # Python names the file of a cell
    module, line = module_of(where.file), (category, where.file, where.line)
    if _action(text, category, module, where.line) in ("default", "module", "once"):
        if line in _TOLD:
            return
        _TOLD.add(line)
    warnings.warn_explicit(text, category, where.file, where.line, module, {})


def _action(text: str, category: type[Warning], module: str, line: int) -> str:
    """Return what Python's filters do with a warning."""
    for action, message, kind, name, number in warnings.filters:
        is_meant = issubclass(category, kind) and number in (0, line) and (name is None or name.match(module))
        if is_meant and (message is None or message.match(text)):
            return action
    return "default"


def tell_of_fixed_size(size: str, where: SourceLine | None) -> None:
    """Warn that each value of a size will have a trace of its own.

    Captured arrays are left out: their sizes would be constants of the program otherwise.
    """
    if size.startswith(CAPTURED):
        return
    advice = "functions of `import anyshape.numpy as np` take sizes as they are, as in np.zeros(x.shape)"
    asked = re.fullmatch(r"len\((\w[\w.]*)\)", "" if where is None else where.expression)
    if asked is not None and f"range({asked[0]}" not in line_text(where):
        advice = f"Python's len gives an int: write {asked[1]}.shape[0], which may be any size"
    text = f"Python needs the value of the size {size}, so each value is traced separately ({advice})"
    tell(text, FixedSizeWarning, where)


# -- repeated lines ----------------------------------------------------------------------------------------------


class RepeatedLines:
    """Counts how often a trace evaluates each expression of the user, and says once where a Python loop is unrolled.

    An expression is a position in code. It is evaluated anew where the function that it calls has a new frame: so the
    many operations of one `np.stack` count once. Positions that occur often are counted by their callers too. Else a
    function that a program calls in many places would look like a loop.
    """

    def __init__(self) -> None:
        self.counts: dict[tuple[int, int], int] = {}
        self.by_callers: dict[tuple[int, ...], int] = {}
        self.frame: FrameType | None = None  # of the last operation
        self.callee: FrameType | None = None  # that this frame called
        self.path: tuple[SourceLine, ...] = ()  # of calls of this frame
        self.known: dict[tuple[int, int], SourceLine] = {}  # by position; a line keeps its code alive, and so the id
        self.paths: dict[tuple[int, ...], tuple[SourceLine, ...]] = {}  # by positions, which keep code alive too
        self.named: set[object] = set()  # functions and lines that were named: a loop has many lines

    def line(self) -> SourceLine | None:
        """Return the line of the user's program that is evaluated, and count it."""
        frame, callee = calling_frames(sys._getframe(3))  # behind the builder, which alone asks
        if frame is None:
            return None
        if frame is not self.frame:  # a frame that runs has the callers that it had, unless it was resumed
            self.frame = None if frame.f_code.co_flags & _RESUMED else frame
            self.path = self._path(frame)
        key, path = (id(frame.f_code), frame.f_lasti), self.path
        where = self.known.get(key)
        if where is None or where.path is not path:
            where = self._learn(key, frame, path)
        if callee is not self.callee:
            self.callee = callee
            count = self.counts[key] = self.counts.get(key, 0) + 1
            if _FEW < count < _MANY and self._repeats(frame):
                self.counts[key] = _MANY
                self._name(where)
        return where

    def uncounted(self) -> SourceLine | None:
        """Return the line of the user's program that is evaluated, for checks before the operation that counts it."""
        if (frame := calling_frames(sys._getframe(2))[0]) is None:
            return None
        key = id(frame.f_code), frame.f_lasti
        return self.known.get(key) or self._learn(key, frame)

    def _learn(self, key: tuple[int, int], frame: FrameType, path: tuple[SourceLine, ...] = ()) -> SourceLine:
        """Return the line that a frame is at, and keep it: a position is met again with each operation of it."""
        where = self.known[key] = line_of(frame, path)
        return where

    def _path(self, frame: FrameType) -> tuple[SourceLine, ...]:
        """Return the lines that called a frame, outermost first: the same tuple for the same positions."""
        positions: list[int] = []
        caller = frame.f_back
        while caller is not None and caller.f_code not in _TRACERS and len(positions) < _DEEPEST:
            positions += (id(caller.f_code), caller.f_lasti)
            caller = caller.f_back
        key = tuple(positions)
        path = self.paths.get(key)
        if path is None:
            callers = traced_frames(frame)[1 : 1 + _DEEPEST // 2]
            frames = [frame, *[f for f in callers if is_user_frame(f)]]
            lines = [line_of(f) for inner, f in itertools.pairwise(frames)
                     if inner.f_code.co_name != f.f_code.co_name or not _is_part(inner.f_code, f.f_code)]  # fmt: skip
            path = self.paths[key] = tuple(lines[::-1])
        return path

    def forget_frame(self) -> None:
        """Let go of the last frames, which hold arrays of the user."""
        self.frame = self.callee = None

    def _repeats(self, frame: FrameType) -> bool:
        """Count a position with its callers, and return whether these repeat."""
        callers = tuple([number for f in traced_frames(frame) for number in (id(f.f_code), f.f_lasti)])
        repeats = self.by_callers[callers] = self.by_callers.get(callers, 0) + 1
        return repeats > REPEATS - _FEW

    def _name(self, where: SourceLine) -> None:
        """Name a line that repeats, unless it or another line of its function was named."""
        names = {id(where.code), (where.file, where.line)}
        if names.isdisjoint(self.named):
            repeated = f"`{where.expression}`" if where.expression else "a line"
            text = f"a Python loop repeats {repeated} more than {REPEATS} times in one trace\n  {_ADVICE}"
            tell(text, UnrolledLoopWarning, where)
        self.named |= names
