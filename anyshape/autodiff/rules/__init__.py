"""The JVP and transpose rules of every op, one file per family. Importing this package fills the tables."""

from anyshape.autodiff.rules import (
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
