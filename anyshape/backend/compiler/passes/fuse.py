"""Steps that work row by row on arrays of equally many rows become one group, which runs a tile of rows at a time.

What a step of the group reads has its rows (`rows.py` tells which), or is the same for every row. The partition is made
in one walk over the steps in order: a step joins the open groups that make or read what it reads, and a group is closed
(it runs) before the first other step that reads of it, so no group waits for itself. Groups that would be one if that
step had come later become one then (`join.py`, which also says how long groups may keep what they read). The cost model
is bytes moved: a group saves a write and a read of each value that only it reads, and a read of each that several of
its steps read. (`networkx` would take as long to load as all first calls of a sweep over 60 lengths of attention.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from anyshape.backend.compiler.op_traits import find_traits, is_compute_bound
from anyshape.backend.compiler.passes.collapse_loop_axes import collapsed_axes
from anyshape.backend.compiler.passes.merge_groups import Liveness, OpenGroup, join
from anyshape.backend.compiler.passes.row_parallel import ParallelAxis, RowAnalysis
from anyshape.backend.compiler.plan import Group, Literal, Step
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import DimVar


def fuse(
    steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope, runtime: Collection[DimVar] = ()
) -> list[Step | Group]:
    """The steps in an order in which those of a group are neighbours, with groups where they save something.

    The sizes that are known at `runtime` are those of what a step gives: others that need them come after it.
    """
    return _Fusion(steps, outputs, scope).run(steps, runtime)


class _Fusion:
    def __init__(self, steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope) -> None:
        self.rules = RowAnalysis(ShapeGuardContext(scope, "fuse", rule="pass"))
        self.outputs = {o for o in outputs if isinstance(o, str)}
        self.open: list[OpenGroup] = []
        self.readers, self.lives = _reads(steps), Liveness(steps, self.outputs, self.rules.long_axes)
        self.found: list[Step | OpenGroup] = []

    def run(self, steps: Sequence[Step], runtime: Collection[DimVar]) -> list[Step | Group]:
        for position, step in enumerate(steps):
            work = self.rules.work(step)
            if work is not None and work.padded and not self._takes_rows(step):
                work = None
            home = None if work is None else self._home(step, work)
            self._close([g for g in self.open if g is not home and not g.made.isdisjoint(step.inputs)], step)
            if home is None or work is None:
                self._make_room(position, step)
                self.found.append(step)
            else:
                home.add(position, step, work)
        self._close(list(self.open))
        parts = join(self.found, self.outputs, runtime, self.lives)
        return [part for item in parts for part in self._finished(item)]

    def _takes_rows(self, step: Step) -> bool:
        """Only this step reads what it places, and tiles make it, so that they can write it to its place."""
        (slot,) = step.inputs
        made = any(slot in g.made - g.unfinished for g in self.open)
        return made and self.readers[str(slot)] == 1 and slot not in self.outputs

    def _make_room(self, position: int, step: Step) -> None:
        """Run groups that keep arrays waiting, if these are more than a few, before a step makes another one."""
        if find_traits(step.op).alias.may_share or not any(map(self.lives.large, step.outputs)):
            return
        before = position - 1
        while self.lives.exceeds_pressure(self.open, before):
            most = max(self.open, key=lambda g: self.lives.kept(g, before))
            self._close([most], "arrays that wait for it")

    def _home(self, step: Step, work: ParallelAxis) -> OpenGroup:
        """The group that a step joins, after those were closed that it has to wait for."""
        waited = work.read_whole(step)
        self._close([g for g in self.open if not g.made.isdisjoint(waited)], step)
        self._close([g for g in self.open if not g.unfinished.isdisjoint(step.inputs)], step)
        near = [g for g in self.open if g.rows == work.rows and not (g.made | g.read).isdisjoint(step.inputs)]
        if not near:
            self.open.append(OpenGroup(work.rows))
            return self.open[-1]
        first, *others = near
        for other in others:  # nothing outside reads of them yet, so none depends on another
            first.take(other)
            self.open.remove(other)
        return first

    def _close(self, groups: Iterable[OpenGroup], why: Step | str | None = None) -> None:
        for group in groups:
            self.open.remove(group)
            self.found.append(group)
            if isinstance(why, Step):
                slots = ", ".join(sorted(group.made.intersection(why.inputs)))
                group.closed_by = f"{why.op}, which reads {slots} whole"
            elif why is not None:
                group.closed_by = why

    # -- which groups are worth it

    def _finished(self, item: Step | OpenGroup) -> list[Step | Group]:
        if isinstance(item, Step):
            return [item]
        entries, after = self._without_views([(s, w) for _, s, w in item.steps])
        steps = [s for s, _ in entries]
        inside, made = _reads(steps), {slot for s in steps for slot in s.outputs}
        escaping = tuple([s for s in _made(steps) if s in self.outputs or self.readers[s] > inside[s]])
        saved = len(made) - len(escaping) + sum(n - 1 for s, n in inside.items() if s not in made)
        if not any(any(w.operands) for _, w in entries) or (
            saved < 1 and not any(is_compute_bound(s.op) for s in steps)
        ):
            return [*steps, *after]
        totals = tuple([s.outputs[0] for s, w in entries if w.carried])
        placed = tuple([s.outputs[0] for s, w in entries if w.padded])
        flags = tuple([w.operands for _, w in entries])
        merged = collapsed_axes(self.rules, entries)
        return [Group(tuple(steps), item.rows, flags, escaping, totals, placed, item.closed_by, merged), *after]

    def _without_views(
        self, entries: list[tuple[Step, ParallelAxis]]
    ) -> tuple[list[tuple[Step, ParallelAxis]], list[Step]]:
        """Views that nothing in the group reads follow it: tiles would have to copy them."""
        kept: list[tuple[Step, ParallelAxis]] = []
        after: list[Step] = []
        read: set[str | Literal] = set()
        for step, work in reversed(entries):
            view = find_traits(step.op).alias.is_free
            if view and read.isdisjoint(step.outputs):
                after.append(step)
            else:
                kept.append((step, work))
                read.update(step.inputs)
        return kept[::-1], after[::-1]


def _reads(steps: Sequence[Step]) -> Counter[str]:
    """How often each slot is read."""
    return Counter([slot for step in steps for slot in step.inputs if isinstance(slot, str)])


def _made(steps: Sequence[Step]) -> list[str]:
    """The slots that steps make."""
    return [slot for step in steps for slot in step.outputs]
