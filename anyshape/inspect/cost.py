"""What a program costs: operations and bytes of each node and in all, as sizes over the dims of the program.

The counting convention is that of `anyshape.ops.flop_counts`. A cost is exact where all its extents are exact, an upper
bound where they are bounds, and unknown where one of them is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.compiler.plan import Plan
from anyshape.errors import ArgumentError, SizeLimitError
from anyshape.graph.ir.graph import Graph, Node
from anyshape.graph.prover.claim_text import SizeNames
from anyshape.graph.prover.models import nearest
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound, project
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import evaluate, values_from
from anyshape.graph.sizes.expr import DimVar, Leaf, Size, leaves_of
from anyshape.graph.sizes.substitute import substitute_leaves
from anyshape.ops.flop_counts import Applied, CeilLog2, OpCost, Shape, UnknownSizeError, ceil_log2, elements, find_cost


@dataclass(frozen=True, slots=True)
class Cost:
    """Operations on elements, bytes read and bytes written, each with its guarantee as extents have it."""

    flops: ShapeExtent
    bytes_read: ShapeExtent
    bytes_written: ShapeExtent

    def parts(self) -> tuple[ShapeExtent, ShapeExtent, ShapeExtent]:
        return self.flops, self.bytes_read, self.bytes_written

    def __str__(self) -> str:
        return f"{self.flops} flops, {self.bytes_read} bytes read, {self.bytes_written} bytes written"


@dataclass(frozen=True)
class ProgramCost:
    """The cost of each node, in the order of the graph, and of all of them; `peak_bytes` are alive at once at most.

    The bound is for arguments in C order: of others nothing runs in tiles, so more values are arrays (with `max_bytes`,
    which is met in any order, they do). Sizes that depend on data are taken for their bounds, so all are formulas in
    the dims of the program. A product of several operands of which no order is best at all sizes counts in the one that
    is for usual sizes: calls whose sizes choose another compute less, and may take more memory, which `at` counts in:
    it asks the `program` for that order.
    """

    graph: Graph
    nodes: tuple[Cost, ...]
    total: Cost
    peak_bytes: ShapeExtent
    program: Any = field(default=None, repr=False, compare=False)

    @property
    def flops(self) -> ShapeExtent:
        return self.total.flops

    @property
    def bytes_read(self) -> ShapeExtent:
        return self.total.bytes_read

    @property
    def bytes_written(self) -> ShapeExtent:
        return self.total.bytes_written

    def at(self, sizes: Mapping[str, int]) -> ProgramCost:
        """The same with numbers: `sizes` gives one for each dim of the program, by name."""
        values = self._values(sizes)

        def number(extent: ShapeExtent) -> ShapeExtent:
            return extent if isinstance(extent, Unknown) else type(extent)(value_at(extent.size, values))

        nodes = tuple([Cost(*map(number, c.parts())) for c in self.nodes])
        most = number(self.peak_bytes)
        if self.program is not None:
            plan, threads, kept = self.program.plan_at(values), self.program.threads, self.program.shape_constant_bytes
            most = _larger(most, number(peak(self.graph, [plan], threads, kept)))
        return ProgramCost(self.graph, nodes, total(nodes), most)

    def _values(self, sizes: Mapping[str, int]) -> dict[DimVar, int]:
        """A number for each dim, such that the program takes them."""
        values: dict[DimVar, int] = {}
        variables = [v for v in variables_of(self.graph) if v not in self.graph.runtime]
        names = [v.label for v in variables]
        for name in [n for n in sizes if n not in names]:
            self._refuse(f"gives {name!r}, which is no dim of the program", f"give {', '.join(names) or 'none'}")
        for variable in variables:
            size = sizes.get(variable.label)
            if not isinstance(size, int) or size != nearest(variable, size):
                found = f"gives {size!r} for {variable}" if variable.label in sizes else f"does not give {variable}"
                self._refuse(found, f"give an integer {range_of(variable)}")
            values[variable] = int(size)
        for condition in self.graph.conditions:
            if not all(v in values for v in condition.claim.variables()):
                continue  # of a size that depends on data
            if not condition.claim.holds(values_from(values)):
                raise condition.error(values, SizeNames())
        return values

    def _refuse(self, problem: str, advice: str) -> NoReturn:
        raise ArgumentError(f"cost of {self.graph.name or 'program'}", "sizes", problem, advice)

    def __str__(self) -> str:
        rows = [f"  {node.op}: {cost}" for node, cost in zip(self.graph.nodes, self.nodes, strict=True)]
        name = self.graph.name or "program"
        return "\n".join([f"{name}: {self.total}, {self.peak_bytes} bytes at most at once", *rows])


def cost(program: Any) -> ProgramCost:
    """What a program, or a graph, costs."""
    graph: Graph = program if isinstance(program, Graph) else program.graph
    nodes = tuple([_without_data(graph, _of_node(node)) for node in graph.nodes])
    if isinstance(program, Graph):
        return ProgramCost(graph, nodes, total(nodes), peak(graph, [lower(graph)]))
    found = peak(graph, program.plans(), program.threads, program.shape_constant_bytes)
    return ProgramCost(graph, nodes, total(nodes), found, program if program.chooses_paths else None)


def peak(graph: Graph, plans: Iterable[Plan], threads: int | None = None, kept: Size = 0) -> ShapeExtent:
    """The bytes that a run of a graph allocates at most by any of the plans, over the sizes of its inputs.

    A run whose plan keeps what depends on sizes alone holds that, and what the other plan would.
    """
    sizes = [peak_bytes(plan, threads).size for plan in plans]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return Unknown()
    most = expr.maximum(*known) if len(known) > 1 else known[0]
    return _projected(graph, UpperBound(expr.add(most, kept)))


def _larger(a: ShapeExtent, b: ShapeExtent) -> ShapeExtent:
    unknown = isinstance(a, Unknown) or isinstance(b, Unknown)
    return Unknown() if unknown else UpperBound(expr.maximum(a.size, b.size))  # type: ignore[union-attr]


def bound(graph: Graph, size: Size | None) -> Size | None:
    """A number of bytes over the sizes of the inputs of a graph, None if no bound of it is known."""
    found = Unknown() if size is None else _projected(graph, UpperBound(size))
    return found.size if isinstance(found, UpperBound) else None


def _without_data(graph: Graph, found: Cost) -> Cost:
    """A cost with sizes that depend on data taken for their bounds."""
    return Cost(*[_projected(graph, e) for e in found.parts()]) if graph.runtime else found


def _projected(graph: Graph, extent: ShapeExtent) -> ShapeExtent:
    bounds = graph.runtime_bounds

    def bound(leaf: Leaf) -> ShapeExtent | None:
        if isinstance(leaf, CeilLog2) and _mentions(leaf.of, bounds.__contains__):
            inner = project(UpperBound(leaf.of), bound)
            return UpperBound(ceil_log2(inner.size)) if isinstance(inner, UpperBound) else Unknown()
        return bounds.get(leaf)

    return project(extent, bound)


def total(costs: Iterable[Cost]) -> Cost:
    """The sum. It is unknown if one part is, and if it has more terms than are worked with."""
    found = list(costs)
    return Cost(*[_sum([c.parts()[i] for c in found]) for i in range(3)])


def variables_of(graph: Graph) -> tuple[DimVar, ...]:
    """The dims of a program, those that its inputs give first; sizes that depend on data too."""
    found = {source.variable: None for source in graph.dims}
    for condition in graph.conditions:
        found.update(dict.fromkeys(condition.claim.variables()))
    for value in graph.numbering:
        for extent in value.meta.extents:
            if not isinstance(extent, Unknown):
                found.update(dict.fromkeys(expr.variables(extent.size)))
    return tuple(found)


def range_of(variable: DimVar) -> str:
    """The declared range: `>= 0`, `from 1 to 512`."""
    return f">= {variable.lower}" if variable.upper is None else f"from {variable.lower} to {variable.upper}"


def value_at(size: Size, values: Mapping[DimVar, int]) -> int:
    """The number that a formula of a cost is at these sizes."""

    def read(leaf: Leaf) -> int:
        if isinstance(leaf, CeilLog2):
            return int(ceil_log2(evaluate(leaf.of, read)))  # type: ignore[arg-type]
        return values[leaf]  # type: ignore[index]

    return evaluate(size, read)


def _sum(parts: list[ShapeExtent]) -> ShapeExtent:
    known = [e for e in parts if not isinstance(e, Unknown)]
    if len(known) < len(parts):
        return Unknown()
    try:
        size = expr.total([e.size for e in known])
    except SizeLimitError:
        return Unknown()
    return Exact(size) if all(isinstance(e, Exact) for e in known) else UpperBound(size)


def _of_node(node: Node) -> Cost:
    return of_op(find_cost(node.op), [v.meta for v in node.inputs], [v.meta for v in node.outputs], dict(node.params))


def of_op(rule: OpCost, inputs: Sequence[TensorMeta], outputs: Sequence[TensorMeta], params: Mapping[str, Any]) -> Cost:
    """What an op costs that is counted by a rule.

    Extents that are not exact take part as sizes of their own, so that the formula shows what it rests on.
    """
    weak: dict[DimVar, ShapeExtent] = {}

    def shape(meta: TensorMeta) -> Shape:
        return tuple([e.size if isinstance(e, Exact) else _stand_in(e, weak) for e in meta.extents])

    applied = Applied(tuple(map(shape, inputs)), tuple(map(shape, outputs)), params)
    counts = [elements(s) for s in applied.inputs]
    if rule.reads_first is not None:
        counts[0] = rule.reads_first(applied)
    read = expr.total([expr.mul(n, m.dtype.itemsize) for n, m in zip(counts, inputs, strict=True)])
    written = expr.total(
        [expr.mul(elements(s), m.dtype.itemsize) for s, m in zip(applied.outputs, outputs, strict=True)]
    )
    return Cost(_flops(rule, applied, weak), _with_guarantee(read, weak), _with_guarantee(written, weak))


def _flops(rule: OpCost, applied: Applied, weak: Mapping[DimVar, ShapeExtent]) -> ShapeExtent:
    """Return the operations with their guarantee."""
    try:
        flops = _with_guarantee(rule.flops(applied), weak)
    except UnknownSizeError:
        return Unknown()
    return UpperBound(flops.size) if rule.bound and isinstance(flops, Exact) else flops


def _stand_in(extent: ShapeExtent, weak: dict[DimVar, ShapeExtent]) -> Size:
    variable = DimVar("?")
    weak[variable] = extent
    return expr.from_atom(variable)


def _with_guarantee(size: Size, weak: Mapping[DimVar, ShapeExtent]) -> ShapeExtent:
    """What a formula is worth: as much as the weakest extent in it."""
    met: list[ShapeExtent] = []

    def replace(leaf: Leaf) -> Size | None:
        if isinstance(leaf, CeilLog2):
            return ceil_log2(substitute_leaves(leaf.of, replace))
        extent = weak.get(leaf) if isinstance(leaf, DimVar) else None
        if extent is not None:
            met.append(extent)
        return extent.size if isinstance(extent, (Exact, UpperBound)) else None

    bound = substitute_leaves(size, replace) if _mentions(size, weak.__contains__) else size
    if any(isinstance(e, Unknown) for e in met):
        return Unknown()
    return UpperBound(bound) if met else Exact(bound)


def _mentions(size: Size, wanted: Callable[[Any], bool]) -> bool:
    return any(wanted(leaf) or (isinstance(leaf, CeilLog2) and _mentions(leaf.of, wanted)) for leaf in leaves_of(size))
