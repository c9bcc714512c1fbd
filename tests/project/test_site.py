"""The site that `make docs` builds: its sessions, its reference, and what a browser loads for a page."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import anyshape
from docs import sessions
from tests.survey import modules
from tools.site import examples

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SESSIONS = [p.relative_to(DOCS).as_posix() for p in sorted(DOCS.rglob("*.md")) if sessions.MARK in p.read_text()]
LOADED = re.compile(r"<(?:script|img|link|iframe)[^>]* (?:src|href)=[\"']?https?:[^\"' >]+|@import|url\(['\"]?https?:")
PICTURE = re.compile(r"<!-- picture: (\S+) -->\n\n!\[[^\]]+\]\((\S+)\)")


@pytest.mark.parametrize("page", SESSIONS)
def test_the_session_of_a_page_prints_what_the_page_shows(page):
    text = (DOCS / page).read_text()
    assert sessions.renewed(text, draw=False) == text, "run python docs/regenerate.py"


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


@pytest.mark.parametrize("module", ["numpy", "numpy.linalg", "scipy.special", "scipy.stats", "scipy.spatial.distance"])
def test_examples_of_functions_print_what_they_show(module):
    names = modules.functions(module)[::25]
    shown = {name: text for name in names if (text := examples.example(module, name))}
    assert shown
    for name, text in shown.items():
        code = [line for line in text.splitlines() if not line.startswith("```")]
        *before, call = [line for line in code if not line.startswith("# ")]
        printed = "\n".join(line[2:] for line in code if line.startswith("# "))
        scope = {}
        exec("\n".join([examples.imports(module), *before]), scope)
        assert examples.shown(eval(call, scope)) == printed, name


def test_the_site_builds_without_warnings_and_loads_nothing_from_the_network(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > 50
    outside = [f"{p.name}: {m[0]}" for p in pages for m in LOADED.finditer(p.read_text())]
    assert not outside
    notebooks = sorted(tmp_path.glob("tutorial/*.ipynb"))
    assert len(notebooks) == 8
