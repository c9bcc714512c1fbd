"""Test the public names, their signatures and docstrings, and the code that README and docs show."""

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
import scipy.special

import anyshape
import anyshape.cluster
import anyshape.errors
import anyshape.numpy as anp
import anyshape.optimize
from anyshape.tracing import log_config
from docs import sessions

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = {
    p for p in ROOT.glob("docs/**/*.md") if sessions.MARK in p.read_text()
}  # tests/project/test_site.py runs them
PAGES = [p.relative_to(ROOT).as_posix() for p in sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - SESSIONS)]
# docs/design.md promises these names
PROMISED = (
    "jit", "trace", "eval_shape", "grad", "value_and_grad", "vjp", "jvp", "linearize", "linear_transpose",
    "jacfwd", "jacrev", "jacobian", "hessian", "hvp", "vmap", "checkpoint", "stop_gradient", "check", "check_grads",
    "ShapeDtypeStruct",
    "AnyshapeError", "symbolic_shape", "symbolic_args_specs", "SymbolicScope", "SymbolicShape", "Dim", "max_dim",
    "min_dim", "explain", "export", "load", "register_pytree_node",
)  # fmt: skip
NAMESPACES = (anyshape, anp, anp.special, anyshape.ops, anyshape.errors)


# -- names -------------------------------------------------------------------------------------------------------


def test_all_is_sorted_and_without_repetition():
    """Constants come first, then classes, then functions, as Ruff sorts them."""
    assert anyshape.__all__ == sorted(set(anyshape.__all__), key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda module: module.__name__)
def test_dir_lists_the_public_names_alone(namespace):
    further = {name for name in dir(np) if name[0] != "_"} if namespace is anyshape.numpy else set()
    assert dir(namespace) == sorted({*namespace.__all__, *further})
    helpers = {"np", "sc", "Any", "Callable", "annotations", "functools", "inspect", "partial"}
    assert not helpers & set(dir(namespace))
    assert not [name for name in dir(namespace) if name.startswith("_")]


def test_scipy_does_not_leak_through_the_package():
    assert getattr(anyshape, "scipy", None) is not scipy


def test_public_names_are_the_stored_ones():
    """A name that goes breaks programs of users: CONTRIBUTING.md says how it is deprecated."""
    names = [f"{m.__name__}.{n}" for m in (anyshape, anyshape.errors, anp) for n in sorted(m.__all__)]
    stored = (Path(__file__).parent / "public_names.txt").read_text().split()
    assert sorted(names) == sorted(stored), "add new names to tests/project/public_names.txt"


@pytest.mark.parametrize("name", PROMISED)
def test_the_promised_names_exist(name):
    assert name in anyshape.__all__


def test_attributes_of_the_package_are_public_or_modules():
    extra = [n for n, x in vars(anyshape).items() if not n.startswith("_") and not inspect.ismodule(x)]
    assert set(extra) <= set(anyshape.__all__)


def test_a_traced_array_has_the_attributes_of_an_ndarray():
    """All are there; those about memory, which a traced array does not have, say so when they are read."""
    names = {n for n in dir(np.ndarray) if not n.startswith("_")}
    traced = []
    anyshape.jit(lambda x: traced.append(type(x)))(np.ones((2, 2)))
    assert names <= set(dir(traced[0]))


# -- docstrings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(anyshape.__all__))
def test_every_public_name_is_documented(name):
    text = inspect.getdoc(getattr(anyshape, name))
    assert text and len(text.split()) > 3, f"{name} has no docstring"


@pytest.mark.parametrize("package", [anyshape, anyshape.cluster, anyshape.optimize], ids=lambda p: p.__name__)
def test_every_public_name_has_an_example(package):
    """The examples are doctests of the modules that define the names."""
    members = {name: getattr(package, name) for name in package.__all__ if name not in anyshape.errors.__all__}
    lacking = [n for n, x in members.items() if callable(x) and ">>> " not in (inspect.getdoc(x) or "")]
    assert len(members) > 10 and lacking == []


def functions_of(module):
    """The functions of a namespace that are our own, and not NumPy's, with the namespace."""
    functions = [(name, getattr(module, name)) for name in module.__all__]
    ours = [(n, f) for n, f in functions if inspect.isroutine(f) and (f.__module__ or "").startswith("anyshape")]
    return [(module, n) for n, _ in ours]


FUNCTIONS = [*functions_of(anp), *functions_of(anp.special), *functions_of(anp.linalg)]


def test_every_function_has_a_name_and_a_summary_of_its_own():
    for module, name in FUNCTIONS:
        function = getattr(module, name)
        text = inspect.getdoc(function)
        assert text, f"{name} has no docstring"
        summary = text.split("\n")[0]
        assert summary.startswith("Return ") and summary.endswith("."), summary
        assert "numpy." not in summary and "scipy." not in summary, summary
        assert function.__qualname__ == function.__name__ and function.__module__.startswith("anyshape.numpy"), name


def test_different_functions_have_different_docstrings():
    synonyms = [{"deg2rad", "radians"}, {"rad2deg", "degrees"}, {"i0"}]  # of one meaning
    names_by_text = {}
    for module, name in FUNCTIONS:
        function = getattr(module, name)
        names_by_text.setdefault(inspect.getdoc(function).split("\n")[0], {})[id(function)] = name
    repeated = [set(names.values()) for names in names_by_text.values() if len(names) > 1]
    assert [names for names in repeated if names not in synonyms] == []


# -- signatures --------------------------------------------------------------------------------------------------

# functions whose parameters differ from NumPy's, each with the reason
DIFFERENCES = {
    "arange": "`start` may be named and `dtype` may be positional, which NumPy takes too but does not show",
    "einsum": "NumPy's **kwargs are spelled out",
    "empty_like": "`prototype` may be named, which NumPy takes too but does not show",
}
OWN = {"at", "top_k"}  # functions that neither NumPy nor SciPy has


def counterpart(module, name):
    homes = {anp: (np, np.linalg, scipy.special), anp.linalg: (np.linalg,), anp.special: (scipy.special,)}[module]
    return next((getattr(home, name) for home in homes if hasattr(home, name)), None)


def parameters(signature):
    return [(p.name, p.kind, repr(p.default)) for p in signature.parameters.values()]


def scipy_operands(ufunc):
    """The operands as SciPy's documentation names them; the signature of the ufunc has x1 and x2."""
    section = inspect.getdoc(ufunc).split("Parameters\n")[1].split("Returns\n")[0]
    names = [name for line in re.findall(r"^\s*([\w, ]+?) ?: ", section, re.M) for name in line.split(", ")]
    return names[: ufunc.nin]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older ufuncs have no signature")
def test_parameters_and_defaults_are_those_of_numpy():
    for module, name in FUNCTIONS:
        check_signature(module, name)


def check_signature(module, name):
    """Compare parameters and defaults with the ones of NumPy, and of SciPy's documentation."""
    theirs = counterpart(module, name)
    if name in OWN:
        assert theirs is None, f"NumPy has {name} now: compare it"
        return
    signature = inspect.signature(getattr(module, name))
    if isinstance(theirs, np.ufunc) and getattr(np, theirs.__name__, None) is not theirs:
        assert list(signature.parameters)[: theirs.nin] == scipy_operands(theirs), name
        ours, expected = list(signature.parameters.values()), list(inspect.signature(theirs).parameters.values())
        options, theirs_options = (parameters(inspect.Signature(x[theirs.nin :])) for x in (ours, expected))
        assert options == theirs_options, name
        return
    same = parameters(signature) == parameters(inspect.signature(theirs))
    assert same == (name not in DIFFERENCES), f"{name}{signature} and {name}{inspect.signature(theirs)}"


def test_a_signature_binds_no_more_than_the_function_takes():
    """Positional arguments that the signature shows are not refused as arguments of the wrong number or name."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for module, name in FUNCTIONS:
        function = getattr(module, name)
        positional = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
        code = (function if inspect.isfunction(function) else type(function).__call__).__code__
        if not code.co_flags & inspect.CO_VARARGS:
            assert len(positional) <= code.co_argcount, name
            assert all(p.name in code.co_varnames or p.kind is kinds[0] for p in positional), name


# -- versions and errors -----------------------------------------------------------------------------------------


def test_all_pages_name_the_same_oldest_numpy():
    bound = re.search(r'"numpy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text()).group(1)
    assert tuple(map(int, bound.split("."))) >= (2, 2), "np.matvec and np.vecmat, used at import, are of NumPy 2.2"
    assert f"`numpy` (>= {bound}," in (ROOT / "docs/design.md").read_text()
    assert f"NumPy {bound} or newer" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", anyshape.errors.__all__)
def test_errors_and_warnings_derive_from_one_base_and_are_documented(name):
    """tests/project/test_docs.py checks that the page on errors has each of them."""
    kind = getattr(anyshape.errors, name)
    bases = anyshape.errors.AnyshapeError, anyshape.errors.AnyshapeWarning
    assert issubclass(kind, bases) and kind.__module__ == anyshape.errors.__name__
    assert len(inspect.getdoc(kind).split()) > 3


def blocks(page):
    """The Python code blocks of a page, with the number of their first line."""
    text = (ROOT / page).read_text()
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
        yield text[: match.start()].count("\n") + 2, match[1]


@pytest.fixture
def restored_log_levels():
    """Restore the levels of loggers, which pages turn on."""
    loggers = [logging.getLogger(f"anyshape.{name}") for name in log_config.NAMES]
    before = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)


@pytest.mark.parametrize("page", [p for p in PAGES if list(blocks(p))])
@pytest.mark.usefixtures("restored_log_levels")
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    """The blocks of a page are one session; README's run alone. Prompts are checked as doctests."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    for line, code in blocks(page):
        if ">>>" in code:
            example = doctest.DocTestParser().get_doctest(code, names, page, str(ROOT / page), line)
            runner, report = doctest.DocTestRunner(optionflags=flags), []
            runner.run(example, out=report.append, clear_globs=False)
            assert not runner.failures, "".join(report)
            names.update(example.globs)
        else:
            own = {"__name__": "__main__"} if page == "README.md" else names
            exec(compile("\n" * (line - 1) + code, str(ROOT / page), "exec"), own)


def test_readme_exists_and_shows_code():
    assert (ROOT / "README.md").exists(), "write README.md"
    assert list(blocks("README.md")), "README.md shows no Python"


def test_importing_the_package_does_not_import_packages_that_load_at_first_use():
    heavy = ("islpy._isl", "networkx", "rich", "matplotlib")
    code = f"import sys, anyshape; print([m for m in {heavy} if m in sys.modules])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"
