"""A table of mistakes with the messages that they get.

A message is good where it

- names the expression, the argument or the option that is wrong, as the user wrote it,
- names the line, unless the traceback ends at it: the call that was wrong,
- says on its second line what to write,
- is true for the sizes and values of the call,
- and is short: two lines, and the traceback has twelve on average.

A message is poor where it names only what stands inside of anyshape or NumPy, or advises what does not work. It is
middling where a reader has to look up what it means. No row may be poor; a middling one is better mended.
`grades.py` has the grade of each message, `rubric.py` what a program can check, and `test_advice.py` tries advice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Mistake(NamedTuple):
    """A function that makes a mistake, and the message of the error; lines of its file read `model.py`."""

    name: str
    make: Callable[[], Any]
    message: str


MISTAKES: list[Mistake] = []


def mistake(message: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Return a decorator that puts a function into the table."""

    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        MISTAKES.append(Mistake(make.__name__, make, message))
        return make

    return add


def ones(*shape: int) -> np.ndarray:
    """Return an array of ones."""
    return np.ones(shape)
