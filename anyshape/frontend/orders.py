"""The orders in which a program contracts its products of several operands, by the sizes of a call.

Which order has the least work may depend on sizes that only a call knows. Its sizes choose one for each product; calls
of which the sizes choose alike share a plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from anyshape.backend.passes.in_pairs import labelled_sizes, products_of, usual_path
from anyshape.graph import dims
from anyshape.graph.context import ShapeGuardContext
from anyshape.graph.dims import Size
from anyshape.graph.entry import divides
from anyshape.graph.ir import Graph, Value
from anyshape.graph.scope import Scope
from anyshape.ops.contraction import terms_of
from anyshape.ops.paths import Path, cheapest

Choice = tuple[Path, ...]


class _Product(NamedTuple):
    value: Value
    terms: Sequence[str]
    out: str
    sizes: Mapping[str, Size]


class Orders:
    """The products of a graph whose sizes the arguments of a call give. False where there are none."""

    def __init__(self, graph: Graph) -> None:
        ctx = ShapeGuardContext(Scope(conditions=graph.conditions), "orders", rule="pass")
        given = {s.variable for s in graph.dims}
        found = [_Product(n.outputs[0], *terms_of(dict(n.params)["equation"]), labelled_sizes(ctx, n))
                 for n in products_of(graph)]  # fmt: skip
        known = lambda size: given.issuperset(dims.variables(size)) and not divides(size)
        self.products = [p for p in found if all(map(known, p.sizes.values()))]
        chosen = {p.value for p in self.products}
        self.usual: Choice = tuple([usual_path(ctx, n) for n in products_of(graph) if n.outputs[0] in chosen])
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
