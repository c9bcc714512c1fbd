"""Build the functions that stand for NumPy's and SciPy's ufuncs on traced arrays.

`out` and `where` change an array in place, which a program cannot do. `dtype` and `casting` choose the loop, as in
NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import user_line
from anyshape.graph.prover.scope import SymbolicSize
from anyshape.numpy.operands.memory import owned
from anyshape.numpy.operands.promotion import CASTINGS, ORDERS, asarray, choice_of, is_traced, promoted
from anyshape.numpy.operands.signatures import publish, ufunc_signature
from anyshape.support.true_types import has_type

_CHOOSING = ("dtype", "casting", "order", "subok")
_DEFAULTS = {"dtype": None, "casting": "same_kind"}


def _is_default(option: str, value: Any) -> bool:
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
        "have no effect, and `out` and `where` raise UnsupportedFunctionError.",
        note,
    ]
    return "\n\n".join(p for p in paragraphs if p)


_SIZES = (int, np.integer, SymbolicSize)


def has_out(ufunc: np.ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Return whether a call of a ufunc names an array for its result."""
    return len(args) > ufunc.nin or options.get("out") is not None


def of_ufunc(
    ufunc: np.ufunc, apply: Callable[..., Any], summary: str, *, module: str, note: str = "", operands: str = ""
) -> Callable[..., Any]:
    """Return the function that calls a ufunc on concrete operands and applies an op to traced ones."""

    def function(*args: Any, **options: Any) -> Any:
        if not is_traced(*args, *options.values()):
            return ufunc(*args, **options)
        if args and has_type(args[0], _SIZES) and all(has_type(x, _SIZES) for x in args[1:]):
            return ufunc(*args, **options)  # a size, or an array where the ufunc gives no size
        if (options or len(args) > ufunc.nin) and has_out(ufunc, args, options):
            return ufunc(*args, **options)  # calls this function again, by NumPy's protocol, and writes the result
        return owned(apply(*promoted(ufunc, *args, **check_options(ufunc, args, options))), *args)

    doc = ufunc_doc(ufunc, summary, note, operands)
    return publish(function, ufunc.__name__, module, doc, ufunc_signature(ufunc, operands))


_ATTRIBUTES = ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature")
# methods of ufuncs, with the positions of their array-likes: a tuple elsewhere may be an index, or names axes
_METHODS = {"reduce": (0,), "accumulate": (0,), "reduceat": (0, 1), "outer": (0, 1), "at": (2,)}


def give_members(function: Callable[..., Any], ufunc: np.ufunc) -> None:
    """Give a function the attributes and methods of the ufunc that it stands for."""
    members: dict[str, Any] = {name: getattr(ufunc, name) for name in _ATTRIBUTES}
    vars(function).update(members | {name: functools.partial(_call_method, ufunc, name) for name in _METHODS})


def _call_method(ufunc: np.ufunc, name: str, /, *args: Any, **options: Any) -> Any:
    """Call a method of a ufunc, by NumPy's protocol for traced arrays; lists of traced values become arrays."""
    lifted = [
        asarray(x) if i in _METHODS[name] and isinstance(x, (list, tuple)) and is_traced(x) else x
        for i, x in enumerate(args)
    ]
    return getattr(ufunc, name)(*lifted, **options)
