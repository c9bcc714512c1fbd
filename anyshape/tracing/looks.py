"""Tell looks at values, whose refusals are forgotten, from reads that lead a function elsewhere.

Code that catches the refusal of `float(x)` goes on after an error that NumPy would not raise. So the trace ends
with the error, unless the read was a look: texts and unread names are all that comes of it. A debugger and `logging`
look. So does a `try` or `suppress` of the user all of whose ways are proved to be alike.

The proof reads the source. Each statement binds names, prints, logs or returns, and calls functions that are known to
change nothing. Attributes, items and operators are taken to change nothing. Looks alone may read a name that a look
binds. What a function returns is judged by the statement of its caller.
"""

import ast
import builtins
import contextlib
import itertools
import logging
import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir.builder import Builder, HiddenError
from anyshape.graph.prover.user_stack import traced_frames
from anyshape.tracing.source.find import syntax_of
from anyshape.tracing.source.read import before_rewriting
from anyshape.tracing.source.rebuild import code_of

# packages that show values, and use none
_SHOWS = {"pdb", "bdb", "code", "logging", "IPython", "ipdb", "pudb", "_pydevd_bundle", "pydevd", "debugpy"}
_KNOWN = (print, repr, str, ascii, format, float, complex, bool, len, abs, type, isinstance, id,
    warnings.warn, int, round,
)  # fmt: skip
_PARTIAL = {"int", "round"}  # raise for some numbers
_LOGS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
_METHODS = {"mean", "sum", "max", "min", "std", "var", "any", "all", "item", "tolist", "round", "astype"}
_FUNCTIONS = _METHODS | {"abs", "sqrt", "asarray", "array", "median", "norm", "isfinite", "isnan", "shape", "size"}
_NAMESPACES = {"numpy", "numpy.linalg", "anyshape.numpy", "anyshape.numpy.linalg"}
_STREAMS = {"sys.stdout", "sys.stderr"}
_BY_NAME = {"locals", "vars", "eval", "exec", "globals", "dir"}  # read variables that no code names
_PLAIN = (
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.Constant, ast.Dict, ast.FormattedValue, ast.IfExp,
    ast.JoinedStr, ast.List, ast.Name, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp, ast.keyword,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def hidden_error(builder: Builder) -> Exception | None:
    """Return the first error that the function of a builder hides and that no look met, None if there is none."""
    return next((hidden.error for hidden in builder.hidden_errors.values() if not _is_look(hidden)), None)


def is_prompt() -> bool:
    """Return whether a user asks at the prompt of a debugger: the program shall not know it."""
    frames = traced_frames(sys._getframe(1))  # without this one, which would hold itself
    return any(f.f_code.co_name == "interaction" and _package(f) in _SHOWS for f in frames)


def _package(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


class _NoLookError(Exception):
    """Raised for code that may do more than look."""


def _is_look(hidden: HiddenError) -> bool:
    """Return whether a look is proved to be all that the refused read was made for."""
    if (caught := hidden.error.__traceback__) is not None and _package(caught.tb_frame) in _SHOWS:
        return True
    try:
        return _ends_in_look(hidden)
    except _NoLookError:
        return False


def _ends_in_look(hidden: HiddenError) -> bool:
    """Return the verdict on the functions from the read outwards; raise _NoLookError at the first that does more."""
    is_value = False  # whether a function returned in place of the error
    for code, offset, namespace in hidden.path:
        if namespace is None:
            if is_value:  # in foreign code
                return False
            continue
        function = _Function(code, offset, namespace)
        exits = function.exits_of_statement() if is_value else function.exits_of_try()
        if exits == {"on"} and not function.returns:
            return True
        is_value = is_value or bool(exits)
    return False


class _Function:
    """Function of the user that reads a value, or calls what does: which of its statements are looks."""

    def __init__(self, code: types.CodeType, offset: int, namespace: dict[str, Any]) -> None:
        position = _position(code, offset)
        self.node, self.around = _function_around(code, position, namespace)
        self.nodes = list(ast.walk(self.node))
        self.parents = {child: parent for parent in self.nodes for child in ast.iter_child_nodes(parent)}
        self.called = next((n for n in self.around if isinstance(n, ast.Call) and _span(n) == position), None)
        self.namespace, self.bound = namespace, {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.region: set[ast.AST] = set()
        self.checked: set[str] = set()
        self.returns = False  # a name that a look binds
        if any(isinstance(n, ast.Name) and n.id in _BY_NAME for n in self.nodes):
            raise _NoLookError

    def exits_of_try(self) -> set[str]:
        """Return how control leaves the innermost `try` that looks; nothing where the whole function looks.

        Then the error, or what the function gives, goes to its caller.
        """
        for node, inner in reversed([*itertools.pairwise(self.around)]):
            if isinstance(node, (ast.Try, ast.With)) and inner in node.body and self._catches(node):
                try:
                    if len(exits := self._exits_of_region([node])) == 1:
                        return exits
                except _NoLookError:
                    continue
        self._exits_of_region(self.node.body)
        return set()

    def exits_of_statement(self) -> set[str]:
        """Return how control leaves the statement that calls."""
        return self._exits_of_region([next(n for n in reversed(self.around) if isinstance(n, ast.stmt))])

    def _exits_of_region(self, body: Sequence[ast.stmt]) -> set[str]:
        self.region, self.checked = {node for statement in body for node in ast.walk(statement)}, set()
        self.returns = False
        return self._exits(body)

    def _exits(self, body: Sequence[ast.stmt]) -> set[str]:
        """Return how control leaves statements, "on" or "return"; raise _NoLookError if these do more than look."""
        exits = {"on"}
        for statement in body:
            if "on" in exits:
                exits = exits - {"on"} | self._exits_of(statement)
        return exits

    def _exits_of(self, statement: ast.stmt) -> set[str]:
        match statement:
            case ast.Pass():
                return {"on"}
            case ast.Expr(value):
                self._require_plain(value)
                return {"on"}
            case ast.Assign(targets, value):
                self._require_plain(value)
                self._require_unread([name for target in targets for name in _names(target)])
                return {"on"}
            case ast.Return(value):
                self._require_plain(value)
                return {"return"}
            case ast.If(test, body, orelse):
                self._require_plain(test)
                return self._exits(body) | self._exits(orelse)
            case ast.Try() | ast.With():
                return self._exits_of_block(statement)
        raise _NoLookError

    def _exits_of_block(self, block: ast.Try | ast.With) -> set[str]:
        if isinstance(block, ast.With) and self._suppressed(block):
            return self._exits(block.body) | {"on"}
        if isinstance(block, ast.With) or block.finalbody:
            raise _NoLookError
        self._require_unread([handler.name for handler in block.handlers if handler.name])
        exits = [self._exits(handler.body) for handler in block.handlers]
        return self._exits([*block.body, *block.orelse]).union(*exits)

    def _suppressed(self, statement: ast.With) -> list[ast.expr]:
        """Return the classes of errors that a `with` block suppresses, none for another block."""
        calls = [item.context_expr for item in statement.items]
        is_known = all(isinstance(c, ast.Call) and self._value(c.func) is contextlib.suppress for c in calls)
        return [kind for call in calls if isinstance(call, ast.Call) for kind in call.args] if is_known else []

    def _catches(self, block: ast.Try | ast.With) -> bool:
        """Return whether all errors of a body are caught, or TypeError where no other is likely."""
        if isinstance(block, ast.With):
            kinds: list[ast.expr | None] = [*self._suppressed(block)]
        else:
            kinds = [handler.type for handler in block.handlers]
        caught = {"Exception" if k is None else _last_name(n) for k in kinds for n in getattr(k, "elts", [k])}
        if not caught.isdisjoint(("Exception", "BaseException")):
            return True
        calls = [n.func for statement in block.body for n in ast.walk(statement) if isinstance(n, ast.Call)]
        return "TypeError" in caught and _PARTIAL.isdisjoint(map(_last_name, calls))

    def _require_plain(self, expression: ast.expr | None) -> None:
        """Raise _NoLookError for an expression that may change anything."""
        for node in ast.walk(expression) if expression is not None else ():
            if not isinstance(node, _PLAIN) or (isinstance(node, ast.Call) and not self._is_known(node)):
                raise _NoLookError

    def _require_unread(self, names: Sequence[str]) -> None:
        """Raise _NoLookError if names are read by more than looks, or outlive the call."""
        new = {*names} - self.checked
        self.checked |= new
        for node in self.nodes:
            if isinstance(node, (ast.Global, ast.Nonlocal)) and not new.isdisjoint(node.names):
                raise _NoLookError
            if isinstance(node, ast.Name) and node.id in new and isinstance(node.ctx, ast.Load):
                statement: ast.AST = node
                while not isinstance(statement, ast.stmt):
                    statement = self.parents[statement]
                if statement not in self.region:
                    self.returns = self.returns or isinstance(statement, ast.Return)
                    if "return" in self._exits_of(statement) and not isinstance(statement, ast.Return):
                        raise _NoLookError

    def _is_known(self, call: ast.Call) -> bool:
        """Return whether a call changes nothing but what is printed, or is the one under way."""
        if call is self.called:
            return True
        words = {k.arg: ast.unparse(k.value) for k in call.keywords}
        if None in words or "out" in words or words.get("file", "sys.stdout") not in _STREAMS:
            return False
        function = self._value(call.func)
        return _is_of_array(call) if function is None else _is_harmless(_last_name(call.func), function)

    def _value(self, node: ast.expr) -> Any:
        """Return what a global name, or an attribute of a module or of a logger, stands for; None for all else."""
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            return getattr(owner, node.attr, None) if isinstance(owner, (types.ModuleType, logging.Logger)) else None
        if not isinstance(node, ast.Name) or node.id in self.bound:
            return None
        return self.namespace.get(node.id, getattr(builtins, node.id, None))


def _is_of_array(call: ast.Call) -> bool:
    """Return whether a call is of a method of arrays; other objects might remember numbers that are passed."""
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "format":
        return isinstance(call.func.value, ast.Constant)
    passed = [*call.args, *[k.value for k in call.keywords]]
    return call.func.attr in _METHODS and all(isinstance(n, ast.Constant) for n in passed)


def _is_harmless(name: str, function: Any) -> bool:
    """Return whether a function is known to change nothing but what is printed."""
    if getattr(function, "__module__", None) == "logging":
        return name in _LOGS
    homes = [sys.modules.get(module) for module in _NAMESPACES if name in _FUNCTIONS]
    return any(function is f for f in (*_KNOWN, *[getattr(home, name, None) for home in homes]))


def _last_name(node: ast.expr) -> str:
    return str(getattr(node, "attr", "") or getattr(node, "id", ""))


def _names(target: ast.expr) -> list[str]:
    """Return the names that an assignment binds; raise _NoLookError for other targets."""
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in _names(element)]
    if not isinstance(target, ast.Name):
        raise _NoLookError
    return [target.id]


# -- source --------------------------------------------------------------------------------------------------------


def _position(code: types.CodeType, offset: int) -> tuple[Any, ...]:
    """Return first line, column, last line and column of an instruction."""
    first, last, start, end = next(itertools.islice(code.co_positions(), offset // 2, None))
    return first, start, last, end


def _span(node: ast.AST) -> tuple[Any, ...]:
    return tuple([getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")])


def _covers(node: ast.AST, position: tuple[Any, ...]) -> bool:
    span = _span(node)
    return None not in span and span[:2] <= position[:2] and position[2:] <= span[2:]


def _function_around(
    code: types.CodeType, position: tuple[Any, ...], namespace: dict[str, Any]
) -> tuple[ast.FunctionDef, list[ast.AST]]:
    """Return a function, and the statements and expressions in it around a position, outermost first."""
    code = before_rewriting(code)
    syntax = syntax_of(code, namespace)
    if isinstance(syntax, str) or not isinstance(syntax.node, ast.FunctionDef) or None in position:
        raise _NoLookError
    if [*code_of(syntax, code.co_freevars).co_positions()] != [*code.co_positions()]:
        raise _NoLookError  # its file has changed since
    return syntax.node, [n for n in ast.walk(syntax.node) if n is not syntax.node and _covers(n, position)]
