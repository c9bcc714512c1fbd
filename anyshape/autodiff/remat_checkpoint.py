"""Rematerialisation by checkpoints: reverse mode recomputes the values between the marks of a checkpoint.

A value is inside of a checkpoint if it is computed from a value that entered one and has not left it. Marks are
ordinary ops, so values that transforms derive from values inside are inside too. The transpose of entering is leaving.
So the derivative of a pullback recomputes the values that the pullback computes inside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeAlias, TypeVar

from anyshape.autodiff.replay import Replay, begin_replay, replay_node
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value, raises
from anyshape.ops.control import POLICIES, enter_checkpoint_op, leave_checkpoint_op

Key = TypeVar("Key", bound=Hashable)
Policies: TypeAlias = tuple[str, ...]


def topological_order(roots: Iterable[Key], reads: Callable[[Key], Iterable[Key] | None]) -> list[Key]:
    """Return the roots and all that they read, each after all that it reads; without keys whose `reads` is None."""
    ordered: dict[Key, None] = {}
    stack = [(key, False) for key in roots]
    while stack:
        key, ready = stack.pop()
        dependencies = None if key in ordered else reads(key)
        if dependencies is None:
            continue
        if ready:
            ordered[key] = None
        else:
            stack.append((key, True))
            stack.extend((k, False) for k in reversed([*dependencies]))
    return list(ordered)


def checkpointed_values(nodes: Iterable[Node]) -> dict[Value, Policies]:
    """Return the values inside of checkpoints, each with the policies of these, outermost first."""
    policies_of: dict[Value, Policies] = {}
    for node in nodes:
        policies = max((policies_of.get(v, ()) for v in node.operands), key=len, default=())
        if node.op is enter_checkpoint_op:
            policies = (*policies, dict(node.params)["keep"])
        elif node.op is leave_checkpoint_op:
            policies = policies[:-1]
        if policies:
            policies_of.update(dict.fromkeys(node.outputs, policies))
    return policies_of


def _is_saved(node: Node, policies: Policies) -> bool:
    """Return whether the outputs of a node are saved: by policy, for a check, or as new run-time sizes would differ."""
    return node.op.makes_sizes or raises(node) or all(node.op.family in POLICIES[p] for p in policies)


class _Recomputation:
    """Recomputes in an inner graph the values of a builder that are inside of checkpoints.

    Each depth of nesting is recomputed by itself. The values at depth 2 read recomputed values at depth 1. Values at
    depth 2 that were needed for these are not kept.
    """

    def __init__(self, builder: Builder, inner: Builder, policies_of: dict[Value, Policies]) -> None:
        self.builder, self.inner, self.policies_of = builder, inner, policies_of
        inside = [n for n in builder.nodes if n.outputs[0] in policies_of]
        recomputed = [n for n in inside if not _is_saved(n, policies_of[n.outputs[0]])]
        self.maker = {v: node for node in recomputed for v in node.outputs}
        self.turn = max(dict(n.params)["turn"] for n in builder.nodes if n.op is enter_checkpoint_op)
        self.values: dict[tuple[Value, int], Traced] = {}

    def recompute(self, value: Value) -> Traced:
        """Return the recomputed value for a value of the builder."""
        root = value, self._depth(value)
        for needed, depth in topological_order([root], self._reads):
            if (needed, depth) not in self.values:  # another output of its node may have made it
                self._emit(self.maker[needed], depth)
        return self._at_depth(*root)

    def _depth(self, value: Value) -> int:
        return len(self.policies_of.get(value, ()))

    def _reads(self, key: tuple[Value, int]) -> list[tuple[Value, int]] | None:
        """Return the operands of a value with their depths; None: nothing is to be computed."""
        value, depth = key
        if key in self.values or value not in self.maker:
            return None
        return [(v, min(depth, self._depth(v))) for v in self.maker[value].operands]

    def _emit(self, node: Node, depth: int) -> None:
        """Emit a node again for this depth."""
        params = dict(node.params) | ({"turn": self.turn + depth} if node.op is enter_checkpoint_op else {})
        with at_line(self.inner, node.where):
            operands = [self._at_depth(v, min(depth, self._depth(v))) for v in node.operands]
            count = len(node.inputs)
            outputs = self.inner.emit(node.op, operands[:count], operands[count:], params)
        self.values.update(zip([(v, depth) for v in node.outputs], outputs, strict=True))

    def _at_depth(self, value: Value, depth: int) -> Traced:
        """Return the value as this depth reads it."""
        if (value, depth) in self.values:
            return self.values[value, depth]
        outer = self.builder.handle(self.builder, value)
        if value in self.policies_of:
            outer = self.values[value, depth] = self._marked_again(outer, self.policies_of[value], depth)
        return outer

    def _marked_again(self, x: Traced, policies: Policies, depth: int) -> Traced:
        """Return a saved value that leaves its checkpoints and enters new ones, so that uses of it are not merged."""
        for keep in reversed(policies):
            (x,) = self.inner.emit(leave_checkpoint_op, [x], [], {"keep": keep})
        for keep in policies:
            (x,) = self.inner.emit(enter_checkpoint_op, [x], [], {"keep": keep, "turn": self.turn + depth})
        return x


def recompute_residuals(
    builder: Builder, graph: Graph, tangent_count: int, residuals: Sequence[Traced]
) -> tuple[Graph, tuple[Traced, ...]]:
    """Return a linear graph with no residual inside of a checkpoint, and its residuals.

    The graph recomputes each such residual just before it reads it.
    """
    policies_of = checkpointed_values(builder.nodes)
    if not any(x.builder is builder and x.value in policies_of for x in residuals):
        return graph, tuple(residuals)
    inner = Builder(builder.scope, parent=builder, handle=builder.handle)
    recomputation = _Recomputation(builder, inner, policies_of)
    tangents = [inner.input(v.meta) for v in graph.inputs[:tangent_count]]
    env = begin_replay(inner, graph, [*tangents, *residuals])
    pending = {v: x.value for v, x in zip(graph.inputs[tangent_count:], residuals, strict=True) if x.builder is builder}
    for node in graph.nodes:
        _recompute_pending(recomputation, env, pending, node.operands)
        with at_line(inner, node.where):
            replay_node(inner, node, env)
    _recompute_pending(recomputation, env, pending, graph.outputs)
    linear = inner.finish([env[v] for v in graph.outputs], graph.name)
    return linear, tuple(inner.captures())


def _recompute_pending(
    recomputation: _Recomputation, env: Replay, pending: dict[Value, Value], values: Iterable[Value]
) -> None:
    """Recompute the residuals among the values that are still pending."""
    for v in values:
        if v in pending:
            env[v] = recomputation.recompute(pending.pop(v))
