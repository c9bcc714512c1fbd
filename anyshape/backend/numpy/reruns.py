"""Kernel of reruns: carries of a loop are made again from checkpoint slots, and a trip of the scan reads them."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from anyshape.backend.numpy.loops import collected, compiled
from anyshape.backend.runtime import checkpoint_slots
from anyshape.backend.runtime.checkpoint_slots import FilledSlots, check_ends, from_the_last, owned
from anyshape.graph.ir.dead_code import remove_dead_code
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.sizes.substitute import evaluate
from anyshape.ops import loops as lp
from anyshape.ops.core.apply import kernel
from anyshape.ops.reruns import rerun_op, split_operands


class _Loop:
    """Loop that runs again: its operands, and its trips one by one."""

    def __init__(self, function_of, graph, start, operands, reverse, slots):
        self.graph, self.start, self.operands, self.reverse, self.slots = graph, start, operands, reverse, slots
        self.stacks, self.captured = operands[start.stacks], operands[start.own :]
        self.count = len(self.stacks[0])
        self.function_of = function_of

    def position(self, trip):
        """Return the position of a trip along the stacks."""
        return self.count - 1 - trip if self.reverse else trip

    def _function(self, outputs):
        """Return a function of a trip and the carries before it, which gives these outputs of a trip."""
        graph = self.graph
        made = [v for v in outputs if v not in graph.inputs]
        run = self.function_of(_part(graph, tuple(made))) if made else lambda *_: ()
        position_of = {v: i for i, v in enumerate((*graph.inputs, *made))}
        chosen = [position_of[v] for v in outputs]

        def function(trip, carries):
            i = self.position(trip)
            inputs = [*carries, *[x[i] for x in self.stacks], *self.captured]
            values = [*inputs, *run(*inputs)]
            return [values[k] for k in chosen]

        return function

    def along(self):
        """Give each trip with what the scan reads of it, in the order of the loop."""
        carries, first = self.operands[: self.start.carries], self.start.carries
        both = self._function(self.graph.outputs)
        for trip in range(self.count):
            results = both(trip, carries)
            yield self.position(trip), results[first:]
            carries = results[:first]

    def against(self, slots, owned_slots):
        """Give each trip with what the scan reads of it, from the last one."""
        if not self.count:
            return
        first = self.start.carries
        advance, read = self._function(self.graph.outputs[:first]), self._function(self.graph.outputs[first:])
        filled = FilledSlots(slots[0], slots[1:], lp.changing_carries(self.graph, self.start), owned_slots)
        for trip, carries in from_the_last(self.count, filled, advance):
            yield self.position(trip), read(trip, carries)

    def shapes_without_trips(self):
        """Return the shapes of what the trips give, with 0 trips, and 0 for a size that differs between trips."""
        size_of = lp.sizes_of_trips(self.graph, self.start, lambda operand, axis: self.operands[operand].shape[axis])
        extents = [v.meta.extents for v in self.graph.outputs[self.start.carries :]]
        sizes = [[evaluate(e.size, lambda v: size_of.get(v, 0)) if isinstance(e, Exact) else 0 for e in es]
                 for es in extents]  # fmt: skip
        return [(0, *shape) for shape in sizes]


@functools.lru_cache(maxsize=128)
def _part(graph, outputs):
    """Return the graph with these outputs alone. Those that the evaluator asks for are few."""
    return remove_dead_code(replace(graph, outputs=outputs))


def run_rerun(
    function_of: Any,
    operands: Any,
    bodies: Any,
    start: Any,
    layout: Any,
    reverse: Any,
    against: Any,
    ends: Any,
    slots: Any,
    owned_operands: Any = (),
) -> Any:
    """Return the last carries of the scan and its stacked results; `function_of` gives the function of a graph."""
    (graph, body), begin, plan = bodies, lp.Layout(*start), lp.Layout(*layout)
    parts = split_operands(operands, graph, begin)
    loop = _Loop(function_of, graph, begin, parts.loop, reverse != against, slots)
    positions = range(len(parts.loop), len(parts.loop) + len(parts.slots))
    trips = loop.against(parts.slots, {*positions[1:]} <= {*owned_operands}) if against else loop.along()
    made = len(graph.outputs) - begin.carries
    last = plan.own - made
    carries, elements, captured = parts.own[: plan.carries], parts.own[plan.carries : last], parts.own[last:]
    step, added = function_of(body), list[np.ndarray]()
    for i, values in trips:
        results = step(*carries, *[x[i] for x in elements], *values, *captured)
        carries, ys = results[: plan.carries], results[plan.carries :]
        if not added:
            added = [np.empty((loop.count, *np.shape(y)), np.asarray(y).dtype) for y in ys]
            checkpoint_slots.add(*added)
        for stack, y in zip(added, ys):
            stack[i] = y
    check_ends(carries, ends)
    if not loop.count:
        shapes = loop.shapes_without_trips()
        count = made - plan.pieces
        inputs = [*map(np.shape, parts.own[:last]), *shapes[:count], *[s[1:] for s in shapes[count:]],
                  *map(np.shape, captured)]  # fmt: skip
        added = collected(body, plan, 0, inputs, [[] for _ in body.outputs[plan.carries :]])
    return [*owned(carries, operands), *added]


def _rerun(*operands, **params):
    results = run_rerun(compiled, operands, **params)
    return results if len(results) > 1 else results[0]


kernel(rerun_op, _rerun, consumes=True)
