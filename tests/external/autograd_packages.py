"""Run the tests of packages that import autograd, with autograd and with `anyshape.autograd` in its place.

`python -m tests.external.autograd_packages FOLDER --names NAMES --python PYTHON` takes a folder with checkouts, named
as in PACKAGES. PYTHON is an interpreter with their dependencies, pytest and autograd. A row has the outcomes and the
seconds of CPU of both runs. The result is 1 if a test fails that passes with autograd.

`--limit SECONDS` ends tests that take longer, by the plugin pytest-timeout. Each file of tests has processes of its own
then. `--keep FILE` stores the outcomes with autograd as they come, and takes them from there later.
"""

import argparse
import functools
import json
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


def files_of(folder, arguments):
    """Return what pytest is given in turn: each file of a folder, in a process of its own, with the other arguments."""
    first = folder / arguments[0]
    files = sorted(path for path in first.rglob("*.py") if path.name.startswith("test")) if first.is_dir() else [first]
    return [[str(path.relative_to(folder)), *arguments[1:]] for path in files]


def outcomes(python, folder, arguments, substitute, limit=None):
    """Return the outcome of each test of one file by name, and the seconds of CPU."""
    with tempfile.TemporaryDirectory() as temporary:
        report = Path(temporary) / "report.xml"
        Path(temporary, "seeded.py").write_text("import numpy\n\nnumpy.random.seed(0)\n")
        plugins = ["-p", "seeded"] + (["-p", "as_autograd"] if substitute else [])
        paths = [temporary] + ([str(ROOT), str(ROOT / "tests" / "external")] if substitute else [])
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        options = ["-q", "-p", "no:cacheprovider", *plugins, f"--junitxml={report}"]
        options += [f"--timeout={limit}"] if limit else []
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
    parser.add_argument("--limit", type=int, help="seconds that a test may take, by pytest-timeout")
    parser.add_argument("--keep", type=Path, help="a file of outcomes with autograd")
    parser.add_argument("--files", default="", help="part of the names of files whose tests run")
    options = parser.parse_args(arguments)
    known = json.loads(options.keep.read_text()) if options.keep and options.keep.exists() else {}
    worse = 0
    for name in options.names:
        theirs, ours, seconds, our_seconds = {}, {}, 0.0, 0.0
        whole = PACKAGES[name].split()
        parts = files_of(options.folder / name, whole) if options.limit else [whole]
        for chosen in [part for part in parts if options.files in part[0]]:
            run = functools.partial(outcomes, options.python, options.folder / name, chosen, limit=options.limit)
            key = f"{name}/{chosen[0]}"
            if key not in known:
                known[key] = run(substitute=False)
                if options.keep:
                    options.keep.write_text(json.dumps(known))
            results, took = run(substitute=True)
            theirs, seconds = {**theirs, **known[key][0]}, seconds + known[key][1]
            ours, our_seconds = {**ours, **results}, our_seconds + took
        worse += compared(name, theirs, ours, f"CPU {our_seconds:.0f} s, {seconds:.0f} s with autograd")
    return int(worse > 0)


def compared(name, theirs, ours, times):
    """Print the outcomes of a package, and return how many tests fail or are missing that pass with autograd."""
    new = sorted(test for test, outcome in ours.items() if outcome == "failed" and theirs.get(test) != "failed")
    counts = [Counter(results.values())["passed"] for results in (theirs, ours)]
    print(f"{name:16}{counts[1]} pass, {counts[0]} with autograd, of {len(theirs)}; {times}", flush=True)
    for test in new:
        print(f"    fails here alone: {test}", flush=True)
    return len(new) + (len(ours) < len(theirs))


if __name__ == "__main__":
    sys.exit(main())
