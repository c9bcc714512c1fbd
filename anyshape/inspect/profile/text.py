"""Write a profile as text in columns."""

from __future__ import annotations

from typing import Any

from anyshape.inspect.profile.model import COLUMNS, NUMBERS, lines, notes, summary


def profile_text(profile: Any, rows: int | None) -> str:
    """Return the whole profile, with at most `rows` rows."""
    table = [COLUMNS, *[line.cells for line in lines(profile, rows)]]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    texts = [summary(profile), *notes(profile)]
    for row in table:
        cells = [
            cell.rjust(width) if name in NUMBERS else cell.ljust(width)
            for name, cell, width in zip(COLUMNS, row, widths, strict=True)
        ]
        texts.append("  ".join(cells).rstrip())
    return "\n".join(texts)
