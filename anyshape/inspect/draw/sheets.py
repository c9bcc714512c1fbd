"""Sheets of a drawing: one for a program, one inside each group, and one for each body of a loop or a conditional.

A sheet has boxes, and edges between them. A value from outside of a sheet is a mark above the box that reads it. So
each sheet is laid out by itself, and a page draws those that are unfolded.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import field

from anyshape.graph.prover.constraints import SourceLine
from anyshape.inspect.draw.groups import MOST, Group, folded
from anyshape.inspect.draw.layout import Layout, Point, Wire, grid, lay_out
from anyshape.inspect.draw.picture import Box, Edge, Picture, picture, type_pieces
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.lazy_namedtuple import NamedTuple

CHARACTER = 7.4  # width of a character, with room for other fonts
BOLD = 1.1  # factor for titles
TITLE, NAME, EXTENT, PARAMS = 34, 14, 18, 30  # characters shown of each; the page has the whole texts
LINE, PAD = 16.0, 9.0
_PORT, _PORTS = 44.0, 6  # width for the mark of an operand, and operands of a group that have one
_REACH, _REACH_OF_SIZES = 8, 0  # layers that an edge crosses at most before it is cut
_SHOWN_BY_TYPE = ("dtype", "shape", "size", "sizes")  # params that the type of the result shows
_MANY = {"input": "inputs", "hidden": "sizes", "constant": "constants", "result": "results"}  # words by kind of box
_GRID = 800.0  # width of boxes without edges
_PLAIN = 24  # inputs, constants or results that stand side by side without a group


NOTHING = grid((), 0.0)


class Link(NamedTuple):
    """Edge between boxes of a sheet, or a mark above `head` for values from outside of it.

    The box `tail` makes the first of these values, at any depth.
    """

    tail: int
    head: int
    names: tuple[str, ...]
    sizes_only: bool
    leaves: float
    enters: float
    is_mark: bool = False


class _Ends(NamedTuple):
    """Sheet, boxes (-1: any outside of the sheet), value and port of an edge; groups have no ports."""

    sheet: int
    tail: int
    head: int
    name: str
    port: int


@dataclass
class Sheet:
    """Boxes by number, the links between them, and the layout of both. `owner` is the box that it unfolds from."""

    title: str
    owner: int | None
    boxes: list[int] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    shapes: list[Point] = field(default_factory=list)
    layout: Layout = NOTHING


class Drawn(NamedTuple):
    """Box of a group, which has no node of its own: `size` is the number of boxes in it."""

    title: str
    where: SourceLine | None
    size: int


class Drawing:
    """Boxes of a program with its groups and bodies, and the sheets that they stand on.

    - `boxes` are boxes of pictures and groups; their position is their number.
    - `reads` are the edges into each box, by its number, with numbers of this drawing.
    - `insides` are the sheets that a box unfolds to.
    """

    def __init__(self, program: Picture) -> None:
        self.picture = program
        self.boxes: list[Box | Drawn] = []
        self.reads: list[list[Edge]] = []
        self.insides: dict[int, list[int]] = {}
        self.sheets: list[Sheet] = []
        self.home: list[int] = []  # the sheet of each box
        self.entering: dict[int, int] = {}  # values that enter each box
        self._add_graph(program, "", None)
        self._link()
        for sheet in self.sheets:
            self._lay_out(sheet)

    # -- boxes and sheets

    def _add_graph(self, drawn: Picture, title: str, owner: int | None) -> None:
        """Add a program or a body, with its groups and the bodies in it."""
        first, top = len(self.boxes), self._add_sheet(title, owner)
        self.boxes += drawn.boxes
        self.home += [top] * len(drawn.boxes)
        self.reads += [[] for _ in drawn.boxes]
        numbers: dict[str, list[int]] = {}
        for box in drawn.boxes:
            numbers.setdefault(box.kind, []).append(first + box.number)
        for edge in drawn.edges:
            head, tail = first + edge.head, first + edge.tail
            self.reads[head].append(Edge(tail, head, edge.name, edge.port, edge.sizes_only))
        for kind, words in _MANY.items():
            self._put_many(numbers.get(kind, []), words, top)
        self._put_nodes(folded(drawn.graph.nodes, drawn.graph.name), numbers.get("node", []), top)
        self._move_constants(numbers.get("constant", []))
        for box in drawn.boxes:
            self._add_bodies(box, first + box.number)

    def _add_bodies(self, box: Box, number: int) -> None:
        """Add the bodies of a loop or a conditional."""
        for k, body in enumerate(box.bodies, 1):
            words = f"{box.title}: {body.name or 'body'}"
            self._add_graph(picture(body), f"{words} {k}" if len(box.bodies) > 1 else words, number)

    def _add_sheet(self, title: str, owner: int | None) -> int:
        self.sheets.append(Sheet(title, owner))
        number = len(self.sheets) - 1
        if owner is not None:
            self.insides.setdefault(owner, []).append(number)
        return number

    def _add_group(self, group: Drawn, sheet: int) -> int:
        """Add the box of a group to a sheet, and return the sheet inside of it."""
        self.boxes.append(group)
        self.reads.append([])
        self.home.append(sheet)
        self.sheets[sheet].boxes.append(len(self.boxes) - 1)
        return self._add_sheet(group.title, len(self.boxes) - 1)

    def _put_nodes(self, items: Sequence[int | Group], numbers: Sequence[int], sheet: int) -> None:
        """Put nodes on a sheet; nodes of groups get sheets of their own."""
        for item in items:
            if isinstance(item, Group):
                size = sum(1 for _ in item.nodes())
                self._put_nodes(item.items, numbers, self._add_group(Drawn(item.title, item.where, size), sheet))
            else:
                self._put(numbers[item], sheet)

    def _put(self, box: int, sheet: int) -> None:
        self.home[box] = sheet
        self.sheets[sheet].boxes.append(box)

    def _put_many(self, boxes: Sequence[int], words: str, sheet: int) -> None:
        """Put inputs, constants or results on a sheet, in a group where they are many, and in groups of groups."""
        if len(boxes) > _PLAIN:
            sheet = self._add_group(Drawn(words, None, len(boxes)), sheet)
        parts = -(-len(boxes) // MOST)
        bounds = [len(boxes) * k // parts for k in range(parts + 1)] if parts > 1 else []
        for a, b in itertools.pairwise(bounds):
            run = self._add_group(Drawn(f"{words} {a} to {b - 1}", None, b - a), sheet)
            for box in boxes[a:b]:
                self._put(box, run)
        for box in boxes if not bounds else ():
            self._put(box, sheet)

    def _move_constants(self, constants: Sequence[int]) -> None:
        """Put a constant on the deepest sheet that has all its readers."""
        readers: dict[int, list[int]] = {box: [] for box in constants}
        for reads in self.reads:
            for edge in reads:
                if edge.tail in readers:
                    readers[edge.tail].append(edge.head)
        for box, heads in readers.items():
            common = self._common([self.chain(head) for head in heads])
            if common is not None and common != self.home[box]:
                self.sheets[self.home[box]].boxes.remove(box)
                self._put(box, common)

    def chain(self, box: int) -> list[tuple[int, int]]:
        """Return (sheet, box on it) from the outermost sheet to that of a box."""
        links: list[tuple[int, int]] = []
        current: int | None = box
        while current is not None:
            sheet = self.home[current]
            links.append((sheet, current))
            current = self.sheets[sheet].owner
        return links[::-1]

    def _common(self, chains: Sequence[Sequence[tuple[int, int]]]) -> int | None:
        """Return the deepest sheet of all chains."""
        common = None
        for level in zip(*chains):
            sheets = {sheet for sheet, _ in level}
            if len(sheets) > 1:
                break
            common = sheets.pop()
        return common

    # -- links and layout

    def _link(self) -> None:
        """Draw each edge between boxes of the sheet that has both its ends, and as a mark on the sheets inside.

        Values between a group and another box are one edge.
        """
        edges: dict[_Ends, list[Edge]] = {}
        for edge in itertools.chain.from_iterable(self.reads):
            for ends in self._all_ends(edge):
                edges.setdefault(ends, []).append(edge)
        into: dict[int, list[_Ends]] = {}
        out: dict[int, list[_Ends]] = {}
        for ends in edges:
            into.setdefault(ends.head, []).append(ends)
            out.setdefault(ends.tail, []).append(ends)
        for ends, drawn in edges.items():
            self.sheets[ends.sheet].links.append(self._linked(ends, drawn, out[ends.tail], into[ends.head]))
        self.entering = {head: len(ends) for head, ends in into.items()}

    def _linked(self, ends: _Ends, drawn: Sequence[Edge], out: Sequence[_Ends], into: Sequence[_Ends]) -> Link:
        """Return the link for edges with the same ends, from what leaves its tail and enters its head."""
        is_mark = ends.tail < 0
        leaves = 0.5 if is_mark else self._leaves(ends.tail, drawn[0].name, out.index(ends), len(out))
        operands, k = len(into), into.index(ends)
        if ends.port >= 0:
            operands, k = self.operands(ends.head), ends.port
        names = tuple(dict.fromkeys([edge.name for edge in drawn]))
        sizes_only, tail = all(edge.sizes_only for edge in drawn), drawn[0].tail if is_mark else ends.tail
        return Link(tail, ends.head, names, sizes_only, leaves, (2 * k + 1) / (2 * operands), is_mark)

    def _all_ends(self, edge: Edge) -> Iterator[_Ends]:
        """Yield the ends of an edge on the sheet that has both, then as a mark on each sheet on the way to its head."""
        tails, heads = self.chain(edge.tail), self.chain(edge.head)
        same = sum(1 for a, b in zip(tails, heads) if a == b)
        for k, (sheet, head) in enumerate(heads[same:]):
            yield self._ends(sheet, -1 if k else tails[same][1], head, edge)

    def _ends(self, sheet: int, tail: int, head: int, edge: Edge) -> _Ends:
        """Return what tells an edge from others that are drawn: a group has no ports, and names no values."""
        port = edge.port if head == edge.head else -1
        is_single = tail == edge.tail and port >= 0
        return _Ends(sheet, tail, head, edge.name if is_single or (tail < 0 and port >= 0) else "", port)

    def operands(self, box: int) -> int:
        """Return the number of operands of a box."""
        return max([edge.port + 1 for edge in self.reads[box]], default=0)

    def _leaves(self, tail: int, name: str, k: int, edges: int) -> float:
        """Return where a value leaves its box: in the order of the box, or the edges of a group side by side."""
        box = self.boxes[tail]
        if isinstance(box, Box):
            own = [value for value, _ in box.values]
            return (own.index(name) + 1) / (len(own) + 1)
        return (k + 1) / (edges + 1)

    def _lay_out(self, sheet: Sheet) -> None:
        """Lay out a sheet whose boxes are all folded."""
        at = {box: k for k, box in enumerate(sheet.boxes)}
        sheet.shapes = [self._shape(box) for box in sheet.boxes]
        wires = [
            Wire(at[x.tail], at[x.head], x.leaves, x.enters, x.sizes_only, _REACH_OF_SIZES if x.sizes_only else _REACH)
            for x in sheet.links
            if not x.is_mark
        ]
        if not sheet.links:
            sheet.layout = grid(sheet.shapes, _GRID)
            return
        sheet.layout = lay_out(sheet.shapes, wires, {at[x.head] for x in sheet.links if x.is_mark})

    def _shape(self, number: int) -> Point:
        """Return the width and height of a box: for its texts, and for the marks of what it reads."""
        box = self.boxes[number]
        lines = box_lines(box) if isinstance(box, Box) else group_lines(box)
        ports = self.operands(number) if isinstance(box, Box) else min(self.entering.get(number, 0), _PORTS)
        folded = 14 if number in self.insides else 0  # the sign that the box unfolds
        width = max(len(lines[0]) * CHARACTER * BOLD + folded, *[len(line) * CHARACTER for line in lines])
        return round(max(width + 2 * PAD + 6, _PORT * ports), 1), len(lines) * LINE + PAD


def group_lines(group: Drawn) -> list[str]:
    """Return the texts of a group."""
    where = f"  {group.where}" if group.where else ""
    return [cut(group.title, TITLE), cut(f"{group.size} boxes{where}", PARAMS)]


def box_lines(box: Box) -> list[str]:
    """Return the texts of a box, as the page writes them."""
    lines = [cut(box.title, TITLE)]
    for name, meta in box.values:
        text = "".join([piece for piece, _ in type_pieces(meta, EXTENT)])
        lines.append(text if name == box.title else f"{cut(name, NAME)}: {text}")
    params = params_line(box)
    return [*lines, params] if params else lines


def params_line(box: Box) -> str:
    """Return the params that the types of a box do not show, on one line."""
    params = ", ".join([f"{k}={v}" for k, v in box.params if k not in _SHOWN_BY_TYPE and v.strip("(), ")])
    return cut(params, PARAMS)


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"
