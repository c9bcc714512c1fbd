"""Sizes put in place of the parts of others."""

from __future__ import annotations

from collections.abc import Callable

from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, Leaf, Size
from anyshape.graph.sizes.symbols import remembered

_BUILDERS: dict[str, Callable[..., Size]] = {
    "floordiv": expr.floordiv,
    "mod": expr.mod,
    "max": expr.maximum,
    "min": expr.minimum,
    "broadcast": expr.broadcast,
}


def substitute(size: Size, replace: Callable[[Atom], Size | None]) -> Size:
    """`size` with each atom for which `replace` gives a size put in its place, in canonical form."""
    done: dict[Atom, Size] = {}  # parts are shared, so each is visited once

    def of_atom(atom: Atom) -> Size:
        new = replace(atom)
        if new is None and isinstance(atom, Call):
            new = _BUILDERS[atom.function](*[of_size(a) for a in atom.args])
            again = expr.as_atom(new)
            if again is not None and again is not atom:
                found = replace(again)
                new = new if found is None else found
        return expr.from_atom(atom) if new is None else new

    def of_size(size: Size) -> Size:
        if isinstance(size, int):
            return size
        parts = []
        for monomial, coefficient in size.terms:
            product: Size = coefficient
            for atom, power in monomial:
                if atom not in done:
                    done[atom] = of_atom(atom)
                for _ in range(power):
                    product = expr.mul(product, done[atom])
            parts.append(product)
        return expr.total(parts) if len(parts) > 1 else parts[0]

    return of_size(size)


def substitute_leaves(size: Size, replace: Callable[[Leaf], Size | None]) -> Size:
    """As `substitute`, for leaves alone. What becomes of a size is remembered by what is put into it."""
    if isinstance(size, int):
        return size
    leaves = leaves_of(size)
    new = tuple([replace(leaf) for leaf in leaves])
    if len(leaves) == 1 and expr.as_atom(size) is leaves[0]:
        return size if new[0] is None else new[0]
    return _with_leaves(size, new)


@remembered
def _with_leaves(size: Size, new: tuple[Size | None, ...]) -> Size:
    return substitute(size, dict(zip(leaves_of(size), new, strict=True)).get)  # type: ignore[arg-type]


@remembered
def leaves_of(size: Size) -> tuple[Leaf, ...]:
    """The distinct leaves of the expression, in order."""
    found: dict[Leaf, None] = {}
    for atom in [a for m in expr.terms_of(size) for a, _ in m]:
        if isinstance(atom, Call):
            found.update(dict.fromkeys([leaf for arg in atom.args for leaf in leaves_of(arg)]))
        else:
            found[atom] = None
    return tuple(found)
