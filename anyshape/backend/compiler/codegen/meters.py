"""Meters: lines of a first plan that measure calls with large arrays, or leave such a call to the optimised plan.

A call with small arrays compares sizes with a number and reads no clock, but for a plan with a loop: its trips take any
time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from anyshape.backend.compiler.codegen.tiles import MIN_ELEMENTS
from anyshape.backend.compiler.op_traits import is_compute_bound
from anyshape.backend.compiler.plan import Plan, variables_in
from anyshape.graph.shapes.shape_rules import numel
from anyshape.graph.sizes.evaluate import may_divide_by_zero
from anyshape.graph.sizes.expr import Size
from anyshape.ops.loops import LOOPS
from anyshape.support.lazy_dataclass import dataclass

LARGE = 4 * MIN_ELEMENTS  # elements of an array below which no group runs in tiles
_MAX_COMPARED = 4  # numbers of elements that a call compares with LARGE


@dataclass(frozen=True)
class Meter:
    """Functions that a first plan calls where arrays are large.

    - `begin` takes the elements of the largest array and the inputs. It returns the time at which the call starts, or
      None where `instead` is to run.
    - `end` takes that time when the call ends.
    """

    begin: Callable[..., float | None]
    end: Callable[[float], None]
    instead: Callable[..., Any]


def may_gain(plan: Plan) -> bool:
    """Return False where an optimised plan is the same: groups have two steps, or expensive arithmetic, or bodies."""
    return len(plan.steps) > 1 or any(step.bodies or is_compute_bound(step.op) for step in plan.steps)


def has_loop(plan: Plan) -> bool:
    """Return whether a step is a loop."""
    return any(step.op in LOOPS for step in plan.steps)


def largest_arrays(plan: Plan) -> list[Size]:
    """Return the numbers of elements of the largest arrays of a plan, as far as inputs give them; few of many."""
    read = {s.variable for s in plan.dims}
    metas = [*plan.input_metas, *itertools.chain(*[step.results for step in plan.steps])]
    shapes = sorted(dict.fromkeys([m.sizes for m in metas if m.sizes]), key=_long_axes, reverse=True)
    largest: list[Size] = []
    for number in dict.fromkeys(map(numel, shapes)):
        variables = _variables(number)
        is_covered = any(variables <= _variables(larger) for larger in largest)
        if not is_covered and variables <= read and not may_divide_by_zero(number):
            largest.append(number)
        if len(largest) == _MAX_COMPARED:
            break
    return largest


def _long_axes(shape: Sequence[Size]) -> tuple[int, int]:
    """Return the number of axes that are not of length 1, and of variables in them."""
    return sum(size != 1 for size in shape), len(_variables(numel(shape)))


def _variables(number: Size) -> set[Any]:
    return set(variables_in((number,)))


def begin_lines(plan: Plan, elements: Iterable[str]) -> list[str]:
    """Return the lines before the first step, for texts of the numbers of elements of the largest arrays."""
    texts, arrays = list(elements), ", ".join(plan.inputs)
    test = " or ".join([f"{text} >= {LARGE}" for text in texts if not has_loop(plan)]) or "True"
    largest = f"max({', '.join(texts)})" if len(texts) > 1 else "".join(texts) or "0"
    return [
        "_started = None",
        f"if {test}:",
        f"    _started = _begin({largest}, {arrays})",
        f"    if _started is None: return _instead({arrays})",
    ]


END_LINES = ("if _started is not None: _end(_started)",)


def names(meter: Meter) -> dict[str, Any]:
    """Return the objects that names in these lines are bound to."""
    return {"_begin": meter.begin, "_end": meter.end, "_instead": meter.instead}
