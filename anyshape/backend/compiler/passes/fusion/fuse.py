"""Fusion pass: steps along the same rows become one fusion group, which runs a tile of rows at a time.

An operand of a step in a group has its rows (`row_parallel.py`), or is read whole by each tile. One walk over the steps
in order makes the partition. A step joins the open groups that make or read its operands. A group is closed, and so
runs, before the first other step that reads its results: no group waits for itself. Groups that would be one if that
step had come later are merged afterwards (`merge_groups.py`, which also bounds register pressure).

The cost model is bytes moved. A group saves a write and a read of each value that only it reads. It also saves reads
of a value that several of its steps read. (`networkx` would take as long to load as all first calls of a sweep over 60
lengths of attention.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from anyshape.backend.compiler.op_traits import TRAITS, is_compute_bound
from anyshape.backend.compiler.passes.fusion.collapse_loop_axes import Entries, collapsed_axes
from anyshape.backend.compiler.passes.fusion.merge_groups import merge_groups
from anyshape.backend.compiler.passes.fusion.open_groups import OpenGroup, OpenGroups
from anyshape.backend.compiler.passes.fusion.register_pressure import HeldArrays, Liveness
from anyshape.backend.compiler.passes.fusion.row_parallel import ParallelAxis, RowAnalysis
from anyshape.backend.compiler.passes.metadata_contract import pass_context
from anyshape.backend.compiler.plan import Group, Slot, Step
from anyshape.graph.prover.scope import Scope
from anyshape.graph.sizes.symbols import DimVar


def fuse(
    steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope, runtime: Collection[DimVar] = ()
) -> list[Step | Group]:
    """Return the steps with groups where they save something, in an order that keeps the steps of a group together.

    A step that defines a `runtime` size comes before others that need it.
    """
    return _Fusion(steps, outputs, scope).run(runtime)


class _Fusion:
    def __init__(self, steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> None:
        self.steps = steps
        self.analysis = RowAnalysis(pass_context(scope, "fuse"))
        self.outputs = {o for o in outputs if isinstance(o, str)}
        self.reads = _count_reads(steps)
        self.liveness = Liveness(steps, self.outputs, self.analysis.long_axes)
        self.held = HeldArrays(self.liveness)
        self.open = OpenGroups()
        self.parts: list[Step | OpenGroup] = []

    def run(self, runtime: Collection[DimVar]) -> list[Step | Group]:
        for position, step in enumerate(self.steps):
            self._assign(position, step)
        self._close(self.open.in_order())
        parts = merge_groups(self.parts, self.outputs, runtime, self.liveness)
        return [part for item in parts for part in self._finish(item)]

    # -- the walk

    def _assign(self, position: int, step: Step) -> None:
        """Let a step join a group, or stand alone."""
        self.held.advance(position)
        parallel = self.analysis.parallel_axis(step)
        if parallel is not None and parallel.padded and not self._may_write_in_place(step):
            parallel = None
        group = None if parallel is None else self._group_for(step, parallel)
        self._close([g for g in self.open.makers(step.inputs) if g is not group], step)
        if group is None or parallel is None:
            self._relieve_pressure(step)
            self.parts.append(step)
        else:
            self.open.add(group, position, step, parallel)
            self.held.join(group, step)

    def _may_write_in_place(self, pad: Step) -> bool:
        """Return whether tiles make the operand of a pad, and only the pad reads it: then they write it in place."""
        (slot,) = pad.inputs
        made = any(slot not in group.unfinished for group in self.open.makers(pad.inputs))
        return made and self.reads[str(slot)] == 1 and slot not in self.outputs

    def _relieve_pressure(self, step: Step) -> None:
        """Close groups that keep large arrays alive, if these are too many, before a step makes another one."""
        if TRAITS[step.op].alias.may_share or not any(map(self.liveness.is_large, step.outputs)):
            return
        while self.held.exceeds_pressure:
            self._close([self.held.heaviest()], "register pressure")

    def _group_for(self, step: Step, parallel: ParallelAxis) -> OpenGroup:
        """Return the group that a step joins, after closing the groups whose results it needs complete."""
        self._close(self.open.makers(parallel.read_whole(step)), step)
        self._close([g for g in self.open.makers(step.inputs) if not g.unfinished.isdisjoint(step.inputs)], step)
        related = self.open.related(step.inputs, parallel.rows)
        if not related:
            return self.open.open(parallel.rows)
        group, *others = related
        for other in others:  # no step outside reads their results yet, so none depends on another
            small, group = sorted((group, other), key=lambda g: len(g.entries))
            self.held.merge(group, small)
            self.open.merge(group, small)
        return group

    def _close(self, groups: Iterable[OpenGroup], reason: Step | str | None = None) -> None:
        for group in groups:
            self.open.close(group)
            self.held.close(group)
            self.parts.append(group)
            if reason is not None:
                group.close(reason)

    # -- groups that are worth it

    def _finish(self, part: Step | OpenGroup) -> list[Step | Group]:
        """Return a group in its final form, followed by its trailing views; or its steps, if it saves nothing.

        Steps without results that anyone reads, which run for their errors, stay alone.
        """
        if isinstance(part, Step):
            return [part]
        entries, trailing_views = _split_trailing_views([(step, axis) for _, step, axis in part.in_order()])
        steps = [step for step, _ in entries]
        escaping = self._escaping(steps)
        if not escaping or not self._is_worth_it(entries, escaping):
            return [*steps, *trailing_views]
        group = Group(
            tuple(steps),
            part.rows,
            parallel_operands=tuple([axis.operands for _, axis in entries]),
            escaping=escaping,
            carried=tuple([step.outputs[0] for step, axis in entries if axis.carried]),
            padded=tuple([step.outputs[0] for step, axis in entries if axis.padded]),
            closed_by=part.closed_by,
            collapsed=collapsed_axes(self.analysis, entries),
        )
        return [group, *trailing_views]

    def _escaping(self, steps: Sequence[Step]) -> tuple[str, ...]:
        """Return the results that the caller or other steps read."""
        inside = _count_reads(steps)
        made = [slot for step in steps for slot in step.outputs]
        return tuple([slot for slot in made if slot in self.outputs or self.reads[slot] > inside[slot]])

    def _is_worth_it(self, entries: Entries, escaping: Collection[str]) -> bool:
        """Return whether a group saves reads or writes of arrays, or threads share expensive arithmetic."""
        steps = [step for step, _ in entries]
        if not any(any(axis.operands) for _, axis in entries):
            return False
        reads, made = _count_reads(steps), {slot for step in steps for slot in step.outputs}
        saved = len(made) - len(escaping) + sum(count - 1 for slot, count in reads.items() if slot not in made)
        return saved >= 1 or any(is_compute_bound(step.op) for step in steps)


def _count_reads(steps: Sequence[Step]) -> Counter[str]:
    """Count how often each slot is an operand."""
    return Counter([slot for step in steps for slot in step.inputs if isinstance(slot, str)])


def _split_trailing_views(entries: Entries) -> tuple[Entries, list[Step]]:
    """Split off views that no step of the group reads: tiles would have to copy them."""
    inside: list[tuple[Step, ParallelAxis]] = []
    views: list[Step] = []
    read: set[Slot] = set()
    for step, axis in reversed(entries):
        if TRAITS[step.op].alias.is_free and read.isdisjoint(step.outputs):
            views.append(step)
        else:
            inside.append((step, axis))
            read.update(step.inputs)
    return inside[::-1], views[::-1]
