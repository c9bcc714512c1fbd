"""Check the rules of CONTRIBUTING.md that ruff cannot: prose, names of locals, complexity and commit subjects.

Run by `make lint`; `python -m tools.check_style PATH ...` checks files or folders, and `--count` counts by folder.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "anyshape"
FOLDERS = ("anyshape", "tests", "benchmarks", "examples", "docs", "tools")
PAGES = ("README.md", "CONTRIBUTING.md", "docs")
FIRST_WORDS = {"what", "those", "where", "as", "whether", "that", "of", "which", "who", "whose"}
ARTICLES = {
    *("the", "a", "an", "one", "two", "three", "how", "it", "this", "these", "everything", "nothing", "something"),
    *("all", "every", "each", "any", "some", "no", "both", "many", "most", "few", "several", "another", "other"),
}
PHRASES = re.compile(
    r"\b((?<!there )(?:is|are) no (?!longer|more)[a-z]+|of which|those of|that is told|are told|is told)\b",
    re.IGNORECASE,
)
VAGUE = {"found", "kept", "told", "met", "given", "place", "spread", "what", "gone"}
NUMPY_NAMES = {"place"}  # functions of NumPy of these names may be defined
MAX_WORDS, MAX_COMPLEXITY, MAX_SUBJECT = 25, 12, 72
BASE_COMMIT = "dfa6d3b"  # subjects before it are history

BRANCHES = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.IfExp,
    ast.match_case,
    ast.comprehension,
)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


class Finding(NamedTuple):
    """One broken rule, at a line of a file."""

    file: Path
    line: int
    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}: {self.rule}: {self.text}"


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Return a node and all below it, without contexts. `ast.walk` takes longer."""
    nodes = [tree]
    for node in nodes:
        for value in vars(node).values():
            if isinstance(value, list):
                nodes += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                nodes.append(value)
    return nodes


# -- prose -------------------------------------------------------------------------------------------------------


def sentences(text: str) -> Iterator[str]:
    """Sentences of prose, without code blocks, tables, doctests, lists' markers and headings.

    Colons and semicolons do not end a sentence.
    """
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.splitlines()
        if any(re.match(r"\s*(>>>|```|\||#|<)", line) for line in lines):
            continue
        for item in re.split(r"\n\s*(?:(?:[-*]|\d+\.)\s+|(?=[a-z_]\w*(?:, \w+)*: ))", "\n" + paragraph):
            prose = re.sub(r"`[^`]*`", "x", " ".join(item.split()))
            yield from re.split(r"(?<=[.!?])\s+(?=[A-Z`(\"x])", prose)


def words(sentence: str) -> int:
    """Number of words that have a letter."""
    return sum(any(c.isalpha() for c in word) for word in sentence.split())


def prose_findings(file: Path, line: int, text: str) -> Iterator[Finding]:
    """Sentences that are too long, and phrases that CONTRIBUTING.md bans."""
    for sentence in sentences(text):
        if words(sentence) > MAX_WORDS:
            yield Finding(file, line, "sentence", f"{words(sentence)} words: {sentence[:80]}")
        for phrase in PHRASES.findall(sentence):
            yield Finding(file, line, "phrase", f"{phrase!r} in: {sentence[:80]}")


def docstring_findings(file: Path, nodes: Sequence[ast.AST]) -> Iterator[Finding]:
    """Docstrings that begin with a relative clause or an article, or have overlong sentences."""
    banned = FIRST_WORDS | (ARTICLES if file.is_relative_to(PACKAGE) else set())
    for node in nodes:
        if not isinstance(node, DEFINITIONS):
            continue
        text = ast.get_docstring(node)
        if not text:
            continue
        line = node.body[0].lineno
        first = re.match(r"[A-Za-z']*", text)
        if first and first[0].lower() in banned:
            yield Finding(file, line, "first word", text.splitlines()[0][:80])
        yield from prose_findings(file, line, text)


def comment_findings(file: Path, source: str) -> Iterator[Finding]:
    """Comments with overlong sentences; lines that follow each other are one comment."""
    block, start, last = [], 0, -2
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        alone = not token.line[: token.start[1]].strip()
        text = token.string.lstrip("# ").rstrip("- ")
        if alone and token.start[0] == last + 1:
            block.append(text)
        else:
            yield from prose_findings(file, start, " ".join(block))
            block, start = [text], token.start[0]
        last = token.start[0] if alone else -2
    yield from prose_findings(file, start, " ".join(block))


# -- code --------------------------------------------------------------------------------------------------------


def complexity(function: ast.AST, *, asserts: bool = True) -> int:
    """1 + branches, loops, handlers, asserts, conditional expressions, comprehension clauses and further operands."""
    total = 1
    for node in nodes_of(function):
        if isinstance(node, ast.Assert) and not asserts:
            continue
        if isinstance(node, BRANCHES):
            total += 1 + (len(node.ifs) if isinstance(node, ast.comprehension) else 0)
        elif isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
    return total


def code_findings(file: Path, nodes: Sequence[ast.AST]) -> Iterator[Finding]:
    """Functions that are too complex, and names that do not say what they hold or do.

    Asserts of tests are not counted: a test is a list of them.
    """
    asserts = not file.is_relative_to(ROOT / "tests")
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            number = complexity(node, asserts=asserts)
            if number > MAX_COMPLEXITY:
                yield Finding(file, node.lineno, "complexity", f"{node.name} has {number}")
        name = _defined_name(node)
        if name.strip("_") in VAGUE:
            yield Finding(file, node.lineno, "vague name", name)


def _defined_name(node: Any) -> str:
    """Name that a node defines: of a function, parameter, local or attribute; "" for other nodes."""
    if isinstance(node, DEFINITIONS):
        is_numpys = isinstance(node, ast.Module) or (not node.col_offset and node.name in NUMPY_NAMES)
        return "" if is_numpys else node.name
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return getattr(node, "id", "") or getattr(node, "attr", "")
    return ""


def commit_findings() -> Iterator[Finding]:
    """Subjects of commits that are too long, and commits without a body, since the rules hold."""
    command = ["git", "log", "--format=%h%x00%s%x00%b%x01", f"{BASE_COMMIT}..HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:  # no history here: a source distribution, or a shallow clone
        return
    for entry in done.stdout.split("\x01"):
        if not entry.strip():
            continue
        commit, subject, body = entry.strip().split("\x00")
        if len(subject) > MAX_SUBJECT or not body.strip():
            yield Finding(ROOT / "commit", 0, "commit", f"{commit} {subject[:90]}")


# -- files -------------------------------------------------------------------------------------------------------


def python_findings(file: Path) -> Iterator[Finding]:
    """All findings of a Python file."""
    source = file.read_text()
    nodes = nodes_of(ast.parse(source, str(file)))
    yield from docstring_findings(file, nodes)
    yield from comment_findings(file, source)
    yield from code_findings(file, nodes)


def marker_findings(file: Path) -> Iterator[Finding]:
    """Markers of conflicts that a merge left in a page. Code with them does not compile."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            yield Finding(file, number, "conflict", "choose one of the two sides")


def page_findings(file: Path) -> Iterator[Finding]:
    """All findings of a Markdown page."""
    fenced = re.sub(r"^```.*?^```", "", file.read_text(), flags=re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^\n(?: {4}.*\n)+", "\n", fenced, flags=re.MULTILINE)  # indented blocks are code too
    yield from prose_findings(file, 0, prose)
    yield from marker_findings(file)


def files(paths: Sequence[str]) -> Iterator[Path]:
    """Python files and pages at the paths, or everything of the project."""
    for name in paths or (*FOLDERS, *PAGES):
        path = ROOT / name
        candidates = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (p for p in dict.fromkeys(candidates) if p.suffix in (".py", ".md"))


def findings(paths: Sequence[str]) -> Iterator[Finding]:
    """Findings at the paths, each once."""
    for file in dict.fromkeys(files(paths)):
        yield from python_findings(file) if file.suffix == ".py" else page_findings(file)
    if not paths:
        yield from marker_findings(ROOT / "CHANGELOG.md")
        yield from commit_findings()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the findings; return 1 if there are any."""
    parser = argparse.ArgumentParser(prog="check_style", description=__doc__)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--count", action="store_true", help="count findings by folder and rule")
    options = parser.parse_args(argv)
    broken = list(findings(options.paths))
    if options.count:
        counts = Counter((str(f.file.parent.relative_to(ROOT)), f.rule) for f in broken)
        for (folder, rule), number in sorted(counts.items()):
            print(f"{number:5d} {folder}: {rule}")
    else:
        for finding in broken:
            print(finding)
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
