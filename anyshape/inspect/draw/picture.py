"""Data of a drawing, before it is HTML or Graphviz: boxes, edges and conditions with their texts; and the Graphviz."""

import linecache
from collections.abc import Sequence
from typing import Any, Literal

from anyshape.graph.ir.graph import DimSource, Graph, Node, Value, show_param, subgraphs, value_names
from anyshape.graph.prover.constraints import Condition, SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, UpperBound, short_dtype
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import InputAxis, RuntimeScalar
from anyshape.inspect.cost import Cost, costs_of_nodes, total
from anyshape.support.lazy_dataclass import dataclass

Kind = Literal["input", "hidden", "constant", "node", "result"]
Guarantee = Literal["exact", "bound", "unknown"]


@dataclass(frozen=True, slots=True)
class Box:
    """Input, constant, application of an op, or result; `values` are the values that it defines, by name."""

    number: int
    kind: Kind
    title: str
    values: tuple[tuple[str, TensorMeta], ...]
    params: tuple[tuple[str, str], ...] = ()
    where: SourceLine | None = None
    cost: Cost | None = None
    bodies: tuple[Graph, ...] = ()

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of the weakest extent."""
        kinds = {guarantee(e) for _, meta in self.values for e in meta.extents}
        return "unknown" if "unknown" in kinds else "bound" if "bound" in kinds else "exact"


@dataclass(frozen=True, slots=True)
class Edge:
    """Value that a box reads, as its operand `port`; with `sizes_only` for its shape alone."""

    tail: int
    head: int
    name: str
    port: int
    sizes_only: bool = False


@dataclass(frozen=True)
class Picture:
    """Content of a drawing of a program."""

    graph: Graph
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]
    total: Cost

    @property
    def name(self) -> str:
        return self.graph.name or "program"

    def boxes_of(self, condition: Condition, *, line: bool = False) -> tuple[int, ...]:
        """Return the boxes on the line of a condition, of its op alone if there are some and `line` is false."""
        if condition.where is None:
            return ()
        position = condition.where.file, condition.where.line
        here = [b for b in self.boxes if b.where is not None and (b.where.file, b.where.line) == position]
        own = [b for b in here if b.title == condition.primitive and not line]
        return tuple(b.number for b in own or here)


def guarantee(extent: ShapeExtent) -> Guarantee:
    """Return the guarantee of an extent as a word."""
    return "exact" if isinstance(extent, Exact) else "bound" if isinstance(extent, UpperBound) else "unknown"


def picture(program: Any) -> Picture:
    """Return the data of a drawing of a program or a graph."""
    graph: Graph = program if isinstance(program, Graph) else program.graph
    drawer = _Drawer(graph)
    named = [] if isinstance(program, Graph) else [*result_names(graph.name, list(program.outputs)), *program.written]
    drawer.add_inputs()
    drawer.add_constants()
    costs = costs_of_nodes(graph)
    for node, node_cost in zip(graph.nodes, costs, strict=True):
        drawer.add_node(node, node_cost)
    drawer.add_results(named)
    return Picture(graph, tuple(drawer.boxes), tuple(drawer.edges), total(costs))


class _Drawer:
    """Collects the boxes and edges of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.names = graph, value_names(graph)
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self.maker: dict[Value, int] = {}  # the box that defines each value

    def add(self, kind: Kind, title: str, values: Sequence[Value], **more: Any) -> Box:
        box = Box(len(self.boxes), kind, title, tuple([(self.names[v], v.meta) for v in values]), **more)
        self.boxes.append(box)
        return box

    def add_inputs(self) -> None:
        graph = self.graph
        visible = len(graph.inputs) - graph.hidden
        sizes = {graph.inputs[i]: (("size", str(size)),) for i, size in graph.values}
        for i, value in enumerate(graph.inputs):
            kind: Kind = "input" if i < visible else "hidden"
            self.maker[value] = self.add(kind, self.names[value], [value], params=sizes.get(value, ())).number

    def add_constants(self) -> None:
        for value, array in self.graph.constants:
            text = " ".join(str(array).split())
            params = (("value", text if len(text) <= 200 else text[:197] + "..."),)
            self.maker[value] = self.add("constant", "constant", [value], params=params).number

    def add_node(self, node: Node, node_cost: Cost) -> None:
        params = tuple([(k, show_param(p)) for k, p in node.params])
        more = {"params": params, "where": node.where, "cost": node_cost, "bodies": subgraphs(node)}
        box = self.add("node", node.op.name, node.outputs, **more)
        self.maker |= dict.fromkeys(node.outputs, box.number)
        for port, value in enumerate(node.operands):
            sizes_only = port >= len(node.inputs)
            self.edges.append(Edge(self.maker[value], box.number, self.names[value], port, sizes_only))

    def add_results(self, named: Sequence[str]) -> None:
        outputs = self.graph.outputs
        numbered = [f"result {i}" if len(outputs) > 1 else "result" for i in range(len(outputs))]
        for title, value in zip(named if len(named) == len(outputs) else numbered, outputs, strict=True):
            box = self.add("result", title, [value])
            self.edges.append(Edge(self.maker[value], box.number, self.names[value], 0))


def result_names(name: str, paths: Sequence[str]) -> list[str]:
    """Return the names of results from their paths: `value` and `grad['w']` for `value_and_grad`."""
    if not name.startswith("value_and_grad("):
        return list(paths)
    words = ("result[0]", "value"), ("result[1]", "grad")
    return [f"{word}{path.removeprefix(head)}" for path in paths for head, word in words if path.startswith(head)]


def line_of(where: SourceLine | None) -> str:
    """Return the text of a source line, read from Python files alone: a loaded program may name any file."""
    if where is None or not (where.file.endswith(".py") or where.file in linecache.cache):
        return ""
    return linecache.getline(where.file, where.line).strip()


def type_pieces(meta: TensorMeta, longest: int) -> list[tuple[str, str]]:
    """Return the type of a value as pieces of text, each with its class: a guarantee, or none. Long extents are cut."""
    pieces = [(f"{short_dtype(meta.dtype)}[", "")]
    for i, extent in enumerate(meta.extents):
        text = str(extent)
        pieces += [(", ", "")] if i else []
        pieces.append((text if len(text) <= longest else text[: longest - 1] + "…", guarantee(extent)))
    return [*pieces, ("]", "")]


def source_of(graph: Graph, source: DimSource) -> str:
    """Return how a call finds a variable, in terms of its arguments."""
    names = [*graph.input_names, *[f"args[{i}]" for i in range(len(graph.input_names), len(graph.inputs))]]

    def leaf_text(leaf) -> str:
        if isinstance(leaf, InputAxis):
            return f"{names[leaf.operand]}.shape[{leaf.axis}]"
        return names[leaf.operand] if isinstance(leaf, RuntimeScalar) else str(leaf)

    if (read := source.read) is None:
        return expr.show(source.size, leaf_text) if not isinstance(source.size, int) else str(source.size)
    target = expr.show(expr.floordiv(read.target, read.divisor), leaf_text)
    return target if read.curve is None else f"{read.curve} = {target}"


_SHAPES = {"input": "ellipse", "hidden": "ellipse", "constant": "note", "node": "box", "result": "doubleoctagon"}
_COLOURS = {"exact": "#0072B2", "bound": "#E69F00", "unknown": "#D55E00"}


def to_dot(program: Any) -> str:
    """Return Graphviz source of a program or a graph: coloured by guarantee, edges of shape sources dashed."""
    drawn = picture(program)
    lines = [
        f"digraph {quote(drawn.name)} {{",
        '  graph [rankdir=TB, fontname="monospace"];',
        '  node [fontname="monospace", fontsize=10, penwidth=1.5];',
        '  edge [fontname="monospace", fontsize=8];',
        *[_box(box) for box in drawn.boxes],
        *[_edge(edge) for edge in drawn.edges],
        *[f"  // {' '.join(str(c).split())}" for c in drawn.graph.conditions],
        "}",
    ]
    return "\n".join(lines) + "\n"


def quote(text: str) -> str:
    """Return a quoted string of Graphviz that stands for exactly this text; a new line stays one."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "\\n".join(escaped.splitlines() or [""]) + '"'


def _box(box: Box) -> str:
    types = [f"{name}: {meta}" if name != box.title else str(meta) for name, meta in box.values]
    tips = [
        *[f"{k} = {v}" for k, v in box.params],
        *map(str, box.bodies),
        *([] if box.where is None else [str(box.where), line_of(box.where)]),
    ]
    attributes = {
        "label": "\n".join([box.title, *types]),
        "shape": _SHAPES[box.kind],
        "color": _COLOURS[box.guarantee],
        "tooltip": "\n".join([box.title, *tips]),
    }
    return f"  b{box.number} [{', '.join(f'{k}={quote(v)}' for k, v in attributes.items())}];"


def _edge(edge: Edge) -> str:
    attributes = {"label": edge.name}
    if edge.sizes_only:
        attributes |= {"style": "dashed"}
    return f"  b{edge.tail} -> b{edge.head} [{', '.join(f'{k}={quote(v)}' for k, v in attributes.items())}];"
