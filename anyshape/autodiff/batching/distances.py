"""Batching of distances of pairs of rows: one more leading axis."""

from anyshape.autodiff.batching.linalg import stacked
from anyshape.ops import distances as ds

stacked(ds.pair_distances_op)
stacked(ds.difference_products_op)
stacked(ds.difference_pulls_op)
