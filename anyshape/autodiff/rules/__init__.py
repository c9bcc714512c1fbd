"""The JVP and transpose rules of every op, one file per family. Importing this package fills the tables."""

from anyshape.autodiff.rules import contraction, creation, elementwise, movement, reduction

__all__ = ["contraction", "creation", "elementwise", "movement", "reduction"]
