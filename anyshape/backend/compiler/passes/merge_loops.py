"""Loops that read what other loops stack, trip by trip: both run as one, and the stacks are not made.

Reverse mode makes values again in a loop that undoes the writes of another one. The loop that reads them has the same
trips in the same order.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from anyshape.graph.ir import op_local
from anyshape.graph.ir.graph import (
    DimSource,
    Graph,
    Node,
    Value,
    dependents,
    params_tuple,
    raises,
    walk,
    with_subgraphs,
)
from anyshape.graph.prover.constraints import substitute_claim
from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, Unknown
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops.control import name_sizes_op
from anyshape.ops.control_flow import sized_op
from anyshape.ops.creation import size_value_op
from anyshape.ops.loops import Layout, scan_op
from anyshape.support.lazy_dataclass import replace

_SAME = {name_sizes_op, sized_op}


def merge_loops(graph: Graph) -> Graph:
    """Return the graph, and its subgraphs, with one loop in place of two where the second reads stacks of the first."""
    while len([n for n in graph.nodes if n.op is scan_op]) > 1 and (pair := _pair(graph)) is not None:
        graph = pair.merged()
    return with_subgraphs(graph, merge_loops)


def _pair(graph: Graph) -> "_Pair | None":
    """Return two loops that can be one, None if there are none."""
    pairs = (pair for node in graph.nodes if node.op is scan_op for pair in _pairs_of(graph, node, graph.maker))
    return next((pair for pair in pairs if pair.is_possible()), None)


def _pairs_of(graph: Graph, second: Node, maker: dict[Value, Node]) -> "list[_Pair]":
    """Return the pairs of a loop with others whose results it reads trip by trip."""
    layout = Layout(*dict(second.params)["layout"])
    origins = {i: _origin(second.inputs[i], maker) for i in range(layout.carries, layout.own)}
    firsts = dict.fromkeys(maker[v] for v in origins.values() if v in maker and maker[v].op is scan_op)
    return [_Pair(graph, node, second, {i: v for i, v in origins.items() if v in node.outputs}) for node in firsts]


def _origin(value: Value, maker: dict[Value, Node]) -> Value:
    """Return what a value has the elements of, in the same order."""
    while value in maker and maker[value].op in _SAME:
        value = maker[value].inputs[0]
    return value


class _Loop:
    """Scan, taken apart."""

    def __init__(self, node: Node) -> None:
        self.node, self.params = node, dict(node.params)
        self.body: Graph = self.params["body"][0]
        self.layout = Layout(*self.params["layout"])
        count, self.carries = len(self.body.inputs), self.layout.carries
        self.lengths = node.inputs[count : count + self.layout.pieces]
        self.joined_lengths = node.inputs[count + self.layout.pieces :]
        self.joined = len(node.outputs) - self.params["joined"]  # position of the first joined result

    def kind(self, i: int) -> int:
        """Return the kind of an input: carry, element, piece or captured value."""
        return sum([i >= self.layout.carries, i >= self.layout.stacks.stop, i >= self.layout.own])

    def length_of(self, i: int) -> Value:
        """Return the lengths of a piece."""
        return self.lengths[i - self.layout.stacks.stop]


class _Pair:
    """Loop that reads results of an earlier one: `read` has its operands by position, and what these are there."""

    def __init__(self, graph: Graph, first: Node, second: Node, read: dict[int, Value]) -> None:
        self.graph, self.first, self.second = graph, _Loop(first), _Loop(second)
        self.read = {i: first.outputs.index(v) for i, v in read.items()}
        self.dependent = dependents([n for n in graph.nodes if n is not second], first.outputs)

    def is_possible(self) -> bool:
        """Return whether the second loop reads the first in the trips that give what it reads, and only there."""
        b = self.second
        if not self._match():
            return False
        shift = len(b.body.inputs) - b.layout.stacks.stop
        ahead = {*self.read, *[i + shift for i in self.read if b.kind(i) == 2]}  # with the lengths of pieces
        whole = [v for i, v in enumerate(b.node.inputs) if i not in ahead]
        if not self.dependent.isdisjoint((*whole, *b.node.sources)):
            return False
        return all(self._fits(i, k) for i, k in self.read.items())

    def _match(self) -> bool:
        """Return whether params of the two let them run together."""
        a, b = self.first, self.second
        if a.params["reverse"] != b.params["reverse"] or a.params["slots"] or b.params["slots"] or a.joined_lengths:
            return False
        return bool(a.params["ends"]) >= bool(b.params["ends"]) and not any(raises(n) for n in walk(a.body))

    def _fits(self, i: int, k: int) -> bool:
        """Return whether operand i of the second loop is, trip by trip, result k of the first."""
        a, b = self.first, self.second
        return a.carries <= k < a.joined if b.kind(i) == 1 else k >= a.joined and self._has_lengths_of(i, k)

    def _has_lengths_of(self, i: int, k: int) -> bool:
        """Return whether the pieces of operand i have the lengths of result k of the first loop."""
        a, b = self.first, self.second
        length = _origin(b.length_of(i), self.graph.maker)
        if length not in a.node.outputs:
            return False
        counted = a.body.outputs[a.node.outputs.index(length)]
        node = next((n for n in a.body.nodes if counted in n.outputs), None)
        rows = a.body.outputs[k].meta.extents[0]
        if node is None or node.op is not size_value_op or not isinstance(rows, Exact):
            return False
        scope = op_local.pass_scope(a.body)
        size = dict(op_local.NodeSizes(a.body, op_local.pass_context(scope, "merge")).params(node))["size"]
        return scope.same(size, rows.size)

    # -- the loop in place of both

    def merged(self) -> Graph:
        """Return the graph with one loop, behind which all stands that depends on the first."""
        a, b, nodes = self.first.node, self.second.node, self.graph.nodes
        at = nodes.index(b)
        late = [n for n in nodes[:at] if n is not a and not self.dependent.isdisjoint(n.operands)]
        early = [n for n in nodes[:at] if n is not a and n not in late]
        rest = [*late, *nodes[at + 1 :]]
        read = {*self.graph.outputs, *op_local.asserted_sizes(self.graph)}
        for node in reversed(rest):
            if raises(node) or not read.isdisjoint(node.outputs):
                read.update(node.operands)
        live = [v in read for v in a.outputs]
        return replace(self.graph, nodes=(*early, self._node(live), *rest))

    def _node(self, live: Sequence[bool]) -> Node:
        """Return the loop with the results of the second one and the live ones of the first."""
        a, b = self.first, self.second
        inputs, substituted = self._inputs()
        body = self._body(inputs, substituted, live)
        order = self._order()
        lengths = [loop.length_of(i) for loop, i in order if loop.kind(i) == 2]
        operands = (*[loop.node.inputs[i] for loop, i in order], *lengths, *b.joined_lengths)
        sources = (*a.node.sources, *b.node.sources)
        layout = [sum(loop.kind(i) == kind for loop, i in order) for kind in range(3)]
        joined = [k for k in range(a.joined, len(a.node.outputs)) if live[k]]
        ends = (*self._ends(a, (*operands, *sources)), *self._ends(b, (*operands, *sources)))
        params = b.params | {
            "body": (body,), "layout": tuple(layout), "joined": b.params["joined"] + len(joined), "ends": ends,
        }  # fmt: skip
        outputs = self._outputs(a.node.outputs, b.node.outputs, live)
        return Node(scan_op, operands, sources, params_tuple(params), tuple(outputs), b.node.where)

    def _order(self) -> list[tuple[_Loop, int]]:
        """Return the inputs of the loop by kind, each with the loop that has it, and its position there."""
        pairs = [(kind, loop) for kind in range(4) for loop in (self.first, self.second)]
        return [(loop, i) for kind, loop in pairs for i in self._own(loop, kind)]

    def _own(self, loop: _Loop, kind: int) -> list[int]:
        """Return the inputs of a kind that a loop brings along: the second one has others of the first."""
        own = [i for i in range(len(loop.body.inputs)) if loop.kind(i) == kind]
        return own if loop is self.first else [i for i in own if i not in self.read and i not in self._shared()]

    def _shared(self) -> dict[int, int]:
        """Return the inputs of the second loop that the first one has too: what it reads of the same operands."""
        a, b = self.first, self.second
        key = lambda loop, i: (loop.kind(i), loop.node.inputs[i], loop.length_of(i) if loop.kind(i) == 2 else None)
        mine = {key(a, i): i for i in range(a.carries, len(a.body.inputs))}
        others = {i: mine.get(key(b, i)) for i in range(b.carries, len(b.body.inputs)) if i not in self.read}
        return {i: j for i, j in others.items() if j is not None}

    def _inputs(self) -> tuple[dict[Value, Value], dict[DimVar, Size]]:
        """Return what stands for the inputs of the second body, and the sizes that stand for its variables."""
        a, b = self.first, self.second
        same = {i: a.body.inputs[j] for i, j in self._shared().items()}
        same |= {i: a.body.outputs[k] for i, k in self.read.items()}
        sizes: dict[DimVar, Size] = {}
        for i, value in same.items():
            for variable, axis in b.body.inputs[i].meta.variable_axes():
                if isinstance(extent := value.meta.extents[axis], Exact):
                    sizes.setdefault(variable, extent.size)
        left = [*[s.variable for s in b.body.dims], *b.body.runtime]
        sizes |= {v: expr.from_atom(DimVar(v.name)) for v in left if v not in sizes}
        inputs = {v: same.get(i) or Value(_translated(v.meta, sizes)) for i, v in enumerate(b.body.inputs)}
        return inputs, sizes

    def _body(self, stand_ins: dict[Value, Value], sizes: dict[DimVar, Size], live: Sequence[bool]) -> Graph:
        """Return the body of both loops."""
        a, b, env = self.first.body, self.second.body, dict(stand_ins)
        nodes = [*a.nodes]
        for node in b.nodes:
            env |= {v: Value(_translated(v.meta, sizes)) for v in node.outputs}
            inputs, sources, outputs = (
                tuple(map(env.__getitem__, vs)) for vs in (node.inputs, node.sources, node.outputs)
            )
            nodes.append(replace(node, inputs=inputs, sources=sources, outputs=outputs))
        own = tuple([a.inputs[i] if loop is self.first else env[b.inputs[i]] for loop, i in self._order()])
        conditions = [
            replace(c, claim=substitute_claim(c.claim, lambda atom: _size_for(atom, sizes))) for c in b.conditions
        ]
        return replace(
            a,
            inputs=own,
            nodes=tuple(nodes),
            outputs=tuple(self._outputs(a.outputs, [env[v] for v in b.outputs], live)),
            dims=tuple([DimSource(v, size) for v, size in op_local.axes_of_variables(own).items()]),
            conditions=(*a.conditions, *conditions),
        )

    def _outputs(self, mine: Sequence[Value], others: Sequence[Value], live: Sequence[bool]) -> list[Value]:
        """Return the outputs of both loops by kind; joined ones of the second come first, which may have lengths."""
        a, b = self.first, self.second
        carries, stacks, joined = mine[: a.carries], mine[a.carries : a.joined], mine[a.joined :]
        return [
            *carries,
            *others[: b.carries],
            *itertools.compress(stacks, live[a.carries :]),
            *others[b.carries :],
            *itertools.compress(joined, live[a.joined :]),
        ]

    def _ends(self, loop: _Loop, operands: Sequence[Value]) -> Any:
        """Return the sizes of the last carries of a loop over the operands of both."""
        at = lambda axis: expr.input_axis(operands.index(loop.node.operands[axis.operand]), axis.axis)
        return op_local.bind_local(loop.params["ends"], at)


def _size_for(atom: Any, sizes: dict[DimVar, Size]) -> Size | None:
    """Return the size that stands for a variable, None for what stays."""
    return sizes.get(atom) if isinstance(atom, DimVar) else None


def _translated(meta: TensorMeta, sizes: dict[DimVar, Size]) -> TensorMeta:
    """Return an array type with other sizes in place of variables."""
    extents: list[ShapeExtent] = [
        e if isinstance(e, Unknown) else type(e)(substitute(e.size, lambda atom: _size_for(atom, sizes)))
        for e in meta.extents
    ]
    return TensorMeta(meta.dtype, tuple(extents))
