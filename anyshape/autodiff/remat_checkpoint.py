"""What reverse mode computes again instead of keeping it: values between the marks of a checkpoint.

A value is inside a checkpoint if it is made, through whatever ops, of what entered one and has not left it. Marks are
ops like any other, so what transforms make of values inside is inside too. The transpose of entering is leaving: what a
pullback computes inside is computed again, too, by the derivative of the pullback.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from anyshape.autodiff.jvp import Replay, replay_node, start
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value, raises
from anyshape.ops.control import POLICIES, enter_checkpoint_op, leave_checkpoint_op

Key = TypeVar("Key", bound=Hashable)


def in_order(wanted: Iterable[Key], reads: Callable[[Key], Iterable[Key] | None]) -> list[Key]:
    """What is wanted, and what that reads, each behind what it reads; nothing for which `reads` gives None."""
    found: dict[Key, None] = {}
    todo = [(key, False) for key in wanted]
    while todo:
        key, ready = todo.pop()
        before = None if key in found else reads(key)
        if before is None:
            continue
        if ready:
            found[key] = None
        else:
            todo.append((key, True))
            todo.extend((k, False) for k in reversed([*before]))
    return list(found)


def inside(nodes: Iterable[Node]) -> dict[Value, tuple[str, ...]]:
    """The values inside of checkpoints, each with the policies of these, outermost first."""
    found: dict[Value, tuple[str, ...]] = {}
    for node in nodes:
        around = max((found.get(v, ()) for v in node.operands), key=len, default=())
        if node.op is enter_checkpoint_op:
            around = (*around, dict(node.params)["keep"])
        elif node.op is leave_checkpoint_op:
            around = around[:-1]
        if around:
            found.update(dict.fromkeys(node.outputs, around))
    return found


def _kept(node: Node, policies: Sequence[str]) -> bool:
    """What the node makes is kept: sizes that depend on data, which would be other ones, and what all policies say."""
    return node.op.mints or raises(node) or all(node.op.family in POLICIES[p] for p in policies)


class _Again:
    """Computes again, in a graph of its own, values of a builder that are inside of checkpoints.

    Each depth of nesting has its run: that for values at depth 2 reads those at depth 1 from theirs, and what was run
    at depth 2 to get at these is not kept for it.
    """

    def __init__(self, builder: Builder, inner: Builder, around: dict[Value, tuple[str, ...]]) -> None:
        self.builder, self.inner, self.around = builder, inner, around
        made = [n for n in builder.nodes if n.outputs[0] in around and not _kept(n, around[n.outputs[0]])]
        self.maker = {v: node for node in made for v in node.outputs}
        self.turn = max(dict(n.params)["turn"] for n in builder.nodes if n.op is enter_checkpoint_op)
        self.values: dict[tuple[Value, int], Traced] = {}

    def value(self, value: Value) -> Traced:
        """What stands for a value of the builder."""
        wanted = value, len(self.around.get(value, ()))
        for made, depth in in_order([wanted], self._reads):
            if (made, depth) not in self.values:  # as another result of its node
                self._run(self.maker[made], depth)
        return self._of(value, wanted[1])

    def _reads(self, key: tuple[Value, int]) -> list[tuple[Value, int]] | None:
        """What the run at this depth reads to make a value, and from which run; None if there is nothing to make."""
        value, depth = key
        if key in self.values or value not in self.maker:
            return None
        return [(v, self._run_of(v, depth)) for v in self.maker[value].operands]

    def _run_of(self, value: Value, depth: int) -> int:
        return min(depth, len(self.around.get(value, ())))

    def _run(self, node: Node, depth: int) -> None:
        params = dict(node.params) | ({"turn": self.turn + depth} if node.op is enter_checkpoint_op else {})
        with at_line(self.inner, node.where):
            inputs, sources = ([self._of(v, self._run_of(v, depth)) for v in vs] for vs in (node.inputs, node.sources))
            outputs = self.inner.emit(node.op, inputs, sources, params)
        self.values.update(zip([(v, depth) for v in node.outputs], outputs, strict=True))

    def _of(self, value: Value, depth: int) -> Traced:
        found = self.values.get((value, depth))
        if found is None:
            found = self.builder.handle(self.builder, value)
            if value in self.around:
                found = self.values[value, depth] = self._again(found, self.around[value], depth)
        return found

    def _again(self, x: Traced, around: tuple[str, ...], depth: int) -> Traced:
        """A value that is kept, so that what is computed of it again is not what was computed before."""
        for keep in reversed(around):
            (x,) = self.inner.emit(leave_checkpoint_op, [x], [], {"keep": keep})
        for keep in around:
            (x,) = self.inner.emit(enter_checkpoint_op, [x], [], {"keep": keep, "turn": self.turn + depth})
        return x


def recomputing(
    builder: Builder, graph: Graph, tangent_count: int, residuals: Sequence[Traced]
) -> tuple[Graph, tuple[Traced, ...]]:
    """A graph that is linear in its first inputs, and its residuals, none of which is inside of a checkpoint.

    What was is computed again in the graph, just before it is read.
    """
    around = inside(builder.nodes)
    if not any(x.builder is builder and x.value in around for x in residuals):
        return graph, tuple(residuals)
    inner = Builder(builder.scope, parent=builder, handle=builder.handle)
    again = _Again(builder, inner, around)
    tangents = [inner.input(v.meta) for v in graph.inputs[:tangent_count]]
    env = start(inner, graph, [*tangents, *residuals])
    waiting = {v: x.value for v, x in zip(graph.inputs[tangent_count:], residuals, strict=True) if x.builder is builder}
    for node in graph.nodes:
        _make(again, env, waiting, node.operands)
        with at_line(inner, node.where):
            replay_node(inner, node, env)
    _make(again, env, waiting, graph.outputs)
    linear = inner.finish([env[v] for v in graph.outputs], graph.name)
    return linear, tuple(inner.captures())


def _make(again: _Again, env: Replay, waiting: dict[Value, Value], values: Iterable[Value]) -> None:
    """Have what stands for these residuals, as far as they are such."""
    for v in values:
        if v in waiting:
            env[v] = again.value(waiting.pop(v))
