"""Traits of conditionals: one branch runs, so the memory of a run is that of the branch that takes the most."""

from collections.abc import Sequence

from anyshape.backend.compiler.op_traits import NO_ALGEBRA, OPAQUE, Alias, bytes_of, declare, total_bytes
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.compiler.plan import Plan, Step, sizes_of_body
from anyshape.graph.shapes.array_type import TensorMeta
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops import control_flow as cf


def _most_bytes(step: Step) -> Size | None:
    """Return the peak of the branch that takes the most; its results are counted once more by the step."""
    peaks = [_peak_at(plan, step.metas[1:]) for plan in step.bodies]
    known = [p for p in peaks if p is not None]
    return expr.maximum(*known) if len(known) == len(peaks) else None


def _bytes_of_rows(step: Step) -> Size | None:
    """Return the peak of the branch that takes the most for all rows, and the bytes of rows that are taken."""
    peaks = [_peak_at(plan, step.metas) for plan in step.bodies]
    known = [p for p in peaks if p is not None]
    copies = total_bytes(map(bytes_of, step.metas))
    return None if len(known) < len(peaks) or copies is None else expr.add(copies, expr.maximum(*known))


def _peak_at(plan: Plan, operands: Sequence[TensorMeta]) -> Size | None:
    """Return the peak of a branch over the sizes of the operands; None where it depends on data."""
    peak = peak_bytes(plan).size
    if peak is None:
        return None
    sizes = sizes_of_body(plan, operands)
    axes: dict[Atom, Size] = {variable: sizes[variable] for variable in sizes}
    return substitute(peak, axes.get) if axes.keys() >= {*expr.variables(peak)} else None


declare(OPAQUE._replace(scratch=_most_bytes, inlines="branches"), cf.cond_op)
declare(OPAQUE._replace(scratch=_bytes_of_rows, inlines="batched"), cf.cond_each_op)
declare(
    OPAQUE._replace(
        alias=Alias.VIEW, recomputable=True, algebra=NO_ALGEBRA._replace(identities=(identities.same_sizes,))
    ),
    cf.sized_op,
)
