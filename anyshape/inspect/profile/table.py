"""Write a profile as a table of `rich`, of the extra `demo`."""

from __future__ import annotations

from typing import Any, TextIO

from anyshape.inspect.profile.model import COLUMNS, NUMBERS, Line, lines, notes, summary
from anyshape.inspect.profile.text import profile_text
from anyshape.support.packages import rich_console, rich_markup, rich_table

_HOT, _WARM = 0.2, 0.05  # shares of the time


def show(profile: Any, rows: int | None, stream: TextIO) -> None:
    """Write a table to a terminal, and text to anything else."""
    console = rich_console.Console(file=stream)
    if console.is_terminal:
        console.print(profile_table(profile, rows))
    else:
        stream.write(profile_text(profile, rows) + "\n")


def profile_table(profile: Any, rows: int | None) -> Any:
    """Return a table that `rich` prints, with at most `rows` rows."""
    escape = rich_markup.escape
    table = rich_table.Table(title=escape(summary(profile)), caption=escape("\n".join(notes(profile))))
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in NUMBERS else "left", no_wrap=name in NUMBERS)
    for line in lines(profile, rows):
        table.add_row(*map(escape, line.cells), style=_style(line))
    return table


def _style(line: Line) -> str | None:
    """Return the colour of a line, by its share of the time."""
    if line.inner:
        return "dim"
    return "red" if line.share >= _HOT else "yellow" if line.share >= _WARM else None
