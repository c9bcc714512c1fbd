"""Draw the graph of a page as SVG: boxes, edges, and marks where an edge is cut."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.inspect.draw.layout import Layout, Point, Wire, lay_out
from anyshape.inspect.draw.picture import Box, Edge, Picture, line_of, type_pieces
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import html

MARGIN = 30.0
_CHARACTER = 7.4  # width of a character, with room for other fonts
_BOLD = 1.1  # factor for titles
_EXTENT, _PARAMS, _MARK = 18, 30, 9  # characters shown of each; the page has the whole texts
_LINE, _PAD = 16.0, 9.0
_MARK_HEIGHT = 15.0
_REACH, _REACH_OF_SIZES = 8, 0  # layers that an edge crosses at most before it is cut
_PLAIN = ("dtype", "shape", "size", "sizes")  # params that the type of the result shows

Rectangle = tuple[float, float, float, float]


def _box_size(box: Box, operands: int) -> Point:
    """Return the width and height of a box: for its texts, and for the marks of what it reads."""
    lines = _lines(box)
    texts = [sum([len(text) for text, _ in line]) * _CHARACTER for line in lines]
    width = max(texts[0] * _BOLD, *texts) + 2 * _PAD + 6
    return round(max(width, 44.0 * operands), 1), len(lines) * _LINE + _PAD


def _lines(box: Box) -> list[list[tuple[str, str]]]:
    """Return the texts of a box, as pieces with their classes."""
    lines = [[(_cut(box.title, 34), "")]]
    for name, meta in box.values:
        pieces = type_pieces(meta, _EXTENT)
        lines.append(pieces if name == box.title else [(f"{_cut(name, 14)}: ", ""), *pieces])
    params = ", ".join(f"{k}={v}" for k, v in box.params if k not in _PLAIN and v.strip("(), "))
    return [*lines, [(_cut(params, _PARAMS), "")]] if params else lines


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True)
class Drawing:
    """Picture with positions: a rectangle for each box, and the wires of the layout."""

    picture: Picture
    layout: Layout
    rectangles: tuple[Rectangle, ...]
    wires: tuple[Wire, ...]

    @property
    def width(self) -> float:
        return self.layout.width + 2 * MARGIN

    @property
    def height(self) -> float:
        return self.layout.height + 2 * MARGIN

    def ends(self, i: int) -> tuple[Point, Point]:
        """Return the points where an edge leaves its tail and enters its head."""
        wire = self.wires[i]
        x, y, width, height = self.rectangles[wire.tail]
        u, v, breadth, _ = self.rectangles[wire.head]
        return (x + width * wire.leaves, y + height), (u + breadth * wire.enters, v)


def arrange(drawn: Picture) -> Drawing:
    """Lay out a picture: operands enter along the top of a box, values leave along its bottom, both in order."""
    names = [[name for name, _ in box.values] for box in drawn.boxes]
    operands = [0] * len(drawn.boxes)
    for edge in drawn.edges:
        operands[edge.head] = max(operands[edge.head], edge.port + 1)
    wires = []
    for e in drawn.edges:
        leaves = (names[e.tail].index(e.name) + 1) / (len(names[e.tail]) + 1)
        enters = (2 * e.port + 1) / (2 * operands[e.head])
        wires.append(Wire(e.tail, e.head, leaves, enters, e.sizes_only, _REACH_OF_SIZES if e.sizes_only else _REACH))
    shapes = [_box_size(box, operands[box.number]) for box in drawn.boxes]
    layout = lay_out(shapes, wires)
    rectangles = [(x + MARGIN, y + MARGIN, *shape) for (x, y), shape in zip(layout.corners, shapes, strict=True)]
    return Drawing(drawn, layout, tuple(rectangles), tuple(wires))


def draw_svg(drawing: Drawing) -> str:
    """Return the whole drawing, in its own coordinates."""
    lines, marks = [], []
    for i, (edge, route) in enumerate(zip(drawing.picture.edges, drawing.layout.routes, strict=True)):
        start, end = drawing.ends(i)
        if route is None:
            lines.append(_line(edge, [start, end], far=True))
            marks.append(_mark(edge, end))
            if not edge.sizes_only:
                marks.append(_stub(start))
        else:
            lines.append(_line(edge, [start, *[(x + MARGIN, y + MARGIN) for x, y in route], end]))
    boxes = [_box(box, drawing.rectangles[box.number]) for box in drawing.picture.boxes]
    arrow = (
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0,0L8,4L0,8z"></path></marker></defs>'
    )
    width, height = f"{drawing.width:.1f}", f"{drawing.height:.1f}"
    return (
        f'<svg id="graph" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="group">{arrow}'
        f"<g>{''.join(lines)}</g><g>{''.join(marks)}</g><g>{''.join(boxes)}</g></svg>"
    )


def _line(edge: Edge, points: Sequence[Point], *, far: bool = False) -> str:
    """Return a curve that leaves and enters points vertically; between the two ends of a bend it is straight."""
    (x, y), *rest = points
    path = [f"M{x:.1f},{y:.1f}"]
    for k, (u, v) in enumerate(rest):
        if k % 2:
            path.append(f"L{u:.1f},{v:.1f}")
        else:
            middle = (y + v) / 2
            path.append(f"C{x:.1f},{middle:.1f} {u:.1f},{middle:.1f} {u:.1f},{v:.1f}")
        x, y = u, v
    classes = " ".join(["edge", *(["sizes"] if edge.sizes_only else []), *(["far"] if far else [])])
    title = f"{edge.name}{' (sizes)' if edge.sizes_only else ''}"
    return (
        f'<path class="{classes}" data-tail="{edge.tail}" data-head="{edge.head}" marker-end="url(#arrow)" '
        f'd="{"".join(path)}"><title>{html.escape(title)}</title></path>'
    )


def _mark(edge: Edge, end: Point) -> str:
    """Return the name of a value that comes from far above, at the end of its edge."""
    x, y = end
    text = _cut(edge.name, _MARK)
    width, top = len(text) * 6.2 + 10, y - _MARK_HEIGHT - 9
    sizes = " sizes" if edge.sizes_only else ""
    return (
        f'<g class="edge-mark" data-tail="{edge.tail}" data-head="{edge.head}"><path class="edge{sizes}" '
        f'marker-end="url(#arrow)" d="M{x:.1f},{y - 9:.1f}L{x:.1f},{y:.1f}"></path>'
        f'<rect class="mark{sizes}" x="{x - width / 2:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{_MARK_HEIGHT}" rx="7"></rect>'
        f'<text class="mark-text" x="{x:.1f}" y="{top + 11:.1f}">{html.escape(text)}</text></g>'
    )


def _stub(start: Point) -> str:
    """Return a value that is read far below leaves its box with a dot."""
    x, y = start
    return (
        f'<path class="edge" d="M{x:.1f},{y:.1f}V{y + 9:.1f}"></path>'
        f'<circle class="mark" cx="{x:.1f}" cy="{y + 11:.1f}" r="3"></circle>'
    )


def _box(box: Box, rectangle: Rectangle) -> str:
    x, y, width, height = rectangle
    rounded = 12 if box.kind in ("input", "hidden", "result") else 5
    texts = []
    for k, line in enumerate(_lines(box)):
        style = "title" if k == 0 else "value" if k <= len(box.values) else "params"
        pieces = "".join(f'<tspan class="{c}">{html.escape(t)}</tspan>' if c else html.escape(t) for t, c in line)
        texts.append(f'<text class="{style}" x="{_PAD + 6:.1f}" y="{_LINE * (k + 1):.1f}">{pieces}</text>')
    label = [box.title, *[f"{name}: {meta}" for name, meta in box.values]]
    label += [f"{box.where}  {line_of(box.where)}"] if box.where is not None else []
    stripe = (
        f'<rect class="stripe" x="4" y="{rounded - 2:.1f}" width="4" height="{height - 2 * rounded + 4:.1f}"></rect>'
    )
    return (
        f'<g class="box {box.kind} of-{box.guarantee}" id="box-{box.number}" tabindex="0" role="button" '
        f'aria-label="{html.escape(", ".join(label))}" transform="translate({x:.1f},{y:.1f})">'
        f'<rect class="frame" width="{width:.1f}" height="{height:.1f}" rx="{rounded:.1f}"></rect>'
        f"{stripe}{''.join(texts)}</g>"
    )
