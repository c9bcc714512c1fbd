"""From the sizes of actual inputs to the variables of a program: which axis gives which variable."""

from __future__ import annotations

from collections.abc import Sequence

from anyshape.errors import SpecError
from anyshape.graph import dims
from anyshape.graph.dims import DimExpr, DimVar, InputAxis, Size
from anyshape.graph.extents import Exact, TensorMeta


def solve_dims(metas: Sequence[TensorMeta]) -> dict[DimVar, Size]:
    """Each variable as an expression over the axes of the inputs.

    Axes are solved one variable at a time, each axis being linear in one variable that is not known yet. Whether
    every axis fits (a remainder, a second occurrence of a variable) is checked at the call.
    """
    axes = [
        (InputAxis(i, axis), extent.size)
        for i, meta in enumerate(metas)
        for axis, extent in enumerate(meta.extents)
        if isinstance(extent, Exact) and isinstance(extent.size, DimExpr)
    ]
    known: dict[DimVar, Size] = {}
    progress = True
    while progress:
        progress = False
        for place, size in axes:
            solved = _solve_axis(place, size, known)
            if solved is not None:
                known[solved[0]] = solved[1]
                progress = True
    unsolved = {v: s for _, s in axes for v in dims.variables(s) if v not in known}
    if unsolved:
        variable, size = next(iter(unsolved.items()))
        advice = f"give some input an axis of size {variable} alone"
        raise SpecError(str(size), f"the sizes of the inputs do not determine {variable}", advice)
    return known


def _solve_axis(place: InputAxis, size: DimExpr, known: dict[DimVar, Size]) -> tuple[DimVar, Size] | None:
    """The one unknown variable of `size`, when `size` is linear in it."""
    unknown = [v for v in dims.variables(size) if v not in known]
    if len(unknown) != 1:
        return None
    variable = unknown[0]
    coefficient = 0
    remainder: Size = dims.from_atom(place)
    for monomial, factor in size.terms:
        if monomial == ((variable, 1),):
            coefficient = factor
        else:
            term = dims.substitute(_term(monomial, factor), lambda a: known.get(a) if isinstance(a, DimVar) else None)
            if variable in dims.variables(term):
                return None
            remainder = remainder - term
    return (variable, dims.floordiv(remainder, coefficient)) if coefficient else None


def _term(monomial: dims.Monomial, factor: int) -> Size:
    return DimExpr(((monomial, factor),)) if monomial else factor
