"""Sheets of a drawing: one for a program, one inside each group, and one for each body of a loop or a conditional.

A sheet has boxes, and edges between them. A value from outside of a sheet is a mark above the box that reads it. So
each sheet is laid out by itself, and a page draws those that are unfolded.

Fold the nodes of a program into groups: calls of the user's functions, trips of Python loops, and ranges of lines.

A group is a run of neighbours in the order of the program. So no value leaves a group and enters it again, and a
drawing of folded groups has no cycle. Nodes of derivatives have the lines of what they are derivatives of.

Lay out a drawing in layers: every edge leads down, with few crossings and short edges.

It knows boxes by number, their sizes and the edges between them, and nothing of programs. An edge across many layers is
cut: it has no route, and the writer puts a mark at its end.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from anyshape.graph.ir.graph import Node
from anyshape.graph.prover.constraints import SourceLine
from anyshape.inspect.draw.picture import Box, Edge, Picture, picture, type_pieces
from anyshape.support.lazy_dataclass import NamedTuple, dataclass
from anyshape.support.packages import networkx

FEW = 24  # boxes that stand side by side without trips being looked for
MOST = 48  # boxes of one group: more are cut into ranges

Steps: TypeAlias = tuple[SourceLine, ...]  # from the traced function to the line of a node
Position: TypeAlias = tuple[str, int]


class Group(NamedTuple):
    """Run of nodes under a title. `where` is the line of the call or, for trips and ranges, of the first node.

    `items` are indices of nodes and groups, in order.
    """

    title: str
    where: SourceLine | None
    items: tuple[int | Group, ...]

    def nodes(self) -> Iterator[int]:
        """Yield the indices of all nodes of the group, in order."""
        for item in self.items:
            if isinstance(item, Group):
                yield from item.nodes()
            else:
                yield item


def folded(nodes: Sequence[Node], name: str) -> tuple[int | Group, ...]:
    """Return the nodes of a graph as a tree of groups. Few nodes stay side by side."""
    if len(nodes) <= MOST:
        return tuple(range(len(nodes)))
    steps = _steps(nodes)
    items: tuple[int | Group, ...] = _Folder(steps).items(range(len(nodes)), 0)
    while len(items) == 1 and isinstance(items[0], Group):
        items = items[0].items  # the traced function is the program itself
    return _cut(items, name, steps)


def _steps(nodes: Sequence[Node]) -> list[Steps]:
    """Return the steps to each node; a node without a line is taken for one of the line before."""
    steps: list[Steps] = []
    for node in nodes:
        before = steps[-1] if steps else ()
        steps.append(before if node.where is None else (*node.where.path, node.where))
    return steps


class _Folder:
    """Groups of nodes with these steps."""

    def __init__(self, steps: Sequence[Steps]) -> None:
        self.steps = steps

    def items(self, nodes: Sequence[int], level: int) -> tuple[int | Group, ...]:
        """Return nodes whose first `level` steps agree: one call of a deeper function is a group."""
        parts: list[tuple[Position, int | Group]] = []
        for callee, run in itertools.groupby(nodes, key=lambda i: self._callee(i, level)):
            if callee is None:
                parts += [(self._position(i, level - 1), i) for i in run]
                continue
            inside = tuple(run)
            call = self.steps[inside[0]][level - 1] if level else None
            group = Group(callee[1], call, self.items(inside, level + 1))
            parts.append((self._position(inside[0], level - 1), group if len(inside) > 1 else inside[0]))
        return self._trips(parts, self._function(nodes[0], level - 1))

    def _callee(self, i: int, level: int) -> tuple[Position, str] | None:
        """Return from where, and by which name, the function of a level is called; None for a node of the level."""
        steps = self.steps[i]
        if len(steps) <= level:
            return None
        return (self._position(i, level - 1), steps[level].function or "module")

    def _position(self, i: int, level: int) -> Position:
        """Return the position in the code of a level, the line where the position is not known."""
        steps = self.steps[i]
        if not 0 <= level < len(steps):
            return ("", 0)
        step = steps[level]
        return step.file, step.offset if step.offset >= 0 else step.line

    def _function(self, i: int, level: int) -> str:
        return self.steps[i][level].function if 0 <= level < len(self.steps[i]) else ""

    def _trips(self, parts: Sequence[tuple[Position, int | Group]], name: str) -> tuple[int | Group, ...]:
        """Return items with a group for each trip: one begins where a position comes again after another one."""
        items = tuple([item for _, item in parts])
        if len(items) <= FEW:
            return items
        trips: list[list[int | Group]] = []
        seen: set[Position] = set()
        last = None
        for position, item in parts:
            if not trips or (position != last and position in seen):
                trips.append([])
                seen.clear()
            seen.add(position)
            last = position
            trips[-1].append(item)
        if not 3 <= len(trips) <= len(items) // 2:
            return _cut(items, name, self.steps)
        grouped = [_group(f"{name} #{k}", trip, self.steps) for k, trip in enumerate(trips, 1)]
        return _cut(tuple(grouped), name, self.steps)


def _group(title: str, items: Sequence[int | Group], steps: Sequence[Steps]) -> int | Group:
    """Return items as a group, and a single one as it is."""
    if len(items) == 1:
        return items[0]
    made = Group(title, None, tuple(items))
    first = steps[next(made.nodes())]
    return made._replace(where=first[-1] if first else None)


def _cut(items: tuple[int | Group, ...], name: str, steps: Sequence[Steps]) -> tuple[int | Group, ...]:
    """Return items, in ranges of about equal length where they are many."""
    while len(items) > MOST:
        parts = -(-len(items) // MOST)
        bounds = [len(items) * k // parts for k in range(parts + 1)]
        runs = [items[a:b] for a, b in itertools.pairwise(bounds)]
        items = tuple([_group(f"{name or 'nodes'} {k}/{parts}", run, steps) for k, run in enumerate(runs, 1)])
    return items


Point = tuple[float, float]

GAP_ACROSS, GAP_OF_LINES = 26.0, 14.0
GAP_DOWN, GAP_OF_MARKS = 34.0, 48.0  # between rows; where a mark stands at the end of an edge
_SWEEPS = 16  # passes that sort rows, alternately down and up
_PLACINGS = 24  # passes that move boxes within rows
_BALANCES = 4
_ASIDE = 800.0  # horizontal distance from which a weak edge is cut
_STRAIGHT = 8.0  # weight of an edge between two bends; an edge between boxes has 1
_CENTRE = (0.3, 0.03)  # weight of the middle of the drawing, in early and late passes: no chain drifts away


@dataclass(frozen=True, slots=True)
class Wire:
    """Edge of the layout, which leaves and enters boxes at these fractions of their widths.

    A weak edge leads down, attracts no box, and is cut if it goes far to the side. Every edge is cut that crosses more
    than `reach` layers.
    """

    tail: int
    head: int
    leaves: float = 0.5
    enters: float = 0.5
    weak: bool = False
    reach: int = 8


@dataclass(frozen=True)
class Layout:
    """Upper left corner of each box, bends of each edge (None: cut), layers, crossings and total size."""

    corners: tuple[Point, ...]
    routes: tuple[tuple[Point, ...] | None, ...]
    layers: tuple[int, ...]
    crossings: int
    width: float
    height: float


def lay_out(sizes: Sequence[Point], wires: Sequence[Wire], marked: Collection[int] = ()) -> Layout:
    """Return the layout of boxes of these widths and heights; the edges have no cycle.

    There is room for marks above the boxes `marked`, and above those that a cut edge enters.
    """
    rows = _Rows(sizes, wires, _layers(len(sizes), wires), marked)
    crossings = rows.order()
    rows.settle()
    return rows.layout(crossings)


def grid(sizes: Sequence[Point], width: float) -> Layout:
    """Return the layout of boxes without edges: side by side, in rows of about this width."""
    corners, layers = [], []
    x = y = right = height = 0.0
    row = 0
    for wide, high in sizes:
        if x > 0 and x + wide > width:
            x, y, row, height = 0.0, y + height + GAP_OF_LINES, row + 1, 0.0
        corners.append((x, y))
        layers.append(row)
        x, height = x + wide + GAP_ACROSS, max(height, high)
        right = max(right, x - GAP_ACROSS)
    return Layout(tuple(corners), (), tuple(layers), 0, right, y + height)


def _layers(count: int, wires: Sequence[Wire]) -> tuple[int, ...]:
    """Return the layer of each box: below all that it reads, and where its edges are shortest in all."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from((w.tail, w.head) for w in wires)
    strong = graph.edge_subgraph([(w.tail, w.head) for w in wires if not w.weak])
    layer: dict[int, int] = {}
    for depth, generation in enumerate(networkx.topological_generations(graph)):
        layer |= dict.fromkeys(generation, depth)
    order = sorted(range(count), key=lambda v: layer[v])
    for _ in range(_BALANCES):
        before = dict(layer)
        for v in [*reversed(order), *order]:
            _move(v, layer, graph, strong)
        if layer == before:
            break
    index = {depth: i for i, depth in enumerate(sorted(set(layer.values())))}
    return tuple([index[layer[v]] for v in range(count)])


def _move(v: int, layer: dict[int, int], graph, strong) -> None:
    """Move a box towards the side where it has more strong edges, as far as all its edges still lead down."""
    reads, readers = (strong.in_degree(v), strong.out_degree(v)) if v in strong else (0, 0)
    if reads < readers:
        layer[v] = min(layer[w] for w in graph.succ[v]) - 1
    elif reads > readers:
        layer[v] = max(layer[u] for u in graph.pred[v]) + 1


@dataclass(slots=True)
class _Pull:
    """Attraction of an edge between two rows on one of its ends."""

    other: int
    own_part: float  # where the edge meets this vertex, as a fraction of its width
    other_part: float
    weight: float = 1.0


class _Rows:
    """Boxes and bends of edges, row by row. Vertices below the number of boxes are boxes, others are bends."""

    def __init__(
        self, sizes: Sequence[Point], wires: Sequence[Wire], depth: Sequence[int], marked: Collection[int] = ()
    ) -> None:
        self.sizes, self.wires, self.depth, self.marked = sizes, wires, depth, marked
        self.rows: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
        self.widths = [width for width, _ in sizes]
        self.above: list[list[_Pull]] = [[] for _ in sizes]
        self.below: list[list[_Pull]] = [[] for _ in sizes]
        row_of = [*depth]
        self.chains = [self._chain(wire, row_of) for wire in wires]
        for v in self._first_order():
            self.rows[row_of[v]].append(v)
        self.x = [0.0] * len(self.widths)

    def _chain(self, wire: Wire, row_of: list[int]) -> list[int] | None:
        """Return the vertices that an edge goes through, one in each row; None if it is cut."""
        between = range(self.depth[wire.tail] + 1, self.depth[wire.head])
        if len(between) > wire.reach:
            return None
        chain = [wire.tail, *range(len(self.widths), len(self.widths) + len(between)), wire.head]
        for depth in between:
            self.widths.append(0.0)
            row_of.append(depth)
            self.above.append([])
            self.below.append([])
        for u, v in itertools.pairwise(chain):
            leaves, enters = (wire.leaves if u == wire.tail else 0.5), (wire.enters if v == wire.head else 0.5)
            weight = (1.0, 2.0, _STRAIGHT)[self._is_bend(u) + self._is_bend(v)]
            self.below[u].append(_Pull(v, leaves, enters, weight))
            self.above[v].append(_Pull(u, enters, leaves, weight))
        return chain

    def _is_bend(self, v: int) -> bool:
        return v >= len(self.sizes)

    def _first_order(self) -> list[int]:
        """Return the vertices depth first from the last boxes up, so that connected ones start side by side."""
        seen: dict[int, None] = {}
        for end in [v for v in range(len(self.widths)) if not self.below[v]]:
            todo = [end]
            while todo:
                if (v := todo.pop()) not in seen:
                    seen[v] = None
                    todo.extend(pull.other for pull in reversed(self.above[v]))
        return list(seen)

    # -- the order in each row

    def order(self) -> int:
        """Sort rows by the mean of neighbours, keep the order with fewest crossings, and return their number."""
        best, fewest = [list(row) for row in self.rows], self.crossings()
        for sweep in range(_SWEEPS):
            if fewest == 0:
                break
            down = sweep % 2 == 0
            for i in range(1, len(self.rows)) if down else range(len(self.rows) - 2, -1, -1):
                self._sort_row(i, i - 1 if down else i + 1)
            self._exchange()
            if (now := self.crossings()) < fewest:
                best, fewest = [list(row) for row in self.rows], now
        self.rows = best
        return fewest

    def _sort_row(self, i: int, fixed: int) -> None:
        ends = self._ends(fixed)
        near = self.above if fixed < i else self.below
        row, scale = self.rows[i], len(ends) / max(len(self.rows[i]), 1)
        middle = {}
        for k, v in enumerate(row):
            positions = [ends[pull.other] + pull.other_part for pull in near[v]]
            middle[v] = sum(positions) / len(positions) if positions else k * scale
        self.rows[i] = sorted(row, key=middle.__getitem__)

    def _ends(self, i: int) -> dict[int, int]:
        return {v: k for k, v in enumerate(self.rows[i])}

    def _exchange(self) -> None:
        """Swap neighbours in a row where that removes crossings."""
        for i, row in enumerate(self.rows):
            sides: list[tuple[Any, dict[int, int]]] = []
            if i > 0:
                sides.append((self.above, self._ends(i - 1)))
            if i < len(self.rows) - 1:
                sides.append((self.below, self._ends(i + 1)))
            for k in range(len(row) - 1):
                u, v = row[k], row[k + 1]
                gain = 0
                for near, ends in sides:
                    left = sorted([ends[p.other] + p.other_part for p in near[u]])
                    right = sorted([ends[p.other] + p.other_part for p in near[v]])
                    gain += _inversions(left, right) - _inversions(right, left)
                if gain > 0:
                    row[k], row[k + 1] = v, u

    def crossings(self) -> int:
        """Return how many pairs of edges between neighbouring rows cross."""
        count = 0
        for i, upper in enumerate(self.rows[:-1]):
            ends = self._ends(i + 1)
            edges = sorted(
                (k + p.own_part, ends[p.other] + p.other_part) for k, u in enumerate(upper) for p in self.below[u]
            )
            passed: list[float] = []
            for _, group in itertools.groupby(edges, key=lambda edge: edge[0]):  # edges from one point do not cross
                here = [end for _, end in group]
                count += sum([len(passed) - bisect_right(passed, end) for end in here])
                for end in here:
                    insort(passed, end)
        return count

    # -- places in each row

    def settle(self) -> None:
        """Set the x of each vertex as near to straight edges as its row allows."""
        for row in self.rows:
            self._settle(row, [0.0] * len(row), [1.0] * len(row))  # side by side around 0
        for round_ in range(_PLACINGS):
            down, both = round_ % 2 == 0, round_ >= _PLACINGS // 3
            for row in self.rows if down else reversed(self.rows):
                wanted, weights = [], []
                for v in row:
                    pulls = (self.above[v] if down else self.below[v]) if not both else []
                    pulls = pulls or self.above[v] + self.below[v]
                    weights.append(sum([p.weight for p in pulls]) + _CENTRE[both])
                    wanted.append(sum([self._straight(v, p) * p.weight for p in pulls]) / weights[-1])
                self._settle(row, wanted, weights)

    def _straight(self, v: int, pull: _Pull) -> float:
        """Return the x of v for which the edge is vertical."""
        u = pull.other
        return self.x[u] + (pull.other_part - 0.5) * self.widths[u] - (pull.own_part - 0.5) * self.widths[v]

    def _settle(self, row: Sequence[int], wanted: Sequence[float], weights: Sequence[float]) -> None:
        """Set the positions nearest to `wanted` in order and with gaps: weighted least squares by pooling violators."""
        shifts, shift = [0.0], 0.0
        for u, v in itertools.pairwise(row):
            gap = GAP_OF_LINES if self._is_bend(u) and self._is_bend(v) else GAP_ACROSS
            shift += (self.widths[u] + self.widths[v]) / 2 + gap
            shifts.append(shift)
        pools: list[tuple[float, float, int]] = []  # sum of weights, weighted mean, number of vertices
        for target, weight, shift in zip(wanted, weights, shifts):
            pool = (weight, target - shift, 1)
            while pools and pools[-1][1] > pool[1]:
                w, mean, n = pools.pop()
                both = w + pool[0]
                pool = (both, (w * mean + pool[0] * pool[1]) / both, n + pool[2])
            pools.append(pool)
        means = [mean for _, mean, n in pools for _ in range(n)]
        for v, mean, shift in zip(row, means, shifts):
            self.x[v] = mean + shift

    # -- the result

    def layout(self, crossings: int) -> Layout:
        """Return the layout, with the leftmost box at 0."""
        left = min([x - w / 2 for x, w in zip(self.x, self.widths, strict=True)], default=0.0)
        right = max([x + w / 2 for x, w in zip(self.x, self.widths, strict=True)], default=0.0)
        marked = {self.depth[w.head] for w, chain in zip(self.wires, self.chains, strict=True) if chain is None}
        marked |= {self.depth[v] for v in self.marked}
        heights = [max([self.sizes[v][1] for v in row if not self._is_bend(v)], default=0.0) for row in self.rows]
        tops, bottom = [], 0.0
        for i, height in enumerate(heights):
            tops.append(bottom + self._gap_above(i, marks=i in marked))
            bottom = tops[i] + height
        corners = []
        for v, (width, height) in enumerate(self.sizes):
            depth = self.depth[v]
            corners.append((self.x[v] - left - width / 2, tops[depth] + (heights[depth] - height) / 2))
        routes = [self._route(*edge, left, tops, heights) for edge in zip(self.wires, self.chains, strict=True)]
        return Layout(tuple(corners), tuple(routes), tuple(self.depth), crossings, right - left, bottom)

    def _route(
        self, wire: Wire, chain: list[int] | None, left: float, tops: Sequence[float], heights: Sequence[float]
    ) -> tuple[Point, ...] | None:
        """Return the bends of an edge, None if it is cut."""
        if chain is None or (wire.weak and abs(self.x[wire.tail] - self.x[wire.head]) > _ASIDE):
            return None
        bends: list[Point] = []
        for k, v in enumerate(chain[1:-1], self.depth[wire.tail] + 1):
            bends += [(self.x[v] - left, tops[k]), (self.x[v] - left, tops[k] + heights[k])]
        return tuple(bends)

    def _gap_above(self, i: int, *, marks: bool) -> float:
        """Return room for the edges into a row: more for those that go far to the side."""
        aside = [abs(self.x[v] - self._straight(v, p)) for v in self.rows[i] for p in self.above[v]]
        return max(GAP_OF_MARKS if marks else 0.0, GAP_DOWN + min(max(aside) / 10, GAP_DOWN) if aside else 0.0)


def _inversions(left: Sequence[float], right: Sequence[float]) -> int:
    """Return pairs with the element of `left` behind that of `right`; both are sorted."""
    count = k = 0
    for x in left:
        while k < len(right) and right[k] < x:
            k += 1
        count += k
    return count


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
        if isinstance(box := self.boxes[tail], Box):
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
