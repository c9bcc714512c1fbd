"""Encode a graph as data that JSON can hold, with its constants as a separate list of arrays. `decode` reads it back.

Variables, sizes, lines of the user and subgraphs are tables. So shared parts are written once, and nothing nests deeper
than a param. Values have no names: a value is its number, in order of appearance.

Decode data of unknown origin to a graph. Data that `encode` does not write, or that are too large, raise Malformed.

Derivable parts are not read: variables are new, expressions are rebuilt, and the bindings of sizes are solved again.
`check_graph` tells whether shape rules give the array types that the data state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, get_args

import numpy as np

from anyshape.errors import SpecError
from anyshape.graph.ir.graph import OPS, DimSource, Graph, Node, Value, params_tuple, runtime_sizes
from anyshape.graph.ir.op_local import axes_of_variables
from anyshape.graph.prover.constraints import Claim, Condition, Relation, SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound, tensor
from anyshape.graph.signature.dim_equations import SizeBinding, is_hidden_axis, local_sizes, solve_dims
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, InputAxis, Size, leaves_of
from anyshape.graph.sizes.intervals import LARGEST_SIZE, LIMITS
from anyshape.graph.sizes.substitute import BUILDERS, substitute_leaves
from anyshape.support.lazy_dataclass import dataclass, replace

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


MOST = {
    "inputs": 10_000,
    "constants": 10_000,
    "nodes": 200_000,
    "outputs": 10_000,
    "outputs of a node": 100,
    "conditions": 20_000,
    "variables": 20_000,
    "sizes": 200_000,
    "lines": 200_000,
    "lines of a file": 10**9,  # code objects hold a C int
    "entries of a param": 10_000,
    "graphs": 10_000,
    "rules": 10_000,
    "graphs within graphs": 40,
    "tuples within tuples": 10,
    "axes": 64,
    "characters of a text": LONGEST_TEXT,
}
_DTYPES = {
    name: np.dtype(name)
    for name in ("bool", *[f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)], "float16", "float32", "float64")
    + ("complex64", "complex128")
} | {name: dtype for dtype, name in LONG.items()}

GENERATORS = np.dtype(object)  # of values that stand for random generators


class Malformed(Exception):
    """Data that are not a graph, with the reason; the caller adds where they come from."""


# -- readers of plain data


def fields(x: Any, subject: str, *names: str) -> list[Any]:
    """Return the entries of an object that has exactly these names."""
    if not isinstance(x, dict) or x.keys() != set(names):
        raise Malformed(f"{subject} is not an object with {', '.join(names)}")
    return [x[name] for name in names]


def items(x: Any, subject: str, most: int, least: int = 0) -> list[Any]:
    """Return a list of `least` to `most` entries."""
    if not isinstance(x, list) or not least <= len(x) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise Malformed(f"{subject} is not a list of {wanted} entries")
    return x


def integer(x: Any, subject: str, low: int, high: int) -> int:
    """Return an integer of this range, both ends included."""
    if type(x) is not int or not low <= x <= high:
        raise Malformed(f"{subject} is not an integer from {low} to {high}")
    return x


def text(x: Any, subject: str) -> str:
    """Return a text that is safe to print."""
    if not isinstance(x, str) or len(x) > MOST["characters of a text"]:
        raise Malformed(f"{subject} is not a text, or a long one")
    if not all(c.isprintable() or c in "\n\t" for c in x):
        raise Malformed(f"{subject} holds characters that do not print")
    return x


def choice(x: Any, subject: str, choices: Iterable[str]) -> str:
    """Return one of these words."""
    if not isinstance(x, str) or x not in choices:
        raise Malformed(f"{subject} is {x!r:.50}, which this version does not know")
    return x


def number(x: Any, subject: str) -> Any:
    """Return a literal number or None, as `encode_number` writes it."""
    if x is None or type(x) is bool:
        return x
    if type(x) is int:
        return integer(x, subject, -(2**64), 2**64)
    if isinstance(x, dict) and len(x) == 1:
        ((kind, parts),) = x.items()
        if kind == "float":
            return _float(parts, subject)
        if kind == "complex":
            return complex(*[_float(p, subject) for p in items(parts, subject, 2, 2)])
        if kind == "long":
            reals = [np.longdouble(text(p, subject)) for p in items(parts, subject, 2, 1)]
            return reals[0] if len(reals) == 1 else np.clongdouble(reals[0]) + reals[1] * np.clongdouble(1j)
    raise Malformed(f"{subject} is not a number")


def _float(x, subject: str) -> float:
    try:
        return float.fromhex(text(x, subject)[:100])
    except (ValueError, OverflowError):
        raise Malformed(f"{subject} is not a float in hexadecimal") from None


def read_dtype(x: Any, subject: str) -> np.dtype:
    """Return a dtype of numbers."""
    return _DTYPES[choice(x, subject, _DTYPES)]


# -- graphs


def decode_graph(
    document: Any, arrays: Sequence[np.ndarray], tick: Callable[[], None], make_rule: Callable[..., Any]
) -> Graph:
    """Return the graph of a document of `encode_graph`, with new variables.

    - `tick` is called often; it raises to end a decoding that takes too long.
    - `make_rule` makes a derivative rule, which takes its programs by `add`.
    """
    document = dict(document) if isinstance(document, dict) else document
    tables = {
        name: items(document.pop(name), name, MOST[name], 1) if isinstance(document, dict) and name in document else []
        for name in ("graphs", "rules")
    }
    entries = [fields(x, "a rule", *_RULE) for x in tables["rules"]]
    rules = [make_rule(*_rule_parts(*entry)) for *entry, _ in entries]
    subgraphs: list[_Subgraph] = []
    for x in tables["graphs"]:
        subgraphs.append(_Decoder(x, iter(()), tick, subgraphs, rules).subgraph())
    remaining = iter(arrays)
    graph = _Decoder(document, remaining, tick, subgraphs, rules).graph()
    for rule, (*_, programs) in zip(rules, entries, strict=True):
        for program in items(programs, "programs", MOST["inputs"]):
            role, at, x = items(program, "a program of a rule", 3, 3)
            positions = [integer(i, "a position", 0, MOST["inputs"]) for i in items(at, "positions", MOST["inputs"])]
            inner = _Decoder(x, remaining, tick, subgraphs, rules).graph(nested=True)
            rule.add(choice(role, "the role of a program", ROLES), tuple(positions), inner)
    if next(remaining, None) is not None:
        raise Malformed("there are more constants than its graphs have")
    return graph


ROLES = ("push", "forward", "pull")
_RULE = ("name", "captured", "is_independent", "width", "problem", "programs")


def _rule_parts(name, captured, is_independent, width, problem) -> tuple[Any, ...]:
    if type(is_independent) is not bool:
        raise Malformed("a rule says whether it is independent by another value than true or false")
    captured, width = [integer(n, "a number of arguments", 0, MOST["inputs"]) for n in (captured, width)]
    return text(name, "the name of a rule"), captured, is_independent, width, text(problem, "a problem")


@dataclass(frozen=True, slots=True)
class _Subgraph:
    """Subgraph, the number of its nodes with all nodes of its own subgraphs, and the depth of these.

    A file can share a subgraph, so a few short graphs could stand for any number of nodes.
    """

    graph: Graph
    nodes: int
    depth: int


_FIELDS = ("name", "inputs", "input_names", "values", "hidden", "constants", "nodes", "outputs", "conditions")


class _Decoder:
    def __init__(
        self,
        document: Any,
        arrays: Iterator[np.ndarray],
        tick: Callable[[], None],
        subgraphs: Sequence[_Subgraph],
        rules: Sequence[Any],
    ) -> None:
        parts = fields(document, "the graph", *_FIELDS, "variables", "sizes", "lines")
        self.part = dict(zip((*_FIELDS, "variables", "sizes", "lines"), parts, strict=True))
        self.arrays, self.tick, self.subgraphs, self.rules = arrays, tick, subgraphs, rules
        self.node_count, self.depth = 0, 0
        self.variables = [self.variable(x) for x in self.listed("variables")]
        self.entries: list[Size] = []
        for x in self.listed("sizes"):
            self.tick()
            self.entries.append(self.expression(x))
        self.lines = [self.where(x) for x in self.listed("lines")]
        self.values: list[Value] = []

    def listed(self, name: str) -> list[Any]:
        return items(self.part[name], name, MOST[name])

    def subgraph(self) -> _Subgraph:
        """Return a graph that nodes of later graphs may have as a param. `check_subgraph` checks that it is closed."""
        graph = self.graph(nested=True)
        return _Subgraph(graph, self.node_count + len(graph.nodes), self.depth + 1)

    def graph(self, nested: bool = False) -> Graph:
        """Return the graph; a `nested` one reads its sizes off its inputs."""
        inputs = [Value(self.meta(x)) for x in self.listed("inputs")]
        hidden = integer(self.part["hidden"], "hidden", 0, len(inputs))
        visible = len(inputs) - hidden
        names = [text(x, "an input name") for x in items(self.part["input_names"], "input_names", visible)]
        if names and len(names) != visible:
            raise Malformed("input_names do not name each input")
        constants = self.constants()
        self.values = [*inputs, *[v for v, _ in constants]]
        nodes = [self.node(x, f"node {i}") for i, x in enumerate(self.listed("nodes"))]
        conditions = tuple([self.condition(x) for x in self.listed("conditions")])
        values = self.sizes_by_value(inputs[:visible])
        if self.node_count + len(nodes) > MOST["nodes"]:
            raise Malformed(f"its graphs have more than {MOST['nodes']} nodes")
        free = set(self.variables) - runtime_sizes(nodes, _variables_of(inputs, values.values())).keys()
        if nested:
            extra, sources = list[Value](), self.axis_sources(inputs, free)
        else:
            extra, sources = self.solved_sources(inputs, visible, values, conditions, free)
        return Graph(
            name=text(self.part["name"], "the name"),
            inputs=(*inputs, *extra),
            constants=constants,
            nodes=tuple(nodes),
            outputs=tuple([self.value(x) for x in self.listed("outputs")]),
            dims=sources,
            conditions=conditions,
            input_names=tuple(names),
            values=tuple(values.items()),
            hidden=hidden + len(extra),
        )

    # -- sizes

    def variable(self, x: Any) -> DimVar:
        name, label, low, high = fields(x, "a variable", "name", "label", "lower", "upper")
        lower = integer(low, "a lower bound", -LARGEST_SIZE, LARGEST_SIZE)
        upper = None if high is None else integer(high, "an upper bound", lower, LARGEST_SIZE)
        if not text(name, "the name of a variable"):
            raise Malformed("a variable has no name")
        return DimVar(name, lower, upper, None, text(label, "the label of a variable"))

    def expression(self, x: Any) -> Size:
        terms = []
        for term in items(x, "a size", LIMITS["terms"], 1):
            coefficient, monomial = items(term, "a term", 2, 2)
            limit = 2 ** LIMITS["bits in a coefficient"]
            product: Size = integer(coefficient, "a coefficient", -limit, limit)
            for factor in items(monomial, "a product", LIMITS["factors in a term"]):
                atom, power = items(factor, "a factor", 2, 2)
                power = integer(power, "a power", 1, LIMITS["factors in a term"])
                product = expr.mul(product, expr.power(self.atom(atom), power))
            terms.append(product)
        return expr.total(terms)

    def atom(self, x: Any) -> Size:
        kind, *rest = items(x, "a part of a size", LIMITS["sizes in a broadcast"] + 1, 2)
        if kind == "variable" and len(rest) == 1:
            return expr.from_atom(self.variables[integer(rest[0], "a variable", 0, len(self.variables) - 1)])
        if kind == "axis" and len(rest) == 2:
            return expr.input_axis(*[integer(r, "an axis", 0, 10**6) for r in rest])
        call = BUILDERS[choice(kind, "a function of sizes", BUILDERS)]
        if kind in ("floordiv", "mod") and len(rest) != 2:
            raise Malformed(f"{kind} of {len(rest)} sizes")
        return call(*[self.size(r) for r in rest])

    def size(self, x: Any) -> Size:
        if type(x) is int:
            return integer(x, "a size", -(2**1000), 2**1000)
        (position,) = fields(x, "a size", "size")
        return self.entries[integer(position, "the place of a size", 0, len(self.entries) - 1)]

    def over_variables(self, x: Any) -> Size:
        return self.over(x, DimVar, "a size of a value")

    def over(self, x: Any, kind: type, subject: str) -> Size:
        size = self.size(x)
        if not all(isinstance(leaf, kind) for leaf in leaves_of(size)):
            raise Malformed(f"{subject} is {size!s:.50}, which mixes variables and axes of operands")
        return size

    def meta(self, x: Any) -> TensorMeta:
        self.tick()
        dtype, shape = fields(x, "a value", "dtype", "shape")
        extents = tuple([self.extent(e) for e in items(shape, "a shape", MOST["axes"])])
        return TensorMeta(GENERATORS if dtype == GENERATORS.name else read_dtype(dtype, "a dtype"), extents)

    def extent(self, x: Any) -> ShapeExtent:
        if x is None:
            return Unknown()
        if isinstance(x, dict) and "at_most" in x:
            return UpperBound(self.over_variables(fields(x, "an extent", "at_most")[0]))
        if isinstance(size := self.over_variables(x), int) and not 0 <= size <= LARGEST_SIZE:
            raise Malformed(f"an axis has the size {size}")
        return Exact(size)

    # -- lines, values, nodes and conditions

    def where(self, x: Any) -> SourceLine:
        file, line, function = items(x, "a line", 3, 3)
        number = integer(line, "a line number", 0, MOST["lines of a file"])
        return SourceLine(text(file, "a file name"), number, text(function, "a function name"))

    def line(self, x: Any) -> SourceLine | None:
        return None if x is None else self.lines[integer(x, "a line", 0, len(self.lines) - 1)]

    def value(self, x: Any) -> Value:
        return self.values[integer(x, "a value", 0, len(self.values) - 1)]

    def constants(self) -> tuple[tuple[Value, np.ndarray], ...]:
        metas = [self.meta(x) for x in self.listed("constants")]
        arrays = list(islice(self.arrays, len(metas)))
        if len(metas) != len(arrays):
            raise Malformed(f"there are {len(arrays)} constants, not {len(metas)}")
        for meta, array in zip(metas, arrays, strict=True):
            if meta.dtype != array.dtype or meta.sizes != array.shape:
                raise Malformed(f"a constant is {array.dtype}{list(array.shape)}, not {meta}")
        return tuple([(Value(m), a) for m, a in zip(metas, arrays, strict=True)])

    def node(self, x: Any, subject: str) -> Node:
        name, *operands, params, outputs, line = fields(
            x, subject, "op", "inputs", "sources", "params", "outputs", "line"
        )  # fmt: skip
        op = OPS[choice(name, f"the op of {subject}", OPS)]
        inputs, sources = [tuple([self.value(v) for v in items(vs, subject, MOST["inputs"])]) for vs in operands]
        if not isinstance(params, dict):
            raise Malformed(f"the params of {subject} are not an object")
        decoded = {text(k, subject): self.param(p, f"{subject}: {op}: {k}") for k, p in params.items()}
        metas = [self.meta(m) for m in items(outputs, subject, MOST["outputs of a node"], 1)]
        node = Node(op, inputs, sources, params_tuple(decoded), tuple([Value(m) for m in metas]), self.line(line))
        self.values.extend(node.outputs)
        return node

    def param(self, x: Any, subject: str, depth: int = 0) -> Any:
        if isinstance(x, list):
            if depth == MOST["tuples within tuples"]:
                raise Malformed(f"{subject} holds tuples within tuples, too many")
            return tuple([self.param(p, subject, depth + 1) for p in items(x, subject, MOST["entries of a param"])])
        if isinstance(x, str):
            return text(x, subject)
        if isinstance(x, dict) and "size" in x:
            return self.over(x, InputAxis, subject)
        if isinstance(x, dict) and not x.keys().isdisjoint(("graph", "rule")):
            return self.reference(x, subject)
        return read_dtype(x["dtype"], subject) if isinstance(x, dict) and x.keys() == {"dtype"} else number(x, subject)

    def reference(self, x: Any, subject: str) -> Any:
        """Return a graph or a rule of a table. A graph that is referred to twice counts twice."""
        if "rule" in x:
            (position,) = fields(x, subject, "rule")
            return self.rules[integer(position, subject, 0, len(self.rules) - 1)]
        (position,) = fields(x, subject, "graph")
        inner = self.subgraphs[integer(position, subject, 0, len(self.subgraphs) - 1)]
        self.node_count += inner.nodes
        self.depth = max(self.depth, inner.depth)
        if self.node_count > MOST["nodes"] or self.depth > MOST["graphs within graphs"]:
            raise Malformed(f"{subject} holds graphs within graphs, too many")
        return inner.graph

    def condition(self, x: Any) -> Condition:
        names = ("kind", "relation", "left", "right", "text", "primitive", "why", "line")
        kind, relation, left, right, words, primitive, why, line = fields(x, "a condition", *names)
        claim = Claim(
            choice(relation, "a relation", get_args(Relation)),  # type: ignore[arg-type]
            self.over_variables(left),
            self.over_variables(right),
            text(words, "a claim"),
        )
        kind = choice(kind, "the kind of a condition", ("assertion", "guard", "constraint", "fact"))
        return Condition(kind, claim, text(primitive, "a primitive"), text(why, "a reason"), self.line(line))  # type: ignore[arg-type]

    # -- the sources of sizes

    def sizes_by_value(self, inputs: Sequence[Value]) -> dict[int, Size]:
        """Return the sizes that inputs give by their value, by position."""
        sizes: dict[int, Size] = {}
        for x in items(self.part["values"], "values", len(inputs)):
            position, size = items(x, "a value", 2, 2)
            i = integer(position, "the place of a value", 0, len(inputs) - 1)
            if i in sizes or inputs[i].meta.rank or inputs[i].meta.dtype.kind not in "iu":
                raise Malformed(f"input {i} cannot give a size by its value")
            sizes[i] = self.over_variables(size)
        return sizes

    def axis_sources(self, inputs: Sequence[Value], free: set[DimVar]) -> tuple[DimSource, ...]:
        """Return the axis of each variable of a subgraph."""
        axes = axes_of_variables(inputs)
        _require_sources(free, axes.keys())
        return tuple([DimSource(variable, axis) for variable, axis in axes.items()])

    def solved_sources(
        self,
        inputs: Sequence[Value],
        visible: int,
        values: dict[int, Size],
        conditions: Sequence[Condition],
        free: set[DimVar],
    ) -> tuple[list[Value], tuple[DimSource, ...]]:
        """Solve for each variable. Return further hidden inputs that this takes, and the sources."""
        metas = [v.meta for v in inputs[:visible]]
        bindings = _solve(metas, values, conditions)
        _require_sources(free, {b.variable for b in bindings})
        axis_of = {self.hidden_variable(v): InputAxis(i, 0) for i, v in enumerate(inputs[visible:], visible)}
        sizes = local_sizes(metas, bindings)
        hidden = [v for v, size in sizes.items() if is_hidden_axis(size, visible)]
        further = [v for v in hidden if v not in axis_of]
        axis_of |= {v: InputAxis(i, 0) for i, v in enumerate(further, len(inputs))}
        extra = [Value(tensor(np.dtype(bool), [expr.from_atom(v)])) for v in further]
        local = _on_axes(sizes, hidden, axis_of)
        return extra, tuple([DimSource(b.variable, local[b.variable], b) for b in bindings])

    def hidden_variable(self, value: Value) -> DimVar:
        """Return the variable that a hidden input gives."""
        sizes = value.meta.sizes
        atom = expr.as_atom(sizes[0]) if sizes and len(sizes) == 1 and isinstance(sizes[0], DimExpr) else None
        if not isinstance(atom, DimVar) or value.meta.dtype != np.dtype(bool):
            raise Malformed(f"a hidden input is {value.meta}")
        return atom


def _solve(
    metas: Sequence[TensorMeta], values: dict[int, Size], conditions: Sequence[Condition]
) -> Sequence[SizeBinding]:
    """Return the bindings of the sizes of a call."""
    try:
        return solve_dims(metas, values, conditions)
    except SpecError:  # constraints of a program that became part of this one are assertions here
        stated = [replace(c, kind="constraint") for c in conditions if c.kind in ("assertion", "constraint")]
        return solve_dims(metas, values, stated)


def _variables_of(inputs: Sequence[Value], sizes: Iterable[Size]) -> list[DimVar]:
    """Return the variables in array types of inputs and in sizes that inputs give by their value."""
    extents = [extent.size for value in inputs for extent in value.meta.extents if not isinstance(extent, Unknown)]
    return [variable for size in (*extents, *sizes) for variable in expr.variables(size)]


def _require_sources(free: set[DimVar], sourced: Iterable[DimVar]) -> None:
    if missing := free - set(sourced):
        raise Malformed(f"nothing gives the size {next(iter(missing))}")


def _on_axes(
    sizes: Mapping[DimVar, Size], hidden: Sequence[DimVar], axis_of: Mapping[DimVar, InputAxis]
) -> dict[DimVar, Size]:
    """Return op-local sizes with the axes that hidden variables have in the file."""
    moved = {expr.as_atom(sizes[v]): expr.from_atom(axis_of[v]) for v in hidden}
    replacement: Callable[[Any], Size | None] = moved.get
    local = {v: substitute_leaves(size, replacement) for v, size in sizes.items()}
    return local | {v: expr.from_atom(axis) for v, axis in axis_of.items()}
