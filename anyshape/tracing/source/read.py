"""Read functions of users: what a trace runs in their place, and which of their loops it keeps.

A trace that reads functions has a session. It holds which loops stay as they are written. A loop whose kept form means
something else ends the trace, which then starts again without it.
"""

from __future__ import annotations

import dis
import functools
import inspect
import operator
import sys
import threading
import types
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import AnyshapeError, ConcretizationError
from anyshape.errors.messages import line_text
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import is_read_file, is_user_file
from anyshape.ops.subgraph_call import RUNTIME, code_that_is_read
from anyshape.support.packages import source_find, source_rebuild, source_rewrite
from anyshape.support.true_types import has_type
from anyshape.tracing.source.stepping import may_stop_in
from anyshape.tracing.source.stored import store, stored

_Function = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])
_READ: dict[tuple[types.CodeType, str, str], types.CodeType | str] = {}  # or why code is run as it is written
_MADE: dict[int, types.CodeType] = {}  # the code that code was rewritten from, by its id; `_READ` keeps both
# loops, and lists, which functions of NumPy may take that see no traced value inside
_LOOPS = {
    code for name, code in dis.opmap.items() if name.startswith(("FOR_ITER", "BUILD_LIST")) or "_BACKWARD" in name
}
_CHOICES = {code for name, code in dis.opmap.items() if "JUMP" in name or name == "RAISE_VARARGS"}
_FORMATS = {code for name, code in dis.opmap.items() if name.startswith("FORMAT_")}
# a call of a variable; from Python 3.13 on, of anything but a method
_LOCAL_CALL = bytes([dis.opmap["PUSH_NULL"], 0, *([dis.opmap["LOAD_FAST"]] if sys.version_info < (3, 13) else [])])
_MEANT = {
    "Counter", "abs", "accumulate", "all", "any", "breakpoint", "chain", "combinations", "complex", "divmod",
    "enumerate", "float", "frozenset", "int", "isinstance", "islice", "item", "len", "map", "math", "max", "min",
    "pairwise", "pow", "print", "product", "range", "reduce", "repr", "reversed", "round", "set", "set_trace",
    "sorted", "starmap", "str", "sum", "tolist", "type", "zip",
}  # fmt: skip  # builtins and methods that mean something else for traced values
_MAKERS = {
    "arange", "array", "asarray", "ascontiguousarray", "atleast_1d", "atleast_2d", "atleast_3d", "block", "bool_",
    "complex128", "empty", "eye", "float32", "float64", "full", "geomspace", "identity", "indices", "int32", "int64",
    "linspace", "logspace", "meshgrid", "ones", "tri", "zeros", "c_", "mgrid", "ogrid", "r_", "deepcopy", "fromiter",
    "random", "testing", "vectorize",
}  # fmt: skip  # of NumPy, which do not see traced values themselves
_REFUSING = {
    "cho_factor",
    "cholesky",
    "cond",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "errstate",
    "inv",
    "lstsq",
    "lu_factor",
    "matrix_power",
    "pinv",
    "solve",
    "solve_banded",
    "solve_triangular",
    "solveh_banded",
    "svd",
    "svdvals",
    "tensorinv",
    "tensorsolve",
}  # functions whose errors the user may catch
_TRIGGERS = _MEANT | _MAKERS | _REFUSING


class NotKept(BaseException):
    """Raised to trace a function again, with a loop as it is written; no handler of the user sees it."""

    def __init__(self, code: types.CodeType, why: str, apart: bool = False) -> None:
        super().__init__(why)
        self.code, self.why, self.apart = code, why, apart


class Loops:
    """Loops that traces of one function met, by the code of their bodies.

    - `refused`: those that are run as they are written, and why.
    - `apart`: those whose first iteration is run apart.
    - `choosing`: choices on values are part of the program outside of loops too, as they made many paths.
    - `is_plain`: no loop or choice is part of the program, as no other way leads to one. Names mean what they did.
    - `is_off`: functions are run as they are written, for the same reason.
    - `reads_all`: functions that do not seem to need it are read too, as NumPy or SciPy asked for a traced value.
      Methods of their arrays do, such as `matrix.dot(x)`, and products of sparse matrices.
    - `layouts`: functions of one example that run on the rows of all.
    """

    def __init__(self) -> None:
        self.layouts: dict[str, None] = {}
        self.refused: dict[types.CodeType, str] = {}
        self.apart: set[types.CodeType] = set()
        self.choosing = self.is_plain = self.is_off = self.reads_all = False

    def refusals(self) -> tuple[str, ...]:
        """Return the loops that are run as they are written, each with the reason."""
        lines = [(SourceLine(c.co_filename, c.co_firstlineno, c.co_name), why) for c, why in self.refused.items()]
        return *[f"{line}: {line_text(line)} stays as it is written: {why}" for line, why in lines], *self.layouts

    def learns_of(self, error: Exception, session: Session) -> bool:
        """Return whether an error tells that all functions are to be read."""
        is_new = not self.reads_all and session.leaves_unread and isinstance(error, ConcretizationError)
        self.reads_all = self.reads_all or is_new
        return is_new

    def learn(self, signal: NotKept) -> None:
        """Note what ended a trace; what is known already does not help, so that no loop is kept from now on."""
        if signal.code in (self.apart if signal.apart else self.refused):
            self.is_off, self.is_plain = self.is_plain, True
        elif signal.apart:
            self.apart.add(signal.code)
        else:
            self.refused[signal.code] = signal.why


class Session:
    """Facts that one trace knows of the loops that it reads.

    - `learned`: what earlier traces of a body found out.
    - `leaves_unread`: a function was not read, as it does not seem to need it.
    - `is_plain`: no loop is kept.
    - `frames`: the bodies that are traced into the program now, the innermost last.
    - `unrolled`: iterations of the nest of loops that is being unrolled.
    - `holders`: values that loops and choices hold beside the variables that they are of.
    - `members`: attributes and items of objects that loops carry, by names of their own.
    - `lists`: lists of rows that exist now, which bodies and branches may append to.
    - `in_program`: numbers of iterations of loops that became part of the program, which may be sizes.
    - `called`: for calls whose arguments are being made, the innermost last, whether they take names of sizes.
    - `tried`: traces in which something is tried, the innermost last, with the numbers of nodes and conditions before.
    - `ending`: code of a generator that is run to its end, and how many iterations a loop of it may have.
    - `checks`: functions that are called at the end of the trace. `copies` of what objects hold, for comparison.
    """

    def __init__(self, loops: Loops) -> None:
        self.refused, self.apart, self.is_plain = loops.refused, loops.apart, loops.is_plain
        self.layouts = loops.layouts
        self.choosing, self.reads_all = loops.choosing and not loops.is_plain, loops.reads_all
        self.leaves_unread = False
        self.learned: dict[types.CodeType, Any] = {}
        self.frames: list[Any] = []
        self.unrolled = 1
        self.holders: list[dict[str, Any]] = []
        self.members: dict[str, Any] = {}
        self.in_program: list[Any] = []
        self.checks: list[Callable[[], None]] = []
        self.copies: list[Any] = []
        self.lists: list[Any] = []
        self.called: list[bool] = []
        self.tried: list[tuple[Any, int, int]] = []
        self.ending: tuple[types.CodeType, int] | None = None

    def leaves(self, function: Any) -> bool:
        """Return whether a function is not read, as it does not seem to need it."""
        is_unread = not (self.frames or self.reads_all or is_worth_reading(function, self.choosing))
        self.leaves_unread = self.leaves_unread or is_unread
        return is_unread

    def may_be_unrolled(self) -> bool:
        """Return whether loops were kept, and these have few iterations: a trace may run them as they are written."""
        counts = self.in_program
        return bool(counts) and all(type(n) is int for n in counts) and sum(counts) <= _MOST_UNROLLED


_MOST_UNROLLED = 2000  # iterations that are traced one by one to find out whether an error comes from keeping loops


class _Sessions(threading.local):
    def __init__(self) -> None:
        self.stack: list[Session] = []


_SESSIONS = _Sessions()


def session() -> Session | None:
    """Return the session of the active trace of this thread, None where functions are run as they are written."""
    return _SESSIONS.stack[-1] if _SESSIONS.stack else None


def makes_lists() -> bool:
    """Return whether loops of the active trace made lists."""
    return bool(_SESSIONS.stack and _SESSIONS.stack[-1].lists)


def retried(trace: Callable[[], Any], loops: Loops) -> Any:
    """Return the result of a trace that reads functions, traced again for each loop that turns out to stay."""
    stack = _SESSIONS.stack
    depth = len(stack)
    while not loops.is_off:
        stack.append(session := Session(loops))
        try:
            result = trace()
            for check in session.checks:
                check()
            return result
        except NotKept as signal:
            loops.learn(signal)
        except AnyshapeError as error:
            del stack[depth:]
            if loops.learns_of(error, session):
                continue
            if not session.may_be_unrolled():
                raise
            return _as_written(trace, error)
        finally:
            del stack[depth:]
    return trace()


def _as_written(trace: Callable[[], Any], error: Exception) -> Any:
    """Return the result of a trace that reads nothing, where one that kept loops ended with an error.

    That is so for this call. Other sizes may have no error.
    """
    try:
        return trace()
    except Exception:
        raise error from None


def as_read(function: Any) -> Any:
    """Return what a trace runs in place of a function: one with the same meaning, whose loops it may keep."""
    if not _SESSIONS.stack:
        return function
    kind = type(function)
    if kind is types.FunctionType:
        return _read(function)
    if kind is types.MethodType and type(function.__func__) is types.FunctionType:
        read = _read(function.__func__)
        return function if read is function.__func__ else types.MethodType(read, function.__self__)
    if kind is functools.partial:
        read = as_read(function.func)
        return function if read is function.func else functools.partial(read, *function.args, **function.keywords)
    run = kind.__call__ if callable(function) else None
    if type(run) is types.FunctionType:  # an instance of a class that makes its instances callable
        read = _read(run)
        return function if read is run else types.MethodType(read, function)
    return function


def as_part(function: Any) -> Any:
    """Return what a trace runs in place of a function that becomes a part of its program, where choices do too."""
    if (session := _SESSIONS.stack[-1] if _SESSIONS.stack else None) is None or session.is_plain:
        return function

    def run(*args: Any) -> Any:
        was, session.choosing = session.choosing, True
        try:
            return code_that_is_read().released(as_read(function)(*args))
        finally:
            session.choosing = was

    run.__wrapped__ = function  # type: ignore[attr-defined]  # errors name its parameters
    return run


def is_rewritten(function: Any) -> bool:
    """Return whether a function, or that of a method, has code that was rewritten."""
    return id(getattr(getattr(function, "__func__", function), "__code__", None)) in _MADE


_MARK = "__anyshape_as_written__"
_AS_WRITTEN = "as_written marks it"
_STEPPED = "run line by line, as a debugger may stop in it"


def as_written(function: F) -> F:
    """Mark a function that traces run as it is written: its source is not read, and its loops are unrolled.

    Args:
        function: function to mark, which is returned.

    >>> import anyshape
    >>> @anyshape.as_written
    ... def power(x, n):
    ...     y = 1.0
    ...     for _ in range(n):
    ...         y = y * x
    ...     return y
    >>> print(anyshape.jit(power, static_argnames="n")(2.0, n=10))
    1024.0
    """
    function.__anyshape_as_written__ = True  # type: ignore[attr-defined]  # functions take attributes
    return function


def _read(function: Any) -> _Function:
    code = function.__code__
    if id(code) in _MADE:
        return function
    is_users = is_read_file(code.co_filename, function.__globals__)
    if not is_users or (_wrapped(function) is not None and isinstance(_code(function), str)):
        return _wrapping(function)
    session = _SESSIONS.stack[-1]
    if session.leaves(function):
        return function
    is_stepped = may_stop_in(function)
    new = _AS_WRITTEN if getattr(function, _MARK, False) else _code(function, "stepped" if is_stepped else "")
    _note_unread(session, code, _STEPPED if is_stepped else f"run as it is written: {new}", new, is_stepped)
    if isinstance(new, str):
        return function
    runtime = code_that_is_read()
    is_users = is_user_file(code.co_filename, function.__globals__)
    return source_rebuild.bound(new, function, {RUNTIME: runtime if is_users else runtime.of_packages()})


def _note_unread(session: Session, code: types.CodeType, why: str, new: Any, is_stepped: bool) -> None:
    """Refuse a loop that calls a function whose own loops are not kept, and note where a debugger may stop."""
    if (isinstance(new, str) or is_stepped) and session.frames:
        raise NotKept(session.frames[-1].code, f"it calls {code.co_qualname}, which is {why}")
    if is_stepped or new == _GENERATOR:
        session.refused[code] = f"it is {why}"


def _wrapped(function: Any) -> Any:
    """Return the function that one is a wrapper of, None for others and for those that are marked."""
    wrapped = getattr(function, "__wrapped__", None)
    return wrapped if type(wrapped) is types.FunctionType and not getattr(function, _MARK, False) else None


def _wrapping(function: Any) -> _Function:
    """Return a wrapper that cannot be read itself, as of another package, around the function that is read.

    Solvers of `anyshape.scipy` trace functions that close over functions of users.
    """
    wrapped = _wrapped(function)
    is_ours = str(function.__globals__.get("__name__")).startswith("anyshape.scipy.")
    kinds = _CLOSED_OVER if is_ours else ()
    in_place = lambda x: as_read(x) if (x is wrapped or type(x) in kinds) and x is not function else x
    cells = tuple([_cell_of(cell, in_place) for cell in function.__closure__ or ()])
    if in_place(wrapped) is wrapped and all(map(operator.is_, cells, function.__closure__ or ())):
        return function
    return _with_cells(function, cells, in_place)


def _with_cells(function: _Function, cells: tuple[types.CellType, ...], in_place: _Function) -> _Function:
    """Return a function with other cells, and what stands in place of its defaults."""
    made = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, cells or None)
    made.__defaults__ = function.__defaults__ and tuple(map(in_place, function.__defaults__))
    made.__kwdefaults__ = function.__kwdefaults__ and {k: in_place(x) for k, x in function.__kwdefaults__.items()}
    return made


def as_list_maker(function: Any) -> Any:
    """Return a function that makes the list of what a generator function of users yields; None for other functions."""
    own = getattr(function, "__func__", function)
    code = own.__code__ if type(own) is types.FunctionType else None
    if code is None or not code.co_flags & inspect.CO_GENERATOR or not is_read_file(code.co_filename, own.__globals__):
        return None
    if getattr(own, _MARK, False) or isinstance(new := _code(own, "to its end"), str):
        return None
    made = source_rebuild.bound(new, own, {RUNTIME: code_that_is_read()})
    return made if own is function else types.MethodType(made, function.__self__)


_GENERATOR = "a generator"


def _cell_of(cell: types.CellType, in_place: _Function) -> types.CellType:
    """Return a cell with what stands in place of its content, the same one if that is the content."""
    new = cell if cell == _EMPTY else in_place(cell.cell_contents)
    return cell if new is cell or new is cell.cell_contents else types.CellType(new)


def _code(function: Any, way: str = "") -> types.CodeType | str:
    """Return the code of a function as it is read, or why it is run as it is written."""
    code = function.__code__
    key = code, code.co_filename, way
    known = _READ.get(key)
    if known is None:
        known = _READ[key] = _rewritten_code(function, way)
    return known


def _rewritten_code(function: Any, way: str) -> types.CodeType | str:
    own = function.__code__
    code = stored(own, way)
    if code is None:
        source = source_find.own_syntax_of(own, function.__globals__, way == "to its end")
        if isinstance(source, str):
            return source
        try:
            node = source_rewrite.rewritten(source.node, way)
        except source_rewrite.UnreadableError as error:
            return str(error)
        code = source_rebuild.compiled(node, source, own, (RUNTIME,))
        store(own, way, code)
    for part in source_rebuild.nested(code):
        _MADE[id(part)] = own
    return code


def before_rewriting(code: types.CodeType) -> types.CodeType:
    """Return the code that other code was rewritten from, else the code itself."""
    return _MADE.get(id(code), code)


# -- functions that need no reading


def is_worth_reading(function: Any, choosing: bool, seen: set[types.CodeType] | None = None) -> bool:
    """Return whether code has what a trace reads: loops, names of what does not see traced values, calls of such code.

    `choosing`: it runs in the body of a loop that is kept, where an `if` is part of the program.
    """
    code = function.__code__
    seen = set() if seen is None else seen
    if code in seen:
        return False
    seen.add(code)
    if _has(code, choosing):
        return True
    is_worth = False
    for value in _named(function, _names_in(code)):
        is_worth = is_worth or _is_worth(value, choosing, seen)
    return is_worth


def _named(function: Any, names: tuple[str, ...]) -> list[Any]:
    """Return what these names stand for: globals, free variables, and attributes of modules that are the user's."""
    space = function.__globals__
    named = [space[name] for name in names if name in space]
    named += [cell.cell_contents for cell in function.__closure__ or () if cell != _EMPTY]
    modules: dict[int, types.ModuleType] = {}
    for value in named:  # which grows by what is read of modules
        if type(value) is types.ModuleType and id(value) not in modules:
            modules[id(value)] = value
            if value.__name__.partition(".")[0] not in _UNREAD:
                named += [vars(value)[name] for name in names if name in vars(value)]
    return named


@functools.lru_cache(maxsize=4096)
def _names_in(code: types.CodeType) -> tuple[str, ...]:
    """Return the names of globals and attributes in code, and in functions inside of it."""
    inside = [name for c in code.co_consts if type(c) is types.CodeType for name in _names_in(c)]
    return tuple(dict.fromkeys([*code.co_names, *inside]))


def _is_worth(value: Any, choosing: bool, seen: set[types.CodeType]) -> bool:
    """Return whether what a name stands for may need reading where it is called."""
    value = value.__func__ if type(value) is types.MethodType else value
    if type(value) is types.FunctionType:
        is_users = is_read_file(value.__code__.co_filename, value.__globals__)
        is_scipy = str(value.__module__).startswith("scipy.")  # its own code takes no traced values
        return is_scipy or (is_users and is_worth_reading(value, choosing, seen))
    if has_type(value, (tuple, list, dict)):
        members = value.values() if has_type(value, (dict,)) else value
        return len(value) > _MOST_MEMBERS or any(callable(v) and _is_worth(v, choosing, seen) for v in members)
    return not has_type(value, _PLAIN) and not _is_plain(value)


def _is_plain(value: Any) -> bool:
    """Return whether an object is NumPy's or ours and is not called, as a polynomial is."""
    home, is_called = type(value).__module__, callable(value) and type(value) is not type(np.sum)
    return home.startswith("anyshape") or (home.startswith("numpy") and not is_called)


_EMPTY = types.CellType()
_CLOSED_OVER = (types.FunctionType, types.MethodType, functools.partial)
_MOST_MEMBERS = 100  # of a container whose members are looked at
_UNREAD = {"anyshape", "numpy", *sys.stdlib_module_names}  # libraries whose functions take traced values
_PLAIN = (types.ModuleType, types.BuiltinFunctionType, types.FunctionType, np.ndarray, np.generic, int, float, complex,
          str, tuple, list, dict, bytes, set, frozenset, type(None), np.ufunc, np.dtype)  # fmt: skip


@functools.lru_cache(maxsize=4096)
def _has(code: types.CodeType, choosing: bool) -> bool:
    """Return whether code itself has what a trace reads."""
    instructions = {*code.co_code[::2]}
    if instructions & (_LOOPS | _FORMATS | _CHOICES if choosing else _LOOPS | _FORMATS):
        return True
    if _LOCAL_CALL in code.co_code or not _TRIGGERS.isdisjoint(code.co_names):
        return True
    is_worth = False
    for op, argument in zip(code.co_code[::2], code.co_code[1::2], strict=True):  # may call these as methods
        is_worth = is_worth or (op == _METHOD and code.co_names[argument >> _SHIFT] not in _KNOWN)
    for constant in code.co_consts:
        is_worth = is_worth or (type(constant) is types.CodeType and _has(constant, choosing))
    return is_worth


# from Python 3.12 on, the last bit of LOAD_ATTR says whether it loads a method
_METHOD, _SHIFT = (dis.opmap["LOAD_METHOD"], 0) if sys.version_info < (3, 12) else (dis.opmap["LOAD_ATTR"], 1)
_TRANSFORMS = {
    f"{i}{kind}fft{axes}" for i in ("", "i") for kind in ("", "r", "h") for axes in ("", "2", "n", "freq", "shift")
}
_KNOWN = {*dir(np.ndarray), *dir(np), *dir(np.linalg), *_TRANSFORMS} - _TRIGGERS
