"""Tests that every name in a message or on a page of the docs is one that a reader can import."""

import ast
import builtins
import concurrent.futures
import importlib
import logging
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import anyshape
import anyshape.cluster
from anyshape.backend.compiler.plan import PLAN_OPS
from anyshape.inspect.explanation import Explanation
from anyshape.inspect.profile import Profile
from anyshape.numpy.arrays.array import Array
from anyshape.program.program import Program
from anyshape.transforms.jitted import Jitted

ROOT = Path(anyshape.__file__).resolve().parent
HOME = ROOT.parent
PAGES = [HOME / "README.md", *sorted((HOME / "docs").rglob("*.md"))]
OWN_PAGES = [p for p in PAGES if p.parent.name != "coming_from"]  # those pages call functions of other libraries
# pages with inner names
DEVELOPERS = {
    *("design", "how_a_call_flows", "compilation", "differentiation", "glossary", "memory_model", "threads_and_locks"),
}
PRINTED = {"ceil_log2", *PLAN_OPS}  # what programs and costs print
MODULES = sorted(p for p in ROOT.rglob("*.py") if "demo" not in p.parts)

DOTTED = re.compile(r"(?<![\w./])(?:anyshape|np|numpy|scipy|sc|special)(?:\.[A-Za-z_]\w*)+")
CALL = re.compile(r"(?<![\w.])([A-Za-z_]\w*)((?:\.\w+)*)\(")
QUOTED = re.compile(r"`([^`\n]+)`")
SHORT = {"np": "numpy", "sc": "scipy.special", "special": "anyshape.numpy.special"}
USERS = (
    anyshape,
    builtins,
    np,
    anyshape.ops,
    anyshape.numpy,
    anyshape.numpy.special,
    anyshape.errors,
    scipy.special,
    anyshape.cluster,
    concurrent.futures,
)
OBJECTS = {"f": Jitted, "step": Jitted, "program": Program, "report": Profile, "x": Array, "error": Exception}
METHODS = (Jitted, Program, Profile, Explanation, Array, np.ndarray, anyshape.errors.AnyshapeError, list)


def resolves(name):
    """Return whether a dotted name can be imported, or names a logger of the library."""
    head, *rest = name.split(".")
    parts = [*SHORT.get(head, head).split("."), *rest]
    for count in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            value = getattr(value, part, None)
        return value is not None or name in logging.root.manager.loggerDict
    return False


def private(name):
    return any(part.startswith("_") for part in name.split("."))


def messages(path):
    """Yield the texts in the code of a module that are not docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    expressions = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in expressions:
            yield node.value


def pieces(page):
    """Yield the quoted pieces of code in the prose of a page."""
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    yield from QUOTED.findall(prose)


def known(owner, rest, inner):
    """Return whether a call is of a public name, a method of an object of the library, or an inner name."""
    if rest:
        kind = OBJECTS.get(owner)
        return kind is None or hasattr(kind, rest[1:].partition(".")[0])
    return (
        any(hasattr(namespace, owner) for namespace in USERS)
        or any(hasattr(kind, owner) for kind in METHODS)
        or owner in PRINTED
        or (inner and owner in definitions())
    )


def definitions():
    """Return the names that the modules of the library define."""
    if not _DEFINED:
        for path in MODULES:
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            _DEFINED.update(n.name for n in nodes if isinstance(n, (ast.FunctionDef, ast.ClassDef)))
    return _DEFINED


_DEFINED: set[str] = set()


def test_names_in_messages_can_be_imported():
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in MODULES
        for text in messages(path)
        for name in DOTTED.findall(text)
        if " " in text and (private(name) or not resolves(name))
    }
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_names_on_a_page_can_be_imported(page):
    wrong = [name for piece in pieces(page) for name in DOTTED.findall(piece) if private(name) or not resolves(name)]
    assert not wrong


@pytest.mark.parametrize("page", OWN_PAGES, ids=lambda p: p.stem)
def test_calls_on_a_page_are_of_names_that_exist(page):
    inner = page.stem in DEVELOPERS
    calls = [call for piece in pieces(page) for call in CALL.findall(piece)]
    assert [f"{owner}{rest}" for owner, rest in calls if not known(owner, rest, inner)] == []


def test_every_name_of_ops_is_there():
    assert [name for name in anyshape.ops.__all__ if not callable(getattr(anyshape.ops, name, None))] == []


@pytest.mark.parametrize("module", [anyshape, anyshape.numpy, anyshape.errors], ids=lambda m: m.__name__)
def test_every_name_of_a_public_module_is_there(module):
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_a_name_that_does_not_exist_is_found():
    assert resolves("anyshape.ops.name_sizes") and resolves("np.linalg.norm") and resolves("anyshape.guards")
    assert not resolves("anyshape.ops.name_size") and not resolves("np.where_else") and not resolves("anyshape.sizes")
    assert known("jit", "", False) and not known("jitter", "", False) and not known("program", ".run_all", False)
