"""The workloads by library as one table and as one picture, from the numbers that `benchmarks.speed` found."""

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
    """The lines that hold numbers by library."""
    return [r for r in results if "libraries" in r.data]


def table(results: Sequence[Result]) -> tuple[list[str], list[list[str]]]:
    """Columns and rows. In parentheses: the time or memory divided by that of the hand-written NumPy."""
    peers = _peers(results)
    columns = ["workload", "by hand", *[f"anyshape {name}" for name in OURS], *peers]
    return columns, [_row(r, peers) for r in compared(results)]


def notes(results: Sequence[Result], missing: Sequence[str]) -> list[str]:
    """What the table cannot say: what failed, and what is not installed."""
    failed = [
        f"{r.data['title']}: {name}: {found['failed']}"
        for r in compared(results)
        for name, found in r.data["libraries"].items()
        if found.get("failed")
    ]
    return [*failed, *([f"not installed, see `make bench-peers`: {', '.join(missing)}"] if missing else [])]


def _peers(results: Sequence[Result]) -> list[str]:
    names = dict.fromkeys(name for r in compared(results) for name in r.data["libraries"])
    return [name for name in names if name not in ("numpy", "anyshape")]


def _row(result: Result, peers: Sequence[str]) -> list[str]:
    libraries = result.data["libraries"]
    hand, ours = libraries["numpy"], libraries["anyshape"]
    if "failed" in ours:
        cells = ["failed", "", "", ""]
    else:
        memory = _memory(ours.get("peak")) + _beside(ours.get("peak"), hand.get("peak"))
        cells = [seconds(ours["first"]), _steady(ours, hand), seconds(ours["more"]), memory]
    by_hand = "failed" if "failed" in hand else seconds(hand["steady"])
    return [result.data["title"], by_hand, *cells, *[_peer(libraries.get(p), hand) for p in peers]]


def _peer(found: dict[str, Any] | None, hand: dict[str, Any]) -> str:
    if found is None or "failed" in found:
        return "" if found is None else "failed"
    return f"{_steady(found, hand)}\nfirst {seconds(found['first'])}\nnew shape {seconds(found['more'])}"


def _steady(found: dict[str, Any], hand: dict[str, Any]) -> str:
    beside = "" if "failed" in hand else f" ({_ratio(found, hand):.2f})"
    return seconds(found["steady"]) + beside


def _ratio(found: dict[str, Any], hand: dict[str, Any]) -> float:
    return ratio(np.array(found["turns"]), np.array(hand["turns"])) if found["turns"] and hand["turns"] else np.nan


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
        libraries = [r.data["libraries"] for r in rows]
        places = np.arange(len(rows)) + (i - (len(names) - 1) / 2) * height
        found = [lib.get(name, {}) for lib in libraries]
        good = [bool(f) and "failed" not in f for f in found]
        times = [_ratio(f, lib["numpy"]) if g else np.nan for f, g, lib in zip(found, good, libraries, strict=True)]
        label = {"numpy": "NumPy by hand"}.get(name, name)
        steady.barh(places, times, height, label=label)
        first.barh(places, [f["first"] if g else np.nan for f, g in zip(found, good, strict=True)], height)
    for place, result in enumerate(rows):
        if result.limit is not None:
            marks = {"color": "black", "linewidth": 1.2, "label": "limit of anyshape" if place == 0 else None}
            steady.plot([result.limit] * 2, [place - 0.45, place + 0.45], **marks)
    steady.set(xscale=_scale(steady), xlabel="time of a sweep afterwards, NumPy by hand = 1", title="steady")
    first.set(xscale=_scale(first), xlabel="seconds of the first sweep, tracing and compiling included", title="first")
    steady.set_yticks(range(len(rows)), [r.data["title"] for r in rows])
    steady.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=len(names) + 1)
    figure.savefig(file, dpi=130)
    return True


def _scale(axes: Any) -> str:
    """Logarithmic, where any bar is there: all may have failed."""
    return "log" if any(bar.get_width() > 0 for bar in axes.patches) else "linear"
