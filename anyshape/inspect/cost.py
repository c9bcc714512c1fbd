"""Cost of a program: operations and bytes of each node and in total, as size expressions over its dims.

`anyshape.ops.core.flop_counts` has the counting convention. A cost is exact where all its extents are exact, an upper
bound where some are bounds, and unknown where one is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, NoReturn

from anyshape.backend.compiler.lower import lower
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.compiler.plan import Plan
from anyshape.errors import ArgumentError, SizeLimitError
from anyshape.graph.ir.graph import Graph, Node
from anyshape.graph.prover.constraints import SizeNames
from anyshape.graph.prover.models import nearest
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound, project
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Leaf, Size, leaves_of
from anyshape.graph.sizes.substitute import computable, evaluate, substitute_leaves, values_from
from anyshape.ops.core.flop_counts import COSTS, Applied, CeilLog2, OpCost, Shape, UnknownSizeError, ceil_log2, elements
from anyshape.support.lazy_dataclass import dataclass
from anyshape.support.packages import notebook


@dataclass(frozen=True, slots=True)
class Cost:
    """Operations on elements, bytes read and bytes written, each as an extent."""

    flops: ShapeExtent
    bytes_read: ShapeExtent
    bytes_written: ShapeExtent

    def parts(self) -> tuple[ShapeExtent, ShapeExtent, ShapeExtent]:
        return self.flops, self.bytes_read, self.bytes_written

    def __str__(self) -> str:
        return f"{self.flops} flops, {self.bytes_read} bytes read, {self.bytes_written} bytes written"


@dataclass(frozen=True)
class ProgramCost:
    """Costs of the nodes, in the order of the graph, their total, and `peak_bytes`, a bound of the memory of a run.

    - The bound holds for arguments in C order. Other arguments do not run in tiles, except under `max_bytes`, so more
      values become arrays.
    - Run-time sizes count as their bounds. One without a bound stays in the formulas, such as the trips of a loop.
    - A product without a best contraction path at all sizes counts along the default path. A call that chooses another
      path computes less and may take more memory; `at` asks the `program` for that path.
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
        """Return the same with numbers: `sizes` gives one for each dim of the program, by name.

        Run-time sizes may be given too. Formulas over one that is not become unknown.
        """
        values = self._values(sizes)

        def number(extent: ShapeExtent) -> ShapeExtent:
            if isinstance(extent, Unknown) or _mentions(extent.size, lambda v: type(v) is DimVar and v not in values):
                return Unknown()
            return type(extent)(value_at(extent.size, values))

        nodes = tuple([Cost(*map(number, c.parts())) for c in self.nodes])
        most = number(self.peak_bytes)
        if self.program is not None:
            of_inputs = {v: n for v, n in values.items() if v not in self.graph.runtime}
            plan, constants = self.program.plan_at(of_inputs), self.program.shape_constant_bytes
            most = _larger(most, number(peak(self.graph, [plan], self.program.threads, constants)))
        return ProgramCost(self.graph, nodes, total(nodes), most)

    def _values(self, sizes: Mapping[str, int]) -> dict[DimVar, int]:
        """Return a size for each dim and each run-time size given; raise an error for sizes that do not fit."""
        variables = [v for v in variables_of(self.graph) if v not in self.graph.runtime or v.label in sizes]
        names = [v.label for v in variables]
        if (unknown := next(iter(sizes.keys() - names), None)) is not None:
            self._refuse(f"gives {unknown!r}, which is not a dim of the program", f"give {', '.join(names) or 'none'}")
        values = {variable: self._value(variable, sizes) for variable in variables}
        known = [c for c in self.graph.conditions if values.keys() >= {*c.claim.variables()}]  # not of run-time sizes
        for condition in known:
            if not condition.claim.holds(values_from(values)):
                raise condition.error(values, SizeNames())
        return values

    def _value(self, variable: DimVar, sizes: Mapping[str, int]) -> int:
        """Return the size of one dim; raise ArgumentError if it is missing or out of range."""
        if not isinstance(size := sizes.get(variable.label), int) or size != nearest(variable, size):
            problem = f"gives {size!r} for {variable}" if variable.label in sizes else f"does not give {variable}"
            self._refuse(problem, f"give an integer {range_of(variable)}")
        return int(size)

    def _refuse(self, problem: str, advice: str) -> NoReturn:
        raise ArgumentError(f"cost of {self.graph.name or 'program'}", "sizes", problem, advice)

    def __repr__(self) -> str:
        text: str = notebook.first_lines(str(self), "print it, or take its nodes")
        return text

    def _repr_html_(self) -> str:
        """Return a table for notebooks, in the order of the program."""
        html: str = notebook.cost_html(self)
        return html

    def __str__(self) -> str:
        rows = [f"  {node.op}: {cost}" for node, cost in zip(self.graph.nodes, self.nodes, strict=True)]
        name = self.graph.name or "program"
        return "\n".join([f"{name}: {self.total}, {self.peak_bytes} bytes at most at once", *rows])


def cost(program: Any) -> ProgramCost:
    """Return the cost of a program or a graph."""
    graph: Graph = program if isinstance(program, Graph) else program.graph
    nodes = costs_of_nodes(graph)
    if isinstance(program, Graph):
        return ProgramCost(graph, nodes, total(nodes), peak(graph, [lower(graph)]))
    most = peak(graph, program.plans(), program.threads, program.shape_constant_bytes)
    return ProgramCost(graph, nodes, total(nodes), most, program if program.chooses_paths else None)


def costs_of_nodes(graph: Graph) -> tuple[Cost, ...]:
    """Return the cost of each node of a graph."""
    return tuple([_without_data(graph, _of_node(node)) for node in graph.nodes])


def peak(graph: Graph, plans: Iterable[Plan], threads: int | None = None, constants: Size = 0) -> ShapeExtent:
    """Return the bytes that a run of a graph allocates at most by any of the plans, over the sizes of its inputs.

    `constants` are the bytes of shape constants, which a run holds besides.
    """
    sizes = [peak_bytes(plan, threads).size for plan in plans]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return Unknown()
    most = expr.maximum(*known) if len(known) > 1 else known[0]
    return _projected(graph, UpperBound(expr.add(most, constants)), unbounded=True)


def _larger(a: ShapeExtent, b: ShapeExtent) -> ShapeExtent:
    unknown = isinstance(a, Unknown) or isinstance(b, Unknown)
    return Unknown() if unknown else UpperBound(expr.maximum(a.size, b.size))  # type: ignore[union-attr]


def bound(graph: Graph, size: Size | None) -> Size | None:
    """Return a number of bytes over the sizes of the inputs of a graph, None if no bound of it is known."""
    projected = Unknown() if size is None else _projected(graph, UpperBound(size))
    return projected.size if isinstance(projected, UpperBound) else None


def _without_data(graph: Graph, node_cost: Cost) -> Cost:
    """Return a cost with the bounds of run-time sizes in place of these sizes."""
    return Cost(*[_projected(graph, e, unbounded=True) for e in node_cost.parts()]) if graph.runtime else node_cost


def _projected(graph: Graph, extent: ShapeExtent, *, unbounded: bool = False) -> ShapeExtent:
    """Return an extent with the bounds of run-time sizes in their place; `unbounded` keeps the ones without a bound."""
    bounds = graph.runtime_bounds
    if unbounded:
        bounds = {leaf: known for leaf, known in bounds.items() if not isinstance(known, Unknown)}

    def bound(leaf: Leaf) -> ShapeExtent | None:
        if isinstance(leaf, CeilLog2) and _mentions(leaf.of, bounds.__contains__):
            inner = project(UpperBound(leaf.of), bound)
            return UpperBound(ceil_log2(inner.size)) if isinstance(inner, UpperBound) else Unknown()
        return bounds.get(leaf)

    return project(extent, bound)


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum, unknown if one part is or if it exceeds the limit of terms."""
    parts = [c.parts() for c in costs]
    return Cost(*[_sum([p[i] for p in parts]) for i in range(3)])


def variables_of(graph: Graph) -> tuple[DimVar, ...]:
    """Return the dims of a program and its run-time sizes, dims first."""
    variables = {source.variable: None for source in graph.dims}
    for condition in graph.conditions:
        variables.update(dict.fromkeys(condition.claim.variables()))
    for value in graph.numbering:
        for extent in value.meta.extents:
            if not isinstance(extent, Unknown):
                variables.update(dict.fromkeys(expr.variables(extent.size)))
    return tuple(variables)


def range_of(variable: DimVar) -> str:
    """Return the declared range: `>= 0`, `from 1 to 512`."""
    return f">= {variable.lower}" if variable.upper is None else f"from {variable.lower} to {variable.upper}"


def value_at(size: Size, values: Mapping[DimVar, int]) -> int:
    """Return the value of a cost formula at these sizes."""

    def read(leaf: Leaf) -> int:
        if isinstance(leaf, CeilLog2):
            return int(ceil_log2(evaluate(leaf.of, read)))  # type: ignore[arg-type]
        return values[leaf]  # type: ignore[index]

    return evaluate(computable(size), read)


def _sum(parts: Sequence[ShapeExtent]) -> ShapeExtent:
    known = [e for e in parts if not isinstance(e, Unknown)]
    if len(known) < len(parts):
        return Unknown()
    try:
        size = expr.total([e.size for e in known])
    except SizeLimitError:
        return Unknown()
    return Exact(size) if all(isinstance(e, Exact) for e in known) else UpperBound(size)


def _of_node(node: Node) -> Cost:
    return of_op(COSTS[node.op], [v.meta for v in node.inputs], [v.meta for v in node.outputs], dict(node.params))


def of_op(rule: OpCost, inputs: Sequence[TensorMeta], outputs: Sequence[TensorMeta], params: Mapping[str, Any]) -> Cost:
    """Return the cost of an op by its rule.

    Inexact extents enter the formula as variables of their own, so that the guarantee follows from the formula.
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
    """Return a formula with the guarantee of the weakest extent in it."""
    inexact: list[ShapeExtent] = []

    def replace(leaf: Leaf) -> Size | None:
        if isinstance(leaf, CeilLog2):
            return ceil_log2(substitute_leaves(leaf.of, replace))
        extent = weak.get(leaf) if isinstance(leaf, DimVar) else None
        if extent is not None:
            inexact.append(extent)
        return extent.size if isinstance(extent, (Exact, UpperBound)) else None

    bound = substitute_leaves(size, replace) if _mentions(size, weak.__contains__) else size
    if any(isinstance(e, Unknown) for e in inexact):
        return Unknown()
    return UpperBound(bound) if inexact else Exact(bound)


def _mentions(size: Size, wanted: Callable[[Any], bool]) -> bool:
    return any(wanted(leaf) or (isinstance(leaf, CeilLog2) and _mentions(leaf.of, wanted)) for leaf in leaves_of(size))
