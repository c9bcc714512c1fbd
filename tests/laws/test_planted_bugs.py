"""Plant bugs in a copy of the package: each must be caught by the tests named beside it.

The table is `tests/laws/planted_bugs.py`. A bug replaces one text of one file. That its text still exists is checked in
every run; that its tests fail takes minutes and is marked slow.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.laws.planted_bugs import BUGS

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 600  # for the tests of one bug; a program that hangs is caught too
FAILED = 1  # pytest's exit status for failing tests; others mean that nothing was tested

every_bug = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)


@every_bug
def test_a_planted_bug_has_one_place(bug):
    source = (ROOT / bug.file).read_text()
    assert source.count(bug.right) == 1, f"{bug.file} has {source.count(bug.right)} times: {bug.right}"


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
    assert done.returncode == FAILED, f"{bug.name} passes {bug.tests}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
