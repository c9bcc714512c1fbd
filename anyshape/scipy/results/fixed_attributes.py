"""Objects whose attributes stay as they are, so that a program that captured them is never out of date.

What a program reads of a captured array is compared in each call; what an attribute of an object names is not.
"""

from __future__ import annotations

from typing import Any


class FixedAttributes:
    """Object whose attributes are set once."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            problem = f"attribute {name!r} of {type(self).__name__} cannot be set again: make another one"
            raise AttributeError(problem, name=name, obj=self)
        object.__setattr__(self, name, value)
