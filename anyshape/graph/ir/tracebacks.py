"""Short tracebacks: an error that leaves anyshape shows the lines of the user, not the ones of the library.

A bare `raise` adds no entry for the function that it stands in. So an entry point of the library shortens the
traceback of an error and raises it again. The line above the remaining ones is the caller's.
"""

import ast
import functools
import linecache
import re
import sys
import threading
from collections.abc import Callable, Iterator
from opcode import opmap
from types import FrameType, FunctionType, TracebackType
from typing import Any, TypeVar

from anyshape.errors import AnyshapeError
from anyshape.graph.ir.builder import active
from anyshape.graph.prover import user_stack
from anyshape.graph.prover.constraints import SourceLine
from anyshape.support.packages import load

F = TypeVar("F", bound=Callable[..., Any])
_RAISE = opmap["RAISE_VARARGS"]
_OTHER_ARGUMENTS = re.compile(r"(\S+)\(\) (?:takes|missing) .*positional argument")
_OF_CALL = re.compile(r"(?:\w+\.)*?(\w+)(?:\.__init__)?\(\) (?:takes|missing|got) ")
_UNPLANNED = 'raised inside of anyshape; anyshape.config.traceback = "full" shows where'
_WITH_ARGUMENTS = frozenset(("eval_shape", "linear_transpose", "linearize", "vjp"))  # take its arguments too
_OF_FUNCTIONS = frozenset(("checkpoint", "explain", "export", "jit", "profile", "trace"))  # take a function alone


def raised_at(error: Exception, where: SourceLine | None) -> Exception:
    """Return an exception with a traceback that ends at a line of the user, as if that line had raised it."""
    if where is None:
        return error
    at = {"lineno": where.line, "end_lineno": where.line, "col_offset": -1, "end_col_offset": -1}
    statement = ast.Raise(ast.Name("error", ast.Load(), **at), None, **at)
    code = compile(ast.Module([statement], []), where.file, "exec")
    code = code.replace(co_name=where.function, co_qualname=where.function)
    try:
        exec(code, {"error": error.with_traceback(None), "__name__": user_stack.module_of(where.file)})
    except type(error) as raised:
        assert raised.__traceback__ is not None
        return raised.with_traceback(raised.__traceback__.tb_next)  # without this function
    raise AssertionError("the line above has raised")


class Shown:
    """Frames that tracebacks show: "short" for the ones of users alone, "full" for all."""

    form: str = "short"


class _Latest(threading.local):
    """Error that was last looked at in a thread: functions that users call also call each other."""

    identity: int = 0


shown, _LATEST = Shown(), _Latest()


def short_traceback(function: F) -> F:
    """Decorate a function that users call: errors that leave it have short tracebacks, unless a trace is active.

    The result has the globals of the function, by which doctest finds it in its module.
    """
    shorten, note = shorten_traceback, _note_on_the_call

    def shortening(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            shorten(error)
            if isinstance(error, (TypeError, AttributeError)):
                note(error, function, args)
            raise

    result: Any = FunctionType(
        shortening.__code__, function.__globals__, function.__name__, None, shortening.__closure__
    )
    return functools.update_wrapper(result, function)  # type: ignore[return-value]


def shorten_traceback(error: Exception) -> None:
    """Remove the library's frames from the tracebacks of an error and of its causes.

    An error of anyshape ends at the innermost line of the user, and so do the errors that are shown above it. Any other
    one keeps the frames of other packages. One that is raised in the library without being meant gets a note. Inside of
    a trace nothing changes: the function that traces does it.
    """
    if shown.form == "full" or active() is not None:
        return
    if not (planned := isinstance(error, AnyshapeError)):
        _note_once(error)
    for one in _chain(error):
        hidden = _is_foreign if planned or isinstance(one, AnyshapeError) else _is_library
        entries = [*_entries(one.__traceback__)]
        warned = _step_that_warned(one, entries)
        one.__traceback__ = _joined([entry for entry in entries if entry is warned or not hidden(entry)])
    if planned:
        _hide_context(error)


def _hide_context(error: Exception) -> None:
    """Leave out the error that was handled when this one was raised, if no line of the user raised it."""
    if error.__cause__ is None and error.__context__ is not None and error.__context__.__traceback__ is None:
        error.__suppress_context__ = True


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the ones that are shown above it."""
    seen = set[int]()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        yield one
        seen.add(id(one))
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _joined(entries: list[TracebackType]) -> TracebackType | None:
    """Return a new traceback of these entries."""
    following: TracebackType | None = None
    for entry in reversed(entries):
        following = TracebackType(following, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return following


def _step_that_warned(error: BaseException, entries: list[TracebackType]) -> TracebackType | None:
    """Return the innermost entry of generated code, where it stands at the line of the user that it computes.

    None for an error that is not a warning.
    """
    last = next((entry for entry in reversed(entries) if user_stack.is_generated(entry.tb_frame)), None)
    if last is None or not isinstance(error, Warning):
        return None
    code = last.tb_frame.f_code
    where = last.tb_frame.f_globals[user_stack.USER_LINE](code, last.tb_lasti)
    is_there = where is not None and (where.file, where.line) == (code.co_filename, last.tb_lineno)
    return last if is_there else None


def _is_library(entry: TracebackType) -> bool:
    return user_stack.is_library_frame(entry.tb_frame)


def _is_foreign(entry: TracebackType) -> bool:
    return not user_stack.is_user_frame(entry.tb_frame)


def _note_once(error: BaseException) -> None:
    """Look once at an error: when it is met again, its traceback ends at a call of anyshape in anyshape."""
    if error.__traceback__ is not None and _LATEST.identity != id(error):
        _LATEST.identity = id(error)
        entries = list(_entries(error.__traceback__))
        if isinstance(error, TypeError) and _is_foreign(entries[-1]) and (advice := _as_called(error, entries)):
            error.add_note(advice)
        else:
            _note_if_unplanned(error, entries[-1])


def _as_called(error: TypeError, entries: list[TracebackType]) -> str:
    """Return how a function of the library calls the user's function that takes other arguments, "" if unknown."""
    if (match := _OTHER_ARGUMENTS.match(str(error))) is None:
        return ""
    for frame in filter(user_stack.is_library_frame, _frames(entries)):
        name = frame.f_code.co_name
        doc = getattr(frame.f_globals.get(name), "__doc__", None) or ""
        for parameter in frame.f_code.co_varnames[: frame.f_code.co_argcount]:
            value = frame.f_locals.get(parameter)
            is_it = callable(value) and getattr(value, "__qualname__", "") == match[1]
            if is_it and (written := re.search(rf"\b{parameter}\([^)]+\)", doc)):
                further = re.search(r"\*(\w+)", written[0]) if " missing " in str(error) else None
                advice = f"pass as many {further[1]} as it has" if further else "give it these parameters"
                return f"  {name} calls it as {written[0]}: {advice}"
    return ""


def _frames(entries: list[TracebackType]) -> Iterator[FrameType]:
    """Yield the frames of a traceback and those that called them, innermost first."""
    yield from [entry.tb_frame for entry in reversed(entries)]
    frame = entries[0].tb_frame.f_back
    while frame is not None:
        yield frame
        frame = frame.f_back


def _note_if_unplanned(error: BaseException, last: TracebackType) -> None:
    """Tell how to see the frames of an error in the library that is neither raised on purpose nor in a user's call."""
    frame = last.tb_frame
    raises = isinstance(error, Warning) or frame.f_code.co_code[last.tb_lasti] == _RAISE
    on_purpose = (raises and not isinstance(error, AssertionError)) or isinstance(error, RecursionError)
    # with arguments that do not fit
    is_call_of_user = user_stack.is_caller_of_user(frame) or frame.f_code is _SHORTENING
    if on_purpose or not _is_library(last) or is_call_of_user or getattr(error, "__notes__", None):
        return
    advice = load("anyshape.support.elsewhere").instead_of_value(error)
    if advice or not _is_written_by_user(error):
        error.add_note(f"  {advice}" if advice else _UNPLANNED)


def _is_written_by_user(error: BaseException) -> bool:
    """Return whether a user's line names the function whose arguments an error calls wrong."""
    call = _OF_CALL.match(str(error)) if isinstance(error, TypeError) else None
    users = [entry for entry in _entries(error.__traceback__) if user_stack.is_user_frame(entry.tb_frame)]
    if call is None or not users:
        return False
    line = linecache.getline(users[-1].tb_frame.f_code.co_filename, users[-1].tb_lineno)
    return re.search(rf"\b{call[1]}\b", line) is not None


def ends_in_library(error: BaseException) -> bool:
    """Return whether a function of anyshape raised an error."""
    entries = [*_entries(error.__traceback__)]
    return bool(entries) and _is_library(entries[-1])


def _note_on_the_call(error: Exception, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Tell how to call a transform that got the arguments of the function along with it, or an option it lacks."""
    called, text = f"{function.__qualname__}()", str(error)
    _note_on_the_arguments(error, function, args)
    if getattr(error, "__notes__", None) or not text.startswith(f"{called} "):
        return
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    if name in _OF_FUNCTIONS and args and callable(args[0]) and text.startswith(f"{called} takes "):
        error.add_note(f"  write {name}(f)(...): it returns a function, and that one takes the arguments")
    elif text.startswith((f"{called} missing ", f"{called} takes ")):
        written = f"{name}({', '.join(_required(function))})"
        error.add_note(f"  write {load('anyshape.support.elsewhere').CALLS.get(name, written)}")
    elif advice := _on_the_option(text, function, args):
        error.add_note(f"  {advice}")


def _note_on_the_arguments(error: Exception, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    """Tell what a transform takes besides a function, where the function cannot be called with what it got."""
    if getattr(error, "__notes__", None) or isinstance(error, AnyshapeError):
        return
    name, advice = function.__name__, ""
    if name in _WITH_ARGUMENTS and args and callable(args[0]):
        advice = _with_arguments(name, args, str(error))
    elif name == "traced" and re.search("NoneType|'type'", str(error)):
        advice = 'give specifications of arrays: "n, 3" as a text, or ShapeDtypeStruct("n, 3", np.float32)'
    if advice:
        error.add_note(f"  {advice}")


def _with_arguments(name: str, args: tuple[Any, ...], text: str) -> str:
    """Return how to call a transform with a function and its arguments, "" where an error does not tell of them."""
    match = _OTHER_ARGUMENTS.match(text)
    is_of_it = match is not None and match[1] == getattr(args[0], "__qualname__", "")
    if is_of_it and len(args) == 1:
        return f"write {name}(f, x): it takes the arguments of the function too"
    if len(args) == 2 and type(args[1]) in (tuple, list) and (is_of_it or f"'{type(args[1]).__name__}'" in text):
        return f"write {name}(f, *args): it takes the arguments of the function one by one"
    return ""


def _on_the_option(text: str, function: Any, args: tuple[Any, ...]) -> str:
    """Return what to write instead of an option that a function does not have, "" where nothing is known."""
    elsewhere = load("anyshape.support.elsewhere")
    if (unknown := elsewhere.UNKNOWN_OPTION.fullmatch(text)) is None:
        return ""
    of_user = getattr(args[0], "__code__", None) if args and callable(args[0]) else None
    if unknown[2] in getattr(of_user, "co_varnames", ()):
        return f"write {unknown[1]}(f)(..., {unknown[2]}=...): that is an argument of the function"
    advice: str = elsewhere.instead_of_keyword(unknown[2], tuple([p.name for p in _parameters(function)]))
    return advice


def _required(function: Any) -> list[str]:
    """Return the parameters of a function that have no default, as a call gives them."""
    variable = (2, 4)  # kinds of *args and **kwargs
    required = [p for p in _parameters(function) if p.default is p.empty and p.kind not in variable]
    return [f"{p.name}=..." if p.kind == p.KEYWORD_ONLY else p.name for p in required]


def _parameters(function: Any) -> list[Any]:
    """Return the parameters of a function or a method, as `inspect` describes them."""
    return [p for p in load("inspect").signature(function).parameters.values() if p.name != "self"]


def call_in_order(transform: str) -> str:
    """Return how to call a function on the stack that got a function in another position, "" if there is none."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and user_stack.is_library_frame(frame):
        if frame.f_code.co_name == transform and transform in frame.f_globals:  # methods are not
            parameters = [p for p in _parameters(frame.f_globals[transform]) if p.kind < p.KEYWORD_ONLY]
            return _call_in_order(transform, parameters, frame.f_locals)
        frame = frame.f_back
    return ""


def _call_in_order(transform: str, parameters: list[Any], values: dict[str, Any]) -> str:
    names = ["*" * (p.kind is p.VAR_POSITIONAL) + p.name for p in parameters]
    further = values[parameters[-1].name] if names[-1].startswith("*") else ()
    if not any(map(callable, [*[values[p.name] for p in parameters], *further])):
        return ""
    is_alone = all(p.default is not p.empty for p in parameters[1:])
    return f"write {transform}(f)(...)" if is_alone else f"write {transform}({', '.join(names[:4])})"


_SHORTENING = short_traceback(shorten_traceback).__code__
