"""A profile as a table of `rich`, of the extra `demo`."""

from __future__ import annotations

from typing import Any, TextIO

from anyshape.inspect.profile.text import COLUMNS, notes, profile_text, summary, table_rows
from anyshape.support.packages import rich_console, rich_markup, rich_table

_RIGHT = ("time", "share", "bytes", "GB/s", "flops", "GFLOP/s")
_HOT, _WARM = 20.0, 5.0  # percent


def show(profile: Any, rows: int | None, stream: TextIO) -> None:
    """Write it: as a table to a terminal, as text to anything else."""
    console = rich_console.Console(file=stream)
    if console.is_terminal:
        console.print(profile_table(profile, rows))
    else:
        stream.write(profile_text(profile, rows) + "\n")


def profile_table(profile: Any, rows: int | None) -> Any:
    """What `rich` draws."""
    escape = rich_markup.escape
    table = rich_table.Table(title=escape(summary(profile)), caption=escape("\n".join(notes(profile))))
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in _RIGHT else "left", no_wrap=name in _RIGHT)
    for row in table_rows(profile, rows):
        share = float(row[1].removesuffix(" %"))
        style = "dim" if row[6].startswith("  ") else "red" if share >= _HOT else "yellow" if share >= _WARM else None
        table.add_row(*map(escape, row), style=style)
    return table
