"""Rematerialised regions: reverse mode keeps their inputs only and recomputes the rest."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import Traced
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.ops.control import POLICIES, enter_checkpoint, leave_checkpoint
from anyshape.support.packages import argument_containers, graph_replay
from anyshape.tracing.pytrees import check_callable, flatten, function_name, unflatten
from anyshape.tracing.trace import active_builder, trace_inner
from anyshape.transforms.arguments.options import Declared
from anyshape.transforms.jit import jit_transform


@short_traceback
def checkpoint(
    function: Callable[..., Any] | None = None,
    *,
    policy: str | None = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    dynamic_shapes: Any = None,
) -> Any:
    """Return `function` as a checkpoint: derivatives in reverse mode keep its arguments and recompute the rest.

    That takes less memory and more time; the values are the same. Captured values count as arguments, and results are
    kept where they are read. Without a function, return a decorator.

    - With the policy "contractions", expensive results are kept too, such as results of `@` and `einsum`.
    - Checkpoints nest; the inner ones are recomputed a second time.
    - `static_argnums`, `static_argnames` and `dynamic_shapes` are as in `jit`.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> @checkpoint
    ... def layer(x, w):
    ...     return np.tanh(np.sin(x) * w)
    >>> gradient = grad(lambda x: np.sum(layer(layer(x, 2.0), 0.5)))
    >>> print(gradient(np.zeros(2)))
    [1. 1.]
    """
    declared = Declared(static_argnums, static_argnames, dynamic_shapes)
    if function is None:
        return functools.partial(checkpoint, policy=policy, **declared.keywords())
    check_callable("checkpoint", function)
    keep = "" if policy is None else policy
    if not isinstance(keep, str) or keep not in POLICIES:
        names = ", ".join(repr(name) for name in POLICIES if name)
        raise ArgumentError("checkpoint", "policy", f"is {policy!r:.50}", f"give {names}, or None to keep nothing")
    name = f"checkpoint({function_name(function)})"

    def transformed(*args: Any, **kwargs: Any) -> Any:
        return _emit_checkpoint(function, name, keep, args, kwargs)

    options, keywords = declared.options(function, name, "all"), {"policy": policy, **declared.keywords()}
    return jit_transform(transformed, name, function, (checkpoint, function), options, keywords=keywords)


def _emit_checkpoint(function: Callable[..., Any], name: str, keep: str, args: Any, kwargs: Any) -> Any:
    """Emit the graph of the function into the active trace, between markers for reverse mode."""
    builder = active_builder()
    leaves, tree = flatten((args, kwargs))
    traced = {i: x for i, x in enumerate(leaves) if isinstance(x, Traced)}

    def run(handles: list[Any]) -> tuple[Any, None]:
        values = dict(zip(traced, handles, strict=True))
        positional, keywords = unflatten(tree, [values.get(i, x) for i, x in enumerate(leaves)])
        return argument_containers.keeping(function)(*positional, **keywords), None

    while True:
        operands = [*traced.values()]
        inner = trace_inner(builder, run, name, operands, whole=True, at_like=True, writes=True, writable=True)
        stale = inner.written_among(operands)
        if not stale:
            break
        for i in [[*traced][position] for position in stale]:  # the function gets the arrays themselves
            del traced[i]
    outputs = graph_replay.inline(
        builder, inner.graph, [enter_checkpoint(x, keep) for x in (*operands, *inner.captured)]
    )
    return unflatten(inner.out_tree, inner.results([leave_checkpoint(y, keep) for y in outputs]))
