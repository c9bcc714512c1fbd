"""`profile`: measure the time of each step of a call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TextIO

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active_builders
from anyshape.graph.ir.tracebacks import short_traceback
from anyshape.support.packages import profiler, profiles, traced_program
from anyshape.support.true_types import has_type
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.jit import jit
from anyshape.transforms.jitted import Jitted


@short_traceback
def profile(
    function: Callable[..., Any], *, repeat: int | None = None, rows: int | None = 40, file: TextIO | None = None
) -> Callable[..., profiles.Profile]:
    """Return a function of the same arguments that calls `function` repeatedly and prints the time of each step.

    Every callable can be profiled: jitted and transformed functions, programs and loaded programs. Any other function
    is jitted first.

    - After a warm-up it is called `repeat` times as it is, alternating with as many calls with timers around each step.
      By default these calls fill half a second, with at most 100 repeats.
    - The table has medians. Steps that ran as tiles are one row, with the steps inside. The time outside of all steps
      is a row, so shares add up to 100 %.
    - Bytes and operations are counted like `program.cost()`, at the sizes of the call. Values that stay in a tile move
      no bytes.
    - At most `rows` rows are printed, all with None, to `file` or to standard output. The result has all rows as data
      and the value of the call, and its `save` writes a page.

    >>> import io
    >>> import numpy as np
    >>> from anyshape import grad
    >>> gradient = grad(lambda x: np.sum(np.sin(x) * x))
    >>> result = profile(gradient, repeat=3, file=io.StringIO())(np.zeros(2000))
    >>> [row.name for row in result.rows]
    ['cos', 'mul', 'sin', 'add', 'entry and exit']
    >>> result.rows[0].flops, result.rows[0].bytes, round(sum(row.share for row in result.rows), 6)
    (2000, 32000, 1.0)
    >>> result.save("gradient.html")  # doctest: +SKIP
    """
    check_callable("profile", function)
    for name, value in (("repeat", repeat), ("rows", rows)):
        if value is not None and (has_type(value, bool) or not has_type(value, int) or value < 1):
            raise ArgumentError("profile", name, f"is {value!r}", "give a number of at least 1, or None")
    target = function if isinstance(function, (Jitted, traced_program.Program)) else jit(function)

    @short_traceback
    @functools.wraps(function, updated=())
    def profiled(*args: Any, **kwargs: Any) -> profiles.Profile:
        if active_builders():
            advice = "profile the outermost function, from outside of all traces"
            raise ArgumentError("profile", target.__name__, "is being traced, and does not run", advice)
        result = profiler.measure(target, args, kwargs, repeat)
        result.print(rows, file)
        return result

    return profiled
