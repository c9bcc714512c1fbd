"""Origin of code and values: whose code it is, and the lines of the user that belong to functions and values."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
import types
from typing import Any

import numpy as np

from anyshape.graph.prover.constraints import SourceLine
from anyshape.support.true_types import has_type

TRANSPARENT = {"anyshape", "optree"}  # a trace sees through their objects to the functions of the user
MAIN = ("__main__", "__mp_main__")  # the script that runs; in a worker its file is that of the pool
LIBRARIES = {"anyshape", "numpy", "scipy", "builtins", "optree"}
_STDLIB_FOLDER = os.path.dirname(os.__file__)
_INSTALLED = r"[\\/](site|dist)-packages[\\/]"
# Classes of the standard library that hold what their users put in; others keep notes of their own, as loggers do.
DATA_CLASSES = {
    "argparse", "collections", "configparser", "fractions", "functools", "queue", "string", "threading", "types",
    "weakref",
}  # fmt: skip
PLAIN_BASES = {"builtins", "abc", "typing", "typing_extensions", "_collections_abc", "collections.abc"}
# Names by which code reads attributes that it does not name.
REFLECTION = {
    "vars", "getattr", "__dict__", "__slots__", "__getattribute__", "__getstate__", "__reduce__",
    "__reduce_ex__", "dir", "getmembers", "asdict", "astuple", "fields", "replace", "copy", "deepcopy",
    "attrgetter", "methodcaller", "dumps", "eval", "exec", "globals",
}  # fmt: skip
# Names by which code reads attributes that a text names, and modules that a text names.
BY_TEXT = {"getattr", "vars", "__dict__", "__getattribute__", "attrgetter", "methodcaller", "dir", "getmembers"}
BY_MODULE_NAME = {"__import__", "import_module", "modules"}
EVALUATION = {"globals", "eval", "exec"}  # names by which code reads globals that it does not name
# Modules of the standard library whose functions depend on their arguments alone.
PURE_MODULES = {
    "abc", "array", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "enum",
    "fractions", "functools", "heapq", "inspect", "itertools", "json", "logging", "math", "numbers", "operator",
    "re", "statistics", "string", "struct", "textwrap", "types", "typing", "warnings", "weakref",
}  # fmt: skip
ABSENCE = {
    "hasattr", "getattr", "AttributeError", "Exception", "__dict__", "vars",
}  # fmt: skip
OF_CLASSES = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__firstlineno__",
    "__static_attributes__", "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__",
    "__dataclass_fields__", "__dataclass_params__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__classcell__", "__classdictcell__",
}  # fmt: skip
ATOMS: tuple[Any, ...] = (
    bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented), range, slice, types.CodeType,
    np.dtype, type(np.sum), re.Pattern, types.GenericAlias, types.UnionType,
)  # fmt: skip
_ATOM_IDS = frozenset(map(id, ATOMS))
IMMUTABLE_MODULES = {
    "datetime", "decimal", "fractions", "re", "_operator", "operator", "zoneinfo", "uuid", "pathlib",
    "ipaddress", "typing", "builtins", "numpy",
}  # fmt: skip


def package(function: Any) -> str:
    """Return the package that the function belongs to: its code is followed, wherever it is installed."""
    return str(getattr(function, "__module__", "") or "").partition(".")[0]


def origin(module: str | None, home: str) -> str:
    """Return "user", "library", "stdlib" or "installed" for a module; the package `home` is the user's."""
    top = str(module).partition(".")[0]
    return "user" if top in MAIN or (top == home and top not in LIBRARIES) else _origin(top)


@functools.lru_cache(1024)
def _origin(top: str) -> str:
    if top in LIBRARIES:
        return "library"
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        return "stdlib" if top in sys.stdlib_module_names else "user"
    if re.search(_INSTALLED, file):
        return "installed"
    return "stdlib" if file.startswith(_STDLIB_FOLDER) else "user"


def is_atom(kind: type) -> bool:
    """Return True for a class in ATOMS; no `__eq__` of a metaclass runs."""
    return id(kind) in _ATOM_IDS


def is_scalar(value: Any) -> bool:
    """Return True for a number of NumPy; a record can change in place."""
    return has_type(value, np.generic) and not isinstance(value, np.void)


def is_special(name: str, value: Any) -> bool:
    """True for a special method, which is called without being named."""
    return name.startswith("__") and name.endswith("__") and hasattr(value, "__get__")


def is_whole(kind: type, home: str) -> bool:
    """True if code that is not walked over may read any attribute: of a package, or of a base class."""
    where = origin(kind.__module__, home)
    if where == "stdlib":
        return kind.__module__.partition(".")[0] in DATA_CLASSES
    bases = [k.__module__ for k in kind.__mro__ if origin(k.__module__, home) != "user"]
    return where == "installed" or any(m not in PLAIN_BASES for m in bases)


# -- lines of the user ------------------------------------------------------------------------------------------------


def code_of(function: Any) -> types.CodeType | None:
    """Return the code of a function of the user, None if it has none."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if code is not None else getattr(type(function).__call__, "__code__", None)


def line_of(function: Any) -> SourceLine | None:
    """Return the first line of a function, None if it has no code."""
    code = code_of(function)
    return None if code is None else SourceLine(code.co_filename, code.co_firstlineno, code.co_name)


def made_at(x: Any) -> SourceLine | None:
    """Return the line of the node that gives a traced value, None for an input."""
    return next((n.where for n in x.builder.nodes if x.value in n.outputs), None)
