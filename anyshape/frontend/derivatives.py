"""grad and its kin: trace the function, transform its graph into the graph that is being built, hand out the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.autodiff.reverse import linearise, transpose
from anyshape.errors import ArgumentError, DTypeError
from anyshape.frontend.jit import Jitted
from anyshape.frontend.tracing import flatten, function_name, trace_inner, unflatten
from anyshape.graph.builder import Traced, active
from anyshape.graph.context import ShapeGuardContext
from anyshape.numpy.convert import asarray
from anyshape.ops.creation import full


def value_and_grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Jitted:
    """The value of a scalar function and its gradient in the arguments `argnums`."""
    name = f"value_and_grad({function_name(function)})"

    def transformed(*args: Any, **kwargs: Any) -> Any:
        return _value_and_grad(function, name, argnums, has_aux, args, kwargs)

    return Jitted(transformed, name)


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Jitted:
    """The gradient of a scalar function in the arguments `argnums`."""
    name = f"grad({function_name(function)})"

    def transformed(*args: Any, **kwargs: Any) -> Any:
        value, gradient = _value_and_grad(function, name, argnums, has_aux, args, kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return Jitted(transformed, name)


def _value_and_grad(
    function: Callable[..., Any], name: str, argnums: int | Sequence[int], has_aux: bool, args: Any, kwargs: Any
) -> Any:
    builder = active()
    assert builder is not None
    chosen = [argnums] if isinstance(argnums, int) else list(argnums)
    chosen = [a % len(args) for a in chosen]
    wrt_leaves, wrt_tree = flatten([args[a] for a in chosen])
    wrt = [asarray(x) for x in wrt_leaves]

    def run(handles: list[Any]) -> tuple[Any, Any]:
        replaced = list(args)
        for a, x in zip(chosen, unflatten(wrt_tree, handles), strict=True):
            replaced[a] = x
        result = function(*replaced, **kwargs)
        return (result[0], result[1:]) if has_aux else (result, None)

    inner = trace_inner(builder, run, name, [x.meta for x in wrt], [getattr(x, "weak", False) for x in wrt])
    outputs, derivative = linearise(builder, inner.graph, [*wrt, *inner.captured], range(len(wrt)))
    (y,) = outputs
    one = full((), 1, y.dtype)
    found = transpose(builder, derivative.graph, len(wrt), derivative.residuals, [one if derivative.live[0] is not None else None][: len(derivative.graph.outputs)])
    grads = [g if g is not None else full(ShapeGuardContext(builder.scope, name, None).shape(x), 0, x.dtype) for g, x in zip(found, wrt, strict=True)]
    trees = unflatten(wrt_tree, grads)
    return y, trees[0] if isinstance(argnums, int) else tuple(trees)
