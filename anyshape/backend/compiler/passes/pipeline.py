"""Order of passes: over graphs, and over the steps of plans with the tier that each belongs to.

Masks of loops: a `while` makes each of its trips, so the mask of them is true, and no other loop need read it.

A derivative of a batch reads masks, as its examples may have different trips. In a graph that runs, a scan or a rerun
over the trips of one `while` so computes with a literal. What stays of a mask is its size, the number of trips.

Rematerialisation: cheap values are computed again after the memory peak, instead of being kept.

The nodes are split at the peak, where the live values take the most bytes: in a gradient, between forward and backward.
A value that the late part reads is kept, at the price of its bytes, or recomputed. It is recomputed from kept values
and from inputs, which cost nothing. The cheapest choice is a minimum cut, as in "Min-cut optimal(*) recomputation (i.e.
activation checkpointing) with AOTAutograd" (H. He, 2022).

A value is recomputed just before it is read. With several segments, the values that lead from one to the next are kept.
A long chain is then not recomputed as a whole, as in "Training deep nets with sublinear memory cost" (T. Chen, B. Xu,
C. Zhang, C. Guestrin, 2016).
"""

import enum
import itertools
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.passes.collapse_views import collapse_views, fold_into_contractions, to_pairs
from anyshape.backend.compiler.passes.fusion.collapse_loop_axes import fold_pads_into_sums
from anyshape.backend.compiler.passes.identities import simplify
from anyshape.backend.compiler.passes.merge_loops import merge_loops
from anyshape.backend.compiler.passes.share_exponentials import (
    hoist_shape_only,
    prune_branches,
    read_and_write_elements,
    share_exponentials,
    sink,
)
from anyshape.backend.compiler.plan import Group, Slot, Step
from anyshape.backend.runtime.config import config
from anyshape.graph.ir.graph import Graph, Node, Op, Value, dependents, params_tuple, raises, with_subgraphs
from anyshape.graph.ir.op_local import pass_context, pass_scope, remove_dead_code, topological_order
from anyshape.graph.ir.validate import check_sizes_defined
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes.expr import DimVar
from anyshape.ops import control as cb
from anyshape.ops.control import enter_checkpoint_op
from anyshape.ops.control_flow import sized_op
from anyshape.ops.creation import full_op
from anyshape.ops.loops import Layout, mask_position, rerun_op, scan_op, while_op
from anyshape.ops.movement import broadcast_in_dim_op, concatenate_op, slice_op
from anyshape.support.fork_lock import checks_enabled
from anyshape.support.lazy_dataclass import NamedTuple, dataclass, replace
from anyshape.support.packages import fusing, networkx
from anyshape.support.progress import show_if_due

_LOG = logging.getLogger("anyshape.passes")
_DUMPS = itertools.count()


_CUSTOM_RULES = (cb.custom_argument_op, cb.custom_jvp_op, cb.custom_vjp_op, cb.custom_linear_solve_op)
_CHECKPOINTS = (cb.enter_checkpoint_op, cb.leave_checkpoint_op)
MARKS = (*_CUSTOM_RULES, *_CHECKPOINTS, cb.stop_gradient_op)


class Tier(enum.Enum):
    """Amount of work that goes into a plan: a first plan takes one linear walk, an optimised one has all passes.

    A plain plan has the steps of its graph, for libraries other than NumPy. At most numbers are hoisted.
    """

    PLAIN = "plain"
    FIRST = "first"
    OPTIMISED = "optimised"


def _dump(name: str, pass_name: str, program: Any, before: Any = None) -> None:
    """Write a program as text into the folder ANYSHAPE_DUMP, if there is one, unless the pass left it as it was."""
    if (folder := os.environ.get("ANYSHAPE_DUMP")) and program is not before:
        os.makedirs(folder, exist_ok=True)
        words = re.sub(r"\W+", "_", f"{name}.{pass_name}").strip("_")
        text = str(program) if isinstance(program, Graph) else "\n".join(map(str, program))
        with open(f"{folder}/{os.getpid()}_{next(_DUMPS):04}_{words}.txt", "w", encoding="utf-8") as file:
            file.write(f"{text}\n")


def optimize(graph: Graph, reliance_log: list[Any] | None = None) -> Graph:
    """Return the graph without dead code, common subexpressions, foldable literals and ops that do nothing.

    `reliance_log` records the size queries of passes. Under ANYSHAPE_CHECK=1 each pass must define every size it keeps.
    """
    passes: dict[str, Callable[[Graph], Graph]] = {
        "remove_dead_code": remove_dead_code,
        "prune_branches": partial(prune_branches, reliance_log=reliance_log),
        "simplify": partial(simplify, reliance_log=reliance_log),
    }
    _dump(graph.name, "given", graph)
    graph = with_subgraphs(graph, optimize)
    for name in ("remove_dead_code", "prune_branches", "simplify", "remove_dead_code"):
        before, graph = graph, passes[name](graph)
        _dump(graph.name, name, graph, before)
        if checks_enabled():
            check_sizes_defined(graph)
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("%s: %s: %s", graph.name, name, _difference(before, graph))
    return graph


def prepare_to_run(graph: Graph) -> Graph:
    """Return the graph that is lowered: nothing differentiates it any more, so what only derivatives need is removed.

    Products of several operands become pairs. Marks of checkpoints go last: without them, a recomputed value looks
    like a common subexpression.
    """
    plain = _without(_without_custom_rules(graph), (cb.stop_gradient_op,))
    plain = plain if plain is graph else optimize(plain)
    pairs = to_pairs(plain)
    _dump(graph.name, "to_pairs", pairs, graph)
    shared = share_exponentials(pairs if pairs is plain else optimize(pairs))
    _dump(graph.name, "share_exponentials", shared, pairs)
    whole = _without(shared, _CHECKPOINTS)
    final = merge_loops(without_masks(whole))
    if final is not whole:
        final = optimize(final)
    final = _without_nodes(final, _of_proved_sizes(final))
    _dump(graph.name, "prepare_to_run", final, shared)
    return final


def _without_custom_rules(graph: Graph) -> Graph:
    """Return the graph, and its subgraphs, without the marks around functions that have derivative rules.

    Raises UnsupportedFunctionError for forward mode through a function whose one rule is for cotangents. So does a
    derivative in a value that such a function closes over.
    """
    if (tangent := next((n for n in graph.nodes if n.op is cb.custom_vjp_tangent_op), None)) is not None:
        raise dict(tangent.params)["rule"].refusal(tangent.where)
    graph = with_subgraphs(graph, _without_custom_rules)
    return _without(graph, _CUSTOM_RULES)


def without_marks(graph: Graph) -> Graph:
    """Return a graph of single ops without the marks that only derivatives and passes read."""
    return _without(graph, MARKS)


def _without(graph: Graph, ops: tuple[Op, ...]) -> Graph:
    """Return the graph with the operands of each of these ops in place of its results.

    The first operands of an op with a param `count` are arguments, which no result stands for.
    """
    return _without_nodes(graph, [n for n in graph.nodes if n.op in ops])


def _of_proved_sizes(graph: Graph) -> list[Node]:
    """Return the nodes that state sizes which are proved. A run that has a plan needs no types."""
    marks = [n for n in graph.nodes if n.op is sized_op]
    if not marks:
        return []
    scope = pass_scope(graph)
    ctx = pass_context(scope, "lower")
    sizes = {n: [ctx.sizes(v, field="sources") for v in (n.inputs[0], n.outputs[0])] for n in marks}
    return [n for n, (x, y) in sizes.items() if x and y and [*map(scope.normal, x)] == [*map(scope.normal, y)]]


def _without_nodes(graph: Graph, marks: Sequence[Node]) -> Graph:
    """Return the graph with the operands of these nodes in place of their results."""
    operand = {v: x for n in marks for v, x in zip(n.outputs, n.inputs[dict(n.params).get("count", 0) :], strict=True)}
    if not operand:
        return graph

    def follow(value: Value) -> Value:
        while value in operand:
            value = operand[value]
        return value

    def follow_all(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple(map(follow, values))

    removed = {*marks}
    nodes = [n for n in graph.nodes if n not in removed]
    nodes = [
        n
        if operand.keys().isdisjoint(n.operands)
        else replace(n, inputs=follow_all(n.inputs), sources=follow_all(n.sources))
        for n in nodes
    ]
    return replace(graph, nodes=tuple(nodes), outputs=follow_all(graph.outputs))


def _difference(before: Graph, after: Graph) -> str:
    """Return `12 nodes, 9 after: -2 mul, -2 full, +1 neg`."""
    counts = f"{len(before.nodes)} nodes, {len(after.nodes)} after"
    left, right = (Counter(n.op.name for n in g.nodes) for g in (before, after))
    changes = [f"{right[name] - left[name]:+d} {name}" for name in left | right if right[name] != left[name]]
    return f"{counts}: {', '.join(changes)}" if changes else counts


# -- passes over the steps of a plan


class PlanSteps(NamedTuple):
    """Steps of a plan with what passes over them may ask."""

    steps: Sequence[Step]
    outputs: Sequence[Slot]
    scope: Scope
    read: Collection[DimVar]  # variables that inputs bind
    runtime: Any  # run-time sizes


class PlanPass(NamedTuple):
    """Pass over the steps of a plan: plans of its tier and above have it. `run` gives hoisted steps, and the others."""

    name: str
    run: Callable[[PlanSteps], tuple[Sequence[Step], Sequence[Any]]]
    tier: Tier


def _rewriting(rewrite: Callable[..., list[Step]], tier: Tier) -> PlanPass:
    """Return the pass that rewrites steps by a function of steps, outputs and scope."""
    return PlanPass(rewrite.__name__, lambda plan: ((), rewrite(plan.steps, plan.outputs, plan.scope)), tier)


def _fold_into_contractions(plan: PlanSteps) -> tuple[Sequence[Step], Sequence[Step]]:
    return (), fold_into_contractions(plan.steps, plan.outputs, plan.scope, reassociate=config.reassociate)


PLAN_PASSES = (
    PlanPass("fold_into_contractions", _fold_into_contractions, Tier.FIRST),  # the same sums of BLAS in both tiers
    _rewriting(read_and_write_elements, Tier.FIRST),
    _rewriting(collapse_views, Tier.OPTIMISED),
    PlanPass("hoist_shape_only", lambda p: hoist_shape_only(p.steps, p.outputs, p.scope, p.read), Tier.FIRST),
    _rewriting(fold_pads_into_sums, Tier.OPTIMISED),
    _rewriting(sink, Tier.OPTIMISED),
    PlanPass("fuse", lambda p: ((), fusing.fuse(p.steps, p.outputs, p.scope, p.runtime)), Tier.OPTIMISED),
)


def run_plan_passes(plan: PlanSteps, tier: Tier, *, hoist: bool) -> tuple[list[Step], Sequence[Step | Group]]:
    """Return the hoisted steps, and the groups and remaining steps in the order of the run."""
    hoisted: list[Step] = []
    if tier is Tier.PLAIN:
        return hoist_shape_only(*plan[:4], numbers_alone=True) if hoist else ([], plan.steps)
    for each in PLAN_PASSES:
        skipped = each.name == "hoist_shape_only" and not hoist
        if not skipped and (each.tier is Tier.FIRST or tier is Tier.OPTIMISED):
            ahead, steps = each.run(plan)
            hoisted += ahead
            plan = plan._replace(steps=steps)
            _dump("plan", each.name, [*hoisted, *steps])
            show_if_due()
    return hoisted, plan.steps


BOOL = np.dtype(bool)


def without_masks(graph: Graph) -> Graph:
    """Return a graph that runs, in which no loop reads the mask of a `while`. Its checkpoint slots have no stacks."""
    masks = {node.outputs[i] for node in graph.nodes if (i := mask_position(node)) is not None}
    if not masks:
        return graph
    rows = _Masks(graph, masks)
    if (nodes := tuple([rows.renewed(node) for node in graph.nodes])) == graph.nodes:
        return graph
    return remove_dead_code(replace(graph, nodes=nodes))


class _Masks:
    """Masks of a graph, and what a rerun reads of them: whether a trip is made, and whether another one follows it.

    - `followed`: by a value that is true for all trips but the last one, the mask.
    """

    def __init__(self, graph: Graph, masks: set[Value]) -> None:
        self.masks, self.ctx = masks, pass_context(pass_scope(graph), "loop_masks")
        self.maker = graph.maker
        self.read = {*graph.outputs, *[v for node in graph.nodes for v in node.operands]}
        self.followed = {node.outputs[0]: mask for node in graph.nodes if (mask := self._mask_behind(node)) is not None}

    def _mask_behind(self, node: Node) -> Value | None:
        """Return the mask that a node moves by one trip, with False behind the last one."""
        joined = self.maker.get(node.inputs[0]) if node.op is slice_op else None
        if joined is None or joined.op is not concatenate_op or len(joined.inputs) != 2:
            return None
        mask, end = joined.inputs
        params = dict(node.params)
        is_moved = params["starts"] == (1,) and params["steps"] == (1,) and mask in self.masks and self._is_false(end)
        return mask if is_moved and self.ctx.same_extents(node.outputs[0], mask) else None

    def _is_false(self, value: Value) -> bool:
        node = self.maker.get(value)
        return node is not None and node.op is full_op and not dict(node.params)["value"]

    def renewed(self, node: Node) -> Node:
        """Return a loop that reads no mask, and other nodes as they are."""
        params = dict(node.params)
        if node.op is while_op and params["slots"]:
            return self._without_unread(node, params)
        if node.op is scan_op:
            layout, (body,) = Layout(*params["layout"]), params["body"]
            stacks = node.inputs[layout.stacks]
            known = [i for i, x in enumerate(stacks, layout.stacks.start) if x in self.masks]
            return _with(node, node.inputs, body=(_with_true(body, known),)) if known else node
        return self._rerun(node, params) if node.op is rerun_op else node

    def _rerun(self, node: Node, params: dict[str, Any]) -> Node:
        """Return a rerun whose bodies read no mask.

        Nobody reads the carries after the last trip. So the loop may take for granted that another trip follows.
        """
        (loop, body), start, layout = params["bodies"], Layout(*params["start"]), Layout(*params["layout"])
        inputs, known = list(node.inputs), list[int]()
        for i in range(start.stacks.start, start.stacks.stop):
            mask = self.followed.get(inputs[i])
            if mask is not None and not _reads(loop, loop.inputs[i], loop.outputs[start.carries :]):
                inputs[i] = mask
            if inputs[i] in self.masks:
                known.append(i)
        first = len(inputs) - (len(body.inputs) - (len(loop.outputs) - start.carries))
        own = range(layout.carries, layout.stacks.stop - (len(loop.outputs) - start.carries - layout.pieces))
        of_scan = [i for i in own if inputs[first + i] in self.masks]
        if not known and not of_scan:
            return node
        return _with(node, tuple(inputs), bodies=(_with_true(loop, known), _with_true(body, of_scan)))

    def _without_unread(self, node: Node, params: dict[str, Any]) -> Node:
        """Return a loop with checkpoint slots without the stacks that nothing reads."""
        (test, body), count = params["loop"], params["carries"]
        ends, filled = len(body.outputs) + 1, node.outputs[len(body.outputs) + 1 :]
        stacks = node.outputs[count + 1 : ends]
        live = [v in self.read for v in stacks]
        if all(live) or params["joined"]:
            return node
        outputs = [y for y, flag in zip(body.outputs[count:], live, strict=True) if flag]
        body = remove_dead_code(replace(body, outputs=(*body.outputs[:count], *outputs)))
        results = (*node.outputs[: count + 1], *[v for v, flag in zip(stacks, live, strict=True) if flag], *filled)
        return replace(_with(node, node.inputs, loop=(test, body)), outputs=results)


def _with(node: Node, inputs: tuple[Value, ...], **params) -> Node:
    return replace(node, inputs=inputs, params=params_tuple(dict(node.params) | params))


def _with_true(body: Graph, positions: Sequence[int]) -> Graph:
    """Return a body that computes with True in place of these inputs."""
    if not positions:
        return body
    inputs, fills = list(body.inputs), list[Node]()
    for i in positions:
        params = params_tuple({"dtype": BOOL, "shape": (), "value": True})
        fills.append(Node(full_op, (), (), params, (inputs[i],)))
        inputs[i] = Value(inputs[i].meta)
    return replace(body, inputs=tuple(inputs), nodes=(*fills, *body.nodes))


def _reads(graph: Graph, value: Value, outputs: Sequence[Value]) -> bool:
    """Return whether one of these outputs depends on a value."""
    return not dependents(graph.nodes, (value,)).isdisjoint(outputs)


_THERE, _READ = "there", "read"  # source and sink of the flow network
Weigh = Callable[[TensorMeta], "int | None"]  # the bytes of a value, None where they are not known


def rematerialise(graph: Graph, weigh: Weigh, segments: int = 1) -> Graph | None:
    """Return the graph with values recomputed instead of kept; None where none is worth it.

    `weigh` gives the bytes of a value at the sizes that the choice is made for. The graph holds at all sizes.
    """
    split = _split(graph, weigh)
    early = range(split.peak)
    if not any(not split.readers[v].isdisjoint(early) for v in split.live if v in split.maker):
        return None  # live values are read late only: recomputing them is computing them late
    kept_values = _minimum_cut(split, weigh, _anchors(split, weigh, segments))
    result = remove_dead_code(_Recomputation(graph, split, kept_values).run())
    return result if _count_ops(result) > _count_ops(graph) else None


def _count_ops(graph: Graph) -> int:
    return sum(node.op is not enter_checkpoint_op for node in graph.nodes)


@dataclass
class _Split:
    """Nodes, split before position `peak`.

    - `maker`: the node of each value that the early part makes and that may be recomputed.
    - `free`: values that are there whatever is chosen.
    - `live`: values that the early part makes and the late part reads.
    - `readers`: positions of the early nodes that read a value.
    """

    nodes: tuple[Node, ...]
    peak: int
    maker: dict[Value, Node]
    free: set[Value]
    live: set[Value]
    readers: dict[Value, set[int]]


def _is_recomputable(node: Node, weigh: Weigh) -> bool:
    pure = TRAITS[node.op].recomputable and not raises(node) and not node.op.makes_sizes
    return pure and all(weigh(v.meta) is not None for v in (*node.operands, *node.outputs))


def _takes_no_memory(node: Node) -> bool:
    """Return whether the plan leaves the node to NumPy: filled arrays and stretches."""
    return not node.inputs or node.op is broadcast_in_dim_op


def _split(graph: Graph, weigh: Weigh) -> _Split:
    """Split the nodes at the memory peak."""
    nodes = graph.nodes
    made = {v: i for i, node in enumerate(nodes) for v in node.outputs}
    peak = _peak(graph, made, weigh)
    early, late = nodes[:peak], nodes[peak:]
    read_late = {v for node in late for v in node.inputs}
    return _Split(
        nodes,
        peak,
        maker=_recomputable_values(graph, early, weigh),
        free={v for v in made if v in graph.outputs or weigh(v.meta) is None},
        live={v for v in read_late if made.get(v, peak) < peak},
        readers=_early_readers(early, made),
    )


def _recomputable_values(graph: Graph, early: Iterable[Node], weigh: Weigh) -> dict[Value, Node]:
    nodes = [node for node in early if _is_recomputable(node, weigh)]
    return {v: node for node in nodes for v in node.outputs if v not in graph.outputs}


def _peak(graph: Graph, made: dict[Value, int], weigh: Weigh) -> int:
    """Return the position of the node at which the live values take the most bytes."""
    nodes = graph.nodes
    last = {v: i for i, node in enumerate(nodes) for v in node.inputs} | dict.fromkeys(graph.outputs, len(nodes))
    change = [0] * (len(nodes) + 2)
    for value, i in made.items():
        size = 0 if _takes_no_memory(nodes[i]) else weigh(value.meta) or 0
        change[i + 1] += size
        change[last.get(value, i) + 1] -= size
    live_bytes = list(itertools.accumulate(change))[: len(nodes)]
    peak = max(range(len(nodes)), key=lambda i: live_bytes[i], default=0)
    while peak < len(nodes) and (not nodes[peak].inputs or not _is_recomputable(nodes[peak], weigh)):
        peak += 1  # else its operands would be recomputed for this node alone
    return peak


def _early_readers(early: Collection[Node], made: Collection[Value]) -> dict[Value, set[int]]:
    readers: dict[Value, set[int]] = {v: set() for v in made}
    for i, node in enumerate(early):
        for value in node.inputs:
            if value in readers:
                readers[value].add(i)
    return readers


def _anchors(split: _Split, weigh: Weigh, segments: int) -> set[Value]:
    """Return the values that lead from one segment of the early part to the next, cut where they take least."""
    anchors: set[Value] = set()
    spans = _live_spans(split)
    for k in range(1, segments):
        middle, reach = split.peak * k // segments, split.peak // (2 * segments)
        cuts = range(max(1, middle - reach), middle + reach + 1)
        crossing = [[v for start, end, v in spans if start < cut <= end] for cut in cuts]
        if crossing:
            anchors.update(min(crossing, key=lambda values: sum(weigh(v.meta) or 0 for v in values)))
    return anchors


def _live_spans(split: _Split) -> list[tuple[int, int, Value]]:
    """Return where each early value that takes memory is made and last read, within the early part."""
    made = [
        (i, v) for i, node in enumerate(split.nodes[: split.peak]) if not _takes_no_memory(node) for v in node.outputs
    ]
    return [(i, max(split.readers[v]), v) for i, v in made if split.readers[v]]


def _minimum_cut(split: _Split, weigh: Weigh, anchors: Collection[Value]) -> set[Value]:
    """Return the early values to keep: a minimum cut between what is there and what is read."""
    values = [v for node in split.nodes[: split.peak] for v in node.outputs]
    flow: Any = networkx.DiGraph()
    flow.add_nodes_from([_THERE, _READ])
    for value in values:
        node = split.maker.get(value) if value not in anchors else None
        _add_value(flow, value, node, 0 if value in split.free else weigh(value.meta) or 0)
    flow.add_edges_from([((value, "out"), _READ) for value in values if value in split.live])
    _, (reached, _) = networkx.minimum_cut(flow, _THERE, _READ)
    return {v for v in values if (v, "in") in reached and (v, "out") not in reached}


def _add_value(flow, value: Value, node: Node | None, capacity: int) -> None:
    """Add a value whose cut costs `capacity`. It is made of the operands of its node, or is there."""
    flow.add_edge((value, "in"), (value, "out"), capacity=capacity)
    if node is None:
        flow.add_edge(_THERE, (value, "in"))
        return
    for operand in node.inputs:
        if (operand, "out") in flow:  # inputs of the program are not
            flow.add_edge((operand, "out"), (value, "in"))


class _Recomputation:
    """Builds the graph whose late part reads kept values, and recomputes the others just before.

    A recomputed value starts with a checkpoint mark, so that no other pass takes it for a common subexpression.
    """

    def __init__(self, graph: Graph, split: _Split, kept_values: set[Value]) -> None:
        self.graph, self.split, self.kept_values = graph, split, kept_values
        numbers = [dict(n.params)["turn"] for n in graph.nodes if n.op is enter_checkpoint_op]
        self.mark = params_tuple({"keep": "", "turn": 1 + max(numbers, default=0)})
        self.nodes = list(split.nodes[: split.peak])
        self.copies: dict[Value, Value] = {}  # recomputed and marked values, by the early ones

    def run(self) -> Graph:
        for node in self.split.nodes[self.split.peak :]:
            inputs = tuple([self._late(v) for v in node.inputs])
            self.nodes.append(replace(node, inputs=inputs))
        return replace(self.graph, nodes=tuple(self.nodes))

    def _maker(self, value: Value) -> Node | None:
        """Return the node that recomputes a value, or None for a value that is there."""
        return None if value in self.kept_values else self.split.maker.get(value)

    def _late(self, value: Value) -> Value:
        """Return the value that the late part reads in place of an early one."""
        if self._maker(value) is None:
            return value
        inputs = lambda node: () if node is None else node.inputs
        for x in topological_order([value], lambda v: None if v in self.copies else inputs(self._maker(v))):
            self._copy(x, self._maker(x))
        return self.copies[value]

    def _copy(self, value: Value, node: Node | None) -> None:
        """Add the node that recomputes a value, or the mark of a kept one."""
        if value in self.copies:
            return
        if node is None:
            self.copies[value] = Value(value.meta)
            self.nodes.append(Node(enter_checkpoint_op, (value,), (), self.mark, (self.copies[value],)))
            return
        self.copies.update({x: Value(x.meta) for x in node.outputs})
        inputs = tuple([self.copies[x] for x in node.inputs])
        self.nodes.append(replace(node, inputs=inputs, outputs=tuple([self.copies[x] for x in node.outputs])))
