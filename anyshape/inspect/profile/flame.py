"""Write a profile as one page of HTML. Nested bars show the time of a call, by run order and by source line.

Names, lines and files of the user are escaped. The page loads nothing, and its policy allows no other script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from string import Template
from typing import Any

from anyshape.errors.source_text import file_label
from anyshape.inspect.draw.picture import line_of
from anyshape.inspect.profile.model import COLUMNS, NUMBERS, line, notes, percent, seconds, summary, title
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import html

_PAGE = Path(__file__).resolve().parents[1] / "page"
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


def _whole(profile: Any, below: list[Frame]) -> Frame:
    return Frame(profile.name, summary(profile), 1.0, "call", below)


def _frame(row: Any) -> Frame:
    kind = "group" if row.steps else "step" if row.where is not None or row.result else "entry"
    return Frame(title(row), _detail(row), row.share, kind, [_frame(step) for step in row.steps])


def _detail(row: Any) -> str:
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


def _table(profile: Any) -> str:
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = [html for row in profile.rows for html in (_table_row(row, ""), *_inner(row.steps))]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _inner(steps: Iterable[Any]) -> list[str]:
    return [html for step in steps for html in (_table_row(step, "inner"), *_inner(step.steps))]


def _table_row(row: Any, kind: str) -> str:
    code = "" if row.where is None else f" <code>{html.escape(line_of(row.where))}</code>"
    texts = [html.escape(cell) for cell in line(row).cells]
    texts[-1] += code
    numbers = [f'<td class="number">{text}</td>' for text in texts[: len(NUMBERS)]]
    others = [f"<td>{text}</td>" for text in texts[len(NUMBERS) :]]
    return f'<tr class="{kind}">{"".join([*numbers, *others])}</tr>'
