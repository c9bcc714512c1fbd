"""Text in C of a nest of loops: one function for a loop and all loops and branches in it, at any sizes.

    int64_t name(const char *arrays, as_result *results, int (*poll)(void), int (*call)(int64_t), void *const *links)

The tuple `arrays` holds the operands, copies of carries that become the last carries, and stacks of results. Results
whose sizes a run decides come as `results`. The function returns the flags of floating-point arithmetic. Or it
returns 1 where NumPy is to serve the call, and 32 where Python raises for a signal. Steps that C does not have are run
by `call`, or stand at an address among the `links`.

Carries are memory that trips write to in place. A carry that a trip makes anew has two pieces of memory, which change
places; that of carries which change size grows with them. Nothing that the caller holds is written to before the run
is over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from anyshape.backend.compiler.c_expressions import c_literal
from anyshape.backend.native.nest_branches import Branches
from anyshape.backend.native.nest_calls import called
from anyshape.backend.native.nest_order import reads_first
from anyshape.backend.native.nest_rules import SUMMED, UPDATES, rule_of
from anyshape.backend.native.nest_shared import with_calls_alone, with_shared_memory
from anyshape.backend.native.nest_steps import Site, added, sum_with
from anyshape.backend.native.nest_values import (
    Array,
    At,
    Buffer,
    Lines,
    Sizes,
    Texts,
    again,
    bytes_of,
    derived,
    kind_of,
    nothing,
    product,
    scalar,
    unowned,
    whole,
)
from anyshape.backend.native.statements import NotExpressible
from anyshape.graph.ir.graph import Graph, Node, Op, Value
from anyshape.graph.prover.constraints import SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta
from anyshape.graph.sizes.expr import as_atom
from anyshape.graph.sizes.symbols import DimVar, InputAxis
from anyshape.ops import control_flow as cf
from anyshape.ops import elementwise as ew
from anyshape.ops.loops import Layout, changing_carries, scan_op, varying_variables, while_each_op, while_op

BOOL = np.dtype(bool)
TRIPS = 1 << 16  # of a loop without others inside between two looks for signals
MOST_AXES = 8  # of a result whose sizes a run decides
MOST_PARTS = 12  # of a sum that is written more than once
LONGEST = 400_000  # characters of a function that a compiler is given


@dataclass(frozen=True, slots=True)
class NestText:
    """Text of a nest, in which `@name@` stands for its name.

    - `kinds` of results: a "carry" is a copy of the operand of the same number, which trips write to. A "fixed" one has
      sizes that are known before the run, and the run decides the ones of "sizes".
    - `called`: the steps that the kernels of NumPy run. `links`: functions that it calls by their addresses.
    - `sources`: lines of the user, where they were asked for. `AS_LINE(1)` stands before what the first one computes.
    """

    text: str
    kinds: tuple[str, ...]
    called: tuple[Node, ...]
    links: tuple[Any, ...]
    sources: tuple[SourceLine, ...] = ()


def nest_text(
    op: Op,
    params: dict[str, Any],
    metas: Sequence[TensorMeta],
    results: Sequence[TensorMeta],
    *,
    with_lines: bool = False,
) -> NestText:
    """Return the text of a loop with operands and results of these types. Raises NotExpressible."""
    nest = _Nest(op, params, metas, results)
    nest.lines.sources = {} if with_lines else None
    return nest.write()


class _Nest:
    """Writes the function of a loop."""

    def __init__(
        self, op: Op, params: dict[str, Any], metas: Sequence[TensorMeta], results: Sequence[TensorMeta]
    ) -> None:
        self.op, self.params, self.metas, self.results = op, params, metas, results
        self.lines = Lines()
        layout = Layout(*params["layout"]) if op is scan_op else Layout(params["carries"])
        self.carries = layout.carries
        changing = changing_carries((params["body"] if op is scan_op else params["loop"])[-1], layout)
        fixed = [op is scan_op and all(isinstance(e, Exact) for e in m.extents) for m in results[self.carries :]]
        self.kinds = tuple(["sizes" if c else "carry" for c in changing] + ["fixed" if f else "sizes" for f in fixed])

    def write(self) -> NestText:
        lines = self.lines
        for k, meta in enumerate(self.metas):
            self._read(f"a{k}", 1 + k, meta, dims=True)
        operands = [_passed(f"a{k}", meta) for k, meta in enumerate(self.metas)]
        operands = [x if x.dims else lines.scalar(x.dtype, x.at(())) for x in operands]
        memory = self._memory()
        own = {k for k, kind in enumerate(self.kinds) if kind == "carry"}
        loop = _Loop(_Body(lines, None), self.op, self.params, operands, own)
        begins = [memory.get(k, x) if k in own else x for k, x in enumerate(operands)]
        ends = loop.write(begins, [memory.get(k) for k in range(self.carries, len(self.kinds))])
        self._write_ends(ends, memory)
        by_others = tuple(lines.called), tuple(lines.links)
        return NestText(self._function(), self.kinds, *by_others, tuple(lines.sources or ()))

    def _memory(self) -> dict[int, Array]:
        """Return the results whose memory is passed."""
        memory: dict[int, Array] = {}
        for k, (kind, meta) in enumerate(zip(self.kinds, self.results, strict=True)):
            if kind != "sizes":
                local, sized = (f"o{k}", f"a{k}") if kind == "carry" else (f"s{k}", "")
                self._read(local, 1 + len(self.metas) + len(memory), meta, dims=not sized)
                memory[k] = _passed(local, meta, sized)
        return memory

    def _read(self, local: str, position: int, meta: TensorMeta, *, dims: bool) -> None:
        """Write the lines that read an array of the tuple."""
        kind = kind_of(meta.dtype)
        add = self.lines.add
        add(f"const as_array *{local}_ = as_item(arrays, {position}, {meta.rank});", f"if (!{local}_) AS_FAIL")
        add(f"{kind} *{local} = ({kind} *){local}_->data;")
        if dims:
            add(*[f"const int64_t {local}_n{axis} = {local}_->dims[{axis}];" for axis in range(meta.rank)])
            add(*[f"if ({local}_n{k} != {n}) AS_FAIL" for k, e in enumerate(meta.extents) if (n := _known(e))])

    def _write_ends(self, ends: Sequence[Array], memory: Mapping[int, Array]) -> None:
        """Write the last carries to the memory of results, and hand over what has sizes of its own."""
        position = 0
        for k, (end, kind) in enumerate(zip(ends, self.kinds, strict=True)):
            if kind == "sizes":
                self._hand_over(end, f"results[{position}]")
                position += 1
            elif kind == "carry" and not end.dims:
                self.lines.add(f"*o{k} = {end.at(())};")
            elif kind == "carry" and end.buffer is not memory[k].buffer:
                self.lines.filled(memory[k], end)

    def _hand_over(self, end: Array, result: str) -> None:
        """Write the lines that give away an array and its sizes."""
        lines = self.lines
        if len(end.dims) > MOST_AXES:
            raise NotExpressible(f"results of more than {MOST_AXES} axes, whose sizes a run decides")
        if (key := end.buffer or end) in lines.rows:
            rows = lines.rows[key]
        else:
            assert end.buffer is not None
            rows = lines.grown()
            size = f"{product(end.dims)} * (int64_t)sizeof({end.kind})"
            lines.add(f"if (!as_grow(&{rows}, 0, {size})) AS_FAIL", f"memcpy({rows}.data, {end.buffer.name}, {size});")
        lines.add(f"{result}.data = {rows}.data;", f"memset(&{rows}, 0, sizeof {rows});")
        lines.add(*[f"{result}.dims[{axis}] = {n};" for axis, n in enumerate(end.dims)])

    def _function(self) -> str:
        lines = self.lines
        body = "\n".join([f"    {line}" for line in lines.lines])
        if len(body) > LONGEST:
            raise NotExpressible("a nest with a text too long for a compiler")
        top = "".join([f"    {line}\n" for line in lines.top])
        freed = "".join([f" free({rows}.data);" for rows in lines.freed])
        return (
            "int64_t @name@(const char *arrays, as_result *results, int (*poll)(void), int (*call)(int64_t),\n"
            "    void *const *links)\n{\n"
            "    int64_t status = 0, flags = 0, declined = 0, ticks = 0;\n    as_block *arena = 0;\n"
            f"{top}    feclearexcept(FE_ALL_EXCEPT);\n    {{\n{body}\n"
            "    status = declined ? 1 : flags | as_flags();\n    }\n    goto done;\n"
            "fail:\n    status = as_ended(status ? status : 1);\n"
            f"done:\n    as_free(arena);{freed}\n    return status;\n}}\n"
        )


def _known(extent: ShapeExtent) -> str:
    """Return the text of a size that is a number, else ""."""
    return str(extent.size) if isinstance(extent, Exact) and isinstance(extent.size, int) else ""


def _passed(local: str, meta: TensorMeta, sized: str = "") -> Array:
    """Return an array that is passed in C order; its sizes are read off `sized`, or itself."""
    dims = tuple([_known(e) or f"{sized or local}_n{axis}" for axis, e in enumerate(meta.extents)])
    if not dims:
        return scalar(meta.dtype, f"(*{local})")
    return whole(meta.dtype, dims, Buffer(local, local.startswith("o")))


class _Body:
    """Writes the steps of a graph: the body of a loop, a condition, or a branch."""

    def __init__(self, lines: Lines, graph: Graph | None) -> None:
        self.lines, self.graph = lines, None if graph is None else reads_first(graph)
        self.env: dict[Value, Array] = {}
        self.variables: dict[DimVar, str] = {}
        self.position = 0
        self.ahead: set[Node] = set()  # steps that are written before a loop
        self.waiting = [c for c in graph.conditions if c.kind not in ("guard", "fact")] if graph is not None else []

    @cached_property
    def uses(self) -> dict[Value, int]:
        """Position of the last step that takes a value; results of the graph are taken behind the last step."""
        assert self.graph is not None
        last: dict[Value, int] = {}
        for k, node in enumerate(self.graph.nodes):
            last |= dict.fromkeys(node.inputs, k)
        return last | dict.fromkeys(self.graph.outputs, len(self.graph.nodes))

    @cached_property
    def counts(self) -> dict[Value, int]:
        """Number of steps and results that take a value."""
        assert self.graph is not None
        counts: dict[Value, int] = {}
        for value in [v for node in self.graph.nodes for v in node.inputs] + [*self.graph.outputs]:
            counts[value] = counts.get(value, 0) + 1
        return counts

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Write all steps for these inputs, and return the values of the results."""
        graph = self.graph
        assert graph is not None
        own = zip(graph.inputs, inputs, strict=True)
        self.env.update([(value, x) for value, x in own if value not in self.env])
        self.env |= {value: self._constant(array) for value, array in graph.constants}
        for source in graph.dims:
            axis = as_atom(source.size)
            if not isinstance(axis, InputAxis):
                raise NotExpressible("a size that no axis gives")
            self.variables.setdefault(source.variable, inputs[axis.operand].dims[axis.axis])
        self._write_conditions()
        self._write_nodes([(k, node) for k, node in enumerate(graph.nodes) if node not in self.ahead])
        if self.waiting:
            raise NotExpressible("a condition on a size that no step gives")
        self.position = len(graph.nodes)
        return [self.env[v] for v in graph.outputs]

    def run_ahead(self, inputs: Mapping[Value, Array], sizes: Mapping[DimVar, str]) -> None:
        """Write the steps that take nothing but these inputs, and the conditions on these sizes, before a loop."""
        graph = self.graph
        assert graph is not None
        self.variables |= sizes
        self._write_conditions()
        self.env |= inputs
        self.env |= {value: self._constant(array) for value, array in graph.constants}
        known, nodes = {*self.env}, list[tuple[int, Node]]()
        for k, node in enumerate(graph.nodes):
            if known.issuperset(node.operands):
                known.update(node.outputs)
                nodes.append((k, node))
        self._write_nodes(nodes)
        self.ahead = {node for _, node in nodes}
        for value in [v for node in self.ahead for v in node.outputs]:
            if not self.env[value].is_sum:
                self.lines.settle_computed(self.env[value])
            self.env[value] = unowned(self.env[value])

    def _write_nodes(self, nodes: Sequence[tuple[int, Node]]) -> None:
        """Write steps, with their positions in the graph."""
        assert self.graph is not None
        defined: dict[Value, list[tuple[DimVar, int]]] = {}
        for variable, (value, number) in self.graph.runtime.items():
            defined.setdefault(value, []).append((variable, number))
        for self.position, node in nodes:
            try:
                self._write(node)
            except NotExpressible as reason:
                reason.where = reason.where or node.where
                raise
            self._define(defined, node)

    def _define(self, defined: Mapping[Value, Sequence[tuple[DimVar, int]]], node: Node) -> None:
        """Note the run-time sizes that a step defines, and write the conditions on them."""
        for output in node.outputs:
            for variable, number in defined.get(output, ()):
                self.variables[variable] = self.env[output].dims[number]
        if self.waiting and any(output in defined for output in node.outputs):
            self._write_conditions()

    def _constant(self, array: Any) -> Array:
        if array.ndim:
            raise NotExpressible("an array that the body captures by itself")
        return scalar(array.dtype, c_literal(array[()], array.dtype))

    def _write_conditions(self) -> None:
        """Write the conditions whose sizes are known by now; NumPy serves calls in which one does not hold."""
        sizes, left = Sizes(self._variable), []
        for condition in self.waiting:
            claim = condition.claim
            if not {*claim.variables()} <= self.variables.keys():
                left.append(condition)
                continue
            a, b = sizes.text(claim.left), sizes.text(claim.right)
            texts = {"broadcasts": f"{a} == {b} || {a} == 1 || {b} == 1", "stretches": f"{a} == {b} || {a} == 1"}
            self.lines.add(f"if (!({texts.get(claim.relation) or f'{a} {claim.relation} {b}'})) AS_FAIL")
        self.waiting = left

    def _variable(self, leaf: Any) -> str:
        if leaf not in self.variables:
            raise NotExpressible(f"the size {leaf}")
        return self.variables[leaf]

    def _write(self, node: Node) -> None:
        self.lines.note(node.where)
        if node.op.has_subgraphs:
            self._write_nested(node)
            self.lines.noted = 0
            self.lines.note(node.where)
            return
        try:
            self._write_step(node)
        except NotExpressible:
            self.env.update(zip(node.outputs, self._called(node), strict=True))

    def _called(self, node: Node) -> list[Array]:
        """Write the lines that let NumPy run a step."""
        return called(self.lines, node, [self.env[v] for v in node.operands], Sizes(self._variable))

    def _write_step(self, node: Node) -> None:
        """Write a step by its rule. Raises NotExpressible."""
        rule = rule_of(node.op)
        operands = [self.env[v] for v in node.inputs]
        params, size = dict(node.params), self._sizes(node).text
        site = Site(node, self.lines, size, lambda: self._target(node), params, lambda: self._called(node))
        output, *others = node.outputs
        if others:
            results: Any = rule(site, *operands)
            self.env.update(zip(node.outputs, results, strict=True))
            return
        if node.op is ew.add_op and is_sparse_sum(node, operands):
            self.env[output] = self._bound(node, self._write_sum(node, site, operands))
            return
        for k, x in enumerate(operands):
            if x.is_sum and k not in SUMMED.get(node.op, ()):
                self.lines.settle(x)
        if node.op in UPDATES:
            self._keep(node, 0)
        self.env[output] = self._bound(node, rule(site, *operands))

    def _write_sum(self, node: Node, site: Site, operands: Sequence[Array]) -> Array:
        """Write a sum where one operand has parts that are added to the other."""
        k = 0 if operands[1].has_parts else 1
        x, y = operands[k], operands[1 - k]
        if x.adds is None:
            self._keep(node, k)
        site = site._replace(target=lambda: self._target(node, k))
        return sum_with(site, x, (y,), lambda at: added(self.lines, y, at))

    def _bound(self, node: Node, result: Array) -> Array:
        """Return a result, in memory if several steps read what is computed. A number is read now: memory changes."""
        if not result.dims:
            return self.lines.scalar(result.dtype, result.at(())) if result.parts else result
        if not result.depth or self.counts.get(node.outputs[0], 0) < 2:
            return result
        if result.adds is None or result.depth > MOST_PARTS:
            return self.lines.settle(result)
        for part in result.parts:
            if part.depth and part.adds is None:
                self.lines.settle(part)
        return result

    def _sizes(self, node: Node) -> Sizes:
        operands = node.operands

        def leaf(atom: Any) -> str:
            if not isinstance(atom, InputAxis):
                raise NotExpressible(f"the size {atom}")
            return self.env[operands[atom.operand]].dims[atom.axis]

        return Sizes(leaf)

    def owns(self, node: Node, k: int) -> bool:
        """Return whether a step may write to the memory of operand k: nothing takes the operand later."""
        value, uses = node.inputs[k], self.uses
        x = self.env[value]
        if x.buffer is None or not x.buffer.owned or uses[value] > self.position or node.inputs.count(value) > 1:
            return False
        others = [v for v, y in self.env.items() if y.buffer is x.buffer and v is not value]
        return all(uses.get(v, -1) < self.position for v in others)

    def _target(self, node: Node, k: int = 0) -> Array:
        """Return the memory of operand k, or a copy where that is needed later."""
        x = self.env[node.inputs[k]]
        if not self.owns(node, k):
            return self.lines.copied(again(x))
        self.written(x)
        return whole(x.dtype, x.dims, x.buffer)  # type: ignore[arg-type]

    def _keep(self, node: Node, k: int) -> None:
        """Settle operands that read the memory of operand k, which a step is about to write to."""
        x = self.env[node.inputs[k]]
        if self.owns(node, k):
            for y in [self.env[v] for j, v in enumerate(node.inputs) if j != k]:
                if y.buffer is not x.buffer:
                    self._preserve(y, x.buffer)

    def _preserve(self, x: Array, buffer: Buffer | None) -> None:
        """Settle what an array reads of memory that is about to change: of a sum, parts alone if they can be."""
        if not x.dims or buffer not in x.reads():
            return
        if x.adds is None or any(part.buffer is buffer for part in x.parts):
            self.lines.settle(x)
            return
        for part in x.parts:
            self._preserve(part, buffer)

    def written(self, x: Array, operands: Sequence[Value] = ()) -> None:
        """Settle values that read the memory of x and are taken later, as it is about to change."""
        for value, y in list(self.env.items()):
            if not y.dims or self.uses.get(value, -1) < self.position:
                continue
            is_operand = self.uses.get(value, -1) == self.position
            if x.buffer in y.reads() and (not is_operand or value in operands):
                self.env[value] = y if y.buffer is not x.buffer else Array(y.dtype, y.dims, y.at, None, (y,))
                self._preserve(self.env[value], x.buffer)

    # -- loops and branches inside

    def _write_nested(self, node: Node) -> None:
        params = dict(node.params)
        if node.op in (scan_op, while_op):
            results = self._write_loop(node, params)
        elif node.op is cf.cond_op:
            results = self._branches().choose(node, params["branches"], [self.env[v] for v in node.inputs])
        elif node.op is cf.cond_each_op:
            results = self._branches().choose_each(node, params, [self.env[v] for v in node.inputs])
        elif node.op is while_each_op:
            results = self._write_rows(node, params["rows"][0])
        else:
            raise NotExpressible(f"{node.op} has no statement in C")
        for output, result in zip(node.outputs, results, strict=True):
            self.env[output] = result

    def _write_loop(self, node: Node, params: dict[str, Any]) -> list[Array]:
        operands = [self.env[v] for v in node.inputs]
        count = Layout(*params["layout"]).carries if node.op is scan_op else params["carries"]
        owned = {k for k in range(count) if self.owns(node, k)}
        self.lines.settle_computed(*operands)
        for k in owned:
            self.written(operands[k], [v for j, v in enumerate(node.inputs) if j != k])
        operands = [self.env[v] for v in node.inputs]
        return _Loop(self, node.op, params, operands, owned).write(operands)

    def _branches(self) -> Branches:
        """Return what writes branches among the steps of this body."""
        return Branches(self.lines, lambda graph, inputs: _Body(self.lines, graph).run(inputs), Sizes(self._variable))

    def _write_rows(self, node: Node, rows: Graph) -> list[Array]:
        """Write the loop of all examples of a batch."""
        operands = [self.env[v] for v in node.inputs]
        self.lines.settle_computed(*operands)
        ends = _Body(self.lines, rows).run([unowned(x) for x in operands])
        own = [not x.dims or (x.buffer is not None and x.buffer.owned) for x in ends]
        return [x if is_own else self.lines.copied(again(x)) for x, is_own in zip(ends, own, strict=True)]


def is_sparse_sum(node: Node, operands: Sequence[Array]) -> bool:
    """Return whether one of two operands of a sum has parts that are added to the other, of the same sizes."""
    x, y = operands
    extents, others = [v.meta.extents for v in node.inputs]
    is_same = x.dims == y.dims or (extents == others and all(isinstance(e, Exact) for e in extents))
    return bool(x.dims) and is_same and (x.has_parts or y.has_parts)


class _Loop:
    """Writes a loop. Carries are locals: numbers, or pointers to memory that trips write to."""

    def __init__(
        self, outer: _Body, op: Op, params: dict[str, Any], operands: Sequence[Array], owned: set[int]
    ) -> None:
        self.lines, self.op, self.params, self.owned = outer.lines, op, params, owned
        self.is_scan = op is scan_op
        self.layout = Layout(*params["layout"]) if self.is_scan else Layout(params["carries"])
        self.body: Graph = params["body"][0] if self.is_scan else params["loop"][1]
        self.reverse = self.is_scan and params["reverse"]
        self.operands = operands
        if params["slots"]:
            raise NotExpressible("a loop with checkpoint slots")
        layout = Layout(self.layout.carries)
        self.changing = {k for k, changes in enumerate(changing_carries(self.body, layout)) if changes}
        self.varying = varying_variables(self.body, self.layout)
        self.locals: dict[Any, str] = {}  # of sizes of carries that trips change
        self.owned -= self.changing
        self.sizes = Sizes(self._variable)
        self.zeros = set[str]()  # rows of zeros, whose number the run decides

    def _variable(self, leaf: Any) -> str:
        """Return the text of a size that is the same in all trips."""
        for source in self.body.dims:
            axis = as_atom(source.size)
            if source.variable is leaf and leaf not in self.varying and isinstance(axis, InputAxis):
                is_element = self.layout.stacks.start <= axis.operand < self.layout.stacks.stop
                return self.operands[axis.operand].dims[axis.axis + is_element]
        raise NotExpressible(f"results of the size {leaf} in each iteration")

    def write(self, operands: Sequence[Array], stacks: Sequence[Array | None] = ()) -> list[Array]:
        """Write the loop over these operands, and return its results; `stacks` is memory of results that is passed."""
        lines = self.lines
        carries = [self._carry(k, x) for k, x in enumerate(operands[: self.layout.carries])]
        columns = [self._column(k, stack) for k, stack in enumerate(stacks or [None] * self._added())]
        body, outermost = _Body(lines, self.body), lines.collect()
        self._write_ahead(body, operands)
        before = lines.collect()
        outer_allocates, lines.allocates = lines.allocates, False
        nexts = self._write_trip(body, operands, carries, columns)
        own = [x.at(()) if x.buffer is None else x.buffer.name for x in carries]
        trip = with_calls_alone(with_shared_memory(lines.end(before)), own)
        allocates, lines.allocates = lines.allocates, outer_allocates or lines.allocates or bool(nexts)
        for k, local in nexts.items():
            kind = carries[k].kind
            lines.add(f"{kind} *{local} = as_alloc(&arena, {product(carries[k].dims)} * (int64_t)sizeof({kind}));")
            lines.add(f"if (!{local}) AS_FAIL")
        self._write_loop(operands, carries, trip, allocates)
        block = lines.end(outermost)
        if self.is_scan:
            lines.add(f"if ({operands[self.layout.stacks.start].dims[0]} > 0) {{", *block, "}")
        else:
            lines.add("do {", *self._test(operands, carries), *block, "} while (0);")
        return [*self._ends(operands, carries, nexts), *[self._collected(k, c) for k, c in enumerate(columns)]]

    def _added(self) -> int:
        """Return how many results the loop has besides its last carries: a mask of the trips of a `while` too."""
        count = len(self.body.outputs) - self.layout.carries
        return count + (not self.is_scan and count > 0)

    def _is_joined(self, k: int) -> bool:
        """Return whether trips add pieces of several rows to a column."""
        return k >= self._added() - self.params["joined"]

    def _carry(self, k: int, x: Array) -> Array:
        """Write the local of a carry, before the first trip."""
        lines, local = self.lines, self.lines.name("c")
        if not x.dims:
            lines.add(f"{x.kind} {local} = {x.at(())};")
            return scalar(x.dtype, local)
        memory = x if k in self.owned else lines.copied(again(x))
        assert memory.buffer is not None
        lines.add(f"{x.kind} *{local} = {memory.buffer.name};")
        for variable, n in zip(self._variables(k), x.dims, strict=True):
            if variable in self.varying and variable not in self.locals:
                self.locals[variable] = lines.name("w")
                lines.add(f"int64_t {self.locals[variable]} = {n};")
        dims = [self.locals.get(v, n) for v, n in zip(self._variables(k), x.dims, strict=True)]
        return whole(x.dtype, tuple(dims), Buffer(local, True))

    def _variables(self, k: int) -> list[Any]:
        """Return for each axis of an input of the body the variable that is its size, None where it is none."""
        return [as_atom(e.size) if isinstance(e, Exact) else None for e in self.body.inputs[k].meta.extents]

    def _column(self, k: int, stack: Array | None) -> Array | str:
        """Return the memory of what trips add, or the local of rows whose number the run decides."""
        lines = self.lines
        if stack is not None:
            return stack
        meta = self._added_meta(k)
        if self.is_scan and not self._is_joined(k):
            rows = tuple([lines.size(self.sizes.text(e.size)) for e in meta.extents if isinstance(e, Exact)])
            length = self.operands[self.layout.stacks.start].dims[0]
            return lines.allocated(meta.dtype, (length, *rows))
        local = lines.grown()
        lines.add(f"{local}.count = {local}.bytes = 0;")
        return local

    def _added_meta(self, k: int) -> TensorMeta:
        """Return the type of what a trip adds to a column."""
        if not self.is_scan:
            if k == 0:
                return TensorMeta(BOOL, ())
            k -= 1
        return self.body.outputs[self.layout.carries + k].meta

    def _write_ahead(self, body: _Body, operands: Sequence[Array]) -> None:
        """Write what no trip changes, before the first one."""
        captured = range(self.layout.own, len(self.body.inputs))
        sizes = {}
        for source in self.body.dims:
            with contextlib.suppress(NotExpressible):
                sizes[source.variable] = self._variable(source.variable)
        body.run_ahead({self.body.inputs[k]: unowned(operands[k]) for k in captured}, sizes)

    def _write_trip(
        self, body: _Body, operands: Sequence[Array], carries: Sequence[Array], columns: Sequence[Array | str]
    ) -> dict[int, str]:
        """Write what a trip does; return the locals of memory for carries that it makes anew."""
        lines = self.lines
        self.trip = lines.name("t")
        count = len(self.body.inputs)
        captured = [unowned(x) for x in operands[self.layout.own : count]]
        inputs = [*carries, *[self._element(x) for x in operands[self.layout.stacks]]]
        inputs += [
            self._piece(k, x, operands) for k, x in enumerate(operands[self.layout.stacks.stop : self.layout.own])
        ]
        results = body.run([*inputs, *captured])
        made_at = {v: node.where for node in self.body.nodes for v in node.outputs}
        added = [(y, made_at.get(v)) for y, v in zip(results, self.body.outputs, strict=True)][self.layout.carries :]
        if not self.is_scan and added:
            added = [(scalar(BOOL, "1"), None), *added]
        for k, (column, (y, where)) in enumerate(zip(columns, added, strict=True)):
            lines.note(where)
            self._add(k, column, y)
        return self._advance(carries, results[: self.layout.carries])

    def _element(self, x: Array) -> Array:
        """Return the element of a stack that a trip reads."""
        element = self._part(x, self.trip, x.dims[1:], lambda i: x.at([self.trip, *i]))
        return element if element.dims else self.lines.scalar(x.dtype, element.at(()))

    def _part(self, x: Array, first: str, dims: Texts, at: At) -> Array:
        """Return what stands in an array from a row on: memory itself where the array is, without a copy."""
        if x.buffer is None or not dims:
            return derived(x, dims, at)
        local = self.lines.name("p")
        self.lines.add(f"{x.kind} *{local} = {x.buffer.name} + {product((first, *x.dims[1:]))};")
        return whole(x.dtype, dims, Buffer(local, False))

    def _piece(self, k: int, x: Array, operands: Sequence[Array]) -> Array:
        """Return the piece of a joined array that a trip reads."""
        lines, offset = self.lines, f"{self.trip}_{k}"
        lengths = operands[len(self.body.inputs) + k]
        length = lines.size(f"({lengths.at([self.trip])})")
        if self.reverse:
            lines.add(f"{offset} -= {length};")
            begin = offset
        else:
            begin = lines.name("n")
            lines.add(f"const int64_t {begin} = {offset};", f"{offset} += {length};")
        lines.add(f"if ({length} < 0 || {begin} < 0 || {begin} + {length} > {x.dims[0]}) AS_FAIL")
        return self._part(x, begin, (length, *x.dims[1:]), lambda i: x.at([f"{begin} + {i[0]}", *i[1:]]))

    def _add(self, k: int, column: Array | str, y: Array) -> None:
        """Write the result of a trip where it belongs."""
        lines = self.lines
        if isinstance(column, Array):
            lines.filled(Array(y.dtype, y.dims, lambda i: column.at([self.trip, *i])), y)
            return
        rows = y.dims[0] if self._is_joined(k) else "1"
        if y.is_zero:  # which needs no memory
            self.zeros.add(column)
            lines.add(f"{column}.count += {rows};")
            return
        local = lines.name("p")
        grow = "as_grow_down" if self.reverse else "as_grow"
        lines.add(f"{y.kind} *{local} = {grow}(&{column}, {rows}, {bytes_of(y.dims, y.kind)});")
        lines.add(f"if (!{local}) AS_FAIL")
        if y.dims:
            lines.filled(whole(y.dtype, y.dims, Buffer(local, True)), y)
        else:
            lines.add(f"*{local} = {y.at(())};")

    def _advance(self, carries: Sequence[Array], results: Sequence[Array]) -> dict[int, str]:
        """Write the lines that make results of a trip the carries of the next one."""
        lines, nexts, moves = self.lines, dict[int, str](), []
        for k, (carry, y) in enumerate(zip(carries, results, strict=True)):
            local = carry.at(()) if not carry.dims else ""
            if carry.dims and y.buffer is not carry.buffer:
                moves += self._replaced(k, carry, y, nexts)
            elif not carry.dims and (text := y.at(())) != local:
                value = lines.name("v")
                lines.add(f"const {carry.kind} {value} = {text};")
                moves.append(f"{local} = {value};")
        after = {v: n for k in self.changing for v, n in zip(self._variables(k), results[k].dims)}
        for variable, local in self.locals.items():
            if after[variable] != local:
                value = lines.name("n")
                lines.add(f"const int64_t {value} = {after[variable]};")
                moves.append(f"{local} = {value};")
        lines.add(*moves)
        return nexts

    def _replaced(self, k: int, carry: Array, y: Array, nexts: dict[int, str]) -> list[str]:
        """Write a carry that a trip makes anew to its other memory; return the lines that let both change places."""
        lines, pointer = self.lines, carry.buffer.name  # type: ignore[union-attr]
        if k not in self.changing:
            nexts[k] = lines.name("q")
            if y.buffer is None or not lines.moved(y.buffer, nexts[k]):
                lines.filled(whole(carry.dtype, carry.dims, Buffer(nexts[k], True)), y)
            return [f"{{ {carry.kind} *z = {pointer}; {pointer} = {nexts[k]}; {nexts[k]} = z; }}"]
        one, other, local = lines.grown(), lines.grown(), lines.name("q")
        size = bytes_of(y.dims, carry.kind)
        lines.add(f"{one}.bytes = 0;", f"{carry.kind} *{local} = as_grow(&{one}, 0, {size});", f"if (!{local}) AS_FAIL")
        lines.filled(whole(carry.dtype, y.dims, Buffer(local, True)), y)
        return [f"{pointer} = {local};", f"{{ as_rows z = {one}; {one} = {other}; {other} = z; }}"]

    def _write_loop(
        self, operands: Sequence[Array], carries: Sequence[Array], trip: list[str], allocates: bool
    ) -> None:
        """Write the loop around its trip, which looks for signals now and then."""
        lines, mark = self.lines, self.lines.name("m")
        is_long = any("for (" in line for line in trip)
        if self.is_scan:
            head = self._head(operands, is_long)
            first, last = (["AS_TICK(64)"], ["if (declined) AS_FAIL"]) if is_long else ([], [])
        else:
            head = f"for (int64_t {self.trip} = 0;; {self.trip}++) {{"
            first, last = [*self._test(operands, carries), "AS_TICK(1)", "if (declined) AS_FAIL"], []
        if allocates:
            first, last = [f"const as_mark {mark} = as_marked(arena);", *first], [*last, f"as_release(&arena, {mark});"]
        lines.add(
            head, *[f"    {line}" for line in (*first, *trip, *last)], "}" if is_long or not self.is_scan else "}}"
        )

    def _head(self, operands: Sequence[Array], is_long: bool) -> str:
        """Return the head of a loop over stacks; offsets into joined arrays begin before. Short trips run in blocks."""
        n, t = operands[self.layout.stacks.start].dims[0], self.trip
        for k, x in enumerate(operands[self.layout.stacks.stop : self.layout.own]):
            self.lines.add(f"int64_t {t}_{k} = {x.dims[0] if self.reverse else '0'};")
        low, high = ("0", n) if is_long else (f"{t}_low", f"{t}_high")
        head = f"for (int64_t {t} = {high} - 1; {t} >= {low}; {t}--) {{"
        if not self.reverse:
            head = f"for (int64_t {t} = {low}; {t} < {high}; {t}++) {{"
        if is_long:
            return head
        step = f"const int64_t {low} = {t}_at * {TRIPS}, {high} = as_min({low} + {TRIPS}, {n});"
        blocks = f"({n} + {TRIPS - 1}) / {TRIPS}"
        number = f"{blocks} - 1 - {t}_block" if self.reverse else f"{t}_block"
        self.lines.add(f"for (int64_t {t}_block = 0; {t}_block < {blocks}; {t}_block++) {{")
        self.lines.add(f"const int64_t {t}_at = {number};", step, f"AS_TICK({high} - {low})")
        return head

    def _test(self, operands: Sequence[Array], carries: Sequence[Array]) -> list[str]:
        """Return the lines that end a loop where its condition does not hold."""
        lines = self.lines
        before = lines.collect()
        (test,) = _Body(lines, self.params["loop"][0]).run([*carries, *map(unowned, operands[len(carries) :])])
        lines.add(f"if (!({test.at(())})) break;")
        return lines.end(before)

    def _ends(self, operands: Sequence[Array], carries: Sequence[Array], nexts: dict[int, str]) -> list[Array]:
        """Return the last carries. Those that began in memory of the outer loop are there again."""
        lines, ends = self.lines, []
        for k, (x, carry) in enumerate(zip(operands, carries, strict=False)):
            if not carry.dims or k not in self.owned:
                ends.append(carry)  # one that changes size may be in memory that the next run of the loop writes to
                continue
            assert x.buffer is not None and carry.buffer is not None
            mine, own = carry.buffer.name, x.buffer.name
            if k in nexts:
                lines.add(f"if ({mine} != {own}) memcpy({own}, {mine}, {product(x.dims)} * sizeof({x.kind}));")
            ends.append(whole(x.dtype, x.dims, x.buffer))
        return ends

    def _collected(self, k: int, column: Array | str) -> Array:
        """Return what the trips have added."""
        if isinstance(column, Array):
            return column
        lines, meta = self.lines, self._added_meta(k)
        rest = meta.extents[1:] if self._is_joined(k) else meta.extents
        count = lines.name("n")
        if self.reverse:
            lines.add(f"as_grown_down(&{column});")
        lines.add(f"const int64_t {count} = {column}.count;")
        dims = [count]
        dims += [lines.size(self.sizes.text(e.size)) for e in rest if isinstance(e, Exact)]
        if column in self.zeros:
            zeros = Array(meta.dtype, tuple(dims), lambda _: "0", adds=nothing)
            lines.rows[zeros] = column
            return zeros
        buffer = Buffer(f"(({kind_of(meta.dtype)} *){column}.data)", False)
        lines.rows[buffer] = column
        return whole(meta.dtype, tuple(dims), buffer)
