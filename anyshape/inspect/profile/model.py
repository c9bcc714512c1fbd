"""Table model of a profile: columns, lines of cells, summary and notes, which every writer shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anyshape.support.lazy_namedtuple import NamedTuple

COLUMNS = ("time", "share", "bytes", "GB/s", "flops", "GFLOP/s", "step", "result", "line")
NUMBERS = COLUMNS[:6]
_INSIDE = 8  # steps shown of a group, where rows are many
_WIDEST = {"result": 36, "step": 40, "line": 40}


class Line(NamedTuple):
    """Line of the table: its cells, its share of the time, and whether it belongs to a group above it."""

    cells: tuple[str, ...]
    share: float
    inner: bool


def summary(profile: Any) -> str:
    """Return a title: `grad(loss): 1.23 ms a call, the median of 100`."""
    return f"{profile.name}: {seconds(profile.seconds)} a call, the median of {profile.repeat}"


def notes(profile: Any) -> list[str]:
    """Return the sizes of the call, and the sum of the medians of the rows."""
    sizes = ", ".join(f"{name} = {size}" for name, size in profile.sizes.items())
    whole = seconds(sum(row.seconds for row in profile.rows))
    timers = f"with timers {seconds(profile.timed)}, about {seconds(profile.overhead)} of it for them"
    return [f"at {sizes}" if sizes else "at fixed sizes", f"{timers}; the rows, medians without it, add up to {whole}"]


def lines(profile: Any, most: int | None) -> Iterator[Line]:
    """Yield the rows that take longest, in the order of the run, then one line for all others."""
    shown, others = _longest(profile.rows, most)
    groups = sum(1 for row in shown if row.steps)
    inside = None if most is None else max(_INSIDE, (most - len(shown)) // max(1, groups))
    for row in shown:
        yield line(row)
        yield from _inside(row, inside, 1)
    yield from _sum(others, 0)


def _inside(row: Any, most: int | None, depth: int) -> Iterator[Line]:
    """Yield the lines of the steps of a row, and of the steps of these."""
    steps, others = _longest(row.steps, most)
    for step in steps:
        yield line(step, depth)
        yield from _inside(step, most, depth + 1)
    yield from _sum(others, depth)


def _sum(rows: Sequence[Any], depth: int) -> list[Line]:
    """Return one line for rows that have none of their own."""
    if not rows:
        return []
    share = sum(row.share for row in rows)
    time, indent = seconds(sum(row.seconds for row in rows)), "  " * depth
    cells = (time, percent(share), "", "", "", "", f"{indent}{len(rows)} others", "", "")
    return [Line(cells, share, depth > 0)]


def _longest(rows: Sequence[Any], most: int | None) -> tuple[list[Any], list[Any]]:
    """Return the rows that take longest, and the rest, both in the order of the run."""
    if most is None or len(rows) <= most:
        return list(rows), []
    longest = {id(row) for row in sorted(rows, key=lambda row: -row.seconds)[: most - 1]}
    return [r for r in rows if id(r) in longest], [r for r in rows if id(r) not in longest]


def line(row: Any, depth: int = 0) -> Line:
    """Return the line of one row, which stands so deep inside of others."""
    most = "<=" if row.at_most else ""
    cells = (
        seconds(row.seconds),
        percent(row.share),
        "" if row.bytes is None else most + quantity(row.bytes),
        "" if row.bytes_per_second is None else f"{row.bytes_per_second / 1e9:.3g}",
        "" if row.flops is None else most + quantity(row.flops),
        "" if row.flops_per_second is None else f"{row.flops_per_second / 1e9:.3g}",
        cut(f"{'  ' * depth}{title(row)}", _WIDEST["step"]),
        cut(row.result, _WIDEST["result"]),
        cut("" if row.where is None else str(row.where), _WIDEST["line"]),
    )
    return Line(cells, row.share, depth > 0)


def title(row: Any) -> str:
    """Return the name of a row; of a loop also its trips, of steps that ran as tiles the tiles and threads."""
    if row.trips:
        return f"{row.name} ({row.trips} trip{'' if row.trips == 1 else 's'})"
    if not row.steps:
        return row.name
    tiles = f"{row.tiles} " if row.tiles else ""
    return f"{row.name} ({tiles}on {row.threads} thread{'' if row.threads == 1 else 's'})"


def cut(text: str, width: int) -> str:
    """Return the text, cut to a width."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def percent(share: float) -> str:
    """Return a share as `12.3 %`."""
    return f"{100 * share:.1f} %"


def seconds(value: float) -> str:
    """Return a duration with a unit.

    >>> seconds(0.0000153), seconds(0.25), seconds(3), seconds(0)
    ('15.3 us', '250 ms', '3 s', '0 us')
    """
    scale, unit = next(((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us")) if value >= s), (1e-6, "us"))
    return f"{value / scale:.3g} {unit}"


def quantity(value: int) -> str:
    """Return a number with a prefix for its power of 1000.

    >>> quantity(0), quantity(999), quantity(24_000_000)
    ('0', '999', '24 M')
    """
    scale, unit = next(((s, u) for s, u in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")) if value >= s), (1, ""))
    return f"{value / scale:.3g} {unit}".rstrip()
