"""Run public test files of JAX and equinox with anyshape's functions in place of theirs.

`python -m tests.external.jax_tests jax/tests/lax_control_flow_test.py equinox/tests/test_while_loop.py` takes files of
checkouts, and counts tests that pass, fail, and do not apply. It needs `absl-py`. `jax_exceptions` gives a reason for
each test that fails; the exit status is 1 if a test fails without one, or passes with one.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

from tests.external.jax_exceptions import DROPPED, ENDLESS, EXCEPTIONS

ROOT = Path(__file__).parents[2]
LACKING = re.compile(r"(?<=unexpected keyword) argument '\w+'|(?<=object has no )attribute '(?!_)\w+'")


class Rewrite(ast.NodeTransformer):
    """Updates of concrete arrays, which NumPy has no method for, and assertions on what other libraries print."""

    def visit_Attribute(self, node):
        """Write `x.at` as a function."""
        self.generic_visit(node)
        if node.attr != "at" or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(
            ast.parse(f"__import__('jax').numpy.at({ast.unparse(node.value)})").body[0].value, node
        )

    def visit_Assert(self, node):
        """Drop an assertion of `DROPPED`."""
        self.generic_visit(node)
        is_dropped = any(part in ast.unparse(node) for part in DROPPED)
        return ast.copy_location(ast.Pass(), node) if is_dropped else node


def outcomes(source, workers, only):
    """Run a copy of a test file, but for endless tests; return outcome and message of each test by name."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "suites"
        folder.mkdir()
        (folder / "__init__.py").touch()
        (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = ignore\n")
        tree = ast.fix_missing_locations(Rewrite().visit(ast.parse(source.read_text())))
        (folder / source.name).write_text(ast.unparse(tree))
        report = folder / "report.xml"
        chosen = " and ".join([f"({only})"] * bool(only) + [f"not {name}" for name in ENDLESS.get(source.name, ())])
        options = ["-q", "-p", "tests.external.jax_names", "-p", "no:cacheprovider", "-n", str(workers), "-k", chosen]
        command = [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", "-c", "pytest.ini", source.name]
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
        if not report.exists():
            raise SystemExit(done.stdout + done.stderr)
        return dict(outcome(case) for case in ET.parse(report).getroot().iter("testcase"))


def outcome(case):
    """Return name, outcome and message of a test. An option or a method that anyshape does not have does not apply."""
    name = f"{case.get('classname').rpartition('.')[2]}::{case.get('name')}"
    for child in case:
        text = child.get("message") or ""
        lacking = LACKING.search(text)
        if child.tag == "skipped" or lacking:
            return name, ("skipped", f"anyshape has no {lacking[0]}" if lacking else text)
        if child.tag in ("failure", "error"):
            return name, ("failed", text)
    return name, ("passed", "")


def reason_for(name, file):
    """Return the reason why a test fails, if there is one."""
    starts = (name, name.partition("::")[2])
    reasons = EXCEPTIONS.get(file, {}).items()
    return next((why for part, why in reasons if any(start.startswith(part) for start in starts)), None)


def report(file, results, *, verbose):
    """Print the counts of a file and its exceptions; return how many tests do not do what is expected."""
    counts = Counter(kind for kind, _ in results.values())
    print(f"{file}: {counts['passed']} pass, {counts['skipped']} do not apply, {counts['failed']} fail", flush=True)
    for reason, count in Counter(text for kind, text in results.values() if kind == "skipped").most_common():
        print(f"    not applicable, {count}: {reason}")
    for name, reason in ENDLESS.get(file, {}).items():
        print(f"    not run, {name}: {reason}")
    unexpected = 0
    for name, (kind, text) in results.items():
        reason = reason_for(name, file)
        if kind == "failed" and reason:
            print(f"    fails, {name}: {reason}")
        elif (kind == "failed") != bool(reason) and kind != "skipped":
            unexpected += 1
            print(f"    UNEXPECTED, {name}: {kind} {text if verbose else text.partition(chr(10))[0][:200]}")
    return unexpected


def main(arguments=None):
    """Run the files, and return 1 if a test does not do what is expected."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--workers", type=int, default=0, help="processes (%(default)s: the one that runs them)")
    parser.add_argument("--only", default="", help="tests to run, as -k of pytest")
    parser.add_argument("--verbose", action="store_true", help="print whole messages")
    options = parser.parse_args(arguments)
    results = {file.name: outcomes(file, options.workers, options.only) for file in options.files}
    return int(sum(report(file, tests, verbose=options.verbose) for file, tests in results.items()) > 0)


if __name__ == "__main__":
    sys.exit(main())
