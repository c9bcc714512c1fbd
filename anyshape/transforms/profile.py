"""`profile`: where the time of a call goes, step by step."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TextIO

from anyshape.errors import ArgumentError
from anyshape.graph.ir.builder import active_builders
from anyshape.inspect.profile.data import Profile
from anyshape.program.program import Program
from anyshape.tracing.pytrees import check_callable
from anyshape.transforms.jit import Jitted, jit
from anyshape.transforms.profiler import measure


def profile(
    function: Callable[..., Any], *, repeat: int | None = None, rows: int | None = 40, file: TextIO | None = None
) -> Callable[..., Profile]:
    """A function of the same arguments that calls `function` several times, prints where the time goes, and gives that.

    Anything can be profiled that can be called: jitted and transformed functions, programs (loaded ones too), others,
    which are jitted first. After a call to warm up it is called `repeat` times as it is, and in turns as often with
    timers around each step of the plan that runs; by default until half a second is filled, at most 100 times. The
    table has medians. Steps that ran as tiles are one row, with the steps inside; the time of the call outside of its
    steps is a row, so shares add up to 100 %. Bytes and operations are counted as `program.cost()` counts them, at the
    sizes of the call; what stays in a tile is not moved. At most `rows` rows are printed (all with None), to `file`, or
    to standard output. The result has all of them as data, and the value, and `save`s a page.

    >>> import io
    >>> import numpy as np
    >>> from anyshape import grad
    >>> slope = grad(lambda x: np.sum(np.sin(x) * x))
    >>> found = profile(slope, repeat=3, file=io.StringIO())(np.zeros(2000))
    >>> [row.name for row in found.rows]
    ['cos', 'mul', 'sin', 'add', 'entry and exit']
    >>> found.rows[0].flops, found.rows[0].bytes, round(sum(row.share for row in found.rows), 6)
    (2000, 32000, 1.0)
    >>> found.save("slope.html")  # doctest: +SKIP
    """
    check_callable("profile", function)
    for name, value in (("repeat", repeat), ("rows", rows)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise ArgumentError("profile", name, f"is {value!r}", "give a number of at least 1, or None")
    target = function if isinstance(function, (Jitted, Program)) else jit(function)

    @functools.wraps(function, updated=())
    def profiled(*args: Any, **kwargs: Any) -> Profile:
        if active_builders():
            advice = "profile the outermost function, from outside of all traces"
            raise ArgumentError("profile", target.__name__, "is being traced, and does not run", advice)
        found = measure(target, args, kwargs, repeat)
        found.print(rows, file)
        return found

    return profiled
