"""Write two programs side by side as one self-contained page: before and after a pass, or two traces of a function.

Lines match by op, params and types, whatever the numbers of their values. A line is marked if it matches and reads
values of lines that do not match each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from string import Template
from typing import Any

from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.ir.printer import node_text, short_text, show_param, value_names
from anyshape.graph.prover.constraints import SourceLine
from anyshape.inspect.cost import cost
from anyshape.support.lazy_namedtuple import NamedTuple
from anyshape.support.packages import html

_PAGE = Path(__file__).resolve().parents[1] / "page"


class Entry(NamedTuple):
    """Line of a program: its text, its source line, what it is by itself, and the values it defines and reads."""

    text: str
    where: str
    key: str
    defines: tuple[Value, ...] = ()
    reads: tuple[Value, ...] = ()


class Pair(NamedTuple):
    """Lines of two programs that match, or one line without a match; `kind` is same, other, left or right."""

    left: Entry | None
    right: Entry | None
    kind: str


def to_page(left: Any, right: Any) -> str:
    """Return the page that compares two programs or graphs."""
    graphs = [program if isinstance(program, Graph) else program.graph for program in (left, right)]
    lines, conditions = (pairs(*[entries(graph) for graph in graphs]) for entries in (_nodes, _conditions))
    names = [graph.name or "program" for graph in graphs]
    return Template((_PAGE / "compare.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(names[0] if names[0] == names[1] else f"{names[0]} and {names[1]}"),
        style=(_PAGE / "page.css").read_text(encoding="utf-8").partition("* {")[0]
        + (_PAGE / "compare.css").read_text(encoding="utf-8"),
        numbers=_numbers(graphs),
        nodes=_table(lines),
        conditions=_table(conditions),
        summary=html.escape(_summary(lines)),
    )


def pairs(left: Sequence[Entry], right: Sequence[Entry]) -> list[Pair]:
    """Return the lines of two programs in order, matched where they are alike."""
    matcher = SequenceMatcher(None, [e.key for e in left], [e.key for e in right], autojunk=False)
    partner: dict[Value, Value] = {}
    matched: list[Pair] = []
    for tag, i, after_i, j, after_j in matcher.get_opcodes():
        if tag == "equal":
            for a, b in zip(left[i:after_i], right[j:after_j], strict=True):
                partner |= zip(a.defines, b.defines, strict=True)
                is_same = [partner.get(v) for v in a.reads] == list(b.reads)
                matched.append(Pair(a, b, "same" if is_same else "other"))
        else:
            matched += [Pair(a, None, "left") for a in left[i:after_i]]
            matched += [Pair(None, b, "right") for b in right[j:after_j]]
    return matched


def _nodes(graph: Graph) -> list[Entry]:
    """Return the inputs, constants, nodes and results of a graph, with the lines of subgraphs below their nodes."""
    names = value_names(graph)
    entries = [Entry(text, "", text, (v,)) for v in graph.inputs for text in (f"{names[v]}: {v.meta}",)]
    for value, array in graph.constants:
        text = f"{names[value]}: {value.meta} = constant {short_text(array)}"
        key = f"constant {value.meta} {hashlib.sha256(array.tobytes()).hexdigest()}"
        entries.append(Entry(text, "", key, (value,)))
    for node in graph.nodes:
        params = ", ".join([f"{k}={show_param(p)}" for k, p in node.params])
        inner = [line for subgraph in graph.subgraphs.get(node, ()) for line in str(subgraph).splitlines()]
        key = "\n".join([f"{node.op} {params}", *[str(v.meta) for v in node.outputs], *inner])
        entries.append(Entry(node_text(node, names), _shown(node.where), key, node.outputs, tuple(node.operands)))
        entries += [Entry(f"    {line}", "", f"    {line}") for line in inner]
    for i, value in enumerate(graph.outputs):
        entries.append(Entry(f"return {names[value]}: {value.meta}", "", f"return {i}", (), (value,)))
    return entries


def _conditions(graph: Graph) -> list[Entry]:
    """Return the conditions of a program."""
    return [Entry(text, _shown(c.where), text) for c in graph.conditions for text in (f"{c.kind} {c.claim}",)]


def _shown(where: SourceLine | None) -> str:
    return "" if where is None else str(where)


# -- the page ----------------------------------------------------------------------------------------------------


def _summary(matched: Sequence[Pair]) -> str:
    count = {kind: sum(pair.kind == kind for pair in matched) for kind in ("same", "other", "left", "right")}
    alone = f"{count['left']} in the first alone, {count['right']} in the second alone"
    return f"lines: {count['same']} alike, {count['other']} alike but for the values they read, {alone}"


def _numbers(graphs: Sequence[Graph]) -> str:
    totals = [cost(graph).total.parts() for graph in graphs]
    rows = [("nodes", *[str(len(graph.nodes)) for graph in graphs])]
    words = ("flops", "bytes read", "bytes written")
    rows += [(word, str(a), str(b)) for word, a, b in zip(words, *totals, strict=True)]
    return "".join(_number_row(*row) for row in rows)


def _number_row(word: str, left: str, right: str) -> str:
    kind = "same" if left == right else "changed"
    cells = "".join(f"<td><code>{html.escape(text)}</code></td>" for text in (left, right))
    return f'<tr class="{kind}"><th scope="row">{word}</th>{cells}</tr>'


def _table(matched: Sequence[Pair]) -> str:
    if not matched:
        return "<p>None.</p>"
    rows = "".join(f'<tr class="{pair.kind}">{"".join(_cells(pair))}</tr>' for pair in matched)
    return f'<table class="pairs"><tbody>{rows}</tbody></table>'


_MARKS = {"same": " ", "other": "~", "left": "-", "right": "+"}


def _cells(pair: Pair) -> Iterator[str]:
    """Yield the mark of a row, and its two lines."""
    yield f'<td class="sign">{_MARKS[pair.kind]}</td>'
    for entry in (pair.left, pair.right):
        if entry is None:
            yield '<td class="none"></td>'
        else:
            where = f' <span class="where">{html.escape(entry.where)}</span>' if entry.where else ""
            yield f"<td><code>{html.escape(entry.text)}</code>{where}</td>"
