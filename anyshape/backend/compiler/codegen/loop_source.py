"""Loops, written inline into the function of a plan: what is invariant first, then the trips.

Where a scan has element values, its trips are in blocks. What these values are made of is read before the trips of one.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler import plan as naming
from anyshape.backend.compiler.codegen.bodies import Body, counters, insert
from anyshape.backend.compiler.codegen.user_lines import trip_mark
from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.peak_memory import trips_of_block, trips_variable
from anyshape.backend.compiler.plan import Plan, Step, sizes_of_body
from anyshape.backend.runtime.rows import Slots, check_ends, joined, mask_of, owned, pieces, stacked
from anyshape.graph.shapes.array_type import Exact
from anyshape.graph.sizes.expr import as_atom, variables
from anyshape.graph.sizes.symbols import InputAxis
from anyshape.ops.loops import LOOPS, Layout, changing_carries, scan_op, varying_variables

RUNTIME: dict[str, Any] = {
    "_Slots": Slots,
    "_check_ends": check_ends,
    "_joined": joined,
    "_mask_of": mask_of,
    "_owned": owned,
    "_pieces": pieces,
    "_stacked": stacked,
}


def write_loop(writer: Any, step: Step, body_source: type) -> None:
    """Write a loop; `body_source` writes the plan of a subgraph."""
    writer.names |= RUNTIME | {"_count": itertools.count, "_empty": np.empty, "_int64": np.int64}
    loop = (_Scan if step.op is scan_op else _While)(writer, step, body_source)
    nest = None if writer.nests is None else writer.nests.site(step, writer.depth)
    if nest is None:
        loop.write()
    else:
        _write_choice(writer, step, loop, nest)


def _write_choice(writer: Any, step: Step, loop: _Scan | _While, nest: Any) -> None:
    """Write the call of a loop as machine code, and the loop in NumPy for where it is not built, or declines."""
    first_mark, results = len(writer.marks), naming.kernel_results(writer.depth)
    site, kernels = writer.bind("nest", nest), writer.kernels
    shapes = "".join([f"{loop.shape(i)}, " for i in range(len(step.outputs))])
    writer.lines.append(f"{results} = {site}(({''.join([f'{x}, ' for x in loop.inputs])}), ({shapes}))")
    with writer.collect_apart() as by_numpy:
        writer.kernels = kernels and kernels.in_loop(nest)
        loop.write()
        writer.kernels = kernels
    writer.lines.append(f"if {results} is None:")
    writer.marks[first_mark:] = [(len(writer.lines) + count, s) for count, s in writer.marks[first_mark:]]
    writer.lines += [f"    {line}" for line in by_numpy]
    writer.lines += ["else:", f"    {', '.join(step.outputs)}, = {results}", f"del {results}"]


class _Loop:
    """Writes one loop. The bodies are the plans of the condition, of invariant values, of a block, and of a trip."""

    conditions: Sequence[Plan] = ()

    def __init__(self, writer: Any, step: Step, body_source: type, layout: Layout, plans: Sequence[Plan]) -> None:
        self.writer, self.step, self.body_source, self.layout = writer, step, body_source, layout
        self.params = dict(step.params)
        self.bodies: list[Body] = []  # that were written
        self.ahead, *blocks, self.trip = plans
        self.block = blocks[0] if blocks else None
        self.prefix = naming.in_body(writer.depth + 1)
        self.inputs = [writer.operand(s) for s in step.inputs]
        own = layout.own
        self.own = [f"{self.prefix}{slot}" for slot in self.trip.inputs[:own]]
        self.invariants = [f"{self.prefix}h{i}" for i in range(len(self.ahead.outputs))]
        self.of_block = [f"{self.prefix}w{i}" for i in range(len(self.block.outputs) if self.block else 0)]
        count = len(self.trip.inputs) - len(self.invariants) - len(self.of_block)
        self.operands = [*self.own, *self.inputs[own:count], *self.invariants, *self.of_block]
        self.count_of_inputs = count
        self.ints, self.counters = self._counters([self.ahead, *blocks])
        self.added = [f"{self.prefix}y{i}" for i in range(len(self.trip.outputs) - layout.carries)]
        self.stacked = len(self.added) - self.params["joined"]
        self.varying = varying_variables(self.params[TRAITS[step.op].inlines][-1], layout)
        self.slots = f"{self.prefix}s" if self.params["slots"] else ""
        sizes = sizes_of_body(self.trip, [*layout.per_trip(step.metas[:count]), *self.trip.input_metas[count:]])
        self.sizes = {v: size for v, size in sizes.items() if v not in self.varying}

    def _counters(self, others: Sequence[Plan]) -> tuple[dict[int, set[Any]], set[int]]:
        """Return the slots of bodies that hold Python ints, and the inputs that do. Checkpoint slots take arrays."""
        if self.params["slots"]:
            return {}, set()
        ints = counters(self.conditions, others, self.trip, self.layout, self.count_of_inputs)
        inputs = {i for i, slot in enumerate(self.trip.inputs) if slot in ints[id(self.trip)]}
        for i in inputs.difference(range(self.layout.own)):
            self.operands[i] = f"{self.prefix}g{i}"
        return ints, inputs

    def body(self, plan: Plan, prefix: str = "", operands: Sequence[str] = ()) -> Body:
        """Return the writer of the plan of a subgraph with these inputs, or with the ones of a trip."""
        slots = dict(zip(plan.inputs, operands or self.operands, strict=False))
        body: Body = self.body_source(self.writer, plan, slots, self.sizes, prefix)
        body.ints = {slots.get(slot, f"{body.prefix}{slot}") for slot in self.ints.get(id(plan), ())}
        self.bodies.append(body)
        return body

    def key(self, position: int) -> tuple[int, ...]:
        """Return the key of the times of one of its bodies."""
        return *self.writer.key, self.writer.written_steps, position

    # -- parts

    def write_carries(self) -> None:
        """Write the first carries, and counters that are captured. Carries that trips write to are copied before."""
        positions, inputs = {*range(self.layout.carries), *self.counters}, self.step.inputs
        owned = {i for i in self.params.get("owned_operands", ()) if inputs.count(inputs[i]) == 1}
        copied = self._written() - owned
        for i in sorted(positions):
            value = f"{self.inputs[i]}.item()" if i in self.counters else self.inputs[i]
            self.writer.lines.append(f"{self.operands[i]} = {value}{'.copy()' if i in copied else ''}")

    def _written(self) -> set[int]:
        """Return the carries that a trip writes to in place, and those that it makes such a carry of the next trip."""
        carries = self.trip.inputs[: self.layout.carries]
        ends = dict(zip(carries, self.trip.outputs, strict=False))
        reused: set[Any] = {step.reuse for step in self.trip.steps}
        for step in self.trip.steps:  # a loop inside may write to what nothing else reads
            reused |= {step.inputs[i] for i in dict(step.params).get("owned_operands", ()) if step.op in LOOPS}
        written = reused.intersection(carries)
        for _ in carries:
            written |= {ends[carry] for carry in written}.intersection(carries)
        return {i for i, carry in enumerate(carries) if carry in written}

    def write_slots(self, count: str) -> None:
        """Write the checkpoint slots, none of them filled, if the loop has any."""
        if self.slots:
            flags = changing_carries(self.params[TRAITS[self.step.op].inlines][-1], self.layout)
            carries = ", ".join([*self.own[: self.layout.carries], ""])
            self.writer.lines.append(f"{self.slots} = _Slots({count}, ({carries}), {tuple(flags)})")
            self.writer.write_count([f"*{self.slots}.arrays()"])

    def offered(self, trip: str) -> list[str]:
        """Return the line that offers the carries before a trip to the slots, if there are any."""
        return [f"{self.slots}.offer({', '.join([trip, *self.own[: self.layout.carries]])})"] if self.slots else []

    def write_constant_sizes(self, body: Body, of_trip: bool = True) -> None:
        """Write the sizes that are the same in all trips, before the first one. A block has whole stacks."""
        for source in body.plan.dims:
            local, axis = body.size_locals[source.variable], as_atom(source.target)
            is_own = local.startswith(body.prefix) and source.variable in body.variables
            if is_own and source.variable not in self.varying and isinstance(axis, InputAxis):
                stacks = self.layout.stacks
                is_element = stacks.start <= axis.operand < stacks.stop
                is_part = is_element or stacks.stop <= axis.operand < stacks.stop + self.layout.pieces
                array = self.inputs[axis.operand] if is_part else self.operands[axis.operand]
                self.writer.lines.append(f"{local} = {array}.shape[{axis.axis + (is_element and of_trip)}]")

    def write_trip_sizes(self, body: Body) -> None:
        """Write the sizes that differ between trips, at the beginning of one."""
        for source in body.plan.dims:
            axis = as_atom(source.target)
            if source.variable in self.varying and source.variable in body.variables and isinstance(axis, InputAxis):
                body.lines.append(
                    f"{body.size_locals[source.variable]} = {self.operands[axis.operand]}.shape[{axis.axis}]"
                )

    def parts(self) -> tuple[Body, Body]:
        """Return the writers of what comes before the first trip, where there is one, and of a trip.

        The first one checks conditions on sizes that are the same in all trips, and makes the values that all read.
        """
        ahead, trip = self.body(self.ahead, self.prefix + "i_"), self.body(self.trip)
        first = len(self.step.bodies) - (3 if self.block else 2)
        ahead.key, trip.key = self.key(first), self.key(len(self.step.bodies) - 1)
        trip.variables |= trip.variables_of_splits()
        for body in (ahead, trip):
            self.write_constant_sizes(body)
        trip.undefined |= self.varying
        with trip.collect_apart() as lines:
            trip.write_ready_conditions()
        ahead.lines += lines
        trip.undefined -= self.varying
        trip.ahead, trip.changing = ahead.lines, self.varying | {*trip.plan.runtime}
        self.write_trip_sizes(trip)
        trip.write_ready_conditions()
        ahead.write_parts()
        trip.write_parts()
        if self.invariants:
            ahead.lines.append(f"{', '.join(self.invariants)}, = {', '.join(map(ahead.operand, ahead.plan.outputs))},")
        return ahead, trip

    def next_carries(self, body: Body) -> list[str]:
        """Return the line that makes the results of a trip the carries of the next one."""
        results = [body.operand(slot) for slot in body.plan.outputs[: self.layout.carries]]
        changed = [(carry, result) for carry, result in zip(self.own, results, strict=False) if carry != result]
        if not changed:
            return []
        return [f"{', '.join(carry for carry, _ in changed)} = {', '.join(result for _, result in changed)}"]

    def results_of_trip(self, body: Body) -> list[tuple[str, str]]:
        """Return the local that each result of a trip is added to, and the result."""
        return list(zip(self.added, map(body.operand, body.plan.outputs[self.layout.carries :]), strict=True))

    def row(self, i: int) -> str:
        """Return dtype and shape of what a trip adds to result i of the loop, as arguments."""
        meta = self.step.results[i]
        sizes = [self.writer.text(e.size) for e in meta.extents[1:] if isinstance(e, Exact)]
        return f"{self.writer.bind('dtype', meta.dtype)}, ({''.join(f'{size}, ' for size in sizes)})"

    def shape(self, i: int) -> str:
        """Return the source of the shape of a result of the loop, with None for sizes that a run decides."""
        sizes = [self.writer.text(e.size) if isinstance(e, Exact) else "None" for e in self.step.results[i].extents]
        if self.step.op is not scan_op and i >= self.layout.carries:
            sizes[0] = "None"
        return f"({''.join(f'{size}, ' for size in sizes)})"

    def write_results(self, first: int, reverse: bool) -> None:
        """Write the results of the loop: the carries, and behind `first` other ones what the trips have added."""
        writer, slots = self.writer, self.step.outputs
        self._write_ends(slots[: self.layout.carries])
        backwards = "[::-1]" if reverse else ""
        last = first + len(self.added)
        for i, (slot, local) in enumerate(zip(slots[first:last], self.added, strict=True)):
            writer.lines.append(f"{slot} = {self.collected(i, first + i, local, backwards)}")
        if self.slots:
            writer.lines.append(f"{', '.join(slots[last:])}, = {self.slots}.results()")
        captured = [self.operands[i] for i in sorted(self.counters.difference(range(self.layout.own)))]
        deleted = [*self.locals(), *captured, *self.added, *([self.slots] if self.slots else [])]
        writer.lines.append(f"del {', '.join(deleted)}")
        left = [name for name in self.names_of_trips() if name not in deleted]
        if left:  # they hold arrays after a trip, and are not bound without one
            writer.lines.append(f"{' = '.join(left)} = None")

    def _write_ends(self, slots: Sequence[str]) -> None:
        """Write the last carries. What a trip has made is an array of its own, and a counter becomes a scalar."""
        carries = self.own[: self.layout.carries]
        shared = sorted({*range(len(carries))} - self._made() - self.counters)
        others = [*self.inputs, *[carry for i, carry in enumerate(carries) if i not in shared]]
        if shared:
            names, ends = ([xs[i] for i in shared] for xs in (slots, carries))
            self.writer.lines.append(f"{', '.join(names)}, = _owned(({', '.join(ends)},), ({', '.join(others)},))")
        for i in sorted({*range(len(carries))}.difference(shared)):
            self.writer.lines.append(f"{slots[i]} = {f'_int64({carries[i]})' if i in self.counters else carries[i]}")

    def _made(self) -> set[int]:
        """Return the carries that a trip makes as arrays of their own. A view is none of them."""
        steps = [step for step in self.trip.steps if not TRAITS[step.op].alias.may_share]
        fresh = {slot for step in steps for slot in step.outputs}
        ends = zip(self.trip.outputs[: self.layout.carries], self.trip.copied, strict=False)
        return {i for i, (slot, copied) in enumerate(ends) if slot in fresh and not copied}

    def without_trips(self) -> list[str]:
        """Return the line that makes the first carries arrays of their own, where no trip has made others."""
        if not (made := sorted(self._made() - self.counters)):
            return []
        names, operands = [self.own[i] for i in made], ", ".join([*self.inputs, ""])
        return [f"{', '.join(names)}, = _owned(({', '.join(names)},), ({operands}))"]

    def names_of_trips(self) -> list[str]:
        """Return the slots that a trip, or what comes before the first one, leaves bound."""
        steps = [step for body in self.bodies for step in body.plan.steps]
        dropped = {slot for step in steps for slot in step.drops}
        made = [slot for step in steps for slot in step.outputs if slot not in dropped]
        return list(dict.fromkeys([*self.own, *self.invariants, *self.of_block, *made]))

    def collected(self, i: int, output: int, local: str, backwards: str) -> str:
        """Return the source of a result that the trips have added."""
        function = "stacked" if i < self.stacked else "joined"
        function = f"{naming.LIVE}.{function}" if self.writer.counts_bytes else f"_{function}"
        return f"{function}({local}{backwards}, {self.row(output)})"

    def locals(self) -> list[str]:
        """Return the locals of the loop that have a value also where it has no trips."""
        return self.own[: self.layout.carries]


class _Scan(_Loop):
    """Writes a loop over the elements of stacks."""

    def __init__(self, writer: Any, step: Step, body_source: type) -> None:
        super().__init__(writer, step, body_source, Layout(*dict(step.params)["layout"]), step.bodies)
        self.count, self.trip_number = f"{self.prefix}n", f"{self.prefix}i"

    def write(self) -> None:
        """Write the loop."""
        lines = self.writer.lines
        self.write_carries()
        lines.append(f"{self.count} = len({self.inputs[self.layout.stacks.start]})")
        parts = self._write_pieces()
        self._write_stacks()
        self.write_slots(f"min({self.params['checkpoint']}, max({self.count}, 1))")
        ahead, body = self.parts()
        if ahead.lines:
            lines.append(f"if {self.count}:")
            insert(self.writer, ahead, "    ")
        if self.block is None:
            self._write_trips(body, parts, self.results_of_trip(body), self.order("0", self.count))
        else:
            self._write_blocks(_Block(self, self.block), body, parts)
        lines += [f"if not {self.count}: {line}" for line in self.without_trips()]
        self._write_check_of_ends()
        self.write_results(self.layout.carries, self.params["reverse"])

    def order(self, low: str, high: str) -> str:
        """Return the source of the numbers of trips between two, in the order of the loop."""
        if self.params["reverse"]:
            return f"range({high} - 1, {low} - 1, -1)" if low != "0" else f"range({high} - 1, -1, -1)"
        return f"range({low}, {high})" if low != "0" else f"range({high})"

    def _write_trips(
        self,
        body: Body,
        parts: Sequence[str],
        results: Sequence[tuple[str, str]],
        numbers: str,
        targets: Sequence[str] = (),
        indent: str = "",
    ) -> None:
        """Write the trips of these numbers, behind which values of these targets may stand. They give these results."""
        read = self._read(body, results)
        lines = [f"{slot} = {source}[{self.trip_number}]" for slot, source in self._elements(parts) if slot in read]
        lines += self.offered(f"{self.count} - 1 - {self.trip_number}" if self.params["reverse"] else self.trip_number)
        body.lines += [self._add(self.added.index(local), local, result) for local, result in results]
        body.lines += self.next_carries(body)
        if lines or body.lines:
            header = f"{indent}for {', '.join([self.trip_number, *targets])} in {numbers}:"
            mark = trip_mark(self.trip_number, of_block=self.block is not None)
            self.writer.lines.append(header + mark)
            self.writer.lines += [f"{indent}    {line}" for line in lines]
            insert(self.writer, body, f"{indent}    ")

    def _write_blocks(self, block: _Block, body: Body, parts: Sequence[str]) -> None:
        """Write the loop over blocks: the element values, then the trips. A value may be a result as it is."""
        results = self.results_of_trip(body)
        self.writer.lines += block.header()
        whole = [pair for pair in results[: self.stacked] if pair[1] in block.stacks]
        block.write_values(whole)
        others = [pair for pair in results if pair not in whole]
        read = [slot for slot in self.of_block if slot in self._read(body, others)]
        self._write_trips(body, parts, others, block.numbers(read), read, "    ")
        self.writer.lines += block.end(read)

    def _write_pieces(self) -> list[str]:
        """Write the lines that cut joined arrays, and return the locals of their pieces."""
        parts = [f"{self.prefix}p{i}" for i in range(self.layout.pieces)]
        inputs = len(self.step.inputs) - self._lengths()
        for i, part in enumerate(parts):
            joined_array, lengths = self.inputs[self.layout.stacks.stop + i], self.inputs[inputs + i]
            self.writer.lines.append(f"{part} = _pieces({joined_array}, {lengths})")
        return parts

    def _write_stacks(self) -> None:
        """Write the lines that make what the trips add to."""
        for i, local in enumerate(self.added):
            dtype, _, shape = self.row(self.layout.carries + i).partition(", ")
            empty = f"{naming.LIVE}.empty" if self.writer.counts_bytes else "_empty"
            made = f"{empty}(({self.count}, *{shape}), {dtype})" if i < self.stacked else "[]"
            self.writer.lines.append(f"{local} = {made}")

    def _add(self, i: int, local: str, result: str) -> str:
        """Return the line that adds a result of a trip."""
        return f"{local}[{self.trip_number}] = {result}" if i < self.stacked else f"{local}.append({result})"

    def _write_check_of_ends(self) -> None:
        """Write the check of the shapes that the last carries are known to have."""
        if self.params["ends"]:
            shapes = [f"({''.join(f'{self.writer.text(n)}, ' for n in shape)}), " for shape in self.params["ends"]]
            carries = ", ".join([*self.own[: self.layout.carries], ""])
            self.writer.lines.append(f"_check_ends(({carries}), ({''.join(shapes)}))")

    def _lengths(self) -> int:
        """Return the number of operands that are lengths."""
        return len(self.step.inputs) - self.count_of_inputs

    def _elements(self, parts: Sequence[str]) -> list[tuple[str, str]]:
        """Return the inputs of a trip of its own, each with what it is an element of."""
        sources = [*self.inputs[self.layout.stacks], *parts]
        return list(zip(self.own[self.layout.carries :], sources, strict=True))

    def _read(self, body: Body, results: Sequence[tuple[str, str]]) -> set[Any]:
        """Return the slots that a trip reads, as values or for a size."""
        read = {slot for step in body.plan.steps for slot in step.reads} | {result for _, result in results}
        read |= {*body.plan.outputs[: self.layout.carries]}
        axes = [as_atom(s.target) for s in body.plan.dims if s.variable in self.varying]
        return read | {self.operands[axis.operand] for axis in axes if isinstance(axis, InputAxis)}

    def collected(self, i: int, output: int, local: str, backwards: str) -> str:
        """Return the source of a result: a stack is filled as it is."""
        return local if i < self.stacked else super().collected(i, output, local, backwards)

    def locals(self) -> list[str]:
        """Return the locals of the loop that have a value also where it has no trips."""
        return [*super().locals(), self.count, *[f"{self.prefix}p{i}" for i in range(self.layout.pieces)]]


class _Block:
    """Writes the element values of a block of trips.

    - `low`, `high`: locals of the trips between which it is; `trips`: of how many it has at most.
    - `slices`: for each element of a trip, the local of the elements of a block.
    - `stacks`: for each element value of a trip, the slot of the values of a block.
    """

    def __init__(self, loop: _Scan, plan: Plan) -> None:
        self.loop = loop
        self.low, self.high, self.trips = [loop.prefix + name for name in ("l", "u", "m")]
        self.slices = {slot: f"{loop.prefix}b{i}" for i, slot in enumerate(loop.own[loop.layout.stacks])}
        self.body = loop.body(plan, f"{loop.prefix}w_", [self.slices.get(slot, slot) for slot in loop.operands])
        self.body.key = loop.key(len(loop.step.bodies) - 2)
        self.variable = trips_variable(plan, loop.layout)
        self.stacks = dict(zip(loop.of_block, map(self.body.operand, self.body.plan.outputs), strict=True))

    def header(self) -> list[str]:
        """Return the lines that choose how many trips a block has, and begin one."""
        loop, size = self.loop, trips_of_block(self.body.plan, self.loop.layout)
        self.body.variables |= {*variables(size)}
        loop.varying = loop.varying | {self.variable}
        loop.write_constant_sizes(self.body, of_trip=False)
        with self.body.collect_apart() as lines:
            lines.append(f"{self.trips} = {self.body.text(size)}")
        mark = trip_mark(self.low, self.high)
        if loop.params["reverse"]:
            begin = f"for {self.high} in range({loop.count}, 0, -{self.trips}):{mark}"
            return [*lines, begin, f"    {self.low} = max({self.high} - {self.trips}, 0)"]
        begin = f"for {self.low} in range(0, {loop.count}, {self.trips}):{mark}"
        return [*lines, begin, f"    {self.high} = min({self.low} + {self.trips}, {loop.count})"]

    def numbers(self, read: Sequence[str]) -> str:
        """Return the source of the numbers of its trips, with these element values."""
        numbers, backwards = self.loop.order(self.low, self.high), "[::-1]" if self.loop.params["reverse"] else ""
        values = "".join([f", {self.stacks[slot]}{backwards}" for slot in read])
        return f"zip({numbers}{values})" if read else numbers

    def end(self, read: Sequence[str]) -> list[str]:
        """Return the line behind its trips, which frees its values: so two blocks seldom live at once."""
        made = [slot for slot in dict.fromkeys(self.stacks.values()) if slot.startswith(self.body.prefix)]
        return [f"    del {', '.join([*read, *made])}"] if made else []

    def write_values(self, results: Sequence[tuple[str, str]]) -> None:
        """Write the element values, and the results of the loop that they are."""
        body, read, part = self.body, self.body.slots_read(), f"[{self.low}:{self.high}]"
        stacks = zip(self.slices.values(), self.loop.inputs[self.loop.layout.stacks], strict=True)
        body.lines += [f"{local} = {stack}{part}" for local, stack in stacks if local in read]
        body.lines.append(f"{body.size_locals[self.variable]} = {self.high} - {self.low}")
        body.write_ready_conditions()
        body.write_parts()
        body.lines += [f"{local}{part} = {self.stacks[value]}" for local, value in results]
        insert(self.loop.writer, body, "    ")


class _While(_Loop):
    """Writes a loop that goes on while its condition holds, which is computed before the first trip and after each."""

    def __init__(self, writer: Any, step: Step, body_source: type) -> None:
        self.condition, *plans = step.bodies
        self.conditions = [self.condition]
        super().__init__(writer, step, body_source, Layout(dict(step.params)["carries"]), plans)
        self.goes_on = f"{self.prefix}t"

    def write(self) -> None:
        """Write the loop."""
        lines = self.writer.lines
        self.write_carries()
        lines += [f"{local} = []" for local in self.added]
        number, mask = f"{self.prefix}k", bool(self.added or self.slots)
        lines += [f"{number} = -1"] if mask else []
        self.write_slots(str(self.params["checkpoint"]))
        self.write_condition("")
        ahead, body = self.parts()
        lines.append(f"if {self.goes_on}:")
        insert(self.writer, ahead, "    ")
        lines.append(f"    for {number} in _count():{trip_mark(number)}")
        lines += [f"        {line}" for line in self.offered(number)]
        body.lines += [f"{local}.append({result})" for local, result in self.results_of_trip(body)]
        body.lines += self.next_carries(body)
        insert(self.writer, body, "        ")
        self.write_condition("        ")
        lines.append(f"        if not {self.goes_on}: break")
        without_trips = self.without_trips()
        lines += ["else:", f"    {without_trips[0]}"] if without_trips else []
        carries = self.layout.carries
        if mask:
            lines.append(f"{self.step.outputs[carries]} = _mask_of({number} + 1)")
        self.write_results(carries + mask, False)

    def write_condition(self, indent: str) -> None:
        """Write the condition, whose sizes are read where it stands: it may be called before any trip."""
        body = self.body(self.condition, self.prefix + "c_")
        body.key = self.key(0)
        for source in body.plan.dims:
            local, axis = body.size_locals[source.variable], as_atom(source.target)
            if source.variable in body.variables and local.startswith(body.prefix) and isinstance(axis, InputAxis):
                body.lines.append(f"{local} = {self.operands[axis.operand]}.shape[{axis.axis}]")
        body.write_ready_conditions()
        body.write_parts()
        body.lines.append(f"{self.goes_on} = {body.operand(body.plan.outputs[0])}")
        insert(self.writer, body, indent)

    def locals(self) -> list[str]:
        """Return the locals of the loop that have a value also where it has no trips."""
        return [*super().locals(), self.goes_on]
