"""Traits of distances of pairs of rows: whole matrices at a time, with blocks of differences as scratch memory."""

from anyshape.backend.compiler import op_traits
from anyshape.backend.compiler.op_traits import OPAQUE, ElementTime, declare
from anyshape.ops import distances as ds

_SLOW = OPAQUE._replace(time=ElementTime(20.0, 20.0), scratch=op_traits.by_blocks(1 << 20))

declare(_SLOW, ds.pair_distances_op, ds.difference_products_op, ds.difference_pulls_op)
