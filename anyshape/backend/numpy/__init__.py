"""NumPy kernels of every op, one file per family. Importing this package fills the kernel table.

Ops guarantee that operands have the dtypes and sizes that the shape rule accepted, and that params are not symbolic.
Kernels must return the dtype and shape that the rule promised, never write to an operand except `out`, and check
nothing but values.
"""

from anyshape.backend.numpy import (
    callback,
    contraction,
    control,
    control_flow,
    creation,
    custom_rules,
    dynamic,
    elementwise,
    fourier,
    gathering,
    indexing,
    linalg,
    linear_systems,
    loops,
    matrix_functions,
    movement,
    random,
    reduction,
    reruns,
    segments,
    sorting,
    special,
    windows,
)

__all__ = [
    "callback",
    "contraction",
    "control",
    "control_flow",
    "creation",
    "custom_rules",
    "dynamic",
    "elementwise",
    "fourier",
    "gathering",
    "indexing",
    "linalg",
    "linear_systems",
    "loops",
    "matrix_functions",
    "movement",
    "random",
    "reduction",
    "reruns",
    "segments",
    "sorting",
    "special",
    "windows",
]
