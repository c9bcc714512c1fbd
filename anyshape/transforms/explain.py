"""`explain`: describe the program that a call would use, without running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.inspect.explain.data import Explanation
from anyshape.tracing.pytrees import check_callable, flatten, unflatten
from anyshape.tracing.shape_struct import ShapeDtypeStruct
from anyshape.transforms.arguments.specs import zeros_like_spec
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted


@short_traceback
def explain(function: Callable[..., Any], *, verbose: bool = False) -> Callable[..., Explanation]:
    """Return a function of arguments that explains which program they need, and the conditions of all programs.

    Arguments are arrays, or ShapeDtypeStruct with ints for sizes. A missing program is traced, not run. For a jitted
    or transformed function its own programs are explained; any other function is jitted first. With `verbose` it also
    prints the decisions that were proved, with the reason, and every size that rules and passes rely on.

    >>> import numpy as np
    >>> text = explain(lambda x: x * 2 if len(x.shape) > 1 else x.sum())(np.ones(3))
    >>> print(str(text).splitlines()[0])
    <lambda>: 1 program; 1 trace, 0 calls without
    """
    check_callable("explain", function)
    jitted = function if isinstance(function, Jitted) else jit(function)

    @short_traceback
    def explained(*args: Any, **kwargs: Any) -> Explanation:
        leaves, tree = flatten((args, kwargs))
        arrays = [zeros_like_spec(x) if isinstance(x, ShapeDtypeStruct) else x for x in leaves]
        args, kwargs = unflatten(tree, arrays)
        return replace(jitted.explain_call(*args, **kwargs), verbose=verbose)

    return explained
