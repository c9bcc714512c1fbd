"""Functions of JAX arrays that JAX differentiates and compiles, by programs of anyshape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from anyshape.support.packages import jax
from anyshape.tracing import pytrees
from anyshape.transforms.differentiated import Pullback

__all__ = ["function"]


def function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX arrays whose derivatives are programs, for `jax.grad` and `jax.jit`.

    Inside of transformations of JAX the program becomes part of their trace, where all sizes are known. Reverse mode
    has derivatives of any order. What reads values, as an `if` on them, works outside of `jax.jit` alone.

    >>> import numpy as np
    >>> import anyshape.jax
    >>> layer = anyshape.jax.function(lambda w, x: np.tanh(x @ w).sum())  # jax.grad(layer)(w, x)
    """
    return _of(Pullback(function))


def _of(differentiable: Pullback) -> Callable[..., Any]:
    @functools.wraps(differentiable.function)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = pytrees.flatten((args, kwargs), differentiable.name)
        return _with_rule(differentiable, tree)(*leaves)

    return called


def _with_rule(differentiable: Pullback, tree: Any) -> Any:
    """Return the function of leaves with its rule for cotangents."""
    run = jax.custom_vjp(lambda *leaves: differentiable.value(tree, leaves))

    def backward(leaves: Any, cotangents: Any) -> Any:
        wrt = [i for i, x in enumerate(leaves) if jax.numpy.issubdtype(jax.numpy.result_type(x), np.inexact)]
        flat = [ct for ct in pytrees.tree_leaves(cotangents) if ct.dtype != jax.dtypes.float0]
        pulled = _of(differentiable.pulled(tree, tuple(wrt)))(list(leaves), flat)
        by_leaf = dict(zip(wrt, pulled, strict=True))
        none = lambda x: np.zeros(np.shape(x), jax.dtypes.float0)
        return tuple([by_leaf.get(i, none(x)) for i, x in enumerate(leaves)])

    run.defvjp(lambda *leaves: (differentiable.value(tree, leaves), leaves), backward)
    return run
