"""Show the numbers of `benchmarks.speed`, workloads by library, as one table and as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Result, ratio, seconds

try:
    from matplotlib.figure import Figure
except ImportError:
    Figure = None  # type: ignore[assignment, misc]

OURS = ("first", "steady", "new shape", "peak memory")


def compared(results: Sequence[Result]) -> list[Result]:
    """The lines that hold numbers by library: at default threads, or at one where nothing else was measured."""
    lines = [r for r in results if "libraries" in r.data]
    return [r for r in lines if r.data["threads"] is None] or lines


def _in_one_thread(results: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Numbers by library with one thread, by workload."""
    return {r.data["key"]: r.data["libraries"] for r in results if r.data.get("threads") == 1}


def table(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows. In parentheses: the time or memory divided by that of the hand-written NumPy.

    The first line of a cell is what users meet who set nothing; times with one thread stand below.
    """
    peers, one = _peers(results), _in_one_thread(results)
    columns = ["workload", "by hand", *[f"anyshape {name}" for name in OURS], *peers]
    return columns, [_row(r, peers, one.get(r.data["key"], {})) for r in compared(results)]


def notes(results: Sequence[Result], missing: Sequence[str]) -> list[str]:
    """Return failures and missing libraries, which the table cannot show."""
    failed = [
        f"{r.data['title']}: {name}: {numbers['failed']}"
        for r in compared(results)
        for name, numbers in r.data["libraries"].items()
        if numbers.get("failed")
    ]
    return [*failed, *([f"not installed, see `make bench-peers`: {', '.join(missing)}"] if missing else [])]


def _peers(results: Sequence[Result]) -> list[str]:
    names = dict.fromkeys(name for r in compared(results) for name in r.data["libraries"])
    return [name for name in names if name not in ("numpy", "anyshape")]


def _row(result: Result, peers: Sequence[str], one: dict[str, Any]) -> list[str]:
    libraries = result.data["libraries"]
    hand, ours = libraries["numpy"], libraries["anyshape"]
    if "failed" in ours:
        cells = ["failed", "", "", ""]
    else:
        memory = _memory(ours.get("peak")) + _beside(ours.get("peak"), hand.get("peak"))
        steady = _steady(ours, hand) + _alone("anyshape", one)
        cells = [seconds(ours["first"]), steady, seconds(ours["more"]), memory]
    by_hand = "failed" if "failed" in hand else seconds(hand["steady"]) + _alone("numpy", one)
    return [result.data["title"], by_hand, *cells, *[_peer(p, libraries.get(p), hand, one) for p in peers]]


def _peer(name: str, numbers: dict[str, Any] | None, hand: dict[str, Any], one: dict[str, Any]) -> str:
    if numbers is None or "failed" in numbers:
        return "" if numbers is None else "failed"
    steady = _steady(numbers, hand) + _alone(name, one)
    return f"{steady}\nfirst {seconds(numbers['first'])}\nnew shape {seconds(numbers['more'])}"


def _alone(name: str, one: dict[str, Any]) -> str:
    """A line with the time of a library with one thread, and its ratio to hand-written NumPy with one."""
    numbers, hand = one.get(name), one.get("numpy")
    if numbers is None or hand is None or "failed" in numbers:
        return ""
    return f"\none thread {_steady(numbers, hand)}"


def _steady(numbers: dict[str, Any], hand: dict[str, Any]) -> str:
    beside = "" if "failed" in hand else f" ({_ratio(numbers, hand):.2f})"
    return seconds(numbers["steady"]) + beside


def _ratio(numbers: dict[str, Any], hand: dict[str, Any]) -> float:
    return ratio(np.array(numbers["turns"]), np.array(hand["turns"])) if numbers["turns"] and hand["turns"] else np.nan


def _memory(size: float | None) -> str:
    if size is None:
        return ""
    scale, unit = next(((s, u) for s, u in ((1e6, "MB"), (1e3, "kB")) if size >= s), (1, "B"))
    return f"{size / scale:.3g} {unit}"


def _beside(size: float | None, other: float | None) -> str:
    return f" ({size / other:.2f})" if size is not None and other else ""


def draw(results: Sequence[Result], file: Path) -> bool:
    """Write the picture; False where there is nothing to draw, or matplotlib is not installed."""
    rows = compared(results)
    if Figure is None or not rows:
        return False
    names = ["numpy", "anyshape", *_peers(results)]
    figure = Figure(figsize=(13, 1.2 + 0.17 * len(rows) * (len(names) + 1)), layout="constrained")
    steady, first = figure.subplots(1, 2, sharey=True)
    height = 1 / (len(names) + 1)
    for i, name in enumerate(names):
        positions = np.arange(len(rows)) + (i - (len(names) - 1) / 2) * height
        steady_times, first_times = zip(*[_bars(row.data["libraries"], name) for row in rows], strict=True)
        steady.barh(positions, steady_times, height, label={"numpy": "NumPy by hand"}.get(name, name))
        first.barh(positions, first_times, height)
    _draw_limits(steady, rows)
    steady.set(xscale=_scale(steady), xlabel="time of a later sweep, NumPy by hand = 1", title="steady")
    first.set(xscale=_scale(first), xlabel="seconds of the first sweep, tracing and compiling included", title="first")
    steady.set_yticks(range(len(rows)), [r.data["title"] for r in rows])
    steady.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=len(names) + 1)
    figure.savefig(file, dpi=130)
    return True


def _bars(libraries: dict[str, Any], name: str) -> tuple[float, float]:
    """Ratio of the steady time and seconds of the first sweep; NaN where the library failed or is missing."""
    numbers = libraries.get(name, {})
    if not numbers or "failed" in numbers:
        return np.nan, np.nan
    return _ratio(numbers, libraries["numpy"]), numbers["first"]


def _draw_limits(axes: Any, rows: Sequence[Result]) -> None:
    """Mark the limit of anyshape in each row that has one; the first mark is labelled."""
    for position, result in enumerate(rows):
        if result.limit is not None:
            label = "limit of anyshape" if position == 0 else None
            ends = [position - 0.45, position + 0.45]
            axes.plot([result.limit] * 2, ends, color="black", linewidth=1.2, label=label)


def _scale(axes: Any) -> str:
    """Choose a logarithmic scale where there is any bar: all may have failed."""
    return "log" if any(bar.get_width() > 0 for bar in axes.patches) else "linear"
