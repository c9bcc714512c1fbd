"""Write an explanation as tables of `rich`, of the extra `demo`: one table for each program."""

from __future__ import annotations

from typing import Any

from anyshape.inspect.explain.model import ProgramTable, report
from anyshape.support.packages import rich_console, rich_markup, rich_table

_STYLES = {"guard": "yellow", "assertion": "red", "fact": "green"}


def explanation_table(explanation: Any) -> Any:
    """Return a group of tables that `rich` prints."""
    model, escape = report(explanation), rich_markup.escape
    parts = [escape("\n".join([model.title, *model.notes]))]
    parts += [_program_table(p, served=p.number == explanation.program) for p in model.programs]
    if model.evicted:
        parts.append(escape("\n".join(["evicted programs", *model.evicted])))
    return rich_console.Group(*parts)


def _program_table(program: ProgramTable, *, served: bool) -> Any:
    """Return the table of one program; the program that serves the arguments has a bold title."""
    escape = rich_markup.escape
    title = escape(f"{program.head}({', '.join(program.arguments)}) -> {program.result}")
    table = rich_table.Table(title=f"[bold]{title}[/bold]" if served else title, show_header=False)
    for section in program.sections:
        style = _STYLES.get(section.kind)
        for i, fact in enumerate(section.facts):
            table.add_row("" if i else section.title, escape(fact.text), escape(fact.remark), style=style)
        table.add_section()
    return table
