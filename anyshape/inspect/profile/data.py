"""Data of a profile: the times of one call, with a row for each step and its cost."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TextIO

from anyshape.errors import MissingPackageError
from anyshape.graph.prover.constraints import SourceLine
from anyshape.inspect.notebook import first_lines, framed
from anyshape.inspect.plain_data import to_plain
from anyshape.inspect.profile.flame import to_page
from anyshape.inspect.profile.table import profile_table, show
from anyshape.inspect.profile.text import profile_text
from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Row:
    """Time of a step, of a fusion group that ran in tiles, or of a call outside of steps.

    - `seconds` is a median, and `share` its part of the whole call.
    - `bytes` are read and written, `flops` computed; None where that is not known. `at_most`: they are bounds.
    - `steps` are the steps of a group. Their shares add up to the share of the row, and their bytes stay in tiles.
    - The `steps` of a loop or a conditional are those inside of it; a loop has made so many `trips`.
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
    trips: int = 0

    @property
    def bytes_per_second(self) -> float | None:
        """Bytes per second, None where bytes or time are 0 or the bytes are a bound."""
        return self.bytes / self.seconds if self.bytes and self.seconds > 0 and not self.at_most else None

    @property
    def flops_per_second(self) -> float | None:
        """Operations per second, None where operations or time are 0 or the operations are a bound."""
        return self.flops / self.seconds if self.flops and self.seconds > 0 and not self.at_most else None


@dataclass(frozen=True)
class Profile:
    """Times of one call. It prints as a table, also in `rich`; `save` writes it, and `to_dict` returns plain data.

    - `value` is the result of the function, and `sizes` are the sizes of the call by name.
    - `seconds` is the median of calls without timers, `timed` the median of calls with timers.
    - `overhead` is the estimated cost of the timers, which no row contains.
    - `rows` are in the order of the run.
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
        """Write the table with at most `rows` rows, in colours where `rich` is installed and writes to a terminal."""
        stream = sys.stdout if file is None else file
        try:
            show(self, rows, stream)
        except MissingPackageError:
            stream.write(profile_text(self, rows) + "\n")

    def html(self) -> str:
        """Return one self-contained page that shows the time as nested bars."""
        return to_page(self)

    def save(self, file: str | Path) -> None:
        """Write the page, or the data if the name ends in .json."""
        path = Path(file)
        path.write_text(json.dumps(self.to_dict(), indent=2) if path.suffix == ".json" else self.html(), "utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return all but the value as dicts, lists, texts and numbers."""
        numbers = {name: getattr(self, name) for name in ("name", "seconds", "timed", "overhead", "repeat")}
        return {**numbers, "sizes": dict(self.sizes), "rows": [to_plain(row) for row in self.rows]}

    def __str__(self) -> str:
        return profile_text(self, None)

    def __repr__(self) -> str:
        return first_lines(str(self), "print it, or take its rows")

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks."""
        return framed(self.html())

    def __rich__(self) -> Any:
        return profile_table(self, None)
