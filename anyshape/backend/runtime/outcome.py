"""Outcome of a generated function that did not run because a guard of its program fails."""

from __future__ import annotations

import enum
from typing import Any, Final


class GuardOutcome(enum.Enum):
    """Result of a run in place of its outputs; its one member compares by identity."""

    GUARD_FAILED = "guard failed"


GUARD_FAILED: Final = GuardOutcome.GUARD_FAILED
Outputs = list[Any] | GuardOutcome
