"""A table of mistakes with the messages that they get."""

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
