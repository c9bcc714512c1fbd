"""Costs of loops by their sizes, and scans over examples of different sizes that run in parts, on threads.

Parts follow from sizes and the machine alone, so results are the same for any number of threads. Each part is a run of
the nest over some trips. Sums that trips in reverse carry begin at 0 in each part but the first, and are then added in
the order of the parts. Sums that are carried forward are the user's, in the order of trips: they stay whole.
"""

from __future__ import annotations

import functools
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import nanoseconds
from anyshape.backend.compiler.plan import Step
from anyshape.backend.runtime.config import config
from anyshape.backend.runtime.thread_pool import run_tiles
from anyshape.errors import ShapeError
from anyshape.graph.ir.graph import Graph, HasParams, Node, Op, Value, subgraphs
from anyshape.graph.shapes.array_type import Exact, TensorMeta
from anyshape.graph.sizes.expr import Size, as_atom, variables
from anyshape.graph.sizes.substitute import evaluate
from anyshape.graph.sizes.symbols import DimVar, InputAxis
from anyshape.ops import control_flow as cf
from anyshape.ops import elementwise as ew
from anyshape.ops import gathering as ga
from anyshape.ops import movement as mv
from anyshape.ops.loops import LOOPS, Layout, scan_op
from anyshape.support.packages import blas

STEP_SECONDS = 1.5e-6  # of a step in NumPy, on a number or a short row
STEP_SECONDS_IN_C = 3e-8
GUESSED_TRIPS = 30  # of a loop whose number of iterations no operand gives
MOST_TRIPS = 1e4  # of a loop inside another one that are counted
# NumPy's tiles never hold a value whole. They are faster than C where an iteration makes one of so many bytes, which is
# so many times what it reads.
WIDE, WIDER = 1 << 22, 8
LEAST_ELEMENTS = 4096  # of examples that have parts
# Threads wait for the lock of the interpreter between parts, some 50 microseconds.
PART_SECONDS, MOST_PARTS = 4e-4, min(16, os.cpu_count() or 1)
_INNER = (*LOOPS, cf.cond_op)
# Operands that a sum goes on from.
_SUMS: dict[Op, int] = {ew.add_op: 2, mv.slice_add_op: 1, ga.scatter_add_op: 1, cf.sized_op: 1}


def seconds_of(step: Step, shapes: Sequence[tuple[int, ...]]) -> float:
    """Return about how long NumPy takes for a loop over operands of these shapes, by its steps, elements and trips."""
    trips = shapes[_layout(step).stacks.start][0] if step.op is scan_op else GUESSED_TRIPS
    return trips * _seconds(subgraphs(step)[-1], _of_trip(step, shapes), min(trips, MOST_TRIPS))


def _seconds(graph: Graph, shapes: Sequence[Sequence[int | None]], trips: float, step: float = STEP_SECONDS) -> float:
    """Return the seconds of a run of a graph on inputs of these shapes; loops inside have so many trips.

    `step`: seconds of a step without its elements.
    """
    sizes: dict[DimVar, int | None] = {}
    for source in graph.dims:
        if isinstance(axis := as_atom(source.size), InputAxis):
            sizes[source.variable] = shapes[axis.operand][axis.axis]
    total = 0.0
    for node in graph.nodes:
        total += step
        if node.op not in _INNER:
            total += 1e-9 * sum([nanoseconds(node.op, v.meta.dtype) * _elements(v.meta, sizes) for v in node.outputs])
            continue
        inputs = node.inputs[node.op is cf.cond_op :]
        inner = _of_trip(node, [_shape(v.meta, sizes) for v in inputs])
        runs = 1 if node.op is cf.cond_op else trips
        total += runs * sum([_seconds(g, inner, trips, step) for g in subgraphs(node)])
    return total


def spreads(step: Step) -> bool:
    """Return whether an iteration, without loops in it, makes a value with axes that no operand has."""
    body = subgraphs(step)[-1]
    outputs = [v.meta for node in body.nodes for v in node.outputs]
    read = [_open_sizes(v.meta) for v in body.inputs]
    has_loops = any(node.op in _INNER for node in body.nodes)
    return not has_loops and any(not any(sizes <= own for own in read) for sizes in map(_open_sizes, outputs))


def _open_sizes(meta: TensorMeta) -> Counter[Size]:
    return Counter(e.size for e in meta.extents if isinstance(e, Exact) and not isinstance(e.size, int))


def shapes_of_trip(step: Step, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the shapes that an iteration sees, with the mean length of pieces rounded up: batches differ in it."""
    trips = max(shapes[_layout(step).stacks.start][0], 1) if step.op is scan_op else 1
    pairs = zip(_of_trip(step, shapes), shapes, strict=True)
    return tuple([tuple([_rounded(x[0] // trips) if n is None else n for n in own]) for own, x in pairs])


def _rounded(n: int) -> int:
    """Return the next number that is a power of two, or one and a half of one."""
    power = 1 << max(n - 1, 0).bit_length()
    return power * 3 // 4 if n * 4 <= power * 3 else power


def is_wide(step: Step, trip: Sequence[tuple[int, ...]]) -> bool:
    """Return whether an iteration on such shapes makes values far larger than it reads, and than caches."""
    body = subgraphs(step)[-1]
    sizes: dict[DimVar, int | None] = {}
    for source in body.dims:
        if isinstance(axis := as_atom(source.size), InputAxis):
            sizes[source.variable] = trip[axis.operand][axis.axis]
    made = [v.meta for node in body.nodes for v in node.outputs]
    widest = max([_elements(meta, sizes) * meta.dtype.itemsize for meta in made], default=0)
    read = [_elements(v.meta, sizes) * v.meta.dtype.itemsize for v in body.inputs]
    return widest > max(WIDE, WIDER * max(read, default=0))


def _layout(step: HasParams) -> Layout:
    return Layout(*dict(step.params)["layout"])


def _of_trip(step: HasParams, shapes: Sequence[Sequence[int | None]]) -> list[Sequence[int | None]]:
    """Return the shapes that a trip sees of these operands; the length of a piece of a joined array is not known."""
    if step.op is not scan_op:
        return list(shapes)
    layout = _layout(step)
    own, pieces = layout.stacks, range(layout.stacks.stop, layout.own)
    elements = range(own.start, own.stop)
    return [x[1:] if k in elements else [None, *x[1:]] if k in pieces else x for k, x in enumerate(shapes)]


def _shape(meta: TensorMeta, sizes: Mapping[DimVar, int | None]) -> list[int | None]:
    """Return the sizes of a value, None where they are not known."""
    return [_number(e.size, sizes) if isinstance(e, Exact) else None for e in meta.extents]


def _number(size: Size, sizes: Mapping[DimVar, int | None]) -> int | None:
    if any(sizes.get(v) is None for v in variables(size)):
        return None
    try:
        return evaluate(size, sizes.__getitem__)  # type: ignore[arg-type]
    except (ZeroDivisionError, KeyError, ShapeError):  # sizes of the body that do not broadcast: its run says so
        return None


def _elements(meta: TensorMeta, sizes: Mapping[DimVar, int | None]) -> int:
    """Return the number of elements of a value; sizes that are not known count as 1."""
    return math.prod([1 if n is None else max(n, 0) for n in _shape(meta, sizes)])


# -- parts -------------------------------------------------------------------------------------------------------

Run = Callable[[Sequence[np.ndarray], Sequence[np.ndarray]], "list[Any] | None"]


class Parts:
    """Runs a nest over examples in parts.

    - `kinds` of results: see `NestText`.
    """

    def __init__(self, params: Mapping[str, Any], kinds: Sequence[str]) -> None:
        self.body: Graph = params["body"][0]
        self.layout, self.is_reverse, self.kinds = Layout(*params["layout"]), params["reverse"], kinds
        self.pieces = range(self.layout.stacks.stop, self.layout.own)
        self._costs: dict[Any, tuple[float, float]] = {}

    def ends(self, arrays: Sequence[np.ndarray]) -> list[int] | None:
        """Return the first trips of all parts and the number of trips; None where one part is as good."""
        if all(arrays[k].size < LEAST_ELEMENTS for k in self.pieces):
            return None
        lengths = arrays[len(self.body.inputs) : len(self.body.inputs) + len(self.pieces)]
        trips = len(lengths[0])
        largest = np.maximum.reduce(lengths) if trips > 1 else lengths[0]
        first, power = self._cost(int(largest.sum()) // max(trips, 1), [x.shape for x in arrays])
        total = np.cumsum(first * np.maximum(largest, 1.0) ** power)
        count = min(MOST_PARTS, trips, int(total[-1] / PART_SECONDS)) if trips > 1 else 1
        if count < 2 or config.reproducible:
            return None
        shares = total[-1] * np.arange(1, count) / count
        return [*dict.fromkeys([0, *(np.searchsorted(total, shares) + 1).tolist(), trips])]

    def _cost(self, length: int, shapes: Sequence[tuple[int, ...]]) -> tuple[float, float]:
        """Return the seconds of an example with one row, and the power of the number of rows by which they grow."""
        around = 1 << length.bit_length()
        key = around, *[x if k >= self.layout.own else x[1:] for k, x in enumerate(shapes[: len(self.body.inputs)])]
        if key not in self._costs:
            few, many = [self._seconds(rows, shapes) for rows in (around, 4 * around)]
            power = math.log(many / few, 4)
            self._costs[key] = few / around**power, power
        return self._costs[key]

    def _seconds(self, rows: int, shapes: Sequence[tuple[int, ...]]) -> float:
        """Return about how long an example of so many rows takes in C."""
        own = self.layout.stacks
        elements = range(own.start, own.stop)
        trip = [(rows, *x[1:]) if k in self.pieces else x[1:] if k in elements else x for k, x in enumerate(shapes)]
        return _seconds(self.body, trip, rows, STEP_SECONDS_IN_C)

    def run(
        self, call: Run, arrays: Sequence[np.ndarray], passed: Sequence[np.ndarray], ends: Sequence[int], *, calls: bool
    ) -> list[Any] | None:
        """Return the results of all parts together; None where NumPy is to serve one.

        - `call`: runs the nest on operands and results that are passed. `calls`: it calls functions by their addresses.
        - `ends`: see the method.
        """
        count = len(ends) - 1
        order = range(count)[:: -1 if self.is_reverse else 1]
        taken = [self._part(arrays, ends[n], ends[n + 1]) for n in range(count)]
        memory = [self._memory_of(passed, ends[n], ends[n + 1], is_first=n == order[0]) for n in range(count)]
        results: list[list[Any] | None] = [None] * count

        def work(tiles: Iterable[int]) -> None:
            for k in tiles:
                results[order[k]] = call(taken[order[k]], memory[order[k]])

        with blas.ONE_THREAD if calls else blas.AS_IT_IS:
            run_tiles(work, count)
        if any(x is None for x in results):
            return None
        return self._joined([results[n] for n in order], passed)  # type: ignore[misc]

    def _part(self, arrays: Sequence[np.ndarray], start: int, stop: int) -> list[np.ndarray]:
        """Return the operands of some trips."""
        own, inputs, part = self.layout.stacks, len(self.body.inputs), [*arrays]
        for k in (*range(own.start, own.stop), *range(inputs, len(arrays))):
            part[k] = arrays[k][start:stop]
        for k, lengths in zip(self.pieces, arrays[inputs:], strict=False):
            before = int(lengths[:start].sum())
            part[k] = arrays[k][before : before + int(part[inputs + k - own.stop].sum())]
        return part

    def _memory_of(self, passed: Sequence[np.ndarray], start: int, stop: int, *, is_first: bool) -> list[np.ndarray]:
        """Return the memory for results of some trips."""
        kinds = [kind for kind in self.kinds if kind != "sizes"]
        zeros = [x if is_first or kind == "fixed" else np.zeros_like(x) for x, kind in zip(passed, kinds, strict=True)]
        return [x[start:stop] if kind == "fixed" else x for x, kind in zip(zeros, kinds, strict=True)]

    def _joined(self, results: Sequence[list[Any]], passed: Sequence[np.ndarray]) -> list[Any]:
        """Return the results of parts, in the order in which they run, as one."""
        joined, whole = list[Any](), iter(passed)
        in_place = results[:: -1 if self.is_reverse else 1]
        for k, kind in enumerate(self.kinds):
            own_memory = next(whole) if kind != "sizes" else None
            if kind == "sizes":
                joined.append(np.concatenate([own[k] for own in in_place]))
            elif kind == "fixed":
                joined.append(own_memory)
            else:
                joined.append(np.asarray(functools.reduce(np.add, [own[k] for own in results])))
        return joined


def parts_of(op: Any, params: Mapping[str, Any], kinds: Sequence[str]) -> Parts | None:
    """Return what runs a nest in parts, None where a trip needs what others before it have made."""
    if op is not scan_op or params["slots"]:
        return None
    body, layout = params["body"][0], Layout(*params["layout"])
    is_apart = not layout.carries or (params["reverse"] and _are_sums(body, layout.carries))
    return Parts(params, kinds) if layout.pieces and is_apart and "sizes" not in kinds[: layout.carries] else None


def _are_sums(body: Graph, carries: int) -> bool:
    """Return whether each trip adds to carries, and makes nothing else of them."""
    readers: dict[Value, list[Node]] = {}
    for node in body.nodes:
        for value in node.inputs:
            readers.setdefault(value, []).append(node)
    for before, after in zip(body.inputs[:carries], body.outputs, strict=False):
        value = before
        while nodes := readers.get(value):
            at = nodes[0].inputs.index(value)
            if len(nodes) > 1 or at >= _SUMS.get(nodes[0].op, 0) or value in body.outputs:
                return False
            value = nodes[0].outputs[0]
            if value.meta != before.meta:
                return False
        if value is not after or body.outputs.count(value) > 1:
            return False
    return True
