"""Meters: lines of a first plan that measure its calls, or leave a call to the optimised plan.

Each call with large arrays is measured, and each of a plan with a loop: its trips take any time. Other calls compare
sizes with a number. Where an optimised plan saves time for small arrays too, one in COUNTED of these calls is measured.
The rest advance a counter.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from anyshape.backend.compiler.codegen.tiles import MIN_ELEMENTS
from anyshape.backend.compiler.op_traits import is_compute_bound
from anyshape.backend.compiler.plan import Plan, variables_in
from anyshape.graph.shapes.shape_context import numel
from anyshape.graph.sizes.expr import Size
from anyshape.graph.sizes.substitute import may_divide_by_zero
from anyshape.ops.loops import LOOPS
from anyshape.support.lazy_dataclass import dataclass

LARGE = 4 * MIN_ELEMENTS  # elements of an array below which no group runs in tiles
COUNTED = 32  # calls with small arrays that one measured call stands for
MEASURED = "_measured"  # the parameter of a function that is being measured
_MAX_COMPARED = 4  # numbers of elements that a call compares with LARGE


@dataclass(frozen=True)
class Meter:
    """Functions that a first plan calls for a call that is measured.

    `measure` takes the function of the plan, `instead`, how many calls this one stands for, the elements of the
    largest array, and the inputs. It returns what one of the functions gives. `counts_small` says whether calls with
    small arrays are counted.
    """

    measure: Callable[..., Any]
    instead: Callable[..., Any]
    counts_small: bool


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


def lines(plan: Plan, meter: Meter, elements: Iterable[str]) -> list[str]:
    """Return the lines before the first step, for texts of the numbers of elements of the largest arrays."""
    texts, arrays = list(elements), ", ".join(plan.inputs)
    largest = f"max({', '.join(texts)})" if len(texts) > 1 else "".join(texts) or "0"
    if has_loop(plan):
        return [f"if not {MEASURED}: return _measure(1, {largest}, {arrays})"]
    is_large = " or ".join([f"{text} >= {LARGE}" for text in texts]) or "False"
    if not meter.counts_small:
        return [f"if ({is_large}) and not {MEASURED}: return _measure(1, {largest}, {arrays})"]
    calls = f"1 if {is_large} else {COUNTED}"
    return [f"if ({is_large} or _is_counted()) and not {MEASURED}: return _measure({calls}, {largest}, {arrays})"]


def names(meter: Meter, run: Callable[..., Any]) -> dict[str, Any]:
    """Return the objects that names in these lines are bound to, for the function of the plan."""
    counter = itertools.cycle((*[False] * (COUNTED - 1), True))
    return {"_measure": functools.partial(meter.measure, run, meter.instead), "_is_counted": counter.__next__}
