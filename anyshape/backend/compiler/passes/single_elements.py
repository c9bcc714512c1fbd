"""Read and write single elements of floats by their position: NumPy takes a fifth of the time of a view of one element.

What is read is a number of NumPy, whose arithmetic is faster than that of an array without axes too. It shares no
memory, so a later write to the array needs no copy. Results of the plan stay arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from anyshape.backend.compiler.passes.metadata_contract import pass_context
from anyshape.backend.compiler.plan import Slot, Step
from anyshape.backend.compiler.plan_ops import add_to_element_op, read_element_op, write_element_op
from anyshape.graph.prover.scope import Scope
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.shapes.shape_context import ShapeGuardContext
from anyshape.ops import movement as mv

_WRITES = {mv.slice_update_op: write_element_op, mv.slice_add_op: add_to_element_op}


def read_and_write_elements(steps: Sequence[Step], outputs: Sequence[Slot], scope: Scope) -> list[Step]:
    """Return the steps with a slice and its reshape to one number, or a reshape and its assignment, as one step."""
    if not any(step.op is mv.slice_op or step.op in _WRITES for step in steps):
        return [*steps]
    ctx = pass_context(scope, "single_elements")
    maker = _read_once(steps, outputs)
    result, merged = list[Step](), set[Slot]()
    for step in steps:
        inner = _inner(step, maker)
        one = None if inner is None else _merged(step, inner, outputs, ctx)
        if inner is not None and one is not None:
            merged.add(inner.outputs[0])
        result.append(one or step)
    return [step for step in result if step.outputs[0] not in merged]


def _read_once(steps: Sequence[Step], outputs: Sequence[Slot]) -> dict[Slot, Step]:
    """Return the slices and reshapes whose result is read once, by their result."""
    uses = Counter([slot for step in steps for slot in step.reads] + [*outputs])
    movement = [step for step in steps if step.op in (mv.slice_op, mv.reshape_op) and not step.sources]
    return {step.outputs[0]: step for step in movement if uses[step.outputs[0]] == 1}


def _inner(step: Step, maker: Mapping[Slot, Step]) -> Step | None:
    """Return the movement whose result a reshape or an assignment reads, if there is one."""
    if step.sources:
        return None
    if step.op is mv.reshape_op:
        return maker.get(step.inputs[0])
    return maker.get(step.inputs[1]) if step.op in _WRITES else None


def _merged(step: Step, inner: Step, outputs: Sequence[Slot], ctx: ShapeGuardContext) -> Step | None:
    """Return a step and the movement before it as one read or write of an element; None where they are more."""
    return _read(step, inner, outputs, ctx) if step.op is mv.reshape_op else _write(step, inner, ctx)


def _read(step: Step, inner: Step, outputs: Sequence[Slot], ctx: ShapeGuardContext) -> Step | None:
    """Return the read of the one element that a slice and its reshape give; None where that is something else."""
    # other numbers of NumPy warn where arrays wrap around
    is_number = not ctx.rank(step.results[0]) and step.results[0].dtype.kind in "fc" and step.outputs[0] not in outputs
    if inner.op is not mv.slice_op or not is_number or not _is_one(inner.results[0], ctx):
        return None
    params = (("starts", dict(inner.params)["starts"]),)
    return replace(step, op=read_element_op, inputs=inner.inputs, metas=inner.metas, params=params)


def _write(step: Step, inner: Step, ctx: ShapeGuardContext) -> Step | None:
    """Return the write of one number to an element; None where the part is something else."""
    is_number = not ctx.rank(inner.metas[0]) and isinstance(inner.inputs[0], str)
    wraps = step.op is mv.slice_add_op and inner.metas[0].dtype.kind not in "fc"  # numbers of NumPy warn of that
    if inner.op is not mv.reshape_op or not is_number or wraps or not _is_one(step.metas[1], ctx):
        return None
    params = (("starts", dict(step.params)["starts"]),)
    inputs, metas = (step.inputs[0], inner.inputs[0]), (step.metas[0], inner.metas[0])
    return replace(step, op=_WRITES[step.op], inputs=inputs, metas=metas, params=params)


def _is_one(meta: TensorMeta, ctx: ShapeGuardContext) -> bool:
    """Return whether each axis has size 1, and there is one."""
    sizes = ctx.sizes(meta, field="element")
    return bool(sizes) and all(size == 1 for size in sizes or ())
