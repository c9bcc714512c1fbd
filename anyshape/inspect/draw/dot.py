"""Write a program as Graphviz source."""

from typing import Any

from anyshape.inspect.draw.picture import Box, Edge, line_of, picture

_SHAPES = {"input": "ellipse", "hidden": "ellipse", "constant": "note", "node": "box", "result": "doubleoctagon"}
_COLOURS = {"exact": "#0072B2", "bound": "#E69F00", "unknown": "#D55E00"}


def to_dot(program: Any) -> str:
    """Return Graphviz source of a program or a graph: coloured by guarantee, edges of shape sources dashed."""
    drawn = picture(program)
    lines = [
        f"digraph {quote(drawn.name)} {{",
        '  graph [rankdir=TB, fontname="monospace"];',
        '  node [fontname="monospace", fontsize=10, penwidth=1.5];',
        '  edge [fontname="monospace", fontsize=8];',
        *[_box(box) for box in drawn.boxes],
        *[_edge(edge) for edge in drawn.edges],
        *[f"  // {_one_line(str(c))}" for c in drawn.graph.conditions],
        "}",
    ]
    return "\n".join(lines) + "\n"


def quote(text: str) -> str:
    """Return a quoted string of Graphviz that stands for exactly this text; a new line stays one."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(escaped.splitlines() or [""]) + '"'


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _box(box: Box) -> str:
    types = [f"{name}: {meta}" if name != box.title else str(meta) for name, meta in box.values]
    tips = [
        *[f"{k} = {v}" for k, v in box.params],
        *map(str, box.bodies),
        *([] if box.where is None else [str(box.where), line_of(box.where)]),
    ]
    attributes = {
        "label": "\n".join([box.title, *types]),
        "shape": _SHAPES[box.kind],
        "color": _COLOURS[box.guarantee],
        "tooltip": "\n".join([box.title, *tips]),
    }
    return f"  b{box.number} [{', '.join(f'{k}={quote(v)}' for k, v in attributes.items())}];"


def _edge(edge: Edge) -> str:
    attributes = {"label": edge.name}
    if edge.sizes_only:
        attributes |= {"style": "dashed"}
    return f"  b{edge.tail} -> b{edge.head} [{', '.join(f'{k}={quote(v)}' for k, v in attributes.items())}];"
