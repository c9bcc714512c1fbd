"""Data of unknown origin to a graph. Whatever is not what `encode` writes is refused, and so is what is too large.

Nothing is believed that can be worked out: variables are new ones, expressions are put together anew, and how a call
finds each size is solved for again. That shape rules give the metadata that are stated is for `check_graph` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from anyshape.errors import SpecError
from anyshape.graph.ir.encode import LONG
from anyshape.graph.ir.graph import OPS, DimSource, Graph, Node, Value, params_tuple, runtime_sizes
from anyshape.graph.ir.subgraph import axes_of_variables
from anyshape.graph.prover.constraints import Claim, Condition, Relation, SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound
from anyshape.graph.signature.dim_equations import is_hidden_axis, local_sizes, solve_dims
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimExpr, DimVar, InputAxis, Leaf, Size, leaves_of
from anyshape.graph.sizes.limits import LARGEST_SIZE, LIMITS
from anyshape.graph.sizes.substitute import BUILDERS, substitute_leaves

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
    "entries of a param": 10_000,
    "graphs": 10_000,
    "graphs within graphs": 10,
    "tuples within tuples": 10,
    "axes": 64,
    "characters of a text": 10_000,
}
_DTYPES = {
    name: np.dtype(name)
    for name in ("bool", *[f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64)], "float16", "float32", "float64")
    + ("complex64", "complex128")
} | {name: dtype for dtype, name in LONG.items()}


class Malformed(Exception):
    """The data are no graph, with the reason; for a caller who knows where they come from."""


# -- readers of plain data


def fields(x: Any, what: str, *names: str) -> list[Any]:
    """The entries of an object that has exactly these."""
    if not isinstance(x, dict) or x.keys() != set(names):
        raise Malformed(f"{what} is no object with {', '.join(names)}")
    return [x[name] for name in names]


def items(x: Any, what: str, most: int, least: int = 0) -> list[Any]:
    """A list of not too many entries."""
    if not isinstance(x, list) or not least <= len(x) <= most:
        wanted = f"{least}" if least == most else f"{least} to {most}"
        raise Malformed(f"{what} is no list of {wanted} entries")
    return x


def integer(x: Any, what: str, low: int, high: int) -> int:
    """An integer of this range, both ends included."""
    if type(x) is not int or not low <= x <= high:
        raise Malformed(f"{what} is no integer from {low} to {high}")
    return x


def text(x: Any, what: str) -> str:
    """A text that is safe to print."""
    if not isinstance(x, str) or len(x) > MOST["characters of a text"]:
        raise Malformed(f"{what} is no text, or a long one")
    if not all(c.isprintable() or c in "\n\t" for c in x):
        raise Malformed(f"{what} holds characters that do not print")
    return x


def choice(x: Any, what: str, choices: Iterable[str]) -> str:
    """One of a few words."""
    if not isinstance(x, str) or x not in choices:
        raise Malformed(f"{what} is {x!r:.50}, which this version does not know")
    return x


def number(x: Any, what: str) -> Any:
    """A literal number, or None, as `encode_number` writes it."""
    if x is None or type(x) is bool:
        return x
    if type(x) is int:
        return integer(x, what, -(2**64), 2**64)
    if isinstance(x, dict) and len(x) == 1:
        ((kind, parts),) = x.items()
        if kind == "float":
            return _float(parts, what)
        if kind == "complex":
            return complex(*[_float(p, what) for p in items(parts, what, 2, 2)])
        if kind == "long":
            found = [np.longdouble(text(p, what)) for p in items(parts, what, 2, 1)]
            return found[0] if len(found) == 1 else np.clongdouble(found[0]) + found[1] * np.clongdouble(1j)
    raise Malformed(f"{what} is no number")


def _float(x: Any, what: str) -> float:
    try:
        return float.fromhex(text(x, what)[:100])
    except (ValueError, OverflowError):
        raise Malformed(f"{what} is no float in hexadecimal") from None


def read_dtype(x: Any, what: str) -> np.dtype:
    """A dtype of numbers."""
    return _DTYPES[choice(x, what, _DTYPES)]


# -- graphs


def decode_graph(document: Any, arrays: Sequence[np.ndarray], tick: Callable[[], None]) -> Graph:
    """Return the graph of a document of `encode_graph`, with new variables.

    `tick` is called often; it raises to end a decoding that takes too long.
    """
    subgraphs: list[_Subgraph] = []
    if isinstance(document, dict) and "graphs" in document:
        document = dict(document)
        for x in items(document.pop("graphs"), "graphs", MOST["graphs"], 1):
            subgraphs.append(_Decoder(x, [], tick, subgraphs).subgraph())
    return _Decoder(document, arrays, tick, subgraphs).graph()


@dataclass(frozen=True, slots=True)
class _Subgraph:
    """A subgraph, the number of its nodes with those of its own subgraphs, and how deep these nest.

    A file can share a subgraph, so a few short graphs could stand for any number of nodes.
    """

    graph: Graph
    nodes: int
    depth: int


_FIELDS = ("name", "inputs", "input_names", "values", "hidden", "constants", "nodes", "outputs", "conditions")


class _Decoder:
    def __init__(
        self, document: Any, arrays: Sequence[np.ndarray], tick: Callable[[], None], subgraphs: Sequence[_Subgraph]
    ) -> None:
        parts = fields(document, "the graph", *_FIELDS, "variables", "sizes", "lines")
        self.part = dict(zip((*_FIELDS, "variables", "sizes", "lines"), parts, strict=True))
        self.arrays, self.tick, self.subgraphs = arrays, tick, subgraphs
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
        """Return a graph that nodes of later graphs may have as a param; `check_subgraph` tells whether it is closed."""
        graph = self.graph(nested=True)
        return _Subgraph(graph, self.node_count + len(graph.nodes), self.depth + 1)

    def graph(self, nested: bool = False) -> Graph:
        inputs = [Value(self.meta(x)) for x in self.listed("inputs")]
        hidden = integer(self.part["hidden"], "hidden", 0, len(inputs))
        given = len(inputs) - hidden
        names = [text(x, "an input name") for x in items(self.part["input_names"], "input_names", given)]
        if names and len(names) != given:
            raise Malformed("input_names do not name each input")
        constants = self.constants()
        self.values = [*inputs, *[v for v, _ in constants]]
        nodes = [self.node(x, f"node {i}") for i, x in enumerate(self.listed("nodes"))]
        conditions = tuple([self.condition(x) for x in self.listed("conditions")])
        values = self.sizes_by_value(inputs[:given])
        if nested:
            extra, sources = list[Value](), self.axis_sources(inputs, set(runtime_sizes(nodes)))
        else:
            extra, sources = self.solved(inputs, given, values, conditions, set(runtime_sizes(nodes)))
        if self.node_count + len(nodes) > MOST["nodes"]:
            raise Malformed(f"its graphs have more than {MOST['nodes']} nodes")
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
        (place,) = fields(x, "a size", "size")
        return self.entries[integer(place, "the place of a size", 0, len(self.entries) - 1)]

    def over_variables(self, x: Any) -> Size:
        return self.over(x, DimVar, "a size of a value")

    def over(self, x: Any, kind: type, what: str) -> Size:
        size = self.size(x)
        if not all(isinstance(leaf, kind) for leaf in leaves_of(size)):
            raise Malformed(f"{what} is {size!s:.50}, which mixes variables and axes of operands")
        return size

    def meta(self, x: Any) -> TensorMeta:
        self.tick()
        dtype, shape = fields(x, "a value", "dtype", "shape")
        extents = tuple([self.extent(e) for e in items(shape, "a shape", MOST["axes"])])
        return TensorMeta(read_dtype(dtype, "a dtype"), extents)

    def extent(self, x: Any) -> ShapeExtent:
        if x is None:
            return Unknown()
        if isinstance(x, dict) and "at_most" in x:
            return UpperBound(self.over_variables(fields(x, "an extent", "at_most")[0]))
        size = self.over_variables(x)
        if isinstance(size, int) and not 0 <= size <= LARGEST_SIZE:
            raise Malformed(f"an axis has the size {size}")
        return Exact(size)

    # -- what a graph is made of

    def where(self, x: Any) -> SourceLine:
        file, line, function = items(x, "a line", 3, 3)
        number = integer(line, "a line", 0, 2**31)
        return SourceLine(text(file, "a file name"), number, text(function, "a function name"))

    def line(self, x: Any) -> SourceLine | None:
        return None if x is None else self.lines[integer(x, "a line", 0, len(self.lines) - 1)]

    def value(self, x: Any) -> Value:
        return self.values[integer(x, "a value", 0, len(self.values) - 1)]

    def constants(self) -> tuple[tuple[Value, np.ndarray], ...]:
        metas = [self.meta(x) for x in self.listed("constants")]
        if len(metas) != len(self.arrays):
            raise Malformed(f"there are {len(self.arrays)} constants, not {len(metas)}")
        for meta, array in zip(metas, self.arrays, strict=True):
            if meta.dtype != array.dtype or meta.sizes != array.shape:
                raise Malformed(f"a constant is {array.dtype}{list(array.shape)}, not {meta}")
        return tuple([(Value(m), a) for m, a in zip(metas, self.arrays, strict=True)])

    def node(self, x: Any, what: str) -> Node:
        name, *operands, params, outputs, line = fields(
            x, what, "op", "inputs", "sources", "params", "outputs", "line"
        )  # fmt: skip
        op = OPS[choice(name, f"the op of {what}", OPS)]
        inputs, sources = [tuple([self.value(v) for v in items(vs, what, MOST["inputs"])]) for vs in operands]
        if not isinstance(params, dict):
            raise Malformed(f"the params of {what} are no object")
        found = {text(k, what): self.param(p, f"{what}: {op}: {k}") for k, p in params.items()}
        metas = [self.meta(m) for m in items(outputs, what, MOST["outputs of a node"], 1)]
        node = Node(op, inputs, sources, params_tuple(found), tuple([Value(m) for m in metas]), self.line(line))
        self.values.extend(node.outputs)
        return node

    def param(self, x: Any, what: str, depth: int = 0) -> Any:
        if isinstance(x, list):
            if depth == MOST["tuples within tuples"]:
                raise Malformed(f"{what} holds tuples within tuples, too many")
            return tuple([self.param(p, what, depth + 1) for p in items(x, what, MOST["entries of a param"])])
        if isinstance(x, str):
            return text(x, what)
        if isinstance(x, dict) and "size" in x:
            return self.over(x, InputAxis, what)
        if isinstance(x, dict) and "graph" in x:
            return self.reference(x, what)
        return read_dtype(x["dtype"], what) if isinstance(x, dict) and x.keys() == {"dtype"} else number(x, what)

    def reference(self, x: Any, what: str) -> Graph:
        """Return a graph of the table; one that is referred to twice counts twice."""
        (position,) = fields(x, what, "graph")
        found = self.subgraphs[integer(position, what, 0, len(self.subgraphs) - 1)]
        self.node_count += found.nodes
        self.depth = max(self.depth, found.depth)
        if self.node_count > MOST["nodes"] or self.depth > MOST["graphs within graphs"]:
            raise Malformed(f"{what} holds graphs within graphs, too many")
        return found.graph

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

    # -- how a call finds its sizes

    def sizes_by_value(self, inputs: Sequence[Value]) -> dict[int, Size]:
        found: dict[int, Size] = {}
        for x in items(self.part["values"], "values", len(inputs)):
            place, size = items(x, "a value", 2, 2)
            i = integer(place, "the place of a value", 0, len(inputs) - 1)
            if i in found or inputs[i].meta.rank or inputs[i].meta.dtype.kind not in "iu":
                raise Malformed(f"input {i} cannot give a size by its value")
            found[i] = self.over_variables(size)
        return found

    def axis_sources(self, inputs: Sequence[Value], runtime: set[DimVar]) -> tuple[DimSource, ...]:
        """Return the axis of each variable of a subgraph."""
        axes = axes_of_variables(inputs)
        missing = set(self.variables) - runtime - axes.keys()
        if missing:
            raise Malformed(f"nothing gives the size {next(iter(missing))}")
        return tuple([DimSource(variable, axis) for variable, axis in axes.items()])

    def solved(
        self,
        inputs: Sequence[Value],
        given: int,
        values: dict[int, Size],
        conditions: Sequence[Condition],
        runtime: set[DimVar],
    ) -> tuple[list[Value], tuple[DimSource, ...]]:
        """How each variable is found, and the further hidden inputs that this takes, beyond those of the file."""
        metas = [v.meta for v in inputs[:given]]
        try:
            solved = solve_dims(metas, values, conditions)
        except SpecError:  # what a program that became part of this one took for granted is an assertion here
            stated = [replace(c, kind="constraint") for c in conditions if c.kind in ("assertion", "constraint")]
            solved = solve_dims(metas, values, stated)
        missing = set(self.variables) - runtime - {s.variable for s in solved}
        if missing:
            raise Malformed(f"nothing gives the size {next(iter(missing))}")
        place = {self.hidden_variable(v): InputAxis(i, 0) for i, v in enumerate(inputs[given:], given)}
        extra: list[Value] = []
        local = local_sizes(metas, solved)
        for variable, size in local.items():
            if is_hidden_axis(size, given) and variable not in place:
                place[variable] = InputAxis(len(inputs) + len(extra), 0)
                extra.append(Value(TensorMeta(np.dtype(bool), (Exact(expr.from_atom(variable)),))))
        moved = {expr.as_atom(s): expr.from_atom(place[v]) for v, s in local.items() if is_hidden_axis(s, given)}

        def now(leaf: Leaf) -> Size | None:
            return moved.get(leaf)

        axes = {v: expr.from_atom(place[v]) if v in place else substitute_leaves(s, now) for v, s in local.items()}
        return extra, tuple([DimSource(s.variable, axes[s.variable], s) for s in solved])

    def hidden_variable(self, value: Value) -> DimVar:
        """The variable that a hidden input is there for."""
        sizes = value.meta.sizes
        atom = expr.as_atom(sizes[0]) if sizes and len(sizes) == 1 and isinstance(sizes[0], DimExpr) else None
        if not isinstance(atom, DimVar) or value.meta.dtype != np.dtype(bool):
            raise Malformed(f"a hidden input is {value.meta}")
        return atom
