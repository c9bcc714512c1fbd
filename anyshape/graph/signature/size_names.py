"""Names of sizes in messages, from the bindings of their variables."""

import re
from collections.abc import Iterable, Sequence

from anyshape.graph.prover.constraints import SizeNames
from anyshape.graph.signature.dim_equations import InputSize, SizeBinding
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis


def identifier(label: str) -> str:
    """Return an identifier for the path of an argument: `params_w` for `params['w']`."""
    text = re.sub(r"\W+", "_", label).strip("_")
    return text if text[:1].isalpha() else f"x{text}"


def input_name(source: InputSize, labels: Sequence[str]) -> str:
    """Return an input size as the caller writes it: `x.shape[0]`, or `k` for an integer value."""
    label = labels[source.operand] if source.operand < len(labels) else f"hidden{source.operand}"
    return f"{label}.shape[{source.axis}]" if isinstance(source, InputAxis) else label


def undeclared_axis(binding: SizeBinding, labels: Sequence[str]) -> InputAxis | None:
    """Return the axis that a variable is named after, where the user gave it no name."""
    axis = expr.as_atom(binding.target) if binding.divisor == 1 and binding.curve is None else None
    if not isinstance(axis, InputAxis) or axis.operand >= len(labels):
        return None
    return axis if binding.variable.name == f"{identifier(labels[axis.operand])}_{axis.axis}" else None


def size_names(bindings: Iterable[SizeBinding], labels: Sequence[str]) -> SizeNames:
    """Return the names of variables that are bound from inputs with these labels."""
    sources: dict[DimVar, str] = {}
    undeclared = set()
    for binding in bindings:
        if undeclared_axis(binding, labels) is not None:
            undeclared.add(binding.variable)
        sources[binding.variable] = _source(binding, SizeNames(sources, undeclared), labels)
    return SizeNames(sources, undeclared)


def _source(binding: SizeBinding, names: SizeNames, labels: Sequence[str]) -> str:
    """Return how a call gives the variable: `x.shape[0]`, `(x.shape[0] - 1) // 2`, `k`; "" for a constant."""

    def leaf(atom) -> str:
        return names.leaf(atom) if isinstance(atom, DimVar) else input_name(atom, labels)

    leaves = [leaf for size in binding.sizes() for leaf in expr.leaves_of(size) if leaf is not binding.variable]
    if not leaves or any(isinstance(a, InputAxis) and a.operand >= len(labels) for a in leaves):
        return ""
    if binding.curve is not None:
        return f"where {expr.show(binding.curve, leaf)} = {expr.show(binding.target, leaf)}"
    return expr.show(expr.floordiv(binding.target, binding.divisor), leaf)
