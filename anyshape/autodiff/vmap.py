"""Batching: replay a graph with one more axis, the first, on values that carry the batch."""

from collections.abc import Mapping, Sequence

from anyshape.autodiff.replay import Replay, begin_replay, replay_node, with_sizes_of
from anyshape.autodiff.rule_tables import BATCHERS, Common, stretch
from anyshape.graph.ir.builder import Builder, Traced, at_line
from anyshape.graph.ir.graph import Graph, Node, Value, happens_once, is_generator, subgraphs
from anyshape.graph.ir.op_local import bind_local
from anyshape.graph.shapes.array_type import Exact, ShapeGuardContext, TensorMeta
from anyshape.graph.sizes.expr import Atom, InputAxis, Size, from_atom


def batch(
    builder: Builder,
    graph: Graph,
    inputs: Sequence[Traced],
    batched: Sequence[bool],
    size: Size,
    sizes: Mapping[Atom, Size] | None = None,
) -> list[tuple[Traced, bool]]:
    """Return each output, and whether it carries the batch: then its first axis is the batch, of this size.

    `sizes` stand for variables of the graph that the builder does not have.
    """
    carrying = {v for v, b in zip(graph.inputs, batched, strict=True) if b}
    env = begin_replay(builder, graph, inputs, sizes, carrying)
    for node in graph.nodes:
        with at_line(builder, node.where):
            apply_to_examples(builder, node, env, carrying, size)
    return [(env[v], v in carrying) for v in graph.outputs]


def apply_to_examples(builder: Builder, node: Node, env: Replay, carrying: set[Value], size: Size) -> None:
    """Emit a node for each example, or once if all share its operands."""
    if happens_once(node) and carrying.isdisjoint(node.inputs):
        _give_batch(builder, node, env, carrying, size)
    if carrying.isdisjoint(node.inputs) and not (node.op.draws or node.op.acts):
        _replay_unbatched(builder, node, env, carrying)
    else:
        _batch_node(builder, node, env, carrying, size)


def _give_batch(builder: Builder, node: Node, env: Replay, carrying: set[Value], size: Size) -> None:
    """Give an operand of a node whose subgraphs draw or act the axis of the batch: each example does so by itself."""
    if not subgraphs(node):
        return
    if (value := next((v for v in node.inputs if not is_generator(v)), None)) is not None:
        context = ShapeGuardContext(builder.scope, node.op.name, node.where, rule="batching")
        env[value] = stretch(context, size, env[value])
        carrying.add(value)


def _replay_unbatched(builder: Builder, node: Node, env: Replay, carrying: set[Value]) -> None:
    """Replay a node whose inputs carry no batch. A source that carries it has its axes one place on."""
    operands = node.operands
    if carrying.isdisjoint(operands):
        replay_node(builder, node, env)
        return

    def shifted(leaf: InputAxis) -> Size:
        return from_atom(InputAxis(leaf.operand, leaf.axis + (operands[leaf.operand] in carrying)))

    replay_node(builder, node, env, {name: bind_local(p, shifted) for name, p in node.params})


def _batch_node(builder: Builder, node: Node, env: Replay, carrying: set[Value], size: Size) -> None:
    """Apply the batching rule of a node. Its outputs carry the batch, but for those that are the same for all."""
    rule = BATCHERS[node.op]
    context = ShapeGuardContext(builder.scope, node.op.name, node.where, [v.meta for v in node.operands], "batching")
    params = {name: env.translate(context.bind(p, field=name)) for name, p in node.params}
    flags = [v in carrying for v in node.inputs]
    result = rule(context, size, flags, *[env[v] for v in node.inputs], **params)
    for value, out in zip(node.outputs, result if len(node.outputs) > 1 else (result,), strict=True):
        if isinstance(out, Common):
            env[value] = out.value
        else:
            env[value] = out
            carrying.add(value)
    env.note_outputs(builder, node)
    if subgraphs(node):
        _restate_sizes(builder, node, env, carrying, size)


def _restate_sizes(builder: Builder, node: Node, env: Replay, carrying: set[Value], size: Size) -> None:
    """Give the results of derived subgraphs the sizes that the node has, which nodes behind it rely on."""
    for value in node.outputs:
        meta = env.translate_type(value.meta)
        batch_extent = (Exact(size),) if value in carrying else ()
        env[value] = with_sizes_of(builder, env[value], TensorMeta(meta.dtype, (*batch_extent, *meta.extents)))
