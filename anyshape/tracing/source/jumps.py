"""Write break, continue and return as flags, so that each statement of a function ends at its end.

A flag is a name that is true once the statement was met. Statements after it stand in an `if` that asks for it. Where
one branch of an `if` always jumps, what follows stands in the other branch, and no flag is asked.
"""

import ast
from collections.abc import Sequence

from anyshape.ops.subgraph_call import RUNTIME
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.tracing.source.name_flow import FIELDS, INNER, blocks, parts

RETURNED, VALUE = "__kept_returned__", "__kept_value__"
_JUMPS = (ast.Return, ast.Break, ast.Continue)


class UnreadableError(Exception):
    """Raised for a function that is run as it is written; the text says why."""


class _Loop(NamedTuple):
    """Flags of a loop."""

    left: str
    skipped: str


def runtime(name: str, *arguments: ast.expr, keywords: Sequence[ast.keyword] = ()) -> ast.Call:
    """Return a call of the run-time part."""
    return ast.Call(ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load()), [*arguments], [*keywords])


def thunk(body: ast.expr) -> ast.Lambda:
    """Return a function of no arguments that gives an expression."""
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), body)


def known(value: ast.expr) -> ast.Lambda:
    """Return a function of no arguments that gives the value which an expression has where the function is made."""
    if not any(isinstance(n, ast.NamedExpr) for n in ast.walk(value)):
        return thunk(value)
    return ast.Lambda(ast.arguments([], [ast.arg(VALUE)], None, [], [], None, [value]), load(VALUE))


def load(name: str) -> ast.Name:
    """Return the value of a name."""
    return ast.Name(name, ast.Load())


def assigned(name: str, value: ast.expr) -> ast.Assign:
    """Return an assignment to a name."""
    return ast.Assign([ast.Name(name, ast.Store())], value)


def without_jumps(function: ast.FunctionDef) -> None:
    """Write the jumps of a function as flags; a return that ends the function stays."""
    body = function.body
    last = body.pop() if isinstance(body[-1], ast.Return) and not any(map(_may_return, body[:-1])) else None
    new, flags = _Jumps().block(body, None)
    if RETURNED in flags:
        result = ast.Return(runtime("result", load(RETURNED), thunk(load(VALUE))))
        first = 1 if ast.get_docstring(function) is not None else 0
        new[first:first] = [ast.copy_location(assigned(RETURNED, ast.Constant(False)), body[-1])]
        new.append(ast.copy_location(result, _setter(new, {RETURNED})))
    function.body = [*new, *([last] if last else [])] or [ast.Pass()]


def own_nodes(node: ast.AST) -> list[ast.AST]:
    """Return the nodes of a statement that belong to its function, not to functions and classes inside."""
    nodes, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        if FIELDS[type(node)] and not isinstance(node, INNER):
            waiting += parts(node)
    return nodes


def _may_return(statement: ast.AST) -> bool:
    if isinstance(statement, INNER):
        return False
    return isinstance(statement, ast.Return) or any(map(_may_return, blocks(statement)))


def _jumps(statement: ast.stmt) -> bool:
    """Return whether a statement may leave the block that it stands in."""
    inner: list[ast.AST] = [statement]
    while inner:
        node = inner.pop()
        if isinstance(node, _JUMPS):
            return True
        if isinstance(node, (ast.For, ast.While)):
            if _may_return(node) or any(map(_jumps, node.orelse)):  # a break of the loop itself stays inside
                return True
        elif not isinstance(node, INNER):
            inner += blocks(node)
    return False


def _ends(block: Sequence[ast.stmt]) -> bool:
    """Return whether a block never reaches its end."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (*_JUMPS, ast.Raise))


class _Jumps:
    """Flags of one function."""

    def __init__(self) -> None:
        self._count = 0

    def block(self, statements: Sequence[ast.stmt], loop: _Loop | None) -> tuple[list[ast.stmt], set[str]]:
        """Return statements without jumps, and the flags that they may set."""
        done: list[ast.stmt] = []
        for k, statement in enumerate(statements):
            rest = list(statements[k + 1 :])
            if isinstance(statement, ast.If) and rest and _jumps(statement):
                statement, rest = _with_rest(statement, rest)
            new, flags = self._statement(statement, loop)
            done += new
            if flags:
                after, more = self.block(rest, loop)
                if after and not isinstance(statement, _JUMPS):
                    done.append(_guarded(statement, flags, after))
                    flags |= more
                return done, flags
        return done, set()

    def _statement(self, statement: ast.stmt, loop: _Loop | None) -> tuple[list[ast.stmt], set[str]]:
        at = lambda *new: [ast.copy_location(s, statement) for s in new]
        match statement:
            case ast.Return(value=value):
                returned = assigned(VALUE, value or ast.Constant(None))
                return at(returned, assigned(RETURNED, ast.Constant(True))), {RETURNED}
            case ast.Break() | ast.Continue():
                assert loop is not None
                flag = loop.left if isinstance(statement, ast.Break) else loop.skipped
                return at(assigned(flag, ast.Constant(True))), {flag}
            case ast.For() | ast.While():
                return self._loop(statement, loop)
            case ast.If() | ast.With():
                return self._parts(statement, loop, ("body", "orelse"))
            case ast.Try() | ast.TryStar():
                return self._try(statement, loop)
            case ast.Match(cases=cases):
                flags: set[str] = set()
                for case in cases:
                    case.body, own = self.block(case.body, loop)
                    flags |= own
                return [statement], flags
        return [statement], set()

    def _parts(self, statement, loop: _Loop | None, fields: Sequence[str]) -> tuple[list[ast.stmt], set[str]]:
        flags: set[str] = set()
        for field in fields:
            if block := getattr(statement, field, None):
                new, own = self.block(block, loop)
                block[:] = new
                flags |= own
        return [statement], flags

    def _try(self, statement: ast.Try | ast.TryStar, loop: _Loop | None) -> tuple[list[ast.stmt], set[str]]:
        if any(map(_jumps, statement.finalbody)):
            raise UnreadableError("it jumps out of a finally")
        statement.body, flags = self.block(statement.body, loop)
        orelse, more = self.block(statement.orelse, loop)
        statement.orelse = [_guarded(orelse[0], flags, orelse)] if flags and orelse else orelse
        flags |= more
        for handler in statement.handlers:
            flags |= self._parts(handler, loop, ("body",))[1]
        return [statement], flags

    def _loop(self, statement: ast.For | ast.While, outer: _Loop | None) -> tuple[list[ast.stmt], set[str]]:
        self._count += 1
        loop = _Loop(f"__kept_left{self._count}__", f"__kept_skipped{self._count}__")
        body, flags = self.block(statement.body, loop)
        stops = sorted(flags - {loop.skipped})
        at = lambda new: ast.copy_location(new, statement)
        if loop.skipped in flags:
            body.insert(0, at(assigned(loop.skipped, ast.Constant(False))))
        orelse, more = self.block(statement.orelse, outer)
        statement.body, statement.orelse = body, []
        statement.stops = stops  # type: ignore[union-attr]  # read by the rewriter
        new: list[ast.stmt] = [at(assigned(loop.left, ast.Constant(False)))] if loop.left in flags else []
        new.append(statement)
        if orelse:
            new += [_guarded(statement, stops, orelse)] if stops else orelse
        return new, (flags & {RETURNED}) | more


def _with_rest(statement: ast.If, rest: list[ast.stmt]) -> tuple[ast.If, list[ast.stmt]]:
    """Return an `if` with what follows in the branch that does not jump, and what still follows."""
    body, orelse = _ends(statement.body), _ends(statement.orelse)
    if body and not orelse:
        new = ast.If(statement.test, statement.body, [*statement.orelse, *rest])
    elif orelse and not body:
        new = ast.If(statement.test, [*statement.body, *rest], statement.orelse)
    else:
        return statement, [] if body else rest
    return ast.copy_location(new, statement), []


def _setter(statements: Sequence[ast.stmt], flags) -> ast.AST:
    """Return the first statement that sets one of some flags, in place of a jump; else the last one."""
    setters, waiting = [], list[ast.AST](statements)
    while waiting:
        match n := waiting.pop():
            case ast.Assign([ast.Name(id=name)], ast.Constant(value=True)) if name in flags:
                setters.append(n)
            case _ if not isinstance(n, INNER):
                waiting += blocks(n)
    return min(setters, key=lambda n: (n.lineno, n.col_offset), default=statements[-1])


def _guarded(like: ast.stmt, flags, block: list[ast.stmt]) -> ast.If:
    """Return statements that run where no flag is set, by a decision at the line that sets one first."""
    test = ast.copy_location(ast.Tuple([*map(load, sorted(flags))], ast.Load()), _setter([like], flags))
    guarded = ast.copy_location(ast.If(test, block, []), like)
    guarded.flags = sorted(flags)  # type: ignore[attr-defined]  # read by the rewriter
    return guarded
