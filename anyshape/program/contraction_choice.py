"""Contraction paths of a program, chosen by the sizes of each call.

The path with the least work may depend on sizes that only a call knows. Calls whose sizes choose the same paths share
a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from anyshape.backend.compiler.passes.binary_einsum import default_path, einsum_nodes, labelled_sizes
from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.evaluate import may_divide_by_zero
from anyshape.graph.sizes.expr import Size
from anyshape.ops.contraction import terms_of
from anyshape.ops.core.contraction_order import Path, cheapest_path
from anyshape.support.lazy_namedtuple import NamedTuple

Paths = tuple[Path, ...]  # one for each product of a graph


class _Product(NamedTuple):
    value: Value
    terms: Sequence[str]
    out: str
    sizes: Mapping[str, Size]


class ContractionPaths:
    """Contraction paths of the products of a graph whose sizes follow from the arguments; false without products."""

    def __init__(self, graph: Graph) -> None:
        self.products: list[_Product] = []
        default: list[Path] = []
        nodes, solved = einsum_nodes(graph), {s.variable for s in graph.dims}
        scope = Scope(conditions=graph.conditions if nodes else (), runtime=graph.runtime)
        ctx = ShapeGuardContext(scope, "orders", rule="pass")
        for node in nodes:
            sizes = labelled_sizes(ctx, node)
            if all(solved.issuperset(expr.variables(s)) and not may_divide_by_zero(s) for s in sizes.values()):
                self.products.append(_Product(node.outputs[0], *terms_of(dict(node.params)["equation"]), sizes))
                default.append(default_path(ctx, node))
        self.default: Paths = tuple(default)
        self.sizes: list[Size] = list(dict.fromkeys(s for p in self.products for s in p.sizes.values()))

    def __bool__(self) -> bool:
        return bool(self.products)

    def cheapest(self, numbers: Mapping[Size, int]) -> Paths:
        """Return the cheapest path of each product at these sizes; the default one wins a tie."""
        paths = []
        for product, default in zip(self.products, self.default, strict=True):
            counts = {label: max(numbers[size], 1) for label, size in product.sizes.items()}
            paths.append(cheapest_path(product.terms, product.out, counts, default))
        return tuple(paths)

    def by_value(self, paths: Paths) -> dict[Value, Path]:
        """Map the value of each product to its path."""
        return dict(zip([p.value for p in self.products], paths, strict=True))
