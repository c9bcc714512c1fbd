"""Run HIPS/autograd's own tests with `anyshape.autograd` in its place.

`python -m tests.external.autograd_tests FOLDER` takes a checkout of github.com/HIPS/autograd, and counts the tests that
pass. INTERNALS names the tests that are about autograd's tracer or vector spaces. CONVENTIONS names those that want
something else than the conventions here. Both are counted apart.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
INTERNALS = {
    "test_misc::test_const_graph": "counts the calls of functions in autograd's tracer",
    "test_misc::test_const_graph_args": "counts the calls of functions in autograd's tracer",
    "test_logic::test_nograd": "takes the rule of a function out of autograd's tables",
    "test_graphs::test_assignment_raises_error": "wants an error for assignment, which works here",
    "test_wrappers::test_wrapped_name_and_docs": "reads the docstrings of autograd's own wrappers",
    "test_fft::test_rfftn_odd_not_implemented": "wants an error for odd sizes, which have a gradient here",
}
_TRIANGLE = "autograd differentiates by the triangle that LAPACK reads; here tangents count as their symmetric part"
CONVENTIONS = {
    **{
        f"test_linalg::test_eigvalh_{half}{kind}": _TRIANGLE
        for half in ("lower", "upper")
        for kind in ("", "_broadcasting", "_complex")
    },
    "test_scipy::test_sqrtm": "the root is complex for these values; the dtype of a trace cannot depend on values",
    "test_systematic::test_real_ic": "the dtype of `real_if_close` depends on values",
    "test_scipy::test_odeint": "compares the solver here with LSODA, closer than the tolerance of either",
    "test_systematic::test_sort": "two of its numbers are closer than the step of its differences of second order",
}


def outcomes(folder, workers, only):
    """Run the tests, and return the outcome and message of each by name."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        (Path(temporary) / "pytest.ini").write_text("[pytest]\n")
        options = ["-q", "-p", "no:cacheprovider", "-p", "tests.external.as_autograd", f"--junitxml={report}"]
        options += ["-c", str(Path(temporary) / "pytest.ini"), "--rootdir", str(folder / "tests"), "-k", only]
        command = [sys.executable, "-m", "pytest", *options, "-n", str(workers), str(folder / "tests")]
        environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder / 'tests'}"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=temporary)
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        results = {}
        for case in ET.parse(report).getroot().iter("testcase"):
            kinds = {child.tag: child.get("message", "") for child in case}
            failure = kinds.get("failure", kinds.get("error"))
            name = f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}"
            results[name] = "skipped" if "skipped" in kinds else "passed" if failure is None else "failed", failure
        return results


def main(arguments=None):
    """Count the tests that pass, name those that fail, and return 1 if one fails that is not among INTERNALS."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of github.com/HIPS/autograd")
    parser.add_argument("--only", default="", help="an expression that selects tests, as pytest's -k")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    results = outcomes(options.folder.resolve(), options.workers, options.only)
    wrong = {name: failure for name, (outcome, failure) in results.items() if outcome == "failed"}
    kinds = {name: kind_of(name) for name in wrong}
    for name in sorted(wrong, key=lambda name: (kinds[name], name)):
        print(f"{kinds[name]} {name}: {reason_of(name) or ' '.join((wrong[name] or '').split())[:160]}")
    counts, failed = Counter(outcome for outcome, _ in results.values()), Counter(kinds.values())
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(failed.items()))
    print(f"{counts['passed']} of {len(results)} pass, {len(wrong)} fail: {summary}")
    return int("wrong" in failed)


def reason_of(name):
    """Return why a test may fail, or nothing."""
    keys = name, name.partition("::")[0], name.partition("::")[2]
    return next((table[key] for table in (INTERNALS, CONVENTIONS) for key in keys if key in table), "")


def kind_of(name):
    """Return the kind of a failure."""
    reason = reason_of(name)
    return "wrong" if not reason else "convention" if reason in CONVENTIONS.values() else "internal"


if __name__ == "__main__":
    sys.exit(main())
