"""Extension of griffe: public names are read where they are defined, and doctests in docstrings are blocks of code."""

from __future__ import annotations

import re
from typing import Any

import griffe

import anyshape

SESSION = re.compile(r"^(?:>>> .*\n(?:(?!>>> |\n).*(?:\n|\Z))*)+", re.MULTILINE)
DIRECTIVE = re.compile(r" +# doctest: \+\w+$", re.MULTILINE)


def fenced(text: str) -> str:
    """Return a docstring with its doctests as fenced blocks."""
    return SESSION.sub(lambda m: f"```pycon\n{DIRECTIVE.sub('', m[0]).rstrip()}\n```\n", text + "\n")


class Doctests(griffe.Extension):
    """Extension that fences the doctests of each object, and follows names that load at their first use."""

    def on_package(self, *, pkg: griffe.Module, **options: Any) -> None:
        """Give the package its names: the file of types beside it has neither docstrings nor overloaded functions."""
        for name, home in anyshape._HOMES.items() if pkg.path == "anyshape" else ():
            defined = getattr(getattr(anyshape, name), "__name__", name)
            pkg.set_member(name, griffe.Alias(name, target=f"{home}.{defined}"))

    def on_object(self, *, obj: griffe.Object, **options: Any) -> None:
        """Fence the doctests of an object that was loaded."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
