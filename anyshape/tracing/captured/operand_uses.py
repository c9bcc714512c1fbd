"""Tell large arrays that a function uses as operands alone from those whose values Python may have read.

The first kind needs no comparison: a program reads its operands in each run. An array counts as one if each expression
that names it stands where the trace made an operand of it, in each execution. In `[np.sum(w * c) for c in (2.0, x)]`
the first product is a number of the trace.
"""

import ast
import itertools
import re
import types
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from anyshape.graph.ir.operand_sites import Notes, Sites, bases_of, owner_of
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
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_MOST_CHAINS = 64  # of calls that lead to an expression


def arrays_that_python_reads(
    watch: Watch, constants: Sequence[np.ndarray], notes: Notes, apart: Collection[types.CodeType]
) -> set[int]:
    """Return the ids of large arrays whose values Python may have read while a function was traced.

    `constants` belong to its program, `notes` are of its trace. Loops with an iteration that ran alone are `apart`.
    Code of packages may read arrays of their objects, and of other classes.
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
    return large.keys() - _used_as_operands(watch, operands, notes, apart)


def _used_as_operands(
    watch: Watch, arrays: Mapping[int, np.ndarray], notes: Notes, apart: Collection[types.CodeType]
) -> set[int]:
    """Return the ids of those arrays, by id, that reachable code uses as operands alone."""
    sites = {i: notes[id(owner_of(x))][1] for i, x in arrays.items() if id(owner_of(x)) in notes}
    names = {i: n for i, n in _names_of(watch, arrays).items() if i in sites}
    code = _Code(watch) if names else None
    return {i for i, of_array in names.items() if code is not None and _Uses(code, sites[i], apart).are_sites(of_array)}


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

    def __init__(self, node: Any, code: types.CodeType, space: dict[str, Any]) -> None:
        self.node, self.file, self.space = node, code.co_filename, space
        self.is_initial = code.co_name in _OF_NEW_OBJECTS
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

    def meaning(self, expression: ast.AST) -> Any:
        """Return the global that an expression such as `anyshape.grad` means, None for others."""
        if isinstance(expression, ast.Name):
            return self.space.get(expression.id) if self.binding(expression) is None else None
        if not isinstance(expression, ast.Attribute):
            return None
        owner = self.meaning(expression.value)
        return getattr(owner, expression.attr, None) if isinstance(owner, types.ModuleType) else None

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
        self._names = _names_of_functions(watch)

    def function(self, code: types.CodeType) -> _Function | None:
        """Return the syntax of code, None if there is none."""
        if code not in self._read:
            space = self._spaces.get(code)
            syntax = syntax_of(code, space)
            self._read[code] = None if isinstance(syntax, str) else _Function(syntax.node, code, space or {})
        return self._read[code]

    def uses_of(self, function: _Function, node: Any) -> list[_Use] | None:
        """Return the expressions that give a function, or an object that it is the call of, None if some are hidden."""
        if isinstance(node, ast.Lambda):
            return _uses_of_lambda(function, node)
        names = {node.name, *self._names[function.file, _first_line(node)]}
        names |= {a.arg for a in node.args.args[:1] if node.name == "__call__"}
        functions = [*self.naming(names)]
        if None in functions or "" in names:
            return None
        uses = {f.position(n): (f, n) for f in functions if f is not None for n in walk(f.node) if _gives(f, n, names)}
        return [*uses.values()]

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

    def __init__(self, code: _Code, of_array: Sites, apart: Collection[types.CodeType]) -> None:
        self.code, self.of_array, self.apart = code, of_array, apart
        self.direct = {tuple(map(_position, chain)) for chain in of_array.direct}
        self.passed = {tuple(map(_position, chain)) for chain in of_array.passed}
        self.traced = {chain[-1][0] for chain in of_array.direct}
        self.open: list[ast.AST] = []  # functions whose calls are looked for

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
        return is_length or self._is_at(function, call) or self._is_in(function, call, self.passed)

    def _is_at(self, function: _Function, node: ast.AST) -> bool:
        return self._is_in(function, node, self.direct)

    def _is_in(self, function: _Function, node: ast.AST, noted: set[tuple[Position, ...]]) -> bool:
        """Return whether each execution of an expression was noted."""
        position = function.position(node)
        if not any(chain[0] == position for chain in noted):
            return False
        chains = self._chains(function, node)
        return chains is not None and noted.issuperset([(position, *chain) for chain in chains])

    # -- executions

    def _chains(self, function: _Function, node: ast.AST | None) -> list[tuple[Position, ...]] | None:
        """Return the calls around each execution of an expression by a trace, None if these cannot be told.

        The body of a loop that stays is executed by the trace itself.
        """
        inner = node
        for outer in [] if node is None else function.nodes_around(node):
            if isinstance(outer, _LOOPS) and inner is not _first_iterable(outer):
                return [()] if self._stays(function, outer) and self._is_single(function, outer) else None
            if isinstance(outer, _FUNCTIONS):
                if outer in self.open:  # it calls itself
                    return None
                self.open.append(outer)
                chains = self._chains_of_calls(function, outer)
                self.open.remove(outer)
                return chains
            inner = outer
        return None

    def _chains_of_calls(self, function: _Function, node: Any) -> list[tuple[Position, ...]] | None:
        """Return the same for the body of a function."""
        uses = self.code.uses_of(function, node)
        if uses is None:
            return None
        calls = [(f, _call_of(f, use)) for f, use in uses]
        if (function.file, getattr(node, "name", "<lambda>"), _first_line(node)) in map(_identity, self.traced):
            return [()] if not calls or (len(calls) == 1 and self._is_single(*calls[0])) else None
        return self._chains_around(calls)

    def _chains_around(self, calls: list[tuple[_Function, ast.AST | None]]) -> list[tuple[Position, ...]] | None:
        """Return the chains of calls that begin with one of several, None if some cannot be told."""
        chains: list[tuple[Position, ...]] = []
        for f, call in calls:
            outer = self._chains(f, call) or []
            chains += [(f.position(call), *chain) for chain in outer]
            if not outer or len(chains) > _MOST_CHAINS:
                return None
        return chains or None

    def _is_single(self, function: _Function, node: ast.AST | None) -> bool:
        """Return whether a trace executes an expression once, or in the bodies of loops that stay."""
        chains = self._chains(function, node)
        return chains is not None and len(chains) == 1

    def _stays(self, function: _Function, loop: ast.AST) -> bool:
        """Return whether a loop is part of the program, without an iteration apart."""
        is_body = lambda code: _is_inside(function.position(loop), code)
        return any(map(is_body, self.traced)) and not any(map(is_body, self.apart))


def _uses_of_lambda(function: _Function, node: ast.Lambda) -> list[_Use]:
    """Return the expressions that give a lambda: itself, or loads of a local name that it is assigned to."""
    match function.around.get(id(node)):
        case None:
            return []
        case ast.Assign(targets=[ast.Name(id=name) as target]) if (binding := function.binding(target)) is not None:
            return _loads(function, binding, name)
    return [(function, node)]


def _first_iterable(loop: Any) -> ast.AST | None:
    """Return what is evaluated once, before a loop."""
    if isinstance(loop, ast.While):
        return None
    return loop.iter if isinstance(loop, (ast.For, ast.AsyncFor)) else None


def _call_of(function: _Function, use: ast.AST) -> ast.AST | None:
    """Return the call of a function where an expression gives it, alone or to a transform as `grad`, else None."""
    outer = function.around[id(use)]
    if not isinstance(outer, ast.Call):
        return None
    if outer.func is use:
        return outer
    if not (outer.args and outer.args[0] is use):
        return None
    transform = function.meaning(outer.func)
    if not getattr(transform, "__module__", "").startswith("anyshape."):
        return None
    call = function.around[id(outer)]
    return call if isinstance(call, ast.Call) and call.func is outer else None


def _gives(function: _Function, node: Any, names: set[str]) -> bool:
    """Return whether an expression gives what has one of these names, and is not the owner of an attribute."""
    if isinstance(node, ast.alias):
        return node.name in names
    if isinstance(getattr(node, "ctx", None), ast.Load):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
        outer = function.around.get(id(node))
        return name in names and not (isinstance(outer, ast.Attribute) and outer.value is node)
    return False


def _names_of_functions(watch: Watch) -> Mapping[tuple[str, int], set[str]]:
    """Return the names that hold functions, methods and objects with a call, by file and first line of a function.

    The name of one in a container is "".
    """
    names = defaultdict[tuple[str, int], set[str]](set)
    for holder, values in watch.readings():
        own = _names_in(holder) or (holder.names if holder.kind == "fields" else ())
        for i, x in enumerate(values):
            for f in (x, getattr(x, "__func__", None), getattr(type(x), "__call__", None)):  # noqa: B004
                if has_type(f, types.FunctionType):
                    names[f.__code__.co_filename, f.__code__.co_firstlineno].add(own[i] if own else "")
    return names


def _is_inside(span: Position, code: types.CodeType) -> bool:
    """Return whether all code stands inside of a span of a file."""
    file, first, last, start, end = span
    places = [p for p in code.co_positions() if None not in p and p[2:] != (0, 0)]  # the first instruction has no width
    return code.co_filename == file and all(
        (first, start) <= (line, column) and (end_line, end_column) <= (last, end)
        for line, end_line, column, end_column in places
    )


def _loads(function: _Function, inside: ast.AST, name: str) -> list[_Use]:
    """Return where a function reads a name."""
    nodes = [n for n in walk(inside) if isinstance(n, ast.Name) and n.id == name]
    return [(function, n) for n in nodes if isinstance(n.ctx, ast.Load)]


def _all_names(code: types.CodeType) -> set[str]:
    return {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}


def _words_of(code: types.CodeType) -> list[str]:
    """Return the words of all texts in code."""
    return re.findall(r"\w+", " ".join([repr(part.co_consts) for part in code_origin.nested(code)]))


def _identity(code: types.CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_name, code.co_firstlineno


def _first_line(node: Any) -> int:
    return min([node.lineno, *[d.lineno for d in getattr(node, "decorator_list", ())]])


def _last_line(code: types.CodeType) -> int:
    return max(line or 0 for part in code_origin.nested(code) for *_, line in part.co_lines())


def _position(site: tuple[types.CodeType, int]) -> Position:
    code, offset = site
    span = next(itertools.islice(code.co_positions(), offset // 2, None))
    return code.co_filename, *span
