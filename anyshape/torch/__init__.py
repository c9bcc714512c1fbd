"""Functions of tensors that PyTorch differentiates, by programs of anyshape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from anyshape.support.packages import libraries, torch
from anyshape.tracing import pytrees
from anyshape.transforms.differentiated import Pullback

__all__ = ["function"]


def function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors whose derivatives are programs, for tensors that require gradients.

    It is a node of autograd's graph. Its cotangents, and their derivatives of any order, are computed by programs of
    the derivative, which compute the value once more. Arguments and results are trees of tensors and numbers.
    Transformations of `torch.func` and dual tensors of forward mode take it, by derivatives and batches of anyshape.

    >>> import numpy as np
    >>> import anyshape.torch
    >>> layer = anyshape.torch.function(lambda w, x: np.tanh(x @ w))  # layer(w, x).sum().backward()
    """
    return _of(Pullback(function))


def _of(differentiable: Pullback) -> Callable[..., Any]:
    @functools.wraps(differentiable.function)
    def called(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = pytrees.flatten((args, kwargs), differentiable.name)
        outputs = SimpleNamespace(tree=None)  # which functorch copies no part of
        results = _node().apply(differentiable, tree, outputs, *leaves)
        return pytrees.unflatten(outputs.tree, results)

    return called


@functools.cache
def _node() -> Any:
    """Return the class of nodes of autograd's graph, which PyTorch defines."""
    rules: dict[str, Callable[..., Any]]
    rules = {"forward": _forward, "setup_context": _set_up, "backward": _backward, "jvp": _forwards}
    rules["vmap"] = _batched
    return type("Program", (torch.autograd.Function,), {k: staticmethod(rule) for k, rule in rules.items()})


def _forward(differentiable: Pullback, tree: Any, outputs: SimpleNamespace, *leaves: Any) -> Any:
    results, outputs.tree = pytrees.flatten(differentiable.value(tree, leaves))
    return tuple(results)


def _set_up(ctx: Any, inputs: Any, results: Any) -> None:
    differentiable, tree, _, *leaves = inputs
    ctx.differentiable, ctx.tree = differentiable, tree
    ctx.numbers = [None if _is_tensor(x) else x for x in leaves]
    tensors = list(filter(_is_tensor, leaves))
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)
    ctx.inexact = [_is_inexact(y) for y in results]
    ctx.mark_non_differentiable(*[y for y in results if not _is_inexact(y)])


def _backward(ctx: Any, *cotangents: Any) -> Any:
    leaves = _leaves(ctx)
    wrt = [i for i, x in enumerate(leaves) if _is_inexact(x) and ctx.needs_input_grad[3 + i]]
    pullback = _of(ctx.differentiable.pulled(ctx.tree, tuple(wrt)))
    by_leaf = dict(zip(wrt, pullback(leaves, list(filter(_is_inexact, cotangents))), strict=True))
    return None, None, None, *[by_leaf.get(i) for i in range(len(leaves))]


def _forwards(ctx: Any, *tangents: Any) -> Any:
    leaves, tangents = _leaves(ctx), tangents[3:]
    wrt = [i for i, x in enumerate(leaves) if _is_inexact(x) and tangents[i] is not None]
    pushforward = _of(ctx.differentiable.pushed(ctx.tree, tuple(wrt)))
    pushed = iter(pushforward(leaves, [tangents[i] for i in wrt]))
    return tuple([next(pushed) if is_inexact else None for is_inexact in ctx.inexact])


def _leaves(ctx: Any) -> list[Any]:
    saved = iter(ctx.saved_tensors)
    return [next(saved) if x is None else x for x in ctx.numbers]


def _batched(_: Any, axes: Any, differentiable: Pullback, tree: Any, outputs: SimpleNamespace, *leaves: Any) -> Any:
    of_batch, trees = differentiable.batched(tree, tuple(axes[3:]))
    results = _of(of_batch)(*leaves)
    (outputs.tree,) = trees
    return tuple(results), (0,) * len(results)


def _is_tensor(x: Any) -> bool:
    return isinstance(x, torch.Tensor)


def _is_inexact(x: Any) -> bool:
    return _is_tensor(x) and libraries.numpy_dtype(x).kind in "fc"
