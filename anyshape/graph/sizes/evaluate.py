"""The value of a size when the values of its leaves are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anyshape.errors import ShapeError
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Call, DimVar, Leaf, Size
from anyshape.graph.sizes.symbols import remembered


def broadcast_ints(*sizes: int) -> int:
    """`broadcast` of actual sizes; ones that disagree are an error."""
    if len(sizes) == 2 and (sizes[0] == 1 or sizes[0] == sizes[1]):
        return sizes[1]
    found = set(sizes)
    found.discard(1)
    if len(found) > 1:
        raise ShapeError("broadcast", f"sizes {' and '.join(map(str, sorted(found)))} differ and neither is 1")
    return found.pop() if found else 1


_EVALUATORS: dict[str, Callable[..., int]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
    "broadcast": broadcast_ints,
}


def evaluate(size: Size, leaf_value: Callable[[Leaf], int]) -> int:
    """The integer that `size` is when each leaf has the given value."""
    if isinstance(size, int):
        return size
    if size.atom is not None and not isinstance(size.atom, Call):
        return leaf_value(size.atom)
    total = 0
    for monomial, coefficient in size.terms:
        product = coefficient
        for atom, power in monomial:
            if isinstance(atom, Call):
                leaves = _leaves_alone(atom)
                values = map(leaf_value, leaves) if leaves else [evaluate(a, leaf_value) for a in atom.args]
                value = _EVALUATORS[atom.function](*values)
            else:
                value = leaf_value(atom)
            product *= value**power
        total += product
    return total


@remembered
def _leaves_alone(call: Call) -> tuple[Leaf, ...]:
    """The arguments, where each is a leaf alone: long broadcasts are evaluated often."""
    atoms = [expr.as_atom(a) for a in call.args]
    leaves = tuple([a for a in atoms if a is not None and not isinstance(a, Call)])
    return leaves if len(leaves) == len(atoms) else ()


def to_mapping(values: Mapping[DimVar, int]) -> Callable[[Leaf], int]:
    """A `leaf_value` for `evaluate` that reads a mapping of variables."""
    return values.__getitem__  # type: ignore[return-value]
