"""Length of a block of trips of a scan: so many trips that the element values of a block fit in a cache.

A block has at least one trip. The length depends on sizes alone, so equal arguments have equal blocks.
"""

from __future__ import annotations

from anyshape.backend.compiler.op_traits import TRAITS
from anyshape.backend.compiler.plan import Plan
from anyshape.backend.compiler.scratch import bytes_of, total_bytes
from anyshape.graph.sizes import expr
from anyshape.graph.sizes.expr import DimVar, Size
from anyshape.graph.sizes.substitute import substitute
from anyshape.ops.loops import Layout

BLOCK_BYTES = 1 << 18


def trips_variable(block: Plan, layout: Layout) -> DimVar:
    """Return the variable of the plan of element values that is the number of trips of a block."""
    return next(b.variable for b in block.dims if b.target == expr.input_axis(layout.stacks.start, 0))


def trips_of_block(block: Plan, layout: Layout) -> Size:
    """Return how many trips a block has at most, over the other variables of the plan of its element values."""
    made = [meta for step in block.steps for meta in step.results if TRAITS[step.op].alias.may_allocate]
    size = total_bytes([bytes_of(meta) for meta in made])
    assert size is not None  # element values have exact sizes
    variable = trips_variable(block, layout)
    of_one = substitute(size, lambda atom: 1 if atom is variable else None)
    return expr.maximum(1, expr.floordiv(BLOCK_BYTES, expr.maximum(1, of_one)))
