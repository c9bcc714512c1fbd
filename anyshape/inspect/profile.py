"""Data of a profile: the times of one call, with a row for each step and its cost.

Write a profile as one page of HTML. Nested bars show the time of a call, by run order and by source line.

Names, lines and files of the user are escaped. The page loads nothing, and its policy allows no other script.

Table model of a profile: columns, lines of cells, summary and notes, which every writer shows.

Write a profile as a table of `rich`, of the extra `demo`.

Write a profile as text in columns.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from string import Template
from typing import Any, TextIO

from anyshape.errors import MissingPackageError
from anyshape.errors.messages import file_label
from anyshape.graph.prover.constraints import SourceLine
from anyshape.inspect.draw.picture import line_of
from anyshape.inspect.explanation import to_plain
from anyshape.inspect.notebook import first_lines, framed
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.packages import html, rich_console, rich_markup, rich_table

_PAGE = Path(__file__).resolve().parent / "page"
_LEAST = 5e-5  # share of the width below which a bar is not drawn; the table has its row


@dataclass
class Frame:
    """Bar of the picture: label, tooltip (`detail`), share of the time, and the bars below it."""

    label: str
    detail: str
    share: float
    kind: str
    below: list[Frame] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return 1 + max((frame.depth for frame in self.below), default=0)


def to_page(profile: Any) -> str:
    """Return the page of a profile."""
    script, style = (_read(f"flame.{kind}") for kind in ("js", "css"))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    whole = sum([row.seconds for row in profile.rows])
    return Template(_read("flame.html")).substitute(
        hash=f"sha256-{digest}",
        title=html.escape(profile.name),
        summary=html.escape(summary(profile)),
        sizes=html.escape(notes(profile)[0]),
        notes=html.escape("; ".join(notes(profile)[1:])),
        style=_read("page.css").partition("* {")[0] + style,
        order=_flame(in_order(profile), "order", whole),
        lines=_flame(by_line(profile), "lines", whole),
        table=_table(profile),
        script=script,
    )


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


# -- bars --------------------------------------------------------------------------------------------------------


def in_order(profile: Any) -> Frame:
    """Return bars for the call, its rows, and the steps inside groups."""
    return _whole(profile, [_frame(row) for row in profile.rows])


def by_line(profile: Any) -> Frame:
    """Return bars for the call, the functions of the user, their lines, and the rows of each line."""
    functions: dict[tuple[str, str], dict[int, list[Any]]] = {}
    elsewhere = []
    for row in [step for whole in profile.rows for step in (whole.steps or (whole,))]:
        if row.where is None:
            elsewhere.append(_frame(row))
        else:
            function = row.where.file, row.where.function
            functions.setdefault(function, {}).setdefault(row.where.line, []).append(row)
    frames = [_function(file, name, rows) for (file, name), rows in functions.items()]
    return _whole(profile, [*sorted(frames, key=lambda frame: -frame.share), *elsewhere])


def _whole(profile, below: list[Frame]) -> Frame:
    return Frame(profile.name, summary(profile), 1.0, "call", below)


def _frame(row) -> Frame:
    kind = "group" if row.steps else "step" if row.where is not None or row.result else "entry"
    return Frame(title(row), _detail(row), row.share, kind, [_frame(step) for step in row.steps])


def _detail(row) -> str:
    """Return the data of a row on one line."""
    _, _, moved, rate, flops, speed, _, _, _ = line(row).cells
    costs = [f"{moved}B" if moved else "", f"{rate} GB/s" if rate else "", f"{flops} flops" if flops else ""]
    where = "" if row.where is None else f"{row.where}  {line_of(row.where)}"
    parts = [title(row), row.result, seconds(row.seconds), percent(row.share), *costs]
    return "; ".join([p for p in [*parts, f"{speed} GFLOP/s" if speed else "", where] if p])


def _function(file: str, name: str, rows_by_line: dict[int, list[Any]]) -> Frame:
    below = [_line(rows) for _, rows in sorted(rows_by_line.items())]
    share = sum(frame.share for frame in below)
    label = f"{name or 'module'} ({file_label(file)})"
    return Frame(label, f"{name} in {file}: {percent(share)}", share, "function", below)


def _line(rows: Sequence[Any]) -> Frame:
    where, share = rows[0].where, sum(row.share for row in rows)
    text = line_of(where)
    label = f"{where.line}: {text}" if text else str(where)
    return Frame(label, f"{where}: {percent(share)}  {text}", share, "line", [_frame(row) for row in rows])


def _flame(root: Frame, name: str, whole: float) -> str:
    bars = "".join(_bars(root, 0.0, 0, whole))
    return f'<div class="flame" id="{name}" style="--depth:{root.depth}">{bars}</div>'


def _bars(frame: Frame, left: float, level: int, whole: float) -> Iterator[str]:
    """Yield a bar with its label and its time, and the bars below it."""
    if frame.share < _LEAST:
        return
    box = f"left:{100 * left:.4f}%;width:{100 * frame.share:.4f}%;--level:{level}"
    data = f'data-left="{left:.6f}" data-width="{frame.share:.6f}" data-level="{level}"'
    tooltip = html.escape(frame.detail, quote=True)
    text = f'{html.escape(frame.label)} <span class="time">{seconds(frame.share * whole)}</span>'
    yield f'<button class="bar {frame.kind}" style="{box}" {data} title="{tooltip}">{text}</button>'
    for inner in frame.below:
        yield from _bars(inner, left, level + 1, whole)
        left += inner.share


# -- the table ---------------------------------------------------------------------------------------------------


def _table(profile) -> str:
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = [html for row in profile.rows for html in (_table_row(row, ""), *_inner(row.steps))]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _inner(steps: Iterable[Any]) -> list[str]:
    return [html for step in steps for html in (_table_row(step, "inner"), *_inner(step.steps))]


def _table_row(row, kind: str) -> str:
    code = "" if row.where is None else f" <code>{html.escape(line_of(row.where))}</code>"
    texts = [html.escape(cell) for cell in line(row).cells]
    texts[-1] += code
    numbers = [f'<td class="number">{text}</td>' for text in texts[: len(NUMBERS)]]
    others = [f"<td>{text}</td>" for text in texts[len(NUMBERS) :]]
    return f'<tr class="{kind}">{"".join([*numbers, *others])}</tr>'


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
    """Return the sizes of the call, layouts of batches, and the sum of the medians of the rows."""
    sizes = ", ".join(f"{name} = {size}" for name, size in profile.sizes.items())
    whole = seconds(sum(row.seconds for row in profile.rows))
    timers = f"with timers {seconds(profile.timed)}, about {seconds(profile.overhead)} of it for them"
    at = f"at {sizes}" if sizes else "at fixed sizes"
    return [at, *profile.layouts, f"{timers}; the rows, medians without it, add up to {whole}"]


def lines(profile: Any, most: int | None) -> Iterator[Line]:
    """Yield the rows that take longest, in the order of the run, then one line for all others."""
    shown, others = _longest(profile.rows, most)
    groups = sum(1 for row in shown if row.steps)
    inside = None if most is None else max(_INSIDE, (most - len(shown)) // max(1, groups))
    for row in shown:
        yield line(row)
        yield from _inside(row, inside, 1)
    yield from _sum(others, 0)


def _inside(row, most: int | None, depth: int) -> Iterator[Line]:
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
    name = f"{row.name}, compiled" if row.compiled else row.name
    if row.trips:
        return f"{name} ({row.trips} trip{'' if row.trips == 1 else 's'})"
    if not row.steps or row.compiled:
        return name
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


@dataclass(frozen=True)
class Row:
    """Time of a step, of a fusion group that ran in tiles, or of a call outside of steps.

    - `seconds` is a median, and `share` its part of the whole call.
    - `bytes` are read and written, `flops` computed; None where that is not known. `at_most`: they are bounds.
    - `steps` are the steps of a group. Their shares add up to the share of the row, and their bytes stay in tiles.
    - The `steps` of a loop or a conditional are those inside of it; a loop has made so many `trips`.
    - `compiled`: it is a loop that ran as machine code. Its `steps` are then lines of your source, by sampling.
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
    compiled: bool = False

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
    - `layouts` say how batches run whose examples differ in size, and why.
    """

    name: str
    value: Any
    seconds: float
    timed: float
    overhead: float
    repeat: int
    sizes: Mapping[str, int]
    rows: tuple[Row, ...] = field(repr=False)
    layouts: tuple[str, ...] = ()
    printed: list[bool] = field(default_factory=list, repr=False, compare=False)

    def print(self, rows: int | None = 40, file: TextIO | None = None) -> None:
        """Write the table with at most `rows` rows, in colours where `rich` is installed and writes to a terminal."""
        stream = sys.stdout if file is None else file
        with contextlib.suppress(MissingPackageError):
            console = rich_console.Console(file=stream)
            if console.is_terminal:
                console.print(profile_table(self, rows))
                return
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
        return {
            **numbers,
            "sizes": dict(self.sizes),
            "layouts": [*self.layouts],
            "rows": [to_plain(row) for row in self.rows],
        }

    def __str__(self) -> str:
        return profile_text(self, None)

    def __repr__(self) -> str:
        return first_lines(str(self), "print it, or take its rows")

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks."""
        return framed(self.html())

    def _ipython_display_(self) -> None:
        """Show nothing in the cell that printed the table; afterwards notebooks show the page."""
        if not self.printed:
            raise NotImplementedError  # by which IPython goes on to the page
        self.printed.clear()

    def __rich__(self) -> Any:
        return profile_table(self, None)


_HOT, _WARM = 0.2, 0.05  # shares of the time


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
