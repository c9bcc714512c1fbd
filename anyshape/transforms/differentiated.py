"""Functions that another library differentiates: their value and cotangents as programs of flat arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.tracing import pytrees
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.grad import vjp
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.vmap import vmap


class Pullback:
    """Function with programs of its value, and of the cotangents of some leaves of its arguments.

    The cotangents are a function of the same kind. So derivatives have any order.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.name = function, pytrees.function_name(function)
        self.jitted: Jitted = function if isinstance(function, Jitted) else jit(function)
        self._pulled: dict[Any, Pullback] = {}
        self._batched: dict[Any, tuple[Pullback, list[Any]]] = {}

    def value(self, tree: Any, leaves: Sequence[Any]) -> Any:
        """Return the value for the leaves of arguments."""
        args, kwargs = pytrees.unflatten(tree, leaves)
        return self.jitted(*args, **kwargs)

    def pulled(self, tree: Any, wrt: tuple[int, ...]) -> Pullback:
        """Return the function (leaves, cotangents of inexact results) -> cotangents of the leaves at `wrt`."""
        if (known := self._pulled.get((tree, wrt))) is not None:
            return known
        function = self.function

        def pull(leaves: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
            def results(*chosen: Any) -> list[Any]:
                replaced = dict(zip(wrt, chosen, strict=True))
                args, kwargs = pytrees.unflatten(tree, [replaced.get(i, x) for i, x in enumerate(leaves)])
                return pytrees.tree_leaves(function(*args, **kwargs))

            _, back = vjp(lambda *chosen: _inexact(results(*chosen)), *[leaves[i] for i in wrt])
            return list(back(list(cotangents)))

        pull.__name__ = pull.__qualname__ = f"pullback of {self.name}"
        self._pulled[tree, wrt] = Pullback(pull)
        return self._pulled[tree, wrt]

    def batched(self, tree: Any, axes: tuple[int | None, ...]) -> tuple[Pullback, list[Any]]:
        """Return the function of batches of leaves, and a list that has the tree of one result once it was called."""
        if (known := self._batched.get((tree, axes))) is None:
            trees: list[Any] = []

            def one(*leaves: Any) -> list[Any]:
                args, kwargs = pytrees.unflatten(tree, leaves)
                results, out_tree = pytrees.flatten(self.function(*args, **kwargs))
                trees[:] = [out_tree]
                return results

            one.__name__ = one.__qualname__ = self.name
            known = self._batched[tree, axes] = Pullback(vmap(one, in_axes=axes)), trees
        return known


def _inexact(results: Sequence[Any]) -> list[Any]:
    return [y for y in results if is_inexact(y.dtype)]
