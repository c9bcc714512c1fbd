"""Substitute sizes for atoms of other sizes.

Evaluate a size at integer values of its leaves.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from anyshape.errors import ShapeError
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Call, DimVar, Leaf, Size, leaves_of
from anyshape.graph.sizes.symbols import memoised

Replace: TypeAlias = Callable[[Atom], Size | None]  # None: the atom stays

BUILDERS: dict[str, Callable[..., Size]] = {  # by function of a call
    "floordiv": expr.floordiv,
    "mod": expr.mod,
    "max": expr.maximum,
    "min": expr.minimum,
    "broadcast": expr.broadcast,
}


def substitute(size: Size, replace: Replace) -> Size:
    """Return `size` in canonical form with each atom replaced for which `replace` gives a size.

    A call whose arguments changed is offered to `replace` again.
    """
    if isinstance(size, int):
        return size
    if size.atom is not None and not isinstance(size.atom, Call):
        value = replace(size.atom)
        return size if value is None else value
    return _Substitution(replace).rewrite(size)


def computable(size: Size) -> Size:
    """Return a size that has a value everywhere, and the same one where no divisor is below 1.

    A cost is of all branches. Those that do not run may divide by a size that is 0.
    """
    return substitute(size, _with_divisor) if not isinstance(size, int) and size.divides else size


def _with_divisor(atom: Atom) -> Size | None:
    if not isinstance(atom, Call) or atom.function not in ("floordiv", "mod") or isinstance(atom.args[1], int):
        return None
    dividend, divisor = map(computable, atom.args)
    return BUILDERS[atom.function](dividend, expr.maximum(divisor, 1))


class _Substitution:
    """Rewrites one expression. Atoms are shared, so each is replaced once."""

    __slots__ = ("replace", "replaced")

    def __init__(self, replace: Replace) -> None:
        self.replace = replace
        self.replaced: dict[Atom, Size] = {}

    def rewrite(self, size: Size) -> Size:
        if isinstance(size, int):
            return size
        if size.atom is not None:
            return self.value(size.atom)
        terms = []
        for monomial, coefficient in size.terms:
            product: Size = coefficient
            for atom, power in monomial:
                value = self.value(atom)
                for _ in range(power):
                    product = value if product == 1 else expr.mul(product, value)
            terms.append(product)
        return expr.total(terms) if len(terms) > 1 else terms[0]

    def value(self, atom: Atom) -> Size:
        """Return the size that takes the place of an atom."""
        if (value := self.replaced.get(atom)) is not None:
            return value
        value = self.replace(atom)
        if value is None and isinstance(atom, Call):
            rebuilt = BUILDERS[atom.function](*[self.rewrite(a) for a in atom.args])
            call = expr.as_atom(rebuilt)
            new = self.replace(call) if call is not None and call is not atom else None
            value = rebuilt if new is None else new
        value = self.replaced[atom] = expr.from_atom(atom) if value is None else value
        return value


def substitute_leaves(size: Size, replace: Callable[[Leaf], Size | None]) -> Size:
    """Return `size` with leaves replaced for which `replace` gives a size. Memoised by the replacements."""
    if isinstance(size, int):
        return size
    leaves = leaves_of(size)
    new = tuple([replace(leaf) for leaf in leaves])
    if len(leaves) == 1 and expr.as_atom(size) is leaves[0]:
        return size if new[0] is None else new[0]
    return _with_leaves(size, new)


@memoised
def _with_leaves(size: Size, new: tuple[Size | None, ...]) -> Size:
    return substitute(size, dict(zip(leaves_of(size), new, strict=True)).get)  # type: ignore[arg-type]


def broadcast_ints(*sizes: int) -> int:
    """Return the size that axes of these sizes broadcast to; raise ShapeError if two differ and neither is 1."""
    if len(sizes) == 2 and (sizes[0] == 1 or sizes[0] == sizes[1]):
        return sizes[1]
    stretched = set(sizes)
    stretched.discard(1)
    if len(stretched) > 1:
        raise ShapeError("broadcast", f"sizes {' and '.join(map(str, sorted(stretched)))} differ and neither is 1")
    return stretched.pop() if stretched else 1


_EVALUATORS: dict[str, Callable[..., int]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
    "broadcast": broadcast_ints,
}


def evaluate(size: Size, leaf_value: Callable[[Leaf], int], known: dict[Call, int] | None = None) -> int:
    """Return the integer value of `size` where `leaf_value` gives the value of each leaf.

    `known` takes the values of the calls in it, for further sizes: they nest, and share parts.
    """
    if isinstance(size, int):
        return size
    if (atom := size.atom) is not None and type(atom) is not Call:
        return leaf_value(atom)  # type: ignore[arg-type]
    total = 0
    for monomial, product in size.terms:
        for atom, power in monomial:
            if type(atom) is Call:
                value = known.get(atom) if known is not None else None
                if value is None:
                    value = _evaluate_call(atom, leaf_value, known)
            else:
                value = leaf_value(atom)
            product *= value if power == 1 else value**power
        total += product
    return total


def _evaluate_call(call: Call, leaf_value: Callable[[Leaf], int], known: dict[Call, int] | None) -> int:
    leaves = _leaf_arguments(call)
    values = map(leaf_value, leaves) if leaves else [evaluate(a, leaf_value, known) for a in call.args]
    value = _EVALUATORS[call.function](*values)
    if known is not None:
        known[call] = value
    return value


@memoised
def _leaf_arguments(call: Call) -> tuple[Leaf, ...]:
    """Return the arguments if each is a single leaf, else nothing. Long broadcasts are evaluated often."""
    atoms = [expr.as_atom(a) for a in call.args]
    leaves = tuple([a for a in atoms if a is not None and not isinstance(a, Call)])
    return leaves if len(leaves) == len(atoms) else ()


def values_from(values: Mapping[DimVar, int]) -> Callable[[Leaf], int]:
    """Return a `leaf_value` for `evaluate` that reads a mapping of variables."""
    return values.__getitem__  # type: ignore[return-value]


def may_divide_by_zero(size: Size) -> bool:
    """Return True if the expression contains a quotient or remainder by a size that is not a constant."""
    return not isinstance(size, int) and size.divides
