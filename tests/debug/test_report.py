"""Tests of pages about the programs of a run."""

import html
import re
import sys

import numpy as np
import pytest

import anyshape
from anyshape.cli.main import main
from anyshape.transforms.jitted import LISTENERS


def text_of(page):
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def test_a_page_has_every_program_with_its_reason_and_escapes_names(tmp_path):
    step = anyshape.jit(lambda x: x * 2 if x.shape[0] > 2 else x, name="<script>alert(1)</script>")
    step(np.ones(9))
    with pytest.raises(ZeroDivisionError), anyshape.debug.report(tmp_path / "run.html"):
        for n in (1, 3, 5):
            step(np.ones(n))
        for scale in (1.0, 2.0):
            anyshape.grad(lambda x, scale=scale: np.sum(np.sin(x)) * scale)(np.ones(3))
        raise ZeroDivisionError
    step(np.ones((3, 3)))
    page = (tmp_path / "run.html").read_text("utf-8")
    text = text_of(page)
    assert re.search(r"[23] programs of [23] functions", text)
    assert "<script>alert(1)</script>: program 2 # program 1: x.shape[0] > 2 (test_report.py:" in text
    assert "1 of 2 traces here, 2 calls without" in text
    assert "grad(<lambda>): program 1 # there was no program yet" in text
    assert "= sin_slope(" in text or "= cos(" in text
    assert re.search(r"test_report.py # \d+ operations", text)
    assert "is used where" in text and "x.shape[0] <= 2" in text
    assert not re.search(r"<script|<link|<img|src=|url\(|@import", page)
    assert not LISTENERS


SCRIPT = """
import sys
import numpy as np
import beside
from anyshape import jit
jit(lambda x: x + beside.ONE)(np.ones(2))
print(__name__, sys.argv[1:])
if "fail" in sys.argv:
    raise KeyError("the script's own")
"""


def test_the_command_runs_a_script_with_its_arguments(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/beside.py").write_text("ONE = 1\n")
    (tmp_path / "inner/script.py").write_text(SCRIPT)
    before = sys.argv[:], sys.path[:]
    assert main(["report", "inner/script.py", "a", "--html", "b"]) == 0
    assert capsys.readouterr().out == "__main__ ['a', '--html', 'b']\n"
    assert "1 program of 1 function" in (tmp_path / "report.html").read_text("utf-8")
    with pytest.raises(KeyError, match="the script's own"):
        main(["report", "--html", "other.html", "inner/script.py", "fail"])
    assert "script.py" in (tmp_path / "other.html").read_text("utf-8")
    assert (sys.argv, sys.path) == before
    assert main(["report", "nothing.py"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "anyshape report: there is no file nothing.py"
    del sys.modules["beside"]
