"""The pages of docs/: what they show is what the code prints, and what they name exists."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from anyshape import errors

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
CLASSES = [n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, errors.AnyshapeError)]


def test_the_printed_blocks_are_what_the_code_prints():
    command = [sys.executable, str(DOCS / "regenerate.py"), "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=120)
    assert not done.stderr, done.stderr
    assert done.returncode == 0, f"run python docs/regenerate.py\n{done.stdout}"


def test_how_a_call_flows_shows_every_stage():
    text = (DOCS / "how_a_call_flows.md").read_text()
    stages = ["flatten", "lookup", "guards", "trace", "transform", "passes", "plan", "run"]
    places = [text.index(f"<!-- printed: {stage} -->") for stage in stages]
    assert places == sorted(places)


@pytest.mark.parametrize("name", CLASSES)
def test_every_error_has_its_place_in_the_page(name):
    text = (DOCS / "errors.md").read_text()
    assert f"`{name}`" in text
    if name != "AnyshapeError":
        assert f"## `{name}`" in text and f"<!-- printed: {name} -->" in text


def test_every_warning_has_a_row():
    text = (DOCS / "errors.md").read_text()
    kinds = [n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, errors.AnyshapeWarning)]
    assert len(kinds) > 8 and [n for n in kinds if f"| `{n}` |" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", prose)):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))], ids=lambda p: p.name
)
def test_files_that_a_page_names_exist(page):
    """A path in backticks is one from the root, from the package, or from docs/."""
    for path in re.findall(r"`([\w/]+(?:\.py|\.md|/))`", page.read_text()):
        assert any((base / path).exists() for base in (ROOT, ROOT / "anyshape", DOCS)), f"{page.name} names {path}"


def test_the_design_names_every_folder_and_module():
    """A family has its row in the text; every other module stands in the table of the layout."""
    text = (DOCS / "design.md").read_text()
    layout = text[text.index("## 3. Layout") : text.index("## 4.")]
    families = {f.stem for f in (ROOT / "anyshape/autodiff/rules").glob("*.py")}
    for file in sorted((ROOT / "anyshape").rglob("*.py")):
        folder = file.parent.relative_to(ROOT / "anyshape")
        if file.stem.startswith("__") or file.stem in families or folder.parts[:1] == ("demo",):
            continue
        nested = f"`{folder.as_posix()}/`" in layout and folder.parts[:1] == ("inspect",)
        assert f"`{file.stem}`" in layout or nested, f"{folder}/{file.name} is missing in section 3 of docs/design.md"


def test_every_lock_and_state_of_a_thread_is_on_their_page():
    text = (DOCS / "threads_and_locks.md").read_text()
    made = re.compile(r"\bR?Lock\(\)|\(threading\.local\)|threading\.local\(\)|\bContextVar\(")
    files = [file for file in sorted((ROOT / "anyshape").rglob("*.py")) if made.search(file.read_text())]
    missing = [name for f in files if f"`{(name := f.relative_to(ROOT / 'anyshape').as_posix())}`" not in text]
    assert len(files) > 15 and not missing, "add a row to docs/threads_and_locks.md"


def terms():
    """Yield each term of the glossary, the class or symbol that it names, and the files where it lives."""
    row = re.compile(r"^\| (?!term|---)(.+?) \| .+ \| (.+?) \|$", re.MULTILINE)
    for names, homes in row.findall((DOCS / "glossary.md").read_text()):
        for name in re.sub(r" \(.*?\)", "", names).split(", "):
            yield name.replace("`", ""), re.findall(r"\(`(\w+)`\)", names), re.findall(r"`([\w/.]+)`", homes)


@pytest.mark.parametrize(("term", "symbols", "homes"), [*terms()], ids=lambda x: x if isinstance(x, str) else "")
def test_a_term_of_the_glossary_is_used_where_it_lives(term, symbols, homes):
    paths = [ROOT / "anyshape" / home for home in homes]
    files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
    text = " ".join(file.read_text() for file in files)
    assert term.lower() in re.sub(r"[_\s]+", " ", text.lower()), f"{homes} does not say {term!r}"
    assert all(symbol in text for symbol in symbols), f"{homes} does not define {symbols}"
