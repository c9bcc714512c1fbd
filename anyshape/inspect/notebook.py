"""Output of notebooks: pages in a frame, trees of explanations, tables of costs, and first lines of long texts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from anyshape.inspect.explanation_text import Fact, ProgramTable, because, report

_PAGE = Path(__file__).resolve().parent / "page"
_COSTS = ("flops", "bytes read", "bytes written")
_SHOWN = 12  # lines of a text that an interpreter shows by itself
_FRAME = '<iframe srcdoc="{page}" style="width: 100%; height: {height}px; border: 1px solid #8884"></iframe>'
_LIST = "margin: 0 0 0 1.5em; padding: 0; list-style: none; font-family: monospace"


def framed(page: str, height: int = 480) -> str:
    """Return a page as a frame, which keeps its styles and scripts apart from the ones of a notebook."""
    return _FRAME.format(page=escape(page), height=height)


def first_lines(text: str, whole: str) -> str:
    """Return the first lines of a text, and how to see the whole where it has more."""
    lines = text.splitlines()
    left = len(lines) - _SHOWN
    return text if left <= 1 else "\n".join([*lines[:_SHOWN], f"... {left} more lines: {whole}"])


def explanation_page(explanation: Any) -> str:
    """Return an explanation as one self-contained page, of the same tree."""
    return _page(explanation.name, explanation_html(explanation))


def _page(title: str, tree: str) -> str:
    colours = (_PAGE / "page.css").read_text(encoding="utf-8").partition("* {")[0]
    style = colours + (_PAGE / "explain.css").read_text(encoding="utf-8")
    page = Template((_PAGE / "explain.html").read_text(encoding="utf-8"))
    return page.substitute(title=escape(title), style=style, tree=tree)


def run_page(made: Sequence[tuple[float, Any, Any]]) -> str:
    """Return a page of programs in the order of their traces: the time, the function and the entry of each."""
    by_function = dict[int, tuple[Any, list[Any]]]()
    for _, function, entry in made:
        by_function.setdefault(id(function), (function, []))[1].append(entry)
    counts = [f"{n} {noun}{'s' * (n != 1)}" for n, noun in ((len(made), "program"), (len(by_function), "function"))]
    order = [
        Fact(f"{seconds:8.3f} s  {function.name}: program {entry.number}", "; ".join(because(entry.reasons)))
        for seconds, function, entry in made
    ]
    graphs = [entry.program.trace.graph for _, _, entry in made]
    lines = Counter([node.where.file for graph in graphs for node in graph.nodes if node.where is not None])
    files = [Fact(file, f"{count} operations") for file, count in lines.most_common()]
    parts = [f"<h1>{' of '.join(counts)}</h1>", *_unfolded("traces, in their order", order, is_open=True)]
    parts += _unfolded("files", files, is_open=True)
    for function, entries in by_function.values():
        info = function.cache_info()
        head = f"{function.name}: {len(entries)} of {info.traces} traces here, {info.hits} calls without"
        parts += [f"<details><summary>{escape(head)}</summary>", explanation_html(function.explain())]
        for entry in entries:
            parts += [f"<details><summary>graph of program {entry.number}</summary>"]
            parts += [f'<pre style="overflow: auto">{escape(str(entry.program))}</pre></details>']
        parts += ["</details>"]
    return _page("anyshape: programs of a run", "\n".join(parts))


def explanation_html(explanation: Any) -> str:
    """Return an explanation as a tree of programs, whose sections unfold; that of the queried call is open."""
    table = report(explanation)
    asked = explanation.program if explanation.program is not None else len(table.programs)
    parts = [f"<div><b>{escape(table.title)}</b></div>", *_items([Fact(note.strip()) for note in table.notes])]
    for program in table.programs:
        parts += _program(program, is_open=program.number == asked)
    if table.evicted:
        parts += _unfolded("evicted programs", [Fact(text) for text in table.evicted], is_open=False)
    return "\n".join(parts)


def cost_html(cost: Any) -> str:
    """Return the cost of a program as a table: the total, then the nodes, which unfold."""
    name, most = cost.graph.name or "program", f"<code>{escape(str(cost.peak_bytes))}</code>"
    nodes = [
        (str(node.op), str(node.where or ""), one.parts())
        for node, one in zip(cost.graph.nodes, cost.nodes, strict=True)
    ]
    return (
        f"<div><b>{escape(name)}</b></div>{_cost_table([('in total', '', cost.total.parts())])}"
        f"<details><summary>bytes at most at once</summary>{most}</details>"
        f"<details><summary>{len(nodes)} nodes</summary>{_cost_table(nodes)}</details>"
    )


def _cost_table(rows: Sequence[tuple[str, str, Sequence[Any]]]) -> str:
    """Return a table of costs, each with a title and a line."""
    head = "".join([f'<th style="text-align: left">{word}</th>' for word in ("", *_COSTS, "line")])
    body = "".join([_cost_row(title, line, parts) for title, line, parts in rows])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cost_row(title: str, line: str, parts: Sequence[Any]) -> str:
    cells = [f'<td style="text-align: left"><code>{escape(str(text))}</code></td>' for text in (title, *parts, line)]
    return f"<tr>{''.join(cells)}</tr>"


def _program(program: ProgramTable, *, is_open: bool) -> Iterator[str]:
    """Yield a program that unfolds to its sections."""
    signature = f"{program.head}({', '.join(program.arguments)}) -> {program.result}"
    yield f"<details{' open' if is_open else ''}><summary><code>{escape(signature)}</code></summary>"
    yield '<div style="margin-left: 1.5em">'
    for section in program.sections:
        yield from _unfolded(section.title, section.facts, is_open=True)
    yield "</div></details>"


def _unfolded(title: str, facts: Sequence[Fact], *, is_open: bool) -> Iterator[str]:
    yield f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>"
    yield from _items(facts)
    yield "</details>"


def _items(facts: Sequence[Fact]) -> Iterator[str]:
    """Yield facts as a list, each with its remark in grey."""
    if facts:
        yield f'<ul style="{_LIST}">'
        for fact in facts:
            remark = f' <span style="opacity: .7"># {escape(fact.remark)}</span>' if fact.remark else ""
            yield f'<li style="white-space: pre-wrap">{escape(fact.text)}{remark}</li>'
        yield "</ul>"
