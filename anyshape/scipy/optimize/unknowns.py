"""Unknowns of solvers: trees, which SciPy sees as vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape import numpy as xp
from anyshape.errors import ArgumentError
from anyshape.scipy.operands.conversion import real_floats
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.transforms.vmap import vmap

Function = Callable[..., Any]


def _is_vector(x: Any) -> bool:
    """Return whether SciPy would read an unknown as one array: numbers, in lists or not."""
    if isinstance(x, (list, tuple)) and type(x) in (list, tuple):
        return bool(x) and all(np.ndim(part) == 0 and not isinstance(part, (dict, str)) for part in x)
    return not isinstance(x, (list, tuple, dict)) and hasattr(x, "__len__") + np.isscalar(x) > 0 and np.ndim(x) <= 1


class Unknowns:
    """Tree of floats that a solver changes. Numbers in a list are a vector, as for SciPy."""

    structure: Any

    def __init__(self, name: str, x0: Any, *, is_tree: bool = False) -> None:
        self.is_vector: bool = not is_tree and _is_vector(x0)
        leaves, self.structure = flatten(xp.atleast_1d(xp.asarray(x0)) if self.is_vector else x0)
        self.leaves: list[Any] = [_as_floats(name, x) for x in leaves]

    @property
    def tree(self) -> Any:
        """Start as a tree of arrays of floats."""
        return unflatten(self.structure, self.leaves)

    def vector(self) -> np.ndarray:
        """Return the start as a vector of float64."""
        return np.concatenate([np.ravel(x).astype(np.float64) for x in self.leaves]) if self.leaves else np.zeros(0)

    def filled(self, leaves: Sequence[Any]) -> Any:
        """Return the tree with these leaves."""
        return unflatten(self.structure, leaves)

    def unpacked(self, v: Any) -> Any:
        """Return the tree that a vector stands for."""
        return unpacked(v, self.tree)


def _as_floats(name: str, x: Any) -> Any:
    array = xp.asarray(x)
    if array.dtype.kind in "biu":
        return real_floats(array)
    if array.dtype.kind != "f":
        raise ArgumentError(name, "x0", f"has the dtype {array.dtype}", "pass real numbers")
    return array


def unpacked(v: Any, like: Any) -> Any:
    """Return the tree like another one whose elements stand one after the other in a vector."""
    leaves, structure = flatten(like)
    parts, position = [], 0
    for leaf in leaves:
        part = v[position : position + leaf.size]
        parts.append(xp.reshape(part, leaf.shape).astype(leaf.dtype))
        position = position + leaf.size
    return unflatten(structure, parts)


def packed(tree: Any) -> Any:
    """Return the elements of a tree one after the other in a vector of float64."""
    leaves = flatten(tree)[0]
    parts = [xp.ravel(real_floats(x)) for x in leaves]
    return xp.concatenate(parts) if parts else np.zeros(0)


def solve_densely(linear: Function, right: Any) -> Any:
    """Solve linear equations of trees by their matrix."""
    b = packed(right)
    columns = vmap(lambda v: packed(linear(unpacked(v, right))))(xp.eye(b.shape[0]))
    return unpacked(xp.linalg.solve(columns.T, b), right)


def as_tuple(args: Any) -> Sequence[Any]:
    """Return further arguments of a function, which SciPy takes alone or in a tuple."""
    return args if isinstance(args, tuple) else (args,)
