"""Key by which graphs are compared: equal for two traces of the same function.

Reads graphs without importing them, as `printer` does, so that a graph can compare itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anyshape.graph.shapes.array_type import Exact, ShapeExtent, TensorMeta, UpperBound
from anyshape.graph.sizes.expr import Atom, Call, DimExpr, DimVar, Size
from anyshape.support.freezing import freeze


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
        metas = tuple([self._of_meta(v.meta) for v in number])
        constants = tuple([(number[v], a.dtype.str, a.shape) for v, a in graph.constants])
        nodes = tuple(
            [
                (
                    n.op.name,
                    *[tuple([number[v] for v in vs]) for vs in (n.inputs, n.sources, n.outputs)],
                    freeze(n.params),
                )
                for n in graph.nodes
            ]
        )
        outputs = tuple([number[v] for v in graph.outputs])
        sources = frozenset([(self._of_atom(s.variable), self._of_size(s.size)) for s in graph.dims])
        by_value = tuple([(i, self._of_size(size)) for i, size in graph.values])
        conditions = tuple([self._of_condition(c) for c in graph.conditions])
        header = graph.name, graph.input_names, graph.hidden
        return (*header, metas, constants, nodes, outputs, sources, by_value, conditions)

    def _of_meta(self, meta: TensorMeta) -> Any:
        return meta.dtype, tuple([self._of_extent(e) for e in meta.extents])

    def _of_extent(self, extent: ShapeExtent) -> Any:
        if isinstance(extent, Exact):
            return self._of_size(extent.size)
        return ("<=", self._of_size(extent.size)) if isinstance(extent, UpperBound) else None

    def _of_condition(self, condition: Any) -> Any:
        claim = condition.claim
        sides = self._of_size(claim.left), self._of_size(claim.right)
        return condition.kind, claim.relation, *sides, claim.text, condition.primitive, condition.why

    def _of_size(self, size: Size) -> Any:
        if isinstance(size, int):
            return size
        if size not in self.known:
            terms = [(c, frozenset([(self._of_atom(a), power) for a, power in m])) for m, c in size.terms]
            self.known[size] = frozenset(terms)
        return self.known[size]

    def _of_atom(self, atom: Atom) -> Any:
        if isinstance(atom, Call):
            args = [self._of_size(a) for a in atom.args]
            return atom.function, tuple(args) if atom.function in ("floordiv", "mod") else frozenset(args)
        if not isinstance(atom, DimVar) or atom not in self.own:
            return atom
        number = self.number.setdefault(atom, len(self.number))
        return number, atom.name, atom.label, atom.lower, atom.upper
