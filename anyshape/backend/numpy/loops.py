"""Kernels of loops. Generated code writes bodies inline; these run where there is no plan."""

import functools
from typing import Any

import numpy as np

from anyshape.backend.compiler.codegen.execute import compile_plan
from anyshape.backend.compiler.lower import lower
from anyshape.backend.runtime import checkpoint_slots
from anyshape.backend.runtime.checkpoint_slots import Slots, check_ends, owned, pieces, stacked
from anyshape.backend.runtime.checkpoint_slots import joined as join
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.sizes.substitute import evaluate
from anyshape.ops import loops as lp
from anyshape.ops.core.apply import kernel

_compiled = functools.lru_cache(maxsize=64)(lambda graph, counts: compile_plan(lower(graph), counts_bytes=counts))


def compiled(graph: Any) -> Any:
    """Return the function of a graph, which counts bytes where the run does that calls it."""
    return _compiled(graph, checkpoint_slots.current() is not None)


def run_scan(
    run_graph: Any,
    operands: Any,
    body: Any,
    layout: Any,
    joined: Any,
    reverse: Any,
    ends: Any,
    checkpoint: Any,
    slots: Any,
) -> Any:
    """Return the last carries and what the trips added; `run_graph` runs a graph on arrays."""
    (graph,), layout = body, lp.Layout(*layout)
    inputs, lengths = operands[: len(graph.inputs)], operands[len(graph.inputs) :]
    carries, captured = [*inputs[: layout.carries]], inputs[layout.own :]
    stacks = inputs[layout.stacks]
    parts = [pieces(x, n) for x, n in zip(inputs[layout.stacks.stop : layout.own], lengths)]
    added: list[list] = [[] for _ in graph.outputs[layout.carries :]]
    length = len(stacks[0])
    held = _slots(graph, layout, checkpoint, operands, length) if slots else None
    for trip, i in enumerate(_positions(length, reverse)):
        if held is not None:
            held.offer(trip, *carries)
        own = [*[x[i] for x in stacks], *[part[i] for part in parts]]
        results = run_graph(graph, [*carries, *own, *captured])
        carries = results[: layout.carries]
        for column, result in zip(added, results[layout.carries :]):
            column.append(result)
    check_ends(carries, ends)
    columns = [column[::-1] if reverse else column for column in added]
    filled = [] if held is None else held.results()
    return [*owned(carries, operands), *collected(graph, layout, joined, _shapes(operands), columns), *filled]


def run_while(run_graph: Any, operands: Any, loop: Any, carries: Any, joined: Any, checkpoint: Any, slots: Any) -> Any:
    """Return the last carries and what the trips added; `run_graph` runs a graph on arrays."""
    test, body = loop
    current, captured = [*operands[:carries]], operands[carries:]
    added: list[list] = [[] for _ in body.outputs[carries:]]
    count = 0
    held = _slots(body, lp.Layout(carries), checkpoint, operands) if slots else None
    while run_graph(test, [*current, *captured])[0]:
        if held is not None:
            held.offer(count, *current)
        count += 1
        results = run_graph(body, [*current, *captured])
        current = results[:carries]
        for column, result in zip(added, results[carries:]):
            column.append(result)
    mask = [np.ones(count, bool)] if added or slots else []
    results = collected(body, lp.Layout(carries), joined, _shapes(operands), added)
    return [*owned(current, operands), *mask, *results, *([] if held is None else held.results())]


def _positions(length, reverse):
    return range(length)[::-1] if reverse else range(length)


def _slots(graph, layout, count, operands, length=None):
    """Return the checkpoint slots of a loop that begins."""
    count = count if length is None else min(count, max(length, 1))
    return Slots(count, operands[: layout.carries], lp.changing_carries(graph, layout))


def _shapes(operands):
    return [np.shape(x) for x in operands]


def collected(graph: Any, layout: Any, joined: Any, shapes_of_operands: Any, columns: Any) -> Any:
    """Return the stacked results and the joined ones. Without trips they have the sizes of the operands."""
    metas = [v.meta for v in graph.outputs[layout.carries :]]
    count = len(columns) - joined
    if columns and columns[0]:
        shapes = [np.shape(column[0]) for column in columns]
        triples = list(zip(columns, metas, shapes))
        stacks = [stacked(ys, m.dtype, size) for ys, m, size in triples[:count]]
        return [*stacks, *[join(ys, m.dtype, size[1:]) for ys, m, size in triples[count:]]]
    size_of = lp.sizes_of_trips(graph, layout, lambda operand, axis: shapes_of_operands[operand][axis])  # costs a proof

    def shape(extents):
        """Return a shape, with 0 for a size that no operand gives."""
        return tuple([evaluate(e.size, lambda v: size_of.get(v, 0)) if isinstance(e, Exact) else 0 for e in extents])

    ends = [m.extents if i < count else m.extents[1:] for i, m in enumerate(metas)]
    return [np.empty((0, *shape(extents)), m.dtype) for extents, m in zip(ends, metas)]


def _run(graph, arrays):
    return compiled(graph)(*arrays)


def _one_or_all(results):
    return results if len(results) > 1 else results[0]


def _scan(*operands, **params):
    return _one_or_all(run_scan(_run, operands, **params))


def _while(*operands, **params):
    return _one_or_all(run_while(_run, operands, **params))


def _while_each(*operands, one, rows, carries):
    return _one_or_all(_run(rows[0], operands))


kernel(lp.scan_op, _scan)
kernel(lp.while_op, _while)
kernel(lp.while_each_op, _while_each)
