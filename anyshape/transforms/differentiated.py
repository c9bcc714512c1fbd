"""Functions that another library differentiates: value, cotangents and tangents as programs of flat arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape.tracing import pytrees
from anyshape.tracing.trace import is_inexact
from anyshape.transforms.grad import jvp, vjp
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted
from anyshape.transforms.vmap import vmap


class Pullback:
    """Function with programs of its value, and of its derivatives by some leaves of its arguments.

    Cotangents and tangents are functions of the same kind. So derivatives have any order.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.name = function, pytrees.function_name(function)
        self.jitted: Jitted = function if isinstance(function, Jitted) else jit(function)
        self._derived: dict[Any, Pullback] = {}
        self._batched: dict[Any, tuple[Pullback, list[Any]]] = {}

    def value(self, tree: Any, leaves: Sequence[Any]) -> Any:
        """Return the value for the leaves of arguments."""
        args, kwargs = pytrees.unflatten(tree, leaves)
        return self.jitted(*args, **kwargs)

    def pulled(self, tree: Any, wrt: tuple[int, ...]) -> Pullback:
        """Return the function (leaves, cotangents of inexact results) -> cotangents of the leaves at `wrt`."""
        return self._of_leaves("pullback", tree, wrt, lambda f, at, cotangents: vjp(f, *at)[1](list(cotangents)))

    def pushed(self, tree: Any, wrt: tuple[int, ...]) -> Pullback:
        """Return the function (leaves, tangents of the leaves at `wrt`) -> tangents of inexact results."""
        return self._of_leaves("pushforward", tree, wrt, lambda f, at, tangents: jvp(f, at, tuple(tangents))[1])

    def _of_leaves(self, kind: str, tree: Any, wrt: tuple[int, ...], derive: Callable[..., Any]) -> Pullback:
        if (known := self._derived.get((kind, tree, wrt))) is not None:
            return known
        function = self.function

        def derived(leaves: Sequence[Any], directions: Sequence[Any]) -> list[Any]:
            def results(*chosen: Any) -> list[Any]:
                replaced = dict(zip(wrt, chosen, strict=True))
                args, kwargs = pytrees.unflatten(tree, [replaced.get(i, x) for i, x in enumerate(leaves)])
                return [y for y in pytrees.tree_leaves(function(*args, **kwargs)) if is_inexact(y.dtype)]

            return list(derive(results, tuple([leaves[i] for i in wrt]), directions))

        derived.__name__ = derived.__qualname__ = f"{kind} of {self.name}"
        self._derived[kind, tree, wrt] = Pullback(derived)
        return self._derived[kind, tree, wrt]

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
