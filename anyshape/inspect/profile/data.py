"""What `profile` finds: a call is repeated with and without timers, and readings become rows with what they cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from anyshape.errors import MissingPackageError
from anyshape.graph.prover.constraints import SourceLine
from anyshape.inspect.plain_data import to_plain
from anyshape.inspect.profile.flame import to_page
from anyshape.inspect.profile.table import profile_table, show
from anyshape.inspect.profile.text import profile_text


@dataclass(frozen=True)
class Row:
    """Where time goes: a step, steps that ran together as tiles, or what a call does outside of steps.

    `seconds` are a median and `share` is their part of the whole call. `bytes` are read and written, `flops` made, None
    where that is not known, `at_most` where sizes are bounds. `steps` are those that ran together: their shares add up
    to that of the row, and what they move does not leave its tiles.
    """

    name: str
    seconds: float
    share: float
    result: str = ""
    bytes: int | None = None
    flops: int | None = None
    at_most: bool = False
    where: SourceLine | None = None
    steps: tuple[Row, ...] = ()
    tiles: int = 0
    threads: int = 1

    @property
    def bytes_per_second(self) -> float | None:
        """None where the bytes or the time are nothing."""
        return self.bytes / self.seconds if self.bytes and self.seconds > 0 and not self.at_most else None

    @property
    def flops_per_second(self) -> float | None:
        """None where the operations or the time are nothing."""
        return self.flops / self.seconds if self.flops and self.seconds > 0 and not self.at_most else None


@dataclass(frozen=True)
class Profile:
    """Where the time of a call went. Prints as a table, also in `rich`; `save` writes it, `to_dict` gives plain data.

    `value` is what the function gave, `seconds` the median of calls as they are, `timed` that of calls with timers, of
    which `overhead` is about what the timers took, which no row has; `rows` are in the order of the run. `sizes` are
    those of the call, by name.
    """

    name: str
    value: Any
    seconds: float
    timed: float
    overhead: float
    repeat: int
    sizes: Mapping[str, int]
    rows: tuple[Row, ...] = field(repr=False)

    def print(self, rows: int | None = 40, file: TextIO | None = None) -> None:
        """Write the table, with at most so many rows: in colours where `rich` is installed and writes to a terminal."""
        stream = sys.stdout if file is None else file
        try:
            show(self, rows, stream)
        except MissingPackageError:
            stream.write(profile_text(self, rows) + "\n")

    def html(self) -> str:
        """One page that shows the time as nested bars, with nothing loaded from elsewhere."""
        return to_page(self)

    def save(self, file: str | Path) -> None:
        """Write the page, or, where the name ends in .json, the data."""
        path = Path(file)
        path.write_text(json.dumps(self.to_dict(), indent=2) if path.suffix == ".json" else self.html(), "utf-8")

    def to_dict(self) -> dict[str, Any]:
        """All but the value."""
        found = {name: getattr(self, name) for name in ("name", "seconds", "timed", "overhead", "repeat")}
        return {**found, "sizes": dict(self.sizes), "rows": [to_plain(row) for row in self.rows]}

    def __str__(self) -> str:
        return profile_text(self, None)

    def __rich__(self) -> Any:
        return profile_table(self, None)
