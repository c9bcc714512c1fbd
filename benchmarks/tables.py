"""Write the stored numbers of benchmarks into the pages of the documentation.

    python -m benchmarks.tables [REPORT]

REPORT is a file of `python -m benchmarks.run --json`. Its sections replace the stored ones of the same name in
docs/measured.json; other sections stay. Then each block between `<!-- measured: NAME -->` and `<!-- end -->` of a page
is written anew. `make bench-docs` measures all sections and calls this.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import ratio, seconds

DOCS = Path(__file__).resolve().parents[1] / "docs"
STORE = DOCS / "measured.json"
BLOCK = re.compile(r"(<!-- measured: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
NUMBERS = ("first", "steady", "more", "peak", "ratio")  # of a library on a workload that are stored
NAMES = {"anyshape": "anyshape, nothing set", "compiled": "anyshape, kernels", "numpy": "by hand"}
SAME_PACKAGE = ("torch.compile",)  # as another library of the table
OURS = ("numpy", "anyshape", "compiled")
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

Section = Mapping[str, Any]


# -- the stored numbers ------------------------------------------------------------------------------------------


def merged(stored: Mapping[str, Section], report: Mapping[str, Any]) -> dict[str, Section]:
    """Return the stored sections, replaced by the sections of a report; a quick report is refused."""
    if report["where"].get("quick"):
        raise SystemExit("a quick run has no numbers for pages; run it without --quick")
    sections: dict[str, Section] = dict(stored)
    for name in dict.fromkeys(result["section"] for result in report["results"]):
        results = [short(result) for result in report["results"] if result["section"] == name]
        sections[name] = {"where": report["where"], "results": results}
    return sections


def short(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what pages show of a result: no single turns, and four digits."""
    entry = {name: rounded(result[name]) for name in ("name", "value", "unit", "limit", "met", "detail")}
    libraries = result["data"].get("libraries")
    if libraries is None:
        return entry
    by_name = {name: library(numbers, libraries["numpy"]) for name, numbers in libraries.items()}
    return {**entry, "title": result["data"]["title"], "libraries": by_name}


def library(numbers: Mapping[str, Any], hand: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a library on a workload, with the ratio of its steady time to hand-written NumPy."""
    both = [np.array(x.get("turns") or ()) for x in (numbers, hand)]
    beside = {"ratio": ratio(*both)} if len(both[0]) == len(both[1]) > 0 else {}
    texts = {name: numbers[name] for name in ("version", "failed") if name in numbers}
    known = {**numbers, **beside}
    return texts | {name: rounded(known[name]) for name in NUMBERS if name in known}


def rounded(x: Any) -> Any:
    """Return a float with four digits, and anything else as it is.

    >>> rounded(0.00123456), rounded(7), rounded("text")
    (0.001235, 7, 'text')
    """
    return float(f"{x:.4g}") if isinstance(x, float) else x


# -- tables ------------------------------------------------------------------------------------------------------


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown, with numbers at the right."""
    sides = ["---", *["---:"] * (len(columns) - 1)]
    lines = [f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in (columns, sides, *rows)]
    return "\n".join(lines)


def compared(sections: Mapping[str, Section], name: str = "speed") -> list[Section]:
    """Return the workloads with their numbers by library, at default threads or in the section one_thread."""
    return [result for result in sections[name]["results"] if "libraries" in result]


def libraries_of(workloads: Sequence[Section]) -> list[str]:
    """Return the libraries in the order of the table: ours, then peers."""
    return list(dict.fromkeys([*OURS, *[name for result in workloads for name in result["libraries"]]]))


def by_library(workloads: Sequence[Section], cell: Callable[[Section], str]) -> str:
    """Return the table of one kind of number, workloads by libraries."""
    names = libraries_of(workloads)
    rows = [[result["title"], *[one(result["libraries"].get(name), cell) for name in names]] for result in workloads]
    return table(["", *[NAMES.get(name, name) for name in names]], rows)


def one(numbers: Section | None, cell: Callable[[Section], str]) -> str:
    """Return the cell of a library on a workload."""
    if numbers is None:
        return ""
    return "failed" if "failed" in numbers else cell(numbers)


def steady(numbers: Section) -> str:
    """Return the time of a later sweep with its ratio to hand-written NumPy."""
    return f"{seconds(numbers['steady'])} ({numbers['ratio']:.2f})" if "ratio" in numbers else "-"


def duration(name: str) -> Callable[[Section], str]:
    """Return the cell of a duration."""
    return lambda numbers: seconds(numbers[name]) if name in numbers else "-"


def limits(sections: Mapping[str, Section], name: str) -> str:
    """Return the results of a section beside their limits."""
    rows = [
        [called(result["name"]), measured(result["value"], result["unit"]), limit(result)]
        for result in sections[name]["results"]
        if result["value"] is not None
    ]
    return table(["", "measured", "limit"], rows)


def called(name: str) -> str:
    """Return the name of a result; one that goes on with the result above is marked.

    >>> called("  its gradient")
    '… its gradient'
    """
    return f"… {name.strip()}" if name.startswith(" ") else name


def measured(value: float, unit: str) -> str:
    """Return a number with its unit.

    >>> measured(0.0123, "s"), measured(1.0, "x"), measured(93.04, "ms"), measured(2.0, "runs")
    ('12.3 ms', '1', '93 ms', '2 runs')
    """
    if unit in SECONDS:
        return seconds(value * SECONDS[unit])
    return f"{value:.3g}" if unit in ("x", "") else f"{value:.3g} {unit}"


def limit(result: Section) -> str:
    """Return the limit of a result, marked if it is missed."""
    if result["limit"] is None:
        return ""
    text = measured(result["limit"], result["unit"])
    return text if result["met"] else f"{text}, missed"


def machine(sections: Mapping[str, Section], name: str) -> str:
    """Return where and when a section was measured, and with which versions."""
    where = sections[name]["where"]
    parts = [f"Measured on {where['date']}: {where['processor']}, {where['cpus']} cores, load {where['load'][0]:.1f}"]
    parts.append(f"Python {where['python']}, NumPy {where['numpy']}")
    if name == "speed":
        parts += versions(compared(sections))
    return f"{', '.join(parts)}."


def versions(workloads: Sequence[Section]) -> Iterator[str]:
    """Yield the peers with their versions."""
    for name in libraries_of(workloads):
        known = [r["libraries"][name]["version"] for r in workloads if name in r["libraries"]]
        if known and name not in OURS and name not in SAME_PACKAGE:
            yield f"{name} {known[0]}"


def block(sections: Mapping[str, Section], name: str) -> str:
    """Return the text of a block of a page.

    It is a table of workloads at default threads or of a section, `limits SECTION` or `machine SECTION`.
    """
    kind, _, section = name.partition(" ")
    if (section or "speed") not in sections:
        return f"Not measured yet: `python -m benchmarks.run --only {section or 'speed'}`."
    if kind == "limits":
        return limits(sections, section)
    if kind == "machine":
        return machine(sections, section)
    cells = {"steady": steady, "first": duration("first"), "new": duration("more")}
    return by_library(compared(sections, section or "speed"), cells[kind])


def renewed(text: str, sections: Mapping[str, Section]) -> str:
    """Return a page with the stored numbers."""
    return BLOCK.sub(lambda match: f"{match[1]}\n{block(sections, match[2])}\n\n{match[4]}", text)


def load() -> dict[str, Section]:
    """Return the stored sections."""
    return dict(json.loads(STORE.read_text())) if STORE.exists() else {}


def main(argv: list[str] | None = None) -> int:
    """Store a report, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", nargs="?", type=Path, help="a file of python -m benchmarks.run --json")
    report = parser.parse_args(argv).report
    sections = load()
    if report is not None:
        sections = merged(sections, json.loads(report.read_text()))
        STORE.write_text(json.dumps(sections, indent=1, sort_keys=True) + "\n")
    for page in sorted(DOCS.rglob("*.md")):
        old = page.read_text()
        new = renewed(old, sections)
        if new != old:
            page.write_text(new)
            print(f"wrote {page.relative_to(DOCS)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
