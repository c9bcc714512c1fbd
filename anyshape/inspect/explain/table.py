"""An explanation as tables of `rich`, of the extra `demo`: the programs, then sizes and conditions of each."""

from __future__ import annotations

from typing import Any

from anyshape.inspect.explain.text import argument, because, counts, cut, explanation_text, few, range_text, retraces
from anyshape.support.packages import rich_console, rich_markup, rich_table

_STYLES = {"guard": "yellow", "assertion": "red", "constraint": "cyan", "fact": "green"}
_KINDS = {"guard": "used where", "assertion": "or an error", "constraint": "declared", "fact": "is known"}


def explanation_table(explanation: Any) -> Any:
    """What `rich` draws."""
    escape = rich_markup.escape
    if not explanation.programs:
        return escape(explanation_text(explanation))
    summary = rich_table.Table(title=escape(f"{explanation.name}: {counts(explanation.cache)}"), show_lines=True)
    for name in ("program", "arguments", "result", "traced because", "another is traced where"):
        summary.add_column(name)
    for p in explanation.programs:
        number = f"[bold]{p.number}[/bold] *" if p.number == explanation.program else str(p.number)
        given = [argument(a) for a in p.arguments] + [f"{k}={v}" for k, v in p.static.items()]
        why = because(p.because) + [f"of no use any more: {s}" for s in p.stale]
        summary.add_row(number, *["\n".join(map(escape, few(c))) for c in (given, [cut(p.result)], why, retraces(p))])
    return rich_console.Group(summary, *[_details(p) for p in explanation.programs if not p.stale])


def _details(program: Any) -> Any:
    """The sizes and the conditions of one program."""
    escape = rich_markup.escape
    table = rich_table.Table(title=f"program {program.number}")
    for name in ("", "what", "value or line", "known or asked for"):
        table.add_column(name)
    for s in few(program.sizes):
        if isinstance(s, str):
            table.add_row("", s)
            continue
        value = "" if s.value is None else f"{s.value} when traced"
        left = f"{s.name} {s.source}" if s.source.startswith("where ") else f"{s.name} = {s.source}"
        table.add_row("size", escape(left), value, range_text(s.low, s.high))
    for c in program.conditions:
        kind = f"[{_STYLES[c.kind]}]{_KINDS[c.kind]}[/{_STYLES[c.kind]}]"
        what = c.code if c.kind == "guard" and c.code else c.reason if c.op == c.kind else f"{c.op}: {c.reason}"
        table.add_row(kind, escape(c.claim), "" if c.where is None else escape(str(c.where)), escape(what))
    return table
