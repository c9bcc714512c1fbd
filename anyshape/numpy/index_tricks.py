"""Define NumPy's `r_`, `c_`, `mgrid` and `ogrid`, which make arrays of slices; sizes may be symbolic, values traced."""

from __future__ import annotations

from typing import Any

import numpy as np

from anyshape.errors import ArgumentError, UnsupportedFunctionError
from anyshape.graph.ir.builder import Traced, user_line
from anyshape.numpy import creation, joining, movement
from anyshape.numpy.operands.concrete import plain, wrapped
from anyshape.numpy.operands.promotion import as_traced, cast_operand, is_traced, is_weak, result_type
from anyshape.ops import elementwise as ew
from anyshape.support.true_types import has_type


def _is_traced(key: Any) -> bool:
    """Return whether a key, or a bound or step of a slice in it, belongs to a program."""
    parts = key if isinstance(key, tuple) else (key,)
    bounds = [b for part in parts if isinstance(part, slice) for b in (part.start, part.stop, part.step)]
    return is_traced(*[part for part in parts if not isinstance(part, slice)], *bounds)


def _line(name: str, part: slice) -> Any:
    """Return the numbers of a slice; an imaginary step is their number, with the end among them."""
    start, step = 0 if part.start is None else part.start, 1 if part.step is None else part.step
    if part.stop is None:
        raise ArgumentError(name, f"slice {part}", "has no end", "write start:stop, or start:stop:step")
    if has_type(step, (complex, np.complexfloating)) and not isinstance(step, Traced):
        return creation.linspace(start, part.stop, int(abs(step)))
    return creation.arange(start, part.stop, step)


class Grid:
    """Grids by slices, as `mgrid[0:n, 0:1:5j]`: the coordinates along each axis."""

    def __init__(self, name: str, *, sparse: bool) -> None:
        self._name, self._sparse = name, sparse
        self.__doc__ = getattr(np, name).__doc__

    def __getitem__(self, key: Any) -> Any:
        if not _is_traced(key):
            return wrapped(getattr(np, self._name)[plain(key)])
        if not isinstance(key, tuple):
            return _line(self._name, key)
        lines = [_line(self._name, part) for part in key]
        dtype = result_type(*lines)
        lines = [ew.convert(as_traced(line), dtype) for line in lines]
        grid = creation.meshgrid(*lines, sparse=self._sparse, indexing="ij")
        return grid if self._sparse else joining.stack(grid)

    def __repr__(self) -> str:
        return f"<anyshape.numpy.{self._name}>"


class Joined:
    """Arrays, numbers and slices joined along an axis, as `r_[x, 0, 0:n]` and `c_[x, y]`."""

    def __init__(self, name: str, axis: int, rank: int, start: int) -> None:
        self._name, self._plan = name, (axis, rank, start)
        self.__doc__ = getattr(np, name).__doc__

    def __getitem__(self, key: Any) -> Any:
        if not _is_traced(key):
            return wrapped(getattr(np, self._name)[plain(key)])
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, rank, start = self._plan
        if isinstance(parts[0], str):
            axis, rank, start = self._stated(parts.pop(0))
        arrays = [self._member(part, rank, start) for part in parts]
        kinds = [part if is_weak(part) else x.dtype for part, x in zip(parts, arrays, strict=True)]
        dtype = result_type(*kinds)
        return joining.concatenate([cast_operand(x, dtype) for x in arrays], axis)

    def _stated(self, text: str) -> tuple[int, int, int]:
        """Return the axis to join along, the least number of axes, and where own axes begin."""
        if text in ("r", "c"):
            problem, advice = f"the directive {text!r}", "programs have no np.matrix: reshape the result"
            raise UnsupportedFunctionError(self._name, problem, advice, user_line())
        try:
            stated = [int(word) for word in text.split(",")]
        except ValueError:
            problem, advice = "is unknown", "write 'axis', 'axis,ndim' or 'axis,ndim,start'"
            raise ArgumentError(self._name, f"the directive {text!r}", problem, advice) from None
        axis, rank, start = [*stated, *self._plan[len(stated) :]]
        return axis, rank, start

    def _member(self, part: Any, rank: int, start: int) -> Any:
        """Return a part as an array of `rank` axes or more; if it has fewer, its own ones begin at `start`."""
        if isinstance(part, str):
            raise ArgumentError(self._name, f"the directive {part!r}", "is not the first entry", "write it first")
        if isinstance(part, slice):
            line = creation.array(_line(self._name, part), ndmin=rank)
            return line if rank < 2 or start == -1 else movement.swapaxes(line, -1, start)
        own = as_traced(part).ndim
        x = as_traced(creation.array(as_traced(part), ndmin=rank))
        if is_weak(part) or start == -1 or own >= rank:
            return x
        added = rank - own
        first = start if start >= 0 else start + added + 1
        axes = list(range(rank))
        return movement.transpose(x, axes[:first] + axes[added:] + axes[first:added])

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"<anyshape.numpy.{self._name}>"


mgrid: Grid = Grid("mgrid", sparse=False)
ogrid: Grid = Grid("ogrid", sparse=True)
r_: Joined = Joined("r_", 0, 1, -1)
c_: Joined = Joined("c_", -1, 2, 0)
OBJECTS: dict[str, Any] = {"mgrid": mgrid, "ogrid": ogrid, "r_": r_, "c_": c_}
