"""Report which of SciPy's own functions take traced arrays, where SciPy dispatches by namespace.

`python -m tests.external.scipy_namespaces [MODULE ...]` calls SciPy itself with `SCIPY_ARRAY_API=1`, as the rows of the
survey say, under jit and grad. It prints a table of counts, then the functions that are right or give wrong numbers.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # SciPy reads it when it is imported

import argparse
import logging
import sys
from collections import defaultdict

from tests.survey import modules, survey

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


def main(arguments=None):
    """Print the table, and return 1 if a function gives wrong numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", default=DISPATCHING, metavar="MODULE", help="modules of SciPy")
    options = parser.parse_args(arguments)
    logging.getLogger("anyshape").setLevel(logging.ERROR)
    kinds = ("traced, differentiable", "traced", "refused", "wrong", "without a row")
    print(f"| module | {' | '.join(kinds)} |\n| --- {'| --- ' * len(kinds)}|")
    named = defaultdict(list)
    for module in options.modules:
        counts = dict.fromkeys(kinds, 0)
        for name in modules.functions(module):
            kind, said = outcome_of(module, name)
            counts[kind] += 1
            named[module, kind].append(f"{name} ({said[:100]})" if kind == "wrong" else name)
        print(f"| `{module}` | {' | '.join(map(str, counts.values()))} |", flush=True)
    for (module, kind), names in named.items():
        if kind in ("traced, differentiable", "traced", "wrong"):
            print(f"{module}, {kind}: {', '.join(names)}")
    return int(any(kind == "wrong" for _, kind in named))


if __name__ == "__main__":
    sys.exit(main())
