"""Lay out a drawing in layers: every edge leads down, with few crossings and short edges.

It knows boxes by number, their sizes and the edges between them, and nothing of programs. An edge across many layers is
cut: it has no route, and the writer puts a mark at its end.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Collection, Sequence
from typing import Any

from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import networkx

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
    layers = _layers(len(sizes), wires)
    rows = _Rows(sizes, wires, layers, marked)
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


def _move(v: int, layer: dict[int, int], graph: Any, strong: Any) -> None:
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
            bends = self._is_bend(u) + self._is_bend(v)
            weight = (1.0, 2.0, _STRAIGHT)[bends]
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
                v = todo.pop()
                if v not in seen:
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
            now = self.crossings()
            if now < fewest:
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
