"""The language of shape specifications: "a, 2*b, (a+1)//2, 3"; names are unknown sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable

from anyshape.errors import SpecError
from anyshape.graph import dims
from anyshape.graph.dims import Size

Lookup = Callable[[str], Size]

_ADVICE = 'write sizes as in "n, 2*m, (n + 1)//2, 3", with + - * // % max() min()'
_OPERATORS: dict[type[ast.operator], Callable[[Size, Size], Size]] = {
    ast.Add: dims.add,
    ast.Sub: lambda a, b: dims.add(a, dims.mul(-1, b)),
    ast.Mult: dims.mul,
    ast.FloorDiv: dims.floordiv,
    ast.Mod: dims.mod,
}
_FUNCTIONS: dict[str, Callable[..., Size]] = {
    "max": dims.maximum,
    "min": dims.minimum,
    "ceildiv": dims.ceildiv,
    "broadcast": dims.broadcast,
}


def parse_shape(text: str, lookup: Lookup) -> tuple[Size, ...]:
    """The sizes of a specification; `lookup` gives the size that a name stands for. The empty text is a scalar's."""
    body = text.strip()
    if body.startswith("(") and body.endswith(")") and body.count("(") == body.count(")") == 1:
        body = body[1:-1].strip()
    if not body:
        return ()
    shift = text.index(body)
    try:
        tree = ast.parse(f"({body},)" if not body.endswith(",") else f"({body})", mode="eval")
    except SyntaxError as error:
        column = min(max((error.offset or 1) - 2 + shift, 0), len(text))
        raise SpecError(text, "cannot be read", _ADVICE, column) from None
    if not isinstance(tree.body, ast.Tuple):
        raise SpecError(text, "is not a list of sizes", _ADVICE)
    return tuple([_size(node, text, shift - 1, lookup) for node in tree.body.elts])


def _size(node: ast.expr, text: str, shift: int, lookup: Lookup) -> Size:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return lookup(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return dims.mul(-1, _size(node.operand, text, shift, lookup))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = (_size(n, text, shift, lookup) for n in (node.left, node.right))
        try:
            return _OPERATORS[type(node.op)](left, right)
        except ZeroDivisionError:
            raise SpecError(text, "divides by zero", _ADVICE, node.col_offset + shift) from None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and node.args:
        return _FUNCTIONS[node.func.id](*[_size(a, text, shift, lookup) for a in node.args])
    what = ast.unparse(node)
    raise SpecError(text, f"{what!r} is not a size", _ADVICE, node.col_offset + shift)
