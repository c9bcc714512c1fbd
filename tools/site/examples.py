"""Examples of functions of arrays for the reference: the calls by which the survey compares them with NumPy and SciPy.

`tests/survey` runs each call traced, and compares it with the function that it stands for. A page shows the call at few
elements, with the result of that function.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.survey import modules
from tests.survey.operands import OPERANDS, axes_of, shorten
from tests.survey.survey import Row

FEW = (3, 4, 6)  # elements along the common axis of the operands: the first number that a function takes
LONGEST = 700  # characters of an example with its result
ALIASES = {"numpy": "np", "numpy.linalg": "np.linalg", "numpy.fft": "np.fft"}
OPTIONS: Any = {"precision": 4, "suppress": True, "threshold": 40, "linewidth": 88}


def example(module: str, name: str) -> str:
    """Return the example of a function as a block of code; empty where the survey has no call that shows it."""
    if module not in modules.MODULES or name not in modules.functions(module):
        return ""
    expression = modules.expression_for(module, name)
    if expression is None or "written(" in expression:
        return ""
    row = Row(expression, None, modules.pair(module, name)[1])
    for count in FEW:
        values = {operand: _few(operand, count) for operand in row.operands}
        result = _result(row.theirs, values)
        if result is not None:
            text = "\n".join(_lines(f"{alias(module)}.{name}", expression, values, result))
            return f"```python\n{text}\n```" if len(text) <= LONGEST else ""
    return ""


def alias(module: str) -> str:
    """Return the name of a module in examples."""
    return ALIASES.get(module, module.rpartition(".")[2])


def imports(module: str) -> str:
    """Return the imports of the examples of a module, as code."""
    lines = ["import anyshape.numpy as np", "from anyshape import jit"]
    if module not in ALIASES:
        parent, _, last = f"anyshape.{module}".rpartition(".")
        lines.append(f"from {parent} import {last}")
    return "\n".join(lines)


def _few(operand: str, count: int) -> Any:
    """Return the first elements of an operand, also along a second common axis, with the digits that are shown."""
    value = OPERANDS[operand]
    few = shorten(value, operand, slice(0, count)) if axes_of(operand) else value
    return np.round(few, OPTIONS["precision"]) if few.dtype.kind in "fc" else few


def _result(function: Callable[..., Any], values: dict[str, Any]) -> Any:
    """Return the result of a call, and None where the function refuses operands of this size, or gives NaN."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            result = function(*values.values())
    except Exception:  # functions of SciPy refuse too few elements by errors of many classes
        return None
    is_number = isinstance(result, np.ndarray | np.generic) and result.dtype.kind in "fc"
    return None if is_number and not np.all(np.isfinite(result)) else result


def _lines(name: str, expression: str, values: dict[str, Any], result: Any) -> Iterator[str]:
    """Yield the lines of an example: its operands, the traced call, and its result as a comment."""
    for operand, value in values.items():
        start = f"{operand} = np."
        yield start + (shown(value) if value.ndim else f"array({value})").replace("\n", "\n" + " " * len(start))
    tree = _Named(name).visit(ast.parse(expression, mode="eval"))
    yield f"jit(lambda {', '.join(values)}: {ast.unparse(tree)})({', '.join(values)})"
    yield from [f"# {line}" for line in shown(result).splitlines()]


def shown(value: Any) -> str:
    """Return a value as Python prints it, with few digits; a number without axes as a number."""
    if isinstance(value, np.ndarray | np.generic | float | complex) and np.ndim(value) == 0:
        number = np.asarray(value).item()
        return f"{number:.4g}" if isinstance(number, float | complex) else repr(number)
    with np.printoptions(**OPTIONS):
        return repr(value)


class _Named(ast.NodeTransformer):
    """Puts the name of a function in place of F."""

    def __init__(self, name: str) -> None:
        self.name = ast.parse(name, mode="eval").body

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the name of the function for F, and any other name as it is."""
        return self.name if node.id == "F" else node
