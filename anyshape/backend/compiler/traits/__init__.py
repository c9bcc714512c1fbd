"""The traits of every op, one module per family. Importing this package fills the table."""

from anyshape.backend.compiler.traits import (
    callback,
    contraction,
    control,
    control_flow,
    creation,
    custom_rules,
    dynamic,
    elementwise,
    gathering,
    indexing,
    linalg,
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
    "control_flow",
    "creation",
    "custom_rules",
    "dynamic",
    "elementwise",
    "gathering",
    "indexing",
    "linalg",
    "movement",
    "reduction",
    "segments",
    "sorting",
    "special",
]
