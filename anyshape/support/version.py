"""Version of anyshape, as its distribution and its program files state it."""

__version__ = "0.1.0"
