"""Tell which parameters a function reads solely as lists of examples, in comprehensions and loops that carry sums.

Such an argument may be a batch of any number of examples. What functions of the library are, this module must not know.
"""

from __future__ import annotations

import ast
import builtins
import collections
import types
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.support.packages import source_find
from anyshape.tracing.source.name_flow import INNER, Liveness, Summaries, bound, captured, walk

_MISSING = object()
_OVER_ALL = {"sum", "any", "all", "max", "min", "list", "tuple"}  # they read a generator to its end
_BESIDE = {"zip", "enumerate", "reversed", "map"}
_SEEING = {"locals", "vars", "eval", "exec", "dir"}  # names of functions that see variables by name

Path = tuple[Any, ...]  # constants that index what an argument holds: ("xs",) of `data["xs"]`
# Says whether a function takes what the argument at a position, or of a name, holds at a path as a list of examples.
Takes = Callable[[Any, "int | str", Path], bool]
# Returns the function that a call of a function with some arguments gives, None if that is not known.
Made = Callable[[Any, Sequence[Any], dict[str, Any]], Any]


def reads_as_examples(function: types.FunctionType, name: str, path: Path, takes: Takes, made: Made) -> bool:
    """Return whether a function reads what a parameter holds at a path solely as a list of examples.

    `takes` answers for functions that it passes the parameter to, `made` for calls such as `grad(loss)(w, xs)`.
    """
    source = source_find.syntax_of(function.__code__, function.__globals__)
    if isinstance(source, str):
        return False
    reader = _Reader(function, source.node, name, path, takes, made)
    is_seen = any(isinstance(n, ast.Name) and n.id in _SEEING for n in reader.nodes)
    return reader.reads_alone() and not is_seen


def _inner_parameters(nodes: Sequence[ast.AST]) -> set[str]:
    return {x for n in nodes if isinstance(n, ast.Lambda | ast.FunctionDef) for x in _parameters(n)}


def _parameters(node: ast.Lambda | ast.FunctionDef) -> set[str]:
    return {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}


class _Reader:
    """Notes the nodes that are reads of a list of examples, which a parameter holds at a path.

    `aliases` are other names that the function gives to the parameter or its parts, each once, with their paths.
    """

    def __init__(
        self, function: types.FunctionType, node: Any, name: str, path: Path, takes: Takes, made: Made
    ) -> None:
        self.function, self.path, self.takes, self.made = function, path, takes, made
        self.allowed: set[int] = set()
        is_def = isinstance(node, ast.FunctionDef)
        body = node.body if is_def else [node.body]
        parameters = _parameters(node)
        self.local = bound(body) | parameters
        self.nodes = [n for part in body for n in walk(part)]
        always = captured([n for n in self.nodes if isinstance(n, INNER)])
        self.around = Liveness(node, always, Summaries()).around if is_def else {}
        self.part_of = {id(n.value): n for n in self.nodes if isinstance(n, ast.Subscript) and _is_read(n)}
        inner = _inner_parameters(self.nodes)
        self.is_hidden = name in inner
        self.aliases: dict[str, Path] = {name: ()}
        self.once = self._bound_once() - parameters - inner
        if is_def:
            self._note_aliases(body)
        for n in self.nodes:
            self.visit(n)

    def _bound_once(self) -> set[str]:
        """Return the names that one node binds."""
        names = collections.Counter([name for n in self.nodes for name in _names_bound(n)])
        return {name for name, number in names.items() if number == 1}

    def _note_aliases(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                    self._alias(targets, [(value, ()) for value in values])
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                    self._alias(targets, [(value, (i,)) for i in range(len(targets))])
                case ast.Assign(targets=[target], value=value):
                    self._alias([target], [(value, ())])

    def _alias(self, targets: Sequence[ast.expr], values: Sequence[tuple[ast.expr, Path]]) -> None:
        """Let names stand for items of what expressions read of the parameter."""
        names = {x.id for x in targets if isinstance(x, ast.Name)} & self.once
        if not len(names) == len(targets) == len(values):
            return
        for target, (value, item) in zip(targets, values, strict=True):
            path = self._path(value)
            if path is not None and len(path) + len(item) <= len(self.path):
                assert isinstance(target, ast.Name)
                self.aliases[target.id] = path + item
                self.allowed.add(id(value))

    def _path(self, node: ast.expr) -> Path | None:
        """Return the path at which the parameter holds what an expression reads, None for other expressions."""
        match node:
            case ast.Name(id=name):
                return self.aliases.get(name)
            case ast.Subscript(value=value, slice=ast.Constant(value=key)):
                path = self._path(value)
                return None if path is None else (*path, key)
        return None

    def reads_alone(self) -> bool:
        """Return whether the function reads the list, and in no other way."""
        reads = [n for n in self.nodes if isinstance(n, ast.Name) and n.id in self.aliases]
        reads = [n for n in reads if isinstance(n.ctx, ast.Load) or n.id not in self.once]
        return bool(reads) and not self.is_hidden and all(map(self._is_allowed, reads))

    def _is_allowed(self, node: ast.expr) -> bool:
        """Return whether a read is one of the list as examples, or of another part of the parameter."""
        while id(node) not in self.allowed:
            path = self._path(node)
            if path is not None and path != self.path[: len(path)]:
                return len(path) <= len(self.path)
            if (outer := self.part_of.get(id(node))) is None:
                return False
            node = outer
        return True

    def visit(self, node: ast.AST) -> None:
        """Note what a node reads as a list."""
        match node:
            case ast.ListComp():
                self._allow_all(node)
            case ast.For() if self._sums_alone(node):
                self._allow(node.iter)
                self._allow_counted(node.target, node.iter, node.body)
            case ast.Call(func=ast.Name(id=called), args=[ast.GeneratorExp() as of, *_]) if self._is(called, _OVER_ALL):
                self._allow_all(of)
            case ast.Call(func=ast.Name(id=called), args=[ast.Call() as of, *_]) if self._is(called, _OVER_ALL):
                self._allow(of)
            case ast.Call(func=ast.Name(id=called), args=[x]) if self._path(x) is not None and self._is(
                called, {"len"}
            ):
                self._allow(x)
            case ast.Call():
                self._visit_call(node)

    def _allow_all(self, node: ast.ListComp | ast.GeneratorExp) -> None:
        for generator in node.generators:
            self._allow(generator.iter)
            inner = [x for g in node.generators for x in (g.iter, *g.ifs)]
            self._allow_counted(generator.target, generator.iter, [node.elt, *inner])

    def _allow_counted(self, target: ast.expr, counted: ast.expr, parts: Sequence[ast.AST]) -> None:
        """Allow reads of an item at the position that counts items of a list: `for i in range(len(xs))`."""
        match target, counted:
            case ast.Name(id=i), ast.Call(func=ast.Name("range"), args=[ast.Call(func=ast.Name("len"))]):
                names = {"range", "len"}
            case ast.Tuple(elts=[ast.Name(id=i), _]), ast.Call(func=ast.Name("enumerate"), args=[_]):
                names = {"enumerate"}
            case _:
                return
        if all(self._is(name, names) for name in names):
            for node in [n for part in parts for n in walk(part)]:
                match node:
                    case ast.Subscript(value=x, slice=ast.Name(id=k), ctx=ast.Load()) if k == i:
                        self.allowed |= {id(x)} if self._path(x) == self.path else set()

    def _visit_call(self, node: ast.Call) -> None:
        arguments: list[tuple[int | str, ast.expr]] = [*enumerate(node.args)]
        arguments += [(k.arg, k.value) for k in node.keywords if k.arg is not None]
        mine = [(key, x, path) for key, x in arguments if (path := self._begin(x)) is not None]
        if not mine or any(isinstance(x, ast.Starred) for x in node.args):
            return
        if (function := self._value(node.func)) is not _MISSING:
            self.allowed |= {id(x) for key, x, path in mine if self.takes(function, key, self.path[len(path) :])}

    def _begin(self, node: ast.expr) -> Path | None:
        """Return the path of an expression that holds the list, None for others."""
        path = self._path(node)
        return path if path is not None and path == self.path[: len(path)] else None

    def _allow(self, iterated: ast.expr) -> None:
        match iterated:
            case ast.Call(func=ast.Name(id=called)) if self._is(called, _BESIDE) and not iterated.keywords:
                for x in iterated.args[called == "map" :]:
                    self._allow(x)
            case _ if self._path(iterated) == self.path:
                self.allowed.add(id(iterated))

    def _is(self, name: str, among: set[str]) -> bool:
        """Return whether a name stands for the function of Python that has it."""
        return name in among and self._value(ast.Name(name)) is getattr(builtins, name)

    def _value(self, node: ast.expr) -> Any:
        """Return what an expression stands for before the function runs."""
        match node:
            case ast.Name(id=name):
                return self._variable(name)
            case ast.Attribute(value=owner, attr=attr):
                module = self._value(owner)
                return getattr(module, attr, _MISSING) if isinstance(module, types.ModuleType) else _MISSING
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=elements):
                values = [*map(self._value, elements)]
                return tuple(values) if _are_known(values) else _MISSING
            case ast.Call():
                return self._result(node)
        return _MISSING

    def _variable(self, name: str) -> Any:
        if name in self.local:
            return _MISSING
        code, cells = self.function.__code__, self.function.__closure__ or ()
        if name in code.co_freevars:
            cell = cells[code.co_freevars.index(name)]
            return _MISSING if cell == types.CellType() else cell.cell_contents
        return self.function.__globals__.get(name, getattr(builtins, name, _MISSING))

    def _result(self, node: ast.Call) -> Any:
        values = [self._value(node.func), *map(self._value, node.args)]
        named = {str(k.arg): self._value(k.value) for k in node.keywords}
        result = self.made(values[0], values[1:], named) if _are_known([*values, *named.values()]) else None
        return _MISSING if result is None else result

    def _sums_alone(self, loop: ast.For) -> bool:
        """Return whether a loop runs to its end, and what its iterations pass on are sums."""
        if loop.orelse or id(loop) not in self.around:
            return False
        nodes = [n for s in loop.body for n in walk(s)]
        if any(isinstance(n, _JUMPS) for n in nodes):
            return False
        sums = [target for n in nodes if (target := _summed(n)) is not None]
        others = bound(loop.body, {id(target) for target in sums})
        carried = self.around[id(loop)].start & bound(loop.body)
        return carried <= {target.id for target in sums} - others


def _names_bound(node: ast.AST) -> Sequence[Any]:
    """Return the names that a node binds, or declares to be of other functions."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, ast.Global | ast.Nonlocal):
        return node.names * 2  # which the function shares
    return [getattr(node, field, None) for field in ("name", "asname", "rest")]


def _is_read(node: ast.Subscript) -> bool:
    return isinstance(node.slice, ast.Constant) and isinstance(node.ctx, ast.Load)


_JUMPS = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)


def _are_known(values: Sequence[Any]) -> bool:
    return all(value is not _MISSING for value in values)


def _summed(node: ast.AST) -> ast.Name | None:
    """Return the name to which a statement adds, None for other statements."""
    match node:
        case ast.AugAssign(target=ast.Name() as target, op=ast.Add() | ast.Sub()):
            return target
        case ast.Assign(targets=[ast.Name() as target], value=ast.BinOp(left=ast.Name(id=left), op=ast.Sub())):
            return target if left == target.id else None
        case ast.Assign(targets=[ast.Name() as target], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            beside = [x.id for x in (left, right) if isinstance(x, ast.Name)]
            return target if target.id in beside else None
    return None
