"""The stubs say what the modules have, and type checkers give the verdicts that the uses expect."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyshape
import anyshape.numpy as anp
from anyshape.numpy import serve
from anyshape.transforms.custom.custom_rules import CustomFunction, CustomJVP, CustomVJP
from anyshape.transforms.jitted import Jitted

HERE = Path(__file__).parent
PYRIGHT = Path(sys.executable).with_name("pyright")
STUB = ast.parse((Path(anyshape.__file__).parent / "__init__.pyi").read_text())
CLASSES = {"_Jitted": Jitted, "_CustomFunction": CustomFunction, "_CustomJVP": CustomJVP, "_CustomVJP": CustomVJP}


def functions_of(body: list[ast.stmt], owner: Any) -> list[tuple[str, ast.FunctionDef, Any]]:
    return [(x.name, x, getattr(owner, x.name, None)) for x in body if isinstance(x, ast.FunctionDef)]


def parameters(function: ast.FunctionDef) -> set[str]:
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {x.arg for x in (*named, arguments.vararg, arguments.kwarg) if x is not None}


def test_the_stub_has_the_functions_and_parameters_of_the_package():
    declared = functions_of(STUB.body, anyshape)
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            declared += functions_of(node.body, CLASSES[node.name])
    wrong = []
    for name, node, function in declared:
        if function is None:
            wrong.append(f"{name} is not there")
        elif parameters(node) != set(inspect.signature(function).parameters):
            wrong.append(f"{name} has {inspect.signature(function)}")
    assert len(declared) > 60
    assert not wrong, "\n".join(wrong)


def test_the_stubs_have_all_public_names():
    names = next(x for x in STUB.body if isinstance(x, ast.Assign) and ast.unparse(x.targets[0]) == "__all__")
    assert ast.literal_eval(names.value) == anyshape.__all__
    defined = {getattr(x, "name", "") for x in STUB.body}
    defined |= {x.target.id for x in STUB.body if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name)}
    defined |= {alias.asname for x in STUB.body if isinstance(x, ast.ImportFrom) for alias in x.names}
    assert not set(anyshape.__all__) - defined


def test_the_stub_of_arrays_has_what_numpy_lacks():
    of_arrays = (Path(anp.__file__).parent / "__init__.pyi").read_text()
    beyond_numpy = {"special", *(name for name in serve.LISTED if not hasattr(np, name))}
    assert beyond_numpy <= set(dir(anp))
    assert all(f"{name}(" in of_arrays or f" as {name}\n" in of_arrays for name in beyond_numpy)


def test_there_are_many_uses_with_wrong_ones_among_them():
    text = (HERE / "uses.py").read_text()
    right, wrong = text.count("assert_type("), text.count("# type: ignore[")
    assert right >= 70
    assert wrong >= 60


with_pyright = pytest.mark.skipif(not PYRIGHT.exists(), reason="pyright is not installed: make pyright")


@pytest.mark.slow
@with_pyright
def test_pyright_gives_the_expected_verdicts():
    command = [PYRIGHT, "--pythonpath", sys.executable, str(HERE / "uses.py")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
@with_pyright
def test_98_percent_of_the_public_names_have_types_that_checkers_agree_on(tmp_path):
    """A name counts if it, and all that its type mentions, is declared, as `pyright --verifytypes` counts."""
    command = [PYRIGHT, "--pythonpath", sys.executable, "--verifytypes", "anyshape", "--ignoreexternal", "--outputjson"]
    paths = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=paths)
    report = json.loads(result.stdout)["typeCompleteness"]
    incomplete = [x["name"] for x in report["symbols"] if x["isExported"] and not x["isTypeKnown"]]
    assert len(report["symbols"]) > 10_000
    assert report["completenessScore"] >= 0.98, "\n".join(incomplete)
