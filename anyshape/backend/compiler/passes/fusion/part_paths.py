"""Paths between the parts of a plan: whether one part leads to another through a third, while parts become one.

A spanning forest settles most queries: a part reaches all that stands below it. Parts that become one reach
all that each of them did, so this stays true. A search from both ends settles the others. It ends where the nearer side
ends, as groups that may become one have little between them.
"""

from __future__ import annotations

Edges = dict[int, set[int]]
LEAST_WORK, WORK_PER_PART = 200_000, 64  # edges that all searches may follow: time stays in proportion to the plan


class PartPaths:
    """Dependence graph of the parts of a plan, by their numbers; each part has a larger number than what it needs.

    - `readers`, `needs`: the parts that depend on each, and the parts that it depends on.
    - `below`: for each part, the range of the places in the forest of what stands below it, itself first.
    """

    def __init__(self, readers: Edges) -> None:
        self.readers = readers
        self.needs: Edges = {i: set() for i in readers}
        for i, some in readers.items():
            for k in some:
                self.needs[k].add(i)
        self.below: dict[int, tuple[int, int]] = _spanning_forest(readers)
        self.work: int = LEAST_WORK + WORK_PER_PART * len(readers)

    def is_separated(self, start: int, end: int, last: int) -> bool:
        """Return whether a path leads from one part to another through a third.

        Parts with larger numbers than `last` are as they were, so no path leads back from them. Where searches have
        taken too long in all, the answer is yes.
        """
        after = {k for k in self.readers[start] if k <= last and k != end}
        before = {k for k in self.needs[end] if k != start}
        self.work -= len(self.readers[start]) + len(before)
        below, target = self.below, self.below[end][0]
        low, high = below[start]
        if any(first <= target < behind for first, behind in map(below.__getitem__, after)):
            return True
        return any(low <= below[k][0] < high for k in before) or self._meet(after, before, last)

    def _meet(self, after: set[int], before: set[int], last: int) -> bool:
        """Return whether a path leads from a part to one that is before another, by a bidirectional search."""
        if not after.isdisjoint(before):
            return True
        sides = (after, [*after], self.readers), (before, [*before], self.needs)
        while all(todo for _, todo, _ in sides):
            forward = len(after) <= len(before)
            (seen, todo, edges), (others, _, _) = sides if forward else sides[::-1]
            reached = edges[todo.pop()]
            self.work -= 1 + len(reached)
            fresh = [k for k in reached if k <= last and k not in seen]
            if self.work < 0 or not others.isdisjoint(fresh):
                return True
            seen.update(fresh)
            todo.extend(fresh)
        return False

    def contract(self, i: int, j: int) -> None:
        """Make part j one with part i."""
        for edges, back in ((self.readers, self.needs), (self.needs, self.readers)):
            absorbed = edges.pop(j)
            for k in absorbed:
                back[k].discard(j)
                if k != i:
                    back[k].add(i)
            large, small = (absorbed, edges[i]) if len(edges[i]) < len(absorbed) else (edges[i], absorbed)
            large |= small
            large -= {i, j}
            edges[i] = large


def _spanning_forest(readers: Edges) -> dict[int, tuple[int, int]]:
    """Return the range of the places below each part, in a forest where each part stands below its first reader."""
    number: dict[int, int] = {}
    below: dict[int, tuple[int, int]] = {}
    for root in readers:
        path = [] if root in number else [(root, iter(sorted(readers[root])))]
        number.setdefault(root, len(number))
        while path:
            i, rest = path[-1]
            k = next((k for k in rest if k not in number), None)
            if k is None:
                below[i] = number[i], len(number)
                path.pop()
            else:
                number[k] = len(number)
                path.append((k, iter(sorted(readers[k]))))
    return below
