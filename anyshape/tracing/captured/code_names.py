"""Names in code objects: globals, attributes and modules that a function may read, and the lines that change them."""

from __future__ import annotations

import dis
import functools
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from anyshape.support.lazy_namedtuple import NamedTuple

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
    for part in _nested(code):
        reads = list(_reads(part))
        attributes.update(name for _, name in reads)
        attributes.update(name for text in _texts(part.co_consts) for name in re.findall(_IDENTIFIER, text))
        variables.update(dict.fromkeys([name for operation, name in reads if operation in _GLOBALS]))
        if _IMPORT in part.co_code[::2]:
            modules += _imports(part)
    return CodeNames(tuple(variables), frozenset(attributes), tuple(modules))


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _nested(constant)


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
        operation = _NAMING.get(op)
        if operation is not None:
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
    parts = [part for code in codes for part in _nested(code)]
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
    operations = [(part, set(part.co_code[::2])) for code in codes for part in _nested(code)]
    return any(not (_OUTLIVING if part.co_freevars else _NAMED).isdisjoint(ops) for part, ops in operations)


def naming_line(codes: list[types.CodeType], name: str) -> Line | None:
    """Return the first line that names a variable or an attribute, None if none does."""
    for part in [part for code in codes for part in _nested(code)]:
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
