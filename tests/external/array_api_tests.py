"""Run data-apis/array-api-tests with `anyshape.numpy`, eagerly and traced, beside NumPy itself.

`python -m tests.external.array_api_tests FOLDER` takes a checkout with its submodule. It counts the tests that pass
with each namespace, and names the tests that pass with NumPy alone. It needs `hypothesis`, `ndindex` and
`pytest-json-report`.
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
NAMESPACES = {
    "numpy": "numpy",
    "eager": "anyshape.numpy",
    "traced": "exec('from tests.external.array_api_traced import xp')",
}


def outcomes(folder, namespace, examples, only, workers):
    """Run the suite with a namespace, and return the outcome of each test by name."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            f"--max-examples={examples}",
            "--disable-deadline",
            f"--junitxml={report}",
            "-k",
            only,
            "-n",
            str(workers),
        ]
        command = [sys.executable, "-m", "pytest", "array_api_tests", *options]
        environment = os.environ | {
            "ARRAY_API_TESTS_MODULE": NAMESPACES[namespace],
            "ARRAY_API_TESTS_VERSION": "2024.12",
            "PYTHONPATH": str(ROOT),
        }
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        results = {}
        for case in ET.parse(report).getroot().iter("testcase"):
            kinds = {child.tag: child.get("message", "") for child in case}
            name = f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}"
            failure = kinds.get("failure", kinds.get("error"))
            outcome = "skipped" if "skipped" in kinds else "passed" if failure is None else "failed"
            results[name] = outcome, failure
        return results


def main(arguments=None):
    """Run the suite with each namespace, and return 1 if a test passes with NumPy alone."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of array-api-tests, with its submodule")
    parser.add_argument("--examples", type=int, default=5)
    parser.add_argument("--only", default="", help="an expression that selects tests, as pytest's -k")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--namespaces", nargs="+", default=["eager", "traced"], choices=["eager", "traced"])
    options = parser.parse_args(arguments)
    settings = options.folder, options.examples, options.only, options.workers
    runs = {name: outcomes(*settings[:1], name, *settings[1:]) for name in ["numpy", *options.namespaces]}
    theirs = runs["numpy"]
    worse = []
    for name, results in runs.items():
        counts = Counter(outcome for outcome, _ in results.values())
        print(f"{name}: {counts['passed']} of {len(results)} pass, {counts['skipped']} skipped")
        lost = [test for test in theirs if theirs[test][0] == "passed" != results.get(test, ("",))[0]]
        for test in lost:
            message = (results.get(test, ("", "not collected"))[1] or "").strip().partition("\n")[0]
            print(f"    {test}: {message[:160]}")
        worse += lost
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
