"""Signature of a program: the declared sizes of its inputs, and the bindings of its variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NoReturn

from anyshape.graph.prover.claim_text import SizeNames
from anyshape.graph.prover.constraints import Condition
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.signature.dim_equations import InputSize, SizeBinding, input_axes
from anyshape.graph.signature.size_names import size_names
from anyshape.graph.sizes.expr import DimVar, RuntimeScalar, Size, leaves_of
from anyshape.support.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Signature:
    """Array types and integer values of the inputs of a program, and the bindings of its variables.

    `values` are the sizes that scalar integer inputs give by their value, by position. Errors leave out inputs without
    a name, which are not the caller's.
    """

    program: str
    names: tuple[str, ...]
    metas: tuple[TensorMeta, ...]
    values: tuple[tuple[int, Size], ...]
    bindings: tuple[SizeBinding, ...]

    @cached_property
    def declared_sizes(self) -> dict[InputSize, Size]:
        """Declared size of each axis and of each integer value."""
        return dict(input_axes(self.metas, dict(self.values)))

    @cached_property
    def sources(self) -> dict[DimVar, tuple[InputSize, ...]]:
        """Input sizes that each variable is computed from, directly or through other variables."""
        sources: dict[DimVar, tuple[InputSize, ...]] = {}
        for binding in self.bindings:
            used = [leaf for size in binding.sizes() for leaf in leaves_of(size) if leaf is not binding.variable]
            groups = [sources[leaf] if isinstance(leaf, DimVar) else (leaf,) for leaf in used]
            sources[binding.variable] = tuple(dict.fromkeys(source for group in groups for source in group))
        return sources

    def describe(self, sources: Iterable[InputSize]) -> str:
        """Return input sizes as the caller writes them: `x.shape[0] and k`."""
        names = [(source, self.names[source.operand]) for source in sources]
        texts = [n if isinstance(s, RuntimeScalar) else f"{n}.shape[{s.axis}]" for s, n in names if n]
        return " and ".join(texts)

    @cached_property
    def size_names(self) -> SizeNames:
        """Names of sizes in errors."""
        return size_names(self.bindings, self.names)

    def first_violated(self, conditions: Sequence[Condition], variables: Sequence[DimVar], *sizes: int) -> None:
        """Raise the error for the first condition that does not hold for these sizes of the variables."""
        known: dict[Any, int] = dict(zip(variables, sizes, strict=True))
        for condition in conditions:
            if not condition.claim.holds(known.__getitem__):
                self.violated(condition, *[known[v] for v in condition.claim.variables()])

    def violated(self, condition: Condition, *sizes: int) -> NoReturn:
        """Raise the error for a condition that does not hold for these sizes of its variables."""
        raise condition.error(dict(zip(condition.claim.variables(), sizes, strict=True)), self.size_names)
