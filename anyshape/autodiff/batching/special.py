"""Batching of special functions, which are elementwise."""

from anyshape.autodiff.batching.elementwise import each_element
from anyshape.graph.ir.graph import Op
from anyshape.ops import special

for _op in vars(special).values():
    if isinstance(_op, Op):
        each_element(_op)
