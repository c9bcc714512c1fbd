"""Hooks of MkDocs: pages that are made of other files of the project, and tutorials as notebooks.

`python -m mkdocs`, run in the folder of the project, finds these modules.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from anyshape.cli import main
from docs.sessions import CELL, MARK, PICTURES, Cell, cell
from tools.site import array_functions

ROOT = Path(__file__).resolve().parents[2]
SHIM = "https://unpkg.com/iframe-worker/shim"  # search of a site on a disk; the theme would load it from the network
OWN_SHIM = "javascripts/iframe-worker.js"
DRAWN = ("pictures/attention.html", "examples/attention.py:loss", "n, d; d, 3*d; n, d")
LIVE = f'<iframe class="live" src="{DRAWN[0]}" title="The program of {DRAWN[1]}" loading="lazy"></iframe>'
COPIED = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add pages that stand elsewhere in the project, and the lists of functions of arrays."""
    pages = {name: at_root((ROOT / source).read_text()) for name, source in COPIED.items()}
    pages |= {"reference/command_line.md": command_line(), "examples.md": examples(), DRAWN[0]: drawing()}
    for name, text in (pages | array_functions.pages()).items():
        files.append(File.generated(config, name, content=text))
    return files


def examples() -> str:
    """Return the page of the programs in examples/: the text at their top, then their code."""
    parts = ["# Examples", "", "Programs of less than 60 lines. Each traces once, and the tests run it.", ""]
    for path in sorted((ROOT / "examples").glob("*.py")):
        _, text, source = path.read_text().split('"""', 2)
        about = re.sub(r"^ *python .*\n", "", text, flags=re.MULTILINE).replace(" To run it:", "").strip()
        parts += [f"## `{path.name}`", "", about, "", f"```python\n{source.strip()}\n```", ""]
    return "\n".join(parts)


def command_line() -> str:
    """Return the page of the command line: its help, and the help of each command."""
    text = printed("--help")
    parts = ["# Command line", "", f"```text\n{text}```", ""]
    for name in re.findall(r"^    (\w+)  ", text[: text.index("options:")], re.MULTILINE):
        parts += [f"## `anyshape {name}`", "", f"```text\n{printed(name, '--help')}```", ""]
    return "\n".join(parts)


def printed(*words: str) -> str:
    """Return what the command line prints for these arguments."""
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        main.main(words)
    return said.getvalue()


def drawing() -> str:
    """Return the page that draws the program of an example, which the page on drawings shows."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "drawn.html"
        printed("show", f"{ROOT}/{DRAWN[1]}", "--shapes", DRAWN[2], "--grad", "--html", str(target))
        return target.read_text()


def at_root(text: str) -> str:
    """Return a page of the root of the project with links that hold in docs/."""
    return re.sub(r"\]\(docs/", "](", text)


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Link each function of the list to its description, and each tutorial to its notebook."""
    if page.file.src_uri == "functions.md":
        return linked(markdown, array_functions.links())
    if page.file.src_uri == "drawing.md":
        return markdown.replace("## The page\n", f"## The page\n\n{LIVE}\n", 1)
    if page.file.src_uri.startswith("tutorial/") and MARK in markdown:
        name = Path(page.file.src_uri).stem
        return f'{markdown}\n<a href="{name}.ipynb" download>This page as a notebook</a>\n'
    return markdown


def linked(text: str, targets: dict[str, dict[str, str]]) -> str:
    """Return the list of functions with links to those that have a description."""
    module, lines = "", []
    for line in text.splitlines():
        if line.startswith("## "):
            module = line[3:]
        target = targets.get(module, {}).get(line.split("`")[1]) if line.startswith("| `") else None
        lines.append(re.sub(r"^\| (`\w+`)", rf"| [\1]({target})", line) if target else line)
    return "\n".join(lines)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Load nothing from the network."""
    return output.replace(SHIM, get_relative_url(OWN_SHIM, page.url))


def on_post_template(output_content: str, **_: Any) -> str:
    """Load nothing from the network, in the page of errors too."""
    return output_content.replace(SHIM, OWN_SHIM)


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Write each tutorial as an executed notebook, to be continued by the reader."""
    for page in sorted((ROOT / "docs/tutorial").glob("*.md")):
        text = page.read_text()
        if MARK in text:
            target = Path(config.site_dir) / "tutorial" / f"{page.stem}.ipynb"
            target.write_text(json.dumps(notebook(text), indent=1))


def notebook(text: str) -> dict[str, Any]:
    """Return a page that is a session as a notebook, with what its blocks print and draw."""
    cells, last = [], 0
    for match in CELL.finditer(text):
        cells += [prose(text[last : match.start()]), code(cell(match), len(cells))]
        last = match.end()
    cells.append(prose(text[last:]))
    return {
        "cells": [{"id": f"cell-{i}", **c} for i, c in enumerate(cells) if c["source"]],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def prose(text: str) -> dict[str, Any]:
    """Return a cell of text. Pictures are outputs of the cell before, and links would lead out of the site."""
    text = re.sub(r"<!--.*?-->\n?|!\[[^\]]*\]\([^)]*\)\n?", "", text)
    return {"cell_type": "markdown", "metadata": {}, "source": re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text).strip()}


def code(block: Cell, number: int) -> dict[str, Any]:
    """Return a cell of code with its outputs."""
    outputs: list[dict[str, Any]] = []
    if block.output:
        outputs.append({"output_type": "stream", "name": "stdout", "text": block.output})
    if block.picture:
        drawing = (PICTURES / f"{block.picture}.svg").read_text()
        outputs.append({"output_type": "display_data", "data": {"image/svg+xml": drawing}, "metadata": {}})
    source = block.code.strip()
    return {
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "outputs": outputs,
        "execution_count": number // 2 + 1,
    }
