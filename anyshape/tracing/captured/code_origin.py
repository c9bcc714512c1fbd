"""Origin of code and values: whose code it is, and the lines of the user that belong to functions and values.

Names in code objects: globals, attributes and modules that a function may read, and the lines that change them.
"""

import dis
import functools
import inspect
import os
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.prover.constraints import SourceLine
from anyshape.support.lazy_dataclass import NamedTuple
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
# Names by which code reads what lies outside of the process.
OUTSIDE = {
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time",
    "process_time_ns", "thread_time", "thread_time_ns", "localtime", "gmtime", "now", "today", "utcnow", "environ",
    "getenv", "open", "input", "read_text", "read_bytes", "iterdir", "glob", "listdir", "scandir", "getcwd", "cwd",
    "stat", "getsize", "getmtime", "walk", "exists", "isfile", "isdir", "is_file", "is_dir", "urandom", "uuid1",
    "uuid4", "SystemRandom", "token_bytes", "token_hex", "token_urlsafe", "randbelow", "randbits", "default_rng",
    "load", "loadtxt", "genfromtxt", "gethostname", "gethostbyname", "getaddrinfo", "create_connection", "urlopen",
}  # fmt: skip
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


def is_immutable(kind: type) -> bool:
    """Return whether objects of a class never change; a class of a package may say that it is of `builtins`."""
    return kind.__module__ in IMMUTABLE_MODULES and not (kind.__module__ == "builtins" and kind.__flags__ & _HEAP_TYPE)


_HEAP_TYPE = 1 << 9  # flag of classes that are made at run time


def package(function: Any) -> str:
    """Return the package that the function belongs to: its code is followed, wherever it is installed."""
    return str(getattr(function, "__module__", "") or "").partition(".")[0]


MOST_OF_PACKAGE = 2_000  # objects that functions of an installed package may reach before its code counts as installed
_LARGE: set[str] = set()  # packages whose functions reach more


def home(function: Any) -> str:
    """Return the package whose code is followed for a function, "" where that is too much."""
    top = package(function)
    return "" if top in _LARGE else top


def leave_to_package(home: str) -> bool:
    """Follow the code of a package no more, if it is an installed one; return whether it is."""
    if not home or _origin(home) != "installed":
        return False
    _LARGE.add(home)
    return True


def origin(module: str | None, home: str) -> str:
    """Return "user", "library", "stdlib" or "installed" for a module; the package `home` is the user's."""
    top = str(module).partition(".")[0]
    return "user" if top in MAIN or (top == home and top not in LIBRARIES) else _origin(top)


@functools.lru_cache(1024)
def _origin(top: str) -> str:
    if top in LIBRARIES:
        return "library"
    if (file := getattr(sys.modules.get(top), "__file__", None)) is None:
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
    if (where := origin(kind.__module__, home)) == "stdlib":
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


_CACHED_CODES = 4096
_IDENTIFIER = r"[^\W\d]\w*"
_LONGEST_TEXT = 200  # characters of a text whose words may be names, as in "{0.scale}".format(self)
_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME"}
_STORES = ("STORE_", "DELETE_")
_NAMED = {dis.opmap[f"{op}{kind}"] for op in _STORES for kind in ("ATTR", "GLOBAL")}
_OUTLIVING = {*_NAMED, *[dis.opmap[f"{op}DEREF"] for op in _STORES]}
_NAMING = {op: dis.opname[op] for op in dis.hasname if not dis.opname[op].startswith(_STORES)}
_FLAG_BITS = {"LOAD_GLOBAL": 1, "LOAD_ATTR": int(sys.version_info >= (3, 12)), "LOAD_SUPER_ATTR": 2}
_IMPORT = dis.opmap["IMPORT_NAME"]
_CHANGES = {
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "clear",
    "update", "setdefault", "add", "discard", "sort", "reverse", "rotate", "fill", "put", "itemset",
    "partition", "resize", "difference_update", "intersection_update", "symmetric_difference_update",
    "subtract", "move_to_end",
}  # fmt: skip


Line: TypeAlias = tuple[types.CodeType, int]


class CodeNames(NamedTuple):
    """Names in one code object and those nested in it.

    - `variables` are looked up as globals, then as builtins.
    - `attributes` may be attributes that it reads: all names that are not stored alone, and the words of short texts,
      as `getattr` reads them.
    - `modules` are imported, each with its level as in `from ..settings import scale`.
    """

    variables: tuple[str, ...]
    attributes: frozenset[str]
    modules: tuple[tuple[str, int], ...]


@functools.lru_cache(_CACHED_CODES)
def code_names(code: types.CodeType) -> CodeNames:
    """Return the names in a code object."""
    variables: dict[str, None] = {}
    attributes: set[str] = set()
    modules: list[tuple[str, int]] = []
    for part in nested(code):
        reads = list(_reads(part))
        attributes.update(name for _, name in reads)
        attributes.update(name for text in _texts(part.co_consts) for name in re.findall(_IDENTIFIER, text))
        variables.update(dict.fromkeys([name for operation, name in reads if operation in _GLOBALS]))
        if _IMPORT in part.co_code[::2]:
            modules += _imports(part)
    return CodeNames(tuple(variables), frozenset(attributes), tuple(modules))


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def _texts(constants: tuple[object, ...]) -> Iterator[str]:
    """Yield the short texts among constants, and in tuples of them: keywords of calls and of patterns."""
    for constant in constants:
        if isinstance(constant, str) and len(constant) <= _LONGEST_TEXT:
            yield constant
        elif isinstance(constant, (tuple, frozenset)):
            yield from _texts(tuple(constant))


def _reads(code: types.CodeType) -> Iterator[tuple[str, str]]:
    """Yield each operation that reads a name, with the name; `dis` would take a hundred times as long."""
    high, raw = 0, code.co_code
    for op, low in zip(raw[::2], raw[1::2], strict=True):
        if op == dis.EXTENDED_ARG:
            high = (high | low) << 8
            continue
        if (operation := _NAMING.get(op)) is not None:
            yield operation, code.co_names[(high | low) >> _FLAG_BITS.get(operation, 0)]
        high = 0


def _imports(code: types.CodeType) -> list[tuple[str, int]]:
    """Return the modules that the code imports, and submodules that it may import from them."""
    modules, level, name = [], 0, ""
    previous: list[dis.Instruction] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            loaded = previous[-2].argval if len(previous) > 1 else 0
            level, name = loaded if type(loaded) is int else 0, instruction.argval
            modules.append((name, level))
        elif instruction.opname == "IMPORT_FROM":
            modules.append((f"{name}.{instruction.argval}" if name else instruction.argval, level))
        previous = [*previous[-1:], instruction]
    return modules


def absolute(module: tuple[str, int], package: str | None) -> str | None:
    """Return the name of an imported module as `sys.modules` has it, None if it has no package to start from."""
    name, level = module
    if not level:
        return name
    above = (package or "").split(".")
    parts = above[: len(above) - level + 1]
    return ".".join([*parts, name] if name else parts) if package and parts else None


class ChangingLine(NamedTuple):
    """Line that may change what a name stands for: `rank` 0 where it is stored, more where its contents change."""

    rank: int
    code: types.CodeType
    line: int


def changing_lines(codes: Sequence[types.CodeType], name: str) -> list[ChangingLine]:
    """Return the lines that change a variable, an attribute or the container under this name."""
    parts = [part for code in codes for part in nested(code)]
    return [ChangingLine(rank, part, line) for part in parts for rank, line in _changes(part, name)]


def changing_line(codes: Sequence[types.CodeType], name: str) -> Line | None:
    """Return the line that most likely changes what is under this name, None if none does."""
    first = min(changing_lines(codes, name), key=lambda c: c.rank, default=None)
    return None if first is None else (first.code, first.line)


def storing_line(codes: Sequence[types.CodeType], name: str) -> Line | None:
    """Return the first line that rebinds a name that outlives the call, None if none does."""
    return next(((c.code, c.line) for c in changing_lines(codes, name) if not c.rank), None)


def may_rebind(codes: Sequence[types.CodeType]) -> bool:
    """Return whether code stores a name that outlives the call, except one that only functions inside of it share."""
    operations = [(part, set(part.co_code[::2])) for code in codes for part in nested(code)]
    return any(not (_OUTLIVING if part.co_freevars else _NAMED).isdisjoint(ops) for part, ops in operations)


def naming_line(codes: list[types.CodeType], name: str) -> Line | None:
    """Return the first line that names a variable or an attribute, None if none does."""
    for part in [part for code in codes for part in nested(code)]:
        line = part.co_firstlineno
        for instruction in dis.get_instructions(part):
            line = _line(instruction) or line
            if instruction.argval == name and instruction.opname.startswith("LOAD_"):
                return part, line
    return None


def _changes(code: types.CodeType, name: str) -> Iterator[tuple[int, int]]:
    """Yield each line that may change what a name stands for: 0 where it is stored, 1 where its contents are."""
    line, loaded_at, changed_at = code.co_firstlineno, set(), set()
    for instruction in dis.get_instructions(code):
        line = _line(instruction) or line
        does = _effect(instruction)
        if instruction.argval == name and does == "store":
            yield 0, line
        if instruction.argval == name and instruction.opname.startswith("LOAD_"):
            loaded_at.add(line)
        if does == "change":
            changed_at.add(line)
    yield from [(1, line) for line in sorted(loaded_at & changed_at)]
    yield from [(2, line) for line in sorted(changed_at - loaded_at)]


def _effect(instruction: dis.Instruction) -> str:
    """Return "store" where a name that outlives the call is stored, "change" where a container may change."""
    operation = instruction.opname
    if operation.startswith(_STORES):
        return "change" if operation.endswith("_SUBSCR") else "" if "FAST" in operation else "store"
    return "change" if operation.startswith("LOAD_") and instruction.argval in _CHANGES else ""


def _line(instruction: dis.Instruction) -> int | None:
    """Return the line that an instruction is on; the attribute changed its meaning in Python 3.13."""
    positions = instruction.positions
    return None if positions is None else positions.lineno
