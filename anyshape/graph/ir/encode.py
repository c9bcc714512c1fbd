"""Encode a graph as data that JSON can hold, with its constants as a separate list of arrays. `decode` reads it back.

Variables, sizes, lines of the user and subgraphs are tables. So shared parts are written once, and nothing nests deeper
than a param. Values have no names: a value is its number, in order of appearance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.graph.ir.graph import Graph, Node
from anyshape.graph.prover.constraints import Condition, SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, UpperBound
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, InputAxis, Size

LONGEST_TEXT = 10_000  # characters; texts are for messages alone
LONG: dict[np.dtype, str] = {
    np.dtype(np.longdouble): "longdouble",
    np.dtype(np.clongdouble): "clongdouble",
}  # other widths elsewhere


def dtype_name(dtype: np.dtype) -> str:
    """Return the name of a dtype, which means the same on every machine."""
    return LONG.get(dtype, dtype.name)


def printable(text: str) -> str:
    """Return the text with a question mark for each character that steers a terminal, cut to `LONGEST_TEXT`."""
    return "".join([c if c.isprintable() or c in "\n\t" else "?" for c in text[:LONGEST_TEXT]])


def _base(file: str) -> str:
    """Return the last part of a path: the folders of the user's machine stay private."""
    return file.replace("\\", "/").rpartition("/")[2]


def encode_number(x: Any) -> Any:
    """Encode a literal number or None; floats by their bits, as hexadecimal text."""
    if x is None or isinstance(x, (bool, int)):
        return x
    if isinstance(x, (np.longdouble, np.clongdouble)):
        parts = [x] if isinstance(x, np.longdouble) else [x.real, x.imag]
        return {"long": [np.format_float_scientific(p, unique=True) for p in parts]}
    if isinstance(x, complex):
        return {"complex": [x.real.hex(), x.imag.hex()]}
    if isinstance(x, float):
        return {"float": x.hex()}
    raise TypeError(f"a program holds {x!r}, which is not a number")


def encode_graph(graph: Graph) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return the graph without its constants, and the constants in the order of their values.

    Subgraphs are a table, `graphs`, which is there only if the graph has any. A graph in it refers to those before it.
    So are derivative rules, `rules`. Their programs have constants too, and refer to any rule.
    """
    tables = _Tables()
    document = _Encoder(graph, tables).document()
    arrays = [array for _, array in graph.constants]
    rules = []
    for rule in tables.rules:  # which grows meanwhile
        programs = [[p.role, [*p.positions], _Encoder(p.graph, tables).document()] for p in rule.programs]
        entry = {"name": printable(rule.name), "problem": printable(rule.problem), "programs": programs}
        rules.append({**entry, **{field: getattr(rule, field) for field in ("captured", "is_independent", "width")}})
        arrays += [array for p in rule.programs for _, array in p.graph.constants]
    if tables.documents:
        document["graphs"] = tables.documents
    if rules:
        document["rules"] = rules
    return document, arrays


class _Tables:
    """Documents of subgraphs, each once, those that others refer to first; and the rules that are programs."""

    def __init__(self) -> None:
        self.documents: list[dict[str, Any]] = []
        self.position: dict[int, int] = {}
        self.rules: list[Any] = []

    def add_rule(self, rule: Any) -> int:
        """Return the position of a rule in the table."""
        position = next((i for i, other in enumerate(self.rules) if other is rule), len(self.rules))
        self.rules += [rule] * (position == len(self.rules))
        return position

    def add(self, graph: Graph) -> int:
        """Return the position of a subgraph in the table."""
        if id(graph) not in self.position:
            document = _Encoder(graph, self).document()
            self.position[id(graph)] = len(self.documents)
            self.documents.append(document)
        return self.position[id(graph)]


class _Encoder:
    def __init__(self, graph: Graph, tables: _Tables) -> None:
        self.graph, self.tables = graph, tables
        # in order of creation: canonical forms depend on it where variables share a name
        ordered = sorted([*[s.variable for s in graph.dims], *graph.runtime], key=lambda v: v.uid)
        self.variable = {v: i for i, v in enumerate(ordered)}
        self.entries: list[Any] = []
        self.entry: dict[DimExpr, int] = {}
        self.lines: dict[SourceLine, int] = {}

    def document(self) -> dict[str, Any]:
        graph = self.graph
        body = {
            "name": printable(graph.name),
            "inputs": [self.meta(v.meta) for v in graph.inputs],
            "input_names": [printable(n) for n in graph.input_names],
            "values": [[i, self.size(s)] for i, s in graph.values],
            "hidden": graph.hidden,
            "constants": [self.meta(v.meta) for v, _ in graph.constants],
            "nodes": [self.node(n) for n in graph.nodes],
            "outputs": [graph.numbering[v] for v in graph.outputs],
            "conditions": [self.condition(c) for c in graph.conditions],
        }
        tables = {
            "variables": [self.name_and_range(v) for v in self.variable],
            "sizes": self.entries,
            "lines": [[printable(_base(w.file)), w.line, printable(w.function)] for w in self.lines],
        }
        return {**body, **tables}

    def name_and_range(self, variable: DimVar) -> dict[str, Any]:
        name, label = printable(variable.name), printable(variable.label)
        return {"name": name, "label": label, "lower": variable.lower, "upper": variable.upper}

    def size(self, size: Size) -> Any:
        """Encode a size: an int, or the position of an expression in the table."""
        if isinstance(size, int):
            return int(size)
        if size not in self.entry:
            terms = [[c, [[self.atom(atom), power] for atom, power in m]] for m, c in size.terms]
            self.entry[size] = len(self.entries)
            self.entries.append(terms)
        return {"size": self.entry[size]}

    def atom(self, atom: Atom) -> list[Any]:
        if isinstance(atom, DimVar):
            return ["variable", self.variable[atom]]
        if isinstance(atom, InputAxis):
            return ["axis", atom.operand, atom.axis]
        if isinstance(atom, Call):
            return [atom.function, *[self.size(a) for a in atom.args]]
        raise TypeError(f"a graph holds {atom}, which no file can say")

    def meta(self, meta: TensorMeta) -> dict[str, Any]:
        return {"dtype": dtype_name(meta.dtype), "shape": [self.extent(e) for e in meta.extents]}

    def extent(self, extent: ShapeExtent) -> Any:
        if isinstance(extent, Exact):
            return self.size(extent.size)
        return {"at_most": self.size(extent.size)} if isinstance(extent, UpperBound) else None

    def node(self, node: Node) -> dict[str, Any]:
        number = self.graph.numbering
        return {
            "op": node.op.name,
            "inputs": [number[v] for v in node.inputs],
            "sources": [number[v] for v in node.sources],
            "params": {name: self.param(p) for name, p in node.params},
            "outputs": [self.meta(v.meta) for v in node.outputs],
            "line": self.line(node.where),
        }

    def param(self, param: Any) -> Any:
        if isinstance(param, tuple):
            return [self.param(p) for p in param]
        if isinstance(param, Graph):
            return {"graph": self.tables.add(param)}
        if isinstance(param, DimExpr):
            return self.size(param)
        if hasattr(param, "programs"):
            return {"rule": self.tables.add_rule(param)}
        if isinstance(param, np.dtype):
            return {"dtype": dtype_name(param)}
        return param if isinstance(param, str) else encode_number(param)

    def condition(self, condition: Condition) -> dict[str, Any]:
        claim = condition.claim
        return {
            "kind": condition.kind,
            "relation": claim.relation,
            "left": self.size(claim.left),
            "right": self.size(claim.right),
            "text": printable(claim.text),
            "primitive": printable(condition.primitive),
            "why": printable(condition.why),
            "line": self.line(condition.where),
        }

    def line(self, where: SourceLine | None) -> int | None:
        return None if where is None else self.lines.setdefault(where, len(self.lines))
