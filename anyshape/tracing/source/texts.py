"""Write texts and exceptions of `raise`, `assert` and `print` as calls, which see the values that a run alone knows."""

import ast
from collections.abc import Sequence
from typing import Any

from anyshape.tracing.source.jumps import RUNTIME, runtime
from anyshape.tracing.source.name_flow import read


def stated(node: ast.expr, is_apart: bool) -> ast.expr:
    """Return an expression of a `raise` whose exception and texts may have values of the run.

    `is_apart`: the exception has no cause.
    """
    if isinstance(node, ast.Call):
        args = [waiting(x, "raise") for x in node.args]
        keywords = [ast.keyword(k.arg, waiting(k.value, "raise")) for k in node.keywords]
        made = runtime("stated", ast.Constant(is_apart), runtime("call", node.func), *args, keywords=keywords)
    else:
        made = runtime("stated_before", node)
    return ast.copy_location(made, node)


def is_runtime(node: ast.Call) -> bool:
    """Return whether a call is one of the run-time part."""
    return isinstance(node.func, ast.Attribute) and RUNTIME in read(node.func)


def waiting(node: ast.expr, purpose: str) -> ast.expr:
    """Return an expression whose texts may wait for values of the run, also in displays and sums."""
    return _Waiting(purpose).visit(node)


def late_texts(nodes: Sequence[ast.AST]) -> dict[int, str]:
    """Return the purposes of texts in variables that are bound once, and that a `print` or a `raise` alone reads.

    They are by the ids of the expressions. A `try` may catch what is raised, so there is no text for that.
    """
    made = {n.targets[0].id: n.value for n in nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)}
    made = {name: value for name, value in made.items() if as_call(value, "") is not value}
    if not made:
        return {}
    purposes = _uses(nodes)
    uses = {name: sorted(purposes[name]) for name in made}  # the one that binds it, and a purpose
    return {id(made[name]): both[1] for name, both in uses.items() if len(both) == 2 and both[1] in ("print", "raise")}


def _uses(nodes: Sequence[ast.AST]) -> dict[str, set[str]]:
    """Return what binds each name, and the purposes that read it."""
    shown, uses = _shown(nodes), dict[str, set[str]]()
    for n in nodes:
        if isinstance(n, ast.Name):
            is_read = isinstance(n.ctx, ast.Load)
            uses.setdefault(n.id, set()).add(shown.get(id(n), "") if is_read else f"bound by {id(n)}")
        elif isinstance(n, ast.arg):
            uses.setdefault(n.arg, set()).add("")
    return uses


def _shown(nodes: Sequence[ast.AST]) -> dict[int, str]:
    """Return the purposes of arguments of `print` and `raise`, by their ids."""
    shown = dict[int, str]()
    may_raise = not any(isinstance(n, (ast.Try, ast.TryStar)) for n in nodes)
    for node in nodes:
        match node:
            case ast.Call(ast.Name("print"), args):
                shown |= {id(x): "print" for x in args}
            case ast.Raise(ast.Call(args=args)) if may_raise:
                shown |= {id(x): "raise" for x in args}
            case ast.Assert(msg=ast.Name() as message) if may_raise:
                shown[id(message)] = "raise"
    return shown


class _Waiting(ast.NodeTransformer):
    def __init__(self, purpose: str) -> None:
        self.purpose = purpose

    def visit(self, node: ast.AST) -> Any:
        new = as_call(node, self.purpose)
        is_whole = isinstance(node, (ast.Tuple, ast.List, ast.Dict, ast.Starred))
        is_whole = is_whole or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add))
        return self.generic_visit(node) if new is node and is_whole else new


def as_call(node: Any, purpose: str) -> Any:
    """Return the call that makes a text in place of an f-string, `"..." % v`, `"...".format(v)` or `str(v)`.

    It sees values that a run alone knows, and lets the run fill them in if the purpose is "print" or "raise". Other
    expressions are as they are.
    """
    first = ast.Constant(purpose)
    match node:
        case ast.JoinedStr(values=values):
            call = runtime("text", first, *map(_part, values))
        case ast.BinOp(ast.Constant(value=str()), ast.Mod(), right):
            call = runtime("text_of_percent", first, node.left, right)
        case ast.Call(ast.Attribute(ast.Constant(value=str()) as template, "format"), args, keywords):
            call = runtime("text_of_format", first, template, *args, keywords=keywords)
        case ast.Call(ast.Name("str" | "repr"), [value], []) if not isinstance(value, ast.Starred):
            call = runtime("text_by", first, node.func, value)
        case _:
            return node
    return ast.copy_location(call, node)


def _part(part: ast.expr) -> ast.expr:
    """Return a part of an f-string: a text, or a value with its conversion and its format."""
    if not isinstance(part, ast.FormattedValue):
        return part
    conversion = ast.Constant(chr(part.conversion) if part.conversion > 0 else "")
    return ast.Tuple([part.value, conversion, part.format_spec or ast.Constant("")], ast.Load())
