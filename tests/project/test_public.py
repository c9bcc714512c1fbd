"""The public face: names, their documentation, and the code that README and docs show."""

import doctest
import inspect
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anyshape
import anyshape.errors
import anyshape.numpy as anp
from anyshape.tracing import log_config

ROOT = Path(__file__).resolve().parents[2]
PAGES = [p.relative_to(ROOT).as_posix() for p in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])]
# What the design promises; a name that is not here yet is not public either.
PROMISED = (
    "jit", "trace", "eval_shape", "grad", "value_and_grad", "vjp", "jvp", "linearize", "linear_transpose",
    "jacfwd", "jacrev", "jacobian", "hessian", "hvp", "vmap", "checkpoint", "stop_gradient", "check", "check_grads",
    "ShapeDtypeStruct",
    "AnyshapeError", "symbolic_shape", "symbolic_args_specs", "SymbolicScope", "SymbolicShape", "Dim", "max_dim",
    "min_dim", "explain", "export", "load", "register_pytree_node",
)  # fmt: skip


def test_all_is_sorted_and_without_repetition():
    """Constants first, then classes, then functions, as Ruff sorts them."""
    assert anyshape.__all__ == sorted(set(anyshape.__all__), key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize("name", PROMISED)
def test_the_promised_names_exist(name):
    assert name in anyshape.__all__


def test_a_traced_array_has_what_an_ndarray_has():
    """All but what tells of memory, which a traced array has none of."""
    memory = {"base", "byteswap", "ctypes", "data", "flags", "getfield", "setfield", "strides"}
    names = {n for n in dir(np.ndarray) if not n.startswith("_")}
    traced = []
    anyshape.jit(lambda x: traced.append(type(x)))(np.ones((2, 2)))
    assert names - set(dir(traced[0])) == memory


@pytest.mark.parametrize("name", sorted(anyshape.__all__))
def test_every_public_name_exists_and_says_what_it_is(name):
    thing = getattr(anyshape, name)
    if name.startswith("__"):
        return
    text = inspect.getdoc(thing)
    assert text and len(text.split()) > 3, f"{name} has no docstring"


def test_nothing_else_is_public():
    """What stands in the package beside __all__ is a module."""
    stray = [n for n, x in vars(anyshape).items() if not n.startswith("_") and not inspect.ismodule(x)]
    assert sorted(stray) == sorted(set(anyshape.__all__) & set(stray))


@pytest.mark.parametrize("name", sorted(n for n in getattr(anp, "__all__", ()) if callable(getattr(anp, n))))
def test_every_function_of_the_namespace_is_documented(name):
    assert inspect.getdoc(getattr(anp, name)), f"anyshape.numpy.{name} has no docstring"


@pytest.mark.parametrize("name", sorted(n for n in getattr(anp, "__all__", ()) if hasattr(np, n)))
def test_the_namespace_takes_numpys_arguments(name):
    """Where both can be inspected: the same argument names, in the same order, as far as ours go."""
    ours, theirs = getattr(anp, name), getattr(np, name)
    if not callable(ours) or isinstance(ours, type) or isinstance(theirs, np.ufunc):
        return
    try:
        mine, numpys = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    except (TypeError, ValueError):
        return
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(p.kind in kinds for p in [*mine.values(), *numpys.values()]):
        return
    if name == "arange":
        return  # NumPy's first parameter is nameless: its meaning depends on how many there are
    extra = [p for p in mine if p not in numpys]
    assert not extra, f"{name}: {extra} are no arguments of numpy.{name}{inspect.signature(theirs)}"
    common = [p for p in numpys if p in mine]
    assert [p for p in mine if p in numpys] == common, f"{name}: another order than numpy.{name}"


def test_the_oldest_numpy_is_told_alike_and_has_what_is_used():
    bound = re.search(r'"numpy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text()).group(1)
    assert tuple(map(int, bound.split("."))) >= (2, 2), "np.matvec and np.vecmat, used at import, are of NumPy 2.2"
    assert f"`numpy` (>= {bound}," in (ROOT / "docs/design.md").read_text()
    assert f"NumPy {bound} or newer" in (ROOT / "README.md").read_text()


def test_the_errors_form_one_documented_tree():
    tree = anyshape.errors.__doc__
    for name, kind in vars(anyshape.errors).items():
        if isinstance(kind, type) and kind.__module__ == anyshape.errors.__name__:
            assert issubclass(kind, anyshape.errors.AnyshapeError), name
            assert name in tree, f"{name} is missing in the tree of anyshape/errors.py"
            assert inspect.getdoc(kind), name


def blocks(page):
    """The Python code blocks of a page, with the number of their first line."""
    text = (ROOT / page).read_text()
    for found in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
        yield text[: found.start()].count("\n") + 2, found[1]


@pytest.fixture
def levels_as_they_were():
    """Pages turn loggers on."""
    loggers = [logging.getLogger(f"anyshape.{name}") for name in log_config.NAMES]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.mark.parametrize("page", [p for p in PAGES if list(blocks(p))])
@pytest.mark.usefixtures("levels_as_they_were")
def test_the_code_that_a_page_shows_runs(page, tmp_path, monkeypatch):
    """The blocks of a page are one session, from top to bottom; prompts are checked as doctests."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for line, code in blocks(page):
        if ">>>" in code:
            example = doctest.DocTestParser().get_doctest(code, names, page, str(ROOT / page), line)
            runner, said = doctest.DocTestRunner(optionflags=flags), []
            runner.run(example, out=said.append, clear_globs=False)
            assert not runner.failures, "".join(said)
            names.update(example.globs)
        else:
            exec(compile("\n" * (line - 1) + code, str(ROOT / page), "exec"), names)


def test_readme_exists_and_shows_code():
    assert (ROOT / "README.md").exists(), "write README.md"
    assert list(blocks("README.md")), "README.md shows no Python"


def test_importing_the_package_leaves_optional_parts_alone():
    """The dependencies that few programs need are imported when such a program comes, in a fresh process."""
    heavy = ("islpy._isl", "networkx", "rich", "matplotlib")
    code = f"import sys, anyshape; print([m for m in {heavy} if m in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"
