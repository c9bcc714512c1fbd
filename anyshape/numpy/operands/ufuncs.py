"""Build the objects that stand for NumPy's and SciPy's ufuncs on traced arrays.

`dtype` and `casting` choose the loop, as in NumPy. NumPy's protocol writes results to `out`, where `where` holds.

Name, sign and document the functions that factories build.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from anyshape.errors import AnyshapeError, ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.ir.tracebacks import shorten_traceback
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.memory import owned, writes_out
from anyshape.numpy.operands.promotion import CASTINGS, ORDERS, asarray, choice_of, is_traced, promoted
from anyshape.support.true_types import has_type

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)

_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_FURTHER = inspect.Parameter.VAR_KEYWORD
_ABSENT: Any = getattr(np, "_NoValue")  # noqa: B009 - NumPy's default of `axes` and `axis`
_CALL_OPTIONS = {"casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}


_OPERANDS, _HEAD = re.compile(r"\w\(([\w, ]+), out=None\)"), 300  # how SciPy's docstrings begin


@functools.cache
def operands_of(ufunc: np.ufunc) -> tuple[str, ...]:
    """Return the names of the operands of a ufunc: those that SciPy documents, or NumPy's x, or x1 and x2."""
    is_numpys = getattr(np, ufunc.__name__, None) is ufunc  # making a docstring costs 20 us
    documented = None if is_numpys else _OPERANDS.search(ufunc.__doc__ or "", 0, _HEAD)
    if documented:
        return tuple(documented[1].split(", "))
    return ("x",) if ufunc.nin == 1 else tuple([f"x{i + 1}" for i in range(ufunc.nin)])


def ufunc_signature(ufunc: np.ufunc, operands: str = "") -> inspect.Signature:
    """Return the signature of a ufunc as NumPy documents it; before NumPy 2.4 a ufunc has none of its own.

    `operands` names the operands as in "a, x"; by default they have the names of the documentation.
    """
    names = tuple(operands.split(", ")) if operands else operands_of(ufunc)
    return _signature(names, ufunc.nout, ufunc.signature is None)


@functools.cache  # a Parameter costs 2 us, and 300 ufuncs have a dozen signatures among them
def _signature(names: tuple[str, ...], nout: int, elementwise: bool) -> inspect.Signature:
    out = None if nout == 1 else (None,) * nout
    own = {"where": True} if elementwise else {"axes": _ABSENT, "axis": _ABSENT, "keepdims": False}
    return inspect.Signature(
        [
            *[inspect.Parameter(name, _POSITIONAL) for name in names],
            inspect.Parameter("out", _EITHER, default=out),
            *[inspect.Parameter(name, _KEYWORD, default=value) for name, value in {**own, **_CALL_OPTIONS}.items()],
        ]
    )


def signed_as(signature: inspect.Signature) -> Callable[[F], F]:
    """Return a decorator that gives a function this signature for `help` and `inspect.signature`."""

    def decorate(function: F) -> F:
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return decorate


def publish(function: F, name: str, module: str, doc: str, signature: inspect.Signature | None = None) -> F:
    """Return a function that a factory built, with the name, module and documentation of a public one."""
    code = inspect.unwrap(function).__code__
    if "out" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        function = writes_out(function)
    layer: Any = function
    while layer is not None:  # a call with wrong arguments fails in the innermost one
        layer.__name__ = layer.__qualname__ = name
        layer = getattr(layer, "__wrapped__", None)
    function.__module__, function.__doc__ = module, doc.strip()
    return function if signature is None else signed_as(signature)(function)


def method_signature(name: str) -> inspect.Signature:
    """Return the signature of a method of ufuncs, with `self`; before NumPy 2.4 NumPy's methods have none."""
    options = {"axis": 0, "dtype": None, "out": None}
    own: dict[str, Any] = {
        "reduce": {"array": _POSITIONAL, **options, "keepdims": False, "initial": _ABSENT, "where": True},
        "accumulate": {"array": _POSITIONAL, **options},
        "reduceat": {"array": _POSITIONAL, "indices": _POSITIONAL, **options},
        "outer": {"A": _POSITIONAL, "B": _POSITIONAL, "kwargs": _FURTHER},
        "at": {"a": _POSITIONAL, "indices": _POSITIONAL, "b": _POSITIONAL},
    }[name]
    parameters = [inspect.Parameter("self", _POSITIONAL)]
    for parameter, value in own.items():
        if isinstance(value, type(_POSITIONAL)):
            default = None if parameter == "b" else inspect.Parameter.empty
            parameters.append(inspect.Parameter(parameter, value, default=default))
        else:
            parameters.append(inspect.Parameter(parameter, _EITHER, default=value))
    return inspect.Signature(parameters)


_CHOOSING = ("dtype", "casting", "order", "subok")
_DEFAULTS = {"dtype": None, "casting": "same_kind"}


def _is_default(option: str, value) -> bool:
    """Return whether an option asks for nothing. Values may be arrays, which `==` would compare elementwise."""
    if option == "out":
        return value is None or (isinstance(value, tuple) and all(v is None for v in value))
    return option == "where" and value is True


def check_options(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a call that choose its loop, and refuse options that have no meaning in a program."""
    if not options and len(args) == ufunc.nin:
        return _DEFAULTS
    name = ufunc.__name__
    for option, value in options.items():
        if option not in _CHOOSING and not _is_default(option, value):
            advice = "use np.where instead of `where`, or give `out` too"
            raise UnsupportedFunctionError(name, f"option {option!r} of a traced array", advice, user_line())
    if len(args) != ufunc.nin:
        problem, advice = f"got {len(args)} positional arguments", f"pass {ufunc.nin}, and use the result"
        raise ArgumentError(name, "the call", problem, advice)
    choice_of(name, "order", options.get("order", "K"), ORDERS)
    casting = choice_of(name, "casting", options.get("casting", "same_kind"), CASTINGS)
    return {"dtype": options.get("dtype"), "casting": casting}


def ufunc_doc(ufunc: np.ufunc, summary: str, note: str = "", operands: str = "") -> str:
    """Return a docstring: the summary, the rule for shapes and dtypes, the differences from NumPy and a note."""
    home = "numpy" if getattr(np, ufunc.__name__, None) is ufunc else "scipy.special"
    names = list(ufunc_signature(ufunc, operands).parameters)[: ufunc.nin]
    shape = "The result has the shape of x." if ufunc.nout == 1 else "Each result has the shape of x."
    if ufunc.nin > 1:
        shape = f"{', '.join(names[:-1])} and {names[-1]} broadcast to the shape of the result."
    paragraphs = [
        summary,
        f"{shape} Dtypes follow `{home}.{ufunc.__name__}`, and `dtype` and `casting` choose\n"
        "the loop. Concrete operands go to that function with all options. With a traced operand `order` and `subok`\n"
        "have no effect, `out` must be traced too, and `where` without it raises UnsupportedFunctionError.",
        note,
    ]
    return "\n\n".join(p for p in paragraphs if p)


_SIZES = (int, np.integer, SymbolicSize)


def has_out(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Return whether a call of a ufunc names an array for its result."""
    return len(args) > ufunc.nin or options.get("out") is not None


def _attribute(name: str, doc: str) -> property:
    """Return a property that is the ufunc's."""
    return property(lambda self: getattr(self._ufunc, name), doc=doc)


def _method(name: str, positions: tuple[int, ...], doc: str) -> Function:
    """Return a method of the ufunc, with arrays of traced values at positions; it has NumPy's signature."""

    def method(self, /, *args, **options):
        return getattr(self._ufunc, name)(*_arrays(args, positions), **options)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Ufunc.{name}", doc
    return signed_as(method_signature(name))(method)


class Ufunc:
    """Function that stands for a ufunc of NumPy or SciPy, with its attributes and methods.

    It does not extend `np.ufunc`, since it takes lists of traced values, symbolic sizes and traced Python scalars.
    """

    def __init__(self, ufunc: np.ufunc, traced: Callable[..., Any], doc: str, module: str, operands: str = "") -> None:
        """Make the function that calls `ufunc` on concrete operands and `traced` on any others."""
        self._ufunc, self._traced = ufunc, traced
        self.__name__ = self.__qualname__ = ufunc.__name__
        self.__doc__, self.__module__ = doc.strip(), module
        self.__signature__ = ufunc_signature(ufunc, operands)

    def __call__(self, /, *args: Any, **options: Any) -> Any:
        """Return what the ufunc gives for these operands."""
        for x in args:
            if type(x) not in CONCRETE:
                break
        else:
            if not options:
                return self._ufunc(*args)
        if not is_traced(*args, *options.values()):
            return self._ufunc(*args, **options)
        try:
            return self._traced(*args, **options)
        except AnyshapeError as error:
            shorten_traceback(error)
            raise

    def __get__(self, instance: Any, owner: Any = None) -> Ufunc:
        """Return the function itself: as an attribute of a class it binds no instance, like NumPy's ufuncs.

        It also lets `help` show the signature.
        """
        return self

    def __repr__(self) -> str:
        return f"<ufunc {self.__name__!r}>"

    def __reduce__(self) -> str:
        return self.__qualname__  # its module has it by this name

    nin: property = _attribute("nin", "Number of operands.")
    nout: property = _attribute("nout", "Number of results.")
    nargs: property = _attribute("nargs", "Number of arguments: operands and results.")
    ntypes: property = _attribute("ntypes", "Number of loops.")
    types: property = _attribute("types", "Loops, as the characters of their dtypes.")
    identity: property = _attribute("identity", "Value of a reduction of nothing, None if there is none.")
    signature: property = _attribute("signature", "Core axes of operands and results, None for single elements.")

    def resolve_dtypes(self, *args: Any, **options: Any) -> tuple[np.dtype, ...]:
        """Return the dtypes of the loop that is chosen for operands of these dtypes."""
        return self._ufunc.resolve_dtypes(*args, **options)

    reduce: Function = _method(
        "reduce", (0,), "Return the array with the axis reduced: its elements combined by the ufunc, in their order."
    )
    accumulate: Function = _method(
        "accumulate", (0,), "Return for each element along the axis the combination of the elements up to it."
    )
    reduceat: Function = _method(
        "reduceat", (0, 1), "Return the reductions of the slices between indices along the axis."
    )
    outer: Function = _method("outer", (0, 1), "Return each element of A combined with each element of B.")
    at: Function = _method(
        "at", (2,), "Apply the ufunc in place to the elements of indices, once for each time that they are named."
    )


def _arrays(args: tuple[Any, ...], positions: tuple[int, ...]) -> list[Any]:
    """Return arguments with lists of traced values as arrays: NumPy's protocol looks for a program in arrays alone.

    Tuples elsewhere may be an index, or name axes.
    """
    return [
        asarray(x) if i in positions and isinstance(x, (list, tuple)) and is_traced(x) else x
        for i, x in enumerate(args)
    ]


CONCRETE: frozenset[type] = frozenset(
    {np.ndarray, float, int, bool, complex, np.float64, np.float32, np.int64, np.bool_}
)


def plain_ufunc(function: Any) -> Any:
    """Return the ufunc itself: with `SCIPY_ARRAY_API=1` SciPy has functions around its ufuncs."""
    return getattr(function, "__wrapped__", function)


def of_ufunc(
    ufunc: np.ufunc, apply: Callable[..., Any], summary: str, *, module: str, note: str = "", operands: str = ""
) -> Ufunc:
    """Return the function that calls a ufunc on concrete operands and applies an op to traced ones."""
    ufunc = plain_ufunc(ufunc)

    def function(*args, **options):
        if args and has_type(args[0], _SIZES) and all(has_type(x, _SIZES) for x in args[1:]):
            return ufunc(*args, **options)  # a size, or an array where the ufunc gives no size
        if (options or len(args) > ufunc.nin) and has_out(ufunc, args, options):
            return ufunc(*args, **options)  # calls this function again, by NumPy's protocol, and writes the result
        return owned(apply(*promoted(ufunc, *args, **check_options(ufunc, args, options))), *args)

    return Ufunc(ufunc, function, ufunc_doc(ufunc, summary, note, operands), module, operands)


def stands_for(ufunc: np.ufunc) -> Callable[[Callable[..., Any]], Ufunc]:
    """Return a decorator that makes of a function of traced operands the object that stands for a ufunc."""
    return lambda function: Ufunc(ufunc, function, inspect.getdoc(function) or "", function.__module__)
