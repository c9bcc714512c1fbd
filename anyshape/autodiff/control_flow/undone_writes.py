"""Values of a loop that reverse mode makes again: a loop in the other direction undoes writes to the last carries.

A carry that trips write to in place need not be saved, nor what they read of it. Saved are the elements that a trip
overwrites. From the last trip on, they are written back: each read then finds the carry as it was.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Any

from anyshape.autodiff.rule_tables import WRITES
from anyshape.graph.ir.builder import Builder, activate
from anyshape.graph.ir.graph import Node, Op, Value
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops import dynamic as dy
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import indexing as ix
from anyshape.ops import movement as mv
from anyshape.ops.control import name_sizes_op
from anyshape.ops.control_flow import sized_op
from anyshape.ops.core.flop_counts import elements
from anyshape.ops.loops import Layout
from anyshape.support.lazy_dataclass import NamedTuple, dataclass

_SAME = {sized_op, name_sizes_op}
_VIEWS: set[Op] = {
    mv.slice_op, mv.rev_op, mv.transpose_op, mv.reshape_op, ix.take_op, ga.gather_op, ga.gather_dynamic_op,
    dy.dynamic_slice_op, *_SAME,
}  # fmt: skip
_CHEAP = _VIEWS | {ew.add_op, ew.sub_op, ew.mul_op, ew.neg_op, ew.square_op, mv.broadcast_in_dim_op}


class Step(NamedTuple):
    """Change of a carry: by a `node` that writes to it, or by a loop that gives it `again`; else the value stays."""

    after: Value
    before: Value
    position: int
    node: Node | None
    again: Value | None


@dataclass
class Undo:
    """Plan to undo the writes of a trip.

    - `carries`: by position, the first and the last value of a carry, and the steps from the last one to the first.
    - `old`: what each node that writes replaces.
    - `saved`: the values that are to be saved.
    - `remade`: the values that are made again, each with the value of a carry that it is read off.
    """

    carries: dict[int, tuple[Value, Value, Sequence[Step]]]
    old: dict[Node, Value]
    saved: list[Value]
    remade: dict[Value, Value]


class Planner:
    """Finds which of the `saved` values of a body are made again if writes to carries are undone.

    - `firsts`, `lasts`: of carries by position, the value before and behind a trip.
    - `known`: the values that need not be saved.
    """

    def __init__(
        self, builder: Builder, firsts: Mapping[int, Value], lasts: Mapping[int, Value], known: Collection[Value]
    ) -> None:
        self.builder, self.firsts, self.lasts, self.known = builder, firsts, lasts, known
        self.maker = {v: (k, node) for k, node in enumerate(builder.nodes) for v in node.outputs}
        steps = {i: self._steps(lasts[i], first) for i, first in firsts.items()}
        self.carries: dict[int, Sequence[Step]] = {i: own for i, own in steps.items() if own is not None}
        self.read: dict[Value, set[int]] = {}
        self.base: dict[Value, Value] = {}
        self._note_reads()

    def _steps(self, value: Value, first: Value) -> list[Step] | None:
        """Return the steps from the last value of a carry to the first; None if it is not changed in place alone."""
        steps: list[Step] = []
        while value is not first:
            k, node = self.maker.get(value, (-1, None))
            if node is None:
                return None
            if value in self.builder.undone:
                before, again = self.builder.undone[value]
                steps.append(Step(value, before, k, None, again))
            elif node.op in WRITES or node.op in _SAME:
                before = node.inputs[0]
                steps.append(Step(value, before, k, node if node.op in WRITES else None, None))
            else:
                return None
            value = before
        return steps

    def plan(self, saved: Sequence[Value]) -> Undo | None:
        """Return a plan for values that would be saved, None where it would not save less."""
        carries = {i: own for i, own in self.carries.items() if self._pays(i, saved)}
        read = [v for v in saved if self._is_read(v, carries.keys())]
        needed = self._needed(read, carries)
        if needed.issuperset(read):
            return None
        old = {node: self._old(node) for node in _writes([*chain(*carries.values())])}
        remade = [v for v in read if v not in needed.union(old.values())]  # a trip may read what it overwrites
        plan = {i: (self.firsts[i], self.lasts[i], own) for i, own in carries.items()}
        others = dict.fromkeys([*saved, *needed, *old.values()]).keys() - {*remade}
        return Undo(
            plan, old, sorted(others, key=lambda v: v.id), dict(zip(remade, map(self._base, remade), strict=True))
        )

    def _base(self, value: Value) -> Value:
        """Return the value of a carry that a value is a view of, itself if it is none."""
        return self.base.get(value, value)

    def _is_read(self, value: Value, carries: Set[int]) -> bool:
        """Return whether a value is read off these carries."""
        return value in self.read and self.read[value] <= carries

    def _note_reads(self) -> None:
        """Note the values that are read off carries with the positions of these, and those they are views of."""
        read = self.read
        read.update({self.firsts[i]: {i} for i in self.carries})
        read.update({v: {i} for i, own in self.carries.items() for step in own for v in (step.after, step.before)})
        backwards = {self.maker[again][1] for _, again in self.builder.undone.values() if again in self.maker}
        for node in self.builder.nodes:
            if node in backwards:
                self._note_loop(node)
            elif node.op in _CHEAP and node.outputs[0] not in read:
                self._note_view(node)

    def _note_loop(self, node: Node) -> None:
        """Note what a loop makes again from carries."""
        own = [self.read[v] for v in node.inputs if v in self.read]
        lasts = node.inputs[: Layout(*dict(node.params)["layout"]).carries]
        if all(v in self.read for v in lasts):
            self.read.update({v: set().union(*own) for v in node.outputs if v not in self.read})
            self.base.update(dict.fromkeys(node.outputs, self._base(lasts[0])))

    def _note_view(self, node: Node) -> None:
        """Note what a node computes from one value of a carry."""
        arrays = node.inputs[:1] if node.op in _VIEWS else [v for v in node.inputs if v not in self.known]
        origins = {*map(self._base, arrays)}
        if len(origins) == 1 and all(v in self.read for v in arrays):
            self.read[node.outputs[0]] = self.read[arrays[0]]
            (self.base[node.outputs[0]],) = origins

    def _pays(self, i: int, saved: Sequence[Value]) -> bool:
        """Return whether more is read off a carry than overwritten: by the degree in sizes, then by their number."""
        read = [_degree(v) for v in saved if i in self.read.get(v, ())]
        written = [_degree(node.inputs[WRITES[node.op].part]) for node in _writes(self.carries[i])]
        most, cost = max(read, default=-1), max(written, default=-1)
        return most > cost or (most == cost > 0 and read.count(most) > written.count(most))

    def _needed(self, read: Sequence[Value], carries: Mapping[int, Sequence[Step]]) -> set[Value]:
        """Return what must be saved to undo writes, and to make again what is read.

        What is read off a value of a carry that is not there by then is saved, as an index that is overwritten.
        """
        steps, needed, seen = [*chain(*carries.values())], set[Value](), set[tuple[Value, int]]()
        versions = {self.firsts[i] for i in carries} | {step.after for step in steps}
        undone = {step.before: step.position for step in steps}
        todo = self._times(read, steps)
        while todo:
            value, position = todo.pop()
            is_there = undone.get(self._base(value), position + 1) > position
            if (value, position) in seen or value in self.known or (is_there and value in versions):
                continue
            seen.add((value, position))
            if is_there and self._is_read(value, carries.keys()):
                todo += [(v, position) for v in self.maker[value][1].inputs]
            else:
                needed.add(value)
        return needed

    def _times(self, read: Sequence[Value], steps: Sequence[Step]) -> list[tuple[Value, int]]:
        """Return what is made again and what steps back read, with positions: each is needed before that is undone."""
        made_at = {step.after: step.position for step in steps}
        own = [(v, made_at.get(self._base(v), -1)) for v in read]
        return own + [(v, step.position) for step in steps for v in _read_back(step)]

    def _old(self, node: Node) -> Value:
        """Return what a node overwrites, which is read in front of it."""
        builder, handle = self.builder, self.builder.handle
        builder.closed, count = False, len(builder.nodes)
        with activate(builder):
            ctx = ShapeGuardContext(builder.scope, node.op.name, node.where, [v.meta for v in node.operands], "jvp")
            inputs = [handle(builder, v) for v in node.inputs]
            old: Value = WRITES[node.op].read(ctx, inputs[0], *inputs, **dict(node.params)).value
        at, new = builder.nodes.index(node), builder.nodes[count:]
        builder.nodes[at:] = [*new, *builder.nodes[at:count]]
        return old


def _read_back(step: Step) -> Sequence[Value]:
    """Return what a step back reads: the positions of a write, or what a loop gives again."""
    if step.node is None:
        return [] if step.again is None else [step.again]
    part = WRITES[step.node.op].part
    return [v for k, v in enumerate(step.node.inputs) if k not in (0, part)]


def _writes(steps: Sequence[Step]) -> list[Node]:
    """Return the nodes of steps that write, the last one first."""
    return [step.node for step in sorted(steps, key=lambda step: -step.position) if step.node is not None]


def undo(builder: Builder, plan: Undo, values: dict[Value, Any], make: Callable[[Value], Any]) -> list[Any]:
    """Undo the writes of a trip in a builder, and return the first values of the carries.

    `values` has the last ones, and what was saved; `make` makes a value again from these. Reads stand in front of the
    write that changes what they read.
    """
    steps = [step for _, _, steps in plan.carries.values() for step in steps]
    for step in sorted(steps, key=lambda step: -step.position):
        for value in [v for v, base in plan.remade.items() if base is step.after]:
            make(value)
        if step.again is not None:
            values[step.before] = make(step.again)
        elif step.node is None:
            values[step.before] = values[step.after]
        else:
            values[step.before] = _undone(builder, step.node, values[step.after], values[plan.old[step.node]], make)
    return [values[first] for first, _, _ in plan.carries.values()]


def drop_unread_loops(builder: Builder, ends: Iterable[Value]) -> None:
    """Take loops that undo writes out of a builder, with all that reads them, where none of these ends needs them.

    They would run for what they refuse, which the loops whose writes they undo have refused.
    """
    read, unread = {*ends}, {again for _, again in builder.undone.values()}
    for node in reversed(builder.nodes):
        if not read.isdisjoint(node.outputs):
            read.update(node.operands)
    dropped = set[Value]()
    for node in builder.nodes:
        if read.isdisjoint(node.outputs) and not (unread | dropped).isdisjoint((*node.outputs, *node.operands)):
            dropped.update(node.outputs)
    builder.nodes = [node for node in builder.nodes if dropped.isdisjoint(node.outputs)]


def _undone(builder: Builder, node: Node, x: Any, old: Any, make: Callable[[Value], Any]) -> Any:
    """Return an array as it was before a node wrote to it."""
    write = WRITES[node.op]
    ctx = ShapeGuardContext(builder.scope, node.op.name, node.where, [v.meta for v in node.operands], "jvp")
    inputs = [None if k in (0, write.part) else make(v) for k, v in enumerate(node.inputs)]
    return write.set(ctx, x, old, *inputs, **dict(node.params))


def _degree(value: Value) -> int:
    """Return the degree of the number of elements of a value in sizes."""
    count: Size = elements(value.meta.sizes or ())
    return 0 if isinstance(count, int) else max([sum([power for _, power in monomial]) for monomial, _ in count.terms])
