"""Functions of a generated file that are compiled at their first call, each by itself.

A call runs the tiles of a group or its steps one by one, so half of the functions are never called. Lines keep the
numbers that they have in the whole file.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any


def define(text: str, file: str, line: int, namespace: dict[str, Any]) -> None:
    """Define a function, whose text begins at a line of the file, to be compiled at its first call.

    Who holds what stands for it until then calls the compiled function through it.
    """
    name = text[len("def ") : text.index("(")]

    def run(*arguments: Any) -> Any:
        if namespace[name] is run:
            namespace[name] = compiled(text, file, line, namespace)
        return namespace[name](*arguments)

    namespace[name] = run


def compiled(text: str, file: str, line: int, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Return the function with this text, which begins at a line of the file."""
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), namespace, scope)
    (function,) = scope.values()
    function.__code__ = _moved(function.__code__, line - 1)
    return function


def _moved(code: CodeType, lines: int) -> CodeType:
    """Return code that stands so many lines further down."""
    constants = tuple([_moved(c, lines) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_firstlineno=code.co_firstlineno + lines, co_consts=constants)
