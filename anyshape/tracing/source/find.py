"""Find the syntax tree that the code of a function was compiled from.

A file may have been edited since it was loaded, so a tree counts only if compiling it gives the code of the function.
What becomes of trees, this module must not know.
"""

import __future__

import ast
import functools
import inspect
import linecache
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anyshape.support.true_types import has_type
from anyshape.tracing.source.rebuild import FILE, Found, Function, code_of, compile_quietly, constants, nested

CHANGED = "its file has changed since it was imported"
_KNOWN: dict[Any, Found | str] = {}  # single operations only, so threads need no lock
_MOST = 128
_FUTURE = functools.reduce(int.__or__, [getattr(__future__, n).compiler_flag for n in __future__.all_feature_names])
_FUTURE &= ~inspect.CO_NESTED  # the flag of a feature that all have
_UNREADABLE = (SyntaxError, ValueError, OverflowError)
_IMPORTERS = {"_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap_external", "zipimport"}
_DEFINED = (type, types.FunctionType, types.BuiltinFunctionType)
_ATTEMPTS = 2  # at the end of a statement
_KINDS = {
    inspect.CO_GENERATOR: "a generator",
    inspect.CO_COROUTINE: "async",
    inspect.CO_ASYNC_GENERATOR: "an async generator",
}
_COMPARED = (
    "co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_code", "co_names", "co_varnames",
    "co_freevars", "co_cellvars", "co_exceptiontable",
)  # fmt: skip


def syntax_of(code: types.CodeType, module_globals: Mapping[str, Any] | None) -> Found | str:
    """Return the syntax of a function by its code, or why it cannot be had, as users would say it of the function."""
    key = code, code.co_qualname, code.co_filename, code.co_linetable  # equal code objects may differ in these
    try:
        known = _KNOWN.get(key)
    except TypeError:  # not hashable: no compiler made it
        return CHANGED
    if known is None:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        known = _KNOWN[key] = own_syntax_of(code, module_globals)
    return known


def own_syntax_of(
    code: types.CodeType, module_globals: Mapping[str, Any] | None, generators: bool = False
) -> Found | str:
    """Return what `syntax_of` does, for a caller who may change it. `generators`: also of what makes generators."""
    try:
        return _unread(code, generators) or _search(code, dict(module_globals or {}))
    except (RecursionError, MemoryError):
        return "too deeply nested to be read"


def _unread(code: types.CodeType, generators: bool = False) -> str:
    """Return why a function is not looked for; "" if it is."""
    if not code.co_flags & inspect.CO_OPTIMIZED or (code.co_name.startswith("<") and code.co_name != "<lambda>"):
        return "not a function"
    flags = code.co_flags & ~inspect.CO_GENERATOR if generators else code.co_flags
    return next((kind for flag, kind in _KINDS.items() if flags & flag), "")


def _search(code: types.CodeType, module_globals: dict[str, Any]) -> Found | str:
    file = code.co_filename
    lines = linecache.getlines(file, module_globals)
    loader = getattr(module_globals.get("__spec__"), "loader", None) or module_globals.get("__loader__")
    while lines:
        if (result := _in_lines(code, lines, module_globals, loader) or _by_hook(code, loader)) is not None:
            return result
        linecache.checkcache(file)  # lines of an older version may be stored, as after a reload
        if (newer := linecache.getlines(file, module_globals)) == lines:
            break
        lines = newer
    if not lines:
        is_text = file.startswith("<") and not file.startswith(("<frozen", "<stdin"))
        return "made by exec or -c, without source" if is_text else "no source"
    is_known = type(loader).__module__ in {*_IMPORTERS, "builtins"}
    return CHANGED if is_known else f"{CHANGED}, or {type(loader).__name__} changed its code"


# -- lines to trees ---------------------------------------------------------------------------------------------------


def _in_lines(code: types.CodeType, lines: list[str], module_globals: dict[str, Any], loader: Any) -> Found | None:
    """Return the function from its own lines, else from the tree of the whole file, else from other lines of it."""
    flags, line = code.co_flags & _FUTURE, code.co_firstlineno
    hook = loader if type(loader).__module__ == "_pytest.assertion.rewrite" and _has_rewritten_asserts(code) else None
    for text in _blocks(code, lines):
        if (trees := _trees(text, flags, hook)) is None:
            continue
        class_name = _class_of(code.co_qualname)
        # a notebook and Python's prompt compile statement by statement: none sees the imports of the others
        for imported in (_probably_imported(code, module_globals), frozenset()):
            if (result := _in_trees(code, trees, class_name, flags, imported, line)) is not None:
                return result
        break
    if (trees := _trees_of_file("".join(lines), flags, hook)) is None:
        return None
    imported = _imported(trees[1])
    for first in (line, None):
        if (result := _in_trees(code, trees, None, flags, imported, first)) is not None:
            node = pickle.loads(pickle.dumps(result.node, 5))  # the tree of a file is shared
            # edits above may have moved it: the code that runs has other lines then
            return result._replace(node=ast.increment_lineno(node, line - _first_line(node, line)))
    return None


def _probably_imported(code: types.CodeType, module_globals: dict[str, Any]) -> frozenset[str]:
    """Return names of globals that the code may read, and that were defined in other modules by what they are."""
    home = module_globals.get("__name__")
    values = {n: module_globals[n] for part in nested(code) for n in part.co_names if n in module_globals}
    modules = [n for n, value in values.items() if has_type(value, types.ModuleType)]
    return frozenset(modules + [n for n, v in values.items() if has_type(v, _DEFINED) and v.__module__ != home])


def _imported(tree: ast.Module) -> frozenset[str]:
    """Return the names that imports bind in a module, outside of its functions and classes."""
    names: set[str] = set()
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            stack += ast.iter_child_nodes(node)
    return frozenset(names)


def _blocks(code: types.CodeType, lines: list[str]) -> Iterator[str]:
    """Yield texts that may be the statement with the code, at its lines in the file; shorter ones are not valid."""
    last = max([code.co_firstlineno, *[end or 0 for part in nested(code) for _, end, _, _ in part.co_positions()]])
    for first in _first_lines(code, lines):
        indentation, end = _indentation(lines[first - 1]), last
        opening = "\n" * (first - 2) + "if 1:\n" if indentation else "\n" * (first - 1)
        for _ in range(_ATTEMPTS):
            while end < len(lines) and _indentation(lines[end], other=indentation + 1) > indentation:
                end += 1
            yield opening + "".join(lines[first - 1 : end])
            end += 1


def _first_lines(code: types.CodeType, lines: list[str]) -> Iterator[int]:
    """Yield the line of a function; for a lambda also lines above where its statement may begin."""
    if code.co_firstlineno > len(lines):
        return
    yield code.co_firstlineno
    indentation = _indentation(lines[code.co_firstlineno - 1])
    for n in range(code.co_firstlineno - 1, 0, -1):
        if code.co_name != "<lambda>" or not indentation:
            return
        if _indentation(lines[n - 1], other=indentation) < indentation:
            yield n
            indentation = _indentation(lines[n - 1])


def _indentation(line: str, other: int = 0) -> int:
    """Return the number of columns before the code of a line; `other` for a line that begins no statement."""
    text = line.lstrip()
    return other if not text or text[0] in "#)]}" else len(line[: len(line) - len(text)].expandtabs())


def _trees(text: str, flags: int, hook: Any) -> tuple[ast.Module, ast.Module] | None:
    """Return the tree of a text, and the tree that was compiled: other than the first where asserts are rewritten."""
    try:
        tree = compile_quietly(text, flags | ast.PyCF_ONLY_AST)
        if hook is None:
            return tree, tree
        rewritten = compile_quietly(text, flags | ast.PyCF_ONLY_AST)
        sys.modules[type(hook).__module__].rewrite_asserts(rewritten, text.encode(), FILE, hook.config)
        return tree, rewritten
    except _UNREADABLE:
        return None


_trees_of_file = functools.lru_cache(1)(_trees)  # a tree takes some 2 kB for each line


def _has_rewritten_asserts(code: types.CodeType) -> bool:
    return any(name.startswith("@py") for part in nested(code) for name in part.co_names)


# -- trees to functions -----------------------------------------------------------------------------------------------


def _class_of(qualname: str) -> str | None:
    """Return the innermost class around a function, None if there is none."""
    parts = qualname.split(".")[:-1]
    while parts:
        if (last := parts.pop()) == "<locals>":
            parts.pop()
        elif not last.startswith("<"):
            return last
    return None


def _in_trees(
    code: types.CodeType,
    trees: tuple[ast.Module, ast.Module],
    class_name: str | None,
    flags: int,
    imported: frozenset[str],
    line: int | None,
) -> Found | None:
    """Return the function that gives the code in a tree, which is in the class `class_name`, and begins in a line.

    Without a line it may be anywhere, with the same lines and columns but for its first line.
    """
    tree, rewritten = trees
    changed = () if rewritten is tree else _functions(rewritten, line, class_name)
    twins = {(n.lineno, n.col_offset): n for n, _ in changed}
    tables = [part.co_linetable for part in nested(code)]
    result = None
    for node, name in _functions(tree, line, class_name):
        if getattr(node, "name", "<lambda>") != code.co_name:
            continue
        twin = twins.get((node.lineno, node.col_offset), node)
        try:
            again = code_of(Found(twin, name, flags, imported), code.co_freevars)
        except _UNREADABLE:
            continue
        if _same(again, code):
            if [part.co_linetable for part in nested(again)] == tables:
                return Found(node, name, flags, imported)  # one of several equal ones in a line: by its columns
            result = result if line is None else Found(node, name, flags, imported)
    return result


def _functions(tree: ast.AST, line: int | None, class_name: str | None) -> Iterator[tuple[Function, str | None]]:
    """Yield the functions that begin in a line, or all, each with the class around it."""
    stack = [(tree, class_name)]
    while stack:
        node, name = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and line in (None, _first_line(node, line)):
            yield node, name
        inside = node.body if isinstance(node, ast.ClassDef) else ()
        stack += [
            (child, node.name if isinstance(node, ast.ClassDef) and child in inside else name)
            for child in ast.iter_child_nodes(node)
            if line is None or _first_line(child, line) <= line <= (getattr(child, "end_lineno", None) or line)
        ]


def _first_line(node: ast.AST, default: Any) -> int:
    decorators = getattr(node, "decorator_list", None)
    return getattr(decorators[0] if decorators else node, "lineno", default)


def _same(a: types.CodeType, b: types.CodeType) -> bool:
    """Return whether two code objects do the same; lines, and the functions around them, do not count."""
    return (
        all(getattr(a, name) == getattr(b, name) for name in _COMPARED)
        and not (a.co_flags ^ b.co_flags) & ~inspect.CO_NESTED
        and _same_constants(constants(a), constants(b))
    )


def _same_constants(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, types.CodeType):
        return _same(a, b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same_constants, a, b))
    if has_type(a, frozenset):
        return a == b and sorted(map(repr, a)) == sorted(map(repr, b))
    return repr(a) == repr(b) if has_type(a, (float, complex, slice)) else a == b  # -0.0, NaN


# -- import hooks -----------------------------------------------------------------------------------------------------


def _by_hook(code: types.CodeType, loader: Any) -> Found | None:
    """Return the function if its loader compiles files in its own way, and gives this code today."""
    hook = getattr(type(loader), "source_to_code", None)
    if hook is None or getattr(hook, "__module__", None) in _IMPORTERS:
        return None
    try:
        data = loader.get_data(code.co_filename)
        module = _hooked(loader.source_to_code, data, code.co_filename)
        if not any(part.co_firstlineno == code.co_firstlineno and _same(part, code) for part in nested(module)):
            return None
        tree = compile_quietly(data, code.co_flags & _FUTURE | ast.PyCF_ONLY_AST)
    except Exception:  # whatever a hook raises
        return None
    nodes = [
        (node, name)
        for node, name in _functions(tree, code.co_firstlineno, None)
        if getattr(node, "name", "<lambda>") == code.co_name and _may_be_at(node, code)
    ]
    return Found(*nodes[0], code.co_flags & _FUTURE, _imported(tree)) if len(nodes) == 1 else None


@functools.lru_cache(2)
def _hooked(source_to_code: Callable[[bytes, str], types.CodeType], data: bytes, file: str) -> types.CodeType:
    return source_to_code(data, file)


def _may_be_at(node: Function, code: types.CodeType) -> bool:
    """Return whether instructions of the code are at the columns of the body of a lambda."""
    if not isinstance(node, ast.Lambda):
        return True
    body = node.body
    return (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in code.co_positions()
