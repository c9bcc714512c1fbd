"""The batching rules of every op, one file per family. Importing this package fills the table."""

from anyshape.autodiff.batching import (
    contraction,
    control,
    creation,
    dynamic,
    elementwise,
    indexing,
    movement,
    reduction,
    sorting,
    special,
)

__all__ = [
    "contraction",
    "control",
    "creation",
    "dynamic",
    "elementwise",
    "indexing",
    "movement",
    "reduction",
    "sorting",
    "special",
]
