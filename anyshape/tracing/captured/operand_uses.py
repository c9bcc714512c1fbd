"""Tell large arrays that a function uses as operands alone from those whose values Python may have read.

The first kind needs no comparison: a program reads its operands in each run. An array counts as one if each expression
that names it stands where the trace made an operand of it.
"""

import ast
import itertools
import re
import types
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.operand_sites import Site, Sites, bases_of, sites
from anyshape.support.true_types import has_type
from anyshape.tracing.captured import code_origin
from anyshape.tracing.captured.containers import SMALL, Holder, size_in_bytes
from anyshape.tracing.captured.watch import Watch
from anyshape.tracing.source.find import syntax_of
from anyshape.tracing.source.name_flow import INNER, bound, parts, walk

Position: TypeAlias = tuple[str, int | None, int | None, int | None, int | None]
_OF_SHAPE = {"shape", "ndim", "size", "dtype", "nbytes", "itemsize"}  # watched for all arrays
_BY_TEXT = code_origin.BY_TEXT | {"locals", "globals", "eval", "exec"}
_OF_NEW_OBJECTS = {"__init__", "__post_init__", "__new__"}  # what these name belongs to an object that they make


def arrays_that_python_reads(watch: Watch, constants: Sequence[np.ndarray]) -> set[int]:
    """Return the ids of large arrays whose values Python may have read while a function was traced.

    `constants` belong to its program. Code of packages may read arrays of their objects, and of other classes.
    """
    large = {id(x): x for _, x in watch.arrays if size_in_bytes(x) > SMALL}
    if not large:
        return set()
    memory = {id(base) for x in constants for base in bases_of(x)}
    operands = {
        i: x for i, x in large.items()
        if type(x) is np.ndarray and x.dtype.names is None and i not in watch.of_packages
        and any(id(base) in memory for base in bases_of(x))
    }  # fmt: skip
    return large.keys() - _used_as_operands(watch, operands)


def _used_as_operands(watch: Watch, arrays: Mapping[int, np.ndarray]) -> set[int]:
    """Return the ids of those arrays, by id, that reachable code uses as operands alone."""
    names = _names_of(watch, arrays)
    code = _Code(watch) if names else None
    return {
        i for i, of_array in names.items() if code is not None and _Uses(code, sites(arrays[i])).are_sites(of_array)
    }


def _names_of(watch: Watch, arrays: Mapping[int, Any]) -> dict[int, set[str]]:
    """Return the names of those arrays that variables and attributes alone hold."""
    names = defaultdict[int, set[str]](set)
    others = {id(x) for _, thing in watch.things if isinstance(thing, (tuple, frozenset)) for x in thing}
    for holder, values in watch.readings():
        held = [(i, id(x)) for i, x in enumerate(values) if id(x) in arrays]
        own = _names_in(holder)
        for i, number in held:
            names[number].add(own[i] if own else "")
    return {i: of_array for i, of_array in names.items() if i not in others and "" not in of_array}


def _names_in(holder: Holder) -> tuple[str, ...]:
    """Return the names by which a holder holds, () if it has none."""
    if holder.names == ("cell_contents",) and holder.label.isidentifier():
        return (holder.label,)
    return holder.names if holder.kind in ("variables", "attributes") else ()


class _Function:
    """Syntax of a function, with the nodes around each node."""

    def __init__(self, node: Any, file: str, is_initial: bool) -> None:
        self.node, self.file, self.is_initial = node, file, is_initial
        self.around = {id(inner): outer for outer in walk(node) for inner in parts(outer)}
        self._bound: dict[int, set[str]] = {}

    def nodes_around(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the innermost first."""
        outer = self.around.get(id(node))
        while outer is not None:
            yield outer
            outer = self.around.get(id(outer))

    def binding(self, node: ast.Name) -> ast.AST | None:
        """Return the innermost function around a name that binds it, None if none does."""
        functions = [n for n in self.nodes_around(node) if isinstance(n, INNER) and not isinstance(n, ast.ClassDef)]
        return next((f for f in functions if node.id in self._names_in(f)), None)

    def _names_in(self, function: Any) -> set[str]:
        if id(function) not in self._bound:
            body = function.body if type(function.body) is list else [function.body]
            outside = {n for part in walk(function) if isinstance(part, (ast.Global, ast.Nonlocal)) for n in part.names}
            arguments = {a.arg for a in walk(function.args) if isinstance(a, ast.arg)}
            self._bound[id(function)] = (bound(body) | arguments) - outside
        return self._bound[id(function)]

    def innermost(self, line: int) -> ast.AST:
        """Return the function inside, or this one, that a line belongs to."""
        functions = [n for n in walk(self.node) if isinstance(n, INNER) and not isinstance(n, ast.ClassDef)]
        around = [n for n in functions if _first_line(n) <= line <= (n.end_lineno or 0)]
        return min(around, key=lambda n: (n.end_lineno or 0) - n.lineno, default=self.node)

    def position(self, node: Any) -> Position:
        """Return where a node stands."""
        return self.file, node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


_Use: TypeAlias = tuple[_Function, ast.AST]  # an expression that gives an array


class _Code:
    """Functions that a function reaches."""

    def __init__(self, watch: Watch) -> None:
        self._spaces = {f.__code__: f.__globals__ for _, f in watch.things if has_type(f, types.FunctionType)}
        self.reflects = not watch.names.isdisjoint(code_origin.REFLECTION)
        self._codes = {code: {n for part in code_origin.nested(code) for n in _all_names(part)} for code in watch.codes}
        by_text = not watch.names.isdisjoint(_BY_TEXT)
        self.texts = {word for code in watch.codes for word in _words_of(code)} if by_text else set[str]()
        self._read: dict[types.CodeType, _Function | None] = {}

    def function(self, code: types.CodeType) -> _Function | None:
        """Return the syntax of code, None if there is none."""
        if code not in self._read:
            syntax = syntax_of(code, self._spaces.get(code))
            is_initial = code.co_name in _OF_NEW_OBJECTS
            self._read[code] = None if isinstance(syntax, str) else _Function(syntax.node, code.co_filename, is_initial)
        return self._read[code]

    def naming(self, names: set[str]) -> Iterator[_Function | None]:
        """Yield the functions that use one of these names."""
        return (self.function(code) for code, used in self._codes.items() if not used.isdisjoint(names))

    def around(self, code: types.CodeType) -> list[types.CodeType]:
        """Return the code whose text holds that of some code, which may have been rewritten."""
        line = code.co_firstlineno
        same_file = [outer for outer in self._codes if outer.co_filename == code.co_filename]
        return [outer for outer in same_file if outer.co_firstlineno <= line <= _last_line(outer)]


class _Uses:
    """Uses of an array in the code that is reached."""

    def __init__(self, code: _Code, of_array: Sites) -> None:
        self.code, self.of_array = code, of_array
        self.direct = {_position(site) for site in of_array.direct}
        self.passed = {_position(site) for site in of_array.passed}

    def are_sites(self, names: set[str]) -> bool:
        """Return whether each use by these names, and by those that code gives the array, makes an operand of it."""
        waiting = self._uses(names) if self.direct and names.isdisjoint(self.code.texts) else None
        done: set[int] = set()
        while waiting:
            function, node = waiting.pop()
            if id(node) not in done and not self._is_site(function, node, waiting):
                return False
            done.add(id(node))
        return waiting is not None

    def _uses(self, names: set[str]) -> list[_Use] | None:
        """Return the expressions that give the array by these names and by local ones, None if code hides some."""
        functions = [*self.code.naming(names)]
        uses = [(f, n) for f in functions if f is not None for n in walk(f.node) if self._is_named(f, n, names)]
        if None in functions or (self.code.reflects and any(isinstance(n, ast.Attribute) for _, n in uses)):
            return None
        for code, name, traced in self.of_array.names:
            if self.code.around(traced):  # else another function that has the array was traced
                local = self._local_uses(code, name)
                if not local:
                    return None
                uses += local
        return uses

    def _local_uses(self, code: types.CodeType, name: str) -> list[_Use]:
        """Return the expressions that give the array by a name that code has for it, none if it cannot be read."""
        around = [self.code.function(outer) for outer in self.code.around(code)]
        uses = [_loads(f, f.innermost(code.co_firstlineno), name) for f in around if f is not None]
        return [use for of_function in uses for use in of_function] if None not in around else []

    @staticmethod
    def _is_named(function: _Function, node: ast.AST, names: set[str]) -> bool:
        """Return whether a node reads a variable from outside of the function, or an attribute, of these names."""
        if isinstance(node, ast.Name):
            return node.id in names and isinstance(node.ctx, ast.Load) and function.binding(node) is None
        return (
            isinstance(node, ast.Attribute) and node.attr in names and not function.is_initial
            and isinstance(node.ctx, ast.Load)
        )  # fmt: skip

    def _is_site(self, function: _Function, node: ast.AST, waiting: list[_Use]) -> bool:
        """Return whether an expression that gives the array stands where an operand is made of it."""
        outer = function.around[id(node)]
        match outer:
            case ast.Attribute():
                return outer.attr in _OF_SHAPE or self._is_site(function, outer, waiting)
            case ast.Subscript() if outer.value is node:
                return self._is_at(function, outer) or self._is_site(function, outer, waiting)
            case ast.keyword():
                return self._is_argument(function, function.around[id(outer)])
            case ast.Call():
                return self._is_argument(function, outer)
            case ast.Tuple() | ast.List():
                call = function.around[id(outer)]
                return isinstance(call, ast.Call) and self._is_at(function, call)
            case ast.Assign(targets=[ast.Name(id=name) as target]):
                binding = function.binding(target)
                waiting += [] if binding is None else _loads(function, binding, name)
                return binding is not None
            case ast.BinOp() | ast.Compare() | ast.Subscript():
                return self._is_at(function, outer)
        return False

    def _is_argument(self, function: _Function, call: Any) -> bool:
        """Return whether a call makes an operand of an argument, or gives it a name by which code does."""
        is_length = isinstance(call.func, ast.Name) and call.func.id == "len"
        return is_length or self._is_at(function, call) or function.position(call) in self.passed

    def _is_at(self, function: _Function, node: ast.AST) -> bool:
        return function.position(node) in self.direct


def _loads(function: _Function, inside: ast.AST, name: str) -> list[_Use]:
    """Return where a function reads a name."""
    nodes = [n for n in walk(inside) if isinstance(n, ast.Name) and n.id == name]
    return [(function, n) for n in nodes if isinstance(n.ctx, ast.Load)]


def _all_names(code: types.CodeType) -> set[str]:
    return {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}


def _words_of(code: types.CodeType) -> list[str]:
    """Return the words of all texts in code."""
    return re.findall(r"\w+", " ".join([repr(part.co_consts) for part in code_origin.nested(code)]))


def _first_line(node: Any) -> int:
    return min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])


def _last_line(code: types.CodeType) -> int:
    return max(line or 0 for part in code_origin.nested(code) for *_, line in part.co_lines())


def _position(site: Site) -> Position:
    code, offset = site
    span = next(itertools.islice(code.co_positions(), offset // 2, None))
    return code.co_filename, *span
