"""What a drawing of a program shows, before it is HTML or Graphviz: boxes, edges and conditions, with their texts."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from anyshape.graph.ir.graph import DimSource, Graph, Node, Value
from anyshape.graph.ir.printer import show_param, value_names
from anyshape.graph.prover.constraints import Condition, SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, UpperBound, short_dtype
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis, RuntimeScalar
from anyshape.inspect.cost import Cost, ProgramCost, cost

Kind = Literal["input", "hidden", "constant", "node", "result"]
Guarantee = Literal["exact", "bound", "unknown"]


@dataclass(frozen=True, slots=True)
class Box:
    """An input, a constant, an application of an op, or a result; `values` are what it gives, by name."""

    number: int
    kind: Kind
    title: str
    values: tuple[tuple[str, TensorMeta], ...]
    params: tuple[tuple[str, str], ...] = ()
    where: SourceLine | None = None
    cost: Cost | None = None
    subgraphs: tuple[str, ...] = ()  # as text

    @property
    def guarantee(self) -> Guarantee:
        """That of the weakest extent."""
        found = {guarantee(e) for _, meta in self.values for e in meta.extents}
        return "unknown" if "unknown" in found else "bound" if "bound" in found else "exact"


@dataclass(frozen=True, slots=True)
class Edge:
    """A value that a box reads, as its operand `port`; of `sizes_only`, no element is read."""

    tail: int
    head: int
    name: str
    port: int
    sizes_only: bool = False


@dataclass(frozen=True)
class Picture:
    """All that a drawing shows of a program."""

    graph: Graph
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    costs: ProgramCost

    @property
    def name(self) -> str:
        return self.graph.name or "program"

    def boxes_of(self, condition: Condition, *, line: bool = False) -> tuple[int, ...]:
        """The boxes of the line that a condition comes from: those of its op, or all of the line where none is."""
        if condition.where is None:
            return ()
        place = condition.where.file, condition.where.line
        here = [b for b in self.boxes if b.where is not None and (b.where.file, b.where.line) == place]
        own = [b for b in here if b.title == condition.primitive and not line]
        return tuple(b.number for b in own or here)


def guarantee(extent: ShapeExtent) -> Guarantee:
    """What is guaranteed of an axis, in a word."""
    return "exact" if isinstance(extent, Exact) else "bound" if isinstance(extent, UpperBound) else "unknown"


def picture(program: Any) -> Picture:
    """What a drawing shows of a program or a graph."""
    graph: Graph = program if isinstance(program, Graph) else program.graph
    names, costs = value_names(graph), cost(graph)
    boxes: list[Box] = []
    maker: dict[Value, int] = {}

    def add(kind: Kind, title: str, values: Sequence[Value], **more: Any) -> Box:
        box = Box(len(boxes), kind, title, tuple([(names[v], v.meta) for v in values]), **more)
        boxes.append(box)
        return box

    given = len(graph.inputs) - graph.hidden
    sizes = {graph.inputs[i]: (("size", str(size)),) for i, size in graph.values}
    for i, value in enumerate(graph.inputs):
        box = add("input" if i < given else "hidden", names[value], [value], params=sizes.get(value, ()))
        maker[value] = box.number
    for value, array in graph.constants:
        brief = " ".join(str(array).split())
        box = add(
            "constant", "constant", [value], params=(("value", brief if len(brief) <= 200 else brief[:197] + "..."),)
        )
        maker[value] = box.number
    edges: list[Edge] = []
    for node, spent in zip(graph.nodes, costs.nodes, strict=True):
        params = tuple([(k, show_param(p)) for k, p in node.params])
        inner = tuple([str(g) for g in graph.subgraphs.get(node, ())])
        box = add("node", node.op.name, node.outputs, params=params, where=node.where, cost=spent, subgraphs=inner)
        maker |= dict.fromkeys(node.outputs, box.number)
        edges += _edges(node, box.number, maker, names)
    for i, value in enumerate(graph.outputs):
        box = add("result", f"result {i}" if len(graph.outputs) > 1 else "result", [value])
        edges.append(Edge(maker[value], box.number, names[value], 0))
    return Picture(graph, tuple(boxes), tuple(edges), costs)


def _edges(node: Node, head: int, maker: dict[Value, int], names: dict[Any, str]) -> list[Edge]:
    count = len(node.inputs)
    return [Edge(maker[v], head, names[v], i, sizes_only=i >= count) for i, v in enumerate(node.operands)]


def line_of(where: SourceLine | None) -> str:
    """The text of the line, where its file can be read; a program of unknown origin may name any file as its source."""
    if where is None or not (where.file.endswith(".py") or where.file in linecache.cache):
        return ""
    return linecache.getline(where.file, where.line).strip()


def type_pieces(meta: TensorMeta, longest: int) -> list[tuple[str, str]]:
    """The type of a value as pieces of text, each with its class: a guarantee, or none. Long extents are cut."""
    pieces = [(f"{short_dtype(meta.dtype)}[", "")]
    for i, extent in enumerate(meta.extents):
        text = str(extent)
        pieces += [(", ", "")] if i else []
        pieces.append((text if len(text) <= longest else text[: longest - 1] + "…", guarantee(extent)))
    return [*pieces, ("]", "")]


def source_of(graph: Graph, source: DimSource) -> str:
    """Where a call finds a variable, in terms of the arguments."""
    names = [*graph.input_names, *[f"args[{i}]" for i in range(len(graph.input_names), len(graph.inputs))]]

    def leaf_text(leaf: Any) -> str:
        if isinstance(leaf, InputAxis):
            return f"{names[leaf.operand]}.shape[{leaf.axis}]"
        return names[leaf.operand] if isinstance(leaf, RuntimeScalar) else str(leaf)

    read = source.read
    if read is None:
        return expr.show(source.size, leaf_text) if not isinstance(source.size, int) else str(source.size)
    target = expr.show(expr.floordiv(read.target, read.divisor), leaf_text)
    return target if read.curve is None else f"{read.curve} = {target}"
