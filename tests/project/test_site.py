"""The site that `make docs` builds: its sessions, its reference, and what a browser loads for a page."""

import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import griffe
import pytest

import anyshape
from docs import sessions
from tools.site import array_functions, example_calls, examples

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SESSIONS = [p.relative_to(DOCS).as_posix() for p in sorted(DOCS.rglob("*.md")) if sessions.MARK in p.read_text()]
LOADED = re.compile(r"<(?:script|img|link|iframe)[^>]* (?:src|href)=[\"']?https?:[^\"' >]+|@import|url\(['\"]?https?:")
MODULES = [name.removeprefix("anyshape.") for page in array_functions.PAGES for name in page.modules]
DEPRECATED = {"random_integers"}  # by NumPy
GATE = re.compile(r"<!-- in the gate: (.+) -> (.+) -->")
PICTURE = re.compile(r"<!-- picture: (\S+) -->\n\n!\[[^\]]+\]\((\S+)\)")


SHORTER = {page: match for page in SESSIONS if (match := GATE.search((DOCS / page).read_text()))}


@pytest.mark.parametrize("page", [pytest.param(p, marks=pytest.mark.slow) if p in SHORTER else p for p in SESSIONS])
def test_the_session_of_a_page_prints_what_the_page_shows(page):
    text = (DOCS / page).read_text()
    if absent := sessions.missing(text):
        pytest.skip(f"needs {', '.join(absent)}")
    assert sessions.renewed(text, draw=False) == text, "run python docs/regenerate.py"


@pytest.mark.parametrize("page", SHORTER)
def test_a_long_session_runs_with_less_work(page):
    """Its numbers are compared by the slow tests."""
    text = (DOCS / page).read_text()
    head, body = text[: SHORTER[page].end()], text[SHORTER[page].end() :]
    long, short = SHORTER[page].groups()
    assert long in body
    shown = sessions.renewed(head + body.replace(long, short), draw=False)
    assert shown != text and shown.count("<!-- output -->") == text.count("<!-- output -->")


def test_a_session_notices_what_is_not_shown():
    shown = "\n<!-- output -->\n```text\n3\n```\n"
    page = f"{sessions.MARK}\n\n```python\nx = 1\n```\n\n```python\nprint(x + 1)\n```\n{shown}"
    assert sessions.renewed(page, draw=False) == page.replace("\n3\n", "\n2\n")
    drawing = f"{sessions.MARK}\n```python\nimport matplotlib.pyplot as plt\nplt.plot([1])\n```\n"
    with pytest.raises(AssertionError, match="a figure needs a picture"):
        sessions.renewed(drawing, draw=False)


def test_every_picture_stands_below_the_block_that_draws_it():
    for page in SESSIONS:
        text = (DOCS / page).read_text()
        pictures = PICTURE.findall(text)
        for name, link in pictures:
            assert (DOCS / page).parent.joinpath(link).resolve() == sessions.PICTURES / f"{name}.svg"
        assert text.count("<!-- picture:") == len(pictures), page


def test_every_public_name_has_its_place_in_the_reference():
    pages = "\n".join(p.read_text() for p in (DOCS / "reference").glob("*.md"))
    headings = re.findall(r"^::: anyshape\.(\w+)$", pages, re.M)
    for line in re.findall(r"^## (.*)$", pages, re.M):
        headings += re.findall(r"`(\w+)`", line)
    modules = {"errors", "numpy", "ops", "scipy"}  # these have pages of their own
    missing = set(anyshape.__all__) - modules - set(headings)
    assert not missing, f"add {sorted(missing)} to a page of docs/reference/, and to the table of its index"


def test_names_of_the_reference_are_read_where_they_are_defined():
    """The package loads them at their first use, so the site's reader of code would not find them."""
    extensions = griffe.load_extensions(str(ROOT / "tools/site/doctests.py"))
    package = griffe.load("anyshape", search_paths=[ROOT], submodules=False, extensions=extensions)
    pages = "\n".join(p.read_text() for p in (DOCS / "reference").glob("*.md"))
    names = re.findall(r"^::: anyshape\.(\w+)$", pages, re.M)
    for name in names:
        module, _, defined = package.members[name].target_path.rpartition(".")
        assert getattr(importlib.import_module(module), defined) is getattr(anyshape, name)
    assert len(names) > 40


def functions_of(module):
    """Return the functions of a page of the reference by name."""
    return dict(array_functions.functions(importlib.import_module(f"anyshape.{module}")))


def test_every_function_of_the_reference_has_a_call_or_a_doctest():
    lacking = [
        f"{module}.{name}"
        for module in MODULES
        for name, value in functions_of(module).items()
        if example_calls.call(module, name, value) is None and ">>> " not in (inspect.getdoc(value) or "")
    ]
    assert lacking == [], "add rows to tools/site/example_calls.py"


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 5))])
@pytest.mark.parametrize("module", MODULES)
def test_examples_of_the_reference_run(module, part):
    """Functions without a doctest; the page runs the code of a call, and shows what it returns."""
    described = {k: v for k, v in functions_of(module).items() if ">>> " not in (inspect.getdoc(v) or "")}
    names = [name for name in described if name not in DEPRECATED][part::5]
    assert [name for name in names if not examples.example(module, name)] == [], "the calls raise errors, or give NaN"


@pytest.mark.parametrize(("module", "name"), [("numpy", "cumsum"), ("scipy.special", "hankel1"), ("ops", "reduce_sum")])
def test_an_example_prints_what_it_shows(module, name):
    lines = examples.example(module, name).splitlines()[1:-1]
    *before, call = [line for line in lines if not line.startswith("# ")]
    scope = {}
    exec("\n".join([examples.imports(module), *before]), scope)
    *printed, shapes = lines[len(before) + 1 :]
    assert [f"# {line}" for line in examples.shown(eval(call, scope)).splitlines()] == printed
    assert shapes.startswith("# shapes: (x: f64[x_0") or module == "scipy.special"


@pytest.mark.slow  # 25 seconds: `make docs` builds it too
def test_the_site_builds_without_warnings_and_loads_nothing_from_the_network(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 50
    outside = [f"{p.name}: {m[0]}" for p in pages for m in LOADED.finditer(p.read_text())]
    assert not outside
    notebooks = sorted(tmp_path.glob("tutorial/*.ipynb"))
    assert len(notebooks) == 8
