"""Expressions as the user wrote them, read from the source line of a code position.

Python records for each bytecode instruction which columns of the source it was compiled from. An error reads them when
it is made; recording a position costs nothing but a reference to the code object.
"""

from __future__ import annotations

import ast
import linecache
import sys
import textwrap
from collections.abc import Sequence
from itertools import islice
from opcode import opmap
from types import CodeType

_LONGEST = 60  # characters of an expression in a message
_LONGEST_OPERAND = 32  # characters of an operand that is repeated in front of `.shape[0]`
_MODULES = frozenset(("np", "numpy", "anp", "anyshape", "xp", "jnp", "scipy", "linalg", "special"))
_BYTES_PER_INSTRUCTION = 2
STORE_ELEMENT = opmap["STORE_SUBSCR"]


def is_cell(file: str) -> bool:
    """Return whether a file is a cell of a notebook, or of IPython."""
    return "ipykernel_" in file or file.startswith("<ipython-input")


def file_label(file: str) -> str:
    """Return a file as messages name it: without its folders, and a cell of a notebook by its number, as `In[3]`."""
    if is_cell(file):
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        named = getattr(getattr(shell, "compile", None), "format_code_name", lambda file: None)(file)
        if named is not None:
            return str(named[1])
    return file.rpartition("/")[2]


def expression_at(code: CodeType, offset: int) -> ast.AST | None:
    """Return the expression or statement that the instruction at `offset` belongs to, None without its source."""
    text = _segment(code, offset)
    if not text.strip():
        return None
    if code.co_code[offset] == STORE_ELEMENT:
        text = f"{text} = ..."
    for source in (f"({text.strip()})", text):
        try:
            statement = ast.parse(textwrap.dedent(source)).body
        except (SyntaxError, ValueError):
            continue
        if len(statement) == 1:
            return _essence(statement[0])
    return None


def _segment(code: CodeType, offset: int) -> str:
    """Return the source columns of one instruction, indented as in the file."""
    position = next(islice(code.co_positions(), offset // _BYTES_PER_INSTRUCTION, None), None)
    if offset < 0 or position is None or None in position:
        return ""
    first, last, start, end = position
    lines = [linecache.getline(code.co_filename, n).encode() for n in range(first, last + 1)]  # type: ignore[arg-type,operator]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = b" " * start + lines[0][start:]  # type: ignore[operator]
    return b"".join(lines).decode(errors="replace")


def _essence(statement: ast.stmt) -> ast.AST:
    """Return the part of a statement that computes: the test of an `if`, the value of an expression statement."""
    if isinstance(statement, ast.Expr):
        value = statement.value
        return value.test if isinstance(value, ast.IfExp) else value
    return statement.test if isinstance(statement, (ast.If, ast.While, ast.Assert)) else statement


def show_expression(node: ast.AST) -> str:
    """Return the expression on one line; the arguments of a long call are left out."""
    if isinstance(node, ast.For):
        return f"for {ast.unparse(node.target)} in {show_expression(node.iter)}"
    text = ast.unparse(node).partition("\n")[0]
    if len(text) <= _LONGEST:
        return text
    if isinstance(node, ast.Call):
        return f"{show_expression(node.func)}(...)"
    return f"{text[: _LONGEST - 3]}..."


def operand_texts(node: ast.AST, functions: Sequence[str]) -> list[str]:
    """Return the operands of an operator or of a call of one of the functions; of a method the object comes first.

    A call of another function has other operands than the functions that it calls inside.
    """
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) not in functions:
        return []
    return [_operand_text(x) for x in _operands(node)]


def _operands(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Subscript):
        return [node.value]
    return _call_operands(node) if isinstance(node, ast.Call) else []


def _call_operands(call: ast.Call) -> list[ast.expr]:
    """Return the operands of a call: a list of arrays counts as its members, a subscript of einsum as nothing."""
    operands = [x for x in call.args if not (isinstance(x, ast.Constant) and isinstance(x.value, str))]
    if operands and isinstance(operands[0], (ast.List, ast.Tuple)):
        operands = operands[0].elts
    if any(isinstance(x, ast.Starred) for x in operands):
        return []
    return [*([call.func.value] if _is_method(call.func) else []), *operands]  # type: ignore[attr-defined]


def _is_method(function: ast.expr) -> bool:
    """Return True if a called attribute belongs to an array and not to a module."""
    root = function.value if isinstance(function, ast.Attribute) else None
    while isinstance(root, ast.Attribute):
        root = root.value
    return root is not None and not (isinstance(root, ast.Name) and root.id in _MODULES)


def _operand_text(node: ast.expr) -> str:
    """Return an operand that `.shape[0]` can follow, "" for a long one."""
    text = ast.unparse(node)
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        text = f"({text})"
    return text if len(text) <= _LONGEST_OPERAND else ""
