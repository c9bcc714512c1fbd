"""`anyshape check`: one trace, compared with eager NumPy and finite differences at several sizes, as a table."""

import argparse
import contextlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from anyshape.cli.load_target import Arguments, UsageError, assignments, draw, one_line, read_numbers, read_sizes, shown
from anyshape.inspect.explanation import to_plain
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.terminal import print_table, progress_bar
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.check_grads import Checker, Measurement

_LISTED = 16  # in longer tables, what NumPy refuses is only counted
_REFUSALS = (ValueError, IndexError, ZeroDivisionError)  # what NumPy raises for sizes it cannot take


@dataclass
class Row:
    """Comparisons at one assignment of sizes, or why there are none."""

    sizes: dict[str, int]
    measured: list[Measurement] = field(default_factory=list)
    refused: str = ""
    failed: str = ""

    @property
    def ok(self) -> bool:
        """True if nothing disagrees; a refusal is right where NumPy refuses too."""
        return not self.failed and all(m.ok for m in self.measured)

    def worst(self, order: int, mode: str) -> Measurement | None:
        """Return the worst comparison of an order (2: and above), or None."""
        chosen = [m for m in self.measured if min(m.order, 2) == order and (order > 1 or m.mode == mode)]
        if order == 1 and mode == "fwd":
            chosen = [m for m in chosen if m.check.startswith("jvp")]
        return max(chosen, key=lambda m: (not m.ok, m.error), default=None)


def main(function: Callable[..., Any], arguments: Arguments, options: argparse.Namespace) -> int:
    """Check the function at every assignment of sizes and print the results; return 1 if anything disagrees."""
    domain, sizes = _read_options(arguments, options)
    checker = Checker(function, options.order)
    cases = list(assignments(arguments, sizes, options.seed))
    rows = [check_at(checker, function, arguments, case, domain, options.seed) for case in _with_progress(cases)]
    if options.json:
        print(json.dumps(_plain(options.target, rows, checker), indent=2))
    else:
        report(options.target, rows, checker)
    return int(not all(r.ok for r in rows) or all(r.refused for r in rows))


def _read_options(arguments: Arguments, options: argparse.Namespace) -> tuple[list[float], list[int]]:
    """Return the interval of the arguments and the sizes; raise UsageError for options that do not fit."""
    if options.order < 1:
        raise UsageError(f"--order is {options.order}; give 1, 2 or more")
    if any(arguments.by_value):
        raise UsageError("a check takes arrays; for a size by value, name a function that fixes it")
    domain, sizes = read_numbers("--domain", options.domain, float), read_sizes(options.sizes)
    if len(domain) != 2 or not domain[0] < domain[1]:
        raise UsageError(f"--domain is {options.domain!r}; give two numbers, the smaller first: --domain=-2,2")
    if not any(is_inexact(d) for d in arguments.dtypes):
        raise UsageError("a check needs an argument of a float dtype; give one in --dtypes")
    return domain, sizes


def _with_progress(cases: Sequence[dict[str, int]]) -> Iterator[dict[str, int]]:
    """Yield the cases, with a bar on a terminal."""
    with progress_bar("checking", len(cases), "{sizes}", disable=not sys.stderr.isatty()) as show:
        for done, case in enumerate(cases):
            show(done, sizes=shown(case))
            yield case


def _plain(target: str, rows: Sequence[Row], checker: Checker) -> dict[str, Any]:
    """Return the results as JSON holds them."""
    numbers = ("check", "mode", "order", "path", "error", "tolerance", "ok")
    cases = [
        {
            "sizes": row.sizes,
            "ok": row.ok,
            "refused": row.refused,
            "failed": row.failed,
            "measured": [{name: getattr(m, name) for name in numbers} for m in row.measured],
        }
        for row in rows
    ]
    return {"target": target, "ok": all(row.ok for row in rows), "rows": to_plain(cases), "traces": _traces(checker)}


def check_at(
    checker: Checker,
    function: Callable[..., Any],
    arguments: Arguments,
    sizes: dict[str, int],
    domain: Sequence[float],
    seed: int,
) -> Row:
    """Return the comparisons at one assignment of sizes."""
    rng = np.random.default_rng([seed, *sizes.values()])
    args = tuple(draw(rng, s, d, domain) for s, d in zip(arguments.sizes(sizes), arguments.dtypes, strict=True))
    row = Row(sizes)
    with _quietly():
        try:
            function(*args)
        except _REFUSALS as error:
            row.refused = f"{type(error).__name__}: {one_line(error)}"
        except Exception as error:
            raise UsageError(f"the function raised {type(error).__name__}: {one_line(error)}") from error
        try:
            if row.refused:
                checker.top.value(*args)
                row.failed = "the program accepts what NumPy refuses"
            else:
                row.measured = list(checker.measure(args, seed))
        except Exception as error:
            if not row.refused:
                row.failed = f"{type(error).__name__}: {one_line(error)}"
    return row


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Silence floating-point warnings of NumPy, such as the mean of nothing: they concern no derivative."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# -- output ---------------------------------------------------------------------------------------------


_COLUMNS = ("sizes", "value", "jvp", "vjp", "second order", "ok")


def report(target: str, rows: Sequence[Row], checker: Checker) -> None:
    """Print the table, every disagreement, and the number of traces; in colours if rich is installed."""
    refused = [r for r in rows if r.refused and r.ok]
    listed = rows if len(rows) <= _LISTED else [r for r in rows if r not in refused]
    cells = [[shown(row.sizes), *_cells(row)] for row in listed]
    remarks = list(_remarks(rows, refused, checker))
    print_table(cells, columns=_COLUMNS, title=f"{target}, largest errors", remarks=remarks)


def _remarks(rows: Sequence[Row], refused: Sequence[Row], checker: Checker) -> Iterator[str]:
    """Yield the lines below the table: disagreements, refusals and the number of traces."""
    for text, where in _disagreements(rows).items():
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        yield f"{where[0]}{more}: {text}"
    if refused:
        which = f"{len(refused)} of {len(rows)} assignments of sizes"
        yield f"refused: NumPy itself cannot run {which} ({refused[0].refused})"
    yield _traces(checker)
    if len(refused) == len(rows):
        yield "nothing was checked: NumPy refuses every assignment of sizes"


def _disagreements(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the disagreements, each with the sizes where it occurs."""
    sizes_by_text: dict[str, list[str]] = {}
    for row in rows:
        for text in [row.failed] if row.failed else [one_line(m.failure()) for m in row.measured if not m.ok]:
            sizes_by_text.setdefault(text, []).append(shown(row.sizes))
    return sizes_by_text


def _traces(checker: Checker) -> str:
    """Return how often the function was traced, and why."""
    counts = [p.cache_info().traces for p in checker.programs()]
    if not counts:
        return "traces = 0 (the function could not be traced)"
    if max(counts) == 1:
        return (
            f"traces = 1 (the function, and each of the {len(counts) - 1} derivatives, was traced once for all sizes)"
        )
    return f"traces = {max(counts)} (Python decided on a size, so several programs were needed)"


def _cells(row: Row) -> list[str]:
    if row.refused and row.ok:
        return ["", "", "", "", "refused"]
    if row.failed:
        return ["", "", "", "", "[red]FAILED[/red]"]
    chosen = [row.worst(1, "value"), row.worst(1, "fwd"), row.worst(1, "rev"), row.worst(2, "")]
    cells = ["" if m is None else f"{m.error:.1e}" if m.ok else f"[red]{m.error:.1e}[/red]" for m in chosen]
    return [*cells, "[green]yes[/green]" if row.ok else "[red]NO[/red]"]
