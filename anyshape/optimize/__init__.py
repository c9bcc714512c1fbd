"""Functions of `anyshape.scipy.optimize` under a shorter name: solvers, minimisers, and their derivatives."""

from typing import Any

from anyshape.scipy import optimize

__all__ = list(optimize.__all__)


def __getattr__(name: str) -> Any:
    """Return what a name of `anyshape.scipy.optimize` stands for."""
    return getattr(optimize, name)


def __dir__() -> list[str]:
    """Return the names of `anyshape.scipy.optimize`."""
    return dir(optimize)
