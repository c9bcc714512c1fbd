"""Fold the nodes of a program into groups: calls of the user's functions, trips of Python loops, and ranges of lines.

A group is a run of neighbours in the order of the program. So no value leaves a group and enters it again, and a
drawing of folded groups has no cycle. Nodes of derivatives have the lines of what they are derivatives of.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from anyshape.graph.ir.graph import Node
from anyshape.graph.prover.constraints import SourceLine
from anyshape.support.lazy_namedtuple import NamedTuple

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
