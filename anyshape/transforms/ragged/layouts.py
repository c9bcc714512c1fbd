"""Layouts of a batch: how the function of one example runs on all of them. All layouts have one meaning.

- "loop": one example after the other. Where the body allows it, the loop becomes machine code.
- "flat": operations on the rows of all examples, which lie end to end. Reductions are of segments, products with shared
  factors are one product. Operations that mix rows of an example in other ways have no flat form.
- "padded": operations on all examples at once, each as long as the longest. Masks keep out what fills them up.
- "auto": the loop, unless NumPy runs it or steps of it, or most steps compute rows one by one. These are computed
  again in reverse mode, and not in flat forms. Each call then takes the flat form if that is faster, by the sizes of
  the call and costs that are stated. Where there is no flat form and NumPy runs loops, it is the padded one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from anyshape import errors
from anyshape.backend.compiler.op_traits import is_compute_bound, nanoseconds
from anyshape.backend.runtime.config import RUN_BY, compile_mode, compiler
from anyshape.graph.ir.graph import Graph, Node, Op
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Size
from anyshape.ops import contraction as ct
from anyshape.ops import creation as cr
from anyshape.ops import elementwise as ew
from anyshape.ops import loops as lp
from anyshape.ops import movement as mv
from anyshape.ops.control_flow import sized
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.support.packages import flat_rules, padded_examples
from anyshape.tracing.source import read as source
from anyshape.tracing.trace import active_builder, as_value
from anyshape.transforms.control_flow.conditionals import cond

LAYOUTS = ("auto", "loop", "flat", "padded")
# Nanoseconds of a step in NumPy on a short row, and of one that machine code leaves to NumPy.
STEP, CALLED_STEP = 1500, 5000
# Nanoseconds of a step in machine code for each example, and for each row of a product. With derivatives, a flat form
# takes twice its steps.
STEP_IN_C, RUN_IN_C, STEPS_OF_GRADIENT = 40, 2, 2
# Ops of loops in machine code that NumPy runs, besides whole families.
CALLED = {"sort", "argsort", "cumlogsumexp", "einsum", "slogdet", "eigvalsh", "eigh", "svdvals", "svd", "qr", "solve"}
CALLED |= {"eigvals", "eig", "pinv", "triangular_solve"}
CALLED_FAMILIES = {"distances", "external", "factorisations", "fourier", "windows"}


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
    if layout == "auto":
        return _chosen(one, operands)
    form = _FORMS[layout](one) if layout in _FORMS else None
    if isinstance(form, flat_rules.Refusal):
        _note(one, f"loop, as {form} has no {layout} form")
    else:
        _note(one, f"{layout}, as it was asked for")
    is_form = form is not None and not isinstance(form, flat_rules.Refusal)
    return _by_form(one, form, operands) if is_form else _looped(one, operands)


_FORMS: dict[str, Callable[[Example], Any]] = {
    "flat": lambda one: flat_rules.flat_map(one.body, one.layout),
    "padded": lambda one: padded_examples.padded_map(one.body, one.layout),
}


def _note(one: Example, text: str) -> None:
    """Let `explain` and `profile` say which layout a function has, and why."""
    if (session := source.session()) is not None:
        session.layouts[f"{one.name}: {text}"] = None


def _looped(one: Example, operands: Sequence[Any]) -> Sequence[Any]:
    return lp.scan_of_length(one.body, one.layout, one.examples, *operands, joined=one.joined)


def _by_form(one: Example, form: Any, operands: Sequence[Any]) -> Sequence[Any]:
    count = len(one.body.inputs)
    results = form.run(active_builder(), operands[:count], operands[count:], one.examples)
    stacked = len(results) - one.joined
    ends = zip(one.body.outputs[stacked:], results[stacked:], strict=True)
    return [*results[:stacked], *[mv.reshape(y, form.joined_shape(value)) for value, y in ends]]


# -- a choice for each call ------------------------------------------------------------------------------------------


def _chosen(one: Example, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the results by the loop, or by the form that is faster at the sizes of a call."""
    each, why = _cost_of_example(one.body)
    if why in _LOOPED.values():
        _note(one, f"loop, as {why}")
        return _looped(one, operands)
    refusals = []
    for layout in _FORMS if each else ["flat"]:
        if not isinstance(form := _FORMS[layout](one), flat_rules.Refusal):
            break
        refusals.append(f"{form} has no {layout} form")
    else:
        _note(one, f"loop, as {' and '.join(refusals if each else [why])}")
        return _looped(one, operands)
    count = len(one.body.inputs)
    cost = form.cost(operands[:count], operands[count:], one.examples)
    if cost is None:
        _note(one, f"loop, as the cost of the {layout} form is not known")
        return _looped(one, operands)
    by_form, by_loop = expr.add(STEP * cost[0], cost[1]), expr.mul(each, one.examples)
    if not each:
        if (heavy := form.heavy(operands[:count], _of_element)) == 0:
            _note(one, f"loop, as {why}")
            return _looped(one, operands)
        by_form = expr.add(expr.mul(STEPS_OF_GRADIENT * STEP, cost[0]), cost[1])
        by_loop = expr.add(expr.mul(STEP_IN_C * len(one.body.nodes), one.examples), heavy)
    because = "".join([f", as {text}" for text in refusals])
    _note(one, f"{layout} where {by_form} < {by_loop} nanoseconds, as {why}; else loop{because}")
    is_faster = ew.lt(cr.size_value(by_form), cr.size_value(by_loop))
    joined = [form.joined_shape(value) for value in one.body.outputs[len(one.body.outputs) - one.joined :]]

    def run(use: Callable[..., Any], *rest: Any) -> Callable[..., Any]:
        """Return a branch, whose joined results have the sizes that both give."""

        def branch(*xs: Any) -> tuple[Any, ...]:
            results = use(one, *rest, [*map(as_value, xs)])
            stacked = len(results) - len(joined)
            return *results[:stacked], *map(sized, results[stacked:], joined)

        return branch

    return [*map(as_value, cond(is_faster, run(_by_form, form), run(_looped), *operands))]


def _cost_of_example(body: Graph) -> tuple[int, str]:
    """Return the nanoseconds that steps in NumPy take for an example, 0 for none, and who runs them."""
    mode = RUN_BY.get() or compile_mode(None)
    if mode in _LOOPED:
        return 0, _LOOPED[mode]
    if mode == "off" or not compiler():
        return STEP * len(body.nodes), "NumPy runs loops"
    called = [node for node in body.nodes if _is_called(node.op)]
    if not called:
        return 0, "machine code runs it"
    return CALLED_STEP * len(called), f"NumPy runs {called[0].op.name} of loops"


def _of_element(node: Node) -> float:
    """Return the nanoseconds of an element that machine code takes for a step, 0 for cheap ones."""
    if node.op is ct.dot_general_op:
        return RUN_IN_C
    return nanoseconds(node.op, node.outputs[0].meta.dtype) if is_compute_bound(node.op) else 0


def _is_called(op: Op) -> bool:
    return op.name in CALLED or op.family in CALLED_FAMILIES


_LOOPED = {
    "limit": "it needs the least memory, and there is a limit",
    "library": "arrays are those of another library",
}
