"""Apply a function of one example, such as a derivative rule of the user, inside of vmaps."""

from collections.abc import Callable, Container, Sequence
from typing import Any

from anyshape.autodiff.jvp import push
from anyshape.autodiff.rule_tables import stretch
from anyshape.autodiff.subgraph_transforms import batch_element
from anyshape.autodiff.vmap import batch
from anyshape.graph.ir.builder import Builder, Traced, activate, active, at_own_lines, home, resume
from anyshape.graph.shapes.array_type import ShapeGuardContext
from anyshape.graph.sizes.expr import Size
from anyshape.ops.core.apply import choose_builder
from anyshape.ops.creation import full_like
from anyshape.ops.movement import broadcast_in_dim
from anyshape.ops.reduction import reduce_sum

Function = Callable[..., Sequence[Any]]


def at_examples(
    function: Function, operands: Sequence[Any], levels: Sequence[Sequence[bool]], sizes: Sequence[Size]
) -> list[Any]:
    """Return the results of a function of one example for all examples.

    `levels`, outermost first, say for each vmap which operands have its axis, the first. `sizes` are the sizes of these
    axes. All results have all of them. The function runs in the innermost graph of its operands.
    """
    builder = choose_builder(operands) or active()
    if builder is None:
        raise RuntimeError("a derivative rule ran outside of a trace")
    if not levels:
        with resume(builder), at_own_lines(builder):
            return list(function(*operands))
    inner = Builder(builder.scope, parent=builder, handle=builder.handle)
    with resume(builder), activate(inner):
        metas = [batch_element(x.meta) if flag else x.meta for x, flag in zip(operands, levels[0], strict=True)]
        results = at_examples(function, [inner.input(meta) for meta in metas], levels[1:], sizes[1:])
        graph = inner.finish(results, "rule")
    captured: list[Traced] = inner.captures()
    outputs = batch(builder, graph, [*operands, *captured], [*levels[0], *[False] * len(captured)], sizes[0])
    ctx = ShapeGuardContext(builder.scope, "rule", rule="batching")
    return [y if flag else stretch(ctx, sizes[0], y) for y, flag in outputs]


def values_apart(function: Function, operands: Sequence[Any], directions: Container[int], count: int) -> list[Any]:
    """Return the results of a function of arguments and directions, from nodes that give values or tangents alone.

    Results after the first `count` are linear in the directions: their derivative at zero is they themselves.
    """
    values = [x for i, x in enumerate(operands) if i not in directions]
    builder = choose_builder(values) or home()
    if builder is None:
        raise RuntimeError("a derivative rule ran outside of a trace")
    inner = Builder(builder.scope, parent=builder, handle=builder.handle)
    with resume(builder), activate(inner):
        graph = inner.finish(function(*[inner.input(x.meta) for x in operands]), "rule")
    captured = inner.captures()
    points = [full_like(x) if i in directions else x for i, x in enumerate(operands)]
    tangents = [x if i in directions else None for i, x in enumerate(operands)]
    results, moved = push(builder, graph, [*points, *captured], [*tangents, *[None] * len(captured)])
    slopes = zip(results[count:], moved[count:], strict=True)
    return [*results[:count], *[y if t is None else t for y, t in slopes]]


def stretch_to_levels(ctx: ShapeGuardContext, x: Any, flags: Sequence[bool], sizes: Sequence[Size]) -> Any:
    """Return x with the axes of all levels in front; the flags say which it has."""
    if all(flags):
        return x
    own = [level for level, flag in enumerate(flags) if flag]
    shape = ctx.shape(x)[len(own) :]
    return broadcast_in_dim(x, (*sizes, *shape), [*own, *range(len(flags), len(flags) + len(shape))])


def sum_over_levels(x: Any, flags: Sequence[bool]) -> Any:
    """Return x, which has the axes of all levels, summed over the levels whose flag is not set."""
    axes = tuple([level for level, flag in enumerate(flags) if not flag])
    return reduce_sum(x, axes) if axes else x
