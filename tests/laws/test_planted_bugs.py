"""Plant bugs in a copy of the package: each must be caught by the tests named beside it.

The tables are `planted_bugs.py` and `planted_run_bugs.py`. A bug replaces one text of one file. That its text and its
tests exist is checked in every run; that its tests fail takes minutes and is marked slow.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.laws.planted_bugs import BUGS as FRONT_BUGS
from tests.laws.planted_run_bugs import RUN_BUGS

BUGS = (*FRONT_BUGS, *RUN_BUGS)
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600  # for the tests of one bug; a program that hangs is caught too
FAILED = re.compile(r"^1 failed", re.MULTILINE)  # of pytest; an import that fails tests nothing

every_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)


@every_bug
def test_a_planted_bug_has_one_place(bug):
    source = (ROOT / bug.file).read_text()
    assert source.count(bug.right) == 1, f"{bug.file} has {source.count(bug.right)} times: {bug.right}"
    assert all((ROOT / test).exists() for test in bug.tests if test.startswith("tests/")), bug.tests


def test_there_are_enough_bugs():
    assert len(BUGS) >= 40
    assert len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package and of its tests, shared by all bugs of a process."""
    folder = tmp_path_factory.mktemp("planted")
    for name in ("anyshape", "tests", "examples", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.slow
@every_bug
def test_a_planted_bug_is_caught(bug, copy):
    file = copy / bug.file
    source = file.read_text()
    file.write_text(source.replace(bug.right, bug.wrong))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *bug.tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return
    finally:
        file.write_text(source)
    assert FAILED.search(done.stdout), f"{bug.name} passes {bug.tests}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
