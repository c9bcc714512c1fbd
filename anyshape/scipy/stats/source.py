"""Run the Python code of `scipy.stats` on traced arrays.

SciPy writes functions of samples for all libraries of the array API. Helpers that ask what an array is, or for a
decision on its values, have other ones here.
"""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

from anyshape import numpy as xp
from anyshape.numpy.foreign_source import Source
from anyshape.scipy import special
from anyshape.scipy.stats.sampling import count_of


class _At:
    """Elements of an array where a mask holds, which `set` changes."""

    def __init__(self, x: Any, mask: Any = None) -> None:
        self._x, self._mask = x, mask

    def __getitem__(self, mask: Any) -> _At:
        return _At(self._x, mask)

    def set(self, value: Any) -> Any:
        """Return the array with other elements."""
        return xp.where(self._mask, value, self._x)


def _apply_where(condition, arrays, function, other=None, /, *, fill_value=None, **_):
    """Return one function of arrays where a condition holds, elsewhere another one or a number."""
    arrays = arrays if isinstance(arrays, tuple) else (arrays,)
    return xp.where(condition, function(*arrays), fill_value if other is None else other(*arrays))


def _promoted(*arrays, force_floating: bool = False, broadcast: bool = False, **_):
    """Return arrays of one dtype, and of one shape if they broadcast; None stays."""
    some = [xp.asarray(x) for x in arrays if x is not None]
    dtype = xp.result_type(*some, *([1.0] if force_floating else []))
    rest = iter(xp.broadcast_arrays(*some) if broadcast else some)
    results = tuple(None if x is None else next(rest).astype(dtype) for x in arrays)
    return results[0] if len(results) == 1 else results


def _count(x, axis, **_):
    return count_of(x, axis).astype(x.dtype)


_EXTENSIONS = {"apply_where": _apply_where, "at": _At, "atleast_nd": lambda x, **_: xp.atleast_1d(x)}
_HELPERS = {
    "array_namespace": lambda *_: xp,
    "_asarray": lambda x, dtype=None, **_: xp.asarray(x, dtype=dtype),
    "_length_nonmasked": _count,
    "_share_masks": lambda *arrays, **_: arrays[0] if len(arrays) == 1 else arrays,
    "is_marray": lambda namespace: False,
    "is_numpy": lambda namespace: True,
    "xp_promote": _promoted,
    "is_lazy_array": lambda x: True,
    "size": lambda x: None,  # that is not 0: no case of its own
    "device": lambda x: None,
    "_broadcast_arrays": lambda arrays, **_: xp.broadcast_arrays(*arrays),
}
SCIPY = Source(
    "scipy",
    ("1.16", "1.17"),
    Path(__file__).with_name("digests.txt"),
    {
        "numpy": xp,
        "scipy.special": special,
        "scipy._lib.array_api_extra": types.SimpleNamespace(**_EXTENSIONS),
    },
    _HELPERS,
    ("_no_deco",),
)
