"""The orders in which a program contracts its products of several operands, by the sizes of a call.

Which order has the least work may depend on sizes that only a call knows. Its sizes choose one for each product; calls
of which the sizes choose alike share a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anyshape.backend.compiler.passes.binary_einsum import labelled_sizes, products_of, usual_path
from anyshape.graph.ir.graph import Graph, Value
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.graph.signature.prologue import divides
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops.contraction import terms_of
from anyshape.ops.contraction_order import Path, cheapest

Choice = tuple[Path, ...]


class _Product(NamedTuple):
    value: Value
    terms: Sequence[str]
    out: str
    sizes: Mapping[str, Size]


class ContractionPaths:
    """The products of a graph whose sizes the arguments of a call give. False where there are none."""

    def __init__(self, graph: Graph) -> None:
        self.products: list[_Product] = []
        usual: list[Path] = []
        nodes, given = products_of(graph), {s.variable for s in graph.dims}
        ctx = ShapeGuardContext(Scope(conditions=graph.conditions if nodes else ()), "orders", rule="pass")
        for node in nodes:
            sizes = labelled_sizes(ctx, node)
            if all(given.issuperset(expr.variables(s)) and not divides(s) for s in sizes.values()):
                self.products.append(_Product(node.outputs[0], *terms_of(dict(node.params)["equation"]), sizes))
                usual.append(usual_path(ctx, node))
        self.usual: Choice = tuple(usual)
        self.sizes = list(dict.fromkeys(s for p in self.products for s in p.sizes.values()))

    def __bool__(self) -> bool:
        return bool(self.products)

    def __call__(self, at: Mapping[Size, int]) -> Choice:
        """The order of each product at these sizes: the cheapest one, of equals the usual one."""
        found = []
        for product, usual in zip(self.products, self.usual, strict=True):
            count = {label: max(at[size], 1) for label, size in product.sizes.items()}
            found.append(cheapest(product.terms, product.out, count, usual))
        return tuple(found)

    def by_value(self, choice: Choice) -> dict[Value, Path]:
        """The order of each product by its value."""
        return dict(zip([p.value for p in self.products], choice, strict=True))
