"""Write a program as one self-contained page of HTML: the graph, its conditions and its costs.

Names of files, functions and sizes come from users: all of them are escaped. The script of the page reads data alone,
and the policy of the page forbids any other script.

Write two programs side by side as one self-contained page: before and after a pass, or two traces of a function.

Lines match by op, params and types, whatever the numbers of their values. A line is marked if it matches and reads
values of lines that do not match each other.
"""

import base64
import functools
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from string import Template
from typing import Any

from anyshape.graph.ir.graph import Graph, Value, node_text, short_text, show_param, value_names
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.prover.models import Assignment, candidates, nearest, truth
from anyshape.graph.shapes.array_type import ShapeExtent, Unknown
from anyshape.graph.sizes.expr import Call, DimVar, Size
from anyshape.inspect.cost import Cost, cost, range_of, variables_of
from anyshape.inspect.draw.picture import Box, Picture, guarantee, line_of, picture, source_of, type_pieces
from anyshape.inspect.draw.sheets import Drawing, Sheet
from anyshape.ops.core.flop_counts import CeilLog2
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import html

_PAGE = Path(__file__).resolve().parents[1] / "page"
_SCRIPTS = ("formulas.js", "layout.js", "page.js")
_COSTS = ("flops", "read", "written")
_TRIED = 2000


def to_html(program: Any) -> str:
    """Return the page of a program or a graph."""
    drawn = picture(program)
    drawing = Drawing(drawn)
    variables = variables_of(drawn.graph)
    start = start_sizes(drawn.graph, variables)
    data = {
        **drawing_data(drawing, variables),
        "conditions": _conditions_data(drawn, variables),
        "sizes": [{"name": v.label, "lower": v.lower, "upper": v.upper} for v in variables],
        "total": _cost_data(drawn.total, variables),
    }
    script = "".join([(_PAGE / name).read_text(encoding="utf-8") for name in _SCRIPTS])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template((_PAGE / "page.html").read_text(encoding="utf-8")).substitute(
        hash=f"sha256-{digest}",
        title=html.escape(drawn.name),
        summary=_summary(drawn),
        style=(_PAGE / "page.css").read_text(encoding="utf-8"),
        sizes=_sizes_table(drawn.graph, variables, start),
        total=_total_table(drawn),
        conditions=_conditions_list(drawn),
        data=_as_data(data),
        script=script,
    )


def _as_data(data) -> str:
    """Return JSON that cannot close the element around it."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _summary(drawn: Picture) -> str:
    counts = {kind: sum(b.kind == kind for b in drawn.boxes) for kind in ("node", "input", "constant")}
    counts["condition"] = len(drawn.graph.conditions)
    return ", ".join([f"{n} {kind}{'' if n == 1 else 's'}" for kind, n in counts.items() if n])


# -- data for the script -----------------------------------------------------------------------------------------


def formula(size: Size, variables: tuple[DimVar, ...]) -> Any:
    """Return a size as the script evaluates it: a number as text, a variable by its position, or [function, *parts]."""
    if isinstance(size, int):
        return str(size)
    terms = []
    for monomial, coefficient in size.terms:
        factors = [_power(atom, power, variables) for atom, power in monomial]
        factors = factors if factors and coefficient == 1 else [str(coefficient), *factors]
        terms.append(factors[0] if len(factors) == 1 else ["*", *factors])
    return ["+", *terms]


def _power(atom, power: int, variables: tuple[DimVar, ...]):
    """Return a power of an atom as the script evaluates it."""
    base: Any
    if isinstance(atom, Call):
        base = [_INFIX.get(atom.function, atom.function), *[formula(a, variables) for a in atom.args]]
    else:
        base = ["ceil_log2", formula(atom.of, variables)] if isinstance(atom, CeilLog2) else variables.index(atom)
    return base if power == 1 else ["**", base, str(power)]


_INFIX = {"floordiv": "//", "mod": "%"}


def _extent_data(extent: ShapeExtent, variables: tuple[DimVar, ...]) -> dict[str, Any]:
    data = {"kind": guarantee(extent), "text": str(extent)}
    return data if isinstance(extent, Unknown) else {**data, "formula": formula(extent.size, variables)}


def _cost_data(cost: Cost, variables: tuple[DimVar, ...]) -> dict[str, Any]:
    return dict(zip(_COSTS, [_extent_data(e, variables) for e in cost.parts()], strict=True))


class _Table:
    """Table of data that occur often: a page has each of them once."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.positions: dict[Any, int] = {}

    def __call__(self, key: Any, make: Callable[[], Any]) -> int:
        """Return the position of what a key stands for."""
        position = self.positions.get(key)
        if position is None:
            position = self.positions[key] = len(self.rows)
            self.rows.append(make())
        return position


def drawing_data(drawing: Drawing, variables: tuple[DimVar, ...]) -> dict[str, Any]:
    """Return boxes and sheets as the script reads them: lists, with positions in tables of types, lines and costs."""
    types, lines, costs, params = _Table(), _Table(), _Table(), _Table()
    conditions: dict[int, list[int]] = {}
    for i, condition in enumerate(drawing.picture.graph.conditions):
        for number in drawing.picture.boxes_of(condition, line=True):
            conditions.setdefault(number, []).append(i)
    boxes = []
    for number, box in enumerate(drawing.boxes):
        data: dict[str, Any] = {"title": box.title, "home": drawing.home[number]}
        if isinstance(box, Box):
            data |= {"kind": box.kind, "reads": [[e.tail, e.name, int(e.sizes_only)] for e in drawing.reads[number]]}
            data["values"] = [[n, types(m, functools.partial(type_pieces, m, 200))] for n, m in box.values]
            data["params"] = params(box.params, functools.partial(list, box.params))
            if box.cost is not None:
                data["cost"] = costs(box.cost, functools.partial(_cost_data, box.cost, variables))
        else:
            data |= {"kind": "group", "count": box.size}
        if box.where is not None:
            data["where"] = lines(box.where, functools.partial(_line_data, box.where))
        if number in conditions:
            data["conditions"] = conditions[number]
        if number in drawing.insides:
            data["inside"] = drawing.insides[number]
        boxes.append(data)
    tables = {"types": types.rows, "lines": lines.rows, "costs": costs.rows, "params": params.rows}
    return {"boxes": boxes, "sheets": [_sheet_data(sheet) for sheet in drawing.sheets], **tables}


def _line_data(where: SourceLine) -> list[str]:
    return [f"{where.file}:{where.line}", where.function, line_of(where), str(where)]


def _sheet_data(sheet: Sheet) -> dict[str, Any]:
    """Return boxes as [number, x, y, width, height, row], and links with the x of their bends; None: it is cut."""
    layout, routes = sheet.layout, iter(sheet.layout.routes)
    placed = zip(sheet.boxes, layout.corners, sheet.shapes, layout.layers, strict=True)
    boxes = [[box, round(x, 1), round(y, 1), w, h, row] for box, (x, y), (w, h), row in placed]
    links: list[list[Any]] = []
    marks: list[list[Any]] = []
    for link in sheet.links:
        at = [round(link.leaves, 3), round(link.enters, 3)]
        ends = [link.tail, link.head, list(link.names), int(link.sizes_only), *at]
        if link.is_mark:
            marks.append(ends)
        else:
            route = next(routes)
            links.append([*ends, None if route is None else [round(x, 1) for x, _ in route[::2]]])
    size = {"width": round(layout.width, 1), "height": round(layout.height, 1)}
    return {"title": sheet.title, "owner": sheet.owner, "boxes": boxes, "links": links, "marks": marks, **size}


def _conditions_data(drawn: Picture, variables: tuple[DimVar, ...]) -> list[dict[str, Any]]:
    return [
        {
            "kind": c.kind,
            "claim": str(c.claim),
            "why": f"{c.primitive}: {c.why}",
            "relation": c.claim.relation,
            "left": formula(c.claim.left, variables),
            "right": formula(c.claim.right, variables),
            "boxes": list(drawn.boxes_of(c)),
        }
        for c in drawn.graph.conditions
    ]


# -- tables beside the drawing --------------------------------------------------------------------------------


def start_sizes(graph: Graph, variables: tuple[DimVar, ...]) -> Assignment:
    """Return initial sizes for the page, which satisfy the conditions if a short search finds some."""
    claims = [c.claim for c in graph.conditions]
    simple = [{v: nearest(v, n) for v in variables} for n in (8, 16, 4, 3, 1, 0)]
    tried = itertools.chain(simple, *[candidates(c, claims, list(variables)) for c in claims[:1]])
    for sizes in itertools.islice(tried, _TRIED):
        if all(truth(c, sizes) for c in claims):
            return sizes
    return simple[0]


def _sizes_table(graph: Graph, variables: tuple[DimVar, ...], start: Assignment) -> str:
    if not variables:
        return "<p>All sizes are numbers.</p>"
    sources = {s.variable: source_of(graph, s) for s in graph.dims}
    rows = []
    for i, variable in enumerate(variables):
        most = variable.upper if variable.upper is not None else max(512, variable.lower * 2)
        name, value, source = html.escape(variable.label), start[variable], html.escape(sources.get(variable, ""))
        bounds = f'min="{variable.lower}"' + ("" if variable.upper is None else f' max="{variable.upper}"')
        rows.append(
            f'<tr class="size"><th scope="row"><label for="size-{i}"><code>{name}</code></label></th>'
            f'<td><input id="size-{i}" type="number" step="1" {bounds} value="{value}"></td>'
            f'<td><input id="slider-{i}" type="range" min="{variable.lower}" max="{most}" value="{value}" '
            f'aria-label="{name}"></td><td>{source}<br>{html.escape(range_of(variable))}</td></tr>'
        )
    head = "<tr><th>size</th><th>try</th><th></th><th>from; declared range</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _formula_text(extent: ShapeExtent) -> str:
    return f'<span class="{guarantee(extent)}">{html.escape(str(extent))}</span>'


def _total_table(drawn: Picture) -> str:
    total = drawn.total
    names = ("flops", "bytes read", "bytes written")
    rows = [
        f'<tr><th scope="row">{name}</th><td>{_formula_text(extent)}</td>'
        f'<td class="number" data-cost="{key}"></td></tr>'
        for name, key, extent in zip(names, _COSTS, total.parts(), strict=True)
    ]
    note = (
        "<p>One operation on one element counts as one; each node reads its operands and writes its results once. "
        "The plan that runs moves less, as it makes views and leaves broadcasting to NumPy.</p>"
    )
    return f"<table>{''.join(rows)}</table>{note}"


def _conditions_list(drawn: Picture) -> str:
    """Return the conditions as a list, guards first: they decide whether a call traces again."""
    order = {"guard": 0, "assertion": 1, "constraint": 2, "fact": 3}
    conditions = sorted(enumerate(drawn.graph.conditions), key=lambda pair: order[pair[1].kind])
    if not conditions:
        return "<p>None: the program takes every size.</p>"
    items = [
        f'<li><button class="condition {c.kind}" data-condition="{i}"><span class="kind">{c.kind}</span> '
        f'<code>{html.escape(str(c.claim))}</code><span class="why">{html.escape(f"{c.primitive}: {c.why}")}'
        f"{html.escape(f' ({c.where})') if c.where else ''}</span></button></li>"
        for i, c in conditions
    ]
    return f'<ul class="conditions">{"".join(items)}</ul>'


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
        summary=html.escape(_summary_of_pairs(lines)),
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


def _summary_of_pairs(matched: Sequence[Pair]) -> str:
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
