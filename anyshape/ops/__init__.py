"""The primitives: what a program can say. Operands are traced arrays, or NumPy arrays outside a trace."""

from anyshape.ops.contraction import dot_general
from anyshape.ops.creation import full, iota, size_value
from anyshape.ops.elementwise import add, convert, cos, div, exp, log, mul, neg, select, sin, sqrt, sub, tanh
from anyshape.ops.indexing import put_add, put_add_along_axis, put_add_at, take, take_along_axis, take_at
from anyshape.ops.movement import broadcast_in_dim, broadcast_to, concatenate, pad, reshape, rev, slice, transpose
from anyshape.ops.reduction import reduce_max, reduce_sum, sum_to
