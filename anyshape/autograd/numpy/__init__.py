"""NumPy's functions under the names of `autograd.numpy`, with what autograd's own take beyond NumPy's."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from anyshape import numpy as _numpy
from anyshape.autograd.numpy import linalg as linalg
from anyshape.graph.ir.builder import Traced as _Traced
from anyshape.support.packages import load as _load

for _name in ("fft", "random"):
    sys.modules[f"{__name__}.{_name}"] = _load(f"anyshape.numpy.{_name}")


def _of_iterables(join: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that joins arrays, which also takes them from a generator or a map."""

    def joined(arrays: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
        is_sequence = isinstance(arrays, (list, tuple, numpy.ndarray, _Traced))
        return join(arrays if is_sequence else list(arrays), *args, **kwargs)

    joined.__name__, joined.__doc__ = join.__name__, join.__doc__
    return joined


column_stack = _of_iterables(_numpy.column_stack)
concatenate = _of_iterables(_numpy.concatenate)
hstack = _of_iterables(_numpy.hstack)
stack = _of_iterables(_numpy.stack)
row_stack = vstack = _of_iterables(_numpy.vstack)


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """Return elements chosen by a condition; of plain numbers and lists, a plain number or list."""
    choices = [*args, *(kwargs[name] for name in ("x", "y") if name in kwargs)]
    chosen = _numpy.where(condition, *choices)
    return chosen if not choices or any(map(_holds_arrays, (condition, *choices))) else chosen.tolist()


def _holds_arrays(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_holds_arrays, x))
    return isinstance(x, (_Traced, numpy.ndarray, numpy.generic))


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return matrices with the last axis on their diagonals."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal takes offset=0, axis1=-1, axis2=-2")
    return D[..., None] * _numpy.eye(_numpy.shape(D)[-1])


def __getattr__(name: str) -> Any:
    """Return what a name stands for in `anyshape.numpy`."""
    return getattr(_numpy, name)


def __dir__() -> list[str]:
    """Return the public names."""
    return dir(_numpy)
