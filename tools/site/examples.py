"""Examples of functions of arrays for the reference: the calls of the survey, and further ones.

`tests/survey` compares each of its calls with the function of NumPy or SciPy. A page shows the call at few elements. It
runs the code that it shows, and shows the result and the shapes of the program.
"""

from __future__ import annotations

import ast
import functools
import importlib
import logging
import warnings
from typing import Any

import numpy as np

from tests.survey.operands import OPERANDS, axes_of, shorten
from tools.site import example_calls

FEW = (3, 4, 6)  # elements along the common axis of the operands: the first number that a function takes
LONGEST = 900  # characters of an example with its result
START = {"numpy.random": ("np.random.seed(0)",)}  # of examples whose result depends on what ran before
ALIASES = {"numpy": "np", "numpy.linalg": "np.linalg", "numpy.fft": "np.fft", "numpy.random": "np.random"}
OPTIONS: Any = {"precision": 4, "suppress": True, "threshold": 40, "linewidth": 88}


@functools.cache
def example(module: str, name: str) -> str:
    """Return the example of a function as a block of code; empty where no call shows it."""
    function = getattr(importlib.import_module(f"anyshape.{module}"), name)
    expression = example_calls.call(module, name, function)
    if expression is None:
        return ""
    tree = _Named(f"{alias(module)}.{name}").visit(ast.parse(expression, mode="eval"))
    words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    operands = [operand for operand in OPERANDS if operand in words]
    traced = name not in example_calls.UNTRACED
    texts = (_at_few(module, ast.unparse(tree), operands, count, traced) for count in FEW)
    return next((f"```python\n{text}\n```" for text in texts if text and len(text) <= LONGEST), "")


def _at_few(module: str, call: str, operands: list[str], count: int, traced: bool) -> str:
    """Return a call at so many elements as code, below what it needs and above what it prints."""
    arguments = ", ".join(operands)
    program = f"jit(lambda {arguments}: {call})".replace("lambda :", "lambda:") if traced else ""
    before = [*START.get(module, ()), *(_assignment(operand, count) for operand in operands)]
    printed = _printed("\n".join([imports(module), *before]), program, arguments if traced else call)
    shown_call = f"{program}({arguments})" if traced else call
    return "\n".join([*before, shown_call, *(f"# {line}" for line in printed)]) if printed else ""


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


def _assignment(operand: str, count: int) -> str:
    """Return the line that sets an operand to few elements."""
    value, start = _few(operand, count), f"{operand} = np."
    return start + (shown(value) if value.ndim else f"array({value})").replace("\n", "\n" + " " * len(start))


def _printed(before: str, program: str, call: str) -> list[str]:
    """Return the lines that show a result, and the shapes of its program if there is one.

    There are none where the function refuses operands of this size, or gives NaN.
    """
    scope: dict[str, Any] = {}
    exec(before, scope)
    logging.disable(logging.WARNING)  # about sizes that Python needs
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function = eval(program, scope) if program else None
            result = eval(call if function is None else f"function({call})", scope | {"function": function})
    except Exception:  # functions of SciPy refuse too few elements by errors of many classes
        return []
    finally:
        logging.disable(logging.NOTSET)
    is_number = isinstance(result, np.ndarray | np.generic) and result.dtype.kind in "fc"
    if is_number and not np.all(np.isfinite(result)):
        return []
    return shown(result).splitlines() + ([] if function is None else [_shapes(function)])


def _shapes(function: Any) -> str:
    """Return the operands and results of the program of a call, and what it demands of their sizes."""
    graph = function.programs()[-1].graph
    header = str(graph).splitlines()[0].replace("%", "")
    demands = [str(condition.claim) for condition in graph.conditions if condition.kind == "assertion"]
    return f"shapes: {header[header.index('(') :]}{', where ' * bool(demands)}{' and '.join(demands)}"


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
