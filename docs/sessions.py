"""Pages that are one session: their Python blocks run from top to bottom in one namespace, as cells of a notebook do.

A page with `<!-- session -->` is one; `<!-- needs: NAMES -->` lists packages that it imports. Below a block that prints
stands what it prints. Below a block that draws stands `<!-- picture: NAME -->`, and the figure is written to
docs/pictures/NAME.svg.
"""

import contextlib
import importlib.util
import io
import linecache
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from matplotlib import pyplot as plt

from anyshape import config

plt.switch_backend("Agg")
mpl.rcParams |= {
    **dict.fromkeys(["text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"], "#7f7f8f"),
    **{"axes.spines.top": False, "axes.spines.right": False, "figure.figsize": (6.4, 3.2), "savefig.transparent": True},
    **{"svg.fonttype": "none", "svg.hashsalt": "anyshape", "font.size": 11, "legend.frameon": False},
}

MARK = "<!-- session -->"
NEEDS = re.compile(r"<!-- needs: (.+) -->")
PICTURES = Path(__file__).resolve().parent / "pictures"
CELL = re.compile(
    r"^```python\n(?P<code>.*?)^```\n"
    r"(?:\n<!-- output -->\n```text\n(?P<output>.*?)^```\n)?"
    r"(?:\n<!-- picture: (?P<picture>[\w-]+) -->\n)?",
    re.DOTALL | re.MULTILINE,
)


class Cell(NamedTuple):
    """One block of a page: its code, what it prints, and the name of what it draws."""

    code: str
    output: str
    picture: str

    def text(self) -> str:
        """Return the block as a page has it."""
        printed = f"\n<!-- output -->\n```text\n{self.output.rstrip()}\n```\n" if self.output.strip() else ""
        drawn = f"\n<!-- picture: {self.picture} -->\n" if self.picture else ""
        return f"```python\n{self.code}```\n{printed}{drawn}"


def cell(match: re.Match[str]) -> Cell:
    """Return the block of a page that CELL matches."""
    return Cell(match["code"], match["output"] or "", match["picture"] or "")


class Session:
    """A namespace in which blocks run one after the other, and the text of all of them for error messages."""

    def __init__(self) -> None:
        self.names = {"__name__": "__main__"}
        self.text = ""

    def run(self, block: Cell) -> Cell:
        """Run a block, and return it with what it prints now. A figure that it draws stays open."""
        first = self.text.count("\n")
        self.text += block.code
        linecache.cache["page.py"] = len(self.text), None, self.text.splitlines(True), "page.py"
        with contextlib.redirect_stdout(io.StringIO()) as said:
            exec(compile("\n" * first + block.code, "page.py", "exec"), self.names)
        if bool(plt.get_fignums()) != bool(block.picture):
            raise AssertionError(f"a figure needs a picture below its block, and a picture a figure:\n{block.code}")
        return block._replace(output=said.getvalue())


def missing(text: str) -> list[str]:
    """Return the packages that a page needs and that are not installed."""
    needed = NEEDS.search(text)
    names = needed[1].split(", ") if needed else []
    return [name for name in names if importlib.util.find_spec(name) is None]


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """Run a page in an empty folder and with two threads, and restore what it sets."""
    threads = config.num_threads
    config.num_threads = 2
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            yield
    finally:
        config.num_threads = threads
        plt.close("all")


def renewed(text: str, *, draw: bool) -> str:
    """Return a page with what its blocks print now. With `draw`, write its pictures too."""
    session = Session()

    def renew(match: re.Match[str]) -> str:
        block = session.run(cell(match))
        if block.picture and draw:
            plt.savefig(PICTURES / f"{block.picture}.svg", bbox_inches="tight", metadata={"Date": None})
        plt.close("all")
        return block.text()

    with surroundings():
        return CELL.sub(renew, text)
