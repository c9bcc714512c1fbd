"""Extension of griffe: a doctest in a docstring is a block of code, not a quotation of a quotation."""

from __future__ import annotations

import re
from typing import Any

import griffe

SESSION = re.compile(r"^(?:>>> .*\n(?:(?!>>> |\n).*(?:\n|\Z))*)+", re.MULTILINE)
DIRECTIVE = re.compile(r" +# doctest: \+\w+$", re.MULTILINE)


def fenced(text: str) -> str:
    """Return a docstring with its doctests as fenced blocks."""
    return SESSION.sub(lambda m: f"```pycon\n{DIRECTIVE.sub('', m[0]).rstrip()}\n```\n", text + "\n")


class Doctests(griffe.Extension):
    """Extension that fences the doctests of each object."""

    def on_object(self, *, obj: griffe.Object, **options: Any) -> None:
        """Fence the doctests of an object that was loaded."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
