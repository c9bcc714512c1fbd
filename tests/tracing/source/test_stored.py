"""The code that functions were rewritten to is stored for other processes: once, whole, where the user alone writes."""

import os
import subprocess
import sys

import pytest

from anyshape.tracing.source import read, stored


def running(x, n):
    """Return a sum of products, by two loops."""
    total = 0.0
    for i in range(n):
        for k in range(i):
            if x[i] > x[k]:
                total += x[i] * x[k]
            else:
                total -= x[k]
    return total


CODE = read._code(running)  # before anything is stored


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of entries, of all functions."""
    monkeypatch.setenv("ANYSHAPE_KERNEL_CACHE", str(tmp_path))
    monkeypatch.setattr(stored, "LEAST", 0)
    return tmp_path / "functions"


def is_rewritten_anew(monkeypatch):
    """Return whether a new process would rewrite the function; the code is the same in any case."""
    calls, own = [], read.source_rewrite.rewritten
    with monkeypatch.context() as patch:
        patch.setattr(read, "_READ", {})
        patch.setattr(read.source_rewrite, "rewritten", lambda *args: (calls.append(args), own(*args))[1])
        code = read._code(running)
    assert code == CODE
    assert code.co_linetable == CODE.co_linetable
    assert read.before_rewriting(code) is running.__code__
    return bool(calls)


def test_a_function_is_rewritten_once(folder, monkeypatch):
    assert is_rewritten_anew(monkeypatch)
    assert not is_rewritten_anew(monkeypatch)
    assert len(list(folder.iterdir())) == 1


def _damage(folder, monkeypatch):
    (entry,) = folder.iterdir()
    entry.write_bytes(entry.read_bytes()[:-1])


def _open_to_others(folder, monkeypatch):
    folder.chmod(0o777)


def _other_library(folder, monkeypatch):
    monkeypatch.setattr(stored, "_stamp", lambda: b"another one")


@pytest.mark.parametrize("change", [_damage, _open_to_others, _other_library])
def test_an_entry_that_does_not_count_is_made_again(change, folder, monkeypatch):
    is_rewritten_anew(monkeypatch)
    change(folder, monkeypatch)
    assert is_rewritten_anew(monkeypatch)


def test_the_older_half_goes_when_there_are_many(folder, monkeypatch):
    monkeypatch.setattr(stored, "MOST", 4)
    folder.mkdir()
    for age in range(4):
        (folder / f"{age}").write_bytes(b"")
        os.utime(folder / f"{age}", (age, age))
    is_rewritten_anew(monkeypatch)
    assert {entry.name for entry in folder.iterdir()} >= {"2", "3"}
    assert len(list(folder.iterdir())) == 3


PROGRAM = """
import sys, numpy as np, anyshape
from anyshape.tracing.source import stored
stored.LEAST = 0
import program
assert anyshape.jit(program.tail)(np.arange(5.0), 3) == 6.0
print("anyshape.tracing.source.rewrite" in sys.modules)
"""
TEXT = """
def tail(x, n):
    total = 0.0
    for i in range(n):
        total += x[len(x) - 3 + i] if x[i] < 5 else x[i]
    return total - 3.0
"""


def test_another_process_finds_it_whatever_its_hashes(tmp_path):
    (tmp_path / "program.py").write_text(TEXT)
    printed = []
    for seed in ("1", "2"):
        paths = os.pathsep.join([str(tmp_path), os.getcwd()])
        env = {**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": seed, "ANYSHAPE_KERNEL_CACHE": str(tmp_path)}
        run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
        printed.append(run.stdout.strip())
    assert printed == ["True", "False"]
