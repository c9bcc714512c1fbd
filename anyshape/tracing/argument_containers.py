"""Containers of arguments, which a traced function must leave as they are.

A trace gives the function lists, dicts and dataclasses of its own. A part that the function replaced in them would be
lost for the caller. Writes to the elements of arrays are not.
"""

import ast
import collections
import dis
import functools
import itertools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import optree

from anyshape.errors import MutationError, StateWarning
from anyshape.errors.messages import expression_at, show_expression
from anyshape.graph.ir.builder import Traced
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.user_stack import calls_user_function, tell
from anyshape.ops.subgraph_call import code_that_is_read
from anyshape.support.freezing import freeze
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.true_types import has_type
from anyshape.tracing.captured.code_origin import code_of, line_of
from anyshape.tracing.pytrees import NAMESPACE, PYTHON_SCALARS, Setting, argument_path, named, parameter_names, wrapped
from anyshape.tracing.source.read import as_read, makes_lists
from anyshape.tracing.source.stepping import skip_library

_CONTAINERS = (list, tuple, dict, collections.deque)
_FORMS = {
    **dict.fromkeys(("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR"), "{} = ..."),
    **dict.fromkeys(("DELETE_SUBSCR", "DELETE_ATTR"), "del {}"),
    **dict.fromkeys(("CALL", "CALL_KW", "CALL_FUNCTION_EX"), "{}"),
}  # how a message shows what an instruction changes
_UNNAMED = "[<flat index"  # starts a part of a registered class that has no name
_METHODS = {
    *("append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "remove", "clear", "reverse"),
    *("rotate", "sort", "update", "setdefault", "popitem", "move_to_end"),
    *("__setitem__", "__delitem__", "__setattr__", "__delattr__", "__iadd__", "__ior__"),
}  # of containers, which change them


def keeping(
    function: Callable[..., Any], names: Sequence[str] | None = None, *, may_be_rows: bool = False
) -> Callable[..., Any]:
    """Return a function that raises MutationError unless the containers in its arguments are as before the call.

    A changed container that the function returns is logged: its change is in the result, though not at the caller.
    `names` are the names of the positional parameters. Without them, the signature of the function has them.
    `may_be_rows` says whether lists in the result may have any number of items.
    """

    @calls_user_function
    @functools.wraps(function, assigned=("__name__",), updated=())
    def checked(*args, **kwargs):
        each: list[tuple[Any, Any]] = [((*[None] * i, x), {}) for i, x in enumerate(args)]
        each += [((), {name: x}) for name, x in kwargs.items()]
        before = [_parts(*one) for one in each]
        run = as_read(function)
        result = run(*args, **kwargs)
        if run is not function:
            skip_library()  # in a debugger that the function called
        if run is not function or makes_lists():
            result = code_that_is_read().released(result, may_be_rows=may_be_rows)
        for one, parts, argument in zip(each, before, (*args, *kwargs.values()), strict=True):
            if (change := _first_change(parts, functools.partial(_parts, *one))) is None:
                continue
            error, where = _error(function, change, parameter_names(function) if names is None else names)
            if not _is_in(result, argument):
                raise error
            first = str(error).splitlines()[0]
            tell(f"{first}\n  use the result, which has the change", StateWarning, where)
        return result

    return checked


def _is_in(tree, container) -> bool:
    """Return whether a container itself is a tree or a part of it."""
    is_it = lambda x: x is container
    return any(map(is_it, optree.tree_leaves(tree, is_leaf=is_it, none_is_leaf=True, namespace=NAMESPACE)))


@dataclass(frozen=True, slots=True)
class _Change:
    """First change of a container: the path of a part in it, and of the container; what was asked of it."""

    path: str
    container: str
    value: Any  # of the part, None where it has none
    kind: str


_SEEN = {
    "replaced": ("{path} = ...", "would keep the old {path}"),
    "added": ("{path} = ...", "would not get {path}"),
    "removed": ("del {path}", "would keep {path}"),
    "moved": ("{container}", "would keep the old order of {container}"),
    "remade": ("{path}", "would keep the old {path}"),
}  # what is asked of a container, and what the caller sees of it


def _error(
    function: Callable[..., Any], change: _Change, names: Sequence[str]
) -> tuple[MutationError, SourceLine | None]:
    """Return the error for a change, and the line of the function that made it, None if that cannot be told."""
    path, container = [named(text.partition(_UNNAMED)[0], names) for text in (change.path, change.container)]
    asked, problem = [text.format(path=path, container=container) for text in _SEEN[change.kind]]
    where: SourceLine | None
    written = _line_of_change(function, path, container)
    if written is not None:
        asked, where = written
    else:
        made = change.value.made_at() if isinstance(change.value, Traced) else None
        where = line_of(function) if made is None else SourceLine(made.file, made.line, made.function)
    advice = f"change a copy of {_root(path)}, and return it"
    return MutationError(asked, f"the caller {problem}", advice, where), where


# -- changes -----------------------------------------------------------------------------------------------------


def _is_end(x) -> bool:
    """Return True for a setting and an empty container, which have no parts."""
    kind = type(x)
    return kind is Setting or (issubclass(kind, _CONTAINERS) and not x)


def _parts(args, kwargs) -> tuple[list[Any], Any]:
    """Return all parts of arguments that have no parts themselves, and their structure."""
    leaves, tree = optree.tree_flatten(wrapped((args, kwargs)), is_leaf=_is_end, none_is_leaf=True, namespace=NAMESPACE)
    return leaves, tree


def _first_change(before: tuple[list[Any], Any], read: Callable[[], tuple[list[Any], Any]]) -> _Change | None:
    """Return the first change of arguments since then, None if there is none."""
    after = read()
    if before[1] == after[1] and all(map(_is_same, before[0], after[0])):
        return None
    old, new = _by_path(before), _by_path(after)
    again = _by_path(read())
    for path, (accessor, x) in new.items():
        is_made = path in again and not _is_same(x, again[path][1])  # by the class, each time that it is flattened
        if path in old and not is_made and not _is_same(old[path][1], x):
            return _change(accessor, x, "replaced")
    return _other_change(old, new) or _changed_argument(before[1], after[1])


Parts = dict[str, tuple[Any, Any]]  # the accessor and the value of each part, by its path


def _other_change(old: Parts, new: Parts) -> _Change | None:
    """Return the first part that was removed, added or moved, None if there is none."""
    removed, added = _missing(old, new), _missing(new, old)
    for parts, paths, others in ((old, removed, added), (new, added, removed)):
        whole = next((path for path in paths if any(map(_within(path), others))), None)
        if whole is not None:
            return _change(*parts[whole], "replaced")
    if removed or added:
        return _change(*old[removed[0]], "removed") if removed else _change(*new[added[0]], "added")
    return _moved(old, new)


def _missing(parts: Parts, others: Parts) -> list[str]:
    """Return the paths that others lack; an empty container that has parts there is not missing."""
    paths = [path for path in parts if path not in others]
    return [path for path in paths if not (_is_end(parts[path][1]) and any(map(_within(path), others)))]


def _moved(old: Parts, new: Parts) -> _Change | None:
    """Return the first part that stands where another one was, None if the order is the same."""
    pair = next(((old[x][0], new[y][0]) for x, y in zip(old, new, strict=True) if x != y), None)
    if pair is None:
        return None
    shared = [*itertools.takewhile(lambda entries: entries[0] == entries[1], zip(*pair, strict=False))]
    return _change(pair[1][: len(shared) + 1], None, "moved")


def _changed_argument(before, after) -> _Change | None:
    """Return the first argument with another structure, as of a container of another type, None if there is none."""
    for head, (old, new) in enumerate(zip(before.children(), after.children(), strict=True)):
        if not (old.is_leaf() or new.is_leaf()):
            for key, x, y in zip(old.entries(), old.children(), new.children(), strict=True):
                if x != y:
                    path = str(key) if head else f"args[{key}]"
                    return _Change(path, path, None, "remade")
    return None


def _change(accessor, value, kind: str) -> _Change:
    container = accessor[:-1] if len(accessor) > 2 else accessor  # an argument is a container itself
    return _Change(argument_path(accessor), argument_path(container), value, kind)


def _within(path: str) -> Callable[[str], bool]:
    """Return a test whether another path is of a part of this one."""
    return lambda other: other.startswith((f"{path}[", f"{path}."))


def _by_path(parts: tuple[list[Any], Any]) -> Parts:
    leaves, tree = parts
    pairs = zip(tree.accessors(), leaves, strict=True)
    return {argument_path(accessor): (accessor, x) for accessor, x in pairs if len(accessor) > 1}


def _is_same(x, y) -> bool:
    """Return whether two parts without parts are one object, or equal values that cannot change."""
    if x is y:
        return True
    if isinstance(x, Setting) and isinstance(y, Setting):
        return x.value is y.value or bool(freeze(x.value) == freeze(y.value))
    if type(x) is not type(y):
        return False
    return has_type(x, _CONTAINERS) or (has_type(x, PYTHON_SCALARS) and bool(freeze(x) == freeze(y)))


# -- lines -------------------------------------------------------------------------------------------------------


def _line_of_change(function: Callable[..., Any], path: str, container: str) -> tuple[str, SourceLine] | None:
    """Return the statement of the function that changes a part, as written, and its line; None if there is none."""
    code, steps = code_of(function), _steps_of(path)
    agreeing = None
    for target, is_method, text, line in [] if code is None else _changes(code):
        if ast.unparse(target) == (container if is_method else path):
            return text, line
        if agreeing is None and _agree(_steps(target), steps):
            agreeing = text, line
    return agreeing


_ANY: Any = object()  # key that is computed


def _steps_of(path: str) -> list[Any]:
    """Return the variable and the keys of a path, none for keys that do not print as Python reads them."""
    try:
        return _steps(ast.parse(path, mode="eval").body)
    except SyntaxError:
        return []


def _steps(node: ast.AST) -> list[Any]:
    """Return the variable that an expression starts from, and its attributes and keys; none for a computed one."""
    if isinstance(node, ast.Name):
        return [node.id]
    if not isinstance(node, (ast.Attribute, ast.Subscript)) or not (before := _steps(node.value)):
        return []
    if isinstance(node, ast.Attribute):
        return [*before, f".{node.attr}"]
    return [*before, node.slice.value if isinstance(node.slice, ast.Constant) else _ANY]


def _agree(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    """Return whether one of two expressions may be the other, or a part of it."""
    pairs = zip(xs, ys, strict=False)
    return bool(xs and ys) and all(x == y or x is _ANY or y is _ANY for x, y in pairs)


def _root(path: str) -> str:
    """Return the variable that a path starts from."""
    return path.partition("[")[0].partition(".")[0] if not path.startswith("args[") else path.partition("]")[0] + "]"


def _changes(code: types.CodeType) -> Iterator[tuple[ast.AST, bool, str, SourceLine]]:
    """Yield what code may change: the part, or the container if that is by a method; the text and the line."""
    for instruction in dis.get_instructions(code):
        form, lines = _FORMS.get(instruction.opname), instruction.positions
        node = None if form is None else expression_at(code, instruction.offset)
        change = None if node is None or form is None else _changed_by(node, form)
        if change is not None and lines is not None and lines.lineno is not None:
            yield *change, SourceLine(code.co_filename, lines.lineno, code.co_name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _changes(constant)


def _changed_by(node: ast.AST, form: str) -> tuple[ast.AST, bool, str] | None:
    """Return the part that an expression changes, or the container if that is by a method, and the text."""
    if isinstance(node, ast.Assign):
        node = node.targets[0]
    if isinstance(node, ast.Call):
        method = node.func
        is_change = isinstance(method, ast.Attribute) and method.attr in _METHODS
        return (method.value, True, show_expression(node)) if is_change else None  # type: ignore[attr-defined]
    is_part = isinstance(node, (ast.Subscript, ast.Attribute))
    return (node, False, form.format(show_expression(node))) if is_part else None
