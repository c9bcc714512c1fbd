"""Compile syntax trees in the scopes of a function, and make functions of them that share what it has.

How trees are found and changed, this module must not know.
"""

import ast
import inspect
import re
import sys
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from anyshape.support.lazy_dataclass import NamedTuple

Function: TypeAlias = ast.FunctionDef | ast.Lambda
FILE = "<anyshape reads a function>"  # in warnings of the compiler, which users had when their module was loaded
_IGNORED = ("ignore", None, Warning, re.compile(re.escape(FILE)), 0)


class Found(NamedTuple):
    """Syntax of a function, with the lines and columns of its file.

    - `class_name` is the innermost class around it, by which its private names are mangled.
    - `flags` are set by its lines `from __future__ import`, for `compile`.
    - `imported` has names that its module imports: Python compiles `name.method()` in another way for these.
    """

    node: Function
    class_name: str | None
    flags: int
    imported: frozenset[str]


def compile_quietly(source: Any, flags: int) -> Any:
    """Compile or parse without warnings, whatever the filters of users are."""
    if not warnings.filters or warnings.filters[0] != _IGNORED:
        warnings.filterwarnings("ignore", module=re.escape(FILE))
    return compile(source, FILE, "exec", flags, dont_inherit=True)


def code_of(source: Found, names: Sequence[str]) -> types.CodeType:
    """Compile a function in its class, and in a function whose variables have these names."""
    module, depth = _in_scopes(source, names)
    code = compile_quietly(module, source.flags)
    for _ in range(depth + 1):
        code = code_objects(code)[-1]  # decorators and defaults are compiled before
    while code.co_name.startswith("<generic parameters of "):
        code = code_objects(code)[-1]
    return code


def _in_scopes(source: Found, names: Sequence[str]) -> tuple[ast.Module, int]:
    """Return a module with a function in its scopes, and the number of these scopes."""
    node, class_name = source.node, source.class_name
    lines = []
    if names:
        defined = class_name or getattr(node, "name", names[0])
        is_global = defined not in names  # what is defined there is a name of the module then
        lines = [f"def outer({', '.join(names)}):" + f"\n global {defined}" * is_global]
    if class_name is not None:
        lines.append(" " * len(lines) + f"class {class_name}:")
    scope: Any = ast.parse("\n".join([*lines, " " * len(lines) + "pass"]))
    module = scope
    for _ in lines:
        scope = scope.body[-1]
    scope.body[-1] = node if isinstance(node, ast.stmt) else ast.copy_location(ast.Expr(node), node)
    if source.imported:
        aliases = [ast.alias(name, lineno=1, col_offset=0) for name in sorted(source.imported)]
        module.body.insert(0, ast.Import(aliases, lineno=1, col_offset=0))
    return module, len(lines)


def code_objects(code: types.CodeType) -> list[types.CodeType]:
    """Return the code objects of functions, classes and comprehensions directly in one."""
    return [c for c in code.co_consts if isinstance(c, types.CodeType)]


def constants(code: types.CodeType, qualname: str = "") -> tuple[Any, ...]:
    """Return the constants of a code object. That of a class has its path in the module, which `qualname` replaces."""
    if code.co_flags & inspect.CO_OPTIMIZED:
        return code.co_consts
    return tuple([qualname if c == code.co_qualname else c for c in code.co_consts])


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those in it, at any depth."""
    yield code
    for part in code_objects(code):
        yield from nested(part)


def built(
    node: ast.FunctionDef,
    source: Found,
    function: types.FunctionType,
    code: types.CodeType,
    extra: Mapping[str, Any],
) -> types.FunctionType:
    """Return a function like another whose code is `code`, with the body of a tree, and further names that it reads."""
    return bound(compiled(node, source, code, tuple(extra)), function, extra)


def compiled(node: ast.FunctionDef, source: Found, code: types.CodeType, extra_names: Sequence[str]) -> types.CodeType:
    """Compile a changed copy of the tree of a function, whose code is `code`; the extra names are variables around it.

    Functions inside whose names begin with `__kept` have the name of the function around them, as tracebacks show it.
    """
    made = code_of(source._replace(node=node), (*code.co_freevars, *extra_names))
    flags = made.co_flags & ~inspect.CO_NESTED | code.co_flags & inspect.CO_NESTED
    return _renamed(made, code.co_name, code.co_qualname, code.co_filename).replace(co_flags=flags)


def _renamed(code: types.CodeType, name: str, qualname: str, file: str) -> types.CodeType:
    parts = []
    for part in constants(code, qualname):
        if isinstance(part, types.CodeType):
            if part.co_name.startswith("__kept"):
                part = _renamed(part, name, qualname, file)
            else:
                inside = part.co_qualname.startswith(code.co_qualname + ".")
                path = qualname + part.co_qualname[len(code.co_qualname) :] if inside else part.co_qualname
                part = _renamed(part, part.co_name, path, file)
        parts.append(part)
    return code.replace(co_consts=tuple(parts), co_name=name, co_qualname=qualname, co_filename=file)


def bound(code: types.CodeType, function: types.FunctionType, extra: Mapping[str, Any]) -> types.FunctionType:
    """Return a function with compiled code that is like another, and shares its cells, globals and attributes."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells |= {name: types.CellType(value) for name, value in extra.items()}
    closure = tuple([cells[name] for name in code.co_freevars])
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    made.__doc__ = function.__doc__
    made.__module__ = function.__module__
    made.__dict__ = function.__dict__
    if sys.version_info >= (3, 12):
        made.__type_params__ = function.__type_params__
    if sys.version_info >= (3, 14) and function.__annotate__ is not None:
        made.__annotate__ = function.__annotate__  # annotations are evaluated when they are read
    else:
        made.__annotations__ = function.__annotations__
    return made
