"""Element values: split the body of a scan into what it computes of elements and captured values alone, and the rest.

These values need no carry, so a block of trips computes them at once, before its first trip. So `x @ w` is one product
for all rows of the block. A block has so many trips that its values fit in a cache.

Loop-invariant code motion: split the body of a loop into what every trip computes alike, and the rest.

The invariant part takes the inputs of the first trip and runs before it. In a loop without trips it does not run, so it
neither raises nor warns there.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from anyshape.backend.compiler.op_traits import TRAITS, Alias, is_observable, runs_user_code
from anyshape.backend.compiler.passes.metadata_contract import pass_context, pass_scope
from anyshape.backend.compiler.passes.pipeline import optimize
from anyshape.graph.ir.graph import Graph, Node, Value, raises, subgraphs
from anyshape.graph.ir.op_local import axes_read, refusals, remove_dead_code
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes.expr import DimVar, variables
from anyshape.ops.creation import full_op
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


def split_invariants(body: Graph, layout: Layout) -> tuple[Graph, Graph]:
    """Return the graph of the invariant values that trips read, and the body that takes them as its last inputs."""
    nodes = nodes_over(body, layout, body.inputs[layout.own :], lambda node: not is_observable(node))
    return moved_out(body, nodes)


def moved_out(body: Graph, nodes: Sequence[Node]) -> tuple[Graph, Graph]:
    """Return the graph of the values of these nodes that others read, and the body with them as its last inputs."""
    moved = {v for node in nodes if _is_worth_moving(node) for v in node.outputs}
    others = [node for node in body.nodes if moved.isdisjoint(node.outputs)]
    read = moved.intersection({v for node in others for v in node.operands} | {*body.outputs})
    values = tuple([v for node in nodes for v in node.outputs if v in read])
    ahead = remove_dead_code(replace(body, nodes=tuple(nodes), outputs=values, conditions=()))
    return ahead, remove_dead_code(replace(body, nodes=tuple(others), inputs=(*body.inputs, *values)))


def nodes_over(body: Graph, layout: Layout, inputs: Sequence[Value], may_move: Callable[[Node], bool]) -> list[Node]:
    """Return the nodes that read these inputs and what follows from them, and no size that differs between trips."""
    varying = varying_variables(body, layout) | {*body.runtime}
    known, nodes = {*inputs}, list[Node]()
    ctx = pass_context(pass_scope(body), "loop_invariants")
    for node in body.nodes:
        is_fit = known.issuperset(node.inputs) and not node.op.makes_sizes and may_move(node)
        if is_fit and _is_constant(_variables_of(ctx, node), varying):
            nodes.append(node)
            known.update(node.outputs)
    return nodes


def _is_constant(read: set[DimVar] | None, varying: set[DimVar]) -> bool:
    return read is not None and varying.isdisjoint(read)


def _is_worth_moving(node: Node) -> bool:
    """Return whether a node takes time: fills and stretches are left to NumPy, which makes neither."""
    return node.op is not full_op and TRAITS[node.op].alias is not Alias.STRETCHED_VIEW


def _variables_of(ctx: ShapeGuardContext, node: Node) -> set[DimVar] | None:
    """Return the variables in the types of the results and in the params of a node, None where a size is not exact."""
    axes = [axis for _, param in node.params for axis in axes_read(param)]
    extents = [
        *[extent for v in node.outputs for extent in ctx.extents(v)],
        *[ctx.extent(node.operands[axis.operand], axis.axis) for axis in axes],
    ]
    if not all(isinstance(extent, Exact) for extent in extents):
        return None
    return {v for extent in extents if isinstance(extent, Exact) for v in variables(extent.size)}
