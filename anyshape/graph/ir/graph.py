"""Values, nodes and graphs: the frozen SSA form of a program, which prints, compares and pickles.

Order of draws from random generators: each node of a graph that draws reads a mark of the draw before it.

A generator is a value that nodes advance when they run. It has one value in a graph. Each node that draws also reads
the mark of the last draw, from whichever generator, because two generators may share their bits. So no pass can change
the order of draws. A replay of a graph orders its draws after the ones that the builder already has.

Tables have one row per op. A printed graph has one line per node with its types and the user's line, then conditions.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from functools import cache, cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from anyshape.errors import AnyshapeError, MissingRuleError
from anyshape.graph.prover.constraints import Condition, SourceLine
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown, UpperBound, project
from anyshape.graph.signature.dim_equations import SizeBinding
from anyshape.graph.sizes import expr as dims
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Leaf, Size
from anyshape.support.freezing import freeze
from anyshape.support.lazy_dataclass import dataclass, replace

ShapeRule: TypeAlias = Callable[..., "TensorMeta | tuple[TensorMeta, ...]"]
Params: TypeAlias = tuple[tuple[str, Any], ...]


@dataclass(eq=False, slots=True)
class Op:
    """Primitive: a name and a shape rule `infer(ctx, *operands, **params)`. Tables keyed by it hold the rest.

    - `family`: the name of the modules that define it, in every folder.
    - `makes_sizes`: its results have run-time sizes, which its shape rule makes by `ctx.new_size`.
    - `raises`: it is applied for the error or the warning that it gives, so dead code elimination keeps it.
    - `draws`: it moves a random generator, which is its first operand; it has results.
    - `acts`: it is applied for what the user sees it do. So it runs once where the program says, and never again.
    - `has_subgraphs`: its params hold graphs.
    - `refusals`: gives the nodes to run in place of a dead node, so that they refuse the values that it would refuse.
      None: its kernel refuses no values. See `dead_code`.
    """

    name: str
    infer: ShapeRule
    family: str
    makes_sizes: bool = False
    raises: bool = False
    draws: bool = False
    acts: bool = False
    has_subgraphs: bool = False
    refusals: Callable[[Node], Sequence[Node]] | None = None

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return find_op, (self.name,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self


OPS: dict[str, Op] = {}


def define(name: str, infer: ShapeRule, family: str | None = None, **flags: Any) -> Op:
    """Enter a new primitive into `OPS`. Its family is the module of its shape rule, unless it is stated."""
    if name in OPS:
        raise AnyshapeError(f"{name}: an op of this name exists\n  choose another name")
    family = family or infer.__module__.rpartition(".")[2]
    OPS[name] = Op(name, infer, family, **flags)
    return OPS[name]


def find_op(name: str) -> Op:
    """Return the primitive of this name."""
    return OPS[name]


_IDS = itertools.count()


class Value:
    """Array of a program. Values are compared by identity; `id` orders and names them."""

    __slots__ = ("id", "meta")

    def __init__(self, meta: TensorMeta) -> None:
        self.meta, self.id = meta, next(_IDS)

    def __repr__(self) -> str:
        return f"%{self.id}: {self.meta}"


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """Application of an op. `sources` are shape sources; op-local leaves index inputs, then sources."""

    op: Op
    inputs: tuple[Value, ...]
    sources: tuple[Value, ...]
    params: Params
    outputs: tuple[Value, ...]
    where: SourceLine | None = None

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.inputs + self.sources

    def __str__(self) -> str:
        return show_node(self)


class HasParams(Protocol):
    """Node of a graph, or a step of a plan."""

    @property
    def op(self) -> Op: ...

    @property
    def params(self) -> Params: ...


@dataclass(frozen=True, slots=True)
class DimSource:
    """Source of a variable's value: an op-local expression over the inputs of the graph.

    `read` is the binding by which a call solves for it; None: the expression itself.
    """

    variable: DimVar
    size: Size
    read: SizeBinding | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """Program: inputs, constants, nodes in topological order, outputs and conditions.

    - `constants`: arrays that it closes over, by reference.
    - `dims`: the source of each dimension variable.
    - `values`: for each scalar integer input that gives a size by its value, its position and this size.
    - `hidden`: the number of last inputs that no call passes. Each has one axis, for a variable without another axis.
    """

    name: str
    inputs: tuple[Value, ...]
    constants: tuple[tuple[Value, np.ndarray], ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    dims: tuple[DimSource, ...] = ()
    conditions: tuple[Condition, ...] = ()
    input_names: tuple[str, ...] = field(default=())
    values: tuple[tuple[int, Size], ...] = ()
    hidden: int = 0

    @cached_property
    def numbering(self) -> dict[Value, int]:
        """Number of each value, in order of appearance."""
        values = [*self.inputs, *[v for v, _ in self.constants], *[v for n in self.nodes for v in n.outputs]]
        return {v: i for i, v in enumerate(values)}

    @cached_property
    def maker(self) -> dict[Value, Node]:
        """Node that computes each value."""
        return {v: node for node in self.nodes for v in node.outputs}

    def made_by(self, value: Value | None, op: Op) -> Node | None:
        """Return the node that makes a value, if it applies this op."""
        node = None if value is None else self.maker.get(value)
        return node if node is not None and node.op is op else None

    @cached_property
    def subgraphs(self) -> dict[Node, tuple[Graph, ...]]:
        """Subgraphs of each node that has any."""
        return {node: subgraphs(node) for node in self.nodes if node.op.has_subgraphs}

    @cached_property
    def runtime(self) -> dict[DimVar, tuple[Value, int]]:
        """Run-time sizes, each with the first value that has it, and the axis."""
        return runtime_sizes(self.nodes, [source.variable for source in self.dims])

    @cached_property
    def results(self) -> tuple[TensorMeta, ...]:
        """Array types of the outputs for a caller, who knows run-time sizes by their bounds alone."""
        if not self.runtime:
            return tuple([v.meta for v in self.outputs])
        bounds = self.runtime_bounds
        metas = [v.meta for v in self.outputs]
        return tuple([TensorMeta(m.dtype, tuple([project(e, bounds.get) for e in m.extents])) for m in metas])

    @cached_property
    def runtime_bounds(self) -> dict[Leaf, ShapeExtent]:
        """Strongest extent over sizes of inputs for each run-time size. Older facts come first."""
        bounds: dict[Leaf, ShapeExtent] = {}
        for variable in self.runtime:
            bounds[variable] = Unknown() if variable.upper is None else UpperBound(variable.upper)
        for claim in [c.claim for c in self.conditions if c.kind == "fact" and c.claim.relation == ">="]:
            bounded = dims.as_atom(claim.right)
            if isinstance(bounded, DimVar) and isinstance(bounds.get(bounded), Unknown):
                bounds[bounded] = project(UpperBound(claim.left), bounds.get)
        return bounds

    @cached_property
    def passed(self) -> set[object]:
        """Checks that the graph has passed: as it never changes, each is made once."""
        return set()

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return canonical_key(self)

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, len(self.inputs), tuple([n.op.name for n in self.nodes])))

    def __eq__(self, other: object) -> bool:
        """Compare what the graphs compute: see `canonical_key`."""
        if self is other:
            return True
        if not isinstance(other, Graph) or self._hash != other._hash or self._key != other._key:
            return False
        pairs = zip(self.constants, other.constants, strict=True)  # not part of the key, as they may change in place
        return all(a is b or a.tobytes() == b.tobytes() for (_, a), (_, b) in pairs)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return show_graph(self)

    def __reduce__(self) -> Any:
        return Graph, tuple(getattr(self, f.name) for f in fields(self))


def runtime_sizes(nodes: Iterable[Node], bound: Iterable[DimVar]) -> dict[DimVar, tuple[Value, int]]:
    """Return the run-time sizes that nodes make, each with the first value that has it, and the axis.

    Inputs give the variables `bound`: a result may have one that no operand of its node names, where sizes are equal.
    """
    known = set(bound)
    sizes: dict[DimVar, tuple[Value, int]] = {}
    for node in [n for n in nodes if n.op.makes_sizes]:
        read = {variable for v in node.operands for variable, _ in v.meta.variable_axes()}
        for value in node.outputs:
            for variable, axis in value.meta.variable_axes():
                if variable not in read and variable not in known:
                    sizes.setdefault(variable, (value, axis))
    return sizes


def graphs_in(param: Any) -> list[Graph]:
    """Return the graphs in a param, which may be a nested tuple."""
    if isinstance(param, tuple):
        return [graph for part in param if isinstance(part, (Graph, tuple)) for graph in graphs_in(part)]
    return [param] if isinstance(param, Graph) else []


def subgraphs(node: HasParams) -> tuple[Graph, ...]:
    """Return the graphs that are params of a node, or of a step of a plan, in the order of the params."""
    if not node.op.has_subgraphs:
        return ()
    return tuple([graph for _, p in node.params for graph in graphs_in(p)])


def replace_subgraphs(node: Node, new: Mapping[int, Graph]) -> Node:
    """Return the node with another graph in place of each of its subgraphs, which stands in `new` under its id."""

    def renewed(param):
        if isinstance(param, Graph):
            return new[id(param)]
        return tuple([renewed(p) for p in param]) if isinstance(param, tuple) else param

    return replace(node, params=tuple([(name, renewed(p)) for name, p in node.params]))


def with_subgraphs(graph: Graph, renewed: Callable[[Graph], Graph]) -> Graph:
    """Return the graph with what a function makes of each subgraph in its place; itself where none changes."""
    new = {id(g): renewed(g) for inner in graph.subgraphs.values() for g in inner}
    if all(id(new[id(g)]) == id(g) for inner in graph.subgraphs.values() for g in inner):
        return graph
    return replace(graph, nodes=tuple([replace_subgraphs(n, new) if n in graph.subgraphs else n for n in graph.nodes]))


def dependents(nodes: Iterable[Node], values: Iterable[Value]) -> set[Value]:
    """Return the values, and what nodes compute of them."""
    dependent = {*values}
    for node in nodes:
        if not dependent.isdisjoint(node.operands):
            dependent.update(node.outputs)
    return dependent


def walk(graph: Graph) -> Iterator[Node]:
    """Yield each node of a graph, followed by the nodes of its subgraphs."""
    for node in graph.nodes:
        yield node
        for inner in subgraphs(node):
            yield from walk(inner)


def decisions_of(graph: Graph) -> list[Node]:
    """Return the nodes that check decisions of Python on values, one for each, in the order of the decisions."""
    checks = {dict(node.params)["turn"]: node for node in walk(graph) if node.op.name == "decide"}
    return [checks[turn] for turn in sorted(checks)]


def asked(decision: Node) -> str:
    """Return the expression of the user on whose value Python decided."""
    return getattr(decision.where, "expression", "") or "a value"


def applies(node: HasParams, accepts: Callable[[Op], bool]) -> bool:
    """Return whether a node, or a node of its subgraphs, applies an op that the predicate accepts."""
    if accepts(node.op):
        return True
    return node.op.has_subgraphs and any(accepts(inner.op) for graph in subgraphs(node) for inner in walk(graph))


def raises(node: HasParams) -> bool:
    """Return whether a node is there for the error that it, or a node of its subgraphs, raises."""
    return applies(node, operator.attrgetter("raises"))


def draws(node: HasParams) -> bool:
    """Return whether a node, or a node of its subgraphs, moves a random generator."""
    return applies(node, operator.attrgetter("draws"))


def has_effects(graph: Graph) -> bool:
    """Return whether a node of a graph, or of its subgraphs, acts."""
    own = [node.op.acts for node in graph.nodes]
    return any(own) or any(has_effects(g) for inner in graph.subgraphs.values() for g in inner)


def acts(node: HasParams) -> bool:
    """Return whether a node, or a node of its subgraphs, is there for what the user sees it do."""
    return applies(node, operator.attrgetter("acts"))


def happens_once(node: HasParams) -> bool:
    """Return whether a node, or a node of its subgraphs, does something else if it runs again: it draws or acts."""
    return applies(node, lambda op: op.draws or op.acts)


def without_effects(graph: Graph) -> Graph:
    """Return a graph, and its subgraphs, without nodes that act: for runs that compute values again."""
    if not has_effects(graph):
        return graph
    return replace(graph, nodes=tuple([quiet(node) for node in graph.nodes if not node.op.acts]))


def quiet(node: Node) -> Node:
    """Return a node whose subgraphs do not act."""
    if not (node.op.has_subgraphs and acts(node)):
        return node
    return replace_subgraphs(node, {id(graph): without_effects(graph) for graph in subgraphs(node)})


def params_tuple(params: Mapping[str, Any]) -> Params:
    """Return params as a node holds them: sorted by name."""
    return tuple(sorted(params.items()))


class Handle:
    """Memory layout of handles, by which an array that a trace made may become a traced one while others hold it."""

    __slots__ = ("__weakref__", "builder", "exact", "memory", "owner", "value", "views", "weak")


def canonical_key(graph: Any) -> tuple[Any, ...]:
    """Return a key that is equal for equal graphs.

    - Values are numbers in order of appearance. So are the variables that the graph defines, together with their names
      and ranges: two traces of one function have different variables.
    - Other variables, which belong to an enclosing graph, stand for themselves.
    - Constants have their dtypes and shapes here; graphs compare the bytes, which may change. Subgraphs among the
      params have their own keys.
    - Lines of the user's program, and how a call solves for variables, play no part.
    """
    return _Keys([*[source.variable for source in graph.dims], *graph.runtime]).of_graph(graph)


class _Keys:
    """Keys of the parts of one graph, which defines the variables `own`."""

    def __init__(self, own: Iterable[DimVar]) -> None:
        self.own = set(own)
        self.number: dict[DimVar, int] = {}
        self.known: dict[DimExpr, Any] = {}

    def of_graph(self, graph: Any) -> tuple[Any, ...]:
        number = graph.numbering
        metas = tuple([(v.meta.dtype, tuple([self._of_extent(e) for e in v.meta.extents])) for v in number])
        constants = tuple([(number[v], a.dtype.str, a.shape) for v, a in graph.constants])
        numbers = lambda values: tuple([number[v] for v in values])
        values_of = lambda n: map(numbers, (n.inputs, n.sources, n.outputs))
        nodes = tuple([(n.op.name, *values_of(n), freeze(n.params)) for n in graph.nodes])
        outputs = tuple([number[v] for v in graph.outputs])
        sources = frozenset([(self._of_atom(s.variable), self._of_size(s.size)) for s in graph.dims])
        by_value = tuple([(i, self._of_size(size)) for i, size in graph.values])
        conditions = tuple([self._of_condition(c) for c in graph.conditions])
        header = graph.name, graph.input_names, graph.hidden
        return (*header, metas, constants, nodes, outputs, sources, by_value, conditions)

    def _of_extent(self, extent: ShapeExtent):
        if isinstance(extent, Exact):
            return self._of_size(extent.size)
        return ("<=", self._of_size(extent.size)) if isinstance(extent, UpperBound) else None

    def _of_condition(self, condition):
        claim = condition.claim
        sides = self._of_size(claim.left), self._of_size(claim.right)
        return condition.kind, claim.relation, *sides, claim.text, condition.primitive, condition.why

    def _of_size(self, size: Size):
        if isinstance(size, int):
            return size
        if size not in self.known:
            terms = [(c, frozenset([(self._of_atom(a), power) for a, power in m])) for m, c in size.terms]
            self.known[size] = frozenset(terms)
        return self.known[size]

    def _of_atom(self, atom: Atom):
        if isinstance(atom, Call):
            args = [self._of_size(a) for a in atom.args]
            return atom.function, tuple(args) if atom.function in ("floordiv", "mod") else frozenset(args)
        if not isinstance(atom, DimVar) or atom not in self.own:
            return atom
        return self.number.setdefault(atom, len(self.number)), atom.name, atom.label, atom.lower, atom.upper


@cache  # `numpy.random` takes 6 ms to load
def drawing() -> tuple[type, ...]:
    """Return the classes of NumPy whose objects draw random numbers."""
    return np.random.Generator, np.random.RandomState


ORDER = "order_draw"  # the op that passes a generator on after a mark


class DrawOrder:
    """Draws of one graph under construction: the generators behind marks, and the mark of the last draw."""

    __slots__ = ("last", "plain")

    def __init__(self) -> None:
        self.plain: dict[Value, Value] = {}  # the generator behind a mark, without it
        self.last: Value | None = None

    def of_node(self, op: Op, params: Mapping[str, Any]) -> DrawOrder | None:
        """Return the order for a node that draws, in a subgraph perhaps, and None for others."""
        subgraphs = (graph for p in params.values() for graph in graphs_in(p))
        return self if op.draws or any(node.op.draws for graph in subgraphs for node in walk(graph)) else None

    def note(self, op: Op, outputs: Sequence[Value]) -> None:
        """Take the mark of a node that draws: its last output, or of a node with subgraphs any."""
        self.last = outputs[-1 if op.draws else 0]

    def behind_last(self, values: Sequence[Value], emit_order: Callable[[Value, Value], Value]) -> tuple[Value, ...]:
        """Return the operands of a node that draws, with each generator behind the mark of the last draw."""
        return tuple([self._behind_last(v, emit_order) if is_generator(v) else v for v in values])

    def _behind_last(self, generator: Value, emit_order: Callable[[Value, Value], Value]) -> Value:
        plain = self.plain.get(generator, generator)
        if self.last is None:
            return plain
        ordered = emit_order(plain, self.last)
        self.plain[ordered] = plain
        return ordered


def is_generator(value: Value) -> bool:
    """Return whether a value stands for random generators."""
    return value.meta.dtype.kind == "O"


Row = TypeVar("Row")


class OpTable(dict[Op, Row]):
    """Rows by op. Indexing by an op without a row raises MissingRuleError, which names the file of the row.

    - `kind`: what a row is, as the error says it.
    - `folder`: the folder of the package whose file of the op's family has the row.

    The rows may come late: `fill_by` names the function that the lookup of a missing row calls with the op's family. It
    enters the rows of that family.
    """

    __slots__ = ("_fill", "folder", "kind")

    def __init__(self, kind: str, folder: str) -> None:
        super().__init__()
        self.kind, self.folder = kind, folder
        self._fill: Callable[[str], object] | None = None

    def fill_by(self, fill: Callable[[str], object]) -> None:
        """Let a function enter the rows of a family, at the lookup of one that is missing."""
        self._fill = fill

    def __missing__(self, op: Op) -> Row:
        if (fill := self._fill) is not None:
            fill(op.family)  # waits, if another thread is at it
            if op in self:
                return self[op]
        raise MissingRuleError(op.name, self.kind, f"{self.folder}/{op.family}.py")


_WIDEST = 96  # characters of a node before its comment
_LONGEST_CONSTANT = 40
_INDENT = "  "


def show_graph(graph: Any) -> str:
    """Return the program as text.

    Values are numbered in order of appearance, and inputs keep their names. A subgraph stands indented under its node.
    """
    return "\n".join(_lines_of(graph))


def _lines_of(graph) -> list[str]:
    names = value_names(graph)
    sizes_by_value = {graph.inputs[i]: f" = {size}" for i, size in graph.values}
    arguments = ", ".join(f"{names[v]}: {v.meta}{sizes_by_value.get(v, '')}" for v in graph.inputs)
    results = ", ".join(map(str, graph.results))
    lines = [f"{graph.name or 'program'}({arguments}) -> ({results})"]
    for value, array in graph.constants:
        lines.append(f"{_INDENT}{names[value]}: {value.meta} = constant {short_text(array)}")
    texts = [node_text(node, names) for node in graph.nodes]
    width = min(max(map(len, texts), default=0), _WIDEST)
    for text, node in zip(texts, graph.nodes, strict=True):
        lines.append(f"{_INDENT}{text:<{width}}  # {node.where}" if node.where is not None else f"{_INDENT}{text}")
        for inner in graph.subgraphs.get(node, ()):
            lines += [f"{2 * _INDENT}{line}" for line in _lines_of(inner)]
    lines.append(f"{_INDENT}return {', '.join(names[v] for v in graph.outputs)}")
    return [*lines, *[f"{_INDENT}{condition}" for condition in graph.conditions]]


def value_names(graph: Any) -> dict[Any, str]:
    """Return a distinct name for each value: the name of the argument, or a number."""
    names = {value: f"%{number}" for value, number in graph.numbering.items()}
    for value, name in zip(graph.inputs, graph.input_names, strict=False):
        if name and f"%{name}" not in names.values():
            names[value] = f"%{name}"
    return names


def show_node(node: Any) -> str:
    """Return a node by itself, with process-wide value numbers: `%7: f64[n] = add(%5, %6)  # user.py:3`."""
    names = {v: f"%{v.id}" for v in (*node.operands, *node.outputs)}
    return node_text(node, names) + (f"  # {node.where}" if node.where is not None else "")


def node_text(node: Any, names: dict[Any, str]) -> str:
    """Return a node with these names of values, without its line."""
    outputs = ", ".join(f"{names[v]}: {v.meta}" for v in node.outputs)
    operands = ", ".join(names[v] for v in node.inputs)
    sources = f"; sizes of {', '.join(names[v] for v in node.sources)}" if node.sources else ""
    params = ", ".join(f"{k}={show_param(p)}" for k, p in node.params)
    return f"{outputs} = {node.op}({operands}{sources}){' {' + params + '}' if params else ''}"


def show_param(param: Any) -> str:
    """Return a param of an op as text on one line; a subgraph is its name and the number of its nodes."""
    if isinstance(param, tuple):
        return f"({', '.join(map(show_param, param))}{',' if len(param) == 1 else ''})"
    if hasattr(param, "numbering"):
        return f"<{param.name or 'graph'}: {len(param.nodes)} nodes>"
    return str(param)


def short_text(array: Any) -> str:
    """Return an array as text on one line, with its end left out where it is long."""
    text = " ".join(str(array).split())
    return text if len(text) <= _LONGEST_CONSTANT else text[: _LONGEST_CONSTANT - 3] + "..."
