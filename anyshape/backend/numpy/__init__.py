"""The NumPy kernels of every op, one file per family. Importing this package fills the kernel table.

Ops guarantee: operands have the dtypes and sizes their shape rule accepted, and params are ints, never symbolic.
Kernels must: return the dtype and shape the rule promised, never write to an operand except `out`, and check nothing.
"""

from anyshape.backend.numpy import (
    callback,
    contraction,
    control,
    creation,
    dynamic,
    elementwise,
    gathering,
    indexing,
    movement,
    reduction,
    segments,
    sorting,
    special,
)

__all__ = [
    "callback",
    "contraction",
    "control",
    "creation",
    "dynamic",
    "elementwise",
    "gathering",
    "indexing",
    "movement",
    "reduction",
    "segments",
    "sorting",
    "special",
]
