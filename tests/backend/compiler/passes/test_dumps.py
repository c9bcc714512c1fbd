"""Files that show a program after each pass."""

import re

import numpy as np

from anyshape import jit


def test_each_pass_that_changes_a_program_writes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ANYSHAPE_DUMP", str(tmp_path / "passes"))
    jit(lambda x: np.sum(np.tanh(x)) + 0 * np.sum(x[:0]), optimize="now")(np.ones(4))
    files = sorted((tmp_path / "passes").iterdir(), key=lambda path: path.name.split("_")[1])
    names = [re.sub(r"^\d+_\d+_", "", path.stem) for path in files]
    assert names[0] == "lambda_given" and "lambda_remove_dead_code" in names and names[-1] == "plan_fuse"
    assert all("tanh" in path.read_text() for path in files if "lambda" in path.name)


def test_nothing_is_written_without_a_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("ANYSHAPE_DUMP", raising=False)
    monkeypatch.chdir(tmp_path)
    jit(np.tanh)(np.ones(2))
    assert not [*tmp_path.iterdir()]
