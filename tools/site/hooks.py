"""Hooks of MkDocs: pages that are made of other files of the project, and tutorials as notebooks.

`python -m mkdocs`, run in the folder of the project, finds these modules.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from docs.sessions import CELL, MARK
from tools.site import array_functions

ROOT = Path(__file__).resolve().parents[2]
SHIM = "https://unpkg.com/iframe-worker/shim"  # search of a site on a disk; the theme would load it from the network
OWN_SHIM = "javascripts/iframe-worker.js"
COPIED = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add pages that stand elsewhere in the project, and the lists of functions of arrays."""
    pages = {name: at_root((ROOT / source).read_text()) for name, source in COPIED.items()}
    for name, text in (pages | array_functions.pages()).items():
        files.append(File.generated(config, name, content=text))
    return files


def at_root(text: str) -> str:
    """Return a page of the root of the project with links that hold in docs/."""
    return re.sub(r"\]\(docs/", "](", text)


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Load nothing from the network."""
    return output.replace(SHIM, get_relative_url(OWN_SHIM, page.url))


def on_post_template(output_content: str, **_: Any) -> str:
    """Load nothing from the network, in the page of errors too."""
    return output_content.replace(SHIM, OWN_SHIM)


def on_post_build(config: MkDocsConfig, **_: Any) -> None:
    """Write each tutorial as a notebook, to be run by the reader."""
    for page in sorted((ROOT / "docs/tutorial").glob("*.md")):
        text = page.read_text()
        if MARK in text:
            target = Path(config.site_dir) / "tutorial" / f"{page.stem}.ipynb"
            target.write_text(json.dumps(notebook(text), indent=1))


def notebook(text: str) -> dict[str, Any]:
    """Return a page that is a session as a notebook, without outputs."""
    cells, last = [], 0
    for match in CELL.finditer(text):
        cells += [("markdown", text[last : match.start()]), ("code", match["code"])]
        last = match.end()
    cells.append(("markdown", text[last:]))
    return {
        "cells": [_cell(i, kind, source) for i, (kind, source) in enumerate(cells) if source.strip()],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(number: int, kind: str, source: str) -> dict[str, Any]:
    """Return a cell of a notebook. Pictures are left out: the notebook draws them."""
    source = re.sub(r"<!--.*?-->\n?|!\[[^\]]*\]\([^)]*\)\n?", "", source).strip()
    cell: dict[str, Any] = {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": source}
    return cell | ({"outputs": [], "execution_count": None} if kind == "code" else {})
