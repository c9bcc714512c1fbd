"""A profile as text: a line for each row, with what it costs and how fast that was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

COLUMNS = ("time", "share", "bytes", "GB/s", "flops", "GFLOP/s", "step", "result", "line")
_LEFT = ("step", "result", "line")
_INSIDE = 8  # steps shown of a group, where rows are many
_WIDEST = {"result": 36, "step": 40, "line": 40}


def profile_text(profile: Any, rows: int | None) -> str:
    """The whole of it, with at most so many rows."""
    table = [COLUMNS, *table_rows(profile, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [summary(profile), *notes(profile)]
    for row in table:
        cells = [
            cell.ljust(width) if name in _LEFT else cell.rjust(width)
            for name, cell, width in zip(COLUMNS, row, widths, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def summary(profile: Any) -> str:
    """`grad(loss): 1.23 ms a call, the median of 100`."""
    return f"{profile.name}: {seconds(profile.seconds)} a call, the median of {profile.repeat}"


def notes(profile: Any) -> list[str]:
    """At which sizes, and what the rows add up to: medians of each."""
    sizes = ", ".join(f"{name} = {size}" for name, size in profile.sizes.items())
    whole = seconds(sum(row.seconds for row in profile.rows))
    timers = f"with timers {seconds(profile.timed)}, about {seconds(profile.overhead)} of it for them"
    return [f"at {sizes}" if sizes else "at fixed sizes", f"{timers}; the rows, medians without it, add up to {whole}"]


def table_rows(profile: Any, most: int | None) -> Iterator[tuple[str, ...]]:
    """The cells of the rows that take longest, in the order of the run, then of the others together."""
    shown, left = chosen(profile.rows, most)
    groups = sum(1 for row in shown if row.steps)
    inside = None if most is None else max(_INSIDE, (most - len(shown)) // max(1, groups))
    for row in shown:
        yield cells(row, "")
        steps, others = chosen(row.steps, inside)
        yield from [cells(step, "  ") for step in steps]
        yield from _together(others, "  ")
    yield from _together(left, "")


def _together(rows: Sequence[Any], indent: str) -> list[tuple[str, ...]]:
    """One line for rows that have none of their own."""
    if not rows:
        return []
    taken, share = seconds(sum(row.seconds for row in rows)), percent(sum(row.share for row in rows))
    return [(taken, share, "", "", "", "", f"{indent}{len(rows)} others", "", "")]


def chosen(rows: Sequence[Any], most: int | None) -> tuple[list[Any], list[Any]]:
    """The rows that take longest, and the rest, in the order of the run."""
    if most is None or len(rows) <= most:
        return list(rows), []
    dearest = {id(row) for row in sorted(rows, key=lambda row: -row.seconds)[: most - 1]}
    return [r for r in rows if id(r) in dearest], [r for r in rows if id(r) not in dearest]


def cells(row: Any, indent: str) -> tuple[str, ...]:
    """What stands in the columns."""
    most = "<=" if row.at_most else ""
    return (
        seconds(row.seconds),
        percent(row.share),
        "" if row.bytes is None else most + quantity(row.bytes),
        "" if row.bytes_per_second is None else f"{row.bytes_per_second / 1e9:.3g}",
        "" if row.flops is None else most + quantity(row.flops),
        "" if row.flops_per_second is None else f"{row.flops_per_second / 1e9:.3g}",
        cut(f"{indent}{title(row)}", _WIDEST["step"]),
        cut(row.result, _WIDEST["result"]),
        cut("" if row.where is None else str(row.where), _WIDEST["line"]),
    )


def title(row: Any) -> str:
    """Its name; of steps that ran together also how."""
    if not row.steps:
        return row.name
    tiles = f"{row.tiles} " if row.tiles else ""
    return f"{row.name} ({tiles}on {row.threads} thread{'' if row.threads == 1 else 's'})"


def cut(text: str, width: int) -> str:
    """The text, or its beginning."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def percent(share: float) -> str:
    """`12.3 %`."""
    return f"{100 * share:.1f} %"


def seconds(value: float) -> str:
    """A duration for people.

    >>> seconds(0.0000153), seconds(0.25), seconds(3), seconds(0)
    ('15.3 us', '250 ms', '3 s', '0 us')
    """
    scale, unit = next(((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if value >= s), (1e-6, "us"))
    return f"{value / scale:.3g} {unit}"


def quantity(value: int) -> str:
    """A large number for people.

    >>> quantity(0), quantity(999), quantity(24_000_000)
    ('0', '999', '24 M')
    """
    scale, unit = next(((s, u) for s, u in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= s), (1, ""))
    return f"{value / scale:.3g} {unit}".rstrip()
