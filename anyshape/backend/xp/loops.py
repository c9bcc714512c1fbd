"""Kernels of loops: trips run one after another from the host.

Checkpoint slots stay empty, and a rerun keeps what its first body gives: it means a scan of that body before the other.
"""

import itertools
from typing import Any

import numpy as np

from anyshape.backend.numpy.loops import one_or_all
from anyshape.backend.runtime.rows import NO_TRIP, check_ends
from anyshape.backend.xp.libraries import INT, Library, kernel
from anyshape.backend.xp.write import compiled
from anyshape.errors import ShapeError
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.sizes.substitute import evaluate
from anyshape.ops import loops as lp

_BOOL = np.dtype(bool)


def _pieces(xp, joined, lengths):
    """Return the parts of a joined array, of as many rows as the lengths say."""
    ends = [0, *itertools.accumulate(xp.host(lengths).tolist())]
    if ends[-1] != joined.shape[0] or any(b < a for a, b in itertools.pairwise(ends)):
        why = f"the lengths of pieces add up to {ends[-1]}, and there are {joined.shape[0]} rows"
        raise ShapeError("scan", why, (), None, "let the lengths be those of the pieces that were joined")
    return [joined[a:b, ...] for a, b in itertools.pairwise(ends)]


def _collected(xp, graph, layout, joined, operands, columns):
    """Return the stacked results and the joined ones. Without trips they have the sizes of the operands."""
    count = len(columns) - joined
    if columns and columns[0]:
        return [xp.stack(c) if i < count else xp.concat(c, axis=0) for i, c in enumerate(columns)]
    size_of: Any = lp.sizes_of_trips(graph, layout, lambda operand, axis: operands[operand].shape[axis])
    results = []
    for i, value in enumerate(graph.outputs[layout.carries :]):
        extents = value.meta.extents if i < count else value.meta.extents[1:]
        shape = [evaluate(e.size, lambda v: size_of.get(v, 0)) if isinstance(e, Exact) else 0 for e in extents]
        results.append(xp.filled((0, *shape), 0, value.meta.dtype))
    return results


def _empty_slots(xp, graph, layout, carries, count):
    """Return checkpoint slots that are all empty."""
    results = [xp.filled((count,), NO_TRIP, INT)]
    for x, changes in zip(carries, lp.changing_carries(graph, layout), strict=True):
        if changes:
            results += [xp.zeros((0,), dtype=x.dtype, device=xp.device), xp.filled((count, x.ndim), 0, INT)]
        else:
            results.append(xp.zeros((count, *x.shape), dtype=x.dtype, device=xp.device))
    return results


def _run_scan(xp: Library, operands, graph, layout, joined, reverse, ends):
    """Return the last carries, and what the trips added."""
    step, inputs, lengths = compiled(graph, xp), operands[: len(graph.inputs)], operands[len(graph.inputs) :]
    carries, captured = [*inputs[: layout.carries]], inputs[layout.own :]
    stacks = inputs[layout.stacks]
    parts = [_pieces(xp, x, n) for x, n in zip(inputs[layout.stacks.stop : layout.own], lengths, strict=True)]
    added: list[list] = [[] for _ in graph.outputs[layout.carries :]]
    trips = range(stacks[0].shape[0])
    for i in reversed(trips) if reverse else trips:
        results = step(*carries, *[x[i, ...] for x in stacks], *[part[i] for part in parts], *captured)
        carries = results[: layout.carries]
        for column, result in zip(added, results[layout.carries :], strict=True):
            column.append(result)
    check_ends([np.broadcast_to(np.False_, tuple(x.shape)) for x in carries], ends)
    columns = [column[::-1] if reverse else column for column in added]
    return carries, _collected(xp, graph, layout, joined, operands, columns)


def _scan(xp, *operands, body, layout, joined, reverse, ends, checkpoint, slots):
    (graph,), layout = body, lp.Layout(*layout)
    carries, added = _run_scan(xp, operands, graph, layout, joined, reverse, ends)
    length = operands[layout.stacks.start].shape[0]
    count = min(checkpoint, max(length, 1)) if slots else 0
    held = _empty_slots(xp, graph, layout, operands[: layout.carries], count) if slots else []
    return one_or_all([*carries, *added, *held])


def _while(xp, *operands, loop, carries, joined, checkpoint, slots):
    test, body = (compiled(graph, xp) for graph in loop)
    graph, layout = loop[1], lp.Layout(carries)
    current, captured, count = [*operands[:carries]], operands[carries:], 0
    added: list[list] = [[] for _ in graph.outputs[carries:]]
    while bool(test(*current, *captured)[0]):
        count += 1
        results = body(*current, *captured)
        current = results[:carries]
        for column, result in zip(added, results[carries:], strict=True):
            column.append(result)
    mask = [xp.filled((count,), True, _BOOL)] if added or slots else []
    held = _empty_slots(xp, graph, layout, operands[:carries], checkpoint) if slots else []
    return one_or_all([*current, *mask, *_collected(xp, graph, layout, joined, operands, added), *held])


def _rerun(xp, *operands, bodies, start, layout, reverse, against, ends, slots):
    """Scan the first body, and the second one over what it gives."""
    (graph, body), begin, layout = bodies, lp.Layout(*start), lp.Layout(*layout)
    parts = lp.split_operands(operands, graph, begin)
    _, made = _run_scan(xp, parts.loop, graph, begin, 0, reverse != against, ())
    last = layout.own - len(made)
    inputs = [*parts.own[: layout.carries], *parts.own[layout.carries : last], *made, *parts.own[last:]]
    whole = lp.Layout(layout.carries, layout.elements + layout.pieces)
    carries, added = _run_scan(xp, inputs, body, whole, 0, reverse, ends)
    return one_or_all([*carries, *added])


kernel(lp.scan_op, _scan)
kernel(lp.while_op, _while, reads="the condition of each trip")
kernel(lp.while_each_op, lambda xp, *xs, one, rows, carries: one_or_all(compiled(rows[0], xp)(*xs)))
kernel(lp.rerun_op, _rerun)
