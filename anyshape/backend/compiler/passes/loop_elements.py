"""Element values: split the body of a scan into what it computes of elements and captured values alone, and the rest.

These values need no carry, so a block of trips computes them at once, before its first trip. So `x @ w` is one product
for all rows of the block. A block has so many trips that its values fit in a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from anyshape.backend.compiler.op_traits import TRAITS, runs_user_code
from anyshape.backend.compiler.passes.loop_invariants import moved_out, nodes_over
from anyshape.backend.compiler.passes.pipeline import optimize
from anyshape.graph.ir.dead_code import refusals
from anyshape.graph.ir.graph import Graph, Node, raises, subgraphs
from anyshape.ops.loops import Layout, varying_variables

Batched = Callable[[Graph, Sequence[bool]], Graph | None]


def split_elements(body: Graph, layout: Layout, batched: Batched) -> tuple[Graph, ...]:
    """Return the graph of element values of a block, and the body that takes the ones of a trip as its last inputs.

    `batched` gives the graph of stacks of the flagged inputs, None where it cannot. Return the body alone where nothing
    is worth moving.
    """
    if any(map(runs_user_code, body.nodes)):  # their order shows which trip has begun
        return (body,)
    values, trip = moved_out(body, _element_nodes(body, layout))
    if all(TRAITS[node.op].alias.is_free for node in values.nodes):
        return (body,)
    are_elements = range(layout.stacks.start, layout.stacks.stop)
    varying = varying_variables(body, layout) | {*body.runtime}
    facts = [replace(c, kind="fact") for c in body.conditions if varying.isdisjoint(c.claim.variables())]
    values = replace(values, conditions=tuple(facts))  # checked before the first trip
    block = batched(values, [i in are_elements for i in range(len(body.inputs))])
    return (body,) if block is None else (optimize(block), trip)


def _element_nodes(body: Graph, layout: Layout) -> list[Node]:
    """Return the nodes of element values.

    Nodes that may raise are among them if all of these are: else an error of a later trip would hide one of a carry.
    """
    dependent = {*body.inputs[layout.stacks]}
    for node in body.nodes:
        if not dependent.isdisjoint(node.inputs):
            dependent.update(node.outputs)
    inputs = [*body.inputs[layout.stacks], *body.inputs[layout.own :]]
    raising = {node for node in body.nodes if _may_raise(node)}

    def may_move(node: Node) -> bool:
        return not subgraphs(node) and (node not in raising or not dependent.isdisjoint(node.inputs))

    nodes = nodes_over(body, layout, inputs, may_move)
    if raising.issubset(nodes):
        return nodes
    return nodes_over(body, layout, inputs, lambda node: may_move(node) and node not in raising)


def _may_raise(node: Node) -> bool:
    """Return whether a node raises for some values: it is there to, it refuses indices, or a matrix may be singular."""
    return raises(node) or bool(refusals(node)) or node.op.family == "linalg"
