"""Data frames and series of pandas as parts of captured state: what stands for one holds the arrays of its blocks.

It serves columns, labels and sizes. A function that asks for more, as for an index or a mean that skips NaN, has a
program of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from anyshape.graph.ir.builder import Traced
from anyshape.numpy.operands.promotion import NUMERIC
from anyshape.numpy.serve import FUNCTIONS
from anyshape.support.lazy_dataclass import NamedTuple
from anyshape.tracing.captured.containers import MOST_COPIED, InseparableError, digest, pickled


class _Content(NamedTuple):
    """Contents of a table: the arrays of its blocks, None for those without numbers, and where its columns stand."""

    labels: tuple[Any, ...]
    rows: tuple[tuple[int, int | None], ...]  # of each column: its block, and the row in that; None for a series
    blocks: Sequence[Any]
    refused: list[str]  # asked for in vain, also of parts of the table


def is_table_class(kind: type) -> bool:
    """Return whether objects of a class are data frames or series of pandas."""
    return kind.__name__ in ("DataFrame", "Series") and kind.__module__.partition(".")[0] == "pandas"


def content_of_table(x: Any) -> bytes:
    """Return all that a table holds, as a digest if that is large."""
    head, buffers = pickled(x)
    if sum([b.nbytes for b in buffers]) > MOST_COPIED:
        return digest(head, buffers)
    return b"".join([head, *buffers])


def stands_in(x: Any) -> bool:
    """Return whether an object stands for a table."""
    return type(x) in (Table, Column)


def _content(x: Any) -> _Content:
    if stands_in(x):
        content: _Content = object.__getattribute__(x, "_content")
        return content
    try:
        blocks = [a if type(a) is np.ndarray and a.dtype.kind in NUMERIC else None for a in x._mgr.arrays]
        if x.ndim == 1:
            return _Content((x.name,), ((0, None),), blocks, [])
        rows = zip(x._mgr.blknos.tolist(), x._mgr.blklocs.tolist(), strict=True)
    except AttributeError as error:  # in a release of pandas that holds blocks otherwise
        raise InseparableError from error
    if x.columns.nlevels > 1:
        raise InseparableError
    return _Content(tuple(x.columns), tuple(rows), blocks, [])


def key(x: Any, names: Collection[str] | None) -> tuple[Any, ...]:
    """Return what two tables must agree in besides their blocks."""
    content = _content(x)
    kinds = tuple(map(type, content.labels))
    if not {*kinds} <= {str, int, type(None)} or len({*content.labels}) != len(kinds):
        raise InseparableError
    return content.labels, kinds, content.rows, tuple(content.refused)


def parts(x: Any, names: Collection[str] | None) -> Iterable[Any]:
    """Return the blocks of a table."""
    return _content(x).blocks


def make(x: Any, blocks: Sequence[Any]) -> Any:
    """Return what stands for a table, with other blocks."""
    content = _content(x)._replace(blocks=blocks, refused=[])
    return (Column if content.rows[:1] == ((0, None),) else Table)(content)


def _refuse(x: Any, *asked: Any, **options: Any) -> NoReturn:
    _content(x).refused.append("")  # as the function may catch the error
    raise InseparableError


def _column(x: Any, number: int) -> Any:
    content = _content(x)
    block, row = content.rows[number] if content.rows else _refuse(x)
    array = content.blocks[block]
    if array is None:
        _refuse(x)
    return array if row is None else array[row]


_refused: Any = _refuse


class _Standing:
    """Stand-in for a table of pandas while a function is traced."""

    to_numpy: Any

    def __init__(self, content: _Content) -> None:
        object.__setattr__(self, "_content", content)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __hash__ = __array__ = __getitem__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = _refused
    __neg__ = __invert__ = __abs__ = __and__ = __or__ = __matmul__ = __rmatmul__ = __contains__ = __iter__ = _refused
    __repr__ = __str__ = __format__ = __reduce_ex__ = __copy__ = __deepcopy__ = __dir__ = __getattr__ = _refused
    __setattr__ = __delattr__ = __setitem__ = __delitem__ = _refused

    def __len__(self) -> int:
        return len(_column(self, 0))

    @property
    def values(self) -> Any:
        """Array of the values of the table."""
        return self.to_numpy()


class Column(_Standing):
    """Stand-in for a series."""

    __class__: Any = property(lambda self: sys.modules["pandas"].Series)

    def to_numpy(self, dtype: Any = None, copy: bool = False) -> Any:
        """Return the array of the series."""
        array = _column(self, 0)
        return array if dtype is None and not copy else array.astype(dtype or array.dtype)

    def as_operand(self) -> Any:
        """Return what stands for the series beside traced arrays."""
        return self.to_numpy()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return _beside_traced(getattr(ufunc, method), inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
        return _beside_traced(function, args, options)


def _beside_traced(function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """Apply a function of NumPy to traced arrays and to series as arrays; series alone would give a series."""
    if not any(isinstance(x, Traced) for x in args):
        _refuse(next(x for x in args if type(x) is Column))
    return function(*[x.to_numpy() if type(x) is Column else x for x in args], **options)


class Table(_Standing):
    """Stand-in for a data frame."""

    __class__: Any = property(lambda self: sys.modules["pandas"].DataFrame)

    def __getitem__(self, label: Any) -> Any:
        labels = _content(self).labels
        names = label if type(label) is list else [label]
        if not all(type(x) in (str, int) and x in labels for x in names):
            _refuse(self)
        rows = tuple([_content(self).rows[labels.index(x)] for x in names])
        content = _content(self)._replace(labels=tuple(names), rows=rows)
        return Table(content) if names is label else Column(content)

    def __getattr__(self, name: str) -> Any:
        return _refuse(self) if hasattr(self.__class__, name) else self[name]

    def __contains__(self, label: Any) -> bool:
        return label in _content(self).labels

    def __iter__(self) -> Iterator[Any]:
        return iter(_content(self).labels)

    def to_numpy(self) -> Any:
        """Return the columns as an array, of objects where pandas has no common dtype of numbers."""
        columns = [_column(self, i) for i in range(len(_content(self).labels))]
        kinds = {x.dtype.kind for x in columns}
        if not columns or ("b" in kinds and len(kinds) > 1):
            _refuse(self)
        return FUNCTIONS["stack"](columns, 1)
