"""Kernels of conditionals. Generated code writes branches inline; these run where there is no plan.

Traits of conditionals: one branch runs, so the memory of a run is that of the branch that takes the most.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from anyshape.backend.compiler.op_traits import OPAQUE, Algebra, Alias, bytes_of, declare, total_bytes
from anyshape.backend.compiler.passes import identities
from anyshape.backend.compiler.peak_memory import peak_bytes
from anyshape.backend.compiler.plan import Plan, Step, sizes_of_body
from anyshape.backend.numpy.loops import compiled, one_or_all
from anyshape.backend.runtime.rows import Rows
from anyshape.errors import ShapeError
from anyshape.graph.shapes.array_type import TensorMeta, Unknown
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import Atom, Size
from anyshape.graph.sizes.substitute import evaluate, substitute, values_from
from anyshape.ops import control_flow as cf
from anyshape.ops.core.apply import kernel, resolve


def run_branch(run_graph: Any, index: Any, operands: Any, branches: Any) -> Any:
    """Return the results of the branch that an index chooses; `run_graph` runs a graph on arrays."""
    return run_graph(branches[cf.chosen_branch(index, len(branches))], operands)


def run_each_branch(run_graph: Any, index: Any, operands: Any, batched: Any, carries: Any, totals: Any) -> Any:
    """Return the results of each branch for the rows that choose it, together."""
    rows = Rows(index, len(batched), totals)
    flags = [*carries, *[False] * (len(operands) - len(carries))]
    for i, graph in enumerate(batched):
        if rows.choose(i):
            chosen = [rows.take(x) if flag else x for x, flag in zip((index, *operands), (True, *flags))]
            rows.put(run_graph(graph, chosen))
    return rows.results([] if len(index) else _empty(batched[0], (index, *operands)))


def _empty(graph, arrays):
    """Return dtype and shape of each result of a graph of rows; sizes that depend on data are as large as may be."""
    size_of = {s.variable: resolve({"size": s.size}, arrays)["size"] for s in graph.dims}
    values = values_from(size_of)
    shapes = [[0 if isinstance(e, Unknown) else evaluate(e.size, values) for e in m.extents] for m in graph.results]
    return [(m.dtype, tuple(shape)) for m, shape in zip(graph.results, shapes)]


def _run(graph, arrays):
    return compiled(graph)(*arrays)


def _cond(index, *operands, branches):
    return one_or_all(run_branch(_run, index, operands, branches))


def _cond_each(index, *operands, branches, batched, carries, totals):
    return one_or_all(run_each_branch(_run, index, operands, batched, carries, totals))


def _sized(x, *, shape):
    if np.shape(x) != shape:
        why = f"an array has the shape {np.shape(x)}, and the shape {shape} is needed"
        raise ShapeError("cond", why, (), None, "let all branches give results of equal sizes")
    return x


def _inline_sized(site):
    """Compare the shape, and leave the array as it is."""
    (x,) = site.operands
    shape = site.text(site.params["shape"])
    return [f"{site.target} = {x} if {x}.shape == {shape} else {site.bind(_sized)}({x}, shape={shape})"]


kernel(cf.cond_op, _cond)
kernel(cf.cond_each_op, _cond_each)
kernel(cf.sized_op, _sized, inline=_inline_sized)


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
    if (peak := peak_bytes(plan).size) is None:
        return None
    sizes = sizes_of_body(plan, operands)
    axes: dict[Atom, Size] = {variable: sizes[variable] for variable in sizes}
    return substitute(peak, axes.get) if axes.keys() >= {*expr.variables(peak)} else None


declare(OPAQUE._replace(scratch=_most_bytes, inlines="branches"), cf.cond_op)
declare(OPAQUE._replace(scratch=_bytes_of_rows, inlines="batched"), cf.cond_each_op)
declare(OPAQUE._replace(alias=Alias.VIEW, recomputable=True, algebra=Algebra((identities.same_sizes,))), cf.sized_op)
