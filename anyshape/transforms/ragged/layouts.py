"""Layouts of a batch: how the function of one example runs on all of them. All layouts have one meaning.

- "loop": one example after the other. Where the body allows it, the loop becomes machine code.
- "flat": operations on the rows of all examples, which lie end to end. Reductions are of segments, products with shared
  factors are one product. Operations that mix rows of an example in other ways have no flat form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anyshape import errors
from anyshape.graph.ir.graph import Graph
from anyshape.graph.sizes.expr import Size
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import flat_rules
from anyshape.tracing.source import read as source
from anyshape.tracing.trace import active_builder

LAYOUTS = ("loop", "flat")


class Example(NamedTuple):
    """Graph of one example: how it takes its operands, and how many of its results are joined."""

    name: str
    body: Graph
    layout: lp.Layout
    examples: Size
    joined: int


def checked(name: str, layout: str) -> None:
    """Raise ArgumentError unless a layout is one."""
    if layout not in LAYOUTS:
        raise errors.ArgumentError(name, "layout", f"is {layout!r:.50}", f"give one of {', '.join(map(repr, LAYOUTS))}")


def of_all(one: Example, layout: str, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the results of all examples. Lengths of pieces are the last operands."""
    if layout == "loop":
        return lp.scan_of_length(one.body, one.layout, one.examples, *operands, joined=one.joined)
    flat = flat_rules.flat_map(one.body, one.layout)
    if isinstance(flat, flat_rules.Refusal):
        advice = "give layout='loop', which takes one example after the other"
        raise errors.ArgumentError(one.name, "layout", f"is 'flat', and {flat} has no flat form", advice)
    if (session := source.session()) is not None:
        session.layouts[f"{one.name}: flat, as it was asked for"] = None
    return _in_rows(one, flat, operands)


def _in_rows(one: Example, flat: Any, operands: Sequence[Any]) -> Sequence[Any]:
    count = len(one.body.inputs)
    results = flat.run(active_builder(), operands[:count], operands[count:], one.examples)
    stacked = len(results) - one.joined
    ends = zip(one.body.outputs[stacked:], results[stacked:], strict=True)
    return [*results[:stacked], *[mv.reshape(y, flat.joined_shape(value)) for value, y in ends]]
