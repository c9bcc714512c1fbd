"""Evaluate a size at integer values of its leaves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anyshape.errors import ShapeError
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimVar, Leaf, Size
from anyshape.graph.sizes.symbols import memoised


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
    atom = size.atom
    if atom is not None and type(atom) is not Call:
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
