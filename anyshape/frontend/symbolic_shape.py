"""Shapes as values."""

class SymbolicShape(tuple):
    __slots__ = ()
