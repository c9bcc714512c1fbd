"""Steps that work row by row on arrays of equally many rows become one group, which runs a tile of rows at a time.

A value has rows when the size of its first axis is proved to be that of the group; everything else that a step of the
group reads is the same for every row. The partition is made in one walk over the steps in order: a step joins the open
groups that make its operands, and a group is closed (it runs) before the first other step that reads of it, so no group
waits for itself. The cost model is bytes moved: a group saves a write and a read of each value that only it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from anyshape.backend.plan import Group, Literal, Step
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.dims import Size
from anyshape.graph.extents import TensorMeta
from anyshape.graph.ir import Op
from anyshape.graph.scope import Scope
from anyshape.ops import elementwise as ew
from anyshape.ops import movement as mv
from anyshape.ops import reduction as rd

ELEMENTWISE = ("elementwise", "special")
ALONG_ROWS: dict[Op, str] = {  # reductions, by the name of the param that holds their axes
    rd.reduce_sum_op: "axes",
    rd.reduce_max_op: "axes",
    rd.reduce_min_op: "axes",
    rd.reduce_prod_op: "axes",
    rd.reduce_and_op: "axes",
    rd.reduce_or_op: "axes",
    rd.reduce_logsumexp_op: "axes",
    rd.softmax_op: "axes",
}
TOTALS = (rd.reduce_sum_op,)  # reductions over rows too: sums of tiles are added


@dataclass
class _Open:
    """A group that further steps may join."""

    rows: Size
    steps: list[tuple[int, Step]] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    totals: set[str] = field(default_factory=set)


def fuse(steps: Sequence[Step], outputs: Sequence[str | Literal], scope: Scope) -> list[Step | Group]:
    """The steps in an order in which those of a group are neighbours, with groups where they save something."""
    return _Fusion(scope, outputs).run(steps)


class _Fusion:
    def __init__(self, scope: Scope, outputs: Sequence[str | Literal]) -> None:
        self.ctx = ShapeGuardContext(scope, "fuse", rule="pass")
        self.outputs = {o for o in outputs if isinstance(o, str)}
        self.open: list[_Open] = []
        self.found: list[Step | _Open] = []

    def run(self, steps: Sequence[Step]) -> list[Step | Group]:
        readers: dict[str, int] = {}
        for step in steps:
            for slot in step.inputs:
                if isinstance(slot, str):
                    readers[slot] = readers.get(slot, 0) + 1
        for position, step in enumerate(steps):
            rows = self._rows(step)
            home = None if rows is None else self._home(step, rows)
            self._close([g for g in self.open if g is not home and not g.made.isdisjoint(step.inputs)])
            if home is None:
                self.found.append(step)
                continue
            home.steps.append((position, step))
            home.made.update(step.outputs)
            if self._totals(step):
                home.totals.update(step.outputs)
        self._close(list(self.open))
        return [part for item in self.found for part in self._finished(item, readers)]

    # -- which steps go together

    def _normal(self, meta: TensorMeta) -> Size | None:
        """The number of rows of a value; None for a scalar and where it has no name."""
        sizes = self.ctx.sizes(meta, field="rows")
        return self.ctx.scope.normal(sizes[0]) if sizes else None

    def _rows(self, step: Step) -> Size | None:
        """The rows that a step works along, if it works row by row."""
        if step.instead or len(step.outputs) != 1 or not step.metas:
            return None
        if any(self.ctx.sizes(m, field="rows") is None for m in (*step.metas, *step.results)):
            return None
        if step.op.family in ELEMENTWISE:
            return self._normal(step.results[0])
        if step.op in ALONG_ROWS:
            axes = dict(step.params)[ALONG_ROWS[step.op]]
            return self._normal(step.metas[0]) if 0 not in axes or _adds_exactly(step) else None
        if step.op is mv.reshape_op:
            rows = self._normal(step.results[0])
            return rows if rows == self._normal(step.metas[0]) else None
        return None

    def _totals(self, step: Step) -> bool:
        """The step adds up rows."""
        return step.op in TOTALS and 0 in dict(step.params)[ALONG_ROWS[step.op]]

    def with_rows(self, step: Step, rows: Size) -> list[bool]:
        """Which operands have the rows of the group."""
        found = []
        for meta in step.metas:
            aligned = self.ctx.rank(meta) == self.ctx.rank(step.results[0]) or step.op.family not in ELEMENTWISE
            found.append(aligned and self._normal(meta) == rows)
        return found

    def _home(self, step: Step, rows: Size) -> _Open | None:
        """The group that a step joins, or a new one; None where an operand stands in the way."""
        flags = self.with_rows(step, rows)
        if not any(flags) or (isinstance(rows, int) and rows < 2):
            return None
        for slot, meta, flag in zip(step.inputs, step.metas, flags, strict=True):
            whole = not flag and self.ctx.rank(meta) == self.ctx.rank(step.results[0]) > 0
            if whole and step.op.family in ELEMENTWISE and self._normal(meta) != 1:
                return None  # its first axis may be that of the rows, or 1: NumPy decides
            if not flag and any(slot in g.made for g in self.open if g.rows == rows):
                self._close([g for g in self.open if slot in g.made])
        near = [g for g in self.open if g.rows == rows and self._touches(g, step)]
        if any(not g.totals.isdisjoint(step.inputs) for g in near):
            self._close([g for g in near if not g.totals.isdisjoint(step.inputs)])
            near = [g for g in near if g in self.open]
        return self._merged(near) if near else self._new(rows)

    def _touches(self, group: _Open, step: Step) -> bool:
        """The group makes or reads something that the step reads."""
        read = {slot for _, s in group.steps for slot in s.inputs if isinstance(slot, str)}
        return any(slot in group.made or slot in read for slot in step.inputs if isinstance(slot, str))

    def _new(self, rows: Size) -> _Open:
        self.open.append(_Open(rows))
        return self.open[-1]

    def _merged(self, groups: list[_Open]) -> _Open:
        """One group of several open ones: nothing outside reads of them yet, so none depends on another."""
        first, *others = groups
        for other in others:
            first.steps = sorted([*first.steps, *other.steps], key=lambda pair: pair[0])
            first.made |= other.made
            first.totals |= other.totals
            self.open.remove(other)
        return first

    def _close(self, groups: Sequence[_Open]) -> None:
        for group in groups:
            if group in self.open:
                self.open.remove(group)
                self.found.append(group)

    # -- which groups are worth it

    def _finished(self, item: Step | _Open, readers: dict[str, int]) -> list[Step | Group]:
        if isinstance(item, Step):
            return [item]
        steps = [step for _, step in item.steps]
        inside: dict[str, int] = {}
        for step in steps:
            for slot in step.inputs:
                if isinstance(slot, str):
                    inside[slot] = inside.get(slot, 0) + 1
        escaping = tuple(
            slot
            for step in steps
            for slot in step.outputs
            if slot in self.outputs or readers.get(slot, 0) > inside.get(slot, 0)
        )
        saved = len(item.made) - len(escaping) + sum(n - 1 for s, n in inside.items() if s not in item.made)
        dear = any(_dear(step) for step in steps)
        if saved < 1 and not dear:
            return list(steps)
        flags = tuple(tuple(self.with_rows(step, item.rows)) for step in steps)
        return [Group(tuple(steps), item.rows, flags, escaping, tuple(sorted(item.totals)))]


def _adds_exactly(step: Step) -> bool:
    """Sums of tiles add up as well as the whole: NumPy adds halves as singles, and sums of tiles would be halves."""
    return step.op in TOTALS and step.results[0].dtype != np.float16


def _dear(step: Step) -> bool:
    """An operation whose arithmetic costs more than its reads and writes, so that threads help it alone."""
    return step.op.family == "special" or step.op.name in DEAR_OPS


DEAR_OPS = frozenset(
    op.name
    for op in (
        *(ew.exp_op, ew.exp2_op, ew.expm1_op, ew.log_op, ew.log2_op, ew.log10_op, ew.log1p_op, ew.logaddexp_op),
        *(ew.sin_op, ew.cos_op, ew.tan_op, ew.arcsin_op, ew.arccos_op, ew.arctan_op, ew.arctan2_op, ew.sinh_op),
        *(ew.cosh_op, ew.tanh_op, ew.arcsinh_op, ew.arccosh_op, ew.arctanh_op, ew.pow_op, ew.power_by_op, ew.hypot_op),
    )
)
