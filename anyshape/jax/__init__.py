"""Functions of JAX arrays that JAX differentiates and compiles, by programs of anyshape."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import UnsupportedFunctionError
from anyshape.support.packages import jax
from anyshape.tracing import pytrees
from anyshape.transforms.differentiated import Pullback

__all__ = ["function"]


def function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of JAX arrays whose derivatives are programs, for `jax.grad` and `jax.jit`.

    Inside of transformations of JAX the program becomes part of their trace, where all sizes are known. One that reads
    values, as an `if` on them, is called back on the host; its results have the shapes that they have for zeros.
    Reverse mode has derivatives of any order.

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
    run = jax.custom_vjp(lambda *leaves: _value(differentiable, tree, leaves))

    def backward(leaves: Any, cotangents: Any) -> Any:
        wrt = [i for i, x in enumerate(leaves) if jax.numpy.issubdtype(jax.numpy.result_type(x), np.inexact)]
        flat = [ct for ct in pytrees.tree_leaves(cotangents) if ct.dtype != jax.dtypes.float0]
        pulled = _of(differentiable.pulled(tree, tuple(wrt)))(list(leaves), flat)
        by_leaf = dict(zip(wrt, pulled, strict=True))
        none = lambda x: np.zeros(np.shape(x), jax.dtypes.float0)
        return tuple([by_leaf.get(i, none(x)) for i, x in enumerate(leaves)])

    run.defvjp(lambda *leaves: (_value(differentiable, tree, leaves), leaves), backward)
    return run


def _value(differentiable: Pullback, tree: Any, leaves: Sequence[Any]) -> Any:
    """Return the value for leaves; on the host where it reads values that JAX does not know yet."""
    try:
        return differentiable.value(tree, leaves)
    except UnsupportedFunctionError as error:
        if not isinstance(error.__cause__, jax.errors.JAXTypeError):
            raise
    on_host = lambda *arrays: differentiable.value(tree, list(map(np.asarray, arrays)))
    with np.errstate(all="ignore"), jax.enable_x64(True):
        example = on_host(*[np.zeros(np.shape(x), jax.numpy.result_type(x)) for x in leaves])
        specs = pytrees.tree_map(lambda y: jax.ShapeDtypeStruct(np.shape(y), np.asarray(y).dtype), example)
        return jax.pure_callback(on_host, specs, *leaves, vmap_method="sequential")
