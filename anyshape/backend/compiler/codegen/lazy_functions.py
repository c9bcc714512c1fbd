"""Functions of a generated file that are compiled at their first call, each by itself.

A call runs the tiles of a group or its steps one by one, so half of the functions are never called. Lines keep the
numbers that they have in the whole file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anyshape.backend.compiler.codegen.user_lines import UserLines
from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Generated:
    """Name of a generated file, with the lines of the user that its code stands at, and the title of the code there."""

    file: str
    lines: UserLines
    title: str


def define(text: str, generated: Generated, line: int, namespace: dict[str, Any]) -> None:
    """Define a function, whose text begins at a line of the file, to be compiled at its first call.

    Who holds what stands for it until then calls the compiled function through it.
    """
    name = text[len("def ") : text.index("(")]

    def run(*arguments: Any) -> Any:
        if namespace[name] is run:
            namespace[name] = compiled(text, generated, line, namespace)
        return namespace[name](*arguments)

    namespace[name] = run


def compiled(text: str, generated: Generated, line: int, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Return the function with this text, which begins at a line of the file."""
    scope: dict[str, Any] = {}
    exec(compile(text, generated.file, "exec"), namespace, scope)
    (function,) = scope.values()
    function.__code__ = generated.lines.placed(function.__code__, generated.title, line - 1)
    return function
