"""What steers a program from inside a function: stop_gradient on trees, and check, which says what must hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, CheckError
from anyshape.graph.ir.builder import Traced, active, user_line
from anyshape.graph.prover.constraints import CHECK, Claim
from anyshape.graph.prover.scope import Scope
from anyshape.ops import control
from anyshape.tracing.pytrees import flatten, unflatten
from anyshape.tracing.trace import is_inexact


def stop_gradient(tree: Any) -> Any:
    """The same tree of values, taken as constants by every derivative.

    >>> import numpy as np
    >>> from anyshape import grad
    >>> print(grad(lambda x: np.sum(x * stop_gradient(x)))(np.array([1.0, 2.0])))
    [1. 2.]
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, [_stopped(x) for x in leaves])


def _stopped(x: Any) -> Any:
    return control.stop_gradient(x) if isinstance(x, Traced) and is_inexact(x.dtype) else x


def check(condition: Any, message: str = "a check failed") -> None:
    """The condition holds, or CheckError is raised: now, or when the program runs, of which the check is a part.

    The condition is a boolean, an array of booleans, all of which must be true (traced ones are checked at each run),
    or a function of no arguments. Comparisons of sizes inside the function are not decided but demanded: joined by
    `and`, they are checked at each call, and believed from then on. Under vmap, a check is of all examples.

    >>> import numpy as np
    >>> from anyshape import jit
    >>> @jit
    ... def pairs(x):
    ...     check(lambda: x.shape[0] % 2 == 0, "an even number of elements is needed")
    ...     return x.reshape(-1, 2).sum(axis=1)
    >>> print(pairs(np.arange(4.0)), pairs(np.arange(6.0)), pairs.cache_info().traces)
    [1. 5.] [1. 5. 9.] 1
    """
    builder = active()
    if callable(condition):
        condition = condition() if builder is None else _demanded(builder.scope, condition, message)
    if isinstance(condition, (Traced, np.ndarray)):
        control.check(condition, message)
    elif not condition:
        raise CheckError(message, "", user_line())


def _demanded(scope: Scope, condition: Callable[[], Any], message: str) -> Any:
    """What a condition gives where each comparison that it asks holds; these become assertions of the program.

    It is asked once more for each, as if this one did not hold: then it must be false at once.
    """
    claims, result = _asked(scope, condition, [])
    for i in range(len(claims)):
        again, answer = _asked(scope, condition, [*[True] * i, False])
        if isinstance(answer, Traced) or answer or list(map(str, again)) != list(map(str, claims[: i + 1])):
            problem = "is more than comparisons of sizes that are joined by `and`"
            raise ArgumentError("check", "the condition", problem, "demand each in a check of its own")
    for claim in claims if isinstance(result, (Traced, np.ndarray)) or result else ():
        scope.require(claim, CHECK, message, (), user_line())
    return result


def _asked(scope: Scope, condition: Callable[[], Any], answers: Sequence[bool]) -> tuple[list[Claim], Any]:
    """The comparisons that a condition asks, and what it gives, where they have these answers; further ones hold."""
    claims: list[Claim] = []

    def answer(claim: Claim) -> bool:
        claims.append(claim)
        return answers[len(claims) - 1] if len(claims) <= len(answers) else True

    with scope.answer_with(answer):
        result = condition()
    return claims, result
