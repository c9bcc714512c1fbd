"""The batching rules of every op, one file per family. Importing this package fills the table."""

from anyshape.autodiff.batching import (
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
