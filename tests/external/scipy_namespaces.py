"""Report which of SciPy's own functions take traced arrays, where SciPy dispatches by namespace.

`python -m tests.external.scipy_namespaces [MODULE ...]` calls SciPy itself with `SCIPY_ARRAY_API=1`, as the rows of the
survey say, under jit and grad. It prints a table of counts, and the functions that take traced arrays. With `--write`
they go into `docs/other_suites.md`.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

import argparse
import logging
import sys
from pathlib import Path

import numpy
import scipy

from tests.survey import modules, survey

PAGE = Path(__file__).parents[2] / "docs" / "other_suites.md"
MARKERS = ("<!-- written by `python -m tests.external.scipy_namespaces --write` -->", "<!-- end -->")
KINDS = ("traced, differentiable", "traced", "refused", "wrong", "without a row")
DISPATCHING = (
    "scipy.special",
    "scipy.linalg",
    "scipy.fft",
    "scipy.signal",
    "scipy.ndimage",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.optimize",
    "scipy.spatial.distance",
    "scipy.cluster.vq",
    "scipy.stats",
)


def outcome_of(module, name):
    """Return the kind of outcome of a function of SciPy, and what was said of it."""
    expression = modules.expression_for(module, name)
    if expression is None:
        return "without a row", ""
    theirs = modules.pair(module, name)[1]
    try:
        findings = survey.find(expression, theirs, theirs, modules.TOLERANCES.get(module, 1e-9))
    except Exception as error:  # of SciPy, which does not know what it was given
        return "refused", f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    if findings.traced == "no":
        return ("wrong" if findings.reason.startswith("AssertionError") else "refused"), findings.reason
    return ("traced" if findings.derivative == "no" else "traced, differentiable"), findings.reason


def page_section(named):
    """Return the part of the page: a table of counts, and the functions that take traced arrays."""
    lines = [f"| module | {' | '.join(KINDS)} |", f"| --- {'| --- ' * len(KINDS)}|"]
    for module, names in named.items():
        lines.append(f"| `{module}` | {' | '.join(str(len(names[kind])) for kind in KINDS)} |")
    lines += ["", "| module | takes traced arrays | functions |", "| --- | --- | --- |"]
    for module, names in named.items():
        for kind in KINDS[:2]:
            if names[kind]:
                lines.append(f"| `{module}` | {kind} | {', '.join(f'`{name}`' for name in names[kind])} |")
    return "\n".join(lines)


def write_page(named):
    """Write the part of the page that this program makes."""
    head, tail = (PAGE.read_text().split(marker) for marker in MARKERS)
    versions = f"Written with NumPy {numpy.__version__} and SciPy {scipy.__version__}.\n\n"
    PAGE.write_text(f"{head[0]}{MARKERS[0]}\n\n{versions}{page_section(named)}\n\n{MARKERS[1]}{tail[1]}")


def outcomes_of(module):
    """Return the functions of a module by the kind of outcome; print what is wrong."""
    names = {kind: [] for kind in KINDS}
    for name in modules.functions(module):
        kind, said = outcome_of(module, name)
        names[kind].append(name)
        if kind == "wrong":
            print(f"{module}.{name}: {said[:100]}", flush=True)
    return names


def main(arguments=None):
    """Print the table, or write it, and return 1 if a function gives wrong numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", default=DISPATCHING, metavar="MODULE", help="modules of SciPy")
    parser.add_argument("--write", action="store_true", help="write docs/other_suites.md")
    options = parser.parse_args(arguments)
    logging.getLogger("anyshape").setLevel(logging.ERROR)
    named = {module: outcomes_of(module) for module in options.modules}
    print(page_section(named))
    if options.write:
        write_page(named)
    return int(any(names["wrong"] for names in named.values()))


if __name__ == "__main__":
    sys.exit(main())
