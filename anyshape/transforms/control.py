"""Directives inside a traced function: check, which states what must hold, stop_gradient, and vectors of trees.

Rematerialised regions: reverse mode keeps their inputs only and recomputes the rest.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, CheckError
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.graph.prover.constraints import CHECK, Claim, Verdict
from anyshape.graph.prover.scope import Scope
from anyshape.numpy.creation import asarray
from anyshape.numpy.matrices import concatenate
from anyshape.numpy.movement import ravel, reshape
from anyshape.numpy.operands.array_queries import size as size_of_array
from anyshape.numpy.sizes.symdim import SizeComparison
from anyshape.ops import control
from anyshape.ops.control import POLICIES, enter_checkpoint, leave_checkpoint
from anyshape.support.packages import argument_containers, graph_replay
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import check_callable, flatten, function_name, unflatten
from anyshape.tracing.trace import active_builder, is_inexact, trace_inner
from anyshape.transforms.arguments.options import Declared
from anyshape.transforms.jit import jit_transform


def stop_gradient(tree: Any) -> Any:
    """Return the same tree of values, which every derivative takes as constants.

    Args:
        tree: array, number, or tree of these.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> print(grad(lambda x: np.sum(x * stop_gradient(x)))(np.array([1.0, 2.0])))
    [1. 2.]
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [_stop_leaf(x) for x in leaves])


def _stop_leaf(x):
    return control.stop_gradient(x) if isinstance(x, Traced) and is_inexact(x.dtype) else x


@short_traceback
def ravel_pytree(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return one vector of all elements of a tree, and the function that makes such a tree of a vector.

    The vector has the common dtype of the leaves. The tree of a vector has the shapes and dtypes of the leaves. In a
    trace, sizes may be symbolic. Raise CheckError for a vector of another length.

    >>> import numpy as np
    >>> vector, unravel = ravel_pytree({"w": np.ones((2, 2)), "b": np.zeros(1)})
    >>> print(vector, unravel(2 * vector)["b"])
    [1. 1. 1. 1. 0.] [0.]
    """
    leaves, structure = flatten(tree, "ravel_pytree")
    arrays = [asarray(x) for x in leaves]
    vector = concatenate([ravel(x) for x in arrays]) if arrays else asarray([])
    counts = [size_of_array(x) for x in arrays]
    kinds = [(x.shape, x.dtype) for x in arrays]

    @short_traceback
    def unravel(vector):
        vector = asarray(vector)
        if vector.ndim != 1:
            raise ArgumentError("unravel", "the vector", f"has {vector.ndim} axes", "pass a vector")
        check(vector.shape[0] == sum(counts), "the vector must have as many elements as the tree")
        parts, start = [], 0
        for count, (shape, dtype) in zip(counts, kinds, strict=True):
            parts.append(reshape(vector[start : start + count], shape).astype(dtype))
            start = start + count
        return unflatten(structure, parts)

    return vector, unravel


@short_traceback
def check(condition: Any, message: str = "a check failed") -> None:
    """Raise CheckError unless the condition holds; inside a trace, each run of the program checks it.

    - A boolean is checked at once, and an array of booleans must be all true. Traced arrays are checked at each run.
    - A comparison of sizes is not decided. Each call checks it, and the rest of the trace assumes it.
    - A function of no arguments may join comparisons of sizes by `and`, which would decide them outside of it.

    Under vmap, a check covers all examples.

    Args:
        condition: bool, or array of bools that must all be true.
        message: text of the error.

    Raises:
        CheckError: in a call where it does not hold.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> @jit
    ... def pairs(x):
    ...     check(x.shape[0] % 2 == 0, "an even number of elements is needed")
    ...     return x.reshape(-1, 2).sum(axis=1)
    >>> print(pairs(np.arange(4.0)), pairs(np.arange(6.0)), pairs.cache_info().traces)
    [1. 5.] [1. 5. 9.] 1
    """
    builder = active()
    if callable(condition):
        condition = condition() if builder is None else _require_comparisons(builder.scope, condition, message)
    if isinstance(condition, SizeComparison) and builder is not None:
        condition.scope.require(condition.claim, CHECK, message, (), user_line())
    elif has_type(condition, (Traced, np.ndarray)):
        control.check(condition, message)
    elif not condition:
        raise CheckError(message, "", user_line())


@short_traceback
def statically_known(condition: Any) -> bool | None:
    """Return whether a comparison of sizes holds for all sizes (True), for none (False), or for some (None).

    Nothing is decided, so no guard follows. None may also mean that no proof was found. Raise ArgumentError for
    anything but a boolean or a comparison of sizes.

    Args:
        condition: comparison of sizes, or bool.

    >>> from anyshape import Dim
    >>> n = Dim("n", min=4)
    >>> statically_known(n > 3), statically_known(n > 5), statically_known(2 * n < n)
    (True, None, False)
    """
    if isinstance(condition, SizeComparison):
        verdict = condition.scope.decide(condition.claim)
        return None if verdict is Verdict.UNKNOWN else verdict is Verdict.YES
    if has_type(condition, (bool, np.bool_)):
        return bool(condition)
    advice = "pass a comparison of sizes, as in statically_known(x.shape[0] > 3)"
    raise ArgumentError("statically_known", "condition", f"is {condition!r:.50}, not a comparison of sizes", advice)


def _require_comparisons(scope: Scope, condition: Callable[[], Any], message: str):
    """Make each comparison in a condition an assertion of the program; return the condition's value if all hold.

    The condition is evaluated once more for each comparison, with the answer False for that one. It must then be false
    without further comparisons: otherwise it is more than a conjunction.
    """
    claims, result = _evaluate(scope, condition, [])
    for i in range(len(claims)):
        compared, value = _evaluate(scope, condition, [*[True] * i, False])
        if isinstance(value, Traced) or value or list(map(str, compared)) != list(map(str, claims[: i + 1])):
            problem = "is more than comparisons of sizes that are joined by `and`"
            raise ArgumentError("check", "the condition", problem, "check each in a call of its own")
    for claim in claims if has_type(result, (Traced, np.ndarray)) or result else ():
        scope.require(claim, CHECK, message, (), user_line())
    return result


def _evaluate(scope: Scope, condition: Callable[[], Any], answers: Sequence[bool]) -> tuple[list[Claim], Any]:
    """Return the comparisons and the value of a condition, with these answers; further comparisons hold."""
    claims: list[Claim] = []

    def answer(claim: Claim) -> bool:
        claims.append(claim)
        return answers[len(claims) - 1] if len(claims) <= len(answers) else True

    with scope.branching_by(answer):
        result = condition()
        result = bool(result) if isinstance(result, SizeComparison) else result
    return claims, result


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

    Args:
        function: function whose values are computed again.
        policy: what is kept: None for arguments alone, or "contractions".

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

    def transformed(*args, **kwargs):
        return _emit_checkpoint(function, name, keep, args, kwargs)

    options, keywords = declared.options(function, name, "all"), {"policy": policy, **declared.keywords()}
    return jit_transform(transformed, name, function, (checkpoint, function), options, keywords=keywords)


def _emit_checkpoint(function: Callable[..., Any], name: str, keep: str, args, kwargs):
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
        if not (stale := inner.written_among(operands)):
            break
        for i in [[*traced][position] for position in stale]:  # the function gets the arrays themselves
            del traced[i]
    outputs = graph_replay.inline(
        builder, inner.graph, [enter_checkpoint(x, keep) for x in (*operands, *inner.captured)]
    )
    return unflatten(inner.out_tree, inner.results([leave_checkpoint(y, keep) for y in outputs]))
