"""Table of changes of captured state. Each case makes a function, changes what it reads, and says what happens.

A case is a generator: it yields the function, then changes what that reads. The number that eager Python gives is right
at any time. `listed` cases are on the list of what cannot be watched, with a part of the text that says so.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One change: its name, the generator, and a part of the line on the list, "" if the change is noticed."""

    name: str
    make: Callable[[], Any]
    listed: str = ""


CASES: list[Case] = []


def case(make: Callable[[], Any]) -> Callable[[], Any]:
    """Add a change that is noticed."""
    CASES.append(Case(make.__name__, make))
    return make


def on_the_list(text: str) -> Callable[..., Any]:
    """Add a change that is not noticed, and is on the list."""
    return lambda make: CASES.append(Case(make.__name__, make, text))


class Scale:
    """An object with one attribute."""

    def __init__(self, value: float = 1.0) -> None:
        self.value = value


def scaled_by(o: Any, x: Any) -> Any:
    """Return x times the attribute of an object that it is passed."""
    return x * o.value


def special(**members: Any) -> Any:
    """Return an object of a new class with a value and these members."""
    return type("Special", (), {"__init__": lambda self: setattr(self, "value", 2.0), **members})()
