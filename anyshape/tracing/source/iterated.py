"""Tell which parameters a function reads solely as lists of examples, in comprehensions and loops that carry sums.

Such an argument may be a batch of any number of examples. What functions of the library are, this module must not know.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.support.packages import source_find
from anyshape.tracing.source.name_flow import INNER, Liveness, Summaries, bound, captured, walk

_MISSING = object()
_OVER_ALL = {"sum", "any", "all"}  # they read a generator to its end
_BESIDE = {"zip", "enumerate"}
_SEEING = {"locals", "vars", "eval", "exec", "dir"}  # names of functions that see variables by name

# Says whether a function takes the argument at a position, or of a name, as a list of examples.
Takes = Callable[[Any, "int | str"], bool]
# Returns the function that a call of a function with some arguments gives, None if that is not known.
Made = Callable[[Any, Sequence[Any], dict[str, Any]], Any]


def reads_as_examples(function: types.FunctionType, name: str, takes: Takes, made: Made) -> bool:
    """Return whether a function reads a parameter solely as a list of examples.

    `takes` answers for functions that it passes the parameter to, `made` for calls such as `grad(loss)(w, xs)`.
    """
    source = source_find.syntax_of(function.__code__, function.__globals__)
    if isinstance(source, str):
        return False
    reader = _Reader(function, source.node, name, takes, made)
    nodes = reader.nodes
    reads = [id(n) for n in nodes if isinstance(n, ast.Name) and n.id == name]
    is_seen = any(isinstance(n, ast.Name) and n.id in _SEEING for n in nodes)
    is_hidden = any(name in _parameters(n) for n in nodes if isinstance(n, (ast.Lambda, ast.FunctionDef)))
    return bool(reads) and reader.allowed.issuperset(reads) and not (is_seen or is_hidden)


def _parameters(node: ast.Lambda | ast.FunctionDef) -> set[str]:
    return {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}


class _Reader:
    """Notes the nodes of a name that are reads of a list of examples."""

    def __init__(self, function: types.FunctionType, node: Any, name: str, takes: Takes, made: Made) -> None:
        self.function, self.name, self.takes, self.made = function, name, takes, made
        self.allowed: set[int] = set()
        is_def = isinstance(node, ast.FunctionDef)
        body = node.body if is_def else [node.body]
        self.local = bound(body) | _parameters(node)
        self.nodes = [n for part in body for n in walk(part)]
        always = captured([n for n in self.nodes if isinstance(n, INNER)])
        self.around = Liveness(node, always, Summaries()).around if is_def else {}
        for n in self.nodes:
            self.visit(n)

    def visit(self, node: ast.AST) -> None:
        """Note what a node reads as a list."""
        match node:
            case ast.ListComp():
                self._allow(node.generators[0].iter)
            case ast.For() if self._sums_alone(node):
                self._allow(node.iter)
            case ast.Call(func=ast.Name(id=called), args=[ast.GeneratorExp() as of, *_]) if self._is(called, _OVER_ALL):
                self._allow(of.generators[0].iter)
            case ast.Call(func=ast.Name(id=called), args=[ast.Name()]) if self._is(called, {"len"}):
                self._allow(node.args[0])
            case ast.Call():
                self._visit_call(node)

    def _visit_call(self, node: ast.Call) -> None:
        arguments: list[tuple[int | str, ast.expr]] = [*enumerate(node.args)]
        arguments += [(k.arg, k.value) for k in node.keywords if k.arg is not None]
        mine = [(key, x) for key, x in arguments if isinstance(x, ast.Name) and x.id == self.name]
        if not mine or any(isinstance(x, ast.Starred) for x in node.args):
            return
        if (function := self._value(node.func)) is not _MISSING:
            self.allowed |= {id(x) for key, x in mine if self.takes(function, key)}

    def _allow(self, iterated: ast.expr) -> None:
        match iterated:
            case ast.Name():
                self.allowed.add(id(iterated))
            case ast.Call(func=ast.Name(id=called)) if self._is(called, _BESIDE) and not iterated.keywords:
                for x in iterated.args:
                    self._allow(x)

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


_JUMPS = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await)


def _are_known(values: Sequence[Any]) -> bool:
    return all(value is not _MISSING for value in values)


def _summed(node: ast.AST) -> ast.Name | None:
    """Return the name to which a statement adds, None for other statements."""
    match node:
        case ast.AugAssign(target=ast.Name() as target, op=ast.Add()):
            return target
        case ast.Assign(targets=[ast.Name() as target], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            beside = [x.id for x in (left, right) if isinstance(x, ast.Name)]
            return target if target.id in beside else None
    return None
