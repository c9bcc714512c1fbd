"""Run the tests of packages that import autograd, with autograd and with `anyshape.autograd` in its place.

`python -m tests.external.autograd_packages FOLDER --names NAMES --python PYTHON` takes a folder with checkouts, named
as in PACKAGES. PYTHON is an interpreter with their dependencies, pytest and autograd. A row has the outcomes and the
seconds of CPU of both runs. The result is 1 if a test fails that passes with autograd.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "autograd-gamma": "tests",
    "autoptim": "autoptim",
    "grcwa": "tests",
    "legume": "tests",
    "lifelines": "lifelines/tests",
    "mici": "tests/test_autodiff.py -k autograd",
    "pymanopt": "tests -k autograd",
    "ssm": "tests",
    "surpyval": "surpyval/tests",
}


def outcomes(python, folder, arguments, substitute):
    """Return the outcome of each test by name, and the seconds of CPU."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        plugin = ["-p", "as_autograd"] if substitute else []
        paths = [str(ROOT), str(ROOT / "tests" / "external")] if substitute else []
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
        options = ["-q", "-p", "no:cacheprovider", *plugin, f"--junitxml={report}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [python, "-m", "pytest", *options, *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not report.exists():
            raise SystemExit(done.stdout[-4000:] + done.stderr[-4000:])
        results = {}
        for case in ET.parse(report).getroot().iter("testcase"):
            tags = {child.tag for child in case}
            outcome = "skipped" if "skipped" in tags else "failed" if tags & {"failure", "error"} else "passed"
            results[f"{case.get('classname')}::{case.get('name')}"] = outcome
    return results, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments=None):
    """Compare the runs of packages, and return 1 if one has a failure that it does not have with autograd."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a folder with checkouts of the packages")
    parser.add_argument("--names", nargs="*", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--python", default=sys.executable, help="an interpreter with the dependencies and autograd")
    options = parser.parse_args(arguments)
    worse = 0
    for name in options.names:
        chosen = PACKAGES[name].split()
        theirs, seconds = outcomes(options.python, options.folder / name, chosen, substitute=False)
        ours, our_seconds = outcomes(options.python, options.folder / name, chosen, substitute=True)
        new = sorted(test for test, outcome in ours.items() if outcome == "failed" and theirs.get(test) != "failed")
        counts = [Counter(results.values())["passed"] for results in (theirs, ours)]
        text = f"{counts[1]} pass, {counts[0]} with autograd, of {len(theirs)}"
        print(f"{name:16}{text}; CPU {our_seconds:.0f} s, {seconds:.0f} s with autograd", flush=True)
        for test in new:
            print(f"    fails here alone: {test}", flush=True)
        worse += len(new) + (len(ours) < len(theirs))
    return int(worse > 0)


if __name__ == "__main__":
    sys.exit(main())
