"""Names of the sizes of a signature in messages, from how each variable is solved for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from anyshape.graph.prover.claim_text import SizeNames
from anyshape.graph.signature.dim_equations import SizeBinding, leaves
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, InputAxis


def identifier(label: str) -> str:
    """Return an identifier for the path of an argument: `params_w` for `params['w']`."""
    text = re.sub(r"\W+", "_", label).strip("_")
    return text if text[:1].isalpha() else f"x{text}"


def input_name(place: Any, labels: Sequence[str]) -> str:
    """Return an axis of an input, or an input that is read as a size, as the caller writes it."""
    label = labels[place.operand] if place.operand < len(labels) else f"hidden{place.operand}"
    return f"{label}.shape[{place.axis}]" if isinstance(place, InputAxis) else label


def undeclared_axis(solved: SizeBinding, labels: Sequence[str]) -> InputAxis | None:
    """Return the axis that a variable was named after, where the user gave it no name."""
    axis = expr.as_atom(solved.target) if solved.divisor == 1 and solved.curve is None else None
    if not isinstance(axis, InputAxis) or axis.operand >= len(labels):
        return None
    return axis if solved.variable.name == f"{identifier(labels[axis.operand])}_{axis.axis}" else None


def size_names(solved: Iterable[SizeBinding], labels: Sequence[str]) -> SizeNames:
    """Return the names of variables that are solved for from inputs with these labels."""
    sources: dict[DimVar, str] = {}
    undeclared = set()
    for s in solved:
        if undeclared_axis(s, labels) is not None:
            undeclared.add(s.variable)
        sources[s.variable] = _source(s, SizeNames(sources, undeclared), labels)
    return SizeNames(sources, undeclared)


def _source(solved: SizeBinding, names: SizeNames, labels: Sequence[str]) -> str:
    """Return how a call gives the variable: `x.shape[0]`, `(x.shape[0] - 1) // 2`, `k`."""

    def leaf(atom: Any) -> str:
        return names.leaf(atom) if isinstance(atom, DimVar) else input_name(atom, labels)

    if solved.curve is not None:
        return f"where {expr.show(solved.curve, leaf)} = {expr.show(solved.target, leaf)}"
    if any(isinstance(a, InputAxis) and a.operand >= len(labels) for a in leaves(solved.target)):
        return ""
    return expr.show(expr.floordiv(solved.target, solved.divisor), leaf)
