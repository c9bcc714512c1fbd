"""Tables and bars in a terminal: by rich where it is installed, else as plain text."""

import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

from anyshape.errors import MissingPackageError
from anyshape.support.packages import rich_console, rich_progress, rich_table

_EVERY = 5.0  # seconds between two lines where there is no bar


def print_table(
    rows: Sequence[Sequence[str]], *, columns: Sequence[str] = (), title: str = "", remarks: Sequence[str] = ()
) -> None:
    """Print a table whose cells may have rich's marks of colour, with lines below it."""
    try:
        _print_in_colours(rows, columns, title, remarks)
    except MissingPackageError:
        plain = [[re.sub(r"\[/?(red|green)\]", "", cell) for cell in row] for row in [columns, *rows] if row]
        widths = [max(map(len, column)) for column in zip(*plain, strict=True)]
        lines = ["  ".join([c.ljust(w) for c, w in zip(row, widths, strict=True)]).rstrip() for row in plain]
        sys.stdout.write("\n".join([*filter(None, [title]), *lines, *remarks, ""]))


def _print_in_colours(rows, columns, title, remarks) -> None:
    table, console = rich_table.Table(title=title or None, show_header=bool(columns)), rich_console.Console()
    for i, name in enumerate(columns):
        table.add_column(name, justify="right" if i else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    for line in remarks:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextlib.contextmanager
def progress_bar(name: str, total: float, text: str, *, disable: bool = False) -> Iterator[Callable[..., None]]:
    """Yield a function of how much is done and of the fields of a format, which shows them on standard error.

    Without rich it prints a line every five seconds.
    """
    try:
        columns = [
            rich_progress.TextColumn(name),
            rich_progress.BarColumn(),
            rich_progress.TextColumn("{task.fields[said]}"),
        ]
    except MissingPackageError:
        yield _lines(name, total, text, disable)
        return
    columns.append(rich_progress.TimeElapsedColumn())
    console = rich_console.Console(stderr=True)
    with rich_progress.Progress(*columns, console=console, disable=disable) as bar:
        task = bar.add_task(name, total=total, said="")
        yield lambda done, **fields: bar.update(
            task, completed=done, said=text.format(done=done, total=total, **fields)
        )


def _lines(name: str, total: float, text: str, disable: bool) -> Callable[..., Any]:
    """Return what prints how much is done, not more often than every few seconds."""
    due = perf_counter() + _EVERY

    def show(done: float, **fields: Any) -> None:
        nonlocal due
        if not disable and perf_counter() >= due:
            due = perf_counter() + _EVERY
            said = text.format(done=done, total=total, **fields)
            sys.stderr.write(f"{name}: {100 * done / total:.0f} %, {said}\n")

    return show
