"""Outcomes of a function that does not serve a call: a guard fails, or Python would have taken another path."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, Final


class GuardOutcome(enum.Enum):
    """Result of a run in place of its outputs; its one member compares by identity."""

    GUARD_FAILED = "guard failed"


GUARD_FAILED: Final = GuardOutcome.GUARD_FAILED
Outputs = list[Any] | GuardOutcome


class PathLeft(BaseException):
    """Raised by a run in which Python would have got another answer, in the turn of its decision, than in the trace.

    No handler of the user's functions, and none that translates errors, may take it for an error. `live` are values
    with which the call can go on.
    """

    turn: int
    answer: bool | int
    live: Sequence[Any]

    def __init__(self, turn: int, answer: bool | int, live: Sequence[Any] = ()) -> None:
        self.turn, self.answer, self.live = turn, answer, live
        super().__init__(f"decision {turn} is {answer}")
